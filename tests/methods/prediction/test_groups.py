"""Leaving out whole groups in closed form against fits without them, and groups of one."""

import numpy as np
import pytest

from absentia import AutoClassifier, AutoRegressor, EarlyFusionRegressor, Views
from absentia.methods.learning import Axes, fit_logistic, to_probabilities
from absentia.methods.prediction._ridge import Ridge

GROUPS = np.repeat(np.arange(20), [1, 4, 2, 3, 5, 1, 2, 4, 3, 2] * 2)  # of 54 samples


def make_problem(n_features, n_classes=2, seed=0):
    """Visits of patients that are alike: without the others, much less is known of one."""
    rng = np.random.default_rng(seed)
    X = rng.normal(size=(20, n_features))[GROUPS] + 0.3 * rng.normal(size=(len(GROUPS), n_features))
    signal = X[:, 0] + rng.normal(size=20)[GROUPS]
    return X, np.digitize(signal, np.quantile(signal, np.arange(1, n_classes) / n_classes))


def refit(axes, y, weight, n_classes, C, X):
    """Probabilities of every sample by machines fitted anew without its group, along the same axes."""
    exact = np.zeros((len(y), n_classes))
    for group in np.unique(GROUPS):
        out = group == GROUPS
        without = fit_logistic(axes._replace(Z=axes.Z[~out]), y[~out], weight[~out], n_classes, C)
        exact[out] = to_probabilities(X[out] @ without.coef + without.intercept)
    return exact


@pytest.mark.parametrize(("n_features", "n_classes"), [(2, 2), (5, 3), (60, 2)])
def test_leaving_a_group_out_is_a_fit_without_it_to_second_order(n_features, n_classes):
    X, y = make_problem(n_features, n_classes)
    axes, weight = Axes.of_table(X), np.random.default_rng(1).uniform(0.5, 2, len(y))
    for C, off in ((0.03, 0.004), (1.0, 0.09)):
        exact = refit(axes, y, weight, n_classes, C, X)
        fit = fit_logistic(axes, y, weight, n_classes, C, GROUPS)
        one_by_one = fit_logistic(axes, y, weight, n_classes, C)
        assert np.abs(fit.loo_proba - exact).max() < off
        error = np.abs(fit.loo_proba - exact).mean()
        assert error < np.abs(one_by_one.loo_proba - exact).mean() / 4


def test_the_error_is_of_second_order_in_the_weight_of_the_group():
    X, y = make_problem(5)
    axes, out = Axes.of_table(X), GROUPS == 4
    without = fit_logistic(axes._replace(Z=axes.Z[~out]), y[~out], np.ones((~out).sum()), 2, 1.0)
    exact = to_probabilities(X[out] @ without.coef + without.intercept)
    errors, shifts = [], []
    for share in (0.1, 0.01):
        fit = fit_logistic(axes, y, np.where(out, share, 1.0), 2, 1.0, GROUPS)
        errors.append(np.abs(fit.loo_proba[out] - exact).max())
        shifts.append(np.abs(to_probabilities(X[out] @ fit.coef + fit.intercept) - exact).max())
    assert errors[1] < errors[0] / 60  # a hundred times less, about
    assert shifts[1] > shifts[0] / 20  # ten times less


def test_groups_of_one_are_the_scalar_form():
    X, y = make_problem(5)
    axes, weight = Axes.of_table(X), np.random.default_rng(1).uniform(0.5, 2, len(y))
    plain = fit_logistic(axes, y, weight, 2)
    assert (
        fit_logistic(axes, y, weight, 2, groups=np.arange(54)).loo_proba.tolist()
        == plain.loo_proba.tolist()
    )
    # one pair: all others are groups of one, and go through the form of blocks
    pair = np.maximum(np.arange(54), 1)
    for C in (0.1, 1000.0):  # the second where denominators are held above their bound
        mixed = fit_logistic(axes, y, weight, 2, C, pair).loo_proba
        np.testing.assert_allclose(mixed[2:], fit_logistic(axes, y, weight, 2, C).loo_proba[2:], atol=1e-9)


