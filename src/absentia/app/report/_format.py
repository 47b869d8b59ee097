"""Numbers, scores and differences as text: shares in percent, the rest with three significant digits.

Digits are grouped by narrow spaces, negative numbers have a minus sign (not a hyphen), and what is None,
NaN or infinite is a dash.
"""

import math
from collections.abc import Iterable
from dataclasses import dataclass
from numbers import Integral
from typing import Any

import numpy as np

from absentia.core import Array
from absentia.data.statistics import effective_size
from absentia.experiment.results import Interval, Metric

DASH = "–"
_NARROW_SPACE = "\u202f"
_SUPERSCRIPT = str.maketrans("-0123456789", "⁻⁰¹²³⁴⁵⁶⁷⁸⁹")


def format_number(value: Any) -> str:
    """Write a float with three significant digits (``0.0123``, ``1.23×10⁷``), an integer with all."""
    if value is None or not math.isfinite(value):
        return DASH
    if isinstance(value, Integral):
        return f"{int(value):,}".replace(",", _NARROW_SPACE).replace("-", "−")
    if value == 0:
        return "0"
    mantissa, exponent = f"{abs(value):.2e}".split("e")
    sign, power = "−" if value < 0 else "", int(exponent)
    if -4 <= power <= 5:
        plain = f"{float(f'{mantissa}e{power}'):,.{max(0, 2 - power)}f}"
        return sign + plain.replace(",", _NARROW_SPACE)
    return f"{sign}{mantissa}×10{str(power).translate(_SUPERSCRIPT)}"


def format_decimal(value: float, digits: int = 3, sign: str = "") -> str:
    """Write `digits` digits after the point; ``sign="+"`` gives positive numbers a plus."""
    return f"{value:{sign}.{digits}f}".replace("-", "−")


def format_percent(part: float, whole: float) -> str:
    """Write `part` of `whole` as ``12.3%``; ``0%`` and ``100%`` are written only where they are exact."""
    if whole == 0 or part == 0:
        return "0%"
    if part == whole:
        return "100%"
    return f"{min(max(100 * part / whole, 0.1), 99.9):.1f}%"


def format_count(count: int, singular: str, plural: str | None = None) -> str:
    """Write ``1 sample`` or ``1 200 samples``; `plural` is the singular with an s unless it is given."""
    return f"{format_number(count)} {singular if count == 1 else plural or singular + 's'}"


def format_points(points: float) -> str:
    """Write a difference in percentage points: ``+1.2``, ``−0.3``, and ``0.0`` for what rounds to it."""
    text = f"{abs(points):.1f}"
    return text if text == "0.0" else f"{'+' if points > 0 else '−'}{text}"


def format_p(p: float) -> str:
    """Write a p value for a sentence: ``p = 0.0123`` or ``p < 0.001``."""
    return "p < 0.001" if p < 0.001 else f"p = {p:.3g}"


def format_p_cell(p: float | None) -> str:
    """Write a p value for a column of them: ``0.012`` or ``<0.001``."""
    if p is None or not math.isfinite(p):
        return DASH
    return "<0.001" if p < 0.001 else f"{p:.3f}"


def format_probability(value: float) -> str:
    """Write a probability in whole percent; ``0%`` and ``100%`` are written only where they are exact."""
    if not math.isfinite(value):
        return DASH
    if 0 < value < 0.01:
        return "<1%"
    if 0.99 < value < 1:
        return ">99%"
    return f"{100 * value:.0f}%"


def shorten(word: str, length: int) -> str:
    """Cut the middle out of a word longer than `length` characters: names often differ at the end."""
    if len(word) <= length:
        return word
    tail = (length - 1) // 3
    return f"{word[: length - 1 - tail].rstrip()}…{word[len(word) - tail :].lstrip()}"


def share_interval(right: Array, groups: Array | None) -> tuple[float, float]:
    """The 95 % interval of the share of samples (n,) that are right; by group where there are groups."""
    n = len(right) if groups is None else effective_size(right, groups)
    return wilson_interval(float(np.mean(right)) * n, n)


def wilson_interval(hits: float, n: float) -> tuple[float, float]:
    """Wilson's score interval (1927) of the share `hits` / `n`, ``n > 0``; of 95 %."""
    p, z = hits / n, 1.96
    middle = (p + z * z / (2 * n)) / (1 + z * z / n)
    half = z / (1 + z * z / n) * math.sqrt(p * (1 - p) / n + z * z / (4 * n * n))
    return max(0.0, middle - half), min(1.0, middle + half)


@dataclass(frozen=True)
class ScoreFormat:
    """Writes the scores of a metric, their intervals and their differences.

    Attributes
    ----------
    metric : Metric
        If it is a share (accuracy, say), scores are written in percent and differences in points.
    digits : int or None
        Digits after the point in differences of any other metric; None: three significant ones.
    """

    metric: Metric
    digits: int | None = None

    @classmethod
    def of_differences(cls, metric: Metric, values: Iterable[float]) -> "ScoreFormat":
        """Choose `digits` so that the largest of these differences has three significant digits.

        Differences below 1e-4 or from 1e6 on are written with powers of ten: `digits` is None then.
        """
        largest = max((abs(value) for value in values if math.isfinite(value)), default=0.0)
        if not 1e-4 <= largest < 1e6:
            return cls(metric)
        return cls(metric, max(0, 2 - math.floor(math.log10(largest))))

    @property
    def direction(self) -> str:
        """Whether large or small scores are good, in words."""
        return "more is better" if self.metric.higher else "less is better"

    @property
    def unit(self) -> str:
        """The unit of differences, to stand after a number: ``points`` or ``of log-loss``."""
        return "points" if self.metric.share else f"of {self.metric.name}"

    def format_score(self, value: float) -> str:
        """Write a score: ``84.2%`` of a share, ``0.458`` of another metric."""
        if not math.isfinite(value):
            return DASH
        return f"{100 * value:.1f}%" if self.metric.share else format_number(float(value))

    def clip_interval(self, interval: Interval) -> Interval:
        """Cut the interval of a share down to [0, 1], its value left inside; others stay as they are."""
        if not self.metric.share:
            return interval
        value, low, high = interval
        return Interval(value, max(low, min(value, 0.0)), min(high, max(value, 1.0)))

    def format_interval(self, interval: Interval) -> str:
        """Write the ends of an interval: ``81.0 to 87.1%``."""
        _, low, high = self.clip_interval(interval)
        if not (math.isfinite(low) and math.isfinite(high)):
            return DASH
        ends = f"{self.format_score(low)} to {self.format_score(high)}"
        return ends.replace("%", "", 1) if self.metric.share else ends

    def format_difference(self, value: float) -> str:
        """Write a difference with its sign: ``+1.2`` points of a share, ``−0.0123`` of another metric."""
        if not math.isfinite(value):
            return DASH
        if self.metric.share:
            return format_points(100 * value)
        text = format_number(abs(float(value)))
        if self.digits is not None:
            text = f"{abs(value):.{self.digits}f}"
        return text if float(value) == 0 else f"{'+' if value > 0 else '−'}{text}"

    def format_difference_interval(self, low: float, high: float) -> str:
        """Write the ends of an interval of differences: ``−1.0 to +3.2``."""
        if not (math.isfinite(low) and math.isfinite(high)):
            return DASH
        return f"{self.format_difference(low)} to {self.format_difference(high)}"
