"""What each column of a table is: numbers, categories, or something that a model must not be given.

Dates, numbers with texts among them and free texts are refused, all columns of a table in one sentence:
who mends one at a time gives up at the third.  Where numbers are not written plainly, it is said how they
were read.
"""

import re
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Any, NamedTuple

import numpy as np

from absentia.core import Array
from absentia.files._numbers import (
    MANY_NUMBERS,
    MISSING,
    Mark,
    find_notation,
    is_measured,
    is_number,
    looks_grouped,
    numbers,
)
from absentia.files._raw import Raw, Written, cell_text
from absentia.files._tables import plain_cell

MOST_LEVELS = 50  # of a text in which more than half of the values differ
SHOWN = 12

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
    "strange": "neither numbers nor texts; make numbers of them, or leave them out (--ignore)",
    "doubtful": "values that begin with numbers and are taken as categories; if they are numbers, leave "
    "nothing else in the cells, or write one unit in all of them",
}


@dataclass(frozen=True)
class Fault:
    """Why a column cannot be taken, and a cell that shows it."""

    kind: str
    column: str
    cell: str = ""
    line: int | None = None


class Typed(NamedTuple):
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
    faults: list[Fault]
    doubts: list[Fault]
    notations: dict[str, str]


def typed_columns(
    raw: Raw, places: Sequence[int], categorical: frozenset[str], missing: frozenset[str]
) -> Typed:
    """What the columns of a table are.

    Parameters
    ----------
    raw : Raw
        The table.
    places : sequence of int
        Which of its columns.
    categorical : frozenset of str
        Names of columns that are texts, whatever they look like.
    missing : frozenset of str
        Further texts that mean that a value is missing.
    """
    told = MISSING | missing
    found: dict[str, Any] = {}
    texts: dict[str, list[str]] = {}
    result = Typed(found, [], [], {})
    for place in places:
        name, column = raw.names[place], raw.columns[place]
        said = name in categorical or type(getattr(column, "dtype", None)).__name__ == "CategoricalDtype"
        if isinstance(column, Written):
            if not said and not any(map(is_number, told)):
                found[name] = column.values
                continue
            column = column.texts()
        if not isinstance(column, list):
            values = _declared(column, told)
            if isinstance(values, np.ndarray) and not said:
                found[name] = values
                continue
            if isinstance(values, Fault):
                line = raw.lines[0] if raw.lines else None
                result.faults.append(Fault(values.kind, name, values.cell, line))
                continue
            column = raw.texts(place)
        if said:
            found[name] = _as_levels(column, told)
            continue
        values = numbers(column, told)
        if values is None:
            texts[name] = column
        else:
            found[name] = values
    _read_texts(raw, places, texts, told, result)
    return result._replace(
        columns={raw.names[p]: found[raw.names[p]] for p in places if raw.names[p] in found}
    )


def _declared(column: Any, missing: frozenset[str]) -> Array | Fault | None:
    """A column of a type that the file declares: numbers, a fault, or None (texts, mixed)."""
    kind = getattr(column.dtype, "kind", "O")
    if kind in "mM":
        return Fault("date", "", cell_text(column.iloc[0]) if kind == "M" and len(column) else "")
    if kind == "b" and column.dtype == np.bool_:
        return np.asarray(column)
    if kind in "fiub" and type(column.dtype).__name__ != "CategoricalDtype":
        values = column.to_numpy(dtype=float, na_value=np.nan)
        also = [float(text) for text in missing if is_number(text)]
        return np.where(np.isin(values, also), np.nan, values) if also else values
    if kind == "c":
        return Fault("strange", "", "complex numbers")
    strange = next(
        (x for x in column.tolist() if isinstance(x, list | dict | tuple | np.ndarray | bytes)), None
    )
    return None if strange is None else Fault("strange", "", type(strange).__name__)


