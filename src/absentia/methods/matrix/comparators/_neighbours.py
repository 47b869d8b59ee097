"""Labels by those of the nearest training samples.

* `MLKNN`: M.-L. Zhang and Z.-H. Zhou, "ML-KNN: a lazy learning approach to multi-label learning", Pattern
  Recognition 40 (2007).
* `IBLR`: W. Cheng and E. Huellermeier, "Combining instance-based learning and logistic regression for
  multilabel classification", Machine Learning 76 (2009).

Departures from the papers: they know no unknown labels; here neighbours count where their label is known.
``discard=True`` learns from samples with every label known instead.  `IBLR`'s logistic regressions have an
L2 penalty (``C=1``, as scikit-learn's), where the paper maximises the likelihood, which has no maximum when
labels can be separated; a large `C` comes near that.
"""

from dataclasses import KW_ONLY
from typing import Any, Self

import numpy as np
from sklearn.linear_model import LogisticRegression

from absentia.core import TIE, Array, Estimator, Positive, PositiveInt, estimator, squared_distances
from absentia.methods.matrix._checks import read_table
from absentia.methods.matrix._labels import MultiLabelMixin, read_labels, sample_order, to_learn_from

#: Numbers in a block of distances.
BLOCK = 10_000_000


def nearest(A: Array, B: Array, k: int, others: bool = False) -> Array:
    """Indices of the k rows of B nearest to each row of A (len(A), k); in `others`, A is B and no row is
    its own.

    Rows at the same distance, to :data:`~.core.TIE`, count in the order of B.
    """
    center = B.mean(axis=0)  # distances are differences of squares: the smaller, the more exact
    A, B = A - center, B - center
    n, size = len(B), np.einsum("ij,ij->i", B, B).max(initial=0.0)
    found = []
    for first in range(0, len(A), max(1, BLOCK // n)):
        D = squared_distances(A[first : first + max(1, BLOCK // n)], B)
        if others:
            D[np.arange(len(D)), first + np.arange(len(D))] = np.inf
        own = np.einsum("ij,ij->i", A[first : first + len(D)], A[first : first + len(D)])
        kth = np.partition(D, k - 1, axis=1)[:, [k - 1]]
        band = TIE * (own[:, None] + size)
        # nearer than the k-th, tied with it, farther: within each, by position
        rank = np.where(kth - band > D, 0, np.where(kth + band >= D, 1, 2)) * n + np.arange(n)
        found.append(np.argpartition(rank, k - 1, axis=1)[:, :k])
    return np.concatenate(found)


@estimator
class _Neighbours(MultiLabelMixin, Estimator):
    """Classifiers that look at the known labels of the nearest training samples."""

    n_neighbors: PositiveInt = 10
    _: KW_ONLY
    discard: bool = False

    def fit(self, X: Any, Y: Any) -> Self:
        """Learn from X (n, features) and Y (n, labels) with NaN where unknown."""
        self._check_parameters()
        table = read_table(self, X, fit=True)
        labels = read_labels(Y, X, len(table), self)
        rows = to_learn_from(labels.signs, self.discard)
        self._k = min(self.n_neighbors, len(rows) - 1)
        if self._k < 1:
            raise ValueError(f"{len(rows)} sample(s) to learn from have no neighbours; two are needed")
        order = sample_order(table[rows], labels.signs[rows])[0]
        self._X, self._signs = table[rows][order], labels.signs[rows][order]
        self._learn(nearest(self._X, self._X, self._k, others=True))
        self._remember(labels)
        return self

    def _learn(self, near: Array) -> None:
        raise NotImplementedError

    def _near(self, X: Array) -> Array:
        return nearest(X, self._X, self._k)

    def _scores(self, X: Array) -> Array:
        return self._probabilities(X) - 0.5

    def _shares(self, near: Array, prior: Array) -> Array:
        """Share of the known neighbours that have each label; where none is known, `prior`."""
        among = self._signs[near]
        positive, known = (among > 0).sum(axis=1), (~np.isnan(among)).sum(axis=1)
        return np.where(known > 0, positive / np.maximum(known, 1), prior)


@estimator
class MLKNN(_Neighbours):
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

    def _learn(self, near: Array) -> None:
        s, k, Y = self.smooth, self._k, self._signs
        known = (~np.isnan(Y)).sum(axis=0)
        self._prior = (s + (Y > 0).sum(axis=0)) / (2 * s + known)
        counts = self._count(near)
        table = np.full((2, k + 1, Y.shape[1]), float(s))
        for j in range(Y.shape[1]):
            for side, which in enumerate((Y[:, j] < 0, Y[:, j] > 0)):
                table[side, :, j] += np.bincount(counts[which, j], minlength=k + 1)
        self._table = table / table.sum(axis=1, keepdims=True)

    def _count(self, near: Array) -> Array:
        return np.rint(self._shares(near, self._prior) * self._k).astype(int)

    def _probabilities(self, X: Array) -> Array:
        counts = self._count(self._near(X))
        no, yes = (self._table[side][counts, np.arange(counts.shape[1])] for side in (0, 1))
        return np.asarray(self._prior * yes / (self._prior * yes + (1 - self._prior) * no))


@estimator
class IBLR(_Neighbours):
    """Logistic regression of every label on the share of neighbours that have each of the labels.

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

    def _learn(self, near: Array) -> None:
        Y = self._signs
        self._mean = (Y > 0).sum(axis=0) / np.maximum((~np.isnan(Y)).sum(axis=0), 1)
        shares = self._shares(near, self._mean)
        self._models = [self._model(shares, Y[:, j], float(self._mean[j])) for j in range(Y.shape[1])]

    def _model(self, shares: Array, y: Array, mean: float) -> LogisticRegression | float:
        """The regression of one label, or its mean where all that is known is the same."""
        known = ~np.isnan(y)
        if len(np.unique(y[known])) < 2:
            return mean
        model = LogisticRegression(C=self.C, solver="newton-cholesky", tol=1e-8, max_iter=1000)
        return model.fit(shares[known], y[known] > 0)

    def _probabilities(self, X: Array) -> Array:
        shares = self._shares(self._near(X), self._mean)
        columns = [
            np.full(len(X), model) if isinstance(model, float) else model.predict_proba(shares)[:, 1]
            for model in self._models
        ]
        return np.column_stack(columns)
