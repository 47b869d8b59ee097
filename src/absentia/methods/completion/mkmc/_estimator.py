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
* Of singular kernels there is no likelihood without the prior, and of equal eigenvalues no leading ones.
  On kernels of fewer features than samples the prior decides in many directions, and so weakly that where
  the objective seems to stand still the model does not: noise of 1e-14 moved completed kernels by 1e-2.
  With ``"full"``, and up to 500 samples with ``"fa"``, the fast algorithm therefore goes on until the
  preconditioned gradient is shorter than 1e-8, for at most 1000 steps; the same noise then moves them by
  less than 1e-6.
  On constant views, kernels of rank one and identities, what is completed still follows the noise in them.
* (19) is used for S_zz; (34) of the long version lacks its ``I - B W``.
"""

from collections.abc import Iterator, Mapping
from dataclasses import KW_ONLY
from typing import Literal

import numpy as np

from absentia.core import (
    Array,
    Callback,
    LowRankPlusDiagonal,
    NonNegative,
    Operator,
    PositiveInt,
    RandomState,
    Status,
    estimator,
    generator,
    inverse,
    warn,
)
from absentia.data import AbsenceWarning, KernelViews, ordering
from absentia.methods.completion._subspace import Coordinates
from absentia.methods.completion.mkmc import _foldin, _full, _views
from absentia.methods.completion.mkmc._foldin import draw
from absentia.methods.completion.mkmc._selection import CHECKED, Choosing
from absentia.methods.completion.mkmc._views import in_memory


@estimator
class MKMC(Choosing):
    """Mutual kernel matrix completion: one model kernel behind all views fills what is missing.

    Every completed kernel keeps its observed block to the last bit and is positive definite (if the
    observed block is; otherwise positive semidefinite).

    Parameters
    ----------
    covariance : {"pca", "fa", "full"}, default "pca"
        ``"pca"``: low rank plus equal noise; ``"fa"``: low rank plus each sample's own noise;
        ``"full"``: any kernel, flexible and prone to follow the data too closely.
    n_components : int, "auto", "gk", "kaiser" or "heldout", default "auto"
        Rank of the low-rank part (pca and fa).  ``"auto"`` hides a tenth of each view's observed samples
        and takes, of 2, 4, 8, ... and the number that ``"gk"`` counts, the one with which a short run
        completes them best (errors are kept in ``heldout_curve_``; larger ones are not tried after three
        in a row that are worse, or one that is worse by a quarter); what only one view has is then not
        counted.  With the papers' algorithm, beyond 5000 samples and out of memory it is ``"gk"``.
        ``"gk"`` (Guttman-Kaiser) counts the eigenvalues above
        their mean, ``"kaiser"`` those above one (by more than 1e-6 of it, either way), once, before the
        first iteration, of the mean of the zero-filled kernels, which is the papers' first model; they
        do not say which matrix they count on.  Zeros inflate the count (mfeat, half hidden: 56 to 58,
        without anything hidden 40), and on such kernels that completes better than fewer.  Kernels are
        brought to unit mean diagonal before, so that neither rule depends on their scale; with
        ``rescale=False`` Kaiser's does.  Where views have strong factors of their own, either rule
        counts those too and the completed rows can be far worse than the mean.  To find out, up to 5000
        samples in memory, a tenth of each view's observed samples (of 1000 drawn at random, or ten for
        each component) is hidden once and completed by a short run with as many components; if mean
        fill does better a warning says so, and ``"heldout"`` is the better choice.  Beyond 4000 samples
        a random 4000 of them are counted on.
        ``"heldout"`` hides a tenth of each view's samples, makes short runs along a finer path of ranks,
        left in the same way, and takes the one that completes the hidden rows best (relative Frobenius
        error; kept in ``heldout_curve_``); of ranks within rounding the lowest.
    center : bool or "auto", default "auto"
        Take each kernel about the mean of the samples that have the view, complete it there, and put the
        mean back: absent samples of which nothing is known then lie at the mean and not at the origin.
        The papers' form is False.  ``"auto"`` chooses by hiding, together with ``n_components="auto"``;
        beside any other `n_components` it is False.  Not with ``"full"``.
    prior : float, default 1e-3
        Weight of the identity kernel as one more, fully observed view.  Keeps the model away from
        singular; the papers use 1e-3.
    algorithm : {"fast", "paper"}, default "fast"
        ``"fast"`` never imputes while fitting and accelerates; ``"paper"`` is the papers' iteration, one
        full imputation and eigendecomposition at a time.  Both lower the same objective.
    tol : float, default 1e-6
        Stop when the objective's relative change falls below; 0 runs all iterations.
    max_iter : int, default 2000
        Stop after so many iterations at the latest if the objective has not converged by then.  Where it
        has, up to 1000 more bring the model itself to rest (fast ``"full"``, and ``"fa"`` to 500 samples).
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
    center_ : bool
        Whether kernels were taken about their means.
    n_evaluations_ : int
        Number of E-steps: with ``"fast"`` mostly one per iteration.
    heldout_curve_ : dict
        Error by rank, for ``n_components="auto"`` and ``"heldout"``.
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
    n_components: PositiveInt | Literal["auto", "gk", "kaiser", "heldout"] = "auto"
    center: bool | Literal["auto"] = "auto"
    prior: NonNegative = 1e-3
    algorithm: Literal["fast", "paper"] = "fast"
    tol: NonNegative = 1e-6
    max_iter: PositiveInt = 2000
    dtype: Literal["float64", "float32"] = "float64"
    rescale: bool = True
    random_state: RandomState = None
    callback: Callback | None = None
    verbose: bool = False

    def _check(self) -> None:
        if self.covariance == "full" and self.center is True:
            raise ValueError("center=True with covariance='full': only 'pca' and 'fa' can be centred")

    _remedy = " (look for kernels that are nearly singular, or raise the prior)"

    _along_bases = False  # new samples are placed by the model, those that have a view too

    # ------------------------------------------------------------------------------------- fitting

    def _learn(self, X: KernelViews) -> None:
        self.groups_ = X.components()
        if not (self.groups_ >= 0).any():
            raise ValueError("no sample has any view; there is nothing to learn from")
        seen = np.flatnonzero(self.groups_ >= 0)
        self._train, self._numbers = X, inverse(ordering(X).among(seen))
        self._choose_form(X, seen)
        _warn_of_gaps(self.groups_, "what the views' means say" if self.center_ else "zero")
        views = [view for view in self._seen(X, seen) if len(view.v)]
        solved_rounds = self._solver().solve(views, len(seen), self.n_components_)
        self._record(solved_rounds.solution)
        model, self.n_evaluations_ = solved_rounds.model, solved_rounds.n_evaluations
        if self.groups_.max() > 0:
            model = model.decouple(self.groups_[seen])
        counted = self.covariance != "full" and self.n_components not in ("auto", "heldout")
        if counted and in_memory(X) and len(seen) <= CHECKED and self.status_ != Status.STOPPED.value:
            self._warn_of_excess(X)
        self.model_ = model.pad(seen, len(X))
        if isinstance(self.model_, LowRankPlusDiagonal):
            self._latents = self._latents_of(X, self.model_)
            self._bases, self._coordinates = self._locate_absent(X, self.model_, self._latents)

    # ------------------------------------------------------------------------- completed kernels

    def _find_coordinates(self, X: KernelViews) -> list[Coordinates]:
        """Fold each new sample into the latent space, then treat it as any other sample."""
        model, scales = self.model_, self.view_scales_
        assert isinstance(model, LowRankPlusDiagonal)
        F = model.W / model.d[:, None]
        rows, levels = [], []
        for v, (name, scale) in enumerate(zip(X.names, scales, strict=True)):
            present, old, K = X.observed[:, v], self._observed[:, v], X.operator(name)
            A, own, level = np.zeros((len(X), F.shape[1])), np.zeros(len(X)), None
            if self._bases[v].G.shape[1] > F.shape[1]:  # the mean sample is its first axis
                A[present], own[present], level = _views.rows_about_mean(
                    K, X.diagonal(name), F[old], self._bases[v]
                )
            else:
                A[present], own[present] = K @ F[old], X.diagonal(name)
            rows.append(_foldin.Row(A / scale, own / scale, present))
            levels.append(level)
        noise = float(model.d[self.groups_ >= 0].mean()) if self.covariance == "pca" else None
        prior = _foldin.Latent.of_prior(F, model)
        w, d, G = _foldin.fold_in(self._latents, rows, prior, float(self.prior), noise)
        coordinates = []
        for v, (scale, present, level) in enumerate(zip(scales, X.observed.T, levels, strict=True)):
            position = Coordinates(w[~present], scale * d[~present], scale * G[v][present])
            coordinates.append(
                position if level is None else _views.from_mean(position, self._bases[v], level)
            )
        return coordinates

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
        about = _views.have_spread(X) if self.center_ else [False] * X.n_views
        for _ in range(n):
            yield X.completed(
                {
                    name: draw(
                        self.model_, X.block(name), present, scale, n_features, rng, about_mean=moved
                    )
                    for name, present, scale, moved in zip(
                        X.names, X.observed.T, self.view_scales_, about, strict=True
                    )
                }
            )


def _warn_of_gaps(groups: Array, level: str) -> None:
    if groups.max() > 0:
        sizes = np.bincount(groups[groups >= 0])
        shown = ", ".join(str(s) for s in sizes[:5]) + (", ..." if len(sizes) > 5 else "")
        warn(
            f"the samples fall into {len(sizes)} groups (of {shown}) that no view ever sees together; "
            f"nothing is known of kernel values between them, and they are set to {level}",
            AbsenceWarning,
        )
