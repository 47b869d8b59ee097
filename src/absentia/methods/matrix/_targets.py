"""Labels and targets of which some are unknown, by probabilistic matrix addition.

Departures from the paper: kernels by EM with posterior covariance instead of plug-in; labels as -1 and +1
instead of truncated log-odds (which are a multiple of them); an optional label covariance C in the
row part.
"""

from collections.abc import Callable
from dataclasses import KW_ONLY, replace
from typing import Any, Literal, Self

import numpy as np
from scipy.special import ndtr
from sklearn.base import RegressorMixin
from sklearn.utils import ClassifierTags
from sklearn.utils.validation import check_is_fitted

from absentia.core import TIE_RTOL, Array, estimator, limit_threads_if_small
from absentia.methods.matrix._estimation import FreeParts
from absentia.methods.matrix._holdout import column_scale
from absentia.methods.matrix._row_model import RowModel, SampleKernelMixin
from absentia.methods.matrix._validation import (
    PartialTargets,
    read_numbers,
    read_partial_labels,
    read_samples,
    read_targets,
    read_truth,
)


def _decide(scores: Array, classes: Array) -> Array:
    """The second class where the score is positive; a score that is zero to rounding has the first."""
    return np.asarray(np.where(scores > TIE_RTOL, classes[1], classes[0]))


class MultiLabelMixin(SampleKernelMixin):
    """`fit`, `predict`, `predict_proba` and `score` from `_fit_labels`, `_scores` and `_probabilities`.

    These are no classifiers by scikit-learn's tags: its default splitters would look for classes in Y
    and refuse unknown labels.  So ``cv=5`` means five plain folds.
    """

    discard: bool
    _check_parameters: Callable[[], None]
    _scores: Callable[[Array], Array]
    _probabilities: Callable[[Array], Array]

    def __sklearn_tags__(self) -> Any:
        tags = super().__sklearn_tags__()
        tags.classifier_tags = ClassifierTags(multi_class=False)  # two values, in one column or several
        return tags

    def fit(self, X: Any, Y: Any) -> Self:
        """Learn from X (n, features), or a kernel (n, n), and Y (n, labels) with NaN where unknown."""
        self._check_parameters()
        table = read_samples(self, X)
        labels, classes = read_partial_labels(Y, X, len(table), self)
        with limit_threads_if_small(len(table)):
            self._fit_labels(table, labels, labels.select_rows(self.discard))
        self.classes_, self._vector, self._label_names = classes, labels.vector, labels.names
        return self

    def _fit_labels(self, X: Array, labels: PartialTargets, rows: Array) -> None:
        """Learn from these rows of X and of labels that are -1, +1 or NaN."""
        raise NotImplementedError

    def _read_new_samples(self, X: Any) -> Array:
        check_is_fitted(self, "classes_")
        return read_numbers(self, X, fit=False)

    def decision_function(self, X: Any) -> Array:
        """Scores (n, labels), positive where the label is predicted."""
        scores = self._scores(self._read_new_samples(X))
        return scores[:, 0] if self._vector else scores

    def predict(self, X: Any) -> Array:
        """Labels (n, labels), in the values they were given."""
        return _decide(self.decision_function(X), self.classes_)

    def predict_proba(self, X: Any) -> Array:
        """Probability of each label (n, labels); of the two classes (n, 2) if Y was a vector."""
        p = self._probabilities(self._read_new_samples(X))
        return np.hstack([1 - p, p]) if self._vector else p

    def score(self, X: Any, y: Any) -> float:
        """Fraction of the known labels that are predicted right."""
        predicted = self.predict(X)
        Y = read_truth(y, X, self._label_names, predicted.shape)
        known = ~np.isnan(Y)
        return float((predicted[known] == Y[known]).mean())


