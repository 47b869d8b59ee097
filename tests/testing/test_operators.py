"""The checks of operators can fail."""

import numpy as np
import pytest

from absentia.core import Completed, Dense, Gram, LowRankPlusDiagonal, Scaled
from absentia.testing import check_operator


def operators(n=12):
    rng = np.random.default_rng(0)
    A, W = rng.normal(size=(n, n)), rng.normal(size=(n, 3))
    v, h = np.array([0, 2, 3, 5, 7, 8]), np.array([1, 4, 6, 9, 10, 11])
    G, E = rng.normal(size=(6, 3)), np.eye(3)
    yield "dense", Dense(A @ A.T + np.eye(n))
    yield "gram", Gram(W)
    yield "rectangular gram", Gram(W, rng.normal(size=(n + 4, 3)))
    yield "scaled gram", Scaled(Gram(W), 2.5)
    yield "low rank plus diagonal", LowRankPlusDiagonal(W, rng.uniform(0.2, 2.0, size=n))
    yield "completed", Completed.square(Dense(np.eye(6)), v, h, G, W[:6], E, np.ones(6))


OPERATORS = dict(operators())


@pytest.mark.parametrize("name", OPERATORS)
def test_every_operator_is_its_dense_twin(name):
    check_operator(OPERATORS[name])


def test_an_operator_that_is_not_is_found_out():
    wrong = LowRankPlusDiagonal(np.ones((4, 1)), np.ones(4))
    wrong.__dict__["_L"] = np.eye(1)  # a factor of something else
    with pytest.raises(AssertionError, match="fails a check, solving matches the dense twin"):
        check_operator(wrong)
