"""Bringing new samples into a fitted model without fitting it again.

A new sample t gets a row w_t of loadings and a noise variance d_t.  The EM of
``_fast`` is run for that row alone, all others fixed.  Adding the sample to a
view changes the view's moments by terms of rank one and two, so an iteration is q x q algebra:

    C+ = C + w w' / d,      inner+ = inner + a f' + f a' + k(t, t) f f',      f = w / d,  a = F' q_t.
"""

from collections.abc import Sequence
from dataclasses import dataclass
from typing import NamedTuple, Self

import numpy as np

from absentia.core import (
    Array,
    LowRankPlusDiagonal,
    PDOperator,
    Stop,
    by_pattern,
    cholesky,
    cholesky_solve,
    iterate,
    project,
    serializable,
    symmetrize,
)
from absentia.methods.completion.mkmc._fast import Seen, moments
from absentia.methods.completion.mkmc._paper import NOISE_FLOOR


@serializable
@dataclass(frozen=True)
class Latent:
    """What a view says of the factors, given a model."""

    C_inverse: Array
    inner: Array  # F' Q F
    E: Array
    G: Array

    @classmethod
    def of(cls, view: Seen, F: Array, model: LowRankPlusDiagonal) -> Self:
        F = F.astype(view.Q.dtype, copy=False)
        C = np.eye(F.shape[1]) + model.W[view.v].T @ F[view.v]
        seen = project(view.Q, F, view.v)
        found = moments((C + C.T) / 2, seen.inner, view.weight)
        G = np.zeros((len(view.v), F.shape[1]))
        seen.add(G, np.arange(len(view.v)), found.C_inverse)
        return cls(found.C_inverse, found.inner, found.E, G)

    @classmethod
    def of_prior(cls, F: Array, model: LowRankPlusDiagonal) -> Self:
        """The pseudo-view ``Q = I`` that sees everyone."""
        C_inverse = np.linalg.inv(np.eye(F.shape[1]) + model.W.T @ F)
        inner = F.T @ F
        return cls(C_inverse, inner, C_inverse + C_inverse @ inner @ C_inverse, F @ C_inverse)


class Row(NamedTuple):
    """New samples in one view: ``a = F' q_t`` and ``k(t, t)``, zero for those that lack the view."""

    a: Array
    own: Array
    present: Array


@dataclass(frozen=True)
class Folded:
    """New samples after an iteration: loadings, noise variances, ``G[t]`` by view, how far they moved."""

    w: Array
    d: Array
    G: list[Array]
    moved: float = np.inf


def _outer(a: Array, b: Array) -> Array:
    return a[:, :, None] * b[:, None, :]


def _with_sample(old: Latent, a: Array, own: Array, w: Array, d: Array) -> tuple[Array, Array]:
    """Rows G[t] and moments E of a view once sample t has joined it; for many t at once."""
    f = w / d[:, None]
    Cw = w @ old.C_inverse
    shrink = 1.0 / (d + np.sum(Cw * w, axis=1))  # Sherman-Morrison
    C_inverse = old.C_inverse - _outer(Cw * shrink[:, None], Cw)
    cross = _outer(a, f)
    inner = old.inner + cross + cross.transpose(0, 2, 1) + _outer(own[:, None] * f, f)
    G = np.einsum("ti,tij->tj", a + own[:, None] * f, C_inverse)
    return G, C_inverse + C_inverse @ inner @ C_inverse


def fold_in(
    old: Sequence[Latent],
    rows: Sequence[Row],
    prior: Latent,
    eps: float,
    noise: float | None,
    *,
    tol: float = 1e-8,
    max_iter: int = 100,
    chunk: int = 256,
) -> tuple[Array, Array, list[Array]]:
    """Loadings, noise variances and, per view, ``G[t]`` of new samples.

    `noise` is the variance all samples share (PCA), or None where each has its own (factor analysis).
    Samples without any view get zero loadings and the prior's variance of one.
    """
    n, q = rows[0].a.shape
    w, d = np.zeros((n, q)), np.ones(n)
    G = [np.zeros((n, q)) for _ in rows]
    some = np.flatnonzero(np.any([row.present for row in rows], axis=0))
    for begin in range(0, len(some), chunk):
        t = some[begin : begin + chunk]
        part = [Row(row.a[t], row.own[t], row.present[t]) for row in rows]
        found = _fold_in_chunk(old, part, prior, eps, noise, tol, max_iter)
        w[t], d[t] = found.w, found.d
        for G_view, rows_of_view in zip(G, found.G, strict=True):
            G_view[t] = rows_of_view
    return w, d, G


