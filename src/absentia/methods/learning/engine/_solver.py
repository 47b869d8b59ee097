"""Multiple kernel learning: the weights of kernels and a machine on their sum, with a certificate.

    minimise over eta in Q   V(eta) = max_z  sum_i (t_i z_i - eps |z_i|) - 1/2 sum_p eta_p q_p(z),
    q_p(z) = z' K_p z,   z in a box with sum z = 0  (see ``_svm``).

``K_p`` is zero wherever a sample lacks view p, so only its observed block is ever read.  The region Q is a
polytope ``{eta >= 0, P eta <= 1}`` (a simplex for ordinary multiple kernel learning) or the unit ball of a
p-norm.

V is convex, and where z is unique differentiable: ``dV/deta_p = -q_p / 2``.  While the same coefficients F
stay free so is its gradient: ``H = R' B R``, ``R = [K_p z]_F``, ``B = A - A 1 1' A / (1' A 1)``,
``A = K_FF^-1``.  So a step is Newton's: a quadratic program in the few weights, whose minimum also says
where the free coefficients go (``dz_F = -B R deta``), which leaves the machine at the new weights little to
do.  Without curvature it goes towards the best vertex (Frank & Wolfe 1956).  Where it makes no progress,
machines are made more exact, ``K_FF`` less singular, and every other step goes where the cutting planes of
all machines so far are lowest (Kelley 1960): V has kinks where z is not unique.

The relative duality gap is what stops it: any ``z`` gives the lower bound ``linear(z) - kappa(q(z)) / 2``
with ``kappa(q) = max {c.q : c in Q}``, the machine's primal value at eta an upper one.  On the way the best
bound of all machines counts.  What is reported is the gap of the weights and coefficients that are handed
over, both bounds computed from these alone (:func:`tidied`), so that whoever has them can do it again.  An
upper bound below the lower one beyond rounding raises.  Where z is not unique no machine may have a small
gap alone.  The bound is concave in z, so the best average of the machines has at least the bound of their
cutting planes together (:func:`averaged`); handed over are the weights that suit it best
(:func:`fitting_weights`).

Weights below :data:`DUST` of the largest are zero.  Where the run ends at ``tol``, what is left of a weight
that the optimum has not is rounding: moving a share of DUST changes V by about DUST of itself, far below
any sensible `tol`, but a view with such a weight would count as one that has a say.
"""

from __future__ import annotations

import itertools
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, replace
from typing import Any, NamedTuple, Protocol

import numpy as np
import scipy.linalg
import scipy.optimize
import scipy.sparse

from absentia.core import Array, Callback, Solution, Stop, iterate
from absentia.methods.learning.engine._polytope import Polytope
from absentia.methods.learning.engine._stack import KernelStack
from absentia.methods.learning.engine._svm import Box, Machine, fit_machine, judged, rounding

JITTER = 1e-9  # added to K_FF, relative to its diagonal; it is singular where eta sits at a vertex
MOST_JITTER = 1e-3
N_CUTS = 100  # cutting planes kept
MOST_REFUSED = 12
WAIT = 4  # steps from one attempt to end to the next
GAP = "the relative duality gap"
DUST = 1e-6  # weights below this part of the largest are zero
Z_DUST = 1e-10  # the same for coefficients of samples


class Region(Protocol):
    """Where the weights may be."""

    def middle(self) -> Array: ...
    def boundary(self, c: Array) -> Array: ...
    def highest(self, q: Array) -> tuple[float, Array, Array]: ...


@dataclass(frozen=True)
class Problem:
    """Kernels, where their weights may be, and the machines that share them: mostly one.

    With several boxes V is the sum over their machines, one for each class, say.
    """

    stack: KernelStack
    boxes: tuple[Box, ...]
    region: Region


