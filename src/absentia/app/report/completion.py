"""The pages about completed kernels, or one matrix: what was absent, what was filled in, and how well."""

from __future__ import annotations

import math
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any

import numpy as np

from absentia.app.report._page import (
    BAR,
    DASH,
    Cell,
    Column,
    Columns,
    Row,
    Section,
    bar_cell,
    best_cell,
    few_row,
    format_count,
    format_number,
    format_p,
    format_percent,
    get_paragraphs,
    get_words,
    heading,
    make_method_table,
    make_section,
    make_table,
    name_cell,
    note,
    render_page,
    sentences,
    shorten,
    wilson_interval,
)
from absentia.app.report._sections import (
    MAX_SIDE,
    average_blocks,
    draw_panel,
    make_presence_section,
    make_reading_section,
)
from absentia.core import Array
from absentia.core.svg import Markup, fill
from absentia.data import KernelViews
from absentia.data.statistics import mcnemar
from absentia.experiment import Quality

if TYPE_CHECKING:
    import pandas

    from absentia.methods.matrix import HeldOut

_FEW = 10  # hidden cells or entries below which a number says little
_MIN_SIDE = 64  # pixels of a map, however many there are
_MAX_DRAWN = 2600  # samples of which maps are averages at most: ten for a pixel
_MAX_PIXELS = 3_000_000  # of all maps of a page
_MEAN, _ZERO = "mean", "zero"


@dataclass(frozen=True, eq=False, kw_only=True)
class CompletionReport:
    """What the page about completed kernels tells.

    Parameters
    ----------
    title, summary : str
        Plain text; the summary is one or two sentences.
    method : str
    before, after : KernelViews
        Kernels as they came, and completed.
    warnings, facts
        As in :class:`PredictionReport`.
    quality : Quality, optional
        Errors on cells that were hidden on purpose, of the method and of others.
    intervals : DataFrame, optional
        What intervals of completed values are worth: ``CompletionIntervals.table``.
    """

    title: str
    summary: str
    method: str
    before: KernelViews
    after: KernelViews
    warnings: Sequence[str] = ()
    facts: Mapping[str, str] = field(default_factory=dict)
    quality: Quality | None = None
    intervals: pandas.DataFrame | None = None

    @property
    def names(self) -> Sequence[str]:
        return self.before.names

    @property
    def observed(self) -> Array:
        return self.before.observed

    @property
    def n_samples(self) -> int:
        return len(self.before)

    @property
    def n_views(self) -> int:
        return self.before.n_views


def render_completion(data: CompletionReport) -> str:
    """The page as HTML."""
    sections = [
        make_presence_section(data),
        _make_quality_section(data),
        _make_interval_section(data.intervals),
        _make_kernels_section(data),
        make_reading_section(get_paragraphs("completion.reading"), data.facts),
    ]
    return render_page("completion", data, _list_figures(data), sections)


def _list_figures(data: CompletionReport) -> list[tuple[str, str]]:
    observed = data.observed
    complete, (n, n_views) = int(observed.all(axis=1).sum()), observed.shape
    have = "sample has" if complete == 1 else "samples have"
    present = format_percent(int(observed.sum()), observed.size)
    return [
        (format_number(n), "sample" if n == 1 else "samples"),
        (format_number(n_views), "view" if n_views == 1 else "views"),
        (present, "of all sample–view pairs present"),
        (format_number(complete), f"{have} every view ({format_percent(complete, n)})"),
    ]


# ------------------------------------------------------------------------------------------------- quality


def _make_quality_section(data: CompletionReport) -> Section | None:
    """Errors on cells hidden on purpose; None if nothing was measured."""
    quality, chosen = data.quality, data.method
    if quality is None:
        return None
    lead, blocks = get_words("completion.quality.none"), []
    if len(quality.cells):
        given = {"n_cells": len(quality.cells), "subsample": quality.subsample_note}
        lead = get_words("completion.quality.lead", **given).rstrip()
        order = sorted(quality.row_errors, key=lambda name: quality.mean_errors(name)[0])
        verdicts = list(_compare_with_others(quality, chosen))
        blocks += [sentences(verdicts)] if verdicts else []
        blocks += _make_method_errors(quality, order, chosen) if order else []
        left_out = ", ".join(f"{name} ({why})" for name, why in quality.left_out.items())
        blocks += [note(f"Not in the table: {left_out}.")] if left_out else []
        blocks += _make_view_errors(quality, order, chosen) if order else []
    return make_section("completion.quality", blocks, lead=lead)


