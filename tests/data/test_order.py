"""The order that draws are made in goes with the data, not with the order it comes in."""

import numpy as np
import pytest

from absentia import KernelViews
from absentia.core import Dense, Gram, Scaled
from absentia.data import Presence
from absentia.data import _order as order
from conftest import random_problem


def names_of(found, X):
    return X.ids[found.samples].tolist(), [X.names[v] for v in found.views]


@pytest.mark.parametrize("factors", [False, True])
def test_samples_and_views_in_another_order_are_ordered_alike(rng, factors):
    kernels = random_problem(25, 4)
    if factors:
        own = {name: kernels.ids[has] for name, has in zip(kernels.names, kernels.observed.T, strict=True)}
        kernels = KernelViews.from_factors({k: (v, rng.normal(size=(len(v), 3))) for k, v in own.items()})
    p = rng.permutation(25)
    other = kernels[np.ix_(p, p)].select([kernels.names[v] for v in (2, 0, 3, 1)])
    assert names_of(order.ordering(other), other) == names_of(order.ordering(kernels), kernels)


def test_neither_the_scale_of_a_kernel_nor_rounding_matters():
    kernels = random_problem(25, 3)
    noise = 1 + 1e-12 * np.random.default_rng(0).normal(size=(25, 25))
    scaled = KernelViews.from_dense(kernels.to_dense() * np.array([1.0, 1e8, 1e-8])[:, None, None])
    rounded = KernelViews.from_dense(kernels.to_dense() * (noise + noise.T) / 2)
    wanted = order.ordering(kernels)
    for other in (scaled, rounded):
        np.testing.assert_array_equal(order.ordering(other).samples, wanted.samples)
        np.testing.assert_array_equal(order.ordering(other).views, wanted.views)


def test_the_smallest_rows_come_first_and_ties_go_by_id_and_name():
    X = Presence(np.array(["d", "b", "a", "c"]), ("z", "y"), np.ones((4, 2), bool))
    found = order.ordered(X, np.array([[2.0, 0], [1, 0], [1, 1e-12], [0, 0]]))
    assert X.ids[found.samples].tolist() == ["c", "a", "b", "d"]
    assert [X.names[v] for v in found.views] == ["y", "z"]
    alike = order.ordered(X, np.ones((4, 2)))
    assert X.ids[alike.samples].tolist() == ["a", "b", "c", "d"]
    assert [X.names[v] for v in alike.views] == ["y", "z"]
    mixed = Presence(np.array([("b", 1), 3, "a", None], dtype=object), ("z",), np.ones((4, 1), bool))
    ids = mixed.ids[order.ordered(mixed, np.ones((4, 1))).samples].tolist()
    assert ids == ["a", ("b", 1), 3, None]  # as they are written


@pytest.mark.parametrize(
    "operator", [Dense(np.array([[2.0, 1.0], [1.0, 3.0]])), Gram(np.array([[1.0, 1.0], [0.0, 2.0]]))]
)
def test_sizes_are_sums_of_squares_of_rows(operator):
    wanted = (operator.to_dense() ** 2).sum(axis=1) / 4
    np.testing.assert_allclose(order._row_squares(operator, 2.0), wanted)
    np.testing.assert_allclose(order._row_squares(Scaled(operator, 2.0), 2.0), operator.diagonal() ** 2)


def test_numbers_drawn_go_with_the_samples():
    found = order.Ordering(np.array([2, 0, 1]), np.array([0]))
    assert found.numbers.tolist() == [1, 2, 0]
    drawn = np.random.default_rng(0).random(3)
    np.testing.assert_array_equal(found.lottery(np.random.default_rng(0))[found.samples], drawn)
    assert found.among(np.array([0, 2])).tolist() == [1, 0]
    assert found.among(np.array([1, 0, 2])).tolist() == [2, 1, 0]
