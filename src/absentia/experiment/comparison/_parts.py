"""Parts of findings beside the table: by pattern, by view, curves, confusion, kernels."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from typing import TYPE_CHECKING, Any

import numpy as np

from absentia.core import Array
from absentia.data import statistics
from absentia.experiment._findings import (
    Contrast,
    CurvePoint,
    KernelMaps,
    Metric,
    PatternScores,
    Span,
    ViewWorth,
)
from absentia.experiment.comparison._maps import decoded
from absentia.experiment.comparison._results import range_of
from absentia.experiment.engine import Record

if TYPE_CHECKING:
    from absentia.experiment.comparison._summary import Summary

TOP_PATTERNS = 8
GROUPED = {
    "classes": Metric("accuracy", True, True, "share of samples that is right"),
    "numbers": Metric("RMSE", False, False, "root of the mean squared error, in units of the numbers"),
    "labels": Metric("accuracy", True, True, "share of the known entries that is right"),
}


def all_parts(found: Summary) -> dict[str, Any]:
    """Fields of :class:`Findings`."""
    worth = list(_views(found))
    return {
        "group_metric": GROUPED.get(found.problem.task),
        "patterns": list(_patterns(found)),
        "views": worth,
        "views_with": found.simplest if worth else "",
        "curves": list(_curves(found)),
        "classes": [str(name) for name in found.problem.classes],
        "confusion": _confusion(found),
        "kernels": _kernels(found.records),
    }


def folds_of(records: Sequence[Record], metric: str) -> dict[tuple[int, int], float]:
    """Scores by repeat and fold, of trials that are done and could be measured."""
    found = {}
    for record in records:
        value = record.result.get("scores", {}).get(metric) if record.done else None
        if value is not None:
            found[int(record.trial["repeat"]), int(record.trial["fold"])] = float(value)
    return dict(sorted(found.items()))


def span(values: Array, metric: Metric, share: float, shift: float = 0.0) -> Span:
    """Mean and interval of scores of overlapping folds, as far as scores go; no interval of one."""
    t = statistics.corrected_resampled_t(values, share) if len(values) > 1 else None
    numbers = (t.mean, t.low, t.high) if t else (float(values.mean()), np.nan, np.nan)
    return Span(*(float(x) for x in np.clip(np.array(numbers) + shift, *range_of(metric))))


# ------------------------------------------------------------------------------------------ by pattern


def _patterns(found: Summary) -> Iterator[PatternScores]:
    if found.problem.task == "completion":
        return
    names = [row.method for row in found.rows if row.scores]
    each = {name: loss for name in names if (loss := _per_sample(found, name)) is not None}
    observed = found.problem.data.observed
    masks, member, counts = np.unique(observed, axis=0, return_inverse=True, return_counts=True)
    top = np.argsort(-counts, kind="stable")[:TOP_PATTERNS]
    for p in top:
        yield _group(found, masks[p], np.ravel(member) == p, each)
    rest = ~np.isin(np.ravel(member), top)
    if rest.any():
        yield _group(found, np.zeros(0, bool), rest, each)


def _group(found: Summary, mask: Array, rows: Array, each: dict[str, Array]) -> PatternScores:
    names = found.problem.data.names
    words = _words(mask, names) if len(mask) else "other patterns together"
    root = found.problem.task == "numbers"
    scores = {}
    for method, values in each.items():
        told = values[rows][~np.isnan(values[rows])]
        if len(told):
            scores[method] = float(np.sqrt(told.mean()) if root else told.mean())
    return PatternScores(words, tuple(mask.tolist()), int(rows.sum()), scores)


def _words(mask: Array, names: Sequence[str]) -> str:
    if mask.all():
        return "every view"
    if mask.sum() == 1:
        return f"only {names[int(np.argmax(mask))]}"
    return "without " + ", ".join(name for name, has in zip(names, mask, strict=True) if not has)


def _per_sample(found: Summary, method: str) -> Array | None:
    """Mean over repeats of being right, or of the squared error; NaN of samples never held out."""
    y = found.problem.y
    assert y is not None
    total, counts = np.zeros(len(y)), np.zeros(len(y))
    for record in found.main[method]:
        if record.done:
            test, said = np.array(record.result["test"], dtype=int), np.array(record.result["predicted"])
            total[test] += _worth(found.problem.task, y[test], said)
            counts[test] += 1
    return np.where(counts > 0, total / np.maximum(counts, 1), np.nan) if counts.any() else None


def _worth(task: str, y: Array, said: Array) -> Array:
    if task == "numbers":
        return np.asarray((y - said) ** 2)
    if task == "labels":
        known = ~np.isnan(y)
        right = ((said == y) & known).sum(axis=1) / np.maximum(known.sum(axis=1), 1)
        return np.asarray(np.where(known.any(axis=1), right, np.nan))
    return np.asarray(y == said, dtype=np.float64)


# --------------------------------------------------------------------------------------------- by view


def _views(found: Summary) -> Iterator[ViewWorth]:
    own = [record for record in found.records if record.trial["kind"] == "views" and record.done]
    if not own:
        return
    names = list(found.problem.data.names)
    whole = found.folds(found.simplest, found.metric)
    sign = 1.0 if found.metric.higher else -1.0
    for name in names:
        without = [r for r in own if r.trial["views"] == [n for n in names if n != name]]
        alone = [r for r in own if r.trial["views"] == [name]]
        lost = folds_of(without, found.metric.name)
        gained = folds_of(alone, found.metric.name)
        nothing = {
            (r.trial["repeat"], r.trial["fold"]): r.result["nothing"].get(found.metric.name) for r in alone
        }
        left_out = [sign * (whole[key] - lost[key]) for key in lost if key in whole]
        added = [sign * (gained[key] - nothing[key]) for key in gained if nothing.get(key) is not None]
        yield ViewWorth(name, _contrast(left_out, found.share), _contrast(added, found.share))


def _contrast(values: Sequence[float], share: float) -> Contrast | None:
    if len(values) < 2:
        return None
    t = statistics.corrected_resampled_t(np.array(values), share)
    return Contrast(t.mean, t.low, t.high, t.p)


# ---------------------------------------------------------------------------------------------- curves


def _curves(found: Summary) -> Iterator[CurvePoint]:
    kind = "complete" if found.problem.task == "completion" else "rates"
    own = [record for record in found.records if record.trial["kind"] == kind and record.done]
    rates = sorted({record.trial["rate"] for record in own})
    if not found.design.rates or not rates:
        return
    for row in found.rows:
        mine = [record for record in own if record.trial["method"] == row.method]
        if kind == "rates" and found.metric.name in row.scores:
            yield CurvePoint(row.method, 0.0, row.scores[found.metric.name])
        for rate in rates:
            values = folds_of([r for r in mine if r.trial["rate"] == rate], found.metric.name)
            if values:
                share = rate / (1 - rate) if kind == "complete" else found.share
                score = span(np.array(list(values.values())), found.metric, share)
                yield CurvePoint(row.method, float(rate), score)


# ------------------------------------------------------------------------------------ classes, kernels


def _confusion(found: Summary) -> dict[str, Array]:
    """Of the first repeat, where every sample was held out."""
    if found.problem.task != "classes":
        return {}
    y, size = found.problem.y, len(found.problem.classes)
    assert y is not None
    tables = {}
    for method, records in found.main.items():
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
        return {view: decoded(held, what, side) for view, held in one["views"].items()}

    completed = {method: pictures(one, "completed") for method, one in drawn.items()}
    return KernelMaps(side, first["order"], pictures(first, "truth"), pictures(first, "hidden"), completed)
