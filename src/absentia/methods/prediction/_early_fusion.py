"""What people use where views are absent: one model on the features of all views side by side.

Boosted trees take an absent feature as it is, NaN, and learn which way it goes; forests and linear models
get the training mean for it.  Or only the samples that have every view are learned from
(``complete_cases``).

Samples, views and classes are first brought into an order that the data decide; forests and boosted trees
are scikit-learn's, on one thread, and are kept as plain arrays (``_trees``).

Linear models: features are standardised over the training rows that have them and clipped at three
deviations; what is absent is the mean, zero.  Where there are more features than rows, the rows'
coordinates along their principal axes stand in for the features, which changes nothing but the time
(``learning.Axes``).  Strengths that are selected come from a grid that goes with the rows' mean squared
length, which grows with the number of features.
"""

from collections.abc import Callable
from dataclasses import KW_ONLY
from typing import Any, Literal, NamedTuple

import numpy as np

from absentia.core import (
    Array,
    Positive,
    PositiveInt,
    RandomState,
    estimator,
    limit_threads,
    make_generator,
    serializable,
)
from absentia.data import MAX_DEVIATION, Views, column_scales, concatenate_features, number_groups
from absentia.methods.learning import (
    Axes,
    Classifier,
    Learner,
    Regressor,
    fit_logistic,
    fit_ridge,
    scatter_rows,
)
from absentia.methods.prediction._composite import CanonicalOrder
from absentia.methods.prediction._trees import LINKS, Trees, as_float32


@serializable
class Linear(NamedTuple):
    """A linear model of features as they come; `link` is what becomes of its scores."""

    mean: Array
    scale: Array
    coef: Array  # outputs x features
    bias: Array
    link: str = "identity"

    def predict(self, table: Array) -> Array:
        """Rows x outputs (probabilities: rows x classes); NaN counts as the training mean."""
        return LINKS[self.link](standardize(table, self.mean, self.scale) @ self.coef.T + self.bias)


def standardize(table: Array, mean: Array, scale: Array) -> Array:
    """Deviations from the mean in units of the scale, three at most; zero for NaN."""
    return np.clip(np.where(np.isnan(table), 0.0, (table - mean) / scale), -MAX_DEVIATION, MAX_DEVIATION)


class TableFit(NamedTuple):
    """A model of a table, how much each feature counts in it, and its C or penalty, if it has one.

    What it says of each row once that, or its group, is left out are probabilities, rows x classes, or
    predictions, (rows,).
    """

    model: Trees | Linear
    importance: Array
    strength: float | None = None
    loo: Array | None = None  # if it tells


_N_TREES = {"forest": 200, "boosting": 100}
_MIN_OUT_OF_BAG = 50  # trees, by which a sample is in all bags once in ten billion times
_MIN_LEAF = 20  # samples in a leaf of boosted trees at least, scikit-learn's number, once there are 160


class _Problem(NamedTuple):
    """Rows to learn from (NaN: absent), their classes or targets, how much they count, and the settings."""

    table: Array
    y: Array
    weight: Array
    strength: float | str  # C or penalty
    n_trees: int | None
    seed: int
    classes: bool
    groups: Array | None = None  # of rows, which are left out together


def _forest(problem: _Problem) -> TableFit:
    from sklearn.ensemble import RandomForestClassifier, RandomForestRegressor

    kind = RandomForestClassifier if problem.classes else RandomForestRegressor
    share: Any = "sqrt" if problem.classes else 1 / 3
    n_trees = problem.n_trees or _N_TREES["forest"]
    # fewer trees may have seen a sample all of them, and out of bag there may be others of its group
    has_oob = n_trees >= _MIN_OUT_OF_BAG and number_groups(problem.groups) is None
    model = kind(n_trees, max_features=share, random_state=problem.seed, oob_score=has_oob)
    means = as_float32(column_scales(problem.table)[0])
    table = as_float32(problem.table)
    model.fit(np.where(np.isnan(table), means, table), problem.y, sample_weight=problem.weight)
    loo = None
    if has_oob:
        loo = model.oob_decision_function_ if problem.classes else model.oob_prediction_
    return TableFit(Trees.of_forest(model, means), model.feature_importances_, loo=loo)


