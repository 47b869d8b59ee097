"""A table as columns, and what each is: numbers, categories, or something a model must not be given.

Dates, numbers with texts among them and free texts are refused, all columns of a table in one sentence:
who mends one at a time gives up at the third.  Where numbers are not written plainly, it is said how they
were read.
"""

import re
from collections.abc import Sequence
from dataclasses import dataclass, replace
from typing import Any, NamedTuple

import numpy as np

from absentia.core import Array
from absentia.files._cells import (
    GAPS,
    UNSURE,
    could_have_comma,
    find_decimal,
    format_cell,
    is_measured,
    is_number,
    parse_numbers,
    parse_written,
    unescape_formula,
)
from absentia.files._tables import RawTable, find_id_columns

_MAX_LEVELS = 50  # of a text in which more than half of the values differ
_MANY_NUMBERS = 10  # different ones that make a column numeric whatever else it holds
_N_SHOWN = 12
_SIGNED = re.compile(r"[.,]\d")  # a number that says what a comma or point means


def check_header(table: RawTable) -> None:
    """Raise if the first line of a text looks like a sample and not like names of columns.

    Every name is then a number such as its column has, or a text that its column has; numbers that rise
    evenly may be names, unless the first is written as the ids are.

    Parameters
    ----------
    table : RawTable
        A table whose ids are in the first column.
    """
    first, *rest = table.names
    if not first or find_id_columns(table.names) or not all(isinstance(x, str) for x in table.columns):
        return
    names = [(place, name) for place, name in enumerate(rest, 1) if name not in GAPS]
    if not names or not all(_is_like(name, table.texts(place)) for place, name in names):
        return
    steps = np.diff([float(name) if is_number(name) else np.nan for _, name in names])
    evenly = len(steps) > 1 and steps[0] > 0 and np.ptp(steps) <= 1e-6 * steps[0]
    shape = re.sub(r"\d+", "0", first)
    alike = sum(re.sub(r"\d+", "0", cell.strip()) == shape for cell in table.texts(0))
    if evenly and not ("0" in shape and shape != "0" and 2 * alike > len(table.lines)):
        return
    line = ", ".join(repr(name) for name in table.names[:4]) + (", ..." if len(table.names) > 4 else "")
    raise ValueError(
        f"the first line ({line}) looks like a sample and not like names of columns; put a line with names "
        "above it, as in id,age,sex, or, if these are names, call the first column id"
    )


