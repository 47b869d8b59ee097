"""Filling by singular value thresholding: the stacked kernels are taken to be of low rank.

References
----------
J.-F. Cai, E. J. Candes, Z. Shen. A singular value thresholding algorithm for matrix completion. SIAM J.
Optimization 20(4), 1956-1982, 2010; the filling called SVT-MKL by X. Liu et al., Absent multiple kernel
learning algorithms, IEEE TPAMI, 2019.
R. Mazumder, T. Hastie, R. Tibshirani. Spectral regularization algorithms for learning large incomplete
matrices. JMLR 11, 2287-2322, 2010 (soft-impute: the objective below).
T. Hastie, R. Mazumder, J. D. Lee, R. Zadeh. Matrix completion and low-rank SVD via fast alternating
least squares. JMLR 16, 3367-3402, 2015 (the algorithm).

Model
-----
Samples are rows; the columns are the kernels of all views side by side, each with one column per
sample *that has the view* (of the others nothing at all is known).  A view's block X_v is its observed
kernel, centred in feature space and scaled to unit mean square row, so that views count alike and what
is not explained falls back on the mean.  A sample's row is missing in the blocks of the views it lacks.

Objective
---------
With L the completed matrix, and P the restriction to what is observed,

    F(L) = 1/2 |P(X - L)|^2 + lam |L|_*,      lam = threshold * (largest singular value of P(X)).

|L|_* is the least 1/2 (|A|^2 + |B|^2) over all L = A B'.  Rows are missing a block at a time, so that both
halves of alternating least squares have closed forms:

    B_v = X_v' C_v,   C_v = A_v (A_v' A_v + lam I)^-1           for every view v, A_v the rows it sees;
    a_t = (sum_v B_v' B_v + lam I)^-1 sum_v B_v' x_tv           over the views v that sample t has.

Neither raises the objective.  ``objective_`` is its least value over B at each A; at the optimum it is F.

From L to a kernel
------------------
The row of an absent sample, ``X_v C_v a_t``, is a combination of the observed samples' rows, with
coefficients C_v a_t.  Its kernel values with other absent samples are taken to be those of that
combination.  So its row lies in the range of the observed kernel, and the Schur complement of the
observed block is diagonal: what is added to bring k(t, t) up to the view's mean observed one.

Departures from the references
------------------------------
* Soft-impute's objective rather than Cai et al.'s, which fits observed entries exactly.
* The intercept (centring) is not in the papers; without it what is not explained falls back on zero.
* Kernels are symmetric and L is not made so.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import KW_ONLY, dataclass
from functools import cached_property
from typing import Annotated, Any, Literal

import numpy as np
import scipy.linalg

from absentia.core import (
    DISTINCT_RTOL,
    Array,
    Gram,
    Operator,
    PositiveInt,
    Range,
    Scaled,
    center_operator,
    estimator,
    get_factors,
    has_factors,
    measure_spread,
    thin_operator,
)
from absentia.core.linalg import cholesky, cholesky_solve, group_by_pattern, inverse_sqrt
from absentia.core.optimize import AccelerationState, Point, Solution, UpdateEvaluation, accelerate
from absentia.data import KernelViews
from absentia.methods.completion._base import Basis, Coordinates, RegularisedCompleter, add_mean_coordinate


@dataclass(frozen=True)
class _ViewBlock:
    """A view's columns of the stacked matrix: its kernel, centred and scaled to unit mean square row."""

    K: Operator  # the kernel over the samples that have the view
    X: Operator  # K, centred and scaled
    v: Array  # positions of these samples
    scale: float  # of the kernel, by which X was divided; infinite where all samples are identical

    @classmethod
    def of(cls, operator: Operator, v: Array) -> _ViewBlock:
        K = thin_operator(operator)
        X = center_operator(K)
        norm = float(np.linalg.norm(X.left.T @ X.left if isinstance(X, Gram) else X.A))
        scale = norm / np.sqrt(len(v)) if measure_spread(operator) else np.inf
        return cls(K, Scaled(X, 1 / scale), v, scale)

    @property
    def outer_factor(self) -> Array | None:
        """B with ``X X' = B B'``, of a view that is given by factors."""
        if not has_factors(self.X):
            return None
        A = get_factors(self.X).Phi
        values, vectors = scipy.linalg.eigh(A.T @ A, check_finite=False)
        return np.asarray(A @ (vectors * np.sqrt(np.maximum(values, 0.0))))

    def fit_right_factor(self, A: Array, lam: float) -> tuple[Array, Array, Array]:
        """``C = A (A'A + lam I)^-1``, ``X B`` and ``B' B``; the right factor ``B = X' C`` is best for A."""
        C = _ridge_coefficients(A[self.v], lam)
        B = self.X @ C
        return C, self.X @ B, B.T @ B


