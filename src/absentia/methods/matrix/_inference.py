r"""Exact inference for ``_model.Addition`` with entries missing.

With P the precision of vec X, m the missing and o the observed entries:

* *mean*: ``P_mm x_m = -P_mo x_o``, by a Cholesky factor of P_mm when small (:func:`posterior_mean`), by
  conjugate gradients in missing space when large (:func:`complete`).  The preconditioner inverts,
  row by row, the block of P that belongs to the row's missing entries.
* *draws* (Matheron): a draw from the prior minus its own completion has the posterior covariance, so
  added to the mean it is an independent draw from the posterior.
* *marginal likelihood* of the observed entries:
  ``log p(X completed) - 1/2 log|P_mm| + (n_missing / 2) log 2 pi``; the determinant by Cholesky when
  small, by preconditioned stochastic Lanczos quadrature when large.
* its *gradient*, ``1/2 [a'(dS)a - tr(P dS) + tr(P_mm^-1 (P dS P)_mm)]`` with ``a = P vec(X completed)``;
  the last trace is ``E[(P D)' dS (P D)]`` over posterior deviations D, of which a :func:`spread` holds
  either all (exact) or a sample (unbiased).
* *mode*: the paper's alternation between F (eq. 16) and the missing entries (eq. 17).  The joint density is
  Gaussian, so for fixed kernels the mode is the mean, and conjugate gradients get there sooner.

Departures from the paper: its "exact" inference flattens the matrix and factorises a dense covariance;
here nothing of that size is formed.  Eq. 17 runs along the row, as the model has it (the paper's indices
mix rows and columns), and all missing entries of a row are updated at once.
"""

from __future__ import annotations

import math
from collections.abc import Callable
from dataclasses import dataclass

import numpy as np
import scipy.linalg

from absentia.core import (
    Array,
    Conditional,
    Solution,
    Stop,
    by_pattern,
    cholesky,
    cholesky_logdet,
    cholesky_solve,
    iterate,
)
from absentia.methods.matrix._model import Addition, across

#: Up to this many missing entries, a matrix over them is formed and factorised.
SMALL = 1000
#: ... unless that takes more multiplications than this (about a second).
DEAR = 5e9
#: Up to this many numbers, the preconditioner keeps a block for every row.
BLOCKS = 50_000_000


# --------------------------------------------------------------------------------- preconditioning


@dataclass(frozen=True)
class RowBlocks:
    """Inverse Cholesky factors ``L^-1`` of the missing blocks of P, one for each row (n, m, m).

    Where there are too many columns for that, only the diagonal of P (n, m).
    """

    root: Array

    @classmethod
    def of(cls, model: Addition, missing: Array) -> RowBlocks:
        n, m = missing.shape
        share, V = model.row_share(), model.V
        if n * m * m > BLOCKS or m > 64:
            return cls(np.where(missing, 1 / np.sqrt(np.maximum(share @ (V**2).T, 1e-300)), 0.0))
        blocks = np.einsum("aj,ij,bj->iab", V, share, V, optimize=True)
        blocks *= missing[:, :, None] & missing[:, None, :]
        blocks[:, np.arange(m), np.arange(m)] += ~missing
        root = np.linalg.inv(np.linalg.cholesky(blocks))
        root[:, np.arange(m), np.arange(m)] *= missing  # observed entries stay zero
        return cls(root)

    def half(self, X: Array) -> Array:
        """``L^-1 x`` for X (n, k, m)."""
        return across(self.root, X) * X if self.root.ndim == 2 else X @ self.root.transpose(0, 2, 1)

    def half_transposed(self, X: Array) -> Array:
        """``L^-T x`` for X (n, k, m)."""
        return across(self.root, X) * X if self.root.ndim == 2 else X @ self.root

    def solve(self, X: Array) -> Array:
        return self.half_transposed(self.half(X))

    def logdet(self) -> float:
        """Log-determinant of the blocks."""
        diagonal = self.root if self.root.ndim == 2 else np.einsum("iaa->ia", self.root)
        return -2.0 * float(np.log(diagonal[diagonal > 0]).sum())


# ------------------------------------------------------------------------------------------- mean


@dataclass(frozen=True)
class _Descent:
    """Where conjugate gradients stand, for each of k systems."""

    x: Array
    residual: Array
    direction: Array
    power: Array  # r' M^-1 r


