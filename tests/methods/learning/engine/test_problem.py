"""A problem and its points: bounds that hold everywhere, and dust."""

import numpy as np
import pytest

from absentia.methods.learning.engine import Box, Polytope, Problem, relative_gap, solve, without_dust
from absentia.methods.learning.engine._problem import evaluate, lifted, with_coefficients
from stacks import data, stack_of


@pytest.fixture(scope="module")
def problem():
    K, observed, y = data(30)
    return Problem(stack_of(K, observed), (Box.classification(y, np.ones(30)),), Polytope.simplex(4))


def test_a_point_bounds_the_optimum_from_both_sides_and_its_cut_bounds_v_everywhere(problem, rng):
    best = solve(problem, tol=1e-8).state.objective
    point = evaluate(problem, np.full(4, 0.25), 1e-2)
    assert point.lower <= best <= point.primal
    for _ in range(20):
        eta = rng.dirichlet(np.ones(4))
        cut = point.cut.height - float(eta @ point.cut.q) / 2
        assert cut <= evaluate(problem, eta, 1e-8).primal * (1 + 1e-9)


def test_other_coefficients_at_the_same_weights_are_judged_by_themselves(problem):
    point = evaluate(problem, np.full(4, 0.25), 1e-6)
    shorter = with_coefficients(problem, point, [0.5 * point.machines[0].z])
    np.testing.assert_array_equal(shorter.eta, point.eta)
    np.testing.assert_allclose(shorter.q, 0.25 * point.q)
    np.testing.assert_allclose(shorter.height, 0.5 * point.height)
    assert shorter.gap > point.gap
    np.testing.assert_allclose(with_coefficients(problem, shorter).q, shorter.q, rtol=1e-12)


def test_gaps_are_relative_and_never_clipped():
    assert relative_gap(2.0, 1.0) == 0.5
    assert relative_gap(1.0, 1.5) == -0.5
    assert relative_gap(0.0, 0.0) == 0.0
    assert relative_gap(0.0, -1.0) == np.inf


def test_weights_next_to_the_threshold_can_be_rounded_up_too():
    eta = np.array([1.0, 0.0, 5e-7, 5e-8, 0.3])
    up = lifted(eta)
    np.testing.assert_array_equal(up[[0, 1, 3, 4]], eta[[0, 1, 3, 4]])
    np.testing.assert_array_equal(without_dust(up) > 0, [True, False, True, False, True])
    assert lifted(up) is up
