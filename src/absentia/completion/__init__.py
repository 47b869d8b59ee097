"""Methods that fill the missing rows and columns of kernels."""
