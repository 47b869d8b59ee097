"""The page about one completed matrix: what was missing, what was filled in, how sure, how well it does."""

import math
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field

import numpy as np
from scipy.stats import binomtest

from absentia.app.report._blocks import (
    BAR,
    Block,
    Cell,
    Column,
    Table,
    bar_cell,
    best_cell,
    definitions,
    few_row,
    heading,
    method_row,
    note,
    sentences,
)
from absentia.app.report._format import (
    format_count,
    format_number,
    format_p,
    format_percent,
    shorten,
    wilson_interval,
)
from absentia.app.report._heatmaps import (
    CRISP,
    ERRORS,
    VALUES,
    average_blocks,
    diffuse,
    draw_color_bar,
    draw_heat_map,
    draw_legend,
    draw_view,
    encode_strip,
    find_block_starts,
    find_value_range,
)
from absentia.app.report._page import Figure, Section, load_templates, make_reading_section, render_page
from absentia.core import Array
from absentia.core.svg import fill
from absentia.methods.matrix import HeldOut

_FEW = 10  # hidden entries below which a column's error says little
_MAX_COLUMNS = 40
_WITHIN = 2.0  # standard deviations
_EXPECTED = math.erf(_WITHIN / math.sqrt(2))  # share of a normal distribution within them
_READING = {
    "Completed is not measured": "Completed entries are expected values given the observed ones. They "
    "vary less than measurements would; where nothing else helps they are the column's mean.",
    "Standard deviations": "They say how far off a completed entry may be if the model is right; of "
    "observed entries they are zero. They do not allow for kernels estimated wrongly. In the map dark is "
    "none, shaded by the square root so that small ones can be seen.",
    "Held-out entries": "Hidden entries were chosen at random among the observed. If values are missing "
    "for a reason of their own, say because they were large, the missing ones may be harder.",
    "Column mean": "The baseline: every hidden entry is predicted to be the mean of what is left of its "
    "column. Any method should beat it.",
}


@dataclass(frozen=True, eq=False)
class MatrixStory:
    """Everything the page tells, as arrays, numbers and sentences.

    Parameters
    ----------
    title, summary, method : str
    columns : sequence of str
    before : (n, m)
        The matrix as it came, NaN where missing.
    after, std : (n, m)
        Completed, and standard deviations, zero where observed.
    held_out : HeldOut, optional
    estimated : mapping of str to str
        What was estimated, and what came out.
    warnings, facts
        As in :class:`CompletionStory`.
    """

    title: str
    summary: str
    method: str
    columns: Sequence[str]
    before: Array
    after: Array
    std: Array
    held_out: HeldOut | None = None
    estimated: Mapping[str, str] = field(default_factory=dict)
    warnings: Sequence[str] = ()
    facts: Mapping[str, str] = field(default_factory=dict)

    def __post_init__(self) -> None:
        shapes = {np.shape(a) for a in (self.before, self.after, self.std)}
        if len(shapes) > 1 or np.ndim(self.before) != 2 or 0 in np.shape(self.before):
            raise ValueError(
                f"before, after and std have shapes {shapes}; one shape (rows, columns) is wanted"
            )
        if len(self.columns) != self.before.shape[1]:
            raise ValueError(f"{len(self.columns)} names for {self.before.shape[1]} columns")

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
    load_templates()  # says what to install before any work is done
    sections = [make(story) for make in SECTIONS.values()]
    return render_page("matrix completion", story, _list_figures(story), sections)


