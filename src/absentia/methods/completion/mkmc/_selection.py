"""From the kernels of views to a fitted model: which form and rank, and which algorithm from which start.

How many components a low-rank model gets, eigenvalue rules say, or what predicts hidden samples best.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from contextlib import suppress
from dataclasses import dataclass
from typing import Any, NamedTuple

import numpy as np
import scipy.linalg

from absentia.core import (
    DISTINCT_RTOL,
    Array,
    Iterative,
    LowRankPlusDiagonal,
    PDOperator,
    RandomState,
    argmin_key,
    evaluate_path,
    get_factors,
    has_factors,
    make_generator,
    project,
    warn,
)
from absentia.core.linalg import (
    NotPositiveDefiniteError,
    invert_permutation,
    leading_eigenpairs,
    thin_gram,
    whitening_matrix,
)
from absentia.core.optimize import DescentState, GradientEvaluation, Point, Solution, Status, refine_minimum
from absentia.data import AbsenceWarning, KernelViews
from absentia.methods.completion._base import Holdout, SubspaceCompleter
from absentia.methods.completion.mkmc._coordinates import locate_absent
from absentia.methods.completion.mkmc._imputation import (
    ImputationProblem,
    full_model,
    solve_full,
    solve_paper,
)
from absentia.methods.completion.mkmc._low_rank import (
    KernelForm,
    Noise,
    ViewKernel,
    VisibleProblem,
    equal_noise,
    evaluate,
    in_memory,
    merge_views,
    own_noise,
    solve_low_rank,
    sum_kernels,
)

#: Up to so many samples the best of three starts is taken, as the objective has several minima, and
#: eigenvectors of the start are exact; beyond, they are found from a random subspace.
_SMALL = 500
#: One of the three starts is where the papers' algorithm is after so many iterations.
_HEAD_START = 5
#: For short runs at several ranks at least so many leading vectors are found at once.
_MIN_LEADING = 16
#: The subspace iteration ends when a pass adds less than this share to what it captures, or after so many.
_SUBSPACE_TOL, _SUBSPACE_PASSES = 3e-4, 12
#: Eigenvalues are counted on at most so many samples, drawn at random beyond.
_MAX_COUNTED = 4000
#: Runs on what was not hidden are short: they end at this change of the objective, or after so many steps.
_SHORT_TOL, _SHORT_STEPS = 1e-4, 30
#: So many ranks in a row that bring nothing end the search for one, and at once one whose error is so many
#: times the least.
_RANK_PATIENCE, _HOPELESS = 3, 1.25
#: Eigenvalues are not counted for ranks around one below this.
_MIN_COUNTED_RANK = 32
#: Up to so many samples the rank is selected by hiding.
_MAX_HOLDOUT = 5000


class ModelSelection(Iterative, SubspaceCompleter):
    """Fits of low-rank and of unrestricted models, whole ones and short ones, and the choice among them."""

    covariance: str
    algorithm: str
    prior: float
    dtype: str
    tol: float
    max_iter: int
    random_state: RandomState
    _positions: Array  # of the samples with a view, in the order that draws are made in
    n_components: Any
    center: Any
    rescale: bool
    heldout_curve_: dict[int, float]
    _train: KernelViews

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

    # ------------------------------------------------------------------------------- the form and the rank
    #
    # Whether kernels are taken about the means of the views, and how many components there are, is selected
    # by hiding a tenth of each view's observed samples (``Holdout``), which short runs complete along a
    # path of ranks, each from where the one before ended.  Where the mean is subtracted, ranks are tried
    # around the one that was best without.

    def _select_form(self, samples: Array) -> tuple[KernelForm, int | None]:
        """How kernels enter the model, and its rank; `samples` are those with a view."""
        candidates: dict[bool, tuple[KernelForm, int | None, dict[int, float] | None]] = {}
        rank: int | None = None  # of the other form, beside which that of this one will be
        for center in self._center_options(len(samples)):
            form = KernelForm.of(self._train, center=center, rescale=bool(self.rescale), dtype=self.dtype)
            curve = None
            if self.covariance != "full":
                rank, curve = self._select_rank(form, samples, rank)
            candidates[center] = form, rank, curve
        # where nothing could be hidden, falling back on the mean is safer than falling back on zero
        errors = {
            center: min((curve or {}).values(), default=-float(center))
            for center, (_, _, curve) in candidates.items()
        }
        form, rank, curve = candidates[argmin_key(errors)]
        if curve is not None:
            self.heldout_curve_ = curve
        return form, rank

    def _center_options(self, size: int) -> Sequence[bool]:
        """What `center` may be."""
        if self.center == "auto":
            return (False, True) if self._selects_by_holdout(size) else (False,)
        if self.center and not in_memory(self._train):
            raise ValueError("center=True with kernels that are not in memory; use center=False")
        return (bool(self.center),)

    def _selects_by_holdout(self, size: int) -> bool:
        """Whether ``n_components="auto"`` hides samples to select the form and the rank."""
        quick = self.algorithm == "fast" and in_memory(self._train) and 2 <= size <= _MAX_HOLDOUT
        return self.n_components == "auto" and self.covariance != "full" and quick

    def _select_rank(
        self, form: KernelForm, samples: Array, near: int | None
    ) -> tuple[int, dict[int, float] | None]:
        """The rank, and errors by rank where it is selected by hiding."""
        q, size = self.n_components, len(samples)
        if size < 2:
            raise ValueError(f"{size} sample(s) with a view; a low-rank model needs at least 2")
        views = [view for view in form.view_kernels(self._train, samples) if len(view.v)]
        if q == "heldout" or self._selects_by_holdout(size):
            return self._rank_by_holdout(form, views, size, near)
        if isinstance(q, str):
            return self._count_components(views, size, "gk" if q == "auto" else q), None
        if q >= size:
            raise ValueError(f"n_components={q} for {size} samples; wanted 1 to {size - 1}")
        return int(q), None

    def _count_components(self, views: list[ViewKernel], size: int, rule: str) -> int:
        """Guttman-Kaiser or Kaiser on the mean of the zero-filled kernels, the papers' first model."""
        samples = np.arange(size)
        if size > _MAX_COUNTED:
            drawn = make_generator(self.random_state).choice(size, _MAX_COUNTED, replace=False)
            samples = np.sort(invert_permutation(self._positions)[drawn])
        count = _count_of_factors(views, samples, rule)
        return _count_eigenvalues(_zero_filled_mean(views, samples), rule) if count is None else count

    def _rank_by_holdout(
        self, form: KernelForm, views: list[ViewKernel], size: int, near: int | None
    ) -> tuple[int, dict[int, float]]:
        """The rank that best completes what is hidden; with a `near`, of those from half to twice it."""
        holdout, short = Holdout.of(self._train, self.random_state), self.n_components == "auto"
        if not holdout.n_hidden:
            if not short:
                warn(
                    "n_components='heldout': no sample has a view to spare, so that nothing can be hidden "
                    "to choose by; n_components='gk' is used instead",
                    AbsenceWarning,
                )
            return self._count_components(views, size, "gk"), {}
        path = self._short_path(views, size, near) if short else _rank_path(size)
        runs = self._short_runs(form, holdout.part, max(path))

        def error(q: int) -> float:
            return holdout.error(self._complete_part(form, holdout.part, runs.problem, runs(q)))

        curve = evaluate_path(path, error, _RANK_PATIENCE, _HOPELESS)
        return int(argmin_key(curve)), curve

    def _short_path(self, views: list[ViewKernel], size: int, near: int | None) -> list[int]:
        """The short path, or what of it is near; what is counted is hardly ever near a small number."""
        if near is not None and near < _MIN_COUNTED_RANK:
            return [q for q in _short_rank_path(size, near) if near <= 2 * q <= 4 * near]
        path = _short_rank_path(size, self._count_components(views, size, "gk"))
        return path if near is None else [q for q in sorted({*path, near}) if near <= 2 * q <= 4 * near]

    def _short_runs(self, form: KernelForm, part: KernelViews, max_rank: int) -> _ShortRuns:
        """Short runs on kernels of which some cells are hidden."""
        samples = np.flatnonzero(part.observed.any(axis=1))
        views = [view for view in form.view_kernels(part, samples) if len(view.v)]
        problem = VisibleProblem.of(views, len(samples), float(self.prior), self.dtype)
        options = {"tol": max(self.tol, _SHORT_TOL), "max_iter": _SHORT_STEPS}
        return _ShortRuns(self, problem, max_rank, options)

    def _complete_part(
        self, form: KernelForm, part: KernelViews, problem: VisibleProblem, point: Point
    ) -> KernelViews:
        """Kernels of which some cells are hidden, completed under the model of a point."""
        model = problem.model(point).pad(np.flatnonzero(part.observed.any(axis=1)), len(part))
        _, bases, coordinates = locate_absent(part, form, model)
        return part.completed(self._complete_square(part, bases, coordinates))


