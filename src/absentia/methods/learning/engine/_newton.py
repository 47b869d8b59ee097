"""Newton's method for the weights in a polytope.

The gradient of V is differentiable almost everywhere (``_sums``).  So a step is a quadratic program in the
few weights, whose minimum may also say where free coefficients go, which leaves the machine at the new
weights little to do.  Without curvature it goes towards the best vertex (Frank & Wolfe 1956).
"""

from collections.abc import Sequence
from typing import NamedTuple

import numpy as np

from absentia.core import Array
from absentia.methods.learning.engine._polytope import Polytope
from absentia.methods.learning.engine._problem import Point, Problem, evaluate
from absentia.methods.learning.engine._state import State, aim, moved
from absentia.methods.learning.engine._sums import Response


def newton_step(problem: Problem, region: Polytope, state: State, tol: float) -> State:
    """One step of Newton's method, or of Frank and Wolfe's where there is no curvature."""
    point = state.point
    bend = curvature(problem, point, state.jitter)
    trials: list[Point] = []
    shy, length, d = state.shy, 0.0, None
    while len(trials) < 6:
        if d is None:
            d, length = direction(region, point, bend.H, shy)
            slope, quadratic = float(point.gradient @ d), float(d @ bend.H @ d)
        promised = -length * slope - length**2 * quadratic / 2
        eta = region.inside(point.eta + length * d)
        trial = evaluate(problem, eta, aim(state, promised, tol), bend.follow(point, length * d))
        trials.append(trial)
        lost = (trial.eta < 0.1 * point.eta) & point.weighted & trial.wanting & ~shy
        if lost.any():
            shy, d = shy | lost, None
            continue
        wanted = point.dual + 1e-4 * length * slope + 0.1 * trial.blur
        if trial.dual <= wanted:
            break
        if trial.dual <= wanted + point.blur and trial.blur < point.blur:
            return sharpened(problem, state, trials, trial.blur / trial.primal)
        # the minimum of the parabola through both values and the slope
        rise = trial.dual - point.dual - length * slope
        length *= min(max(-slope * length / (2 * rise), 0.1), 0.5)
    return moved(state, trials, promised, shy=shy)


def sharpened(problem: Problem, state: State, trials: Sequence[Point], tol: float) -> State:
    """The same weights with more exact machines, against which steps can be judged; or a better trial."""
    point = min(trials, key=lambda trial: trial.primal)
    if point.primal >= state.objective:
        point = evaluate(problem, state.point.eta, tol, state.point.coefficients)
    return moved(state, [*trials, point], 0.0)


def direction(region: Polytope, point: Point, H: Array, shy: Array) -> tuple[Array, float]:
    """Which way and how far to go."""
    if np.trace(H) > 0:
        d = newton_direction(region, point, H, shy)
        if point.gradient @ d < 0:
            return d, 1.0
    d = point.vertex - point.eta
    slope, bend = float(point.gradient @ d), float(d @ H @ d)
    return d, min(1.0, -slope / bend) if bend > 0 else 1.0


def newton_direction(region: Polytope, point: Point, H: Array, shy: Array) -> Array:
    """From eta to the minimum of the quadratic model over the polytope; shy weights shrink by halves."""
    scale = float(np.trace(H)) / len(H)
    lifted = H / scale + 1e-8 * np.eye(len(H))
    floor = np.where(shy & point.weighted, 0.3 * point.eta, 0.0)
    return region.nearest(lifted, point.gradient / scale - lifted @ point.eta, floor) - point.eta


class Curvature(NamedTuple):
    """The Hessian of V in the weights, and how each machine's coefficients follow the weights."""

    H: Array
    responses: tuple[Response, ...]

    def follow(self, point: Point, d: Array) -> list[Array]:
        """Where the coefficients go when the weights move by `d`."""
        followed = [machine.z.copy() for machine in point.machines]
        for z, part in zip(followed, self.responses, strict=True):
            z[part.free] -= part.follow @ d
        return followed


def curvature(problem: Problem, point: Point, jitter: float) -> Curvature:
    """Curvature of V at a point."""
    machines = zip(problem.boxes, point.machines, point.R, strict=True)
    parts = tuple(point.kernel.response(box, machine, R, jitter) for box, machine, R in machines)
    return Curvature(np.sum([part.H for part in parts], axis=0), parts)
