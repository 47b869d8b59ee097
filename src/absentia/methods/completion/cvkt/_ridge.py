"""Ridge regression from the other views' features to one view's, in closed form, in one or more rounds.

For one view, with ``psi_t`` the other views' features of sample t (see ``_features``) and I the samples
that have the view and another one:

    coordinates   y_t = Q' (psi_t - mean over I),   Q the principal axes over I,  Y'Y = diag(s^2)
    weights       W = 1/|I| + Y_all B',             B = Y (s^2 + lambda)^-1 by ridge regression
    completed     K^ = W K W'

Everything is kept as ``W = X weights'`` with thin ``X = [1, other, y]``: ``other`` is one where a sample
has another view.  The row of a sample that has none is [1, 0, 0], which is the mean of the view.

Where the ridge is known no principal axes are needed.  With Psi centred, the same weights are

    Y_all B' = Psi_all (Psi' Psi + lambda)^-1 Psi' = (Psi_all Psi') (Psi Psi' + lambda)^-1,

one Cholesky factorisation of the smaller of two matrices.

After a round, what is absent in a view is filled with what was transferred, and everything is learned
again.  The first round selects its ridge by leaving one out, for which it needs principal axes; later ones
keep it.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass, replace
from functools import cached_property
from typing import Any, Literal, NamedTuple, Self

import numpy as np
import scipy.linalg

from absentia.core import Array, Operator, argmin_key, choose_rank
from absentia.core.linalg import symmetrize, whitening_matrix
from absentia.data import KernelViews
from absentia.methods.completion._base import Basis, Coordinates
from absentia.methods.completion.cvkt._features import (
    FeatureMap,
    as_count,
    eigh,
    feature_map,
    has_other_view,
    keeps_values,
    stack_other_views,
    view_features,
)

#: What leave-one-out selects from, in units of the mean eigenvalue: half decades.
RIDGES = np.logspace(-4, 2, 13)
#: With less of a ridge than that, in units of the mean eigenvalue, solving would lose too many digits.
_MIN_SOLVE_RIDGE = 1e-5
ANY_LENGTH = 1e300


class RidgeOptions(NamedTuple):
    """How a view is learned from the others."""

    solver: Literal["ridge", "closed"]
    ridge: float | Literal["loo"]
    rank: float | None
    easing: float = 1.0  # ridge of later rounds, as a share of that of the first


# ------------------------------------------------------------------------- one view from the others


def _principal_axes(Psi: Array) -> tuple[Array, Array]:
    """Principal axes of centred features `Psi`, and the sums of squares of coordinates ``Psi axes``."""
    n, m = Psi.shape
    if not min(n, m):
        return np.zeros((m, 0)), np.zeros(0)
    squares, V = eigh(Psi.T @ Psi if m <= n else Psi @ Psi.T)
    squares, V = take_positive(squares, V, n, m)
    return V if m <= n else Psi.T @ (V / np.sqrt(squares)), squares


def take_positive(squares: Array, V: Array, n: int, m: int) -> tuple[Array, Array]:
    """Of the eigenvalues (ascending) and -vectors of products of n x m features what is no rounding."""
    positive = squares > max(n, m) * np.finfo(np.float64).eps * max(squares[-1], 0.0)
    return squares[positive], V[:, positive]


def loo_errors(
    Y: Array, squares: Array, Phi: Array, ridges: Iterable[float], n: int | None = None, cross: Any = None
) -> Array:
    """Sums of squared errors in feature space of predicting each sample from all others, in closed form.

    With H the ridge's hat matrix, intercept included, the error at t is
    ``[(I - H) Phi Phi' (I - H)']_tt / (1 - H_tt)^2``; the rows of `Y` and `Phi` are centred, and all `n`
    that were learned from, unless ``cross``, their ``Y' Phi``, comes with them.
    """
    errors, n, cross = [], n or len(Y), Y.T @ Phi if cross is None else cross
    for ridge in ridges:
        YD = Y / (squares + ridge)
        residual = Phi - YD @ cross
        left = 1 - 1 / n - np.einsum("ij,ij->i", YD, Y)
        errors.append(np.sum(np.einsum("ij,ij->i", residual, residual) / left**2))
    return np.array(errors)


def least_ridge(errors: Array) -> float:
    """The ridge of :data:`RIDGES` with the least error; of those within rounding of it the largest."""
    return float(argmin_key(dict(zip(RIDGES[::-1], errors[::-1], strict=True))))


def _select_ridge(Y: Array, squares: Array, Phi: Array) -> float:
    """The ridge, in units of the mean eigenvalue, with the least leave-one-out error."""
    if not len(squares):
        return float(RIDGES[-1])
    errors = loo_errors(Y, squares, Phi - Phi.mean(axis=0), RIDGES * squares.sum() / len(Y))
    return least_ridge(errors / len(Y))


def _aligned_axes(Y: Array, squares: Array, Phi: Array, ridge: float, rank: int) -> tuple[Array, Array]:
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
        return Y / (squares + ridge)  # at full rank the aligned optimum is this, too
    half = 1 / np.sqrt(squares + ridge)
    rank = as_count(options.rank, min(max_rank, max(len(Y) - 1, 1)))
    V, _ = _aligned_axes(Y, squares, Phi - Phi.mean(axis=0), ridge, rank)
    return (Y * half) @ V @ (V.T * half)


def _axes_by_solving(Psi: Array, ridge: float) -> tuple[Array, Array]:
    """Axes and slopes of ridge regression from centred features `Psi`, by one factorisation."""
    n, m = Psi.shape
    A = Psi.T @ Psi if m <= n else Psi @ Psi.T
    unit = float(np.trace(A)) / max(n, 1)
    if not unit > 0:  # nothing to learn from
        return np.zeros((m, 0)), np.zeros((n, 0))
    A[np.diag_indices_from(A)] += ridge * unit
    root = whitening_matrix(A, "moments of features").T  # A^-1 = root root'
    return (root, Psi @ root) if m <= n else (Psi.T @ root, root)


@dataclass(frozen=True)
class Refill:
    """What takes features `Psi` of the other views to a view's: ``means[0] + other * (means[1] + ...)``."""

    mean: Array  # of Psi
    slopes: Array
    means: Array  # of the view's features: of all that have it, and what those learned from have more

    def features(self, Psi: Array, other: Array) -> Array:
        """Of samples with features `Psi` of the other views; `other`: whether they have any of these."""
        return self.means[0] + other[:, None] * (self.means[1] + (Psi - self.mean) @ self.slopes)


