"""The one iteration loop, and what makes its steps fast.

EM, alternating minimisation and MAP all run through :func:`iterate`.  :func:`squarem` turns a slow
but monotone update into a fast one that is still monotone; where the gradient is at hand as well,
:func:`quasi_newton` does so in fewer evaluations.
"""

from __future__ import annotations

import math
from collections.abc import Callable
from dataclasses import dataclass, replace
from enum import Enum
from typing import Generic, TypeVar

import numpy as np
import scipy.linalg

from absentia.core._linalg import Array

State = TypeVar("State")


class Status(Enum):
    """How a run ended; the value is the sentence the user reads."""

    CONVERGED = "converged: the objective's relative change fell below tol"
    CERTIFIED = "converged: the relative duality gap fell below tol"
    FINISHED = "ran all max_iter iterations, as tol=0 asks for"
    MAX_ITER = (
        "reached max_iter before the objective's relative change, or its duality gap, fell below tol; "
        "raise max_iter, or accept less with a larger tol"
    )
    STOPPED = "stopped early at the callback's request; the last iterate is kept"
    NOT_FINITE = (
        "the objective became infinite or NaN; the last finite iterate is kept "
        "(look for kernels that are nearly singular, or raise the prior)"
    )


@dataclass(frozen=True)
class Progress:
    """What a callback sees after each iteration.  Returning ``True`` from it stops the run."""

    iteration: int
    objective: float
    change: float
    max_iter: int


Callback = Callable[[Progress], bool | None]


@dataclass(frozen=True)
class Solution(Generic[State]):
    """The final state, the objective after each iteration, and how it ended."""

    state: State
    trace: Array
    status: Status

    @property
    def n_iter(self) -> int:
        return len(self.trace)


def relative_change(previous: float, current: float) -> float:
    """``|current - previous|`` relative to the larger of the two; infinite without a previous value."""
    if not math.isfinite(previous):
        return math.inf
    scale = max(abs(previous), abs(current))
    return abs(current - previous) / scale if scale else 0.0


def iterate(
    step: Callable[[State], State],
    objective: Callable[[State], float],
    state: State,
    *,
    tol: float,
    max_iter: int,
    callback: Callback | None = None,
    patience: int = 1,
    gap: Callable[[State], float] | None = None,
) -> Solution[State]:
    """Repeat ``state = step(state)`` until the objective settles.

    The trace holds the objective *after* each step, so a start that lies outside the family the
    step moves in leaves no misleading first value.  ``tol`` is relative; ``tol=0`` runs exactly
    ``max_iter`` steps.  The change has to stay below it for `patience` steps in a row: accelerated
    steps are uneven, and a single short one is no sign of an end.  With `gap`, a certificate of how far
    a state is from the optimum at most, relative to it, that is what has to fall below `tol`, and what
    the callback sees as the change.
    """
    trace: list[float] = []
    status = Status.MAX_ITER if tol > 0 else Status.FINISHED
    previous, settled = math.inf, 0
    for iteration in range(1, max_iter + 1):
        candidate = step(state)
        value = float(objective(candidate))
        if not math.isfinite(value):
            status = Status.NOT_FINITE
            break
        state, change = candidate, relative_change(previous, value)
        if gap is not None:
            change = gap(state)
        trace.append(value)
        if callback is not None and callback(Progress(iteration, value, change, max_iter)):
            status = Status.STOPPED
            break
        settled = settled + 1 if change < tol else 0
        if settled >= patience:
            status = Status.CONVERGED if gap is None else Status.CERTIFIED
            break
        previous = value
    return Solution(state, np.asarray(trace), status)


# ------------------------------------------------------------------------------------- acceleration

Point = tuple[Array, ...]


@dataclass(frozen=True)
class Evaluated:
    """A point, its objective, and where the plain update takes it."""

    point: Point
    value: float
    following: Point


@dataclass(frozen=True)
class Accelerated:
    """Where an accelerated run stands: the evaluated point, the longest step allowed, the cost so far."""

    at: Evaluated
    limit: float = 1e4
    n_evaluations: int = 1

    @property
    def value(self) -> float:
        return self.at.value


def squarem(evaluate: Callable[[Point], Evaluated]) -> Callable[[Accelerated], Accelerated]:
    """One step of squared extrapolation (Varadhan & Roland 2008, scheme S3) with a safeguard.

    ``evaluate(x)`` gives the objective at x and the plain update of x, which must not raise the
    objective.  A step makes two evaluations: of the updated point, and of the point extrapolated
    through both updates.  If the objective rises there, or the point cannot be evaluated at all, the
    second plain update is taken instead.  So the objective never rises.
    """

    def step(state: Accelerated) -> Accelerated:
        first = state.at
        second = evaluate(first.following)
        alpha = _step_length(first, second)
        length = min(max(alpha, 1.0), state.limit)
        candidate = _attempt(evaluate, _extrapolated(first, second, length)) if length > 1 else None
        if candidate is not None and candidate.value <= second.value:
            limit = 4 * state.limit if length == state.limit else state.limit
            return Accelerated(candidate, limit, state.n_evaluations + 2)
        limit = max(2.0, min(state.limit, length) / 4) if candidate is not None else state.limit
        cost = 2 if length == 1 else 3
        return Accelerated(evaluate(second.following), limit, state.n_evaluations + cost)

    return step


def _step_length(first: Evaluated, second: Evaluated) -> float:
    """``|r| / |v|`` with r the first update's step and v how much the second differs from it."""
    r2 = v2 = 0.0
    for x0, x1, x2 in zip(first.point, second.point, second.following, strict=True):
        r2 += float(np.vdot(x1 - x0, x1 - x0))
        v = x2 - 2 * x1 + x0
        v2 += float(np.vdot(v, v))
    return math.sqrt(r2 / v2) if v2 > 0 else 1.0


