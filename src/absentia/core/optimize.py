"""The one iteration loop, the rules by which it ends, and steps that make it fast.

EM, alternating minimisation, descent and conjugate gradients all run through :func:`iterate`.  A rule owns
what it measures and the sentence that the user reads.

:func:`_squarem` turns a slow but monotone update into a fast one; where the gradient is at hand as well,
:func:`make_quasi_newton_step` does so in fewer evaluations.  Neither ever lets an objective rise.
:func:`accelerate` and :func:`descend` run them.

Choices among numbers that are equal but for rounding (errors of several parameters, eigenvalues) go to the
first, the simplest, or leave out all of them (:func:`argmin_key`, :func:`choose_rank`).
"""

import math
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass, field, replace
from enum import Enum
from typing import Any, Generic, TypeVar

import numpy as np
import scipy.linalg

from absentia.core.linalg import Array

_State = TypeVar("_State")


class Status(Enum):
    """How a run ended; ``{what}`` is what the rule measures."""

    CONVERGED = "converged: {what} fell below tol"
    FINISHED = "ran all max_iter iterations, as tol=0 asks for"
    MAX_ITER = (
        "reached max_iter before {what} fell below tol; raise max_iter, or accept less with a larger tol"
    )
    STOPPED = "stopped early at the callback's request; the last iterate is kept"
    NOT_FINITE = "the objective became infinite or NaN; the last finite iterate is kept"


@dataclass(frozen=True)
class StoppingRule:
    """A run is over once its measure stayed at or below `tol` for `patience` steps; never with ``tol=0``.

    ``measure(state)`` is relative; by default it is the objective's change from the step before.
    """

    tol: float
    what: str = "the objective's relative change"
    measure: Callable[[Any], float] | None = None
    patience: int = 1

    def message(self, status: Status) -> str:
        return status.value.format(what=self.what)


@dataclass(frozen=True)
class Progress:
    """What a callback sees after each iteration.  Returning ``True`` from it stops the run."""

    iteration: int
    objective: float
    change: float
    max_iter: int


Callback = Callable[[Progress], bool | None]


@dataclass(frozen=True, repr=False)
class Solution(Generic[_State]):
    """The final state, the objective after each iteration, how it ended, and that in a sentence."""

    state: _State
    trace: Array
    status: Status
    message: str

    def __repr__(self) -> str:
        last = f", {self.trace[-1]:.6g} at the end" if self.n_iter else ""
        return f"Solution({self.n_iter} iterations{last}; {self.message})"

    @property
    def n_iter(self) -> int:
        return len(self.trace)

    @property
    def converged(self) -> bool:
        return self.status is Status.CONVERGED


def _relative_change(previous: float, current: float) -> float:
    """``|current - previous|`` relative to the larger of the two; infinite without a previous value."""
    if not math.isfinite(previous):
        return math.inf
    scale = max(abs(previous), abs(current))
    return abs(current - previous) / scale if scale else 0.0


def iterate(
    step: Callable[[_State], _State],
    objective: Callable[[_State], float] | None,
    state: _State,
    *,
    stop: StoppingRule,
    max_iter: int,
    callback: Callback | None = None,
) -> Solution[_State]:
    """Repeat ``state = step(state)`` until the rule says so.

    The trace holds the objective *after* each step, so a start that lies outside the family the step
    moves in leaves no misleading first value; without an objective it holds what the rule measures, which
    then is one of the state alone.  Accelerated steps are uneven, and a single short one is no sign of an
    end: rules for those have patience.
    """
    trace: list[float] = []
    status = Status.MAX_ITER if stop.tol > 0 else Status.FINISHED
    value, streak = math.inf, 0
    for iteration in range(1, max_iter + 1):
        candidate = step(state)
        previous, measured = value, stop.measure(candidate) if stop.measure is not None else math.nan
        value = float(measured if objective is None else objective(candidate))
        if not math.isfinite(value):
            status = Status.NOT_FINITE
            break
        state = candidate
        change = _relative_change(previous, value) if stop.measure is None else measured
        trace.append(value)
        if callback is not None and callback(Progress(iteration, value, change, max_iter)):
            status = Status.STOPPED
            break
        streak = streak + 1 if change <= stop.tol and stop.tol > 0 else 0
        if streak >= stop.patience:
            status = Status.CONVERGED
            break
    return Solution(state, np.asarray(trace), status, stop.message(status))


