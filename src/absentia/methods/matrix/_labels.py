"""Labels of which some are unknown: reading them, and what all multi-label classifiers share."""

from dataclasses import dataclass
from typing import Any

import numpy as np
from sklearn.utils import ClassifierTags
from sklearn.utils.validation import check_array, check_is_fitted

from absentia.core import TIE, Array
from absentia.data import canonical
from absentia.methods.matrix._checks import check_columns, check_names, names_of, read_table


@dataclass(frozen=True)
class Targets:
    """Y (n, m), NaN where unknown; whether it came as a vector; names of its columns if it had any."""

    values: Array
    vector: bool
    names: Array | None


@dataclass(frozen=True)
class Labels:
    """Y as -1, +1 and NaN (n, m); the two values it had; whether it was a vector; its columns' names."""

    signs: Array
    classes: Array
    vector: bool
    names: Array | None = None


def read_targets(Y: Any, X: Any, n: int, estimator: Any) -> Targets:
    """Real targets of the n samples in X, NaN where unknown; something known in every column."""
    if Y is None:
        raise ValueError(
            f"{type(estimator).__name__} requires y to be passed, but the target y is None; pass (samples, "
            "targets), NaN where unknown"
        )
    names = names_of(Y, 1)
    check_names("the rows of Y", names_of(Y, 0), "those of X", names_of(X, 0), "Y.loc[X.index]")
    values = check_array(
        Y, dtype=np.float64, ensure_2d=False, ensure_all_finite=False, ensure_min_samples=0, input_name="Y"
    )
    vector = values.ndim == 1
    values = np.array(values[:, None] if vector else values)
    if values.ndim != 2 or len(values) != n:
        raise ValueError(f"Y has shape {values.shape} for {n} samples; pass one row for each sample")
    if np.isinf(values).any():
        i, j = np.argwhere(np.isinf(values))[0]
        raise ValueError(
            f"Input Y contains infinity or a value too large for dtype('float64'): sample {i}, column "
            f"{j if names is None else repr(names[j])}; unknown entries are NaN"
        )
    check_columns("Y", values, names)
    return Targets(values, vector, names)


def read_labels(Y: Any, X: Any, n: int, estimator: Any) -> Labels:
    """Labels of two values (0 and 1, or -1 and +1), NaN where unknown."""
    targets = read_targets(Y, X, n, estimator)
    values = targets.values
    classes = np.unique(values[~np.isnan(values)])
    if len(classes) > 2:
        raise ValueError(
            f"Y has values {classes[:5]}; pass 0 and 1 (or -1 and 1), a column per label, NaN where unknown"
        )
    if len(classes) == 1:
        classes = np.array([0.0, 1.0]) if classes[0] in (0.0, 1.0) else np.array([-1.0, 1.0])
    signs = np.where(np.isnan(values), np.nan, np.where(values == classes[1], 1.0, -1.0))
    return Labels(signs, classes, targets.vector, targets.names)


def to_learn_from(Y: Array, discard: bool) -> Array:
    """Indices of the samples to learn from: all, or those with every label or target known."""
    rows = np.flatnonzero(~np.isnan(Y).any(axis=1)) if discard else np.arange(len(Y))
    if not len(rows):
        raise ValueError("discard=True leaves no sample: every one has an unknown label or target")
    return rows


def sample_order(X: Array, signs: Array) -> tuple[Array, Array]:
    """The order of ``_order`` of samples and of features."""
    sizes = len(X), signs.shape[1], X.shape[1]
    rows, _, features = canonical(sizes, [(X, (0, 2)), (signs, (0, 1))])
    return rows, features


def read_truth(Y: Any, X: Any, names: Array | None, shape: tuple[int, ...]) -> Array:
    """Targets to compare predictions of X with, of the columns of the fit."""
    check_names("the rows of Y", names_of(Y, 0), "those of X", names_of(X, 0), "Y.loc[X.index]")
    check_names("the columns of Y", names_of(Y, 1), "those of the fit", names, "them in that order")
    Y = np.asarray(Y, dtype=float)
    if Y.shape != shape:
        raise ValueError(f"Y has shape {Y.shape}, the predictions {shape}; pass one row for each sample")
    if np.isnan(Y).all():
        raise ValueError("Y has no known entry to compare predictions with")
    return Y


def chosen(scores: Array, classes: Array) -> Array:
    """The second class where the score is positive; a score that is zero to rounding has the first."""
    return np.asarray(np.where(scores > TIE, classes[1], classes[0]))


class MultiLabelMixin:
    """`predict`, `predict_proba` and `score` from a `_positive(X)`: scores and probabilities (n, m).

    These are no classifiers by scikit-learn's tags: its default splitters would look for classes in Y
    and refuse unknown labels.  So ``cv=5`` means five plain folds.
    """

    classes_: Array
    n_features_in_: int
    _vector: bool
    _label_names: Array | None

    def __sklearn_tags__(self) -> Any:
        tags = super().__sklearn_tags__()  # type: ignore[misc]
        tags.classifier_tags = ClassifierTags(multi_class=False)  # two values, in one column or several
        tags.target_tags.required = tags.target_tags.multi_output = True
        return tags

    def _remember(self, labels: Labels) -> None:
        self.classes_, self._vector, self._label_names = labels.classes, labels.vector, labels.names

    def _read(self, X: Any) -> Array:
        check_is_fitted(self, "classes_")
        return read_table(self, X, fit=False)

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
        return chosen(self.decision_function(X), self.classes_)

    def predict_proba(self, X: Any) -> Array:
        """Probability of each label (n, labels); of the two classes (n, 2) if Y was a vector."""
        p = self._probabilities(self._read(X))
        return np.hstack([1 - p, p]) if self._vector else p

    def score(self, X: Any, y: Any) -> float:
        """Share of the known labels that are predicted right."""
        found = self.predict(X)
        Y = read_truth(y, X, self._label_names, found.shape)
        known = ~np.isnan(Y)
        return float((found[known] == Y[known]).mean())
