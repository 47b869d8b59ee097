"""Tables in text files: encoding and delimiter are found; lines that do not fit are refused.

Encodings are UTF-8, UTF-16 and, where bytes are neither, Windows-1252 or Latin-1.  The delimiter is the one
of ``, ; tab |`` (or spaces, where it is none of these) that cuts the first lines into equally many fields.

Large tables of plain numbers are read at once.  Whatever is not simple there (a quote, a text
among the numbers, a line with other fields) is left to the reader of cells, which takes anything and says
what is wrong: the two give the same.
"""

import csv
import gzip
import io
import os
import re
import zlib
from collections.abc import Callable, Iterator
from dataclasses import replace
from functools import cache
from itertools import islice
from pathlib import Path
from typing import IO

import numpy as np

from absentia.files._base import Budget, open_regular
from absentia.files._cells import GAPS, unescape_formula
from absentia.files._columns import NumberColumn, RawTable, find_id_columns

BYTES_PER_CHARACTER = 16  # memory for cells: short fields become numbers and texts
_BYTES_AT_ONCE = 6  # memory for numbers: the text is held twice, and a number takes 8 bytes
_DELIMITERS = (",", ";", "\t", "|", " ")
_MAX_LINE = 8 << 20  # characters
_N_HEAD = 50  # records by which a delimiter is found
_CHUNK = 1 << 20
_LARGE = 1 << 20  # characters from which on a table is tried at once; smaller ones are read soon enough


def read_text(path: Path) -> RawTable:
    """A table in a text file, also compressed by gzip."""
    budget = Budget()
    data = _read_bytes(path, budget)
    text, encoding = _decode(data)
    size = len(data)
    del data
    notes = () if encoding.startswith("utf") else (f"{path.name}: not UTF-8; read as {encoding}",)
    delimiter = _find_delimiter(text)

    def read_cells() -> RawTable:
        budget.spend((BYTES_PER_CHARACTER - _BYTES_AT_ONCE) * size, "this text")
        return _read_cells(text, delimiter)

    table = _read_numbers(text, delimiter, read_cells) or read_cells()
    return replace(table, notes=notes)


# ---------------------------------------------------------------------------------------- cell by cell


def _read_cells(text: str, delimiter: str) -> RawTable:
    lines: list[int] = []
    rows: list[list[str]] = []
    for number, row in _read_records(text, delimiter):
        if rows and len(row) != len(rows[-1]) and not (len(rows) == 1 and len(row) == len(rows[0]) + 1):
            raise ValueError(
                f"line {number} has {len(row)} fields, line {lines[-1]} has {len(rows[-1])}; every line of "
                "a table has as many (put texts that hold the delimiter in quotes)"
            )
        rows.append(row)
        lines.append(number)
    if not rows:
        raise ValueError("the file is empty")
    if len(rows) > 1 and len(rows[1]) == len(rows[0]) + 1:
        rows[0].insert(*_find_missing_name(rows, lines[1]))
    width = max(2, *(_count_cells(row) for row in rows))
    if width < len(rows[0]):
        rows = [row[:width] for row in rows]  # delimiters at the end of every line
    if len(rows[0]) < 2:
        raise ValueError(
            f"the first line has one field, {rows[0][0][:40]!r}; a table has ids and at least one column, "
            "separated by commas, semicolons, tabs or |"
        )
    names = [unescape_formula(cell.strip()) for cell in rows[0]]
    columns = [list(column) for column in zip(*rows[1:], strict=True)] or [[] for _ in names]
    return RawTable(names, columns, lines[1:])


def _count_cells(row: list[str]) -> int:
    """How many cells there are up to the last that holds something."""
    return next((place for place in range(len(row), 0, -1) if row[place - 1].strip()), 0)


def _find_missing_name(rows: list[list[str]], line: int) -> tuple[int, str]:
    """Where a name is missing in a first line that has one field less than all others, and the name."""
    if not any(row[-1].strip() for row in rows[1:]):
        return len(rows[0]), ""  # lines end with a delimiter
    first = [row[0] for row in rows[1:]]
    counting = first == [str(k) for k in range(1, len(rows))]
    if counting or not find_id_columns([cell.strip() for cell in rows[0]]):
        return 0, ""  # as R writes tables: the column of row names has no name
    raise ValueError(
        f"line {line} has {len(rows[1])} fields, the first line {len(rows[0])}; every line of a table has "
        "as many (put texts that hold the delimiter in quotes)"
    )


def _read_records(text: str, delimiter: str) -> Iterator[tuple[int, list[str]]]:
    """Records that hold something, with the numbers of their lines."""
    reader = csv.reader(
        _iterate_lines(io.StringIO(text, newline="")),
        delimiter=delimiter,
        skipinitialspace=delimiter == " ",
        strict=True,
    )
    try:
        for row in reader:
            if any(cell.strip() for cell in row):
                yield reader.line_num, row
    except csv.Error as error:
        raise ValueError(f"line {reader.line_num} is not a line of a table ({error})") from None


def _iterate_lines(file: IO[str]) -> Iterator[str]:
    """Lines of a text, one at a time, none of them endless."""
    for number, line in enumerate(iter(lambda: file.readline(_MAX_LINE + 1), ""), 1):
        if len(line) > _MAX_LINE:
            raise ValueError(f"line {number} is longer than {_MAX_LINE} characters; is this a table?")
        yield line


# ----------------------------------------------------------------------------------- numbers, at once