@dataclass(frozen=True)
class _Transfer:
    """Ridge regression from the other views' features to weights over a view's samples."""

    mean: Array  # of the features learned from
    axes: Array  # y = (psi - mean) axes
    weights: Array  # observed samples x (2 + axes)
    ridge: float  # in units of the mean eigenvalue
    to_features: Array  # weights' Phi: from X to features of the view

    @classmethod
    def fit(
        cls, Psi: Array, learnable: Array, Phi: Array, options: RidgeOptions, max_rank: int, selected: float
    ) -> Self:
        """`Psi`, `Phi`: features of the other views and of the view, of the samples observed in it.

        Samples that are not `learnable` have no other view.  `max_rank`: how many features the other views
        could have.  `selected`: the ridge that leave-one-out selected before, or NaN.
        """
        n, ridge = int(learnable.sum()), options.ridge
        mean = Psi[learnable].mean(axis=0) if n else np.zeros(Psi.shape[1])
        centered = Psi[learnable] - mean
        if ridge != "loo" and ridge >= _MIN_SOLVE_RIDGE and options.rank is None:
            axes, slopes = _axes_by_solving(centered, ridge)
        else:
            axes, squares = _principal_axes(centered)
            Y = centered @ axes
            if ridge == "loo":
                ridge = _select_ridge(Y, squares, Phi[learnable]) if np.isnan(selected) else selected
            unit = squares.sum() / max(n, 1)
            slopes = _slopes(Y, squares, Phi[learnable], ridge * unit, options, max_rank)
        weights = np.zeros((len(Psi), 2 + axes.shape[1]))
        weights[:, 0] = 1 / max(len(Psi), 1)
        weights[learnable, 1] = 1 / max(n, 1)
        weights[:, 1] -= weights[:, 0] if n else 0.0
        weights[learnable, 2:] = slopes
        return cls(mean, axes, weights, float(ridge), weights.T @ Phi)

    def rows(self, Psi: Array, other: Array) -> Array:
        """``X = [1, other, y]`` of samples with features `Psi` of the other views."""
        y = np.where(other[:, None], (Psi - self.mean) @ self.axes, 0.0)
        return np.column_stack([np.ones(len(Psi)), other, y])

    def refill(self) -> Refill:
        """What gives samples features of the view."""
        return Refill(self.mean, self.axes @ self.to_features[2:], self.to_features[:2])


