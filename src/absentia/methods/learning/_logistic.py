"""Logistic regression with a squared penalty on a kernel or on features, its strength by leave-one-out.

Model
-----
Rows ``z_i`` are what is left of a kernel or table once it is centred and written in its principal axes,
scaled so that their mean squared length is one: penalties then mean the same for every kernel.  For each
class against the rest (of two classes: for the second) the weights minimise

    sum_i s_i log(1 + exp(-y_i (b0 + z_i'b)))  +  1 / (2C) |b|^2 ,      y_i = +-1, s_i the sample's weight,

by Newton's method, from small C to large, each begun where the last ended.  Of more than two classes the
probabilities against the rest are divided by their sum.

Leaving a sample out
--------------------
With H the Hessian at the solution, ``h_i = a_i' H^-1 a_i`` (``a_i = (1, z_i)``), slope ``g_i = s_i (p_i -
[y_i = 1])`` and curvature ``W_i = s_i p_i (1 - p_i)``, the score of sample i by the machine without it is,
but for terms of second order,

    eta_i + h_i g_i / (1 - h_i W_i)

(K. R. Rad and A. Maleki, "A scalable estimate of the out-of-sample prediction error via approximate
leave-one-out cross-validation", JRSS B 82, 2020).  One decomposition gives all of them, and C is that of
the least log-loss of these scores, the least C of equals.  ``1 - h_i W_i`` is kept above a hundredth: where
classes separate, a sample may hold its own score alone.

Where samples are in groups, whole groups are left out: with ``V_g = L^-1 A_g'`` (``H = L L'``), slopes
``g_g`` and curvatures ``W_g`` of the members, their scores without all of them are, in the same sense,

    eta_g + V_g' (I - V_g W_g V_g')^-1 V_g g_g ,

eigenvalues of ``I - V_g W_g V_g'`` kept above a hundredth.

All of it is sums over samples (``_sums``), made block by block: rows stay in the precision that they came
in, and memory is that of the rows along their axes.
"""

from collections.abc import Callable, Sequence
from dataclasses import KW_ONLY
from typing import Any, Literal, NamedTuple

import numpy as np
from numpy.linalg import eigh  # divide and conquer: a quarter less time than SciPy's own choice
from scipy.linalg import cho_factor, cho_solve, solve_triangular
from scipy.special import expit
from sklearn.utils.extmath import randomized_svd

from absentia.core import Array, Positive, estimator, get_factors
from absentia.core.linalg import inverse_sqrt, solve_left_out
from absentia.core.optimize import Solution, StoppingRule, iterate
from absentia.data import KernelViews, number_groups, order_for_learning, prefers_factors, stack_groups
from absentia.methods.learning._base import Classifier
from absentia.methods.learning._inputs import scatter_rows
from absentia.methods.learning._machines import KernelMachine
from absentia.methods.learning._sums import (
    BLOCK_ROWS,
    DesignMatrix,
    LossSums,
    RowSums,
    add_up,
    cache_blocks,
    logistic_loss,
)

_GRID = tuple(10.0**k for k in range(-2, 5))
_TOL, _MAX_ITER = 1e-12, 100
_MORE_STEPS = 3  # with the same Hessian
_RANK = 1e-10  # axes with a smaller share of the largest variance are rounding
_MAX_AXES = 300  # principal axes that are learned along: the rest of a curved kernel is next to nothing
_MAX_DECOMPOSED = (
    3000  # rows and columns; of larger tables the leading axes are found by random projections
)
_MIN_DENOMINATOR = 0.01
_SHORTEST_STEP = 2.0**-40
_MIN_PROBABILITY = 1e-4  # the least that leave-one-out counts a class as: one sample does not decide


# ------------------------------------------------------------------------------------- Newton's method


class NewtonPoint(NamedTuple):
    """Coefficients, the objective there, half of the decrement before, the Hessian's factor then."""

    w: Array
    value: float
    gain: float
    factor: Array  # lower triangular


