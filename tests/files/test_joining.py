"""Views from files of their own become one data set."""

import numpy as np
import pandas as pd
import pytest
import scipy.sparse

from absentia import KernelViews, Views
from absentia.files._frames import as_views
from absentia.files._joining import frame_of, frame_of_one, joined


def test_a_view_becomes_a_frame_and_a_view_again():
    frame = pd.DataFrame({"a": [1.0, np.nan, 3.0], "s": ["x", None, "y"]}, index=["p", "q", "r"])
    frame.loc["q", "a"] = 2
    views = as_views({"v": frame})
    back = as_views({"v": frame_of(views, "v")})
    np.testing.assert_array_equal(back.block("v"), views.block("v"))
    assert back.levels("v") == views.levels("v")
    assert back.features("v").tolist() == ["a", "s"]


def test_names_are_made_and_sparse_becomes_dense():
    views = Views.from_dict({"v": scipy.sparse.csr_array(np.eye(2))}, ids=[1, 2])
    frame = frame_of_one(views)
    assert list(frame) == ["v_0", "v_1"]
    assert frame.index.tolist() == ["1", "2"]
    np.testing.assert_array_equal(frame.to_numpy(), np.eye(2))


def test_kernels_and_several_views_do_not_go_with_tables():
    with pytest.raises(ValueError, match="holds kernels"):
        frame_of_one(KernelViews.from_dense(np.eye(2)[None]))
    with pytest.raises(ValueError, match=r"holds 2 views \(a, b\)"):
        frame_of_one(Views.from_dict({"a": np.eye(2), "b": np.eye(2)}))


def test_frames_are_joined_by_id():
    one, two = (
        pd.DataFrame({"a": [1.0, 2.0]}, index=["p", "q"]),
        pd.DataFrame({"b": [3.0, 4.0]}, index=["r", "q"]),
    )
    opened = joined({"one": one, "two": two}, ["note"], {"one": {"log": True}})
    assert opened.data.ids.tolist() == ["p", "q", "r"]
    assert (opened.notes, opened.per_view, opened.labels) == (("note",), {"one": {"log": True}}, None)
