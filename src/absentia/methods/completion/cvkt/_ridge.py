"""Cross-view kernel transfer by ridge regression, in closed form.

For one view, with ``psi_t`` the other views' features of sample t (see
``_features``) and I the samples that have the view and another one:

    coordinates   y_t = Q' (psi_t - mean over I),   Q the principal axes over I,  Y'Y = diag(s^2)
    weights       W = 1/|I| + Y_all B',             B = Y (s^2 + lambda)^-1 by ridge regression
    completed     K^ = W K W'

Everything is kept as ``W = X weights'`` with thin ``X = [1, other, y]``: ``other`` is one where a sample
has another view.  The row of a sample that has none is [1, 0, 0], which is the mean of the view.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass, replace
from functools import cached_property
from itertools import islice
from typing import Literal, NamedTuple, Self, cast

import numpy as np
import scipy.linalg
import scipy.sparse

from absentia.core import Array, Operator, clear_cut, least, serializable, symmetrize
from absentia.data import KernelViews
from absentia.methods.completion._subspace import Basis, Coordinates
from absentia.methods.completion.cvkt._features import (
    FeatureMap,
    count,
    eigh,
    feature_map,
    has_another,
    side_by_side,
    spread_features,
)
from absentia.methods.completion.cvkt._rounds import FIRM, Refill, Solved, solve_round

#: What leave-one-out chooses from, in units of the mean eigenvalue: half decades.
GRID = np.logspace(-4, 2, 13)
TINY = 1e-300


class Settings(NamedTuple):
    """How a view is learned from the others."""

    solver: Literal["ridge", "closed"]
    ridge: float | Literal["loo"]
    rank: float | None
    easing: float = 1.0  # ridge of later rounds, as a share of that of the first


# ------------------------------------------------------------------------------------- coordinates


@serializable
@dataclass(frozen=True)
class PrincipalAxes:
    """Principal axes of features: ``y = (psi - mean) axes``; ``squares`` are the column sums of y^2."""

    mean: Array
    axes: Array
    squares: Array

    @classmethod
    def over(cls, Psi: Array) -> Self:
        """Of the rows of `Psi`, through the smaller of its two Gram matrices."""
        n, m = Psi.shape
        mean = Psi.mean(axis=0) if n else np.zeros(m)
        Psi = Psi - mean
        if not min(n, m):
            return cls(mean, np.zeros((m, 0)), np.zeros(0))
        w, V = eigh(Psi.T @ Psi if m <= n else Psi @ Psi.T)
        kept = w > max(n, m) * np.finfo(np.float64).eps * max(w[-1], 0.0)
        w, V = w[kept], V[:, kept]
        return cls(mean, V if m <= n else Psi.T @ (V / np.sqrt(w)), w)

    def of(self, Psi: Array) -> Array:
        return np.asarray((Psi - self.mean) @ self.axes)


# ------------------------------------------------------------------------------------------ weights


def leave_one_out(Y: Array, squares: Array, Phi: Array, ridges: Iterable[float]) -> Array:
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


def choose_ridge(Y: Array, squares: Array, Phi: Array) -> float:
    """The ridge of :data:`GRID`, in units of the mean eigenvalue, with the least leave-one-out error.

    Of those within rounding of it the largest.
    """
    if not len(squares):
        return float(GRID[-1])
    errors = leave_one_out(Y, squares, Phi - Phi.mean(axis=0), GRID * squares.sum() / len(Y))
    return float(least(dict(zip(GRID[::-1], errors[::-1], strict=True))))


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
    rank = clear_cut(root, rank)
    return V[:, :rank], root[:rank] ** 2


def slopes(Y: Array, squares: Array, Phi: Array, ridge: float, settings: Settings, possible: int) -> Array:
    """B with weights ``Y_all B'`` beside the mean's; `possible` is what a share of ranks is taken of."""
    if settings.solver == "ridge" or settings.rank is None or not len(squares):
        return np.asarray(Y / (squares + ridge))  # at full rank the aligned optimum is this, too
    half = 1 / np.sqrt(squares + ridge)
    rank = count(settings.rank, min(possible, max(len(Y) - 1, 1)))
    V, _ = aligned_axes(Y, squares, Phi - Phi.mean(axis=0), ridge, rank)
    return np.asarray((Y * half) @ V @ (V.T * half))


def truncate_rank(weights: Array, Phi: Array, rank: float, possible: int) -> Array:
    """Weights that reach only the mean and the `rank` leading principal components of the view."""
    leading, values, _ = scipy.linalg.svd(Phi, full_matrices=False, check_finite=False)
    leading = leading[:, : clear_cut(values, count(rank, min(possible, max(len(Phi) - 1, 1))))]
    # beyond the rank of Phi, which is centred, the direction of the mean may be among them
    leading = leading - leading.mean(axis=0)
    return np.asarray(weights.mean(axis=0) + leading @ (leading.T @ weights))


@serializable
@dataclass(frozen=True)
class Transfer:
    """What takes the other views' features to weights over the samples a view was observed for."""

    coordinates: PrincipalAxes
    weights: Array  # observed samples x (2 + coordinates); of the last round only
    ridge: float
    carried: Array  # weights' Phi: from X to features of the view

    @classmethod
    def learn(
        cls, Psi: Array, learnable: Array, Phi: Array, settings: Settings, possible: tuple[int, int]
    ) -> Self:
        """`Psi`, `Phi`: features of the other views and the view's own, of the samples observed in it.

        Samples that are not `learnable` have no other view.  `possible`: how many features there could be.
        """
        coordinates = PrincipalAxes.over(Psi[learnable])
        squares, Y = coordinates.squares, coordinates.of(Psi[learnable])
        relative = settings.ridge
        if relative == "loo":
            relative = choose_ridge(Y, squares, Phi[learnable])
        unit = squares.sum() / max(len(Y), 1)
        weights = np.zeros((len(Psi), 2 + len(squares)))
        weights[:, 0] = 1 / max(len(Psi), 1)
        weights[learnable, 1] = 1 / max(len(Y), 1)
        weights[:, 1] -= weights[:, 0] if len(Y) else 0.0
        weights[learnable, 2:] = slopes(Y, squares, Phi[learnable], relative * unit, settings, possible[0])
        if settings.solver == "ridge" and settings.rank is not None and Phi.shape[1]:
            weights = truncate_rank(weights, Phi, settings.rank, possible[1])
        return cls(coordinates, weights, float(relative), weights.T @ Phi)

    def without_weights(self) -> Self:
        """All that refilling needs."""
        return replace(self, weights=np.zeros((0, self.weights.shape[1])))

    def features(self, Psi: Array, other: Array) -> Array:
        """Features of the view, of samples with features `Psi` of the other views."""
        return np.asarray(self.rows(Psi, other) @ self.carried)

    def rows(self, Psi: Array, other: Array) -> Array:
        """``X = [1, other, y]`` of samples with features `Psi` of the other views."""
        y = np.where(other[:, None], self.coordinates.of(Psi), 0.0)
        return np.column_stack([np.ones(len(Psi)), other, y])


