"""What an experiment's records say: cells with the published number beside ours, claims, the verdict.

A cell has our number with its error, the published one beside it, and how they agree.  Two numbers agree
if they differ by no more than the last printed digit, or two standard errors of the difference, ours over
repeats and the printed spread over the paper's; where none is printed, or it is over views, ours stands
for it.  Nothing is judged in a small run, of fewer than five repeats (views of one mask are not draws), or
where a row lacks some of the settings that it pools.  Which methods of a row are best, and which others
cannot be told from them, is marked as papers print.

Published numbers are counted by what they are about: methods that the paper proposes, those it compares
with, baselines, and statistics of tests.

Some experiments are statistics: whether methods differ from the first of a table, by McNemar's test sample
by sample, or by ranks over data sets.  The first column is the method that the others are held against.
Over data sets those methods are ranked that stand beside a published column, as many as the paper ranked.
"""

import hashlib
import itertools
import warnings
from collections import Counter
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field, replace
from typing import Any, Literal

import numpy as np
from scipy.stats import ttest_1samp

from absentia import statistics
from absentia.experiment.engine import Trial
from absentia.methods.base import check_name
from absentia.papers._experiment import (
    KINDS,
    Claim,
    Comment,
    Experiment,
    Measure,
    MethodColumn,
    Observation,
    PublishedNumber,
)

#: "differs" is of numbers of which neither more nor less is better.
VERDICTS = ("agrees", "better here", "worse here", "differs", "not comparable", "not run")
_AGREEMENT = 2.0  # standard errors within which two numbers agree
_LEAST_REPEATS = 5  # fewer say too little of their own error
#: Published numbers by kind and verdict.
Counts = Mapping[str, Mapping[str, int]]


@dataclass(frozen=True)
class Cell:
    """A method in a row of a table: numbers by repeat, and what was published.

    It is `complete` if every repeat has all settings that the row pools.  `kind` is what the published
    number is about, and `reason` why there is no verdict.
    """

    column: MethodColumn
    values: Mapping[int, Sequence[float]] = field(default_factory=dict)
    published: PublishedNumber | None = None
    complete: bool = True
    kind: str = ""
    verdict: str = ""
    reason: str = ""
    mark: Literal["best", "like the best", ""] = ""

    @property
    def means(self) -> dict[int, float]:
        """By repeat."""
        return {repeat: float(np.mean(values)) for repeat, values in self.values.items()}

    @property
    def mean(self) -> float | None:
        return float(np.mean(list(self.means.values()))) if self.values else None

    @property
    def error(self) -> float | None:
        """Standard error over repeats."""
        return _standard_error(list(self.means.values()))

    @property
    def counted(self) -> bool:
        """Whether it is one of the paper's numbers: not if it follows from others, or if ours leaks."""
        return self.published is not None and not self.published.follows and not self.column.leaks

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


def _judge(cell: Cell, better: str, experiment: Experiment) -> str:
    """Whether our number is the published one, within what either may be off by chance.

    Where no spread over repeats is printed, the paper's repeats are taken to differ as ours do.
    """
    assert cell.published is not None
    assert cell.difference is not None
    published, error = cell.published, cell.error or 0.0
    spread = published.spread if experiment.published_spread == "repeats" else None
    if spread is None:
        spread = error * np.sqrt(len(cell.values))
    published_error = spread / np.sqrt(experiment.published_repeats)
    tolerance = max(published.rounding, _AGREEMENT * float(np.hypot(error, published_error)))
    if abs(cell.difference) <= tolerance:
        return "agrees"
    if better == "neither":
        return "differs"
    return "better here" if (cell.difference < 0) == (better == "lower") else "worse here"


def _find_reason(cell: Cell, quick: bool) -> str:
    """Why our number is not held against the published one; empty if it is."""
    if quick:
        return "a run in small"
    if not cell.complete:
        return "some settings are missing"
    n = len(cell.values)
    return f"{n} repeat{'' if n == 1 else 's'}" if n < _LEAST_REPEATS else ""


