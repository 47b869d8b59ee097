"""HDF5 files, which are untrusted: arrays at the root or one group deep, MATLAB 7.3, AnnData and MuData.

An HDF5 file can name other files: by external and soft links, virtual datasets, external storage.  None
of them is followed; a file that has one where data are looked for is refused.  Of attributes, only those
that MATLAB writes into its files of version 7.3 are read.  The HDF5 library believes what a file says of
its heaps and of sequences of varying length, and leaves its memory or hangs where these are damaged: they
are looked at, or refused, before it reads them.  What an array declares is checked against the ceiling of
memory before it is read.  Which array is what is said in ``_schema``; what is in ``.h5ad`` and ``.h5mu``
files, in ``_annotated``.
"""

import struct
from collections.abc import Iterator
from contextlib import contextmanager
from functools import partial
from mmap import ACCESS_READ, mmap
from typing import Any

import numpy as np

from absentia.core import Array
from absentia.files._archive import MAX_MEMBERS, is_group, read_groups, spend_array
from absentia.files._base import Budget, PathLike, file_errors, import_optional, one_line, open_regular
from absentia.files._npz import build_sparse

_MAX_DEPTH = 32
_HEAP_SIGNATURE = b"GCOL\1\0\0\0"
_OBJECT = struct.Struct("<H6xQ")  # of a heap: number and length


def hdf5_content(path: PathLike) -> dict[str, Any]:
    """What an HDF5 file holds by name: arrays, and groups of arrays as dicts."""
    with open_hdf5(path) as file:
        return read_groups(file, _iterate_members, partial(_read_dataset, budget=Budget()))


@contextmanager
def open_hdf5(path: PathLike) -> Iterator[Any]:
    """An HDF5 file, open for reading."""
    with file_errors(path):
        h5py = import_optional("h5py", "an HDF5 file")
        open_regular(path, "an HDF5 file").close()  # a regular file, which may be read
        try:
            file = h5py.File(path, "r")
        except OSError as error:
            raise ValueError(f"not an HDF5 file, or a part of one: {one_line(error)}") from None
        with file:
            _check_heaps(path)
            yield file


