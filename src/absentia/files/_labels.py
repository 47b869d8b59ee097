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
from absentia.data import KernelViews, Views, find_leaks, normal_id, shown, without_features
from absentia.files._alike import HOW, alike
from absentia.files._archive import archive, keys
from absentia.files._contents import CONTENTS, OBSERVATIONS, label_array
from absentia.files._errors import FileError, reading
from absentia.files._formats import is_table, read_raw
from absentia.files._frames import checked_ids, id_place, some
from absentia.files._npz import is_data
from absentia.files._opening import there
from absentia.files._options import LabelsSource, Opened
from absentia.files._raw import Raw
from absentia.files._tables import plain_cell
from absentia.files._targets import MOST_CLASSES, Kind, targets

NAMES = ("label", "labels", "class", "y", "target", "subtype", "diagnosis", "outcome", "phenotype")


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
            data = without_features(data, view, [column])
        return data

    def leak_sentences(self, data: Views | KernelViews) -> list[str]:
        """Warnings of columns that nearly determine a label, those that have its name apart."""
        found = list[str]()
        if not isinstance(data, Views):
            return found
        for k, column in enumerate(self.columns):
            values = self.values if self.values.ndim == 1 else self.values[:, k]
            known = self.known & (values == values)
            numbers = self.kind == "numbers" or (self.kind == "survival" and k == 0)
            leaking = find_leaks(data[np.flatnonzero(known)], values[known], numbers=numbers)
            leaking = [one for one in leaking if (one.view, one.column) not in self.telling]
            found += [one.sentence(f"the label {column!r}") for one in leaking]
        return found


