"""Posterior variances and draws against dense algebra."""

import numpy as np

from absentia.methods.matrix._spread import draws, spread, variance
from matrices import every_kind, every_seed, problem, tight
from reference import pma as reference


def test_posterior_draws_have_the_posterior_mean_and_covariance():
    model, X, observed, S = problem("label covariance")
    mean, covariance = reference.condition(S, X, observed)
    Z = draws(model, X, observed, np.random.default_rng(0), 20_000)[:, ~observed]
    assert np.abs(Z.mean(axis=0) - mean[~observed]).max() < 5 * np.sqrt(covariance.max() / 20_000)
    assert np.abs(np.cov(Z.T) - covariance).max() < 0.05 * covariance.max()
    sampled = variance(model, observed, np.random.default_rng(0), 20_000)
    np.testing.assert_allclose(sampled[~observed], np.diagonal(covariance), rtol=0.06)


@every_kind
@every_seed
def test_exact_variances_and_deviations_equal_dense_algebra(kind, seed):
    model, X, observed, S = problem(kind, seed)
    covariance = reference.condition(S, X, observed)[1]
    np.testing.assert_allclose(variance(model, observed)[~observed], np.diagonal(covariance), **tight)
    D = spread(model, observed).transpose(0, 2, 1)[~observed]
    np.testing.assert_allclose(D @ D.T, covariance, **tight)
