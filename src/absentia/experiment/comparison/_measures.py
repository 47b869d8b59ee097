"""What is measured of predictions and of completed kernels, and in which words."""

from collections.abc import Mapping
from typing import Any

import numpy as np
from sklearn.metrics import roc_auc_score

from absentia.core import Array
from absentia.data import KernelViews, metrics, ordering
from absentia.experiment._findings import Metric, Task
from absentia.experiment._quality import row_errors

LEAST = 1e-6  # probabilities in logarithms are no smaller

METRICS: Mapping[Task, tuple[Metric, ...]] = {
    "classes": (
        Metric("balanced accuracy", True, True, "share of samples that is right, mean over classes"),
        Metric("accuracy", True, True, "share of samples that is right"),
        Metric(
            "AUC", True, True, "area under the ROC curve, each class against the rest, mean over classes"
        ),
        Metric("log-loss", False, False, "mean of -log of the chance given to the true class"),
    ),
    "numbers": (
        Metric("R2", True, True, "share of the variance that is explained; 0 is the mean of the numbers"),
        Metric("RMSE", False, False, "root of the mean squared error, in units of the numbers"),
    ),
    "labels": (
        Metric("AUC", True, True, "area under the ROC curve of each label, mean over labels"),
        Metric("balanced accuracy", True, True, "of each label's known entries, mean over labels"),
        Metric("accuracy", True, True, "share of the known entries that is right"),
        Metric("log-loss", False, False, "mean of -log of the chance given to the known entries"),
    ),
    "completion": (
        Metric("ARE", False, True, "mean relative error of hidden rows; 1 is as bad as zeros"),
        Metric("CA", False, True, "1 - cosine between hidden rows and what they were completed to"),
        Metric("Frobenius", False, True, "norm of the error of hidden rows relative to their norm"),
        Metric("similarity", True, True, "structural similarity of hidden rows seen as pictures"),
    ),
}


def metrics_of(task: Task, main: str | None = None) -> tuple[Metric, ...]:
    """The metrics of a task, `main` first."""
    found = METRICS[task]
    if main is None:
        return found
    names = [metric.name for metric in found]
    if main not in names:
        raise ValueError(f"metric {main!r} is none of {', '.join(names)}, which there are for {task}")
    return tuple(sorted(found, key=lambda metric: metric.name != main))


# --------------------------------------------------------------------------------------- predictions


def scores(task: Task, y: Array, predicted: Array, probabilities: Array | None) -> dict[str, float | None]:
    """Every metric of the task; None where it cannot be told of these samples."""
    if task == "numbers":
        return _of_numbers(y, predicted)
    if task == "labels":
        return _of_labels(y, predicted, np.asarray(probabilities))
    return _of_classes(y, predicted, np.asarray(probabilities))


def _of_classes(y: Array, predicted: Array, probabilities: Array) -> dict[str, float | None]:
    right = predicted == y
    own = np.clip(probabilities[np.arange(len(y)), y], LEAST, None)
    told = (
        range(1, 2) if probabilities.shape[1] == 2 else range(probabilities.shape[1])
    )  # of two, one tells all
    return {
        "balanced accuracy": float(np.mean([right[y == k].mean() for k in np.unique(y)])),
        "accuracy": float(right.mean()),
        "AUC": _mean_area([(y == k, probabilities[:, k]) for k in told]),
        "log-loss": float(-np.log(own).mean()),
    }


def _of_numbers(y: Array, predicted: Array) -> dict[str, float | None]:
    off, spread = ((y - predicted) ** 2).sum(), ((y - y.mean()) ** 2).sum()
    return {"R2": float(1 - off / spread) if spread > 0 else None, "RMSE": float(np.sqrt(off / len(y)))}


