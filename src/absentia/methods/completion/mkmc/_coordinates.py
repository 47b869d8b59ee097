"""Where absent and new samples lie under a fitted low-rank model, which is not fitted again.

A new sample t gets a row w_t of loadings and a noise variance d_t.  The EM of ``_low_rank`` is run for that
row alone, all others fixed.  Adding the sample to a view changes the view's moments by terms of rank one
and two, so an iteration is q x q algebra:

    C+ = C + w w' / d,      inner+ = inner + a f' + f a' + k(t, t) f f',      f = w / d,  a = F' q_t.
"""

from collections.abc import Sequence
from dataclasses import dataclass
from typing import NamedTuple, Self

import numpy as np

from absentia.core import Array, LowRankPlusDiagonal, project, serializable
from absentia.core.optimize import StoppingRule, iterate
from absentia.data import KernelViews
from absentia.methods.completion._subspace import Basis, Coordinates
from absentia.methods.completion.mkmc._low_rank import factor_moments
from absentia.methods.completion.mkmc._paper import NOISE_FLOOR
from absentia.methods.completion.mkmc._view_kernels import (
    KernelForm,
    ViewKernel,
    add_mean_axis,
    add_mean_coordinate,
    center_rows,
)


@serializable
@dataclass(frozen=True)
class ViewMoments:
    """What a view says of the factors, given a model: the symbols of ``_low_rank``."""

    C_inverse: Array
    inner: Array  # F' Q F
    E: Array
    G: Array

    @classmethod
    def of(cls, view: ViewKernel, F: Array, model: LowRankPlusDiagonal) -> Self:
        F = F.astype(view.Q.dtype, copy=False)
        C = np.eye(F.shape[1]) + model.W[view.v].T @ F[view.v]
        projection = project(view.Q, F, view.v)
        moments = factor_moments((C + C.T) / 2, projection.inner, view.weight)
        G = np.zeros((len(view.v), F.shape[1]))
        projection.add(G, np.arange(len(view.v)), moments.C_inverse)
        return cls(moments.C_inverse, moments.inner, moments.E, G)

    @classmethod
    def of_prior(cls, F: Array, model: LowRankPlusDiagonal) -> Self:
        """The pseudo-view ``Q = I`` that sees everyone."""
        C_inverse = np.linalg.inv(np.eye(F.shape[1]) + model.W.T @ F)
        inner = F.T @ F
        return cls(C_inverse, inner, C_inverse + C_inverse @ inner @ C_inverse, F @ C_inverse)


# ------------------------------------------------------------------- absent samples of the training kernels


def view_moments(X: KernelViews, form: KernelForm, model: LowRankPlusDiagonal) -> list[ViewMoments]:
    """What each view of the training kernels `X` says of the factors."""
    F = model.W / model.d[:, None]
    return [ViewMoments.of(view, F, model) for view in form.view_kernels(X)]


def locate_absent(
    X: KernelViews, form: KernelForm, model: LowRankPlusDiagonal, moments: Sequence[ViewMoments]
) -> tuple[list[Basis], list[Coordinates]]:
    """The factors are the axes of every view, and a sample's loadings its coordinates."""
    F = model.W / model.d[:, None]
    bases, coordinates = [], []
    for name, scale, present, view, centered in zip(
        X.names, form.scales, X.observed.T, moments, form.centered_views(X), strict=True
    ):
        basis = Basis(F[present] @ view.C_inverse, scale * view.G, scale * view.E)
        absent = Coordinates(model.W[~present], scale * model.d[~present])
        bases.append(add_mean_axis(basis, X.operator(name)) if centered else basis)
        coordinates.append(add_mean_coordinate(absent) if centered else absent)
    return bases, coordinates


# -------------------------------------------------------------------------------------- new samples


