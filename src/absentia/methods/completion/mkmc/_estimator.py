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

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import KW_ONLY
from typing import Literal

import numpy as np

from absentia.core import (
    Array,
    Callback,
    Iterative,
    LowRankPlusDiagonal,
    NonNegative,
    Operator,
    Point,
    RandomState,
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
from absentia.methods.completion.mkmc import _fast, _foldin, _full, _rank
from absentia.methods.completion.mkmc._draws import draw
from absentia.methods.completion.mkmc._fast import Problem, Seen
from absentia.methods.completion.mkmc._solving import Solver
from absentia.methods.completion.mkmc._views import in_memory, seen_by, view_scales

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
    callback, verbose : callable or None, bool
        Gets a :class:`absentia.core.Progress` each iteration, True stops; lines on stderr now and then.

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
    verbose: bool = False

    _remedy = " (look for kernels that are nearly singular, or raise the prior)"

    _along_frames = False  # new samples are placed by the model, those that have a view too

    # ------------------------------------------------------------------------------------- fitting

    def _learn(self, X: KernelViews) -> None:
        self.view_scales_ = view_scales(X, rescale=bool(self.rescale))
        self.groups_ = X.components()
        _warn_of_gaps(self.groups_)
        seen = np.flatnonzero(self.groups_ >= 0)
        self._train, self._numbers = X, inverse(ordering(X).among(seen))
        views = [view for view in self._seen(X, seen) if len(view.v)]
        self.n_components_ = None if self.covariance == "full" else self._rank(views, len(seen))
        solved = self._solver().solve(views, len(seen), self.n_components_)
        self._record(solved.solution)
        model, self.n_evaluations_ = solved.model, solved.n_evaluations
        if self.groups_.max() > 0:
            model = model.decouple(self.groups_[seen])
        counted = self.covariance != "full" and self.n_components != "heldout"
        if counted and in_memory(X) and len(seen) <= CHECKED and self.status_ != Status.STOPPED.value:
            self._warn_of_excess(X)
        self.model_ = model.pad(seen, len(X))
        if isinstance(self.model_, LowRankPlusDiagonal):
            self._latents = self._latents_of(X, self.model_)
            self._frames, self._places = self._placed(X, self.model_, self._latents)

    def _solver(self) -> Solver:
        return Solver(
            self.covariance,
            self.algorithm,
            float(self.prior),
            self.dtype,
            self._tolerance(),
            int(self.max_iter),
            self.random_state,
            self._numbers,
            self._watch(),
        )

    def _tolerance(self) -> float:
        if self.dtype == "float32" and 0 < self.tol < 1e-6:
            warn(f"tol={self.tol:g} is finer than float32 can tell; 1e-6 is used instead")
            return 1e-6
        return float(self.tol)

    def _seen(self, X: KernelViews, samples: Array) -> list[Seen]:
        return seen_by(X, self.view_scales_, samples, self.dtype)

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
        problem, solver, point = self._part_problem(trial.part), self._solver(), None

        def complete(q: int) -> KernelViews:
            nonlocal point
            point = solver.widened(problem, point, q, tol=max(self.tol, 1e-5), max_iter=self.max_iter)
            return self._completed_part(trial.part, problem, point)

        self.heldout_curve_ = trial.curve(_rank.path(size), complete, PATIENCE)
        return int(least(self.heldout_curve_))

    def _warn_of_excess(self, X: KernelViews) -> None:
        """Warn if observed cells, hidden for once, are completed worse than by their mean."""
        trial, q = Trial.of(X, self.random_state), self.n_components_
        if not trial.n_hidden or q is None:
            return
        problem = self._part_problem(trial.part)
        point = self._solver().widened(problem, None, q, tol=max(self.tol, 1e-4), max_iter=CHECK_STEPS)
        error = trial.error(self._completed_part(trial.part, problem, point))
        mean = trial.error(MeanFill("blocks").fit_transform(trial.part))
        if error > mean:
            warn(
                f"with {q} components {trial.n_hidden} observed cells, hidden for a check, are completed "
                f"worse (relative error {error:.2g}) than by the mean ({mean:.2g}): the model fits what "
                "views do not share; try n_components='heldout', or fewer"
            )

    def _part_problem(self, part: KernelViews) -> Problem:
        seen = np.flatnonzero(self.groups_ >= 0)
        views = [view for view in self._seen(part, seen) if len(view.v)]
        return Problem.of(views, len(seen), float(self.prior), self.dtype)

    def _completed_part(self, part: KernelViews, problem: Problem, point: Point) -> KernelViews:
        """Kernels of which some cells are hidden, completed under the model of a point."""
        model = _fast.as_operator(problem, point).pad(np.flatnonzero(self.groups_ >= 0), len(part))
        frames, places = self._placed(part, model, self._latents_of(part, model))
        return part.completed(self._assembled(part, frames, places))

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
        return _full.filled(X, self._seen(X, np.arange(len(X))), self.view_scales_, self.model_)

    def _fill_rows(self, X: KernelViews) -> tuple[Mapping[str, Array | Operator], Mapping[str, Array]]:
        if isinstance(self.model_, LowRankPlusDiagonal):
            return super()._fill_rows(X)
        trained, views = self._fill(self._train), self._seen(self._train, np.arange(len(self._train)))
        Q = [np.asarray(trained[name]) / s for name, s in zip(X.names, self.view_scales_, strict=True)]
        return _full.filled_rows(X, views, self.view_scales_, self.model_, Q, float(self.prior))

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