def _make_rows(
    experiment: Experiment, measure: Measure, observed: Iterable[Observation], quick: bool
) -> list[TableRow]:
    """The table of a measure, rows in the order in which they came, then those that only the paper has."""
    by_row: dict[str, dict[str, list[Observation]]] = {}
    for number in observed:
        if number.measure == measure.name:
            by_row.setdefault(number.row, {}).setdefault(number.column, []).append(number)
    names = dict.fromkeys([*by_row, *(row for row, _ in measure.published)])
    rows = [_make_row(experiment, measure, name, by_row.get(name, {}), quick) for name in names]
    return rows if measure.better == "neither" else [_mark(row, measure, experiment.level) for row in rows]


def _make_row(
    experiment: Experiment,
    measure: Measure,
    name: str,
    by_column: Mapping[str, Sequence[Observation]],
    quick: bool,
) -> TableRow:
    cells: dict[str, Cell] = {}
    for column in experiment.columns:
        values: dict[int, list[float]] = {}
        numbers = by_column.get(column.name, ())
        for number in numbers:
            values.setdefault(number.repeat, []).append(number.value)
        complete = _has_all_settings(experiment, column, name, numbers)
        cell = Cell(column, values, measure.published.get((name, column.beside)), complete)
        if cell.published is not None:
            kind, reason = experiment.kind_of(column), _find_reason(cell, quick)
            if not values:
                verdict, reason = "not run", ""
            elif reason:
                verdict = "not comparable"
            else:
                verdict = _judge(cell, measure.better, experiment)
            cell = replace(cell, kind=kind, verdict=verdict, reason=reason)
        cells[column.name] = cell
    return TableRow(name, cells)


def _has_all_settings(
    experiment: Experiment, column: MethodColumn, row: str, numbers: Sequence[Observation]
) -> bool:
    """Whether every repeat has the column's numbers of every setting that a row pools."""
    parts = {number.setting.get("part", "") for number in numbers}
    wanted = {
        repr([*setting.values()])
        for setting in experiment.settings()
        if column.runs_in(setting) and any(experiment.row_of(setting, part) == row for part in parts)
    }
    there: dict[int, set[str]] = {}
    for number in numbers:
        if number.setting:  # not of statistics, which are of several trials
            setting = [number.setting[factor] for factor in experiment.design]
            there.setdefault(number.repeat, set()).add(repr(setting))
    return all(settings >= wanted for settings in there.values())


def _mark(row: TableRow, measure: Measure, level: float) -> TableRow:
    """A row with marks; columns that read what is hidden, or lack settings, take no part."""
    able = {name: c for name, c in row.cells.items() if c.complete and not c.column.leaks}
    means = {name: c.mean for name, c in able.items() if c.mean is not None}
    if len(means) < 2:
        return row
    pick = min if measure.better == "lower" else max
    best = pick(means, key=lambda name: means[name])
    cells = dict(row.cells)
    for name in means:
        if name == best or means[name] == means[best]:
            cells[name] = replace(cells[name], mark="best")
        elif _is_like(cells[name], cells[best], level):
            cells[name] = replace(cells[name], mark="like the best")
    return TableRow(row.name, cells)


def _is_like(cell: Cell, other: Cell, level: float) -> bool:
    """Whether chance explains the mean of paired differences; False where that cannot be told."""
    shared = sorted(set(cell.means) & set(other.means))
    differences = np.array([cell.means[repeat] - other.means[repeat] for repeat in shared])
    if len(differences) < _LEAST_REPEATS or np.ptp(differences) == 0:
        return False
    with warnings.catch_warnings(action="ignore"):  # nearly the same differences throughout
        return bool(ttest_1samp(differences, 0.0).pvalue >= level)


