"""The page about a comparison: which method to take, how sure that is, and all numbers.

Then more about it: by pattern, view by view, over missing rates, confusion, learning curves.
"""

import math
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from absentia.app.report._page import (
    DASH,
    N_COLOURS,
    Cell,
    Column,
    Columns,
    Row,
    ScoreFormat,
    Section,
    best_cell,
    draw,
    draw_swatch,
    few_row,
    format_count,
    format_number,
    format_p_cell,
    format_percent,
    format_probability,
    get_paragraphs,
    get_words,
    heading,
    interval_column,
    make_scrollable,
    make_section,
    make_table,
    name_cell,
    note,
    pattern_cell,
    render_page,
    sentences,
    shorten,
)
from absentia.app.report._sections import (
    FEW_NOTE,
    FEW_SAMPLES,
    Axis,
    describe_confusion,
    describe_dots,
    fit_axis,
    make_confusion_table,
    make_interval_table,
    make_presence_section,
    make_reading_section,
)
from absentia.core.svg import Frame, Markup, dot, element, fill, line, round_ticks, text
from absentia.experiment.learning_curve import LearningCurve, SampleCurve, ViewCurve
from absentia.experiment.results import ComparisonResults, Contrast, Difference, Interval, MethodRow, Metric


def render_comparison(results: ComparisonResults) -> str:
    """The page as HTML."""
    sections = [
        _make_ranking_section(results),
        _make_differences_section(results),
        *make_detail_sections(results),
        make_presence_section(results),
        _make_table_section(results),
        _make_reading(results),
    ]
    return render_page(
        "comparison",
        results,
        _list_figures(results),
        sections,
        sheets=["comparison.css"],
        head="recommendation.html.j2",
        progress=f"{format_number(results.done)} of {format_count(results.wanted, 'trial')}",
    )


def _list_figures(results: ComparisonResults) -> list[tuple[str, str]]:
    recommendation, metric = results.recommendation, results.metric
    fmt = ScoreFormat(metric)
    scores = {row.method: row.scores[metric.name] for row in results.rows if _has_score(row, metric)}
    labels = {recommendation.recommended: f"{metric.name} with {recommendation.recommended}, recommended"}
    labels.setdefault(recommendation.simplest, f"with {recommendation.simplest}, the simplest")
    labels.setdefault(recommendation.best, f"with {recommendation.best}, the best mean")
    shown = [(fmt.format_score(scores[m].value), words) for m, words in labels.items() if m in scores]
    n_failed, observed = len(results.rows) - len(scores), results.observed
    compared = "method compared" if len(scores) == 1 else "methods compared"
    if n_failed:
        compared += f", {format_number(n_failed)} more without a score"
    present = format_percent(int(observed.sum()), observed.size)
    samples = f"samples in {format_count(results.n_views, 'view')}, {present} present"
    figures = [(format_number(len(scores)), compared), (format_number(len(observed)), samples)]
    return [*shown[:2], *figures]


def _has_score(row: MethodRow, metric: Metric) -> bool:
    return metric.name in row.scores and math.isfinite(row.scores[metric.name].value)


def _find_kind(results: ComparisonResults, row: MethodRow) -> str:
    """How a method is drawn."""
    if row.method == results.recommendation.recommended:
        return "chosen"
    return "baseline" if row.baseline else "method"


def _make_name(results: ComparisonResults, row: MethodRow, length: int, failed: bool = False) -> Cell:
    """A method with its tags; `failed` asks for the one that some of its fits did."""
    recommendation = results.recommendation
    tags = {
        "recommended": row.method == recommendation.recommended,
        "simplest": row.method == recommendation.simplest,
        "baseline": row.baseline and row.method != recommendation.simplest,
        "some fits failed": failed and bool(row.failed),
    }
    title = f"{row.method}: {row.words}" if row.words else row.method
    return name_cell(row.method, length, [tag for tag, holds in tags.items() if holds], title)


# ------------------------------------------------------------------------------------------------- ranking


