"""``.h5ad`` and ``.h5mu`` files: an AnnData object is one view, a MuData object one for each modality.

A view is X, a layer, an entry of obsm, or, if ``use_rep`` names one of obsp, a kernel.  Who is not in a
modality lacks it.  All of a file is gone through before (``_hdf5``): no link leads out of it, and what it
declares fits into memory.  Then AnnData's own package, which unpickles nothing, reads what is asked for:
obs, var and the matrices that become views.  Those of a file that is too large stay where they are.
"""

from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from dataclasses import dataclass
from functools import cached_property
from pathlib import Path
from typing import Any

import numpy as np
import scipy.sparse

from absentia.core import Array, format_bytes
from absentia.data import ChunkedTable, KernelViews, Views, is_anndata, is_mudata, obsp_blocks, quiet
from absentia.files._base import (
    Budget,
    FileError,
    LoadedData,
    Options,
    PathLike,
    file_errors,
    import_optional,
    one_line,
    write_atomically,
)
from absentia.files._hdf5 import check_group, check_hdf5, open_hdf5, read_attribute
from absentia.files._npz import check_sparse_indices

_COPIES = 2  # a file is read whole, and its values become those of views
_NO_MODALITIES = "holds no modalities ('mod') but {}; is it an .h5ad file?"


