"""One matrix with missing entries, from a file: rows and columns have names.

``.csv``
    The first line names the columns, the first field of every line is the row's id; an empty field, NA or
    NaN, or what else ``_numbers.MISSING`` has, is missing.
``.npz``
    ``X`` (rows x columns, NaN where missing), optionally ``row_ids``, ``column_names`` and the positive
    semidefinite ``row_kernel`` and ``column_kernel``.  Other keys are left alone; nothing is unpickled.

Tables that we write are opened in spreadsheets, which take a field that begins with ``=``, ``+``, ``-``,
``@`` or a tab for a formula and run it.  Texts of that kind (ids, class and column names come from
strangers' files) are written with an apostrophe before them, unless they are plain numbers
(:func:`safe_cell`), and our own readers take that apostrophe off again (:func:`plain_cell`), so that ids
are found as they were.
"""

import csv
import math
import re
from array import array
from collections.abc import Iterable, Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np

from absentia.core import Array, indefinite
from absentia.data import repeated, shown
from absentia.files._archive import archive, keys
from absentia.files._atomic import write_whole
from absentia.files._errors import FileError, reading
from absentia.files._npz import is_data
from absentia.files._numbers import MISSING, is_number
from absentia.files._opening import text_lines
from absentia.files._raw import Raw, Written, check_header

KEYS = ("X", "row_ids", "column_names", "row_kernel", "column_kernel")
FEWEST_ROWS, FEWEST_COLUMNS = 3, 2
LARGEST = 1e150  # squares must be numbers too


@dataclass(frozen=True, eq=False)
class Matrix:
    """X (n, m), NaN where missing, the names of its rows and columns, and kernels if they were given."""

    X: Array
    row_ids: Array
    column_names: Array
    row_kernel: Array | None = None
    column_kernel: Array | None = None
    corner: str = "id"  # what the first line of the table calls the ids

    @property
    def observed(self) -> Array:
        return ~np.isnan(self.X)


def holds_matrix(path: Path) -> bool:
    """Whether a file is, by its ending or its keys, one matrix and not views."""
    if path.suffix.lower() == ".csv":
        return True
    try:
        found = keys(path)
    except FileError:  # whoever reads it will say why
        return False
    return "X" in found and not any(is_data(key) for key in found)


def read_matrix(path: Path) -> Matrix:
    """The matrix of a ``.csv`` or ``.npz`` file, checked, or a :class:`FileError` that says why not."""
    path = Path(path)
    with reading(path):
        if path.suffix.lower() not in (".csv", ".npz"):
            raise ValueError("a matrix is a .csv or an .npz file; give it that ending")
        matrix = _from_csv(path) if path.suffix.lower() == ".csv" else _from_npz(path)
        _check(matrix)
        return matrix


# ------------------------------------------------------------------------------------- fields of tables

_FORMULA = re.compile(r"'*[=+\-@\t\r\n\uff1d\uff0b\uff0d\uff20]")  # also as wide as an ideograph
_SPLITS = re.compile(r'[,;"\t\r\n\v\f\x1c-\x1e\x85\u2028\u2029]')


def safe_cell(value: Any) -> Any:
    """A field for a table: texts that a spreadsheet would run get an apostrophe before them.

    Texts that only look so quoted (an apostrophe before such a character) get one more, so that
    :func:`plain_cell` undoes exactly this.  Numbers, also as texts, stay.
    """
    if isinstance(value, str) and _FORMULA.match(value) and not (value[0] in "+-" and is_number(value)):
        return f"'{value}"
    return value


def plain_cell(cell: str) -> str:
    """A field as it was before :func:`safe_cell`."""
    return cell[1:] if cell.startswith("'") and _FORMULA.match(cell) else cell


def csv_rows(rows: Iterable[Iterable[Any]]) -> Iterator[bytes]:
    """Lines of a table, each field safe."""
    for row in rows:
        yield (",".join(_field(value) for value in row) + "\n").encode()


def _field(value: Any) -> str:
    """A field, in quotes if it holds what ends fields or lines.

    Python's own writer leaves a carriage return as it is, which is a new line to spreadsheets.
    """
    field = str(safe_cell(value))
    return '"' + field.replace('"', '""') + '"' if _SPLITS.search(field) else field


@contextmanager
def read_table(path: Path, wanted: str) -> Iterator[tuple[list[str], Iterator[tuple[int, list[str]]]]]:
    """The first line of a table that holds something, and the others with their numbers, one at a time.

    No fields have spaces around them, and every line has as many as the first.
    """
    with text_lines(path, wanted) as lines:
        rows = _rows(csv.reader(lines, strict=True))
        header = next(rows, (0, []))[1]
        yield header, _as_wide(rows, len(header))


def _as_wide(rows: Iterator[tuple[int, list[str]]], width: int) -> Iterator[tuple[int, list[str]]]:
    for number, line in rows:
        if len(line) != width:
            raise ValueError(
                f"line {number} has {len(line)} fields, the first line {width} (the column of ids is one)"
            )
        yield number, line


def _rows(reader: Any) -> Iterator[tuple[int, list[str]]]:
    try:
        for line in reader:
            cells = [plain_cell(cell.strip()) for cell in line]
            if any(cells):
                yield reader.line_num, cells
    except (UnicodeDecodeError, csv.Error) as error:
        raise ValueError(f"not a CSV file in UTF-8 ({error})") from None


# ------------------------------------------------------------------------------------------------ CSV