def _read_texts(
    raw: Raw, places: Sequence[int], texts: Mapping[str, list[str]], missing: frozenset[str], result: Typed
) -> None:
    """Add columns that are no plain numbers to `result`: other numbers, truth values, texts, faults."""
    cells = {name: [cell.strip() for cell in column] for name, column in texts.items()}
    notations = {name: find_notation(set(own) - missing) for name, own in cells.items()}
    marks = [None if notation is None else notation.mark for notation in notations.values()]
    comma = Mark.COMMA in marks or Mark.POINT_GROUPS in marks
    plain = [p for p in places if raw.names[p] in result.columns and isinstance(raw.columns[p], list)]
    doubtful = [p for p in plain if comma and looks_grouped(raw.columns[p])]
    point = Mark.COMMA_GROUPS in marks or (
        Mark.UNSURE in marks and _has_point(raw, set(plain) - set(doubtful))
    )
    for name, own in cells.items():
        notation = notations[name]
        if notation is not None and notation.mark is Mark.UNSURE and comma != point:
            notation = replace(notation, mark=Mark.COMMA if comma else Mark.COMMA_GROUPS)
        unsure = notation is not None and notation.mark is Mark.UNSURE
        values = None if notation is None or unsure else notation.numbers(own, missing)
        if values is not None:
            result.columns[name], result.notations[name] = values, str(notation)
            continue
        fault = _fault(name, own, raw.lines, missing, unsure=unsure)
        if fault is not None and fault.kind != "doubtful":
            result.faults.append(fault)
            continue
        result.columns[name] = (
            _as_levels(own, missing) if (truth := _truths(own, missing)) is None else truth
        )
        result.doubts.extend([] if fault is None else [fault])
    result.faults.extend(
        _example("unsure", raw.names[p], raw.columns[p], raw.lines, lambda cell: "." in cell)
        for p in doubtful
    )


def _has_point(raw: Raw, places: Iterable[int]) -> bool:
    """Whether one of these columns of plain numbers has decimal points."""
    return any("." in cell and is_number(cell) for p in places for cell in raw.columns[p])


def _truths(cells: Sequence[str], missing: frozenset[str]) -> Array | None:
    """A column of True and False, in any case, as bools (with gaps: 1, 0, NaN); None if it is none."""
    codes = {"true": 1.0, "false": 0.0}
    found = [np.nan if cell in missing else codes.get(cell.lower()) for cell in cells]
    if None in found:
        return None
    values = np.array(found, dtype=float)
    return values if np.isnan(values).any() else values.astype(bool)


def _fault(
    name: str, cells: Sequence[str], lines: Sequence[int], missing: frozenset[str], *, unsure: bool
) -> Fault | None:
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
        2 * sum(cell in numeric for cell in there) >= len(there) or len(numeric) >= MANY_NUMBERS
    ):
        return _example("mixed", name, cells, lines, ((levels - numeric) or levels).__contains__)
    measured = {cell for cell in levels if is_measured(cell)}
    if 2 * sum(cell in measured for cell in there) > len(there):
        kind = "mixed" if len(measured) >= MANY_NUMBERS else "doubtful"
        return _example(kind, name, cells, lines, measured.__contains__)
    if len(levels) > MOST_LEVELS and 2 * len(levels) > len(there):
        return _example("free", name, cells, lines, levels.__contains__)
    return None


def _example(kind: str, name: str, cells: Sequence[str], lines: Sequence[int], shows: Any) -> Fault:
    line, cell = next((line, cell) for line, cell in zip(lines, cells, strict=True) if shows(cell))
    return Fault(kind, name, cell[:40], line)


def _as_levels(cells: Sequence[str], missing: frozenset[str]) -> Array:
    """Texts of a category, None where missing."""
    found = np.empty(len(cells), dtype=object)
    found[:] = [None if (own := cell.strip()) in missing else plain_cell(own) for cell in cells]
    return found


def sentence(faults: Sequence[Fault]) -> str:
    """All faults of a table in one sentence."""
    return "; ".join(
        f"{_listed(own)} {'holds' if len(own) == 1 else 'hold'} {_ADVICE[kind]}"
        for kind in _ADVICE
        if (own := [fault for fault in faults if fault.kind == kind])
    )


def _listed(faults: Sequence[Fault]) -> str:
    names = ", ".join(f"{fault.column!r}{_shown(fault)}" for fault in faults[:SHOWN])
    more = f" and {len(faults) - SHOWN} more" if len(faults) > SHOWN else ""
    return f"column{'' if len(faults) == 1 else 's'} {names}{more}"


def _shown(fault: Fault) -> str:
    where = f" in line {fault.line}" if fault.line is not None else ""
    return f" ({fault.cell!r}{where})" if fault.cell else ""
