"""The whole table: every method in every metric, what it costs, and what went wrong."""

from collections.abc import Sequence
from dataclasses import dataclass

from absentia.app.report._measures import (
    better,
    decimals,
    format_probability,
    gap,
    interval,
    p_number,
    score,
)
from absentia.app.report._ranking import has_score, kind, tags, why_not
from absentia.app.report._text import DASH, number
from absentia.experiment import findings as found

#: What is said of a difference: heads, and what stands below them.
EXTRA = (
    ("p", ""),
    ("p", "Holm"),
    ("Probability", "worse"),
    ("Probability", "practically the same"),
    ("Probability", "better"),
    ("Right", "only with it"),
    ("Right", "only with the simplest"),
    ("p", "McNemar"),
)


@dataclass(frozen=True)
class Column:
    """A metric as the head of two columns."""

    name: str
    better: str
    words: str


@dataclass(frozen=True)
class FullRow:
    """A method with all that is known of it."""

    method: str
    words: str
    kind: str
    tags: Sequence[str]
    cells: Sequence[tuple[str, str, bool]]  # score, interval, best of its column
    difference: str
    extra: Sequence[str]  # more of the difference, see EXTRA
    cpu: str
    memory: str
    fits: str
    failed: str
    notes: Sequence[str]


@dataclass(frozen=True)
class Everything:
    """All rows; `compared` if there are differences to the simplest."""

    columns: Sequence[Column]
    rows: Sequence[FullRow]
    compared: bool
    notes: bool
    extra: Sequence[tuple[str, str]] = EXTRA


def everything(findings: found.ComparisonResults) -> Everything:
    """Rows in the order of the findings."""
    gaps = {one.method: one for one in findings.differences}
    tops = {metric.name: _top(findings, metric) for metric in findings.metrics}
    digits = decimals(value for one in gaps.values() for value in (one.mean, one.low, one.high))
    rows = [_row(findings, row, gaps.get(row.method), tops, digits) for row in findings.rows]
    return Everything(
        [Column(metric.name, better(metric), metric.words) for metric in findings.metrics],
        rows,
        bool(gaps),
        any(row.notes for row in rows),
    )


def _top(findings: found.ComparisonResults, metric: found.Metric) -> float | None:
    values = [row.scores[metric.name].value for row in findings.rows if has_score(row, metric)]
    return (max if metric.higher else min)(values, default=None)


def _row(
    findings: found.ComparisonResults,
    row: found.MethodRow,
    one: found.Difference | None,
    tops: dict[str, float | None],
    digits: int | None,
) -> FullRow:
    return FullRow(
        row.method,
        row.words,
        kind(findings, row),
        [tag for tag in tags(findings, row) if tag != "some fits failed"],
        [_cell(metric, row, tops[metric.name]) for metric in findings.metrics],
        DASH if one is None else gap(findings.metric, one.mean, digits),
        _extra(one),
        number(row.cpu),
        number(row.memory),
        f"{number(row.done)} of {number(row.wanted)}",
        number(row.failed),
        _notes(row),
    )


def _extra(one: found.Difference | None) -> list[str]:
    if one is None:
        return [DASH] * len(EXTRA)
    probabilities = [format_probability(value) for value in (one.worse, one.same, one.better)]
    counts = [DASH if count is None else number(count) for count in (one.wins, one.losses)]
    return [p_number(one.p), p_number(one.adjusted), *probabilities, *counts, p_number(one.p_mcnemar)]


def _cell(metric: found.Metric, row: found.MethodRow, top: float | None) -> tuple[str, str, bool]:
    if metric.name not in row.scores:
        return DASH, DASH, False
    span = row.scores[metric.name]
    return score(metric, span.value), interval(metric, span), span.value == top


def _notes(row: found.MethodRow) -> list[str]:
    """Why it was left out, or what its failed fits said."""
    if row.left_out:
        return [f"Left out: {row.left_out}"]
    if row.errors:
        return list(row.errors)
    return [] if row.scores else [why_not(row)]
