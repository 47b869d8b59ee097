"""The machine on factors by Newton's method, for where coordinate descent is slow: large C, factors alike.

With ``J_i`` added to the kernel's diagonal the losses have no kinks: a sample with the residual
``r_i = t_i - f_i`` has the coefficient ``z_i = clip(soft(r_i, eps) / J_i, lo_i, hi_i)``, and the primal

    1/2 |v|^2 + sum_i max_z (r_i z - eps |z| - J_i z^2 / 2),      f = G v + b,   G = [sqrt(eta_p) Phi_p]

has a continuous gradient ``(v - G'z, -1'z)`` and, with F the samples inside their bounds, the Hessian
``I + G_F' J_F^-1 G_F``, which is as large as there are factors; the bias is one more column, and costs
nothing.  Steps end where the primal is least along their direction.  With ``J_i = 2 Delta / (hi_i - lo_i)``
kinks are rounded over residuals of width 2 Delta, and Delta is lowered until the machine's own gap, without
any J, is small: at the least primal that is about ``1/4 sum_F (hi_i - lo_i) Delta``.
"""

from __future__ import annotations

from collections.abc import Callable
from functools import partial
from typing import TYPE_CHECKING, NamedTuple

import numpy as np
import scipy.linalg
import scipy.optimize

from absentia.core import Array
from absentia.methods.learning.engine._svm import Box, Machine, stretched

if TYPE_CHECKING:
    from absentia.methods.learning.engine._factors import FactorStack

FALL = 4.0  # how much narrower the rounding is from one round to the next
ROUNDS = 25
STEPS = 30  # of Newton's method in a round
CHUNK = 8192


class Posed(NamedTuple):
    """A machine to be found: on the weighted sum of kernels by factors, in a box."""

    stack: FactorStack
    eta: Array
    box: Box
    ridge: float

    @property
    def root(self) -> Array:
        """``sqrt(eta)`` of every factor."""
        return self.stack.roots(self.eta)

    @property
    def own(self) -> Array:
        """What the kernel's diagonal has beside factors."""
        return np.asarray(self.stack.own @ self.eta + self.ridge)

    def judged(self, z: Array) -> Machine:
        """The machine with coefficients `z`, or a multiple of them, its scores computed anew."""
        scores = self.stack.scores(self.eta, z) + self.ridge * z
        largest = float((self.stack.squares @ self.eta).max(initial=0.0)) + self.ridge
        floor = 1e-15 * float(np.abs(self.box.t).max(initial=0.0) + largest * np.abs(z).sum())
        return stretched(self.box, z, scores, floor, np.inf, 0)

    def rounding(self, reach: float) -> Array:
        """``J`` that rounds kinks over residuals of width twice `reach`."""
        width = self.box.hi - self.box.lo
        return np.where(width > 0, 2 * reach / np.where(width > 0, width, 1.0), 1.0) + self.own

    def reach(self, machine: Machine, gap: float) -> float:
        """How wide kinks may be rounded for about this `gap`, by where the samples of a machine lie."""
        box, width = self.box, self.box.hi - self.box.lo
        distance = np.abs(np.abs(box.t - machine.scores - machine.bias) - box.eps)
        order = np.argsort(distance)
        costs = np.cumsum(width[order]) * distance[order] / 4
        place = min(int(np.searchsorted(costs, gap)), len(costs) - 1)
        return max(float(distance[order[place]]), 4 * gap / max(float(width.sum()), 1e-300))

    def coefficients(self, rest: Array, J: Array) -> Array:
        """``z`` of samples with these residuals."""
        soft = np.sign(rest) * np.maximum(np.abs(rest) - self.box.eps, 0.0)
        return np.clip(soft / J, self.box.lo, self.box.hi)

    def slope(self, rest: Array, along: Array, J: Array, a: float) -> float:
        """Of the losses, after a step `a` that changes scores by ``a * along``."""
        return -float(self.coefficients(rest - a * along, J) @ along)


def fit_smoothed(problem: Posed, start: Machine, tol: float) -> Machine:
    """The machine to a relative gap of `tol`, from coefficients near it."""
    box = problem.box
    v, b, best = _normal(problem, start.z), start.bias, start
    reach = np.inf
    for _ in range(ROUNDS):
        # as wide as the gap that there is, narrower than last time, as wide as the gap wanted allows
        now, end = (problem.reach(best, gap) for gap in (best.gap, tol * abs(best.primal) / 2))
        reach = max(min(now, reach / FALL), end) if reach > end else reach / FALL
        v, b, z = _newton(problem, v, b, problem.rounding(reach))
        machine = problem.judged(box.feasible(z))
        best = min(best, machine, key=lambda one: one.gap)
        if best.gap <= tol * abs(best.primal):
            break
    return best


def _newton(problem: Posed, v: Array, b: float, J: Array) -> tuple[Array, float, Array]:
    """The least smoothed primal from `v` and `b`, and the coefficients there."""
    box = problem.box
    scores = _scores(problem, v)
    z = problem.coefficients(box.t - scores - b, J)
    for _ in range(STEPS):
        rest = box.t - scores - b
        z = problem.coefficients(rest, J)
        gradient = np.append(v - _normal(problem, z), -z.sum())
        free = np.flatnonzero((z > box.lo) & (z < box.hi) & ((box.eps == 0) | (z != 0)))
        # nobody inside their bounds holds the bias: as if they were spread evenly over all residuals
        held = float((box.hi - box.lo).sum()) / max(float(np.ptp(rest)), 1e-300)
        step = -_solved(problem, free, J, gradient, 1e-3 * held)
        dv, db = step[:-1], float(step[-1])
        along = _scores(problem, dv) + db
        slope = float(v @ dv) + problem.slope(rest, along, J, 0.0)
        if not slope < -1e-12 * float(v @ v):
            break
        a = _least(partial(_slope, problem, J, rest, along, float(v @ dv), float(dv @ dv)))
        v, b, scores = v + a * dv, b + a * db, scores + a * (along - db)
    return v, b, z


def _slope(
    problem: Posed, J: Array, rest: Array, along: Array, first: float, second: float, a: float
) -> float:
    """Of the smoothed primal after a step `a`, whose norm has these derivatives."""
    return first + a * second + problem.slope(rest, along, J, a)


def _least(slope: Callable[[float], float]) -> float:
    """Where a rising `slope`, negative at zero, is zero."""
    high = 1.0
    while slope(high) < 0 and high < 1e6:
        high *= 2
    return float(scipy.optimize.brentq(slope, 0.0, high, rtol=1e-10)) if slope(high) > 0 else high


def _normal(problem: Posed, z: Array) -> Array:
    """``G' z``."""
    return problem.root * np.concatenate(problem.stack.normals(z))


def _scores(problem: Posed, v: Array) -> Array:
    """``G v``."""
    return problem.stack.through(problem.root * v)


def _solved(problem: Posed, free: Array, J: Array, gradient: Array, held: float) -> Array:
    """The Hessian's inverse times `gradient`; the bias bends the primal by `held` at least."""
    d, root = len(gradient) - 1, problem.root
    H = np.zeros((d + 1, d + 1))
    for a in range(0, len(free), CHUNK):
        part = free[a : a + CHUNK]
        rows = np.column_stack([problem.stack.rows(part) * root, np.ones(len(part))])
        rows /= np.sqrt(J[part])[:, None]
        H += rows.T @ rows
    H[-1, -1] += max(held - H[-1, -1], 1e-10 * held)
    H[np.arange(d), np.arange(d)] += 1.0
    return np.asarray(scipy.linalg.cho_solve(scipy.linalg.cho_factor(H, lower=True), gradient))
