"""The methods, one package per paper where there is more than one module."""
