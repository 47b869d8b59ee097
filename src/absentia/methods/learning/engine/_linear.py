"""The machine of ``_svm`` on a weighted sum of kernels given by factors: dual coordinate descent.

With ``K = sum_p eta_p Phi_p Phi_p'`` the scores are ``f_i = sum_p <Phi_p(i), w_p> + b``, where
``w_p = eta_p Phi_p' z``, so one coefficient is brought to its best value in time linear in the factors
(Hsieh, Chang, Lin, Keerthi & Sundararajan, ICML 2008):

    z_i  <-  clip(soft(z_i + (t_i - f_i) / h_i, eps / h_i), lo_i, hi_i),    h_i = K_ii + s.

The bias is not regularised, so ``sum z = 0``, which no single coefficient can keep.  Instead of moving
pairs, the multiplier of that constraint, which is the bias, is found by the method of multipliers (Hestenes
1969): coefficients are moved with ``b = b_k + s sum z``, and after every pass over the samples ``b_k``
becomes ``b``.  `s` is small beside the kernel's diagonal, and steps are hardly shorter for it.  So that the
bias and what all samples share do not work against one another, factors are taken from their mean
``m``: where ``sum z = 0`` that changes the bias alone.  Nothing is subtracted for it: with the ``<x_i, m>``
of all samples computed beforehand, ``<x_i - m, w - (sum z) m>`` costs three numbers more.

Samples are visited in random order, blocks of neighbours together, which reads memory in runs.  Whoever did
not move when last visited, being at a bound, is left alone for some passes: one, two, ... up to
:data:`_REST`.

Where the gap falls so slowly that it would take very many passes (large C, factors nearly alike), Newton's
method goes on (:func:`_fit_smoothed`).

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
from typing import TYPE_CHECKING, Any, NamedTuple

import numpy as np
import scipy.linalg
import scipy.optimize
from numba import carray, types
from numba.extending import intrinsic

from absentia.core import Array
from absentia.methods.learning.engine._compiled import compiled
from absentia.methods.learning.engine._svm import Box, Machine, stretch_machine

if TYPE_CHECKING:
    from absentia.methods.learning.engine._factors import FactorStack

_BLOCK = 64  # neighbours visited together
_REST = 5  # passes that a coefficient at its bound is left alone for, at most
_SOFT = 0.01  # s, relative to the kernel's mean diagonal
_PASSES = 5  # between one look at the gap and the next
_MOST_PASSES = 3000
_LOOKS = 10  # at the gap, that tell how fast it falls
PATIENCE = 500  # more passes to come than this are too many: Newton's method is called in
_MOST_FACTORS = 4000  # unless there are more factors than that
_FALL = 4.0  # how much narrower the rounding is from one round to the next
_ROUNDS = 25
_STEPS = 30  # of Newton's method in a round
CHUNK = 8192


class _MachineProblem(NamedTuple):
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
    def diagonal(self) -> Array:
        """What the kernel's diagonal has beside factors."""
        return np.asarray(self.stack.diagonal @ self.eta + self.ridge)

    def evaluate(self, z: Array) -> Machine:
        """The machine with coefficients `z`, or a multiple of them, its scores computed anew."""
        scores = self.stack.scores(self.eta, z) + self.ridge * z
        largest = float((self.stack.squares @ self.eta).max(initial=0.0)) + self.ridge
        floor = 1e-15 * float(np.abs(self.box.t).max(initial=0.0) + largest * np.abs(z).sum())
        return stretch_machine(self.box, z, scores, floor, np.inf, 0)

    def rounding(self, reach: float) -> Array:
        """``J`` that rounds kinks over residuals of width twice `reach`."""
        width = self.box.hi - self.box.lo
        return np.where(width > 0, 2 * reach / np.where(width > 0, width, 1.0), 1.0) + self.diagonal

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


def fit_linear(
    stack: FactorStack,
    eta: Array,
    box: Box,
    *,
    tol: float,
    start: Array | None = None,
    ridge: float = 0.0,
    max_passes: int = _MOST_PASSES,
) -> Machine:
    """Solve the dual until primal and dual differ by at most `tol` times the primal.

    Parameters
    ----------
    eta : array of shape (views,)
        Weights of the kernels.
    start : array of shape (n,), optional
        Coefficients to start from; they are made feasible first.
    ridge : float
        Added to the kernel's diagonal.
    max_passes : int
        Passes over the samples at most.
    """
    z = box.make_feasible(start) if start is not None else np.zeros(stack.n)
    problem = _MachineProblem(stack, eta, box, ridge)
    best = problem.evaluate(z)
    descent, seen = _Descent(problem, best), [(0, best.gap)]
    width = sum(Phi.shape[1] for Phi in stack.factors)
    # a step of Newton's method costs as much as so many passes
    patience = PATIENCE + 15 * width**2 / stack.n if width <= _MOST_FACTORS else np.inf
    while best.gap > tol * abs(best.primal) and descent.passes < max_passes:
        left = _passes_left(seen, tol * abs(best.primal))
        if left > patience:
            return _fit_smoothed(problem, best, tol)._replace(n_steps=descent.passes)
        passes = min(max(_PASSES, int(left / 8)), 8 * _PASSES)
        descent.go(min(passes, max_passes - descent.passes))
        looked = problem.evaluate(box.make_feasible(descent.z))
        best = min(best, looked, key=lambda candidate: candidate.gap)
        seen.append((descent.passes, best.gap))
    return best._replace(n_steps=descent.passes)


