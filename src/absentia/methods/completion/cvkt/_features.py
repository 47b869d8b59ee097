"""Features of a kernel, so that samples of several views can be put side by side.

A kernel over the observed samples of a view is ``Phi Phi'`` for many ``Phi``.  With eigenpairs (L, w) of
the kernel over landmarks P (all observed samples, or some of them: Nystroem), any sample that has a row
of kernel values has the features

    phi(t) = k(t, P) L w^(-1/2),

which reproduce the kernel exactly if P is all of them.  Kernels given as factors are never formed.
"""

from collections.abc import Sequence
from dataclasses import dataclass, replace
from typing import Self

import numpy as np
import scipy.linalg

from absentia.core import Array, Dense, Gram, Operator, serializable
from absentia.core.linalg import rounding_level, symmetrize, thin_gram
from absentia.data import KernelViews

#: Up to so many features of all views together every sample is a landmark; beyond, so many are shared out.
_MAX_FEATURES, TOTAL_LANDMARKS = 2000, 600


@serializable
@dataclass(frozen=True)
class FeatureMap:
    """``phi(t) = scale * (k(t, landmarks) root - mean)``.

    ``landmarks`` are positions among the view's observed samples, None for all of them.  ``negative``
    is N with ``-N N'`` the negative part of a kernel that is indefinite by rounding.  ``max_features`` is
    how many features there could be: those without weight are left out, and how many have some is rounding.
    """

    landmarks: Array | None
    root: Array
    mean: Array
    scale: float
    negative: Array
    max_features: int

    def transform(self, rows: Operator) -> Array:
        """Features of samples given by their kernel rows against the view's observed samples."""
        features = self._raw(rows)
        features -= self.mean
        features *= self.scale
        return features

    def _raw(self, rows: Operator) -> Array:
        if self.landmarks is None:
            return rows @ self.root
        return rows.block(np.arange(rows.shape[0]), self.landmarks) @ self.root

    def center(self, kernel: Operator) -> Self:
        """The map whose features over `kernel`'s samples have mean zero and mean square one.

        A kernel without any spread, all samples alike, gets features of zero.
        """
        raw = self._raw(kernel)
        if not len(raw):
            return self
        mean, size = raw.mean(axis=0), float(np.vdot(raw, raw))
        raw -= mean
        total = float(np.vdot(raw, raw))
        scale = float(np.sqrt(len(raw) / total)) if total > rounding_level(kernel.dtype) * size else 0.0
        return replace(self, mean=mean, scale=scale)


def feature_map(kernel: Operator, landmarks: Array | None = None, *, symmetric: bool = False) -> FeatureMap:
    """The map ``k(t, P) L w^(-1/2)``, neither centred nor scaled; `landmarks` None takes all samples.

    `symmetric` multiplies by ``L'``: ``k(t, P) k(P, P)^(-1/2)``, one feature for each landmark.
    """
    part = kernel if landmarks is None else Dense(kernel.block(landmarks, landmarks))
    L, w = _eigenpairs(part)
    floor = len(L) * float(np.finfo(kernel.dtype).eps) * float(w.max(initial=0.0))
    positive, below = w > floor, w < 0
    negative = L[:, below] * np.sqrt(-w[below]) if landmarks is None else np.zeros((kernel.shape[0], 0))
    root = L[:, positive] / np.sqrt(w[positive])
    if symmetric:
        root = root @ L[:, positive].T
    max_features = min(_max_features(kernel), part.shape[0])
    return FeatureMap(landmarks, root, np.zeros(root.shape[1]), 1.0, negative, max_features)


def _eigenpairs(kernel: Operator) -> tuple[Array, Array]:
    """Eigenvectors and eigenvalues of a kernel; of one given by thin factors only those that count."""
    if isinstance(kernel, Gram) and kernel.left.shape[1] < kernel.shape[0]:
        w, V = eigh(thin_gram(kernel.left, kernel.left))
        positive = w > kernel.shape[0] * np.finfo(kernel.dtype).eps * w.max(initial=0.0)
        w, V = w[positive], V[:, positive]
        return np.asarray(kernel.left @ (V / np.sqrt(w))), w
    A = np.asarray(kernel.to_dense(), dtype=np.float64)
    if not len(A):
        return np.zeros((0, 0)), np.zeros(0)
    w, L = eigh(symmetrize(A))
    return L, w


def eigh(A: Array) -> tuple[Array, Array]:
    """Eigenvalues, ascending, and eigenvectors of a symmetric matrix, by divide and conquer."""
    w, V = scipy.linalg.eigh(A, driver="evd", check_finite=False)
    return w, V


def default_landmarks(X: KernelViews, total: int = TOTAL_LANDMARKS) -> int | None:
    """Landmarks of each view by default: None (all samples) while all views' features are few."""
    if sum(_max_features(X.operator(name)) for name in X.names) <= _MAX_FEATURES:
        return None
    return max(total // X.n_views, 1)


def _max_features(kernel: Operator) -> int:
    """How many features a kernel can have."""
    return min(kernel.left.shape[1] if isinstance(kernel, Gram) else kernel.shape[0], kernel.shape[0])


def draw_landmarks(numbers: Array, observed: Array, wanted: float | None) -> list[Array | None]:
    """For each view so many (or such a share) of its observed samples, those of the lowest `numbers`."""
    if wanted is None:
        return [None] * observed.shape[1]
    drawn: list[Array | None] = []
    for present in observed.T:
        m = as_count(wanted, int(present.sum()))
        drawn.append(np.sort(np.argsort(numbers[present], kind="stable")[:m]))
    return drawn


def as_count(wanted: float, available: int) -> int:
    """A whole number as it is, a share of what is available; at least one, at most all."""
    number = int(wanted) if isinstance(wanted, int | np.integer) else round(wanted * available)
    return min(max(number, 1), available)


def stack_other_views(features: Sequence[Array], v: int, samples: Array) -> Array:
    """Features of `samples` (a mask) in all views but `v`, side by side: Psi."""
    others = [F[samples] for u, F in enumerate(features) if u != v]
    return np.hstack(others) if others else np.zeros((int(samples.sum()), 0))


def has_other_view(observed: Array, v: int) -> Array:
    """Which samples have a view other than `v`."""
    return np.asarray(observed.sum(axis=1) > observed[:, v])


def view_features(X: KernelViews, maps: Sequence[FeatureMap]) -> list[Array]:
    """Features of all row samples in each view, zero where the view is absent."""
    features = []
    for name, present, mapping in zip(X.names, X.observed.T, maps, strict=True):
        rows = np.zeros((len(X), mapping.root.shape[1]))
        rows[present] = mapping.transform(X.operator(name))
        features.append(rows)
    return features


def keeps_values(observed: Array, v: int, keep: bool) -> Array:
    """Samples whose kernel values stay: all observed, or else only those nothing can be transferred to."""
    return observed[:, v] if keep else observed[:, v] & ~has_other_view(observed, v)
