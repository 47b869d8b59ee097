"""One trial: learn from some samples and judge on others, or hide some cells and complete them.

Completed kernels are kept in records as small pictures: block means, one byte each.  Whether what a record
says can have come of its trial is checked by names, types, lengths and ranges.
"""

import base64
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

import numpy as np

from absentia.core import Array
from absentia.data import KernelViews
from absentia.experiment.comparison._data import TaskData, load_data
from absentia.experiment.comparison._design import (
    draw_kept_cells,
    draw_presence,
    draw_training_part,
    hash_arrays,
    make_plan,
)
from absentia.experiment.engine import FolderError, Record
from absentia.methods.models import Model
from absentia.tasks import COMPLETION, Predictions, Task, score_hidden_rows

_PICTURES = ("truth", "hidden", "completed")
_MAP_SIDE = 40  # blocks along each axis of a picture
_EMPTY_BYTE = 255  # of a block in which nothing is
_BLOCK_ROWS = 256  # of a kernel that are looked at together
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
    return _predict(key, data, train, test)


def _predict(key: Mapping[str, Any], data: TaskData, train: Array, test: Array) -> dict[str, Any]:
    task, y = data.task, data.targets
    said = _learn_and_predict(key, data, train, test)
    if not np.isfinite(said.values.astype(float)).all():
        raise ValueError("predicted what is no number")
    result: dict[str, Any] = {"scores": task.scores(y[test], said)}
    if key["kind"] == "views":
        result["nothing"] = task.prior_scores(y[test], y[train])
    if key["kind"] == "train":
        result["n_train"] = len(train)
    if key["kind"] == "predict":
        result |= {"test": test.tolist(), "predicted": said.values.tolist()}
    return result


def _learn_and_predict(key: Mapping[str, Any], data: TaskData, train: Array, test: Array) -> Predictions:
    plan = make_plan(key["method"], data, key["seed"])
    model = data.task.learn(data.part(train), data.targets[train], plan)
    return predict_samples(data.task, model, data.part(test, train))


def predict_samples(task: Task, model: Any, data: Any) -> Predictions:
    """What a model says of samples; one with kernels before it, of some at a time."""
    if not isinstance(model, Model):
        return task.predict(model, data)
    parts = [task.predict(model.classifier, rows) for rows in model.blocks(data)]
    values = np.concatenate([part.values for part in parts])
    if any(part.probabilities is None for part in parts):
        return Predictions(values)
    return Predictions(values, np.concatenate([np.asarray(part.probabilities) for part in parts]))


def fit_to_all(data: TaskData, method: str, seed: int = 0) -> Any:
    """A method fitted to all samples; classes are those that came."""
    plan = make_plan(method, data, seed)
    if data.kind == "completion":
        return plan.estimator.fit(data.kernels)
    y = np.array(data.classes)[data.targets] if data.kind == "classes" else data.targets
    return data.task.learn(data.data, y, plan)


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
    result = {"scores": score_hidden_rows(kernels, completed, cells), "hidden": len(cells)}
    if key["repeat"] == 0:
        result["maps"] = draw_maps(data, kernels, part, completed)
    return result


# --------------------------------------------------------------------------------------------- pictures


def draw_maps(
    data: TaskData, kernels: KernelViews, part: KernelViews, completed: KernelViews
) -> dict[str, Any]:
    """Pictures of each view: as it is, with cells hidden, and completed."""
    order, words = _order_for_maps(data, kernels)
    groups = np.array_split(order, min(_MAP_SIDE, len(order)))
    maps: dict[str, Any] = {"side": len(groups), "order": words, "views": {}}
    for v, name in enumerate(kernels.names):
        pictures = zip(_PICTURES, (kernels, part, completed), strict=True)
        means = {what: _block_means(pictured, v, groups) for what, pictured in pictures}
        there = np.concatenate([m[np.isfinite(m)] for m in means.values()])
        low, high = (float(there.min()), float(there.max())) if len(there) else (0.0, 1.0)
        coded = {what: _encode_map(m, low, high) for what, m in means.items()}
        maps["views"][name] = {"low": low, "high": high, **coded}
    return maps


