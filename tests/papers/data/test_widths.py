"""Many widths of one table: where they lie, what they have seen, and what the kernels are."""

import numpy as np
import pytest
from scipy.spatial.distance import pdist

from absentia import missingness, papers


@pytest.fixture
def table(rng):
    return rng.standard_normal((40, 5)) * [1, 10, 0.1, 1, 1] + 3


def gammas(kernels):
    return np.array([one["gamma"] for one in kernels.per_view.values()])


def mean_distance(X):
    return pdist((X - X.mean(axis=0)) / X.std(axis=0)).mean()


def test_widths_are_equal_ratios_of_the_mean_distance(table):
    views, kernels = papers.make_width_views(table)
    assert views.shape == (40, 20)
    sigma = np.sqrt(1 / (2 * gammas(kernels)))
    np.testing.assert_allclose(sigma, mean_distance(table) * 2.0 ** np.linspace(-7, 7, 20), rtol=1e-10)


def test_or_equal_steps_as_printed(table):
    _, kernels = papers.make_width_views(table, 5, span=3, spacing="linear")
    sigma = np.sqrt(1 / (2 * gammas(kernels)))
    np.testing.assert_allclose(sigma / mean_distance(table), np.linspace(1 / 8, 8, 5), rtol=1e-10)


def test_only_training_samples_set_the_widths(table):
    train = np.arange(25)
    changed = table.copy()
    changed[25:] *= 100
    one, two = (gammas(papers.make_width_views(X, train=train)[1]) for X in (table, changed))
    np.testing.assert_array_equal(one, two)
    assert not np.allclose(one, gammas(papers.make_width_views(changed)[1]))
    mask = np.zeros(40, bool)
    mask[train] = True
    np.testing.assert_array_equal(one, gammas(papers.make_width_views(table, train=mask)[1]))


def test_kernels_are_centred_with_a_unit_diagonal_over_who_has_the_view(table):
    views, kernels = papers.make_width_views(table, 3)
    keep = missingness.fixed_per_sample(views, 1, random_state=0)
    K = kernels.fit_transform(views.hide(keep))
    np.testing.assert_array_equal(K.observed, keep)
    X = table[keep[:, 1]]
    Z = (X - X.mean(axis=0)) / X.std(axis=0)
    raw = np.exp(-gammas(kernels)[1] * ((Z[:, None] - Z) ** 2).sum(axis=2))
    H = np.eye(len(X)) - 1 / len(X)
    centred = H @ raw @ H
    wanted = centred / np.sqrt(np.outer(centred.diagonal(), centred.diagonal()))
    np.testing.assert_allclose(K.block("width01"), wanted, atol=1e-10)


def test_one_width_is_the_mean_distance(table):
    _, kernels = papers.make_width_views(table, 1)
    np.testing.assert_allclose(gammas(kernels), 1 / (2 * mean_distance(table) ** 2), rtol=1e-10)


@pytest.mark.parametrize(
    ("X", "given", "said"),
    [
        (np.ones((4, 2)), {}, "all alike"),
        (np.eye(4), {"train": [0]}, "all alike"),
        ([[np.nan, 1.0]], {}, "a complete table"),
        (np.eye(4), {"spacing": "even"}, "'log' or 'linear'"),
        (np.eye(4), {"n_widths": 0}, "a view at least"),
    ],
)
def test_what_cannot_be_is_refused(X, given, said):
    with pytest.raises(ValueError, match=said):
        papers.make_width_views(X, **given)
