"""A comparison under way: a folder with the data, the design and a record of every trial that was done."""

import os
from collections import Counter
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from functools import cached_property
from pathlib import Path
from typing import Any

from absentia.experiment._findings import Findings, Metric
from absentia.experiment.comparison._costs import expected
from absentia.experiment.comparison._design import FILE as DESIGN
from absentia.experiment.comparison._design import (
    Design,
    Expansion,
    as_completion,
    check_metric,
    load_design,
)
from absentia.experiment.comparison._measures import metrics_of
from absentia.experiment.comparison._performing import Perform
from absentia.experiment.comparison._problem import FILE, Problem, load_problem
from absentia.experiment.comparison._results import ResultChecker
from absentia.experiment.comparison._strategies import strategy
from absentia.experiment.comparison._summary import Summary
from absentia.experiment.comparison._verdict import score_words
from absentia.experiment.engine import Limits, Pool, Record, Records, Run, Trial, run
from absentia.files import FileError, one_line

#: What a trial is, whatever the data and the version: two that agree in it are the same question.
QUESTION = ("kind", "method", "repeat", "fold", "views", "rate", "mechanism")
CHANGED = {
    "data": "the data are others",
    "seed": "the seed is another",
    "version": "the method is another version",
    "parameters": "the parameters are others",
    "split": "the folds are others",
}


@dataclass(frozen=True)
class Outstanding:
    """Trials that are to be run, how many need not be, and why the others are run."""

    todo: Sequence[Trial]
    reused: int
    why: Mapping[str, int]

    @property
    def sentence(self) -> str:
        """One line; numbers add up to all trials."""
        n = len(self.todo)
        words = f"{self.reused + n} trials: {self.reused} are there already, {n} to run"
        reasons = [
            f"{count} because {why}" if why != "new" else f"{count} new" for why, count in self.why.items()
        ]
        told = reasons and (self.reused or set(self.why) - {"new"})
        return f"{words} ({', '.join(reasons)})" if reasons and told else words


class Study:
    """Problem, design and records."""

    def __init__(self, problem: Problem, design: Design, folder: str | os.PathLike[str]) -> None:
        self.problem = problem
        self.design = replace(check_metric(problem, design), data=problem.hash)
        self.folder = Path(folder)
        self.records = Records(self.folder, ResultChecker(problem))

    def save(self) -> None:
        """Write what every process of this study reads."""
        self.folder.mkdir(parents=True, exist_ok=True)
        if not (self.folder / FILE).exists() or self._data_before() != self.problem.hash:
            self.problem.save(self.folder)
        self.design.save(self.folder)

    def _data_before(self) -> str:
        """The hash of the data that are in the folder; nothing if that cannot be told."""
        try:
            return load_problem(self.folder).hash
        except FileError:
            return ""

    @property
    def metric(self) -> Metric:
        return metrics_of(self.problem.task, self.design.metric)[0]

    def words(self, score: float) -> str:
        """A score of the main metric as it is read."""
        return score_words(self.metric, score)

    def expected_seconds(self, trials: Sequence[Trial]) -> float:
        """CPU seconds that trials will take, about."""
        return sum(expected(trial.key["method"], self.problem) for trial in trials)

    @cached_property
    def trials(self) -> list[Trial]:
        return Expansion(self.problem, self.design).trials()

    # ---------------------------------------------------------------------------------------- running

    def outstanding(self, retry: bool = False) -> Outstanding:
        """What is to be run: no record yet, or (`retry`) it failed, or more is allowed now."""
        found = self.records.of(self.trials)
        todo = [t for t in self.trials if not _settled(found.get(t.hash), self.design.limits, retry)]
        known = {trial.hash for trial in self.trials}
        before = {_question(record.trial): record for record in self.records.others(known)} if todo else {}
        why = Counter(_why(trial, found.get(trial.hash), before) for trial in todo)
        return Outstanding(todo, len(self.trials) - len(todo), dict(why))

    def run(
        self,
        trials: Sequence[Trial],
        pool: Pool,
        tell: Callable[[Record], None] = lambda record: None,
        begin: Callable[[Trial], None] = lambda trial: None,
    ) -> None:
        """Do these trials; whoever interrupts it loses those under way."""
        perform = Perform(self.folder, self.problem)
        run(trials, Run(self.records, perform, self.design.limits, tell, begin), pool)

    # --------------------------------------------------------------------------------------- findings

    def findings(self) -> Findings:
        """What the records that are there say."""
        found = self.records.of(self.trials)
        kinds = ("complete",) if self.problem.task == "completion" else ("predict", "views", "rates")
        own = [record for record in found.values() if record.trial["kind"] in kinds]
        beside = [record for record in found.values() if record.trial["kind"] not in kinds]
        return replace(
            Summary(self.problem, self.design, own, self._wanted(kinds[0])).findings(),
            completion=self._beside(beside) if self.design.completers else None,
            done=len(found),
            wanted=len(self.trials),
            warnings=(*self.design.remarks, *_failed_parts(found.values())),
        )

    def _wanted(self, main: str) -> dict[str, int]:
        """How many trials each method is judged by."""
        hide, keys = self.design.hide, [trial.key for trial in self.trials if trial.key["kind"] == main]
        counts = Counter(key["method"] for key in keys if key.get("rate", hide) == hide)
        return {method: counts[method] for method in self.design.methods}

    def _beside(self, records: Sequence[Record]) -> Findings:
        """How well completers do on hidden cells of what is predicted from."""
        completers, repeats = self.design.completers, self.design.repeats_beside
        empty: dict[str, Any] = {"metric": None, "rates": (), "left_out": {}, "repeats_of": {}}
        design = replace(self.design, methods=completers, repeats=repeats, **empty)
        wanted = dict.fromkeys(completers, repeats)
        return Summary(as_completion(self.problem), design, records, wanted).findings()


def _failed_parts(records: Iterable[Record]) -> Iterator[str]:
    """Failures that no row of the table counts."""
    for kind, words in (("views", "of what views are worth"), ("rates", "of the curves")):
        failed = [record for record in records if record.trial["kind"] == kind and not record.done]
        if failed:
            yield f"{len(failed)} fits {words} failed, e.g. {failed[0].error}"


def _settled(record: Record | None, limits: Limits, retry: bool) -> bool:
    if record is None:
        return False
    if record.status in ("time", "memory", "died"):
        asked = {"time": limits.seconds, "memory": limits.memory}.get(record.status)
        before = record.cost.get(f"{record.status}_limit")
        more = before is not None and (asked is None or asked > before)
        return not (retry or more)
    return record.done or not retry


def _question(key: Mapping[str, Any]) -> str:
    return repr([key.get(name) for name in QUESTION])


def _why(trial: Trial, own: Record | None, before: Mapping[str, Record]) -> str:
    """Why a trial is run, in words."""
    if own is not None:
        return "more time or memory is allowed" if own.status in ("time", "memory") else "they failed"
    other = before.get(_question(trial.key))
    if other is None:
        return "new"
    changed = [name for name in CHANGED if other.trial.get(name) != trial.key.get(name)]
    return CHANGED[changed[0]] if changed else "new"


def open_study(folder: str | os.PathLike[str]) -> Study:
    """The study of a folder, as it was last asked for."""
    place = Path(folder)
    design = load_design(place)  # first: it says what a folder without one is
    problem = load_problem(place)
    try:
        for names, one in ((design.methods, problem), (design.completers, as_completion(problem))):
            for name in names:
                strategy(name, one)
        return Study(problem, design, place)
    except ValueError as error:
        raise FileError(f"{place / DESIGN}: not a design for these data ({one_line(error)})") from None