def _of_labels(Y: Array, predicted: Array, probabilities: Array) -> dict[str, float | None]:
    known = ~np.isnan(Y)
    right = predicted == Y
    balanced = []
    for j in range(Y.shape[1]):
        parts = [right[Y[:, j] == k, j] for k in (0, 1)]
        balanced += [np.mean([part.mean() for part in parts])] if all(map(len, parts)) else []
    own = np.where(Y == 1, probabilities, 1 - probabilities)[known]
    areas = [(Y[known[:, j], j] == 1, probabilities[known[:, j], j]) for j in range(Y.shape[1])]
    return {
        "AUC": _mean_area(areas),
        "balanced accuracy": float(np.mean(balanced)) if balanced else None,
        "accuracy": float(right[known].mean()) if known.any() else None,
        "log-loss": float(-np.log(np.clip(own, LEAST, None)).mean()) if known.any() else None,
    }


def _mean_area(pairs: Any) -> float | None:
    """Mean of the areas under the curve of those of which both kinds are there."""
    areas = [roc_auc_score(truth, score) for truth, score in pairs if len(np.unique(truth)) == 2]
    return float(np.mean(areas)) if areas else None


def prior_scores(task: Task, y: Array, train: Array) -> dict[str, float | None]:
    """The same if nothing is known of a sample but how frequent things are in training."""
    if task == "numbers":
        return _of_numbers(y, np.full(len(y), train.mean()))
    if task == "labels":
        chance = np.tile(np.nan_to_num(np.nanmean(train, axis=0), nan=0.5), (len(y), 1))
        return _of_labels(y, (chance > 0.5).astype(float), chance)
    counts = np.bincount(train, minlength=int(max(y.max(), train.max())) + 1)
    chance = np.tile(counts / counts.sum(), (len(y), 1))
    return _of_classes(y, np.full(len(y), counts.argmax()), chance)


# ----------------------------------------------------------------------------------------- completion


def completion_scores(
    truth: KernelViews, completed: KernelViews, cells: Array
) -> dict[str, dict[str, float | None]]:
    """Every metric on the rows of hidden cells: the mean over views, and view by view."""
    cells = cells[np.argsort(ordering(truth).numbers[cells[:, 0]], kind="stable")]
    errors, misaligned = row_errors(truth, completed, cells)
    by_view: dict[str, dict[str, float | None]] = {}
    for v, name in enumerate(truth.names):
        own = cells[:, 1] == v
        if own.any():
            K, K_hat = hidden_rows(truth, completed, cells[own, 0], v)
            size = truth.mean_diagonal(name) or 1.0
            relative = errors[own][~np.isnan(errors[own])]
            by_view[name] = {
                "ARE": _number(relative.mean() if len(relative) else np.nan),
                "CA": _number(misaligned[v]),
                "Frobenius": _number(np.linalg.norm(K_hat - K) / np.maximum(np.linalg.norm(K), 1e-300)),
                "similarity": _number(metrics.similarity_of_rows(K, K_hat, data_range=2 * size)),
            }
    names = [metric.name for metric in METRICS["completion"]]
    told = {name: [one[name] for one in by_view.values() if one[name] is not None] for name in names}
    overall = {name: _number(np.mean(np.array(x, float))) if x else None for name, x in told.items()}
    return {"": overall, **by_view}


def hidden_rows(truth: KernelViews, completed: KernelViews, rows: Array, v: int) -> tuple[Array, Array]:
    """Rows of a view's kernel, true and completed, over the samples that have the view.

    Columns are in an order that the data decide: neighbours in a picture have to be the same ones
    whatever order samples come in.
    """
    name, has = truth.names[v], np.flatnonzero(truth.observed[:, v])
    columns = ordering(truth).among(has)
    K = truth.operator(name).block(np.searchsorted(has, rows), columns)
    return np.asarray(K), np.asarray(completed.operator(name).block(rows, has[columns]))


def _number(value: Any) -> float | None:
    if np.isinf(value):
        raise ValueError("gave values that are not finite")
    return None if np.isnan(value) else float(value)
