"""Which reader takes which file."""

import re

import numpy as np
import pytest
import scipy.io

import absentia
from absentia import AbsenceWarning, Views, io
from absentia.files import _reading


def test_a_file_is_read_by_its_ending(tmp_path):
    views = Views.from_dict({"a": np.eye(3)}, ids=["x", "y", "z"])
    back = absentia.read(absentia.write(tmp_path / "V.NPZ", views))
    np.testing.assert_array_equal(back.block("a"), views.block("a"))
    opened = io.open_data(tmp_path / "V.NPZ")
    assert (opened.table, opened.notes) == (None, ())


def test_every_reader_in_the_table_is_there():
    for name in _reading.READERS.values():
        assert callable(_reading._load(name))


def test_unknown_endings_and_missing_files_are_said(tmp_path):
    (tmp_path / "a.xyz").write_text("x")
    with pytest.raises(io.FileError, match=re.escape("a.xyz: is of no known kind")):
        io.read(tmp_path / "a.xyz")
    with pytest.raises(io.FileError, match="no such file"):
        io.read(tmp_path / "b.xyz")
    with pytest.raises(io.FileError, match="no such file"):
        io.read(tmp_path / "b.npz")


def test_what_an_npz_file_has_no_use_for_is_refused(tmp_path):
    io.write(tmp_path / "v.npz", Views.from_dict({"a": np.eye(3)}))
    with pytest.raises(io.FileError, match=r"id cannot be given for an \.npz file"):
        io.read(tmp_path / "v.npz", id="patient")


def test_labels_come_with_the_data_if_they_are_asked_for(tmp_path):
    import pandas as pd

    ids = list("abcd")
    pd.DataFrame({"x": range(4), "dx": ["p", "q", "", "q"], "size": [1.5, 2.5, None, 4]}, ids).to_csv(
        tmp_path / "t.csv"
    )
    data, y = io.read(tmp_path / "t.csv", labels="dx")
    assert data.features("t").tolist() == ["x", "size"]
    assert y.tolist() == ["p", "q", None, "q"]
    data, y = io.read(tmp_path / "t.csv", labels="t.csv:size")
    np.testing.assert_array_equal(y, [1.5, 2.5, np.nan, 4])
    assert io.read(tmp_path / "t.csv").features("t").tolist() == ["x", "dx", "size"]


@pytest.mark.parametrize(
    ("name", "how"),
    [
        ("a.rds", r"is an R object; .* write.csv\(readRDS\(FILE\), 'view.csv'\)"),
        ("a.RData", r"is objects of R; .* load\(FILE\)"),
        ("a.pkl", r"is a pickle, .* never loaded; .* pandas.read_pickle\(FILE\).to_csv\('view.csv'\)"),
    ],
)
def test_what_is_not_read_is_told_how_to_convert(tmp_path, name, how):
    (tmp_path / name).write_bytes(b"x")
    with pytest.raises(io.FileError, match=how):
        io.read(tmp_path / name)
    (tmp_path / "b.csv").write_text("id,x\np,1\nq,2\n")
    with pytest.warns(AbsenceWarning, match=f"1 file.* left out: {name}; {name} {how}"):
        io.read(tmp_path)


def test_vectors_are_vectors_and_bundles_are_spelled_out(tmp_path):
    cells = np.empty((1, 2), object)
    cells[0, :] = [np.eye(3), np.ones((3, 2))]
    scipy.io.savemat(tmp_path / "a.mat", {"y": np.arange(3.0), "X": cells, "s": {"t": np.arange(3)}})
    arrays = io.read_container(tmp_path / "a.mat")
    assert {key: x.shape for key, x in arrays.items()} == {
        "y": (3,),
        "X/0": (3, 3),
        "X/1": (3, 2),
        "s/t": (3,),
    }


def test_labels_come_with_ids_where_there_are_some(tmp_path):
    np.savez(
        tmp_path / "a.npz",
        ids=np.array(["a", "b"]),
        y=np.array([1, 2]),
        z=np.zeros((2, 2, 2)),
        w=np.arange(3),
    )
    found = io.read_label_array(tmp_path / "a.npz", "y")
    assert (found.ids.tolist(), found.values.tolist()) == (["a", "b"], [1, 2])
    assert io.read_label_array(tmp_path / "a.npz", "w").ids is None
    with pytest.raises(io.FileError, match=r"'z' has shape \(2, 2, 2\)"):
        io.read_label_array(tmp_path / "a.npz", "z")
    np.save(tmp_path / "b.npy", np.arange(4))
    assert io.read_label_array(tmp_path / "b.npy", "b").values.tolist() == [0, 1, 2, 3]


def test_other_files_are_refused(tmp_path):
    (tmp_path / "a.txt").write_text("x")
    with pytest.raises(io.FileError, match="no container of arrays"):
        io.read_container(tmp_path / "a.txt")
