"""Multi-label classifiers that probabilistic matrix addition is compared with.

* `MatrixLMC`: the intrinsic model of coregionalization, ``K2 (x) K1 + noise``; exact, as PMA.
* `LabelGP`: a Gaussian process for every label, none knowing of the others.
* `PartialLabelSVM`: a support vector machine for every label, on the samples whose label is known.
* `MLKNN`: M.-L. Zhang and Z.-H. Zhou, "ML-KNN: a lazy learning approach to multi-label learning", Pattern
  Recognition 40 (2007).
* `IBLR`: W. Cheng and E. Huellermeier, "Combining instance-based learning and logistic regression for
  multilabel classification", Machine Learning 76 (2009).

All take Y with NaN where unknown.  Rows and columns are put in their canonical order first, so that no
answer depends on the order in which they came: not which of equally near neighbours counts.

Departures from the papers: they know no unknown labels; here neighbours count where their label is known.
``discard=True`` learns from samples with every label known instead.  `IBLR`'s logistic regressions have an
L2 penalty (``C=1``, as scikit-learn's), where the paper maximises the likelihood, which has no maximum when
labels can be separated; a large `C` comes near that.
"""

from dataclasses import KW_ONLY
from typing import Any, Literal, Self

import numpy as np
from sklearn.linear_model import LogisticRegression
from sklearn.svm import SVC

from absentia.core import TIE_RTOL, Array, Estimator, Positive, PositiveInt, estimator
from absentia.core.linalg import squared_distances
from absentia.data import order_tables
from absentia.methods.matrix._base import SampleKernelMixin
from absentia.methods.matrix._estimation import FreeParts
from absentia.methods.matrix._targets import MultiLabelMixin, PMAClassifier
from absentia.methods.matrix._validation import read_labels, read_samples, read_table, select_training_rows

#: Numbers in a block of distances.
_BLOCK_NUMBERS = 10_000_000


# ------------------------------------------------------------------------------ other covariances of labels


class _FreeCovarianceClassifier(PMAClassifier):
    """A classifier whose covariance of labels is always estimated."""

    def _label_covariances(self, m: int) -> tuple[bool, ...]:
        return (self.label_covariance is True,)

    def _check(self) -> None:
        super()._check()
        if not (isinstance(self.col_kernel, str) and isinstance(self.amplitude, str)):
            raise ValueError(
                f"{type(self).__name__} always estimates the covariance of labels; leave col_kernel and "
                "amplitude as they are, or use PMAClassifier"
            )


@estimator
class MatrixLMC(_FreeCovarianceClassifier):
    """Intrinsic model of coregionalization: row kernel times label covariance, plus noise.

    Parameters
    ----------
    col_kernel, amplitude, label_covariance
        Without effect: the labels' covariance and its size are always estimated, and cannot be given.
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
    col_kernel, amplitude, label_covariance
        Have no place in it, and cannot be given.

    Examples
    --------
    >>> X = [[0.0], [0.1], [0.2], [0.7], [0.8], [0.9]]
    >>> LabelGP(random_state=0).fit(X, [0.0, 0.0, 0.0, 1.0, 1.0, 1.0]).predict([[0.85]])
    array([1.])
    """

    def _check(self) -> None:
        super()._check()
        if self.label_covariance is True:
            raise ValueError(
                "LabelGP knows of no covariance between labels; label_covariance must not be True"
            )

    def _free_parts(self) -> FreeParts:
        return FreeParts(C="free", diagonal=True)


# ---------------------------------------------------------------------------------- support vector machines


