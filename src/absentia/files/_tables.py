"""Tables of every kind by their endings, as columns of which nothing is made yet.

Text files are read in ``_text``.  Parquet and Feather files declare types; of a workbook cells are taken
as a spreadsheet shows them.
"""

import os
import zipfile
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, replace
from functools import cached_property, partial
from pathlib import Path
from typing import Any, BinaryIO

import numpy as np

from absentia.core import Array
from absentia.files._archive import BoundedFile
from absentia.files._base import Budget, import_optional, open_regular
from absentia.files._columns import format_cell, unescape_formula
from absentia.files._text import (
    BYTES_PER_CHARACTER,
    END,
    UNNAMED,
    find_id_columns,
    pack_cells,
    read_text,
    read_written,
)

TEXT_ENDINGS = (".csv", ".tsv", ".txt", ".tab", ".csv.gz", ".tsv.gz", ".txt.gz")
TABLE_ENDINGS = (*TEXT_ENDINGS, ".parquet", ".pq", ".feather", ".xlsx")
_COLUMNS_AT_ONCE = 64  # of a Parquet file, besides the array that they go to
_MAX_WHOLE = 1e15  # numbers below are written alike, whole or floating
_MAX_ROWS = 1 << 20  # that a sheet can have
_MAX_SHEETS = 100


@dataclass(frozen=True, eq=False)
class RawTable:
    """Columns of a table: texts as they were written, or values of the types that a file declares.

    Attributes
    ----------
    names : list of str
    columns : list
        Each a text of all cells, as :func:`pack_cells` makes it, an array of numbers, NaN where missing, or
        a pandas Series where the file declares types.
    lines : sequence of int
        The line of the file that each row stands in.
    index : str, optional
        The column that the file itself declares as the names of rows.
    notes : tuple of str
        What is worth showing about how it was read.
    path : Path, optional
        The text file that it is from, which is read once more where numbers are wanted as texts.
    """

    names: list[str]
    columns: list[Any]
    lines: Sequence[int]
    index: str | None = None
    notes: tuple[str, ...] = ()
    path: Path | None = None

    @property
    def is_text(self) -> bool:
        """Whether all is as it was written, and of no declared type."""
        return all(isinstance(column, str) or self.is_plain(column) for column in self.columns)

    def is_plain(self, column: Any) -> bool:
        """Whether a column is of numbers that are written plainly in a text file."""
        return self.path is not None and isinstance(column, np.ndarray)

    def texts(self, place: int) -> list[str]:
        """A column as texts."""
        column = self.columns[place]
        if self.is_plain(column):
            column = self._read_written(place)
        if not isinstance(column, str):
            return [format_cell(x) for x in column.tolist()]
        return column.split(END) if self.lines else []

    @cached_property
    def _written(self) -> dict[int, str]:
        """Columns of a text file as texts, those that were last asked for."""
        return {}

    def _read_written(self, place: int) -> str:
        if place not in self._written:
            assert self.path is not None
            self._written.clear()
            columns, lines = read_written(self.path, place)
            if lines != self.lines or place not in columns:
                raise ValueError("was changed while it was read; read it again")
            self._written.update(columns)
        return self._written[place]

    def transpose(self) -> "RawTable":
        """Rows as columns: the first column has the names, the first line the ids."""
        first = 0 if self.index is None else self.names.index(self.index)
        rest = [place for place in range(len(self.names)) if place != first]
        rows = zip(*(self.texts(place) for place in rest), strict=True)
        return replace(
            self,
            names=["", *(name.strip() for name in self.texts(first))],
            columns=[pack_cells([self.names[place] for place in rest]), *map(pack_cells, rows)],
            lines=[place + 1 for place in rest],
            index=None,
        )


def is_table(path: Path) -> bool:
    """Whether a file is, by its ending, a table."""
    return path.name.lower().endswith(TABLE_ENDINGS)


