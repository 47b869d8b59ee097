"""Orders that the data decide, and folds cut along them."""

import numpy as np
import pytest

from absentia import KernelViews, ViewKernels, datasets, missingness
from absentia.core import Gram, LowRankPlusDiagonal
from absentia.data import MANY, kernel_profiles, some_of, suited_folds
from absentia.data import _profiles as orders


@pytest.fixture(scope="module")
def views():
    views = datasets.load_digit_views(n_samples=50).views
    return views.hide(missingness.mcar(views, 0.3, random_state=0))


@pytest.mark.parametrize("of", ["kernels", "features"])
def test_the_order_goes_with_the_samples_and_the_views(views, of):
    X = ViewKernels().fit_transform(views) if of == "kernels" else views
    y = np.arange(50) % 2
    turn, moved = np.array([3, 0, 5, 1, 4, 2]), np.random.default_rng(0).permutation(50)
    names, ids = (X.names, X.ids)
    by_view, by_sample = orders.own_order(X, y)
    other = (X[np.ix_(moved, moved)] if of == "kernels" else X[moved]).select([names[v] for v in turn])
    views_there, samples_there = orders.own_order(other, y[moved])
    assert [other.names[v] for v in views_there] == [names[v] for v in by_view]
    np.testing.assert_array_equal(other.ids[samples_there], ids[by_sample])


def test_a_view_that_nobody_has_is_left_out(views):
    keep = np.ones(views.observed.shape, bool)
    keep[:, 2] = False
    assert sorted(orders.own_order(views.hide(keep))[0]) == [0, 1, 3, 4, 5]


def test_large_kernels_stay_as_they_came(views, monkeypatch):
    kernels = ViewKernels().fit_transform(views)
    monkeypatch.setattr(orders, "COPIED", 100)
    by_view, by_sample = orders.own_order(kernels)
    np.testing.assert_array_equal(by_view, np.arange(6))
    np.testing.assert_array_equal(by_sample, np.arange(50))


def test_rounding_decides_nothing(views):
    profiles = orders.feature_profiles(views)
    noisy = [one * (1 + 1e-12 * np.random.default_rng(0).standard_normal(one.shape)) for one in profiles]
    rounded = [np.round(one, orders.DIGITS) + 0.0 for one in noisy]
    np.testing.assert_array_equal(
        orders.sample_order(rounded, views.observed), orders.sample_order(profiles, views.observed)
    )


def test_labels_tell_apart_samples_that_are_alike_whatever_they_are_called():
    """The rarer class comes first."""
    profiles, observed = [np.zeros((5, 3))], np.ones((5, 1), bool)
    for names in (["a", "b"], ["b", "a"]):
        labels = np.array(names)[[1, 0, 1, 0, 1]]
        np.testing.assert_array_equal(orders.sample_order(profiles, observed, labels), [1, 3, 0, 2, 4])


def test_names_of_classes_cut_no_fold_and_labels_by_coin_are_not_told_by_the_nearest_sample():
    """Dealt in turn along the samples' own order, neighbours of a class were apart: .58 with one feature."""
    for n_features in (1, 2, 5):
        right = []
        for seed in range(120):
            rng = np.random.default_rng([seed, n_features])
            X, y = rng.standard_normal((60, n_features)), rng.permutation(60) % 2
            order = orders.sample_order([orders.table_profile(X)], np.ones((60, 1), bool), y)
            parts = orders.folds(order, y, 3)
            for (a, b), (other_a, other_b) in zip(
                parts, orders.folds(order, np.array(["z", "c"])[y], 3), strict=True
            ):
                np.testing.assert_array_equal(a, other_a)
                np.testing.assert_array_equal(b, other_b)
                nearest = ((X[b][:, None] - X[a]) ** 2).sum(axis=2).argmin(axis=1)
                right.append((y[a][nearest] == y[b]).mean())
        assert abs(np.mean(right) - 0.5) < 3.5 * np.std(right) / np.sqrt(len(right))


@pytest.mark.parametrize("seed", [None, 0])
def test_folds_hold_out_everybody_once_with_a_part_of_every_class(seed):
    rng = np.random.default_rng(0)
    y, order = np.repeat([0, 1, 2], [20, 11, 5]), rng.permutation(36)[:33]
    parts = orders.folds(order, y, 5, seed)
    np.testing.assert_array_equal(np.sort(np.concatenate([held for _, held in parts])), np.sort(order))
    for learned_from, held in parts:
        assert not set(learned_from) & set(held)
        assert set(learned_from) | set(held) == set(order)
        for label in range(3):
            share = (y[order] == label).sum() / 5
            assert np.floor(share) <= (y[held] == label).sum() <= np.ceil(share)


@pytest.mark.parametrize("own", [False, True])
def test_profiles_of_factors_are_those_of_whole_kernels(rng, own):
    Phi = rng.standard_normal((30, 4))
    operator = LowRankPlusDiagonal(Phi, rng.random(30)) if own else Gram(Phi)
    thin = KernelViews.from_factors({"a": (np.arange(30), Phi)})
    thin = KernelViews.within(thin, {"a": operator})
    whole = KernelViews.within(thin, {"a": operator.to_dense()})
    np.testing.assert_allclose(kernel_profiles(thin)[0], kernel_profiles(whole)[0], atol=2e-9)


def test_many_samples_have_few_folds_and_some_of_each_class():
    assert [suited_folds(n, 5) for n in (100, MANY, MANY + 1)] == [5, 5, 2]
    y = np.repeat([0, 1, 2], [900, 99, 1])
    some = some_of(y, 100)
    assert (np.diff(some) > 0).all()
    assert np.bincount(y[some]).tolist() == [90, 10, 1]
    np.testing.assert_array_equal(some_of(y, 1000), np.arange(1000))