def minimise_convex(
    value: Callable[[Array], float],
    slopes: Callable[[Array], tuple[Array, Array]],
    start: Array,
    *,
    tol: float,
    gradient: Callable[[Array], Array] | None = None,
) -> Solution[NewtonPoint]:
    """Minimise `value` to a decrement of `tol`; `slopes` gives gradient and positive definite Hessian.

    With `gradient`, which costs far less than a Hessian, every step is followed by three with the same
    Hessian, as long as they go down (V. E. Shamanskii, 1967).
    """

    def go_on(w: Array, reached: float, factor: Any) -> tuple[Array, float]:
        if gradient is None:
            return w, reached
        for _ in range(_MORE_STEPS):
            further = w - cho_solve(factor, gradient(w), check_finite=False)
            if not (below := value(further)) < reached:
                break
            w, reached = further, below
        return w, reached

    def step(now: NewtonPoint) -> NewtonPoint:
        slope, H = slopes(now.w)
        factor = cho_factor(H, lower=True, check_finite=False)
        move = -cho_solve(factor, slope, check_finite=False)
        fall, length = -float(slope @ move), 1.0
        if fall / 2 <= tol:  # rounding decides whether the objective still falls
            return NewtonPoint(now.w + move, now.value - fall / 2, fall / 2, factor[0])
        while length > _SHORTEST_STEP:
            reached = value(now.w + length * move)
            if reached <= now.value - 1e-4 * length * fall:
                w, reached = go_on(now.w + length * move, reached, factor)
                return NewtonPoint(w, reached, fall / 2, factor[0])
            length /= 2
        return NewtonPoint(now.w, now.value, 0.0, factor[0])

    begin = NewtonPoint(start, value(start), np.inf, np.zeros((0, 0)))
    # a step's gain is known once it is made: what it leaves over is smaller still
    stop = StoppingRule(tol, "what a step gains", measure=lambda now: now.gain)
    return iterate(step, lambda now: now.value, begin, stop=stop, max_iter=_MAX_ITER)


# ------------------------------------------------------------------------------------------ the model


class Axes(NamedTuple):
    """Principal axes of centred rows: ``Z = (T - center) @ back``, rows of mean squared length one."""

    Z: Array  # rows x axes
    back: Array  # columns of T x axes
    center: Array  # (columns of T,)
    size: float  # mean squared length of the centred rows before they were scaled

    @classmethod
    def of_table(cls, table: Array) -> "Axes":
        """Of a table without gaps, rows x features."""
        center = table.mean(axis=0)
        T = table - center
        if min(T.shape) > _MAX_DECOMPOSED:
            _, _, vectors = randomized_svd(T, _MAX_AXES, random_state=0)
            return cls.of_coordinates(T @ vectors.T, vectors.T, center)
        if T.shape[1] > T.shape[0]:
            values, U = eigh(T @ T.T)
            root, U = _leading(values, U)
            back = T.T @ (U / root)
        else:
            values, back = eigh(T.T @ T)
            root, back = _leading(values, back)
        return cls.of_coordinates(T @ back, back, center)

    @classmethod
    def of_rows(cls, read: Callable[[Any], Array], n: int, dtype: Any) -> "Axes":
        """Of `n` rows of which ``read(slice)`` gives some in double precision; Z is in that precision."""
        if n <= BLOCK_ROWS:
            return cls.of_table(read(slice(0, n)))
        near = read(slice(0, BLOCK_ROWS)).mean(axis=0)  # the center but for what other rows say
        sums: RowSums = add_up(RowSums.of(read(rows) - near) for rows in cache_blocks(n))
        center = near + sums.total / n
        root, back = _leading(*eigh(sums.products - np.outer(sums.total, sums.total / n)))
        size = float((root**2).sum() / n) or 1.0
        Z, back = np.empty((n, len(root)), dtype), back / size**0.5
        for rows in cache_blocks(n):
            Z[rows] = (read(rows) - center) @ back
        return cls(Z, back, center, size)

    @classmethod
    def of_kernel(cls, K: Array) -> "Axes":
        """Of a square kernel; new rows are kernel values with these samples.

        Axes are orthogonal to the constant, so that means of new rows take no part.
        """
        means = K.mean(axis=0)
        values, U = eigh(K - means - means[:, None] + means.mean())
        root, U = _leading(values, U)
        return cls.of_coordinates(U * root, U / root, means)

    @classmethod
    def of_coordinates(cls, Z: Array, back: Array, center: Array) -> "Axes":
        """Rows along the axes, brought to a mean squared length of one."""
        size = float((Z**2).sum(axis=1).mean()) or 1.0
        return cls(Z / size**0.5, back / size**0.5, center, size)


def _leading(values: Array, vectors: Array) -> tuple[Array, Array]:
    """Square roots of the leading eigenvalues and their vectors, without those that are rounding."""
    keep = np.flatnonzero(values > _RANK * max(float(values[-1]), np.finfo(float).tiny))[-_MAX_AXES:]
    return np.sqrt(values[keep]), vectors[:, keep]


