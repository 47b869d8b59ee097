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
from dataclasses import dataclass
from datetime import date, datetime
from enum import Enum
from numbers import Integral, Real
from typing import Any

import numpy as np

from absentia.core import Array

#: Cells that mean that a value is missing, as they are written.
GAPS = frozenset(
    ["", "NA", "N/A", "n/a", "na", "#N/A", "<NA>", "nan", "NaN", "NAN", "null", "NULL", "None", "?", "."]
)

# Cells are untrusted texts of any length: no pattern may try the same characters twice.
_PLAIN = re.compile(r"[+-]?(\d++(\.\d*+)?|\.\d++)([eE][+-]?\d++)?", re.ASCII)
_DECIMAL_COMMA = re.compile(r"[+-]?(\d*+,\d++|\d++)([eE][+-]?\d++)?", re.ASCII)
_COMMA_GROUPS = re.compile(r"[+-]?\d{1,3}(,\d{3})++(\.\d*+)?", re.ASCII)
_POINT_GROUPS = re.compile(r"[+-]?\d{1,3}(\.\d{3})++(,\d*+)?", re.ASCII)
_EITHER = re.compile(r"[+-]?[1-9]\d{0,2}[,.]\d{3}", re.ASCII)  # 1,234 or 1.234

_MINUS = "−‒–﹣－"  # which are no hyphens
_QUOTES, _SPACES = "'’", " \u00a0\u2007\u2009\u202f"
_MONEY = "$€£¥¢₣₤₩₪₫₱₹₺₽"
_WRITTEN = (
    rf"(?P<sign>[-+{_MINUS}]?+)(?P<before>[{_MONEY}]?+)[{_SPACES}]?+(?P<inner>[-+{_MINUS}]?+)"
    rf"(?P<number>(?:[0-9]++(?:[.,{_QUOTES}{_SPACES}][0-9]++)*+[.,]?+|[.,][0-9]++)"
    rf"(?P<power>[eE][-+{_MINUS}]?+[0-9]++)?+)"
    rf"[{_SPACES}]?+(?P<after>[%‰°{_MONEY}]|°?+[^\W\d_][\w/·*^%.-]{{0,11}}+)?+"
)
_NUMBER = re.compile(_WRITTEN)
_GROUPED = re.compile(rf"[0-9]{{1,3}}(?:[{_QUOTES}{_SPACES}][0-9]{{3}})++(?:[.,][0-9]*+)?+")
#: A number with a limit or an error too: <0.5, 0.4±0.1.
_MEASURED = re.compile(rf"[<>~≤≥]?+=?+\s*+{_WRITTEN}(?:\s*+±.*+)?+")
_CODE = re.compile(r"[0-9]{1,2}[^\W\d_]")  # 1a, 2b


class Mark(Enum):
    """What a comma and a point mean in a number."""

    POINT = "1234.5"
    COMMA = "1234,5"
    COMMA_GROUPS = "1,234.5"
    POINT_GROUPS = "1.234,5"
    UNSURE = "1,234"


_MARK_WORDS = {
    Mark.COMMA: "decimal commas",
    Mark.COMMA_GROUPS: "commas between thousands",
    Mark.POINT_GROUPS: "points between thousands and decimal commas",
}


@dataclass(frozen=True)
class _Notation:
    """How the numbers of a column are written.

    Attributes
    ----------
    mark : Mark
        What a comma and a point mean.
    unit : str
        What stands before or after every number.
    thousands : str
        What stands between thousands, if it is neither comma nor point.
    minus : bool
        Whether the minus of some is no hyphen.
    """

    mark: Mark = Mark.POINT
    unit: str = ""
    thousands: str = ""
    minus: bool = False

    def parse(self, cells: Sequence[str], missing: frozenset[str] = GAPS) -> Array | None:
        """Cells that are written so as numbers, NaN where missing; None if some are none."""
        texts = [cell.strip() for cell in cells]
        bare = ["nan" if cell in missing else _strip_unit(cell) for cell in texts]
        if None in bare:
            return None
        return _floats(_with_decimal_point([x for x in bare if x is not None], self.mark))

    def __str__(self) -> str:
        words = [_MARK_WORDS[self.mark]] if self.mark in _MARK_WORDS else []
        if self.thousands:
            words.append("spaces between thousands" if self.thousands == " " else '"\'" between thousands')
        if self.minus:
            words.append("a minus that is no hyphen")
        if self.unit:
            words.append(f"{self.unit!r} left out")
        return ", ".join(words)


