"""Tables as data frames: ids, columns, one wide table as several views."""

import gzip

import numpy as np
import pytest

import absentia
from absentia import AbsenceWarning, io
from absentia.files import parse_groups


def table(tmp_path, text, name="t.csv"):
    path = tmp_path / name
    path.write_text(text)
    return path


def read_frame(path, **options):
    """The only view of a table as a data frame, and what was said about it."""
    loaded = io.open_data(path, **options)
    return loaded.data.to_frame(loaded.data.names[0]), loaded.notes


IDS = [
    ("id,a\n001,1\n002,2\n", None, ["001", "002"]),
    ("a,Sample ID\n1,x\n2,y\n", None, ["x", "y"]),
    ("a,b\nx,1\ny,2\n", None, ["x", "y"]),
    ("id,PATIENT,a\nx,1,1\ny,2,1\n", "PATIENT", ["1", "2"]),
    ("id,a\n1.0,1\n2.0,2\n", None, ["1", "2"]),
    ("id,a\n' x',1\n'=y,2\n", None, ["' x'", "=y"]),
]


@pytest.mark.parametrize(("text", "column", "ids"), IDS)
def test_ids_are_found_and_stay_texts(tmp_path, text, column, ids):
    frame, _ = read_frame(table(tmp_path, text), id=column, ignore=["id"] if column else [])
    assert frame.index.tolist() == ids


def refused(tmp_path, text, sentence, **spec):
    path = table(tmp_path, text)
    with pytest.raises(io.FileError, match=sentence) as caught:
        read_frame(path, **spec)
    assert str(caught.value).startswith(f"{path}: ")


def test_ids_that_cannot_be_are_refused_with_their_lines(tmp_path):
    refused(tmp_path, "id,a\nx,1\nNA,2\n,3\n", r"'id', is empty in 2 lines: 3, 4; give every sample")
    refused(tmp_path, "id,a\nx,1\ny,2\nx,3\n", r"has 1 id more than once: 'x' \(lines 2, 4\)")
    refused(tmp_path, "age,b\n1.5,1\n2,2\n", r"'age', holds numbers such as 1.5, which are no ids")
    refused(tmp_path, "id,b\nx,1\n", "no column 'patient' of ids; there are 'id', 'b'", id="patient")
    refused(tmp_path, "id,b\n", "there is no line below the names")


def test_names_of_columns_are_there_once(tmp_path):
    refused(tmp_path, "id,a,b,a,b\nx,1,2,3,4\n", "2 column names appear more than once: 'a', 'b'")
    refused(tmp_path, "id,a,,b,\nx,1,2,3,4\n", "columns 3, 5 of 5 have no name")
    refused(tmp_path, "id,a\nx,1\n", "ignore: no column of any view fits 'b'", ignore=["b"])
    refused(tmp_path, "id,a\nx,1\n", "no column is left", ignore=["a"])


HEADERLESS = [
    "s1,5.1,3.5\ns2,4.9,3.0\ns3,5.2,3.6\n",
    "s1,5.1,5.5\ns2,4.9,3.0\ns3,5.2,5.6\n",
    "anna,12,7\nbert,14,9\ncarl,9,5\n",
    "anna,12\nbert,14\ncarl,9\n",
    "5.1,3.5,1.4\n4.9,3.0,1.3\n5.3,3.6,1.5\n",
    "s1,a\ns2,b\ns3,a\n",
    "s1,NA,m\ns2,4,f\ns3,5,m\n",
    "s1,1,1\ns2,0,1\ns3,1,0\n",
]
HEADERS = [
    "id,5.1,3.5\ns2,4.9,3.0\ns3,5.2,3.6\n",
    ",5.1,3.5\ns2,4.9,3.0\ns3,5.2,3.6\n",
    "name,0,1,2\ns1,0.1,0.2,3\ns2,5,2,1\n",
    "name,1990,1991\ns1,0.1,0.2\ns2,5,2\n",
    "name,1017,7157,672\ns1,0.1,0.2,5\ns2,5,2,4\n",
    "gene1,a\ns1,b\ns2,c\n",
    "name,m\ns1,f\ns2,x\n",
]


