"""Ridge Cox regression on a kernel.

D. R. Cox, "Regression models and life-tables", JRSS B 34 (1972); the ridge, and how it is chosen:
P. Verweij and H. van Houwelingen, "Penalized likelihood in Cox regression", Stat. Med. 13 (1994) and
"Cross-validation in survival analysis", Stat. Med. 12 (1993); ties: N. Breslow (1974), B. Efron (1977).

The log-risk is ``f = K a``.  With ``K = Phi Phi'`` and ``w = Phi' a`` the objective is

    ``- sum_i event_i f_i + sum_r c_r log(sum_j A_rj exp(f_j)) + alpha / 2 |w|^2,   f = Phi w``,

where the second term has a row for each time with events and ``A_rj`` says who was at risk then: with
Breslow's way with ties one row for each time, ``c_r`` its number of events; with Efron's one row for each
event, those that happen together at risk by ``1 - l / d`` in the l-th of d rows.  The likelihood does not
change with the mean of f, so that a constant is not penalised either: f is given with mean zero.

========  =================================================================================
symbol    meaning
========  =================================================================================
``Phi``   factors of the kernel, n x r
``A, c``  who was at risk at the times with events, and how often these count
``P``     ``A_rj exp(f_j)``, each row divided by its sum
========  =================================================================================

``A`` is never formed.  In the order from the last time to the first, events last among equal times, who
is at risk are the first so many samples, so that all sums over them are cumulative sums, and ``P Phi`` is
made of blocks of rows of ``Phi`` in that order.  Rows themselves are moved only block by block.

The objective is strictly convex; Newton's steps are shortened until it falls enough.
"""

from collections.abc import Iterator
from dataclasses import dataclass
from typing import Literal, NamedTuple

import numpy as np

from absentia.core import Array, serializable
from absentia.core.optimize import Solution
from absentia.data.survival import Survival
from absentia.methods.learning import DesignMatrix, LossSums, NewtonPoint, minimise_convex, row_blocks

Ties = Literal["breslow", "efron"]
_TOL = 1e-10  # events
_RANK = 1e-12  # share of the largest eigenvalue below which directions are rounding


# ------------------------------------------------------------------------------------- the likelihood


@dataclass(frozen=True, eq=False)
class Likelihood:
    """The partial likelihood of some samples: who was at risk when something happened."""

    event: Array
    order: Array  # samples from the last time to the first, events last among equal times
    counts: Array  # c
    times: Array  # of the rows of A, descending
    ends: Array  # by row, how many samples in that order are at risk
    begins: Array  # by row, how many of these had no event then
    part: Array  # by row, the share of the others that is taken off

    @classmethod
    def of(cls, y: Survival, ties: Ties = "breslow") -> "Likelihood":
        """Of these times and events."""
        order = np.lexsort((y.event, -y.time))
        times, many = np.unique(y.time[y.event], return_counts=True)
        times, many = times[::-1], many[::-1]
        ends = np.searchsorted(-y.time[order], -times, side="right")
        if ties == "breslow":
            nothing = np.zeros(len(times))
            return cls(y.event * 1.0, order, many * 1.0, times, ends, ends - many, nothing)
        part = np.concatenate([np.arange(d) / d for d in many]) if len(many) else np.zeros(0)
        times, ends, begins = (np.repeat(x, many) for x in (times, ends, ends - many))
        return cls(y.event * 1.0, order, np.ones(len(times)), times, ends, begins, part)

    def _sum_at_risk(self, e: Array) -> Array:
        """``A e`` of numbers that are not negative."""
        sums = np.concatenate([[0.0], np.cumsum(e[self.order])])
        return np.asarray((1 - self.part) * sums[self.ends] + self.part * sums[self.begins])

    def loss(self, f: Array) -> float:
        """The negative log partial likelihood; infinite where numbers do not reach."""
        top = f.max(initial=0.0)
        with np.errstate(divide="ignore", over="ignore", invalid="ignore"):
            sums = np.log(self._sum_at_risk(np.exp(f - top))) + top
        value = float(self.counts @ sums - self.event @ f)
        return value if np.isfinite(value) else np.inf

    def slopes(self, f: Array) -> tuple[Array, Array]:
        """The gradient, and h of the Hessian ``diag(h) - P' diag(c) P``."""
        e = np.exp(f - f.max(initial=0.0))
        q, n = self.counts / self._sum_at_risk(e), len(f)
        jumps = np.bincount(self.ends, (1 - self.part) * q, minlength=n + 1)
        jumps += np.bincount(self.begins, self.part * q, minlength=n + 1)
        h = np.empty(n)
        h[self.order] = np.cumsum(jumps[:0:-1])[::-1]
        h *= e
        return h - self.event, h

    def _blocks(self) -> Iterator[tuple[slice, slice]]:
        """Positions in the order, and the rows of A that end there; one block where rows have two ends."""
        n = len(self.order)
        for block in row_blocks(n) if not self.part.any() else [slice(0, n)]:
            first, last = np.searchsorted(self.ends, [block.start, block.stop], side="right")
            yield block, slice(int(first), int(last))

    def sums(self, Phi: DesignMatrix, f: Array) -> LossSums:
        """The loss of log-risks f, its gradient and its Hessian by weights of the columns of `Phi`."""
        g, h = self.slopes(f)
        e, width = np.exp(f - f.max(initial=0.0)), Phi.shape[1]
        at_risk = self._sum_at_risk(e)
        slope, curvature, before = np.zeros(width), np.zeros((width, width)), np.zeros(width)
        for block, rows in self._blocks():
            who = self.order[block]
            X = Phi.take(who)
            slope += X.T @ g[who]
            B = X * np.sqrt(h[who])[:, None]
            curvature += B.T @ B
            X *= e[who, None]
            X[:1] += before
            np.cumsum(X, axis=0, out=X)
            before = X[-1].copy()
            M, part = X[self.ends[rows] - block.start - 1], self.part[rows, None]
            if part.any():
                had = self.begins[rows] > 0
                M = (1 - part) * M + part * had[:, None] * X[self.begins[rows] - 1]
            M *= (np.sqrt(self.counts[rows]) / at_risk[rows])[:, None]
            curvature -= M.T @ M
        return LossSums(self.loss(f), slope, curvature)

    def hazard(self, f: Array) -> tuple[Array, Array]:
        """Times with events and, at each, the cumulative hazard of a sample with ``f = 0``."""
        jumps = self.counts / self._sum_at_risk(np.exp(f))
        times, place = np.unique(self.times, return_inverse=True)
        return times, np.cumsum(np.bincount(place, weights=jumps, minlength=len(times)))


