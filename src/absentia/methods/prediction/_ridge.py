"""Kernel ridge regression with an intercept, its penalty selected by leave-one-out errors in closed form.

With K centred by weights, ``H K H = U diag(d) U'`` (H the weighted centring, everything scaled by roots of
the weights), predictions of the training samples are ``S y`` with ``S = U diag(d / (d + a)) U'`` plus the
mean, and leaving sample i out changes its residual from ``r_i`` to ``r_i / (1 - S_ii - w_i / sum w)``.
Where samples are in groups, whole groups are left out: ``(I - S_gg - roots of w_g w_g' / sum w)^-1 r_g``.

Late fusion (:class:`FusedRidge`): one regression for each view, on the samples that have it.  With ``p_v``
its predictions and ``s_v`` the share of the targets' variance that these explain of samples left out (not
below zero), a sample of the views V(x) gets

    mean + slope sum_V s_v (p_v(x) - mean) / sum_V s_v ,

the slope that of least squares for the samples left out, not below zero.
"""

from collections.abc import Callable, Sequence
from typing import Any, NamedTuple, Self

import numpy as np

from absentia.core import Array, argmin_key, serializable
from absentia.data import KernelViews, number_groups, stack_groups
from absentia.methods.learning import leave_out

#: Penalties that are tried, in units of the mean eigenvalue; strong ones first, so that ties are simple.
_PENALTIES = tuple(10.0**e for e in (3, 2.5, 2, 1.5, 1, 0.5, 0, -0.5, -1, -1.5, -2, -3))

_MIN_SAMPLES = 5  # with a view, to learn from it alone
_RANK = 1e-12  # share of the kernel below which a centred eigenvalue is none


@serializable
class Ridge(NamedTuple):
    """Coefficients of the training samples, and what new samples' kernels are centred by."""

    coef: Array
    mean: float
    weight: Array  # of the training samples, summing to one
    columns: Array  # weighted means of the columns of their kernel
    penalty: float
    errors: dict[float, float]  # leave-one-out mean squared error by penalty
    loo: Array  # what is predicted of each training sample once it is left out

    @classmethod
    def fit(
        cls, K: Array, y: Array, weight: Array, penalty: float | None = None, groups: Array | None = None
    ) -> Any:
        """With the given penalty, or that of the least error of samples, or groups, left out."""
        share, groups = weight / weight.sum(), number_groups(groups)
        root = np.sqrt(len(y) * share)
        mean, columns = float(share @ y), share @ K
        A = _centre(K, share, columns) * root[:, None] * root
        d, U = np.linalg.eigh((A + A.T) / 2)
        floor = _RANK * max(float(np.abs(np.diag(K)).max(initial=0.0)), float(d[-1]))
        d = np.where(d > floor, d, 0.0)
        unit = max(float(d.mean()), 1e-300)
        target = U.T @ (root * (y - mean))
        errors: dict[float, float] = {}
        if penalty is None:
            for a in _PENALTIES:
                residual = _leave_one_out_residuals(U, d, a * unit, target, share, groups)
                errors[a] = float(np.mean(residual**2))
        selected = penalty if penalty is not None else argmin_key(errors)
        # directions that no sample has would be divided by rounding
        along = np.divide(target, d + selected * unit, out=np.zeros(len(d)), where=d > 0)
        loo = y - _leave_one_out_residuals(U, d, selected * unit, target, share, groups) / root
        return cls(root * (U @ along), mean, share, columns, float(selected), errors, loo)

    def predict(self, rows: Array) -> Array:
        """Of kernel `rows` of new samples against the training samples."""
        return np.asarray(self.mean + _centre(rows, self.weight, self.columns) @ self.coef)


def _centre(rows: Array, share: Array, columns: Array) -> Array:
    """Kernel values after the weighted mean of the training samples is subtracted in feature space."""
    return np.asarray(rows - (rows @ share)[:, None] - columns + float(columns @ share))


