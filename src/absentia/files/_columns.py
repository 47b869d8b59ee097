"""A table as columns, and what each is: numbers, categories, or something a model must not be given.

Dates, numbers with texts among them and free texts are refused, all columns of a table in one sentence:
who mends one at a time gives up at the third.  Where numbers are not written plainly, it is said how they
were read.
"""

import re
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Any, NamedTuple

import numpy as np

from absentia.core import Array
from absentia.data import ID_COLUMNS
from absentia.files._cells import (
    GAPS,
    Mark,
    find_notation,
    format_cell,
    is_measured,
    is_number,
    looks_grouped,
    parse_numbers,
    unescape_formula,
)

_MAX_LEVELS = 50  # of a text in which more than half of the values differ
_MANY_NUMBERS = 10  # different ones that make a column numeric whatever else it holds
_N_SHOWN = 12

# --------------------------------------------------------------------------------------------- tables


@dataclass(frozen=True, eq=False)
class NumberColumn:
    """A column of numbers out of a text file, NaN where missing, and how it was written, if asked for.

    Attributes
    ----------
    values : ndarray of shape (n_rows,)
    read_cells : callable
        Reads the whole table as texts.
    place : int
        Which of its columns this is.
    """

    values: Array
    read_cells: "Callable[[], RawTable]"
    place: int

    def texts(self) -> list[str]:
        """The cells as they are written."""
        return self.read_cells().texts(self.place)


