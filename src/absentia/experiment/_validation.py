"""How well a classifier does on samples it has not seen, beside two baselines on the same folds.

Everything is learned inside a fold's training part: the kernels' scales and widths, C, the machine, its
calibration.  The baselines are a support vector machine on the average of the kernels, absent views read as
zero (:class:`absentia.CombineKernels`, its C chosen in the same way), and the most frequent class.

Folds are cut by what the samples are, not by where they stand: the order of the samples changes none of it.
Of many samples (``data.MANY``) there are two folds instead of five, C is chosen on some of them, and the
average is of kernels as they are, of factors where these are factors.
"""

import warnings
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, replace
from numbers import Real
from typing import Any

import numpy as np
from sklearn.base import clone
from sklearn.pipeline import make_pipeline
from sklearn.svm import SVC

from absentia.core import Array, Progress
from absentia.data import (
    MANY,
    KernelViews,
    Views,
    feature_profiles,
    folds,
    kernel_profiles,
    sample_order,
    shown,
    some_of,
    suited_folds,
)
from absentia.experiment._readings import Gain, Readings
from absentia.kernels import CombineKernels, ViewKernels
from absentia.methods.learning import AverageKernelSVC
from absentia.methods.models import Model

GRID = (0.1, 1.0, 10.0, 100.0)
FOLDS, INNER_FOLDS = 5, 3
TRIALS = 20  # steps that a fit of many fits is shown as
FEWEST = 3  # samples of a class: with less, some fold's training part could not be split again
Tick = Callable[[], None]


@dataclass(frozen=True)
class Plan:
    """What to learn with: an unfitted classifier, the kernel of feature views, C or None to choose it.

    C is chosen only for classifiers that have one, and kernels are made only for those that take them.
    """

    classifier: Any
    kernel: str | ViewKernels = "rbf"
    C: float | None = None

    @property
    def searched(self) -> bool:
        """Whether C is to be chosen."""
        return self.C is None and price(self.classifier) is not None

    @property
    def takes_kernels(self) -> bool:
        return bool(self.classifier.__sklearn_tags__().input_tags.pairwise)

    def suited(self, data: Views | KernelViews) -> "Plan":
        """The same for these data: classifiers that make kernels themselves make those of the plan."""
        own = self.classifier.get_params().get("kernel")
        if own is None or not hasattr(self.classifier, "kernel"):
            return self
        if isinstance(data, KernelViews):
            own = "precomputed"
        elif isinstance(own, str) and own == "rbf":
            own = self.kernel
        elif isinstance(own, str) and isinstance(self.kernel, ViewKernels):  # logarithms and the like stay
            own = clone(self.kernel).set_params(kernel=own)
        return replace(self, classifier=clone(self.classifier).set_params(kernel=own))

    def steps(self, y: Array, validate: bool) -> int:
        """How often :func:`learn`, and :func:`cross_validate` if wanted, call ``tick``."""
        search = len(GRID) if self.searched else 0
        fit = search + (TRIALS if _tells(self.classifier) else 1)
        folds = min(suited_folds(len(y), FOLDS), _fewest(y)) if validate else 0
        return fit + folds * (fit + len(GRID))


@dataclass(frozen=True, eq=False)
class Validation:
    """Out-of-fold results, one row per sample."""

    predicted: Array
    averaged: Array
    majority: Array
    probabilities: Array | None  # samples x classes
    prices: tuple[float, ...]  # C of every fold, if there is one
    averaged_prices: tuple[float, ...]
    scores: Array | None = None  # samples x classes, of the decision function
    without: Array | None = None  # samples x views: what is predicted if the sample lacked that view
    parts: Array | None = None  # samples x views x classes: what the view adds to the decision
    exact: bool = False  # whether parts are those of the scores, or differences that hiding makes
    gains: Sequence[Gain] | None = None  # what one more view is worth; None: it cannot be told

    @property
    def n_folds(self) -> int:
        return len(self.averaged_prices)


def price(classifier: Any) -> float | None:
    """The C that a classifier has, or has chosen itself; None: it has none, or none yet."""
    C = getattr(classifier, "C_", getattr(classifier, "C", None))
    return float(C) if isinstance(C, Real) else None


