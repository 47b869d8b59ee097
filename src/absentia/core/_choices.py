"""Choices that rounding does not make, names that are near one another, and permutations undone."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from difflib import get_close_matches
from typing import TypeVar

import numpy as np

from absentia.core._linalg import Array

#: Values that differ by less than this, relative, are tied.
TIE = 1e-9

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


def inverse(order: Array) -> Array:
    """The permutation that undoes `order`."""
    places = np.empty(len(order), dtype=np.intp)
    places[order] = np.arange(len(order))
    return places


def check_name(what: str, name: str, known: Iterable[str]) -> None:
    """Refuse a name that is none of the known ones, and say which it may have meant."""
    names = list(known)
    if name in names:
        return
    near = get_close_matches(name.lower(), names, n=3, cutoff=0.5)
    meant = f"did you mean {' or '.join(near)}? " if near else ""
    raise ValueError(f"no {what} {name!r}; {meant}choose one of {', '.join(names)}")
