"""Choices that rounding does not make, and permutations undone."""

from __future__ import annotations

from collections.abc import Mapping
from typing import TypeVar

import numpy as np

from absentia.linalg import Array

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
