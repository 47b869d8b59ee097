"""Cells of tables: which are gaps, how numbers are written, and which a spreadsheet would run as formulas.

A column is numbers where all its cells are written in one way: with decimal commas, with commas, points,
spaces or ``'`` between thousands, with a Unicode minus, all with one unit or currency (``5 kg``, ``12%``,
``$3``).  ``1,234`` is 1.234 to some and 1234 to others.  A column says which it means when it also holds
``0,5`` or ``1,234.5``; if it does not, the other columns of the table may.  Where nothing says so, it is
refused; nothing is guessed.

Tables that we write are opened in spreadsheets, which take a field that begins with ``=``, ``+``, ``-``,
``@`` or a tab for a formula and run it.  Texts of that kind (ids, class and column names come from
untrusted files) are written with an apostrophe before them, unless they are plain numbers
(:func:`_escape_formula`), and our own readers take that apostrophe off again (:func:`unescape_formula`), so
that ids are found as they were.
"""

import re
from collections.abc import Iterable, Iterator, Sequence
from datetime import date, datetime
from decimal import Decimal
from numbers import Integral, Real
from typing import Any

import numpy as np

from absentia.core import Array

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


def could_have_comma(cells: Iterable[str]) -> bool:
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
