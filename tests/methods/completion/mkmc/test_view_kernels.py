"""Views of the same samples are merged; kernels are completed about their mean, which is put back."""

import numpy as np
import pytest

from absentia import MKMC, KernelViews, MeanFill, datasets, metrics, missingness
from absentia.core import Dense
from absentia.methods.completion.mkmc import _low_rank
from absentia.methods.completion.mkmc._imputation import _evaluate_full, full_model
from absentia.methods.completion.mkmc._low_rank import ViewKernel, merge_views
from conftest import random_kernels, random_problem
from helpers.mkmc_problems import MODELS, NOISE, em_step, placed, random_point

# where so many components are too many is a matter of tests of their own


@pytest.mark.parametrize("model", MODELS)
def test_views_that_see_the_same_samples_can_be_merged(model):
    K = random_kernels(30, 4)
    keep = np.ones((30, 4), bool)
    keep[:8, :2] = False
    keep[20:, 2] = False
    kv = KernelViews.from_dense(K, observed=keep)
    apart = [
        ViewKernel(Dense(kv.block(n)), np.flatnonzero(o))
        for n, o in zip(kv.names, kv.observed.T, strict=True)
    ]
    together = merge_views(apart)
    assert sorted(view.weight for view in together) == [1, 1, 2]
    both = [_low_rank.VisibleProblem.of(views, 30, 1e-3, "float64") for views in (apart, together)]
    if model == "full":
        point = (np.eye(30) + 0.1,)
        found = [_evaluate_full(p, point) for p in both]
        ends = [full_model(p, em_step(f)).to_dense() for p, f in zip(both, found, strict=True)]
    else:
        point = random_point(30, 3, model)
        found = [_low_rank.evaluate(p, NOISE[model], placed(p, point)) for p in both]
        ends = [np.empty((30, 3)), np.empty((30, 3))]
        for end, p, f in zip(ends, both, found, strict=True):
            end[p.order] = f.gradient[0]
    assert found[1].value == pytest.approx(found[0].value, rel=1e-12)
    np.testing.assert_allclose(ends[1], ends[0], rtol=1e-9, atol=1e-10)


OPTIONS = {"n_components": 4, "tol": 1e-8}


def from_afar(kv, distance=3.0):
    """The same samples seen from far away: every view has a mean that is orthogonal to all it shows."""
    moved = {name: kv.block(name) + distance**2 for name in kv.names}
    return KernelViews.within(kv, moved)


@pytest.mark.parametrize("model", ["pca", "fa"])
def test_where_the_origin_is_does_not_matter(model):
    kv = random_problem(40, 4, 0.3)
    train, new = np.arange(34), np.arange(34, 40)
    found = []
    for seen in (kv, from_afar(kv)):
        mkmc = MKMC(model, center=True, **OPTIONS).fit(seen[np.ix_(train, train)])
        square, rows = (mkmc.transform(seen[np.ix_(some, train)]) for some in (train, new))
        found.append([(square.block(n), rows.block(n), rows.diagonal(n)) for n in kv.names])
    for near, far in zip(*found, strict=True):
        for one, other in zip(near, far, strict=True):
            np.testing.assert_allclose(other, one + 9, atol=1e-4)


def test_a_sample_of_which_nothing_is_known_becomes_the_mean():
    K, keep = random_kernels(), missingness.mcar((40, 4), 0.3, random_state=0)
    keep[7] = False
    with pytest.warns(UserWarning, match="7"):
        kv = KernelViews.from_dense(K, observed=keep)
    with pytest.warns(UserWarning, match="no view at all"):
        done = MKMC(center=True, **OPTIONS).fit_transform(kv)
    for v, name in enumerate(kv.names):
        wanted = kv.block(name).mean(axis=0)
        np.testing.assert_allclose(done.block(name)[7, keep[:, v]], wanted, atol=1e-10)


def test_a_centred_kernel_is_that_of_the_differences_from_the_mean():
    Phi = np.random.default_rng(0).standard_normal((12, 5)) + 2
    wanted = (Phi - Phi.mean(axis=0)) @ (Phi - Phi.mean(axis=0)).T
    dense = KernelViews.from_dense((Phi @ Phi.T)[None])
    factors = KernelViews.from_factors({"view0": (np.arange(12), Phi)})
    for kv in (dense, factors):
        np.testing.assert_allclose(_low_rank._center_kernels(kv).block("view0"), wanted, atol=1e-10)
    flat = KernelViews.from_factors({"view0": (np.arange(4), np.ones((4, 2)))})
    assert _low_rank._views_with_spread(flat) == [False]
    np.testing.assert_array_equal(_low_rank._center_kernels(flat).block("view0"), 2.0)


def test_draws_about_the_mean_average_to_the_completed_kernel():
    kv = from_afar(random_problem(30, 3, 0.3))
    mkmc = MKMC(center=True, **OPTIONS).fit(kv)
    draws = np.mean([d.to_dense() for d in mkmc.sample(200, random_state=0)], axis=0)
    done = mkmc.transform(kv).to_dense()
    assert np.linalg.norm(draws - done) < 0.02 * np.linalg.norm(done)


def test_half_hidden_the_default_is_near_counting_and_far_from_mean_fill():
    data = datasets.make_multiview(60, 5, n_shared=4, noise=0.1, private_scale=0.3, random_state=0)
    truth = from_afar(data.kernels, 1.0)
    keep = missingness.fixed_per_view(truth, 0.5, random_state=0)
    mean, counted, chosen = (
        metrics.are(truth, completer.fit_transform(truth.hide(keep)), keep)
        for completer in (MeanFill(), MKMC(n_components="gk", tol=1e-4), MKMC(tol=1e-4))
    )
    assert chosen < 1.1 * counted
    assert chosen < 0.7 * mean
