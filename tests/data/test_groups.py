"""Groups of samples: how they are given, that slices keep them, and that folds deal them as a whole."""

import numpy as np
import pandas as pd
import pytest

from absentia import KernelViews, ViewKernels, Views
from absentia.data import find_repeats, make_folds, order_for_learning
from absentia.methods.completion import CVKT
from absentia.tasks import order_samples

PATIENT = np.repeat(np.arange(12), [1, 4, 2, 3, 5, 1, 2, 4, 3, 2, 1, 2])  # 30 samples


def make_views(rng):
    X = rng.normal(size=(30, 4))
    Z = np.where(rng.random((30, 1)) < 0.3, np.nan, rng.normal(size=(30, 3)))
    return Views.from_dict({"x": X, "z": Z}, ids=[f"s{k}" for k in range(30)])


@pytest.fixture
def views():
    return make_views(np.random.default_rng(0))


def are_same_partition(a, b):
    return bool(((a[:, None] == a) == (b[:, None] == b)).all())


def test_groups_are_given_by_order_or_by_id(views):
    given = views.with_groups(PATIENT)
    assert are_same_partition(given.groups, PATIENT)
    assert given.n_groups == 12
    assert views.groups is None
    assert views.n_groups is None
    by_id = pd.Series([f"p{k}" for k in PATIENT], index=views.ids).sample(frac=1, random_state=0)
    assert are_same_partition(views.with_groups(by_id).groups, PATIENT)
    assert are_same_partition(views.with_groups(by_id.to_dict()).groups, PATIENT)
    assert given.with_groups(None).groups is None


def test_a_missing_group_is_one_of_its_own(views):
    labels = [None, np.nan, *PATIENT[2:].tolist()]
    assert views.with_groups(labels).n_groups == 12 + 1  # the first is alone anyway
    assert views.with_groups(["a", float("nan"), None, *["b"] * 27]).n_groups == 4


def test_what_are_no_groups_is_refused(views):
    with pytest.raises(ValueError, match="all samples are of one group"):
        views.with_groups(np.zeros(30))
    with pytest.raises(ValueError, match="for 30 samples"):
        views.with_groups(PATIENT[:5])


def test_ids_tell_groups_by_the_rule_of_the_warning():
    ids = ["P1_v1", "P1_v2", "P2_v1", "P2_v2", "P3_v1"]
    views = Views.from_dict({"x": np.random.default_rng(0).normal(size=(5, 3))}, ids=ids)
    (found,) = find_repeats(views)
    assert "--groups id " in found.sentence
    assert views.with_groups("id").groups.tolist() == [0, 0, 1, 1, 2]
    assert find_repeats(views.with_groups("id")) == []
    assert len(find_repeats(views.with_groups([0, 1, 2, 2, 3]))) == 1  # P1 still is on both sides
    with pytest.raises(ValueError, match="do not tell which samples belong together"):
        Views.from_dict({"x": np.eye(3)}, ids=["Ann", "Bob", "Cy"]).with_groups("id")


def test_equal_values_ask_for_a_column():
    X = np.random.default_rng(0).normal(size=(40, 30))[np.repeat(np.arange(20), 2)]
    (found,) = find_repeats(Views.from_dict({"x": X}))
    assert "--groups COLUMN" in found.sentence
    assert find_repeats(Views.from_dict({"x": X}).with_groups(np.repeat(np.arange(20), 2))) == []


