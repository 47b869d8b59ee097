"""The one loop and how it ends, and steps that make it fast."""

import math
from dataclasses import replace

import numpy as np
import pytest

from absentia.core.optimize import (
    DescentState,
    GradientEvaluation,
    Progress,
    Status,
    StoppingRule,
    UpdateEvaluation,
    accelerate,
    add_scaled,
    descend,
    dot,
    iterate,
    make_quasi_newton_step,
    refine_minimum,
)


def halve(x):
    return x / 2


def test_converges_and_keeps_the_objective_after_each_step():
    solution = iterate(halve, lambda x: 1 + x, 1.0, stop=StoppingRule(1e-3), max_iter=100)
    assert solution.status is Status.CONVERGED
    np.testing.assert_allclose(solution.trace, 1 + 0.5 ** np.arange(1, solution.n_iter + 1))
    change = np.abs(np.diff(solution.trace)) / np.abs(solution.trace[:-1])
    assert change[-1] < 1e-3 <= change[-2]


def test_the_tolerance_is_relative():
    small = iterate(halve, lambda x: 1 + x, 1.0, stop=StoppingRule(1e-4), max_iter=100)
    large = iterate(halve, lambda x: 1e9 * (1 + x), 1.0, stop=StoppingRule(1e-4), max_iter=100)
    assert small.n_iter == large.n_iter


def test_patience_outlasts_a_single_short_step():
    uneven = {0: 8.0, 1: 4.0, 2: 4.0, 3: 2.0, 4: 2.0, 5: 2.0, 6: 2.0}
    runs = [
        iterate(lambda i: i + 1, uneven.get, 0, stop=StoppingRule(1e-3, patience=p), max_iter=6).state
        for p in (1, 2)
    ]
    assert runs == [2, 5]


def test_max_iter_is_reported_and_zero_tolerance_runs_them_all():
    assert iterate(halve, lambda x: x, 1.0, stop=StoppingRule(1e-9), max_iter=3).status is Status.MAX_ITER
    solution = iterate(lambda x: x, lambda x: x, 1.0, stop=StoppingRule(0), max_iter=3)
    assert solution.status is Status.FINISHED
    assert solution.n_iter == 3


def test_a_non_finite_objective_keeps_the_last_good_state():
    solution = iterate(
        lambda x: x + 1, lambda x: math.nan if x > 3 else x, 0, stop=StoppingRule(1e-9), max_iter=10
    )
    assert solution.status is Status.NOT_FINITE
    assert solution.state == 3
    np.testing.assert_array_equal(solution.trace, [1, 2, 3])


def test_the_callback_sees_progress_and_can_stop():
    seen = []

    def callback(progress):
        seen.append(progress)
        return progress.iteration == 2

    solution = iterate(halve, lambda x: x, 1.0, stop=StoppingRule(1e-9), max_iter=10, callback=callback)
    assert solution.status is Status.STOPPED
    assert seen == [Progress(1, 0.5, math.inf, 10), Progress(2, 0.25, 0.5, 10)]


@pytest.mark.parametrize("status", Status)
def test_every_ending_is_a_sentence_about_what_was_measured(status):
    sentence = StoppingRule(1e-3, "the duality gap").message(status)
    assert len(sentence.split()) > 4
    assert ("the duality gap" in sentence) == (status in (Status.CONVERGED, Status.MAX_ITER))


def test_a_rule_may_measure_the_state_itself():
    seen = []
    solution = iterate(
        halve,
        lambda x: 7.0,  # an objective that never changes is no sign of an end
        1.0,
        stop=StoppingRule(0.1, "the size", lambda x: x),
        max_iter=10,
        callback=lambda progress: seen.append(progress.change),
    )
    assert solution.converged
    assert solution.message == "converged: the size fell below tol"
    assert seen == [0.5, 0.25, 0.125, 0.0625]


def test_without_an_objective_the_trace_is_of_what_is_measured():
    solution = iterate(halve, None, 1.0, stop=StoppingRule(0.2, "the size", lambda x: x), max_iter=10)
    np.testing.assert_array_equal(solution.trace, [0.5, 0.25, 0.125])
    broken = iterate(
        lambda x: math.nan, None, 1.0, stop=StoppingRule(0.2, "the size", lambda x: x), max_iter=10
    )
    assert broken.status is Status.NOT_FINITE
    assert broken.state == 1.0


def rosenbrock(point):
    (x,) = point
    value = 100 * (x[1] - x[0] ** 2) ** 2 + (1 - x[0]) ** 2
    gradient = np.array([-400 * x[0] * (x[1] - x[0] ** 2) - 2 * (1 - x[0]), 200 * (x[1] - x[0] ** 2)])
    return GradientEvaluation(point, value, (gradient,), lambda v: (v[0] / np.array([800.0, 200.0]),))


def test_the_descent_finds_a_minimum_and_never_rises():
    first = DescentState(rosenbrock((np.array([-1.2, 1.0]),)))
    run = descend(rosenbrock, first, stop=StoppingRule(0), max_iter=150)
    np.testing.assert_allclose(run.state.at.point[0], 1.0, atol=1e-6)
    assert (np.diff(run.trace) <= 0).all()


def test_a_wrong_gradient_leaves_the_point_where_it_is():
    def wrong(point):
        found = rosenbrock(point)
        return GradientEvaluation(found.point, found.value, (-found.gradient[0],), found.precondition)

    first = DescentState(wrong((np.array([-1.2, 1.0]),)))
    state = make_quasi_newton_step(wrong)(first)
    assert state.at is first.at
    assert state.n_evaluations > 1