def _leave_one_out_residuals(
    U: Array, d: Array, a: float, target: Array, share: Array, groups: Array | None
) -> Array:
    """Of samples, or groups, left out one at a time, times the roots of their weights (of mean one)."""
    shrinkage = np.divide(d, d + a, out=np.zeros(len(d)), where=d > 0)
    residual = U @ (target * (1 - shrinkage))
    F = np.column_stack([U * np.sqrt(shrinkage), np.sqrt(share)])
    if groups is None:
        return leave_out(F, residual)
    for members in stack_groups(groups):  # groups x members
        residual[members] = leave_out(F[members], residual[members])
    return residual


def _fit_views(
    K: KernelViews, y: Array, weight: Array, least: int, penalty: float | None = None
) -> tuple[list[Ridge | None], Array]:
    """A regression for each view that so many samples have, and what these tell.

    That is the share of the targets' variance, not below zero, that it explains of samples left out.
    """
    ridges: list[Ridge | None] = []
    skills = np.zeros(K.n_views)
    for v, name in enumerate(K.names):
        has = K.observed[:, v]
        if has.sum() < least:
            ridges.append(None)
            continue
        block, groups = np.asarray(K.block(name), dtype=np.float64), K.groups
        ridge = Ridge.fit(block, y[has], weight[has], penalty, None if groups is None else groups[has])
        ridges.append(ridge)
        variance = float(ridge.weight @ (y[has] - ridge.mean) ** 2)
        error = float(ridge.weight @ (y[has] - ridge.loo) ** 2)
        skills[v] = max(0.0, 1 - error / variance) if variance > 0 else 0.0
    return ridges, skills


def skill_weights(K: KernelViews, y: Array, weight: Array) -> Array:
    """Weights of the views that sum to one, by what each alone tells; equal if that is nothing."""
    skills = _fit_views(K, y, weight, 3)[1]
    total = float(skills.sum())
    return skills / total if total > 0 else np.full(len(skills), 1 / len(skills))


# ----------------------------------------------------------------------------------------- late fusion


@serializable
class FusedRidge(NamedTuple):
    """A regression for each view, how much each counts, and the scale of what they say together."""

    ridges: tuple[Ridge | None, ...]
    weights: Array  # by view, summing to one unless all are zero
    slope: float
    mean: float
    loo: Array  # what is predicted of each training sample once it is left out

    @classmethod
    def fit(cls, K: KernelViews, y: Array, weight: Array, penalty: float | None = None) -> Self:
        """From incomplete kernels; penalties as in :meth:`Ridge.fit`."""
        mean = float(np.average(y, weights=weight))
        ridges, skills = _fit_views(K, y, weight, _MIN_SAMPLES, penalty)
        left_out = np.full(K.observed.shape, mean)
        for v, ridge in enumerate(ridges):
            if ridge is not None:
                left_out[K.observed[:, v], v] = ridge.loo
        weights = skills / (skills.sum() or 1.0)
        together = average_views(left_out - mean, K.observed, weights)
        length = float(weight @ together**2)
        slope = max(0.0, float(weight @ (together * (y - mean))) / length) if length > 0 else 0.0
        return cls(tuple(ridges), weights, slope, mean, mean + slope * together)

    def predict(self, rows: KernelViews) -> Array:
        """Of new samples, kernels against the training samples."""
        predictions = predict_views([ridge and ridge.predict for ridge in self.ridges], rows, self.mean)
        return self.mean + self.slope * average_views(predictions - self.mean, rows.observed, self.weights)


def predict_views(
    models: Sequence[Callable[[Array], Array] | None], X: KernelViews, usual: float = 0.0
) -> Array:
    """What the models of the views say of rows that have them, rows x views; elsewhere the `usual`."""
    predictions = np.full(X.observed.shape, usual)
    for v, (name, model) in enumerate(zip(X.names, models, strict=True)):
        if model is not None and X.observed[:, v].any():
            predictions[X.observed[:, v], v] = model(np.asarray(X.block(name)))
    return predictions


def average_views(values: Array, observed: Array, weights: Array) -> Array:
    """Weighted means over the views that each sample has; 0 without any that counts."""
    counts = observed * weights
    total = counts.sum(axis=1)
    return np.asarray((counts * values).sum(axis=1) / np.where(total > 0, total, 1.0))