def _passes_left(seen: list[tuple[int, float]], wanted: float) -> float:
    """How many more passes it may take to a gap of `wanted`, by the last looks at it (passes, gap)."""
    if len(seen) < 5:
        return 0.0
    (before, wide), (now, gap) = seen[-min(len(seen), _LOOKS)], seen[-1]
    fall = np.log(wide / gap) / (now - before)
    return float(np.log(gap / wanted) / fall) if fall > 0 else np.inf


class _Descent:
    """Coefficients on their way, what they add up to, and who rests."""

    def __init__(self, problem: _MachineProblem, start: Machine) -> None:
        stack, eta = problem.stack, problem.eta
        used = np.flatnonzero(eta > 0)
        self.box, self.z, self.bias, self.passes = problem.box, start.z.copy(), start.bias, 0
        self.eta = np.ascontiguousarray(eta[used])
        self.place = np.ascontiguousarray(stack.place[:, used])
        self.factors = [stack.factors[v] for v in used]
        self.scale, self.diagonal = stack.scale, problem.diagonal
        counted = (problem.box.hi > problem.box.lo).astype(np.float64)
        counted /= max(float(counted.sum()), 1.0)
        self.middle = stack.scores(eta, counted) - (stack.diagonal @ eta) * counted
        self.length = float(self.middle @ counted)
        self.bias += float(self.middle @ self.z)
        self.squares = stack.squares @ eta + problem.ridge - 2 * self.middle + self.length
        self.soft = _SOFT * float(self.squares[self.squares > 0].mean()) if self.squares.any() else 1.0
        normals = stack.normals(start.z)
        self.w = np.concatenate([eta[v] * normals[v] for v in used] + [np.zeros(0)])
        self.addresses = np.array([Phi.ctypes.data for Phi in self.factors], dtype=np.intp)
        self.widths = np.array([Phi.shape[1] for Phi in self.factors], dtype=np.int64)
        self.like = np.zeros(1, dtype=stack.dtype)
        self.rest = np.zeros((2, stack.n), dtype=np.int8)  # passes left to rest, and how many next time
        self.rng = np.random.default_rng(0)

    def go(self, passes: int) -> None:
        """Some passes over the samples."""
        box = self.box
        for _ in range(passes):
            self.bias = _pass(
                self.like, self.addresses, self.widths, self.place, self.scale, self.eta, self.squares,
                self.middle, self.length, self.diagonal, self.soft, box.t, box.lo, box.hi, box.eps, self.z,
                self.w, self.bias, *self.rest, self._order(),
            )  # fmt: skip
        self.passes += passes

    def _order(self) -> Array:
        """Blocks of neighbours in random order, and random within."""
        n, width = len(self.z), min(_BLOCK, max(1, len(self.z) // 64))
        inside = self.rng.permutation(width)
        order = (width * self.rng.permutation(-(-n // width))[:, None] + inside).ravel()
        return np.asarray(order[order < n])


# ------------------------------------------------------------------------------------- Newton's method


def _fit_smoothed(problem: _MachineProblem, start: Machine, tol: float) -> Machine:
    """The machine to a relative gap of `tol`, from coefficients near it."""
    box = problem.box
    v, b, best = _normal(problem, start.z), start.bias, start
    reach = np.inf
    for _ in range(_ROUNDS):
        # as wide as the gap that there is, narrower than last time, as wide as the gap wanted allows
        now, end = (problem.reach(best, gap) for gap in (best.gap, tol * abs(best.primal) / 2))
        reach = max(min(now, reach / _FALL), end) if reach > end else reach / _FALL
        v, b, z = _newton(problem, v, b, problem.rounding(reach))
        machine = problem.evaluate(box.make_feasible(z))
        best = min(best, machine, key=lambda candidate: candidate.gap)
        if best.gap <= tol * abs(best.primal):
            break
    return best


def _newton(problem: _MachineProblem, v: Array, b: float, J: Array) -> tuple[Array, float, Array]:
    """The least smoothed primal from `v` and `b`, and the coefficients there."""
    box = problem.box
    scores = _scores(problem, v)
    z = problem.coefficients(box.t - scores - b, J)
    for _ in range(_STEPS):
        rest = box.t - scores - b
        z = problem.coefficients(rest, J)
        gradient = np.append(v - _normal(problem, z), -z.sum())
        free = np.flatnonzero((z > box.lo) & (z < box.hi) & ((box.eps == 0) | (z != 0)))
        # nobody inside their bounds holds the bias: as if they were spread evenly over all residuals
        held = float((box.hi - box.lo).sum()) / max(float(np.ptp(rest)), 1e-300)
        step = -_solve_hessian(problem, free, J, gradient, 1e-3 * held)
        dv, db = step[:-1], float(step[-1])
        along = _scores(problem, dv) + db
        slope = float(v @ dv) + problem.slope(rest, along, J, 0.0)
        if not slope < -1e-12 * float(v @ v):
            break
        a = _least(partial(_slope, problem, J, rest, along, float(v @ dv), float(dv @ dv)))
        v, b, scores = v + a * dv, b + a * db, scores + a * (along - db)
    return v, b, z


def _slope(
    problem: _MachineProblem, J: Array, rest: Array, along: Array, first: float, second: float, a: float
) -> float:
    """Of the smoothed primal after a step `a`, whose norm has these derivatives."""
    return first + a * second + problem.slope(rest, along, J, a)


def _least(slope: Callable[[float], float]) -> float:
    """Where a rising `slope`, negative at zero, is zero."""
    high = 1.0
    while slope(high) < 0 and high < 1e6:
        high *= 2
    return float(scipy.optimize.brentq(slope, 0.0, high, rtol=1e-10)) if slope(high) > 0 else high


def _normal(problem: _MachineProblem, z: Array) -> Array:
    """``G' z``."""
    return problem.root * np.concatenate(problem.stack.normals(z))


def _scores(problem: _MachineProblem, v: Array) -> Array:
    """``G v``."""
    return problem.stack.factor_scores(problem.root * v)


def _solve_hessian(problem: _MachineProblem, free: Array, J: Array, gradient: Array, held: float) -> Array:
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


# ------------------------------------------------------------------------------------ compiled loops


def _as_pointer(_context, _address):  # type: ignore[no-untyped-def]
    """An address as a pointer: how many views there are is not known when loops are compiled."""

    def generate(context, builder, signature, arguments):  # type: ignore[no-untyped-def]
        return builder.inttoptr(arguments[0], context.get_value_type(signature.return_type))

    return types.voidptr(types.intp), generate


_pointer: Any = intrinsic(_as_pointer)


@compiled(fast=True)
def _dot(row, w):  # type: ignore[no-untyped-def]
    total = 0.0
    for k in range(len(row)):
        total += row[k] * w[k]
    return total


@compiled(fast=True)
def _add(w, weight, row):  # type: ignore[no-untyped-def]
    for k in range(len(row)):
        w[k] += weight * row[k]


@compiled
def _pass(  # type: ignore[no-untyped-def]
    like, addresses, widths, place, scale, eta, squares, middle, length, diagonal, soft, t, lo, hi, eps, z,
    w, bias, rest, streak, order,
):  # fmt: skip
    """One coefficient after the other in `order`; `z`, `w` and who rests change in place.  The bias."""
    total, shift, views = z.sum(), middle @ z, len(eta)
    for i in order:
        if rest[i] > 0:
            rest[i] -= 1
            continue
        if lo[i] == hi[i]:
            continue
        f, first = 0.0, 0
        for v in range(views):
            r, d = place[i, v], widths[v]
            if r >= 0:
                row = carray(_pointer(addresses[v] + r * d * like.itemsize), d, like.dtype)
                f += _dot(row, w[first : first + d])
            first += d
        f = scale[i] * f + diagonal[i] * z[i] - shift + total * (length - middle[i] + soft) + bias
        h = squares[i] + soft
        u = z[i] + (t[i] - f) / h
        if eps > 0:
            u = max(u - eps / h, 0.0) if u > 0 else min(u + eps / h, 0.0)
        u = min(max(u, lo[i]), hi[i])
        delta = u - z[i]
        if delta == 0.0:
            streak[i] = min(streak[i] + 1, _REST)
            rest[i] = streak[i]
            continue
        streak[i] = 0
        z[i] = u
        total += delta
        shift += delta * middle[i]
        first = 0
        for v in range(views):
            r, d = place[i, v], widths[v]
            if r >= 0:
                row = carray(_pointer(addresses[v] + r * d * like.itemsize), d, like.dtype)
                _add(w[first : first + d], eta[v] * scale[i] * delta, row)
            first += d
    return bias + soft * total