def _ridge_coefficients(A: Array, lam: float) -> Array:
    """``C = A (A'A + lam I)^-1``; A are the rows of the left factor for the samples with a view."""
    T = A.T @ A + lam * np.eye(A.shape[1])
    return cholesky_solve(cholesky(T, "factor moments"), A.T).T


class _SVTProblem:
    """The stacked matrix of all samples, its objective, and `observed` (samples x views)."""

    def __init__(self, blocks: Sequence[_ViewBlock], observed: Array) -> None:
        self.blocks, self.observed, self.n_samples = blocks, observed, len(observed)
        self.patterns = [(np.flatnonzero(p), rows) for p, rows in group_by_pattern(observed)]
        self.total = sum(len(block.v) for block in blocks if np.isfinite(block.scale))  # |X|^2

    @classmethod
    def of(cls, X: KernelViews) -> _SVTProblem:
        names = zip(X.names, X.observed.T, strict=True)
        return cls([_ViewBlock.of(X.operator(name), np.flatnonzero(o)) for name, o in names], X.observed)

    @cached_property
    def spectrum(self) -> tuple[Array, Array]:
        """Singular values, largest first, and left singular vectors of the zero-filled matrix.

        Of kernels given by factors only those that are not zero, from a matrix as large as all factors.
        """
        factors: list[Any] = [block.outer_factor for block in self.blocks]
        if sum(self.n_samples if B is None else B.shape[1] for B in factors) < self.n_samples:
            parts = []
            for block, B in zip(self.blocks, factors, strict=True):
                parts.append(np.zeros((self.n_samples, B.shape[1])))
                parts[-1][block.v] = B
            Z = np.hstack(parts)
            values, U = scipy.linalg.eigh(Z.T @ Z, check_finite=False)
            values = np.sqrt(np.maximum(values[::-1], 0.0))
            return values, Z @ (U[:, ::-1] * inverse_sqrt(values**2))
        S = np.zeros((self.n_samples, self.n_samples))
        for block in self.blocks:
            X = block.X.to_dense()
            S[np.ix_(block.v, block.v)] += X @ X.T
        values, vectors = scipy.linalg.eigh(S, check_finite=False)
        return np.sqrt(np.maximum(values[::-1], 0.0)), vectors[:, ::-1]

    def initial_point(self, lam: float, max_rank: int) -> Point:
        """Left factor of the zero-filled matrix, not thresholded: a column of zeros would stay zero.

        Directions with a singular value below lam are left out but for five, and for those that equal the
        last one kept.
        """
        values, vectors = self.spectrum
        rank = min(int((values > (1 - DISTINCT_RTOL) * lam).sum()) + 5, len(values))
        rank = min(int((values >= (1 - DISTINCT_RTOL) * values[rank - 1]).sum()), max_rank)
        return (vectors[:, :rank] * np.sqrt(values[:rank]),)

    def evaluate(self, lam: float, point: Point) -> UpdateEvaluation:
        """Objective at A with the best B, and the A that is best for that B."""
        (A,) = point
        right = np.zeros_like(A)
        grams = []
        value = 0.5 * self.total + 0.5 * lam * float(np.vdot(A, A))
        for block in self.blocks:
            _, XB, BB = block.fit_right_factor(A, lam)
            right[block.v] += XB
            grams.append(BB)
            value -= 0.5 * float(np.vdot(A[block.v], XB))  # |X|^2 - 2 <X, A B'> + |A B'|^2 + lam |B|^2
        return UpdateEvaluation(point, value, (_solve_left_factor(self.patterns, right, grams, lam),))


def _solve_left_factor(
    patterns: Sequence[tuple[Array, Array]], right: Array, grams: Sequence[Array], lam: float
) -> Array:
    """Rows ``a_t = (sum_v B_v' B_v + lam I)^-1 right_t`` over the views of sample t; zero without any."""
    A, I = np.zeros_like(right), np.eye(right.shape[1])  # noqa: E741
    for views, rows in patterns:
        if len(views):
            T = sum((grams[v] for v in views.tolist()), lam * I)
            A[rows] = cholesky_solve(cholesky(T, "row moments"), right[rows].T).T
    return A