@dataclass(frozen=True)
class Point:
    """Weights, the machines at them, and what they say about V there."""

    eta: Array
    machines: tuple[Machine, ...]
    K: Array
    R: tuple[Array, ...]  # K_p z, one column per view
    q: Array
    kappa: float  # the most that c.q is in the region
    vertex: Array  # where that is: the linearised V is least there
    price: Array  # what each q_p would have to exceed to be worth more weight, if eta were optimal
    height: float  # linear(z)
    lower: float  # bound on the least V anywhere in the region
    rounding: float  # of the difference of primal and dual value

    @property
    def primal(self) -> float:
        return sum(machine.primal for machine in self.machines)

    @property
    def dual(self) -> float:
        return sum(machine.dual for machine in self.machines)

    @property
    def coefficients(self) -> list[Array]:
        return [machine.z for machine in self.machines]

    @property
    def blur(self) -> float:
        """V lies between the dual and the primal value: how far apart these are."""
        return self.primal - self.dual

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
        return np.asarray(self.eta > DUST * self.eta.max())

    @property
    def cut(self) -> Cut:
        return Cut(self.height, self.q, self.coefficients)

    @property
    def wanting(self) -> Array:
        """Which views would lower V if weight were moved to them from the others."""
        return np.asarray(self.q * self.kappa > 2 * self.price * float(self.eta @ self.q))


class Cut(NamedTuple):
    """``V(eta) >= height - eta.q / 2`` everywhere: what the coefficients of one machine say.

    These are kept with it: at most N_CUTS for each sample, little beside a kernel.
    """

    height: float
    q: Array
    coefficients: list[Array]


class Candidate(NamedTuple):
    """Weights and coefficients that might be handed over, by the gap of their own."""

    gap: float
    eta: Array
    coefficients: list[Array]

    @classmethod
    def of(cls, point: Point) -> Candidate:
        return cls(point.gap, point.eta, point.coefficients)


@dataclass(frozen=True)
class State:
    """Where a run stands: the best point, the best lower bound, and how careful the next step is.

    The point with the least gap of its own, ``surest``, need not be the one with the lowest objective.

    ``shy`` marks views that once lost their weight in a step and wanted it back at once: V rises
    steeply where their weight nears zero, which no quadratic model sees.
    """

    point: Point
    lower: float
    shy: Array
    cuts: tuple[Cut, ...]
    surest: Candidate
    jitter: float = JITTER
    care: int = 0  # steps without progress, less those with it
    radius: float = 0.1  # of the cutting planes' trust region, relative to the largest weight
    n_machines: int = 1
    n_refused: int = 0  # times that several machines together had a small gap, but none alone
    wait: int = 0  # steps before the next attempt to end
    tidy: bool = False

    @property
    def objective(self) -> float:
        return self.point.primal

    @property
    def gap(self) -> float:
        """Relative duality gap, by the best bounds of all machines so far; once tidy, by its own."""
        return self.point.gap if self.tidy else relative_gap(self.objective, self.lower)


Starts = Sequence[Array] | None


def evaluate(problem: Problem, eta: Array, tol: float, starts: Starts = None) -> Point:
    """The machines at `eta` to a relative gap of `tol`, and the lower bound that they give."""
    K = problem.stack.combined(eta)
    given = starts if starts is not None else [None] * len(problem.boxes)
    machines = [fit_machine(K, b, tol=tol, start=z) for b, z in zip(problem.boxes, given, strict=True)]
    return _point(problem, eta, K, machines)


def _point(problem: Problem, eta: Array, K: Array, machines: Sequence[Machine]) -> Point:
    """What `machines` at `eta` say, their ``K z`` computed from the kernels of the views."""
    products = [problem.stack.products(machine.z) for machine in machines]
    R = tuple(columns for columns, _ in products)
    pairs = list(zip(problem.boxes, machines, R, strict=True))
    machines = [judged(box, one.z, r @ eta, one.violation, one.n_steps) for box, one, r in pairs]
    q = np.sum([own for _, own in products], axis=0)
    kappa, vertex, price = problem.region.highest(q)
    linear = sum(box.linear(machine.z) for box, machine in zip(problem.boxes, machines, strict=True))
    # z scaled towards zero stays in the box, and may give the better bound
    scale = min(1.0, linear / kappa) if kappa > 0 and linear > 0 else 1.0
    lower = scale * linear - scale**2 * kappa / 2
    largest = float(problem.stack.largest() @ eta)
    slack = sum(rounding(box, one, largest) for box, one in zip(problem.boxes, machines, strict=True))
    return Point(eta, tuple(machines), K, R, q, kappa, vertex, price, linear, lower, slack)