def _make_ranking_section(results: ComparisonResults) -> Section | None:
    """All methods in the main metric, best first; None if no method has a score."""
    ranking = _make_ranking(results)
    if not ranking:
        return None
    blocks = [*ranking]
    if unranked := _list_unranked(results):
        blocks += [heading("Without a score"), *unranked]
    rounds = _describe_rounds(results)
    more = get_words("comparison.ranking.more", rounds=rounds) if results.differences else ""
    return make_section("comparison.ranking", blocks, rounds=rounds, more=more)


def _describe_rounds(results: ComparisonResults) -> str:
    return "rounds of hiding" if results.task == "completion" else "held-out folds"


def _make_ranking(results: ComparisonResults) -> list[Markup]:
    """Dots with intervals in the main metric beside the simplest's line; nothing without scores."""
    metric = results.metric
    fmt, rows = ScoreFormat(metric), [row for row in results.rows if _has_score(row, metric)]
    if not rows:
        return []
    spans = {row.method: fmt.clip_interval(row.scores[metric.name]) for row in rows}
    axis = fit_axis(list(spans.values()), percent=metric.share)
    best = spans[rows[0].method].value
    drawn = []
    for row in rows:
        span, kind = spans[row.method], _find_kind(results, row)
        cells: list[str | Cell] = [
            _make_name(results, row, 44, failed=True),
            axis.draw_interval(span, kind, _describe_score(fmt, row)),
            best_cell(fmt.format_score(span.value), span.value == best),
            fmt.format_interval(span),
        ]
        drawn.append(Row(cells, kind))
    columns: Columns = ["Method", Column(metric.name, note=fmt.direction), interval_column(metric.name)]
    simplest = (
        spans[results.recommendation.simplest].value if results.recommendation.simplest in spans else None
    )
    table = make_interval_table(
        axis,
        f"Ranking by {metric.name}",
        columns,
        drawn,
        "ranking",
        base=simplest,
        base_label="" if simplest is None else f"simplest {fmt.format_score(simplest)}",
    )
    return [table, note(f"{metric.name}: {metric.words}; {fmt.direction}.")]


def _describe_score(fmt: ScoreFormat, row: MethodRow) -> str:
    span = row.scores[fmt.metric.name]
    score = f"{fmt.metric.name} {fmt.format_score(span.value)}"
    return f"{row.method}: {score}; 95% interval {fmt.format_interval(span)}"


def _list_unranked(results: ComparisonResults) -> list[Markup]:
    """Methods that have no score in the main metric, and why; nothing if all have."""
    rows = [row for row in results.rows if not _has_score(row, results.metric)]
    items = [fill("<b>{}</b>: {}", row.method, _explain_no_score(row)) for row in rows]
    return [sentences(items)] if items else []


def _explain_no_score(row: MethodRow) -> str:
    """Why a method has no score, in a sentence."""
    if row.left_out:
        return row.left_out
    if row.failed:
        failed = "its fit failed" if row.failed == 1 else f"all {format_number(row.failed)} fits failed"
        return f"{failed}: {row.errors[0]}" if row.errors else failed
    return "not measured yet" if not row.done else "no score in this metric"


# --------------------------------------------------------------------------------------------- differences


def _make_differences_section(results: ComparisonResults) -> Section | None:
    """Every method against the simplest one: how much better, how surely; None if there is no other."""
    if not results.differences:
        return None
    metric, region, simplest = results.metric, results.equivalence, results.recommendation.simplest
    intervals = [(d.mean, d.low, d.high) for d in results.differences]
    fmt = ScoreFormat.of_differences(metric, (x for interval in intervals for x in interval))
    axis = fit_axis(intervals, include=(-1.5 * region, 0.0, 1.5 * region), percent=metric.share, sign=True)
    rows = [_make_difference_row(results, d, axis, fmt) for d in results.differences]
    columns: list[str | Column] = [
        "Method",
        Column("Difference", note=fmt.unit),
        interval_column("Difference"),
        *(Column(name, note="probability") for name in ("Worse", "Same", "Better")),
        Column("p", note="Holm", full="p, Holm"),
        Column("Expected", note=fmt.unit, title="The difference to expect on new samples"),
    ]
    label, file = f"Differences to {simplest}", "differences to the simplest"
    shaded = f"--from:{axis.place(-region)}%;--to:{axis.place(region)}%"
    table = make_interval_table(axis, label, columns, rows, "gaps", base=0.0, style=shaded, file=file)
    methods = f"{len(rows)} {'method' if len(rows) == 1 else 'methods'}"
    given: dict[str, Any] = {"rounds": _describe_rounds(results), "region": _describe_region(fmt, region)}
    given |= {"simplest": simplest, "fmt": fmt, "methods": methods}
    return make_section("comparison.differences", [table], **given)


