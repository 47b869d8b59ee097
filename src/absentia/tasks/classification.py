"""Classes: each sample is of one.

A class is decided by probabilities where there are any: the predicted class has the largest product of its
probability and its weight.  Weights are 1, but for methods that favour rare classes and say by how much
(:func:`class_weights`).
"""

from collections.abc import Mapping, Sequence
from typing import Any

import numpy as np
from sklearn.metrics import roc_auc_score
from sklearn.pipeline import Pipeline

from absentia.core import Array, warn
from absentia.data import AbsenceWarning, KernelViews, Views, choose_n_folds, show_id
from absentia.methods.learning import AverageKernelSVC
from absentia.methods.models import Model, check_scores
from absentia.tasks._base import DEFAULT_FOLDS, Metric, Predictions, Targets, Task, view_weights
from absentia.tasks._plan import Plan

MIN_CLASS_SIZE = 3  # with fewer samples, some fold's training part could not be split again
MIN_PROBABILITY = 1e-6  # in logarithms
AVERAGED, _MAJORITY = "averaged kernel SVM", "most frequent class"


class Classification(Task):
    """One of several classes; `y` are the classes themselves, or their codes 0, 1, ..."""

    name, family, simplest = "classes", "classifier", "average"
    metrics = (
        Metric("balanced accuracy", True, True, "share of samples that is right, mean over classes"),
        Metric("accuracy", True, True, "share of samples that is right"),
        Metric(
            "AUC", True, True, "area under the ROC curve, each class against the rest, mean over classes"
        ),
        Metric("log-loss", False, False, "mean of -log of the probability given to the true class"),
    )
    pattern_metric = metrics[1]
    main_score = "accuracy"
    prior_name = _MAJORITY
    sections = frozenset({"hidden views", "contributions"})
    max_validated = 20_000
    wanted = "one class for each sample is wanted: --labels FILE:COLUMN"
    no_view = "no usable view: prior returned"
    strength, fold_words = "C", "stratified by class"
    predicted_words = "classified"

    def prepare_targets(self, values: Array, ids: Array, names: Sequence[str] = ()) -> Targets:
        kept = _large_classes(values)
        self.check_targets(values[kept])
        classes, codes = np.unique(values[kept], return_inverse=True)
        return Targets(kept, codes, tuple(classes.tolist()))

    def check_targets(self, y: Array) -> None:
        classes, counts = np.unique(y, return_counts=True)
        if len(classes) < 2:
            came = f"only the class {show_id(classes[0])}" if len(classes) else "no class"
            raise ValueError(f"{came} among samples with a view; two classes or more are wanted")
        if counts.min() < MIN_CLASS_SIZE:
            raise ValueError(
                f"class {show_id(classes[counts.argmin()])} has {counts.min()} sample(s) with a view; at "
                f"least {MIN_CLASS_SIZE} are wanted for cross-validation: give it more, or leave its "
                "labels empty"
            )

    def strata(self, y: Array) -> Array:
        return y

    def max_folds(self, y: Array) -> int:
        return int(np.unique(y, return_counts=True)[1].min())

    def count_folds(self, y: Array) -> int:
        """Two of many samples (``data.MANY``)."""
        return min(choose_n_folds(len(y), DEFAULT_FOLDS), self.max_folds(y))

    def plan(self, *args: Any, probability: bool = True, **kwargs: Any) -> Plan:
        plan = super().plan(*args, **kwargs)
        if "probability" in plan.estimator.get_params():
            plan.estimator.set_params(probability=probability)
        return plan

    def _join(self, kernels: Any, fitted: Any) -> Model:
        return Model(fitted, kernels)

    def baseline_plans(self, plan: Plan, data: Views | KernelViews) -> dict[str, Plan]:
        """A machine on the average of the kernels, absent views read as zero."""
        return {AVERAGED: Plan(AverageKernelSVC(C="cv", normalize="rows"), plan.kernel, kind="kernels")}

    def predict(self, fitted: Any, rows: Any) -> Predictions:
        if hasattr(fitted, "decision_function"):
            check_scores(rows, np.asarray(fitted.decision_function(rows)))
        if not hasattr(fitted, "predict_proba"):
            return Predictions(np.asarray(fitted.predict(rows)))
        probabilities = np.asarray(fitted.predict_proba(rows))
        check_scores(rows, probabilities)
        chosen = (probabilities * class_weights(fitted)).argmax(axis=1)
        if hasattr(fitted, "unusable"):  # of these the most frequent class is all there is to say
            chosen = np.where(fitted.unusable(rows), probabilities.argmax(axis=1), chosen)
        return Predictions(np.asarray(fitted.classes_)[chosen], probabilities)

    def output_columns(self, fitted: Any) -> list[str]:
        classes = np.asarray(fitted.classes_).tolist()
        if hasattr(fitted, "predict_proba"):
            return ["predicted", *(f"probability={label}" for label in classes)]
        return [
            "predicted",
            *(f"score={label}" for label in (classes if len(classes) > 2 else classes[1:])),
        ]

    def output_rows(self, fitted: Any, rows: Any) -> tuple[list[list[str]], list[str]]:
        """Where weights of the classes decide against the most probable one, the remark says them."""
        values, numbers = self.predict(fitted, rows)
        remarks = self._remarks(fitted, rows)
        if numbers is None:
            numbers = np.asarray(fitted.decision_function(rows)).reshape(len(rows), -1)
        else:
            likeliest = np.asarray(fitted.classes_)[numbers.argmax(axis=1)]
            words = f"by {weight_words(fitted)}"
            remarks = [
                remark or (words if other else "")
                for remark, other in zip(remarks, values != likeliest, strict=True)
            ]
        cells = [
            [str(value), *(f"{x:.6g}" for x in row)] for value, row in zip(values, numbers, strict=True)
        ]
        return cells, remarks

    def predict_prior(self, train: Array, n: int) -> Any:
        classes, counts = np.unique(train, return_counts=True)
        return classes[counts.argmax()]

    def describe(self, fitted: Any, y: Array) -> dict[str, Any]:
        return {
            "classes": np.asarray(fitted.classes_).tolist(),
            "C": self.find_strength(fitted),
            "status": getattr(fitted, "status_", None),
            "weights": view_weights(fitted),
            "candidates": getattr(fitted, "candidates_", None),
        }

    def count_words(self, y: Array) -> list[str]:
        return [f"{len(np.unique(y))} classes"]

    def judge(self, y: Array, predicted: Mapping[str, Array], fold: Array) -> dict[str, dict[str, Any]]:
        return {name: {"accuracy": float((values == y).mean())} for name, values in predicted.items()}

    def find_strength(self, fitted: Any) -> float | None:
        """C."""
        machine = fitted[-1] if isinstance(fitted, Pipeline) else fitted
        C = getattr(machine, "C_", getattr(machine, "C", None))
        return float(C) if isinstance(C, int | float) else None

    def scores(self, y: Array, predicted: Predictions) -> dict[str, float | None]:
        values, probabilities = predicted.values, np.asarray(predicted.probabilities)
        right = values == y
        own = np.clip(probabilities[np.arange(len(y)), y], MIN_PROBABILITY, None)
        width = probabilities.shape[1]
        told = range(1, 2) if width == 2 else range(width)  # of two classes one tells all
        return {
            "balanced accuracy": float(np.mean([right[y == k].mean() for k in np.unique(y)])),
            "accuracy": float(right.mean()),
            "AUC": mean_area([(y == k, probabilities[:, k]) for k in told]),
            "log-loss": float(-np.log(own).mean()),
        }

    def prior_scores(self, y: Array, train: Array) -> dict[str, float | None]:
        counts = np.bincount(train, minlength=int(max(y.max(), train.max())) + 1)
        frequencies = np.tile(counts / counts.sum(), (len(y), 1))
        return self.scores(y, Predictions(np.full(len(y), counts.argmax()), frequencies))

    def sample_scores(self, y: Array, values: Array) -> Array:
        return np.asarray(y == values, dtype=np.float64)

    def check_predictions(self, predicted: Array, n_names: int) -> bool:
        return bool(((predicted == np.round(predicted)) & (predicted >= 0) & (predicted < n_names)).all())


