"""Heat maps of kernels and matrices: colours, pictures, and what many samples on few pixels are.

Colour maps have even, monotone lightness; maps are palette PNGs as data URIs.
"""

import base64
import io
import math
from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass, replace
from typing import Any

import numpy as np

from absentia.app.report._data import CompletionStory, MatrixStory
from absentia.app.report._format import format_count, format_number, format_percent
from absentia.app.report._page import MARK, Section, note
from absentia.app.report._sections import find_patterns
from absentia.core import Array
from absentia.core.svg import Markup, element, fill
from absentia.data import KernelViews

_LEVELS = 64
_ABSENT = _LEVELS  # palette index of cells without a value
_NEUTRAL = (158, 158, 158)  # carried by absent cells, which are transparent: the page hatches them

_MAX_WHOLE = 320  # up to so many samples, rows or columns, one pixel each
_MAX_SIDE = 260  # beyond, equal blocks of them on at most so many pixels
_MIN_SIDE = 96  # however many maps there are
_CRISP = 200  # smaller maps are enlarged by the browser, with sharp edges
_MAX_DRAWN = 2600  # samples of which maps are averages at most: ten for a pixel
_MAX_BYTES = 4_000_000  # of all maps of a completion
BYTES_PER_PIXEL = 1.05  # of noise in 64 levels and base64

KERNEL_WORDS = (
    "A kernel holds how similar each sample is to every other, as one view sees it: row and column are "
    "samples, colour is similarity."
)

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


def _to_oklab(rgb: Array) -> Array:
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
    points = _to_oklab(np.array([list(bytes.fromhex(anchor)) for anchor in anchors]))
    steps = np.linalg.norm(np.diff(points, axis=0), axis=1)
    along = np.concatenate([[0.0], np.cumsum(steps)])
    where = np.linspace(0, along[-1], _LEVELS)
    return _to_srgb(np.column_stack([np.interp(where, along, axis) for axis in points.T]))


_VALUES = _make_colormap("14204a", "2d4f85", "3f8296", "6db58a", "c0d978", "fdf3ae")
_ERRORS = _make_colormap("15131f", "4d1f5c", "a12f63", "e0604c", "f6ab55", "fff4cf")


