"""A comparison under way: a folder with the data, the design and a record of every trial that was done.

Very many samples: methods are compared on some of them, and the leading ones learn from nearly all.

Which samples are drawn follows from the data and the seed.  What a leading method is judged on when it has
learned from nearly all are samples that had no say in which methods lead.
"""

import os
from collections import Counter
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from functools import cached_property
from pathlib import Path
from statistics import median
from typing import Any

import numpy as np

from absentia.core import Array
from absentia.experiment.comparison._data import DATA_FILE, TaskData, load_data
from absentia.experiment.comparison._design import (
    _VERSION,
    DESIGN_FILE,
    Design,
    Expansion,
    count_folds,
    draw_training_part,
    load_design,
    make_plan,
)
from absentia.experiment.comparison._recommendation import write_script
from absentia.experiment.comparison._summary import (
    ComparisonSummary,
    costs_of,
    describe_order,
    weigh_patterns,
)
from absentia.experiment.comparison._trial import RecordChecker, TrialPerformer, learn_and_score
from absentia.experiment.engine import Limits, Pool, Record, Records, Run, Trial, declared_versions, run
from absentia.experiment.pattern_mix import MixScores, PatternMix
from absentia.experiment.results import ComparisonResults
from absentia.files import FileError, one_line
from absentia.tasks import Metric

# -------------------------------------------------------------------------------------- very many samples

#: Of more samples, so many are drawn to compare on; at most so many are held out of fits to the others.
MAX_COMPARED = 10_000
_TEST_SHARE = 0.2
_N_FINALISTS = 3
FULL_FIT_SECONDS = 600.0  # CPU seconds that such a fit may take


def _draw(data: TaskData, most: int, seed: int) -> Array:
    """Positions of at most `most` samples, of each class alike; spaced over an order of the data's own."""
    n = len(data.data)
    if data.y is None:
        return np.sort(data.order[np.linspace(0, n - 1, min(most, n)).astype(int)])
    return draw_training_part(data, np.arange(n), most / n, [seed])


def draw_compared(data: TaskData, most: int | None, seed: int) -> tuple[TaskData, TaskData | None]:
    """What is compared on: all samples, or `most` of more; then all there are, too.

    Samples in groups, or in time, are compared on as they are.  Features in chunks are read into memory.
    """
    few = most is not None and len(data.data) > most
    if not few or data.data.groups is not None or data.times is not None:
        return data, None
    assert most is not None
    some = data.take(_draw(data, most, seed))
    return replace(some, data=some.data.to_memory()) if getattr(some.data, "chunked", False) else some, data


def choose_finalists(results: ComparisonResults) -> tuple[str, ...]:
    """The method that is recommended, and those of the best mean scores beside it."""
    measured = [row.method for row in results.rows if row.scores]  # the best first
    first = [results.recommendation.recommended] if measured else []
    return tuple(dict.fromkeys([*first, *measured]))[:_N_FINALISTS]


@dataclass(frozen=True, eq=False)
class FullFit:
    """Does trials of kind "full": learn from nearly all samples `whole`, be judged on some of the others.

    Those on which methods were compared, `compared` of them by the `seed`, are all learned from.
    """

    whole: TaskData
    compared: int
    seed: int

    @cached_property
    def split(self) -> tuple[Array, Array]:
        """Positions that are learned from, and that are judged on."""
        n = len(self.whole.data)
        others = np.setdiff1d(np.arange(n), _draw(self.whole, self.compared, self.seed))
        share = min(MAX_COMPARED, _TEST_SHARE * n) / len(others)
        test = draw_training_part(self.whole, others, min(share, 1.0), [self.seed, 1])
        return np.setdiff1d(np.arange(n), test), test

    def __call__(self, key: Mapping[str, Any]) -> dict[str, Any]:
        train, test = self.split
        return learn_and_score(key, self.whole, train, test) | {"n_train": len(train), "n_test": len(test)}


