"""Classes: each sample is of one, or has any number of labels, of some of which it is unknown.

A class is decided from probabilities where there are any, by one rule for all methods that are judged
together (:func:`choose_decision`): the best for balanced accuracy, for accuracy, or for costs of mistakes.
"""

from collections.abc import Mapping, Sequence
from dataclasses import replace
from typing import Any

import numpy as np
from sklearn.metrics import roc_auc_score
from sklearn.pipeline import Pipeline, make_pipeline

from absentia.core import Array, list_some, warn
from absentia.data import (
    AbsenceWarning,
    KernelViews,
    Views,
    choose_n_folds,
    count_fewest,
    is_missing,
    show_id,
)
from absentia.data.statistics import sum_by_group
from absentia.kernels import CombineKernels
from absentia.methods.catalogue import Entry
from absentia.methods.learning import align_costs
from absentia.methods.models import Model, check_scores
from absentia.methods.prediction import PerLabel
from absentia.tasks._base import (
    DEFAULT_FOLDS,
    Interval,
    Metric,
    Plan,
    Predictions,
    PreparedTargets,
    Task,
    WeightedScore,
    normal_interval,
)

_MIN_CLASS_SIZE = 3  # with fewer samples, some fold's training part could not be split again
_MIN_PROBABILITY = 1e-6  # in logarithms
_MAX_MISTAKES = 6  # whose costs are said
_AVERAGED, _MAJORITY, _CHEAPEST = "averaged kernel SVM", "most frequent class", "class of least cost"
_COST = Metric("cost", False, False, "mean cost of the mistakes")


def choose_decision(score: str | None, costs: Any, classes: Any) -> Any:
    """What classes are decided by if that score counts: "balanced", "accuracy", or costs (K, K).

    `costs` of mistakes decide where they are given, in any form that ``align_costs`` takes.
    """
    if costs is not None:
        return align_costs(costs, classes)
    return "accuracy" if score is not None and score.lower() == "accuracy" else "balanced"


