"""One matrix with missing entries, from a file: rows and columns have names.

Tables in text files (``.csv``, ``.tsv``, ``.txt``)
    Read as views are: the first line names the columns, the first field of every line is the row's id, and
    what a gap is says ``_columns.GAPS``.
``.npz``
    ``X`` (rows x columns, NaN where missing), optionally ``row_ids``, ``column_names`` and the positive
    semidefinite ``row_kernel`` and ``column_kernel``.  Other keys are left alone; nothing is unpickled.
"""

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np

from absentia.core import Array, warn
from absentia.core.linalg import psd_violation
from absentia.data import AbsenceWarning, find_duplicates, show_id
from absentia.files._archive import list_keys, open_archive
from absentia.files._base import FileError, file_errors, write_atomically
from absentia.files._columns import csv_rows, describe_faults, infer_types, unescape_formula
from absentia.files._frames import check_header, note_written
from absentia.files._npz import is_data
from absentia.files._tables import TEXT_ENDINGS, read_raw_table

_KEYS = ("X", "row_ids", "column_names", "row_kernel", "column_kernel")
_MIN_ROWS, _MIN_COLUMNS = 3, 2
_MAX_VALUE = 1e150  # squares must be numbers too


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
        keys = list_keys(path)
    except FileError:  # whoever reads it will say why
        return False
    return "X" in keys and not any(map(is_data, keys))


def read_matrix(path: Path) -> Matrix:
    """The matrix of a text or ``.npz`` file, checked, or a :class:`FileError` that says why not.

    Examples
    --------
    >>> from pathlib import Path
    >>> from absentia import io
    >>> path = Path("table.csv")
    >>> _ = path.write_text("gene,a,b\\nx,1,\\ny,2,3\\nz,4,5\\n")
    >>> io.read_matrix(path).X
    array([[ 1., nan],
           [ 2.,  3.],
           [ 4.,  5.]])
    """
    path = Path(path)
    with file_errors(path):
        text = path.name.lower().endswith(TEXT_ENDINGS)
        if not text and path.suffix.lower() != ".npz":
            raise ValueError("a matrix is a .csv or an .npz file; give it that ending")
        matrix = _from_text(path) if text else _from_npz(path)
        _check_matrix(matrix)
        return matrix


# --------------------------------------------------------------------------------------------- tables


def _from_text(path: Path) -> Matrix:
    table = read_raw_table(path)
    check_header(table)
    row_ids = [unescape_formula(cell.strip()) for cell in table.texts(0)]
    if "" in row_ids:
        raise ValueError(f"line {table.lines[row_ids.index('')]}: the first field, the row's id, is empty")
    names = table.names[1:]
    _check_unique(names, "column name")
    typed = infer_types(table, range(1, len(table.names)), only_numbers=True)
    if typed.faults:
        raise ValueError(describe_faults(typed.faults))
    for note in note_written(path, typed.examples):
        warn(note, AbsenceWarning)
    X = np.column_stack([typed.columns[name].astype(float) for name in names])
    return Matrix(X, np.array(row_ids, dtype=str), np.array(names), corner=table.names[0])


def _format_rows(matrix: Matrix, values: Array) -> Iterator[list[Any]]:
    """`values` as a table like the one that was read; what was observed to the last digit."""
    yield [matrix.corner, *matrix.column_names.tolist()]
    observed = matrix.observed
    for name, row, seen in zip(matrix.row_ids.tolist(), values, observed, strict=True):
        pairs = zip(row.tolist(), seen.tolist(), strict=True)
        yield [name, *(repr(x).removesuffix(".0") if s else f"{x:.10g}" for x, s in pairs)]


def write_csv(path: Path, matrix: Matrix, values: Array) -> Path:
    """Write a table, whole or not at all."""
    return write_atomically(path, lambda file: file.writelines(csv_rows(_format_rows(matrix, values))))


# ------------------------------------------------------------------------------------------------ npz


