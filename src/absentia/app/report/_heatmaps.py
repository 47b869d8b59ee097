"""Heat maps: colour maps of even, monotone lightness, palette PNGs as data URIs, averages over blocks."""

import base64
import io
import math
from collections.abc import Iterable, Sequence
from typing import Any, NamedTuple

import numpy as np

from absentia.app.report._format import format_number
from absentia.core import Array
from absentia.core.svg import Markup, element, fill

LEVELS = 64
ABSENT = LEVELS  # palette index of cells without a value
NEUTRAL = (158, 158, 158)  # carried by absent cells, which are transparent: the page hatches them
MARK = (214, 104, 36)  # samples whose rows were completed

MAX_WHOLE = 320  # up to so many samples, rows or columns, one pixel each
MAX_SIDE = 260  # beyond, equal blocks of them on at most so many pixels
CRISP = 200  # smaller maps are enlarged by the browser, with sharp edges

# linear sRGB -> cone responses -> OKLab
_TO_CONES = np.array(
    [
        [0.4122214708, 0.5363325363, 0.0514459929],
        [0.2119034982, 0.6806995451, 0.1073969566],
        [0.0883024619, 0.2817188376, 0.6299787005],
    ]
)
_TO_LAB = np.array(
    [
        [0.2104542553, 0.7936177850, -0.0040720468],
        [1.9779984951, -2.4285922050, 0.4505937099],
        [0.0259040371, 0.7827717662, -0.8086757660],
    ]
)


# ---------------------------------------------------------------------------------------------- colours


def to_oklab(rgb: Array) -> Array:
    """sRGB in 0..255 to OKLab, a space in which straight lines look even."""
    c = np.asarray(rgb) / 255.0
    linear = np.where(c <= 0.04045, c / 12.92, ((c + 0.055) / 1.055) ** 2.4)
    return np.asarray(np.cbrt(linear @ _TO_CONES.T) @ _TO_LAB.T)


def _to_srgb(lab: Array) -> Array:
    cones = (lab @ np.linalg.inv(_TO_LAB).T) ** 3
    c = np.clip(cones @ np.linalg.inv(_TO_CONES).T, 0, 1)
    gamma = np.where(c <= 0.0031308, 12.92 * c, 1.055 * c ** (1 / 2.4) - 0.055)
    return np.asarray(np.rint(255 * gamma).astype(np.uint8))


def _make_colormap(*anchors: str) -> Array:
    """Colours through the anchors, equally far apart in OKLab."""
    points = to_oklab(np.array([list(bytes.fromhex(anchor)) for anchor in anchors]))
    steps = np.linalg.norm(np.diff(points, axis=0), axis=1)
    along = np.concatenate([[0.0], np.cumsum(steps)])
    where = np.linspace(0, along[-1], LEVELS)
    return _to_srgb(np.column_stack([np.interp(where, along, axis) for axis in points.T]))


VALUES = _make_colormap("14204a", "2d4f85", "3f8296", "6db58a", "c0d978", "fdf3ae")
ERRORS = _make_colormap("15131f", "4d1f5c", "a12f63", "e0604c", "f6ab55", "fff4cf")


def _gamma(colormap: Array) -> float:
    """Errors are shaded by their square root, so that small ones show beside large ones."""
    return 0.5 if colormap is ERRORS else 1.0


class _ValueRange(NamedTuple):
    """What the colours of a map reach over, and whether values lie beyond."""

    low: float
    high: float
    below: bool = False
    above: bool = False


def find_value_range(maps: Iterable[Array], *, from_zero: bool = False) -> _ValueRange | None:
    """A range that a few extreme cells (a large diagonal, say) do not stretch; None without values."""
    values = np.concatenate([np.empty(0), *(m[np.isfinite(m)] for m in maps)])
    if not values.size:
        return None
    low, high = (float(q) for q in np.quantile(values, [0.005, 0.995]))
    smallest, largest = float(values.min()), float(values.max())
    # keep the true ends unless they would waste a third of the colours
    spread = high - low
    low = smallest if low - smallest <= spread / 3 else low
    high = largest if largest - high <= spread / 3 else high
    if from_zero:
        low = 0.0
    return _ValueRange(low, high, smallest < low, largest > high)


# ------------------------------------------------------------------------------------------------ pictures


def encode_heat_map(values: Array, colormap: Array, low: float, high: float) -> str:
    """Palette PNG of `values`; what is not finite becomes the transparent absent colour."""
    finite = np.isfinite(values)
    span = high - low if high > low else 1.0
    shade = np.clip((np.where(finite, values, low) - low) / span, 0, 1)
    index = np.where(finite, np.rint(shade ** _gamma(colormap) * (LEVELS - 1)), ABSENT).astype(np.uint8)
    return _encode_png(index, [*colormap.ravel().tolist(), *NEUTRAL], transparency=ABSENT)


