r"""Inference for ``_model.KroneckerGaussian`` with entries missing: expectations, variances, likelihood.

:func:`infer` completes a matrix by one of three names.

* "exact": the expectation (:func:`conditional_mean`).
* "map": the paper's alternation between F (the Sylvester equation, eq. 16) and the missing entries (eq.
  17).  The joint density is Gaussian, so for fixed kernels the mode is the mean, and the other gets there
  sooner.
* "gibbs": two blocks alternate.  F given the full X is one exact draw in the eigenbasis: between whitened
  columns and eigenvectors, ``F~ = s X~ + sqrt(s) eps`` with the gain ``s = lc / (1 + lc)``.  The missing
  entries given F are drawn exactly within each row, for all rows that miss the same columns at once.
  Several chains run together, as one product.

With o the observed and m the missing entries and P the precision of vec X, ``P_mm x_m = -P_mo x_o``: solved
by a Cholesky factor of P_mm where that is small (:func:`_complete_by_cholesky`), by conjugate gradients
over the missing entries where it is not (:func:`complete_by_gradients`), whose preconditioner inverts, row
by row, the block of P that belongs to the row's missing entries.

A draw from the prior minus its own completion has the posterior covariance (Matheron), so added to the
mean it is an independent draw from the posterior.  Where few entries are missing, a root of ``P_mm^-1``
holds that covariance exactly.

The log-likelihood of the observed entries is ``log p(X completed) - 1/2 log|P_mm| + (n_missing / 2) log 2
pi``; the determinant by Cholesky when small, by preconditioned stochastic Lanczos quadrature when large.

Departures from the paper: its "exact" inference flattens the matrix and factorises a dense covariance;
here nothing of that size is formed.  Eq. 17 runs along the row, as the model has it (the paper's indices
mix rows and columns), and all missing entries of a row are updated at once.  It samples entry by entry (eq.
12 to 15): smooth row kernels make neighbouring entries of F nearly equal, and a single-site sampler then
crawls; blocks do not.
"""

from __future__ import annotations

import math
from collections.abc import Callable
from dataclasses import dataclass
from typing import Literal, NamedTuple, Self

import numpy as np
import scipy.linalg
from sklearn.exceptions import ConvergenceWarning

from absentia.core import Array, warn
from absentia.core.linalg import (
    ConditionalGaussian,
    cholesky,
    cholesky_logdet,
    cholesky_solve,
    group_by_pattern,
)
from absentia.core.optimize import Solution, StoppingRule, iterate
from absentia.methods.matrix._model import KroneckerGaussian, RowKernel, apply_rows, expand_stack

#: The ways there are.
Inference = Literal["exact", "map", "gibbs"]
#: Beyond this many entries they are completed to a relative residual of 1e-6, with landmarks 1e-4.
_MAX_PRECISE_ENTRIES = 1_000_000
#: Up to this many missing entries, a matrix over them is formed and factorised ...
_MAX_FACTORIZED = 1000
#: ... unless that takes more multiplications than this (about a second).
_MAX_PRODUCTS = 5e9
#: Up to this many numbers, and columns, the preconditioner keeps a block for every row.
_MAX_BLOCK_NUMBERS, _MAX_BLOCK_COLUMNS = 50_000_000, 64


class Completion(NamedTuple):
    """X completed (n, m), diagnostics by name and, of draws, their standard deviations (n, m)."""

    full: Array
    diagnostics: dict[str, float]
    std: Array | None = None

    @classmethod
    def of_draws(cls, X: Array, observed: Array, values: Array) -> Self:
        """From what chains visit at the missing entries, `values` (n_chains, n_samples, n_missing)."""
        full, std = np.array(X, dtype=float), np.zeros(X.shape)
        full[~observed], std[~observed] = values.mean(axis=(0, 1)), values.std(axis=(0, 1))
        return cls(full, _diagnose(values), std)


