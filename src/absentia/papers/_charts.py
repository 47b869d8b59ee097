"""Charts of experiments as SVG that stands alone: lines over a factor of the design, in small panels.

There is a panel for each value of another factor and each measure.  Bars are standard errors over repeats.
A method has one colour, and its variants (what begins alike up to a comma or hyphen) have dashes.
"""

import re
from collections.abc import Mapping, Sequence
from typing import NamedTuple

import numpy as np

from absentia.core.svg import Frame, Markup, element, fill, line, round_ticks, text, widen
from absentia.papers._experiment import Chart, Experiment, Observed
from absentia.papers._summary import Summary

_WIDTH, _HEIGHT, _ACROSS = 310, 228, 3  # pixels of a panel, and panels side by side
_MARGINS = (58.0, 10.0, 26.0, 48.0)
_COLOURS = ("#1b6ca8", "#d1495b", "#2e8b57", "#e0902f", "#7b4fa3", "#666666", "#17a2a2", "#a0522d")
_DASHES = ("none", "6 3", "2 2", "8 3 2 3", "1 4", "12 4")
_STYLE = (
    "text{font:11px system-ui,sans-serif;fill:#333}.t{font-weight:600}.grid{stroke:#ddd}.axis{stroke:#999}"
    "path{fill:none;stroke:currentColor;stroke-width:1.8}.error{stroke:currentColor;stroke-opacity:.5}"
    + "".join(f".d{i}{{stroke-dasharray:{dash}}}" for i, dash in enumerate(_DASHES))
    + "".join(f".c{i}{{color:{colour}}}" for i, colour in enumerate(_COLOURS))
    + "@media(prefers-color-scheme:dark){text{fill:#ddd}.grid{stroke:#444}}"
)
_VARIANT = re.compile(r",|-| as printed")


class _Point(NamedTuple):
    panel: str
    measure: str
    column: str
    x: float
    y: float
    error: float  # 0 of a single repeat


def chart_svg(summary: Summary) -> str:
    """The picture of an experiment that has a chart."""
    experiment, chart = summary.experiment, summary.experiment.chart
    assert chart is not None
    points = _average_points(experiment, chart, summary.observed)
    panels = list(dict.fromkeys(point.panel for point in points))
    columns = [c.name for c in experiment.columns if any(p.column == c.name for p in points)]
    classes = _line_classes(columns)
    n_down = -(-len(panels) // _ACROSS)
    width = min(_ACROSS, max(1, len(panels))) * _WIDTH
    widest = max((46 + 6 * len(name) for name in columns), default=0)
    in_line = max(1, width // max(150, widest))  # names in a line of the legend
    height = n_down * _HEIGHT + -(-len(columns) // in_line) * 18 + 8
    parts = [element("title", experiment.what), element("style", Markup(_STYLE))]
    for i, panel in enumerate(panels):
        inside = _draw_panel(panel, [p for p in points if p.panel == panel], classes, chart.label)
        place = f"translate({i % _ACROSS * _WIDTH} {i // _ACROSS * _HEIGHT})"
        parts.append(element("g", inside, transform=place))
    for i, name in enumerate(columns):
        x, y = 12 + i % in_line * (width - 12) // in_line, n_down * _HEIGHT + 14 + i // in_line * 18
        swatch = element("path", d=f"M{x} {y - 4}h26", class_=classes[name])
        parts += [swatch, text(x + 32, y, name)]
    box = f"0 0 {width} {height}"
    xmlns = "http://www.w3.org/2000/svg"
    return Markup(element("svg", *parts, xmlns=xmlns, viewBox=box, width=width, role="img") + "\n")


def _line_classes(columns: Sequence[str]) -> dict[str, str]:
    """Colour and dash by column."""
    variants: dict[str, list[str]] = {}
    for name in columns:
        variants.setdefault(_VARIANT.split(name)[0], []).append(name)
    return {
        name: f"c{i % len(_COLOURS)} d{j % len(_DASHES)}"
        for i, names in enumerate(variants.values())
        for j, name in enumerate(names)
    }


def _average_points(experiment: Experiment, chart: Chart, observed: Sequence[Observed]) -> list[_Point]:
    """Means over repeats, and over parts that have no panel of their own; errors over repeats."""
    values: dict[tuple[str, str, str, float], dict[int, list[float]]] = {}
    for score in observed:
        if score.measure not in chart.measures:
            continue
        panel = experiment.word(score.setting.get(chart.panel, ""))
        if len(chart.measures) > 1:
            panel = f"{panel}, {score.measure}" if panel else score.measure
        place = panel, score.measure, score.column, float(score.setting[chart.x])
        values.setdefault(place, {}).setdefault(score.repeat, []).append(score.value)
    points = []
    for place, by_repeat in values.items():
        means = [float(np.mean(numbers)) for numbers in by_repeat.values()]
        error = float(np.std(means, ddof=1) / np.sqrt(len(means))) if len(means) > 1 else 0.0
        points.append(_Point(*place, float(np.mean(means)), error))
    return points


def _draw_panel(title: str, points: Sequence[_Point], classes: Mapping[str, str], label: str) -> Markup:
    x_range = widen(p.x for p in points)
    y_range = widen([p.y + side * p.error for p in points for side in (-1, 1)], 0.03)
    frame = Frame.make((_WIDTH, _HEIGHT), x_range, y_range, _MARGINS)
    x_ticks = {x: f"{x:g}" for x in sorted({p.x for p in points})}
    y_ticks = {y: f"{y:g}" for y in (round(tick, 10) for tick in round_ticks(*y_range, 5))}
    axes = frame.axes(x_ticks, y_ticks, label, points[0].measure)
    parts = [text(_MARGINS[0], 16, title, class_="t"), axes]
    for name, look in classes.items():
        own = sorted((p for p in points if p.column == name), key=lambda p: p.x)
        if own:
            path = frame.path((p.x, p.y) for p in own)
            parts.append(element("path", element("title", name), d=path, class_=look))
        for p in own:
            if p.error:
                x, low, high = frame.x(p.x), frame.y(p.y - p.error), frame.y(p.y + p.error)
                parts.append(line(x, low, x, high, class_=f"error {look.split()[0]}"))
    return fill("{}", parts)
