"""The variants ht, app and sdp of multi-view kernel completion: their objectives, and new samples.

In ht and app a sample is a combination of the samples that have the view.

``B`` (views x samples x samples) holds the coefficients; columns of samples that lack the view are zero.
Coordinates are ``F_v = B_v C_v`` and the kernel ``F_v F_v'``.  Where a column b_0 of B_v is not zero, the
penalty ``lam |b|`` has gradient ``w b_0`` there with ``w = lam / |b_0|``, and is at most ``w/2 |b|^2`` plus
a constant, with equality at b_0 (majorisation).  The closed form, the preconditioner and new samples use
that bound.
"""

from collections.abc import Callable, Sequence

import numpy as np

from absentia.core import Array
from absentia.core.linalg import cholesky, cholesky_solve, group_by_pattern
from absentia.core.optimize import Point, StoppingRule, iterate
from absentia.methods.completion.mkc._problem import (
    MKCEvaluation,
    MKCProblem,
    NewRows,
    disagreement_matrix,
    fit_view_weights,
    make_lazy,
)

#: Ridge of the first combinations, in units of the mean squared length of the coordinates.
_START_RIDGE = 0.1
#: Floor under column norms where they divide.
_TINY = 1e-12


def _column_norms(B: Array) -> Array:
    return np.sqrt(np.einsum("vtc,vtc->vc", B, B))


def _penalty_weights(problem: MKCProblem, norms: Array) -> Array:
    """``w = lam / |b|`` of every column, lam = c3 / V."""
    return problem.c3 / problem.n_views / np.maximum(norms, _TINY)


def _fit_missing_rows(problem: MKCProblem, B: Array, S: Array) -> Array:
    """`B` with the rows of missing samples where between-view loss and (bounded) penalty are least.

    The loss takes entry (t, c) of all views together, ``a' M a``.  So for the samples that lack the same
    views, and each column c, it is one small linear system in the views that lack t and have c.
    """
    weight = 2 * problem.c2 / (problem.n_views * problem.size)
    M, W = weight * disagreement_matrix(S), _penalty_weights(problem, _column_norms(B))
    B = B.copy()
    for pattern, t in group_by_pattern(problem.observed):
        lacking, having = np.flatnonzero(~pattern), np.flatnonzero(pattern)
        if not len(lacking):
            continue
        present = problem.observed[:, lacking]
        H = M[np.ix_(lacking, lacking)] * (present[:, :, None] & present[:, None, :])
        i = np.arange(len(lacking))
        H[:, i, i] = np.where(present, H[:, i, i] + W[lacking].T, 1.0)
        rhs = -np.einsum("vu,utc->cvt", M[np.ix_(lacking, having)], B[np.ix_(having, t)])
        B[np.ix_(lacking, t)] = np.linalg.solve(H, rhs * present[:, :, None]).transpose(1, 2, 0)
    return B


