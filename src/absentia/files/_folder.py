"""A folder as one data set: each table is a view, named as its file is.

The file that is named for labels, and files that are called labels, y, target, outcome or phenotype, are
not views.  Folders inside are not looked into.

Where folders inside hold Parquet files, or Parquet files are large, ``_chunks`` reads them.

The views are lined up by id.  Ids that may be the same, written differently in case, spaces, signs, zeros
or type, are pointed out.
"""

import re
from collections import Counter
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import replace
from pathlib import Path
from shlex import quote
from typing import TYPE_CHECKING, Any

import scipy.sparse

from absentia.core import warn
from absentia.data import WAYS_TO_DIFFER, AbsenceWarning, KernelViews, Views, match_ids, show_id
from absentia.files._base import Budget, LoadedData, Options, feature_names, file_errors
from absentia.files._chunks import CONVERTED_ID, convert_table, find_large_tables, read_parquet_folder
from absentia.files._frames import LABEL_NAMES, read_sheets, read_view_table, view_name
from absentia.files._reading import as_loaded, explain_conversion, find_reader, is_readable
from absentia.files._tables import is_table

if TYPE_CHECKING:
    import pandas as pd

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
    large = find_large_tables(files, options)
    for file in files:
        views, more = convert_table(file, options) if file in large else _read_views(file, options)
        for name in views:
            if name in sources:
                raise ValueError(
                    f"{sources[name]} and {file.name} would both be view {name!r}; rename or remove one"
                )
            sources[name] = file.name
        frames |= views
        notes += more
    if not large:
        return join_frames(frames, notes)
    data = Views.from_parquet(frames, id=CONVERTED_ID)
    having = {name: data.ids[has].tolist() for name, has in zip(data.names, data.observed.T, strict=True)}
    _warn_of_ids(having, {name: feature_names(data, name) for name in data.names})
    names = ", ".join(file.name for file in large)
    return LoadedData(data, (*notes, f"numbers of {names} stay in {options.chunks_in}, as chunks"))


def _read_views(file: Path, options: Options) -> "tuple[dict[str, pd.DataFrame], Sequence[str]]":
    """The views of one of several files by name, and notes: one, or of a workbook one for each sheet."""
    name = view_name(file)
    if file.suffix.lower() == ".xlsx":
        return read_sheets(file, options, f"{name}_")
    frame, notes = _read_view(name, file, options)
    return {name: frame}, notes


def _note_labels(file: Path, options: Options) -> str:
    note = f"{file.name} is not a view: it is taken for labels"
    if options.is_label_table(file) and not options.features_from_labels:
        note += " (--features-from-labels COLUMN ... makes features of others of its columns)"
    return note


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


# -------------------------------------------------------------------------------------- one data set


def _read_view(
    view: str, file: Path, options: Options, columns: Sequence[str] | None = None
) -> "tuple[pd.DataFrame, tuple[str, ...]]":
    """One view out of a file of any kind that holds one, as a data frame, and notes.

    Parameters
    ----------
    view : str
        What it is called.
    file : Path
        A table, or anything else that holds one view.
    options : Options
        What is said about it.
    columns : sequence of str, optional
        Which columns of a table.
    """
    if is_table(file):
        return read_view_table(view, file, options, columns=columns)
    with file_errors(file):
        if columns is not None:
            raise ValueError("is no table, of which columns could be taken")
        loaded = as_loaded(find_reader(file)(file, replace(options, id=None, views=None)))
        data = loaded.data
        if isinstance(data, KernelViews):
            raise ValueError("holds kernels, which do not go with tables; give the file alone")
        if data.n_views != 1:
            raise ValueError(
                f"holds {data.n_views} views ({', '.join(data.names[:5])}); beside other files, one is "
                "wanted"
            )
        frame = _view_frame(data, data.names[0])
        return frame.drop(columns=options.ignored_columns(view, map(str, frame.columns))), loaded.notes


def _view_frame(data: Views, name: str) -> "pd.DataFrame":
    """A view as a data frame over the samples that have it; ids and names of features are texts."""
    import pandas as pd

    block = data.block(name)
    if scipy.sparse.issparse(block):
        need = 8 * block.shape[0] * block.shape[1]
        Budget().spend(need, f"view {name!r}, which is sparse, beside tables")
    frame = data.to_frame(name)
    frame.index = pd.Index([str(x) for x in frame.index], dtype=object)
    frame.columns = pd.Index(feature_names(data, name))
    return frame


def add_features_from_labels(loaded: LoadedData, options: Options) -> LoadedData:
    """The same with one view more: those columns of the table of labels that are features.

    Parameters
    ----------
    loaded : LoadedData
        The data.
    options : Options
        Where the table of labels is, and which of its columns are wanted.
    """
    file = options.labels
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
    upright = replace(options, transpose=False)
    frame, notes = _read_view(view, file, upright, options.features_from_labels)
    frames = {name: _view_frame(loaded.data, name) for name in loaded.data.names}
    return join_frames({**frames, view: frame}, (*loaded.notes, *notes))


def join_frames(frames: "Mapping[str, pd.DataFrame]", notes: Sequence[str]) -> LoadedData:
    """Frames as views over all their samples; ids that may be the same are pointed out.

    Parameters
    ----------
    frames : mapping of str to data frame
        The views.
    notes : sequence of str
        What is worth showing.
    """
    ids = {name: frame.index.tolist() for name, frame in frames.items()}
    _warn_of_ids(ids, {name: list(map(str, frame.columns)) for name, frame in frames.items()})
    return LoadedData(Views.from_dict(frames, copy=False), tuple(notes))


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


def _warn_of_ids(ids: Mapping[str, Sequence[str]], columns: Mapping[str, Sequence[str]]) -> None:
    for sentence in _check_id_overlap(ids, columns):
        warn(sentence, AbsenceWarning)


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
                f"samples of others are: it seems to be transposed; give --transpose {quote(name)}"
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
