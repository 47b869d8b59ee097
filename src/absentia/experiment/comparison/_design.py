"""From a question to trials: who is held out or hidden when, and which methods are tried on it.

All of it follows from the data, the design and the seed, so that processes that know nothing of one another
come to the same trials, and a design with more repeats or methods contains those of the smaller one.
"""

import json
import math
import sys
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import asdict, dataclass, field, replace
from functools import cache
from numbers import Real
from pathlib import Path
from typing import Any

import numpy as np

from absentia.experiment.comparison._measures import metrics_of
from absentia.experiment.comparison._problem import Problem
from absentia.experiment.comparison._splits import MECHANISMS, Mechanism, hashed, split
from absentia.experiment.comparison._strategies import SIMPLEST, USUAL, Strategy, strategy
from absentia.experiment.engine import Limits, Trial, fingerprint
from absentia.files import FileError, write_atomically

FILE = "design.json"
#: Modules that every answer comes from, and those that judge what hidden cells are completed to.
AROUND = tuple(f"experiment.comparison.{name}" for name in ("_performing", "_measures", "_splits"))
JUDGING = ("experiment._quality", "experiment.comparison._maps")
REPEATS_OF_CURVES, REPEATS_BESIDE = 2, 3
MOST = 10_000  # repeats or folds
BESIDE = ("mean", "zero", "knn", "cvkt", "mkmc-pca")  # completers that are tried beside predictions


@dataclass(frozen=True)
class Design:
    """What is asked.

    `repeats_of` has those methods that are tried in fewer repeats because they are slow, `left_out` why
    methods are not tried at all.  `completers` are tried on hidden cells beside predictions.  What only the
    page tells (`title`, `command`, `call`, `equivalence`) changes no trial, nor do limits;
    `call` names the data and the labels as other commands take them.
    """

    methods: tuple[str, ...]
    data: str = ""
    metric: str | None = None
    hide: float = 0.2
    mechanism: Mechanism = "own"
    rates: tuple[float, ...] = ()
    repeats: int = 5
    cv: int = 5
    seed: int = 0
    repeats_of: Mapping[str, int] = field(default_factory=dict)
    left_out: Mapping[str, str] = field(default_factory=dict)
    completers: tuple[str, ...] = ()
    repeats_of_views: int = 2
    equivalence: float = 0.01
    title: str = ""
    command: str = ""
    call: str = ""
    time_limit: float | None = None
    memory_limit: int | None = None
    remarks: tuple[str, ...] = ()

    def __post_init__(self) -> None:
        self._check_types()
        if not 0 < self.hide < 1:
            raise ValueError(f"hide is a share between 0 and 1, not {self.hide!r}")
        if self.mechanism not in MECHANISMS:
            raise ValueError(f"mechanism is one of {', '.join(MECHANISMS)}, not {self.mechanism!r}")
        counts = {"repeats": 1, "cv": 2, "seed": 0, "repeats_of_views": 0}
        whole = [(name, getattr(self, name), least) for name, least in counts.items()]
        whole += [(f"repeats_of {method}", count, 1) for method, count in self.repeats_of.items()]
        for name, value, least in whole:
            most = math.inf if name == "seed" else MOST
            if isinstance(value, bool) or not isinstance(value, int) or not least <= value <= most:
                raise ValueError(f"{name} is a whole number of {least} or more, not {_shown(value)}")
        if not all(0 < rate < 1 for rate in self.rates):
            raise ValueError(f"rates are shares between 0 and 1, not {list(self.rates)}")
        object.__setattr__(self, "rates", tuple(dict.fromkeys(self.rates)))
        _ = self.limits  # refuses what is none
        if not 0 <= self.equivalence < float("inf"):
            raise ValueError(f"equivalence is a number from 0 on, not {self.equivalence!r}")

    def _check_types(self) -> None:
        """Refuse what is not a text, a list of texts or a number where it is to be."""
        texts: dict[str, tuple[Any, ...]] = {
            name: (getattr(self, name),) for name in ("data", "title", "command", "call", "mechanism")
        }
        texts |= {name: getattr(self, name) for name in ("methods", "completers", "remarks")}
        texts |= {"metric": () if self.metric is None else (self.metric,)}
        texts |= {"left_out": (*self.left_out, *self.left_out.values()), "repeats_of": (*self.repeats_of,)}
        for name, values in texts.items():
            for value in values:
                if not isinstance(value, str):
                    raise ValueError(f"{name} is in texts, not {_shown(value)}")
        if not self.methods:
            raise ValueError("methods are none")
        limits = [value for value in (self.time_limit, self.memory_limit) if value is not None]
        for value in (self.hide, self.equivalence, *self.rates, *limits):
            huge = isinstance(value, int) and abs(value) > sys.float_info.max
            if isinstance(value, bool) or not isinstance(value, Real) or huge:
                raise ValueError(f"{_shown(value)} is no number")

    @property
    def limits(self) -> Limits:
        return Limits(self.time_limit, self.memory_limit)

    @property
    def repeats_beside(self) -> int:
        """How often cells are hidden beside predictions."""
        return min(self.repeats, REPEATS_BESIDE)

    def repeats_for(self, method: str) -> int:
        return min(self.repeats, self.repeats_of.get(method, self.repeats))

    def save(self, folder: Path) -> None:
        content = json.dumps(asdict(self), indent=1).encode()
        write_atomically(folder / FILE, lambda file: file.write(content))