def find_notation(cells: Iterable[str]) -> _Notation | None:
    """How numbers are written that are no plain ones throughout; None if some are none, or not alike.

    Parameters
    ----------
    cells : iterable of str
        Cells of one column without spaces around them, none of them missing.
    """
    bare, units, thousands, minus = set[str](), set[str](), set[str](), False
    for cell in set(cells):
        number, match = _strip_unit(cell), _NUMBER.fullmatch(cell)
        if number is None or match is None:
            return None
        bare.add(number)
        units.add(match["before"] + (match["after"] or ""))
        thousands |= {"'" if x in _QUOTES else " " for x in match["number"] if x in _QUOTES + _SPACES}
        minus = minus or any(x in _MINUS for x in match["sign"] + match["inner"] + (match["power"] or ""))
    mark = _find_mark(bare)
    if mark is None or len(units) != 1 or len(thousands) > 1:
        return None
    return _Notation(mark, units.pop(), "".join(thousands), minus)


def _strip_unit(cell: str) -> str | None:
    """A number without unit, spaces and quotes, its minus a hyphen; None if it is none."""
    match = _NUMBER.fullmatch(cell)
    if match is None or (match["sign"] and match["inner"]) or (match["before"] and match["after"]):
        return None
    number = match["number"]
    if any(x in _QUOTES + _SPACES for x in number):
        if not _GROUPED.fullmatch(number):
            return None
        number = "".join(x for x in number if x not in _QUOTES + _SPACES)
    return "".join("-" if x in _MINUS else x for x in match["sign"] + match["inner"] + number)


def is_measured(cell: str) -> bool:
    """Whether a cell is a number with something beside it (``<0.5``, ``5 kg``), and no code (``1a``)."""
    return _MEASURED.fullmatch(cell) is not None and _CODE.fullmatch(cell) is None


def parse_numbers(cells: Sequence[str], missing: frozenset[str] = GAPS) -> Array | None:
    """Texts as plain numbers, NaN where missing; None if some are none.

    Parameters
    ----------
    cells : sequence of str
        One column.
    missing : frozenset of str
        Texts that mean that a value is missing.
    """
    values = None if any(map(is_number, missing)) else _floats(cells)  # as they are: faster
    if values is None:
        values = _floats(["nan" if (text := cell.strip()) in missing else text for cell in cells])
    return values


def _floats(cells: Sequence[str]) -> Array | None:
    try:
        values = np.fromiter(map(float, cells), float, len(cells))
    except ValueError:
        return None
    return None if "_" in "".join(cells) else values  # which Python allows in numbers


def _find_mark(cells: Iterable[str]) -> Mark | None:
    """What commas and points mean in cells that are no plain numbers throughout; None if they are none.

    Parameters
    ----------
    cells : iterable of str
        Cells of one column, none of them missing.
    """
    cells = set(cells)
    if all(map(_PLAIN.fullmatch, cells)):
        return Mark.POINT
    commas = {cell for cell in cells if "," in cell}
    points = {cell for cell in cells if "." in cell}
    if not points and all(map(_DECIMAL_COMMA.fullmatch, cells)):
        return Mark.UNSURE if all(map(_EITHER.fullmatch, commas)) else Mark.COMMA
    if all(_COMMA_GROUPS.fullmatch(c) for c in commas) and all(map(_PLAIN.fullmatch, cells - commas)):
        return Mark.COMMA_GROUPS
    if all(_POINT_GROUPS.fullmatch(c) for c in points) and all(
        map(_DECIMAL_COMMA.fullmatch, cells - points)
    ):
        return Mark.POINT_GROUPS
    return None


def _with_decimal_point(cells: Sequence[str], mark: Mark) -> list[str]:
    """The cells with a point for the decimals and nothing between thousands."""
    if mark is Mark.COMMA_GROUPS:
        return [cell.replace(",", "") for cell in cells]
    if mark in (Mark.COMMA, Mark.POINT_GROUPS):
        return [cell.replace(".", "").replace(",", ".") for cell in cells]
    return list(cells)


def is_number(cell: str) -> bool:
    """Whether one cell is a plain number."""
    return _PLAIN.fullmatch(cell.strip()) is not None


def looks_grouped(cells: Iterable[str]) -> bool:
    """Whether every cell with a point could be a number of thousands: ``1.234``."""
    with_points = [cell for cell in map(str.strip, cells) if "." in cell and len(cell) > 1]
    return bool(with_points) and all(map(_EITHER.fullmatch, with_points))


def format_cell(value: Any) -> str:
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
