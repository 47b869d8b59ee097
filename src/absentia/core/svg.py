"""Charts as SVG text: scales with round ticks, frames with axes, paths, dots with intervals; mean ranks.

Everything that draws draws with this: the pages of the report, the charts of reproduced papers and the
critical-difference diagram of mean ranks. Values are in the units of the data, positions in those of the
view box; colours and dashes are classes, ``c0``, ``c1``, ... and ``d0``, ``d1``, ``d2``, of a style sheet.
"""

import math
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from html import escape
from typing import Any

_N_DASHES = 3  # ways to draw a line: in full, dashed, dotted
_VOID = frozenset({"img", "input"})  # elements of HTML without content and end


class Markup(str):
    """Markup in which all text is escaped: templates take it as it is, and so do other elements."""

    __slots__ = ()

    def __html__(self) -> str:
        return self


def fill(template: str, *values: object) -> Markup:
    """Markup with ``{}`` for values: texts are escaped, :class:`Markup` is not, sequences are joined."""
    return Markup(template.format(*map(_write, values)))


def element(name: str, /, *children: object, **attributes: object) -> Markup:
    """An element of SVG or HTML with children as in :func:`fill`. ``class_`` is the attribute ``class``,
    ``stroke_width`` is ``stroke-width``, and attributes that are None are left out.
    """
    names = {key: key.rstrip("_").replace("_", "-") for key in attributes}
    written = "".join(f' {names[key]}="{_write(x)}"' for key, x in attributes.items() if x is not None)
    return Markup(f"<{name}{written}>" + ("" if name in _VOID else f"{_write(children)}</{name}>"))


def _write(value: object) -> str:
    if isinstance(value, Markup):
        return value
    if isinstance(value, list | tuple):
        return "".join(map(_write, value))
    return f"{value:g}" if isinstance(value, int | float) else escape(str(value))


def line(x1: float, y1: float, x2: float, y2: float, **attributes: object) -> Markup:
    """A straight line."""
    return element("line", **attributes, x1=x1, y1=y1, x2=x2, y2=y2)


def text(x: float, y: float, words: str, anchor: str = "start", **attributes: object) -> Markup:
    """Words that begin (or end, or have their middle) at a position."""
    return element("text", words, **attributes, x=x, y=y, text_anchor=anchor)


def dot(
    x: float,
    y: float,
    title: str,
    radius: float,
    *extra: str,
    interval: tuple[float, float] | None = None,
    hollow: bool = False,
    **attributes: object,
) -> Markup:
    """A dot at a position, the vertical line of its interval (two positions), and a title to point at.

    `extra` are further elements that belong to it.
    """
    parts = [] if interval is None else [line(x, interval[0], x, interval[1], class_="range")]
    parts.append(element("circle", class_="target", cx=x, cy=y, r=max(7.0, 2.5 * radius)))
    parts.append(element("circle", class_="dot hollow" if hollow else "dot", cx=x, cy=y, r=radius))
    return element("g", *parts, *extra, element("title", title), class_="point", **attributes)


def line_class(i: int, n_colours: int) -> str:
    """Colour and dash of the i-th line of a chart: dashes tell lines apart once the colours repeat."""
    return f"c{i % n_colours} d{i // n_colours % _N_DASHES}"


# ----------------------------------------------------------------------------------------- scales and ticks


@dataclass(frozen=True)
class Scale:
    """From values between `low` and `high` to positions between `start` and `stop`."""

    low: float
    high: float
    start: float
    stop: float
    log: bool = False

    def __call__(self, value: float) -> float:
        low, high = self.low, self.high
        if self.log:
            value, low, high = math.log10(value), math.log10(low), math.log10(high)
        return round(self.start + (value - low) / (high - low) * (self.stop - self.start), 2)


