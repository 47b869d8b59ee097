"""Survival from incomplete views: ridge Cox regression on completed kernels, or one per view, fused.

``combine="average"``: kernels of the views are completed, averaged and brought to unit length, and one Cox
model (``_cox``) is fitted to the sum.

``combine="fusion"``: one Cox model for each view, on the samples that have it, nothing completed.  A view's
risks are divided by the spread that they have out of fold; a sample's risk is their mean over the views
that it has, weighted by how far the view's out-of-fold concordance is above one half.  What comes out is
brought to the scale of log-hazards by a Cox model of one coefficient on the fused out-of-fold risks.

Who has which view is one more kernel in both (``_composite``) where `presence` is True.

:class:`EarlyFusionSurvival` is the same regression on the linear kernel of all features side by side.

Nothing of it hangs on the order in which samples and views came: both are first brought into an order of
their own, in which the folds that select `alpha` are cut.

Random survival forests are those of Ishwaran et al., Annals of Applied Statistics 2 (2008), whose trees
scikit-survival grows.  It is no dependency: the method is offered where it is installed.  Trees
are kept as arrays, and a model that was saved predicts without it.
"""

from dataclasses import KW_ONLY
from typing import Any, Literal, NamedTuple, Self

import numpy as np

from absentia.core import (
    Array,
    Positive,
    PositiveInt,
    RandomState,
    estimator,
    make_generator,
    serializable,
    warn,
)
from absentia.data import KernelViews, Views, column_scales, concatenate_features, count_groups, make_folds
from absentia.data.survival import Survival, concordance_index
from absentia.kernels import CombineKernels
from absentia.methods.learning import SurvivalModel, scatter_rows, shrink_to_prior
from absentia.methods.prediction._composite import CanonicalOrder, Composite, KernelPipeline
from absentia.methods.prediction._cox import (
    AlphaSelection,
    Cox,
    PartialLikelihood,
    Ties,
    fit_coefficients,
    fit_cox,
    select_alpha,
)
from absentia.methods.prediction._early_fusion import EarlyFusion, Linear, SideBySide, standardize
from absentia.methods.prediction._ridge import average_views, predict_views
from absentia.methods.prediction._trees import Trees, as_float32

_ALPHAS = 10.0 ** np.linspace(-2, 3, 11)
FOLDS = 5
_DEFAULT_ALPHA = 10.0  # where one event leaves nothing to select by


class Options(NamedTuple):
    """How to fit; `alpha` None: to be selected."""

    alpha: float | None
    ties: Ties
    random_state: RandomState


def _select_alpha(K: Array, y: Survival, options: Options, groups: Array | None) -> AlphaSelection:
    """The penalty, given or the best of :data:`_ALPHAS`, and risks out of fold; folds share the events."""
    alpha, k = options.alpha, min(FOLDS, count_groups(groups, np.flatnonzero(y.event)), len(K) - 1)
    if k < 2:
        alpha = _DEFAULT_ALPHA if alpha is None else alpha
        return AlphaSelection(alpha, np.full(len(_ALPHAS), np.nan), np.zeros(len(K)))
    parts = make_folds(np.arange(len(K)), y.event, k, options.random_state, groups)
    return select_alpha(K, y, _ALPHAS if alpha is None else np.array([alpha]), parts, options.ties)


# ------------------------------------------------------------------------------------------- two ways