def _describe_region(fmt: ScoreFormat, region: float) -> str:
    """How wide the region of equivalence is, in words: ``1 point``, ``0.02 of RMSE``."""
    if not fmt.metric.share:
        return f"{region:.3g} {fmt.unit}"
    return f"{100 * region:.3g} {'point' if round(100 * region, 6) == 1 else 'points'}"


def _make_difference_row(results: ComparisonResults, d: Difference, axis: Axis, fmt: ScoreFormat) -> Row:
    unknown = MethodRow(d.method, "", False)
    row = next((row for row in results.rows if row.method == d.method), unknown)
    mean, interval = fmt.format_difference(d.mean), fmt.format_difference_interval(d.low, d.high)
    label = f"{d.method}: {mean} {fmt.unit}; 95% interval {interval}"
    kind = _find_kind(results, row)
    cells: list[str | Cell] = [
        _make_name(results, row, 32),
        axis.draw_interval((d.mean, d.low, d.high), kind, label),
        mean,
        interval,
        *map(format_probability, (d.worse, d.same, d.better)),
        format_p_cell(d.adjusted),
        next(
            (fmt.format_difference(one.mean) for one in results.expectations if one.method == d.method),
            DASH,
        ),
    ]
    return Row(cells, kind)


# --------------------------------------------------------------------------------------------- all numbers


def _make_table_section(results: ComparisonResults) -> Section:
    """Every method in every metric, what it costs, and what went wrong."""
    notes = {row.method: _list_notes(row) for row in results.rows}
    has_notes = any(notes.values())
    rows = []
    for row in results.rows:
        cells: list[str | Cell] = [_make_name(results, row, 32)]
        for metric in results.metrics:
            cells += _make_score_cells(results, row, metric)
        cells += [format_number(row.cpu), format_number(row.memory)]
        cells += [f"{format_number(row.done)} of {format_number(row.wanted)}", format_number(row.failed)]
        cells += [row.words, *([" ".join(notes[row.method])] if has_notes else [])]
        rows.append(Row(cells, "first" if _find_kind(results, row) == "chosen" else ""))
    columns: list[str | Column] = ["Method"]
    for metric in results.metrics:
        columns.append(Column(metric.name, note=ScoreFormat(metric).direction, title=metric.words))
        columns.append(interval_column(metric.name))
    columns += [
        Column("CPU", note="s a fit", full="CPU seconds a fit"),
        Column("Memory", note="MB", full="Memory, MB"),
        "Fits done",
        "Failed",
        Column("What it is", numeric=False, css="wordy about"),
        *([Column("What went wrong", numeric=False, css="wordy")] if has_notes else []),
    ]
    lead = fill(
        "One row per method. The best value of a column is {}. Click a head to sort.",
        Markup('<span class="best">marked</span>'),
    )
    table = make_table("All numbers", columns, rows, "everything")
    return Section("everything", "All numbers", "All numbers", lead, [table])


def _make_score_cells(results: ComparisonResults, row: MethodRow, metric: Metric) -> list[str | Cell]:
    if metric.name not in row.scores:
        return [DASH, DASH]
    values = [r.scores[metric.name].value for r in results.rows if _has_score(r, metric)]
    best = (max if metric.higher else min)(values, default=None)
    fmt, span = ScoreFormat(metric), row.scores[metric.name]
    return [best_cell(fmt.format_score(span.value), span.value == best), fmt.format_interval(span)]


def _list_notes(row: MethodRow) -> list[str]:
    """Why it was left out, or the errors of its failed fits."""
    if row.left_out:
        return [f"Left out: {row.left_out}"]
    if row.errors:
        return list(row.errors)
    return [] if row.scores else [_explain_no_score(row)]