def read_raw_table(path: Path, sheet: str | None = None, scratch: BinaryIO | None = None) -> RawTable:
    """A table of any kind, nothing made of its cells yet.

    Parameters
    ----------
    path : Path
        The table; its ending says of which kind it is.
    sheet : str, optional
        Which sheet of a workbook; by default the first.
    scratch : file, optional
        An empty file, in which plain numbers of a text table are to lie instead of in memory.
    """
    kind = path.suffix.lower()
    if kind == ".xlsx":
        return _read_sheet(path, sheet)
    if kind in (".parquet", ".pq"):
        return _read_parquet(path)
    if kind == ".feather":
        return _table_from_frame(_read_feather(path))
    if not is_table(path):
        raise ValueError(f"is no table that is known; a table ends in {', '.join(TABLE_ENDINGS)}")
    return _read_text(path, scratch)


def read_cells(path: Path) -> Any:
    """All cells of a small table in a text file, as texts without blanks around them."""
    import pandas as pd

    cells = read_text(path, numbers=False)
    columns = [
        [cell.strip() for cell in column.split(END)] if cells.lines else [] for column in cells.columns
    ]
    frame = pd.DataFrame(dict(enumerate(columns)))
    return frame.set_axis([name.strip() for name in cells.names], axis=1)


def _read_text(path: Path, scratch: BinaryIO | None) -> RawTable:
    names, columns, lines, encoding = read_text(path, scratch=scratch)
    if len(names) < 2:
        raise ValueError(
            f"the first line has one field, {names[0][:40]!r}; a table has ids and at least one column, "
            "separated by commas, semicolons, tabs or |"
        )
    notes = () if encoding.startswith("utf") else (f"{path.name}: not UTF-8; read as {encoding}",)
    return RawTable([unescape_formula(name) for name in names], columns, lines, notes=notes, path=path)


# ------------------------------------------------------------------------------- Parquet, Feather


def _read_parquet(path: Path) -> Any:
    parquet = import_optional("pyarrow.parquet", "a Parquet file")
    with open_regular(path, "a Parquet file") as file:
        try:
            content = parquet.ParquetFile(file)
            about = content.metadata
            Budget().spend(_cell_bytes(about.num_rows, about.num_columns), f"{about.num_rows} rows")
            names = content.schema_arrow.names
            numbers = _find_number_columns(content.schema_arrow)
            values, odd = _read_numbers(content, numbers, about.num_rows)
            rest = [name for name in names if name not in numbers or name in odd]
            frame = _to_frame(content.read(rest or None, use_pandas_metadata=True).select(rest))
        except Exception as error:
            raise _explain_damage(error, "Parquet") from None
    table = _table_from_frame(frame)
    columns = dict(zip(numbers, values.T, strict=True)) | dict(zip(table.names, table.columns, strict=True))
    own = [table.index] if table.index is not None else []
    names = [*own, *(name for name in names if name in columns and name not in own)]
    if len(names) != len(columns):
        return table
    return replace(table, names=names, columns=[columns[name] for name in names])


def _find_number_columns(schema: Any) -> dict[str, Any]:
    """Columns of a Parquet file that are numbers and surely no ids, by name, and their types."""
    import pyarrow.types as kinds

    names, about = schema.names, schema.pandas_metadata or {}
    indices = {name for name in about.get("index_columns", ()) if isinstance(name, str)}
    ids = indices | {names[place] for place in find_id_columns(names)}
    if len(set(names)) < len(names) or len(about.get("column_indexes", ())) > 1:
        return {}
    others = ids or set(names[:1])
    return {
        field.name: field.type
        for field in schema
        if field.name not in others
        and not UNNAMED.fullmatch(field.name)
        and (kinds.is_float32(field.type) or kinds.is_float64(field.type) or kinds.is_integer(field.type))
    }


