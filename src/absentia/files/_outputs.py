"""What absentia writes: data, and fitted models as one ``.npz`` of plain arrays and one text.

Data go to an ``.npz`` file or to a folder with a CSV file for each view, kernels also to MATLAB's files.
A CSV file has the ids in the first column and a line for each sample that has the view; R reads it with
``read.csv(file, row.names = 1)``, and :func:`absentia.read` reads the folder.

A model's file is never a pickle, never code.  All of it is in ``docs/models.md``; in short:

``model``
    JSON: ``format`` and ``version``, ``made`` (with what), ``about`` (whatever the writer had to say),
    ``tree`` (the model: attributes by name; ``{"is": "array", "number": "3"}`` stands for the array of that
    name) and ``checksum``, SHA-256 of the tree, of what is said about it and of every array.
``0``, ``1``, ...
    The arrays.

A file that was damaged or changed is refused by its checksum.  What the tree may hold, and that nothing in
it is ever imported or called, is in :func:`absentia.core.deserialize`.
"""

import hashlib
import json
import math
import os
import re
import zipfile
from collections.abc import Iterator, Mapping, Sequence
from operator import methodcaller
from pathlib import Path
from typing import Any

import numpy as np
import sklearn

from absentia import __version__
from absentia.core import Array, Serialized, raw_bytes
from absentia.data import KernelViews, Views, check_unique_ids
from absentia.files._archive import list_keys, open_archive, write_arrays
from absentia.files._base import (
    FileError,
    PathLike,
    feature_names,
    file_errors,
    one_line,
    open_regular,
    write_atomically,
)
from absentia.files._columns import csv_rows
from absentia.files._frames import LABEL_NAMES
from absentia.files._mat import COMPLETED_MARK, write_mat
from absentia.files._npz import write_npz
from absentia.files._tables import is_table

#: Names of views that every system allows as names of files.
_FILE_NAME = re.compile(r"[\w()+=,@ -][\w()+=,@ .-]{0,180}")
_PLAN_HEADER = b"id,view,batch,cost,gain,gain per cost,"
_CHUNK_ROWS = 256  # rows of a view that are made text at a time


def write(path: PathLike, data: Views | KernelViews, **extra: Any) -> Path:
    """Write Views or square KernelViews with ids and names of features, each file whole or not at all.

    Parameters
    ----------
    path : path-like
        An .npz file; for KernelViews also MATLAB's .mat (version 5: ``KH``, ``ids``, ``names``,
        ``observed``); for Views also a folder (no ending, or a slash at the end), in which each view
        becomes a CSV file.
    data : Views or KernelViews
        The data to write.
    **extra : array-like
        Further arrays for a file, by name.

    Returns
    -------
    Path
        The file or folder.

    Examples
    --------
    >>> import tempfile
    >>> from absentia import datasets, read, write
    >>> views = datasets.load_digit_views(n_samples=20).views
    >>> with tempfile.TemporaryDirectory() as folder:
    ...     read(write(f"{folder}/digits.npz", views)).shape == views.shape
    True
    """
    text, path = os.fspath(path), Path(path)
    if text.endswith(("/", os.sep)) or not path.suffix or path.is_dir():
        with file_errors(path):
            if extra:
                raise ValueError(f"{', '.join(extra)} can only be written to an .npz file; name one")
            return _write_folder(path, data)
    if path.suffix.lower() == ".mat":
        return write_mat(path, data, **extra)
    if path.suffix.lower() != ".npz":
        raise FileError(
            f"{path}: data are written to an .npz file or to a folder, kernels also to a .mat file; "
            "give it such a name"
        )
    return write_npz(path, data, **extra)


def _write_folder(path: Path, data: Views | KernelViews) -> Path:
    """Write each view to ``path / "<view>.csv"``, or raise before anything is written."""
    if not isinstance(data, Views):
        raise ValueError("kernels are written to an .npz file; name one")
    check_unique_ids(data.ids, "ids")
    _check_view_names(data.names)
    _check_folder(path, [f"{name}.csv" for name in data.names])
    path.mkdir(exist_ok=True)
    for name in data.names:
        rows = csv_rows(_format_rows(data, name))
        write_atomically(path / f"{name}.csv", methodcaller("writelines", rows))
    return path


