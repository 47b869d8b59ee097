"""Kernels about the mean of each view, completed there, and the mean put back.

The papers' model has mean zero: what is not known of an absent sample lies at the origin.  Of kernels
whose samples all point one way, such as RBF kernels of large width, most is the mean, and the model spends
its factors on it.  With mu the mean of the samples that have a view, and c_i = phi_i - mu, the Gaussian of
mean mu per view is the papers' model of the kernels ``H K H`` of the c_i.  Completed, an absent sample is

    phi_t = mu + sum_j W_tj e_j + own,      e_j = sum_i C_ij c_i (and what is orthogonal to all observed),

so that mu is one more axis, along which every absent sample has the coordinate one: a frame and places as
any other (``_placement``).  The observed block is what it was, and the kernel is that of actual points.
"""

import numpy as np

from absentia.core import Array, Dense, Gram, Operator, alike, centred, rounding, symmetrize
from absentia.data import KernelViews
from absentia.methods.completion._placement import Frame, Place


def have_spread(X: KernelViews) -> list[bool]:
    """Which views are taken about their mean: not those whose samples are alike, where nothing is left."""
    return [_has_spread(X.operator(name)) for name in X.names]


def _has_spread(K: Operator) -> bool:
    if isinstance(K, Gram) and K.shape[0]:
        left = np.asarray(K.left, dtype=np.float64)
        spread = float(np.square(left - left.mean(axis=0)).sum())
        return spread > rounding(K.dtype) * float(np.square(left).sum())
    return K.shape[0] > 0 and not alike(np.asarray(K.to_dense()))


def about_means(X: KernelViews) -> KernelViews:
    """Kernels as seen from the mean of the samples that have the view."""
    parts = zip(X.names, have_spread(X), strict=True)
    return KernelViews.within(
        X, {name: _about_mean(X.operator(name)) if moved else X.operator(name) for name, moved in parts}
    )


def _about_mean(K: Operator) -> Operator:
    if isinstance(K, Gram):
        return Gram(K.left - K.left.mean(axis=0, dtype=np.float64).astype(K.dtype))
    A = np.asarray(K.to_dense())
    return Dense(symmetrize(centred(A.astype(np.float64))).astype(A.dtype))


def with_mean(frame: Frame, K: Operator) -> Frame:
    """Axes of the kernel about its mean as axes of the kernel `K` itself, the mean sample before them."""
    assert frame.C is not None
    m = K.shape[0]
    C = np.column_stack([np.full(m, 1.0 / max(m, 1)), frame.C - frame.C.sum(axis=0) / max(m, 1)])
    found = Frame.of(K, C)
    found.E[1:, 1:] += symmetrize(frame.E - frame.C.T @ frame.G)  # what is orthogonal to all observed
    return found


def from_mean(place: Place, frame: Frame | None = None, level: Array | None = None) -> Place:
    """Places beside the mean sample; of new samples, with their values `level` with it and the `frame`."""
    W = np.column_stack([np.ones(len(place.W)), place.W])
    if frame is None or level is None or place.G is None:
        return Place(W, place.s)
    across = frame.G[:, 1:].mean(axis=0) if len(frame.G) else 0.0  # of the mean sample with the axes
    return Place(W, place.s, np.column_stack([level, place.G + across]))


def rows_about_mean(rows: Operator, own: Array, F: Array, frame: Frame) -> tuple[Array, Array, Array]:
    """Of new samples that have a view: ``c_t' F``, own values about the mean, and values with the mean.

    `rows` are their kernel values with the training samples that have it, `frame` as of :func:`with_mean`.
    """
    m = max(rows.shape[1], 1)
    level = np.asarray(rows @ np.full((rows.shape[1], 1), 1.0 / m))[:, 0]
    mean, square = frame.G[:, 0], float(frame.E[0, 0])
    along = np.asarray(rows @ F) - mean @ F - np.outer(level - square, F.sum(axis=0))
    return along, own - 2 * level + square, level
