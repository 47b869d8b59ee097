"""Which reader takes which file."""

import re

import numpy as np
import pytest

import absentia
from absentia import AbsenceWarning, Views, io
from absentia.files import _reading as reading


def test_a_file_is_read_by_its_ending(tmp_path):
    views = Views.from_dict({"a": np.eye(3)}, ids=["x", "y", "z"])
    back = absentia.read(absentia.write(tmp_path / "V.NPZ", views))
    np.testing.assert_array_equal(back.block("a"), views.block("a"))
    opened = io.open_data(tmp_path / "V.NPZ")
    assert (opened.per_view, opened.labels, opened.notes) == ({}, None, ())


def test_every_reader_in_the_table_is_there():
    for name in reading.READERS.values():
        assert callable(reading.loaded(name))


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
        ("a.rds", r"is an R object; .* write.csv\(readRDS\('a.rds'\), 'a.csv'\)"),
        ("a.RData", r"is objects of R; .* print\(load\('a.RData'\)\)"),
        ("a.pkl", r"is a pickle, .* never loaded; .* pandas.read_pickle\('a.pkl'\).to_csv\('a.csv'\)"),
    ],
)
def test_what_is_not_read_is_told_how_to_convert(tmp_path, name, how):
    (tmp_path / name).write_bytes(b"x")
    with pytest.raises(io.FileError, match=how):
        io.read(tmp_path / name)
    (tmp_path / "b.csv").write_text("id,x\np,1\nq,2\n")
    with pytest.warns(AbsenceWarning, match=f"1 file.* left out: {name}; {name} {how}"):
        io.read(tmp_path)
