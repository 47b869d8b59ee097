"""The problem of multiple kernel learning, and what the machine at given weights says about it.

A :class:`Point` is weights with their machine, and both bounds on the least V (see ``_solver``).  Its
coefficients alone are a :class:`Cut`: a bound on V, linear in the weights, that holds everywhere.

Weights below :data:`DUST` of the largest are zero.  Where the run ends at ``tol``, what is left of a weight
that the optimum has not is rounding: moving a share of DUST changes V by about DUST of itself, far below
any sensible `tol`, but a view with such a weight would count as one that has a say.

A :class:`State` is where a run stands: the best so far, all cuts, and how careful the next step has to be.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace
from typing import Any, NamedTuple

import numpy as np

from absentia.core import Array
from absentia.methods.learning.engine._regions import Region
from absentia.methods.learning.engine._stacks import Stack, Sum
from absentia.methods.learning.engine._svm import Box, Machine, evaluate_machine, rounding_error

GAP = "the relative duality gap"
DUST = 1e-6  # weights below this part of the largest are zero
_Z_DUST = 1e-10  # the same for coefficients of samples
_JITTER = 1e-9  # added to K_FF, relative to its diagonal; it is singular where eta sits at a vertex
_MOST_JITTER = 1e-3
_N_CUTS = 100  # cutting planes kept, with coefficients of
_KEPT = 5_000_000  # samples in all, but of a few planes at least


@dataclass(frozen=True)
class Problem:
    """Kernels, where their weights may be, and the box of the machine on their sum."""

    stack: Stack
    box: Box
    region: Region


class Cut(NamedTuple):
    """``V(eta) >= height - eta.q / 2`` everywhere: what the coefficients `z` of one machine say.

    These are kept with it: at most N_CUTS for each sample, little beside a kernel.
    """

    height: float
    q: Array
    z: Array


@dataclass(frozen=True)
class Point:
    """Weights, the machine at them, and what it says about V there."""

    eta: Array
    machine: Machine
    kernel: Sum  # at these weights
    R: Array  # K_p z, one column per view
    q: Array
    kappa: float  # the most that c.q is in the region
    vertex: Array  # where that is: the linearised V is least there
    price: Array  # what each q_p would have to exceed to be worth more weight, if eta were optimal
    height: float  # linear(z)
    lower: float  # bound on the least V anywhere in the region
    rounding: float  # of the difference of primal and dual value

    @property
    def primal(self) -> float:
        return self.machine.primal

    @property
    def dual(self) -> float:
        return self.machine.dual

    @property
    def value_gap(self) -> float:
        """V lies between the dual and the primal value: how far apart these are."""
        return self.machine.gap

    @property
    def gap(self) -> float:
        """Relative duality gap of these weights and coefficients alone, what rounding may hide included."""
        upper, lower = self.primal, self.height - self.kappa / 2
        return relative_gap(upper, lower) + (self.rounding / abs(upper) if upper else 0.0)

    @property
    def gradient(self) -> Array:
        return -self.q / 2

    @property
    def weighted(self) -> Array:
        """Which views have a weight to speak of."""
        return self.eta > DUST * self.eta.max()

    @property
    def cut(self) -> Cut:
        return Cut(self.height, self.q, self.machine.z)

    @property
    def underweighted(self) -> Array:
        """Which views would lower V if weight were moved to them from the others."""
        return self.q * self.kappa > 2 * self.price * float(self.eta @ self.q)


def evaluate(problem: Problem, eta: Array, tol: float, start: Array | None = None) -> Point:
    """The machine at `eta` to a relative gap of `tol`, and the lower bound that it gives."""
    kernel = problem.stack.weighted_sum(eta)
    return _point(problem, eta, kernel, kernel.fit(problem.box, tol=tol, start=start))


def _point(problem: Problem, eta: Array, kernel: Sum, machine: Machine) -> Point:
    """What `machine` at `eta` says, its ``K z`` computed from the kernels of the views."""
    box = problem.box
    R, q = problem.stack.products(machine.z)
    machine = evaluate_machine(box, machine.z, R @ eta, machine.n_steps)
    kappa, vertex, price = problem.region.highest(q)
    linear = box.linear(machine.z)
    # z scaled towards zero stays in the box, and may give the better bound
    scale = min(1.0, linear / kappa) if kappa > 0 and linear > 0 else 1.0
    lower = scale * linear - scale**2 * kappa / 2
    slack = rounding_error(box, machine, float(problem.stack.largest() @ eta))
    return Point(eta, machine, kernel, R, q, kappa, vertex, price, linear, lower, slack)


def with_coefficients(problem: Problem, point: Point, z: Array | None = None) -> Point:
    """The same weights with coefficients `z` (by default its own), dust left out."""
    clean = problem.box.make_feasible(without_dust(point.machine.z if z is None else z, _Z_DUST))
    if np.array_equal(clean, point.machine.z):
        return point
    return _point(problem, point.eta, point.kernel, point.machine._replace(z=clean))


def relative_gap(upper: float, lower: float) -> float:
    """``(upper - lower) / |upper|``, never clipped."""
    if upper == lower:
        return 0.0
    return (upper - lower) / abs(upper) if upper else np.copysign(np.inf, upper - lower)


def without_dust(values: Array, share: float = DUST) -> Array:
    """`values` with exact zeros for those below `share` of the largest in size."""
    size = np.abs(values)
    return np.where(size > share * size.max(initial=0.0), values, 0.0)


def lift_small_weights(eta: Array) -> Array:
    """`eta` with weights that nearly count made large enough, instead of zero: the other way to round."""
    limit = DUST * float(eta.max())
    near = (eta > 0.1 * limit) & (eta <= limit)
    return np.where(near, 1.001 * limit, eta) if near.any() else eta


# ---------------------------------------------------------------------------------- the state of a run


class Candidate(NamedTuple):
    """Weights and coefficients that might be handed over, by the gap of their own."""

    gap: float
    eta: Array
    z: Array

    @classmethod
    def of(cls, point: Point) -> Candidate:
        return cls(point.gap, point.eta, point.machine.z)


@dataclass(frozen=True)
class State:
    """Where a run stands: the best point, the best lower bound, and how careful the next step is.

    The point with the least gap of its own, ``surest``, need not be the one with the lowest objective.

    ``damped`` marks views that once lost their weight in a step and wanted it back at once: V rises
    steeply where their weight nears zero, which no quadratic model sees.
    """

    point: Point
    lower: float
    damped: Array
    cuts: tuple[Cut, ...]
    surest: Candidate
    jitter: float = _JITTER
    care: int = 0  # steps without progress, less those with it
    radius: float = 0.1  # of the cutting planes' trust region, relative to the largest weight
    n_machines: int = 1
    n_refused: int = 0  # times that several machines together had a small gap, but none alone
    wait: int = 0  # steps before the next attempt to end
    final: bool = False

    @property
    def objective(self) -> float:
        return self.point.primal

    @property
    def gap(self) -> float:
        """Relative duality gap, by the best bounds of all machines so far; once final, by its own."""
        return self.point.gap if self.final else relative_gap(self.objective, self.lower)


def initial_state(problem: Problem, eta: Array | None = None, z: Array | None = None) -> State:
    """A first state, from given weights and coefficients if there are any."""
    point = evaluate(problem, problem.region.middle() if eta is None else eta, 1e-2, z)
    damped = np.zeros(len(point.eta), dtype=bool)
    return State(point, point.lower, damped, (point.cut,), Candidate.of(point))


def _n_cuts(n: int) -> int:
    """How many cutting planes to keep."""
    return min(_N_CUTS, max(_KEPT // n, 5))


def advance(state: State, trials: Sequence[Point], expected: float, **changes: Any) -> State:
    """`state` after `trials`, the last of which is kept if it is better; careful if that was too little."""
    before, last = state.point.primal, trials[-1]
    point = last if last.primal < before else state.point
    after = replace(
        state,
        point=point,
        lower=max(state.lower, *(trial.lower for trial in trials)),
        cuts=(*state.cuts, *(trial.cut for trial in trials))[-_n_cuts(len(last.machine.z)) :],
        surest=min(state.surest, *map(Candidate.of, trials), key=lambda candidate: candidate.gap),
        n_machines=state.n_machines + len(trials),
        **changes,
    )
    decrease = before - point.primal
    if after.gap < 0.8 * state.gap or decrease > max(0.1 * expected, 0.02 * state.gap * before):
        return replace(after, jitter=max(state.jitter / 10, _JITTER), care=max(state.care - 1, 0))
    # a step that kept a small promise is no failure, but asks for a bolder one
    care = state.care if decrease > 0.1 * expected else state.care + 1
    return replace(after, jitter=min(state.jitter * 100, _MOST_JITTER), care=care)


def next_tolerance(state: State, expected: float, tol: float) -> float:
    """How exact the next machine has to be: as the gap and the expected decrease ask for."""
    wanted = min(0.02 * state.gap, 0.1 * expected / state.objective)
    return max(max(wanted, 0.2 * tol) * 0.1**state.care, 0.02 * tol)
