"""From the files of a public data set, as its archive gives them, to views or kernels and a target.

A loader is a function of paths by file name.  Two classes are -1 and 1; features of one table are the view
``x``; whatever else a file holds is in ``extra``.  Errors name the file and, in tables, the line.
"""

import io
import zipfile
import zlib
from collections.abc import Mapping, Sequence
from pathlib import Path, PurePosixPath
from typing import Any

import numpy as np
from scipy.io import arff
from sklearn.datasets import load_svmlight_file
from sklearn.utils import Bunch

from absentia import KernelViews, Views
from absentia.files import FileError, file_errors, mat_content, one_line, read
from absentia.papers.data._yeast import combine_files, parse_number

Paths = Mapping[str, Path]
MAX_BYTES = 1 << 30  # of a member of a zip file
MAX_FEATURES = 10_000  # of a sparse table, which becomes a dense one


def table(
    paths: Paths, *, classes: dict[str, int], label: int = -1, without: int = 0, delimiter: str = ","
) -> Bunch:
    """One table of numbers with a column of classes; the first columns `without` are names.

    An empty delimiter is any space.
    """
    (path,) = paths.values()
    with file_errors(path):
        rows = _read_fields(path, delimiter or None)
        cells = [row.pop(label) for row in rows]
        X = _parse_numbers([row[without:] for row in rows])
        return _make_bunch(X, _encode_classes(cells, classes))


def musk(paths: Paths) -> Bunch:
    """Conformations of molecules: names of both, 166 numbers, and a class with a full stop after it."""
    (path,) = paths.values()
    with file_errors(path):
        rows = _read_fields(path)
        X = _parse_numbers([row[2:-1] for row in rows])
        y = _encode_classes([row[-1].rstrip(".") for row in rows], {"0": -1, "1": 1})
        names = {
            "molecule": np.array([row[0] for row in rows]),
            "conformation": np.array([row[1] for row in rows]),
        }
        return _make_bunch(X, y, **names)


#: Letters of the genetic alphabet, those for doubt as the shares of what they may be.
LETTERS = {
    **{letter: np.eye(4)[k] for k, letter in enumerate("ACGT")},
    "N": np.full(4, 1 / 4),
    "D": np.array([1, 0, 1, 1]) / 3,
    "S": np.array([0, 1, 1, 0]) / 2,
    "R": np.array([1, 0, 1, 0]) / 2,
}


def splice(paths: Paths) -> Bunch:
    """Windows of DNA, four columns (A, C, G, T) for each place; classes EI, IE, N as 0, 1, 2."""
    (path,) = paths.values()
    with file_errors(path):
        rows = _read_fields(path)
        width = {len(row[2]) for row in rows}
        strange = sorted({letter for row in rows for letter in row[2]} - set(LETTERS))
        if len(width) != 1 or strange:
            raise ValueError(
                f"sequences of lengths {sorted(width)} with the letters {strange}; not these data"
            )
        X = np.array([np.concatenate([LETTERS[letter] for letter in row[2]]) for row in rows])
        y = _encode_classes([row[0] for row in rows], {"EI": 0, "IE": 1, "N": 2})
        return _make_bunch(X, y, instance=np.array([row[1] for row in rows]))