def test_a_point_that_cannot_be_evaluated_is_stepped_back_from():
    def fenced(point):
        if point[0][0] > 0.1:
            raise np.linalg.LinAlgError
        return GradientEvaluation(point, float(-point[0][0]), (np.array([-1.0]),), lambda v: v)

    state = make_quasi_newton_step(fenced)(DescentState(fenced((np.zeros(1),))))
    assert 0 < state.at.point[0][0] <= 0.1


def slow_quadratic(curvature):
    """Gradient steps of length one on ``sum curvature x^2 / 2``: slow along flat directions."""

    def evaluate(point):
        (x,) = point
        return UpdateEvaluation(point, float(curvature @ x**2) / 2, (x - curvature * x,))

    return evaluate


def test_extrapolation_needs_far_fewer_evaluations_and_never_rises():
    curvature = np.array([1.0, 0.3, 0.003])
    run = accelerate(slow_quadratic(curvature), (np.ones(3),), stop=StoppingRule(0), max_iter=30)
    assert (np.diff(run.trace) <= 0).all()
    plain = np.ones(3)
    for _ in range(run.state.n_evaluations):
        plain = plain - curvature * plain
    assert run.state.value < 0.1 * float(curvature @ plain**2) / 2


def counted(evaluate):
    """The same evaluation, and a list that grows with every call."""
    calls = []

    def count(point):
        calls.append(point)
        return evaluate(point)

    return count, calls


@pytest.mark.parametrize("curvature", [[1.0, 0.3, 0.003], [0.5, 0.5, 0.5], [1.9, 0.1, 0.001]])
def test_the_cost_of_extrapolation_is_counted(curvature):
    evaluate, calls = counted(slow_quadratic(np.array(curvature)))
    run = accelerate(evaluate, (np.ones(3),), stop=StoppingRule(0), max_iter=12)
    assert run.state.n_evaluations == len(calls)


def test_the_cost_of_a_descent_is_counted():
    evaluate, calls = counted(rosenbrock)
    first = DescentState(evaluate((np.array([-1.2, 1.0]),)))
    run = descend(evaluate, first, stop=StoppingRule(0), max_iter=30)
    assert run.state.n_evaluations == len(calls)


def test_steps_that_are_allowed_grow_fourfold_and_shrink_where_they_fail():
    def one_step(evaluate):
        return accelerate(evaluate, (np.ones(1),), stop=StoppingRule(0), max_iter=1).state

    evaluate = slow_quadratic(np.array([0.01]))  # a step of 100
    assert one_step(evaluate).limit == 1e4
    assert one_step(slow_quadratic(np.array([1e-5]))).limit == 4e4  # as long as was allowed

    def rising(point):
        return replace(evaluate(point), value=-evaluate(point).value)

    missed = one_step(rising)
    assert missed.limit == pytest.approx(25.0, rel=1e-6)
    assert missed.n_evaluations == 4


def test_extrapolation_beyond_what_can_be_evaluated_falls_back_on_the_update():
    def fenced(point):
        (x,) = point
        if x[0] < 0.5:
            raise np.linalg.LinAlgError
        return UpdateEvaluation(point, float(x[0]), (np.maximum(0.99 * x, 0.5),))

    run = accelerate(fenced, (np.array([2.0]),), stop=StoppingRule(0), max_iter=40)
    assert (np.diff(run.trace) <= 0).all()
    assert run.state.at.point[0][0] >= 0.5


def test_points_are_added_and_multiplied_part_by_part():
    a, b = (np.array([1.0, 2.0]), np.array([[3.0]])), (np.array([1.0, 1.0]), np.array([[2.0]]))
    assert dot(a, b) == 9.0
    np.testing.assert_array_equal(add_scaled(a, -2.0, b)[0], [-1.0, 0.0])
    assert add_scaled(a, -2.0, b)[1].item() == -1.0
    assert a[1].item() == 3.0  # nothing is changed in place
    nothing = (np.zeros((0, 3)),)
    assert add_scaled(nothing, 1.0, nothing)[0].shape == (0, 3)


def test_settling_goes_on_until_the_point_stands_still():
    """Along a flat direction the objective's change says nothing of how far there is to go."""
    curvature, target = np.logspace(0, -4, 12), np.ones(12)

    def evaluate(point):
        away = point[0] - target
        value = 1.0 + 0.5 * float(curvature @ away**2)
        return GradientEvaluation(point, value, (curvature * away,), lambda v: v)

    run = descend(
        evaluate, DescentState(evaluate((np.zeros(12),))), stop=StoppingRule(1e-6, patience=3), max_iter=500
    )
    assert run.converged
    assert np.abs(run.state.at.point[0] - target).max() > 1e-3
    seen = []
    rest = refine_minimum(evaluate, run, callback=lambda progress: seen.append(progress.change))
    assert np.linalg.norm(rest.state.at.gradient[0]) < 1e-8
    assert np.abs(rest.state.at.point[0] - target).max() < 1e-4  # 1e-8 over the least curvature
    assert rest.status is run.status
    np.testing.assert_array_equal(rest.trace[: len(run.trace)], run.trace)
    assert rest.trace[-1] == rest.state.value
    assert len(seen) == len(rest.trace) - len(run.trace) > 1
    assert seen[-1] < 1e-8 <= min(seen[:-1])  # it ends with the first that is short enough
    stopped = descend(
        evaluate, DescentState(evaluate((np.zeros(12),))), stop=StoppingRule(1e-6), max_iter=1
    )
    assert refine_minimum(evaluate, stopped) is stopped
