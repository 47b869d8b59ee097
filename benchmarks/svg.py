"""Log-log line charts as SVG, several panels side by side; only what the benchmarks need."""

from __future__ import annotations

import math
from dataclasses import dataclass, field
from html import escape

WIDTH, HEIGHT, LEFT, TOP, BOTTOM, GAP = 330, 300, 62, 46, 56, 30
INK, GREY, GRID = "#222222", "#767676", "#e4e4e4"


@dataclass
class Line:
    label: str
    x: list[float]
    y: list[float]
    colour: str
    dashed: bool = False
    below: bool = False  # where the label goes
    guide: str = ""  # a slope guide with this label instead of data


@dataclass
class Panel:
    title: str
    xlabel: str
    lines: list[Line] = field(default_factory=list)
    xticks: list[float] = field(default_factory=list)


def _number(value: float) -> str:
    if value >= 1e6:
        return f"{value / 1e6:g} M"
    return f"{value / 1000:g} k" if value >= 10_000 else f"{value:g}"


def _text(
    x: float, y: float, words: str, size: int = 12, anchor: str = "middle", colour: str = INK, **more: str
) -> str:
    extra = "".join(f' {key.replace("_", "-")}="{value}"' for key, value in more.items())
    place = f'x="{x:.1f}" y="{y:.1f}" font-size="{size}" text-anchor="{anchor}" fill="{colour}"'
    return f"<text {place}{extra}>{escape(words)}</text>"


def _panel(panel: Panel, left: float, low: float, high: float, first: bool, ylabel: str) -> list[str]:
    xs = [x for line in panel.lines for x in line.x]
    pad = (max(xs) / min(xs)) ** 0.05
    x0, x1 = min(xs) / pad, max(xs) * pad
    inner_w, inner_h = WIDTH - LEFT, HEIGHT

    def px(x: float) -> float:
        return left + LEFT + inner_w * math.log(x / x0) / math.log(x1 / x0)

    def py(y: float) -> float:
        return TOP + inner_h * (1 - math.log(y / low) / math.log(high / low))

    parts = [_text(left + LEFT, TOP - 16, panel.title, 14, "start", font_weight="600")]
    for power in range(math.ceil(math.log10(low)), math.floor(math.log10(high)) + 1):
        y = py(10.0**power)
        parts.append(f'<path d="M{left + LEFT} {y:.1f}h{inner_w}" stroke="{GRID}"/>')
        parts.append(_text(left + LEFT - 8, y + 4, f"{10.0**power:g}", 11, "end", GREY))
    for x in panel.xticks:
        parts.append(f'<path d="M{px(x):.1f} {TOP + inner_h}v5" stroke="{GREY}"/>')
        parts.append(_text(px(x), TOP + inner_h + 19, _number(x), 11, colour=GREY))
    parts.append(f'<path d="M{left + LEFT} {TOP}v{inner_h}h{inner_w}" fill="none" stroke="{GREY}"/>')
    parts.append(_text(left + LEFT + inner_w / 2, TOP + inner_h + 42, panel.xlabel, 11))
    if first:
        middle = TOP + inner_h / 2
        parts.append(_text(16, middle, ylabel, transform=f"rotate(-90 16 {middle})"))
    for line in panel.lines:
        points = [(px(x), py(y)) for x, y in zip(line.x, line.y, strict=True)]
        path = "M" + "L".join(f"{x:.1f} {y:.1f}" for x, y in points)
        dash = ' stroke-dasharray="5 4"' if line.dashed else ""
        width = 1.2 if line.guide else 2
        parts.append(f'<path d="{path}" fill="none" stroke="{line.colour}" stroke-width="{width}"{dash}/>')
        if not line.guide:
            parts += [
                f'<circle cx="{x:.1f}" cy="{y:.1f}" r="3.2" fill="{line.colour}"/>' for x, y in points
            ]
        x, y = points[-1]
        if line.label:
            shift = 26 if line.below else -10
            parts.append(_text(x, y + shift, line.label, 12, "end", line.colour, font_weight="600"))
        if line.guide:
            parts.append(_text(x + 4, y + 4, line.guide, 11, "start", line.colour))
    return parts


def chart(panels: list[Panel], ylabel: str, title: str) -> str:
    """One SVG; all panels share the vertical axis."""
    ys = [y for panel in panels for line in panel.lines for y in line.y]
    low, high = 10.0 ** math.floor(math.log10(min(ys))), 10.0 ** math.ceil(math.log10(max(ys)))
    width, height = len(panels) * (WIDTH + GAP) + GAP, TOP + HEIGHT + BOTTOM
    body = [
        part
        for i, panel in enumerate(panels)
        for part in _panel(panel, 12 + i * (WIDTH + GAP), low, high, i == 0, ylabel)
    ]
    head = (
        f'<svg xmlns="http://www.w3.org/2000/svg" viewBox="0 0 {width} {height}" width="{width}" '
        f'height="{height}" font-family="system-ui, sans-serif" role="img"><title>{escape(title)}</title>'
    )
    return "\n".join([head, '<rect width="100%" height="100%" fill="#ffffff"/>', *body, "</svg>", ""])