class _CombinationVariant:
    """Base of ht and app, in which samples are combinations of those that have the view."""

    def __init__(self, problem: MKCProblem) -> None:
        self.problem = problem

    def start(self) -> Point:
        """Ridge regression of each sample on the observed ones; missing rows where the views agree best."""
        problem = self.problem
        B = np.zeros((problem.n_views, problem.size, problem.size))
        for v, (C, present) in enumerate(zip(problem.C, problem.present, strict=True)):
            B[v][np.ix_(present, present)] = (C / (np.sum(C * C, axis=0) + _START_RIDGE)) @ C.T
        return (_fit_missing_rows(problem, B, problem.uniform_view_weights()),)

    def coordinates(self, point: Point) -> list[Array]:
        """Coordinates of all samples in every view."""
        parts = zip(point[0], self.problem.C, self.problem.present, strict=True)
        return [B[:, present] @ C for B, C, present in parts]

    def used_samples(self, point: Point) -> Array:
        """Which samples (columns) are used in each view (rows)."""
        return _column_norms(point[0]) > 0

    def proximal_step(self, at: MKCEvaluation, eta: float) -> Point:
        """A proximal step of length `eta`: along the smooth gradient, then columns shrink or vanish."""
        (B,), (G,) = at.point, at.gradient
        norms = _column_norms(B)
        smooth = G - np.where(norms > 0, _penalty_weights(self.problem, norms), 0.0)[:, None, :] * B
        B = B - eta * smooth
        norms = _column_norms(B)
        lam = eta * self.problem.c3 / self.problem.n_views
        return (B * np.maximum(1 - lam / np.maximum(norms, _TINY), 0.0)[:, None, :],)

    def locate_new(self, point: Point, S: Array, rows: NewRows) -> tuple[list[Array], Array]:
        """Coordinates and squared lengths of new samples in every view."""
        problem, F = self.problem, self.coordinates(point)
        W = _penalty_weights(problem, _column_norms(point[0]))
        T = [f[present] @ C.T for f, present, C in zip(F, problem.present, problem.C, strict=True)]
        b = _solve_rows(problem, T, self._between_curvature(disagreement_matrix(S), F), W, rows)
        y = [part @ C for part, C in zip(b, problem.C, strict=True)]
        return y, np.stack([np.einsum("ij,ij->i", part, part) for part in y], axis=1)

    def _between_curvature(self, M: Array, F: list[Array]) -> Array:
        raise NotImplementedError

    def _divide_by_curvature(
        self,
        B: Array,
        features: list[Array],
        curvature: Array,
        rows: Sequence[Array],
        diagonal: float = 0.0,
    ) -> Callable[[Point], Point]:
        """Preconditioner: solves in `rows` of view v with ``curvature_v (F C')' (F C') + diag(W)``.

        W is the penalty's curvature plus `diagonal`, by which other rows are divided; columns that are zero
        stay zero.
        """
        problem, norms = self.problem, _column_norms(B)
        W = _penalty_weights(problem, norms) + diagonal
        factors = [
            _factorise_curvature(curvature[v], F @ C.T, W[v, present])
            for v, (F, C, present) in enumerate(zip(features, problem.C, problem.present, strict=True))
        ]

        def precondition(direction: Point) -> Point:
            (D,) = direction
            result = D / np.maximum(W, _TINY)[:, None, :]
            for v, (L, present) in enumerate(zip(factors, problem.present, strict=True)):
                block = np.ix_(rows[v], present)
                result[v][block] = cholesky_solve(L, D[v][block].T).T
            return (result * (norms > 0)[:, None, :],)

        return precondition

    def _add_penalty(self, B: Array, value: float, G: Array) -> tuple[float, Array]:
        norms = _column_norms(B)
        weights = np.where(norms > 0, _penalty_weights(self.problem, norms), 0.0)
        penalty = self.problem.c3 / self.problem.n_views * float(norms.sum())
        return value + penalty, G + weights[:, None, :] * B


class Heterogeneous(_CombinationVariant):
    """ht: views agree in the *coefficients* of a sample."""

    def evaluate(self, point: Point) -> MKCEvaluation:
        problem, (B,) = self.problem, point
        weight = problem.c2 / (problem.n_views * problem.size)
        S = fit_view_weights(B)
        R = B - np.tensordot(S, B, 1)
        value = weight * float(np.vdot(R, R))
        G = 2 * weight * (R - np.tensordot(S.T, R, 1)) * problem.observed.T[:, None, :]
        features = []
        for v, (C, K, present) in enumerate(zip(problem.C, problem.K, problem.present, strict=True)):
            block = np.ix_(present, present)
            F = B[v][block] @ C
            E = F @ F.T - K
            value += problem.within_weights[v] * float(np.vdot(E, E))
            G[v][block] += 4 * problem.within_weights[v] * (E @ F) @ C.T
            features.append(F)
        value, G = self._add_penalty(B, value, G)
        return MKCEvaluation(
            point, value, (G,), make_lazy(lambda: self.preconditioner(B, features)), S, features
        )

    def preconditioner(self, B: Array, features: list[Array]) -> Callable[[Point], Point]:
        """Divide by the curvature: of the within-view loss in the observed rows, the rest diagonal."""
        problem = self.problem
        between = 3 * problem.c2 / (problem.n_views * problem.size)  # M_vv is between 1 and 2
        return self._divide_by_curvature(B, features, 4 * problem.within_weights, problem.present, between)

    def _between_curvature(self, M: Array, F: list[Array]) -> Array:
        return _coefficient_curvature(self.problem, M)


