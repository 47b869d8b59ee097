"""Kernel PCA: components found through operators are those of the whole matrix, in any order of samples."""

import tracemalloc

import numpy as np
import pytest

from absentia import KernelViews, MeanFill, embed
from absentia.core import Completed, Dense, Gram, LowRankPlusDiagonal, deserialize, serialize
from absentia.methods import _embedding as module
from absentia.methods._embedding import _Components, _find_components
from conftest import random_problem
from reference import kernel_pca


def completed(rng, n):
    """A kernel of which two thirds were observed."""
    Phi = rng.normal(size=(n, 8)) * np.arange(8, 0, -1)
    v, h = np.arange(0, n, 1)[np.arange(n) % 3 > 0], np.arange(0, n, 3)
    Q = Gram(Phi[v])
    C = rng.normal(size=(len(v), 4)) / len(v)
    W = rng.normal(size=(len(h), 4))
    return Completed.square(Q, v, h, Q @ C, W, C.T @ (Q @ C), rng.random(len(h)))


KINDS = {
    "dense": lambda rng, n: Dense(
        (lambda Z: np.exp(-((Z[:, None] - Z) ** 2).sum(-1)))(rng.normal(size=(n, 2)))
    ),
    "factors": lambda rng, n: Gram(rng.normal(size=(n, 9)) * np.arange(1, 10) + 3),
    "low rank plus diagonal": lambda rng, n: LowRankPlusDiagonal(
        rng.normal(size=(n, 7)) * np.arange(1, 8), 0.1 + 0.01 * rng.random(n)
    ),
    "completed": completed,
}


@pytest.mark.parametrize("small", [0, 300], ids=["Lanczos", "whole"])
@pytest.mark.parametrize("kind", KINDS)
def test_the_dense_twin_says_the_same(kind, small, rng, monkeypatch):
    monkeypatch.setattr(module, "_SMALL", small)
    kernel = KINDS[kind](rng, 90)
    found = _find_components([kernel], [1.0], 5, np.arange(90))
    scores, shares, _ = kernel_pca.embedding(kernel.to_dense(), 5)
    np.testing.assert_allclose(found.scores, kernel_pca.same_but_for_signs(found.scores, scores), atol=1e-8)
    np.testing.assert_allclose(found.shares, shares, rtol=1e-9)


@pytest.mark.parametrize("small", [0, 300], ids=["Lanczos", "whole"])
def test_weights_add_kernels_up_and_new_samples_are_projected(small, rng, monkeypatch):
    monkeypatch.setattr(module, "_SMALL", small)
    A, B = rng.normal(size=(80, 6)) + 1, rng.normal(size=(80, 3))
    old, new = np.arange(70), np.arange(70, 80)
    K = 0.5 * A @ A.T + 2.0 * B @ B.T
    found = _find_components([Gram(A[old]), Gram(B[old])], [0.5, 2.0], 4, old)
    rows = 0.5 * (Gram(A[new], A[old]) @ found.vectors) + 2.0 * (Gram(B[new], B[old]) @ found.vectors)
    expected = kernel_pca.projected(K[np.ix_(new, old)], K[np.ix_(old, old)], 4)
    projected = found.project(rows)
    signs = np.sign((found.scores * kernel_pca.embedding(K[np.ix_(old, old)], 4)[0]).sum(axis=0))
    np.testing.assert_allclose(projected, expected * signs, atol=1e-8)
    again = found.project(K[np.ix_(old, old)] @ found.vectors)
    np.testing.assert_allclose(again, found.scores, atol=1e-9)


@pytest.mark.parametrize("small", [0, 300], ids=["Lanczos", "whole"])
def test_directions_that_are_not_there_are_zero(small, rng, monkeypatch):
    monkeypatch.setattr(module, "_SMALL", small)
    found = _find_components([Gram(rng.normal(size=(60, 3)))], [1.0], 6, np.arange(60))
    assert (found.values[:3] > 1).all()
    assert not found.values[3:].any()
    assert not found.scores[:, 3:].any()
    assert found.shares.sum() == pytest.approx(1)
    assert np.isfinite(found.project(rng.normal(size=(2, 6)))).all()


