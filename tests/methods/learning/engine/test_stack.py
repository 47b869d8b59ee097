"""Several kernels over the same samples: sums and products only over those that have the view."""

import numpy as np
import pytest

from absentia import KernelViews
from absentia.methods.learning.engine import Box, KernelStack, Polytope, Problem, solve
from reference import amkl as slow
from stacks import data, stack_of


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


def test_another_order_of_the_samples_is_that_of_dense_kernels(rng):
    K, observed, _ = data(20, 3)
    order = rng.permutation(20)
    kernels = KernelViews.from_dense(K, observed=observed)
    plain, moved = KernelStack.of(kernels), KernelStack.of(kernels, order)
    eta = np.array([1.0, 0.5, 2.0])
    np.testing.assert_allclose(moved.combined(eta), plain.combined(eta)[np.ix_(order, order)], rtol=1e-13)
    assert all((np.diff(index) > 0).all() for index in moved.index)


def test_a_part_of_the_samples_is_a_part_of_the_sums():
    K, observed, _ = data(20, 3)
    some = np.array([1, 4, 5, 11, 19])
    stack = stack_of(K, observed)
    eta = np.array([1.0, 0.5, 2.0])
    part = stack.restricted(some)
    np.testing.assert_array_equal(part.combined(eta), stack.combined(eta)[np.ix_(some, some)])
    wanted = np.flatnonzero(observed[:, [0, 2]].any(axis=1))
    np.testing.assert_array_equal(stack.reached(np.array([True, False, True])), wanted)
    np.testing.assert_array_equal(
        stack.largest(), [k[s][:, s].diagonal().max() for k, s in zip(K, observed.T, strict=True)]
    )
