"""More about a comparison: by missing pattern, view by view, over missing rates, confusion."""

import math
from collections.abc import Mapping, Sequence

from absentia.app.report._classification import describe_confusion, make_confusion_table
from absentia.app.report._format import DASH, ScoreFormat, format_number, format_p_cell, shorten
from absentia.app.report._intervals import fit_axis
from absentia.app.report._page import (
    N_COLOURS,
    Cell,
    Column,
    Columns,
    Row,
    Section,
    draw_swatch,
    few_row,
    make_scrollable,
    make_table,
    name_cell,
    note,
    pattern_cell,
)
from absentia.app.report._sections import FEW_NOTE, FEW_SAMPLES, describe_dots
from absentia.core.svg import Frame, Markup, dot, element, fill, text
from absentia.experiment.results import ComparisonResults, Contrast, Interval

_SHIFT = 2.6  # pixels between lines, so that intervals at the same rate stand beside one another


def _choose_methods(results: ComparisonResults, measured: Mapping[str, object]) -> list[str]:
    """Of the methods that were measured the simplest, the recommended, the best, then as in the table."""
    verdict, ranked = results.verdict, [row.method for row in results.rows]
    wanted = dict.fromkeys([verdict.simplest, verdict.recommended, verdict.best, *ranked, *measured])
    return [method for method in wanted if method in measured][:N_COLOURS]


def _count_methods(shown: Sequence[str], measured: Mapping[str, object]) -> str:
    if len(shown) == len(measured):
        return ""
    return (
        f" Shown are {len(shown)} of {len(measured)} methods, the simplest and the recommended among them."
    )


# --------------------------------------------------------------------------------------- by missing pattern


def make_groups_section(results: ComparisonResults) -> Section | None:
    """How well methods do for samples that have the same views; None if that was not measured."""
    fmt = ScoreFormat(results.group_metric or results.metric)
    measured = {method: None for group in results.patterns for method in group.scores}
    methods = _choose_methods(results, measured)
    if not methods:
        return None
    rows = []
    for group in results.patterns:
        scores = [fmt.format_score(group.scores.get(method, math.nan)) for method in methods]
        name, count = Cell(group.words, value=group.words), format_number(group.count)
        few = group.count < FEW_SAMPLES
        rows.append(few_row(name, [count, *scores], few, before=[pattern_cell(group.present)]))
    columns: list[str | Column] = ["Views", "Pattern", "Samples"]
    columns += [Column(shorten(method, 24), full=method, title=method) for method in methods]
    table = make_table(f"{fmt.metric.name} by missing pattern", columns, rows, "by-pattern", head=1)
    words = f"{FEW_NOTE} " if any(row.css for row in rows) else ""
    blocks = [table, note(f"{words}{describe_dots(results.names)}")]
    lead = (
        f"Samples that have the same views, and how well they fare out of fold: {fmt.metric.name}, "
        f"{fmt.metric.words}; {fmt.direction}.{_count_methods(methods, measured)}"
    )
    return Section("by-pattern", "By missing pattern", "By missing pattern", lead, blocks)


def make_mix_section(results: ComparisonResults) -> Section | None:
    """Scores to expect in another mix of patterns; None if that was not asked for."""
    weighted = results.weighted
    if weighted is None or not weighted.scores:
        return None
    fmt = ScoreFormat(weighted.metric)
    changes = ScoreFormat.of_differences(
        weighted.metric, (x for row in weighted.scores for x in row.change)
    )
    rows = [
        Row(
            [
                name_cell(row.method, 32),
                fmt.format_score(row.here),
                fmt.format_score(row.expected.value),
                fmt.format_interval(row.expected),
                changes.format_difference(row.change.value),
                changes.format_difference_interval(row.change.low, row.change.high),
            ]
        )
        for row in weighted.scores
    ]
    columns: list[str | Column] = [
        "Method",
        "Here",
        Column("Expected", note=weighted.metric.name),
        Column("95% interval", css="between", full="Expected, 95% interval"),
        Column("Change", note=changes.unit),
        Column("95% interval", css="between", full="Change, 95% interval"),
    ]
    words = (
        "Scores of held-out samples, weighted to the new mix. It holds if samples that have the same views "
        "are alike, now and then. Samples of all folds are scored together, so that scores here may differ "
        "a little from the means of folds above."
    )
    blocks = [make_table("Scores in another mix of patterns", columns, rows, "mix"), note(words)]
    lead = " ".join(weighted.sentences)
    return Section("mix", "Other patterns", "If samples come with other views", lead, blocks)


