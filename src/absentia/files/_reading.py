"""The one way in: which reader takes which file is in one table; each is loaded when first wanted.

A reader is a function of a path and :class:`Options` that returns Views, KernelViews or
:class:`LoadedData`.  Whatever is wrong with a file is a :class:`FileError` that names it.
"""

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import replace
from importlib import import_module
from pathlib import Path
from typing import Any, Literal, NamedTuple, cast

import numpy as np

from absentia.core import Array, check_name, warn
from absentia.data import AbsenceWarning, KernelViews, Views, drop_features, find_repeats, name_features
from absentia.files._base import LoadedData, Options, PathLike, feature_names, file_errors, path_exists
from absentia.files._tables import TABLE_ENDINGS

#: How a name ends -> the reader, as "module:function" in this package.
READERS = {
    ".npz": "_reading:_read_npz_or_sparse",
    ".npy": "_reading:_read_single_array",
    ".mat": "_reading:_read_arrays_as_views",
    ".h5": "_reading:_read_arrays_as_views",
    ".hdf5": "_reading:_read_arrays_as_views",
    ".zarr": "_reading:_read_arrays_as_views",
    ".h5ad": "_annotated:read_annotated",
    ".h5mu": "_annotated:read_annotated",
    **dict.fromkeys(TABLE_ENDINGS, "_frames:read_single_table"),
}
_FOLDER_READER = "_folder:read_folder"

#: How a name ends -> what reads its arrays by name, without making views of them.
_CONTENT_READERS = {
    ".npz": "_archive:read_arrays",
    ".npy": "_archive:npy_content",
    ".mat": "_mat:mat_content",
    ".h5": "_hdf5:hdf5_content",
    ".hdf5": "_hdf5:hdf5_content",
    ".zarr": "_archive:zarr_content",
    ".h5ad": "_annotated:obs_content",
    ".h5mu": "_annotated:obs_content",
}
CONTAINERS = tuple(_CONTENT_READERS)


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
    chunks: bool | Literal["auto"] = "auto",
    chunks_in: PathLike | None = None,
) -> Any:
    """Read Views or KernelViews from a file or a folder of tables; with `labels`, these too.

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
    chunks : bool or "auto"
        Whether features of a folder of Parquet files (a view each, or a folder of them for each view) and
        matrices of .h5ad and .h5mu files stay where they are, in chunks; "auto": if reading them would take
        more than a quarter of the free memory, which a warning says.
    chunks_in : path-like, optional
        A folder where numbers of text tables that are to stay in chunks are written to as Parquet files,
        once; what is there is taken again as long as the tables do not change.
    """
    check_name("chunks", str(chunks), ("True", "False", "auto"))
    if isinstance(ignore, str) or isinstance(transpose, str) or isinstance(features_from_labels, str):
        raise ValueError("ignore, transpose and features_from_labels are lists of names; give [NAME]")
    loaded = open_data(
        path,
        labels=labels,
        id=id,
        views=views,
        layer=layer,
        use_rep=use_rep,
        ignore=ignore,
        transpose=transpose,
        features_from_labels=features_from_labels,
        chunks=chunks,
        chunks_in=chunks_in,
    )
    if chunks == "auto" and getattr(loaded.data, "chunked", False):
        warn(f"{path}: {loaded.notes[-1]}", AbsenceWarning)
    if labels is None:
        return loaded.data
    from absentia.files._labels import read_labels

    targets = read_labels(labels, loaded, Path(path), id=id)
    data = targets.without(loaded.data)
    if not getattr(data, "chunked", False):  # whose features are not looked at once more
        for sentence in [*targets.leak_sentences(data), *(pair.sentence for pair in find_repeats(data))]:
            warn(sentence, AbsenceWarning)
    values = targets.values
    if targets.kind == "classes":
        values = values.astype(object)
        values[~targets.known] = None
    return data, values


def open_data(path: PathLike, *, labels: str | None = None, **options: Any) -> LoadedData:
    """Read as :func:`read` does, and bring what else was found: notes, and the table of labels.

    Parameters
    ----------
    path : path-like
        What to read.
    labels : str, optional
        Where the labels are; the table that is named there is no view.
    **options : optional
        As in :func:`read`.
    """
    from absentia.files._labels import locate_labels

    path = Path(path)
    if options.get("chunks_in") is not None:
        options["chunks_in"] = Path(options["chunks_in"])
    given = Options(**options, labels=None if labels is None else locate_labels(labels, path)[0])
    with file_errors(path):
        loaded = _open_with_options(path, given)
        unused = [entry for entry in given.ignore if entry not in given.used]
        if unused:
            raise ValueError(
                f"ignore: no column of any view fits {unused[0]!r}; there is nothing to ignore"
            )
        if not isinstance(given.transpose, bool):
            unknown = [name for name in given.transpose if name not in loaded.data.names]
            if unknown:
                raise ValueError(f"transpose: no view {unknown[0]!r}; there are {list(loaded.data.names)}")
    return replace(loaded, table=given.labels)


