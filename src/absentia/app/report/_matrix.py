"""The page about one completed matrix: what was missing, what was filled in, how sure, how well it does."""

import math
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field

import numpy as np
from scipy.stats import binomtest

from absentia.app.report import _colour as colour
from absentia.app.report._calibration import wilson
from absentia.app.report._heatmaps import (
    CRISP,
    MAX_SIDE,
    WHOLE,
    Bar,
    Panel,
    colour_bar,
    diffuse,
    heat_panel,
    value_range,
)
from absentia.app.report._page import Number, page, require
from absentia.app.report._text import number, p_value, percent, plural, shortened
from absentia.core import Array
from absentia.methods.matrix import HeldOut

FEW = 10  # hidden entries below which a column's error says little
MOST_COLUMNS = 40
WITHIN = 2.0  # standard deviations
NORMAL = math.erf(WITHIN / math.sqrt(2))  # share of a normal distribution within them


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
    """One self-contained HTML page: no network, no other files, and one script, to sort tables."""
    require()  # before any work
    sections = {
        "check": "Held-out check" if story.held_out else "",
        "matrix": "Matrix",
        "estimated": "Estimated" if story.estimated else "",
        "reading": "How to read this",
    }
    rows = list(_column_rows(story))
    return page(
        "matrix.html.j2",
        "matrix completion",
        sections,
        story,
        numbers=_numbers(story),
        methods=_methods(story),
        verdicts=list(_verdicts(story)),
        columns=rows,
        few=FEW if any(row.few for row in rows) else 0,
        maps=matrix_maps(story),
    )


def _numbers(story: MatrixStory) -> list[Number]:
    n, m = story.before.shape
    missing = int((~story.observed).sum())
    last = Number(number(missing), f"{'entry' if missing == 1 else 'entries'} completed")
    errors = _errors(story)
    if errors:
        share = rms(errors[story.method]) / max(rms(errors["column mean"]), 1e-300)
        last = Number(f"{100 * share:.0f}%", "of the column means' error (RMSE) remain on hidden entries")
    return [
        Number(number(n), "rows"),
        Number(number(m), "columns"),
        Number(percent(missing, n * m), "of the entries missing"),
        last,
    ]


# ---------------------------------------------------------------------------------------- held-out check


def rms(x: Array) -> float:
    return float(np.sqrt(np.mean(x**2))) if len(x) else math.nan


def _errors(story: MatrixStory) -> dict[str, Array]:
    """Errors on hidden entries, in standard deviations of their columns."""
    held = story.held_out
    if held is None:
        return {}
    unit = story.scale[held.column]
    return {
        story.method: (held.predicted - held.truth) / unit,
        "column mean": (held.baseline - held.truth) / unit,
    }


@dataclass(frozen=True)
class Method:
    name: str
    baseline: bool
    rmse: str
    mean: str
    best: bool
    width: float  # percent of the largest


def _methods(story: MatrixStory) -> list[Method]:
    errors = _errors(story)
    found = {name: rms(e) for name, e in errors.items()}
    most, least = max(found.values(), default=0.0) or 1.0, min(found.values(), default=0.0)
    return [
        Method(
            name,
            name != story.method,
            number(found[name]),
            number(float(np.abs(e).mean())),
            found[name] == least,
            round(100 * found[name] / most, 2),
        )
        for name, e in errors.items()
    ]


def _verdicts(story: MatrixStory) -> Iterator[str]:
    held, errors = story.held_out, _errors(story)
    if held is None:
        return
    own, other = (np.abs(e) for e in errors.values())
    wins, losses = int((own < other).sum()), int((own > other).sum())
    p = float(binomtest(wins, wins + losses).pvalue) if wins + losses else 1.0
    end = "a difference that chance could make"
    if p < 0.05:
        end = f"{story.method if wins > losses else 'the column mean'} is nearer more often"
    yield (
        f"{story.method} was nearer to the truth on {plural(wins, 'hidden entry', 'hidden entries')}, the "
        f"column mean on {number(losses)}: {end} ({p_value(p)}, sign test)."
    )
    within = int((np.abs(held.predicted - held.truth) <= WITHIN * held.std).sum())
    low, high = wilson(within, len(held.truth))
    judged = "as it should be"
    if not low <= NORMAL <= high:
        little = "a little " if abs(within / len(held.truth) - NORMAL) < 0.03 else ""
        judged = f"the standard deviations are {little}too {'small' if high < NORMAL else 'large'} here"
    yield (
        f"{percent(within, len(held.truth))} of the hidden values lie within two standard deviations of "
        f"what {story.method} says, where {100 * NORMAL:.0f}% are expected: {judged}."
    )


