"""What probabilistic matrix addition is compared with.

* `PMF`: R. Salakhutdinov and A. Mnih, "Probabilistic matrix factorization", NIPS 2007.
* `PartialLabelSVM`: a support vector machine for every label, on the samples whose label is known.
* `MLKNN`: M.-L. Zhang and Z.-H. Zhou, "ML-KNN: a lazy learning approach to multi-label learning", Pattern
  Recognition 40 (2007).
* `IBLR`: W. Cheng and E. Huellermeier, "Combining instance-based learning and logistic regression for
  multilabel classification", Machine Learning 76 (2009).

`MatrixLMC` and `LabelGP`, other covariances of labels, are in ``_targets``.  Labels may be unknown (NaN).
Rows and columns are put in their canonical order first, so that no answer depends on the order in which
they came: not which of equally near neighbours counts.

Departures from the papers: `PMF` has the mode by alternating least squares, not by gradient descent with
momentum, and rank and ridge chosen on hidden *observed* entries.  The papers on labels know no unknown
ones; here neighbours count where their label is known.  ``discard=True`` learns from samples with every
label known instead.  `IBLR`'s logistic regressions have an L2 penalty (``C=1``, as scikit-learn's), where
the paper maximises the likelihood, which has no maximum when labels can be separated; a large `C` comes
near that.
"""

from dataclasses import KW_ONLY
from typing import Any, Literal, Self

import numpy as np
from sklearn.base import OneToOneFeatureMixin
from sklearn.linear_model import LogisticRegression
from sklearn.svm import SVC
from sklearn.utils.validation import check_is_fitted

from absentia.core import (
    TIE_RTOL,
    Array,
    Estimator,
    Iterative,
    NonNegative,
    Positive,
    PositiveInt,
    RandomState,
    estimator,
    limit_threads_if_small,
)
from absentia.core.linalg import invert_permutation, squared_distances
from absentia.core.optimize import Solution, StoppingRule, iterate
from absentia.data import order_tables
from absentia.methods.matrix._holdout import MatrixImputer
from absentia.methods.matrix._targets import MultiLabelMixin
from absentia.methods.matrix._validation import PartialTargets, read_gaps, read_numbers

#: The most components that `PMF` tries.
_MAX_COMPONENTS = 10
#: The ridges that it tries, relative to the mean square of what is observed.
_RIDGES = (0.1, 0.3, 1.0, 3.0)
#: Numbers in a block of distances.
_BLOCK_NUMBERS = 10_000_000


# -------------------------------------------------------------------------------------------- factorisation


def _solve_row_factors(X: Array, seen: Array, B: Array, ridge: float) -> Array:
    """A with ``X = A B'`` where `seen` is 1, by ridge regression of each row; elsewhere both are 0."""
    gram = np.einsum("ij,ja,jb->iab", seen, B, B, optimize=True) + ridge * np.eye(B.shape[1])
    return np.asarray(np.linalg.solve(gram, (X @ B)[:, :, None])[:, :, 0])


def _factorize(
    X: Array, seen: Array, rank: int, ridge: float, rng: np.random.Generator, **options: Any
) -> Solution[tuple[Array, Array]]:
    """``X = A B'`` where `seen` is 1, with ``ridge (|A|^2 + |B|^2)``, by alternating ridge regressions."""

    def step(state: tuple[Array, Array]) -> tuple[Array, Array]:
        A = _solve_row_factors(X, seen, state[1], ridge)
        return A, _solve_row_factors(X.T, seen.T, A, ridge)

    def objective(state: tuple[Array, Array]) -> float:
        A, B = state
        return float((seen * (X - A @ B.T) ** 2).sum() + ridge * ((A**2).sum() + (B**2).sum()))

    first = np.zeros((len(X), rank)), 0.1 * rng.standard_normal((X.shape[1], rank))
    return iterate(step, objective, first, **options)


