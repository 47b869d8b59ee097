"""Kernels of yeast proteins and the functions of these, from the text files of their authors.

Lanckriet, Deng, Cristianini, Jordan and Noble, "Kernel-based data fusion and its application to protein
function prediction in yeast", PSB 2004: each kernel is a table of tabs with the names of proteins in its
first line and its first column, packed by gzip; a table of labels has a line for each protein.  All is put
together by name, never by position.
"""

import gzip
import io
import os
import re
import warnings
import zlib
from collections import Counter
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from pathlib import Path

import numpy as np
from sklearn.utils import Bunch

from absentia import AbsenceWarning, KernelViews
from absentia.files import FileError, file_errors

PathLike = str | os.PathLike[str]
ENDINGS = (".txt", ".tsv", ".txt.gz", ".tsv.gz")
MAX_LINE = 16 << 20  # characters
LABELS = re.compile(r"label|class|function|target", re.IGNORECASE)
YES, NO = ("1", "+1", "1.0"), ("-1", "-1.0")
MISSING = ("?", "", "nan", "na")


def load_yeast_kernels(
    folder: PathLike, *, labels: str | None = None, kernels: Mapping[str, str] | None = None
) -> Bunch:
    """Kernels of proteins and their labels, from text files in a folder.

    Parameters
    ----------
    folder : path-like
        Where the files are: ``.txt`` or ``.tsv``, also packed (``.txt.gz``).
    labels : str, optional
        The file with the labels: a line for each protein, its name first, then for each class +1 (it has
        the function) or -1 (it has not); a line with the names of the classes may come first.  0 is -1
        where there is no -1 in the whole table, else unknown, as are NA and empty fields.  By default the
        one file whose name holds label, class, function or target.
    kernels : mapping of str to str, optional
        Names of the views and the files of their kernels, in the order wanted.  By default all other text
        files, named as they are but for ``kernel_matrix_`` and the number of proteins.

    Returns
    -------
    Bunch
        ``kernels`` (KernelViews; a protein that a file does not list lacks that view), ``target``
        (proteins x classes: 1, -1, NaN where unknown), ``extra`` with ``label_names``, ``DESCR``.

    Examples
    --------
    >>> import tempfile
    >>> from pathlib import Path
    >>> here = Path(tempfile.mkdtemp())
    >>> tap = "tap\\tYAL001\\tYAL002\\nYAL001\\t1\\t.5\\nYAL002\\t.5\\t1\\n"
    >>> _ = (here / "kernel_matrix_tap_n_2.txt").write_text(tap)
    >>> _ = (here / "labels.txt").write_text("gene\\tenergy\\nYAL002\\t-1\\nYAL001\\t1\\n")
    >>> data = load_yeast_kernels(here)
    >>> data.kernels.names, data.target.ravel().tolist()
    (('tap',), [1.0, -1.0])
    """
    place = Path(folder)
    if not place.is_dir():
        raise FileError(f"{place}: no such folder")
    texts = sorted(
        path.name for path in place.iterdir() if path.name.lower().endswith(ENDINGS) and path.is_file()
    )
    table = _find_label_file(place, texts, labels)
    named = (
        {_view_name(name): name for name in texts if name != table} if kernels is None else dict(kernels)
    )
    if not named:
        raise FileError(f"{place}: holds no kernels; files that end in {', '.join(ENDINGS)} are wanted")
    if kernels is None and len(named) < len(texts) - 1:
        raise FileError(f"{place}: two kernels have the same name: {texts}; name them with kernels=")
    return combine_files({view: place / name for view, name in named.items()}, place / table)


