"""Averaging regressors of different kinds."""

import numpy as np
import pytest

import absentia
from absentia import AbsentRegressor, AutoRegressor, EarlyFusionRegressor, ViewKernels, Views
from absentia.methods.prediction import LIBRARY

TWO = {"zero": AbsentRegressor(None), "linear": EarlyFusionRegressor("ridge")}


def measured(n=80, seed=0):
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
    return Views.from_dict(tables, observed=observed), 40 + 10 * state[:, 0] + 2 * rng.normal(size=n)


def test_predictions_are_the_mean_of_the_members_weighted_by_what_they_leave_unexplained():
    X, y = measured()
    model = AutoRegressor(TWO).fit(X[:60], y[:60])
    weights = model.weights_by_candidate_
    assert sum(weights.values()) == pytest.approx(1)
    wanted = sum(w * model.estimators_[name].predict(X[60:]) for name, w in weights.items())
    np.testing.assert_allclose(model.predict(X[60:]), wanted)
    left = {name: 1 - row["R2"] for name, row in model.candidates_.items()}
    ratio = (left["zero"] / left["linear"]) ** -10
    assert weights["zero"] / weights["linear"] == pytest.approx(ratio)
    assert model.sentence_.startswith("the average of ")


def test_what_is_said_of_samples_left_out_is_the_mean_of_the_members():
    X, y = measured()
    hidden = X.hide(X.observed & (np.arange(len(y)) != 5)[:, None])
    with pytest.warns(absentia.AbsenceWarning, match="without any view"):
        model = AutoRegressor(TWO).fit(hidden, y)
    assert np.flatnonzero(np.isnan(model.loo_predictions_)).tolist() == [5]
    rest = np.delete(np.arange(len(y)), 5)
    alone = {name: member.fit(hidden[rest], y[rest]) for name, member in TWO.items()}
    for name, member in alone.items():
        own = 1 - np.mean((y[rest] - member.loo_predictions_) ** 2) / y[rest].var()
        assert model.candidates_[name]["R2"] == pytest.approx(own, abs=1e-6)
    wanted = sum(w * alone[name].loo_predictions_ for name, w in model.weights_by_candidate_.items())
    np.testing.assert_allclose(model.loo_predictions_[rest], wanted, rtol=1e-6)


def test_who_is_clearly_worse_counts_next_to_nothing_and_equals_count_alike():
    rng = np.random.default_rng(0)
    x = rng.normal(size=(100, 2))
    X = Views.from_list([x])
    curved = AutoRegressor({"curved": AbsentRegressor(None), "line": EarlyFusionRegressor("ridge")})
    assert curved.fit(X, (x**2).sum(axis=1)).weights_by_candidate_["curved"] > 0.99
    same = AutoRegressor({"one": AbsentRegressor(None), "other": AbsentRegressor(None)}).fit(X, x[:, 0])
    assert same.weights_by_candidate_ == {"one": 0.5, "other": 0.5}
    constant = AutoRegressor(TWO).fit(X, np.full(100, 3.0))
    assert constant.weights_by_candidate_ == {"zero": 0.5, "linear": 0.5}
    np.testing.assert_allclose(constant.predict(X), 3.0)


def test_members_that_do_not_tell_are_held_out_in_folds():
    X, y = measured()
    trees = EarlyFusionRegressor("boosting", n_trees=50)
    model = AutoRegressor({"trees": trees}).fit(X, y)
    seen = trees.fit(X, y).score(X, y)
    assert 0 < model.candidates_["trees"]["R2"] < seen - 0.1
    assert model.sentence_ == "trees alone"


def test_weights_of_samples_count_in_the_weights_of_members():
    X, y = measured()
    weight = np.where(np.arange(len(y)) < 20, 0.0, 1.0)
    some = AutoRegressor(TWO).fit(X, y + 100 * (weight == 0), sample_weight=weight)
    other = AutoRegressor(TWO).fit(X[20:], y[20:])
    assert some.weights_by_candidate_ == pytest.approx(other.weights_by_candidate_)
    np.testing.assert_allclose(some.predict(X), other.predict(X), rtol=1e-6)


def test_the_default_members_are_fitted_saved_and_read(tmp_path):
    X, y = measured()
    model = AutoRegressor().fit(X[:60], y[:60])
    assert tuple(model.candidates_) == LIBRARY["regressor"]["features"]
    assert model.score(X[60:], y[60:]) > 0.5
    back = absentia.load(absentia.save(model, tmp_path / "m.absentia"))
    np.testing.assert_array_equal(back.predict(X[60:]), model.predict(X[60:]))
    assert back.candidates_ == model.candidates_
    none = X[:2].hide(np.zeros((2, 3), dtype=bool))
    np.testing.assert_allclose(model.predict(none), y[:60].mean())


def test_kernels_have_members_of_their_own_and_names_are_checked():
    X, y = measured()
    makes = ViewKernels()
    model = AutoRegressor(kernel="precomputed").fit(makes.fit_transform(X[:60]), y[:60])
    assert tuple(model.candidates_) == LIBRARY["regressor"]["kernels"]
    assert model.score(makes.transform(X[60:]), y[60:]) > 0.4
    with pytest.raises(ValueError, match="no method 'rigde'; did you mean ridge"):
        AutoRegressor(["rigde"]).fit(X, y)
    with pytest.raises(
        ValueError, match="AutoRegressor: candidates must be 'auto', 'no-rows', names or a dict"
    ):
        AutoRegressor("best").fit(X, y)