def test_C_is_chosen_by_groups():
    rng = np.random.default_rng(0)
    X = rng.normal(size=(20, 30))[GROUPS] + 0.05 * rng.normal(size=(54, 30))
    y = rng.permutation(np.arange(20) % 2)[GROUPS]
    axes = Axes.of_table(X)
    alone, together = (fit_logistic(axes, y, np.ones(54), 2, groups=g) for g in (None, GROUPS))
    assert together.C < alone.C / 10


def test_ridge_without_a_group_is_exact():
    X, y = make_problem(5)
    y, weight = y + X[:, 1], np.random.default_rng(1).uniform(0.5, 2, 54)
    K = X @ X.T + 1
    told = Ridge.fit(K, y, weight, 0.3, GROUPS)
    unit = np.linalg.eigvalsh(_centred(K, weight)).mean()
    for group in (1, 4, 8):
        out = group == GROUPS
        share = weight / weight.mean()
        penalty = 0.3 * unit  # on the scale of all samples
        mean = np.average(X[~out], axis=0, weights=share[~out])
        Z = X - mean
        H = (Z[~out].T * share[~out]) @ Z[~out] + penalty * np.eye(5)
        target = np.average(y[~out], weights=share[~out])
        coef = np.linalg.solve(H, Z[~out].T @ (share[~out] * (y[~out] - target)))
        np.testing.assert_allclose(told.loo[out], target + Z[out] @ coef, atol=1e-8)


def _centred(K, weight):
    share = weight / weight.sum()
    centre = np.eye(len(K)) - share
    root = np.sqrt(len(K) * share)
    return centre @ K @ centre.T * root[:, None] * root


def test_linear_ridge_without_a_group_is_exact():
    X, y = make_problem(5)
    y, weight = y + X[:, 1], np.random.default_rng(1).uniform(0.5, 2, 54)
    model = EarlyFusionRegressor("ridge", alpha=3.0)
    told = model.fit(Views.from_dict({"x": X}), y, sample_weight=weight, groups=GROUPS).loo_predictions_
    Z = np.clip((X - X.mean(axis=0)) / X.std(axis=0), -3, 3)  # what is learned from
    for group in (1, 4, 8):
        out = group == GROUPS
        A = np.column_stack([np.ones((~out).sum()), Z[~out]])
        H = (A.T * weight[~out]) @ A + np.diag([0.0, *[3.0] * 5])
        b = np.linalg.solve(H, A.T @ (weight[~out] * y[~out]))
        np.testing.assert_allclose(told[out], b[0] + Z[out] @ b[1:], atol=1e-8)


def test_forests_tell_nothing_out_of_bag_of_groups():
    X, y = make_problem(5)
    views = Views.from_dict({"x": X})
    forest = EarlyFusionRegressor("forest", n_trees=60, random_state=0)
    assert hasattr(forest.fit(views, y * 1.0), "loo_predictions_")
    assert not hasattr(
        EarlyFusionRegressor("forest", n_trees=60).fit(views, y * 1.0, groups=GROUPS), "loo_predictions_"
    )


def test_order_and_names_of_groups_do_not_matter():
    X, y = make_problem(5)
    views = Views.from_dict({"x": X, "z": X[:, :2] ** 2}, ids=[f"s{k}" for k in range(54)])
    rng = np.random.default_rng(2)
    order, names = rng.permutation(54), rng.permutation(20)
    library = ["linear", "fusion-rbf"]
    one = AutoClassifier(library).fit(views, y, groups=GROUPS)
    other = AutoClassifier(library).fit(views[order], y[order], groups=names[GROUPS][order])
    np.testing.assert_allclose(other.loo_proba_, one.loo_proba_[order], atol=1e-9)
    target = X[:, 0] + y
    one = AutoRegressor(["linear-regression", "ridge-fusion-rbf"]).fit(views.with_groups(GROUPS), target)
    shuffled = views[order].with_groups(names[GROUPS][order])
    other = AutoRegressor(["linear-regression", "ridge-fusion-rbf"]).fit(shuffled, target[order])
    np.testing.assert_allclose(other.loo_predictions_, one.loo_predictions_[order], atol=1e-9)


def test_a_class_of_one_group_is_refused():
    X, _ = make_problem(5)
    with pytest.raises(ValueError, match="class 1 has samples of one group only"):
        AutoClassifier(["linear"]).fit(Views.from_dict({"x": X}), (GROUPS == 4).astype(int), groups=GROUPS)
