"""Every method against the simplest one: how much better, how surely, and on how many samples."""

import math
from collections.abc import Sequence
from dataclasses import dataclass

from absentia.app.report._measures import decimals, format_probability, gap, gap_interval, p_number, points
from absentia.app.report._ranking import kind, tags
from absentia.app.report._text import DASH, number
from absentia.app.report._tracks import Axis, Tick, Track, axis
from absentia.experiment import findings as found


@dataclass(frozen=True)
class Compared:
    """A method against the simplest; probabilities also as widths in percent."""

    method: str
    kind: str
    tags: Sequence[str]
    mean: str
    interval: str
    track: Track
    tip: str
    widths: tuple[float, float, float]  # worse, same, better
    probabilities: tuple[str, str, str]
    probabilities_words: str
    p: str
    adjusted: str
    wins: str
    losses: str
    p_mcnemar: str


@dataclass(frozen=True)
class Differences:
    """All of them along one axis, with the region of equivalence on it (percent)."""

    rows: Sequence[Compared]
    ticks: Sequence[Tick]
    zero: float
    start: float
    stop: float
    unit: str
    region: str
    counted: bool  # whether there is right and wrong


def differences(findings: found.ComparisonResults) -> Differences | None:
    """None if there is nothing to compare with the simplest."""
    if not findings.differences:
        return None
    metric, region = findings.metric, findings.equivalence
    spans = [(one.mean, one.low, one.high) for one in findings.differences]
    along = axis(spans, also=(-1.5 * region, 0.0, 1.5 * region), hundredths=metric.share, sign=True)
    digits = decimals(value for span in spans for value in span)
    return Differences(
        [_compared(findings, one, along, digits) for one in findings.differences],
        along.ticks,
        along.at(0.0),
        along.at(-region),
        along.at(region),
        points(metric),
        _region(metric, region),
        any(one.wins is not None for one in findings.differences),
    )


def _region(metric: found.Metric, region: float) -> str:
    """How wide the region of equivalence is, in words: ``1 point``, ``0.02 of RMSE``."""
    if not metric.share:
        return f"{region:.3g} {points(metric)}"
    return f"{100 * region:.3g} {'point' if round(100 * region, 6) == 1 else 'points'}"


def _compared(
    findings: found.ComparisonResults, one: found.Difference, along: Axis, digits: int | None
) -> Compared:
    metric = findings.metric
    row = next((row for row in findings.rows if row.method == one.method), None)
    row = row or found.MethodRow(one.method, "", False)
    mean, between = gap(metric, one.mean, digits), gap_interval(metric, one.low, one.high, digits)
    worse, same, better = (format_probability(value) for value in (one.worse, one.same, one.better))
    words = f"{worse} worse, {same} practically the same, {better} better"
    return Compared(
        one.method,
        kind(findings, row),
        [tag for tag in tags(findings, row) if tag != "some fits failed"],
        mean,
        between,
        along.track(one.mean, one.low, one.high),
        f"{one.method}: {mean} {points(metric)}; 95% interval {between}; {words}",
        _widths(one),
        (worse, same, better),
        words,
        p_number(one.p),
        p_number(one.adjusted),
        DASH if one.wins is None else number(one.wins),
        DASH if one.losses is None else number(one.losses),
        p_number(one.p_mcnemar),
    )


def _widths(one: found.Difference) -> tuple[float, float, float]:
    """Of the stacked bar, in percent; none if the probabilities cannot be told."""
    shares = [share if math.isfinite(share) else 0.0 for share in (one.worse, one.same, one.better)]
    whole = sum(shares) or 1.0
    worse, same, better = (round(100 * share / whole, 1) for share in shares)
    return worse, same, better
