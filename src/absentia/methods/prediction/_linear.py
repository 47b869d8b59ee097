"""Linear models on all features side by side: standardised, absent ones the mean, their strength selected.

Features are standardised over the training rows that have them and clipped at three deviations; what is
absent is the mean, zero.  Where
there are more features than rows, the rows' coordinates along their principal axes stand in for the
features, which changes nothing but the time (``learning.Axes``).  Strengths that are selected come from a
grid that goes with the rows' mean squared length, which grows with the number of features.
"""

from typing import NamedTuple

import numpy as np
from scipy.linalg import cholesky, solve_triangular
from sklearn.linear_model import Ridge

from absentia.core import Array, argmin_key, serializable
from absentia.core.linalg import solve_left_out
from absentia.data import MAX_DEVIATION, column_scales, number_groups, stack_groups
from absentia.methods.learning import Axes, fit_logistic
from absentia.methods.prediction._trees import LINKS

_ALPHAS = tuple(10.0**k / 2 for k in range(2, -6, -1))  # of ridge regression, the largest first


@serializable
class Linear(NamedTuple):
    """A linear model of features as they come; `link` is what becomes of its scores."""

    mean: Array
    scale: Array
    coef: Array  # outputs x features
    bias: Array
    link: str = "identity"

    def predict(self, table: Array) -> Array:
        """Rows x outputs (probabilities: rows x classes); NaN counts as the training mean."""
        return LINKS[self.link](standardize(table, self.mean, self.scale) @ self.coef.T + self.bias)


def standardize(table: Array, mean: Array, scale: Array) -> Array:
    """Deviations from the mean in units of the scale, three at most; zero for NaN."""
    return np.clip(np.where(np.isnan(table), 0.0, (table - mean) / scale), -MAX_DEVIATION, MAX_DEVIATION)


class LinearFit(NamedTuple):
    """A model, its strength, and what it says of each row once that, or its group, is left out.

    Of classes these are probabilities, rows x classes; of numbers predictions, (rows,).
    """

    model: Linear
    strength: float
    loo: Array


def fit_linear_classes(
    table: Array, codes: Array, weight: Array, C: float | str, groups: Array | None = None
) -> LinearFit:
    """Logistic regression, each class against the rest.

    C by leaving out each row, or group of rows, if it is ``"cv"``.
    """
    mean, scale = column_scales(table)
    axes = Axes.of_table(standardize(table, mean, scale))
    n_classes = int(codes.max()) + 1
    given = None if isinstance(C, str) else C * axes.size
    fit = fit_logistic(axes, codes, weight, n_classes, given, groups)
    model = Linear(mean, scale, fit.model.coef.T, fit.model.intercept, "one against the rest")
    return LinearFit(model, fit.C / axes.size, fit.loo_proba)


def fit_linear_numbers(
    table: Array, y: Array, weight: Array, alpha: float | str, groups: Array | None = None
) -> LinearFit:
    """Ridge regression; its penalty by leaving out each row, or group of rows, if it is ``"cv"``."""
    mean, scale = column_scales(table)
    axes = Axes.of_table(standardize(table, mean, scale))
    rows = _RidgeRows(axes.Z, y, weight, number_groups(groups))
    if isinstance(alpha, str):
        penalty = argmin_key({a: float(weight @ rows.left_out_residuals(a) ** 2) for a in _ALPHAS})
    else:
        penalty = alpha / axes.size
    fit = Ridge(penalty).fit(axes.Z, y, sample_weight=weight)
    coef = axes.back @ fit.coef_
    model = Linear(mean, scale, coef[None, :], np.atleast_1d(fit.intercept_ - axes.center @ coef))
    return LinearFit(model, penalty * axes.size, y - rows.left_out_residuals(penalty))


class _RidgeRows(NamedTuple):
    """What weighted ridge regression is fitted to."""

    Z: Array
    y: Array
    weight: Array
    groups: Array | None  # that are left out as a whole

    def left_out_residuals(self, alpha: float) -> Array:
        """Of every row (n,) by the regression without it, or without its group."""
        root = np.sqrt(self.weight)
        A = np.hstack([np.ones((len(self.Z), 1)), self.Z]) * root[:, None]
        H = A.T @ A
        H[np.diag_indices_from(H)] += [0.0, *[alpha] * self.Z.shape[1]]  # no penalty on the constant
        F = solve_triangular(cholesky(H, lower=True), A.T, lower=True).T
        residual = root * self.y - F @ (F.T @ (root * self.y))
        return leave_out(F, residual, self.groups) / root


def leave_out(F: Array, residual: Array, groups: Array | None) -> Array:
    """Residuals (n,) of ``y - F F' y`` by the regression without the row, or without its group."""
    if groups is None:
        return np.asarray(residual / np.maximum(1 - (F**2).sum(axis=1), 1e-6))
    result = np.empty_like(residual)
    for members in stack_groups(groups):  # groups x members
        result[members] = solve_left_out(F[members], residual[members], 1e-6)
    return result