def relative_gap(upper: float, lower: float) -> float:
    """``(upper - lower) / |upper|``, never clipped."""
    if upper == lower:
        return 0.0
    return (upper - lower) / abs(upper) if upper else np.copysign(np.inf, upper - lower)


def without_dust(values: Array, share: float = DUST) -> Array:
    """`values` with exact zeros for those below `share` of the largest in size."""
    size = np.abs(values)
    return np.where(size > share * size.max(initial=0.0), values, 0.0)


def lifted(eta: Array) -> Array:
    """`eta` with weights that nearly count made large enough, instead of zero: the other way to round."""
    limit = DUST * float(eta.max())
    near = (eta > 0.1 * limit) & (eta <= limit)
    return np.where(near, 1.001 * limit, eta) if near.any() else eta


def start(problem: Problem, eta: Array | None = None, z: Starts = None) -> State:
    """A first state, from given weights and coefficients if there are any."""
    point = evaluate(problem, problem.region.middle() if eta is None else eta, 1e-2, z)
    return State(
        point, point.lower, np.zeros(len(point.eta), dtype=bool), (point.cut,), Candidate.of(point)
    )


def moved(state: State, trials: Sequence[Point], promised: float, **changes: Any) -> State:
    """`state` after `trials`, the last of which is kept if it is better; careful if that was too little."""
    before, last = state.point.primal, trials[-1]
    point = last if last.primal < before else state.point
    after = replace(
        state,
        point=point,
        lower=max(state.lower, *(trial.lower for trial in trials)),
        cuts=(*state.cuts, *(trial.cut for trial in trials))[-N_CUTS:],
        surest=min(state.surest, *map(Candidate.of, trials), key=lambda one: one.gap),
        n_machines=state.n_machines + len(trials),
        **changes,
    )
    decrease = before - point.primal
    if after.gap < 0.8 * state.gap or decrease > max(0.1 * promised, 0.02 * state.gap * before):
        return replace(after, jitter=max(state.jitter / 10, JITTER), care=max(state.care - 1, 0))
    # a step that kept a small promise is no failure, but asks for a bolder one
    care = state.care if decrease > 0.1 * promised else state.care + 1
    return replace(after, jitter=min(state.jitter * 100, MOST_JITTER), care=care)


# ----------------------------------------------------------------------------- weights in a polytope


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


def newton_direction(region: Polytope, point: Point, H: Array, shy: Array) -> Array:
    """From eta to the minimum of the quadratic model over the polytope; shy weights shrink by halves."""
    scale = float(np.trace(H)) / len(H)
    lifted = H / scale + 1e-8 * np.eye(len(H))
    floor = np.where(shy & point.weighted, 0.3 * point.eta, 0.0)
    return region.nearest(lifted, point.gradient / scale - lifted @ point.eta, floor) - point.eta


def newton_step(problem: Problem, state: State, tol: float) -> State:
    """One step of Newton's method, or of Frank and Wolfe's where there is no curvature."""
    point, region = state.point, problem.region
    assert isinstance(region, Polytope)
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


def aim(state: State, promised: float, tol: float) -> float:
    """How exact the next machine has to be: as the gap and the promised decrease ask for."""
    wanted = min(0.02 * state.gap, 0.1 * promised / state.objective)
    return max(max(wanted, 0.2 * tol) * 0.1**state.care, 0.02 * tol)


def direction(region: Polytope, point: Point, H: Array, shy: Array) -> tuple[Array, float]:
    """Which way and how far to go."""
    if np.trace(H) > 0:
        d = newton_direction(region, point, H, shy)
        if point.gradient @ d < 0:
            return d, 1.0
    d = point.vertex - point.eta
    slope, bend = float(point.gradient @ d), float(d @ H @ d)
    return d, min(1.0, -slope / bend) if bend > 0 else 1.0


