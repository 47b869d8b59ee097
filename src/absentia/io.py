"""Files in and out: one ``.npz`` per data set.

Keys
----
``view_<name>``
    Feature view, samples x features; a row of NaN means the sample lacks the view.  Or:
``K``
    Kernels, views x samples x samples; NaN rows and columns where absent.
``mask``
    Optional, samples x views, True = present; what it marks absent is ignored, whatever it holds.
``ids``, ``names``
    Optional sample ids and view names (``names`` in the order of ``K`` and of the columns of ``mask``;
    for ``view_<name>`` files the order of the columns of ``mask``, by default the order in the file).
    ``view_names`` is read as ``names``.

Other keys are left alone.  Nothing is ever unpickled.  Files are written under a temporary name in
the same folder and renamed, so that a file is there whole or not at all.
"""

from __future__ import annotations

import os
import tempfile
import zipfile
from collections.abc import Callable, Mapping
from pathlib import Path
from typing import Any, BinaryIO

import numpy as np

from absentia.kernelviews import KernelViews
from absentia.linalg import Array
from absentia.presence import check_unique
from absentia.views import Views


class FileError(ValueError):
    """A file that cannot be read as what it should be; the message names it and says why."""


def read(path: str | os.PathLike[str]) -> Views | KernelViews:
    """Read :class:`Views` (keys ``view_<name>``) or :class:`KernelViews` (key ``K``) from ``.npz``."""
    path = Path(path)
    arrays = read_arrays(path, is_data)
    if not arrays:
        held = sorted(keys(path)) or "nothing"
        raise FileError(
            f"{path}: holds neither 'K' nor 'view_<name>' but {held}; "
            "name feature views view_<name> or give kernels as K"
        )
    try:
        return from_arrays(arrays)
    except (ValueError, TypeError) as error:
        raise FileError(f"{path}: {error}") from error


def write(path: str | os.PathLike[str], data: Views | KernelViews, **extra: Any) -> Path:
    """Write Views or square KernelViews to ``.npz``; `extra` arrays go in beside them."""
    return write_arrays(path, {**_to_arrays(data), **extra})


def from_arrays(arrays: Mapping[str, Array]) -> Views | KernelViews:
    """Views or KernelViews from arrays under the keys of the module's docstring."""
    views = {key.removeprefix("view_"): a for key, a in arrays.items() if _is_view(key)}
    names = arrays.get("names", arrays.get("view_names"))
    ids, mask = arrays.get("ids"), arrays.get("mask")
    if "K" in arrays and views:
        raise ValueError("holds both 'K' and 'view_...' keys; keep one of the two")
    if "K" in arrays:
        K = arrays["K"]
        if K.ndim != 3:
            raise ValueError(f"'K' has shape {K.shape}; wanted (views, samples, samples)")
        return KernelViews.from_dense(K, mask, ids, None if names is None else _texts(names))
    if not views:
        raise ValueError(
            f"holds neither 'K' nor 'view_<name>' but {sorted(arrays)}; "
            "name feature views view_<name> or give kernels as K"
        )
    if names is not None:
        order = _texts(names)
        if sorted(order) != sorted(views):
            raise ValueError(f"'names' lists {order} but the views are {sorted(views)}")
        views = {name: views[name] for name in order}
    return Views.from_dict(views, ids=ids, observed=mask)


def _texts(names: Array) -> list[str]:
    if names.ndim != 1 or names.dtype.kind != "U":
        raise ValueError(f"'names' must be a list of texts; it is {names.dtype} of shape {names.shape}")
    return [str(name) for name in names]


def keys(path: Path) -> list[str]:
    """Names of the arrays in an ``.npz`` file."""
    with np.load(path, allow_pickle=False) as archive:
        return list(archive.files)


def _is_view(key: str) -> bool:
    return key.startswith("view_") and key not in ("view_names", "view_")


def is_data(key: str) -> bool:
    """Whether :func:`from_arrays` reads this key."""
    return key in ("K", "mask", "ids", "names", "view_names") or _is_view(key)


def _to_arrays(data: Views | KernelViews) -> dict[str, Array]:
    check_unique(data.ids, "ids")
    for name in data.names:
        if not name or "\0" in name or name == "names":
            raise ValueError(f"a view named {name!r} cannot be written to .npz; rename it")
    common = {"mask": data.observed, "ids": _plain(data.ids), "names": np.array(data.names)}
    if isinstance(data, KernelViews):
        data.demand_square()
        return {"K": data.to_dense(), **common}
    return {**{f"view_{name}": block for name, block in data.to_dict().items()}, **common}


def _plain(ids: Array) -> Array:
    """Ids without object dtype, which could only be stored as a pickle."""
    return ids.astype(str) if ids.dtype == object else ids


def read_arrays(path: Path, wanted: Callable[[str], bool] = lambda key: True) -> dict[str, Array]:
    """Arrays of an ``.npz`` file, or a :class:`FileError` that says what is wrong with it."""
    if not path.exists():
        raise FileError(f"{path}: no such file")
    if path.is_dir():
        raise FileError(f"{path}: is a folder; an .npz file is wanted")
    if path.stat().st_size == 0:
        raise FileError(f"{path}: the file is empty")
    if not zipfile.is_zipfile(path):
        raise FileError(f"{path}: not an .npz file (write one with numpy.savez or absentia.io.write)")
    try:
        with path.open("rb") as file, np.load(file, allow_pickle=False) as archive:
            return {key: _member(archive, key) for key in archive.files if wanted(key)}
    except FileError as error:
        raise FileError(f"{path}: {error}") from None
    except Exception as error:  # damage shows in many ways: zip, zlib, header, memory
        raise FileError(f"{path}: damaged .npz file ({type(error).__name__}: {error})") from error


def _member(archive: Any, key: str) -> Array:
    try:
        array = archive[key]
    except ValueError as error:
        if "pickle" in str(error) or "Object arrays" in str(error):
            raise FileError(
                f"{key!r} holds pickled Python objects, which could run code and are never loaded; "
                "save plain numbers or strings instead"
            ) from None
        raise FileError(f"{key!r} cannot be read ({error})") from None
    except MemoryError:
        raise FileError(f"{key!r} is too large for this machine's memory") from None
    if not isinstance(array, np.ndarray):
        raise FileError(f"{key!r} is not an array")
    return array


def write_arrays(path: str | os.PathLike[str], arrays: Mapping[str, Any]) -> Path:
    """Write arrays to ``.npz``, whole or not at all."""

    def save(file: BinaryIO) -> None:
        plain: dict[str, Any] = {key: np.asarray(value) for key, value in arrays.items()}
        np.savez_compressed(file, allow_pickle=False, **plain)

    return write_whole(path, save)


def write_whole(path: str | os.PathLike[str], save: Any) -> Path:
    """Let ``save(file)`` fill a temporary file beside `path`, then rename it to `path`."""
    path = Path(path)
    if path.is_dir():
        raise FileError(f"{path}: is a folder; a file name is wanted")
    if not path.parent.is_dir():
        raise FileError(f"{path}: the folder {path.parent} does not exist")
    handle, temporary = tempfile.mkstemp(dir=path.parent, prefix=f".{path.name}.", suffix=".part")
    try:
        with os.fdopen(handle, "wb") as file:
            save(file)
        os.chmod(temporary, 0o666 & ~_umask())
        os.replace(temporary, path)
    except BaseException:
        Path(temporary).unlink(missing_ok=True)
        raise
    return path


def _umask() -> int:
    current = os.umask(0)
    os.umask(current)
    return current
