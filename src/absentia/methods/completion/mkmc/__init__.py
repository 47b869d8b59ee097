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
Q^(k)_vv   ``ViewKernel.Q``                     observed kernel, unit mean diagonal
M          ``model_``                           model kernel, an operator
W, psi     ``LowRankPlusDiagonal.W``, ``.d``    loadings, noise variances
S          ``S``                                mean of the completed kernels
=========  ===================================  ==================================

Algorithms
----------
``"paper"`` is in ``_imputation``; ``"fast"``, which lowers the same objective, in ``_low_rank`` (PCA and
factor analysis) and ``_imputation`` (full); ``_selection`` says which from which start.

Departures from the papers
--------------------------
* Each kernel is divided by its mean diagonal inside, and gets it back at the end: without that a view
  on a larger scale drowns the others.  Kernels of unit mean diagonal are left as they are, all of them
  with ``rescale=False``.
* Samples without any view are left out of the fit (their variance would drift towards the prior for
  ever) and come back uncorrelated, with the view's mean variance.
* Between groups of samples that no view ever sees together the model is set to zero; the data say
  nothing about it.
* A floor under the noise variances (see ``_low_rank.NOISE_FLOOR``).
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
from functools import cached_property
from typing import Any, Literal

import numpy as np

from absentia.core import (
    Array,
    LowRankPlusDiagonal,
    NonNegative,
    Operator,
    PDOperator,
    PositiveInt,
    RandomState,
    estimator,
    make_generator,
    warn,
)
from absentia.core.linalg import cholesky, invert_permutation, symmetrize
from absentia.core.optimize import Callback
from absentia.data import AbsenceWarning, KernelViews, order_for_learning, order_kernels
from absentia.methods.completion._base import Basis, Coordinates
from absentia.methods.completion.mkmc._coordinates import ViewMoments, locate_absent, locate_new
from absentia.methods.completion.mkmc._imputation import add_blocks, complete_kernels, complete_rows
from absentia.methods.completion.mkmc._low_rank import KernelForm, in_memory
from absentia.methods.completion.mkmc._selection import ModelSelection


@estimator
class MKMC(ModelSelection):
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
        counts those too and the completed rows can be far worse than the mean; ``"auto"`` and ``"heldout"``
        do not.  Beyond 4000 samples a random 4000 of them are counted on.
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
        Of the start beyond 500 samples, and of what ``"heldout"`` hides.
        None: the fixed seed 0.  What is drawn goes with the data, not with the order of samples or
        views.
    callback, verbose : callable or None, bool
        Gets a :class:`absentia.core.optimize.Progress` each iteration, True stops; lines on stderr.

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

    _linear_rows = False  # coordinates of new samples come from the model, of those that have a view too

    def _fit_model(self, X: KernelViews) -> None:
        self.groups_ = X.components()
        if not (self.groups_ >= 0).any():
            raise ValueError("no sample has any view; there is nothing to learn from")
        if self.covariance == "full" or self.algorithm == "paper":
            X.check_memory()
        # in an order that the data decide: the likelihood has several optima, and rounding must not choose
        names, order = _canonical_names_and_order(X)
        straight = names == X.names and np.array_equal(order, np.arange(len(X)))
        self._train: Any = X if straight else X.select(names)[np.ix_(order, order)]
        samples = np.flatnonzero(self.groups_[order] >= 0)
        self._positions = invert_permutation(order_kernels(self._train).among(samples))
        form, self.n_components_ = self._select_form(samples)
        _warn_of_groups(self.groups_, "what the views' means say" if form.center else "zero")
        views = [view for view in form.view_kernels(self._train, samples) if len(view.v)]
        model, solution, self.n_evaluations_ = self._solve(views, len(samples), self.n_components_)
        self._set_convergence(solution)
        del views, solution  # as large as several models
        if self.groups_.max() > 0:
            model = model.decouple(self.groups_[order[samples]])
        scales = dict(zip(names, form.scales, strict=True))
        self.center_, self.view_scales_ = form.center, np.array([scales[name] for name in X.names])
        self._train, self.model_ = X, model.pad(order[samples], len(X))

    @cached_property
    def _located(self) -> tuple[list[ViewMoments], list[Basis], list[Coordinates]]:
        """What views say of the factors, and where absent samples lie: in no file, as all of it follows."""
        assert isinstance(self.model_, LowRankPlusDiagonal)
        return locate_absent(self._require_training_kernels(), self._form, self.model_)

    @property
    def _bases(self) -> list[Basis] | None:  # type: ignore[override]
        return self._located[1] if isinstance(self.model_, LowRankPlusDiagonal) else None

    @property
    def _coordinates(self) -> list[Coordinates]:  # type: ignore[override]
        return self._located[2]

    @property
    def _form(self) -> KernelForm:
        return KernelForm(self.center_, self.view_scales_, self.dtype)

    def _find_coordinates(self, X: KernelViews) -> list[Coordinates]:
        assert isinstance(self.model_, LowRankPlusDiagonal)
        noise = float(self.model_.d[self.groups_ >= 0].mean()) if self.covariance == "pca" else None
        return locate_new(
            X, self.view_scales_, self.model_, *self._located[:2], prior=float(self.prior), noise=noise
        )

    # ------------------------------------------- an unrestricted model: its residual has no low rank

    def _fill(self, X: KernelViews) -> Mapping[str, Array | Operator]:
        if isinstance(self.model_, LowRankPlusDiagonal):
            return super()._fill(X)
        return complete_kernels(X, self._form.view_kernels(X), self.view_scales_, self.model_)

    def _fill_rows(self, X: KernelViews) -> tuple[Mapping[str, Array | Operator], Mapping[str, Array]]:
        if isinstance(self.model_, LowRankPlusDiagonal):
            return super()._fill_rows(X)
        completed, views = self._fill(self._train), self._form.view_kernels(self._train)
        Q = [np.asarray(completed[name]) / s for name, s in zip(X.names, self.view_scales_, strict=True)]
        return complete_rows(X, views, self.view_scales_, self.model_, Q, float(self.prior))

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
        X, rng = self._train, make_generator(random_state)
        views = list(
            zip(X.names, X.observed.T, self.view_scales_, self._form.centered_views(X), strict=True)
        )
        for _ in range(n):
            yield X.completed(
                {
                    name: _draw_kernel(
                        self.model_, X.block(name), present, scale, n_features, rng, center=center
                    )
                    for name, present, scale, center in views
                }
            )