def _check_view_names(names: Sequence[str]) -> None:
    """Refuse names that cannot be those of files, or would be read back as something else."""
    for name in names:
        if not _FILE_NAME.fullmatch(name) or name.endswith((" ", ".")):
            raise ValueError(f"a view named {name!r} cannot be a file; rename it, or write an .npz file")
        if LABEL_NAMES.fullmatch(name):
            raise ValueError(f"a view named {name!r} would be taken for labels in a folder; rename it")
    if len({name.lower() for name in names}) < len(names):
        raise ValueError("names of views differ only in case, which files may not; write an .npz file")


def _check_folder(path: Path, file_names: Sequence[str]) -> None:
    """Refuse a folder that cannot be made, or that holds tables beside the files to be written."""
    if not path.parent.is_dir():
        raise ValueError(f"the folder {path.parent} does not exist")
    if not path.exists():
        return
    if not path.is_dir():
        raise ValueError("is there and no folder; give another name")
    foreign = sorted(file.name for file in path.iterdir() if is_table(file) and file.name not in file_names)
    if foreign:
        raise ValueError(
            f"is a folder that holds other tables, e.g. {foreign[0]}, which would be read as views; "
            "give a new folder"
        )


def _format_rows(data: Views, name: str) -> Iterator[list[str]]:
    """The header, then the id and the values of each sample that has the view; missing values are NA."""
    columns, levels = feature_names(data, name), data.levels(name)
    id_column = next(word for word in ("id", "sample", "ids_of_samples") if word not in columns)
    yield [id_column, *columns]
    level_names = [(j, levels[column]) for j, column in enumerate(columns) if column in levels]
    present = np.flatnonzero(data.observed[:, data.names.index(name)])
    for start in range(0, len(present), _CHUNK_ROWS):
        rows = present[start : start + _CHUNK_ROWS]
        for sample, values in zip(data.ids[rows].tolist(), data.padded(name, rows).tolist(), strict=True):
            cells = ["NA" if math.isnan(value) else repr(value).removesuffix(".0") for value in values]
            for j, texts in level_names:  # a category is held as the number of its level
                if not math.isnan(values[j]):
                    cells[j] = texts[int(values[j])]
            yield [str(sample), *cells]


# ------------------------------------------------------------------------------------ what absentia wrote

_HTML_MARK = b'<meta name="generator" content="absentia">'
_HEAD_BYTES = 4096  # the part of a file that is read to tell what it is
#: Names of arrays that only completed kernels (the first set) or a completed matrix (the second) have.
_COMPLETED_KEYS = ({"mask_before", "method"}, {"std", "observed", "method"})


def is_written_by_absentia(path: Path) -> bool:
    """Whether a file is a page, model, completion, predictions or plan of absentia, judged by its content.

    Data that :func:`write` wrote are not among these: they are the user's.

    Parameters
    ----------
    path : Path
        The file.
    """
    suffix = path.suffix.lower()
    try:
        if suffix in (".npz", ".absentia"):
            keys = set(list_keys(path))
            return "model" in keys or any(completed_keys <= keys for completed_keys in _COMPLETED_KEYS)
        if suffix in (".h5ad", ".h5mu"):
            import h5py

            with h5py.File(path, "r") as file:
                return any(name.startswith("absentia_") for name in file["obs"])
        with open(path, "rb") as file:
            head = file.read(_HEAD_BYTES)
    except (OSError, ValueError, KeyError, ImportError):
        return False
    if suffix == ".mat":
        return head.startswith(COMPLETED_MARK)
    if suffix == ".html":
        return _HTML_MARK in head
    return suffix == ".csv" and (_is_header_of_predictions(head) or head.startswith(_PLAN_HEADER))


def _is_header_of_predictions(head: bytes) -> bool:
    """Whether a table begins with the columns of predictions: id, predicted or risk, view=..., flag."""
    header, newline, _ = head.partition(b"\n")
    begins = header.startswith((b"id,predicted,", b"id,risk,")) and b",view=" in header
    return begins and (not newline or header.rstrip().endswith(b",flag"))  # no newline: a header cut short


# -------------------------------------------------------------------------------------------------- models

