"""Sums over the views that see a sample, however many patterns of visibility there are.

Each sample i has the matrix ``A_i = extra + sum of E_k over the views k that see it``, one for each pattern
of visibility.  A few views make a few patterns of many samples each: one product and one inverse a pattern.
Of many views nearly every sample has a pattern of its own.  Samples of such rare patterns are taken in
blocks: their matrices are one product of who sees them (samples x views) with the E_k, and LAPACK goes
through the block.  Per sample that is O(V q^2 + q^3), linear in the number V of views.  No more than a
block of them is ever kept; of common patterns, at most one for :data:`COMMON` samples, the inverses are.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass
from itertools import pairwise
from typing import Self

import numpy as np

from absentia.core import Array, by_pattern, thin_gram

#: A pattern is common if so many samples have it: a call for each is then cheaper than a matrix for each.
COMMON = 4
#: Of rare samples, and of common patterns, so many numbers of their matrices are in memory at once.
BLOCK = 1 << 17


@dataclass(frozen=True)
class Patterns:
    """Samples in an order in which those of a common pattern are one slice, and the rare ones the rest."""

    order: Array
    common: Array  # patterns x views
    rows: Sequence[slice]  # the samples of each common pattern
    rare: Array  # remaining samples x views

    @classmethod
    def of(cls, sees: Array) -> Self:
        """Of who is seen by which view, samples x views."""
        groups = list(by_pattern(sees))
        common = [(pattern, samples) for pattern, samples in groups if len(samples) >= COMMON]
        own = [samples for _, samples in groups if len(samples) < COMMON]
        rest = np.sort(np.concatenate(own)) if own else np.zeros(0, dtype=np.intp)
        bounds = np.cumsum([0, *(len(samples) for _, samples in common)])
        return cls(
            np.concatenate([*(samples for _, samples in common), rest]),
            np.array([pattern for pattern, _ in common], dtype=bool).reshape(-1, sees.shape[1]),
            [slice(a, b) for a, b in pairwise(bounds.tolist())],
            sees[rest],
        )

    def grams(self, W: Array, F: Array) -> tuple[Array, Array]:
        """``W' F`` over the samples that each view sees, views x q x q, and over all samples."""
        q = W.shape[1]
        by_views, total = np.zeros((self.rare.shape[1], q * q)), np.zeros(q * q)
        for some in self._some(q):
            parts = np.stack([thin_gram(W[rows], F[rows]) for rows in self.rows[some]]).reshape(-1, q * q)
            by_views += self.common[some].T.astype(np.float64) @ parts
            total += parts.sum(axis=0)
        for rows, sees in self._blocks(q):
            parts = (W[rows].astype(np.float64)[:, :, None] * F[rows][:, None, :]).reshape(-1, q * q)
            by_views += sees.T @ parts
            total += parts.sum(axis=0)
        return by_views.reshape(-1, q, q), total.reshape(q, q)

    def products(self, E: Array, extra: Array, W: Array) -> Iterator[tuple[slice, Array]]:
        """``W_i A_i``, some samples at a time."""
        for found, A in self._common(E, extra):
            for rows, own in zip(self.rows[found], A.astype(W.dtype, copy=False), strict=True):
                yield rows, W[rows] @ own
        for rows, sees in self._blocks(W.shape[1]):
            A = _sums(sees, E, extra)
            yield rows, (W[rows].astype(np.float64)[:, None, :] @ A)[:, 0].astype(W.dtype, copy=False)

    def solver(self, E: Array, extra: Array) -> Callable[[Array], Array]:
        """What makes ``V_i A_i^-1`` of V, for all samples."""
        inverses = [np.linalg.inv(A) for _, A in self._common(E, extra)]

        def solve(V: Array) -> Array:
            result = np.empty_like(V)
            common = (own for block in inverses for own in block)
            for rows, own in zip(self.rows, common, strict=True):
                np.matmul(V[rows], own.astype(V.dtype, copy=False), out=result[rows])
            for rows, sees in self._blocks(V.shape[1]):
                right = V[rows].astype(np.float64)[:, :, None]
                result[rows] = np.linalg.solve(_sums(sees, E, extra), right)[:, :, 0]
            return result

        return solve

    def _common(self, E: Array, extra: Array) -> Iterator[tuple[slice, Array]]:
        """Common patterns and their matrices, some at a time."""
        for some in self._some(len(extra)):
            yield some, _sums(self.common[some].astype(np.float64), E, extra)

    def _some(self, q: int) -> Iterator[slice]:
        """The common patterns some at a time."""
        return (slice(a, a + _step(q)) for a in range(0, len(self.common), _step(q)))

    def _blocks(self, q: int) -> Iterator[tuple[slice, Array]]:
        """The rare samples some at a time: where they are, and who sees them as numbers."""
        size, step = len(self.order), _step(q)
        for a in range(size - len(self.rare), size, step):
            rows = slice(a, min(a + step, size))
            first = a - size + len(self.rare)
            yield rows, self.rare[first : first + step].astype(np.float64)


def _step(q: int) -> int:
    """How many q x q matrices make a block."""
    return max(BLOCK // (q * q), 32)


def _sums(sees: Array, E: Array, extra: Array) -> Array:
    """``extra + sum of E_k`` over the views of each row of `sees`."""
    q = len(extra)
    found = sees @ E.reshape(len(E), q * q)
    found += extra.reshape(-1)
    return np.asarray(found.reshape(-1, q, q))
