"""A folder as one data set: each table is a view, named as its file is.

The file that is named for labels, and files that are called labels, y, target, outcome or phenotype, are
not views.  Folders inside are not looked into.  A manifest (``absentia.toml``, or the only .toml file)
takes the place of all this.  It says which files are which views, and what to make of them:

::

    schema = 1
    [views.expression]
    file = "expr.csv"
    kernel = "cosine"
    [labels]
    file = "labels.csv"
    column = "subtype"

All keys are in ``docs/files.md``.  Files are named relative to the manifest and lie in its folder.

Where folders inside hold Parquet files, or Parquet files are large, ``_chunks`` reads them.

The views are lined up by id.  Ids that may be the same, written differently in case, spaces, signs, zeros
or type, are pointed out.
"""

import re
import tomllib
from collections import Counter
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import replace
from pathlib import Path
from shlex import quote
from typing import TYPE_CHECKING, Any

import scipy.sparse

from absentia.core import warn
from absentia.data import WAYS_TO_DIFFER, AbsenceWarning, KernelViews, Views, match_ids, show_id
from absentia.files._base import (
    Budget,
    LabelsSource,
    LoadedData,
    Options,
    feature_names,
    file_errors,
    open_regular,
)
from absentia.files._chunks import read_parquet_folder
from absentia.files._frames import LABEL_NAMES, TableSpec, complete_spec, read_frame, read_sheets, view_name
from absentia.files._reading import as_loaded, explain_conversion, find_reader, is_readable
from absentia.files._tables import is_table
from absentia.kernels import KERNELS

if TYPE_CHECKING:
    import pandas as pd

_MANIFEST = "absentia.toml"
_NOT_DATA = re.compile(r"\..*|~\$.*|readme.*|.*\.(md|html?|json|toml)", re.IGNORECASE | re.DOTALL)
_N_SHOWN = 6


def read_folder(path: Path, options: Options) -> LoadedData:
    """The views of a folder.

    Parameters
    ----------
    path : Path
        The folder.
    options : Options
        What is said of every table in it.
    """
    manifest = _find_manifest(path)
    if manifest is not None:
        return read_manifest(manifest, options)
    if (in_parquet := read_parquet_folder(path, options)) is not None:
        return in_parquet
    options.refuse("views", why="a folder; it is for one wide table")
    files, labels, unknown = _sort_files(path, options)
    if unknown:
        names = ", ".join(file.name for file in unknown[:_N_SHOWN]) + (
            " ..." if len(unknown) > _N_SHOWN else ""
        )
        advice = [(file.name, explain_conversion(file)) for file in unknown[:_N_SHOWN]]
        how = "".join(f"; {name} is {words}" for name, words in advice if words)
        warn(f"{path}: {len(unknown)} file(s) of no known kind are left out: {names}{how}", AbsenceWarning)
    if not files:
        raise ValueError(
            "is a folder without any table; each view is one, e.g. expression.csv with a column of ids"
            + (
                f" ({labels[0].name} is taken for labels; if features stand beside them, give this table "
                "itself, not its folder)"
                if labels
                else ""
            )
        )
    frames, sources = dict[str, Any](), dict[str, str]()
    notes = [_note_labels(file, options) for file in labels]
    for file in files:
        views, more = _read_views(file, options)
        for name in views:
            if name in sources:
                raise ValueError(
                    f"{sources[name]} and {file.name} would both be view {name!r}; rename or remove one"
                )
            sources[name] = file.name
        frames |= views
        notes += more
    return join_frames(frames, notes)


def _read_views(file: Path, options: Options) -> "tuple[dict[str, pd.DataFrame], Sequence[str]]":
    """The views of one of several files by name, and notes: one, or of a workbook one for each sheet."""
    name = view_name(file)
    if file.suffix.lower() == ".xlsx":
        return read_sheets(file, options, f"{name}_")
    frame, notes = _read_view(name, file, TableSpec(id=options.id), options)
    return {name: frame}, notes


def _note_labels(file: Path, options: Options) -> str:
    note = f"{file.name} is not a view: it is taken for labels"
    if options.is_label_table(file) and not options.features_from_labels:
        note += " (--features-from-labels COLUMN ... makes features of others of its columns)"
    return note


def _find_manifest(path: Path) -> Path | None:
    manifests = sorted(file for file in path.iterdir() if file.name.lower().endswith(".toml"))
    named = [file for file in manifests if file.name.lower() == _MANIFEST]
    if len(manifests) > 1 and not named:
        raise ValueError(
            f"holds {len(manifests)} manifests, "
            f"{', '.join(file.name for file in manifests[:_N_SHOWN])}; give the one "
            f"that is meant, or call it {_MANIFEST}"
        )
    return next(iter(named or manifests), None)


