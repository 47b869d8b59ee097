"""What labels are, by what they look like: classes, numbers, survival, several labels at once."""

from collections.abc import Sequence
from typing import Literal, NamedTuple, get_args

import numpy as np

from absentia.core import Array, warn
from absentia.data import AbsenceWarning
from absentia.files._cells import (
    GAPS,
    UNSURE,
    find_decimal,
    is_measured,
    is_number,
    parse_numbers,
    parse_written,
)

Kind = Literal["classes", "numbers", "survival", "multilabel"]
MANY_CLASSES = 20  # more different whole numbers than these are numbers, not classes

_YES, _NO = ("1", "1.0", "yes", "true", "y", "t"), ("0", "0.0", "no", "false", "n", "f")


class ParsedLabels(NamedTuple):
    """What labels are, their values, one (row) for each sample, and who has them."""

    kind: Kind
    values: Array
    known: Array


def parse_targets(
    names: Sequence[str], columns: Sequence[Sequence[str]], kind: Kind | None = None
) -> ParsedLabels:
    """Columns of texts as labels.

    Parameters
    ----------
    names : sequence of str
        Names of the columns.
    columns : sequence of sequences of str
        Cells without spaces around them, one for each sample; what is in ``GAPS`` is missing.
    kind : {"classes", "numbers", "survival", "multilabel"}, optional
        What they are said to be.
    """
    if kind is not None and kind not in get_args(Kind):
        raise ValueError(f"labels cannot be {kind!r}; there are {', '.join(get_args(Kind))}")
    if kind is None:
        kind = _infer_kind(names, columns)
    wanted = {"classes": 1, "numbers": 1, "survival": 2}.get(kind, len(columns))
    if len(columns) != wanted:
        raise ValueError(
            f"{len(columns)} columns ({', '.join(names[:5])}) cannot be {kind}; {wanted} "
            f"{'is' if wanted == 1 else 'are'} wanted"
        )
    if kind == "classes":
        return ParsedLabels(kind, *_parse_classes(columns[0]))
    if kind == "numbers":
        values = _parse_column(names[0], columns[0])
        return ParsedLabels(kind, values, ~np.isnan(values))
    if kind == "survival":
        values = np.column_stack(
            [_parse_times(names[0], columns[0]), _parse_yes_or_no(names[1], columns[1])]
        )
        return ParsedLabels(kind, values, np.asarray(~np.isnan(values).any(axis=1)))
    values = np.column_stack([_parse_yes_or_no(*pair) for pair in zip(names, columns, strict=True)])
    return ParsedLabels(kind, values, np.asarray(~np.isnan(values).all(axis=1)))


def parse_label_array(values: Array, n: int, kind: Kind | None = None) -> ParsedLabels:
    """An array as labels of `n` samples, whole numbers as integers."""
    if values.shape != (n,):
        raise ValueError(f"labels of shape {values.shape} for {n} samples; one for each is wanted")
    if values.dtype.kind == "U":
        return parse_targets(("",), [[cell.strip() for cell in values.tolist()]], kind or "classes")
    if values.dtype.kind not in "biuf":
        raise ValueError(f"labels are {values.dtype}; texts or numbers are wanted")
    known = values == values
    numbers = values[known].astype(float)
    odd = numbers[(np.abs(numbers) > 2.0**53) | (numbers != np.round(numbers))]
    if kind == "numbers" or (kind is None and (len(odd) or len(np.unique(numbers)) > MANY_CLASSES)):
        return ParsedLabels("numbers", values.astype(float), known)
    if len(odd):
        raise ValueError(f"{odd[0]} is no class; texts or whole numbers are wanted")
    if kind not in (None, "classes"):
        raise ValueError(f"one array cannot be {kind}; name columns of a table as FILE:COLUMN,COLUMN")
    codes = np.where(known, values, 0).astype(np.int64) if values.dtype.kind == "f" else values
    return ParsedLabels("classes", codes, known)


