"""More about a comparison: by missing pattern, view by view, over missing rates, confusion, kernels."""

import math
from collections.abc import Mapping, Sequence

import numpy as np

from absentia.app.report._classes import describe_confusion, make_confusion_table
from absentia.app.report._format import (
    DASH,
    ScoreFormat,
    format_number,
    format_p_cell,
    format_percent,
    shorten,
)
from absentia.app.report._heatmaps import (
    BYTES_PER_PIXEL,
    KERNEL_WORDS,
    ColorScale,
    average_blocks,
    draw_legend,
    draw_panels,
)
from absentia.app.report._intervals import Axis, fit_axis, make_interval_table
from absentia.app.report._page import (
    N_COLOURS,
    Cell,
    Column,
    Columns,
    Row,
    Section,
    draw_choice,
    draw_option,
    draw_swatch,
    draw_tabs,
    few_row,
    make_scrollable,
    make_table,
    name_cell,
    note,
    pattern_cell,
)
from absentia.app.report._sections import FEW_NOTE, FEW_SAMPLES, describe_dots
from absentia.core import Array
from absentia.core.svg import Frame, Markup, dot, element, fill, line_class, text
from absentia.experiment.results import ComparisonResults, Contrast, Interval, KernelMaps

_N_SHOWN = 4  # methods in the table of patterns unless others are chosen
_N_LOUD = 5  # lines that are drawn in full unless others are chosen
_SHIFT = 2.6  # pixels between lines, so that intervals at the same rate stand beside one another
_MAX_CELLS = 2000  # of all confusion matrices together
_MIN_CLASSES = 10
_MAX_BYTES_COMPARED = 725_000  # of all maps
_BYTES_PER_MAP = 640  # beside its pixels


def _order_methods(results: ComparisonResults) -> list[str]:
    """All methods, the simplest first, then as in the table."""
    methods, simplest = [row.method for row in results.rows], results.verdict.simplest
    return sorted(methods, key=lambda method: method != simplest)


def _choose_shown(results: ComparisonResults, methods: Sequence[str], limit: int = _N_SHOWN) -> list[int]:
    """Positions of those to show first: the simplest, the recommended, the best, then as they come."""
    verdict = results.verdict
    wanted = [verdict.simplest, verdict.recommended, verdict.best, *methods]
    shown = [method for method in dict.fromkeys(wanted) if method in methods][:limit]
    return sorted(methods.index(method) for method in shown)


# --------------------------------------------------------------------------------------- by missing pattern


def make_groups_section(results: ComparisonResults) -> Section | None:
    """How well each method does for samples that have the same views; None if that was not measured."""
    metric = results.group_metric or results.metric
    methods = [m for m in _order_methods(results) if any(m in group.scores for group in results.patterns)]
    if not methods:
        return None
    fmt = ScoreFormat.of_differences(
        metric, (value for group in results.patterns for value in group.scores.values())
    )
    simplest, rows = results.verdict.simplest, []
    for group in results.patterns:
        scores = [_make_group_cell(fmt, group.scores, method, simplest) for method in methods]
        name, count = Cell(group.words, value=group.words), format_number(group.count)
        few = group.count < FEW_SAMPLES
        rows.append(few_row(name, [count, *scores], few, before=[pattern_cell(group.present)]))
    columns: list[str | Column] = ["Views", "Pattern", "Samples"]
    columns += [Column(shorten(m, 24), css=f"col-{i}", full=m, title=m) for i, m in enumerate(methods)]
    table = make_table(f"{metric.name} by missing pattern", columns, rows, "by-pattern", head=1)
    words = f"{FEW_NOTE} " if any(row.css for row in rows) else ""
    words += f"{describe_dots(results.names)} The download has all methods."
    boxes = [_draw_boxes(methods, _choose_shown(results, methods))] if len(methods) > 1 else []
    blocks = [*boxes, table, note(words)]
    unit = ", in points" if metric.share else ""
    lead = (
        f"Samples that have the same views, and how well they fare out of fold: {metric.name}, "
        f"{metric.words}. Small figures are differences to {simplest}, positive is better{unit}."
    )
    return Section("by-pattern", "By missing pattern", "By missing pattern", lead, blocks, "pick")