def _make_reading(results: ComparisonResults) -> Section:
    rounds = get_paragraphs(f"comparison.{'completed' if results.task == 'completion' else 'predicted'}")
    paragraphs = rounds | get_paragraphs("comparison.reading")
    return make_reading_section(paragraphs, results.facts, "How it was done")


_SHIFT = 2.6  # pixels between lines, so that intervals at the same rate stand beside one another


def make_detail_sections(results: ComparisonResults) -> list[Section | None]:
    """About patterns, views, rates, training samples and classes; None of what was not asked for."""
    return [
        _make_groups_section(results),
        _make_mix_section(results),
        _make_contrasts_section(results),
        _make_rates_section(results),
        _make_learning_curve_section(results),
        _make_confusion_section(results),
    ]


def _choose_methods(results: ComparisonResults, measured: Mapping[str, object]) -> list[str]:
    """Of the methods that were measured the simplest, the recommended, the best, then as in the table."""
    chosen, ranked = results.recommendation, [row.method for row in results.rows]
    wanted = dict.fromkeys([chosen.simplest, chosen.recommended, chosen.best, *ranked, *measured])
    return [method for method in wanted if method in measured][:N_COLOURS]


def _count_methods(shown: Sequence[str], measured: Mapping[str, object]) -> str:
    if len(shown) == len(measured):
        return ""
    return (
        f" Shown are {len(shown)} of {len(measured)} methods, the simplest and the recommended among them."
    )


# --------------------------------------------------------------------------------------- by missing pattern


def _make_groups_section(results: ComparisonResults) -> Section | None:
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
    count = _count_methods(methods, measured)
    return make_section("comparison.by-pattern", blocks, fmt=fmt, count=count)


def _make_mix_section(results: ComparisonResults) -> Section | None:
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
        interval_column("Expected"),
        Column("Change", note=changes.unit),
        interval_column("Change"),
    ]
    table = make_table("Scores in another mix of patterns", columns, rows, "mix")
    return make_section("comparison.mix", [table], lead=" ".join(weighted.sentences))


# --------------------------------------------------------------------------------------------- view by view


def _make_contrasts_section(results: ComparisonResults) -> Section | None:
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
        columns += [Column(words, note=fmt.unit), interval_column(words), Column("p", full=f"{words}, p")]
    blocks = [make_table("Contribution of each view", columns, rows, "worths")]
    method = results.views_with or results.recommendation.recommended
    return make_section("comparison.views", blocks, method=method, metric=results.metric.name)


def _list_contrast(fmt: ScoreFormat, contrast: Contrast | None) -> list[str]:
    if contrast is None:
        return [DASH] * 3
    mean, low, high, p = contrast
    return [fmt.format_difference(mean), fmt.format_difference_interval(low, high), format_p_cell(p)]


# -------------------------------------------------------------------------------------------- missing rates

#: Scores of each method by the rate that was hidden.
_Rates = Mapping[str, Mapping[float, Interval]]


def _make_rates_section(results: ComparisonResults) -> Section | None:
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
    chart = _draw_rates(fmt, {method: scores[method] for method in methods}, rates)
    scrolled = make_scrollable(chart, "Chart over missing rates")
    charted = draw("charted", scrolled, keys, _make_rate_table(fmt, scores, rates))
    count = _count_methods(methods, scores)
    return make_section("comparison.curves", [charted], fmt=fmt, count=count)


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
    room = (rates[-1] - rates[0]) / 25 or 0.5
    chart = _ScoreChart.make(fmt, axis, (rates[0] - room, rates[-1] + room))
    lines = []
    for i, (method, spans) in enumerate(scores.items()):
        shift = (i - (N_COLOURS - 1) / 2) * _SHIFT
        places = [chart.place(rate, span.value, shift) for rate, span in spans.items()]
        path = "M" + "L".join(f"{x:g} {y:g}" for x, y in places)
        drawn = [element("path", element("title", method), d=path)]
        for (x, y), (rate, span) in zip(places, spans.items(), strict=True):
            late = x > 360  # in the right half words lie to the left
            words = f"{shorten(method, 32)} {fmt.format_score(span.value)}"
            place = (x - 9 if late else x + 9, max(y - 9, 14))
            name = text(*place, words, "end" if late else "start", class_="told")
            drawn.append(chart.draw_dot(f"{method}, {_format_rate(rate)} hidden", rate, span, shift, name))
        lines.append(element("g", *drawn, class_=f"line c{i}"))
    axes = chart.draw_axes({rate: _format_rate(rate) for rate in rates}, "hidden of what was observed")
    label = f"{fmt.metric.name} by the share that is hidden; the table below has the numbers"
    return chart.frame.draw(axes, *lines, label=label, role="group")