@estimator
class PMF(OneToOneFeatureMixin, Iterative, MatrixImputer):  # type: ignore[misc]
    """Probabilistic matrix factorisation of a matrix with missing entries.

    Parameters
    ----------
    n_components : int or "heldout", default "heldout"
        Rank of the factorisation.  "heldout" tries up to ten.
    ridge : float or "heldout", default "heldout"
        Ratio of noise to factor variance.  "heldout", for either or both, tries several on a tenth of the
        observed entries, hidden for that.  Of those that do equally well, the fewest components.
    tol, max_iter : float and int
        Stops when the objective changes by less than `tol` (relative).
    random_state : int, Generator, RandomState or None, default None
        Of the start and of what "heldout" hides.  None: the fixed seed 0.
    verbose : bool, default False
        Write a line to stderr every other second, and one at the end.

    Attributes
    ----------
    completed_ : ndarray (n, m)
    components_ : ndarray, features x components
    n_components_, ridge_ : int, float
    mean_ : ndarray (m,)
    heldout_curve_ : dict
        Root mean square error of the hidden entries by (components, ridge), where these were chosen.

    Examples
    --------
    >>> rng = np.random.default_rng(0)
    >>> X = rng.standard_normal((30, 1)) @ rng.standard_normal((1, 5))
    >>> gaps = np.where(rng.random(X.shape) < 0.2, np.nan, X)
    >>> bool(np.abs(PMF(1, random_state=0).fit_transform(gaps) - X).max() < 0.5)
    True
    """

    n_components: PositiveInt | Literal["heldout"] = "heldout"
    _: KW_ONLY
    ridge: Positive | Literal["heldout"] = "heldout"
    tol: NonNegative = 1e-5
    max_iter: PositiveInt = 500
    random_state: RandomState = None
    verbose: bool = False

    def fit(self, X: Any, y: Any = None) -> Self:
        """Factorise X (n, m), NaN where missing."""
        self._reset()
        X = read_gaps(self, X)
        rows, columns = order_tables(X.shape, [(X, (0, 1))])
        self.mean_ = np.nanmean(X, axis=0)
        with limit_threads_if_small(max(X.shape)):
            rank, ridge = self.n_components_, self.ridge_ = self._select_parameters(X)
            known, seen = (Z[np.ix_(rows, columns)] for Z in self._center(X))
            options = {
                "stop": StoppingRule(self.tol),
                "max_iter": self.max_iter,
                "callback": self._make_callback(),
            }
            solution = _factorize(known, seen, rank, ridge, self._rng(), **options)
        self._set_convergence(solution)
        A, B = solution.state[0][invert_permutation(rows)], solution.state[1][invert_permutation(columns)]
        self.components_ = B
        self.completed_ = self._fill(X, A)
        return self

    def transform(self, X: Any) -> Array:
        """Rows completed by the factors learned in training."""
        check_is_fitted(self, "completed_")
        X = read_numbers(self, X, fit=False, gaps=True)
        return self._fill(X, _solve_row_factors(*self._center(X), self.components_, self.ridge_))

    def _center(self, X: Array) -> tuple[Array, Array]:
        """X without means, and 1 where it is known; both 0 elsewhere."""
        known = ~np.isnan(X)
        return np.where(known, X - self.mean_, 0.0), known.astype(float)

    def _fill(self, X: Array, A: Array) -> Array:
        return np.where(np.isnan(X), A @ self.components_.T + self.mean_, X)

    def _select_parameters(self, X: Array) -> tuple[int, float]:
        """The rank and ridge that are given, or that predict hidden observed entries best."""
        full_rank = min(X.shape)
        ranks = range(1, min(full_rank, _MAX_COMPONENTS) + 1)
        if not isinstance(self.n_components, str):
            ranks = range(min(self.n_components, full_rank), min(self.n_components, full_rank) + 1)
        ridges = self._mean_square(X) * np.array(_RIDGES) if isinstance(self.ridge, str) else [self.ridge]
        pairs = [(rank, float(ridge)) for rank in ranks for ridge in ridges]
        if len(pairs) == 1:
            return pairs[0]
        candidates = {(rank, ridge): {"n_components": rank, "ridge": ridge} for rank, ridge in pairs}
        return self._select_by_holdout(X, candidates)

    def _mean_square(self, X: Array) -> float:
        """Mean square of the centred entries; next to nothing if they do not vary, 1 if all are zero."""
        floor = (1e-10 * float(np.abs(self.mean_).max())) ** 2
        return max(float(np.nanmean((X - self.mean_) ** 2)), floor) or 1.0