_FORMAT, _VERSION = "absentia model", 2
_MAX_DESCRIPTION = 64_000_000
#: How gzip, zlib, bzip2 and xz begin, in which joblib puts its pickles.
_COMPRESSED = (b"\x1f\x8b", b"x\x01", b"x^", b"x\x9c", b"x\xda", b"BZ", b"\xfd7")


def write_state(path: PathLike, state: Serialized, about: Mapping[str, Any]) -> Path:
    """Write a model's state, whole or not at all."""
    description = {
        "format": _FORMAT,
        "version": _VERSION,
        "made": {"absentia": __version__, "numpy": np.__version__, "scikit-learn": sklearn.__version__},
        "about": _as_json(about),
        "tree": state.tree,
    }
    description["checksum"] = _checksum(description, state.arrays)
    text = json.dumps(description, allow_nan=False)
    return write_arrays(path, {"model": text, **state.arrays})


def _as_json(about: Mapping[str, Any]) -> Any:
    """What is said about a model, as a file has it."""
    try:
        return json.loads(json.dumps(dict(about), allow_nan=False))
    except (TypeError, ValueError) as error:
        raise TypeError(
            f"about holds what JSON cannot: {one_line(error)}; give numbers and texts"
        ) from None


def holds_model(path: PathLike) -> bool:
    """Whether a file is a model, whole or damaged; False for what is no archive at all."""
    try:
        with open_archive(path) as members:
            return "model" in members
    except FileError:
        return False


def read_state(path: PathLike) -> tuple[Serialized, dict[str, Any]]:
    """The state of a model, and the rest of its description: ``version``, ``made``, ``about``.

    A :class:`FileError` says what is wrong with a file that is no model.
    """
    _refuse_pickle(path)
    if not zipfile.is_zipfile(path):
        raise FileError(
            f"{path}: is no model of absentia, or only a part of one; get it anew, or make one with "
            "absentia fit"
        )
    with open_archive(path) as members:
        if "model" not in members:
            held = sorted(members)[:8] or "nothing"
            raise FileError(
                f"{path}: holds no model but {held}; make one with absentia fit or absentia.save"
            )
        try:
            text = members.pop("model")
            if text.shape != () or text.dtype.kind != "U" or text.dtype.itemsize > 4 * _MAX_DESCRIPTION:
                raise ValueError(f"its description is {text.dtype} of shape {text.shape}, not one text")
            description = _parse_description(str(text.read()))
            arrays = {key: member.read() for key, member in members.items()}
            if _checksum(description, arrays) != description.pop("checksum", None):
                raise ValueError("its checksum is another: it was damaged or changed; get it anew")
            description.pop("file_checksum", None)  # of files that end in a checksum of their bytes
        except (ValueError, RecursionError) as error:
            raise FileError(f"{path}: not a valid model: {one_line(error)}") from error
    return Serialized(description.pop("tree"), arrays), description


def _refuse_pickle(path: PathLike) -> None:
    """Raise if a file begins as pickles do."""
    with file_errors(path), open_regular(path, "a model's file") as file:
        start = file.read(2)
    if start[:1] == b"\x80" or start in _COMPRESSED:
        raise FileError(
            f"{path}: is a pickle or compressed data, which may be one and could run anything; it is not "
            "opened: save the model with absentia.save"
        )


def _parse_description(text: str) -> dict[str, Any]:
    description = json.loads(text)
    if not isinstance(description, dict) or description.get("format") != _FORMAT:
        raise ValueError(f"its description is not that of an {_FORMAT}")
    version = description.get("version")
    if not isinstance(version, int) or version > _VERSION:
        raise ValueError(f"its version is {version!r}; up to {_VERSION} can be read here: update absentia")
    if version < _VERSION:
        raise ValueError(f"its version {version} was never released; fit it again")
    parts = (description.get("about"), description.get("made"))
    if not all(isinstance(part, dict) for part in parts) or "tree" not in description:
        raise ValueError("its description is not complete")
    return description


def _checksum(description: Mapping[str, Any], arrays: Mapping[str, Array]) -> str:
    """Of everything but the checksum itself."""
    rest = {key: value for key, value in description.items() if key != "checksum"}
    found = hashlib.sha256(json.dumps(rest, sort_keys=True).encode())
    for key in sorted(arrays):
        array = arrays[key]
        found.update(f"{key} {array.dtype.str} {array.shape}".encode())
        found.update(raw_bytes(array))
    return found.hexdigest()