def _shown(value: Any) -> str:
    return repr(value)[:40]


def load_design(folder: Path) -> Design:
    """What :meth:`Design.save` wrote."""
    path = folder / FILE
    if path.exists() and not path.is_file():  # a pipe would be waited for
        raise FileError(f"{path}: is no regular file; give the command again")
    try:
        said = json.loads(path.read_bytes())
        lists = {key: tuple(said[key]) for key in ("methods", "rates", "completers", "remarks")}
        if any(isinstance(said[key], str) for key in lists):
            raise ValueError(f"{', '.join(lists)} are lists")
        if not all(isinstance(said[key], dict) for key in ("repeats_of", "left_out")):
            raise ValueError("repeats_of and left_out are by method")
        return Design(**{**said, **lists})
    except FileNotFoundError:
        raise FileError(
            f"{folder}: is no folder of a comparison, as it has no {FILE}; make one with absentia compare"
        ) from None
    except (OSError, ValueError, TypeError, KeyError, RecursionError) as error:
        raise FileError(
            f"{path}: not the design of a comparison ({error}); give the command again"
        ) from None


def n_folds(problem: Problem, design: Design) -> int:
    """As asked, or as many as the smallest class has samples."""
    assert problem.y is not None
    fewest = int(np.bincount(problem.y).min()) if problem.task == "classes" else len(problem.data)
    return max(2, min(design.cv, fewest))


# --------------------------------------------------------------------------------------------- trials


