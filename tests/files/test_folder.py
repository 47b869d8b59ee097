"""A folder of tables is one data set."""

import os
import warnings

import numpy as np
import pytest

import absentia
from absentia import AbsenceWarning, Views, io
from absentia.files import LabelsSource


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
    assert opened.labels is None


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


def test_a_manifest_takes_the_place_of_it_all(folder):
    (folder / "mine.toml").write_text('schema = 1\n[views.e]\nfile = "Expression.tsv"\n')
    with warnings.catch_warnings(action="ignore", category=AbsenceWarning):
        assert io.read(folder).names == ("e",)
        (folder / "absentia.toml").write_text('schema = 1\n[views.c]\nfile = "clinical.csv"\n')
        assert io.read(folder).names == ("c",)
    (folder / "absentia.toml").rename(folder / "other.toml")
    with pytest.raises(io.FileError, match=r"holds 2 manifests, mine.toml, other.toml"):
        io.read(folder)


@pytest.fixture
def folder_of_manifest(tmp_path):
    (tmp_path / "expr.csv").write_text("gene,p1,p2,p3\ng1,1,2,-9\ng2,4,5,6\nq,0,0,0\n")
    (tmp_path / "clin.csv").write_text(
        "who,patient,stage,day\nx,p1,1,2020-01-01\ny,p2,2,2020-01-01\nz,p4,1,\n"
    )
    (tmp_path / "labels.csv").write_text("patient,subtype\np1,a\n")
    return tmp_path


def manifest(folder_of_manifest, text, schema="schema = 1\n"):
    path = folder_of_manifest / "absentia.toml"
    path.write_text(schema + text)
    return path


FULL = """
[views.expression]
file = "expr.csv"
kernel = "cosine"
log = true
columns = ["g*"]
missing = ["-9"]
transpose = true

[views.clinical]
file = "clin.csv"
id = "patient"
ignore = ["day", "who"]
categorical = ["stage"]

[labels]
file = "labels.csv"
column = "subtype"
id = "patient"
"""


def test_everything_that_can_be_said(folder_of_manifest):
    opened = io.open_data(manifest(folder_of_manifest, FULL))
    views = opened.data
    assert views.names == ("expression", "clinical")
    assert views.ids.tolist() == ["p1", "p2", "p3", "p4"]
    assert views.features("expression").tolist() == ["g1", "g2"]
    np.testing.assert_array_equal(views.block("expression"), [[1, 4], [2, 5], [np.nan, 6]])
    assert views.levels("clinical") == {"stage": ("1", "2")}
    assert opened.per_view == {"expression": {"kernel": "cosine", "log": True}}
    assert opened.labels == LabelsSource(folder_of_manifest / "labels.csv", "subtype", "patient")
    assert opened.notes == ("expr.csv: 1 column(s) in no view: 'q'",)
    assert io.read_labels(opened.labels, opened, folder_of_manifest).values.tolist() == ["a", "", "", ""]


BAD = [
    ("", "names no view"),
    ("views = 3\n", "names no view"),
    ("[views.a]\n", r'views.a: no file is named; file = "..." is wanted'),
    ("[views]\na = 1\n", r"views.a is 1; a section \[views.a\] is wanted"),
    (
        '[views.a]\nfile = "clin.csv"\nkernle = "rbf"\n',
        "views.a: 'kernle' is not known; there are file, id, kernel",
    ),
    ('[view.a]\nfile = "clin.csv"\n', "the manifest: 'view' is not known; there are schema, views, labels"),
    ('[views.a]\nfile = "clin.csv"\nkernel = "rbff"\n', "kernel is 'rbff'; there are .*cosine"),
    ('[views.a]\nfile = "clin.csv"\nlog = "yes"\n', "log is 'yes'; true or false is wanted"),
    ('[views.a]\nfile = "clin.csv"\nignore = "x"\n', "ignore is 'x'; a list of texts is wanted"),
    ('[views.a]\nfile = "clin.csv"\nignore = [1]\n', "a list of texts is wanted"),
    ('[views.a]\nfile = ["clin.csv"]\n', "file is .*a text is wanted"),
    ('[views.a]\nfile = "gone.csv"\n', "views.a: there is no file 'gone.csv'"),
    ('[views.a]\nfile = ""\n', "'' is no name of a file"),
    ('[views.a]\nfile = "/etc/passwd"\n', "lies outside the manifest's folder"),
    ('[views.a]\nfile = "../x.csv"\n', "lies outside the manifest's folder"),
    ('[views.a]\nfile = "sub/../../x.csv"\n', "lies outside the manifest's folder"),
    ("[views.a]\nfile = 'C:\\x.csv'\n", "there is no file"),
    ("[views.a]\nfile = '..\\x.csv'\n", "there is no file"),
    ('[views.a]\nfile = "link.csv"\n', "lies outside the manifest's folder"),
    ('[views.a]\nfile = "clin.csv"\n[labels]\nfile = "../l.csv"\n', "labels: '../l.csv' lies outside"),
    ('[views.a]\nfile = "clin.csv"\n[labels]\ncolumn = "l"\n', "labels: no file is named"),
    ("[views.a\n", "is not TOML"),
    ('[views.a]\nfile = "v.npz"\ntranspose = true\n', "is no table; columns, ignore"),
]


@pytest.mark.parametrize(("text", "sentence"), BAD, ids=[s[:40] for _, s in BAD])
def test_what_is_wrong_is_said(folder_of_manifest, text, sentence):
    (folder_of_manifest / "link.csv").symlink_to("/etc/passwd")
    (folder_of_manifest / "v.npz").write_bytes(b"")
    with pytest.raises(io.FileError, match=sentence) as caught:
        io.read(manifest(folder_of_manifest, text))
    assert str(caught.value).startswith(str(folder_of_manifest))


@pytest.mark.parametrize("schema", ["", "schema = 2\n", 'schema = "1"\n', "schema = true\n"])
def test_another_schema_is_refused(folder_of_manifest, schema):
    with pytest.raises(io.FileError, match="schema = 1 is wanted"):
        io.read(manifest(folder_of_manifest, '[views.a]\nfile = "clin.csv"\n', schema))


def test_a_manifest_is_small_and_says_itself_which_columns(folder_of_manifest):
    with pytest.raises(io.FileError, match="is larger than"):
        io.read(manifest(folder_of_manifest, "#" * (2 << 20)))
    with pytest.raises(io.FileError, match="views cannot be given for a manifest"):
        io.read(manifest(folder_of_manifest, FULL), views={"a": ["b"]})
