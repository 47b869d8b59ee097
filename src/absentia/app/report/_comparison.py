"""The page about a comparison: which method to take, how sure that is, and all numbers."""

import math
from typing import Any

from absentia.app.report._comparison_details import make_detail_sections
from absentia.app.report._drawing import Axis, fit_axis, make_interval_table
from absentia.app.report._page import (
    DASH,
    Cell,
    Column,
    Columns,
    Row,
    ScoreFormat,
    Section,
    best_cell,
    format_count,
    format_number,
    format_p_cell,
    format_percent,
    format_probability,
    get_paragraphs,
    get_words,
    heading,
    interval_column,
    make_section,
    make_table,
    name_cell,
    note,
    render_page,
    sentences,
)
from absentia.app.report._sections import make_presence_section, make_reading_section
from absentia.core.svg import Markup, fill
from absentia.experiment.results import ComparisonResults, Difference, MethodRow, Metric

_RANKING_KEY = Markup(
    '<p class="legend"><span><svg class="sign chosen" aria-hidden="true" width="16" height="16" '
    'viewBox="-8 -8 16 16"><path d="M0 -7.5L7.5 0L0 7.5L-7.5 0z"/></svg>recommended</span>'
    '<span><svg class="sign method" aria-hidden="true" width="12" height="12" viewBox="-6 -6 12 12">'
    '<circle r="5"/></svg>method</span><span><svg class="sign baseline" aria-hidden="true" width="12" '
    'height="12" viewBox="-6 -6 12 12"><circle r="4.5"/></svg>baseline</span>'
    '<span><i class="key upright-line"></i>the simplest</span></p>'
)
_DIFFERENCE_KEY = Markup('<p class="legend"><span><i class="key region"></i>practically nil</span></p>')


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
    blocks = [_RANKING_KEY, *ranking]
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
    return make_section("comparison.differences", [_DIFFERENCE_KEY, table], **given)


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
