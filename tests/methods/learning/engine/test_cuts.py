"""Cutting planes: they close the gap alone, and averages of machines bound as they do together."""

import numpy as np
import pytest

from absentia.core import Status
from absentia.methods.learning.engine import Box, Polytope, Problem, solve
from absentia.methods.learning.engine import _solver as solver
from absentia.methods.learning.engine._cuts import averaged, fitting_weights, lowest_model
from absentia.methods.learning.engine._problem import _point, evaluate, with_coefficients
from absentia.methods.learning.engine._state import start
from stacks import HARD, data, hard, stack_of


def test_cutting_planes_close_the_gap_where_newton_does_not(monkeypatch):
    K, observed, y = data(60, 4, absent=0.8)
    problem = Problem(
        stack_of(K, observed), (Box.classification(y, np.full(60, 0.5)),), Polytope.simplex(4)
    )
    exact = solve(problem, tol=1e-7).state.objective
    monkeypatch.setattr(solver, "newton_step", solver.cutting_step)
    found = solve(problem, tol=1e-4, max_iter=500)
    assert found.status is Status.CONVERGED
    assert found.state.objective == pytest.approx(exact, rel=1e-4)


@pytest.mark.parametrize("boxes", [1, 2])
def test_the_weights_that_suit_given_coefficients_have_the_least_primal_value(boxes):
    K, observed, y = data(30)
    labels = [y, np.where(np.arange(30) % 3 == 0, 1.0, -1.0)][:boxes]
    problem = Problem(
        stack_of(K, observed),
        tuple(Box.classification(own, np.ones(30)) for own in labels),
        Polytope.of_rows(observed),
    )
    at = evaluate(problem, problem.region.middle(), 1e-2)
    primal = lambda eta: _point(problem, eta, at.kernel, at.machines).primal
    best = fitting_weights(problem, problem.region, at.coefficients)
    least, rng = primal(best), np.random.default_rng(0)
    assert least < primal(at.eta) * (1 - 1e-3)
    for _ in range(30):
        other = problem.region.inside(best + 10 ** rng.uniform(-4, 0) * rng.standard_normal(4))
        assert primal(other) >= least * (1 - 1e-6)  # 1e-7 is HiGHS' feasibility


def test_the_average_of_machines_bounds_no_worse_than_their_cuts():
    *_, problem = hard(*HARD[0])
    state = start(problem)
    for _ in range(8):
        state = solver.onward(problem, state, 1e-5)
    value = lowest_model(problem.region, state.cuts)[2]
    mean = with_coefficients(problem, state.point, averaged(problem.region, state.cuts))
    assert mean.height - mean.kappa / 2 >= value - 1e-6 * abs(value)
    assert mean.height - mean.kappa / 2 > max(
        c.height - problem.region.highest(c.q)[0] / 2 for c in state.cuts
    )