def learn(data: Views | KernelViews, y: Array, plan: Plan, tick: Tick = lambda: None) -> Model:
    """Kernels, C and classifier, all learned from these samples."""
    data.demand_order(y)
    y, plan = np.asarray(y), plan.suited(data)
    if not plan.takes_kernels:
        return Model(fitted(_features(data, plan), y, plan, tick))
    makes, kernels = training_kernels(data, plan.kernel)
    return Model(fitted(kernels, y, plan, tick), makes)


def _features(data: Views | KernelViews, plan: Plan) -> Views:
    if not isinstance(data, Views):
        name = type(plan.classifier).__name__
        raise ValueError(f"{name} takes features, but kernels came; give the features, or another method")
    return data


def _halves(data: Views | KernelViews, plan: Plan, train: Array, test: Array) -> tuple[Views, Views]:
    features = _features(data, plan)
    return features[train], features[test]


def training_kernels(
    data: Views | KernelViews, kernel: str | ViewKernels
) -> tuple[ViewKernels | None, KernelViews]:
    """Square kernels, and what makes rows of new samples if they came from features."""
    if isinstance(data, KernelViews):
        return None, data
    makes = clone(kernel) if isinstance(kernel, ViewKernels) else ViewKernels(kernel)
    return makes, makes.fit_transform(data)


def fitted(X: Views | KernelViews, y: Array, plan: Plan, tick: Tick) -> Any:
    """The classifier, with its C chosen first if it is to be."""
    classifier = clone(plan.classifier)
    if plan.searched:
        quick = clone(classifier)
        if "probability" in quick.get_params():
            quick.set_params(probability=False)
        classifier.set_params(C=best_C(quick, "C", X, y, tick))
    elif plan.C is not None:
        classifier.set_params(C=plan.C)
    with _told(classifier, tick):
        return classifier.fit(X, y)


def _tells(classifier: Any) -> bool:
    """Whether a fit is many fits, and tells of them."""
    return "candidates" in classifier.get_params()


@contextmanager
def _told(classifier: Any, tick: Tick) -> Iterator[None]:
    """Ticks for a fit inside: one at the end, or :data:`TRIALS` on the way if it tells of its steps."""
    done, steps = 0, TRIALS if _tells(classifier) else 1

    def tell(progress: Progress) -> None:
        nonlocal done
        while done < progress.iteration * steps // progress.max_iter and done < steps - 1:
            done += 1
            tick()

    if steps > 1:
        classifier.set_params(callback=tell)
    yield
    if steps > 1:
        classifier.set_params(callback=None)
    for _ in range(steps - done):
        tick()


