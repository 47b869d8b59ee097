"""Labels of samples, wherever they stand: in a table, in a column of a view, in an array of the data file.

Labels are found by id.  More or fewer of them than samples is normal and counted; only where nothing fits
at all is there an error.
"""

import os
from collections.abc import Sequence
from dataclasses import dataclass, replace
from pathlib import Path
from shlex import quote

import numpy as np

from absentia.core import Array
from absentia.data import KernelViews, Views, drop_features, find_leaks, normalize_id, show_id
from absentia.files._archive import list_keys
from absentia.files._base import FileError, LabelsSource, LoadedData, file_errors, path_exists
from absentia.files._cells import unescape_formula
from absentia.files._folder import WAYS_TO_DIFFER, match_ids
from absentia.files._frames import find_id_column, list_names, read_ids
from absentia.files._reading import CONTAINERS, as_loaded, read_label_array
from absentia.files._tables import RawTable, is_table, read_raw_table
from absentia.files._targets import MANY_CLASSES, Kind, ParsedLabels, parse_label_array, parse_targets

_LABEL_COLUMNS = ("label", "labels", "class", "y", "target", "subtype", "diagnosis", "outcome", "phenotype")


@dataclass(frozen=True, eq=False)
class Labels:
    """Labels, one for each sample of the data, and how they fit them.

    Attributes
    ----------
    kind : {"classes", "numbers", "survival", "multilabel"}
    columns : tuple of str
        The columns that they come from.
    values : ndarray of shape (n_samples,) or (n_samples, n_columns)
        In the order of the data's ids: texts (or whole numbers out of an array) for classes, else floats;
        of survival the time and the event (1 = it happened).
    known : ndarray of bool, shape (n_samples,)
        Who has a label.
    foreign : tuple of str
        Ids with a label that are in no view.
    empty : int
        How many samples have a line, but no label in it.
    unlabelled : int
        How many samples have no line.
    leaves : tuple of (view, column)
        Columns of views that are the label, and must not stay features.
    telling : tuple of (view, column)
        Columns of the same name that have other values, each of which goes with one label.
    """

    kind: Kind
    columns: tuple[str, ...]
    values: Array
    known: Array
    foreign: tuple[str, ...] = ()
    empty: int = 0
    unlabelled: int = 0
    leaves: tuple[tuple[str, str], ...] = ()
    telling: tuple[tuple[str, str], ...] = ()

    def without(self, data: Views | KernelViews) -> Views | KernelViews:
        """The data without the columns that are the label."""
        if isinstance(data, KernelViews):
            return data
        for view, column in self.leaves:
            if data.names == (view,) and data.block(view).shape[1] == 1:
                raise ValueError(f"the label {column!r} is all that there is; give features beside it")
            data = drop_features(data, view, [column])
        return data

    def leak_sentences(self, data: Views | KernelViews) -> list[str]:
        """Warnings of columns that nearly determine a label, those that have its name apart."""
        sentences = list[str]()
        if not isinstance(data, Views):
            return sentences
        for k, column in enumerate(self.columns):
            values = self.values if self.values.ndim == 1 else self.values[:, k]
            known = self.known & (values == values)
            numbers = self.kind == "numbers" or (self.kind == "survival" and k == 0)
            leaking = find_leaks(data[np.flatnonzero(known)], values[known], numbers=numbers)
            leaking = [leak for leak in leaking if (leak.view, leak.column) not in self.telling]
            sentences += [leak.sentence(f"the label {column!r}") for leak in leaking]
        return sentences


