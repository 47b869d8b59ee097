"""Mutual kernel matrix completion without ever imputing: EM on what is visible, accelerated.

Same objective as :mod:`absentia.completion.mkmc`, for the low-rank models ``M = W W' + D``.  The papers
complete every kernel in every iteration, at O(l^3); here the latent factors are the only missing data
(no imputed entry is ever formed) and one evaluation costs one product of each observed kernel with a
thin matrix, O(l^2 q), or O(l m q) for kernels given as l x m factors.

Per view, with F = D^-1 W on the rows it sees:

    C = I + W' F,   G = Q F C^-1,   E = C^-1 + C^-1 (F' Q F) C^-1,

G being the cross moment of samples and factors, E the second moment of the factors, and

    logdet M_vv = logdet C + sum log d,   trace(M_vv^-1 Q) = sum(diag Q / d) - trace(C^-1 F' Q F).

The M-step is a regression of each sample on the factors, over the views that see it: one q x q
factorisation per pattern of visibility.  The prior enters as a pseudo-view Q = I seen by all.

The factors' covariance is freed as well and folded back into W (parameter expansion; Liu, Rubin & Wu
1998), by the symmetric square root, so that successive iterates are not rotated against each other.
:func:`absentia.solve.squarem` accelerates (W, log D).
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from itertools import pairwise
from typing import Any, Protocol

import numpy as np
import scipy.linalg

from absentia.completion.covariance import NOISE_FLOOR, NOISE_FLOOR_SINGLE
from absentia.linalg import Array, cholesky, cholesky_inverse, cholesky_logdet, thin_gram
from absentia.operators import LowRankPlusDiagonal, Operator, project
from absentia.solve import Accelerated, Callback, Evaluated, Point, Solution, iterate, squarem

#: So many accelerated steps in a row must change the objective by less than tol.
PATIENCE = 3


@dataclass(frozen=True)
class Seen:
    """Observed kernel (unit mean diagonal) of a view and the positions of the samples it sees.

    Views that see the same samples are merged: `Q` is then the sum of their kernels, and `weight` their
    number.
    """

    Q: Operator
    v: Array
    weight: int = 1


class Problem:
    """Observed kernels over `size` samples, grouped by which views see a sample."""

    def __init__(self, views: Sequence[Seen], size: int, eps: float, dtype: Any) -> None:
        self.views, self.size, self.eps = views, size, eps
        self.dtype = np.dtype(dtype)
        self.floor = NOISE_FLOOR_SINGLE if self.dtype == np.float32 else NOISE_FLOOR
        self.n_views = sum(view.weight for view in views)
        sees = np.zeros((size, len(views)), dtype=bool)
        self.total_diagonal = np.full(size, eps, dtype=np.float64)
        self.weight = np.full(size, eps, dtype=np.float64)
        for k, view in enumerate(views):
            sees[view.v, k] = True
            self.total_diagonal[view.v] += view.Q.diagonal()
            self.weight[view.v] += view.weight
        self.patterns, member = np.unique(sees, axis=0, return_inverse=True)
        order = np.argsort(member, kind="stable")
        bounds = np.searchsorted(member[order], np.arange(len(self.patterns) + 1))
        self.rows = [_as_slice(order[a:b]) for a, b in pairwise(bounds)]

    def in_single_precision(self) -> Problem:
        """The same problem with float32 products, which cost half."""
        views = [Seen(view.Q.astype(np.float32), view.v, view.weight) for view in self.views]
        return Problem(views, self.size, self.eps, np.float32)


def _as_slice(rows: Array) -> Any:
    """Consecutive rows as a slice, which needs no copy."""
    if len(rows) and rows[-1] - rows[0] == len(rows) - 1:
        return slice(int(rows[0]), int(rows[-1]) + 1)
    return rows


class Noise(Protocol):
    """How the noise is shared: the form of log D, and its M-step from residuals and weights."""

    def m_step(self, residual: Array, weight: Array) -> Array: ...


class EqualNoise:
    """PCA: one variance for all samples."""

    def m_step(self, residual: Array, weight: Array) -> Array:
        return np.array([residual.sum() / weight.sum()])


class OwnNoise:
    """Factor analysis: a variance for each sample."""

    def m_step(self, residual: Array, weight: Array) -> Array:
        return residual / weight


@dataclass(frozen=True)
class Moments:
    """What the E-step leaves of one view."""

    C_inverse: Array
    E: Array
    inner: Array  # F' Q F
    value: float  # logdet C - trace(C^-1 F' Q F); the terms in D are added for all views at once


def moments(C: Array, inner: Array, weight: int = 1) -> Moments:
    """Moments of the factors given a view, from ``C = I + W' F`` and ``inner = F' Q F``."""
    L = cholesky(C, "inner matrix I + W' D^-1 W")
    C_inverse = cholesky_inverse(L)
    E = weight * C_inverse + C_inverse @ inner @ C_inverse
    value = weight * cholesky_logdet(L) - float(np.vdot(C_inverse, inner))
    return Moments(C_inverse, (E + E.T) / 2, inner, value)


def evaluate(problem: Problem, noise: Noise, point: Point) -> Evaluated:
    """Penalised objective at (W, log d), and the parameter-expanded EM update."""
    W, log_d = point
    d = np.exp(log_d)
    q, eps = W.shape[1], problem.eps
    F = (W / d[:, None]).astype(problem.dtype, copy=False)
    # W' F over the samples of each pattern; a view's C adds up those of the patterns it sees
    parts = np.stack([thin_gram(W[rows], F[rows]) for rows in problem.rows])
    I = np.eye(q)  # noqa: E741
    num = np.zeros_like(W)
    A = np.zeros_like(parts)
    E_total = np.zeros((q, q))
    value = 0.0
    for k, view in enumerate(problem.views):
        sees = problem.patterns[:, k]
        seen = project(view.Q, F, view.v)
        found = moments(I + parts[sees].sum(axis=0), seen.inner, view.weight)
        seen.add(num, view.v, found.C_inverse)  # G = Q F C^-1
        A[sees] += found.E
        E_total += found.E
        value += found.value
    prior = moments(I + parts.sum(axis=0), thin_gram(F, F))
    if eps > 0:
        num += eps * (F @ prior.C_inverse.astype(F.dtype))
        A += eps * prior.E
        value += eps * prior.value
    value += float((problem.weight * log_d).sum() + (problem.total_diagonal / d).sum())
    expansion = (E_total + eps * prior.E) / (problem.n_views + eps)
    following = m_step(problem, noise, num, A, expansion)
    return Evaluated(point, value / 2, following)


def m_step(problem: Problem, noise: Noise, num: Array, A: Array, expansion: Array) -> Point:
    """Regress every sample on the factors; fold the factors' covariance into W."""
    W = num
    residual = problem.total_diagonal.copy()
    root = symmetric_root(expansion)
    for rows, A_pattern in zip(problem.rows, A, strict=True):
        inverse = cholesky_inverse(cholesky(A_pattern, "factor moments"))
        N = num[rows]
        W_rows = N @ inverse.astype(N.dtype)
        residual[rows] -= np.einsum("ij,ij->i", W_rows, N)
        W[rows] = W_rows @ root.astype(N.dtype)
    d = np.maximum(noise.m_step(residual, problem.weight), problem.floor)
    return W, np.log(d)