def _sort_files(path: Path, options: Options) -> tuple[list[Path], list[Path], list[Path]]:
    """Files that are views, that hold labels, and that nothing is known of."""
    files, labels, unknown = list[Path](), list[Path](), list[Path]()
    for file in sorted(path.iterdir(), key=lambda file: (file.name.lower(), file.name)):
        if _NOT_DATA.fullmatch(file.name) or (file.is_dir() and not is_readable(file)):
            continue
        if is_readable(file) and (LABEL_NAMES.fullmatch(view_name(file)) or options.is_label_table(file)):
            labels.append(file)
        elif not options.is_ignored_view(view_name(file)):
            (files if is_readable(file) else unknown).append(file)
    for file in files:
        if not file.resolve().is_relative_to(path.resolve()):
            raise ValueError(
                f"{file.name} is a link that leads out of the folder; put the file itself there"
            )
    return files, labels, unknown


# ------------------------------------------------------------------------------------------ manifests

_SCHEMA = 1
_MAX_MANIFEST = 1 << 20
_TEXT, _TEXTS, _YES = "a text", "a list of texts", "true or false"
_VIEW_KEYS = {
    "file": _TEXT,
    "id": _TEXT,
    "kernel": _TEXT,
    "log": _YES,
    "columns": _TEXTS,
    "ignore": _TEXTS,
    "categorical": _TEXTS,
    "missing": _TEXTS,
    "transpose": _YES,
    "sheet": _TEXT,
}
_LABEL_KEYS = {"file": _TEXT, "column": _TEXT, "id": _TEXT}


def read_manifest(path: Path, options: Options) -> LoadedData:
    """The data that a manifest describes.

    Parameters
    ----------
    path : Path
        The manifest.
    options : Options
        ``id`` is for tables of which the manifest does not say it.
    """
    with file_errors(path):
        options.refuse(
            "views", why="a manifest; it says itself which columns are which view (columns = ...)"
        )
        content = _parse_manifest(path)
        views = {
            name: _check_section(f"views.{name}", entry, _VIEW_KEYS)
            for name, entry in content["views"].items()
        }
        labels = _read_labels_section(path, content.get("labels"))
        for name, entry in views.items():
            if entry.get("kernel", "rbf") not in KERNELS:
                raise ValueError(
                    f"views.{name}: kernel is {entry['kernel']!r}; there are {', '.join(KERNELS)}"
                )
        with_labels = options if options.labels or not labels else replace(options, labels=labels.file)
        frames, notes = {}, list[str]()
        for name, entry in views.items():
            file = _resolve_inside(path, entry["file"], f"views.{name}")
            if with_labels.is_label_table(file) and "columns" not in entry:
                notes.append(
                    f"view {name!r} is left out: {file.name} is taken for labels; columns = [...] says "
                    "which of its columns are features"
                )
            elif not options.is_ignored_view(name):
                frame, more = _read_view(name, file, _make_spec(entry, options), options)
                frames[name] = frame
                notes += more
        if not frames:
            raise ValueError(f"no view is left ({notes[0] if notes else 'all are ignored'})")
        per_view = {
            name: {key: value for key, value in entry.items() if key in ("kernel", "log")}
            for name, entry in views.items()
            if name in frames
        }
        return join_frames(frames, notes, {name: own for name, own in per_view.items() if own}, labels)


def _parse_manifest(path: Path) -> dict[str, Any]:
    with open_regular(path, "a manifest") as file:
        text = file.read(_MAX_MANIFEST + 1)
    if len(text) > _MAX_MANIFEST:
        raise ValueError(f"is larger than {_MAX_MANIFEST} bytes; is this a manifest?")
    try:
        content = tomllib.loads(text.decode("utf-8-sig"))
    except (tomllib.TOMLDecodeError, UnicodeDecodeError) as error:
        raise ValueError(f"is not TOML ({error})") from None
    _check_keys("the manifest", content, ("schema", "views", "labels"))
    schema = content.get("schema")
    if schema != _SCHEMA or isinstance(schema, bool):
        raise ValueError(f"schema is {schema!r}; schema = {_SCHEMA} is wanted, the only one there is")
    views = content.get("views")
    if not isinstance(views, dict) or not views:
        raise ValueError("names no view; a section such as [views.expression] is wanted for each")
    return content


def _check_keys(where: str, entry: Mapping[str, Any], keys: Any) -> None:
    unknown = [key for key in entry if key not in keys]
    if unknown:
        raise ValueError(
            f"{where}: {', '.join(map(repr, unknown[:5]))} is not known; there are {', '.join(keys)}"
        )


