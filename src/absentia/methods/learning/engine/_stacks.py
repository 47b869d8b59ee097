"""Several kernels over the same samples, their weighted sum, and how a machine on it answers to weights.

A stack holds each kernel over the samples that have the view, as an array (:class:`KernelStack`) or by
factors, ``K_p = Phi_p Phi_p'``, none of them ever formed (:class:`FactorStack`).  At given weights it makes
a sum, on which machines are fitted.  While the same coefficients F stay free, ``z`` and so the gradient of
V (``_solver``) are smooth in the weights: with ``R = [K_p z]_F``, ``A = K_FF^-1`` and
``B = A - A 1 1' A / (1' A 1)``,

    d^2 V / d eta^2 = R' B R,        dz_F = -B R d eta.

:class:`_DenseSum` is just that.

Everything about factors takes time and memory linear in the samples.  They stay where they are, in single
or double precision, in memory or mapped from a file; sums over samples are in double precision.  From
factors a machine is known less exactly than from a kernel, and which of a million coefficients are free in
the end hardly at all.  But the sum of so many losses is nearly smooth where they have kinks: over a step
that moves scores by some Delta, the samples N that lie so near theirs bend it as a quadratic of curvature
``1 / J_i = (hi_i - lo_i) / 2 Delta`` would, and ``A = (K_NN + J)^-1``.  That is what :class:`_FactorSum`
has, through matrices as large as there are factors.
"""

from __future__ import annotations

from collections.abc import Sequence
from functools import cached_property
from itertools import pairwise
from typing import NamedTuple

import numpy as np
import scipy.linalg

from absentia.core import Array, get_factors
from absentia.data import KernelViews
from absentia.methods.learning.engine._linear import fit_linear
from absentia.methods.learning.engine._svm import Box, Machine, fit_machine, product

_ROWS = 16  # of a kernel brought into another order at a time
_SUMMED = 2**15  # numbers of a sum of kernels that are made at a time
_FACTOR_ROWS = 1024  # of one view's factors brought to double precision at a time
_NEAR = 0.05  # share of the samples that count as near their kinks
_MOST_NEAR = 20_000  # of them that are looked at


class _Response(NamedTuple):
    """One machine's share of the curvature of V, and how its coefficients `free` follow the weights."""

    H: Array
    free: Array
    follow: Array  # B R

    @classmethod
    def none(cls, m: int) -> _Response:
        return cls(np.zeros((m, m)), np.zeros(0, dtype=np.int64), np.zeros((0, m)))


class _StackedViews:
    """Views over the same n samples; `index` are the samples of each, zero stands for all others."""

    index: list[Array]
    n: int

    def __len__(self) -> int:
        return len(self.index)

    @cached_property
    def place(self) -> Array:
        """Where among those of each view a sample's row is, samples x views; -1: nowhere."""
        place = np.full((self.n, len(self)), -1, dtype=np.int32)
        for v, samples in enumerate(self.index):
            place[samples, v] = np.arange(len(samples))
        return place

    def samples_with(self, views: Array) -> Array:
        """Samples that have one of the `views` (True = this one)."""
        indices = [index for index, wanted in zip(self.index, views, strict=True) if wanted]
        return np.unique(np.concatenate([*indices, np.zeros(0, dtype=np.int64)]))

    def _restrict_index(self, samples: Array) -> tuple[list[Array], list[Array]]:
        """Which rows of each view are of these `samples`, given in rising order, and where among these."""
        kept = [np.isin(rows, samples, assume_unique=True) for rows in self.index]
        return kept, [np.searchsorted(samples, rows[k]) for rows, k in zip(self.index, kept, strict=True)]


class _DenseSum:
    """The sum as an array."""

    def __init__(self, K: Array) -> None:
        self.K, self.largest = K, float(np.diagonal(K).max(initial=0.0))

    def fit(self, box: Box, *, tol: float, start: Array | None = None) -> Machine:
        """The machine on it, to a relative gap of `tol`."""
        return fit_machine(self.K, box, tol=tol, start=start)

    def response(self, box: Box, machine: Machine, R: Array, jitter: float) -> _Response:
        """How the machine, with ``K_p z`` the columns of `R`, answers to other weights."""
        diagonal, m, free = np.diagonal(self.K), R.shape[1], box.free(machine.z)
        # others are free only because no kernel holds them
        free = free[diagonal[free] > 1e-8 * diagonal.max()]
        if len(free) < 2:
            return _Response.none(m)
        L = cholesky_with_jitter(self.K[np.ix_(free, free)].astype(np.float64, copy=False), jitter)
        # with Y = L^-1 R made orthogonal to L^-1 1: H = Y'Y, which rounding cannot make indefinite
        sides = np.column_stack([R[free], np.ones(len(free))])
        Y = scipy.linalg.solve_triangular(L, sides, lower=True, check_finite=False)
        Y, ones = Y[:, :-1], Y[:, -1]
        Y = Y - np.outer(ones, ones @ Y) / (ones @ ones)
        follow = scipy.linalg.solve_triangular(L, Y, lower=True, trans=1, check_finite=False)
        return _Response(Y.T @ Y, free, follow)


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


