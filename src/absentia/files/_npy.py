"""One array: an ``.npy`` file, or a sparse matrix as :func:`scipy.sparse.save_npz` writes it.

``.npy``
    A stack of kernels, (views, n, n) or (n, n, views), told apart by shape and symmetry; one kernel, if
    it is symmetric; or the features of one view, samples x features.  NaN rows are absent.
``.npz`` with the keys ``format``, ``data``, ``indices``, ``indptr`` and ``shape``
    One view, or one kernel, which is symmetric.  Other ``.npz`` files go to ``_npz``.

Nothing is unpickled, and what a file declares is checked before anything is allocated.
"""

import os
from collections.abc import Mapping
from pathlib import Path
from typing import Any

import numpy as np
import scipy.sparse

from absentia.core import Array
from absentia.data import KernelViews, Views
from absentia.files._archive import decode_array, list_keys, open_archive, read_header, read_into
from absentia.files._base import Budget, Options, PathLike, file_errors, open_regular
from absentia.files._npz import read_npz
from absentia.files._schema import infer_schema

_SPARSE_KEYS = frozenset({"format", "data", "indices", "indptr", "shape"})


def read_npy(path: Path, options: Options) -> Views | KernelViews:
    """Kernels or one view out of an ``.npy`` file; the view is called as the file is."""
    with file_errors(path):
        options.refuse("id", "views", "layer", "use_rep", why="an .npy file")
        return _infer_views(path, _read_array(path))


def read_npz_or_sparse(path: Path, options: Options) -> Views | KernelViews:
    """An ``.npz`` file of ours, or a sparse matrix of SciPy's."""
    if not set(list_keys(path)) >= _SPARSE_KEYS:
        return read_npz(path, options)
    with file_errors(path):
        options.refuse("id", "views", "layer", "use_rep", why="a sparse matrix")
        return _infer_views(path, _read_sparse(path))


def _infer_views(path: Path, array: Any) -> Views | KernelViews:
    if array.ndim != 2:
        return infer_schema({"K": array})
    # that one table lies samples x features is the custom of NumPy and SciPy
    return infer_schema({"table": array, "ids": np.arange(array.shape[0])}, {path.stem: ["table"]})


def npy_content(path: Path) -> dict[str, Array]:
    """The array of an ``.npy`` file, under the name of the file."""
    return {path.stem: _read_array(path)}


def _read_array(path: PathLike) -> Array:
    """The array of an ``.npy`` file, or a :class:`FileError` that says why not."""
    with file_errors(path), open_regular(path, "an .npy file") as file:
        header = read_header(file)
        came = os.fstat(file.fileno()).st_size
        said = header.length + header.elements * header.dtype.itemsize
        if came != said:
            raise ValueError(
                f"is damaged: {header.dtype} of shape {header.shape} takes {said} bytes, not {came}"
            )
        Budget().spend(header.memory, f"an array, {header.dtype} of shape {header.shape},")
        raw = np.empty(header.elements * header.dtype.itemsize, np.uint8)
        read_into(raw.data, file)
        return decode_array(raw, header)


def _read_sparse(path: PathLike) -> Any:
    """A matrix that :func:`scipy.sparse.save_npz` has written, its places checked."""
    with file_errors(path), open_archive(path) as members:
        arrays = {key: members[key].read() for key in _SPARSE_KEYS}
    with file_errors(path):
        return build_sparse(arrays, str(_as_text(arrays["format"])))


def build_sparse(arrays: Mapping[str, Array], form: str) -> Any:
    """A sparse matrix by rows ("csr") or columns ("csc") from its parts, which are not believed."""
    makers = {"csr": scipy.sparse.csr_array, "csc": scipy.sparse.csc_array}
    if form not in makers:
        raise ValueError(f"holds a sparse matrix of the form {form[:20]!r}; save it as csr or csc")
    for key in ("indices", "indptr", "shape"):
        if arrays[key].dtype.kind not in "iu" or arrays[key].ndim != 1:
            raise ValueError(
                f"{key!r} is {arrays[key].dtype} of shape {arrays[key].shape}, not whole numbers"
            )
    shape = tuple(int(x) for x in arrays["shape"])
    if len(shape) != 2 or min(shape) < 0:
        raise ValueError(f"holds a sparse matrix of shape {shape}; two dimensions are wanted")
    Budget().spend(16 * sum(shape), f"a sparse matrix of shape {shape}")
    places = [arrays[key].astype(np.int64) for key in ("indices", "indptr")]
    matrix = makers[form]((arrays["data"], *places), shape=shape)
    check_sparse_indices(matrix)
    return matrix.tocsr()


def check_sparse_indices(matrix: Any) -> None:
    """Raise if a matrix by rows or columns has places outside of it, which would be read and written.

    SciPy's own check leaves them out where the last row, or column, says that there are none.
    """
    begin, places = matrix.indptr, matrix.indices
    across = matrix.shape[1 if matrix.format == "csr" else 0]
    steady = begin[0] == 0 and (begin[1:] >= begin[:-1]).all()
    stored = min(len(places), len(matrix.data))
    if not steady or begin[-1] > stored or (places < 0).any() or (places >= across).any():
        raise ValueError(
            f"holds a sparse matrix of shape {matrix.shape} with values outside of it; it is damaged"
        )


def _as_text(value: Array) -> str:
    one = value.item() if value.size == 1 else ""
    return one.decode("latin1") if isinstance(one, bytes) else str(one)
