"""Conditioning by covariance and by precision is the same, and what the definition says."""

import numpy as np
import pytest

from absentia.core._gaussian import Conditional


@pytest.mark.parametrize("n_seen", [0, 1, 3, 5])
def test_covariance_and_precision_agree_with_the_definition(rng, n_seen):
    A = rng.standard_normal((6, 6))
    Sigma = A @ A.T + np.eye(6)
    o, h = np.arange(n_seen), np.arange(n_seen, 6)
    B = np.linalg.solve(Sigma[np.ix_(o, o)], Sigma[np.ix_(o, h)])
    covariance = Sigma[np.ix_(h, h)] - Sigma[np.ix_(h, o)] @ B
    for found in (
        Conditional.by_covariance(Sigma, o, h),
        Conditional.by_precision(np.linalg.inv(Sigma), o, h),
    ):
        np.testing.assert_allclose(found.B, B, rtol=1e-10, atol=1e-12)
        np.testing.assert_allclose(found.covariance, covariance, rtol=1e-10)
    seen = Conditional.by_covariance(Sigma, o, h).L
    np.testing.assert_allclose(seen @ seen.T, Sigma[np.ix_(o, o)], rtol=1e-12)


def test_nothing_is_given_of_nothing():
    found = Conditional.by_covariance(np.eye(3), np.arange(3), np.arange(0))
    assert found.B.shape == (3, 0)
    assert found.covariance.shape == (0, 0)
