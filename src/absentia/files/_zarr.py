"""Zarr folders of strangers: arrays at the root or one group deep, and nothing outside the folder.

Symbolic links, pipes and devices inside the folder are refused, and the consolidated metadata, which may
name any path, are not read.  A chunk that is not there would be read as zeros and is refused.  Arrays may
be packed only by codecs that cannot run code (the codec ``pickle`` can).  What an array declares is checked
against the ceiling of memory before it is read.  Which array is what is said in ``_guessing``.
"""

import os
import stat
import warnings
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import numpy as np

from absentia.core import Array
from absentia.data import KernelViews, Views
from absentia.files._archive import MOST_MEMBERS
from absentia.files._errors import PathLike, reading
from absentia.files._guessing import guess
from absentia.files._memory import Budget
from absentia.files._opening import irregular
from absentia.files._optional import needed
from absentia.files._options import Options

#: What may pack an array, by the name of its class; none of these keeps Python objects.
CODECS = frozenset(
    [
        "BytesCodec",
        "TransposeCodec",
        "ZstdCodec",
        "GzipCodec",
        "BloscCodec",
        "Crc32cCodec",
        "ShardingCodec",
        "VLenUTF8Codec",
        "VLenUTF8",
        "Zlib",
        "GZip",
        "Zstd",
        "LZ4",
        "Blosc",
        "BZ2",
        "LZMA",
        "Delta",
        "Shuffle",
        "CRC32C",
        "CRC32",
    ]
)


def read_zarr(path: Path, options: Options) -> Views | KernelViews:
    """Views or kernels out of a Zarr folder."""
    with reading(path):
        options.refuse("id", "layer", "use_rep", why="a Zarr folder")
        return guess(zarr_content(path), options.views)


def zarr_content(path: PathLike) -> dict[str, Any]:
    """What a Zarr folder holds by name: arrays, and groups of arrays as dicts."""
    path = Path(path)
    with reading(path):
        zarr = needed("zarr", "a Zarr folder")
        _check_folder(path)
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")  # zarr's, of files between the arrays that are none
            return _content(zarr, path)


def _content(zarr: Any, path: Path) -> dict[str, Any]:
    store = zarr.storage.LocalStore(path, read_only=True)
    try:
        root = zarr.open(store, mode="r", use_consolidated=False)
    except (FileNotFoundError, KeyError) as error:
        raise ValueError(f"holds no Zarr group or array ({type(error).__name__})") from None
    budget = Budget()
    found = _tree(root, budget, 0) if hasattr(root, "members") else [(path.stem, _values(root, budget))]
    return {name: one for name, one in found if one is not None}


def _tree(group: Any, budget: Budget, depth: int) -> Iterator[tuple[str, Any]]:
    for name, one in sorted(group.members(use_consolidated_for_children=False)):
        if not hasattr(one, "members"):
            yield name, _values(one, budget)
        elif depth == 0:
            inner = {key: x for key, x in _tree(one, budget, 1) if x is not None}
            yield name, inner or None


def _check_folder(path: Path) -> None:
    """A folder of regular files: no links that lead elsewhere, nothing to wait for, not endlessly many."""
    if not path.exists():
        raise ValueError("no such file")
    if not path.is_dir():
        raise ValueError("is a file; a Zarr folder is wanted")
    count = 0
    for folder, folders, files in os.walk(path):
        count += len(folders) + len(files)
        if count > 100 * MOST_MEMBERS:
            raise ValueError(f"holds more than {100 * MOST_MEMBERS} files")
        for name in (*folders, *files):
            mode = os.lstat(os.path.join(folder, name)).st_mode
            if stat.S_ISLNK(mode):
                raise ValueError(
                    f"{name[:80]!r} in it is a symbolic link, which is not followed; put the data there"
                )
            if not stat.S_ISDIR(mode) and (kind := irregular(mode)):
                raise ValueError(f"{name[:80]!r} in it is {kind}, which is not opened; remove it")


def _values(array: Any, budget: Budget) -> Array | None:
    """An array of numbers or texts; None if it is neither."""
    names = _codecs(array)
    if strange := sorted(set(names) - CODECS):
        raise ValueError(
            f"{array.name!r} is packed by {strange[0]}, which is not among those that are known to "
            "be harmless; save it without a filter for Python objects"
        )
    texts = any(name.startswith("VLen") for name in names) or array.dtype.kind in "UT"
    if array.dtype.kind not in "biuf" and not texts:
        return None
    chunk = int(np.prod(array.chunks, dtype=object)) if array.chunks else 1
    elements = max(int(np.prod(array.shape, dtype=object)), chunk)
    need = elements * max(array.dtype.itemsize, 64 if texts else 8)
    budget.spend(need, f"{array.name!r}, {array.dtype} of shape {array.shape},")
    _check_chunks(array)
    found = np.asarray(array[...])
    if texts:
        flat = [str(x) for x in found.ravel().tolist()]
        budget.spend(4 * max(map(len, flat), default=0) * len(flat), f"the texts of {array.name!r}")
        return np.array(flat, dtype=str).reshape(found.shape)
    return found.astype(np.float64) if found.dtype.itemsize > 8 else found


def _check_chunks(array: Any) -> None:
    """Raise if a chunk is not there; those of NaN say themselves that nothing is known."""
    lacking = array.nchunks - array.nchunks_initialized
    if array.size and lacking > 0 and not (array.dtype.kind == "f" and np.isnan(array.fill_value)):
        raise ValueError(
            f"{array.name!r} lacks {lacking} of its {array.nchunks} chunks, which would be read as "
            f"{array.fill_value!r}; copy the folder again, or, if these are its values, write it with "
            "config={'write_empty_chunks': True}"
        )


def _codecs(array: Any) -> list[str]:
    """What packs an array, in Zarr's formats 2 and 3; what shards are packed by inside, too."""
    used = [*array.filters, *array.compressors]
    used += [] if array.serializer is None else [array.serializer]
    for codec in used:
        used += [*getattr(codec, "codecs", ()), *getattr(codec, "index_codecs", ())]
    return [type(codec).__name__ for codec in used]
