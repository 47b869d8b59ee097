"""Numbers from incomplete views: completed kernels and ridge regression on their sum."""

import numpy as np
import pandas as pd
import pytest
from sklearn.base import clone
from sklearn.model_selection import cross_val_score

import absentia
from absentia import CVKT, AbsentRegressor, CombineKernels, MKLRegressor, ViewKernels, Views
from absentia.methods.prediction._ridge import Ridge

COMBINE = pytest.mark.parametrize("combine", ["average", "skill", "fusion", "mkl"])


def measured(n=70, seed=0):
    """Two views that tell a number, a third of noise; a quarter of the cells absent."""
    rng = np.random.default_rng(seed)
    state = rng.normal(size=(n, 2))
    tables = {
        "a": np.column_stack([state[:, 0], rng.normal(size=n) / 3]),
        "b": state @ rng.normal(size=(2, 4)) + rng.normal(size=(n, 4)) / 4,
        "noise": rng.normal(size=(n, 3)),
    }
    observed = rng.random((n, 3)) < 0.75
    observed[~observed.any(axis=1), 0] = True
    y = 40 + 10 * state[:, 0] + 2 * rng.normal(size=n)
    return Views.from_dict(tables, ids=[f"p{i}" for i in range(n)], observed=observed), y


@COMBINE
def test_new_samples_get_numbers_near_theirs(combine):
    X, y = measured()
    model = AbsentRegressor(combine=combine, C=10.0).fit(X[:50], y[:50])
    assert model.score(X[50:], y[50:]) > 0.4
    assert model.weights_.shape == (3,)
    if combine in ("skill", "fusion"):
        assert model.weights_.argmin() == 2
        np.testing.assert_allclose(model.weights_.sum(), 1.0)


def test_it_is_ridge_regression_on_the_average_of_completed_kernels():
    X, y = measured()
    makes, completes, combines = ViewKernels(), CVKT(), CombineKernels()
    K = np.asarray(combines.fit_transform(completes.fit_transform(makes.fit_transform(X[:50]))))
    rows = np.asarray(combines.transform(completes.transform(makes.transform(X[50:]))))
    model = AbsentRegressor(CVKT()).fit(X[:50], y[:50])
    wanted = Ridge.fit(K, y[:50], np.ones(50))
    assert model.penalty_ == wanted.penalty
    np.testing.assert_allclose(model.predict(X[50:]), wanted.predict(rows), atol=1e-4)
    given = AbsentRegressor(None, penalty=0.3).fit(X[:50], y[:50])
    assert given.penalty_ == 0.3
    assert given.completer_ is None


def test_machines_learn_from_targets_of_unit_deviation():
    X, y = measured()
    K = ViewKernels("precomputed", normalize="trace").fit_transform(ViewKernels().fit_transform(X))
    model = AbsentRegressor(None, kernel="precomputed", combine="mkl").fit(K, y)
    own = MKLRegressor(1.0, epsilon=0.1, norm=2).fit(K, (y - y.mean()) / y.std())
    np.testing.assert_allclose(model.predict(K), y.mean() + y.std() * own.predict(K), atol=0.05)
    assert np.isnan(model.penalty_)
    same = AbsentRegressor(None, combine="mkl").fit(X, np.full(len(y), 7.0))
    np.testing.assert_allclose(same.predict(X), 7.0)


def test_views_weigh_what_they_tell_of_samples_left_out():
    X, y = measured()
    weights = AbsentRegressor(combine="skill").fit(X, y).weights_
    assert weights.sum() == pytest.approx(1)
    assert weights[0] > 2 * weights[2]
    np.testing.assert_allclose(AbsentRegressor(combine="skill").fit(X, 0 * y).weights_, 1 / 3)


@COMBINE
def test_the_order_of_samples_and_views_changes_nothing(combine):
    X, y = measured()
    model = AbsentRegressor(combine=combine).fit(X, y)
    order = np.random.default_rng(1).permutation(len(X))
    other = AbsentRegressor(combine=combine).fit(X.select(["noise", "b", "a"])[order], y[order])
    np.testing.assert_allclose(other.predict(X.select(["b", "noise", "a"])), model.predict(X), atol=1e-4)
    np.testing.assert_allclose(other.weights_[::-1], model.weights_, atol=1e-6)


def test_weights_leave_samples_out():
    X, y = measured()
    weight = np.where(np.arange(len(y)) < 10, 0.0, 2.0)
    some = AbsentRegressor().fit(X, y + 100 * (weight == 0), sample_weight=weight)
    np.testing.assert_allclose(some.predict(X), AbsentRegressor().fit(X[10:], y[10:]).predict(X), atol=1e-6)
    heavy = AbsentRegressor(penalty=1.0).fit(
        X, y, sample_weight=np.where(np.arange(len(y)) == 0, 300.0, 1.0)
    )
    light = AbsentRegressor(penalty=1.0).fit(X, y)
    assert abs(heavy.predict(X[:1])[0] - y[0]) < abs(light.predict(X[:1])[0] - y[0])


