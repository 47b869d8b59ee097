"""Margins measured in what each sample has: shares tau of the margin, and the rounds that find them.

A machine for given shares and shares for the machine are found in turn (:func:`iterate_rounds`), in absent
multiple kernel learning (numbers of equations are its paper's, see ``_amkl``) and in its linear special
case (``_mmaf``).

Equations 21 and 31, one alpha for all kernels, are here as printed, to reproduce the paper's tables and not
for use: they need ``K_p(:, x_i)`` over *all* training samples, the complete kernels, absent views included.
With ``w_p = sum_i alpha_i phi_p(x_i)`` for every p (Theorem 1), ``G = sum_p diag(s_p) K_p`` and
``M(eta) = sum_p K_p / eta_p``, both problems are

    min over eta in Q, alpha, b   Lambda/2 alpha' M(eta) alpha + sum_i C_i xi_i,
                                  y_i ((G alpha)_i + b) >= tau_i (1 - xi_i),

with Q as in ``_amkl`` for eq. 31 (Lambda = 1, tau = 1) and a simplex for eq. 21.
For given eta that is a machine with the kernel ``G M^-1 G'`` and ``alpha = M^-1 G' z``; for given alpha
the best eta minimises ``sum_p v_p / eta_p``, ``v_p = alpha' K_p alpha``.  The problem is jointly convex, so
doing these in turn converges; linearising in eta gives the gap.
"""

from collections.abc import Callable
from dataclasses import dataclass
from typing import Any, Generic, TypeVar

import numpy as np
import scipy.linalg

from absentia.core import Array
from absentia.core.optimize import Solution, StoppingRule, iterate
from absentia.methods.learning._machines import FittedMachine, Training, extract_machine
from absentia.methods.learning.engine import (
    GAP,
    Box,
    KernelStack,
    Machine,
    Polytope,
    Problem,
    cholesky_with_jitter,
    fit_machine,
    solve,
    without_dust,
)

_Result = TypeVar("_Result")


@dataclass(frozen=True)
class Round(Generic[_Result]):
    """After a round: its result, the objective there, and the shares that the next one is for."""

    next_tau: Array
    objective: float = np.inf
    result: _Result | None = None


def iterate_rounds(
    step: Callable[[Array, _Result | None], Round[_Result]], n: int, *, tol: float, **options: Any
) -> tuple[_Result, Solution[Round[_Result]]]:
    """Rounds of ``step(shares, last result)`` from shares of one: the last result, and how they ended.

    `options` are those of ``iterate``.
    """
    solution = iterate(
        lambda last: step(last.next_tau, last.result),
        lambda last: last.objective,
        Round[_Result](np.ones(n)),
        stop=StoppingRule(tol),
        **options,
    )
    assert solution.state.result is not None
    return solution.state.result, solution


# ------------------------------------------------------------------------- tau of the margin's shares


def _margin_share(observed: Array, norms: Array, tau_min: float) -> Array:
    """Eq. 8: the share of ``sum_p |w_p|`` in each sample's views, at least `tau_min`."""
    total = float(norms.sum())
    share = observed @ norms / total if total > 0 else np.ones(len(observed))
    return np.maximum(share, tau_min)


def observed_share(training: Training) -> Array:
    """``o``: the share of all views that each sample has; 1 for samples that take no part."""
    return np.where(training.bound > 0, training.observed.mean(axis=1), 1.0)


def _closest_tau(o: Array, u: Array, v: Array) -> Array:
    """Eq. 23: the tau nearest `o` with ``v tau <= u``, each sample for itself.

    With ``v = min(u / tau, 1)`` of the tau before: `o` for whoever is on the right side, the tau before for
    whoever is not.  On which side a sample on the boundary lies is rounding; it counts as right.
    """
    with np.errstate(divide="ignore", invalid="ignore"):
        limit = u / v
    return np.where(v > 0, np.minimum(o, limit), np.where(v < 0, np.maximum(o, limit), o))


