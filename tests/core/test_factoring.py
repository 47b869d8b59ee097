"""Kernels as thin factors plus a diagonal: the same matrices."""

import numpy as np
import pytest

from absentia import CVKT, MKMC, KernelViews, missingness
from absentia.core import Completed, Dense, Gram, LowRankPlusDiagonal, Scaled, factors_of, has_factors


def dense(operator):
    Phi, own = factors_of(operator)
    return Phi @ Phi.T + np.diag(np.zeros(len(Phi)) if own is None else own)


@pytest.fixture
def Phi(rng):
    return rng.standard_normal((12, 3))


def test_grams_scaled_ones_and_diagonals(Phi):
    for operator in [Gram(Phi), Scaled(Gram(Phi), 3.0), LowRankPlusDiagonal(Phi, np.arange(1.0, 13.0))]:
        assert has_factors(operator)
        np.testing.assert_allclose(dense(operator), operator.to_dense(), atol=1e-12)
    assert factors_of(Gram(Phi)).own is None
    assert np.shares_memory(factors_of(Gram(Phi)).Phi, Gram(Phi).left)


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
    assert factors_of(K).Phi.shape[1] == 3 + longer  # the axes' own part has rank one
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
