"""Text tables as columns: blocks of whole lines are read one after the other, numbers by Arrow.

Encodings are UTF-8, UTF-16 and, where bytes are neither, Windows-1252 or Latin-1.  The delimiter is the one
of ``, ; tab |`` (or spaces, where it is none of these) that cuts the first lines into equally many fields.
Lines that do not fit are refused.

Python's csv says what the cells of a table are.  Arrow, which is many times faster, reads the blocks that
it reads alike (:func:`_parse_block`): quotes stand around whole cells, no line is empty, and a column is
either texts or finite numbers, plainly written, and gaps.
"""

import codecs
import csv
import gzip
import re
import zlib
from collections.abc import Callable, Iterator, Sequence
from importlib import import_module
from io import BytesIO
from itertools import islice
from pathlib import Path
from typing import Any, BinaryIO, NamedTuple

import numpy as np

from absentia.core import Array
from absentia.data import ID_COLUMNS
from absentia.files._base import Budget, open_regular
from absentia.files._columns import GAPS, parse_plain

END = "\0"  # of a cell among others; no text holds it
BYTES_PER_CHARACTER = 10  # memory for cells that are texts: each is held some times
UNNAMED = re.compile(r"|unnamed: \d+|index|row\.?names?", re.IGNORECASE)  # columns that count lines
_COPIES = 3  # of numbers
_BLOCK, _LEAST_BLOCK = 4 << 20, 1 << 16  # bytes that are read at a time
_DELIMITERS = (",", ";", "\t", "|", " ")
_MAX_LINE = 8 << 20  # characters
_N_HEAD = 50  # records by which a delimiter is found
_LINE = re.compile(r"[^\r\n]*+(?:\r\n?|\n)|[^\r\n]++")
_NO_TEXT = "is no text: it holds zero bytes; export the table as CSV in UTF-8"


def pack_cells(cells: Sequence[str]) -> str:
    """Cells of a column as one text, which takes a tenth of the memory of many."""
    return END.join(cells)


def find_id_columns(names: Sequence[str]) -> list[int]:
    """Places of columns that are called as ids are, the likeliest first."""
    plain = [re.sub(r"[\s_.-]", "", name).lower() for name in names]
    likely = dict.fromkeys(word.replace("_", "") for word in ID_COLUMNS)
    return [place for word in likely for place, name in enumerate(plain) if name == word]


class TextCells(NamedTuple):
    """Columns of a text table.

    Attributes
    ----------
    names : list of str
    columns : list
        Each a text of all cells, as :func:`pack_cells` makes it, or an array of numbers, NaN where missing.
    lines : list of int
        The line of the file that each row stands in.
    encoding : str
    """

    names: list[str]
    columns: list[Any]
    lines: list[int]
    encoding: str


def read_text(path: Path, *, numbers: bool = True, scratch: BinaryIO | None = None) -> TextCells:
    """The columns of a table in a text file, also compressed by gzip.

    Parameters
    ----------
    path : Path
        The file.
    numbers : bool
        Whether columns of plain numbers become arrays; else all are texts.
    scratch : file, optional
        An empty file, in which these arrays are to lie instead of in memory.
    """
    (names, columns, lines), encoding = _try_encodings(
        path, lambda encoding: _read_cells(path, encoding, numbers, scratch)
    )
    names, columns = _drop_empty_columns(_complete_names(names, columns, lines), columns)
    return TextCells(names, columns, lines, encoding)


def read_written(path: Path, first: int) -> tuple[dict[int, str], list[int]]:
    """Columns as they are written by place, from the `first` on as many as fit into memory, and lines."""
    return _try_encodings(path, lambda encoding: _read_written(path, encoding, first))[0]


