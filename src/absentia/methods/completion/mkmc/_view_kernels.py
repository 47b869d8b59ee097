"""Kernels as mutual kernel matrix completion takes them: scaled, merged, about the mean of each view."""

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any, Self

import numpy as np

from absentia.core import Array, Dense, Gram, Operator, Scaled, center_operator, measure_spread
from absentia.data import KernelViews


@dataclass(frozen=True)
class ViewKernel:
    """Observed kernel `Q` (unit mean diagonal) of a view, and the positions `v` of samples that have it.

    Views of the same samples are merged: `Q` is then the sum of their kernels, and `weight` their number.
    """

    Q: Operator
    v: Array
    weight: int = 1

    def hidden(self, size: int) -> Array:
        """Positions of the others of `size` samples."""
        return np.setdiff1d(np.arange(size), self.v, assume_unique=True)

    @property
    def unscaled(self) -> Operator:
        """The kernel as it came."""
        return self.Q.operator if isinstance(self.Q, Scaled) else self.Q


@dataclass(frozen=True)
class KernelForm:
    """How kernels enter the model: about their means or not, divided by scales, in which precision."""

    center: bool
    scales: Array  # by view
    dtype: str

    @classmethod
    def of(cls, X: KernelViews, *, center: bool, rescale: bool, dtype: str) -> Self:
        """Scales are mean diagonals; one for a view nobody has, and for all without `rescale`."""
        X = _center_kernels(X) if center else X
        scales = np.ones(X.n_views)
        for v, name in enumerate(X.names):
            diagonal = X.diagonal(name)
            if len(diagonal):
                scale = diagonal.mean(dtype=np.float64)
                if not scale > 0:
                    raise ValueError(
                        f"view {name!r}: the kernel is zero for every sample; leave the view out"
                    )
                scales[v] = scale if rescale else 1.0
        return cls(center, scales, dtype)

    def view_kernels(self, X: KernelViews, samples: Array | None = None) -> list[ViewKernel]:
        """Each view's kernel, with its samples' positions among `samples` (by default all)."""
        observed = X.observed if samples is None else X.observed[samples]
        X = _center_kernels(X) if self.center else X
        return [
            ViewKernel(
                _scale_kernel(X.operator(name), scale, np.dtype(self.dtype)), np.flatnonzero(present)
            )
            for name, scale, present in zip(X.names, self.scales, observed.T, strict=True)
        ]

    def centered_views(self, X: KernelViews) -> list[bool]:
        """Which views are taken about their mean."""
        return _views_with_spread(X) if self.center else [False] * X.n_views


def _scale_kernel(operator: Operator, scale: float, dtype: np.dtype[Any]) -> Operator:
    """The kernel divided by `scale`, which comes before single precision: that holds fewer magnitudes."""
    if isinstance(operator, Dense) and operator.dtype != dtype:
        return Dense((operator.A / scale).astype(dtype))
    operator = operator.astype(dtype)
    return operator if scale == 1.0 else Scaled(operator, 1.0 / scale)


def merge_views(views: Sequence[ViewKernel]) -> list[ViewKernel]:
    """Views of the same samples become one: their kernels only ever appear as a sum."""
    groups: dict[bytes, list[ViewKernel]] = {}
    for view in views:
        groups.setdefault(view.v.tobytes(), []).append(view)
    merged = []
    for group in groups.values():
        if len(group) > 1 and all(isinstance(view.unscaled, Dense) for view in group):
            total = np.asarray(sum(view.Q.to_dense() for view in group))
            merged.append(ViewKernel(Dense(total), group[0].v, sum(view.weight for view in group)))
        else:
            merged += group
    return merged


def sum_kernels(views: Sequence[ViewKernel], size: int, dtype: Any = np.float64) -> Array:
    """Sum of all kernels over `size` samples, zero where a sample is absent."""
    total = np.zeros((size, size), dtype)
    for view in views:
        total[np.ix_(view.v, view.v)] += view.Q.to_dense()
    return total


def in_memory(X: KernelViews) -> bool:
    """Whether all kernels are arrays or factors, and not chunks elsewhere."""
    return all(isinstance(X.operator(name), Dense | Gram) for name in X.names)


# ---------------------------- Kernels about the mean of each view, completed there, and the mean put back
#
# The papers' model has mean zero: what is not known of an absent sample lies at the origin.  Of kernels
# whose samples all point one way, such as RBF kernels of large width, most is the mean, and the model
# spends its factors on it.  With mu the mean of the samples that have a view, and c_i = phi_i - mu, the
# Gaussian of mean mu per view is the papers' model of the kernels ``H K H`` of the c_i.  Completed, an
# absent sample is
#
#     phi_t = mu + sum_j W_tj e_j + rest_t,   e_j = sum_i C_ij c_i (and what is orthogonal to all observed),
#
# so that mu is one more axis of the view's basis, along which every absent sample has the coordinate one.
# The observed block is what it was, and the kernel is that of actual points.


def _views_with_spread(X: KernelViews) -> list[bool]:
    """Which views are taken about their mean: not those whose samples are alike, where nothing is left."""
    return [measure_spread(X.operator(name)) > 0 for name in X.names]


def _center_kernels(X: KernelViews) -> KernelViews:
    """Kernels as seen from the mean of the samples that have the view."""
    spread = zip(X.names, map(X.operator, X.names), _views_with_spread(X), strict=True)
    return KernelViews.within(X, {name: center_operator(K) if varies else K for name, K, varies in spread})