def read_new(path: PathLike, **options: Any) -> Views | KernelViews:
    """New samples: whatever :func:`read` takes, or rows of kernels in an .npz file.

    What is to be ignored, and the table of labels, need not be there.

    Rows have the keys ``K`` (views x new samples x training samples, NaN where absent), ``column_ids`` (the
    training samples), and optionally ``ids``, ``mask`` and ``names`` of the new samples and views.

    Parameters
    ----------
    path : path-like
        What to read.
    **options : optional
        As in :class:`Options`.
    """
    from absentia.files._archive import read_arrays
    from absentia.files._npz import from_arrays, is_data, read_kernel_rows

    path, given = Path(path), Options(**options)
    with file_errors(path):
        if path.suffix.lower() != ".npz":
            return _open_with_options(path, given).data
        given.refuse("id", "views", "layer", "use_rep", why="an .npz file")
        arrays = read_arrays(path, lambda key: is_data(key) or key == "column_ids")
        K = arrays.get("K")
        if "column_ids" in arrays:
            return read_kernel_rows(arrays)
        if K is not None and K.ndim == 3 and K.shape[1] != K.shape[2]:
            raise ValueError(
                f"'K' has {K.shape[1]} rows and {K.shape[2]} columns; say with 'column_ids' which training "
                "samples the columns are"
            )
        return _drop_ignored(from_arrays(arrays), given)


def _open_with_options(path: Path, options: Options) -> LoadedData:
    """Read with these options; whether each of them has fitted something is not asked."""
    reader, name = find_reader(path), _find_ending(path)
    if reader is None:
        raise ValueError(_explain_unknown(path))
    if options.transpose and name is not None and name not in TABLE_ENDINGS:
        raise ValueError(
            f"transpose is for tables, not for {name} files; turn the array and write it again"
        )
    if options.features_from_labels and options.is_label_table(path):
        options.refuse("views", why="columns that features_from_labels names")
        from absentia.files._frames import view_name

        options = replace(options, views={view_name(path): options.features_from_labels})
    loaded = as_loaded(reader(path, options))
    loaded = replace(loaded, data=_drop_ignored(loaded.data, options))
    if options.features_from_labels and not options.is_label_table(path):
        return cast(LoadedData, _load("_folder:add_features_from_labels")(loaded, options))
    return loaded


def as_loaded(data: Views | KernelViews | LoadedData) -> LoadedData:
    """What a reader returns, with or without what else it found."""
    return data if isinstance(data, LoadedData) else LoadedData(data)


def _drop_ignored(data: Views | KernelViews, options: Options) -> Views | KernelViews:
    """The data without the columns and views that are to be ignored."""
    views = [name for name in data.names if not options.is_ignored_view(name)]
    if not views:
        raise ValueError("all views are ignored; at least one is wanted")
    data = data if len(views) == data.n_views else data.select(views)
    if not isinstance(data, Views):
        return data
    for name in views:
        names = feature_names(data, name)
        if columns := options.ignored_columns(name, names):
            with_names = name_features(data, {name: names}, {}) if data.features(name) is None else data
            data = drop_features(with_names, name, columns)
    return data


def _find_ending(path: Path) -> str | None:
    """The ending by which a file is known, the longest that fits; None if it is not."""
    name = path.name.lower()
    return max(filter(name.endswith, READERS), key=len, default=None)


def find_reader(path: Path) -> Any:
    """The function that reads this file or folder, or None."""
    known = _find_ending(path)
    if known is None:
        return _load(_FOLDER_READER) if path.is_dir() else None
    return _load(READERS[known])


def is_readable(path: Path) -> bool:
    """Whether a file is of a kind that is read."""
    return _find_ending(path) is not None


def _load(name: str) -> Any:
    """A function of this package by "module:function"."""
    module, function = name.split(":")
    return getattr(import_module(f"absentia.files.{module}"), function)


_CONVERSIONS = {
    ".rds": "an R object; make a table of it in R: write.csv(readRDS(FILE), 'view.csv')",
    ".rdata": "objects of R; make a table of each in R: load(FILE); write.csv(NAME, 'NAME.csv')",
    ".pkl": "a pickle, which could run code and is never loaded; if you trust it, make a table of it in "
    "Python: pandas.read_pickle(FILE).to_csv('view.csv')",
}
_CONVERSIONS |= {".rda": _CONVERSIONS[".rdata"], ".pickle": _CONVERSIONS[".pkl"]}


def explain_conversion(path: Path) -> str | None:
    """What to do with a file that is not read but can be made one that is; None if nothing is known."""
    return _CONVERSIONS.get(path.suffix.lower())


