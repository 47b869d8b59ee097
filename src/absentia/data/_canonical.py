r"""An order of rows and columns that their content decides, not the order in which they came.

Draws, starting values, landmarks, hidden entries and ties are taken in this order, so that a permutation of
the rows or columns of a table permutes the answer and changes nothing else.

Every row, column or other *mode* has a key, a whole number modulo 2^64.  In each round the key of a row
takes in the sum, over its entries, of a hash of (value, keys of the entry's other modes): sums of whole
numbers do not depend on order.  Rounds end when all keys differ.  What still has the same key after them is
equal, or so symmetric that its content does not tell it apart; there the order in which it came decides.
"""

from collections.abc import Sequence

import numpy as np

from absentia.core import Array, inverse

#: A table and the mode that each of its axes belongs to; a kernel has the same mode twice.
Table = tuple[Array, tuple[int, ...]]
#: Rounds before what is alike counts as equal.
ROUNDS = 4
#: So many bits of a value count.
BITS = 33


def canonical(sizes: Sequence[int], tables: Sequence[Table]) -> list[Array]:
    """For each mode, the indices that put it in canonical order.

    Examples
    --------
    >>> X = np.array([[3.0, 1.0], [2.0, np.nan], [0.0, 5.0]])
    >>> rows, columns = canonical(X.shape, [(X, (0, 1))])
    >>> again, others = canonical(X.shape, [(X[[2, 0, 1]], (0, 1))])
    >>> bool(np.array_equal(X[np.ix_(rows, columns)], X[[2, 0, 1]][np.ix_(again, others)], equal_nan=True))
    True
    """
    keys = [np.zeros(n, dtype=np.uint64) for n in sizes]
    for used in (tables[:1], tables):  # kernels are large: looked at only where there is need
        hashed = [(_mixed(_bits(A) + _number(t)), modes) for t, (A, modes) in enumerate(used)]
        for _ in range(ROUNDS):
            keys = [_refined(keys, mode, hashed) for mode in range(len(keys))]
            if all(len(np.unique(key)) == len(key) for key in keys):
                return [np.argsort(key) for key in keys]
    for mode in reversed(range(len(keys))):  # the others as they stand tell apart all that is not equal
        ranks = [_ranks(key) if other != mode else key for other, key in enumerate(keys)]
        keys[mode] = _refined(ranks, mode, hashed)
    return [np.argsort(key, kind="stable") for key in keys]


def _refined(keys: list[Array], mode: int, hashed: Sequence[Table]) -> Array:
    """The keys of one mode after taking in its entries."""
    key = _mixed(keys[mode])
    for H, modes in hashed:
        if mode not in modes:
            continue
        axis = modes.index(mode)
        entry = H
        for other, of in enumerate(modes):
            if other != axis:
                entry = entry + _along(_mixed(keys[of] + _number(other)), other, H.ndim)
        rest = tuple(a for a in range(H.ndim) if a != axis)
        key = key + _mixed(_mixed(entry).sum(axis=rest, dtype=np.uint64))
        if modes.count(mode) > 1:  # a kernel: its diagonal is of one sample alone
            key = key + _mixed(np.diagonal(H) + _number(7))
    return key


def _along(key: Array, axis: int, ndim: int) -> Array:
    return key.reshape([-1 if a == axis else 1 for a in range(ndim)])


def _ranks(key: Array) -> Array:
    return inverse(np.argsort(key, kind="stable")).astype(np.uint64)


def _bits(A: Array) -> Array:
    """The leading bits of each value, some ten digits; all NaN and both zeros are one.

    The last bits of what was scaled by a mean or a spread depend on the order it was summed in.
    """
    mantissa, exponent = np.frexp(np.array(A, dtype=np.float64, order="C"))
    A = np.ldexp(np.round(np.ldexp(mantissa, BITS)), exponent - BITS) + 0.0
    A[np.isnan(A)] = np.nan
    return A.view(np.uint64)


def _number(k: int) -> Array:
    return np.array([k + 1], dtype=np.uint64) * np.uint64(0x9E3779B97F4A7C15)


def _mixed(x: Array) -> Array:
    """A whole number scattered over 2^64 (the finalizer of SplitMix64)."""
    x = x + np.uint64(0x9E3779B97F4A7C15)
    x = (x ^ (x >> np.uint64(30))) * np.uint64(0xBF58476D1CE4E5B9)
    x = (x ^ (x >> np.uint64(27))) * np.uint64(0x94D049BB133111EB)
    return np.asarray(x ^ (x >> np.uint64(31)))
