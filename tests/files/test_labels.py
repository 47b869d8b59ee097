"""Labels of samples: out of a table, a view or an array of the file, found by id."""

import numpy as np
import pandas as pd
import pytest

from absentia import KernelViews, Views, io
from absentia.files import _labels
from helpers.crafted_archives import refused

DATA = Views.from_dict({"a": np.eye(3)}, ids=["p", "q", "r"])


def read(path, text, source="{}", data=DATA, **options):
    path.write_text(text)
    return io.read_labels(source.format(path), data, path.parent, **options)


def test_labels_are_found_by_the_ids_that_we_write(tmp_path):
    ids = ["=a", "'=a", "-1", "b"]
    path = tmp_path / "l.csv"
    rows = [["id", "label"], *([i, f"-{k}x"] for k, i in enumerate(ids))]
    path.write_bytes(b"".join(io.csv_rows(rows)))
    assert path.read_text().splitlines()[1:] == ["'=a,'-0x", "''=a,'-1x", "-1,'-2x", "b,'-3x"]
    found = io.read_labels(str(path), Views.from_dict({"a": np.eye(4)}, ids=ids), tmp_path)
    assert found.values.tolist() == ["-0x", "-1x", "-2x", "-3x"]


# --------------------------------------------------------------------------------------------- a table


def test_more_and_fewer_ids_than_samples_are_counted(tmp_path):
    found = read(tmp_path / "l.csv", "more;subtype;patient\n;x;r\n;NA;p\n;y;s\n;z;t\n")
    assert (found.kind, found.columns) == ("classes", ("subtype",))
    assert found.values.tolist() == ["", "", "x"]
    assert found.known.tolist() == [False, False, True]
    assert (found.foreign, found.empty, found.unlabelled) == (("s", "t"), 1, 1)


def test_ids_that_are_numbers_are_found_as_texts(tmp_path):
    data = Views.from_dict({"a": np.eye(3)}, ids=[1, 2, 3])
    assert read(tmp_path / "l.csv", "id,label\n3,c\n1,a\n", data=data).values.tolist() == ["a", "", "c"]


MANY = "id,a,b,time,event,age\np,1,0,3.5,1,50\nq,NA,1,2,0,60.5\nr,,,,1,\n"


def test_columns_are_named_after_a_colon(tmp_path):
    path = tmp_path / "l.csv"
    assert read(path, MANY, "{}:a").values.tolist() == ["1", "", ""]
    assert read(path, MANY, "{}:age").kind == "numbers"
    many = read(path, MANY, "{}:a,b")
    assert many.kind == "multilabel"
    np.testing.assert_array_equal(many.values, [[1, 0], [np.nan, 1], [np.nan, np.nan]])
    survival = read(path, MANY, "{}:time,event")
    assert (survival.kind, survival.columns) == ("survival", ("time", "event"))
    assert survival.known.tolist() == [True, True, False]
    assert read(path, MANY, "{}:age", id="id", kind="classes").values.tolist() == ["50", "60.5", ""]


def test_files_are_found_here_or_beside_the_data(tmp_path, monkeypatch):
    (tmp_path / "data").mkdir()
    (tmp_path / "data" / "l.csv").write_text("id,label\np,beside\n")
    monkeypatch.chdir(tmp_path)
    for path in (tmp_path / "data", tmp_path / "data" / "v.npz"):
        assert io.read_labels("l.csv:label", DATA, path).values[0] == "beside"
    (tmp_path / "l.csv").write_text("id,label\np,here\n")
    assert io.read_labels("l.csv:label", DATA, tmp_path / "data").values[0] == "here"