def cutting_step(problem: Problem, state: State, tol: float) -> State:
    """To the lowest place that all machines so far allow, near the best point.

    Where the machine at eta is not unique V has a kink, and its gradient there says little.  Every
    machine bounds V from below, though, by a function linear in the weights (Kelley 1960), and the
    best bound of their averages is a bound too.
    """
    region, point = problem.region, state.point
    assert isinstance(region, Polytope)
    heights, Q = np.array([c.height for c in state.cuts]), np.array([c.q for c in state.cuts])
    _, share, _ = lowest_model(region, heights, Q, np.zeros(region.m), np.inf)
    bound = float(share @ heights) - region.highest(share @ Q)[0] / 2
    eta, _, value = lowest_model(region, heights, Q, point.eta, state.radius * float(point.eta.max()))
    promised = point.dual - value
    exact = aim(state, max(promised, 0.0), tol)
    trial = evaluate(problem, region.inside(eta), exact, point.coefficients)
    better = trial.primal < point.primal - 0.1 * promised
    radius = min(state.radius * 2, 1.0) if better else state.radius / 2
    return moved(replace(state, lower=max(state.lower, bound)), [trial], promised, radius=radius)


def pairing_step(problem: Problem, state: State, tol: float) -> State:
    """To the weights that suit the best average of all machines so far: see :func:`fitting_weights`."""
    assert isinstance(problem.region, Polytope)
    mean = averaged(problem.region, state.cuts)
    trials = paired(problem, problem.region, mean, aim(state, 0.0, tol))
    return moved(state, trials, 0.0) if trials else cutting_step(problem, state, tol)


def lowest_model(
    region: Polytope, heights: Array, Q: Array, centre: Array, radius: float
) -> tuple[Array, Array, float]:
    """The minimum over the region of the largest cut, within `radius` of `centre`; and the cuts' shares."""
    n, k, m = len(region.P), len(Q), region.m
    scale = float(np.abs(heights).max())
    rows = np.block([[-Q / (2 * scale), -np.ones((k, 1))], [region.P, np.zeros((n, 1))]])
    limits = np.concatenate([-heights / scale, np.ones(n)])
    bounds = [(max(0.0, c - radius), c + radius) for c in centre] + [(None, None)]
    found = scipy.optimize.linprog(np.r_[np.zeros(m), 1.0], rows, limits, bounds=bounds, method="highs")
    if found.x is None:
        return centre, np.full(k, 1 / k), float(heights.min())
    share = np.maximum(-found.ineqlin.marginals[:k], 0.0)
    return found.x[:m], share / max(float(share.sum()), 1e-300), scale * float(found.x[m])


# ----------------------------------------------------------------------------- weights in a norm ball


class NormBall:
    """``{eta >= 0, |eta|_p <= 1}`` for p > 1."""

    def __init__(self, m: int, p: float) -> None:
        self.m, self.p = m, p

    def middle(self) -> Array:
        return np.full(self.m, self.m ** (-1 / self.p))

    def boundary(self, c: Array) -> Array:
        """`c` as large as it can be made by a factor."""
        length = float(np.linalg.norm(c, self.p))
        return np.asarray(c / length) if length > 0 else c

    def highest(self, q: Array) -> tuple[float, Array, Array]:
        """The dual norm of q, where it is attained, and no prices."""
        q = np.maximum(q, 0.0)
        scale = float(q.max())
        if scale == 0:
            return 0.0, self.middle(), q
        c = (q / scale) ** (1 / (self.p - 1))
        c /= np.linalg.norm(c, self.p)
        return float(c @ q), c, q

    def update(self, eta: Array, q: Array) -> Array:
        """The best weights for given ``|w_p| = eta_p sqrt(q_p)``, as ``|w_p|^(2 / (p + 1))``."""
        q = np.maximum(q, 0.0)
        best = (eta**2 * (q / max(float(q.max()), 1e-300))) ** (1 / (self.p + 1))
        return np.asarray(best / np.linalg.norm(best, self.p)) if best.any() else eta


