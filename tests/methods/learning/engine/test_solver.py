"""One solver for all multiple kernel learning: the optimum, its certificate, its parts."""

import numpy as np
import pytest

from absentia.core._loop import Status
from absentia.methods.learning.engine import _solver as solver
from absentia.methods.learning.engine._polytope import Polytope
from absentia.methods.learning.engine._solver import NormBall, Problem, curvature, evaluate, solve
from absentia.methods.learning.engine._stack import KernelStack
from absentia.methods.learning.engine._svm import Box, fit_machine
from reference import amkl as slow


def rbf(X, observed, spread=2):
    D = ((X[:, None] - X[None]) ** 2).sum(-1)
    return np.array([np.exp(-D / (4 * w)) for w in 2.0 ** np.linspace(-spread, spread, observed.shape[1])])


def data(n=40, m=4, absent=0.4, seed=0, spread=2):
    rng = np.random.default_rng(seed)
    X = rng.standard_normal((n, 3))
    observed = rng.random((n, m)) > absent
    observed[~observed.any(axis=1), 0] = True
    K = rbf(X, observed, spread)
    y = np.where(X[:, 0] + X[:, 1] ** 2 - 1 + 0.3 * rng.standard_normal(n) > 0, 1.0, -1.0)
    return K, observed, y


def stack_of(K, observed):
    index = [np.flatnonzero(s) for s in observed.T]
    return KernelStack([k[np.ix_(i, i)] for k, i in zip(K, index, strict=True)], index, len(observed))


def regions(observed):
    m = observed.shape[1]
    return {
        "simplex": Polytope.simplex(m),
        "rows": Polytope.of_rows(observed),
        "mean": Polytope(observed.mean(axis=0)[None]),
    }


def test_sums_and_products_of_masked_kernels_are_those_of_dense_ones(rng):
    K, observed, _ = data(70, 5)
    observed[:, 2] = True
    dense, stack = slow.masked(K, observed), stack_of(K, observed)
    eta = np.array([0.1, 0.0, 0.5, 1.0, 2.0])
    np.testing.assert_allclose(stack.combined(eta), np.tensordot(eta, dense, 1), rtol=1e-13)
    z = rng.standard_normal(70) * (rng.random(70) > 0.5)
    R, q = stack.products(z)
    np.testing.assert_allclose(R, (dense @ z).T, rtol=1e-12, atol=1e-13)
    np.testing.assert_allclose(q, [z @ k @ z for k in dense], rtol=1e-12)


def test_single_precision_kernels_stay_single():
    K, observed, y = data()
    stack = stack_of(K.astype(np.float32), observed)
    box = Box.classification(y, np.ones(40))
    assert stack.combined(np.ones(4)).dtype == np.float32
    single = solve(Problem(stack, (box,), Polytope.simplex(4)), tol=1e-4)
    double = solve(Problem(stack_of(K, observed), (box,), Polytope.simplex(4)), tol=1e-6)
    assert single.state.objective == pytest.approx(double.state.objective, rel=2e-4)


@pytest.mark.parametrize("region", ["simplex", "rows", "mean"])
@pytest.mark.parametrize("with_tau", [False, True])
def test_the_optimum_is_that_of_the_slow_twin(region, with_tau):
    K, observed, y = data(24)
    tau = np.maximum(observed.mean(axis=1), 0.2) if with_tau else np.ones(24)
    box, Q = Box.classification(y, 2.0 / tau, tau), regions(observed)[region]
    found = solve(Problem(stack_of(K, observed), (box,), Q), tol=1e-8)
    value = slow.least(slow.masked(K, observed), box.t, box.lo, box.hi, Q.P)
    assert found.status is Status.CONVERGED
    assert found.state.objective == pytest.approx(value, rel=1e-6)


