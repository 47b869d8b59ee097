"""Texts as numbers: what a gap is, and how the numbers of a column are written; nothing is guessed.

A column is numbers where all its cells are written in one way: with decimal commas, with commas, points,
spaces or ``'`` between thousands, with a Unicode minus, all with one unit or currency (``5 kg``, ``12%``,
``$3``).  ``1,234`` is 1.234 to some and 1234 to others.  A column says which it means when it also holds
``0,5`` or ``1,234.5``; if it does not, the other columns of the table may.  Where nothing says so, it is
refused.
"""

import re
from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from enum import Enum

import numpy as np

from absentia.core import Array

#: Cells that mean that a value is missing, as they are written.
MISSING = frozenset(
    ["", "NA", "N/A", "n/a", "na", "#N/A", "<NA>", "nan", "NaN", "NAN", "null", "NULL", "None", "?", "."]
)
MANY_NUMBERS = 10  # different numbers that make a column numeric whatever else it holds

# Cells are strangers' texts of any length: no pattern may try the same characters twice.
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
class Notation:
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

    def numbers(self, cells: Sequence[str], missing: frozenset[str] = MISSING) -> Array | None:
        """Cells that are written so as numbers, NaN where missing; None if some are none."""
        own = [cell.strip() for cell in cells]
        bare = ["nan" if cell in missing else _bare(cell) for cell in own]
        return None if None in bare else _floats(pointed([x for x in bare if x is not None], self.mark))

    def __str__(self) -> str:
        words = [_MARK_WORDS[self.mark]] if self.mark in _MARK_WORDS else []
        if self.thousands:
            words.append("spaces between thousands" if self.thousands == " " else '"\'" between thousands')
        if self.minus:
            words.append("a minus that is no hyphen")
        if self.unit:
            words.append(f"{self.unit!r} left out")
        return ", ".join(words)


def find_notation(cells: Iterable[str]) -> Notation | None:
    """How numbers are written that are no plain ones throughout; None if some are none, or not alike.

    Parameters
    ----------
    cells : iterable of str
        Cells of one column without spaces around them, none of them missing.
    """
    bare, units, thousands, minus = set[str](), set[str](), set[str](), False
    for cell in set(cells):
        own = _bare(cell)
        found = _NUMBER.fullmatch(cell)
        if own is None or found is None:
            return None
        bare.add(own)
        units.add(found["before"] + (found["after"] or ""))
        thousands |= {"'" if x in _QUOTES else " " for x in found["number"] if x in _QUOTES + _SPACES}
        minus = minus or any(x in _MINUS for x in found["sign"] + found["inner"] + (found["power"] or ""))
    mark = mark_of(bare)
    if mark is None or len(units) != 1 or len(thousands) > 1:
        return None
    return Notation(mark, units.pop(), "".join(thousands), minus)


def _bare(cell: str) -> str | None:
    """A number without unit, spaces and quotes, its minus a hyphen; None if it is none."""
    found = _NUMBER.fullmatch(cell)
    if found is None or (found["sign"] and found["inner"]) or (found["before"] and found["after"]):
        return None
    number = found["number"]
    if any(x in _QUOTES + _SPACES for x in number):
        if not _GROUPED.fullmatch(number):
            return None
        number = "".join(x for x in number if x not in _QUOTES + _SPACES)
    return "".join("-" if x in _MINUS else x for x in found["sign"] + found["inner"] + number)


def is_measured(cell: str) -> bool:
    """Whether a cell is a number with something beside it (``<0.5``, ``5 kg``), and no code (``1a``)."""
    return _MEASURED.fullmatch(cell) is not None and _CODE.fullmatch(cell) is None


def numbers(cells: Sequence[str], missing: frozenset[str] = MISSING) -> Array | None:
    """Texts as plain numbers, NaN where missing; None if some are none.

    Parameters
    ----------
    cells : sequence of str
        One column.
    missing : frozenset of str
        Texts that mean that a value is missing.
    """
    found = None if any(map(is_number, missing)) else _floats(cells)  # as they are: faster
    if found is None:
        found = _floats(["nan" if (own := cell.strip()) in missing else own for cell in cells])
    return found


def _floats(cells: Sequence[str]) -> Array | None:
    try:
        found = np.fromiter(map(float, cells), float, len(cells))
    except ValueError:
        return None
    return None if "_" in "".join(cells) else found  # which Python allows in numbers


def mark_of(cells: Iterable[str]) -> Mark | None:
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


def pointed(cells: Sequence[str], mark: Mark) -> list[str]:
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
