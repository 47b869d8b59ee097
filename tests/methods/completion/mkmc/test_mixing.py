"""Several model kernels behind groups of views: objective, groups, new samples."""

import numpy as np
import pytest

from absentia import KernelViews, missingness
from absentia.core import LowRankPlusDiagonal
from absentia.methods.completion.mkmc import _foldin, _mixing
from absentia.methods.completion.mkmc._fast import EqualNoise, OwnNoise
from absentia.methods.completion.mkmc._foldin import Latent, Row
from absentia.methods.completion.mkmc._mixing import Part, Terms
from absentia.methods.completion.mkmc._views import seen_by
from mixtures import grouped_kernels
from mkmc_problems import random_point
from reference import mkmc_mixture


def dense(kv):
    K = np.zeros((kv.n_views, len(kv), len(kv)))
    for k, name in enumerate(kv.names):
        K[k][np.ix_(kv.observed[:, k], kv.observed[:, k])] = kv.block(name)
    return K


def views_of(kv):
    return seen_by(kv, np.ones(kv.n_views), np.arange(len(kv)), "float64")


def common_model(kv, q=3):
    W, sigma2 = mkmc_mixture.ppca(dense(kv).mean(axis=0) + 0.1 * np.eye(len(kv)), q)
    return LowRankPlusDiagonal(W, np.full(len(kv), sigma2))


SLOW = pytest.mark.slow


@pytest.mark.parametrize("pull", [pytest.param(0.0, marks=SLOW), 0.3, pytest.param(2.0, marks=SLOW)])
def test_the_slow_version_ends_where_the_fast_one_does(pull):
    kv = grouped_kernels(24, 6, hidden=0.3)
    common, wrong = common_model(kv), np.array([0, 1, 0, 1, 0, 0])  # the last one belongs to the others
    terms = Terms(common, pull, 0.2)
    fast = _mixing.mix(views_of(kv), wrong, terms, EqualNoise(), tol=1e-12, max_iter=5000)
    _, models, members, trace = mkmc_mixture.mixture(
        dense(kv), kv.observed, wrong, common.to_dense(), 3, pull, 0.2, 2000
    )
    assert (np.diff(trace) <= 1e-9 * np.abs(trace[:-1])).all()
    assert members.tolist() == fast.members.tolist()
    # of the objective's minima the two may find different ones, but not here
    assert fast.solution.trace[-1] == pytest.approx(trace[-1], rel=1e-6)
    for M, found in zip(models, fast.models, strict=True):
        assert np.abs(found.to_dense() - M).max() < 1e-2 * np.abs(M).max()


@pytest.mark.parametrize("noise", [EqualNoise(), OwnNoise()])
def test_the_objective_is_that_of_dense_matrices_and_never_rises(noise):
    kv = grouped_kernels(24, 6, hidden=0.3)
    common = common_model(kv)
    wrong = np.array([0, 0, 1, 1, 0, 1])
    found = _mixing.mix(views_of(kv), wrong, Terms(common, 0.7, 0.1), noise, tol=1e-8, max_iter=500)
    trace = found.solution.trace
    assert (np.diff(trace) <= 1e-10 * np.abs(trace[:-1])).all()
    models = [model.to_dense() for model in found.models]
    wanted = mkmc_mixture.objective(
        dense(kv), kv.observed, models, found.members, common.to_dense(), 0.7, 0.1
    )
    assert trace[-1] == pytest.approx(wanted, rel=1e-8)


def test_views_find_their_groups():
    kv = grouped_kernels(60, 8, hidden=0.2)
    truth = np.arange(8) % 2
    found = _mixing.groups_of(kv, _mixing.alignments(kv), 2)
    assert found.tolist() in (truth.tolist(), (1 - truth).tolist())
    wrong = truth.copy()
    wrong[0] = 1 - wrong[0]
    terms = Terms(common_model(kv, 8), 0.3, 0.3)
    mixed = _mixing.mix(views_of(kv), wrong, terms, EqualNoise(), tol=1e-6, max_iter=300)
    assert mixed.members.tolist() == truth.tolist()


