"""Newton's steps: the curvature of V, and how coefficients follow the weights."""

import numpy as np
import pytest

from absentia.methods.learning.engine import Box, Polytope, Problem
from absentia.methods.learning.engine._newton import curvature
from absentia.methods.learning.engine._problem import evaluate
from stacks import data, stack_of


def test_gradient_and_hessian_are_those_of_finite_differences():
    K, observed, y = data(60, spread=1)
    problem = Problem(
        stack_of(K, observed), (Box.classification(y, np.full(60, 1.0)),), Polytope.simplex(4)
    )
    eta, h = np.array([0.3, 0.2, 0.25, 0.25]), 1e-5
    at = lambda x: evaluate(problem, x, 1e-13)
    point = at(eta)
    H = curvature(problem, point, 1e-14).H
    for p, step in enumerate(h * np.eye(4)):
        above, below = at(eta + step), at(eta - step)
        assert point.gradient[p] == pytest.approx((above.dual - below.dual) / (2 * h), rel=1e-5)
        np.testing.assert_allclose(H[p], (above.gradient - below.gradient) / (2 * h), rtol=1e-3, atol=1e-4)


def test_coefficients_follow_the_weights():
    K, observed, y = data(60, spread=1)
    problem = Problem(
        stack_of(K, observed), (Box.classification(y, np.full(60, 1.0)),), Polytope.simplex(4)
    )
    eta, d = np.full(4, 0.25), 1e-4 * np.array([1.0, -1.0, 0.5, -0.5])
    point, moved = evaluate(problem, eta, 1e-13), evaluate(problem, eta + d, 1e-13)
    predicted = curvature(problem, point, 1e-14).follow(point, d)[0]
    still = np.abs(moved.machines[0].z - point.machines[0].z).max()
    assert np.abs(moved.machines[0].z - predicted).max() < 0.05 * still