@estimator
class PartialLabelSVM(MultiLabelMixin, SampleKernelMixin, Estimator):
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
        labels, classes = read_labels(Y, X, len(table), self)
        rows = select_training_rows(labels.values, self.discard)
        signs = labels.values[rows]
        if self.kernel == "precomputed":
            order, _ = order_tables(signs.shape, [(signs, (0, 1)), (table[np.ix_(rows, rows)], (0, 0))])
            self._columns = np.arange(len(table))
        else:
            order, self._columns = _order_samples(table[rows], signs)
        self._fit_each(table[:, self._columns], labels.values, rows[order])
        self._set_labels(labels, classes)
        return self

    def _fit_each(self, X: Array, signs: Array, rows: Array) -> None:
        """One machine for each label, or the label itself where all that is known is the same."""
        self._models: list[tuple[Any, Array]] = []
        for j in range(signs.shape[1]):
            known = rows[~np.isnan(signs[rows, j])]
            y = signs[known, j]
            if len(np.unique(y)) < 2:
                self._models.append((float(y[0]) if len(y) else -1.0, known))
                continue
            data = X[np.ix_(known, known)] if self.kernel == "precomputed" else X[known]
            machine = SVC(C=self.C, kernel=self.kernel, gamma=self.gamma, tol=1e-6, random_state=0)
            self._models.append((machine.fit(data, y), known))

    def _scores(self, X: Array) -> Array:
        columns, X = [], X[:, self._columns]
        for model, known in self._models:
            data = X[:, known] if self.kernel == "precomputed" else X
            constant = isinstance(model, float)
            columns.append(np.full(len(X), model) if constant else model.decision_function(data))
        return np.column_stack(columns)

    def _probabilities(self, X: Array) -> Array:
        return np.asarray(1 / (1 + np.exp(-2 * self._scores(X))))


# --------------------------------------------------------------------------------------- nearest neighbours


