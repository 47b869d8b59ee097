"""Stacks of kernels and of factors: the same sums, products and machines."""

import numpy as np
import pytest

from absentia import KernelViews
from absentia.core import Gram, Scaled
from absentia.data import _inputs, prefers_factors
from absentia.methods.learning.engine import (
    Box,
    FactorStack,
    KernelStack,
    Polytope,
    Problem,
    cholesky_with_jitter,
    solve,
)
from absentia.methods.learning.engine import _stacks as module
from absentia.methods.learning.engine._problem import evaluate
from absentia.methods.learning.engine._stacks import _DenseSum, _Response
from helpers.mkl_problems import data, factors, stack_of
from reference import amkl as slow

N_IN_PIECES = 200  # samples of which a sum is made in more pieces than one
assert N_IN_PIECES**2 > module._SUMMED


def test_sums_and_products_of_masked_kernels_are_those_of_dense_ones(rng):
    K, observed, _ = data(N_IN_PIECES, 5)
    observed[:, 2] = True
    dense, stack = slow.masked(K, observed), stack_of(K, observed)
    eta = np.array([0.1, 0.0, 0.5, 1.0, 2.0])
    np.testing.assert_allclose(stack.combine(eta), np.tensordot(eta, dense, 1), rtol=1e-13)
    z = rng.standard_normal(N_IN_PIECES) * (rng.random(N_IN_PIECES) > 0.5)
    R, q = stack.products(z)
    np.testing.assert_allclose(R, (dense @ z).T, rtol=1e-12, atol=1e-13)
    np.testing.assert_allclose(q, [z @ k @ z for k in dense], rtol=1e-12)


def test_single_precision_kernels_stay_single():
    K, observed, y = data()
    stack = stack_of(K.astype(np.float32), observed)
    box = Box.classification(y, np.ones(40))
    assert stack.combine(np.ones(4)).dtype == np.float32
    single = solve(Problem(stack, box, Polytope.simplex(4)), tol=1e-4)
    double = solve(Problem(stack_of(K, observed), box, Polytope.simplex(4)), tol=1e-6)
    assert single.state.objective == pytest.approx(double.state.objective, rel=2e-4)


def test_another_order_of_the_samples_is_that_of_dense_kernels(rng):
    K, observed, _ = data(20, 3)
    order = rng.permutation(20)
    kernels = KernelViews.from_dense(K, observed=observed)
    plain, advance = KernelStack.of(kernels), KernelStack.of(kernels, order)
    eta = np.array([1.0, 0.5, 2.0])
    np.testing.assert_allclose(advance.combine(eta), plain.combine(eta)[np.ix_(order, order)], rtol=1e-13)
    assert all((np.diff(index) > 0).all() for index in advance.index)


def test_a_sum_in_another_order_is_that_of_dense_kernels(rng):
    n = N_IN_PIECES
    K, observed, _ = data(n, 3)
    order, ridge, eta = rng.permutation(n), rng.random(n), np.array([1.0, 0.5, 2.0])
    stack = KernelStack.of(KernelViews.from_dense(K, observed=observed))
    wanted = np.tensordot(eta, slow.masked(K, observed), 1)[np.ix_(order, order)] + np.diag(ridge)
    np.testing.assert_allclose(stack.ordered_sum(eta, order, ridge).K, wanted, rtol=1e-13)


def test_a_part_of_the_samples_is_a_part_of_the_sums():
    K, observed, _ = data(20, 3)
    some = np.array([1, 4, 5, 11, 19])
    stack = stack_of(K, observed)
    eta = np.array([1.0, 0.5, 2.0])
    part = stack.restrict(some)
    np.testing.assert_array_equal(part.combine(eta), stack.combine(eta)[np.ix_(some, some)])
    wanted = np.flatnonzero(observed[:, [0, 2]].any(axis=1))
    np.testing.assert_array_equal(stack.samples_with(np.array([True, False, True])), wanted)
    np.testing.assert_array_equal(
        stack.largest(), [k[s][:, s].diagonal().max() for k, s in zip(K, observed.T, strict=True)]
    )


