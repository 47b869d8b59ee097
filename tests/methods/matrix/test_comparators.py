"""What PMA is compared with: other covariances of labels, machines, neighbours, factorisation."""

import numpy as np
import pytest
from sklearn.linear_model import LogisticRegression
from sklearn.svm import SVC

from absentia import IBLR, MLKNN, PMF, PartialLabelSVM
from absentia.methods.matrix import _comparators as module
from absentia.methods.matrix._comparators import _find_neighbors
from helpers.matrices import labelled
from helpers.matrix_registry import LABELLERS


def test_labels_that_share_their_noise_help_one_another():
    X, Y, gaps = labelled(300, absent=0.3)
    hidden = np.isnan(gaps)
    wrong = {name: np.mean((LABELLERS[name].fit(X, gaps).labels_ != Y)[hidden]) for name in ("pma", "gp")}
    assert wrong["pma"] < wrong["gp"] - 0.02


def test_each_has_the_covariances_that_its_name_says():
    X, _, gaps = labelled(60)
    lmc, gp = (LABELLERS[name].fit(X, gaps).model_ for name in ("lmc", "gp"))
    np.testing.assert_allclose(lmc.N, lmc.N[0, 0] * np.eye(4), atol=1e-12)
    assert np.abs(lmc.C - np.diag(np.diagonal(lmc.C))).max() > 0.01
    for A in (gp.C, gp.N):
        np.testing.assert_array_equal(A, np.diag(np.diagonal(A)))
        assert np.ptp(np.diagonal(A)) > 0.01


@pytest.mark.parametrize("kernel", ["rbf", "linear"])
def test_each_label_has_the_machine_of_the_samples_that_have_it(kernel):
    X, _, gaps = labelled(60)
    model = PartialLabelSVM(2.0, kernel=kernel, gamma=0.3).fit(X[:50], gaps[:50])
    for j in range(4):
        known = np.flatnonzero(~np.isnan(gaps[:50, j]))
        by_hand = SVC(C=2.0, kernel=kernel, gamma=0.3, tol=1e-6).fit(X[known], gaps[known, j])
        np.testing.assert_allclose(
            model.decision_function(X[50:])[:, j], by_hand.decision_function(X[50:]), atol=1e-4
        )


def test_a_label_that_is_always_the_same_is_predicted_as_that():
    X, Y, _ = labelled(30)
    Y[:, 1], Y[:, 2] = 1.0, 0.0
    found = PartialLabelSVM().fit(X, Y).predict(X)
    assert (found[:, 1] == 1).all()
    assert (found[:, 2] == 0).all()


def test_nearest_rows_are_those_of_sorted_distances(rng, monkeypatch):
    A, B = rng.standard_normal((7, 3)), rng.standard_normal((20, 3))
    D = ((A[:, None] - B) ** 2).sum(axis=2)
    expected = np.sort(np.argsort(D, axis=1)[:, :4], axis=1)
    np.testing.assert_array_equal(np.sort(_find_neighbors(A, B, 4), axis=1), expected)
    monkeypatch.setattr(module, "_BLOCK_NUMBERS", 40)  # two rows at a time
    np.testing.assert_array_equal(np.sort(_find_neighbors(A, B, 4), axis=1), expected)
    assert not (_find_neighbors(B, B, 4, exclude_self=True) == np.arange(20)[:, None]).any()


def test_of_rows_equally_near_the_first_count():
    B = np.array([[1.0], [-1.0], [1.0 + 1e-12], [5.0]])
    np.testing.assert_array_equal(_find_neighbors(np.zeros((1, 1)), B, 2), [[0, 1]])


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


def test_factorisation_recovers_a_low_rank_matrix():
    rng = np.random.default_rng(0)
    X = rng.standard_normal((60, 2)) @ rng.standard_normal((2, 8)) + 5
    gaps = np.where(rng.random(X.shape) < 0.2, np.nan, X)
    model = PMF(2, random_state=0).fit(gaps)
    gone = np.isnan(gaps)
    assert np.mean((model.completed_ - X)[gone] ** 2) < 0.1 * np.var(X)
    assert (np.diff(model.objective_) <= 1e-9).all()
    np.testing.assert_allclose(model.transform(gaps)[gone], model.completed_[gone], atol=0.05)
