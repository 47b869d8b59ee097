"""Multiple kernel learning: the weights of kernels and a machine on their sum, with a certificate.

    minimise over eta in Q   V(eta) = max_z  sum_i (t_i z_i - eps |z_i|) - 1/2 sum_p eta_p q_p(z),
    q_p(z) = z' K_p z,   z in a box with sum z = 0  (see :mod:`absentia.classification.svm`).

``K_p`` is zero wherever a sample lacks view p, so only its observed block is ever read.  The region Q is a
polytope ``{eta >= 0, P eta <= 1}`` (a simplex for ordinary multiple kernel learning) or the unit ball of a
p-norm.

V is convex and differentiable: ``dV/deta_p = -q_p / 2``.  While the same coefficients F stay free, so is its
gradient, with ``H = R' B R``, ``R = [K_p z]_F`` and ``B = A - A 1 1' A / (1' A 1)``, ``A = K_FF^-1``.  So a step
is Newton's: a quadratic program in the few weights, whose minimum also says where the free coefficients go
(``dz_F = -B R deta``), which leaves the machine at the new weights little to do.  Where that makes no
progress, ``K_FF`` is made less singular, and the next step goes towards the best vertex (Frank & Wolfe 1956).

The relative duality gap is what stops it: any ``z`` gives the lower bound ``linear(z) - kappa(q(z)) / 2``
with ``kappa(q) = max {c.q : c in Q}``, the machine's primal value at eta an upper one.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace
from typing import Any, NamedTuple, Protocol

import numpy as np
import scipy.linalg
import scipy.optimize
from numba import njit

from absentia.classification.polytope import Polytope
from absentia.classification.svm import FAST, Box, Machine, fit_machine
from absentia.kernelviews import KernelViews
from absentia.linalg import Array
from absentia.solve import Callback, Solution, iterate

JITTER = 1e-9  # added to K_FF, relative to its diagonal; it is singular where eta sits at a vertex
MOST_JITTER = 1e-3
TILE = 64
N_CUTS = 100  # cutting planes kept


class KernelStack:
    """Several kernels over n samples, each an array over the samples that have the view."""

    def __init__(self, blocks: Sequence[Array], index: Sequence[Array], n: int) -> None:
        self.blocks = [np.ascontiguousarray(block) for block in blocks]
        self.index = [np.ascontiguousarray(i, dtype=np.int64) for i in index]
        self.n = n

    @classmethod
    def of(cls, kernels: KernelViews, dtype: str | None = None) -> KernelStack:
        """The blocks of square KernelViews, not copied where they are dense arrays already."""
        index = [np.flatnonzero(seen) for seen in kernels.observed.T]
        blocks = [kernels.block(name) for name in kernels.names]
        if dtype is not None:
            blocks = [block.astype(dtype, copy=False) for block in blocks]
        return cls(blocks, index, len(kernels))

    def __len__(self) -> int:
        return len(self.blocks)

    def combined(self, eta: Array) -> Array:
        """``sum_p eta_p K_p``."""
        total = np.zeros((self.n, self.n))
        for weight, block, index in zip(eta, self.blocks, self.index, strict=True):
            if weight != 0 and len(index):
                _add_lower(total, block, index, weight)
        _mirror(total, TILE)
        return total

    def products(self, z: Array, support: Array) -> tuple[Array, Array]:
        """``K_p z`` at the samples `support`, outside which z is zero (one column per view), and ``q``."""
        R = np.zeros((len(self), self.n))
        for row, block, index in zip(R, self.blocks, self.index, strict=True):
            if len(index):
                _add_product(row, block, index, z)
        R = R[:, support]
        return R.T, R @ z[support]


@njit(cache=True)  # type: ignore[misc, unused-ignore]
def _add_lower(total, block, index, weight):  # type: ignore[no-untyped-def]
    """``total += weight * block`` at rows and columns `index`, below and on the diagonal."""
    n = len(index)
    whole = n == len(total)
    for i in range(n):
        row, out = block[i], total[index[i]]
        if whole:
            for j in range(i + 1):
                out[j] += weight * row[j]
        else:
            for j in range(i + 1):
                out[index[j]] += weight * row[j]


@njit(cache=True)  # type: ignore[misc, unused-ignore]
def _mirror(A, tile):  # type: ignore[no-untyped-def]
    """Copy what is below the diagonal above it, tile by tile."""
    n = len(A)
    for a in range(0, n, tile):
        for b in range(0, a + 1, tile):
            for i in range(a, min(a + tile, n)):
                for j in range(b, min(b + tile, i)):
                    A[j, i] = A[i, j]


@njit(cache=True, fastmath=FAST)  # type: ignore[misc, unused-ignore]
def _add_product(out, block, index, z):  # type: ignore[no-untyped-def]
    """``out += K z`` where z is not zero: half of the kernel read, rows of zero coefficients skipped."""
    n = len(index)
    own, sums = np.empty(n), np.zeros(n)
    for i in range(n):
        own[i] = z[index[i]]
    for i in range(n):
        if own[i] != 0.0:
            row, weight, total = block[i], own[i], 0.0
            for j in range(i):
                total += row[j] * own[j]
                sums[j] += weight * row[j]
            sums[i] += total + weight * row[i]
    for i in range(n):
        out[index[i]] += sums[i]


class Region(Protocol):
    """Where the weights may be."""

    def middle(self) -> Array: ...
    def highest(self, q: Array) -> tuple[float, Array, Array]: ...


@dataclass(frozen=True)
class Problem:
    """Kernels, the machine's box, and where the weights may be."""

    stack: KernelStack
    box: Box
    region: Region


