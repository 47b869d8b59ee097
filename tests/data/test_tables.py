"""Tables as they come, and back to data frames."""

import numpy as np
import pandas as pd
import pytest
import scipy.sparse
from sklearn.model_selection import KFold

from absentia import KernelViews, ViewEmbedding, Views
from conftest import random_problem


@pytest.mark.parametrize(
    ("table", "dtype"),
    [
        ([[1, 2]], np.float64),
        (np.ones((1, 2), np.float32), np.float32),
        (np.ones((1, 2), np.float16), np.float64),
        (np.ones((1, 2), bool), np.float64),
        (np.array([[1, True]], object), np.float64),
        (scipy.sparse.csr_array(np.ones((1, 2), np.float32)), np.float32),
        (scipy.sparse.coo_array(np.ones((1, 2), int)), np.float64),
    ],
    ids=str,
)
def test_numbers_of_any_kind_become_floats_and_single_precision_stays(table, dtype):
    found = Views.from_dict({"a": table}).block("a")
    assert found.dtype == dtype
    assert found.shape == (1, 2)
    assert scipy.sparse.issparse(found) == scipy.sparse.issparse(table)


def test_what_is_masked_or_none_is_missing():
    masked = np.ma.array([[1.0, 2.0]], mask=[[False, True]])
    for table in (
        masked,
        np.ma.array([[1, 2]], mask=[[0, 1]], dtype=object),
        np.array([[1.0, None]], object),
    ):
        np.testing.assert_array_equal(Views.from_dict({"a": table}).block("a"), [[1.0, np.nan]])


@pytest.mark.parametrize(
    ("table", "sentence"),
    [
        ([["1.5", "2"]], "view 'a': values of type <U3 are not numbers; encode them"),
        (np.array([[1, "2"]], object), "view 'a': values of type object are not numbers, e.g. '2'"),
        ([[1j, 2.0]], "view 'a': values of type complex128 are not numbers"),
        ([[1.0], [1.0, 2.0]], "view 'a' is no table of numbers"),
        (np.array([[10**400]], object), "view 'a' is no table of numbers"),
        (np.ones(3), r"view 'a' has shape \(3,\); wanted two dimensions"),
        (np.ones((3, 0)), "at least one feature"),
    ],
    ids=str,
)
def test_what_is_no_table_is_refused_by_view(table, sentence):
    with pytest.raises(ValueError, match=sentence):
        Views.from_dict({"a": table})


def test_a_frame_brings_its_ids_and_features():
    frame = pd.DataFrame({"p": [1, 2], "q": [0.5, np.nan]}, index=["x", "y"])
    views = Views.from_dict({"a": frame})
    assert views.ids.tolist() == ["x", "y"]
    assert views.features("a").tolist() == ["p", "q"]
    np.testing.assert_array_equal(views.block("a"), [[1, 0.5], [2, np.nan]])
    assert views.levels("a") == {}
    coded = Views.from_dict(
        {"a": frame.assign(r=["u", None], s=pd.Categorical(["lo", "hi"], ["lo", "mid", "hi"]))}
    )
    assert coded.levels("a") == {"r": ("u",), "s": ("lo", "mid", "hi")}
    np.testing.assert_array_equal(coded.block("a"), [[1, 0.5, 0, 0], [2, np.nan, np.nan, 2]])
    assert Views.from_dict({"a": frame.to_numpy()}).ids.tolist() == [0, 1]


def test_a_frame_of_another_library_has_its_ids_in_a_column():
    polars = pytest.importorskip("polars")
    columns = {"age": [50, None], "stage": ["II", ""], "Patient": ["x", "y"], "well": [True, False]}
    views = Views.from_dict({"a": polars.DataFrame(columns)})
    assert views.ids.tolist() == ["x", "y"]
    assert views.features("a").tolist() == ["age", "stage", "well"]
    assert views.levels("a") == {"stage": ("II",)}
    np.testing.assert_array_equal(views.block("a"), [[50, 0, 1], [np.nan, np.nan, 0]])
    with pytest.raises(ValueError, match="view 'a': a polars frame has no index; call the column"):
        Views.from_dict({"a": polars.DataFrame({"age": [1]})})
    import datetime

    days = {"id": ["x"], "day": [datetime.date(2020, 1, 1)]}
    with pytest.raises(ValueError, match=r"'day' \(dates\)"):
        Views.from_dict({"a": polars.DataFrame(days)})


