"""Tables in text files: encoding and delimiter are found; lines that do not fit are refused.

Encodings are UTF-8, UTF-16 and, where bytes are neither, Windows-1252 or Latin-1.  The delimiter is the one
of ``, ; tab |`` (or spaces, where it is none of these) that cuts the first lines into equally many fields.
"""

import csv
import gzip
import io
import os
import zlib
from collections.abc import Iterator
from dataclasses import replace
from itertools import islice
from pathlib import Path

from absentia.files._memory import Budget
from absentia.files._opening import TEXT_NEEDS, opened, read_lines
from absentia.files._plain import NEEDS, read_plain
from absentia.files._raw import Raw, id_called
from absentia.files._tables import plain_cell

DELIMITERS = (",", ";", "\t", "|", " ")
LOOKED_AT = 50  # records by which a delimiter is found
CHUNK = 1 << 20


def read_text(path: Path) -> Raw:
    """A table in a text file, also compressed by gzip, as columns of texts."""
    budget = Budget()
    data = _content(path, budget)
    text, encoding = decoded(data)
    size = len(data)
    del data
    notes = () if encoding.startswith("utf") else (f"{path.name}: not UTF-8; read as {encoding}",)
    delimiter = found_delimiter(text)

    def cell_by_cell() -> Raw:
        budget.spend((TEXT_NEEDS - NEEDS) * size, "this text")
        return _as_texts(text, delimiter)

    found = read_plain(text, delimiter, cell_by_cell) or cell_by_cell()
    return replace(found, notes=notes)


def _as_texts(text: str, delimiter: str) -> Raw:
    lines: list[int] = []
    rows: list[list[str]] = []
    for number, row in _records(text, delimiter):
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
        rows[0].insert(*_name_that_lacks(rows, lines[1]))
    width = max(2, *(_last_cell(row) for row in rows))
    if width < len(rows[0]):
        rows = [row[:width] for row in rows]  # delimiters at the end of every line
    if len(rows[0]) < 2:
        raise ValueError(
            f"the first line has one field, {rows[0][0][:40]!r}; a table has ids and at least one column, "
            "separated by commas, semicolons, tabs or |"
        )
    names = [plain_cell(cell.strip()) for cell in rows[0]]
    columns = [list(column) for column in zip(*rows[1:], strict=True)] or [[] for _ in names]
    return Raw(names, columns, lines[1:])


def _last_cell(row: list[str]) -> int:
    """How many cells there are up to the last that holds something."""
    return next((place for place in range(len(row), 0, -1) if row[place - 1].strip()), 0)


def _name_that_lacks(rows: list[list[str]], line: int) -> tuple[int, str]:
    """Where a name is missing in a first line that has one field less than all others, and the name."""
    if not any(row[-1].strip() for row in rows[1:]):
        return len(rows[0]), ""  # lines end with a delimiter
    first = [row[0] for row in rows[1:]]
    counting = first == [str(k) for k in range(1, len(rows))]
    if counting or not id_called([cell.strip() for cell in rows[0]]):
        return 0, ""  # as R writes tables: the column of row names has no name
    raise ValueError(
        f"line {line} has {len(rows[1])} fields, the first line {len(rows[0])}; every line of a table has "
        "as many (put texts that hold the delimiter in quotes)"
    )


def _records(text: str, delimiter: str) -> Iterator[tuple[int, list[str]]]:
    """Records that hold something, with the numbers of their lines."""
    reader = csv.reader(
        read_lines(io.StringIO(text, newline="")),
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


def _content(path: Path, budget: Budget) -> bytes:
    with opened(path, "a table") as file:
        budget.spend(NEEDS * os.fstat(file.fileno()).st_size, "this text")
        if path.suffix.lower() != ".gz":
            return file.read()
        parts = []
        try:
            with gzip.GzipFile(fileobj=file) as packed:
                while part := packed.read(CHUNK):
                    budget.spend(NEEDS * len(part), "what is packed in it")
                    parts.append(part)
        except (EOFError, OSError, zlib.error) as error:
            raise ValueError(f"is damaged, or not packed by gzip ({error})") from None
        return b"".join(parts)


def decoded(data: bytes) -> tuple[str, str]:
    """Bytes as text, and the encoding that they were found to be in."""
    for encoding in _candidates(data[:400]):
        try:
            text = data.decode(encoding)
        except UnicodeDecodeError:
            continue
        if "\0" in text:
            break
        return text, encoding
    raise ValueError("is no text: it holds zero bytes; export the table as CSV in UTF-8")


def _candidates(head: bytes) -> tuple[str, ...]:
    if head.startswith((b"\xff\xfe", b"\xfe\xff")):
        return ("utf-16",)
    for encoding, high in [("utf-16-le", head[1::2]), ("utf-16-be", head[::2])]:
        if 2 * high.count(0) > len(high) > 1:  # of most letters one of the two bytes is zero
            return (encoding,)
    return "utf-8-sig", "cp1252", "latin-1"


def found_delimiter(text: str) -> str:
    """The delimiter that cuts the first lines into equally many fields, the most if several do."""
    head = _head(text)
    widths = {one: _widths(head, one) for one in DELIMITERS}
    even = {one: width for one, (width, same) in widths.items() if same and width > 1}
    split = {one: width for one, (width, _) in widths.items() if width > 1 and one != " "}
    first = next((line for line in head if line.strip()), "")
    if any(one in first for one in DELIMITERS[:-1]):  # spaces only where there is nothing else
        even.pop(" ", None)
    best = even or split or {",": 1}
    return max(best, key=lambda one: best[one])


def _head(text: str) -> list[str]:
    """The first lines; what comes after them is not looked at."""
    size = CHUNK
    while True:
        lines = list(islice(read_lines(io.StringIO(text[:size], newline="")), LOOKED_AT + 1))
        if len(lines) > LOOKED_AT or size >= len(text):
            return lines[:LOOKED_AT]
        size *= 8


def _widths(head: list[str], delimiter: str) -> tuple[int, bool]:
    """Fields of the first record, and whether the others have as many, or all one more."""
    reader = csv.reader(head, delimiter=delimiter, skipinitialspace=delimiter == " ")
    try:
        widths = [len(row) for row in reader if any(cell.strip() for cell in row)]
    except csv.Error:  # one field of the whole line is too long
        return 0, False
    if len(head) == LOOKED_AT and len(widths) > 2:
        widths.pop()  # it may go on
    if not widths:
        return 0, False
    rest = set(widths[1:])
    return widths[0], len(rest) <= 1 and rest <= {widths[0], widths[0] + 1}
