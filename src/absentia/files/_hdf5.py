"""HDF5 files of strangers: datasets at the root or one group deep, and nothing outside the file.

An HDF5 file can name other files: by external and soft links, virtual datasets, external storage.  None
of them is followed; a file that has one where data are looked for is refused.  What a dataset declares is
checked against the ceiling of memory before it is read.  Attributes are left alone.  Which array is what
is said in ``_guessing``.
"""

from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import numpy as np

from absentia.core import Array
from absentia.data import KernelViews, Views
from absentia.files._archive import LONGEST_NAME, MOST_MEMBERS
from absentia.files._errors import PathLike, one_line, reading
from absentia.files._guessing import guess
from absentia.files._memory import Budget
from absentia.files._opening import opened
from absentia.files._optional import needed
from absentia.files._options import Options

DEEPEST = 32


def read_hdf5(path: Path, options: Options) -> Views | KernelViews:
    """Views or kernels out of an HDF5 file."""
    with reading(path):
        options.refuse("id", "layer", "use_rep", why="an HDF5 file")
        return guess(hdf5_content(path), options.views)


def hdf5_content(path: PathLike) -> dict[str, Any]:
    """What an HDF5 file holds by name: arrays, and groups of arrays as dicts."""
    with hdf5_file(path) as file:
        budget, found = Budget(), {}
        for name, one in members(file):
            found[name] = _group(one, budget) if is_group(one) else values(one, budget)
        return {name: one for name, one in found.items() if one is not None}


def _group(group: Any, budget: Budget) -> dict[str, Array]:
    inside = {name: values(one, budget) for name, one in members(group) if not is_group(one)}
    return {name: one for name, one in inside.items() if one is not None}


@contextmanager
def hdf5_file(path: PathLike) -> Iterator[Any]:
    """An HDF5 file, open for reading."""
    with reading(path):
        h5py = needed("h5py", "an HDF5 file")
        opened(path, "an HDF5 file").close()  # a regular file, which may be read
        try:
            file = h5py.File(path, "r")
        except OSError as error:
            raise ValueError(f"not an HDF5 file, or a part of one: {one_line(error)}") from None
        with file:
            yield file


def is_group(one: Any) -> bool:
    """Whether this is a group and not a dataset."""
    return hasattr(one, "keys")


def members(group: Any) -> Iterator[tuple[str, Any]]:
    """What lies in a group, by name; links that could lead out of the file are refused."""
    h5py = needed("h5py", "an HDF5 file")
    if len(group) > MOST_MEMBERS:
        raise ValueError(f"{group.name!r} holds {len(group)} members; at most {MOST_MEMBERS} are taken")
    for name in group:
        if len(name) > LONGEST_NAME:
            raise ValueError(f"holds a name of {len(name)} characters: {name[:40]!r}...")
        link = group.get(name, getlink=True)
        if not isinstance(link, h5py.HardLink):
            raise ValueError(
                f"{name!r} in {group.name!r} is a link ({type(link).__name__}), which could lead to "
                "another file and is not followed; put the data themselves there"
            )
        one = group[name]
        if isinstance(one, h5py.Group):
            yield name, one
        elif isinstance(one, h5py.Dataset):
            yield name, inside(one)


def inside(dataset: Any) -> Any:
    """The dataset, if its values lie in the file itself."""
    if dataset.is_virtual or dataset.external:
        raise ValueError(
            f"{dataset.name!r} takes its values from other files, which are not opened; copy them "
            "into this one"
        )
    return dataset


def weigh(dataset: Any, budget: Budget) -> None:
    """Spend what reading a dataset takes, also for values that it has none of yet and for one chunk."""
    least = 64 if dataset.dtype.kind in "OSU" else 8
    chunk = int(np.prod(dataset.chunks, dtype=object)) if dataset.chunks else 0
    need = max(int(dataset.size or 0), chunk, 1) * max(dataset.dtype.itemsize, least)
    budget.spend(need, f"{dataset.name!r}, {dataset.dtype} of shape {dataset.shape},")


def values(dataset: Any, budget: Budget) -> Array | None:
    """A dataset as an array of numbers or texts; None if it is neither."""
    h5py = needed("h5py", "an HDF5 file")
    if dataset.shape is None:  # declared empty
        return None
    weigh(dataset, budget)
    if h5py.check_string_dtype(dataset.dtype) is not None:
        return _texts(dataset, budget)
    if dataset.dtype.kind not in "biuf":
        return None
    array = np.asarray(dataset[()])
    if array.dtype.kind == "f" and array.dtype.itemsize > 8:
        return array.astype(np.float64)
    return array.astype(array.dtype.newbyteorder("="), copy=False)


def _texts(dataset: Any, budget: Budget) -> Array:
    """Texts, some at a time: many may share one that is as large as the file."""
    flat: list[str] = []
    largest = max(dataset.file.id.get_filesize(), 1)
    step = max(budget.limit // largest, 1)
    if dataset.ndim != 1:
        budget.spend(int(dataset.size) * largest, f"texts of shape {dataset.shape}")
        return np.array(dataset.asstr(errors="replace")[()], dtype=str)
    for start in range(0, dataset.shape[0], step):
        part = dataset.asstr(errors="replace")[start : start + step].tolist()
        budget.spend(4 * sum(map(len, part)), f"the texts of {dataset.name!r}")
        flat += part
    longest = max(map(len, flat), default=0)
    budget.spend(4 * longest * len(flat), f"the texts of {dataset.name!r}")
    return np.array(flat, dtype=str)


def check_tree(group: Any, budget: Budget) -> None:
    """Go through all of a file before somebody else reads it: links, places of values, sizes."""
    h5py = needed("h5py", "an HDF5 file")
    seen: set[int] = set()

    def go(here: Any, depth: int) -> None:
        if depth > DEEPEST:
            raise ValueError(f"holds groups more than {DEEPEST} deep; is it damaged?")
        for _, one in members(here):
            address = h5py.h5o.get_info(one.id).addr
            if is_group(one) and address in seen:
                raise ValueError(f"the group {one.name!r} is there more than once; is the file damaged?")
            seen.add(address)
            go(one, depth + 1) if is_group(one) else weigh(one, budget)

    go(group, 0)
