"""What pages draw with: heat maps of kernels and of a matrix, and numbers with intervals along an axis.

Heat maps are palette PNGs as data URIs, many samples on few pixels.  Positions along an axis are in percent
of its length: drawings take the room there is.
"""

import base64
import math
import struct
import zlib
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from functools import cache

import numpy as np

from absentia.app.report._page import Cell, Column, Columns, Row, format_number, make_table, note
from absentia.core import Array
from absentia.core.svg import Markup, Scale, element, fill, round_step, round_ticks

_LEVELS = 64
_ANCHORS = ("14204a", "2d4f85", "3f8296", "6db58a", "c0d978", "fdf3ae")  # of even, rising lightness
MAX_SIDE = 260  # pixels of a map; beyond, each is the mean of a block
LEGEND = Markup('<p class="legend"><span><i class="key absent"></i>absent</span></p>')


@cache
def _make_palette() -> Array:
    """Colours along the anchors, (_LEVELS, 3) of 0 to 255."""
    anchors = np.array([list(bytes.fromhex(anchor)) for anchor in _ANCHORS])
    where = np.linspace(0, len(anchors) - 1, _LEVELS)
    channels = [np.interp(where, np.arange(len(anchors)), channel) for channel in anchors.T]
    return np.rint(np.column_stack(channels)).astype(np.uint8)


def _encode_png(values: Array, low: float, high: float) -> str:
    """`values` (height, width) from `low` to `high` as colours; what is not finite is transparent."""
    finite = np.isfinite(values)
    shade = np.clip((np.where(finite, values, low) - low) / ((high - low) or 1.0), 0, 1)
    index = np.where(finite, np.rint(shade * (_LEVELS - 1)), _LEVELS).astype(np.uint8)
    lines = np.insert(index, 0, 0, axis=1)  # each begins with its filter: none

    def pack(kind: bytes, content: bytes) -> bytes:
        return (
            struct.pack(">I", len(content)) + kind + content + struct.pack(">I", zlib.crc32(kind + content))
        )

    chunks = {
        b"IHDR": struct.pack(">IIBBBBB", *values.shape[::-1], 8, 3, 0, 0, 0),  # 8 bits, by palette
        b"PLTE": _make_palette().tobytes() + b"\x9e" * 3,
        b"tRNS": b"\xff" * _LEVELS + b"\0",
        b"IDAT": zlib.compress(lines.tobytes(), 9),
        b"IEND": b"",
    }
    content = b"\x89PNG\r\n\x1a\n" + b"".join(pack(*chunk) for chunk in chunks.items())
    return "data:image/png;base64," + base64.b64encode(content).decode("ascii")


def draw_panel(head: Markup | str, what: str, maps: Mapping[str, Array]) -> Markup:
    """Maps of `what` by caption, in one scale that few extreme values do not stretch, and its bar."""
    values = np.concatenate([m[np.isfinite(m)] for m in maps.values()])
    low, high = np.quantile(values, [0.005, 0.995]).tolist() if values.size else (0.0, 1.0)
    figures = []
    for caption, drawn in maps.items():
        alt = f"Heat map of {what}: {caption[:1].lower()}{caption[1:]}"
        height, width = drawn.shape
        source = _encode_png(drawn, low, high)
        picture = element("img", class_="heat", alt=alt, width=width, height=height, src=source)
        figures.append(fill("<figure><figcaption>{}</figcaption>{}</figure>", caption, picture))
    stops = ",".join("#" + bytes(colour).hex() for colour in _make_palette()[::7])
    ends = [
        ("≤ " if values.size and values.min() < low else "") + format_number(low),
        ("≥ " if values.size and values.max() > high else "") + format_number(high),
    ]
    template = (
        '<article class="view"><div class="view-head">{}<div class="colourbar"><i style="background:'
        'linear-gradient(90deg,{})"></i><span class="ends"><span>{}</span><span>{}</span></span></div>'
        '</div><div class="panels">{}</div></article>'
    )
    return fill(template, head, stops, *ends, figures)


def average_blocks(values: Array, rows: Array, columns: Array) -> Array:
    """Means over the blocks that begin at `rows` and `columns`, of what is there; NaN where nothing is."""

    def add_up(A: Array) -> Array:
        return np.asarray(np.add.reduceat(np.add.reduceat(A, rows, axis=0), columns, axis=1))

    present = np.isfinite(values)
    counts = add_up(present.astype(float))
    means = np.full(counts.shape, np.nan)
    return np.divide(add_up(np.where(present, values, 0.0)), counts, out=means, where=counts > 0)


# -------------------------------------------------------------------------------------------- along an axis

_MARGIN = 4.0  # percent left free at either end: marks have a size
_N_TICKS = 5
_FENCE = 3.0  # interquartile ranges beyond which something is off the scale
_Interval = tuple[float, float, float]  # value, low, high