class Classification(Task):
    """One of several classes; `y` are the classes themselves, or their codes 0, 1, ...

    Parameters
    ----------
    decision : "balanced", "accuracy" or array of shape (K, K)
        What all methods decide by, as :func:`choose_decision` gives it.
    score : str, optional
        The main metric.
    """

    name, family, simplest = "classes", "classifier", "average"
    metrics: tuple[Metric, ...] = (
        Metric("balanced accuracy", True, True, "share of samples that is right, mean over classes"),
        Metric("accuracy", True, True, "share of samples that is right"),
        Metric(
            "AUC", True, True, "area under the ROC curve of each class against the rest, mean over them"
        ),
        Metric("log-loss", False, False, "mean of -log of the probability given to the true class"),
    )
    pattern_metric = metrics[1]
    prior_name = _MAJORITY
    sections = frozenset({"hidden views", "gains"})
    max_validated = 20_000
    wanted = "one class for each sample is wanted: --labels FILE:COLUMN"
    no_view = "no usable view: prior returned"
    strength, fold_words = "C", "stratified by class"
    predicted_words = "classified"
    region_columns = ("set",)

    def __init__(self, decision: Any = "balanced", score: str | None = None) -> None:
        self.decision = decision
        if isinstance(decision, np.ndarray):
            self.metrics, self.prior_name = (_COST, *self.metrics), _CHEAPEST
        self.metrics = self.order_metrics(score)

    def prepare_targets(self, values: Array, ids: Array, names: Sequence[str] = ()) -> PreparedTargets:
        kept = _large_classes(values)
        self.check_targets(values[kept])
        classes, codes = np.unique(values[kept], return_inverse=True)
        return PreparedTargets(kept, codes, tuple(classes.tolist()))

    def check_targets(self, y: Array) -> None:
        classes, counts = np.unique(y, return_counts=True)
        if len(classes) < 2:
            came = f"only the class {show_id(classes[0])}" if len(classes) else "no class"
            raise ValueError(f"{came} among samples with a view; two classes or more are wanted")
        if counts.min() < _MIN_CLASS_SIZE:
            raise ValueError(
                f"class {show_id(classes[counts.argmin()])} has {counts.min()} sample(s) with a view; at "
                f"least {_MIN_CLASS_SIZE} are wanted for cross-validation: give it more, or leave its "
                "labels empty"
            )

    def strata(self, y: Array) -> Array:
        return y

    def max_folds(self, y: Array, groups: Array | None = None) -> int:
        most = count_fewest(y, groups)
        if most < 2:
            raise ValueError(
                "all samples of a class are of one group, without which nothing can be learned of it; give "
                "groups that share the classes, or leave its labels empty"
            )
        return most

    def _suffices(self, y: Array, train: Array, groups: Array | None) -> bool:
        """Samples of every class are among them, where there are groups of two at least."""
        known = None if groups is None else groups[train]
        all_classes = len(np.unique(y[train])) == len(np.unique(y))
        return all_classes and super()._suffices(y, train, groups) and count_fewest(y[train], known) > 1

    def count_folds(self, y: Array, groups: Array | None = None) -> int:
        """Two of many samples (``data.MANY``)."""
        return min(choose_n_folds(len(y), DEFAULT_FOLDS), self.max_folds(y, groups))

    def plan(self, *args: Any, probability: bool = True, **kwargs: Any) -> Plan:
        plan = super().plan(*args, **kwargs)
        options = {"probability": probability, "decision": self.decision}
        own = plan.estimator.get_params(deep=False)
        plan.estimator.set_params(**{name: value for name, value in options.items() if name in own})
        return replace(plan, decision=self.decision)

    def _join(self, kernels: Any, fitted: Any) -> Model:
        return Model(fitted, kernels)

    def baseline_plans(self, plan: Plan, data: Views | KernelViews) -> dict[str, Plan]:
        """A machine on the average of the kernels, absent views read as zero."""
        probability = plan.estimator.get_params(deep=False).get("probability", True)
        options = {"normalize": "rows"}
        average = self.plan("average", data, plan.kernel, options=options, probability=probability)
        return {_AVERAGED: average}

    def predict(self, fitted: Any, rows: Any) -> Predictions:
        if hasattr(fitted, "decision_function"):
            check_scores(rows, np.asarray(fitted.decision_function(rows)))
        if not hasattr(fitted, "predict_proba"):
            return Predictions(np.asarray(fitted.predict(rows)))
        probabilities = np.asarray(fitted.predict_proba(rows))
        check_scores(rows, probabilities)
        return Predictions(fitted.decide(rows, probabilities), probabilities)

    def output_columns(self, fitted: Any) -> list[str]:
        classes = np.asarray(fitted.classes_).tolist()
        if hasattr(fitted, "predict_proba"):
            return ["predicted", *(f"probability={label}" for label in classes)]
        return [
            "predicted",
            *(f"score={label}" for label in (classes if len(classes) > 2 else classes[1:])),
        ]

    def output_rows(self, fitted: Any, rows: Any) -> tuple[list[list[str]], list[str]]:
        """Where weights or costs decide against the most probable class, the remark says them."""
        values, numbers, _ = self.predict(fitted, rows)
        remarks = self._remarks(fitted, rows)
        if numbers is None:
            numbers = np.asarray(fitted.decision_function(rows)).reshape(len(rows), -1)
        else:
            likeliest = np.asarray(fitted.classes_)[numbers.argmax(axis=1)]
            words = f"by {decision_words(fitted)}"
            remarks = [
                remark or (words if other else "")
                for remark, other in zip(remarks, values != likeliest, strict=True)
            ]
        cells = [
            [str(value), *(f"{x:.6g}" for x in row)] for value, row in zip(values, numbers, strict=True)
        ]
        return cells, remarks

    def region_rows(self, fitted: Any, rows: Any, coverage: float) -> tuple[list[list[str]], int]:
        """Names of the classes that may be, in the order of ``classes_``; all of them are "any"."""
        names = [str(label) for label in np.asarray(fitted.classes_).tolist()]
        sets = fitted.calibration_.predict_regions(fitted, rows, coverage)
        whole = " | ".join(names) if "any" in names else "any"
        cells = [
            [whole if row.all() else " | ".join(name for name, has in zip(names, row, strict=True) if has)]
            for row in sets
        ]
        return cells, int(sets.all(axis=1).sum())

    def predict_prior(self, train: Array, n: int) -> Predictions:
        """The most frequent class, or that of least cost."""
        classes, counts = np.unique(train, return_counts=True)
        frequencies = counts / counts.sum()
        costs = frequencies @ self.decision if isinstance(self.decision, np.ndarray) else -frequencies
        return Predictions(np.full(n, classes[costs.argmin()]), np.tile(frequencies, (n, 1)))

    def describe(self, fitted: Any, y: Array) -> dict[str, Any]:
        own = {"classes": np.asarray(fitted.classes_).tolist(), "status": getattr(fitted, "status_", None)}
        return own | super().describe(fitted, y)

    def count_words(self, y: Array) -> list[str]:
        return [f"{len(np.unique(y))} classes"]

    def evaluate(
        self, y: Array, predictions: Mapping[str, Predictions], fold: Array, groups: Array | None = None
    ) -> dict[str, dict[str, Any]]:
        """The main metric first; balanced accuracy has an interval."""
        classes, codes = np.unique(y, return_inverse=True)
        found = {}
        for name, one in predictions.items():
            coded = one._replace(values=np.searchsorted(classes, one.values))
            numbers: dict[str, Any] = self.scores(codes, coded)
            numbers["balanced accuracy"] = balanced_accuracy(y, one.values == y, groups)
            shown = dict.fromkeys([self.main_score, "balanced accuracy", "accuracy"])
            found[name] = {measure: numbers[measure] for measure in shown}
        return found

    def find_strength(self, fitted: Any) -> float | None:
        """C."""
        machine = fitted[-1] if isinstance(fitted, Pipeline) else fitted
        C = getattr(machine, "C_", getattr(machine, "C", None))
        return float(C) if isinstance(C, int | float) else None

    def scores(self, y: Array, predicted: Predictions) -> dict[str, float | None]:
        values, probabilities = predicted.values, predicted.probabilities
        right = values == y
        scores: dict[str, float | None] = dict.fromkeys(metric.name for metric in self.metrics)
        scores |= {"balanced accuracy": balanced_accuracy(y, right).value, "accuracy": float(right.mean())}
        if isinstance(self.decision, np.ndarray):
            scores["cost"] = float(self.decision[y, values].mean())
        if probabilities is not None:
            width = probabilities.shape[1]
            columns = range(1, 2) if width == 2 else range(width)  # of two classes one tells all
            scores["AUC"] = _mean_area([(y == k, probabilities[:, k]) for k in columns])
            own = np.clip(probabilities[np.arange(len(y)), y], _MIN_PROBABILITY, None)
            scores["log-loss"] = float(-np.log(own).mean())
        return scores

    def sample_statistics(self, y: Array, values: Array) -> Array:
        """Whether the class is right, and the cost of the mistake, where there are costs."""
        columns = [y == values]
        if isinstance(self.decision, np.ndarray):
            columns.append(self.decision[y, values.astype(int)])
        return np.column_stack(columns).astype(np.float64)

    def weigh_scores(self, y: Array, statistics: Array, weights: Array) -> dict[str, WeightedScore]:
        means = weights @ statistics
        names = ("accuracy", "cost")[: len(means)]
        found = {
            name: WeightedScore(float(mean), column - mean)
            for name, mean, column in zip(names, means, statistics.T, strict=True)
        }
        right = statistics[:, 0]
        share, hits = np.bincount(y, weights), np.bincount(y, weights * right)
        there = share > 0
        recall = np.where(there, hits / np.where(there, share, 1.0), 0.0)
        per_class = np.where(there, 1 / np.where(there, share, 1.0), 0.0) / there.sum()
        influence = (right - recall[y]) * per_class[y]
        found["balanced accuracy"] = WeightedScore(float(recall[there].mean()), influence)
        return found

    def check_predictions(self, predicted: Array, n_names: int) -> bool:
        return bool(((predicted == np.round(predicted)) & (predicted >= 0) & (predicted < n_names)).all())