def make_full_trials(data: TaskData, design: Design) -> list[Trial]:
    """A fit of each finalist to nearly all of the samples that there are."""
    plans = [make_plan(method, data, design.seed) for method in design.finalists]
    return [
        Trial(
            {
                "kind": "full",
                "data": data.hash,
                "samples": design.n_samples,
                "method": plan.name,
                "parameters": plan.parameters,
                "version": declared_versions(*plan.classes, comparison=_VERSION),
                "seed": design.seed,
            }
        )
        for plan in plans
    ]


def describe_size(
    design: Design, n_compared: int, records: Iterable[Record], metric: Metric, order: Sequence[str]
) -> tuple[str, ...]:
    """What is said of a comparison on some of the samples: the rule, the order, and fits to the others."""
    if not design.n_samples:
        return ()
    drawn = (
        f"{design.n_samples:,} samples: methods were compared on {n_compared:,} of them, drawn by "
        "class where there are classes."
    )
    found = {record.trial["method"]: record for record in records}
    done = [record for record in found.values() if record.done]
    lines = [drawn, *order]
    if done:
        sizes = done[0].result
        score: Callable[[Record], float] = lambda r: r.result["scores"].get(metric.name) or np.nan  # noqa: E731
        done.sort(key=score, reverse=metric.higher)
        scores = ", ".join(f"{r.trial['method']} {metric.format(score(r))}" for r in done)
        lines.append(
            f"Fitted once to {sizes['n_train']:,} samples and judged on {sizes['n_test']:,} others that "
            f"had no say in the choice of methods, {metric.name}: {scores}."
        )
    lines += [
        f"{name} was not fitted to nearly all samples: {record.error}"
        for name, record in found.items()
        if not record.done
    ]
    return tuple(lines)


