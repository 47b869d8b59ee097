"""Multiple kernel learning: the weights of kernels and a machine on their sum, with a certificate.

    minimise over eta in Q   V(eta) = max_z  sum_i (t_i z_i - eps |z_i|) - 1/2 sum_p eta_p q_p(z),
    q_p(z) = z' K_p z,   z in a box with sum z = 0  (see ``_svm``).

``K_p`` is zero wherever a sample lacks view p, so only its observed block is ever read.  The region Q is a
polytope ``{eta >= 0, P eta <= 1}`` (a simplex for ordinary multiple kernel learning) or the unit ball of a
p-norm.

V is convex, and where z is unique differentiable: ``dV/deta_p = -q_p / 2``.  In a polytope a step is
Newton's, a quadratic program in the few weights (``_stacks`` has the curvature), whose minimum may also say
where free coefficients go, which leaves the machine at the new weights little to do.  Without curvature it
goes towards the best vertex (Frank & Wolfe 1956).  Where that makes no progress, machines are made more
exact, ``K_FF`` less singular, and every other step goes where the cutting planes of all machines so far are
lowest (Kelley 1960): V has kinks where z is not unique.  Every machine bounds V from below by a function
linear in the weights, and so does every average of machines: the bound is concave in z, so the best average
has at least the bound of their cutting planes together (:func:`_average_coefficients`), where no machine
may have it alone.  In a ball weights are updated in closed form (Kloft et al., JMLR 12, 2011).

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
from collections.abc import Iterator, Sequence
from dataclasses import replace
from typing import NamedTuple

import numpy as np
import scipy.optimize
import scipy.sparse

from absentia.core import Array
from absentia.core.optimize import Callback, Solution, StoppingRule, iterate
from absentia.methods.learning.engine._problem import (
    GAP,
    Candidate,
    Cut,
    Point,
    Problem,
    State,
    advance,
    evaluate,
    initial_state,
    lift_small_weights,
    next_tolerance,
    relative_gap,
    with_coefficients,
    without_dust,
)
from absentia.methods.learning.engine._regions import NormBall, Polytope
from absentia.methods.learning.engine._stacks import Stack
from absentia.methods.learning.engine._svm import Box

_MOST_ROWS = 20_000  # of a linear program
_MOST_REFUSED = 12
_WAIT = 4  # steps from one attempt to end to the next


def solve(
    problem: Problem,
    *,
    tol: float = 1e-3,
    max_iter: int = 200,
    callback: Callback | None = None,
    eta: Array | None = None,
    z: Array | None = None,
) -> Solution[State]:
    """Minimise V over the region to a relative duality gap of `tol`, from `eta` and `z` if given."""

    def step(state: State) -> State:
        if state.final:
            return state
        there = state.gap <= tol and state.n_refused == 0  # already at the start
        moving = state if there else _take_step(problem, replace(state, wait=max(state.wait - 1, 0)), tol)
        return _try_to_end(problem, moving, tol) if moving.gap <= tol and not moving.wait else moving

    solution = iterate(
        step,
        lambda state: state.objective,
        initial_state(problem, eta, z),
        stop=StoppingRule(tol, GAP, lambda state: state.gap if state.final else max(state.gap, 2 * tol)),
        max_iter=max_iter,
        callback=callback,
    )
    end = solution.state
    if not end.final:
        ends = itertools.islice(_ending_attempts(problem, end, tol), 2)
        end = _finish(end, min(ends, key=lambda point: point.gap))
    return replace(solution, state=end)


def _take_step(problem: Problem, state: State, tol: float) -> State:
    """One step."""
    region = problem.region
    if isinstance(region, NormBall):
        return _norm_step(problem, region, state, tol)
    if state.care < 2 or state.care % 2:
        return _newton_step(problem, region, state, tol)
    return (_pairing_step if state.care % 4 == 0 else _cutting_step)(problem, region, state, tol)


# ------------------------------------------------------------------------------------ steps of weights


def _norm_step(problem: Problem, region: NormBall, state: State, tol: float) -> State:
    """Weights in closed form from the machine, then the machine again."""
    point = state.point
    exact = max(0.02 * state.gap, 0.2 * tol)
    trial = evaluate(problem, region.update(point.eta, point.q), exact, point.machine.z)
    return advance(state, [trial], 0.0)


def _newton_step(problem: Problem, region: Polytope, state: State, tol: float) -> State:
    """One step of Newton's method, or of Frank and Wolfe's where there is no curvature."""
    point = state.point
    curvature = point.kernel.response(problem.box, point.machine, point.R, state.jitter)
    trials: list[Point] = []
    damped, length, d = state.damped, 0.0, None
    while len(trials) < 6:
        if d is None:
            d, length = _direction(region, point, curvature.H, damped)
            slope, quadratic = float(point.gradient @ d), float(d @ curvature.H @ d)
        expected = -length * slope - length**2 * quadratic / 2
        eta = region.inside(point.eta + length * d)
        start = point.machine.z.copy()
        start[curvature.free] -= curvature.follow @ (length * d)
        trial = evaluate(problem, eta, next_tolerance(state, expected, tol), start)
        trials.append(trial)
        overshot = (trial.eta < 0.1 * point.eta) & point.weighted & trial.underweighted & ~damped
        if overshot.any():
            damped, d = damped | overshot, None
            continue
        wanted = point.dual + 1e-4 * length * slope + 0.1 * trial.value_gap
        if trial.dual <= wanted:
            break
        if trial.dual <= wanted + point.value_gap and trial.value_gap < point.value_gap:
            return _sharpen(problem, state, trials, trial.value_gap / trial.primal)
        # the minimum of the parabola through both values and the slope
        rise = trial.dual - point.dual - length * slope
        length *= min(max(-slope * length / (2 * rise), 0.1), 0.5)
    return advance(state, trials, expected, damped=damped)


def _sharpen(problem: Problem, state: State, trials: Sequence[Point], tol: float) -> State:
    """The same weights with more exact machines, against which steps can be judged; or a better trial."""
    point = min(trials, key=lambda trial: trial.primal)
    if point.primal >= state.objective:
        point = evaluate(problem, state.point.eta, tol, state.point.machine.z)
    return advance(state, [*trials, point], 0.0)


def _direction(region: Polytope, point: Point, H: Array, damped: Array) -> tuple[Array, float]:
    """Which way and how far to go."""
    if np.trace(H) > 0:
        d = _newton_direction(region, point, H, damped)
        if point.gradient @ d < 0:
            return d, 1.0
    d = point.vertex - point.eta
    slope, quadratic = float(point.gradient @ d), float(d @ H @ d)
    return d, min(1.0, -slope / quadratic) if quadratic > 0 else 1.0


def _newton_direction(region: Polytope, point: Point, H: Array, damped: Array) -> Array:
    """From eta to the minimum of the quadratic model over the polytope; damped weights shrink by halves."""
    scale = float(np.trace(H)) / len(H)
    lifted = H / scale + 1e-8 * np.eye(len(H))
    floor = np.where(damped & point.weighted, 0.3 * point.eta, 0.0)
    return region.nearest(lifted, point.gradient / scale - lifted @ point.eta, floor) - point.eta


# -------------------------------------------------------------------------------------- cutting planes


def _lowest_model(
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


def _average_coefficients(region: Polytope, cuts: Sequence[Cut]) -> Array:
    """The average of machines' coefficients with the best lower bound, as far as cuts can tell."""
    return _lowest_model(region, cuts)[1] @ np.array([c.z for c in cuts])


