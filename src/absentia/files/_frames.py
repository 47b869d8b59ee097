"""Tables as data frames: ids found and kept as texts, columns checked, one frame for each view.

The column of ids is the one that the user names, else one that is called id, sample, patient, subject or
barcode (also ``sample_id`` and the like), else the index that the file declares, else the first.
"""

import re
from collections import defaultdict
from collections.abc import Callable, Mapping, Sequence
from functools import partial
from pathlib import Path
from typing import TYPE_CHECKING, Any, BinaryIO

import numpy as np

from absentia.core import Array, list_some, warn
from absentia.data import AbsenceWarning, Views, find_duplicates, normalize_id
from absentia.files._base import FileError, LoadedData, Options, file_errors, match_names
from absentia.files._columns import (
    GAPS,
    describe_faults,
    infer_types,
    is_number,
    parse_numbers,
    unescape_formula,
)
from absentia.files._tables import TABLE_ENDINGS, RawTable, list_sheets, read_raw_table
from absentia.files._text import UNNAMED, find_id_columns

if TYPE_CHECKING:
    import pandas as pd

LABEL_NAMES = re.compile(r"labels?|y|targets?|outcomes?|phenotypes?", re.IGNORECASE)  # files and sheets
_N_SHOWN = 5


def read_columns(
    path: Path,
    *,
    id: str | None = None,
    columns: Sequence[str] | None = None,
    transpose: bool = False,
    sheet: str | None = None,
    ignored: Callable[[Sequence[str]], Sequence[str]] = lambda names: (),
    scratch: BinaryIO | None = None,
) -> tuple[dict[str, Array], list[str], tuple[str, ...]]:
    """The columns of a table by name, the ids (texts) of its lines, and notes worth showing.

    Parameters
    ----------
    path : Path
        A table of any kind.
    id : str, optional
        The column of ids.
    columns : sequence of str, optional
        Patterns of the columns to take; None takes all.
    transpose : bool
        Whether samples are the columns of the table.
    sheet : str, optional
        Which sheet of a workbook.
    ignored : callable
        Says which of the names of columns are to be left out.
    scratch : file, optional
        As in :func:`read_raw_table`.
    """
    with file_errors(path):
        table = read_raw_table(path, sheet, scratch)
        table = table.transpose() if transpose else table
        id_column = find_id_column(table, None if transpose and id not in table.names else id)
        _check_names(table)
        ids = read_ids(table, id_column)
        places, notes = _split_features(path, table, id_column, columns, ignored)
        typed = infer_types(table, places)
        if typed.faults:
            raise FileError(f"{path}: {describe_faults(typed.faults)}")
        if typed.doubts:
            warn(f"{path}: {describe_faults(typed.doubts)}", AbsenceWarning)
        notes += note_written(path, typed.examples)
        return typed.columns, ids, (*table.notes, *notes)


def _read_frame(path: Path, **options: Any) -> "tuple[pd.DataFrame, tuple[str, ...]]":
    """The same as a data frame over ids, and notes."""
    columns, ids, notes = read_columns(path, **options)
    return _build_frame(columns, ids), notes


def _build_frame(columns: Mapping[str, Any], ids: list[str]) -> "pd.DataFrame":
    import pandas as pd

    index = pd.Index(ids, dtype=object)
    if all(values.dtype.kind == "f" for values in columns.values()):
        return pd.DataFrame(_stack_columns(list(columns.values())), index=index, columns=list(columns))
    series = {  # pandas 3 would make texts of its own kind of objects, and NaN of None
        name: pd.Series(values, index=index, dtype=values.dtype, copy=False)
        for name, values in columns.items()
    }
    return pd.DataFrame(series, copy=False)


def _stack_columns(columns: list[Array]) -> Array:
    """Columns side by side; the array itself, where they are all the columns of one."""
    first = columns[0]
    base = first.base if first.base is not None else first
    block = np.asarray(base)[: len(first)]
    wanted = [column.ctypes.data for column in block.T] if block.shape == (len(first), len(columns)) else []
    return block if [x.ctypes.data for x in columns] == wanted else np.column_stack(columns)


# ------------------------------------------------------------------------------------------------- ids


