"""Low-rank mutual kernel matrix completion without ever imputing: descent on what is visible.

First the kernels as all models take them: scaled, merged, about the mean of each view.

Same objective as the package, for the low-rank models ``M = W W' + D``.  The papers
complete every kernel in every iteration, at O(l^3); here the latent factors are the only missing data
(no imputed entry is ever formed) and one evaluation costs one product of each observed kernel with a
thin matrix, O(l^2 q), or O(l m q) for kernels given as l x m factors.

Per view, with F = D^-1 W on the rows it sees:

    C = I + W' F,   G = Q F C^-1,   E = C^-1 + C^-1 (F' Q F) C^-1,

G being the cross moment of samples and factors, E the second moment of the factors, and

    logdet M_vv = logdet C + sum log d,   trace(M_vv^-1 Q) = sum(diag Q / d) - trace(C^-1 F' Q F).

An EM step would regress each sample on the factors, over the views that see it: ``W_i = num_i A^-1``
with ``num_i`` and ``A`` the sums of G's rows and of E over those views (:class:`_Visibility`).  The prior
enters as a pseudo-view Q = I seen by all.  The same sums give the gradient,

    dL/dW_i = (W_i A - num_i) / d_i,   dL/dlog d_i = 1/2 [c_i - (tr_i - 2 W_i num_i' + W_i A W_i') / d_i],

(c_i views see sample i, and tr_i is the sum of its kernel values there), so that an EM step is the
gradient times ``d_i A^-1``.  That is the preconditioner of ``core.quasi_newton``, which
needs about half as many evaluations as squared extrapolation (SQUAREM) of parameter-expanded EM; see
``benchmarks/mkmc_acceleration.py``.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass
from functools import cached_property, partial
from itertools import pairwise
from typing import Any, Self

import numpy as np

from absentia.core import (
    Array,
    Dense,
    Gram,
    LowRankPlusDiagonal,
    Operator,
    Scaled,
    center_operator,
    measure_spread,
    project,
)
from absentia.core.linalg import (
    cholesky,
    cholesky_inverse,
    cholesky_logdet,
    group_by_pattern,
    invert_permutation,
    thin_gram,
)
from absentia.core.optimize import DescentState, GradientEvaluation, Point, Solution, StoppingRule, descend
from absentia.data import KernelViews


@dataclass(frozen=True)
class ViewKernel:
    """Observed kernel `Q` (unit mean diagonal) of a view, and the positions `v` of samples that have it.

    Views of the same samples are merged: `Q` is then the sum of their kernels, and `weight` their number.
    """

    Q: Operator
    v: Array
    weight: int = 1

    def hidden(self, size: int) -> Array:
        """Positions of the others of `size` samples."""
        return np.setdiff1d(np.arange(size), self.v, assume_unique=True)

    @property
    def unscaled(self) -> Operator:
        """The kernel as it came."""
        return self.Q.operator if isinstance(self.Q, Scaled) else self.Q


@dataclass(frozen=True)
class KernelForm:
    """How kernels enter the model: about their means or not, divided by scales, in which precision."""

    center: bool
    scales: Array  # by view
    dtype: str

    @classmethod
    def of(cls, X: KernelViews, *, center: bool, rescale: bool, dtype: str) -> Self:
        """Scales are mean diagonals; one for a view nobody has, and for all without `rescale`."""
        X = _center_kernels(X) if center else X
        scales = np.ones(X.n_views)
        for v, name in enumerate(X.names):
            diagonal = X.diagonal(name)
            if len(diagonal):
                scale = diagonal.mean(dtype=np.float64)
                if not scale > 0:
                    raise ValueError(
                        f"view {name!r}: the kernel is zero for every sample; leave the view out"
                    )
                scales[v] = scale if rescale else 1.0
        return cls(center, scales, dtype)

    def view_kernels(self, X: KernelViews, samples: Array | None = None) -> list[ViewKernel]:
        """Each view's kernel, with its samples' positions among `samples` (by default all)."""
        observed = X.observed if samples is None else X.observed[samples]
        X = _center_kernels(X) if self.center else X
        return [
            ViewKernel(
                _scale_kernel(X.operator(name), scale, np.dtype(self.dtype)), np.flatnonzero(present)
            )
            for name, scale, present in zip(X.names, self.scales, observed.T, strict=True)
        ]

    def centered_views(self, X: KernelViews) -> list[bool]:
        """Which views are taken about their mean."""
        return _views_with_spread(X) if self.center else [False] * X.n_views


def _scale_kernel(operator: Operator, scale: float, dtype: np.dtype[Any]) -> Operator:
    """The kernel divided by `scale`, which comes before single precision: that holds fewer magnitudes."""
    if isinstance(operator, Dense) and operator.dtype != dtype:
        return Dense((operator.A / scale).astype(dtype))
    operator = operator.astype(dtype)
    return operator if scale == 1.0 else Scaled(operator, 1.0 / scale)


def merge_views(views: Sequence[ViewKernel]) -> list[ViewKernel]:
    """Views of the same samples become one: their kernels only ever appear as a sum."""
    groups: dict[bytes, list[ViewKernel]] = {}
    for view in views:
        groups.setdefault(view.v.tobytes(), []).append(view)
    merged = []
    for group in groups.values():
        if len(group) > 1 and all(isinstance(view.unscaled, Dense) for view in group):
            total = np.asarray(sum(view.Q.to_dense() for view in group))
            merged.append(ViewKernel(Dense(total), group[0].v, sum(view.weight for view in group)))
        else:
            merged += group
    return merged


def sum_kernels(views: Sequence[ViewKernel], size: int, dtype: Any = np.float64) -> Array:
    """Sum of all kernels over `size` samples, zero where a sample is absent."""
    total = np.zeros((size, size), dtype)
    for view in views:
        total[np.ix_(view.v, view.v)] += view.Q.to_dense()
    return total


def in_memory(X: KernelViews) -> bool:
    """Whether all kernels are arrays or factors, and not chunks elsewhere."""
    return all(isinstance(X.operator(name), Dense | Gram) for name in X.names)


# ---------------------------- Kernels about the mean of each view, completed there, and the mean put back
#
# The papers' model has mean zero: what is not known of an absent sample lies at the origin.  Of kernels
# whose samples all point one way, such as RBF kernels of large width, most is the mean, and the model
# spends its factors on it.  With mu the mean of the samples that have a view, and c_i = phi_i - mu, the
# Gaussian of mean mu per view is the papers' model of the kernels ``H K H`` of the c_i.  Completed, an
# absent sample is
#
#     phi_t = mu + sum_j W_tj e_j + rest_t,   e_j = sum_i C_ij c_i (and what is orthogonal to all observed),
#
# so that mu is one more axis of the view's basis, along which every absent sample has the coordinate one.
# The observed block is what it was, and the kernel is that of actual points.


def _views_with_spread(X: KernelViews) -> list[bool]:
    """Which views are taken about their mean: not those whose samples are alike, where nothing is left."""
    return [measure_spread(X.operator(name)) > 0 for name in X.names]


def _center_kernels(X: KernelViews) -> KernelViews:
    """Kernels as seen from the mean of the samples that have the view."""
    spread = zip(X.names, map(X.operator, X.names), _views_with_spread(X), strict=True)
    return KernelViews.within(X, {name: center_operator(K) if varies else K for name, K, varies in spread})


#: So many accelerated steps in a row must change the objective by less than tol.
SMALL_STEPS = 3
#: Lowest noise variance, for kernels of unit mean diagonal.  Heywood case: psi -> 0 makes the likelihood
#: unbounded and ``W' D^-1 W`` overflow.  The objective is a difference of terms of size ``1 / psi``, known
#: to ``|W|^2 / psi`` roundings: at 1e-5 to some 1e-6, at 1e-8 not at all.
NOISE_FLOOR = 1e-5
#: The same in single precision, and the longest row of loadings: beyond either, what is left of the
#: objective after cancellation is rounding.
_NOISE_FLOOR_SINGLE, _LOADING_CEILING_SINGLE = 1e-3, 100.0
#: In single precision the preconditioner sees every sample in all views together with this weight.
#: Without it the steps of samples that few views see are too long where those say little of a factor.
_DAMPING_SINGLE = 0.01
#: A pattern of visibility is common if so many samples have it: a call for each pattern is then cheaper
#: than a matrix for each sample.
_MIN_COMMON = 4
#: Of rare samples, and of common patterns, so many numbers of their matrices are in memory at once.
_BLOCK = 1 << 17
_ROWS = 1 << 14  # so many samples of a pattern are multiplied at a time


# ------------------------------------------------------------ sums over the views that see a sample
#
# Each sample i has the matrix ``A_i = extra + sum of E_k over the views k that see it``, one for each
# pattern of visibility.  A few views make a few patterns of many samples each: one product and one inverse
# a pattern.  Of many views nearly every sample has a pattern of its own.  Samples of such rare patterns are
# taken in chunks: their matrices are one product of who sees them (samples x views) with the E_k, and
# LAPACK goes through the chunk.  Per sample that is O(V q^2 + q^3), linear in the number V of views.  No
# more than a chunk is ever in memory, and the inverses of common patterns, each for _MIN_COMMON samples.


@dataclass(frozen=True)
class _Visibility:
    """Which views see which samples; those of a common pattern are a slice of `order`."""

    order: Array
    common: Array  # patterns x views
    rows: Sequence[slice]  # of the samples of each common pattern
    rare: Array  # remaining samples x views

    @classmethod
    def of(cls, sees: Array) -> Self:
        """Of who is seen by which view, samples x views."""
        groups = list(group_by_pattern(sees))
        common = [(pattern, samples) for pattern, samples in groups if len(samples) >= _MIN_COMMON]
        rare = [samples for _, samples in groups if len(samples) < _MIN_COMMON]
        rest = np.sort(np.concatenate(rare)) if rare else np.zeros(0, dtype=np.intp)
        bounds = np.cumsum([0, *(len(samples) for _, samples in common)])
        return cls(
            np.concatenate([*(samples for _, samples in common), rest]),
            np.array([pattern for pattern, _ in common], dtype=bool).reshape(-1, sees.shape[1]),
            [slice(a, b) for a, b in pairwise(bounds.tolist())],
            sees[rest],
        )

    def grams(self, W: Array, F: Array) -> tuple[Array, Array]:
        """``W' F`` over the samples that each view sees, views x q x q, and over all samples."""
        q = W.shape[1]
        by_views, total = np.zeros((self.rare.shape[1], q * q)), np.zeros(q * q)
        for chunk in self._common_chunks(q):
            parts = np.stack([thin_gram(W[rows], F[rows]) for rows in self.rows[chunk]]).reshape(-1, q * q)
            by_views += self.common[chunk].T.astype(np.float64) @ parts
            total += parts.sum(axis=0)
        for rows, sees in self._rare_chunks(q):
            parts = (W[rows].astype(np.float64)[:, :, None] * F[rows][:, None, :]).reshape(-1, q * q)
            by_views += sees.T @ parts
            total += parts.sum(axis=0)
        return by_views.reshape(-1, q, q), total.reshape(q, q)

    def products(self, E: Array, extra: Array, W: Array) -> Iterator[tuple[slice, Array]]:
        """``W_i A_i``, some samples at a time."""
        for chunk, A in self._common_sums(E, extra):
            for rows, A_pattern in zip(self.rows[chunk], A.astype(W.dtype, copy=False), strict=True):
                yield from ((part, W[part] @ A_pattern) for part in _split(rows))
        for rows, sees in self._rare_chunks(W.shape[1]):
            A = _sums(sees, E, extra)
            yield rows, (W[rows].astype(np.float64)[:, None, :] @ A)[:, 0].astype(W.dtype, copy=False)

    def solver(self, E: Array, extra: Array) -> Callable[[Array], Array]:
        """The function that makes ``V_i A_i^-1`` of V, for all samples, in place."""
        inverses = [np.linalg.inv(A) for _, A in self._common_sums(E, extra)]

        def solve(V: Array) -> Array:
            common = (A_inverse for chunk in inverses for A_inverse in chunk)
            for rows, A_inverse in zip(self.rows, common, strict=True):
                A_inverse = A_inverse.astype(V.dtype, copy=False)
                for part in _split(rows):
                    V[part] = V[part] @ A_inverse
            for rows, sees in self._rare_chunks(V.shape[1]):
                right = V[rows].astype(np.float64)[:, :, None]
                V[rows] = np.linalg.solve(_sums(sees, E, extra), right)[:, :, 0]
            return V

        return solve

    def _common_sums(self, E: Array, extra: Array) -> Iterator[tuple[slice, Array]]:
        """Common patterns and their matrices ``A``, a chunk at a time."""
        for chunk in self._common_chunks(len(extra)):
            yield chunk, _sums(self.common[chunk].astype(np.float64), E, extra)

    def _common_chunks(self, q: int) -> Iterator[slice]:
        return (slice(a, a + _chunk_size(q)) for a in range(0, len(self.common), _chunk_size(q)))

    def _rare_chunks(self, q: int) -> Iterator[tuple[slice, Array]]:
        """Rare samples, a chunk at a time: where they are, and which views see them (samples x views)."""
        size, step = len(self.order), _chunk_size(q)
        for a in range(size - len(self.rare), size, step):
            rows = slice(a, min(a + step, size))
            first = a - size + len(self.rare)
            yield rows, self.rare[first : first + step].astype(np.float64)


