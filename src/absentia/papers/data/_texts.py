"""Texts of public archives as numbers: plain tables, LIBSVM's lines, ARFF, time series of the UCR archive.

Each function takes the text of a file and raises ValueError, with the line, where it is not what it should
be; whoever has opened the file adds its name.
"""

import csv
import re
from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np

from absentia.core import Array

MISSING = ("?", "", "nan", "na")


def fields(text: str, delimiter: str | None = ",") -> list[list[str]]:
    """Lines of a table as fields, as many in each; None: separated by any space."""
    rows: list[list[str]] = []
    for number, line in enumerate(text.splitlines(), 1):
        cells = [cell.strip() for cell in line.split(delimiter)]
        if not any(cells):
            continue
        if rows and len(cells) != len(rows[0]):
            raise ValueError(f"line {number} has {len(cells)} fields, the first {len(rows[0])}")
        rows.append(cells)
    if not rows:
        raise ValueError("the file is empty")
    return rows


def numbers(rows: Sequence[Sequence[str]]) -> Array:
    """Fields as a matrix, NaN where one is empty, ? or NA."""
    return np.array([[number(cell) for cell in row] for row in rows], dtype=float)


def number(cell: str) -> float:
    """One field as a number."""
    if cell.lower() in MISSING:
        return float("nan")
    try:
        if "_" in cell:  # which Python allows in numbers
            raise ValueError
        return float(cell)
    except ValueError:
        raise ValueError(f"{cell[:30]!r} is no number") from None


def coded(cells: Sequence[str], codes: dict[str, int]) -> Array:
    """Classes as numbers, by a table."""
    strange = sorted(set(cells) - set(codes))
    if strange:
        raise ValueError(f"class {strange[0][:30]!r} is none of {sorted(codes)}")
    return np.array([codes[cell] for cell in cells], dtype=np.int8)


# ------------------------------------------------------------------------------------------------ LIBSVM


def libsvm(text: str) -> tuple[Array, Array]:
    """Features and labels of lines ``label place:value place:value ...``, places from 1 on."""
    entries, labels = list[tuple[int, int, float]](), list[float]()
    for number_, line in enumerate(text.splitlines(), 1):
        parts = line.partition("#")[0].split()
        if not parts:
            continue
        row, before = len(labels), 0
        labels.append(number(parts[0]))
        for part in parts[1:]:
            place, colon, value = part.partition(":")
            if not colon or not place.isdecimal() or not before < int(place) <= 1_000_000:
                raise ValueError(f"line {number_}: {part[:30]!r} is no place:value, or out of order")
            before = int(place)
            entries.append((row, before - 1, number(value)))
    if not labels:
        raise ValueError("the file is empty")
    X = np.zeros((len(labels), max((place for _, place, _ in entries), default=-1) + 1))
    for row, column, entry in entries:
        X[row, column] = entry
    return X, np.array(labels)


# -------------------------------------------------------------------------------------------------- ARFF

_NAME = r"'(?:[^'\\]|\\.)*'|\"(?:[^\"\\]|\\.)*\"|[^\s{]+"
_ATTRIBUTE = re.compile(rf"@attribute\s+({_NAME})\s+(.+)", re.IGNORECASE)


@dataclass(frozen=True)
class Arff:
    """Columns of an ARFF file: their names, and their cells as texts."""

    names: list[str]
    rows: list[list[str]]

    def column(self, place: int) -> list[str]:
        return [row[place] for row in self.rows]


def arff(text: str) -> Arff:
    """An ARFF file, dense or sparse (``{place value, ...}``, places from 0 on)."""
    names, defaults = list[str](), list[str]()
    lines = enumerate(text.splitlines(), 1)
    for number_, line in lines:
        line = line.strip()
        if line.lower().startswith("@data"):
            break
        if line.lower().startswith("@attribute"):
            found = _ATTRIBUTE.fullmatch(line)
            if found is None:
                raise ValueError(f"line {number_} declares no attribute: {line[:60]!r}")
            names.append(_unquoted(found[1]))
            levels = found[2].strip()
            defaults.append(_cells(levels[1:-1])[0] if levels.startswith("{") else "0")
        elif line and not line.startswith("%") and not line.lower().startswith("@relation"):
            raise ValueError(f"line {number_} is no line of an ARFF file: {line[:60]!r}")
    else:
        raise ValueError("holds no @data; is this an ARFF file?")
    rows = [_row(number_, line, defaults) for number_, line in lines if _holds(line)]
    if not rows or not names:
        raise ValueError("declares no attributes or holds no data")
    return Arff(names, rows)


def _holds(line: str) -> bool:
    return bool(line.strip()) and not line.lstrip().startswith("%")


def _row(number_: int, line: str, defaults: list[str]) -> list[str]:
    line = line.strip()
    if not line.startswith("{"):
        cells = _cells(line)
        if len(cells) != len(defaults):
            raise ValueError(f"line {number_} has {len(cells)} fields for {len(defaults)} attributes")
        return cells
    row = list(defaults)
    for part in filter(None, _cells(line.strip("{}"))):
        place, _, value = part.partition(" ")
        if not place.isdecimal() or int(place) >= len(row):
            raise ValueError(f"line {number_}: {part[:30]!r} is of none of {len(row)} attributes")
        row[int(place)] = value.strip()
    return row


def _cells(line: str) -> list[str]:
    parts = next(csv.reader([line], quotechar="'", skipinitialspace=True), [""])
    return [part.strip() for part in parts]


def _unquoted(name: str) -> str:
    return re.sub(r"\\(.)", r"\1", name[1:-1]) if name[0] in "'\"" else name


# ------------------------------------------------------------------------------------------- time series


def series(text: str) -> tuple[Array, Array]:
    """Series of equal length and their classes, whole numbers: ``.ts``, or ``.tsv`` and ``.txt``.

    In ``.ts`` there are lines with @ first, and a class comes after the values and a colon; in the others
    it comes first, and fields are separated by tabs, spaces or commas.
    """
    lines = [(k, line.strip()) for k, line in enumerate(text.splitlines(), 1)]
    body = [(k, line) for k, line in lines if line and line[0] not in "@#%"]
    if not body:
        raise ValueError("holds no series")
    headed = any(line.startswith("@") for _, line in lines)
    values, classes = list[list[float]](), list[float]()
    for k, line in body:
        cells, label = _of_ts(k, line) if headed else _of_table(line)
        if values and len(cells) != len(values[0]):
            raise ValueError(f"line {k} has {len(cells)} values, the first {len(values[0])}")
        values.append([number(cell) for cell in cells])
        classes.append(number(label))
    return np.array(values), _whole(classes)


def _of_ts(k: int, line: str) -> tuple[list[str], str]:
    parts = line.split(":")
    if len(parts) != 2:
        raise ValueError(f"line {k} is no series of one dimension and its class")
    return parts[0].split(","), parts[1]


def _of_table(line: str) -> tuple[list[str], str]:
    cells = line.replace(",", " ").split()
    return cells[1:], cells[0]


def _whole(classes: Sequence[float]) -> Array:
    found = np.array(classes)
    if not np.array_equal(found, np.round(found)):
        raise ValueError("classes are no whole numbers")
    return found.astype(np.int16)
