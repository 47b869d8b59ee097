"""The solver: steps, states, cutting planes, what is handed over, and its certificate."""

from dataclasses import replace

import numpy as np
import pytest

from absentia.core.optimize import Status
from absentia.methods.learning.engine import (
    Box,
    KernelStack,
    NormBall,
    Polytope,
    Problem,
    fit_machine,
    relative_gap,
    solve,
    without_dust,
)
from absentia.methods.learning.engine import _problem as problems
from absentia.methods.learning.engine import _solver as solver
from absentia.methods.learning.engine._problem import (
    _JITTER,
    _N_CUTS,
    _point,
    advance,
    evaluate,
    initial_state,
    lift_small_weights,
    next_tolerance,
    with_coefficients,
)
from absentia.methods.learning.engine._solver import _average_coefficients, _fitting_weights, _lowest_model
from helpers.absent_kernels import problem as gapped_problem
from helpers.mkl_problems import HARD, data, hard, regions, stack_of
from reference import amkl as slow


@pytest.mark.parametrize("region", ["simplex", "rows", "mean"])
@pytest.mark.parametrize("with_tau", [False, True])
def test_the_optimum_is_that_of_the_slow_twin(region, with_tau):
    K, observed, y = data(24)
    tau = np.maximum(observed.mean(axis=1), 0.2) if with_tau else np.ones(24)
    box, Q = Box.classification(y, 2.0 / tau, tau), regions(observed)[region]
    found = solve(Problem(stack_of(K, observed), box, Q), tol=1e-8)
    value = slow.least(slow.masked(K, observed), box.t, box.lo, box.hi, Q.P)
    assert found.status is Status.CONVERGED
    assert found.state.objective == pytest.approx(value, rel=1e-6)


@pytest.mark.parametrize("seed", range(3))
def test_the_exact_convex_form_is_the_conic_primal_and_dual(seed):
    cp = pytest.importorskip("cvxpy")
    n, m, C = 40, 4, 2.0
    K, observed, y = data(n, m, seed=seed)
    found = solve(
        Problem(stack_of(K, observed), Box.classification(y, np.full(n, C)), Polytope.of_rows(observed)),
        tol=1e-8,
    )
    L = [np.linalg.cholesky(k + 1e-10 * np.eye(n)) for k in K]  # phi_p(x_i) = row i
    # primal, eq. 28
    w, b, xi, u = [cp.Variable(n) for _ in L], cp.Variable(), cp.Variable(n, nonneg=True), cp.Variable()
    gamma, energy = cp.Variable(m, nonneg=True), cp.Variable(m)
    f = sum(cp.multiply(s, part @ v) for s, part, v in zip(observed.T * 1.0, L, w, strict=True)) + b
    energies = [cp.quad_over_lin(v, gamma[p]) <= energy[p] for p, v in enumerate(w)]
    constraints = [cp.multiply(y, f) >= 1 - xi, cp.sum(gamma) == 1, (observed * 1.0) @ energy <= 2 * u]
    constraints += energies
    primal = cp.Problem(cp.Minimize(u + C * cp.sum(xi)), constraints).solve("CLARABEL")
    # dual
    beta, theta = cp.Variable(n, nonneg=True), cp.Variable(n, nonneg=True)
    z = cp.multiply(y, beta)
    cones = [
        cp.sum_squares(part.T @ cp.multiply(s, z)) <= s @ theta
        for s, part in zip(observed.T * 1.0, L, strict=True)
    ]
    dual = cp.Problem(cp.Maximize(cp.sum(beta) - cp.sum(theta) / 2), [beta <= C, y @ beta == 0, *cones])
    assert found.state.objective == pytest.approx(primal, rel=1e-6)
    assert found.state.objective == pytest.approx(dual.solve("CLARABEL"), rel=1e-6)


@pytest.mark.parametrize("region", ["simplex", "rows", "mean"])
def test_the_certificate_holds_at_every_step(region):
    K, observed, y = data(60, 6)
    problem = Problem(stack_of(K, observed), Box.classification(y, np.ones(60)), regions(observed)[region])
    best = solve(problem, tol=1e-9).state.objective
    seen = []
    solve(problem, tol=1e-5, callback=lambda p: seen.append((p.objective, p.change)))
    assert seen[-1][1] <= 1e-5
    for objective, gap in seen:
        assert objective >= best * (1 - 1e-9)
        assert objective * (1 - gap) <= best * (1 + 1e-9)
    assert (np.diff([objective for objective, _ in seen]) <= 1e-12).all()


