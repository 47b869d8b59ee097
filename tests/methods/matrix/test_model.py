"""The Kronecker algebra and exact inference against dense algebra; the samplers against exact inference."""

import numpy as np
import pytest
import scipy.linalg

from absentia.core._linalg import NotPositiveDefiniteError
from absentia.methods.matrix import _gibbs as gibbs
from absentia.methods.matrix import _inference as inference
from absentia.methods.matrix._model import Addition, RowKernel, nystrom_factor
from reference import pma as reference


def positive(n, rng, floor=0.1):
    A = rng.standard_normal((n, n))
    return A @ A.T / n + floor * np.eye(n)


def problem(kind, seed=0, n=9, m=4, absent=0.3):
    """(model, X, observed, dense covariance)"""
    rng = np.random.default_rng(seed)
    K1, K2 = positive(n, rng), positive(m, rng)
    if kind == "sum":
        model, C, N = Addition.pma(K1, K2), np.eye(m), K2
    elif kind == "product":
        model, C, N = Addition.lmc(K1, K2, 0.3), K2, 0.3 * np.eye(m)
    else:
        C, N = positive(m, rng), K2
        if kind == "low rank":
            Phi = rng.standard_normal((n, 3))
            K1 = Phi @ Phi.T
            model = Addition.pma(RowKernel.factor(Phi), N, C)
        else:
            model = Addition.pma(K1, N, C)
    X = model.draw(rng, 1)[:, 0]
    observed = rng.random((n, m)) > absent
    observed[0], observed[1] = False, True
    return model, X, observed, reference.covariance(K1, C, N)


KINDS = ["sum", "product", "label covariance", "low rank"]
every_kind = pytest.mark.parametrize("kind", KINDS)
every_seed = pytest.mark.parametrize("seed", range(3))
close = {"rtol": 1e-8, "atol": 1e-9}


@every_kind
@every_seed
def test_products_solves_and_densities_equal_dense_algebra(kind, seed):
    model, X, _, S = problem(kind, seed)
    np.testing.assert_allclose(model.matvec(X).ravel(), S @ X.ravel(), **close)
    np.testing.assert_allclose(model.solve(X).ravel(), np.linalg.solve(S, X.ravel()), **close)
    np.testing.assert_allclose(model.precision(), np.linalg.inv(S), **close)
    np.testing.assert_allclose(model.logdet(), np.linalg.slogdet(S)[1], **close)
    everything = np.ones(X.shape, dtype=bool)
    np.testing.assert_allclose(model.loglik(X), reference.log_marginal(S, X, everything), **close)
    two = np.stack([X, 2 * X], axis=1)
    np.testing.assert_allclose(model.solve(two)[:, 1], 2 * model.solve(X), **close)
    share = np.einsum("aj,ij,aj->ia", model.V, model.row_share(), model.V)
    np.testing.assert_allclose(share.ravel(), np.diagonal(np.linalg.inv(S)), **close)


def test_the_row_part_solves_the_sylvester_equation():
    model, X, _, _ = problem("sum")
    K1 = model.rows.to_dense()
    np.testing.assert_allclose(
        model.row_part(X), scipy.linalg.solve_sylvester(K1, model.N, K1 @ X), **close
    )


@every_kind
def test_prior_draws_have_the_covariance_of_the_model(kind):
    model, _, _, S = problem(kind)
    Z = model.draw(np.random.default_rng(1), 40_000).transpose(1, 0, 2).reshape(40_000, -1)
    assert np.abs(Z.T @ Z / len(Z) - S).max() < 0.05 * np.abs(S).max()


@every_kind
@every_seed
def test_exact_mean_variance_and_likelihood_equal_dense_algebra(kind, seed):
    model, X, observed, S = problem(kind, seed)
    mean, covariance = reference.condition(S, X, observed)
    full = inference.complete(model, np.where(observed, X, np.nan), observed, tol=1e-12)
    np.testing.assert_allclose(full, mean, **close)
    np.testing.assert_array_equal(full[observed], X[observed])
    np.testing.assert_allclose(
        inference.variance(model, observed)[~observed], np.diagonal(covariance), **close
    )
    D = inference.spread(model, observed).transpose(0, 2, 1)[~observed]
    np.testing.assert_allclose(D @ D.T, covariance, **close)
    found = inference.log_marginal(model, X, observed, tol=1e-12)
    np.testing.assert_allclose(found, reference.log_marginal(S, X, observed), **close)


