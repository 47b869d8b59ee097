"""From the files of a public data set, as its archive gives them, to views or kernels and a target.

A loader, ``_load_NAME``, takes a mapping of file names to paths and returns a Bunch of ``views`` or
``kernels``, ``target`` and ``extra``; ``catalogue.toml`` says which data set has which.  Two classes are -1
and 1; features of one table are the view ``x``; whatever else a file holds is in ``extra``.  Errors name
the file and, in tables, the line.
"""

import gzip
import io
import os
import re
import warnings
import zipfile
import zlib
from collections import Counter
from collections.abc import Mapping, Sequence
from pathlib import Path, PurePosixPath
from typing import IO, Any

import numpy as np
from scipy.io import arff
from sklearn.datasets import load_svmlight_file
from sklearn.utils import Bunch

from absentia import AbsenceWarning, KernelViews, Views
from absentia.files import FileError, file_errors, mat_content, one_line, read

_Paths = Mapping[str, Path]
_MAX_MEMBER = 1 << 30  # bytes of a member of a zip file
_MAX_FEATURES = 10_000  # of a sparse table, which becomes a dense one
_MISSING = ("?", "", "nan", "na")


def _load_table(
    paths: _Paths,
    *,
    classes: dict[str, int],
    label_column: int = -1,
    n_name_columns: int = 0,
    delimiter: str = ",",
) -> Bunch:
    """One table of numbers with a column of classes; the first `n_name_columns` hold names of samples.

    `label_column` counts as indices do, -1 the last; an empty delimiter stands for any white space.
    """
    (path,) = paths.values()
    with file_errors(path):
        rows = _split_fields(_read_text(path), delimiter or None)
        cells = [row.pop(label_column) for row in rows]
        X = _parse_numbers([row[n_name_columns:] for row in rows])
        return _make_bunch(X, _encode_classes(cells, classes))


