"""Regressions from sums over blocks of samples: those of features in memory."""

import tracemalloc

import numpy as np
import pytest

from absentia import CVKT, MKMC, KernelViews, MeanFill, io, missingness
from absentia.methods.completion.cvkt import _sums
from helpers.cvkt_problems import factor_problem


@pytest.fixture
def small_blocks(monkeypatch):
    """Sums are what any number of samples is learned from, a few at a time."""
    monkeypatch.setattr(_sums, "_MIN_SAMPLES", 1)
    monkeypatch.setattr(_sums, "_BLOCK_ROWS", 7)


def both(monkeypatch, cvkt, kernels, rows):
    """Completed kernels and rows, and the fit, in memory and by sums."""
    results = []
    for least in (10_000, 1):
        monkeypatch.setattr(_sums, "_MIN_SAMPLES", least)
        done = cvkt.fit_transform(kernels)
        results.append((done.to_dense(), cvkt.transform(rows), cvkt.ridge_.copy(), cvkt.rounds_))
        assert cvkt._has_sums == (least == 1)
    return results


@pytest.mark.parametrize("rounds", [1, 3, "heldout"])
@pytest.mark.parametrize("ridge", ["loo", 0.1])
def test_sums_give_what_features_in_memory_give(monkeypatch, small_blocks, ridge, rounds):
    kernels, _ = factor_problem()
    train, new = np.arange(45), np.arange(40, 60)
    whole, blocks = both(
        monkeypatch,
        CVKT(ridge=ridge, rounds=rounds),
        kernels[np.ix_(train, train)],
        kernels[np.ix_(new, train)],
    )
    assert blocks[3] == whole[3]
    np.testing.assert_allclose(blocks[2], whole[2], rtol=1e-12)
    np.testing.assert_allclose(blocks[0], whole[0], rtol=1e-8, atol=1e-10)
    for name in kernels.names:
        np.testing.assert_allclose(blocks[1].block(name), whole[1].block(name), rtol=1e-8, atol=1e-9)
        np.testing.assert_allclose(blocks[1].diagonal(name), whole[1].diagonal(name), rtol=1e-8)


@pytest.mark.filterwarnings("ignore::absentia.AbsenceWarning")  # of the samples that are made so
def test_samples_and_views_of_which_nothing_is_learned_are_completed_too(monkeypatch, small_blocks):
    kernels, _ = factor_problem()
    factors = {name: kernels.operator(name).left for name in kernels.names}
    factors["view0"] = np.ones((len(factors["view0"]), 2))  # all alike
    ids = {name: np.flatnonzero(has) for name, has in zip(kernels.names, kernels.observed.T, strict=True)}
    keep = kernels.observed.copy()
    keep[3] = False  # without any view
    keep[np.flatnonzero(keep[:, 1])[:3]] = [False, True, False, False]  # without another one
    kernels = KernelViews.from_factors({name: (ids[name], factors[name]) for name in ids}).hide(keep)
    whole, blocks = both(monkeypatch, CVKT(rounds=2), kernels, kernels)
    np.testing.assert_allclose(blocks[0], whole[0], rtol=1e-8, atol=1e-10)
    np.testing.assert_allclose(blocks[2], whole[2], rtol=1e-12)


def many_samples(n, width=60):
    """Kernels of five views by factors in single precision, and the bytes of these."""
    rng = np.random.default_rng(0)
    shared, keep, factors = rng.normal(size=(n, 5)), missingness.mcar((n, 5), 0.4, random_state=0), {}
    for v in range(5):
        Phi = shared @ rng.normal(size=(5, width)) + 0.5 * rng.normal(size=(n, width))
        factors[f"view{v}"] = np.flatnonzero(keep[:, v]), Phi[keep[:, v]].astype(np.float32)
    size = sum(Phi.nbytes for _, Phi in factors.values())
    return KernelViews.from_factors(factors, copy=False), size


@pytest.mark.slow
@pytest.mark.parametrize(
    "completer",
    [MeanFill(), CVKT(rounds=2), MKMC(n_components=3, max_iter=3, dtype="float32")],
    ids=["mean", "cvkt", "mkmc"],
)
@pytest.mark.filterwarnings("ignore::sklearn.exceptions.ConvergenceWarning")
def test_completing_and_writing_take_two_times_the_factors_at_most(completer, tmp_path):
    """Of what more samples take; features of all, side by side in double precision, were over ten times."""
    peaks, sizes = [], []
    for n in (12_000, 36_000):
        kernels, size = many_samples(n)
        tracemalloc.start()
        try:
            io.write(tmp_path / "completed.npz", completer.fit_transform(kernels))
            peaks.append(tracemalloc.get_traced_memory()[1])
        finally:
            tracemalloc.stop()
        sizes.append(size)
    assert np.diff(peaks) < 2 * np.diff(sizes)
