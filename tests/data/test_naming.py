"""Names given to features, and a feature taken away."""

import numpy as np
import pandas as pd
import pytest
import scipy.sparse

from absentia import Views
from absentia.data import named, without_features


def test_names_and_levels_are_given():
    views = Views.from_dict({"a": np.array([[0.0, 5.0], [1.0, 6.0], [np.nan, 7.0]]), "b": np.ones((3, 1))})
    found = named(views, {"a": ["sex", "age"]}, {"a": {"sex": ["f", "m"]}})
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
        named(views, features, levels)


def test_a_feature_is_taken_away_and_who_had_no_other_lacks_the_view():
    frame = pd.DataFrame({"y": ["a", "b", "c"], "x": [1.0, np.nan, 3.0]}, index=["p", "q", "r"])
    views = Views.from_dict({"v": frame, "w": pd.DataFrame({"z": [1.0, 1.0]}, index=["q", "s"])})
    left = without_features(views, "v", ["y"])
    assert left.ids.tolist() == views.ids.tolist()
    assert left.features("v").tolist() == ["x"]
    assert left.levels("v") == {}
    assert left.block("v").ravel().tolist() == [1, 3]
    assert left.observed.tolist() == [[True, False], [False, True], [True, False], [False, True]]
    assert without_features(views, "w", ["z"]).names == ("v",)
    with pytest.raises(ValueError, match="view 'v' has no feature 'k'"):
        without_features(views, "v", ["k"])


def test_sparse_views_stay_sparse():
    views = Views.from_dict({"v": scipy.sparse.csr_array(np.eye(3))})
    left = without_features(named(views, {"v": ["a", "b", "c"]}, {}), "v", ["b"])
    assert scipy.sparse.issparse(left.block("v"))
    np.testing.assert_array_equal(left.block("v").toarray(), np.eye(3)[:, [0, 2]])