def _make_group_cell(fmt: ScoreFormat, scores: Mapping[str, float], method: str, simplest: str) -> Cell:
    """A score, and how much better it is than the simplest's."""
    if method not in scores:
        return Cell(DASH)
    value, small = scores[method], ""
    if method != simplest and simplest in scores:
        gain = value - scores[simplest]
        small = fmt.format_difference(gain if fmt.metric.higher else -gain)
    return Cell(fmt.format_score(value), small=small)


def _draw_boxes(methods: Sequence[str], shown: Sequence[int]) -> Markup:
    """Boxes to tick for the methods in a table; many are folded away."""
    legend = "Choose methods for the table"
    labels = [draw_option(method, i, i in shown, type="checkbox") for i, method in enumerate(methods)]
    if len(methods) <= 8:
        return fill('<fieldset class="tabs loose"><legend>{}</legend>{}</fieldset>', legend, labels)
    template = (
        '<details class="fold"><summary>{}</summary><fieldset class="tabs loose">'
        '<legend class="unseen">{}</legend>{}</fieldset></details>'
    )
    return fill(template, legend, legend, labels)


# --------------------------------------------------------------------------------------------- view by view


def make_contrasts_section(results: ComparisonResults) -> Section | None:
    """All views against all but one, and one alone against none; None if no view was measured."""
    if not any(view.left_out or view.alone for view in results.views):
        return None
    method = results.views_with or results.verdict.recommended
    lead = (
        f"With {method}, fitted anew each time, in {results.metric.name}; to the right is better. Views "
        "that hold the same information stand in for one another: leaving one out may cost nothing "
        "although each alone predicts well."
    )
    sides = [
        _draw_contrasts(
            results,
            "What it adds",
            "All views against all but this one.",
            {view.view: view.left_out for view in results.views},
            "all views against all but {}",
        ),
        _draw_contrasts(
            results,
            "What it predicts alone",
            "This view alone against none.",
            {view.view: view.alone for view in results.views},
            "{} alone against none",
        ),
    ]
    blocks = [fill('<div class="pair">{}</div>', sides)]
    return Section("views", "Views", "Contribution of each view", lead, blocks)


def _draw_contrasts(
    results: ComparisonResults, title: str, words: str, contrasts: Mapping[str, Contrast | None], label: str
) -> Markup:
    """A table of one of the two contrasts; `label` describes it, with ``{}`` for the view."""
    metric, known = results.metric, [c for c in contrasts.values() if c is not None]
    axis = fit_axis([c[:3] for c in known], include=(0.0,), percent=metric.share, sign=True, n_ticks=4)
    sides = [c for view in results.views for c in (view.left_out, view.alone) if c is not None]
    fmt = ScoreFormat.of_differences(metric, (x for contrast in sides for x in contrast[:3]))
    rows = []
    for view, contrast in contrasts.items():
        cells = _make_contrast(fmt, contrast, axis, label.format(view))
        rows.append(Row([_make_view_name(results, view), *cells]))
    unit = Column("Points" if metric.share else "Difference", full="Difference")
    columns: Columns = ["View", unit, Column("95% interval", css="between"), "p"]
    table = make_interval_table(axis, title, columns, rows, "worths", base=0.0, file=f"views {title}")
    return fill("<div><h3>{}</h3>{}{}</div>", title, note(words), table)


def _make_view_name(results: ComparisonResults, view: str) -> Cell:
    """A view, and who has it; nothing of that for what is no view of the data (a sum of some, say)."""
    title = view
    if view in results.names:
        has = results.observed[:, list(results.names).index(view)]
        title = f"{view}, which {format_percent(int(has.sum()), len(has))} of samples have"
    return name_cell(view, 32, title=title)


def _make_contrast(fmt: ScoreFormat, contrast: Contrast | None, axis: Axis, label: str) -> list[str | Cell]:
    if contrast is None:
        return [Cell("", css="tracked"), DASH, DASH, DASH]
    mean, low, high, p = contrast
    difference, interval = fmt.format_difference(mean), fmt.format_difference_interval(low, high)
    tip = f"{label}: {difference} {fmt.unit}; 95% interval {interval}"
    return [axis.draw_interval((mean, low, high), "method", tip), difference, interval, format_p_cell(p)]


# -------------------------------------------------------------------------------------------- missing rates

#: Scores of each method by the rate that was hidden.
_Rates = Mapping[str, Mapping[float, Interval]]