@dataclass(frozen=True, eq=False)
class RawTable:
    """Columns of a table: texts as they were written, or values of the types that a file declares.

    Attributes
    ----------
    names : list of str
    columns : list
        Each a list of texts, a :class:`NumberColumn`, or a pandas Series where the file
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
        if isinstance(column, NumberColumn):
            return column.texts()
        return column if isinstance(column, list) else [format_cell(x) for x in column.tolist()]

    def transpose(self) -> "RawTable":
        """Rows as columns: the first column has the names, the first line the ids."""
        first = 0 if self.index is None else self.names.index(self.index)
        rest = [place for place in range(len(self.names)) if place != first]
        rows = zip(*(self.texts(place) for place in rest), strict=True)
        return replace(
            self,
            names=["", *(name.strip() for name in self.texts(first))],
            columns=[[self.names[place] for place in rest], *map(list, rows)],
            lines=[place + 1 for place in rest],
            index=None,
        )


def find_id_columns(names: Sequence[str]) -> list[int]:
    """Places of columns that are called as ids are, the likeliest first."""
    plain = [_normalise_name(name) for name in names]
    likely = dict.fromkeys(map(_normalise_name, ID_COLUMNS))
    return [place for word in likely for place, name in enumerate(plain) if name == word]


def _normalise_name(name: str) -> str:
    return re.sub(r"[\s_.-]", "", name).lower()


def check_header(table: "RawTable") -> None:
    """Raise if the first line of a text looks like a sample and not like names of columns.

    Every name is then a number such as its column has, or a text that its column has, and the first is
    written as the ids are or nothing speaks for names, as numbers that rise evenly do.

    Parameters
    ----------
    table : RawTable
        A table whose ids are in the first column.
    """
    first, *names = table.names
    columns = table.columns[1:]
    typed = not all(isinstance(column, list | NumberColumn) for column in columns)
    if not first or typed or find_id_columns(table.names):
        return
    there = [(name, column) for name, column in zip(names, columns, strict=True) if name not in GAPS]
    places = [_locate_name(name, column) for name, column in there]
    if not there or None in places:
        return
    shape = re.sub(r"\d+", "0", first)
    alike = sum(re.sub(r"\d+", "0", cell.strip()) == shape for cell in table.texts(0))
    as_ids = "0" in shape and shape != "0" and 2 * alike > len(table.lines)
    if not as_ids and _could_be_names([name for name, _ in there], "near" not in places):
        return
    line = ", ".join(repr(name) for name in table.names[:4]) + (", ..." if len(table.names) > 4 else "")
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


def _locate_name(name: str, column: Any) -> str | None:
    """Whether a name lies among the values of its column, or not far from them; None if it does not."""
    if not is_number(name):
        return "inside" if isinstance(column, list) and name in map(str.strip, column) else None
    values = column.values if isinstance(column, NumberColumn) else parse_numbers(column)
    if values is None or np.isnan(values).all():
        return None
    low, high = np.nanmin(values), np.nanmax(values)
    if low <= float(name) <= high:
        return "inside"
    return "near" if 2 * low - high <= float(name) <= 2 * high - low else None


# ---------------------------------------------------------------------------------------------- types


_MONTH = r"(?:jan|feb|mar|apr|may|jun|jul|aug|sep|oct|nov|dec)[a-z]*\.?"
_DATE = re.compile(
    r"(?:\d{4}([-/.])\d{1,2}\1\d{1,2}|\d{1,2}([-/.])\d{1,2}\2(?:\d{4}|\d{2})"
    rf"|\d{{1,2}}[- ]?{_MONTH}[- ,]*(?:\d{{4}}|\d{{2}})|{_MONTH} \d{{1,2}},? \d{{4}})"
    r"(?:[T ]\d{1,2}:\d{2}.*)?",
    re.ASCII | re.IGNORECASE,
)

_ADVICE = {
    "date": "dates; give a number instead, as the days since a fixed day, or leave them out (--ignore)",
    "mixed": "numbers with something else among them; write numbers, or leave cells empty (a manifest's "
    "missing = [...] names what else means missing, categorical = [...] keeps a column as texts)",
    "unsure": "numbers such as 1,234, which may be 1234 or 1.234; write them without thousands separators "
    "and with a decimal point",
    "free": "texts that are nearly all different (names, ids, remarks), of which nothing can be learned; "
    "leave the columns out (--ignore, or a manifest's ignore = [...])",
    "text": "texts where numbers are wanted; write numbers, or leave cells empty or NA where there is none",
    "strange": "neither numbers nor texts; make numbers of them, or leave them out (--ignore)",
    "doubtful": "values that begin with numbers and are taken as categories; if they are numbers, leave "
    "nothing else in the cells, or write one unit in all of them",
}


@dataclass(frozen=True)
class _Fault:
    """Why a column cannot be taken, and a cell that shows it."""

    kind: str
    column: str
    cell: str = ""
    line: int | None = None

    def __str__(self) -> str:
        where = f" in line {self.line}" if self.line is not None else ""
        return f"{self.column!r}" + (f" ({self.cell!r}{where})" if self.cell else "")


class _TypedColumns(NamedTuple):
    """Columns by name, what is wrong with others, and what is worth knowing.

    Attributes
    ----------
    columns : dict of str to array
        Numbers as floats, truth values as bools, texts as objects (None = missing).
    faults : list of Fault
        Columns that cannot be taken.
    doubts : list of Fault
        Columns that are taken as categories and may be numbers.
    notations : dict of str to str
        Columns of numbers that are not written plainly, and how they are written.
    """

    columns: dict[str, Any]
    faults: list[_Fault]
    doubts: list[_Fault]
    notations: dict[str, str]


def infer_types(
    table: RawTable, places: Sequence[int], categorical: frozenset[str], missing: frozenset[str]
) -> _TypedColumns:
    """What the columns of a table are.

    Parameters
    ----------
    table : RawTable
        The table.
    places : sequence of int
        Which of its columns.
    categorical : frozenset of str
        Names of columns that are texts, whatever they look like.
    missing : frozenset of str
        Further texts that mean that a value is missing.
    """
    gaps = GAPS | missing
    texts: dict[str, list[str]] = {}
    typed = _TypedColumns({}, [], [], {})
    for place in places:
        name, column = table.names[place], table.columns[place]
        said = name in categorical or type(getattr(column, "dtype", None)).__name__ == "CategoricalDtype"
        values = None if said and isinstance(column, NumberColumn) else _read_declared(column, gaps)
        if isinstance(values, _Fault):
            line = table.lines[0] if table.lines else None
            typed.faults.append(replace(values, column=name, line=line))
        elif values is not None and not said:
            typed.columns[name] = values
        elif said:
            typed.columns[name] = _as_levels(table.texts(place), gaps)
        elif (values := parse_numbers(cells := table.texts(place), gaps)) is not None:
            typed.columns[name] = values
        else:
            texts[name] = cells
    _read_texts(table, places, texts, gaps, typed)
    names = [table.names[p] for p in places if table.names[p] in typed.columns]
    return typed._replace(columns={name: typed.columns[name] for name in names})


def _read_declared(column: Any, missing: frozenset[str]) -> Array | _Fault | None:
    """A column of a type that is known already: numbers, a fault, or None (texts, mixed)."""
    if isinstance(column, list):
        return None
    if isinstance(column, NumberColumn):
        return None if any(map(is_number, missing)) else column.values
    kind = getattr(column.dtype, "kind", "O")
    if kind in "mM":
        return _Fault("date", "", format_cell(column.iloc[0]) if kind == "M" and len(column) else "")
    if kind == "b" and column.dtype == np.bool_:
        return np.asarray(column)
    if kind in "fiub" and type(column.dtype).__name__ != "CategoricalDtype":
        values = column.to_numpy(dtype=float, na_value=np.nan)
        also = [float(text) for text in missing if is_number(text)]
        return np.where(np.isin(values, also), np.nan, values) if also else values
    if kind == "c":
        return _Fault("strange", "", "complex numbers")
    strange = next(
        (x for x in column.tolist() if isinstance(x, list | dict | tuple | np.ndarray | bytes)), None
    )
    return None if strange is None else _Fault("strange", "", type(strange).__name__)


def _read_texts(
    table: RawTable,
    places: Sequence[int],
    texts: Mapping[str, list[str]],
    missing: frozenset[str],
    typed: _TypedColumns,
) -> None:
    """Add columns that are no plain numbers to `typed`: other numbers, truth values, texts, faults."""
    cells = {name: [cell.strip() for cell in column] for name, column in texts.items()}
    notations = {name: find_notation(set(column) - missing) for name, column in cells.items()}
    marks = [None if notation is None else notation.mark for notation in notations.values()]
    comma = Mark.COMMA in marks or Mark.POINT_GROUPS in marks
    plain = [p for p in places if table.names[p] in typed.columns and isinstance(table.columns[p], list)]
    doubtful = [p for p in plain if comma and looks_grouped(table.columns[p])]
    point = Mark.COMMA_GROUPS in marks or (
        Mark.UNSURE in marks and _has_point(table, set(plain) - set(doubtful))
    )
    for name, column in cells.items():
        notation = notations[name]
        if notation is not None and notation.mark is Mark.UNSURE and comma != point:
            notation = replace(notation, mark=Mark.COMMA if comma else Mark.COMMA_GROUPS)
        unsure = notation is not None and notation.mark is Mark.UNSURE
        values = None if notation is None or unsure else notation.parse(column, missing)
        if values is not None:
            typed.columns[name], typed.notations[name] = values, str(notation)
            continue
        fault = _find_fault(name, column, table.lines, missing, unsure=unsure)
        if fault is not None and fault.kind != "doubtful":
            typed.faults.append(fault)
            continue
        typed.columns[name] = (
            _as_levels(column, missing) if (truth := _parse_truths(column, missing)) is None else truth
        )
        typed.doubts.extend([] if fault is None else [fault])
    typed.faults.extend(
        _example("unsure", table.names[p], table.columns[p], table.lines, lambda cell: "." in cell)
        for p in doubtful
    )


def _has_point(table: RawTable, places: Iterable[int]) -> bool:
    """Whether one of these columns of plain numbers has decimal points."""
    return any("." in cell and is_number(cell) for p in places for cell in table.columns[p])


def _parse_truths(cells: Sequence[str], missing: frozenset[str]) -> Array | None:
    """A column of True and False, in any case, as bools (with gaps: 1, 0, NaN); None if it is none."""
    codes = {"true": 1.0, "false": 0.0}
    numbers = [np.nan if cell in missing else codes.get(cell.lower()) for cell in cells]
    if None in numbers:
        return None
    values = np.array(numbers, dtype=float)
    return values if np.isnan(values).any() else values.astype(bool)


def _find_fault(
    name: str, cells: Sequence[str], lines: Sequence[int], missing: frozenset[str], *, unsure: bool
) -> _Fault | None:
    """What is wrong, or doubtful, with a column of texts, if anything."""
    if unsure:
        return _example("unsure", name, cells, lines, lambda cell: "," in cell)
    there = [cell for cell in cells if cell not in missing]
    levels = set(there)
    dated = {cell for cell in levels if _DATE.fullmatch(cell)}
    if 2 * sum(cell in dated for cell in there) > len(there):
        return _example("date", name, cells, lines, dated.__contains__)
    numeric = {cell for cell in levels if is_number(cell) or is_number(cell.replace(",", ".", 1))}
    if numeric and (
        2 * sum(cell in numeric for cell in there) >= len(there) or len(numeric) >= _MANY_NUMBERS
    ):
        return _example("mixed", name, cells, lines, ((levels - numeric) or levels).__contains__)
    measured = {cell for cell in levels if is_measured(cell)}
    if 2 * sum(cell in measured for cell in there) > len(there):
        kind = "mixed" if len(measured) >= _MANY_NUMBERS else "doubtful"
        return _example(kind, name, cells, lines, measured.__contains__)
    if len(levels) > _MAX_LEVELS and 2 * len(levels) > len(there):
        return _example("free", name, cells, lines, levels.__contains__)
    return None


def find_texts(table: RawTable, names: Iterable[str]) -> list[_Fault]:
    """Columns of texts as faults, for whoever takes nothing but numbers."""

    def example(name: str) -> _Fault:
        cells = [cell.strip() for cell in table.texts(table.names.index(name))]
        texts = {cell for cell in cells if cell not in GAPS}
        odd = {cell for cell in texts if not is_number(cell)} or texts
        return _example("text", name, cells, table.lines, odd.__contains__)

    return [example(name) for name in names]


def _example(kind: str, name: str, cells: Sequence[str], lines: Sequence[int], shows: Any) -> _Fault:
    line, cell = next((line, cell) for line, cell in zip(lines, cells, strict=True) if shows(cell))
    return _Fault(kind, name, cell[:40], line)


def _as_levels(cells: Sequence[str], missing: frozenset[str]) -> Array:
    """Texts of a category, None where missing."""
    levels = np.empty(len(cells), dtype=object)
    levels[:] = [None if (text := cell.strip()) in missing else unescape_formula(text) for cell in cells]
    return levels


def describe_faults(faults: Sequence[_Fault]) -> str:
    """All faults of a table in one sentence."""
    by_kind = {kind: [fault for fault in faults if fault.kind == kind] for kind in _ADVICE}
    return "; ".join(
        f"{_list_faults(alike)} {'holds' if len(alike) == 1 else 'hold'} {_ADVICE[kind]}"
        for kind, alike in by_kind.items()
        if alike
    )


def _list_faults(faults: Sequence[_Fault]) -> str:
    more = f" and {len(faults) - _N_SHOWN} more" if len(faults) > _N_SHOWN else ""
    return f"column{'' if len(faults) == 1 else 's'} {', '.join(map(str, faults[:_N_SHOWN]))}{more}"