# --------------------------------------------------------------------------------------------- view by view


def make_contrasts_section(results: ComparisonResults) -> Section | None:
    """All views against all but one, and one alone against none; None if no view was measured."""
    contrasts = [c for view in results.views for c in (view.left_out, view.alone) if c is not None]
    if not contrasts:
        return None
    fmt = ScoreFormat.of_differences(results.metric, (x for c in contrasts for x in c[:3]))
    rows = [
        Row(
            [
                name_cell(view.view, 32),
                *_list_contrast(fmt, view.left_out),
                *_list_contrast(fmt, view.alone),
            ]
        )
        for view in results.views
    ]
    columns: list[str | Column] = ["View"]
    for words in ("Adds", "Alone"):
        columns += [
            Column(words, note=fmt.unit),
            Column("95% interval", css="between", full=f"{words}, 95% interval"),
            Column("p", full=f"{words}, p"),
        ]
    lead = (
        f"With {results.views_with or results.verdict.recommended}, fitted anew each time, in "
        f"{results.metric.name}; positive is better. Adds: all views against all but this one. Alone: "
        "this view against none. Views that hold the same information stand in for one another: leaving "
        "one out may cost nothing although each alone predicts well."
    )
    blocks = [make_table("Contribution of each view", columns, rows, "worths")]
    return Section("views", "Views", "Contribution of each view", lead, blocks)


def _list_contrast(fmt: ScoreFormat, contrast: Contrast | None) -> list[str]:
    if contrast is None:
        return [DASH] * 3
    mean, low, high, p = contrast
    return [fmt.format_difference(mean), fmt.format_difference_interval(low, high), format_p_cell(p)]


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
    methods = _choose_methods(results, scores)
    rates = sorted({point.rate for point in results.curves})
    keys = [
        fill("<li>{}<span>{}</span></li>", draw_swatch(f"c{i}"), shorten(method, 36))
        for i, method in enumerate(methods)
    ]
    template = (
        '<div class="charted over">{}<ul class="key-list">{}</ul></div>'
        '<details class="fold"><summary>The numbers</summary>{}</details>'
    )
    chart = _draw_rates(fmt, {method: scores[method] for method in methods}, rates)
    scrolled = make_scrollable(chart, "Chart over missing rates")
    charted = fill(template, scrolled, keys, _make_rate_table(fmt, scores, rates))
    lead = (
        "More and more of the observed sample–view pairs were hidden before learning; "
        f"{fmt.metric.name}, {fmt.direction}.{_count_methods(methods, scores)}"
    )
    return Section("curves", "Missing rates", "When more is missing", lead, [charted])


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
        shift = (i - (N_COLOURS - 1) / 2) * _SHIFT
        places, dots = [], []
        for rate, span in spans.items():
            value, low, high = (
                frame.y(axis.place(end if math.isfinite(end) else span.value)) for end in span
            )
            places.append((round(frame.x(rate) + shift, 1), value))
            dots.append(_draw_rate_dot(fmt, method, rate, span, places[-1], (low, high)))
        path = "M" + "L".join(f"{x:g} {y:g}" for x, y in places)
        line = element("path", element("title", method), d=path)
        lines.append(element("g", line, *dots, class_=f"line c{i}"))
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
    """The confusion matrix of the recommended method, or of the first that has one."""
    ranked = [results.verdict.recommended, *(row.method for row in results.rows)]
    method = next((method for method in ranked if method in results.confusion), None)
    if method is None:
        return None
    counts = results.confusion[method]
    lead = (
        f"Of {method}, out of fold in the first repeat. Rows are the truth, columns what was predicted. "
        f"{describe_confusion(counts)}"
    )
    blocks = [make_confusion_table(counts, results.classes)]
    return Section("confusion", "Confusion", "Confusion matrix", lead, blocks)
