"""From records to cells: our number with its error, the published one beside it, and how they agree.

Which methods of a row are best, and which others cannot be told from them, is marked as papers print.
"""

import warnings
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field, replace
from typing import Any, Literal, NamedTuple

import numpy as np
from scipy.stats import ttest_1samp

from absentia.papers._experiment import Column, Experiment, Measure, Published

Verdict = Literal["reproduced", "exceeded", "not reproduced", "not run", ""]
AGREEMENT = 2.0  # standard errors within which two numbers agree
MARKS_HELP = (
    "bold: best of the row; underlined: not told from it by a one-sample t-test of paired differences"
)


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
    verdict: Verdict = ""
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
        difference = self.difference
        return (
            difference is not None
            and self.published is not None
            and abs(difference) <= self.published.rounding
        )

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
) -> Verdict:
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
    difference = mean - published.value
    published_error = 0.0 if published.spread is None else published.spread / np.sqrt(repeats)
    tolerance = max(published.rounding, AGREEMENT * float(np.hypot(error or 0.0, published_error)))
    if abs(difference) <= tolerance:
        return "reproduced"
    exceeded = better != "neither" and (difference < 0) == (better == "lower")
    return "exceeded" if exceeded else "not reproduced"


def rows_of(experiment: Experiment, measure: Measure, observed: Iterable[Observed]) -> list[Row]:
    """The table of a measure, rows in the order in which they came, then those that only the paper has."""
    by_row: dict[str, dict[str, list[Observed]]] = {}
    for number in observed:
        if number.measure == measure.name:
            by_row.setdefault(number.row, {}).setdefault(number.column, []).append(number)
    names = dict.fromkeys([*by_row, *(row for row, _ in measure.published)])
    rows = [_make_row(experiment, measure, name, by_row.get(name, {})) for name in names]
    return rows if measure.better == "neither" else [_mark(row, measure, experiment.level) for row in rows]


def _make_row(
    experiment: Experiment, measure: Measure, name: str, by_column: Mapping[str, Sequence[Observed]]
) -> Row:
    cells: dict[str, Cell] = {}
    for column in experiment.columns:
        values: dict[int, list[float]] = {}
        numbers = by_column.get(column.name, ())
        for number in numbers:
            values.setdefault(number.repeat, []).append(number.value)
        pooled = len({number.setting for number in numbers}) > 1
        published = measure.published.get((name, column.beside))
        cell = Cell(column, values, published, pooled=pooled)
        verdict = judge(cell.mean, cell.error, published, measure.better, experiment.published_repeats)
        cells[column.name] = replace(cell, verdict=verdict)
    return Row(name, cells)


def _mark(row: Row, measure: Measure, level: float) -> Row:
    """A row with marks; columns that read what is hidden take no part."""
    means = {name: c.mean for name, c in row.cells.items() if c.mean is not None and not c.column.leaks}
    if len(means) < 2:
        return row
    pick = min if measure.better == "lower" else max
    best = pick(means, key=lambda name: means[name])
    cells = dict(row.cells)
    for name in means:
        if name == best or means[name] == means[best]:
            cells[name] = replace(cells[name], mark="best")
        elif not differs(cells[name], cells[best], level):
            cells[name] = replace(cells[name], mark="like the best")
    return Row(row.name, cells)


def differs(cell: Cell, other: Cell, level: float) -> bool:
    """Whether chance does not explain the mean of paired differences; True where that cannot be told."""
    shared = sorted(set(cell.means) & set(other.means))
    differences = np.array([cell.means[repeat] - other.means[repeat] for repeat in shared])
    if len(differences) < 2 or np.ptp(differences) == 0:
        return True
    with warnings.catch_warnings(action="ignore"):  # nearly the same differences throughout
        return bool(ttest_1samp(differences, 0.0).pvalue < level)


def observations(experiment: Experiment, records: Iterable[Mapping[str, Any]]) -> list[Observed]:
    """Numbers out of trials that were done; each has ``trial`` and ``result``."""
    observed = []
    for record in records:
        key, scores = record["trial"], record["result"].get("scores", {})
        setting = repr([key[factor] for factor in experiment.design])
        for column in columns_of(experiment, key):
            observed += [
                Observed(
                    measure, experiment.row_of(key, part), column.name, key["repeat"], float(value), setting
                )
                for measure, parts in scores.items()
                for part, value in parts.items()
                if value is not None
            ]
    return observed


def columns_of(experiment: Experiment, key: Mapping[str, Any]) -> list[Column]:
    """The columns that a trial's method is shown in: one, unless two have the same."""
    setting = {factor: key[factor] for factor in experiment.design}
    return [
        column
        for column in experiment.columns
        if column.method == key["method"] and column.parameters_in(setting) == dict(key["parameters"])
    ]
