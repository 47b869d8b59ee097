"""Cells and columns of tables: what is a gap, how numbers are written, and what each column is.

A column is numbers where all its cells are written in one way: with decimal commas, with commas, points,
spaces or ``'`` between thousands, with a Unicode minus, all with one unit or currency (``5 kg``, ``12%``,
``$3``).  ``1,234`` is 1.234 to some and 1234 to others.  A column says which it means when it also holds
``0,5`` or ``1,234.5``; if it does not, the other columns of the table may.  Where nothing says so, it is
refused; nothing is guessed.  Where numbers are not written plainly, it is said how they were read.

Dates, numbers with texts among them and free texts are refused, all columns of a table in one sentence:
who mends one at a time gives up at the third.

Tables that we write are opened in spreadsheets, which take a field that begins with ``=``, ``+``, ``-``,
``@`` or a tab for a formula and run it.  Texts of that kind (ids, class and column names come from
untrusted files) are written with an apostrophe before them, unless they are plain numbers
(:func:`_escape_formula`), and our own readers take that apostrophe off again (:func:`unescape_formula`), so
that ids are found as they were.
"""

import re
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass, replace
from datetime import date, datetime
from decimal import Decimal
from numbers import Integral, Real
from typing import TYPE_CHECKING, Any, NamedTuple

import numpy as np

from absentia.core import Array, list_some

if TYPE_CHECKING:
    from absentia.files._tables import RawTable

#: Cells that mean that a value is missing, as they are written.
GAPS = frozenset(
    ["", "NA", "N/A", "n/a", "na", "#N/A", "<NA>", "nan", "NaN", "NAN", "null", "NULL", "None", "?", "."]
)
#: The decimal sign of numbers such as 1,234, of which nothing says whether it is a comma.
UNSURE = "?"

# Cells are untrusted texts of any length: no pattern may try the same characters twice.
_PLAIN = re.compile(r"[+-]?(\d++(\.\d*+)?|\.\d++)([eE][+-]?\d++)?", re.ASCII)
_BY_DECIMAL = {  # numbers whose thousands may be apart by the other sign
    ".": re.compile(r"[+-]?(?:[1-9]\d{0,2}(?:,\d{3})++|\d*+)(?:\.\d*+)?+(?:[eE][+-]?\d++)?+", re.ASCII),
    ",": re.compile(r"[+-]?(?:[1-9]\d{0,2}(?:\.\d{3})++|\d*+)(?:,\d*+)?+(?:[eE][+-]?\d++)?+", re.ASCII),
}

_MINUS = "−‒–﹣－"  # which are no hyphens
_APART = "'’ \u00a0\u2007\u2009\u202f"  # between thousands
_MONEY = "$€£¥¢₣₤₩₪₫₱₹₺₽"
_WRITTEN = (
    rf"(?P<sign>[-+{_MINUS}]?+)(?P<before>[{_MONEY}]?+)[{_APART[2:]}]?+(?P<inner>[-+{_MINUS}]?+)"
    rf"(?P<number>(?:[0-9]++(?:[.,{_APART}][0-9]++)*+[.,]?+|[.,][0-9]++)"
    rf"(?P<power>[eE][-+{_MINUS}]?+[0-9]++)?+)"
    rf"[{_APART[2:]}]?+(?P<after>[%‰°{_MONEY}]|°?+[^\W\d_][\w/·*^%.-]{{0,11}}+)?+"
)
_NUMBER = re.compile(_WRITTEN)
_GROUPED = re.compile(rf"[0-9]{{1,3}}(?:([{_APART}])[0-9]{{3}})(?:\1[0-9]{{3}})*+(?:[.,][0-9]*+)?+")
_HYPHENS = str.maketrans(dict.fromkeys(_MINUS, "-") | dict.fromkeys(_APART))
#: A number with a limit or an error too: <0.5, 0.4±0.1.
_MEASURED = re.compile(rf"[<>~≤≥]?+=?+\s*+{_WRITTEN}(?:\s*+±.*+)?+")
_CODE = re.compile(r"[0-9]{1,2}[^\W\d_]")  # 1a, 2b


def find_decimal(cells: Iterable[str]) -> str | None:
    """The decimal sign of numbers that may have one unit, ``UNSURE``, or None if they are not alike.

    Parameters
    ----------
    cells : iterable of str
        Cells of one column without spaces around them, none of them missing.
    """
    pairs = [_split_unit(cell) for cell in set(cells)]
    if None in pairs or len({pair[1] for pair in pairs if pair}) != 1:
        return None
    numbers = [pair[0] for pair in pairs if pair]
    fitting = [sign for sign, form in _BY_DECIMAL.items() if all(map(form.fullmatch, numbers))]
    if len(fitting) == 2:
        return UNSURE if any("," in number for number in numbers) else "."
    return fitting[0] if fitting else None


def parse_written(cells: Sequence[str], decimal: str) -> Array:
    """Cells of which :func:`find_decimal` has found the sign as numbers, NaN where missing."""
    other = "," if decimal == "." else "."
    pairs = [None if cell in GAPS else _split_unit(cell) for cell in cells]
    return np.array(
        [float(pair[0].replace(other, "").replace(",", ".")) if pair else np.nan for pair in pairs]
    )


def _could_have_comma(cells: Iterable[str]) -> bool:
    """Whether plain numbers with points could be thousands where commas are decimal: ``1.234``."""
    with_points = [cell for cell in map(str.strip, cells) if "." in cell and len(cell) > 1]
    return bool(with_points) and all(map(_BY_DECIMAL[","].fullmatch, with_points))