def _from_npz(path: Path) -> Matrix:
    with open_archive(path) as members:
        if "X" not in members:
            keys = sorted(members)
            if any(map(is_data, keys)):
                raise ValueError(
                    "holds views (K or view_<name>), and pma completes one matrix; give the matrix as X, "
                    "or use another --method for the kernels of views (see absentia complete --list)"
                )
            raise ValueError(f"holds no matrix X but {keys[:8] or 'nothing'}; name it X")
        arrays = {key: members[key].read() for key in _KEYS if key in members}
    X = _as_floats(arrays["X"], "X")
    if X.ndim != 2:
        raise ValueError(f"X has shape {X.shape}; a matrix, (rows, columns), is wanted")
    n, m = X.shape
    return Matrix(
        X,
        _check_names(arrays.get("row_ids"), n, "row_ids", "rows"),
        _check_names(arrays.get("column_names"), m, "column_names", "columns"),
        _check_kernel(arrays.get("row_kernel"), n, "row_kernel", "rows"),
        _check_kernel(arrays.get("column_kernel"), m, "column_kernel", "columns"),
    )


def _as_floats(array: Array, what: str) -> Array:
    if array.dtype.kind not in "fiub":
        raise ValueError(f"{what} holds {array.dtype}; numbers are wanted")
    return array.astype(float)


def _check_names(names: Array | None, n: int, what: str, of: str) -> Array:
    if names is None:
        return np.arange(n)
    if names.shape != (n,) or names.dtype.kind not in "Uiu":
        raise ValueError(
            f"{what} is {names.dtype} of shape {names.shape}; texts or whole numbers, one for each of the "
            f"{n} {of}, are wanted"
        )
    return names


def _check_kernel(K: Array | None, n: int, what: str, of: str) -> Array | None:
    if K is None:
        return None
    K = _as_floats(K, what)
    if K.shape != (n, n):
        raise ValueError(f"{what} has shape {K.shape}; {(n, n)} is wanted, for {n} {of}")
    if not np.isfinite(K).all():
        raise ValueError(f"{what} holds infinite or missing values; a kernel is known everywhere")
    if np.abs(K).max(initial=0.0) > _MAX_VALUE:
        raise ValueError(f"{what} holds values beyond {_MAX_VALUE:g}; divide it by its largest")
    if np.abs(K - K.T).max(initial=0.0) > 1e-8 * np.abs(K).max(initial=0.0):
        raise ValueError(f"{what} is not symmetric; a kernel is")
    eigenvalues = psd_violation(K)
    if eigenvalues or not np.trace(K) > 0:
        low, high = eigenvalues or (0.0, 0.0)
        raise ValueError(
            f"{what} is not positive semidefinite and nonzero (eigenvalues from {low:.4g} to {high:.4g}); "
            "clip its eigenvalues, or check how it was computed"
        )
    return K


# ---------------------------------------------------------------------------------------------- checks


def _check_matrix(matrix: Matrix) -> None:
    X, (n, m) = matrix.X, matrix.X.shape
    if n < _MIN_ROWS or m < _MIN_COLUMNS:
        raise ValueError(
            f"the matrix has {n} row(s) and {m} column(s); at least {_MIN_ROWS} rows and "
            f"{_MIN_COLUMNS} columns are wanted"
        )
    _check_unique(matrix.row_ids.tolist(), "row id")
    _check_unique(matrix.column_names.tolist(), "column name")
    beyond = np.abs(X) > _MAX_VALUE
    if beyond.any():
        i, j = np.argwhere(beyond)[0]
        raise ValueError(
            f"row {show_id(matrix.row_ids[i])}, column {show_id(matrix.column_names[j])}: the value is "
            "infinite or too large; finite numbers, or missing ones, are wanted"
        )
    empty = matrix.column_names[~matrix.observed.any(axis=0)]
    if len(empty):
        raise ValueError(
            f"{len(empty)} column(s) have nothing observed, e.g. {show_id(empty[0])}; remove what nothing "
            "is known of"
        )


def _check_unique(names: Sequence[str | int], what: str) -> None:
    if twice := find_duplicates(names):
        raise ValueError(
            f"{len(twice)} {what}(s) appear more than once, e.g. {show_id(twice[0])}; give each its own"
        )
