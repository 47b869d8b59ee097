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
from absentia.methods.learning import DesignMatrix, NewtonPoint, minimise_convex, row_blocks

Ties = Literal["breslow", "efron"]
_TOL = 1e-10  # of the objective, per event
_RANK_RTOL = 1e-12  # share of the largest eigenvalue below which directions are rounding


# ------------------------------------------------------------------------------------- the likelihood


@dataclass(frozen=True, eq=False)
class PartialLikelihood:
    """Cox's partial likelihood of n samples; a row of A for each time with events (Efron: each event)."""

    event: Array  # 1.0 or 0.0, (n,)
    order: Array  # samples from the last time to the first, events last among equal times
    counts: Array  # c
    times: Array  # of the rows of A, descending
    ends: Array  # by row, how many samples in that order are at risk
    begins: Array  # by row, how many of these had no event then
    tie_share: Array  # by row, Efron's l / d, by which samples with an event then are less at risk

    @classmethod
    def of(cls, y: Survival, ties: Ties = "breslow") -> "PartialLikelihood":
        """The partial likelihood of the samples with the times and events `y`."""
        order = np.lexsort((y.event, -y.time))
        times, n_events = np.unique(y.time[y.event], return_counts=True)
        times, n_events = times[::-1], n_events[::-1]
        ends = np.searchsorted(-y.time[order], -times, side="right")
        if ties == "breslow":
            tie_share = np.zeros(len(times))
            return cls(y.event * 1.0, order, n_events * 1.0, times, ends, ends - n_events, tie_share)
        tie_share = np.concatenate([np.arange(d) / d for d in n_events]) if len(n_events) else np.zeros(0)
        times, ends, begins = (np.repeat(x, n_events) for x in (times, ends, ends - n_events))
        return cls(y.event * 1.0, order, np.ones(len(times)), times, ends, begins, tie_share)

    def _sum_at_risk(self, e: Array) -> Array:
        """``A e``, a sum for each row of A, of `e` (n,), which are not negative."""
        sums = np.concatenate([[0.0], np.cumsum(e[self.order])])
        return np.asarray((1 - self.tie_share) * sums[self.ends] + self.tie_share * sums[self.begins])

    def loss(self, f: Array) -> float:
        """The negative log partial likelihood; infinite where it overflows."""
        largest = f.max(initial=0.0)
        with np.errstate(divide="ignore", over="ignore", invalid="ignore"):
            sums = np.log(self._sum_at_risk(np.exp(f - largest))) + largest
        value = float(self.counts @ sums - self.event @ f)
        return value if np.isfinite(value) else np.inf

    def derivatives(self, f: Array) -> tuple[Array, Array]:
        """Gradient by log-risks `f` (n,), and h (n,) of the Hessian ``diag(h) - P' diag(c) P``."""
        e = np.exp(f - f.max(initial=0.0))
        q, n = self.counts / self._sum_at_risk(e), len(f)
        jumps = np.bincount(self.ends, (1 - self.tie_share) * q, minlength=n + 1)
        jumps += np.bincount(self.begins, self.tie_share * q, minlength=n + 1)
        h = np.empty(n)
        h[self.order] = np.cumsum(jumps[:0:-1])[::-1]
        h *= e
        return h - self.event, h

    def _blocks(self) -> Iterator[tuple[slice, slice]]:
        """Blocks of `order`, and the rows of A whose samples at risk end there; one block with ties."""
        n = len(self.order)
        for block in row_blocks(n) if not self.tie_share.any() else [slice(0, n)]:
            first, last = np.searchsorted(self.ends, [block.start, block.stop], side="right")
            yield block, slice(int(first), int(last))

    def sum_rows(self, Phi: DesignMatrix, f: Array) -> tuple[Array, Array]:
        """Gradient (r,) and Hessian (r, r) by coefficients of `Phi`, at log-risks f (n,)."""
        g, h = self.derivatives(f)
        e, width = np.exp(f - f.max(initial=0.0)), Phi.shape[1]
        at_risk = self._sum_at_risk(e)
        gradient, hessian, carried = np.zeros(width), np.zeros((width, width)), np.zeros(width)
        for block, rows in self._blocks():
            samples = self.order[block]
            X = Phi.take(samples)
            gradient += X.T @ g[samples]
            B = X * np.sqrt(h[samples])[:, None]
            hessian += B.T @ B
            X *= e[samples, None]
            X[:1] += carried
            np.cumsum(X, axis=0, out=X)
            carried = X[-1].copy()
            M, tie_share = X[self.ends[rows] - block.start - 1], self.tie_share[rows, None]
            if tie_share.any():
                has_others = self.begins[rows] > 0
                M = (1 - tie_share) * M + tie_share * has_others[:, None] * X[self.begins[rows] - 1]
            M *= (np.sqrt(self.counts[rows]) / at_risk[rows])[:, None]
            hessian -= M.T @ M
        return gradient, hessian

    def hazard(self, f: Array) -> tuple[Array, Array]:
        """Breslow's estimate: times with events, and the cumulative hazard there where ``f = 0``."""
        jumps = self.counts / self._sum_at_risk(np.exp(f))
        times, rows = np.unique(self.times, return_inverse=True)
        return times, np.cumsum(np.bincount(rows, weights=jumps, minlength=len(times)))


