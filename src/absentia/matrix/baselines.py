r"""What probabilistic matrix addition is compared with.

* `MatrixLMC`: the intrinsic model of coregionalization, ``K2 (x) K1 + noise``; exact, as PMA.
* `LabelGP`: a Gaussian process for every label, none knowing of the others.
* `PMF`: R. Salakhutdinov and A. Mnih, "Probabilistic matrix factorization", NIPS 2007; its mode by
  alternating least squares, the ridge chosen on hidden *observed* entries.
* `MLKNN`: M.-L. Zhang and Z.-H. Zhou, "ML-KNN: a lazy learning approach to multi-label learning", Pattern
  Recognition 40 (2007).
* `IBLR`: W. Cheng and E. Huellermeier, "Combining instance-based learning and logistic regression for
  multilabel classification", Machine Learning 76 (2009).
* `PartialLabelSVM`: one support vector machine per label, on the samples whose label is known.

All take Y with NaN where unknown.  The papers' `MLKNN` and `IBLR` know no unknown labels; here neighbours
count where their label is known.  ``discard=True`` learns from samples with every label known instead.
"""

from __future__ import annotations

from typing import Any, Self

import numpy as np
from sklearn.base import BaseEstimator, TransformerMixin
from sklearn.linear_model import LogisticRegression
from sklearn.neighbors import NearestNeighbors
from sklearn.svm import SVC
from sklearn.utils import check_random_state
from sklearn.utils.validation import check_is_fitted

from absentia.base import IterativeMixin
from absentia.linalg import Array
from absentia.matrix.estimate import What
from absentia.matrix.labels import MultiLabelMixin, check_features, kept, read_labels, read_targets
from absentia.matrix.pma import PMAClassifier
from absentia.solve import Solution, iterate


class MatrixLMC(PMAClassifier):
    """Intrinsic model of coregionalization: row kernel times label covariance, plus noise.

    Parameters and attributes are those of :class:`PMAClassifier`; labels' covariance is always estimated.

    Examples
    --------
    >>> X = np.linspace(0, 1, 20)[:, None]
    >>> Y = np.hstack([X > 0.5, X < 0.5]).astype(float)
    >>> Y[3, 0] = np.nan
    >>> MatrixLMC(random_state=0).fit(X, Y).labels_[3]
    array([0., 1.])
    """

    def _what(self) -> What:
        return What(C="free", noise_only=True)


class LabelGP(PMAClassifier):
    """A Gaussian process for every label, with one kernel width and amplitudes and noises of their own.

    Parameters and attributes are those of :class:`PMAClassifier`.

    Examples
    --------
    >>> X = np.linspace(0, 1, 20)[:, None]
    >>> Y = np.hstack([X > 0.5, X < 0.5]).astype(float)
    >>> LabelGP(random_state=0).fit(X, Y).predict([[0.9]])
    array([[1., 0.]])
    """

    def _what(self) -> What:
        return What(C="free", diagonal=True)


# ----------------------------------------------------------------------------------------- factorisation


def factorise(
    X: Array, seen: Array, rank: int, ridge: float, rng: Any, tol: float, max_iter: int
) -> Solution[tuple[Array, Array]]:
    """``X = A B'`` on the seen entries with ``ridge (|A|^2 + |B|^2)``, by alternating ridge regressions."""
    start = 0.1 * rng.standard_normal((X.shape[1], rank))

    def solve(Z: Array, mask: Array, B: Array) -> Array:
        gram = np.einsum("ij,ja,jb->iab", mask, B, B, optimize=True) + ridge * np.eye(rank)
        return np.asarray(np.linalg.solve(gram, (Z @ B)[:, :, None])[:, :, 0])

    known, mask = np.where(seen, X, 0.0), seen.astype(float)

    def step(state: tuple[Array, Array]) -> tuple[Array, Array]:
        A = solve(known, mask, state[1])
        return A, solve(known.T, mask.T, A)

    def objective(state: tuple[Array, Array]) -> float:
        A, B = state
        return float((mask * (known - A @ B.T) ** 2).sum() + ridge * ((A**2).sum() + (B**2).sum()))

    first = np.zeros((len(X), rank)), start
    return iterate(step, objective, first, tol=tol, max_iter=max_iter)