def _find_neighbors(A: Array, B: Array, k: int, exclude_self: bool = False) -> Array:
    """Indices of the k rows of B nearest to each row of A (len(A), k).

    With `exclude_self`, A is B and no row is its own neighbour.  Rows at the same distance, to
    :data:`~.core.TIE`, count in the order of B.
    """
    center = B.mean(axis=0)  # distances are differences of squares: the smaller, the more exact
    A, B = A - center, B - center
    n, largest = len(B), np.einsum("ij,ij->i", B, B).max(initial=0.0)
    n_rows = max(1, _BLOCK_NUMBERS // n)
    neighbors = []
    for first in range(0, len(A), n_rows):
        block = A[first : first + n_rows]
        D = squared_distances(block, B)
        if exclude_self:
            D[np.arange(len(D)), first + np.arange(len(D))] = np.inf
        kth = np.partition(D, k - 1, axis=1)[:, [k - 1]]
        band = TIE_RTOL * (np.einsum("ij,ij->i", block, block)[:, None] + largest)
        # nearer than the k-th, tied with it, farther: within each, by position
        rank = np.where(kth - band > D, 0, np.where(kth + band >= D, 1, 2)) * n + np.arange(n)
        neighbors.append(np.argpartition(rank, k - 1, axis=1)[:, :k])
    return np.concatenate(neighbors)


def _order_samples(X: Array, signs: Array) -> tuple[Array, Array]:
    """The canonical order of samples and of features."""
    sizes = len(X), signs.shape[1], X.shape[1]
    rows, _, features = order_tables(sizes, [(X, (0, 2)), (signs, (0, 1))])
    return rows, features


@estimator
class _NeighborsClassifier(MultiLabelMixin, Estimator):
    """Classifiers that look at the known labels of the nearest training samples."""

    n_neighbors: PositiveInt = 10
    _: KW_ONLY
    discard: bool = False

    def fit(self, X: Any, Y: Any) -> Self:
        """Learn from X (n, features) and Y (n, labels) with NaN where unknown."""
        self._check_parameters()
        table = read_table(self, X, fit=True)
        labels, classes = read_labels(Y, X, len(table), self)
        rows = select_training_rows(labels.values, self.discard)
        self._k = min(self.n_neighbors, len(rows) - 1)
        if self._k < 1:
            raise ValueError(f"{len(rows)} sample(s) to learn from have no neighbours; two are needed")
        order = _order_samples(table[rows], labels.values[rows])[0]
        self._X, self._signs = table[rows][order], labels.values[rows][order]
        self._learn(_find_neighbors(self._X, self._X, self._k, exclude_self=True))
        self._set_labels(labels, classes)
        return self

    def _learn(self, neighbors: Array) -> None:
        raise NotImplementedError

    def _find_neighbors(self, X: Array) -> Array:
        return _find_neighbors(X, self._X, self._k)

    def _scores(self, X: Array) -> Array:
        return self._probabilities(X) - 0.5

    def _fractions(self, neighbors: Array, prior: Array) -> Array:
        """Fraction of the known neighbours that have each label; where none is known, `prior`."""
        among = self._signs[neighbors]
        positive, known = (among > 0).sum(axis=1), (~np.isnan(among)).sum(axis=1)
        return np.where(known > 0, positive / np.maximum(known, 1), prior)


@estimator
class MLKNN(_NeighborsClassifier):
    """Multi-label k-nearest neighbours: a Bayes rule on how many neighbours have the label.

    Where a neighbour's label is unknown, the count is scaled up from those that are known.

    Parameters
    ----------
    n_neighbors : int, default 10
        How many neighbours are looked at.
    smooth : float, default 1.0
        Pseudo-counts added to each count: 1 is Laplace's rule.
    discard : bool, default False
        Learn from samples with every label known, and from no others.

    Examples
    --------
    >>> X = np.linspace(0, 1, 40)[:, None]
    >>> Y = np.hstack([X > 0.5, X < 0.5]).astype(float)
    >>> MLKNN(5).fit(X, Y).predict([[0.9]])
    array([[1., 0.]])
    """

    _: KW_ONLY
    smooth: Positive = 1.0

    def _learn(self, neighbors: Array) -> None:
        s, k, Y = self.smooth, self._k, self._signs
        known = (~np.isnan(Y)).sum(axis=0)
        self._prior = (s + (Y > 0).sum(axis=0)) / (2 * s + known)
        counts = self._count(neighbors)
        table = np.full((2, k + 1, Y.shape[1]), float(s))
        for j in range(Y.shape[1]):
            for side, which in enumerate((Y[:, j] < 0, Y[:, j] > 0)):
                table[side, :, j] += np.bincount(counts[which, j], minlength=k + 1)
        self._table = table / table.sum(axis=1, keepdims=True)

    def _count(self, neighbors: Array) -> Array:
        return np.rint(self._fractions(neighbors, self._prior) * self._k).astype(int)

    def _probabilities(self, X: Array) -> Array:
        counts = self._count(self._find_neighbors(X))
        no, yes = (self._table[side][counts, np.arange(counts.shape[1])] for side in (0, 1))
        return np.asarray(self._prior * yes / (self._prior * yes + (1 - self._prior) * no))


@estimator
class IBLR(_NeighborsClassifier):
    """Logistic regression of every label on the fraction of neighbours that have each of the labels.

    Parameters
    ----------
    n_neighbors, discard
        As in :class:`MLKNN`.
    C : float, default 1.0
        Inverse strength of an L2 penalty.  The paper has none: the penalty is a departure of ours, without
        which labels that can be separated have no finite fit.

    Examples
    --------
    >>> X = np.linspace(0, 1, 40)[:, None]
    >>> IBLR(5).fit(X, X[:, 0] > 0.5).predict([[0.9], [0.1]])
    array([1., 0.])
    """

    _: KW_ONLY
    C: Positive = 1.0

    def _learn(self, neighbors: Array) -> None:
        Y = self._signs
        self._mean = (Y > 0).sum(axis=0) / np.maximum((~np.isnan(Y)).sum(axis=0), 1)
        fractions = self._fractions(neighbors, self._mean)
        self._models = [self._model(fractions, Y[:, j], float(self._mean[j])) for j in range(Y.shape[1])]

    def _model(self, fractions: Array, y: Array, mean: float) -> LogisticRegression | float:
        """The regression of one label, or its mean where all that is known is the same."""
        known = ~np.isnan(y)
        if len(np.unique(y[known])) < 2:
            return mean
        model = LogisticRegression(C=self.C, solver="newton-cholesky", tol=1e-8, max_iter=1000)
        return model.fit(fractions[known], y[known] > 0)

    def _probabilities(self, X: Array) -> Array:
        fractions = self._fractions(self._find_neighbors(X), self._mean)
        columns = [
            np.full(len(X), model) if isinstance(model, float) else model.predict_proba(fractions)[:, 1]
            for model in self._models
        ]
        return np.column_stack(columns)
