"""Mutual kernel matrix completion by imputing: the papers' algorithm, and a faster one of the full model.

Model, objective and notation are those of the package; equation numbers are those of Rivero & Kato
(2018).  The papers' algorithm imputes everything, updates the model, and repeats; an iteration costs
O(K l^3).

The unrestricted model has the same objective with less work per step and fewer steps.  One inverse
``P = M^-1`` serves all views:

    M_vv^-1 M_vh = -P_vh P_hh^-1 =: A,      M_hh - M_hv A = P_hh^-1,
    logdet M_vv = logdet M + logdet P_hh,   trace(M_vv^-1 Q) = <P_vv, Q> + <Q A, P_vh>.

The start rescales the zero-imputed mean by how often each sample was seen, because zeros cripple the
papers' start when much is hidden.  With S the mean of the completed kernels, the prior among them, the
papers' step is ``M <- S``, and the gradient

    dL/dM = (K + eps)/2 M^-1 (M - S) M^-1,

so that an EM step is the gradient between two products with M.  That is the preconditioner of
``core.quasi_newton``, which moves M itself; a step out of the positive definite matrices
cannot be evaluated and is shortened.  Where kernels have fewer features than samples, only the prior holds
the model in many directions, and the objective is all but flat along them.  So the descent does not end
where the objective stands still but goes on until the model does (``core.settle``); the order of samples
and rounding then move completed kernels by some 1e-7.
"""

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any, Self

import numpy as np
import scipy.linalg

from absentia.core import Array, Dense, LowRankPlusDiagonal, Operator, PDOperator
from absentia.core.linalg import (
    ConditionalGaussian,
    cholesky,
    cholesky_inverse,
    cholesky_logdet,
    cholesky_solve,
    group_by_pattern,
    leading_eigenpairs,
    symmetrize,
)
from absentia.core.optimize import (
    Callback,
    DescentState,
    GradientEvaluation,
    Point,
    Solution,
    StoppingRule,
    descend,
    iterate,
    refine_minimum,
)
from absentia.data import KernelViews
from absentia.methods.completion.mkmc._low_rank import (
    NOISE_FLOOR,
    SMALL_STEPS,
    ViewKernel,
    VisibleProblem,
    sum_kernels,
)

# -------------------------------------------------------------------------- three covariance models
#
# What differs between them is small: the member nearest to a mean kernel ``S``, and the M-step that
# improves a model ``M`` towards ``S`` by lowering ``logdet M + trace(M^-1 S)``.
#
# ==========  =======================  ===============================================================
# covariance  form                     M-step
# ==========  =======================  ===============================================================
# ``"full"``  any positive definite    the nearest, S itself (Rivero, Lemence & Kato 2017)
# ``"pca"``   ``W W' + sigma^2 I``     the nearest, in closed form: (12) and (13) of Rivero & Kato (2018)
# ``"fa"``    ``W W' + diag(psi)``     one EM step on the latent factors: (18) and (19)
# ==========  =======================  ===============================================================


def _find_nearest(S: Operator, q: int | None) -> PDOperator:
    """The member of a family nearest to `S`; without components (None) it is unrestricted."""
    return Dense(S.to_dense()) if q is None else _ppca(S, q)


def _factor_step(S: Operator, M: LowRankPlusDiagonal) -> LowRankPlusDiagonal:
    """One EM step of factor analysis from `M`."""
    Bt = M.solve(M.W)  # B' = M^-1 W
    S_xz = S @ Bt
    S_zz = np.eye(Bt.shape[1], dtype=Bt.dtype) - Bt.T @ M.W + Bt.T @ S_xz
    W = scipy.linalg.solve(S_zz, S_xz.T, assume_a="sym").T
    psi = S.diagonal() - np.einsum("ij,ij->i", W, S_xz)
    # given W, the M-step's criterion in psi_i has one minimum: clipping keeps the step monotone
    return LowRankPlusDiagonal(W, np.maximum(psi, NOISE_FLOOR))


