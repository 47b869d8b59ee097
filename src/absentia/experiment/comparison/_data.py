"""The data of a task: samples, perhaps with something to predict, and how kernels are made of features."""

from collections.abc import Mapping
from dataclasses import dataclass, replace
from functools import cached_property
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd
from sklearn.base import clone

from absentia.core import Array, Serialized, deserialize, serializable, serialize, warn
from absentia.data import AbsenceWarning, KernelViews, Views, find_repeats, parse_times
from absentia.data.survival import Survival, as_survival
from absentia.experiment.engine import content_hash
from absentia.files import FileError, one_line, read_state, write_state
from absentia.kernels import ViewKernels
from absentia.methods.prediction import restrict_kernel
from absentia.tasks import (
    TASKS,
    Classification,
    Task,
    choose_decision,
    is_unknown,
    order_samples,
    take_samples,
)

_MAX_CLASSES = 20  # that whole numbers can be; more of them are numbers
DATA_FILE = "data.absentia"
COVARIATES = "covariates"  # the view that they are


@serializable
@dataclass(frozen=True, eq=False)
class TaskData:
    """Samples, and what is known of them, in the same order.

    Parameters
    ----------
    data : Views or KernelViews
    kind : str
        Name of the task.
    y : (n,) or (n, labels), optional
        None (completion), codes of `classes`, numbers, times and events, or labels with NaN where unknown.
    classes : tuple
        Classes, or names of the labels.
    kernel : ViewKernels
        How kernels are made of features.
    decision : "balanced", "accuracy" or costs (classes, classes)
        What all methods decide classes by.
    times : (n,), optional
        When samples came: they are held out in blocks, and predicted from what came before.
    covariates : Views, optional
        One view, of the same samples, for which features are adjusted in the training part of a fold.
    """

    data: Any
    kind: str
    y: Array | None
    classes: tuple[Any, ...]
    kernel: ViewKernels
    decision: Any = "balanced"
    times: Array | None = None
    covariates: Views | None = None

    @property
    def task(self) -> Task:
        return Classification(self.decision) if self.kind == "classes" else TASKS[self.kind]

    @property
    def has_features(self) -> bool:
        return isinstance(self.data, Views)

    @property
    def targets(self) -> Array:
        """`y`, of a task that has targets."""
        assert self.y is not None
        return self.y

    @property
    def labels(self) -> Array:
        """The targets as they came: classes by name."""
        return np.array(self.classes)[self.targets] if self.kind == "classes" else self.targets

    @cached_property
    def hash(self) -> str:
        """The same for the same content, whichever of its arrays are one in memory."""
        state = serialize(self)
        contents = {
            number: content_hash(Serialized(None, {"": array})) for number, array in state.arrays.items()
        }
        return content_hash(Serialized(_resolve(state.tree, contents)))

    @cached_property
    def order(self) -> Array:
        """Samples in an order that the data decide."""
        return order_samples(self.data, *(() if self.y is None else self.task.order_keys(self.y)))

    @cached_property
    def kernels(self) -> KernelViews:
        """Of all samples."""
        return clone(self.kernel).fit_transform(self.data) if self.has_features else self.data

    def take(self, rows: Array) -> "TaskData":
        """The task of the samples `rows`."""
        besides = {name: getattr(self, name) for name in ("y", "times", "covariates")}
        some: Any = {name: None if values is None else values[rows] for name, values in besides.items()}
        return replace(self, data=take_samples(self.data, rows), **some)

    def split(self, n_folds: int, seed: int, repeat: int) -> list[tuple[Array, Array]]:
        """Positions to learn from and to hold out, fold by fold; all of it follows from data and seed."""
        if self.times is not None:
            return self.task.make_time_folds(self.targets, self.times, self.data.groups, n_folds)
        return self.task.make_folds(self.order, self.targets, n_folds, [seed, repeat], self.data.groups)

    def replace(self, data: Any) -> "TaskData":
        """The same of other data of these samples."""
        return replace(self, data=data, kernel=restrict_kernel(self.kernel, data.names))

    def judged_by(self, score: str | None, costs: Any = None) -> "TaskData":
        """The same with classes decided so that this score is best; of costs of mistakes, these."""
        if self.kind == "classes":
            return replace(self, decision=choose_decision(score, costs, self.classes))
        if costs is not None:
            raise ValueError(f"costs of mistakes are of classes, and the labels are {self.kind}")
        return self

    def save(self, folder: Path) -> None:
        write_state(folder / DATA_FILE, serialize(self, "data"), {})