# ------------------------------------------------------------------------------- rounds of all views


def refill_features(refills: Sequence[Refill], features: Sequence[Array], observed: Array) -> list[Array]:
    """Features with those of absent samples replaced by what is transferred."""
    refilled = []
    for v, refill in enumerate(refills):
        absent, other = ~observed[:, v], has_other_view(observed, v)
        rows = features[v]
        if absent.any():
            rows = rows.copy()
            rows[absent] = refill.features(stack_other_views(features, v, absent), other[absent])
        refilled.append(rows)
    return refilled


@dataclass(frozen=True)
class TransferRound:
    """The features that a round starts from, and what is learned from them, by view."""

    data: TransferData
    features: Sequence[Array]
    transfers: Sequence[_Transfer]

    @cached_property
    def refills(self) -> list[Refill]:
        """What gives samples the features that the next round starts from."""
        return [transfer.refill() for transfer in self.transfers]


@dataclass(frozen=True)
class TransferData:
    """What the first round starts from: kernels and their features, zero where a view is absent."""

    X: KernelViews
    maps: Sequence[FeatureMap]
    features: Sequence[Array]

    @classmethod
    def of(cls, X: KernelViews, landmarks: Sequence[Array | None]) -> Self:
        """`landmarks` by view, as positions among the samples observed in it; None: all of them."""
        kernels = map(X.operator, X.names)
        maps = [feature_map(K, P).center(K) for K, P in zip(kernels, landmarks, strict=True)]
        return cls(X, maps, view_features(X, maps))

    def rounds(
        self, options: RidgeOptions, first: Sequence[_Transfer] | None = None, selected: Array | None = None
    ) -> Iterator[TransferRound]:
        """One round after the other, without end.

        The ridge stays that of the first round, times ``options.easing``: later ones see, in the other
        views, what had been transferred from the view itself, and would find leaving one out too easy.
        `first`: the first round's transfers, where they are known; `selected`: its ridges, where these are.
        """
        first = first or self._learn(self.features, [options] * len(self.maps), selected)
        this = TransferRound(self, self.features, first)
        later = [options._replace(ridge=options.easing * transfer.ridge) for transfer in first]
        while True:
            yield this
            features = refill_features(this.refills, this.features, self.X.observed)
            this = TransferRound(self, features, self._learn(features, later))

    def _learn(
        self, features: Sequence[Array], options: Sequence[RidgeOptions], selected: Array | None = None
    ) -> list[_Transfer]:
        """Every view learned from the other views' features."""
        selected = np.full(len(self.maps), np.nan) if selected is None else selected
        observed, max_ranks = self.X.observed, [mapping.max_features for mapping in self.maps]
        transfers = []
        for v, present in enumerate(observed.T):
            Psi, Phi = stack_other_views(features, v, present), self.features[v][present]
            learnable = has_other_view(observed, v)[present]
            max_rank = sum(max_ranks) - max_ranks[v]
            transfers.append(_Transfer.fit(Psi, learnable, Phi, options[v], max_rank, float(selected[v])))
        return transfers


