"""Filling from nearest neighbours, against pair by pair."""

import numpy as np
import pytest

from absentia import (
    AbsenceWarning,
    EMFill,
    KernelViews,
    KNNFill,
    MeanFill,
    SVTFill,
    ViewKernels,
    Views,
    missingness,
)
from conftest import random_kernels, random_problem
from helpers.fillers import dense
from reference import neighbours


def test_neighbours_agree_with_pair_by_pair():
    for seed, absent in ((0, 0.3), (1, 0.5)):
        kv = random_problem(14, 3, absent, seed)
        wanted = neighbours.fill(*dense(kv), 3)
        done = KNNFill(3).fit_transform(kv).to_dense()
        np.testing.assert_allclose(done, wanted, rtol=1e-10, atol=1e-12)


def test_an_absent_sample_is_the_average_of_its_neighbours_features():
    X = np.random.default_rng(0).normal(size=(9, 3))
    X[6:] = X[:3] + 1e-3  # the last three are next to the first three
    views = Views.from_dict({"a": X, "b": X}, observed=np.array([[1, 1]] * 6 + [[1, 0]] * 3))
    kernels = ViewKernels("linear", standardize=False, normalize=None).fit_transform(views)
    filled = X.copy()
    filled[6:] = X[:3]
    done = KNNFill(1).fit_transform(kernels)
    np.testing.assert_allclose(done.block("b"), filled @ filled.T, atol=1e-12)


def test_all_samples_as_neighbours_are_the_mean():
    K, observed = random_kernels(), missingness.mcar((40, 4), 0.3, random_state=0)
    observed[:, 0] = True  # so that any two samples share a view
    kv = KernelViews.from_dense(K, observed=observed)
    done = KNNFill(40).fit_transform(kv).to_dense()
    np.testing.assert_allclose(done, MeanFill("blocks").fit_transform(kv).to_dense(), atol=1e-12)


def test_new_rows_are_exactly_those_of_refitting_where_neighbours_cannot_change():
    """One new sample that lacks a view is nobody's neighbour in it; scales are held by a twin of the training set."""
    kv = random_problem(30, 3, 0.3, 1)
    t = int(np.flatnonzero(~kv.observed[:, 0] & kv.observed[:, 1:].all(axis=1))[0])
    rest = np.setdiff1d(np.arange(30), t)
    fill = KNNFill(3).fit(kv[np.ix_(rest, rest)])
    fill._scales = KNNFill(3).fit(kv)._scales
    row = fill.transform(kv[np.ix_([t], rest)])
    wanted = neighbours.fill(*dense(kv), 3)[0]
    known = kv.observed[rest, 0]  # training samples without the view may have had the new one near
    np.testing.assert_allclose(row.block("view0")[0][known], wanted[t, rest][known], rtol=1e-9)
    np.testing.assert_allclose(row.diagonal("view0"), wanted[t, t], rtol=1e-9)


def test_a_chain_of_views_leads_further_than_neighbours():
    """Nobody has the first and the last view together, but the middle one links them."""
    K = random_kernels(60, 3, seed=3)
    observed = np.ones((60, 3), bool)
    observed[:20, 1:] = observed[20:40, 2] = observed[40:, 0] = False
    kv = KernelViews.from_dense(K, observed=observed)
    mean = MeanFill().fit_transform(kv).to_dense()
    with pytest.warns(
        AbsenceWarning, match=r"20 absent cell.*sample 0 in view 'view2'.*shares no view with"
    ):
        done = KNNFill().fit_transform(kv).to_dense()
    np.testing.assert_allclose(done[2, :20, 40:], mean[2, :20, 40:], atol=1e-12)
    for fill in (SVTFill(0.1), EMFill(4, ridge=0.1)):
        done = fill.fit_transform(kv).to_dense()
        part = np.s_[2, :20, 40:]
        assert np.linalg.norm((done - K)[part]) < 0.95 * np.linalg.norm((mean - K)[part])


def test_views_that_neighbours_say_nothing_of_are_filled_with_the_mean(rng):
    """Two views share their factors; the third has its own, few of them, so that neighbours mislead."""
    shared, own = rng.standard_normal((80, 2)), rng.standard_normal((80, 2))
    K = np.stack([F @ F.T for F in (shared, shared @ rng.standard_normal((2, 4)), own)])
    kv = KernelViews.from_dense(K, observed=missingness.mcar((80, 3), 0.3, random_state=0))
    knn = KNNFill().fit(kv)
    assert knn.mean_views_ == ("view2",)
    assert knn.n_neighbors_ == min(knn.heldout_curve_, key=knn.heldout_curve_.get)
    mean, done = MeanFill("blocks").fit_transform(kv), knn.transform(kv)
    np.testing.assert_allclose(done.block("view2"), mean.block("view2"), atol=1e-10)
    given = KNNFill(knn.n_neighbors_).fit_transform(kv)
    np.testing.assert_allclose(done.block("view0"), given.block("view0"), atol=1e-12)