@pytest.mark.parametrize(
    ("ids", "features", "sentence"),
    [
        (["x", None], ["p"], r"view 'a': the id of sample 1 is missing \((None|nan)\)"),
        ([1.0, np.nan], ["p"], "the id of sample 1 is missing"),
        (pd.MultiIndex.from_tuples([("x", np.nan), ("y", 1)]), ["p"], "the id of sample 0 is missing"),
        (
            ["x", "y"],
            ["p", "q", 1, "1", "p"],
            r"view 'a': 2 column name\(s\) appear more than once, e.g. 'p'",
        ),
    ],
)
def test_ids_are_there_and_features_differ(ids, features, sentence):
    with pytest.raises(ValueError, match=sentence):
        Views.from_dict({"a": pd.DataFrame(np.ones((2, len(features))), ids, features)})


def test_arrays_have_one_row_for_every_sample_and_share_their_ids():
    arrays = {"a": np.ones((2, 1)), "b": [[1.0, 2.0]] * 2}
    views = Views.from_dict(arrays, ids=["x", "y"])
    assert views.ids.tolist() == ["x", "y"]
    assert views.observed.all()
    assert views.features("a") is None
    assert Views.from_dict(arrays).ids.tolist() == [0, 1]
    for ids, sentence in (([{}, {}], "cannot be an id"), ("xy", "the ids are a str")):
        with pytest.raises(ValueError, match=sentence):
            Views.from_dict(arrays, ids=ids)
    with pytest.raises(ValueError, match="view 'b' has 3 rows but view 'a' has 2"):
        Views.from_dict({"a": np.ones((2, 1)), "b": np.ones((3, 1))})


@pytest.fixture
def views():
    expr = pd.DataFrame({"g1": [1.0, 2.0, 3.0], "g2": [4.0, np.nan, 6.0]}, index=["a", "b", "d"])
    img = pd.DataFrame({"p": [7.0, 8.0]}, index=["b", "c"])
    return Views.from_dict({"expr": expr, "img": img})


def test_a_view_comes_back_as_it_went_in(views):
    expected = pd.DataFrame({"g1": [1.0, 2.0, 3.0], "g2": [4.0, np.nan, 6.0]}, index=["a", "b", "d"])
    pd.testing.assert_frame_equal(views["expr"], expected)
    pd.testing.assert_frame_equal(views.to_frame("expr"), expected)
    again = Views.from_dict({"expr": views["expr"], "img": views["img"]})
    np.testing.assert_array_equal(again.observed, views.observed)


def test_those_who_lack_the_view_are_kept_if_asked(views):
    kept = views.to_frame("img", absent="keep")
    assert list(kept.index) == ["a", "b", "c", "d"] == views.ids.tolist()
    np.testing.assert_array_equal(kept["p"], [np.nan, 7, 8, np.nan])


def test_all_views_side_by_side(views):
    wide = views.to_frame()
    assert wide.columns.tolist() == [("expr", "g1"), ("expr", "g2"), ("img", "p")]
    assert wide.columns.names == ["view", "feature"]
    assert wide.loc["d", ("expr", "g2")] == 6
    assert np.isnan(wide.loc["c", ("expr", "g1")])
    nobody = views.hide(np.array([[1, 1], [1, 1], [1, 1], [0, 0]], bool))
    assert nobody.to_frame().index.tolist() == ["a", "b", "c"]
    assert nobody.to_frame(absent="keep").index.tolist() == ["a", "b", "c", "d"]


def test_positions_still_mean_samples(views):
    assert views[[x == "b" for x in views.ids]].ids.tolist() == ["b"]
    assert views[1:3].ids.tolist() == ["b", "c"]
    assert [len(views[test]) for _, test in KFold(2).split(views)] == [2, 2]
    with pytest.raises(KeyError, match=r"no view 'exp'; the views are \['expr', 'img'\]"):
        views["exp"]