def _from_csv(path: Path) -> Matrix:
    with read_table(path, "a .csv file") as (header, rows):
        if not header:
            raise ValueError("the file is empty")
        if len(header) < 2:
            raise ValueError("the first line has one field; columns are to be separated by commas")
        ids, values = [], array("d")
        for number, line in rows:
            if not line[0]:
                raise ValueError(f"line {number}: the first field, the row's id, is empty")
            ids.append(line[0])
            values.extend(_value(c, line[0], name) for c, name in zip(line[1:], header[1:], strict=True))
    X = np.array(values).reshape(len(ids), len(header) - 1)
    check_header(Raw(header, [ids, *(Written(column, list) for column in X.T)], range(len(ids))))
    return Matrix(X, np.array(ids, dtype=str), np.array(header[1:]), corner=header[0])


def _value(cell: str, row: str, column: str) -> float:
    if cell in MISSING:
        return math.nan
    try:
        if "_" in cell:  # which Python allows in numbers
            raise ValueError
        return float(cell)
    except ValueError:
        raise ValueError(
            f"row {row!r}, column {column!r}: {cell[:30]!r} is no number; numbers, or for missing values "
            "an empty field, NA or NaN, are wanted"
        ) from None


def _table(matrix: Matrix, values: Array) -> Iterator[list[Any]]:
    """`values` as a table like the one that was read; what was observed to the last digit."""
    yield [matrix.corner, *matrix.column_names.tolist()]
    observed = matrix.observed
    for name, row, seen in zip(matrix.row_ids.tolist(), values, observed, strict=True):
        pairs = zip(row.tolist(), seen.tolist(), strict=True)
        yield [name, *(repr(x).removesuffix(".0") if s else f"{x:.10g}" for x, s in pairs)]


def write_csv(path: Path, matrix: Matrix, values: Array) -> Path:
    """Write a table, whole or not at all."""
    return write_whole(path, lambda file: file.writelines(csv_rows(_table(matrix, values))))


# ------------------------------------------------------------------------------------------------ npz


def _from_npz(path: Path) -> Matrix:
    with archive(path) as members:
        if "X" not in members:
            found = sorted(members)
            if any(is_data(key) for key in found):
                raise ValueError(
                    "holds views (K or view_<name>), and pma completes one matrix; give the matrix as X, "
                    "or use another --method for the kernels of views (see absentia complete --list)"
                )
            raise ValueError(f"holds no matrix X but {found[:8] or 'nothing'}; name it X")
        arrays = {key: members[key].read() for key in KEYS if key in members}
    X = _numbers(arrays["X"], "X")
    if X.ndim != 2:
        raise ValueError(f"X has shape {X.shape}; a matrix, (rows, columns), is wanted")
    n, m = X.shape
    return Matrix(
        X,
        _names(arrays.get("row_ids"), n, "row_ids", "rows"),
        _names(arrays.get("column_names"), m, "column_names", "columns"),
        _kernel(arrays.get("row_kernel"), n, "row_kernel", "rows"),
        _kernel(arrays.get("column_kernel"), m, "column_kernel", "columns"),
    )


def _numbers(array: Array, what: str) -> Array:
    if array.dtype.kind not in "fiub":
        raise ValueError(f"{what} holds {array.dtype}; numbers are wanted")
    return array.astype(float)


def _names(names: Array | None, n: int, what: str, of: str) -> Array:
    if names is None:
        return np.arange(n)
    if names.shape != (n,) or names.dtype.kind not in "Uiu":
        raise ValueError(
            f"{what} is {names.dtype} of shape {names.shape}; texts or whole numbers, one for each of the "
            f"{n} {of}, are wanted"
        )
    return names


def _kernel(K: Array | None, n: int, what: str, of: str) -> Array | None:
    if K is None:
        return None
    K = _numbers(K, what)
    if K.shape != (n, n):
        raise ValueError(f"{what} has shape {K.shape}; {(n, n)} is wanted, for {n} {of}")
    if not np.isfinite(K).all():
        raise ValueError(f"{what} holds infinite or missing values; a kernel is known everywhere")
    if np.abs(K).max(initial=0.0) > LARGEST:
        raise ValueError(f"{what} holds values beyond {LARGEST:g}; divide it by its largest")
    if np.abs(K - K.T).max(initial=0.0) > 1e-8 * np.abs(K).max(initial=0.0):
        raise ValueError(f"{what} is not symmetric; a kernel is")
    found = indefinite(K)
    if found or not np.trace(K) > 0:
        low, high = found or (0.0, 0.0)
        raise ValueError(
            f"{what} is not positive semidefinite and nonzero (eigenvalues from {low:.4g} to {high:.4g}); "
            "clip its eigenvalues, or check how it was computed"
        )
    return K


# ---------------------------------------------------------------------------------------------- checks


def _check(matrix: Matrix) -> None:
    X, (n, m) = matrix.X, matrix.X.shape
    if n < FEWEST_ROWS or m < FEWEST_COLUMNS:
        raise ValueError(
            f"the matrix has {n} row(s) and {m} column(s); at least {FEWEST_ROWS} rows and "
            f"{FEWEST_COLUMNS} columns are wanted"
        )
    _once(matrix.row_ids.tolist(), "row id")
    _once(matrix.column_names.tolist(), "column name")
    beyond = np.abs(X) > LARGEST
    if beyond.any():
        i, j = np.argwhere(beyond)[0]
        raise ValueError(
            f"row {shown(matrix.row_ids[i])}, column {shown(matrix.column_names[j])}: the value is "
            "infinite or too large; finite numbers, or missing ones, are wanted"
        )
    empty = matrix.column_names[~matrix.observed.any(axis=0)]
    if len(empty):
        raise ValueError(
            f"{len(empty)} column(s) have nothing observed, e.g. {shown(empty[0])}; remove what nothing is "
            "known of"
        )


def _once(names: Sequence[str | int], what: str) -> None:
    if twice := repeated(names):
        raise ValueError(
            f"{len(twice)} {what}(s) appear more than once, e.g. {shown(twice[0])}; give each its own"
        )