def _make_method_errors(quality: Quality, order: Sequence[str], chosen: str) -> list[Markup]:
    """Errors of all methods, the best first, by ARE; zero fill's bar is cut off at the others' largest."""
    errors = {name: quality.mean_errors(name) for name in order}
    largest = max((are for name, (are, _) in errors.items() if name != _ZERO), default=1.0) or 1.0
    rows = []
    for name, (are, ca) in errors.items():
        tags = ["used here"] if name == chosen else []
        tags += ["baseline"] if name in (_MEAN, _ZERO) else []
        cells: list[str | Cell] = [
            best_cell(format_number(are), name == order[0] and len(order) > 1),
            format_number(ca),
            f"{quality.seconds[name]:.1f}",
            bar_cell(min(100 * are / largest, 100.0)),
        ]
        rows.append(Row([Cell(name, tags=tags, value=name), *cells], "first" if name == chosen else ""))
    columns: Columns = ["Method", "ARE", "CA", "CPU seconds", BAR]
    words = note(get_words("completion.quality.methods"))
    return [make_table("Errors on hidden cells", columns, rows, "accuracy quality"), words]


def _compare_with_others(quality: Quality, chosen: str) -> Iterator[str]:
    """Is the method better than mean fill here."""
    if chosen not in quality.row_errors:
        if chosen in quality.left_out:
            yield f"{chosen} {quality.left_out[chosen]}, so nothing can be said of how good it is here."
        return
    if chosen != _MEAN and _MEAN in quality.row_errors:
        yield _compare_with_mean(quality, chosen)


def _compare_with_mean(quality: Quality, chosen: str) -> str:
    errors, mean_errors = quality.row_errors[chosen], quality.row_errors[_MEAN]
    wins, losses, p = mcnemar(errors < mean_errors, errors > mean_errors)
    are, mean_are = quality.mean_errors(chosen)[0], quality.mean_errors(_MEAN)[0]
    if p >= 0.05:
        verdict = f"{chosen} is not shown to be better than mean fill here"
    elif are < mean_are and wins > losses:
        verdict = f"{chosen} is better than mean fill here"
    elif are > mean_are and wins < losses:
        verdict = f"{chosen} is worse than mean fill here: use mean fill, or another method"
    else:
        often = "more often" if wins > losses else "less often"
        verdict = f"{chosen} is nearer than mean fill {often}, but its mean error says otherwise"
    return (
        f"{verdict}: its error is {format_number(are)}, that of mean fill {format_number(mean_are)}; it "
        f"is nearer to the truth on {format_count(wins, 'hidden cell')}, mean fill on "
        f"{format_number(losses)} ({format_p(p)}, sign test)."
    )


def _make_view_errors(quality: Quality, order: Sequence[str], chosen: str) -> list[Markup]:
    """ARE of each view by method, the least marked."""
    by_view = np.array([quality.view_errors(name) for name in order])
    hidden = np.bincount(quality.cells[:, 1], minlength=len(quality.names))
    rows = []
    for v, name in enumerate(quality.names):
        lowest = np.nanmin(by_view[:, v]) if np.isfinite(by_view[:, v]).any() else np.nan
        cells = [
            best_cell(format_number(float(x)), bool(x == lowest) and len(order) > 1) for x in by_view[:, v]
        ]
        rows.append(
            few_row(name_cell(name, 32), [format_number(int(hidden[v])), *cells], bool(hidden[v] < _FEW))
        )
    columns: list[str | Column] = ["View", "Hidden"]
    columns += [Column(name, css="own" if name == chosen else "") for name in order]
    words = "ARE; the least of each view is marked."
    if (hidden < _FEW).any():
        words += f" Rows marked few rest on fewer than {_FEW} hidden cells and may be luck."
    return [heading("View by view"), make_table("Errors by view", columns, rows, "by-view"), note(words)]


# ----------------------------------------------------------------------------------------------- intervals


def describe_intervals(table: pandas.DataFrame | None) -> list[str]:
    """A sentence for each view, or of a matrix: how far completed values may be off, and what is reached.

    `table` is that of ``CompletionIntervals``; of kernels, values with observed samples are told.
    """
    sentences = []
    rows: list[dict[str, Any]] = [] if table is None else table.to_dict("records")  # type: ignore[assignment]
    for row in rows:
        if row["entries"] not in ("observed", "entry"):
            continue
        where, promised = f"{row['view']}: " if row["view"] else "", f"{100 * row['promised']:g} %"
        if not math.isfinite(row["half_width"]):
            rest = f"{row['n_hidden']} could be hidden"
            sentences.append(f"{where}too few samples to say how far {promised} of values are off: {rest}")
            continue
        unit = " standard deviations of the column" if row["entries"] == "entry" else ""
        text = f"{where}{promised} of completed values within ±{row['half_width']:.3g}{unit}"
        if not unit:
            text += f" (standard deviation of observed ones {row['spread']:.3g})"
        if row["n_hidden"]:
            text += f"; {100 * row['reached']:.0f} % of hidden ones were, standard error "
            text += f"{100 * row['standard_error']:.1f}"
        sentences.append(text)
    return sentences


