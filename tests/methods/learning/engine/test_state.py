"""Where a run stands: the best is kept, and what brings nothing makes the next step careful."""

import numpy as np
import pytest

from absentia.methods.learning.engine import Box, Polytope, Problem, solve
from absentia.methods.learning.engine._problem import evaluate
from absentia.methods.learning.engine._state import JITTER, N_CUTS, aim, moved, start
from stacks import data, stack_of


@pytest.fixture(scope="module")
def problem():
    K, observed, y = data(30)
    return Problem(stack_of(K, observed), (Box.classification(y, np.ones(30)),), Polytope.simplex(4))


def test_a_worse_trial_leaves_the_point_but_its_bound_and_cut_count(problem):
    state = start(problem)
    worse = evaluate(problem, np.array([0.0, 0.0, 0.0, 0.1]), 1e-6)
    assert worse.primal > state.objective
    after = moved(state, [worse], 1.0)
    assert after.point is state.point
    assert len(after.cuts) == 2
    assert after.lower >= state.lower
    assert (after.care, after.n_machines) == (1, 2)
    assert after.jitter == pytest.approx(100 * JITTER)


def test_a_better_trial_is_kept_and_care_is_given_up(problem):
    state = moved(start(problem), [evaluate(problem, np.array([0.0, 0.0, 0.0, 0.1]), 1e-6)], 1.0)
    better = solve(problem, tol=1e-6).state.point
    assert better.primal < state.objective
    after = moved(state, [better], state.objective - better.primal)
    assert after.point is better
    assert (after.care, after.jitter) == (0, pytest.approx(10 * JITTER))
    assert after.surest.gap == min(state.surest.gap, better.gap)


def test_cuts_are_not_kept_without_end(problem):
    state = start(problem)
    point = evaluate(problem, np.full(4, 0.25), 1e-2)
    for _ in range(3):
        state = moved(state, [point] * (N_CUTS // 2), 0.0)
    assert len(state.cuts) == N_CUTS


def test_machines_are_as_exact_as_gap_promise_and_care_ask_for(problem):
    state = start(problem)
    tol = 1e-6
    assert aim(state, 1e9, tol) == pytest.approx(0.02 * state.gap)
    assert aim(state, 0.0, tol) == pytest.approx(0.2 * tol)
    careful = moved(state, [evaluate(problem, np.array([0.0, 0.0, 0.0, 0.1]), 1e-6)], 1.0)
    assert aim(careful, 0.0, tol) == pytest.approx(0.02 * tol)