ETA = np.array([0.5, 0.0, 1.0, 0.2])


def twins(n=60, dtype=np.float64, seed=0):
    Phi, observed, y = factors(n, seed=seed, dtype=dtype)
    index = [np.flatnonzero(s) for s in observed.T]
    dense = [P.astype(np.float64) @ P.T.astype(np.float64) for P in Phi]
    own = np.random.default_rng(seed).random((n, 4)) * (np.arange(n)[:, None] % 3 > 0) * observed
    dense = [K + np.diag(own[i, p]) for p, (K, i) in enumerate(zip(dense, index, strict=True))]
    return FactorStack(Phi, index, n, own), KernelStack(dense, index, n), y


@pytest.mark.parametrize("dtype", [np.float64, pytest.param(np.float32, marks=pytest.mark.slow)])
def test_products_and_scores_are_those_of_the_dense_kernels(rng, dtype):
    thin, dense, _ = twins(dtype=dtype)
    z = rng.standard_normal(60) * (rng.random(60) > 0.3)
    for found, wanted in zip(thin.products(z), dense.products(z), strict=True):
        np.testing.assert_allclose(found, wanted, rtol=1e-11, atol=1e-11)
    np.testing.assert_allclose(thin.scores(ETA, z), dense.combine(ETA) @ z, rtol=1e-11, atol=1e-11)
    np.testing.assert_allclose(thin.largest(), dense.largest(), rtol=1e-12)
    np.testing.assert_allclose(thin.squares @ ETA, dense.combine(ETA).diagonal(), rtol=1e-11)


def test_scaled_samples_are_scaled_rows_and_columns(rng):
    thin, dense, _ = twins()
    scale, z = rng.random(60) + 0.5, rng.standard_normal(60)
    one, other = thin.rescale(scale), dense.rescale(scale)
    for found, wanted in zip(one.products(z), other.products(z), strict=True):
        np.testing.assert_allclose(found, wanted, rtol=1e-11, atol=1e-11)
    np.testing.assert_allclose(one.scores(ETA, z), other.combine(ETA) @ z, rtol=1e-11, atol=1e-11)
    np.testing.assert_allclose(one.squares @ ETA, other.combine(ETA).diagonal(), rtol=1e-11)
    own = one.squares - one.diagonal
    np.testing.assert_allclose(one.rows(np.arange(60)) ** 2 @ np.repeat(ETA, 6), own @ ETA, rtol=1e-11)
    some = np.arange(0, 60, 3)
    part, whole = one.restrict(some), other.combine(ETA)[np.ix_(some, some)]
    np.testing.assert_allclose(part.scores(ETA, z[some]), whole @ z[some], rtol=1e-11, atol=1e-11)


def test_the_samples_of_views_are_found():
    thin, dense, _ = twins()
    views = np.array([False, True, False, True])
    np.testing.assert_array_equal(thin.samples_with(views), dense.samples_with(views))


def test_factors_are_not_copied_and_another_order_is_an_index(rng):
    Phi, observed, _ = factors(30, dtype=np.float32)
    parts = {
        f"v{p}": (np.flatnonzero(s), one) for p, (s, one) in enumerate(zip(observed.T, Phi, strict=True))
    }
    kernels = KernelViews.from_factors(parts, copy=False)
    order, z = rng.permutation(len(kernels)), rng.standard_normal(len(kernels))
    plain, advance = FactorStack.of(kernels), FactorStack.of(kernels, order)
    assert all(np.shares_memory(a, b) for a, b in zip(advance.factors, Phi, strict=True))
    np.testing.assert_allclose(advance.scores(ETA, z[order]), plain.scores(ETA, z)[order], rtol=1e-12)


