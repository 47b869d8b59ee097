"""Absent blocks given what is there, against one pattern of absence after the other."""

import numpy as np
import pytest

from absentia.methods.completion import _elimination as elimination
from reference import em_by_pattern

WIDTHS = (3, 2, 0, 4, 1)


def random_precision(rng, size):
    A = rng.normal(size=(size, 2 * size))
    return A @ A.T / size


def random_pattern(rng, n, share):
    return rng.random((n, len(WIDTHS))) > share


@pytest.mark.parametrize("share", [0.1, 0.4, 0.9])
def test_means_and_sums_agree_with_inverting_for_each_sample(rng, share):
    P, observed = random_precision(rng, sum(WIDTHS)), random_pattern(rng, 40, share)
    patterns = elimination.AbsenceTree(observed, WIDTHS)
    there = np.repeat(observed, WIDTHS, axis=1)[patterns.order]
    X = rng.normal(size=there.shape) * there
    found = patterns.condition(P, (X @ P) * ~there)
    means, covariance, logdet = np.zeros_like(X), np.zeros_like(P), 0.0
    for t, o in enumerate(there):
        h = np.flatnonzero(~o)
        C = np.linalg.inv(P[np.ix_(h, h)])
        means[t, h] = -C @ P[np.ix_(h, np.flatnonzero(o))] @ X[t, o]
        covariance[np.ix_(h, h)] += C
        logdet += np.linalg.slogdet(P[np.ix_(h, h)])[1]
    np.testing.assert_allclose(found.means, means, rtol=1e-9, atol=1e-10)
    np.testing.assert_allclose(found.covariance, covariance, rtol=1e-9, atol=1e-10)
    np.testing.assert_allclose(found.logdet, logdet, rtol=1e-10)


def test_samples_that_lack_the_same_views_go_one_way(rng):
    observed = np.ones((30, len(WIDTHS)), bool)
    observed[10:, 3] = observed[20:, 0] = False
    root = elimination.AbsenceTree(observed, WIDTHS).root
    assert root.views == (3, 0)  # wide views first, those that nobody lacks left out
    assert (root.n_lacking, root.having) == (20, None)
    assert (root.lacking.node.views, root.lacking.node.n_lacking) == ((0,), 10)


def test_nothing_is_absent(rng):
    patterns = elimination.AbsenceTree(np.ones((5, 5), bool), WIDTHS)
    found = patterns.condition(np.eye(10), np.zeros((5, 10)))
    assert patterns.root is None
    assert not found.means.any()
    assert not found.covariance.any()
    assert found.logdet == 0


def test_views_without_variables_are_no_views():
    patterns = elimination.AbsenceTree(np.zeros((4, 2), bool), (0, 0))
    assert patterns.root is None
    np.testing.assert_array_equal(patterns.order, np.arange(4))


@pytest.mark.parametrize(
    "share", [0.1, 0.9]
)  # by the precision of what is absent, or the covariance of the rest
def test_expected_scores_agree_with_regressing_on_what_is_there(rng, share):
    P, observed = random_precision(rng, sum(WIDTHS)), random_pattern(rng, 30, share)
    Sigma, mu = np.linalg.inv(P), rng.normal(size=len(P))
    there = np.repeat(observed, WIDTHS, axis=1)
    X = rng.normal(size=there.shape)
    slow, spread = em_by_pattern.expected(X, em_by_pattern.patterns(there), mu, Sigma)
    Y = X - mu
    found = elimination.fill_with_means(Sigma, P, Y, observed, WIDTHS)
    np.testing.assert_allclose(Y + mu, slow, rtol=1e-9, atol=1e-10)
    np.testing.assert_allclose(found, spread, rtol=1e-9, atol=1e-10)
