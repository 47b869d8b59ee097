"""Loops compiled by Numba when they are first called, and kept on disk where there is a place for that.

Numba looks for that place (NUMBA_CACHE_DIR, beside the source, the user's cache folder) as soon as a
function is marked, and raises where it finds none: a read-only installation used by somebody without a
home, as in containers and on clusters.  There the functions are compiled anew in every process.  No
folder for temporary files is used instead: Numba's cache is code, and others may write there.
"""

from collections.abc import Callable
from typing import Any

from numba import njit

#: Reorder sums, and take no NaN to come: what lets loops be vectorised.
_FAST = {"nnan", "nsz", "arcp", "contract", "reassoc"}


def compiled(function: Callable[..., Any] | None = None, *, fast: bool = False) -> Any:
    """Mark a function to be compiled at its first call; with `fast`, sums may be reordered.

    Other threads run beside it.
    """
    if function is None:
        return lambda f: compiled(f, fast=fast)
    options: dict[str, Any] = {"nogil": True} | ({"fastmath": _FAST} if fast else {})
    try:
        return njit(cache=True, **options)(function)
    except RuntimeError:  # "cannot cache function ...: no locator available"
        return njit(**options)(function)
