"""Numbers with intervals along one axis: places in percent, so that drawings take the room there is."""

import math
from collections.abc import Sequence
from dataclasses import dataclass
from typing import NamedTuple

import numpy as np

from absentia.app.report._charts import round_step
from absentia.app.report._text import number

MARGIN = 4.0  # percent left free at either end: marks have a size
FENCE = 3.0  # interquartile ranges beyond which something is off the scale


class Tick(NamedTuple):
    """A place in percent, and its words."""

    at: float
    label: str


class Track(NamedTuple):
    """Where a number and its interval lie, in percent.

    `off` is -1 or 1 if the number is beyond an end of the axis; `cut` says whether, while it is not, its
    interval goes on beyond the left and the right end.
    """

    at: float
    low: float
    high: float
    off: int
    cut: tuple[bool, bool]


@dataclass(frozen=True)
class Axis:
    """From the least to the largest number that is drawn."""

    low: float
    high: float
    ticks: Sequence[Tick]

    def at(self, value: float) -> float:
        return _place(value, self.low, self.high)

    def track(self, value: float, low: float, high: float) -> Track:
        """What cannot be told is drawn as short as it can be."""
        low, high = (end if math.isfinite(end) else value for end in (low, high))
        off = int(value > self.high) - int(value < self.low)
        slack = 1e-9 * (self.high - self.low)
        cut = (off >= 0 and low < self.low - slack, off <= 0 and high > self.high + slack)
        return Track(self.at(value), self.at(low), self.at(high), off, cut)


def _place(value: float, low: float, high: float) -> float:
    share = min(max((value - low) / (high - low), 0.0), 1.0) if math.isfinite(value) else 0.0
    return round(MARGIN + (100 - 2 * MARGIN) * share, 2)


def axis(
    spans: Sequence[tuple[float, float, float]],
    *,
    also: Sequence[float] = (),
    hundredths: bool = False,
    sign: bool = False,
    about: int = 5,
) -> Axis:
    """Wide enough for all (value, low, high) but those that lie far outside the rest, and for `also`.

    Ticks are in hundredths, and with a sign, if told so.
    """
    low, high = _ends(spans, also)
    step = round_step(high - low, about)
    first, last = math.ceil(low / step - 1e-9), math.floor(high / step + 1e-9)
    values = [k * step for k in range(first, last + 1)]
    suffix = "%" if hundredths and not sign else ""
    factor = 100 if hundredths else 1
    return Axis(
        low,
        high,
        [Tick(_place(v, low, high), _label(factor * v, factor * step, sign) + suffix) for v in values],
    )


def _ends(spans: Sequence[tuple[float, float, float]], also: Sequence[float]) -> tuple[float, float]:
    """The ends of the axis: quartiles of all values, and how long intervals are, say what is far off."""
    middles = np.array([s[0] for s in spans if math.isfinite(s[0])] or [*also] or [0.0])
    every = np.array([x for s in spans for x in s if math.isfinite(x)] + [*also] or [0.0])
    if len(middles) >= 4:
        first, third = np.quantile(middles, [0.25, 0.75])
        lengths = [(s[2] - s[1]) / 2 for s in spans if math.isfinite(s[2] - s[1])]
        usual = float(np.median(lengths)) if lengths else 0.0
        reach = FENCE * max(third - first, usual, 1e-3 * abs(third), 1e-12)
        kept = every[(every >= first - reach) & (every <= third + reach)]
        every = np.concatenate([kept, also]) if kept.size else every
    low, high = float(every.min()), float(every.max())
    if high - low <= 1e-9 * max(abs(low), abs(high), 1e-9):
        room = 0.05 * abs(low) or 1.0
        low, high = low - room, high + room
    return low, high


def _label(value: float, step: float, sign: bool) -> str:
    """A round number with the digits that its step needs."""
    if not 1e-4 <= step < 1e6:
        text = number(abs(value))
    else:
        text = f"{abs(value):.{max(0, -math.floor(math.log10(step) + 1e-9))}f}"
    if float(value) == 0 or abs(value) < step / 2:
        return "0"
    return ("−" if value < 0 else "+" if sign else "") + text
