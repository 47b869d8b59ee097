"""What an experiment's records say: cells with the published number beside ours, claims, the verdict.

A cell has our number with its error, the published one beside it, and how they agree.  Which methods of a
row are best, and which others cannot be told from them, is marked as papers print.

Some experiments are statistics: whether methods differ from the first of a table, by McNemar's test sample
by sample, or by ranks over data sets.  The first column is the method that the others are held against.
Over data sets those methods are ranked that stand beside a published column, as many as the paper ranked.
"""

import itertools
import warnings
from collections import Counter
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field, replace
from typing import Any, Literal

import numpy as np
from scipy.stats import ttest_1samp

from absentia import statistics
from absentia.methods.base import check_name
from absentia.papers._experiment import Claim, Experiment, Measure, MethodColumn, Observed, Published

VERDICTS = ("reproduced", "exceeded", "not reproduced", "not run")
_AGREEMENT = 2.0  # standard errors within which two numbers agree


@dataclass(frozen=True)
class Cell:
    """A method in a row of a table: numbers by repeat, and what was published.

    `pooled` are those of several settings (levels, say), whose differences are no error.
    """

    column: MethodColumn
    values: Mapping[int, Sequence[float]] = field(default_factory=dict)
    published: Published | None = None
    verdict: str = ""
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
        return _standard_error(list(self.means.values()) if len(self.values) > 1 else within)

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
class TableRow:
    """A row of the table of one measure: its cells by name of column."""

    name: str
    cells: Mapping[str, Cell]


@dataclass(frozen=True)
class _ClaimResult:
    """What became of a claim: `mean` is by how much the first is better, paired."""

    words: str
    mean: float | None
    error: float | None
    published: float | None
    pairs: int
    verdict: str


def _judge(
    mean: float | None, error: float | None, published: Published | None, better: str, repeats: int
) -> str:
    """Whether our number is the published one, within what either may be off by chance.

    Examples
    --------
    >>> _judge(0.0104, None, Published("0.010", 0.010, None), "lower", 1)
    'reproduced'
    >>> _judge(0.020, 0.001, Published("0.010±0.003", 0.010, 0.003), "lower", 9)
    'not reproduced'
    """
    if published is None:
        return ""
    if mean is None:
        return "not run"
    difference = mean - published.value
    published_error = 0.0 if published.spread is None else published.spread / np.sqrt(repeats)
    tolerance = max(published.rounding, _AGREEMENT * float(np.hypot(error or 0.0, published_error)))
    if abs(difference) <= tolerance:
        return "reproduced"
    exceeded = better != "neither" and (difference < 0) == (better == "lower")
    return "exceeded" if exceeded else "not reproduced"


def _make_rows(experiment: Experiment, measure: Measure, observed: Iterable[Observed]) -> list[TableRow]:
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
) -> TableRow:
    cells: dict[str, Cell] = {}
    for column in experiment.columns:
        values: dict[int, list[float]] = {}
        numbers = by_column.get(column.name, ())
        for number in numbers:
            values.setdefault(number.repeat, []).append(number.value)
        settings = {
            repr([number.setting.get(factor) for factor in experiment.design]) for number in numbers
        }
        published = measure.published.get((name, column.beside))
        cell = Cell(column, values, published, pooled=len(settings) > 1)
        verdict = _judge(cell.mean, cell.error, published, measure.better, experiment.published_repeats)
        cells[column.name] = replace(cell, verdict=verdict)
    return TableRow(name, cells)


def _mark(row: TableRow, measure: Measure, level: float) -> TableRow:
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
        elif not _differs(cells[name], cells[best], level):
            cells[name] = replace(cells[name], mark="like the best")
    return TableRow(row.name, cells)


def _differs(cell: Cell, other: Cell, level: float) -> bool:
    """Whether chance does not explain the mean of paired differences; True where that cannot be told."""
    shared = sorted(set(cell.means) & set(other.means))
    differences = np.array([cell.means[repeat] - other.means[repeat] for repeat in shared])
    if len(differences) < 2 or np.ptp(differences) == 0:
        return True
    with warnings.catch_warnings(action="ignore"):  # nearly the same differences throughout
        return bool(ttest_1samp(differences, 0.0).pvalue < level)


def _observe_scores(experiment: Experiment, records: Iterable[Mapping[str, Any]]) -> list[Observed]:
    """Numbers out of trials that were done; each has ``trial`` and ``result``."""
    observed = []
    for record in records:
        key, scores = record["trial"], record["result"].get("scores", {})
        for column, (measure, parts) in itertools.product(experiment.columns_of(key), scores.items()):
            for part, value in parts.items():
                if value is not None:
                    row, setting = experiment.row_of(key, part), {**key, "part": part}
                    observed.append(
                        Observed(measure, row, column.name, key["repeat"], float(value), setting)
                    )
    return observed


# ------------------------------------------------------------------------------------------- summary