class PMF(TransformerMixin, IterativeMixin, BaseEstimator):  # type: ignore[misc]
    """Probabilistic matrix factorisation of a matrix with missing entries.

    Parameters
    ----------
    n_components : int, default 3
    ridge : float or "heldout", default "heldout"
        Ratio of noise to factor variance; "heldout" tries several on a tenth of the observed entries.

    Examples
    --------
    >>> rng = np.random.default_rng(0)
    >>> X = rng.standard_normal((30, 1)) @ rng.standard_normal((1, 5))
    >>> gaps = np.where(rng.random(X.shape) < 0.2, np.nan, X)
    >>> bool(np.abs(PMF(1, random_state=0).fit_transform(gaps) - X).max() < 0.5)
    True
    """

    def __init__(
        self,
        n_components: int = 3,
        *,
        ridge: Any = "heldout",
        tol: float = 1e-5,
        max_iter: int = 500,
        random_state: Any = None,
    ) -> None:
        self.n_components = n_components
        self.ridge = ridge
        self.tol = tol
        self.max_iter = max_iter
        self.random_state = random_state

    def fit(self, X: Any, y: Any = None) -> Self:
        """Factorise X (n, m), NaN where missing."""
        X, _ = read_targets(X, len(X))
        seen = ~np.isnan(X)
        self.mean_ = np.nanmean(X, axis=0)
        centred = np.where(seen, X - self.mean_, 0.0)
        seed = check_random_state(self.random_state).randint(2**31)
        self.ridge_ = (
            self._choose(centred, seen, seed) if isinstance(self.ridge, str) else float(self.ridge)
        )
        solution = self._run(centred, seen, self.ridge_, seed)
        self._record(solution)
        A, self.components_ = solution.state
        self.completed_ = np.where(seen, X, A @ self.components_.T + self.mean_)
        self._X = X
        return self

    def fit_transform(self, X: Any, y: Any = None, **fit_params: Any) -> Array:
        """The completed matrix."""
        return self.fit(X).completed_.copy()

    def transform(self, X: Any) -> Array:
        """Rows completed by the factors learned in training."""
        check_is_fitted(self, "completed_")
        X = np.asarray(X, dtype=float)
        seen, B = ~np.isnan(X), self.components_
        gram = np.einsum("ij,ja,jb->iab", seen.astype(float), B, B) + self.ridge_ * np.eye(B.shape[1])
        A = np.linalg.solve(gram, (np.where(seen, X - self.mean_, 0.0) @ B)[:, :, None])[:, :, 0]
        return np.where(seen, X, A @ B.T + self.mean_)

    def _run(self, X: Array, seen: Array, ridge: float, seed: int) -> Solution[tuple[Array, Array]]:
        rank = min(self.n_components, *X.shape)
        return factorise(X, seen, rank, ridge, np.random.default_rng(seed), self.tol, self.max_iter)

    def _choose(self, X: Array, seen: Array, seed: int) -> float:
        hidden = seen & (np.random.default_rng(seed).random(X.shape) < 0.1)
        level = float((X[seen] ** 2).mean())
        errors = {}
        for ridge in level * np.array([0.1, 0.3, 1.0, 3.0, 10.0]):
            A, B = self._run(X, seen & ~hidden, float(ridge), seed).state
            errors[float(ridge)] = float(((A @ B.T - X)[hidden] ** 2).mean()) if hidden.any() else 0.0
        return min(errors, key=errors.__getitem__)


# -------------------------------------------------------------------------------------------- neighbours


class _Neighbours(MultiLabelMixin, BaseEstimator):  # type: ignore[misc]
    """Classifiers that look at the known labels of the nearest training samples."""

    n_neighbors: int
    discard: bool

    def fit(self, X: Any, Y: Any) -> Self:
        """Learn from X (n, features) and Y (n, labels) with NaN where unknown."""
        X = check_features(X)
        labels = read_labels(Y, len(X))
        rows = kept(labels, self.discard)
        self._signs = labels.signs[rows]
        self._k = min(self.n_neighbors, len(rows) - 1)
        if self._k < 1:
            raise ValueError(f"{len(rows)} sample(s) to learn from have no neighbours; two are needed")
        self._search = NearestNeighbors(n_neighbors=self._k).fit(X[rows])
        near = self._search.kneighbors(return_distance=False)  # of the others: leave one out
        self._learn(X[rows], near)
        self._remember(X, labels)
        return self

    def _learn(self, X: Array, near: Array) -> None:
        raise NotImplementedError

    def _near(self, X: Array) -> Array:
        return np.asarray(self._search.kneighbors(X, return_distance=False))

    def _scores(self, X: Array) -> Array:
        return self._probabilities(X) - 0.5

    def _positive(self, near: Array) -> tuple[Array, Array]:
        """Known positive and known neighbours of each sample, by label."""
        among = self._signs[near]
        return (among > 0).sum(axis=1), (~np.isnan(among)).sum(axis=1)


