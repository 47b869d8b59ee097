"""A table as it came out of a file, before anything is made of its cells."""

import re
from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace
from datetime import date, datetime
from numbers import Integral, Real
from typing import Any

import numpy as np

from absentia.core import Array
from absentia.data import ID_COLUMNS
from absentia.files._numbers import MISSING, is_number, numbers


def id_called(names: Sequence[str]) -> list[int]:
    """Places of columns that are called as ids are, the likeliest first."""
    plain = [_bare(name) for name in names]
    likely = dict.fromkeys(map(_bare, ID_COLUMNS))
    return [place for one in likely for place, name in enumerate(plain) if name == one]


def _bare(name: str) -> str:
    return re.sub(r"[\s_.-]", "", name).lower()


def check_header(raw: "Raw") -> None:
    """Raise if the first line of a text looks like a sample and not like names of columns.

    Every name is then a number such as its column has, or a text that its column has, and the first is
    written as the ids are or nothing speaks for names, as numbers that rise evenly do.

    Parameters
    ----------
    raw : Raw
        A table whose ids are in the first column.
    """
    first, *names = raw.names
    columns = raw.columns[1:]
    typed = not all(isinstance(column, list | Written) for column in columns)
    if not first or typed or id_called(raw.names):
        return
    there = [(name, column) for name, column in zip(names, columns, strict=True) if name not in MISSING]
    places = [_place_in(name, column) for name, column in there]
    if not there or None in places:
        return
    shape = re.sub(r"\d+", "0", first)
    alike = sum(re.sub(r"\d+", "0", cell.strip()) == shape for cell in raw.texts(0))
    as_ids = "0" in shape and shape != "0" and 2 * alike > len(raw.lines)
    if not as_ids and _could_be_names([name for name, _ in there], "near" not in places):
        return
    line = ", ".join(repr(name) for name in raw.names[:4]) + (", ..." if len(raw.names) > 4 else "")
    raise ValueError(
        f"the first line ({line}) looks like a sample and not like names of columns; put a line with names "
        "above it, as in id,age,sex, or, if these are names, call the first column id"
    )


def _could_be_names(names: Sequence[str], inside: bool) -> bool:
    """Whether names are numbers that rise: evenly, where all lie among the values of their columns."""
    if not all(map(is_number, names)):
        return False
    steps = np.diff([float(name) for name in names])
    rising = bool((steps > 0).all())
    return rising and len(steps) > 1 and bool(np.ptp(steps) <= 1e-6 * steps[0]) if inside else rising


def _place_in(name: str, column: Any) -> str | None:
    """Whether a name lies among the values of its column, or not far from them; None if it does not."""
    if not is_number(name):
        return "inside" if isinstance(column, list) and name in map(str.strip, column) else None
    values = column.values if isinstance(column, Written) else numbers(column)
    if values is None or np.isnan(values).all():
        return None
    low, high = np.nanmin(values), np.nanmax(values)
    if low <= float(name) <= high:
        return "inside"
    return "near" if 2 * low - high <= float(name) <= 2 * high - low else None


@dataclass(frozen=True, eq=False)
class Written:
    """A column of numbers out of a text file, NaN where missing, and how it was written, if asked for."""

    values: Array
    texts: Callable[[], list[str]]


@dataclass(frozen=True, eq=False)
class Raw:
    """Columns of a table: texts as they were written, or values of the types that a file declares.

    Attributes
    ----------
    names : list of str
    columns : list
        Each a list of texts, numbers as they were :class:`Written`, or a pandas Series where the file
        declares types.
    lines : sequence of int
        The line of the file that each row stands in.
    index : str, optional
        The column that the file itself declares as the names of rows.
    notes : tuple of str
        What is worth showing about how it was read.
    """

    names: list[str]
    columns: list[Any]
    lines: Sequence[int]
    index: str | None = None
    notes: tuple[str, ...] = ()

    def texts(self, place: int) -> list[str]:
        """A column as texts."""
        column = self.columns[place]
        if isinstance(column, Written):
            return column.texts()
        return column if isinstance(column, list) else [cell_text(x) for x in column.tolist()]

    def transposed(self) -> "Raw":
        """Rows as columns: the first column has the names, the first line the ids."""
        own = 0 if self.index is None else self.names.index(self.index)
        rest = [place for place in range(len(self.names)) if place != own]
        rows = zip(*(self.texts(place) for place in rest), strict=True)
        return replace(
            self,
            names=["", *(name.strip() for name in self.texts(own))],
            columns=[[self.names[place] for place in rest], *map(list, rows)],
            lines=[place + 1 for place in rest],
            index=None,
        )


def cell_text(value: Any) -> str:
    """A cell of any type as it would stand in a table; whole numbers without a point."""
    if value is None or value is np.ma.masked or type(value).__name__ in ("NAType", "NaTType"):
        return ""
    if isinstance(value, str):
        return value
    if isinstance(value, bool | np.bool_):
        return str(bool(value))
    if isinstance(value, Integral):
        return str(int(value))
    if isinstance(value, Real):
        number = float(value)
        if number != number:
            return ""
        return repr(number).removesuffix(".0") if abs(number) < 1e15 else repr(number)
    if isinstance(value, datetime):
        return value.isoformat(" ").removesuffix(" 00:00:00")
    if isinstance(value, date):
        return value.isoformat()
    if isinstance(value, bytes):
        return value.decode()
    if type(value).__name__ == "Decimal":
        return str(value)
    raise ValueError(f"a cell holds a {type(value).__name__}; numbers and texts are wanted")