@dataclass(frozen=True)
class Summary:
    """An experiment and what came of it."""

    experiment: Experiment
    tables: Mapping[str, Sequence[TableRow]]
    claims: Sequence[_ClaimResult]
    versions: Mapping[str, str]
    repeats: int
    trials: int
    failures: Sequence[str]
    cpu: float
    seconds: Mapping[str, float]
    observed: Sequence[Observed]

    @property
    def counts(self) -> dict[str, int]:
        """Published numbers by what became of them; columns that read what is hidden are not counted."""
        cells = [cell for rows in self.tables.values() for row in rows for cell in row.cells.values()]
        counts: Counter[str] = Counter(cell.verdict for cell in cells if not cell.column.leaks)
        return {word: counts[word] for word in VERDICTS}

    @property
    def verdict(self) -> str:
        """One sentence."""
        counts, parts = self.counts, []
        if total := sum(counts.values()):
            words = [f"{counts[word]} {word}" for word in VERDICTS if counts[word]]
            parts.append(f"Of {total} published numbers {', '.join(words)}.")
        if self.claims:
            held = sum(claim.verdict == "holds" for claim in self.claims)
            parts.append(f"Of {len(self.claims)} claims {held} hold{'s' if held == 1 else ''}.")
        return " ".join(parts) or "Nothing was published in numbers."

    @property
    def word(self) -> str:
        """The verdict in a word or two: what most numbers, or else claims, came to."""
        counts = Counter({word: n for word, n in self.counts.items() if word != "not run"})
        if not counts.total():
            held = [claim.verdict == "holds" for claim in self.claims]
            return (
                "" if not held else "reproduced" if all(held) else "in part" if any(held) else VERDICTS[2]
            )
        word, most = counts.most_common(1)[0]
        share = most / counts.total()
        return word if share > 0.8 else f"mostly {word}" if share > 0.5 else "in part"


def summarise(experiment: Experiment, records: Sequence[Mapping[str, Any]]) -> Summary:
    """Records have ``trial``, ``status``, ``result``, ``error`` and ``cost``."""
    done = [record for record in records if record["status"] == "done"]
    failed = [record for record in records if record["status"] != "done"]
    observed = (
        _observe_statistic(experiment, done) if experiment.statistic else _observe_scores(experiment, done)
    )
    tables = {measure.name: _make_rows(experiment, measure, observed) for measure in experiment.measures}
    return Summary(
        experiment,
        tables,
        [_check_claim(experiment, claim, tables[claim.measure]) for claim in experiment.claims],
        _versions(records),
        len({record["trial"]["repeat"] for record in done}),
        len(records),
        [f"{r['trial']['method']}, repeat {r['trial']['repeat']}: {r['error']}" for r in failed],
        sum(float(record["cost"].get("cpu") or 0.0) for record in records),
        _seconds(experiment, done),
        observed,
    )


def _seconds(experiment: Experiment, records: Sequence[Mapping[str, Any]]) -> dict[str, float]:
    """CPU seconds of a trial by column, on the machine that the records are from."""
    seconds: dict[str, list[float]] = {column.name: [] for column in experiment.columns}
    for record in records:
        for column in experiment.columns_of(record["trial"]):
            seconds[column.name].append(float(record["cost"].get("cpu") or 0.0))
    return {name: float(np.mean(spent)) for name, spent in seconds.items() if spent}


def _versions(records: Sequence[Mapping[str, Any]]) -> dict[str, str]:
    """Of every method, which version its records are of; more than one is said so."""
    versions: dict[str, dict[str, None]] = {}
    for record in records:
        versions.setdefault(record["trial"]["method"], {})[record["trial"]["version"]] = None
    return {method: " and ".join(several) for method, several in sorted(versions.items())}


def _check_claim(experiment: Experiment, claim: Claim, rows: Sequence[TableRow]) -> _ClaimResult:
    """Differences of the two methods, paired by row and repeat."""
    sign = 1.0 if experiment.measure(claim.measure).better == "higher" else -1.0
    pairs: dict[int, list[float]] = {}
    for row in rows:
        first, second = row.cells[claim.first].means, row.cells[claim.second].means
        if not claim.rows or row.name in claim.rows:
            for repeat in sorted(first.keys() & second.keys()):
                pairs.setdefault(repeat, []).append(sign * (first[repeat] - second[repeat]))
    everything = [difference for of_repeat in pairs.values() for difference in of_repeat]
    if not everything:
        return _ClaimResult(claim.words, None, None, claim.published, 0, "not run")
    mean = float(np.mean(everything))
    # rows of a repeat may share masks and splits: the larger error of the two ways to see it
    errors = [_standard_error(everything), _standard_error([float(np.mean(x)) for x in pairs.values()])]
    error = max((number for number in errors if number is not None), default=None)
    verdict = _judge_claim(mean, error, claim.within)
    return _ClaimResult(claim.words, mean, error, claim.published, len(everything), verdict)


def _standard_error(numbers: Sequence[float]) -> float | None:
    return float(np.std(numbers, ddof=1) / np.sqrt(len(numbers))) if len(numbers) > 1 else None


