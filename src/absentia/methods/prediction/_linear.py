"""Linear models on all features side by side: standardised, absent ones the mean, their strength selected.

Features are standardised over the training rows that have them and clipped at three deviations; what is
absent is the mean, zero.  Where
there are more features than rows, the rows' coordinates along their principal axes stand in for the
features, which changes nothing but the time (``learning.Axes``).  Strengths that are selected come from a
grid that goes with the rows' mean squared length, which grows with the number of features.
"""

from typing import NamedTuple, Self

import numpy as np

from absentia.core import Array, serializable
from absentia.data import MAX_DEVIATION, column_scales
from absentia.methods.learning import Axes, fit_logistic, fit_ridge
from absentia.methods.prediction._trees import LINKS, Trees


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


class TableFit(NamedTuple):
    """A model of a table, how much each feature counts in it, and its C or penalty, if it has one.

    What it says of each row once that, or its group, is left out are probabilities, rows x classes, or
    predictions, (rows,).
    """

    model: Trees | Linear
    importance: Array
    strength: float | None = None
    loo: Array | None = None  # if it tells

    @classmethod
    def of_linear(cls, model: Linear, strength: float, loo: Array) -> Self:
        return cls(model, np.linalg.norm(model.coef, axis=0), strength, loo)


def fit_linear_classes(
    table: Array, codes: Array, weight: Array, C: float | str, groups: Array | None = None
) -> TableFit:
    """Logistic regression, each class against the rest.

    C by leaving out each row, or group of rows, if it is ``"cv"``.
    """
    mean, scale = column_scales(table)
    axes = Axes.of_table(standardize(table, mean, scale))
    n_classes = int(codes.max()) + 1
    given = None if isinstance(C, str) else C * axes.size
    fit = fit_logistic(axes, codes, weight, n_classes, given, groups)
    model = Linear(mean, scale, fit.model.coef.T, fit.model.intercept, "one against the rest")
    return TableFit.of_linear(model, fit.C / axes.size, fit.loo_proba)


def fit_linear_numbers(
    table: Array, y: Array, weight: Array, alpha: float | str, groups: Array | None = None
) -> TableFit:
    """Ridge regression; its penalty by leaving out each row, or group of rows, if it is ``"cv"``."""
    mean, scale = column_scales(table)
    axes = Axes.of_table(standardize(table, mean, scale))
    fit = fit_ridge(axes, y, weight, None if isinstance(alpha, str) else alpha / axes.size, groups)
    model = Linear(mean, scale, fit.coef[None, :], np.atleast_1d(fit.bias))
    return TableFit.of_linear(model, fit.alpha * axes.size, fit.loo)
