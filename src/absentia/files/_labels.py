"""Labels of samples, wherever they stand: in a table, in a column of a view, in an array of the data file.

Labels are found by id, and what they are, classes, numbers, survival or several labels at once, by what
they look like.  More or fewer of them than samples is normal and counted; only where nothing fits
at all is there an error.
"""

import os
from collections.abc import Sequence
from dataclasses import dataclass, replace
from pathlib import Path
from shlex import quote
from typing import Literal, NamedTuple, get_args

import numpy as np

from absentia.core import Array, warn
from absentia.data import (
    WAYS_TO_DIFFER,
    AbsenceWarning,
    KernelViews,
    Views,
    drop_features,
    find_leaks,
    match_ids,
    normalize_id,
    show_id,
)
from absentia.files._archive import list_keys
from absentia.files._base import FileError, LoadedData, file_errors, path_exists
from absentia.files._columns import (
    GAPS,
    UNSURE,
    find_decimal,
    is_measured,
    is_number,
    parse_numbers,
    parse_written,
    unescape_formula,
)
from absentia.files._folder import find_transposed
from absentia.files._frames import find_id_column, list_names, read_ids
from absentia.files._reading import CONTAINERS, as_loaded, read_label_array
from absentia.files._tables import RawTable, is_table, read_raw_table

_Kind = Literal["classes", "numbers", "survival", "multilabel"]
_MANY_CLASSES = 20  # more different whole numbers than these are numbers, not classes

_YES, _NO = ("1", "1.0", "yes", "true", "y", "t"), ("0", "0.0", "no", "false", "n", "f")
_LABEL_COLUMNS = ("label", "labels", "class", "y", "target", "subtype", "diagnosis", "outcome", "phenotype")