def _make_interval_section(measured: pandas.DataFrame | None) -> Section | None:
    """How wide intervals of completed values have to be, and how many hidden values were inside."""
    if measured is None or measured.empty:
        return None
    promised = f"{100 * measured['promised'].iloc[0]:g}%"
    rows = []
    records: dict[Any, Any] = measured.set_index(["view", "entries"]).to_dict("index")
    for name in measured["view"].unique():
        cells, n_hidden = [], records[name, "observed"]["n_hidden"]
        for kind in ("observed", "absent"):
            record = records[name, kind]
            cells.append(format_number(record["half_width"]))
            cells += _format_reached(record["reached"], record["standard_error"])
        spread = format_number(records[name, "observed"]["spread"])
        row = [format_number(int(n_hidden)), *cells, spread]
        rows.append(few_row(name_cell(str(name), 32), row, n_hidden < _FEW))
    columns: list[str | Column] = ["View", "Hidden samples"]
    for kind in ("observed", "absent"):
        beside = f"with {kind} samples"
        words = ("Within ±", "Reached", "s.e.")
        columns += [Column(word, note=beside, full=f"{word}, {beside}") for word in words]
    columns.append(Column("Spread", full="Standard deviation of observed values"))
    table = make_table("Intervals by view", columns, rows, "patterns groups")
    return make_section("completion.intervals", [table], promised=promised)


def _format_reached(reached: float, error: float) -> list[str]:
    if not math.isfinite(reached):
        return [DASH, DASH]
    return [f"{100 * reached:.1f}%", f"{100 * error:.1f}"]


# ------------------------------------------------------------------------------------------------- kernels


