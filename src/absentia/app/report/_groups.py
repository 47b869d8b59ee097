"""Samples that have the same views: how well each method does for them, beside the simplest."""

from collections.abc import Sequence
from dataclasses import dataclass

from absentia.app.report._measures import decimals, gap, minus, points, score
from absentia.app.report._text import DASH, number
from absentia.experiment import findings as found

FEW = 20
SHOWN = 4  # methods in the table unless others are chosen


@dataclass(frozen=True)
class Group:
    """A row: for each method its score, and how much better than the simplest."""

    words: str
    present: Sequence[bool]
    count: str
    cells: Sequence[tuple[str, str]]
    few: bool


@dataclass(frozen=True)
class Groups:
    """All rows; `shown` are the positions of the methods that a reader sees first."""

    metric: str
    words: str
    unit: str
    methods: Sequence[str]
    shown: Sequence[int]
    rows: Sequence[Group]
    has_few: bool


def groups(findings: found.ComparisonResults) -> Groups | None:
    """None if nothing was measured by pattern."""
    metric = findings.group_metric or findings.metric
    methods = [m for m in in_order(findings) if any(m in one.scores for one in findings.patterns)]
    if not methods:
        return None
    simplest = findings.verdict.simplest
    digits = decimals(value for one in findings.patterns for value in one.scores.values())
    rows = [
        Group(
            one.words,
            one.present,
            number(one.count),
            [_cell(metric, one, method, simplest, digits) for method in methods],
            one.count < FEW,
        )
        for one in findings.patterns
    ]
    return Groups(
        metric.name,
        metric.words,
        points(metric),
        methods,
        first_seen(findings, methods),
        rows,
        any(row.few for row in rows),
    )


def _cell(
    metric: found.Metric, one: found.PatternScores, method: str, simplest: str, digits: int | None
) -> tuple[str, str]:
    if method not in one.scores:
        return DASH, ""
    value = one.scores[method]
    if method == simplest or simplest not in one.scores:
        return score(metric, value), ""
    return score(metric, value), gap(metric, minus(metric, value, one.scores[simplest]), digits)


def in_order(findings: found.ComparisonResults) -> list[str]:
    """All methods, the simplest first, then as in the table."""
    others = [row.method for row in findings.rows if row.method != findings.verdict.simplest]
    there = any(row.method == findings.verdict.simplest for row in findings.rows)
    return [findings.verdict.simplest, *others] if there else others


def first_seen(findings: found.ComparisonResults, methods: Sequence[str], most: int = SHOWN) -> list[int]:
    """Positions of those to show first: the simplest, the recommended, the best, then as they come."""
    verdict = findings.verdict
    wanted = [verdict.simplest, verdict.recommended, verdict.best, *methods]
    kept = [m for m in dict.fromkeys(wanted) if m in methods][:most]
    return sorted(methods.index(m) for m in kept)