def _ppca(S: Operator, q: int) -> LowRankPlusDiagonal:
    """``W W' + sigma^2 I`` nearest to `S` in LogDet divergence: top eigenpairs, mean of the rest."""
    dense = S.to_dense()
    n = len(dense)
    eigenvalues, U = leading_eigenpairs(dense, q)
    sigma2 = max((float(np.trace(dense)) - float(eigenvalues.sum())) / (n - q), NOISE_FLOOR)
    W = U * np.sqrt(np.maximum(eigenvalues - sigma2, 0.0))
    return LowRankPlusDiagonal(W, np.full(n, sigma2, dtype=dense.dtype))


# ----------------------------------------------------------------------------- the papers' algorithm


@dataclass(frozen=True)
class ImputationProblem:
    """Observed kernels of unit mean diagonal over `size` samples, and the weight of the prior."""

    views: Sequence[ViewKernel]
    size: int
    eps: float
    dtype: np.dtype[Any]

    @classmethod
    def of(cls, views: Sequence[ViewKernel], size: int, eps: float, dtype: np.dtype[Any]) -> Self:
        """Every kernel an array."""
        return cls([ViewKernel(Dense(x.Q.to_dense()), x.v) for x in views], size, eps, dtype)


class _ImputationState:
    """The model that imputes, its visible parts (factorised at most once), and the family member.

    `member` is where the next M-step starts.  It is the model itself but for the very start, when
    the model is the zero-imputed mean kernel, which belongs to no family but the full one.
    """

    def __init__(self, problem: ImputationProblem, model: PDOperator, member: PDOperator) -> None:
        self.model, self.member = model, member
        self.visible = [model.principal(view.v) for view in problem.views]


def _impute(view: ViewKernel, h: Array, M: PDOperator, M_vv: PDOperator) -> tuple[Array, Array]:
    """Missing blocks ``Q_vh`` and ``Q_hh`` of one view under the model: eqs. (8) and (9)."""
    M_vh = M.block(view.v, h)
    A = M_vv.solve(M_vh)
    Q_vh = view.Q @ A
    Q_hh = M.block(h, h) - M_vh.T @ A + A.T @ Q_vh
    return Q_vh, symmetrize(Q_hh)


def _sum_completed(problem: ImputationProblem, state: _ImputationState) -> Array:
    """Sum of all kernels, completed under the model: eq. (11) times their number."""
    S = np.zeros((problem.size, problem.size), problem.dtype)
    for view, M_vv in zip(problem.views, state.visible, strict=True):
        h = view.hidden(problem.size)
        add_blocks(S, view.v, h, view.Q.to_dense(), *_impute(view, h, state.model, M_vv))
    return S


def add_blocks(S: Array, v: Array, h: Array, Q_vv: Array, Q_vh: Array, Q_hh: Array) -> None:
    """Add the four blocks of a completed kernel to `S`."""
    S[np.ix_(v, v)] += Q_vv
    S[np.ix_(v, h)] += Q_vh
    S[np.ix_(h, v)] += Q_vh.T
    S[np.ix_(h, h)] += Q_hh


def _add_prior(total: Array, n_views: int, eps: float) -> Array:
    """``(total + eps I) / (K + eps)``: the pseudo-view ``I`` of weight eps joins a sum of K kernels."""
    total = symmetrize(total)
    total[np.diag_indices_from(total)] += eps
    return total / (n_views + eps)


def _em_step(
    problem: ImputationProblem, covariance: str, q: int | None, state: _ImputationState
) -> _ImputationState:
    """Complete every kernel under the model, then improve the model on their mean."""
    S = Dense(_add_prior(_sum_completed(problem, state), len(problem.views), problem.eps))
    if covariance == "fa" and isinstance(state.member, LowRankPlusDiagonal):
        member: PDOperator = _factor_step(S, state.member)
    else:
        member = _find_nearest(S, q)
    return _ImputationState(problem, member, member)


