"""Several kernels given by factors over the same samples: ``K_p = Phi_p Phi_p'``, none of them ever formed.

Everything here takes time and memory linear in the samples.  Factors stay where they are, in single or
double precision, in memory or mapped from a file; sums over samples are in double precision.
"""

from __future__ import annotations

from collections.abc import Sequence
from functools import cached_property
from itertools import pairwise

import numpy as np

from absentia.core import Array, factors_of
from absentia.data import KernelViews
from absentia.methods.learning.engine._compiled import compiled
from absentia.methods.learning.engine._sums import Alignments, FactorSum

CHUNK = 4096


class FactorStack:
    """Kernels over n samples: each by the factors of the samples that have the view, zero elsewhere.

    Parameters
    ----------
    factors : sequence of ndarray of shape (n_p, d_p)
        Contiguous rows; those of all views are brought to one precision if they differ.
    index : sequence of ndarray
        The samples of each view's rows.
    n : int
        Number of samples.
    own : ndarray of shape (n, views), optional
        What is added to the diagonal of each kernel.
    scale : ndarray of shape (n,), optional
        What each sample's rows and columns are to be multiplied by; factors stay as they are.
    """

    def __init__(
        self,
        factors: Sequence[Array],
        index: Sequence[Array],
        n: int,
        own: Array | None = None,
        scale: Array | None = None,
    ) -> None:
        dtype = np.result_type(np.float32, *(one.dtype for one in factors))
        self.factors = [np.ascontiguousarray(one, dtype=dtype) for one in factors]
        self.index = [np.ascontiguousarray(i, dtype=np.int64) for i in index]
        self.n, self.dtype = n, dtype
        self.scale = np.ones(n) if scale is None else scale
        self._own = np.zeros((n, len(self.factors))) if own is None else own

    @classmethod
    def of(cls, kernels: KernelViews, order: Array | None = None) -> FactorStack:
        """The factors of square KernelViews, not copied; the samples in another `order` if one is given."""
        index = [np.flatnonzero(seen) for seen in kernels.observed.T]
        if order is not None:
            rank = np.argsort(order)
            index = [rank[own] for own in index]
        parts = [factors_of(kernels.operator(name)) for name in kernels.names]
        own = np.zeros(kernels.observed.shape)
        for v, part in enumerate(parts):
            own[index[v], v] = 0.0 if part.own is None else part.own
        return cls([part.Phi for part in parts], index, len(kernels), own)

    def __len__(self) -> int:
        return len(self.factors)

    @cached_property
    def place(self) -> Array:
        """Where in each view's factors a sample's row is, samples x views; -1: nowhere."""
        place = np.full((self.n, len(self)), -1, dtype=np.int32)
        for v, own in enumerate(self.index):
            place[own, v] = np.arange(len(own))
        return place

    @cached_property
    def own(self) -> Array:
        """What is added to the diagonal of each kernel, samples x views."""
        return np.asarray(self._own * self.scale[:, None] ** 2)

    @cached_property
    def squares(self) -> Array:
        """``k_p(i, i)``, samples x views."""
        squares = np.zeros((self.n, len(self)))
        for v, (Phi, own) in enumerate(zip(self.factors, self.index, strict=True)):
            squares[own, v] = _squares(Phi)
        return squares * self.scale[:, None] ** 2 + self.own

    def largest(self) -> Array:
        """Every kernel's largest value, which lies on its diagonal."""
        return np.asarray(self.squares.max(axis=0, initial=0.0))

    def normals(self, z: Array) -> list[Array]:
        """``u_p = Phi_p' z`` of every view."""
        z = z * self.scale
        return [
            np.asarray(gathered(Phi, own, z)) for Phi, own in zip(self.factors, self.index, strict=True)
        ]

    def weighted(self, eta: Array, ridge: float = 0.0) -> FactorSum:
        """``sum_p eta_p K_p + ridge I``, for machines to be learned on."""
        return FactorSum(self, eta, ridge)

    def products(self, z: Array) -> tuple[Array, Array]:
        """``K_p z``, one column per view, and ``q_p = z' K_p z``; in double precision."""
        normals = self.normals(z)
        R = np.zeros((len(self), self.n))
        for row, Phi, own, u in zip(R, self.factors, self.index, normals, strict=True):
            _add_scores(row, Phi, own, u)
        R = R.T * self.scale[:, None] + self.own * z[:, None]
        return R, np.array([float(u @ u) for u in normals]) + z**2 @ self.own

    def scores(self, eta: Array, z: Array) -> Array:
        """``sum_p eta_p K_p z``."""
        scores, scaled = np.zeros(self.n), z * self.scale
        for weight, Phi, own in zip(eta, self.factors, self.index, strict=True):
            if weight > 0:
                _add_scores(scores, Phi, own, weight * gathered(Phi, own, scaled))
        return scores * self.scale + (self.own @ eta) * z

    def through(self, w: Array) -> Array:
        """``sum_p Phi_p w_p``, where `w` has one number for every factor of all views."""
        scores, ends = np.zeros(self.n), np.cumsum([0, *(Phi.shape[1] for Phi in self.factors)])
        for Phi, own, (a, b) in zip(self.factors, self.index, pairwise(ends), strict=True):
            if w[a:b].any():
                _add_scores(scores, Phi, own, w[a:b])
        return scores * self.scale

    def roots(self, eta: Array) -> Array:
        """``sqrt(eta)`` of every factor of all views."""
        return np.asarray(np.sqrt(np.repeat(eta, [Phi.shape[1] for Phi in self.factors])))

    def rows(self, samples: Array) -> Array:
        """The factors of some samples side by side, zero where a view is absent; in double precision."""
        parts = []
        for v, Phi in enumerate(self.factors):
            own = self.place[samples, v]
            part = np.zeros((len(samples), Phi.shape[1]))
            part[own >= 0] = Phi[own[own >= 0]]
            parts.append(part)
        return np.hstack(parts) * self.scale[samples, None]

    def restricted(self, samples: Array) -> FactorStack:
        """The same views of these `samples` only, given in rising order."""
        kept = [np.isin(own, samples, assume_unique=True) for own in self.index]
        factors = [Phi[k] for Phi, k in zip(self.factors, kept, strict=True)]
        index = [np.searchsorted(samples, own[k]) for own, k in zip(self.index, kept, strict=True)]
        return FactorStack(factors, index, len(samples), self._own[samples], self.scale[samples])

    def scaled(self, scale: Array) -> FactorStack:
        """The same with every sample's factors multiplied by `scale`."""
        return FactorStack(self.factors, self.index, self.n, self._own, self.scale * scale)

    def alignments(self, y: Array, counted: Array) -> Alignments:
        """Inner products of the centred kernels, over the samples that count."""
        ends = np.cumsum([0, *(Phi.shape[1] for Phi in self.factors)])
        parts, n = [slice(a, b) for a, b in pairwise(ends)], len(counted)
        centred, own = y[counted] - y[counted].mean(), self.own[counted]
        mean, T, along = np.zeros(ends[-1]), np.zeros((ends[-1], ends[-1])), np.zeros(ends[-1])
        pieces = [slice(a, a + CHUNK) for a in range(0, n, CHUNK)]
        for piece in pieces:
            mean += self.rows(counted[piece]).sum(axis=0) / n
        beside = np.zeros((len(parts), len(parts)))  # of factors and diagonals
        for piece in pieces:
            rows = self.rows(counted[piece]) - mean
            T += rows.T @ rows
            along += centred[piece] @ rows
            beside += np.array([(rows[:, p] ** 2).sum(axis=1) for p in parts]) @ own[piece]
        M = np.array([[float((T[p, q] ** 2).sum()) for q in parts] for p in parts]) + beside + beside.T
        M += (1 - 2 / n) * own.T @ own + np.outer(own.sum(axis=0), own.sum(axis=0)) / n**2
        a = np.array([float(along[p] @ along[p]) for p in parts]) + centred**2 @ own
        spread = np.array([float(np.trace(T[p, p])) for p in parts]) + (1 - 1 / n) * own.sum(axis=0)
        return Alignments(M, a, spread)

    def reached(self, views: Array) -> Array:
        """Samples that have one of the `views` (True = this one)."""
        return np.flatnonzero((self.place[:, views] >= 0).any(axis=1))


@compiled(fast=True)
def _squares(Phi):  # type: ignore[no-untyped-def]
    """``|Phi_i|^2`` of every row, in double precision."""
    n, d = Phi.shape
    squares = np.empty(n)
    for i in range(n):
        row, total = Phi[i], 0.0
        for k in range(d):
            total += np.float64(row[k]) * row[k]
        squares[i] = total
    return squares


@compiled(fast=True)
def gathered(Phi, index, z):  # type: ignore[no-untyped-def]
    """``Phi' z``; rows of zero coefficients are not read."""
    n, d = Phi.shape
    total = np.zeros(d)
    for i in range(n):
        weight = z[index[i]]
        if weight != 0.0:
            row = Phi[i]
            for k in range(d):
                total[k] += weight * row[k]
    return total


@compiled(fast=True)
def _add_scores(out, Phi, index, u):  # type: ignore[no-untyped-def]
    """``out += Phi u`` at the samples `index`."""
    n, d = Phi.shape
    for i in range(n):
        row, score = Phi[i], 0.0
        for k in range(d):
            score += row[k] * u[k]
        out[index[i]] += score
