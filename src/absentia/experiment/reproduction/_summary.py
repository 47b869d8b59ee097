"""All that an experiment's records say: tables, claims, counts, and the verdict in a sentence."""

from collections import Counter
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np

from absentia.experiment.reproduction._cells import (
    ERRORS,
    Cell,
    Comparison,
    Observed,
    Row,
    observations,
    rows_of,
)
from absentia.experiment.reproduction._experiment import Claimed, Experiment, Measure
from absentia.experiment.reproduction._marking import marked
from absentia.experiment.reproduction._tests import statistics_of

JUDGED = ("reproduced", "exceeded", "not reproduced", "not run")


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
    observed: Sequence[Observed]

    @property
    def counts(self) -> dict[str, int]:
        """Cells with a published number, by what became of it; columns that read what is hidden are not counted."""
        cells = [cell for rows in self.tables.values() for row in rows for cell in row.cells.values()]
        found = Counter(cell.verdict for cell in cells if not cell.column.leaks)
        return {word: found[word] for word in JUDGED}

    @property
    def verdict(self) -> str:
        """One sentence."""
        counts, parts = self.counts, []
        if total := sum(counts.values()):
            words = [f"{counts[word]} {word}" for word in JUDGED if counts[word]]
            parts.append(f"Of {total} published numbers {', '.join(words)}.")
        if self.claims:
            held = sum(one.verdict == "holds" for one in self.claims)
            parts.append(f"Of {len(self.claims)} claims {held} hold{'s' if held == 1 else ''}.")
        return " ".join(parts) or "Nothing was published in numbers."

    @property
    def word(self) -> str:
        """The verdict in a word or two: what most numbers, or else claims, came to."""
        counts = {word: n for word, n in self.counts.items() if word != "not run" and n}
        if not counts:
            held = [one.verdict == "holds" for one in self.claims]
            return (
                ""
                if not held
                else "reproduced"
                if all(held)
                else "in part"
                if any(held)
                else "not reproduced"
            )
        most = max(counts, key=lambda word: counts[word])
        return (
            most
            if counts[most] > 0.8 * sum(counts.values())
            else f"mostly {most}"
            if (counts[most] > 0.5 * sum(counts.values()))
            else "in part"
        )


def summarise(experiment: Experiment, records: Sequence[Mapping[str, Any]]) -> Summary:
    """Records have ``trial``, ``status``, ``result``, ``error`` and ``cost``."""
    done = [record for record in records if record["status"] == "done"]
    failed = [record for record in records if record["status"] != "done"]
    observed = statistics_of(experiment, done) if experiment.statistic else observations(experiment, done)
    tables = {
        measure.name: marked(rows_of(experiment, measure, observed), measure.better, experiment.level)
        for measure in experiment.measures
    }
    return Summary(
        experiment,
        tables,
        [_claimed(experiment, claim, tables[claim.measure]) for claim in experiment.claims],
        _versions(experiment, records),
        len({record["trial"]["repeat"] for record in done}),
        len(records),
        [_failure(record) for record in failed],
        sum(float(record["cost"].get("cpu") or 0.0) for record in records),
        observed,
    )


def _failure(record: Mapping[str, Any]) -> str:
    key = record["trial"]
    return f"{key['method']}, repeat {key['repeat']}: {record['error']}"


def _versions(experiment: Experiment, records: Sequence[Mapping[str, Any]]) -> dict[str, str]:
    """Of every method, which version its records are of; more than one is said so."""
    found: dict[str, dict[str, None]] = {}
    for record in records:
        found.setdefault(record["trial"]["method"], {})[record["trial"]["version"]] = None
    return {method: " and ".join(versions) for method, versions in sorted(found.items())}


def _claimed(experiment: Experiment, claim: Claimed, rows: Sequence[Row]) -> Comparison:
    """Differences of the two methods, paired by row and repeat."""
    measure = experiment.measure(claim.measure)
    pairs = [
        difference
        for row in rows
        if (not claim.rows or row.name in claim.rows) and {claim.first, claim.second} <= row.cells.keys()
        for difference in _paired(measure, row.cells[claim.first], row.cells[claim.second])
    ]
    if not pairs:
        return Comparison(claim.words, None, None, claim.published, 0, "not run")
    mean = float(np.mean(pairs))
    error = float(np.std(pairs, ddof=1) / np.sqrt(len(pairs))) if len(pairs) > 1 else None
    return Comparison(
        claim.words, mean, error, claim.published, len(pairs), _held(mean, error, claim.within)
    )


def _paired(measure: Measure, first: Cell, second: Cell) -> list[float]:
    """By how much the first is better in each repeat that both have."""
    sign = 1.0 if measure.better == "higher" else -1.0
    a, b = first.means, second.means
    return [sign * (a[repeat] - b[repeat]) for repeat in sorted(a.keys() & b.keys())]


def _held(mean: float, error: float | None, within: float | None = None) -> str:
    if within is not None:
        return "holds" if abs(mean) <= max(within, ERRORS * (error or 0.0)) else "does not hold"
    if error is not None and abs(mean) <= ERRORS * error:
        return "no difference seen"
    return "holds" if mean > 0 else "does not hold"