@dataclass(frozen=True)
class _ScoreChart:
    """A chart of scores, upwards along `axis`, over numbers; dots can be pointed at and tabbed to."""

    fmt: ScoreFormat
    axis: Axis
    frame: Frame

    @classmethod
    def make(cls, fmt: ScoreFormat, axis: Axis, span: tuple[float, float]) -> "_ScoreChart":
        return cls(fmt, axis, Frame.make((720, 340), span, (0.0, 100.0), (58.0, 16.0, 16.0, 46.0)))

    def place(self, number: float, score: float, shift: float) -> tuple[float, float]:
        return round(self.frame.x(number) + shift, 1), self.frame.y(self.axis.place(score))

    def draw_axes(self, ticks: Mapping[float, str], title: str) -> Markup:
        scores = {self.axis.place(tick): label for tick, label in self.axis.ticks.items()}
        return self.frame.axes(ticks, scores, title, shorten(self.fmt.metric.name, 40), 13)

    def draw_dot(self, who: str, number: float, score: Interval, shift: float, *extra: str) -> Markup:
        fmt, score = self.fmt, self.fmt.clip_interval(score)
        (x, value), *ends = (
            self.place(number, end if math.isfinite(end) else score.value, shift) for end in score
        )
        tip = f"{who}: {fmt.metric.name} {fmt.format_score(score.value)}"
        tip += f"; 95% interval {fmt.format_interval(score)}"
        interval = (ends[0][1], ends[1][1])
        return dot(x, value, tip, 3.4, *extra, interval=interval, tabindex=0, role="img", aria_label=tip)


def _format_rate(rate: float) -> str:
    return f"{100 * rate:.3g}%"


# ------------------------------------------------------------------------------------------------ confusion


def _make_confusion_section(results: ComparisonResults) -> Section | None:
    """The confusion matrix of the recommended method, or of the first that has one."""
    ranked = [results.recommendation.recommended, *(row.method for row in results.rows)]
    method = next((method for method in ranked if method in results.confusion), None)
    if method is None:
        return None
    counts = results.confusion[method]
    blocks = [make_confusion_table(counts, results.classes)]
    described = describe_confusion(counts)
    return make_section("comparison.confusion", blocks, method=method, described=described)


# ------------------------------------------------------------------------------------------ learning curves


def _make_learning_curve_section(results: ComparisonResults) -> Section | None:
    """Scores over training samples with what twice as many would reach, and what views would add."""
    learned = results.learning_curve
    if learned is None or not any(curve.points for curve in learned.samples):
        return None
    fmt = ScoreFormat(learned.metric)
    shown = [curve for curve in learned.samples if curve.points]
    keys = [
        fill("<span>{} {}</span>", draw_swatch(f"c{i} d0"), curve.method) for i, curve in enumerate(shown)
    ]
    blocks = [
        sentences([*(curve.sentence for curve in shown), *results.at_size]),
        fill('<p class="legend">{}</p>', keys),
        make_scrollable(_draw_samples(fmt, shown, results.n_samples), "Chart over training samples"),
        note(get_words("comparison.learning-curve.curves")),
    ]
    if any(curve.so_far for curve in learned.views):
        blocks += _draw_views(learned)
    return make_section("comparison.learning-curve", blocks, fmt=fmt)


