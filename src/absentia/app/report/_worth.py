"""What each view is worth: all views against all but it, and it alone against none."""

from collections.abc import Sequence
from dataclasses import dataclass

from absentia.app.report._measures import decimals, gap, gap_interval, p_number, points
from absentia.app.report._text import percent
from absentia.app.report._tracks import Axis, Tick, Track, axis
from absentia.experiment import findings as found


@dataclass(frozen=True)
class Side:
    """One of the two contrasts of a view."""

    mean: str
    interval: str
    p: str
    track: Track
    tip: str


@dataclass(frozen=True)
class ViewRow:
    """A view; None where something could not be measured."""

    view: str
    share: str  # of samples that have it
    left_out: Side | None
    alone: Side | None


@dataclass(frozen=True)
class Worths:
    """All views; both contrasts have an axis of their own (ticks, place of zero in percent)."""

    method: str
    metric: str
    unit: str
    rows: Sequence[ViewRow]
    left_out_ticks: Sequence[Tick]
    left_out_zero: float
    alone_ticks: Sequence[Tick]
    alone_zero: float


def worths(findings: found.ComparisonResults) -> Worths | None:
    """None if no view was measured."""
    if not any(one.left_out or one.alone for one in findings.views):
        return None
    metric = findings.metric
    left_out = _axis(metric, [one.left_out for one in findings.views])
    alone = _axis(metric, [one.alone for one in findings.views])
    sides = [side for one in findings.views for side in (one.left_out, one.alone) if side is not None]
    digits = decimals(value for side in sides for value in side[:3])
    return Worths(
        findings.views_with or findings.verdict.recommended,
        metric.name,
        points(metric),
        [
            ViewRow(
                one.view,
                _share(findings, one.view),
                _side(metric, f"all views against all but {one.view}", one.left_out, left_out, digits),
                _side(metric, f"{one.view} alone against none", one.alone, alone, digits),
            )
            for one in findings.views
        ],
        left_out.ticks,
        left_out.at(0.0),
        alone.ticks,
        alone.at(0.0),
    )


def _axis(metric: found.Metric, contrasts: Sequence[found.Contrast | None]) -> Axis:
    spans = [(one.mean, one.low, one.high) for one in contrasts if one is not None]
    return axis(spans, also=(0.0,), hundredths=metric.share, sign=True, about=4)


def _share(findings: found.ComparisonResults, view: str) -> str:
    """Who has the view; nothing for what is not a view of the data (a sum of some, say)."""
    if view not in findings.names:
        return ""
    has = findings.observed[:, list(findings.names).index(view)]
    return percent(int(has.sum()), len(has))


def _side(
    metric: found.Metric, what: str, one: found.Contrast | None, along: Axis, digits: int | None
) -> Side | None:
    if one is None:
        return None
    mean, between = gap(metric, one.mean, digits), gap_interval(metric, one.low, one.high, digits)
    tip = f"{what}: {mean} {points(metric)}; 95% interval {between}"
    return Side(mean, between, p_number(one.p), along.track(one.mean, one.low, one.high), tip)
