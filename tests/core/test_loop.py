import math

import numpy as np
import pytest

from absentia.core._loop import Descent, Progress, Sloped, Status, iterate, quasi_newton, relative_change


def halve(x):
    return x / 2


def test_converges_and_keeps_the_objective_after_each_step():
    solution = iterate(halve, lambda x: 1 + x, 1.0, tol=1e-3, max_iter=100)
    assert solution.status is Status.CONVERGED
    np.testing.assert_allclose(solution.trace, 1 + 0.5 ** np.arange(1, solution.n_iter + 1))
    assert relative_change(*solution.trace[-2:]) < 1e-3
    assert relative_change(*solution.trace[-3:-1]) >= 1e-3


def test_the_tolerance_is_relative():
    small = iterate(halve, lambda x: 1 + x, 1.0, tol=1e-4, max_iter=100)
    large = iterate(halve, lambda x: 1e9 * (1 + x), 1.0, tol=1e-4, max_iter=100)
    assert small.n_iter == large.n_iter


def test_patience_outlasts_a_single_short_step():
    uneven = {0: 8.0, 1: 4.0, 2: 4.0, 3: 2.0, 4: 2.0, 5: 2.0, 6: 2.0}
    runs = [iterate(lambda i: i + 1, uneven.get, 0, tol=1e-3, max_iter=6, patience=p).state for p in (1, 2)]
    assert runs == [2, 5]


def test_max_iter_is_reported_and_zero_tolerance_runs_them_all():
    assert iterate(halve, lambda x: x, 1.0, tol=1e-9, max_iter=3).status is Status.MAX_ITER
    solution = iterate(lambda x: x, lambda x: x, 1.0, tol=0, max_iter=3)
    assert solution.status is Status.FINISHED
    assert solution.n_iter == 3


def test_a_non_finite_objective_keeps_the_last_good_state():
    solution = iterate(lambda x: x + 1, lambda x: math.nan if x > 3 else x, 0, tol=1e-9, max_iter=10)
    assert solution.status is Status.NOT_FINITE
    assert solution.state == 3
    np.testing.assert_array_equal(solution.trace, [1, 2, 3])


def test_the_callback_sees_progress_and_can_stop():
    seen = []

    def callback(progress):
        seen.append(progress)
        return progress.iteration == 2

    solution = iterate(halve, lambda x: x, 1.0, tol=1e-9, max_iter=10, callback=callback)
    assert solution.status is Status.STOPPED
    assert seen == [Progress(1, 0.5, math.inf, 10), Progress(2, 0.25, 0.5, 10)]


@pytest.mark.parametrize("status", Status)
def test_every_status_is_a_sentence(status):
    assert len(status.value.split()) > 4


def rosenbrock(point):
    (x,) = point
    value = 100 * (x[1] - x[0] ** 2) ** 2 + (1 - x[0]) ** 2
    gradient = np.array([-400 * x[0] * (x[1] - x[0] ** 2) - 2 * (1 - x[0]), 200 * (x[1] - x[0] ** 2)])
    return Sloped(point, value, (gradient,), lambda v: (v[0] / np.array([800.0, 200.0]),))


def test_the_descent_finds_a_minimum_and_never_rises():
    first = Descent(rosenbrock((np.array([-1.2, 1.0]),)))
    run = iterate(quasi_newton(rosenbrock), lambda s: s.value, first, tol=0, max_iter=150)
    np.testing.assert_allclose(run.state.at.point[0], 1.0, atol=1e-6)
    assert (np.diff(run.trace) <= 0).all()


def test_a_wrong_gradient_leaves_the_point_where_it_is():
    def wrong(point):
        found = rosenbrock(point)
        return Sloped(found.point, found.value, (-found.gradient[0],), found.precondition)

    first = Descent(wrong((np.array([-1.2, 1.0]),)))
    state = quasi_newton(wrong)(first)
    assert state.at is first.at
    assert state.n_evaluations > 1


def test_a_point_that_cannot_be_evaluated_is_stepped_back_from():
    def fenced(point):
        if point[0][0] > 0.1:
            raise np.linalg.LinAlgError
        return Sloped(point, float(-point[0][0]), (np.array([-1.0]),), lambda v: v)

    state = quasi_newton(fenced)(Descent(fenced((np.zeros(1),))))
    assert 0 < state.at.point[0][0] <= 0.1
