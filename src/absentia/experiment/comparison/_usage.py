"""How to use a method on the same data: some lines of Python, and one command."""

from absentia.experiment.comparison._design import Design
from absentia.experiment.comparison._problem import Problem
from absentia.experiment.comparison._strategies import FAMILY, PMA
from absentia.methods import catalogue
from absentia.methods.catalogue import Entry

GRID = "[0.1, 1, 10, 100]"


def commands(problem: Problem, design: Design) -> dict[str, str]:
    """One line by method; none where the command line does not do it."""
    call = design.call or ("DATA" if problem.task == "completion" else "DATA --labels COLUMN")
    if problem.task == "labels":
        return {}
    if problem.task == "completion":
        return {
            name: f"absentia complete {call} --method {name} -o completed.npz" for name in design.methods
        }
    return {name: f"absentia fit {call} --method {name} -o model.absentia" for name in design.methods}


def scripts(problem: Problem, design: Design) -> dict[str, str]:
    """Some lines of Python by method."""
    return {name: _script(name, problem) for name in design.methods}


def _script(name: str, problem: Problem) -> str:
    if problem.task == "labels" and name in PMA:
        return _labels(_pma(name, problem), problem)
    if problem.task == "labels":
        kernel = "" if problem.takes_features else ', kernel="precomputed"'
        return _labels(f'PerLabel("{name}"{kernel})', problem, ["PerLabel"])
    entry = catalogue.find(name, FAMILY[problem.task])
    own = repr(entry.make())
    if problem.task == "completion":
        return _completion(own, entry, problem)
    return _prediction(own, entry, problem)


def _lines(*lines: str) -> str:
    return "\n".join(line for line in lines if line)


def _reading(problem: Problem) -> str:
    what = "views" if problem.takes_features else "kernels"
    return f'{what} = absentia.read("DATA")  # a folder of tables, or a file'


def _class(entry: Entry) -> str:
    return entry.where.partition(":")[2]


def _kernels(problem: Problem) -> str:
    return repr(problem.kernel)


def _completion(own: str, entry: Entry, problem: Problem) -> str:
    makes = problem.takes_features
    return _lines(
        "import absentia",
        f"from absentia import {', '.join(sorted({_class(entry), *(['ViewKernels'] if makes else [])}))}",
        "",
        _reading(problem),
        f"kernels = {_kernels(problem)}.fit_transform(views)" if makes else "",
        f"completed = {own}.fit_transform(kernels)",
        'absentia.write("completed.npz", completed)',
    )


def _prediction(own: str, entry: Entry, problem: Problem) -> str:
    data = "views" if problem.takes_features else "kernels"
    given = entry.takes == "kernels" and problem.takes_features
    priced = "C" in entry.make().get_params() and entry.takes == "kernels"
    names = {_class(entry), *(["ViewKernels"] if given or not problem.takes_features else [])}
    model = own
    more = []
    if given:
        more.append("from sklearn.pipeline import make_pipeline")
        model = f"make_pipeline({_kernels(problem)}, {own})"
    if priced:
        more.insert(0, "from sklearn.model_selection import GridSearchCV")
        place = f"{_class(entry).lower()}__C" if given else "C"
        model = f'GridSearchCV({model}, {{"{place}": {GRID}}}, cv=3)'
    if not given and not problem.takes_features and "kernel" in entry.make().get_params():
        model = model.rstrip(")") + (", " if "=" in model else "") + 'kernel="precomputed")'
    return _lines(
        "import pandas as pd",
        "import absentia",
        f"from absentia import {', '.join(sorted(names - ({'ViewKernels'} if not given else set())))}",
        *more,
        _reading(problem),
        'y = pd.read_csv("LABELS.csv", index_col=0)["COLUMN"].dropna()',
        f'{data}, y = {data}.align(y, missing="drop")  # by id',
        f"model = {model}.fit({data}, y)",
        f"model.predict({data}[:5])" if problem.takes_features else "",
    )


def _pma(name: str, problem: Problem) -> str:
    steps = [_kernels(problem)] if problem.takes_features else []
    steps += ["CVKT()"] if name == "pma-cvkt" else []
    return f"make_pipeline({', '.join([*steps, 'CombineKernels()', 'PMAClassifier()'])})".replace(
        "PMAClassifier()", "PMAClassifier(kernel='precomputed')"
    )


def _labels(model: str, problem: Problem, names: list[str] | None = None) -> str:
    used = names or [
        n for n in ("CVKT", "CombineKernels", "PMAClassifier", "ViewKernels") if f"{n}(" in model
    ]
    data = "views" if problem.takes_features else "kernels"
    return _lines(
        "import pandas as pd",
        "import absentia",
        f"from absentia import {', '.join(used)}",
        "from sklearn.pipeline import make_pipeline" if "make_pipeline" in model else "",
        _reading(problem),
        'Y = pd.read_csv("LABELS.csv", index_col=0)  # 1, 0 or empty, a column per label',
        f"Y = Y.reindex({data}.ids).to_numpy()",
        f"model = {model}.fit({data}, Y)",
        f"model.predict_proba({data}[:5])" if problem.takes_features else "",
    )