# ------------------------------------------------------------------------------------------- rounds

Round = Sequence[Transfer]
Refills = Sequence[Transfer | Refill]


def learn_round(
    features: Sequence[Array],
    current: Sequence[Array],
    observed: Array,
    settings: Sequence[Settings],
    possible: Sequence[int],
) -> Round:
    """Every view's own features, learned from what the other views currently are."""
    this = []
    for v, present in enumerate(observed.T):
        Psi, learnable = side_by_side(current, v, present), has_another(observed, v)[present]
        counts = sum(possible) - possible[v], possible[v]
        this.append(Transfer.learn(Psi, learnable, features[v][present], settings[v], counts))
    return this


def refill_features(transfers: Refills, current: Sequence[Array], observed: Array) -> list[Array]:
    """Features with those of absent samples replaced by what is transferred."""
    following = []
    for v, transfer in enumerate(transfers):
        absent, other = ~observed[:, v], has_another(observed, v)
        features = current[v].copy()
        features[absent] = transfer.features(side_by_side(current, v, absent), other[absent])
        following.append(features)
    return following


def rows_of(transfer: Transfer, current: Sequence[Array], observed: Array, v: int, chosen: Array) -> Array:
    """X of the `chosen` samples (a mask) in view `v`."""
    return transfer.rows(side_by_side(current, v, chosen), has_another(observed, v)[chosen])


