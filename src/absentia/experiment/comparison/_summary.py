"""From records to findings: a pure function of the design, the data and what is recorded.

A method that was tried on other folds than the simplest one is shown as the simplest's mean over all its
folds plus the mean difference on the folds that both had, which is its own mean where they had the same.
So scores differ by what the differences say, and a method that was tried on easy folds gains nothing.
"""

from collections.abc import Mapping, Sequence
from dataclasses import replace
from functools import cached_property

import numpy as np

from absentia.core import Array
from absentia.data import statistics
from absentia.experiment._findings import Difference, Findings, MethodRow, Metric, Span
from absentia.experiment.comparison._design import Design, n_folds
from absentia.experiment.comparison._facts import facts
from absentia.experiment.comparison._measures import metrics_of
from absentia.experiment.comparison._parts import all_parts, folds_of, span
from absentia.experiment.comparison._problem import Problem
from absentia.experiment.comparison._strategies import SIMPLEST, strategy
from absentia.experiment.comparison._usage import commands, scripts
from absentia.experiment.comparison._verdict import Evidence, verdict
from absentia.experiment.engine import Record

Folds = dict[tuple[int, int], float]


class Summary:
    """Findings of one task out of its records; `wanted` are the trials of each method."""

    def __init__(
        self, problem: Problem, design: Design, records: Sequence[Record], wanted: Mapping[str, int]
    ):
        self.problem, self.design, self.wanted = problem, design, wanted
        self.records = list(records)
        self.simplest = SIMPLEST[problem.task]
        self.metrics = metrics_of(problem.task, design.metric)
        main = "complete" if problem.task == "completion" else "predict"
        of_rate = [r for r in self.records if r.trial["kind"] == main and self._at_main_rate(r)]
        self.main = {m: [r for r in of_rate if r.trial["method"] == m] for m in wanted}

    def _at_main_rate(self, record: Record) -> bool:
        return record.trial["kind"] != "complete" or record.trial["rate"] == self.design.hide

    @property
    def metric(self) -> Metric:
        return self.metrics[0]

    @cached_property
    def share(self) -> float:
        """Samples, or cells, that are judged on, as a share of those that are learned from."""
        if self.problem.task == "completion":
            return self.design.hide / (1 - self.design.hide)
        return 1 / (n_folds(self.problem, self.design) - 1)

    @cached_property
    def equivalence(self) -> float:
        """In units of the metric; of metrics that are no shares, relative to the simplest's."""
        if self.metric.share:
            return self.design.equivalence
        own = self.folds(self.simplest, self.metric)
        return self.design.equivalence * abs(float(np.mean(list(own.values())))) if own else 0.0

    def folds(self, method: str, metric: Metric) -> Folds:
        """Scores of a method by repeat and fold."""
        return folds_of(self.main.get(method, []), metric.name)

    # ------------------------------------------------------------------------------------ method by method

    @cached_property
    def rows(self) -> list[MethodRow]:
        tried = [self._row(method) for method in self.wanted]
        sign = -1 if self.metric.higher else 1
        none = float("inf")

        def place(row: MethodRow) -> float:
            return sign * row.scores[self.metric.name].value if self.metric.name in row.scores else none

        skipped = [self._skipped(name, why) for name, why in self.design.left_out.items()]
        return [*sorted(tried, key=place), *skipped]

    def _skipped(self, name: str, why: str) -> MethodRow:
        how = strategy(name, self.problem)
        return MethodRow(name, how.words, how.baseline, left_out=why)

    def _row(self, method: str) -> MethodRow:
        how, own = strategy(method, self.problem), self.main[method]
        done = [record for record in own if record.done]
        return MethodRow(
            method,
            how.words,
            how.baseline,
            {metric.name: span for metric in self.metrics if (span := self._score(method, metric))},
            float(np.median(seconds)) if (seconds := costs_of(done, "cpu")) else None,
            max(costs_of(done, "memory"), default=None),
            len(done),
            len(own) - len(done),
            self.wanted[method],
            tuple(dict.fromkeys(record.error for record in own if not record.done)),
        )

    def _score(self, method: str, metric: Metric) -> Span | None:
        own, base = self.folds(method, metric), self.folds(self.simplest, metric)
        if not own:
            return None
        both = [key for key in own if key in base]
        shift = 0.0
        if both and len(both) < len(base):
            shift = float(np.mean(list(base.values())) - np.mean([base[key] for key in both]))
        return span(np.array([own[key] for key in both or own]), metric, self.share, shift)

    @cached_property
    def differences(self) -> list[Difference]:
        base = self.folds(self.simplest, self.metric)
        found = []
        for row in self.rows:
            own = self.folds(row.method, self.metric)
            both = [key for key in own if key in base]
            if row.method != self.simplest and len(both) > 1:
                found.append(self._difference(row.method, self._turned(own, base, both)))
        adjusted = statistics.holm([one.p for one in found]).tolist() if found else []
        return [replace(one, adjusted=float(p)) for one, p in zip(found, adjusted, strict=True)]

    def _turned(self, own: Folds, other: Folds, keys: Sequence[tuple[int, int]]) -> Array:
        sign = 1.0 if self.metric.higher else -1.0
        return sign * np.array([own[key] - other[key] for key in keys])

    def _difference(self, method: str, values: Array) -> Difference:
        t = statistics.corrected_resampled_t(values, self.share)
        probabilities = statistics.bayesian_correlated_t(values, self.share, self.equivalence)
        worse, same, better = map(float, probabilities)
        found = Difference(method, t.mean, t.low, t.high, t.p, t.p, worse, same, better)
        if t.error == 0 and t.mean != 0:  # nothing to judge it by
            nan = float("nan")
            found = replace(found, low=nan, high=nan, worse=nan, same=nan, better=nan)
        wins, losses, p_mcnemar = self._disagreement(method)
        return replace(found, wins=wins, losses=losses, p_mcnemar=p_mcnemar)

    def _disagreement(self, method: str) -> tuple[int | None, int | None, float | None]:
        """Samples that only one of two got right in most of the repeats that both had."""
        if self.problem.task != "classes":
            return None, None, None
        own, base = self._predicted(method), self._predicted(self.simplest)
        both = own.keys() & base.keys()
        one, other = (self._mostly_right([said[key] for key in both]) for said in (own, base))
        told = statistics.mcnemar(one, other)
        return told.wins, told.losses, told.p

    def _predicted(self, method: str) -> dict[tuple[int, int], Record]:
        done = [record for record in self.main.get(method, []) if record.done]
        return {(record.trial["repeat"], record.trial["fold"]): record for record in done}

    def _mostly_right(self, records: Sequence[Record]) -> Array:
        """Whether a sample was right in more than half of the times that it was held out."""
        assert self.problem.y is not None
        balance = np.zeros(len(self.problem.y))
        for record in records:
            test = np.array(record.result["test"], dtype=int)
            balance[test] += np.where(np.array(record.result["predicted"]) == self.problem.y[test], 1, -1)
        return balance > 0

    # ---------------------------------------------------------------------------------------- the whole

    def findings(self) -> Findings:
        """All of it."""
        data = self.problem.data
        parts = (self.metric, self.equivalence, self.simplest, self.rows, self.differences, len(data))
        return Findings(
            title=self.design.title or "Which method works best",
            task=self.problem.task,
            metrics=self.metrics,
            equivalence=self.equivalence,
            verdict=verdict(
                Evidence(*parts), scripts(self.problem, self.design), commands(self.problem, self.design)
            ),
            rows=self.rows,
            differences=self.differences,
            names=data.names,
            observed=data.observed,
            **all_parts(self),
            done=len(self.records),
            wanted=sum(self.wanted.values()),
            facts=facts(self),
        )


def costs_of(records: Sequence[Record], what: str) -> list[float]:
    """What fits took, of those of which it is known."""
    return [float(cost) for record in records if (cost := record.cost.get(what)) is not None]
