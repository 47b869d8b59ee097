"""Labels of which some are unknown: reading them, and what all multi-label classifiers share."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np
from sklearn.utils.validation import check_array, check_is_fitted

from absentia.linalg import Array


@dataclass(frozen=True)
class Labels:
    """Y as -1, +1 and NaN (n, m); the two values it had; whether it came as a vector."""

    signs: Array
    classes: Array
    vector: bool

    @property
    def observed(self) -> Array:
        return ~np.isnan(self.signs)


def read_targets(Y: Any, n: int) -> tuple[Array, bool]:
    """Real targets (n, m) with NaN where unknown, and whether they came as a vector."""
    Y = np.asarray(Y, dtype=float)
    vector = Y.ndim == 1
    Y = Y[:, None] if vector else Y
    if Y.ndim != 2 or len(Y) != n:
        raise ValueError(f"Y has shape {Y.shape} for {n} samples; pass one row for each sample")
    if np.isinf(Y).any():
        i, j = np.argwhere(np.isinf(Y))[0]
        raise ValueError(f"Y: sample {i}, column {j} is infinite; unknown entries are NaN")
    unknown = np.isnan(Y).all(axis=0)
    if unknown.any():
        raise ValueError(f"Y: column {int(unknown.argmax())} is unknown for every sample; drop it")
    return Y, vector


def read_labels(Y: Any, n: int) -> Labels:
    """Labels of two values (0 and 1, or -1 and +1), NaN where unknown."""
    values, vector = read_targets(Y, n)
    classes = np.unique(values[~np.isnan(values)])
    if len(classes) > 2:
        raise ValueError(
            f"Y has values {classes[:5]}; pass 0 and 1 (or -1 and 1), a column per label, NaN where unknown"
        )
    if len(classes) == 1:
        classes = np.array([0.0, 1.0]) if classes[0] in (0.0, 1.0) else np.array([-1.0, 1.0])
    signs = np.where(np.isnan(values), np.nan, np.where(values == classes[1], 1.0, -1.0))
    return Labels(signs, classes, vector)


def kept(labels: Labels, discard: bool) -> Array:
    """Indices of the samples to learn from: all, or those with every label known."""
    rows = np.flatnonzero(labels.observed.all(axis=1)) if discard else np.arange(len(labels.signs))
    if not len(rows):
        raise ValueError("discard=True leaves no sample: every one has an unknown label")
    return rows


def check_features(X: Any) -> Array:
    return np.asarray(check_array(X, dtype=np.float64))


class MultiLabelMixin:
    """`predict`, `predict_proba` and `score` from a `_positive(X)`: scores and probabilities (n, m).

    These are no classifiers by scikit-learn's tags: its default splitters would look for classes in Y
    and refuse unknown labels.  So ``cv=5`` means five plain folds.
    """

    classes_: Array
    n_features_in_: int
    _vector: bool

    def _remember(self, X: Array, labels: Labels) -> None:
        self.classes_, self._vector = labels.classes, labels.vector
        self.n_features_in_ = X.shape[1]

    def _read(self, X: Any) -> Array:
        check_is_fitted(self, "classes_")
        X = check_features(X)
        if X.shape[1] != self.n_features_in_:
            raise ValueError(
                f"X has {X.shape[1]} columns; {type(self).__name__} was fitted with {self.n_features_in_}"
            )
        return X

    def _scores(self, X: Array) -> Array:
        raise NotImplementedError

    def _probabilities(self, X: Array) -> Array:
        raise NotImplementedError

    def decision_function(self, X: Any) -> Array:
        """Scores (n, labels), positive where the label is predicted."""
        scores = self._scores(self._read(X))
        return scores[:, 0] if self._vector else scores

    def predict(self, X: Any) -> Array:
        """Labels (n, labels), in the values they were given."""
        return np.asarray(np.where(self.decision_function(X) > 0, self.classes_[1], self.classes_[0]))

    def predict_proba(self, X: Any) -> Array:
        """Probability of each label (n, labels); of the two classes (n, 2) if Y was a vector."""
        p = self._probabilities(self._read(X))
        return np.hstack([1 - p, p]) if self._vector else p

    def score(self, X: Any, Y: Any) -> float:
        """Share of the known labels that are predicted right."""
        Y, found = np.asarray(Y, dtype=float), self.predict(X)
        known = ~np.isnan(Y)
        return float((found[known] == Y[known]).mean())