def _observe_scores(experiment: Experiment, records: Iterable[Mapping[str, Any]]) -> list[Observation]:
    """Numbers out of trials that were done; each has ``trial`` and ``result``."""
    observed = []
    for record in records:
        key, scores = record["trial"], record["result"].get("scores", {})
        for column, (measure, parts) in itertools.product(experiment.columns_of(key), scores.items()):
            for part, value in parts.items():
                if value is not None:
                    row, setting = experiment.row_of(key, part), {**key, "part": part}
                    observed.append(
                        Observation(measure, row, column.name, key["repeat"], float(value), setting)
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
    observed: Sequence[Observation]

    quick: bool = False
    trials_hash: str = ""

    @property
    def counts(self) -> Counts:
        """Published numbers by kind and verdict."""
        cells = [cell for rows in self.tables.values() for row in rows for cell in row.cells.values()]
        return _count([(cell.kind, cell.verdict) for cell in cells if cell.counted])

    @property
    def claims_held(self) -> int:
        return sum(claim.verdict == "holds" for claim in self.claims)

    @property
    def claims_told(self) -> int:
        """How many claims were put to the test."""
        return sum(claim.verdict not in ("not run", "too few to tell") for claim in self.claims)

    @property
    def verdict(self) -> str:
        """What became of the published numbers and claims, by what they are about."""
        if self.quick:
            return "A run in small: it shows that everything runs, and nothing is judged."
        sentences = [describe_counts(self.counts, kind) for kind in KINDS]
        if self.claims:
            unclear = len(self.claims) - self.claims_told
            held = f"{self.claims_held} hold{'s' if self.claims_held == 1 else ''}"
            more = f", {unclear} could not be told" if unclear else ""
            sentences.append(f"Of {len(self.claims)} claims {held}{more}.")
        return " ".join(filter(None, sentences)) or "Nothing was published in numbers."

    @property
    def comment(self) -> Comment | None:
        """What we say of these very records, if anything."""
        comment = self.experiment.comment
        return comment if comment and comment.of == self.trials_hash and not self.quick else None


def _count(pairs: Iterable[tuple[str, str]]) -> Counts:
    counts = Counter(pairs)
    return {kind: {word: counts[kind, word] for word in VERDICTS} for kind in KINDS}


def add_counts(several: Iterable[Counts]) -> Counts:
    """Published numbers of several experiments together."""
    everything = list(several)
    return {kind: {word: sum(one[kind][word] for one in everything) for word in VERDICTS} for kind in KINDS}


KIND_NOUNS = {
    "proposed": "the proposed methods",
    "comparator": "comparators",
    "baseline": "baselines",
    "statistic": "tests",
}


def describe_counts(counts: Counts, kind: str = "proposed") -> str:
    """What became of the published numbers of one kind, in a sentence; empty if there are none.

    Examples
    --------
    >>> describe_counts({"proposed": {"agrees": 3, "worse here": 0, "not run": 2}})
    'Of 5 numbers of the proposed methods 3 agree, 2 not run.'
    """
    of_kind = {word.replace("agrees", "agree"): n for word, n in counts[kind].items() if n}
    words = ", ".join(f"{n} {word}" for word, n in of_kind.items())
    return f"Of {sum(of_kind.values())} numbers of {KIND_NOUNS[kind]} {words}." if words else ""


def summarise(experiment: Experiment, records: Sequence[Mapping[str, Any]], quick: bool = False) -> Summary:
    """Records have ``trial``, ``status``, ``result``, ``error``, ``cost``; a `quick` run is not judged."""
    done = [record for record in records if record["status"] == "done"]
    failed = [record for record in records if record["status"] != "done"]
    observed = (
        _observe_statistic(experiment, done) if experiment.statistic else _observe_scores(experiment, done)
    )
    tables = {
        measure.name: _make_rows(experiment, measure, observed, quick) for measure in experiment.measures
    }
    return Summary(
        experiment,
        tables,
        [_check_claim(experiment, claim, tables[claim.measure], quick) for claim in experiment.claims],
        _versions(records),
        len({record["trial"]["repeat"] for record in done}),
        len(records),
        [f"{r['trial']['method']}, repeat {r['trial']['repeat']}: {r['error']}" for r in failed],
        sum(float(record["cost"].get("cpu") or 0.0) for record in records),
        _seconds(experiment, done),
        observed,
        quick,
        _hash_trials(records),
    )


def _hash_trials(records: Iterable[Mapping[str, Any]]) -> str:
    """Of what was tried: data, settings, repeats and versions."""
    hashes = sorted(Trial(record["trial"]).hash for record in records)
    return hashlib.sha256("".join(hashes).encode()).hexdigest()[:12]


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


def _check_claim(
    experiment: Experiment, claim: Claim, rows: Sequence[TableRow], quick: bool
) -> _ClaimResult:
    """Differences of the two methods, paired by row and repeat."""
    sign = 1.0 if experiment.measure(claim.measure).better == "higher" else -1.0
    pairs: dict[int, list[float]] = {}
    for row in rows:
        first, second = row.cells[claim.first], row.cells[claim.second]
        if first.complete and second.complete and (not claim.rows or row.name in claim.rows):
            for repeat in sorted(first.means.keys() & second.means.keys()):
                difference = first.means[repeat] - second.means[repeat]
                pairs.setdefault(repeat, []).append(sign * difference)
    everything = [difference for of_repeat in pairs.values() for difference in of_repeat]
    if not everything:
        return _ClaimResult(claim.words, None, None, claim.published, 0, "not run")
    mean = float(np.mean(everything))
    # rows of a repeat may share masks and splits: the larger error of the two ways to see it
    errors = [_standard_error(everything), _standard_error([float(np.mean(x)) for x in pairs.values()])]
    error = max((number for number in errors if number is not None), default=None)
    verdict = "too few to tell"
    if error is not None and len(pairs) >= _LEAST_REPEATS and not quick:
        verdict = _judge_claim(mean, error, claim.within)
    return _ClaimResult(claim.words, mean, error, claim.published, len(everything), verdict)


def _standard_error(numbers: Sequence[float]) -> float | None:
    return float(np.std(numbers, ddof=1) / np.sqrt(len(numbers))) if len(numbers) > 1 else None


def _judge_claim(mean: float, error: float, within: float | None = None) -> str:
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


def _observe_mcnemar(experiment: Experiment, records: Sequence[_Record]) -> list[Observation]:
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
                observed.append(Observation("p-value", row, name, where[0], p))
                observed.append(Observation("rejected, %", row, name, where[0], 100.0 * (p < _LEVEL)))
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


def _observe_friedman_nemenyi(experiment: Experiment, records: Sequence[_Record]) -> list[Observation]:
    """Mean ranks, how far apart they are from the first's, how far they have to be, and whether they are.

    Settings of the design are data sets; where classes are told, views too.  Scores are means of repeats.
    """
    ranked = [column.name for column in experiment.columns if column.beside]
    observed: list[Observation] = []
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
    """Data sets x methods, means over the repeats that all methods have."""
    values: dict[tuple[Any, ...], dict[int, dict[str, list[float]]]] = {}
    for record in records:
        key, parts = record["trial"], record["result"]["scores"].get(measure, {})
        for column in experiment.columns_of(key):
            if column.name in ranked:
                for view, value in parts.items():
                    where = (*(key[factor] for factor in experiment.design), view if by_view else "")
                    of_repeat = values.setdefault(where, {}).setdefault(key["repeat"], {})
                    of_repeat.setdefault(column.name, []).append(value)
    complete = [[one for one in each.values() if len(one) == len(ranked)] for each in values.values()]
    means = [[[np.mean(one[name]) for name in ranked] for one in each] for each in complete if each]
    return np.array([np.mean(of_repeats, axis=0) for of_repeats in means])


def _observe_ranks(scores: np.ndarray, ranked: Sequence[str], measure: str) -> Iterator[Observation]:
    first, *others = ranked
    test = statistics.friedman(scores)
    yield Observation("Friedman's F, p-value", measure, first, 0, test.iman_davenport_p)
    for name, rank in zip(ranked, test.ranks, strict=True):
        yield Observation("mean rank", measure, name, 0, float(rank))
    apart = np.abs(test.ranks[1:] - test.ranks[0])
    for name, distance in zip(others, apart, strict=True):
        yield Observation("rank difference", measure, name, 0, float(distance))
    for alpha in _ALPHAS:
        row = f"{measure}, alpha {alpha:g}"
        least = statistics.nemenyi(scores, level=1 - alpha).critical_difference
        yield Observation("critical difference", row, first, 0, least)
        for name, distance in zip(others, apart, strict=True):
            yield Observation("told apart", row, name, 0, float(distance > least))


#: Statistics by the names that experiments ask for them.
_STATISTICS: Mapping[str, Callable[[Experiment, Sequence[_Record]], list[Observation]]] = {
    "mcnemar": _observe_mcnemar,
    "friedman-nemenyi": _observe_friedman_nemenyi,
}


def _observe_statistic(experiment: Experiment, records: Sequence[_Record]) -> list[Observation]:
    """What the experiment's statistic makes of records of trials that were done."""
    check_name("statistic", experiment.statistic, _STATISTICS)
    return _STATISTICS[experiment.statistic](experiment, records)
