"""Features side by side, what they look like, their names."""

import numpy as np
import pandas as pd
import pytest
import scipy.sparse

from absentia import Views
from absentia.data import (
    column_scales,
    concatenate_features,
    drop_features,
    looks_like_counts,
    name_features,
)


def test_features_stand_side_by_side_and_what_is_absent_is_nan():
    a = np.array([[1.0, 2.0], [np.nan, np.nan], [5.0, np.nan]])
    b = scipy.sparse.csr_array(np.array([[0.0, 7.0], [8.0, 0.0], [0.0, 0.0]]))
    views = Views.from_dict({"a": a, "b": b})
    keep = np.ones(views.observed.shape, bool)
    keep[2, 1] = False
    wanted = [[1, 2, 0, 7], [np.nan, np.nan, 8, 0], [5, np.nan, np.nan, np.nan]]
    np.testing.assert_array_equal(concatenate_features(views.hide(keep)), wanted)


def test_scales_are_those_of_the_rows_that_have_the_column_and_a_constant_has_none():
    table = np.array([[1.0, 0.1, np.nan], [3.0, 0.1, np.nan], [np.nan, 0.1, np.nan]])
    mean, scale = column_scales(table)
    np.testing.assert_allclose(mean, [2, 0.1, 0])
    np.testing.assert_array_equal(scale, [1, 1, 1])
    np.testing.assert_allclose(column_scales(4 * table)[1][0], 4)


COUNTS = np.random.default_rng(0).poisson(0.8, size=(30, 20)).astype(float)


def are_counts(table):
    return looks_like_counts(Views.from_dict({"a": table}), "a")


@pytest.mark.parametrize("form", [np.asarray, scipy.sparse.csr_array])
def test_counts_are_whole_with_many_zeros(form):
    assert are_counts(form(COUNTS))
    assert not are_counts(form(COUNTS * 0.5))
    assert not are_counts(form(COUNTS + 1))
    assert not are_counts(form((COUNTS > 0).astype(float)))  # sets, not counts
    assert not are_counts(form(-COUNTS))
    assert not are_counts(form(np.zeros((2, 2))))


def test_gaps_do_not_hide_counts():
    gappy = COUNTS.copy()
    gappy[0, :3] = np.nan
    assert are_counts(gappy)


def test_categories_are_no_counts():
    frame = pd.DataFrame({f"c{k}": ["a", "b", "c"] * 4 for k in range(6)}).assign(age=range(12))
    assert not are_counts(frame)
    counted = pd.DataFrame(COUNTS[:12], columns=[f"n{k}" for k in range(20)])
    assert are_counts(pd.concat([frame, counted], axis=1).drop(columns="age"))


def test_names_and_levels_are_given():
    views = Views.from_dict({"a": np.array([[0.0, 5.0], [1.0, 6.0], [np.nan, 7.0]]), "b": np.ones((3, 1))})
    found = name_features(views, {"a": ["sex", "age"]}, {"a": {"sex": ["f", "m"]}})
    assert found.features("a").tolist() == ["sex", "age"]
    assert found.levels("a") == {"sex": ("f", "m")}
    assert found.features("b") is None
    assert views.features("a") is None


BAD = [
    ({"a": ["x"]}, {}, "1 different names for 2 features"),
    ({"a": ["x", "x"]}, {}, "1 different names for 2 features"),
    ({"a": ["x", "y"]}, {"a": {"z": ["f"]}}, "levels of 'z', which is none of its features"),
    ({"a": ["x", "y"]}, {"a": {"x": ["f"]}}, "column 'x': values do not go with its 1 levels"),
    ({"a": ["x", "y"]}, {"a": {"x": ["f", "f"]}}, "values do not go with its 2 levels"),
    ({"a": ["x", "y"]}, {"a": {"y": ["f", "g"]}}, "values do not go with its 2 levels"),
    ({}, {"a": {"x": ["f", "g"]}}, "0 different names for 2 features"),
    ({"c": ["x"]}, {}, "'c'"),
]


@pytest.mark.parametrize(("features", "levels", "sentence"), BAD)
def test_names_that_do_not_fit_are_refused(features, levels, sentence):
    views = Views.from_dict({"a": np.array([[0.0, 0.5], [1.0, 6.0]])})
    with pytest.raises((ValueError, KeyError), match=sentence):
        name_features(views, features, levels)


def test_a_feature_is_taken_away_and_who_had_no_other_lacks_the_view():
    frame = pd.DataFrame({"y": ["a", "b", "c"], "x": [1.0, np.nan, 3.0]}, index=["p", "q", "r"])
    views = Views.from_dict({"v": frame, "w": pd.DataFrame({"z": [1.0, 1.0]}, index=["q", "s"])})
    left = drop_features(views, "v", ["y"])
    assert left.ids.tolist() == views.ids.tolist()
    assert left.features("v").tolist() == ["x"]
    assert left.levels("v") == {}
    assert left.block("v").ravel().tolist() == [1, 3]
    assert left.observed.tolist() == [[True, False], [False, True], [True, False], [False, True]]
    assert drop_features(views, "w", ["z"]).names == ("v",)
    with pytest.raises(ValueError, match="view 'v' has no feature 'k'"):
        drop_features(views, "v", ["k"])


def test_sparse_views_stay_sparse():
    views = Views.from_dict({"v": scipy.sparse.csr_array(np.eye(3))})
    left = drop_features(name_features(views, {"v": ["a", "b", "c"]}, {}), "v", ["b"])
    assert scipy.sparse.issparse(left.block("v"))
    np.testing.assert_array_equal(left.block("v").toarray(), np.eye(3)[:, [0, 2]])
