"""Sections that pages of all kinds of predictions share: scores by method, by missing pattern, by view."""

from collections.abc import Callable, Mapping, Sequence
from typing import Protocol

import numpy as np

from absentia.app.report._blocks import (
    BAR,
    Block,
    Cell,
    Cells,
    Column,
    Table,
    bar_cell,
    few_row,
    heading,
    name_cell,
    note,
    pattern_cell,
)
from absentia.app.report._format import format_number
from absentia.app.report._page import Section
from absentia.app.report._presence import describe_dots, group_by_pattern
from absentia.core import Array
from absentia.core.svg import fill

FEW_SAMPLES = 20  # below, a score may be luck

#: What is said of some samples, given as a mask (n,): cells of a row, and whether they are too few to tell.
_Describe = Callable[[Array], tuple[Cells, bool]]


class Prediction(Protocol):
    """What the reports of classes, numbers and survival have in common."""

    @property
    def title(self) -> str: ...

    @property
    def names(self) -> Sequence[str]: ...

    @property
    def observed(self) -> Array: ...

    @property
    def n_all(self) -> int: ...

    @property
    def dropped(self) -> Mapping[str, int]: ...


# --------------------------------------------------------------------------------------- by missing pattern


def make_patterns_section(
    story: Prediction,
    lead: str,
    columns: Sequence[str | Column],
    describe: _Describe,
    note_words: str,
    few_words: str,
    *,
    by_count: bool = False,
) -> Section:
    """A row for samples that have the same views and, with `by_count`, for those that have as many.

    `few_words` are added to the note where a row is marked few.
    """
    tables = [_make_pattern_table(story, columns, describe)]
    blocks: list[Block] = [tables[0]]
    if by_count:
        tables.insert(0, _make_count_table(story, columns, describe))
        blocks = [
            heading("By the number of views a sample has"),
            tables[0],
            heading("By pattern"),
            tables[1],
        ]
    few = any(row.css for table in tables for row in table.rows)
    words = [note_words, few_words if few else "", describe_dots(story.names)]
    blocks.append(note(" ".join(filter(None, words))))
    return Section("by-pattern", "By missing pattern", "By missing pattern", lead, blocks)


def _make_pattern_table(story: Prediction, columns: Sequence[str | Column], describe: _Describe) -> Table:
    rows = []
    for words, mask, members in group_by_pattern(story.observed, story.names):
        cells, few = describe(members)
        count = format_number(int(members.sum()))
        name, dots = Cell(words, value=words), pattern_cell(mask.tolist())
        rows.append(few_row(name, [count, *cells], few, before=[dots]))
    heads = ["Views", "Pattern", "Samples", *columns]
    return Table("Scores by missing pattern", heads, rows, "patterns groups", head=1)


def _make_count_table(story: Prediction, columns: Sequence[str | Column], describe: _Describe) -> Table:
    n_present, n_views = story.observed.sum(axis=1), story.observed.shape[1]
    rows = []
    for k in range(n_views, 0, -1):
        members = n_present == k
        if members.any():
            cells, few = describe(members)
            words = Cell(f"all {k}" if k == n_views else f"{k} of {n_views}")
            rows.append(few_row(words, [format_number(int(members.sum())), *cells], few))
    heads = ["Views present", "Samples", *columns]
    return Table("Scores by number of views", heads, rows, "patterns groups")


# ----------------------------------------------------------------------------------------- by hidden view


def make_contribution_section(
    story: Prediction,
    lead: str,
    columns: Sequence[str | Column],
    compare: Callable[[int, Array], tuple[Sequence[str], float]],
    notes: str,
) -> Section:
    """Views hidden one by one from the samples that have them.

    `compare(v, has)` gives the cells of view v, of the samples `has` (n,), and how much is lost without it.
    """
    single = story.observed.sum(axis=1) == 1
    present = [(v, has) for v, has in enumerate(story.observed.T) if has.any()]
    compared = [compare(v, has) for v, has in present]
    largest = max(max((loss for _, loss in compared), default=0.0), 1e-300)
    rows = []
    for (v, has), (cells, loss) in zip(present, compared, strict=True):
        counts = [format_number(int(has.sum())), format_number(int((has & single).sum()))]
        bar = bar_cell(round(float(np.clip(100 * loss / largest, 0, 100)), 1))
        rows.append(few_row(name_cell(story.names[v]), [*counts, *cells, bar], has.sum() < FEW_SAMPLES))
    heads = [
        "View",
        "Samples with it",
        Column("as their only view", full="As their only view"),
        *columns,
        BAR,
    ]
    blocks: list[Block] = [Table("Contribution of each view", heads, rows, "patterns worth"), note(notes)]
    return Section("contribution", "Views", "Contribution of each view", lead, blocks)


# ------------------------------------------------------------------------------------------------- dropped


def make_dropped_section(story: Prediction, complete: str) -> Section:
    """Who was not learned from, and why; `complete` is said where everyone was."""
    items = [
        fill("<li>{}</li>", f"{format_number(count)} of {story.n_all} samples {why}")
        for why, count in story.dropped.items()
        if count
    ]
    content = fill("<ul>{}</ul>", items) if items else fill("<p>{}</p>", complete)
    return Section("dropped", "", "Samples left out", blocks=[content])
