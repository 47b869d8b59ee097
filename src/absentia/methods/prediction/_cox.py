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

The objective is strictly convex; Newton's steps are shortened until it falls enough.
"""

from dataclasses import dataclass
from typing import Literal, NamedTuple

import numpy as np

from absentia.core import Array, serializable
from absentia.core.optimize import Solution
from absentia.data.survival import Survival
from absentia.methods.learning import NewtonPoint, minimise_convex

Ties = Literal["breslow", "efron"]
_TOL, MAX_ITER = 1e-10, 100
_RANK = 1e-12  # share of the largest eigenvalue below which directions are rounding


# ------------------------------------------------------------------------------------- the likelihood


@dataclass(frozen=True, eq=False)
class Likelihood:
    """The partial likelihood of some samples: who was at risk when something happened."""

    event: Array
    at_risk: Array  # A
    counts: Array  # c
    times: Array  # of the rows of A, ascending

    @classmethod
    def of(cls, y: Survival, ties: Ties = "breslow") -> "Likelihood":
        """Of these times and events."""
        times, many = np.unique(y.time[y.event], return_counts=True)
        if ties == "breslow":
            return cls(y.event.astype(float), (y.time >= times[:, None]).astype(float), many * 1.0, times)
        rows = np.repeat(times, many)
        part = np.concatenate([np.arange(d) / d for d in many]) if len(many) else np.zeros(0)
        together = (y.time == rows[:, None]) & y.event
        at_risk = (y.time >= rows[:, None]) - part[:, None] * together
        return cls(y.event.astype(float), at_risk, np.ones(len(rows)), rows)

    def loss(self, f: Array) -> float:
        """The negative log partial likelihood; infinite where numbers do not reach."""
        top = f.max(initial=0.0)
        with np.errstate(divide="ignore", over="ignore", invalid="ignore"):
            sums = np.log(self.at_risk @ np.exp(f - top)) + top
        value = float(self.counts @ sums - self.event @ f)
        return value if np.isfinite(value) else np.inf

    def slopes(self, f: Array) -> tuple[Array, Array, Array]:
        """The gradient, and the Hessian as ``diag(h) - P' diag(c) P``: h and P."""
        P = self.at_risk * np.exp(f - f.max(initial=0.0))
        P /= P.sum(axis=1, keepdims=True)
        h = self.counts @ P
        return h - self.event, h, P

    def hazard(self, f: Array) -> tuple[Array, Array]:
        """Times with events and, at each, the cumulative hazard of a sample with ``f = 0``."""
        jumps = self.counts / (self.at_risk @ np.exp(f))
        times, place = np.unique(self.times, return_inverse=True)
        return times, np.cumsum(np.bincount(place, weights=jumps, minlength=len(times)))


# --------------------------------------------------------------------------------------------- descent


def minimise(
    Phi: Array,
    likelihood: Likelihood,
    alpha: float,
    start: Array | None = None,
    *,
    tol: float = _TOL,
    max_iter: int = MAX_ITER,
) -> Solution[NewtonPoint]:
    """The coefficients w of least objective, to a decrement of `tol` events."""

    def value(w: Array) -> float:
        return likelihood.loss(Phi @ w) + alpha / 2 * float(w @ w)

    def slopes(w: Array) -> tuple[Array, Array]:
        g, h, P = likelihood.slopes(Phi @ w)
        PPhi = P @ Phi
        H = (Phi.T * h) @ Phi - (PPhi.T * likelihood.counts) @ PPhi
        H[np.diag_indices_from(H)] += alpha
        return Phi.T @ g + alpha * w, H

    w = np.zeros(Phi.shape[1]) if start is None else start
    return minimise_convex(value, slopes, w, tol=tol * likelihood.counts.sum(), max_iter=max_iter)


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