def norm_step(problem: Problem, state: State, tol: float) -> State:
    """Weights in closed form from the machine, then the machine again (Kloft et al., JMLR 12, 2011)."""
    region, point = problem.region, state.point
    assert isinstance(region, NormBall)
    exact = max(0.02 * state.gap, 0.2 * tol)
    trial = evaluate(problem, region.update(point.eta, point.q), exact, point.coefficients)
    return moved(state, [trial], 0.0)


# ------------------------------------------------------------------------------------------- the end


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


def with_coefficients(problem: Problem, point: Point, z: Starts = None) -> Point:
    """The same weights with coefficients `z` (by default its own), dust left out."""
    given = point.coefficients if z is None else z
    clean = [box.feasible(without_dust(one, Z_DUST)) for box, one in zip(problem.boxes, given, strict=True)]
    if all(np.array_equal(a, b) for a, b in zip(clean, point.coefficients, strict=True)):
        return point
    machines = [one._replace(z=z) for one, z in zip(point.machines, clean, strict=True)]
    return _point(problem, point.eta, point.K, machines)


def averaged(region: Polytope, cuts: Sequence[Cut]) -> list[Array]:
    """The average of machines' coefficients with the best lower bound, as far as cuts can tell.

    Where the machine at eta is not unique, the best bound is that of no single machine.
    """
    heights, Q = np.array([c.height for c in cuts]), np.array([c.q for c in cuts])
    _, share, _ = lowest_model(region, heights, Q, np.zeros(region.m), np.inf)
    return [share @ np.array(z) for z in zip(*(c.coefficients for c in cuts), strict=True)]


def paired(problem: Problem, region: Polytope, z: list[Array], exact: float) -> list[Point]:
    """Coefficients `z` with the weights that suit them best, and the machines at these weights."""
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
        heights, Q = np.array([c.height for c in cuts]), np.array([c.q for c in cuts])
        c, _, _ = lowest_model(region, heights, Q, np.zeros(region.m), np.inf)
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

    stack: KernelStack  # over the loose samples
    box: Box
    z: Array
    loose: Array
    box_of_all: Box
    r: Array  # loose samples x views, at z
    q: Array  # at z

    @classmethod
    def of(cls, stack: KernelStack, box: Box, z: Array, loose: Array) -> Loose:
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
        d = fit_machine(self.stack.combined(c), box, tol=1e-3, max_steps=20_000).z
        z = self.z.copy()
        lo, hi = self.box_of_all.lo[self.loose], self.box_of_all.hi[self.loose]
        z[self.loose] = np.clip(z[self.loose] + d, lo, hi)
        own = self.stack.products(d)[1]
        return self.box_of_all.linear(z), self.q + 2 * (d @ self.r) + own, z


# --------------------------------------------------------------------------------------------- driver


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
        moving = state if there else onward(problem, replace(state, wait=max(state.wait - 1, 0)), tol)
        return settled(problem, moving, tol) if moving.gap <= tol and not moving.wait else moving

    found = iterate(
        step,
        lambda state: state.objective,
        start(problem, eta, z),
        stop=Stop(tol, GAP, lambda state: state.gap if state.tidy else max(state.gap, 2 * tol)),
        max_iter=max_iter,
        callback=callback,
    )
    end = found.state
    if not end.tidy:
        ends = itertools.islice(attempts(problem, end, tol), 2)
        end = handed_over(end, min(ends, key=lambda one: one.gap))
    return replace(found, state=end)


def onward(problem: Problem, state: State, tol: float) -> State:
    """One step."""
    if not isinstance(problem.region, Polytope):
        return norm_step(problem, state, tol)
    if state.care < 2 or state.care % 2:
        return newton_step(problem, state, tol)
    return (pairing_step if state.care % 4 == 0 else cutting_step)(problem, state, tol)
