"""Draws from matrix addition have the covariance of the model."""

import numpy as np
import pytest

from absentia import papers


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
def test_what_cannot_be_is_refused(given, said):
    with pytest.raises(ValueError, match=said):
        papers.make_matrix_addition(5, 4, **given)