def _split(rows: slice) -> Iterator[slice]:
    """Some rows at a time, of a pattern that very many samples have."""
    return (slice(a, min(a + _ROWS, rows.stop)) for a in range(rows.start, rows.stop, _ROWS))


def _chunk_size(q: int) -> int:
    """How many q x q matrices are in memory at once."""
    return max(_BLOCK // (q * q), 32)


def _sums(sees: Array, E: Array, extra: Array) -> Array:
    """``extra + sum of E_k`` over the views of each row of `sees`."""
    q = len(extra)
    sums = sees @ E.reshape(len(E), q * q)
    sums += extra.reshape(-1)
    return sums.reshape(-1, q, q)


# ------------------------------------------------------------------------------ the problem


@dataclass(frozen=True)
class VisibleProblem:
    """Observed kernels over samples sorted by which views see them.

    Everything within is in that order, `order` leads back.
    """

    views: Sequence[ViewKernel]
    visibility: _Visibility
    eps: float
    dtype: np.dtype[Any]
    total_diagonal: Array  # sum of the diagonals over the views that see a sample, and eps
    weight: Array  # number of views that see a sample, and eps

    @classmethod
    def of(cls, views: Sequence[ViewKernel], size: int, eps: float, dtype: Any) -> VisibleProblem:
        sees = np.zeros((size, len(views)), dtype=bool)
        for k, view in enumerate(views):
            sees[view.v, k] = True
        visibility = _Visibility.of(sees)
        position = invert_permutation(visibility.order).astype(np.int32)  # kept for every view
        views = [ViewKernel(view.Q, position[view.v], view.weight) for view in views]
        total_diagonal, weight = np.full(size, eps), np.full(size, eps)
        for view in views:
            total_diagonal[view.v] += view.Q.diagonal()
            weight[view.v] += view.weight
        return cls(views, visibility, eps, np.dtype(dtype), total_diagonal, weight)

    @property
    def order(self) -> Array:
        return self.visibility.order

    @property
    def size(self) -> int:
        return len(self.order)

    @property
    def n_views(self) -> int:
        return sum(view.weight for view in self.views)

    @property
    def floor(self) -> float:
        """The lowest noise variance."""
        return _NOISE_FLOOR_SINGLE if self.dtype == np.float32 else NOISE_FLOOR

    @cached_property
    def roof(self) -> float:
        """The highest noise variance: ten times the largest a sample can need.

        Where the gradient vanishes a noise variance is ``(tr_i - num_i A^-1 num_i') / c_i``, so at most
        ``tr_i / c_i``.  Steps far beyond would not find back.
        """
        return 10 * float((self.total_diagonal / np.maximum(self.weight, 1e-300)).max())

    @property
    def ceiling(self) -> float:
        """The longest row of loadings."""
        return _LOADING_CEILING_SINGLE if self.dtype == np.float32 else np.inf

    def model(self, point: Point) -> LowRankPlusDiagonal:
        """The model kernel of a point, samples in their own order again."""
        W, d = np.empty(point[0].shape), np.empty(self.size)
        W[self.order] = point[0]
        d[self.order] = np.exp(point[1])
        return LowRankPlusDiagonal(W, d)

    def point(self, model: LowRankPlusDiagonal, noise: Noise) -> Point:
        """The point of a model kernel; the inverse of :meth:`model`."""
        d = noise(model.d[self.order]) / noise(np.ones(self.size))
        return np.asarray(model.W[self.order], dtype=self.dtype), np.log(d)


#: How noise variances are shared: adds up what is known of each sample into what each variance sees.
Noise = Callable[[Array], Array]


def equal_noise(per_sample: Array) -> Array:
    """PCA: one variance for all samples."""
    return np.array([per_sample.sum()])


def own_noise(per_sample: Array) -> Array:
    """Factor analysis: a variance for each sample."""
    return per_sample


@dataclass(frozen=True)
class _Moments:
    """What one view says of the factors: the E-step."""

    C_inverse: Array
    E: Array
    inner: Array  # F' Q F
    value: float  # logdet C - trace(C^-1 F' Q F); the terms in D are added for all views at once


def factor_moments(C: Array, inner: Array, weight: int = 1) -> _Moments:
    """_Moments of the factors given a view, from ``C = I + W' F`` and ``inner = F' Q F``."""
    L = cholesky(C, "inner matrix I + W' D^-1 W")
    C_inverse = cholesky_inverse(L)
    E = weight * C_inverse + C_inverse @ inner @ C_inverse
    value = weight * cholesky_logdet(L) - float(np.vdot(C_inverse, inner))
    return _Moments(C_inverse, (E + E.T) / 2, inner, value)


def evaluate(problem: VisibleProblem, noise: Noise, point: Point) -> GradientEvaluation:
    """Penalised objective at (W, log d), its gradient, and the preconditioner EM amounts to."""
    W, log_d = _clip_noise(problem, point)
    d = np.broadcast_to(np.exp(log_d), problem.size)
    q, eps = W.shape[1], problem.eps
    F = W / d[:, None].astype(W.dtype)
    I = np.eye(q)  # noqa: E741
    grams, total = problem.visibility.grams(W, F)
    num, E, value = np.zeros_like(W), np.empty_like(grams), 0.0
    for k, view in enumerate(problem.views):
        projection = project(view.Q, F, view.v)
        moments = factor_moments(I + grams[k], projection.inner, view.weight)
        projection.add(num, view.v, moments.C_inverse)  # G = Q F C^-1
        E[k] = moments.E
        value += moments.value
    prior = factor_moments(I + total, thin_gram(F, F))
    value += eps * prior.value
    value += float((problem.weight * log_d).sum() + (problem.total_diagonal / d).sum())
    extra = eps * prior.E
    gradient = _gradient(problem, noise, W, d, F, num, (E, extra), eps * prior.C_inverse)
    if problem.dtype == np.float32:
        extra = extra + _DAMPING_SINGLE * E.sum(axis=0)
    precondition = partial(_em_step, problem, noise, d, problem.visibility.solver(E, extra))
    return GradientEvaluation((W, log_d), value / 2, _tangent(problem, (W, log_d), gradient), precondition)


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
    for rows, WA in problem.visibility.products(*A, W):
        N = num[rows]
        N += F[rows] @ prior.astype(W.dtype)
        WA -= N
        residual[rows] += np.einsum("ij,ij->i", W[rows], WA - N)
        np.divide(WA, d[rows, None].astype(W.dtype), out=N)
    return num, noise((problem.weight - residual / d) / 2)


def _em_step(
    problem: VisibleProblem, noise: Noise, d: Array, solve: Callable[[Array], Array], v: Point
) -> Point:
    """What the M-step makes of a gradient: ``D V A^-1``, the regression of samples on factors."""
    result = solve(v[0])
    result *= d[:, None].astype(result.dtype)
    return result, v[1] / noise(problem.weight / 2)


def solve_low_rank(
    problem: VisibleProblem, noise: Noise, first: Point, *, tol: float, **options: Any
) -> Solution[DescentState[GradientEvaluation]]:
    """Descend from a first point; one iteration is one step, mostly one evaluation.

    `options` are those of ``iterate``.
    """

    def run(point: Point) -> GradientEvaluation:
        return evaluate(problem, noise, point)

    start = DescentState(run((first[0].astype(problem.dtype, copy=False), first[1])))
    stop = StoppingRule(tol, patience=SMALL_STEPS)
    return descend(run, start, stop=stop, **options)
