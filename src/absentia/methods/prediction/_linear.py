"""Linear models on all features side by side: standardised, absent ones the mean, their C selected.

Features are standardised over the training rows that have them; what is absent is the mean, zero.  All
penalties are squared norms, so the best weights lie in the span of the training rows, ``w = Z' a``.  Where
there are more features than rows, the rows' coordinates in that span, from the eigenvectors of ``Z Z'``,
stand in for the features, which changes nothing but the time.

A C that is to be selected comes from a grid of its own, in units of ``1 / mean |z_i|^2``: what C does
depends on the size of the rows, which grows with the number of features.  Kernels have unit diagonals, and
their grid (``learning._selection``) needs no such unit.
"""

import warnings
from collections.abc import Callable
from typing import Any, NamedTuple

import numpy as np
import scipy.linalg
from sklearn.exceptions import ConvergenceWarning
from sklearn.linear_model import LogisticRegression, RidgeCV

from absentia.core import Array, argmin_key, evaluate_path, serializable
from absentia.data import column_scales, make_folds
from absentia.methods.learning import one_vs_rest_signs
from absentia.methods.learning.engine import Box, fit_machine
from absentia.methods.prediction._trees import LINKS

GRID = (0.01, 0.1, 1.0, 10.0, 100.0, 1000.0, 10_000.0, 100_000.0)
FOLDS = 5
_RANK = 1e-12  # eigenvalues below this share of the largest are rounding
_TOL = 1e-6

_Fit = Callable[[Array, Array, Array, float], "Weights"]


class Weights(NamedTuple):
    """Outputs x features, and what is added."""

    coef: Array
    bias: Array

    def scores(self, F: Array) -> Array:
        return np.asarray(F @ self.coef.T + self.bias)


@serializable
class Linear(NamedTuple):
    """A linear model of features as they come; `link` is what becomes of its scores."""

    mean: Array
    scale: Array
    coef: Array
    bias: Array
    link: str = "identity"

    def predict(self, table: Array) -> Array:
        """Rows x outputs (probabilities: rows x classes); NaN counts as the training mean."""
        return LINKS[self.link](_standardize(table, self.mean, self.scale) @ self.coef.T + self.bias)


def _standardize(table: Array, mean: Array, scale: Array) -> Array:
    return np.where(np.isnan(table), 0.0, (table - mean) / scale)


class _Rows(NamedTuple):
    """Training rows as few columns, the way back to features, and how large the rows are."""

    F: Array
    back: Array | None  # columns x features
    mean: Array
    scale: Array

    @property
    def size(self) -> float:
        """The mean squared norm of a row; 1 where all are zero."""
        return float((self.F**2).sum(axis=1).mean()) or 1.0

    def model(self, weights: Weights, link: str = "identity") -> Linear:
        coef = weights.coef if self.back is None else weights.coef @ self.back
        return Linear(self.mean, self.scale, coef, weights.bias, link)


def _reduce_rows(table: Array) -> _Rows:
    """Standardised rows; as coordinates in their own span if there are fewer rows than features."""
    mean, scale = column_scales(table)
    Z = _standardize(table, mean, scale)
    if Z.shape[1] <= len(Z):
        return _Rows(Z, None, mean, scale)
    values, vectors = scipy.linalg.eigh(Z @ Z.T)
    keep = values > _RANK * max(float(values[-1]), 0.0)
    root, vectors = np.sqrt(values[keep]), vectors[:, keep]
    return _Rows(vectors * root, (vectors / root).T @ Z, mean, scale)


def fit_logistic(table: Array, codes: Array, weight: Array, C: float | str) -> tuple[Linear, float]:
    """Multinomial logistic regression and its C, selected by held-out log-loss if it is ``"cv"``."""
    rows, link = _reduce_rows(table), "sigmoid" if codes.max() < 2 else "softmax"

    def loss(weights: Weights, F: Array, codes: Array) -> Array:
        probabilities = LINKS[link](weights.scores(F))[np.arange(len(F)), codes]
        return -np.log(np.maximum(probabilities, np.finfo(np.float64).tiny))

    C = _select_C(_logistic_weights, loss, rows, codes, weight) if isinstance(C, str) else float(C)
    return rows.model(_logistic_weights(rows.F, codes, weight, C), link), C


def _logistic_weights(F: Array, codes: Array, weight: Array, C: float) -> Weights:
    """Minimise ``1/2 |w|^2 + C sum_i weight_i loss_i``; of two classes the second's weights."""
    model = LogisticRegression(C=C, tol=_TOL, max_iter=10_000)
    with warnings.catch_warnings():  # nearly there is good enough
        warnings.simplefilter("ignore", ConvergenceWarning)
        model.fit(F, codes, sample_weight=weight)
    return Weights(model.coef_, model.intercept_)


def fit_svm(table: Array, codes: Array, weight: Array, C: float | str) -> tuple[Linear, float]:
    """Support vector machines, one against the rest, and C, by held-out errors if it is ``"cv"``."""
    rows = _reduce_rows(table)

    def loss(weights: Weights, F: Array, codes: Array) -> Array:
        scores = weights.scores(F)
        predicted = scores.argmax(axis=1) if scores.shape[1] > 1 else scores[:, 0] > 0
        return np.asarray(predicted != codes, dtype=np.float64)

    C = _select_C(_svm_weights, loss, rows, codes, weight) if isinstance(C, str) else float(C)
    return rows.model(_svm_weights(rows.F, codes, weight, C)), C


def _svm_weights(F: Array, codes: Array, weight: Array, C: float) -> Weights:
    """Minimise ``1/2 |w|^2 + C sum_i weight_i hinge_i`` for each class against the rest."""
    K = np.ascontiguousarray(F @ F.T)
    signs = one_vs_rest_signs(codes, int(codes.max()) + 1)
    machines = [fit_machine(K, Box.classification(y, C * weight), tol=_TOL) for y in signs]
    return Weights(np.array([F.T @ m.z for m in machines]), np.array([m.bias for m in machines]))


def _select_C(fit: _Fit, loss: Any, rows: _Rows, codes: Array, weight: Array) -> float:
    """The C with the least held-out loss, the smallest of equals; a middling one for lone samples."""
    fewest = int(np.bincount(codes).min())
    if fewest < 2:
        return 1 / rows.size
    parts = make_folds(np.arange(len(codes)), codes, min(FOLDS, fewest))

    def held_out(C: float) -> float:
        fits = [(fit(rows.F[a], codes[a], weight[a], C), b) for a, b in parts]
        return float(sum(weight[b] @ loss(weights, rows.F[b], codes[b]) for weights, b in fits))

    return argmin_key(evaluate_path([C / rows.size for C in GRID], held_out))


def fit_ridge(table: Array, y: Array, weight: Array, alpha: float | str) -> tuple[Linear, float]:
    """Ridge regression and its penalty, by leaving out each sample in turn if it is ``"cv"``.

    The penalties are ``1 / 2C`` for the C of the grid, the largest first.
    """
    rows = _reduce_rows(table)
    alphas = [rows.size / (2 * C) for C in GRID] if isinstance(alpha, str) else [float(alpha)]
    model = RidgeCV(alphas=alphas).fit(rows.F, y, sample_weight=weight)
    weights = Weights(model.coef_[None, :], np.atleast_1d(model.intercept_))
    return rows.model(weights), float(model.alpha_)