def _read_numbers(text: str, delimiter: str, read_cells: Callable[[], RawTable]) -> RawTable | None:
    """A table whose first column are ids and all others plain numbers; None if it is not that.

    Parameters
    ----------
    text : str
        The whole table.
    delimiter : str
        What separates its fields.
    read_cells : callable
        The same table as columns of texts, should these be wanted.
    """
    if len(text) < _LARGE or delimiter == " " or '"' in text or text.count("\r") != text.count("\r\n"):
        return None
    header = next((line for _, line in _split_lines(text)), "")
    names = [unescape_formula(cell.strip()) for cell in header.split(delimiter)]
    if len(names) < 2 or not all(names[1:]):
        return None
    end = re.escape(delimiter)
    words = "|".join(re.escape(word) for word in sorted(GAPS))
    for gaps in (None, re.compile(rf"(?<={end})(?:{words})(?={end}|\r|$)")):
        lines, ids = list[int](), list[str]()
        try:
            values = np.loadtxt(
                _note_ids(text, delimiter, len(names), gaps, lines, ids),
                delimiter=delimiter,
                comments=None,
                usecols=range(1, len(names)),
                ndmin=2,
            )
        except ValueError:
            continue
        if not all(map(str.strip, ids)):
            return None
        again = cache(read_cells)
        columns = [NumberColumn(column, again, place) for place, column in enumerate(values.T, 1)]
        return RawTable(names, [ids, *columns], lines)
    return None


def _note_ids(
    text: str, delimiter: str, width: int, gaps: "re.Pattern[str] | None", lines: list[int], ids: list[str]
) -> Iterator[str]:
    """Lines below the first, gaps written as numbers are; their numbers and ids are noted on the way."""
    for number, line in islice(_split_lines(text), 1, None):
        if line.count(delimiter) != width - 1:
            raise ValueError(f"line {number} has other fields")
        lines.append(number)
        ids.append(line[: line.index(delimiter)])
        yield line if gaps is None else gaps.sub("nan", line)
    if not ids:
        raise ValueError("there is no line below the first")


def _split_lines(text: str) -> Iterator[tuple[int, str]]:
    """Lines that hold something, with their numbers; a list of them all would take the memory twice."""
    place, number = 0, 0
    while place < len(text):
        end = text.find("\n", place)
        end = len(text) if end < 0 else end
        line, place, number = text[place:end], end + 1, number + 1
        if line.strip():
            yield number, line


# ------------------------------------------------------------------------------- bytes, and delimiters


def _read_bytes(path: Path, budget: Budget) -> bytes:
    with open_regular(path, "a table") as file:
        budget.spend(_BYTES_AT_ONCE * os.fstat(file.fileno()).st_size, "this text")
        if path.suffix.lower() != ".gz":
            return file.read()
        parts = []
        try:
            with gzip.GzipFile(fileobj=file) as unzipped:
                while part := unzipped.read(_CHUNK):
                    budget.spend(_BYTES_AT_ONCE * len(part), "what is packed in it")
                    parts.append(part)
        except (EOFError, OSError, zlib.error) as error:
            raise ValueError(f"is damaged, or not packed by gzip ({error})") from None
        return b"".join(parts)


def _decode(data: bytes) -> tuple[str, str]:
    """Bytes as text, and the encoding that they were found to be in."""
    for encoding in _likely_encodings(data[:400]):
        try:
            text = data.decode(encoding)
        except UnicodeDecodeError:
            continue
        if "\0" in text:
            break
        return text, encoding
    raise ValueError("is no text: it holds zero bytes; export the table as CSV in UTF-8")


def _likely_encodings(head: bytes) -> tuple[str, ...]:
    if head.startswith((b"\xff\xfe", b"\xfe\xff")):
        return ("utf-16",)
    for encoding, high in [("utf-16-le", head[1::2]), ("utf-16-be", head[::2])]:
        if 2 * high.count(0) > len(high) > 1:  # of most letters one of the two bytes is zero
            return (encoding,)
    return "utf-8-sig", "cp1252", "latin-1"


def _find_delimiter(text: str) -> str:
    """The delimiter that cuts the first lines into equally many fields, the most if several do."""
    head = _read_head(text)
    widths = {delimiter: _count_fields(head, delimiter) for delimiter in _DELIMITERS}
    even = {delimiter: width for delimiter, (width, same) in widths.items() if same and width > 1}
    split = {delimiter: width for delimiter, (width, _) in widths.items() if width > 1 and delimiter != " "}
    first = next((line for line in head if line.strip()), "")
    if any(delimiter in first for delimiter in _DELIMITERS[:-1]):  # spaces only where nothing else is
        even.pop(" ", None)
    best = even or split or {",": 1}
    return max(best, key=best.__getitem__)


def _read_head(text: str) -> list[str]:
    """The first lines; what comes after them is not looked at."""
    size = _CHUNK
    while True:
        lines = list(islice(_iterate_lines(io.StringIO(text[:size], newline="")), _N_HEAD + 1))
        if len(lines) > _N_HEAD or size >= len(text):
            return lines[:_N_HEAD]
        size *= 8


def _count_fields(head: list[str], delimiter: str) -> tuple[int, bool]:
    """Fields of the first record, and whether the others have as many, or all one more."""
    reader = csv.reader(head, delimiter=delimiter, skipinitialspace=delimiter == " ")
    try:
        widths = [len(row) for row in reader if any(cell.strip() for cell in row)]
    except csv.Error:  # one field of the whole line is too long
        return 0, False
    if len(head) == _N_HEAD and len(widths) > 2:
        widths.pop()  # it may go on
    if not widths:
        return 0, False
    rest = set(widths[1:])
    return widths[0], len(rest) <= 1 and rest <= {widths[0], widths[0] + 1}
