"""Whether what a record says can have come of its trial: names, types, lengths and ranges."""

import base64
import binascii
from collections.abc import Mapping, Sequence
from typing import Any

import numpy as np

from absentia.core import Array
from absentia.experiment.comparison._data import TaskData
from absentia.experiment.comparison._performing import MAP_SIDE
from absentia.experiment.engine import Record
from absentia.tasks import COMPLETION, Task

_PICTURES = ("truth", "hidden", "completed")
_LARGEST = 1e100  # of a number: squares of it and their sums stay finite


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
        if not width or result.get("probabilities") is None:
            return
        probabilities = _numbers(result["probabilities"], (len(test), width))
        if probabilities is None or probabilities.min(initial=0) < 0 or probabilities.max(initial=0) > 1:
            raise ValueError("probabilities are not numbers from 0 to 1 for each sample and class")

    def _check_completion(self, key: Mapping[str, Any], result: Mapping[str, Any]) -> None:
        names, hidden = self.data.data.names, result.get("hidden")
        if type(hidden) is not int or not 0 < hidden <= self.data.data.observed.sum():
            raise ValueError(f"hidden is {_shown(hidden)}; a number of cells is wanted")
        for name, scores in _mapping(result.get("by view"), "by view", names).items():
            _check_scores(COMPLETION, scores, f"by view {name!r}")
        if key["repeat"] == 0:
            _check_maps(result.get("maps"), names, len(self.data.data))


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
    side = min(MAP_SIDE, n_samples)
    if not isinstance(maps, dict) or maps.get("side") != side or not isinstance(maps.get("order"), str):
        raise ValueError(f"maps are not pictures of {side} x {side} blocks")
    views = _mapping(maps.get("views"), "views of maps", names)
    if set(views) != set(names):
        raise ValueError(f"maps are not of the views {', '.join(names)}")
    for name, view in views.items():
        ends = _mapping(view, f"map {name!r}", ("low", "high", *_PICTURES))
        low: Any = ends.get("low")
        high: Any = ends.get("high")
        if not (_is_number(low) and _is_number(high) and low <= high):
            raise ValueError(f"map {name!r} goes from {_shown(low)} to {_shown(high)}; numbers are wanted")
        if not all(_is_picture(ends.get(what), side) for what in _PICTURES):
            raise ValueError(f"map {name!r} is not {', '.join(_PICTURES)} of {side} x {side} bytes")


def _is_picture(text: Any, side: int) -> bool:
    try:
        return isinstance(text, str) and len(base64.b64decode(text, validate=True)) == side * side
    except (binascii.Error, ValueError):
        return False


def _mapping(value: Any, what: str, names: Sequence[str]) -> dict[str, Any]:
    if not isinstance(value, dict) or not set(value) <= set(names):
        raise ValueError(f"{what} is not by {', '.join(names)}")
    return value


def _is_number(value: Any) -> bool:
    return type(value) in (int, float) and abs(value) <= _LARGEST


def _numbers(value: Any, shape: tuple[int, ...]) -> Array | None:
    """A list of that shape of finite numbers; None if it is something else."""
    rows = value if len(shape) > 1 else [value]
    lists = isinstance(rows, list) and all(isinstance(row, list) for row in rows)
    if not lists or not all(_is_number(one) for row in rows for one in row):
        return None
    if len(rows) != (shape[0] if len(shape) > 1 else 1) or any(len(row) != shape[-1] for row in rows):
        return None
    return np.array(value, dtype=np.float64)


def _shown(value: Any) -> str:
    return repr(value)[:40]