@dataclass(frozen=True)
class CrossViewRegression:
    """Everything learned: the bases of the views, and how samples get coordinates along them."""

    maps: Sequence[FeatureMap]
    refills: Sequence[Sequence[Refill]]  # of the rounds before the last
    transfers: Sequence[_Transfer]  # of the last
    diagonals: Sequence[DiagonalRange]
    keep: bool
    bases: Sequence[Basis]

    @classmethod
    def of_round(
        cls, last: TransferRound, refills: Sequence[Sequence[Refill]] = (), *, keep: bool
    ) -> tuple[Self, list[Coordinates]]:
        """What is learned in a round after others with these `refills`, and the samples' coordinates."""
        data = last.data
        parts = zip(map(data.X.operator, data.X.names), data.maps, last.transfers, strict=True)
        bases = [_make_basis(K, mapping.negative, transfer.weights) for K, mapping, transfer in parts]
        diagonals = [DiagonalRange.of(data.X.diagonal(name)) for name in data.X.names]
        model = cls(data.maps, refills, last.transfers, diagonals, keep, bases)
        return model, model._coordinates(data.X, last.features)

    def without_shortening(self) -> Self:
        """The same, but that new samples may be longer than any that was seen."""
        diagonals = [diagonal._replace(largest=ANY_LENGTH) for diagonal in self.diagonals]
        return replace(self, diagonals=diagonals)

    def coordinates(self, X: KernelViews) -> list[Coordinates]:
        """Coordinates of new samples."""
        features = view_features(X, self.maps)
        for refills in self.refills:
            features = refill_features(refills, features, X.observed)
        return self._coordinates(X, features)

    def _coordinates(self, X: KernelViews, features: Sequence[Array]) -> list[Coordinates]:
        """Coordinates of the samples of `X` that do not keep their values, from features in all views."""
        coordinates = []
        for v, (name, transfer) in enumerate(zip(X.names, self.transfers, strict=True)):
            replaced, present = ~keeps_values(X.observed, v, self.keep), X.observed[:, v]
            diagonal = np.full(len(X), self.diagonals[v].median)
            diagonal[present] = X.diagonal(name)
            Psi, other = stack_other_views(features, v, replaced), has_other_view(X.observed, v)[replaced]
            rows = transfer.rows(Psi, other)
            norms = self.bases[v].squared_norms(rows)
            coordinates.append(self.diagonals[v].adjust(rows, norms, diagonal[replaced]))
        return coordinates


def _make_basis(K: Operator, N: Array, weights: Array) -> Basis:
    """Axes along the weights, the negative part ``-N N'`` of K left out.

    So the completed kernel is positive semidefinite but for the observed block's own rounding.
    """
    G = K @ weights + N @ (N.T @ weights)
    return Basis(weights, G, symmetrize(weights.T @ G))


class DiagonalRange(NamedTuple):
    """The median and the largest of the observed kernel values of samples with themselves."""

    median: float
    largest: float

    @classmethod
    def of(cls, diagonal: Array) -> Self:
        if not len(diagonal):
            return cls(0.0, 0.0)
        return cls(float(np.median(diagonal)), float(np.max(diagonal)))

    def adjust(self, rows: Array, norms: Array, diagonal: Array) -> Coordinates:
        """Coordinates `rows` of squared norms `norms`, with a remainder that brings these up to `diagonal`.

        A prediction longer than any sample that was seen is shortened, all else kept.
        """
        longest = np.maximum(diagonal, self.largest)
        rows = rows * np.sqrt(longest / np.maximum(np.maximum(norms, longest), 1e-300))[:, None]
        return Coordinates(rows, np.maximum(diagonal - np.minimum(norms, longest), 0.0))
