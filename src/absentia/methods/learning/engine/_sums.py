"""A weighted sum of kernels at given weights: the machine on it, and how that answers to other weights.

While the same coefficients F stay free, ``z`` and so the gradient of V (see ``_solver``) are smooth in the
weights: with ``R = [K_p z]_F``, ``A = K_FF^-1`` and ``B = A - A 1 1' A / (1' A 1)``,

    d^2 V / d eta^2 = R' B R,        dz_F = -B R d eta.

:class:`DenseSum` is just that.  From factors a machine is known less exactly, and which of a million
coefficients are free in the end hardly at all.  But the sum of so many losses is nearly smooth where they
have kinks: over a step that moves scores by some Delta, the samples N that lie so near theirs bend it as a
quadratic of curvature ``1 / J_i = (hi_i - lo_i) / 2 Delta`` would, and ``A = (K_NN + J)^-1``.  That is what
:class:`FactorSum` has, through matrices as large as there are factors.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, NamedTuple, Protocol

import numpy as np
import scipy.linalg

from absentia.core import Array
from absentia.methods.learning.engine._linear import fit_linear
from absentia.methods.learning.engine._svm import Box, Machine, fit_machine

if TYPE_CHECKING:
    from absentia.methods.learning.engine._factors import FactorStack

NEAR = 0.05  # share of the samples that count as near their kinks
MOST_NEAR = 20_000  # of them that are looked at


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
    """``sum_p eta_p K_p``, perhaps with something added to its diagonal."""

    largest: float  # its largest value

    def fit(self, box: Box, *, tol: float, start: Array | None = None) -> Machine: ...
    def response(self, box: Box, machine: Machine, R: Array, jitter: float) -> Response: ...


class DenseSum:
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
        L = lifted_cholesky(self.K[np.ix_(free, free)].astype(np.float64, copy=False), jitter)
        # with Y = L^-1 R made orthogonal to L^-1 1: H = Y'Y, which rounding cannot make indefinite
        sides = np.column_stack([R[free], np.ones(len(free))])
        Y = scipy.linalg.solve_triangular(L, sides, lower=True, check_finite=False)
        Y, one = Y[:, :-1], Y[:, -1]
        Y = Y - np.outer(one, one @ Y) / (one @ one)
        follow = scipy.linalg.solve_triangular(L, Y, lower=True, trans=1, check_finite=False)
        return Response(Y.T @ Y, free, follow)


class FactorSum:
    """The sum by the factors of its kernels, never formed."""

    def __init__(self, stack: FactorStack, eta: Array, ridge: float = 0.0) -> None:
        self.stack, self.eta, self.ridge = stack, eta, ridge
        self.largest = float((stack.squares @ eta).max(initial=0.0)) + ridge

    def fit(self, box: Box, *, tol: float, start: Array | None = None) -> Machine:
        """The machine on it, to a relative gap of `tol`."""
        return fit_linear(self.stack, self.eta, box, tol=tol, start=start, ridge=self.ridge)

    def response(self, box: Box, machine: Machine, R: Array, jitter: float) -> Response:
        """How V bends; coefficients stay where they are."""
        m = R.shape[1]
        near, give = self._near(box, machine)
        if len(near) < 2:
            return Response.none(m)
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
        none = Response.none(m)
        return none._replace(H=vectors * np.maximum(values, 0.0) @ vectors.T)

    def _near(self, box: Box, machine: Machine) -> tuple[Array, Array]:
        """Samples near their kinks, some of them if there are very many, and how much each gives."""
        held = np.flatnonzero((box.hi > box.lo) & (self.stack.squares @ self.eta > 0))
        rest = box.t[held] - machine.scores[held] - machine.bias
        distance = np.abs(np.abs(rest) - box.eps)
        least = 5 * sum(Phi.shape[1] for Phi in self.stack.factors)
        wanted = min(len(held), max(int(NEAR * len(held)), least))
        if wanted < 2:
            return held[:0], distance[:0]
        reach = float(np.partition(distance, wanted - 1)[wanted - 1])
        near = held[distance <= reach]
        some = near[:: -(-len(near) // MOST_NEAR)]
        floor = 1e-12 * float(np.abs(box.t).max())
        give = 2 * max(reach, floor) / (box.hi[some] - box.lo[some])
        give += self.stack.own[some] @ self.eta + self.ridge
        return some, give * (len(some) / len(near))


def lifted_cholesky(K: Array, jitter: float) -> Array:
    """The factor of `K` with `jitter`, or as much more as it takes, of its mean diagonal added to it."""
    level = float(np.diagonal(K).mean())
    while True:
        lifted = K.copy()
        lifted[np.diag_indices_from(lifted)] += jitter * level
        try:
            return np.asarray(
                scipy.linalg.cholesky(lifted, lower=True, overwrite_a=True, check_finite=False)
            )
        except np.linalg.LinAlgError:
            jitter *= 100