def infer(
    model: KroneckerGaussian,
    X: Array,
    observed: Array,
    how: Inference,
    n_samples: int,
    rng: np.random.Generator,
) -> Completion:
    """X (n, m) completed by "exact", "map" or "gibbs" inference."""
    if how == "exact":
        return Completion(_infer_exactly(model, X, observed), {})
    if how == "map":
        solution = _maximize_posterior(model, X, observed)
        if not solution.converged:
            _warn_of_residual(_relative_residual(model, X, solution.state[:, 0], observed), 0.0)
        return Completion(np.asarray(solution.state[:, 0]), {"n_iter": float(solution.n_iter)})
    return Completion.of_draws(X, observed, _run_gibbs(model, X, observed, rng, n_samples=n_samples))


def _infer_exactly(model: KroneckerGaussian, X: Array, observed: Array) -> Array:
    large = X.size > _MAX_PRECISE_ENTRIES
    full = conditional_mean(
        model, X, observed, tol=1e-9 if not large else 1e-6 if model.rows.full else 1e-4
    )
    _warn_of_residual(_relative_residual(model, X, full, observed), 1e-3 if large else 1e-6)
    return full


def _warn_of_residual(residual: float, limit: float) -> None:
    if residual > limit:
        warn(
            f"missing entries were completed to a relative residual of {residual:.1g} only; the kernels "
            "are nearly singular: add a nugget to the diagonal of the column kernel",
            ConvergenceWarning,
        )


# ------------------------------------------------------------------------------------ the conditional mean


def _has_few_missing(observed: Array) -> bool:
    """Whether so few entries are missing that a matrix over them may be formed."""
    return int((~observed).sum()) <= _MAX_FACTORIZED


def is_factorizable(model: KroneckerGaussian, observed: Array) -> bool:
    """Whether a matrix over the missing entries is cheap enough to be formed and factorised."""
    products = model.shape[1] * int((~observed).any(axis=1).sum()) ** 2 * len(model.rows.l)
    return _has_few_missing(observed) and products <= _MAX_PRODUCTS


def conditional_mean(model: KroneckerGaussian, X: Array, observed: Array, *, tol: float = 1e-9) -> Array:
    """X (n, m), centred, with its missing entries at their expectation; what stands there does not matter.

    Solved directly where that is cheap, else to a relative residual of `tol`.
    """
    if observed.all() or not is_factorizable(model, observed):
        return complete_by_gradients(model, X, observed, tol=tol)
    return _complete_by_cholesky(model, X, observed, _factorize_missing(model, observed))


def _relative_residual(model: KroneckerGaussian, X: Array, full: Array, observed: Array) -> float:
    """How far `full` (n, m) is from solving ``P_mm x_m = -P_mo x_o``, relative to the right-hand side."""
    right = model.solve(np.where(observed, X, 0.0))[~observed]
    left = model.solve(full)[~observed]
    size = float(np.linalg.norm(right))
    return float(np.linalg.norm(left)) / size if size else 0.0


# ------------------------------------------------------------------------------------- by a Cholesky factor


def _complete_by_cholesky(model: KroneckerGaussian, X: Array, observed: Array, L: Array) -> Array:
    """:func:`conditional_mean` by the Cholesky factor `L` of P_mm, with one step of refinement."""
    stack = X[:, None, :] if X.ndim == 2 else X
    i, j = np.nonzero(~observed)
    full = np.where(observed[:, None, :], stack, 0.0)
    for _ in range(2):
        full[i, :, j] -= cholesky_solve(L, model.solve(full)[i, :, j])
    return full.reshape(X.shape)


def _factorize_missing(model: KroneckerGaussian, observed: Array) -> Array:
    """The Cholesky factor of ``P_mm``, in the order of ``np.argwhere(~observed)``."""
    i, j = np.nonzero(~observed)
    rows, i = np.unique(i, return_inverse=True)
    i = i.ravel()
    U, V, pairs = model.rows.U[rows], model.V[j], np.ix_(i, i)
    full = model.rows.full
    P = np.zeros((len(i), len(i))) if full else (i[:, None] == i[None, :]) * (V @ V.T)
    for k in range(V.shape[1]):
        scaled = U / model.d[:, k] if full else -U * model.gain[:, k]
        P += np.multiply.outer(V[:, k], V[:, k]) * (scaled @ U.T)[pairs]
    return cholesky(P, "precision of the missing entries")