def conjugate_gradients(
    A: Callable[[Array], Array],
    B: Array,
    precondition: Callable[[Array], Array],
    start: Array,
    *,
    tol: float = 1e-8,
    max_iter: int = 500,
) -> Solution[_Descent]:
    """Solve ``A x = b`` for each of the k matrices in B (n, k, m), to residuals below ``tol |b|``."""

    def inner(X: Array, Y: Array) -> Array:
        return np.asarray(np.einsum("ikj,ikj->k", X, Y))

    scale = np.sqrt(inner(B, B))
    scale[scale == 0] = 1.0

    def step(state: _Descent) -> _Descent:
        Ad = A(state.direction)
        curvature = inner(state.direction, Ad)
        length = np.where(curvature > 0, state.power / np.where(curvature > 0, curvature, 1), 0.0)
        x = state.x + length[:, None] * state.direction
        residual = state.residual - length[:, None] * Ad
        Mr = precondition(residual)
        power = inner(residual, Mr)
        ratio = power / np.where(state.power > 0, state.power, 1.0)
        return _Descent(x, residual, Mr + ratio[:, None] * state.direction, power)

    def worst(state: _Descent) -> float:
        return float((np.sqrt(inner(state.residual, state.residual)) / scale).max(initial=0.0))

    residual = B - A(start) if start.any() else B
    direction = precondition(residual)
    first = _Descent(start, residual, direction, inner(residual, direction))
    stop, there = Stop(tol, "the relative residual", worst), worst(first) <= tol
    return iterate(step, None, first, stop=stop, max_iter=0 if there else max_iter)


def complete(
    model: Addition,
    X: Array,
    observed: Array,
    *,
    start: Array | None = None,
    tol: float = 1e-8,
    max_iter: int = 500,
    blocks: RowBlocks | None = None,
) -> Array:
    """X with its missing entries replaced by their expectation given the observed ones.

    X is (n, m) or (n, k, m), centred; what stands at missing entries does not matter.  A `start` of the
    same shape says where to begin.
    """
    missing = ~observed
    many = X[:, None, :] if X.ndim == 2 else X
    if not missing.any():
        return X.copy()
    hole = missing[:, None, :]
    known = np.where(hole, 0.0, many)
    blocks = RowBlocks.of(model, missing) if blocks is None else blocks
    begin = np.zeros_like(known) if start is None else np.where(hole, start.reshape(many.shape), 0.0)
    found = conjugate_gradients(
        lambda Z: np.where(hole, model.solve(Z), 0.0),
        -np.where(hole, model.solve(known), 0.0),
        blocks.solve,
        begin,
        tol=tol,
        max_iter=max_iter,
    )
    return (known + found.state.x).reshape(X.shape)


def is_small(model: Addition, observed: Array) -> bool:
    """Whether a matrix over the missing entries is formed and factorised."""
    missing = ~observed
    products = model.shape[1] * int(missing.any(axis=1).sum()) ** 2 * len(model.rows.l)
    return int(missing.sum()) <= SMALL and products <= DEAR


def posterior_mean(model: Addition, X: Array, observed: Array, *, tol: float = 1e-9) -> Array:
    """As :func:`complete`: solved directly where that is cheap, else to a residual of `tol`."""
    if observed.all() or not is_small(model, observed):
        return complete(model, X, observed, tol=tol)
    P = missing_precision(model, observed)
    return _solved(model, X, observed, cholesky(P, "precision of the missing entries"))


def residual(model: Addition, X: Array, full: Array, observed: Array) -> float:
    """How far `full` (n, m) is from solving ``P_mm x_m = -P_mo x_o``, relative to the right-hand side."""
    right = model.solve(np.where(observed, X, 0.0))[~observed]
    left = model.solve(full)[~observed]
    size = float(np.linalg.norm(right))
    return float(np.linalg.norm(left)) / size if size else 0.0


def _solved(model: Addition, X: Array, observed: Array, L: Array) -> Array:
    """:func:`complete` with the Cholesky factor of P_mm, and one step of iterative refinement."""
    many = X[:, None, :] if X.ndim == 2 else X
    i, j = np.nonzero(~observed)
    full = np.where(observed[:, None, :], many, 0.0)
    for _ in range(2):
        full[i, :, j] -= cholesky_solve(L, model.solve(full)[i, :, j])
    return full.reshape(X.shape)


# ------------------------------------------------------------------------------ posterior deviations


def missing_precision(model: Addition, observed: Array) -> Array:
    """``P_mm``, dense, in the order of ``np.argwhere(~observed)``."""
    i, j = np.nonzero(~observed)
    some, i = np.unique(i, return_inverse=True)
    i = i.ravel()
    U, V, pairs = model.rows.U[some], model.V[j], np.ix_(i, i)
    if model.rows.full:
        P = np.zeros((len(i), len(i)))
        for k in range(V.shape[1]):
            P += np.multiply.outer(V[:, k], V[:, k]) * ((U / model.d[:, k]) @ U.T)[pairs]
        return P
    P = (i[:, None] == i[None, :]) * (V @ V.T)
    for k in range(V.shape[1]):
        P -= np.multiply.outer(V[:, k], V[:, k]) * ((U * model.shrink[:, k]) @ U.T)[pairs]
    return P