def _extrapolated(first: Evaluated, second: Evaluated, length: float) -> Point:
    """``x0 + 2 a r + a^2 v``, arranged as a combination of the three points."""
    a = length
    return tuple(
        ((1 - a) ** 2) * x0 + (2 * a * (1 - a)) * x1 + (a * a) * x2
        for x0, x1, x2 in zip(first.point, second.point, second.following, strict=True)
    )


def _attempt(evaluate: Callable[[Point], Evaluated], point: Point) -> Evaluated:
    """Evaluate a point that may be beyond what can be evaluated; then its value is infinite."""
    try:
        with np.errstate(all="ignore"):
            found = evaluate(point)
    except np.linalg.LinAlgError:
        return Evaluated(point, math.inf, point)
    return found if math.isfinite(found.value) else replace(found, value=math.inf)


# ------------------------------------------------------------------------------------- quasi-Newton

#: Shortest share of a proposed step that is tried, and the share of the promised descent that suffices.
SHORTEST, SUFFICIENT = 1e-2, 1e-4


@dataclass(frozen=True)
class Sloped:
    """A point, its objective and gradient, and the scale of a good step along any gradient there.

    `precondition` applies a symmetric positive definite matrix near the inverse of the second
    derivative.  What an EM step multiplies the gradient by is one.
    """

    point: Point
    value: float
    gradient: Point
    precondition: Callable[[Point], Point]


@dataclass(frozen=True)
class Descent:
    """Where a descent stands: the point, the last changes of (point, gradient), the cost so far."""

    at: Sloped
    pairs: tuple[tuple[Point, Point], ...] = ()
    n_evaluations: int = 1

    @property
    def value(self) -> float:
        return self.at.value


def quasi_newton(evaluate: Callable[[Point], Sloped], memory: int = 3) -> Callable[[Descent], Descent]:
    """One step of preconditioned L-BFGS (Nocedal & Wright 2006, section 7.2) with backtracking.

    Without pairs in memory the direction is the preconditioned gradient, for EM the EM step itself.
    ``evaluate(x)`` may move x into the feasible region; the point it returns is the one that counts.
    The objective never rises: a step that does not lower it is not taken, and the memory is cleared.
    """

    def step(state: Descent) -> Descent:
        at = state.at
        direction = _quasi_newton_direction(at, state.pairs)
        promised = _dot(at.gradient, direction)
        length, cost = 1.0, state.n_evaluations
        while promised > 0 and length >= SHORTEST:
            found = _attempt_slope(evaluate, _plus(at.point, -length, direction))
            cost += 1
            if found.value <= at.value - SUFFICIENT * length * promised:
                s = _plus(found.point, -1.0, at.point)
                y = _plus(found.gradient, -1.0, at.gradient)
                curved = _dot(s, y) > 1e-10 * math.sqrt(_dot(s, s) * _dot(y, y))
                pairs = (*state.pairs, (s, y))[-memory:] if curved else state.pairs
                return Descent(found, pairs, cost)
            length *= _shrink(found.value - at.value, length * promised)
        return Descent(at, (), cost)

    return step


def _quasi_newton_direction(at: Sloped, pairs: tuple[tuple[Point, Point], ...]) -> Point:
    """The two-loop recursion around the preconditioner."""
    v = tuple(np.array(g, order="C") for g in at.gradient)
    weights = []
    for s, y in reversed(pairs):
        weights.append(_dot(s, v) / _dot(s, y))
        _add(v, -weights[-1], y)
    v = at.precondition(v)
    if pairs:
        s, y = pairs[-1]
        scale = _dot(s, y) / _dot(y, at.precondition(y))
        v = tuple(x * x.dtype.type(scale) for x in v)
    for (s, y), weight in zip(pairs, reversed(weights), strict=True):
        _add(v, weight - _dot(y, v) / _dot(s, y), s)
    return v


def _shrink(rise: float, promised: float) -> float:
    """The share of a failed step at which a parabola through what was seen is lowest."""
    return min(max(promised / (2 * (rise + promised)), 0.1), 0.5) if math.isfinite(rise) else 0.1


def _attempt_slope(evaluate: Callable[[Point], Sloped], point: Point) -> Sloped:
    """Evaluate a point that may be beyond what can be evaluated; then its value is infinite."""
    try:
        with np.errstate(all="ignore"):
            found = evaluate(point)
    except np.linalg.LinAlgError:
        return Sloped(point, math.inf, point, lambda x: x)
    return found if math.isfinite(found.value) else replace(found, value=math.inf)


def _dot(a: Point, b: Point, chunk: int = 1 << 16) -> float:
    """Inner product, summed in double precision over chunks."""
    total = 0.0
    for x, y in zip(a, b, strict=True):
        x, y = x.reshape(-1), y.reshape(-1)
        total += sum(float(np.vdot(x[i : i + chunk], y[i : i + chunk])) for i in range(0, x.size, chunk))
    return total


def _plus(a: Point, t: float, b: Point) -> Point:
    """``a + t b``."""
    result = tuple(np.array(x, order="C") for x in a)
    _add(result, t, b)
    return result


def _add(a: Point, t: float, b: Point) -> None:
    """``a += t b`` in place, without temporaries."""
    for x, y in zip(a, b, strict=True):
        axpy = scipy.linalg.get_blas_funcs("axpy", (x, y))
        axpy(y.reshape(-1), x.reshape(-1), a=t)