def find_id_column(table: RawTable, wanted: str | None) -> int:
    """Which column holds the ids."""
    if wanted is not None:
        if wanted not in table.names:
            raise ValueError(f"there is no column {wanted!r} of ids; there are {list_names(table.names)}")
        return table.names.index(wanted)
    known = find_id_columns(table.names)
    if known:
        return known[0]
    if table.index is not None:
        return table.names.index(table.index)
    check_header(table)
    cells = [cell for cell in table.texts(0)[:1000] if cell.strip() not in GAPS]
    broken = next((cell for cell in cells if is_number(cell) and not float(cell).is_integer()), None)
    if broken is not None:
        raise ValueError(
            f"no column is called id, sample or patient, and the first, {table.names[0]!r}, holds numbers "
            f"such as {broken}, which are no ids; say which column holds the ids of samples (--id NAME)"
        )
    return 0


def check_header(table: RawTable) -> None:
    """Raise if the first line of a text looks like a sample and not like names of columns.

    Every name is then a number such as its column has, or a text that its column has; numbers that rise
    evenly may be names, unless the first is written as the ids are.

    Parameters
    ----------
    table : RawTable
        A table whose ids are in the first column.
    """
    first, *rest = table.names
    if not first or find_id_columns(table.names) or not table.is_text:
        return
    names = [(place, name) for place, name in enumerate(rest, 1) if name not in GAPS]
    if not names or not all(_is_like(name, table, place) for place, name in names):
        return
    steps = np.diff([float(name) if is_number(name) else np.nan for _, name in names])
    evenly = len(steps) > 1 and steps[0] > 0 and np.ptp(steps) <= 1e-6 * steps[0]
    shape = re.sub(r"\d+", "0", first)
    alike = sum(re.sub(r"\d+", "0", cell.strip()) == shape for cell in table.texts(0))
    if evenly and not ("0" in shape and shape != "0" and 2 * alike > len(table.lines)):
        return
    line = ", ".join(repr(name) for name in table.names[:4]) + (", ..." if len(table.names) > 4 else "")
    raise ValueError(
        f"the first line ({line}) looks like a sample and not like names of columns; put a line with names "
        "above it, as in id,age,sex, or, if these are names, call the first column id"
    )


def _is_like(name: str, table: RawTable, place: int) -> bool:
    """Whether a name is a text that its column has, or a number not far from those that it has."""
    column = table.columns[place]
    values = column if isinstance(column, np.ndarray) else parse_numbers(table.texts(place))
    if not is_number(name):
        return not isinstance(column, np.ndarray) and name in map(str.strip, table.texts(place))
    if values is None or np.isnan(values).all():
        return False
    low, high = np.nanmin(values), np.nanmax(values)
    return bool(2 * low - high <= float(name) <= 2 * high - low)


def read_ids(table: RawTable, place: int) -> list[str]:
    """Ids as texts, in one Unicode form, none missing, each once; lines are named."""
    ids = [normalize_id(unescape_formula(cell.strip())) for cell in table.texts(place)]
    column = f"the column of ids, {table.names[place]!r}," if table.names[place] else "the column of ids"
    if all(x.endswith(".0") and x[:-2].isdigit() for x in ids if x) and any(ids):
        ids = [x.removesuffix(".0") for x in ids]  # whole numbers, which something made floats of
    empty = [line for line, x in zip(table.lines, ids, strict=True) if x in GAPS]
    if empty:
        raise ValueError(
            f"{column} is empty in {len(empty)} line{'' if len(empty) == 1 else 's'}: "
            f"{list_some(map(str, empty), _N_SHOWN)}; give every sample an id, or remove the lines"
        )
    if twice := find_duplicates(ids):
        lines = defaultdict(list)
        for line, x in zip(table.lines, ids, strict=True):
            lines[x].append(str(line))
        raise ValueError(
            f"{column} has {len(twice)} id{'' if len(twice) == 1 else 's'} more than once: "
            + list_some([f"{x[:80]!r} (lines {list_some(lines[x], _N_SHOWN)})" for x in twice], _N_SHOWN)
            + "; give every sample one line, or say which column holds the ids (--id NAME)"
        )
    if not ids:
        raise ValueError(
            "there is no line below the names of the columns; a line for each sample is wanted"
        )
    return ids


# --------------------------------------------------------------------------------------------- columns