def _list_figures(story: MatrixStory) -> list[Figure]:
    n, m = story.before.shape
    missing = int((~story.observed).sum())
    last = Figure(format_number(missing), f"{'entry' if missing == 1 else 'entries'} completed")
    errors = _get_errors(story)
    if errors:
        share = _rms(errors[story.method]) / max(_rms(errors["column mean"]), 1e-300)
        last = Figure(f"{100 * share:.0f}%", "of the column means' error (RMSE) remain on hidden entries")
    return [
        Figure(format_number(n), "rows"),
        Figure(format_number(m), "columns"),
        Figure(format_percent(missing, n * m), "of the entries missing"),
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
    lowest, highest = min(rmse.values()), max(rmse.values()) or 1.0
    rows = []
    for name, error in errors.items():
        baseline = name != story.method
        bar, best = bar_cell(100 * rmse[name] / highest, dim=baseline), rmse[name] == lowest
        cells = [format_number(float(np.abs(error).mean()))]
        rows.append(
            method_row(name, format_number(rmse[name]), [*cells, bar], baseline=baseline, best=best)
        )
    columns: list[str | Column] = ["Method", "RMSE", "Mean absolute error", BAR]
    return Section(
        "check",
        "Held-out check",
        "How well it works here",
        f"{len(held_out.truth)} observed entries, a tenth of them, were hidden and predicted from the "
        "rest, everything estimated and chosen anew without them. Errors are in standard deviations of "
        "each column, so that columns count alike.",
        [
            Table("Errors on hidden entries", columns, rows, "accuracy"),
            sentences(
                [_compare_with_mean(story, *errors.values()), _judge_deviations(story.method, held_out)]
            ),
            *_make_column_table(story, held_out),
        ],
    )


def _compare_with_mean(story: MatrixStory, errors: Array, mean_errors: Array) -> str:
    errors, mean_errors = np.abs(errors), np.abs(mean_errors)
    wins, losses = int((errors < mean_errors).sum()), int((errors > mean_errors).sum())
    p = float(binomtest(wins, wins + losses).pvalue) if wins + losses else 1.0
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


def _make_column_table(story: MatrixStory, held_out: HeldOut) -> list[Block]:
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
            bar_cell(round(width, 1)),
        ]
        rows.append(few_row(Cell(shorten(story.columns[j], 40)), cells, count < _FEW))
    words = "RMSE in the units of the column."
    bars = f" The bar is {story.method}'s error as a share of the column mean's; a full one means no gain."
    few = f" Rows marked few rest on fewer than {_FEW} hidden entries and may be luck."
    numeric = ["Missing", "Hidden", story.method, "Column mean"]
    columns: list[str | Column] = ["Column", *numeric, BAR]
    blocks: list[Block] = [
        heading("Column by column"),
        note(
            words, fill('<span class="wide">{}</span>', bars), few if any(row.css for row in rows) else ""
        ),
        Table("Errors by column", columns, rows, "patterns groups by-column"),
    ]
    if len(chosen) < len(story.columns):
        listed = f"The {len(chosen)} of {len(story.columns)} columns with the most entries missing."
        blocks.append(note(listed))
    return blocks


# ------------------------------------------------------------------------------------------------ maps


def _make_matrix_section(story: MatrixStory) -> Section:
    """As observed, completed and how uncertain, every column in its own standard deviations."""
    observed, scale = story.observed, story.scale
    mean = np.nanmean(story.before, axis=0)
    rows, columns = (find_block_starts(n) for n in observed.shape)

    def average(values: Array) -> Array:
        return average_blocks(values, rows, columns)

    share = average(observed.astype(float))
    drawn = np.array([diffuse(line) for line in share])
    before = np.where(drawn, average((story.before - mean) / scale), np.nan)
    after, std = average((story.after - mean) / scale), average(story.std / scale)
    values, spread = find_value_range([before, after]), find_value_range([std], from_zero=True)
    edges = (encode_strip(1 - share.mean(axis=0)), encode_strip(1 - share.mean(axis=1)[:, None]))
    maps = [
        draw_heat_map("the matrix", "As observed", before, VALUES, values, edges=edges),
        draw_heat_map("the matrix", "Completed", after, VALUES, values, edges=edges),
        draw_heat_map("the matrix", "Standard deviation", std, ERRORS, spread, edges=edges),
    ]
    bars = fill("{}{}", draw_color_bar("Value", VALUES, values), draw_color_bar("Std", ERRORS, spread))
    pixels = _describe_pixels(observed.shape, (rows, columns))
    blocks = [
        draw_legend("missing", "share missing in a row or column"),
        *([note(pixels)] if pixels else []),
        draw_view("", bars, maps, "roomy"),
    ]
    lead = (
        "Rows and columns in the order of the file. Colour is how far an entry lies from its column's "
        "mean, in standard deviations of the column."
    )
    css = "maps crisp" if min(len(rows), len(columns)) < CRISP else "maps"
    return Section("matrix", "Matrix", "The matrix before and after", lead, blocks, css)


def _describe_pixels(shape: tuple[int, ...], starts: tuple[Array, Array]) -> str:
    """What a pixel is the average of, where it is one."""
    r, c = (int(s[1] - s[0]) if len(s) > 1 else n for n, s in zip(shape, starts, strict=True))
    if r == c == 1:
        return ""
    return (
        f"Each pixel averages {format_count(r, 'row')} × {format_count(c, 'column')}; as many pixels are "
        "hatched as entries are missing."
    )


def _make_estimated_section(story: MatrixStory) -> Section | None:
    """What was estimated, and what came out."""
    if not story.estimated:
        return None
    lead = (
        "The matrix is modelled as a sum of two: one whose columns vary alike along the rows (the row "
        "kernel says how), and one whose rows vary alike along the columns (the column kernel)."
    )
    blocks = [definitions(list(story.estimated.items()), "explain")]
    return Section("estimated", "Estimated", "What was estimated", lead, blocks)


#: The sections of the page, in its order, each a function of the report's data.
SECTIONS: dict[str, Callable[[MatrixStory], Section | None]] = {
    "scores": _make_check_section,
    "matrix": _make_matrix_section,
    "estimated": _make_estimated_section,
    "reading": lambda story: make_reading_section(_READING, story.facts),
}
