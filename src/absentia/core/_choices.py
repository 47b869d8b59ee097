"""Choices that rounding does not make, and names that are near one another."""

from collections.abc import Callable, Iterable, Mapping
from difflib import get_close_matches
from typing import TypeVar

import numpy as np

from absentia.core._linalg import Array

#: Values that differ by less than this, relative, are tied.
TIE = 1e-9

#: Values count as different from this share on: far above rounding, far below what data differ in.
CLEAR = 1e-6

Key = TypeVar("Key")


def least(curve: Mapping[Key, float]) -> Key:
    """The key of the least value; of those tied with it the first, so let the simplest come first.

    Examples
    --------
    >>> least({1: 0.5, 2: 0.2 + 1e-12, 3: 0.2})
    2
    """
    low = min(curve.values())
    return next(key for key, value in curve.items() if value <= low + TIE * abs(low))


def check_name(what: str, name: str, known: Iterable[str]) -> None:
    """Refuse a name that is none of the known ones, and say which it may have meant."""
    names = list(known)
    if name in names:
        return
    near = get_close_matches(name.lower(), names, n=3, cutoff=0.5)
    meant = f"did you mean {' or '.join(near)}? " if near else ""
    raise ValueError(f"no {what} {name!r}; {meant}choose one of {', '.join(names)}")


def clear_cut(values: Array, most: int) -> int:
    """How many of descending `values` to keep, at most `most`; of those alike all or none.

    A cut between directions whose values are alike (to :data:`CLEAR`) would let rounding say which.
    """
    kept = min(most, len(values))
    while 0 < kept < len(values) and values[kept] >= (1 - CLEAR) * values[kept - 1]:
        kept -= 1
    return kept


def along_path(
    path: Iterable[Key], error: Callable[[Key], float], patience: int = 2, hopeless: float = np.inf
) -> dict[Key, float]:
    """Errors along a path of values, left once `patience` values in a row were worse than the best.

    It is left at once where the error is more than `hopeless` times the best.
    """
    curve: dict[Key, float] = {}
    for value in path:
        curve[value] = error(value)
        tried, best = list(curve), least(curve)
        if len(tried) - 1 - tried.index(best) >= patience or curve[value] > hopeless * curve[best]:
            break
    return curve
