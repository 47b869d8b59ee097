"""Survival from incomplete views: ridge Cox regression on completed kernels, or one per view, fused.

``combine="average"``: kernels of the views are completed, averaged and brought to unit length, and one Cox
model (``_cox``) is fitted to the sum.

``combine="fusion"``: one Cox model for each view, on the samples that have it, nothing completed.  A view's
risks are divided by the spread that they have out of fold; a sample's risk is their mean over the views
that it has, weighted by how far the view's out-of-fold concordance is above one half.  What comes out is
brought to the scale of log-hazards by a Cox model of one coefficient on the fused out-of-fold risks.

Who has which view is one more kernel in both (``_prepared``), unless told otherwise.

Nothing of it hangs on the order in which samples and views came: both are first brought into an order of
their own, in which the folds that choose `alpha` are cut.
"""

from dataclasses import KW_ONLY
from typing import Any, Literal, NamedTuple, Self

import numpy as np

from absentia.core import Array, Positive, RandomState, estimator, serializable, suited_to, warn
from absentia.data import KernelViews, folds
from absentia.data.survival import Survival, as_survival, concordance_index
from absentia.kernels import CombineKernels
from absentia.methods.learning import Either, Learner, warn_of_empty
from absentia.methods.prediction._arranging import Arrangement
from absentia.methods.prediction._assembled import either
from absentia.methods.prediction._cox import (
    Cox,
    Likelihood,
    Searched,
    Ties,
    fit_cox,
    minimise,
    search,
    survival_at,
)
from absentia.methods.prediction._prepared import Prepared, check_per_view

GRID = 10.0 ** np.linspace(-2, 3, 11)
FOLDS = 5
USUAL = 10.0  # where one event leaves nothing to choose by


def searched(K: Array, y: Survival, alpha: float | None, ties: Ties, random_state: RandomState) -> Searched:
    """The penalty, `alpha` or the best of :data:`GRID`, and risks out of fold; folds have their events."""
    k = min(FOLDS, int(y.event.sum()), len(K) - 1)
    if k < 2:
        return Searched(USUAL if alpha is None else alpha, np.full(len(GRID), np.nan), np.zeros(len(K)))
    parts = folds(np.arange(len(K)), y.event, k, random_state)
    return search(K, y, GRID if alpha is None else np.array([alpha]), parts, ties)


# ------------------------------------------------------------------------------------------- two ways


@serializable
class Averaged(NamedTuple):
    """One model on the combined kernel."""

    combines: CombineKernels
    cox: Cox

    @classmethod
    def learn(cls, X: KernelViews, y: Survival, options: "Options") -> tuple[Self, Array]:
        """From complete kernels, or incomplete ones in which absent is zero; and the penalty."""
        combines = CombineKernels()
        K = np.asarray(combines.fit_transform(X))
        alpha, curve, _ = (
            searched(K, y, None, options.ties, options.random_state)
            if options.alpha is None
            else Searched(options.alpha, np.zeros(0), np.zeros(0))
        )
        return cls(combines, fit_cox(K, y, alpha, options.ties)), np.array([alpha, *curve])

    def risk(self, X: KernelViews) -> Array:
        """Log-risks of new samples."""
        return self.cox.risk(np.asarray(self.combines.transform(X)))

    @property
    def baseline(self) -> tuple[Array, Array]:
        """Times, and the cumulative hazard of a sample with log-risk 0."""
        return self.cox.times, self.cox.hazard


class Options(NamedTuple):
    """How to fit; `alpha` None: to be chosen."""

    alpha: float | None
    ties: Ties
    random_state: RandomState