def make_rates_section(results: ComparisonResults) -> Section | None:
    """Scores as more and more is hidden; None if that was not tried."""
    fmt = ScoreFormat(results.metric)
    scores: dict[str, dict[float, Interval]] = {}
    for point in results.curves:
        if math.isfinite(point.score.value):
            scores.setdefault(point.method, {})[point.rate] = fmt.clip_interval(point.score)
    if not scores:
        return None
    methods = [m for m in dict.fromkeys([*_order_methods(results), *scores]) if m in scores]
    scores = {method: scores[method] for method in methods}
    rates = sorted({point.rate for point in results.curves})
    loud = _choose_shown(results, methods, _N_LOUD)
    keys = [
        draw_option(
            method, i, i in loud, swatch=draw_swatch(line_class(i, N_COLOURS)), length=36, type="checkbox"
        )
        for i, method in enumerate(methods)
    ]
    template = (
        '<div class="charted over{}">{}<fieldset class="key-list ticked"><legend>Drawn in full</legend>{}'
        '</fieldset></div><details class="fold"><summary>The numbers</summary>{}</details>'
    )
    charted = fill(
        template,
        " below" if len(methods) > 12 else "",
        make_scrollable(_draw_rates(fmt, scores, rates), "Chart over missing rates"),
        keys,
        _make_rate_table(fmt, scores, rates),
    )
    lead = (
        "More and more of the observed sample–view pairs were hidden before learning. Choose methods to "
        f"draw them in full; {fmt.metric.name}, {fmt.direction}."
    )
    return Section("curves", "Missing rates", "When more is missing", lead, [charted], "lines")


def _make_rate_table(fmt: ScoreFormat, scores: _Rates, rates: Sequence[float]) -> Markup:
    heads = [f"{_format_rate(rate)} hidden" for rate in rates]
    columns: Columns = ["Method", *(Column(head, full=f"{fmt.metric.name}, {head}") for head in heads)]
    rows = []
    for method, spans in scores.items():
        cells = [
            Cell(fmt.format_score(spans[rate].value), small=fmt.format_interval(spans[rate]))
            if rate in spans
            else Cell(DASH)
            for rate in rates
        ]
        rows.append(Row([name_cell(method, 40), *cells]))
    return make_table("Scores over missing rates", columns, rows, "rates")


def _draw_rates(fmt: ScoreFormat, scores: _Rates, rates: Sequence[float]) -> Markup:
    """A line for each method, with intervals; marks keep off the edges, and one rate is in the middle."""
    intervals = [span for spans in scores.values() for span in spans.values()]
    axis = fit_axis(intervals, percent=fmt.metric.share)
    first, last = rates[0], rates[-1]
    room = (last - first) / 25 or 0.5
    frame = Frame.make((720, 340), (first - room, last + room), (0.0, 100.0), (58.0, 16.0, 16.0, 46.0))
    axes = frame.axes(
        {rate: _format_rate(rate) for rate in rates},
        {axis.place(tick): label for tick, label in axis.ticks.items()},
        "hidden of what was observed",
        shorten(fmt.metric.name, 40),
        13,
    )
    lines = []
    for i, (method, spans) in enumerate(scores.items()):
        shift = (i % N_COLOURS - (N_COLOURS - 1) / 2) * _SHIFT
        places, dots = [], []
        for rate, span in spans.items():
            value, low, high = (
                frame.y(axis.place(end if math.isfinite(end) else span.value)) for end in span
            )
            places.append((round(frame.x(rate) + shift, 1), value))
            dots.append(_draw_rate_dot(fmt, method, rate, span, places[-1], (low, high)))
        colour, dash = line_class(i, N_COLOURS).split()
        path = "M" + "L".join(f"{x:g} {y:g}" for x, y in places)
        line = element("path", element("title", method), class_=dash, d=path)
        lines.append(element("g", line, *dots, class_=f"line {colour} line-{i}"))
    label = f"{fmt.metric.name} by the share that is hidden; the table below has the numbers"
    return frame.draw(axes, *lines, label=label, role="group")