_MAX_SECONDS = 20.0  # CPU seconds that the repeats of a method may take, where slow ones are thinned out
_FIRST_FIT_SECONDS = 60.0  # CPU seconds that its first fit may take
_MAX_GROUPS = 30  # each of which is a fold
_MIN_DRAWS = 3  # times that cells are hidden for a completer at least: one says nothing of chance
#: What a trial is, whatever the data and the version: two that agree in it are the same question.
_SAME_TRIAL = ("kind", "method", "repeat", "fold", "views", "rate", "mechanism", "share", "view")
_PREDICTION_KINDS = ("predict", "views", "rates", "train", "presence")
_CHANGED = {
    "data": "the data, or what classes are decided by, are others",
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
        needed = reasons and (self.reused or set(self.why) - {"new"})
        return f"{words} ({', '.join(reasons)})" if needed else words


class Study:
    """Data, design and records."""

    def __init__(self, data: TaskData, design: Design, folder: str | os.PathLike[str]) -> None:
        if design.learning_curve and data.kind == "completion":
            raise ValueError("a learning curve is of predictions: give labels, or leave it out")
        n_groups = data.data.n_groups
        if design.leave_one_group_out and (n_groups is None or n_groups > _MAX_GROUPS):
            there = "there are none" if n_groups is None else f"there are {n_groups}"
            raise ValueError(
                f"leave_one_group_out is for 2 to {_MAX_GROUPS} groups, and {there}; give groups such as "
                "sites, or leave it out: many groups are dealt to folds"
            )
        if n_groups is not None and data.kind == "completion":
            raise ValueError("groups are of predictions: give labels, or leave groups out")
        if data.times is not None:
            if design.leave_one_group_out or design.learning_curve:
                name = "leave_one_group_out" if design.leave_one_group_out else "learning_curve"
                raise ValueError(
                    f"{name} holds samples out at random, and time in blocks; give one of them"
                )
            count_folds(data, design)  # raises if nothing can be held out
            design = replace(design, repeats=1)  # there is one way to do it
        self.data = data
        metric = data.task.order_metrics(design.metric)[0].name  # refuses one that there is not
        self.design = replace(design, metric=metric, data=data.hash)
        self.folder = Path(folder)
        self.records = Records(self.folder, RecordChecker(data))
        self.whole: TaskData | None = None  # the samples that `data` were drawn from

    def save(self) -> None:
        """Write what every process of this study reads."""
        self.folder.mkdir(parents=True, exist_ok=True)
        if not (self.folder / DATA_FILE).exists() or self._saved_hash() != self.data.hash:
            self.data.save(self.folder)
        self.design.save(self.folder)

    def _saved_hash(self) -> str:
        """The hash of the data that are in the folder; nothing if that cannot be told."""
        try:
            return load_data(self.folder).hash
        except FileError:
            return ""

    @property
    def metric(self) -> Metric:
        return self.data.task.order_metrics(self.design.metric)[0]

    @cached_property
    def trials(self) -> list[Trial]:
        return Expansion(self.data, self.design).trials()

    # ---------------------------------------------------------------------------------------- running

    def outstanding(self, retry: bool = False) -> Outstanding:
        """What is to be run: no record yet, or (`retry`) it failed, or more is allowed now."""
        found = self.records.of(self.trials)
        todo = [t for t in self.trials if not _is_settled(found.get(t.hash), self.design.limits, retry)]
        known = {trial.hash for trial in self.trials}
        before = (
            {_same_trial(record.trial): record for record in self.records.others(known)} if todo else {}
        )
        why = Counter(_why(trial, found.get(trial.hash), before) for trial in todo)
        return Outstanding(todo, len(self.trials) - len(todo), dict(why))

    def run(
        self,
        trials: Sequence[Trial],
        pool: Pool,
        tell: Callable[[Record], None] = lambda record: None,
        begin: Callable[[Trial], None] = lambda trial: None,
        seconds: float | None = None,
    ) -> None:
        """Do these trials, each in so many CPU seconds; whoever interrupts it loses those under way."""
        limits = self.design.limits
        if seconds is not None:
            limits = replace(limits, seconds=min(seconds, limits.seconds or seconds))
        run(trials, Run(self.records, TrialPerformer(self.folder, self.data), limits, tell, begin), pool)

    # ------------------------------------------------------------------------------------ what fits cost

    def first_trials(self) -> dict[str, Trial]:
        """The first trial of each method that is tried, and of each completer beside them."""
        firsts: dict[str, Trial] = {}
        for trial in self.trials:
            if trial.key["kind"] in ("predict", "complete"):
                firsts.setdefault(trial.key["method"], trial)
        return firsts

    def untimed(self) -> list[Trial]:
        """First trials that have no record yet: what they take decides how often slow methods are tried."""
        found = self.records.of(list(self.first_trials().values()))
        return [trial for trial in self.first_trials().values() if trial.hash not in found]

    def time_methods(
        self, pool: Pool, tell: Any = lambda record: None, begin: Any = lambda trial: None
    ) -> None:
        """Do the first trial of each method, and try those that are slow less often from then on."""
        untimed = self.untimed()
        simplest = [trial for trial in untimed if trial.key["method"] == self.data.task.simplest]
        self.run(simplest, pool, tell, begin)  # all others are held against it, however long it takes
        self.run([t for t in untimed if t not in simplest], pool, tell, begin, _FIRST_FIT_SECONDS)
        found = self.records.of(list(self.first_trials().values()))
        self.design = _thin_design(self.data, self.design, {r.trial["method"]: r for r in found.values()})
        self.__dict__.pop("trials", None)
        self.save()

    def fit_finalists(self, pool: Pool, tell: Any = lambda record: None) -> None:
        """Of very many samples: methods that lead on some learn from fewer, and from nearly all."""
        if self.whole is None or self.data.kind == "completion":
            return
        self.design = replace(self.design, finalists=choose_finalists(self.results()))
        self.__dict__.pop("trials", None)
        self.save()
        self.run(self.outstanding().todo, pool, tell)
        full = make_full_trials(self.data, self.design)
        found = self.records.of(full)
        limits = replace(self.design.limits, seconds=self.design.time_limit or FULL_FIT_SECONDS)
        fit = FullFit(self.whole, len(self.data.data), self.design.seed)
        left = [trial for trial in full if not _is_settled(found.get(trial.hash), limits, False)]
        run(left, Run(self.records, fit, limits, tell), Pool(1))

    def measured_seconds(self) -> dict[str, float]:
        """Median of the CPU seconds that fits of a method have taken, of those that are recorded."""
        by_method: dict[str, list[Record]] = {}
        for record in self.records.of(self.trials).values():
            by_method.setdefault(record.trial["method"], []).append(record)
        costs = {name: costs_of(records, "cpu") for name, records in by_method.items()}
        return {name: median(seconds) for name, seconds in costs.items() if seconds}

    # ---------------------------------------------------------------------------------------- results

    def results(self) -> ComparisonResults:
        """What the records that are there say."""
        found, kinds = self.records.of(self.trials), self._kinds
        beside = [record for record in found.values() if record.trial["kind"] not in kinds]
        summary = self._summarise(found)
        full = self.records.of(make_full_trials(self.data, self.design)).values()
        order = describe_order(summary) if self.data.kind != "completion" else []
        results = summary.results()
        recommendation = results.recommendation
        if summary.evidence.measured:
            place = self.folder if self.design.command else None  # in Python the comparison is at hand
            script = write_script(recommendation.recommended, self.data, place)
            recommendation = replace(recommendation, python=script)
        return replace(
            results,
            recommendation=recommendation,
            at_size=describe_size(self.design, len(self.data.data), full, self.metric, order),
            completion=self._beside(beside) if self.design.completers else None,
            done=len(found),
            wanted=len(self.trials),
            warnings=(*self.design.remarks, *_failed_parts(found.values())),
        )

    @property
    def _kinds(self) -> tuple[str, ...]:
        """Of trials that methods are judged by."""
        return ("complete",) if self.data.kind == "completion" else _PREDICTION_KINDS

    def _summarise(self, found: Mapping[str, Record]) -> ComparisonSummary:
        own = [record for record in found.values() if record.trial["kind"] in self._kinds]
        return ComparisonSummary(self.data, self.design, own, self._wanted(self._kinds[0]))

    def check_weighable(self) -> None:
        """Refuse scores that are not made of those of single samples, which patterns cannot weight."""
        if self.data.kind in ("survival", "completion"):
            raise ValueError(
                f"scores of {self.data.kind} are of pairs, not of single samples, and cannot be weighted "
                "to other patterns; classes, numbers and several labels can"
            )

    def weigh_patterns(self, mix: PatternMix) -> MixScores:
        """What the records say of scores under another mix of patterns of views."""
        self.check_weighable()
        return weigh_patterns(self._summarise(self.records.of(self.trials)), mix)

    def _wanted(self, main: str) -> dict[str, int]:
        """How many trials each method is judged by."""
        hide, keys = self.design.hide, [trial.key for trial in self.trials if trial.key["kind"] == main]
        counts = Counter(key["method"] for key in keys if key.get("rate", hide) == hide)
        return {method: counts[method] for method in self.design.methods}

    def _beside(self, records: Sequence[Record]) -> ComparisonResults:
        """How well completers do on hidden cells of what is predicted from."""
        completers, repeats = self.design.completers, self.design.repeats_beside
        empty: dict[str, Any] = {"metric": None, "rates": (), "left_out": {}, "repeats_of": {}}
        design = replace(self.design, methods=completers, repeats=repeats, **empty)
        wanted = dict.fromkeys(completers, repeats)
        return ComparisonSummary(self.data.for_completion(), design, records, wanted).results()


def _failed_parts(records: Iterable[Record]) -> Iterator[str]:
    """Failures that no row of the table counts."""
    parts = {"views": "of what views are worth", "rates": "of the curves"}
    parts |= dict.fromkeys(("train", "presence"), "of the learning curve")
    for kind, words in parts.items():
        failed = [record for record in records if record.trial["kind"] == kind and not record.done]
        if failed:
            yield f"{len(failed)} fits {words} failed, e.g. {failed[0].error}"


def _is_settled(record: Record | None, limits: Limits, retry: bool) -> bool:
    if record is None:
        return False
    if record.status in ("time", "memory", "died"):
        allowed = {"time": limits.seconds, "memory": limits.memory}.get(record.status)
        before = record.cost.get(f"{record.status}_limit")
        more = before is not None and (allowed is None or allowed > before)
        return not (retry or more)
    return record.done or not retry


def _same_trial(key: Mapping[str, Any]) -> str:
    return repr([key.get(name) for name in _SAME_TRIAL])


def _why(trial: Trial, own: Record | None, before: Mapping[str, Record]) -> str:
    """Why a trial is run, in words."""
    if own is not None:
        return "more time or memory is allowed" if own.status in ("time", "memory") else "they failed"
    other = before.get(_same_trial(trial.key))
    if other is None:
        return "new"
    changed = [name for name in _CHANGED if other.trial.get(name) != trial.key.get(name)]
    return _CHANGED[changed[0]] if changed else "new"


def _thin_design(data: TaskData, design: Design, firsts: Mapping[str, Record]) -> Design:
    """The same with fewer repeats of slow methods: as many as take :data:`_MAX_SECONDS`, about.

    What was not done with its first fit in time is left out, and why.  The simplest, which all are held to,
    stays.  `firsts` are records of first fits by method; of others nothing is known, and nothing changes.
    """
    simplest, completion = data.task.simplest, data.kind == "completion"
    cpu = {name: seconds[0] for name, record in firsts.items() if (seconds := costs_of([record], "cpu"))}
    reasons = {name: _why_too_slow(record, design) for name, record in firsts.items() if name != simplest}
    slow = {name: why for name, why in reasons.items() if why}
    fits = 1 if completion else count_folds(data, design)
    least = _MIN_DRAWS if completion else 1
    counts = {
        name: max(least, int(_MAX_SECONDS / max(fits * cpu[name], 1e-9)))
        for name in design.methods
        if name in cpu and name != simplest and name not in slow
    }
    views = 2 * data.data.n_views * fits * cpu.get(simplest, 0.0)
    return replace(
        design,
        methods=tuple(name for name in design.methods if name not in slow),
        left_out={**design.left_out, **{name: slow[name] for name in design.methods if name in slow}},
        repeats_of={name: count for name, count in counts.items() if count < design.repeats},
        repeats_of_views=design.repeats_of_views if views < _MAX_SECONDS else 1,
        completers=tuple(n for n in design.completers if n not in slow and cpu.get(n, 0) <= _MAX_SECONDS),
    )


def _why_too_slow(record: Record, design: Design) -> str:
    """Why a method is left out that took more than is usual; nothing if the limit was the user's own."""
    limit = record.cost.get("time_limit")
    if record.status != "time" or limit is None or limit == design.time_limit:
        return ""
    return f"took more than {limit:g} CPU s for its first fit on these data; ask for it by name"


def open_study(folder: str | os.PathLike[str]) -> Study:
    """The study of a folder, as it was last asked for."""
    place = Path(folder)
    design = load_design(place)  # first: it says what a folder without one is
    data = load_data(place)
    try:
        for names, own in ((design.methods, data), (design.completers, data.for_completion())):
            for name in names:
                make_plan(name, own)
        return Study(data, design, place)
    except ValueError as error:
        raise FileError(f"{place / DESIGN_FILE}: not a design for these data ({one_line(error)})") from None
