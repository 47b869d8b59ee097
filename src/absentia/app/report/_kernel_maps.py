"""Kernels as small pictures: true, with cells hidden, and as each method completes them."""

from collections.abc import Iterator, Sequence
from dataclasses import dataclass

from absentia.app.report import _colour as colour
from absentia.app.report._heatmaps import Bar, Panel, Scale, colour_bar, heat_panel, value_range
from absentia.experiment import findings as found


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


def pictures(findings: found.Findings) -> Pictures | None:
    """None if there are no maps."""
    maps = findings.kernels
    if maps is None or not maps.truth:
        return None
    methods = [row.method for row in findings.rows if row.method in maps.completed]
    methods += [method for method in maps.completed if method not in methods]
    wanted = findings.verdict.recommended
    return Pictures(
        methods,
        methods.index(wanted) if wanted in methods else 0,
        maps.side,
        maps.order,
        [_view(maps, view, methods) for view in maps.truth],
    )


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
