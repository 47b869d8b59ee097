"""The machine of ``_svm`` on a weighted sum of kernels given by factors, ``K = sum_p eta_p Phi_p Phi_p'``.

Dual coordinate descent (``_descent``) if Numba is there to compile it.  Where the gap falls so slowly that
it would take very many passes (large C, factors nearly alike), and without Numba from the start, Newton's
method on losses with rounded kinks (:func:`_fit_smoothed`).

What is handed over is judged as the dense machine is: coefficients made feasible, scores computed from them
anew, primal value with the best bias minus dual value.

Newton's method.  With ``J_i`` added to the kernel's diagonal the losses have no kinks: a sample with the
residual ``r_i = t_i - f_i`` has the coefficient ``z_i = clip(soft(r_i, eps) / J_i, lo_i, hi_i)``, and the
primal

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
from importlib.util import find_spec
from typing import TYPE_CHECKING, NamedTuple

import numpy as np
import scipy.linalg
import scipy.optimize
import scipy.sparse.linalg

from absentia.core import Array
from absentia.methods.learning.engine._svm import Box, Machine, stretch_machine

if TYPE_CHECKING:
    from absentia.methods.learning.engine._stacks import FactorStack

#: What to say where Numba is not installed.
NUMBA_ADVICE = "pip install 'absentia[fast]' makes this about ten times faster"
_PASSES = 5  # between one look at the gap and the next
_MAX_PASSES = 3000
_N_GAPS = 10  # the last ones, that tell how fast the gap falls
_PATIENCE = 500  # more passes to come than this are too many: Newton's method is called in
_MAX_FACTORS = 4000  # unless there are more factors than that, for which no Hessian is formed
_NARROWING = 4.0  # how much narrower the rounding is from one round to the next
_MAX_ROUNDS = 25
_MAX_STEPS = 30  # of Newton's method in a round
_CHUNK = 8192  # samples whose factors are held at a time


class MachineProblem(NamedTuple):
    """A machine to be found: on the weighted sum of kernels by factors, in a box."""

    stack: FactorStack
    eta: Array
    box: Box

    @property
    def root(self) -> Array:
        """``sqrt(eta)`` of every factor."""
        return self.stack.roots(self.eta)

    @property
    def diagonal(self) -> Array:
        """What the kernel's diagonal has beside factors."""
        return self.stack.diagonal @ self.eta

    def evaluate(self, z: Array) -> Machine:
        """The machine with coefficients `z`, or a multiple of them, its scores computed anew."""
        scores = self.stack.scores(self.eta, z)
        largest = float((self.stack.squares @ self.eta).max(initial=0.0))
        floor = 1e-15 * float(np.abs(self.box.t).max(initial=0.0) + largest * np.abs(z).sum())
        return stretch_machine(self.box, z, scores, floor)

    def rounding(self, half_width: float) -> Array:
        """``J`` that rounds kinks over residuals of width twice `half_width`."""
        width = self.box.hi - self.box.lo
        return np.where(width > 0, 2 * half_width / np.where(width > 0, width, 1.0), 1.0) + self.diagonal

    def half_width(self, machine: Machine, gap: float) -> float:
        """How wide kinks may be rounded for about this `gap`, by where the samples of a machine lie."""
        box, width = self.box, self.box.hi - self.box.lo
        distance = np.abs(np.abs(box.t - machine.scores - machine.bias) - box.eps)
        order = np.argsort(distance)
        costs = np.cumsum(width[order]) * distance[order] / 4
        place = min(int(np.searchsorted(costs, gap)), len(costs) - 1)
        return max(float(distance[order[place]]), 4 * gap / max(float(width.sum()), 1e-300))

    def coefficients(self, residual: Array, J: Array) -> Array:
        """``z`` of samples with these residuals."""
        soft = np.sign(residual) * np.maximum(np.abs(residual) - self.box.eps, 0.0)
        return np.clip(soft / J, self.box.lo, self.box.hi)

    def slope(self, residual: Array, along: Array, J: Array, a: float) -> float:
        """Of the losses, after a step `a` that changes scores by ``a * along``."""
        return -float(self.coefficients(residual - a * along, J) @ along)


def has_numba() -> bool:
    """Whether coordinate descent can be compiled."""
    return find_spec("numba") is not None


def fit_linear(
    stack: FactorStack,
    eta: Array,
    box: Box,
    *,
    tol: float,
    start: Array | None = None,
    max_passes: int = _MAX_PASSES,
) -> Machine:
    """Solve the dual until primal and dual differ by at most `tol` times the primal.

    Parameters
    ----------
    eta : array of shape (views,)
        Weights of the kernels.
    start : array of shape (n,), optional
        Coefficients to start from; they are made feasible first.
    max_passes : int
        Passes of coordinate descent over the samples at most.
    """
    z = box.make_feasible(start) if start is not None else np.zeros(stack.n)
    problem = MachineProblem(stack, eta, box)
    best = problem.evaluate(z)
    if best.gap <= tol * abs(best.primal):
        return best
    if not has_numba():
        return _fit_smoothed(problem, best, tol)
    from absentia.methods.learning.engine._descent import DualCoordinateDescent

    descent, gaps = DualCoordinateDescent(problem, best), [(0, best.gap)]
    width = sum(Phi.shape[1] for Phi in stack.factors)
    # a step of Newton's method costs as much as so many passes
    patience = _PATIENCE + 15 * width**2 / stack.n if width <= _MAX_FACTORS else np.inf
    while best.gap > tol * abs(best.primal) and descent.passes < max_passes:
        left = _passes_left(gaps, tol * abs(best.primal))
        if left > patience:
            return _fit_smoothed(problem, best._replace(n_steps=descent.passes), tol)
        passes = min(max(_PASSES, int(left / 8)), 8 * _PASSES)
        descent.run(min(passes, max_passes - descent.passes))
        current = problem.evaluate(box.make_feasible(descent.z))
        best = min(best, current, key=lambda candidate: candidate.gap)
        gaps.append((descent.passes, best.gap))
    return best._replace(n_steps=descent.passes)


