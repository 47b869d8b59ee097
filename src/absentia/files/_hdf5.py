"""HDF5 files, which are untrusted: arrays at the root or one group deep, MATLAB 7.3, AnnData and MuData.

An HDF5 file can name other files: by external and soft links, virtual datasets, external storage.  None
of them is followed; a file that has one where data are looked for is refused.  Of attributes, only those
that MATLAB writes into its files of version 7.3 are read.  The HDF5 library believes what a file says of
its heaps and of sequences of varying length, and leaves its memory or hangs where these are damaged: they
are looked at, or refused, before it reads them.  What an array declares is checked against the ceiling of
memory before it is read.  Which array is what is said in ``_schema``.

``.h5ad`` and ``.h5mu`` are read by AnnData's and MuData's own packages once all of a file is gone through
(:func:`_check_hdf5`): no link leads out of it and what it declares fits into memory.  Neither package
unpickles anything.  ``.h5ad`` is one view: X, a layer, an entry of obsm, or, if ``use_rep`` names one of
obsp, a kernel.  ``.h5mu`` has a view for each modality, and who is not in one lacks it.
"""

import struct
from collections.abc import Iterator
from contextlib import contextmanager
from mmap import ACCESS_READ, mmap
from pathlib import Path
from typing import Any

import numpy as np
import scipy.sparse

from absentia.core import Array
from absentia.data import KernelViews, Views, is_anndata, is_mudata, obsp_blocks, quiet
from absentia.files._archive import MAX_MEMBERS
from absentia.files._base import (
    Budget,
    FileError,
    Options,
    PathLike,
    file_errors,
    import_optional,
    one_line,
    open_regular,
    write_atomically,
)
from absentia.files._npz import build_sparse, check_sparse_indices

_MAX_DEPTH = 32
_HEAP_SIGNATURE = b"GCOL\1\0\0\0"
_OBJECT = struct.Struct("<H6xQ")  # of a heap: number and length


def hdf5_content(path: PathLike) -> dict[str, Any]:
    """What an HDF5 file holds by name: arrays, and groups of arrays as dicts."""
    with _hdf5_file(path) as file:
        return _read_arrays(file, Budget())


def _read_arrays(group: Any, budget: Budget, depth: int = 0) -> dict[str, Any]:
    """The arrays of a group by name, and, of the root, those of the groups in it as dicts."""
    content: dict[str, Any] = {}
    for name, member in _iterate_members(group):
        if not _is_group(member):
            content[name] = _read_dataset(member, budget)
        elif depth == 0:
            content[name] = _read_arrays(member, budget, 1)
    return {name: value for name, value in content.items() if value is not None}


@contextmanager
def _hdf5_file(path: PathLike) -> Iterator[Any]:
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


def _is_group(member: Any) -> bool:
    """Whether this is a group and not a dataset."""
    return hasattr(member, "keys")


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


def _spend_dataset(dataset: Any, budget: Budget) -> None:
    """Spend what reading a dataset takes, also for values that it has none of yet and for one chunk."""
    least = 64 if dataset.dtype.kind in "OSU" else 8
    chunk = int(np.prod(dataset.chunks, dtype=object)) if dataset.chunks else 0
    need = max(int(dataset.size or 0), chunk, 1) * max(dataset.dtype.itemsize, least)
    budget.spend(need, f"{dataset.name!r}, {dataset.dtype} of shape {dataset.shape},")


def _read_dataset(dataset: Any, budget: Budget) -> Array | None:
    """A dataset as an array of numbers or texts; None if it is neither."""
    h5py = import_optional("h5py", "an HDF5 file")
    if dataset.shape is None:  # declared empty
        return None
    _spend_dataset(dataset, budget)
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


