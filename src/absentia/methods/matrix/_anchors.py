"""The row kernel of samples, whole or through landmarks, and what new samples are compared with.

Samples are features under an RBF kernel, or come as rows of a kernel.
"""

from dataclasses import dataclass
from typing import Any

import numpy as np

from absentia.core import Array, serializable, squared_distances
from absentia.methods.matrix._model import MANY, RowKernel, nystrom_factor

#: So many landmarks if there are more than :data:`MANY` samples.
LANDMARKS = 500


@serializable
@dataclass(frozen=True)
class Anchors:
    """Training samples that all others are compared with.

    `points` are their features, or their places among the columns of a kernel if `gamma` is None; `own` is
    what the kernel of a sample with itself is on average.  ``against(X) @ T`` is what the row kernel's
    eigenvectors make of the kernel of X against all training samples.
    """

    points: Array
    gamma: float | None
    own: float
    T: Array

    def against(self, X: Array) -> Array:
        return _against(X, self.points, self.gamma, np.float64)


def anchored(
    X: Array, gamma: float | None, n_landmarks: int | None, rng: np.random.Generator
) -> tuple[RowKernel, Anchors]:
    """The row kernel of X, features or (`gamma` None) a kernel; on landmarks if these are fewer."""
    n = len(X)
    size = n_landmarks if n_landmarks is not None else (n if n <= MANY else LANDMARKS)
    some = np.sort(rng.choice(n, min(size, n), replace=False))
    points = some if gamma is None else X[some]
    dtype = np.float32 if n > 5 * MANY else np.float64
    K = _against(X, points, gamma, dtype)
    own = float(np.diagonal(X).mean()) if gamma is None else 1.0
    if size >= n:
        rows = RowKernel.dense(K)
        return rows, Anchors(points, gamma, own, rows.U)
    R = nystrom_factor(np.eye(size), K[some])  # K R is the factor
    Phi = K @ R.astype(dtype)
    rows = RowKernel.factor(Phi)
    # k(x*, anchors) T is what U makes of k(x*, X): Phi* Phi' U
    return rows, Anchors(points, gamma, own, R @ (Phi.T @ rows.U))


def _against(X: Array, points: Array, gamma: float | None, dtype: Any) -> Array:
    if gamma is None:
        return X[:, points].astype(dtype, copy=False)
    K = squared_distances(X.astype(dtype), points.astype(dtype))
    K *= -dtype(gamma)
    return np.exp(K, out=K)


def median_gamma(X: Array, rng: np.random.Generator) -> float:
    """One over the median squared distance between samples, of at most 1000 of them."""
    some = X[rng.choice(len(X), min(len(X), 1000), replace=False)]
    off = squared_distances(some, some)[~np.eye(len(some), dtype=bool)]
    return 1.0 / max(float(np.median(off)) if len(off) else 1.0, 1e-300)
