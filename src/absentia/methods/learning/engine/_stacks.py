"""Several kernels over the same samples, their weighted sum, and how a machine on it answers to weights.

A stack holds each kernel over the samples that have the view.  At given weights it makes a sum, on which
machines are fitted.  While the same coefficients F stay free, ``z`` and so the gradient of V (``_solver``)
are smooth in the weights: with ``R = [K_p z]_F``, ``A = K_FF^-1`` and ``B = A - A 1 1' A / (1' A 1)``,

    d^2 V / d eta^2 = R' B R,        dz_F = -B R d eta.

:class:`_DenseSum` is just that; stacks of factors are in ``_factors``.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import NamedTuple, Protocol

import numpy as np
import scipy.linalg

from absentia.core import Array
from absentia.data import KernelViews
from absentia.methods.learning.engine._svm import Box, Machine, fit_machine, product

_ROWS = 64  # of a kernel added to a sum at a time
_CHUNK = 2**22  # numbers held at a time for the inner products of kernels


class Response(NamedTuple):
    """One machine's share of the curvature of V, and how its coefficients `free` follow the weights."""

    H: Array
    free: Array
    follow: Array  # B R

    @classmethod
    def none(cls, m: int) -> Response:
        return cls(np.zeros((m, m)), np.zeros(0, dtype=np.int64), np.zeros((0, m)))


class Alignments(NamedTuple):
    """Inner products of kernels centred over the samples that count."""

    M: Array  # of the kernels with one another
    a: Array  # with the labels: y' H K_p H y
    spread: Array  # with the identity: tr H K_p H


class Sum(Protocol):
    """``sum_p eta_p K_p``."""

    largest: float  # its largest value

    def fit(self, box: Box, *, tol: float, start: Array | None = None) -> Machine: ...
    def response(self, box: Box, machine: Machine, R: Array, jitter: float) -> Response: ...


class Stack(Protocol):
    """Several kernels over the same n samples, zero wherever a sample lacks the view."""

    n: int

    def __len__(self) -> int: ...
    def weighted_sum(self, eta: Array) -> Sum: ...
    def products(self, z: Array) -> tuple[Array, Array]: ...
    def restrict(self, samples: Array) -> Stack: ...
    def rescale(self, scale: Array) -> Stack: ...
    def centred_products(self, y: Array, counted: Array) -> Alignments: ...
    def samples_with(self, views: Array) -> Array: ...
    def largest(self) -> Array: ...


class _DenseSum:
    """The sum as an array."""

    def __init__(self, K: Array) -> None:
        self.K, self.largest = K, float(np.diagonal(K).max(initial=0.0))

    def fit(self, box: Box, *, tol: float, start: Array | None = None) -> Machine:
        """The machine on it, to a relative gap of `tol`."""
        return fit_machine(self.K, box, tol=tol, start=start)

    def response(self, box: Box, machine: Machine, R: Array, jitter: float) -> Response:
        """How the machine, with ``K_p z`` the columns of `R`, answers to other weights."""
        diagonal, m, free = np.diagonal(self.K), R.shape[1], box.free(machine.z)
        # others are free only because no kernel holds them
        free = free[diagonal[free] > 1e-8 * diagonal.max()]
        if len(free) < 2:
            return Response.none(m)
        L = cholesky_with_jitter(self.K[np.ix_(free, free)].astype(np.float64, copy=False), jitter)
        # with Y = L^-1 R made orthogonal to L^-1 1: H = Y'Y, which rounding cannot make indefinite
        sides = np.column_stack([R[free], np.ones(len(free))])
        Y = scipy.linalg.solve_triangular(L, sides, lower=True, check_finite=False)
        Y, ones = Y[:, :-1], Y[:, -1]
        Y = Y - np.outer(ones, ones @ Y) / (ones @ ones)
        follow = scipy.linalg.solve_triangular(L, Y, lower=True, trans=1, check_finite=False)
        return Response(Y.T @ Y, free, follow)


