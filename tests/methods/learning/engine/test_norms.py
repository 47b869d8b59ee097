"""Weights in the unit ball of a p-norm."""

import numpy as np
import pytest

from absentia.core import Status
from absentia.methods.learning.engine import Box, NormBall, Problem, fit_machine, solve
from reference import amkl as slow
from stacks import data, stack_of


@pytest.mark.parametrize("p", [1.1, 2.0, 8.0])
def test_weights_in_a_norm_ball_are_optimal_too(p):
    K, observed, y = data(40)
    box, ball = Box.classification(y, np.ones(40)), NormBall(4, p)
    found = solve(Problem(stack_of(K, observed), (box,), ball), tol=1e-7, max_iter=2000)
    eta = found.state.point.eta
    assert found.status is Status.CONVERGED
    assert np.linalg.norm(eta, p) == pytest.approx(1)
    dense, rng = slow.masked(K, observed), np.random.default_rng(0)
    for _ in range(10):  # nowhere near is it lower
        other = np.maximum(eta + 0.05 * rng.standard_normal(4), 0)
        other /= np.linalg.norm(other, p)
        value = fit_machine(np.tensordot(other, dense, 1), box, tol=1e-9).dual
        assert value >= found.state.objective * (1 - 1e-6)
