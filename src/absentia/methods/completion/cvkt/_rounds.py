"""Rounds of cross-view transfer: learn every view from the others, fill in what is absent, learn again.

The first round selects its ridge by leaving one out, for which it needs the principal axes of the other
views' features.  Later ones keep it, and the round after needs of them only features of absent samples,
which are solves (``_ridge``).  Axes are then found in the last round alone.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from functools import cached_property
from typing import NamedTuple, Self

import numpy as np

from absentia.core import Array, Operator, serializable
from absentia.core.linalg import symmetrize
from absentia.data import KernelViews
from absentia.methods.completion._subspace import Basis, Coordinates
from absentia.methods.completion.cvkt._features import (
    FeatureMap,
    feature_map,
    has_other_view,
    keeps_values,
    stack_other_views,
    view_features,
)
from absentia.methods.completion.cvkt._ridge import (
    Refill,
    RidgeOptions,
    RidgeSolve,
    RoundFeatures,
    Transfer,
)

#: With less of a ridge than that, in units of the mean eigenvalue, solving would lose too many digits.
MIN_SOLVE_RIDGE = 1e-5


def refill_features(refills: Sequence[Refill], features: Sequence[Array], observed: Array) -> list[Array]:
    """Features with those of absent samples replaced by what is transferred."""
    refilled = []
    for v, refill in enumerate(refills):
        absent, other = ~observed[:, v], has_other_view(observed, v)
        rows = features[v].copy()
        rows[absent] = refill.features(stack_other_views(features, v, absent), other[absent])
        refilled.append(rows)
    return refilled


@dataclass(frozen=True)
class TransferData:
    """What the first round starts from: kernels and their features, zero where a view is absent."""

    X: KernelViews
    operators: Sequence[Operator]
    maps: Sequence[FeatureMap]
    features: Sequence[Array]

    @classmethod
    def of(cls, X: KernelViews, landmarks: Sequence[Array | None]) -> Self:
        """`landmarks` by view, as positions among the samples observed in it; None: all of them."""
        operators = [X.operator(name) for name in X.names]
        maps = [feature_map(K, P).center(K) for K, P in zip(operators, landmarks, strict=True)]
        return cls(X, operators, maps, view_features(X, maps))

    @cached_property
    def diagonals(self) -> list[DiagonalRange]:
        return [DiagonalRange.of(self.X.diagonal(name)) for name in self.X.names]

    def rounds(self, options: RidgeOptions, first: Sequence[Transfer] | None = None) -> Iterator[Round]:
        """One round after the other, without end, each with the features it starts from.

        After a round, what is absent in a view is filled with what was transferred, and the next round
        learns from the fuller features.  The ridge stays that of the first round, times
        ``options.easing``: later ones see, in the other views, what had been transferred from the view
        itself, and would find leaving one out too easy.  `first`: the first round's transfers, where they
        are known.
        """
        this = Round(self, self.features, [options] * len(self.features), first)
        later = [options._replace(ridge=options.easing * transfer.ridge) for transfer in this.transfers]
        while True:
            yield this
            this = Round(self, this.next_features(), later)


class Round:
    """The features a round starts from, and what is learned from them as far as it is asked for."""

    def __init__(
        self,
        data: TransferData,
        features: Sequence[Array],
        options: Sequence[RidgeOptions],
        transfers: Sequence[Transfer] | None = None,
    ) -> None:
        self.data, self.features, self.options = data, features, options
        if transfers is not None:
            self.transfers = transfers

    @cached_property
    def transfers(self) -> Sequence[Transfer]:
        """Every view learned from the other views' features, with axes."""
        observed, max_ranks = self.data.X.observed, [m.max_features for m in self.data.maps]
        transfers = []
        for v, present in enumerate(observed.T):
            Psi, learnable = (
                stack_other_views(self.features, v, present),
                has_other_view(observed, v)[present],
            )
            ranks = sum(max_ranks) - max_ranks[v], max_ranks[v]
            Phi = self.data.features[v][present]
            transfers.append(Transfer.fit(Psi, learnable, Phi, self.options[v], ranks))
        return transfers

    @cached_property
    def solves(self) -> list[RidgeSolve] | None:
        """The same without axes; None in the first round, for a rank, and with hardly any ridge."""
        ridges = [float(options.ridge) for options in self.options if options.ridge != "loo"]
        first = self.features is self.data.features
        if first or self.options[0].rank is not None or not min(ridges) >= MIN_SOLVE_RIDGE:
            return None
        features = RoundFeatures(self.features, self.data.X.observed)
        return [RidgeSolve(features, v, ridge) for v, ridge in enumerate(ridges)]

    def next_features(self) -> list[Array]:
        """The features that the next round starts from."""
        if self.solves is None:
            return refill_features(self.refills, self.features, self.data.X.observed)
        return [solve.fill_absent() for solve in self.solves]

    @cached_property
    def refills(self) -> list[Refill]:
        """What new samples get these features by."""
        return [fit.refill() for fit in (self.transfers if self.solves is None else self.solves)]