@serializable
class Fused(NamedTuple):
    """A model for each view, how much each counts, and the scale of what they say together."""

    models: tuple[Cox | None, ...]
    alphas: Array
    concordances: Array  # out of fold, 0.5 where a view has no model
    weights: Array
    spreads: Array
    slope: float
    times: Array
    hazard: Array

    @classmethod
    def learn(cls, X: KernelViews, y: Survival, options: Options) -> Self:
        """From incomplete kernels."""
        models: list[Cox | None] = []
        alphas, concordances = np.full(X.n_views, np.nan), np.full(X.n_views, 0.5)
        held_out = np.zeros(X.observed.shape)
        for v, name in enumerate(X.names):
            has = X.observed[:, v]
            own = Survival(y.time[has], y.event[has])
            if own.event.sum() < 2:
                models.append(None)
                continue
            K = np.asarray(X.block(name))
            found = searched(K, own, options.alpha, options.ties, options.random_state)
            models.append(fit_cox(K, own, found.alpha, options.ties))
            alphas[v], held_out[has, v] = found.alpha, found.risk
            concordances[v] = _concordance(own, found.risk)
        weights = np.maximum(concordances - 0.5, 0.0)
        spreads = np.array([held_out[has, v].std() for v, has in enumerate(X.observed.T)])
        together = fused(held_out, X.observed, weights, spreads)
        likelihood = Likelihood.of(y, options.ties)
        # a slope brings risks back to the scale of log-hazards; below zero they say nothing
        slope = max(float(minimise(together[:, None], likelihood, 1.0).state.w[0]), 0.0)
        times, hazard = likelihood.hazard(slope * together)
        return cls(tuple(models), alphas, concordances, weights, spreads, slope, times, hazard)

    def risk(self, X: KernelViews) -> Array:
        """Log-risks of new samples."""
        risks = np.zeros(X.observed.shape)
        for v, (name, cox) in enumerate(zip(X.names, self.models, strict=True)):
            if cox is not None:
                risks[X.observed[:, v], v] = cox.risk(np.asarray(X.block(name)))
        return self.slope * fused(risks, X.observed, self.weights, self.spreads)

    @property
    def baseline(self) -> tuple[Array, Array]:
        """Times, and the cumulative hazard of a sample with log-risk 0."""
        return self.times, self.hazard


def _concordance(y: Survival, risk: Array) -> float:
    try:
        return concordance_index(y.time, y.event, risk)
    except ValueError:  # nobody to compare
        return 0.5


def fused(risks: Array, observed: Array, weights: Array, spreads: Array) -> Array:
    """Risks in units of their spread, averaged over the views that each sample has; 0 without any."""
    units = np.where(spreads > 0, spreads, 1.0)
    counts = observed * weights
    total = counts.sum(axis=1)
    return np.asarray((counts * risks / units).sum(axis=1) / np.where(total > 0, total, 1.0))


# ------------------------------------------------------------------------------------------ estimator


