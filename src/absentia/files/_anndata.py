"""``.h5ad`` and ``.h5mu``: AnnData and MuData, read by their own packages once a file is seen to be safe.

Before they open a file, all of it is gone through (``_hdf5.check_hdf5``): no link leads out of it and
what it declares fits into memory.  Neither package unpickles anything.  ``.h5ad`` is one view: X, a
layer, an entry of obsm, or, if ``use_rep`` names one of obsp, a kernel.  ``.h5mu`` has a view for each
modality, and who is not in one lacks it.
"""

from pathlib import Path
from typing import Any

import numpy as np
import scipy.sparse

from absentia.core import Array
from absentia.data import KernelViews, Views, is_anndata, is_mudata, obsp_blocks, quiet
from absentia.files._base import (
    Budget,
    FileError,
    Options,
    PathLike,
    file_errors,
    import_optional,
    one_line,
    write_atomically,
)
from absentia.files._hdf5 import check_hdf5
from absentia.files._npz import check_sparse_indices

_COPIES = 2  # a file is read whole, and its values become those of views


def read_annotated(path: Path, options: Options) -> Views | KernelViews:
    """The one view of an ``.h5ad`` file, or a view for each modality of an ``.h5mu`` file; or kernels."""
    with file_errors(path):
        options.refuse("id", "views", why=f"an {path.suffix.lower()} file")
        data: Any = read_mudata(path)
        make: Any = Views.from_anndata
        layer, rep = options.layer, options.use_rep
        if is_mudata(data):
            layer, rep = _split_by_modality(layer, "layer"), _split_by_modality(rep, "use_rep")
            make = Views.from_mudata
        blocks = obsp_blocks(data, rep)
        if blocks is not None:
            return KernelViews.from_blocks(blocks)
        return make(data, layer=layer, use_rep=rep)


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
        many = path.suffix.lower() == ".h5mu"
        what = f"an {path.suffix} file"
        package = import_optional("mudata" if many else "anndata", what)
        members = check_hdf5(path, Budget(limit=Budget().limit // _COPIES))
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


def obs_content(path: PathLike) -> dict[str, Array]:
    """The columns of obs of a file as arrays, with the names of observations as ``obs_names``.

    Those of a modality's own obs are called ``modality:column``, and are missing for who is not in it.
    """
    data = read_mudata(path)
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
