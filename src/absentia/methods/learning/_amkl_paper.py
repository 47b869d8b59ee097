"""Absent multiple kernel learning with one alpha for all kernels, as printed (eqs. 21 and 31).

These need ``K_p(:, x_i)`` over *all* training samples: the complete kernels, absent views included.  They
are here to reproduce the paper's tables, not for use.

With ``w_p = sum_i alpha_i phi_p(x_i)`` for every p (Theorem 1), ``G = sum_p diag(s_p) K_p`` and
``M(eta) = sum_p K_p / eta_p``, both problems are

    min over eta in Q, alpha, b   Lambda/2 alpha' M(eta) alpha + sum_i C_i xi_i,
                                  y_i ((G alpha)_i + b) >= tau_i (1 - xi_i),

with Q as in ``_amkl`` for eq. 31 (Lambda = 1, tau = 1) and a simplex for eq. 21.
For given eta that is a machine with the kernel ``G M^-1 G'`` and ``alpha = M^-1 G' z``; for given alpha
the best eta minimises ``sum_p v_p / eta_p``, ``v_p = alpha' K_p alpha``.  The problem is jointly convex, so
doing these in turn converges; linearising in eta gives the gap.
"""

from dataclasses import dataclass
from typing import Any

import numpy as np
import scipy.linalg

from absentia.core import Array
from absentia.core.optimize import Solution, StoppingRule, iterate
from absentia.methods.learning._machines import FittedMachine
from absentia.methods.learning._margins import Round, closest_tau, covered_margin, iterate_rounds, penalty
from absentia.methods.learning.engine import (
    GAP,
    Box,
    KernelStack,
    Machine,
    Polytope,
    cholesky_with_jitter,
    fit_machine,
    without_dust,
)


@dataclass(frozen=True)
class CompleteProblem:
    """Complete kernels, the mask that is to be learned under, labels in {-1, 1}, and C of every sample."""

    stack: KernelStack
    observed: Array
    y: Array
    bound: Array

    def masked_sum(self) -> Array:
        """``G = sum_p diag(s_p) K_p``."""
        columns = zip(self.observed.T, self.stack.blocks, strict=True)
        return np.asarray(sum(s[:, None] * K for s, K in columns))


@dataclass(frozen=True)
class _SharedAlpha:
    """Weights, the machine at them and its alpha."""

    eta: Array
    machine: Machine
    alpha: Array
    v: Array  # alpha' K_p alpha
    gap: float


def _best_weights(region: Polytope, v: Array, eta: Array) -> Array:
    """Minimise ``sum_p v_p / eta_p`` over the polytope: Newton's method, weights shrinking by thirds."""
    v = np.maximum(v, 1e-12 * v.max())
    for _ in range(100):
        curvature = v / eta**3
        scale = float(curvature.mean())
        H = np.diag(curvature / scale + 1e-12)
        target = region.nearest(H, -v / (2 * eta**2 * scale) - H @ eta, 0.3 * eta)
        moved, eta = float(np.abs(target - eta).max()), target
        if moved <= 1e-10 * float(eta.max()):
            break
    return eta


def _learn_shared_alpha(
    complete: CompleteProblem,
    region: Polytope,
    box: Box,
    *,
    tol: float,
    max_iter: int = 500,
    eta: Array | None = None,
) -> Solution[_SharedAlpha]:
    """Machine and weights in turn until the gap is below `tol`."""
    G = complete.masked_sum()
    blocks = complete.stack.blocks

    def at(eta: Array, start: Array | None) -> _SharedAlpha:
        factor = (cholesky_with_jitter(complete.stack.combine(1 / eta), 1e-9), True)
        solved = scipy.linalg.cho_solve(factor, G.T, check_finite=False)
        K = G @ solved
        machine = fit_machine((K + K.T) / 2, box, tol=0.1 * tol, start=start)
        alpha = solved @ machine.z
        v = np.array([max(float(alpha @ (block @ alpha)), 0.0) for block in blocks])
        slack = region.highest(v / eta**2)[0] - float((v / eta).sum())
        return _SharedAlpha(eta, machine, alpha, v, (machine.gap + slack / 2) / machine.primal)

    return iterate(
        lambda state: at(_best_weights(region, state.v, state.eta), state.machine.z),
        lambda state: state.machine.primal,
        at(region.middle() if eta is None else eta, None),
        stop=StoppingRule(tol, GAP, lambda state: state.gap),
        max_iter=max_iter,
    )


def _as_machine(state: _SharedAlpha, solution: Solution[Any]) -> FittedMachine:
    eta, norms = without_dust(state.eta), without_dust(np.sqrt(state.v))
    return FittedMachine(eta, state.alpha, state.machine.bias, norms, state.gap, solution)


def learn_paper_convex(complete: CompleteProblem, region: Polytope, *, tol: float) -> FittedMachine:
    """Eq. 31."""
    solution = _learn_shared_alpha(
        complete, region, Box.classification(complete.y, complete.bound), tol=tol
    )
    return _as_machine(solution.state, solution)


def learn_paper_penalized(
    complete: CompleteProblem, lam: float, *, tol: float, max_iter: int
) -> FittedMachine:
    """Eq. 21: alpha and the weights for given tau, then tau by eq. 23, from ``tau = 1``."""
    region = Polytope.simplex(len(complete.stack))
    G, o, counts = complete.masked_sum(), complete.observed.mean(axis=1), complete.bound > 0

    def step(tau: Array, last: tuple[_SharedAlpha, Array] | None) -> Round[tuple[_SharedAlpha, Array]]:
        Lambda = penalty(complete.observed[counts], tau[counts], lam)
        box = Box.classification(complete.y, complete.bound / (Lambda * tau), tau)
        shared = _learn_shared_alpha(
            complete, region, box, tol=tol, eta=last[0].eta if last else None
        ).state
        u = complete.y * (G @ shared.alpha + shared.machine.bias)
        return Round(
            closest_tau(o, u, covered_margin(u, tau)), Lambda * shared.machine.primal, (shared, tau)
        )

    (shared, tau), rounds = iterate_rounds(step, len(o), tol=tol, max_iter=max_iter)
    return _as_machine(shared, rounds)._replace(tau=tau)