def _order_for_maps(data: TaskData, kernels: KernelViews) -> tuple[Array, str]:
    """Positions of samples for pictures, and how they are ordered."""
    if data.kind == "classes":
        return np.lexsort((data.order.argsort(), data.targets)), "Samples are ordered by class."
    return _leading_order(kernels), "Samples are ordered by the leading direction of the average kernel."


def _leading_order(kernels: KernelViews, n_iter: int = 30) -> Array:
    """By the leading eigenvector of the centred average kernel, absent views read as zero."""
    n = len(kernels)
    x = np.cos(1.0 + np.arange(n))  # any start in general position
    for _ in range(n_iter):
        x = x - x.mean()
        total = np.zeros(n)
        for v, name in enumerate(kernels.names):
            has = np.flatnonzero(kernels.observed[:, v])
            size = kernels.mean_diagonal(name)
            if len(has) and size > 0:
                total[has] += np.asarray(kernels.operator(name) @ x[has, None])[:, 0] / size
        x = total / max(float(np.linalg.norm(total)), 1e-300)
    return np.argsort(x, kind="stable")


def _block_means(kernels: KernelViews, v: int, groups: list[Array]) -> Array:
    """Means of a view's kernel over blocks of samples that have it; NaN where nobody does."""
    has, operator = kernels.observed[:, v], kernels.operator(kernels.names[v])
    place = np.cumsum(has) - 1
    member = np.concatenate([np.full(int(has[g].sum()), i) for i, g in enumerate(groups)]).astype(int)
    inside = np.concatenate([place[g[has[g]]] for g in groups]).astype(int)
    sums, side = np.zeros((len(groups), len(groups))), len(groups)
    for part in np.array_split(np.arange(len(inside)), max(1, -(-len(inside) // _BLOCK_ROWS))):
        rows = np.asarray(operator.block(inside[part], inside), dtype=np.float64)
        across = np.array([np.bincount(member, row, minlength=side) for row in rows])
        np.add.at(sums, member[part], across.reshape(len(part), side))
    counts = np.bincount(member, minlength=side)
    each = np.outer(counts, counts)
    return np.where(each > 0, sums / np.maximum(each, 1), np.nan)


def _encode_map(means: Array, low: float, high: float) -> str:
    span = high - low if high > low else 1.0
    index = np.rint(np.clip((np.nan_to_num(means, nan=low) - low) / span, 0, 1) * (_EMPTY_BYTE - 1))
    coded = np.where(np.isnan(means), _EMPTY_BYTE, index).astype(np.uint8)
    return base64.b64encode(coded.tobytes()).decode()


def decode_map(view: Mapping[str, Any], what: str, side: int) -> Array:
    """A picture of a record again, NaN where nothing is."""
    index = np.frombuffer(base64.b64decode(view[what]), dtype=np.uint8).reshape(side, side).astype(float)
    values = view["low"] + index / (_EMPTY_BYTE - 1) * (view["high"] - view["low"])
    return np.where(index == _EMPTY_BYTE, np.nan, values)


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
            self._check_n_train(result.get("n_train"))
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

    def _check_n_train(self, n_train: Any) -> None:
        if type(n_train) is not int or not 0 < n_train < len(self.data.data):
            raise ValueError(f"n_train is {_shown(n_train)}; a number of samples is wanted")

    def _check_completion(self, key: Mapping[str, Any], result: Mapping[str, Any]) -> None:
        hidden = result.get("hidden")
        if type(hidden) is not int or not 0 < hidden <= self.data.data.observed.sum():
            raise ValueError(f"hidden is {_shown(hidden)}; a number of cells is wanted")
        if key["repeat"] == 0:
            _check_maps(result.get("maps"), self.data.data.names, len(self.data.data))


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


def _check_maps(maps: Any, names: Sequence[str], n_samples: int) -> None:
    side = min(_MAP_SIDE, n_samples)
    try:
        whole = maps["side"] == side and isinstance(maps["order"], str) and set(maps["views"]) == set(names)
        for view in maps["views"].values():
            for what in _PICTURES:
                decode_map(view, what, side)
    except (TypeError, KeyError, ValueError, AttributeError, OverflowError):
        whole = False
    if not whole:
        raise ValueError(f"maps are not pictures of {', '.join(names)}, {side} x {side} blocks each")


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