def read_labels(
    source: str | LabelsSource,
    data: LoadedData | Views | KernelViews,
    path: Path,
    *,
    id: str | None = None,
    kind: Kind | None = None,
) -> Labels:
    """Labels of the samples of `data`, which were read from `path`.

    Parameters
    ----------
    source : str or LabelsSource
        ``FILE:COLUMN`` (or ``FILE:COLUMN,COLUMN``), where the file is named relative to the working
        directory or to the data's folder; ``FILE``, a table with ids and one other column, or one that is
        called label, class or the like; ``COLUMN`` or ``VIEW:COLUMN`` of a view; or the name of
        an array in a container (.npz, .mat, HDF5, Zarr), or of a column of obs (.h5ad, .h5mu).
    data : LoadedData, Views or KernelViews
        The samples.
    path : Path
        Where they come from.
    id : str, optional
        The column of the table of labels that holds the ids.
    kind : {"classes", "numbers", "survival", "multilabel"}, optional
        What the labels are; found by what they look like if not given.
    """
    loaded = as_loaded(data)
    labels = _find_labels(source, loaded, path, id, kind)
    if isinstance(loaded.data, KernelViews):
        return labels
    leaves, telling = _find_label_features(labels, loaded.data)
    return replace(labels, leaves=leaves, telling=telling)


def _find_labels(
    source: str | LabelsSource, loaded: LoadedData, path: Path, id: str | None, kind: Kind | None
) -> Labels:
    data, ending = loaded.data, path.suffix.lower()
    if isinstance(source, LabelsSource):
        return _from_table(source.file, source.column, data, source.id or id, kind)
    file, column = locate_labels(source, path)
    if file is not None:
        return _from_table(file, column, data, id, kind)
    if isinstance(data, Views) and (place := _find_view_column(source, data)):
        return _from_view(data, *place, kind)
    if os.path.isdir(source) and not (ending == ".npz" and source in list_keys(path)):
        raise FileError(f"{source}: is a folder; the table of labels is wanted, as FILE:COLUMN")
    if ending in CONTAINERS:
        return _from_container(source, path, data.ids, kind)
    with file_errors(path):
        table = read_raw_table(path) if is_table(path) else None
        if table is not None and source in table.names:  # of a wide table, and in no view
            return _from_table(path, source, data, id, kind, table)
        raise ValueError(
            f"there are no labels {source[:80]!r}: no table of that name, and no column of a view; "
            "FILE:COLUMN or the name of a column is wanted"
        )


def locate_labels(source: str, path: Path) -> tuple[Path | None, str | None]:
    """The file and the column that `source` means; no file if it means neither.

    Parameters
    ----------
    source : str
        As in :func:`read_labels`.
    path : Path
        Where the data come from.
    """
    folder = path if os.path.isdir(path) else path.parent
    cuts = [len(source), *(k for k in range(len(source) - 1, 0, -1) if source[k] == ":")]
    for cut in cuts:
        name, column = source[:cut], source[cut + 1 :] or None
        for file in (Path(name), folder / name):
            if name and path_exists(file) and not os.path.isdir(file) and file.suffix.lower() != ".npz":
                return file, column
    for cut in cuts:
        if is_table(Path(source[:cut])):  # it is not there, which whoever opens it says
            return Path(source[:cut]), source[cut + 1 :] or None
    return None, None


# --------------------------------------------------------------------------------------------- a table


def _from_table(
    path: Path,
    column: str | None,
    data: Views | KernelViews,
    id: str | None,
    kind: Kind | None,
    table: RawTable | None = None,
) -> Labels:
    with file_errors(path):
        table = read_raw_table(path) if table is None else table
        id_column = find_id_column(table, id if id in table.names else None)
        places = _label_places(table, id_column, column)
        samples = [normalize_id(str(x)) for x in data.ids.tolist()]
        listed = read_ids(table, id_column)
        rows = _locate(samples, listed)
        if (rows < 0).all():
            raise ValueError(
                _explain_no_match(table, id_column, listed, samples) + _explain_transposed(data, listed)
            )
        texts = [[unescape_formula(cell.strip()) for cell in table.texts(place)] for place in places]
        cells = [[text[row] if row >= 0 else "" for row in rows.tolist()] for text in texts]
        names = tuple(table.names[place] for place in places)
        return _align_labels(names, parse_targets(names, cells, kind), rows, samples, listed)


