"""From options to trials: who is held out or hidden when, and which methods are tried on it.

All of it follows from the data, the design and the seed, so that processes that know nothing of one another
come to the same trials, and a design with more repeats or methods contains those of the smaller one.
"""

import hashlib
import json
import math
import sys
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import asdict, dataclass, field
from functools import cache, cached_property
from itertools import product
from numbers import Real
from pathlib import Path
from typing import Any, Literal

import numpy as np

from absentia.core import Array, make_generator
from absentia.data import missingness, order_kernels
from absentia.experiment.comparison._data import TaskData
from absentia.experiment.engine import Limits, Trial, declared_versions
from absentia.files import FileError, write_atomically
from absentia.tasks import Plan

DESIGN_FILE = "design.json"
_VERSION = 2  # of splits, masks and measures: to be raised when these give other numbers than before
_MAX_REPEATS = 10_000  # or folds
_CURVE_REPEATS = 2
#: Of a learning curve: shares of the training samples, shares of those who have a view (all of either are
#: predictions that are there anyway), and in how many repeats at most.
_TRAIN_SHARES, _TRAIN_REPEATS = (0.25, 0.4, 0.6, 0.8), 3
_PRESENCE_SHARES, _PRESENCE_REPEATS = (0.0, 0.5), 2
_MIN_OF_CLASS = 3  # samples of each class that stay, however small the share: methods hold some out
_Mechanism = Literal["own", "mcar", "per-view", "exclusive"]
_MECHANISMS: tuple[_Mechanism, ...] = ("own", "mcar", "per-view", "exclusive")


@dataclass(frozen=True)
class Design:
    """What is tried, how often, and what it is judged by.

    `repeats_of` has those methods that are tried in fewer repeats because they are slow, `left_out` why
    methods are not tried at all.  With a `learning_curve` some methods also learn from fewer samples, and
    with views that fewer have.  With `leave_one_group_out` every group of samples is a fold, whatever `cv`,
    and there is one repeat; so there is of data with times, of which `cv` blocks are held out, as far as
    there is enough before them.  What only the page tells (`title`, `command`, `call`, `equivalence`)
    changes no trial, nor do limits; `call` names the data and the labels as other commands take them.
    Where the data were drawn from more samples, there are `n_samples`, and the `finalists` also learn from
    fewer and from nearly all.
    """

    methods: tuple[str, ...]
    data: str = ""
    metric: str | None = None
    hide: float = 0.2
    mechanism: _Mechanism = "own"
    rates: tuple[float, ...] = ()
    repeats: int = 5
    cv: int = 5
    seed: int = 0
    repeats_of: Mapping[str, int] = field(default_factory=dict)
    left_out: Mapping[str, str] = field(default_factory=dict)
    repeats_of_views: int = 2
    equivalence: float = 0.01
    title: str = ""
    command: str = ""
    call: str = ""
    time_limit: float | None = None
    memory_limit: int | None = None
    remarks: tuple[str, ...] = ()
    learning_curve: bool = False
    leave_one_group_out: bool = False
    n_samples: int = 0
    finalists: tuple[str, ...] = ()

    def __post_init__(self) -> None:
        self._check_types()
        if self.leave_one_group_out:
            object.__setattr__(self, "repeats", 1)  # there is one way to do it
        if not 0 < self.hide < 1:
            raise ValueError(f"hide is a share between 0 and 1, not {self.hide!r}")
        if self.mechanism not in _MECHANISMS:
            raise ValueError(f"mechanism is one of {', '.join(_MECHANISMS)}, not {self.mechanism!r}")
        counts = {"repeats": 1, "cv": 2, "seed": 0, "repeats_of_views": 0, "n_samples": 0}
        whole = [(name, getattr(self, name), least) for name, least in counts.items()]
        whole += [(f"repeats_of {method}", count, 1) for method, count in self.repeats_of.items()]
        for name, value, least in whole:
            most = math.inf if name in ("seed", "n_samples") else _MAX_REPEATS
            if isinstance(value, bool) or not isinstance(value, int) or not least <= value <= most:
                raise ValueError(f"{name} is a whole number of {least} or more, not {_format_value(value)}")
        if not all(0 < rate < 1 for rate in self.rates):
            raise ValueError(f"rates are shares between 0 and 1, not {list(self.rates)}")
        object.__setattr__(self, "rates", tuple(dict.fromkeys(self.rates)))
        _ = self.limits  # refuses what is none
        if not 0 <= self.equivalence < float("inf"):
            raise ValueError(f"equivalence is a number from 0 on, not {self.equivalence!r}")

    def _check_types(self) -> None:
        """Refuse what is not a text or a number where it is to be."""
        texts = [self.data, self.title, self.command, self.call, self.mechanism, self.metric or ""]
        lists: Any = (self.methods, self.remarks, self.finalists, self.left_out)
        lists = (*lists, self.left_out.values())
        for name in ("learning_curve", "leave_one_group_out"):
            if not isinstance(getattr(self, name), bool):
                raise ValueError(f"{name} is true or false, not {_format_value(getattr(self, name))}")
        for text in (*texts, *(text for some in (*lists, self.repeats_of) for text in some)):
            if not isinstance(text, str):
                raise ValueError(f"{_format_value(text)} is no text")
        if not self.methods:
            raise ValueError("methods are none")
        value: Any
        limits = [value for value in (self.time_limit, self.memory_limit) if value is not None]
        for value in (self.hide, self.equivalence, *self.rates, *limits):
            huge = isinstance(value, int) and abs(value) > sys.float_info.max
            if isinstance(value, bool) or not isinstance(value, Real) or huge:
                raise ValueError(f"{_format_value(value)} is no number")

    @property
    def limits(self) -> Limits:
        return Limits(self.time_limit, self.memory_limit)

    def repeats_for(self, method: str) -> int:
        return min(self.repeats, self.repeats_of.get(method, self.repeats))

    def save(self, folder: Path) -> None:
        content = json.dumps(asdict(self), indent=1).encode()
        write_atomically(folder / DESIGN_FILE, lambda file: file.write(content))