@serializable
class Averaged(NamedTuple):
    """One model on the combined kernel."""

    combine: CombineKernels
    cox: Cox
    held_out: Array  # risks out of fold

    @classmethod
    def learn(cls, X: KernelViews, y: Survival, options: Options) -> tuple[Self, float, Array]:
        """From complete kernels, or incomplete ones in which absent is zero; the penalty, and its curve."""
        combine = CombineKernels()
        K = np.asarray(combine.fit_transform(X))
        alpha, curve, risk = _select_alpha(K, y, options, X.groups)
        curve = curve if options.alpha is None else np.zeros(0)
        return cls(combine, fit_cox(K, y, alpha, options.ties), risk), alpha, curve

    def risk(self, X: KernelViews) -> Array:
        """Log-risks of new samples."""
        return self.cox.risk(np.asarray(self.combine.transform(X)))


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
    held_out: Array  # risks out of fold

    @classmethod
    def learn(cls, X: KernelViews, y: Survival, options: Options) -> Self:
        """From incomplete kernels."""
        models: list[Cox | None] = []
        alphas, concordances = np.full(X.n_views, np.nan), np.full(X.n_views, 0.5)
        held_out = np.zeros(X.observed.shape)
        for v, name in enumerate(X.names):
            has = X.observed[:, v]
            y_view = Survival(y.time[has], y.event[has])
            if y_view.event.sum() < 2:
                models.append(None)
                continue
            K = np.asarray(X.block(name))
            search = _select_alpha(K, y_view, options, None if X.groups is None else X.groups[has])
            models.append(fit_cox(K, y_view, search.alpha, options.ties))
            alphas[v], held_out[has, v] = search.alpha, search.risk
            concordances[v] = concordance(y_view, search.risk)
        weights = np.maximum(concordances - 0.5, 0.0)
        spreads = np.array([held_out[has, v].std() for v, has in enumerate(X.observed.T)])
        together = _fuse_risks(held_out, X.observed, weights, spreads)
        slope, times, hazard = to_log_hazards(together, y, options.ties)
        scale = (spreads, slope, times, hazard, slope * together)
        return cls(tuple(models), alphas, concordances, weights, *scale)

    def risk(self, X: KernelViews) -> Array:
        """Log-risks of new samples."""
        risks = predict_views([cox and cox.risk for cox in self.models], X)
        return self.slope * _fuse_risks(risks, X.observed, self.weights, self.spreads)


def to_log_hazards(risk: Array, y: Survival, ties: Ties = "breslow") -> tuple[float, Array, Array]:
    """The slope that makes log-hazards of risks out of fold, times of events, cumulative hazards at these.

    The slope is that of a Cox model of one coefficient; where it is below zero risks say nothing: zero.
    """
    likelihood = PartialLikelihood.of(y, ties)
    slope = max(float(fit_coefficients(risk[:, None], likelihood, 1.0).state.w[0]), 0.0)
    return (slope, *likelihood.hazard(slope * risk))


def concordance(y: Survival, risk: Array) -> float:
    """The concordance index, risks that differ by rounding tied; one half where nobody can be compared."""
    # samples that a view does not tell apart tie: rounding must not decide who of them is at more risk
    unit = 1e-9 * max(float(np.abs(risk).max(initial=0.0)), 1e-300)
    try:
        return concordance_index(y.time, y.event, np.round(risk / unit))
    except ValueError:  # nobody to compare
        return 0.5


def _fuse_risks(risks: Array, observed: Array, weights: Array, spreads: Array) -> Array:
    """Risks in units of their spread, averaged over the views that each sample has; 0 without any."""
    return average_views(risks / np.where(spreads > 0, spreads, 1.0), observed, weights)


# ------------------------------------------------------------------------------------------ estimator