# ---------------------------------------------------------------------------------- support vector machines


@estimator
class PartialLabelSVM(MultiLabelMixin, Estimator):
    """One support vector machine per label, each on the samples whose label is known.

    Scores are distances to the margin; probabilities are their logistic function, not calibrated.

    Parameters
    ----------
    C : float, default 1.0
        Weight of errors against the margin.
    kernel : {"rbf", "linear", "poly", "sigmoid"}, default "rbf"
        As scikit-learn's :class:`~sklearn.svm.SVC`.
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
    kernel: Literal["rbf", "linear", "poly", "sigmoid"] = "rbf"
    gamma: Positive | Literal["scale", "auto"] = "scale"
    discard: bool = False

    def _fit_labels(self, X: Array, labels: PartialTargets, rows: Array) -> None:
        """One machine for each label, or the label itself where all that is known is the same."""
        rows, self._features = _order_samples(X, labels.values, rows)
        X = X[np.ix_(rows, self._features)]
        self._models: list[SVC | float] = []
        for y in labels.values[rows].T:
            known = ~np.isnan(y)
            if len(np.unique(y[known])) < 2:
                self._models.append(float(y[known][0]) if known.any() else -1.0)
            else:
                machine = SVC(C=self.C, kernel=self.kernel, gamma=self.gamma, tol=1e-6, random_state=0)
                self._models.append(machine.fit(X[known], y[known]))

    def _scores(self, X: Array) -> Array:
        X = X[:, self._features]
        columns = [
            np.full(len(X), model) if isinstance(model, float) else model.decision_function(X)
            for model in self._models
        ]
        return np.column_stack(columns)

    def _probabilities(self, X: Array) -> Array:
        return np.asarray(1 / (1 + np.exp(-2 * self._scores(X))))


# --------------------------------------------------------------------------------------- nearest neighbours


def _find_neighbors(A: Array, B: Array, k: int, exclude_self: bool = False) -> Array:
    """Indices of the k rows of B nearest to each row of A (len(A), k).

    With `exclude_self`, A is B and no row is its own neighbour.  Rows at the same distance, to
    :data:`~.core.TIE_RTOL`, count in the order of B.
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


def _order_samples(X: Array, signs: Array, rows: Array) -> tuple[Array, Array]:
    """These rows of X and of the labels, and the features, in their canonical order."""
    sizes = len(rows), signs.shape[1], X.shape[1]
    order, _, features = order_tables(sizes, [(X[rows], (0, 2)), (signs[rows], (0, 1))])
    return rows[order], features


@estimator
class _NeighborsClassifier(MultiLabelMixin, Estimator):
    """Classifiers that look at the known labels of the nearest training samples."""

    n_neighbors: PositiveInt = 10
    _: KW_ONLY
    discard: bool = False

    def _fit_labels(self, X: Array, labels: PartialTargets, rows: Array) -> None:
        self._k = min(self.n_neighbors, len(rows) - 1)
        if self._k < 1:
            raise ValueError(f"{len(rows)} sample(s) to learn from have no neighbours; two are needed")
        rows, _ = _order_samples(X, labels.values, rows)
        self._X, self._signs = X[rows], labels.values[rows]
        self._learn(_find_neighbors(self._X, self._X, self._k, exclude_self=True))

    def _learn(self, neighbors: Array) -> None:
        raise NotImplementedError

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
        counts = self._count(_find_neighbors(X, self._X, self._k))
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
        fractions = self._fractions(_find_neighbors(X, self._X, self._k), self._mean)
        columns = [
            np.full(len(X), model) if isinstance(model, float) else model.predict_proba(fractions)[:, 1]
            for model in self._models
        ]
        return np.column_stack(columns)
