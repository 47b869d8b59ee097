"""Where a run stands: the best so far, all cuts, and how careful the next step has to be."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace
from typing import Any, NamedTuple

import numpy as np

from absentia.core import Array
from absentia.methods.learning.engine._problem import Cut, Point, Problem, Starts, evaluate, relative_gap

JITTER = 1e-9  # added to K_FF, relative to its diagonal; it is singular where eta sits at a vertex
MOST_JITTER = 1e-3
N_CUTS = 100  # cutting planes kept, with coefficients of
KEPT = 5_000_000  # samples in all, but of a few planes at least


class Candidate(NamedTuple):
    """Weights and coefficients that might be handed over, by the gap of their own."""

    gap: float
    eta: Array
    coefficients: list[Array]

    @classmethod
    def of(cls, point: Point) -> Candidate:
        return cls(point.gap, point.eta, point.coefficients)


@dataclass(frozen=True)
class State:
    """Where a run stands: the best point, the best lower bound, and how careful the next step is.

    The point with the least gap of its own, ``surest``, need not be the one with the lowest objective.

    ``shy`` marks views that once lost their weight in a step and wanted it back at once: V rises
    steeply where their weight nears zero, which no quadratic model sees.
    """

    point: Point
    lower: float
    shy: Array
    cuts: tuple[Cut, ...]
    surest: Candidate
    jitter: float = JITTER
    care: int = 0  # steps without progress, less those with it
    radius: float = 0.1  # of the cutting planes' trust region, relative to the largest weight
    n_machines: int = 1
    n_refused: int = 0  # times that several machines together had a small gap, but none alone
    wait: int = 0  # steps before the next attempt to end
    tidy: bool = False

    @property
    def objective(self) -> float:
        return self.point.primal

    @property
    def gap(self) -> float:
        """Relative duality gap, by the best bounds of all machines so far; once tidy, by its own."""
        return self.point.gap if self.tidy else relative_gap(self.objective, self.lower)


def start(problem: Problem, eta: Array | None = None, z: Starts = None) -> State:
    """A first state, from given weights and coefficients if there are any."""
    point = evaluate(problem, problem.region.middle() if eta is None else eta, 1e-2, z)
    shy = np.zeros(len(point.eta), dtype=bool)
    return State(point, point.lower, shy, (point.cut,), Candidate.of(point))


def n_cuts(n: int) -> int:
    """How many cutting planes to keep."""
    return min(N_CUTS, max(KEPT // n, 5))


def moved(state: State, trials: Sequence[Point], promised: float, **changes: Any) -> State:
    """`state` after `trials`, the last of which is kept if it is better; careful if that was too little."""
    before, last = state.point.primal, trials[-1]
    point = last if last.primal < before else state.point
    after = replace(
        state,
        point=point,
        lower=max(state.lower, *(trial.lower for trial in trials)),
        cuts=(*state.cuts, *(trial.cut for trial in trials))[-n_cuts(len(last.machines[0].z)) :],
        surest=min(state.surest, *map(Candidate.of, trials), key=lambda one: one.gap),
        n_machines=state.n_machines + len(trials),
        **changes,
    )
    decrease = before - point.primal
    if after.gap < 0.8 * state.gap or decrease > max(0.1 * promised, 0.02 * state.gap * before):
        return replace(after, jitter=max(state.jitter / 10, JITTER), care=max(state.care - 1, 0))
    # a step that kept a small promise is no failure, but asks for a bolder one
    care = state.care if decrease > 0.1 * promised else state.care + 1
    return replace(after, jitter=min(state.jitter * 100, MOST_JITTER), care=care)


def aim(state: State, promised: float, tol: float) -> float:
    """How exact the next machine has to be: as the gap and the promised decrease ask for."""
    wanted = min(0.02 * state.gap, 0.1 * promised / state.objective)
    return max(max(wanted, 0.2 * tol) * 0.1**state.care, 0.02 * tol)