@pytest.mark.parametrize("absent", [0.0, 0.5, 0.9])
@pytest.mark.parametrize("C", [0.5, 8.0, 128.0])
def test_no_problem_stalls(absent, C):
    K, observed, y = data(80, 10, absent=absent, seed=3, spread=10)
    tau = np.maximum(observed.mean(axis=1), 0.2)
    for region in regions(observed).values():
        for t in (np.ones(80), tau):
            found = solve(Problem(stack_of(K, observed), Box.classification(y, C / t, t), region), tol=1e-5)
            assert found.status is Status.CONVERGED
            assert found.n_iter < 60


def test_a_warm_start_at_the_solution_is_over_at_once():
    K, observed, y = data(60)
    problem = Problem(stack_of(K, observed), Box.classification(y, np.ones(60)), Polytope.simplex(4))
    first = solve(problem, tol=1e-4)
    again = solve(problem, tol=1e-2, eta=first.state.point.eta, z=first.state.point.machine.z)
    assert again.n_iter == 1


def test_a_callback_stops_it():
    K, observed, y = data(60)
    problem = Problem(stack_of(K, observed), Box.classification(y, np.ones(60)), Polytope.simplex(4))
    assert solve(problem, tol=1e-9, callback=lambda p: True).status is Status.STOPPED


def test_regression_has_the_same_certificate():
    K, observed, y = data(60)
    target = y + 0.1 * np.arange(60)
    box = Box.regression(target, np.ones(60), 0.2)
    found = solve(Problem(stack_of(K, observed), box, Polytope.simplex(4)), tol=1e-6)
    assert found.state.gap <= 1e-6


def test_equations_25_and_26_differ():
    """Two samples, two views, one each, opposite labels: 1/2 against 1."""
    observed, y = np.eye(2, dtype=bool), np.array([1.0, -1.0])
    stack = KernelStack([np.ones((1, 1))] * 2, [np.array([0]), np.array([1])], 2)
    found = solve(
        Problem(stack, Box.classification(y, np.full(2, 1e6)), Polytope.of_rows(observed)), tol=1e-9
    )
    assert found.state.objective == pytest.approx(1.0)
    assert slow.hard_margin_25(np.ones((2, 2)), observed, y) == pytest.approx(0.5)


@pytest.fixture(scope="module")
def problem():
    K, observed, y = data(30)
    return Problem(stack_of(K, observed), Box.classification(y, np.ones(30)), Polytope.simplex(4))


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
    shorter = with_coefficients(problem, point, 0.5 * point.machine.z)
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
    up = lift_small_weights(eta)
    np.testing.assert_array_equal(up[[0, 1, 3, 4]], eta[[0, 1, 3, 4]])
    np.testing.assert_array_equal(without_dust(up) > 0, [True, False, True, False, True])
    assert lift_small_weights(up) is up


def test_a_worse_trial_leaves_the_point_but_its_bound_and_cut_count(problem):
    state = initial_state(problem)
    worse = evaluate(problem, np.array([0.0, 0.0, 0.0, 0.1]), 1e-6)
    assert worse.primal > state.objective
    after = advance(state, [worse], 1.0)
    assert after.point is state.point
    assert len(after.cuts) == 2
    assert after.lower >= state.lower
    assert (after.care, after.n_machines) == (1, 2)
    assert after.jitter == pytest.approx(100 * _JITTER)


def test_a_better_trial_is_kept_and_care_is_given_up(problem):
    state = advance(initial_state(problem), [evaluate(problem, np.array([0.0, 0.0, 0.0, 0.1]), 1e-6)], 1.0)
    better = solve(problem, tol=1e-6).state.point
    assert better.primal < state.objective
    after = advance(state, [better], state.objective - better.primal)
    assert after.point is better
    assert (after.care, after.jitter) == (0, pytest.approx(10 * _JITTER))
    assert after.surest.gap == min(state.surest.gap, better.gap)