@dataclass(frozen=True)
class ColumnRow:
    name: str
    missing: str
    hidden: str
    own: str
    baseline: str
    better: bool
    few: bool
    width: float  # own error in percent of the baseline's, at most 100


def _column_rows(story: MatrixStory) -> Iterator[ColumnRow]:
    """Errors column by column, in the column's own units; of many columns those with most missing."""
    held = story.held_out
    if held is None:
        return
    missing = (~story.observed).sum(axis=0)
    chosen = np.sort(np.argsort(-missing, kind="stable")[:MOST_COLUMNS])
    for j in chosen.tolist():
        here = held.column == j
        own = rms((held.predicted - held.truth)[here])
        baseline = rms((held.baseline - held.truth)[here])
        count = int(here.sum())
        yield ColumnRow(
            shortened(story.columns[j], 40),
            percent(int(missing[j]), len(story.before)),
            number(count),
            number(own),
            number(baseline),
            own < baseline,
            count < FEW,
            round(min(100 * own / baseline, 100.0), 1) if count and baseline > 0 else 0.0,
        )


# ------------------------------------------------------------------------------------------------ maps


@dataclass(frozen=True)
class MatrixMaps:
    panels: Sequence[Panel]
    bars: Sequence[Bar]
    top: str
    left: str
    shape: tuple[int, int]  # pixels
    crisp: bool
    block: str


def matrix_maps(story: MatrixStory) -> MatrixMaps:
    """As observed, completed and how uncertain, every column in its own standard deviations."""
    observed, scale = story.observed, story.scale
    mean = np.nanmean(story.before, axis=0)
    rows, columns = (_starts(n) for n in observed.shape)

    def averaged(values: Array) -> Array:
        return block_means(values, rows, columns)

    share = averaged(observed.astype(float))
    drawn = np.array([diffuse(line) for line in share])
    before = np.where(drawn, averaged((story.before - mean) / scale), np.nan)
    after, std = averaged((story.after - mean) / scale), averaged(story.std / scale)
    values, spread = value_range([before, after]), value_range([std], from_zero=True)
    name = "the matrix"
    return MatrixMaps(
        panels=[
            heat_panel("As observed", "", name, before, colour.VALUES, values),
            heat_panel("Completed", "", name, after, colour.VALUES, values),
            heat_panel("Standard deviation", "", name, std, colour.ERRORS, spread),
        ],
        bars=[*colour_bar("Value", colour.VALUES, values), *colour_bar("Std", colour.ERRORS, spread)],
        top=colour.strip_png(1 - share.mean(axis=0)),
        left=colour.strip_png(1 - share.mean(axis=1)[:, None]),
        shape=(len(rows), len(columns)),
        crisp=min(len(rows), len(columns)) < CRISP,
        block=_block_sentence(observed.shape, (rows, columns)),
    )


def _starts(n: int) -> Array:
    """Where blocks of an axis begin: every row or column if there are few, else equal blocks."""
    return np.arange(0, n, 1 if n <= WHOLE else math.ceil(n / MAX_SIDE))


def block_means(values: Array, rows: Array, columns: Array) -> Array:
    """Means over the blocks that begin at `rows` and `columns`, of what is there; NaN where nothing is."""

    def summed(A: Array) -> Array:
        return np.asarray(np.add.reduceat(np.add.reduceat(A, rows, axis=0), columns, axis=1))

    there = np.isfinite(values)
    counts = summed(there.astype(float))
    means = np.full(counts.shape, np.nan)
    return np.divide(summed(np.where(there, values, 0.0)), counts, out=means, where=counts > 0)


def _block_sentence(shape: tuple[int, ...], starts: tuple[Array, Array]) -> str:
    r, c = (int(s[1] - s[0]) if len(s) > 1 else n for n, s in zip(shape, starts, strict=True))
    if r == c == 1:
        return ""
    return (
        f"Each pixel averages {plural(r, 'row')} × {plural(c, 'column')}; as many pixels are hatched as "
        "entries are missing."
    )
