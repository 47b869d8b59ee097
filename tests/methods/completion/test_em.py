"""Filling by EM: steps and results against sample-by-sample versions."""

import numpy as np
import pytest

from absentia import EMFill, KernelViews, ViewKernels, missingness
from absentia.core.optimize import StoppingRule
from absentia.methods.completion import Holdout
from absentia.methods.completion import _em as emfill
from conftest import random_problem
from helpers.fillers import dense
from reference import em_by_pattern, gaussian_em


def test_one_em_step_agrees_with_sample_by_sample(rng):
    kv = random_problem(20, 3, 0.4)
    X, psi = gaussian_em.scores(*dense(kv), 3), np.repeat([0.1, 0.2, 0.3], 3)
    problem = emfill._EMProblem(np.nan_to_num(X), kv.observed, (3, 3, 3), psi)
    R = rng.normal(size=(9, 9))
    point = rng.normal(size=9), R @ R.T / 9 + 0.1 * np.eye(9)
    found = problem.evaluate(0.3, point)
    np.testing.assert_allclose(found.value, gaussian_em.objective(X, *point, 0.3, psi), rtol=1e-10)
    for fast, slow in zip(found.following, gaussian_em.step(X, *point, 0.3, psi), strict=True):
        np.testing.assert_allclose(fast, slow, rtol=1e-10, atol=1e-12)


def test_one_em_step_agrees_with_pattern_by_pattern(rng):
    kv, widths = random_problem(60, 5, 0.4), (4, 3, 2, 5, 1)
    there = np.repeat(kv.observed, widths, axis=1)
    X, psi = rng.normal(size=there.shape) * there, rng.uniform(0.1, 1, size=15)
    R = rng.normal(size=(15, 15))
    point = rng.normal(size=15), R @ R.T / 15 + 0.1 * np.eye(15)
    found = emfill._EMProblem(X, kv.observed, widths, psi).evaluate(0.3, point)
    value, following = em_by_pattern.evaluate(X, em_by_pattern.patterns(there), psi, 0.3, *point)
    np.testing.assert_allclose(found.value, value, rtol=1e-10)
    for fast, slow in zip(found.following, following, strict=True):
        np.testing.assert_allclose(fast, slow, rtol=1e-9, atol=1e-11)


@pytest.mark.slow
def test_the_whole_fill_agrees_with_the_slow_one_to_what_tol_says(digits):
    kv = ViewKernels().fit_transform(digits[0])
    fill = EMFill(8, tol=1e-7)
    done = fill.fit_transform(kv).to_dense()
    kept = Holdout.of(kv).part.observed
    slow, ridge, curve = em_by_pattern.fill(*dense(kv), kept, 8, 1e-7)
    assert fill.ridge_ == ridge
    shared = [curve[ridge] for ridge in fill.heldout_curve_]
    np.testing.assert_allclose(list(fill.heldout_curve_.values()), shared, rtol=5e-3)
    assert np.linalg.norm(done - slow) < 1e-4 * np.linalg.norm(slow)


def test_what_was_learned_with_cells_hidden_is_a_good_start_without():
    kv = random_problem(80, 4, 0.3)
    start = EMFill(4)._make_fitter(kv)
    earlier = EMFill(4)._make_fitter(Holdout.of(kv).part)
    for fitter in (start, earlier):
        fitter.fit(0.1, stop=StoppingRule(1e-9), max_iter=500)
    carried = EMFill(4)._make_fitter(kv, earlier)
    values = [
        carried.problem.evaluate(0.1, carried.problem.with_prior(moments, 0.1)).value
        for moments in (carried.problem.start(), carried.moments, start.moments)
    ]
    assert values[1] - values[2] < 0.1 * (values[0] - values[2])


def test_the_same_samples_along_the_same_axes_have_the_same_moments():
    kv = random_problem(40, 3, 0.3)
    fitter = EMFill(4)._make_fitter(kv)
    fitter.fit(0.1, stop=StoppingRule(1e-6), max_iter=50)
    for actual, expected in zip(
        fitter.moments_along(fitter.get_coordinates()), fitter.moments, strict=True
    ):
        np.testing.assert_allclose(actual, expected, rtol=1e-9, atol=1e-11)


def test_the_prior_is_added_and_taken_away():
    problem = EMFill(4)._make_fitter(random_problem(30, 3, 0.3)).problem
    moments = np.ones(12), np.eye(12) + 0.1
    for actual, expected in zip(
        problem.without_prior(problem.with_prior(moments, 0.3), 0.3), moments, strict=True
    ):
        np.testing.assert_allclose(actual, expected, rtol=1e-12, atol=1e-15)