def _load_digits(paths: _Paths) -> Bunch:
    """The six views of the Multiple Features digits; a tenth of the lines for each digit, in order."""
    views = {}
    for name, path in paths.items():
        with file_errors(path):
            views[name.removeprefix("mfeat-")] = _parse_numbers(_split_fields(_read_text(path), None))
    sizes = {len(X) for X in views.values()}
    if len(sizes) != 1 or max(sizes) % 10:
        raise FileError(
            f"{path.parent}: the views have {sorted(sizes)} lines; as many of each digit are wanted"
        )
    return Bunch(views=Views.from_dict(views), target=np.repeat(np.arange(10), max(sizes) // 10), extra={})


def _load_libsvm(paths: _Paths) -> Bunch:
    """LIBSVM's format, two classes."""
    (path,) = paths.values()
    with file_errors(path):
        X, y = load_svmlight_file(io.BytesIO(path.read_bytes()), zero_based=False)
        if set(y.tolist()) != {-1.0, 1.0}:
            raise ValueError(f"has the classes {sorted(set(y.tolist()))[:5]}; -1 and 1 are wanted")
        if X.shape[1] > _MAX_FEATURES:
            raise ValueError(f"has {X.shape[1]} features; the file is not the one expected")
        return _make_bunch(X.toarray(), y.astype(np.int8))


def _load_openml(paths: _Paths, *, classes: dict[str, int]) -> Bunch:
    """An ARFF file whose last attribute is the class."""
    (path,) = paths.values()
    with file_errors(path):
        names, table = _read_arff(path)
        y = _encode_classes(_read_text_column(table, names[-1]), classes)
        return _make_bunch(_read_number_columns(table, names[:-1]), y, feature_names=np.array(names[:-1]))


def _load_mulan(paths: _Paths, *, n_labels: int) -> Bunch:
    """ARFF files whose last attributes are labels, 0 or 1; several are parts 0, 1, ... of one set."""
    names = list[str]()
    features, labels = list[np.ndarray](), list[np.ndarray]()
    for path in paths.values():
        with file_errors(path):
            part_names, table = _read_arff(path)
            if len(part_names) <= n_labels or (names and names != part_names):
                raise ValueError(f"has other attributes than expected: {part_names[:3]} ...")
            names = part_names
            codes = [
                _encode_classes(_read_text_column(table, n), {"0": 0, "1": 1}) for n in names[-n_labels:]
            ]
            features.append(_read_number_columns(table, names[:-n_labels]))
            labels.append(np.column_stack(codes))
    extra = {"feature_names": np.array(names[:-n_labels]), "label_names": np.array(names[-n_labels:])}
    if len(features) > 1:
        extra["part"] = np.repeat(np.arange(len(features)), [len(X) for X in features])
    return _make_bunch(np.vstack(features), np.vstack(labels), **extra)


def _load_gesture_axes(paths: _Paths) -> Bunch:
    """Training sets of the UCR archive of the same gestures, one axis each, as views."""
    views, targets = {}, []
    for name, path in paths.items():
        stem = name.removesuffix(".zip")
        with file_errors(path):
            members = [f"{stem}_TRAIN{ending}" for ending in (".ts", ".tsv", ".txt")]
            data = _read_member(path, members) if path.suffix == ".zip" else path.read_bytes()
            views[stem[-1]], y = _parse_series(_decode(data))
        targets.append(y)
    if any(not np.array_equal(y, targets[0]) for y in targets):
        raise FileError(f"{path.parent}: the axes have other classes; they are not of the same gestures")
    return Bunch(views=Views.from_dict(views), target=targets[0], extra={})


def _load_flowers(paths: _Paths) -> Bunch:
    """Seven matrices of distances between images as Gaussian kernels of three widths each.

    As in section 5.5 of the absent-MKL paper: 1/4, 1 and 4 times the mean distance.  Of each of the 17
    kinds there are as many images, one kind after the other.
    """
    kernels: dict[str, np.ndarray] = {}
    for path in paths.values():
        with file_errors(path):
            for key, D in sorted(mat_content(path).items()):
                if not key.startswith("D_") or np.ndim(D) != 2 or D.shape[0] != D.shape[1]:
                    continue
                sigma = D.mean() * len(D) / max(len(D) - 1, 1)  # the diagonal, of zeros, does not count
                for power in (-2, 0, 2):
                    width = 2.0**power * sigma
                    kernels[f"{key.removeprefix('D_')}{power:+d}"] = np.exp(-(D**2) / (2 * width**2))
    sizes = {len(K) for K in kernels.values()}
    if len(sizes) != 1 or max(sizes) % 17:
        raise FileError(
            f"{path.parent}: distances of {sorted(sizes)} images; as many of 17 kinds are wanted"
        )
    target = np.repeat(np.arange(17), max(sizes) // 17)
    return Bunch(kernels=KernelViews.from_dense(kernels), target=target, extra={})


def _load_yeast(paths: _Paths, *, kernels: dict[str, str]) -> Bunch:
    """The kernels that the MKMC papers use, and labels; see :func:`load_yeast_kernels`."""
    (labels,) = (path for name, path in paths.items() if name not in kernels.values())
    return _combine_kernels({view: paths[file] for view, file in kernels.items()}, labels)


def _load_kernel_file(paths: _Paths) -> Bunch:
    """One MATLAB file of kernels (``KH`` or ``K``) and labels (``Y`` or ``y``), as authors share them."""
    (path,) = paths.values()
    data: Any = read(path)
    bunch: Bunch = Bunch(extra={})
    bunch["kernels" if isinstance(data, KernelViews) else "views"] = data
    with file_errors(path):
        content = mat_content(path)
    labels = next((np.ravel(content[key]) for key in ("Y", "y", "labels", "label") if key in content), None)
    if labels is not None and len(labels) == len(data):
        bunch["target"] = labels
    return bunch


# --------------------------------------------------------------------------------- helpers of the loaders


def _make_bunch(X: np.ndarray, y: np.ndarray, **extra: np.ndarray) -> Bunch:
    if len(X) != len(y) or not X.size:
        raise ValueError(f"holds {X.shape} values and {len(y)} labels; the file is not the one expected")
    return Bunch(views=Views.from_dict({"x": X}), target=y, extra=extra)


def _read_text(path: Path) -> str:
    return _decode(path.read_bytes())


def _decode(data: bytes) -> str:
    try:
        return data.decode("utf-8-sig")
    except UnicodeDecodeError:
        return data.decode("latin-1")


def _read_member(path: Path, names: Sequence[str]) -> bytes:
    """The first of these members that a zip file has, in whichever of its folders; read, never written."""
    try:
        with zipfile.ZipFile(path) as archive:
            infos = [info for info in archive.infolist() if "__MACOSX" not in info.filename]
            members = {PurePosixPath(info.filename).name: info for info in infos}
            name = next((name for name in names if name in members), None)
            if name is None:
                raise ValueError(f"holds none of {', '.join(names)} but {', '.join(sorted(members)[:8])}")
            if members[name].file_size > _MAX_MEMBER:
                raise ValueError(f"its member {name!r} is larger than {_MAX_MEMBER} bytes")
            return archive.read(members[name])
    except (zipfile.BadZipFile, zlib.error, EOFError, NotImplementedError, RuntimeError) as error:
        raise ValueError(f"is no zip file, or a damaged one ({one_line(error)})") from None


def _read_arff(path: Path) -> tuple[list[str], np.ndarray]:
    """Names of the attributes of a dense ARFF file, and its table."""
    try:
        table, meta = arff.loadarff(io.StringIO(_read_text(path)))
    except (arff.ArffError, NotImplementedError, StopIteration, ValueError, IndexError) as error:
        raise ValueError(f"is no dense ARFF file ({one_line(error) or 'it ends too early'})") from None
    return list(meta.names()), np.atleast_1d(table)


def _read_text_column(table: np.ndarray, name: str) -> list[str]:
    """Attribute `name` of an ARFF table as texts; nominal attributes come as bytes, numbers as floats."""
    return [str(cell, "utf-8") if isinstance(cell, bytes) else f"{cell:g}" for cell in table[name]]


def _read_number_columns(table: np.ndarray, names: Sequence[str]) -> np.ndarray:
    """Attributes `names` of an ARFF table as floats, samples x attributes."""
    nominal = [name for name in names if table.dtype[name].kind not in "fiu"]
    if nominal:
        raise ValueError(f"attribute {nominal[0]!r} is not of numbers; the file is not the one expected")
    return np.column_stack([table[name] for name in names]).astype(float)


# ------------------------------------------------------------------------------------ plain tables


def _split_fields(text: str, delimiter: str | None) -> list[list[str]]:
    """Lines of a table as fields, as many in each; None: separated by any space."""
    rows: list[list[str]] = []
    for number, line in enumerate(text.splitlines(), 1):
        cells = [cell.strip() for cell in line.split(delimiter)]
        if not any(cells):
            continue
        if rows and len(cells) != len(rows[0]):
            raise ValueError(f"line {number} has {len(cells)} fields, the first {len(rows[0])}")
        rows.append(cells)
    if not rows:
        raise ValueError("the file is empty")
    return rows


def _parse_numbers(rows: Sequence[Sequence[str]]) -> np.ndarray:
    """Fields as a matrix, NaN where one is empty, ? or NA."""
    return np.array([[_parse_number(cell) for cell in row] for row in rows], dtype=float)


def _parse_number(cell: str) -> float:
    """One field as a number, NaN where it is empty, ? or NA."""
    if cell.lower() in _MISSING:
        return float("nan")
    try:
        if "_" in cell:  # which Python allows in numbers
            raise ValueError
        return float(cell)
    except ValueError:
        raise ValueError(f"{cell[:30]!r} is no number") from None


def _encode_classes(cells: Sequence[str], codes: dict[str, int]) -> np.ndarray:
    """Class names as the integers that `codes` gives them."""
    unknown = sorted(set(cells) - set(codes))
    if unknown:
        raise ValueError(f"class {unknown[0][:30]!r} is none of {sorted(codes)}")
    return np.array([codes[cell] for cell in cells], dtype=np.int8)


def _parse_series(text: str) -> tuple[np.ndarray, np.ndarray]:
    """Series of equal length and their classes, whole numbers: ``.ts``, or ``.tsv`` and ``.txt``.

    In ``.ts`` there are lines with @ first, and a class comes after the values and a colon; in the others
    it comes first, and fields are separated by tabs, spaces or commas.
    """
    lines = [line for line in text.splitlines() if line.strip()[:1] not in ("@", "#", "%")]
    parts = [line.replace(",", " ").rpartition(":") for line in lines]
    table = _parse_numbers(
        _split_fields("\n".join(f"{label} {series}" for series, _, label in parts), None)
    )
    classes = table[:, 0].round()
    if not np.array_equal(classes, table[:, 0]):
        raise ValueError("classes are no whole numbers")
    return table[:, 1:], classes.astype(np.int16)


# ---------------------------------------------------------------------------------- proteins of yeast

_TEXT_ENDINGS = (".txt", ".tsv", ".txt.gz", ".tsv.gz")
_LABEL_FILE = re.compile(r"label|class|function|target", re.IGNORECASE)
_LABEL_VALUES = {"1": 1.0, "+1": 1.0, "1.0": 1.0, "-1": -1.0, "-1.0": -1.0, "0": 0.0, "0.0": 0.0}
_LABEL_VALUES |= dict.fromkeys(_MISSING, float("nan"))


def load_yeast_kernels(
    folder: str | os.PathLike[str], *, labels: str | None = None, kernels: Mapping[str, str] | None = None
) -> Bunch:
    """Kernels of proteins and their labels, from text files in a folder.

    Lanckriet, Deng, Cristianini, Jordan and Noble, "Kernel-based data fusion and its application to protein
    function prediction in yeast", PSB 2004: each kernel is a table with the names of proteins in its first
    line and its first column.  All is put together by name, never by position.

    Parameters
    ----------
    folder : path-like
        Where the files are: ``.txt`` or ``.tsv``, also compressed (``.txt.gz``).
    labels : str, optional
        The file with the labels: a line of tabs for each protein, its name first, then for each class +1
        (it has the function) or -1 (it has not); a line with the names of the classes may come first.  0 is
        -1 where there is no -1 in the whole table, else unknown, as are NA and empty fields.  By default
        the one file whose name holds label, class, function or target.
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
    directory = Path(folder)
    if not directory.is_dir():
        raise FileError(f"{directory}: no such folder")
    names = sorted(path.name for path in directory.iterdir() if path.name.lower().endswith(_TEXT_ENDINGS))
    label_file = labels or _find_label_file(directory, names)
    if kernels is None:
        kernels = {_name_view(name): name for name in names if name != label_file}
        if len(kernels) < len(names) - 1:
            raise FileError(
                f"{directory}: two kernels have the same name: {names}; name them with kernels="
            )
    if not kernels:
        raise FileError(
            f"{directory}: holds no kernels; files that end in {', '.join(_TEXT_ENDINGS)} are wanted"
        )
    return _combine_kernels(
        {view: directory / name for view, name in kernels.items()}, directory / label_file
    )


def _find_label_file(directory: Path, names: Sequence[str]) -> str:
    candidates = [name for name in names if _LABEL_FILE.search(name)]
    if len(candidates) != 1:
        several = f"{len(candidates)} tables of labels ({', '.join(candidates)})"
        what = several if candidates else "no table of labels"
        raise FileError(
            f"{directory}: holds {what}; a file with a line for each protein, called labels.txt or given "
            "as labels=, is wanted"
        )
    return candidates[0]


def _name_view(file: str) -> str:
    stem = re.sub(r"\.(txt|tsv)(\.gz)?$", "", file, flags=re.IGNORECASE)
    return re.sub(r"^kernel_matrix_|(_c?n)?_\d+$", "", stem)


def _combine_kernels(kernels: Mapping[str, Path], labels: Path) -> Bunch:
    """Kernels and labels of proteins, from the files of each; see :func:`load_yeast_kernels`."""
    blocks = {}
    for view, path in kernels.items():
        with file_errors(path):
            blocks[view] = _read_kernel_table(path)
    with file_errors(labels.parent):
        data = KernelViews.from_blocks(blocks)
    with file_errors(labels):
        names, classes, Y = _read_label_table(labels)
    target = _align_labels(labels, data.ids, names, Y)
    descr = f"{len(data)} proteins of yeast, {data.n_views} kernels, {len(classes)} functions"
    return Bunch(kernels=data, target=target, extra={"label_names": np.array(classes)}, DESCR=descr)


def _open_text(path: Path) -> IO[str]:
    """A text file, unpacked if it is compressed by gzip, whatever it is called."""
    with path.open("rb") as file:
        compressed = file.read(2) == b"\x1f\x8b"
    return gzip.open(path, "rt", encoding="utf-8-sig") if compressed else path.open(encoding="utf-8-sig")


def _check_unique(names: Sequence[str], what: str) -> None:
    duplicate = next((name for name, count in Counter(names).items() if count > 1), None)
    if duplicate is not None:
        raise ValueError(f"{duplicate!r} is the name of more than one {what}")


def _read_kernel_table(path: Path) -> tuple[list[str], np.ndarray]:
    """Names and values of a kernel in a text file, columns in the order of rows."""
    import pandas as pd

    # pandas 3 reads numbers to the last digit by itself, and warns of being told to
    exact: Any = {} if int(pd.__version__.split(".")[0]) >= 3 else {"float_precision": "round_trip"}
    with _open_text(path) as file:
        head = file.readline().split()
        try:
            frame = pd.read_csv(file, sep=r"\s+", header=None, index_col=0, **exact)
        except pd.errors.EmptyDataError:
            raise ValueError("holds no kernel") from None
    names, n_values = [str(name) for name in frame.index], frame.shape[1]
    columns = head[-n_values:]  # the corner may hold a word too
    if not len(names) == len(columns) == n_values:
        raise ValueError(f"is not square: {len(names)} lines for {len(columns)} columns")
    _check_unique(names, "line")
    _check_unique(columns, "column")
    if unmatched := set(names) - set(columns):
        raise ValueError(
            f"the line {min(unmatched)!r} has no column; lines and columns are the same proteins"
        )
    frame.columns = pd.Index(columns)
    K = frame[names].apply(pd.to_numeric, errors="coerce").to_numpy(dtype=float)
    if np.isnan(K).any():
        bad = names[int(np.isnan(K).any(axis=1).argmax())]
        raise ValueError(f"the line {bad!r} has too few values, or something that is no number")
    return names, K


def _read_label_table(path: Path) -> tuple[list[str], list[str], np.ndarray]:
    """Proteins, classes, and who has which: 1, -1, or NaN (proteins x classes)."""
    with _open_text(path) as file:
        lines = [line.rstrip("\r\n") for line in file if line.strip()]
    rows = [[cell.strip() for cell in line.split("\t" if "\t" in line else None)] for line in lines]
    if not rows:
        raise ValueError("the file is empty")
    width = len(rows[-1])
    classes = [f"class{k}" for k in range(1, width)]
    if any(cell.lower() not in _LABEL_VALUES for cell in rows[0][1:]):
        classes = rows.pop(0)[1 - width :]
    names = [row[0] for row in rows]
    if not names:
        raise ValueError("holds no labels")
    if all(name.lower() in _LABEL_VALUES for name in names):
        raise ValueError("has no names of proteins in its first column; labels go by name, not by place")
    _check_unique(names, "line")
    for name, *cells in rows:
        if len(cells) != len(classes):
            raise ValueError(f"{name!r} has {len(cells)} labels for {len(classes)} classes")
        for cell in cells:
            if cell.lower() not in _LABEL_VALUES:
                raise ValueError(f"{name!r} has the label {cell[:30]!r}; +1 or -1 is wanted")
    Y = np.array([[_LABEL_VALUES[cell.lower()] for cell in cells] for _, *cells in rows])
    zero = np.nan if (Y == -1).any() else -1.0
    return names, classes, np.where(Y == 0, zero, Y)


def _align_labels(path: Path, ids: np.ndarray, names: list[str], Y: np.ndarray) -> np.ndarray:
    """Labels in the order of the proteins; NaN, and a warning, where there are none."""
    row_of = {name: row for row, name in enumerate(names)}
    rows = np.array([row_of.get(str(x), -1) for x in ids.tolist()])
    known = rows >= 0
    if not known.any():
        raise FileError(
            f"{path}: names none of the proteins of the kernels: it has {names[0]!r}, they {str(ids[0])!r}"
        )
    if not known.all():
        message = f"{(~known).sum()} of {len(ids)} proteins have no labels, e.g. {str(ids[~known][0])!r}"
        warnings.warn(f"{message}: they are NaN", AbsenceWarning, stacklevel=4)
    if unused := len(names) - int(known.sum()):
        message = f"{unused} protein(s) with labels are in no kernel and left out"
        warnings.warn(message, AbsenceWarning, stacklevel=4)
    return np.where(known[:, None], Y[rows], np.nan)