def test_mapped_factors_stay_in_their_file(tmp_path):
    Phi, observed, _ = factors(30, m=1, dtype=np.float32)
    np.save(tmp_path / "phi.npy", Phi[0])
    mapped = np.load(tmp_path / "phi.npy", mmap_mode="r")
    stack = FactorStack([mapped], [np.flatnonzero(observed[:, 0])], 30)
    assert np.shares_memory(stack.factors[0], mapped)
    z = np.linspace(-1, 1, 30)
    np.testing.assert_array_equal(
        stack.scores(np.ones(1), z), FactorStack(Phi, stack.index, 30).scores(np.ones(1), z)
    )


def test_who_is_learned_from_by_factors(monkeypatch):
    monkeypatch.setattr(_inputs, "_MAX_DENSE_SAMPLES", 20)
    _Phi, _, _ = factors(30)
    ids = np.arange(30)
    gram = KernelViews.from_factors({"a": (ids, np.eye(30)[:, :4]), "b": (ids, np.ones((30, 2)))})
    assert prefers_factors(gram)
    assert not prefers_factors(gram[np.ix_(ids[:20], ids[:20])])
    mixed = KernelViews.within(gram, {"a": gram.operator("a"), "b": np.eye(30)})
    assert not prefers_factors(mixed)
    scaled = KernelViews.within(gram, {"a": Scaled(Gram(np.eye(30)[:, :4]), 9.0), "b": gram.operator("b")})
    assert prefers_factors(scaled)
    np.testing.assert_allclose(FactorStack.of(scaled).factors[0], 3 * np.eye(30)[:, :4])


ETA = np.array([0.2, 0.3, 0.4, 0.1])


def test_coefficients_follow_the_weights_as_the_response_says():
    K, observed, y = data(30)
    problem = Problem(stack_of(K, observed), Box.classification(y, np.ones(30)), Polytope.simplex(4))
    point = evaluate(problem, ETA, 1e-13)
    response = point.kernel.response(problem.box, point.machine, point.R, 1e-13)
    step = 1e-6 * np.array([1.0, -1.0, 0.5, 0.2])
    there = evaluate(problem, ETA + step, 1e-13)
    advance = (there.machine.z - point.machine.z)[response.free]
    np.testing.assert_allclose(advance, -response.follow @ step, atol=1e-3 * np.abs(advance).max())
    np.testing.assert_allclose(there.gradient - point.gradient, response.H @ step, rtol=1e-2, atol=1e-8)


def test_a_sum_without_free_coefficients_is_flat():
    machine = _DenseSum(np.eye(3)).fit(
        Box.classification(np.array([1.0, 1.0, -1.0]), np.full(3, 1e-9)), tol=1e-9
    )
    flat = _DenseSum(np.eye(3)).response(
        Box.classification(np.array([1.0, 1.0, -1.0]), np.full(3, 1e-9)), machine, np.ones((3, 2)), 1e-9
    )
    assert isinstance(flat, _Response)
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
    kernel = stack.weighted_sum(ETA)
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
    kernel = stack.weighted_sum(ETA)
    machine = kernel.fit(box, tol=1e-6)
    R = stack.products(machine.z)[0]
    whole = kernel.response(box, machine, R, 1e-9).H
    monkeypatch.setattr(module, "_MOST_NEAR", 60)
    near, _ = kernel._near(box, machine)
    part = kernel.response(box, machine, R, 1e-9).H
    assert len(near) <= 60
    assert np.trace(part) == pytest.approx(np.trace(whole), rel=0.5)


def test_newton_steps_from_factors_end_where_dense_ones_do(thin):
    stack, box = thin
    dense = KernelStack([Phi @ Phi.T for Phi in stack.factors], stack.index, stack.n)
    ends = [solve(Problem(s, box, Polytope.simplex(4)), tol=1e-4).state for s in (stack, dense)]
    assert ends[0].gap <= 1e-4
    assert ends[0].objective == pytest.approx(ends[1].objective, rel=2e-4)


def test_a_singular_matrix_is_lifted_as_far_as_it_takes():
    L = cholesky_with_jitter(np.ones((3, 3)), 0.0 + 1e-9)
    np.testing.assert_allclose(L @ L.T, np.ones((3, 3)), atol=1e-4)
