"""Methods by name, suited to a problem, and nothing of it learned outside of the samples that are given."""

import numpy as np
import pytest
from sklearn.exceptions import NotFittedError

from absentia import CVKT, PerLabel, Views
from absentia.experiment.comparison._problem import problem_of
from absentia.experiment.comparison._strategies import (
    BASELINES,
    FAMILY,
    PMA,
    SIMPLEST,
    USUAL,
    fit,
    fitted_to_all,
    strategy,
)
from absentia.methods import catalogue
from comparing import METHODS, made_problem

TASKS = ["classes", "numbers", "labels", "completion"]


@pytest.mark.parametrize("task", TASKS)
def test_the_usual_methods_are_there(task):
    offered = {*catalogue.offered(FAMILY[task], variants=True), *(PMA if task == "labels" else ())}
    assert USUAL[task][0] == SIMPLEST[task]
    assert SIMPLEST[task] in BASELINES[task]
    assert set(USUAL[task]) <= offered
    assert set(BASELINES[task]) <= set(USUAL[task])
    problem = made_problem(task)
    for name in USUAL[task]:
        how = strategy(name, problem)
        assert how.name == name
        assert how.words
        assert how.baseline == (name in BASELINES[task])
        assert all(isinstance(text, str) for text in how.parameters.values())
        with pytest.raises((NotFittedError, AttributeError, ValueError)):
            how.estimator.predict(problem.data) if task != "completion" else how.estimator.transform(
                problem.kernels
            )


def test_an_unknown_name_is_refused_with_a_hint():
    with pytest.raises(ValueError, match="average"):
        strategy("averag", made_problem("classes"))


def test_seeds_reach_the_methods():
    problem = made_problem("classes")
    assert strategy("forest", problem, 7).estimator.random_state == 7
    assert strategy("forest", problem, 7).parameters["random_state"] == "7"
    assert strategy("average", problem, 7).parameters == strategy("average", problem, 8).parameters


def test_kernels_of_the_problem_reach_the_methods():
    data = made_problem("classes").data
    problem = problem_of(data, np.arange(40) % 2, "linear")
    assert repr(strategy("cvkt-svm", problem).estimator.kernel) == repr(problem.kernel)
    labels = problem_of(data, np.column_stack([np.arange(40) % 2, np.arange(40) // 2 % 2]), "linear")
    assert strategy("average", labels).estimator.kernel is labels.kernel
    kernels = labels.changed(labels.kernels)
    assert strategy("average", kernels).estimator.kernel == "precomputed"


def test_the_classes_that_answers_come_from():
    problem = made_problem("classes")
    classes = {
        name: strategy(name, problem).classes for name in ("average", "cvkt-svm", "mean-svm", "auto")
    }
    assert CVKT in classes["cvkt-svm"]
    assert CVKT not in classes["mean-svm"]
    assert set(classes["cvkt-svm"]) <= set(classes["auto"])
    labels = made_problem("labels")
    assert PerLabel in strategy("average", labels).classes
    assert CVKT in strategy("pma-cvkt", labels).classes
    assert CVKT not in strategy("pma", labels).classes


def test_most_samples_are_those_of_the_completer_inside():
    problem = made_problem("classes")
    assert strategy("em-svm", problem).most == 2000
    assert strategy("average", problem).most is None
    assert not strategy("forest", problem).takes_kernels
    assert strategy("cvkt-svm", problem).takes_kernels


# ------------------------------------------------------------------------------------------------ fitting


@pytest.mark.parametrize("task", ["classes", "numbers", "labels"])
@pytest.mark.parametrize("kind", ["features", "kernels"])
def test_what_is_fitted_speaks_of_new_samples(task, kind):
    problem = made_problem(task)
    methods = METHODS[task]
    if kind == "kernels":
        problem = problem.changed(problem.kernels)
        methods = [m for m in methods if strategy(m, problem).takes_kernels]
    train, test = np.arange(30), np.arange(30, 40)
    for name in methods:
        found = fit(strategy(name, problem), problem, problem.part(train, train), problem.y[train])
        rows = problem.part(test, train)
        said = np.asarray(found.predict(rows))
        assert said.shape == problem.y[test].shape
        if task == "numbers":
            assert found.probabilities is None
        else:
            probabilities = np.asarray(found.probabilities(rows))
            assert probabilities.shape == (10, 2)
            assert ((probabilities >= 0) & (probabilities <= 1)).all()


@pytest.mark.parametrize("task", TASKS)
def test_all_samples_give_the_model_to_use(task):
    problem = made_problem(task)
    for name in METHODS[task]:
        model = fitted_to_all(problem, name)
        if task == "completion":
            assert model.transform(problem.kernels).observed.all()
        elif task == "classes":
            assert set(model.predict(problem.data)) <= {"early", "late"}
        else:
            assert np.asarray(model.predict(problem.data)).shape == problem.y.shape


def test_the_model_to_use_learned_the_labels_that_came():
    rng = np.random.default_rng(0)
    y = np.array([7, 3])[np.arange(40) % 2]
    views = Views.from_dict(
        {"a": rng.normal(size=(40, 2)) + 5 * (y == 7)[:, None], "b": rng.normal(size=(40, 2))}
    )
    model = fitted_to_all(problem_of(views, y), "linear")
    assert (model.predict(views) == y).mean() > 0.9
