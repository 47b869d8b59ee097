"""The one iteration loop, and the rules by which it ends.

EM, alternating minimisation, descent and conjugate gradients all run through :func:`iterate`.  A rule owns
what it measures and the sentence that the user reads.
"""

import math
from collections.abc import Callable
from dataclasses import dataclass
from enum import Enum
from typing import Any, Generic, TypeVar

import numpy as np

from absentia.core._linalg import Array

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
class Stop:
    """A run is over once its measure stayed at or below `tol` for `patience` steps; never with ``tol=0``.

    ``measure(state)`` is relative; by default it is the objective's change from the step before.
    """

    tol: float
    what: str = "the objective's relative change"
    measure: Callable[[Any], float] | None = None
    patience: int = 1

    def sentence(self, status: Status) -> str:
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
    sentence: str

    def __repr__(self) -> str:
        last = f", {self.trace[-1]:.6g} at the end" if self.n_iter else ""
        return f"Solution({self.n_iter} iterations{last}; {self.sentence})"

    @property
    def n_iter(self) -> int:
        return len(self.trace)

    @property
    def converged(self) -> bool:
        return self.status is Status.CONVERGED


def relative_change(previous: float, current: float) -> float:
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
    stop: Stop,
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
        change = relative_change(previous, value) if stop.measure is None else measured
        trace.append(value)
        if callback is not None and callback(Progress(iteration, value, change, max_iter)):
            status = Status.STOPPED
            break
        streak = streak + 1 if change <= stop.tol and stop.tol > 0 else 0
        if streak >= stop.patience:
            status = Status.CONVERGED
            break
    return Solution(state, np.asarray(trace), status, stop.sentence(status))
