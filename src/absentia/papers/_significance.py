"""Whether methods differ from the first of a table: McNemar's test sample by sample, ranks over data sets.

The first column of such an experiment is the method that the others are held against.  Over data sets those
methods are ranked that stand beside a published column, as many as the paper ranked.
"""

from collections.abc import Callable, Iterator, Mapping, Sequence
from typing import Any

import numpy as np

from absentia import statistics
from absentia.methods.base import check_name
from absentia.papers._experiment import Experiment, Observed

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


def observe_statistic(experiment: Experiment, records: Sequence[_Record]) -> list[Observed]:
    """What the experiment's statistic makes of records of trials that were done."""
    check_name("statistic", experiment.statistic, _STATISTICS)
    return _STATISTICS[experiment.statistic](experiment, records)
