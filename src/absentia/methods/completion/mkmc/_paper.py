"""Mutual kernel matrix completion as the papers do it: impute everything, update the model, repeat.

One iteration costs O(K l^3).  Model, objective and notation are those of
``_estimator``; equation numbers are those of Rivero & Kato (2018).
"""

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any, NamedTuple, Protocol, Self

import numpy as np
import scipy.linalg

from absentia.core import Array, Dense, LowRankPlusDiagonal, Operator, PDOperator
from absentia.core.linalg import leading_eigenpairs, symmetrize
from absentia.core.optimize import Callback, Solution, StoppingRule, iterate
from absentia.methods.completion.mkmc._view_kernels import ViewKernel

# -------------------------------------------------------------------------- three covariance models
#
# What differs between them is small: where to start from a mean kernel ``S``, and the M-step that
# improves a model ``M`` towards ``S`` by lowering ``logdet M + trace(M^-1 S)``.
#
# =========================  ==========================  ===========================================
# model                      form                        M-step
# =========================  ==========================  ===========================================
# :class:`Full`              any positive definite       ``M = S``
# :class:`PCA`               ``W W' + sigma^2 I``        closed form (Tipping & Bishop 1999)
# :class:`FactorAnalysis`    ``W W' + diag(psi)``        one EM step on the latent factors
# =========================  ==========================  ===========================================


#: Lowest noise variance, for kernels of unit mean diagonal.  Heywood case: psi -> 0 makes the likelihood
#: unbounded and ``W' D^-1 W`` overflow.  The objective is a difference of terms of size ``1 / psi``, known
#: to ``|W|^2 / psi`` roundings: at 1e-5 to some 1e-6, at 1e-8 not at all.
NOISE_FLOOR = 1e-5
#: The same in single precision, and the longest row of loadings: beyond either, what is left of the
#: objective after cancellation is rounding.
NOISE_FLOOR_SINGLE, LOADING_CEILING_SINGLE = 1e-3, 100.0


class Covariance(Protocol):
    """A family of models: its member nearest to a mean kernel, and one step towards a better one."""

    def start(self, S: Operator) -> PDOperator: ...
    def m_step(self, S: Operator, M: PDOperator) -> PDOperator: ...


class Full:
    """No restriction: FC-MKMC of Rivero, Lemence & Kato (2017)."""

    def start(self, S: Operator) -> Dense:
        return Dense(S.to_dense())

    def m_step(self, S: Operator, M: PDOperator) -> Dense:
        return Dense(S.to_dense())


class PCA:
    """Probabilistic principal components: PCA-MKMC of Rivero & Kato (2018), eqs. (12) and (13)."""

    def __init__(self, n_components: int) -> None:
        self.n_components = n_components

    def start(self, S: Operator) -> LowRankPlusDiagonal:
        return ppca(S, self.n_components)

    def m_step(self, S: Operator, M: PDOperator) -> LowRankPlusDiagonal:
        return ppca(S, self.n_components)


class FactorAnalysis(PCA):
    """Factor analysis: FA-MKMC of Rivero & Kato (2018), eqs. (18) and (19).

    The paper does not say where W and psi start; here at the probabilistic principal components of
    the first mean kernel.
    """

    def m_step(self, S: Operator, M: PDOperator) -> LowRankPlusDiagonal:
        assert isinstance(M, LowRankPlusDiagonal)
        Bt = M.solve(M.W)  # B' = M^-1 W
        S_xz = S @ Bt
        S_zz = np.eye(self.n_components, dtype=Bt.dtype) - Bt.T @ M.W + Bt.T @ S_xz
        W = scipy.linalg.solve(S_zz, S_xz.T, assume_a="sym").T
        psi = S.diagonal() - np.einsum("ij,ij->i", W, S_xz)
        # given W, the M-step's criterion in psi_i has one minimum: clipping keeps the step monotone
        return LowRankPlusDiagonal(W, np.maximum(psi, NOISE_FLOOR))


