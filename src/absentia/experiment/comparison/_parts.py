"""Parts of the results beside the table: by pattern, by view, curves, confusion, kernels."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from typing import TYPE_CHECKING, Any

import numpy as np

from absentia.core import Array
from absentia.data import statistics
from absentia.experiment.comparison._performing import decode_map
from absentia.experiment.engine import Record
from absentia.experiment.results import Contrast, CurvePoint, KernelMaps, PatternScores, ViewWorth
from absentia.tasks import Interval, Metric

if TYPE_CHECKING:
    from absentia.experiment.comparison._summary import Summary

TOP_PATTERNS = 8


def make_parts(summary: Summary) -> dict[str, Any]:
    """Fields of :class:`ComparisonResults`."""
    worth = list(_views(summary))
    return {
        "group_metric": summary.data.task.pattern_metric,
        "patterns": list(_patterns(summary)),
        "views": worth,
        "views_with": summary.simplest if worth else "",
        "curves": list(_curves(summary)),
        "classes": [str(name) for name in summary.data.classes],
        "confusion": _confusion(summary),
        "kernels": _kernels(summary.records),
    }


def scores_by_fold(records: Sequence[Record], metric: str) -> dict[tuple[int, int], float]:
    """Scores by repeat and fold, of trials that are done and could be measured."""
    found = {}
    for record in records:
        value = record.result.get("scores", {}).get(metric) if record.done else None
        if value is not None:
            found[int(record.trial["repeat"]), int(record.trial["fold"])] = float(value)
    return dict(sorted(found.items()))


def interval(values: Array, metric: Metric, share: float, shift: float = 0.0) -> Interval:
    """Mean and interval of scores of overlapping folds, as far as scores go; no interval of one."""
    t = statistics.corrected_resampled_t(values, share) if len(values) > 1 else None
    numbers = (t.mean, t.low, t.high) if t else (float(values.mean()), np.nan, np.nan)
    return Interval(*(float(x) for x in np.clip(np.array(numbers) + shift, *metric.range)))


# ------------------------------------------------------------------------------------------ by pattern


def _patterns(summary: Summary) -> Iterator[PatternScores]:
    if summary.data.task.pattern_metric is None:
        return
    names = [row.method for row in summary.rows if row.scores]
    each = {name: loss for name in names if (loss := _per_sample(summary, name)) is not None}
    observed = summary.data.data.observed
    masks, member, counts = np.unique(observed, axis=0, return_inverse=True, return_counts=True)
    top = np.argsort(-counts, kind="stable")[:TOP_PATTERNS]
    for p in top:
        yield _group(summary, masks[p], np.ravel(member) == p, each)
    rest = ~np.isin(np.ravel(member), top)
    if rest.any():
        yield _group(summary, np.zeros(0, bool), rest, each)


def _group(summary: Summary, mask: Array, rows: Array, each: dict[str, Array]) -> PatternScores:
    names = summary.data.data.names
    words = _words(mask, names) if len(mask) else "other patterns together"
    scores = {}
    for method, values in each.items():
        known = values[rows][~np.isnan(values[rows])]
        if len(known):
            scores[method] = summary.data.task.average_scores(known)
    return PatternScores(words, tuple(mask.tolist()), int(rows.sum()), scores)


def _words(mask: Array, names: Sequence[str]) -> str:
    if mask.all():
        return "every view"
    if mask.sum() == 1:
        return f"only {names[int(np.argmax(mask))]}"
    return "without " + ", ".join(name for name, has in zip(names, mask, strict=True) if not has)


def _per_sample(summary: Summary, method: str) -> Array | None:
    """Mean over repeats of being right, or of the squared error; NaN of samples never held out."""
    task, y = summary.data.task, summary.data.targets
    total, counts = np.zeros(len(y)), np.zeros(len(y))
    for record in summary.main[method]:
        if record.done:
            test, values = np.array(record.result["test"], dtype=int), np.array(record.result["predicted"])
            total[test] += task.sample_scores(y[test], values)
            counts[test] += 1
    return np.where(counts > 0, total / np.maximum(counts, 1), np.nan) if counts.any() else None


# --------------------------------------------------------------------------------------------- by view


def _views(summary: Summary) -> Iterator[ViewWorth]:
    own = [record for record in summary.records if record.trial["kind"] == "views" and record.done]
    if not own:
        return
    names = list(summary.data.data.names)
    whole = summary.folds(summary.simplest, summary.metric)
    sign = 1.0 if summary.metric.higher else -1.0
    for name in names:
        without = [r for r in own if r.trial["views"] == [n for n in names if n != name]]
        alone = [r for r in own if r.trial["views"] == [name]]
        lost = scores_by_fold(without, summary.metric.name)
        alone_scores = scores_by_fold(alone, summary.metric.name)
        nothing = {
            (r.trial["repeat"], r.trial["fold"]): r.result["nothing"].get(summary.metric.name)
            for r in alone
        }
        left_out = [sign * (whole[key] - lost[key]) for key in lost if key in whole]
        added = [
            sign * (score - nothing[key])
            for key, score in alone_scores.items()
            if nothing.get(key) is not None
        ]
        yield ViewWorth(name, _contrast(left_out, summary.share), _contrast(added, summary.share))


def _contrast(values: Sequence[float], share: float) -> Contrast | None:
    if len(values) < 2:
        return None
    t = statistics.corrected_resampled_t(np.array(values), share)
    return Contrast(t.mean, t.low, t.high, t.p)


# ---------------------------------------------------------------------------------------------- curves


def _curves(summary: Summary) -> Iterator[CurvePoint]:
    kind = "complete" if summary.data.kind == "completion" else "rates"
    own = [record for record in summary.records if record.trial["kind"] == kind and record.done]
    rates = sorted({record.trial["rate"] for record in own})
    if not summary.design.rates or not rates:
        return
    for row in summary.rows:
        mine = [record for record in own if record.trial["method"] == row.method]
        if kind == "rates" and summary.metric.name in row.scores:
            yield CurvePoint(row.method, 0.0, row.scores[summary.metric.name])
        for rate in rates:
            values = scores_by_fold([r for r in mine if r.trial["rate"] == rate], summary.metric.name)
            if values:
                share = rate / (1 - rate) if kind == "complete" else summary.share
                score = interval(np.array(list(values.values())), summary.metric, share)
                yield CurvePoint(row.method, float(rate), score)


# ------------------------------------------------------------------------------------ classes, kernels


def _confusion(summary: Summary) -> dict[str, Array]:
    """Of the first repeat, where every sample was held out."""
    if summary.data.kind != "classes":
        return {}
    y, size = summary.data.targets, len(summary.data.classes)
    tables = {}
    for method, records in summary.main.items():
        first = [record for record in records if record.done and record.trial["repeat"] == 0]
        table = np.zeros((size, size), dtype=int)
        for record in first:
            np.add.at(table, (y[record.result["test"]], np.array(record.result["predicted"], dtype=int)), 1)
        if table.sum() == len(y):
            tables[method] = table
    return tables


def _kernels(records: Sequence[Record]) -> KernelMaps | None:
    drawn = {r.trial["method"]: r.result["maps"] for r in records if r.done and "maps" in r.result}
    if not drawn:
        return None
    first = next(iter(drawn.values()))
    side = int(first["side"])

    def pictures(one: dict[str, Any], what: str) -> dict[str, Array]:
        return {view: decode_map(held, what, side) for view, held in one["views"].items()}

    completed = {method: pictures(one, "completed") for method, one in drawn.items()}
    return KernelMaps(side, first["order"], pictures(first, "truth"), pictures(first, "hidden"), completed)
