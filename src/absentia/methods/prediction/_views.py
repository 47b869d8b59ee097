"""One classifier per view, learned from the samples that have it: probabilities, and their worth."""

import warnings
from typing import Any, NamedTuple

import numpy as np
from sklearn.base import clone
from sklearn.utils.validation import has_fit_parameter

from absentia.core import Array, serializable
from absentia.data import Coding, KernelViews, Views, column_scales, folds, joined, suited_folds
from absentia.methods.learning import Learner
from absentia.methods.prediction._selection import log_loss

FOLDS = 5
FEWEST = 3  # samples of a class that a view must have to learn it: fewer cannot be split and split again
FLOOR = 1e-4  # the least chance: no view alone rules a class out


@serializable
class Filled(NamedTuple):
    """The one view of some samples as a table: categories one column a level, gaps the training means."""

    coding: Coding
    means: Array

    @classmethod
    def learn(cls, X: Views) -> Any:
        coding = Coding.learn(X)
        return cls(coding, column_scales(joined(coding(X)))[0])

    def __call__(self, X: Views) -> Array:
        table = joined(self.coding.of_new(X))
        return np.where(np.isnan(table), self.means, table)


@serializable
class OneView(NamedTuple):
    """A classifier of one view, and the classes that it knows, as positions among all classes.

    Classes that too few samples with the view have keep their frequency, `rest`.
    """

    estimator: Any
    known: Array
    rest: Array
    table: Any  # how features become a table without gaps, where the estimator takes one
    rows: Array  # the samples that it learned from: those of known classes

    @classmethod
    def fit(cls, estimator: Any, X: Any, y: Array, weight: Array, prior: Array) -> Any:
        """Learned from samples that all have the one view of `X`; None if that tells no classes apart."""
        counts = np.bincount(y, minlength=len(prior))
        known = np.flatnonzero(counts >= FEWEST)
        if len(known) < 2:
            return None
        rows = np.flatnonzero(np.isin(y, known))
        made, part = clone(estimator), _part(X, rows, rows)
        table = None if takes_views(made) else Filled.learn(part)
        part = part if table is None else table(part)
        options = {"sample_weight": weight[rows]} if has_fit_parameter(made, "sample_weight") else {}
        made.fit(part, y[rows], **options)
        rest = np.where(counts >= FEWEST, 0.0, prior)
        return cls(made, known, rest, table, rows)

    def probabilities(self, X: Any) -> Array:
        """Chances of all classes for samples that all have the view; kernels against all given to fit."""
        given = _part(X, np.arange(len(X)), self.rows) if self.table is None else self.table(X)
        found = np.tile(self.rest, (len(X), 1))
        found[:, self.known] = (1 - self.rest.sum()) * self.estimator.predict_proba(given)
        found = np.maximum(found, FLOOR)
        return np.asarray(found / found.sum(axis=1, keepdims=True))


def held_out(estimator: Any, X: Any, y: Array, weight: Array, prior: Array) -> Array:
    """Chances of samples by classifiers that were learned from other folds; the prior where none could."""
    found = np.tile(prior, (len(y), 1))
    fewest = max(2, min(suited_folds(len(y), FOLDS), int(np.bincount(y)[np.unique(y)].min())))
    for a, b in folds(np.arange(len(y)), y, fewest):
        with warnings.catch_warnings(action="ignore"):  # the fit to all samples says what is to be said
            one = OneView.fit(estimator, _part(X, a, a), y[a], weight[a], prior)
            if one is not None:
                found[b] = one.probabilities(_part(X, b, a))
    return found


def skill(probabilities: Array, y: Array, weight: Array, prior: Array) -> float:
    """The share of the prior's log-loss that held-out probabilities save; not below zero."""
    blind = log_loss(np.tile(prior, (len(y), 1)), y, weight)
    return max(0.0, 1 - log_loss(probabilities, y, weight) / blind) if blind > 0 else 0.0


def takes_views(estimator: Any) -> bool:
    """Whether it is one of ours, which take views or kernels; others get a table of features."""
    return isinstance(estimator, Learner)


def check_base(estimator: Any, X: Any) -> None:
    """Raise unless the estimator can be used for every view of `X`."""
    learns = hasattr(estimator, "fit") and hasattr(estimator, "predict_proba")
    if isinstance(estimator, type) or not learns:
        raise ValueError(f"estimator must be a classifier with predict_proba, not {estimator!r}")
    if isinstance(X, KernelViews) and not takes_views(estimator):
        name = type(estimator).__name__
        raise ValueError(f"{name} takes features, but kernels came; give estimator=None")


def of_view(X: Any, name: str, rows: Array) -> Any:
    """One view of the samples `rows`, for learning."""
    return _part(X.select([name]), rows, rows)


def _part(X: Any, rows: Array, columns: Array) -> Any:
    return X[rows] if isinstance(X, Views) else X[np.ix_(rows, columns)]