def _boosting(problem: _Problem) -> TableFit:
    from sklearn.ensemble import HistGradientBoostingClassifier, HistGradientBoostingRegressor

    kind = HistGradientBoostingClassifier if problem.classes else HistGradientBoostingRegressor
    rounds = problem.n_trees or _N_TREES["boosting"]
    # scikit-learn wants a value in every column; a constant is never split
    table = np.where(np.isnan(problem.table).all(axis=0), 0.0, problem.table)
    leaf = min(_MIN_LEAF, max(1, len(problem.table) // 8))
    options: dict[str, Any] = {"early_stopping": False, "random_state": problem.seed}
    options["max_bins"] = _count_bins(table)
    model = kind(max_iter=rounds, min_samples_leaf=leaf, **options)
    # bins of weighted samples take scikit-learn twenty times as long as all the trees
    weight = None if (problem.weight == problem.weight[0]).all() else problem.weight
    with limit_threads(1, len(problem.table)):  # sums of several threads would differ in the last digits
        model.fit(table, problem.y, sample_weight=weight)
    trees, gain = Trees.of_boosting(model)
    return TableFit(trees, trees.feature_gains(gain))


def _count_bins(table: Array) -> int:
    """As many bins as the column with most values has, up to scikit-learn's 255: more change nothing.

    Time and memory grow with them whether they are needed or not; counts have few values.
    """
    ordered = np.sort(table, axis=0)  # NaN last, and never different from its like below
    different = (np.diff(ordered, axis=0) > 0).sum(axis=0)
    return int(np.clip(different.max(initial=0) + 1, 2, 255))


def _linear(problem: _Problem) -> TableFit:
    """Logistic regression, each class against the rest, or ridge regression.

    Its strength, if it is ``"cv"``, by leaving out each row, or group of rows.
    """
    y, weight, groups = problem.y, problem.weight, problem.groups
    mean, scale = column_scales(problem.table)
    axes = Axes.of_table(standardize(problem.table, mean, scale))
    given = None if isinstance(problem.strength, str) else problem.strength
    if problem.classes:
        C = None if given is None else given * axes.size
        fit = fit_logistic(axes, y, weight, int(y.max()) + 1, C, groups)
        model = Linear(mean, scale, fit.coef.T, fit.intercept, "one against the rest")
        strength, loo = fit.C / axes.size, fit.loo_proba
    else:
        ridge = fit_ridge(axes, y, weight, None if given is None else given / axes.size, groups)
        model = Linear(mean, scale, ridge.coef[None, :], np.atleast_1d(ridge.bias))
        strength, loo = ridge.alpha * axes.size, ridge.loo
    return TableFit(model, np.linalg.norm(model.coef, axis=0), strength, loo)


_MODELS: dict[str, Callable[[_Problem], TableFit]] = {
    "forest": _forest,
    "boosting": _boosting,
    **dict.fromkeys(("logistic", "linear", "ridge"), _linear),
}


class SideBySide(Learner):
    """A model of the features of some views side by side."""

    _views: tuple[str, ...]  # those that are learned from, in their own order
    _model: Trees | Linear

    def _outputs(self, X: Views) -> Array:
        """What the model predicts of samples, rows x outputs."""
        return np.asarray(self._model.predict(concatenate_features(X.select(self._views))))

    def _coverage(self, X: Any) -> Array:
        """All, from any view that was learned from."""
        return np.asarray(X.select(self._views).observed.any(axis=1, keepdims=True), dtype=np.float64)


class EarlyFusion(SideBySide):
    """What models of all features side by side share."""

    model: Any
    complete_cases: bool
    n_trees: Any
    random_state: Any
    _importance: Array
    _coding: Any
    classes_: Array  # of a classifier

    def _fit_model(self, X: Views, y: Array, weight: Array, strength: float | str, classes: bool) -> Any:
        """Learn from the samples that count, in canonical order; the C or penalty, if there is one."""
        order = CanonicalOrder.of(X, weight, y)
        train, rows = order.select_training(X), order.samples
        if self.complete_cases:
            complete = train.observed.all(axis=1)
            self._check_complete(train, complete, y[rows], classes)
            train, rows = train[np.flatnonzero(complete)], rows[complete]
        self._views, targets = order.views, y[rows]
        if classes:
            self._class_order = _order_of_appearance(targets, len(self.classes_))
            targets = self._class_order[targets]
        seed = int(make_generator(self.random_state).integers(2**31 - 1))
        settings = (strength, self.n_trees, seed, classes, train.groups)
        problem = _Problem(concatenate_features(train), targets, weight[rows], *settings)
        fit = _MODELS[self.model](problem)
        self._model, self._importance = fit.model, fit.importance
        if fit.loo is not None and classes:
            self.loo_proba_ = scatter_rows(fit.loo[:, self._class_order], rows, len(X))
        elif fit.loo is not None:
            self.loo_predictions_ = scatter_rows(fit.loo, rows, len(X))
        return fit.strength

    def _check_complete(self, train: Views, complete: Array, y: Array, classes: bool) -> None:
        """Refuse to learn from too few samples with every view, and say which view is lacking most."""
        if classes:
            names = self.classes_
            lacking = names[np.setdiff1d(np.arange(len(names)), y[complete])].tolist()
        else:
            lacking = [] if complete.sum() > 1 else ["two"]
        if lacking:
            rarest = train.names[int(train.observed.sum(axis=0).argmin())]
            what = f"none of the class(es) {lacking}" if classes else "two or more are wanted"
            raise ValueError(
                f"{int(complete.sum())} of {len(train)} samples have all {len(train.names)} views, {what}; "
                f"set complete_cases=False, or leave out the view {rarest!r}, which is absent most often"
            )

    def feature_importance(self) -> Any:
        """How much each feature counts in the model: a pandas DataFrame (view, feature, importance).

        Of linear models the norm of the weights of the standardised feature, over the classes; of forests
        the mean decrease of impurity, of boosted trees the gain, both as shares of the whole.
        """
        import pandas as pd

        names = dict(zip(self.names_in_, self._widths, strict=True))
        parts, begin = {}, 0
        for view in self._views:
            features = self._coding.views[view].names() or [str(j) for j in range(names[view])]
            shares = self._importance[begin : begin + names[view]]
            parts[view] = pd.DataFrame({"view": view, "feature": features, "importance": shares})
            begin += names[view]
        return pd.concat([parts[view] for view in self.names_in_ if view in parts], ignore_index=True)


def _order_of_appearance(codes: Array, n_classes: int) -> Array:
    """For every class its place in the order in which they first appear."""
    first = [int(np.argmax(codes == k)) if (codes == k).any() else len(codes) for k in range(n_classes)]
    return np.argsort(np.argsort(first, kind="stable"))


@estimator
class EarlyFusionClassifier(EarlyFusion, Classifier):
    """One model on the features of all views side by side: what is commonly done, to compare with.

    Takes :class:`Views`, no kernels.

    Parameters
    ----------
    model : "forest", "boosting" or "logistic" (or "linear", the same)
        A random forest or logistic regression, where an absent feature is the training mean;
        gradient-boosted trees, which take it as it is.
    complete_cases : bool, default False
        Learn only from samples that have every view.
    C : float or "cv"
        Weight of the training errors of logistic regression, features standardised; "cv" selects it by the
        log-loss of samples that are left out one at a time.
    n_trees : int, optional
        Trees of a forest, by default 200, or rounds of boosting, by default 100.
    class_weight : dict, "balanced" or None
        Factor on a sample's weight by class.
    random_state : int, Generator or None
        Seed of the trees; None is 0.

    Attributes
    ----------
    C_ : float or None
        The C that was used, of logistic regression.
    loo_proba_ : ndarray of shape (n_samples, n_classes)
        Probabilities of each training sample, of logistic regression by the model without it, of forests of
        50 trees or more by the trees that have not seen it; NaN for samples that were not learned from.
    classes_, decision_, names_in_, ids_, n_features_in_

    Examples
    --------
    >>> from absentia import EarlyFusionClassifier, datasets, missingness
    >>> views, y = datasets.load_digit_views(n_samples=60, return_X_y=True)
    >>> views = views.hide(missingness.mcar(views, 0.2, random_state=0))
    >>> EarlyFusionClassifier("logistic").fit(views, y < 5).predict_proba(views).shape
    (60, 2)
    """

    model: Literal["forest", "boosting", "logistic", "linear"] = "forest"
    _: KW_ONLY
    complete_cases: bool = False
    C: Positive | Literal["cv"] = "cv"
    n_trees: PositiveInt | None = None
    class_weight: Any = None
    random_state: RandomState = None

    _takes = "views"
    _native_probabilities = True

    def _learn(self, X: Views, y: Array, weight: Array) -> None:
        self.C_ = self._fit_model(X, y, weight, self.C, classes=True)

    def _predict_proba(self, X: Views) -> Array:
        return self._outputs(X)[:, self._class_order]


@estimator
class EarlyFusionRegressor(EarlyFusion, Regressor):
    """One model of targets on the features of all views side by side.

    Parameters
    ----------
    model : "forest", "boosting" or "ridge"
        A random forest or ridge regression, where an absent feature is the training mean;
        gradient-boosted trees, which take it as it is.
    complete_cases : bool, default False
        Learn only from samples that have every view.
    alpha : float or "cv"
        Penalty of ridge regression, features standardised; "cv" selects it by leaving out each sample.
    n_trees, random_state
        As in :class:`EarlyFusionClassifier`.

    Attributes
    ----------
    alpha_ : float or None
        The penalty, of ridge regression.
    loo_predictions_ : ndarray of shape (n_samples,)
        Of ridge regression what is predicted of each training sample by the model without it, of forests of
        50 trees or more by the trees that have not seen it; NaN for samples that were not learned from.
    names_in_, ids_, n_features_in_

    Examples
    --------
    >>> from absentia import EarlyFusionRegressor, datasets
    >>> views, y = datasets.load_digit_views(n_samples=60, return_X_y=True)
    >>> EarlyFusionRegressor("ridge").fit(views, y).predict(views).shape
    (60,)
    """

    model: Literal["forest", "boosting", "ridge"] = "forest"
    _: KW_ONLY
    complete_cases: bool = False
    alpha: Positive | Literal["cv"] = "cv"
    n_trees: PositiveInt | None = None
    random_state: RandomState = None

    _takes = "views"

    def _learn(self, X: Views, y: Array, weight: Array) -> None:
        self.alpha_ = self._fit_model(X, y, weight, self.alpha, classes=False)

    def _predict(self, X: Views) -> Array:
        return self._outputs(X)[:, 0]
