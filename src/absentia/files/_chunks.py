"""Folders of Parquet files that are views: read at once if they are small, left in chunks if they are not.

A folder inside is a view, its Parquet files (partitions) below one another; so is a Parquet file.  Whether
features are read is decided by what the files say of their size, and by the same ceiling as for all files
(``_base``); with ``chunks=True`` they stay where they are whatever their size.  Tables of many lines are
written some lines at a time (:func:`open_table`).
"""

import json
from collections.abc import Callable, Collection, Iterator, Mapping, Sequence
from contextlib import contextmanager
from functools import partial
from pathlib import Path
from tempfile import TemporaryFile
from typing import Any, BinaryIO

import numpy as np

from absentia.core import Array, format_bytes
from absentia.data import Views
from absentia.files._base import LoadedData, Options, import_optional, write_atomically
from absentia.files._columns import csv_rows
from absentia.files._frames import LABEL_NAMES, read_columns, view_name
from absentia.files._tables import TEXT_ENDINGS
from absentia.files._text import estimate_bytes

CONVERTED_ID = "sample id"  # the column of ids of tables that were converted
_GROUP_BYTES = 16 * 2**20
_ENDINGS = (".parquet", ".pq")


def read_parquet_folder(path: Path, options: Options) -> LoadedData | None:
    """The views of a folder of Parquet files; None if it is not one, or small enough to be read as others.

    Parameters
    ----------
    path : Path
        The folder.
    options : Options
        What is said of every table in it.
    """
    views, others, partitioned = _find_views(path, options)
    size = sum(map(_count_bytes, views.values())) if views else 0
    small = not options.stays_in_chunks(size)
    if not views or (small and not partitioned) or (others and not partitioned):
        return None
    if others:
        raise ValueError(
            f"{others[0].name} is no Parquet file, and others of its views are; views in chunks are all "
            "folders of Parquet files: write it as one, or move it elsewhere"
        )
    options.refuse("views", "layer", "use_rep", why="a folder of Parquet files")
    if options.transpose or options.features_from_labels:
        raise ValueError("transpose and features from labels are not for folders of Parquet files")
    data = Views.from_parquet(views, id=options.id, ignore=options.ignored_columns)
    if small:
        return LoadedData(data.to_memory())
    note = f"{format_bytes(size)} of features stay in the Parquet files of {len(views)} view(s), as chunks"
    return LoadedData(data, notes=(note,))


def _find_views(path: Path, options: Options) -> tuple[dict[str, Path], list[Path], bool]:
    """Views by name, other files that may be views, and whether some views are folders."""
    views, others, partitioned = dict[str, Path](), list[Path](), False
    for entry in sorted(path.iterdir(), key=lambda entry: (entry.name.lower(), entry.name)):
        name = entry.name if entry.is_dir() else view_name(entry)
        if entry.name.startswith((".", "_")) or options.is_ignored_view(name):
            continue
        if entry.is_dir():
            if any(entry.rglob("*.parquet")):
                views[name], partitioned = entry, True
        elif LABEL_NAMES.fullmatch(name) or options.is_label_table(entry):
            continue
        elif entry.suffix.lower() in _ENDINGS:
            views[name] = entry
        elif entry.suffix.lower() in (".csv", ".tsv", ".txt", ".feather", ".xlsx", ".toml"):
            others.append(entry)
    return views, others, partitioned


def _count_bytes(view: Path) -> int:
    """What the features of a view take in double precision, as its files say."""
    parquet = import_optional("pyarrow.parquet", "a Parquet file")
    files = sorted(view.rglob("*.parquet")) if view.is_dir() else [view]
    about = [parquet.read_metadata(file) for file in files]
    return sum(8 * one.num_rows * one.num_columns for one in about)


# ---------------------------------------------------------------------------------------- text tables


def find_large_tables(files: Sequence[Path], options: Options) -> list[Path]:
    """Text tables whose numbers are to stay in chunks: all, or what does not fit beside smaller ones."""
    if options.chunks_in is None or options.chunks is False:
        return []
    tables = sorted(
        (file for file in files if file.name.lower().endswith(TEXT_ENDINGS)), key=estimate_bytes
    )
    sizes = np.cumsum([estimate_bytes(file) for file in tables])
    return [
        file for file, size in zip(tables, sizes.tolist(), strict=True) if options.stays_in_chunks(size)
    ]


