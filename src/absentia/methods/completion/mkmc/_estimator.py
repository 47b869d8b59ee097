"""Mutual kernel matrix completion: fill several incomplete kernels from one another.

References
----------
R. Rivero, R. Lemence, T. Kato. Mutual kernel matrix completion. IEICE Trans. Inf. & Syst. E100-D(8),
1844-1851, 2017 (full covariance).
R. Rivero, T. Kato. Parametric models for mutual kernel matrix completion. IEICE Trans. Inf. & Syst.
E101-D(12), 2976-2983, 2018; arXiv:1804.06095 (PCA and factor analysis).

Model
-----
One model kernel ``M`` over all samples stands behind every view.  With v the samples that view k sees
and h those it does not, the missing parts of kernel Q of view k are what ``M`` says of them given the
visible part, and ``M`` is what brings the completed kernels closest together in LogDet divergence.

Objective
---------
After the optimal imputation the sum of LogDet divergences is, up to a constant, minus the Gaussian
log-likelihood of what was observed.  With the stabiliser, which is the exact M-step for one more,
fully observed pseudo-view ``Q = I`` of weight ``eps`` (`prior`), the algorithm lowers at every step

    L(M) = sum_k 1/2 [logdet M_vv + trace(M_vv^-1 Q_vv)] + eps/2 [logdet M + trace(M^-1)].

This is what ``objective_`` holds.  The divergences' constant ``-1/2 logdet Q_vv - n_k/2`` is left out:
it does not depend on the model and does not exist for singular kernels.

Notation
--------
=========  ===================================  ==================================
paper      here                                 is
=========  ===================================  ==================================
l, K       ``problem.size``, ``n_views``        number of samples, of views
Q^(k)_vv   ``Visible.Q``, ``Seen.Q``            observed kernel, unit mean diagonal
M          ``State.model``, ``model_``          model kernel, an operator
W, psi     ``LowRankPlusDiagonal.W``, ``.d``    loadings, noise variances
S          ``S``                                mean of the completed kernels
=========  ===================================  ==================================

Algorithms
----------
``"paper"`` is in ``_paper``; ``"fast"``, which lowers the same objective, in
``_fast`` (PCA and factor analysis) and ``_full``.

Departures from the papers
--------------------------
* Each kernel is divided by its mean diagonal inside, and gets it back at the end: without that a view
  on a larger scale drowns the others.  Kernels of unit mean diagonal are left as they are, all of them
  with ``rescale=False``.
* Samples without any view are left out of the fit (their variance would drift towards the prior for
  ever) and come back uncorrelated, with the view's mean variance.
* Between groups of samples that no view ever sees together the model is set to zero; the data say
  nothing about it.
* A floor under the noise variances (see ``_covariance.NOISE_FLOOR``).
* Of singular kernels there is no likelihood, and of equal eigenvalues no leading ones: on constant views,
  kernels of rank one and identities, what is completed follows the noise in the kernels, and noise of 1e-12
  has moved it by up to 3e-2.
* (19) is used for S_zz; (34) of the long version lacks its ``I - B W``.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from contextlib import suppress
from dataclasses import KW_ONLY
from typing import Any, Literal

import numpy as np

from absentia.core import (
    Array,
    Callback,
    Descent,
    Iterative,
    LowRankPlusDiagonal,
    NonNegative,
    NotPositiveDefiniteError,
    Operator,
    PDOperator,
    Point,
    RandomState,
    Sloped,
    Solution,
    Status,
    Whole,
    generator,
    inverse,
    least,
    method,
    warn,
)
from absentia.data import AbsenceWarning, KernelViews, ordering
from absentia.methods.completion._fill import MeanFill
from absentia.methods.completion._hiding import Trial
from absentia.methods.completion._placement import Frame, Place, Placing
from absentia.methods.completion.mkmc import _fast, _foldin, _full, _paper, _rank
from absentia.methods.completion.mkmc._covariance import PCA, Covariance, FactorAnalysis, Full
from absentia.methods.completion.mkmc._draws import draw
from absentia.methods.completion.mkmc._fast import EqualNoise, Noise, OwnNoise, Problem, Seen
from absentia.methods.completion.mkmc._views import (
    by_factors,
    in_memory,
    merged,
    papers_problem,
    seen_by,
    view_scales,
    visible,
)

#: Up to so many samples the best of three starts is taken: the objective has several minima.
SMALL = 500
#: One of them is where the papers' algorithm is after so many iterations.
HEAD_START = 5
#: From so many on, the first part of a fit is run in single precision, which costs half.
LARGE = 2000
#: Up to so many samples it is checked whether the components are too many, with so many steps at most.
CHECKED, CHECK_STEPS = 5000, 30
#: So many ranks in a row that bring nothing end the search for one.
PATIENCE = 3


@method
class MKMC(Iterative, Placing):
    """Mutual kernel matrix completion: one model kernel behind all views fills what is missing.

    Every completed kernel keeps its observed block to the last bit and is positive definite (if the
    observed block is; otherwise positive semidefinite).

    Parameters
    ----------
    covariance : {"pca", "fa", "full"}, default "pca"
        ``"pca"``: low rank plus equal noise; ``"fa"``: low rank plus each sample's own noise;
        ``"full"``: any kernel, flexible and prone to follow the data too closely.
    n_components : int, "gk", "kaiser" or "heldout", default "gk"
        Rank of the low-rank part (pca and fa).  ``"gk"`` (Guttman-Kaiser) counts the eigenvalues above
        their mean, ``"kaiser"`` those above one (by more than 1e-6 of it, either way), once, before the
        first iteration, of the mean of the zero-filled kernels, which is the papers' first model; they
        do not say which matrix they count on.  Zeros inflate the count (mfeat, half hidden: 56 to 58,
        without anything hidden 40), and on such kernels that completes better than fewer.  Kernels are
        brought to unit mean diagonal before, so that neither rule depends on their scale; with
        ``rescale=False`` Kaiser's does.  Where views have strong factors of their own, either rule
        counts those too and the completed rows can be far worse than the mean.  To find out, up to 5000
        samples in memory, a tenth of each view's observed samples is hidden once and completed by a
        short run with as many components; if mean fill does better a warning says so, and ``"heldout"``
        is the better choice.  Beyond 4000 samples a random 4000 of them are counted on.
        ``"heldout"`` hides a tenth of each view's samples, fits along a path of ranks and takes the one
        that completes the hidden rows best (relative Frobenius error; kept in ``heldout_curve_``); of
        ranks within rounding the lowest.
    prior : float, default 1e-3
        Weight of the identity kernel as one more, fully observed view.  Keeps the model away from
        singular; the papers use 1e-3.
    algorithm : {"fast", "paper"}, default "fast"
        ``"fast"`` never imputes while fitting and accelerates; ``"paper"`` is the papers' iteration, one
        full imputation and eigendecomposition at a time.  Both lower the same objective.
    tol : float, default 1e-6
        Stop when the objective's relative change falls below; 0 runs all iterations.
    max_iter : int, default 500
        Stop after so many iterations at the latest.
    dtype : {"float64", "float32"}, default "float64"
        Precision of the computation; the observed blocks keep theirs.  In float32 the objective is
        only good to 1e-7, so `tol` is raised to at least 1e-6; noise is kept above 1e-3 and a sample's
        loadings below 100.
    rescale : bool, default True
        Divide each kernel by its mean diagonal inside.  False leaves scales alone, as the papers do: a
        view of larger values counts for more, and `prior` and Kaiser's threshold are in the kernels'
        own units.
    random_state : int, Generator, RandomState or None
        Of the start beyond 500 samples, of what ``"heldout"`` hides, and of the cells of the check.
        None: the fixed seed 0.  What is drawn goes with the data, not with the order of samples or
        views (``_order``).
    callback : callable, optional
        Called with a :class:`absentia.core.Progress` after each iteration; returning True stops.

    Attributes
    ----------
    model_ : operator
        The fitted model kernel over all training samples, in units of each view's mean diagonal;
        ``model_.to_dense()`` gives the array.
    n_components_ : int or None
    n_evaluations_ : int
        Number of E-steps: with ``"fast"`` mostly one per iteration.
    heldout_curve_ : dict
        Error by rank, for ``n_components="heldout"``.
    view_scales_ : ndarray of shape (n_views,)
        Mean diagonal of each kernel over the samples observed in it, by which it is divided inside;
        ones with ``rescale=False``.
    groups_ : ndarray of shape (n_samples,)
        Which samples are linked by views seeing both; -1 for samples without any view.
    objective_ : ndarray
        Penalised objective after each iteration.  Never rises beyond rounding; with kernels of very
        low rank and a prior near zero rounding is large, because the model is then nearly singular.
    n_iter_, converged_, status_, names_in_, ids_

    Examples
    --------
    >>> from absentia import MKMC, ViewKernels, datasets, missingness
    >>> views, y = datasets.load_digit_views(n_samples=60, return_X_y=True)
    >>> kernels = ViewKernels().fit_transform(views.hide(missingness.mcar(views, 0.3, random_state=0)))
    >>> mkmc = MKMC("pca", n_components=5)
    >>> bool(mkmc.fit_transform(kernels).observed.all())
    True
    """

    covariance: Literal["pca", "fa", "full"] = "pca"
    _: KW_ONLY
    n_components: Whole | Literal["gk", "kaiser", "heldout"] = "gk"
    prior: NonNegative = 1e-3
    algorithm: Literal["fast", "paper"] = "fast"
    tol: NonNegative = 1e-6
    max_iter: Whole = 500
    dtype: Literal["float64", "float32"] = "float64"
    rescale: bool = True
    random_state: RandomState = None
    callback: Callback | None = None

    _remedy = " (look for kernels that are nearly singular, or raise the prior)"

    # ------------------------------------------------------------------------------------- fitting

    def _learn(self, X: KernelViews) -> None:
        self.view_scales_ = view_scales(X, rescale=bool(self.rescale))
        self.groups_ = X.components()
        _warn_of_gaps(self.groups_)
        seen = np.flatnonzero(self.groups_ >= 0)
        self._train, self._numbers = X, inverse(ordering(X).among(seen))
        views = [view for view in self._seen(X, seen) if len(view.v)]
        self.n_components_ = None if self.covariance == "full" else self._rank(views, len(seen))
        model = self._fit_model(views, len(seen))
        if self.groups_.max() > 0:
            model = model.decouple(self.groups_[seen])
        counted = self.covariance != "full" and self.n_components != "heldout"
        if counted and in_memory(X) and len(seen) <= CHECKED and self.status_ != Status.STOPPED.value:
            self._warn_of_excess(X)
        self.model_ = model.pad(seen, len(X))
        if isinstance(self.model_, LowRankPlusDiagonal):
            self._latents = self._latents_of(X, self.model_)
            self._frames, self._places = self._placed(X, self.model_, self._latents)

    def _seen(self, X: KernelViews, samples: Array) -> list[Seen]:
        return seen_by(X, self.view_scales_, samples, self.dtype)

    def _fit_model(self, views: list[Seen], size: int) -> PDOperator:
        try:
            return self._solve(views, size)
        except NotPositiveDefiniteError as error:
            raise ValueError(
                f"the model became singular with prior={self.prior:g}; raise the prior "
                "(1e-3 is the usual value), or look for kernels that are nearly singular"
            ) from error

    def _solve(self, views: list[Seen], size: int) -> PDOperator:
        options: dict[str, Any] = {
            "tol": self._tolerance(),
            "max_iter": self.max_iter,
            "callback": self.callback,
        }
        if self.algorithm == "paper":
            paper = papers_problem(views, size, float(self.prior), np.dtype(self.dtype))
            slow = _paper.solve_paper(paper, self._family(), **options)
            self._record(slow)
            self.n_evaluations_ = slow.n_iter
            return slow.state.model
        solution: Solution[Descent[Sloped]]
        if self.covariance == "full":
            problem = Problem.of(merged(views), size, float(self.prior), self.dtype)
            solution = _full.solve_full(problem, **options)
            model: PDOperator = _full.as_operator(problem, solution.state.at.point)
        else:
            problem, solution = self._best_solution(views, size, options)
            model = _fast.as_operator(problem, solution.state.at.point)
        self._record(solution)
        self.n_evaluations_ = solution.state.n_evaluations
        return model

    def _best_solution(
        self, views: list[Seen], size: int, options: dict[str, Any]
    ) -> tuple[Problem, Solution[Descent[Sloped]]]:
        """Descend from the start; small problems from several, large ones at first in single precision."""
        noise, problem = self._noise(), Problem.of(merged(views), size, float(self.prior), self.dtype)
        if size <= SMALL:
            return problem, self._best_of_starts(problem, self._starts(problem, views), options)
        if size < LARGE or problem.dtype == np.float32 or not self.tol or by_factors(problem):
            return problem, _fast.solve_fast(problem, noise, self._start(problem), **options)
        single = problem.in_single_precision()
        rough = {**options, "tol": max(options["tol"], 3e-6)}
        before = _fast.solve_fast(single, noise, self._start(single), **rough).state
        return problem, _fast.solve_fast(problem, noise, before.at.point, **options, before=before)

    def _start(self, problem: Problem, rescale: bool = True) -> Point:
        assert self.n_components_ is not None
        return _fast.start(
            problem,
            self._noise(),
            self.n_components_,
            generator(self.random_state),
            rescale=rescale,
            numbers=self._numbers,
        )

    def _starts(self, problem: Problem, views: list[Seen]) -> Iterator[Point]:
        yield self._start(problem)
        yield self._start(problem, rescale=False)
        paper = papers_problem(views, problem.size, problem.eps, problem.dtype)
        with suppress(NotPositiveDefiniteError):  # nearly singular kernels without a prior
            model = _paper.solve_paper(paper, self._family(), tol=0, max_iter=HEAD_START).state.model
            assert isinstance(model, LowRankPlusDiagonal)
            yield _fast.as_point(problem, self._noise(), model)

    def _best_of_starts(
        self, problem: Problem, starts: Iterator[Point], options: dict[str, Any]
    ) -> Solution[Descent[Sloped]]:
        runs = []
        for first in starts:
            runs.append(_fast.solve_fast(problem, self._noise(), first, **options))
            if runs[-1].status is Status.STOPPED:
                break
        ends = {i: float(run.trace[-1]) if run.n_iter else np.inf for i, run in enumerate(runs)}
        return runs[least(ends)]

    def _family(self) -> Covariance:
        if self.n_components_ is None:
            return Full()
        return PCA(self.n_components_) if self.covariance == "pca" else FactorAnalysis(self.n_components_)

    def _noise(self) -> Noise:
        return EqualNoise() if self.covariance == "pca" else OwnNoise()

    def _tolerance(self) -> float:
        if self.dtype == "float32" and 0 < self.tol < 1e-6:
            warn(f"tol={self.tol:g} is finer than float32 can tell; 1e-6 is used instead")
            return 1e-6
        return float(self.tol)

    # ----------------------------------------------------------------------- number of components

    def _rank(self, views: list[Seen], size: int) -> int:
        q = self.n_components
        if size < 2:
            raise ValueError(f"{size} sample(s) with a view; a low-rank model needs at least 2")
        if q == "heldout":
            return self._rank_by_hiding(views, size)
        if isinstance(q, str):
            return self._counted(views, size, q)
        if q >= size:
            raise ValueError(f"n_components={q} for {size} samples; wanted 1 to {size - 1}")
        return int(q)

    def _counted(self, views: list[Seen], size: int, rule: str) -> int:
        return _rank.by_rule(views, size, rule, generator(self.random_state), inverse(self._numbers))

    def _rank_by_hiding(self, views: list[Seen], size: int) -> int:
        """The rank that best completes what is hidden for the purpose."""
        trial, self.heldout_curve_ = Trial.of(self._train, self.random_state), {}
        if not trial.n_hidden:
            warn(
                "n_components='heldout': no sample has a view to spare, so that nothing can be hidden to "
                "choose by; n_components='gk' is used instead",
                AbsenceWarning,
            )
            return self._counted(views, size, "gk")
        problem, point = self._part_problem(trial.part), None

        def complete(q: int) -> KernelViews:
            nonlocal point
            rng = generator(self.random_state)
            first = _fast.widened(problem, self._noise(), point, q, rng, self._numbers)
            point = self._descended(problem, first, tol=max(self.tol, 1e-5), max_iter=self.max_iter)
            return self._completed_part(trial.part, problem, point)

        self.heldout_curve_ = trial.curve(_rank.path(size), complete, PATIENCE)
        return int(least(self.heldout_curve_))

    def _warn_of_excess(self, X: KernelViews) -> None:
        """Warn if observed cells, hidden for once, are completed worse than by their mean."""
        trial = Trial.of(X, self.random_state)
        if not trial.n_hidden:
            return
        problem = self._part_problem(trial.part)
        point = self._descended(
            problem, self._start(problem), tol=max(self.tol, 1e-4), max_iter=CHECK_STEPS
        )
        error = trial.error(self._completed_part(trial.part, problem, point))
        mean = trial.error(MeanFill("blocks").fit_transform(trial.part))
        if error > mean:
            warn(
                f"with {self.n_components_} components {trial.n_hidden} observed cells, hidden for a check,"
                f" are completed worse (relative error {error:.2g}) than by the mean ({mean:.2g}): the "
                "model fits what views do not share; try n_components='heldout', or fewer"
            )

    def _part_problem(self, part: KernelViews) -> Problem:
        seen = np.flatnonzero(self.groups_ >= 0)
        views = [view for view in self._seen(part, seen) if len(view.v)]
        return Problem.of(views, len(seen), float(self.prior), self.dtype)

    def _descended(self, problem: Problem, first: Point, **options: Any) -> Point:
        return _fast.solve_fast(problem, self._noise(), first, **options).state.at.point

    def _completed_part(self, part: KernelViews, problem: Problem, point: Point) -> KernelViews:
        """Kernels of which some cells are hidden, completed under the model of a point."""
        model = _fast.as_operator(problem, point).pad(np.flatnonzero(self.groups_ >= 0), len(part))
        return part.completed(
            self._assembled(part, *self._placed(part, model, self._latents_of(part, model)))
        )

    # ------------------------------------------------------------------------- completed kernels

    def _latents_of(self, X: KernelViews, model: LowRankPlusDiagonal) -> list[_foldin.Latent]:
        F = model.W / model.d[:, None]
        return [_foldin.Latent.of(view, F, model) for view in self._seen(X, np.arange(len(X)))]

    def _placed(
        self, X: KernelViews, model: LowRankPlusDiagonal, latents: Sequence[_foldin.Latent]
    ) -> tuple[list[Frame], list[Place]]:
        """The factors are the axes of every view, and a sample's loadings its place."""
        F = model.W / model.d[:, None]
        frames, places = [], []
        for scale, present, latent in zip(self.view_scales_, X.observed.T, latents, strict=True):
            frames.append(Frame(F[present] @ latent.C_inverse, scale * latent.G, scale * latent.E))
            places.append(Place(model.W[~present], scale * model.d[~present]))
        return frames, places

    def _place(self, X: KernelViews) -> list[Place]:
        """Fold each new sample into the latent space, then treat it as any other sample."""
        model, scales = self.model_, self.view_scales_
        assert isinstance(model, LowRankPlusDiagonal)
        F = model.W / model.d[:, None]
        rows = []
        for name, scale, present, old in zip(X.names, scales, X.observed.T, self._observed.T, strict=True):
            A, own = np.zeros((len(X), F.shape[1])), np.zeros(len(X))
            A[present] = (X.operator(name) @ F[old]) / scale
            own[present] = X.diagonal(name) / scale
            rows.append(_foldin.Row(A, own, present))
        noise = float(model.d[self.groups_ >= 0].mean()) if self.covariance == "pca" else None
        prior = _foldin.Latent.of_prior(F, model)
        w, d, G = _foldin.fold_in(self._latents, rows, prior, float(self.prior), noise)
        return [
            Place(w[~present], scale * d[~present], scale * G_view[present])
            for scale, present, G_view in zip(scales, X.observed.T, G, strict=True)
        ]

    # ------------------------------------------- an unrestricted model: its residual has no low rank

    def _fill(self, X: KernelViews) -> Mapping[str, Array | Operator]:
        if isinstance(self.model_, LowRankPlusDiagonal):
            return super()._fill(X)
        kernels = {}
        for name, scale, view in zip(
            X.names, self.view_scales_, self._seen(X, np.arange(len(X))), strict=True
        ):
            known = visible(view, len(X))
            Q_vh, Q_hh = _paper.impute(known, self.model_, self.model_.principal(view.v))
            K = np.empty(X.shape)
            K[np.ix_(view.v, view.v)] = X.block(name)
            K[np.ix_(view.v, known.h)] = scale * Q_vh
            K[np.ix_(known.h, view.v)] = scale * Q_vh.T
            K[np.ix_(known.h, known.h)] = scale * Q_hh
            kernels[name] = K
        return kernels

    def _fill_rows(self, X: KernelViews) -> tuple[Mapping[str, Array | Operator], Mapping[str, Array]]:
        """A new sample is a combination of the training samples, see :func:`_foldin.combine`."""
        if isinstance(self.model_, LowRankPlusDiagonal):
            return super()._fill_rows(X)
        trained = self._fill(self._train)
        Q = [np.asarray(trained[name]) / s for name, s in zip(X.names, self.view_scales_, strict=True)]
        q, own = self._completed_visible_rows(X)
        rows, values = _foldin.combine(Q, q, own, X.observed, self.model_, float(self.prior))
        blocks, diagonals = {}, {}
        for k, (name, scale) in enumerate(zip(X.names, self.view_scales_, strict=True)):
            blocks[name], diagonals[name] = scale * rows[k], scale * values[k]
            blocks[name][np.ix_(X.observed[:, k], X.column_observed[:, k])] = X.block(name)
            diagonals[name][X.observed[:, k]] = X.diagonal(name)
        return blocks, diagonals

    def _completed_visible_rows(self, X: KernelViews) -> tuple[list[Array], Array]:
        """Rows of the views a new sample has, completed over all training samples (unit mean diagonal)."""
        everyone = np.arange(len(self._train))
        rows, own = [], np.zeros((len(X), X.n_views))
        for k, view in enumerate(self._seen(self._train, everyone)):
            name, scale, present = X.names[k], self.view_scales_[k], X.observed[:, k]
            h = np.setdiff1d(everyone, view.v)
            full = np.zeros(X.shape)
            known = X.block(name) / scale
            A = self.model_.principal(view.v).solve(self.model_.block(view.v, h))
            full[np.ix_(present, view.v)] = known
            full[np.ix_(present, h)] = known @ A
            rows.append(full)
            own[present, k] = X.diagonal(name) / scale
        return rows, own

    # -------------------------------------------------------------------------------- uncertainty

    def posterior_variance(self) -> Array:
        """How unsure each imputed sample is: its variance given what its view shows, samples x views.

        In the kernel's own units, the part of the completed ``k(t, t)`` that the other samples do not
        explain; zero where the view was observed.
        """
        X = self._train
        variance = np.zeros(X.observed.shape)
        for k, present in enumerate(X.observed.T):
            v, h = np.flatnonzero(present), np.flatnonzero(~present)
            variance[h, k] = self.view_scales_[k] * self.model_.conditional_diagonal(v, h)
        return variance

    def sample(
        self, n: int = 1, *, n_features: int | None = None, random_state: RandomState = None
    ) -> Iterator[KernelViews]:
        """Draw completed kernels: multiple imputation.

        Each view's observed kernel is seen as a product of features; the absent samples' features are
        drawn from their distribution given the visible ones, so that the draws average to the
        completed kernel, keep the observed block, and are positive semidefinite.

        Parameters
        ----------
        n : int
            Number of draws.
        n_features : int, optional
            Of how many features a kernel is made; fewer spread the draws more.  At least, and by
            default, the number of samples the view sees.
        random_state : int, Generator, RandomState or None
            Of the draws.  None: the fixed seed 0.
        """
        X, rng = self._train, generator(random_state)
        for _ in range(n):
            yield X.completed(
                {
                    name: draw(self.model_, X.block(name), present, scale, n_features, rng)
                    for name, present, scale in zip(X.names, X.observed.T, self.view_scales_, strict=True)
                }
            )


def _warn_of_gaps(groups: Array) -> None:
    if not (groups >= 0).any():
        raise ValueError("no sample has any view; there is nothing to learn from")
    if groups.max() > 0:
        sizes = np.bincount(groups[groups >= 0])
        shown = ", ".join(str(s) for s in sizes[:5]) + (", ..." if len(sizes) > 5 else "")
        warn(
            f"the samples fall into {len(sizes)} groups (of {shown}) that no view ever sees together; "
            "nothing is known of kernel values between them, and they are set to zero",
            AbsenceWarning,
        )