# --------------------------------------------------------------------------------------------- descent


def fit_coefficients(
    Phi: Array, likelihood: PartialLikelihood, alpha: float, start: Array | None = None
) -> Solution[NewtonPoint]:
    """Minimise the objective over w (r,) by Newton's method, from `start` or zero."""
    rows = DesignMatrix(Phi, constant=False)

    def value(w: Array) -> float:
        return likelihood.loss(rows.times(w)) + alpha / 2 * float(w @ w)

    def slopes(w: Array) -> tuple[Array, Array]:
        gradient, H = likelihood.sum_rows(rows, rows.times(w))
        H[np.diag_indices_from(H)] += alpha
        return gradient + alpha * w, H

    w = np.zeros(Phi.shape[1]) if start is None else start
    return minimise_convex(value, slopes, w, tol=_TOL * likelihood.counts.sum())


def factorise_kernel(K: Array) -> tuple[Array, Array]:
    """``Phi`` with ``K = Phi Phi'``, and R with ``Phi = K R`` (both n x r); without null directions."""
    d, U = np.linalg.eigh(K)
    keep = d > _RANK_RTOL * max(float(d[-1]), np.finfo(float).tiny)
    root = np.sqrt(d[keep])
    return U[:, keep] * root, U[:, keep] / root


# ------------------------------------------------------------------------------------------- the model


@serializable
class Cox(NamedTuple):
    """A fitted model: coefficients on the training samples, and the cumulative hazard at ``f = 0``."""

    coef: Array  # a, of the kernel with the training samples
    shift: float  # mean log-risk of the training samples, which is taken off
    times: Array  # with events, ascending
    hazard: Array  # cumulative, at these times

    def risk(self, K: Array) -> Array:
        """Log-risks of the rows of a kernel with the training samples."""
        return np.asarray(K @ self.coef - self.shift)


def fit_cox(K: Array, y: Survival, alpha: float, ties: Ties = "breslow") -> Cox:
    """Ridge Cox regression on the kernel of the training samples."""
    Phi, R = factorise_kernel(K)
    likelihood = PartialLikelihood.of(y, ties)
    w = fit_coefficients(Phi, likelihood, alpha).state.w
    f = Phi @ w
    return Cox(R @ w, float(f.mean()), *likelihood.hazard(f - f.mean()))


# ----------------------------------------------------------------------------------------- the penalty


class AlphaSelection(NamedTuple):
    """The penalty selected by cross-validation, and the log-risks out of fold with it."""

    alpha: float
    likelihoods: Array  # cross-validated log partial likelihood of each alpha
    risk: Array  # out of fold, with the best


def select_alpha(
    K: Array, y: Survival, alphas: Array, folds: list[tuple[Array, Array]], ties: Ties = "breslow"
) -> AlphaSelection:
    """The penalty of largest cross-validated partial likelihood; of equal ones the largest penalty.

    The likelihood of a fold is that of all samples less that of its training samples (van Houwelingen's),
    which is defined even where a fold has few events.
    """
    Phi, _ = factorise_kernel(K)
    full = PartialLikelihood.of(y, ties)
    alphas = np.sort(alphas)[::-1]
    likelihoods, risks = np.zeros(len(alphas)), np.zeros((len(alphas), len(K)))
    for train, test in folds:
        train_likelihood, w = PartialLikelihood.of(Survival(y.time[train], y.event[train]), ties), None
        for k, alpha in enumerate(alphas.tolist()):
            w = fit_coefficients(Phi[train], train_likelihood, alpha, w).state.w
            f = Phi @ w
            likelihoods[k] += train_likelihood.loss(f[train]) - full.loss(f)
            risks[k, test] = f[test] - f[train].mean()
    best = int(likelihoods.argmax())
    return AlphaSelection(float(alphas[best]), likelihoods[::-1], risks[best])