@estimator
class AbsentSurvival(Composite, SurvivalModel):
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
        the kernels having unit diagonals; ``"cv"`` selects it by cross-validated partial likelihood.
    ties : {"breslow", "efron"}, default "breslow"
        What events at the same time do to the likelihood.
    presence : bool, default False
        Let who has which view count, as one more kernel beside those of the views (none if nobody lacks
        anything).  Who was examined may tell about risk, as long as samples to come are examined by the
        same rules.
    random_state : int, Generator, RandomState or None
        Of the folds that select `alpha`, and of the completer; None: the fixed seed 0.

    Attributes
    ----------
    event_times_ : ndarray
        Times at which something happened in training.
    alpha_ : float, or dict by view
        The penalty; with ``combine="fusion"`` of each view.
    alpha_curve_ : ndarray of shape (11,)
        Cross-validated log partial likelihood for 0.01 to 1000, where `alpha` was selected for the average.
    concordances_, weights_ : dict
        With ``combine="fusion"``, the out-of-fold concordance and the weight of each view, and of
        ``"presence"``.
    held_out_risks_ : ndarray of shape (n_samples,)
        Log-risks of the training samples out of fold, those of the folds that select `alpha`; NaN for
        samples without a view.
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
    presence: bool = False
    random_state: RandomState = None

    def _learn(self, X: Any, y: Survival, weight: Array) -> None:
        train, samples = self._order_training(X, weight, y.time, y.event)
        y = Survival(y.time[samples], y.event[samples])
        options = Options(None if self.alpha == "cv" else float(self.alpha), self.ties, self.random_state)
        completer = self.completer if self.combine == "average" else None
        self._kernels = KernelPipeline(self.kernel, completer, self.random_state, self.presence)
        kernels = self._kernels.fit_transform(train)
        self._model: Averaged | Fused
        if self.combine == "average":
            self._model, self.alpha_, self.alpha_curve_ = Averaged.learn(kernels, y, options)
            self.event_times_, self._hazard = self._model.cox.times, self._model.cox.hazard
        else:
            self._model = Fused.learn(kernels, y, options)
            self.event_times_, self._hazard = self._model.times, self._model.hazard
            self._set_by_view(self._model, kernels.names, X.names)
        self.held_out_risks_ = scatter_rows(self._model.held_out, samples, len(X))

    def _set_by_view(self, model: Fused, learned: tuple[str, ...], names: tuple[str, ...]) -> None:
        """Fitted attributes by view, in the order of `names`, presence last."""
        for name in ("alphas", "concordances", "weights"):
            by_view = dict(zip(learned, getattr(model, name).tolist(), strict=True))
            views = [view for view in (*names, self._kernels.presence_name_) if view in by_view]
            setattr(
                self, "alpha_" if name == "alphas" else f"{name}_", {view: by_view[view] for view in views}
            )
        if not model.slope:
            warn("no view tells more than chance out of fold; every sample gets the same risk")

    def _coverage(self, X: Any) -> Array:
        if self.combine == "average" or self.weights_.get(self._kernels.presence_name_, 0.0) > 0:
            return super()._coverage(X)
        weight = np.array([self.weights_.get(name, 0.0) for name in self.names_in_])
        return np.asarray((X.observed @ weight)[:, None] > 0).astype(np.float64)

    def _predict(self, X: Any) -> Array:
        return self._predict_rows(X, (), lambda rows: self._model.risk(self._kernels.transform(rows)))


@estimator
class EarlyFusionSurvival(EarlyFusion, SurvivalModel):
    """Ridge Cox regression on the features of all views side by side, absent ones the training mean.

    Takes :class:`Views`, no kernels.

    Parameters
    ----------
    alpha : float or "cv", default "cv"
        Strength of the penalty, as in :class:`AbsentSurvival`; features are standardised, rows scaled to a
        mean squared length of one.
    ties : {"breslow", "efron"}, default "breslow"
        What events at the same time do to the likelihood.
    random_state : int, Generator, RandomState or None
        Of the folds that select `alpha`; None: the fixed seed 0.

    Attributes
    ----------
    alpha_, alpha_curve_, event_times_, held_out_risks_
        As in :class:`AbsentSurvival`.
    names_in_, ids_, n_features_in_

    Examples
    --------
    >>> import numpy as np
    >>> from absentia import EarlyFusionSurvival, Views
    >>> rng = np.random.default_rng(0)
    >>> x = rng.normal(size=(60, 3))
    >>> views = Views.from_list([x, x**2], observed=np.arange(60)[:, None] < [60, 40])
    >>> y = np.column_stack([rng.exponential(np.exp(-2 * x[:, 0])), rng.random(60) < 0.7])
    >>> EarlyFusionSurvival().fit(views, y).predict(views[:2]).shape
    (2,)
    """

    _: KW_ONLY
    alpha: Positive | Literal["cv"] = "cv"
    ties: Ties = "breslow"
    random_state: RandomState = None

    _takes = "views"

    def _learn(self, X: Views, y: Survival, weight: Array) -> None:
        order = CanonicalOrder.of(X, weight, y.time, y.event)
        y = Survival(y.time[order.samples], y.event[order.samples])
        train = order.select_training(X)
        self._views, table = order.views, concatenate_features(train)
        mean, scale = column_scales(table)
        rows = standardize(table, mean, scale)
        length = float(np.sqrt((rows**2).sum(axis=1).mean())) or 1.0
        rows /= length
        options = Options(None if self.alpha == "cv" else float(self.alpha), self.ties, self.random_state)
        K = rows @ rows.T
        self.alpha_, self.alpha_curve_, risk = _select_alpha(K, y, options, train.groups)
        cox = fit_cox(K, y, self.alpha_, self.ties)
        coef = rows.T @ cox.coef / length
        self._model = Linear(mean, scale, coef[None], np.atleast_1d(-cox.shift))
        self._importance = np.abs(coef)
        self.event_times_, self._hazard = cox.times, cox.hazard
        self.held_out_risks_ = scatter_rows(risk, order.samples, len(X))

    def _predict(self, X: Views) -> Array:
        return self._outputs(X)[:, 0]


