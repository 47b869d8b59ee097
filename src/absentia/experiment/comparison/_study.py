"""A comparison under way: a folder with the data, the design and a record of every trial that was done.

A trial is one of three things: learn from some samples and judge on others, hide some cells and complete
them, or, of very many samples, learn from nearly all.  Whether what a record says can have come of its
trial is checked by names, types, lengths and ranges.

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
    _format_value,
    count_folds,
    draw_kept_cells,
    draw_presence,
    draw_training_part,
    hash_arrays,
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
from absentia.experiment.engine import (
    FolderError,
    Pool,
    Record,
    Records,
    Run,
    Trial,
    declared_versions,
    run,
)
from absentia.experiment.pattern_mix import MixScores, PatternMix
from absentia.experiment.results import ComparisonResults
from absentia.files import FileError, one_line
from absentia.methods.models import Model, adjust_before
from absentia.tasks import Metric, Plan, Predictions, Task, Tick, adjust_samples, score_hidden_rows

# ------------------------------------------------------------------------------------------------ a trial

_LARGEST = 1e100  # of a number in a record: squares of it and their sums stay finite
_loaded: dict[str, TaskData] = {}


class TrialPerformer:
    """Does trials of the comparison in a folder, whose data every process reads once."""

    def __init__(self, folder: Path, data: TaskData) -> None:
        self.folder, self.hash = str(folder.absolute()), data.hash
        _loaded.clear()
        _loaded[self.hash] = data

    def prepare(self, key: Mapping[str, Any]) -> None:
        """Read the data and load the method, unless this process has: neither is part of a fit."""
        data = self._data()
        make_plan(key["method"], data)

    def _data(self) -> TaskData:
        data = _loaded.get(self.hash)
        if data is None:
            data = load_data(Path(self.folder))
            if data.hash != self.hash:
                raise FolderError(
                    f"{self.folder}: its data have been replaced by others; give the command again"
                )
            _loaded.clear()
            _loaded[self.hash] = data
        return data

    def __call__(self, key: Mapping[str, Any]) -> dict[str, Any]:
        return perform_trial(key, self._data())


def perform_trial(key: Mapping[str, Any], data: TaskData) -> dict[str, Any]:
    """The result of a trial."""
    if key["kind"] == "complete":
        return _complete(key, data)
    train, test = data.split(key["cv"], key["seed"], key["repeat"])[key["fold"]]
    if hash_arrays(train, test) != key["split"]:
        raise FolderError(
            "folds are cut otherwise here than where the trial was made: versions of absentia differ"
        )
    if key["kind"] == "views":
        data = data.replace(data.data.select(key["views"]))
    elif key["kind"] == "rates":
        data = data.replace(data.data.hide(_kept(key, data)))
    elif key["kind"] == "train":
        train = draw_training_part(data, train, key["share"], [key["seed"], key["repeat"], key["fold"]])
    elif key["kind"] == "presence":
        data = _with_fewer_present(key, data, train)
    return learn_and_score(key, data, train, test)


def learn_and_score(key: Mapping[str, Any], data: TaskData, train: Array, test: Array) -> dict[str, Any]:
    """The result of a method that learns from the positions `train` and is judged on `test`."""
    task, y = data.task, data.targets
    predictions = _learn_and_predict(key, data, train, test)
    if not np.isfinite(predictions.values.astype(float)).all():
        raise ValueError("predicted what is no number")
    result: dict[str, Any] = {"scores": task.scores(y[test], predictions)}
    if key["kind"] == "views":
        result["nothing"] = task.prior_scores(y[test], y[train])
    if key["kind"] == "train":
        result["n_train"] = len(train)
    if key["kind"] == "predict":
        result |= {"test": test.tolist(), "predicted": predictions.values.tolist()}
    return result


def _learn_and_predict(key: Mapping[str, Any], data: TaskData, train: Array, test: Array) -> Predictions:
    plan = make_plan(key["method"], data, key["seed"])
    samples, rows, _ = adjust_samples(data.data, data.covariates, train, test)
    return predict_samples(data.task, data.task.learn(samples, data.targets[train], plan), rows)


def predict_samples(task: Task, model: Any, data: Any) -> Predictions:
    """What a model says of samples; one with kernels before it, of some at a time."""
    if not isinstance(model, Model):
        return task.predict(model, data)
    return Predictions.join([task.predict(model.classifier, rows) for rows in model.blocks(data)])


def fit_to_all(data: TaskData, method: str, seed: int = 0) -> Any:
    """A method fitted to all samples; classes are those that came."""
    plan = make_plan(method, data, seed)
    if data.kind == "completion":
        return plan.estimator.fit(data.kernels)
    return learn_all(data, plan)[0]


def learn_all(data: TaskData, plan: Plan, tick: Tick = lambda: None) -> tuple[Any, Any, Any]:
    """A model of all samples; the same without what adjusts these, and what it has learned from."""
    if data.covariates is None:
        model = data.task.learn(data.data, data.labels, plan, tick)
        return model, model, data.data
    samples, adjust = adjust_samples(data.data, data.covariates, np.arange(len(data.data)))
    model = data.task.learn(samples, data.labels, plan, tick)
    return adjust_before(adjust, model), model, samples


def _kept(key: Mapping[str, Any], data: TaskData) -> Array:
    return draw_kept_cells(data, key["mechanism"], key["rate"], key["seed"], key["repeat"])


def _with_fewer_present(key: Mapping[str, Any], data: TaskData, train: Array) -> TaskData:
    """The data with a view that fewer samples have; without it where no training sample has it."""
    keep = draw_presence(data, key["view"], key["share"], [key["seed"], key["repeat"]])
    fewer, names = data.data.hide(keep), data.data.names
    left = fewer.observed[train, names.index(key["view"])].any()
    return data.replace(fewer if left else fewer.select([name for name in names if name != key["view"]]))


def _complete(key: Mapping[str, Any], data: TaskData) -> dict[str, Any]:
    kernels = data.kernels
    part = kernels.hide(_kept(key, data))
    cells = np.argwhere(kernels.observed & ~part.observed & part.observed.any(axis=0))
    if not len(cells):
        raise ValueError("no cell could be hidden: no sample has a view to spare")
    completed = make_plan(key["method"], data, key["seed"]).estimator.fit_transform(part)
    return {"scores": score_hidden_rows(kernels, completed, cells), "hidden": len(cells)}


# ---------------------------------------------------- what a record may say: names, types, lengths, ranges


class RecordChecker:
    """Raises a sentence about what a record of a trial on these data cannot hold."""

    def __init__(self, data: TaskData) -> None:
        self.data = data
        self._splits: dict[tuple[int, int, int], list[tuple[Array, Array]]] = {}

    def __call__(self, record: Record) -> None:
        if not record.done:
            return
        key, result = record.trial, record.result
        _check_scores(self.data.task, result.get("scores"), "scores")
        if key["kind"] == "views":
            _check_scores(self.data.task, result.get("nothing"), "nothing")
        elif key["kind"] == "train":
            _check_count(result.get("n_train"), "n_train", len(self.data.data) - 1)
        elif key["kind"] == "full":
            for name in ("n_train", "n_test"):
                _check_count(result.get(name), name, key["samples"])
        elif key["kind"] == "predict":
            self._check_predictions(key, result)
        elif key["kind"] == "complete":
            self._check_completion(key, result)

    def _check_predictions(self, key: Mapping[str, Any], result: Mapping[str, Any]) -> None:
        asked = key["cv"], key["seed"], key["repeat"]
        if asked not in self._splits:
            self._splits[asked] = self.data.split(*asked)
        test = self._splits[asked][key["fold"]][1].tolist()
        if result.get("test") != test:
            raise ValueError("test is not the samples that were held out")
        task, width = self.data.task, len(self.data.classes)
        predicted = _numbers(
            result.get("predicted"), (len(test), width)[: 2 if task.name == "labels" else 1]
        )
        if predicted is None or not task.check_predictions(predicted, width):
            raise ValueError("predicted is not an answer for each sample that was held out")

    def _check_completion(self, key: Mapping[str, Any], result: Mapping[str, Any]) -> None:
        hidden = result.get("hidden")
        if type(hidden) is not int or not 0 < hidden <= self.data.data.observed.sum():
            raise ValueError(f"hidden is {_format_value(hidden)}; a number of cells is wanted")


def _check_scores(task: Task, scores: Any, where: str) -> None:
    """Every metric of the task, each a number that it can be, or None."""
    if not isinstance(scores, dict) or set(scores) != {metric.name for metric in task.metrics}:
        raise ValueError(f"{where} are not those of {', '.join(m.name for m in task.metrics)}")
    for metric in task.metrics:
        value, (least, most) = scores[metric.name], metric.range
        slack = 1e-9  # of rounding
        if value is not None and not (_is_number(value) and least - slack <= value <= most + slack):
            raise ValueError(
                f"{where} {metric.name!r} is {_format_value(value)}; a number from {least:g} to {most:g} "
                "is wanted"
            )


def _check_count(value: Any, name: str, most: int) -> None:
    if type(value) is not int or not 0 < value <= most:
        raise ValueError(f"{name} is {_format_value(value)}; a number of samples is wanted")


def _is_number(value: Any) -> bool:
    return type(value) in (int, float) and abs(value) <= _LARGEST


def _numbers(value: Any, shape: tuple[int, ...]) -> Array | None:
    """A list of that shape of finite numbers; None if it is something else."""
    try:
        array = np.array(value)
    except ValueError:  # lists of different lengths
        return None
    fits = array.shape == shape and array.dtype.kind in "iuf" and (np.abs(array) <= _LARGEST).all()
    return array.astype(np.float64) if fits else None


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
_CHANGED = {
    "data": "the data, or what classes are decided by, are others",
    "seed": "the seed is another",
    "version": "the method is another version",
    "parameters": "the parameters are others",
    "split": "the folds are others",
}


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

    def outstanding(self, retry: bool = False) -> list[Trial]:
        """What is to be run: no record yet, or (`retry`) it failed, or more is allowed now."""
        return self.records.outstanding(self.trials, self.design.limits, retry)

    def describe_outstanding(self, left: Sequence[Trial]) -> str:
        """One line: how many trials are there, and how many are run (`left`), and why."""
        n, reused = len(self.trials), len(self.trials) - len(left)
        words = f"{n} trials: {reused} are there already, {len(left)} to run"
        own = self.records.of(left)
        others = self.records.others(trial.hash for trial in self.trials) if left else ()
        before = {_same_trial(record.trial): record for record in others}
        why = Counter(_why(trial, own.get(trial.hash), before) for trial in left)
        reasons = [
            f"{count} because {reason}" if reason != "new" else f"{count} new"
            for reason, count in why.items()
        ]
        needed = reasons and (reused or set(why) - {"new"})
        return f"{words} ({', '.join(reasons)})" if needed else words

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
        """The first trial of each method that is tried."""
        firsts: dict[str, Trial] = {}
        for trial in self.trials:
            if trial.key["kind"] in ("predict", "complete"):
                firsts.setdefault(trial.key["method"], trial)
        return firsts

    def list_untimed(self) -> list[Trial]:
        """First trials that have no record yet: what they take decides how often slow methods are tried."""
        found = self.records.of(list(self.first_trials().values()))
        return [trial for trial in self.first_trials().values() if trial.hash not in found]

    def time_methods(
        self, pool: Pool, tell: Any = lambda record: None, begin: Any = lambda trial: None
    ) -> None:
        """Do the first trial of each method, and try those that are slow less often from then on."""
        untimed = self.list_untimed()
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
        self.run(self.outstanding(), pool, tell)
        full = make_full_trials(self.data, self.design)
        limits = replace(self.design.limits, seconds=self.design.time_limit or FULL_FIT_SECONDS)
        fit = FullFit(self.whole, len(self.data.data), self.design.seed)
        run(self.records.outstanding(full, limits), Run(self.records, fit, limits, tell), Pool(1))

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
        found = self.records.of(self.trials)
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
            done=len(found),
            wanted=len(self.trials),
            warnings=(*self.design.remarks, *_failed_parts(found.values())),
        )

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

    def _summarise(self, found: Mapping[str, Record]) -> ComparisonSummary:
        main = "complete" if self.data.kind == "completion" else "predict"
        hide, keys = self.design.hide, [trial.key for trial in self.trials if trial.key["kind"] == main]
        counts = Counter(key["method"] for key in keys if key.get("rate", hide) == hide)
        wanted = {method: counts[method] for method in self.design.methods}
        return ComparisonSummary(self.data, self.design, list(found.values()), wanted)


def _failed_parts(records: Iterable[Record]) -> Iterator[str]:
    """Failures that no row of the table counts."""
    parts = {"views": "of what views are worth", "rates": "of the curves"}
    parts |= dict.fromkeys(("train", "presence"), "of the learning curve")
    for kind, words in parts.items():
        failed = [record for record in records if record.trial["kind"] == kind and not record.done]
        if failed:
            yield f"{len(failed)} fits {words} failed, e.g. {failed[0].error}"


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
        for name in design.methods:
            make_plan(name, data)
        return Study(data, design, place)
    except ValueError as error:
        raise FileError(f"{place / DESIGN_FILE}: not a design for these data ({one_line(error)})") from None