class Expansion:
    """The trials of a design on a problem, in the order in which they are run."""

    def __init__(self, problem: Problem, design: Design) -> None:
        self.problem, self.design = problem, design
        self.simplest = SIMPLEST[problem.task]

    def trials(self) -> list[Trial]:
        design = self.design
        if self.problem.task == "completion":
            return list(self._completions(design.methods, design.repeats, (design.hide, *design.rates)))
        beside = self._completions(design.completers, design.repeats_beside, (design.hide,))
        return [*self._predictions(), *self._views(), *self._curves(), *beside]

    def _predictions(self) -> Iterator[Trial]:
        for repeat in range(self.design.repeats):
            methods = [m for m in self.design.methods if repeat < self.design.repeats_for(m)]
            for fold in range(self._n_folds):
                yield from (self._trial("predict", method, repeat, fold) for method in methods)

    @property
    def _n_folds(self) -> int:
        return n_folds(self.problem, self.design)

    def _views(self) -> Iterator[Trial]:
        """The simplest method without each view, and with it alone."""
        names = self.problem.data.names
        if len(names) < 2 or self.simplest not in self.design.methods:
            return
        without = [tuple(other for other in names if other != name) for name in names]
        parts = dict.fromkeys([*without, *((name,) for name in names)])  # of two views the same ones
        for repeat in range(min(self.design.repeats, self.design.repeats_of_views)):
            for fold in range(self._n_folds):
                for some in parts:
                    yield self._trial("views", self.simplest, repeat, fold, views=list(some))

    def _curves(self) -> Iterator[Trial]:
        for repeat in range(min(self.design.repeats, REPEATS_OF_CURVES)):
            for rate in self.design.rates:
                for fold in range(self._n_folds):
                    methods = [m for m in self.design.methods if repeat < self.design.repeats_for(m)]
                    for method in methods:
                        more = {"rate": rate, "mechanism": self.design.mechanism}
                        yield self._trial("rates", method, repeat, fold, **more)

    def _completions(self, methods: Sequence[str], repeats: int, rates: Sequence[float]) -> Iterator[Trial]:
        """Hidden cells that are completed; of data with labels, too, as pictures are ordered by them."""
        nothing = as_completion(self.problem)
        for repeat in range(repeats):
            for rate in dict.fromkeys(rates):
                for method in methods:
                    if repeat < self.design.repeats_for(method):
                        how = strategy(method, nothing, self.design.seed)
                        more = {"rate": rate, "mechanism": self.design.mechanism}
                        yield _trial(self.problem, self.design, "complete", how, repeat, 0, **more)

    def _trial(self, kind: str, method: str, repeat: int, fold: int, **more: Any) -> Trial:
        more |= {"cv": self._n_folds, "split": self._split(repeat, fold)}
        return _trial(self.problem, self.design, kind, self._strategy(method), repeat, fold, **more)

    @cache  # noqa: B019 - lives as long as the expansion
    def _strategy(self, method: str) -> Strategy:
        return strategy(method, self.problem, self.design.seed)

    @cache  # noqa: B019
    def _split(self, repeat: int, fold: int) -> str:
        return hashed(*split(self.problem, self._n_folds, self.design.seed, repeat)[fold])


def as_completion(problem: Problem) -> Problem:
    """The same samples with nothing to predict."""
    return Problem(problem.data, "completion", None, (), problem.kernel)


def _trial(
    problem: Problem, design: Design, kind: str, how: Strategy, repeat: int, fold: int, **more: Any
) -> Trial:
    return Trial(
        {
            "kind": kind,
            "data": problem.hash,
            "method": how.name,
            "parameters": how.parameters,
            "version": fingerprint(*how.modules, *_around(kind)),
            "seed": design.seed,
            "repeat": repeat,
            "fold": fold,
            **more,
        }
    )


def _around(kind: str) -> tuple[str, ...]:
    return (*AROUND, *(JUDGING if kind == "complete" else ()))


# -------------------------------------------------------------------------------- what is tried at all


def chosen_methods(
    problem: Problem, methods: str | Iterable[str], completers: bool = True
) -> tuple[tuple[str, ...], dict[str, str], tuple[str, ...]]:
    """Methods to try, why others of the usual ones are not, and completers to try beside them."""
    usual = isinstance(methods, str) and methods == "auto"
    if isinstance(methods, str) and not usual:
        methods = [methods]
    tried = [strategy(name, problem) for name in (USUAL[problem.task] if usual else methods)]
    found = {how.name: _refused(how, problem) for how in tried}
    left_out = {name: why for name, why in found.items() if why}
    if left_out and not usual:
        name, why = next(iter(left_out.items()))
        raise ValueError(f"method {name!r} {why}")
    kept = [name for name in found if name not in left_out]
    simplest = SIMPLEST[problem.task]
    kept = [simplest, *(name for name in kept if name != simplest)]
    beside = usual and completers and problem.task != "completion" and not problem.data.observed.all()
    return tuple(kept), left_out, _completers(as_completion(problem)) if beside else ()


def _completers(problem: Problem) -> tuple[str, ...]:
    return tuple(name for name in BESIDE if not _refused(strategy(name, problem), problem))


def _refused(how: Strategy, problem: Problem) -> str:
    """Why a method cannot be tried; nothing if it can."""
    n = len(problem.data)
    if not how.takes_kernels and not problem.takes_features:
        return "takes features, and the data are kernels"
    if how.most is not None and n > how.most:
        return f"is for at most {how.most} samples, and there are {n}"
    return ""


def check_metric(problem: Problem, design: Design) -> Design:
    """Refuse a metric that the task has not."""
    return replace(design, metric=metrics_of(problem.task, design.metric)[0].name)