class KernelStack(_StackedViews):
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
        moves = [np.argsort(rank[samples]) for samples in index]
        pairs = zip(kernels.names, moves, strict=True)
        blocks = [_reorder(kernels.block(name), moved) for name, moved in pairs]
        return cls(blocks, [np.sort(rank[samples]) for samples in index], len(kernels))

    def combine(self, eta: Array, order: Array | None = None) -> Array:
        """``sum_p eta_p K_p``, the samples in another `order` if one is given."""
        total = np.empty((self.n, self.n), dtype=self.dtype)
        used = [p for p in range(len(self)) if eta[p] != 0]
        n_rows = max(_SUMMED // max(self.n, 1), _ROWS)
        for a in range(0, self.n, n_rows):
            rows = np.arange(a, min(a + n_rows, self.n)) if order is None else order[a : a + n_rows]
            part = np.zeros((len(rows), self.n), dtype=self.dtype)
            for p in used:
                self._add_rows(p, rows, eta[p], part)
            # columns while the rows are at hand: several times as quick as all of them afterwards
            total[a : a + n_rows] = part if order is None else part.take(order, axis=1, mode="clip")
        return total

    def _add_rows(self, p: int, rows: Array, weight: float, part: Array) -> None:
        """Some rows of a kernel, times its weight, added to `part`; zero where the view is absent."""
        place = self.place[rows, p]
        has = np.flatnonzero(place >= 0)
        values = weight * self.blocks[p][place[has]]
        if len(self.index[p]) == self.n:
            part += values
        else:
            part[has[:, None], self.index[p]] += values

    def weighted_sum(self, eta: Array) -> _DenseSum:
        """``sum_p eta_p K_p``, for machines to be learned on."""
        return _DenseSum(self.combine(eta))

    def ordered_sum(self, eta: Array, order: Array, ridge: Array | float = 0.0) -> _DenseSum:
        """The same with the samples in another `order`, and `ridge`, in that order, on its diagonal."""
        K = self.combine(eta, order)
        K[np.diag_indices_from(K)] += ridge
        return _DenseSum(K)

    def products(self, z: Array) -> tuple[Array, Array]:
        """``K_p z``, one column per view, and ``q_p = z' K_p z``; in double precision."""
        R = np.zeros((len(self), self.n))
        for row, block, index in zip(R, self.blocks, self.index, strict=True):
            row[index] = product(block, z[index])
        return R.T, R @ z

    def restrict(self, samples: Array) -> KernelStack:
        """The same views of these `samples` only, given in rising order."""
        kept, index = self._restrict_index(samples)
        blocks = [block[np.ix_(k, k)] for block, k in zip(self.blocks, kept, strict=True)]
        return KernelStack(blocks, index, len(samples))

    def rescale(self, scale: Array) -> KernelStack:
        """The same with every kernel's rows and columns multiplied by `scale`."""
        pairs = zip(self.blocks, self.index, strict=True)
        blocks = [block * scale[rows][:, None] * scale[rows] for block, rows in pairs]
        return KernelStack(blocks, self.index, self.n)

    def largest(self) -> Array:
        """Every kernel's largest value, which lies on its diagonal."""
        return np.array([np.diagonal(block).max(initial=0.0) for block in self.blocks], dtype=np.float64)


def _reorder(K: Array, order: Array) -> Array:
    """Rows and columns of a kernel in another order, some rows at a time: several times as fast as all."""
    moved = np.empty_like(K)
    for a in range(0, len(order), _ROWS):
        np.take(K[order[a : a + _ROWS]], order, axis=1, out=moved[a : a + _ROWS], mode="clip")
    return moved


# ------------------------------------------------------------------------------------ kernels by factors


class FactorStack(_StackedViews):
    """Kernels over n samples: each by the factors of the samples that have the view, zero elsewhere.

    Parameters
    ----------
    factors : sequence of ndarray of shape (n_p, d_p)
        Contiguous rows; those of all views are brought to one precision if they differ.
    index : sequence of ndarray
        The samples of each view's rows.
    n : int
        Number of samples.
    diagonal : ndarray of shape (n, views), optional
        What is added to the diagonal of each kernel.
    scale : ndarray of shape (n,), optional
        What each sample's rows and columns are to be multiplied by; factors stay as they are.
    """

    def __init__(
        self,
        factors: Sequence[Array],
        index: Sequence[Array],
        n: int,
        diagonal: Array | None = None,
        scale: Array | None = None,
    ) -> None:
        dtype = np.result_type(np.float32, *(Phi.dtype for Phi in factors))
        self.factors = [np.ascontiguousarray(Phi, dtype=dtype) for Phi in factors]
        self.index = [np.ascontiguousarray(i, dtype=np.int64) for i in index]
        self.n, self.dtype = n, dtype
        self.scale = np.ones(n) if scale is None else scale
        self._diagonal = np.zeros((n, len(self.factors))) if diagonal is None else diagonal

    @classmethod
    def of(cls, kernels: KernelViews, order: Array | None = None) -> FactorStack:
        """The factors of square KernelViews, not copied; the samples in another `order` if one is given."""
        index = [np.flatnonzero(seen) for seen in kernels.observed.T]
        if order is not None:
            rank = np.argsort(order)
            index = [rank[samples] for samples in index]
        parts = [get_factors(kernels.operator(name)) for name in kernels.names]
        diagonal = np.zeros(kernels.observed.shape)
        for v, part in enumerate(parts):
            diagonal[index[v], v] = 0.0 if part.own is None else part.own
        return cls([part.Phi for part in parts], index, len(kernels), diagonal)

    @cached_property
    def diagonal(self) -> Array:
        """What is added to the diagonal of each kernel, samples x views."""
        return self._diagonal * self.scale[:, None] ** 2

    @cached_property
    def squares(self) -> Array:
        """``k_p(i, i)``, samples x views."""
        squares = np.zeros((self.n, len(self)))
        for v, (Phi, samples) in enumerate(zip(self.factors, self.index, strict=True)):
            squares[samples, v] = np.einsum("ij,ij->i", Phi, Phi, dtype=np.float64)
        return squares * self.scale[:, None] ** 2 + self.diagonal

    def largest(self) -> Array:
        """Every kernel's largest value, which lies on its diagonal."""
        return self.squares.max(axis=0, initial=0.0)

    def normals(self, z: Array) -> list[Array]:
        """``u_p = Phi_p' z`` of every view."""
        z = z * self.scale
        return [
            _transposed_product(Phi, z[samples])
            for Phi, samples in zip(self.factors, self.index, strict=True)
        ]

    def weighted_sum(self, eta: Array) -> _FactorSum:
        """``sum_p eta_p K_p``, for machines to be learned on."""
        return _FactorSum(self, eta)

    def ordered_sum(self, eta: Array, order: Array, ridge: Array | float = 0.0) -> _FactorSum:
        """The same with the samples in another `order`, and `ridge`, in that order, on its diagonal."""
        rank, scale = np.argsort(order), self.scale[order]
        index = [rank[samples] for samples in self.index]
        own = np.divide(ridge, eta.sum() * scale**2, out=np.zeros(self.n), where=scale > 0)
        diagonal = self._diagonal[order] + own[:, None]
        return _FactorSum(FactorStack(self.factors, index, self.n, diagonal, scale), eta)

    def products(self, z: Array) -> tuple[Array, Array]:
        """``K_p z``, one column per view, and ``q_p = z' K_p z``; in double precision."""
        normals = self.normals(z)
        R = np.zeros((len(self), self.n))
        for row, Phi, samples, u in zip(R, self.factors, self.index, normals, strict=True):
            row[samples] = product(Phi, u)
        R = R.T * self.scale[:, None] + self.diagonal * z[:, None]
        return R, np.array([float(u @ u) for u in normals]) + z**2 @ self.diagonal

    def scores(self, eta: Array, z: Array) -> Array:
        """``sum_p eta_p K_p z``."""
        scores, scaled = np.zeros(self.n), z * self.scale
        for weight, Phi, samples in zip(eta, self.factors, self.index, strict=True):
            if weight > 0:
                scores[samples] += product(Phi, weight * _transposed_product(Phi, scaled[samples]))
        return scores * self.scale + (self.diagonal @ eta) * z

    def factor_scores(self, w: Array) -> Array:
        """``sum_p Phi_p w_p``, where `w` has one number for every factor of all views."""
        scores, ends = np.zeros(self.n), np.cumsum([0, *(Phi.shape[1] for Phi in self.factors)])
        for Phi, samples, (a, b) in zip(self.factors, self.index, pairwise(ends), strict=True):
            if w[a:b].any():
                scores[samples] += product(Phi, w[a:b])
        return scores * self.scale

    def roots(self, eta: Array) -> Array:
        """``sqrt(eta)`` of every factor of all views."""
        return np.sqrt(np.repeat(eta, [Phi.shape[1] for Phi in self.factors]))

    def rows(self, samples: Array) -> Array:
        """The factors of some samples side by side, zero where a view is absent; in double precision."""
        parts = []
        for v, Phi in enumerate(self.factors):
            place = self.place[samples, v]
            part = np.zeros((len(samples), Phi.shape[1]))
            part[place >= 0] = Phi[place[place >= 0]]
            parts.append(part)
        return np.hstack(parts) * self.scale[samples, None]

    def restrict(self, samples: Array) -> FactorStack:
        """The same views of these `samples` only, given in rising order."""
        kept, index = self._restrict_index(samples)
        factors = [Phi[k] for Phi, k in zip(self.factors, kept, strict=True)]
        return FactorStack(factors, index, len(samples), self._diagonal[samples], self.scale[samples])

    def rescale(self, scale: Array) -> FactorStack:
        """The same with every sample's factors multiplied by `scale`."""
        return FactorStack(self.factors, self.index, self.n, self._diagonal, self.scale * scale)


class _FactorSum:
    """The sum by the factors of its kernels, never formed."""

    def __init__(self, stack: FactorStack, eta: Array) -> None:
        self.stack, self.eta = stack, eta
        self.largest = float((stack.squares @ eta).max(initial=0.0))

    def fit(self, box: Box, *, tol: float, start: Array | None = None) -> Machine:
        """The machine on it, to a relative gap of `tol`."""
        return fit_linear(self.stack, self.eta, box, tol=tol, start=start)

    def response(self, box: Box, machine: Machine, R: Array, jitter: float) -> _Response:
        """How V bends; coefficients stay where they are."""
        m = R.shape[1]
        near, give = self._near(box, machine)
        if len(near) < 2:
            return _Response.none(m)
        Phi, root = self.stack.rows(near), self.stack.roots(self.eta)
        bent = Phi / give[:, None]
        # products of A with the columns of R and with 1, by Woodbury's identity
        sides = np.column_stack([R[near], np.ones(len(near))])
        inner = np.eye(len(root)) + root[:, None] * (bent.T @ Phi) * root
        L = scipy.linalg.cholesky(inner, lower=True)
        Y = scipy.linalg.solve_triangular(L, root[:, None] * (bent.T @ sides), lower=True)
        plain = (sides / give[:, None]).T @ sides
        A = plain - Y.T @ Y
        H = A[:-1, :-1] - np.outer(A[-1, :-1], A[-1, :-1]) / A[-1, -1] if A[-1, -1] > 0 else A[:-1, :-1]
        values, vectors = np.linalg.eigh((H + H.T) / 2)
        none = _Response.none(m)
        return none._replace(H=vectors * np.maximum(values, 0.0) @ vectors.T)

    def _near(self, box: Box, machine: Machine) -> tuple[Array, Array]:
        """Samples near their kinks, some of them if there are very many, and how much each gives."""
        held = np.flatnonzero((box.hi > box.lo) & (self.stack.squares @ self.eta > 0))
        rest = box.t[held] - machine.scores[held] - machine.bias
        distance = np.abs(np.abs(rest) - box.eps)
        least = 5 * sum(Phi.shape[1] for Phi in self.stack.factors)
        wanted = min(len(held), max(int(_NEAR * len(held)), least))
        if wanted < 2:
            return held[:0], distance[:0]
        reach = float(np.partition(distance, wanted - 1)[wanted - 1])
        near = held[distance <= reach]
        sampled = near[:: -(-len(near) // _MOST_NEAR)]
        floor = 1e-12 * float(np.abs(box.t).max())
        give = 2 * max(reach, floor) / (box.hi[sampled] - box.lo[sampled])
        give += self.stack.diagonal[sampled] @ self.eta
        return sampled, give * (len(sampled) / len(near))


def _transposed_product(Phi: Array, z: Array) -> Array:
    """``Phi' z`` in double precision; parts of the factors with zero coefficients only are not read."""
    total = np.zeros(Phi.shape[1])
    for a in range(0, len(Phi), _FACTOR_ROWS):
        part = z[a : a + _FACTOR_ROWS]
        if part.any():
            total += part @ Phi[a : a + _FACTOR_ROWS].astype(np.float64, copy=False)
    return total


Stack = KernelStack | FactorStack
Sum = _DenseSum | _FactorSum