# -------------------------------------------------------------------------------------- points of a descent


Point = tuple[Array, ...]


@dataclass(frozen=True)
class UpdateEvaluation:
    """A point, its objective, and where the plain update takes it."""

    point: Point
    value: float
    following: Point


@dataclass(frozen=True)
class GradientEvaluation:
    """A point, its objective and gradient, and the scale of a good step along any gradient there.

    `precondition` applies a symmetric positive definite matrix near the inverse of the second
    derivative, and may overwrite what it is given.  What an EM step multiplies the gradient by is one.
    """

    point: Point
    value: float
    gradient: Point
    precondition: Callable[[Point], Point]


_Any = TypeVar("_Any", bound=UpdateEvaluation | GradientEvaluation)
_Local = TypeVar("_Local", bound=GradientEvaluation)


def _try_evaluate(evaluate: Callable[[Point], _Any], point: Point) -> _Any | None:
    """Evaluate a point that may be beyond what can be evaluated; None if it is, or is not finite."""
    try:
        with np.errstate(all="ignore"):
            evaluated = evaluate(point)
    except np.linalg.LinAlgError:
        return None
    return evaluated if math.isfinite(evaluated.value) else None


# ------------------------------------------------------------------------------------- extrapolation


@dataclass(frozen=True)
class AccelerationState:
    """Where an accelerated run stands: the evaluated point, the longest step allowed, the cost so far."""

    at: UpdateEvaluation
    limit: float = 1e4
    n_evaluations: int = 1

    @property
    def value(self) -> float:
        return self.at.value


def _squarem(
    evaluate: Callable[[Point], UpdateEvaluation],
) -> Callable[[AccelerationState], AccelerationState]:
    """One step of squared extrapolation (Varadhan & Roland 2008, scheme S3) with a safeguard.

    ``evaluate(x)`` gives the objective at x and the plain update of x, which must not raise the
    objective.  A step makes two evaluations: of the updated point, and of the point extrapolated
    through both updates.  If the objective rises there, or the point cannot be evaluated at all, the
    second plain update is taken instead.  So the objective never rises.
    """

    def step(state: AccelerationState) -> AccelerationState:
        first = state.at
        second = evaluate(first.following)
        alpha = _step_length(first, second)
        length = min(max(alpha, 1.0), state.limit)
        if length == 1:
            return AccelerationState(evaluate(second.following), state.limit, state.n_evaluations + 2)
        third = _try_evaluate(evaluate, _extrapolate(first, second, length))
        if third is not None and third.value <= second.value:
            limit = 4 * state.limit if length == state.limit else state.limit
            return AccelerationState(third, limit, state.n_evaluations + 2)
        limit = max(2.0, min(state.limit, length) / 4)
        return AccelerationState(evaluate(second.following), limit, state.n_evaluations + 3)

    return step


def accelerate(
    evaluate: Callable[[Point], UpdateEvaluation], first: Point, **options: Any
) -> Solution[AccelerationState]:
    """Repeat the update that `evaluate` knows, extrapolated; `options` are those of :func:`iterate`."""
    start = AccelerationState(evaluate(first))
    return iterate(_squarem(evaluate), lambda state: state.value, start, **options)


def _step_length(first: UpdateEvaluation, second: UpdateEvaluation) -> float:
    """``|r| / |v|`` with r the first update's step and v how much the second differs from it."""
    r2 = v2 = 0.0
    for x0, x1, x2 in zip(first.point, second.point, second.following, strict=True):
        r2 += float(np.vdot(x1 - x0, x1 - x0))
        v = x2 - 2 * x1 + x0
        v2 += float(np.vdot(v, v))
    return math.sqrt(r2 / v2) if v2 > 0 else 1.0


def _extrapolate(first: UpdateEvaluation, second: UpdateEvaluation, length: float) -> Point:
    """``x0 + 2 a r + a^2 v``, arranged as a combination of the three points."""
    a = length
    return tuple(
        ((1 - a) ** 2) * x0 + (2 * a * (1 - a)) * x1 + (a * a) * x2
        for x0, x1, x2 in zip(first.point, second.point, second.following, strict=True)
    )


# ------------------------------------------------------------------------------------- quasi-Newton

