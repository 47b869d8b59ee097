"""From the files of a public data set, as its archive gives them, to views or kernels and a target.

A loader is a function of paths by file name.  Two classes are -1 and 1; features of one table are the view
``x``; whatever else a file holds is in ``extra``.
"""

from collections.abc import Mapping
from pathlib import Path
from typing import Any

import numpy as np
from sklearn.utils import Bunch

from absentia.core import Array
from absentia.data import KernelViews, Views
from absentia.files import FileError, file_errors, mat_content, read
from absentia.papers.data import _texts
from absentia.papers.data._packed import member, uncompressed
from absentia.papers.data._yeast import put_together

Paths = Mapping[str, Path]


def table(
    paths: Paths, *, classes: dict[str, int], label: int = -1, without: int = 0, delimiter: str | None = ","
) -> Bunch:
    """One table of numbers with a column of classes; the first columns `without` are names."""
    (path,) = paths.values()
    with file_errors(path):
        rows = _texts.fields(_text(path), delimiter)
        cells = [row.pop(label) for row in rows]
        X = _texts.numbers([row[without:] for row in rows])
        return _features(X, _texts.coded(cells, classes))


def musk(paths: Paths) -> Bunch:
    """Conformations of molecules: names of both, 166 numbers, and a class with a full stop after it."""
    (path,) = paths.values()
    with file_errors(path):
        rows = _texts.fields(_text(path))
        X = _texts.numbers([row[2:-1] for row in rows])
        y = _texts.coded([row[-1].rstrip(".") for row in rows], {"0": -1, "1": 1})
        names = {
            "molecule": np.array([row[0] for row in rows]),
            "conformation": np.array([row[1] for row in rows]),
        }
        return _features(X, y, **names)


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
        rows = _texts.fields(_text(path))
        width = {len(row[2]) for row in rows}
        strange = sorted({letter for row in rows for letter in row[2]} - set(LETTERS))
        if len(width) != 1 or strange:
            raise ValueError(
                f"sequences of lengths {sorted(width)} with the letters {strange}; not these data"
            )
        X = np.array([np.concatenate([LETTERS[letter] for letter in row[2]]) for row in rows])
        y = _texts.coded([row[0] for row in rows], {"EI": 0, "IE": 1, "N": 2})
        return _features(X, y, instance=np.array([row[1] for row in rows]))


def digits(paths: Paths) -> Bunch:
    """The six views of the Multiple Features digits; a tenth of the lines for each digit, in order."""
    views = {}
    for name, path in paths.items():
        with file_errors(path):
            views[name.removeprefix("mfeat-")] = _texts.numbers(_texts.fields(_text(path), None))
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
        X, y = _texts.libsvm(_text(path))
        if set(y.tolist()) != {-1.0, 1.0}:
            raise ValueError(f"has the classes {sorted(set(y.tolist()))[:5]}; -1 and 1 are wanted")
        return _features(X, y.astype(np.int8))


def openml(paths: Paths, *, classes: dict[str, int]) -> Bunch:
    """An ARFF file whose last attribute is the class."""
    (path,) = paths.values()
    with file_errors(path):
        found = _texts.arff(_text(path))
        X = _texts.numbers([row[:-1] for row in found.rows])
        y = _texts.coded(found.column(-1), classes)
        return _features(X, y, feature_names=np.array(found.names[:-1]))


def mulan(paths: Paths, *, n_labels: int) -> Bunch:
    """ARFF files whose last attributes are labels, 0 or 1; several are parts 0, 1, ... of one set."""
    parts: list[tuple[list[str], Array, Array]] = []
    for path in paths.values():
        with file_errors(path):
            found = _texts.arff(_text(path))
            if len(found.names) <= n_labels or (parts and parts[0][0] != found.names):
                raise ValueError(f"has not the attributes of these data: {found.names[:3]} ...")
            labels = [_texts.coded(found.column(j), {"0": 0, "1": 1}) for j in range(-n_labels, 0)]
            parts.append(
                (found.names, _texts.numbers([row[:-n_labels] for row in found.rows]), np.array(labels).T)
            )
    names = np.array(parts[0][0])
    X, Y = np.vstack([part[1] for part in parts]), np.vstack([part[2] for part in parts])
    more = (
        {"part": np.repeat(np.arange(len(parts)), [len(part[1]) for part in parts])}
        if len(parts) > 1
        else {}
    )
    return _features(X, Y, feature_names=names[:-n_labels], label_names=names[-n_labels:], **more)


def axes(paths: Paths) -> Bunch:
    """Training parts of data sets of the UCR archive that hold the same gestures, an axis each."""
    views, targets = {}, []
    for name, path in paths.items():
        stem = name.removesuffix(".zip")
        with file_errors(path):
            if path.suffix == ".zip":
                data = member(path, [f"{stem}_TRAIN{ending}" for ending in (".ts", ".tsv", ".txt")])[1]
                text = _decoded(data)
            else:
                text = _text(path)
            views[stem[-1]], y = _texts.series(text)
        targets.append(y)
    if any(not np.array_equal(y, targets[0]) for y in targets):
        raise FileError(f"{path.parent}: the axes have other classes; they are not of the same gestures")
    return Bunch(views=Views.from_dict(views), target=targets[0], extra={})


def flowers(paths: Paths) -> Bunch:
    """Seven matrices of distances between images as Gaussian kernels of three widths each.

    As in section 5.5 of the absent-MKL paper: 1/4, 1 and 4 times the mean distance.  Of each of the 17
    kinds there are as many images, one kind after the other.
    """
    kernels: dict[str, Array] = {}
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
    return put_together({view: paths[file] for view, file in kernels.items()}, labels)


def prepared(paths: Paths) -> Bunch:
    """Kernels and labels in one file that somebody has made: ``KH`` or ``K``, and ``Y`` or ``y``."""
    (path,) = paths.values()
    data: Any = read(path)
    found: Bunch = Bunch(extra={})
    found["kernels" if isinstance(data, KernelViews) else "views"] = data
    with file_errors(path):
        content = mat_content(path)
    labels = next((np.ravel(content[key]) for key in ("Y", "y", "labels", "label") if key in content), None)
    if labels is not None and len(labels) == len(data):
        found["target"] = labels
    return found


# --------------------------------------------------------------------------------------------- parts


def _features(X: Array, y: Array, **extra: Array) -> Bunch:
    if len(X) != len(y) or not X.size:
        raise ValueError(f"holds {X.shape} values and {len(y)} labels; not these data")
    return Bunch(views=Views.from_dict({"x": X}), target=y, extra=extra)


def _text(path: Path) -> str:
    data = path.read_bytes()
    return _decoded(uncompressed(data) if data[:2] == b"\x1f\x9d" else data)


def _decoded(data: bytes) -> str:
    try:
        return data.decode("utf-8-sig")
    except UnicodeDecodeError:
        return data.decode("latin-1")
