"""Multiple kernel learning: the weights of kernels and a machine on their sum, with a certificate.

    minimise over eta in Q   V(eta) = max_z  sum_i (t_i z_i - eps |z_i|) - 1/2 sum_p eta_p q_p(z),
    q_p(z) = z' K_p z,   z in a box with sum z = 0  (see ``_svm``).

``K_p`` is zero wherever a sample lacks view p, so only its observed block is ever read.  The region Q is a
polytope ``{eta >= 0, P eta <= 1}`` (a simplex for ordinary multiple kernel learning) or the unit ball of a
p-norm.

V is convex, and where z is unique differentiable: ``dV/deta_p = -q_p / 2``.  In a polytope a step is
Newton's (``_steps``).  Where that makes no progress, machines are made more exact, ``K_FF`` less singular,
and every other step goes where the cutting planes of all machines so far are lowest: V has
kinks where z is not unique.  In a ball weights are updated in closed form.

The relative duality gap is what stops it: any ``z`` gives the lower bound ``linear(z) - kappa(q(z)) / 2``
with ``kappa(q) = max {c.q : c in Q}``, the machine's primal value at eta an upper one.  On the way the best
bound of all machines counts; what is reported is the gap of what is handed over: weights and coefficients
whose own gap is small, both bounds from these alone, so that whoever has them can compute it again.  An
upper bound below the lower one beyond rounding raises.  Where z is not unique no machine may have a small
gap alone; handed over is then the best average of the machines with the weights that suit it best, or
samples that no weighted view reaches get other coefficients (:func:`_rebalance`).
"""

from __future__ import annotations

import itertools
from collections.abc import Iterator
from dataclasses import replace
from typing import NamedTuple

import numpy as np

from absentia.core import Array
from absentia.core.optimize import Callback, Solution, StoppingRule, iterate
from absentia.methods.learning.engine._problem import (
    GAP,
    Candidate,
    Cut,
    Point,
    Problem,
    Starts,
    State,
    evaluate,
    initial_state,
    lift_small_weights,
    relative_gap,
    with_coefficients,
    without_dust,
)
from absentia.methods.learning.engine._regions import NormBall, Polytope
from absentia.methods.learning.engine._stacks import Stack
from absentia.methods.learning.engine._steps import (
    average_coefficients,
    cutting_step,
    lowest_model,
    newton_step,
    norm_step,
    pair_weights,
    pairing_step,
)
from absentia.methods.learning.engine._svm import Box

_MOST_REFUSED = 12
_WAIT = 4  # steps from one attempt to end to the next


def solve(
    problem: Problem,
    *,
    tol: float = 1e-3,
    max_iter: int = 200,
    callback: Callback | None = None,
    eta: Array | None = None,
    z: Starts = None,
) -> Solution[State]:
    """Minimise V over the region to a relative duality gap of `tol`, from `eta` and `z` if given."""

    def step(state: State) -> State:
        if state.tidy:
            return state
        there = state.gap <= tol and state.n_refused == 0  # already at the start
        moving = state if there else _take_step(problem, replace(state, wait=max(state.wait - 1, 0)), tol)
        return _try_to_end(problem, moving, tol) if moving.gap <= tol and not moving.wait else moving

    solution = iterate(
        step,
        lambda state: state.objective,
        initial_state(problem, eta, z),
        stop=StoppingRule(tol, GAP, lambda state: state.gap if state.tidy else max(state.gap, 2 * tol)),
        max_iter=max_iter,
        callback=callback,
    )
    end = solution.state
    if not end.tidy:
        ends = itertools.islice(_ending_attempts(problem, end, tol), 2)
        end = finish(end, min(ends, key=lambda point: point.gap))
    return replace(solution, state=end)


def _take_step(problem: Problem, state: State, tol: float) -> State:
    """One step."""
    region = problem.region
    if isinstance(region, NormBall):
        return norm_step(problem, region, state, tol)
    assert isinstance(region, Polytope)
    if state.care < 2 or state.care % 2:
        return newton_step(problem, region, state, tol)
    return (pairing_step if state.care % 4 == 0 else cutting_step)(problem, region, state, tol)


# -------------------------------------------------------------------------------------- how a run ends


def _try_to_end(problem: Problem, state: State, tol: float) -> State:
    """What is handed over, if its own gap is small enough; otherwise on with machines more exact."""
    tried = []
    for point in _ending_attempts(problem, state, tol):
        tried.append(point)
        if point.gap <= tol:
            return finish(state, point)
    end = min(tried, key=lambda point: point.gap)
    if state.n_refused >= _MOST_REFUSED:  # optimal as machines together show, but no pair shows it alone
        return finish(state, end)
    return replace(
        state,
        surest=min(state.surest, Candidate.of(end), key=lambda candidate: candidate.gap),
        n_refused=state.n_refused + 1,
        wait=_WAIT,
    )