_MIN_MORTALITY = 1e-3  # of the mean


@estimator
class SurvivalForest(SideBySide, SurvivalModel):
    """A random survival forest on the features of all views side by side, absent ones the mean.

    Takes :class:`Views`, no kernels.  Trees are split by the log-rank test; the cumulative hazard of a
    sample is the mean over its leaves (Nelson and Aalen's), its log-risk the logarithm of that summed over
    the times with events.  Wants scikit-survival to learn, but not to predict.

    Parameters
    ----------
    n_trees : int, default 200
        How many.
    random_state : int, Generator, RandomState or None
        Of the trees.

    Attributes
    ----------
    event_times_ : ndarray
        Times at which something happened in training.
    names_in_, ids_, n_features_in_

    Examples
    --------
    >>> from absentia import SurvivalForest, datasets
    >>> views, y = datasets.load_digit_views(n_samples=60, return_X_y=True)
    >>> target = np.c_[1.0 + y, np.ones(60)]  # times and events
    >>> forest = SurvivalForest(n_trees=20).fit(views, target)
    >>> forest.predict(views[:3]).shape
    (3,)
    """

    _: KW_ONLY
    n_trees: PositiveInt = 200
    random_state: RandomState = None

    _takes = "views"

    def _learn(self, X: Views, y: Survival, weight: Array) -> None:
        order = CanonicalOrder.of(X, weight, y.time, y.event)
        y = Survival(y.time[order.samples], y.event[order.samples])
        self._views, table = order.views, concatenate_features(order.select_training(X))
        seed = int(make_generator(self.random_state).integers(2**31 - 1))
        means = as_float32(column_scales(table)[0])
        filled = np.where(np.isnan(table), means, as_float32(table))
        forest = _import_forest()(self.n_trees, random_state=seed).fit(filled, y.to_array())
        self.event_times_ = np.unique(y.time[y.event])
        there = np.isin(forest.unique_times_, self.event_times_)
        self._model = Trees.of_forest(forest, means, lambda tree: tree.value[:, there, 0])
        hazards = self._model.predict(table)
        self._hazard = hazards.mean(axis=0)
        self._shift = 0.0
        self._shift = float(self._log_mortality(hazards).mean())

    def _log_mortality(self, hazards: Array) -> Array:
        """Logarithm of the cumulative hazards, rows x times, summed over the times with events."""
        least = _MIN_MORTALITY * self._hazard.sum()
        return np.asarray(np.log(np.maximum(hazards.sum(axis=1), least)) - self._shift)

    def _predict(self, X: Views) -> Array:
        return self._log_mortality(self._outputs(X))  # cumulative hazards, rows x times with events

    def _cumulative_hazard(self, X: Any, times: Array) -> Array:
        """Of every sample by its own leaves: hazards need not be proportional."""
        X = self._check_rows(X)
        hazards = shrink_to_prior(self._coverage(X), self._outputs(X), self._hazard)
        place = np.searchsorted(self.event_times_, times, side="right")
        return np.hstack([np.zeros((len(X), 1)), hazards])[:, place]


def _import_forest() -> Any:
    try:
        from sksurv.ensemble import RandomSurvivalForest
    except ImportError:
        raise ImportError("survival-forest wants scikit-survival: pip install scikit-survival") from None
    return RandomSurvivalForest