def balanced_accuracy(y: Array, right: Array, groups: Array | None = None) -> Interval:
    """Share of samples that is right, mean over the classes that there are, and its 95 % interval.

    `y` has the classes of the samples (n,), `right` whether each was predicted (n,).  Two samples right and
    two wrong are added to every class for the interval (Agresti and Coull, The American Statistician 52,
    1998): a small class of which all are right may have been lucky.  With `groups` (n,) the variance is
    that of sums over groups, and what is added are groups of mean size.
    """
    classes, codes = np.unique(y, return_inverse=True)
    counts, hits = np.bincount(codes), np.bincount(codes, weights=right)
    together = np.arange(len(y)) if groups is None else groups
    sizes = counts / [len(np.unique(together[codes == k])) for k in range(len(classes))]
    totals = counts + 4 * sizes
    shares = (hits + 2 * sizes) / totals
    parts = sum_by_group((right - shares[codes]) / totals[codes], together)
    added = 2 * (sizes / totals) ** 2 * (shares**2 + (1 - shares) ** 2)
    error = np.sqrt((parts**2).sum() + added.sum()) / len(classes)
    return normal_interval(float((hits / counts).mean()), float(error), 0.0, 1.0, groups)


def decision_words(classifier: Any) -> str:
    """By what a class is decided, where that is not its probability alone; else nothing."""
    if not hasattr(classifier, "predict_proba"):
        return ""
    decision, names = classifier.decision_, np.asarray(classifier.classes_).tolist()
    if decision.ndim == 2:
        pairs = np.argwhere(decision > 0).tolist()
        mistakes = [f"{names[k]} taken for {names[j]} {decision[k, j]:.3g}" for k, j in pairs]
        return f"least expected cost ({list_some(mistakes, _MAX_MISTAKES)})"
    weights = decision / decision.min()
    if np.allclose(weights, 1):
        return ""
    words = ", ".join(f"{name} {weight:.3g}" for name, weight in zip(names, weights, strict=True))
    return f"largest probability times weight ({words})"