def round_step(span: float, n_ticks: int = 6) -> float:
    """One, two or five times a power of ten that goes into `span` at most `n_ticks` times."""
    raw = span / n_ticks
    base = 10.0 ** math.floor(math.log10(raw))
    return next(m * base for m in (1, 2, 5, 10) if m * base >= raw * (1 - 1e-9))


def round_ticks(low: float, high: float, n_ticks: int = 6) -> list[float]:
    """Multiples of a round step from `low` to `high`."""
    step = round_step(high - low, n_ticks)
    return [k * step for k in range(math.ceil(low / step - 1e-9), math.floor(high / step + 1e-9) + 1)]


def widen(values: Iterable[float], share: float = 0.0) -> tuple[float, float]:
    """The least and the largest value, with a share of their distance beyond; never one number twice."""
    values = list(values)
    low, high = min(values), max(values)
    room = share * (high - low) if high > low else 0.5
    return low - room, high + room


# ----------------------------------------------------------------------------------------------- charts


@dataclass(frozen=True)
class Frame:
    """The room of a chart: its size, and where values lie along its two axes."""

    width: float
    height: float
    x: Scale
    y: Scale

    @classmethod
    def make(
        cls,
        size: tuple[float, float],
        x_range: tuple[float, float],
        y_range: tuple[float, float],
        margins: tuple[float, float, float, float],
        *,
        log_y: bool = False,
    ) -> "Frame":
        """A frame of `size` (width, height) with `margins` (left, right, top, bottom) around it."""
        (width, height), (left, right, top, bottom) = size, margins
        y = Scale(*y_range, height - bottom, top, log_y)
        return cls(width, height, Scale(*x_range, left, width - right), y)

    def path(self, points: Iterable[tuple[float, float]]) -> str:
        """The way along points, as the attribute ``d``."""
        return "M" + "L".join(f"{self.x(x):g} {self.y(y):g}" for x, y in points)

    def steps(self, points: Sequence[tuple[float, float]]) -> str:
        """The way along points, first across and then up or down."""
        first, *others = ((self.x(x), self.y(y)) for x, y in points)
        return f"M{first[0]:g} {first[1]:g}" + "".join(f"H{x:g}V{y:g}" for x, y in others)

    def axes(
        self,
        x_ticks: Mapping[float, str],
        y_ticks: Mapping[float, str],
        x_title: str,
        y_title: str = "",
        y_title_at: float = 14.0,
    ) -> Markup:
        """Grid lines and labels of ticks (labels by value), the horizontal axis, and titles."""
        left, right, bottom, top = self.x.start, self.x.stop, self.y.start, self.y.stop
        parts = []
        for value, label in y_ticks.items():
            y = self.y(value)
            parts += [line(left, y, right, y, class_="grid"), text(left - 8, y + 4, label, "end")]
        for value, label in x_ticks.items():
            x = self.x(value)
            parts += [line(x, bottom, x, bottom + 5, class_="axis"), text(x, bottom + 19, label, "middle")]
        parts.append(line(left, bottom, right, bottom, class_="axis"))
        parts.append(text((left + right) / 2, bottom + 40, x_title, "middle"))
        if y_title:
            turned = f"translate({y_title_at:g} {(top + bottom) / 2:g}) rotate(-90)"
            parts.append(element("text", y_title, transform=turned, text_anchor="middle"))
        return fill("{}", parts)

    def diagonal(self) -> Markup:
        """From corner to corner: where both values are the same."""
        d = f"M{self.x.start:g} {self.y.start:g}L{self.x.stop:g} {self.y.stop:g}"
        return element("path", d=d, class_="ideal")

    def draw(self, *parts: str, label: str, class_: str = "chart", role: str = "img") -> Markup:
        """The chart, with a label for those who do not see it."""
        box = f"0 0 {self.width:g} {self.height:g}"
        return element("svg", *parts, class_=class_, role=role, aria_label=label, viewBox=box)


# ---------------------------------------------------------------------------------------------- mean ranks


