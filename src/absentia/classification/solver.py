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
from typing import Protocol

import numpy as np
import scipy.linalg
from numba import njit

from absentia.classification.polytope import Polytope
from absentia.classification.svm import FAST, Box, Machine, fit_machine
from absentia.kernelviews import KernelViews
from absentia.linalg import Array
from absentia.solve import Callback, Solution, iterate

JITTER = 1e-9  # added to K_FF, relative to its diagonal; it is singular where eta sits at a vertex
TILE = 64


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
    def highest(self, q: Array) -> tuple[float, Array]: ...


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
    vertex: Array  # where the linearised V is least
    lower: float  # bound on the least V anywhere in the region

    @property
    def gradient(self) -> Array:
        return -self.q / 2


@dataclass(frozen=True)
class State:
    """Where a run stands: the best point, the best lower bound, and how careful the next step is."""

    point: Point
    lower: float
    jitter: float = JITTER
    cautious: bool = False
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
    kappa, vertex = problem.region.highest(q)
    linear = problem.box.linear(machine.z)
    # z scaled towards zero stays in the box, and may give the better bound
    scale = min(1.0, linear / kappa) if kappa > 0 and linear > 0 else 1.0
    return Point(eta, machine, K, support, R, q, vertex, scale * linear - scale**2 * kappa / 2)


def start(problem: Problem, eta: Array | None = None, z: Array | None = None) -> State:
    """A first state, from given weights and coefficients if there are any."""
    point = evaluate(problem, problem.region.middle() if eta is None else eta, 1e-2, z)
    return State(point, point.lower)


def advance(state: State, point: Point, **changes: float) -> State:
    """`state` at the new point."""
    return replace(
        state, point=point, lower=max(state.lower, point.lower), n_machines=state.n_machines + 1, **changes
    )


# ----------------------------------------------------------------------------- weights in a polytope


def curvature(problem: Problem, point: Point, jitter: float) -> tuple[Array, Array, Array]:
    """The Hessian of V in the weights, the free coefficients F, and ``B R``."""
    free = problem.box.free(point.machine.z)
    m = len(point.eta)
    R = point.R[np.searchsorted(point.support, free)]
    if len(free) < 2:
        return np.zeros((m, m)), free[:0], np.zeros((0, m))
    K_ff = point.K[np.ix_(free, free)]
    level = float(np.diagonal(K_ff).mean())
    sides = np.column_stack([R, np.ones(len(free))])
    while True:
        lifted = K_ff.copy()
        lifted[np.diag_indices_from(lifted)] += jitter * level
        try:
            factor = scipy.linalg.cho_factor(lifted, lower=True, overwrite_a=True, check_finite=False)
            break
        except np.linalg.LinAlgError:
            jitter *= 100
    solved = scipy.linalg.cho_solve(factor, sides, check_finite=False)
    AR, A1 = solved[:, :-1], solved[:, -1]
    BR = AR - np.outer(A1, A1 @ R) / A1.sum()
    H = R.T @ BR
    return (H + H.T) / 2, free, BR


def newton_direction(region: Polytope, point: Point, H: Array) -> Array:
    """From eta to the minimum of the quadratic model over the polytope."""
    scale = float(np.trace(H)) / len(H)
    lifted = H / scale + 1e-9 * np.eye(len(H))
    return region.nearest(lifted, point.gradient / scale - lifted @ point.eta) - point.eta


def newton_step(problem: Problem, state: State, aim: float) -> State:
    """One step of Newton's method, or of Frank and Wolfe's where that is of no use."""
    point, region = state.point, problem.region
    assert isinstance(region, Polytope)
    H, free, BR = curvature(problem, point, state.jitter)
    towards_vertex = point.vertex - point.eta
    d = towards_vertex
    if not state.cautious and np.trace(H) > 0:
        d = newton_direction(region, point, H)
        if not point.gradient @ d < 0:
            d = towards_vertex
    slope, bend = float(point.gradient @ d), float(d @ H @ d)
    length = 1.0 if d is not towards_vertex or bend <= 0 else min(1.0, -slope / bend)
    dz = np.zeros(problem.stack.n)
    dz[free] = -BR @ d
    lower, spent, value = state.lower, 0, point.machine.dual
    for _ in range(6):
        trial = evaluate(problem, region.inside(point.eta + length * d), aim, point.machine.z + length * dz)
        lower, spent = max(lower, trial.lower), spent + 1
        noise = max(trial.machine.gap, 1e-12 * abs(value))
        if trial.machine.dual <= value + 1e-4 * length * slope + 0.1 * noise:
            break
        # the minimum of the parabola through both values and the slope
        rise = trial.machine.dual - value - length * slope
        length *= min(max(-slope * length / (2 * rise), 0.1), 0.5)
    else:
        trial = point
    kept = trial if trial.machine.primal < point.machine.primal else point
    moved = State(kept, lower, state.jitter, state.cautious, state.n_machines + spent)
    if moved.gap < 0.8 * state.gap:
        return replace(moved, jitter=max(state.jitter / 10, JITTER), cautious=False)
    return replace(moved, jitter=min(state.jitter * 100, 1e-2), cautious=not state.cautious)


# ----------------------------------------------------------------------------- weights in a norm ball


class NormBall:
    """``{eta >= 0, |eta|_p <= 1}`` for p > 1."""

    def __init__(self, m: int, p: float) -> None:
        self.m, self.p = m, p

    def middle(self) -> Array:
        return np.full(self.m, self.m ** (-1 / self.p))

    def highest(self, q: Array) -> tuple[float, Array]:
        """The dual norm of q, and where it is attained."""
        q = np.maximum(q, 0.0)
        scale = float(q.max())
        if scale == 0:
            return 0.0, self.middle()
        c = (q / scale) ** (1 / (self.p - 1))
        c /= np.linalg.norm(c, self.p)
        return float(c @ q), c

    def update(self, eta: Array, q: Array) -> Array:
        """The best weights for given ``|w_p| = eta_p sqrt(q_p)``: proportional to ``|w_p|^(2 / (p + 1))``."""
        best = (eta**2 * np.maximum(q, 0.0)) ** (1 / (self.p + 1))
        return np.asarray(best / np.linalg.norm(best, self.p)) if best.any() else eta


def norm_step(problem: Problem, state: State, aim: float) -> State:
    """Weights in closed form from the machine, then the machine again (Kloft et al., JMLR 12, 2011)."""
    region, point = problem.region, state.point
    assert isinstance(region, NormBall)
    trial = evaluate(problem, region.update(point.eta, point.q), aim, point.machine.z)
    return advance(state, trial)


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
    one_step = newton_step if isinstance(problem.region, Polytope) else norm_step

    def step(state: State) -> State:
        if state.gap <= tol:  # already at the start
            return state
        # machines as exact as the step they serve
        return one_step(problem, state, max(0.02 * state.gap, 0.2 * tol))

    return iterate(
        step,
        lambda state: state.objective,
        start(problem, eta, z),
        tol=np.nextafter(tol, np.inf),  # the gap may equal tol
        max_iter=max_iter,
        callback=callback,
        gap=lambda state: state.gap,
    )