def test_all_that_is_made_of_samples_keeps_groups(views):
    grouped = views.with_groups(PATIENT)
    some = np.array([7, 3, 20, 4])
    assert grouped[some].groups.tolist() == grouped.groups[some].tolist()
    assert grouped.select(["z"]).groups is not None
    assert grouped.hide(np.ones_like(views.observed)).groups is not None
    makes = ViewKernels()
    kernels = makes.fit_transform(grouped)
    assert kernels.groups.tolist() == grouped.groups.tolist()
    assert makes._train.groups is None  # models are saved without
    assert makes.transform(grouped[some]).groups.tolist() == grouped.groups[some].tolist()
    assert kernels[np.ix_(some, some)].groups.tolist() == grouped.groups[some].tolist()
    completed = CVKT().fit_transform(kernels)
    assert completed.observed.all()
    assert completed.groups.tolist() == grouped.groups.tolist()
    assert KernelViews.from_dense(np.eye(30)[None]).with_groups(PATIENT).n_groups == 12


def count_split_groups(folds, groups):
    return sum(len(np.intersect1d(groups[a], groups[b])) for a, b in folds)


@pytest.mark.parametrize("seed", range(5))
def test_no_group_is_on_both_sides_of_a_fold(seed):
    rng = np.random.default_rng(seed)
    groups, y = rng.permutation(PATIENT), rng.integers(0, 3, 30)
    folds = make_folds(np.arange(30), y, 4, groups=groups)
    assert count_split_groups(folds, groups) == 0
    assert sorted(np.concatenate([b for _, b in folds])) == list(range(30))
    assert count_split_groups(make_folds(np.arange(30), y, 4), groups) > 0


def test_folds_of_groups_are_stratified():
    y = (np.arange(40) // 2) % 2  # patients of two visits, of one class each
    groups = np.arange(40) // 2
    for a, b in make_folds(np.arange(40), y, 5, groups=groups):
        assert np.bincount(y[b]).tolist() == [4, 4]
        assert np.bincount(y[a]).tolist() == [16, 16]


def test_groups_of_the_rarest_class_are_dealt_apart():
    """Two small sites with one sample of a fifth class each would be put together beside a large one."""
    groups = np.concatenate([np.zeros(24), np.full(9, 1), np.full(9, 2)]).astype(int)
    y = np.concatenate([np.arange(24) % 4, np.arange(8) % 4, [4], np.arange(8) % 4, [4]])
    for seed in range(5):
        for a, _ in make_folds(np.arange(42), y, 2, seed, groups):
            assert 4 in y[a]


def test_there_are_no_more_folds_than_groups():
    folds = make_folds(np.arange(30), np.zeros(30, int), 5, groups=np.arange(30) % 3)
    assert sorted(len(b) for _, b in folds) == [10, 10, 10]


def test_names_of_groups_do_not_matter():
    rng = np.random.default_rng(0)
    y, names = rng.integers(0, 2, 30), rng.permutation(12)
    one = make_folds(np.arange(30), y, 4, groups=PATIENT)
    other = make_folds(np.arange(30), y, 4, groups=names[PATIENT])
    for (_, b), (_, c) in zip(one, other, strict=True):
        assert b.tolist() == c.tolist()


def test_groups_of_one_are_none():
    y = np.arange(30) % 2
    one, other = make_folds(np.arange(30), y, 4), make_folds(np.arange(30), y, 4, groups=np.arange(30))
    assert all(np.array_equal(b, c) for (_, b), (_, c) in zip(one, other, strict=True))


@pytest.mark.parametrize("find_order", [lambda X, y: order_for_learning(X, y)[1], order_samples])
def test_samples_that_are_alike_in_several_groups_cut_the_same_folds_in_any_order(find_order):
    values = np.array([0, 0, 1, 0, 1, 1, 0, 0, 2, 1, 1, 2, 0, 2, 2, 1, 2, 2], dtype=float)
    groups, y = np.repeat(np.arange(6), 3), np.zeros(18, dtype=int)
    found = set()
    for seed in range(6):
        drawn = np.random.default_rng(seed).permutation(18)
        views = Views.from_dict({"x": values[drawn, None]}).with_groups(groups[drawn])
        folds = make_folds(find_order(views, y), y, 3, groups=views.groups)
        found.add(frozenset(frozenset(groups[drawn][b].tolist()) for _, b in folds))
    assert len(found) == 1