@dataclass(frozen=True, eq=False)
class ColorScale:
    """The colours of maps, from `low` to `high`, and whether values lie beyond or there are none at all.

    Shades are values to the power of `gamma`.
    """

    low: float
    high: float
    below: bool = False
    above: bool = False
    gamma: float = 1.0
    empty: bool = False

    @classmethod
    def of_values(cls, maps: Iterable[Array]) -> "ColorScale":
        """A range that a few extreme cells (a large diagonal, say) do not stretch."""
        values = np.concatenate([np.empty(0), *(m[np.isfinite(m)] for m in maps)])
        if not values.size:
            return cls(0.0, 1.0, empty=True)
        low, high = (float(q) for q in np.quantile(values, [0.005, 0.995]))
        smallest, largest = float(values.min()), float(values.max())
        # keep the true ends unless they would waste a third of the colours
        spread = high - low
        low = smallest if low - smallest <= spread / 3 else low
        high = largest if largest - high <= spread / 3 else high
        return cls(low, high, smallest < low, largest > high)

    @classmethod
    def of_errors(cls, maps: Iterable[Array]) -> "ColorScale":
        """From zero, shaded by the square root, so that small errors show beside large ones."""
        scale = cls.of_values(maps)
        return replace(scale, low=0.0, below=False, gamma=0.5)

    @property
    def colormap(self) -> Array:
        """(_LEVELS, 3)."""
        return _ERRORS if self.gamma < 1 else _VALUES

    def encode(self, values: Array) -> str:
        """Palette PNG of `values`; what is not finite becomes the transparent absent colour."""
        finite = np.isfinite(values)
        span = self.high - self.low if self.high > self.low else 1.0
        shade = np.clip((np.where(finite, values, self.low) - self.low) / span, 0, 1)
        index = np.where(finite, np.rint(shade**self.gamma * (_LEVELS - 1)), _ABSENT).astype(np.uint8)
        return _encode_png(index, [*self.colormap.ravel().tolist(), *_NEUTRAL], transparency=_ABSENT)

    def draw_map(
        self,
        what: str,
        caption: str,
        values: Array,
        *,
        css: str | None = None,
        edges: tuple[str, str] | None = None,
    ) -> Markup:
        """A map of `what` with its caption; `edges` are strips above and to the left of it."""
        alt = f"Heat map of {what}: {caption[:1].lower()}{caption[1:]}"
        height, width = values.shape
        picture = element(
            "img", class_="heat", alt=alt, width=width, height=height, src=self.encode(values)
        )
        if edges is not None:
            strips = '<img class="top" alt="" src="{}"><img class="left" alt="" src="{}">'
            picture = fill(f'<div class="framed">{strips}{{}}</div>', *edges, picture)
        label = fill('<figcaption><span title="{}">{}</span></figcaption>', caption, caption)
        return element("figure", label, picture, class_=css)

    def draw_bar(self, title: str) -> Markup:
        """The colours with their numbers; nothing if there is no value."""
        if self.empty:
            return Markup()
        low, high = self.low, self.high
        halfway = 0.5 ** (1 / self.gamma)
        labels = [
            ("≤ " if self.below else "") + format_number(low),
            format_number(low + halfway * (high - low)) if high > low else "",
            ("≥ " if self.above else "") + format_number(high),
        ]
        stops = self.colormap[np.linspace(0, _LEVELS - 1, 12).round().astype(int)]
        gradient = ",".join("#" + bytes(rgb).hex() for rgb in stops)
        template = (
            '<div class="colourbar"><span class="bar-title">{}</span><div>'
            '<i style="background:linear-gradient(90deg,{})"></i><span class="ends">{}</span></div></div>'
        )
        return fill(template, title, gradient, [fill("<span>{}</span>", label) for label in labels])


# ------------------------------------------------------------------------------------------------ pictures


def _encode_strip(share: Array) -> str:
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


def draw_panels(head: str, bars: Markup, maps: Sequence[Markup], css: str) -> Markup:
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


def _find_block_starts(n: int) -> Array:
    """Where blocks of an axis begin: every row or column if there are few, else equal blocks."""
    return np.arange(0, n, 1 if n <= _MAX_WHOLE else math.ceil(n / _MAX_SIDE))


def average_blocks(values: Array, rows: Array, columns: Array) -> Array:
    """Means over the blocks that begin at `rows` and `columns`, of what is there; NaN where nothing is."""

    def add_up(A: Array) -> Array:
        return np.asarray(np.add.reduceat(np.add.reduceat(A, rows, axis=0), columns, axis=1))

    present = np.isfinite(values)
    counts = add_up(present.astype(float))
    means = np.full(counts.shape, np.nan)
    return np.divide(add_up(np.where(present, values, 0.0)), counts, out=means, where=counts > 0)


def _choose_map_css(n_pixels: int) -> str:
    """Classes of a section with maps of so many pixels along a side."""
    return "maps crisp" if n_pixels < _CRISP else "maps"


def _diffuse(share: Array) -> Array:
    """Which pixels of an axis to draw as present, so that on the whole as many are as samples are.

    What is left of a share is carried on to the next pixel; shares of 0 and 1 are always obeyed.
    """
    drawn, carried = np.zeros(len(share), dtype=bool), 0.0
    for i, part in enumerate(share.tolist()):
        carried += part
        drawn[i] = part > 0 and carried >= 0.5
        carried -= drawn[i]
    return drawn


# ---------------------------------------------------------------------------------- kernels of a completion