# ------------------------------------------------------------------------------------------ kernels


@dataclass(frozen=True)
class Start:
    """What learning starts from: kernels and their features, zero where a view is absent."""

    X: KernelViews
    operators: Sequence[Operator]
    maps: Sequence[FeatureMap]
    features: Sequence[Array]

    @classmethod
    def of(cls, X: KernelViews, landmarks: Sequence[Array | None]) -> Self:
        """`landmarks` by view, as positions among the samples observed in it; None: everybody."""
        operators = [X.operator(name) for name in X.names]
        maps = [feature_map(K, P).center(K) for K, P in zip(operators, landmarks, strict=True)]
        return cls(X, operators, maps, spread_features(X, maps))

    @cached_property
    def levels(self) -> list[Level]:
        return [Level.of(self.X.diagonal(name)) for name in self.X.names]

    def run_round(self, current: Sequence[Array], settings: Sequence[Settings]) -> Round:
        """One round, with the axes that placing needs."""
        possible = [m.possible for m in self.maps]
        return learn_round(self.features, current, self.X.observed, settings, possible)

    def stages(self, settings: Settings, first: Round | None = None) -> Iterator[Stage]:
        """One round after the other, without end, each with the features it starts from.

        After a round, what is absent in a view is filled with what was transferred, and the next round
        learns from the fuller features.  The ridge stays that of the first round, times
        ``settings.easing``: later ones see, in the other views, what had been transferred from the view
        itself, and would find leaving one out too easy.  `first`: the first round, where it was learned
        before.
        """
        this = first or self.run_round(self.features, [settings] * len(self.features))
        later = [settings._replace(ridge=settings.easing * transfer.ridge) for transfer in this]
        stage = Stage(self, self.features, later, this)
        while True:
            yield stage
            stage = Stage(self, stage.following(), later)


class Stage:
    """A round: the features it starts from, and what is learned from them as far as somebody asks."""

    def __init__(
        self,
        start: Start,
        current: Sequence[Array],
        settings: Sequence[Settings],
        first: Round | None = None,
    ) -> None:
        self.start, self.current, self.settings, self._learned = start, current, settings, first

    @cached_property
    def round_with_axes(self) -> Round:
        """With axes."""
        return self._learned or self.start.run_round(self.current, self.settings)

    @cached_property
    def round_without_axes(self) -> list[Solved] | None:
        """Without; None where axes are there or have to be, as for a rank or without a ridge."""
        ridges = [float(s.ridge) for s in self.settings if s.ridge != "loo"]
        if self._learned or self.settings[0].rank is not None or not min(ridges) >= FIRM:
            return None
        return solve_round(self.current, self.start.X.observed, ridges)

    def following(self) -> list[Array]:
        """The features that the next round starts from."""
        if self.round_without_axes is None:
            return refill_features(self.round_with_axes, self.current, self.start.X.observed)
        return [solved.fill_absent() for solved in self.round_without_axes]

    def refills(self) -> Refills:
        """What new samples get these features by."""
        if self.round_without_axes is None:
            return [transfer.without_weights() for transfer in self.round_with_axes]
        return [solved.refill() for solved in self.round_without_axes]


