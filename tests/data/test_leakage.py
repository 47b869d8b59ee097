"""Columns that give the target away, and samples that seem to be of one patient."""

import numpy as np
import pandas as pd
import pytest
from scipy.stats import norm

from absentia import KernelViews, Views
from absentia.data import find_leaks, find_repeats


def noise(n, p, seed=0):
    return np.random.default_rng(seed).normal(size=(n, p))


def found(X, y, **options):
    views = Views.from_dict({"v": X})
    return [one.column for one in find_leaks(views, y, **options)]


Y = np.arange(200) % 2


def cluster(y, wrong, seed=0):
    """Three levels: two of one class, one of the other, but for a few samples."""
    rng = np.random.default_rng(seed)
    levels = np.where(y == 0, 0.0, rng.integers(1, 3, len(y)))
    levels[np.flatnonzero(y == 0)[:wrong]] = 1.0
    return levels


def test_a_category_that_is_wrong_about_a_few_is_found_among_many_columns():
    X = noise(200, 300)
    X[:, 7] = cluster(Y, 8)  # 8 of the 100 of one class: 96 %
    (leak,) = find_leaks(Views.from_dict({"a": noise(200, 5), "v": X}), Y)
    assert (leak.view, leak.column, leak.numbers) == ("v", "v_7", False)
    assert leak.score == pytest.approx(0.96)
    assert leak.next_best < 0.75


@pytest.mark.parametrize("y", [Y, np.sort(Y)], ids=["mixed", "sorted by class"])
def test_noise_is_not_a_leak(y):
    columns = noise(200, 400)
    assert found(columns, y) == []
    assert found((columns > 0.5) * 1.0, y) == []
    assert found(np.zeros((200, 2)), y) == []


@pytest.mark.parametrize("n", [20, 60])
def test_nor_is_the_best_of_very_many_columns_of_noise(n):
    assert found(noise(n, 20_000), Y[:n]) == []


@pytest.mark.parametrize("seed", range(5))
def test_nor_is_a_marker_that_is_right_nine_times_of_ten(seed):
    X = noise(200, 50, seed)
    X[:, 0] += 2 * norm.ppf(0.9) * Y
    assert found(X, Y) == []


def test_nor_are_many_strong_markers_none_of_which_stands_apart():
    X = noise(200, 40)
    X += np.linspace(0, 5, 40) * Y[:, None]  # accuracies from one half to 99 % without a gap
    assert found(X, Y) == []


def test_a_score_from_which_classes_were_made_is_found():
    X = noise(200, 50)
    assert found(X, np.digitize(X[:, 3], [-0.5, 0.5])) == ["v_3"]


def test_that_a_value_is_there_may_tell_the_class():
    X = noise(200, 50)
    X[Y == 0, 4] = np.nan
    assert found(X, Y) == ["v_4"]


def test_a_column_that_most_samples_lack_is_not_judged_by_the_rest():
    X = noise(200, 50)
    X[12:, 4] = np.nan
    X[:12, 4] = Y[:12]
    assert found(X, Y) == []


def test_ids_tell_nothing():
    X = noise(200, 3)
    X[:, 1] = np.arange(200)
    assert found(X, np.random.default_rng(1).permutation(Y)) == []


@pytest.mark.parametrize("n", [30, 200])
def test_of_numbers_a_bent_copy_is_found_and_noise_is_not(n):
    X, y = noise(n, 50), noise(n, 1, 1)[:, 0]
    assert found(X, y, numbers=True) == []
    X[:, 5] = np.exp(y)
    X[:, 6] = y + noise(n, 1, 2)[:, 0]  # explains half
    assert found(X, y, numbers=True) == ["v_5"]


def test_several_leaks_stand_apart_together():
    X = noise(200, 50)
    X[:, 2], X[:, 9] = Y, cluster(Y, 6)
    assert found(X, Y) == ["v_2", "v_9"]


def test_few_samples_one_class_or_a_class_of_one_are_not_judged():
    X = np.column_stack([Y, Y])[:19].astype(float)
    assert found(X, Y[:19]) == []
    assert found(noise(200, 2), np.zeros(200)) == []
    assert found(noise(200, 2), np.arange(200) == 3) == []


def test_sparse_and_wide_views_are_judged_too():
    import scipy.sparse

    X = (noise(200, 3000) > 2) * 1.0
    X[:, 11] = Y
    assert found(scipy.sparse.csr_array(X), Y) == ["v_11"]