def _is_like(name: str, cells: Sequence[str]) -> bool:
    """Whether a name is a text that its column has, or a number not far from those that it has."""
    if not is_number(name):
        return name in map(str.strip, cells)
    values = parse_numbers(cells)
    if values is None or np.isnan(values).all():
        return False
    low, high = np.nanmin(values), np.nanmax(values)
    return bool(2 * low - high <= float(name) <= 2 * high - low)


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
    "mixed": "numbers with something else among them; write numbers, and leave cells empty where there is "
    "none; a letter before every code (c1, c2) makes categories of them",
    "unsure": "numbers such as 1,234, which may be 1234 or 1.234; write them without thousands separators "
    "and with a decimal point",
    "free": "texts that are nearly all different (names, ids, remarks), of which nothing can be learned; "
    "leave the columns out (--ignore)",
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
    examples : dict of str to str
        Columns of numbers that are not written plainly, and how a cell of each was read.
    """

    columns: dict[str, Any]
    faults: list[_Fault]
    doubts: list[_Fault]
    examples: dict[str, str]


def infer_types(table: RawTable, places: Sequence[int], *, only_numbers: bool = False) -> _TypedColumns:
    """What the columns of a table are.

    Parameters
    ----------
    table : RawTable
        The table.
    places : sequence of int
        Which of its columns.
    only_numbers : bool
        Whether texts are a fault.
    """
    typed, texts, plain = _TypedColumns({}, [], [], {}), dict[int, list[str]](), list[int]()
    for place in places:
        name, column = table.names[place], table.columns[place]
        values = None if isinstance(column, str) else _read_declared(column)
        if isinstance(values, _Fault):
            line = table.lines[0] if table.lines else None
            typed.faults.append(replace(values, column=name, line=line))
        elif type(getattr(column, "dtype", None)).__name__ == "CategoricalDtype":
            typed.columns[name] = _as_levels(table.texts(place))
        elif values is not None:
            typed.columns[name] = values
        elif (values := parse_numbers(cells := table.texts(place))) is not None:
            typed.columns[name] = values
            plain.append(place)
        else:
            texts[place] = [cell.strip() for cell in cells]
    if texts:
        _read_texts(table, texts, plain, typed, only_numbers)
    names = [table.names[p] for p in places if table.names[p] in typed.columns]
    return typed._replace(columns={name: typed.columns[name] for name in names})


def _read_declared(column: Any) -> Array | _Fault | None:
    """A column of a type that the file declares: numbers, a fault, or None (texts, mixed)."""
    kind = getattr(column.dtype, "kind", "O")
    if kind in "mM":
        return _Fault("date", "", format_cell(column.iloc[0]) if kind == "M" and len(column) else "")
    if kind == "b" and column.dtype == np.bool_:
        return np.asarray(column)
    if kind in "fiub" and type(column.dtype).__name__ != "CategoricalDtype":
        return np.asarray(column.to_numpy(dtype=float, na_value=np.nan))
    if kind == "c":
        return _Fault("strange", "", "complex numbers")
    strange = next(
        (x for x in column.tolist() if isinstance(x, list | dict | tuple | np.ndarray | bytes)), None
    )
    return None if strange is None else _Fault("strange", "", type(strange).__name__)


def _read_texts(
    table: RawTable,
    texts: dict[int, list[str]],
    plain: Sequence[int],
    typed: _TypedColumns,
    only_numbers: bool,
) -> None:
    """Add columns that are no plain numbers to `typed`: other numbers, truth values, texts, faults.

    Where one says that commas are decimal, `plain` ones such as 1.234 may be thousands and are refused.
    """
    signs = {place: find_decimal(set(cells) - GAPS) for place, cells in texts.items()}
    comma = "," in signs.values()
    grouped = [p for p in plain if comma and could_have_comma(table.texts(p))]
    says = [p for p in (*plain, *texts) if p not in grouped and signs.get(p, ".") == "."]
    point = UNSURE in signs.values() and any(map(_SIGNED.search, (x for p in says for x in table.texts(p))))
    for place, cells in texts.items():
        name, sign = table.names[place], signs[place]
        if sign == UNSURE and comma != point:
            sign = "," if comma else "."
        if sign is not None and sign != UNSURE:
            values = typed.columns[name] = parse_written(cells, sign)
            first = int(np.argmax(~np.isnan(values)))
            typed.examples[name] = f"{cells[first][:40]!r} as {values[first]:.10g}"
            continue
        fault = _find_fault(name, cells, table.lines, unsure=sign == UNSURE)
        truths = _parse_truths(cells)
        if only_numbers and truths is None and (fault is None or fault.kind not in ("date", "unsure")):
            odd = {cell for cell in cells if not is_number(cell)} - GAPS
            fault = _example("text", name, cells, table.lines, odd.__contains__)
        if fault is not None:
            (typed.doubts if fault.kind == "doubtful" else typed.faults).append(fault)
        if fault is None or fault.kind == "doubtful":
            typed.columns[name] = _as_levels(cells) if truths is None else truths
    typed.faults.extend(
        _example("unsure", table.names[p], table.texts(p), table.lines, lambda cell: "." in cell)
        for p in grouped
    )


def _parse_truths(cells: Sequence[str]) -> Array | None:
    """A column of True and False, in any case, as bools (with gaps: 1, 0, NaN); None if it is none."""
    codes = {"true": 1.0, "false": 0.0}
    numbers = [np.nan if cell in GAPS else codes.get(cell.lower()) for cell in cells]
    if None in numbers:
        return None
    values = np.array(numbers, dtype=float)
    return values if np.isnan(values).any() else values.astype(bool)


def _find_fault(name: str, cells: Sequence[str], lines: Sequence[int], *, unsure: bool) -> _Fault | None:
    """What is wrong, or doubtful, with a column of texts, if anything."""
    if unsure:
        return _example("unsure", name, cells, lines, lambda cell: "," in cell)
    there = [cell for cell in cells if cell not in GAPS]
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


def _example(kind: str, name: str, cells: Sequence[str], lines: Sequence[int], shows: Any) -> _Fault:
    line, cell = next((line, cell) for line, cell in zip(lines, cells, strict=True) if shows(cell))
    return _Fault(kind, name, cell[:40], line)


def _as_levels(cells: Sequence[str]) -> Array:
    """Texts of a category, None where missing."""
    levels = np.empty(len(cells), dtype=object)
    levels[:] = [None if (text := cell.strip()) in GAPS else unescape_formula(text) for cell in cells]
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
