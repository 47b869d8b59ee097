"""From records to cells: our number with its error, the published one beside it, and how they agree."""

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field, replace
from typing import Any, Literal, NamedTuple

import numpy as np

from absentia.papers._experiment import Column, Experiment, Measure, Published

Judged = Literal["reproduced", "exceeded", "not reproduced", "not run", ""]
ERRORS = 2.0  # standard errors within which two numbers agree


class Observed(NamedTuple):
    """One number: of a part of what came of one trial; `setting` tells trials of a repeat apart."""

    measure: str
    row: str
    column: str
    repeat: int
    value: float
    setting: str = ""


@dataclass(frozen=True)
class Cell:
    """A method in a row of a table: numbers by repeat, and what was published.

    `pooled` are those of several settings (levels, say), whose differences are no error.
    """

    column: Column
    values: Mapping[int, Sequence[float]] = field(default_factory=dict)
    published: Published | None = None
    verdict: Judged = ""
    mark: Literal["best", "like the best", ""] = ""
    pooled: bool = False

    @property
    def means(self) -> dict[int, float]:
        """By repeat."""
        return {repeat: float(np.mean(values)) for repeat, values in self.values.items()}

    @property
    def mean(self) -> float | None:
        return float(np.mean(list(self.means.values()))) if self.values else None

    @property
    def error(self) -> float | None:
        """Standard error over repeats; of a single one, over its parts (views, classes)."""
        within = () if self.pooled else next(iter(self.values.values()), ())
        numbers = list(self.means.values()) if len(self.values) > 1 else list(within)
        return float(np.std(numbers, ddof=1) / np.sqrt(len(numbers))) if len(numbers) > 1 else None

    @property
    def spread(self) -> float | None:
        """Standard deviation over all of its numbers, as papers print."""
        numbers = [value for values in self.values.values() for value in values]
        return float(np.std(numbers)) if len(numbers) > 1 else None

    @property
    def exact(self) -> bool:
        """Whether it is the printed number to its last digit."""
        off = self.difference
        return off is not None and self.published is not None and abs(off) <= self.published.rounding

    @property
    def difference(self) -> float | None:
        return None if self.published is None or self.mean is None else self.mean - self.published.value


@dataclass(frozen=True)
class Row:
    """A row of the table of one measure: its cells by name of column."""

    name: str
    cells: Mapping[str, Cell]


@dataclass(frozen=True)
class Comparison:
    """What became of a claim: `mean` is by how much the first is better, paired."""

    words: str
    mean: float | None
    error: float | None
    published: float | None
    pairs: int
    verdict: str


def judge(
    mean: float | None, error: float | None, published: Published | None, better: str, repeats: int
) -> Judged:
    """Whether our number is the published one, within what either may be off by chance.

    Examples
    --------
    >>> judge(0.0104, None, Published("0.010", 0.010, None), "lower", 1)
    'reproduced'
    >>> judge(0.020, 0.001, Published("0.010±0.003", 0.010, 0.003), "lower", 9)
    'not reproduced'
    """
    if published is None:
        return ""
    if mean is None:
        return "not run"
    off = mean - published.value
    theirs = 0.0 if published.spread is None else published.spread / np.sqrt(repeats)
    if abs(off) <= max(published.rounding, ERRORS * float(np.hypot(error or 0.0, theirs))):
        return "reproduced"
    best = better != "neither" and (off < 0) == (better == "lower")
    return "exceeded" if best else "not reproduced"


def rows_of(experiment: Experiment, measure: Measure, observed: Iterable[Observed]) -> list[Row]:
    """The table of a measure, rows in the order in which they came, then those that only the paper has."""
    found: dict[str, dict[str, list[Observed]]] = {}
    for one in observed:
        if one.measure == measure.name:
            found.setdefault(one.row, {}).setdefault(one.column, []).append(one)
    names = dict.fromkeys([*found, *(row for row, _ in measure.published)])
    return [_row(experiment, measure, name, found.get(name, {})) for name in names]


def _row(
    experiment: Experiment, measure: Measure, name: str, found: Mapping[str, Sequence[Observed]]
) -> Row:
    cells: dict[str, Cell] = {}
    for column in experiment.columns:
        values: dict[int, list[float]] = {}
        own = found.get(column.name, ())
        for one in own:
            values.setdefault(one.repeat, []).append(one.value)
        pooled = len({one.setting for one in own}) > 1
        there = measure.published.get((name, column.beside))
        cell = Cell(column, values, there, pooled=pooled)
        verdict = judge(cell.mean, cell.error, there, measure.better, experiment.published_repeats)
        cells[column.name] = replace(cell, verdict=verdict)
    return Row(name, cells)


def observations(experiment: Experiment, records: Iterable[Mapping[str, Any]]) -> list[Observed]:
    """Numbers out of trials that were done; each has ``trial`` and ``result``."""
    found = []
    for record in records:
        key, scores = record["trial"], record["result"].get("scores", {})
        setting = repr([key[factor] for factor in experiment.design])
        for column in columns_of(experiment, key):
            found += [
                Observed(
                    measure, experiment.row_of(key, part), column.name, key["repeat"], float(value), setting
                )
                for measure, parts in scores.items()
                for part, value in parts.items()
                if value is not None
            ]
    return found


def columns_of(experiment: Experiment, key: Mapping[str, Any]) -> list[Column]:
    """The columns that a trial's method is shown in: one, unless two have the same."""
    setting = {factor: key[factor] for factor in experiment.design}
    return [
        column
        for column in experiment.columns
        if column.method == key["method"] and column.given(setting) == dict(key["parameters"])
    ]