def _make_kernels_section(data: CompletionReport) -> Section:
    """Maps of all samples, or, of many, of evenly spaced ones in the order that they are drawn in."""
    order = _order_samples(data.after)
    words = "Samples are ordered by the leading direction of the average kernel."
    if data.n_samples > _MAX_DRAWN:
        words += (
            f" Drawn are {format_number(_MAX_DRAWN)} of the {format_number(data.n_samples)} samples, "
            "evenly spaced in this order."
        )
        order = order[np.linspace(0, data.n_samples - 1, _MAX_DRAWN).astype(int)]
    side = max(_MIN_SIDE, min(MAX_SIDE, math.isqrt(_MAX_PIXELS // (2 * data.n_views))))
    block = math.ceil(len(order) / side)
    if block > 1:
        words += f" Each pixel averages {block} × {block} samples."
    groups = [order[i : i + block] for i in range(0, len(order), block)]
    views = [_draw_view(data, v, groups) for v in range(data.n_views)]
    return make_section("completion.kernels", [note(words), *views], css="maps")


def _draw_view(data: CompletionReport, v: int, groups: Sequence[Array]) -> Markup:
    """Maps of a view, a pixel for each group of samples."""
    name, has = data.names[v], data.observed[:, v]
    kernels = {"As observed": data.before, f"Completed by {data.method}": data.after}
    maps = {caption: _average_kernel(drawn, v, groups) for caption, drawn in kernels.items()}
    present, n = int(has.sum()), len(has)
    count = f"{format_number(present)} of {format_count(n, 'sample')} ({format_percent(present, n)})"
    head = fill("<div><h3>{}</h3><p>observed for {}</p></div>", name, count)
    return draw_panel(head, f"view {name}", maps)


def _average_kernel(kernels: KernelViews, v: int, groups: Sequence[Array]) -> Array:
    """Means of a view's kernel over groups of samples, (groups, groups), of what is there.

    The rows of one group are held at a time.
    """
    operator, has = kernels.operator(kernels.names[v]), kernels.observed[:, v]
    position = np.cumsum(has) - 1  # of a sample in the kernel of the view
    samples = np.concatenate(groups)
    columns = has[samples]
    starts = np.cumsum([0, *map(len, groups[:-1])])
    means = []
    for group in groups:
        rows = has[group]
        block = np.full((len(group), len(samples)), np.nan)
        block[np.ix_(rows, columns)] = operator.block(position[group[rows]], position[samples[columns]])
        means.append(average_blocks(block, np.zeros(1, dtype=int), starts))
    return np.concatenate(means)


def _order_samples(kernels: KernelViews, n_iter: int = 30) -> Array:
    """Positions along the leading eigenvector of the mean of completed kernels, centred."""
    sizes = {name: float(np.mean(np.abs(kernels.diagonal(name)))) for name in kernels.names}
    x = np.cos(1.0 + np.arange(len(kernels)))  # any start in general position
    for _ in range(n_iter):
        x, total = x - x.mean(), np.zeros(len(kernels))
        for name, size in sizes.items():
            if size > 0:
                total += np.asarray(kernels.operator(name) @ x[:, None])[:, 0] / size
        x = total / max(float(np.linalg.norm(total)), 1e-300)
    return np.argsort(x, kind="stable")


# --------------------------------------------------------------------------------------------- one matrix

_MAX_COLUMNS = 40
_WITHIN = 2.0  # standard deviations
_EXPECTED = math.erf(_WITHIN / math.sqrt(2))  # share of a normal distribution within them


@dataclass(frozen=True, eq=False)
class MatrixReport:
    """What the page about one completed matrix tells.

    Parameters
    ----------
    title, summary, method : str
    columns : sequence of str
    before : (n, m)
        The matrix as it came, NaN where missing.
    after, std : (n, m)
        Completed, and standard deviations, zero where observed.
    held_out : HeldOut, optional
    intervals : DataFrame, optional
        What intervals of completed entries are worth: ``CompletionIntervals.table``.
    warnings, facts
        As in :class:`PredictionReport`.
    """

    title: str
    summary: str
    method: str
    columns: Sequence[str]
    before: Array
    after: Array
    std: Array
    held_out: HeldOut | None = None
    intervals: pandas.DataFrame | None = None
    warnings: Sequence[str] = ()
    facts: Mapping[str, str] = field(default_factory=dict)

    @property
    def observed(self) -> Array:
        return ~np.isnan(self.before)

    @property
    def scale(self) -> Array:
        """Standard deviation of what is observed in each column; 1 if it does not vary."""
        s = np.nanstd(self.before, axis=0)
        return np.where(s > 0, s, 1.0)


def render_matrix(data: MatrixReport) -> str:
    """The page as HTML."""
    sections = [
        _make_check_section(data),
        _make_matrix_section(data),
        make_reading_section(get_paragraphs("matrix.reading"), data.facts),
    ]
    return render_page("matrix completion", data, _list_matrix_figures(data), sections)


def _list_matrix_figures(data: MatrixReport) -> list[tuple[str, str]]:
    n, m = data.before.shape
    missing = int((~data.observed).sum())
    last = (format_number(missing), f"{'entry' if missing == 1 else 'entries'} completed")
    errors = _get_errors(data)
    if errors:
        share = _rms(errors[data.method]) / max(_rms(errors["column mean"]), 1e-300)
        last = (f"{100 * share:.0f}%", "of the column means' error (RMSE) remain on hidden entries")
    return [
        (format_number(n), "rows"),
        (format_number(m), "columns"),
        (format_percent(missing, n * m), "of the entries missing"),
        last,
    ]


# ---------------------------------------------------------------------------------------- held-out check


def _rms(x: Array) -> float:
    return float(np.sqrt(np.mean(x**2))) if len(x) else math.nan


def _get_errors(data: MatrixReport) -> dict[str, Array]:
    """Errors on hidden entries, in standard deviations of their columns."""
    held_out = data.held_out
    if held_out is None:
        return {}
    unit = data.scale[held_out.column]
    return {
        data.method: (held_out.predicted - held_out.truth) / unit,
        "column mean": (held_out.baseline - held_out.truth) / unit,
    }


def _make_check_section(data: MatrixReport) -> Section | None:
    """Errors on hidden entries beside those of column means; None if none were hidden."""
    held_out, errors = data.held_out, _get_errors(data)
    if held_out is None:
        return None
    rmse = {name: _rms(error) for name, error in errors.items()}
    highest = max(rmse.values()) or 1.0

    def describe(name: str) -> list[str | Cell]:
        mean = format_number(float(np.abs(errors[name]).mean()))
        return [format_number(rmse[name]), mean, bar_cell(100 * rmse[name] / highest)]

    table = make_method_table(
        "Errors on hidden entries", ["RMSE", "Mean absolute error"], rmse, describe, choose_best=min
    )
    verdicts = [_compare_with_column_mean(data, *errors.values()), _judge_deviations(data.method, held_out)]
    verdicts += [f"{sentence}." for sentence in describe_intervals(data.intervals)]
    blocks = [table, sentences(verdicts), *_make_column_table(data, held_out)]
    return make_section("matrix.check", blocks, n=len(held_out.truth))


def _compare_with_column_mean(data: MatrixReport, errors: Array, mean_errors: Array) -> str:
    errors, mean_errors = np.abs(errors), np.abs(mean_errors)
    wins, losses, p = mcnemar(errors < mean_errors, errors > mean_errors)
    end = "a difference that chance could make"
    if p < 0.05:
        end = f"{data.method if wins > losses else 'the column mean'} is nearer more often"
    entries = format_count(wins, "hidden entry", "hidden entries")
    return (
        f"{data.method} was nearer to the truth on {entries}, the column mean on "
        f"{format_number(losses)}: {end} ({format_p(p)}, sign test)."
    )


def _judge_deviations(method: str, held_out: HeldOut) -> str:
    """Whether as many hidden values lie within two standard deviations as should."""
    n = len(held_out.truth)
    within = int((np.abs(held_out.predicted - held_out.truth) <= _WITHIN * held_out.std).sum())
    low, high = wilson_interval(within, n)
    verdict = "as it should be"
    if not low <= _EXPECTED <= high:
        little = "a little " if abs(within / n - _EXPECTED) < 0.03 else ""
        verdict = f"the standard deviations are {little}too {'small' if high < _EXPECTED else 'large'} here"
    return (
        f"{format_percent(within, n)} of the hidden values lie within two standard deviations of what "
        f"{method} predicts, where {100 * _EXPECTED:.0f}% are expected: {verdict}."
    )


def _make_column_table(data: MatrixReport, held_out: HeldOut) -> list[Markup]:
    """Errors column by column, in the column's own units; of many columns those with most missing."""
    n_missing = (~data.observed).sum(axis=0)
    chosen = np.sort(np.argsort(-n_missing, kind="stable")[:_MAX_COLUMNS]).tolist()
    rows = []
    for j in chosen:
        here = held_out.column == j
        count = int(here.sum())
        error = _rms((held_out.predicted - held_out.truth)[here])
        baseline = _rms((held_out.baseline - held_out.truth)[here])
        width = min(100 * error / baseline, 100.0) if count and baseline > 0 else 0.0
        cells: list[str | Cell] = [
            format_percent(int(n_missing[j]), len(data.before)),
            format_number(count),
            best_cell(format_number(error), error < baseline, "better"),
            format_number(baseline),
            bar_cell(width),
        ]
        rows.append(few_row(Cell(shorten(data.columns[j], 40)), cells, count < _FEW))
    words = "RMSE in the units of the column."
    bars = f" The bar is {data.method}'s error as a share of the column mean's; a full one means no gain."
    few = f" Rows marked few rest on fewer than {_FEW} hidden entries and may be luck."
    columns: Columns = ["Column", "Missing", "Hidden", data.method, "Column mean", BAR]
    blocks = [
        heading("Column by column"),
        note(
            words, fill('<span class="wide">{}</span>', bars), few if any(row.css for row in rows) else ""
        ),
        make_table("Errors by column", columns, rows, "patterns groups by-column"),
    ]
    if len(chosen) < len(data.columns):
        listed = f"The {len(chosen)} of {len(data.columns)} columns with the most entries missing."
        blocks.append(note(listed))
    return blocks


def _make_matrix_section(data: MatrixReport) -> Section:
    """As observed, completed and how uncertain, every column in its own standard deviations."""
    mean, scale = np.nanmean(data.before, axis=0), data.scale
    blocks = [math.ceil(n / MAX_SIDE) for n in data.before.shape]
    rows, columns = (np.arange(0, n, size) for n, size in zip(data.before.shape, blocks, strict=True))
    maps = {
        "As observed": (data.before - mean) / scale,
        "Completed": (data.after - mean) / scale,
        "Standard deviation": data.std / scale,
    }
    maps = {caption: average_blocks(values, rows, columns) for caption, values in maps.items()}
    deviations = {"Standard deviation": maps.pop("Standard deviation")}
    averaged = ""
    if max(blocks) > 1:
        r, c = format_count(blocks[0], "row"), format_count(blocks[1], "column")
        averaged = f" Each pixel averages {r} × {c}."
    panels = [draw_panel("", "the matrix", drawn) for drawn in (maps, deviations)]
    return make_section("matrix.matrix", panels, css="maps", averaged=averaged)
