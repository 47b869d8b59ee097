"""A manifest says which files are which views."""

import numpy as np
import pytest

from absentia import io
from absentia.files import LabelsSource


@pytest.fixture
def folder(tmp_path):
    (tmp_path / "expr.csv").write_text("gene,p1,p2,p3\ng1,1,2,-9\ng2,4,5,6\nq,0,0,0\n")
    (tmp_path / "clin.csv").write_text(
        "who,patient,stage,day\nx,p1,1,2020-01-01\ny,p2,2,2020-01-01\nz,p4,1,\n"
    )
    (tmp_path / "labels.csv").write_text("patient,subtype\np1,a\n")
    return tmp_path


def manifest(folder, text, schema="schema = 1\n"):
    path = folder / "absentia.toml"
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


def test_everything_that_can_be_said(folder):
    opened = io.open_data(manifest(folder, FULL))
    views = opened.data
    assert views.names == ("expression", "clinical")
    assert views.ids.tolist() == ["p1", "p2", "p3", "p4"]
    assert views.features("expression").tolist() == ["g1", "g2"]
    np.testing.assert_array_equal(views.block("expression"), [[1, 4], [2, 5], [np.nan, 6]])
    assert views.levels("clinical") == {"stage": ("1", "2")}
    assert opened.per_view == {"expression": {"kernel": "cosine", "log": True}}
    assert opened.labels == LabelsSource(folder / "labels.csv", "subtype", "patient")
    assert opened.notes == ("expr.csv: 1 column(s) in no view: 'q'",)
    assert io.read_labels(opened.labels, opened, folder).values.tolist() == ["a", "", "", ""]


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
    ("[views.a]\nfile = 'C:\\x.csv'\n", "lies outside the manifest's folder"),
    ("[views.a]\nfile = '..\\x.csv'\n", "lies outside the manifest's folder"),
    ('[views.a]\nfile = "link.csv"\n', "lies outside the manifest's folder"),
    ('[views.a]\nfile = "clin.csv"\n[labels]\nfile = "../l.csv"\n', "labels: '../l.csv' lies outside"),
    ('[views.a]\nfile = "clin.csv"\n[labels]\ncolumn = "l"\n', "labels: no file is named"),
    ("[views.a\n", "is not TOML"),
    ('[views.a]\nfile = "v.npz"\ntranspose = true\n', "is no table; columns, ignore"),
]


@pytest.mark.parametrize(("text", "sentence"), BAD, ids=[s[:40] for _, s in BAD])
def test_what_is_wrong_is_said(folder, text, sentence):
    (folder / "link.csv").symlink_to("/etc/passwd")
    (folder / "v.npz").write_bytes(b"")
    with pytest.raises(io.FileError, match=sentence) as caught:
        io.read(manifest(folder, text))
    assert str(caught.value).startswith(str(folder))


@pytest.mark.parametrize("schema", ["", "schema = 2\n", 'schema = "1"\n', "schema = true\n"])
def test_another_schema_is_refused(folder, schema):
    with pytest.raises(io.FileError, match="schema = 1 is wanted"):
        io.read(manifest(folder, '[views.a]\nfile = "clin.csv"\n', schema))


def test_a_manifest_is_small_and_says_itself_which_columns(folder):
    with pytest.raises(io.FileError, match="is larger than"):
        io.read(manifest(folder, "#" * (2 << 20)))
    with pytest.raises(io.FileError, match="views cannot be given for a manifest"):
        io.read(manifest(folder, FULL), views={"a": ["b"]})