def read_annotated(path: Path, options: Options) -> LoadedData | KernelViews:
    """The one view of an ``.h5ad`` file, or a view for each modality of an ``.h5mu`` file; or kernels."""
    with open_hdf5(path) as file:
        options.refuse("id", "views", why=f"an {path.suffix.lower()} file")
        need = Budget(limit=2**63)
        check_group(file, need)
        in_chunks = options.stays_in_chunks(_COPIES * need.spent)
        if not in_chunks and _COPIES * need.spent > Budget().limit:
            check_group(file, Budget(limit=Budget().limit // _COPIES))  # which says what is too large
        data = _open_annotated(path, file, in_chunks)
        make: Any = Views.from_anndata
        layer, rep = options.layer, options.use_rep
        if is_mudata(data):
            layer, rep = _split_by_modality(layer, "layer"), _split_by_modality(rep, "use_rep")
            make = Views.from_mudata
        blocks = obsp_blocks(data, rep)
        if blocks is not None:
            return KernelViews.from_blocks(blocks)
        views = make(data, layer=layer, use_rep=rep, copy=False)
        note = f"{format_bytes(need.spent)} of features stay in {path.name}, as chunks"
        return LoadedData(views, notes=(note,) if views.chunked else ())


def _split_by_modality(said: str | None, what: str) -> Any:
    """``"rna=X_pca,adt=X_lsi"`` as a dict by modality; a word alone is for all of them."""
    if said is None or "=" not in said:
        return said
    pairs = [part.partition("=") for part in said.split(",")]
    if bad := [name + sign for name, sign, key in pairs if not (name.strip() and key.strip())]:
        raise ValueError(f"{what}: {bad[0]!r} is not as in rna=X_pca,adt=X_lsi")
    return {name.strip(): key.strip() for name, _, key in pairs}


def read_mudata(path: PathLike) -> Any:
    """The MuData or AnnData object of an ``.h5mu`` or ``.h5ad`` file.

    Parameters
    ----------
    path : path-like
        The ending says which of the two it is.

    Examples
    --------
    >>> from absentia import Views, datasets, io
    >>> views = datasets.load_digit_views(n_samples=20).views
    >>> path = io.write_mudata("digits.h5mu", views.to_mudata())
    >>> Views.from_mudata(io.read_mudata(path)).shape
    (20, 6)
    """
    path = Path(path)
    with file_errors(path):
        members = check_hdf5(path, Budget(limit=Budget().limit // _COPIES))
        many = path.suffix.lower() == ".h5mu"
        if many and "mod" not in members:
            raise ValueError(_NO_MODALITIES.format(members[:8]))
        package = import_optional("mudata" if many else "anndata", f"an {path.suffix} file")
        with _read_errors(path):
            data = package.read_h5mu(path) if many else package.read_h5ad(path)
            for part in (data, *getattr(data, "mod", {}).values()):
                _check_sparse(part)
        return data


@contextmanager
def _read_errors(path: Path) -> Iterator[None]:
    """Inside, AnnData's and MuData's packages read; whatever they say of a file is one sentence."""
    try:
        with quiet():
            yield
    except (MemoryError, FileError):
        raise
    except Exception as error:
        raise ValueError(f"not an {path.suffix} file, or a damaged one ({one_line(error)})") from None


def _check_sparse(data: Any) -> None:
    """Raise if a sparse matrix has places outside of it, which would be read from and written to."""
    mappings = [getattr(data, name, None) or {} for name in ("layers", "obsm", "obsp")]
    for matrix in (getattr(data, "X", None), *(x for entries in mappings for x in entries.values())):
        if scipy.sparse.issparse(matrix):
            check_sparse_indices(matrix)


def write_mudata(path: PathLike, data: Any) -> Path:
    """Write a MuData object to ``.h5mu`` or an AnnData object to ``.h5ad``, whole or not at all.

    Parameters
    ----------
    path : path-like
        Its ending must fit the object.
    data : MuData or AnnData
        What to write.

    Examples
    --------
    >>> from absentia import datasets, io
    >>> views = datasets.load_digit_views(n_samples=20).views
    >>> io.write_mudata("digits.h5mu", views.to_mudata()).name
    'digits.h5mu'
    """
    path = Path(path)
    wanted = ".h5mu" if is_mudata(data) else ".h5ad" if is_anndata(data) else None
    if wanted is None:
        raise ValueError(f"{path}: a MuData or AnnData object is wanted, not {type(data).__name__}")
    if path.suffix.lower() != wanted:
        raise FileError(f"{path}: a {type(data).__name__} object goes to a file that ends in {wanted}")
    with quiet():
        if wanted == ".h5ad":
            return write_atomically(path, lambda file: data.write_h5ad(file.name))
        mudata = import_optional("mudata", "an .h5mu file")
        return write_atomically(path, lambda file: mudata.write_h5mu(file.name, data))


# -------------------------------------------------------------------------------- what is asked for, alone


def _open_annotated(path: Path, file: Any, in_chunks: bool) -> Any:
    """What :func:`read_mudata` returns, as far as views are made of it."""
    whole = _Annotated(path, file, in_chunks)
    if path.suffix.lower() == ".h5mu":
        if "mod" not in file:
            raise ValueError(_NO_MODALITIES.format(list(file)[:8]))
        names = list(file["mod"])
        said = read_attribute(file["mod"], "mod-order")
        order = [] if said is None else [str(name) for name in np.ravel(said)]
        names = order if sorted(order) == sorted(names) else names
        whole.mod = {name: _Annotated(path, file["mod"][name], in_chunks) for name in names}
    return whole


class _Annotated:
    """What AnnData would make of a group of an open file; matrices are read when they are asked for."""

    mod: Mapping[str, Any] | None = None

    def __init__(self, path: Path, group: Any, in_chunks: bool) -> None:
        self.path, self.group, self.in_chunks = path, group, in_chunks
        self.obs = _read_frame(path, group, "obs")
        self.obs_names = self.obs.index
        self.layers, self.obsm, self.obsp = (_Entries(self, name) for name in ("layers", "obsm", "obsp"))

    @cached_property
    def var(self) -> Any:
        return _read_frame(self.path, self.group, "var")

    @property
    def var_names(self) -> Any:
        return self.var.index

    @property
    def X(self) -> Any:
        return self.read(self.group["X"], len(self.var)) if "X" in self.group else None

    def read(self, member: Any, width: int | None) -> Any:
        """A matrix with a row for each observation, or, in chunks, where it is; a data frame is read."""
        kind = "array" if hasattr(member, "dtype") else str(read_attribute(member, "encoding-type"))
        if kind == "dataframe":
            return _read_frame(self.path, member.parent, member.name.rpartition("/")[2])
        values = _place_rows(self.path, member, kind) if self.in_chunks else _read_whole(self.path, member)
        shape: tuple[int, ...] = getattr(values, "shape", ())
        if len(shape) != 2 or shape[0] != len(self.obs) or (width is not None and shape[1] != width):
            raise ValueError(f"{member.name!r} has shape {shape} for {len(self.obs)} observations; damaged")
        return ChunkedTable.of_array(member.name, values) if self.in_chunks else values


class _Entries(dict[str, Any]):
    """Matrices by name, each read when it is asked for."""

    def __init__(self, data: _Annotated, where: str) -> None:
        super().__init__(data.group.get(where, {}))
        self.data, self.where = data, where

    def __getitem__(self, name: str) -> Any:
        across = {"layers": "var", "obsp": "obs"}.get(self.where)
        width = None if across is None else len(getattr(self.data, across))
        return self.data.read(super().__getitem__(name), width)


def _read_frame(path: Path, group: Any, name: str) -> Any:
    """The data frame of observations or variables."""
    import pandas as pd

    if name not in group:
        raise ValueError(f"not an {path.suffix} file, or a damaged one (it has no {name!r})")
    member = group[name]
    if hasattr(member, "dtype"):  # before version 0.7: one array with fields, the first the names
        frame = pd.DataFrame(_read_whole(path, member))
        frame = frame.set_index(frame.columns[0])
    else:
        check_group(member, Budget())
        frame = _read_whole(path, member)
    return frame.set_axis(frame.index.astype(str), axis=0)


def _read_whole(path: Path, member: Any) -> Any:
    """A member of a file as AnnData reads it, the places of a sparse matrix checked."""
    anndata = import_optional("anndata", f"an {path.suffix} file")
    with _read_errors(path):
        values = anndata.io.read_elem(member)
        if scipy.sparse.issparse(values):
            check_sparse_indices(values)
        return values


@dataclass(frozen=True)
class _Rows:
    """A matrix in an HDF5 file, dense or sparse by rows, of which slices of rows are read, as arrays."""

    path: str
    name: str
    shape: tuple[int, int]
    dtype: np.dtype[Any]
    is_sparse: bool
    chunks: tuple[int, ...] = (1,)
    ndim: int = 2

    def __getitem__(self, rows: slice) -> Array:
        h5py = import_optional("h5py", "an HDF5 file")
        with h5py.File(self.path, "r") as file:
            member = file[self.name]
            if not self.is_sparse:
                return np.asarray(member[rows])
            places = np.asarray(member["indptr"][rows.start : rows.stop + 1]).astype(np.int64)
            first, last, n = int(places[0]), int(places[-1]), len(places) - 1
            if not 0 <= last - first <= n * self.shape[1] or first < 0:
                raise FileError(f"{self.path}: {self.name!r} has more values than places; it is damaged")
            stored = (member["data"][first:last], member["indices"][first:last], places - first)
            matrix = scipy.sparse.csr_array((n, self.shape[1]), dtype=self.dtype)
            matrix.data, matrix.indices, matrix.indptr = stored
            check_sparse_indices(matrix)
            return np.asarray(matrix.toarray())


def _place_rows(path: Path, member: Any, kind: str) -> _Rows:
    """A matrix that stays where it is."""
    if member.parent.name.endswith("obsp"):
        name = member.name.rpartition("/")[2]
        raise ValueError(f"{name!r} of obsp is a kernel, and kernels do not stay in chunks")
    if kind not in ("array", "csr_matrix"):
        raise ValueError(
            f"{member.name!r} is a {kind}; matrices in chunks are dense or sparse by rows (csr_matrix): "
            "convert it (X.tocsr()) and write the file again"
        )
    is_sparse = kind != "array"
    shape = tuple(np.ravel(read_attribute(member, "shape") if is_sparse else member.shape).tolist())
    values = member["data"] if is_sparse else member
    if is_sparse and member["indptr"].shape != (shape[0] + 1,):
        raise ValueError(f"{member.name!r} does not say where each of its rows begins; it is damaged")
    chunks = values.chunks or (1,)
    size = int(np.prod(chunks, dtype=object)) * max(values.dtype.itemsize, 8)
    Budget().spend(size, f"a chunk of {member.name!r}")
    rows = (1,) if is_sparse else chunks
    return _Rows(str(path.resolve()), member.name, shape, values.dtype, is_sparse, rows)


# --------------------------------------------------------------------------------------------------- labels


def obs_content(path: PathLike) -> dict[str, Array]:
    """The columns of obs of a file as arrays, with the names of observations as ``obs_names``.

    Those of a modality's own obs are called ``modality:column``, and are missing for who is not in it.
    """
    path = Path(path)
    with open_hdf5(path) as file:
        check_group(file, Budget(limit=2**63))
        data = _open_annotated(path, file, in_chunks=True)
    columns = {str(name): _plain_column(data.obs[name]) for name in data.obs.columns}
    for modality, part in data.mod.items() if is_mudata(data) else ():
        for name in part.obs.columns:
            values = part.obs[name].astype(object).reindex(data.obs_names)
            columns.setdefault(f"{modality}:{name}", _plain_column(values.infer_objects()))
    return {"obs_names": np.array([str(x) for x in data.obs_names], dtype=str), **columns}


def _plain_column(column: Any) -> Array:
    """Numbers as numbers, NaN where missing; anything else as texts, empty where missing."""
    missing = np.asarray(column.isna())
    if getattr(column.dtype, "kind", "O") in "biuf":  # nullable ones too
        return np.asarray(
            column.to_numpy(dtype=float, na_value=np.nan) if missing.any() else column.to_numpy()
        )
    return np.array(["" if gone else str(x) for x, gone in zip(column, missing, strict=True)], dtype=str)
