"""Which algorithm from which start: from the kernels of views to a fitted model."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from contextlib import suppress
from dataclasses import dataclass
from typing import Any, NamedTuple

import numpy as np
import scipy.linalg

from absentia.core import (
    Array,
    Iterative,
    LowRankPlusDiagonal,
    PDOperator,
    RandomState,
    argmin_key,
    make_generator,
    project,
    warn,
)
from absentia.core.linalg import NotPositiveDefiniteError, leading_eigenpairs, thin_gram, whitening_matrix
from absentia.core.optimize import DescentState, GradientEvaluation, Point, Solution, Status, refine_minimum
from absentia.methods.completion._base import SubspaceCompleter
from absentia.methods.completion.mkmc._imputation import (
    ImputationProblem,
    full_model,
    solve_full,
    solve_paper,
)
from absentia.methods.completion.mkmc._low_rank import (
    Noise,
    VisibleProblem,
    equal_noise,
    evaluate,
    own_noise,
    solve_low_rank,
)
from absentia.methods.completion.mkmc._view_kernels import ViewKernel, merge_views, sum_kernels

#: Up to so many samples the best of three starts is taken, as the objective has several minima, and
#: eigenvectors of the start are exact; beyond, they are found from a random subspace.
_SMALL = 500
#: One of the three starts is where the papers' algorithm is after so many iterations.
_HEAD_START = 5
#: For short runs at several ranks at least so many leading vectors are found at once.
_MIN_LEADING = 16
#: The subspace iteration ends when a pass adds less than this share to what it captures, or after so many.
_SUBSPACE_TOL, _SUBSPACE_PASSES = 3e-4, 12


class Solver(Iterative, SubspaceCompleter):
    """Fits of low-rank and of unrestricted models, whole ones and short ones."""

    covariance: str
    algorithm: str
    prior: float
    dtype: str
    tol: float
    max_iter: int
    random_state: RandomState
    _positions: Array  # of the samples with a view, in the order that draws are made in

    def _solve(
        self, views: Sequence[ViewKernel], size: int, q: int | None
    ) -> tuple[PDOperator, Solution[Any], int]:
        """The model of rank `q` (None: unrestricted) behind these views of `size` samples.

        With it, how the run went, and how many E-steps it took.
        """
        try:
            return self._run(views, size, q)
        except NotPositiveDefiniteError as error:
            raise ValueError(
                f"the model became singular with prior={self.prior:g}; raise the prior "
                "(1e-3 is the usual value), or look for kernels that are nearly singular"
            ) from error

    def _run(
        self, views: Sequence[ViewKernel], size: int, q: int | None
    ) -> tuple[PDOperator, Solution[Any], int]:
        options: dict[str, Any] = {
            "tol": self._tolerance(),
            "max_iter": self.max_iter,
            "callback": self._make_callback(),
        }
        if self.algorithm == "paper":
            imputation = ImputationProblem.of(views, size, self.prior, np.dtype(self.dtype))
            slow = solve_paper(imputation, self.covariance, q, **options)
            return slow.state.model, slow, slow.n_iter
        problem = VisibleProblem.of(merge_views(views), size, self.prior, self.dtype)
        model: PDOperator
        if q is None:
            run = solve_full(problem, **options)
            model = full_model(problem, run.state.at.point)
        else:
            run = self._solve_low_rank(problem, views, q, options)
            run.state.pairs.clear()  # as large as several models
            model = problem.model(run.state.at.point)
        return model, run, run.state.n_evaluations

    def _solve_low_rank(
        self, problem: VisibleProblem, views: Sequence[ViewKernel], q: int, options: dict[str, Any]
    ) -> Solution[DescentState[GradientEvaluation]]:
        """Descend from the start; small problems from several."""
        if problem.size <= _SMALL:
            return self._best_of_starts(problem, self._starts(problem, views, q), options)
        return solve_low_rank(problem, self._noise, self._start(problem, q), **options)

    def _start(self, problem: VisibleProblem, q: int, rescale: bool = True) -> Point:
        leading = self._leading_pairs(problem, q, rescale=rescale)
        return _start_from_leading(problem, self._noise, leading, q)

    def _starts(self, problem: VisibleProblem, views: Sequence[ViewKernel], q: int) -> Iterator[Point]:
        yield self._start(problem, q)
        yield self._start(problem, q, rescale=False)
        imputation = ImputationProblem.of(views, problem.size, problem.eps, problem.dtype)
        with suppress(NotPositiveDefiniteError):  # nearly singular kernels without a prior
            model = solve_paper(imputation, self.covariance, q, tol=0, max_iter=_HEAD_START).state.model
            assert isinstance(model, LowRankPlusDiagonal)
            yield problem.point(model, self._noise)

    def _best_of_starts(
        self, problem: VisibleProblem, starts: Iterator[Point], options: dict[str, Any]
    ) -> Solution[DescentState[GradientEvaluation]]:
        runs = []
        for first in starts:
            runs.append(solve_low_rank(problem, self._noise, first, **options))
            if runs[-1].status is Status.STOPPED:
                break
        objectives = {i: float(run.trace[-1]) if run.n_iter else np.inf for i, run in enumerate(runs)}
        best = runs[argmin_key(objectives)]
        if self.covariance == "pca":  # equal noise leaves nothing flat enough to matter
            return best
        noise = self._noise
        return refine_minimum(lambda point: evaluate(problem, noise, point), best, options["callback"])

    def _leading_pairs(self, problem: VisibleProblem, q: int, *, rescale: bool = True) -> _LeadingPairs:
        """The `q` leading eigenpairs of the mean kernel; see :func:`_leading_pairs`."""
        rng = make_generator(self.random_state)
        return _leading_pairs(problem, q, rng, rescale=rescale, positions=self._positions)

    @property
    def _noise(self) -> Noise:
        return equal_noise if self.covariance == "pca" else own_noise

    def _tolerance(self) -> float:
        if self.dtype == "float32" and 0 < self.tol < 1e-6:
            warn(f"tol={self.tol:g} is finer than float32 can tell; 1e-6 is used instead")
            return 1e-6
        return float(self.tol)


@dataclass
class ShortRuns:
    """Quick runs at growing ranks, each from the solution before; leading vectors serve several ranks."""

    solver: Solver
    problem: VisibleProblem
    max_rank: int
    options: dict[str, Any]
    point: Point | None = None
    leading: _LeadingPairs | None = None

    def __call__(self, q: int) -> Point:
        """Where a run of rank `q` ends."""
        noise = self.solver._noise
        if self.leading is None or q > len(self.leading.values):
            n_leading = max(q, min(max(2 * q, _MIN_LEADING), self.max_rank))
            self.leading = self.solver._leading_pairs(self.problem, n_leading)
        first = _add_factors(_start_from_leading(self.problem, noise, self.leading, q), self.point)
        self.point = solve_low_rank(self.problem, noise, first, **self.options).state.at.point
        return self.point


# ----------------------------------------------------------------------- starts of low-rank models


class _LeadingPairs(NamedTuple):
    """Leading eigenpairs of the mean kernel, lowest first, and how many views each sample counts for."""

    values: Array
    vectors: Array
    counts: Array


def _leading_pairs(
    problem: VisibleProblem,
    q: int,
    rng: np.random.Generator,
    *,
    rescale: bool = True,
    positions: Array | None = None,
) -> _LeadingPairs:
    """The `q` leading eigenpairs of the mean kernel.

    The mean is over the views that see both samples as far as a product can tell:
    ``D^-1/2 (sum_k Q_k / K) D^-1/2`` with D the share of views that see a sample.  Without `rescale` it
    is the zero-imputed mean, the papers' first model.  The components are exact up to :data:`_SMALL`
    samples.  Beyond they come from randomised subspace iteration, whose first vectors are drawn in the
    order of the samples' `positions` (by default as they come).
    """
    counts = np.full(problem.size, problem.n_views)
    if rescale:
        counts = np.maximum(problem.weight - problem.eps, 1.0)
    root = np.sqrt(counts / problem.n_views).astype(problem.dtype)[:, None]
    if problem.size <= _SMALL:
        return _LeadingPairs(*_eigenpairs(problem, root, q), counts)
    block = min(q + 10, problem.size)
    X = rng.standard_normal((problem.size, block), dtype=np.float32).astype(problem.dtype)
    X = X if positions is None else X[positions[problem.order]]
    return _LeadingPairs(*_subspace_iteration(problem, root, q, X), counts)


def _start_from_leading(problem: VisibleProblem, noise: Noise, leading: _LeadingPairs, q: int) -> Point:
    """Probabilistic principal components of the mean kernel, of `q` of its leading eigenpairs."""
    values, vectors = leading.values[-q:], leading.vectors[:, -q:]
    trace = float(((problem.total_diagonal - problem.eps) / leading.counts).sum())
    sigma2 = max((trace - float(values.sum())) / max(problem.size - q, 1), 1e-3 * trace / problem.size)
    scale = np.sqrt(np.maximum(values - sigma2, 1e-3 * sigma2))
    W = (vectors * scale).astype(problem.dtype)
    ones = np.ones(problem.size)
    return W, np.log(np.maximum(noise(sigma2 * ones) / noise(ones), problem.floor))


def _add_factors(first: Point, point: Point | None) -> Point:
    """A start from a solution of lower rank: its factors, and new ones from the start `first`."""
    fresh, q = first[0], first[0].shape[1]
    if point is None or point[0].shape[1] >= q:
        return first
    W, log_d = point
    basis = _orthonormalize(W)
    fresh = fresh - basis @ (basis.T @ fresh)
    U, _, _ = scipy.linalg.svd(thin_gram(fresh, fresh))
    extra = fresh @ U[:, : q - W.shape[1]].astype(fresh.dtype)
    return np.hstack([W, extra]), log_d


def _eigenpairs(problem: VisibleProblem, root: Array, q: int) -> tuple[Array, Array]:
    """The `q` leading eigenpairs of the mean kernel between divisions by `root`, exactly."""
    S = sum_kernels(problem.views, problem.size)
    S /= problem.n_views * (root @ root.T).astype(np.float64)
    return leading_eigenpairs((S + S.T) / 2, q)


def _subspace_iteration(problem: VisibleProblem, root: Array, q: int, X: Array) -> tuple[Array, Array]:
    """The same by subspace iteration from the columns of `X`, as far as a few passes lead."""
    captured = 0.0
    for _ in range(_SUBSPACE_PASSES):
        basis = _orthonormalize(X)
        X = _mean_kernel_product(problem, basis / root) / root
        values, vectors = scipy.linalg.eigh(thin_gram(basis, X))
        previous, captured = captured, float(values[-q:].sum())
        if captured - previous < _SUBSPACE_TOL * captured:
            break
    return values[-q:], basis @ vectors[:, -q:].astype(problem.dtype)


def _mean_kernel_product(problem: VisibleProblem, X: Array) -> Array:
    product = np.zeros_like(X)
    for view in problem.views:
        project(view.Q, X, view.v).add(product, view.v, np.eye(X.shape[1]))
    return product / problem.n_views


def _orthonormalize(X: Array) -> Array:
    """Orthonormal basis of the columns of `X`, by Cholesky, twice: linear in rows, no copies of Q."""
    for _ in range(2):
        gram = thin_gram(X, X)
        # what a product of that precision leaves of a direction that is not there
        gram[np.diag_indices_from(gram)] += max(1e-12, 10 * np.finfo(X.dtype).eps) * np.trace(gram)
        X = X @ whitening_matrix(gram).T.astype(X.dtype)
    return X