# --------------------------------------------------------------------------------------------- descent


def minimise(
    Phi: Array, likelihood: Likelihood, alpha: float, start: Array | None = None
) -> Solution[NewtonPoint]:
    """The coefficients w of least objective."""
    rows = DesignMatrix(Phi, constant=False)

    def value(w: Array) -> float:
        return likelihood.loss(rows.times(w)) + alpha / 2 * float(w @ w)

    def slopes(w: Array) -> tuple[Array, Array]:
        sums = likelihood.sums(rows, rows.times(w))
        H = sums.curvature
        H[np.diag_indices_from(H)] += alpha
        return sums.slope + alpha * w, H

    w = np.zeros(Phi.shape[1]) if start is None else start
    return minimise_convex(value, slopes, w, tol=_TOL * likelihood.counts.sum())


def factors(K: Array) -> tuple[Array, Array]:
    """``Phi`` with ``K = Phi Phi'``, and R with ``Phi = K R``; directions of no length are left out."""
    d, U = np.linalg.eigh(K)
    keep = d > _RANK * max(float(d[-1]), np.finfo(float).tiny)
    root = np.sqrt(d[keep])
    return U[:, keep] * root, U[:, keep] / root


# ------------------------------------------------------------------------------------------- the model


@serializable
class Cox(NamedTuple):
    """A fitted model: coefficients on the training samples, and how hazard adds up at ``f = 0``."""

    coef: Array  # a, of the kernel with the training samples
    shift: float  # mean log-risk of the training samples, which is taken off
    times: Array
    hazard: Array

    def risk(self, K: Array) -> Array:
        """Log-risks of the rows of a kernel with the training samples."""
        return np.asarray(K @ self.coef - self.shift)


def fit_cox(K: Array, y: Survival, alpha: float, ties: Ties = "breslow") -> Cox:
    """Ridge Cox regression on the kernel of the training samples."""
    Phi, R = factors(K)
    likelihood = Likelihood.of(y, ties)
    w = minimise(Phi, likelihood, alpha).state.w
    f = Phi @ w
    return Cox(R @ w, float(f.mean()), *likelihood.hazard(f - f.mean()))


# ----------------------------------------------------------------------------------------- the penalty


class PenaltySearch(NamedTuple):
    """What held-out samples say of each penalty, and their risks with the best."""

    alpha: float
    likelihoods: Array  # cross-validated log partial likelihood of each alpha
    risk: Array  # out of fold, with the best


def search_penalty(
    K: Array, y: Survival, alphas: Array, parts: list[tuple[Array, Array]], ties: Ties = "breslow"
) -> PenaltySearch:
    """The penalty of largest cross-validated partial likelihood, the larger of equals.

    Of each part the likelihood is that of all samples less that of those learned from (van Houwelingen's):
    few events in a part are no trouble then.
    """
    Phi, _ = factors(K)
    whole = Likelihood.of(y, ties)
    alphas = np.sort(alphas)[::-1]
    gains, risks = np.zeros(len(alphas)), np.zeros((len(alphas), len(K)))
    for train, test in parts:
        part, w = Likelihood.of(Survival(y.time[train], y.event[train]), ties), None
        for k, alpha in enumerate(alphas.tolist()):
            w = minimise(Phi[train], part, alpha, w).state.w
            f = Phi @ w
            gains[k] += part.loss(f[train]) - whole.loss(f)
            risks[k, test] = f[test] - f[train].mean()
    best = int(gains.argmax())
    return PenaltySearch(float(alphas[best]), gains[::-1], risks[best])