class Approximate(_CombinationVariant):
    """app: views agree in the *kernels* that the coefficients give."""

    def evaluate(self, point: Point) -> MKCEvaluation:
        problem, (B,) = self.problem, point
        F = self.coordinates(point)
        kernels = np.stack([f @ f.T for f in F])
        S, value, slopes = _between_loss(problem, kernels)
        G = np.zeros_like(B)
        for v, (C, K, present) in enumerate(zip(problem.C, problem.K, problem.present, strict=True)):
            block = np.ix_(present, present)
            E = kernels[v][block] - K
            value += problem.within_weights[v] * float(np.vdot(E, E))
            slopes[v][block] += 2 * problem.within_weights[v] * E
            G[v][:, present] = 2 * (slopes[v] @ F[v]) @ C.T
        value, G = self._add_penalty(B, value, G)
        return MKCEvaluation(point, value, (G,), make_lazy(lambda: self.preconditioner(B, F)), S, F)

    def preconditioner(self, B: Array, features: list[Array]) -> Callable[[Point], Point]:
        """Divide by the curvature of both losses, taken as if each kernel entry had one factor to move."""
        problem = self.problem
        curvature = 8 * (problem.within_weights + 1.5 * problem.between_weights)  # M_vv is between 1 and 2
        all_rows = [np.arange(problem.size)] * problem.n_views
        return self._divide_by_curvature(B, features, curvature, all_rows)

    def _between_curvature(self, M: Array, F: list[Array]) -> Array:
        return _kernel_curvature(self.problem, M, [f @ C.T for f, C in zip(F, self.problem.C, strict=True)])


def _between_loss(problem: MKCProblem, kernels: Array) -> tuple[Array, float, Array]:
    """Best view weights, the between-view loss of `kernels`, and its gradient in them."""
    S = fit_view_weights(kernels, None if problem.on_all_samples else problem.shared_samples)
    R = kernels - np.tensordot(S, kernels, 1)
    if not problem.on_all_samples:
        R *= np.einsum("iv,jv->vij", problem.observed, problem.observed)
    R *= np.sqrt(problem.between_weights)[:, None, None]
    value = float(np.vdot(R, R))
    R *= np.sqrt(problem.between_weights)[:, None, None]
    return S, value, 2 * (R - np.tensordot(S.T, R, 1))


def _factorise_curvature(factor: float, M: Array, diagonal: Array) -> Array:
    """Cholesky factor of ``factor M'M + diag``, safe where both vanish."""
    H = factor * M.T @ M
    H[np.diag_indices_from(H)] += diagonal + 1e-9 * max(float(np.trace(H)) / max(len(H), 1), _TINY)
    return cholesky(H, "curvature")


# ----------------------------------------------------------------- sdp: the completed kernels are free
#
# With C the coordinates of the observed samples of a view, every positive semidefinite kernel that keeps
# the observed block is the Gram matrix of ``[[C, 0], [Y, Z]]`` for some Y and Z.  So the rows ``[Y, Z]`` of
# missing samples are the unknowns, and nothing constrains them.


