"""Data to try things on: made-up views with known truth, bundled digits, public benchmarks.

The data of the papers, made and fetched, are in :mod:`absentia.papers`.  The made-up cohort is as people
have them: tables, labels with gaps, new patients later.
"""

from __future__ import annotations

import os
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from functools import partial
from pathlib import Path
from typing import Any

import numpy as np
from sklearn.datasets import load_digits
from sklearn.utils import Bunch

from absentia.core import Array, RandomState, make_generator
from absentia.data import KernelViews, Views
from absentia.files import FileError, file_errors, from_arrays, is_data, read_arrays, write_atomically
from absentia.kernels import ViewKernels

_SUBTYPES = {"Basal": 48, "Her2": 32, "LumA": 79}
_STAGES = ("I", "II", "III", "IV")
_MISSING = ("", "NA", "N/A", "?")  # how people write that a label is unknown
_ABSENT = {"expression": 30, "methylation": 41, "clinical": 14}  # of 159 patients
_UNLABELLED = {"Basal": 5, "Her2": 4, "LumA": 10}
_DISTANCE = 2.5  # of a subtype from the others along its factor, in standard deviations
_BLUR = 2.0  # standard deviation of what a view adds to the factor that the other one shows
_N_NEW = 40
_WITHOUT_TABLES = "P-1013"  # has a label and no table


