"""Posterior, mode, Gibbs sampling and marginal likelihood, against dense algebra."""

import numpy as np
import pytest
from sklearn.exceptions import ConvergenceWarning

from absentia import PMAImputer
from absentia.methods.matrix import _inference as inference
from absentia.methods.matrix._inference import (
    _effective_sample_size,
    _maximize_posterior,
    _missing_logdet,
    _r_hat,
    _run_gibbs,
    condition_rows,
    draw_F,
    draw_posterior,
    log_marginal_likelihood,
    posterior_deviations,
    posterior_variance,
    update_missing,
)
from absentia.methods.matrix._model import KroneckerGaussian, RowKernel
from helpers.matrices import every_kind, every_seed, problem, tight
from helpers.matrix_registry import drawn
from reference import pma as reference


def test_what_conjugate_gradients_do_not_reach_is_said(monkeypatch):
    _, K1, K2, gaps, _ = drawn()
    monkeypatch.setattr(inference, "_MAX_FACTORIZED", 0)
    hard = inference.complete_by_gradients
    monkeypatch.setattr(
        inference, "complete_by_gradients", lambda *a, **k: hard(*a, **(k | {"max_iter": 2}))
    )
    with pytest.warns(ConvergenceWarning, match="relative residual of .* only"):
        PMAImputer(row_kernel=K1, col_kernel=K2).fit(gaps)


@every_kind
def test_large_matrices_are_completed_to_a_looser_residual(kind, monkeypatch):
    model, X, observed, S = problem(kind, n=30, m=12)
    expected = reference.condition(S, X, observed)[0]
    monkeypatch.setattr(inference, "_MAX_PRECISE_ENTRIES", 10)
    monkeypatch.setattr(inference, "_MAX_FACTORIZED", 0)
    full, *_ = inference.infer(model, X, observed, "exact", 0, np.random.default_rng(0))
    error = np.linalg.norm(full - expected) / np.linalg.norm(expected)
    assert 1e-12 < error < (1e-2 if kind == "low rank" else 1e-4)


def test_posterior_draws_have_the_posterior_mean_and_covariance(monkeypatch):
    model, X, observed, S = problem("label covariance")
    mean, covariance = reference.condition(S, X, observed)
    Z = draw_posterior(model, X, observed, np.random.default_rng(0), 20_000)[:, ~observed]
    assert np.abs(Z.mean(axis=0) - mean[~observed]).max() < 5 * np.sqrt(covariance.max() / 20_000)
    assert np.abs(np.cov(Z.T) - covariance).max() < 0.05 * covariance.max()
    monkeypatch.setattr(inference, "_MAX_FACTORIZED", 0)
    sampled = posterior_variance(model, observed, np.random.default_rng(0), 20_000)
    np.testing.assert_allclose(sampled[~observed], np.diagonal(covariance), rtol=0.06)


@every_kind
@every_seed
def test_exact_variances_and_deviations_equal_dense_algebra(kind, seed):
    model, X, observed, S = problem(kind, seed)
    covariance = reference.condition(S, X, observed)[1]
    np.testing.assert_allclose(
        posterior_variance(model, observed)[~observed], np.diagonal(covariance), **tight
    )
    D = posterior_deviations(model, observed).transpose(0, 2, 1)[~observed]
    np.testing.assert_allclose(D @ D.T, covariance, **tight)


@every_kind
def test_for_fixed_kernels_the_mode_is_the_mean(kind):
    model, X, observed, S = problem(kind)
    solution = _maximize_posterior(model, X, observed, tol=1e-15, max_iter=20_000)
    np.testing.assert_allclose(
        solution.state[:, 0], reference.condition(S, X, observed)[0], rtol=1e-5, atol=1e-6
    )
    assert (np.diff(solution.trace) <= 1e-12 * solution.trace[0]).all()


def test_patterns_group_rows_that_miss_the_same_columns():
    observed = np.array([[1, 1, 0], [1, 1, 1], [0, 1, 0], [1, 1, 0]], dtype=bool)
    model = KroneckerGaussian(RowKernel.from_dense(np.eye(4)), np.eye(3), np.eye(3))
    found = {(tuple(part.rows), tuple(part.missing)) for part in condition_rows(model, observed)}
    assert found == {((0, 3), (2,)), ((2,), (0, 2))}


def within_monte_carlo_error(values, mean, variance):
    """Sampled means and variances against exact ones, by the effective sample size."""
    ess = _effective_sample_size(values)
    z = (values.mean(axis=(0, 1)) - mean) / np.sqrt(variance / ess)
    ratio = values.var(axis=(0, 1)) / variance - 1
    return np.abs(z).max() < 4.5 and np.abs(ratio / np.sqrt(2 / ess)).max() < 5.5


@pytest.mark.slow_params("sum", "product", "label covariance")
@every_kind
def test_blocked_gibbs_agrees_with_exact_within_monte_carlo_error(kind):
    model, X, observed, S = problem(kind)
    mean, covariance = reference.condition(S, X, observed)
    values = _run_gibbs(model, X, observed, np.random.default_rng(0), n_samples=3000)
    assert within_monte_carlo_error(values, mean[~observed], np.diagonal(covariance))
    assert not within_monte_carlo_error(values + 0.3, mean[~observed], np.diagonal(covariance))
    assert _r_hat(values).max() < 1.02
    full, *_ = inference.infer(model, X, observed, "gibbs", 20, np.random.default_rng(0))
    np.testing.assert_array_equal(full[observed], X[observed])


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
    gone, seen = condition_rows(model, observed), condition_rows(model, ~observed)
    Z = model.draw(rng, 100)
    visited = []
    for _ in range(400):
        F = draw_F(model, Z, rng)
        Z = update_missing(Z, F, gone, rng)
        Z = update_missing(Z, F, seen, rng)
        visited.append(Z.transpose(1, 0, 2).reshape(100, -1))
    values = np.stack(visited, axis=1)
    assert within_monte_carlo_error(values, np.zeros(len(S)), np.diagonal(S))
    products = values[:, :, :-1] * values[:, :, 1:]
    error = np.sqrt(products.var(axis=(0, 1)) / _effective_sample_size(products))
    assert (np.abs(products.mean(axis=(0, 1)) - np.diagonal(S, 1)) < 4.5 * error).all()


def test_effective_sample_size_of_a_known_autoregression():
    rng = np.random.default_rng(0)
    noise = rng.standard_normal((4, 5000, 3))
    x = np.zeros_like(noise)
    for t in range(1, 5000):
        x[:, t] = 0.8 * x[:, t - 1] + noise[:, t]
    np.testing.assert_allclose(_effective_sample_size(x), 20_000 / 9, rtol=0.15)
    assert _r_hat(x).max() < 1.02
    x[0] += 5
    assert _r_hat(x).min() > 1.2


@every_kind
def test_the_estimated_determinant_is_near_the_exact_one(kind):
    model, _, observed, _ = problem(kind, n=60, m=5)
    exact = _missing_logdet(model, observed)
    found = _missing_logdet(model, observed, np.random.default_rng(0))
    assert abs(found - exact) < 0.02 * (~observed).sum()


@every_kind
@every_seed
def test_the_likelihood_equals_dense_algebra(kind, seed):
    model, X, observed, S = problem(kind, seed)
    found = log_marginal_likelihood(model, X, observed, tol=1e-12)
    np.testing.assert_allclose(found, reference.log_marginal(S, X, observed), **tight)
