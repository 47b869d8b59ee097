"""Linear models on joined features: the optimum, the strength that is selected, columns that say nothing."""

import numpy as np
import pytest
from sklearn.linear_model import LogisticRegression, Ridge

from absentia.methods.learning._sums import _ALPHAS
from absentia.methods.prediction._linear import fit_linear_classes, fit_linear_numbers


def made(n=40, d=90, n_classes=3, seed=0):
    rng = np.random.default_rng(seed)
    codes = np.arange(n) % n_classes
    table = rng.normal(3.0, 2.0, size=(n, d))
    table[:, :5] += 3 * rng.normal(size=(n_classes, 5))[codes]
    table[rng.random(table.shape) < 0.2] = np.nan
    return table, codes, rng.uniform(0.5, 2.0, size=n)


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
    fit = fit_linear_classes(table, codes, weight, 0.02)
    assert fit.strength == pytest.approx(0.02)
    np.testing.assert_allclose(fit.model.predict(table), wanted, atol=1e-5)


def test_ridge_is_that_of_scikit_learn_and_its_penalty_the_best_left_out():
    table, _, weight = made()
    Z = standard(table)
    y = Z[:, 0] - Z[:, 1] + 0.1 * np.random.default_rng(1).normal(size=40)
    fit = fit_linear_numbers(table, y, weight, 5.0)
    assert fit.strength == pytest.approx(5.0)
    wanted = Ridge(5.0).fit(Z, y, sample_weight=weight).predict(Z)
    np.testing.assert_allclose(fit.model.predict(table)[:, 0], wanted, atol=1e-8)
    selected = fit_linear_numbers(table, y, weight, "cv")

    def leave_out(alpha):
        said = np.zeros(40)
        for i in range(40):
            rest = np.delete(np.arange(40), i)
            model = Ridge(alpha, tol=1e-12).fit(Z[rest], y[rest], sample_weight=weight[rest])
            said[i] = model.predict(Z[[i]])[0]
        return said

    size = (Z**2).sum(axis=1).mean() - (Z.mean(axis=0) ** 2).sum()
    errors = {alpha: weight @ (y - leave_out(alpha)) ** 2 for alpha in np.array(_ALPHAS) * size}
    assert selected.strength == pytest.approx(min(errors, key=errors.get))
    np.testing.assert_allclose(selected.loo, leave_out(selected.strength), atol=1e-6)
    np.testing.assert_allclose(fit.loo, leave_out(5.0), atol=1e-6)


def test_C_is_selected_and_noise_gets_a_small_one():
    table, codes, _ = made(n=60, n_classes=2)
    strong = fit_linear_classes(table, codes, np.ones(60), "cv").strength
    noise = np.random.default_rng(3).normal(size=table.shape)
    assert fit_linear_classes(noise, codes, np.ones(60), "cv").strength < strong


def test_features_in_other_units_change_no_probability():
    table, codes, weight = made(n_classes=2)
    first = fit_linear_classes(table, codes, weight, "cv").model.predict(table)
    other = fit_linear_classes(1000 * table + 5, codes, weight, "cv").model.predict(1000 * table + 5)
    np.testing.assert_allclose(other, first, atol=1e-8)


def test_a_constant_and_an_empty_column_count_nothing():
    table, codes, weight = made(n_classes=2)
    more = np.column_stack([table, np.full(40, 0.1), np.full(40, np.nan)])
    first, other = (fit_linear_classes(t, codes, weight, 0.01).model for t in (table, more))
    np.testing.assert_allclose(other.coef[:, -2:], 0, atol=1e-12)
    more[:, -2:] = 7.0
    np.testing.assert_allclose(other.predict(more), first.predict(table), atol=1e-6)
