"""Data made up as the papers say: draws have the covariance of the model, widths and regimes are as told."""

import numpy as np
import pytest
from scipy.spatial.distance import pdist

from absentia import missingness, papers


def test_the_matrix_is_the_sum_and_so_much_is_missing():
    data = papers.make_matrix_addition(50, 50, missing=0.3, random_state=3)
    np.testing.assert_array_equal(data.full, data.F + data.G)
    hidden = np.isnan(data.X)
    assert hidden.sum() == 750
    np.testing.assert_array_equal(data.X[~hidden], data.full[~hidden])
    assert not np.isnan(papers.make_matrix_addition(missing=0.0).X).any()


def test_columns_of_one_part_and_rows_of_the_other_have_the_covariances():
    K1 = np.array([[2.0, 0.8, 0.0], [0.8, 1.0, -0.3], [0.0, -0.3, 0.5]])
    K2 = np.array([[1.0, -0.6], [-0.6, 3.0]])
    rng = np.random.default_rng(0)
    F, G = np.zeros((3, 3)), np.zeros((2, 2))
    full = np.zeros((6, 6))
    n = 4000
    for _ in range(n):
        data = papers.make_matrix_addition(3, 2, row_kernel=K1, col_kernel=K2, random_state=rng)
        F += data.F @ data.F.T / (2 * n)
        G += data.G.T @ data.G / (3 * n)
        x = data.full.ravel(order="F")
        full += np.outer(x, x) / n
    np.testing.assert_allclose(F, K1, atol=5 * 2 / np.sqrt(n))
    np.testing.assert_allclose(G, K2, atol=5 * 3 / np.sqrt(n))
    wanted = np.kron(np.eye(2), K1) + np.kron(K2, np.eye(3))
    np.testing.assert_allclose(full, wanted, atol=5 * 5 / np.sqrt(n))


def test_the_default_kernels_are_those_of_the_docstring():
    data = papers.make_matrix_addition(30, 12, random_state=1)
    K1, K2 = data.row_kernel, data.col_kernel
    np.testing.assert_allclose(K1.diagonal(), 1)
    # minus twice the logarithm are squared distances in the plane: once centred, of rank two
    H = np.eye(30) - 1 / 30
    values = np.linalg.eigvalsh(H @ np.log(K1) @ H)
    assert values[-3] < 1e-10 * values[-1]
    assert values[-2] > 1e-3 * values[-1]
    np.testing.assert_allclose(np.linalg.eigvalsh(K2)[:9], 0.1, rtol=1e-8)
    assert np.linalg.eigvalsh(K2)[9] > 0.2


def test_a_singular_kernel_will_do():
    data = papers.make_matrix_addition(4, 3, row_kernel=np.ones((4, 4)))
    np.testing.assert_allclose(data.F, np.tile(data.F[0], (4, 1)), rtol=1e-6)


@pytest.mark.parametrize(
    ("given", "said"),
    [
        ({"row_kernel": np.eye(3)}, r"row_kernel has shape \(3, 3\); a symmetric \(5, 5\)"),
        ({"col_kernel": -np.eye(4)}, "col_kernel is not positive semidefinite"),
        ({"col_kernel": np.triu(np.ones((4, 4)))}, "a symmetric"),
        ({"missing": 1.0}, "from 0 to below 1"),
    ],
)
def test_matrices_that_cannot_be_are_refused(given, said):
    with pytest.raises(ValueError, match=said):
        papers.make_matrix_addition(5, 4, **given)


# -------------------------------------------------------------------------------- widths


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
def test_widths_that_cannot_be_are_refused(X, given, said):
    with pytest.raises(ValueError, match=said):
        papers.make_width_views(X, **given)
