"""Views and kernels as data frames, with ids and names where they belong."""

import subprocess
import sys

import numpy as np
import pandas as pd
import pytest
import scipy.sparse
from sklearn.model_selection import KFold

from absentia import KernelViews, ViewEmbedding, Views
from conftest import random_problem


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


def test_filled_rows_go_where_views_are_absent(views):
    full = views.completed({"expr": [[9.0, 9.5]], "img": [[0.0], [1.0]]})
    assert full.observed.all()
    np.testing.assert_array_equal(full.block("expr"), [[1, 4], [2, np.nan], [9, 9.5], [3, 6]])
    np.testing.assert_array_equal(full.block("img").ravel(), [0, 7, 8, 1])
    assert full.features("expr").tolist() == ["g1", "g2"]
    sparse = Views.from_dict(
        {"s": scipy.sparse.csr_array([[1.0, 0.0], [np.nan, np.nan], [0.0, 2.0]]), "x": np.ones((3, 1))}
    )
    block = sparse.completed({"s": [[0.0, 5.0]], "x": np.zeros((0, 1))}).block("s")
    assert scipy.sparse.issparse(block)
    np.testing.assert_array_equal(block.toarray(), [[1, 0], [0, 5], [0, 2]])


def test_frames_of_transformers_have_the_ids(views):
    from absentia.data import labelled

    rows = np.zeros((2, 1))
    assert labelled(rows, np.array(["a", "b"]), ViewEmbedding()) is rows
    told = ViewEmbedding().set_output(transform="pandas")
    assert labelled(rows, np.array(["a", "b"]), told).index.tolist() == ["a", "b"]


def test_without_pandas_a_sentence_says_what_to_install():
    code = """
import sys
sys.modules["pandas"] = None
import numpy as np
from absentia import Views
try:
    Views.from_dict({"x": np.eye(2)})["x"]
except ImportError as error:
    print(error)
"""
    said = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True).stdout
    assert said == "to_frame needs pandas: pip install pandas\n"