def _judge_claim(mean: float, error: float | None, within: float | None = None) -> str:
    if error is None:
        return "too few to tell"
    if within is not None:
        return "holds" if abs(mean) <= max(within, _AGREEMENT * error) else "does not hold"
    if abs(mean) <= _AGREEMENT * error:
        return "no difference seen"
    return "holds" if mean > 0 else "does not hold"


# ---------------------------------------------------------------------------------------------- statistics


_ALL_LEVELS = "all"  # the row over all levels
_LEVEL = 0.05  # p-values below it reject
_ALPHAS = (0.1, 0.05)

_Record = Mapping[str, Any]


def _observe_mcnemar(experiment: Experiment, records: Sequence[_Record]) -> list[Observed]:
    """P-values against the first column, by view and repeat, and in how many per cent they reject.

    Each row is also part of a row over all of them.
    """
    answers: dict[tuple[Any, ...], dict[str, Mapping[str, str]]] = {}
    rows = {}
    for record in records:
        key = record["trial"]
        where = (key["repeat"], *(key[factor] for factor in experiment.design))
        rows[where] = experiment.row_of(key)
        for column in experiment.columns_of(key):
            answers.setdefault(where, {})[column.name] = record["result"]["right"]
    first = experiment.columns[0].name
    observed = []
    for where, by_column in answers.items():
        for name, p in _test_against(by_column, first):
            for row in (_ALL_LEVELS, rows[where]):
                observed.append(Observed("p-value", row, name, where[0], p))
                observed.append(Observed("rejected, %", row, name, where[0], 100.0 * (p < _LEVEL)))
    return observed


def _test_against(by_column: Mapping[str, Mapping[str, str]], first: str) -> Iterator[tuple[str, float]]:
    """P-values of every other column against the first, view by view."""
    for column, by_view in by_column.items():
        if column != first and first in by_column:
            for view, answers in by_view.items():
                yield column, statistics.mcnemar(_right(by_column[first][view]), _right(answers)).p


def _right(answers: str) -> np.ndarray:
    """Which samples were right, of a text of zeros and ones."""
    return np.array([answer == "1" for answer in answers])


# --------------------------------------------------------------------------------------------- ranks


def _observe_friedman_nemenyi(experiment: Experiment, records: Sequence[_Record]) -> list[Observed]:
    """Mean ranks, how far apart they are from the first's, how far they have to be, and whether they are.

    Settings of the design are data sets; where classes are told, views too.  Scores are means of repeats.
    """
    ranked = [column.name for column in experiment.columns if column.beside]
    observed: list[Observed] = []
    for measure, (better, by_view) in {
        "CA": (-1, False),
        "ARE": (-1, False),
        "accuracy": (1, True),
    }.items():
        scores = better * _scores(experiment, records, ranked, measure, by_view)
        if len(scores) > 1:
            observed += _observe_ranks(scores, ranked, measure)
    return observed


def _scores(
    experiment: Experiment, records: Sequence[_Record], ranked: Sequence[str], measure: str, by_view: bool
) -> np.ndarray:
    """Data sets x methods, of those data sets that all methods have."""
    values: dict[tuple[Any, ...], dict[str, list[float]]] = {}
    for record in records:
        key, parts = record["trial"], record["result"]["scores"].get(measure, {})
        for column in experiment.columns_of(key):
            if column.name in ranked:
                for view, value in parts.items():
                    where = (*(key[factor] for factor in experiment.design), view if by_view else "")
                    values.setdefault(where, {}).setdefault(column.name, []).append(value)
    complete = [scores for scores in values.values() if len(scores) == len(ranked)]
    return np.array([[np.mean(scores[name]) for name in ranked] for scores in complete])


def _observe_ranks(scores: np.ndarray, ranked: Sequence[str], measure: str) -> Iterator[Observed]:
    first, *others = ranked
    test = statistics.friedman(scores)
    yield Observed("Friedman's F, p-value", measure, first, 0, test.iman_davenport_p)
    for name, rank in zip(ranked, test.ranks, strict=True):
        yield Observed("mean rank", measure, name, 0, float(rank))
    apart = np.abs(test.ranks[1:] - test.ranks[0])
    for name, distance in zip(others, apart, strict=True):
        yield Observed("rank difference", measure, name, 0, float(distance))
    for alpha in _ALPHAS:
        row = f"{measure}, alpha {alpha:g}"
        least = statistics.nemenyi(scores, level=1 - alpha).critical_difference
        yield Observed("critical difference", row, first, 0, least)
        for name, distance in zip(others, apart, strict=True):
            yield Observed("told apart", row, name, 0, float(distance > least))


#: Statistics by the names that experiments ask for them.
_STATISTICS: Mapping[str, Callable[[Experiment, Sequence[_Record]], list[Observed]]] = {
    "mcnemar": _observe_mcnemar,
    "friedman-nemenyi": _observe_friedman_nemenyi,
}


def _observe_statistic(experiment: Experiment, records: Sequence[_Record]) -> list[Observed]:
    """What the experiment's statistic makes of records of trials that were done."""
    check_name("statistic", experiment.statistic, _STATISTICS)
    return _STATISTICS[experiment.statistic](experiment, records)