@dataclass(frozen=True)
class Axis:
    """From the least to the largest number that is drawn; what lies beyond is drawn at its ends."""

    low: float
    high: float
    ticks: Mapping[float, str]  # labels by value

    def place(self, value: float) -> float:
        """In percent; what is not finite is at the beginning."""
        scale = Scale(self.low, self.high, _MARGIN, 100 - _MARGIN)
        return scale(min(max(value, self.low), self.high) if math.isfinite(value) else self.low)

    def draw_interval(self, interval: _Interval, kind: str, label: str) -> Cell:
        """A mark at the value (a diamond where `kind` is "chosen", else a dot), a line over its interval.

        An arrow at the edge stands for a value, or the end of an interval, that lies beyond the axis.
        """
        value, low, high = interval
        low, high = (end if math.isfinite(end) else value for end in (low, high))
        parts = [fill('<line x1="{}%" x2="{}%" y1="50%" y2="50%"/>', self.place(low), self.place(high))]
        slack = 1e-9 * (self.high - self.low)
        if low < self.low - slack:
            parts.append(_draw_sign(self.place(low), "cut", "M0 -5l-6 5l6 5"))
        if high > self.high + slack:
            parts.append(_draw_sign(self.place(high), "cut", "M0 -5l6 5l-6 5"))
        if kind == "chosen":
            parts.append(_draw_sign(self.place(value), "diamond", "M0 -7.5L7.5 0L0 7.5L-7.5 0z"))
        elif self.low <= value <= self.high:
            radius = 4.5 if kind == "baseline" else 5
            parts.append(fill('<circle cx="{}%" cy="50%" r="{}"/>', self.place(value), radius))
        template = (
            '<span class="track {}" tabindex="0" role="img" aria-label="{}">'
            '<svg aria-hidden="true">{}</svg></span>'
        )
        return Cell(fill(template, kind, label, parts), css="tracked")

    def draw_ticks(self, n_columns: int) -> Row:
        """The foot of a table whose second column is drawn along this axis."""
        template = (
            '<g class="{}"><line x1="{}%" x2="{}%" y1="0" y2="5"/>'
            '<text x="{}%" y="18" text-anchor="middle">{}</text></g>'
        )
        marks = [
            fill(template, "zero" if label == "0" else "", *[self.place(tick)] * 3, label)
            for tick, label in self.ticks.items()
        ]
        scale = Cell(fill('<svg class="scale" aria-hidden="true">{}</svg>', marks), css="tracked")
        return Row(["", scale, *[""] * (n_columns - 2)])


def _draw_sign(place: float, css: str, d: str) -> Markup:
    template = '<svg x="{}%" y="50%" overflow="visible"><path class="{}" d="{}"/></svg>'
    return fill(template, place, css, d)


def fit_axis(
    intervals: Sequence[_Interval],
    *,
    include: Sequence[float] = (),
    percent: bool = False,
    sign: bool = False,
) -> Axis:
    """Wide enough for all intervals but those that lie far outside the rest, and for what must be on it.

    Ticks are in hundredths with `percent`, and have a sign with `sign`.
    """
    low, high = _find_ends(intervals, include)
    step, factor = round_step(high - low, _N_TICKS), 100 if percent else 1
    suffix = "%" if percent and not sign else ""
    ticks = {
        tick: _label_tick(factor * tick, factor * step, sign) + suffix
        for tick in round_ticks(low, high, _N_TICKS)
    }
    return Axis(low, high, ticks)


def _find_ends(intervals: Sequence[_Interval], include: Sequence[float]) -> tuple[float, float]:
    """The ends of the axis: quartiles of all values, and how long intervals are, say what is far off."""
    values = np.array([s[0] for s in intervals if math.isfinite(s[0])] or [*include] or [0.0])
    ends = np.array([x for s in intervals for x in s if math.isfinite(x)] + [*include] or [0.0])
    if len(values) >= 4:
        first, third = np.quantile(values, [0.25, 0.75])
        lengths = [(s[2] - s[1]) / 2 for s in intervals if math.isfinite(s[2] - s[1])]
        usual = float(np.median(lengths)) if lengths else 0.0
        fence = _FENCE * max(third - first, usual, 1e-3 * abs(third), 1e-12)
        near = ends[(ends >= first - fence) & (ends <= third + fence)]
        ends = np.concatenate([near, include]) if near.size else ends
    low, high = float(ends.min()), float(ends.max())
    if high - low <= 1e-9 * max(abs(low), abs(high), 1e-9):
        room = 0.05 * abs(low) or 1.0
        low, high = low - room, high + room
    return low, high


def _label_tick(value: float, step: float, sign: bool) -> str:
    """A round number with the digits that its step needs."""
    if not 1e-4 <= step < 1e6:
        text = format_number(abs(value))
    else:
        text = f"{abs(value):.{max(0, -math.floor(math.log10(step) + 1e-9))}f}"
    if float(value) == 0 or abs(value) < step / 2:
        return "0"
    return ("−" if value < 0 else "+" if sign else "") + text


def make_interval_table(
    axis: Axis,
    label: str,
    columns: Columns,
    rows: Sequence[Row],
    css: str,
    *,
    base: float | None,
    base_label: str = "",
    style: str = "",
    file: str = "",
) -> Markup:
    """A table whose second column is drawn along an axis, with an upright line at `base`.

    `columns` are the others; a note explains arrows at the edges where there are any.
    """
    chart = Column("Chart", numeric=False, css="wider", hidden=True)
    if base is not None:
        place = axis.place(base)
        style = f"--base:{place}%;{style}"
        template = (
            '<small class="base" aria-hidden="true" style="--at:{}%"><i>{}</i></small>'
            '<span class="unseen">Chart</span>'
        )
        if base_label:
            chart = Column(fill(template, place, base_label), numeric=False, css="wider")
    heads = [columns[0], chart, *columns[1:]]
    footer = axis.draw_ticks(len(heads))
    table = make_table(label, heads, rows, f"tracks {css}", file=file, footer=footer, style=style or None)
    if 'class="cut"' not in table:
        return table
    words = "An arrow at an edge: an interval goes on beyond the chart; point at it to read it."
    return fill("{}{}", table, note(words))
