"""The PMA imputer: the posterior under given kernels, estimation, new rows, mistakes."""

import numpy as np
import pytest
from sklearn.exceptions import ConvergenceWarning
from sklearn.model_selection import cross_val_score
from sklearn.pipeline import make_pipeline

from absentia import AbsenceWarning, PMAClassifier, PMAImputer
from absentia.methods.matrix import _inference as mean
from helpers.matrices import from_model, kronecker_sum, rbf
from helpers.matrix_registry import drawn
from reference import pma as reference


@pytest.mark.parametrize("how", ["exact", "map", pytest.param("gibbs", marks=pytest.mark.slow)])
def test_given_kernels_the_imputer_gives_the_posterior(how):
    _, gaps, K1, K2 = from_model(n=20, m=4)
    imputer = PMAImputer(
        row_kernel=K1, col_kernel=K2, center=False, inference=how, n_samples=2000, random_state=0
    )
    found = imputer.fit_transform(gaps)
    seen = ~np.isnan(gaps)
    S = reference.covariance(K1, np.eye(4), K2)
    mean, covariance = reference.condition(S, gaps, seen)
    atol = {"exact": 1e-10, "map": 1e-3, "gibbs": 0.1}[how]
    np.testing.assert_allclose(found, mean, atol=atol)
    np.testing.assert_array_equal(found[seen], gaps[seen])
    if how == "gibbs":
        assert imputer.diagnostics_["r_hat"] < 1.05
        assert imputer.diagnostics_["effective_sample_size"] > 100
    completed, std = imputer.predict(return_std=True)
    np.testing.assert_array_equal(completed, found)
    rtol = 0.25 if how == "gibbs" else 1e-8  # the chain's own, of some hundreds of independent draws
    np.testing.assert_allclose(std[~seen] ** 2, np.diagonal(covariance), rtol=rtol)
    np.testing.assert_allclose(
        imputer.log_marginal_likelihood_, reference.log_marginal(S, gaps, seen), rtol=1e-8
    )
    draws = imputer.sample(2000)
    assert draws.shape == (2000, 20, 4)
    assert np.abs(draws.mean(axis=0) - mean).max() < 0.15
    inside = (draws[:, ~seen] > np.quantile(draws[:, ~seen], 0.1, axis=0)).mean()
    assert abs(inside - 0.9) < 0.01


def test_estimated_kernels_complete_better_than_means():
    rng = np.random.default_rng(0)
    K1, K2 = rbf(rng.standard_normal((40, 2))), rbf(rng.standard_normal((30, 2))) + 0.05 * np.eye(30)
    X = kronecker_sum(K1, K2).draw(rng, 1)[:, 0]
    gone = rng.random(X.shape) < 0.2
    gaps = np.where(gone, np.nan, X)
    naive = np.broadcast_to(np.nanmean(gaps, axis=0), X.shape)
    error = lambda filled: np.mean((filled - X)[gone] ** 2)
    free = PMAImputer(random_state=0).fit_transform(gaps)
    given = PMAImputer(row_kernel=K1, random_state=0).fit_transform(gaps)
    assert error(free) < 0.4 * error(naive)
    assert error(given) < 0.3 * error(naive)


def test_new_rows_are_completed_from_their_own_entries():
    X, gaps, _, _ = from_model(n=80, m=6)
    imputer = PMAImputer(random_state=0).fit(gaps[:60])
    np.testing.assert_array_equal(imputer.transform(gaps[:60]), imputer.completed_)
    new = imputer.transform(gaps[60:])
    seen = ~np.isnan(gaps[60:])
    np.testing.assert_array_equal(new[seen], X[60:][seen])
    S = imputer.model_.N + imputer.model_.C * imputer.model_.rows.diagonal().mean()
    row = int(np.argmax((~seen).any(axis=1)))
    o, m = np.flatnonzero(seen[row]), np.flatnonzero(~seen[row])
    expected = imputer.mean_[m] + S[np.ix_(m, o)] @ np.linalg.solve(
        S[np.ix_(o, o)], X[60 + row, o] - imputer.mean_[o]
    )
    np.testing.assert_allclose(new[row, m], expected, rtol=1e-6)


def test_a_pipeline_with_the_imputer_is_cross_validated():
    from sklearn.linear_model import Ridge

    X, gaps, _, _ = from_model(n=60)
    scores = cross_val_score(
        make_pipeline(PMAImputer(random_state=0), Ridge()), gaps, X[:, 0] + X[:, 1], cv=3
    )
    assert scores.mean() > 0.5


def test_mistakes_with_the_imputer_are_explained():
    _, gaps, K1, K2 = from_model(n=12)
    for parameters, message in [
        ({"row_kernel": K2}, "row_kernel has shape"),
        ({"col_kernel": K1}, "col_kernel has shape"),
        ({"row_kernel": "rbf"}, "'heldout', 'estimate', 'none' or a Kernel, not 'rbf'"),
        ({"inference": "vb"}, "'exact', 'map' or 'gibbs'"),
    ]:
        with pytest.raises(ValueError, match=message):
            PMAImputer(**parameters).fit(gaps)
    gaps[:, 2] = np.nan
    with pytest.raises(ValueError, match="column 2 is unknown for every sample"):
        PMAImputer().fit(gaps)
    with pytest.warns(ConvergenceWarning, match="reached max_iter"):
        PMAImputer(max_iter=1).fit(from_model()[1])