def make_multiview(
    n_samples: int = 100,
    n_views: int = 3,
    *,
    n_shared: int = 4,
    n_private: int = 2,
    n_features: int | Sequence[int] = 20,
    n_classes: int = 2,
    private_scale: float = 0.5,
    noise: float = 0.1,
    kernel: str = "rbf",
    random_state: RandomState = None,
) -> Bunch:
    """Views that share some factors and keep others to themselves, with the truth beside them.

    View v of sample i is ``z_i A_v + private_scale * p_iv B_v + noise * e_iv`` with standard normal
    shared factors z, private factors p, loadings A, B (scaled so that each part has unit variance per
    feature before its factor) and noise e.  Classes cut the first shared factor at equal shares.

    Parameters
    ----------
    n_samples, n_views, n_shared, n_private, n_features, n_classes : int
        How many there are; of private factors and of features in each view (features: or one per view).
    private_scale, noise : float
        How strong what a view does not share is, against the shared part's 1.
    kernel : str
        Kernel of ``kernels``, one per view as in :class:`absentia.ViewKernels`.
    random_state : int, Generator, RandomState or None
        Source of randomness; None: the fixed seed 0.

    Returns
    -------
    Bunch
        ``views`` and ``kernels`` (complete), ``target``, ``shared`` (n, n_shared), ``private`` (list of
        (n, n_private)), ``loadings`` (list of (A, B)).

    Examples
    --------
    >>> make_multiview(50, 3, random_state=0).views.shape
    (50, 3)
    """
    rng, widths = make_generator(random_state), _check_widths(n_features, n_views)
    shared = rng.standard_normal((n_samples, n_shared))
    drawn = [_draw_view(rng, shared, n_private, width, private_scale, noise) for width in widths]
    rank = np.argsort(np.argsort(shared[:, 0])) if n_shared else rng.permutation(n_samples)
    truth = {"private": [private for _, _, private, _ in drawn], "loadings": [(A, B) for A, B, *_ in drawn]}
    views = Views.from_dict({f"view{v}": table for v, (*_, table) in enumerate(drawn)})
    kernels = ViewKernels(kernel).fit_transform(views)
    return Bunch(views=views, kernels=kernels, target=rank * n_classes // n_samples, shared=shared, **truth)


def _check_widths(n_features: int | Sequence[int], n_views: int) -> list[int]:
    widths = [n_features] * n_views if isinstance(n_features, int) else list(n_features)
    if len(widths) != n_views:
        raise ValueError(f"n_features gives {len(widths)} widths for {n_views} views")
    return widths


def _draw_view(
    rng: np.random.Generator, shared: Array, n_private: int, width: int, private_scale: float, noise: float
) -> tuple[Array, Array, Array, Array]:
    """One view: its loadings, its private factors and its values."""
    n, n_shared = shared.shape
    A = rng.standard_normal((n_shared, width)) / np.sqrt(max(n_shared, 1))
    B = rng.standard_normal((n_private, width)) / np.sqrt(max(n_private, 1))
    private, error = rng.standard_normal((n, n_private)), rng.standard_normal((n, width))
    return A, B, private, shared @ A + private_scale * private @ B + noise * error


# ------------------------------------------------------------------------------------------------- a cohort


@dataclass(frozen=True)
class _Cohort:
    """Tables by view with the patients as index, the patients' subtypes, and the same of new patients.

    Attributes
    ----------
    tables, new : dict of DataFrame
        Who is not in a table lacks the view.  The tables of the new patients have other columns in
        another order, as tables of next month do.
    labels : DataFrame
        Column ``subtype``; empty, ``NA``, ``N/A`` or ``?`` where unknown, and one patient in no table.
    new_labels : DataFrame
        The truth.
    """

    tables: Mapping[str, Any]
    labels: Any
    new: Mapping[str, Any]
    new_labels: Any


def make_cohort(random_state: RandomState = None) -> _Cohort:
    """Made-up patients with one of three subtypes in three views, some of them absent.

    Parameters
    ----------
    random_state : int, Generator, RandomState or None
        Source of randomness; None: the fixed seed 0.

    Examples
    --------
    >>> cohort = make_cohort()
    >>> {name: table.shape for name, table in cohort.tables.items()}
    {'expression': (129, 200), 'methylation': (118, 120), 'clinical': (145, 5)}
    """
    import pandas as pd

    rng = make_generator(random_state)
    n = sum(_SUBTYPES.values())
    classes = np.repeat(np.arange(3), list(_SUBTYPES.values()))
    everyone = np.concatenate([rng.permutation(classes), rng.choice(classes, _N_NEW)])
    ids = np.array([f"P-{number:04d}" for number in range(1, len(everyone) + 1)])
    whole = _draw_tables(rng, everyone, ids)
    subtype = pd.DataFrame({"subtype": np.array(list(_SUBTYPES))[everyone]}, index=ids.tolist())
    observed = _draw_observed(rng, n)
    tables = {name: whole[name].iloc[:n][observed[:, v]] for v, name in enumerate(_ABSENT)}
    observed = rng.random((_N_NEW, 3)) < 0.75
    observed[~observed.any(axis=1), 0] = True
    new = {name: whole[name].iloc[n:][observed[:, v]] for v, name in enumerate(_ABSENT)}
    new["expression"] = _change_columns(rng, new["expression"])
    return _Cohort(tables, _draw_labels(rng, subtype.iloc[:n]), new, subtype.iloc[n:])


def _draw_tables(rng: np.random.Generator, classes: Array, ids: Array) -> dict[str, Any]:
    """All three views of everybody, none of which tells the whole answer.

    One factor sets Basal apart, another Her2.  Expression shows the first as it is and the second blurred,
    methylation the other way round, each among two factors of its own; the clinic sees a little of both.
    """
    import pandas as pd

    n, index = len(classes), pd.Index(ids.tolist(), name="patient")
    factors = _DISTANCE * (classes[:, None] == [0, 1]) + rng.standard_normal((n, 2))

    def measure(width: int, own: int, noise: float) -> Array:
        seen = factors + _BLUR * (np.arange(2) != own) * rng.standard_normal((n, 2))
        seen = np.hstack([seen, rng.standard_normal((n, 2))])
        return seen @ rng.standard_normal((4, width)) / 2 + noise * rng.standard_normal((n, width))

    genes = [f"gene_{k:03d}" for k in range(1, 201)]
    sites = [f"cg{k:05d}" for k in rng.permutation(99_999)[:120]]
    expression = pd.DataFrame(np.round(6 + measure(200, 0, 1.5), 3), index, genes)
    methylation = pd.DataFrame(np.round(1 / (1 + np.exp(-measure(120, 1, 1.2))), 4), index, sites)
    score = factors[:, 0] + 0.7 * rng.standard_normal(n)
    stage = np.digitize(score, np.quantile(score, [0.3, 0.65, 0.9]))
    clinical = pd.DataFrame(
        {
            "age": np.round(np.clip(58 + 11 * rng.standard_normal(n), 24, 92)),
            "size_mm": np.round(np.exp(3 + 0.25 * stage + 0.3 * rng.standard_normal(n)), 1),
            "sex": np.where(rng.random(n) < 0.02, "m", "f"),
            "stage": np.array(_STAGES)[stage],
            "ER": np.where(rng.random(n) < np.array([0.12, 0.4, 0.95])[classes], "pos", "neg"),
        },
        index,
    )
    clinical.loc[rng.random(n) < 0.05, "size_mm"] = np.nan
    clinical.loc[rng.random(n) < 0.06, "ER"] = None
    return {"expression": expression, "methylation": methylation, "clinical": clinical}


def _draw_observed(rng: np.random.Generator, n: int) -> Array:
    """Which patients have which view: as many absent as wanted, everybody with one view at least."""
    observed = np.ones((n, len(_ABSENT)), dtype=bool)
    for v, count in enumerate(_ABSENT.values()):
        allowed = np.flatnonzero(observed.sum(axis=1) > 1)
        observed[rng.choice(allowed, count, replace=False), v] = False
    return observed


def _draw_labels(rng: np.random.Generator, subtype: Any) -> Any:
    """Some unknown, each in one of the ways that people write it, and somebody whom no table has."""
    import pandas as pd

    labels = subtype.copy()
    for name, count in _UNLABELLED.items():
        patients = rng.choice(np.flatnonzero(subtype["subtype"] == name), count, replace=False)
        labels.iloc[patients, 0] = [_MISSING[k % len(_MISSING)] for k in range(count)]
    without_tables = pd.DataFrame({"subtype": ["LumA"]}, index=[_WITHOUT_TABLES])
    return pd.concat([labels, without_tables]).rename_axis("patient")


def _change_columns(rng: np.random.Generator, table: Any) -> Any:
    """Columns in another order, three of them gone, one that was not there."""
    columns = rng.permutation(table.columns[3:])
    return table[columns].assign(gene_999=np.round(rng.normal(6, 1, len(table)), 3))


def write_cohort(
    folder: str | Path, new_folder: str | Path, random_state: RandomState = None
) -> list[Path]:
    """Write the cohort's tables and labels as CSV into a folder, and those of new patients into another.

    Parameters
    ----------
    folder, new_folder : path-like
        Where to; they are made, and neither may be there with something in it.
    random_state : int, Generator, RandomState or None
        As in :func:`make_cohort`.

    Examples
    --------
    >>> import tempfile
    >>> from absentia import datasets
    >>> with tempfile.TemporaryDirectory() as folder:
    ...     len(datasets.write_cohort(f"{folder}/breast", f"{folder}/newpatients"))
    8
    """
    cohort = make_cohort(random_state)
    parts = {Path(folder): {**cohort.tables, "labels": cohort.labels}}
    parts[Path(new_folder)] = {**cohort.new, "labels": cohort.new_labels.rename_axis("patient")}
    for target in parts:
        if target.exists() and (not target.is_dir() or any(target.iterdir())):
            raise FileError(f"{target}: is there already; give the name of a new folder")
    written = []
    for target, tables in parts.items():
        target.mkdir(parents=True, exist_ok=True)
        for name, table in tables.items():
            write = partial(table.to_csv, mode="wb", lineterminator="\n")
            written.append(write_atomically(target / f"{name}.csv", write))
    return written


# -------------------------------------------------------------------------------------------------- digits


def load_digit_views(*, n_samples: int | None = None, return_X_y: bool = False) -> Any:
    """Handwritten digits (1797 images of 8 x 8, bundled with scikit-learn) seen in six ways.

    Views: ``pixels`` (64 grey values), ``fourier`` (34 magnitudes of the 2-d Fourier transform),
    ``profiles`` (32: where the ink starts from each of the four sides), ``projections`` (30: ink by row,
    column and diagonal), ``gradients`` (32: strength of strokes by direction in four quarters),
    ``moments`` (9: size, place, spread, slant and symmetry of the ink).

    Parameters
    ----------
    n_samples : int, optional
        Only the first so many of every class, as evenly as possible; by default all.
    return_X_y : bool
        Return ``(views, y)`` instead of a Bunch with ``views``, ``target`` and ``images``.

    Examples
    --------
    >>> from absentia import datasets
    >>> views, y = datasets.load_digit_views(n_samples=60, return_X_y=True)
    >>> views.shape, views.names[:2]
    ((60, 6), ('pixels', 'fourier'))
    """
    digits = load_digits()
    chosen = slice(None) if n_samples is None else _select_balanced(digits.target, n_samples)
    images, y = digits.images[chosen] / 16.0, digits.target[chosen]
    views = Views.from_dict({name: describe(images) for name, describe in _DIGIT_VIEWS.items()})
    return (views, y) if return_X_y else Bunch(views=views, target=y, images=images)


def _select_balanced(y: Array, n: int) -> Array:
    """The first `n` positions when classes take turns, in their original order."""
    if not 1 <= n <= len(y):
        raise ValueError(f"n_samples={n}; there are {len(y)} digits")
    turn = np.zeros(len(y), dtype=int)
    for label in np.unique(y):
        members = np.flatnonzero(y == label)
        turn[members] = np.arange(len(members))
    return np.sort(np.lexsort((y, turn))[:n])


def _pixels(images: Array) -> Array:
    return images.reshape(len(images), -1)


def _fourier(images: Array) -> Array:
    """Magnitudes of one half plane of frequencies; the other half mirrors it."""
    distinct = np.ones((8, 5), dtype=bool)
    distinct[5:, [0, 4]] = False  # in these two columns rows 5 to 7 mirror rows 3 to 1
    return np.abs(np.fft.rfft2(images))[:, distinct]


def _profiles(images: Array) -> Array:
    """Distance from each side to the first ink, row by row and column by column."""
    ink = images > 0.25
    sides = [ink, ink[:, :, ::-1], ink.transpose(0, 2, 1), ink[:, ::-1].transpose(0, 2, 1)]
    depth = [np.where(side.any(axis=2), side.argmax(axis=2), 8) for side in sides]
    return np.hstack(depth) / 8.0


def _projections(images: Array) -> Array:
    """Ink by row, by column, and along the two families of diagonals (the seven longest each)."""
    diagonals = [np.trace(images, offset=k, axis1=1, axis2=2) for k in range(-3, 4)]
    flipped = images[:, :, ::-1]
    diagonals += [np.trace(flipped, offset=k, axis1=1, axis2=2) for k in range(-3, 4)]
    return np.hstack([images.sum(axis=1), images.sum(axis=2), np.stack(diagonals, axis=1)])


def _gradients(images: Array) -> Array:
    """Gradient strength in eight directions, summed over the four quarters of the image."""
    dy, dx = np.gradient(images, axis=(1, 2))
    strength, angle = np.hypot(dx, dy), np.arctan2(dy, dx)
    direction = np.floor((angle + np.pi) / (2 * np.pi) * 8).astype(int) % 8
    quarters = [np.s_[:, :4, :4], np.s_[:, :4, 4:], np.s_[:, 4:, :4], np.s_[:, 4:, 4:]]
    return np.stack(
        [np.where(direction[q] == d, strength[q], 0).sum(axis=(1, 2)) for q in quarters for d in range(8)],
        axis=1,
    )


def _moments(images: Array) -> Array:
    """Mass, centre, spread, slant and skew of the ink, and how much its mirror images differ."""
    grid = np.arange(8) - 3.5
    mass = images.sum(axis=(1, 2))
    weight = images / mass[:, None, None]
    y = np.einsum("nij,i->n", weight, grid)
    x = np.einsum("nij,j->n", weight, grid)
    dy, dx = grid[None] - y[:, None], grid[None] - x[:, None]

    def central(p: int, q: int) -> Array:
        return np.asarray(np.einsum("nij,ni,nj->n", weight, dy**p, dx**q))

    left_right = np.abs(images - images[:, :, ::-1]).sum(axis=(1, 2)) / mass
    up_down = np.abs(images - images[:, ::-1]).sum(axis=(1, 2)) / mass
    second = [central(2, 0), central(0, 2), central(1, 1)]
    return np.stack([mass, y, x, *second, central(3, 0), left_right, up_down], axis=1)


_DIGIT_VIEWS = {
    "pixels": _pixels,
    "fourier": _fourier,
    "profiles": _profiles,
    "projections": _projections,
    "gradients": _gradients,
    "moments": _moments,
}


# --------------------------------------------------------------------------------------- public benchmarks

#: What ``load_benchmark`` knows: file, what it is.
BENCHMARKS: dict[str, str] = {
    "mfeat": "UCI multiple features: 2000 digits, 6 views, 10 classes",
    "3sources_full416": "416 news stories in up to 3 papers, 6 topics; naturally incomplete",
    "bbcsport_2view544": "544 sports stories in 2 segments, 5 classes",
    "cll_mofaCLL": "277 leukaemia patients, drugs, genomics, seahorse, protein; naturally incomplete",
    "tcga_breast_mixomics": "220 breast tumours, mirna, mrna, protein; one view missing for the test part",
    "uwave_train": "896 gestures on 3 axes, 8 classes",
    "proteinfold_embed27": "694 proteins, rank-27 factors of 12 kernels, 27 folds",
    "embryo_kernels": "255 fly embryos, 6 kernels; naturally incomplete",
    "cvkt_digits200_kernels": "200 digits, 6 kernels, published masks",
    "cvkt_simulated_kernels": "100 simulated samples, 7 kernels, published masks",
    "mkc_drm25_kernels": "25 samples, 8 kernels, published splits",
    "uci_heart": "Statlog heart, 270 x 13, binary",
    "uci_ionosphere": "ionosphere, 351 x 34, binary",
    "uci_sonar": "sonar, 208 x 60, binary",
    "uci_wdbc": "breast cancer, 569 x 30, binary",
    "uci_pima": "Pima diabetes, 768 x 8, binary",
    "ml_emotions": "593 pieces of music x 72, 6 labels",
    "ml_scene": "2407 scenes x 294, 6 labels",
}

_ID_KEYS = ("ids", "sample", "patient", "story_id")


def load_benchmark(name: str, folder: str | os.PathLike[str] | None = None) -> Bunch:
    """A public benchmark set from `folder`, by default the one ``ABSENTIA_DATA`` names.

    Parameters
    ----------
    name : str
        One of :data:`BENCHMARKS`.
    folder : str or path, optional
        Where its file is.

    Returns
    -------
    Bunch
        ``views`` (Views) or ``kernels`` (KernelViews); ``target`` where the file has labels (key ``y``
        or ``Y``); ``extra``, a dict of the file's other arrays; ``DESCR``.

    Examples
    --------
    >>> from absentia import datasets
    >>> datasets.load_benchmark("cll_mofaCLL").views.names
    ('drugs', 'genomics', 'seahorse', 'protein')
    """
    if name not in BENCHMARKS:
        raise ValueError(f"no benchmark {name!r}; known are {sorted(BENCHMARKS)}")
    return read_bunch(data_folder(folder) / f"{name}.npz", BENCHMARKS[name])


def read_bunch(path: Path, what: str) -> Bunch:
    """The arrays of an ``.npz`` file as :func:`load_benchmark` gives them; a table ``X`` is the view x."""
    with file_errors(path):
        arrays = read_arrays(path)
        if "X" in arrays and not any(map(is_data, arrays)):
            arrays["view_x"] = arrays.pop("X")
        ids = next((arrays.pop(key) for key in _ID_KEYS if key in arrays), None)
        data = from_arrays(arrays if ids is None else {**arrays, "ids": ids})
    extra = {key: array for key, array in arrays.items() if not is_data(key)}
    bunch = Bunch(DESCR=what, extra=extra)
    bunch["kernels" if isinstance(data, KernelViews) else "views"] = data
    for key in ("y", "Y"):
        if key in extra:
            bunch["target"] = extra.pop(key)
    return bunch


def data_folder(folder: str | os.PathLike[str] | None = None) -> Path:
    """The folder with the benchmark files, or an error that says how to name it."""
    chosen = folder if folder is not None else os.environ.get("ABSENTIA_DATA")
    if not chosen:
        raise FileError(
            "the benchmark files are not part of the package; set the environment variable "
            "ABSENTIA_DATA to the folder that holds them"
        )
    path = Path(chosen)
    if not path.is_dir():
        raise FileError(f"{path}: no such folder" + (" (named by ABSENTIA_DATA)" if folder is None else ""))
    return path
