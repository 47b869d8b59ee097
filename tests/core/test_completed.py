"""Completed kernels against their dense twins: an observed block, and the rest low rank plus diagonal."""

import copy

import numpy as np
import pytest

from absentia import CVKT, MKMC, KernelViews, missingness
from absentia.core import (
    Completed,
    CompletedSide,
    Dense,
    Gram,
    LowRankPlusDiagonal,
    Operator,
    Scaled,
    _operators,
    center_operator,
    get_factors,
    has_factors,
    measure_spread,
    thin_operator,
)

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
    monkeypatch.setattr(_operators, "_CHUNK", 2)
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
    side, kept = CompletedSide(V, H, G, W).take(ROWS)
    assert side.size == len(ROWS)
    np.testing.assert_array_equal(side.known, [1, 2])
    np.testing.assert_array_equal(side.filled, [0, 3, 4])
    np.testing.assert_array_equal(V[kept], ROWS[[1, 2]])
    np.testing.assert_array_equal(side.W, W[[2, 0, 0]])


def dense(operator):
    Phi, own = get_factors(operator)
    return Phi @ Phi.T + np.diag(np.zeros(len(Phi)) if own is None else own)


@pytest.fixture
def Phi(rng):
    return rng.standard_normal((12, 3))


def test_grams_scaled_ones_and_diagonals(Phi):
    for operator in [Gram(Phi), Scaled(Gram(Phi), 3.0), LowRankPlusDiagonal(Phi, np.arange(1.0, 13.0))]:
        assert has_factors(operator)
        np.testing.assert_allclose(dense(operator), operator.to_dense(), atol=1e-12)
    assert get_factors(Gram(Phi)).own is None
    assert np.shares_memory(get_factors(Gram(Phi)).Phi, Gram(Phi).left)


def test_what_has_none(Phi):
    for operator in [Dense(Phi @ Phi.T), Gram(Phi, Phi.copy()), Scaled(Dense(np.eye(3)), 2.0)]:
        assert not has_factors(operator)


@pytest.mark.parametrize("longer", [False, True])
def test_completed_kernels(Phi, rng, longer):
    C, W = rng.standard_normal((8, 2)), rng.standard_normal((4, 2))
    Q = Gram(Phi[:8])
    E = C.T @ Phi[:8] @ Phi[:8].T @ C + longer * np.array([[2.0, 1.0], [1.0, 0.5]])
    v = np.array([0, 2, 3, 5, 6, 7, 9, 11])
    h = np.setdiff1d(np.arange(12), v)
    K = Completed.square(Q, v, h, Q @ C, W, E, np.array([0.0, 1.0, 2.0, 3.0]))
    assert has_factors(K)
    np.testing.assert_allclose(dense(K), K.to_dense(), atol=1e-9)
    assert get_factors(K).Phi.shape[1] == 3 + longer  # the axes' own part has rank one
    assert not has_factors(K.select(np.arange(5), np.arange(6)))
    part = np.array([1, 2, 4, 9, 11])
    np.testing.assert_allclose(dense(K.select(part, part)), K.to_dense()[np.ix_(part, part)], atol=1e-9)


def test_factors_of_one_sample_side_and_alike_columns(rng):
    """Factors of less rank than columns, and nobody filled."""
    Phi = np.outer(rng.standard_normal(6), [1.0, 2.0])
    Q, C = Gram(Phi), rng.standard_normal((6, 1))
    E = C.T @ Q.to_dense() @ C
    one = Completed.square(Q, np.arange(6), np.array([6]), Q @ C, np.ones((1, 1)), E, np.zeros(1))
    np.testing.assert_allclose(dense(one), one.to_dense(), atol=1e-9)
    whole = Completed.square(Q, np.arange(6), np.zeros(0, int), Q @ C, np.zeros((0, 1)), E, np.zeros(0))
    np.testing.assert_allclose(dense(whole), Q.to_dense(), atol=1e-12)


@pytest.mark.parametrize("completer", [CVKT(), MKMC("pca", n_components=3)])
def test_what_completers_make_of_factors_has_factors(completer, rng):
    ids, common = np.arange(60), rng.standard_normal((60, 3))
    parts = {name: (ids, common @ rng.standard_normal((3, 5))) for name in "abc"}
    kernels = KernelViews.from_factors(parts)
    full = completer.fit_transform(kernels.hide(missingness.mcar(kernels, 0.3, random_state=0)))
    for name in "abc":
        assert has_factors(full.operator(name))
        np.testing.assert_allclose(dense(full.operator(name)), full.block(name), atol=1e-6)


# ------------------------------------------------------------------------------------- about the mean


def test_the_spread_is_the_trace_of_the_centred_kernel_given_as_factors_or_not(rng):
    X = rng.normal(size=(9, 3))
    wanted = ((X - X.mean(axis=0)) ** 2).sum()
    for K in (Dense(X @ X.T), Gram(X), Dense((X @ X.T).astype(np.float32)), Gram(X.astype(np.float32))):
        tolerance = 1e-12 if K.dtype == np.float64 else 1e-5
        np.testing.assert_allclose(measure_spread(K), wanted, rtol=tolerance)
        centred = center_operator(K)
        assert type(centred) is type(K)
        assert centred.dtype == K.dtype
        H = np.eye(9) - 1 / 9
        np.testing.assert_allclose(centred.to_dense(), H @ X @ X.T @ H, atol=10 * tolerance)


def test_a_kernel_of_one_point_has_no_spread_and_one_of_two_has():
    assert measure_spread(Dense(np.zeros((0, 0)))) == 0
    for dtype, below, above in ((np.float64, 1e-11, 1e-7), (np.float32, 1e-6, 1e-3)):
        X = np.ones((5, 1))
        assert measure_spread(Dense((7 * X @ X.T).astype(dtype))) == 0
        assert measure_spread(Gram(np.full((5, 1), 7, dtype))) == 0
        for size, constant in ((below, True), (above, False)):
            K = (X @ X.T + size * np.diag([1.0, -1, 0, 0, 0])).astype(dtype)
            K[0, 0] += 4 * size
            assert (measure_spread(Dense(K)) == 0) == constant


def test_a_thin_kernel_keeps_its_factors_and_every_other_becomes_an_array(rng):
    X = rng.normal(size=(6, 2)).astype(np.float32)
    thin, wide = thin_operator(Gram(X)), thin_operator(Gram(X.T))
    assert isinstance(thin, Gram)
    assert isinstance(wide, Dense)
    assert thin.dtype == wide.dtype == np.float64
    np.testing.assert_allclose(wide.to_dense(), X.T @ X, rtol=1e-6)
    assert isinstance(thin_operator(LowRankPlusDiagonal(X, np.ones(6))), Dense)  # the diagonal is no factor