def _canonical_names_and_order(X: KernelViews) -> tuple[tuple[str, ...], Array]:
    """Names of views and positions of samples in an order of their own; as they came if not in memory."""
    if not in_memory(X):
        return X.names, np.arange(len(X))
    views, order = order_for_learning(X)
    seen = tuple(X.names[v] for v in views)
    return (*seen, *(name for name in X.names if name not in seen)), order


def _warn_of_groups(groups: Array, level: str) -> None:
    if groups.max() > 0:
        sizes = np.bincount(groups[groups >= 0])
        shown = ", ".join(str(s) for s in sizes[:5]) + (", ..." if len(sizes) > 5 else "")
        warn(
            f"the samples fall into {len(sizes)} groups (of {shown}) that no view ever sees together; "
            f"nothing is known of kernel values between them, and they are set to {level}",
            AbsenceWarning,
        )


def _draw_kernel(
    model: PDOperator,
    Q: Array,
    present: Array,
    scale: float,
    n_features: int | None,
    rng: np.random.Generator,
    *,
    center: bool,
) -> Array:
    """A completed kernel: absent samples' features are drawn given the visible ones."""
    v, h = np.flatnonzero(present), np.flatnonzero(~present)
    m = max(n_features or 0, len(v), 1)
    values, vectors = np.linalg.eigh(symmetrize(np.asarray(Q, dtype=np.float64)))
    features = np.zeros((len(v), m))
    features[:, : len(v)] = vectors * np.sqrt(np.maximum(values, 0.0))
    mean = features.mean(axis=0) if center and len(v) else np.zeros(m)
    M_vh = model.block(v, h)
    A = model.principal(v).solve(M_vh)
    spread = symmetrize(model.block(h, h) - M_vh.T @ A)
    L = cholesky(spread, "conditional covariance") if len(h) else spread
    filled = mean + A.T @ (features - mean) + L @ rng.standard_normal((len(h), m)) * np.sqrt(scale / m)
    K = np.zeros((len(present), len(present)))
    add_blocks(K, v, h, Q, features @ filled.T, symmetrize(filled @ filled.T))
    return K
