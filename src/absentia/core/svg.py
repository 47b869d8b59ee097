"""Charts as SVG text: scales with round ticks, frames with axes, paths, and dots with intervals.

Everything that draws draws with this: the pages of the report and the charts of reproduced papers. Values
are in the units of the data, positions in those of the view box; colours and dashes are classes, ``c0``,
``c1``, ... and ``d0``, ``d1``, ``d2``, of a style sheet.
"""

import math
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from html import escape

import numpy as np

from absentia.core.linalg import Array

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


# -------------------------------------------------------------------------------------- who has which view


def draw_runs(seen: Array) -> str:
    """Path of unit height over each stretch of True."""
    padded = np.concatenate([[False], seen, [False]]).astype(np.int8)
    starts, stops = (np.flatnonzero(np.diff(padded) == step).tolist() for step in (1, -1))
    return "".join(f"M{a} 0h{b - a}v1h-{b - a}z" for a, b in zip(starts, stops, strict=True))


def tabulate_presence(
    headline: str, names: Sequence[str], observed: Array, sizes: Sequence[str] = ()
) -> Markup:
    """A table for notebooks: a row for each view, with a strip over the samples sorted by pattern.

    Parameters
    ----------
    headline : str
    names : sequence of V str
    observed : (n, V) bool array
        Who has which view.
    sizes : sequence of V str, optional
        A column more.
    """
    seen = observed[np.lexsort(~observed.T[::-1])] if observed.size else observed
    n, rows = len(observed), []
    for v, name in enumerate(names):
        strip = fill(
            '<svg role="img" aria-label="{}" width="240" height="14" viewBox="0 0 {} 1" '
            'preserveAspectRatio="none"><path d="{}" fill="currentColor" opacity="0.65"/></svg>',
            f"{name}: {seen[:, v].sum()} of {n} samples, sorted by pattern",
            str(max(n, 1)),
            draw_runs(seen[:, v]),
        )
        cells = [element("th", name, scope="row", style="text-align: left")]
        cells += [element("td", text, style="text-align: left") for text in sizes[v : v + 1]]
        rows.append(
            element("tr", *cells, element("td", strip), element("td", f"{seen[:, v].sum()} of {n}"))
        )
    titles = ["view", *["size"][: len(sizes)], "samples that have it", ""]
    head = element("thead", element("tr", *(element("th", title, scope="col") for title in titles)))
    return element("div", element("b", headline), element("table", head, element("tbody", *rows)))