class MLKNN(_Neighbours):
    """Multi-label k-nearest neighbours: a Bayes rule on how many neighbours have the label.

    Where a neighbour's label is unknown, the count is scaled up from those that are known.

    Examples
    --------
    >>> X = np.linspace(0, 1, 40)[:, None]
    >>> Y = np.hstack([X > 0.5, X < 0.5]).astype(float)
    >>> MLKNN(5).fit(X, Y).predict([[0.9]])
    array([[1., 0.]])
    """

    def __init__(self, n_neighbors: int = 10, *, smooth: float = 1.0, discard: bool = False) -> None:
        self.n_neighbors = n_neighbors
        self.smooth = smooth
        self.discard = discard

    def _learn(self, X: Array, near: Array) -> None:
        s, k, Y = self.smooth, self._k, self._signs
        known = (~np.isnan(Y)).sum(axis=0)
        self._prior = (s + (Y > 0).sum(axis=0)) / (2 * s + known)
        counts = self._count(near)
        table = np.full((2, k + 1, Y.shape[1]), s)
        for j in range(Y.shape[1]):
            for side, which in enumerate((Y[:, j] < 0, Y[:, j] > 0)):
                table[side, :, j] += np.bincount(counts[which, j], minlength=k + 1)
        self._table = table / table.sum(axis=1, keepdims=True)

    def _count(self, near: Array) -> Array:
        positive, known = self._positive(near)
        share = np.where(known > 0, positive / np.maximum(known, 1), self._prior)
        return np.rint(share * self._k).astype(int)

    def _probabilities(self, X: Array) -> Array:
        counts = self._count(self._near(X))
        no, yes = (self._table[side][counts, np.arange(counts.shape[1])] for side in (0, 1))
        return np.asarray(self._prior * yes / (self._prior * yes + (1 - self._prior) * no))


class IBLR(_Neighbours):
    """Logistic regression of every label on the share of neighbours that have each of the labels.

    Examples
    --------
    >>> X = np.linspace(0, 1, 40)[:, None]
    >>> Y = np.hstack([X > 0.5, X < 0.5]).astype(float)
    >>> IBLR(5).fit(X, Y).predict([[0.9]])
    array([[1., 0.]])
    """

    def __init__(self, n_neighbors: int = 10, *, C: float = 1.0, discard: bool = False) -> None:
        self.n_neighbors = n_neighbors
        self.C = C
        self.discard = discard

    def _learn(self, X: Array, near: Array) -> None:
        Y = self._signs
        self._mean = (Y > 0).sum(axis=0) / np.maximum((~np.isnan(Y)).sum(axis=0), 1)
        shares = self._shares(near)
        self._models: list[LogisticRegression | float] = []
        for j in range(Y.shape[1]):
            known = ~np.isnan(Y[:, j])
            if len(np.unique(Y[known, j])) < 2:
                self._models.append(float(self._mean[j]))
                continue
            self._models.append(
                LogisticRegression(C=self.C, max_iter=1000).fit(shares[known], Y[known, j] > 0)
            )

    def _shares(self, near: Array) -> Array:
        positive, known = self._positive(near)
        return np.where(known > 0, positive / np.maximum(known, 1), self._mean)

    def _probabilities(self, X: Array) -> Array:
        shares = self._shares(self._near(X))
        columns = [
            np.full(len(X), model) if isinstance(model, float) else model.predict_proba(shares)[:, 1]
            for model in self._models
        ]
        return np.column_stack(columns)


# -------------------------------------------------------------------------------------- support vectors


class PartialLabelSVM(MultiLabelMixin, BaseEstimator):  # type: ignore[misc]
    """One support vector machine per label, each on the samples whose label is known.

    Scores are distances to the margin; probabilities are their logistic function, not calibrated.

    Examples
    --------
    >>> X = np.linspace(0, 1, 40)[:, None]
    >>> Y = np.hstack([X > 0.5, X < 0.5]).astype(float)
    >>> Y[:5, 0] = np.nan
    >>> PartialLabelSVM().fit(X, Y).predict([[0.9]])
    array([[1., 0.]])
    """

    def __init__(
        self, C: float = 1.0, *, kernel: str = "rbf", gamma: Any = "scale", discard: bool = False
    ) -> None:
        self.C = C
        self.kernel = kernel
        self.gamma = gamma
        self.discard = discard

    def __sklearn_tags__(self) -> Any:
        tags = super().__sklearn_tags__()
        tags.input_tags.pairwise = self.kernel == "precomputed"
        return tags

    def fit(self, X: Any, Y: Any) -> Self:
        """Learn from X and Y (n, labels) with NaN where unknown."""
        X = check_features(X)
        labels = read_labels(Y, len(X))
        rows = kept(labels, self.discard)
        self._models: list[tuple[Any, Array]] = []
        for j in range(labels.signs.shape[1]):
            use = rows[~np.isnan(labels.signs[rows, j])]
            y = labels.signs[use, j]
            if len(np.unique(y)) < 2:
                self._models.append((float(y[0]) if len(y) else -1.0, use))
                continue
            data = X[np.ix_(use, use)] if self.kernel == "precomputed" else X[use]
            self._models.append((SVC(C=self.C, kernel=self.kernel, gamma=self.gamma).fit(data, y), use))
        self._remember(X, labels)
        return self

    def _scores(self, X: Array) -> Array:
        columns = []
        for model, use in self._models:
            data = X[:, use] if self.kernel == "precomputed" else X
            sure = isinstance(model, float)
            columns.append(np.full(len(X), model) if sure else model.decision_function(data))
        return np.column_stack(columns)

    def _probabilities(self, X: Array) -> Array:
        return np.asarray(1 / (1 + np.exp(-2 * self._scores(X))))
