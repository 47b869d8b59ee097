"""Newton's method for the weights in a polytope.

While the same coefficients F stay free, the gradient of V is differentiable too: ``H = R' B R``,
``R = [K_p z]_F``, ``B = A - A 1 1' A / (1' A 1)``, ``A = K_FF^-1``.  So a step is a quadratic program in
the few weights, whose minimum also says where the free coefficients go (``dz_F = -B R deta``), which leaves
the machine at the new weights little to do.  Without curvature it goes towards the best vertex (Frank &
Wolfe 1956).
"""

from collections.abc import Sequence
from typing import NamedTuple

import numpy as np
import scipy.linalg

from absentia.core import Array
from absentia.methods.learning.engine._polytope import Polytope
from absentia.methods.learning.engine._problem import Point, Problem, evaluate
from absentia.methods.learning.engine._state import State, aim, moved


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
    responses: tuple[tuple[Array, Array], ...]  # positions F and B R

    def follow(self, point: Point, d: Array) -> list[Array]:
        """Where the coefficients go when the weights move by `d`."""
        followed = [machine.z.copy() for machine in point.machines]
        for z, (free, BR) in zip(followed, self.responses, strict=True):
            z[free] -= BR @ d
        return followed


def curvature(problem: Problem, point: Point, jitter: float) -> Curvature:
    """Curvature of V at a point."""
    parts = [
        _response(point.K, box.free(machine.z), R, jitter)
        for box, machine, R in zip(problem.boxes, point.machines, point.R, strict=True)
    ]
    return Curvature(np.sum([H for H, _, _ in parts], axis=0), tuple((F, BR) for _, F, BR in parts))


def _response(K: Array, free: Array, R: Array, jitter: float) -> tuple[Array, Array, Array]:
    """One machine's share of the Hessian, its free coefficients F, and ``B R``."""
    diagonal, m = np.diagonal(K), R.shape[1]
    free = free[diagonal[free] > 1e-8 * diagonal.max()]  # others are free only because no kernel holds them
    if len(free) < 2:
        return np.zeros((m, m)), free[:0], np.zeros((0, m))
    L = lifted_cholesky(K[np.ix_(free, free)].astype(np.float64, copy=False), jitter)
    # with Y = L^-1 R made orthogonal to L^-1 1: H = Y'Y, which rounding cannot make indefinite
    sides = np.column_stack([R[free], np.ones(len(free))])
    Y = scipy.linalg.solve_triangular(L, sides, lower=True, check_finite=False)
    Y, one = Y[:, :-1], Y[:, -1]
    Y = Y - np.outer(one, one @ Y) / (one @ one)
    return Y.T @ Y, free, scipy.linalg.solve_triangular(L, Y, lower=True, trans=1, check_finite=False)


def lifted_cholesky(K: Array, jitter: float) -> Array:
    """The factor of `K` with `jitter`, or as much more as it takes, of its mean diagonal added to it."""
    level = float(np.diagonal(K).mean())
    while True:
        lifted = K.copy()
        lifted[np.diag_indices_from(lifted)] += jitter * level
        try:
            return np.asarray(
                scipy.linalg.cholesky(lifted, lower=True, overwrite_a=True, check_finite=False)
            )
        except np.linalg.LinAlgError:
            jitter *= 100
