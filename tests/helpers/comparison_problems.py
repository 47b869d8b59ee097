"""Small problems to compare on, and records of trials that nobody ran."""

from functools import cache

import numpy as np

from absentia import Views, missingness
from absentia.data.survival import Survival
from absentia.experiment.comparison import Design, make_task_data
from absentia.experiment.comparison._design import Expansion
from absentia.experiment.engine import Record
from absentia.tasks import COMPLETION, Predictions

METHODS = {
    "classes": ("average", "linear", "mean-svm"),
    "numbers": ("ridge-zero", "linear-regression", "ridge-mean"),
    "survival": ("cox-zero", "cox", "cox-fusion"),
    "labels": ("average", "linear", "pma"),
    "completion": ("mean", "zero", "knn"),
}


def made_views(n=40, seed=0, rate=0.3, widths=(3, 4, 2)):
    """Views that share two factors, and these."""
    rng = np.random.default_rng(seed)
    factors = rng.normal(size=(n, 2))
    tables = {
        f"view{v}": factors @ rng.normal(size=(2, width)) + 0.3 * rng.normal(size=(n, width))
        for v, width in enumerate(widths)
    }
    views = Views.from_dict(tables, ids=[f"p{i}" for i in range(n)])
    keep = missingness.mcar(views, rate, random_state=seed) if rate else views.observed
    return views.hide(keep), factors


def targets(task, factors, seed=0):
    """Something to predict that the factors tell."""
    rng = np.random.default_rng(seed + 1)
    if task == "completion":
        return None
    if task == "survival":
        time = rng.exponential(np.exp(-2 * factors[:, 0]))
        return Survival(time, rng.random(len(time)) < 0.8)
    if task == "numbers":
        return factors[:, 0] + 0.1 * rng.normal(size=len(factors))
    if task == "labels":
        Y = (factors + 0.3 * rng.normal(size=factors.shape) > 0).astype(float)
        Y[rng.random(Y.shape) < 0.15] = np.nan
        Y[np.isnan(Y).all(axis=1), 0] = 1.0
        return Y
    return np.where(factors[:, 0] + 0.3 * rng.normal(size=len(factors)) > 0, "late", "early")


@cache
def made_data(task, n=40, seed=0, rate=0.3):
    views, factors = made_views(n, seed, rate)
    return make_task_data(views, targets(task, factors, seed))


made_problem = made_data  # as tests of methods call it


def made_design(task, **more):
    return Design(METHODS[task], **{"repeats": 3, "cv": 3, **more})


def made_up(problem, trial, rng):
    """A record of a trial, of predictions by luck."""
    key = trial.key
    cost = {"cpu": float(rng.uniform(0.1, 2)), "memory": float(rng.uniform(1, 9))}
    return Record(dict(key), "done", _result(problem, key, rng), cost=cost, made={"absentia": "1"})


def _result(problem, key, rng):
    if key["kind"] == "complete":
        found = {metric.name: float(rng.uniform(0.1, 0.9)) for metric in COMPLETION.metrics}
        return {"scores": found, "hidden": 5}
    train, test = problem.split(key["cv"], key["seed"], key["repeat"])[key["fold"]]
    said, *more = luck(problem, test, rng)
    result = {"scores": problem.task.scores(problem.y[test], Predictions(said, *more))}
    if key["kind"] == "views":
        result["nothing"] = problem.task.prior_scores(problem.y[test], problem.y[train])
    if key["kind"] == "train":
        result["n_train"] = round(key["share"] * len(train))
    if key["kind"] == "predict":
        result |= {"test": test.tolist(), "predicted": said.tolist()}
    return result


def luck(problem, test, rng):
    """Predictions and probabilities that are half right; of survival also times."""
    y = problem.y[test]
    if problem.kind == "survival":
        times = np.quantile(problem.y[:, 0], [0.1, 0.3])
        return rng.normal(size=len(y)), np.tile([0.8, 0.6], (len(y), 1)), times
    if problem.kind == "numbers":
        return y + rng.normal(size=len(y)), None
    if problem.kind == "labels":
        probabilities = np.clip(0.3 * np.nan_to_num(y) + 0.7 * rng.random(y.shape), 0, 1)
        return (probabilities > 0.5).astype(float), probabilities
    probabilities = rng.random((len(y), len(problem.classes))) + 0.3 * np.eye(len(problem.classes))[y]
    probabilities /= probabilities.sum(axis=1, keepdims=True)
    return probabilities.argmax(axis=1), probabilities


def trials_of(problem, design):
    return Expansion(problem, design).trials()


def made_records(problem, design, seed=0):
    """One for each trial of the design."""
    rng = np.random.default_rng(seed)
    return [made_up(problem, trial, rng) for trial in trials_of(problem, design)]
