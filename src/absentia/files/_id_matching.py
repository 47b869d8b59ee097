"""Views from files of their own become one data set, lined up by id.

Ids that may be the same, written differently in case, spaces, signs, zeros or type, are pointed out.
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
from absentia.data import AbsenceWarning, KernelViews, Views, normalize_id, show_id
from absentia.files._base import Budget, LabelsSource, LoadedData, Options, file_errors
from absentia.files._formats import is_table
from absentia.files._frames import (
    DEFAULT_SPEC,
    TableSpec,
    complete_spec,
    read_frame,
    read_sheets,
    view_name,
)
from absentia.files._reading import as_loaded, find_reader

if TYPE_CHECKING:
    import pandas as pd

WAYS_TO_DIFFER = "case, spaces, - _ . or zeros"


def read_view(
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
        if replace(spec, id=None) != DEFAULT_SPEC:
            raise ValueError(
                "is no table; columns, ignore, categorical, missing, transpose and sheet are for tables"
            )
        reader = find_reader(file)
        if reader is None:
            raise ValueError("is of no known kind")
        loaded = as_loaded(reader(file, replace(options, id=None, views=None)))
        frame = _single_view_frame(loaded.data)
        return frame.drop(columns=options.ignored_columns(view, map(str, frame.columns))), loaded.notes


def read_views(file: Path, options: Options) -> "tuple[dict[str, pd.DataFrame], list[str]]":
    """The views of one of several files by name, and notes: one, or of a workbook one for each sheet.

    Parameters
    ----------
    file : Path
        As in :func:`read_view`.
    options : Options
        What is said about all files.
    """
    if file.suffix.lower() == ".xlsx":
        return read_sheets(file, options, f"{view_name(file)}_")
    frame, more = read_view(view_name(file), file, TableSpec(id=options.id), options)
    return {view_name(file): frame}, list(more)


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

    block, features = data.block(name), data.features(name)
    if scipy.sparse.issparse(block):
        Budget().spend(
            8 * block.shape[0] * block.shape[1], f"view {name!r}, which is sparse, beside tables"
        )
        block = block.toarray()
    ids = [str(x) for x in data.ids[data.observed[:, data.names.index(name)]].tolist()]
    columns = [f"{name}_{k}" for k in range(block.shape[1])] if features is None else features.tolist()
    frame = pd.DataFrame(block, index=pd.Index(ids, dtype=object), columns=columns)
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
    frame, notes = read_view(view, file, spec, replace(options, transpose=False))
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


def _loosen(sample: str) -> str:
    """An id without what people write one way here and another way there."""
    plain = re.sub(r"\.0$", "", normalize_id(sample).strip().casefold())
    return re.sub(r"[\s_.-]", "", re.sub(r"(?<!\d)0+(?=\d)", "", plain))


def match_ids(ids: Iterable[str], others: Iterable[str]) -> list[tuple[str, str]]:
    """Pairs of ids, one of each side and on that side only, that differ only in how they are written."""
    left, right = dict.fromkeys(ids), dict.fromkeys(others)
    by_key = {_loosen(x): x for x in right if x not in left}
    return [(x, by_key[key]) for x in left if x not in right and (key := _loosen(x)) in by_key]


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
        if alone:
            others = {other: set(x) for other, x in ids.items() if other != name}
            _refuse_transposed(name, columns[name], others)
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


def _refuse_transposed(name: str, columns: Sequence[str], others: Mapping[str, set[str]]) -> None:
    for other, ids in others.items():
        known = sum(column in ids for column in columns)
        if known > 1 and 2 * known >= len(columns):
            raise ValueError(
                f"view {name!r} has no sample in common with any other view, but its columns are named as "
                f"the samples of {other!r} are: it seems to be transposed; give --transpose {quote(name)}, "
                "or write transpose = true into a manifest"
            )


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
