"""Ridge regression from the other views' features to one view's, in closed form.

For one view, with ``psi_t`` the other views' features of sample t (see ``_features``) and I the samples
that have the view and another one:

    coordinates   y_t = Q' (psi_t - mean over I),   Q the principal axes over I,  Y'Y = diag(s^2)
    weights       W = 1/|I| + Y_all B',             B = Y (s^2 + lambda)^-1 by ridge regression
    completed     K^ = W K W'

Everything is kept as ``W = X weights'`` with thin ``X = [1, other, y]``: ``other`` is one where a sample
has another view.  The row of a sample that has none is [1, 0, 0], which is the mean of the view.

Where the ridge is known, and only features of absent samples are wanted, no axes are needed:

    phi_t = mean Phi + (psi_t - mean Psi)' (Psi' Psi + lambda)^-1 Psi' Phi          (Psi centred),

or, where there are more features than samples, with ``S = Psi Psi'`` instead,

    phi_t = mean Phi + s_t' (S + lambda)^-1 Phi,     s_t the centred kernel values of t.

Either is one Cholesky factorisation (:class:`RidgeSolve`).  S is the sum of the views' kernels but for one,
so that it is the sum of all less one: every view's kernel is formed once a round.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from functools import cached_property
from typing import Literal, NamedTuple, Self

import numpy as np
import scipy.linalg

from absentia.core import Array, argmin_key, choose_rank, serializable
from absentia.core.linalg import cholesky, cholesky_solve
from absentia.methods.completion.cvkt._features import as_count, eigh, has_other_view, stack_other_views

#: What leave-one-out selects from, in units of the mean eigenvalue: half decades.
GRID = np.logspace(-4, 2, 13)


class RidgeOptions(NamedTuple):
    """How a view is learned from the others."""

    solver: Literal["ridge", "closed"]
    ridge: float | Literal["loo"]
    rank: float | None
    easing: float = 1.0  # ridge of later rounds, as a share of that of the first


@serializable
@dataclass(frozen=True)
class PrincipalAxes:
    """Principal axes of features: ``y = (psi - mean) axes``; ``squares`` are the column sums of y^2."""

    mean: Array
    axes: Array
    squares: Array

    @classmethod
    def of(cls, Psi: Array) -> Self:
        """Of the rows of `Psi`, through the smaller of its two Gram matrices."""
        n, m = Psi.shape
        mean = Psi.mean(axis=0) if n else np.zeros(m)
        Psi = Psi - mean
        if not min(n, m):
            return cls(mean, np.zeros((m, 0)), np.zeros(0))
        w, V = eigh(Psi.T @ Psi if m <= n else Psi @ Psi.T)
        positive = w > max(n, m) * np.finfo(np.float64).eps * max(w[-1], 0.0)
        w, V = w[positive], V[:, positive]
        return cls(mean, V if m <= n else Psi.T @ (V / np.sqrt(w)), w)

    def transform(self, Psi: Array) -> Array:
        return np.asarray((Psi - self.mean) @ self.axes)


def loo_errors(Y: Array, squares: Array, Phi: Array, ridges: Iterable[float]) -> Array:
    """Mean squared error in feature space of predicting each sample from all others, in closed form.

    With H the ridge's hat matrix, intercept included, the error at t is
    ``[(I - H) Phi Phi' (I - H)']_tt / (1 - H_tt)^2``; the rows of `Y` and `Phi` are centred.
    """
    errors, cross = [], Y.T @ Phi
    for ridge in ridges:
        YD = Y / (squares + ridge)
        residual = Phi - YD @ cross
        left = 1 - 1 / len(Y) - np.einsum("ij,ij->i", YD, Y)
        errors.append(np.mean(np.einsum("ij,ij->i", residual, residual) / left**2))
    return np.array(errors)


def select_ridge(Y: Array, squares: Array, Phi: Array) -> float:
    """The ridge of :data:`GRID`, in units of the mean eigenvalue, with the least leave-one-out error.

    Of those within rounding of it the largest.
    """
    if not len(squares):
        return float(GRID[-1])
    errors = loo_errors(Y, squares, Phi - Phi.mean(axis=0), GRID * squares.sum() / len(Y))
    return float(argmin_key(dict(zip(GRID[::-1], errors[::-1], strict=True))))


def aligned_axes(Y: Array, squares: Array, Phi: Array, ridge: float, rank: int) -> tuple[Array, Array]:
    """V, w and so ``U = (s^2 + ridge)^(-1/2) V w^(1/2)``, the rank-r optimum of Eq. 4.

    With ``A = (s^2 + ridge)^(1/2) U`` and ``Z = (s^2 + ridge)^(-1/2) Y' K Y (s^2 + ridge)^(-1/2)`` the
    alignment of K with ``Y U U' Y'`` is ``<Z, A A'> / |A A'| |K|`` (for ridge > 0, the norm of
    the transferred kernel is taken with the ridge added).  By Cauchy-Schwarz no A A' of rank r is
    better aligned with Z than its own r leading eigenpairs (V, w).  Eigenvalues that are alike are kept or
    left out together.
    """
    P = (Y.T @ Phi) / np.sqrt(squares + ridge)[:, None]
    V, root, _ = scipy.linalg.svd(P, full_matrices=False, check_finite=False)
    rank = choose_rank(root, rank)
    return V[:, :rank], root[:rank] ** 2


def _slopes(
    Y: Array, squares: Array, Phi: Array, ridge: float, options: RidgeOptions, max_rank: int
) -> Array:
    """B with weights ``Y_all B'`` beside the mean's; a share of ranks is taken of `max_rank`."""
    if options.solver == "ridge" or options.rank is None or not len(squares):
        return np.asarray(Y / (squares + ridge))  # at full rank the aligned optimum is this, too
    half = 1 / np.sqrt(squares + ridge)
    rank = as_count(options.rank, min(max_rank, max(len(Y) - 1, 1)))
    V, _ = aligned_axes(Y, squares, Phi - Phi.mean(axis=0), ridge, rank)
    return np.asarray((Y * half) @ V @ (V.T * half))


def _truncate_rank(weights: Array, Phi: Array, rank: float, max_rank: int) -> Array:
    """Weights that reach only the mean and the `rank` leading principal components of the view."""
    leading, values, _ = scipy.linalg.svd(Phi, full_matrices=False, check_finite=False)
    leading = leading[:, : choose_rank(values, as_count(rank, min(max_rank, max(len(Phi) - 1, 1))))]
    # beyond the rank of Phi, which is centred, the direction of the mean may be among them
    leading = leading - leading.mean(axis=0)
    return np.asarray(weights.mean(axis=0) + leading @ (leading.T @ weights))


@serializable
@dataclass(frozen=True)
class Refill:
    """What takes features `Psi` of the other views to a view's: ``means[0] + other * (means[1] + ...)``."""

    mean: Array  # of Psi
    slopes: Array
    means: Array  # of the view's features: of all that have it, and what those learned from have more

    def features(self, Psi: Array, other: Array) -> Array:
        """Of samples with features `Psi` of the other views; `other`: whether they have any of these."""
        return np.asarray(
            self.means[0] + other[:, None] * (self.means[1] + (Psi - self.mean) @ self.slopes)
        )