def read_labels(
    source: str | LabelsSource,
    data: Opened | Views | KernelViews,
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
    data : Opened, Views or KernelViews
        The samples.
    path : Path
        Where they come from.
    id : str, optional
        The column of the table of labels that holds the ids.
    kind : {"classes", "numbers", "survival", "multilabel"}, optional
        What the labels are; found by what they look like if not given.
    """
    opened = data if isinstance(data, Opened) else Opened(data)
    found = _found(source, opened, path, id, kind)
    if isinstance(opened.data, KernelViews):
        return found
    leaves, telling = leaks(found, opened.data)
    return replace(found, leaves=leaves, telling=telling)


def _found(
    source: str | LabelsSource, opened: Opened, path: Path, id: str | None, kind: Kind | None
) -> Labels:
    if isinstance(source, LabelsSource):
        return _from_table(source.file, source.column, opened.data, source.id or id, kind)
    file, column = located(source, path)
    if file is not None:
        return _from_table(file, column, opened.data, id, kind)
    if isinstance(opened.data, Views) and (found := _of_a_view(source, opened.data)):
        return _from_view(opened.data, *found, kind)
    in_arrays = path.suffix.lower() == ".npz"
    if os.path.isdir(source) and not (in_arrays and source in keys(path)):
        raise FileError(f"{source}: is a folder; the table of labels is wanted, as FILE:COLUMN")
    if in_arrays:
        return _from_array(source, path, len(opened.data), kind)
    if path.suffix.lower() in (*CONTENTS, *OBSERVATIONS):
        return _from_container(source, path, opened.data.ids, kind)
    if is_table(path) and source in read_raw(path).names:  # of a wide table, and in no view
        return _from_table(path, source, opened.data, id, kind)
    with reading(path):
        raise ValueError(
            f"there are no labels {source[:80]!r}: no table of that name, and no column of a view; "
            "FILE:COLUMN or the name of a column is wanted"
        )


def located(source: str, path: Path) -> tuple[Path | None, str | None]:
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
            if name and there(file) and not os.path.isdir(file) and file.suffix.lower() != ".npz":
                return file, column
    for cut in cuts:
        if is_table(Path(source[:cut])):  # it is not there, which whoever opens it says
            return Path(source[:cut]), source[cut + 1 :] or None
    return None, None


# --------------------------------------------------------------------------------------------- a table


def _from_table(
    path: Path, column: str | None, data: Views | KernelViews, id: str | None, kind: Kind | None
) -> Labels:
    with reading(path):
        raw = read_raw(path)
        own = id_place(raw, id if id in raw.names else None)
        places = _label_places(raw, own, column)
        wanted = [normal_id(str(x)) for x in data.ids.tolist()]
        listed = checked_ids(raw, own)
        where = {x: line for line, x in enumerate(listed)}
        lines = [where.get(x) for x in wanted]
        if all(line is None for line in lines):
            raise ValueError(_nothing_fits(raw, own, listed, wanted) + _if_turned(data, listed))
        cells = [[plain_cell(cell.strip()) for cell in raw.texts(place)] for place in places]
        rows = [["" if line is None else own[line] for line in lines] for own in cells]
        names = tuple(raw.names[place] for place in places)
        found, values, known = targets(names, rows, kind)
    lined = np.array([line is not None for line in lines])
    known_ids = set(wanted)
    return Labels(
        found,
        names,
        values,
        known,
        foreign=tuple(x for x in listed if x not in known_ids),
        empty=int((lined & ~known).sum()),
        unlabelled=int((~lined).sum()),
    )


def _label_places(raw: Raw, own: int, column: str | None) -> list[int]:
    """Which columns hold the labels."""
    others = [place for place in range(len(raw.names)) if place != own]
    if column is not None:
        wanted = [column] if column in raw.names else [name.strip() for name in column.split(",")]
        lacking = [name for name in wanted if name not in raw.names]
        if lacking:
            raise ValueError(
                f"there is no column {lacking[0]!r}; the columns are {some([repr(x) for x in raw.names])}"
            )
        return [raw.names.index(name) for name in wanted]
    if len(others) == 1:
        return others
    called = [place for place in others if raw.names[place].lower() in NAMES]
    if len(called) != 1:
        raise ValueError(
            f"which column is the label? There are {some([repr(raw.names[p]) for p in others])}; "
            "name one as FILE:COLUMN"
        )
    return called


def _nothing_fits(raw: Raw, own: int, listed: Sequence[str], wanted: Sequence[str]) -> str:
    """A sentence about two lists of ids that have nothing in common."""
    known = set(wanted)
    fits = [name for place, name in enumerate(raw.names) if place != own and known & set(raw.texts(place))]
    pairs = alike(listed, wanted)
    example, other = pairs[0] if pairs else (listed[0], wanted[0])
    return (
        f"none of its {len(listed)} ids (column {raw.names[own]!r}, e.g. {shown(example[:80])}) is among "
        f"the {len(wanted)} samples (e.g. {shown(other[:80])})"
        + (f"; {len(pairs)} differ only in {HOW}: write them alike" if pairs else "")
        + (f"; column {fits[0]!r} does hold ids of samples: say so (--id {fits[0]})" if fits else "")
        + ("" if pairs or fits else "; give the labels of these samples, or the column of their ids")
    )


def _if_turned(data: Views | KernelViews, listed: Sequence[str]) -> str:
    """What to do about views whose columns are called as the samples with labels are."""
    features = {name: data.features(name) for name in data.names} if isinstance(data, Views) else {}
    known = set(listed)
    turned = [
        name
        for name, own in features.items()
        if own is not None and 2 * len(known.intersection(own.tolist())) >= max(len(own), 2)
    ]
    if not turned:
        return ""
    which = "" if len(turned) == data.n_views else "".join(f" {quote(name)}" for name in turned)
    views = ", ".join(map(repr, turned))
    return f"; columns of view {views} are named as these ids: is it transposed? Give --transpose{which}"


# ---------------------------------------------------------------------------------------------- a view


def _of_a_view(source: str, data: Views) -> tuple[str, str] | None:
    """The view and the column that `source` means, if any; several views may have such a column."""
    view, _, column = source.partition(":")
    names: dict[str, list[str]] = {}
    for name in data.names:
        features = data.features(name)
        names[name] = [] if features is None else features.tolist()
    if column and view in names and column in names[view]:
        return view, column
    having = [name for name, own in names.items() if source in own]
    if len(having) > 1:
        raise ValueError(
            f"views {some([repr(name) for name in having])} all have a column {source!r}; name one as "
            f"{having[0]}:{source}"
        )
    return (having[0], source) if having else None


def leaks(labels: Labels, data: Views) -> tuple[tuple[tuple[str, str], ...], tuple[tuple[str, str], ...]]:
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
        label = [_written(x) if ok else "" for x, ok in zip(values.tolist(), labels.known, strict=True)]
        for view in data.names:
            features = data.features(view)
            if features is None or column not in features.tolist():
                continue
            cells, _ = _cells(data, view, column)
            both = [(cell, own) for cell, own in zip(cells, label, strict=True) if cell and own]
            if both and all(cell == own for cell, own in both):
                leaves.append((view, column))
            elif _tells(both):
                telling.append((view, column))
    return tuple(leaves), tuple(telling)


def _tells(pairs: Sequence[tuple[str, str]]) -> bool:
    """Whether few different values go with one label each, and with several labels in all."""
    cells, labels = {cell for cell, _ in pairs}, {label for _, label in pairs}
    few = len(cells) <= min(MOST_CLASSES, len(pairs) / 2)
    return few and len(labels) > 1 and len(set(pairs)) == len(cells)


def _written(value: object) -> str:
    """A value as :func:`_cells` has it."""
    text = repr(value).removesuffix(".0") if isinstance(value, int | float) else str(value)
    return {"nan": "", "true": "1", "false": "0"}.get(text.lower(), text)  # as truth values are in views


def _cells(data: Views, view: str, column: str) -> tuple[list[str], Array]:
    """A column of a view as texts, empty where missing, and the samples that have the view."""
    features = data.features(view)
    assert features is not None
    own = data.block(view)[:, [features.tolist().index(column)]]
    numbers = np.asarray(own.toarray() if hasattr(own, "toarray") else own, dtype=float).ravel()
    levels = data.levels(view).get(column)
    cells = [""] * len(data)
    having = np.flatnonzero(data.observed[:, data.names.index(view)])
    for sample, number in zip(having.tolist(), numbers.tolist(), strict=True):
        if number == number:
            cells[sample] = _written(number) if levels is None else levels[int(number)]
    return cells, having


def _from_view(data: Views, view: str, column: str, kind: Kind | None) -> Labels:
    cells, having = _cells(data, view, column)
    found, values, known = targets((column,), [cells], kind)
    empty = int((~known[having]).sum())
    return Labels(found, (column,), values, known, empty=empty, unlabelled=len(data) - len(having))


# ------------------------------------------------------------------------------------------- an array


def _from_array(source: str, path: Path, n: int, kind: Kind | None) -> Labels:
    with archive(path) as members:
        if source not in members:
            others = [key for key in members if not is_data(key)]
            raise ValueError(
                f"holds no labels {source[:80]!r}; "
                + (f"other arrays in it are {others[:8]}; " if others else "")
                + "name one, or a table as FILE:COLUMN"
            )
        try:
            values, known, found = as_labels(members[source].read(), n, kind)
        except ValueError as error:
            raise ValueError(str(error) if repr(source) in str(error) else f"{source!r}: {error}") from None
    return Labels(found, (source,), values, known, empty=int((~known).sum()))


def _from_container(source: str, path: Path, ids: Array, kind: Kind | None) -> Labels:
    """Labels out of an array that has ids beside it, by these; otherwise in the order of the samples."""
    with reading(path):
        held = label_array(path, source)
        if held.ids is None or held.values.ndim != 1:
            values, known, found = as_labels(held.values, len(ids), kind)
            return Labels(found, (source,), values, known, empty=int((~known).sum()))
        own, wanted = ([normal_id(str(x)) for x in some.tolist()] for some in (held.ids, ids))
        where = {x: place for place, x in enumerate(own)}
        lines = np.array([where.get(x, -1) for x in wanted])
        nothing = np.zeros(1, str) if held.values.dtype.kind == "U" else np.full(1, np.nan)
        padded = held.values if (lines >= 0).all() else np.concatenate([held.values, nothing])
        values, known, found = as_labels(padded[lines], len(ids), kind)
    there = lines >= 0
    samples = set(wanted)
    foreign = tuple(x for x in own if x not in samples)
    return Labels(
        found,
        (source,),
        values,
        known,
        foreign=foreign,
        empty=int((there & ~known).sum()),
        unlabelled=int((~there).sum()),
    )


def as_labels(values: Array, n: int, kind: Kind | None = None) -> tuple[Array, Array, Kind]:
    """An array as labels, whole numbers as integers, which of them are there, and what they are."""
    if values.shape != (n,):
        raise ValueError(f"labels of shape {values.shape} for {n} samples; one for each is wanted")
    if values.dtype.kind == "U":
        found, texts, known = targets(
            ("",), [[cell.strip() for cell in values.tolist()]], kind or "classes"
        )
        return texts, known, found
    if values.dtype.kind not in "biuf":
        raise ValueError(f"labels are {values.dtype}; texts or numbers are wanted")
    known = values == values
    there = values[known].astype(float)
    odd = there[(np.abs(there) > 2.0**53) | (there != np.round(there))]
    if kind == "numbers" or (kind is None and (len(odd) or len(np.unique(there)) > MOST_CLASSES)):
        return values.astype(float), known, "numbers"
    if len(odd):
        raise ValueError(f"{odd[0]} is no class; texts or whole numbers are wanted")
    if kind not in (None, "classes"):
        raise ValueError(f"one array cannot be {kind}; name columns of a table as FILE:COLUMN,COLUMN")
    return (
        (np.where(known, values, 0).astype(np.int64) if values.dtype.kind == "f" else values),
        known,
        "classes",
    )