def _check_section(where: str, entry: Any, keys: Mapping[str, str]) -> dict[str, Any]:
    """A section, its keys known and its values of the right kinds."""
    if not isinstance(entry, dict):
        raise ValueError(f"{where} is {entry!r}; a section [{where}] is wanted")
    _check_keys(where, entry, keys)
    for key, value in entry.items():
        texts = isinstance(value, list) and all(isinstance(x, str) for x in value)
        kind = {str: _TEXT, bool: _YES}.get(type(value), _TEXTS if texts else None)
        if kind != keys[key]:
            raise ValueError(f"{where}: {key} is {value!r}; {keys[key]} is wanted")
    if "file" not in entry:
        raise ValueError(f'{where}: no file is named; file = "..." is wanted')
    return entry


def _make_spec(entry: Mapping[str, Any], options: Options) -> TableSpec:
    about = {key: value for key, value in entry.items() if key not in ("file", "kernel", "log")}
    return TableSpec(**{"id": options.id, **about})


def _read_labels_section(path: Path, entry: Any) -> LabelsSource | None:
    if entry is None:
        return None
    section = _check_section("labels", entry, _LABEL_KEYS)
    file = _resolve_inside(path, section["file"], "labels")
    return LabelsSource(file, section.get("column"), section.get("id"))


def _resolve_inside(manifest: Path, name: str, where: str) -> Path:
    """A file that a manifest names, if it lies in the manifest's folder."""
    if not name or "\0" in name:
        raise ValueError(f"{where}: {name!r} is no name of a file")
    folder = manifest.parent.resolve()
    if not (folder / name).resolve().is_relative_to(folder):
        raise ValueError(
            f"{where}: {name!r} lies outside the manifest's folder; put the file there and name it "
            "relative to the manifest"
        )
    if not (folder / name).exists():
        raise ValueError(f"{where}: there is no file {name!r} in the manifest's folder")
    return manifest.parent / name


# -------------------------------------------------------------------------------------- one data set


def _read_view(
    view: str, file: Path, spec: TableSpec, options: Options
) -> "tuple[pd.DataFrame, tuple[str, ...]]":
    """One view out of a file of any kind, as a data frame, and notes.

    Parameters
    ----------
    view : str
        What it is called.
    file : Path
        A table, or anything else that holds one view.
    spec : TableSpec
        What is said about it, if it is a table.
    options : Options
        What else is said.
    """
    if is_table(file):
        return read_frame(file, complete_spec(view, options, spec))
    with file_errors(file):
        if replace(spec, id=None) != TableSpec():
            raise ValueError(
                "is no table; columns, ignore, categorical, missing, transpose and sheet are for tables"
            )
        reader = find_reader(file)
        if reader is None:
            raise ValueError("is of no known kind")
        loaded = as_loaded(reader(file, replace(options, id=None, views=None)))
        frame = _single_view_frame(loaded.data)
        return frame.drop(columns=options.ignored_columns(view, map(str, frame.columns))), loaded.notes


def _single_view_frame(data: Views | KernelViews) -> "pd.DataFrame":
    """The only view of `data` as a data frame over those who have it."""
    if isinstance(data, KernelViews):
        raise ValueError("holds kernels, which do not go with tables; give the file alone")
    if data.n_views != 1:
        raise ValueError(
            f"holds {data.n_views} views ({', '.join(data.names[:5])}); beside other files, one is wanted"
        )
    return _view_frame(data, data.names[0])


def _view_frame(data: Views, name: str) -> "pd.DataFrame":
    """A view as a data frame over the samples that have it; ids are texts, categories their levels.

    Parameters
    ----------
    data : Views
        Where the view is.
    name : str
        Which view.
    """
    import pandas as pd

    block = data.block(name)
    if scipy.sparse.issparse(block):
        Budget().spend(
            8 * block.shape[0] * block.shape[1], f"view {name!r}, which is sparse, beside tables"
        )
        block = block.toarray()
    ids = [str(x) for x in data.ids[data.observed[:, data.names.index(name)]].tolist()]
    frame = pd.DataFrame(block, index=pd.Index(ids, dtype=object), columns=feature_names(data, name))
    for column, levels in data.levels(name).items():
        codes = frame[column].fillna(-1).astype(int)
        frame[column] = pd.Categorical.from_codes(codes, pd.Index(levels))
    return frame


