"""Steps of the weights.

Newton's method in a polytope.  The gradient of V is differentiable almost everywhere (``_stacks``).  So a
step is a quadratic program in the few weights, whose minimum may also say where free coefficients go, which
leaves the machine at the new weights little to do.  Without curvature it goes towards the best vertex
(Frank & Wolfe 1956).

Cutting planes in a polytope, where V has kinks (Kelley 1960).  Where the machine at eta is not unique V has
a kink, and its gradient there says little.  Every machine bounds V from below, though, by a function linear
in the weights, and so does every average of machines: the bound is concave in z, so the best average has at
least the bound of their cutting planes together (:func:`average_coefficients`), where no machine may have
it alone.

In the unit ball of a p-norm weights are updated in closed form (Kloft et al., JMLR 12, 2011).
"""

from collections.abc import Sequence
from dataclasses import replace
from typing import NamedTuple

import numpy as np
import scipy.optimize
import scipy.sparse

from absentia.core import Array
from absentia.methods.learning.engine._problem import (
    Cut,
    Point,
    Problem,
    State,
    advance,
    evaluate,
    next_tolerance,
    with_coefficients,
    without_dust,
)
from absentia.methods.learning.engine._regions import NormBall, Polytope
from absentia.methods.learning.engine._stacks import Response

_MOST_ROWS = 20_000  # of a linear program


def norm_step(problem: Problem, region: NormBall, state: State, tol: float) -> State:
    """Weights in closed form from the machine, then the machine again."""
    point = state.point
    exact = max(0.02 * state.gap, 0.2 * tol)
    trial = evaluate(problem, region.update(point.eta, point.q), exact, point.coefficients)
    return advance(state, [trial], 0.0)


# ------------------------------------------------------------------------------------- Newton's method


def newton_step(problem: Problem, region: Polytope, state: State, tol: float) -> State:
    """One step of Newton's method, or of Frank and Wolfe's where there is no curvature."""
    point = state.point
    bend = _curvature(problem, point, state.jitter)
    trials: list[Point] = []
    shy, length, d = state.shy, 0.0, None
    while len(trials) < 6:
        if d is None:
            d, length = direction(region, point, bend.H, shy)
            slope, quadratic = float(point.gradient @ d), float(d @ bend.H @ d)
        promised = -length * slope - length**2 * quadratic / 2
        eta = region.inside(point.eta + length * d)
        trial = evaluate(problem, eta, next_tolerance(state, promised, tol), bend.follow(point, length * d))
        trials.append(trial)
        lost = (trial.eta < 0.1 * point.eta) & point.weighted & trial.wanting & ~shy
        if lost.any():
            shy, d = shy | lost, None
            continue
        wanted = point.dual + 1e-4 * length * slope + 0.1 * trial.blur
        if trial.dual <= wanted:
            break
        if trial.dual <= wanted + point.blur and trial.blur < point.blur:
            return _sharpen(problem, state, trials, trial.blur / trial.primal)
        # the minimum of the parabola through both values and the slope
        rise = trial.dual - point.dual - length * slope
        length *= min(max(-slope * length / (2 * rise), 0.1), 0.5)
    return advance(state, trials, promised, shy=shy)


def _sharpen(problem: Problem, state: State, trials: Sequence[Point], tol: float) -> State:
    """The same weights with more exact machines, against which steps can be judged; or a better trial."""
    point = min(trials, key=lambda trial: trial.primal)
    if point.primal >= state.objective:
        point = evaluate(problem, state.point.eta, tol, state.point.coefficients)
    return advance(state, [*trials, point], 0.0)


def direction(region: Polytope, point: Point, H: Array, shy: Array) -> tuple[Array, float]:
    """Which way and how far to go."""
    if np.trace(H) > 0:
        d = _newton_direction(region, point, H, shy)
        if point.gradient @ d < 0:
            return d, 1.0
    d = point.vertex - point.eta
    slope, bend = float(point.gradient @ d), float(d @ H @ d)
    return d, min(1.0, -slope / bend) if bend > 0 else 1.0


def _newton_direction(region: Polytope, point: Point, H: Array, shy: Array) -> Array:
    """From eta to the minimum of the quadratic model over the polytope; shy weights shrink by halves."""
    scale = float(np.trace(H)) / len(H)
    lifted = H / scale + 1e-8 * np.eye(len(H))
    floor = np.where(shy & point.weighted, 0.3 * point.eta, 0.0)
    return region.nearest(lifted, point.gradient / scale - lifted @ point.eta, floor) - point.eta


class _Curvature(NamedTuple):
    """The Hessian of V in the weights, and how each machine's coefficients follow the weights."""

    H: Array
    responses: tuple[Response, ...]

    def follow(self, point: Point, d: Array) -> list[Array]:
        """Where the coefficients go when the weights move by `d`."""
        followed = [machine.z.copy() for machine in point.machines]
        for z, part in zip(followed, self.responses, strict=True):
            z[part.free] -= part.follow @ d
        return followed


def _curvature(problem: Problem, point: Point, jitter: float) -> _Curvature:
    """Curvature of V at a point."""
    machines = zip(problem.boxes, point.machines, point.R, strict=True)
    parts = tuple(point.kernel.response(box, machine, R, jitter) for box, machine, R in machines)
    return _Curvature(np.sum([part.H for part in parts], axis=0), parts)