@dataclass
class _ShortRuns:
    """Quick runs at growing ranks, each from the solution before; leading vectors serve several ranks."""

    solver: ModelSelection
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


# ------------------------------------------------------------------------- eigenvalues that are counted


def _count_above(S: Array, threshold: float) -> int:
    """Number of eigenvalues of a symmetric matrix above `threshold`.

    By Sylvester's law of inertia: as many as the block-diagonal D of ``S - threshold I = L D L'`` has
    positive ones, at a fraction of the cost of the eigenvalues of `S`.
    """
    _, D, _ = scipy.linalg.ldl(S - threshold * np.eye(len(S), dtype=S.dtype), check_finite=False)
    return int((scipy.linalg.eigvalsh_tridiagonal(D.diagonal(), D.diagonal(-1)) > 0).sum())


def _count_eigenvalues(S: Array, rule: str) -> int:
    """Number of eigenvalues of `S` above their mean ("gk", Guttman-Kaiser) or above one ("kaiser").

    Above means by more than :data:`DISTINCT_RTOL`: rounding does not count eigenvalues that are all alike.
    """
    threshold = {"gk": float(np.trace(S)) / len(S), "kaiser": 1.0}[rule]
    return int(np.clip(_count_above(S, (1 + DISTINCT_RTOL) * threshold), 1, len(S) - 1))