def _check_heaps(path: PathLike) -> None:
    """Raise if a heap of texts has free space of no length, over which HDF5 would never get.

    A heap is a signature, its length and objects, each a number (0: free space), 6 other bytes, a length,
    and a text that is filled up to 8 bytes.  The length of free space is that of the whole object.
    """
    with open_regular(path) as file, mmap(file.fileno(), 0, access=ACCESS_READ) as content:
        heap, unpack = content.find(_HEAP_SIGNATURE), _OBJECT.unpack_from
        while heap >= 0:
            place, end = heap + 16, heap + int.from_bytes(content[heap + 8 : heap + 16], "little")
            last = min(end, len(content)) - _OBJECT.size
            while place <= last:
                number, length = unpack(content, place)
                if number == 0 and length < _OBJECT.size:
                    raise ValueError("is damaged: texts in it are overwritten; copy the file again")
                place += length if number == 0 else _OBJECT.size + -(-length // 8) * 8
            heap = content.find(_HEAP_SIGNATURE, heap + 1)


def _iterate_members(group: Any) -> Iterator[tuple[str, Any]]:
    """What lies in a group, by name; links that could lead out of the file are refused."""
    h5py = import_optional("h5py", "an HDF5 file")
    if len(group) > MAX_MEMBERS:
        raise ValueError(f"{group.name!r} holds {len(group)} members; at most {MAX_MEMBERS} are taken")
    for name in group:
        link = group.get(name, getlink=True)
        if not isinstance(link, h5py.HardLink):
            raise ValueError(
                f"{name!r} in {group.name!r} is a link ({type(link).__name__}), which could lead to "
                "another file and is not followed; put the data themselves there"
            )
        member = group[name]
        if isinstance(member, h5py.Group):
            yield name, member
        elif isinstance(member, h5py.Dataset):
            yield name, _check_inside(member)


def _check_inside(dataset: Any) -> Any:
    """The dataset, if its values lie in the file itself."""
    if dataset.is_virtual or dataset.external:
        raise ValueError(
            f"{dataset.name!r} takes its values from other files, which are not opened; copy them "
            "into this one"
        )
    return dataset


def _read_dataset(dataset: Any, budget: Budget) -> Array | None:
    """A dataset as an array of numbers or texts; None if it is neither."""
    h5py = import_optional("h5py", "an HDF5 file")
    if dataset.shape is None:  # declared empty
        return None
    spend_array(budget, dataset, texts=dataset.dtype.kind in "OSU")
    if h5py.check_string_dtype(dataset.dtype) is not None:
        return _read_texts(dataset, budget)
    if dataset.dtype.kind not in "biuf":
        return None
    array = np.asarray(dataset[()])
    if array.dtype.kind == "f" and array.dtype.itemsize > 8:
        return array.astype(np.float64)
    return array.astype(array.dtype.newbyteorder("="), copy=False)


def _read_texts(dataset: Any, budget: Budget) -> Array:
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


def check_hdf5(path: PathLike, budget: Budget) -> list[str]:
    """Go through all of a file before somebody else reads it: links, places of values, types, sizes.

    The names of what lies at its root come back.
    """
    with open_hdf5(path) as file:
        check_group(file, budget)
        return list(file)


def check_group(group: Any, budget: Budget, depth: int = 0, seen: set[int] | None = None) -> None:
    """The same for a group of an open file and all below it."""
    h5py = import_optional("h5py", "an HDF5 file")
    seen = set() if seen is None else seen
    if depth > _MAX_DEPTH:
        raise ValueError(f"holds groups more than {_MAX_DEPTH} deep; is it damaged?")
    _check_attributes(group, budget)
    for _, member in _iterate_members(group):
        address = h5py.h5o.get_info(member.id).addr
        if is_group(member) and address in seen:
            raise ValueError(f"the group {member.name!r} is there more than once; is the file damaged?")
        seen.add(address)
        if is_group(member):
            check_group(member, budget, depth + 1, seen)
        else:
            _check_attributes(member, budget)
            _check_type(member.dtype, f"{member.name!r}")
            spend_array(budget, member, texts=member.dtype.kind in "OSU")


def read_attribute(member: Any, name: str) -> Any:
    """An attribute of a group or dataset; None if it has none of this name."""
    if name not in member.attrs:
        return None
    attribute, what = member.attrs.get_id(name), f"the attribute {name!r} of {member.name!r}"
    _check_type(attribute.dtype, what)
    Budget().spend(int(np.prod(attribute.shape or (), dtype=object)) * attribute.dtype.itemsize, what)
    return member.attrs[name]


def _check_attributes(member: Any, budget: Budget) -> None:
    """Raise if an attribute of a group or dataset is too large, or of a type that is not read."""
    h5py = import_optional("h5py", "an HDF5 file")
    for place in range(h5py.h5a.get_num_attrs(member.id)):
        attribute = h5py.h5a.open(member.id, index=place)
        what = f"the attribute {attribute.name[:80].decode('utf-8', 'replace')!r} of {member.name!r}"
        _check_type(attribute.dtype, what)
        size = int(np.prod(attribute.shape or (), dtype=object))
        budget.spend(size * attribute.dtype.itemsize, what)


def _check_type(dtype: np.dtype[Any], what: str) -> None:
    """Raise if sequences of any length are in a type: HDF5 takes their lengths from the file unchecked.

    In a damaged file they lead outside of the memory that was read, which ends the interpreter.  Texts of
    any length have one place where they end, and are checked.
    """
    h5py = import_optional("h5py", "an HDF5 file")
    if isinstance(h5py.check_vlen_dtype(dtype), np.dtype):  # of texts it is str or bytes
        raise ValueError(f"{what} holds sequences of varying length, which are not read; remove it")
    if dtype.subdtype is not None:
        _check_type(dtype.subdtype[0], what)
    for name in dtype.names or ():
        _check_type(dtype[name], what)


# ---------------------------------------------------------------------------------- MATLAB, version 7.3

_MATLAB_DEPTH = 3  # cells in structs in cells
_REFERENCE_BYTES = 1_000  # bytes of memory that following one takes


def mat73_content(path: PathLike) -> dict[str, Any]:
    """What a ``.mat`` file of version 7.3 holds by name: arrays, cells as lists, structs as dicts."""
    with open_hdf5(path) as tree:
        budget = Budget()
        members = [(name, member) for name, member in _iterate_members(tree) if name[:1] != "#"]
        content = {name: _read_matlab(member, budget, 0) for name, member in members}
        return {name: value for name, value in content.items() if value is not None}


def _read_matlab(member: Any, budget: Budget, depth: int) -> Any:
    """What a member of a file of version 7.3 is."""
    if depth > _MATLAB_DEPTH:
        return None
    kind = _read_matlab_class(member)
    if is_group(member):
        if "MATLAB_sparse" in member.attrs:
            return _read_matlab_sparse(member, budget)
        fields = {name: _read_matlab(part, budget, depth + 1) for name, part in _iterate_members(member)}
        return {name: part for name, part in fields.items() if part is not None}
    if np.any(read_attribute(member, "MATLAB_empty")):
        return np.zeros(0)
    if kind == "cell" or member.dtype.kind == "O":
        cells = [_read_matlab(part, budget, depth + 1) for part in _follow_references(member, budget)]
        return None if any(cell is None for cell in cells) else cells  # else their places would be others
    array = _read_dataset(member, budget)
    if array is None or array.dtype.kind not in "biuf":
        return array
    array = array.T  # MATLAB counts along columns first
    if kind == "char":
        return _decode_characters(array)
    return array.astype(bool) if kind == "logical" else array


def _read_matlab_class(member: Any) -> str:
    value = read_attribute(member, "MATLAB_class")
    return value.decode("latin1") if isinstance(value, bytes) else str(value)


def _follow_references(cells: Any, budget: Budget) -> list[Any]:
    """What the cells refer to; references have no way out of a file, but what they lead to may."""
    h5py = import_optional("h5py", "an HDF5 file")
    if h5py.check_ref_dtype(cells.dtype) is not h5py.Reference:
        return [None]
    spend_array(budget, cells, texts=cells.dtype.kind in "OSU")
    budget.spend(_REFERENCE_BYTES * int(cells.size), f"{cells.size} cells of {cells.name!r}")
    found = []
    for reference in np.asarray(cells[()]).T.ravel(order="F"):
        member = cells.file[reference] if reference else None
        found.append(member if member is None or is_group(member) else _check_inside(member))
    if any(member is None for member in found):
        raise ValueError(f"{cells.name!r} has cells that refer to nothing; it is damaged")
    return found


def _decode_characters(codes: Array) -> Array:
    """Texts, one for each row of a char array; one row is one text."""
    if codes.ndim != 2 or codes.dtype.kind not in "iu":
        raise ValueError(f"texts are {codes.dtype} of shape {codes.shape}; they are damaged")
    lines = [row.astype("<u2").tobytes().decode("utf-16-le", "replace") for row in codes]
    return np.array(lines[0]) if len(lines) == 1 else np.array([line.rstrip() for line in lines], dtype=str)


def _read_matlab_sparse(group: Any, budget: Budget) -> Any:
    """A sparse matrix: ``ir`` its rows, ``jc`` where each column begins, ``data``."""
    parts = {
        name: _read_dataset(member, budget)
        for name, member in _iterate_members(group)
        if not is_group(member)
    }
    columns = parts.get("jc")
    rows = read_attribute(group, "MATLAB_sparse")
    if columns is None or np.size(rows) != 1:
        raise ValueError(f"{group.name!r} is a sparse matrix without its columns; it is damaged")
    stored = parts.get("data"), parts.get("ir")
    data, places = (np.zeros(0) if x is None else x for x in stored)
    shape = np.array([int(np.ravel(rows)[0]), len(columns) - 1])
    arrays = {"data": data, "indices": places.astype(np.int64), "indptr": columns, "shape": shape}
    return build_sparse(arrays, "csc")