def posterior(model: Addition, X: Array, observed: Array) -> tuple[Array, Array]:
    """:func:`posterior_mean` and the exact :func:`spread`, by one factorisation."""
    i, j = np.nonzero(~observed)
    L = cholesky(missing_precision(model, observed), "precision of the missing entries")
    D = np.zeros((observed.shape[0], len(i), observed.shape[1]))
    D[i, :, j] = scipy.linalg.solve_triangular(L, np.eye(len(i)), lower=True).T
    return _solved(model, X, observed, L), D


def spread(
    model: Addition,
    observed: Array,
    rng: np.random.Generator | None = None,
    n_draws: int = 1,
    *,
    tol: float = 1e-6,
    start: Array | None = None,
) -> Array:
    """D (n, k, m), zero where observed, with ``sum_k vec(D_k) vec(D_k)'`` the posterior covariance.

    Without `rng` exactly (a root of ``P_mm^-1``, k = number of missing entries); with it on average
    (Matheron draws divided by the root of k).
    """
    if rng is None:
        return posterior(model, np.zeros(observed.shape), observed)[1]
    return deviations(model, observed, model.draw(rng, n_draws), tol=tol, start=start) / math.sqrt(n_draws)


def deviations(
    model: Addition, observed: Array, prior: Array, *, tol: float = 1e-6, start: Array | None = None
) -> Array:
    """Posterior deviations from prior draws (Matheron's rule): draw minus its own completion."""
    return prior - complete(model, prior, observed, tol=tol, start=None if start is None else prior - start)


def draws(
    model: Addition, X: Array, observed: Array, rng: np.random.Generator, n: int, *, tol: float = 1e-6
) -> Array:
    """`n` independent posterior draws of the completed X, (n_draws, rows, columns)."""
    mean = posterior_mean(model, X, observed, tol=tol)
    D = deviations(model, observed, model.draw(rng, n), tol=tol)
    return (mean[:, None, :] + D).transpose(1, 0, 2)


