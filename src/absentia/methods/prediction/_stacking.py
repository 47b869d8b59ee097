"""Stacking of views: probabilities of held-out samples by each view, and a model of their log-odds.

One classifier per view gives probabilities ``p_v(k)`` of samples that it has not seen; their log-odds
``L_v(k) = log(p_v(k) / pi(k))`` against the classes' frequencies are what the second model learns from.
By default it has one weight per view and one offset per class,

    log-odds of class k  =  b_k + sum_v w_v L_v(k),

with w >= 0 (a view that says "yes" is never read as "no"), by least log-loss with a ridge that draws the
weights to one over the number of views.  An absent view contributes zero (it says what the frequencies
say), or what the other views' log-odds lead one to expect: imputed at the level of the second model, as
W. van Loon, M. Fokkema, B. Szabo & M. de Rooij do ("View selection in multi-view stacking", Advances in
Data Analysis and Classification, 2022).
"""

from dataclasses import KW_ONLY
from typing import Any, Literal, NamedTuple

import numpy as np
from scipy.optimize import minimize
from sklearn.base import clone

from absentia.core import Array, NonNegative, estimator, serializable
from absentia.methods.prediction._view_classifiers import PerViewClassifier, softmax_rows

_RIDGE = 1e-2  # on the offsets of the classes, and relative on regressions of log-odds


@serializable
class StackingModel(NamedTuple):
    """One weight per view, one offset per class."""

    weights: Array
    offsets: Array

    @classmethod
    def fit(cls, L: Array, y: Array, weight: Array, penalty: float, nonnegative: bool) -> Any:
        """By least log-loss of `L`, views x samples x classes."""
        V, _, k = L.shape
        start, truth = np.full(V, 1 / V), np.eye(k)[y]
        share = weight / weight.sum()

        def objective(parameters: Array) -> tuple[float, Array]:
            w, b = parameters[:V], parameters[V:]
            probabilities = softmax_rows(b + np.tensordot(w, L, 1))
            off = (probabilities - truth) * share[:, None]
            value = -float(share @ np.log(np.maximum((probabilities * truth).sum(axis=1), 1e-300)))
            away = w - start
            slopes = np.tensordot(L, off, 2) + penalty * away
            return value + penalty / 2 * away @ away + _RIDGE / 2 * b @ b, np.r_[
                slopes, off.sum(axis=0) + _RIDGE * b
            ]

        bounds = [(0.0 if nonnegative else None, None)] * V + [(None, None)] * k
        result = minimize(
            objective,
            np.r_[start, np.zeros(k)],
            jac=True,
            method="L-BFGS-B",
            bounds=bounds,
            options={"ftol": 0, "gtol": 1e-9, "maxiter": 500},
        )
        return cls(result.x[:V], result.x[V:])

    def predict_proba(self, L: Array) -> Array:
        return softmax_rows(self.offsets + np.tensordot(self.weights, L, 1))


@serializable
class LogOddsImputer(NamedTuple):
    """Log-odds of one view, class by class, from those of the others: ridge regression through zero."""

    slopes: Array  # views x views: how much of each other view's log-odds

    @classmethod
    def learn(cls, L: Array, has: Array) -> Any:
        """From samples that have the view; absent others count as zero."""
        V = len(L)
        slopes = np.zeros((V, V))
        for v in range(V):
            others = np.array([u for u in range(V) if u != v], dtype=int)
            A = L[others][:, has[v]].reshape(len(others), -1)
            if A.size:
                gram = A @ A.T
                gram[np.diag_indices_from(gram)] += _RIDGE * max(float(np.trace(gram)), 1e-300) / len(gram)
                slopes[v, others] = np.linalg.solve(gram, A @ L[v, has[v]].ravel())
        return cls(slopes)

    def fill(self, L: Array, has: Array) -> Array:
        """`L` where a sample has the view, what the others lead one to expect elsewhere."""
        return np.where(has[:, :, None], L, np.tensordot(self.slopes, L, 1))


@estimator
class ViewStacking(PerViewClassifier):
    """Classifiers of the views, and a model that learns how to combine their log-odds.

    Takes :class:`Views` or square :class:`KernelViews`.

    Parameters
    ----------
    estimator : classifier or None
        Of the views, as in :class:`LateFusion`.
    final : classifier or None
        Learns from the views' log-odds side by side, views x classes columns; None: one weight per view
        and one offset per class.
    absent : {"zero", "impute"}, default "zero"
        What absent views contribute: nothing, or what the log-odds of the others lead one to expect.
    nonnegative : bool, default True
        No negative weights.  Only without `final`.
    penalty : float, default 0.1
        How strongly weights are drawn to equal ones.  Only without `final`.
    kernel, class_weight
        As in :class:`LateFusion`.

    Attributes
    ----------
    weights_ : ndarray of shape (n_views,)
        Of the views.  Only without `final`.
    classes_, decision_, names_in_, ids_

    Examples
    --------
    >>> from absentia import ViewStacking, datasets, missingness
    >>> views, y = datasets.load_digit_views(n_samples=60, return_X_y=True)
    >>> views = views.select(["pixels", "fourier"])
    >>> views = views.hide(missingness.mcar(views, 0.3, random_state=0))
    >>> ViewStacking().fit(views, y < 5).weights_.shape
    (2,)
    """

    estimator: Any = None
    _: KW_ONLY
    final: Any = None
    absent: Literal["zero", "impute"] = "zero"
    nonnegative: bool = True
    penalty: NonNegative = 0.1
    kernel: Any = "rbf"
    class_weight: Any = None

    def _learn_ordered(self, X: Any, y: Array, weight: Array) -> None:
        self._learn_views(X, y, weight)
        L, has = self._log_odds(self._held_out_proba(X, y, weight)), X.observed.T
        self._imputer = LogOddsImputer.learn(L, has) if self.absent == "impute" else None
        L = self._fill(L, has)
        self._final = (
            StackingModel.fit(L, y, weight, self.penalty, self.nonnegative)
            if self.final is None
            else clone(self.final).fit(_as_table(L), y, sample_weight=weight)
        )

    def _learn(self, X: Any, y: Array, weight: Array) -> None:
        super()._learn(X, y, weight)
        if self.final is None:
            self.weights_ = self._reorder_views(self._final.weights, X.names)

    def _fill(self, L: Array, has: Array) -> Array:
        return L if self._imputer is None else self._imputer.fill(L, has)

    def _filled_log_odds(self, X: Any) -> Array:
        return self._fill(self._log_odds(self._view_proba(X)), X.observed.T)

    def _predict_proba_rows(self, X: Any) -> Array:
        L = self._filled_log_odds(X)
        return np.asarray(self._final.predict_proba(L if self.final is None else _as_table(L)))

    def contributions(self, X: Any) -> Array:
        """What each view adds to the log-odds of each sample's classes, rows x views x classes.

        Only without `final`.  Views that are absent add what was imputed, or zero.
        """
        self._check_rows(X)
        if self.final is not None:
            raise ValueError("only the default second model has contributions of views; give final=None")
        return self._predict_view_parts(X, self._decompose_rows)

    def _decompose_rows(self, X: Any) -> Array:
        L = self._filled_log_odds(X)
        return np.asarray((self._final.weights[:, None, None] * L).transpose(1, 0, 2))


def _as_table(L: Array) -> Array:
    """Log-odds of views x samples x classes as a table of samples."""
    return np.ascontiguousarray(L.transpose(1, 0, 2).reshape(L.shape[1], -1))