def test_names_with_colons_do_not_break(tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    windows = "C:\\x.csv"
    (tmp_path / windows).write_text("id,a:b,c\np,1,2\n")
    assert io.read_labels(f"{windows}:c", DATA, tmp_path).values[0] == "2"
    assert io.read_labels(f"{windows}:a:b", DATA, tmp_path).values[0] == "1"
    assert _labels.locate_labels("D:\\gone.csv:col", tmp_path)[1] == "col"
    with pytest.raises(io.FileError, match="no such file"):
        io.read_labels("D:\\gone.csv:col", DATA, tmp_path)


BAD = [
    ("", "{}", "the file is empty"),
    ("id,a,b\np,1,2\n", "{}", "which column is the label. There are 'a', 'b'; name one as FILE:COLUMN"),
    ("id,label,class\np,1,2\n", "{}", "which column is the label"),
    ("id,a\np,1\n", "{}:c", "there is no column 'c'; the columns are 'id', 'a'"),
    ("id,a\np,1\np,2\n", "{}", r"1 id more than once: 'p' \(lines 2, 3\)"),
    ("id,a\nP,1\nQ ,2\n", "{}", r"none of its 2 ids \(column 'id', e.g. 'P'\) .* 2 differ only in case"),
    (
        "id,a\nx,1\ny,2\n",
        "{}",
        r"none of its 2 ids \(column 'id', e.g. 'x'\) is among the 3 samples \(e.g. 'p'\)",
    ),
    ("id,key,a\nx,p,1\n", "{}:a", r"column 'key' does hold ids of samples: say so \(--id key\)"),
    ("id,a\np,1,2\n", "{}", "line 2 has 3 fields, line 1 has 2"),
]


@pytest.mark.parametrize(("text", "source", "sentence"), BAD, ids=[s[:30] for _, _, s in BAD])
def test_what_is_wrong_with_a_table_is_said(tmp_path, text, source, sentence):
    path = tmp_path / "l.csv"
    path.write_text(text)
    refused(lambda p: io.read_labels(source.format(p), DATA, tmp_path), path, sentence)


# ---------------------------------------------------------------------------------------------- a view


def clinical():
    frame = pd.DataFrame(
        {"age": [50, np.nan, 60], "sex": ["f", None, "m"], "n": [1.0, 2.0, 1.0]}, index=["p", "q", "r"]
    )
    return Views.from_dict({"clin": frame, "expr": pd.DataFrame({"age": [1.0]}, index=["s"])})


def test_a_column_of_a_view_is_a_label_and_no_feature_then(tmp_path):
    data = clinical()
    found = io.read_labels("sex", data, tmp_path)
    assert found.values.tolist() == ["f", "", "m", ""]
    assert (found.kind, found.empty, found.unlabelled, found.label_columns) == (
        "classes",
        1,
        1,
        (("clin", "sex"),),
    )
    left = found.without(data)
    assert left.features("clin").tolist() == ["age", "n"]
    assert left.levels("clin") == {}
    assert io.read_labels("n", data, tmp_path).values.tolist() == ["1", "2", "1", ""]
    assert io.read_labels("clin:age", data, tmp_path, kind="numbers").values[0] == 50
    with pytest.raises(
        ValueError, match=r"views 'clin', 'expr' all have a column 'age'; name one as clin:age"
    ):
        io.read_labels("age", data, tmp_path)


def test_what_is_neither_table_nor_column_is_said(tmp_path):
    with pytest.raises(io.FileError, match="there are no labels 'colour': no table of that name"):
        io.read_labels("colour", clinical(), tmp_path)


# ------------------------------------------------------------------------------------------- an array


def test_whole_numbers_are_integers_and_nobody_is_nan_or_empty():
    kind, y, there = _labels._parse_label_array(np.array([1.0, np.nan, 3.0]), 3)
    assert (y.dtype.kind, kind) == ("i", "classes")
    assert y[there].tolist() == [1, 3]
    _, y, there = _labels._parse_label_array(np.array([" a", "", "b "]), 3)
    assert y[there].tolist() == ["a", "b"]
    _, y, there = _labels._parse_label_array(np.array([True, False]), 2)
    assert y.tolist() == [True, False]
    assert there.all()
    assert _labels._parse_label_array(np.array([0.5, np.nan]), 2).kind == "numbers"
    assert _labels._parse_label_array(np.arange(30), 30).kind == "numbers"
    assert _labels._parse_label_array(np.arange(30), 30, "classes").kind == "classes"


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
    refused(lambda p: io.read_labels("y", DATA, p, kind="classes"), path, f"'y': {sentence}")


def test_an_array_that_is_not_there_is_told_which_are(tmp_path):
    path = tmp_path / "v.npz"
    np.savez(path, view_a=np.eye(3), word=np.arange(3))
    refused(
        lambda p: io.read_labels("wrd", DATA, p),
        path,
        r"no labels 'wrd' but \['view_a', 'word'\]; name one",
    )
    found = io.read_labels("word", DATA, path)
    assert found.values.tolist() == [0, 1, 2]
    assert found.without(DATA) is DATA
    kernels = KernelViews.from_dense(np.eye(3)[None])
    assert io.read_labels("word", kernels, path).without(kernels) is kernels


def test_a_column_of_obs_is_found_by_the_names_of_observations(tmp_path):
    from helpers.omics import saved, three_modalities

    path = saved(tmp_path / "a.h5mu", three_modalities())
    data = io.read(path)
    found = io.read_labels("subtype", data[::-1], path)
    assert found.values.tolist() == [f"type of {name}" for name in data.ids[::-1]]
    part = io.read_labels("subtype", data[:2], path)
    assert (len(part.foreign), part.unlabelled) == (4, 0)


def test_an_array_of_a_container_with_and_without_ids(tmp_path):
    import scipy.io

    held = {"X": np.arange(6.0).reshape(3, 2), "gt": np.array([[3, 1, 2]])}
    scipy.io.savemat(tmp_path / "a.mat", held)
    data = io.read(tmp_path / "a.mat")
    assert io.read_labels("gt", data, tmp_path / "a.mat").values.tolist() == [3, 1, 2]
    scipy.io.savemat(tmp_path / "b.mat", held | {"ids": np.array([7, 8, 9])})
    data = io.read(tmp_path / "b.mat")
    assert io.read_labels("gt", data[[2, 0]], tmp_path / "b.mat").values.tolist() == [2, 3]
    strange = Views.from_dict({"X": np.eye(3)}, ids=[9, 7, 5])
    found = io.read_labels("gt", strange, tmp_path / "b.mat")
    assert (found.values[:2].tolist(), found.known.tolist()) == ([2, 3], [True, True, False])
    assert (found.unlabelled, found.foreign) == (1, ("8",))


def test_a_label_never_stays_a_feature_whatever_it_is_named_by(tmp_path):
    """The same file as a view and as labels, or a copy of the label in another view."""
    ids = [f"s{k}" for k in range(6)]
    label = ["p", "q", "p", "q", "q", "p"]
    pd.DataFrame({"x": range(6), "dx": label}, ids).to_csv(tmp_path / "a.csv")
    pd.DataFrame({"z": range(6), "dx": ["case" if x == "p" else "ctrl" for x in label]}, ids).to_csv(
        tmp_path / "b.csv"
    )
    opened = io.open_data(tmp_path)
    for source in ("a.csv:dx", "a:dx"):
        found = io.read_labels(source, opened, tmp_path)
        assert found.label_columns == (("a", "dx"),)
        assert found.without(opened.data).features("a").tolist() == ["x"]
    wide = io.open_data(tmp_path / "a.csv", views={"only": ["x"]})
    assert io.read_labels("dx", wide, tmp_path / "a.csv").values.tolist() == label


def test_a_label_of_true_and_false_stays_no_feature(tmp_path):
    frame = pd.DataFrame({"x": range(6), "ill": [True, False] * 3}, [f"s{k}" for k in range(6)])
    for path, write in [("a.csv", frame.to_csv), ("a.parquet", frame.to_parquet)]:
        write(tmp_path / path)
        opened = io.open_data(tmp_path / path)
        assert opened.data.levels("a") == {}
        found = io.read_labels(f"{path}:ill", opened, tmp_path)
        assert found.values.tolist() == ["True", "False"] * 3
        assert found.label_columns == (("a", "ill"),)


def test_labels_are_found_whatever_the_unicode_form_of_ids(tmp_path):
    (tmp_path / "y.csv").write_text("id,y\nJose\u0301,a\nx\u200b,b\n", encoding="utf-8")
    data = Views.from_dict({"a": np.eye(2)}, ids=["Jos\u00e9\u200b", "x"])
    assert io.read_labels("y.csv:y", data, tmp_path).values.tolist() == ["a", "b"]


def test_a_feature_that_only_has_the_name_of_the_label_stays(tmp_path):
    ids = [f"s{k}" for k in range(30)]
    rng = np.random.default_rng(0)
    pd.DataFrame(rng.normal(size=(30, 2)), ids, ["x", "y"]).to_csv(tmp_path / "a.csv")
    pd.DataFrame({"y": ["p", "q"] * 15}, ids).to_csv(tmp_path / "labels.csv")
    found = io.read_labels("labels.csv:y", io.open_data(tmp_path), tmp_path)
    assert found.label_columns == ()


def test_a_label_alone_is_nothing_to_learn_from(tmp_path):
    pd.DataFrame({"dx": ["p", "q"]}, ["a", "b"]).to_csv(tmp_path / "a.csv")
    opened = io.open_data(tmp_path / "a.csv")
    with pytest.raises(ValueError, match="the label 'dx' is all that there is"):
        io.read_labels("dx", opened, tmp_path / "a.csv").without(opened.data)
