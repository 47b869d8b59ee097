"""How methods learn from data: what they are handed, and nothing of it learned outside of the samples given."""

import numpy as np
import pytest
from sklearn.exceptions import NotFittedError

from absentia import AbsentClassifier, PerLabel, ViewKernels, Views
from absentia.experiment.comparison import fit_to_all, make_task_data, predict_samples
from absentia.methods.completion import CVKT
from absentia.tasks import TASKS as ALL
from absentia.tasks import Plan, take_samples
from helpers.comparison_problems import METHODS, made_data
from helpers.digit_samples import digit_views

TASKS = list(ALL)


def make_plan(method, problem, seed=0):
    return problem.task.plan(method, problem.data, problem.kernel, seed=seed)


@pytest.mark.parametrize("task", TASKS)
def test_the_methods_that_are_compared_are_there(task):
    methods, baselines = ALL[task].compared_methods(), ALL[task].compared_methods(baselines=True)
    assert methods[0] == ALL[task].simplest
    assert methods[0] in baselines
    assert set(baselines) <= set(methods)
    problem = made_data(task)
    for name in methods:
        how = make_plan(name, problem)
        assert how.name == name
        assert how.entry.when
        assert how.entry.baseline == (name in baselines)
        assert all(isinstance(text, str) for text in how.parameters.values())
        with pytest.raises((NotFittedError, AttributeError, ValueError)):
            how.estimator.predict(problem.data) if task != "completion" else how.estimator.transform(
                problem.kernels
            )


def test_an_unknown_name_is_refused_with_a_hint():
    with pytest.raises(ValueError, match="average"):
        make_plan("averag", made_data("classes"))


def test_seeds_reach_the_methods():
    problem = made_data("classes")
    assert make_plan("forest", problem, 7).estimator.random_state == 7
    assert make_plan("forest", problem, 7).parameters["random_state"] == "7"
    assert make_plan("average", problem, 7).parameters == make_plan("average", problem, 8).parameters


def test_kernels_of_the_problem_reach_the_methods():
    data = made_data("classes").data
    problem = make_task_data(data, np.arange(40) % 2, "linear")
    assert repr(make_plan("cvkt-svm", problem).estimator.kernel) == repr(problem.kernel)
    labels = make_task_data(data, np.column_stack([np.arange(40) % 2, np.arange(40) // 2 % 2]), "linear")
    assert make_plan("average", labels).estimator.kernel is labels.kernel
    kernels = labels.replace(labels.kernels)
    assert make_plan("average", kernels).estimator.kernel == "precomputed"


def test_the_classes_that_answers_come_from():
    problem = made_data("classes")
    classes = {
        name: make_plan(name, problem).classes for name in ("average", "cvkt-svm", "mean-svm", "auto")
    }
    assert CVKT in classes["cvkt-svm"]
    assert CVKT not in classes["mean-svm"]
    assert set(classes["cvkt-svm"]) <= set(classes["auto"])
    labels = made_data("labels")
    assert PerLabel in make_plan("average", labels).classes
    assert CVKT in make_plan("pma-cvkt", labels).classes
    assert CVKT not in make_plan("pma", labels).classes


def test_pma_of_several_labels_by_the_names_of_its_paper():
    labels = made_data("labels")
    for name, inference in {"PMA-EXACT": "exact", "PMA-MAP": "map", "PMA-GIBBS": "gibbs"}.items():
        assert make_plan(name, labels).estimator[-1].inference == inference
        assert labels.task.find(name) == labels.task.find(name.lower())
    assert labels.task.find("pma-exact").name == "pma"
    with pytest.raises(ValueError, match=r"as_printed\('I-LMC'\)"):
        labels.task.find("I-LMC")


def test_most_samples_are_those_of_the_completer_inside():
    problem = made_data("classes")
    assert make_plan("em-svm", problem).max_samples == 2000
    assert make_plan("average", problem).max_samples is None
    assert make_plan("forest", problem).takes == "features"
    assert make_plan("cvkt-svm", problem).takes == "views or kernels"


# ------------------------------------------------------------------------------------------------ fitting


@pytest.mark.slow_params("features-classes", "features-labels", "kernels-labels")
@pytest.mark.parametrize("task", ["classes", "numbers", "survival", "labels"])
@pytest.mark.parametrize("kind", ["features", "kernels"])
def test_what_is_fitted_speaks_of_new_samples(task, kind):
    problem = made_data(task)
    methods = METHODS[task]
    if kind == "kernels":
        problem = problem.replace(problem.kernels)
        methods = [m for m in methods if make_plan(m, problem).takes != "features"]
    train, test = np.arange(30), np.arange(30, 40)
    for name in methods:
        model = problem.task.learn(
            take_samples(problem.data, train), problem.y[train], make_plan(name, problem)
        )
        found = predict_samples(problem.task, model, take_samples(problem.data, test, train))
        assert found.values.shape == (problem.y[test, 0] if task == "survival" else problem.y[test]).shape
        if task == "numbers":
            assert found.probabilities is None
        else:
            assert found.probabilities.shape == (10, 2 if found.times is None else len(found.times))
            assert ((found.probabilities >= 0) & (found.probabilities <= 1)).all()


@pytest.mark.slow_params("classes", "labels")
@pytest.mark.parametrize("task", TASKS)
def test_all_samples_give_the_model_to_use(task):
    problem = made_data(task)
    for name in METHODS[task]:
        model = fit_to_all(problem, name)
        if task == "completion":
            assert model.transform(problem.kernels).observed.all()
        elif task == "classes":
            assert set(model.predict(problem.data)) <= {"early", "late"}
        else:
            wanted = problem.y.shape[:1] if task == "survival" else problem.y.shape
            assert np.asarray(model.predict(problem.data)).shape == wanted


def test_the_model_to_use_learned_the_labels_that_came():
    rng = np.random.default_rng(0)
    y = np.array([7, 3])[np.arange(40) % 2]
    views = Views.from_dict(
        {"a": rng.normal(size=(40, 2)) + 5 * (y == 7)[:, None], "b": rng.normal(size=(40, 2))}
    )
    model = fit_to_all(make_task_data(views, y), "linear")
    assert (model.predict(views) == y).mean() > 0.9


def test_what_is_said_of_views_reaches_methods_with_a_kernel_of_their_own():
    views, _ = digit_views(40)
    said = ViewKernels("rbf", per_view={views.names[0]: {"log": True}})
    own = Plan(AbsentClassifier(kernel="linear"), said).suit(views).estimator.kernel
    assert (own.kernel, own.per_view) == ("linear", said.per_view)
    assert Plan(AbsentClassifier(), said).suit(views).estimator.kernel.kernel == "rbf"
    assert Plan(AbsentClassifier(kernel="linear"), "rbf").suit(views).estimator.kernel == "linear"
