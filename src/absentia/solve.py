"""The one iteration loop: EM, alternating minimisation and MAP all run through :func:`iterate`."""

from __future__ import annotations

import math
from collections.abc import Callable
from dataclasses import dataclass
from enum import Enum
from typing import Generic, TypeVar

import numpy as np

from absentia.linalg import Array

State = TypeVar("State")


class Status(Enum):
    """How a run ended; the value is the sentence the user reads."""

    CONVERGED = "converged: the objective's relative change fell below tol"
    FINISHED = "ran all max_iter iterations, as tol=0 asks for"
    MAX_ITER = (
        "reached max_iter before the objective's relative change fell below tol; "
        "raise max_iter, or accept less with a larger tol"
    )
    STOPPED = "stopped early at the callback's request; the last iterate is kept"
    NOT_FINITE = (
        "the objective became infinite or NaN; the last finite iterate is kept "
        "(look for kernels that are nearly singular, or raise the prior)"
    )

    @property
    def ok(self) -> bool:
        """Whether the run ended the way it was asked to."""
        return self in (Status.CONVERGED, Status.FINISHED)


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
) -> Solution[State]:
    """Repeat ``state = step(state)`` until the objective settles.

    The trace holds the objective *after* each step, so a start that lies outside the family the
    step moves in leaves no misleading first value.  ``tol`` is relative; ``tol=0`` runs exactly
    ``max_iter`` steps.
    """
    trace: list[float] = []
    status = Status.MAX_ITER if tol > 0 else Status.FINISHED
    previous = math.inf
    for iteration in range(1, max_iter + 1):
        candidate = step(state)
        value = float(objective(candidate))
        if not math.isfinite(value):
            status = Status.NOT_FINITE
            break
        state, change = candidate, relative_change(previous, value)
        trace.append(value)
        if callback is not None and callback(Progress(iteration, value, change, max_iter)):
            status = Status.STOPPED
            break
        if change < tol:
            status = Status.CONVERGED
            break
        previous = value
    return Solution(state, np.asarray(trace), status)
