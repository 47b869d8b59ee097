"""What a run hands over: weights and coefficients whose own gap is small, both bounds from these alone.

So whoever has them can compute the gap again.  An upper bound below the lower one beyond rounding raises.
Where z is not unique no machine may have a small gap alone; handed over is then the best average of the
machines (``_cuts``) with the weights that suit it best, or samples that no weighted view reaches get other
coefficients (:func:`balanced`).
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import replace
from typing import NamedTuple

import numpy as np

from absentia.core import Array
from absentia.methods.learning.engine._cuts import averaged, lowest_model, paired
from absentia.methods.learning.engine._polytope import Polytope
from absentia.methods.learning.engine._problem import (
    Cut,
    Point,
    Problem,
    evaluate,
    lifted,
    relative_gap,
    with_coefficients,
    without_dust,
)
from absentia.methods.learning.engine._stack import Stack
from absentia.methods.learning.engine._state import Candidate, State
from absentia.methods.learning.engine._svm import Box

MOST_REFUSED = 12
WAIT = 4  # steps from one attempt to end to the next


def settled(problem: Problem, state: State, tol: float) -> State:
    """What is handed over, if its own gap is small enough; otherwise on with machines more exact."""
    tried = []
    for point in attempts(problem, state, tol):
        tried.append(point)
        if point.gap <= tol:
            return handed_over(state, point)
    end = min(tried, key=lambda one: one.gap)
    if state.n_refused >= MOST_REFUSED:  # optimal as machines together show, but no pair shows it alone
        return handed_over(state, end)
    return replace(
        state,
        surest=min(state.surest, Candidate.of(end), key=lambda one: one.gap),
        n_refused=state.n_refused + 1,
        wait=WAIT,
    )


def attempts(problem: Problem, state: State, tol: float) -> Iterator[Point]:
    """Points that may have a gap of their own as small as the one that several machines have together."""
    end = tidied(problem, state.surest, 0.2 * tol)
    yield end
    yield with_coefficients(problem, end, state.surest.coefficients)
    if not isinstance(problem.region, Polytope):
        return
    raised = lifted(state.surest.eta)
    if raised is not state.surest.eta:
        there = tidied(problem, state.surest._replace(eta=raised), 0.2 * tol)
        yield with_coefficients(problem, there, state.surest.coefficients)
    yield balanced(problem, problem.region, end, tol)
    mean = averaged(problem.region, state.cuts)
    yield with_coefficients(problem, end, mean)
    yield from paired(problem, problem.region, mean, 0.02 * tol)
    yield tidied(problem, Candidate(0.0, state.point.eta, mean), 0.02 * tol)


def tidied(problem: Problem, candidate: Candidate, exact: float) -> Point:
    """Weights and coefficients without dust, and the machines and bounds that go with those."""
    eta = problem.region.boundary(without_dust(candidate.eta))
    return with_coefficients(problem, evaluate(problem, eta, exact, candidate.coefficients))


def handed_over(state: State, point: Point) -> State:
    """The end: this point, with the gap that it has by itself; raises if its bounds contradict."""
    lower = point.height - point.kappa / 2
    if not point.primal - lower >= -point.rounding:  # NaN too
        raise ArithmeticError(
            f"the upper bound {point.primal!r} of the objective lies below the lower one, {lower!r}, or is "
            "no number: a fault of this solver, or a kernel with infinite or NaN values"
        )
    return replace(state, point=point, lower=lower, tidy=True)


def balanced(problem: Problem, region: Polytope, point: Point, tol: float) -> Point:
    """The same weights and machines, with the best lower bound that samples without a weighted view allow.

    Their coefficients reach neither scores nor norm, so which of them have how much is open to the machine,
    and V has a kink there; but the lower bound depends on them through the views without weight.  It is
    ``min over c in Q`` of what cuts say, so cutting planes (Kelley 1960) find its maximum: every new one is
    a machine over these few samples alone, with the kernel ``sum_p c_p K_p``.
    """
    loose = np.setdiff1d(np.arange(problem.stack.n), problem.stack.reached(point.eta > 0))
    pairs = zip(problem.boxes, point.machines, strict=True)
    parts = [Loose.of(problem.stack, box, machine.z, loose) for box, machine in pairs]
    if not any(part.movable for part in parts):
        return point
    cuts, best = [point.cut], point
    for _ in range(3 * region.m + 10):
        c, _, _ = lowest_model(region, cuts)
        best = min(best, with_coefficients(problem, point, averaged(region, cuts)), key=lambda one: one.gap)
        if best.gap <= 0.5 * tol:
            break
        found = [part.moved(c) for part in parts]
        z = [one for _, _, one in found]
        cut = Cut(sum(h for h, _, _ in found), np.sum([q for _, q, _ in found], axis=0), z)
        cuts.append(cut)
        if relative_gap(point.primal, cut.height - float(c @ cut.q) / 2) > 1.1 * tol:
            break  # no bound is above that
    return best


class Loose(NamedTuple):
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
    def of(cls, stack: Stack, box: Box, z: Array, loose: Array) -> Loose:
        """What can move: those with room, and with `eps` only on their side of zero."""
        own = loose[(box.hi[loose] > box.lo[loose]) & ((box.eps == 0) | (z[loose] != 0))]
        lo, hi = box.lo[own], box.hi[own]
        if box.eps > 0:
            lo, hi = np.where(z[own] > 0, 0.0, lo), np.where(z[own] < 0, 0.0, hi)
        R, q = stack.products(z)
        t = box.t[own] - box.eps * np.sign(z[own])
        return cls(stack.restricted(own), Box(t, lo - z[own], hi - z[own]), z, own, box, R[own], q)

    @property
    def movable(self) -> bool:
        return len(self.loose) > 1

    def moved(self, c: Array) -> tuple[float, Array, Array]:
        """The best coefficients for weights `c`: their linear term, ``q`` and themselves."""
        if not self.movable:
            return self.box_of_all.linear(self.z), self.q, self.z
        box = self.box._replace(t=self.box.t - self.r @ c)
        d = self.stack.weighted(c).fit(box, tol=1e-3).z
        z = self.z.copy()
        lo, hi = self.box_of_all.lo[self.loose], self.box_of_all.hi[self.loose]
        z[self.loose] = np.clip(z[self.loose] + d, lo, hi)
        own = self.stack.products(d)[1]
        return self.box_of_all.linear(z), self.q + 2 * (d @ self.r) + own, z
