"""Folders of Parquet files that are views: read at once if they are small, left in chunks if they are not.

A folder inside is a view, its Parquet files (partitions) below one another; so is a Parquet file.  Whether
features are read is decided by what the files say of their size, and by the same ceiling as for all files
(``_base``); with ``chunks=True`` they stay where they are whatever their size.  Tables of many lines are
written some lines at a time (:func:`open_table`).
"""

from collections.abc import Callable, Collection, Iterator, Sequence
from contextlib import contextmanager
from pathlib import Path
from typing import Any, BinaryIO

from absentia.core import format_bytes
from absentia.data import Views
from absentia.files._base import Budget, LoadedData, Options, import_optional
from absentia.files._columns import csv_rows
from absentia.files._frames import LABEL_NAMES, view_name

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
    small = size <= Budget().limit and not options.chunks
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
