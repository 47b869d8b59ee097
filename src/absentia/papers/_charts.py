"""Lines over a factor of the design, a small panel for each value of another: an SVG that stands alone."""

from collections.abc import Sequence
from typing import NamedTuple

import numpy as np

from absentia.core.svg import Frame, Markup, element, fill, line_class, text, widen
from absentia.papers._summary import Summary

_WIDTH, _HEIGHT, _ACROSS = 300, 228, 3  # pixels of a panel, and panels side by side
_MARGINS = (44.0, 10.0, 26.0, 48.0)
_COLOURS = ("#1b6ca8", "#d1495b", "#2e8b57", "#e0902f", "#7b4fa3", "#666666", "#17a2a2", "#a0522d")
_STYLE = (
    "text{font:11px system-ui,sans-serif;fill:#333}.t{font-weight:600}.grid{stroke:#ddd}.axis{stroke:#999}"
    "path{fill:none;stroke:currentColor;stroke-width:1.8}.d1{stroke-dasharray:5 3}.d2{stroke-dasharray:2 2}"
    + "".join(f".c{i}{{color:{colour}}}" for i, colour in enumerate(_COLOURS))
    + "@media(prefers-color-scheme:dark){text{fill:#ddd}.grid{stroke:#444}}"
)


class _Point(NamedTuple):
    panel: str
    column: str
    x: float
    y: float


def chart_svg(summary: Summary) -> str:
    """The picture of an experiment that has a chart."""
    points = _average_points(summary)
    panels = list(dict.fromkeys(point.panel for point in points))
    columns = [c.name for c in summary.experiment.columns if any(p.column == c.name for p in points)]
    n_down = -(-len(panels) // _ACROSS)
    width = min(_ACROSS, max(1, len(panels))) * _WIDTH
    height = n_down * _HEIGHT + -(-len(columns) // 4) * 18 + 8
    chart = summary.experiment.chart
    parts = [element("title", summary.experiment.what), element("style", Markup(_STYLE))]
    for i, panel in enumerate(panels):
        inside = _draw_panel(
            panel, [p for p in points if p.panel == panel], columns, chart.label if chart else ""
        )
        place = f"translate({i % _ACROSS * _WIDTH} {i // _ACROSS * _HEIGHT})"
        parts.append(element("g", inside, transform=place))
    for i, name in enumerate(columns):
        x, y = 12 + i % 4 * (width - 12) // 4, n_down * _HEIGHT + 14 + i // 4 * 18
        swatch = element("path", d=f"M{x} {y - 4}h18", class_=line_class(i, len(_COLOURS)))
        parts += [swatch, text(x + 24, y, name)]
    box = f"0 0 {width} {height}"
    xmlns = "http://www.w3.org/2000/svg"
    return Markup(element("svg", *parts, xmlns=xmlns, viewBox=box, width=width, role="img") + "\n")


def _average_points(summary: Summary) -> list[_Point]:
    """Means over repeats and parts; x and panel are read from the rows' names, which hold them."""
    chart = summary.experiment.chart
    assert chart is not None
    places = _find_places(summary)
    values: dict[tuple[str, str, float], list[float]] = {}
    for score in summary.observed:
        if score.measure in chart.measures and score.row in places:
            panel, x = places[score.row]
            if len(chart.measures) > 1:
                panel = f"{panel}, {score.measure}" if panel else score.measure
            values.setdefault((panel, score.column, x), []).append(score.value)
    return [_Point(*place, float(np.mean(scores))) for place, scores in values.items()]


def _find_places(summary: Summary) -> dict[str, tuple[str, float]]:
    """Panel and x of every row that the design can give; parts stand for themselves."""
    experiment, chart = summary.experiment, summary.experiment.chart
    assert chart is not None
    rows = {score.row for score in summary.observed}
    parts = {""}
    if "{part}" in experiment.row:
        parts = {piece.strip() for row in rows for piece in row.split(",")}
    places = {}
    for setting in experiment.settings():
        for part in sorted(parts):
            row = experiment.row_of(setting, part)
            if row in rows:
                panel = part if chart.panel == "part" else experiment.word(setting.get(chart.panel, ""))
                places[row] = (panel, float(setting[chart.x]))
    return places


def _draw_panel(title: str, points: Sequence[_Point], columns: Sequence[str], label: str) -> Markup:
    x_range, y_range = widen(p.x for p in points), widen(p.y for p in points)
    frame = Frame.make((_WIDTH, _HEIGHT), x_range, y_range, _MARGINS)
    x_ticks = {x: f"{x:g}" for x in sorted({p.x for p in points})}
    y_ticks = {float(y): f"{y:.3g}" for y in np.linspace(*y_range, 4)}
    parts = [text(_MARGINS[0], 16, title, class_="t"), frame.axes(x_ticks, y_ticks, label)]
    for i, name in enumerate(columns):
        places = sorted((p.x, p.y) for p in points if p.column == name)
        if places:
            drawn = element("title", name)
            parts.append(element("path", drawn, d=frame.path(places), class_=line_class(i, len(_COLOURS))))
    return fill("{}", parts)