def to_probabilities(scores: Array) -> Array:
    """Probabilities out of scores of classes against the rest, rows x classes."""
    p = expit(scores)
    if p.shape[1] == 1:
        return np.hstack([1 - p, p])
    p = np.maximum(p, np.finfo(float).tiny)
    return p / p.sum(axis=1, keepdims=True)


class LogisticFit(NamedTuple):
    """A model, its C, and what leaving out each sample says: probabilities, and log-loss for every C."""

    coef: Array  # columns of the table or kernel that it was learned from x classes, of two classes x 1
    intercept: Array  # of their scores
    C: float
    loo_proba: Array  # samples x classes
    loo_curve: dict[float, float]
    dual: Array  # samples x machines: coefficients of the samples with the same scores
    solution: Solution[NewtonPoint]  # of the class that took longest


class _Rows(NamedTuple):
    """What is learned from: rows with a constant, targets of each class against the rest, weights."""

    A: DesignMatrix
    targets: list[Array]
    y: Array
    weight: Array
    groups: Array | None  # that are left out as a whole

    def solve(self, C: float, start: Sequence[Array]) -> list[Solution[NewtonPoint]]:
        """The weights of each class, begun at `start`."""
        pairs = zip(self.targets, start, strict=True)
        return [_minimise(self.A, t, self.weight, 1 / C, b) for t, b in pairs]

    def leave_one_out(self, solutions: Sequence[Solution[NewtonPoint]]) -> tuple[Array, float]:
        """Probabilities of every row without it, or its group, and their log-loss."""
        pairs = zip(self.targets, solutions, strict=True)
        scores = [self._leave_out(t, solution.state) for t, solution in pairs]
        proba = to_probabilities(np.column_stack(scores))
        true = np.maximum(proba[np.arange(len(self.y)), self.y], _MIN_PROBABILITY)
        return proba, float(-np.average(np.log(true), weights=self.weight))

    def _leave_out(self, y: Array, found: NewtonPoint) -> Array:
        """Scores of the rows of one machine, each by that without it, or without its group."""
        eta = self.A.times(found.w)
        p = expit(eta)
        slope, curvature = self.weight * (p - y), self.weight * p * (1 - p)
        return leave_out_scores(self.A, eta, slope, curvature, found.factor, self.groups)


def fit_logistic(
    axes: Axes, y: Array, weight: Array, n_classes: int, C: float | None = None, groups: Array | None = None
) -> LogisticFit:
    """Learn from rows of classes 0, 1, ..., each as much as its weight says; C by leave-one-out if None.

    With `groups`, a number for each row, what is left out are whole groups.
    """
    A = DesignMatrix(axes.Z)
    targets = [(y == k).astype(float) for k in range(n_classes)][1 if n_classes == 2 else 0 :]
    rows = _Rows(A, targets, y, weight, number_groups(groups))
    start: Sequence[Array] = [np.zeros(A.shape[1])] * len(targets)
    curve: dict[float, float] = {}
    if C is None:
        C, start, curve = select_strength(rows, start)
    solutions = rows.solve(C, start)
    left_out, curve[C] = rows.leave_one_out(solutions)
    b = np.array([solution.state.w for solution in solutions])
    coef = axes.back @ b[:, 1:].T
    slowest = max(solutions, key=lambda solution: (not solution.converged, solution.n_iter))
    intercept = b[:, 0] - axes.center @ coef
    # axes are orthogonal: coordinates of the samples, over the sum of their squares, lead back to an axis
    lengths = np.sum([(Z[:, 1:] ** 2).sum(axis=0) for _, Z in A.blocks()], axis=0)
    back = (b[:, 1:] / (axes.size * np.maximum(lengths, 1e-300))).T
    dual = A.times(np.vstack([np.zeros((1, len(b))), back]))
    return LogisticFit(coef, intercept, C, left_out, dict(sorted(curve.items())), dual, slowest)


