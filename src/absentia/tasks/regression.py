"""Numbers: the share of their variance that is explained, with intervals, and errors.

Folds have their share of small and large targets.  Intervals are by jackknife: the share that is not
explained is a ratio of two sums over samples, and leaving out a sample, or a group, takes its part from
both.
"""

from collections.abc import Mapping
from typing import Any, NamedTuple

import numpy as np

from absentia.core import Array
from absentia.data import KernelViews, Views
from absentia.data.statistics import sum_by_group
from absentia.tasks._base import (
    Interval,
    Metric,
    Plan,
    Predictions,
    Task,
    WeightedScore,
    jackknife_error,
    normal_interval,
)

_MIN_NUMBERS = 10
_MEAN = "mean of the targets"


class Regression(Task):
    """A number for each sample."""

    name, family, simplest = "numbers", "regressor", "ridge-zero"
    metrics = (
        Metric("R2", True, True, "share of the variance that is explained; 0 is the mean of the numbers"),
        Metric("RMSE", False, False, "root of the mean squared error, in units of the numbers"),
    )
    pattern_metric = metrics[1]
    prior_name = _MEAN
    sections = frozenset({"hidden views"})
    wanted = "one number for each sample is wanted: --labels FILE:COLUMN"
    lacking = ("a number", "a number")
    selection = "chosen by leaving one sample out"
    predicted_words = "with a number"
    fold_words = "with their share of small and large numbers"

    def check_targets(self, y: Array) -> None:
        y = np.asarray(y, dtype=np.float64)
        if not np.isfinite(y).all():
            raise ValueError(
                f"{int((~np.isfinite(y)).sum())} number(s) are infinite; correct or empty them"
            )
        if len(y) < _MIN_NUMBERS:
            raise ValueError(
                f"{len(y)} sample(s) with a number and a view; at least {_MIN_NUMBERS} are wanted"
            )
        if (y == y[0]).all():
            raise ValueError(f"all {len(y)} numbers are {y[0]:g}; there is nothing to learn")

    def align_targets(self, data: Views | KernelViews, y: Any) -> Array:
        return np.asarray(super().align_targets(data, y), dtype=np.float64)

    def strata(self, y: Array) -> Array:
        """Fifths of the targets."""
        return np.searchsorted(np.quantile(y, [0.2, 0.4, 0.6, 0.8]), y)

    def baseline_plans(self, plan: Plan, data: Views | KernelViews) -> dict[str, Plan]:
        names = ["ridge-zero", "forest-regression"] if isinstance(data, Views) else ["ridge-zero"]
        return {name: self.plan(name, data, plan.kernel) for name in names if name != plan.name}

    def predict_prior(self, train: Array, n: int) -> Predictions:
        return Predictions(np.full(n, train.mean()))

    def evaluate(
        self, y: Array, predictions: Mapping[str, Predictions], fold: Array, groups: Array | None = None
    ) -> dict[str, dict[str, Any]]:
        found = {name: errors(y, one.values, groups) for name, one in predictions.items()}
        return {name: {"R2": one.r2, "RMSE": one.rmse, "MAE": one.mae} for name, one in found.items()}

    def find_strength(self, fitted: Any) -> float | None:
        """The penalty of ridge regression."""
        penalty = getattr(fitted, "penalty_", getattr(fitted, "alpha_", None))
        return None if penalty is None or penalty != penalty else float(penalty)

    def scores(self, y: Array, predicted: Predictions) -> dict[str, float | None]:
        off, spread = ((y - predicted.values) ** 2).sum(), ((y - y.mean()) ** 2).sum()
        r2 = float(1 - off / spread) if spread > 0 else None
        return {"R2": r2, "RMSE": float(np.sqrt(off / len(y)))}

    def sample_statistics(self, y: Array, values: Array) -> Array:
        """Squared errors."""
        return np.asarray((y - values) ** 2)[:, None]

    def score_pattern(self, statistics: Array) -> float | None:
        return float(np.sqrt(statistics.mean())) if len(statistics) else None

    def weigh_scores(self, y: Array, statistics: Array, weights: Array) -> dict[str, WeightedScore]:
        off, deviations = statistics[:, 0], (y - weights @ y) ** 2
        mean, spread = float(weights @ off), float(weights @ deviations)
        root = np.sqrt(mean)
        found = {"RMSE": WeightedScore(root, (off - mean) / (2 * root) if root > 0 else 0 * off)}
        if spread > 0:
            found["R2"] = WeightedScore(1 - mean / spread, (deviations * mean / spread - off) / spread)
        return found


class Errors(NamedTuple):
    """How far off predictions are."""

    r2: Interval
    rmse: float
    mae: float


def errors(y: Array, predicted: Array, groups: Array | None = None) -> Errors:
    """R2, the share of the targets' variance that is explained, and errors in units of the targets."""
    off = y - predicted
    value, error = _share(y, off**2, groups)
    r2 = normal_interval(1 - value, error, -np.inf, 1.0, groups)
    return Errors(r2, float(np.sqrt(np.mean(off**2))), float(np.abs(off).mean()))


def explained_more(y: Array, predicted: Array, other: Array, groups: Array | None = None) -> Interval:
    """How much larger R2 is with `predicted` than with `other`."""
    value, error = _share(y, (y - other) ** 2 - (y - predicted) ** 2, groups)
    return normal_interval(value, error, -np.inf, np.inf, groups)


def _share(y: Array, parts: Array, groups: Array | None) -> tuple[float, float]:
    """The sum of `parts` as a share of the targets' squared deviations, and its standard error."""
    groups = np.arange(len(y)) if groups is None else groups
    deviations, total = y - y.mean(), ((y - y.mean()) ** 2).sum()
    sizes, sums, squares, own = (
        sum_by_group(values, groups) for values in (np.ones(len(y)), deviations, deviations**2, parts)
    )
    left = total - squares - sums**2 / (len(y) - sizes)  # around the mean of those that are left
    without = (parts.sum() - own) / np.maximum(left, 1e-300)
    return float(parts.sum() / total), jackknife_error(without)