@pytest.mark.parametrize("seed", range(3))
def test_the_exact_convex_form_is_the_conic_primal_and_dual(seed):
    cp = pytest.importorskip("cvxpy")
    n, m, C = 40, 4, 2.0
    K, observed, y = data(n, m, seed=seed)
    found = solve(
        Problem(stack_of(K, observed), (Box.classification(y, np.full(n, C)),), Polytope.of_rows(observed)),
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


@pytest.mark.parametrize("region", ["simplex", "rows", "mean"])
def test_the_certificate_holds_at_every_step(region):
    K, observed, y = data(60, 6)
    problem = Problem(
        stack_of(K, observed), (Box.classification(y, np.ones(60)),), regions(observed)[region]
    )
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
            found = solve(
                Problem(stack_of(K, observed), (Box.classification(y, C / t, t),), region), tol=1e-5
            )
            assert found.status is Status.CONVERGED
            assert found.n_iter < 60


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


HARD = [(80, 10, 0, 8.0, "simplex"), (80, 10, 13, 8.0, "simplex"), (80, 10, 36, 64.0, "mean")]


def hard(n, m, seed, C, region):
    """Views with four fifths absent, some of which get next to no weight but hold samples that have no other."""
    K, observed, y = data(n, m, absent=0.8, seed=seed, spread=10)
    tau = np.maximum(observed.mean(axis=1), 1 / m) if region == "simplex" else np.ones(n)
    box = Box.classification(y, C / tau, tau)
    return K, observed, Problem(stack_of(K, observed), (box,), regions(observed)[region])


@pytest.mark.parametrize(("n", "m", "seed", "C", "region"), [*HARD, (100, 16, 47, 64.0, "simplex")])
def test_weights_and_coefficients_certify_together_where_no_machine_does_alone(n, m, seed, C, region):
    K, observed, problem = hard(n, m, seed, C, region)
    found = solve(problem, tol=1e-5)
    assert found.status is Status.CONVERGED
    point, box = found.state.point, problem.boxes[0]
    machine = point.machines[0]
    gap = slow.duality_gap(
        slow.masked(K, observed), point.eta, machine.z, machine.bias, *box, rows=problem.region.P
    )
    assert gap <= found.state.gap + 1e-10
    assert found.state.gap <= 1e-5


@pytest.mark.parametrize("boxes", [1, 2])
def test_the_weights_that_suit_given_coefficients_have_the_least_primal_value(boxes):
    K, observed, y = data(30)
    labels = [y, np.where(np.arange(30) % 3 == 0, 1.0, -1.0)][:boxes]
    problem = Problem(
        stack_of(K, observed),
        tuple(Box.classification(own, np.ones(30)) for own in labels),
        Polytope.of_rows(observed),
    )
    at = solver.evaluate(problem, problem.region.middle(), 1e-2)
    primal = lambda eta: solver._point(problem, eta, at.K, at.machines).primal
    best = solver.fitting_weights(problem, problem.region, at.coefficients)
    least, rng = primal(best), np.random.default_rng(0)
    assert least < primal(at.eta) * (1 - 1e-3)
    for _ in range(30):
        other = problem.region.inside(best + 10 ** rng.uniform(-4, 0) * rng.standard_normal(4))
        assert primal(other) >= least * (1 - 1e-6)  # 1e-7 is HiGHS' feasibility


def test_the_average_of_machines_bounds_no_worse_than_their_cuts():
    *_, problem = hard(*HARD[0])
    state = solver.start(problem)
    for _ in range(8):
        state = solver.onward(problem, state, 1e-5)
    heights, Q = np.array([c.height for c in state.cuts]), np.array([c.q for c in state.cuts])
    value = solver.lowest_model(problem.region, heights, Q, np.zeros(10), np.inf)[2]
    mean = solver.with_coefficients(problem, state.point, solver.averaged(problem.region, state.cuts))
    assert mean.height - mean.kappa / 2 >= value - 1e-6 * abs(value)
    assert mean.height - mean.kappa / 2 > max(
        c.height - problem.region.highest(c.q)[0] / 2 for c in state.cuts
    )


def test_weights_next_to_the_threshold_can_be_rounded_up_too():
    eta = np.array([1.0, 0.0, 5e-7, 5e-8, 0.3])
    up = solver.lifted(eta)
    np.testing.assert_array_equal(up[[0, 1, 3, 4]], eta[[0, 1, 3, 4]])
    np.testing.assert_array_equal(solver.without_dust(up) > 0, [True, False, True, False, True])
    assert solver.lifted(up) is up


def test_a_warm_start_at_the_solution_is_over_at_once():
    K, observed, y = data(60)
    problem = Problem(stack_of(K, observed), (Box.classification(y, np.ones(60)),), Polytope.simplex(4))
    first = solve(problem, tol=1e-4)
    again = solve(problem, tol=1e-2, eta=first.state.point.eta, z=first.state.point.coefficients)
    assert again.n_iter == 1


def test_a_callback_stops_it():
    K, observed, y = data(60)
    problem = Problem(stack_of(K, observed), (Box.classification(y, np.ones(60)),), Polytope.simplex(4))
    assert solve(problem, tol=1e-9, callback=lambda p: True).status is Status.STOPPED


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


def test_shared_weights_minimise_the_sum():
    K, observed, y = data(24)
    other = np.where(np.arange(24) % 3 == 0, 1.0, -1.0)
    boxes = tuple(Box.classification(labels, np.ones(24)) for labels in (y, other))
    found = solve(Problem(stack_of(K, observed), boxes, Polytope.simplex(4)), tol=1e-7)
    dense = slow.masked(K, observed)
    at = lambda eta: sum(slow.value_and_gradient(dense, b.t, b.lo, b.hi, eta)[0] for b in boxes)
    eta = found.state.point.eta
    assert at(eta) == pytest.approx(found.state.objective, rel=1e-6)
    rng = np.random.default_rng(0)
    for _ in range(5):
        near = np.maximum(eta + 0.05 * rng.standard_normal(4), 0)
        assert at(near / near.sum()) >= found.state.objective * (1 - 1e-6)


def test_regression_has_the_same_certificate():
    K, observed, y = data(60)
    target = y + 0.1 * np.arange(60)
    box = Box.regression(target, np.ones(60), 0.2)
    found = solve(Problem(stack_of(K, observed), (box,), Polytope.simplex(4)), tol=1e-6)
    assert found.state.gap <= 1e-6


def test_equations_25_and_26_differ():
    """Two samples, two views, one each, opposite labels: 1/2 against 1."""
    observed, y = np.eye(2, dtype=bool), np.array([1.0, -1.0])
    stack = KernelStack([np.ones((1, 1))] * 2, [np.array([0]), np.array([1])], 2)
    found = solve(
        Problem(stack, (Box.classification(y, np.full(2, 1e6)),), Polytope.of_rows(observed)), tol=1e-9
    )
    assert found.state.objective == pytest.approx(1.0)
    assert slow.hard_margin_25(np.ones((2, 2)), observed, y) == pytest.approx(0.5)
