"""Large tables of plain numbers, read at once instead of cell by cell.

Whatever is not simple here (a quote, a text among the numbers, a line with other fields) is left to the
reader of texts, which takes anything and says what is wrong: the two give the same.
"""

from collections.abc import Callable, Iterator
from functools import cache

import numpy as np

from absentia.core import Array
from absentia.files._numbers import MISSING
from absentia.files._raw import Raw, Written
from absentia.files._tables import plain_cell

#: Characters from which on a text is tried; smaller ones are read soon enough.
LARGE = 1 << 20
NEEDS = 6  # bytes of memory for each of the text: it is held twice, and numbers take 8 bytes
_UNKNOWN = tuple(word for word in sorted(MISSING) if word.lower() != "nan")  # which are no numbers as yet


def read_plain(text: str, delimiter: str, again: Callable[[], Raw]) -> Raw | None:
    """A table whose first column are ids and all others numbers; None if it is not that.

    Parameters
    ----------
    text : str
        The whole table.
    delimiter : str
        What separates its fields.
    again : callable
        The same table as columns of texts, should these be wanted.
    """
    if len(text) < LARGE or delimiter == " " or '"' in text or text.count("\r") != text.count("\r\n"):
        return None
    lines, ids = list[int](), list[str]()
    header, body, first = _header(text)
    names = [plain_cell(cell.strip()) for cell in header.split(delimiter)]
    if len(names) < 2 or not all(names[1:]) or not body.strip():
        return None
    for words in ((), _UNKNOWN):
        lines.clear()
        ids.clear()
        told = _with_nan(body, delimiter, words)
        try:
            values = np.loadtxt(
                _fields(told, delimiter, len(names), first, lines, ids),
                delimiter=delimiter,
                comments=None,
                usecols=range(1, len(names)),
                ndmin=2,
            )
        except ValueError:
            continue
        if not ids or not all(map(str.strip, ids)):
            return None
        return Raw(names, _columns(ids, values, again), lines)
    return None


def _header(text: str) -> tuple[str, str, int]:
    """The first line that holds something, what follows it, and the number of the line after it."""
    place, number = 0, 0
    while place < len(text):
        end = text.find("\n", place)
        end = len(text) if end < 0 else end
        line, number = text[place:end], number + 1
        place = end + 1
        if line.strip():
            return line.rstrip("\r"), text[place:], number + 1
    return "", "", 0


def _with_nan(body: str, delimiter: str, missing: tuple[str, ...]) -> str:
    """The text with cells that mean a missing value written as numbers are."""
    for word in missing:
        for end in (delimiter, delimiter, "\n", "\r"):  # twice: neighbours share a delimiter
            body = body.replace(f"{delimiter}{word}{end}", f"{delimiter}nan{end}")
        if body.endswith(delimiter + word):
            body = f"{body.removesuffix(word)}nan"
    return body


def _fields(
    body: str, delimiter: str, width: int, number: int, lines: list[int], ids: list[str]
) -> Iterator[str]:
    """Lines that hold something; their numbers and ids are noted on the way."""
    place = 0
    while place < len(body):
        end = body.find("\n", place)
        end = len(body) if end < 0 else end
        line = body[place:end]
        if line.strip():
            if line.count(delimiter) != width - 1:
                raise ValueError(f"line {number} has other fields")
            lines.append(number)
            ids.append(line[: line.index(delimiter)])
            yield line
        place, number = end + 1, number + 1


def _columns(ids: list[str], values: Array, again: Callable[[], Raw]) -> list[list[str] | Written]:
    whole = cache(again)

    def written(place: int) -> Callable[[], list[str]]:
        return lambda: whole().texts(place)

    return [ids, *(Written(column, written(k)) for k, column in enumerate(values.T, 1))]
