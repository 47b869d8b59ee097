"""One trial: learn from some samples and judge on others, or hide some cells and complete them.

Completed kernels are kept in records as small pictures: block means, one byte each.
"""

import base64
from collections.abc import Mapping
from pathlib import Path
from typing import Any

import numpy as np

from absentia.core import Array
from absentia.data import KernelViews
from absentia.experiment.comparison._data import TaskData, load_data
from absentia.experiment.comparison._design import draw_kept_cells, hash_arrays, make_plan
from absentia.experiment.engine import FolderError
from absentia.methods.models import Model
from absentia.tasks import Predictions, Task, score_completion

_PROBABILITY_DIGITS = 6
MAP_SIDE = 40  # blocks along each axis of a picture
EMPTY_BYTE = 255  # of a block in which nothing is
BLOCK_ROWS = 256
_loaded: dict[str, TaskData] = {}


class Perform:
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
        return perform(key, self._data())


def perform(key: Mapping[str, Any], data: TaskData) -> dict[str, Any]:
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
    return _predict(key, data, train, test)


def _predict(key: Mapping[str, Any], data: TaskData, train: Array, test: Array) -> dict[str, Any]:
    task, y = data.task, data.targets
    model = task.learn(data.part(train), y[train], make_plan(key["method"], data, key["seed"]))
    said = predict_samples(task, model, data.part(test, train))
    if not np.isfinite(said.values.astype(float)).all():
        raise ValueError("predicted what is no number")
    result: dict[str, Any] = {"scores": task.scores(y[test], said)}
    if key["kind"] == "views":
        result["nothing"] = task.prior_scores(y[test], y[train])
    if key["kind"] == "predict":
        result |= {"test": test.tolist(), "predicted": said.values.tolist()}
        rounded = None if said.probabilities is None else said.probabilities.round(_PROBABILITY_DIGITS)
        result["probabilities"] = None if rounded is None else rounded.tolist()
    return result


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


def _complete(key: Mapping[str, Any], data: TaskData) -> dict[str, Any]:
    kernels = data.kernels
    part = kernels.hide(_kept(key, data))
    cells = np.argwhere(kernels.observed & ~part.observed & part.observed.any(axis=0))
    if not len(cells):
        raise ValueError("no cell could be hidden: no sample has a view to spare")
    completed = make_plan(key["method"], data.for_completion(), key["seed"]).estimator.fit_transform(part)
    scores = score_completion(kernels, completed, cells)
    result: dict[str, Any] = {"scores": scores.pop(""), "by view": scores, "hidden": len(cells)}
    if key["repeat"] == 0:
        result["maps"] = draw_maps(data, kernels, part, completed)
    return result


# --------------------------------------------------------------------------------------------- pictures


def draw_maps(
    data: TaskData, kernels: KernelViews, part: KernelViews, completed: KernelViews
) -> dict[str, Any]:
    """Pictures of each view: as it is, with cells hidden, and completed."""
    order, words = order_for_maps(data, kernels)
    groups = np.array_split(order, min(MAP_SIDE, len(order)))
    maps: dict[str, Any] = {"side": len(groups), "order": words, "views": {}}
    for v, name in enumerate(kernels.names):
        means = {
            "truth": block_means(kernels, v, groups),
            "hidden": block_means(part, v, groups),
            "completed": block_means(completed, v, groups),
        }
        there = np.concatenate([m[np.isfinite(m)] for m in means.values()])
        low, high = (float(there.min()), float(there.max())) if len(there) else (0.0, 1.0)
        coded = {what: _encode_map(m, low, high) for what, m in means.items()}
        maps["views"][name] = {"low": low, "high": high, **coded}
    return maps


def order_for_maps(data: TaskData, kernels: KernelViews) -> tuple[Array, str]:
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


def block_means(kernels: KernelViews, v: int, groups: list[Array]) -> Array:
    """Means of a view's kernel over blocks of samples that have it; NaN where nobody does."""
    has, operator = kernels.observed[:, v], kernels.operator(kernels.names[v])
    place = np.cumsum(has) - 1
    member = np.concatenate([np.full(int(has[g].sum()), i) for i, g in enumerate(groups)]).astype(int)
    inside = np.concatenate([place[g[has[g]]] for g in groups]).astype(int)
    sums, side = np.zeros((len(groups), len(groups))), len(groups)
    for part in np.array_split(np.arange(len(inside)), max(1, -(-len(inside) // BLOCK_ROWS))):
        rows = np.asarray(operator.block(inside[part], inside), dtype=np.float64)
        across = np.array([np.bincount(member, row, minlength=side) for row in rows])
        np.add.at(sums, member[part], across.reshape(len(part), side))
    counts = np.bincount(member, minlength=side)
    each = np.outer(counts, counts)
    return np.where(each > 0, sums / np.maximum(each, 1), np.nan)


def _encode_map(means: Array, low: float, high: float) -> str:
    span = high - low if high > low else 1.0
    index = np.rint(np.clip((np.nan_to_num(means, nan=low) - low) / span, 0, 1) * (EMPTY_BYTE - 1))
    coded = np.where(np.isnan(means), EMPTY_BYTE, index).astype(np.uint8)
    return base64.b64encode(coded.tobytes()).decode()


def decode_map(view: Mapping[str, Any], what: str, side: int) -> Array:
    """A picture of a record again, NaN where nothing is."""
    index = np.frombuffer(base64.b64decode(view[what]), dtype=np.uint8).reshape(side, side).astype(float)
    values = view["low"] + index / (EMPTY_BYTE - 1) * (view["high"] - view["low"])
    return np.where(index == EMPTY_BYTE, np.nan, values)