class FreeKernels:
    """sdp: views agree in their kernels, which are free but for the observed blocks."""

    def __init__(self, problem: MKCProblem) -> None:
        self.problem = problem

    def start(self) -> Point:
        """Missing samples are the mean sample, each with an orthogonal direction up to unit length."""
        rows = []
        for C, missing in zip(self.problem.C, self.problem.missing, strict=True):
            mean = C.mean(axis=0)
            remainder = np.sqrt(max(1.0 - float(mean @ mean), 0.1))
            rows.append(np.hstack([np.tile(mean, (len(missing), 1)), remainder * np.eye(len(missing))]))
        return tuple(rows)

    def coordinates(self, point: Point) -> list[Array]:
        """Coordinates of all samples in every view."""
        result = []
        for rows, C, present, missing in zip(
            point, self.problem.C, self.problem.present, self.problem.missing, strict=True
        ):
            F = np.zeros((self.problem.size, rows.shape[1]))
            F[present, : C.shape[1]], F[missing] = C, rows
            result.append(F)
        return result

    def used_samples(self, point: Point) -> Array:
        """Which samples (columns) are used in each view (rows): all that have it."""
        return self.problem.observed.T

    def evaluate(self, point: Point) -> MKCEvaluation:
        F = self.coordinates(point)
        S, value, slopes = _between_loss(self.problem, np.stack([f @ f.T for f in F]))
        gradient = tuple(
            2 * slope[missing] @ f
            for slope, missing, f in zip(slopes, self.problem.missing, F, strict=True)
        )
        return MKCEvaluation(point, value, gradient, make_lazy(lambda: self.preconditioner(F)), S, F)

    def preconditioner(self, coordinates: list[Array]) -> Callable[[Point], Point]:
        """Divide each axis by its curvature, about the summed squares of all samples along it.

        Along axes of observed samples those of missing ones are averaged: where axes are alike their
        directions are arbitrary, and must not matter.  Means are over samples, as many as there can be
        axes: how many axes there are is for rounding to say.
        """
        weights = 6 * self.problem.between_weights  # M_vv is between 1 and 2
        curvatures = []
        for weight, F, C, missing in zip(
            weights, coordinates, self.problem.C, self.problem.missing, strict=True
        ):
            axis_squares, rank = np.einsum("ij,ij->j", F, F), C.shape[1]
            mean = max(float(axis_squares.sum()) / len(F), 1e-12)
            axis_squares[:rank] = np.sum(C * C, axis=0) + np.sum(F[missing, :rank] ** 2) / len(C)
            curvatures.append(weight * (axis_squares + mean))

        def precondition(direction: Point) -> Point:
            return tuple(d / c for d, c in zip(direction, curvatures, strict=True))

        return precondition

    def proximal_step(self, at: MKCEvaluation, eta: float) -> None:
        """None: without a penalty there is nothing to shrink."""

    def locate_new(self, point: Point, S: Array, rows: NewRows) -> tuple[list[Array], Array]:
        """Coordinates and squared lengths of new samples in every view."""
        return _solve_free_rows(disagreement_matrix(S), self.coordinates(point), rows)


# --------------------------------------------------------- new samples, everything learned held fixed
#
# The objective is that of the fit with one more row, of which only the terms with the new row are kept.
# The new sample's kernel value with itself is left out of ht and app and held fixed in sdp; so every
# problem here is convex, and new samples are independent of one another.


#: Sweeps of :func:`_solve_free_rows`; all are done, so that a sample does not depend on the others given.
_MAX_SWEEPS = 30


def _coefficient_curvature(problem: MKCProblem, M: Array) -> Array:
    """Second derivatives of ht's between-view loss in a sample's coefficients, all views in a row."""
    ends = np.cumsum([0, *(len(present) for present in problem.present)])
    H = np.zeros((ends[-1], ends[-1]))
    for v, samples in enumerate(problem.present):
        for u, others in enumerate(problem.present):
            _, i, j = np.intersect1d(samples, others, return_indices=True)
            H[ends[v] + i, ends[u] + j] = 2 * problem.c2 / (problem.n_views * problem.size) * M[v, u]
    return H


def _kernel_curvature(problem: MKCProblem, M: Array, T: Sequence[Array]) -> Array:
    """Second derivatives of app's between-view loss in the coefficients b of a kernel row ``b T'``."""
    weight = 4 * problem.c2 / (problem.n_views * problem.size**2)
    return np.block(
        [[weight * M[v, u] * T_v.T @ T_u for u, T_u in enumerate(T)] for v, T_v in enumerate(T)]
    )


def _solve_rows(
    problem: MKCProblem, T: Sequence[Array], between: Array, W: Array, rows: NewRows
) -> list[Array]:
    """Coefficients of new samples, by view, where the quadratic objective in them is least.

    With a_t the kernel row about the origin and ``T = F_seen C'``, so that coefficients b give the row
    ``b T'``, the within-view loss of a new row is ``2 c1 / (V n^2) |a_t - b T'|^2`` in each view the sample
    has (a row counts as a column too).  `between` is the curvature of the between-view loss and `W` that of
    the bound of the penalty.  One linear system for all samples that have the same views.
    """
    ends = np.cumsum([0, *(len(present) for present in problem.present)])
    H = between.copy()
    H[np.diag_indices_from(H)] += np.concatenate(
        [w[present] for w, present in zip(W, problem.present, strict=True)]
    )
    H[np.diag_indices_from(H)] += 1e-9 * between.diagonal().mean()  # for c3 = 0
    within = [4 * weight * t.T @ t for weight, t in zip(problem.within_weights, T, strict=True)]
    rhs = np.hstack(
        [4 * weight * a @ t for weight, a, t in zip(problem.within_weights, rows.centered, T, strict=True)]
    )
    b = np.zeros_like(rhs)
    for pattern, samples in group_by_pattern(rows.observed):
        total = H.copy()
        for v in np.flatnonzero(pattern):
            total[ends[v] : ends[v + 1], ends[v] : ends[v + 1]] += within[v]
        b[samples] = cholesky_solve(cholesky(total, "curvature of new rows"), rhs[samples].T).T
    return np.split(b, ends[1:-1], axis=1)