@pytest.mark.parametrize("text", HEADERLESS)
def test_a_first_line_that_is_a_sample_is_not_taken_for_names(tmp_path, text):
    first = repr(text.split(",")[0])
    refused(
        tmp_path, text, rf"the first line \({first}, .*\) looks like a sample .* call the first column id"
    )


@pytest.mark.parametrize("text", HEADERS)
def test_a_first_line_that_may_be_names_is(tmp_path, text):
    frame, _ = read_frame(table(tmp_path, text))
    assert list(frame.columns) == text.split("\n")[0].split(",")[1:]
    assert len(frame) == 2


def test_how_numbers_were_read_is_said(tmp_path):
    text = "id\ta\tb\tc\nx\t1,5\t5 kg\t2,5\ny\t2,5\t6 kg\t1\n"
    frame, notes = read_frame(table(tmp_path, text))
    assert frame.to_numpy().tolist() == [[1.5, 5, 2.5], [2.5, 6, 1]]
    assert notes == ("t.csv: read as numbers: 'a' ('1,5' as 1.5), 'b' ('5 kg' as 5), 'c' ('2,5' as 2.5)",)


def test_categories_that_may_be_numbers_are_warned_of(tmp_path):
    path = table(tmp_path, "id,a\nx,5 kg\ny,500 g\nz,5 kg\n")
    with pytest.warns(AbsenceWarning, match=r"column 'a' \('5 kg' in line 2\) holds values that begin"):
        assert read_frame(path)[0]["a"].tolist() == ["5 kg", "500 g", "5 kg"]


def test_ids_are_joined_whatever_their_unicode_form(tmp_path):
    forms = ["Jos\u00e9", "Jose\u0301", "Jos\u00e9\u200b"]
    folder = tmp_path / "d"
    folder.mkdir()
    for k, form in enumerate(forms):
        (folder / f"v{k}.csv").write_text(f"id,a{k}\n{form},1\nx,2\n", encoding="utf-8")
    views = absentia.read(folder)
    assert sorted(views.ids.tolist()) == ["Jos\u00e9", "x"]
    assert views.observed.all()
    refused(tmp_path, f"id,a\n{forms[0]},1\n{forms[1]},2\n", r"more than once: 'José' \(lines 2, 3\)")


def test_what_is_no_feature_is_left_out_with_a_word(tmp_path):
    frame, notes = read_frame(table(tmp_path, ",sample,patient,subject,a\n0,x,p,s,1\n1,y,q,s,2\n"))
    assert list(frame.columns) == ["subject", "a"]
    assert frame.index.tolist() == ["x", "y"]
    assert len(notes) == 2
    assert "'', which only counts lines, is left out" in notes[0]
    assert "'patient', which holds further ids, is left out" in notes[1]


def test_all_faults_of_a_table_are_said_at_once(tmp_path):
    refused(
        tmp_path,
        "id,a,b,c\nx,<1,2020-01-01,1\ny,2,2020-01-02,2\n",
        r"column 'b' \('2020-01-01' in line 2\) holds dates.*column 'a' \('<1' in line 2\) holds numbers",
    )


def test_columns_keep_their_order_whatever_they_are(tmp_path):
    frame, _ = read_frame(table(tmp_path, "id,t,a,u,b\nx,m,1,v,2\n"))
    assert list(frame) == ["t", "a", "u", "b"]


def test_a_table_is_a_view_of_its_name(tmp_path):
    with pytest.warns(AbsenceWarning, match="no view at all, e.g. 'y'"):
        views = absentia.read(table(tmp_path, "id,a,sex\nx,1,f\ny,,\nz,2,m\n", "clinical.v2.csv"))
    assert views.names == ("clinical.v2",)
    assert views.observed[:, 0].tolist() == [True, False, True]
    assert views.features("clinical.v2").tolist() == ["a", "sex"]
    assert views.levels("clinical.v2") == {"sex": ("f", "m")}


