"""Tables in text files: encodings, delimiters, lines that do not fit."""

import gzip
import warnings
from contextlib import suppress

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

import absentia
from absentia import io
from absentia.files import FileError, _text, file_errors
from absentia.files._columns import NumberColumn
from absentia.files._frames import TableSpec, read_frame
from absentia.files._text import read_text
from helpers.cpu_limit import cpu_limit


def read(tmp_path, content, name="t.csv"):
    path = tmp_path / name
    path.write_bytes(content if isinstance(content, bytes) else content.encode())
    with file_errors(path):
        return _text.read_text(path)


PLAIN = "id,name\np,Müller\nq,Ångström – x\n"


@pytest.mark.parametrize("encoding", ["utf-8", "utf-8-sig", "utf-16", "utf-16-le", "utf-16-be", "cp1252"])
def test_encodings_are_found(tmp_path, encoding):
    raw = read(tmp_path, PLAIN.encode(encoding))
    assert raw.names == ["id", "name"]
    assert raw.columns[1] == ["Müller", "Ångström – x"]
    assert bool(raw.notes) == (encoding == "cp1252")


def test_latin_1_is_the_last_resort(tmp_path):
    assert read(tmp_path, b"id,a\np,\xe9\x81\n").columns[1] == ["é\x81"]


@pytest.mark.parametrize("delimiter", [",", ";", "\t", "|"])
@pytest.mark.parametrize("end", ["\n", "\r\n", "\r"])
def test_delimiters_are_found_whatever_stands_in_the_cells(tmp_path, delimiter, end):
    cells = [
        ["id", "a b", "c"],
        ["p 1", "1,5;2" if delimiter not in ",;" else "x y", "x|y" if delimiter != "|" else "z"],
    ]
    raw = read(tmp_path, end.join(delimiter.join(row) for row in cells) + end)
    assert raw.names == cells[0]
    assert [column[0] for column in raw.columns] == cells[1]


def test_decimal_commas_do_not_hide_a_semicolon(tmp_path):
    assert read(tmp_path, "id;a\np;1,5\nq;2,5\n").columns == [["p", "q"], ["1,5", "2,5"]]


def test_tables_as_R_writes_them(tmp_path):
    spaces = read(tmp_path, '"a" "b"\n"p 1" 1 2\n"q" 3 NA\n', "t.txt")
    assert (spaces.names, spaces.columns[0]) == (["", "a", "b"], ["p 1", "q"])
    commas = read(tmp_path, '"id","b"\n"1","p",2\n"2","q",3\n')
    assert (commas.names, commas.columns[1]) == (["", "id", "b"], ["p", "q"])


def test_a_delimiter_at_the_end_of_lines_shifts_nothing(tmp_path):
    for table in ("id,a\np,1,\nq,2,\n", "id,a,\np,1,\nq,2,\n", "id,a,,\np,1,,\nq,2,,\n"):
        raw = read(tmp_path, table)
        assert raw.names == ["id", "a"]
        assert raw.columns == [["p", "q"], ["1", "2"]]


def test_lines_are_counted_as_editors_count_them(tmp_path):
    raw = read(tmp_path, '\nid,a\n\np,"x\ny"\n,\nq,2\n')
    assert list(raw.lines) == [5, 7]