def _covered_margin(u: Array, tau: Array) -> Array:
    """``v = 1 - xi`` of samples with margins `u`; zero where one lies on the boundary but for rounding."""
    return np.where(np.abs(u) <= 1e-9 * tau, 0.0, np.minimum(u / tau, 1.0))


def _penalty(observed: Array, tau: Array, lam: float) -> float:
    """``Lambda = 1 + (lambda / n) sum_i sum_p (tau_i - s_ip)^2``."""
    return 1.0 + lam * float(((tau[:, None] - observed) ** 2).sum(axis=1).mean())


def penalized_box(training: Training, y: Array, lam: float, tau: Array) -> Box:
    """Eq. 18 with given tau."""
    Lambda = _penalty(training.rows, tau[training.bound > 0], lam)
    return Box.classification(y, training.bound / (Lambda * tau), tau)


def _alternate(
    training: Training,
    box: Callable[[Array], Box],
    share: Callable[[Array, FittedMachine], Array],
    factor: Callable[[Array], float] = lambda tau: 1.0,
    *,
    tol: float,
    **options: Any,
) -> FittedMachine:
    """Weights on a simplex and the machine in ``box(tau)``, then tau as their `share`, from ``tau = 1``."""
    region = Polytope.simplex(len(training.stack))

    def step(tau: Array, last: FittedMachine | None) -> Round[FittedMachine]:
        warm = last.solution.state.point if last else None
        eta, z = (warm.eta, warm.machine.z) if warm else (None, None)
        solution = solve(Problem(training.stack, box(tau), region), tol=tol, eta=eta, z=z)
        machine = extract_machine(solution)._replace(tau=tau)
        return Round(share(tau, machine), factor(tau) * solution.state.objective, machine)

    machine, rounds = iterate_rounds(step, len(training.bound), tol=tol, **options)
    return machine._replace(solution=rounds)


def learn_iterative(training: Training, y: Array, tau_min: float, **options: Any) -> FittedMachine:
    """Algorithm 1: machine and weights for given tau, then tau for given machine."""
    return _alternate(
        training,
        lambda tau: Box.classification(y, training.bound / tau, tau),
        lambda _, machine: _margin_share(training.observed, machine.norms, tau_min),
        **options,
    )


def learn_two_steps(training: Training, y: Array, lam: float, **options: Any) -> FittedMachine:
    """Eq. 18 for given tau, then tau by eq. 23: on what is observed.

    No floor under tau is needed: it is never below the lesser of o and the tau before.
    """
    o, rows, counts = observed_share(training), training.rows, training.bound > 0

    def share(tau: Array, machine: FittedMachine) -> Array:
        svm = machine.solution.state.point.machine
        u = y * (svm.scores + svm.bias)
        return _closest_tau(o, u, _covered_margin(u, tau))

    return _alternate(
        training,
        lambda tau: penalized_box(training, y, lam, tau),
        share,
        lambda tau: _penalty(rows, tau[counts], lam),
        **options,
    )


# ---------------------------------------------------------------------------------- as the paper has it


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
    complete: CompleteProblem, region: Polytope, box: Box, *, tol: float, eta: Array | None = None
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
        max_iter=500,
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
        Lambda = _penalty(complete.observed[counts], tau[counts], lam)
        box = Box.classification(complete.y, complete.bound / (Lambda * tau), tau)
        shared = _learn_shared_alpha(
            complete, region, box, tol=tol, eta=last[0].eta if last else None
        ).state
        u = complete.y * (G @ shared.alpha + shared.machine.bias)
        return Round(
            _closest_tau(o, u, _covered_margin(u, tau)), Lambda * shared.machine.primal, (shared, tau)
        )

    (shared, tau), rounds = iterate_rounds(step, len(o), tol=tol, max_iter=max_iter)
    return _as_machine(shared, rounds)._replace(tau=tau)
