"""What each column of a table is: numbers, categories, or something that a model must not be given.

Dates, numbers with texts among them and free texts are refused, all columns of a table in one sentence:
who mends one at a time gives up at the third.
"""

import re
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np

from absentia.core import Array
from absentia.files._numbers import MISSING, Mark, is_number, looks_grouped, mark_of, numbers, pointed
from absentia.files._raw import Raw, Written, cell_text
from absentia.files._tables import plain_cell

MOST_LEVELS = 50  # of a text in which more than half of the values differ
MANY_NUMBERS = 10  # different numbers that make a column numeric whatever else it holds
SHOWN = 12

_MONTH = r"(?:jan|feb|mar|apr|may|jun|jul|aug|sep|oct|nov|dec)[a-z]*\.?"
_DATE = re.compile(
    r"(?:\d{4}([-/.])\d{1,2}\1\d{1,2}|\d{1,2}([-/.])\d{1,2}\2(?:\d{4}|\d{2})"
    rf"|\d{{1,2}}[- ]?{_MONTH}[- ,]*(?:\d{{4}}|\d{{2}})|{_MONTH} \d{{1,2}},? \d{{4}})"
    r"(?:[T ]\d{1,2}:\d{2}.*)?",
    re.ASCII | re.IGNORECASE,
)

#: A number with a sign, a limit, groups, a unit or an error: <0.5, 1'000, 50 kg, 0.4±0.1.
_MEASURED = re.compile(r"[<>~≤≥]?\s*[-−+]?\d[\d .,'’]*\s*(?:±.*|[%a-zA-Zµ/]{0,6})")

_ADVICE = {
    "date": "dates; give a number instead, as the days since a fixed day, or leave them out (--ignore)",
    "mixed": "numbers with something else among them; write numbers, or leave cells empty (a manifest's "
    "missing = [...] names what else means missing, categorical = [...] keeps a column as texts)",
    "unsure": "numbers such as 1,234, which may be 1234 or 1.234; write them without thousands separators "
    "and with a decimal point",
    "free": "texts that are nearly all different (names, ids, remarks), of which nothing can be learned; "
    "leave the columns out (--ignore, or a manifest's ignore = [...])",
    "strange": "neither numbers nor texts; make numbers of them, or leave them out (--ignore)",
}


@dataclass(frozen=True)
class Fault:
    """Why a column cannot be taken, and a cell that shows it."""

    kind: str
    column: str
    cell: str = ""
    line: int | None = None


def typed_columns(
    raw: Raw, places: Sequence[int], categorical: frozenset[str], missing: frozenset[str]
) -> tuple[dict[str, Any], list[Fault]]:
    """Columns by name, numbers as floats (or bools) and texts as objects (None = missing), and faults.

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
    faults: list[Fault] = []
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
                faults.append(Fault(values.kind, name, values.cell, raw.lines[0] if raw.lines else None))
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
    found |= _marked(raw, places, texts, found, told, faults)
    return {raw.names[p]: found[raw.names[p]] for p in places if raw.names[p] in found}, faults


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


def _marked(
    raw: Raw,
    places: Sequence[int],
    texts: Mapping[str, list[str]],
    found: Mapping[str, Any],
    missing: frozenset[str],
    faults: list[Fault],
) -> dict[str, Any]:
    """Columns that are no plain numbers: with commas, or texts, or faults, which are added."""
    cells = {name: [cell.strip() for cell in column] for name, column in texts.items()}
    marks = {name: mark_of(set(own) - missing) for name, own in cells.items()}
    comma = any(mark in (Mark.COMMA, Mark.POINT_GROUPS) for mark in marks.values())
    plain = (
        [p for p in places if raw.names[p] in found and isinstance(raw.columns[p], list)] if marks else []
    )
    doubtful = {raw.names[p] for p in plain if comma and looks_grouped(raw.columns[p])}
    point = Mark.COMMA_GROUPS in marks.values() or any(
        raw.names[p] not in doubtful and any("." in cell and is_number(cell) for cell in raw.columns[p])
        for p in plain
    )
    result: dict[str, Any] = {}
    for name, own in cells.items():
        mark = marks[name]
        if mark is Mark.UNSURE and comma != point:
            mark = Mark.COMMA if comma else Mark.COMMA_GROUPS
        values = None if mark in (None, Mark.UNSURE) else numbers(pointed(own, mark), missing)
        if values is not None:
            result[name] = values
            continue
        fault = _fault(name, own, raw.lines, missing, unsure=mark is Mark.UNSURE)
        if fault is None:
            result[name] = _as_levels(own, missing)
        else:
            faults.append(fault)
    faults += [
        _example("unsure", raw.names[p], raw.columns[p], raw.lines, lambda cell: "." in cell)
        for p in plain
        if raw.names[p] in doubtful
    ]
    return result


def _fault(
    name: str, cells: Sequence[str], lines: Sequence[int], missing: frozenset[str], *, unsure: bool
) -> Fault | None:
    """What is wrong with a column of texts, if anything."""
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
    if len(levels) > MOST_LEVELS and 2 * len(levels) > len(there):
        measured = {cell for cell in levels if _MEASURED.fullmatch(cell)}
        kind = "mixed" if 2 * len(measured) > len(levels) else "free"
        return _example(kind, name, cells, lines, (measured if kind == "mixed" else levels).__contains__)
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
