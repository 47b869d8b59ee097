"""Numbers as people read them."""

import math
import re
from numbers import Integral, Real

import numpy as np

from absentia.core import Array

DASH = "–"
_THIN = "\u202f"
_SUPERSCRIPT = str.maketrans("-0123456789", "⁻⁰¹²³⁴⁵⁶⁷⁸⁹")


def number(value: object) -> str:
    """Three significant digits for floats, grouped digits for integers, a dash for nothing."""
    if value is None:
        return DASH
    if isinstance(value, bool) or type(value).__name__ == "bool":
        return "yes" if value else "no"
    if isinstance(value, Integral):
        return f"{int(value):,}".replace(",", _THIN).replace("-", "−")
    if isinstance(value, Real):
        return _real(float(value))
    return str(value)


def _real(x: float) -> str:
    if not math.isfinite(x):
        return DASH
    if x == 0:
        return "0"
    mantissa, exponent = f"{abs(x):.2e}".split("e")
    sign, power = "−" if x < 0 else "", int(exponent)
    if -4 <= power <= 5:
        plain = f"{float(f'{mantissa}e{power}'):,.{max(0, 2 - power)}f}"
        return sign + plain.replace(",", _THIN)
    return f"{sign}{mantissa}×10{str(power).translate(_SUPERSCRIPT)}"


def power_of_ten(power: int) -> str:
    return "1" if power == 0 else f"10{str(power).translate(_SUPERSCRIPT)}"


def percent(part: float, whole: float) -> str:
    """``100%`` and ``0%`` only when exactly so."""
    if whole == 0 or part == 0:
        return "0%"
    if part == whole:
        return "100%"
    return f"{min(max(100 * part / whole, 0.1), 99.9):.1f}%"


def plural(count: int, one: str, many: str | None = None) -> str:
    return f"{number(count)} {one if count == 1 else many or one + 's'}"


def listing(words: list[str], limit: int) -> str:
    """``a, b and 3 more``."""
    if len(words) <= limit:
        return ", ".join(words)
    return f"{', '.join(words[:limit])} and {number(len(words) - limit)} more"


def shortened(word: str, length: int) -> str:
    """At most so many characters: the beginning and the end, which often tells names apart."""
    if len(word) <= length:
        return word
    tail = (length - 1) // 3
    return f"{word[: length - 1 - tail].rstrip()}…{word[len(word) - tail :].lstrip()}"


def csv_name(what: str, title: str) -> str:
    """The name of a file that holds `what` of the page with this title."""
    words = re.findall(r"[a-z0-9]+", f"{title.lower()[:60]} {what.lower()}")
    return "-".join(words[-12:] or ["table"]) + ".csv"


def signed(points: float) -> str:
    """A difference with its sign, one digit after the point; zero has none."""
    text = f"{abs(points):.1f}"
    return text if text == "0.0" else f"{'+' if points > 0 else '−'}{text}"


def p_value(p: float) -> str:
    return "p < 0.001" if p < 0.001 else f"p = {p:.3g}"


def spread(values: Array) -> tuple[str, str]:
    """Median, and the range of the middle 80 %."""
    low, middle, high = np.quantile(values, [0.1, 0.5, 0.9]).tolist()
    return number(middle), f"{number(low)} to {number(high)}"
