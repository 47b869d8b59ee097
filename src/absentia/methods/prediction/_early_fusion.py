"""What people use where views are absent: one model on the features of all views side by side.

Trees take an absent feature as it is, NaN, and learn which way it goes; linear models get the training mean
for it (``_linear``).  Or only the samples that have every view are learned from (``complete_cases``).

Samples, views and classes are first brought into an order that the data decide; forests and boosted trees
are scikit-learn's, on one thread, and are kept as plain arrays (``_trees``).
"""

from collections.abc import Callable
from dataclasses import KW_ONLY
from typing import Any, Literal, NamedTuple, Self

import numpy as np
from sklearn.base import RegressorMixin

from absentia.core import (
    Array,
    Positive,
    PositiveInt,
    RandomState,
    at_most,
    estimator,
    generator,
    suited_to,
)
from absentia.data import Views, joined
from absentia.methods.learning import Classifier, Learner, as_targets, check_targets
from absentia.methods.prediction._arranging import Arrangement
from absentia.methods.prediction._linear import Linear, logistic, machine, ridge
from absentia.methods.prediction._trees import Trees, shortened

N_TREES = {"forest": 500, "boosting": 100}
LEAF = 20  # samples in a leaf of boosted trees at least, scikit-learn's number, once there are 160


class Learned(NamedTuple):
    """A model of a table, how much each feature counts in it, and its price, if it has one."""

    model: Trees | Linear
    importance: Array
    price: float | None = None


class Task(NamedTuple):
    """Rows to learn from (NaN: absent), their classes or targets, how much they count, and the settings."""

    table: Array
    y: Array
    weight: Array
    price: float | str
    n_trees: int | None
    seed: int
    classes: bool


def _forest(task: Task) -> Learned:
    from sklearn.ensemble import RandomForestClassifier, RandomForestRegressor

    kind = RandomForestClassifier if task.classes else RandomForestRegressor
    share: Any = "sqrt" if task.classes else 1 / 3
    model = kind(task.n_trees or N_TREES["forest"], max_features=share, random_state=task.seed)
    model.fit(shortened(task.table), task.y, sample_weight=task.weight)
    return Learned(Trees.of_forest(model), model.feature_importances_)