def _mean_area(pairs: Any) -> float | None:
    """Mean of the areas under the ROC curve, of those in which both kinds are there."""
    areas = [roc_auc_score(truth, score) for truth, score in pairs if len(np.unique(truth)) == 2]
    return float(np.mean(areas)) if areas else None


def _large_classes(values: Array) -> Array:
    """Positions of samples of classes that are large enough to be split; of the others is warned."""
    classes, codes, counts = np.unique(values, return_inverse=True, return_counts=True)
    small = counts < _MIN_CLASS_SIZE
    if (~small).sum() < 2:
        return np.arange(len(values))
    for name in classes[small].tolist():
        warn(
            f"class {show_id(name)} has fewer than {_MIN_CLASS_SIZE} samples with a view, too few for the "
            "folds: left out",
            AbsenceWarning,
        )
    return np.flatnonzero(~small[codes])


# --------------------------------------------------------------------------------------- several labels

#: Of all labels together, which classifiers do not offer.
_PMA = Entry(
    "classifier",
    "views or kernels",
    "labels",
    "pma",
    "matrix:PMAClassifier",
    "probabilistic matrix addition on the average kernel, absent = zero; labels tell of one another",
    compared=("labels",),
    aliases=("PMA-EXACT",),
)
_PMA_ENTRIES = (
    _PMA,
    _PMA.variant("pma-cvkt", "the same on kernels completed by cvkt", {}, compared=("labels",)),
    _PMA.variant("pma-map", "the same by the paper's alternation; slower", {"inference": "map"}),
    _PMA.variant("pma-gibbs", "the same by Gibbs sampling; slower", {"inference": "gibbs"}),
)