def _check_names(table: RawTable) -> None:
    twice = find_duplicates(name for name in table.names if name)
    if twice:
        raise ValueError(
            f"{len(twice)} column name{'' if len(twice) == 1 else 's'} appear more than once: "
            f"{list_names(twice)}; give every column a name of its own"
        )


def _split_features(
    path: Path,
    table: RawTable,
    id_column: int,
    columns: Sequence[str] | None,
    ignored_of: Callable[[Sequence[str]], Sequence[str]],
) -> tuple[list[int], list[str]]:
    """Columns that are features, and notes about those that are not."""
    places = [place for place in range(len(table.names)) if place != id_column]
    notes = []
    counting = dict.fromkeys(
        p for p in places if UNNAMED.fullmatch(table.names[p]) and _is_counting(table.texts(p))
    )
    unnamed = [p + 1 for p in places if not table.names[p] and p not in counting]
    if unnamed:
        raise ValueError(
            f"column{'' if len(unnamed) == 1 else 's'} {list_some(map(str, unnamed), _N_SHOWN)} of "
            f"{len(table.names)} have no name in the first line; name every column"
        )
    names = [table.names[p] for p in places if p not in counting]
    ignored = set(ignored_of(names))
    if columns is not None:
        wanted = set(_match_columns(names, columns, "columns"))
        rest = [name for name in names if name not in wanted | ignored]
        if rest:
            notes.append(f"{path.name}: {len(rest)} column(s) in no view: {list_names(rest)}")
        ignored |= set(rest)
    more = dict.fromkeys(
        p for p in find_id_columns(table.names) if p != id_column and _all_different(table.texts(p))
    )
    for places_out, why in [(counting, "which only counts lines"), (more, "which holds further ids")]:
        left = [p for p in places_out if table.names[p] not in ignored]
        if left:
            notes.append(
                f"{path.name}: column {list_names([table.names[p] for p in left])}, {why}, is left out"
            )
    features = [p for p in places if table.names[p] not in ignored and p not in counting and p not in more]
    if not features:
        raise ValueError("no column is left besides the ids; at least one is wanted")
    return features, notes


def _match_columns(names: Sequence[str], patterns: Sequence[str], what: str) -> list[str]:
    """Names that fit one of the patterns (as ``gene_*``); a pattern that fits none is refused."""
    columns: dict[str, None] = {}
    known = set(names)
    for pattern in patterns:
        matches = [pattern] if pattern in known else match_names(names, pattern)
        if not matches:
            raise ValueError(f"{what}: no column fits {pattern!r}; the columns are {list_names(names)}")
        columns.update(dict.fromkeys(matches))
    return list(columns)


def _is_counting(cells: Sequence[str]) -> bool:
    """Whether cells are 0, 1, 2, ... or 1, 2, 3, ..."""
    return list(cells) in ([str(i + first) for i in range(len(cells))] for first in (0, 1))


def _all_different(cells: Sequence[str]) -> bool:
    return len(set(cells)) == len(cells)


def note_written(path: Path, examples: Mapping[str, str]) -> list[str]:
    """How numbers were read that are not written plainly."""
    columns = [f"{name!r} ({example})" for name, example in examples.items()]
    return [f"{path.name}: read as numbers: {list_some(columns, _N_SHOWN)}"] if columns else []


def list_names(names: Sequence[str]) -> str:
    """Some of many names in quotes, and how many more there are."""
    return list_some(map(repr, names), _N_SHOWN)


# ----------------------------------------------------------------------------------------------- views


def read_single_table(path: Path, options: Options) -> LoadedData:
    """One table: a view of its name, or, with patterns of columns, several."""
    options.refuse("layer", "use_rep", why="a table")
    view, groups = view_name(path), options.views
    if groups is None and path.suffix.lower() == ".xlsx":
        from absentia.files._folder import join_frames

        return join_frames(*read_sheets(path, options))
    if groups is None:
        frame, notes = read_view_table(view, path, options)
        return LoadedData(Views.from_dict({view: frame}, copy=False), notes=notes)

    frames, notes = _read_groups(path, groups, options)
    return LoadedData(Views.from_dict(frames), notes=notes)