def convert_table(file: Path, options: Options) -> tuple[dict[str, Path], list[str]]:
    """A text table as a Parquet file in the folder for chunks, by the name of its view, and notes.

    Its cells are read as those of a table in memory, but plain numbers go to a file and from there, some
    rows at a time, to Parquet.  What is there of the same file, read in the same way, is taken as it is.
    """
    view, status, folder = view_name(file), file.stat(), options.chunks_in
    assert folder is not None
    target, about = folder / f"{view}.parquet", folder / f"{view}.parquet.json"
    key = [str(file.resolve()), status.st_size, status.st_mtime_ns, options.id, options.is_transposed(view)]
    if about.exists() and target.exists():
        known = json.loads(about.read_text(encoding="utf-8"))
        ignored = options.ignored_columns(view, known["columns"])
        if known["source"] == [*key, ignored]:
            return {view: target}, known["notes"]
    elif target.exists():
        raise ValueError(f"{target} is there and not of absentia; name another folder (--chunks-in)")
    folder.mkdir(parents=True, exist_ok=True)
    seen: list[str] = []

    def find_ignored(names: Sequence[str]) -> list[str]:
        seen[:] = names
        return options.ignored_columns(view, names)

    with TemporaryFile(dir=folder) as scratch:
        transpose = options.is_transposed(view)
        columns, ids, notes = read_columns(
            file, id=options.id, transpose=transpose, ignored=find_ignored, scratch=scratch
        )
        about.unlink(missing_ok=True)
        write_atomically(target, partial(_write_columns, columns=columns, ids=ids, file=file))
    source = [*key, options.ignored_columns(view, seen)]
    text = json.dumps({"source": source, "columns": seen, "notes": notes})
    write_atomically(about, lambda out: out.write(text.encode()))
    return {view: target}, list(notes)


def _write_columns(out: BinaryIO, columns: Mapping[str, Array], ids: Sequence[str], file: Path) -> None:
    """A Parquet file of columns of numbers, some rows at a time."""
    arrow = import_optional("pyarrow", "a Parquet file")
    parquet = import_optional("pyarrow.parquet", "a Parquet file")
    if levels := [name for name, values in columns.items() if values.dtype.kind not in "fb"]:
        raise ValueError(
            f"{file.name}: column(s) {', '.join(map(repr, levels[:5]))} are categories, and features in "
            "chunks are numbers: leave them out (ignore), or make one column of each level"
        )
    if CONVERTED_ID in columns:
        raise ValueError(f"{file.name}: a column of features is called {CONVERTED_ID!r}; rename it")
    schema = arrow.schema([(CONVERTED_ID, arrow.string()), *((name, arrow.float64()) for name in columns)])
    rows = max(_GROUP_BYTES // (8 * len(columns)), 1)
    with parquet.ParquetWriter(out, schema, use_dictionary=False) as writer:
        for a in range(0, len(ids), rows):
            some = [np.ascontiguousarray(values[a : a + rows], np.float64) for values in columns.values()]
            writer.write_table(arrow.table([arrow.array(ids[a : a + rows]), *some], schema=schema))


@contextmanager
def open_table(
    file: BinaryIO, ending: str, header: Sequence[str], texts: Collection[str]
) -> Iterator[Callable[[Sequence[Sequence[Any]]], None]]:
    """A function that adds lines to a new table, CSV or (`ending` .parquet) Parquet.

    Columns that are not among `texts` are numbers; empty cells are gaps.
    """
    if ending != ".parquet":
        file.writelines(csv_rows([header]))
        yield lambda lines: file.writelines(csv_rows(lines))
        return
    arrow = import_optional("pyarrow", "a Parquet file")
    parquet = import_optional("pyarrow.parquet", "a Parquet file")
    schema = arrow.schema([(name, arrow.string() if name in texts else arrow.float64()) for name in header])
    with parquet.ParquetWriter(file, schema) as writer:

        def add(lines: Sequence[Sequence[Any]]) -> None:
            columns = [
                [str(x) if field.name in texts else None if x == "" else float(x) for x in column]
                for field, column in zip(schema, zip(*lines, strict=True), strict=True)
            ]
            arrays = [arrow.array(c, field.type) for c, field in zip(columns, schema, strict=True)]
            writer.write_table(arrow.table(arrays, schema=schema))

        yield add
