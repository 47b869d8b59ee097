"""All that an experiment's records say: tables, claims, counts, and the verdict in a sentence."""

from collections import Counter
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np

from absentia.papers._cells import (
    AGREEMENT,
    Cell,
    Comparison,
    Observed,
    Row,
    columns_of,
    observations,
    rows_of,
)
from absentia.papers._experiment import Claim, Experiment, Measure
from absentia.papers._significance import observe_statistic

VERDICTS = ("reproduced", "exceeded", "not reproduced", "not run")


@dataclass(frozen=True)
class Summary:
    """An experiment and what came of it."""

    experiment: Experiment
    tables: Mapping[str, Sequence[Row]]
    claims: Sequence[Comparison]
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
        observe_statistic(experiment, done) if experiment.statistic else observations(experiment, done)
    )
    tables = {measure.name: rows_of(experiment, measure, observed) for measure in experiment.measures}
    return Summary(
        experiment,
        tables,
        [_check_claim(experiment, claim, tables[claim.measure]) for claim in experiment.claims],
        _versions(records),
        len({record["trial"]["repeat"] for record in done}),
        len(records),
        [_failure(record) for record in failed],
        sum(float(record["cost"].get("cpu") or 0.0) for record in records),
        _seconds(experiment, done),
        observed,
    )


def _seconds(experiment: Experiment, records: Sequence[Mapping[str, Any]]) -> dict[str, float]:
    """CPU seconds of a trial by column, on the machine that the records are from."""
    seconds: dict[str, list[float]] = {column.name: [] for column in experiment.columns}
    for record in records:
        for column in columns_of(experiment, record["trial"]):
            seconds[column.name].append(float(record["cost"].get("cpu") or 0.0))
    return {name: float(np.mean(spent)) for name, spent in seconds.items() if spent}


def _failure(record: Mapping[str, Any]) -> str:
    key = record["trial"]
    return f"{key['method']}, repeat {key['repeat']}: {record['error']}"


def _versions(records: Sequence[Mapping[str, Any]]) -> dict[str, str]:
    """Of every method, which version its records are of; more than one is said so."""
    versions: dict[str, dict[str, None]] = {}
    for record in records:
        versions.setdefault(record["trial"]["method"], {})[record["trial"]["version"]] = None
    return {method: " and ".join(several) for method, several in sorted(versions.items())}


def _check_claim(experiment: Experiment, claim: Claim, rows: Sequence[Row]) -> Comparison:
    """Differences of the two methods, paired by row and repeat."""
    measure = experiment.measure(claim.measure)
    pairs: dict[int, list[float]] = {}
    for row in rows:
        if not claim.rows or row.name in claim.rows:
            for repeat, difference in _paired_differences(
                measure, row.cells[claim.first], row.cells[claim.second]
            ):
                pairs.setdefault(repeat, []).append(difference)
    everything = [difference for of_repeat in pairs.values() for difference in of_repeat]
    if not everything:
        return Comparison(claim.words, None, None, claim.published, 0, "not run")
    mean = float(np.mean(everything))
    # rows of a repeat may share masks and splits: the larger error of the two ways to see it
    errors = [_standard_error(everything), _standard_error([float(np.mean(x)) for x in pairs.values()])]
    error = max((number for number in errors if number is not None), default=None)
    verdict = _judge_claim(mean, error, claim.within)
    return Comparison(claim.words, mean, error, claim.published, len(everything), verdict)


def _paired_differences(measure: Measure, first: Cell, second: Cell) -> list[tuple[int, float]]:
    """By how much the first is better in each repeat that both have."""
    sign = 1.0 if measure.better == "higher" else -1.0
    a, b = first.means, second.means
    return [(repeat, sign * (a[repeat] - b[repeat])) for repeat in sorted(a.keys() & b.keys())]


def _standard_error(numbers: Sequence[float]) -> float | None:
    return float(np.std(numbers, ddof=1) / np.sqrt(len(numbers))) if len(numbers) > 1 else None


def _judge_claim(mean: float, error: float | None, within: float | None = None) -> str:
    if error is None:
        return "too few to tell"
    if within is not None:
        return "holds" if abs(mean) <= max(within, AGREEMENT * error) else "does not hold"
    if abs(mean) <= AGREEMENT * error:
        return "no difference seen"
    return "holds" if mean > 0 else "does not hold"