def _boosting(task: Task) -> Learned:
    from sklearn.ensemble import HistGradientBoostingClassifier, HistGradientBoostingRegressor

    kind = HistGradientBoostingClassifier if task.classes else HistGradientBoostingRegressor
    rounds = task.n_trees or N_TREES["boosting"]
    # scikit-learn wants a value in every column; a constant is never split
    table = np.where(np.isnan(task.table).all(axis=0), 0.0, task.table)
    leaf = min(LEAF, max(1, len(task.table) // 8))
    options: dict[str, Any] = {"early_stopping": False, "random_state": task.seed}
    options["max_bins"] = bins(table)
    model = kind(max_iter=rounds, min_samples_leaf=leaf, **options)
    # bins of weighted samples take scikit-learn twenty times as long as all the trees
    weight = None if (task.weight == task.weight[0]).all() else task.weight
    with at_most(1, len(task.table)):  # sums of several threads would differ in the last digits
        model.fit(table, task.y, sample_weight=weight)
    trees, gain = Trees.of_boosting(model)
    return Learned(trees, trees.gains(gain))


def bins(table: Array) -> int:
    """As many bins as the column with most values has, up to scikit-learn's 255: more change nothing.

    Time and memory grow with them whether they are needed or not; counts have few values.
    """
    ordered = np.sort(table, axis=0)  # NaN last, and never different from its like below
    different = (np.diff(ordered, axis=0) > 0).sum(axis=0)
    return int(np.clip(different.max(initial=0) + 1, 2, 255))


def _of_line(fit: Callable[..., tuple[Linear, float]]) -> Callable[[Task], Learned]:
    def learn(task: Task) -> Learned:
        model, price = fit(task.table, task.y, task.weight, task.price)
        return Learned(model, np.linalg.norm(model.coef, axis=0), price)

    return learn


LEARN: dict[str, Callable[[Task], Learned]] = {
    "forest": _forest,
    "boosting": _boosting,
    "logistic": _of_line(logistic),
    "linear": _of_line(logistic),
    "svm": _of_line(machine),
    "ridge": _of_line(ridge),
}


class EarlyFusion(Learner):
    """What the classifier and the regressor share."""

    model: Any
    complete_cases: bool
    n_trees: Any
    random_state: Any
    _views: tuple[str, ...]  # those that are learned from, in their own order
    _model: Trees | Linear
    _importance: Array
    _coding: Any
    classes_: Array  # of a classifier

    def _fit_model(self, X: Views, y: Array, weight: Array, price: float | str, classes: bool) -> Any:
        """Learn from the samples that count, in an order of their own; the price, if there is one."""
        arranged = Arrangement.of(X, weight, y)
        train, rows = arranged.train(X), arranged.samples
        if self.complete_cases:
            complete = train.observed.all(axis=1)
            self._check_complete(train, complete, y[rows], classes)
            train, rows = train[np.flatnonzero(complete)], rows[complete]
        self._views, targets = arranged.views, y[rows]
        if classes:
            self._places = places(targets, len(self.classes_))
            targets = self._places[targets]
        seed = int(generator(self.random_state).integers(2**31 - 1))
        task = Task(joined(train), targets, weight[rows], price, self.n_trees, seed, classes)
        self._model, self._importance, found = LEARN[self.model](task)
        return found

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

    def _said(self, X: Views) -> Array:
        """What the model says of samples, rows x outputs."""
        return np.asarray(self._model.predict(joined(X.select(self._views))))

    def _reach(self, X: Any) -> Array:
        """All, from any view that was learned from."""
        return np.asarray(X.select(self._views).observed.any(axis=1, keepdims=True), dtype=np.float64)

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


def places(codes: Array, n_classes: int) -> Array:
    """For every class its place in the order in which they first appear."""
    first = [int(np.argmax(codes == k)) if (codes == k).any() else len(codes) for k in range(n_classes)]
    return np.argsort(np.argsort(first, kind="stable"))


@estimator
class EarlyFusionClassifier(EarlyFusion, Classifier):
    """One model on the features of all views side by side: what is commonly done, to compare with.

    Takes :class:`Views`, no kernels.  ``predict_proba`` gives the model's own probabilities; a support
    vector machine has none, and learns them if ``probability`` says so.

    Parameters
    ----------
    model : "forest", "boosting", "logistic" (or "linear", the same) or "svm"
        A random forest or gradient-boosted trees, which take an absent feature as it is; multinomial
        logistic regression or a linear support vector machine, where it is the training mean.
    complete_cases : bool, default False
        Learn only from samples that have every view.
    C : float or "cv"
        Price of a training error of linear models, features standardised; "cv" chooses it inside by
        five-fold log-loss (of the svm: errors), from a grid that goes with the number of features.
    n_trees : int, optional
        Trees of a forest, by default 500, or rounds of boosting, by default 100.
    class_weight : dict, "balanced" or None
        Factor on a sample's weight by class.
    probability : bool, default False
        Of the svm: offer ``predict_proba``, calibrated on scores of five-fold held-out samples (five more
        fits).  The others have probabilities in any case.
    random_state : int, Generator or None
        Seed of the trees; None is 0.

    Attributes
    ----------
    C_ : float or None
        The price of errors, of linear models.
    classes_, names_in_, ids_, n_features_in_

    Examples
    --------
    >>> from absentia import EarlyFusionClassifier, datasets, missingness
    >>> views, y = datasets.load_digit_views(n_samples=60, return_X_y=True)
    >>> views = views.hide(missingness.mcar(views, 0.2, random_state=0))
    >>> EarlyFusionClassifier("logistic").fit(views, y < 5).predict_proba(views).shape
    (60, 2)
    """

    model: Literal["forest", "boosting", "logistic", "linear", "svm"] = "forest"
    _: KW_ONLY
    complete_cases: bool = False
    C: Positive | Literal["cv"] = "cv"
    n_trees: PositiveInt | None = None
    class_weight: Any = None
    probability: bool = False
    random_state: RandomState = None

    _takes = "views"

    def _learn(self, X: Views, y: Array, weight: Array) -> None:
        self.C_ = self._fit_model(X, y, weight, self.C, classes=True)

    def _score(self, X: Views) -> Array:
        if self.model != "svm":
            probabilities = self._probabilities_of(X)
            return np.asarray(2 * (probabilities[:, 1:] if len(self.classes_) == 2 else probabilities) - 1)
        scores = self._said(X)
        return scores[:, self._places] if scores.shape[1] > 1 else scores * (1 - 2 * self._places[0])

    def _offers_probabilities(self) -> bool:
        return self.model != "svm" or bool(self.probability)

    def _calibrated(self, X: Any, labels: Any) -> Any:
        return super()._calibrated(X, labels) if self.model == "svm" else self.model

    def _probabilities_of(self, X: Views) -> Array:
        return super()._probabilities_of(X) if self.model == "svm" else self._said(X)[:, self._places]


@estimator
class EarlyFusionRegressor(RegressorMixin, EarlyFusion):  # type: ignore[misc]
    """One model of targets on the features of all views side by side.

    Parameters
    ----------
    model : "forest", "boosting" or "ridge"
        A random forest or gradient-boosted trees, which take an absent feature as it is; ridge
        regression, where it is the training mean.
    complete_cases : bool, default False
        Learn only from samples that have every view.
    alpha : float or "cv"
        Penalty of ridge regression, features standardised; "cv" chooses it by leaving out each sample.
    n_trees, random_state
        As in :class:`EarlyFusionClassifier`.

    Attributes
    ----------
    alpha_ : float or None
        The penalty, of ridge regression.
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

    def fit(self, X: Views, y: Any, sample_weight: Any = None) -> Self:
        """Learn from the training samples and their targets."""
        self._check_parameters()
        X = self._input.check(X, self)
        y, weight = check_targets(X, y, sample_weight)
        self._prior = float(np.average(y, weights=weight))
        with suited_to(len(X)):
            coded = self._input.learned(X, self)
            weight = weight * X.observed.any(axis=1)
            self.alpha_ = self._fit_model(coded, y, weight, self.alpha, classes=False)
            self._remember(coded)
        return self

    def predict(self, X: Views) -> Array:
        """Targets of the samples; the mean training target where no view is usable."""
        X = self._check_rows(X)
        return np.where(self._reach(X) > 0, self._said(X), self._prior)[:, 0]

    def score(self, X: Views, y: Any, sample_weight: Any = None) -> float:
        """R^2, the share of the targets' variance that is explained; `y` is in the order of the samples."""
        as_targets(self._check_rows(X), y, "target")
        return float(super().score(X, y, sample_weight))
