"""Ridge regression from the other views' factors, from sums over blocks of samples.

The regressions are those of ``_ridge`` (solver ``"ridge"``), of kernels that are given by thin factors,
``K = F F'``: these are features already.  What has to be known of the samples is sums of products of
features and, where leave-one-out selects the ridge, of its errors; both are made a block at a time.
Completed kernels keep the factors as they came, and an absent sample gets factors of its own: the axes of a
view are those of its factors, and nothing else is as long as the samples.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass, replace
from functools import cached_property
from typing import Any, NamedTuple, Self

import numpy as np

from absentia.core import Array, Gram
from absentia.core.linalg import rounding_level, thin_gram
from absentia.data import KernelViews
from absentia.methods.completion._base import Basis, Coordinates
from absentia.methods.completion.cvkt._features import eigh, has_other_view, stack_other_views
from absentia.methods.completion.cvkt._ridge import (
    ANY_LENGTH,
    RIDGES,
    DiagonalRange,
    Refill,
    least_ridge,
    loo_errors,
    refill_features,
    take_positive,
)

#: Features of fewer samples are in memory; rows that are looked at in one go.
_MIN_SAMPLES, _BLOCK_ROWS = 10_000, 8192

Take = Callable[[Any, int], Array]  # factors of these samples, all of which have the view


def suits_sums(X: KernelViews) -> bool:
    """Whether kernels are thin factors of so many samples that features of all would take much memory."""
    operators = map(X.operator, X.names)
    return len(X) > _MIN_SAMPLES and all(isinstance(K, Gram) and K.left is K.right for K in operators)


def _blocks(n: int) -> Iterator[slice]:
    return (slice(a, min(a + _BLOCK_ROWS, n)) for a in range(0, n, _BLOCK_ROWS))


class _ViewFactors(NamedTuple):
    """Factors `F` of a view's samples, and what makes them features of mean zero and mean square one."""

    F: Array
    mean: Array
    scale: float
    diagonal: DiagonalRange

    @classmethod
    def of(cls, F: Array, diagonal: Array) -> Self:
        mean = F.mean(axis=0, dtype=np.float64) if len(F) else np.zeros(F.shape[1])
        size, total = float(diagonal.sum(dtype=np.float64)), 0.0
        for rows in _blocks(len(F)):
            total += float(np.sum((F[rows] - mean) ** 2))
        varies = total > rounding_level(F.dtype) * size
        scale = float(np.sqrt(len(F) / total)) if varies else 0.0
        return cls(F, mean, scale, DiagonalRange.of(diagonal))

    def to_factors(self, Phi: Array) -> Array:
        return np.asarray(self.mean + (Phi / self.scale if self.scale else 0.0 * Phi))


class _Regression(NamedTuple):
    """A view's features on those of the other views, by sums over the `n` samples learned from."""

    n: int
    mean: Array  # of the other views' features, and of the view's
    own_mean: Array
    axes: Array  # principal axes of the former, sums of squares along them, and of products with the latter
    squares: Array
    across: Array

    @classmethod
    def of(cls, n: int, total: Array, products: Array, own: Array) -> Self:
        """`total`, `products`: sums of all views' features side by side, of which `own` are the view's."""
        mean = total / max(n, 1)
        centered = products - n * np.outer(mean, mean)
        squares, axes = np.zeros(0), np.zeros((int((~own).sum()), 0))
        if n and len(axes):
            squares, axes = take_positive(*eigh(centered[np.ix_(~own, ~own)]), n, len(axes))
        return cls(n, mean[~own], mean[own], axes, squares, axes.T @ centered[np.ix_(~own, own)])

    @property
    def unit(self) -> float:
        """Mean eigenvalue, which ridges are told in."""
        return float(self.squares.sum()) / max(self.n, 1)

    def errors(self, Psi: Array, Phi: Array) -> Array:
        """Squared errors of some of the samples learned from, left out, summed, for each ridge."""
        Y, ridges = (Psi - self.mean) @ self.axes, RIDGES * self.unit
        return loo_errors(Y, self.squares, Phi - self.own_mean, ridges, self.n, self.across)

    def refill(self, ridge: float) -> Refill:
        slopes = self.axes @ (self.across / (self.squares + ridge * self.unit)[:, None])
        return Refill(self.mean, slopes, np.stack([np.zeros(len(self.own_mean)), self.own_mean]))


