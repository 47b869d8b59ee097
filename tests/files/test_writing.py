"""Data written to .npz files and to folders come back as they were, names and all."""

import os
import shutil
import subprocess

import numpy as np
import pandas as pd
import pytest

import absentia
from absentia import KernelViews, Views, io


def some_views():
    expr = pd.DataFrame(
        [[0.1, -2.0], [np.nan, 1e-300], [3.0, 4.5]], index=["p1", "=q", "-1"], columns=["=g", "g,2"]
    )
    clin = pd.DataFrame({"age": [50.0, 60.0], "sex": ["f", "m"], "stage": ["a;b", None]}, index=["p1", "s"])
    return Views.from_dict({"expr": expr, "clin": clin})


def same(one, other):
    assert one.names == other.names or set(one.names) == set(other.names)
    order = [one.ids.tolist().index(x) for x in other.ids.tolist()]
    one = one.select(other.names)[order]
    np.testing.assert_array_equal(one.observed, other.observed)
    for name in other.names:
        np.testing.assert_array_equal(one.block(name), other.block(name))
        assert one.features(name).tolist() == other.features(name).tolist()
        assert dict(one.levels(name)) == dict(other.levels(name))


@pytest.mark.parametrize("place", ["v.npz", "folder", "folder.d/"])
def test_everything_comes_back(tmp_path, place):
    views = some_views()
    path = absentia.write(f"{tmp_path}/{place}", views)
    same(absentia.read(path), views)
    assert not [name for name in os.listdir(tmp_path) if name.endswith(".part")]


def test_tables_of_a_folder_are_plain(tmp_path):
    io.write(tmp_path / "out", some_views())
    assert sorted(os.listdir(tmp_path / "out")) == ["clin.csv", "expr.csv"]
    assert (tmp_path / "out" / "clin.csv").read_text() == 'id,age,sex,stage\np1,50,f,"a;b"\ns,60,m,NA\n'


def test_features_without_names_get_some(tmp_path):
    io.write(tmp_path / "out", Views.from_dict({"a": np.eye(2)}, ids=[1, 2]))
    back = io.read(tmp_path / "out")
    assert back.features("a").tolist() == ["a_0", "a_1"]
    assert back.ids.tolist() == ["1", "2"]


def test_a_feature_called_id_stays_one(tmp_path):
    views = Views.from_dict({"a": pd.DataFrame({"id": [1.5, 2.5], "b": [1.0, 2.0]}, index=["x", "y"])})
    io.write(tmp_path / "out", views)
    assert (tmp_path / "out" / "a.csv").read_text().startswith("sample,id,b\n")


BAD = [
    ({"a/b": np.eye(2)}, "a view named 'a/b' cannot be a file"),
    ({"..": np.eye(2)}, "cannot be a file"),
    ({"a": np.eye(2), "A": np.eye(2)}, "differ only in case"),
    ({"labels": np.eye(2)}, "a view named 'labels' would be taken for labels"),
]


@pytest.mark.parametrize(("views", "sentence"), BAD)
def test_names_that_no_file_can_have_are_refused(tmp_path, views, sentence):
    with pytest.raises(io.FileError, match=sentence):
        io.write(tmp_path / "out", Views.from_dict(views))
    assert os.listdir(tmp_path) == []


def test_a_folder_is_written_only_where_it_means_the_same(tmp_path):
    views = Views.from_dict({"a": np.eye(2)})
    io.write(tmp_path / "out", views)
    io.write(tmp_path / "out", views)
    (tmp_path / "out" / "b.tsv").write_text("x")
    with pytest.raises(io.FileError, match=r"holds other tables, e.g. b\.tsv"):
        io.write(tmp_path / "out", views)
    (tmp_path / "file").write_text("x")
    with pytest.raises(io.FileError, match="is there and no folder"):
        io.write(tmp_path / "file", views)
    with pytest.raises(io.FileError, match="does not exist"):
        io.write(tmp_path / "gone" / "out", views)
    with pytest.raises(io.FileError, match=r"y can only be written to an \.npz file"):
        io.write(tmp_path / "new", views, y=[1, 2])
    with pytest.raises(io.FileError, match=r"kernels are written to an \.npz file"):
        io.write(tmp_path / "new", KernelViews.from_dense(np.eye(2)[None]))
    with pytest.raises(io.FileError, match=r"to an \.npz file or to a folder"):
        io.write(tmp_path / "v.xlsx", views)


@pytest.mark.skipif(shutil.which("Rscript") is None, reason="R is not installed")
def test_R_reads_a_table(tmp_path):
    io.write(tmp_path / "out", some_views())
    code = 'x <- read.csv("out/clin.csv", row.names = 1); cat(dim(x), rownames(x), is.na(x[2, 3]))'
    found = subprocess.run(
        ["Rscript", "-e", code], cwd=tmp_path, capture_output=True, text=True, check=True
    )
    assert found.stdout == "2 3 p1 s TRUE"


# --------------------------------------------------------------------------- whose file is it


@pytest.mark.parametrize(
    ("name", "content", "own"),
    [
        ("a.html", '<meta charset="utf-8">\n<meta name="generator" content="absentia">', True),
        ("a.html", "<p>absentia</p>", False),
        ("p.csv", "id,predicted,probability=a,view=x,flag\n1,a,1,1,\n", True),
        ("p.csv", "id,risk,survival=2,view=x,flag\n1,.5,1,1,\n", True),
        ("p.csv", "id,predicted\n1,a\n", False),
        ("p.txt", "id,predicted,view=x,flag\n", False),
        ("m.absentia", "no archive", False),
        ("m.h5ad", "no archive", False),
        ("empty.csv", "", False),
    ],
)
def test_files_are_known_by_what_stands_in_them(tmp_path, name, content, own):
    (tmp_path / name).write_text(content)
    assert io.is_written_by_absentia(tmp_path / name) is own


def test_data_that_were_written_on_purpose_are_nobodys_to_replace(tmp_path):
    views = Views.from_dict({"a": np.eye(3)})
    assert not io.is_written_by_absentia(io.write(tmp_path / "v.npz", views))
    assert io.is_written_by_absentia(
        io.write(tmp_path / "v.npz", views, mask_before=views.observed, method="mean")
    )
    assert not io.is_written_by_absentia(tmp_path / "gone.npz")