def _read_numbers(content: Any, numbers: dict[str, Any], n: int) -> tuple[Array, set[str]]:
    """Columns of numbers as an array (rows, columns), some of them at a time; which have to be texts.

    The array is in single precision if all columns are.  Whole numbers that doubles cannot hold are ids.
    """
    names = list(numbers)
    single = {str(kind) for kind in numbers.values()} == {"float"}
    values, odd = np.empty((n, len(names)), np.float32 if single else np.float64), set[str]()
    for begin in range(0, len(names), _COLUMNS_AT_ONCE):
        some = names[begin : begin + _COLUMNS_AT_ONCE]
        table = content.read(some).select(some)
        table.validate(full=True)
        row = 0
        for batch in table.combine_chunks().to_batches():
            part = values[row : row + batch.num_rows, begin : begin + len(some)]
            part[:] = np.asarray(batch.to_tensor(null_to_nan=True, row_major=True))
            row += batch.num_rows
    for j, kind in enumerate(numbers.values()):
        if "int" in str(kind) and np.nanmax(np.abs(values[:, j]), initial=0.0) >= _MAX_WHOLE:
            odd.add(names[j])
    return values, odd


def _read_feather(path: Path) -> Any:
    ipc = import_optional("pyarrow.ipc", "a Feather file")
    with open_regular(path, "a Feather file") as file:
        budget = Budget()
        budget.spend(os.fstat(file.fileno()).st_size, "this file")
        try:
            if file.read(4) == b"FEA1":
                raise ValueError("version 1, which is no longer written; write the table anew")
            file.seek(0)
            content = ipc.open_file(file)
            for k in range(content.num_record_batches):
                batch = content.get_batch(k)
                batch.validate(full=True)
                budget.spend(_cell_bytes(batch.num_rows, batch.num_columns), f"{batch.num_rows} rows")
            return _to_frame(content.read_all())
        except Exception as error:
            raise _explain_damage(error, "Feather") from None


def _to_frame(table: Any) -> Any:
    """A table of Arrow as a data frame; its compiled code believes whatever a file says, unless asked."""
    table.validate(full=True)
    return table.to_pandas()


def _cell_bytes(rows: int, columns: int) -> int:
    return 8 * rows * max(columns, 1)


def _explain_damage(error: Exception, kind: str) -> Exception:
    """What another library says of a file that it could not read, as ours; our own errors as they are."""
    ours = "are allowed; if the file is to be trusted"
    if type(error) is MemoryError or ours in str(error):  # Arrow's own are of sizes that a file claims
        return error
    return ValueError(f"not a {kind} file, or damaged ({type(error).__name__}: {error})")


def _table_from_frame(frame: Any) -> RawTable:
    """A data frame with types; an index that means something becomes a column."""
    index = None
    if frame.index.nlevels > 1 or frame.columns.nlevels > 1:
        raise ValueError("has an index of several levels; make one column of ids of it")
    if frame.index.name is not None or type(frame.index).__name__ != "RangeIndex":
        index = "" if frame.index.name is None else str(frame.index.name)
        if index in map(str, frame.columns):
            raise ValueError(f"its index and a column are both called {index!r}; rename one")
    columns = [] if index is None else [frame.index.to_series()]
    columns += [column for _, column in frame.items()]
    names = [*([] if index is None else [index]), *map(str, frame.columns)]
    return RawTable(names, columns, range(1, len(frame) + 1), index)


def list_sheets(path: Path) -> tuple[list[str], list[str]]:
    """Names of the sheets of a workbook that hold a line of two cells or more, and of others with content.

    Parameters
    ----------
    path : Path
        The workbook.
    """
    tables, others = list[str](), list[str]()
    with _open_workbook(path) as load:
        for page in load(data_only=False).worksheets:
            widest = 0
            for row in _iterate_rows(page):
                widest = max(widest, sum(value is not None for value in row))
                if widest > 1:
                    break
            if widest:
                (tables if widest > 1 else others).append(str(page.title))
    if len(tables) > _MAX_SHEETS:
        raise ValueError(f"it has {len(tables)} sheets; at most {_MAX_SHEETS} are taken")
    return tables, others