def symmetric_root(A: Array) -> Array:
    """Symmetric square root of a positive definite matrix."""
    values, vectors = scipy.linalg.eigh(A, check_finite=False)
    return np.asarray((vectors * np.sqrt(np.maximum(values, 0.0))) @ vectors.T)


def start(
    problem: Problem,
    noise: Noise,
    q: int,
    rng: np.random.Generator,
    *,
    passes: int = 3,
    rescale: bool = True,
) -> Point:
    """Probabilistic principal components of the mean kernel, by randomised subspace iteration.

    The mean is over the views that see both samples as far as a product can tell:
    ``D^-1/2 (sum_k Q_k / K) D^-1/2`` with D the share of views that see a sample.  Without `rescale` it
    is the zero-imputed mean, the papers' first model.
    """
    count = (
        np.maximum(problem.weight - problem.eps, 1.0) if rescale else np.full(problem.size, problem.n_views)
    )
    root = np.sqrt(count / problem.n_views).astype(problem.dtype)[:, None]
    block = min(q + 10, problem.size)
    X = rng.standard_normal((problem.size, block), dtype=np.float32).astype(problem.dtype)
    for _ in range(passes):
        X = orthonormal(X)
        SX = _mean_product(problem, X / root) / root
        X, basis = SX, X
    values, vectors = scipy.linalg.eigh(thin_gram(basis, SX))
    values, vectors = values[::-1][:q], vectors[:, ::-1][:, :q]
    trace = float(((problem.total_diagonal - problem.eps) / count).sum())
    sigma2 = max((trace - float(values.sum())) / max(problem.size - q, 1), 1e-3 * trace / problem.size)
    scale = np.sqrt(np.maximum(values - sigma2, 1e-3 * sigma2))
    W = basis @ (vectors * scale).astype(problem.dtype)
    ones = np.ones(problem.size)
    return W, np.log(np.maximum(noise.m_step(sigma2 * ones, ones), problem.floor))