def _split_unit(cell: str) -> tuple[str, str] | None:
    """A number without spaces and quotes, its minus a hyphen, and its unit; None if it is none."""
    match = _NUMBER.fullmatch(cell)
    if match is None or (match["sign"] and match["inner"]) or (match["before"] and match["after"]):
        return None
    if any(x in _APART for x in match["number"]) and not _GROUPED.fullmatch(match["number"]):
        return None
    number = match["sign"] + match["inner"] + match["number"]
    return number.translate(_HYPHENS), match["before"] + (match["after"] or "")


def is_measured(cell: str) -> bool:
    """Whether a cell is a number with something beside it (``<0.5``, ``5 kg``), and no code (``1a``)."""
    return _MEASURED.fullmatch(cell) is not None and _CODE.fullmatch(cell) is None


def parse_numbers(cells: Sequence[str]) -> Array | None:
    """Texts of one column as plain numbers, NaN where missing; None if some are none."""
    values = _floats(cells)  # as they are: faster
    if values is None:
        values = _floats(["nan" if (text := cell.strip()) in GAPS else text for cell in cells])
    return values


def parse_plain(cells: Sequence[str]) -> Array | None:
    """Texts of one column as :func:`parse_numbers` does; None if some are neither finite nor missing."""
    values = parse_numbers(cells)
    if values is None or {cells[k].strip() for k in np.flatnonzero(~np.isfinite(values)).tolist()} <= GAPS:
        return values
    return None


def _floats(cells: Sequence[str]) -> Array | None:
    try:
        values = np.fromiter(map(float, cells), float, len(cells))
    except ValueError:
        return None
    return None if "_" in "".join(cells) else values  # which Python allows in numbers


def is_number(cell: str) -> bool:
    """Whether one cell is a plain number."""
    return _PLAIN.fullmatch(cell.strip()) is not None


def format_cell(value: Any) -> str:
    """A cell of any type as it would stand in a table; whole numbers without a point."""
    if isinstance(value, str):
        return value
    if value is None or value is np.ma.masked or type(value).__name__ in ("NAType", "NaTType"):
        return ""
    if isinstance(value, bool | np.bool_ | Decimal):
        return str(value)
    if isinstance(value, Integral):
        return str(int(value))
    if isinstance(value, Real):
        number = float(value)
        text = repr(number) if number == number else ""
        return text.removesuffix(".0") if abs(number) < 1e15 else text
    if isinstance(value, datetime):
        return value.isoformat(" ").removesuffix(" 00:00:00")
    if isinstance(value, date):
        return value.isoformat()
    if isinstance(value, bytes):
        return value.decode()
    raise ValueError(f"a cell holds a {type(value).__name__}; numbers and texts are wanted")


# ------------------------------------------------------------------------------------------- formulas

_FORMULA = re.compile(r"'*[=+\-@\t\r\n\uff1d\uff0b\uff0d\uff20]")  # also as wide as an ideograph
_SPLITS = re.compile(r'[,;"\t\r\n\v\f\x1c-\x1e\x85\u2028\u2029]')


def _escape_formula(value: Any) -> Any:
    """A field for a table: texts that a spreadsheet would run get an apostrophe before them.

    Texts that only look so quoted (an apostrophe before such a character) get one more, so that
    :func:`unescape_formula` undoes exactly this.  Numbers, also as texts, stay.
    """
    if isinstance(value, str) and _FORMULA.match(value) and not (value[0] in "+-" and is_number(value)):
        return f"'{value}"
    return value


def unescape_formula(cell: str) -> str:
    """A field as it was before :func:`_escape_formula`."""
    return cell[1:] if cell.startswith("'") and _FORMULA.match(cell) else cell


def csv_rows(rows: Iterable[Iterable[Any]]) -> Iterator[bytes]:
    """Lines of a table, each field safe."""
    for row in rows:
        yield (",".join(_encode_field(value) for value in row) + "\n").encode()


def _encode_field(value: Any) -> str:
    """A field, in quotes if it holds what ends fields or lines.

    Python's own writer leaves a carriage return as it is, which is a new line to spreadsheets.
    """
    field = str(_escape_formula(value))
    return '"' + field.replace('"', '""') + '"' if _SPLITS.search(field) else field


# --------------------------------------------------------------------------------------------------- types

_MAX_LEVELS = 50  # of a text in which more than half of the values differ
_MANY_NUMBERS = 10  # different ones that make a column numeric whatever else it holds
_N_SHOWN = 12
_SIGNED = re.compile(r"[.,]\d")  # a number that says what a comma or point means


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
        Numbers as floats (in single precision where a file declares it), truth values as bools, texts as
        objects (None = missing).
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


def infer_types(table: "RawTable", places: Sequence[int], *, only_numbers: bool = False) -> _TypedColumns:
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
        values = None if isinstance(column, str | np.ndarray) else _read_declared(column)
        if isinstance(column, np.ndarray):
            typed.columns[name] = column
            plain += [place] if table.is_plain(column) else []
        elif isinstance(values, _Fault):
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
        single = str(column.dtype).lower() == "float32"  # also where gaps are declared
        return np.asarray(column.to_numpy(dtype=np.float32 if single else float, na_value=np.nan))
    if kind == "c":
        return _Fault("strange", "", "complex numbers")
    strange = next(
        (x for x in column.tolist() if isinstance(x, list | dict | tuple | np.ndarray | bytes)), None
    )
    return None if strange is None else _Fault("strange", "", type(strange).__name__)


def _read_texts(
    table: "RawTable",
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
    grouped = [p for p in plain if comma and _could_have_comma(table.texts(p))]
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
        f"column{'' if len(alike) == 1 else 's'} {list_some(map(str, alike), _N_SHOWN)} "
        f"{'holds' if len(alike) == 1 else 'hold'} {_ADVICE[kind]}"
        for kind, alike in by_kind.items()
        if alike
    )
