"""The samplers against exact inference."""

import numpy as np

from absentia.methods.matrix import _gibbs as gibbs
from absentia.methods.matrix._mode import conditionals, missing_given_rows
from matrices import every_kind, problem
from reference import pma as reference


def within_monte_carlo_error(values, mean, variance):
    """Sampled means and variances against exact ones, by the effective sample size."""
    ess = gibbs.effective_sample_size(values)
    z = (values.mean(axis=(0, 1)) - mean) / np.sqrt(variance / ess)
    ratio = values.var(axis=(0, 1)) / variance - 1
    return np.abs(z).max() < 4.5 and np.abs(ratio / np.sqrt(2 / ess)).max() < 5.5


@every_kind
def test_blocked_gibbs_agrees_with_exact_within_monte_carlo_error(kind):
    model, X, observed, S = problem(kind)
    mean, covariance = reference.condition(S, X, observed)
    chains = gibbs.gibbs(model, X, observed, np.random.default_rng(0), n_samples=3000)
    assert within_monte_carlo_error(chains.values, mean[~observed], np.diagonal(covariance))
    assert not within_monte_carlo_error(chains.values + 0.3, mean[~observed], np.diagonal(covariance))
    assert gibbs.r_hat(chains.values).max() < 1.02
    np.testing.assert_array_equal(chains.mean(X)[observed], X[observed])
    assert (chains.variance()[observed] == 0).all()


def test_the_papers_single_site_sampler_agrees_with_exact():
    model, X, observed, S = problem("sum", n=5, m=3)
    mean, covariance = reference.condition(S, X, observed)
    rng = np.random.default_rng(0)
    values = reference.single_site_gibbs(model.rows.to_dense(), model.N, X, observed, 1500, rng)
    values = values[None, 200:][:, :, ~observed]
    assert within_monte_carlo_error(values, mean[~observed], np.diagonal(covariance))


def test_blocked_gibbs_passes_gewekes_test():
    """Drawing data given latents and latents given data, in turn, must leave the prior as it is."""
    model, _, observed, S = problem("label covariance")
    rng = np.random.default_rng(0)
    gone, seen = conditionals(model, observed), conditionals(model, ~observed)
    Z = model.draw(rng, 100)
    visited = []
    for _ in range(400):
        F = gibbs.draw_rows(model, Z, rng)
        Z = missing_given_rows(Z, F, gone, rng)
        Z = missing_given_rows(Z, F, seen, rng)
        visited.append(Z.transpose(1, 0, 2).reshape(100, -1))
    values = np.stack(visited, axis=1)
    assert within_monte_carlo_error(values, np.zeros(len(S)), np.diagonal(S))
    products = values[:, :, :-1] * values[:, :, 1:]
    error = np.sqrt(products.var(axis=(0, 1)) / gibbs.effective_sample_size(products))
    assert (np.abs(products.mean(axis=(0, 1)) - np.diagonal(S, 1)) < 4.5 * error).all()


def test_effective_sample_size_of_a_known_autoregression():
    rng = np.random.default_rng(0)
    noise = rng.standard_normal((4, 5000, 3))
    x = np.zeros_like(noise)
    for t in range(1, 5000):
        x[:, t] = 0.8 * x[:, t - 1] + noise[:, t]
    np.testing.assert_allclose(gibbs.effective_sample_size(x), 20_000 / 9, rtol=0.15)
    assert gibbs.r_hat(x).max() < 1.02
    x[0] += 5
    assert gibbs.r_hat(x).min() > 1.2
