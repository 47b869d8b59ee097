"""An order that the data decide, and folds along it."""

import numpy as np
import pytest

from absentia import KernelViews, ViewKernels, datasets, missingness
from absentia.core import Dense, Gram, LowRankPlusDiagonal, Scaled
from absentia.data import (
    MANY_SAMPLES,
    Presence,
    choose_n_folds,
    kernel_profiles,
    order_tables,
    subsample_classes,
)
from absentia.data import _order as orders
from conftest import random_problem
from helpers.matrix_registry import near


def names_of(found, X):
    return X.ids[found.samples].tolist(), [X.names[v] for v in found.views]


@pytest.mark.parametrize("factors", [False, True])
def test_samples_and_views_in_another_order_are_ordered_alike(rng, factors):
    kernels = random_problem(25, 4)
    if factors:
        own = {name: kernels.ids[has] for name, has in zip(kernels.names, kernels.observed.T, strict=True)}
        kernels = KernelViews.from_factors({k: (v, rng.normal(size=(len(v), 3))) for k, v in own.items()})
    p = rng.permutation(25)
    other = kernels[np.ix_(p, p)].select([kernels.names[v] for v in (2, 0, 3, 1)])
    assert names_of(orders.order_kernels(other), other) == names_of(orders.order_kernels(kernels), kernels)


def test_neither_the_scale_of_a_kernel_nor_rounding_matters():
    kernels = random_problem(25, 3)
    noise = 1 + 1e-12 * np.random.default_rng(0).normal(size=(25, 25))
    scaled = KernelViews.from_dense(kernels.to_dense() * np.array([1.0, 1e8, 1e-8])[:, None, None])
    rounded = KernelViews.from_dense(kernels.to_dense() * (noise + noise.T) / 2)
    wanted = orders.order_kernels(kernels)
    for other in (scaled, rounded):
        np.testing.assert_array_equal(orders.order_kernels(other).samples, wanted.samples)
        np.testing.assert_array_equal(orders.order_kernels(other).views, wanted.views)


def test_the_smallest_rows_come_first_and_ties_go_by_id_and_name():
    X = Presence(np.array(["d", "b", "a", "c"]), ("z", "y"), np.ones((4, 2), bool))
    found = orders._order_by_size(X, np.array([[2.0, 0], [1, 0], [1, 1e-12], [0, 0]]))
    assert X.ids[found.samples].tolist() == ["c", "a", "b", "d"]
    assert [X.names[v] for v in found.views] == ["y", "z"]
    alike = orders._order_by_size(X, np.ones((4, 2)))
    assert X.ids[alike.samples].tolist() == ["a", "b", "c", "d"]
    assert [X.names[v] for v in alike.views] == ["y", "z"]
    mixed = Presence(np.array([("b", 1), 3, "a", None], dtype=object), ("z",), np.ones((4, 1), bool))
    ids = mixed.ids[orders._order_by_size(mixed, np.ones((4, 1))).samples].tolist()
    assert ids == ["a", ("b", 1), 3, None]  # as they are written


@pytest.mark.parametrize(
    "operator", [Dense(np.array([[2.0, 1.0], [1.0, 3.0]])), Gram(np.array([[1.0, 1.0], [0.0, 2.0]]))]
)
def test_sizes_are_sums_of_squares_of_rows(operator):
    wanted = (operator.to_dense() ** 2).sum(axis=1) / 4
    np.testing.assert_allclose(orders._row_squares(operator, 2.0), wanted)
    np.testing.assert_allclose(orders._row_squares(Scaled(operator, 2.0), 2.0), operator.diagonal() ** 2)


def test_numbers_drawn_go_with_the_samples():
    found = orders.CanonicalOrder(np.array([2, 0, 1]), np.array([0]))
    assert found.numbers.tolist() == [1, 2, 0]
    drawn = np.random.default_rng(0).random(3)
    np.testing.assert_array_equal(found.lottery(np.random.default_rng(0))[found.samples], drawn)
    assert found.among(np.array([0, 2])).tolist() == [1, 0]
    assert found.among(np.array([1, 0, 2])).tolist() == [2, 1, 0]


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
    by_view, by_sample = orders.order_for_learning(X, y)
    other = (X[np.ix_(moved, moved)] if of == "kernels" else X[moved]).select([names[v] for v in turn])
    views_there, samples_there = orders.order_for_learning(other, y[moved])
    assert [other.names[v] for v in views_there] == [names[v] for v in by_view]
    np.testing.assert_array_equal(other.ids[samples_there], ids[by_sample])