def _infer_kind(names: Sequence[str], columns: Sequence[Sequence[str]]) -> Kind:
    if len(columns) == 1:
        cells = {cell for cell in columns[0] if cell not in GAPS}
        values, _ = _parse_cells(names[0], list(cells))
        measured = {cell for cell in cells if is_measured(cell)}
        if values is None and len(measured) > max(MANY_CLASSES, len(cells) / 2):
            odd = min(cell for cell in cells if not is_number(cell))
            raise ValueError(
                f"column {names[0]!r} holds numbers with something else among them, e.g. {odd[:40]!r}; "
                "write numbers, in one way, and leave cells empty where there is none"
            )
        if values is None or not cells:
            return "classes"
        return "classes" if len(set(values.tolist())) <= MANY_CLASSES and _is_whole(values) else "numbers"
    if len(columns) == 2:
        if [name.lower() for name in names] == ["time", "event"]:
            return "survival"
        first, second = ({cell.lower() for cell in column if cell not in GAPS} for column in columns)
        if (
            second <= {*_YES, *_NO}
            and not first <= {*_YES, *_NO}
            and _parse_cells(names[0], list(first))[0] is not None
        ):
            return "survival"
    return "multilabel"


def _parse_cells(name: str, cells: Sequence[str]) -> tuple[Array | None, str]:
    """Cells as numbers, None if some are none, and one of them if they are not written plainly."""
    values = parse_numbers(cells)
    sign = find_decimal(set(cells) - GAPS) if values is None else None
    if sign is None:
        return values, ""
    odd = min(cell for cell in cells if cell not in GAPS)
    if sign == UNSURE:
        odd = min(cell for cell in cells if "," in cell)
        raise ValueError(
            f"column {name!r} holds numbers such as {odd[:40]!r}, which may be {odd.replace(',', '')[:40]} "
            f"or {odd.replace(',', '.')[:40]}; write them without thousands separators and with a point"
        )
    return parse_written(cells, sign), f"{odd[:40]!r} as {parse_written([odd], sign)[0]:.10g}"


def _is_whole(values: Array) -> bool:
    return bool((np.isfinite(values) & (values == np.round(values))).all())


def _parse_classes(cells: Sequence[str]) -> tuple[Array, Array]:
    """Classes as texts; whole numbers that something made floats of are whole again."""
    there = [cell for cell in cells if cell not in GAPS]
    whole = all(map(is_number, there)) and _is_whole(np.array(there, dtype=float))
    if whole and any("." in cell for cell in there):
        cells = [cell if cell in GAPS else str(int(float(cell))) for cell in cells]
    texts = np.array(["" if cell in GAPS else cell for cell in cells], dtype=str)
    return texts, texts != ""


def _parse_column(name: str, cells: Sequence[str]) -> Array:
    values, written = _parse_cells(name, cells)
    if written:
        warn(f"labels {name!r} are read as numbers: {written}", AbsenceWarning)
    if values is None or np.isinf(values).any():
        bad = next(cell for cell in cells if cell not in GAPS and not is_number(cell))
        raise ValueError(f"column {name!r} is to be numbers, and {bad[:40]!r} is none; mend or empty it")
    return values


def _parse_times(name: str, cells: Sequence[str]) -> Array:
    values = _parse_column(name, cells)
    if (values < 0).any():
        raise ValueError(f"column {name!r} holds {np.nanmin(values):g}; times are not negative")
    return values


def _parse_yes_or_no(name: str, cells: Sequence[str]) -> Array:
    """1, 0 and NaN."""
    codes = {**dict.fromkeys(_YES, 1.0), **dict.fromkeys(_NO, 0.0)}
    bad = next((cell for cell in cells if cell not in GAPS and cell.lower() not in codes), None)
    if bad is not None:
        raise ValueError(
            f"column {name!r} holds {bad[:40]!r}; of several labels each is 1, 0 or empty, and of survival "
            "(time,event) so is the event"
        )
    return np.array([np.nan if cell in GAPS else codes[cell.lower()] for cell in cells], dtype=float)
