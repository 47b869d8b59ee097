"""Fitted models as files: one ``.npz`` of plain arrays and one text, never a pickle, never code.

All of it is in ``docs/models.md``; in short:

Keys
----
``model``
    JSON: ``format`` and ``version``, ``made`` (with what), ``about`` (whatever the writer had to say),
    ``tree`` (the model: attributes by name; ``{"is": "array", "number": "3"}`` stands for the array of that
    name) and ``checksum``, SHA-256 of the tree, of what is said about it and of every array.
``0``, ``1``, ...
    The arrays.

A file that was damaged or changed is refused by its checksum.  What the tree may hold, and that nothing in
it is ever imported or called, is in :func:`absentia.core.unpacked`.
"""

import hashlib
import json
import zipfile
from collections.abc import Mapping
from pathlib import Path
from typing import Any

import numpy as np
import sklearn

from absentia import __version__
from absentia.core import Array, Serialized, raw_bytes
from absentia.files._archive import open_archive, write_arrays
from absentia.files._base import FileError, PathLike, file_errors, one_line, open_regular

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
            raise FileError(f"{path}: holds no model but {_describe_members(members)}")
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


def _describe_members(members: Mapping[str, Any]) -> str:
    if "schema.json" in members:
        return "what skops writes; read it with skops.io.load(path, trusted=absentia.models.skops_types())"
    return f"{sorted(members)[:8] or 'nothing'}; make one with absentia fit or absentia.save"


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
