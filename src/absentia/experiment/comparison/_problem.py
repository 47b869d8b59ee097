"""What is compared on: samples, perhaps with something to predict, and how kernels are made of features."""

from collections.abc import Mapping
from dataclasses import dataclass
from functools import cached_property
from pathlib import Path
from typing import Any

import numpy as np
from sklearn.base import clone

from absentia.core import Array, Serialized, deserialize, serializable, serialize, warn
from absentia.data import (
    AbsenceWarning,
    KernelViews,
    Views,
    feature_profiles,
    joined,
    kernel_profiles,
    sample_order,
    shown,
)
from absentia.experiment._findings import Task
from absentia.experiment._numbers import check_numbers
from absentia.experiment._validation import FEWEST, check_classes
from absentia.experiment.engine import content_hash
from absentia.files import FileError, one_line, read_state, write_state
from absentia.kernels import ViewKernels
from absentia.methods.prediction import for_views

MOST_CLASSES = 20  # that whole numbers can be; more of them are numbers
FILE = "data.absentia"


@serializable
@dataclass(frozen=True, eq=False)
class Problem:
    """Samples, and what is known of them, in the same order.

    `y` is None (completion), codes of `classes`, numbers, or samples x labels with NaN where unknown;
    `classes` are then the labels' names.  `kernel` makes kernels of features.
    """

    data: Any
    task: Task
    y: Array | None
    classes: tuple[Any, ...]
    kernel: ViewKernels

    @property
    def takes_features(self) -> bool:
        return isinstance(self.data, Views)

    @cached_property
    def hash(self) -> str:
        """The same for the same content, whichever of its arrays are one in memory."""
        state = serialize(self)
        contents = {
            number: content_hash(Serialized(None, {"": one})) for number, one in state.arrays.items()
        }
        return content_hash(Serialized(_resolved(state.tree, contents)))

    @cached_property
    def order(self) -> Array:
        """Samples in an order that the data decide."""
        profiles = feature_profiles(self.data) if self.takes_features else kernel_profiles(self.data)
        more = () if self.y is None else tuple(np.nan_to_num(np.atleast_2d(self.y.T), nan=-1.0))
        return sample_order(profiles, self.data.observed, *more)

    @cached_property
    def size(self) -> tuple[int, int]:
        """Features of all views, and different values of the one that has most."""
        if not self.takes_features:
            return 0, 1
        blocks = [joined(self.data.select([name])) for name in self.data.names]
        ordered = [np.sort(block, axis=0) for block in blocks]
        most = [int((np.diff(one, axis=0) > 0).sum(axis=0).max(initial=0)) + 1 for one in ordered]
        return sum(block.shape[1] for block in blocks), max(most)

    @cached_property
    def kernels(self) -> KernelViews:
        """Of all samples."""
        return clone(self.kernel).fit_transform(self.data) if self.takes_features else self.data

    def part(self, rows: Array, columns: Array) -> Any:
        """Samples `rows`, of kernels against `columns`."""
        return self.data[rows] if self.takes_features else self.data[np.ix_(rows, columns)]

    def changed(self, data: Any) -> "Problem":
        """The same of other data of these samples."""
        return Problem(data, self.task, self.y, self.classes, for_views(self.kernel, data.names))

    def save(self, folder: Path) -> None:
        write_state(folder / FILE, serialize(self, "data"), {})


def _resolved(tree: Any, contents: Mapping[str, str]) -> Any:
    """The tree of plain data with arrays by what they hold instead of by number."""
    if isinstance(tree, list):
        return [_resolved(one, contents) for one in tree]
    if not isinstance(tree, dict):
        return tree
    if tree.get("is") == "array":
        return {"is": "array", "holds": contents[tree["number"]]}
    return {key: _resolved(one, contents) for key, one in tree.items()}


def load_problem(folder: Path) -> Problem:
    """What :meth:`Problem.save` wrote; nothing in the file is run."""
    state, _ = read_state(folder / FILE)
    try:
        found = deserialize(state.tree, state.arrays)
    except (MemoryError, OSError):
        raise
    except Exception as error:  # whatever somebody may have put together
        raise FileError(f"{folder / FILE}: not what a comparison keeps: {one_line(error)}") from error
    if not isinstance(found, Problem):
        raise FileError(f"{folder / FILE}: holds {type(found).__name__}, not the data of a comparison")
    return found


# ------------------------------------------------------------------------------------- what comes in


def problem_of(data: Any, y: Any = None, kernel: Any = "rbf") -> Problem:
    """What is to be compared on, out of what a user has.

    Parameters
    ----------
    data : Views, KernelViews, or a mapping of names to tables
        Samples with some views absent.
    y : Series or mapping by id, or array in the order of the samples, optional
        Classes, numbers, or a table of labels (1, 0, unknown).  Samples without are left out.
    kernel : str or ViewKernels
        How kernels are made of features.
    """
    if isinstance(data, Mapping):
        data = Views.from_dict(data)
    if not isinstance(data, Views | KernelViews):
        raise TypeError(f"Views, KernelViews or a dict of tables is wanted, not {type(data).__name__}")
    makes = clone(kernel) if isinstance(kernel, ViewKernels) else ViewKernels(kernel)
    seen = data.observed.any(axis=1)
    if y is None:
        if data.observed.sum(axis=1).max(initial=0) < 2:
            raise ValueError(
                "no sample has two views, so that none can be hidden and completed from another; give "
                "labels, or more views"
            )
        return Problem(_among(data, np.flatnonzero(seen)), "completion", None, (), makes)
    values, names = _values(data, y)
    usable = np.flatnonzero(seen & np.array([not _unknown(row) for row in values]))
    if len(usable) < len(data):
        lost = len(data) - len(usable)
        warn(f"{lost} of {len(data)} samples have no label or no view: left out", AbsenceWarning)
    return labelled(_among(data, usable), _of_one_kind(values[usable]), makes, names)


