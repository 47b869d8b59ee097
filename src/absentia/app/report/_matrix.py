"""The page about one completed matrix: what was missing, what was filled in, how sure, how well it does."""

import math
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from typing import TYPE_CHECKING

import numpy as np

from absentia.app.report._completion import describe_intervals
from absentia.app.report._drawing import LEGEND, MAX_SIDE, average_blocks, draw_panel
from absentia.app.report._page import (
    BAR,
    Cell,
    Columns,
    Section,
    bar_cell,
    best_cell,
    few_row,
    format_count,
    format_number,
    format_p,
    format_percent,
    get_paragraphs,
    heading,
    make_method_table,
    make_section,
    make_table,
    note,
    render_page,
    sentences,
    shorten,
    wilson_interval,
)
from absentia.app.report._sections import make_reading_section
from absentia.core import Array
from absentia.core.svg import Markup, fill
from absentia.data.statistics import mcnemar
from absentia.methods.matrix import HeldOut

if TYPE_CHECKING:
    import pandas

_FEW = 10  # hidden entries below which a column's error says little
_MAX_COLUMNS = 40
_WITHIN = 2.0  # standard deviations
_EXPECTED = math.erf(_WITHIN / math.sqrt(2))  # share of a normal distribution within them


@dataclass(frozen=True, eq=False)
class MatrixStory:
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
        As in :class:`PredictionStory`.
    """

    title: str
    summary: str
    method: str
    columns: Sequence[str]
    before: Array
    after: Array
    std: Array
    held_out: HeldOut | None = None
    intervals: "pandas.DataFrame | None" = None
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


def render_matrix(story: MatrixStory) -> str:
    """The page as HTML."""
    sections = [
        _make_check_section(story),
        _make_matrix_section(story),
        make_reading_section(get_paragraphs("matrix.reading"), story.facts),
    ]
    return render_page("matrix completion", story, _list_figures(story), sections)


def _list_figures(story: MatrixStory) -> list[tuple[str, str]]:
    n, m = story.before.shape
    missing = int((~story.observed).sum())
    last = (format_number(missing), f"{'entry' if missing == 1 else 'entries'} completed")
    errors = _get_errors(story)
    if errors:
        share = _rms(errors[story.method]) / max(_rms(errors["column mean"]), 1e-300)
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


def _get_errors(story: MatrixStory) -> dict[str, Array]:
    """Errors on hidden entries, in standard deviations of their columns."""
    held_out = story.held_out
    if held_out is None:
        return {}
    unit = story.scale[held_out.column]
    return {
        story.method: (held_out.predicted - held_out.truth) / unit,
        "column mean": (held_out.baseline - held_out.truth) / unit,
    }


def _make_check_section(story: MatrixStory) -> Section | None:
    """Errors on hidden entries beside those of column means; None if none were hidden."""
    held_out, errors = story.held_out, _get_errors(story)
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
    verdicts = [_compare_with_mean(story, *errors.values()), _judge_deviations(story.method, held_out)]
    verdicts += [f"{sentence}." for sentence in describe_intervals(story.intervals)]
    blocks = [table, sentences(verdicts), *_make_column_table(story, held_out)]
    return make_section("matrix.check", blocks, n=len(held_out.truth))


def _compare_with_mean(story: MatrixStory, errors: Array, mean_errors: Array) -> str:
    errors, mean_errors = np.abs(errors), np.abs(mean_errors)
    wins, losses, p = mcnemar(errors < mean_errors, errors > mean_errors)
    end = "a difference that chance could make"
    if p < 0.05:
        end = f"{story.method if wins > losses else 'the column mean'} is nearer more often"
    entries = format_count(wins, "hidden entry", "hidden entries")
    return (
        f"{story.method} was nearer to the truth on {entries}, the column mean on "
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


def _make_column_table(story: MatrixStory, held_out: HeldOut) -> list[Markup]:
    """Errors column by column, in the column's own units; of many columns those with most missing."""
    n_missing = (~story.observed).sum(axis=0)
    chosen = np.sort(np.argsort(-n_missing, kind="stable")[:_MAX_COLUMNS]).tolist()
    rows = []
    for j in chosen:
        here = held_out.column == j
        count = int(here.sum())
        error = _rms((held_out.predicted - held_out.truth)[here])
        baseline = _rms((held_out.baseline - held_out.truth)[here])
        width = min(100 * error / baseline, 100.0) if count and baseline > 0 else 0.0
        cells: list[str | Cell] = [
            format_percent(int(n_missing[j]), len(story.before)),
            format_number(count),
            best_cell(format_number(error), error < baseline, "better"),
            format_number(baseline),
            bar_cell(width),
        ]
        rows.append(few_row(Cell(shorten(story.columns[j], 40)), cells, count < _FEW))
    words = "RMSE in the units of the column."
    bars = f" The bar is {story.method}'s error as a share of the column mean's; a full one means no gain."
    few = f" Rows marked few rest on fewer than {_FEW} hidden entries and may be luck."
    columns: Columns = ["Column", "Missing", "Hidden", story.method, "Column mean", BAR]
    blocks = [
        heading("Column by column"),
        note(
            words, fill('<span class="wide">{}</span>', bars), few if any(row.css for row in rows) else ""
        ),
        make_table("Errors by column", columns, rows, "patterns groups by-column"),
    ]
    if len(chosen) < len(story.columns):
        listed = f"The {len(chosen)} of {len(story.columns)} columns with the most entries missing."
        blocks.append(note(listed))
    return blocks


def _make_matrix_section(story: MatrixStory) -> Section:
    """As observed, completed and how uncertain, every column in its own standard deviations."""
    mean, scale = np.nanmean(story.before, axis=0), story.scale
    blocks = [math.ceil(n / MAX_SIDE) for n in story.before.shape]
    rows, columns = (np.arange(0, n, size) for n, size in zip(story.before.shape, blocks, strict=True))
    maps = {
        "As observed": (story.before - mean) / scale,
        "Completed": (story.after - mean) / scale,
        "Standard deviation": story.std / scale,
    }
    maps = {caption: average_blocks(values, rows, columns) for caption, values in maps.items()}
    deviations = {"Standard deviation": maps.pop("Standard deviation")}
    averaged = ""
    if max(blocks) > 1:
        r, c = format_count(blocks[0], "row"), format_count(blocks[1], "column")
        averaged = f" Each pixel averages {r} × {c}."
    panels = [draw_panel("", "the matrix", drawn) for drawn in (maps, deviations)]
    return make_section("matrix.matrix", [LEGEND, *panels], css="maps", averaged=averaged)
