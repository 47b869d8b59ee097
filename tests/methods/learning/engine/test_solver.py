"""One solver for all multiple kernel learning: the optimum, its certificate, its parts."""

import numpy as np
import pytest

from absentia.core import Status
from absentia.methods.learning.engine import Box, KernelStack, Polytope, Problem, solve
from reference import amkl as slow
from stacks import data, regions, stack_of


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
