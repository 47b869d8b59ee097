"""Completed kernels against their dense twins: an observed block, and the rest low rank plus diagonal."""

import copy

import numpy as np
import pytest

from absentia.core import _projections
from absentia.core._completed import Completed, Side
from absentia.core._operators import Dense, Gram, Operator

N, RANK = 11, 3
H = np.array([2, 3, 7])
V = np.setdiff1d(np.arange(N), H)


def parts(seed=0):
    rng = np.random.default_rng(seed)
    left, G, W = (rng.normal(size=(n, RANK)) for n in (len(V), len(V), len(H)))
    E = rng.normal(size=(RANK, RANK))
    return left, G, W, E @ E.T, rng.uniform(0.5, 1, len(H))


def square(kind=Gram):
    left, G, W, E, d = parts()
    Q = Gram(left) if kind is Gram else Dense(left @ left.T)
    return Completed.square(Q, V, H, G, W, E, d)


def twin():
    """The four blocks by their formulas."""
    left, G, W, E, d = parts()
    dense = np.zeros((N, N))
    dense[np.ix_(V, V)] = left @ left.T
    dense[np.ix_(V, H)] = G @ W.T
    dense[np.ix_(H, V)] = W @ G.T
    dense[np.ix_(H, H)] = W @ E @ W.T + np.diag(d)
    return dense


ROWS, COLS = np.array([7, 0, 10, 2, 2]), np.array([3, 7, 1, 2, 0, 5])


@pytest.mark.parametrize("kind", [Gram, Dense])
def test_products_blocks_and_diagonals_match_the_dense_twin(kind):
    op, dense, X = square(kind), twin(), np.random.default_rng(1).normal(size=(N, 2))
    assert isinstance(op, Operator)
    assert op.shape == (N, N)
    np.testing.assert_allclose(op.to_dense(), dense, atol=1e-12)
    np.testing.assert_allclose(op @ X, dense @ X, atol=1e-12)
    np.testing.assert_allclose(op.diagonal(), dense.diagonal(), atol=1e-12)
    np.testing.assert_allclose(op.block(ROWS, COLS), dense[np.ix_(ROWS, COLS)], atol=1e-12)


def test_rows_against_other_columns_keep_the_own_values_of_the_same_samples():
    part, dense = square().select(ROWS, COLS), twin()[np.ix_(ROWS, COLS)]
    X = np.random.default_rng(1).normal(size=(len(COLS), 2))
    np.testing.assert_allclose(part.to_dense(), dense, atol=1e-12)
    np.testing.assert_allclose(part @ X, dense @ X, atol=1e-12)
    np.testing.assert_allclose(part.diagonal(), np.diagonal(dense), atol=1e-12)
    again = part.select(np.array([3, 0]), np.array([5, 1, 3]))
    np.testing.assert_allclose(again.to_dense(), dense[np.ix_([3, 0], [5, 1, 3])], atol=1e-12)


def test_the_diagonal_of_a_part_is_found_some_rows_at_a_time(monkeypatch):
    monkeypatch.setattr(_projections, "CHUNK", 2)
    part = square().select(ROWS, COLS)
    np.testing.assert_allclose(part.diagonal(), np.diagonal(part.to_dense()), atol=1e-12)
    assert square().select(ROWS[:0], COLS).diagonal().shape == (0,)


def test_a_square_kernel_is_symmetric_to_the_bit_and_stays_so():
    index = np.array([9, 2, 3, 0])
    for op in (square(), square().select(index, index)):
        dense = op.to_dense()
        np.testing.assert_array_equal(dense, dense.T)
        assert op.rows is op.columns


def test_single_precision_changes_the_observed_block_alone():
    op = square().astype(np.float32)
    assert op.dtype == np.float32
    assert op.astype(np.float32) is op
    np.testing.assert_allclose(op.to_dense(), twin(), atol=1e-5)
    np.testing.assert_array_equal(op.to_dense()[np.ix_(V, H)], square().to_dense()[np.ix_(V, H)])


def test_copies_are_the_same_kernel():
    np.testing.assert_array_equal(copy.deepcopy(square()).to_dense(), square().to_dense())


def test_a_side_is_taken_in_any_order():
    _, G, W, *_ = parts()
    side, kept = Side(V, H, G, W).take(ROWS)
    assert side.size == len(ROWS)
    np.testing.assert_array_equal(side.known, [1, 2])
    np.testing.assert_array_equal(side.filled, [0, 3, 4])
    np.testing.assert_array_equal(V[kept], ROWS[[1, 2]])
    np.testing.assert_array_equal(side.W, W[[2, 0, 0]])
