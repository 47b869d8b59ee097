"""Mutual kernel matrix completion as the papers do it: impute everything, update the model, repeat.

One iteration costs O(K l^3).  Model, objective and notation are those of
``_estimator``; equation numbers are those of Rivero & Kato (2018).
"""

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any, NamedTuple

import numpy as np

from absentia.core import Array, Callback, Dense, PDOperator, Solution, Stop, iterate, symmetrize
from absentia.methods.completion.mkmc._covariance import Covariance


class Visible(NamedTuple):
    """One view's observed kernel, and which samples it sees and hides."""

    Q: Dense
    v: Array
    h: Array


@dataclass(frozen=True)
class Problem:
    """Observed kernels of unit mean diagonal over `size` samples, and the weight of the prior."""

    views: Sequence[Visible]
    size: int
    eps: float
    dtype: np.dtype[Any]


class State:
    """The model that imputes, its visible parts (factorised at most once), and the family member.

    `member` is where the next M-step starts.  It is the model itself but for the very start, when
    the model is the zero-imputed mean kernel, which belongs to no family but the full one.
    """

    def __init__(self, problem: Problem, model: PDOperator, member: PDOperator) -> None:
        self.model, self.member = model, member
        self.visible = [model.principal(view.v) for view in problem.views]


# ------------------------------------------------------------------------------------------ steps


def impute(view: Visible, M: PDOperator, M_vv: PDOperator) -> tuple[Array, Array]:
    """Missing blocks ``Q_vh`` and ``Q_hh`` of one view under the model: eqs. (8) and (9)."""
    M_vh = M.block(view.v, view.h)
    A = M_vv.solve(M_vh)
    Q_vh = view.Q @ A
    Q_hh = M.block(view.h, view.h) - M_vh.T @ A + A.T @ Q_vh
    return Q_vh, symmetrize(Q_hh)


def mean_kernel(problem: Problem, state: State) -> Array:
    """Mean of all kernels, completed under the model: eq. (11)."""
    S = np.zeros((problem.size, problem.size), problem.dtype)
    for view, M_vv in zip(problem.views, state.visible, strict=True):
        Q_vh, Q_hh = impute(view, state.model, M_vv)
        S[np.ix_(view.v, view.v)] += view.Q.A
        S[np.ix_(view.v, view.h)] += Q_vh
        S[np.ix_(view.h, view.v)] += Q_vh.T
        S[np.ix_(view.h, view.h)] += Q_hh
    return S / len(problem.views)


def zero_imputed_mean(problem: Problem) -> Array:
    """Mean of all kernels with zeros for what is missing."""
    S = np.zeros((problem.size, problem.size), problem.dtype)
    for view in problem.views:
        S[np.ix_(view.v, view.v)] += view.Q.A
    return S / len(problem.views)


def stabilised(S: Array, problem: Problem) -> Dense:
    """``(K S + eps I) / (K + eps)``: the pseudo-view ``I`` of weight eps joins the mean."""
    K, eps = len(problem.views), problem.eps
    S = K * symmetrize(S)
    S[np.diag_indices_from(S)] += eps
    return Dense(S / (K + eps))


def em_step(problem: Problem, covariance: Covariance, state: State) -> State:
    """Complete every kernel under the model, then improve the model on their mean."""
    S = stabilised(mean_kernel(problem, state), problem)
    member = covariance.m_step(S, state.member)
    return State(problem, member, member)


def objective(problem: Problem, state: State) -> float:
    """Penalised objective L(M) of the module's docstring."""
    total = sum(
        M_vv.logdet() + M_vv.trace_solve(view.Q)
        for view, M_vv in zip(problem.views, state.visible, strict=True)
    )
    if problem.eps > 0:
        identity = Dense(np.eye(problem.size, dtype=problem.dtype))
        total += problem.eps * (state.model.logdet() + state.model.trace_solve(identity))
    return total / 2


def solve_paper(
    problem: Problem, covariance: Covariance, *, tol: float, max_iter: int, callback: Callback | None = None
) -> Solution[State]:
    """The papers' algorithm: zero-imputed start, then imputation and model update in turn."""
    S0 = stabilised(zero_imputed_mean(problem), problem)
    start = State(problem, S0, covariance.start(S0))
    return iterate(
        lambda state: em_step(problem, covariance, state),
        lambda state: objective(problem, state),
        start,
        stop=Stop(tol),
        max_iter=max_iter,
        callback=callback,
    )
