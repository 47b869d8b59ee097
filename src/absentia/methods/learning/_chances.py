"""Chances of the classes: scores of samples that a classifier has not seen, and what became of them."""

from __future__ import annotations

import warnings
from typing import Any, Literal

import numpy as np
from sklearn.exceptions import ConvergenceWarning
from sklearn.isotonic import IsotonicRegression
from sklearn.linear_model import LogisticRegression

from absentia.core import Array, kept
from absentia.data import AbsenceWarning, KernelViews, Views, folds, own_order, suited_folds
from absentia.methods.learning._labels import Labels

FOLDS = 5

#: What a classifier that can learn chances declares as its parameter ``probability``.
Probability = bool | Literal["sigmoid", "isotonic"]


def calibrated(classifier: Any, X: KernelViews | Views, labels: Labels) -> SigmoidChances | IsotonicChances:
    """Chances from the scores of samples with a view, each by a fit to other samples."""
    order = own_order(X, labels.codes, labels.weight)[1]
    rows = order[(X.observed.any(axis=1) & (labels.weight > 0))[order]]
    scores, fair = _held_out_scores(classifier, X, labels, rows)
    chances = IsotonicChances if classifier.probability == "isotonic" else SigmoidChances
    return chances(scores[fair], labels.codes[rows][fair], labels.weight[rows][fair])


def _held_out_scores(classifier: Any, X: Any, labels: Labels, rows: Array) -> tuple[Array, Array]:
    """Scores of the samples `rows` by fits that have not seen them, and which of those are usable."""
    codes, width = labels.codes[rows], len(labels.classes)
    fewest = int(np.bincount(codes, minlength=width).min())
    if fewest < 2:
        raise ValueError("chances want at least two samples with a view of every class")
    scores, fair = np.zeros((len(rows), 1 if width == 2 else width)), np.zeros(len(rows), dtype=bool)
    for a, b in folds(np.arange(len(rows)), codes, min(suited_folds(len(rows), FOLDS), fewest)):
        with warnings.catch_warnings():  # of what the whole fit has said already
            warnings.simplefilter("ignore", AbsenceWarning)
            warnings.simplefilter("ignore", ConvergenceWarning)
            other = classifier._fit_again(X, labels, rows[a])
            held_out = classifier._input.part(X, rows[b], rows[a])
            scores[b] = other.decision_function(held_out).reshape(len(b), -1)
            fair[b] = ~other.unusable(held_out)
    return scores, fair


@kept
class SigmoidChances:
    """Chances from scores by logistic regression (Platt scaling)."""

    def __init__(self, scores: Array, codes: Array, weight: Array) -> None:
        self.spread = np.maximum(scores.std(axis=0), 1e-12)
        # to the optimum: what is left open by a looser end, rounding decides
        model = LogisticRegression(solver="newton-cholesky", tol=1e-12, max_iter=1000)
        self.model = model.fit(scores / self.spread, codes, sample_weight=weight)

    def predict(self, scores: Array) -> Array:
        return np.asarray(self.model.predict_proba(scores / self.spread))


@kept
class IsotonicChances:
    """Chances from scores by a rising step function for each class."""

    def __init__(self, scores: Array, codes: Array, weight: Array) -> None:
        targets = [1] if scores.shape[1] == 1 else range(scores.shape[1])
        self.models = [
            IsotonicRegression(y_min=0, y_max=1, out_of_bounds="clip").fit(s, codes == k, weight)
            for s, k in zip(scores.T, targets, strict=True)
        ]

    def predict(self, scores: Array) -> Array:
        chances = np.column_stack([m.predict(s) for m, s in zip(self.models, scores.T, strict=True)])
        if len(self.models) == 1:
            return np.hstack([1 - chances, chances])
        total = chances.sum(axis=1, keepdims=True)
        return np.where(total > 0, chances / np.where(total > 0, total, 1), 1 / len(self.models))
