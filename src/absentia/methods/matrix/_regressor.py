"""Targets of which some are unknown, by probabilistic matrix addition."""

from dataclasses import KW_ONLY
from typing import Any, Literal, Self

import numpy as np
from sklearn.base import RegressorMixin
from sklearn.utils.validation import check_is_fitted

from absentia.core import estimator, suited_to
from absentia.methods.matrix._checks import read_samples, read_table
from absentia.methods.matrix._completing import column_scale
from absentia.methods.matrix._labels import read_targets, read_truth, to_learn_from
from absentia.methods.matrix._rows import RowModel


@estimator
class PMARegressor(RegressorMixin, RowModel):  # type: ignore[misc]
    """Regression on several targets of which some are unknown; as :class:`PMAClassifier`.

    Parameters
    ----------
    standardize : bool, default True
        Estimate on targets divided by their standard deviations, so that their units do not matter.  A
        `col_kernel` and an `amplitude` that are given are in the units of the targets and divided alike:
        with both given this changes no answer.
    label_covariance : "auto" or bool, default False
        As in :class:`PMAClassifier`.
    kernel, gamma, col_kernel, amplitude, inference, n_landmarks, shrinkage
        As in :class:`PMAClassifier`.
    nugget, center, discard, n_samples, tol, max_iter, random_state, verbose
        As in :class:`PMAClassifier`.

    Attributes
    ----------
    completed_ : ndarray (n, targets)
        The training targets, completed.
    scale_ : ndarray (targets,)
        What the targets were divided by.
    mean_ : ndarray (targets,)
        What was then taken off.
    model_ : absentia.methods.matrix._model.Addition
        In the units of the targets.

    Examples
    --------
    >>> rng = np.random.default_rng(0)
    >>> X = rng.uniform(-2, 2, (60, 1))
    >>> Y = np.hstack([np.sin(X), np.cos(X)]) + 0.05 * rng.standard_normal((60, 2))
    >>> Y[rng.random(Y.shape) < 0.3] = np.nan
    >>> mean, std = PMARegressor(random_state=0).fit(X, Y).predict([[1.0]], return_std=True)
    >>> bool(np.abs(mean - [np.sin(1), np.cos(1)]).max() < 0.15)
    True
    """

    _: KW_ONLY
    standardize: bool = True
    label_covariance: bool | Literal["auto"] = False

    def fit(self, X: Any, Y: Any) -> Self:
        """Learn from X and Y (n, targets) with NaN where unknown."""
        self._check_parameters()
        table = read_samples(self, X)
        targets = read_targets(Y, X, len(table), self)
        Y = targets.values
        rows = to_learn_from(Y, self.discard)
        self._vector, self._target_names = targets.vector, targets.names
        self.scale_ = column_scale(Y) if self.standardize else np.ones(Y.shape[1])
        with suited_to(len(table)):
            completed = self._fit(table, Y / self.scale_, rows, self.scale_, targets.names) * self.scale_
        completed = np.where(np.isnan(Y), completed, Y)
        self.completed_ = completed[:, 0] if self._vector else completed
        return self

    def predict(self, X: Any, return_std: bool = False) -> Any:
        """Expected targets of new samples, and their standard deviations if asked for."""
        check_is_fitted(self, "completed_")
        X = read_table(self, X, fit=False)
        mean, variance = self._distribution(X) if return_std else (self._mean(X), np.zeros(0))
        shape = np.s_[:, 0] if self._vector else np.s_[:]
        if not return_std:
            return (mean * self.scale_)[shape]
        return (mean * self.scale_)[shape], (np.sqrt(variance) * self.scale_)[shape]

    def score(self, X: Any, y: Any) -> float:
        """R^2 over the known targets, averaged over the columns that have any."""
        found = np.asarray(self.predict(X))
        Y = read_truth(y, X, self._target_names, found.shape)
        found, Y = found.reshape(len(Y), -1), Y.reshape(len(Y), -1)
        known = ~np.isnan(Y).all(axis=0)
        found, Y = found[:, known], Y[:, known]
        residual = np.nansum((Y - found) ** 2, axis=0)
        total = np.nansum((Y - np.nanmean(Y, axis=0)) ** 2, axis=0)
        return float((1 - residual / np.where(total > 0, total, 1.0)).mean())
