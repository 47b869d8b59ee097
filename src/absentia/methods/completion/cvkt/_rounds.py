"""Rounds of cross-view transfer whose ridge is known: solves instead of axes.

The first round chooses its ridge by leaving one out, for which it needs the principal axes of the other
views' features.  Later ones keep it, and what the round after needs of them are features of absent samples,

    phi_t = mean Phi + (psi_t - mean Psi)' (Psi' Psi + lambda)^-1 Psi' Phi          (Psi centred),

or, where there are more features than samples, with ``S = Psi Psi'`` instead,

    phi_t = mean Phi + s_t' (S + lambda)^-1 Phi,     s_t the centred kernel values of t.

Either is one Cholesky factorisation.  S is the sum of the views' kernels but for one, so that it is the sum
of all less one: every view's kernel is formed once a round.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from functools import cached_property

import numpy as np

from absentia.core import Array, cholesky, cholesky_solve, serializable
from absentia.methods.completion.cvkt._features import has_another, side_by_side

#: With less of a ridge than that, in units of the mean eigenvalue, solving would lose too many digits.
FIRM = 1e-5


@serializable
@dataclass(frozen=True)
class Refill:
    """What takes the other views' features to a view's own.

    ``means[0] + other * (means[1] + (psi - mean) basis' slopes)``, without `basis` where that is None.
    """

    mean: Array
    basis: Array | None
    slopes: Array
    means: Array

    def features(self, Psi: Array, other: Array) -> Array:
        """Of samples with features `Psi` of the other views; `other`: whether they have any of these."""
        Y = Psi - self.mean
        if self.basis is not None:
            Y = Y @ self.basis.T
        return np.asarray(self.means[0] + other[:, None] * (self.means[1] + Y @ self.slopes))


class Features:
    """Current features of all samples in every view, and what views share in a round."""

    def __init__(self, current: Sequence[Array], observed: Array) -> None:
        self.current, self.observed = current, observed

    def kernel(self, v: int, rows: Array, columns: Array) -> Array:
        """Kernel of all views but `v`, of some samples with some others."""
        block = np.ix_(rows, columns)
        return np.asarray(self._total[block] - self._kernels[v][block])

    @cached_property
    def _kernels(self) -> list[Array]:
        return [F @ F.T for F in self.current]

    @cached_property
    def _total(self) -> Array:
        return np.asarray(sum(self._kernels))


class Solved:
    """Ridge regression from the other views' current features to view `v`, factorised."""

    def __init__(self, of: Features, v: int, ridge: float) -> None:
        self.of, self.v = of, v
        self.other = has_another(of.observed, v)
        self.observed = np.flatnonzero(of.observed[:, v])
        self.train = np.flatnonzero(of.observed[:, v] & self.other)
        n, width = len(self.train), sum(F.shape[1] for F in of.current) - of.current[v].shape[1]
        self.primal = width <= n
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
        self.across = Psi.T @ (self.of.current[self.v][self.train] - self._means.sum(axis=0))
        return np.asarray(Psi.T @ Psi)

    def _kernel(self) -> Array:
        S = self.of.kernel(self.v, self.train, self.train)
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
        return side_by_side(self.of.current, self.v, mask)

    def _cross(self, samples: Array) -> Array:
        return self._center_rows(self.of.kernel(self.v, samples, self.train))

    def weights(self, samples: Array) -> Array:
        """Over the samples that have the view, of `samples` (positions, ascending)."""
        m, n = len(self.observed), len(self.train)
        W, other = np.full((len(samples), m), 1 / max(m, 1)), self.other[samples]
        trained = np.searchsorted(self.observed, self.train)
        if n:
            W[other] = 0.0
            W[np.ix_(other, trained)] = 1 / n
        if not self.empty:
            some = samples[other]
            if self.primal:
                solved = cholesky_solve(self.L, (self._psi(some) - self.mean).T)
                found = ((self._psi(self.train) - self.mean) @ solved).T
            else:
                found = cholesky_solve(self.L, self._cross(some).T).T
            W[np.ix_(other, trained)] += found
        return W

    @cached_property
    def _means(self) -> Array:
        """Of the view's features: of all that have it, and what those learned from have more."""
        Phi = self.of.current[self.v]  # what is observed stays as it was in the first round
        everyone = Phi[self.observed].mean(axis=0) if len(self.observed) else np.zeros(Phi.shape[1])
        return np.stack(
            [everyone, Phi[self.train].mean(axis=0) - everyone if len(self.train) else 0 * everyone]
        )

    @cached_property
    def _slopes(self) -> Array:
        """What takes the other views' features, or kernel values, to the view's own less their mean."""
        if self.primal:
            return cholesky_solve(self.L, self.across)
        return cholesky_solve(self.L, self.of.current[self.v][self.train] - self._means.sum(axis=0))

    def fill_absent(self) -> Array:
        """Features of the view, with what is transferred where it is absent."""
        absent = np.flatnonzero(~self.of.observed[:, self.v])
        other, features = self.other[absent], self.of.current[self.v].copy()
        features[absent] = self._means[0] + other[:, None] * self._means[1]
        if not self.empty:
            some = absent[other]
            rows = self._psi(some) - self.mean if self.primal else self._cross(some)
            features[some] += rows @ self._slopes
        return features

    def refill(self) -> Refill:
        """The same for new samples."""
        if self.empty:
            width = sum(F.shape[1] for u, F in enumerate(self.of.current) if u != self.v)
            return Refill(np.zeros(width), None, np.zeros((width, self._means.shape[1])), self._means)
        if self.primal:
            return Refill(self.mean, None, self._slopes, self._means)
        Psi = self._psi(self.train)
        mean = Psi.mean(axis=0)
        return Refill(mean, Psi - mean, self._slopes, self._means)


def solve_round(current: Sequence[Array], observed: Array, ridges: Sequence[float]) -> list[Solved]:
    """Every view, learned from what the other views currently are."""
    features = Features(current, observed)
    return [Solved(features, v, ridge) for v, ridge in enumerate(ridges)]