@pytest.mark.parametrize(
    ("name", "wanted"), [("a.csv", "a"), ("b.c.CSV.gz", "b.c"), ("csv.csv", "csv"), ("x.txt.txt", "x.txt")]
)
def test_names_of_views(tmp_path, name, wanted):
    content = b"id,a\nx,1\ny,2\n"
    (tmp_path / name).write_bytes(gzip.compress(content) if name.endswith("gz") else content)
    assert absentia.read(tmp_path / name).names == (wanted,)


WIDE = "id,gene_1,gene_2,age,sex,other\nx,1,2,,,x1\ny,,,50,f,x2\nz,3,4,60,m,2020-01-01\n"


def test_one_wide_table_is_several_views(tmp_path):
    path = table(tmp_path, WIDE)
    views = absentia.read(path, views={"expr": ["gene_*"], "clin": ["age", "sex"]})
    assert views.names == ("expr", "clin")
    assert views.observed.tolist() == [[True, False], [False, True], [True, True]]
    assert views.features("clin").tolist() == ["age", "sex"]
    assert io.open_data(path, views={"expr": ["gene_*"], "clin": ["age", "sex"]}).notes == (
        "t.csv: 1 column(s) in no view: 'other'",
    )
    with pytest.warns(AbsenceWarning, match="no view at all"):
        opened = io.open_data(path, views={"expr": ["gene_*"]})
    assert opened.notes == ("t.csv: 3 column(s) in no view: 'age', 'sex', 'other'",)


def test_groups_that_overlap_or_match_nothing_are_refused(tmp_path):
    path = table(tmp_path, WIDE)
    with pytest.raises(
        io.FileError, match=r"1 column would be in several views, e.g. 'gene_1' in 'a' and 'b'"
    ):
        absentia.read(path, views={"a": ["gene_*"], "b": ["gene_1"]})
    with pytest.raises(io.FileError, match="no column fits 'protein_"):
        absentia.read(path, views={"a": ["gene_*"], "b": ["protein_*"]})
    with pytest.raises(io.FileError, match="no view is named"):
        absentia.read(path, views={})
    with pytest.raises(io.FileError, match="layer cannot be given for a table"):
        absentia.read(path, layer="counts")


def test_groups_are_parsed():
    assert parse_groups(["expr=gene_*", "clin = age, sex"]) == {"expr": ["gene_*"], "clin": ["age", "sex"]}
    for text in ("expr", "=a", "a=", "a=,"):
        with pytest.raises(ValueError, match="is no view; NAME=COLUMN"):
            parse_groups([text])
    with pytest.raises(ValueError, match="view 'a' is given twice"):
        parse_groups(["a=b", "a=c"])


@pytest.mark.parametrize(
    ("names", "pattern", "wanted"), [("a[1],a1", "a[1]", ["a[1]"]), ("b,A1,a1", "a*", ["a1"])]
)
def test_a_name_with_signs_of_patterns_is_that_name(tmp_path, names, pattern, wanted):
    values = ",1" * len(names.split(","))
    path = table(tmp_path, f"id,{names}\np{values}\nq{values}\n")
    assert absentia.read(path, views={"x": [pattern]}).features("x").tolist() == wanted


def test_the_views_of_a_group_keep_its_order(tmp_path):
    views = absentia.read(table(tmp_path, WIDE), views={"c": ["sex", "age"], "g": ["gene_*"]})
    assert views.features("c").tolist() == ["sex", "age"]


def test_thousands_of_columns_are_quick(tmp_path):
    X = np.random.default_rng(0).normal(size=(6, 20_000))
    lines = [",".join(["id", *(f"g{k}" for k in range(X.shape[1]))])]
    lines += [",".join([f"p{k}", *map(repr, row)]) for k, row in enumerate(X.tolist())]
    path = table(tmp_path, "\n".join(lines))
    frame, _ = read_frame(path)
    np.testing.assert_array_equal(frame.to_numpy(), X)
