"""One support vector machine per label, on the samples whose label is known."""

from dataclasses import KW_ONLY
from typing import Any, Literal, Self

import numpy as np
from sklearn.svm import SVC

from absentia.core import Array, Estimator, Positive, estimator
from absentia.data import canonical
from absentia.methods.matrix._base import OfSamples
from absentia.methods.matrix._checks import read_samples
from absentia.methods.matrix._labels import MultiLabelMixin, read_labels, sample_order, to_learn_from


@estimator
class PartialLabelSVM(MultiLabelMixin, OfSamples, Estimator):
    """One support vector machine per label, each on the samples whose label is known.

    Scores are distances to the margin; probabilities are their logistic function, not calibrated.

    Parameters
    ----------
    C : float, default 1.0
        Weight of errors against the margin.
    kernel : {"rbf", "linear", "poly", "sigmoid", "precomputed"}, default "rbf"
        As scikit-learn's :class:`~sklearn.svm.SVC`; with "precomputed", X is the kernel between samples.
    gamma : "scale", "auto" or float, default "scale"
        Width of the kernel, as scikit-learn's :class:`~sklearn.svm.SVC`.
    discard : bool, default False
        Learn only from samples with every label known.

    Examples
    --------
    >>> X = np.linspace(0, 1, 40)[:, None]
    >>> Y = np.hstack([X > 0.5, X < 0.5]).astype(float)
    >>> Y[:5, 0] = np.nan
    >>> PartialLabelSVM().fit(X, Y).predict([[0.9]])
    array([[1., 0.]])
    """

    C: Positive = 1.0
    _: KW_ONLY
    kernel: Literal["rbf", "linear", "poly", "sigmoid", "precomputed"] = "rbf"
    gamma: Positive | Literal["scale", "auto"] = "scale"
    discard: bool = False

    def fit(self, X: Any, Y: Any) -> Self:
        """Learn from X and Y (n, labels) with NaN where unknown."""
        self._check_parameters()
        table = read_samples(self, X)
        labels = read_labels(Y, X, len(table), self)
        rows = to_learn_from(labels.signs, self.discard)
        signs = labels.signs[rows]
        if self.kernel == "precomputed":
            order, _ = canonical(signs.shape, [(signs, (0, 1)), (table[np.ix_(rows, rows)], (0, 0))])
            self._columns = np.arange(len(table))
        else:
            order, self._columns = sample_order(table[rows], signs)
        self._fit_each(table[:, self._columns], labels.signs, rows[order])
        self._remember(labels)
        return self

    def _fit_each(self, X: Array, signs: Array, rows: Array) -> None:
        """One machine for each label, or the label itself where all that is known is the same."""
        self._models: list[tuple[Any, Array]] = []
        for j in range(signs.shape[1]):
            use = rows[~np.isnan(signs[rows, j])]
            y = signs[use, j]
            if len(np.unique(y)) < 2:
                self._models.append((float(y[0]) if len(y) else -1.0, use))
                continue
            data = X[np.ix_(use, use)] if self.kernel == "precomputed" else X[use]
            machine = SVC(C=self.C, kernel=self.kernel, gamma=self.gamma, tol=1e-6, random_state=0)
            self._models.append((machine.fit(data, y), use))

    def _scores(self, X: Array) -> Array:
        columns, X = [], X[:, self._columns]
        for model, use in self._models:
            data = X[:, use] if self.kernel == "precomputed" else X
            sure = isinstance(model, float)
            columns.append(np.full(len(X), model) if sure else model.decision_function(data))
        return np.column_stack(columns)

    def _probabilities(self, X: Array) -> Array:
        return np.asarray(1 / (1 + np.exp(-2 * self._scores(X))))
