"""Scores of held-out samples: probabilities from them (Platt scaling), and C selected by them.

The curve from scores to probabilities is learned from machines that were fitted to some of the samples and
is used on the machine that was fitted to all, whose scores lie elsewhere and are wider: with a small C the
offset jumps from fit to fit, and the spread grows with the number of samples.  So the scores of every
machine are measured in units of the scores that it gives to its own training samples (:class:`ScoreScale`).

The regularisation C is selected by one rule for everything that is ranked.  It comes from :data:`_GRID`, in
five folds that are cut in an order that the data decide.  Machines are learned from the other folds.  Of
every C the scores of all held-out samples become probabilities by one logistic curve, and the C with the
least log-loss is taken: smoother than counting errors, and what probabilities are wanted for.  Of
regressors it is the least squared error.  Of equals, the least C, the simplest machine.  Of many samples
some are enough (:func:`selection_samples`).
"""

from __future__ import annotations

import warnings
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from typing import Any, NamedTuple

import numpy as np
from sklearn.exceptions import ConvergenceWarning
from sklearn.linear_model import LogisticRegression

from absentia.core import Array, argmin_key, clone_without_callbacks, serializable
from absentia.data import (
    AbsenceWarning,
    KernelViews,
    Views,
    choose_n_folds,
    count_fewest,
    make_folds,
    order_for_learning,
    subsample_classes,
)
from absentia.methods.learning._inputs import Labels, subset

_FOLDS = 5
_NO_DEVIATION = 1e-10  # deviation of scores, which are about -1 to 1, that is rounding
_GRID = (0.1, 0.3, 1.0, 3.0, 10.0, 30.0, 100.0)
_DEFAULT_C = 1.0  # where a class of one sample leaves nothing to select by
_MAX_SAMPLES, _SUBSAMPLE_SIZE = 2000, 1500  # of more than the first, so many are selected on


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
        return (scores - self.mean) / self.deviation


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
        return self.model.predict_proba(scores)


@serializable
class Calibration(NamedTuple):
    """What turns scores of one fitted machine into probabilities."""

    scale: ScoreScale | None  # None: no training sample has a usable view
    curve: SigmoidCalibration

    def predict(self, scores: Array) -> Array:
        """Probabilities, samples x classes, of the machine's scores."""
        return self.curve.predict(scores if self.scale is None else self.scale(scores))


@contextmanager
def _quiet_refits() -> Iterator[None]:
    """Inside, fits to some of the samples do not warn of what the fit to all samples says."""
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", AbsenceWarning)
        warnings.simplefilter("ignore", ConvergenceWarning)
        yield


def _score_rows(machine: Any, X: Any) -> Array:
    """Scores by a fitted machine, rows x 1 for two classes."""
    return machine.decision_function(X).reshape(len(X), -1)


def _learn_scale(machine: Any, X: Any, weight: Array) -> ScoreScale | None:
    """The scale of a machine's scores of its training samples `X`; None if none has a usable view."""
    usable = ~machine.unusable(X) & (weight > 0)
    return ScoreScale.learn(_score_rows(machine, X)[usable], weight[usable]) if usable.any() else None


def calibrate(classifier: Any, X: KernelViews | Views, labels: Labels) -> Calibration:
    """Of a classifier that is fitted to the samples, from scores by fits to some of them."""
    order = order_for_learning(X, labels.codes, labels.weight)[1]
    rows = order[(X.observed.any(axis=1) & (labels.weight > 0))[order]]
    scores, usable = _held_out_scores(classifier, X, labels, rows)
    weight = labels.weight[rows]
    curve = SigmoidCalibration(scores[usable], labels.codes[rows][usable], weight[usable], labels.prior)
    train = subset(X, rows, np.arange(len(X)))
    return Calibration(_learn_scale(classifier, train, weight), curve)


def _held_out_scores(classifier: Any, X: Any, labels: Labels, rows: Array) -> tuple[Array, Array]:
    """Standardised scores of the samples `rows` by fits that have not seen them, and which are usable."""
    codes, width = labels.codes[rows], len(labels.classes)
    groups = None if X.groups is None else X.groups[rows]
    fewest = count_fewest(codes, groups) if len(np.unique(codes)) == width else 0
    if fewest < 2:
        what = "samples" if groups is None else "groups of samples"
        raise ValueError(f"probabilities want at least two {what} with a view of every class")
    scores, usable = np.zeros((len(rows), 1 if width == 2 else width)), np.zeros(len(rows), dtype=bool)
    n_folds = min(choose_n_folds(len(rows), _FOLDS), fewest)
    for a, b in make_folds(np.arange(len(rows)), codes, n_folds, groups=groups):
        with _quiet_refits():
            other = classifier._refit(X, labels, rows[a])
            scale = _learn_scale(other, subset(X, rows[a], rows[a]), labels.weight[rows[a]])
            if scale is not None:
                held_out = subset(X, rows[b], rows[a])
                scores[b], usable[b] = scale(_score_rows(other, held_out)), ~other.unusable(held_out)
    return scores, usable


