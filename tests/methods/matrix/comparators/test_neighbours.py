"""Labels by those of the nearest samples: neighbours, counts, one-sided labels."""

import numpy as np
from sklearn.linear_model import LogisticRegression

from absentia import IBLR, MLKNN
from absentia.methods.matrix.comparators import _neighbours as module
from absentia.methods.matrix.comparators._neighbours import nearest
from matrices import labelled


def test_nearest_rows_are_those_of_sorted_distances(rng, monkeypatch):
    A, B = rng.standard_normal((7, 3)), rng.standard_normal((20, 3))
    D = ((A[:, None] - B) ** 2).sum(axis=2)
    expected = np.sort(np.argsort(D, axis=1)[:, :4], axis=1)
    np.testing.assert_array_equal(np.sort(nearest(A, B, 4), axis=1), expected)
    monkeypatch.setattr(module, "BLOCK", 40)  # two rows at a time
    np.testing.assert_array_equal(np.sort(nearest(A, B, 4), axis=1), expected)
    assert not (nearest(B, B, 4, others=True) == np.arange(20)[:, None]).any()


def test_of_rows_equally_near_the_first_count():
    B = np.array([[1.0], [-1.0], [1.0 + 1e-12], [5.0]])
    np.testing.assert_array_equal(nearest(np.zeros((1, 1)), B, 2), [[0, 1]])


def test_probabilities_follow_from_counts_by_bayes_rule():
    X, Y, _ = labelled(60)
    model = MLKNN(5, smooth=2.0).fit(X, Y)
    near = np.argsort(((X[:, None] - X) ** 2).sum(axis=2) + np.diag(np.full(60, np.inf)), axis=1)[:, :5]
    counts = Y[near].sum(axis=1).astype(int)
    new = X[:1] + 0.01
    k = Y[np.argsort(((new - X) ** 2).sum(axis=1))[:5]].sum(axis=0).astype(int)
    for j in range(4):
        prior = (2.0 + Y[:, j].sum()) / (4.0 + 60)
        like = [
            (2.0 + (counts[Y[:, j] == side, j] == k[j]).sum()) / (2.0 * 6 + (Y[:, j] == side).sum())
            for side in (0, 1)
        ]
        expected = prior * like[1] / (prior * like[1] + (1 - prior) * like[0])
        np.testing.assert_allclose(model.predict_proba(new)[0, j], expected, rtol=1e-12)


def test_regressions_are_on_the_shares_of_neighbours_that_have_each_label():
    X, Y, _ = labelled(60)
    Y[:, 2] = 1.0  # always there
    model = IBLR(5, C=3.0).fit(X, Y)
    near = np.argsort(((X[:, None] - X) ** 2).sum(axis=2) + np.diag(np.full(60, np.inf)), axis=1)[:, :5]
    by_hand = LogisticRegression(C=3.0, tol=1e-10, max_iter=2000).fit(Y[near].mean(axis=1), Y[:, 0])
    shares = Y[np.argsort(((X[:1] + 0.01 - X) ** 2).sum(axis=1))[:5]].mean(axis=0, keepdims=True)
    found = model.predict_proba(X[:1] + 0.01)[0]
    np.testing.assert_allclose(found[0], by_hand.predict_proba(shares)[0, 1], rtol=1e-4)
    assert found[2] == 1.0