# ----------------------------------------------------------------------------------- by conjugate gradients


@dataclass(frozen=True)
class _RowBlocks:
    """Inverse Cholesky factors ``L^-1`` of the missing blocks of P, one for each row (n, m, m).

    Where there are too many columns for that, only the diagonal of P (n, m).
    """

    root: Array

    @classmethod
    def from_model(cls, model: KroneckerGaussian, missing: Array) -> _RowBlocks:
        n, m = missing.shape
        diagonal, V = model.whitened_precision_diagonal(), model.V
        if n * m * m > _MAX_BLOCK_NUMBERS or m > _MAX_BLOCK_COLUMNS:
            return cls(np.where(missing, 1 / np.sqrt(np.maximum(diagonal @ (V**2).T, 1e-300)), 0.0))
        blocks = np.einsum("aj,ij,bj->iab", V, diagonal, V, optimize=True)
        blocks *= missing[:, :, None] & missing[:, None, :]
        blocks[:, np.arange(m), np.arange(m)] += ~missing
        root = np.linalg.inv(np.linalg.cholesky(blocks))
        root[:, np.arange(m), np.arange(m)] *= missing  # observed entries stay zero
        return cls(root)

    def apply_root(self, X: Array) -> Array:
        """``L^-1 x`` for X (n, k, m)."""
        return expand_stack(self.root, X) * X if self.root.ndim == 2 else X @ self.root.transpose(0, 2, 1)

    def apply_root_transposed(self, X: Array) -> Array:
        """``L^-T x`` for X (n, k, m)."""
        return expand_stack(self.root, X) * X if self.root.ndim == 2 else X @ self.root

    def solve(self, X: Array) -> Array:
        return self.apply_root_transposed(self.apply_root(X))

    def logdet(self) -> float:
        """Log-determinant of the blocks."""
        diagonal = self.root if self.root.ndim == 2 else np.einsum("iaa->ia", self.root)
        return -2.0 * float(np.log(diagonal[diagonal > 0]).sum())


@dataclass(frozen=True)
class _GradientState:
    """Where conjugate gradients stand, for each of k systems."""

    x: Array
    residual: Array
    direction: Array
    power: Array  # r' M^-1 r


def _conjugate_gradients(
    A: Callable[[Array], Array],
    B: Array,
    precondition: Callable[[Array], Array],
    start: Array,
    *,
    tol: float,
    max_iter: int,
) -> Solution[_GradientState]:
    """Solve ``A x = b`` for each of the k matrices in B (n, k, m), to residuals below ``tol |b|``."""

    def inner(X: Array, Y: Array) -> Array:
        return np.asarray(np.einsum("ikj,ikj->k", X, Y))

    scale = np.sqrt(inner(B, B))
    scale[scale == 0] = 1.0

    def step(state: _GradientState) -> _GradientState:
        Ad = A(state.direction)
        curvature = inner(state.direction, Ad)
        length = np.where(curvature > 0, state.power / np.where(curvature > 0, curvature, 1), 0.0)
        x = state.x + length[:, None] * state.direction
        residual = state.residual - length[:, None] * Ad
        Mr = precondition(residual)
        power = inner(residual, Mr)
        ratio = power / np.where(state.power > 0, state.power, 1.0)
        return _GradientState(x, residual, Mr + ratio[:, None] * state.direction, power)

    def worst(state: _GradientState) -> float:
        return float((np.sqrt(inner(state.residual, state.residual)) / scale).max(initial=0.0))

    residual = B - A(start) if start.any() else B
    direction = precondition(residual)
    first = _GradientState(start, residual, direction, inner(residual, direction))
    stop, there = StoppingRule(tol, "the relative residual", worst), worst(first) <= tol
    return iterate(step, None, first, stop=stop, max_iter=0 if there else max_iter)