def make_kernels_section(story: CompletionStory) -> Section:
    """Maps of all samples, or, of many, of evenly spaced ones in the order that they are drawn in."""
    order, words = _order_samples(story)
    if story.n_samples > _MAX_DRAWN:
        words += (
            f" Drawn are {format_number(_MAX_DRAWN)} of the {format_number(story.n_samples)} samples, "
            "evenly spaced in this order."
        )
        order = order[np.linspace(0, story.n_samples - 1, _MAX_DRAWN).astype(int)]
    block = _choose_block(len(order), story.n_views * (1 + len(story.after)))
    groups = [order[i : i + block] for i in range(0, len(order), block)]
    if block > 1:
        words += (
            f" Each pixel averages {block} × {block} samples; "
            "as many rows and columns are hatched as there are samples absent."
        )
    lead = (
        f"{KERNEL_WORDS} A sample without the view leaves an empty row and column, which a method fills "
        "in from the other views."
    )
    legend = draw_legend("absent", "samples absent from this view, completed")
    views = [_draw_view(story, v, groups) for v in range(story.n_views)]
    blocks = [legend, note(words), *views]
    css = _choose_map_css(len(groups))
    return Section("kernels", "Kernels", "Kernels before and after", lead, blocks, css)


def _choose_block(n_samples: int, n_maps: int) -> int:
    """Samples per pixel: the fewest with which all maps fit the budget of bytes."""
    affordable = max(_MIN_SIDE, int((_MAX_BYTES / BYTES_PER_PIXEL / n_maps) ** 0.5))
    if n_samples <= min(affordable, _MAX_WHOLE):
        return 1
    return math.ceil(n_samples / min(affordable, _MAX_SIDE))


def _draw_view(story: CompletionStory, v: int, groups: Sequence[Array]) -> Markup:
    """Maps of a view, a pixel for each group of samples."""
    name, has = story.names[v], story.observed[:, v]
    share = np.array([has[group].mean() for group in groups])
    drawn = _diffuse(share)
    maps = {
        "As observed": np.where(np.outer(drawn, drawn), _average_kernel(story.before, v, groups), np.nan)
    }
    for method, kernels in story.after.items():
        maps[f"Completed by {method}"] = _average_kernel(kernels, v, groups)
    scale = ColorScale.of_values(maps.values())
    edges = (_encode_strip(1 - share), _encode_strip(1 - share[:, None]))
    figures = [scale.draw_map(f"view {name}", *item, edges=edges) for item in maps.items()]
    present, n = int(has.sum()), len(has)
    count = f"{format_number(present)} of {format_count(n, 'sample')} ({format_percent(present, n)})"
    head = fill("<div><h3>{}</h3><p>observed for {}</p></div>", name, count)
    return draw_panels(head, scale.draw_bar("Value"), figures, "roomy")


def _average_kernel(kernels: KernelViews, v: int, groups: Sequence[Array]) -> Array:
    """Means of a view's kernel over groups of samples, (groups, groups), of what is there.

    The rows of one group are held at a time.
    """
    operator, has = kernels.operator(kernels.names[v]), kernels.observed[:, v]
    position = np.cumsum(has) - 1  # of a sample in the kernel of the view
    samples = np.concatenate(groups)
    columns = has[samples]
    starts = np.cumsum([0, *map(len, groups[:-1])])
    means = []
    for group in groups:
        rows = has[group]
        block = np.full((len(group), len(samples)), np.nan)
        block[np.ix_(rows, columns)] = operator.block(position[group[rows]], position[samples[columns]])
        means.append(average_blocks(block, np.zeros(1, dtype=int), starts))
    return np.concatenate(means)


def _order_samples(story: CompletionStory) -> tuple[Array, str]:
    """A permutation by the leading structure of the completed kernels or by pattern, and its words."""
    if story.after and story.n_samples > 3:
        method, kernels = next(iter(story.after.items()))
        return _order_by_structure(kernels), (
            "Samples are ordered by the leading structure of the average kernel completed by "
            f"{method}, so that similar samples stand side by side."
        )
    rank = find_patterns(story.observed).rank
    return np.argsort(rank, kind="stable"), "Samples are ordered by their missing pattern."


