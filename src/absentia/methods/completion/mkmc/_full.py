"""Mutual kernel matrix completion with an unrestricted model, with less work per step and fewer steps.

Same objective as the papers' algorithm.  One inverse ``P = M^-1`` serves all views:

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

import numpy as np

from absentia.core import Array, Dense, Operator, PDOperator
from absentia.core.linalg import (
    ConditionalGaussian,
    cholesky,
    cholesky_inverse,
    cholesky_logdet,
    cholesky_solve,
    group_by_pattern,
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
    refine_minimum,
)
from absentia.data import KernelViews
from absentia.methods.completion.mkmc import _paper
from absentia.methods.completion.mkmc._low_rank import PATIENCE, VisibleProblem
from absentia.methods.completion.mkmc._view_kernels import ViewKernel, sum_kernels


def as_operator(problem: VisibleProblem, point: Point) -> Dense:
    """The model kernel of a point, samples in their own order again."""
    M = np.empty_like(point[0])
    M[np.ix_(problem.order, problem.order)] = point[0]
    return Dense(M)


def start(problem: VisibleProblem) -> Point:
    """Zero-imputed mean kernel, brought to unit weight for every sample, and the prior."""
    S = sum_kernels(problem.views, problem.size, problem.dtype)
    root = np.sqrt(np.maximum(problem.weight - problem.eps, 1.0))
    return (_with_prior(problem, S * problem.n_views / np.outer(root, root)).astype(problem.dtype),)


def _with_prior(problem: VisibleProblem, total: Array) -> Array:
    """``(sum of kernels + eps I) / (K + eps)``."""
    total = symmetrize(total)
    total[np.diag_indices_from(total)] += problem.eps
    return total / (problem.n_views + problem.eps)


def impute(view: ViewKernel, P: Array, h: Array) -> tuple[Array, Array, float]:
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


def evaluate(problem: VisibleProblem, point: Point) -> GradientEvaluation:
    """Penalised objective of a model, its gradient, and the preconditioner EM amounts to."""
    M = symmetrize(point[0])
    L = cholesky(M, "model")
    P, logdet = cholesky_inverse(L), cholesky_logdet(L)
    value = (problem.n_views + problem.eps) * logdet + problem.eps * float(np.trace(P))
    S = np.zeros((problem.size, problem.size), problem.dtype)
    for view in problem.views:
        h = np.setdiff1d(np.arange(problem.size), view.v, assume_unique=True)
        Q_vh, Q_hh, part = impute(view, P, h)
        _paper.add_blocks(S, view.v, h, view.Q.to_dense(), Q_vh, Q_hh)
        value += part
    weight = (problem.n_views + problem.eps) / 2
    gradient = weight * symmetrize(P @ (M - _with_prior(problem, S)) @ P)

    def precondition(v: Point) -> Point:
        return (symmetrize(M @ v[0] @ M) / M.dtype.type(weight),)

    return GradientEvaluation((M,), value / 2, (gradient.astype(M.dtype),), precondition)


def solve_full(
    problem: VisibleProblem, *, tol: float, max_iter: int, callback: Callback | None = None
) -> Solution[DescentState[GradientEvaluation]]:
    """Descend from the start; one iteration is one step, mostly one evaluation."""

    def run(point: Point) -> GradientEvaluation:
        return evaluate(problem, point)

    stop = StoppingRule(tol, patience=PATIENCE)
    descent = descend(
        run, DescentState(run(start(problem))), stop=stop, max_iter=max_iter, callback=callback
    )
    return refine_minimum(run, descent, callback)


# ------------------------------------------------------------------------- completed kernels, new samples


def complete_kernels(
    X: KernelViews, views: Sequence[ViewKernel], scales: Array, model: PDOperator
) -> dict[str, Array | Operator]:
    """The training kernels `X`, completed under a model whose residual has no low rank: as arrays."""
    kernels: dict[str, Array | Operator] = {}
    for name, scale, view in zip(X.names, scales, views, strict=True):
        h = np.setdiff1d(np.arange(len(X)), view.v)
        visible = _paper.Visible(Dense(view.Q.to_dense()), view.v, h)
        Q_vh, Q_hh = _paper.impute(visible, model, model.principal(view.v))
        K = np.zeros(X.shape)
        _paper.add_blocks(K, view.v, h, X.block(name), scale * Q_vh, scale * Q_hh)
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
        h, present = np.setdiff1d(np.arange(X.shape[1]), view.v), X.observed[:, k]
        full, block = np.zeros(X.shape), X.block(name) / scale
        A = model.principal(view.v).solve(model.block(view.v, h))
        full[np.ix_(present, view.v)] = block
        full[np.ix_(present, h)] = block @ A
        rows.append(full)
        diagonal[present, k] = X.diagonal(name) / scale
    return rows, diagonal
