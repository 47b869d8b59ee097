"""Several labels per sample, some unknown: one classifier per label, on samples whose label is known."""

from dataclasses import KW_ONLY
from typing import Any, Self

import numpy as np
from sklearn.base import clone
from sklearn.utils.validation import check_is_fitted

from absentia.core import Array, Estimator, estimator, serializable
from absentia.data import KernelViews, Views, kernel_profiles, sample_order
from absentia.kernels import ViewKernels
from absentia.methods import catalogue
from absentia.methods.models import Model
from absentia.methods.prediction._selection import select_C

FEWEST = 3  # samples with and without a label: fewer cannot be held out


@serializable
class OneLabel:
    """A classifier of one label, whom it has learned from, and how frequent the label is among them."""

    def __init__(self, model: Model | None, rows: Array, share: float) -> None:
        self.model, self.rows, self.share = model, rows, share

    def probabilities(self, X: Views | KernelViews) -> Array:
        """That samples have the label; how frequent it is, where nothing could be learned."""
        if self.model is None:
            return np.full(len(X), self.share)
        own = X if isinstance(X, Views) else X[np.ix_(np.arange(len(X)), self.rows)]
        return np.asarray(self.model.predict_proba(own)[:, 1])


@estimator
class PerLabel(Estimator):
    """One classifier per label, each learned from the samples whose label is known.

    Takes :class:`Views` or square :class:`KernelViews`, and labels that are 1, 0 or NaN.

    Parameters
    ----------
    estimator : str or classifier, default "cvkt-svm"
        Name of a classifier (``absentia fit --list``), whose C is chosen on held-out samples if it has one,
        or a classifier of absentia that has ``predict_proba``, which is taken as it is.
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
        X.demand_order(Y, "Y")
        Y = np.asarray(Y, dtype=np.float64)
        if Y.ndim != 2 or len(Y) != len(X) or not (np.isnan(Y) | (Y == 0) | (Y == 1)).all():
            raise ValueError(
                f"Y has shape {Y.shape} for {len(X)} samples; pass 1, 0 or NaN, samples x labels"
            )
        self.labels_ = [self._one(X, column) for column in Y.T]
        return self

    def _one(self, X: Any, column: Array) -> OneLabel:
        rows = np.flatnonzero(~np.isnan(column))
        y = column[rows].astype(int)
        share = float(y.mean()) if len(y) else 0.5
        if min(y.sum(), (1 - y).sum()) < FEWEST:
            return OneLabel(None, rows, share)
        part = X[rows] if isinstance(X, Views) else X[np.ix_(rows, rows)]
        return OneLabel(self._learned(part, y), rows, share)

    def _learned(self, X: Any, y: Array) -> Model:
        classifier = self._made(X)
        if not classifier.__sklearn_tags__().input_tags.pairwise:
            return Model(classifier.fit(X, y))
        if isinstance(X, KernelViews):
            return Model(self._priced(classifier, X, y).fit(X, y))
        makes = clone(self.kernel) if isinstance(self.kernel, ViewKernels) else ViewKernels(self.kernel)
        kernels = makes.fit_transform(X)
        return Model(self._priced(classifier, kernels, y).fit(kernels, y), makes)

    def _priced(self, classifier: Any, K: KernelViews, y: Array) -> Any:
        """A machine that goes by name with its C chosen, as those do that choose their own."""
        if not isinstance(self.estimator, str) or "C" not in classifier.get_params():
            return classifier
        order = sample_order(kernel_profiles(K), K.observed, y)
        machine = clone(classifier)
        if "probability" in machine.get_params():
            machine.set_params(probability=False)
        C = select_C(machine, K[np.ix_(order, order)], y[order], np.ones(len(y)))
        return classifier.set_params(C=C)

    def _made(self, X: Any) -> Any:
        """An unfitted classifier with probabilities, and with these kernels if it makes its own."""
        if not isinstance(self.estimator, str):
            return clone(self.estimator)
        entry = catalogue.find(self.estimator, "classifier")
        made = entry.make()
        has = made.get_params()
        if "probability" in has:
            made.set_params(probability=True)
        if "kernel" in has and isinstance(X, KernelViews):
            made.set_params(kernel="precomputed")
        elif "kernel" in has and "kernel" not in entry.fixed:
            made.set_params(kernel=self.kernel)
        return made

    def predict_proba(self, X: Views | KernelViews) -> Array:
        """Chances of each label, samples x labels."""
        check_is_fitted(self, "labels_")
        return np.column_stack([one.probabilities(X) for one in self.labels_])

    def predict(self, X: Views | KernelViews) -> Array:
        """1 where a label is likelier than not."""
        return (self.predict_proba(X) > 0.5).astype(np.float64)
