"""Packages that only some formats need: imported when such a file comes, named where they are lacking."""

from importlib import import_module
from typing import Any


def needed(package: str, what: str, extra: str = "io") -> Any:
    """A package, or an error that says how to install it.

    Parameters
    ----------
    package : str
        Its name.
    what : str
        What needs it, as in "an HDF5 file".
    extra : str
        The extra of this package that brings it.
    """
    try:
        return import_module(package)
    except ImportError as error:
        raise ValueError(f'{what} needs {package}: pip install "absentia[{extra}]" ({error})') from None
