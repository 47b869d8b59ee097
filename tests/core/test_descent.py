"""Steps that make the loop fast: they find minima, and the objective never rises."""

import numpy as np

from absentia.core._descent import (
    Descent,
    Evaluated,
    Sloped,
    accelerate,
    descend,
    dot,
    plus,
    quasi_newton,
    settle,
)
from absentia.core._loop import Stop


def rosenbrock(point):
    (x,) = point
    value = 100 * (x[1] - x[0] ** 2) ** 2 + (1 - x[0]) ** 2
    gradient = np.array([-400 * x[0] * (x[1] - x[0] ** 2) - 2 * (1 - x[0]), 200 * (x[1] - x[0] ** 2)])
    return Sloped(point, value, (gradient,), lambda v: (v[0] / np.array([800.0, 200.0]),))


def test_the_descent_finds_a_minimum_and_never_rises():
    first = Descent(rosenbrock((np.array([-1.2, 1.0]),)))
    run = descend(rosenbrock, first, stop=Stop(0), max_iter=150)
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


def slow_quadratic(curvature):
    """Gradient steps of length one on ``sum curvature x^2 / 2``: slow along flat directions."""

    def evaluate(point):
        (x,) = point
        return Evaluated(point, float(curvature @ x**2) / 2, (x - curvature * x,))

    return evaluate


def test_extrapolation_needs_far_fewer_evaluations_and_never_rises():
    curvature = np.array([1.0, 0.3, 0.003])
    run = accelerate(slow_quadratic(curvature), (np.ones(3),), stop=Stop(0), max_iter=30)
    assert (np.diff(run.trace) <= 0).all()
    plain = np.ones(3)
    for _ in range(run.state.n_evaluations):
        plain = plain - curvature * plain
    assert run.state.value < 0.1 * float(curvature @ plain**2) / 2


def test_extrapolation_beyond_what_can_be_evaluated_falls_back_on_the_update():
    def fenced(point):
        (x,) = point
        if x[0] < 0.5:
            raise np.linalg.LinAlgError
        return Evaluated(point, float(x[0]), (np.maximum(0.99 * x, 0.5),))

    run = accelerate(fenced, (np.array([2.0]),), stop=Stop(0), max_iter=40)
    assert (np.diff(run.trace) <= 0).all()
    assert run.state.at.point[0][0] >= 0.5


def test_points_are_added_and_multiplied_part_by_part():
    a, b = (np.array([1.0, 2.0]), np.array([[3.0]])), (np.array([1.0, 1.0]), np.array([[2.0]]))
    assert dot(a, b) == 9.0
    np.testing.assert_array_equal(plus(a, -2.0, b)[0], [-1.0, 0.0])
    assert plus(a, -2.0, b)[1].item() == -1.0
    assert a[1].item() == 3.0  # nothing is changed in place
    nothing = (np.zeros((0, 3)),)
    assert plus(nothing, 1.0, nothing)[0].shape == (0, 3)


def test_settling_goes_on_until_the_point_stands_still():
    """Along a flat direction the objective's change says nothing of how far there is to go."""
    curvature, target = np.logspace(0, -4, 12), np.ones(12)

    def evaluate(point):
        away = point[0] - target
        value = 1.0 + 0.5 * float(curvature @ away**2)
        return Sloped(point, value, (curvature * away,), lambda v: v)

    run = descend(evaluate, Descent(evaluate((np.zeros(12),))), stop=Stop(1e-6, patience=3), max_iter=500)
    assert run.converged
    assert np.abs(run.state.at.point[0] - target).max() > 1e-3
    rest = settle(evaluate, run)
    assert np.linalg.norm(rest.state.at.gradient[0]) < 1e-8
    assert np.abs(rest.state.at.point[0] - target).max() < 1e-4  # 1e-8 over the least curvature
    assert rest.status is run.status
    assert len(rest.trace) > len(run.trace)
    stopped = descend(evaluate, Descent(evaluate((np.zeros(12),))), stop=Stop(1e-6), max_iter=1)
    assert settle(evaluate, stopped) is stopped
