"""Kernel ridge regression with an intercept, its penalty selected by leave-one-out errors in closed form.

With K centred by weights, ``H K H = U diag(d) U'`` (H the weighted centring, everything scaled by roots of
the weights), predictions of the training samples are ``S y`` with ``S = U diag(d / (d + a)) U'`` plus the
mean, and leaving sample i out changes its residual from ``r_i`` to ``r_i / (1 - S_ii - w_i / sum w)``.
"""

from typing import Any, NamedTuple

import numpy as np

from absentia.core import Array, argmin_key, serializable
from absentia.data import KernelViews

#: Penalties that are tried, in units of the mean eigenvalue; strong ones first, so that ties are simple.
_PENALTIES = tuple(10.0**e for e in (3, 2.5, 2, 1.5, 1, 0.5, 0, -0.5, -1, -1.5, -2, -3))

_RANK = 1e-12  # share of the kernel below which a centred eigenvalue is none


@serializable
class Ridge(NamedTuple):
    """Coefficients of the training samples, and what new samples' kernels are centred by."""

    coef: Array
    mean: float
    weight: Array  # of the training samples, summing to one
    penalty: float
    errors: dict[float, float]  # leave-one-out mean squared error by penalty

    @classmethod
    def fit(cls, K: Array, y: Array, weight: Array, penalty: float | None = None) -> Any:
        """With the given penalty, or that of the least leave-one-out error."""
        share = weight / weight.sum()
        root = np.sqrt(len(y) * share)
        mean = float(share @ y)
        A = _centre(K, share, share @ K) * root[:, None] * root
        d, U = np.linalg.eigh((A + A.T) / 2)
        floor = _RANK * max(float(np.abs(np.diag(K)).max(initial=0.0)), float(d[-1]))
        d = np.where(d > floor, d, 0.0)
        unit = max(float(d.mean()), 1e-300)
        target = U.T @ (root * (y - mean))
        errors: dict[float, float] = {}
        if penalty is None:
            errors = {a: _leave_one_out_error(U, d, a * unit, target, share) for a in _PENALTIES}
        selected = penalty if penalty is not None else argmin_key(errors)
        # directions that no sample has would be divided by rounding
        along = np.divide(target, d + selected * unit, out=np.zeros(len(d)), where=d > 0)
        return cls(root * (U @ along), mean, share, float(selected), errors)

    def predict(self, rows: Array, K: Array) -> Array:
        """Of kernel `rows` of new samples against the training samples, whose kernel is `K`."""
        return np.asarray(self.mean + _centre(rows, self.weight, self.weight @ K) @ self.coef)


def _centre(rows: Array, share: Array, columns: Array) -> Array:
    """Kernel values after the weighted mean of the training samples is subtracted in feature space."""
    return np.asarray(rows - (rows @ share)[:, None] - columns + float(columns @ share))


def _leave_one_out_error(U: Array, d: Array, a: float, target: Array, share: Array) -> float:
    """Weighted mean squared error of predictions of samples left out one at a time."""
    shrinkage = d / (d + a)
    residual = U @ (target * (1 - shrinkage))
    leverage = (U**2) @ shrinkage + share
    return float(np.mean((residual / np.maximum(1 - leverage, 1e-6)) ** 2))


def _explained_variance(K: KernelViews, targets: Array, weight: Array) -> Array:
    """What each view alone tells: the share of the targets' variance, not below zero, that it explains.

    Of samples left out one at a time; `targets` are samples x targets, their variances added up.
    """
    explained = np.zeros(K.n_views)
    for v, name in enumerate(K.names):
        has = np.flatnonzero(K.observed[:, v])
        if len(has) < 3:
            continue
        block, share = np.asarray(K.block(name), dtype=np.float64), weight[has] / weight[has].sum()
        fits = [Ridge.fit(block, target, share) for target in targets[has].T]
        error = sum(min(ridge.errors.values()) for ridge in fits)
        pairs = zip(targets[has].T, fits, strict=True)
        variance = sum(float(share @ (target - ridge.mean) ** 2) for target, ridge in pairs)
        explained[v] = max(0.0, 1 - error / variance) if variance > 0 else 0.0
    return explained


def skill_weights(K: KernelViews, targets: Array, weight: Array) -> Array:
    """Weights of the views that sum to one, by :func:`_explained_variance`; equal if all is zero."""
    explained = _explained_variance(K, targets, weight)
    total = float(explained.sum())
    return explained / total if total > 0 else np.full(len(explained), 1 / len(explained))