def _format_value(value: Any) -> str:
    return repr(value)[:40]


def load_design(folder: Path) -> Design:
    """What :meth:`Design.save` wrote."""
    path = folder / DESIGN_FILE
    if path.exists() and not path.is_file():  # a pipe would be waited for
        raise FileError(f"{path}: is no regular file; give the command again")
    try:
        content = {"finalists": [], **json.loads(path.read_bytes())}  # folders of before have none
        content.pop("completers", None)  # which folders of before have
        names = ("methods", "rates", "remarks", "finalists")
        lists = {key: tuple(content[key]) for key in names}
        if any(isinstance(content[key], str) for key in lists):
            raise ValueError(f"{', '.join(lists)} are lists")
        if not all(isinstance(content[key], dict) for key in ("repeats_of", "left_out")):
            raise ValueError("repeats_of and left_out are by method")
        return Design(**{**content, **lists})
    except FileNotFoundError:
        raise FileError(
            f"{folder}: is no folder of a comparison, as it has no {path.name}; make one with absentia "
            "compare"
        ) from None
    except (OSError, ValueError, TypeError, KeyError, RecursionError) as error:
        raise FileError(
            f"{path}: not the design of a comparison ({error}); give the command again"
        ) from None


def count_folds(data: TaskData, design: Design) -> int:
    """As asked, or as many as can have something of every class."""
    if data.times is not None:
        return len(data.split(design.cv, design.seed, 0))
    most = data.task.max_folds(data.targets, data.data.groups)
    return int(data.data.n_groups) if design.leave_one_group_out else max(2, min(design.cv, most))


# --------------------------------------------------------------------------------------------- trials