@dataclass(frozen=True)
class Point:
    """Weights, the machine at them, and what they say about V there."""

    eta: Array
    machine: Machine
    K: Array
    support: Array
    R: Array  # K_p z at the support, one column per view
    q: Array
    kappa: float  # the most that c.q is in the region
    vertex: Array  # where that is: the linearised V is least there
    price: Array  # what each q_p would have to exceed to be worth more weight, if eta were optimal
    height: float  # linear(z)
    lower: float  # bound on the least V anywhere in the region

    @property
    def gradient(self) -> Array:
        return -self.q / 2

    @property
    def weighted(self) -> Array:
        """Which views have a weight to speak of."""
        return np.asarray(self.eta > 1e-7 * self.eta.max())

    @property
    def cut(self) -> Cut:
        return Cut(self.height, self.q)

    @property
    def wanting(self) -> Array:
        """Which views would lower V if weight were moved to them from the others."""
        return np.asarray(self.q * self.kappa > 2 * self.price * float(self.eta @ self.q))


class Cut(NamedTuple):
    """``V(eta) >= height - eta.q / 2`` everywhere: what the coefficients of one machine say."""

    height: float
    q: Array


@dataclass(frozen=True)
class State:
    """Where a run stands: the best point, the best lower bound, and how careful the next step is.

    ``shy`` marks views that once lost their weight in a step and wanted it back at once: V rises
    steeply where their weight nears zero, which no quadratic model sees.
    """

    point: Point
    lower: float
    shy: Array
    cuts: tuple[Cut, ...]
    jitter: float = JITTER
    care: int = 0  # steps without progress, less those with it
    radius: float = 0.1  # of the cutting planes' trust region, relative to the largest weight
    n_machines: int = 1

    @property
    def objective(self) -> float:
        return self.point.machine.primal

    @property
    def gap(self) -> float:
        """Relative duality gap."""
        upper = self.objective
        return max(upper - self.lower, 0.0) / abs(upper) if upper else 0.0


def evaluate(problem: Problem, eta: Array, tol: float, start: Array | None = None) -> Point:
    """The machine at `eta` to a relative gap of `tol`, and the lower bound that its coefficients give."""
    K = problem.stack.combined(eta)
    machine = fit_machine(K, problem.box, tol=tol, start=start)
    support = np.flatnonzero(machine.z)
    R, q = problem.stack.products(machine.z, support)
    kappa, vertex, price = problem.region.highest(q)
    linear = problem.box.linear(machine.z)
    # z scaled towards zero stays in the box, and may give the better bound
    scale = min(1.0, linear / kappa) if kappa > 0 and linear > 0 else 1.0
    lower = scale * linear - scale**2 * kappa / 2
    return Point(eta, machine, K, support, R, q, kappa, vertex, price, linear, lower)


def start(problem: Problem, eta: Array | None = None, z: Array | None = None) -> State:
    """A first state, from given weights and coefficients if there are any."""
    point = evaluate(problem, problem.region.middle() if eta is None else eta, 1e-2, z)
    return State(point, point.lower, np.zeros(len(point.eta), dtype=bool), (point.cut,))


def moved(state: State, trials: Sequence[Point], promised: float, **changes: Any) -> State:
    """`state` after `trials`, the last of which is kept if it is better; careful if that was too little."""
    before, last = state.point.machine.primal, trials[-1]
    point = last if last.machine.primal < before else state.point
    after = replace(
        state,
        point=point,
        lower=max(state.lower, *(trial.lower for trial in trials)),
        cuts=(*state.cuts, *(trial.cut for trial in trials))[-N_CUTS:],
        n_machines=state.n_machines + len(trials),
        **changes,
    )
    decrease = before - point.machine.primal
    if after.gap < 0.8 * state.gap or decrease > max(0.1 * promised, 0.02 * state.gap * before):
        return replace(after, jitter=max(state.jitter / 10, JITTER), care=max(state.care - 1, 0))
    # a step that kept a small promise is no failure, but asks for a bolder one
    care = state.care if decrease > 0.1 * promised else state.care + 1
    return replace(after, jitter=min(state.jitter * 100, MOST_JITTER), care=care)