def cholesky_with_jitter(K: Array, jitter: float) -> Array:
    """The factor of `K` with `jitter`, or as much more as it takes, of its mean diagonal added to it."""
    level = float(np.diagonal(K).mean())
    while True:
        lifted = K.copy()
        lifted[np.diag_indices_from(lifted)] += jitter * level
        try:
            return scipy.linalg.cholesky(lifted, lower=True, overwrite_a=True, check_finite=False)
        except np.linalg.LinAlgError:
            jitter *= 100


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
        for name, samples in zip(kernels.names, index, strict=True):
            moved = np.argsort(rank[samples])
            blocks.append(kernels.block(name)[np.ix_(moved, moved)])
        return cls(blocks, [np.sort(rank[samples]) for samples in index], len(kernels))

    def __len__(self) -> int:
        return len(self.blocks)

    def combine(self, eta: Array) -> Array:
        """``sum_p eta_p K_p``."""
        total = np.zeros((self.n, self.n), dtype=self.dtype)
        for weight, block, index in zip(eta, self.blocks, self.index, strict=True):
            for a in range(0, len(index) if weight != 0 else 0, _ROWS):
                rows = index[a : a + _ROWS]
                part = np.zeros((len(rows), self.n), dtype=self.dtype)
                part[:, index] = weight * block[a : a + _ROWS]
                total[rows] += part
        return total

    def weighted_sum(self, eta: Array) -> _DenseSum:
        """``sum_p eta_p K_p``, for machines to be learned on."""
        return _DenseSum(self.combine(eta))

    def products(self, z: Array) -> tuple[Array, Array]:
        """``K_p z``, one column per view, and ``q_p = z' K_p z``; in double precision."""
        R = np.zeros((len(self), self.n))
        for row, block, index in zip(R, self.blocks, self.index, strict=True):
            row[index] = product(block, z[index])
        return R.T, R @ z

    def restrict(self, samples: Array) -> KernelStack:
        """The same views of these `samples` only, given in rising order."""
        kept = [np.isin(rows, samples, assume_unique=True) for rows in self.index]
        blocks = [block[np.ix_(k, k)] for block, k in zip(self.blocks, kept, strict=True)]
        index = [np.searchsorted(samples, rows[k]) for rows, k in zip(self.index, kept, strict=True)]
        return KernelStack(blocks, index, len(samples))

    def rescale(self, scale: Array) -> KernelStack:
        """The same with every kernel's rows and columns multiplied by `scale`."""
        pairs = zip(self.blocks, self.index, strict=True)
        blocks = [block * scale[rows][:, None] * scale[rows] for block, rows in pairs]
        return KernelStack(blocks, self.index, self.n)

    def centred_products(self, y: Array, counted: Array) -> Alignments:
        """Inner products of the centred kernels, over the samples that count."""
        m, n = len(self), len(counted)
        mean_weight, centred = np.zeros((2, self.n))
        mean_weight[counted], centred[counted] = 1 / n, y[counted] - y[counted].mean()
        means = self.products(mean_weight)[0].T
        M = np.zeros((m, m))
        for rows in np.array_split(counted, max(1, m * n * n // _CHUNK)):
            A = np.empty((m, len(rows), n))
            for p in range(m):
                A[p] = self._zero_filled(p, rows)[:, counted]
                A[p] += means[p] @ mean_weight - means[p, rows, None] - means[p, counted]
            flat = A.reshape(m, -1)
            M += flat @ flat.T
        seen = mean_weight > 0
        triples = zip(self.blocks, self.index, means, strict=True)
        spread = [
            np.diagonal(block)[seen[i]].sum() - n * (mean @ mean_weight) for block, i, mean in triples
        ]
        return Alignments(M, self.products(centred)[1], np.array(spread, dtype=np.float64))

    def _zero_filled(self, p: int, rows: Array) -> Array:
        """Rows of a kernel, zero where the view is absent."""
        place = np.full(self.n, -1)
        place[self.index[p]] = np.arange(len(self.index[p]))
        positions = place[rows]
        result = np.zeros((len(rows), self.n))
        result[np.ix_(positions >= 0, self.index[p])] = self.blocks[p][positions[positions >= 0]]
        return result

    def samples_with(self, views: Array) -> Array:
        """Samples that have one of the `views` (True = this one)."""
        indices = [index for index, wanted in zip(self.index, views, strict=True) if wanted]
        return np.unique(np.concatenate([*indices, np.zeros(0, dtype=np.int64)]))

    def largest(self) -> Array:
        """Every kernel's largest value, which lies on its diagonal."""
        return np.array([np.diagonal(block).max(initial=0.0) for block in self.blocks], dtype=np.float64)