#: Shortest share of a proposed step that is tried, and the share of the promised descent that suffices.
_SHORTEST, _SUFFICIENT = 1e-2, 1e-4
#: By so much, relative, rounding may raise an objective that in truth falls (that of factor analysis, whose
#: terms cancel); the slope along a step that is taken all the same must be at most so much of what it was.
ROUNDING, _FLATTER = 1e-8, 0.9


@dataclass
class DescentState(Generic[_Local]):
    """Where a descent stands: the point, the last changes of (point, gradient), the cost so far.

    All of these are as large as a point, so that a step changes the state in place, and what it leaves is
    overwritten.  The oldest change goes out of a full list before a new one is made.
    """

    at: _Local
    pairs: list[tuple[Point, Point]] = field(default_factory=list)
    n_evaluations: int = 1

    @property
    def value(self) -> float:
        return self.at.value


def make_quasi_newton_step(
    evaluate: Callable[[Point], _Local], memory: int = 3, *, by_slope: bool = False
) -> Callable[[DescentState[_Local]], DescentState[_Local]]:
    """One step of preconditioned L-BFGS (Nocedal & Wright 2006, section 7.2) with backtracking.

    Without pairs in memory the direction is the preconditioned gradient, for EM the EM step itself.
    ``evaluate(x)`` may move x into the feasible region; the point it returns is the one that counts.
    The objective never rises: a step that does not lower it is not taken, and the memory is cleared.
    With `by_slope` it may rise by rounding where the slope falls (Hager & Zhang 2005): gradients tell where
    the objective is flat long after its values do not.
    """

    def is_lower(new: _Local, at: _Local, direction: Point, length: float, promised: float) -> bool:
        if new.value <= at.value - _SUFFICIENT * length * promised:
            return True
        flat = by_slope and new.value <= at.value + ROUNDING * abs(at.value)
        return flat and abs(dot(new.gradient, direction)) <= _FLATTER * promised

    def step(state: DescentState[_Local]) -> DescentState[_Local]:
        at, pairs = state.at, state.pairs
        direction = _quasi_newton_direction(at, pairs)
        if not by_slope:
            del pairs[: max(len(pairs) - memory + 1, 0)]
        promised = dot(at.gradient, direction)
        length, cost = 1.0, state.n_evaluations
        while promised > 0 and length >= _SHORTEST:
            new = _try_evaluate(evaluate, add_scaled(at.point, -length, direction))
            cost += 1
            if new is not None and is_lower(new, at, direction, length, promised):
                s, y = direction, at.gradient
                _subtract(new.point, at.point, s)
                _subtract(new.gradient, at.gradient, y)
                curved = dot(s, y) > 1e-10 * math.sqrt(dot(s, s) * dot(y, y))
                state.at, state.n_evaluations = new, cost
                state.pairs = [*pairs, (s, y)][-memory:] if curved else pairs
                return state
            length *= 0.1 if new is None else _shrink(new.value - at.value, length * promised)
        state.pairs, state.n_evaluations = [], cost
        return state

    return step


def descend(
    evaluate: Callable[[Point], _Local], start: DescentState[_Local], **options: Any
) -> Solution[DescentState[_Local]]:
    """Descend from `start`; one iteration is one step, mostly one evaluation."""
    return iterate(make_quasi_newton_step(evaluate), lambda state: state.value, start, **options)


#: A descent stands still where the preconditioned gradient is shorter than this; steps that it is given.
_STILL, _MAX_STEPS = 1e-8, 1000


def refine_minimum(
    evaluate: Callable[[Point], _Local],
    run: Solution[DescentState[_Local]],
    callback: Callback | None = None,
) -> Solution[DescentState[_Local]]:
    """Go on from where `run` converged until the point, and not only the objective, stands still.

    The state of `run` moves along.

    Along flat directions an objective changes with the square of what is left to go: a point at which it
    seems to stand still depends on rounding, and with that on the order of what was added up.  Ends early
    where rounding leaves no step to take.
    """
    step, ended = make_quasi_newton_step(evaluate, by_slope=True), False

    def step_or_end(state: DescentState[_Local]) -> DescentState[_Local]:
        nonlocal ended
        at, pairs = state.at, state.pairs
        following = step(state)
        ended = following.at is at and not pairs
        return following

    def slope(state: DescentState[_Local]) -> float:
        at = state.at
        return 0.0 if ended else math.sqrt(max(dot(at.gradient, at.precondition(_copy(at.gradient))), 0.0))

    if not run.converged:
        return run
    stop = StoppingRule(_STILL, measure=slope)
    rest = iterate(
        step_or_end, lambda state: state.value, run.state, stop=stop, max_iter=_MAX_STEPS, callback=callback
    )
    return replace(run, state=rest.state, trace=np.append(run.trace, rest.trace))


