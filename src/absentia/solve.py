"""The one iteration loop, and its acceleration.

EM, alternating minimisation and MAP all run through :func:`iterate`.  :func:`squarem` turns a slow
but monotone update into a fast one that is still monotone.
"""

from __future__ import annotations

import math
from collections.abc import Callable
from dataclasses import dataclass, replace
from enum import Enum
from typing import Generic, TypeVar

import numpy as np

from absentia.linalg import Array

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
