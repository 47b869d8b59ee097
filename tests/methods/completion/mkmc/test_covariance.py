"""The covariance models' best members and floors."""

import numpy as np
import pytest

from absentia import MKMC, KernelViews, missingness
from absentia.core._operators import Dense
from absentia.methods.completion.mkmc import _paper as covariance

# where so many components are too many is a matter of tests of their own
pytestmark = pytest.mark.filterwarnings(r"ignore:with \d+ components .* hidden for a check:UserWarning")


def test_the_floor_under_noise_variances_holds():
    """A kernel of rank one is all factor and no noise: without the floor psi and sigma^2 are zero."""
    x = np.random.default_rng(0).normal(size=12)
    S = Dense(np.outer(x, x))
    assert covariance.ppca(S, 2).d.min() == covariance.NOISE_FLOOR
    M = covariance.FactorAnalysis(2).m_step(S, covariance.ppca(S, 2))
    assert M.d.min() >= covariance.NOISE_FLOOR


def test_noise_variances_never_reach_zero():
    """Heywood: one sample is an exact copy of the factor."""
    rng = np.random.default_rng(0)
    X = rng.normal(size=(20, 1)) @ rng.normal(size=(1, 50)) + 0.1 * rng.normal(size=(20, 50))
    X[0] = X[1:].mean(0)
    K = np.array([X @ X.T, 2 * X @ X.T])
    keep = missingness.mcar((20, 2), 0.1, random_state=0)
    mkmc = MKMC("fa", n_components=5, prior=0.0, tol=0, max_iter=400).fit(KernelViews.from_dense(K, keep))
    assert mkmc.model_.d.min() >= covariance.NOISE_FLOOR * (1 - 1e-12)  # the logarithm rounds
    assert np.isfinite(mkmc.objective_).all()


def test_ppca_is_the_best_of_its_family():
    S = Dense(np.cov(np.random.default_rng(0).normal(size=(8, 40)) * np.arange(1, 9)[:, None]))
    M = covariance.ppca(S, 3)
    best = M.logdet() + M.trace_solve(S)
    rng = np.random.default_rng(1)
    for _ in range(20):
        W = M.W + 0.1 * rng.normal(size=M.W.shape)
        other = type(M)(W, M.d * np.exp(0.1 * rng.normal()))
        assert other.logdet() + other.trace_solve(S) >= best