def _quasi_newton_direction(at: GradientEvaluation, pairs: Sequence[tuple[Point, Point]]) -> Point:
    """The two-loop recursion around the preconditioner."""
    scale = 1.0
    if pairs:  # before there is a direction, which is as large as what is made here
        s, y = pairs[-1]
        scale = dot(s, y) / dot(y, at.precondition(_copy(y)))
    v = _copy(at.gradient)
    weights = []
    for s, y in reversed(pairs):
        weights.append(dot(s, v) / dot(s, y))
        _add(v, -weights[-1], y)
    v = at.precondition(v)
    for x in v:
        x *= x.dtype.type(scale)
    for (s, y), weight in zip(pairs, reversed(weights), strict=True):
        _add(v, weight - dot(y, v) / dot(s, y), s)
    return v


def _subtract(a: Point, b: Point, out: Point) -> None:
    """``out = a - b``; `out` may be either."""
    for x, y, result in zip(a, b, out, strict=True):
        np.subtract(x, y, out=result)


def _copy(point: Point) -> Point:
    return tuple(np.array(x, order="C") for x in point)


def _shrink(rise: float, promised: float) -> float:
    """The share of a failed step at which a parabola through what was seen is lowest."""
    return min(max(promised / (2 * (rise + promised)), 0.1), 0.5)


def dot(a: Point, b: Point, chunk: int = 1 << 16) -> float:
    """Inner product, summed in double precision over chunks."""
    total = 0.0
    for x, y in zip(a, b, strict=True):
        x, y = x.reshape(-1), y.reshape(-1)
        total += sum(float(np.vdot(x[i : i + chunk], y[i : i + chunk])) for i in range(0, x.size, chunk))
    return total


def add_scaled(a: Point, t: float, b: Point) -> Point:
    """``a + t b``."""
    result = _copy(a)
    _add(result, t, b)
    return result


def _add(a: Point, t: float, b: Point) -> None:
    """``a += t b`` in place, without temporaries."""
    for x, y in zip(a, b, strict=True):
        if x.size:
            axpy = scipy.linalg.get_blas_funcs("axpy", (x, y))
            axpy(y.reshape(-1), x.reshape(-1), a=t)


# ------------------------------------------------------------------------------------------- which is best

#: Values that differ by less than this, relative, are tied.
TIE_RTOL = 1e-9

#: Values count as different from this share on: far above rounding, far below what data differ in.
DISTINCT_RTOL = 1e-6

_Key = TypeVar("_Key")


def argmin_key(curve: Mapping[_Key, float]) -> _Key:
    """The key of the least value; of those tied with it the first, so let the simplest come first.

    Examples
    --------
    >>> argmin_key({1: 0.5, 2: 0.2 + 1e-12, 3: 0.2})
    2
    """
    low = min(curve.values())
    return next(key for key, value in curve.items() if value <= low + TIE_RTOL * abs(low))


def evaluate_path(
    path: Iterable[_Key], error: Callable[[_Key], float], patience: int = 2, hopeless: float = np.inf
) -> dict[_Key, float]:
    """Errors along a path of values, left once `patience` values in a row were worse than the best.

    It is left at once where the error is more than `hopeless` times the best.
    """
    curve: dict[_Key, float] = {}
    for value in path:
        curve[value] = error(value)
        tried, best = list(curve), argmin_key(curve)
        if len(tried) - 1 - tried.index(best) >= patience or curve[value] > hopeless * curve[best]:
            break
    return curve


def choose_rank(values: Array, most: int) -> int:
    """How many of descending `values` to keep, at most `most`; of those alike all or none.

    A cut between directions whose values are alike (to :data:`DISTINCT_RTOL`) would let rounding say which.
    """
    count = min(most, len(values))
    while 0 < count < len(values) and values[count] >= (1 - DISTINCT_RTOL) * values[count - 1]:
        count -= 1
    return count
