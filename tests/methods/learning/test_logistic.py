"""Logistic regression on kernels: the optimum, leaving one out, what it does with weights and views."""

import numpy as np
import pytest
from scipy.optimize import minimize

from absentia import KernelLogistic, ViewKernels, Views, datasets, missingness
from absentia.methods.learning import Axes, fit_logistic, to_probabilities


def made(n=60, d=8, n_classes=2, seed=0, strength=1.0):
    rng = np.random.default_rng(seed)
    X = rng.standard_normal((n, d))
    signal = strength * X[:, 0] + rng.standard_normal(n)
    return X, np.digitize(signal, np.quantile(signal, np.arange(1, n_classes) / n_classes))


def test_the_weights_are_the_optimum():
    X, y = made()
    weight = np.random.default_rng(1).uniform(0.2, 3, len(y))
    axes = Axes.of_table(X)
    fit = fit_logistic(axes, y, weight, 2, C=0.7)
    rows, sign = (X - X.mean(axis=0)) / axes.size**0.5, 2 * y - 1

    def objective(b):
        return weight @ np.logaddexp(0, -sign * (b[0] + rows @ b[1:])) + b[1:] @ b[1:] / (2 * 0.7)

    found = minimize(objective, np.zeros(9), method="BFGS", options={"gtol": 1e-9}).x
    np.testing.assert_allclose((X @ fit.coef + fit.intercept)[:, 0], found[0] + rows @ found[1:], atol=1e-5)


@pytest.mark.parametrize("shape", [(40, 100), (100, 6)])
def test_a_linear_kernel_is_its_features(shape):
    X, y = made(*shape)
    by_table = fit_logistic(Axes.of_table(X), y, np.ones(len(y)), 2)
    by_kernel = fit_logistic(Axes.of_kernel(X @ X.T), y, np.ones(len(y)), 2)
    assert by_kernel.C == by_table.C
    np.testing.assert_allclose(
        X @ X.T @ by_kernel.coef + by_kernel.intercept, X @ by_table.coef + by_table.intercept, atol=1e-7
    )
    np.testing.assert_allclose(by_kernel.loo_proba, by_table.loo_proba, atol=1e-8)


@pytest.mark.parametrize("n_classes", [2, 3])
@pytest.mark.parametrize("strength", [0.0, 3.0])
def test_leaving_one_out_is_near_to_fits_without_it(n_classes, strength):
    X, y = made(60, 20, n_classes, strength=strength)
    axes, weight = Axes.of_table(X), np.ones(60)
    fit = fit_logistic(axes, y, weight, n_classes)
    exact = np.zeros_like(fit.loo_proba)
    for i in range(60):
        rest = np.delete(np.arange(60), i)
        without = fit_logistic(axes._replace(Z=axes.Z[rest]), y[rest], weight[rest], n_classes, fit.C)
        exact[i] = to_probabilities(X[[i]] @ without.coef + without.intercept)[0]
    assert np.abs(fit.loo_proba - exact).max() < 0.05
    seen = to_probabilities(X @ fit.coef + fit.intercept)
    assert np.abs(fit.loo_proba - exact).mean() < 0.1 * np.abs(seen - exact).mean()


def test_noise_gets_the_frequencies_and_its_loss_is_not_below_theirs():
    losses = []
    for seed in range(20):
        X, _ = made(60, 5, seed=seed)
        y = np.random.default_rng(seed).permutation(60) % 2
        fit = fit_logistic(Axes.of_table(X), y, np.ones(60), 2)
        losses.append(fit.loo_curve[fit.C])
    assert np.mean(losses) > np.log(2) - 0.01


def test_separable_classes_are_no_trouble():
    X, _ = made(40, 3)
    y = (X[:, 0] > 0).astype(int)
    X[:, 0] += 10 * y
    fit = fit_logistic(Axes.of_table(X), y, np.ones(40), 2)
    assert (to_probabilities(X @ fit.coef + fit.intercept).argmax(axis=1) == y).all()
    assert np.isfinite(fit.loo_proba).all()
    assert (fit.loo_proba.argmax(axis=1) == y).all()


def test_many_axes_are_cut_to_the_leading_ones(monkeypatch):
    from absentia.methods.learning import _logistic

    X, _ = made(80, 60)
    monkeypatch.setattr(_logistic, "_MAX_AXES", 10)
    axes = Axes.of_table(X)
    assert axes.Z.shape == (80, 10)
    np.testing.assert_allclose((axes.Z**2).sum(axis=1).mean(), 1)


def test_the_estimator_gives_what_it_is_made_of():
    views, y = datasets.load_digit_views(n_samples=80, return_X_y=True)
    kernels = ViewKernels().fit_transform(views.hide(missingness.mcar(views, 0.3, random_state=0)))
    fitted = KernelLogistic().fit(kernels, y % 3)
    assert fitted.C_ in fitted.loo_curve_
    assert fitted.loo_curve_[fitted.C_] == min(fitted.loo_curve_.values())
    parts = fitted.contributions(kernels)
    scores = parts.sum(axis=1) + fitted.bias_
    p = 1 / (1 + np.exp(-scores))
    np.testing.assert_allclose(fitted.predict_proba(kernels), p / p.sum(axis=1, keepdims=True), atol=1e-9)


def test_balanced_weights_move_probabilities_to_the_rare_class():
    X, y = made(90, 5, 3)
    kernels = ViewKernels("linear").fit_transform(Views.from_dict({"x": X}))
    rare = (y == 2).astype(int)
    plain, balanced = (KernelLogistic(1.0, class_weight=w).fit(kernels, rare) for w in (None, "balanced"))
    assert balanced.predict_proba(kernels)[:, 1].mean() > plain.predict_proba(kernels)[:, 1].mean() + 0.1


def test_factors_give_what_whole_kernels_give(monkeypatch):
    from absentia.data import _inputs

    X, y = made(80, 12, 3)
    views = Views.from_dict({"a": X[:, :5], "b": X[:, 5:]})
    views = views.hide(missingness.mcar(views, 0.3, random_state=0))
    kernels = ViewKernels("linear", approx="nystrom", n_landmarks=40).fit_transform(views)
    whole = KernelLogistic().fit(kernels, y)
    monkeypatch.setattr(_inputs, "_MAX_DENSE_SAMPLES", 20)
    factored = KernelLogistic().fit(kernels, y)
    assert pytest.approx(whole.C_) == factored.C_
    np.testing.assert_allclose(factored.predict_proba(kernels), whole.predict_proba(kernels), atol=1e-6)
    np.testing.assert_allclose(factored.loo_proba_, whole.loo_proba_, atol=1e-6)


def test_leading_axes_of_large_tables_are_found_by_projections(monkeypatch):
    from absentia.methods.learning import _logistic

    X, y = made(120, 60)
    whole = fit_logistic(Axes.of_table(X), y, np.ones(120), 2, C=1.0)
    monkeypatch.setattr(_logistic, "_MAX_DECOMPOSED", 30)
    monkeypatch.setattr(_logistic, "_MAX_AXES", 60)
    projected = fit_logistic(Axes.of_table(X), y, np.ones(120), 2, C=1.0)
    np.testing.assert_allclose(
        X @ projected.coef + projected.intercept, X @ whole.coef + whole.intercept, atol=1e-6
    )
