"""Labels of samples, from an array inside a data file or from a table of ids and labels."""

from __future__ import annotations

import csv
from collections.abc import Sequence
from pathlib import Path

import numpy as np

from absentia.io import FileError, is_data, keys, read_arrays
from absentia.linalg import Array
from absentia.presence import shown


def read_labels(source: str, file: Path, ids: Array) -> tuple[Array, Array]:
    """Labels of the samples `ids` of `file`, and who has one.

    `source` is the name of an array in `file`, one label per sample in order (NaN or an empty text: none),
    or a CSV file with the columns ``id`` and ``label`` (empty: none) and a line for every sample.
    """
    path = Path(source)
    if path.suffix.lower() == ".csv" or path.exists():
        return from_table(path, ids)
    arrays = read_arrays(file, lambda key: key == source)
    if not arrays:
        others = [key for key in keys(file) if not is_data(key)]
        raise FileError(
            f"{file}: holds no labels {source!r}; "
            + (f"other arrays in it are {others[:8]}; " if others else "")
            + "name one, or give a CSV file with the columns id and label"
        )
    try:
        return as_labels(arrays[source], len(ids))
    except ValueError as error:
        raise FileError(f"{file}: {source!r}: {error}") from None


def as_labels(values: Array, n: int) -> tuple[Array, Array]:
    """An array as labels, whole numbers as integers, and which of them are there."""
    if values.shape != (n,):
        raise ValueError(f"labels of shape {values.shape} for {n} samples; one for each is wanted")
    if values.dtype.kind == "U":
        values = np.char.strip(values)
        return values, values != ""
    if values.dtype.kind == "f":
        there = ~np.isnan(values)
        known = values[there]
        if not np.isfinite(known).all() or (known != np.round(known)).any():
            odd = known[~np.isfinite(known) | (known != np.round(known))][0]
            raise ValueError(f"{odd} is no class; texts or whole numbers are wanted")
        return np.where(there, values, 0.0).astype(np.int64), there
    if values.dtype.kind not in "biu":
        raise ValueError(f"labels are {values.dtype}; texts or whole numbers are wanted")
    return values, np.ones(n, bool)


def from_table(path: Path, ids: Array) -> tuple[Array, Array]:
    """Labels out of a CSV file, found by id, which is compared as text."""
    found = _table(path)
    wanted = [str(x) for x in ids.tolist()]
    missing = [x for x in wanted if x not in found]
    if missing:
        raise FileError(
            f"{path}: {len(missing)} of {len(wanted)} samples have no line: {_some(missing)}; "
            "give every sample one, with an empty label if it has none"
        )
    known = set(wanted)
    extra = [x for x in found if x not in known]
    if extra:
        raise FileError(
            f"{path}: {len(extra)} id(s) are not among the {len(wanted)} samples: {_some(extra)}; "
            "mend or remove those lines"
        )
    labels = np.array([found[x] for x in wanted], dtype=str)
    return labels, labels != ""


def _table(path: Path) -> dict[str, str]:
    if not path.is_file():
        raise FileError(f"{path}: {'is a folder' if path.is_dir() else 'no such file'}; labels are wanted")
    try:
        with path.open(newline="", encoding="utf-8-sig") as file:
            lines = [[cell.strip() for cell in line] for line in csv.reader(file, strict=True)]
    except (UnicodeDecodeError, csv.Error) as error:
        raise FileError(f"{path}: not a CSV file in UTF-8 ({error})") from None
    header = lines[0] if lines else []
    if header.count("id") != 1 or header.count("label") != 1:
        came = ", ".join(cell[:20] for cell in header[:6]) or "empty"
        raise FileError(f"{path}: the first line must name the columns id and label; it is {came}")
    a, b = header.index("id"), header.index("label")
    found: dict[str, str] = {}
    for number, line in enumerate(lines[1:], 2):
        if not any(line):
            continue
        if len(line) != len(header):
            raise FileError(f"{path}: line {number} has {len(line)} fields, the first line {len(header)}")
        if line[a] in found:
            raise FileError(f"{path}: sample {line[a]!r} has more than one line, e.g. line {number}")
        found[line[a]] = line[b]
    return found


def _some(ids: Sequence[str], most: int = 3) -> str:
    return ", ".join(shown(x) for x in ids[:most]) + (", ..." if len(ids) > most else "")
