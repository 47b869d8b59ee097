"""Cox regression on factors of very many samples, from sums over blocks of them.

Rows are principal axes of factors, the views side by side or one alone (``_factors``); the likelihood, and
how its sums over all who are at risk are made without a table of these, is that of ``_cox``, ties as
Breslow has them.

The penalty is that of the least partial likelihood of log-risks that samples get without themselves.  With
the cumulative hazard held where it is, the likelihood is a sum over samples, ``h_i - event_i`` is the slope
and ``h_i`` the curvature of sample i by its log-risk, and leaving it out is what it is in logistic
regression (``learning/_logistic``), but for terms of second order and the share that one sample has in the
hazard.
"""

from collections.abc import Sequence
from dataclasses import KW_ONLY
from typing import Any, Literal, NamedTuple

import numpy as np

from absentia.core import Array, Positive, estimator
from absentia.core.optimize import Solution
from absentia.data import Views, number_groups
from absentia.data.survival import Survival
from absentia.methods.learning import (
    Axes,
    DesignMatrix,
    FactorTable,
    NewtonPoint,
    SurvivalModel,
    leave_out_scores,
    scatter_rows,
    select_strength,
)
from absentia.methods.prediction._cox import PartialLikelihood, fit_coefficients
from absentia.methods.prediction._factors import FactorModel, LinearModel
from absentia.methods.prediction._survival import to_log_hazards

_MIN_EVENTS = 2  # of samples with a view, to learn from it alone


class CoxFit(NamedTuple):
    """Weights along the axes (d,), the penalty, and log-risks of rows left out (n,)."""

    coef: Array
    alpha: float
    loo: Array


class _Rows(NamedTuple):
    """What is learned from: rows along their axes, times and events, and groups that are left out whole."""

    Z: Array
    likelihood: PartialLikelihood
    groups: Array | None

    def solve(self, C: float, start: Sequence[Array]) -> list[Solution[NewtonPoint]]:
        """The weights of penalty 1 / C."""
        return [fit_coefficients(self.Z, self.likelihood, 1 / C, start[0])]

    def leave_one_out(self, solutions: Sequence[Solution[NewtonPoint]]) -> tuple[Array, float]:
        """Log-risks of every row without it, or its group, and their negative likelihood per event."""
        found, A = solutions[0].state, DesignMatrix(self.Z, constant=False)
        f = A.times(found.w)
        g, h = self.likelihood.derivatives(f)
        risk = leave_out_scores(A, f, g, h, found.factor, self.groups)
        return risk, self.likelihood.loss(risk) / self.likelihood.counts.sum()


def fit_factor_cox(
    Z: Array, y: Survival, alpha: float | None = None, groups: Array | None = None
) -> CoxFit:
    """Cox regression on rows (n, d) of mean zero; without `alpha`, the best for rows left out."""
    rows = _Rows(Z, PartialLikelihood.of(y), number_groups(groups))
    start: Sequence[Array] = [np.zeros(Z.shape[1])]
    C = None if alpha is None else 1 / alpha
    if C is None:
        C, start, _ = select_strength(rows, start)
    solutions = rows.solve(C, start)
    return CoxFit(solutions[0].state.w, 1 / C, rows.leave_one_out(solutions)[0])


@estimator
class FactorCox(FactorModel, SurvivalModel):
    """Ridge Cox regression on factors of the views' kernels, from sums over blocks of samples.

    Takes :class:`Views`, whose features may stay in chunks; members as in :class:`FactorLogistic`, risks of
    each made log-hazards by a Cox model of one coefficient on what it says of samples left out.

    Parameters
    ----------
    kernel : str or ViewKernels, default "rbf"
        As in :class:`FactorLogistic`.
    alpha : float or "cv", default "cv"
        Penalty, factors having rows of unit mean square; "cv" selects it by the partial likelihood of
        samples that are left out one at a time, in closed form.
    per_view : bool, default True
        As in :class:`FactorLogistic`.

    Attributes
    ----------
    alpha_ : float
        Of the model side by side.
    candidates_ : dict
        By member: ``loss``, the negative partial likelihood per event of samples left out, and ``weight``.
    held_out_risks_ : ndarray of shape (n_samples,)
        Log-risks of the training samples, each left out; NaN for samples without a view.
    event_times_ : ndarray
        Times at which something happened in training.
    sentence_, names_in_, ids_

    Examples
    --------
    >>> import numpy as np
    >>> from absentia import FactorCox, Views
    >>> rng = np.random.default_rng(0)
    >>> x = rng.normal(size=(60, 3))
    >>> views = Views.from_list([x, x**2], observed=np.arange(60)[:, None] < [60, 40])
    >>> y = np.column_stack([rng.exponential(np.exp(-2 * x[:, 0])), rng.random(60) < 0.7])
    >>> FactorCox().fit(views, y).predict(views[:2]).shape
    (2,)
    """

    kernel: Any = "rbf"
    _: KW_ONLY
    alpha: Positive | Literal["cv"] = "cv"
    per_view: bool = True

    def _learn(self, X: Views, y: Survival, weight: Array) -> None:
        samples, left_out = self._fit_members(X, y.to_array(), weight, np.zeros(1))
        y = Survival(y.time[samples], y.event[samples])
        risks, likelihood = left_out[:, :, 0], PartialLikelihood.of(y)
        slopes = np.array([to_log_hazards(risk, y)[0] for risk in risks])
        losses = [likelihood.loss(risk) / y.event.sum() for risk in slopes[:, None] * risks]
        together = self._set_weights(losses, "loss", losses) * slopes @ risks
        slope, self.event_times_, self._hazard = to_log_hazards(together, y)
        self._together = self._together.times(slope * slopes[0])
        self._alone = {
            name: None if model is None else model.times(slope * slopes[-1])
            for name, model in self._alone.items()
        }
        self.held_out_risks_ = scatter_rows(slope * together, samples, len(X))

    def _fit_table(
        self, table: FactorTable, y: Array, weight: Array, groups: Array | None, first: bool
    ) -> tuple[LinearModel | None, Array | None]:
        if y["event"].sum() < _MIN_EVENTS and not first:
            return None, None
        axes = Axes.of_rows(table.read, len(y), table.dtype)
        alpha = None if isinstance(self.alpha, str) else float(self.alpha)
        target = Survival(y["time"], y["event"])
        fit = fit_factor_cox(axes.Z, target, alpha, groups)
        if first:
            self.alpha_ = fit.alpha
        coef = axes.back @ fit.coef
        model = LinearModel.split(table, coef[:, None], -axes.center @ coef, np.zeros(0, dtype=int))
        slope = 1.0 if first else to_log_hazards(fit.loo, target)[0]  # views are averaged as log-hazards
        return model.times(slope), slope * fit.loo[:, None]

    def _predict(self, X: Views) -> Array:
        return self._average(X, *self._scores(X), 0.0)[:, 0]