@estimator
class PMAClassifier(MultiLabelMixin, RowModel):
    """Multi-label classification with some labels unknown, in training and beyond.

    Parameters
    ----------
    kernel : {"rbf", "precomputed"}, default "rbf"
        With "precomputed", X is the kernel between samples: square to fit, rows of new samples
        against training samples to predict.
    gamma : "ml", "median" or float, default "ml"
        Width of the RBF kernel; "ml" has the greatest marginal likelihood of the known labels.
    col_kernel : "estimate" or array (labels, labels), default "estimate"
        Covariance of labels, as -1 and +1, within a sample.
    amplitude : "auto", "estimate" or float, default "auto"
        What the row kernel is multiplied by.  "auto" estimates it unless both kernels are given (the row
        kernel precomputed or of a `gamma` that is a number, the column kernel an array): then they stay as
        they are.
    label_covariance : "auto" or bool, default "auto"
        Also estimate a covariance of labels in the row part: labels that go together in like samples.
        "auto" does if the known labels are likelier with it (log marginal likelihood, less one for each
        number of the covariance), and does not where the row part's size is given.  False is the paper's
        model.
    inference : {"exact", "map", "gibbs"}, default "exact"
        How unknown training labels are completed; for fixed kernels all three have one answer.
    estimate : {"em", "paper"}, default "em"
        How the column kernel is estimated.  "paper" is the paper's own way, in turn with the steps of
        "map" or "gibbs" inference and without a prior, under a row kernel that stays as it is; a width by
        "ml" is still that of EM.
    n_landmarks : int or None, default None
        Landmarks of a Nystrom row kernel; None means all samples up to 4000, and 500 beyond.
    shrinkage : "auto" or float, default "auto"
        Pseudo-observations with which estimated kernels are shrunk towards a multiple of the identity;
        "auto" is 2.
    nugget : float, default 1e-3
        Least eigenvalue of an estimated column kernel, relative to the labels' variance.
    center : "auto" or bool, default "auto"
        Remove the labels' means; with False they are taken to be zero.  "auto" removes them unless the
        whole model is given, kernels and amplitude.
    discard : bool, default False
        Learn only from samples with every label known.  For comparison.
    n_samples : int, default 20
        Posterior draws by which probabilities allow for labels unknown in training, where there are too
        many for the exact amount; beyond 2,000,000 numbers (samples x labels x draws) they do not.
    tol, max_iter : float and int
        Estimation stops when kernels move by less than `tol` (relative).
    random_state : int, Generator, RandomState or None, default None
        Of landmarks and draws.  None: the fixed seed 0.
    verbose : bool, default False
        Write a line to stderr every other second, and one at the end.

    Attributes
    ----------
    labels_ : ndarray (n, labels)
        The training labels, completed.
    scores_ : ndarray (n, labels)
        Expected labels, between -1 and 1 or a little beyond; known ones as given.
    label_covariance_ : bool
        Whether a covariance of labels was estimated.
    label_covariance_curve_ : dict
        Log-likelihood without and with one, less the cost of its numbers; if "auto" tried both.
    gamma_, gamma_curve_ : float, list of (gamma, log-likelihood)
    model_ : absentia.methods.matrix._model.KroneckerGaussian
    diagnostics_ : dict
        As in :class:`PMAImputer`.
    n_iter_, kernel_changes_, converged_, status_ : int, ndarray, bool, str
        As in :class:`PMAImputer`.

    Examples
    --------
    >>> from sklearn.datasets import make_multilabel_classification
    >>> X, Y = make_multilabel_classification(80, 5, n_classes=3, random_state=0)
    >>> Y = np.where(np.random.default_rng(0).random(Y.shape) < 0.3, np.nan, Y)
    >>> model = PMAClassifier(random_state=0).fit(X, Y)
    >>> model.labels_.shape, model.predict_proba(X[:2]).shape
    ((80, 3), (2, 3))
    """

    def fit(self, X: Any, Y: Any) -> Self:
        """Learn from X (n, features), or a kernel (n, n), and Y (n, labels) with NaN where unknown."""
        super().fit(X, Y)
        completed = _decide(self.scores_, self.classes_)
        self.labels_ = completed[:, 0] if self._vector else completed
        return self

    def _fit_labels(self, X: Array, labels: PartialTargets, rows: Array) -> None:
        self.scores_ = self._fit(X, labels, rows, np.ones(labels.values.shape[1]))

    def _scores(self, X: Array) -> Array:
        return self._mean(X)

    def _probabilities(self, X: Array) -> Array:
        mean, variance = self._distribution(X)
        return np.asarray(ndtr(mean / np.sqrt(variance)))