# ----------------------------------------------------------------------------- weights in a polytope


def curvature(problem: Problem, point: Point, jitter: float) -> tuple[Array, Array, Array]:
    """The Hessian of V in the weights, the free coefficients F, and ``B R``."""
    diagonal = np.diagonal(point.K)
    free = problem.box.free(point.machine.z)
    free = free[diagonal[free] > 1e-8 * diagonal.max()]  # others are free only because no kernel holds them
    m = len(point.eta)
    R = point.R[np.searchsorted(point.support, free)]
    if len(free) < 2:
        return np.zeros((m, m)), free[:0], np.zeros((0, m))
    L = lifted_cholesky(point.K[np.ix_(free, free)], jitter)
    # with Y = L^-1 R made orthogonal to L^-1 1: H = Y'Y, which rounding cannot make indefinite
    sides = np.column_stack([R, np.ones(len(free))])
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
    H, free, BR = curvature(problem, point, state.jitter)
    trials: list[Point] = []
    shy, length, d = state.shy, 0.0, None
    while len(trials) < 6:
        if d is None:
            d, length = direction(region, point, H, shy)
            slope, bend, dz = float(point.gradient @ d), float(d @ H @ d), np.zeros(problem.stack.n)
            dz[free] = -BR @ d
        promised = -length * slope - length**2 * bend / 2
        start = point.machine.z + length * dz
        trial = evaluate(problem, region.inside(point.eta + length * d), aim(state, promised, tol), start)
        trials.append(trial)
        lost = (trial.eta < 0.1 * point.eta) & point.weighted & trial.wanting & ~shy
        if lost.any():
            shy, d = shy | lost, None
            continue
        # V is known up to the machines' own gaps
        wanted = point.machine.dual + 1e-4 * length * slope + 0.1 * trial.machine.gap
        if trial.machine.dual <= wanted:
            break
        if trial.machine.dual <= wanted + point.machine.gap and trial.machine.gap < point.machine.gap:
            return sharpened(problem, state, trials, trial.machine.gap / trial.machine.primal)
        # the minimum of the parabola through both values and the slope
        rise = trial.machine.dual - point.machine.dual - length * slope
        length *= min(max(-slope * length / (2 * rise), 0.1), 0.5)
    return moved(state, trials, promised, shy=shy)


def sharpened(problem: Problem, state: State, trials: Sequence[Point], tol: float) -> State:
    """The same weights with a more exact machine, against which steps can be judged; or a better trial."""
    point = min(trials, key=lambda trial: trial.machine.primal)
    if point.machine.primal >= state.objective:
        point = evaluate(problem, state.point.eta, tol, state.point.machine.z)
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
    promised = point.machine.dual - value
    trial = evaluate(problem, region.inside(eta), aim(state, max(promised, 0.0), tol), point.machine.z)
    better = trial.machine.primal < point.machine.primal - 0.1 * promised
    radius = min(state.radius * 2, 1.0) if better else state.radius / 2
    return moved(replace(state, lower=max(state.lower, bound)), [trial], promised, radius=radius)


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
        """The best weights for given ``|w_p| = eta_p sqrt(q_p)``: proportional to ``|w_p|^(2 / (p + 1))``."""
        best = (eta**2 * np.maximum(q, 0.0)) ** (1 / (self.p + 1))
        return np.asarray(best / np.linalg.norm(best, self.p)) if best.any() else eta


def norm_step(problem: Problem, state: State, tol: float) -> State:
    """Weights in closed form from the machine, then the machine again (Kloft et al., JMLR 12, 2011)."""
    region, point = problem.region, state.point
    assert isinstance(region, NormBall)
    exact = max(0.02 * state.gap, 0.2 * tol)
    trial = evaluate(problem, region.update(point.eta, point.q), exact, point.machine.z)
    return moved(state, [trial], 0.0)


# --------------------------------------------------------------------------------------------- driver


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
        if state.gap <= tol:  # already at the start
            return state
        if not isinstance(problem.region, Polytope):
            return norm_step(problem, state, tol)
        return (cutting_step if state.care >= 2 and state.care % 2 == 0 else newton_step)(problem, state, tol)

    return iterate(
        step,
        lambda state: state.objective,
        start(problem, eta, z),
        tol=np.nextafter(tol, np.inf),  # the gap may equal tol
        max_iter=max_iter,
        callback=callback,
        gap=lambda state: state.gap,
    )