def _draw_samples(fmt: ScoreFormat, curves: Sequence[SampleCurve], n_samples: int) -> Markup:
    """Measured scores and fitted curves with their bands, up to twice the samples."""
    scores = [fmt.clip_interval(p.score) for curve in curves for p in (*curve.points, *curve.fitted)]
    axis = fit_axis(scores, include=[score.value for score in scores], percent=fmt.metric.share)
    largest = 2 * n_samples
    chart = _ScoreChart.make(fmt, axis, (0.0, 1.04 * largest))
    ticks = {tick: format_number(round(tick)) for tick in round_ticks(0, largest)}
    frame, axes = chart.frame, chart.draw_axes(ticks, "training samples")
    x = frame.x(n_samples)
    there = [
        line(x, frame.y.start, x, frame.y.stop, class_="ideal"),
        text(x + 6, frame.y.stop + 12, f"all {format_count(n_samples, 'sample')}"),
    ]
    drawn = [
        element("g", *_draw_curve(chart, curve, 3.0 * i), class_=f"line c{i}")
        for i, curve in enumerate(curves)
    ]
    label = f"{fmt.metric.name} by the number of training samples, with what twice the samples would reach"
    return frame.draw(axes, *there, *drawn, label=label, role="group")


def _draw_curve(chart: _ScoreChart, curve: SampleCurve, shift: float) -> list[Markup]:
    """Band, fitted line in full and then dashed, and dots, which are shifted by some pixels."""
    parts, frame, axis = [], chart.frame, chart.axis
    if curve.fitted:
        ends = [chart.fmt.clip_interval(point.score) for point in curve.fitted]
        sizes = [point.n for point in curve.fitted]
        low, high = ([(n, axis.place(end[k])) for n, end in zip(sizes, ends, strict=True)] for k in (1, 2))
        parts.append(element("path", class_="band", d=frame.path([*high, *reversed(low)]) + "Z"))
        values = [(n, axis.place(end.value)) for n, end in zip(sizes, ends, strict=True)]
        measured = [n <= curve.points[-1].n for n in sizes]
        last = max(1, sum(measured))
        parts.append(element("path", class_="d0", d=frame.path(values[:last])))
        parts.append(element("path", class_="d1", d=frame.path(values[last - 1 :])))
    for point in curve.points:
        who = f"{curve.method}, {point.n:.0f} training samples"
        parts.append(chart.draw_dot(who, point.n, point.score, shift))
    return parts


def _draw_views(learned: LearningCurve) -> list[Markup]:
    """What each view adds so far, and would add for those who lack it."""
    gains = [curve.gain for curve in learned.views if curve.gain is not None]
    sides = [*gains, *(curve.so_far for curve in learned.views if curve.so_far is not None)]
    fmt = ScoreFormat.of_differences(learned.metric, (x for interval in sides for x in interval))
    axis = fit_axis(gains, include=(0.0,), percent=learned.metric.share, sign=True)
    columns: Columns = [
        "View",
        Column("For everybody", note=fmt.unit, full="Gain if everybody had it"),
        interval_column("Gain if everybody had it"),
        Column("So far", note=fmt.unit, full="Gain so far"),
        Column("Per sample", note=fmt.unit, full="Gain per sample that has it"),
        "Have it",
        "Lack it",
    ]
    rows = [_make_view_row(fmt, axis, curve) for curve in learned.views]
    table = make_interval_table(axis, "What views would add", columns, rows, "gaps", base=0.0)
    words = get_words("comparison.learning-curve.views", method=learned.samples[0].method)
    return [heading("Which view for how many?"), note(words), table]


def _make_view_row(fmt: ScoreFormat, axis: Axis, curve: ViewCurve) -> Row:
    cells: list[str | Cell] = [Cell("", css="tracked"), DASH, DASH]
    if curve.gain is not None:
        value, low, high = curve.gain
        interval = fmt.format_difference_interval(low, high)
        cells = [
            axis.draw_interval(curve.gain, "method", curve.sentence),
            fmt.format_difference(value),
            interval,
        ]
    so_far = DASH if curve.so_far is None else fmt.format_difference(curve.so_far.value)
    factor = 100 if fmt.metric.share else 1
    each = DASH if curve.per_sample is None else f"{factor * curve.per_sample.value:+.2g}".replace("-", "−")
    counts = [format_number(curve.have), format_number(curve.lack)]
    return Row([name_cell(curve.view, 32), *cells, so_far, each, *counts])
