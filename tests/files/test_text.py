"""Tables in text files: encodings, delimiters, lines that do not fit."""

import gzip
import warnings

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

import absentia
from absentia import io
from absentia.files import _tables, _text, file_errors
from helpers.cpu_limit import cpu_limit


def read(tmp_path, content, name="t.csv"):
    path = tmp_path / name
    path.write_bytes(content if isinstance(content, bytes) else content.encode())
    with file_errors(path):
        return _tables.read_raw_table(path)


PLAIN = "id,name\np,Müller\nq,Ångström – x\n"


@pytest.mark.parametrize("encoding", ["utf-8", "utf-8-sig", "utf-16", "utf-16-le", "utf-16-be", "cp1252"])
def test_encodings_are_found(tmp_path, encoding):
    raw = read(tmp_path, PLAIN.encode(encoding))
    assert raw.names == ["id", "name"]
    assert raw.texts(1) == ["Müller", "Ångström – x"]
    assert bool(raw.notes) == (encoding == "cp1252")


def test_latin_1_is_the_last_resort(tmp_path):
    assert read(tmp_path, b"id,a\np,\xe9\x81\n").texts(1) == ["é\x81"]


@pytest.mark.parametrize("delimiter", [",", ";", "\t", "|"])
@pytest.mark.parametrize("end", ["\n", "\r\n", "\r"])
def test_delimiters_are_found_whatever_stands_in_the_cells(tmp_path, delimiter, end):
    cells = [
        ["id", "a b", "c"],
        ["p 1", "1,5;2" if delimiter not in ",;" else "x y", "x|y" if delimiter != "|" else "z"],
    ]
    raw = read(tmp_path, end.join(delimiter.join(row) for row in cells) + end)
    assert raw.names == cells[0]
    assert [raw.texts(place)[0] for place in range(3)] == cells[1]


def test_decimal_commas_do_not_hide_a_semicolon(tmp_path):
    assert read(tmp_path, "id;a\np;1,5\nq;2,5\n").texts(1) == ["1,5", "2,5"]


def test_tables_as_R_writes_them(tmp_path):
    spaces = read(tmp_path, '"a" "b"\n"p 1" 1 2\n"q" 3 NA\n', "t.txt")
    assert (spaces.names, spaces.texts(0)) == (["", "a", "b"], ["p 1", "q"])
    commas = read(tmp_path, '"id","b"\n"1","p",2\n"2","q",3\n')
    assert (commas.names, commas.texts(1)) == (["", "id", "b"], ["p", "q"])


def test_a_delimiter_at_the_end_of_lines_shifts_nothing(tmp_path):
    for table in ("id,a\np,1,\nq,2,\n", "id,a,\np,1,\nq,2,\n", "id,a,,\np,1,,\nq,2,,\n"):
        raw = read(tmp_path, table)
        assert raw.names == ["id", "a"]
        assert [raw.texts(0), raw.texts(1)] == [["p", "q"], ["1", "2"]]


def test_lines_are_counted_as_editors_count_them(tmp_path):
    raw = read(tmp_path, '\nid,a\n\np,"x\ny"\n,\nq,2\n')
    assert list(raw.lines) == [5, 7]


BAD = [
    ("", "the file is empty"),
    ("\n , \n", "the file is empty"),
    ("id\np\n", "the first line has one field, 'id'"),
    ("id,a\np,1\nq\n", "line 3 has 1 fields, line 2 has 2"),
    ("id,a\np,1\nq,1,2\n", "line 3 has 3 fields, line 2 has 2"),
    ("id,a\np,1,2\n", "line 2 has 3 fields, line 1 has 2"),
    ('id,a\np,"1\n', "is not a line of a table"),
    (b"id,a\0\np,1\n", "is no text: it holds zero bytes"),
    (b"\xff\xfea", "is no text"),
    ("id,a\np," + "x" * 200_000, "field larger than field limit"),
]


@pytest.mark.parametrize(("content", "sentence"), BAD, ids=[s[:25] for _, s in BAD])
def test_what_is_no_table_is_refused(tmp_path, content, sentence):
    with pytest.raises(io.FileError, match=sentence):
        read(tmp_path, content)


def test_packed_tables_are_read_and_bounded(tmp_path, monkeypatch):
    assert read(tmp_path, gzip.compress(PLAIN.encode()), "t.csv.gz").texts(0) == ["p", "q"]
    with pytest.raises(io.FileError, match="not packed by gzip"):
        read(tmp_path, PLAIN, "t.csv.gz")
    with pytest.raises(io.FileError, match="not packed by gzip"):
        read(tmp_path, gzip.compress(PLAIN.encode())[:-9], "t.csv.gz")
    monkeypatch.setenv("ABSENTIA_MAX_BYTES", "1M")
    with pytest.raises(io.FileError, match="what is packed in it would take"):
        read(tmp_path, gzip.compress(b"x" * 4_000_000), "t.csv.gz")


@given(
    st.sampled_from(",;\t|"),
    st.lists(st.lists(st.text("ab1.5-_", min_size=1), min_size=3, max_size=3), min_size=2, max_size=5),
)
def test_what_python_writes_is_read_back(delimiter, rows):
    content = "\n".join(delimiter.join(row) for row in rows)
    assert _text._find_delimiter(content) == delimiter


def test_many_empty_fields_take_as_long_as_they_are(tmp_path):
    ends = "," * 100_000
    path = tmp_path / "t.csv"
    path.write_text(f"id,a{ends}\nx,1{ends}\ny,2{ends}\n")
    with cpu_limit():
        assert _tables.read_raw_table(path).names == ["id", "a"]


def test_a_long_cell_takes_as_long_as_it_is(tmp_path):
    path = tmp_path / "t.csv"
    for cell in ("1" * 60_000 + "x", "1" + " " * 60_000 + "!"):
        path.write_text("id,a\n" + "".join(f's{k},"{cell}{k}"\n' for k in range(4)))
        with cpu_limit(), warnings.catch_warnings(action="ignore"):
            absentia.read(path)


@pytest.mark.parametrize("end", ["\n", "\r\n", "\r"])
@pytest.mark.parametrize("delimiter", [",", ";", "\t", "|"])
def test_numbers_are_the_same_to_the_bit_however_many(tmp_path, monkeypatch, end, delimiter):
    monkeypatch.setattr(_text, "_BLOCK", 500)  # bytes that are read at a time
    rng = np.random.default_rng(0)
    X = rng.standard_normal((60, 4)) * 10.0 ** rng.integers(-100, 100, (60, 4))
    lines = [delimiter.join(["id", *"abcd"])]
    lines += [delimiter.join([f"s{i:02}", *map(repr, row)]) for i, row in enumerate(X.tolist())]
    path = tmp_path / "t.csv"
    path.write_bytes((end.join(lines) + end).encode())
    views = absentia.read(path)
    np.testing.assert_array_equal(views.block("t"), X)
    assert views.ids[[0, 59]].tolist() == ["s00", "s59"]


def test_missing_values_and_empty_lines(tmp_path):
    raw = read(tmp_path, "\nid,a,b,c\np,,NA,?\n\nq,1,,2\nr,n/a,3,\n")
    assert list(raw.lines) == [3, 5, 6]
    assert raw.texts(2) == ["NA", "", "3"]