def add_features_from_labels(loaded: LoadedData, options: Options) -> LoadedData:
    """The same with one view more: those columns of the table of labels that are features.

    Parameters
    ----------
    loaded : LoadedData
        The data, and where a manifest says that the labels are.
    options : Options
        Where the table of labels is, and which of its columns are wanted.
    """
    file = options.labels or (loaded.labels.file if loaded.labels else None)
    if file is None:
        raise ValueError(
            "features_from_labels names columns of the table of labels, and no table is named for labels; "
            "name one, as FILE:COLUMN"
        )
    if not isinstance(loaded.data, Views):
        raise ValueError("features_from_labels goes with features, and the data are kernels; leave it out")
    view = view_name(file)
    if view in loaded.data.names:
        raise ValueError(f"features_from_labels: there is a view {view!r} already; rename one of the files")
    id_column = loaded.labels.id if loaded.labels else None
    spec = TableSpec(id=id_column or options.id, columns=options.features_from_labels)
    frame, notes = _read_view(view, file, spec, replace(options, transpose=False))
    frames = {name: _view_frame(loaded.data, name) for name in loaded.data.names}
    return join_frames({**frames, view: frame}, (*loaded.notes, *notes), loaded.per_view, loaded.labels)


def join_frames(
    frames: "Mapping[str, pd.DataFrame]",
    notes: Sequence[str],
    per_view: dict[str, dict[str, Any]] | None = None,
    labels: LabelsSource | None = None,
) -> LoadedData:
    """Frames as views over all their samples; ids that may be the same are pointed out.

    Parameters
    ----------
    frames : mapping of str to data frame
        The views.
    notes : sequence of str
        What is worth showing.
    per_view, labels : optional
        As in :class:`LoadedData`.
    """
    ids = {name: frame.index.tolist() for name, frame in frames.items()}
    for sentence in _check_id_overlap(
        ids, {name: list(map(str, frame.columns)) for name, frame in frames.items()}
    ):
        warn(sentence, AbsenceWarning)
    return LoadedData(Views.from_dict(frames), per_view or {}, labels, tuple(notes))


# --------------------------------------------------------------------------- ids that may be the same


def find_transposed(columns: Mapping[str, Sequence[str]], ids: Iterable[str]) -> list[str]:
    """Views whose columns are named as samples are: half of them, and two at least.

    Parameters
    ----------
    columns : mapping of str to sequence of str
        The names of the features of each view.
    ids : iterable of str
        The ids of samples.
    """
    known = set(ids)
    return [
        view for view, names in columns.items() if 2 * len(known.intersection(names)) >= max(len(names), 4)
    ]


def _check_id_overlap(ids: Mapping[str, Sequence[str]], columns: Mapping[str, Sequence[str]]) -> list[str]:
    """Sentences about ids of views that may be the same samples; an error where nothing is common.

    Parameters
    ----------
    ids, columns : mapping of str to sequence of str
        The ids, and the names of the features, of each view.
    """
    counts = Counter(x for own in ids.values() for x in set(own))
    sentences, seen = _describe_transposed(ids, columns), dict[str, str]()
    for name, own in ids.items():
        alone = len(ids) > 1 and not any(counts[x] > 1 for x in own)
        others = (x for other, theirs in ids.items() if other != name for x in theirs)
        if alone and find_transposed({name: columns[name]}, others):
            raise ValueError(
                f"view {name!r} has no sample in common with any other view, but its columns are named as "
                f"samples of others are: it seems to be transposed; give --transpose {quote(name)}, or "
                "write transpose = true into a manifest"
            )
        pairs = match_ids(own, seen)
        if pairs:
            mine, other = pairs[0]
            sentence = (
                f"view {name!r}: {len(pairs)} of its ids, e.g. {show_id(mine)}, differ only in "
                f"{WAYS_TO_DIFFER} from ids of others, e.g. {show_id(other)} of {seen[other]!r}; if they "
                "are the same samples, write them alike"
            )
            if alone:
                raise ValueError(f"{sentence}: as it is, it has no sample in common with any other view")
            sentences.append(sentence)
        seen |= {x: name for x in own if x not in seen}
    return sentences


def _describe_transposed(
    ids: Mapping[str, Sequence[str]], columns: Mapping[str, Sequence[str]]
) -> list[str]:
    """A sentence if no two views have a sample in common, but nearly all have their columns in common."""
    samples, names = [set(x) for x in ids.values()], [dict.fromkeys(x) for x in columns.values()]
    if len(samples) < 2 or len(set.union(*samples)) < sum(map(len, samples)):
        return []
    counts = Counter(column for features in names for column in features)
    if any(2 * sum(counts[x] > 1 for x in features) < max(len(features), 4) for features in names):
        return []
    examples = ", ".join(show_id(x) for x in [x for x in counts if counts[x] > 1][:3])
    return [
        f"the views {', '.join(map(repr, ids))} have no sample in common, but columns of the same names "
        f"({examples}, ...): if the columns are the samples (genes x samples), give --transpose"
    ]
