"""The one way in: which reader takes which file is in one table; each is loaded when first wanted.

A reader is a function of a path and :class:`Options` that returns Views, KernelViews or :class:`Opened`.
Whatever is wrong with a file is a :class:`FileError` that names it.
"""

from collections.abc import Mapping, Sequence
from importlib import import_module
from pathlib import Path
from typing import Any

from absentia.files._errors import PathLike, reading
from absentia.files._formats import TABLES
from absentia.files._opening import there
from absentia.files._options import Opened, Options

#: How a name ends -> the reader, as "module:function" in this package.
READERS = {
    ".npz": "_npy:read_npz_or_sparse",
    ".npy": "_npy:read_npy",
    ".mat": "_mat:read_mat",
    ".h5": "_hdf5:read_hdf5",
    ".hdf5": "_hdf5:read_hdf5",
    ".zarr": "_zarr:read_zarr",
    ".h5ad": "_anndata:read_h5ad",
    ".h5mu": "_anndata:read_h5mu",
    ".toml": "_manifest:read_manifest",
    **dict.fromkeys(TABLES, "_frames:read_table_file"),
}
FOLDER = "_folder:read_folder"


def read(
    path: PathLike,
    *,
    labels: str | None = None,
    id: str | None = None,
    views: Mapping[str, Sequence[str]] | None = None,
    layer: str | None = None,
    use_rep: str | None = None,
) -> Any:
    """Read Views or KernelViews from a file, a folder of tables or a manifest; with `labels`, these too.

    Parameters
    ----------
    path : path-like
        What to read; its ending says what it is.
    labels : str, optional
        Where the labels are, as in :func:`read_labels` (``"labels.csv:subtype"``).  Then a pair comes back:
        the data, without a column that is the label, and an array with a label for each sample, None (of
        numbers: NaN) where it is unknown.
    id : str, optional
        The column of a table that holds the ids of samples.
    views : mapping of str to sequence of str, optional
        For one wide table: patterns (as ``gene_*``) of the columns that make up each view.
    layer, use_rep : str, optional
        For .h5ad and .h5mu files: a layer, or an entry of obsm, to read instead of X.
    """
    opened = open_data(path, id=id, views=views, layer=layer, use_rep=use_rep)
    if labels is None:
        return opened.data
    from absentia.files._labels import read_labels

    found = read_labels(labels, opened, Path(path), id=id)
    values = found.values
    if found.kind == "classes":
        values = values.astype(object)
        values[~found.known] = None
    return found.without(opened.data), values


def open_data(path: PathLike, **options: Any) -> Opened:
    """Read as :func:`read` does, and bring what else was found: kernels by view, labels, notes.

    Parameters
    ----------
    path : path-like
        What to read.
    **options : optional
        As in :func:`read`.
    """
    path, given = Path(path), Options(**options)
    with reading(path):
        reader = reader_of(path)
        if reader is None:
            raise ValueError(_unknown(path))
        found = reader(path, given)
        return found if isinstance(found, Opened) else Opened(found)


def ending(path: Path) -> str | None:
    """The ending by which a file is known, the longest that fits; None if it is not."""
    name = path.name.lower()
    return max((one for one in READERS if name.endswith(one)), key=len, default=None)


def reader_of(path: Path) -> Any:
    """The function that reads this file or folder, or None."""
    known = ending(path)
    if known is None:
        return loaded(FOLDER) if path.is_dir() else None
    return loaded(READERS[known])


def is_known(path: Path) -> bool:
    """Whether a file is of a kind that is read."""
    return ending(path) is not None


def loaded(name: str) -> Any:
    """A function of this package by "module:function"."""
    module, function = name.split(":")
    return getattr(import_module(f"absentia.files.{module}"), function)


def how_to_convert(path: Path) -> str | None:
    """What to do with a file that is not read but can be made one that is; None if nothing is known."""
    kind, table = path.suffix.lower(), f"{path.stem}.csv"
    if kind == ".rds":
        return f"an R object; make a table of it in R: write.csv(readRDS({path.name!r}), {table!r})"
    if kind in (".rdata", ".rda"):
        return (
            f"objects of R; make a table of each in R: print(load({path.name!r})) names them, and "
            f"write.csv(NAME, 'NAME.csv') writes one"
        )
    if kind in (".pkl", ".pickle"):
        return (
            "a pickle, which could run code and is never loaded; if you trust it, make a table of it in "
            f"Python: pandas.read_pickle({path.name!r}).to_csv({table!r})"
        )
    return None


def _unknown(path: Path) -> str:
    if not there(path):
        return "no such file"
    if how := how_to_convert(path):
        return f"is {how}"
    return f"is of no known kind; it may be a folder of tables or end in {', '.join(sorted(READERS))}"
