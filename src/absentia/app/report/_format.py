"""Numbers, scores and differences as readers see them: shares in percent, the rest with three digits."""

import math
from collections.abc import Iterable
from dataclasses import dataclass
from numbers import Integral

from absentia.experiment.results import Interval, Metric

DASH = "–"
_THIN = "\u202f"
_SUPERSCRIPT = str.maketrans("-0123456789", "⁻⁰¹²³⁴⁵⁶⁷⁸⁹")


def format_number(value: float | None) -> str:
    """Three significant digits for floats, grouped digits for integers, a dash for nothing."""
    if value is None or not math.isfinite(value):
        return DASH
    if isinstance(value, Integral):
        return f"{int(value):,}".replace(",", _THIN).replace("-", "−")
    if value == 0:
        return "0"
    mantissa, exponent = f"{abs(value):.2e}".split("e")
    sign, power = "−" if value < 0 else "", int(exponent)
    if -4 <= power <= 5:
        plain = f"{float(f'{mantissa}e{power}'):,.{max(0, 2 - power)}f}"
        return sign + plain.replace(",", _THIN)
    return f"{sign}{mantissa}×10{str(power).translate(_SUPERSCRIPT)}"


def format_decimal(value: float, digits: int = 3, sign: str = "") -> str:
    """So many digits after the point, with a true minus, and with a plus if `sign` is one."""
    return f"{value:{sign}.{digits}f}".replace("-", "−")


def format_percent(part: float, whole: float) -> str:
    """``100%`` and ``0%`` only when exactly so."""
    if whole == 0 or part == 0:
        return "0%"
    if part == whole:
        return "100%"
    return f"{min(max(100 * part / whole, 0.1), 99.9):.1f}%"


def format_count(count: int, singular: str, plural: str | None = None) -> str:
    return f"{format_number(count)} {singular if count == 1 else plural or singular + 's'}"


def format_points(points: float) -> str:
    """A difference with its sign, one digit after the point; zero has none."""
    text = f"{abs(points):.1f}"
    return text if text == "0.0" else f"{'+' if points > 0 else '−'}{text}"


def format_p(p: float) -> str:
    return "p < 0.001" if p < 0.001 else f"p = {p:.3g}"


def format_p_cell(p: float | None) -> str:
    """A p value for a column whose head says so."""
    if p is None or not math.isfinite(p):
        return DASH
    return "<0.001" if p < 0.001 else f"{p:.3f}"


def format_probability(value: float) -> str:
    """A probability in whole percent; what is neither sure nor impossible does not look so."""
    if not math.isfinite(value):
        return DASH
    if 0 < value < 0.01:
        return "<1%"
    if 0.99 < value < 1:
        return ">99%"
    return f"{100 * value:.0f}%"


def shorten(word: str, length: int) -> str:
    """At most so many characters: the beginning and the end, which often tells names apart."""
    if len(word) <= length:
        return word
    tail = (length - 1) // 3
    return f"{word[: length - 1 - tail].rstrip()}…{word[len(word) - tail :].lstrip()}"


def wilson_interval(hits: int, n: int, z: float = 1.96) -> tuple[float, float]:
    """The 95 % interval of a share (Wilson 1927)."""
    p = hits / n
    middle = (p + z * z / (2 * n)) / (1 + z * z / n)
    half = z / (1 + z * z / n) * math.sqrt(p * (1 - p) / n + z * z / (4 * n * n))
    return max(0.0, middle - half), min(1.0, middle + half)


@dataclass(frozen=True)
class ScoreFormat:
    """How scores in a metric and their differences are written.

    Shares are in percent and their differences in points; of other differences `digits` stand after the
    point, or three significant ones if it is None.
    """

    metric: Metric
    digits: int | None = None

    @classmethod
    def of_differences(cls, metric: Metric, values: Iterable[float]) -> "ScoreFormat":
        """With digits that show three of the largest of these, unless plain digits would not do."""
        largest = max((abs(value) for value in values if math.isfinite(value)), default=0.0)
        if not 1e-4 <= largest < 1e6:
            return cls(metric)
        return cls(metric, max(0, 2 - math.floor(math.log10(largest))))

    @property
    def direction(self) -> str:
        return "more is better" if self.metric.higher else "less is better"

    @property
    def unit(self) -> str:
        """What differences are in, to follow a comma or a number."""
        return "points" if self.metric.share else f"of {self.metric.name}"

    def score(self, value: float) -> str:
        """``84.2%`` of a share, three digits of anything else."""
        if not math.isfinite(value):
            return DASH
        return f"{100 * value:.1f}%" if self.metric.share else format_number(float(value))

    def clip(self, span: Interval) -> Interval:
        """An interval without what a share cannot be."""
        if not self.metric.share:
            return span
        low, high = max(span.low, min(span.value, 0.0)), min(span.high, max(span.value, 1.0))
        return Interval(span.value, low, high)

    def interval(self, span: Interval) -> str:
        """``81.0 to 87.1%``."""
        _, low, high = self.clip(span)
        if not (math.isfinite(low) and math.isfinite(high)):
            return DASH
        ends = f"{self.score(low)} to {self.score(high)}"
        return ends.replace("%", "", 1) if self.metric.share else ends

    def difference(self, value: float) -> str:
        """A difference with its sign."""
        if not math.isfinite(value):
            return DASH
        if self.metric.share:
            return format_points(100 * value)
        text = format_number(abs(float(value)))
        if self.digits is not None:
            text = f"{abs(value):.{self.digits}f}"
        return text if float(value) == 0 else f"{'+' if value > 0 else '−'}{text}"

    def difference_interval(self, low: float, high: float) -> str:
        """``−1.0 to +3.2``."""
        if not (math.isfinite(low) and math.isfinite(high)):
            return DASH
        return f"{self.difference(low)} to {self.difference(high)}"