def complete_by_gradients(
    model: KroneckerGaussian,
    X: Array,
    observed: Array,
    *,
    start: Array | None = None,
    tol: float = 1e-8,
    max_iter: int = 500,
) -> Array:
    """:func:`conditional_mean` by conjugate gradients, for X (n, m) or (n, k, m).

    A `start` of the same shape says where to begin.
    """
    missing = ~observed
    stack = X[:, None, :] if X.ndim == 2 else X
    if not missing.any():
        return X.copy()
    hole = missing[:, None, :]
    known = np.where(hole, 0.0, stack)
    begin = np.zeros_like(known) if start is None else np.where(hole, start.reshape(stack.shape), 0.0)
    solution = _conjugate_gradients(
        lambda Z: np.where(hole, model.solve(Z), 0.0),
        -np.where(hole, model.solve(known), 0.0),
        _RowBlocks.from_model(model, missing).solve,
        begin,
        tol=tol,
        max_iter=max_iter,
    )
    return (known + solution.state.x).reshape(X.shape)


# ------------------------------------------------------------------------------------- posterior deviations


def posterior(model: KroneckerGaussian, X: Array, observed: Array) -> tuple[Array, Array]:
    """:func:`conditional_mean` and the exact :func:`posterior_deviations`, by one factorisation."""
    i, j = np.nonzero(~observed)
    L = _factorize_missing(model, observed)
    D = np.zeros((observed.shape[0], len(i), observed.shape[1]))
    D[i, :, j] = scipy.linalg.solve_triangular(L, np.eye(len(i)), lower=True).T
    return _complete_by_cholesky(model, X, observed, L), D


def posterior_deviations(
    model: KroneckerGaussian,
    observed: Array,
    rng: np.random.Generator | None = None,
    n_draws: int = 1,
    *,
    tol: float = 1e-6,
) -> Array:
    """D (n, k, m), zero where observed, with ``sum_k vec(D_k) vec(D_k)'`` the posterior covariance.

    Without `rng` exactly (a root of ``P_mm^-1``, k = number of missing entries); with it on average
    (Matheron draws divided by the root of k).
    """
    if rng is None:
        return posterior(model, np.zeros(observed.shape), observed)[1]
    return _draw_deviations(model, observed, rng, n_draws, tol) / math.sqrt(n_draws)


def _draw_deviations(
    model: KroneckerGaussian, observed: Array, rng: np.random.Generator, n_draws: int, tol: float
) -> Array:
    """Prior draws minus their own completions (n, n_draws, m): Matheron's rule."""
    prior = model.draw(rng, n_draws)
    return prior - complete_by_gradients(model, prior, observed, tol=tol)


def draw_posterior(
    model: KroneckerGaussian, X: Array, observed: Array, rng: np.random.Generator, n_draws: int
) -> Array:
    """Independent posterior draws of the completed X, (n_draws, n, m)."""
    mean = conditional_mean(model, X, observed, tol=1e-6)
    return (mean[:, None, :] + _draw_deviations(model, observed, rng, n_draws, 1e-6)).transpose(1, 0, 2)


