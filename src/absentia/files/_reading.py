"""The one way in: which reader takes which file is in one table; each is loaded when first wanted.

A reader is a function of a path and :class:`Options` that returns Views, KernelViews or :class:`Opened`.
Whatever is wrong with a file is a :class:`FileError` that names it.
"""

from collections.abc import Mapping, Sequence
from dataclasses import replace
from importlib import import_module
from pathlib import Path
from typing import Any, cast

from absentia.core import warn
from absentia.data import AbsenceWarning, KernelViews, Views, find_repeats, named, without_features
from absentia.files._errors import PathLike, reading
from absentia.files._formats import TABLES
from absentia.files._opening import there
from absentia.files._options import LabelsSource, Opened, Options

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
    ignore: Sequence[str] = (),
    transpose: bool | Sequence[str] = False,
    features_from_labels: Sequence[str] = (),
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
    ignore : sequence of str
        Columns to leave out: ``"COLUMN"`` of any view or ``"VIEW:COLUMN"``, names or patterns
        (``"date_*"``); ``"VIEW:*"`` leaves out a view.
    transpose : bool or sequence of str
        Tables whose columns are the samples: True for all, or these views.
    features_from_labels : sequence of str
        The table of labels is no view; these columns of it are features all the same.
    """
    if isinstance(ignore, str) or isinstance(transpose, str) or isinstance(features_from_labels, str):
        raise ValueError("ignore, transpose and features_from_labels are lists of names; give [NAME]")
    opened = open_data(
        path,
        labels=labels,
        id=id,
        views=views,
        layer=layer,
        use_rep=use_rep,
        ignore=ignore,
        transpose=transpose,
        features_from_labels=features_from_labels,
    )
    if labels is None:
        return opened.data
    from absentia.files._labels import read_labels

    found = read_labels(labels, opened, Path(path), id=id)
    data = found.without(opened.data)
    for sentence in [*found.leak_sentences(data), *(one.sentence for one in find_repeats(data))]:
        warn(sentence, AbsenceWarning)
    values = found.values
    if found.kind == "classes":
        values = values.astype(object)
        values[~found.known] = None
    return data, values


def open_data(path: PathLike, *, labels: str | LabelsSource | None = None, **options: Any) -> Opened:
    """Read as :func:`read` does, and bring what else was found: kernels by view, labels, notes.

    Parameters
    ----------
    path : path-like
        What to read.
    labels : str or LabelsSource, optional
        Where the labels are; the table that is named there is no view.
    **options : optional
        As in :func:`read`.
    """
    path = Path(path)
    given = Options(**options, labels=_labels_table(labels, path))
    with reading(path):
        opened = open_with(path, given)
        unused = [entry for entry in given.ignore if entry not in given.used]
        if unused:
            raise ValueError(
                f"ignore: no column of any view fits {unused[0]!r}; there is nothing to ignore"
            )
        if not isinstance(given.transpose, bool):
            unknown = [name for name in given.transpose if name not in opened.data.names]
            if unknown:
                raise ValueError(f"transpose: no view {unknown[0]!r}; there are {list(opened.data.names)}")
    return replace(opened, table=given.labels or (opened.labels.file if opened.labels else None))


def open_with(path: Path, options: Options) -> Opened:
    """Read with these options; whether each of them has fitted something is not asked."""
    reader, name = reader_of(path), ending(path)
    if reader is None:
        raise ValueError(_unknown(path))
    if options.transpose and name is not None and name not in (*TABLES, ".toml"):
        raise ValueError(
            f"transpose is for tables, not for {name} files; turn the array and write it again"
        )
    if options.features_from_labels and options.is_labels(path):
        options.refuse("views", why="columns that features_from_labels names")
        from absentia.files._frames import stem

        options = replace(options, views={stem(path): options.features_from_labels})
    found = reader(path, options)
    opened = found if isinstance(found, Opened) else Opened(found)
    opened = replace(opened, data=without_ignored(opened.data, options))
    if options.features_from_labels and not options.is_labels(path):
        return cast(Opened, loaded("_joining:with_features_from_labels")(opened, options))
    return opened


def _labels_table(labels: str | LabelsSource | None, path: Path) -> Path | None:
    """The table that is named for labels, if one is."""
    from absentia.files._labels import located

    if isinstance(labels, LabelsSource):
        return labels.file
    return None if labels is None else located(labels, path)[0]


def without_ignored(data: Views | KernelViews, options: Options) -> Views | KernelViews:
    """The data without the columns and views that are to be ignored."""
    kept = [name for name in data.names if not options.is_ignored(name)]
    if not kept:
        raise ValueError("all views are ignored; at least one is wanted")
    data = data if len(kept) == data.n_views else data.select(kept)
    if not isinstance(data, Views):
        return data
    for name in kept:
        features, width = data.features(name), data.block(name).shape[1]
        names = [f"{name}_{k}" for k in range(width)] if features is None else features.tolist()
        if columns := options.ignored(name, names):
            own = named(data, {name: names}, {}) if features is None else data
            data = without_features(own, name, columns)
    return data


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
