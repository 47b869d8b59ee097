"""Several kernels over the same samples, each kept only over the samples that have the view."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np
from numba import njit

from absentia.classification.svm import FAST
from absentia.kernelviews import KernelViews
from absentia.linalg import Array

TILE = 64


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
    def of(cls, kernels: KernelViews) -> KernelStack:
        """The blocks of square KernelViews, not copied where they are dense arrays already."""
        index = [np.flatnonzero(seen) for seen in kernels.observed.T]
        return cls([kernels.block(name) for name in kernels.names], index, len(kernels))

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

    def products(self, z: Array, support: Array) -> tuple[Array, Array]:
        """``K_p z`` at the samples `support`, outside which z is zero (one column per view), and ``q``."""
        R = np.zeros((len(self), self.n))
        for row, block, index in zip(R, self.blocks, self.index, strict=True):
            if len(index):
                _add_product(row, block, index, z)
        R = R[:, support]
        return R.T, R @ z[support]


@njit(cache=True)  # type: ignore[misc, unused-ignore]
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


@njit(cache=True)  # type: ignore[misc, unused-ignore]
def _mirror(A, tile):  # type: ignore[no-untyped-def]
    """Copy what is below the diagonal above it, tile by tile."""
    n = len(A)
    for a in range(0, n, tile):
        for b in range(0, a + 1, tile):
            for i in range(a, min(a + tile, n)):
                for j in range(b, min(b + tile, i)):
                    A[j, i] = A[i, j]


@njit(cache=True, fastmath=FAST)  # type: ignore[misc, unused-ignore]
def _add_product(out, block, index, z):  # type: ignore[no-untyped-def]
    """``out += K z`` where z is not zero: half of the kernel read, rows of zero coefficients skipped."""
    n = len(index)
    own, sums = np.empty(n), np.zeros(n)
    for i in range(n):
        own[i] = z[index[i]]
    for i in range(n):
        if own[i] != 0.0:
            row, weight, total = block[i], own[i], 0.0
            for j in range(i):
                total += row[j] * own[j]
                sums[j] += weight * row[j]
            sums[i] += total + weight * row[i]
    for i in range(n):
        out[index[i]] += sums[i]