def posterior_variance(
    model: KroneckerGaussian, observed: Array, rng: np.random.Generator | None = None, n_draws: int = 500
) -> Array:
    """Posterior variance of every entry (n, m), zero where observed.

    By draws if there is an `rng` and many entries are missing, else exact.
    """
    if rng is None or _has_few_missing(observed):
        return np.asarray((posterior_deviations(model, observed) ** 2).sum(axis=1))
    total, chunk = np.zeros(observed.shape), max(1, 5_000_000 // observed.size)
    for first in range(0, n_draws, chunk):
        k = min(chunk, n_draws - first)
        total += (_draw_deviations(model, observed, rng, k, 1e-6) ** 2).sum(axis=1)
    return total / n_draws


# ---------------------------------------------------------------------------------- rows of G, and the mode


@dataclass(frozen=True)
class _PatternConditional:
    """Missing given observed columns under N(0, N), for the rows that miss the same columns."""

    rows: Array
    missing: Array
    observed: Array
    B: Array  # the regression of the missing on the observed columns
    root: Array  # e' root has the covariance of the missing columns


def condition_rows(model: KroneckerGaussian, observed: Array) -> list[_PatternConditional]:
    """The conditional distribution of every row's missing entries of G, by pattern of missing columns."""
    Q = model.V @ model.V.T  # N^-1
    conditionals = []
    for pattern, rows in group_by_pattern(~observed):
        seen, missing = np.flatnonzero(~pattern), np.flatnonzero(pattern)
        if len(missing):
            given = ConditionalGaussian.by_precision(Q, seen, missing)
            conditionals.append(_PatternConditional(rows, missing, seen, given.B, np.linalg.inv(given.L)))
    return conditionals


def update_missing(
    X: Array, F: Array, conditionals: list[_PatternConditional], rng: np.random.Generator | None = None
) -> Array:
    """Missing entries given F and the rest of their row (eq. 15 and 17, put right), for X (n, k, m).

    Their expectation, or a draw if there is an `rng`.
    """
    X = X.copy()
    for pattern in conditionals:
        part, F_part = X[pattern.rows], F[pattern.rows]
        values = F_part[:, :, pattern.missing] + (part - F_part)[:, :, pattern.observed] @ pattern.B
        if rng is not None:
            values += rng.standard_normal(values.shape) @ pattern.root
        part[:, :, pattern.missing] = values
        X[pattern.rows] = part
    return X


def complete_unrelated_rows(S: Array, X: Array) -> tuple[Array, Array]:
    """Rows of X (n, m), NaN where missing, completed under N(0, S), and standard deviations."""
    observed, std = ~np.isnan(X), np.zeros(X.shape)
    model = KroneckerGaussian(RowKernel.zero(len(X)), np.eye(len(S)), S)
    conditionals = condition_rows(model, observed)
    known = np.where(observed, X, 0.0)[:, None, :]
    full = update_missing(known, np.zeros_like(known), conditionals)[:, 0]
    for pattern in conditionals:
        std[np.ix_(pattern.rows, pattern.missing)] = np.sqrt((pattern.root**2).sum(axis=0))
    return full, std


def _maximize_posterior(
    model: KroneckerGaussian, X: Array, observed: Array, *, tol: float = 1e-10, max_iter: int = 5000
) -> Solution[Array]:
    """The paper's alternation: F by the Sylvester equation, missing entries given F, until it settles.

    The objective is minus the log-density of the completed X up to a constant, ``1/2 x'Px``.  The state
    is the completed matrix, (n, 1, m).
    """
    conditionals = condition_rows(model, observed)
    return iterate(
        lambda Z: update_missing(Z, model.expect_F(Z), conditionals),
        lambda Z: 0.5 * float((Z * model.solve(Z)).sum()),
        np.where(observed, X, 0.0)[:, None, :],
        stop=StoppingRule(tol),
        max_iter=max_iter,
    )


# ------------------------------------------------------------------------------------------- Gibbs sampling


def draw_F(model: KroneckerGaussian, X: Array, rng: np.random.Generator) -> Array:
    """F given the full X (n, k, m)."""
    s, U = expand_stack(model.gain, X), model.rows.U
    Z = apply_rows(U.T, X @ model.V)
    # noise is drawn by entries and turned into the eigenbases, so that it does not depend on the signs and
    # the order of eigenvectors: N^(1/2) V is orthogonal
    noise = apply_rows(U.T, rng.standard_normal(X.shape) @ (model.root @ model.V))
    return apply_rows(U, s * Z + np.sqrt(s) * noise) @ model.W.T


def _run_gibbs(
    model: KroneckerGaussian,
    X: Array,
    observed: Array,
    rng: np.random.Generator,
    *,
    n_samples: int = 500,
    n_chains: int = 4,
) -> Array:
    """What the chains visit at the missing entries, (n_chains, n_samples, n_missing).

    Half as many draws again are thrown away at the beginning.

    Chains start twice as far from the mean as a posterior draw, so that R-hat can see whether they
    forget where they began.
    """
    conditionals, missing = condition_rows(model, observed), ~observed
    mean = complete_by_gradients(model, X, observed, tol=1e-4)[:, None, :]
    Z = mean + 2 * _draw_deviations(model, observed, rng, n_chains, 1e-4)
    values = np.empty((n_chains, n_samples, int(missing.sum())))
    for t in range(-(n_samples // 2), n_samples):
        Z = update_missing(Z, draw_F(model, Z, rng), conditionals, rng)
        if t >= 0:
            values[:, t] = Z.transpose(1, 0, 2)[:, missing]
    return values


def _diagnose(values: Array) -> dict[str, float]:
    """The worst entry's R-hat and effective sample size."""
    n_chains, n_samples, n_missing = values.shape
    if not n_missing:
        return {"r_hat": 1.0, "effective_sample_size": float(n_chains * n_samples)}
    ess = _effective_sample_size(values)
    return {"r_hat": float(_r_hat(values).max()), "effective_sample_size": float(ess.min())}


def _r_hat(values: Array) -> Array:
    """Split R-hat of (n_chains, n_samples, ...): near 1 when the halves of all chains agree."""
    half = values.shape[1] // 2
    halves = np.concatenate([values[:, :half], values[:, -half:]])
    within = halves.var(axis=1, ddof=1).mean(axis=0)
    between = halves.mean(axis=1).var(axis=0, ddof=1)
    return np.asarray(np.sqrt((half - 1) / half + between / np.maximum(within, 1e-300)))


def _effective_sample_size(values: Array) -> Array:
    """Effective number of independent draws in (n_chains, n_samples, ...), by Geyer's positive sequence."""
    n_chains, n = values.shape[:2]
    centred = values - values.mean(axis=1, keepdims=True)
    spectrum = np.fft.rfft(centred, n=2 * n, axis=1)
    covariance = np.fft.irfft(np.abs(spectrum) ** 2, n=2 * n, axis=1)[:, :n].mean(axis=0) / n
    within = covariance[0] * n / (n - 1)
    total = covariance[0] + (values.mean(axis=1).var(axis=0, ddof=1) if n_chains > 1 else 0.0)
    rho = 1 - (within - covariance) / np.maximum(total, 1e-300)
    rho[0] = 1.0
    pairs = rho[0 : n - n % 2 : 2] + rho[1 : n - n % 2 : 2]
    positive = np.logical_and.accumulate(pairs > 0, axis=0)
    pairs = np.minimum.accumulate(np.where(positive, pairs, 0.0), axis=0)  # monotone, then zero
    time = np.maximum(2 * pairs.sum(axis=0) - 1, 1 / np.log10(max(n_chains * n, 10)))
    return np.asarray(n_chains * n / time)


# -------------------------------------------------------------------------------------- marginal likelihood


def log_marginal_likelihood(
    model: KroneckerGaussian,
    X: Array,
    observed: Array,
    rng: np.random.Generator | None = None,
    *,
    tol: float = 1e-10,
) -> float:
    """Log-density of the observed entries.

    The determinant is estimated if there is an `rng` and many entries are missing, else exact.
    """
    rng = None if _has_few_missing(observed) else rng
    full = complete_by_gradients(model, X, observed, tol=tol)
    n_missing = int((~observed).sum())
    constant = 0.5 * n_missing * math.log(2 * math.pi)
    return model.log_density(full) - 0.5 * _missing_logdet(model, observed, rng) + constant


def _missing_logdet(
    model: KroneckerGaussian, observed: Array, rng: np.random.Generator | None = None
) -> float:
    """``log|P_mm|``; exact without `rng`, by stochastic Lanczos quadrature with it."""
    if observed.all():
        return 0.0
    if rng is None:
        return cholesky_logdet(_factorize_missing(model, observed))
    return _lanczos_logdet(model, ~observed, rng)


def _lanczos_logdet(
    model: KroneckerGaussian, missing: Array, rng: np.random.Generator, n_probes: int = 10, depth: int = 25
) -> float:
    """``log|P_mm|`` as that of the row blocks plus ``E[z' log(L^-1 P_mm L^-T) z]`` over random signs z."""
    blocks, hole = _RowBlocks.from_model(model, missing), missing[:, None, :]
    z = np.where(hole, rng.choice([-1.0, 1.0], size=(missing.shape[0], n_probes, missing.shape[1])), 0.0)
    size = int(missing.sum())
    q, before = z / math.sqrt(size), np.zeros_like(z)
    alphas: list[Array] = []
    betas: list[Array] = []
    for _ in range(min(depth, size)):
        w = blocks.apply_root(np.where(hole, model.solve(blocks.apply_root_transposed(q)), 0.0))
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