@COMBINE
def test_without_a_usable_view_the_mean_is_said(combine):
    X, y = measured()
    model = AbsentRegressor(combine=combine).fit(X, y)
    none = X[:3].hide(np.zeros((3, 3), dtype=bool))
    np.testing.assert_allclose(model.predict(none), y.mean())
    assert model.unusable(none).all()
    unseen = X.hide(X.observed & np.array([True, True, False]))
    with pytest.warns(absentia.AbsenceWarning):
        known = AbsentRegressor(combine=combine).fit(unseen, y)
    rows = X.hide(X.observed & np.array([False, False, True]))
    np.testing.assert_allclose(known.predict(rows), y.mean())


@COMBINE
def test_a_saved_model_says_the_same(combine, tmp_path):
    X, y = measured()
    model = AbsentRegressor(combine=combine, presence=True).fit(X[:50], y[:50])
    back = absentia.load(absentia.save(model, tmp_path / "m.absentia"))
    np.testing.assert_array_equal(back.predict(X[50:]), model.predict(X[50:]))


def test_kernels_and_scikit_learn_s_cross_validation():
    X, y = measured()
    scores = cross_val_score(AbsentRegressor(), X, y, cv=3)
    assert scores.mean() > 0.4
    makes = ViewKernels()
    K, rows = makes.fit_transform(X[:50]), makes.transform(X[50:])
    model = AbsentRegressor(kernel="precomputed").fit(K, y[:50])
    np.testing.assert_allclose(
        model.predict(rows), AbsentRegressor().fit(X[:50], y[:50]).predict(X[50:]), atol=1e-4
    )
    assert clone(model).__sklearn_tags__().input_tags.pairwise
    same = cross_val_score(AbsentRegressor(kernel="precomputed"), ViewKernels().fit_transform(X), y, cv=3)
    np.testing.assert_allclose(same, scores, atol=0.1)


def test_who_has_which_view_counts_where_it_is_asked_for():
    rng = np.random.default_rng(0)
    has = rng.random(80) < 0.5
    X = Views.from_list([rng.normal(size=(80, 3)), rng.normal(size=(80, 3))])
    X = X.hide(np.column_stack([np.ones(80, bool), has]))
    y = 3.0 * has + rng.normal(size=80) / 2
    for combine in ("average", "mkl"):
        model = AbsentRegressor(combine=combine, presence=True).fit(X[:60], y[:60])
        assert model.score(X[60:], y[60:]) > 0.5
        assert model.weights_.shape == (2,)
    assert AbsentRegressor().fit(X[:60], y[:60]).score(X[60:], y[60:]) < 0.5


def test_targets_that_do_not_go_with_the_samples_are_refused():
    X, y = measured()
    with pytest.raises(ValueError, match="order"):
        AbsentRegressor().fit(X, pd.Series(y, index=X.ids[::-1]))
    with pytest.raises(ValueError, match=r"nan|finite|NaN"):
        AbsentRegressor().fit(X, np.where(np.arange(len(y)) == 3, np.nan, y))
    with pytest.raises(ValueError, match="combine"):
        AbsentRegressor(combine="sum").fit(X, y)


def test_views_may_be_left_out_and_have_kernels_of_their_own():
    X, y = measured()
    kernel = ViewKernels(per_view={"b": "linear"})
    model = AbsentRegressor(kernel=kernel).fit(X, y)
    hidden = X.hide(X.observed & np.array([True, False, True]))
    np.testing.assert_array_equal(model.predict(X.select(["noise", "a"])), model.predict(hidden))
    with pytest.raises(ValueError, match="per_view names 'c', but the views are"):
        AbsentRegressor(kernel=ViewKernels(per_view={"c": "linear"})).fit(X, y)


@pytest.mark.parametrize("combine", ["average", "fusion"])
def test_what_is_said_of_samples_left_out_is_there_for_those_that_were_learned_from(combine):
    X, y = measured()
    weight = (np.arange(len(y)) != 4) * 1.0
    hidden = X.hide(X.observed & (np.arange(len(y)) != 7)[:, None])
    with pytest.warns(absentia.AbsenceWarning):
        model = AbsentRegressor(combine=combine).fit(hidden, y, sample_weight=weight)
    assert np.flatnonzero(np.isnan(model.loo_predictions_)).tolist() == [4, 7]
    rest = np.delete(np.arange(len(y)), [4, 7])
    off = (y - model.loo_predictions_)[rest] ** 2
    seen = (y - model.predict(hidden))[rest] ** 2
    assert seen.mean() < off.mean() < y.var()
    assert not hasattr(AbsentRegressor(combine="mkl").fit(X, y), "loo_predictions_")
