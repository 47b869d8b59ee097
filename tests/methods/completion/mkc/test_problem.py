"""Weights of views on the simplex."""

import numpy as np
import pytest

from absentia.methods.completion.mkc._problem import best_weights, simplex_minimum


@pytest.mark.parametrize("seed", range(5))
def test_the_weights_of_views_are_a_minimum_on_the_simplex(seed):
    rng = np.random.default_rng(seed)
    D = rng.standard_normal((5, 4 if seed % 2 else 9)) + 1.0  # singular for odd seeds
    H = D @ D.T
    s = simplex_minimum(H)
    assert (s >= 0).all()
    np.testing.assert_allclose(s.sum(), 1, rtol=1e-12)
    gradient = H @ s
    # at a minimum no vertex lies lower, and all that carry weight lie level
    assert gradient.min() >= s @ gradient - 1e-8 * np.trace(H)
    others = rng.dirichlet(np.ones(5), 200)
    assert (np.einsum("ij,jk,ik->i", others, H, others) >= s @ H @ s - 1e-10).all()


def test_the_best_weights_find_a_mixture_exactly(rng):
    X = rng.standard_normal((4, 6, 6))
    X[2] = 0.5 * X[0] + 0.2 * X[1] + 0.3 * X[3]
    np.testing.assert_allclose(best_weights(X)[2], [0.5, 0.2, 0, 0.3], atol=1e-7)
    some = [np.arange(2, 6)] * 4
    X[2, :2] = 0
    np.testing.assert_allclose(best_weights(X, some)[2], [0.5, 0.2, 0, 0.3], atol=1e-7)
