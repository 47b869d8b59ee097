"""Descent that never rises: quasi-Newton steps with the view weights always at their best.

With S the best weights at a point, the objective is a function of the point alone, and its gradient is the
partial one (S is where the partial derivative in S vanishes on the simplex).  Directions come from limited
memory BFGS on top of a variant's own preconditioner; steps are halved until the objective falls enough.
Every few steps a proximal step follows, which is what sets whole columns exactly to zero, or revives one.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, replace
from typing import Protocol

import numpy as np

from absentia.core import Array, Point
from absentia.methods.completion.mkc._problem import Local, Problem
from absentia.methods.completion.mkc._rows import Rows

MEMORY = 8
#: A proximal step follows every so many steps.
SHRINK_EVERY = 5


class Variant(Protocol):
    """One of the three objectives: where to start, what it is at a point, how to move, new samples."""

    problem: Problem

    def start(self) -> Point: ...
    def evaluate(self, point: Point) -> Local: ...
    def precondition(self, at: Local) -> Callable[[Point], Point]: ...
    def shrunk(self, at: Local, eta: float) -> Point | None: ...
    def coordinates(self, point: Point) -> list[Array]: ...
    def basis(self, point: Point) -> Array: ...
    def fold(self, point: Point, S: Array, rows: Rows) -> tuple[list[Array], Array]: ...


@dataclass(frozen=True)
class Pair:
    """How the gradient changed over a step, ``rho = 1 / <step, change>``."""

    step: Point
    change: Point
    rho: float


@dataclass(frozen=True)
class Descent:
    """Where the descent stands, what it remembers, and the length of the last proximal step."""

    at: Local
    pairs: tuple[Pair, ...] = ()
    eta: float = 1.0
    turn: int = 1

    @property
    def value(self) -> float:
        return self.at.value


def descend(variant: Variant) -> Callable[[Descent], Descent]:
    """One step of the descent, for ``_loop.iterate``."""

    def step(state: Descent) -> Descent:
        at, pairs = state.at, state.pairs
        divide = variant.precondition(at)
        found = _searched(variant, at, _direction(at, pairs, divide))
        if found is None and pairs:
            pairs = ()
            found = _searched(variant, at, divide(at.gradient))
        if found is not None:
            pairs = _remembered(pairs, at, found)
            at = found
        state = Descent(at, pairs, state.eta, state.turn + 1)
        return _shrink(variant, state) if state.turn % SHRINK_EVERY == 0 else state

    return step


def dot(a: Point, b: Point) -> float:
    return float(sum(np.vdot(x, y) for x, y in zip(a, b, strict=True)))


def plus(a: Point, factor: float, b: Point) -> Point:
    """``a + factor b``."""
    return tuple(x + factor * y for x, y in zip(a, b, strict=True))


def _direction(at: Local, pairs: tuple[Pair, ...], divide: Callable[[Point], Point]) -> Point:
    """The inverse Hessian's image of the gradient, by the two-loop recursion."""
    q, shares = at.gradient, []
    for pair in reversed(pairs):
        shares.append(pair.rho * dot(pair.step, q))
        q = plus(q, -shares[-1], pair.change)
    r = divide(q)
    for pair, share in zip(pairs, reversed(shares), strict=True):
        r = plus(r, share - pair.rho * dot(pair.change, r), pair.step)
    return r


def _searched(variant: Variant, at: Local, direction: Point) -> Local | None:
    """The first point along minus the direction, halving from one, where the objective falls enough."""
    slope, length = dot(at.gradient, direction), 1.0
    if not slope > 0:
        return None
    while length > 1e-6:
        trial = variant.evaluate(plus(at.point, -length, direction))
        if trial.value <= at.value - 1e-4 * length * slope:
            return trial
        length /= 2
    return None


def _remembered(pairs: tuple[Pair, ...], old: Local, new: Local) -> tuple[Pair, ...]:
    """Pairs with the newest, unless the objective was not convex along it."""
    step, change = plus(new.point, -1.0, old.point), plus(new.gradient, -1.0, old.gradient)
    bend = dot(step, change)
    if bend <= 1e-10 * np.sqrt(dot(step, step) * dot(change, change)):
        return pairs
    return (*pairs, Pair(step, change, 1.0 / bend))[-MEMORY:]


def _shrink(variant: Variant, state: Descent) -> Descent:
    """A proximal step, halved until the objective falls enough; a changed set of columns clears memory."""
    at, eta = state.at, state.eta
    for _ in range(30):
        point = variant.shrunk(at, eta)
        if point is None:
            return state
        trial = variant.evaluate(point)
        moved = plus(point, -1.0, at.point)
        if trial.value <= at.value - 0.25 / eta * dot(moved, moved):
            same = np.array_equal(variant.basis(trial.point), variant.basis(at.point))
            return replace(state, at=trial, eta=2 * eta, pairs=state.pairs if same else ())
        eta /= 2
    return replace(state, eta=1.0)
