"""Views from files of their own become one data set."""

import numpy as np
import pandas as pd
import pytest
import scipy.sparse

from absentia import KernelViews, Views, io
from absentia.data import match_ids
from absentia.files._folder import _check_id_overlap


def test_a_view_beside_tables_stays_what_it_is(tmp_path):
    frame = pd.DataFrame({"a": [1.0, 2.0, 3.0], "s": ["x", None, "y"]}, index=["p", "q", "r"])
    views = Views.from_dict({"v": frame})
    io.write(tmp_path / "v.npz", views)
    (tmp_path / "w.csv").write_text("id,b\nr,3\ns,4\n")
    both = io.read(tmp_path)
    assert both.ids.tolist() == ["p", "q", "r", "s"]
    np.testing.assert_array_equal(both.block("v"), views.block("v"))
    assert both.levels("v") == views.levels("v")
    assert both.features("v").tolist() == ["a", "s"]


def test_names_are_made_and_sparse_becomes_dense(tmp_path):
    scipy.sparse.save_npz(tmp_path / "v.npz", scipy.sparse.csr_array([[1.0, 0], [0, 1], [2, 0]]))
    (tmp_path / "w.csv").write_text("id,b\n2,3\n7,4\n")
    both = io.read(tmp_path)
    assert both.ids.tolist() == ["0", "1", "2", "7"]
    assert both.features("v").tolist() == ["v_0", "v_1"]
    np.testing.assert_array_equal(both.block("v"), [[1, 0], [0, 1], [2, 0]])


def test_kernels_and_several_views_do_not_go_with_tables(tmp_path):
    (tmp_path / "w.csv").write_text("id,b\n0,3\n1,4\n")
    io.write(tmp_path / "k.npz", KernelViews.from_dense(np.eye(2)[None]))
    with pytest.raises(io.FileError, match=r"k\.npz: holds kernels"):
        io.read(tmp_path)
    io.write(tmp_path / "k.npz", Views.from_dict({"a": np.eye(2), "b": np.eye(2)}))
    with pytest.raises(io.FileError, match=r"k\.npz: holds 2 views \(a, b\)"):
        io.read(tmp_path)


@pytest.mark.parametrize(
    ("one", "other"),
    [
        ("P-001", "p_1"),
        ("7", "007"),
        ("7.0", "7"),
        (" a.b ", "AB"),
        ("e\u0301", "\u00e9"),
        ("a\u200b", "a"),
        ("TCGA-01-02", "tcga.1.2"),
    ],
)
def test_what_people_write_differently(one, other):
    assert match_ids([one, "same"], [other, "same"]) == [(one, other)]


@pytest.mark.parametrize(("one", "other"), [("10", "1"), ("P1", "P2"), ("100", "1"), ("a", "b")])
def test_what_is_different(one, other):
    assert match_ids([one], [other]) == []


def test_some_ids_that_differ_are_pointed_out():
    ids = {"expr": ["P-1", "P-2", "P-3"], "clin": ["P-1", "p2", "P-9"]}
    [sentence] = _check_id_overlap(ids, {"expr": ["g"], "clin": ["age"]})
    assert "view 'clin': 1 of its ids, e.g. 'p2', differ only in case" in sentence
    assert "'P-2' of 'expr'" in sentence
    assert _check_id_overlap({"a": ["1", "2"], "b": ["2", "3"]}, {"a": [], "b": []}) == []


def test_nothing_in_common_is_an_error_if_it_could_be():
    columns = {"expr": ["g1"], "clin": ["age"]}
    with pytest.raises(ValueError, match="it has no sample in common with any other view"):
        _check_id_overlap({"expr": ["P1", "P2"], "clin": ["p-1", "p-2"]}, columns)
    assert (
        _check_id_overlap({"expr": ["a"], "clin": ["b"]}, columns) == []
    )  # of which views warn themselves


def test_a_table_that_is_transposed_is_noticed():
    ids = {"clin": ["p", "q", "r"], "expr": ["g1", "g2"]}
    with pytest.raises(ValueError, match=r"view 'expr' has no sample in common .* transposed"):
        _check_id_overlap(ids, {"clin": ["age"], "expr": ["p", "q", "s"]})