def _count_of_factors(views: Sequence[ViewKernel], samples: Array, rule: str) -> int | None:
    """The same of the mean kernel, from a matrix as large as there are factors; None if these are many."""
    if not all(has_factors(view.Q) for view in views):
        return None
    parts = []
    for view in views:
        present, inside = _places_within(view, samples)
        Phi, own = get_factors(view.Q.select(inside, inside))
        part = np.zeros((len(samples), Phi.shape[1]))
        part[present] = Phi
        parts.append(part)
        if own is not None or sum(part.shape[1] for part in parts) >= len(samples):
            return None
    Z = np.hstack(parts)
    values = scipy.linalg.eigvalsh(Z.T @ Z) / sum(view.weight for view in views)
    threshold = {"gk": float(values.sum()) / len(samples), "kaiser": 1.0}[rule]
    return int(np.clip((values > (1 + DISTINCT_RTOL) * threshold).sum(), 1, len(samples) - 1))


def _places_within(view: ViewKernel, samples: Array) -> tuple[Array, Array]:
    """Which of some `samples` have a view, and where they are among those of the view."""
    present = np.isin(samples, view.v)
    return present, np.searchsorted(view.v, samples[present])


def _zero_filled_mean(views: Sequence[ViewKernel], samples: Array) -> Array:
    """Mean of all kernels over `samples`, zero where a sample is absent."""
    S = np.zeros((len(samples), len(samples)))
    for view in views:
        present, inside = _places_within(view, samples)
        S[np.ix_(present, present)] += view.Q.block(inside, inside)
    return S / sum(view.weight for view in views)


def _short_rank_path(size: int, counted: int) -> list[int]:
    """Few ranks to try: 2, 4, 8, ... up to a third of the samples, at most 128, and those counted."""
    max_rank = max(min(size // 3, 128), 1)
    return sorted({min(2**i, max_rank) for i in range(1, 8)} | {counted})


def _rank_path(size: int) -> list[int]:
    """Ranks to try: 1, 2, 3, 4, 6, 8, 12, 16, ... up to a third of the samples, at most 256."""
    ranks = {1, 2, 3} | {int(2 ** (i / 2)) for i in range(4, 17)}
    max_rank = max(min(size // 3, 256), 1)
    return sorted(q for q in ranks if q <= max_rank)
