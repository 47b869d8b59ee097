"""Lines over a factor of the design, a small panel for each value of another: an SVG that stands alone."""

from collections.abc import Sequence
from html import escape
from typing import NamedTuple

import numpy as np

from absentia.papers._summary import Summary

WIDTH, HEIGHT, ACROSS = 300, 220, 3
LEFT, RIGHT, TOP, BOTTOM = 44, 10, 26, 40
COLOURS = ("#1b6ca8", "#d1495b", "#2e8b57", "#e0902f", "#7b4fa3", "#666666", "#17a2a2", "#a0522d")
STYLE = (
    "text{font:11px system-ui,sans-serif;fill:#333}.t{font-weight:600}.g{stroke:#ddd}"
    "path{fill:none;stroke-width:1.8}@media(prefers-color-scheme:dark){text{fill:#ddd}.g{stroke:#444}}"
)


class _Point(NamedTuple):
    panel: str
    column: str
    x: float
    y: float


def chart_svg(summary: Summary) -> str:
    """The picture of an experiment that has a chart."""
    points = _points(summary)
    panels = list(dict.fromkeys(point.panel for point in points))
    columns = [c.name for c in summary.experiment.columns if any(p.column == c.name for p in points)]
    down = -(-len(panels) // ACROSS)
    key = -(-len(columns) // 4) * 18 + 8
    width, height = min(ACROSS, max(1, len(panels))) * WIDTH, down * HEIGHT + key
    size = f'viewBox="0 0 {width} {height}" width="{width}"'
    parts = [
        f'<svg xmlns="http://www.w3.org/2000/svg" {size} role="img">',
        f"<title>{escape(summary.experiment.what)}</title><style>{STYLE}</style>",
    ]
    for i, panel in enumerate(panels):
        own = [point for point in points if point.panel == panel]
        x, y = i % ACROSS * WIDTH, i // ACROSS * HEIGHT
        label = summary.experiment.chart.label if summary.experiment.chart else ""
        parts.append(f'<g transform="translate({x} {y})">{_panel(panel, own, columns, label)}</g>')
    for i, name in enumerate(columns):
        x, y = 12 + i % 4 * (width - 12) // 4, down * HEIGHT + 14 + i // 4 * 18
        parts.append(
            f'<path d="M{x} {y - 4}h18" {_stroke(i)}/><text x="{x + 24}" y="{y}">{escape(name)}</text>'
        )
    return "\n".join([*parts, "</svg>"]) + "\n"


def _stroke(i: int) -> str:
    dash = ("", ' stroke-dasharray="5 3"', ' stroke-dasharray="2 2"')[i // len(COLOURS) % 3]
    return f'stroke="{COLOURS[i % len(COLOURS)]}"{dash}'


def _points(summary: Summary) -> list[_Point]:
    """Means over repeats and parts; x and panel are read from the rows' names, which hold them."""
    chart = summary.experiment.chart
    assert chart is not None
    where = _placed(summary)
    found: dict[tuple[str, str, float], list[float]] = {}
    for one in summary.observed:
        if one.measure in chart.measures and one.row in where:
            panel, x = where[one.row]
            if len(chart.measures) > 1:
                panel = f"{panel}, {one.measure}" if panel else one.measure
            found.setdefault((panel, one.column, x), []).append(one.value)
    return [_Point(*place, float(np.mean(values))) for place, values in found.items()]


def _placed(summary: Summary) -> dict[str, tuple[str, float]]:
    """Panel and x of every row that the design can give; parts stand for themselves."""
    experiment, chart = summary.experiment, summary.experiment.chart
    assert chart is not None
    rows = {one.row for one in summary.observed}
    parts = {""}
    if "{part}" in experiment.row:
        parts = {part for row in rows for part in _parts(row)}
    found = {}
    for setting in experiment.settings():
        for part in sorted(parts):
            row = experiment.row_of(setting, part)
            if row in rows:
                panel = part if chart.panel == "part" else experiment.word(setting.get(chart.panel, ""))
                found[row] = (panel, float(setting[chart.x]))
    return found


def _parts(row: str) -> Sequence[str]:
    """What a row's name may hold as the name of a part: its pieces between commas."""
    return [piece.strip() for piece in row.split(",")]


def _panel(title: str, points: Sequence[_Point], columns: Sequence[str], label: str) -> str:
    xs, ys = [p.x for p in points], [p.y for p in points]
    (x0, x1), (y0, y1) = _ends(xs), _ends(ys)

    def place(x: float, y: float) -> tuple[float, float]:
        across = LEFT + (x - x0) / (x1 - x0) * (WIDTH - LEFT - RIGHT)
        return round(across, 1), round(HEIGHT - BOTTOM - (y - y0) / (y1 - y0) * (HEIGHT - TOP - BOTTOM), 1)

    parts = [f'<text class="t" x="{LEFT}" y="16">{escape(title)}</text>']
    middle = (LEFT + WIDTH - RIGHT) / 2
    parts.append(f'<text x="{middle:g}" y="{HEIGHT - 8}" text-anchor="middle">{escape(label)}</text>')
    for tick in np.linspace(y0, y1, 4):
        _, y = place(x0, float(tick))
        parts.append(f'<path class="g" d="M{LEFT} {y}H{WIDTH - RIGHT}"/>')
        parts.append(f'<text x="{LEFT - 4}" y="{y + 4}" text-anchor="end">{tick:.3g}</text>')
    parts += [
        f'<text x="{place(x, y0)[0]}" y="{HEIGHT - 24}" text-anchor="middle">{x:g}</text>'
        for x in sorted(set(xs))
    ]
    for i, name in enumerate(columns):
        line = sorted((p.x, p.y) for p in points if p.column == name)
        if line:
            path = "M" + "L".join("{} {}".format(*place(*point)) for point in line)
            parts.append(f'<path d="{path}" {_stroke(i)}><title>{escape(name)}</title></path>')
    return "".join(parts)


def _ends(values: Sequence[float]) -> tuple[float, float]:
    low, high = min(values), max(values)
    return (low, high) if high > low else (low - 0.5, high + 0.5)
