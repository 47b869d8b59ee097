"""Kernels as small pictures: true, with cells hidden, and as each method completes them."""

import math
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass

import numpy as np

from absentia.app.report import _colour as colour
from absentia.app.report._heatmaps import Bar, Panel, Scale, colour_bar, heat_panel, value_range
from absentia.core import Array
from absentia.experiment import findings as found

BYTES = 725_000  # of all pictures together
BYTES_PER_PIXEL, BYTES_PER_PICTURE = 1.05, 640  # of noise in base64, and what comes with it


@dataclass(frozen=True)
class ViewPictures:
    """A view: what is true and hidden, then what each method makes of it (`Panel.method` says which)."""

    name: str
    panels: Sequence[Panel]
    bars: Sequence[Bar]


@dataclass(frozen=True)
class Pictures:
    """All views; `chosen` is the position of the method that is seen first."""

    methods: Sequence[str]
    chosen: int
    side: int
    order: str
    views: Sequence[ViewPictures]


def pictures(findings: found.ComparisonResults) -> Pictures | None:
    """None if there are no maps."""
    maps = findings.kernels
    if maps is None or not maps.truth:
        return None
    methods = [row.method for row in findings.rows if row.method in maps.completed]
    methods += [method for method in maps.completed if method not in methods]
    wanted = findings.verdict.recommended
    maps = _small_enough(maps)
    return Pictures(
        methods,
        methods.index(wanted) if wanted in methods else 0,
        maps.side,
        maps.order,
        [_view(maps, view, methods) for view in maps.truth],
    )


def _small_enough(maps: found.KernelMaps) -> found.KernelMaps:
    """The same with fewer pixels, where there are so many pictures that a page would grow large."""
    count = sum(map(len, (maps.truth, maps.hidden, *maps.completed.values())))
    affordable = max(BYTES / max(count, 1) - BYTES_PER_PICTURE, 64.0) / BYTES_PER_PIXEL
    block = math.ceil(maps.side / math.sqrt(affordable))
    if block <= 1:
        return maps

    def smaller(kernels: Mapping[str, Array]) -> dict[str, Array]:
        return {view: averaged(K, block) for view, K in kernels.items()}

    return found.KernelMaps(
        math.ceil(maps.side / block),
        maps.order,
        smaller(maps.truth),
        smaller(maps.hidden),
        {method: smaller(kernels) for method, kernels in maps.completed.items()},
    )


def averaged(K: Array, block: int) -> Array:
    """Means over blocks of what is there; NaN where nothing is."""
    K = np.asarray(K, dtype=float)
    size = math.ceil(len(K) / block)
    padded = np.full((size * block, size * block), np.nan)
    padded[: len(K), : len(K)] = K
    cells = padded.reshape(size, block, size, block)
    there = np.isfinite(cells)
    count = there.sum(axis=(1, 3))
    total = np.where(there, cells, 0.0).sum(axis=(1, 3))
    return np.divide(total, count, out=np.full((size, size), np.nan), where=count > 0)


def _view(maps: found.KernelMaps, view: str, methods: Sequence[str]) -> ViewPictures:
    done = [maps.completed[method][view] for method in methods if view in maps.completed[method]]
    scale = value_range([maps.truth[view], *done])
    return ViewPictures(
        view, list(_panels(maps, view, methods, scale)), colour_bar("Value", colour.VALUES, scale)
    )


def _panels(
    maps: found.KernelMaps, view: str, methods: Sequence[str], scale: Scale | None
) -> Iterator[Panel]:
    what, lut = f"view {view}", colour.VALUES
    yield heat_panel("True", "", what, maps.truth[view], lut, scale)
    if view in maps.hidden:
        yield heat_panel("With cells hidden", "", what, maps.hidden[view], lut, scale)
    for i, method in enumerate(methods):
        if view in maps.completed[method]:
            yield heat_panel(
                f"Completed by {method}", "", what, maps.completed[method][view], lut, scale, i
            )