def labelled(
    data: Any, values: Array, makes: ViewKernels, names: tuple[str, ...] = (), task: Task | None = None
) -> Problem:
    """Samples that all have a view and a label; classes that are too small for folds are left out."""
    makes, task = clone(makes), task or _task(values)
    if task == "labels":
        names = names or tuple(f"label{j}" for j in range(values.shape[1]))
        Y = np.column_stack([_numbers(column, name) for name, column in zip(names, values.T, strict=True)])
        _check_labels(Y, names, data.ids)
        return Problem(data, task, Y, names, makes)
    if task == "numbers":
        numbers = np.asarray(values, dtype=np.float64)
        check_numbers(numbers)
        return Problem(data, task, numbers, (), makes)
    rows = _of_large_classes(values)
    data, values = _among(data, rows), values[rows]
    check_classes(values)
    classes, codes = np.unique(values, return_inverse=True)
    return Problem(data, task, codes, tuple(classes.tolist()), makes)


def _values(data: Any, y: Any) -> tuple[Array, tuple[str, ...]]:
    """Labels in the order of the samples: by id if they have ids, else as they stand."""
    names = tuple(map(str, getattr(y, "columns", ())))
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
    return (values[:, 0] if values.ndim == 2 and values.shape[1] == 1 else values), names


def _unknown(row: Any) -> bool:
    """Whether nothing is known: NaN, NA, None or an empty text, of several labels all of them."""
    if isinstance(row, np.ndarray):
        return all(_unknown(one) for one in row)
    if row is None or (isinstance(row, str) and not row):
        return True
    try:
        return bool(row != row)
    except TypeError:  # pandas' NA says neither
        return True


def _of_one_kind(values: Array) -> Array:
    """Numbers that came among gaps are numbers again."""
    if values.dtype != object or values.ndim != 1:
        return values
    texts = [x for x in values if isinstance(x, str)]
    if 0 < len(texts) < len(values):
        other = next(x for x in values if not isinstance(x, str))
        raise ValueError(f"labels are texts ({texts[0]!r}) and others ({other!r}); give one kind of them")
    return np.array(values.tolist())


def _numbers(column: Array, name: str) -> Array:
    """A label's values; NaN where unknown."""
    try:
        return np.array([np.nan if _unknown(x) else float(x) for x in column])
    except (TypeError, ValueError):
        other = next(str(x) for x in column if isinstance(x, str) and x)
        raise ValueError(
            f"label {name!r} has the value {other!r}; of several labels each is 1, 0 or unknown"
        ) from None


def _task(values: Array) -> Task:
    """Texts are classes, and so are up to :data:`MOST_CLASSES` different whole numbers."""
    if values.ndim == 2:
        return "labels"
    if values.dtype.kind not in "iuf":
        return "classes"
    whole = bool((values == np.round(values)).all())
    return "classes" if whole and len(np.unique(values)) <= MOST_CLASSES else "numbers"


def _of_large_classes(values: Array) -> Array:
    """Positions of samples of classes that are large enough to be split; the rest is said."""
    classes, codes, counts = np.unique(values, return_inverse=True, return_counts=True)
    small = counts < FEWEST
    if (~small).sum() < 2 or not small.any():
        return np.arange(len(values))
    names = ", ".join(map(repr, classes[small].tolist()))
    which = "classes" if small.sum() > 1 else "class"
    warn(f"{which} {names} with fewer than {FEWEST} samples, too few for folds: left out", AbsenceWarning)
    return np.flatnonzero(~small[codes])


def _check_labels(Y: Array, names: tuple[str, ...], ids: Array) -> None:
    bad = ~(np.isnan(Y) | (Y == 0) | (Y == 1))
    if bad.any():
        row, column = np.argwhere(bad)[0]
        raise ValueError(
            f"label {names[column]!r} of sample {shown(ids[row])} is {Y[row, column]:g}; of several labels "
            "each is 1, 0 or unknown (NaN)"
        )
    for name, column in zip(names, Y.T, strict=True):
        if min((column == 0).sum(), (column == 1).sum()) < FEWEST:
            raise ValueError(
                f"label {name!r} has {int((column == 1).sum())} samples with it and "
                f"{int((column == 0).sum())} without; at least {FEWEST} of both are wanted: leave it out"
            )


def _among(data: Any, rows: Array) -> Any:
    if len(rows) == len(data):
        return data
    return data[rows] if isinstance(data, Views) else data[np.ix_(rows, rows)]