@dataclass(frozen=True)
class FactorRegression:
    """What is learned of each view from the others, and how samples get factors in views they lack."""

    observed: Array  # samples x views
    views: Sequence[_ViewFactors]
    refills: Sequence[Sequence[Refill]]  # of the rounds, by view

    @classmethod
    def fit(
        cls, X: KernelViews, ridge: float | str, rounds: int, easing: float, selected: Array | None
    ) -> tuple[Self, list[Coordinates], Array]:
        """The model, the samples' coordinates, and the ridges of the first round; NaN: nothing to learn.

        `selected`: these ridges, where they are known.
        """
        kernels: dict[str, Any] = {name: X.operator(name) for name in X.names}
        views = [_ViewFactors.of(K.left, X.diagonal(name)) for name, K in kernels.items()]
        model, ridges = cls(X.observed, views, []), selected
        for number in range(rounds):
            learned = model._regress()
            if ridges is None:
                ridges = (
                    model._select_ridges(learned) if ridge == "loo" else np.full(X.n_views, float(ridge))
                )
            shares = np.nan_to_num(ridges) * (easing if number else 1.0)
            refills = [one.refill(share) for one, share in zip(learned, shares.tolist(), strict=True)]
            if not number:
                ridges = np.where([len(one.squares) > 0 for one in learned], ridges, np.nan)
            model = replace(model, refills=[*model.refills, refills])
        return model, model._coordinates(model._take, X.observed), np.asarray(ridges)

    @cached_property
    def _places(self) -> Array:
        return np.cumsum(self.observed, axis=0) - 1

    def _take(self, rows: Any, v: int) -> Array:
        return self.views[v].F[self._places[rows, v]]

    def _features(self, take: Take, rows: Any, observed: Array, rounds: int | None = None) -> list[Array]:
        """Features of some samples in each view, as the first so many rounds leave them."""
        features = []
        for v, (view, has) in enumerate(zip(self.views, observed[rows].T, strict=True)):
            Phi = np.zeros((len(has), len(view.mean)))
            Phi[has] = (take(np.arange(rows.start, rows.stop)[has], v) - view.mean) * view.scale
            features.append(Phi)
        for refills in self.refills[:rounds]:
            features = refill_features(refills, features, observed[rows])
        return features

    def _learn_from(self, v: int, rows: Any) -> Array:
        """Which of some training samples have a view and another one."""
        return self.observed[rows, v] & has_other_view(self.observed[rows], v)

    def _regress(self) -> list[_Regression]:
        """Every view on the others, as they are after the rounds that there are: one pass."""
        owner = np.repeat(np.arange(len(self.views)), [len(view.mean) for view in self.views])
        n = [0] * len(self.views)
        total, products = np.zeros((len(n), len(owner))), np.zeros((len(n), len(owner), len(owner)))
        for rows in _blocks(len(self.observed)):
            together = np.hstack(self._features(self._take, rows, self.observed))
            for v in range(len(n)):
                part = together[self._learn_from(v, rows)]
                n[v] += len(part)
                total[v] += part.sum(axis=0)
                products[v] += part.T @ part
        return [_Regression.of(n[v], total[v], products[v], owner == v) for v in range(len(n))]

    def _select_ridges(self, learned: Sequence[_Regression]) -> Array:
        """The ridge of least leave-one-out error of each view, in the first round: one pass."""
        errors = np.zeros((len(learned), len(RIDGES)))
        for rows in _blocks(len(self.observed)):
            features = self._features(self._take, rows, self.observed)
            for v, one in enumerate(learned):
                some = self._learn_from(v, rows)
                if some.any():
                    errors[v] += one.errors(stack_other_views(features, v, some), features[v][some])
        return np.array([least_ridge(e / max(one.n, 1)) for e, one in zip(errors, learned, strict=True)])

    def _coordinates(self, take: Take, observed: Array) -> list[Coordinates]:
        """Factors of samples in the views they lack, with remainders: one pass."""
        counts = (~observed).sum(axis=0).tolist()
        pairs = list(zip(counts, self.views, strict=True))
        found = [Coordinates(np.empty((k, len(x.mean)), x.F.dtype), np.empty(k)) for k, x in pairs]
        ends = [0] * len(pairs)
        for rows in _blocks(len(observed)):
            features = self._features(take, rows, observed, -1)
            for v, (view, refill) in enumerate(zip(self.views, self.refills[-1], strict=True)):
                absent, other = ~observed[rows, v], has_other_view(observed[rows], v)
                Phi = refill.features(stack_other_views(features, v, absent), other[absent])
                F = view.to_factors(Phi)
                own = np.full(len(F), view.diagonal.median)
                here = slice(ends[v], ends[v] + len(F))
                part = view.diagonal.adjust(F, np.einsum("ij,ij->i", F, F), own)
                found[v].W[here], found[v].s[here], ends[v] = part.W, part.s, here.stop
        return found

    @property
    def bases(self) -> list[Basis]:
        """The axes of the factors, with which these are the kernel values; new samples bring theirs."""
        widths = [len(view.mean) for view in self.views]
        return [Basis(np.zeros((0, d)), x.F, np.eye(d)) for d, x in zip(widths, self.views, strict=True)]

    def coordinates(self, X: KernelViews) -> list[Coordinates]:
        """Coordinates of new samples."""
        factors = []
        for name, view in zip(X.names, self.views, strict=True):
            level = len(view.mean) * np.finfo(view.F.dtype).eps
            inverse = np.linalg.pinv(thin_gram(view.F, view.F), rcond=level, hermitian=True)
            factors.append(np.asarray(X.operator(name) @ view.F) @ inverse)
        places = np.cumsum(X.observed, axis=0) - 1
        found = self._coordinates(lambda rows, v: factors[v][places[rows, v]], X.observed)
        return [replace(one, G=values) for one, values in zip(found, factors, strict=True)]

    def without_shortening(self) -> Self:
        """The same, but that new samples may be longer than any that was seen."""
        views = [x._replace(diagonal=x.diagonal._replace(largest=ANY_LENGTH)) for x in self.views]
        return replace(self, views=views)
