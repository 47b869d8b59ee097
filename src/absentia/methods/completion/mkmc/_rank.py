"""How many components a low-rank model gets: eigenvalue rules, and what predicts hidden samples best."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import Any, Self

import numpy as np
import scipy.linalg

from absentia.core import Array, LowRankPlusDiagonal, least
from absentia.methods.completion.mkmc import _foldin as foldin
from absentia.methods.completion.mkmc._fast import Problem, Seen

#: Eigenvalues are counted on at most so many samples, drawn at random beyond.
MOST = 4000
#: An eigenvalue counts as above a threshold from this share of it on.
CLEAR = 1e-6


def count_above(S: Array, threshold: float) -> int:
    """Number of eigenvalues of a symmetric matrix above `threshold`.

    By Sylvester's law of inertia: as many as ``S - threshold I = L D L'`` has positive pivots, at a
    fraction of the cost of the eigenvalues.
    """
    shifted = S - threshold * np.eye(len(S), dtype=S.dtype)
    (factorise,) = scipy.linalg.get_lapack_funcs(("sytrf",), (shifted,))
    ldu, pivots, info = factorise(shifted, lower=1, overwrite_a=1)
    if info < 0:
        raise np.linalg.LinAlgError("symmetric factorisation failed")
    diagonal, below = ldu.diagonal(), ldu.diagonal(-1)
    positive, i = 0, 0
    while i < len(S):
        if pivots[i] > 0:
            positive += int(diagonal[i] > 0)
            i += 1
        else:  # a 2 x 2 pivot; its determinant is negative, unless both eigenvalues have one sign
            determinant = diagonal[i] * diagonal[i + 1] - below[i] ** 2
            positive += 1 if determinant < 0 else 2 * int(diagonal[i] > 0)
            i += 2
    return positive


def count_components(S: Array, rule: str) -> int:
    """Number of eigenvalues of `S` above their mean ("gk", Guttman-Kaiser) or above one ("kaiser").

    Above means by more than :data:`CLEAR`: eigenvalues that are all alike are not counted by rounding.
    """
    threshold = {"gk": float(np.trace(S)) / len(S), "kaiser": 1.0}[rule]
    return int(np.clip(count_above(S, (1 + CLEAR) * threshold), 1, len(S) - 1))


def zero_filled_mean(views: Sequence[Seen], samples: Array) -> Array:
    """Mean of all kernels over `samples`, zero where a sample is absent."""
    S = np.zeros((len(samples), len(samples)))
    for view in views:
        here = np.isin(samples, view.v)
        inside = np.searchsorted(view.v, samples[here])
        S[np.ix_(here, here)] += view.Q.block(inside, inside)
    return S / sum(view.weight for view in views)


def by_rule(views: Sequence[Seen], size: int, rule: str, rng: np.random.Generator, order: Array) -> int:
    """Guttman-Kaiser or Kaiser on the mean of the zero-filled kernels, the papers' first model.

    Of more than :data:`MOST` samples that many are drawn, in their `order`.
    """
    samples = np.arange(size)
    if size > MOST:
        samples = np.sort(order[rng.choice(size, MOST, replace=False)])
    return count_components(zero_filled_mean(views, samples), rule)


def path(size: int) -> list[int]:
    """Ranks to try: 1, 2, 3, 4, 6, 8, 12, 16, ... up to a third of the samples, at most 256."""
    ranks = {1, 2, 3} | {int(2 ** (i / 2)) for i in range(4, 17)}
    most = max(min(size // 3, 256), 1)
    return sorted(q for q in ranks if q <= most)


def best_on_path(
    ranks: Sequence[int], error: Callable[[int], float], patience: int = 3
) -> dict[int, float]:
    """Errors along the path, stopping when the last `patience` ranks brought nothing."""
    curve: dict[int, float] = {}
    for q in ranks:
        curve[q] = error(q)
        best = least(curve)
        if len([rank for rank in curve if rank > best]) >= patience:
            break
    return curve


@dataclass(frozen=True)
class Hidden:
    """A view some of whose samples are hidden: what is left of it, and the positions inside it."""

    whole: Seen
    left: Seen
    kept: Array
    out: Array

    @classmethod
    def of(cls, view: Seen, stays: Array) -> Self:
        kept, out = np.flatnonzero(stays[view.v]), np.flatnonzero(~stays[view.v])
        return cls(view, Seen(view.Q.select(kept, kept), view.v[kept]), kept, out)

    def relative(self, across: Array, among: Array) -> float:
        """Relative Frobenius error of completed rows: hidden against kept samples, and among themselves."""
        Q = self.whole.Q
        truth = Q.block(self.kept, self.out), Q.block(self.out, self.out)
        size = 2 * np.sum(truth[0] ** 2) + np.sum(truth[1] ** 2)
        missed = 2 * np.sum((across - truth[0]) ** 2) + np.sum((among - truth[1]) ** 2)
        return float(np.sqrt(missed / max(float(size), 1e-300)))

    def error(self, model: LowRankPlusDiagonal) -> float:
        """Of rows completed under a model that was fitted without them."""
        latent = foldin.Latent.of(self.left, model.W / model.d[:, None], model)
        hidden = self.whole.v[self.out]
        W = model.W[hidden]
        return self.relative(latent.G @ W.T, W @ latent.E @ W.T + np.diag(model.d[hidden]))

    def mean_error(self) -> float:
        """Of rows completed as the mean sample, with the mean own value."""
        n = len(self.kept)
        means = self.left.Q @ np.full((n, 1), 1 / n, dtype=self.left.Q.dtype)
        among = np.full((len(self.out),) * 2, float(means.mean()))
        np.fill_diagonal(among, float(self.left.Q.diagonal().mean()))
        return self.relative(means, among)


@dataclass(frozen=True)
class Trial:
    """Views with some observed cells hidden, to see how well these are completed."""

    problem: Problem
    scored: Sequence[Hidden]

    @classmethod
    def of(cls, views: Sequence[Seen], keep: Array, size: int, eps: float, dtype: Any) -> Self:
        parts = [Hidden.of(view, stays) for view, stays in zip(views, keep.T, strict=True)]
        problem = Problem.of([x.left for x in parts if len(x.kept)], size, eps, dtype)
        return cls(problem, [x for x in parts if len(x.kept) and len(x.out)])

    @property
    def n_hidden(self) -> int:
        return sum(len(x.out) for x in self.scored)

    def error(self, model: LowRankPlusDiagonal) -> float:
        """Relative error of a model fitted to what is left, mean over views."""
        return float(np.mean([x.error(model) for x in self.scored]))

    def mean_error(self) -> float:
        """The same of mean fill."""
        return float(np.mean([x.mean_error() for x in self.scored]))
