"""Where absent and new samples lie under a fitted low-rank model, which is not fitted again.

A new sample t gets a row w_t of loadings and a noise variance d_t.  The EM of ``_low_rank`` is run for that
row alone, all others fixed.  Adding the sample to a view changes the view's moments by terms of rank one
and two, so an iteration is q x q algebra:

    C+ = C + w w' / d,      inner+ = inner + a f' + f a' + k(t, t) f f',      f = w / d,  a = F' q_t.
"""

from collections.abc import Sequence
from dataclasses import dataclass, replace
from typing import NamedTuple, Self

import numpy as np

from absentia.core import Array, LowRankPlusDiagonal, Operator, project
from absentia.core.linalg import symmetrize
from absentia.core.optimize import StoppingRule, iterate
from absentia.data import KernelViews
from absentia.methods.completion._base import Basis, Coordinates, add_mean_coordinate
from absentia.methods.completion.mkmc._low_rank import NOISE_FLOOR, KernelForm, ViewKernel, factor_moments

#: New samples are folded in so many at a time, until their loadings change by less, or after so many steps.
_FOLD_IN_CHUNK, _FOLD_IN_TOL, _FOLD_IN_STEPS = 256, 1e-8, 100


@dataclass(frozen=True)
class ViewMoments:
    """What a view says of the factors, given a model: the symbols of ``_low_rank``."""

    C_inverse: Array
    inner: Array  # F' Q F
    E: Array

    @classmethod
    def of(cls, view: ViewKernel, F: Array, model: LowRankPlusDiagonal) -> tuple[Self, Array]:
        """With them ``G = Q F C^-1``, in the precision of the kernel."""
        F = F.astype(view.Q.dtype, copy=False)
        C = np.eye(F.shape[1]) + model.W[view.v].T @ F[view.v]
        projection = project(view.Q, F, view.v)
        moments = factor_moments((C + C.T) / 2, projection.inner, view.weight)
        G = np.zeros((len(view.v), F.shape[1]), view.Q.dtype)
        projection.add(G, np.arange(len(view.v)), moments.C_inverse)
        return cls(moments.C_inverse, moments.inner, moments.E), G

    @classmethod
    def of_prior(cls, F: Array, model: LowRankPlusDiagonal) -> Self:
        """The pseudo-view ``Q = I`` that sees everyone."""
        C_inverse = np.linalg.inv(np.eye(F.shape[1]) + model.W.T @ F)
        inner = F.T @ F
        return cls(C_inverse, inner, C_inverse + C_inverse @ inner @ C_inverse)


# ------------------------------------------------------------------- absent samples of the training kernels


def locate_absent(
    X: KernelViews, form: KernelForm, model: LowRankPlusDiagonal
) -> tuple[list[ViewMoments], list[Basis], list[Coordinates]]:
    """The factors are the axes of every view, and a sample's loadings its coordinates.

    Before them, what each view says of the factors.  Coefficients of the axes, as large as `G`, are not
    kept: new samples have values with the axes from the model.
    """
    F = model.W / model.d[:, None]
    moments, bases, coordinates = [], [], []
    for name, scale, present, kernel, centered in zip(
        X.names, form.scales, X.observed.T, form.view_kernels(X), form.centered_views(X), strict=True
    ):
        view, G = ViewMoments.of(kernel, F, model)
        G *= G.dtype.type(scale)
        basis = Basis(np.zeros((0, F.shape[1])), G, scale * view.E)
        W = model.W[~present]
        moments.append(view)
        bases.append(
            _add_mean_axis(basis, F[present] @ view.C_inverse, X.operator(name)) if centered else basis
        )
        coordinates.append(
            Coordinates(add_mean_coordinate(W) if centered else W, scale * model.d[~present])
        )
    return moments, bases, coordinates