def locate_new(
    X: KernelViews,
    scales: Array,
    model: LowRankPlusDiagonal,
    moments: Sequence[ViewMoments],
    bases: Sequence[Basis],
    *,
    prior: float,
    noise: float | None,
) -> list[Coordinates]:
    """Fold each row of `X` into the latent space, then treat it as any other sample."""
    F = model.W / model.d[:, None]
    rows, mean_values = [], []
    for v, (name, scale, basis) in enumerate(zip(X.names, scales, bases, strict=True)):
        present, trained, K = X.observed[:, v], X.column_observed[:, v], X.operator(name)
        A, diagonal, means = np.zeros((len(X), F.shape[1])), np.zeros(len(X)), None
        if basis.G.shape[1] > F.shape[1]:  # the mean sample is its first axis
            A[present], diagonal[present], means = center_rows(K, X.diagonal(name), F[trained], basis)
        else:
            A[present], diagonal[present] = K @ F[trained], X.diagonal(name)
        rows.append(NewRows(A / scale, diagonal / scale, present))
        mean_values.append(means)
    w, d, G = _fold_in(moments, rows, ViewMoments.of_prior(F, model), prior, noise)
    coordinates = []
    for v, (scale, present) in enumerate(zip(scales, X.observed.T, strict=True)):
        absent = Coordinates(w[~present], scale * d[~present], scale * G[v][present])
        centered = mean_values[v] is not None
        coordinates.append(add_mean_coordinate(absent, bases[v], mean_values[v]) if centered else absent)
    return coordinates


class NewRows(NamedTuple):
    """New samples in one view: ``a = F' q_t`` and ``k(t, t)``, zero for those that lack the view."""

    a: Array
    diagonal: Array
    present: Array


@dataclass(frozen=True)
class FoldInState:
    """New samples after an iteration: loadings, noise variances, ``G[t]`` by view, the loadings' change."""

    w: Array
    d: Array
    G: list[Array]
    change: float = np.inf


def _outer(a: Array, b: Array) -> Array:
    return a[:, :, None] * b[:, None, :]


def _moments_with_sample(
    old: ViewMoments, a: Array, diagonal: Array, w: Array, d: Array
) -> tuple[Array, Array]:
    """Rows G[t] and moments E of a view once sample t has joined it; for many t at once."""
    f = w / d[:, None]
    Cw = w @ old.C_inverse
    shrink = 1.0 / (d + np.sum(Cw * w, axis=1))  # Sherman-Morrison
    C_inverse = old.C_inverse - _outer(Cw * shrink[:, None], Cw)
    cross = _outer(a, f)
    inner = old.inner + cross + cross.transpose(0, 2, 1) + _outer(diagonal[:, None] * f, f)
    G = np.einsum("ti,tij->tj", a + diagonal[:, None] * f, C_inverse)
    return G, C_inverse + C_inverse @ inner @ C_inverse


def _fold_in(
    old: Sequence[ViewMoments],
    rows: Sequence[NewRows],
    prior: ViewMoments,
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
    with_view = np.flatnonzero(np.any([row.present for row in rows], axis=0))
    for begin in range(0, len(with_view), chunk):
        t = with_view[begin : begin + chunk]
        part = [NewRows(row.a[t], row.diagonal[t], row.present[t]) for row in rows]
        folded = _fold_in_chunk(old, part, prior, eps, noise, tol, max_iter)
        w[t], d[t] = folded.w, folded.d
        for G_view, G_chunk in zip(G, folded.G, strict=True):
            G_view[t] = G_chunk
    return w, d, G


def _fold_in_chunk(
    old: Sequence[ViewMoments],
    rows: Sequence[NewRows],
    prior: ViewMoments,
    eps: float,
    noise: float | None,
    tol: float,
    max_iter: int,
) -> FoldInState:
    n, q = rows[0].a.shape
    weight = sum(row.present for row in rows) + eps
    total = sum(row.diagonal for row in rows) + eps
    w: Array = np.zeros((n, q))
    d = np.full(n, noise) if noise is not None else np.maximum(total / weight, NOISE_FLOOR)
    nothing, one = np.zeros((n, q)), np.ones(n)

    def step(last: FoldInState) -> FoldInState:
        w, d = last.w, last.d
        G_prior, E_prior = _moments_with_sample(prior, nothing, one, w, d)
        num, A = eps * G_prior, eps * E_prior
        G: list[Array] = []
        for view, row in zip(old, rows, strict=True):
            G_view, E_view = _moments_with_sample(view, row.a, row.diagonal, w, d)
            G.append(G_view)
            num = num + np.where(row.present[:, None], G_view, 0.0)
            A = A + np.where(row.present[:, None, None], E_view, 0.0)
        new = np.linalg.solve(A, num[:, :, None])[:, :, 0]
        if noise is None:
            d = np.maximum((total - np.sum(new * num, axis=1)) / weight, NOISE_FLOOR)
        change = float(np.abs(new - w).max()) / max(float(np.abs(new).max()), 1e-12)
        return FoldInState(new, d, G, change)

    stop = StoppingRule(tol, "the loadings' relative change", lambda state: state.change)
    return iterate(step, None, FoldInState(w, d, []), stop=stop, max_iter=max_iter).state