def test_the_sentence_has_names_numbers_and_what_to_do():
    (leak,) = find_leaks(Views.from_dict({"my view": pd.DataFrame({"cluster": cluster(Y, 8)})}), Y)
    text = leak._replace(next_best=0.58).sentence("the label 'IGHV'")
    for words in ("'cluster'", "'my view'", "'IGHV'", "96%", "58%", "--ignore 'my view:cluster'"):
        assert words in text
    assert "explains 99% of its variance" in leak._replace(score=0.99, numbers=True).sentence("y")


def groups(ids, X=None):
    X = np.random.default_rng(0).normal(size=(len(ids), 6)) if X is None else X
    frame = pd.DataFrame(X, index=[str(x) for x in ids])
    return [found.groups for found in find_repeats(Views.from_dict({"v": frame}))]


def visits(n, word, count=2):
    return [f"P{i:02d}{word}{k}" for i in range(n) for k in range(1, count + 1)]


@pytest.mark.parametrize("word", ["_visit", "-rep", ".t", "_day", " V", "_", "-0", "_S"])
def test_visits_of_patients_are_found_by_their_ids(word):
    ids = visits(8, word)
    assert groups(ids) == [[ids[k : k + 2] for k in range(0, 16, 2)]]


def test_one_patient_who_came_twice_is_enough_where_the_id_says_so():
    assert groups(["P1", "P1_followup", "P2", "P3"]) == [[["P1", "P1_followup"]]]


@pytest.mark.parametrize(
    "ids",
    [
        [f"sample_{k}" for k in range(40)],
        [f"sample_{k}" for k in range(1, 9)],
        [f"patient-{k:03d}" for k in range(30)],
        [f"{kind}_{k}" for kind in ("AML", "ALL") for k in range(20)],
        [f"plate{p}_{row}{k}" for p in (1, 2) for row in "ABCD" for k in range(1, 13)],
        [f"plate{p}_{k}" for p in range(9) for k in range(1, 13)],
        [f"TCGA-A{k % 7}-A{k:03d}" for k in range(40)],
        [f"H{k:03d}" for k in range(30)],
        [f"P{k:02d}_visit1" for k in range(30)],
    ],
)
def test_numbered_samples_are_no_repeats(ids):
    assert groups(ids) == []


def test_equal_rows_and_nearly_equal_rows_are_named():
    rng = np.random.default_rng(1)
    X = rng.normal(size=(60, 40))
    X[7], X[21] = X[3], X[20] + 0.02 * rng.normal(size=40)
    (found,) = find_repeats(Views.from_dict({"v": X}))
    assert found.groups == [["3", "7"], ["20", "21"]]
    for words in ("4 samples", "of 2", "'3' and '7'", "view 'v'", "both sides of a split"):
        assert words in found.sentence


def test_every_sample_twice_is_found_too():
    rng = np.random.default_rng(1)
    X = np.repeat(rng.normal(size=(30, 40)), 2, axis=0) + 0.05 * rng.normal(size=(60, 40))
    assert [len(one) for one in groups(range(60), X)[0]] == [2] * 30


@pytest.mark.parametrize("seed", range(10))
def test_samples_that_are_near_or_equal_by_chance_are_no_repeats(seed):
    rng = np.random.default_rng(seed)
    low = rng.normal(size=(100, 2))
    centres = 10 * np.eye(4, 6)[rng.integers(0, 4, 100)]
    views = {
        "noise": rng.normal(size=(100, 40)),
        "plane": low,
        "along two": low @ rng.normal(size=(2, 8)) + 0.01 * rng.normal(size=(100, 8)),
        "clusters": centres + rng.normal(size=(100, 6)),
        "mutations": (rng.random(size=(100, 38)) < 0.08) * 1.0,
        "counts": rng.poisson(1.0, size=(100, 5)) * 1.0,
        "sex and stage": np.column_stack([rng.integers(0, 2, 100), rng.integers(1, 5, 100)]) * 1.0,
    }
    assert find_repeats(Views.from_dict(views)) == []


def test_near_in_one_view_and_far_in_another_is_another_sample_unless_it_is_equal():
    rng = np.random.default_rng(2)
    X, Z = rng.normal(size=(60, 30)), rng.normal(size=(60, 30))
    X[1] = X[0] + 0.02 * rng.normal(size=30)
    assert find_repeats(Views.from_dict({"x": X, "z": Z})) == []
    X[1] = X[0]
    (found,) = find_repeats(Views.from_dict({"x": X, "z": Z}))
    assert found.groups == [["0", "1"]]


def test_of_kernels_the_ids_are_looked_at():
    blocks = {"k": (visits(4, "_visit"), np.eye(8))}
    (found,) = find_repeats(KernelViews.from_blocks(blocks))
    assert len(found.groups) == 4