def _passes_left(gaps: list[tuple[int, float]], wanted: float) -> float:
    """How many more passes it may take to a gap of `wanted`, by the last looks at it (passes, gap)."""
    if len(gaps) < 5:
        return 0.0
    (before, wide), (now, gap) = gaps[-min(len(gaps), _N_GAPS)], gaps[-1]
    fall = np.log(wide / gap) / (now - before)
    return float(np.log(gap / wanted) / fall) if fall > 0 else np.inf


# ------------------------------------------------------------------------------------- Newton's method


def _fit_smoothed(problem: MachineProblem, start: Machine, tol: float) -> Machine:
    """The machine to a relative gap of `tol`, from coefficients near it."""
    box = problem.box
    v, b, best = _transpose_times(problem, start.z), start.bias, start
    half_width, n_rounds = np.inf, 0
    while n_rounds < _MAX_ROUNDS:
        n_rounds += 1
        # as wide as the gap that there is, narrower than last time, as wide as the gap wanted allows
        now, end = (problem.half_width(best, gap) for gap in (best.gap, tol * abs(best.primal) / 2))
        half_width = (
            max(min(now, half_width / _NARROWING), end) if half_width > end else half_width / _NARROWING
        )
        v, b, z = _newton(problem, v, b, problem.rounding(half_width))
        machine = problem.evaluate(box.make_feasible(z))
        best = min(best, machine, key=lambda candidate: candidate.gap)
        if best.gap <= tol * abs(best.primal):
            break
    return best._replace(n_steps=start.n_steps + n_rounds)


def _newton(problem: MachineProblem, v: Array, b: float, J: Array) -> tuple[Array, float, Array]:
    """The least smoothed primal from `v` and `b`, and the coefficients there."""
    box = problem.box
    scores = _scores(problem, v)
    z = problem.coefficients(box.t - scores - b, J)
    for _ in range(_MAX_STEPS):
        residual = box.t - scores - b
        z = problem.coefficients(residual, J)
        gradient = np.append(v - _transpose_times(problem, z), -z.sum())
        free = np.flatnonzero((z > box.lo) & (z < box.hi) & ((box.eps == 0) | (z != 0)))
        # nobody inside their bounds holds the bias: as if they were spread evenly over all residuals
        held = float((box.hi - box.lo).sum()) / max(float(np.ptp(residual)), 1e-300)
        step = -_solve_hessian(problem, free, J, gradient, 1e-3 * held)
        dv, db = step[:-1], float(step[-1])
        along = _scores(problem, dv) + db
        slope = float(v @ dv) + problem.slope(residual, along, J, 0.0)
        if not slope < -1e-12 * float(v @ v):
            break
        a = _least(partial(_slope, problem, J, residual, along, float(v @ dv), float(dv @ dv)))
        v, b, scores = v + a * dv, b + a * db, scores + a * (along - db)
    return v, b, z


def _slope(
    problem: MachineProblem, J: Array, residual: Array, along: Array, first: float, second: float, a: float
) -> float:
    """Of the smoothed primal after a step `a`, whose norm has these derivatives."""
    return first + a * second + problem.slope(residual, along, J, a)


def _least(slope: Callable[[float], float]) -> float:
    """Where a rising `slope`, negative at zero, is zero."""
    high = 1.0
    while slope(high) < 0 and high < 1e6:
        high *= 2
    return float(scipy.optimize.brentq(slope, 0.0, high, rtol=1e-10)) if slope(high) > 0 else high


def _transpose_times(problem: MachineProblem, z: Array) -> Array:
    """``G' z``."""
    return problem.root * np.concatenate(problem.stack.normals(z))


def _scores(problem: MachineProblem, v: Array) -> Array:
    """``G v``."""
    return problem.stack.factor_scores(problem.root * v)


def _solve_hessian(problem: MachineProblem, free: Array, J: Array, gradient: Array, held: float) -> Array:
    """The Hessian's inverse times `gradient`; the bias bends the primal by `held` at least."""
    d, root = len(gradient) - 1, problem.root
    held = max(held - float((1 / J[free]).sum()), 1e-10 * held)
    if d > _MAX_FACTORS:
        return _solve_iteratively(problem, free, J, gradient, held)
    H = np.diag(np.append(np.ones(d), held))
    for a in range(0, len(free), _CHUNK):
        part = free[a : a + _CHUNK]
        rows = np.column_stack([problem.stack.rows(part) * root, np.ones(len(part))])
        rows /= np.sqrt(J[part])[:, None]
        H += rows.T @ rows
    return scipy.linalg.cho_solve(scipy.linalg.cho_factor(H, lower=True), gradient)


def _solve_iteratively(
    problem: MachineProblem, free: Array, J: Array, gradient: Array, held: float
) -> Array:
    """The same by conjugate gradients, roughly: whatever they end with is a way down."""
    weight = np.zeros(problem.stack.n)
    weight[free] = 1 / J[free]

    def multiply(x: Array) -> Array:
        bent = weight * (_scores(problem, x[:-1]) + x[-1])
        return np.append(x[:-1] + _transpose_times(problem, bent), bent.sum() + held * x[-1])

    H = scipy.sparse.linalg.LinearOperator((len(gradient),) * 2, matvec=multiply, dtype=np.float64)
    return scipy.sparse.linalg.cg(H, gradient, rtol=1e-4, maxiter=200)[0]
