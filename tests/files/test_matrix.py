"""Tables that are written are no formulas and come back as they were; what is no matrix is refused."""

import gzip
import warnings

import numpy as np
import pytest
from hypothesis import HealthCheck, example, given, settings
from hypothesis import strategies as st

import absentia
from absentia import io
from absentia.files import _columns, _matrix
from helpers.crafted_archives import refused

FAST = settings(max_examples=60, deadline=None, suppress_health_check=list(HealthCheck), database=None)

cells = st.text(st.characters(exclude_categories=["Cs"]), max_size=8)


@FAST
@given(cells)
@example("=1+1")
@example("'=1+1")
@example("''-x")
@example("-1.5")
@example("'-1.5")
@example("+1e5")
@example("-1e")
@example("@x")
@example("\t=1")
@example("\r=1")
@example("＝1")
@example("-inf")
@example("-١")
def test_no_field_is_a_formula_and_every_one_comes_back(cell):
    safe = _columns._escape_formula(cell)
    if safe[:1] in ("=", "+", "-", "@", "\t", "\r"):
        float(safe)
        assert safe == cell
        assert safe.isascii()
    assert _columns.unescape_formula(safe) == cell
    assert len(safe) - len(cell) in (0, 1)


@FAST
@given(st.lists(cells.map(str.strip).filter(bool), min_size=5, max_size=5, unique=True), st.integers(0, 99))
@example(["=a", "'=a", "-1", "'-1", "@"], 0)
@example(["0", "1", "a\r=b", "0\r0", ":"], 0)
@example(["a\n=b", 'a"', "a\u2028=b", "a;=b", "a,b"], 0)
def test_a_table_that_is_written_is_read_as_it_was(tmp_path_factory, names, seed):
    """Ids and column names of any kind come back, and so does every number."""
    X = np.random.default_rng(seed).normal(size=(3, 2))
    matrix = io.Matrix(X, np.array(names[:3]), np.array(names[3:]))
    path = tmp_path_factory.mktemp("t") / "t.csv"
    try:
        back = io.read_matrix(io.write_csv(path, matrix, X))
    except (
        io.FileError
    ) as error:  # no text holds zeros; NumPy drops them at the end, and two ids become one
        assert "\0" in "".join(names)
        assert any(x in str(error) for x in ("more than once", "is empty", "zero bytes"))  # noqa: PT017
        return
    np.testing.assert_array_equal(back.X, X)
    assert back.row_ids.tolist() == matrix.row_ids.tolist()
    assert back.column_names.tolist() == matrix.column_names.tolist()


def test_no_line_of_a_table_can_begin_inside_a_field():
    """A carriage return that is not quoted ends the line, and what comes next may be a formula."""
    matrix = io.Matrix(np.eye(3), np.array(["a\r=1+1", "b", "c"]), np.array(["x", "y\r@z", "z"]))
    text = b"".join(io.csv_rows(_matrix._format_rows(matrix, matrix.X)))
    assert b'"a\r=1+1",1,0,0' in text
    assert b'id,x,"y\r@z",z\n' in text


def test_numbers_stay_numbers_and_formulas_do_not(tmp_path):
    matrix = io.Matrix(
        -np.eye(3), np.array(["=cmd|' /C calc'!A0", "-5", "@x"]), np.array(["+a", "b", "-c"])
    )
    text = b"".join(io.csv_rows(_matrix._format_rows(matrix, matrix.X))).decode()
    assert text.splitlines() == [
        "id,'+a,b,'-c",
        "'=cmd|' /C calc'!A0,-1,-0,-0",
        "-5,-0,-1,-0",
        "'@x,-0,-0,-1",
    ]


# ---------------------------------------------------------------------------------------------- reading


@pytest.mark.parametrize(
    ("name", "text"),
    [
        ("t.csv", "who,a,b\np,1,N/A\nq,?,2.5\nr,3,null\n"),
        ("t.csv", "who;a;b\np;1;\nq;NA;2,5\nr;3;nan\n"),
        ("t.csv", "who\ta\tb\np\t1\t#N/A\nq\t.\t2.5\nr\t3\tNone\n"),
        ("t.tsv", "who\ta\tb\np\t1\t\nq\t\t2.5\nr\t3\t\n"),
        ("t.csv.gz", "who,a,b\np,1,\nq,,2.5\nr,3,\n"),
    ],
    ids=["words", "semicolons", "tabs", "tsv", "gzip"],
)
def test_what_inspect_understands_a_matrix_is_read_from_too(tmp_path, name, text):
    """One reader of text, one list of gaps: views and matrices have the same values in the same places."""
    data = text.encode()
    (tmp_path / name).write_bytes(gzip.compress(data) if name.endswith(".gz") else data)
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", absentia.AbsenceWarning)
        matrix, views = io.read_matrix(tmp_path / name), io.read(tmp_path / name)
    np.testing.assert_array_equal(matrix.X, [[1, np.nan], [np.nan, 2.5], [3, np.nan]])
    np.testing.assert_array_equal(matrix.X, views.padded("t", np.arange(3)))
    assert matrix.row_ids.tolist() == views.ids.tolist() == ["p", "q", "r"]
    assert matrix.corner == "who"


