"""Mutual kernel matrix completion without ever imputing: descent on what is visible.

Same objective as ``_estimator``, for the low-rank models ``M = W W' + D``.  The papers
complete every kernel in every iteration, at O(l^3); here the latent factors are the only missing data
(no imputed entry is ever formed) and one evaluation costs one product of each observed kernel with a
thin matrix, O(l^2 q), or O(l m q) for kernels given as l x m factors.

Per view, with F = D^-1 W on the rows it sees:

    C = I + W' F,   G = Q F C^-1,   E = C^-1 + C^-1 (F' Q F) C^-1,

G being the cross moment of samples and factors, E the second moment of the factors, and

    logdet M_vv = logdet C + sum log d,   trace(M_vv^-1 Q) = sum(diag Q / d) - trace(C^-1 F' Q F).

An EM step would regress each sample on the factors, over the views that see it: ``W_i = num_i A^-1``
with ``num_i`` and ``A`` the sums of G's rows and of E over those views (``_patterns``).  The prior
enters as a pseudo-view Q = I seen by all.  The same sums give the gradient,

    dL/dW_i = (W_i A - num_i) / d_i,   dL/dlog d_i = 1/2 [c_i - (tr_i - 2 W_i num_i' + W_i A W_i') / d_i],

(c_i views see sample i, and tr_i is the sum of its kernel values there), so that an EM step is the
gradient times ``d_i A^-1``.  That is the preconditioner of ``_loop.quasi_newton``, which
needs about half as many evaluations as squared extrapolation (SQUAREM) of parameter-expanded EM; see
``benchmarks/mkmc_acceleration.py``.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace
from functools import cached_property, partial
from typing import Any, NamedTuple, Protocol

import numpy as np
import scipy.linalg

from absentia.core import (
    Array,
    Callback,
    Dense,
    Descent,
    Gram,
    LowRankPlusDiagonal,
    Operator,
    Point,
    Sloped,
    Solution,
    Stop,
    cholesky,
    cholesky_inverse,
    cholesky_logdet,
    descend,
    inverse,
    leading_eigenpairs,
    project,
    thin_gram,
)
from absentia.methods.completion.mkmc._paper import LOADING_CEILING_SINGLE, NOISE_FLOOR, NOISE_FLOOR_SINGLE
from absentia.methods.completion.mkmc._patterns import Patterns

#: So many accelerated steps in a row must change the objective by less than tol.
PATIENCE = 3

#: Up to so many samples the start is exact; beyond, from a random subspace.
EXACT = 500
#: The subspace iteration ends when a pass adds less than this share to what it captures.
SETTLED = 3e-4

#: In single precision the preconditioner sees every sample in all views together with this weight.
#: Without it the steps of samples that few views see are too long where those say little of a factor.
DAMPING_SINGLE = 0.01


@dataclass(frozen=True)
class Seen:
    """Observed kernel (unit mean diagonal) of a view and the positions of the samples it sees.

    Views that see the same samples are merged: `Q` is then the sum of their kernels, and `weight` their
    number.
    """

    Q: Operator
    v: Array
    weight: int = 1


@dataclass(frozen=True)
class VisibleProblem:
    """Observed kernels over samples sorted by which views see them.

    Everything within is in that order, `order` leads back.
    """

    views: Sequence[Seen]
    patterns: Patterns  # of visibility
    eps: float
    dtype: np.dtype[Any]
    total_diagonal: Array  # sum of the diagonals over the views that see a sample, and eps
    weight: Array  # number of views that see a sample, and eps

    @classmethod
    def of(cls, views: Sequence[Seen], size: int, eps: float, dtype: Any) -> VisibleProblem:
        sees = np.zeros((size, len(views)), dtype=bool)
        for k, view in enumerate(views):
            sees[view.v, k] = True
        patterns = Patterns.of(sees)
        position = inverse(patterns.order)
        views = [Seen(view.Q, position[view.v], view.weight) for view in views]
        total_diagonal, weight = np.full(size, eps), np.full(size, eps)
        for view in views:
            total_diagonal[view.v] += view.Q.diagonal()
            weight[view.v] += view.weight
        return cls(views, patterns, eps, np.dtype(dtype), total_diagonal, weight)

    @property
    def order(self) -> Array:
        return self.patterns.order

    @property
    def size(self) -> int:
        return len(self.order)

    @property
    def n_views(self) -> int:
        return sum(view.weight for view in self.views)

    @property
    def floor(self) -> float:
        """Under the noise variances."""
        return NOISE_FLOOR_SINGLE if self.dtype == np.float32 else NOISE_FLOOR

    @cached_property
    def roof(self) -> float:
        """Over the noise variances: ten times the largest a sample can need.

        Where the gradient vanishes a noise variance is ``(tr_i - num_i A^-1 num_i') / c_i``, so at most
        ``tr_i / c_i``.  Steps far beyond would not find back.
        """
        return 10 * float((self.total_diagonal / np.maximum(self.weight, 1e-300)).max())

    @property
    def ceiling(self) -> float:
        """Over the norms of the loadings' rows."""
        return LOADING_CEILING_SINGLE if self.dtype == np.float32 else np.inf

    @property
    def in_memory(self) -> bool:
        """Whether all kernels are arrays or factors, and not chunks elsewhere."""
        return all(isinstance(getattr(x.Q, "operator", x.Q), Dense | Gram) for x in self.views)

    def in_single_precision(self) -> VisibleProblem:
        """The same problem with float32 products, which cost half."""
        views = [Seen(view.Q.astype(np.float32), view.v, view.weight) for view in self.views]
        return replace(self, views=views, dtype=np.dtype(np.float32))


class Noise(Protocol):
    """How the noise is shared: what is known of each sample, added up into what one variance sees."""

    def gather(self, per_sample: Array) -> Array: ...


class EqualNoise:
    """PCA: one variance for all samples."""

    def gather(self, per_sample: Array) -> Array:
        return np.array([per_sample.sum()])


class OwnNoise:
    """Factor analysis: a variance for each sample."""

    def gather(self, per_sample: Array) -> Array:
        return per_sample


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


def evaluate(problem: VisibleProblem, noise: Noise, point: Point) -> Sloped:
    """Penalised objective at (W, log d), its gradient, and the preconditioner EM amounts to."""
    W, log_d = _clip_noise(problem, point)
    d = np.broadcast_to(np.exp(log_d), problem.size)
    q, eps = W.shape[1], problem.eps
    F = W / d[:, None].astype(W.dtype)
    I = np.eye(q)  # noqa: E741
    grams, total = problem.patterns.grams(W, F)
    num, E, value = np.zeros_like(W), np.empty_like(grams), 0.0
    for k, view in enumerate(problem.views):
        seen = project(view.Q, F, view.v)
        found = moments(I + grams[k], seen.inner, view.weight)
        seen.add(num, view.v, found.C_inverse)  # G = Q F C^-1
        E[k] = found.E
        value += found.value
    prior = moments(I + total, thin_gram(F, F))
    value += eps * prior.value
    value += float((problem.weight * log_d).sum() + (problem.total_diagonal / d).sum())
    extra = eps * prior.E
    gradient = _gradient(problem, noise, W, d, F, num, (E, extra), eps * prior.C_inverse)
    if problem.dtype == np.float32:
        extra = extra + DAMPING_SINGLE * E.sum(axis=0)
    precondition = partial(_em_step, problem, noise, d, problem.patterns.solver(E, extra))
    return Sloped((W, log_d), value / 2, _tangent(problem, (W, log_d), gradient), precondition)


def _clip_noise(problem: VisibleProblem, point: Point) -> Point:
    """The point with noise between floor and roof, and loadings not above the ceiling."""
    W, log_d = point[0], np.clip(point[1], np.log(problem.floor), np.log(max(problem.roof, problem.floor)))
    if np.isfinite(problem.ceiling):
        norms = np.sqrt(np.einsum("ij,ij->i", W, W))
        long = np.flatnonzero(norms > problem.ceiling)
        if len(long):
            W = W.copy()
            W[long] *= (problem.ceiling / norms[long])[:, None]
    return W, log_d


def _tangent(problem: VisibleProblem, point: Point, gradient: Point) -> Point:
    """The gradient without what leads through the floor, the roof or the ceiling."""
    (W, log_d), (G, g) = point, gradient
    g[(g > 0) & (log_d <= np.log(problem.floor))] = 0.0
    g[(g < 0) & (log_d >= np.log(problem.roof))] = 0.0
    if np.isfinite(problem.ceiling):
        norms = np.einsum("ij,ij->i", W, W)
        outward = np.einsum("ij,ij->i", W, G)
        held = np.flatnonzero((norms > 0.999 * problem.ceiling**2) & (outward < 0))
        G[held] -= (outward[held] / norms[held])[:, None] * W[held]
    return G, g


def _gradient(
    problem: VisibleProblem,
    noise: Noise,
    W: Array,
    d: Array,
    F: Array,
    num: Array,
    A: tuple[Array, Array],
    prior: Array,
) -> Point:
    """Derivatives by W, ``D^-1 (W A - num)``, and by log d; the first overwrites `num`."""
    residual = problem.total_diagonal.copy()
    for rows, WA in problem.patterns.products(*A, W):
        N = num[rows]
        N += F[rows] @ prior.astype(W.dtype)
        WA -= N
        residual[rows] += np.einsum("ij,ij->i", W[rows], WA - N)
        np.divide(WA, d[rows, None].astype(W.dtype), out=N)
    return num, noise.gather((problem.weight - residual / d) / 2)


def _em_step(
    problem: VisibleProblem, noise: Noise, d: Array, solve: Callable[[Array], Array], v: Point
) -> Point:
    """What the M-step makes of a gradient: ``D V A^-1``, the regression of samples on factors."""
    result = solve(v[0])
    result *= d[:, None].astype(result.dtype)
    return result, v[1] / noise.gather(problem.weight / 2)


class Leading(NamedTuple):
    """Leading eigenpairs of the mean kernel, lowest first, and how many views each sample counts for."""

    values: Array
    vectors: Array
    counts: Array


def leading(
    problem: VisibleProblem,
    q: int,
    rng: np.random.Generator,
    *,
    passes: int = 12,
    rescale: bool = True,
    numbers: Array | None = None,
) -> Leading:
    """The `q` leading eigenpairs of the mean kernel.

    The mean is over the views that see both samples as far as a product can tell:
    ``D^-1/2 (sum_k Q_k / K) D^-1/2`` with D the share of views that see a sample.  Without `rescale` it
    is the zero-imputed mean, the papers' first model.  The components are exact up to :data:`EXACT`
    samples.  Beyond they come from randomised subspace iteration, whose first vectors are drawn in the
    order of the samples' `numbers` (by default as they come).
    """
    count = (
        np.maximum(problem.weight - problem.eps, 1.0) if rescale else np.full(problem.size, problem.n_views)
    )
    root = np.sqrt(count / problem.n_views).astype(problem.dtype)[:, None]
    if problem.size <= EXACT and problem.in_memory:
        return Leading(*_leading(problem, root, q), count)
    block = min(q + 10, problem.size)
    X = rng.standard_normal((problem.size, block), dtype=np.float32).astype(problem.dtype)
    X = X if numbers is None else X[numbers[problem.order]]
    return Leading(*_leading_by_iteration(problem, root, q, X, passes), count)


def from_leading(problem: VisibleProblem, noise: Noise, found: Leading, q: int) -> Point:
    """Probabilistic principal components of the mean kernel, of `q` of its leading eigenpairs."""
    values, vectors = found.values[-q:], found.vectors[:, -q:]
    trace = float(((problem.total_diagonal - problem.eps) / found.counts).sum())
    sigma2 = max((trace - float(values.sum())) / max(problem.size - q, 1), 1e-3 * trace / problem.size)
    scale = np.sqrt(np.maximum(values - sigma2, 1e-3 * sigma2))
    W = (vectors * scale).astype(problem.dtype)
    ones = np.ones(problem.size)
    return W, np.log(np.maximum(noise.gather(sigma2 * ones) / noise.gather(ones), problem.floor))


def start(problem: VisibleProblem, noise: Noise, q: int, rng: np.random.Generator, **options: Any) -> Point:
    """The first point of a descent; `options` are those of :func:`leading`."""
    return from_leading(problem, noise, leading(problem, q, rng, **options), q)


def _leading(problem: VisibleProblem, root: Array, q: int) -> tuple[Array, Array]:
    """The `q` leading eigenpairs of the mean kernel between divisions by `root`, exactly."""
    S = np.zeros((problem.size, problem.size))
    for view in problem.views:
        S[np.ix_(view.v, view.v)] += view.Q.to_dense()
    S /= problem.n_views * (root @ root.T).astype(np.float64)
    return leading_eigenpairs((S + S.T) / 2, q)


def _leading_by_iteration(
    problem: VisibleProblem, root: Array, q: int, X: Array, passes: int
) -> tuple[Array, Array]:
    """The same by subspace iteration from the columns of `X`, as far as a few passes lead."""
    captured = 0.0
    for _ in range(passes):
        basis = orthonormal(X)
        X = _mean_product(problem, basis / root) / root
        values, vectors = scipy.linalg.eigh(thin_gram(basis, X))
        previous, captured = captured, float(values[-q:].sum())
        if captured - previous < SETTLED * captured:
            break
    return values[-q:], basis @ vectors[:, -q:].astype(problem.dtype)


def add_factors(first: Point, point: Point | None) -> Point:
    """A start from a solution of lower rank: its factors, and new ones from the start `first`."""
    fresh, q = first[0], first[0].shape[1]
    if point is None or point[0].shape[1] >= q:
        return first
    W, log_d = point
    basis = orthonormal(W)
    fresh = fresh - basis @ (basis.T @ fresh)
    U, _, _ = scipy.linalg.svd(thin_gram(fresh, fresh))
    extra = fresh @ U[:, : q - W.shape[1]].astype(fresh.dtype)
    return np.hstack([W, extra]), log_d


def _mean_product(problem: VisibleProblem, X: Array) -> Array:
    result = np.zeros_like(X)
    for view in problem.views:
        project(view.Q, X, view.v).add(result, view.v, np.eye(X.shape[1]))
    return result / problem.n_views


def orthonormal(X: Array) -> Array:
    """Orthonormal basis of the columns of `X`, by Cholesky, twice: linear in rows, no copies of Q."""
    for _ in range(2):
        gram = thin_gram(X, X)
        # what a product of that precision leaves of a direction that is not there
        gram[np.diag_indices_from(gram)] += max(1e-12, 10 * np.finfo(X.dtype).eps) * np.trace(gram)
        X = X @ scipy.linalg.solve_triangular(cholesky(gram), np.eye(len(gram)), lower=True).T.astype(
            X.dtype
        )
    return X


def solve_fast(
    problem: VisibleProblem,
    noise: Noise,
    first: Point,
    *,
    tol: float,
    max_iter: int,
    callback: Callback | None = None,
    before: Descent[Sloped] | None = None,
) -> Solution[Descent[Sloped]]:
    """Descend from a first point; one iteration is one step, mostly one evaluation.

    With `before`, a run in another precision is taken up where it ended, its evaluations counted in.
    """

    def run(point: Point) -> Sloped:
        return evaluate(problem, noise, point)

    def cast(point: Point) -> Point:
        return point[0].astype(problem.dtype), point[1]

    pairs = () if before is None else tuple((cast(s), cast(y)) for s, y in before.pairs)
    spent = 0 if before is None else before.n_evaluations
    start = Descent(run(cast(first)), pairs, 1 + spent)
    stop = Stop(tol, patience=PATIENCE)
    return descend(run, start, stop=stop, max_iter=max_iter, callback=callback)


def as_operator(problem: VisibleProblem, point: Point) -> LowRankPlusDiagonal:
    """The model kernel of a point, samples in their own order again."""
    W, d = np.empty(point[0].shape), np.empty(problem.size)
    W[problem.order] = point[0]
    d[problem.order] = np.exp(point[1])
    return LowRankPlusDiagonal(W, d)


def as_point(problem: VisibleProblem, noise: Noise, model: LowRankPlusDiagonal) -> Point:
    """The point of a model kernel; the inverse of :func:`as_operator`."""
    d = noise.gather(model.d[problem.order]) / noise.gather(np.ones(problem.size))
    return np.asarray(model.W[problem.order], dtype=problem.dtype), np.log(d)