@pytest.mark.parametrize("n", [1, 2, 5])
def test_few_samples_have_few_directions(n, rng):
    found = _find_components([Gram(rng.normal(size=(n, 9)))], [1.0], 6, np.arange(n))
    assert found.scores.shape == (n, 6)
    assert (found.values > 0).sum() == n - 1


def test_samples_that_are_all_one_have_no_direction():
    found = _find_components([Dense(np.full((7, 7), 0.3))], [1.0], 2, np.arange(7))
    assert not found.scores.any()
    assert not found.shares.any()


def test_equal_eigenvalues_are_all_found(monkeypatch):
    monkeypatch.setattr(module, "_SMALL", 0)  # one start reaches one of them, and Lanczos breaks down
    found = _find_components([Dense(np.eye(90))], [1.0], 8, np.arange(90))
    np.testing.assert_allclose(found.values, 1.0, rtol=1e-10)
    np.testing.assert_allclose(found.vectors.T @ found.vectors, np.eye(8), atol=1e-10)
    again = _find_components([Dense(np.eye(90))], [1.0], 8, np.arange(90))
    np.testing.assert_array_equal(again.vectors, found.vectors)


@pytest.mark.parametrize("small", [0, 300], ids=["Lanczos", "whole"])
def test_the_order_of_samples_changes_nothing_but_the_order(small, rng, monkeypatch):
    monkeypatch.setattr(module, "_SMALL", small)
    Phi = rng.normal(size=(80, 6)) * np.arange(1, 7)
    Phi = np.vstack([Phi, -Phi])  # every entry of a vector has one that is as large, of the other sign
    one = _find_components([Gram(Phi)], [1.0], 4, np.arange(160))
    for shuffle in (rng.permutation(160), np.arange(160)[::-1]):
        other = _find_components([Gram(Phi[shuffle])], [1.0], 4, np.argsort(shuffle))
        np.testing.assert_allclose(other.scores, one.scores[shuffle], atol=1e-8)


def test_nothing_of_samples_times_samples_is_formed(rng):
    n = 4000
    kernel = Gram(rng.normal(size=(n, 10)))
    tracemalloc.start()
    _find_components([kernel], [1.0], 5, np.arange(n))
    peak = tracemalloc.get_traced_memory()[1]
    tracemalloc.stop()
    assert peak < n * n * 8 / 10


def test_components_can_be_kept(rng):
    found = _find_components([Gram(rng.normal(size=(9, 3)))], [1.0], 2, np.arange(9))
    plain = serialize(found)
    back = deserialize(plain.tree, plain.arrays)
    assert isinstance(back, _Components)
    np.testing.assert_array_equal(back.scores, found.scores)


@pytest.fixture
def done():
    return MeanFill("blocks").fit_transform(random_problem())


def test_all_together_is_the_reference(done):
    K, _ = kernel_pca.fused(done.to_dense())
    found = embed(done, 3)
    expected, _, _ = kernel_pca.embedding(K, 3)
    np.testing.assert_allclose(found, kernel_pca.same_but_for_signs(found, expected), atol=1e-9)


def test_neither_a_views_scale_nor_the_order_of_samples_or_views_matters(done, rng):
    K, shuffle = done.to_dense(), rng.permutation(len(done))
    scaled = K * np.array([1e-3, 1.0, 1e5, *[1.0] * (len(K) - 3)])[:, None, None]
    names = list(done.names)[::-1]
    other = KernelViews.from_dense(
        scaled[::-1][:, shuffle][:, :, shuffle], ids=done.ids[shuffle], names=names
    )
    np.testing.assert_allclose(embed(other, 3), embed(done, 3)[shuffle], atol=1e-8)


def test_a_view_of_samples_that_are_all_one_counts_for_nothing(done):
    K = {name: done.block(name) for name in done.names}
    with_one = KernelViews.from_dense({**K, "constant": np.ones((len(done), len(done)))}, ids=done.ids)
    np.testing.assert_allclose(embed(with_one, 3), embed(done, 3), atol=1e-9)
