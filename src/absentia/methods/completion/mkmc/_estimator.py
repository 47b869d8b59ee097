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
from numbers import Integral, Real
from typing import Any, Literal

import numpy as np
import scipy.sparse

from absentia.core import (
    Array,
    Callback,
    Completed,
    Dense,
    Descent,
    Gram,
    LowRankPlusDiagonal,
    NotPositiveDefiniteError,
    Operator,
    PDOperator,
    Point,
    RandomState,
    Scaled,
    Side,
    Sloped,
    Solution,
    Status,
    cholesky,
    generator,
    inverse,
    least,
    symmetrize,
    warn,
)
from absentia.data import AbsenceWarning, KernelViews, hide_some, ordering
from absentia.methods.base import Completer, IterativeMixin, Recipe, check_positive
from absentia.methods.completion.mkmc import _fast as mkmc_fast
from absentia.methods.completion.mkmc import _foldin as foldin
from absentia.methods.completion.mkmc import _full as mkmc_full
from absentia.methods.completion.mkmc import _paper as mkmc_paper
from absentia.methods.completion.mkmc import _rank as rank
from absentia.methods.completion.mkmc._covariance import PCA, Covariance, FactorAnalysis, Full
from absentia.methods.completion.mkmc._fast import EqualNoise, Noise, OwnNoise, Problem, Seen

#: Up to so many samples the best of three starts is taken: the objective has several minima.
SMALL = 500
#: One of them is where the papers' algorithm is after so many iterations.
HEAD_START = 5
#: From so many on, the first part of a fit is run in single precision, which costs half.
LARGE = 2000
#: Up to so many samples it is checked whether the components are too many, with so many steps at most.
CHECKED, CHECK_STEPS = 5000, 30


