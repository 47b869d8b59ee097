"""``.h5ad`` and ``.h5mu`` files: an AnnData object is one view, a MuData object one for each modality.

A view is X, a layer, an entry of obsm, or, if ``use_rep`` names one of obsp, a kernel.  Who is not in a
modality lacks it.  All of a file is gone through before (``_hdf5``): no link leads out of it, and what it
declares fits into memory.  Then AnnData's and MuData's own packages read it, which unpickle nothing.  Of a
file that is too large for that, obs and var are read, and matrices stay where they are, in chunks.
"""

from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from pathlib import Path
from types import SimpleNamespace
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


def read_annotated(path: Path, options: Options) -> LoadedData | KernelViews:
    """The one view of an ``.h5ad`` file, or a view for each modality of an ``.h5mu`` file; or kernels."""
    with file_errors(path):
        options.refuse("id", "views", why=f"an {path.suffix.lower()} file")
        need = Budget(limit=2**63)
        members = check_hdf5(path, need)
        in_chunks = options.stays_in_chunks(_COPIES * need.spent)
        if in_chunks:
            data = _open_annotated(path)
        elif _COPIES * need.spent > Budget().limit:
            data = read_mudata(path)  # which says what is too large
        else:
            data = _load(path, members)
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
    """
    path = Path(path)
    with file_errors(path):
        return _load(path, check_hdf5(path, Budget(limit=Budget().limit // _COPIES)))


def _load(path: Path, members: list[str]) -> Any:
    """The same of a file that was gone through, and has these members."""
    many = path.suffix.lower() == ".h5mu"
    what = f"an {path.suffix} file"
    package = import_optional("mudata" if many else "anndata", what)
    if many and "mod" not in members:
        raise ValueError(f"holds no modalities ('mod') but {members[:8]}; is it an .h5ad file?")
    try:
        with quiet():
            data = package.read_h5mu(path) if many else package.read_h5ad(path)
        for part in (data, *getattr(data, "mod", {}).values()):
            _check_sparse(part)
        return data
    except (MemoryError, FileError):
        raise
    except Exception as error:
        raise ValueError(f"not {what}, or a damaged one ({one_line(error)})") from None


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


# ------------------------------------------------------------------------------------ too large to be read


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


def _open_annotated(path: Path) -> Any:
    """What :func:`read_mudata` returns, as far as views are made of it; its matrices are in chunks."""
    with open_hdf5(path) as file:
        if path.suffix.lower() != ".h5mu":
            return _describe(path, file)
        if "mod" not in file:
            raise ValueError(f"holds no modalities ('mod') but {list(file)[:8]}; is it an .h5ad file?")
        names = list(file["mod"])
        said = read_attribute(file["mod"], "mod-order")
        order = [] if said is None else [str(name) for name in np.ravel(said)]
        names = order if sorted(order) == sorted(names) else names
        mod = {name: _describe(path, file["mod"][name]) for name in names}
        obs = _read_frame(path, file, "obs")
        obsp = _Entries(path, file, "obsp", len(obs), len(obs))
        return SimpleNamespace(obs=obs, obs_names=obs.index, mod=mod, obsp=obsp)


def _describe(path: Path, group: Any) -> Any:
    """What AnnData would make of a group, but matrices in chunks."""
    obs, var = _read_frame(path, group, "obs"), _read_frame(path, group, "var")
    n, width = len(obs), len(var)
    return SimpleNamespace(
        obs=obs,
        var=var,
        obs_names=obs.index,
        var_names=var.index,
        X=_describe_matrix(path, group["X"], n, width) if "X" in group else None,
        layers=_Entries(path, group, "layers", n, width),
        obsm=_Entries(path, group, "obsm", n, None),
        obsp=_Entries(path, group, "obsp", n, n),
    )


class _Entries(Mapping[str, Any]):
    """Matrices of `n` observations by name, each looked at when it is asked for."""

    def __init__(self, path: Path, group: Any, where: str, n: int, width: int | None) -> None:
        self.path, self.where, self.n, self.width = path, f"{group.name}/{where}", n, width
        self.names = list(group.get(where, ()))

    def __iter__(self) -> Iterator[str]:
        return iter(self.names)

    def __len__(self) -> int:
        return len(self.names)

    def __getitem__(self, name: str) -> Any:
        if name not in self.names:
            raise KeyError(name)
        if self.where.endswith("obsp"):
            raise ValueError(f"{name!r} of obsp is a kernel, and kernels do not stay in chunks")
        with import_optional("h5py", "an HDF5 file").File(self.path, "r") as file:
            return _describe_matrix(self.path, file[self.where][name], self.n, self.width)


def _read_frame(path: Path, group: Any, name: str) -> Any:
    """The data frame of observations or variables."""
    anndata = import_optional("anndata", f"an {path.suffix} file")
    try:
        member = group[name]
        check_group(member, Budget())
        with quiet():
            frame = anndata.io.read_elem(member)
        return frame.set_axis(frame.index.astype(str), axis=0)
    except ValueError:
        raise
    except Exception as error:
        raise ValueError(f"not an {path.suffix} file, or a damaged one ({one_line(error)})") from None


def _describe_matrix(path: Path, member: Any, n: int, width: int | None) -> Any:
    """A matrix with a row for each of `n` observations, in chunks; a data frame is read."""
    kind = "array" if hasattr(member, "dtype") else str(read_attribute(member, "encoding-type"))
    if kind == "dataframe":
        return _read_frame(path, member.parent, member.name.rpartition("/")[2])
    if kind not in ("array", "csr_matrix"):
        raise ValueError(
            f"{member.name!r} is a {kind}; matrices in chunks are dense or sparse by rows (csr_matrix): "
            "convert it (X.tocsr()) and write the file again"
        )
    is_sparse = kind != "array"
    shape = np.ravel(read_attribute(member, "shape") if is_sparse else member.shape).tolist()
    if len(shape) != 2 or shape[0] != n or (width is not None and shape[1] != width):
        raise ValueError(f"{member.name!r} has shape {tuple(shape)} for {n} observations; it is damaged")
    values = member["data"] if is_sparse else member
    if is_sparse and member["indptr"].shape != (n + 1,):
        raise ValueError(f"{member.name!r} does not say where each of its {n} rows begins; it is damaged")
    chunks = values.chunks or (1,)
    size = int(np.prod(chunks, dtype=object)) * max(values.dtype.itemsize, 8)
    Budget().spend(size, f"a chunk of {member.name!r}")
    rows = (1,) if is_sparse else chunks
    given = _Rows(str(path.resolve()), member.name, (n, int(shape[1])), values.dtype, is_sparse, rows)
    return ChunkedTable.of_array(member.name, given)


# --------------------------------------------------------------------------------------------------- labels


def obs_content(path: PathLike) -> dict[str, Array]:
    """The columns of obs of a file as arrays, with the names of observations as ``obs_names``.

    Those of a modality's own obs are called ``modality:column``, and are missing for who is not in it.
    """
    path = Path(path)
    with file_errors(path):
        need = Budget(limit=2**63)
        members = check_hdf5(path, need)
        fits = _COPIES * need.spent <= Budget().limit
        data = _load(path, members) if fits else _open_annotated(path)
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
