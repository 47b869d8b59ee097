"""Probabilistic matrix factorisation.

R. Salakhutdinov and A. Mnih, "Probabilistic matrix factorization", NIPS 2007.

Departures from the paper: its mode by alternating least squares, not gradient descent with momentum; rank
and ridge chosen on hidden *observed* entries.
"""

from dataclasses import KW_ONLY
from typing import Any, Literal, Self

import numpy as np
from sklearn.base import OneToOneFeatureMixin
from sklearn.utils.validation import check_is_fitted

from absentia.core import (
    Array,
    Iterative,
    NonNegative,
    Positive,
    PositiveInt,
    RandomState,
    estimator,
    limit_threads_if_small,
)
from absentia.core.linalg import invert_permutation
from absentia.core.optimize import Solution, StoppingRule, iterate
from absentia.data import order_tables
from absentia.methods.matrix._base import MatrixImputer
from absentia.methods.matrix._validation import read_gaps, read_table

#: The most components that are tried.
_MAX_COMPONENTS = 10
#: The ridges that are tried, relative to the mean square of what is observed.
_RIDGES = (0.1, 0.3, 1.0, 3.0)


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
    components_ : ndarray (m, n_components_)
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
        X = read_table(self, X, fit=False, gaps=True)
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