@serializable
@dataclass(frozen=True)
class CrossViewRegression:
    """Everything learned: the bases of the views, and how samples get coordinates along them."""

    maps: Sequence[FeatureMap]
    refills: Sequence[Sequence[Refill]]  # of the rounds before the last
    transfers: Sequence[Transfer]  # of the last
    diagonals: Sequence[DiagonalRange]
    keep: bool
    bases: Sequence[Basis]
    ridges: Array  # of the views, in units of the mean eigenvalue; NaN where nothing could be learned from

    @classmethod
    def fit(
        cls,
        X: KernelViews,
        landmarks: Sequence[Array | None],
        options: RidgeOptions,
        *,
        n_rounds: int,
        keep: bool,
    ) -> tuple[Self, list[Coordinates]]:
        """What is learned, and the training samples' coordinates.

        `landmarks` by view, as positions among the samples observed in it; None: all of them.
        """
        rounds = TransferData.of(X, landmarks).rounds(options)
        last, refills = next(rounds), list[Sequence[Refill]]()
        ridges = np.array([t.ridge if len(t.axes.squares) else np.nan for t in last.transfers])
        for _ in range(n_rounds - 1):
            refills.append(last.refills)
            last = next(rounds)
        return cls.of_round(last, refills, ridges, keep=keep)

    @classmethod
    def of_round(
        cls, last: Round, refills: Sequence[Sequence[Refill]], ridges: Array, *, keep: bool
    ) -> tuple[Self, list[Coordinates]]:
        """What is learned in a round, after rounds with these `refills`."""
        data = last.data
        parts = zip(data.operators, data.maps, last.transfers, strict=True)
        bases = [_make_basis(K, mapping.negative, transfer.weights) for K, mapping, transfer in parts]
        model = cls(data.maps, refills, last.transfers, data.diagonals, keep, bases, ridges)
        return model, model._coordinates(data.X, last.features)

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


def locate_hidden(last: Round, hidden: Array) -> tuple[list[Basis], list[Coordinates]] | None:
    """Coordinates of `hidden` samples (samples x views); others that lack a view are left at zero.

    The axes are these samples themselves.  None where the round has no solves.
    """
    if last.solves is None:
        return None
    bases, coordinates, data = [], [], last.data
    for v, (solve, K) in enumerate(zip(last.solves, data.operators, strict=True)):
        rows, absent = np.flatnonzero(hidden[:, v]), np.flatnonzero(~data.X.observed[:, v])
        bases.append(_make_basis(K, data.maps[v].negative, solve.weights(rows).T))
        W = (absent[:, None] == rows).astype(np.float64)
        diagonal = np.full(len(absent), data.diagonals[v].median)
        coordinates.append(data.diagonals[v].adjust(W, W @ np.diagonal(bases[-1].E), diagonal))
    return bases, coordinates


def _make_basis(K: Operator, N: Array, weights: Array) -> Basis:
    """Axes along the weights, the negative part ``-N N'`` of K left out.

    So the completed kernel is positive semidefinite but for the observed block's own rounding.
    """
    G = K @ weights + N @ (N.T @ weights)
    return Basis(weights, G, symmetrize(weights.T @ G))


@serializable
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