def _read_written(path: Path, encoding: str, first: int) -> tuple[dict[int, str], list[int]]:
    reader = _TextReader(_iterate_blocks(path, encoding), False, set())
    parts, lines, end, need = list[dict[int, str]](), list[int](), 0, 0
    for part in reader.iterate_parts():
        end = end or reader.width
        parts.append({place: part.texts[place] for place in range(first, end)})
        lines += part.lines
        need += BYTES_PER_CHARACTER * sum(map(len, parts[-1].values()))
        while need > Budget().limit and end > first + 1:
            end -= (end - first) // 2
            parts = [{place: some[place] for place in range(first, end)} for some in parts]
            need = BYTES_PER_CHARACTER * sum(len(text) for some in parts for text in some.values())
    Budget().spend(need, "a column of this table")
    return {place: pack_cells([some[place] for some in parts]) for place in range(first, end)}, lines


def _try_encodings(path: Path, read: Callable[[str], Any]) -> tuple[Any, str]:
    """What reading gives in the first encoding that a file can have, and that encoding."""
    for encoding in _likely_encodings(next(_iterate_bytes(path), b"")):
        try:
            return read(encoding), encoding
        except UnicodeDecodeError:
            continue
    raise ValueError(_NO_TEXT)


def _read_cells(
    path: Path, encoding: str, numbers: bool, scratch: BinaryIO | None
) -> tuple[list[str], list[Any], list[int]]:
    """The names of the columns, the cells of each, and the numbers of the lines below the first.

    Where a column of numbers turns out further down to hold something else, all is read once more.
    """
    texts, store = set[int](), BytesIO() if scratch is None else scratch
    for _ in range(2):
        store.seek(0)
        store.truncate()
        reader = _TextReader(_iterate_blocks(path, encoding), numbers, texts)
        budget, parts, lines = Budget(), list[dict[int, str]](), list[int]()
        for part in reader.iterate_parts():
            part.spend(budget, scratch is None)
            store.write(np.ascontiguousarray(part.values, np.float64).data)
            lines += part.lines
            parts.append(part.texts)
        if not reader.names:
            raise ValueError("the file is empty")
        if all(part.keys() == texts for part in parts):
            columns: list[Any] = [""] * (reader.width or len(reader.names))
            for place in texts if parts else ():
                columns[place] = pack_cells([part[place] for part in parts])
            others = [place for place in range(reader.width) if place not in texts]
            for place, column in zip(others, _map_rows(store, len(others)).T, strict=True):
                columns[place] = column
            return reader.names, columns, lines
    raise ValueError("was changed while it was read; read it again")