def combine_files(kernels: Mapping[str, Path], labels: Path) -> Bunch:
    """Kernels and labels of proteins, from the files of each; see :func:`load_yeast_kernels`."""
    blocks = {view: read_square(path) for view, path in kernels.items()}
    with file_errors(labels.parent):
        data = KernelViews.from_blocks(blocks)
    names, classes, Y = read_label_table(labels)
    descr = f"{len(data)} proteins of yeast, {data.n_views} kernels, {len(classes)} functions"
    target = _align_labels(labels, data.ids, names, Y)
    return Bunch(kernels=data, target=target, extra={"label_names": np.array(classes)}, DESCR=descr)


def _find_label_file(place: Path, texts: list[str], labels: str | None) -> str:
    if labels is not None:
        return labels
    found = [name for name in texts if LABELS.search(name)]
    if len(found) != 1:
        what = f"{len(found)} tables of labels ({', '.join(found)})" if found else "no table of labels"
        raise FileError(
            f"{place}: holds {what}; a file with a line for each protein, called labels.txt or given as "
            "labels=, is wanted"
        )
    return found[0]


def _view_name(file: str) -> str:
    stem = re.sub(r"\.(txt|tsv)(\.gz)?$", "", file, flags=re.IGNORECASE)
    return re.sub(r"^kernel_matrix_|(_c?n)?_\d+$", "", stem)


def _align_labels(path: Path, ids: np.ndarray, names: list[str], Y: np.ndarray) -> np.ndarray:
    """Labels in the order of the proteins; NaN, and a warning, where there are none."""
    places = {name: row for row, name in enumerate(names)}
    rows = np.array([places.get(str(x), -1) for x in ids.tolist()])
    if not (rows >= 0).any():
        raise FileError(
            f"{path}: names none of the proteins of the kernels: it has {names[0]!r}, they {str(ids[0])!r}"
        )
    unlabelled, unused = int((rows < 0).sum()), len(names) - int((rows >= 0).sum())
    if unlabelled:
        first = str(ids[rows < 0][0])
        words = f"{unlabelled} of {len(ids)} proteins have no labels, e.g. {first!r}: they are NaN"
        warnings.warn(words, AbsenceWarning, stacklevel=4)
    if unused:
        words = f"{unused} protein(s) with labels are in no kernel and left out"
        warnings.warn(words, AbsenceWarning, stacklevel=4)
    return np.where(rows[:, None] >= 0, Y[rows], np.nan)


# ------------------------------------------------------------------------------------------ the files


def parse_number(cell: str) -> float:
    """One field as a number, NaN where it is empty, ? or NA."""
    if cell.lower() in MISSING:
        return float("nan")
    try:
        if "_" in cell:  # which Python allows in numbers
            raise ValueError
        return float(cell)
    except ValueError:
        raise ValueError(f"{cell[:30]!r} is no number") from None


def _find_repeated(names: list[str]) -> str | None:
    """The first name that is there more than once."""
    return next((name for name, count in Counter(names).items() if count > 1), None)


def read_square(path: Path) -> tuple[list[str], np.ndarray]:
    """Names and values of a kernel in a text file, columns in the order of rows."""
    with file_errors(path), _lines(path) as lines:
        head = next(lines, (0, []))[1]
        names, values = list[str](), list[np.ndarray]()
        for k, cells in lines:
            columns = head if len(head) == len(cells) - 1 else head[1:]
            if len(cells) - 1 != len(columns):
                raise ValueError(f"line {k} has {len(cells) - 1} values, the first {len(columns)} names")
            if len(names) == len(columns):
                raise ValueError(
                    f"is not square: more than {len(columns)} lines for {len(columns)} columns"
                )
            names.append(cells[0])
            values.append(_parse_values(k, cells[1:]))
        if not names:
            raise ValueError("holds no kernel")
        if len(names) != len(columns):
            raise ValueError(f"is not square: {len(names)} lines for {len(columns)} columns")
        return names, np.array(values)[:, _column_order(names, columns)]


def _parse_values(k: int, cells: list[str]) -> np.ndarray:
    try:
        return np.array(cells, dtype=float)
    except ValueError:
        try:
            return np.array([parse_number(cell) for cell in cells])
        except ValueError as error:
            raise ValueError(f"line {k}: {error}") from None


