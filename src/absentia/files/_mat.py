"""MATLAB's files: version 5 to 7.2 (``_mat5``), and version 7.3, which is HDF5, through h5py.

Cell arrays become lists (column by column, as MATLAB counts), structs dicts of their fields, char arrays
texts, logical arrays booleans.  Objects, tables, function handles and complex numbers are left alone.
Which array is what is said in ``_guessing``.
"""

from pathlib import Path
from typing import Any

import numpy as np

from absentia.core import Array
from absentia.data import KernelViews, Views
from absentia.files._errors import PathLike, reading
from absentia.files._guessing import guess
from absentia.files._hdf5 import hdf5_file, inside, is_group, members, values, weigh
from absentia.files._mat5 import DEEPEST, read_mat5
from absentia.files._memory import Budget
from absentia.files._npy import compressed
from absentia.files._opening import opened
from absentia.files._options import Options

SIGNATURE = b"\x89HDF\r\n\x1a\n"
REFERENCE = 1_000  # bytes of memory that following one takes


def read_mat(path: Path, options: Options) -> Views | KernelViews:
    """Views or kernels out of a ``.mat`` file of any version."""
    with reading(path):
        options.refuse("id", "layer", "use_rep", why="a .mat file")
        return guess(mat_content(path), options.views)


def mat_content(path: PathLike) -> dict[str, Any]:
    """What a ``.mat`` file holds by name: arrays, sparse matrices, cells as lists, structs as dicts."""
    with reading(path):
        with opened(path, "a .mat file") as file:
            start = file.read(512 + len(SIGNATURE))
            if not start:
                raise ValueError("the file is empty")
            if not start.endswith(SIGNATURE) and not start.startswith(SIGNATURE):
                return read_mat5(file)
        with hdf5_file(path) as tree:
            budget = Budget()
            found = {name: _new(one, budget, 0) for name, one in members(tree) if not name.startswith("#")}
        return {name: one for name, one in found.items() if one is not None}


# --------------------------------------------------------------------------------------- version 7.3


def _new(one: Any, budget: Budget, depth: int) -> Any:
    """What a member of a file of version 7.3 is."""
    if depth > DEEPEST:
        return None
    kind = _attribute(one, "MATLAB_class")
    if is_group(one):
        if "MATLAB_sparse" in one.attrs:
            return _sparse(one, budget)
        fields = {name: _new(part, budget, depth + 1) for name, part in members(one)}
        return {name: part for name, part in fields.items() if part is not None}
    if one.attrs.get("MATLAB_empty"):
        return np.zeros(0)
    if kind == "cell" or one.dtype.kind == "O":
        return _cells([_new(part, budget, depth + 1) for part in _referred(one, budget)])
    array = values(one, budget)
    if array is None or array.dtype.kind not in "biuf":
        return array
    array = array.T  # MATLAB counts along columns first
    if kind == "char":
        return _characters(array)
    return array.astype(bool) if kind == "logical" else array


def _attribute(one: Any, name: str) -> str:
    value = one.attrs.get(name, "")
    return value.decode("latin1") if isinstance(value, bytes) else str(value)


def _referred(cells: Any, budget: Budget) -> list[Any]:
    """What the cells refer to; references have no way out of a file, but what they lead to may."""
    import h5py

    if h5py.check_ref_dtype(cells.dtype) is not h5py.Reference:
        return [None]
    weigh(cells, budget)
    budget.spend(REFERENCE * int(cells.size), f"{cells.size} cells of {cells.name!r}")
    found = []
    for reference in np.asarray(cells[()]).T.ravel(order="F"):
        one = cells.file[reference] if reference else None
        found.append(one if one is None or is_group(one) else inside(one))
    if any(one is None for one in found):
        raise ValueError(f"{cells.name!r} has cells that refer to nothing; it is damaged")
    return found


def _characters(codes: Array) -> Array:
    """Texts, one for each row of a char array; one row is one text."""
    if codes.ndim != 2 or codes.dtype.kind not in "iu":
        raise ValueError(f"texts are {codes.dtype} of shape {codes.shape}; they are damaged")
    lines = [row.astype("<u2").tobytes().decode("utf-16-le", "replace") for row in codes]
    return np.array(lines[0]) if len(lines) == 1 else np.array([line.rstrip() for line in lines], dtype=str)


def _sparse(group: Any, budget: Budget) -> Any:
    """A sparse matrix: ``ir`` its rows, ``jc`` where each column begins, ``data``."""
    parts = {name: values(one, budget) for name, one in members(group) if not is_group(one)}
    columns = parts.get("jc")
    rows = group.attrs["MATLAB_sparse"]
    if columns is None or np.size(rows) != 1:
        raise ValueError(f"{group.name!r} is a sparse matrix without its columns; it is damaged")
    stored = parts.get("data"), parts.get("ir")
    data, places = (np.zeros(0) if x is None else x for x in stored)
    shape = np.array([int(np.ravel(rows)[0]), len(columns) - 1])
    arrays = {"data": data, "indices": places.astype(np.int64), "indptr": columns, "shape": shape}
    return compressed(arrays, "csc")


def _cells(found: list[Any]) -> list[Any] | None:
    """A cell array whose cells could all be read; otherwise their numbers would not mean what they did."""
    return None if any(one is None for one in found) else found
