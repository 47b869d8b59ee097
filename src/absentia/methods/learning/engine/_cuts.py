"""Cutting planes for the weights in a polytope, where V has kinks (Kelley 1960).

Where the machine at eta is not unique V has a kink, and its gradient there says little.  Every machine
bounds V from below, though, by a function linear in the weights, and so does every average of machines:
the bound is concave in z, so the best average has at least the bound of their cutting planes together
(:func:`averaged`), where no machine may have it alone.
"""

from collections.abc import Sequence
from dataclasses import replace

import numpy as np
import scipy.optimize
import scipy.sparse

from absentia.core import Array
from absentia.methods.learning.engine._polytope import Polytope
from absentia.methods.learning.engine._problem import (
    Cut,
    Point,
    Problem,
    evaluate,
    with_coefficients,
    without_dust,
)
from absentia.methods.learning.engine._state import State, aim, moved

MOST_ROWS = 20_000  # of a linear program


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
    found = scipy.optimize.linprog(np.r_[np.zeros(m), 1.0], rows, limits, bounds=bounds, method="highs")
    if found.x is None:
        return centre, np.full(k, 1 / k), float(heights.min())
    share = np.maximum(-found.ineqlin.marginals[:k], 0.0)
    return found.x[:m], share / max(float(share.sum()), 1e-300), scale * float(found.x[m])


def averaged(region: Polytope, cuts: Sequence[Cut]) -> list[Array]:
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
    exact = aim(state, max(promised, 0.0), tol)
    trial = evaluate(problem, region.inside(eta), exact, point.coefficients)
    better = trial.primal < point.primal - 0.1 * promised
    radius = min(state.radius * 2, 1.0) if better else state.radius / 2
    return moved(replace(state, lower=max(state.lower, bound)), [trial], promised, radius=radius)


def pairing_step(problem: Problem, region: Polytope, state: State, tol: float) -> State:
    """To the weights that suit the best average of all machines so far: see :func:`fitting_weights`."""
    mean = averaged(region, state.cuts)
    trials = paired(problem, region, mean, aim(state, 0.0, tol))
    return moved(state, trials, 0.0) if trials else cutting_step(problem, region, state, tol)


def paired(problem: Problem, region: Polytope, z: list[Array], exact: float) -> list[Point]:
    """Coefficients `z` with the weights that suit them best, and the machines at these weights.

    None if samples are too many for a linear program with a row for each.
    """
    if problem.stack.n > MOST_ROWS:
        return []
    eta = region.boundary(without_dust(fitting_weights(problem, region, z)))
    if not eta.any():
        return []
    machine = evaluate(problem, eta, exact, z)
    return [with_coefficients(problem, machine, z), with_coefficients(problem, machine)]


def fitting_weights(problem: Problem, region: Polytope, z: list[Array]) -> Array:
    """The weights with the least primal value for given coefficients.

    An average of machines that has the best lower bound need not be good at the weights at hand: where
    coefficients with wide bounds hang on a view of little weight, a score slightly off costs much.  But
    its bound does not depend on weights, and scores are linear in these: the least ``1/2 eta.q + sum_i
    loss_i(R eta + b)`` is a linear program, in a weight for each view, a bias for each machine, and a
    violation for each loss.
    """
    m, k = region.m, len(z)
    q, rows, limits, prices = np.zeros(m), [], [], []
    for j, (box, own) in enumerate(zip(problem.boxes, z, strict=True)):
        R, energy = problem.stack.products(own)
        scores = np.hstack([R, np.tile(np.eye(k)[j], (len(R), 1))])
        up, down = box.hi > 0, box.lo < 0
        q += energy
        rows += [-scores[up], scores[down]]
        limits += [box.eps - box.t[up], box.eps + box.t[down]]
        prices += [box.hi[up], -box.lo[down]]
    A, price = np.vstack(rows), np.concatenate(prices)
    bound = np.hstack([region.P, np.zeros((len(region.P), k))])
    A = scipy.sparse.bmat([[A, -scipy.sparse.eye(len(A))], [scipy.sparse.csr_matrix(bound), None]])
    cost = np.concatenate([q / 2, np.zeros(k), price])
    free = [(0, None)] * m + [(None, None)] * k + [(0, None)] * len(price)
    limit = np.concatenate([*limits, np.ones(len(bound))])
    found = scipy.optimize.linprog(cost / cost.max(), A.tocsr(), limit, bounds=free, method="highs")
    return np.zeros(m) if found.x is None else np.asarray(found.x[:m])