class MKMC(IterativeMixin, Completer):
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
        Called with a ``_loop.Progress`` after each iteration; returning True stops.

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

    _remedy = " (look for kernels that are nearly singular, or raise the prior)"

    recipes = {
        "mkmc-pca": Recipe({"covariance": "pca"}, "several views that share structure; the first to try"),
        "mkmc-fa": Recipe({"covariance": "fa"}, "the same when some samples are much noisier than others"),
        "mkmc-full": Recipe(
            {"covariance": "full"}, "few samples and many views; can follow noise", ("n_components",)
        ),
    }

    def __init__(
        self,
        covariance: Literal["pca", "fa", "full"] = "pca",
        *,
        n_components: int | Literal["gk", "kaiser", "heldout"] = "gk",
        prior: float = 1e-3,
        algorithm: Literal["fast", "paper"] = "fast",
        tol: float = 1e-6,
        max_iter: int = 500,
        dtype: Literal["float64", "float32"] = "float64",
        rescale: bool = True,
        random_state: RandomState = None,
        callback: Callback | None = None,
    ) -> None:
        self.covariance = covariance
        self.n_components = n_components
        self.prior = prior
        self.algorithm = algorithm
        self.tol = tol
        self.max_iter = max_iter
        self.dtype = dtype
        self.rescale = rescale
        self.random_state = random_state
        self.callback = callback

    # ------------------------------------------------------------------------------------- fitting

    def _learn(self, X: KernelViews) -> None:
        self._check_parameters()
        check_positive(X)
        self.view_scales_ = _view_scales(X, rescale=bool(self.rescale))
        self.groups_ = X.components()
        _warn_of_gaps(X, self.groups_)
        seen = np.flatnonzero(self.groups_ >= 0)
        self._ordering, self._train = ordering(X), X
        self._numbers = inverse(self._ordering.among(seen))
        views = [view for view in self._seen(X, seen) if len(view.v)]
        self.n_components_ = None if self.covariance == "full" else self._rank(views, len(seen))
        model = self._fit_model(views, len(seen))
        if self.groups_.max() > 0:
            model = model.decouple(self.groups_[seen])
        counted = self.covariance != "full" and self.n_components != "heldout"
        near = all(isinstance(X.operator(name), Dense | Gram) for name in X.names)
        if counted and near and len(seen) <= CHECKED and self.status_ != Status.STOPPED.value:
            self._warn_of_excess(len(seen))
        self.model_ = model.pad(seen, len(X))

    def _seen(self, X: KernelViews, samples: Array) -> list[Seen]:
        """Each view's scaled kernel with its samples' positions among `samples`."""
        return [
            Seen(_scaled(X.operator(name), scale, np.dtype(self.dtype)), np.flatnonzero(present))
            for name, scale, present in zip(X.names, self.view_scales_, X.observed[samples].T, strict=True)
        ]

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
            paper = _papers_problem(views, size, float(self.prior), np.dtype(self.dtype))
            slow = mkmc_paper.solve_paper(paper, self._family(), **options)
            self._record(slow)
            self.n_evaluations_ = slow.n_iter
            return slow.state.model
        solution: Solution[Descent[Sloped]]
        if self.covariance == "full":
            problem = Problem.of(merged(views), size, float(self.prior), self.dtype)
            solution = mkmc_full.solve_full(problem, **options)
            model: PDOperator = mkmc_full.as_operator(problem, solution.state.at.point)
        else:
            problem, solution = self._best_solution(views, size, options)
            model = mkmc_fast.as_operator(problem, solution.state.at.point)
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
        if size < LARGE or problem.dtype == np.float32 or not self.tol or _factors(problem):
            return problem, mkmc_fast.solve_fast(problem, noise, self._start(problem), **options)
        single = problem.in_single_precision()
        rough = {**options, "tol": max(options["tol"], 3e-6)}
        before = mkmc_fast.solve_fast(single, noise, self._start(single), **rough).state
        return problem, mkmc_fast.solve_fast(problem, noise, before.at.point, **options, before=before)

    def _start(self, problem: Problem, rescale: bool = True) -> Point:
        assert self.n_components_ is not None
        return mkmc_fast.start(
            problem,
            self._noise(),
            self.n_components_,
            self._rng(),
            rescale=rescale,
            numbers=self._numbers,
        )

    def _starts(self, problem: Problem, views: list[Seen]) -> Iterator[Point]:
        yield self._start(problem)
        yield self._start(problem, rescale=False)
        paper = _papers_problem(views, problem.size, problem.eps, problem.dtype)
        with suppress(NotPositiveDefiniteError):  # nearly singular kernels without a prior
            model = mkmc_paper.solve_paper(paper, self._family(), tol=0, max_iter=HEAD_START).state.model
            assert isinstance(model, LowRankPlusDiagonal)
            yield mkmc_fast.as_point(problem, self._noise(), model)

    def _best_of_starts(
        self, problem: Problem, starts: Iterator[Point], options: dict[str, Any]
    ) -> Solution[Descent[Sloped]]:
        runs = []
        for first in starts:
            runs.append(mkmc_fast.solve_fast(problem, self._noise(), first, **options))
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

    def _rng(self) -> np.random.Generator:
        return generator(self.random_state)

    def _tolerance(self) -> float:
        if self.dtype == "float32" and 0 < self.tol < 1e-6:
            warn(f"tol={self.tol:g} is finer than float32 can tell; 1e-6 is used instead")
            return 1e-6
        return float(self.tol)

    def _check_parameters(self) -> None:
        families, algorithms = ("pca", "fa", "full"), ("fast", "paper")
        if self.covariance not in families:
            raise ValueError(f"covariance must be one of {families}, not {self.covariance!r}")
        if self.algorithm not in algorithms:
            raise ValueError(f"algorithm must be one of {algorithms}, not {self.algorithm!r}")
        if not isinstance(self.prior, Real) or not 0 <= self.prior < np.inf:
            raise ValueError(f"prior must be a finite number, not negative; got {self.prior!r}")
        if not isinstance(self.tol, Real) or not 0 <= self.tol < np.inf:
            raise ValueError(f"tol >= 0 is wanted; got {self.tol!r}")
        if not isinstance(self.max_iter, Integral) or self.max_iter < 1:
            raise ValueError(f"max_iter >= 1 is wanted, a whole number; got {self.max_iter!r}")
        if self.dtype not in ("float64", "float32"):
            raise ValueError(f"dtype must be 'float64' or 'float32', not {self.dtype!r}")

    # ----------------------------------------------------------------------- number of components

    def _rank(self, views: list[Seen], size: int) -> int:
        q = self.n_components
        if size < 2:
            raise ValueError(f"{size} sample(s) with a view; a low-rank model needs at least 2")
        if isinstance(q, str):
            if q == "heldout":
                return self._rank_by_hiding(size)
            if q not in ("gk", "kaiser"):
                raise ValueError(f"n_components must be a number, 'gk', 'kaiser' or 'heldout', not {q!r}")
            return rank.by_rule(views, size, q, self._rng(), inverse(self._numbers))
        if not isinstance(q, Integral) or not 1 <= q < size:
            raise ValueError(f"n_components={q} for {size} samples; wanted 1 to {size - 1}")
        return int(q)

    def _rank_by_hiding(self, size: int) -> int:
        """The rank that best completes a tenth of each view's samples, hidden for the purpose."""
        trial, point = self._trial(size), None
        self.heldout_curve_ = {}
        if not trial.scored:
            return self._rank_without_hiding(size)

        def error(q: int) -> float:
            nonlocal point
            first = mkmc_fast.widened(trial.problem, self._noise(), point, q, self._rng(), self._numbers)
            solution = mkmc_fast.solve_fast(
                trial.problem, self._noise(), first, tol=max(self.tol, 1e-5), max_iter=self.max_iter
            )
            point = solution.state.at.point
            return trial.error(mkmc_fast.as_operator(trial.problem, point))

        self.heldout_curve_ = rank.best_on_path(rank.path(size), error)
        return int(least(self.heldout_curve_))

    def _trial(self, size: int) -> rank.Trial:
        """A tenth of each view's samples hidden."""
        seen = np.flatnonzero(self.groups_ >= 0)
        keep = hide_some(self._train, 0.1, self._rng(), self._ordering)[seen]
        return rank.Trial.of(self._seen(self._train, seen), keep, size, float(self.prior), self.dtype)

    def _warn_of_excess(self, size: int) -> None:
        """Warn if observed cells, hidden for once, are completed worse than by their mean."""
        trial, q = self._trial(size), self.n_components_
        assert q is not None
        if not trial.scored:
            return
        first = mkmc_fast.start(trial.problem, self._noise(), q, self._rng(), numbers=self._numbers)
        solution = mkmc_fast.solve_fast(
            trial.problem, self._noise(), first, tol=max(self.tol, 1e-4), max_iter=CHECK_STEPS
        )
        error, mean = (
            trial.error(mkmc_fast.as_operator(trial.problem, solution.state.at.point)),
            trial.mean_error(),
        )
        if error > mean:
            warn(
                f"with {q} components {trial.n_hidden} observed cells, hidden for a check, are completed "
                f"worse (relative error {error:.2g}) than by the mean ({mean:.2g}): the model fits what "
                "views do not share; try n_components='heldout', or fewer"
            )

    def _rank_without_hiding(self, size: int) -> int:
        """By counting, where no sample has two views and none can be hidden."""
        warn(
            "n_components='heldout': no sample has a view to spare, so that nothing can be hidden to "
            "choose by; n_components='gk' is used instead",
            AbsenceWarning,
        )
        views = self._seen(self._train, np.flatnonzero(self.groups_ >= 0))
        return rank.by_rule([x for x in views if len(x.v)], size, "gk", self._rng(), inverse(self._numbers))

    # ------------------------------------------------------------------------- completed kernels

    def _fill(self, X: KernelViews) -> Mapping[str, Array | Operator]:
        everyone = np.arange(len(X))
        if isinstance(self.model_, LowRankPlusDiagonal):
            return {
                name: _completed(X.operator(name), scale, self.model_, view)
                for name, scale, view in zip(
                    X.names, self.view_scales_, self._seen(X, everyone), strict=True
                )
            }
        kernels = {}
        for name, scale, view in zip(X.names, self.view_scales_, self._seen(X, everyone), strict=True):
            visible = mkmc_paper.Visible(Dense(view.Q.to_dense()), view.v, np.setdiff1d(everyone, view.v))
            Q_vh, Q_hh = mkmc_paper.impute(visible, self.model_, self.model_.principal(view.v))
            K = np.empty(X.shape)
            K[np.ix_(view.v, view.v)] = X.block(name)
            K[np.ix_(view.v, visible.h)] = scale * Q_vh
            K[np.ix_(visible.h, view.v)] = scale * Q_vh.T
            K[np.ix_(visible.h, visible.h)] = scale * Q_hh
            kernels[name] = K
        return kernels

    # ------------------------------------------------------------------------------- new samples

    def _fill_rows(self, X: KernelViews) -> tuple[Mapping[str, Array | Operator], Mapping[str, Array]]:
        if isinstance(self.model_, LowRankPlusDiagonal):
            return self._fill_rows_low_rank(X, self.model_)
        return self._fill_rows_full(X)

    def _fill_rows_low_rank(
        self, X: KernelViews, model: LowRankPlusDiagonal
    ) -> tuple[dict[str, Operator], dict[str, Array]]:
        """Fold each new sample into the latent space, then treat it as any other sample."""
        everyone = np.arange(len(self._train))
        seen = self._seen(self._train, everyone)
        F = model.W / model.d[:, None]
        old = [foldin.Latent.of(view, F, model) for view in seen]
        rows = []
        for v, name in enumerate(X.names):
            scale = self.view_scales_[v]
            A = np.zeros((len(X), model.W.shape[1]))
            own = np.zeros(len(X))
            A[X.observed[:, v]] = (X.operator(name) @ F[seen[v].v]) / scale
            own[X.observed[:, v]] = X.diagonal(name) / scale
            rows.append(foldin.Row(A, own, X.observed[:, v]))
        noise = float(model.d[self.groups_ >= 0].mean()) if self.covariance == "pca" else None
        w, d, G = foldin.fold_in(old, rows, foldin.Latent.of_prior(F, model), float(self.prior), noise)
        blocks: dict[str, Operator] = {}
        diagonals: dict[str, Array] = {}
        for v, (name, scale) in enumerate(zip(X.names, self.view_scales_, strict=True)):
            known, filled = np.flatnonzero(X.observed[:, v]), np.flatnonzero(~X.observed[:, v])
            train_filled = np.setdiff1d(everyone, seen[v].v)
            columns = Side(seen[v].v, train_filled, scale * old[v].G, model.W[train_filled])
            nothing = scipy.sparse.csr_array((len(X), len(everyone)))
            side = Side(known, filled, scale * G[v][known], w[filled])
            blocks[name] = Completed(X.operator(name), side, columns, scale * old[v].E, nothing)
            diagonals[name] = scale * (d + np.einsum("ij,jk,ik->i", w, old[v].E, w))
            diagonals[name][known] = X.diagonal(name)
        return blocks, diagonals

    def _fill_rows_full(self, X: KernelViews) -> tuple[dict[str, Array], dict[str, Array]]:
        """A new sample is a combination of the training samples, see :func:`foldin.combine`."""
        trained = self._fill(self._train)
        Q = [np.asarray(trained[name]) / s for name, s in zip(X.names, self.view_scales_, strict=True)]
        q, own = self._completed_visible_rows(X)
        rows, values = foldin.combine(Q, q, own, X.observed, self.model_, float(self.prior))
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
            visible = X.block(name) / scale
            A = self.model_.principal(view.v).solve(self.model_.block(view.v, h))
            full[np.ix_(present, view.v)] = visible
            full[np.ix_(present, h)] = visible @ A
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