def _draw_rate_dot(
    fmt: ScoreFormat,
    method: str,
    rate: float,
    span: Interval,
    place: tuple[float, float],
    interval: tuple[float, float],
) -> Markup:
    """A dot that can be pointed at and tabbed to; its words lie to the left in the right half."""
    (x, y), score = place, fmt.format_score(span.value)
    tip = f"{method}, {_format_rate(rate)} hidden: {fmt.metric.name} {score}"
    tip += f"; 95% interval {fmt.format_interval(span)}"
    late = x > 360
    words = f"{shorten(method, 32)} {score}"
    label = text(x - 9 if late else x + 9, max(y - 9, 14), words, "end" if late else "start", class_="told")
    return dot(x, y, tip, 3.4, label, interval=interval, tabindex=0, role="img", aria_label=tip)


def _format_rate(rate: float) -> str:
    return f"{100 * rate:.3g}%"


# ------------------------------------------------------------------------------------------------ confusion


def make_confusion_section(results: ComparisonResults) -> Section | None:
    """The confusion matrix of every method that has one, the recommended first; of many classes some."""
    methods = [row.method for row in results.rows if row.method in results.confusion]
    methods.sort(key=lambda method: method != results.verdict.recommended)
    if not methods:
        return None
    limit = max(_MIN_CLASSES, math.isqrt(_MAX_CELLS // len(methods)))
    tables = {m: [make_confusion_table(results.confusion[m], results.classes, limit, m)] for m in methods}
    choice = draw_choice("mistaken", "Predicted by", tables)
    described = describe_confusion(results.confusion[methods[0]], limit)
    lead = f"Rows are the truth, columns what was predicted out of fold in the first repeat. {described}"
    return Section("confusion", "Confusion", "Confusion matrix", lead, [choice], "choose")


# ------------------------------------------------------------------------------------------------- kernels


def make_compared_kernels_section(results: ComparisonResults) -> Section | None:
    """True, with cells hidden, and as each method completes them; None if there are no maps."""
    maps = results.kernels
    if maps is None or not maps.truth:
        return None
    lead = (
        f"{KERNEL_WORDS} Cells were hidden, and a method filled them in from the other views. {maps.order}"
    )
    heads = ("kernels", "Kernels", "Kernels: true, hidden, completed")
    return Section(*heads, lead, draw_compared_kernels(results, "kernels-of"), "maps crisp choose")


def draw_compared_kernels(results: ComparisonResults, name: str) -> list[Markup]:
    """Small maps of all views, with buttons called `name` to choose a method."""
    maps = results.kernels
    if maps is None or not maps.truth:
        return []
    in_table = [row.method for row in results.rows if row.method in maps.completed]
    methods = list(dict.fromkeys([*in_table, *maps.completed]))
    chosen = results.verdict.recommended
    tabs = draw_tabs(name, "Completed by", methods, methods.index(chosen) if chosen in methods else 0)
    starts = np.arange(0, maps.side, _choose_compared_block(maps))

    def shrink(kernels: Mapping[str, Array], view: str) -> Array:
        return average_blocks(np.asarray(kernels[view], dtype=float), starts, starts)

    views = []
    for view in maps.truth:
        shown = {"True": shrink(maps.truth, view)}
        if view in maps.hidden:
            shown["With cells hidden"] = shrink(maps.hidden, view)
        done = {m: shrink(maps.completed[m], view) for m in methods if view in maps.completed[m]}
        scale = ColorScale.of_values([shown["True"], *done.values()])
        drawn = [scale.draw_map(f"view {view}", *item) for item in shown.items()]
        for method, values in done.items():
            css = f"by by-{methods.index(method)}" + (" only" if len(methods) == 1 else "")
            drawn.append(scale.draw_map(f"view {view}", f"Completed by {method}", values, css=css))
        views.append(draw_panels(fill("<h3>{}</h3>", view), scale.draw_bar("Value"), drawn, "triple"))
    album = fill('<div class="album">{}</div>', views)
    return [draw_legend("nothing there"), *([tabs] if len(methods) > 1 else []), album]


def _choose_compared_block(maps: KernelMaps) -> int:
    """More than one pixel in one, where there are so many maps that a page would grow large."""
    n_maps = sum(map(len, (maps.truth, maps.hidden, *maps.completed.values())))
    affordable = max(_MAX_BYTES_COMPARED / max(n_maps, 1) - _BYTES_PER_MAP, 64.0) / BYTES_PER_PIXEL
    return max(1, math.ceil(maps.side / math.sqrt(affordable)))