@serializable
@dataclass(frozen=True)
class Transfer:
    """Ridge regression along principal axes: from the other views to weights over a view's samples."""

    axes: PrincipalAxes
    weights: Array  # observed samples x (2 + axes)
    ridge: float  # in units of the mean eigenvalue
    to_features: Array  # weights' Phi: from X to features of the view

    @classmethod
    def fit(
        cls, Psi: Array, learnable: Array, Phi: Array, options: RidgeOptions, max_ranks: tuple[int, int]
    ) -> Self:
        """`Psi`, `Phi`: features of the other views and of the view, of the samples observed in it.

        Samples that are not `learnable` have no other view.  `max_ranks`: how many features the other views
        and the view could have.
        """
        axes = PrincipalAxes.of(Psi[learnable])
        squares, Y = axes.squares, axes.transform(Psi[learnable])
        relative = options.ridge
        if relative == "loo":
            relative = select_ridge(Y, squares, Phi[learnable])
        unit = squares.sum() / max(len(Y), 1)
        weights = np.zeros((len(Psi), 2 + len(squares)))
        weights[:, 0] = 1 / max(len(Psi), 1)
        weights[learnable, 1] = 1 / max(len(Y), 1)
        weights[:, 1] -= weights[:, 0] if len(Y) else 0.0
        weights[learnable, 2:] = _slopes(Y, squares, Phi[learnable], relative * unit, options, max_ranks[0])
        if options.solver == "ridge" and options.rank is not None and Phi.shape[1]:
            weights = _truncate_rank(weights, Phi, options.rank, max_ranks[1])
        return cls(axes, weights, float(relative), weights.T @ Phi)

    def rows(self, Psi: Array, other: Array) -> Array:
        """``X = [1, other, y]`` of samples with features `Psi` of the other views."""
        y = np.where(other[:, None], self.axes.transform(Psi), 0.0)
        return np.column_stack([np.ones(len(Psi)), other, y])

    def refill(self) -> Refill:
        """What gives samples features of the view."""
        return Refill(self.axes.mean, self.axes.axes @ self.to_features[2:], self.to_features[:2])