def _resolve(tree: Any, contents: Mapping[str, str]) -> Any:
    """The tree of plain data with arrays by what they hold instead of by number."""
    if isinstance(tree, list):
        return [_resolve(item, contents) for item in tree]
    if not isinstance(tree, dict):
        return tree
    if tree.get("is") == "array":
        return {"is": "array", "holds": contents[tree["number"]]}
    return {key: _resolve(item, contents) for key, item in tree.items()}


def load_data(folder: Path) -> TaskData:
    """What :meth:`TaskData.save` wrote; nothing in the file is run."""
    path = folder / DATA_FILE
    state, _ = read_state(path)
    try:
        loaded = deserialize(state.tree, state.arrays)
        if isinstance(loaded, TaskData) and not isinstance(loaded.decision, str):
            choose_decision(None, loaded.decision, loaded.classes)  # refuses what cannot be costs of these
    except (MemoryError, OSError):
        raise
    except Exception as error:  # whatever somebody may have put together
        raise FileError(f"{path}: not what a comparison keeps: {one_line(error)}") from error
    if not isinstance(loaded, TaskData) or loaded.kind not in TASKS:
        raise FileError(f"{path}: holds {type(loaded).__name__}, not the data of a comparison")
    return loaded


# ------------------------------------------------------------------------------------- what comes in


def make_task_data(
    data: Any, y: Any = None, kernel: Any = "rbf", groups: Any = None, time: Any = None, adjust: Any = None
) -> TaskData:
    """What is to be compared on, out of what a user has.

    Parameters
    ----------
    data : Views, KernelViews, or a mapping of names to tables
        Samples with some views absent.
    y : Series or mapping by id, or array in the order of the samples, optional
        Classes, numbers, a table of labels (1, 0, unknown), or times and events by name (as
        :func:`absentia.survival.as_survival` takes them).  Samples without are left out.
    kernel : str or ViewKernels
        How kernels are made of features.
    groups : optional
        Who belongs together, as ``with_groups`` of the data takes it; None: as the data have it.
    time : Series or mapping by id, or array in the order of the samples, optional
        When samples came, numbers or dates.
    adjust : DataFrame by id, or mapping of names to columns by id, optional
        Covariates that features are adjusted for.
    """
    if isinstance(data, Mapping):
        data = Views.from_dict(data)
    if not isinstance(data, Views | KernelViews):
        raise TypeError(f"Views, KernelViews or a dict of tables is wanted, not {type(data).__name__}")
    data = data if groups is None else data.with_groups(groups)
    for repeat in find_repeats(data):
        warn(repeat.sentence, AbsenceWarning)
    view_kernels = clone(kernel) if isinstance(kernel, ViewKernels) else ViewKernels(kernel)
    seen = data.observed.any(axis=1)
    if y is None:
        for name, given in (("time", time), ("adjust", adjust)):
            if given is not None:
                raise ValueError(f"{name} is of predictions: give labels, or leave it out")
        if data.observed.sum(axis=1).max(initial=0) < 2:
            raise ValueError(
                "no sample has two views, so that none can be hidden and completed from another; give "
                "labels, or more views"
            )
        return TaskData(_among(data, np.flatnonzero(seen)), "completion", None, (), view_kernels)
    values, names, kind = _read_values(data, y)
    usable = np.flatnonzero(seen & np.array([not is_unknown(row) for row in values]))
    if len(usable) < len(data):
        lost = len(data) - len(usable)
        warn(f"{lost} of {len(data)} samples have no label or no view: left out", AbsenceWarning)
    values = _unify_types(values[usable])
    if time is not None:
        by_id = isinstance(time, Mapping) or hasattr(time, "iloc")
        time = (data.align(time) if by_id else np.asarray(time))[usable]
    part, kind = _among(data, usable), kind or _guess_task(values)
    covariates = None if adjust is None else make_covariates(part, adjust)
    targets = TASKS[kind].prepare_targets(values, part.ids, names)
    return TaskData(
        _among(part, targets.kept),
        kind,
        targets.y,
        targets.names,
        view_kernels,
        times=None if time is None else parse_times(time, part.ids)[targets.kept],
        covariates=None if covariates is None else covariates[targets.kept],
    )