def select_strength(rows: Any, start: Sequence[Array]) -> tuple[float, Sequence[Array], dict[float, float]]:
    """The C of least loss of rows left out, weights near its own, and the losses of all C tried.

    ``rows.solve(C, start)`` gives solutions of a C, ``rows.leave_one_out(solutions)`` what they say of rows
    left out, and its loss.
    From the least C on, decade by decade, then half a decade to either side of the best.
    """
    points: dict[float, Sequence[Array]] = {}
    curve: dict[float, float] = {}

    def best() -> float:
        return min(curve, key=lambda c: (round(curve[c], 9), c))

    def evaluate(C: float, start: Sequence[Array]) -> None:
        solutions = rows.solve(C, start)
        points[C] = [solution.state.w for solution in solutions]
        curve[C] = rows.leave_one_out(solutions)[1]

    for C in _GRID:
        evaluate(C, start)
        start = points[C]
        if 100 * best() <= C:  # two decades without a smaller loss
            break
    middle = best()
    for C in (middle / 10**0.5, middle * 10**0.5):
        evaluate(C, points[middle])
    return best(), points[best()], curve


def _minimise(A: DesignMatrix, y: Array, s: Array, penalty: float, start: Array) -> Solution[NewtonPoint]:
    """Weights of least penalised loss of classes 0 and 1."""
    P = np.full(A.shape[1], penalty)
    P[0] = 1e-12 * s.sum()  # the offset is free

    def value(b: Array) -> float:
        loss = sum(logistic_loss(block @ b, y[rows], s[rows]) for rows, block in A.blocks())
        return float(loss + P @ b**2 / 2)

    def slopes(b: Array) -> tuple[Array, Array]:
        sums: LossSums = add_up(
            LossSums.of_logistic(block, y[rows], s[rows], b) for rows, block in A.blocks()
        )
        H = sums.hessian
        H[np.diag_indices_from(H)] += P
        return sums.gradient + P * b, H

    def gradient(b: Array) -> Array:
        parts = (block.T @ (s[rows] * (expit(block @ b) - y[rows])) for rows, block in A.blocks())
        return np.asarray(add_up(parts) + P * b)

    return minimise_convex(value, slopes, start, tol=_TOL * s.sum(), gradient=gradient)