# ------------------------------------------------------------------------------------- small pieces


def draw(
    model: PDOperator,
    Q: Array,
    present: Array,
    scale: float,
    n_features: int | None,
    rng: np.random.Generator,
) -> Array:
    """One completed kernel: absent samples' features drawn given the visible ones."""
    v, h = np.flatnonzero(present), np.flatnonzero(~present)
    m = max(n_features or 0, len(v), 1)
    values, vectors = np.linalg.eigh(symmetrize(np.asarray(Q, dtype=np.float64)))
    features = np.zeros((len(v), m))
    features[:, : len(v)] = vectors * np.sqrt(np.maximum(values, 0.0))
    M_vh = model.block(v, h)
    A = model.principal(v).solve(M_vh)
    spread = symmetrize(model.block(h, h) - M_vh.T @ A)
    L = cholesky(spread, "conditional covariance") if len(h) else spread
    filled = A.T @ features + L @ rng.standard_normal((len(h), m)) * np.sqrt(scale / m)
    K = np.empty((len(present), len(present)))
    K[np.ix_(v, v)] = Q
    K[np.ix_(v, h)] = features @ filled.T
    K[np.ix_(h, v)] = K[np.ix_(v, h)].T
    K[np.ix_(h, h)] = symmetrize(filled @ filled.T)
    return K