def read_view_table(
    view: str, path: Path, options: Options, **more: Any
) -> "tuple[pd.DataFrame, tuple[str, ...]]":
    """The table of one view, with what the options say of it and `more` of :func:`_read_frame`."""
    ignored = partial(options.ignored_columns, view)
    return _read_frame(path, id=options.id, transpose=options.is_transposed(view), ignored=ignored, **more)


def read_sheets(
    path: Path, options: Options, prefix: str = ""
) -> "tuple[dict[str, pd.DataFrame], list[str]]":
    """The sheets of a workbook, each the table of a view, and notes about those that are none.

    Parameters
    ----------
    path : Path
        The workbook.
    options : Options
        What is said about all sheets.
    prefix : str
        Goes before the names of sheets, if there are several; a sheet alone is a view named as the file.
    """
    with file_errors(path):
        tables, others = list_sheets(path)
        labels = [name for name in tables if LABEL_NAMES.fullmatch(name.strip())] if len(tables) > 1 else []
        notes = [f"{path.name}: sheet {name!r} is not a view: it is taken for labels" for name in labels]
        notes += [f"{path.name}: sheet {name!r} is left out: it is no table" for name in others]
        sheets, frames = [name for name in tables if name not in labels], {}
        for name in sheets:
            view = f"{prefix}{name}" if len(sheets) > 1 else view_name(path)
            if options.is_ignored_view(view):
                continue
            frames[view], more = read_view_table(view, path, options, sheet=name)
            notes += [note.replace(path.name, f"{path.name}, sheet {name!r}", 1) for note in more]
        if not frames:
            raise ValueError("no sheet holds a table; one with ids and at least one column is wanted")
        return frames, notes


def view_name(path: Path) -> str:
    """The name of a view that stands in a file of its own."""
    ending = max(filter(path.name.lower().endswith, TABLE_ENDINGS), key=len, default=path.suffix)
    return path.name[: -len(ending)] if ending else path.name


def _read_groups(
    path: Path, groups: Mapping[str, Sequence[str]], options: Options
) -> "tuple[dict[str, pd.DataFrame], tuple[str, ...]]":
    """The views of one wide table: `groups` has patterns of the columns that make up each."""
    if not groups:
        raise ValueError("no view is named; give the columns of each, as in expr=gene_*")
    for view, patterns in groups.items():
        if isinstance(patterns, str):
            raise ValueError(f"view {view!r}: its columns are the text {patterns!r}; give a list of names")

    def columns_by_view(names: Sequence[str]) -> dict[str, list[str]]:
        return {view: _match_columns(names, own, f"view {view!r}") for view, own in groups.items()}

    def ignored(names: Sequence[str]) -> list[str]:
        by_view = columns_by_view(names).items()
        return [name for view, own in by_view for name in options.ignored_columns(view, own)]

    wanted = list(dict.fromkeys(pattern for patterns in groups.values() for pattern in patterns))
    transpose = options.is_transposed(view_name(path))
    frame, notes = _read_frame(path, id=options.id, columns=wanted, transpose=transpose, ignored=ignored)
    columns = columns_by_view(list(map(str, frame.columns)))
    twice = find_duplicates(name for own in columns.values() for name in own)
    if twice:
        both = [view for view, own in columns.items() if twice[0] in own]
        raise ValueError(
            f"{len(twice)} column{'' if len(twice) == 1 else 's'} would be in several views, e.g. "
            f"{twice[0]!r} in {' and '.join(map(repr, both))}; give each column to one"
        )
    return {view: frame[own] for view, own in columns.items()}, notes


def parse_groups(texts: Sequence[str]) -> dict[str, list[str]]:
    """Views and their columns out of texts like ``expr=gene_*`` and ``clin=age,sex``.

    Parameters
    ----------
    texts : sequence of str
        One for each view: its name, ``=``, and patterns of its columns, separated by commas.
    """
    groups: dict[str, list[str]] = {}
    for text in texts:
        name, equals, patterns = (part.strip() for part in text.partition("="))
        columns = [pattern.strip() for pattern in patterns.split(",") if pattern.strip()]
        if not equals or not name or not columns:
            raise ValueError(
                f"{text!r} is no view; NAME=COLUMN,COLUMN is wanted, as in expr=gene_* or clin=age,sex"
            )
        if name in groups:
            raise ValueError(f"view {name!r} is given twice; give all its columns at once")
        groups[name] = columns
    return groups