class _FreeCovarianceClassifier(PMAClassifier):
    """A classifier whose covariance of labels is always estimated."""

    def _label_covariances(self, m: int) -> tuple[bool, ...]:
        return (False,)  # nothing is to be chosen

    def _check(self) -> None:
        given = not (isinstance(self.col_kernel, str) and isinstance(self.amplitude, str))
        if given or self.label_covariance is True or self.estimate != "em":
            raise ValueError(
                f"{type(self).__name__} always estimates its own covariance of labels; leave col_kernel, "
                "amplitude, label_covariance and estimate as they are, or use PMAClassifier"
            )


@estimator
class MatrixLMC(_FreeCovarianceClassifier):
    """Intrinsic model of coregionalization: row kernel times label covariance, plus noise.

    Parameters
    ----------
    col_kernel, amplitude, label_covariance, estimate
        The labels' covariance and its size are always estimated, by EM, and cannot be given.
    kernel, gamma, inference, n_landmarks, shrinkage, nugget, center
        As in :class:`PMAClassifier`.
    discard, n_samples, tol, max_iter, random_state, verbose
        As in :class:`PMAClassifier`.

    Examples
    --------
    >>> X = np.linspace(0, 1, 20)[:, None]
    >>> Y = np.hstack([X > 0.5, X < 0.5]).astype(float)
    >>> Y[3, 0] = np.nan
    >>> MatrixLMC(random_state=0).fit(X, Y).labels_[3]
    array([0., 1.])
    """

    def _free_parts(self) -> FreeParts:
        return FreeParts(C="free", noise_only=True)


@estimator
class LabelGP(_FreeCovarianceClassifier):
    """A Gaussian process for every label, with one kernel width and amplitudes and noises of their own.

    Parameters
    ----------
    kernel, gamma, inference, n_landmarks, shrinkage, nugget, center, discard, n_samples
        As in :class:`PMAClassifier`.
    tol, max_iter, random_state, verbose
        As in :class:`PMAClassifier`.
    col_kernel, amplitude, label_covariance, estimate
        Have no place in it, and cannot be given.

    Examples
    --------
    >>> X = [[0.0], [0.1], [0.2], [0.7], [0.8], [0.9]]
    >>> LabelGP(random_state=0).fit(X, [0.0, 0.0, 0.0, 1.0, 1.0, 1.0]).predict([[0.85]])
    array([1.])
    """

    def _free_parts(self) -> FreeParts:
        return FreeParts(C="free", diagonal=True)


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
    kernel, gamma, col_kernel, amplitude, inference, estimate, n_landmarks, shrinkage
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
    model_ : absentia.methods.matrix._model.KroneckerGaussian
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
        rows = targets.select_rows(self.discard)
        self._vector, self._target_names = targets.vector, targets.names
        self.scale_ = column_scale(Y) if self.standardize else np.ones(Y.shape[1])
        scaled = replace(targets, values=Y / self.scale_)
        with limit_threads_if_small(len(table)):
            completed = self._fit(table, scaled, rows, self.scale_) * self.scale_
        completed = np.where(np.isnan(Y), completed, Y)
        self.completed_ = completed[:, 0] if self._vector else completed
        return self

    def predict(self, X: Any, return_std: bool = False) -> Any:
        """Expected targets of new samples, and their standard deviations if asked for."""
        check_is_fitted(self, "completed_")
        X = read_numbers(self, X, fit=False)
        columns = np.s_[:, 0] if self._vector else np.s_[:]
        if not return_std:
            return (self._mean(X) * self.scale_)[columns]
        mean, variance = self._distribution(X)
        return (mean * self.scale_)[columns], (np.sqrt(variance) * self.scale_)[columns]

    def score(self, X: Any, y: Any) -> float:
        """R^2 over the known targets, averaged over the columns that have any."""
        predicted = np.asarray(self.predict(X))
        Y = read_truth(y, X, self._target_names, predicted.shape)
        predicted, Y = predicted.reshape(len(Y), -1), Y.reshape(len(Y), -1)
        known = ~np.isnan(Y).all(axis=0)
        predicted, Y = predicted[:, known], Y[:, known]
        residual = np.nansum((Y - predicted) ** 2, axis=0)
        total = np.nansum((Y - np.nanmean(Y, axis=0)) ** 2, axis=0)
        return float((1 - residual / np.where(total > 0, total, 1.0)).mean())