def digits(paths: Paths) -> Bunch:
    """The six views of the Multiple Features digits; a tenth of the lines for each digit, in order."""
    views = {}
    for name, path in paths.items():
        with file_errors(path):
            views[name.removeprefix("mfeat-")] = _parse_numbers(_read_fields(path, None))
    sizes = {len(X) for X in views.values()}
    if len(sizes) != 1 or max(sizes) % 10:
        raise FileError(
            f"{path.parent}: the views have {sorted(sizes)} lines; as many of each digit are wanted"
        )
    return Bunch(views=Views.from_dict(views), target=np.repeat(np.arange(10), max(sizes) // 10), extra={})


def libsvm(paths: Paths) -> Bunch:
    """LIBSVM's format, two classes."""
    (path,) = paths.values()
    with file_errors(path):
        X, y = load_svmlight_file(io.BytesIO(path.read_bytes()), zero_based=False)
        if set(y.tolist()) != {-1.0, 1.0}:
            raise ValueError(f"has the classes {sorted(set(y.tolist()))[:5]}; -1 and 1 are wanted")
        if X.shape[1] > MAX_FEATURES:
            raise ValueError(f"has {X.shape[1]} features; not these data")
        return _make_bunch(X.toarray(), y.astype(np.int8))


def openml(paths: Paths, *, classes: dict[str, int]) -> Bunch:
    """An ARFF file whose last attribute is the class."""
    (path,) = paths.values()
    with file_errors(path):
        names, table = _read_arff(path)
        y = _encode_classes(_texts(table, names[-1]), classes)
        return _make_bunch(_numbers(table, names[:-1]), y, feature_names=np.array(names[:-1]))


def mulan(paths: Paths, *, n_labels: int) -> Bunch:
    """ARFF files whose last attributes are labels, 0 or 1; several are parts 0, 1, ... of one set."""
    names = list[str]()
    features, labels = list[np.ndarray](), list[np.ndarray]()
    for path in paths.values():
        with file_errors(path):
            part_names, table = _read_arff(path)
            if len(part_names) <= n_labels or (names and names != part_names):
                raise ValueError(f"has not the attributes of these data: {part_names[:3]} ...")
            names = part_names
            codes = [_encode_classes(_texts(table, n), {"0": 0, "1": 1}) for n in names[-n_labels:]]
            features.append(_numbers(table, names[:-n_labels]))
            labels.append(np.column_stack(codes))
    extra = {"feature_names": np.array(names[:-n_labels]), "label_names": np.array(names[-n_labels:])}
    if len(features) > 1:
        extra["part"] = np.repeat(np.arange(len(features)), [len(X) for X in features])
    return _make_bunch(np.vstack(features), np.vstack(labels), **extra)


def axes(paths: Paths) -> Bunch:
    """Training parts of data sets of the UCR archive that hold the same gestures, an axis each."""
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


def flowers(paths: Paths) -> Bunch:
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


def yeast(paths: Paths, *, kernels: dict[str, str]) -> Bunch:
    """The kernels that the MKMC papers use, and labels; see ``_yeast``."""
    (labels,) = (path for name, path in paths.items() if name not in kernels.values())
    return combine_files({view: paths[file] for view, file in kernels.items()}, labels)


def prepared(paths: Paths) -> Bunch:
    """Kernels and labels in one file that somebody has made: ``KH`` or ``K``, and ``Y`` or ``y``."""
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


# --------------------------------------------------------------------------------------------- parts


def _make_bunch(X: np.ndarray, y: np.ndarray, **extra: np.ndarray) -> Bunch:
    if len(X) != len(y) or not X.size:
        raise ValueError(f"holds {X.shape} values and {len(y)} labels; not these data")
    return Bunch(views=Views.from_dict({"x": X}), target=y, extra=extra)


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
            if members[name].file_size > MAX_BYTES:
                raise ValueError(f"its member {name!r} is larger than {MAX_BYTES} bytes")
            return archive.read(members[name])
    except (zipfile.BadZipFile, zlib.error, EOFError, NotImplementedError, RuntimeError) as error:
        raise ValueError(f"is no zip file, or a damaged one ({one_line(error)})") from None


def _read_arff(path: Path) -> tuple[list[str], np.ndarray]:
    """Names of the attributes of a dense ARFF file, and its table."""
    try:
        table, meta = arff.loadarff(io.StringIO(_decode(path.read_bytes())))
    except (arff.ArffError, NotImplementedError, StopIteration, ValueError, IndexError) as error:
        raise ValueError(f"is no dense ARFF file ({one_line(error) or 'it ends too early'})") from None
    return list(meta.names()), np.atleast_1d(table)


def _texts(table: np.ndarray, name: str) -> list[str]:
    return [str(cell, "utf-8") if isinstance(cell, bytes) else f"{cell:g}" for cell in table[name]]


def _numbers(table: np.ndarray, names: Sequence[str]) -> np.ndarray:
    texts = [name for name in names if table.dtype[name].kind not in "fiu"]
    if texts:
        raise ValueError(f"attribute {texts[0]!r} is not of numbers; not these data")
    return np.column_stack([table[name] for name in names]).astype(float)


# ------------------------------------------------------------------------------------ plain tables


def _read_fields(path: Path, delimiter: str | None = ",") -> list[list[str]]:
    """Lines of a table as fields, as many in each; None: separated by any space."""
    rows: list[list[str]] = []
    for number, line in enumerate(_decode(path.read_bytes()).splitlines(), 1):
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
    return np.array([[parse_number(cell) for cell in row] for row in rows], dtype=float)


def _encode_classes(cells: Sequence[str], codes: dict[str, int]) -> np.ndarray:
    """Classes as numbers, by a table."""
    unknown = sorted(set(cells) - set(codes))
    if unknown:
        raise ValueError(f"class {unknown[0][:30]!r} is none of {sorted(codes)}")
    return np.array([codes[cell] for cell in cells], dtype=np.int8)


def _parse_series(text: str) -> tuple[np.ndarray, np.ndarray]:
    """Series of equal length and their classes, whole numbers: ``.ts``, or ``.tsv`` and ``.txt``.

    In ``.ts`` there are lines with @ first, and a class comes after the values and a colon; in the others
    it comes first, and fields are separated by tabs, spaces or commas.
    """
    lines = [(k, line.strip()) for k, line in enumerate(text.splitlines(), 1)]
    body = [(k, line) for k, line in lines if line and line[0] not in "@#%"]
    if not body:
        raise ValueError("holds no series")
    headed = any(line.startswith("@") for _, line in lines)
    values, classes = list[list[float]](), list[float]()
    for k, line in body:
        if headed:
            *series, label = line.split(":")
            if len(series) != 1:
                raise ValueError(f"line {k} is no series of one dimension and its class")
            cells = series[0].split(",")
        else:
            label, *cells = line.replace(",", " ").split()
        if values and len(cells) != len(values[0]):
            raise ValueError(f"line {k} has {len(cells)} values, the first {len(values[0])}")
        values.append([parse_number(cell) for cell in cells])
        classes.append(parse_number(label))
    if not np.array_equal(classes, np.round(classes)):
        raise ValueError("classes are no whole numbers")
    return np.array(values), np.array(classes).astype(np.int16)
