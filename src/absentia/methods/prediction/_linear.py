"""Linear models on all features side by side: standardised, absent ones the mean, their strength selected.

Features are standardised over the training rows that have them and clipped at three deviations; what is
absent is the mean, zero.  Where
there are more features than rows, the rows' coordinates along their principal axes stand in for the
features, which changes nothing but the time (``learning.Axes``).  Strengths that are selected come from a
grid that goes with the rows' mean squared length, which grows with the number of features.
"""

from typing import NamedTuple

import numpy as np
from scipy.linalg import cho_factor, cho_solve
from sklearn.linear_model import Ridge, RidgeCV

from absentia.core import Array, serializable
from absentia.data import MAX_DEVIATION, column_scales
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
    """A model, its strength, and what it says of each row once that is left out.

    Of classes these are probabilities, rows x classes; of numbers predictions, (rows,).
    """

    model: Linear
    strength: float
    loo: Array


def fit_linear_classes(table: Array, codes: Array, weight: Array, C: float | str) -> LinearFit:
    """Logistic regression, each class against the rest; C by leaving out each row if it is ``"cv"``."""
    mean, scale = column_scales(table)
    axes = Axes.of_table(standardize(table, mean, scale))
    n_classes = int(codes.max()) + 1
    fit = fit_logistic(axes, codes, weight, n_classes, None if isinstance(C, str) else C * axes.size)
    model = Linear(mean, scale, fit.model.coef.T, fit.model.intercept, "one against the rest")
    return LinearFit(model, fit.C / axes.size, fit.loo_proba)


def fit_linear_numbers(table: Array, y: Array, weight: Array, alpha: float | str) -> LinearFit:
    """Ridge regression; its penalty by leaving out each row in turn if it is ``"cv"``."""
    mean, scale = column_scales(table)
    axes = Axes.of_table(standardize(table, mean, scale))
    if isinstance(alpha, str):
        penalty = float(RidgeCV(alphas=_ALPHAS).fit(axes.Z, y, sample_weight=weight).alpha_)
    else:
        penalty = alpha / axes.size
    fit = Ridge(penalty).fit(axes.Z, y, sample_weight=weight)
    coef = axes.back @ fit.coef_
    model = Linear(mean, scale, coef[None, :], np.atleast_1d(fit.intercept_ - axes.center @ coef))
    residual = y - fit.predict(axes.Z)
    loo = y - residual / np.maximum(1 - _leverage(axes.Z, weight, penalty), 1e-6)
    return LinearFit(model, penalty * axes.size, loo)


def _leverage(Z: Array, weight: Array, alpha: float) -> Array:
    """How far the fit to each row moves with its own target, in weighted ridge regression."""
    A = np.hstack([np.ones((len(Z), 1)), Z])
    H = (A.T * weight) @ A
    H[np.diag_indices_from(H)] += np.append(0.0, np.full(Z.shape[1], alpha))  # no penalty on the constant
    return np.asarray(weight * (A * cho_solve(cho_factor(H), A.T).T).sum(axis=1))