@serializable
@dataclass(frozen=True)
class Regression:
    """Everything learned: where the axes of the views are, and how to place samples along them."""

    maps: Sequence[FeatureMap]
    rounds: Sequence[Refills]  # the last with axes and weights, the others as far as new samples need them
    levels: Sequence[Level]
    keep: bool
    bases: Sequence[Basis]

    @classmethod
    def learn(
        cls,
        X: KernelViews,
        landmarks: Sequence[Array | None],
        settings: Settings,
        *,
        rounds: int,
        keep: bool,
    ) -> tuple[Self, list[Coordinates]]:
        """What is learned, and the training samples' places.

        `landmarks` by view, as positions among the samples observed in it; None: everybody.
        """
        stages = Start.of(X, landmarks).stages(settings)
        before = [stage.refills() for stage in islice(stages, rounds - 1)]
        return cls.at(next(stages), before, keep=keep)

    @classmethod
    def at(
        cls, stage: Stage, before: Sequence[Refills] = (), *, keep: bool
    ) -> tuple[Self, list[Coordinates]]:
        """In a round, with what the rounds `before` refilled by."""
        start = stage.start
        parts = zip(start.operators, start.maps, stage.round_with_axes, strict=True)
        bases = [_make_basis(K, own.negative, transfer.weights) for K, own, transfer in parts]
        found = cls(start.maps, [*before, stage.round_with_axes], start.levels, keep, bases)
        return found, found._along(start.X, stage.current)

    @property
    def ridges(self) -> Array:
        """Of the views, in units of the mean eigenvalue; NaN where there was nothing to learn from."""
        first = cast("Round", self.rounds[0])
        return np.array([t.ridge if len(t.coordinates.squares) else np.nan for t in first])

    def coordinates(self, X: KernelViews) -> list[Coordinates]:
        """Places of new samples."""
        current = spread_features(X, self.maps)
        for transfers in self.rounds[:-1]:
            current = refill_features(transfers, current, X.observed)
        return self._along(X, current)

    def _along(self, X: KernelViews, current: Sequence[Array]) -> list[Coordinates]:
        """Where the samples of `X` that do not stay lie, from their features in all views."""
        coordinates, last = [], cast("Round", self.rounds[-1])
        for v, (name, transfer) in enumerate(zip(X.names, last, strict=True)):
            moved, present = ~staying(X.observed, v, self.keep), X.observed[:, v]
            level = np.full(len(X), self.levels[v].value)
            level[present] = X.diagonal(name)
            rows = rows_of(transfer, current, X.observed, v, moved)
            coordinates.append(self.levels[v].position(rows, self.bases[v].own(rows), level[moved]))
        return coordinates


def places_of_hidden(stage: Stage, hidden: Array) -> tuple[list[Basis], list[Coordinates]] | None:
    """Where `hidden` samples (samples x views) come to lie; others that lack a view are left at zero.

    The axes are these samples themselves, and nothing else is placed.  None where a round has other axes.
    """
    if stage.round_without_axes is None:
        return None
    bases, coordinates, start = [], [], stage.start
    for v, (solved, K) in enumerate(zip(stage.round_without_axes, start.operators, strict=True)):
        rows, absent = np.flatnonzero(hidden[:, v]), np.flatnonzero(~start.X.observed[:, v])
        bases.append(_make_basis(K, start.maps[v].negative, solved.weights(rows).T))
        W, level = (absent[:, None] == rows).astype(np.float64), np.full(len(absent), start.levels[v].value)
        coordinates.append(start.levels[v].position(W, W @ np.diagonal(bases[-1].E), level))
    return bases, coordinates


def _make_basis(K: Operator, N: Array, weights: Array) -> Basis:
    """Axes along the weights, the negative part ``-N N'`` of K left out.

    So the completed kernel is positive semidefinite but for the observed block's own rounding.
    """
    G = K @ weights + N @ (N.T @ weights)
    return Basis(weights, G, symmetrize(weights.T @ G))


@serializable
class Level(NamedTuple):
    """What is known of a sample's own kernel value: the median and the largest of those observed."""

    value: float
    most: float

    @classmethod
    def of(cls, diagonal: Array) -> Self:
        if not len(diagonal):
            return cls(0.0, 0.0)
        return cls(float(np.median(diagonal)), float(np.max(diagonal)))

    def position(self, rows: Array, own: Array, level: Array) -> Coordinates:
        """At `rows`, with kernel values `own` of their own that are to be `level`.

        A prediction longer than any sample that was seen is shortened, all else kept.
        """
        most = np.maximum(level, self.most)
        rows = rows * np.sqrt(most / np.maximum(np.maximum(own, most), TINY))[:, None]
        return Coordinates(rows, np.maximum(level - np.minimum(own, most), 0.0))


def staying(observed: Array, v: int, keep: bool) -> Array:
    """Samples whose kernel values stay: all observed, or else only those nothing can be transferred to."""
    return np.asarray(observed[:, v] if keep else observed[:, v] & ~has_another(observed, v))