class Expansion:
    """The trials of a design on data, in the order in which they are run."""

    def __init__(self, data: TaskData, design: Design) -> None:
        self.data, self.design = data, design
        self.simplest = data.task.simplest

    def trials(self) -> list[Trial]:
        design = self.design
        if self.data.kind == "completion":
            return list(self._completions())
        learning = [*self._train_shares(), *(self._presence_shares() if design.learning_curve else ())]
        return [*self._predictions(), *self._views(), *self._curves(), *learning]

    def _predictions(self) -> Iterator[Trial]:
        for repeat in range(self.design.repeats):
            methods = [m for m in self.design.methods if repeat < self.design.repeats_for(m)]
            for fold in range(self._n_folds):
                yield from (self._trial("predict", method, repeat, fold) for method in methods)

    @cached_property
    def _n_folds(self) -> int:
        return count_folds(self.data, self.design)

    @property
    def _cv(self) -> int:
        """What folds are cut by: how many blocks in time were asked for, or how many folds there are."""
        return self.design.cv if self.data.times is not None else self._n_folds

    def _views(self) -> Iterator[Trial]:
        """The simplest method without each view, and with it alone."""
        names = self.data.data.names
        if len(names) < 2 or self.simplest not in self.design.methods:
            return
        without = [tuple(other for other in names if other != name) for name in names]
        parts = dict.fromkeys([*without, *((name,) for name in names)])  # of two views the same ones
        for repeat in range(min(self.design.repeats, self.design.repeats_of_views)):
            for fold in range(self._n_folds):
                for views in parts:
                    yield self._trial("views", self.simplest, repeat, fold, views=list(views))

    def _curves(self) -> Iterator[Trial]:
        for repeat in range(min(self.design.repeats, _CURVE_REPEATS)):
            for rate in self.design.rates:
                for fold in range(self._n_folds):
                    methods = [m for m in self.design.methods if repeat < self.design.repeats_for(m)]
                    for method in methods:
                        more = {"rate": rate, "mechanism": self.design.mechanism}
                        yield self._trial("rates", method, repeat, fold, **more)

    def _train_shares(self) -> Iterator[Trial]:
        """Methods that learn from a share of the training samples."""
        for method in curve_methods(self.data, self.design):
            most = _TRAIN_REPEATS if self.design.learning_curve else 1
            for repeat in range(min(self.design.repeats_for(method), most)):
                for fold, share in product(range(self._n_folds), _TRAIN_SHARES):
                    yield self._trial("train", method, repeat, fold, share=share)

    def _presence_shares(self) -> Iterator[Trial]:
        """The first of these methods, where a share of those who have a view and another still have it."""
        method, data = curve_methods(self.data, self.design)[0], self.data.data
        views = [name for name in data.names if len(find_spare_cells(data, name))]
        for repeat in range(min(self.design.repeats_for(method), _PRESENCE_REPEATS)):
            for fold, view, share in product(range(self._n_folds), views, _PRESENCE_SHARES):
                yield self._trial("presence", method, repeat, fold, view=view, share=share)

    def _completions(self) -> Iterator[Trial]:
        """Hidden cells that are completed."""
        for repeat in range(self.design.repeats):
            for rate in dict.fromkeys((self.design.hide, *self.design.rates)):
                for method in self.design.methods:
                    if repeat < self.design.repeats_for(method):
                        more = {"rate": rate, "mechanism": self.design.mechanism}
                        yield self._make("complete", method, repeat, 0, more)

    def _trial(self, kind: str, method: str, repeat: int, fold: int, **more: Any) -> Trial:
        more |= {"cv": self._cv, "split": self._split(repeat, fold)}
        return self._make(kind, method, repeat, fold, more)

    def _make(self, kind: str, method: str, repeat: int, fold: int, more: Mapping[str, Any]) -> Trial:
        plan = self._plan(method)
        return Trial(
            {
                "kind": kind,
                "data": self.data.hash,
                "method": plan.name,
                "parameters": plan.parameters,
                "version": declared_versions(*plan.classes, comparison=_VERSION),
                "seed": self.design.seed,
                "repeat": repeat,
                "fold": fold,
                **more,
            }
        )

    @cache  # noqa: B019 - lives as long as the expansion
    def _plan(self, method: str) -> Plan:
        return make_plan(method, self.data, self.design.seed)

    @cache  # noqa: B019
    def _split(self, repeat: int, fold: int) -> str:
        return hash_arrays(*self.data.split(self._cv, self.design.seed, repeat)[fold])


def make_plan(method: str, data: TaskData, seed: int = 0) -> Plan:
    """How the method of that name learns from the data."""
    return data.task.plan(method, data.data, data.kernel, seed=seed)


def hash_arrays(*arrays: Array) -> str:
    digest = hashlib.sha256()
    for array in arrays:
        digest.update(np.ascontiguousarray(array, dtype=np.int64).tobytes())
        digest.update(b"|")
    return digest.hexdigest()[:16]


# ------------------------------------------------------------------------------------------ what is hidden