def _ending_attempts(problem: Problem, state: State, tol: float) -> Iterator[Point]:
    """Points that may have a gap of their own as small as the one that several machines have together."""
    end = _clean_candidate(problem, state.surest, 0.2 * tol)
    yield end
    yield with_coefficients(problem, end, state.surest.coefficients)
    if not isinstance(problem.region, Polytope):
        return
    raised = lift_small_weights(state.surest.eta)
    if raised is not state.surest.eta:
        there = _clean_candidate(problem, state.surest._replace(eta=raised), 0.2 * tol)
        yield with_coefficients(problem, there, state.surest.coefficients)
    yield _rebalance(problem, problem.region, end, tol)
    mean = average_coefficients(problem.region, state.cuts)
    yield with_coefficients(problem, end, mean)
    yield from pair_weights(problem, problem.region, mean, 0.02 * tol)
    yield _clean_candidate(problem, Candidate(0.0, state.point.eta, mean), 0.02 * tol)


def _clean_candidate(problem: Problem, candidate: Candidate, exact: float) -> Point:
    """Weights and coefficients without dust, and the machines and bounds that go with those."""
    eta = problem.region.boundary(without_dust(candidate.eta))
    return with_coefficients(problem, evaluate(problem, eta, exact, candidate.coefficients))


def finish(state: State, point: Point) -> State:
    """The end: this point, with the gap that it has by itself; raises if its bounds contradict."""
    lower = point.height - point.kappa / 2
    if not point.primal - lower >= -point.rounding:  # NaN too
        raise ArithmeticError(
            f"the upper bound {point.primal!r} of the objective lies below the lower one, {lower!r}, or is "
            "no number: a fault of this solver, or a kernel with infinite or NaN values"
        )
    return replace(state, point=point, lower=lower, tidy=True)


def _rebalance(problem: Problem, region: Polytope, point: Point, tol: float) -> Point:
    """The same weights and machines, with the best lower bound that samples without a weighted view allow.

    Their coefficients reach neither scores nor norm, so which of them have how much is open to the machine,
    and V has a kink there; but the lower bound depends on them through the views without weight.  It is
    ``min over c in Q`` of what cuts say, so cutting planes (Kelley 1960) find its maximum: every new one is
    a machine over these few samples alone, with the kernel ``sum_p c_p K_p``.
    """
    loose = np.setdiff1d(np.arange(problem.stack.n), problem.stack.samples_with(point.eta > 0))
    pairs = zip(problem.boxes, point.machines, strict=True)
    parts = [_Loose.of(problem.stack, box, machine.z, loose) for box, machine in pairs]
    if not any(part.movable for part in parts):
        return point
    cuts, best = [point.cut], point
    for _ in range(3 * region.m + 10):
        c, _, _ = lowest_model(region, cuts)
        best = min(
            best,
            with_coefficients(problem, point, average_coefficients(region, cuts)),
            key=lambda candidate: candidate.gap,
        )
        if best.gap <= 0.5 * tol:
            break
        moves = [part.move(c) for part in parts]
        z = [coefficients for _, _, coefficients in moves]
        cut = Cut(sum(h for h, _, _ in moves), np.sum([q for _, q, _ in moves], axis=0), z)
        cuts.append(cut)
        if relative_gap(point.primal, cut.height - float(c @ cut.q) / 2) > 1.1 * tol:
            break  # no bound is above that
    return best


class _Loose(NamedTuple):
    """One machine's coefficients of the samples that no weighted view reaches, and how to choose them anew.

    With d on those samples alone ``q_p(z + d) = q_p(z) + 2 r_p'd + d' K_p d``, ``r_p = K_p z``.
    """

    stack: Stack  # over the loose samples
    box: Box
    z: Array
    loose: Array
    box_of_all: Box
    r: Array  # loose samples x views, at z
    q: Array  # at z

    @classmethod
    def of(cls, stack: Stack, box: Box, z: Array, loose: Array) -> _Loose:
        """What can move: those with room, and with `eps` only on their side of zero."""
        free = loose[(box.hi[loose] > box.lo[loose]) & ((box.eps == 0) | (z[loose] != 0))]
        lo, hi = box.lo[free], box.hi[free]
        if box.eps > 0:
            lo, hi = np.where(z[free] > 0, 0.0, lo), np.where(z[free] < 0, 0.0, hi)
        R, q = stack.products(z)
        t = box.t[free] - box.eps * np.sign(z[free])
        return cls(stack.restrict(free), Box(t, lo - z[free], hi - z[free]), z, free, box, R[free], q)

    @property
    def movable(self) -> bool:
        return len(self.loose) > 1

    def move(self, c: Array) -> tuple[float, Array, Array]:
        """The best coefficients for weights `c`: their linear term, ``q`` and themselves."""
        if not self.movable:
            return self.box_of_all.linear(self.z), self.q, self.z
        box = self.box._replace(t=self.box.t - self.r @ c)
        d = self.stack.weighted_sum(c).fit(box, tol=1e-3).z
        z = self.z.copy()
        lo, hi = self.box_of_all.lo[self.loose], self.box_of_all.hi[self.loose]
        z[self.loose] = np.clip(z[self.loose] + d, lo, hi)
        energy = self.stack.products(d)[1]
        return self.box_of_all.linear(z), self.q + 2 * (d @ self.r) + energy, z
