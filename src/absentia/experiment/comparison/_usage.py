"""How to use a method on the same data: some lines of Python, and one command."""

import re
from collections.abc import Iterable, Iterator
from typing import Any

from absentia.experiment._validation import GRID, INNER_FOLDS, Plan
from absentia.experiment.comparison._design import Design
from absentia.experiment.comparison._problem import Problem
from absentia.experiment.comparison._strategies import FAMILY, PMA, strategy
from absentia.kernels import ViewKernels
from absentia.methods import catalogue
from absentia.methods.prediction import PerLabel

#: What does not come from absentia.
ELSEWHERE = {"GridSearchCV": "sklearn.model_selection", "make_pipeline": "sklearn.pipeline"}


def commands(problem: Problem, design: Design) -> dict[str, str]:
    """One line by method; none where the command line does not do it."""
    if problem.task == "labels":
        return {}
    if problem.task == "completion":
        start, end = f"absentia complete {design.call or 'DATA'}", "-o completed.npz"
    else:
        start, end = f"absentia fit {design.call or 'DATA --labels LABELS.csv:COLUMN'}", "-o model.absentia"
    return {name: f"{start} --method {name} {end}" for name in design.methods}


def scripts(problem: Problem, design: Design) -> dict[str, str]:
    """Some lines of Python by method."""
    return {name: "\n".join(_script(name, problem)) for name in design.methods}


def _script(name: str, problem: Problem) -> list[str]:
    data = "views" if problem.takes_features else "kernels"
    reading = f'{data} = absentia.read("DATA")  # a folder of tables, or a file'
    if problem.task == "completion":
        lines = [f"kernels = {problem.kernel!r}.fit_transform(views)"] if problem.takes_features else []
        lines += [f"completed = {catalogue.find(name, 'completer').make()!r}.fit_transform(kernels)"]
        return [*_imports(lines), reading, *lines, 'absentia.write("completed.npz", completed)']
    several = problem.task == "labels"
    models = [_of_labels(name, problem)] if several else _models(name, problem)
    lines = [f"model = {model}" for model in models]
    fitting = [f"model.fit({data}, {'Y' if several else 'y'})"]
    fitting += [f"model.predict{'_proba' if several else ''}(views[:5])"] if problem.takes_features else []
    return ["import pandas as pd", *_imports(lines), reading, *_targets(data, several), *lines, *fitting]


def _imports(lines: Iterable[str]) -> list[str]:
    """What the lines use, by where it comes from."""
    used = {name for line in lines for name in re.findall(r"\b([A-Z]\w*|make_pipeline)\(", line)}
    own = ", ".join(sorted(used - ELSEWHERE.keys()))
    others = [f"from {home} import {name}" for name, home in ELSEWHERE.items() if name in used]
    return ["import absentia", f"from absentia import {own}", *others]


def _targets(data: str, several: bool) -> list[str]:
    """Labels out of a table, in the order of the samples."""
    if several:
        reading = 'Y = pd.read_csv("LABELS.csv", index_col=0)  # 1, 0 or empty, a column per label'
        return [reading, f"Y = Y.reindex({data}.ids).to_numpy()"]
    return [
        'y = pd.read_csv("LABELS.csv", index_col=0)["COLUMN"].dropna()',
        f'{data}, y = {data}.align(y, missing="drop")  # by id',
    ]


def _models(name: str, problem: Problem) -> Iterator[str]:
    """What learns, with kernels before it; then the choice of its C, where it does not choose it itself."""
    entry = catalogue.find(name, FAMILY[problem.task])
    own = _with_kernels(entry.make(), problem)
    before = entry.takes == "kernels" and problem.takes_features
    yield f"make_pipeline({problem.kernel!r}, {own!r})" if before else repr(own)
    if problem.task == "classes" and Plan(own).searched:
        place = f"{type(own).__name__.lower()}__C" if before else "C"
        yield f'GridSearchCV(model, {{"{place}": {list(GRID)}}}, cv={INNER_FOLDS})'


def _with_kernels(estimator: Any, problem: Problem) -> Any:
    """The same with the kernels of the problem, where it makes its own and they are not the usual ones."""
    usual = problem.takes_features and repr(problem.kernel) == repr(ViewKernels())
    return estimator if usual else Plan(estimator, problem.kernel).suited(problem.data).classifier


def _of_labels(name: str, problem: Problem) -> str:
    if name not in PMA:
        return repr(_with_kernels(PerLabel(name), problem))
    steps = [repr(step) for _, step in strategy(name, problem).estimator.steps]
    return f"make_pipeline({', '.join(steps)})"