@every_kind
@every_seed
def test_the_gradient_of_the_likelihood_equals_dense_algebra(kind, seed):
    model, X, observed, S = problem(kind, seed)
    n, m = X.shape
    rng = np.random.default_rng(7)
    found = inference.gradient(model, X, observed, tol=1e-12)
    dC, dN, dK = positive(m, rng), positive(m, rng), positive(n, rng)
    K1 = model.rows.to_dense()
    for value, dS in [
        ((found.C * dC).sum(), np.kron(K1, dC)),
        ((found.N * dN).sum(), np.kron(np.eye(n), dN)),
        (found.along(dK), np.kron(dK, model.C)),
    ]:
        np.testing.assert_allclose(value, reference.log_marginal_gradient(S, dS, X, observed), **close)


def test_the_stochastic_gradient_is_unbiased():
    model, X, observed, _ = problem("label covariance")
    exact = inference.gradient(model, X, observed)
    rng = np.random.default_rng(0)
    several = [inference.gradient(model, X, observed, rng, 200).N for _ in range(20)]
    error = np.std(several, axis=0, ddof=1) / np.sqrt(20)
    assert (np.abs(np.mean(several, axis=0) - exact.N) < 4.5 * error).all()


@every_kind
def test_the_estimated_determinant_is_near_the_exact_one(kind):
    model, _, observed, _ = problem(kind, n=60, m=5)
    exact = inference.missing_logdet(model, observed)
    found = inference.missing_logdet(model, observed, np.random.default_rng(0))
    assert abs(found - exact) < 0.02 * (~observed).sum()


def test_columns_too_many_for_blocks_get_the_diagonal_preconditioner(monkeypatch):
    model, X, observed, S = problem("sum")
    monkeypatch.setattr(inference, "BLOCKS", 10)
    full = inference.complete(model, X, observed, tol=1e-12)
    np.testing.assert_allclose(full, reference.condition(S, X, observed)[0], **close)
    rng = np.random.default_rng(0)
    assert (
        abs(inference.missing_logdet(model, observed, rng) - inference.missing_logdet(model, observed)) < 1
    )


def test_posterior_draws_have_the_posterior_mean_and_covariance():
    model, X, observed, S = problem("label covariance")
    mean, covariance = reference.condition(S, X, observed)
    Z = inference.draws(model, X, observed, np.random.default_rng(0), 20_000)[:, ~observed]
    assert np.abs(Z.mean(axis=0) - mean[~observed]).max() < 5 * np.sqrt(covariance.max() / 20_000)
    assert np.abs(np.cov(Z.T) - covariance).max() < 0.05 * covariance.max()
    sampled = inference.variance(model, observed, np.random.default_rng(0), 20_000)
    np.testing.assert_allclose(sampled[~observed], np.diagonal(covariance), rtol=0.06)


@every_kind
def test_for_fixed_kernels_the_mode_is_the_mean(kind):
    model, X, observed, S = problem(kind)
    solution = inference.mode(model, X, observed, tol=1e-15, max_iter=20_000)
    np.testing.assert_allclose(
        solution.state[:, 0], reference.condition(S, X, observed)[0], rtol=1e-5, atol=1e-6
    )
    assert (np.diff(solution.trace) <= 1e-12 * solution.trace[0]).all()


def test_patterns_group_rows_that_miss_the_same_columns():
    observed = np.array([[1, 1, 0], [1, 1, 1], [0, 1, 0], [1, 1, 0]], dtype=bool)
    model = Addition(RowKernel.dense(np.eye(4)), np.eye(3), np.eye(3))
    found = {(tuple(part.rows), tuple(part.gone)) for part in inference.conditionals(model, observed)}
    assert found == {((0, 3), (2,)), ((2,), (0, 2))}


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
    gone, seen = inference.conditionals(model, observed), inference.conditionals(model, ~observed)
    Z = model.draw(rng, 100)
    visited = []
    for _ in range(400):
        F = gibbs.draw_rows(model, Z, rng)
        Z = inference.missing_given_rows(Z, F, gone, rng)
        Z = inference.missing_given_rows(Z, F, seen, rng)
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


def test_nystrom_on_all_landmarks_is_the_kernel_itself(rng):
    K = positive(12, rng)
    np.testing.assert_allclose(RowKernel.factor(nystrom_factor(K, K)).to_dense(), K, **close)
    some = RowKernel.factor(nystrom_factor(K[:, :5], K[:5, :5])).to_dense()
    np.testing.assert_allclose(some[:5, :5], K[:5, :5], **close)
    np.testing.assert_allclose(RowKernel.dense(K, 12).to_dense(), K, **close)
    assert RowKernel.dense(K, 4).U.shape == (12, 4)


def test_indefinite_kernels_are_refused_by_name(rng):
    with pytest.raises(NotPositiveDefiniteError, match="row kernel: not positive semidefinite"):
        RowKernel.dense(-positive(4, rng))
    with pytest.raises(NotPositiveDefiniteError, match=r"column kernel .* add a nugget"):
        Addition.pma(positive(4, rng), np.zeros((2, 2))).logdet()