# ------------------------------------------------------------------------------------------ selection of C


class SelectsC:
    """Mixin of classifiers and regressors whose ``C`` is a number, or ``"cv"`` to select it in ``fit``."""

    C: Any
    C_: float

    def _set_C(self, X: Any, y: Array, weight: Array) -> None:
        """The C that is used, ``C_``; samples of weight zero take no part."""
        if self.C != "cv":
            self.C_ = float(self.C)
            return
        order = order_for_learning(X, y, weight)[1]
        rows = order[weight[order] > 0]
        classes = hasattr(self, "classes_")
        rows = rows[selection_samples(y[rows] if classes else np.zeros(len(rows)))]
        X, y, weight = subset(X, rows, rows), y[rows], weight[rows]
        if classes:
            options: Any = getattr(self, "_fit_options", None)
            self.C_ = select_C(self, X, y, weight, fit_options=lambda part: options(rows[part]))
        else:
            self.C_ = _select_by_error(self, X, y, weight)

    def _refit_parameters(self) -> dict[str, Any]:
        """Fits to some of the samples have the C of the fit to all."""
        return {"probability": False, "C": self.C_}


def selection_samples(y: Array) -> Array:
    """Positions of the samples that C is selected on: all, unless there are far more than enough."""
    return subsample_classes(y, _SUBSAMPLE_SIZE if len(y) > _MAX_SAMPLES else len(y))


def select_C(
    classifier: Any,
    X: Any,
    y: Array,
    weight: Array,
    fit_options: Callable[[Array], dict[str, Any]] = lambda rows: {},
) -> float:
    """The C of :data:`_GRID` whose scores of held-out samples tell most about their classes `y`, 0, 1, ...

    Samples are in an order of their own, each with a view; `fit_options` says what else ``fit`` gets of
    some samples.
    """
    rows = selection_samples(y)
    X, y, weight = X if len(rows) == len(y) else subset(X, rows, rows), y[rows], weight[rows]
    fewest = count_fewest(y, X.groups)
    if fewest < 2:
        return _DEFAULT_C
    folds = []
    for a, b in make_folds(np.arange(len(y)), y, min(_FOLDS, fewest), groups=X.groups):
        folds.append((subset(X, a, a), subset(X, b, a), a, b, fit_options(rows[a])))
    return argmin_key({C: _held_out_loss(_with_C(classifier, C), folds, y, weight) for C in _GRID})


def _with_C(machine: Any, C: float) -> Any:
    """An unfitted machine for weights that have those of the classes in them."""
    plain = {"C": C, "probability": False, "class_weight": None}
    return clone_without_callbacks(
        machine, **{name: v for name, v in plain.items() if name in machine.get_params()}
    )


def _held_out_loss(machine: Any, folds: Any, y: Array, weight: Array) -> float:
    n_classes = int(y.max()) + 1
    scores = np.zeros((len(y), 1 if n_classes == 2 else n_classes))
    with _quiet_refits():
        for train, test, a, b, options in folds:
            machine.fit(train, y[a], sample_weight=weight[a], **options)
            scale = _learn_scale(machine, train, weight[a])
            if scale is not None:
                scores[b] = scale(_score_rows(machine, test))
    prior = np.bincount(y, weight) / weight.sum()
    return log_loss(SigmoidCalibration(scores, y, weight, prior).predict(scores), y, weight)


def _select_by_error(regressor: Any, X: Any, y: Array, weight: Array) -> float:
    """The C of :data:`_GRID` with the least squared error of held-out samples."""
    if len(y) < 2:
        return _DEFAULT_C
    alike = np.zeros(len(y), dtype=int)
    parts = make_folds(np.arange(len(y)), alike, min(_FOLDS, len(y)), groups=X.groups)

    def error(C: float) -> float:
        machine, total = _with_C(regressor, C), 0.0
        with _quiet_refits():
            for a, b in parts:
                machine.fit(subset(X, a, a), y[a], sample_weight=weight[a])
                total += float(weight[b] @ (y[b] - machine.predict(subset(X, b, a))) ** 2)
        return total

    return argmin_key({C: error(C) for C in _GRID})


def log_loss(probabilities: Array, y: Array, weight: Array) -> float:
    """Mean of minus the logarithm of what was given to the true class."""
    true = np.maximum(probabilities[np.arange(len(y)), y], 1e-12)
    return float(-np.average(np.log(true), weights=weight))
