"""Labels of samples, from an array inside a data file or from a table of ids and labels."""

from collections.abc import Sequence
from pathlib import Path

import numpy as np

from absentia.core import Array
from absentia.data import shown
from absentia.files._archive import archive
from absentia.files._errors import reading
from absentia.files._npz import is_data
from absentia.files._opening import there
from absentia.files._tables import read_table


def read_labels(source: str, file: Path, ids: Array) -> tuple[Array, Array]:
    """Labels of the samples `ids` of `file`, and who has one.

    `source` is the name of an array in `file`, one label per sample in order (NaN or an empty text: none),
    or a CSV file with the columns ``id`` and ``label`` (empty: none) and a line for every sample.
    """
    path = Path(source)
    if path.suffix.lower() == ".csv" or there(path):
        return from_table(path, ids)
    with archive(file) as members:
        if source not in members:
            others = [key for key in members if not is_data(key)]
            raise ValueError(
                f"holds no labels {source[:80]!r}; "
                + (f"other arrays in it are {others[:8]}; " if others else "")
                + "name one, or give a CSV file with the columns id and label"
            )
        try:
            return as_labels(members[source].read(), len(ids))
        except ValueError as error:
            raise ValueError(str(error) if repr(source) in str(error) else f"{source!r}: {error}") from None


def as_labels(values: Array, n: int) -> tuple[Array, Array]:
    """An array as labels, whole numbers as integers, and which of them are there."""
    if values.shape != (n,):
        raise ValueError(f"labels of shape {values.shape} for {n} samples; one for each is wanted")
    if values.dtype.kind == "U":
        values = np.char.strip(values)
        return values, values != ""
    if values.dtype.kind == "f":
        there = ~np.isnan(values)
        known = values[there].astype(float)
        whole = (np.abs(known) <= 2.0**53) & (known == np.round(known))
        if not whole.all():
            raise ValueError(f"{known[~whole][0]} is no class; texts or whole numbers are wanted")
        return np.where(there, values, 0.0).astype(np.int64), there
    if values.dtype.kind not in "biu":
        raise ValueError(f"labels are {values.dtype}; texts or whole numbers are wanted")
    return values, np.ones(n, bool)


def from_table(path: Path, ids: Array) -> tuple[Array, Array]:
    """Labels out of a CSV file, found by id, which is compared as text."""
    with reading(path):
        found = _table(path)
        wanted = [str(x) for x in ids.tolist()]
        missing = [x for x in wanted if x not in found]
        if missing:
            raise ValueError(
                f"{len(missing)} of {len(wanted)} samples have no line: {_some(missing)}; "
                "give every sample one, with an empty label if it has none"
            )
        known = set(wanted)
        extra = [x for x in found if x not in known]
        if extra:
            raise ValueError(
                f"{len(extra)} id(s) are not among the {len(wanted)} samples: {_some(extra)}; "
                "mend or remove those lines"
            )
        labels = np.array([found[x] for x in wanted], dtype=str)
    return labels, labels != ""


def _table(path: Path) -> dict[str, str]:
    found: dict[str, str] = {}
    with read_table(path, "a table of labels") as (header, rows):
        if header.count("id") != 1 or header.count("label") != 1:
            came = ", ".join(cell[:20] for cell in header[:6]) or "empty"
            raise ValueError(f"the first line must name the columns id and label; it is {came}")
        a, b = header.index("id"), header.index("label")
        for number, line in rows:
            if line[a] in found:
                raise ValueError(f"sample {shown(line[a][:80])} has more than one line, e.g. line {number}")
            found[line[a]] = line[b]
    return found


def _some(ids: Sequence[str], most: int = 3) -> str:
    return ", ".join(shown(x[:80]) for x in ids[:most]) + (", ..." if len(ids) > most else "")
