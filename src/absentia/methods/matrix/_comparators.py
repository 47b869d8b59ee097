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

Departures from the papers: `IBLR`'s logistic regressions have an L2 penalty (``C=1``, as scikit-learn's),
where the paper maximises the likelihood, which has no maximum when labels can be separated; a large `C`
comes near that.  `PMF` is the mode, not the paper's gradient descent with momentum.

Rows and columns are put in the order of ``_order`` first, so that no answer depends on the order in
which they came: not the starting factors and hidden entries of `PMF`, nor which of equally near neighbours
counts.
"""

from __future__ import annotations

from typing import Any, Self

import numpy as np
from sklearn.base import BaseEstimator, OneToOneFeatureMixin, TransformerMixin
from sklearn.linear_model import LogisticRegression
from sklearn.svm import SVC
from sklearn.utils.validation import check_is_fitted

from absentia.core import (
    TIE,
    Array,
    Iterative,
    Solution,
    Stop,
    generator,
    inverse,
    iterate,
    least,
    squared_distances,
    suited_to,
)
from absentia.methods.matrix import _checks as checks
from absentia.methods.matrix._estimate import What
from absentia.methods.matrix._labels import MultiLabelMixin, kept, read_labels
from absentia.methods.matrix._order import canonical
from absentia.methods.matrix._pma import PMAClassifier

#: Numbers in a block of distances.
BLOCK = 10_000_000


class MatrixLMC(PMAClassifier):
    """Intrinsic model of coregionalization: row kernel times label covariance, plus noise.

    Parameters and attributes are those of :class:`PMAClassifier`; labels' covariance is always estimated,
    so that `col_kernel` and `amplitude` cannot be given.

    Examples
    --------
    >>> X = np.linspace(0, 1, 20)[:, None]
    >>> Y = np.hstack([X > 0.5, X < 0.5]).astype(float)
    >>> Y[3, 0] = np.nan
    >>> MatrixLMC(random_state=0).fit(X, Y).labels_[3]
    array([0., 1.])
    """

    def _check(self) -> None:
        super()._check()
        _nothing_given(self)

    def _what(self) -> What:
        return What(C="free", noise_only=True)


class LabelGP(PMAClassifier):
    """A Gaussian process for every label, with one kernel width and amplitudes and noises of their own.

    Parameters and attributes are those of :class:`PMAClassifier`; `col_kernel`, `amplitude` and
    `label_covariance` have no place in it.

    Examples
    --------
    >>> X = np.linspace(0, 1, 20)[:, None]
    >>> Y = np.hstack([X > 0.5, X < 0.5]).astype(float)
    >>> LabelGP(random_state=0).fit(X, Y).predict([[0.9]])
    array([[1., 0.]])
    """

    def _check(self) -> None:
        super()._check()
        _nothing_given(self)
        if self.label_covariance:
            raise ValueError(
                "LabelGP knows of no covariance between labels; label_covariance must be False"
            )

    def _what(self) -> What:
        return What(C="free", diagonal=True)


def _nothing_given(model: PMAClassifier) -> None:
    """Refuse a column kernel or amplitude that would be ignored."""
    name = type(model).__name__
    if not (isinstance(model.col_kernel, str) and isinstance(model.amplitude, str)):
        raise ValueError(
            f"{name} always estimates the covariance of labels; leave col_kernel and amplitude as they "
            "are, or use PMAClassifier"
        )


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
    return iterate(step, objective, first, stop=Stop(tol), max_iter=max_iter)


class PMF(OneToOneFeatureMixin, TransformerMixin, Iterative, BaseEstimator):  # type: ignore[misc]
    """Probabilistic matrix factorisation of a matrix with missing entries.

    Parameters
    ----------
    n_components : int or "heldout", default "heldout"
    ridge : float or "heldout", default "heldout"
        Ratio of noise to factor variance.  "heldout", for either or both, tries several on a tenth of the
        observed entries, hidden for that.  Of those that do equally well, the fewest components.
    tol, max_iter : float and int
        Stops when the objective changes by less than `tol` (relative).
    random_state : int, Generator, RandomState or None, default None
        See ``_random``; None is the fixed seed 0.

    Attributes
    ----------
    completed_ : ndarray (n, m)
    components_ : ndarray (m, n_components_)
    n_components_, ridge_ : int, float
    mean_ : ndarray (m,)

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
        n_components: Any = "heldout",
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

    def __sklearn_tags__(self) -> Any:
        tags = super().__sklearn_tags__()
        tags.input_tags.allow_nan = True
        return tags

    def fit(self, X: Any, y: Any = None) -> Self:
        """Factorise X (n, m), NaN where missing."""
        self._check()
        X = checks.read_gaps(self, X)
        rows, columns = canonical(X.shape, [(X, (0, 1))])
        self.mean_ = np.nanmean(X, axis=0)
        seen = ~np.isnan(X)
        centred = np.where(seen, X - self.mean_, 0.0)[np.ix_(rows, columns)]
        inside = seen[np.ix_(rows, columns)]
        seed = int(generator(self.random_state).integers(2**31))
        with suited_to(max(X.shape)):
            self.n_components_, self.ridge_ = self._choose(centred, inside, seed)
            solution = self._run(centred, inside, self.n_components_, self.ridge_, seed)
        self._record(solution)
        A, B = solution.state[0][inverse(rows)], solution.state[1][inverse(columns)]
        self.components_ = B
        self.completed_ = np.where(seen, X, A @ B.T + self.mean_)
        return self

    def _check(self) -> None:
        if self.n_components != "heldout" or not isinstance(self.n_components, str):
            if isinstance(self.n_components, str):
                raise ValueError(f"n_components is 'heldout' or a whole number, not {self.n_components!r}")
            checks.check_whole("n_components", self.n_components)
        if isinstance(self.ridge, str):
            if self.ridge != "heldout":
                raise ValueError(f"ridge is 'heldout' or a positive number, not {self.ridge!r}")
        else:
            checks.check_number("ridge", self.ridge, above=0.0)
        checks.check_stopping(self)

    def fit_transform(self, X: Any, y: Any = None, **fit_params: Any) -> Array:
        """The completed matrix."""
        return self.fit(X).completed_.copy()

    def transform(self, X: Any) -> Array:
        """Rows completed by the factors learned in training."""
        check_is_fitted(self, "completed_")
        X = checks.read_table(self, X, fit=False, gaps=True)
        seen, B = ~np.isnan(X), self.components_
        gram = np.einsum("ij,ja,jb->iab", seen.astype(float), B, B) + self.ridge_ * np.eye(B.shape[1])
        A = np.linalg.solve(gram, (np.where(seen, X - self.mean_, 0.0) @ B)[:, :, None])[:, :, 0]
        return np.where(seen, X, A @ B.T + self.mean_)

    def _run(
        self, X: Array, seen: Array, rank: int, ridge: float, seed: int
    ) -> Solution[tuple[Array, Array]]:
        return factorise(X, seen, rank, ridge, np.random.default_rng(seed), self.tol, self.max_iter)

    def _level(self, X: Array, seen: Array) -> float:
        """Mean square of the observed entries; next to nothing if they do not vary, 1 if all are zero."""
        least = (1e-10 * float(np.abs(self.mean_).max())) ** 2
        return max(float((X[seen] ** 2).mean()), least) or 1.0

    def _choose(self, X: Array, seen: Array, seed: int) -> tuple[int, float]:
        """The rank and ridge that are given, or that predict hidden observed entries best."""
        most, level = min(X.shape), self._level(X, seen)
        free = isinstance(self.n_components, str)
        ranks = range(1, min(most, 10) + 1) if free else [min(self.n_components, most)]
        free = isinstance(self.ridge, str)
        ridges = level * np.array([0.1, 0.3, 1.0, 3.0]) if free else np.array([float(self.ridge)])
        pairs = [(int(rank), float(ridge)) for rank in ranks for ridge in ridges]
        hidden = seen & (np.random.default_rng(seed).random(X.shape) < 0.1)
        if len(pairs) == 1 or not hidden.any():
            return pairs[0]

        def error(pair: tuple[int, float]) -> float:
            A, B = self._run(X, seen & ~hidden, *pair, seed).state
            return float(((A @ B.T - X)[hidden] ** 2).mean())

        return least({pair: error(pair) for pair in pairs})


