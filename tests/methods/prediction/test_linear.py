"""Linear models on joined features: the optimum, the strength that is selected, columns that say nothing."""

import numpy as np
import pytest
from sklearn.linear_model import LogisticRegression, Ridge

from absentia import EarlyFusionClassifier, EarlyFusionRegressor, Views
from absentia.methods.learning._sums import _ALPHAS


def made(n=40, d=90, n_classes=3, seed=0):
    rng = np.random.default_rng(seed)
    codes = np.arange(n) % n_classes
    table = rng.normal(3.0, 2.0, size=(n, d))
    table[:, :5] += 3 * rng.normal(size=(n_classes, 5))[codes]
    table[rng.random(table.shape) < 0.2] = np.nan
    return table, codes, rng.uniform(0.5, 2.0, size=n)


def fit_classes(table, codes, weight, C):
    return EarlyFusionClassifier("logistic", C=C).fit(in_views(table), codes, sample_weight=weight)


def fit_numbers(table, y, weight, alpha):
    return EarlyFusionRegressor("ridge", alpha=alpha).fit(in_views(table), y, sample_weight=weight)


def in_views(table):
    return Views.from_list([table], observed=np.ones((len(table), 1), dtype=bool))


def standard(table):
    scaled = (table - np.nanmean(table, axis=0)) / np.nanstd(table, axis=0)
    return np.nan_to_num(scaled)


@pytest.mark.parametrize("d", [10, 90])
def test_logistic_regression_is_that_of_scikit_learn_class_by_class(d):
    table, codes, weight = made(d=d)
    Z = standard(table)
    sides = []
    for k in range(3):
        one = LogisticRegression(C=0.02, tol=1e-10, max_iter=5000).fit(Z, codes == k, sample_weight=weight)
        sides.append(one.predict_proba(Z)[:, 1])
    wanted = np.column_stack(sides) / np.sum(sides, axis=0)[:, None]
    fit = fit_classes(table, codes, weight, 0.02)
    assert pytest.approx(0.02) == fit.C_
    np.testing.assert_allclose(fit.predict_proba(in_views(table)), wanted, atol=1e-5)


def test_ridge_is_that_of_scikit_learn_and_its_penalty_the_best_left_out():
    table, _, weight = made()
    Z = standard(table)
    y = Z[:, 0] - Z[:, 1] + 0.1 * np.random.default_rng(1).normal(size=40)
    fit = fit_numbers(table, y, weight, 5.0)
    assert fit.alpha_ == pytest.approx(5.0)
    wanted = Ridge(5.0).fit(Z, y, sample_weight=weight).predict(Z)
    np.testing.assert_allclose(fit.predict(in_views(table)), wanted, atol=1e-8)
    selected = fit_numbers(table, y, weight, "cv")

    def leave_out(alpha):
        said = np.zeros(40)
        for i in range(40):
            rest = np.delete(np.arange(40), i)
            model = Ridge(alpha, tol=1e-12).fit(Z[rest], y[rest], sample_weight=weight[rest])
            said[i] = model.predict(Z[[i]])[0]
        return said

    size = (Z**2).sum(axis=1).mean() - (Z.mean(axis=0) ** 2).sum()
    errors = {alpha: weight @ (y - leave_out(alpha)) ** 2 for alpha in np.array(_ALPHAS) * size}
    assert selected.alpha_ == pytest.approx(min(errors, key=errors.get))
    np.testing.assert_allclose(selected.loo_predictions_, leave_out(selected.alpha_), atol=1e-6)
    np.testing.assert_allclose(fit.loo_predictions_, leave_out(5.0), atol=1e-6)


def test_C_is_selected_and_noise_gets_a_small_one():
    table, codes, _ = made(n=60, n_classes=2)
    strong = fit_classes(table, codes, np.ones(60), "cv").C_
    noise = np.random.default_rng(3).normal(size=table.shape)
    assert strong > fit_classes(noise, codes, np.ones(60), "cv").C_


def test_features_in_other_units_change_no_probability():
    table, codes, weight = made(n_classes=2)
    first = fit_classes(table, codes, weight, "cv").predict_proba(in_views(table))
    other = fit_classes(1000 * table + 5, codes, weight, "cv").predict_proba(in_views(1000 * table + 5))
    np.testing.assert_allclose(other, first, atol=1e-8)


def test_a_constant_and_an_empty_column_count_nothing():
    table, codes, weight = made(n_classes=2)
    more = np.column_stack([table, np.full(40, 0.1), np.full(40, np.nan)])
    first, other = (fit_classes(t, codes, weight, 0.01) for t in (table, more))
    np.testing.assert_allclose(other.feature_importance()["importance"][-2:], 0, atol=1e-12)
    more[:, -2:] = 7.0
    wanted = first.predict_proba(in_views(table))
    np.testing.assert_allclose(other.predict_proba(in_views(more)), wanted, atol=1e-6)
