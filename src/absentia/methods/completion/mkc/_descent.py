"""Descent that never rises, with the view weights always at their best.

With S the best weights at a point, the objective is a function of the point alone, and its gradient is the
partial one (S is where the partial derivative in S vanishes on the simplex): quasi-Newton steps lower it.
Every few of them a proximal step follows, which is what sets whole columns exactly to zero, or revives one.
"""

from collections.abc import Callable
from dataclasses import dataclass, replace
from typing import Protocol

import numpy as np

from absentia.core import Array, Descent, Point, dot, plus, quasi_newton
from absentia.methods.completion.mkc._problem import Local, Problem
from absentia.methods.completion.mkc._rows import Rows

MEMORY = 8
#: A proximal step follows every so many steps.
SHRINK_EVERY = 5


class Variant(Protocol):
    """One of the three objectives: where to start, what it is at a point, how to shrink, new samples."""

    problem: Problem

    def start(self) -> Point: ...
    def evaluate(self, point: Point) -> Local: ...
    def shrunk(self, at: Local, eta: float) -> Point | None: ...
    def coordinates(self, point: Point) -> list[Array]: ...
    def basis(self, point: Point) -> Array: ...
    def fold(self, point: Point, S: Array, rows: Rows) -> tuple[list[Array], Array]: ...


@dataclass(frozen=True)
class Turn:
    """Where the descent stands, how many steps it took, and the length of the last proximal one."""

    descent: Descent[Local]
    eta: float = 1.0
    steps: int = 1

    @property
    def at(self) -> Local:
        return self.descent.at


def alternate(variant: Variant) -> Callable[[Turn], Turn]:
    """One step of the descent, and now and then a proximal one."""
    step = quasi_newton(variant.evaluate, MEMORY)

    def turn(state: Turn) -> Turn:
        state = replace(state, descent=step(state.descent), steps=state.steps + 1)
        return _shrink(variant, state) if state.steps % SHRINK_EVERY == 0 else state

    return turn


def _shrink(variant: Variant, state: Turn) -> Turn:
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
            pairs = state.descent.pairs if same else ()
            return replace(state, descent=replace(state.descent, at=trial, pairs=pairs), eta=2 * eta)
        eta /= 2
    return replace(state, eta=1.0)