# -------------------------------------------------------------------------------------------- neighbours


def _sample_order(X: Array, signs: Array) -> tuple[Array, Array]:
    """The order of ``_order`` of samples and of features."""
    sizes = len(X), signs.shape[1], X.shape[1]
    rows, _, features = canonical(sizes, [(X, (0, 2)), (signs, (0, 1))])
    return rows, features


def nearest(A: Array, B: Array, k: int, others: bool = False) -> Array:
    """Indices of the k rows of B nearest to each row of A (len(A), k); in `others`, A is B and no row is
    its own.

    Rows at the same distance, to :data:`~.order.TIE`, count in the order of B.
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


class _Neighbours(MultiLabelMixin, BaseEstimator):  # type: ignore[misc]
    """Classifiers that look at the known labels of the nearest training samples."""

    n_neighbors: int
    discard: bool

    def fit(self, X: Any, Y: Any) -> Self:
        """Learn from X (n, features) and Y (n, labels) with NaN where unknown."""
        checks.check_whole("n_neighbors", self.n_neighbors)
        checks.check_flags(discard=self.discard)
        self._check()
        table = checks.read_table(self, X, fit=True)
        labels = read_labels(Y, X, len(table), self)
        rows = kept(labels, self.discard)
        self._k = min(self.n_neighbors, len(rows) - 1)
        if self._k < 1:
            raise ValueError(f"{len(rows)} sample(s) to learn from have no neighbours; two are needed")
        order = _sample_order(table[rows], labels.signs[rows])[0]
        self._X, self._signs = table[rows][order], labels.signs[rows][order]
        self._learn(nearest(self._X, self._X, self._k, others=True))
        self._remember(labels)
        return self

    def _check(self) -> None:
        raise NotImplementedError

    def _learn(self, near: Array) -> None:
        raise NotImplementedError

    def _near(self, X: Array) -> Array:
        return nearest(X, self._X, self._k)

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

    def _check(self) -> None:
        checks.check_number("smooth", self.smooth, above=0.0)

    def _learn(self, near: Array) -> None:
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

    Parameters
    ----------
    n_neighbors : int, default 10
    C : float, default 1.0
        Inverse strength of an L2 penalty.  The paper has none: the penalty is a departure of ours, without
        which labels that can be separated have no finite fit.
    discard : bool, default False
        Learn only from samples with every label known.

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

    def _check(self) -> None:
        checks.check_number("C", self.C, above=0.0)

    def _learn(self, near: Array) -> None:
        Y = self._signs
        self._mean = (Y > 0).sum(axis=0) / np.maximum((~np.isnan(Y)).sum(axis=0), 1)
        shares = self._shares(near)
        self._models: list[LogisticRegression | float] = []
        for j in range(Y.shape[1]):
            known = ~np.isnan(Y[:, j])
            if len(np.unique(Y[known, j])) < 2:
                self._models.append(float(self._mean[j]))
                continue
            model = LogisticRegression(C=self.C, solver="newton-cholesky", tol=1e-8, max_iter=1000)
            self._models.append(model.fit(shares[known], Y[known, j] > 0))

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
        self._check()
        names = checks.names_of(X, 0), checks.names_of(X, 1)
        table = checks.read_table(self, X, fit=True)
        labels = read_labels(Y, X, len(table), self)
        rows = kept(labels, self.discard)
        if self.kernel == "precomputed":
            if table.shape[0] != table.shape[1]:
                raise ValueError(f"kernel='precomputed' wants a square kernel to fit, not {table.shape}")
            checks.check_names(
                "the rows of the kernel", names[0], "its columns", names[1], "K.loc[K.columns]"
            )
            checks.check_kernel(table, "the kernel")
            signs = labels.signs[rows]
            order, _ = canonical(signs.shape, [(signs, (0, 1)), (table[np.ix_(rows, rows)], (0, 0))])
            self._columns = np.arange(len(table))
        else:
            order, self._columns = _sample_order(table[rows], labels.signs[rows])
        self._fit_each(table[:, self._columns], labels.signs, rows[order])
        self._remember(labels)
        return self

    def _check(self) -> None:
        checks.check_number("C", self.C, above=0.0)
        checks.check_word("kernel", self.kernel, ("rbf", "linear", "poly", "sigmoid", "precomputed"))
        if isinstance(self.gamma, str):
            checks.check_word("gamma", self.gamma, ("scale", "auto"))
        else:
            checks.check_number("gamma", self.gamma, above=0.0)
        checks.check_flags(discard=self.discard)

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