def test_decimal_commas_of_a_matrix_are_said(tmp_path):
    (tmp_path / "t.csv").write_text("id;a;b\np;1,5;1\nq;2,5;2\nr;3;3\n")
    with pytest.warns(absentia.AbsenceWarning, match=r"read as numbers: .a. \(.1,5. as 1.5\)"):
        assert io.read_matrix(tmp_path / "t.csv").X[0, 0] == 1.5


@pytest.mark.parametrize(
    ("text", "sentence"),
    [
        ("id,a,b\np,1,2\nq,x,3\nr,y,4\n", r"column 'a' \('x' in line 3\) holds texts where numbers are"),
        ("id,a,b\np,u,2\nq,x,3\nr,y,4\n", r"column 'a' \('u' in line 2\) holds texts where numbers are"),
        ("id,a,b\np,2020-01-05,2\nq,2021-01-05,3\nr,2022-01-05,4\n", "column 'a' .* holds dates"),
        ("id,a,b\np,1,2\nq,1\nr,2,3\n", "line 3 has 2 fields, line 2 has 3"),
        ("id,a,b\np,1,2\n,1,2\nr,2,3\n", "line 3: the first field, the row's id, is empty"),
        ("id,a,a\np,1,2\nq,1,2\nr,2,3\n", r"1 column name\(s\) appear more than once, e.g. 'a'"),
        ("", "the file is empty"),
    ],
)
def test_a_cell_that_is_no_number_is_named_by_line_and_column(tmp_path, text, sentence):
    (tmp_path / "t.csv").write_text(text)
    refused(io.read_matrix, tmp_path / "t.csv", sentence)


def test_a_matrix_of_a_table_has_nan_where_nothing_is_known(tmp_path):
    path = tmp_path / "t.csv"
    path.write_text("who,a,b\np,1,\nq,NA,2.5\nr,3,nan\n")
    matrix = io.read_matrix(path)
    np.testing.assert_array_equal(matrix.X, [[1, np.nan], [np.nan, 2.5], [3, np.nan]])
    assert matrix.row_ids.tolist() == ["p", "q", "r"]
    assert matrix.column_names.tolist() == ["a", "b"]
    assert matrix.corner == "who"


def test_a_matrix_of_arrays_has_kernels_if_they_are_given(tmp_path):
    path = tmp_path / "m.npz"
    np.savez(path, X=np.eye(3, dtype=int), row_kernel=np.eye(3), y=np.zeros(9))
    matrix = io.read_matrix(path)
    assert matrix.X.dtype == np.float64
    assert matrix.row_ids.tolist() == [0, 1, 2]
    np.testing.assert_array_equal(matrix.row_kernel, np.eye(3))
    assert matrix.column_kernel is None
    assert io.holds_matrix(path)
    np.savez(path, X=np.eye(3), K=np.eye(3)[None])
    assert not io.holds_matrix(path)
    assert not io.holds_matrix(tmp_path / "gone.npz")


BAD = [
    ({"X": np.eye(3)[0]}, r"X has shape \(3,\)"),
    ({"X": np.eye(3) * 1j}, "X holds complex128; numbers are wanted"),
    ({"Y": np.eye(3)}, r"holds no matrix X but \['Y'\]"),
    ({"view_a": np.eye(3)}, "holds views"),
    ({"X": np.eye(2)}, r"2 row\(s\) and 2 column\(s\); at least 3 rows"),
    ({"X": np.eye(3), "row_ids": ["a", "b", "a"]}, r"1 row id\(s\) appear more than once, e.g. 'a'"),
    ({"X": np.eye(3), "column_names": [1, 2, 1]}, r"1 column name\(s\) appear more than once, e.g. 1"),
    ({"X": np.eye(3), "row_ids": ["a"]}, "one for each of the 3 rows"),
    ({"X": np.eye(3), "row_kernel": np.eye(2)}, r"row_kernel has shape \(2, 2\); \(3, 3\)"),
    ({"X": np.eye(3), "row_kernel": np.triu(np.ones((3, 3)))}, "row_kernel is not symmetric"),
    ({"X": np.eye(3), "row_kernel": -np.eye(3)}, "not positive semidefinite"),
    ({"X": np.eye(3) * 1e200}, "row 0, column 0: the value is infinite or too large"),
    ({"X": [[1, np.nan], [2, np.nan], [3, np.nan]]}, r"1 column\(s\) have nothing observed, e.g. 1"),
]


@pytest.mark.parametrize(("arrays", "sentence"), BAD, ids=[s[:30] for _, s in BAD])
def test_what_is_no_matrix_is_refused_with_one_sentence(tmp_path, arrays, sentence):
    path = tmp_path / "m.npz"
    np.savez(path, **arrays)
    refused(io.read_matrix, path, sentence)


def test_a_first_line_that_is_a_row_is_not_taken_for_names(tmp_path):
    (tmp_path / "m.csv").write_text("r1,5.1,3.5\nr2,4.9,3.0\nr3,5.2,3.6\nr4,5.0,\n")
    with pytest.raises(io.FileError, match=r"the first line \('r1', '5.1', '3.5'\) looks like a sample"):
        io.read_matrix(tmp_path / "m.csv")
    (tmp_path / "m.csv").write_text("user,1,2,3\nr2,4,3,\nr3,5,?,1\nr4,5,null,2\n")
    assert np.isnan(io.read_matrix(tmp_path / "m.csv").X).sum() == 3