def _solve_free_rows(M: Array, F: Sequence[Array], rows: NewRows) -> tuple[list[Array], Array]:
    """Coordinates and squared lengths of new samples in all views, when kernels are free.

    First a new sample's squared lengths are estimated.  Then, by block coordinate descent over the views it
    lacks, its kernel row ``F_v f`` minimises the between-view loss subject to ``|f|^2`` at most the squared
    length: every sweep lowers a convex function, and the completed kernel is positive semidefinite.
    """
    squared_norms = _fit_squared_norms(M, rows)
    f = [np.pad(C, ((0, 0), (0, F_v.shape[1] - C.shape[1]))) for C, F_v in zip(rows.C, F, strict=True)]
    spectra = [np.linalg.eigh(F_v.T @ F_v) for F_v in F]

    def sweep(f: list[Array]) -> list[Array]:
        f = list(f)
        for v, present in enumerate(rows.observed.T):
            lacking = np.flatnonzero(~present)
            others = [u for u in range(len(F)) if u != v and M[v, u] != 0]
            target = -sum((M[v, u] / M[v, v]) * (f[u][lacking] @ F[u].T) for u in others)
            if len(lacking):
                new = f[v].copy()
                new[lacking] = _minimize_in_ball(spectra[v], target @ F[v], squared_norms[lacking, v])
                f[v] = new
        return f

    def loss(f: list[Array]) -> float:
        k = np.stack([f_v @ F_v.T for f_v, F_v in zip(f, F, strict=True)])
        return float(np.vdot(k, np.tensordot(M, k, 1)))

    return iterate(sweep, loss, f, stop=StoppingRule(0), max_iter=_MAX_SWEEPS).state, squared_norms


def _fit_squared_norms(M: Array, rows: NewRows) -> Array:
    """Squared lengths, new samples x views: known ones as they are, others where views agree best.

    Differences from their mean, 1, are made to agree by ridge regression; without known ones they are 0.
    """
    squared_norms = np.where(rows.observed, rows.squared_norms, 1.0)
    for t, present in enumerate(rows.observed):
        lacking = np.flatnonzero(~present)
        H = M[np.ix_(lacking, lacking)] + 1e-6 * np.eye(len(lacking))
        squared_norms[t, lacking] -= np.linalg.solve(
            H, M[np.ix_(lacking, present)] @ (squared_norms[t, present] - 1.0)
        )
    return np.maximum(squared_norms, 0.0)


def _minimize_in_ball(spectrum: tuple[Array, Array], g: Array, max_square: Array) -> Array:
    """Rows f with ``|f|^2 <= max_square`` that make ``f F'F f' - 2 f g'`` least, by the spectrum of F'F.

    ``f = g (F'F + rho)^-1`` with the least rho >= 0 that makes it short enough, found by bisection.
    """
    values, Q = np.maximum(spectrum[0], 0.0), spectrum[1]
    g = g @ Q
    low = np.full(len(g), 1e-12 * max(float(values[-1]), 1e-300))
    length = np.linalg.norm(g, axis=1)
    high = np.maximum(
        length / np.sqrt(np.maximum(max_square, 1e-300)), low
    )  # long enough: |f| <= |g| / rho
    for _ in range(60):
        rho = np.sqrt(low * high)
        short = np.sum((g / (values + rho[:, None])) ** 2, axis=1) <= max_square
        low, high = np.where(short, low, rho), np.where(short, rho, high)
    return (g / (values + high[:, None])) @ Q.T
