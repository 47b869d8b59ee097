"""Several labels: each sample has any number of them, and of some it is unknown whether it has them."""

from collections.abc import Sequence
from typing import Any

import numpy as np
from sklearn.pipeline import make_pipeline

from absentia.core import Array
from absentia.data import KernelViews, Views, show_id
from absentia.kernels import CombineKernels
from absentia.methods.catalogue import Entry
from absentia.methods.completion import CVKT
from absentia.methods.matrix import PMAClassifier
from absentia.methods.prediction import PerLabel
from absentia.tasks._base import Metric, Predictions, Targets, Task
from absentia.tasks._plan import Plan
from absentia.tasks.classification import MIN_CLASS_SIZE, MIN_PROBABILITY, Classification, mean_area

#: Of all labels together, which classifiers do not offer.
_PMA_ENTRIES = tuple(
    Entry("classifier", "kernels", "labels", name, "matrix:PMAClassifier", when, compared=("labels",))
    for name, when in {
        "pma": "probabilistic matrix addition on the average kernel, absent = zero; labels tell of one "
        "another",
        "pma-cvkt": "the same on kernels completed by cvkt",
    }.items()
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

    def prepare_targets(self, values: Array, ids: Array, names: Sequence[str] = ()) -> Targets:
        names = tuple(names) or tuple(f"label{j}" for j in range(values.shape[1]))
        columns = [_numbers(column, name) for name, column in zip(names, values.T, strict=True)]
        Y = np.column_stack(columns)
        bad = ~(np.isnan(Y) | (Y == 0) | (Y == 1))
        if bad.any():
            row, column = np.argwhere(bad)[0]
            raise ValueError(
                f"label {names[column]!r} of sample {show_id(ids[row])} is {Y[row, column]:g}; of several "
                "labels each is 1, 0 or unknown (NaN)"
            )
        for name, counts in zip(
            names, zip((Y == 1).sum(axis=0), (Y == 0).sum(axis=0), strict=True), strict=True
        ):
            if min(counts) < MIN_CLASS_SIZE:
                raise ValueError(
                    f"label {name!r} has {counts[0]} samples with it and {counts[1]} without; at least "
                    f"{MIN_CLASS_SIZE} of both are wanted: leave it out"
                )
        return Targets(np.arange(len(Y)), Y, names)

    def check_targets(self, y: Array) -> None:
        """Labels are checked by name, in :meth:`prepare_targets`."""

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
            steps += [CVKT()] if entry.name == "pma-cvkt" else []
            pipeline = make_pipeline(*steps, CombineKernels(), PMAClassifier("precomputed"))
            return Plan(pipeline, kernel, entry=entry, kind="views or kernels")
        classifier = PerLabel(entry.name, kernel=kernel if features else "precomputed")
        kind = "features" if entry.takes == "features" else "views or kernels"
        return Plan(classifier, kernel, entry=entry, kind=kind)

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
            "AUC": mean_area(areas),
            "balanced accuracy": float(np.mean(balanced)) if balanced else None,
            "accuracy": float(right[known].mean()) if known.any() else None,
            "log-loss": float(-np.log(np.clip(own, MIN_PROBABILITY, None)).mean()) if known.any() else None,
        }

    def prior_scores(self, y: Array, train: Array) -> dict[str, float | None]:
        frequencies = np.tile(np.nan_to_num(np.nanmean(train, axis=0), nan=0.5), (len(y), 1))
        return self.scores(y, Predictions((frequencies > 0.5).astype(float), frequencies))

    def sample_scores(self, y: Array, values: Array) -> Array:
        known = ~np.isnan(y)
        right = ((values == y) & known).sum(axis=1) / np.maximum(known.sum(axis=1), 1)
        return np.asarray(np.where(known.any(axis=1), right, np.nan))

    def check_predictions(self, predicted: Array, n_names: int) -> bool:
        return Classification().check_predictions(predicted, 2)


def _numbers(column: Array, name: str) -> Array:
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
        return all(is_unknown(one) for one in row)
    if row is None or (isinstance(row, str) and not row):
        return True
    try:
        return bool(row != row)
    except TypeError:  # pandas' NA says neither
        return True