def make_covariates(data: Any, table: Any) -> Views:
    """A view "covariates" of the samples out of columns by id; what can be read as numbers is numbers."""
    if not isinstance(data, Views):
        raise ValueError(
            "features are adjusted for covariates, and the data are kernels; give the features"
        )
    if not isinstance(table, Mapping) and not hasattr(table, "columns"):
        raise TypeError(
            f"covariates are a data frame by id, or a dict of columns by id, not {type(table).__name__}"
        )
    columns = {str(name): _as_numbers(data.align(table[name])) for name in table}
    if not columns:
        raise ValueError("there are no covariates to adjust for; name some, as age or site")
    frame = pd.DataFrame(columns, index=pd.Index(data.ids.tolist()))
    return replace(Views.from_dict({COVARIATES: frame}), ids=data.ids)


def _as_numbers(column: Array) -> Array:
    """A column as numbers, NaN where unknown, if all that is known can be; else as texts and None."""
    known = [None if is_unknown(value) else value for value in column.tolist()]
    try:
        return np.array([np.nan if value is None else float(value) for value in known])
    except ValueError:
        return np.array([None if value is None else str(value) for value in known], dtype=object)


def _read_values(data: Any, y: Any) -> tuple[Array, tuple[str, ...], str]:
    """Labels in the order of the samples, names of several labels, and the task, if the labels say it."""
    names = tuple(map(str, getattr(y, "columns", ())))
    if {"time", "event"} == {name.lower() for name in names}:
        both = sorted(y.columns, key=lambda name: str(name).lower(), reverse=True)  # time, event
        columns = [np.asarray(data.align(y[name]), dtype=np.float64) for name in both]
        return np.column_stack(columns), (), "survival"
    if isinstance(y, Survival) or getattr(getattr(y, "dtype", None), "names", None):
        return np.column_stack(as_survival(y, data)).astype(np.float64), (), "survival"
    if len(names) > 1 and hasattr(y, "iloc"):
        y = np.column_stack([data.align(y.iloc[:, j]) for j in range(len(names))])
    elif isinstance(y, Mapping) or hasattr(y, "iloc"):
        y = data.align(y)
    values = np.asarray(y)
    if values.ndim not in (1, 2) or len(values) != len(data):
        raise ValueError(
            f"labels of shape {values.shape} for {len(data)} samples; give one for each, or of several "
            "labels a row, or a Series by id"
        )
    return (values[:, 0] if values.ndim == 2 and values.shape[1] == 1 else values), names, ""


def _unify_types(values: Array) -> Array:
    """Numbers that came among gaps are numbers again."""
    if values.dtype != object or values.ndim != 1:
        return values
    texts = [x for x in values if isinstance(x, str)]
    if 0 < len(texts) < len(values):
        other = next(x for x in values if not isinstance(x, str))
        raise ValueError(f"labels are texts ({texts[0]!r}) and others ({other!r}); give one kind of them")
    return np.array(values.tolist())


def _guess_task(values: Array) -> str:
    """Texts are classes, and so are up to :data:`_MAX_CLASSES` different whole numbers."""
    if values.ndim == 2:
        return "labels"
    if values.dtype.kind not in "iuf":
        return "classes"
    whole = bool((values == np.round(values)).all())
    return "classes" if whole and len(np.unique(values)) <= _MAX_CLASSES else "numbers"


def _among(data: Any, rows: Array) -> Any:
    return data if len(rows) == len(data) else take_samples(data, rows)