def best_C(estimator: Any, name: str, X: Views | KernelViews, y: Array, tick: Tick) -> float:
    """The C of :data:`GRID` with the most samples right when held out; the least of equals."""
    if len(y) > MANY:
        some = spaced(X, y, MANY // 2)  # enough to choose by
        X, y = _part(X, some, some), y[some]
    parts = folds(sample_order(_profiles(X), X.observed, y), y, min(INNER_FOLDS, _fewest(y)))
    right = []
    for C in GRID:
        count = 0
        for train, test in parts:
            machine = clone(estimator).set_params(**{name: C})
            with quiet():
                machine.fit(_part(X, train, train), y[train])
                count += int((machine.predict(_part(X, test, train)) == y[test]).sum())
        right.append(count)
        tick()
    return GRID[int(np.argmax(right))]


def spaced(X: Views | KernelViews, y: Array, most: int) -> Array:
    """Positions of at most about `most` samples, evenly spaced in an order that the data decide."""
    order = sample_order(_profiles(X), X.observed, y)
    return np.sort(order[some_of(y[order], most)])


def _profiles(X: Views | KernelViews) -> Any:
    return feature_profiles(X) if isinstance(X, Views) else kernel_profiles(X)


def _part(X: Views | KernelViews, rows: Array, columns: Array) -> Any:
    """Samples `rows`, of kernels against `columns`."""
    return X[rows] if isinstance(X, Views) else X[np.ix_(rows, columns)]


def cross_validate(
    data: Views | KernelViews, y: Array, plan: Plan, tick: Tick = lambda: None, seed: int = 0
) -> Validation:
    """Out-of-fold predictions of the method and of the baselines, on the same folds."""
    data.demand_order(y)
    y, plan = np.asarray(y), plan.suited(data)
    classes = np.unique(y)
    predicted, averaged, majority = (np.empty_like(y) for _ in range(3))
    wanted = hasattr(plan.classifier, "predict_proba")
    probabilities, scores = (np.zeros((len(y), len(classes))) for _ in range(2))
    without = np.empty(data.observed.shape, dtype=y.dtype)
    chosen, averaged_prices = [], []
    k = min(suited_folds(len(y), FOLDS), _fewest(y))
    cut = folds(sample_order(_profiles(data), data.observed, y), y, k, seed)
    readings = Readings(data, len(classes), len(cut))
    for train, test in cut:
        with quiet():
            makes, kernels = training_kernels(_part(data, train, train), plan.kernel)
            rows = makes.transform(data[test]) if makes else _part(data, test, train)
            own = (kernels, rows) if plan.takes_kernels else _halves(data, plan, train, test)
            classifier = fitted(own[0], y[train], plan, tick)
            predicted[test] = classifier.predict(own[1])
            scores[test] = _scores(classifier, own[1])
            without[test] = _without_each(classifier, own[1], predicted[test])
            if wanted:
                probabilities[test] = classifier.predict_proba(own[1])
            model = Model(classifier, makes if plan.takes_kernels else None)
            readings.read(model, train, test, own[1], probabilities[test] if wanted else None)
            average, C_name = _averaged_machine(len(train))
            C = best_C(average, C_name, kernels, y[train], tick)
            averaged[test] = average.set_params(**{C_name: C}).fit(kernels, y[train]).predict(rows)
        values, sizes = np.unique(y[train], return_counts=True)
        majority[test] = values[sizes.argmax()]
        chosen += [] if (C_ := price(classifier)) is None else [C_]
        averaged_prices.append(C)
    return Validation(
        *(predicted, averaged, majority),
        probabilities if wanted else None,
        *(tuple(chosen), tuple(averaged_prices)),
        *(scores, without, readings.parts),
        readings.exact,
        readings.gains if wanted else None,
    )


def _averaged_machine(n: int) -> tuple[Any, str]:
    """The baseline, and what its C is called; on factors, where samples are many."""
    if n > MANY:
        return AverageKernelSVC(normalize="rows"), "C"
    return make_pipeline(CombineKernels(), SVC(kernel="precomputed")), "svc__C"


def _scores(classifier: Any, rows: Views | KernelViews) -> Array:
    """Scores by class; of two classes the one's are the other's turned round."""
    scores = np.asarray(classifier.decision_function(rows))
    return np.column_stack([-scores, scores]) if scores.ndim == 1 else scores


def _without_each(classifier: Any, rows: Views | KernelViews, predicted: Array) -> Array:
    """What the fitted classifier says of each sample (row) with each view (column) hidden from it."""
    said = np.tile(predicted[:, None], rows.observed.shape[1])
    for v, has in enumerate(rows.observed.T):
        if has.any():
            keep = rows.observed.copy()
            keep[:, v] = False
            said[has, v] = classifier.predict(rows.hide(keep))[has]
    return said


def check_classes(y: Array) -> None:
    """Raise unless there are two classes or more, each large enough for the folds."""
    classes, counts = np.unique(y, return_counts=True)
    if len(classes) < 2:
        came = f"only the class {shown(classes[0])}" if len(classes) else "no class"
        raise ValueError(f"{came} among samples with a view; two classes or more are wanted")
    if counts.min() < FEWEST:
        raise ValueError(
            f"class {shown(classes[counts.argmin()])} has {counts.min()} sample(s) with a view; at least "
            f"{FEWEST} are wanted for cross-validation: give it more, or leave its labels empty"
        )


def _fewest(y: Array) -> int:
    """Samples of the rarest class."""
    return int(np.unique(y, return_counts=True)[1].min())


def quiet() -> Any:
    """Inside, no warnings: those of the fit on all samples are the ones to read."""
    return warnings.catch_warnings(action="ignore")