class Multilabel(Task):
    """Labels that are 1, 0 or unknown (NaN), samples x labels; one classifier for each, or one for all."""

    name, family, simplest = "labels", "classifier", "average"
    metrics = (
        Metric("AUC", True, True, "area under the ROC curve of each label, mean over labels"),
        Metric("balanced accuracy", True, True, "of each label's known entries, mean over labels"),
        Metric("accuracy", True, True, "share of the known entries that is right"),
        Metric("log-loss", False, False, "mean of -log of the probability given to the known entries"),
    )
    pattern_metric = metrics[2]
    lacking = ("any label", "a label")

    def prepare_targets(self, values: Array, ids: Array, names: Sequence[str] = ()) -> PreparedTargets:
        names = tuple(names) or tuple(f"label{j}" for j in range(values.shape[1]))
        columns = [_label_values(column, name) for name, column in zip(names, values.T, strict=True)]
        Y = np.column_stack(columns)
        bad = ~(np.isnan(Y) | (Y == 0) | (Y == 1))
        if bad.any():
            row, column = np.argwhere(bad)[0]
            raise ValueError(
                f"label {names[column]!r} of sample {show_id(ids[row])} is {Y[row, column]:g}; of several "
                "labels each is 1, 0 or unknown (NaN)"
            )
        for name, label in zip(names, Y.T, strict=True):
            with_it, without = int((label == 1).sum()), int((label == 0).sum())
            if min(with_it, without) < _MIN_CLASS_SIZE:
                raise ValueError(
                    f"label {name!r} has {with_it} samples with it and {without} without; at least "
                    f"{_MIN_CLASS_SIZE} of both are wanted: leave it out"
                )
        return PreparedTargets(np.arange(len(Y)), Y, names)

    def order_keys(self, y: Array) -> tuple[Array, ...]:
        return tuple(np.nan_to_num(y.T, nan=-1.0))

    def _entries(self) -> Sequence[Entry]:
        return [*super()._entries(), *_PMA_ENTRIES]

    def plan(
        self, method: str | Entry, data: Views | KernelViews, kernel: Any = "rbf", **options: Any
    ) -> Plan:
        entry = self.find(method) if isinstance(method, str) else method
        features = isinstance(data, Views)
        if entry in _PMA_ENTRIES:
            steps = [kernel] if features else []
            if entry.name == "pma-cvkt":
                from absentia.methods.completion import CVKT

                steps.append(CVKT())
            pipeline = make_pipeline(*steps, CombineKernels(), entry.make(kernel="precomputed"))
            return Plan(pipeline, kernel, entry=entry)
        classifier = PerLabel(entry.name, kernel=kernel if features else "precomputed")
        takes = "features" if entry.takes == "features" else "views or kernels"  # kernels it makes itself
        return Plan(classifier, kernel, entry=replace(entry, takes=takes))

    def predict(self, fitted: Any, rows: Any) -> Predictions:
        return Predictions(np.asarray(fitted.predict(rows)), np.asarray(fitted.predict_proba(rows)))

    def scores(self, y: Array, predicted: Predictions) -> dict[str, float | None]:
        values, probabilities = predicted.values, np.asarray(predicted.probabilities)
        known = ~np.isnan(y)
        right = values == y
        balanced = []
        for j in range(y.shape[1]):
            parts = [right[y[:, j] == k, j] for k in (0, 1)]
            balanced += [np.mean([part.mean() for part in parts])] if all(map(len, parts)) else []
        own = np.where(y == 1, probabilities, 1 - probabilities)[known]
        areas = [(y[known[:, j], j] == 1, probabilities[known[:, j], j]) for j in range(y.shape[1])]
        return {
            "AUC": _mean_area(areas),
            "balanced accuracy": float(np.mean(balanced)) if balanced else None,
            "accuracy": float(right[known].mean()) if known.any() else None,
            "log-loss": float(-np.log(np.clip(own, _MIN_PROBABILITY, None)).mean())
            if known.any()
            else None,
        }

    def predict_prior(self, train: Array, n: int) -> Predictions:
        frequencies = np.tile(np.nan_to_num(np.nanmean(train, axis=0), nan=0.5), (n, 1))
        return Predictions((frequencies > 0.5).astype(float), frequencies)

    def sample_statistics(self, y: Array, values: Array) -> Array:
        """How many known labels are right, and how many are known."""
        known = ~np.isnan(y)
        return np.column_stack([((values == y) & known).sum(axis=1), known.sum(axis=1)]).astype(np.float64)

    def score_pattern(self, statistics: Array) -> float | None:
        """Each sample counts the same."""
        hits, known = statistics[statistics[:, 1] > 0].T
        return float((hits / known).mean()) if len(known) else None

    def weigh_scores(self, y: Array, statistics: Array, weights: Array) -> dict[str, WeightedScore]:
        hits, known = weights @ statistics
        influence = (statistics[:, 0] - hits / known * statistics[:, 1]) / known
        return {"accuracy": WeightedScore(float(hits / known), influence)}

    def check_predictions(self, predicted: Array, n_names: int) -> bool:
        return Classification().check_predictions(predicted, 2)


def _label_values(column: Array, name: str) -> Array:
    """A label's values; NaN where unknown."""
    try:
        return np.array([np.nan if is_unknown(x) else float(x) for x in column])
    except (TypeError, ValueError):
        other = next(str(x) for x in column if isinstance(x, str) and x)
        raise ValueError(
            f"label {name!r} has the value {other!r}; of several labels each is 1, 0 or unknown"
        ) from None


def is_unknown(row: Any) -> bool:
    """Whether nothing is known: NaN, NA, None or an empty text, of several labels all of them."""
    if isinstance(row, np.ndarray):
        return all(map(is_unknown, row))
    return is_missing(row) or (isinstance(row, str) and not row)