def _cutting_step(problem: Problem, region: Polytope, state: State, tol: float) -> State:
    """To the lowest place that all machines so far allow, near the best point."""
    point, cuts = state.point, state.cuts
    _, share, _ = _lowest_model(region, cuts)
    height, q = share @ np.array([c.height for c in cuts]), share @ np.array([c.q for c in cuts])
    bound = float(height) - region.highest(q)[0] / 2
    eta, _, value = _lowest_model(region, cuts, point.eta, state.radius * float(point.eta.max()))
    expected = point.dual - value
    exact = next_tolerance(state, max(expected, 0.0), tol)
    trial = evaluate(problem, region.inside(eta), exact, point.machine.z)
    better = trial.primal < point.primal - 0.1 * expected
    radius = min(state.radius * 2, 1.0) if better else state.radius / 2
    return advance(replace(state, lower=max(state.lower, bound)), [trial], expected, radius=radius)


def _pairing_step(problem: Problem, region: Polytope, state: State, tol: float) -> State:
    """To the weights that suit the best average of all machines so far: see :func:`_fitting_weights`."""
    mean = _average_coefficients(region, state.cuts)
    trials = _pair_weights(problem, region, mean, next_tolerance(state, 0.0, tol))
    return advance(state, trials, 0.0) if trials else _cutting_step(problem, region, state, tol)


def _pair_weights(problem: Problem, region: Polytope, z: Array, exact: float) -> list[Point]:
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