def test_samples_that_come_twice_stay_twice(views):
    twice = views[[1, 1, 2]]
    assert twice.to_frame("expr", absent="keep").index.tolist() == ["b", "b", "c"]
    assert twice.to_frame().shape == (3, 3)


def test_features_without_names_are_numbered_and_the_frame_is_the_users_own():
    views = Views.from_dict({"x": np.arange(6.0).reshape(3, 2)})
    frame = views["x"]
    assert frame.columns.tolist() == [0, 1]
    frame.iloc[0, 0] = 99.0
    assert views.block("x")[0, 0] == 0


def test_sparse_views_stay_sparse():
    views = Views.from_dict({"s": scipy.sparse.csr_array(np.eye(3)), "x": [[1.0], [np.nan], [2.0]]})
    assert all(isinstance(dtype, pd.SparseDtype) for dtype in views["s"].dtypes)
    np.testing.assert_array_equal(views["s"].to_numpy(), np.eye(3))
    np.testing.assert_array_equal(views.to_frame("s", absent="keep").to_numpy(), np.eye(3))
    np.testing.assert_array_equal(views.to_frame().to_numpy()[:, :3], np.eye(3))


def test_categories_come_back_as_their_levels():
    sex = pd.Categorical(["f", None, "m"], categories=["m", "f", "x"])
    clinical = pd.DataFrame(
        {"age": [50.0, 60.0, 70.0], "sex": sex, "smokes": ["no", "yes", None]}, index=list("abc")
    )
    views = Views.from_dict({"clinical": clinical, "img": pd.DataFrame({"p": [1.0]}, index=["d"])})
    frame = views["clinical"]
    assert frame["sex"].tolist()[::2] == ["f", "m"]
    assert frame["sex"].isna().tolist() == [False, True, False]
    assert frame["smokes"].tolist()[:2] == ["no", "yes"]
    assert frame["age"].tolist() == [50, 60, 70]
    kept = views.to_frame()
    assert kept[("clinical", "sex")].isna().tolist() == [False, True, False, True]
    again = Views.from_dict({"clinical": frame, "img": views["img"]})
    assert again.levels("clinical") == views.levels("clinical")
    np.testing.assert_array_equal(again.block("clinical"), views.block("clinical"))


def test_a_kernel_is_a_frame_of_ids_by_ids():
    kv = KernelViews.from_blocks({"seq": (["a", "b"], [[1.0, 0.5], [0.5, 1.0]]), "img": (["c"], [[2.0]])})
    expected = pd.DataFrame([[1.0, 0.5], [0.5, 1.0]], index=["a", "b"], columns=["a", "b"])
    pd.testing.assert_frame_equal(kv["seq"], expected)
    kept = kv.to_frame("seq", absent="keep")
    assert kept.shape == (3, 3)
    assert kept.loc["c"].isna().all()
    rows = kv[np.ix_([1, 2], [0, 1])]
    assert rows["seq"].index.tolist() == ["b"]
    assert rows["seq"].columns.tolist() == ["a", "b"]
    assert kv[:2].ids.tolist() == ["a", "b"]
    again = KernelViews.from_dense({"seq": kv["seq"], "img": kv["img"]})
    np.testing.assert_array_equal(again.observed, kv.observed)


@pytest.mark.parametrize("what", ["views", "kernels"])
def test_a_word_that_is_none_is_refused(what, views):
    data = views if what == "views" else random_problem()
    with pytest.raises(ValueError, match="no absent 'kep'; did you mean keep"):
        data.to_frame(data.names[0], absent="kep")


def test_frames_of_transformers_have_the_ids(views):
    embedding = ViewEmbedding(1)
    assert isinstance(embedding.fit_transform(views), np.ndarray)
    embedding.set_output(transform="pandas")
    assert embedding.fit_transform(views).index.tolist() == views.ids.tolist()
    assert embedding.transform(views[[2, 0]]).index.tolist() == views.ids[[2, 0]].tolist()