def widened(problem: Problem, noise: Noise, point: Point | None, q: int, rng: np.random.Generator) -> Point:
    """A start of rank `q` from a solution of lower rank: its factors, and new ones from the start."""
    first = start(problem, noise, q, rng)
    if point is None or point[0].shape[1] >= q:
        return first
    W, log_d = point
    fresh = first[0]
    basis = orthonormal(W)
    fresh = fresh - basis @ (basis.T @ fresh)
    U, _, _ = scipy.linalg.svd(thin_gram(fresh, fresh))
    extra = fresh @ U[:, : q - W.shape[1]].astype(fresh.dtype)
    return np.hstack([W, extra]), log_d


def _mean_product(problem: Problem, X: Array) -> Array:
    result = np.zeros_like(X)
    for view in problem.views:
        result[view.v] += view.Q @ X[view.v]
    return result / problem.n_views


def orthonormal(X: Array) -> Array:
    """Orthonormal basis of the columns of `X`, by Cholesky, twice: linear in rows, no copies of Q."""
    for _ in range(2):
        gram = thin_gram(X, X)
        gram[np.diag_indices_from(gram)] += 1e-12 * np.trace(gram)
        X = X @ scipy.linalg.solve_triangular(cholesky(gram), np.eye(len(gram)), lower=True).T.astype(
            X.dtype
        )
    return X


def solve_fast(
    problem: Problem,
    noise: Noise,
    first: Point,
    *,
    tol: float,
    max_iter: int,
    callback: Callback | None = None,
    spent: int = 0,
) -> Solution[Accelerated]:
    """Accelerated EM from a first point; one iteration is one extrapolation (two evaluations or three).

    `spent` evaluations of an earlier run are counted in.
    """

    def run(point: Point) -> Evaluated:
        return evaluate(problem, noise, point)

    return iterate(
        squarem(run),
        lambda state: state.value,
        Accelerated(run(first), n_evaluations=1 + spent),
        tol=tol,
        max_iter=max_iter,
        callback=callback,
        patience=PATIENCE,
    )


def as_operator(problem: Problem, point: Point) -> LowRankPlusDiagonal:
    """The model kernel of a point."""
    W, log_d = point
    d = np.broadcast_to(np.exp(log_d), problem.size)
    return LowRankPlusDiagonal(np.asarray(W, dtype=np.float64), np.array(d, dtype=np.float64))
