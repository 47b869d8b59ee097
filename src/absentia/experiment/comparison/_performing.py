"""One trial: learn from some samples and judge on others, or hide some cells and complete them."""

from collections.abc import Mapping
from pathlib import Path
from typing import Any

import numpy as np

from absentia.core import Array
from absentia.experiment.comparison._design import as_completion
from absentia.experiment.comparison._maps import maps_of
from absentia.experiment.comparison._measures import completion_scores, prior_scores, scores
from absentia.experiment.comparison._problem import Problem, load_problem
from absentia.experiment.comparison._splits import hashed, kept_cells, split
from absentia.experiment.comparison._strategies import fit, strategy
from absentia.experiment.engine import FolderError

DIGITS = 6  # of probabilities
_loaded: dict[str, Problem] = {}


class Perform:
    """Does trials of the comparison in a folder, whose data every process reads once."""

    def __init__(self, folder: Path, problem: Problem) -> None:
        self.folder, self.hash = str(folder.absolute()), problem.hash
        _loaded.clear()
        _loaded[self.hash] = problem

    def prepare(self, key: Mapping[str, Any]) -> None:
        """Read the data and load the method, unless this process has: neither is part of a fit."""
        problem = self._problem()
        strategy(key["method"], as_completion(problem) if key["kind"] == "complete" else problem)

    def _problem(self) -> Problem:
        problem = _loaded.get(self.hash)
        if problem is None:
            problem = load_problem(Path(self.folder))
            if problem.hash != self.hash:
                raise FolderError(
                    f"{self.folder}: its data have been replaced by others; give the command again"
                )
            _loaded.clear()
            _loaded[self.hash] = problem
        return problem

    def __call__(self, key: Mapping[str, Any]) -> dict[str, Any]:
        return perform(key, self._problem())


def perform(key: Mapping[str, Any], problem: Problem) -> dict[str, Any]:
    """The result of a trial."""
    if key["kind"] == "complete":
        return _complete(key, problem)
    train, test = split(problem, key["cv"], key["seed"], key["repeat"])[key["fold"]]
    if hashed(train, test) != key["split"]:
        raise FolderError(
            "folds are cut otherwise here than where the trial was made: versions of absentia differ"
        )
    if key["kind"] == "views":
        problem = problem.changed(problem.data.select(key["views"]))
    elif key["kind"] == "rates":
        problem = problem.changed(problem.data.hide(_kept(key, problem)))
    return _predict(key, problem, train, test)


def _predict(key: Mapping[str, Any], problem: Problem, train: Array, test: Array) -> dict[str, Any]:
    assert problem.y is not None
    how = strategy(key["method"], problem, key["seed"])
    fitted = fit(how, problem, problem.part(train, train), problem.y[train])
    rows = problem.part(test, train)
    predicted = np.asarray(fitted.predict(rows))
    probabilities = None if fitted.probabilities is None else np.asarray(fitted.probabilities(rows))
    if not np.isfinite(predicted.astype(float)).all():
        raise ValueError("predicted what is no number")
    found: dict[str, Any] = {"scores": scores(problem.task, problem.y[test], predicted, probabilities)}
    if key["kind"] == "views":
        found["nothing"] = prior_scores(problem.task, problem.y[test], problem.y[train])
    if key["kind"] == "predict":
        found |= {"test": test.tolist(), "predicted": predicted.tolist()}
        found["probabilities"] = None if probabilities is None else probabilities.round(DIGITS).tolist()
    return found


def _kept(key: Mapping[str, Any], problem: Problem) -> Array:
    return kept_cells(problem, key["mechanism"], key["rate"], key["seed"], key["repeat"])


def _complete(key: Mapping[str, Any], problem: Problem) -> dict[str, Any]:
    other = as_completion(problem)
    kernels = problem.kernels
    part = kernels.hide(_kept(key, problem))
    cells = np.argwhere(kernels.observed & ~part.observed & part.observed.any(axis=0))
    if not len(cells):
        raise ValueError("no cell could be hidden: no sample has a view to spare")
    completed = strategy(key["method"], other, key["seed"]).estimator.fit_transform(part)
    found = completion_scores(kernels, completed, cells)
    result: dict[str, Any] = {"scores": found.pop(""), "by view": found, "hidden": len(cells)}
    if key["repeat"] == 0:
        result["maps"] = maps_of(problem, kernels, part, completed)
    return result