def variance(
    model: Addition, observed: Array, rng: np.random.Generator | None = None, n_draws: int = 500
) -> Array:
    """Posterior variance of every entry, zero where observed; exact without `rng`."""
    if rng is None:
        return np.asarray((spread(model, observed) ** 2).sum(axis=1))
    total, chunk = np.zeros(observed.shape), max(1, 5_000_000 // observed.size)
    for first in range(0, n_draws, chunk):
        k = min(chunk, n_draws - first)
        total += (deviations(model, observed, model.draw(rng, k)) ** 2).sum(axis=1)
    return total / n_draws


# -------------------------------------------------------------------------------- marginal likelihood


def missing_logdet(model: Addition, observed: Array, rng: np.random.Generator | None = None) -> float:
    """``log|P_mm|``; exact without `rng`, by stochastic Lanczos quadrature with it."""
    if observed.all():
        return 0.0
    if rng is None:
        return cholesky_logdet(
            cholesky(missing_precision(model, observed), "precision of the missing entries")
        )
    return _lanczos_logdet(model, ~observed, rng)


def _lanczos_logdet(
    model: Addition, missing: Array, rng: np.random.Generator, n_probes: int = 10, depth: int = 25
) -> float:
    """``log|P_mm|`` as that of the row blocks plus ``E[z' log(L^-1 P_mm L^-T) z]`` over random signs z."""
    blocks, hole = RowBlocks.of(model, missing), missing[:, None, :]
    z = np.where(hole, rng.choice([-1.0, 1.0], size=(missing.shape[0], n_probes, missing.shape[1])), 0.0)
    size = int(missing.sum())
    q, before = z / math.sqrt(size), np.zeros_like(z)
    alphas: list[Array] = []
    betas: list[Array] = []
    for _ in range(min(depth, size)):
        w = blocks.half(np.where(hole, model.solve(blocks.half_transposed(q)), 0.0))
        alpha = np.einsum("ikj,ikj->k", w, q)
        w = w - alpha[:, None] * q - (betas[-1][:, None] * before if betas else 0.0)
        beta = np.sqrt(np.einsum("ikj,ikj->k", w, w))
        alphas.append(alpha)
        betas.append(beta)
        before, q = q, w / np.maximum(beta, 1e-300)[:, None]
    total = 0.0
    for k in range(n_probes):
        off = [b[k] for b in betas[:-1]]
        values, vectors = scipy.linalg.eigh_tridiagonal([a[k] for a in alphas], off)
        total += size * float(vectors[0] ** 2 @ np.log(np.maximum(values, 1e-12)))
    return blocks.logdet() + total / n_probes


def log_marginal(
    model: Addition,
    X: Array,
    observed: Array,
    rng: np.random.Generator | None = None,
    *,
    completed: Array | None = None,
    tol: float = 1e-10,
) -> float:
    """Log-density of the observed entries.  With `rng` the determinant is estimated, for large problems."""
    full = complete(model, X, observed, tol=tol) if completed is None else completed
    n_missing = int((~observed).sum())
    return (
        model.loglik(full)
        - 0.5 * missing_logdet(model, observed, rng)
        + 0.5 * n_missing * math.log(2 * math.pi)
    )


@dataclass(frozen=True)
class Gradient:
    """Derivatives of the log marginal likelihood in C, in N and, along a direction, in K."""

    C: Array
    N: Array
    A: Array  # precision times (completed X and deviations), (n, 1 + k, m)
    model: Addition

    def along(self, dK: Array) -> float:
        """Derivative when the row kernel moves by `dK` (n, n)."""
        U, c, d = self.model.rows.U, self.model.c, self.model.d
        AC = self.A @ self.model.C
        quadratic = float(np.einsum("ikj,ikj->", AC, np.einsum("ab,bkj->akj", dK, self.A)))
        inside = float((np.einsum("ir,ir->r", U, dK @ U) * ((c / d).sum(axis=1))).sum())
        outside = (
            0.0 if self.model.rows.full else c.sum() * (np.trace(dK) - np.einsum("ir,ir->", U, dK @ U))
        )
        return 0.5 * (quadratic - inside - float(outside))


def gradient(
    model: Addition,
    X: Array,
    observed: Array,
    rng: np.random.Generator | None = None,
    n_draws: int = 20,
    *,
    tol: float = 1e-10,
) -> Gradient:
    """Gradient of :func:`log_marginal`: exact without `rng`, unbiased with it."""
    full = complete(model, X, observed, tol=tol)[:, None, :]
    D = spread(model, observed, rng, n_draws)
    A = model.solve(np.concatenate([full, D], axis=1))
    V, (n, _) = model.V, model.shape
    KA = np.einsum("ir,r,rkj->ikj", model.rows.U, model.rows.l, np.einsum("ir,ikj->rkj", model.rows.U, A))
    in_N = np.einsum("ika,ikb->ab", A, A) - (V * (n - model.shrink.sum(axis=0))) @ V.T
    in_C = np.einsum("ika,ikb->ab", A, KA) - (V * (model.rows.l[:, None] / model.d).sum(axis=0)) @ V.T
    return Gradient(0.5 * in_C, 0.5 * in_N, A, model)


# ------------------------------------------------------------------------------------------- mode


@dataclass(frozen=True)
class RowsGiven:
    """Missing given seen columns under N(0, N), for the rows that miss the same columns."""

    rows: Array
    gone: Array
    seen: Array
    B: Array  # the regression of the missing on the seen
    root: Array  # e' root has the missing columns' covariance


def conditionals(model: Addition, observed: Array) -> list[RowsGiven]:
    Q = model.V @ model.V.T  # N^-1
    found = []
    for missing, rows in by_pattern(~observed):
        seen, gone = np.flatnonzero(~missing), np.flatnonzero(missing)
        if len(gone):
            given = Conditional.by_precision(Q, seen, gone)
            found.append(RowsGiven(rows, gone, seen, given.B, np.linalg.inv(given.L)))
    return found


def missing_given_rows(
    X: Array, F: Array, given: list[RowsGiven], rng: np.random.Generator | None = None
) -> Array:
    """Missing entries given F and the rest of their row (eq. 15 and 17, put right), for X (n, k, m).

    Their expectation, or a draw if there is an `rng`.
    """
    X = X.copy()
    for part in given:
        G, F_part = X[part.rows], F[part.rows]
        new = F_part[:, :, part.gone] + (G - F_part)[:, :, part.seen] @ part.B
        if rng is not None:
            new += rng.standard_normal(new.shape) @ part.root
        G[:, :, part.gone] = new
        X[part.rows] = G
    return X


def mode(
    model: Addition, X: Array, observed: Array, *, tol: float = 1e-10, max_iter: int = 5000
) -> Solution[Array]:
    """The paper's alternation: F by the Sylvester equation, missing entries given F, until it settles.

    The objective is minus the log-density of the completed X up to a constant, ``1/2 x'Px``.  The state
    is the completed matrix, (n, 1, m).
    """
    given = conditionals(model, observed)
    filled = np.where(observed, X, 0.0)[:, None, :]
    return iterate(
        lambda Z: missing_given_rows(Z, model.row_part(Z), given),
        lambda Z: 0.5 * float((Z * model.solve(Z)).sum()),
        filled,
        stop=Stop(tol),
        max_iter=max_iter,
    )
