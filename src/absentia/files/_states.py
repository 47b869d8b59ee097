"""Fitted models as files: one ``.npz`` of plain arrays and one text, never a pickle, never code.

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
from collections.abc import Mapping
from pathlib import Path
from typing import Any

import numpy as np
import sklearn

from absentia.core import Array, Packed
from absentia.files._archive import archive, raw, write_arrays
from absentia.files._errors import FileError, PathLike, one_line

FORMAT, VERSION = "absentia model", 2
LONGEST_DESCRIPTION = 64_000_000


def write_state(path: PathLike, state: Packed, about: Mapping[str, Any]) -> Path:
    """Write a model's state, whole or not at all."""
    described = {
        "format": FORMAT,
        "version": VERSION,
        "made": {"numpy": np.__version__, "scikit-learn": sklearn.__version__},
        "about": dict(about),
        "tree": state.tree,
    }
    described["checksum"] = _checksum(described, state.arrays)
    return write_arrays(path, {"model": json.dumps(described, allow_nan=False), **state.arrays})


def read_state(path: PathLike) -> tuple[Packed, dict[str, Any]]:
    """The state of a model and what is said about it; a :class:`FileError` says what is wrong."""
    with archive(path) as members:
        if "model" not in members:
            raise FileError(
                f"{path}: holds no model but {sorted(members)[:8] or 'nothing'}; make one with absentia fit"
            )
        try:
            text = members.pop("model")
            if text.shape != () or text.dtype.kind != "U" or text.dtype.itemsize > 4 * LONGEST_DESCRIPTION:
                raise ValueError(f"its description is {text.dtype} of shape {text.shape}, not one text")
            described = _described(str(text.read()))
            arrays = {key: member.read() for key, member in members.items()}
            if _checksum(described, arrays) != described.get("checksum"):
                raise ValueError("its checksum is another: it was damaged or changed; get it anew")
        except (ValueError, RecursionError) as error:
            raise FileError(f"{path}: not a valid model: {one_line(error)}") from error
    return Packed(described["tree"], arrays), described["about"]


def _described(text: str) -> dict[str, Any]:
    described = json.loads(text)
    if not isinstance(described, dict) or described.get("format") != FORMAT:
        raise ValueError(f"its description is not that of an {FORMAT}")
    version = described.get("version")
    if not isinstance(version, int) or version > VERSION:
        raise ValueError(f"its version is {version!r}; up to {VERSION} can be read here: update absentia")
    if version < VERSION:
        raise ValueError(f"its version {version} was never released; fit it again")
    if not isinstance(described.get("about"), dict) or "tree" not in described:
        raise ValueError("its description is not complete")
    return described


def _checksum(described: Mapping[str, Any], arrays: Mapping[str, Array]) -> str:
    """Of everything but the checksum itself."""
    rest = {key: value for key, value in described.items() if key != "checksum"}
    found = hashlib.sha256(json.dumps(rest, sort_keys=True).encode())
    for key in sorted(arrays):
        array = arrays[key]
        found.update(f"{key} {array.dtype.str} {array.shape}".encode())
        found.update(raw(array))
    return found.hexdigest()
