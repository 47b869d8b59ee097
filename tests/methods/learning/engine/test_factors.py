"""Kernels by their factors: the same answers as their dense twins, and nothing n x n."""

import numpy as np
import pytest

from absentia import KernelViews
from absentia.core import Gram, Scaled
from absentia.data import _kernel_checks, by_factors
from absentia.methods.learning.engine import FactorStack, KernelStack
from absentia.methods.learning.engine import _factors as module
from stacks import factors

ETA = np.array([0.5, 0.0, 1.0, 0.2])


def twins(n=60, dtype=np.float64, seed=0):
    Phi, observed, y = factors(n, seed=seed, dtype=dtype)
    index = [np.flatnonzero(s) for s in observed.T]
    dense = [P.astype(np.float64) @ P.T.astype(np.float64) for P in Phi]
    own = np.random.default_rng(seed).random((n, 4)) * (np.arange(n)[:, None] % 3 > 0) * observed
    dense = [K + np.diag(own[i, p]) for p, (K, i) in enumerate(zip(dense, index, strict=True))]
    return FactorStack(Phi, index, n, own), KernelStack(dense, index, n), y


@pytest.mark.parametrize("dtype", [np.float64, np.float32])
def test_products_and_scores_are_those_of_the_dense_kernels(rng, dtype):
    thin, dense, _ = twins(dtype=dtype)
    z = rng.standard_normal(60) * (rng.random(60) > 0.3)
    for found, wanted in zip(thin.products(z), dense.products(z), strict=True):
        np.testing.assert_allclose(found, wanted, rtol=1e-11, atol=1e-11)
    np.testing.assert_allclose(thin.scores(ETA, z), dense.combined(ETA) @ z, rtol=1e-11, atol=1e-11)
    np.testing.assert_allclose(thin.largest(), dense.largest(), rtol=1e-12)
    np.testing.assert_allclose(thin.squares @ ETA, dense.combined(ETA).diagonal(), rtol=1e-11)


def test_scaled_samples_are_scaled_rows_and_columns(rng):
    thin, dense, _ = twins()
    scale, z = rng.random(60) + 0.5, rng.standard_normal(60)
    one, other = thin.scaled(scale), dense.scaled(scale)
    for found, wanted in zip(one.products(z), other.products(z), strict=True):
        np.testing.assert_allclose(found, wanted, rtol=1e-11, atol=1e-11)
    np.testing.assert_allclose(one.scores(ETA, z), other.combined(ETA) @ z, rtol=1e-11, atol=1e-11)
    np.testing.assert_allclose(one.squares @ ETA, other.combined(ETA).diagonal(), rtol=1e-11)
    own = one.squares - one.own
    np.testing.assert_allclose(one.rows(np.arange(60)) ** 2 @ np.repeat(ETA, 6), own @ ETA, rtol=1e-11)
    some = np.arange(0, 60, 3)
    part, whole = one.restricted(some), other.combined(ETA)[np.ix_(some, some)]
    np.testing.assert_allclose(part.scores(ETA, z[some]), whole @ z[some], rtol=1e-11, atol=1e-11)


def test_alignments_are_those_of_the_dense_kernels(monkeypatch):
    monkeypatch.setattr(module, "CHUNK", 7)
    thin, dense, y = twins()
    for found, wanted in zip(
        thin.alignments(y, some := np.arange(10, 55)), dense.alignments(y, some), strict=True
    ):
        np.testing.assert_allclose(found, wanted, rtol=1e-10)


def test_the_samples_of_views_are_found():
    thin, dense, _ = twins()
    views = np.array([False, True, False, True])
    np.testing.assert_array_equal(thin.reached(views), dense.reached(views))


def test_factors_are_not_copied_and_another_order_is_an_index(rng):
    Phi, observed, _ = factors(30, dtype=np.float32)
    parts = {
        f"v{p}": (np.flatnonzero(s), one) for p, (s, one) in enumerate(zip(observed.T, Phi, strict=True))
    }
    kernels = KernelViews.from_factors(parts, copy=False)
    order, z = rng.permutation(len(kernels)), rng.standard_normal(len(kernels))
    plain, moved = FactorStack.of(kernels), FactorStack.of(kernels, order)
    assert all(np.shares_memory(a, b) for a, b in zip(moved.factors, Phi, strict=True))
    np.testing.assert_allclose(moved.scores(ETA, z[order]), plain.scores(ETA, z)[order], rtol=1e-12)


def test_mapped_factors_stay_in_their_file(tmp_path):
    Phi, observed, _ = factors(30, m=1, dtype=np.float32)
    np.save(tmp_path / "phi.npy", Phi[0])
    mapped = np.load(tmp_path / "phi.npy", mmap_mode="r")
    stack = FactorStack([mapped], [np.flatnonzero(observed[:, 0])], 30)
    assert np.shares_memory(stack.factors[0], mapped)
    z = np.linspace(-1, 1, 30)
    np.testing.assert_array_equal(
        stack.scores(np.ones(1), z), FactorStack(Phi, stack.index, 30).scores(np.ones(1), z)
    )


def test_who_is_learned_from_by_factors(monkeypatch):
    monkeypatch.setattr(_kernel_checks, "FEW", 20)
    _Phi, _, _ = factors(30)
    ids = np.arange(30)
    gram = KernelViews.from_factors({"a": (ids, np.eye(30)[:, :4]), "b": (ids, np.ones((30, 2)))})
    assert by_factors(gram)
    assert not by_factors(gram[np.ix_(ids[:20], ids[:20])])
    mixed = KernelViews.within(gram, {"a": gram.operator("a"), "b": np.eye(30)})
    assert not by_factors(mixed)
    scaled = KernelViews.within(gram, {"a": Scaled(Gram(np.eye(30)[:, :4]), 9.0), "b": gram.operator("b")})
    assert by_factors(scaled)
    np.testing.assert_allclose(FactorStack.of(scaled).factors[0], 3 * np.eye(30)[:, :4])
