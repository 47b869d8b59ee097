"""Slow methods get fewer repeats, by rule."""

from dataclasses import replace

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from absentia.experiment.comparison import _costs
from absentia.experiment.comparison._costs import (
    LAWS,
    LONGEST,
    Law,
    Size,
    expected,
    expected_seconds,
    thinned,
)
from absentia.experiment.comparison._design import Design, chosen_methods
from absentia.experiment.comparison._strategies import BASELINES, SIMPLEST, USUAL
from comparing import made_problem

TASKS = ["classes", "numbers", "labels", "completion"]


def usual(task):
    problem = made_problem(task)
    names, left_out, completers = chosen_methods(problem, "auto")
    return problem, Design(names, left_out=left_out, completers=completers)


def sized(monkeypatch, n=300, features=1000, machines=1):
    """As if problems were of that size."""
    size = Size(n, 4, features, machines)
    monkeypatch.setattr(Size, "of", classmethod(lambda cls, problem, share=0.8: size))


@pytest.mark.parametrize("task", TASKS)
def test_there_is_a_law_for_every_usual_method(task):
    assert set(USUAL[task]) <= set(LAWS[task])
    small, large = Size(100, 3, 50, 1), Size(1000, 6, 5000, 4)
    for method in USUAL[task]:
        assert 0 < expected_seconds(method, task, small) < expected_seconds(method, task, large)


def test_a_law_by_hand():
    law = Law(0.5, 2.0, wide=0.1, base=0.05, many=0.5, views=1.0)
    assert law.seconds(Size(600, 8, 2000, 4)) == pytest.approx(
        0.05 + 0.5 * 4 * 2 * 2 + 0.1 * 2 * 4 * np.sqrt(2)
    )
    few, many = (
        Law(0.0, wide=1.0, base=0.0, binned=True).seconds(Size(300, 4, 1000, 1, bins)) for bins in (2, 255)
    )
    assert many == pytest.approx(1.0)
    assert few < many / 5


def test_a_law_for_each_label():
    law, size = LAWS["classes"]["linear"], Size(200, 3, 50, 1)
    several = law.per_label(2.0)
    assert several.seconds(size._replace(machines=3)) == pytest.approx(
        3 * (2 * (law.base + law.each * (200 / 300) ** 2 * 3 / 4) + law.wide * 0.05 * (2 / 3) ** 0.5)
    )
    assert LAWS["labels"]["linear"].seconds(size) == pytest.approx(law.seconds(size))


def test_the_size_of_a_problem():
    assert Size.of(made_problem("classes")) == Size(32, 3, 9, 1, Size.of(made_problem("classes")).bins)
    assert Size.of(made_problem("labels")).machines == 2
    assert Size.of(made_problem("completion")).n == 40


def test_a_completer_beside_predictions_has_a_cost():
    problem = made_problem("classes")
    assert expected("cvkt", problem) == expected_seconds("cvkt", "completion", Size.of(problem))
    assert expected("mkl", problem) == expected_seconds("mkl", "classes", Size.of(problem))


@pytest.mark.parametrize("task", TASKS)
def test_what_fits_is_not_thinned(task):
    problem, design = usual(task)
    assert thinned(problem, design, 1e9) == replace(design, repeats_of={})


@settings(max_examples=40, deadline=None)
@given(st.sampled_from(TASKS), st.lists(st.floats(0.1, 500), min_size=2, max_size=4))
def test_a_method_has_the_repeats_that_fit_into_its_share(task, shares):
    problem, design = usual(task)
    size, folds = Size.of(problem), 1 if task == "completion" else 5
    for share in shares:
        found = thinned(problem, design, share)
        assert found == thinned(problem, design, share)
        assert set(found.methods) == set(design.methods)
        for method in found.methods:
            count, cost = found.repeats_for(method), folds * expected_seconds(method, task, size)
            if method == SIMPLEST[task]:
                assert count == design.repeats
            else:
                assert count <= (3 if task == "completion" else 1) or count * cost <= share
                assert count == design.repeats or (count + 1) * cost > share


@pytest.mark.parametrize("task", TASKS)
def test_what_takes_very_long_is_left_out_and_why(task, monkeypatch):
    sized(monkeypatch, n=40_000, features=20_000)
    problem, design = usual(task)
    found = thinned(problem, design)
    assert SIMPLEST[task] in found.methods
    assert found.repeats_for(SIMPLEST[task]) == design.repeats
    size = Size.of(problem)
    for method in design.methods:
        cost, patience = expected_seconds(method, task, size), 4 if method in BASELINES[task] else 1
        assert (method in found.left_out) == (cost > patience * LONGEST and method != SIMPLEST[task]), (
            method
        )
        if method in found.left_out:
            assert (
                found.left_out[method]
                == f"would take about {round(cost)} CPU s a fit on data of this size; ask for it by name"
            )
    assert found.repeats_of_views == 1
    assert set(found.completers) <= {"mean", "zero", "knn", "cvkt"}


def test_baselines_are_not_dropped_lightly(monkeypatch):
    monkeypatch.setitem(_costs.LAWS["classes"], "forest", Law(0.0, base=LONGEST + 1, wide=0.0))
    monkeypatch.setitem(_costs.LAWS["classes"], "stacking", Law(0.0, base=LONGEST + 1, wide=0.0))
    problem, design = usual("classes")
    found = thinned(problem, design)
    assert "forest" in found.methods
    assert "stacking" in found.left_out


def test_what_works_on_factors_is_linear_in_many_samples_and_the_rest_is_not():
    def growth(method):
        few, many = (expected_seconds(method, "classes", Size(n, 4, 0, 1)) for n in (10_000, 80_000))
        return many / few

    assert growth("average") == pytest.approx(8, rel=0.05)
    assert growth("knn-svm") == pytest.approx(64, rel=0.05)
    small = Size(_costs.MANY, 4, 0, 1)
    assert Law(0.1).seconds(small, thin=True) == Law(0.1).seconds(small)
    assert Law(0.1).seconds(small._replace(n=_costs.MANY + 1), thin=True) < Law(0.1).seconds(small)
