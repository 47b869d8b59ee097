"""Times to an event, right-censored: risks of an early one, and their concordance with what happened.

Risks of different folds come from different models, so that only samples of the same fold are compared
with one another.  Intervals are by jackknife: the index is a ratio of sums over pairs, and leaving out
a sample, or a group, takes its pairs from both.
"""

from collections.abc import Mapping, Sequence
from typing import Any

import numpy as np

from absentia.core import Array
from absentia.data import KernelViews, Views, count_groups
from absentia.data.statistics import sum_by_group
from absentia.data.survival import (
    Survival,
    as_survival,
    concordance_index,
    concordant_pairs,
    cumulative_dynamic_auc,
    integrated_brier_score,
    uno_concordance,
)
from absentia.tasks._base import Interval, Metric, Plan, Predictions, Task, jackknife_error, normal_interval

_MIN_EVENTS = 5
_DECILES = np.arange(0.1, 0.95, 0.1)
_ZERO_FILLED, _NO_MODEL = "cox, zero-filled kernels", "no model"


class SurvivalAnalysis(Task):
    """A time and an event for each sample: `y` has the columns time and event (1: it happened)."""

    name, family, simplest = "survival", "survival", "cox-zero"
    metrics = (
        Metric(
            "concordance", True, True, "share of comparable pairs whose risks are in order; 0.5 is chance"
        ),
        Metric("Uno concordance", True, True, "the same, late events weighing as if nobody had been lost"),
        Metric(
            "AUC over time", True, True, "of who has the event by a time against the rest, mean over times"
        ),
        Metric("Brier score", False, False, "mean squared error of survival probabilities over time"),
    )
    prior_name = _NO_MODEL
    wanted = "times and events are wanted: --labels FILE:TIME,EVENT"
    lacking = ("a time or an event", "a time")
    no_view = "no usable view: mean risk returned"
    strength, fold_words = "alpha", "with their share of the events"
    predicted_words = "with a risk"
    region_columns = ("low",)

    def check_targets(self, y: Array) -> None:
        events = int(np.asarray(y)[:, 1].sum()) if len(y) else 0
        if events < _MIN_EVENTS:
            raise ValueError(
                f"{events} event(s) among {len(y)} samples with a view; at least {_MIN_EVENTS} are wanted: "
                "follow them longer, or check which column is the event"
            )

    def _encode(self, values: Array) -> Array:
        return np.column_stack(as_survival(values)).astype(np.float64)

    def align_targets(self, data: Views | KernelViews, y: Any) -> Array:
        return np.column_stack(as_survival(y, data)).astype(np.float64)

    def order_keys(self, y: Array) -> tuple[Array, ...]:
        return y[:, 0], y[:, 1] == 1

    def strata(self, y: Array) -> Array:
        return np.asarray(y[:, 1] == 1)

    def max_folds(self, y: Array, groups: Array | None = None) -> int:
        return count_groups(groups, np.flatnonzero(y[:, 1]))

    def baseline_plans(self, plan: Plan, data: Views | KernelViews) -> dict[str, Plan]:
        """The same regression, absent views zero; on factors, that of all of them side by side."""
        given = plan.estimator.get_params()
        options = {name: given[name] for name in ("alpha", "ties") if name in given}
        if "per_view" in given:
            options |= {"per_view": False}
            return {_ZERO_FILLED: self.plan(plan.name, data, plan.kernel, options=options)}
        return {_ZERO_FILLED: self.plan("cox-zero", data, plan.kernel, options=options)}

    def output_columns(self, fitted: Any) -> list[str]:
        return ["risk", *(f"survival={time:.6g}" for time in _event_quartiles(fitted).tolist())]

    def output_rows(self, fitted: Any, rows: Any) -> tuple[list[list[str]], list[str]]:
        risk = self.predict(fitted, rows).values
        survival = fitted.predict_survival_function(rows, _event_quartiles(fitted))
        cells = [[f"{x:.6g}" for x in row] for row in np.column_stack([risk, survival])]
        return cells, self._remarks(fitted, rows)

    def region_rows(self, fitted: Any, rows: Any, coverage: float) -> tuple[list[list[str]], int]:
        """Times before which the event is not expected; zero says nothing."""
        cells, _ = super().region_rows(fitted, rows, coverage)
        return cells, sum(float(low) == 0 for (low,) in cells)

    def predict(self, fitted: Any, rows: Any) -> Predictions:
        """Risks, and survival at deciles of the times of training at which something happened."""
        risk = super().predict(fitted, rows).values
        if not hasattr(fitted, "event_times_"):
            return Predictions(risk)
        times = np.unique(np.quantile(fitted.event_times_, _DECILES, method="lower"))
        return Predictions(risk, np.asarray(fitted.predict_survival_function(rows, times)), times)

    def predict_prior(self, train: Array, n: int) -> Predictions:
        return Predictions(np.zeros(n))

    def describe(self, fitted: Any, y: Array) -> dict[str, Any]:
        return {"events": int(y[:, 1].sum()), **super().describe(fitted, y)}

    def count_words(self, y: Array) -> list[str]:
        return [f"{int(y[:, 1].sum())} events"]

    def evaluate(
        self, y: Array, predictions: Mapping[str, Predictions], fold: Array, groups: Array | None = None
    ) -> dict[str, dict[str, Any]]:
        times = Survival(y[:, 0], y[:, 1] == 1)
        found = {name: concordance(times, one.values, fold, groups) for name, one in predictions.items()}
        return {name: {"concordance": interval} for name, interval in found.items()}

    def find_strength(self, fitted: Any) -> Any:
        """The penalty alpha, or one for each view."""
        return getattr(fitted, "alpha_", None)

    def scores(self, y: Array, predicted: Predictions) -> dict[str, float | None]:
        time, event = y[:, 0], y[:, 1] == 1
        scores: dict[str, float | None] = dict.fromkeys(metric.name for metric in self.metrics)
        if event.any() and concordant_pairs(time, event, predicted.values)[1].any():
            scores["concordance"] = concordance_index(time, event, predicted.values)
            scores["Uno concordance"] = uno_concordance(time, event, predicted.values)
        if event.any() and predicted.times is not None:
            seen = predicted.times < time.max()
            times, proba = predicted.times[seen], np.asarray(predicted.probabilities)[:, seen]
            at = times[times >= time[event].min()]
            if len(at):
                scores["AUC over time"] = cumulative_dynamic_auc(time, event, predicted.values, at)[1]
            if len(times) > 1:
                scores["Brier score"] = integrated_brier_score(time, event, proba, times)
        return scores


