"""The one way out: an .npz file, or a folder with a CSV file for each view.

The tables of a folder have the ids in the first column and a line for each sample that has the view; R
takes them with ``read.csv(file, row.names = 1)``, and :func:`absentia.read` takes the folder.
"""

import csv
import os
import re
from collections.abc import Iterator
from functools import partial
from pathlib import Path
from typing import Any, BinaryIO

import numpy as np

from absentia.data import KernelViews, Views, check_unique_ids
from absentia.files._archive import list_keys
from absentia.files._base import FileError, PathLike, feature_names, file_errors, write_atomically
from absentia.files._cells import csv_rows
from absentia.files._formats import is_table
from absentia.files._frames import LABEL_NAMES, view_name
from absentia.files._npz import write_npz

_FILE_NAME = re.compile(r"[\w()+=,@ -][\w()+=,@ .-]{0,180}")
_ROWS = 256  # of a table that are made at a time


def write(path: PathLike, data: Views | KernelViews, **extra: Any) -> Path:
    """Write Views or square KernelViews, whole or not at all; names of features go with them.

    Parameters
    ----------
    path : path-like
        An .npz file; or, for Views, a folder (no ending, or a slash at the end), in which each view becomes
        a CSV file.
    data : Views or KernelViews
        What to write.
    **extra : array-like
        Further arrays for an .npz file.
    """
    text, path = os.fspath(path), Path(path)
    if text.endswith(("/", os.sep)) or not path.suffix or path.is_dir():
        with file_errors(path):
            if extra:
                raise ValueError(f"{', '.join(extra)} can only be written to an .npz file; name one")
            return _write_folder(path, data)
    if path.suffix.lower() != ".npz":
        raise FileError(f"{path}: data are written to an .npz file or to a folder; give it such a name")
    return write_npz(path, data, **extra)


# ------------------------------------------------------------------------------------ what was written

_PAGE = b'<meta name="generator" content="absentia">'
_HEAD = 4096  # bytes of a file that show what it is
#: Arrays that only a completed set of kernels, or a completed matrix, has beside one another.
_COMPLETED = ({"mask_before", "method"}, {"std", "observed", "method"})


def is_own_file(path: Path, deviations: Path | None = None) -> bool:
    """Whether absentia wrote a file, by what stands in it: a page, a model, a completion or predictions.

    Parameters
    ----------
    path : Path
        The file.
    deviations : Path, optional
        Where its standard deviations would be, if it is a completed matrix.
    """
    kind = path.suffix.lower()
    if deviations is not None and _is_matrix_pair(path, deviations):
        return True
    try:
        if kind in (".npz", ".absentia"):
            held = set(list_keys(path))
            return "model" in held or any(own <= held for own in _COMPLETED)
        if kind in (".h5ad", ".h5mu"):
            import h5py

            with h5py.File(path, "r") as file:
                return any(name.startswith("absentia_") for name in file["obs"])
        with open(path, "rb") as file:
            head = file.read(_HEAD)
    except (OSError, ValueError, KeyError, ImportError):
        return False
    if kind == ".html":
        return _PAGE in head
    line, end, _ = head.partition(b"\n")
    told = line.startswith((b"id,predicted,", b"id,risk,")) and b",view=" in line
    return kind == ".csv" and told and (not end or line.rstrip().endswith(b",flag"))


def _is_matrix_pair(values: Path, deviations: Path) -> bool:
    """Whether two tables are a completed matrix and its standard deviations, 0 where it was observed."""
    try:
        with open(values, newline="") as file, open(deviations, newline="") as beside:
            lines, own = list(csv.reader(file)), list(csv.reader(beside))
            below = [float(cell) for line in own[1:] for cell in line[1:]]
    except (OSError, ValueError, csv.Error):
        return False
    alike = [line[:1] for line in lines] == [line[:1] for line in own] and lines[:1] == own[:1]
    return alike and min(below, default=-1.0) == 0.0


def _write_folder(path: Path, data: Views | KernelViews) -> Path:
    if not isinstance(data, Views):
        raise ValueError("kernels are written to an .npz file; name one")
    check_unique_ids(data.ids, "ids")
    _check_folder(path, data)
    path.mkdir(exist_ok=True)
    for name in data.names:
        write_atomically(path / f"{name}.csv", partial(_save_view, data, name))
    return path


def _save_view(data: Views, name: str, file: BinaryIO) -> None:
    file.writelines(csv_rows(_format_rows(data, name)))


def _check_folder(path: Path, data: Views) -> None:
    """Before anything is written: whether what will be there is what was written."""
    for name in data.names:
        if not _FILE_NAME.fullmatch(name) or name.endswith((" ", ".")):
            raise ValueError(f"a view named {name!r} cannot be a file; rename it, or write an .npz file")
        if LABEL_NAMES.fullmatch(name):
            raise ValueError(f"a view named {name!r} would be taken for labels in a folder; rename it")
    lower = [name.lower() for name in data.names]
    if len(set(lower)) < len(lower):
        raise ValueError("names of views differ only in case, which files may not; write an .npz file")
    if not path.parent.is_dir():
        raise ValueError(f"the folder {path.parent} does not exist")
    if path.exists() and not path.is_dir():
        raise ValueError("is there and no folder; give another name")
    others = [file.name for file in path.iterdir() if is_table(file)] if path.is_dir() else []
    others = [
        name for name in others if view_name(Path(name)) not in data.names or not name.endswith(".csv")
    ]
    if others:
        raise ValueError(
            f"is a folder that holds other tables, e.g. {sorted(others)[0]}, which would be read as views; "
            "give a new folder"
        )


def _format_rows(data: Views, name: str) -> Iterator[list[Any]]:
    columns, levels = feature_names(data, name), data.levels(name)
    corner = next(word for word in ("id", "sample", "ids_of_samples") if word not in columns)
    yield [corner, *columns]
    coded = [(place, levels[column]) for place, column in enumerate(columns) if column in levels]
    having = np.flatnonzero(data.observed[:, data.names.index(name)])
    for start in range(0, len(having), _ROWS):
        rows = having[start : start + _ROWS]
        for sample, values in zip(data.ids[rows].tolist(), data.padded(name, rows).tolist(), strict=True):
            cells: list[Any] = [repr(x).removesuffix(".0") if x == x else "NA" for x in values]
            for place, texts in coded:
                if values[place] == values[place]:
                    cells[place] = texts[int(values[place])]
            yield [str(sample), *cells]
