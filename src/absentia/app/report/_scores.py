"""The table of scores: one row per method, the best of each column marked."""

import math
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np

from absentia.app.report._story import CompletionStory
from absentia.app.report._text import DASH, number

NEITHER_GOOD_NOR_BAD = frozenset({"method", "seconds", "iterations"})


@dataclass(frozen=True)
class Column:
    name: str
    better: str  # "higher is better", "lower is better" or nothing
    explain: str
    numeric: bool


@dataclass(frozen=True)
class Cell:
    text: str
    best: bool
    missing: bool


@dataclass(frozen=True)
class Row:
    method: str
    baseline: bool
    first: bool
    cells: Sequence[Cell]


@dataclass(frozen=True)
class Scores:
    columns: Sequence[Column]
    rows: Sequence[Row]
    has_baselines: bool
    has_first: bool


def scores(story: CompletionStory) -> Scores | None:
    if not story.scores:
        return None
    names = list(dict.fromkeys(key for row in story.scores for key in row if key != "method"))
    best = {name: _best(story, name) for name in names}
    shown_first = next(iter(story.after), None)
    rows = []
    for row in story.scores:
        method = str(row.get("method", DASH))
        cells = [_cell(row.get(name), None if method in story.references else best[name]) for name in names]
        rows.append(Row(method, method in story.baselines, method == shown_first, cells))
    return Scores(
        columns=[_column(story, name) for name in names],
        rows=rows,
        has_baselines=any(row.baseline for row in rows),
        has_first=any(row.first for row in rows) and len(rows) > 1,
    )


def _is_number(value: object) -> bool:
    return isinstance(value, int | float | np.integer | np.floating) and not isinstance(value, bool)


def _finite(value: Any) -> float | None:
    return float(value) if _is_number(value) and math.isfinite(value) else None


def _is_numeric(story: CompletionStory, name: str) -> bool:
    return all(_is_number(row[name]) for row in story.scores if row.get(name) is not None)


def _best(story: CompletionStory, name: str) -> float | None:
    """The best value of a column, or None where no mark makes sense."""
    contestants = [row for row in story.scores if row.get("method") not in story.references]
    values = [x for row in contestants if (x := _finite(row.get(name))) is not None]
    if name in NEITHER_GOOD_NOR_BAD or len(values) < 2 or min(values) == max(values):
        return None
    return max(values) if name in story.higher_is_better else min(values)


def _column(story: CompletionStory, name: str) -> Column:
    numeric = _is_numeric(story, name)
    better = "higher is better" if name in story.higher_is_better else "lower is better"
    if name in NEITHER_GOOD_NOR_BAD or not numeric:
        better = ""
    return Column(name, better, story.explain.get(name, ""), numeric)


def _cell(value: object, best: float | None) -> Cell:
    text = number(value)
    is_best = best is not None and _finite(value) == best
    return Cell(text, is_best, text == DASH)
