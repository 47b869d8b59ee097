"""Numbers out of fold, the share explained and its interval, errors."""

import numpy as np
import pytest
from sklearn.metrics import mean_absolute_error, r2_score, root_mean_squared_error

from absentia import AbsentRegressor, EarlyFusionRegressor, KernelViews, ViewKernels, Views
from absentia.experiment import cross_validate
from absentia.tasks import REGRESSION, Plan
from absentia.tasks.regression import errors, explained_more


def targets(n, seed=0, noise=1.0):
    rng = np.random.default_rng(seed)
    y = rng.normal(size=n)
    return y, 0.7 * y + noise * rng.normal(size=n) / 2


def test_errors_are_scikit_learn_s():
    y, said = targets(40)
    found = errors(y, said)
    assert found.r2.value == pytest.approx(r2_score(y, said))
    assert found.rmse == pytest.approx(root_mean_squared_error(y, said))
    assert found.mae == pytest.approx(mean_absolute_error(y, said))
    more = explained_more(y, said, np.zeros(40))
    assert more.value == pytest.approx(r2_score(y, said) - r2_score(y, np.zeros(40)))
    assert explained_more(y, said, said) == (0.0, 0.0, 0.0)


def test_the_jackknife_is_leaving_out_each_sample():
    y, said = targets(25)
    left = [r2_score(np.delete(y, i), np.delete(said, i)) for i in range(25)]
    error = np.sqrt(24 / 25 * ((np.array(left) - np.mean(left)) ** 2).sum())
    found = errors(y, said).r2
    assert found.value - found.low == pytest.approx(1.959964 * error, rel=1e-6)
    assert found.high == min(found.high, 1.0)


def test_intervals_cover_about_as_often_as_they_say():
    truth = r2_score(*targets(100_000, 1))
    hits = 0
    for seed in range(200):
        found = errors(*targets(80, seed + 10)).r2
        hits += found.low <= truth <= found.high
    assert hits >= 176  # 190 expected


def views(n=60, seed=0):
    rng = np.random.default_rng(seed)
    x = rng.normal(size=(n, 3))
    observed = rng.random((n, 2)) < 0.8
    observed[:, 0] |= ~observed.any(axis=1)
    return Views.from_list([x, x**2], observed=observed), 5 + x[:, 0] + rng.normal(size=n) / 4


def test_every_sample_is_held_out_once_whatever_their_order():
    X, y = views()
    methods = {"own": Plan(AbsentRegressor()), "forest": Plan(EarlyFusionRegressor(n_trees=5))}
    ticks = []
    found = cross_validate(REGRESSION, X, y, methods, lambda: ticks.append(1))
    assert (found.n_folds, len(ticks)) == (5, 10)
    assert list(found.predicted) == ["own", "forest", "mean of the targets"]
    test = found.fold == 2
    fitted = AbsentRegressor().fit(X[~test], y[~test])
    assert found.strengths["own"][2] == fitted.penalty_ == REGRESSION.find_strength(fitted)
    np.testing.assert_allclose(found.predicted["own"][test], fitted.predict(X[test]), atol=1e-6)
    np.testing.assert_allclose(found.predicted["mean of the targets"][test], y[~test].mean())
    keep = X[test].observed & np.array([False, True])
    hidden, has = fitted.predict(X[test].hide(keep)), X[test].observed[:, 0]
    np.testing.assert_allclose(found.without[test][has, 0], hidden[has], atol=1e-6)
    low = [np.isin(np.argsort(y)[:12], np.flatnonzero(found.fold == k)).sum() for k in range(5)]
    assert max(low) <= 3  # each fold has its share of small numbers
    order = np.random.default_rng(1).permutation(len(y))
    again = cross_validate(REGRESSION, X[order], y[order], {"own": Plan(AbsentRegressor())})
    np.testing.assert_array_equal(again.fold, found.fold[order])
    np.testing.assert_allclose(again.predicted["own"], found.predicted["own"][order], atol=1e-5)


def test_kernels_are_split_both_ways():
    X, y = views()
    K = ViewKernels().fit_transform(X)
    assert isinstance(K, KernelViews)
    found = cross_validate(REGRESSION, K, y, {"own": Plan(AbsentRegressor(kernel="precomputed"))})
    assert errors(y, found.predicted["own"]).r2.value > 0.5
    assert REGRESSION.find_strength(EarlyFusionRegressor(n_trees=3).fit(X, y)) is None


def test_what_cannot_be_learned_from_is_refused():
    REGRESSION.check_targets(np.arange(10))
    with pytest.raises(ValueError, match=r"9 sample.s. with a number and a view; at least 10"):
        REGRESSION.check_targets(np.arange(9))
    with pytest.raises(ValueError, match="all 12 numbers are 2"):
        REGRESSION.check_targets(np.full(12, 2.0))
    with pytest.raises(ValueError, match=r"1 number.s. are infinite"):
        REGRESSION.check_targets(np.where(np.arange(12) == 3, np.inf, 1.0))
