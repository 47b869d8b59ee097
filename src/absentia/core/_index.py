"""Positions: permutations undone, and rows that have the same pattern."""

from collections.abc import Iterator

import numpy as np

from absentia.core._linalg import Array


def inverse(order: Array) -> Array:
    """The permutation that undoes `order`."""
    places = np.empty(len(order), dtype=np.intp)
    places[order] = np.arange(len(order))
    return places


def by_pattern(mask: Array) -> Iterator[tuple[Array, Array]]:
    """Each distinct row of a boolean matrix, and the positions of the rows that are like it."""
    if not len(mask):
        return
    patterns, member = np.unique(mask, axis=0, return_inverse=True)
    member = member.ravel()  # NumPy 2.0.0 gives it two dimensions
    order = np.argsort(member, kind="stable")
    ends = np.cumsum(np.bincount(member, minlength=len(patterns)))
    yield from zip(patterns, np.split(order, ends[:-1]), strict=True)
