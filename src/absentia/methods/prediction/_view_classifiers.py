"""One classifier per view, fitted to the samples that have it: the base of late fusion and of stacking."""

import warnings
from typing import Any, NamedTuple

import numpy as np
from scipy.special import softmax
from sklearn.base import clone
from sklearn.utils.validation import has_fit_parameter

from absentia.core import Array, serializable
from absentia.data import (
    Coding,
    KernelViews,
    Views,
    choose_n_folds,
    column_scales,
    concatenate_features,
    count_fewest,
    make_folds,
    number_groups,
)
from absentia.methods.learning import Learner, subset
from absentia.methods.prediction._absent import AbsentClassifier
from absentia.methods.prediction._composite import Composite, CompositeClassifier
from absentia.methods.prediction._kernel_pipeline import (
    check_per_view,
    decide_approximation,
    restrict_estimator,
)

_MAX_FOLDS = 5  # of cross-validation, where a view's classifier has no leave-one-out probabilities
_MIN_CLASS_SIZE = 3  # samples of a class that a view must have to learn it: fewer cannot be split twice
_MIN_PROBABILITY = 1e-4  # no view alone rules a class out


@serializable
class FilledTable(NamedTuple):
    """A view as a table for scikit-learn: categories one-hot, gaps filled with training means."""

    coding: Coding
    means: Array

    @classmethod
    def learn(cls, X: Views) -> Any:
        coding = Coding.learn(X)
        return cls(coding, column_scales(concatenate_features(coding(X)))[0])

    def __call__(self, X: Views) -> Array:
        table = concatenate_features(self.coding.of_new(X))
        return np.where(np.isnan(table), self.means, table)


@serializable
class ViewClassifier(NamedTuple):
    """A classifier fitted to one view, which may know fewer classes than there are.

    A class that fewer than three of its samples have is not learned: it is predicted with its frequency.
    """

    estimator: Any
    known: Array  # indices of the classes that were learned
    rest: Array  # frequency of each class that was not, else 0, (n_classes,)
    table: FilledTable | None  # for estimators of scikit-learn, which take a table without gaps
    rows: Array  # positions of the samples of known classes, to which it was fitted

    @classmethod
    def fit(cls, estimator: Any, X: Any, y: Array, weight: Array, prior: Array) -> Any:
        """Fit a clone to samples that have the one view of `X`; None with fewer than two known classes."""
        counts = np.bincount(y, minlength=len(prior))
        known = np.flatnonzero(counts >= _MIN_CLASS_SIZE)
        if len(known) < 2:
            return None
        rows = np.flatnonzero(np.isin(y, known))
        estimator, part = clone(estimator), subset(X, rows, rows)
        if isinstance(estimator, Composite):  # as this estimator's samples are
            estimator._comes_ordered = True
        table = None if isinstance(estimator, Learner) else FilledTable.learn(part)
        options = {"sample_weight": weight[rows]} if has_fit_parameter(estimator, "sample_weight") else {}
        estimator.fit(part if table is None else table(part), y[rows], **options)
        return cls(estimator, known, np.where(counts >= _MIN_CLASS_SIZE, 0.0, prior), table, rows)

    def predict_proba(self, X: Any) -> Array:
        """Probabilities of all classes for samples that all have the view, rows x classes.

        Kernels are against all samples given to ``fit``.
        """
        inputs = subset(X, np.arange(len(X)), self.rows) if self.table is None else self.table(X)
        return self._expand_classes(self.estimator.predict_proba(inputs))

    def loo_proba(self, y: Array, prior: Array, groups: Array | None) -> Array:
        """Leave-one-out, or leave-one-group-out, probabilities of the samples given to ``fit``.

        Samples whose class would not be known without them, or their group, get the `prior`.
        """
        group_of = number_groups(groups)
        pairs = np.arange(len(y)) if group_of is None else group_of * len(prior) + y
        _, pair_of, counts = np.unique(pairs, return_inverse=True, return_counts=True)
        proba = np.tile(prior, (len(y), 1))
        proba[self.rows] = self._expand_classes(self.estimator.loo_proba_)
        proba[np.bincount(y)[y] - counts[pair_of] < _MIN_CLASS_SIZE] = prior
        return proba

    def _expand_classes(self, proba_of_known: Array) -> Array:
        """Probabilities of all classes from those of the known ones, n x n_classes."""
        proba = np.tile(self.rest, (len(proba_of_known), 1))
        proba[:, self.known] = (1 - self.rest.sum()) * proba_of_known
        proba = np.maximum(proba, _MIN_PROBABILITY)
        return np.asarray(proba / proba.sum(axis=1, keepdims=True))


