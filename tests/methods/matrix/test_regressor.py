"""The PMA regressor: partial targets, given kernels in the units of the targets, means."""

import numpy as np
import pytest
from sklearn.base import clone

from absentia import PMARegressor
from matrices import from_given_kernels, rbf
from reference import pma as reference


def test_regression_on_partial_targets():
    rng = np.random.default_rng(0)
    X = rng.uniform(-2, 2, (120, 1))
    Y = np.hstack([np.sin(2 * X), 100 * np.cos(X)]) + rng.standard_normal((120, 2)) * [0.1, 10]
    gaps = np.where(rng.random(Y.shape) < 0.3, np.nan, Y)
    model = PMARegressor(random_state=0).fit(X[:90], gaps[:90])
    mean, std = model.predict(X[90:], return_std=True)
    z = (Y[90:] - mean) / std
    assert 0.6 < z.std() < 1.5
    assert model.score(X[90:], gaps[90:]) > 0.8
    np.testing.assert_array_equal(model.completed_[~np.isnan(gaps[:90])], Y[:90][~np.isnan(gaps[:90])])
    assert PMARegressor(random_state=0).fit(X, gaps[:, 0]).predict(X).shape == (120,)


@pytest.mark.parametrize("standardize", [True, False])
@pytest.mark.parametrize("kernel", ["precomputed", "rbf"])
def test_given_kernels_the_regressor_gives_the_posterior(kernel, standardize):
    X, K1, K2, gaps, Y = from_given_kernels()
    model = PMARegressor(kernel, gamma=0.5, col_kernel=K2, standardize=standardize)
    A = K1[:, :40] if kernel == "precomputed" else X
    mean, std = model.fit(A[:40], gaps).predict(A[40:], return_std=True)
    one = np.eye(4)
    exact, variance = reference.regression(K1[:40, :40], one, K2, gaps, K1[40:, :40], 1.0)
    np.testing.assert_allclose(mean, exact, rtol=1e-8, atol=1e-10)
    np.testing.assert_allclose(std**2, variance, rtol=1e-8)
    completed, _ = reference.condition(reference.covariance(K1[:40, :40], one, K2), gaps, ~np.isnan(gaps))
    np.testing.assert_allclose(model.completed_, completed, rtol=1e-8, atol=1e-10)
    np.testing.assert_allclose(model.model_.C, one, rtol=1e-14)  # in the units of the targets
    np.testing.assert_allclose(model.model_.N, K2, rtol=1e-12)
    np.testing.assert_array_less(
        ((mean - Y[40:]) ** 2).mean(axis=0), 1.05 * ((exact - Y[40:]) ** 2).mean(axis=0)
    )
    assert not hasattr(model, "n_iter_")


def test_a_given_column_kernel_means_the_same_whether_targets_are_standardized():
    """Only the amplitude is estimated."""
    X, _K1, K2, gaps, _ = from_given_kernels(shift=3.0)
    for parameters in ({"gamma": 0.5, "amplitude": "estimate"}, {"gamma": "median"}):
        model = PMARegressor(col_kernel=K2, center=True, tol=1e-9, max_iter=2000, **parameters)
        one, other = (clone(model).set_params(standardize=on).fit(X[:40], gaps) for on in (True, False))
        np.testing.assert_allclose(one.predict(X), other.predict(X), rtol=1e-6)
        np.testing.assert_allclose(one.model_.N, K2, rtol=1e-12)
        C = one.model_.C
        np.testing.assert_allclose(C, C[0, 0] * np.eye(4), rtol=1e-12)
        assert 0.2 < C[0, 0] < 5  # the truth is 1
    fixed = PMARegressor(gamma=0.5, amplitude=2.5).fit(X[:40], gaps)
    np.testing.assert_allclose(fixed.model_.C, 2.5 * np.eye(4), rtol=1e-12)


def test_a_kernel_width_is_chosen_with_the_column_kernel_that_is_given():
    X, _K1, K2, gaps, _ = from_given_kernels()
    model = PMARegressor(col_kernel=K2, amplitude=1.0, standardize=False, center=False).fit(X[:40], gaps)
    for gamma, likelihood in model.gamma_curve_:
        S = reference.covariance(rbf(X[:40], gamma=gamma), np.eye(4), K2)
        np.testing.assert_allclose(likelihood, reference.log_marginal(S, gaps, ~np.isnan(gaps)), rtol=1e-6)


def test_means_far_from_zero_under_given_kernels_are_pointed_out():
    X, K1, K2, gaps, _Y = from_given_kernels(shift=100.0)
    with pytest.warns(UserWarning, match="pass center=True"):
        PMARegressor(gamma=0.5, col_kernel=K2).fit(X[:40], gaps)
    model = PMARegressor(gamma=0.5, col_kernel=K2, center=True).fit(X[:40], gaps)
    exact, _ = reference.regression(
        K1[:40, :40], np.eye(4), K2, gaps, K1[40:, :40], 1.0, np.nanmean(gaps, axis=0)
    )
    np.testing.assert_allclose(model.predict(X[40:]), exact, rtol=1e-8)