BAD = [
    ("", "the file is empty"),
    ("\n , \n", "the file is empty"),
    ("id\np\n", "the first line has one field, 'id'"),
    ("id,a\np,1\nq\n", "line 3 has 1 fields, line 2 has 2"),
    ("id,a\np,1\nq,1,2\n", "line 3 has 3 fields, line 2 has 2"),
    ("id,a\np,1,2\n", "line 2 has 3 fields, the first line 2"),
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
    assert read(tmp_path, gzip.compress(PLAIN.encode()), "t.csv.gz").columns[0] == ["p", "q"]
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
        assert _text.read_text(path).names == ["id", "a"]


def test_a_long_cell_takes_as_long_as_it_is(tmp_path):
    path = tmp_path / "t.csv"
    for cell in ("1" * 60_000 + "x", "1" + " " * 60_000 + "!"):
        path.write_text("id,a\n" + "".join(f's{k},"{cell}{k}"\n' for k in range(4)))
        with cpu_limit(), warnings.catch_warnings(action="ignore"):
            absentia.read(path)


TABLE = "id,a,b\np, 1.5,2e3\nq,-0,inf\n\nr,.5,nan\n"


@pytest.fixture
def large(monkeypatch):
    monkeypatch.setattr(_text, "_LARGE", 0)


def at_once(path):
    return isinstance(read_text(path).columns[1], NumberColumn)


def written(tmp_path, text):
    path = tmp_path / "t.csv"
    path.write_bytes(text.encode())
    return path


def both(path, spec=None):
    """What the two readers make of a table: a frame and notes, or a sentence."""
    found, spec = [], spec or TableSpec()
    for size in (1 << 40, 0):
        with pytest.MonkeyPatch.context() as patch:
            patch.setattr(_text, "_LARGE", size)
            try:
                frame, notes = read_frame(path, spec)
                found.append((frame.index.tolist(), list(frame.columns), frame.to_numpy().tolist(), notes))
            except FileError as error:
                found.append(str(error))
    return found


@pytest.mark.parametrize("end", ["\n", "\r\n"])
@pytest.mark.parametrize("delimiter", [",", ";", "\t", "|"])
def test_numbers_are_the_same_to_the_bit(tmp_path, large, end, delimiter):
    rng = np.random.default_rng(0)
    X = rng.standard_normal((60, 4)) * 10.0 ** rng.integers(-300, 300, (60, 4))
    lines = [delimiter.join(["id", *"abcd"])]
    lines += [delimiter.join([f"s{i}", *map(repr, row)]) for i, row in enumerate(X.tolist())]
    path = written(tmp_path, end.join(lines) + end)
    assert at_once(path)
    np.testing.assert_array_equal(read_frame(path)[0].to_numpy(), X)
    slow, fast = both(path)
    assert slow == fast


def test_missing_values_and_empty_lines(tmp_path, large):
    path = written(tmp_path, "\nid,a,b,c\np,,NA,?\n\nq,1,,2\nr,n/a,3,\n")
    assert at_once(path)
    assert list(read_text(path).lines) == [3, 5, 6]
    nan = np.nan
    np.testing.assert_array_equal(read_frame(path)[0], [[nan, nan, nan], [1, nan, 2], [nan, 3, nan]])


@pytest.mark.parametrize(
    "table",
    [
        'id,a\n"p",1\nq,2\n',
        "id,a\np,x\nq,y\n",
        "id,a\rp,1\rq,2\r",
        "id,a\n,\np,1\nq,2\n",
        "a,b\np,1,2\nq,2,3\n",
        "id,a,\np,1,\nq,2,\n",
        "id,a\np,1_0\nq,2\n",
        "id,a\np,1\nq,2,3\n",
        "id,a\np,0x1\nq,2\n",
        "id a\np 1\nq 2\n",
        "id,a\n",
    ],
)
def test_what_is_not_simple_is_read_cell_by_cell(tmp_path, large, table):
    path = written(tmp_path, table)
    with suppress(ValueError):
        assert not at_once(path)
    slow, fast = both(path)
    assert slow == fast


def test_texts_are_there_for_those_who_ask(tmp_path, large):
    path = written(tmp_path, "a,sample,c\n1,007,1.50\n2,008,2\n")
    raw = read_text(path)
    assert isinstance(raw.columns[1], NumberColumn)
    assert raw.texts(1) == ["007", "008"]
    slow, fast = both(path)
    assert slow == fast
    assert fast[0] == ["007", "008"]
    for spec in (
        TableSpec(categorical=["c"]),
        TableSpec(missing=["2"]),
        TableSpec(transpose=True),
        TableSpec(id="c"),
    ):
        slow, fast = both(path, spec)
        assert repr(slow) == repr(fast)


cells = st.sampled_from(
    ["1", "-2.5", "1e5", "", "NA", "nan", "NaN", " 3", "?", ".", "inf", "x", "1,5", '"4"', "_"]
)


@settings(max_examples=200, deadline=None)
@given(
    st.lists(st.lists(cells, min_size=2, max_size=2), min_size=1, max_size=6),
    st.sampled_from(["\n", "\r\n", "\r"]),
    st.sampled_from([",", ";"]),
    st.booleans(),
)
def test_both_readers_make_the_same_of_any_table(tmp_path_factory, rows, end, delimiter, last):
    lines = [["id", "a", "b"], *([f"s{i}", *row] for i, row in enumerate(rows))]
    text = end.join(delimiter.join(line) for line in lines) + (end if last else "")
    slow, fast = both(written(tmp_path_factory.mktemp("any"), text))
    assert repr(slow) == repr(fast)