def _check_hdf5(path: PathLike, budget: Budget) -> list[str]:
    """Go through all of a file before somebody else reads it: links, places of values, types, sizes.

    The names of what lies at its root come back.
    """
    h5py = import_optional("h5py", "an HDF5 file")
    seen: set[int] = set()

    def go(here: Any, depth: int) -> None:
        if depth > _MAX_DEPTH:
            raise ValueError(f"holds groups more than {_MAX_DEPTH} deep; is it damaged?")
        _check_attributes(here, budget)
        for _, member in _iterate_members(here):
            address = h5py.h5o.get_info(member.id).addr
            if _is_group(member) and address in seen:
                raise ValueError(f"the group {member.name!r} is there more than once; is the file damaged?")
            seen.add(address)
            if _is_group(member):
                go(member, depth + 1)
            else:
                _check_attributes(member, budget)
                _check_type(member.dtype, f"{member.name!r}")
                _spend_dataset(member, budget)

    with _hdf5_file(path) as file:
        go(file, 0)
        return list(file)


def _read_attribute(member: Any, name: str) -> Any:
    """An attribute of a group or dataset; None if it has none of this name."""
    if name not in member.attrs:
        return None
    _check_type(member.attrs.get_id(name).dtype, f"the attribute {name!r} of {member.name!r}")
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
    with _hdf5_file(path) as tree:
        budget = Budget()
        members = [(name, member) for name, member in _iterate_members(tree) if name[:1] != "#"]
        content = {name: _read_matlab(member, budget, 0) for name, member in members}
        return {name: value for name, value in content.items() if value is not None}


def _read_matlab(member: Any, budget: Budget, depth: int) -> Any:
    """What a member of a file of version 7.3 is."""
    if depth > _MATLAB_DEPTH:
        return None
    kind = _read_matlab_class(member)
    if _is_group(member):
        if "MATLAB_sparse" in member.attrs:
            return _read_matlab_sparse(member, budget)
        fields = {name: _read_matlab(part, budget, depth + 1) for name, part in _iterate_members(member)}
        return {name: part for name, part in fields.items() if part is not None}
    if np.any(_read_attribute(member, "MATLAB_empty")):
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
    value = _read_attribute(member, "MATLAB_class")
    return value.decode("latin1") if isinstance(value, bytes) else str(value)


def _follow_references(cells: Any, budget: Budget) -> list[Any]:
    """What the cells refer to; references have no way out of a file, but what they lead to may."""
    h5py = import_optional("h5py", "an HDF5 file")
    if h5py.check_ref_dtype(cells.dtype) is not h5py.Reference:
        return [None]
    _spend_dataset(cells, budget)
    budget.spend(_REFERENCE_BYTES * int(cells.size), f"{cells.size} cells of {cells.name!r}")
    found = []
    for reference in np.asarray(cells[()]).T.ravel(order="F"):
        member = cells.file[reference] if reference else None
        found.append(member if member is None or _is_group(member) else _check_inside(member))
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
        if not _is_group(member)
    }
    columns = parts.get("jc")
    rows = _read_attribute(group, "MATLAB_sparse")
    if columns is None or np.size(rows) != 1:
        raise ValueError(f"{group.name!r} is a sparse matrix without its columns; it is damaged")
    stored = parts.get("data"), parts.get("ir")
    data, places = (np.zeros(0) if x is None else x for x in stored)
    shape = np.array([int(np.ravel(rows)[0]), len(columns) - 1])
    arrays = {"data": data, "indices": places.astype(np.int64), "indptr": columns, "shape": shape}
    return build_sparse(arrays, "csc")


# ----------------------------------------------------------------------------------------- AnnData, MuData

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
        return make(data, layer=layer, use_rep=rep, copy=False)


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
    >>> from absentia import Views, io
    >>> views = Views.from_mudata(io.read_mudata("cohort.h5mu"))  # doctest: +SKIP
    """
    path = Path(path)
    with file_errors(path):
        many = path.suffix.lower() == ".h5mu"
        what = f"an {path.suffix} file"
        package = import_optional("mudata" if many else "anndata", what)
        members = _check_hdf5(path, Budget(limit=Budget().limit // _COPIES))
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

    Examples
    --------
    >>> from absentia import datasets, io
    >>> views = datasets.load_digit_views(n_samples=20).views
    >>> path = io.write_mudata("digits.h5mu", views.to_mudata())  # doctest: +SKIP
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
