"""Kernels as mutual kernel matrix completion wants them: scaled, of those who have a view, merged."""

from collections.abc import Sequence
from typing import Any

import numpy as np

from absentia.core import Array, Dense, Gram, Operator, Scaled, alike, centred, rounding, symmetrize
from absentia.data import KernelViews
from absentia.methods.completion._subspace import Basis, Coordinates
from absentia.methods.completion.mkmc import _paper
from absentia.methods.completion.mkmc._fast import Seen, VisibleProblem


def view_scales(X: KernelViews, *, rescale: bool) -> Array:
    """Mean diagonal of each observed kernel; one for a view nobody has, and for all without `rescale`."""
    scales = np.ones(X.n_views)
    for v, name in enumerate(X.names):
        diagonal = X.diagonal(name)
        if len(diagonal):
            scale = diagonal.mean(dtype=np.float64)
            if not scale > 0:
                raise ValueError(f"view {name!r}: the kernel is zero for every sample; leave the view out")
            scales[v] = scale if rescale else 1.0
    return scales


def seen_by(X: KernelViews, scales: Array, samples: Array, dtype: Any) -> list[Seen]:
    """Each view's scaled kernel with its samples' positions among `samples`."""
    return [
        Seen(_scale_kernel(X.operator(name), scale, np.dtype(dtype)), np.flatnonzero(present))
        for name, scale, present in zip(X.names, scales, X.observed[samples].T, strict=True)
    ]


def _scale_kernel(operator: Operator, scale: float, dtype: np.dtype[Any]) -> Operator:
    """The kernel divided by `scale`, which comes before single precision: that holds fewer magnitudes."""
    if isinstance(operator, Dense) and operator.dtype != dtype:
        return Dense((operator.A / scale).astype(dtype))
    operator = operator.astype(dtype)
    return operator if scale == 1.0 else Scaled(operator, 1.0 / scale)


def _inside(view: Seen) -> Operator:
    """The kernel as it came."""
    return view.Q.operator if isinstance(view.Q, Scaled) else view.Q


def merge_views(views: Sequence[Seen]) -> list[Seen]:
    """Views that see the same samples become one: their kernels only ever appear as a sum."""
    groups: dict[bytes, list[Seen]] = {}
    for view in views:
        groups.setdefault(view.v.tobytes(), []).append(view)
    result = []
    for group in groups.values():
        if len(group) > 1 and all(isinstance(_inside(view), Dense) for view in group):
            total = sum(view.Q.to_dense() for view in group)
            result.append(Seen(Dense(np.asarray(total)), group[0].v, sum(view.weight for view in group)))
        else:
            result += group
    return result


def by_factors(problem: VisibleProblem) -> bool:
    """Whether some kernel is given by factors, of which no second copy is made."""
    return any(hasattr(_inside(view), "left") for view in problem.views)


def in_memory(X: KernelViews) -> bool:
    """Whether all kernels are arrays or factors, and not chunks elsewhere."""
    return all(isinstance(X.operator(name), Dense | Gram) for name in X.names)


def papers_problem(
    views: Sequence[Seen], size: int, eps: float, dtype: np.dtype[Any]
) -> _paper.ImputationProblem:
    """The same problem as the papers' algorithm wants it: every kernel an array, hidden samples listed."""
    everyone = np.arange(size)
    seen = [_paper.Visible(Dense(v.Q.to_dense()), v.v, np.setdiff1d(everyone, v.v)) for v in views]
    return _paper.ImputationProblem(seen, size, eps, dtype)


# ---------------------------- Kernels about the mean of each view, completed there, and the mean put back
#
# The papers' model has mean zero: what is not known of an absent sample lies at the origin.  Of kernels
# whose samples all point one way, such as RBF kernels of large width, most is the mean, and the model
# spends its factors on it.  With mu the mean of the samples that have a view, and c_i = phi_i - mu, the
# Gaussian of mean mu per view is the papers' model of the kernels ``H K H`` of the c_i.  Completed, an
# absent sample is
#
#     phi_t = mu + sum_j W_tj e_j + own,      e_j = sum_i C_ij c_i (and what is orthogonal to all observed),
#
# so that mu is one more axis, along which every absent sample has the coordinate one: a frame and places as
# any other (``_placement``).  The observed block is what it was, and the kernel is that of actual points.


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


def with_mean(basis: Basis, K: Operator) -> Basis:
    """Axes of the kernel about its mean as axes of the kernel `K` itself, the mean sample before them."""
    assert basis.C is not None
    m = K.shape[0]
    C = np.column_stack([np.full(m, 1.0 / max(m, 1)), basis.C - basis.C.sum(axis=0) / max(m, 1)])
    found = Basis.of(K, C)
    found.E[1:, 1:] += symmetrize(basis.E - basis.C.T @ basis.G)  # what is orthogonal to all observed
    return found


def from_mean(position: Coordinates, basis: Basis | None = None, level: Array | None = None) -> Coordinates:
    """Places beside the mean sample; of new samples, with their values `level` with it and the `basis`."""
    W = np.column_stack([np.ones(len(position.W)), position.W])
    if basis is None or level is None or position.G is None:
        return Coordinates(W, position.s)
    across = basis.G[:, 1:].mean(axis=0) if len(basis.G) else 0.0  # of the mean sample with the axes
    return Coordinates(W, position.s, np.column_stack([level, position.G + across]))


def rows_about_mean(rows: Operator, own: Array, F: Array, basis: Basis) -> tuple[Array, Array, Array]:
    """Of new samples that have a view: ``c_t' F``, own values about the mean, and values with the mean.

    `rows` are their kernel values with the training samples that have it, `basis` as of :func:`with_mean`.
    """
    m = max(rows.shape[1], 1)
    level = np.asarray(rows @ np.full((rows.shape[1], 1), 1.0 / m))[:, 0]
    mean, square = basis.G[:, 0], float(basis.E[0, 0])
    along = np.asarray(rows @ F) - mean @ F - np.outer(level - square, F.sum(axis=0))
    return along, own - 2 * level + square, level
