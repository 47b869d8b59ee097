"""The objective, iteration by iteration: geometry of a line chart, drawn by the template."""

import math
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import NamedTuple

import numpy as np

from absentia.app.report._text import number, plural, power_of_ten
from absentia.core import Array

WIDTH, HEIGHT = 720.0, 320.0
LEFT, RIGHT, TOP, BOTTOM = 58.0, 14.0, 14.0, 46.0
FLOOR = 1e-12  # smaller shares of the improvement are rounding
MAX_MARKS = 60
N_COLOURS = 6


@dataclass(frozen=True)
class Tick:
    at: float
    label: str


class Mark(NamedTuple):
    x: float
    y: float
    title: str


@dataclass(frozen=True)
class Line:
    colour: int  # which of the page's colours
    dash: int  # dashes tell colours apart once they repeat
    path: str
    marks: Sequence[Mark]


@dataclass(frozen=True)
class TraceRow:
    method: str
    colour: int
    dash: int
    iterations: str
    first: str
    last: str


@dataclass(frozen=True)
class Objective:
    """A chart (when something moved) and a row per method."""

    rows: Sequence[TraceRow]
    lines: Sequence[Line]
    x_ticks: Sequence[Tick]
    y_ticks: Sequence[Tick]
    description: str
    width: float = WIDTH
    height: float = HEIGHT
    left: float = LEFT
    right: float = WIDTH - RIGHT
    top: float = TOP
    bottom: float = HEIGHT - BOTTOM


def objective(traces: Mapping[str, Array]) -> Objective | None:
    kept = {name: np.asarray(t, dtype=float).ravel() for name, t in traces.items() if np.size(t)}
    if not kept:
        return None
    gaps = {name: remaining(trace) for name, trace in kept.items()}
    shown = [gap[np.isfinite(gap)] for gap in gaps.values() if np.isfinite(gap).any()]
    last = max(len(trace) for trace in kept.values())
    lowest = min((math.floor(math.log10(gap.min())) for gap in shown), default=0)
    highest = max((math.ceil(math.log10(gap.max())) for gap in shown), default=0)
    frame = _Frame(last, min(lowest, highest - 1), highest)
    return Objective(
        rows=[_row(i, name, trace) for i, (name, trace) in enumerate(kept.items())],
        lines=[_line(i, name, kept[name], gaps[name], frame) for i, name in enumerate(kept)]
        if shown
        else [],
        x_ticks=[Tick(frame.x(t), number(t)) for t in iteration_ticks(last)],
        y_ticks=[Tick(frame.y(10.0**p), power_of_ten(p)) for p in frame.powers()],
        description="; ".join(f"{name}: {plural(len(trace), 'iteration')}" for name, trace in kept.items()),
    )


def remaining(trace: Array) -> Array:
    """Share of the whole improvement still to come after each iteration; NaN once none is."""
    finite = trace[np.isfinite(trace)]
    if not finite.size:
        return np.full(len(trace), np.nan)
    gap = np.abs(np.where(np.isfinite(trace), trace, np.nan) - finite[-1])
    whole = np.nanmax(gap)
    if whole == 0:
        return np.full(len(trace), np.nan)
    share = gap / whole
    return np.asarray(np.where(share >= FLOOR, share, np.nan))


@dataclass(frozen=True)
class _Frame:
    last: int
    low: int  # powers of ten
    high: int

    def x(self, iteration: float) -> float:
        share = (iteration - 1) / max(self.last - 1, 1)
        return round(LEFT + share * (WIDTH - LEFT - RIGHT), 1)

    def y(self, share: float) -> float:
        up = (math.log10(share) - self.low) / (self.high - self.low)
        return round(HEIGHT - BOTTOM - up * (HEIGHT - TOP - BOTTOM), 1)

    def powers(self) -> range:
        return range(self.high, self.low - 1, -max(1, math.ceil((self.high - self.low) / 6)))


def round_step(span: float, about: int = 6) -> float:
    """One, two or five times a power of ten that goes into `span` at most `about` times."""
    raw = span / about
    base = 10.0 ** math.floor(math.log10(raw))
    return next(m * base for m in (1, 2, 5, 10) if m * base >= raw * (1 - 1e-9))


def iteration_ticks(last: int, about: int = 6) -> list[int]:
    """1 and round numbers up to ``last``."""
    raw = max(last / about, 1)
    base = 10 ** math.floor(math.log10(raw))
    step = next(m * base for m in (1, 2, 5, 10) if m * base >= raw)
    return [1, *(t for t in range(step, last + 1, step) if t > 1 and (t - 1) * 2 >= step)]


def _line(i: int, name: str, trace: Array, gap: Array, frame: _Frame) -> Line:
    points = [(t + 1, float(gap[t])) for t in range(len(gap)) if np.isfinite(gap[t])]
    xy = [f"{frame.x(t):g} {frame.y(g):g}" for t, g in points]
    every = math.ceil(len(points) / MAX_MARKS) if points else 1
    marks = [
        Mark(frame.x(t), frame.y(g), f"{name}, iteration {t}: objective {_precise(trace[t - 1])}")
        for t, g in points[::every]
    ]
    return Line(i % N_COLOURS, i // N_COLOURS % 3, "M" + "L".join(xy) if xy else "", marks)


def _row(i: int, name: str, trace: Array) -> TraceRow:
    return TraceRow(
        name, i % N_COLOURS, i // N_COLOURS % 3, number(len(trace)), _precise(trace[0]), _precise(trace[-1])
    )


def _precise(value: float) -> str:
    """Objectives differ late in their digits: six of them."""
    return f"{value:.6g}".replace("-", "−") if math.isfinite(value) else number(value)
