"""One trial: learn from some samples and judge on others, or hide some cells and complete them.

Whether what a record says can have come of its trial is checked by names, types, lengths and ranges.
"""

from collections.abc import Mapping
from pathlib import Path
from typing import Any

import numpy as np

from absentia.core import Array
from absentia.experiment.comparison._data import TaskData, load_data
from absentia.experiment.comparison._design import (
    draw_kept_cells,
    draw_presence,
    draw_training_part,
    hash_arrays,
    make_plan,
)
from absentia.experiment.engine import FolderError, Record
from absentia.methods.models import Model, adjust_before
from absentia.tasks import COMPLETION, Plan, Predictions, Task, Tick, adjust_samples, score_hidden_rows

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
        make_plan(key["method"], data.for_completion() if key["kind"] == "complete" else data)

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
    completed = make_plan(key["method"], data.for_completion(), key["seed"]).estimator.fit_transform(part)
    return {"scores": score_hidden_rows(kernels, completed, cells), "hidden": len(cells)}


# ------------------------------------------------------------------------------- what a record may say


class RecordChecker:
    """Raises a sentence about what a record of a trial on these data cannot hold."""

    def __init__(self, data: TaskData) -> None:
        self.data = data
        self._splits: dict[tuple[int, int, int], list[tuple[Array, Array]]] = {}

    def __call__(self, record: Record) -> None:
        if not record.done:
            return
        key, result = record.trial, record.result
        task = COMPLETION if key["kind"] == "complete" else self.data.task
        _check_scores(task, result.get("scores"), "scores")
        if key["kind"] == "views":
            _check_scores(task, result.get("nothing"), "nothing")
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
            raise ValueError(f"hidden is {_shown(hidden)}; a number of cells is wanted")


def _check_scores(task: Task, scores: Any, where: str) -> None:
    """Every metric of the task, each a number that it can be, or None."""
    if not isinstance(scores, dict) or set(scores) != {metric.name for metric in task.metrics}:
        raise ValueError(f"{where} are not those of {', '.join(m.name for m in task.metrics)}")
    for metric in task.metrics:
        value, (least, most) = scores[metric.name], metric.range
        slack = 1e-9  # of rounding
        if value is not None and not (_is_number(value) and least - slack <= value <= most + slack):
            raise ValueError(
                f"{where} {metric.name!r} is {_shown(value)}; a number from {least:g} to {most:g} is wanted"
            )


def _check_count(value: Any, name: str, most: int) -> None:
    if type(value) is not int or not 0 < value <= most:
        raise ValueError(f"{name} is {_shown(value)}; a number of samples is wanted")


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


def _shown(value: Any) -> str:
    return repr(value)[:40]
