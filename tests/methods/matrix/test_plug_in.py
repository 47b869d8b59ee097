"""Kernels estimated inside MAP and Gibbs inference, as the paper has it, against its equations line by line."""

import numpy as np
import pytest

from absentia import MatrixLMC, PMAClassifier, PMAImputer, PMARegressor
from helpers.matrices import from_model, kronecker_sum, rbf
from reference import pma as reference

PLAIN = {"estimate": "paper", "standardize": False, "center": False}


def problem(n=30, m=20, gone=0.2, seed=0):
    rng = np.random.default_rng(seed)
    K1, K2 = rbf(rng.standard_normal((n, 2))), rbf(rng.standard_normal((m, 2))) + 0.05 * np.eye(m)
    X = kronecker_sum(K1, K2).draw(rng, 1)[:, 0]
    hidden = rng.random(X.shape) < gone
    return X, np.where(hidden, np.nan, X), hidden, K1


@pytest.mark.filterwarnings("ignore::sklearn.exceptions.ConvergenceWarning")
def test_steps_of_map_are_those_of_the_paper():
    _, gaps, hidden, _ = problem(12, 8)
    known = np.where(hidden, 0.0, gaps)
    variances = (known**2).sum(axis=0) / (~hidden).sum(axis=0)
    start = variances.mean() / 2 * np.eye(12), np.diag(variances / 2)
    ridge = 1e-3 * (gaps[~hidden] ** 2).mean()
    visited = reference.plug_in(*start, known, ~hidden, ridge, 4)
    for steps in (1, 4):
        imputer = PMAImputer(inference="map", max_iter=steps, tol=0.0, **PLAIN).fit(gaps)
        X, _, K1, K2 = visited[steps - 1]
        np.testing.assert_allclose(imputer.completed_, X, atol=1e-5)
        np.testing.assert_allclose(imputer.model_.rows.to_dense(), K1, atol=1e-5)
        np.testing.assert_allclose(imputer.model_.N, K2, atol=1e-5)


@pytest.mark.slow
def test_a_chain_has_the_mean_the_width_and_the_kernels_of_the_paper():
    """By the slow chain of the same steps: they agree up to what two chains differ by."""
    _, gaps, hidden, K1 = problem(15, 4)
    fast = PMAImputer(row_kernel=K1, inference="gibbs", n_samples=3000, **PLAIN).fit(gaps)
    ridge, rng = 1e-3 * (gaps[~hidden] ** 2).mean(), np.random.default_rng(0)
    visited = reference.plug_in(K1, np.eye(4), gaps, ~hidden, ridge, 1500, rng, rows=False)[300:]
    kept = [np.concatenate([X[hidden], K2.ravel()]) for X, _, _, K2 in visited]
    _, std = fast.predict(return_std=True)
    mean, spread = np.mean(kept, axis=0), np.std(kept, axis=0)
    n = int(hidden.sum())
    assert np.abs(fast.completed_[hidden] - mean[:n]).max() < 0.35 * spread[:n].max()
    assert np.abs(np.log(std[hidden] / spread[:n])).mean() < 0.2
    assert np.abs(fast.model_.N.ravel() - mean[n:]).max() < 0.35 * np.abs(mean[n:]).max()


def test_map_collapses_and_sampling_keeps_the_posterior_variance():
    """Under a row kernel that can follow anything, G is left with the ridge by modes, and not by draws."""
    _, gaps, hidden, _ = problem(30, 5)
    K1 = 2 * np.eye(30) + 0.1
    by = {
        how: PMAImputer(row_kernel=K1, inference=how, n_samples=200, **PLAIN).fit(gaps)
        for how in ("map", "gibbs")
    }
    level = (gaps[~hidden] ** 2).mean()
    size = {how: np.trace(imputer.model_.N) / 5 / level for how, imputer in by.items()}
    assert size["map"] < 0.01 < 0.03 < size["gibbs"]


def test_sampling_recovers_what_is_hidden_and_says_how_well():
    X, gaps, hidden, K1 = problem(m=8)
    imputer = PMAImputer(row_kernel=K1, inference="gibbs", n_samples=150, **PLAIN).fit(gaps)
    completed, std = imputer.predict(return_std=True)
    error = (completed - X)[hidden]
    assert (error**2).mean() < 0.4 * X[hidden].var()
    assert ((np.abs(error) < 2 * std[hidden]).mean()) > 0.7
    assert (std[~hidden] == 0).all()
    assert imputer.widening_ == 1
    assert imputer.diagnostics_["effective_sample_size"] > 1
    short = {"row_kernel": K1, "inference": "gibbs", "n_samples": 5, **PLAIN}
    one, again, other = (PMAImputer(random_state=seed, **short).fit(gaps).completed_ for seed in (0, 0, 1))
    np.testing.assert_array_equal(again, one)
    assert (other != one)[hidden].all()


def test_both_kernels_are_estimated_where_none_is_given():
    X, gaps, hidden, _ = problem(16, 12)
    for how in ("map", "gibbs"):
        imputer = PMAImputer(estimate="paper", inference=how, n_samples=20).fit(gaps)
        assert (imputer.row_kernel_, imputer.col_kernel_) == ("estimate", "estimate")
        assert imputer.completed_.shape == X.shape
        np.testing.assert_allclose(imputer.completed_[~hidden], X[~hidden], rtol=1e-10)
        assert imputer.model_.rows.to_dense().shape == (16, 16)
        assert hasattr(imputer, "n_iter_") == (how == "map")


@pytest.mark.parametrize("how", ["map", "gibbs"])
def test_labels_are_recovered_and_new_samples_predicted(how):
    rng = np.random.default_rng(0)
    X = rng.uniform(-2, 2, (80, 2))
    Y = np.sign(np.column_stack([X[:, 0], -X[:, 0], X[:, 1]]))
    hidden = rng.random(Y.shape) < 0.2
    gaps = np.where(hidden, np.nan, Y)
    model = PMAClassifier(estimate="paper", inference=how, gamma="median", n_samples=8).fit(X, gaps)
    assert (model.labels_ == Y)[hidden].mean() > 0.85
    assert (model.predict(X) == Y).mean() > 0.85
    assert model.label_covariance_ is False
    few = PMARegressor(estimate="paper", inference=how, n_samples=2, gamma="median").fit(X, gaps)
    assert few.predict(X).shape == Y.shape


def test_mistakes_are_explained():
    _, gaps, _, _ = from_model(n=12)
    for parameters, message in [
        ({"inference": "exact"}, "ask for inference='map' or 'gibbs'"),
        ({"inference": "map", "shrinkage": 1.0}, "has no prior"),
        ({"inference": "map", "row_kernel": np.eye(12), "amplitude": "estimate"}, "estimates no amplitude"),
        ({"inference": "map", "row_kernel": "estimate", "col_kernel": "none"}, "and estimate='em'"),
    ]:
        with pytest.raises(ValueError, match=message):
            PMAImputer(estimate="paper", **parameters).fit(gaps)
    X, Y = np.eye(4), np.eye(4)
    with pytest.raises(ValueError, match="estimate at 'em'"):
        PMAClassifier(estimate="paper", inference="map", label_covariance=True).fit(X, Y)
    with pytest.raises(ValueError, match="label_covariance and estimate as they are"):
        MatrixLMC(estimate="paper", inference="map").fit(X, Y)
