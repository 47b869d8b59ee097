"""Tables that are written are no formulas and come back as they were; what is no matrix is refused."""

import numpy as np
import pytest
from hypothesis import HealthCheck, example, given, settings
from hypothesis import strategies as st

from absentia import io
from absentia.files import _tables as tables
from archives import refused

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
    safe = tables.safe_cell(cell)
    if safe[:1] in ("=", "+", "-", "@", "\t", "\r"):
        float(safe)
        assert safe == cell
        assert safe.isascii()
    assert tables.plain_cell(safe) == cell
    assert len(safe) - len(cell) in (0, 1)


@FAST
@given(st.lists(cells.map(str.strip).filter(bool), min_size=5, max_size=5, unique=True), st.integers(0, 99))
@example(["=a", "'=a", "-1", "'-1", "@"], 0)
@example(["0", "1", "a\r=b", "0\r0", ":"], 0)
@example(["a\n=b", 'a"', "a\u2028=b", "a;=b", "a,b"], 0)
def test_a_table_that_is_written_is_read_as_it_was(tmp_path_factory, names, seed):
    """Ids and column names of any kind come back, and so does every number."""
    X = np.random.default_rng(seed).normal(size=(3, 2))
    matrix = tables.Matrix(X, np.array(names[:3]), np.array(names[3:]))
    path = tmp_path_factory.mktemp("t") / "t.csv"
    try:
        back = tables.read_matrix(tables.write_csv(path, matrix, X))
    except io.FileError as error:  # NumPy drops zeros at the end of texts, so that two ids may become one
        assert "\0" in "".join(names)
        assert "more than once" in str(error) or "is empty" in str(error)  # noqa: PT017
        return
    np.testing.assert_array_equal(back.X, X)
    assert back.row_ids.tolist() == matrix.row_ids.tolist()
    assert back.column_names.tolist() == matrix.column_names.tolist()


def test_no_line_of_a_table_can_begin_inside_a_field():
    """A carriage return that is not quoted ends the line, and what comes next may be a formula."""
    matrix = tables.Matrix(np.eye(3), np.array(["a\r=1+1", "b", "c"]), np.array(["x", "y\r@z", "z"]))
    text = b"".join(tables.csv_rows(tables._table(matrix, matrix.X)))
    assert b'"a\r=1+1",1,0,0' in text
    assert b'id,x,"y\r@z",z\n' in text


def test_numbers_stay_numbers_and_formulas_do_not(tmp_path):
    matrix = tables.Matrix(
        -np.eye(3), np.array(["=cmd|' /C calc'!A0", "-5", "@x"]), np.array(["+a", "b", "-c"])
    )
    text = b"".join(tables.csv_rows(tables._table(matrix, matrix.X))).decode()
    assert text.splitlines() == [
        "id,'+a,b,'-c",
        "'=cmd|' /C calc'!A0,-1,-0,-0",
        "-5,-0,-1,-0",
        "'@x,-0,-0,-1",
    ]


# ---------------------------------------------------------------------------------------------- reading


def test_a_table_gives_its_first_line_and_the_others_with_their_numbers(tmp_path):
    path = tmp_path / "t.csv"
    path.write_text("\ufeff id , a\n\n'=p, 1\n , \nq,2\n", encoding="utf-8")
    with tables.read_table(path, "a table") as (header, rows):
        assert header == ["id", "a"]
        assert list(rows) == [(3, ["=p", "1"]), (5, ["q", "2"])]
    path.write_text("id,a\np,1\nq\n")
    with (
        pytest.raises(io.FileError, match=r"t.csv: line 3 has 1 fields, the first line 2"),
        tables.read_table(path, "a table") as (_, rows),
    ):
        list(rows)
    path.write_text("")
    with tables.read_table(path, "a table") as (header, rows):
        assert header == list(rows) == []


def test_a_matrix_of_a_table_has_nan_where_nothing_is_known(tmp_path):
    path = tmp_path / "t.csv"
    path.write_text("who,a,b\np,1,\nq,NA,2.5\nr,3,nan\n")
    matrix = tables.read_matrix(path)
    np.testing.assert_array_equal(matrix.X, [[1, np.nan], [np.nan, 2.5], [3, np.nan]])
    assert matrix.row_ids.tolist() == ["p", "q", "r"]
    assert matrix.column_names.tolist() == ["a", "b"]
    assert matrix.corner == "who"


def test_a_matrix_of_arrays_has_kernels_if_they_are_given(tmp_path):
    path = tmp_path / "m.npz"
    np.savez(path, X=np.eye(3, dtype=int), row_kernel=np.eye(3), y=np.zeros(9))
    matrix = tables.read_matrix(path)
    assert matrix.X.dtype == np.float64
    assert matrix.row_ids.tolist() == [0, 1, 2]
    np.testing.assert_array_equal(matrix.row_kernel, np.eye(3))
    assert matrix.column_kernel is None
    assert tables.holds_matrix(path)
    np.savez(path, X=np.eye(3), K=np.eye(3)[None])
    assert not tables.holds_matrix(path)
    assert not tables.holds_matrix(tmp_path / "gone.npz")


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
    refused(tables.read_matrix, path, sentence)


def test_a_first_line_that_is_a_row_is_not_taken_for_names(tmp_path):
    (tmp_path / "m.csv").write_text("r1,5.1,3.5\nr2,4.9,3.0\nr3,5.2,3.6\nr4,5.0,\n")
    with pytest.raises(io.FileError, match=r"the first line \('r1', '5.1', '3.5'\) looks like a sample"):
        tables.read_matrix(tmp_path / "m.csv")
    (tmp_path / "m.csv").write_text("user,1,2,3\nr2,4,3,\nr3,5,?,1\nr4,5,null,2\n")
    assert np.isnan(tables.read_matrix(tmp_path / "m.csv").X).sum() == 3