def _objective(problem: ImputationProblem, state: _ImputationState) -> float:
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
    problem: ImputationProblem, covariance: str, q: int | None, *, tol: float, **options: Any
) -> Solution[_ImputationState]:
    """The papers' algorithm: zero-imputed start, then imputation and model update in turn.

    `options` are those of ``iterate``.
    """
    zero_imputed = sum_kernels(problem.views, problem.size, problem.dtype)
    S0 = Dense(_add_prior(zero_imputed, len(problem.views), problem.eps))
    start = _ImputationState(problem, S0, _find_nearest(S0, q))
    return iterate(
        lambda state: _em_step(problem, covariance, q, state),
        lambda state: _objective(problem, state),
        start,
        stop=StoppingRule(tol),
        **options,
    )


# ----------------------------------------------------------- the unrestricted model, by descent


def full_model(problem: VisibleProblem, point: Point) -> Dense:
    """The model kernel of a point, samples in their own order again."""
    M = np.empty_like(point[0])
    M[np.ix_(problem.order, problem.order)] = point[0]
    return Dense(M)


def _start_full(problem: VisibleProblem) -> Point:
    """Zero-imputed mean kernel, brought to unit weight for every sample, and the prior."""
    S = sum_kernels(problem.views, problem.size, problem.dtype)
    root = np.sqrt(np.maximum(problem.weight - problem.eps, 1.0))
    S *= problem.n_views / np.outer(root, root)
    return (_add_prior(S, problem.n_views, problem.eps).astype(problem.dtype),)


def _impute_sums(view: ViewKernel, P: Array, h: Array) -> tuple[Array, Array, float]:
    """Sums of the missing blocks over the views merged in `view`, and their part of the objective."""
    Q = view.Q.to_dense()
    P_vv = P[np.ix_(view.v, view.v)]
    if not len(h):
        return np.zeros((len(view.v), 0)), np.zeros((0, 0)), float(np.vdot(P_vv, Q))
    given = ConditionalGaussian.by_precision(P, view.v, h)
    Q_vh = Q @ given.B
    Q_hh = view.weight * given.covariance + given.B.T @ Q_vh
    value = view.weight * cholesky_logdet(given.L) + float(np.vdot(P_vv, Q))
    value += float(np.vdot(Q_vh, P[np.ix_(view.v, h)]))
    return Q_vh, Q_hh, value


def _evaluate_full(problem: VisibleProblem, point: Point) -> GradientEvaluation:
    """Penalised objective of a model, its gradient, and the preconditioner EM amounts to."""
    M = symmetrize(point[0])
    L = cholesky(M, "model")
    P, logdet = cholesky_inverse(L), cholesky_logdet(L)
    value = (problem.n_views + problem.eps) * logdet + problem.eps * float(np.trace(P))
    S = np.zeros((problem.size, problem.size), problem.dtype)
    for view in problem.views:
        h = view.hidden(problem.size)
        Q_vh, Q_hh, part = _impute_sums(view, P, h)
        add_blocks(S, view.v, h, view.Q.to_dense(), Q_vh, Q_hh)
        value += part
    weight = (problem.n_views + problem.eps) / 2
    gradient = weight * symmetrize(P @ (M - _add_prior(S, problem.n_views, problem.eps)) @ P)

    def precondition(v: Point) -> Point:
        return (symmetrize(M @ v[0] @ M) / M.dtype.type(weight),)

    return GradientEvaluation((M,), value / 2, (gradient.astype(M.dtype),), precondition)


def solve_full(
    problem: VisibleProblem, *, tol: float, callback: Callback | None, **options: Any
) -> Solution[DescentState[GradientEvaluation]]:
    """Descend from the start; one iteration is one step, mostly one evaluation."""

    def run(point: Point) -> GradientEvaluation:
        return _evaluate_full(problem, point)

    stop = StoppingRule(tol, patience=SMALL_STEPS)
    start = DescentState(run(_start_full(problem)))
    descent = descend(run, start, stop=stop, callback=callback, **options)
    return refine_minimum(run, descent, callback)


# ------------------------------------------------------------------------- completed kernels, new samples


def complete_kernels(
    X: KernelViews, views: Sequence[ViewKernel], scales: Array, model: PDOperator
) -> dict[str, Array | Operator]:
    """The training kernels `X`, completed under a model whose residual has no low rank: as arrays."""
    kernels: dict[str, Array | Operator] = {}
    for name, scale, view in zip(X.names, scales, views, strict=True):
        h = view.hidden(len(X))
        view = ViewKernel(Dense(view.Q.to_dense()), view.v)
        Q_vh, Q_hh = _impute(view, h, model, model.principal(view.v))
        K = np.zeros(X.shape)
        add_blocks(K, view.v, h, X.block(name), scale * Q_vh, scale * Q_hh)
        kernels[name] = K
    return kernels