class RoundFeatures:
    """Features of all samples in every view, and the kernels that views share in a round."""

    def __init__(self, features: Sequence[Array], observed: Array) -> None:
        self.features, self.observed = features, observed

    def kernel(self, v: int, rows: Array, columns: Array) -> Array:
        """Kernel of all views but `v`, of some samples with some others."""
        block = np.ix_(rows, columns)
        return np.asarray(self._total[block] - self._kernels[v][block])

    @cached_property
    def _kernels(self) -> list[Array]:
        return [F @ F.T for F in self.features]

    @cached_property
    def _total(self) -> Array:
        return np.asarray(sum(self._kernels))


class RidgeSolve:
    """Ridge regression from the other views' features to view `v`, factorised; no axes."""

    def __init__(self, data: RoundFeatures, v: int, ridge: float) -> None:
        self.data, self.v, self.Phi = data, v, data.features[v]
        self.other = has_other_view(data.observed, v)
        self.observed = np.flatnonzero(data.observed[:, v])
        self.train = np.flatnonzero(data.observed[:, v] & self.other)
        n, self.width = len(self.train), sum(F.shape[1] for F in data.features) - self.Phi.shape[1]
        self.primal = self.width <= n
        A = self._moments() if self.primal else self._kernel()
        unit = float(np.trace(A)) / max(n, 1)
        self.empty = not unit > 0  # nothing to learn from
        if not self.empty:
            A[np.diag_indices_from(A)] += ridge * unit
            self.L = cholesky(A, "moments of features")

    def _moments(self) -> Array:
        Psi = self._psi(self.train)
        self.mean = Psi.mean(axis=0) if len(Psi) else np.zeros(Psi.shape[1])
        Psi -= self.mean  # not kept: as many as samples, for every view
        self.cross_moments = Psi.T @ (self.Phi[self.train] - self._means.sum(axis=0))
        return np.asarray(Psi.T @ Psi)

    def _kernel(self) -> Array:
        S = self.data.kernel(self.v, self.train, self.train)
        self.column_means = S.mean(axis=0) if len(S) else np.zeros(0)
        return self._center_rows(S)

    def _center_rows(self, S: Array) -> Array:
        """Rows of kernel values with the samples learned from, as if their mean were the origin."""
        if not len(self.column_means):
            return S
        return np.asarray(S - S.mean(axis=1)[:, None] - self.column_means + self.column_means.mean())

    def _psi(self, samples: Array) -> Array:
        mask = np.zeros(len(self.other), dtype=bool)
        mask[samples] = True
        return stack_other_views(self.data.features, self.v, mask)

    def _kernel_rows(self, samples: Array) -> Array:
        return self._center_rows(self.data.kernel(self.v, samples, self.train))

    def weights(self, samples: Array) -> Array:
        """Weights of `samples` (positions, ascending) over the samples that have the view."""
        m, n = len(self.observed), len(self.train)
        W, other = np.full((len(samples), m), 1 / max(m, 1)), self.other[samples]
        trained = np.searchsorted(self.observed, self.train)
        if n:
            W[other] = 0.0
            W[np.ix_(other, trained)] = 1 / n
        if not self.empty:
            linked = samples[other]
            if self.primal:
                solved = cholesky_solve(self.L, (self._psi(linked) - self.mean).T)
                weights = ((self._psi(self.train) - self.mean) @ solved).T
            else:
                weights = cholesky_solve(self.L, self._kernel_rows(linked).T).T
            W[np.ix_(other, trained)] += weights
        return W

    @cached_property
    def _means(self) -> Array:
        """Of the view's features: of all that have it, and what those learned from have more."""
        Phi = self.Phi  # what is observed stays as it was in the first round
        mean = Phi[self.observed].mean(axis=0) if len(self.observed) else np.zeros(Phi.shape[1])
        return np.stack([mean, Phi[self.train].mean(axis=0) - mean if len(self.train) else 0 * mean])

    @cached_property
    def _slopes(self) -> Array:
        """What takes the other views' features, or kernel values, to the view's own less their mean."""
        if self.primal:
            return cholesky_solve(self.L, self.cross_moments)
        return cholesky_solve(self.L, self.Phi[self.train] - self._means.sum(axis=0))

    def fill_absent(self) -> Array:
        """Features of the view, with what is transferred where it is absent."""
        absent = np.flatnonzero(~self.data.observed[:, self.v])
        other, features = self.other[absent], self.Phi.copy()
        features[absent] = self._means[0] + other[:, None] * self._means[1]
        if not self.empty:
            linked = absent[other]
            rows = self._psi(linked) - self.mean if self.primal else self._kernel_rows(linked)
            features[linked] += rows @ self._slopes
        return features

    def refill(self) -> Refill:
        """The same for new samples."""
        if self.empty:
            return Refill(np.zeros(self.width), np.zeros((self.width, self.Phi.shape[1])), self._means)
        if self.primal:
            return Refill(self.mean, self._slopes, self._means)
        Psi = self._psi(self.train)
        mean = Psi.mean(axis=0)
        return Refill(mean, (Psi - mean).T @ self._slopes, self._means)