def _fold_in_chunk(
    old: Sequence[Latent],
    rows: Sequence[Row],
    prior: Latent,
    eps: float,
    noise: float | None,
    tol: float,
    max_iter: int,
) -> Folded:
    n, q = rows[0].a.shape
    weight = sum(row.present for row in rows) + eps
    total = sum(row.own for row in rows) + eps
    w: Array = np.zeros((n, q))
    d = np.full(n, noise) if noise is not None else np.maximum(total / weight, NOISE_FLOOR)
    nothing, one = np.zeros((n, q)), np.ones(n)

    def step(last: Folded) -> Folded:
        w, d = last.w, last.d
        G_prior, E_prior = _with_sample(prior, nothing, one, w, d)
        num, A = eps * G_prior, eps * E_prior
        G: list[Array] = []
        for view, row in zip(old, rows, strict=True):
            G_view, E_view = _with_sample(view, row.a, row.own, w, d)
            G.append(G_view)
            num = num + np.where(row.present[:, None], G_view, 0.0)
            A = A + np.where(row.present[:, None, None], E_view, 0.0)
        new = np.linalg.solve(A, num[:, :, None])[:, :, 0]
        if noise is None:
            d = np.maximum((total - np.sum(new * num, axis=1)) / weight, NOISE_FLOOR)
        moved = float(np.abs(new - w).max()) / max(float(np.abs(new).max()), 1e-12)
        return Folded(new, d, G, moved)

    stop = Stop(tol, "the loadings' relative change", lambda folded: folded.moved)
    return iterate(step, None, Folded(w, d, []), stop=stop, max_iter=max_iter).state


# ----------------------------------------------------------------------------- unrestricted models


def combine(
    Q: Sequence[Array], q: Sequence[Array], own: Array, observed: Array, model: PDOperator, eps: float
) -> tuple[list[Array], list[Array]]:
    """Rows and own values of new samples under an unrestricted model at its optimum.

    There ``(K + eps) m_t`` is the sum of the sample's completed rows, and a hidden row is
    ``Q_k M^-1 m_t``.  So the sample is a combination ``a = M^-1 m_t`` of the training samples with
    ``(sum_visible Q_j + eps I) a = sum_visible q_t``, and a hidden row is ``Q_k a``; its own value
    ``m_tt - a' M a + a' Q_k a`` follows from the mean m_tt in the same way.

    Parameters
    ----------
    Q : completed training kernels;  q : the new samples' completed rows in views they have
    own : (samples, views) their own kernel values there;  observed : which views they have
    """
    a = np.zeros_like(q[0])
    for pattern, rows in by_pattern(observed):
        visible = np.flatnonzero(pattern)
        if len(visible):
            total = np.sum([Q[j] for j in visible.tolist()], axis=0)
            total[np.diag_indices_from(total)] += eps
            right = np.sum([q[j][rows] for j in visible.tolist()], axis=0)
            a[rows] = cholesky_solve(cholesky(symmetrize(total)), right.T).T
    explained = np.einsum("ij,ji->i", a, model @ a.T)
    predicted = np.stack([np.einsum("ij,ij->i", a @ Q_k, a) for Q_k in Q], axis=1)
    spread = np.where(observed, 0.0, predicted - explained[:, None]).sum(axis=1)
    m_tt = (own.sum(axis=1) + spread + eps) / (observed.sum(axis=1) + eps)
    values = np.where(observed, own, (m_tt - explained)[:, None] + predicted)
    rows_of_views = [np.where(observed[:, k][:, None], q[k], a @ Q[k]) for k in range(len(Q))]
    return rows_of_views, list(values.T)


# ------------------------ Multiple imputation: kernels drawn from what a model says of the absent samples


def draw(
    model: PDOperator,
    Q: Array,
    present: Array,
    scale: float,
    n_features: int | None,
    rng: np.random.Generator,
    *,
    about_mean: bool = False,
) -> Array:
    """One completed kernel: absent samples' features drawn given the visible ones, or those' mean too."""
    v, h = np.flatnonzero(present), np.flatnonzero(~present)
    m = max(n_features or 0, len(v), 1)
    values, vectors = np.linalg.eigh(symmetrize(np.asarray(Q, dtype=np.float64)))
    features = np.zeros((len(v), m))
    features[:, : len(v)] = vectors * np.sqrt(np.maximum(values, 0.0))
    mean = features.mean(axis=0) if about_mean and len(v) else np.zeros(m)
    M_vh = model.block(v, h)
    A = model.principal(v).solve(M_vh)
    spread = symmetrize(model.block(h, h) - M_vh.T @ A)
    L = cholesky(spread, "conditional covariance") if len(h) else spread
    filled = mean + A.T @ (features - mean) + L @ rng.standard_normal((len(h), m)) * np.sqrt(scale / m)
    K = np.empty((len(present), len(present)))
    K[np.ix_(v, v)] = Q
    K[np.ix_(v, h)] = features @ filled.T
    K[np.ix_(h, v)] = K[np.ix_(v, h)].T
    K[np.ix_(h, h)] = symmetrize(filled @ filled.T)
    return K