def complete_rows(
    X: KernelViews,
    views: Sequence[ViewKernel],
    scales: Array,
    model: PDOperator,
    Q: Sequence[Array],
    eps: float,
) -> tuple[dict[str, Array | Operator], dict[str, Array]]:
    """Rows of new samples, each a combination of the training samples, whose completed kernels are `Q`."""
    q, diagonal = _visible_rows(X, views, scales, model)
    rows, values = _combine_rows(Q, q, diagonal, X.observed, model, eps)
    blocks: dict[str, Array | Operator] = {}
    diagonals: dict[str, Array] = {}
    for k, (name, scale) in enumerate(zip(X.names, scales, strict=True)):
        block, diagonals[name] = scale * rows[k], scale * values[k]
        block[np.ix_(X.observed[:, k], X.column_observed[:, k])] = X.block(name)
        diagonals[name][X.observed[:, k]] = X.diagonal(name)
        blocks[name] = block
    return blocks, diagonals


def _combine_rows(
    Q: Sequence[Array], q: Sequence[Array], diagonal: Array, observed: Array, model: PDOperator, eps: float
) -> tuple[list[Array], list[Array]]:
    """Rows and diagonals of new samples under an unrestricted model at its optimum.

    There ``(K + eps) m_t`` is the sum of the sample's completed rows, and a hidden row is
    ``Q_k M^-1 m_t``.  So the sample is a combination ``a = M^-1 m_t`` of the training samples with
    ``(sum_visible Q_j + eps I) a = sum_visible q_t``, and a hidden row is ``Q_k a``; its value with itself,
    ``m_tt - a' M a + a' Q_k a``, follows from the mean m_tt in the same way.

    Parameters
    ----------
    Q : completed training kernels;  q : the new samples' completed rows in views they have
    diagonal : (samples, views) their kernel values with themselves there;  observed : which views they have
    """
    a = np.zeros_like(q[0])
    for pattern, rows in group_by_pattern(observed):
        visible = np.flatnonzero(pattern)
        if len(visible):
            total = np.sum([Q[j] for j in visible.tolist()], axis=0)
            total[np.diag_indices_from(total)] += eps
            right = np.sum([q[j][rows] for j in visible.tolist()], axis=0)
            a[rows] = cholesky_solve(cholesky(symmetrize(total)), right.T).T
    explained = np.einsum("ij,ji->i", a, model @ a.T)
    predicted = np.stack([np.einsum("ij,ij->i", a @ Q_k, a) for Q_k in Q], axis=1)
    spread = np.where(observed, 0.0, predicted - explained[:, None]).sum(axis=1)
    m_tt = (diagonal.sum(axis=1) + spread + eps) / (observed.sum(axis=1) + eps)
    values = np.where(observed, diagonal, (m_tt - explained)[:, None] + predicted)
    rows_of_views = [np.where(observed[:, k][:, None], q[k], a @ Q[k]) for k in range(len(Q))]
    return rows_of_views, list(values.T)


def _visible_rows(
    X: KernelViews, views: Sequence[ViewKernel], scales: Array, model: PDOperator
) -> tuple[list[Array], Array]:
    """Rows of the views a new sample has, over all training samples, and its values with itself."""
    rows, diagonal = [], np.zeros((len(X), X.n_views))
    for k, (name, scale, view) in enumerate(zip(X.names, scales, views, strict=True)):
        h, present = view.hidden(X.shape[1]), X.observed[:, k]
        full, block = np.zeros(X.shape), X.block(name) / scale
        A = model.principal(view.v).solve(model.block(view.v, h))
        full[np.ix_(present, view.v)] = block
        full[np.ix_(present, h)] = block @ A
        rows.append(full)
        diagonal[present, k] = X.diagonal(name) / scale
    return rows, diagonal
