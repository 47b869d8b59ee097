"""Features of kernels: landmarks and factors."""

import tracemalloc

import numpy as np
import pytest

from absentia import CVKT, KernelViews, missingness
from absentia.core import Completed
from absentia.methods.completion.cvkt import _descent as cvkt_descent
from conftest import random_problem
from helpers.cvkt_problems import factor_problem


@pytest.mark.parametrize("rounds", [1, 3])
def test_everybody_as_landmark_is_exact(rounds):
    kv = random_problem()
    exact = CVKT(rounds=rounds).fit_transform(kv).to_dense()
    np.testing.assert_allclose(
        CVKT(rounds=rounds, n_landmarks=1.0).fit_transform(kv).to_dense(), exact, atol=1e-8
    )
    assert np.abs(CVKT(rounds=rounds, n_landmarks=5).fit_transform(kv).to_dense() - exact).max() > 1e-3


@pytest.mark.parametrize("options", [{}, {"rounds": 3}, {"n_landmarks": 6}, {"keep_observed": False}])
def test_factors_and_arrays_give_one_answer(options):
    factors, arrays = factor_problem()
    done, twin = CVKT(**options).fit_transform(factors), CVKT(**options).fit_transform(arrays)
    X = np.random.default_rng(0).normal(size=(60, 2))
    for name in done.names:
        assert isinstance(done.operator(name), Completed)
        np.testing.assert_allclose(done.block(name), twin.block(name), atol=1e-8)
        np.testing.assert_allclose(done.operator(name) @ X, twin.block(name) @ X, atol=1e-7)
        np.testing.assert_allclose(done.diagonal(name), twin.diagonal(name), atol=1e-8)


def test_nothing_n_by_n_is_formed_from_factors():
    n = 4000
    rng = np.random.default_rng(0)
    keep = missingness.mcar((n, 3), 0.3, random_state=0)
    blocks = {f"view{v}": (np.flatnonzero(k), rng.normal(size=(k.sum(), 8))) for v, k in enumerate(keep.T)}
    kv = KernelViews.from_factors(blocks)
    tracemalloc.start()
    cvkt = CVKT(n_landmarks=8, rounds=2)
    done = cvkt.fit_transform(kv)
    done.operator("view0") @ np.ones((n, 1))
    cvkt.transform(kv[np.ix_(np.arange(5), np.arange(n))])
    peak = tracemalloc.get_traced_memory()[1]
    tracemalloc.stop()
    assert peak < n * n * 8 / 8


def test_descent_chooses_landmarks_and_rank_that_complete_hidden_rows_best():
    """Of two sets of features, one noise and one the kernel's own, it takes the second."""
    rng = np.random.default_rng(0)
    own = rng.normal(size=(40, 4))
    features = {0.2: rng.normal(size=(40, 6)), 0.4: own @ rng.normal(size=(4, 6))}
    design = cvkt_descent.DescentOptions(None, 0.5, 50)
    assert cvkt_descent._select_design(features, own @ own.T, design, rng) == (0.4, 0.5)
    kv = random_problem(24, 3)
    done = CVKT(solver="descent", n_iter=5).fit_transform(kv)
    assert np.isfinite(done.to_dense()).all()


def test_landmarks_are_drawn_at_random():
    kv = random_problem()
    one, other = (CVKT(n_landmarks=5, random_state=s).fit_transform(kv).to_dense() for s in (0, 1))
    assert np.abs(one - other).max() > 1e-3
