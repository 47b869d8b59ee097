"""scikit-learn's bundled digits, described in six ways."""

from typing import Any

import numpy as np
from sklearn.datasets import load_digits
from sklearn.utils import Bunch

from absentia.core import Array
from absentia.data import Views


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