def test_groups_go_with_the_views_and_the_largest_comes_first():
    kv = grouped_kernels(40, 7, hidden=0.2)
    order = np.array([3, 6, 0, 5, 1, 4, 2])
    turned = kv.select([kv.names[v] for v in order])
    one = _mixing.groups_of(kv, _mixing.alignments(kv), 3)
    other = _mixing.groups_of(turned, _mixing.alignments(turned), 3)
    assert one[order].tolist() == other.tolist()
    sizes = np.bincount(one)
    assert (np.diff(sizes) <= 0).all()
    assert len(sizes) == 3
    assert _mixing.groups_of(kv, _mixing.alignments(kv), 1).tolist() == [0] * 7


def test_alignment_is_the_correlation_about_the_mean_of_the_samples_that_both_have():
    rng = np.random.default_rng(0)
    X = rng.normal(size=(20, 3)) + 5
    observed = missingness.mcar((20, 3), 0.3, random_state=1)
    Y = np.stack([X @ X.T, 7 * X @ X.T, np.ones((20, 20))])
    kv = KernelViews.from_dense(Y, observed=observed)
    found = _mixing.alignments(kv)
    assert found[0, 1] == pytest.approx(1.0)  # whatever the scale
    assert found[0, 2] == 0.0  # samples that are all one are like nothing
    assert np.array_equal(found, found.T)


@pytest.mark.parametrize("shared", [0.4, None])
def test_weights_of_one_fold_in_as_without_weights(shared):
    rng = np.random.default_rng(0)
    kv = grouped_kernels(30, 2, hidden=0.2)
    W, _ = random_point(30, 3, "pca")
    model = LowRankPlusDiagonal(W, np.full(30, 0.4))
    F = model.W / model.d[:, None]
    latents = [Latent.of(view, F, model) for view in views_of(kv)]
    rows = [Row(rng.normal(size=(5, 3)), np.full(5, 2.0), np.array([True] * 4 + [k == 0])) for k in (0, 1)]
    rows = [Row(row.a * row.present[:, None], row.own * row.present, row.present) for row in rows]
    prior = Latent.of_prior(F, model)
    identity = Part(0.3, prior, Row(np.zeros((5, 3)), np.ones(5), np.ones(5, dtype=bool)))
    parts = [*(Part(1.0, latent, row) for latent, row in zip(latents, rows, strict=True)), identity]
    wanted = _foldin.fold_in(latents, rows, prior, 0.3, shared)
    found = _mixing.fold_in(parts, shared)
    assert np.allclose(found[0], wanted[0], atol=1e-10)
    assert np.allclose(found[1], wanted[1], atol=1e-10)
    assert np.allclose(found[2][0], wanted[2][0], atol=1e-10)


def test_a_part_of_weight_two_counts_as_two():
    rng = np.random.default_rng(0)
    kv = grouped_kernels(30, 2, hidden=0.2)
    model = LowRankPlusDiagonal(random_point(30, 3, "pca")[0], np.full(30, 0.4))
    F, all_of_them = model.W / model.d[:, None], np.ones(300, dtype=bool)  # more than a chunk
    one, other = (Latent.of(view, F, model) for view in views_of(kv))
    rows = [Row(rng.normal(size=(300, 3)), np.full(300, 2.0), all_of_them) for _ in range(2)]
    once = Part(1.0, other, rows[1])
    twice = _mixing.fold_in([Part(2.0, one, rows[0]), once], None)
    both = _mixing.fold_in([Part(1.0, one, rows[0])] * 2 + [once], None)
    assert np.allclose(twice[0], both[0], atol=1e-10)
    assert np.allclose(twice[1], both[1], atol=1e-10)
