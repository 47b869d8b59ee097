"""What all multi-label classifiers share: unknown labels, forms of Y, scores, mistakes."""

import pickle

import numpy as np
import pytest
from sklearn.base import clone

from absentia import PMAClassifier, metrics
from matrices import labelled
from matrix_market import LABELLERS, REGRESSORS, drawn, fitted

every_labeller = pytest.mark.parametrize("name", list(LABELLERS))


@every_labeller
def test_unknown_labels_of_old_and_new_samples_are_predicted(name):
    X, Y, gaps = labelled()
    model = clone(LABELLERS[name]).fit(X[:110], gaps[:110])
    S, P, found = model.decision_function(X[110:]), model.predict_proba(X[110:]), model.predict(X[110:])
    assert S.shape == P.shape == (40, 4)
    assert ((P >= 0) & (P <= 1)).all()
    np.testing.assert_array_equal(found, (S > 0).astype(float))
    assert metrics.hamming_error(Y[110:], found - 0.5) < 0.32
    assert np.mean(np.argsort(S[:, 0]) == np.argsort(P[:, 0])) > 0.5
    np.testing.assert_allclose(
        model.score(X[110:], gaps[110:]), 1 - metrics.hamming_error(gaps[110:], found - 0.5)
    )
    same = pickle.loads(pickle.dumps(model))
    np.testing.assert_array_equal(same.decision_function(X[110:]), S)


@every_labeller
def test_labels_may_be_plus_minus_one_a_vector_or_discarded(name):
    X, Y, gaps = labelled(100)
    zero_one = clone(LABELLERS[name]).fit(X, gaps)
    signs = clone(LABELLERS[name]).fit(X, 2 * gaps - 1)
    np.testing.assert_array_equal(2 * zero_one.predict(X) - 1, signs.predict(X))
    vector = clone(LABELLERS[name]).fit(X, gaps[:, 0])
    assert vector.predict(X).shape == (100,)
    assert vector.predict_proba(X).shape == (100, 2)
    whole = ~np.isnan(gaps).any(axis=1)
    discard = clone(LABELLERS[name]).set_params(discard=True).fit(X, gaps)
    by_hand = clone(LABELLERS[name]).fit(X[whole], Y[whole])
    np.testing.assert_allclose(discard.decision_function(X), by_hand.decision_function(X))


def test_mistakes_with_labels_are_explained():
    X, Y, _ = labelled(20)
    model = PMAClassifier(gamma=0.3)
    for data, target, parameters, message in [
        (X, Y + np.arange(4), {}, "pass 0 and 1"),
        (X, Y[:5], {}, "one row for each sample"),
        (X, np.where(Y > 0, np.inf, 0), {}, "contains infinity.*sample 0, column 1"),
        (X, Y, {"kernel": "poly"}, "'rbf' or 'precomputed'"),
        (X, Y, {"kernel": "precomputed"}, "square kernel"),
        (X, Y, {"gamma": -1.0}, "gamma must be"),
        (
            X,
            np.where(np.eye(20, 4, dtype=bool) | (np.arange(20) > 3)[:, None], np.nan, Y),
            {"discard": True},
            "leaves no sample",
        ),
    ]:
        with pytest.raises(ValueError, match=message):
            clone(model).set_params(**parameters).fit(data, target)
    with pytest.raises(ValueError, match="X has 2 features"):
        model.fit(X, Y).predict(X[:, :2])


def test_a_score_that_is_zero_to_rounding_has_the_first_class():
    """Samples far from all others of a balanced label: only rounding gives their scores a sign."""
    X, Y = np.linspace(0, 1, 10)[:, None], np.repeat([[0.0], [1.0]], 5, axis=0)
    model = PMAClassifier(gamma=1.0).fit(X, Y)
    new = np.array([[30.0], [-30.0], [6.2], [-5.2]])
    assert (np.abs(model.decision_function(new)) < 1e-9).all()
    np.testing.assert_array_equal(model.predict(new), np.zeros((4, 1)))


@pytest.mark.parametrize("name", ["regressor", "mlknn"])
def test_scores_are_of_what_is_known(name):
    X, _, _, gaps, labels = drawn()
    Y, model = (gaps if name in REGRESSORS else labels), fitted(name)
    part = Y.copy()
    part[:, 2:] = np.nan
    assert np.isfinite(model.score(X, part))
    with pytest.raises(ValueError, match="no known entry"):
        model.score(X, np.full(Y.shape, np.nan))
