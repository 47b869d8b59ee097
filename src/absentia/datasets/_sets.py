"""Data to try things on: made up with known truth, bundled with scikit-learn, or found on disk.

``make_multiview`` draws views from shared and private factors; ``load_digit_views`` describes
scikit-learn's bundled digits in six ways; ``load_benchmark`` reads the public benchmark sets from the
folder that the environment variable ``ABSENTIA_DATA`` names.
"""

from __future__ import annotations

import os
from collections.abc import Sequence
from pathlib import Path
from typing import Any, Literal, overload

import numpy as np
from sklearn.datasets import load_digits
from sklearn.utils import Bunch

from absentia.core import Array, RandomState, generator
from absentia.data import KernelViews, Views
from absentia.files import FileError, from_arrays, is_data, read_arrays, reading
from absentia.kernels import ViewKernels

# ---------------------------------------------------------------------------------------- made up


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
    n_samples, n_views, n_shared, n_private, n_classes : int
    n_features : int or one per view
    private_scale, noise : float
        How strong what a view does not share is, against the shared part's 1.
    kernel : str
        Kernel of ``kernels``, one per view as in :class:`absentia.ViewKernels`.

    Returns
    -------
    Bunch
        ``views`` (complete), ``kernels`` (complete), ``target``, ``shared`` (n, n_shared),
        ``private`` (list of (n, n_private)), ``loadings`` (list of (A, B)).

    Examples
    --------
    >>> data = make_multiview(50, 3, random_state=0)
    >>> data.views.shape, data.kernels.shape
    ((50, 3), (50, 50))
    """
    rng = generator(random_state)
    widths = [n_features] * n_views if isinstance(n_features, int) else list(n_features)
    if len(widths) != n_views:
        raise ValueError(f"n_features gives {len(widths)} widths for {n_views} views")
    shared = rng.standard_normal((n_samples, n_shared))
    private, loadings, tables = [], [], {}
    for v, width in enumerate(widths):
        A = rng.standard_normal((n_shared, width)) / np.sqrt(max(n_shared, 1))
        B = rng.standard_normal((n_private, width)) / np.sqrt(max(n_private, 1))
        own = rng.standard_normal((n_samples, n_private))
        error = rng.standard_normal((n_samples, width))
        tables[f"view{v}"] = shared @ A + private_scale * own @ B + noise * error
        private.append(own)
        loadings.append((A, B))
    views = Views.from_dict(tables)
    rank = np.argsort(np.argsort(shared[:, 0])) if n_shared else rng.permutation(n_samples)
    return Bunch(
        views=views,
        kernels=ViewKernels(kernel).fit_transform(views),
        target=rank * n_classes // n_samples,
        shared=shared,
        private=private,
        loadings=loadings,
    )


# ----------------------------------------------------------------------------------------- digits


@overload
def load_digit_views(*, n_samples: int | None = ..., return_X_y: Literal[False] = ...) -> Bunch: ...
@overload
def load_digit_views(*, n_samples: int | None = ..., return_X_y: Literal[True]) -> tuple[Views, Array]: ...


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
    """
    digits = load_digits()
    chosen = slice(None) if n_samples is None else _balanced(digits.target, n_samples)
    images, y = digits.images[chosen] / 16.0, digits.target[chosen]
    views = Views.from_dict({name: describe(images) for name, describe in _DIGIT_VIEWS.items()})
    return (views, y) if return_X_y else Bunch(views=views, target=y, images=images)


def _balanced(y: Array, n: int) -> Array:
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


# -------------------------------------------------------------------------------------- benchmarks

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

    Returns
    -------
    Bunch
        ``views`` (Views) or ``kernels`` (KernelViews); ``target`` where the file has labels (key ``y``
        or ``Y``); ``extra``, a dict of the file's other arrays; ``DESCR``.
    """
    if name not in BENCHMARKS:
        raise ValueError(f"no benchmark {name!r}; known are {sorted(BENCHMARKS)}")
    path = data_folder(folder) / f"{name}.npz"
    with reading(path):
        arrays = read_arrays(path)
        ids = next((arrays.pop(key) for key in _ID_KEYS if key in arrays), None)
        data = from_arrays(arrays if ids is None else {**arrays, "ids": ids})
    extra = {key: array for key, array in arrays.items() if not is_data(key)}
    bunch = Bunch(DESCR=BENCHMARKS[name], extra=extra)
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
