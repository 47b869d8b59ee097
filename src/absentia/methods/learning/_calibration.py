"""Probabilities of the classes from scores of held-out samples (Platt scaling).

The curve is learned from machines that were fitted to some of the samples and is used on the machine that
was fitted to all, whose scores lie elsewhere and are wider: with a small C the offset jumps from fit to
fit, and the spread grows with the number of samples.  So the scores of every machine are measured in units
of the scores that it gives to its own training samples (:class:`ScoreScale`).
"""

from __future__ import annotations

import warnings
from collections.abc import Iterator
from contextlib import contextmanager
from typing import Any, NamedTuple

import numpy as np
from sklearn.exceptions import ConvergenceWarning
from sklearn.linear_model import LogisticRegression

from absentia.core import Array, serializable
from absentia.data import (
    AbsenceWarning,
    KernelViews,
    Views,
    choose_n_folds,
    count_fewest,
    make_folds,
    order_for_learning,
)
from absentia.methods.learning._inputs import Labels, subset

FOLDS = 5
_NO_DEVIATION = 1e-10  # deviation of scores, which are about -1 to 1, that is rounding


@serializable
class ScoreScale(NamedTuple):
    """Mean and standard deviation of the scores that a machine gives to its training samples, by column."""

    mean: Array
    deviation: Array

    @classmethod
    def learn(cls, scores: Array, weight: Array) -> ScoreScale:
        """From scores, samples x columns; deviations that are rounding count as one."""
        share = weight / weight.sum()
        mean = share @ scores
        deviation = np.sqrt(share @ (scores - mean) ** 2)
        return cls(mean, np.where(deviation > _NO_DEVIATION, deviation, 1.0))

    def __call__(self, scores: Array) -> Array:
        return np.asarray((scores - self.mean) / self.deviation)


@serializable
class SigmoidCalibration:
    """Probabilities from standardised scores by logistic regression.

    They are the frequencies of the classes, whatever the scores, where there is nothing to learn from: no
    samples with scores, or none of some class.
    """

    def __init__(self, scores: Array, codes: Array, weight: Array, prior: Array) -> None:
        self.prior = prior
        self.model = None
        if len(np.unique(codes)) == len(prior):
            # to the optimum: what is left open by a looser end, rounding decides
            model = LogisticRegression(solver="newton-cholesky", tol=1e-12, max_iter=1000)
            self.model = model.fit(scores, codes, sample_weight=weight)

    def predict(self, scores: Array) -> Array:
        """Probabilities, samples x classes, of standardised scores."""
        if self.model is None or not len(scores):
            return np.tile(self.prior, (len(scores), 1))
        return np.asarray(self.model.predict_proba(scores))


@serializable
class Calibration(NamedTuple):
    """What turns scores of one fitted machine into probabilities."""

    scale: ScoreScale | None  # None: no training sample has a usable view
    curve: SigmoidCalibration

    def predict(self, scores: Array) -> Array:
        """Probabilities, samples x classes, of the machine's scores."""
        return self.curve.predict(scores if self.scale is None else self.scale(scores))


@contextmanager
def quiet_refits() -> Iterator[None]:
    """Inside, fits to some of the samples do not warn of what the fit to all samples says."""
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", AbsenceWarning)
        warnings.simplefilter("ignore", ConvergenceWarning)
        yield


def score_rows(machine: Any, X: Any) -> Array:
    """Scores by a fitted machine, rows x 1 for two classes."""
    return np.asarray(machine.decision_function(X)).reshape(len(X), -1)


def learn_scale(machine: Any, X: Any, weight: Array) -> ScoreScale | None:
    """The scale of a machine's scores of its training samples `X`; None if none has a usable view."""
    usable = ~machine.unusable(X) & (weight > 0)
    return ScoreScale.learn(score_rows(machine, X)[usable], weight[usable]) if usable.any() else None


def calibrate(classifier: Any, X: KernelViews | Views, labels: Labels) -> Calibration:
    """Of a classifier that is fitted to the samples, from scores by fits to some of them."""
    order = order_for_learning(X, labels.codes, labels.weight)[1]
    rows = order[(X.observed.any(axis=1) & (labels.weight > 0))[order]]
    scores, fair = _held_out_scores(classifier, X, labels, rows)
    weight = labels.weight[rows]
    curve = SigmoidCalibration(scores[fair], labels.codes[rows][fair], weight[fair], labels.prior)
    everyone = subset(X, rows, np.arange(len(X)))
    return Calibration(learn_scale(classifier, everyone, weight), curve)


def _held_out_scores(classifier: Any, X: Any, labels: Labels, rows: Array) -> tuple[Array, Array]:
    """Standardised scores of the samples `rows` by fits that have not seen them, and which are usable."""
    codes, width = labels.codes[rows], len(labels.classes)
    groups = None if X.groups is None else X.groups[rows]
    fewest = count_fewest(codes, groups) if len(np.unique(codes)) == width else 0
    if fewest < 2:
        what = "samples" if groups is None else "groups of samples"
        raise ValueError(f"probabilities want at least two {what} with a view of every class")
    scores, fair = np.zeros((len(rows), 1 if width == 2 else width)), np.zeros(len(rows), dtype=bool)
    n_folds = min(choose_n_folds(len(rows), FOLDS), fewest)
    for a, b in make_folds(np.arange(len(rows)), codes, n_folds, groups=groups):
        with quiet_refits():
            other = classifier._refit(X, labels, rows[a])
            scale = learn_scale(other, subset(X, rows[a], rows[a]), labels.weight[rows[a]])
            if scale is not None:
                held_out = subset(X, rows[b], rows[a])
                scores[b], fair[b] = scale(score_rows(other, held_out)), ~other.unusable(held_out)
    return scores, fair
