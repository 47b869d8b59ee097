"""A folder of tables is one data set."""

import os

import numpy as np
import pytest

import absentia
from absentia import AbsenceWarning, Views, io


@pytest.fixture
def folder(tmp_path):
    (tmp_path / "clinical.csv").write_text("patient,age,sex\np1,50,f\np2,,m\np4,61,f\n")
    (tmp_path / "Expression.tsv").write_text("id\tg1\tg2\np1\t1\t2\np2\t\t\np3\t5\t6\n")
    (tmp_path / "labels.csv").write_text("id,label\np1,a\n")
    (tmp_path / "README.txt").write_text("hello")
    (tmp_path / "report.html").write_text("<p>")
    (tmp_path / ".hidden.csv").write_text("x")
    (tmp_path / "new").mkdir()
    return tmp_path


def test_each_table_is_a_view(folder):
    opened = io.open_data(folder)
    views = opened.data
    assert views.names == ("clinical", "Expression")
    assert views.ids.tolist() == ["p1", "p2", "p3", "p4"]
    assert views.observed.tolist() == [[True, True], [True, False], [False, True], [True, False]]
    assert views.levels("clinical") == {"sex": ("f", "m")}
    assert opened.notes == ("labels.csv is not a view: it is taken for labels",)
    assert opened.table is None


@pytest.mark.parametrize("name", ["y", "Labels", "TARGET", "outcomes", "phenotype", "label"])
def test_labels_are_not_a_view(folder, name):
    (folder / f"{name}.csv").write_text("id,label\np1,a\n")
    assert io.read(folder).names == ("clinical", "Expression")


def test_what_is_of_no_known_kind_is_said(folder):
    (folder / "scan.nii").write_bytes(b"x")
    with pytest.warns(AbsenceWarning, match=r"1 file\(s\) of no known kind are left out: scan.nii"):
        assert io.read(folder).n_views == 2


def test_a_file_that_is_wrong_is_named(folder):
    (folder / "bad.csv").write_text("id,a\np1,1\np1,2\n")
    with pytest.raises(io.FileError, match=r"bad\.csv: the column of ids, 'id', has 1 id more than once"):
        io.read(folder)


def test_two_files_for_one_view_are_refused(folder):
    (folder / "clinical.tsv").write_text("id\ta\np1\t1\n")
    with pytest.raises(io.FileError, match=r"clinical.csv and clinical.tsv would both be view 'clinical'"):
        io.read(folder)


def test_an_empty_folder_is_told_what_is_wanted(tmp_path):
    (tmp_path / "labels.csv").write_text("id,label\np1,a\n")
    with pytest.raises(io.FileError, match=r"without any table; .*labels.csv is taken for labels"):
        io.read(tmp_path)
    with pytest.raises(io.FileError, match="views cannot be given for a folder"):
        io.read(tmp_path, views={"a": ["b"]})


def test_links_that_lead_out_are_not_followed(folder, tmp_path_factory):
    outside = tmp_path_factory.mktemp("out") / "secret.csv"
    outside.write_text("id,a\np1,1\n")
    (folder / "more.csv").symlink_to(outside)
    with pytest.raises(io.FileError, match=r"more.csv is a link that leads out of the folder"):
        io.read(folder)


def test_pipes_are_not_waited_for(folder):
    os.mkfifo(folder / "pipe.csv")
    with pytest.raises(io.FileError, match=r"pipe\.csv: is a named pipe"):
        io.read(folder)


def test_arrays_with_one_view_go_with_tables(folder):
    views = Views.from_dict({"a": np.eye(2)}, ids=["p1", "p9"])
    io.write(folder / "image.npz", views)
    found = io.read(folder)
    assert found.names == ("clinical", "Expression", "image")
    assert found.ids.tolist()[-1] == "p9"
    io.write(folder / "image.npz", Views.from_dict({"a": np.eye(2), "b": np.eye(2)}, ids=["p1", "p9"]))
    with pytest.raises(io.FileError, match=r"image.npz: holds 2 views"):
        io.read(folder)


def test_ids_that_differ_in_writing_are_pointed_out(folder):
    (folder / "clinical.csv").write_text("patient,age\np1,50\nP-3,53\np2,5\n")
    with pytest.warns(AbsenceWarning, match=r"1 of its ids, e.g. 'p3', differ only in case"):
        io.read(folder)
    (folder / "clinical.csv").write_text("patient,age\nP-1,50\nP-2,51\nP-3,53\n")
    with pytest.raises(io.FileError, match="no sample in common with any other view"):
        io.read(folder)


def test_an_id_column_is_for_every_table(folder):
    for name in ("clinical.csv", "Expression.tsv"):
        text = (folder / name).read_text()
        (folder / name).write_text(text.replace("patient", "key").replace("id\t", "key\t"))
    assert absentia.read(folder, id="key").ids.tolist() == ["p1", "p2", "p3", "p4"]
    with pytest.raises(io.FileError, match=r"clinical\.csv: there is no column 'who' of ids"):
        absentia.read(folder, id="who")
