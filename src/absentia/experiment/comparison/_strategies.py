"""What is tried on which task: methods of the catalogue by name, and what people use today."""

from collections.abc import Callable, Mapping
from typing import Any, NamedTuple

import numpy as np
from sklearn.base import clone
from sklearn.pipeline import make_pipeline

from absentia.core import check_name
from absentia.experiment._findings import Task
from absentia.experiment._validation import Plan, learn
from absentia.experiment.comparison._problem import Problem
from absentia.kernels import CombineKernels
from absentia.methods import catalogue
from absentia.methods.catalogue import CATALOGUE, Entry
from absentia.methods.completion import CVKT
from absentia.methods.matrix import PMAClassifier
from absentia.methods.prediction import LIBRARY, PerLabel

#: What everything else is held against.
SIMPLEST: Mapping[Task, str] = {
    "classes": "average",
    "numbers": "ridge-zero",
    "labels": "average",
    "completion": "mean",
}
FAMILY: Mapping[Task, Any] = {
    "classes": "classifier",
    "numbers": "regressor",
    "labels": "classifier",
    "completion": "completer",
}
PMA = {
    "pma": "probabilistic matrix addition on the average kernel, absent = zero; labels tell of one another",
    "pma-cvkt": "the same on kernels completed by cvkt",
}
#: What is tried if nobody says what, in the order in which it is run, and what of it people use today.
USUAL: Mapping[Task, tuple[str, ...]] = {
    task: (
        *(entry.name for entry in CATALOGUE if task in entry.compared),
        *(PMA if task == "labels" else ()),
    )
    for task in FAMILY
}
BASELINES: Mapping[Task, tuple[str, ...]] = {
    task: tuple(entry.name for entry in CATALOGUE if task in entry.compared and entry.baseline)
    for task in FAMILY
}


class Strategy(NamedTuple):
    """A method on a task: an unfitted estimator, what it is in words, and which classes it is made of."""

    name: str
    estimator: Any
    words: str
    baseline: bool
    classes: tuple[type, ...]
    most: int | None
    takes_kernels: bool

    @property
    def parameters(self) -> dict[str, str]:
        """What it is set to, as texts."""
        given = self.estimator.get_params(deep=True)
        skipped = ("callback", "verbose", "memory", "steps")
        return {name: repr(given[name]) for name in sorted(given) if name not in skipped}


def strategy(name: str, problem: Problem, seed: int = 0) -> Strategy:
    """The method of that name, suited to the problem."""
    task = problem.task
    if task == "labels" and name in PMA:
        return Strategy(name, _pma(name, problem), PMA[name], False, _classes_of_pma(name), None, True)
    _check(name, task)
    entry = catalogue.find(name, FAMILY[task])
    made = _seeded(entry.make(), seed)
    if task == "classes" and "probability" in made.get_params():
        made.set_params(probability=True)
    if task in ("classes", "numbers"):
        made = Plan(made, problem.kernel).suited(problem.data).classifier
    if task == "labels":
        made = PerLabel(name, kernel=problem.kernel if problem.takes_features else "precomputed")
    takes = entry.takes != "features"
    return Strategy(
        entry.name, made, entry.when, entry.baseline, classes_of(entry, task), _most(entry), takes
    )


def _check(name: str, task: Task) -> None:
    if not catalogue.is_method(name, FAMILY[task]):
        offered = catalogue.offered(FAMILY[task], variants=True)
        check_name("method", name, [*offered, *(PMA if task == "labels" else ())])


def _seeded(estimator: Any, seed: int) -> Any:
    return (
        estimator.set_params(random_state=seed) if "random_state" in estimator.get_params() else estimator
    )


def _most(entry: Entry) -> int | None:
    """How many samples it takes: its own number, or that of the completer in it."""
    inside = entry.fixed.get("completer")
    own = [entry.max_samples] if entry.max_samples is not None else []
    if isinstance(inside, str) and (most := catalogue.find(inside, "completer").max_samples) is not None:
        own.append(most)
    return min(own, default=None)


# -------------------------------------------------------------------------- classes whose versions count


def classes_of(entry: Entry, task: Task) -> tuple[type, ...]:
    """Classes that the answers of a method come from; others of the catalogue that it uses, too."""
    used = [entry, *_used(entry)]
    return (*dict.fromkeys(one.load() for one in used), *((PerLabel,) if task == "labels" else ()))


def _used(entry: Entry) -> list[Entry]:
    found = []
    if isinstance(inside := entry.fixed.get("completer"), str):
        found.append(catalogue.find(inside, "completer"))
    if entry.where == "prediction:AutoClassifier":
        names = dict.fromkeys(name for library in LIBRARY.values() for name in library)
        candidates = [catalogue.find(name, "classifier") for name in names]
        found += [part for one in candidates for part in (one, *_used(one))]
    return found


def _classes_of_pma(name: str) -> tuple[type, ...]:
    return (PMAClassifier, CombineKernels, *((CVKT,) if name == "pma-cvkt" else ()))


def _pma(name: str, problem: Problem) -> Any:
    steps: list[Any] = [problem.kernel] if problem.takes_features else []
    steps += [CVKT()] if name == "pma-cvkt" else []
    return make_pipeline(*steps, CombineKernels(), PMAClassifier("precomputed"))


# ------------------------------------------------------------------------------------------- fitting


class Fitted(NamedTuple):
    """What predicts new samples: classes, numbers or labels, and probabilities of classes."""

    model: Any
    predict: Callable[[Any], Any]
    probabilities: Callable[[Any], Any] | None


def fit(how: Strategy, problem: Problem, X: Any, y: Any) -> Fitted:
    """Learn from samples; everything that is chosen is chosen on them."""
    if problem.task == "classes":
        model = learn(X, y, Plan(how.estimator, problem.kernel))
        return Fitted(model, model.predict, model.predict_proba)
    model = clone(how.estimator).fit(X, y)
    return Fitted(model, model.predict, model.predict_proba if problem.task == "labels" else None)


def fitted_to_all(problem: Problem, name: str, seed: int = 0) -> Any:
    """A method fitted to all samples; classes are those that came."""
    how = strategy(name, problem, seed)
    if problem.task == "completion":
        return how.estimator.fit(problem.kernels)
    y = problem.y
    if problem.task == "classes":
        y = np.array(problem.classes)[y]
    return fit(how, problem, problem.data, y).model