def ppca(S: Operator, q: int) -> LowRankPlusDiagonal:
    """``W W' + sigma^2 I`` nearest to `S` in LogDet divergence: top eigenpairs, mean of the rest."""
    dense = S.to_dense()
    n = len(dense)
    eigenvalues, U = leading_eigenpairs(dense, q)
    sigma2 = max((float(np.trace(dense)) - float(eigenvalues.sum())) / (n - q), NOISE_FLOOR)
    W = U * np.sqrt(np.maximum(eigenvalues - sigma2, 0.0))
    return LowRankPlusDiagonal(W, np.full(n, sigma2, dtype=dense.dtype))


class Visible(NamedTuple):
    """One view's observed kernel, and which samples it sees and hides."""

    Q: Dense
    v: Array
    h: Array


@dataclass(frozen=True)
class ImputationProblem:
    """Observed kernels of unit mean diagonal over `size` samples, and the weight of the prior."""

    views: Sequence[Visible]
    size: int
    eps: float
    dtype: np.dtype[Any]

    @classmethod
    def of(cls, views: Sequence[ViewKernel], size: int, eps: float, dtype: np.dtype[Any]) -> Self:
        """Every kernel an array, hidden samples listed."""
        everyone = np.arange(size)
        visible = [Visible(Dense(x.Q.to_dense()), x.v, np.setdiff1d(everyone, x.v)) for x in views]
        return cls(visible, size, eps, dtype)


class ImputationState:
    """The model that imputes, its visible parts (factorised at most once), and the family member.

    `member` is where the next M-step starts.  It is the model itself but for the very start, when
    the model is the zero-imputed mean kernel, which belongs to no family but the full one.
    """

    def __init__(self, problem: ImputationProblem, model: PDOperator, member: PDOperator) -> None:
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


def mean_kernel(problem: ImputationProblem, state: ImputationState) -> Array:
    """Mean of all kernels, completed under the model: eq. (11)."""
    S = np.zeros((problem.size, problem.size), problem.dtype)
    for view, M_vv in zip(problem.views, state.visible, strict=True):
        Q_vh, Q_hh = impute(view, state.model, M_vv)
        add_blocks(S, view.v, view.h, view.Q.A, Q_vh, Q_hh)
    return S / len(problem.views)


def add_blocks(S: Array, v: Array, h: Array, Q_vv: Array, Q_vh: Array, Q_hh: Array) -> None:
    """Add the four blocks of a completed kernel to `S`."""
    S[np.ix_(v, v)] += Q_vv
    S[np.ix_(v, h)] += Q_vh
    S[np.ix_(h, v)] += Q_vh.T
    S[np.ix_(h, h)] += Q_hh


def _zero_imputed_mean(problem: ImputationProblem) -> Array:
    """Mean of all kernels with zeros for what is missing."""
    S = np.zeros((problem.size, problem.size), problem.dtype)
    for view in problem.views:
        S[np.ix_(view.v, view.v)] += view.Q.A
    return S / len(problem.views)


def _add_pseudo_view(S: Array, problem: ImputationProblem) -> Dense:
    """``(K S + eps I) / (K + eps)``: the pseudo-view ``I`` of weight eps joins the mean."""
    K, eps = len(problem.views), problem.eps
    S = K * symmetrize(S)
    S[np.diag_indices_from(S)] += eps
    return Dense(S / (K + eps))


def em_step(problem: ImputationProblem, covariance: Covariance, state: ImputationState) -> ImputationState:
    """Complete every kernel under the model, then improve the model on their mean."""
    S = _add_pseudo_view(mean_kernel(problem, state), problem)
    member = covariance.m_step(S, state.member)
    return ImputationState(problem, member, member)


def objective(problem: ImputationProblem, state: ImputationState) -> float:
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
    problem: ImputationProblem,
    covariance: Covariance,
    *,
    tol: float,
    max_iter: int,
    callback: Callback | None = None,
) -> Solution[ImputationState]:
    """The papers' algorithm: zero-imputed start, then imputation and model update in turn."""
    S0 = _add_pseudo_view(_zero_imputed_mean(problem), problem)
    start = ImputationState(problem, S0, covariance.start(S0))
    return iterate(
        lambda state: em_step(problem, covariance, state),
        lambda state: objective(problem, state),
        start,
        stop=StoppingRule(tol),
        max_iter=max_iter,
        callback=callback,
    )