def _map_rows(store: BinaryIO, width: int) -> Array:
    """The numbers in memory, or in a file, as an array with so many columns; nothing is copied."""
    shape = (store.tell() // (8 * max(width, 1)), width)
    if isinstance(store, BytesIO):
        return np.ndarray(shape, buffer=store.getbuffer())
    store.flush()
    return np.memmap(store, np.float64, "r", shape=shape) if shape[0] else np.empty(shape)


class _Part(NamedTuple):
    """Some lines of a table: their numbers, columns of texts by place, and the others, (lines, columns)."""

    lines: Sequence[int]
    texts: dict[int, str]
    values: Array

    def spend(self, budget: Budget, in_memory: bool) -> None:
        """Spend what reading it takes in the end, with its numbers `in_memory` or without these."""
        need = 40 * len(self.lines) + BYTES_PER_CHARACTER * sum(map(len, self.texts.values()))
        what = "" if in_memory else "texts, and numbers that are not written plainly, up to "
        try:
            need += _COPIES * self.values.nbytes if in_memory else 0
            budget.spend(need, f"{what}line {self.lines[-1]}, with those above,")
        except ValueError as error:
            advice = (
                "; or name a folder for features in chunks (--chunks-in, chunks_in=)" if in_memory else ""
            )
            raise ValueError(f"{error}{advice}") from None


class _TextReader:
    """The lines of a text table below its names, block by block.

    Attributes
    ----------
    names : list of str
        Names of the columns, once they are read.
    width : int
        Fields of a line below these.
    texts : set of int
        Columns that are known not to be numbers; those that are found are added.
    """

    def __init__(self, blocks: Iterator[str], numbers: bool, texts: set[int]) -> None:
        self._blocks, self._numbers, self.texts = blocks, numbers, texts
        self.names: list[str] = []
        self.width, self._delimiter, self._n_read, self._last = 0, "", 0, 0

    def iterate_parts(self) -> Iterator[_Part]:
        """What holds something, by Arrow where it can."""
        for block in self._blocks:
            self._delimiter = self._delimiter or _find_delimiter(block)
            part = _parse_block(block, self._delimiter, self.width, self.texts) if self.width else None
            if part is None:
                part = self._pack_rows(*self._read_rows(block))
            else:
                part = part._replace(lines=range(self._n_read + 1, self._n_read + len(part.lines) + 1))
                self._n_read += len(part.lines)
            if part.lines:
                self._last = part.lines[-1]
                yield part

    def _read_rows(self, block: str) -> tuple[list[int], list[list[str]]]:
        """The lines and cells of records, into the next block where a text in quotes goes on there."""
        n_given, n_used = 0, 0

        def iterate_lines() -> Iterator[str]:
            nonlocal n_given
            more: str | None = block
            while more is not None:
                for line in _iterate_lines(more, self._n_read + n_given):
                    n_given += 1
                    yield line
                more = next(self._blocks, None) if n_used < n_given else None

        spaces = self._delimiter == " "
        reader = csv.reader(
            iterate_lines(), delimiter=self._delimiter, skipinitialspace=spaces, strict=True
        )
        lines, rows = list[int](), list[list[str]]()
        try:
            for row in reader:
                n_used = reader.line_num
                if any(cell.strip() for cell in row):
                    lines.append(self._n_read + n_used)
                    rows.append(row)
        except csv.Error as error:
            line = self._n_read + reader.line_num
            raise ValueError(f"line {line} is not a line of a table ({error})") from None
        self._n_read += n_used
        return lines, rows

    def _pack_rows(self, lines: list[int], rows: list[list[str]]) -> _Part:
        """Rows as columns: numbers, where a column is not known or found to be something else."""
        if rows and not self.names:
            self.names, self._last = [name.strip() for name in rows.pop(0)], lines.pop(0)
        for line, row in zip(lines, rows, strict=True):
            if not self.width and len(row) - len(self.names) in (0, 1):
                self.width = len(row)
                self.texts |= _find_text_columns(self.names, self.width, self._numbers)
            if len(row) != self.width:
                raise _uneven_lines(line, len(row), self._last, self.width or len(self.names))
            self._last = line
        columns = list(zip(*rows, strict=True))
        found = {
            place: parse_plain(column) for place, column in enumerate(columns) if place not in self.texts
        }
        self.texts |= {place for place, values in found.items() if values is None}
        texts = {place: pack_cells(column) for place, column in enumerate(columns) if place in self.texts}
        values = [x for x in found.values() if x is not None]
        return _Part(lines, texts, np.array(values).T.reshape(len(rows), len(values)))


def _find_text_columns(names: list[str], width: int, numbers: bool) -> set[int]:
    """Columns whose cells are wanted as they are written: what may be ids, count lines or be empty."""
    if not numbers:
        return set(range(width))
    places = {*find_id_columns(names), *(k for k, name in enumerate(names) if UNNAMED.fullmatch(name))}
    extra = width - len(names)  # 1 where the first or the last column has no name
    return {0, *places, *(place + extra for place in places), *([width - 1] if extra else [])}


def _parse_block(block: str, delimiter: str, width: int, texts: set[int]) -> _Part | None:
    """Whole lines, read by Arrow; None if it is not there or would not read what Python's csv reads.

    Columns that are no plain numbers are added to `texts`.
    """
    try:
        arrow, reader = import_module("pyarrow"), import_module("pyarrow.csv")
    except ImportError:
        return None
    data = block.encode()
    n_lines = _count_lines(data, delimiter)
    if n_lines is None or (delimiter == " " and re.search(r"  |(?:^|[\r\n]) ", block)):
        return None
    names = [str(place) for place in range(width)]
    options = {
        "read_options": reader.ReadOptions(use_threads=False, block_size=len(data) + 1, column_names=names),
        "parse_options": reader.ParseOptions(delimiter=delimiter),
    }
    more: set[int] | None = None
    while more is None or more:
        texts |= more or set()
        types = {name: arrow.string() if k in texts else arrow.float64() for k, name in enumerate(names)}
        asked = reader.ConvertOptions(column_types=types, null_values=sorted(GAPS))
        try:
            table = reader.read_csv(arrow.py_buffer(data), convert_options=asked, **options)
            if table.num_rows != n_lines:  # lines that are empty
                return None
            values, more = _take_numbers(table, [place for place in range(width) if place not in texts])
        except arrow.ArrowInvalid:
            more = _infer_texts(arrow, reader, data, options) - texts
            if not more:
                return None
    cells = {place: table.column(place).to_pylist() for place in sorted(texts)}
    longest = max(max(map(len, column), default=0) for column in cells.values())
    if not all(map(str.strip, cells[0])) or longest > csv.field_size_limit():  # a line may hold nothing
        return None
    return _Part(range(n_lines), {place: pack_cells(column) for place, column in cells.items()}, values)


def _take_numbers(table: Any, places: list[int]) -> tuple[Array, set[int]]:
    """Columns of an Arrow table as an array (lines, columns), and those that hold infinities or NaN."""
    if not places:
        return np.empty((table.num_rows, 0)), set()
    (batch,) = table.select(places).combine_chunks().to_batches()
    values = np.asarray(batch.to_tensor(null_to_nan=True, row_major=True).to_numpy())
    n_odd = len(table) - np.isfinite(values).sum(axis=0)
    return values, {p for p, n in zip(places, n_odd, strict=True) if n and n != table.column(p).null_count}


def _infer_texts(arrow: Any, reader: Any, data: bytes, options: dict[str, Any]) -> set[int]:
    """Columns that Arrow does not take for numbers; none if it finds no table."""
    try:
        asked = reader.ConvertOptions(null_values=sorted(GAPS))
        types = reader.read_csv(arrow.py_buffer(data), convert_options=asked, **options).schema.types
    except arrow.ArrowInvalid:
        return set()
    numeric = (arrow.int64(), arrow.float64(), arrow.null())
    return {place for place, kind in enumerate(types) if kind not in numeric}


def _count_lines(data: bytes, delimiter: str) -> int | None:
    """How many lines there are; None if one is endless or has quotes elsewhere than around cells."""
    codes = np.frombuffer(data, np.uint8)
    breaks = np.flatnonzero((codes == 10) | (codes == 13))
    ends = breaks[~((codes[breaks] == 13) & (codes[np.minimum(breaks + 1, len(codes) - 1)] == 10))]
    if np.diff(ends, prepend=-1, append=len(codes)).max() > _MAX_LINE:
        return None
    quotes = np.flatnonzero(codes == 34)
    first, last = quotes[::2], quotes[1::2]
    if len(first) != len(last) or (np.searchsorted(ends, first) != np.searchsorted(ends, last)).any():
        return None
    around = np.concatenate([codes[first[first > 0] - 1], codes[last[last < len(codes) - 1] + 1]])
    if not np.isin(around, (10, 13, ord(delimiter))).all():
        return None
    return len(ends) + (not data.endswith((b"\n", b"\r")))


def _complete_names(names: list[str], columns: list[str], lines: list[int]) -> list[str]:
    """Names of all columns, where the first line has one field less than the others."""
    if len(columns) == len(names):
        return names
    if not columns[-1].strip(END + " "):
        return [*names, ""]  # lines end with a delimiter
    counting = columns[0] == pack_cells([str(k) for k in range(1, len(lines) + 1)])
    if counting or not find_id_columns(names):
        return ["", *names]  # as R writes tables: the column of row names has no name
    raise _uneven_lines(lines[0], len(columns), 1, len(names))


def _uneven_lines(line: int, fields: int, before: int, wanted: int) -> ValueError:
    return ValueError(
        f"line {line} has {fields} fields, line {before} has {wanted}; every line of a table has as many "
        "(put texts that hold the delimiter in quotes)"
    )


def _drop_empty_columns(names: list[str], columns: list[str]) -> tuple[list[str], list[str]]:
    """Without what delimiters at the end of every line make."""
    width = len(names)
    while width > 2 and not names[width - 1] and not columns[width - 1].strip(END + " "):
        width -= 1
    return names[:width], columns[:width]


def _iterate_lines(text: str, before: int = 0) -> Iterator[str]:
    """Lines of a text, one at a time, none of them endless; `before` are above it."""
    for number, match in enumerate(_LINE.finditer(text), before + 1):
        if match.end() - match.start() > _MAX_LINE:
            raise ValueError(f"line {number} is longer than {_MAX_LINE} characters; is this a table?")
        yield match[0]


def _iterate_blocks(path: Path, encoding: str) -> Iterator[str]:
    """Whole lines of a text, some at a time, the first few alone; one that is endless is cut."""
    decode = codecs.getincrementaldecoder(encoding)().decode
    block = max(min(_BLOCK, Budget().limit // (4 * BYTES_PER_CHARACTER)), _LEAST_BLOCK)
    what = "what is packed in it" if path.suffix.lower() == ".gz" else "this text"
    text, head, is_end = "", True, False
    data = _iterate_bytes(path, block)
    while not is_end:
        part = next(data, b"")
        is_end = not part
        text += decode(part, is_end)
        Budget().spend(BYTES_PER_CHARACTER * len(text), what)
        if END in text:
            raise ValueError(_NO_TEXT)
        end = 1 + max(text.rfind("\n", 0, -1), text.rfind("\r", 0, -1))  # the last may be a half of \r\n
        if is_end or len(text) - end > _MAX_LINE:
            end = len(text)
        start = 0
        if head and end:
            start = min(end, max(match.end() for match in islice(_LINE.finditer(text), _N_HEAD)))
            head = False
        yield from filter(None, (text[:start], text[start:end]))
        text = text[end:]


def _iterate_bytes(path: Path, block: int = 400) -> Iterator[bytes]:
    """What a file holds, unpacked, some at a time."""
    with open_regular(path, "a table") as file:
        if path.suffix.lower() != ".gz":
            yield from iter(lambda: file.read(block), b"")
            return
        try:
            with gzip.GzipFile(fileobj=file) as unzipped:
                yield from iter(lambda: unzipped.read(block), b"")
        except (EOFError, OSError, zlib.error) as error:
            raise ValueError(f"is damaged, or not packed by gzip ({error})") from None


def estimate_bytes(path: Path) -> int:
    """At least the memory that reading a table takes, by its size; of a packed file by what it says."""
    size = path.stat().st_size
    if path.suffix.lower() == ".gz" and size > 4:
        with open_regular(path, "a table") as file:
            file.seek(-4, 2)
            size = max(size, int.from_bytes(file.read(4), "little"))
    return max(BYTES_PER_CHARACTER, _COPIES * 4) * size  # a number has two characters or more


def _likely_encodings(head: bytes) -> tuple[str, ...]:
    if head.startswith((b"\xff\xfe", b"\xfe\xff")):
        return ("utf-16",)
    for encoding, high in [("utf-16-le", head[1::2]), ("utf-16-be", head[::2])]:
        if 2 * high.count(0) > len(high) > 1:  # of most letters one of the two bytes is zero
            return (encoding,)
    return "utf-8-sig", "cp1252", "latin-1"


def _find_delimiter(text: str) -> str:
    """The delimiter that cuts the first lines into equally many fields, the most if several do."""
    head = list(islice(_iterate_lines(text), _N_HEAD))
    widths = {delimiter: _count_fields(head, delimiter) for delimiter in _DELIMITERS}
    even = {delimiter: width for delimiter, (width, same) in widths.items() if same and width > 1}
    split = {delimiter: width for delimiter, (width, _) in widths.items() if width > 1 and delimiter != " "}
    first = next((line for line in head if line.strip()), "")
    if any(delimiter in first for delimiter in _DELIMITERS[:-1]):  # spaces only where nothing else is
        even.pop(" ", None)
    best = even or split or {",": 1}
    return max(best, key=best.__getitem__)


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
