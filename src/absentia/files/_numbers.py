"""Texts as numbers: missing values, decimal commas, thousands separators; nothing is guessed.

``1,234`` is 1.234 to some and 1234 to others.  A column says which it means when it also holds ``0,5`` or
``1,234.5``; if it does not, the other columns of the table may.  Where nothing says so, it is refused.
"""

import re
from collections.abc import Iterable, Sequence
from enum import Enum

import numpy as np

from absentia.core import Array

#: Cells that mean that a value is missing, as they are written.
MISSING = frozenset(
    ["", "NA", "N/A", "n/a", "na", "#N/A", "<NA>", "nan", "NaN", "NAN", "null", "NULL", "None", "?", "."]
)

_PLAIN = re.compile(r"[+-]?(\d+\.?\d*|\.\d+)([eE][+-]?\d+)?", re.ASCII)
_DECIMAL_COMMA = re.compile(r"[+-]?(\d+|\d*,\d+)([eE][+-]?\d+)?", re.ASCII)
_COMMA_GROUPS = re.compile(r"[+-]?\d{1,3}(,\d{3})+(\.\d*)?", re.ASCII)
_POINT_GROUPS = re.compile(r"[+-]?\d{1,3}(\.\d{3})+(,\d*)?", re.ASCII)
_EITHER = re.compile(r"[+-]?[1-9]\d{0,2}[,.]\d{3}", re.ASCII)  # 1,234 or 1.234


class Mark(Enum):
    """What a comma and a point mean in a number."""

    POINT = "1234.5"
    COMMA = "1234,5"
    COMMA_GROUPS = "1,234.5"
    POINT_GROUPS = "1.234,5"
    UNSURE = "1,234"


def numbers(cells: Sequence[str], missing: frozenset[str] = MISSING) -> Array | None:
    """Texts as numbers, NaN where missing; None if some are none.

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