def _column_order(names: list[str], columns: list[str]) -> np.ndarray:
    """Where the column of each line's protein is."""
    for what, several in (("line", names), ("column", columns)):
        if (twice := _find_repeated(several)) is not None:
            raise ValueError(f"{twice!r} is the name of more than one {what}")
    places = {name: place for place, name in enumerate(columns)}
    strange = [name for name in names if name not in places]
    if strange:
        raise ValueError(f"the line {strange[0]!r} has no column; lines and columns are the same proteins")
    return np.array([places[name] for name in names])


def read_label_table(path: Path) -> tuple[list[str], list[str], np.ndarray]:
    """Proteins, classes, and who has which: 1, -1, or NaN."""
    with file_errors(path), _lines(path) as lines:
        rows = list(lines)
        if not rows:
            raise ValueError("the file is empty")
        width = len(rows[-1][1])
        known = {*YES, *NO, *MISSING, "0", "0.0"}
        headed = any(cell.lower() not in known for cell in rows[0][1][1:])
        head = rows.pop(0)[1] if headed else []
        classes = head[-(width - 1) :] if headed else [f"class{k}" for k in range(1, width)]
        for k, cells in rows:
            if len(cells) != width or width < 2 or len(classes) != width - 1:
                raise ValueError(f"line {k} has {len(cells) - 1} labels for {len(classes)} classes")
        names = [cells[0] for _, cells in rows]
        if not names:
            raise ValueError("holds no labels")
        if all(name.lower() in known for name in names):
            raise ValueError(
                "has no names of proteins in its first column; labels go by name, not by place"
            )
        if (twice := _find_repeated(names)) is not None:
            raise ValueError(f"names {twice!r} more than once")
        return names, classes, _parse_labels(rows)


def _parse_labels(rows: list[tuple[int, list[str]]]) -> np.ndarray:
    negative = -1.0 if not any(cell in NO for _, cells in rows for cell in cells[1:]) else np.nan
    Y = np.full((len(rows), len(rows[0][1]) - 1), np.nan)
    for i, (k, cells) in enumerate(rows):
        for j, cell in enumerate(cells[1:]):
            if cell in YES or cell in NO:
                Y[i, j] = 1.0 if cell in YES else -1.0
            elif cell in ("0", "0.0"):
                Y[i, j] = negative
            elif cell.lower() not in MISSING:
                raise ValueError(f"line {k}: label {cell[:30]!r}; +1 or -1 is wanted")
    return Y


@contextmanager
def _lines(path: Path) -> Iterator[Iterator[tuple[int, list[str]]]]:
    """Lines that hold something, with their numbers, as fields; unpacked where they are packed."""
    with path.open("rb") as raw:
        packed = raw.read(2) == b"\x1f\x8b"
        raw.seek(0)
        stream = gzip.GzipFile(fileobj=raw) if packed else raw
        with io.TextIOWrapper(stream, encoding="utf-8-sig") as text:
            yield _fields(text)


def _fields(text: io.TextIOWrapper) -> Iterator[tuple[int, list[str]]]:
    k, tabs, ended = 0, None, False
    try:
        while line := text.readline(MAX_LINE + 1):
            k += 1
            if len(line) > MAX_LINE:
                raise ValueError(f"line {k} is longer than {MAX_LINE} characters; is this a table?")
            if not line.strip():
                continue
            if tabs is None:  # the first line tells: it may begin with one, or all lines may end with one
                tabs = "\t" in line
                ended = line.rstrip(" \r\n").endswith("\t")
            cells = [cell.strip() for cell in line.rstrip("\r\n").split("\t")] if tabs else line.split()
            yield k, cells[:-1] if ended and not cells[-1] else cells
    except (EOFError, zlib.error, gzip.BadGzipFile) as error:
        raise ValueError(f"is damaged after line {k} ({error})") from None