def curve_methods(data: TaskData, design: Design) -> list[str]:
    """What learning curves are of: the default, else the first method that was named; the simplest;
    and finalists.
    """
    if not design.learning_curve:
        return list(design.finalists)
    simplest, default = data.task.simplest, data.task.default_method
    others = [method for method in design.methods if method != simplest]
    first = [default] if default in others else others[:1]
    return list(dict.fromkeys([*first, simplest, *design.finalists]))


def draw_training_part(data: TaskData, train: Array, share: float, seed: Sequence[int]) -> Array:
    """A share of the positions `train`, of each class alike; that of a smaller share is a part of it."""
    drawn = make_generator(seed).permutation(data.order[np.isin(data.order, train)])
    _, codes, counts = np.unique(
        data.task.strata(data.targets[drawn]), return_inverse=True, return_counts=True
    )
    by_class = np.argsort(codes, kind="stable")
    rank = np.empty(len(drawn), dtype=int)
    rank[by_class] = np.arange(len(drawn)) - (np.cumsum(counts) - counts)[codes[by_class]]
    first = rank < _MIN_OF_CLASS
    order = np.argsort(np.where(first, -1.0, (rank + 0.5) / counts[codes]), kind="stable")
    return np.sort(drawn[order[: max(round(share * len(drawn)), int(first.sum()))]])


def find_spare_cells(data: Any, view: str) -> Array:
    """Positions of the samples that have a view and another one."""
    has = data.observed[:, data.names.index(view)]
    return np.flatnonzero(has & (data.observed.sum(axis=1) > 1))


def draw_presence(data: TaskData, view: str, share: float, seed: Sequence[int]) -> Array:
    """Which cells stay (n, V) when a share of those who have a view and another one keep it.

    Labels have no say, as samples that are held out lose it too.
    """
    drawn = make_generator(seed).permutation(data.order)
    drawn = drawn[np.isin(drawn, find_spare_cells(data.data, view))]
    keep = np.ones_like(data.data.observed)
    keep[drawn[round(share * len(drawn)) :], data.data.names.index(view)] = False
    return keep


def draw_kept_cells(data: TaskData, mechanism: _Mechanism, rate: float, seed: int, repeat: int) -> Array:
    """Which cells stay (n, V) when that share is hidden; draws go with the data, not with their order."""
    order = order_kernels(data.kernels)
    drawn = np.ix_(order.samples, order.views)
    observed = data.data.observed
    keep = np.empty_like(observed)
    rng = make_generator([seed, repeat, round(1e6 * rate)])
    keep[drawn] = _hide(observed[drawn], mechanism, rate, rng)
    return keep


def _hide(observed: Array, mechanism: _Mechanism, rate: float, rng: np.random.Generator) -> Array:
    if mechanism == "own" and not observed.all():
        try:
            return missingness.own(observed, rate, random_state=rng)
        except ValueError:  # patterns that there are cannot hide as much
            return missingness.mcar(observed, rate, random_state=rng)
    if mechanism == "per-view":
        return missingness.fixed_per_view(observed, rate, random_state=rng)
    if mechanism == "exclusive":
        return missingness.exclusive(observed, rate, random_state=rng)
    return missingness.mcar(observed, rate, random_state=rng)


# -------------------------------------------------------------------------------- what is tried at all


def choose_methods(data: TaskData, methods: str | Iterable[str]) -> tuple[tuple[str, ...], dict[str, str]]:
    """Methods to try, and why others of the default ones are not."""
    default = isinstance(methods, str) and methods == "auto"
    if isinstance(methods, str) and not default:
        methods = [methods]
    plans = [make_plan(name, data) for name in (data.task.compared_methods() if default else methods)]
    reasons = {plan.name: _why_not(plan, data) for plan in plans}
    left_out = {name: why for name, why in reasons.items() if why}
    if left_out and not default:
        name, why = next(iter(left_out.items()))
        raise ValueError(f"method {name!r} {why}")
    simplest = data.task.simplest
    return (simplest, *(name for name in reasons if name not in left_out and name != simplest)), left_out


def _why_not(plan: Plan, data: TaskData) -> str:
    """Why a method cannot be tried; nothing if it can."""
    n, most = len(data.data), plan.max_samples
    if plan.takes == "features" and not data.has_features:
        return "takes features, and the data are kernels"
    return f"is for at most {most} samples, and there are {n}" if most is not None and n > most else ""
