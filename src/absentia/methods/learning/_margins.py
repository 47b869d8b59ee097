"""Margins measured in what each sample has: shares tau of the margin, and the rounds that find them.

A machine for given shares and shares for the machine are found in turn (:func:`iterate_rounds`), in absent
multiple kernel learning (numbers of equations are its paper's, see ``_amkl``) and in its linear special
case (``_mmaf``).
"""

from collections.abc import Callable
from dataclasses import dataclass
from typing import Any, Generic, TypeVar

import numpy as np

from absentia.core import Array
from absentia.core.optimize import Callback, Solution, StoppingRule, iterate
from absentia.methods.learning._machines import FittedMachine, Training, machines_of
from absentia.methods.learning.engine import Box, Polytope, Problem, solve

Found = TypeVar("Found")


@dataclass(frozen=True)
class Round(Generic[Found]):
    """After a round: what was found, its objective, and the shares that it leads to."""

    following: Array
    objective: float = np.inf
    found: Found | None = None


def iterate_rounds(
    step: Callable[[Array, Found | None], Round[Found]],
    n: int,
    *,
    tol: float,
    max_iter: int,
    callback: Callback | None = None,
) -> tuple[Found, Solution[Round[Found]]]:
    """Rounds of ``step(shares, found before)`` from shares of one: the last find, and how it ended."""
    solution = iterate(
        lambda last: step(last.following, last.found),
        lambda last: last.objective,
        Round[Found](np.ones(n)),
        stop=StoppingRule(tol),
        max_iter=max_iter,
        callback=callback,
    )
    assert solution.state.found is not None
    return solution.state.found, solution


# ------------------------------------------------------------------------- tau of the margin's shares


def _margin_share(observed: Array, norms: Array, tau_min: float) -> Array:
    """Eq. 8: the share of ``sum_p |w_p|`` in each sample's views, at least `tau_min`."""
    total = float(norms.sum())
    share = observed @ norms / total if total > 0 else np.ones(len(observed))
    return np.maximum(share, tau_min)


def observed_share(training: Training) -> Array:
    """``o``: the share of all views that each sample has; 1 for samples that take no part."""
    return np.where(training.bound > 0, training.observed.mean(axis=1), 1.0)


def closest_tau(o: Array, u: Array, v: Array) -> Array:
    """Eq. 23: the tau nearest `o` with ``v tau <= u``, each sample for itself.

    With ``v = min(u / tau, 1)`` of the tau before: `o` for whoever is on the right side, the tau before for
    whoever is not.  On which side a sample on the boundary lies is rounding; it counts as right.
    """
    with np.errstate(divide="ignore", invalid="ignore"):
        limit = u / v
    return np.where(v > 0, np.minimum(o, limit), np.where(v < 0, np.maximum(o, limit), o))


def covered_margin(u: Array, tau: Array) -> Array:
    """``v = 1 - xi`` of samples with margins `u`; zero where one lies on the boundary but for rounding."""
    return np.where(np.abs(u) <= 1e-9 * tau, 0.0, np.minimum(u / tau, 1.0))


def penalty(observed: Array, tau: Array, lam: float) -> float:
    """``Lambda = 1 + (lambda / n) sum_i sum_p (tau_i - s_ip)^2``."""
    return 1.0 + lam * float(((tau[:, None] - observed) ** 2).sum(axis=1).mean())


def penalized_box(training: Training, y: Array, lam: float, tau: Array) -> Box:
    """Eq. 18 with given tau."""
    Lambda = penalty(training.rows, tau[training.bound > 0], lam)
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
        eta, z = (warm.eta, warm.coefficients) if warm else (None, None)
        solution = solve(Problem(training.stack, (box(tau),), region), tol=tol, eta=eta, z=z)
        machine = machines_of(solution)[0]._replace(tau=tau)
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
        svm = machine.solution.state.point.machines[0]
        u = y * (svm.scores + svm.bias)
        return closest_tau(o, u, covered_margin(u, tau))

    return _alternate(
        training,
        lambda tau: penalized_box(training, y, lam, tau),
        share,
        lambda tau: penalty(rows, tau[counts], lam),
        **options,
    )