def _cross_val_proba(estimator: Any, X: Any, y: Array, weight: Array, prior: Array) -> Array:
    """Cross-validated probabilities, n x n_classes; the prior where too few classes could be learned."""
    proba = np.tile(prior, (len(y), 1))
    n_folds = max(2, min(choose_n_folds(len(y), _MAX_FOLDS), count_fewest(y, X.groups)))
    for train, test in make_folds(np.arange(len(y)), y, n_folds, groups=X.groups):
        with warnings.catch_warnings(action="ignore"):  # the fit to all samples warns of the same
            fitted = ViewClassifier.fit(estimator, subset(X, train, train), y[train], weight[train], prior)
            if fitted is not None:
                proba[test] = fitted.predict_proba(subset(X, test, train))
    return proba


def _check_base(estimator: Any, X: Any) -> None:
    """Raise unless the estimator can be used for every view of `X`."""
    learns = hasattr(estimator, "fit") and hasattr(estimator, "predict_proba")
    if isinstance(estimator, type) or not learns:
        raise ValueError(f"estimator must be a classifier with predict_proba, not {estimator!r}")
    if isinstance(X, KernelViews) and not isinstance(estimator, Learner):  # others get tables of features
        name = type(estimator).__name__
        raise ValueError(f"{name} takes features, but kernels came; give estimator=None")


class PerViewClassifier(CompositeClassifier):
    """Base of classifiers made of one classifier per view, each learned from the samples that have it."""

    estimator: Any
    _view_classifiers: dict[
        str, ViewClassifier | None
    ]  # by view; None where fewer than two classes are known
    _columns: dict[str, Array]  # by view, the training samples that have it
    _frequencies: Array  # of the classes, by weight

    def _make_base(self, X: Any, name: str) -> Any:
        """The unfitted classifier of a view."""
        base = AbsentClassifier(None, kernel=self._kernel) if self.estimator is None else self.estimator
        _check_base(base, X)
        return restrict_estimator(base, [name])

    def _learn(self, X: Any, y: Array, weight: Array) -> None:
        check_per_view(getattr(self.estimator, "kernel", None), X.names)
        self._kernel = decide_approximation(self.kernel, X) if self.estimator is None else self.kernel
        super()._learn(X, y, weight)

    def _learn_views(self, X: Any, y: Array, weight: Array) -> None:
        self._frequencies = np.bincount(y, weight, minlength=len(self.classes_)) / weight.sum()
        self._view_classifiers, self._columns = {}, {}
        for v, name in enumerate(X.names):
            rows = np.flatnonzero(X.observed[:, v])
            view = subset(X.select([name]), rows, rows)
            self._view_classifiers[name] = ViewClassifier.fit(
                self._make_base(X, name), view, y[rows], weight[rows], self._frequencies
            )
            self._columns[name] = rows

    def _held_out_proba(self, X: Any, y: Array, weight: Array) -> Array:
        """Out-of-sample probabilities of the training samples, views x samples x classes.

        They are leave-one-out where the classifier has ``loo_proba_``, else cross-validated.
        """
        proba = np.tile(self._frequencies, (X.n_views, len(X), 1))
        for v, name in enumerate(X.names):
            classifier, rows = self._view_classifiers[name], self._columns[name]
            if classifier is not None and hasattr(classifier.estimator, "loo_proba_"):
                groups = None if X.groups is None else X.groups[rows]
                proba[v, rows] = classifier.loo_proba(y[rows], self._frequencies, groups)
            elif classifier is not None:
                view = subset(X.select([name]), rows, rows)
                base = self._make_base(X, name)
                proba[v, rows] = _cross_val_proba(base, view, y[rows], weight[rows], self._frequencies)
        return proba

    def _view_proba(self, X: Any) -> Array:
        """Probabilities of new samples, views x rows x classes; the frequencies where a view is absent."""
        proba = np.tile(self._frequencies, (X.n_views, len(X), 1))
        for v, name in enumerate(X.names):
            classifier, rows = self._view_classifiers[name], np.flatnonzero(X.observed[:, v])
            if classifier is not None and len(rows):
                view = subset(X.select([name]), rows, self._columns[name])
                proba[v, rows] = classifier.predict_proba(view)
        return proba

    def _log_odds(self, probabilities: Array) -> Array:
        """Log of probabilities over the frequencies of the classes; zero where a view is absent."""
        return np.asarray(np.log(probabilities / self._frequencies))


def softmax_rows(scores: Array) -> Array:
    """Probabilities proportional to the exponentials of scores, row by row."""
    return np.asarray(softmax(scores, axis=1))