def _fitting_weights(problem: Problem, region: Polytope, z: Array) -> Array:
    """The weights with the least primal value for given coefficients.

    An average of machines that has the best lower bound need not be good at the weights at hand: where
    coefficients with wide bounds hang on a view of little weight, a score slightly off costs much.  But
    its bound does not depend on weights, and scores are linear in these: the least ``1/2 eta.q + sum_i
    loss_i(R eta + b)`` is a linear program, in a weight for each view, a bias, and a violation for each
    loss.
    """
    box, m = problem.box, region.m
    R, q = problem.stack.products(z)
    scores = np.column_stack([R, np.ones(len(R))])
    up, down = box.hi > 0, box.lo < 0
    A, slack_cost = np.vstack([-scores[up], scores[down]]), np.concatenate([box.hi[up], -box.lo[down]])
    bound = np.column_stack([region.P, np.zeros(len(region.P))])
    A = scipy.sparse.bmat([[A, -scipy.sparse.eye(len(A))], [scipy.sparse.csr_matrix(bound), None]])
    cost = np.concatenate([q / 2, [0.0], slack_cost])
    free = [(0, None)] * m + [(None, None)] + [(0, None)] * len(slack_cost)
    limit = np.concatenate([box.eps - box.t[up], box.eps + box.t[down], np.ones(len(bound))])
    solution = scipy.optimize.linprog(cost / cost.max(), A.tocsr(), limit, bounds=free, method="highs")
    return np.zeros(m) if solution.x is None else solution.x[:m]


# -------------------------------------------------------------------------------------- how a run ends


def _try_to_end(problem: Problem, state: State, tol: float) -> State:
    """What is handed over, if its own gap is small enough; otherwise on with machines more exact."""
    tried = []
    for point in _ending_attempts(problem, state, tol):
        tried.append(point)
        if point.gap <= tol:
            return _finish(state, point)
    end = min(tried, key=lambda point: point.gap)
    if state.n_refused >= _MOST_REFUSED:  # optimal as machines together show, but no pair shows it alone
        return _finish(state, end)
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
    yield with_coefficients(problem, end, state.surest.z)
    if not isinstance(problem.region, Polytope):
        return
    raised = lift_small_weights(state.surest.eta)
    if raised is not state.surest.eta:
        there = _clean_candidate(problem, state.surest._replace(eta=raised), 0.2 * tol)
        yield with_coefficients(problem, there, state.surest.z)
    yield _rebalance(problem, problem.region, end, tol)
    mean = _average_coefficients(problem.region, state.cuts)
    yield with_coefficients(problem, end, mean)
    yield from _pair_weights(problem, problem.region, mean, 0.02 * tol)
    yield _clean_candidate(problem, Candidate(0.0, state.point.eta, mean), 0.02 * tol)


def _clean_candidate(problem: Problem, candidate: Candidate, exact: float) -> Point:
    """Weights and coefficients without dust, and the machine and bounds that go with those."""
    eta = problem.region.boundary(without_dust(candidate.eta))
    return with_coefficients(problem, evaluate(problem, eta, exact, candidate.z))


def _finish(state: State, point: Point) -> State:
    """The end: this point, with the gap that it has by itself; raises if its bounds contradict."""
    lower = point.height - point.kappa / 2
    if not point.primal - lower >= -point.rounding:  # NaN too
        raise ArithmeticError(
            f"the upper bound {point.primal!r} of the objective lies below the lower one, {lower!r}, or is "
            "no number: a fault of this solver, or a kernel with infinite or NaN values"
        )
    return replace(state, point=point, lower=lower, final=True)


def _rebalance(problem: Problem, region: Polytope, point: Point, tol: float) -> Point:
    """The same weights and machines, with the best lower bound that samples without a weighted view allow.

    Their coefficients reach neither scores nor norm, so which of them have how much is open to the machine,
    and V has a kink there; but the lower bound depends on them through the views without weight.  It is
    ``min over c in Q`` of what cuts say, so cutting planes (Kelley 1960) find its maximum: every new one is
    a machine over these few samples alone, with the kernel ``sum_p c_p K_p``.
    """
    loose = np.setdiff1d(np.arange(problem.stack.n), problem.stack.samples_with(point.eta > 0))
    part = _Loose.of(problem.stack, problem.box, point.machine.z, loose)
    if len(part.loose) < 2:
        return point
    cuts, best = [point.cut], point
    for _ in range(3 * region.m + 10):
        c, _, _ = _lowest_model(region, cuts)
        best = min(
            best,
            with_coefficients(problem, point, _average_coefficients(region, cuts)),
            key=lambda candidate: candidate.gap,
        )
        if best.gap <= 0.5 * tol:
            break
        cut = part.move(c)
        cuts.append(cut)
        if relative_gap(point.primal, cut.height - float(c @ cut.q) / 2) > 1.1 * tol:
            break  # no bound is above that
    return best


class _Loose(NamedTuple):
    """Coefficients of the samples that no weighted view reaches, and how to choose them anew.

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

    def move(self, c: Array) -> Cut:
        """What the best coefficients for weights `c` say."""
        box = self.box._replace(t=self.box.t - self.r @ c)
        d = self.stack.weighted_sum(c).fit(box, tol=1e-3).z
        z = self.z.copy()
        lo, hi = self.box_of_all.lo[self.loose], self.box_of_all.hi[self.loose]
        z[self.loose] = np.clip(z[self.loose] + d, lo, hi)
        energy = self.stack.products(d)[1]
        return Cut(self.box_of_all.linear(z), self.q + 2 * (d @ self.r) + energy, z)