def test_a_view_that_nobody_has_is_left_out(views):
    keep = np.ones(views.observed.shape, bool)
    keep[:, 2] = False
    assert sorted(orders.order_for_learning(views.hide(keep))[0]) == [0, 1, 3, 4, 5]


def test_large_kernels_stay_as_they_came(views, monkeypatch):
    kernels = ViewKernels().fit_transform(views)
    monkeypatch.setattr(orders, "_MAX_COPIED", 100)
    by_view, by_sample = orders.order_for_learning(kernels)
    np.testing.assert_array_equal(by_view, np.arange(6))
    np.testing.assert_array_equal(by_sample, np.arange(50))


def test_rounding_decides_nothing(views):
    profiles = orders.feature_profiles(views)
    noisy = [one * (1 + 1e-12 * np.random.default_rng(0).standard_normal(one.shape)) for one in profiles]
    rounded = [np.round(one, orders._DIGITS) + 0.0 for one in noisy]
    np.testing.assert_array_equal(
        orders.order_by_profiles(rounded, views.observed),
        orders.order_by_profiles(profiles, views.observed),
    )


def test_labels_tell_apart_samples_that_are_alike_whatever_they_are_called():
    """The rarer class comes first."""
    profiles, observed = [np.zeros((5, 3))], np.ones((5, 1), bool)
    for names in (["a", "b"], ["b", "a"]):
        labels = np.array(names)[[1, 0, 1, 0, 1]]
        np.testing.assert_array_equal(orders.order_by_profiles(profiles, observed, labels), [1, 3, 0, 2, 4])


def test_names_of_classes_cut_no_fold_and_labels_by_coin_are_not_told_by_the_nearest_sample():
    """Dealt in turn along the samples' own order, neighbours of a class were apart: .58 with one feature."""
    for n_features in (1, 2, 5):
        right = []
        for seed in range(120):
            rng = np.random.default_rng([seed, n_features])
            X, y = rng.standard_normal((60, n_features)), rng.permutation(60) % 2
            order = orders.order_by_profiles([orders.table_profile(X)], np.ones((60, 1), bool), y)
            parts = orders.make_folds(order, y, 3)
            for (a, b), (other_a, other_b) in zip(
                parts, orders.make_folds(order, np.array(["z", "c"])[y], 3), strict=True
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
    parts = orders.make_folds(order, y, 5, seed)
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
    assert [choose_n_folds(n, 5) for n in (100, MANY_SAMPLES, MANY_SAMPLES + 1)] == [5, 5, 2]
    y = np.repeat([0, 1, 2], [900, 99, 1])
    some = subsample_classes(y, 100)
    assert (np.diff(some) > 0).all()
    assert np.bincount(y[some]).tolist() == [90, 10, 1]
    np.testing.assert_array_equal(subsample_classes(y, 1000), np.arange(1000))


@pytest.mark.parametrize("kind", ["real", "labels", "diagonal", "equal"])
def test_the_order_is_that_of_the_content(kind, rng):
    X = {
        "real": rng.standard_normal((12, 5)),
        "labels": np.where(rng.random((40, 5)) < 0.2, np.nan, rng.random((40, 5)) < 0.5),
        "diagonal": np.eye(4),
        "equal": np.ones((3, 4)),
    }[kind]
    rows, columns = order_tables(X.shape, [(X, (0, 1))])
    for seed in range(5):
        p, q = (np.random.default_rng(seed).permutation(n) for n in X.shape)
        Z = X[np.ix_(p, q)]
        again = order_tables(X.shape, [(Z, (0, 1))])
        np.testing.assert_array_equal(Z[np.ix_(*again)], X[np.ix_(rows, columns)])
    assert sorted(rows) == list(range(len(X)))


def test_kernels_decide_the_order_where_tables_do_not(rng):
    X, K = np.ones((8, 2)), near(rng.standard_normal((8, 2)))
    rows, _ = order_tables(X.shape, [(X, (0, 1)), (K, (0, 0))])
    p = rng.permutation(8)
    again, _ = order_tables(X.shape, [(X, (0, 1)), (K[np.ix_(p, p)], (0, 0))])
    np.testing.assert_array_equal(K[np.ix_(rows, rows)], K[np.ix_(p, p)][np.ix_(again, again)])
