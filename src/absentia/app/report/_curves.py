"""Scores as more and more is hidden: geometry of a line chart, drawn by the template."""

import math
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import NamedTuple

from absentia.app.report._charts import N_COLOURS
from absentia.app.report._groups import first_seen, in_order
from absentia.app.report._measures import better, interval, possible, score
from absentia.app.report._text import DASH
from absentia.app.report._tracks import Axis, Tick, axis
from absentia.experiment import findings as found

WIDTH, HEIGHT = 720.0, 340.0
LEFT, RIGHT, TOP, BOTTOM = 58.0, 16.0, 16.0, 46.0
ASIDE = 2.6  # between lines, so that intervals at the same rate stand beside one another
LOUD = 5  # lines that are drawn in full unless others are chosen


class Mark(NamedTuple):
    """A point of a line, its interval, and its words; `late` ones have their words to the left."""

    x: float
    y: float
    low: float
    high: float
    label: str
    tip: str
    late: bool


@dataclass(frozen=True)
class CurveLine:
    """A method's line; colour and dash tell it from others."""

    method: str
    colour: int
    dash: int
    path: str
    marks: Sequence[Mark]
    loud: bool
    cells: Sequence[tuple[str, str]]  # score and interval at every rate


@dataclass(frozen=True)
class RateCurves:
    """Lines over the same rates."""

    metric: str
    words: str
    better: str
    rates: Sequence[str]
    lines: Sequence[CurveLine]
    x_ticks: Sequence[Tick]
    y_ticks: Sequence[Tick]
    width: float = WIDTH
    height: float = HEIGHT
    left: float = LEFT
    right: float = WIDTH - RIGHT
    top: float = TOP
    bottom: float = HEIGHT - BOTTOM


def rate_curves(findings: found.ComparisonResults) -> RateCurves | None:
    """None if there are none."""
    spans: dict[str, dict[float, found.Interval]] = {}
    for one in findings.curves:
        if math.isfinite(one.score.value):
            spans.setdefault(one.method, {})[one.rate] = possible(findings.metric, one.score)
    if not spans:
        return None
    rates = sorted({one.rate for one in findings.curves})
    methods = [m for m in dict.fromkeys([*in_order(findings), *spans]) if m in spans]
    up = axis([s for of in spans.values() for s in of.values()], hundredths=findings.metric.share)
    frame = _Frame(rates[0], rates[-1], up)
    loud = first_seen(findings, methods, LOUD)
    return RateCurves(
        findings.metric.name,
        findings.metric.words,
        better(findings.metric),
        [_rate(rate) for rate in rates],
        [_line(findings.metric, i, m, spans[m], rates, frame, i in loud) for i, m in enumerate(methods)],
        [Tick(frame.x(rate), _rate(rate)) for rate in rates],
        [Tick(_height(tick.at), tick.label) for tick in up.ticks],
    )


def _rate(rate: float) -> str:
    return f"{100 * rate:.3g}%"


def _height(percent: float) -> float:
    return round(HEIGHT - BOTTOM - percent / 100 * (HEIGHT - TOP - BOTTOM), 1)


class _Frame(NamedTuple):
    first: float
    last: float
    up: Axis

    def x(self, rate: float) -> float:
        inner = 24.0  # so that the first and the last marks keep off the edges
        share = (rate - self.first) / (self.last - self.first) if self.last > self.first else 0.5
        return round(LEFT + inner + share * (WIDTH - LEFT - RIGHT - 2 * inner), 1)


def _line(
    metric: found.Metric,
    i: int,
    method: str,
    spans: Mapping[float, found.Interval],
    rates: Sequence[float],
    frame: _Frame,
    loud: bool,
) -> CurveLine:
    aside = (i % N_COLOURS - (N_COLOURS - 1) / 2) * ASIDE
    marks = [_mark(metric, method, rate, spans[rate], frame, aside) for rate in rates if rate in spans]
    return CurveLine(
        method,
        i % N_COLOURS,
        i // N_COLOURS % 3,
        "M" + "L".join(f"{mark.x:g} {mark.y:g}" for mark in marks),
        marks,
        loud,
        [_cell(metric, spans.get(rate)) for rate in rates],
    )


def _cell(metric: found.Metric, span: found.Interval | None) -> tuple[str, str]:
    return (DASH, "") if span is None else (score(metric, span.value), interval(metric, span))


def _mark(
    metric: found.Metric, method: str, rate: float, span: found.Interval, frame: _Frame, aside: float
) -> Mark:
    x, value = round(frame.x(rate) + aside, 1), score(metric, span.value)
    at, low, high = (_height(place) for place in frame.up.track(*span)[:3])
    tip = f"{method}, {_rate(rate)} hidden: {metric.name} {value}; 95% interval {interval(metric, span)}"
    return Mark(x, at, low, high, value, tip, x > WIDTH / 2)
