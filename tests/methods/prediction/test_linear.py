"""Linear models on joined features: the optimum, the span of the rows, the selection of C."""

import numpy as np
import pytest
from scipy.optimize import minimize
from scipy.special import log_softmax
from sklearn.linear_model import Ridge
from sklearn.svm import SVC

from absentia.methods.prediction import _linear
from absentia.methods.prediction._linear import _reduce_rows, fit_logistic, fit_ridge, fit_svm


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
def test_rows_keep_their_products_and_lead_back_to_features(d):
    table, _, _ = made(d=d)
    rows, Z = _reduce_rows(table), standard(table)
    np.testing.assert_allclose(rows.F @ rows.F.T, Z @ Z.T, atol=1e-9)
    assert rows.F.shape[1] <= 40
    assert (rows.back is None) == (d == 10)
    np.testing.assert_allclose(rows.F if rows.back is None else rows.F @ rows.back, Z, atol=1e-9)
    np.testing.assert_allclose(rows.size, (Z**2).sum(axis=1).mean())


@pytest.mark.parametrize("d", [10, 90])
def test_logistic_regression_is_the_optimum_over_all_features(d):
    """Scores, not weights: those of several classes are free up to what they share."""
    table, codes, weight = made(d=d)
    Z = standard(table)

    def objective(x):
        w, b = x[: 3 * d].reshape(3, d), x[3 * d :]
        probabilities = log_softmax(Z @ w.T + b, axis=1)
        rest = np.exp(probabilities) * weight[:, None]
        rest[np.arange(40), codes] -= weight
        value = 0.5 * (w**2).sum() - 0.02 * weight @ probabilities[np.arange(40), codes]
        return value, np.concatenate([(w + 0.02 * rest.T @ Z).ravel(), 0.02 * rest.sum(axis=0)])

    found = minimize(objective, np.zeros(3 * d + 3), jac=True, options={"gtol": 1e-10, "maxiter": 5000}).x
    scores = Z @ found[: 3 * d].reshape(3, d).T + found[3 * d :]
    wanted = np.exp(log_softmax(scores, axis=1))
    model, C = fit_logistic(table, codes, weight, 0.02)
    assert C == 0.02
    np.testing.assert_allclose(model.predict(table), wanted, atol=1e-4)


def test_the_machine_is_that_of_libsvm():
    table, codes, weight = made(n_classes=2)
    model, _ = fit_svm(table, codes, weight, 0.003)
    Z = standard(table)
    other = SVC(C=0.003, kernel="linear", tol=1e-8).fit(Z, codes, sample_weight=weight)
    np.testing.assert_allclose(model.predict(table)[:, 0], other.decision_function(Z), atol=2e-3)


def test_ridge_is_that_of_scikit_learn_and_its_penalty_the_best_left_out():
    table, _, weight = made()
    Z = standard(table)
    y = Z[:, 0] - Z[:, 1] + 0.1 * np.random.default_rng(1).normal(size=40)
    model, alpha = fit_ridge(table, y, weight, 5.0)
    assert alpha == 5.0
    wanted = Ridge(5.0).fit(Z, y, sample_weight=weight).predict(Z)
    np.testing.assert_allclose(model.predict(table)[:, 0], wanted, atol=1e-8)
    size = _reduce_rows(table).size
    errors = {}
    for a in [size / (2 * C) for C in _linear.GRID]:
        left = [np.delete(np.arange(40), i) for i in range(40)]
        models = [Ridge(a, tol=1e-12).fit(Z[r], y[r], sample_weight=weight[r]) for r in left]
        errors[a] = sum(weight[i] * (y[i] - m.predict(Z[[i]])[0]) ** 2 for i, m in enumerate(models))
    np.testing.assert_allclose(fit_ridge(table, y, weight, "cv")[1], min(errors, key=errors.get))


@pytest.mark.parametrize("fit", [fit_logistic, fit_svm])
def test_C_is_selected_and_noise_gets_a_small_one(fit):
    table, codes, weight = made(n=60, n_classes=2)
    unit = 1 / _reduce_rows(table).size
    strong = fit(table, codes, weight, "cv")[1]
    assert np.isclose(strong / unit, _linear.GRID).any()
    noise = np.random.default_rng(3).normal(size=table.shape)
    weak = fit(noise, codes, np.ones(60), "cv")[1]
    if fit is fit_logistic:
        assert weak < strong
    else:  # all C are wrong equally often, give or take a few
        assert weak <= unit
    lone = np.where(np.arange(60) == 7, 1, 0)
    np.testing.assert_allclose(fit(table, lone, weight, "cv")[1], unit)


def test_features_in_other_units_change_no_chance():
    table, codes, weight = made(n_classes=2)
    one = fit_logistic(table, codes, weight, "cv")[0].predict(table)
    other = fit_logistic(1000 * table + 5, codes, weight, "cv")[0].predict(1000 * table + 5)
    np.testing.assert_allclose(other, one, atol=1e-5)


def test_a_constant_and_an_empty_column_count_nothing():
    table, codes, weight = made(n_classes=2)
    more = np.column_stack([table, np.full(40, 0.1), np.full(40, np.nan)])
    one, other = fit_logistic(table, codes, weight, 0.01)[0], fit_logistic(more, codes, weight, 0.01)[0]
    np.testing.assert_allclose(other.coef[:, -2:], 0, atol=1e-12)
    more[:, -2:] = 7.0
    np.testing.assert_allclose(other.predict(more), one.predict(table), atol=1e-6)
