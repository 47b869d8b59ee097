"""Incomplete kernels for the benchmarks of absent multiple kernel learning."""

from __future__ import annotations

import common  # noqa: F401  (before NumPy)
import numpy as np
from sklearn.datasets import load_breast_cancer, load_digits
from sklearn.preprocessing import StandardScaler

from absentia import KernelViews, missingness
from absentia.data._presence import Presence


def squared_distances(X: np.ndarray) -> np.ndarray:
    norms = (X**2).sum(axis=1)
    return np.maximum(norms[:, None] + norms - 2 * X @ X.T, 0.0)


def widths(D: np.ndarray, m: int) -> np.ndarray:
    """The paper's range, 2^-7 to 2^7 times the mean distance, in equal ratios."""
    return np.sqrt(D).mean() * 2.0 ** np.linspace(-7, 7, m)


def rbf_kernels(X: np.ndarray, observed: np.ndarray) -> KernelViews:
    """One RBF kernel per column of `observed`, widths spread over a wide range, only over who has it."""
    D = squared_distances(X)
    names = tuple(f"width{p}" for p in range(observed.shape[1]))
    blocks = {}
    for name, width, seen in zip(names, widths(D, len(names)), observed.T, strict=True):
        block = D[np.ix_(seen, seen)] if not seen.all() else D.copy()
        block /= -2 * width**2
        np.exp(block, out=block)
        blocks[name] = block
    return KernelViews.within(Presence(np.arange(len(X)), names, observed), blocks)


def masked(n: int, m: int, absent: float, seed: int) -> np.ndarray:
    """Cells absent at random; nobody lacks everything, and (some being absent) nobody has everything."""
    keep = missingness.mcar((n, m), absent, random_state=seed)
    if absent:
        complete = np.flatnonzero(keep.all(axis=1))
        keep[complete, np.random.default_rng(seed).integers(m, size=len(complete))] = False
    return keep


def made_up(n: int, seed: int = 0) -> tuple[np.ndarray, np.ndarray]:
    """Features and labels in {-1, 1} that depend on some of them, with noise."""
    rng = np.random.default_rng(seed)
    X = rng.standard_normal((n, 8))
    return X, np.where(X[:, 0] + X[:, 1] * X[:, 2] + 0.5 * rng.standard_normal(n) > 0, 1.0, -1.0)


def data_sets() -> dict[str, tuple[np.ndarray, np.ndarray]]:
    """Three sets of features and labels: easy, harder, mostly noise."""
    X, y = load_breast_cancer(return_X_y=True)
    D, digit = load_digits(return_X_y=True)
    rng = np.random.default_rng(1)
    N = rng.standard_normal((250, 6))
    sets = {
        "breast cancer": (X[:340], np.where(y[:340] == 1, 1.0, -1.0)),
        "odd digits": (D[:300], np.where(digit[:300] % 2 == 1, 1.0, -1.0)),
        "noise": (N, np.where(N[:, 0] + 2 * rng.standard_normal(250) > 0, 1.0, -1.0)),
    }
    return {name: (StandardScaler().fit_transform(X), y) for name, (X, y) in sets.items()}