def _locate(samples: Sequence[str], listed: Sequence[str]) -> Array:
    """For each sample its place in a list of ids, -1 where it is not there."""
    where = {x: place for place, x in enumerate(listed)}
    return np.array([where.get(x, -1) for x in samples], dtype=int)


def _align_labels(
    columns: tuple[str, ...],
    parsed: ParsedLabels,
    rows: Array,
    samples: Sequence[str],
    listed: Sequence[str],
) -> Labels:
    """Labels with the counts of those who have none: `rows` are places of `samples` among the `listed`."""
    known_ids, has_row = set(samples), rows >= 0
    return Labels(
        parsed.kind,
        columns,
        parsed.values,
        parsed.known,
        foreign=tuple(x for x in listed if x not in known_ids),
        empty=int((has_row & ~parsed.known).sum()),
        unlabelled=int((~has_row).sum()),
    )


def _label_places(table: RawTable, id_column: int, column: str | None) -> list[int]:
    """Which columns hold the labels."""
    others = [place for place in range(len(table.names)) if place != id_column]
    if column is not None:
        wanted = [column] if column in table.names else [name.strip() for name in column.split(",")]
        lacking = [name for name in wanted if name not in table.names]
        if lacking:
            raise ValueError(
                f"there is no column {lacking[0]!r}; the columns are {list_names(table.names)}"
            )
        return [table.names.index(name) for name in wanted]
    if len(others) == 1:
        return others
    called = [place for place in others if table.names[place].lower() in _LABEL_COLUMNS]
    if len(called) != 1:
        raise ValueError(
            f"which column is the label? There are {list_names([table.names[p] for p in others])}; "
            "name one as FILE:COLUMN"
        )
    return called


def _explain_no_match(
    table: RawTable, id_column: int, listed: Sequence[str], samples: Sequence[str]
) -> str:
    """A sentence about two lists of ids that have nothing in common."""
    known = set(samples)
    fits = [
        name
        for place, name in enumerate(table.names)
        if place != id_column and known & set(table.texts(place))
    ]
    pairs = match_ids(listed, samples)
    example, other = pairs[0] if pairs else (listed[0], samples[0])
    return (
        f"none of its {len(listed)} ids (column {table.names[id_column]!r}, e.g. {show_id(example[:80])}) "
        f"is among the {len(samples)} samples (e.g. {show_id(other[:80])})"
        + (f"; {len(pairs)} differ only in {WAYS_TO_DIFFER}: write them alike" if pairs else "")
        + (f"; column {fits[0]!r} does hold ids of samples: say so (--id {fits[0]})" if fits else "")
        + ("" if pairs or fits else "; give the labels of these samples, or the column of their ids")
    )


def _explain_transposed(data: Views | KernelViews, listed: Sequence[str]) -> str:
    """What to do about views whose columns are called as the samples with labels are."""
    features = {name: data.features(name) for name in data.names} if isinstance(data, Views) else {}
    known = set(listed)
    transposed = [
        name
        for name, columns in features.items()
        if columns is not None and 2 * len(known.intersection(columns.tolist())) >= max(len(columns), 2)
    ]
    if not transposed:
        return ""
    which = "" if len(transposed) == data.n_views else "".join(f" {quote(name)}" for name in transposed)
    views = ", ".join(map(repr, transposed))
    return f"; columns of view {views} are named as these ids: is it transposed? Give --transpose{which}"


# ---------------------------------------------------------------------------------------------- a view


def _find_view_column(source: str, data: Views) -> tuple[str, str] | None:
    """The view and the column that `source` means, if any; several views may have such a column."""
    view, _, column = source.partition(":")
    names: dict[str, list[str]] = {}
    for name in data.names:
        features = data.features(name)
        names[name] = [] if features is None else features.tolist()
    if column and view in names and column in names[view]:
        return view, column
    having = [name for name, columns in names.items() if source in columns]
    if len(having) > 1:
        raise ValueError(
            f"views {list_names(having)} all have a column {source!r}; name one as {having[0]}:{source}"
        )
    return (having[0], source) if having else None