class _ParsedLabels(NamedTuple):
    """What labels are, their values, one (row) for each sample, and who has them."""

    kind: _Kind
    values: Array
    known: Array


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
    label_columns : tuple of (view, column)
        Columns of views that are the label, and must not stay features.
    """

    kind: _Kind
    columns: tuple[str, ...]
    values: Array
    known: Array
    foreign: tuple[str, ...] = ()
    empty: int = 0
    unlabelled: int = 0
    label_columns: tuple[tuple[str, str], ...] = ()

    def without(self, data: Views | KernelViews) -> Views | KernelViews:
        """The data without the columns that are the label."""
        if isinstance(data, KernelViews):
            return data
        for view, column in self.label_columns:
            if data.names == (view,) and data.block(view).shape[1] == 1:
                raise ValueError(f"the label {column!r} is all that there is; give features beside it")
            data = drop_features(data, view, [column])
        return data

    def leak_sentences(self, data: Views | KernelViews) -> list[str]:
        """Warnings of columns that nearly determine a label."""
        sentences = list[str]()
        if not isinstance(data, Views):
            return sentences
        for k, column in enumerate(self.columns):
            values = self.values if self.values.ndim == 1 else self.values[:, k]
            known = self.known & (values == values)
            numbers = self.kind == "numbers" or (self.kind == "survival" and k == 0)
            leaking = find_leaks(data[np.flatnonzero(known)], values[known], numbers=numbers)
            sentences += [leak.sentence(f"the label {column!r}") for leak in leaking]
        return sentences


def read_labels(
    source: str,
    data: LoadedData | Views | KernelViews,
    path: str | os.PathLike[str],
    *,
    id: str | None = None,
    kind: _Kind | None = None,
) -> Labels:
    """Labels of the samples of `data`, which were read from `path`.

    Parameters
    ----------
    source : str
        ``FILE:COLUMN`` (or ``FILE:COLUMN,COLUMN``), where the file is named relative to the working
        directory or to the data's folder; ``FILE``, a table with ids and one other column, or one that is
        called label, class or the like; ``COLUMN`` or ``VIEW:COLUMN`` of a view; or the name of
        an array in a container (.npz, .mat, HDF5, Zarr), or of a column of obs (.h5ad, .h5mu).
    data : LoadedData, Views or KernelViews
        The samples.
    path : path
        Where they come from.
    id : str, optional
        The column of the table of labels that holds the ids.
    kind : {"classes", "numbers", "survival", "multilabel"}, optional
        What the labels are; found by what they look like if not given.

    Examples
    --------
    >>> from absentia import datasets, io
    >>> files = datasets.write_cohort("breast", "newpatients")
    >>> data = io.open_data("breast", labels="labels.csv:subtype")
    >>> io.read_labels("labels.csv:subtype", data, "breast").known.sum()
    np.int64(140)
    """
    data = as_loaded(data).data
    return _with_label_columns(_find_labels(source, data, Path(path), id, kind), data)


def read_covariates(
    columns: Sequence[str], data: LoadedData, path: Path, *, id: str | None = None
) -> dict[str, Labels]:
    """Columns of the table of labels, or of views (``COLUMN`` or ``VIEW:COLUMN``), by name.

    Parameters
    ----------
    columns : sequence of str
        Their names.
    data : LoadedData
        The samples.
    path : Path
        Where they come from.
    id : str, optional
        The column of the table of labels that holds the ids.
    """
    table = read_raw_table(data.table) if columns and data.table is not None else None
    covariates = {}
    for column in columns:
        if data.table is not None and table is not None and column in table.names:
            labels = _from_table(data.table, column, data.data, id, None)
            covariates[column] = _with_label_columns(labels, data.data)
        elif isinstance(data.data, Views) and _find_view_column(column, data.data):
            covariates[column] = read_labels(column, data, path)
        else:
            known = "" if table is None else f"{data.table} ({list_names(table.names)}) or of "
            raise ValueError(f"covariate {column!r} is no column of {known}a view; name one that is")
    return covariates


def read_groups(source: str, data: LoadedData, path: Path, *, id: str | None = None) -> Labels:
    """Which samples of `data` belong together: patients, families, sites.

    Parameters
    ----------
    source : str
        A column of the table of labels, or what :func:`read_labels` takes.
    data, path, id
        As in :func:`read_labels`.
    """
    if data.table is not None and locate_labels(source, path)[0] is None:
        with file_errors(data.table):
            names = read_raw_table(data.table).names
        if source in names:
            return _with_label_columns(_from_table(data.table, source, data.data, id, "classes"), data.data)
    return read_labels(source, data, path, id=id, kind="classes")


def _find_labels(
    source: str, data: Views | KernelViews, path: Path, id: str | None, kind: _Kind | None
) -> Labels:
    ending = path.suffix.lower()
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
    kind: _Kind | None,
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
        return _align_labels(names, _parse_targets(names, cells, kind), rows, samples, listed)


def _locate(samples: Sequence[str], listed: Sequence[str]) -> Array:
    """For each sample its place in a list of ids, -1 where it is not there."""
    where = {x: place for place, x in enumerate(listed)}
    return np.array([where.get(x, -1) for x in samples], dtype=int)


def _align_labels(
    columns: tuple[str, ...],
    parsed: _ParsedLabels,
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
    columns = {name: names.tolist() for name, names in features.items() if names is not None}
    if not (transposed := find_transposed(columns, listed)):
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


def _with_label_columns(labels: Labels, data: Views | KernelViews) -> Labels:
    """The labels with the columns of views that have the name of a label and are it."""
    if isinstance(data, KernelViews):
        return labels
    label_columns = []
    for k, column in enumerate(labels.columns):
        values = labels.values if labels.values.ndim == 1 else labels.values[:, k]
        label = [
            _format_value(x) if ok else "" for x, ok in zip(values.tolist(), labels.known, strict=True)
        ]
        for view in data.names:
            features = data.features(view)
            if features is not None and column in features.tolist():
                cells, _ = _column_cells(data, view, column)
                both = [pair for pair in zip(cells, label, strict=True) if all(pair)]
                if both and all(cell == text for cell, text in both):
                    label_columns.append((view, column))
    return replace(labels, label_columns=tuple(label_columns))


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


def _from_view(data: Views, view: str, column: str, kind: _Kind | None) -> Labels:
    cells, having = _column_cells(data, view, column)
    targets = _parse_targets((column,), [cells], kind)
    empty, lacking = int((~targets.known[having]).sum()), len(data) - len(having)
    return Labels(targets.kind, (column,), targets.values, targets.known, empty=empty, unlabelled=lacking)


# ------------------------------------------------------------------------------------------- an array


def _from_container(source: str, path: Path, ids: Array, kind: _Kind | None) -> Labels:
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
            targets = _parse_label_array(values, len(ids), kind)
        except ValueError as error:
            raise ValueError(str(error) if repr(source) in str(error) else f"{source!r}: {error}") from None
        return _align_labels((source,), targets, rows, samples, listed)


# ------------------------------------------------------------------------------ what labels are


def _parse_targets(
    names: Sequence[str], columns: Sequence[Sequence[str]], kind: _Kind | None = None
) -> _ParsedLabels:
    """Columns of texts as labels.

    Parameters
    ----------
    names : sequence of str
        Names of the columns.
    columns : sequence of sequences of str
        Cells without spaces around them, one for each sample; what is in ``GAPS`` is missing.
    kind : {"classes", "numbers", "survival", "multilabel"}, optional
        What they are said to be.
    """
    if kind is not None and kind not in get_args(_Kind):
        raise ValueError(f"labels cannot be {kind!r}; there are {', '.join(get_args(_Kind))}")
    if kind is None:
        kind = _infer_kind(names, columns)
    wanted = {"classes": 1, "numbers": 1, "survival": 2}.get(kind, len(columns))
    if len(columns) != wanted:
        raise ValueError(
            f"{len(columns)} columns ({', '.join(names[:5])}) cannot be {kind}; {wanted} "
            f"{'is' if wanted == 1 else 'are'} wanted"
        )
    if kind == "classes":
        return _ParsedLabels(kind, *_parse_classes(columns[0]))
    if kind == "numbers":
        values = _parse_column(names[0], columns[0])
        return _ParsedLabels(kind, values, ~np.isnan(values))
    if kind == "survival":
        values = np.column_stack(
            [_parse_times(names[0], columns[0]), _parse_yes_or_no(names[1], columns[1])]
        )
        return _ParsedLabels(kind, values, np.asarray(~np.isnan(values).any(axis=1)))
    values = np.column_stack([_parse_yes_or_no(*pair) for pair in zip(names, columns, strict=True)])
    return _ParsedLabels(kind, values, np.asarray(~np.isnan(values).all(axis=1)))


def _parse_label_array(values: Array, n: int, kind: _Kind | None = None) -> _ParsedLabels:
    """An array as labels of `n` samples, whole numbers as integers."""
    if values.shape != (n,):
        raise ValueError(f"labels of shape {values.shape} for {n} samples; one for each is wanted")
    if values.dtype.kind == "U":
        return _parse_targets(("",), [[cell.strip() for cell in values.tolist()]], kind or "classes")
    if values.dtype.kind not in "biuf":
        raise ValueError(f"labels are {values.dtype}; texts or numbers are wanted")
    known = values == values
    numbers = values[known].astype(float)
    odd = numbers[(np.abs(numbers) > 2.0**53) | (numbers != np.round(numbers))]
    if kind == "numbers" or (kind is None and (len(odd) or len(np.unique(numbers)) > _MANY_CLASSES)):
        return _ParsedLabels("numbers", values.astype(float), known)
    if len(odd):
        raise ValueError(f"{odd[0]} is no class; texts or whole numbers are wanted")
    if kind not in (None, "classes"):
        raise ValueError(f"one array cannot be {kind}; name columns of a table as FILE:COLUMN,COLUMN")
    codes = np.where(known, values, 0).astype(np.int64) if values.dtype.kind == "f" else values
    return _ParsedLabels("classes", codes, known)


def _infer_kind(names: Sequence[str], columns: Sequence[Sequence[str]]) -> _Kind:
    if len(columns) == 1:
        cells = {cell for cell in columns[0] if cell not in GAPS}
        values, _ = _parse_cells(names[0], list(cells))
        measured = {cell for cell in cells if is_measured(cell)}
        if values is None and len(measured) > max(_MANY_CLASSES, len(cells) / 2):
            odd = min(cell for cell in cells if not is_number(cell))
            raise ValueError(
                f"column {names[0]!r} holds numbers with something else among them, e.g. {odd[:40]!r}; "
                "write numbers, in one way, and leave cells empty where there is none"
            )
        if values is None or not cells:
            return "classes"
        return "classes" if len(set(values.tolist())) <= _MANY_CLASSES and _is_whole(values) else "numbers"
    if len(columns) == 2:
        if [name.lower() for name in names] == ["time", "event"]:
            return "survival"
        first, second = ({cell.lower() for cell in column if cell not in GAPS} for column in columns)
        if (
            second <= {*_YES, *_NO}
            and not first <= {*_YES, *_NO}
            and _parse_cells(names[0], list(first))[0] is not None
        ):
            return "survival"
    return "multilabel"


def _parse_cells(name: str, cells: Sequence[str]) -> tuple[Array | None, str]:
    """Cells as numbers, None if some are none, and one of them if they are not written plainly."""
    values = parse_numbers(cells)
    sign = find_decimal(set(cells) - GAPS) if values is None else None
    if sign is None:
        return values, ""
    odd = min(cell for cell in cells if cell not in GAPS)
    if sign == UNSURE:
        odd = min(cell for cell in cells if "," in cell)
        raise ValueError(
            f"column {name!r} holds numbers such as {odd[:40]!r}, which may be {odd.replace(',', '')[:40]} "
            f"or {odd.replace(',', '.')[:40]}; write them without thousands separators and with a point"
        )
    return parse_written(cells, sign), f"{odd[:40]!r} as {parse_written([odd], sign)[0]:.10g}"


def _is_whole(values: Array) -> bool:
    return bool((np.isfinite(values) & (values == np.round(values))).all())


def _parse_classes(cells: Sequence[str]) -> tuple[Array, Array]:
    """Classes as texts; whole numbers that something made floats of are whole again."""
    there = [cell for cell in cells if cell not in GAPS]
    whole = all(map(is_number, there)) and _is_whole(np.array(there, dtype=float))
    if whole and any("." in cell for cell in there):
        cells = [cell if cell in GAPS else str(int(float(cell))) for cell in cells]
    texts = np.array(["" if cell in GAPS else cell for cell in cells], dtype=str)
    return texts, texts != ""


def _parse_column(name: str, cells: Sequence[str]) -> Array:
    values, written = _parse_cells(name, cells)
    if written:
        warn(f"labels {name!r} are read as numbers: {written}", AbsenceWarning)
    if values is None or np.isinf(values).any():
        bad = next(cell for cell in cells if cell not in GAPS and not is_number(cell))
        raise ValueError(f"column {name!r} is to be numbers, and {bad[:40]!r} is none; mend or empty it")
    return values


def _parse_times(name: str, cells: Sequence[str]) -> Array:
    values = _parse_column(name, cells)
    if (values < 0).any():
        raise ValueError(f"column {name!r} holds {np.nanmin(values):g}; times are not negative")
    return values


def _parse_yes_or_no(name: str, cells: Sequence[str]) -> Array:
    """1, 0 and NaN."""
    codes = {**dict.fromkeys(_YES, 1.0), **dict.fromkeys(_NO, 0.0)}
    bad = next((cell for cell in cells if cell not in GAPS and cell.lower() not in codes), None)
    if bad is not None:
        raise ValueError(
            f"column {name!r} holds {bad[:40]!r}; of several labels each is 1, 0 or empty, and of survival "
            "(time,event) so is the event"
        )
    return np.array([np.nan if cell in GAPS else codes[cell.lower()] for cell in cells], dtype=float)
