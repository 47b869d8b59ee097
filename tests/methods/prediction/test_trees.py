"""Forests and boosted trees as arrays: scikit-learn's own predictions, and files that lead nowhere else."""

import copy
import pickle

import numpy as np
import pytest
from sklearn.ensemble import (
    HistGradientBoostingClassifier,
    HistGradientBoostingRegressor,
    RandomForestClassifier,
    RandomForestRegressor,
)

from absentia.core import deserialize, serialize
from absentia.methods.prediction import _trees
from absentia.methods.prediction._trees import Trees

MODELS = {
    "forest": (RandomForestClassifier, RandomForestRegressor, {"n_estimators": 20, "random_state": 0}),
    "boosting": (HistGradientBoostingClassifier, HistGradientBoostingRegressor, {"max_iter": 15}),
}


def table(n=150, seed=0):
    rng = np.random.default_rng(seed)
    X = rng.normal(size=(n, 8))
    X[:, 4] = np.round(X[:, 4])  # ties
    target = X[:, 0] + X[:, 1] * X[:, 4] + 0.3 * rng.normal(size=n)
    X[rng.random(X.shape) < 0.25] = np.nan
    X[:, 7] = rng.normal(size=n)  # nothing missing, in training
    return X, target


FILL = np.linspace(-0.5, 0.5, 8)


def filled(X):
    """As forests get it: scikit-learn's own trees of missing values differ between its versions."""
    return np.where(np.isnan(X), FILL, X)


def fitted(kind, task):
    X, target = table()
    X = filled(X) if kind == "forest" else X
    classifier, regressor, options = MODELS[kind]
    if task == "regression":
        return regressor(**options).fit(X, target)
    y = target > 0 if task == "binary" else np.digitize(target, [-1, 0, 1])
    return classifier(**options).fit(X, y)


def trees_of(model):
    return Trees.of_forest(model, FILL) if hasattr(model, "estimators_") else Trees.of_boosting(model)[0]


@pytest.mark.parametrize("kind", MODELS)
@pytest.mark.parametrize("task", ["binary", "several", "regression"])
def test_predictions_are_those_of_scikit_learn(kind, task):
    model = fitted(kind, task)
    trees = trees_of(model)
    X, _ = table(200, seed=1)
    given = filled(X) if kind == "forest" else X
    wanted = model.predict(given)[:, None] if task == "regression" else model.predict_proba(given)
    np.testing.assert_allclose(trees.predict(X), wanted, rtol=0, atol=1e-12)
    again = deserialize(*(lambda p: (p.tree, p.arrays))(serialize(trees)))
    np.testing.assert_array_equal(again.predict(X), trees.predict(X))
    np.testing.assert_array_equal(pickle.loads(pickle.dumps(trees)).predict(X), trees.predict(X))


@pytest.mark.parametrize("kind", MODELS)
def test_a_row_gets_the_same_whoever_stands_beside_it(kind, monkeypatch):
    trees, (X, _) = trees_of(fitted(kind, "several")), table(50, seed=2)
    X[:, 7] = np.nan  # was there for all in training
    whole = trees.predict(X)
    np.testing.assert_array_equal(np.vstack([trees.predict(row[None]) for row in X]), whole)
    monkeypatch.setattr(_trees, "_MAX_PAIRS", 1)
    np.testing.assert_array_equal(trees.predict(X), whole)
    assert trees.predict(X[:0]).shape == (0, 4)


def test_features_are_compared_as_the_forest_has_seen_them():
    """A value just above a threshold is below it as a number of four bytes; a huge one is only large."""
    X = np.array([[0.0], [1.0]])
    model = RandomForestClassifier(1, bootstrap=False, random_state=0).fit(X, [0, 1])
    rows = np.array([[0.5 + 1e-9], [0.5 + 1e-6]])
    trees = Trees.of_forest(model, np.zeros(1))
    np.testing.assert_array_equal(trees.predict(rows), model.predict_proba(rows))
    assert trees.predict(np.array([[1e300], [-1e300]])).tolist() == [[0, 1], [1, 0]]


def test_gains_are_shares_of_the_features():
    trees, gain = Trees.of_boosting(fitted("boosting", "binary"))
    shares = trees.feature_gains(gain)
    assert shares.shape == (8,)
    np.testing.assert_allclose(shares.sum(), 1)
    assert shares.argmax() == 0


def set_at(name, index, value):
    def change(state):
        state[name] = state[name].copy()
        state[name][index] = value

    return change


FAULTS = {
    "a circle": set_at("left", 0, 0),
    "a child outside": set_at("right", 0, 10**6),
    "a child before all": set_at("right", 0, -5),
    "half a leaf": set_at("left", 0, -1),
    "a feature outside": set_at("feature", 0, 8),
    "a negative feature": set_at("feature", 0, -1),
    "a root outside": set_at("roots", 0, -1),
    "an output outside": set_at("output", 0, 3),
    "no threshold": set_at("threshold", 0, np.nan),
    "no value": set_at("value", 0, np.inf),
    "too few": lambda state: state.update(left=state["left"][:-1]),
    "fractions": lambda state: state.update(left=state["left"].astype(float)),
    "an unknown link": lambda state: state.update(link="exec"),
    "no width": lambda state: state.update(width="8"),
    "nothing": lambda state: state.pop("roots"),
    "a list": lambda state: state.update(value=[1.0]),
}


@pytest.mark.parametrize("fault", FAULTS)
def test_what_leads_elsewhere_is_refused(fault):
    state = serialize(trees_of(fitted("forest", "binary")))
    read = copy.deepcopy(state)
    named = {key: read.arrays[one["number"]] for key, one in read.tree["state"].items() if "is" in str(one)}
    plain = {key: one for key, one in read.tree["state"].items() if key not in named}
    changed = {**plain, **named}
    Trees.__new__(Trees).__setstate__(dict(changed))
    FAULTS[fault](changed)
    with pytest.raises(ValueError, match="its trees"):
        Trees.__new__(Trees).__setstate__(changed)


def test_another_number_of_features_is_refused():
    with pytest.raises(ValueError, match="7 features came, the trees were learned from 8"):
        trees_of(fitted("forest", "binary")).predict(np.zeros((2, 7)))
