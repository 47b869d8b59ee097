"""Sums over the views that see a sample: what one sample after the other gives."""

import tracemalloc

import numpy as np
import pytest

from absentia.methods.completion.mkmc import _patterns
from absentia.methods.completion.mkmc._patterns import Patterns
from reference import visibility as slow


def visibility(n, n_views, seed=0):
    """Some patterns that many samples have, and some that few have."""
    rng = np.random.default_rng(seed)
    sees = rng.random((n, n_views)) < 0.7
    sees[rng.random(n) < 0.5] = True
    return sees


def matrices(n, n_views, q, seed=1):
    rng = np.random.default_rng(seed)
    roots = rng.normal(size=(n_views, q, 2 * q))
    return roots @ roots.transpose(0, 2, 1), 0.1 * np.eye(q), rng.normal(size=(2, n, q))


# none rare, both kinds, none common
@pytest.mark.parametrize("n_views", [1, 3, 7])
@pytest.mark.parametrize("common", [1, 4, 1000])
@pytest.mark.parametrize("block", [1, 1 << 17])
def test_sums_are_those_of_one_sample_after_the_other(monkeypatch, n_views, common, block):
    monkeypatch.setattr(_patterns, "COMMON", common)
    monkeypatch.setattr(_patterns, "BLOCK", block)
    sees = visibility(90, n_views)
    E, extra, (W, F) = matrices(90, n_views, 4)
    patterns = Patterns.of(sees)
    assert sorted(patterns.order) == list(range(90))
    sees = sees[patterns.order]  # W and F are in the patterns' own order
    for found, wanted in zip(patterns.grams(W, F), slow.grams(sees, W, F), strict=True):
        np.testing.assert_allclose(found, wanted, rtol=1e-11, atol=1e-12)
    parts = list(patterns.products(E, extra, W))
    assert [i for rows, _ in parts for i in range(90)[rows]] == list(range(90))
    WA = np.concatenate([part for _, part in parts])
    np.testing.assert_allclose(WA, slow.products(sees, E, extra, W), rtol=1e-11, atol=1e-11)
    solved = patterns.solver(E, extra)(F)
    np.testing.assert_allclose(solved, slow.solutions(sees, E, extra, F), rtol=1e-9, atol=1e-11)


def test_common_patterns_come_first_and_rare_samples_keep_their_order():
    sees = visibility(90, 7)
    patterns = Patterns.of(sees)
    n_common = patterns.rows[-1].stop
    assert 0 < n_common < 90
    for rows, pattern in zip(patterns.rows, patterns.common, strict=True):
        assert rows.stop - rows.start >= _patterns.COMMON
        assert (sees[patterns.order[rows]] == pattern).all()
    assert (np.diff(patterns.order[n_common:]) > 0).all()
    np.testing.assert_array_equal(patterns.rare, sees[patterns.order[n_common:]])


def test_single_precision_stays_single_outside_the_sums():
    sees = visibility(90, 7)
    E, extra, (W, _) = matrices(90, 7, 4)
    patterns = Patterns.of(sees)
    single = W.astype(np.float32)
    assert {part.dtype for _, part in patterns.products(E, extra, single)} == {np.dtype(np.float32)}
    solved = patterns.solver(E, extra)(single)
    assert solved.dtype == np.float32
    wanted = slow.solutions(sees[patterns.order], E, extra, single.astype(np.float64))
    np.testing.assert_allclose(solved, wanted, rtol=1e-4, atol=1e-5)


def test_of_rare_patterns_no_more_than_a_block_of_matrices_is_kept():
    """Every sample has a pattern of its own: 4000 matrices of 20 x 20 would be 12.8 MB."""
    n, n_views, q = 4000, 30, 20
    sees = np.random.default_rng(0).random((n, n_views)) < 0.7
    E, extra, (W, F) = matrices(n, n_views, q)
    patterns = Patterns.of(sees)
    assert not patterns.rows
    tracemalloc.start()
    patterns.grams(W, F)
    for _ in patterns.products(E, extra, W):
        pass
    patterns.solver(E, extra)(W)
    peak = tracemalloc.get_traced_memory()[1]
    tracemalloc.stop()
    assert peak < 3 * 8 * _patterns.BLOCK + 3 * W.nbytes < 8 * n * q * q
