"""Several labels per sample, some unknown: one classifier per label, on samples whose label is known."""

from dataclasses import KW_ONLY
from typing import Any, Self

import numpy as np
from sklearn.base import clone
from sklearn.pipeline import make_pipeline
from sklearn.utils.validation import check_is_fitted

from absentia.core import Array, Estimator, estimator, serializable
from absentia.data import KernelViews, Views, count_groups
from absentia.kernels import ViewKernels
from absentia.methods import catalogue
from absentia.methods.learning import subset

_MIN_CLASS_SIZE = 3  # samples with a view, with and without a label: fewer cannot be held out


@serializable
class LabelClassifier:
    """A classifier of one label, the samples that it learned from, and the label's frequency among them."""

    def __init__(self, classifier: Any, rows: Array, frequency: float) -> None:
        self.classifier, self.rows, self.frequency = classifier, rows, frequency

    def predict_proba(self, X: Views | KernelViews) -> Array:
        """That samples have the label; how frequent it is, where nothing could be learned."""
        if self.classifier is None:
            return np.full(len(X), self.frequency)
        rows = subset(X, np.arange(len(X)), self.rows)
        return np.asarray(self.classifier.predict_proba(rows)[:, 1])


@estimator
class PerLabel(Estimator):
    """One classifier per label, each learned from the samples whose label is known.

    Takes :class:`Views` or square :class:`KernelViews`, and labels that are 1, 0 or NaN.

    Parameters
    ----------
    estimator : str or classifier, default "cvkt-svm"
        Name of a classifier (``absentia fit --list``), its C selected on held-out samples if it has one, or
        a classifier of absentia that has ``predict_proba``, which is taken as it is.
    kernel : str or ViewKernels, default "rbf"
        Of features; ``"precomputed"`` says that kernels will come.

    Attributes
    ----------
    labels_ : list
        The classifiers, in the order of the labels.

    Examples
    --------
    >>> from absentia import PerLabel, datasets
    >>> views, y = datasets.load_digit_views(n_samples=60, return_X_y=True)
    >>> Y = np.column_stack([y < 5, y % 2]).astype(float)
    >>> Y[:10, 0] = np.nan
    >>> PerLabel("average").fit(views, Y).predict(views[:3]).shape
    (3, 2)
    """

    estimator: Any = "cvkt-svm"
    _: KW_ONLY
    kernel: Any = "rbf"

    def fit(self, X: Views | KernelViews, Y: Any) -> Self:
        """Learn from samples and Y (samples, labels), NaN where unknown."""
        self._check_parameters()
        X.check_order(Y, "Y")
        Y = np.asarray(Y, dtype=np.float64)
        if Y.ndim != 2 or len(Y) != len(X) or not (np.isnan(Y) | (Y == 0) | (Y == 1)).all():
            raise ValueError(
                f"Y has shape {Y.shape} for {len(X)} samples; pass 1, 0 or NaN, samples x labels"
            )
        self.labels_ = [self._fit_label(X, column) for column in Y.T]
        return self

    def _fit_label(self, X: Any, column: Array) -> LabelClassifier:
        rows = np.flatnonzero(~np.isnan(column))
        y = column[rows].astype(int)
        frequency = float(y.mean()) if len(y) else 0.5
        seen = X.observed[rows].any(axis=1)
        parts = [rows[seen & (y == k)] for k in (0, 1)]
        enough = min(map(len, parts)) >= _MIN_CLASS_SIZE
        if not enough or min(count_groups(X.groups, part) for part in parts) < 2:
            return LabelClassifier(None, rows, frequency)
        classifier = self._make_classifier(X)
        return LabelClassifier(classifier.fit(subset(X, rows, rows), y), rows, frequency)

    def _make_classifier(self, X: Any) -> Any:
        """An unfitted classifier with probabilities, after ViewKernels if it takes kernels."""
        if isinstance(self.estimator, str):
            classifier = self._make_by_name(self.estimator, X)
        else:
            classifier = clone(self.estimator)
        if isinstance(X, KernelViews) or not classifier.__sklearn_tags__().input_tags.pairwise:
            return classifier
        kernel = self.kernel if isinstance(self.kernel, ViewKernels) else ViewKernels(self.kernel)
        return make_pipeline(clone(kernel), classifier)

    def _make_by_name(self, name: str, X: Any) -> Any:
        entry = catalogue.find(name, "classifier")
        classifier = entry.make()
        parameters = classifier.get_params()
        if "probability" in parameters:
            classifier.set_params(probability=True)
        if "kernel" in parameters and isinstance(X, KernelViews):
            classifier.set_params(kernel="precomputed")
        elif "kernel" in parameters and "kernel" not in entry.fixed:
            classifier.set_params(kernel=self.kernel)
        return classifier

    def predict_proba(self, X: Views | KernelViews) -> Array:
        """Probabilities of each label, samples x labels."""
        check_is_fitted(self, "labels_")
        return np.column_stack([label.predict_proba(X) for label in self.labels_])

    def predict(self, X: Views | KernelViews) -> Array:
        """1 where a label is likelier than not."""
        return (self.predict_proba(X) > 0.5).astype(np.float64)
