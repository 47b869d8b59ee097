"""Views from files of their own become one data set, lined up by id."""

from collections.abc import Mapping, Sequence
from dataclasses import replace
from pathlib import Path
from typing import TYPE_CHECKING, Any

import scipy.sparse

from absentia.core import warn
from absentia.data import AbsenceWarning, KernelViews, Views
from absentia.files._alike import differences
from absentia.files._errors import reading
from absentia.files._formats import is_table
from absentia.files._frames import NOTHING_SAID, Spec, as_views, read_frame, read_sheets, spec_of_view, stem
from absentia.files._memory import Budget
from absentia.files._options import LabelsSource, Opened, Options
from absentia.files._reading import reader_of

if TYPE_CHECKING:
    import pandas as pd


def read_view(
    view: str, file: Path, spec: Spec, options: Options
) -> "tuple[pd.DataFrame, tuple[str, ...]]":
    """One view out of a file of any kind, as a data frame, and notes.

    Parameters
    ----------
    view : str
        What it is called.
    file : Path
        A table, or anything else that holds one view.
    spec : Spec
        What is said about it, if it is a table.
    options : Options
        What else is said.
    """
    if is_table(file):
        return read_frame(file, spec_of_view(view, options, spec))
    with reading(file):
        if replace(spec, id=None) != NOTHING_SAID:
            raise ValueError(
                "is no table; columns, ignore, categorical, missing, transpose and sheet are for tables"
            )
        reader = reader_of(file)
        if reader is None:
            raise ValueError("is of no known kind")
        found = reader(file, replace(options, id=None, views=None))
        opened = found if isinstance(found, Opened) else Opened(found)
        frame = frame_of_one(opened.data)
        return frame.drop(columns=options.ignored(view, map(str, frame.columns))), opened.notes


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
        return read_sheets(file, options, f"{stem(file)}_")
    frame, more = read_view(stem(file), file, Spec(id=options.id), options)
    return {stem(file): frame}, list(more)


def frame_of_one(data: Views | KernelViews) -> "pd.DataFrame":
    """The only view of `data` as a data frame over those who have it."""
    if isinstance(data, KernelViews):
        raise ValueError("holds kernels, which do not go with tables; give the file alone")
    if data.n_views != 1:
        raise ValueError(
            f"holds {data.n_views} views ({', '.join(data.names[:5])}); beside other files, one is wanted"
        )
    return frame_of(data, data.names[0])


def frame_of(data: Views, name: str) -> "pd.DataFrame":
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


def with_features_from_labels(opened: Opened, options: Options) -> Opened:
    """The same with one view more: those columns of the table of labels that are features.

    Parameters
    ----------
    opened : Opened
        The data, and where a manifest says that the labels are.
    options : Options
        Where the table of labels is, and which of its columns are wanted.
    """
    file = options.labels or (opened.labels.file if opened.labels else None)
    if file is None:
        raise ValueError(
            "features_from_labels names columns of the table of labels, and no table is named for labels; "
            "name one, as FILE:COLUMN"
        )
    if not isinstance(opened.data, Views):
        raise ValueError("features_from_labels goes with features, and the data are kernels; leave it out")
    view = stem(file)
    if view in opened.data.names:
        raise ValueError(f"features_from_labels: there is a view {view!r} already; rename one of the files")
    own = opened.labels.id if opened.labels else None
    spec = Spec(id=own or options.id, columns=options.features_from_labels)
    frame, notes = read_view(view, file, spec, replace(options, transpose=False))
    frames = {name: frame_of(opened.data, name) for name in opened.data.names}
    return joined({**frames, view: frame}, (*opened.notes, *notes), opened.per_view, opened.labels)


def joined(
    frames: "Mapping[str, pd.DataFrame]",
    notes: Sequence[str],
    per_view: dict[str, dict[str, Any]] | None = None,
    labels: LabelsSource | None = None,
) -> Opened:
    """Frames as views over all their samples; ids that may be the same are pointed out.

    Parameters
    ----------
    frames : mapping of str to data frame
        The views.
    notes : sequence of str
        What is worth showing.
    per_view, labels : optional
        As in :class:`Opened`.
    """
    ids = {name: frame.index.tolist() for name, frame in frames.items()}
    for sentence in differences(
        ids, {name: list(map(str, frame.columns)) for name, frame in frames.items()}
    ):
        warn(sentence, AbsenceWarning)
    return Opened(as_views(frames), per_view or {}, labels, tuple(notes))