def _find_label_features(
    labels: Labels, data: Views
) -> tuple[tuple[tuple[str, str], ...], tuple[tuple[str, str], ...]]:
    """Columns of views that are the label under its own name, and those that tell it by other values.

    Parameters
    ----------
    labels : Labels
        Of the samples of `data`.
    data : Views
        The features.
    """
    leaves, telling = [], []
    for k, column in enumerate(labels.columns):
        values = labels.values if labels.values.ndim == 1 else labels.values[:, k]
        label = [
            _format_value(x) if ok else "" for x, ok in zip(values.tolist(), labels.known, strict=True)
        ]
        for view in data.names:
            features = data.features(view)
            if features is None or column not in features.tolist():
                continue
            cells, _ = _column_cells(data, view, column)
            both = [pair for pair in zip(cells, label, strict=True) if all(pair)]
            if both and all(cell == text for cell, text in both):
                leaves.append((view, column))
            elif _determines(both):
                telling.append((view, column))
    return tuple(leaves), tuple(telling)


def _determines(pairs: Sequence[tuple[str, str]]) -> bool:
    """Whether few different values go with one label each, and with several labels in all."""
    cells, labels = {cell for cell, _ in pairs}, {label for _, label in pairs}
    few = len(cells) <= min(MANY_CLASSES, len(pairs) / 2)
    return few and len(labels) > 1 and len(set(pairs)) == len(cells)


def _format_value(value: object) -> str:
    """A value as :func:`_column_cells` has it."""
    text = repr(value).removesuffix(".0") if isinstance(value, int | float) else str(value)
    return {"nan": "", "true": "1", "false": "0"}.get(text.lower(), text)  # as truth values are in views


def _column_cells(data: Views, view: str, column: str) -> tuple[list[str], Array]:
    """A column of a view as texts, empty where missing, and the samples that have the view."""
    features = data.features(view)
    assert features is not None
    values = data.block(view)[:, [features.tolist().index(column)]]
    numbers = np.asarray(values.toarray() if hasattr(values, "toarray") else values, dtype=float).ravel()
    levels = data.levels(view).get(column)
    cells = [""] * len(data)
    having = np.flatnonzero(data.observed[:, data.names.index(view)])
    for sample, number in zip(having.tolist(), numbers.tolist(), strict=True):
        if number == number:
            cells[sample] = _format_value(number) if levels is None else levels[int(number)]
    return cells, having


def _from_view(data: Views, view: str, column: str, kind: Kind | None) -> Labels:
    cells, having = _column_cells(data, view, column)
    targets = parse_targets((column,), [cells], kind)
    empty, lacking = int((~targets.known[having]).sum()), len(data) - len(having)
    return Labels(targets.kind, (column,), targets.values, targets.known, empty=empty, unlabelled=lacking)


# ------------------------------------------------------------------------------------------- an array


def _from_container(source: str, path: Path, ids: Array, kind: Kind | None) -> Labels:
    """Labels out of an array that has ids beside it, by these; otherwise in the order of the samples."""
    with file_errors(path):
        array = read_label_array(path, source)
        samples = [normalize_id(str(x)) for x in ids.tolist()]
        listed, rows, values = samples, np.arange(len(ids)), array.values
        if array.ids is not None and values.ndim == 1:
            listed = [normalize_id(str(x)) for x in array.ids.tolist()]
            rows = _locate(samples, listed)
            gap = np.zeros(1, str) if values.dtype.kind == "U" else np.full(1, np.nan)
            values = (values if (rows >= 0).all() else np.concatenate([values, gap]))[rows]
        try:
            targets = parse_label_array(values, len(ids), kind)
        except ValueError as error:
            raise ValueError(str(error) if repr(source) in str(error) else f"{source!r}: {error}") from None
        return _align_labels((source,), targets, rows, samples, listed)