def test_cuts_are_not_kept_without_end(problem):
    state = initial_state(problem)
    point = evaluate(problem, np.full(4, 0.25), 1e-2)
    for _ in range(3):
        state = advance(state, [point] * (_N_CUTS // 2), 0.0)
    assert len(state.cuts) == _N_CUTS


def test_machines_are_as_exact_as_gap_promise_and_care_ask_for(problem):
    state = initial_state(problem)
    tol = 1e-6
    assert next_tolerance(state, 1e9, tol) == pytest.approx(0.02 * state.gap)
    assert next_tolerance(state, 0.0, tol) == pytest.approx(0.2 * tol)
    careful = advance(state, [evaluate(problem, np.array([0.0, 0.0, 0.0, 0.1]), 1e-6)], 1.0)
    assert next_tolerance(careful, 0.0, tol) == pytest.approx(0.02 * tol)


def test_gradient_and_hessian_are_those_of_finite_differences():
    K, observed, y = data(60, spread=1)
    problem = Problem(stack_of(K, observed), Box.classification(y, np.full(60, 1.0)), Polytope.simplex(4))
    eta, h = np.array([0.3, 0.2, 0.25, 0.25]), 1e-5
    at = lambda x: evaluate(problem, x, 1e-13)
    point = at(eta)
    H = point.kernel.response(problem.box, point.machine, point.R, 1e-14).H
    for p, step in enumerate(h * np.eye(4)):
        above, below = at(eta + step), at(eta - step)
        assert point.gradient[p] == pytest.approx((above.dual - below.dual) / (2 * h), rel=1e-5)
        np.testing.assert_allclose(H[p], (above.gradient - below.gradient) / (2 * h), rtol=1e-3, atol=1e-4)


def test_cutting_planes_close_the_gap_where_newton_does_not(monkeypatch):
    K, observed, y = data(60, 4, absent=0.8)
    problem = Problem(stack_of(K, observed), Box.classification(y, np.full(60, 0.5)), Polytope.simplex(4))
    exact = solve(problem, tol=1e-7).state.objective
    monkeypatch.setattr(solver, "_newton_step", solver._cutting_step)
    found = solve(problem, tol=1e-4, max_iter=500)
    assert found.status is Status.CONVERGED
    assert found.state.objective == pytest.approx(exact, rel=1e-4)


def test_the_weights_that_suit_given_coefficients_have_the_least_primal_value():
    K, observed, y = data(30)
    problem = Problem(stack_of(K, observed), Box.classification(y, np.ones(30)), Polytope.of_rows(observed))
    at = evaluate(problem, problem.region.middle(), 1e-2)
    primal = lambda eta: _point(problem, eta, at.kernel, at.machine).primal
    best = _fitting_weights(problem, problem.region, at.machine.z)
    least, rng = primal(best), np.random.default_rng(0)
    assert least < primal(at.eta) * (1 - 1e-3)
    for _ in range(30):
        other = problem.region.inside(best + 10 ** rng.uniform(-4, 0) * rng.standard_normal(4))
        assert primal(other) >= least * (1 - 1e-6)  # 1e-7 is HiGHS' feasibility


def test_the_average_of_machines_bounds_no_worse_than_their_cuts():
    *_, problem = hard(*HARD[0])
    state = initial_state(problem)
    for _ in range(8):
        state = solver._take_step(problem, state, 1e-5)
    value = _lowest_model(problem.region, state.cuts)[2]
    mean = with_coefficients(problem, state.point, _average_coefficients(problem.region, state.cuts))
    assert mean.height - mean.kappa / 2 >= value - 1e-6 * abs(value)
    assert mean.height - mean.kappa / 2 > max(
        c.height - problem.region.highest(c.q)[0] / 2 for c in state.cuts
    )


@pytest.mark.parametrize("p", [1.1, 2.0, 8.0])
def test_weights_in_a_norm_ball_are_optimal_too(p):
    K, observed, y = data(40)
    box, ball = Box.classification(y, np.ones(40)), NormBall(4, p)
    found = solve(Problem(stack_of(K, observed), box, ball), tol=1e-7, max_iter=2000)
    eta = found.state.point.eta
    assert found.status is Status.CONVERGED
    assert np.linalg.norm(eta, p) == pytest.approx(1)
    dense, rng = slow.masked(K, observed), np.random.default_rng(0)
    for _ in range(10):  # nowhere near is it lower
        other = np.maximum(eta + 0.05 * rng.standard_normal(4), 0)
        other /= np.linalg.norm(other, p)
        value = fit_machine(np.tensordot(other, dense, 1), box, tol=1e-9).dual
        assert value >= found.state.objective * (1 - 1e-6)


@pytest.mark.parametrize(("n", "m", "seed", "C", "region"), [*HARD, (100, 16, 47, 64.0, "simplex")])
def test_weights_and_coefficients_certify_together_where_no_machine_does_alone(n, m, seed, C, region):
    K, observed, problem = hard(n, m, seed, C, region)
    found = solve(problem, tol=1e-5)
    assert found.status is Status.CONVERGED
    point, box = found.state.point, problem.box
    machine = point.machine
    gap = slow.duality_gap(
        slow.masked(K, observed), point.eta, machine.z, machine.bias, *box, rows=problem.region.P
    )
    assert gap <= found.state.gap + 1e-10
    assert found.state.gap <= 1e-5


def test_bounds_that_contradict_each_other_are_an_error(monkeypatch):
    kernels, y = gapped_problem(0, 1.0)
    stack, box = KernelStack.of(kernels), Box.classification(np.where(y, 1.0, -1.0), np.ones(len(y)))
    plain = problems._point

    def flattered(*arguments):
        point = plain(*arguments)
        return replace(point, height=point.height * 1.1, lower=point.lower * 1.1)

    monkeypatch.setattr(problems, "_point", flattered)
    with pytest.raises(ArithmeticError, match=r"upper bound .* lies below the lower one"):
        solve(Problem(stack, box, Polytope.simplex(4)))