def _explain_unknown(path: Path) -> str:
    if not path_exists(path):
        return "no such file"
    if how := explain_conversion(path):
        return f"is {how}"
    return f"is of no known kind; it may be a folder of tables or end in {', '.join(sorted(READERS))}"


# ---------------------------------------------------------------------------------- arrays of containers


def _read_arrays_as_views(path: Path, options: Options) -> LoadedData:
    """Views or kernels out of a container that does not say what its arrays mean."""
    from absentia.files._schema import describe_absence, infer_schema

    ending = path.suffix.lower()
    with file_errors(path):
        options.refuse("id", "layer", "use_rep", why=f"{ending} files")
        content = _load(_CONTENT_READERS[ending])(path)
        data = infer_schema(content, options.views)
        return LoadedData(data, describe_absence(content, data))


def _read_npz_or_sparse(path: Path, options: Options) -> Views | KernelViews:
    """An ``.npz`` file of ours, or a sparse matrix as :func:`scipy.sparse.save_npz` writes it."""
    from absentia.files._archive import list_keys
    from absentia.files._npz import SPARSE_KEYS, read_npz

    sparse = set(list_keys(path)) >= SPARSE_KEYS
    return _read_single_array(path, options) if sparse else read_npz(path, options)


def _read_single_array(path: Path, options: Options) -> Views | KernelViews:
    """A stack of kernels, (views, n, n) or (n, n, views); one kernel, if symmetric; or one view.

    The view is samples x features, as is the custom of NumPy and SciPy, and is named as the file.
    """
    from absentia.files._archive import npy_content
    from absentia.files._npz import read_sparse
    from absentia.files._schema import infer_schema

    ending = path.suffix.lower()
    with file_errors(path):
        options.refuse("id", "views", "layer", "use_rep", why=f"an {ending} file of one array")
        array = read_sparse(path) if ending == ".npz" else npy_content(path)[path.stem]
        if array.ndim != 2:
            return infer_schema({"K": array})
        return infer_schema({"table": array, "ids": np.arange(array.shape[0])}, {path.stem: ["table"]})


class _LabelArray(NamedTuple):
    """Values for samples, and whose they are; None if they are in the order of the file's samples."""

    ids: Array | None
    values: Array


def read_container(path: PathLike) -> dict[str, Array]:
    """The arrays in a file by name; those of cells, structs and groups as ``outer/inner``.

    Vectors are one-dimensional, however they lie in the file; sparse matrices are left out.  Of ``.h5ad``
    and ``.h5mu`` files these are the columns of obs, with ``obs_names`` beside them.

    Parameters
    ----------
    path : path-like
        An .npz, .npy, .mat, .h5, .hdf5, .zarr, .h5ad or .h5mu file.
    """
    path = Path(path)
    with file_errors(path):
        reader = _CONTENT_READERS.get(path.suffix.lower())
        if reader is None:
            raise ValueError(f"is no container of arrays; it may end in {', '.join(CONTAINERS)}")
        return dict(_flatten("", _load(reader)(path)))


def _flatten(prefix: str, content: Mapping[str, Any]) -> Iterator[tuple[str, Array]]:
    from absentia.files._schema import as_vector

    for key, x in content.items():
        vector = as_vector(x)
        if vector is not None or isinstance(x, np.ndarray):
            yield prefix + key, x if vector is None else vector
        elif isinstance(x, list | Mapping):
            inner = x if isinstance(x, Mapping) else {str(place): part for place, part in enumerate(x)}
            yield from _flatten(f"{prefix}{key}/", inner)


def read_label_array(path: PathLike, name: str) -> _LabelArray:
    """An array of a file, one value for each sample, with the samples' ids if the file has them.

    Parameters
    ----------
    path : path-like
        As in :func:`read_container`.
    name : str
        Which array, or which column of obs.
    """
    from absentia.files._archive import list_keys, read_arrays
    from absentia.files._npz import check_id_array

    path = Path(path)
    with file_errors(path):
        npz = path.suffix.lower() == ".npz"  # whose other arrays may be large
        arrays = read_arrays(path, {name, "ids"}.__contains__) if npz else read_container(path)
        if name not in arrays:
            keys = list_keys(path) if npz else list(arrays)
            raise ValueError(
                f"holds no labels {name[:80]!r} but {keys[:12] or 'nothing'}; name one of them, or a table "
                "as FILE:COLUMN"
            )
        values, ids = arrays[name], arrays.get("obs_names", arrays.get("ids"))
        if values.ndim not in (1, 2):
            raise ValueError(
                f"{name!r} has shape {values.shape}; a value, or a row, for each sample is wanted"
            )
        if ids is not None and (ids.ndim != 1 or len(ids) != len(values)):
            ids = None
        return _LabelArray(check_id_array(ids), values)
