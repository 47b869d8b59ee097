"""Scores and differences of scores as people read them: shares in percent and points, the rest as it is."""

import math
from collections.abc import Iterable

from absentia.app.report._text import DASH, number, signed
from absentia.experiment import findings as found


def score(metric: found.Metric, value: float) -> str:
    """``84.2%`` of a share, three digits of anything else."""
    if not math.isfinite(value):
        return DASH
    return f"{100 * value:.1f}%" if metric.share else number(float(value))


def possible(metric: found.Metric, span: found.Interval) -> found.Interval:
    """A span without what a share cannot be."""
    if not metric.share:
        return span
    return found.Interval(
        span.value, max(span.low, min(span.value, 0.0)), min(span.high, max(span.value, 1.0))
    )


def interval(metric: found.Metric, span: found.Interval) -> str:
    """``81.0 to 87.1%``."""
    _, low, high = possible(metric, span)
    if not (math.isfinite(low) and math.isfinite(high)):
        return DASH
    ends = f"{score(metric, low)} to {score(metric, high)}"
    return ends.replace("%", "", 1) if metric.share else ends


def decimals(values: Iterable[float]) -> int | None:
    """Digits after the point that show three of the largest of these; None if plain digits would not do."""
    largest = max((abs(value) for value in values if math.isfinite(value)), default=0.0)
    if not 1e-4 <= largest < 1e6:
        return None
    return max(0, 2 - math.floor(math.log10(largest)))


def gap(metric: found.Metric, value: float, digits: int | None = None) -> str:
    """A difference with its sign, in points if the metric is a share, else with so many digits if told."""
    if not math.isfinite(value):
        return DASH
    if metric.share:
        return signed(100 * value)
    text = number(abs(float(value))) if digits is None else f"{abs(value):.{digits}f}"
    return text if float(value) == 0 else f"{'+' if value > 0 else '−'}{text}"


def gap_interval(metric: found.Metric, low: float, high: float, digits: int | None = None) -> str:
    """``−1.0 to +3.2``."""
    if not (math.isfinite(low) and math.isfinite(high)):
        return DASH
    return f"{gap(metric, low, digits)} to {gap(metric, high, digits)}"


def points(metric: found.Metric) -> str:
    """What differences are in, to follow a comma or a number."""
    return "points" if metric.share else f"of {metric.name}"


def better(metric: found.Metric) -> str:
    """Which way is better."""
    return "more is better" if metric.higher else "less is better"


def format_probability(value: float) -> str:
    """A probability in whole percent; what is neither sure nor impossible does not look so."""
    if not math.isfinite(value):
        return DASH
    if 0 < value < 0.01:
        return "<1%"
    if 0.99 < value < 1:
        return ">99%"
    return f"{100 * value:.0f}%"


def p_number(p: float | None) -> str:
    """A p value for a column whose head says so."""
    if p is None or not math.isfinite(p):
        return DASH
    return "<0.001" if p < 0.001 else f"{p:.3f}"


def cost(value: float | None, unit: str) -> str:
    """Seconds or megabytes, or a dash."""
    return DASH if value is None or not math.isfinite(value) else f"{number(float(value))} {unit}"


def minus(metric: found.Metric, one: float, other: float) -> float:
    """How much better one score is than another: positive is better, whatever the metric."""
    return one - other if metric.higher else other - one