def _order_by_structure(kernels: KernelViews) -> Array:
    """Seriation: the angle of each sample in the plane of the two leading eigenvectors.

    The circle of angles is cut at its widest gap.
    """
    plane = _find_leading_plane(_sum_kernels(kernels), len(kernels))
    angle = np.arctan2(plane[:, 1], plane[:, 0])
    around = np.argsort(angle, kind="stable")
    gaps = np.diff(angle[around], append=angle[around[0]] + 2 * np.pi)
    return np.roll(around, -(int(np.argmax(gaps)) + 1))


def _sum_kernels(kernels: KernelViews) -> Callable[[Array], Array]:
    """The product of thin matrices with the mean over views, each scaled to unit mean diagonal."""
    sizes = {name: float(np.mean(np.abs(kernels.diagonal(name)))) for name in kernels.names}

    def multiply(X: Array) -> Array:
        total = np.zeros_like(X)
        for name, size in sizes.items():
            if np.isfinite(size) and size > 0:
                with np.errstate(all="ignore"):
                    total += kernels.operator(name) @ X / size
        return np.nan_to_num(total, copy=False, nan=0.0, posinf=0.0, neginf=0.0)

    return multiply


def _find_leading_plane(multiply: Callable[[Array], Array], n: int, n_iter: int = 30) -> Array:
    """Two leading eigenvectors of the centred kernel by subspace iteration, scaled by root value.

    Four vectors are carried so that the two wanted ones converge quickly.
    """
    X = np.cos(np.outer(np.arange(n), 1.0 + np.arange(min(4, n))))  # any start in general position
    for _ in range(n_iter):
        Q, _ = np.linalg.qr(X - X.mean(axis=0))
        X = multiply(Q)
        X = X - X.mean(axis=0)
    values, rotation = np.linalg.eigh(Q.T @ X)
    leading = np.argsort(-np.abs(values))[:2]
    return np.asarray(Q @ rotation[:, leading] * np.sqrt(np.abs(values[leading])))


# ---------------------------------------------------------------------------------------------- one matrix


def make_matrix_section(story: MatrixStory) -> Section:
    """As observed, completed and how uncertain, every column in its own standard deviations."""
    observed, scale = story.observed, story.scale
    mean = np.nanmean(story.before, axis=0)
    rows, columns = (_find_block_starts(n) for n in observed.shape)

    def average(values: Array) -> Array:
        return average_blocks(values, rows, columns)

    share = average(observed.astype(float))
    drawn = np.array([_diffuse(line) for line in share])
    before = np.where(drawn, average((story.before - mean) / scale), np.nan)
    after, std = average((story.after - mean) / scale), average(story.std / scale)
    values, spread = ColorScale.of_values([before, after]), ColorScale.of_errors([std])
    edges = (_encode_strip(1 - share.mean(axis=0)), _encode_strip(1 - share.mean(axis=1)[:, None]))
    maps = [
        values.draw_map("the matrix", "As observed", before, edges=edges),
        values.draw_map("the matrix", "Completed", after, edges=edges),
        spread.draw_map("the matrix", "Standard deviation", std, edges=edges),
    ]
    bars = fill("{}{}", values.draw_bar("Value"), spread.draw_bar("Std"))
    pixels = _describe_pixels(observed.shape, (rows, columns))
    blocks = [
        draw_legend("missing", "share missing in a row or column"),
        *([note(pixels)] if pixels else []),
        draw_panels("", bars, maps, "roomy"),
    ]
    lead = (
        "Rows and columns in the order of the file. Colour is how far an entry lies from its column's "
        "mean, in standard deviations of the column."
    )
    css = _choose_map_css(min(len(rows), len(columns)))
    return Section("matrix", "Matrix", "The matrix before and after", lead, blocks, css)


def _describe_pixels(shape: tuple[int, ...], starts: tuple[Array, Array]) -> str:
    """What a pixel is the average of, where it is one."""
    r, c = (int(s[1] - s[0]) if len(s) > 1 else n for n, s in zip(shape, starts, strict=True))
    if r == c == 1:
        return ""
    return (
        f"Each pixel averages {format_count(r, 'row')} × {format_count(c, 'column')}; as many pixels are "
        "hatched as entries are missing."
    )
