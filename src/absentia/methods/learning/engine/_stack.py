"""Several kernels over the same samples, each kept only over the samples that have the view."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Protocol

import numpy as np

from absentia.core import Array
from absentia.data import KernelViews
from absentia.methods.learning.engine._compiled import compiled
from absentia.methods.learning.engine._factors import gathered
from absentia.methods.learning.engine._sums import Alignments, DenseSum, Sum

TILE = 64
CHUNK = 2**22  # numbers held at a time for the inner products of kernels


class Stack(Protocol):
    """Several kernels over the same n samples, zero wherever a sample lacks the view."""

    n: int

    def __len__(self) -> int: ...
    def weighted(self, eta: Array, ridge: float = 0.0) -> Sum: ...
    def products(self, z: Array) -> tuple[Array, Array]: ...
    def restricted(self, samples: Array) -> Stack: ...
    def scaled(self, scale: Array) -> Stack: ...
    def alignments(self, y: Array, counted: Array) -> Alignments: ...
    def reached(self, views: Array) -> Array: ...
    def largest(self) -> Array: ...


class KernelStack:
    """Kernels over n samples: each an array over the samples `index` that have the view, zero elsewhere.

    Sums are in single precision if all kernels are, which halves the memory beside the kernels.
    """

    def __init__(self, blocks: Sequence[Array], index: Sequence[Array], n: int) -> None:
        self.blocks = [np.ascontiguousarray(block) for block in blocks]
        self.dtype = np.result_type(*(block.dtype for block in self.blocks))
        self.index = [np.ascontiguousarray(i, dtype=np.int64) for i in index]
        self.n = n

    @classmethod
    def of(cls, kernels: KernelViews, order: Array | None = None) -> KernelStack:
        """The blocks of square KernelViews, with the samples in another `order` if one is given.

        Without, they are not copied where they are dense arrays already.
        """
        index = [np.flatnonzero(seen) for seen in kernels.observed.T]
        if order is None:
            return cls([kernels.block(name) for name in kernels.names], index, len(kernels))
        rank = np.argsort(order)
        blocks = []
        for name, own in zip(kernels.names, index, strict=True):
            moved = np.argsort(rank[own])
            blocks.append(kernels.block(name)[np.ix_(moved, moved)])
        return cls(blocks, [np.sort(rank[own]) for own in index], len(kernels))

    def __len__(self) -> int:
        return len(self.blocks)

    def combined(self, eta: Array) -> Array:
        """``sum_p eta_p K_p``."""
        total = np.zeros((self.n, self.n), dtype=self.dtype)
        for weight, block, index in zip(eta, self.blocks, self.index, strict=True):
            if weight != 0 and len(index):
                _add_lower(total, block, index, weight)
        _mirror(total, TILE)
        return total

    def weighted(self, eta: Array, ridge: float = 0.0) -> DenseSum:
        """``sum_p eta_p K_p + ridge I``, for machines to be learned on."""
        K = self.combined(eta)
        if ridge:
            K = K.astype(np.float64, copy=False)
            K[np.diag_indices_from(K)] += ridge
        return DenseSum(K)

    def products(self, z: Array) -> tuple[Array, Array]:
        """``K_p z``, one column per view, and ``q_p = z' K_p z``; in double precision."""
        R = np.zeros((len(self), self.n))
        for row, block, index in zip(R, self.blocks, self.index, strict=True):
            if len(index):
                row[index] += gathered(block, index, z)
        return R.T, R @ z

    def restricted(self, samples: Array) -> KernelStack:
        """The same views of these `samples` only, given in rising order."""
        kept = [np.isin(own, samples, assume_unique=True) for own in self.index]
        blocks = [block[np.ix_(k, k)] for block, k in zip(self.blocks, kept, strict=True)]
        index = [np.searchsorted(samples, own[k]) for own, k in zip(self.index, kept, strict=True)]
        return KernelStack(blocks, index, len(samples))

    def scaled(self, scale: Array) -> KernelStack:
        """The same with every kernel's rows and columns multiplied by `scale`."""
        pairs = zip(self.blocks, self.index, strict=True)
        blocks = [block * scale[own][:, None] * scale[own] for block, own in pairs]
        return KernelStack(blocks, self.index, self.n)

    def alignments(self, y: Array, counted: Array) -> Alignments:
        """Inner products of the centred kernels, over the samples that count."""
        m, n = len(self), len(counted)
        one, centred = np.zeros((2, self.n))
        one[counted], centred[counted] = 1 / n, y[counted] - y[counted].mean()
        means = self.products(one)[0].T
        M = np.zeros((m, m))
        for rows in np.array_split(counted, max(1, m * n * n // CHUNK)):
            A = np.empty((m, len(rows), n))
            for p in range(m):
                A[p] = self._zero_filled(p, rows)[:, counted]
                A[p] += means[p] @ one - means[p, rows, None] - means[p, counted]
            flat = A.reshape(m, -1)
            M += flat @ flat.T
        seen = one > 0
        own = zip(self.blocks, self.index, means, strict=True)
        spread = [np.diagonal(block)[seen[i]].sum() - n * (mean @ one) for block, i, mean in own]
        return Alignments(M, self.products(centred)[1], np.array(spread, dtype=np.float64))

    def _zero_filled(self, p: int, rows: Array) -> Array:
        """Rows of a kernel, zero where the view is absent."""
        place = np.full(self.n, -1)
        place[self.index[p]] = np.arange(len(self.index[p]))
        own = place[rows]
        result = np.zeros((len(rows), self.n))
        result[np.ix_(own >= 0, self.index[p])] = self.blocks[p][own[own >= 0]]
        return result

    def reached(self, views: Array) -> Array:
        """Samples that have one of the `views` (True = this one)."""
        own = [index for index, wanted in zip(self.index, views, strict=True) if wanted]
        return np.unique(np.concatenate([*own, np.zeros(0, dtype=np.int64)]))

    def largest(self) -> Array:
        """Every kernel's largest value, which lies on its diagonal."""
        return np.array([np.diagonal(block).max(initial=0.0) for block in self.blocks], dtype=np.float64)


@compiled
def _add_lower(total, block, index, weight):  # type: ignore[no-untyped-def]
    """``total += weight * block`` at rows and columns `index`, below and on the diagonal."""
    n = len(index)
    whole = n == len(total)
    for i in range(n):
        row, out = block[i], total[index[i]]
        if whole:
            for j in range(i + 1):
                out[j] += weight * row[j]
        else:
            for j in range(i + 1):
                out[index[j]] += weight * row[j]


@compiled
def _mirror(A, tile):  # type: ignore[no-untyped-def]
    """Copy what is below the diagonal above it, tile by tile."""
    n = len(A)
    for a in range(0, n, tile):
        for b in range(0, a + 1, tile):
            for i in range(a, min(a + tile, n)):
                for j in range(b, min(b + tile, i)):
                    A[j, i] = A[i, j]