def leave_out_scores(
    A: DesignMatrix, eta: Array, slope: Array, curvature: Array, factor: Array, groups: Array | None
) -> Array:
    """Scores `eta` (n,) of rows, each by the machine without the row, or without its group.

    `slope` and `curvature` (n,) are those of the loss of each row by its score; `factor` is the lower
    triangular one of the Hessian.
    """

    def whiten(rows: Array) -> Array:
        return np.asarray(solve_triangular(factor, rows.T, lower=True, check_finite=False))

    if groups is None:
        h = np.concatenate([(whiten(rows) ** 2).sum(axis=0) for _, rows in A.blocks()])
        return np.asarray(eta + h * slope / np.maximum(1 - h * curvature, _MIN_DENOMINATOR))
    for same_size in stack_groups(groups):  # groups x members
        n_parts = -(-same_size.size // BLOCK_ROWS)
        for members in np.array_split(same_size, n_parts):
            V = whiten(A.take(members.ravel())).reshape(-1, *members.shape)
            own = np.moveaxis(V, 0, 1)  # groups x coefficients x members
            pull = np.einsum("gpm,gm->gp", own, slope[members])
            pull = solve_left_out(own * np.sqrt(curvature[members])[:, None], pull, _MIN_DENOMINATOR)
            eta[members] += np.einsum("gpm,gp->gm", own, pull)
    return np.asarray(eta)


# ------------------------------------------------------------------------------------------ estimator


def _average_axes(X: KernelViews, views: Array, samples: Array, length: Array) -> Axes:
    """Principal axes of the average of some views' kernels, of `samples`, each scaled by its `length`.

    Many samples whose kernels have factors are described by these, side by side: n x n is never formed.
    """
    if prefers_factors(X.select([X.names[v] for v in views])):
        table = FactorTable.of(X, views, samples, length / len(views) ** 0.5)
        return Axes.of_rows(table.read, len(samples), table.dtype)
    place = np.full(len(X), -1)
    place[samples] = np.arange(len(samples))
    K = np.zeros((len(samples), len(samples)))
    for v in views:
        rows = place[X.observed[:, v]]
        seen = rows >= 0
        K[np.ix_(rows[seen], rows[seen])] += X.block(X.names[v])[np.ix_(seen, seen)] / len(views)
    return Axes.of_kernel(K * length[:, None] * length)


class FactorTable(NamedTuple):
    """Factors of some views side by side, rows the samples, zero where a view is absent."""

    factors: list[Array]  # by view, of the samples that have it
    places: list[Array]  # by view, for each row its own among these; -1: it lacks the view
    length: Array  # that each row is multiplied by

    @classmethod
    def of(cls, X: KernelViews, views: Array, samples: Array, length: Array) -> "FactorTable":
        """Of the views and samples at these positions."""
        factors = [np.asarray(get_factors(X.operator(X.names[v]))[0]) for v in views]
        observed = [X.observed[:, v] for v in views]
        return cls(factors, [np.where(has, np.cumsum(has) - 1, -1)[samples] for has in observed], length)

    @property
    def dtype(self) -> Any:
        """The precision of the factors."""
        return np.result_type(*self.factors)

    def select(self, rows: Array) -> "FactorTable":
        """The rows at these positions."""
        return FactorTable(self.factors, [place[rows] for place in self.places], self.length[rows])

    def read(self, rows: slice) -> Array:
        """Some rows, in double precision."""
        table = np.zeros((rows.stop - rows.start, sum(Phi.shape[1] for Phi in self.factors)))
        begin = 0
        for Phi, place in zip(self.factors, self.places, strict=True):
            has = np.flatnonzero(place[rows] >= 0)
            table[has, begin : begin + Phi.shape[1]] = Phi[place[rows][has]]
            begin += Phi.shape[1]
        table *= self.length[rows, None]
        return table


@estimator
class KernelLogistic(KernelMachine, Classifier):
    """Logistic regression on the average of kernels; an absent view counts as zero.

    Samples with few views are as long as others.  Probabilities come with it, without calibration, and so
    does what the machine says of each training sample once that is left out.

    Parameters
    ----------
    C : float or "loo", default "loo"
        Weight of the training errors, the kernel having rows of unit mean square; ``"loo"`` selects it by
        the log-loss of samples (with :attr:`KernelViews.groups`, groups) that are left out one at a time,
        in closed form.
    class_weight : dict, "balanced" or None
        Factor on the samples' weights by class.

    Attributes
    ----------
    C_ : float
    loo_proba_ : ndarray of shape (n_samples, n_classes)
        Probabilities of each training sample by the machine without it; NaN for samples without weight.
    loo_curve_ : dict
        Log-loss of samples left out, for every C that was tried.
    weights_, dual_coef_, bias_, support_, classes_, decision_, names_in_, ids_

    Examples
    --------
    >>> from absentia import KernelLogistic, ViewKernels, datasets, missingness
    >>> views, y = datasets.load_digit_views(n_samples=60, return_X_y=True)
    >>> kernels = ViewKernels().fit_transform(views.hide(missingness.mcar(views, 0.2, random_state=0)))
    >>> KernelLogistic().fit(kernels, y < 5).loo_proba_.shape
    (60, 2)
    """

    C: Positive | Literal["loo"] = "loo"
    _: KW_ONLY
    class_weight: Any = None

    _native_probabilities = True

    def _learn(self, X: KernelViews, y: Array, weight: Array) -> None:
        self._views, order = order_for_learning(X, y, weight)
        counted = order[weight[order] > 0]
        eta = np.zeros(X.n_views)
        eta[self._views] = 1 / len(self._views)
        length = inverse_sqrt(X.observed[counted] @ eta)
        C = None if isinstance(self.C, str) else float(self.C)
        axes = _average_axes(X, self._views, counted, length)
        groups = X.groups if X.groups is None else X.groups[counted]
        fit = fit_logistic(axes, y[counted], weight[counted], len(self.classes_), C, groups)
        self.C_, self.loo_curve_ = fit.C, fit.loo_curve
        self.loo_proba_ = scatter_rows(fit.loo_proba, counted, len(X))
        self._weights = self._norms = np.tile(eta, (len(fit.intercept), 1))
        self.weights_ = self._weights[0] if len(self._weights) == 1 else self._weights
        self.dual_coef_ = np.zeros((len(fit.intercept), len(X)))
        self.dual_coef_[:, counted] = (fit.dual * length[:, None]).T
        self.bias_ = fit.intercept
        self.support_ = np.sort(counted)
        self.usable_ = np.asarray((self._coverage(X) > 0).any(axis=1))
        self._set_convergence(fit.solution)

    def _predict_proba(self, X: KernelViews) -> Array:
        return to_probabilities(self._raw_scores(X))

    def _rescale(self, X: KernelViews, scores: Array) -> Array:
        return scores * inverse_sqrt(X.observed @ self._weights.T)

    def contributions(self, X: KernelViews) -> Array:
        """What each view adds to each row's score, rows x views x machines; the bias is left to none."""
        return self._view_scores(self._check_rows(X))
