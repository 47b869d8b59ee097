"""One trial: learn from some samples and judge on others, or hide some cells and complete them."""

from collections.abc import Mapping
from pathlib import Path
from typing import Any

import numpy as np

from absentia.core import Array
from absentia.experiment.comparison._design import Design, as_completion, kept_cells, load_design, split
from absentia.experiment.comparison._maps import maps_of
from absentia.experiment.comparison._measures import completion_scores, prior_scores, scores
from absentia.experiment.comparison._problem import Problem, load_problem
from absentia.experiment.comparison._strategies import fit, strategy

DIGITS = 6  # of chances
_loaded: dict[str, tuple[Problem, Design]] = {}


class Perform:
    """Does trials of the comparison in a folder, which every process reads once."""

    def __init__(self, folder: Path, problem: Problem, design: Design) -> None:
        self.folder = str(folder.absolute())
        self.mark = f"{problem.hash} {design.seed} {design.cv} {design.mechanism}"
        _loaded.clear()
        _loaded[self.mark] = (problem, design)

    def __call__(self, key: Mapping[str, Any]) -> dict[str, Any]:
        if self.mark not in _loaded:
            _loaded.clear()
            _loaded[self.mark] = load_problem(Path(self.folder)), load_design(Path(self.folder))
        problem, design = _loaded[self.mark]
        return perform(key, problem, design)


def perform(key: Mapping[str, Any], problem: Problem, design: Design) -> dict[str, Any]:
    """The result of a trial."""
    if key["kind"] == "complete":
        return _complete(key, problem, design)
    train, test = split(problem, design, key["repeat"])[key["fold"]]
    if key["kind"] == "views":
        problem = problem.changed(problem.data.select(key["views"]))
    elif key["kind"] == "rates":
        keep = kept_cells(problem, design, key["rate"], key["repeat"])
        problem = problem.changed(problem.data.hide(keep))
    return _predict(key, problem, train, test)


def _predict(key: Mapping[str, Any], problem: Problem, train: Array, test: Array) -> dict[str, Any]:
    assert problem.y is not None
    how = strategy(key["method"], problem, key["seed"])
    fitted = fit(how, problem, problem.part(train, train), problem.y[train])
    rows = problem.part(test, train)
    predicted = np.asarray(fitted.predict(rows))
    chances = None if fitted.chances is None else np.asarray(fitted.chances(rows))
    if not np.isfinite(predicted.astype(float)).all():
        raise ValueError("predicted what is no number")
    found: dict[str, Any] = {"scores": scores(problem.task, problem.y[test], predicted, chances)}
    if key["kind"] == "views":
        found["nothing"] = prior_scores(problem.task, problem.y[test], problem.y[train])
    if key["kind"] == "predict":
        found |= {"test": test.tolist(), "predicted": predicted.tolist()}
        found["chances"] = None if chances is None else chances.round(DIGITS).tolist()
    return found


def _complete(key: Mapping[str, Any], problem: Problem, design: Design) -> dict[str, Any]:
    other = as_completion(problem)
    kernels = problem.kernels
    keep = kept_cells(problem, design, key["rate"], key["repeat"])
    part = kernels.hide(keep)
    cells = np.argwhere(kernels.observed & ~part.observed & part.observed.any(axis=0))
    if not len(cells):
        raise ValueError("no cell could be hidden: no sample has a view to spare")
    completed = strategy(key["method"], other, key["seed"]).estimator.fit_transform(part)
    found = completion_scores(kernels, completed, cells)
    result: dict[str, Any] = {"scores": found.pop(""), "by view": found, "hidden": len(cells)}
    if key["repeat"] == 0:
        result["maps"] = maps_of(problem, kernels, part, completed)
    return result
