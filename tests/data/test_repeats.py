"""Samples that seem to be of one patient, by id and by value."""

import numpy as np
import pandas as pd
import pytest

from absentia import KernelViews, Views
from absentia.data import find_repeats


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
