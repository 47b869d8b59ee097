"""Labels of samples: out of an array of the file or of a table, found by id."""

import numpy as np
import pytest

from absentia import io
from absentia.files import _labels as labels
from absentia.files import _tables as tables
from archives import refused

IDS = np.array(["p", "q", "r"])


def test_labels_are_found_by_the_ids_that_we_write(tmp_path):
    ids = np.array(["=a", "'=a", "-1", "b"])
    path = tmp_path / "l.csv"
    rows = [["id", "label"], *([i, f"-{k}x"] for k, i in enumerate(ids.tolist()))]
    path.write_bytes(b"".join(tables.csv_rows(rows)))
    assert path.read_text().splitlines()[1:] == ["'=a,'-0x", "''=a,'-1x", "-1,'-2x", "b,'-3x"]
    assert labels.from_table(path, ids)[0].tolist() == ["-0x", "-1x", "-2x", "-3x"]


def test_whole_numbers_are_integers_and_nobody_is_nan_or_empty():
    y, there = labels.as_labels(np.array([1.0, np.nan, 3.0]), 3)
    assert y.dtype.kind == "i"
    assert y[there].tolist() == [1, 3]
    y, there = labels.as_labels(np.array([" a", "", "b "]), 3)
    assert y[there].tolist() == ["a", "b"]
    y, there = labels.as_labels(np.array([True, False]), 2)
    assert y.tolist() == [True, False]
    assert there.all()


BAD_ARRAYS = [
    (np.zeros(2), r"labels of shape \(2,\) for 3 samples"),
    (np.array([0.5, 1, 2]), "0.5 is no class"),
    (np.array([1.0, 2.0, 1e300]), "1e.300 is no class"),
    (np.zeros(3, complex), "labels are complex128"),
]


@pytest.mark.parametrize(("array", "sentence"), BAD_ARRAYS)
def test_what_is_no_label_is_refused_by_the_name_of_the_array(tmp_path, array, sentence):
    path = tmp_path / "v.npz"
    np.savez(path, y=array)
    refused(lambda p: labels.read_labels("y", p, IDS), path, f"'y': {sentence}")


def test_an_array_that_is_not_there_is_told_which_are(tmp_path):
    path = tmp_path / "v.npz"
    np.savez(path, view_a=np.eye(3), word=np.arange(3))
    refused(
        lambda p: labels.read_labels("wrd", p, IDS), path, r"no labels 'wrd'; other arrays .*\['word'\]"
    )
    assert labels.read_labels("word", path, IDS)[0].tolist() == [0, 1, 2]


BAD_TABLES = [
    ("", "the first line must name the columns id and label; it is empty"),
    ("id,id,label\n", "the first line must name the columns id and label; it is id, id, label"),
    ("id,label\np,1\n", "2 of 3 samples have no line: 'q', 'r'"),
    ("id,label\np,1\nq,1\nr,1\ns,1\n", r"1 id\(s\) are not among the 3 samples: 's'"),
    ("id,label\np,1\np,2\n", "sample 'p' has more than one line, e.g. line 3"),
    ("id,label\np\n", "line 2 has 1 fields, the first line 2"),
]


@pytest.mark.parametrize(("text", "sentence"), BAD_TABLES, ids=[s[:30] for _, s in BAD_TABLES])
def test_a_table_must_have_one_line_for_every_sample(tmp_path, text, sentence):
    path = tmp_path / "l.csv"
    path.write_text(text)
    refused(lambda p: labels.read_labels(str(p), tmp_path / "v.npz", IDS), path, sentence)


def test_labels_of_a_table_follow_the_ids_and_may_be_empty(tmp_path):
    path = tmp_path / "l.csv"
    path.write_text("more,label,id\n,x,r\n,,p\n,y,q\n")
    y, there = labels.from_table(path, IDS)
    assert y.tolist() == ["", "y", "x"]
    assert there.tolist() == [False, True, True]
    with pytest.raises(io.FileError, match="no such file"):
        labels.from_table(tmp_path / "gone.csv", IDS)