def encode_strip(share: Array) -> str:
    """One line of pixels, the mark colour more opaque the larger the share."""
    index = np.rint(np.clip(share, 0, 1) * 15).astype(np.uint8)
    alpha = bytes(round(255 * level / 15) for level in range(16))
    return _encode_png(np.atleast_2d(index), list(MARK) * 16, transparency=alpha)


def _encode_png(index: Array, palette: list[int], **options: Any) -> str:
    from PIL import Image

    height, width = index.shape
    image = Image.frombytes("P", (width, height), np.ascontiguousarray(index).tobytes())
    image.putpalette(palette)
    buffer = io.BytesIO()
    image.save(buffer, format="PNG", optimize=True, **options)
    return "data:image/png;base64," + base64.b64encode(buffer.getvalue()).decode("ascii")


def draw_heat_map(
    what: str,
    caption: str,
    values: Array,
    colormap: Array,
    value_range: _ValueRange | None,
    *,
    css: str | None = None,
    edges: tuple[str, str] | None = None,
) -> Markup:
    """A map of `what` with its caption; `edges` are strips above and to the left of it."""
    low, high = (0.0, 1.0) if value_range is None else value_range[:2]
    alt = f"Heat map of {what}: {caption[:1].lower()}{caption[1:]}"
    source = encode_heat_map(values, colormap, low, high)
    height, width = values.shape
    picture = element("img", class_="heat", alt=alt, width=width, height=height, src=source)
    if edges is not None:
        strips = '<img class="top" alt="" src="{}"><img class="left" alt="" src="{}">'
        picture = fill(f'<div class="framed">{strips}{{}}</div>', *edges, picture)
    label = fill('<figcaption><span title="{}">{}</span></figcaption>', caption, caption)
    return element("figure", label, picture, class_=css)


def draw_color_bar(title: str, colormap: Array, value_range: _ValueRange | None) -> Markup:
    """The colours of a range with its numbers; nothing if there is no value."""
    if value_range is None:
        return Markup()
    low, high, below, above = value_range
    halfway = 0.5 ** (1 / _gamma(colormap))
    labels = [
        ("≤ " if below else "") + format_number(low),
        format_number(low + halfway * (high - low)) if high > low else "",
        ("≥ " if above else "") + format_number(high),
    ]
    stops = colormap[np.linspace(0, len(colormap) - 1, 12).round().astype(int)]
    gradient = ",".join("#" + bytes(rgb).hex() for rgb in stops)
    template = (
        '<div class="colourbar"><span class="bar-title">{}</span><div>'
        '<i style="background:linear-gradient(90deg,{})"></i><span class="ends">{}</span></div></div>'
    )
    return fill(template, title, gradient, [fill("<span>{}</span>", label) for label in labels])


def draw_view(head: str, bars: Markup, maps: Sequence[Markup], css: str) -> Markup:
    """The maps of a view in a row below its name and its colour bars."""
    template = (
        '<article class="view"><div class="view-head">{}<div class="bars">{}</div></div>'
        '<div class="panels {}">{}</div></article>'
    )
    return fill(template, head, bars, css, list(maps))


def draw_legend(absent: str, along_edges: str = "") -> Markup:
    keys = [fill('<span><i class="key absent"></i>{}</span>', absent)]
    if along_edges:
        keys.append(fill(' <span><i class="key mark"></i>along the edges: {}</span>', along_edges))
    return fill('<p class="legend">{}</p>', keys)


# ---------------------------------------------------------------------------------------- fewer pixels


def find_block_starts(n: int) -> Array:
    """Where blocks of an axis begin: every row or column if there are few, else equal blocks."""
    return np.arange(0, n, 1 if n <= MAX_WHOLE else math.ceil(n / MAX_SIDE))


def average_blocks(values: Array, rows: Array, columns: Array) -> Array:
    """Means over the blocks that begin at `rows` and `columns`, of what is there; NaN where nothing is."""

    def add_up(A: Array) -> Array:
        return np.asarray(np.add.reduceat(np.add.reduceat(A, rows, axis=0), columns, axis=1))

    present = np.isfinite(values)
    counts = add_up(present.astype(float))
    means = np.full(counts.shape, np.nan)
    return np.divide(add_up(np.where(present, values, 0.0)), counts, out=means, where=counts > 0)


def diffuse(share: Array) -> Array:
    """Which pixels of an axis to draw as present, so that on the whole as many are as samples are.

    What is left of a share is carried on to the next pixel; shares of 0 and 1 are always obeyed.
    """
    drawn, carried = np.zeros(len(share), dtype=bool), 0.0
    for i, part in enumerate(share.tolist()):
        carried += part
        drawn[i] = part > 0 and carried >= 0.5
        carried -= drawn[i]
    return drawn
