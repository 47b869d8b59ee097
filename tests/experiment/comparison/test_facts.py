"""How it was done, in words."""

import pytest

from absentia.experiment.comparison._facts import HIDDEN, facts
from absentia.experiment.comparison._splits import MECHANISMS
from absentia.experiment.comparison._summary import Summary
from comparing import METHODS, made_design, made_problem, made_records


def told(task, problem=None, **more):
    problem, design = problem or made_problem(task), made_design(task, **more)
    return facts(Summary(problem, design, made_records(problem, design), dict.fromkeys(design.methods, 9)))


def test_what_a_prediction_was_made_of():
    problem = made_problem("classes")
    found = told("classes", seed=3, command="absentia compare d", repeats_of={"linear": 1})
    assert found["data"] == f"40 samples, 3 views of features, content {problem.hash}"
    assert found["seed"] == "3"
    assert found["folds"].startswith("3 folds, 3 repeats, the same for every method")
    assert found["fewer repeats"] == "linear (1): slow on data of this size"
    assert found["kernels"] == "ViewKernels()"
    assert found["command"] == "absentia compare d"
    assert found["made with"] == "absentia 1"
    assert "McNemar" in found["statistics"]
    assert "hidden" not in found


def test_what_completion_was_made_of():
    found = told("completion", hide=0.3, mechanism="mcar")
    assert found["hidden"].startswith(
        "30% of the observed cells, at random, 3 times (6.0% of all observed cells); kernels are made of all"
    )
    assert not {"folds", "fewer repeats", "command"} & set(found)
    assert "McNemar" not in found["statistics"]
    assert set(HIDDEN) == set(MECHANISMS)


def test_kernels_that_came_are_not_made():
    problem = made_problem("completion")
    found = told("completion", problem.changed(problem.kernels))
    assert "views of kernels" in found["data"]
    assert "kernels" not in found
    assert "made of all" not in found["hidden"]


def test_the_region_of_equivalence_is_told_in_units_of_the_metric():
    problem, design = made_problem("numbers"), made_design("numbers", metric="RMSE", equivalence=0.02)
    records = made_records(problem, design)
    summary = Summary(problem, design, records, dict.fromkeys(METHODS["numbers"], 9))
    assert f"with {summary.equivalence:.3g} as practically nil" in facts(summary)["statistics"]
    assert summary.equivalence != 0.02


@pytest.mark.parametrize("task", ["classes", "completion"])
def test_time_is_that_of_all_trials(task):
    problem, design = made_problem(task), made_design(task)
    records = made_records(problem, design)
    found = facts(Summary(problem, design, records, dict.fromkeys(METHODS[task], 9)))
    assert found["CPU time"] == f"{sum(r.cost['cpu'] for r in records):.0f} s in {len(records)} trials"
