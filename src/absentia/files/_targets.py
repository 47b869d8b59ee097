"""What labels are, by what they look like: classes, numbers, survival, several labels at once."""

from collections.abc import Sequence
from typing import Literal, get_args

import numpy as np

from absentia.core import Array, warn
from absentia.data import AbsenceWarning
from absentia.files._numbers import MISSING, Mark, find_notation, is_measured, is_number, numbers

Kind = Literal["classes", "numbers", "survival", "multilabel"]
MOST_CLASSES = 20  # that whole numbers can be

_YES, _NO = ("1", "1.0", "yes", "true", "y", "t"), ("0", "0.0", "no", "false", "n", "f")


def targets(
    names: Sequence[str], columns: Sequence[Sequence[str]], kind: Kind | None = None
) -> tuple[Kind, Array, Array]:
    """What the columns are, their values, and who has them.

    Parameters
    ----------
    names : sequence of str
        Names of the columns.
    columns : sequence of sequences of str
        Cells without spaces around them, one for each sample; what is in ``MISSING`` is missing.
    kind : {"classes", "numbers", "survival", "multilabel"}, optional
        What they are said to be.
    """
    if kind is not None and kind not in get_args(Kind):
        raise ValueError(f"labels cannot be {kind!r}; there are {', '.join(get_args(Kind))}")
    if kind is None:
        kind = _found(names, columns)
    wanted = {"classes": 1, "numbers": 1, "survival": 2}.get(kind, len(columns))
    if len(columns) != wanted:
        raise ValueError(
            f"{len(columns)} columns ({', '.join(names[:5])}) cannot be {kind}; {wanted} "
            f"{'is' if wanted == 1 else 'are'} wanted"
        )
    if kind == "classes":
        return kind, *_classes(columns[0])
    if kind == "numbers":
        values = _numbers(names[0], columns[0])
        return kind, values, ~np.isnan(values)
    if kind == "survival":
        values = np.column_stack([_times(names[0], columns[0]), _yes_or_no(names[1], columns[1])])
        return kind, values, np.asarray(~np.isnan(values).any(axis=1))
    values = np.column_stack([_yes_or_no(*pair) for pair in zip(names, columns, strict=True)])
    return kind, values, np.asarray(~np.isnan(values).all(axis=1))


def _found(names: Sequence[str], columns: Sequence[Sequence[str]]) -> Kind:
    if len(columns) == 1:
        cells = {cell for cell in columns[0] if cell not in MISSING}
        found, _ = _read(names[0], list(cells))
        measured = {cell for cell in cells if is_measured(cell)}
        if found is None and len(measured) > max(MOST_CLASSES, len(cells) / 2):
            odd = min(cell for cell in cells if not is_number(cell))
            raise ValueError(
                f"column {names[0]!r} holds numbers with something else among them, e.g. {odd[:40]!r}; "
                "write numbers, in one way, and leave cells empty where there is none"
            )
        if found is None or not cells:
            return "classes"
        return "classes" if len(set(found.tolist())) <= MOST_CLASSES and _whole(found) else "numbers"
    if len(columns) == 2:
        if [name.lower() for name in names] == ["time", "event"]:
            return "survival"
        first, second = ({cell.lower() for cell in column if cell not in MISSING} for column in columns)
        if (
            second <= {*_YES, *_NO}
            and not first <= {*_YES, *_NO}
            and _read(names[0], list(first))[0] is not None
        ):
            return "survival"
    return "multilabel"


def _read(name: str, cells: Sequence[str]) -> tuple[Array | None, str]:
    """Cells as numbers, None if some are none, and how they are written if not plainly."""
    values = numbers(cells)
    notation = find_notation(set(cells) - MISSING) if values is None else None
    if notation is None:
        return values, ""
    if notation.mark is Mark.UNSURE:
        odd = min(cell for cell in cells if "," in cell)
        raise ValueError(
            f"column {name!r} holds numbers such as {odd[:40]!r}, which may be {odd.replace(',', '')[:40]} "
            f"or {odd.replace(',', '.')[:40]}; write them without thousands separators and with a point"
        )
    return notation.numbers(cells), str(notation)


def _whole(found: Array) -> bool:
    return bool((np.isfinite(found) & (found == np.round(found))).all())


def _classes(cells: Sequence[str]) -> tuple[Array, Array]:
    """Classes as texts; whole numbers that something made floats of are whole again."""
    there = [cell for cell in cells if cell not in MISSING]
    whole = all(map(is_number, there)) and _whole(np.array(there, dtype=float))
    if whole and any("." in cell for cell in there):
        cells = [cell if cell in MISSING else str(int(float(cell))) for cell in cells]
    texts = np.array(["" if cell in MISSING else cell for cell in cells], dtype=str)
    return texts, texts != ""


def _numbers(name: str, cells: Sequence[str]) -> Array:
    values, written = _read(name, cells)
    if written:
        warn(f"labels {name!r} are read as numbers: {written}", AbsenceWarning)
    if values is None or np.isinf(values).any():
        bad = next(cell for cell in cells if cell not in MISSING and not is_number(cell))
        raise ValueError(f"column {name!r} is to be numbers, and {bad[:40]!r} is none; mend or empty it")
    return values


def _times(name: str, cells: Sequence[str]) -> Array:
    values = _numbers(name, cells)
    if (values < 0).any():
        raise ValueError(f"column {name!r} holds {np.nanmin(values):g}; times are not negative")
    return values


def _yes_or_no(name: str, cells: Sequence[str]) -> Array:
    """1, 0 and NaN."""
    codes = {**dict.fromkeys(_YES, 1.0), **dict.fromkeys(_NO, 0.0)}
    bad = next((cell for cell in cells if cell not in MISSING and cell.lower() not in codes), None)
    if bad is not None:
        raise ValueError(
            f"column {name!r} holds {bad[:40]!r}; of several labels each is 1, 0 or empty, and of survival "
            "(time,event) so is the event"
        )
    return np.array([np.nan if cell in MISSING else codes[cell.lower()] for cell in cells], dtype=float)
