"""One matrix with missing entries, from a file: rows and columns have names.

``.csv``
    The first line names the columns, the first field of every line is the row's id; an empty field, NA or
    NaN is missing.
``.npz``
    ``X`` (rows x columns, NaN where missing), optionally ``row_ids``, ``column_names`` and the positive
    semidefinite ``row_kernel`` and ``column_kernel``.  Other keys are left alone; nothing is unpickled.
"""

from __future__ import annotations

import csv
import io as text
import math
import zipfile
from collections import Counter
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path

import numpy as np

from absentia.io import FileError, is_data, read_arrays, write_whole
from absentia.linalg import Array, indefinite
from absentia.presence import shown

MISSING = ("", "na", "nan")
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
    found = _keys(path)
    return "X" in found and not any(is_data(key) for key in found)


def _keys(path: Path) -> list[str]:
    """Names of arrays, read without opening any; none if it cannot be read."""
    try:
        with zipfile.ZipFile(path) as archive:
            return [name.removesuffix(".npy") for name in archive.namelist()]
    except (OSError, zipfile.BadZipFile):
        return []


def read_matrix(path: Path) -> Matrix:
    """The matrix of a ``.csv`` or ``.npz`` file, checked, or a :class:`FileError` that says why not."""
    if path.suffix.lower() not in (".csv", ".npz"):
        raise FileError(f"{path}: a matrix is a .csv or an .npz file; give it that ending")
    try:
        matrix = _from_csv(path) if path.suffix.lower() == ".csv" else _from_npz(path)
        _check(matrix)
    except FileError:
        raise
    except ValueError as error:
        raise FileError(f"{path}: {error}") from None
    return matrix


# ------------------------------------------------------------------------------------------------ CSV


def _from_csv(path: Path) -> Matrix:
    lines = _lines(path)
    if not lines:
        raise ValueError("the file is empty")
    header = lines[0][1]
    if len(header) < 2:
        raise ValueError("the first line has one field; columns are to be separated by commas")
    for number, line in lines[1:]:
        if len(line) != len(header):
            raise ValueError(
                f"line {number} has {len(line)} fields, the first line {len(header)} (which names the "
                "column of ids too)"
            )
        if not line[0]:
            raise ValueError(f"line {number}: the first field, the row's id, is empty")
    X = np.array([[_value(c, line[0], name) for c, name in zip(line[1:], header[1:], strict=True)]
                  for _, line in lines[1:]], dtype=float)  # fmt: skip
    ids = np.array([line[0] for _, line in lines[1:]], dtype=str)
    return Matrix(X.reshape(len(ids), len(header) - 1), ids, np.array(header[1:]), corner=header[0])


def _lines(path: Path) -> list[tuple[int, list[str]]]:
    """Lines that hold something, with their numbers."""
    if not path.is_file():
        raise ValueError("is a folder; a .csv file is wanted" if path.is_dir() else "no such file")
    try:
        with path.open(newline="", encoding="utf-8-sig") as file:
            reader = csv.reader(file, strict=True)
            lines = [(reader.line_num, [cell.strip() for cell in line]) for line in reader]
    except (UnicodeDecodeError, csv.Error) as error:
        raise ValueError(f"not a CSV file in UTF-8 ({error})") from None
    return [(number, line) for number, line in lines if any(line)]


def _value(cell: str, row: str, column: str) -> float:
    if cell.lower() in MISSING:
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


def csv_text(matrix: Matrix, values: Array) -> bytes:
    """`values` as a table like the one that was read; what was observed to the last digit."""
    content, observed = text.StringIO(newline=""), matrix.observed
    writer = csv.writer(content, lineterminator="\n")
    writer.writerow([matrix.corner, *matrix.column_names.tolist()])
    for name, row, seen in zip(matrix.row_ids.tolist(), values.tolist(), observed.tolist(), strict=True):
        cells = (repr(x).removesuffix(".0") if s else f"{x:.10g}" for x, s in zip(row, seen, strict=True))
        writer.writerow([name, *cells])
    return content.getvalue().encode()


def write_csv(path: Path, matrix: Matrix, values: Array) -> Path:
    """Write a table, whole or not at all."""
    content = csv_text(matrix, values)
    return write_whole(path, lambda file: file.write(content))


def safe_cell(text: str) -> str:
    """A text that no spreadsheet takes for a formula: numbers as they are, others behind an apostrophe."""
    if not text.startswith(("=", "+", "-", "@", "\t", "\r")):
        return text
    try:
        float(text)
    except ValueError:
        return "'" + text
    return text


# ------------------------------------------------------------------------------------------------ npz


def _from_npz(path: Path) -> Matrix:
    arrays = read_arrays(path, lambda key: key in KEYS)
    if "X" not in arrays:
        found = sorted(_keys(path))
        if any(is_data(key) for key in found):
            raise ValueError(
                "holds views (K or view_<name>), and pma completes one matrix; give the matrix as X, or "
                "use another --method for the kernels of views (see absentia complete --list)"
            )
        raise ValueError(f"holds no matrix X but {found[:8] or 'nothing'}; name it X")
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
    if np.abs(K - K.T).max() > 1e-8 * np.abs(K).max():
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
    repeated = [name for name, count in Counter(names).items() if count > 1]
    if repeated:
        raise ValueError(
            f"{len(repeated)} {what}(s) appear more than once, e.g. {shown(repeated[0])}; give each its own"
        )