@contextmanager
def _open_workbook(path: Path) -> Iterator[Callable[..., Any]]:
    """What makes a workbook of a file that fits: with formulas, or (``data_only``) with their values."""
    openpyxl = import_optional("openpyxl", "a workbook (.xlsx)")
    with open_regular(path, "a workbook") as file:
        _check_workbook(file)
        try:
            yield partial(openpyxl.load_workbook, file, read_only=True, keep_links=False)
        except Exception as error:
            raise _explain_damage(error, "workbook (.xlsx)") from None


def _iterate_rows(page: Any) -> Iterator[Any]:
    """The cells of each line of a sheet; lines and cells that are left out come as empty ones."""
    page.reset_dimensions()
    for number, row in enumerate(page.iter_rows(values_only=True)):
        if number == _MAX_ROWS:
            raise ValueError(f"it has more than {_MAX_ROWS} lines")
        yield row


def _read_sheet(path: Path, sheet: str | None) -> RawTable:
    with _open_workbook(path) as load:
        book = load(data_only=False)
        names = list(book.sheetnames)
        own = names[0] if sheet is None else sheet
        written = values = _read_cells(book[own])
        if any(isinstance(cell, str) and cell.startswith("=") for row in written for cell in row):
            values = _read_cells(load(data_only=True)[own])
        rows = [[format_cell(value).replace(END, "") for value in row] for row in values]
    _refuse_uncalculated(values, written)
    more = names[1:] if sheet is None else []
    note = f"{path.name}: only the first sheet, {names[0]!r}, is read; {len(more)} more are not"
    return _table_from_rows(rows, (note,) if more else ())


def _read_cells(page: Any) -> list[Any]:
    budget, rows = Budget(), list[Any]()
    for row in _iterate_rows(page):
        budget.spend(16 * (len(row) + 8), "the cells of this sheet")
        rows.append(row)
    return rows


def _refuse_uncalculated(values: list[Any], written: list[Any]) -> None:
    """Formulas that no spreadsheet has calculated would be taken for empty cells."""
    bad = [
        line
        for line, (row, formulas) in enumerate(zip(values, written, strict=True), 1)
        for value, formula in zip(row, formulas, strict=True)
        if value is None and formula is not None
    ]
    if bad:
        raise ValueError(
            f"{len(bad)} cell(s), the first in line {bad[0]}, hold formulas whose values are not in the "
            "file; open it in a spreadsheet and save it, or give the table as CSV"
        )


def _check_workbook(file: BinaryIO) -> None:
    """What a workbook unpacks to must fit; it can become no more than it declares."""
    try:
        with zipfile.ZipFile(BoundedFile(file)) as workbook:
            parts = workbook.infolist()
            if any(part.compress_size > os.fstat(file.fileno()).st_size for part in parts):
                raise zipfile.BadZipFile  # a part of it that is larger than all of it
            Budget().spend(BYTES_PER_CHARACTER * sum(part.file_size for part in parts), "this workbook")
    except (zipfile.BadZipFile, NotImplementedError, OSError, OverflowError):
        raise ValueError(
            "not a workbook (.xlsx), or damaged; save it again, or give the table as CSV"
        ) from None
    file.seek(0)


def _table_from_rows(rows: list[list[str]], notes: tuple[str, ...]) -> RawTable:
    filled = [(line, row) for line, row in enumerate(rows, 1) if any(cell.strip() for cell in row)]
    width = max((k + 1 for _, row in filled for k, cell in enumerate(row) if cell.strip()), default=0)
    if width < 2:
        raise ValueError("the sheet has fewer than two columns; a table has ids and at least one column")
    wide = [[*row[:width], *[""] * (width - len(row))] for _, row in filled]
    columns = [pack_cells(column) for column in zip(*wide[1:], strict=True)] or [""] * width
    return RawTable(
        [name.strip() for name in wide[0]], columns, [line for line, _ in filled[1:]], notes=notes
    )