def merged(views: list[Seen]) -> list[Seen]:
    """Views that see the same samples become one: their kernels only ever appear as a sum."""
    groups: dict[bytes, list[Seen]] = {}
    for view in views:
        groups.setdefault(view.v.tobytes(), []).append(view)
    result = []
    for group in groups.values():
        if len(group) > 1 and _in_memory(group):
            total = sum(view.Q.to_dense() for view in group)
            result.append(Seen(Dense(np.asarray(total)), group[0].v, sum(view.weight for view in group)))
        else:
            result += group
    return result


def _papers_problem(
    views: Sequence[Seen], size: int, eps: float, dtype: np.dtype[Any]
) -> mkmc_paper.Problem:
    """The same problem as the papers' algorithm wants it: every kernel an array, hidden samples listed."""
    everyone = np.arange(size)
    visible = [
        mkmc_paper.Visible(Dense(view.Q.to_dense()), view.v, np.setdiff1d(everyone, view.v))
        for view in views
    ]
    return mkmc_paper.Problem(visible, size, eps, dtype)


def _factors(problem: Problem) -> bool:
    """Whether some kernel is given by factors, of which no second copy is made."""
    return any(hasattr(getattr(view.Q, "operator", view.Q), "left") for view in problem.views)


def _in_memory(views: Sequence[Seen]) -> bool:
    """Whether all kernels are plain arrays: not factors, not chunks elsewhere."""
    inside = (view.Q.operator if isinstance(view.Q, Scaled) else view.Q for view in views)
    return all(isinstance(operator, Dense) for operator in inside)