_WIDTH, _SIDE, _ROW, _TOP = 640, 190, 22, 58  # pixels: all of it, room for names, a line of names, the axis
_BAR = 9  # pixels between bars


def critical_difference_diagram(names: Sequence[str], result: Any) -> str:
    """A critical-difference diagram as SVG: methods at their mean ranks, bars over those not told apart.

    Parameters
    ----------
    names : sequence of str
        Of the methods, in the order of the columns of the scores.
    result : Nemenyi
        Of :func:`absentia.statistics.nemenyi`.

    Examples
    --------
    >>> from absentia import statistics
    >>> result = statistics.nemenyi([[9, 8, 1], [8, 9, 2], [7, 6, 1], [8, 9, 3], [9, 8, 3]])
    >>> picture = statistics.critical_difference_diagram(["cvkt", "mean", "zero"], result)
    >>> picture[:4], "1.48" in picture
    ('<svg', True)
    """
    ranks = [float(rank) for rank in result.ranks]
    if len(names) != len(ranks):
        raise ValueError(f"{len(names)} names for {len(ranks)} methods; one for each is wanted")
    order = sorted(range(len(ranks)), key=ranks.__getitem__)
    below = _TOP + 14 + _BAR * len(result.groups)
    height = below + _ROW * ((len(ranks) + 1) // 2) + 12
    scale = Scale(1, len(ranks), _SIDE, _WIDTH - _SIDE)
    parts = [
        _draw_axis(scale, result.critical_difference),
        *(
            _draw_bar([scale(ranks[j]) for j in group], _TOP + 12 + _BAR * i)
            for i, group in enumerate(result.groups)
        ),
        *(
            _draw_name(f"{names[j]} ({ranks[j]:.2f})", scale(ranks[j]), place, len(order), below)
            for place, j in enumerate(order)
        ),
    ]
    listed = "; ".join(f"{names[j]} {ranks[j]:.2f}" for j in order)
    label = f"Mean ranks, 1 is best: {listed}; critical difference {result.critical_difference:.2f}"
    return element(
        "svg",
        *parts,
        xmlns="http://www.w3.org/2000/svg",
        viewBox=f"0 0 {_WIDTH} {height}",
        role="img",
        aria_label=label,
        font_family="sans-serif",
        font_size=12,
        stroke="none",
        fill="currentColor",
    )


def _rule(x1: float, y1: float, x2: float, y2: float, width: float = 1.0) -> Markup:
    return line(x1, y1, x2, y2, stroke="currentColor", stroke_width=width)


def _draw_axis(scale: Scale, critical_difference: float) -> Markup:
    """The ranks, and above them how far apart two have to be."""
    first, last = scale.start, scale.stop
    parts = [_rule(first, _TOP, last, _TOP)]
    for rank in range(1, int(scale.high) + 1):
        x = scale(rank)
        parts += [_rule(x, _TOP - 5, x, _TOP), text(x, _TOP - 9, str(rank), "middle")]
    end = min(scale(1 + critical_difference), float(_WIDTH - 4))
    parts += [
        _rule(first, 24, end, 24, 2),
        text(first, 18, f"critical difference {critical_difference:.2f}"),
    ]
    return fill("{}", parts)


def _draw_bar(positions: Sequence[float], y: float) -> Markup:
    return _rule(min(positions) - 4, y, max(positions) + 4, y, 4)


def _draw_name(label: str, x: float, place: int, n_methods: int, below: float) -> Markup:
    """A name beside the axis, the better half on the left, and the way from its rank to it."""
    left = place < (n_methods + 1) // 2
    y = below + _ROW * (place if left else n_methods - 1 - place) + 8
    edge, anchor = (_SIDE - 14, "end") if left else (_WIDTH - _SIDE + 14, "start")
    words = text(edge - 4 if left else edge + 4, y + 4, label, anchor)
    return fill("{}{}{}", _rule(x, _TOP, x, y), _rule(x, y, edge, y), words)