@estimator
class AbsentSurvival(Learner):
    """When something will happen, from the views that a sample has: ridge Cox regression on kernels.

    ``fit`` takes :class:`Views` or square :class:`KernelViews`, and times with events in any form that
    :func:`absentia.survival.as_survival` knows.

    Parameters
    ----------
    completer : str, completer or None, default "cvkt"
        What completes the kernels: a name of the catalogue, a completer, or None to leave absent views out
        of the average (they count as zero).  Only for ``combine="average"``.
    kernel : str or ViewKernels, default "rbf"
        How kernels are made of features.  ``"precomputed"`` says that kernels will come, so that
        scikit-learn splits rows and columns.
    combine : {"average", "fusion"}, default "average"
        One model on the average of the completed kernels, or one model for each view, on the samples that
        have it, with risks averaged over the views that a sample has.
    alpha : float or "cv", default "cv"
        Strength of the penalty ``alpha / 2 |w|^2`` beside the log partial likelihood (a sum over events),
        the kernels having unit diagonals; ``"cv"`` chooses it by cross-validated partial likelihood.
    ties : {"breslow", "efron"}, default "breslow"
        What events at the same time do to the likelihood.
    presence : bool, default True
        Let who has which view count, as one more kernel beside those of the views (none if nobody lacks
        anything).  Who was examined often tells about risk; set it to False where samples to come are
        examined by other rules.
    random_state : int, Generator, RandomState or None
        Of the folds that choose `alpha`, and of the completer; None: the fixed seed 0.

    Attributes
    ----------
    event_times_ : ndarray
        Times at which something happened in training.
    alpha_ : float, or dict by view
        The penalty; with ``combine="fusion"`` of each view.
    alpha_curve_ : ndarray of shape (11,)
        Cross-validated log partial likelihood for 0.01 to 1000, where `alpha` was chosen for the average.
    concordances_, weights_ : dict
        With ``combine="fusion"``, the out-of-fold concordance and the weight of each view, and of
        ``"presence"``.
    names_in_ : tuple of str
    ids_ : ndarray

    Examples
    --------
    >>> import numpy as np
    >>> from absentia import AbsentSurvival, Views
    >>> rng = np.random.default_rng(0)
    >>> x = rng.normal(size=(60, 3))
    >>> views = Views.from_list([x, x**2], observed=np.arange(60)[:, None] < [60, 40])
    >>> y = np.column_stack([rng.exponential(np.exp(-2 * x[:, 0])), rng.random(60) < 0.7])
    >>> model = AbsentSurvival().fit(views, y)
    >>> model.predict(views[:2]).shape, model.predict_survival_function(views[:2], [0.5]).shape
    ((2,), (2, 1))
    """

    completer: None | str | Any = "cvkt"  # noqa: RUF036 - a text is read as the first that it can be
    _: KW_ONLY
    kernel: Any = "rbf"
    combine: Literal["average", "fusion"] = "average"
    alpha: Positive | Literal["cv"] = "cv"
    ties: Ties = "breslow"
    presence: bool = True
    random_state: RandomState = None

    @property
    def _input(self) -> Either:
        return either(self.kernel)

    def fit(self, X: Any, y: Any) -> Self:
        """Learn from the training samples (kernels: square) and their times and events."""
        self._check_parameters()
        X = self._input.check(X, self)
        y = as_survival(y, X)
        warn_of_empty(X)
        usable = X.observed.any(axis=1)
        if not y.event[usable].any():
            raise ValueError("no sample with a view has an event; at least one is wanted")
        with suited_to(len(X)):
            X = self._input.learned(X, self)
            check_per_view(self.kernel, X.names)
            self._arranged = Arrangement.of(X, usable.astype(float), y.time, y.event)
            order = self._arranged.samples
            self._learn(self._arranged.train(X), Survival(y.time[order], y.event[order]), X.names)
            self._remember(X)
        return self

    def _learn(self, X: Any, y: Survival, names: tuple[str, ...]) -> None:
        options = Options(None if self.alpha == "cv" else float(self.alpha), self.ties, self.random_state)
        completer = self.completer if self.combine == "average" else None
        self._prepared = Prepared(self.kernel, completer, self.random_state, self.presence)
        kernels = self._prepared.fit(X)
        self._model: Averaged | Fused
        if self.combine == "average":
            self._model, (self.alpha_, *curve) = Averaged.learn(kernels, y, options)
            self.alpha_curve_ = np.array(curve)
        else:
            self._model = model = Fused.learn(kernels, y, options)
            for name in ("alphas", "concordances", "weights"):
                by_view = dict(zip(kernels.names, getattr(model, name).tolist(), strict=True))
                own = {view: by_view[view] for view in (*names, self._prepared.called) if view in by_view}
                setattr(self, "alpha_" if name == "alphas" else f"{name}_", own)
            if not model.slope:
                warn("no view tells more than chance out of fold; every sample gets the same risk")
        self.event_times_ = self._model.baseline[0]

    def _reach(self, X: Any) -> Array:
        if isinstance(self._model, Averaged) or self.weights_.get(self._prepared.called, 0.0) > 0:
            return super()._reach(X)
        weight = np.array([self.weights_.get(name, 0.0) for name in self.names_in_])
        return np.asarray((X.observed @ weight)[:, None] > 0).astype(np.float64)

    def predict(self, X: Any) -> Array:
        """Log-risks, higher for those with earlier events; 0 is the mean, and where no view is usable."""
        rows = self._check_rows(X)
        risk = np.zeros(len(rows))
        usable = np.flatnonzero(self._reach(rows)[:, 0] > 0)
        if len(usable):
            risk[usable] = self._model.risk(self._prepared.rows(self._arranged.rows(rows, usable)))
        return risk

    def predict_survival_function(self, X: Any, times: Any = None) -> Array:
        """Chances to have no event up to each of `times`, rows x times.

        Parameters
        ----------
        X : Views or KernelViews
            New samples.
        times : sequence of numbers, optional
            By default the times of training at which something happened, ``event_times_``.
        """
        risk = self.predict(X)
        at = self.event_times_ if times is None else np.atleast_1d(np.asarray(times, dtype=np.float64))
        if at.ndim != 1 or not np.isfinite(at).all():
            raise ValueError("times must be a list of finite numbers")
        return survival_at(*self._model.baseline, risk, at)

    def score(self, X: Any, y: Any) -> float:
        """The concordance index; `y` is in the order of the samples."""
        rows = self._check_rows(X)
        time, event = as_survival(y, rows)
        return concordance_index(time, event, self.predict(X))
