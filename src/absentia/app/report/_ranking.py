"""All methods in one metric: a dot and an interval each, best first, beside the line of the simplest."""

import math
from collections.abc import Sequence
from dataclasses import dataclass

from absentia.app.report._measures import better, cost, interval, possible, score
from absentia.app.report._text import number
from absentia.app.report._tracks import Tick, Track, axis
from absentia.experiment import findings as found


@dataclass(frozen=True)
class Ranked:
    """A method, its mean and interval, and what to say when it is pointed at."""

    method: str
    words: str
    kind: str  # chosen, baseline or method: says how it is drawn
    tags: Sequence[str]
    value: str
    interval: str
    track: Track
    tip: str
    best: bool


@dataclass(frozen=True)
class Ranking:
    """Methods in one metric; `base` is where the simplest stands, in percent, None if it has no score."""

    metric: str
    words: str
    better: str
    base: float | None
    base_words: str
    rows: Sequence[Ranked]
    ticks: Sequence[Tick]


@dataclass(frozen=True)
class Unranked:
    """A method without a score, and why."""

    method: str
    why: str


def rankings(findings: found.ComparisonResults) -> list[Ranking]:
    """One for each metric that any method has."""
    made = [ranking(findings, metric) for metric in findings.metrics]
    return [one for one in made if one.rows]


def ranking(findings: found.ComparisonResults, metric: found.Metric) -> Ranking:
    """Best first in this metric; equals keep their order."""
    rows = [row for row in findings.rows if has_score(row, metric)]
    rows.sort(key=lambda row: row.scores[metric.name].value, reverse=metric.higher)
    spans = {row.method: possible(metric, row.scores[metric.name]) for row in rows}
    along = axis(list(spans.values()), hundredths=metric.share)
    simplest = spans.get(findings.verdict.simplest)
    first = rows[0].scores[metric.name].value if rows else None
    return Ranking(
        metric.name,
        metric.words,
        better(metric),
        None if simplest is None else along.at(simplest.value),
        "" if simplest is None else score(metric, simplest.value),
        [
            Ranked(
                row.method,
                row.words,
                kind(findings, row),
                tags(findings, row),
                score(metric, spans[row.method].value),
                interval(metric, spans[row.method]),
                along.track(*spans[row.method]),
                _tip(metric, row),
                row.scores[metric.name].value == first,
            )
            for row in rows
        ],
        along.ticks,
    )


def has_score(row: found.MethodRow, metric: found.Metric) -> bool:
    """Whether there is a number."""
    return metric.name in row.scores and math.isfinite(row.scores[metric.name].value)


def kind(findings: found.ComparisonResults, row: found.MethodRow) -> str:
    """How a method is drawn."""
    if row.method == findings.verdict.recommended:
        return "chosen"
    return "baseline" if row.baseline else "method"


def tags(findings: found.ComparisonResults, row: found.MethodRow) -> list[str]:
    """What stands beside a method's name."""
    verdict = findings.verdict
    said = {
        "recommended": row.method == verdict.recommended,
        "simplest": row.method == verdict.simplest,
        "baseline": row.baseline and row.method != verdict.simplest,
        "some fits failed": bool(row.failed),
    }
    return [word for word, holds in said.items() if holds]


def _tip(metric: found.Metric, row: found.MethodRow) -> str:
    span = row.scores[metric.name]
    parts = [f"{row.method}: {metric.name} {score(metric, span.value)}"]
    parts.append(f"95% interval {interval(metric, span)}")
    if row.wanted:
        parts.append(f"{number(row.done)} of {number(row.wanted)} fits")
    if row.cpu is not None:
        parts.append(f"{cost(row.cpu, 's')} a fit")
    return "; ".join(parts)


def unranked(findings: found.ComparisonResults) -> list[Unranked]:
    """Methods that have no score in the main metric."""
    without = [row for row in findings.rows if not has_score(row, findings.metric)]
    return [Unranked(row.method, why_not(row)) for row in without]


def why_not(row: found.MethodRow) -> str:
    """Why a method has no score, in a sentence."""
    if row.left_out:
        return row.left_out
    if row.failed:
        failed = "its fit failed" if row.failed == 1 else f"all {number(row.failed)} fits failed"
        return f"{failed}: {row.errors[0]}" if row.errors else failed
    return "not measured yet" if not row.done else "no score in this metric"