# -------------------------------------------------------------------------------------- cutting planes


def lowest_model(
    region: Polytope, cuts: Sequence[Cut], centre: Array | None = None, radius: float = np.inf
) -> tuple[Array, Array, float]:
    """Where in the region, near `centre`, the largest of the cuts is least; their shares in it; how low."""
    heights, Q = np.array([c.height for c in cuts]), np.array([c.q for c in cuts])
    n, k, m = len(region.P), len(Q), region.m
    centre = np.zeros(m) if centre is None else centre
    scale = float(np.abs(heights).max())
    rows = np.block([[-Q / (2 * scale), -np.ones((k, 1))], [region.P, np.zeros((n, 1))]])
    limits = np.concatenate([-heights / scale, np.ones(n)])
    bounds = [(max(0.0, c - radius), c + radius) for c in centre] + [(None, None)]
    solution = scipy.optimize.linprog(np.r_[np.zeros(m), 1.0], rows, limits, bounds=bounds, method="highs")
    if solution.x is None:
        return centre, np.full(k, 1 / k), float(heights.min())
    share = np.maximum(-solution.ineqlin.marginals[:k], 0.0)
    return solution.x[:m], share / max(float(share.sum()), 1e-300), scale * float(solution.x[m])


def average_coefficients(region: Polytope, cuts: Sequence[Cut]) -> list[Array]:
    """The average of machines' coefficients with the best lower bound, as far as cuts can tell."""
    _, share, _ = lowest_model(region, cuts)
    return [share @ np.array(z) for z in zip(*(c.coefficients for c in cuts), strict=True)]


def cutting_step(problem: Problem, region: Polytope, state: State, tol: float) -> State:
    """To the lowest place that all machines so far allow, near the best point."""
    point, cuts = state.point, state.cuts
    _, share, _ = lowest_model(region, cuts)
    height, q = share @ np.array([c.height for c in cuts]), share @ np.array([c.q for c in cuts])
    bound = float(height) - region.highest(q)[0] / 2
    eta, _, value = lowest_model(region, cuts, point.eta, state.radius * float(point.eta.max()))
    promised = point.dual - value
    exact = next_tolerance(state, max(promised, 0.0), tol)
    trial = evaluate(problem, region.inside(eta), exact, point.coefficients)
    better = trial.primal < point.primal - 0.1 * promised
    radius = min(state.radius * 2, 1.0) if better else state.radius / 2
    return advance(replace(state, lower=max(state.lower, bound)), [trial], promised, radius=radius)


def pairing_step(problem: Problem, region: Polytope, state: State, tol: float) -> State:
    """To the weights that suit the best average of all machines so far: see :func:`_fitting_weights`."""
    mean = average_coefficients(region, state.cuts)
    trials = pair_weights(problem, region, mean, next_tolerance(state, 0.0, tol))
    return advance(state, trials, 0.0) if trials else cutting_step(problem, region, state, tol)


def pair_weights(problem: Problem, region: Polytope, z: list[Array], exact: float) -> list[Point]:
    """Coefficients `z` with the weights that suit them best, and the machines at these weights.

    None if samples are too many for a linear program with a row for each.
    """
    if problem.stack.n > _MOST_ROWS:
        return []
    eta = region.boundary(without_dust(_fitting_weights(problem, region, z)))
    if not eta.any():
        return []
    machine = evaluate(problem, eta, exact, z)
    return [with_coefficients(problem, machine, z), with_coefficients(problem, machine)]


def _fitting_weights(problem: Problem, region: Polytope, z: list[Array]) -> Array:
    """The weights with the least primal value for given coefficients.

    An average of machines that has the best lower bound need not be good at the weights at hand: where
    coefficients with wide bounds hang on a view of little weight, a score slightly off costs much.  But
    its bound does not depend on weights, and scores are linear in these: the least ``1/2 eta.q + sum_i
    loss_i(R eta + b)`` is a linear program, in a weight for each view, a bias for each machine, and a
    violation for each loss.
    """
    m, k = region.m, len(z)
    q, rows, limits, slack_costs = np.zeros(m), [], [], []
    for j, (box, coefficients) in enumerate(zip(problem.boxes, z, strict=True)):
        R, energy = problem.stack.products(coefficients)
        scores = np.hstack([R, np.tile(np.eye(k)[j], (len(R), 1))])
        up, down = box.hi > 0, box.lo < 0
        q += energy
        rows += [-scores[up], scores[down]]
        limits += [box.eps - box.t[up], box.eps + box.t[down]]
        slack_costs += [box.hi[up], -box.lo[down]]
    A, slack_cost = np.vstack(rows), np.concatenate(slack_costs)
    bound = np.hstack([region.P, np.zeros((len(region.P), k))])
    A = scipy.sparse.bmat([[A, -scipy.sparse.eye(len(A))], [scipy.sparse.csr_matrix(bound), None]])
    cost = np.concatenate([q / 2, np.zeros(k), slack_cost])
    free = [(0, None)] * m + [(None, None)] * k + [(0, None)] * len(slack_cost)
    limit = np.concatenate([*limits, np.ones(len(bound))])
    solution = scipy.optimize.linprog(cost / cost.max(), A.tocsr(), limit, bounds=free, method="highs")
    return np.zeros(m) if solution.x is None else np.asarray(solution.x[:m])