def test_em_scores_and_completed_kernels_agree_with_the_model():
    kv = random_problem(20, 3, 0.4)
    fill = EMFill(3, ridge=0.1, tol=1e-8)
    done = fill.fit_transform(kv).to_dense()
    X = gaussian_em.scores(*dense(kv), 3)
    mine = np.hstack(fill._project_rows(kv))
    np.testing.assert_allclose(np.abs(mine), np.abs(np.nan_to_num(X)), rtol=1e-9, atol=1e-12)
    signs = np.sign(np.nansum(mine * X, axis=0))  # of eigenvectors
    mu, Sigma = signs * fill.mean_, signs[:, None] * fill.covariance_ * signs
    np.testing.assert_allclose(done, gaussian_em.filled(*dense(kv), 3, mu, Sigma), rtol=1e-9, atol=1e-10)


def test_em_ends_where_one_more_step_changes_nothing():
    kv = random_problem(40, 4, 0.4)
    fill = EMFill(4, ridge=0.1, tol=1e-14, max_iter=3000).fit(kv)
    problem, _ = fill._make_problem(kv)
    mu, Sigma = problem.evaluate(0.1, (fill.mean_, fill.covariance_)).following
    np.testing.assert_allclose(mu, fill.mean_, atol=1e-5)
    np.testing.assert_allclose(Sigma, fill.covariance_, atol=1e-5 * np.abs(Sigma).max())


def test_em_predicts_almost_as_well_as_the_true_covariance_would(rng):
    n, noise = 600, 0.7
    Z = rng.normal(size=(n, 3))
    loadings = [rng.normal(size=(3, 4)) for _ in range(3)]
    X = np.hstack([Z @ W + noise * rng.normal(size=(n, 4)) for W in loadings])
    W = np.hstack(loadings)
    Sigma = W.T @ W + noise**2 * np.eye(12)
    observed = missingness.mcar((n, 3), 0.3, random_state=0)
    K = np.stack([X[:, 4 * k : 4 * k + 4] @ X[:, 4 * k : 4 * k + 4].T for k in range(3)])
    done = EMFill(4, ridge=1e-3).fit_transform(KernelViews.from_dense(K, observed=observed)).to_dense()
    oracle = X.copy()
    for t in range(n):
        o = np.repeat(observed[t], 4)
        oracle[t, ~o] = Sigma[np.ix_(~o, o)] @ np.linalg.solve(Sigma[np.ix_(o, o)], X[t, o])
    for k in range(3):
        h, seen = ~observed[:, k], observed[:, k]
        mine, block = slice(4 * k, 4 * k + 4), np.ix_(h, seen)
        best = np.linalg.norm(oracle[h, mine] @ X[seen, mine].T - K[k][block])
        assert np.linalg.norm((done - K)[k][block]) < 1.05 * best


# ------------------------------------------------------------ absent blocks given what is there


WIDTHS = (3, 2, 0, 4, 1)


def random_precision(rng, size):
    A = rng.normal(size=(size, 2 * size))
    return A @ A.T / size


def random_pattern(rng, n, share):
    return rng.random((n, len(WIDTHS))) > share


@pytest.mark.parametrize("share", [0.1, 0.4, 0.9])
def test_means_and_sums_agree_with_inverting_for_each_sample(rng, share):
    P, observed = random_precision(rng, sum(WIDTHS)), random_pattern(rng, 40, share)
    there = np.repeat(observed, WIDTHS, axis=1)
    X = rng.normal(size=there.shape) * there
    found = emfill._absent_moments(P, (X @ P) * ~there, observed, WIDTHS)
    means, covariance, logdet = np.zeros_like(X), np.zeros_like(P), 0.0
    for t, o in enumerate(there):
        h = np.flatnonzero(~o)
        C = np.linalg.inv(P[np.ix_(h, h)])
        means[t, h] = -C @ P[np.ix_(h, np.flatnonzero(o))] @ X[t, o]
        covariance[np.ix_(h, h)] += C
        logdet += np.linalg.slogdet(P[np.ix_(h, h)])[1]
    np.testing.assert_allclose(found.means, means, rtol=1e-9, atol=1e-10)
    np.testing.assert_allclose(found.covariance, covariance, rtol=1e-9, atol=1e-10)
    np.testing.assert_allclose(found.logdet, logdet, rtol=1e-10)


def test_nothing_is_absent():
    found = emfill._absent_moments(np.eye(10), np.zeros((5, 10)), np.ones((5, 5), bool), WIDTHS)
    assert not found.means.any()
    assert not found.covariance.any()
    assert found.logdet == 0


def test_views_without_variables_are_no_views():
    found = emfill._absent_moments(np.zeros((0, 0)), np.zeros((4, 0)), np.zeros((4, 2), bool), (0, 0))
    assert found.means.shape == (4, 0)
    assert found.logdet == 0