@estimator
class SVTFill(RegularisedCompleter):
    """Fill by singular value thresholding of the stacked kernels (soft-impute).

    Assumes that the kernels of all views side by side, samples in rows, are nearly of low rank: that a
    few directions, the same for all views, determine every sample.  Completed kernels keep their observed
    block to the last bit and are positive semidefinite.

    It fails where views share little: then every view needs directions of its own, the rank is high,
    and what comes back is close to the mean.  The theory behind it wants single entries missing; here
    whole blocks are, and even low rank without noise is recovered only in part, where
    :class:`absentia.EMFill` is exact.  It shrinks: absent samples end up too close to the mean.  Where
    many samples have a single view the minimum is not unique, and the one found depends on the start,
    which is always the zero-filled matrix.  A sample without any view becomes the mean.

    Parameters
    ----------
    threshold : float or "heldout", default "heldout"
        Singular values are shrunk by this share of the largest.  ``"heldout"`` hides a tenth of each
        view's observed samples, fits along a path from 1/2 down to 1/64, and takes the value that
        completes their kernel values best (kept in ``heldout_curve_``).
    max_rank : int, default 100
        No more directions than that.  Where the solution needs fewer (see ``rank_``) it is a global
        minimum; otherwise the best found at that rank.
    tol, max_iter, random_state, callback, verbose
        As in :class:`EMFill`.

    Attributes
    ----------
    threshold_ : float
    rank_ : int
        Number of directions with a singular value that is not negligible (1e-6 of the largest).
    heldout_curve_ : dict
        Error by threshold, for ``threshold="heldout"``.
    objective_ : ndarray
        Objective after each iteration; never rises beyond rounding.
    n_iter_, converged_, status_, names_in_, ids_

    Notes
    -----
    New samples (``transform``) get coordinates along the directions found in training; refitting with them
    would move those a little.  One evaluation costs two products of each kernel, or of its factors, with
    ``max_rank`` vectors, and one factorisation of that size for each pattern of absence.

    Examples
    --------
    >>> from absentia import SVTFill, ViewKernels, datasets, missingness
    >>> views = datasets.load_digit_views(n_samples=60).views
    >>> kernels = ViewKernels().fit_transform(views.hide(missingness.mcar(views, 0.3, random_state=0)))
    >>> bool(SVTFill(threshold=0.1).fit_transform(kernels).observed.all())
    True
    """

    threshold: Annotated[float, Range(above=0, below=1)] | Literal["heldout"] = "heldout"
    _: KW_ONLY
    max_rank: PositiveInt = 100

    _strength, _path = "threshold", tuple(0.5 ** (i + 1) for i in range(6))

    def _make_fitter(self, X: KernelViews, earlier: _SVTFitter | None = None) -> _SVTFitter:
        return _SVTFitter(self, X)

    def _compute_lam(self, problem: _SVTProblem, threshold: float) -> float:
        largest = float(problem.spectrum[0][0])
        return threshold * largest if largest > 0 else 1.0  # zero: all samples become the mean

    def _set_bases(self, problem: _SVTProblem, lam: float, point: Point) -> None:
        """Bases of every view from the left factor A."""
        (self._left,) = point
        self._lam_, self._sizes = lam, [block.scale for block in problem.blocks]
        self._mean_diagonals = [float(b.K.diagonal().mean()) if len(b.v) else 0.0 for b in problem.blocks]
        self._bases = self._make_bases([block.K for block in problem.blocks], problem.observed)
        values = scipy.linalg.svdvals(self._left) ** 2
        self.rank_ = int((values > 1e-6 * values[0]).sum()) if values[0] > 0 else 0

    def _make_bases(self, kernels: Sequence[Operator], observed: Array) -> list[Basis]:
        columns = zip(kernels, observed.T, strict=True)
        return [Basis.about_mean(K, _ridge_coefficients(self._left[v], self._lam_)) for K, v in columns]

    def _compute_right_factors(self) -> list[Array]:
        """B of every view; a sample with the centred kernel row k_t contributes ``B' k_t / size``."""
        parts = zip((basis.G[:, 1:] for basis in self._bases), self._sizes, strict=True)
        return [(G - G.sum(axis=0) / max(len(G), 1)) / size for G, size in parts]

    def _projections(self) -> list[Array]:
        return [B / size for B, size in zip(self._compute_right_factors(), self._sizes, strict=True)]

    def _predict_coordinates(self, known: Sequence[Array], observed: Array) -> list[Coordinates]:
        patterns = [(np.flatnonzero(p), rows) for p, rows in group_by_pattern(observed)]
        grams = [B.T @ B for B in self._compute_right_factors()]
        W = add_mean_coordinate(_solve_left_factor(patterns, np.sum(known, axis=0), grams, self._lam_))
        pairs = zip(self._bases, self._mean_diagonals, strict=True)
        return [Coordinates(W, np.maximum(mean - basis.squared_norms(W), 0.0)) for basis, mean in pairs]


class _SVTFitter:
    """Fits from the zero-filled matrix: directions that a threshold shrank away would be slow to return."""

    def __init__(self, completer: SVTFill, X: KernelViews) -> None:
        self.X, self.completer, self.problem = X, completer, _SVTProblem.of(X)

    def fit(self, strength: float, **options: Any) -> Solution[AccelerationState]:
        problem, lam = self.problem, self.completer._compute_lam(self.problem, strength)
        first = problem.initial_point(lam, int(self.completer.max_rank))
        solution = accelerate(lambda point: problem.evaluate(lam, point), first, **options)
        self.completer._set_bases(problem, lam, solution.state.at.point)
        return solution

    def get_coordinates(self) -> list[Array]:
        return self.completer._project_rows(self.X)