def _add_mean_axis(basis: Basis, C: Array, K: Operator) -> Basis:
    """Axes `C` of the centred kernel as axes of the kernel `K` itself, the mean sample before them."""
    with_mean = Basis.about_mean(K, C)
    with_mean.E[1:, 1:] += symmetrize(basis.E - C.T @ basis.G)  # what is orthogonal to all observed
    return replace(with_mean, C=np.zeros((0, C.shape[1] + 1)))


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
            A[present], diagonal[present], means = _center_rows(K, X.diagonal(name), F[trained], basis)
        else:
            A[present], diagonal[present] = K @ F[trained], X.diagonal(name)
        rows.append(_NewRows(A / scale, diagonal / scale, present))
        mean_values.append(means)
    w, d, G = _fold_in(moments, rows, ViewMoments.of_prior(F, model), prior, noise)
    coordinates = []
    for v, (scale, present) in enumerate(zip(scales, X.observed.T, strict=True)):
        W, G_view, basis_G, means = w[~present], scale * G[v][present], bases[v].G, mean_values[v]
        if means is not None:
            across = (
                basis_G[:, 1:].mean(axis=0) if len(basis_G) else 0.0
            )  # of the mean sample with the axes
            W, G_view = add_mean_coordinate(W), np.column_stack([means, G_view + across])
        coordinates.append(Coordinates(W, scale * d[~present], G_view))
    return coordinates


def _center_rows(rows: Operator, diagonal: Array, F: Array, basis: Basis) -> tuple[Array, Array, Array]:
    """Of new samples that have a view: ``c_t' F``, ``|c_t|^2``, and their values with the mean sample.

    `rows` are their kernel values with the training samples that have it, `diagonal` those with themselves,
    `basis` is one of :func:`_add_mean_axis`.
    """
    m = max(rows.shape[1], 1)
    mean_values = np.asarray(rows @ np.full((rows.shape[1], 1), 1.0 / m))[:, 0]
    means, grand_mean = basis.G[:, 0], float(basis.E[0, 0])
    products = np.asarray(rows @ F) - means @ F - np.outer(mean_values - grand_mean, F.sum(axis=0))
    return products, diagonal - 2 * mean_values + grand_mean, mean_values


class _NewRows(NamedTuple):
    """New samples in one view: ``a = F' q_t`` and ``k(t, t)``, zero for those that lack the view."""

    a: Array
    diagonal: Array
    present: Array


@dataclass(frozen=True)
class _FoldInState:
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
    rows: Sequence[_NewRows],
    prior: ViewMoments,
    eps: float,
    noise: float | None,
) -> tuple[Array, Array, list[Array]]:
    """Loadings, noise variances and, per view, ``G[t]`` of new samples.

    `noise` is the variance all samples share (PCA), or None where each has its own (factor analysis).
    Samples without any view get zero loadings and the prior's variance of one.
    """
    n, q = rows[0].a.shape
    w, d = np.zeros((n, q)), np.ones(n)
    G = [np.zeros((n, q)) for _ in rows]
    with_view = np.flatnonzero(np.any([row.present for row in rows], axis=0))
    for begin in range(0, len(with_view), _FOLD_IN_CHUNK):
        t = with_view[begin : begin + _FOLD_IN_CHUNK]
        part = [_NewRows(row.a[t], row.diagonal[t], row.present[t]) for row in rows]
        folded = _fold_in_chunk(old, part, prior, eps, noise)
        w[t], d[t] = folded.w, folded.d
        for G_view, G_chunk in zip(G, folded.G, strict=True):
            G_view[t] = G_chunk
    return w, d, G


def _fold_in_chunk(
    old: Sequence[ViewMoments],
    rows: Sequence[_NewRows],
    prior: ViewMoments,
    eps: float,
    noise: float | None,
) -> _FoldInState:
    n, q = rows[0].a.shape
    weight = sum(row.present for row in rows) + eps
    total = sum(row.diagonal for row in rows) + eps
    w: Array = np.zeros((n, q))
    d = np.full(n, noise) if noise is not None else np.maximum(total / weight, NOISE_FLOOR)
    nothing, one = np.zeros((n, q)), np.ones(n)

    def step(last: _FoldInState) -> _FoldInState:
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
        return _FoldInState(new, d, G, change)

    stop = StoppingRule(_FOLD_IN_TOL, "the loadings' relative change", lambda state: state.change)
    return iterate(step, None, _FoldInState(w, d, []), stop=stop, max_iter=_FOLD_IN_STEPS).state