@pytest.mark.parametrize("seed", range(5))
def test_small_matrices_are_completed_to_rounding(seed):
    _, gaps, K1, K2 = from_model(n=14, m=5, seed=seed)
    seen = ~np.isnan(gaps)
    mean, covariance = reference.condition(reference.covariance(K1, np.eye(5), K2), gaps, seen)
    imputer = PMAImputer(row_kernel=K1, col_kernel=K2, center=False).fit(gaps)
    error = np.linalg.norm(imputer.completed_ - mean) / np.linalg.norm(mean[~seen])
    assert error < 1e-10
    std = imputer.predict(return_std=True)[1]
    np.testing.assert_allclose(std[~seen] ** 2, np.diagonal(covariance), rtol=1e-9)


def test_beyond_that_conjugate_gradients_come_near(monkeypatch):
    _, gaps, K1, K2 = from_model(n=14, m=5)
    direct = PMAImputer(row_kernel=K1, col_kernel=K2).fit_transform(gaps)
    monkeypatch.setattr(mean, "_MAX_FACTORIZED", 0)
    steps = PMAImputer(row_kernel=K1, col_kernel=K2).fit_transform(gaps)
    assert (steps != direct).any()
    np.testing.assert_allclose(steps, direct, rtol=1e-6, atol=1e-7)


def test_rows_other_than_those_of_the_fit_have_their_own_deviations():
    _X, gaps, _, _ = from_model(n=60, m=5)
    imputer = PMAImputer().fit(gaps[:40])
    new, std = imputer.predict(gaps[40:], return_std=True)
    np.testing.assert_array_equal(new, imputer.transform(gaps[40:]))
    S = imputer.model_.N + imputer.model_.C * imputer.model_.rows.diagonal().mean()
    for i in range(20):
        m, o = np.isnan(gaps[40 + i]), ~np.isnan(gaps[40 + i])
        left = S[np.ix_(m, m)] - S[np.ix_(m, o)] @ np.linalg.solve(S[np.ix_(o, o)], S[np.ix_(o, m)])
        own = std[i, m] / (imputer.widening_ if imputer.row_kernel_ == "none" else 1.0)
        np.testing.assert_allclose(own**2, np.diagonal(left), rtol=1e-8)
        assert (std[i, o] == 0).all()


def factor_matrix(seed, n, m):
    """Two factors and noise, a fifth of the entries missing: no kernel is known."""
    rng = np.random.default_rng(seed)
    X = rng.standard_normal((n, 2)) @ rng.standard_normal((2, m)) + 0.5 * rng.standard_normal((n, m))
    return X, np.where((rng.random(X.shape) < 0.2) & (np.arange(n) > 1)[:, None], np.nan, X)


@pytest.mark.slow
@pytest.mark.parametrize("row_kernel", ["heldout", "estimate"])
def test_intervals_cover_what_they_say_where_kernels_are_estimated(row_kernel):
    """Without widening .89 and .79; over some 480 entries, several of a matrix off at once, .05 is 2 errors."""
    inside, total = 0, 0
    for seed in range(10):
        X, gaps = factor_matrix(seed, 40, 6)
        mean, std = PMAImputer(row_kernel=row_kernel).fit(gaps).predict(return_std=True)
        gone = np.isnan(gaps)
        inside += (np.abs(X - mean)[gone] < 1.96 * std[gone]).sum()
        total += gone.sum()
    assert 0.91 < inside / total < 0.99


def test_where_nothing_is_estimated_deviations_stay_those_of_the_model():
    _, gaps, K1, K2 = from_model()
    assert PMAImputer(row_kernel=K1, col_kernel=K2).fit(gaps).widening_ == 1
    assert PMAImputer(row_kernel="none", col_kernel=K2).fit(gaps).widening_ == 1


def test_too_few_entries_to_widen_by_are_said():
    _, gaps = factor_matrix(0, 6, 3)
    with pytest.warns(AbsenceWarning, match="too few to tell how much wider"):
        PMAImputer(row_kernel="estimate").fit(gaps).predict(return_std=True)


def test_whatever_was_learned_before_is_forgotten():
    """A second fit without estimation leaves nothing of the first."""
    _, K1, K2, gaps, _ = drawn()
    model = PMAImputer().fit(gaps)
    assert model.n_iter_ == len(model.kernel_changes_)
    assert model.status_ == "converged: the kernels' relative change fell below tol"
    assert not hasattr(model, "objective_")
    model.set_params(row_kernel=K1, col_kernel=K2).fit(gaps)
    for name in ("n_iter_", "kernel_changes_", "status_", "converged_", "objective_"):
        assert not hasattr(model, name)
    X, _, _, _, labels = drawn()
    model = PMAClassifier(tol=0.01).fit(X, labels)
    assert len(model.gamma_curve_) > 1
    assert not hasattr(model.set_params(gamma=1.0).fit(X, labels), "gamma_curve_")


def test_steps_that_were_asked_for_are_no_reason_to_warn():
    model = PMAImputer(tol=0, max_iter=3).fit(drawn()[3])
    assert model.n_iter_ == 3
    assert model.status_ == "ran all max_iter iterations, as tol=0 asks for"
    with pytest.warns(ConvergenceWarning, match="PMAImputer reached max_iter before the kernels' relative"):
        PMAImputer(tol=1e-9, max_iter=3).fit(drawn()[3])