def class_weights(classifier: Any) -> Array:
    """Weights of the classes that a fitted classifier decides by, the least of them 1."""
    weights = getattr(classifier, "decision_weights_", np.ones(len(classifier.classes_)))
    return np.asarray(weights / np.min(weights))


def weight_words(classifier: Any) -> str:
    """By what a class is decided, where that is not its probability alone; else nothing."""
    weights = class_weights(classifier)
    if np.allclose(weights, 1):
        return ""
    names = np.asarray(classifier.classes_).tolist()
    words = ", ".join(f"{name} {weight:.3g}" for name, weight in zip(names, weights, strict=True))
    return f"probability times weight ({words})"


def mean_area(pairs: Any) -> float | None:
    """Mean of the areas under the ROC curve, of those in which both kinds are there."""
    areas = [roc_auc_score(truth, score) for truth, score in pairs if len(np.unique(truth)) == 2]
    return float(np.mean(areas)) if areas else None


def _large_classes(values: Array) -> Array:
    """Positions of samples of classes that are large enough to be split; of the others is warned."""
    classes, codes, counts = np.unique(values, return_inverse=True, return_counts=True)
    small = counts < MIN_CLASS_SIZE
    if (~small).sum() < 2:
        return np.arange(len(values))
    for name in classes[small].tolist():
        warn(
            f"class {show_id(name)} has fewer than {MIN_CLASS_SIZE} samples with a view, too few for the "
            "folds: left out",
            AbsenceWarning,
        )
    return np.flatnonzero(~small[codes])
