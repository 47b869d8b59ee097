"""Sums of kernels: machines on them, and how these answer to other weights."""

import numpy as np
import pytest

from absentia.methods.learning.engine import (
    Box,
    FactorStack,
    KernelStack,
    Polytope,
    Problem,
    lifted_cholesky,
    solve,
)
from absentia.methods.learning.engine import _sums as module
from absentia.methods.learning.engine._problem import evaluate
from absentia.methods.learning.engine._sums import DenseSum, Response
from stacks import data, factors, stack_of

ETA = np.array([0.2, 0.3, 0.4, 0.1])


def test_coefficients_follow_the_weights_as_the_response_says():
    K, observed, y = data(30)
    problem = Problem(stack_of(K, observed), (Box.classification(y, np.ones(30)),), Polytope.simplex(4))
    point = evaluate(problem, ETA, 1e-13)
    response = point.kernel.response(problem.boxes[0], point.machines[0], point.R[0], 1e-13)
    step = 1e-6 * np.array([1.0, -1.0, 0.5, 0.2])
    there = evaluate(problem, ETA + step, 1e-13)
    moved = (there.machines[0].z - point.machines[0].z)[response.free]
    np.testing.assert_allclose(moved, -response.follow @ step, atol=1e-3 * np.abs(moved).max())
    np.testing.assert_allclose(there.gradient - point.gradient, response.H @ step, rtol=1e-2, atol=1e-8)


def test_a_sum_without_free_coefficients_is_flat():
    machine = DenseSum(np.eye(3)).fit(
        Box.classification(np.array([1.0, 1.0, -1.0]), np.full(3, 1e-9)), tol=1e-9
    )
    flat = DenseSum(np.eye(3)).response(
        Box.classification(np.array([1.0, 1.0, -1.0]), np.full(3, 1e-9)), machine, np.ones((3, 2)), 1e-9
    )
    assert isinstance(flat, Response)
    assert not flat.H.any()
    assert not len(flat.free)


@pytest.fixture
def thin():
    Phi, observed, y = factors(200)
    return FactorStack(Phi, [np.flatnonzero(s) for s in observed.T], 200), Box.classification(
        y, np.ones(200)
    )


def test_the_curvature_from_factors_is_the_formula(thin):
    stack, box = thin
    kernel = stack.weighted(ETA)
    machine = kernel.fit(box, tol=1e-6)
    R = stack.products(machine.z)[0]
    near, give = kernel._near(box, machine)
    rows = stack.rows(near) * np.sqrt(np.repeat(ETA, 6))
    A = np.linalg.inv(rows @ rows.T + np.diag(give))
    one = np.ones(len(near))
    B = A - np.outer(A @ one, A @ one) / (one @ A @ one)
    found = kernel.response(box, machine, R, 1e-9)
    np.testing.assert_allclose(
        found.H, R[near].T @ B @ R[near], rtol=1e-8, atol=1e-8 * np.abs(found.H).max()
    )
    assert np.linalg.eigvalsh(found.H)[0] >= -1e-12 * np.trace(found.H)
    # those near their kinks are
    distance = np.abs(box.t - machine.scores - machine.bias)
    assert distance[near].max() <= np.delete(distance, near).min(initial=np.inf)


def test_of_very_many_samples_near_their_kinks_some_stand_for_all(thin, monkeypatch):
    stack, box = thin
    kernel = stack.weighted(ETA)
    machine = kernel.fit(box, tol=1e-6)
    R = stack.products(machine.z)[0]
    whole = kernel.response(box, machine, R, 1e-9).H
    monkeypatch.setattr(module, "MOST_NEAR", 60)
    near, _ = kernel._near(box, machine)
    part = kernel.response(box, machine, R, 1e-9).H
    assert len(near) <= 60
    assert np.trace(part) == pytest.approx(np.trace(whole), rel=0.5)


def test_newton_steps_from_factors_end_where_dense_ones_do(thin):
    stack, box = thin
    dense = KernelStack([Phi @ Phi.T for Phi in stack.factors], stack.index, stack.n)
    ends = [solve(Problem(s, (box,), Polytope.simplex(4)), tol=1e-4).state for s in (stack, dense)]
    assert ends[0].gap <= 1e-4
    assert ends[0].objective == pytest.approx(ends[1].objective, rel=2e-4)


def test_a_singular_matrix_is_lifted_as_far_as_it_takes():
    L = lifted_cholesky(np.ones((3, 3)), 0.0 + 1e-9)
    np.testing.assert_allclose(L @ L.T, np.ones((3, 3)), atol=1e-4)