def _scaled(operator: Operator, scale: float, dtype: np.dtype[Any]) -> Operator:
    """The kernel divided by `scale`, which comes before single precision: that holds fewer magnitudes."""
    if isinstance(operator, Dense) and operator.dtype != dtype:
        return Dense((operator.A / scale).astype(dtype))
    operator = operator.astype(dtype)
    return operator if scale == 1.0 else Scaled(operator, 1.0 / scale)


def _completed(Q: Operator, scale: float, model: LowRankPlusDiagonal, view: Seen) -> Completed:
    """The completed kernel of a view as an operator; the observed block is `Q` itself."""
    h = np.setdiff1d(np.arange(len(model.d)), view.v)
    latent = foldin.Latent.of(view, model.W / model.d[:, None], model)
    return Completed.square(
        Q, view.v, h, scale * latent.G, model.W[h], scale * latent.E, scale * model.d[h]
    )


def _view_scales(X: KernelViews, *, rescale: bool) -> Array:
    """Mean diagonal of each observed kernel; one for a view nobody has, and for all without `rescale`."""
    scales = np.ones(X.n_views)
    for v, name in enumerate(X.names):
        diagonal = X.diagonal(name)
        if len(diagonal):
            scale = diagonal.mean(dtype=np.float64)
            if not scale > 0:
                raise ValueError(f"view {name!r}: the kernel is zero for every sample; leave the view out")
            scales[v] = scale if rescale else 1.0
    return scales


def _warn_of_gaps(X: KernelViews, groups: Array) -> None:
    X.warn_of_absence()
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