def _event_quartiles(fitted: Any) -> Array:
    """Times by which a quarter, half and three quarters of the times with events in training had come."""
    return np.unique(np.quantile(fitted.event_times_, [0.25, 0.5, 0.75], method="lower"))


def concordance(y: Survival, risk: Array, fold: Array, groups: Array | None = None) -> Interval:
    """The concordance index of samples of the same fold; one half is chance."""
    return normal_interval(*_share_pairs(y, [risk], fold, groups), 0.0, 1.0, groups)


def concordance_gain(
    y: Survival, risk: Array, other: Array, fold: Array, groups: Array | None = None
) -> Interval:
    """How much larger the concordance of `risk` is than that of `other`."""
    return normal_interval(*_share_pairs(y, [risk, other], fold, groups), -1.0, 1.0, groups)


def _share_pairs(
    y: Survival, risks: Sequence[Array], fold: Array, groups: Array | None
) -> tuple[float, float]:
    """The share of pairs within folds that are in order, less that by a second risk, and its error.

    Each pair stands with both of its samples, and is left out with either; with `groups`, with either's.
    """
    right, pairs = _count_pairs(y, risks, fold)
    if not pairs.any():
        raise ValueError("no two samples can be compared: nobody had the event before another's time")
    all_right, all_pairs = right.sum() / 2, pairs.sum() / 2
    if groups is not None:
        cells = np.unique(np.column_stack([fold, groups]), axis=0, return_inverse=True)[1].ravel()
        inside = _count_pairs(y, risks, cells)  # pairs of one group are left out once
        right, pairs = (
            sum_by_group(x - own / 2, groups) for x, own in zip((right, pairs), inside, strict=True)
        )
    left = all_pairs - pairs
    without = np.where(left > 0, (all_right - right) / np.where(left > 0, left, 1.0), all_right / all_pairs)
    return float(all_right / all_pairs), jackknife_error(without)


def _count_pairs(y: Survival, risks: Sequence[Array], cells: Array) -> tuple[Array, Array]:
    """Pairs of each sample that are in order, less those by a second risk, and all, within its cell."""
    right, pairs = np.zeros(len(cells)), np.zeros(len(cells))
    for cell in np.unique(cells):
        own = cells == cell
        if y.event[own].any():
            counts = [concordant_pairs(y.time[own], y.event[own], risk[own]) for risk in risks]
            right[own], pairs[own] = counts[0][0] - sum(right for right, _ in counts[1:]), counts[0][1]
    return right, pairs
