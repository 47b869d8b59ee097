"""The variants ht and app: a sample is a combination of the samples that have the view.

``B`` (views x samples x samples) holds the coefficients; columns of samples that lack the view are zero.
Coordinates are ``F_v = B_v C_v`` and the kernel ``F_v F_v'``.  Where a column b_0 of B_v is not zero, the
penalty ``lam |b|`` has gradient ``w b_0`` there with ``w = lam / |b_0|``, and is at most ``w/2 |b|^2`` plus
a constant, with equality at b_0.  The closed form, the preconditioner and new samples use that bound.
"""

from collections.abc import Callable

import numpy as np

from absentia.core import Array, Point, by_pattern, cholesky, cholesky_solve, serializable
from absentia.methods.completion.mkc._problem import (
    Local,
    MKCProblem,
    Rows,
    agreement,
    best_weights,
    coefficient_curvature,
    combine_rows,
    free_rows,
    kernel_curvature,
    lazily,
)

#: Ridge of the first combinations, in units of the mean squared length of the coordinates.
START = 0.1
#: Floor under column norms where they divide.
TINY = 1e-12


def column_norms(B: Array) -> Array:
    return np.sqrt(np.einsum("vtc,vtc->vc", B, B))


def penalty_weights(problem: MKCProblem, norms: Array) -> Array:
    """``w = lam / |b|`` of every column, lam = c3 / V."""
    return np.asarray(problem.c3 / problem.n_views / np.maximum(norms, TINY))


def fit_missing_rows(problem: MKCProblem, B: Array, S: Array) -> Array:
    """`B` with the rows of missing samples where between-view loss and (bounded) penalty are least.

    The loss takes entry (t, c) of all views together, ``a' M a``.  So for the samples that lack the same
    views, and each column c, it is one small linear system in the views that lack t and have c.
    """
    share = 2 * problem.c2 / (problem.n_views * problem.size)
    M, W = share * agreement(S), penalty_weights(problem, column_norms(B))
    B = B.copy()
    for pattern, t in by_pattern(problem.observed):
        lacking, having = np.flatnonzero(~pattern), np.flatnonzero(pattern)
        if not len(lacking):
            continue
        there = problem.observed[:, lacking]
        H = M[np.ix_(lacking, lacking)] * (there[:, :, None] & there[:, None, :])
        i = np.arange(len(lacking))
        H[:, i, i] = np.where(there, H[:, i, i] + W[lacking].T, 1.0)
        right = -np.einsum("vu,utc->cvt", M[np.ix_(lacking, having)], B[np.ix_(having, t)])
        B[np.ix_(lacking, t)] = np.linalg.solve(H, right * there[:, :, None]).transpose(1, 2, 0)
    return B


class Combining:
    """What ht and app share."""

    def __init__(self, problem: MKCProblem) -> None:
        self.problem = problem

    def start(self) -> Point:
        """Ridge regression of each sample on all that have the view; the others' rows agreed upon."""
        problem = self.problem
        B = np.zeros((problem.n_views, problem.size, problem.size))
        for v, (C, seen) in enumerate(zip(problem.C, problem.seen, strict=True)):
            B[v][np.ix_(seen, seen)] = (C / (np.sum(C * C, axis=0) + START)) @ C.T
        return (fit_missing_rows(problem, B, problem.uniform()),)

    def coordinates(self, point: Point) -> list[Array]:
        """Coordinates of all samples in every view."""
        parts = zip(point[0], self.problem.C, self.problem.seen, strict=True)
        return [B[:, seen] @ C for B, C, seen in parts]

    def basis(self, point: Point) -> Array:
        """Which samples (columns) are used in each view (rows)."""
        return np.asarray(column_norms(point[0]) > 0)

    def shrunk(self, at: Local, eta: float) -> Point:
        """A proximal step of length `eta`: along the smooth gradient, then columns shrink or vanish."""
        (B,), (G,) = at.point, at.gradient
        norms = column_norms(B)
        smooth = G - np.where(norms > 0, penalty_weights(self.problem, norms), 0.0)[:, None, :] * B
        moved = B - eta * smooth
        norms = column_norms(moved)
        lam = eta * self.problem.c3 / self.problem.n_views
        return (moved * np.maximum(1 - lam / np.maximum(norms, TINY), 0.0)[:, None, :],)

    def fold(self, point: Point, S: Array, rows: Rows) -> tuple[list[Array], Array]:
        """Coordinates and squared lengths of new samples in every view."""
        problem, F = self.problem, self.coordinates(point)
        W = penalty_weights(problem, column_norms(point[0]))
        T = [f[seen] @ C.T for f, seen, C in zip(F, problem.seen, problem.C, strict=True)]
        b = combine_rows(problem, T, self._between_curvature(agreement(S), F), W, rows)
        y = [part @ C for part, C in zip(b, problem.C, strict=True)]
        return y, np.stack([np.einsum("ij,ij->i", part, part) for part in y], axis=1)

    def _between_curvature(self, M: Array, F: list[Array]) -> Array:
        raise NotImplementedError

    def _with_penalty(self, B: Array, value: float, G: Array) -> tuple[float, Array]:
        norms = column_norms(B)
        weights = np.where(norms > 0, penalty_weights(self.problem, norms), 0.0)
        penalty = self.problem.c3 / self.problem.n_views * float(norms.sum())
        return value + penalty, G + weights[:, None, :] * B


@serializable
class Heterogeneous(Combining):
    """ht: views agree in the *coefficients* of a sample."""

    def evaluate(self, point: Point) -> Local:
        problem, (B,) = self.problem, point
        share = problem.c2 / (problem.n_views * problem.size)
        S = best_weights(B)
        R = B - np.tensordot(S, B, 1)
        value = share * float(np.vdot(R, R))
        G = 2 * share * (R - np.tensordot(S.T, R, 1)) * problem.observed.T[:, None, :]
        features = []
        for v, (C, K, seen) in enumerate(zip(problem.C, problem.K, problem.seen, strict=True)):
            block = np.ix_(seen, seen)
            F = B[v][block] @ C
            E = F @ F.T - K
            value += problem.shares[v] * float(np.vdot(E, E))
            G[v][block] += 4 * problem.shares[v] * (E @ F) @ C.T
            features.append(F)
        value, G = self._with_penalty(B, value, G)
        return Local(point, value, (G,), lazily(lambda: self.divider(B, features)), S, features)

    def divider(self, B: Array, features: list[Array]) -> Callable[[Point], Point]:
        """Divide by the curvature: of the within-view loss in the observed rows, the rest diagonal."""
        problem = self.problem
        W = penalty_weights(problem, column_norms(B))
        W += 3 * problem.c2 / (problem.n_views * problem.size)  # M_vv is between 1 and 2
        factors = [
            _curvature(4 * problem.shares[v], F @ C.T, W[v, seen])
            for v, (F, C, seen) in enumerate(zip(features, problem.C, problem.seen, strict=True))
        ]
        alive = column_norms(B) > 0

        def divide(direction: Point) -> Point:
            (D,) = direction
            result = D / W[:, None, :]
            for v, (L, seen) in enumerate(zip(factors, problem.seen, strict=True)):
                block = np.ix_(seen, seen)
                result[v][block] = cholesky_solve(L, D[v][block].T).T
            return (result * alive[:, None, :],)

        return divide

    def _between_curvature(self, M: Array, F: list[Array]) -> Array:
        return coefficient_curvature(self.problem, M)


@serializable
class Approximate(Combining):
    """app: views agree in the *kernels* that the coefficients give."""

    def evaluate(self, point: Point) -> Local:
        problem, (B,) = self.problem, point
        F = self.coordinates(point)
        kernels = np.stack([f @ f.T for f in F])
        S, value, slopes = between_kernels(problem, kernels)
        G = np.zeros_like(B)
        for v, (C, K, seen) in enumerate(zip(problem.C, problem.K, problem.seen, strict=True)):
            block = np.ix_(seen, seen)
            E = kernels[v][block] - K
            value += problem.shares[v] * float(np.vdot(E, E))
            slopes[v][block] += 2 * problem.shares[v] * E
            G[v][:, seen] = 2 * (slopes[v] @ F[v]) @ C.T
        value, G = self._with_penalty(B, value, G)
        return Local(point, value, (G,), lazily(lambda: self.divider(B, F)), S, F)

    def divider(self, B: Array, features: list[Array]) -> Callable[[Point], Point]:
        """Divide by the curvature of both losses, taken as if each kernel entry had one factor to move."""
        problem = self.problem
        norms = column_norms(B)
        W = penalty_weights(problem, norms)
        curvature = 8 * (problem.shares + 1.5 * problem.between_shares)  # M_vv is between 1 and 2
        factors = [
            _curvature(curvature[v], F @ C.T, W[v, seen])
            for v, (F, C, seen) in enumerate(zip(features, problem.C, problem.seen, strict=True))
        ]

        def divide(direction: Point) -> Point:
            (D,) = direction
            result = np.zeros_like(D)
            for v, (L, seen) in enumerate(zip(factors, problem.seen, strict=True)):
                result[v][:, seen] = cholesky_solve(L, D[v][:, seen].T).T
            return (result * (norms > 0)[:, None, :],)

        return divide

    def _between_curvature(self, M: Array, F: list[Array]) -> Array:
        return kernel_curvature(self.problem, M, [f @ C.T for f, C in zip(F, self.problem.C, strict=True)])


def between_kernels(problem: MKCProblem, kernels: Array) -> tuple[Array, float, Array]:
    """Best view weights, the between-view loss of `kernels`, and its gradient in them."""
    S = best_weights(kernels, None if problem.everywhere else problem.shared_samples)
    R = kernels - np.tensordot(S, kernels, 1)
    if not problem.everywhere:
        R *= np.einsum("iv,jv->vij", problem.observed, problem.observed)
    R *= np.sqrt(problem.between_shares)[:, None, None]
    value = float(np.vdot(R, R))
    R *= np.sqrt(problem.between_shares)[:, None, None]
    return S, value, 2 * (R - np.tensordot(S.T, R, 1))


def _curvature(factor: float, M: Array, diagonal: Array) -> Array:
    """Cholesky factor of ``factor M'M + diag``, safe where both vanish."""
    H = factor * M.T @ M
    H[np.diag_indices_from(H)] += diagonal + 1e-9 * max(float(np.trace(H)) / max(len(H), 1), TINY)
    return cholesky(H, "curvature")


# ------------------- The variant sdp: the completed kernels are free, but for being positive semidefinite
#
# With C the coordinates of the observed samples of a view, every positive semidefinite kernel that keeps
# the observed block is the Gram matrix of ``[[C, 0], [Y, Z]]`` for some Y and Z.  So the rows ``[Y, Z]`` of
# missing samples are the unknowns, and nothing constrains them.


@serializable
class Free:
    """sdp: views agree in their kernels, and nothing else is asked of those."""

    def __init__(self, problem: MKCProblem) -> None:
        self.problem = problem

    def start(self) -> Point:
        """Missing samples are the mean sample, each with a direction of its own up to unit length."""
        rows = []
        for C, hidden in zip(self.problem.C, self.problem.hidden, strict=True):
            middle = C.mean(axis=0)
            apart = np.sqrt(max(1.0 - float(middle @ middle), 0.1))
            rows.append(np.hstack([np.tile(middle, (len(hidden), 1)), apart * np.eye(len(hidden))]))
        return tuple(rows)

    def coordinates(self, point: Point) -> list[Array]:
        """Coordinates of all samples in every view."""
        result = []
        for rows, C, seen, hidden in zip(
            point, self.problem.C, self.problem.seen, self.problem.hidden, strict=True
        ):
            F = np.zeros((self.problem.size, rows.shape[1]))
            F[seen, : C.shape[1]], F[hidden] = C, rows
            result.append(F)
        return result

    def basis(self, point: Point) -> Array:
        """Which samples (columns) are used in each view (rows): all that have it."""
        return np.asarray(self.problem.observed.T)

    def evaluate(self, point: Point) -> Local:
        F = self.coordinates(point)
        S, value, slopes = between_kernels(self.problem, np.stack([f @ f.T for f in F]))
        gradient = tuple(
            2 * slope[hidden] @ f for slope, hidden, f in zip(slopes, self.problem.hidden, F, strict=True)
        )
        return Local(point, value, gradient, lazily(lambda: self.divider(F)), S, F)

    def divider(self, coordinates: list[Array]) -> Callable[[Point], Point]:
        """Divide each axis by its curvature, about the summed squares of all samples along it.

        Along axes of observed samples those of missing ones are averaged: where axes are alike their
        directions are arbitrary, and must not matter.  Means are over samples, as many as there can be
        axes: how many axes there are is for rounding to say.
        """
        shares = 6 * self.problem.between_shares  # M_vv is between 1 and 2
        curvatures = []
        for share, F, C, hidden in zip(
            shares, coordinates, self.problem.C, self.problem.hidden, strict=True
        ):
            along, rank = np.einsum("ij,ij->j", F, F), C.shape[1]
            mean = max(float(along.sum()) / len(F), 1e-12)
            along[:rank] = np.sum(C * C, axis=0) + np.sum(F[hidden, :rank] ** 2) / len(C)
            curvatures.append(share * (along + mean))

        def divide(direction: Point) -> Point:
            return tuple(d / c for d, c in zip(direction, curvatures, strict=True))

        return divide

    def shrunk(self, at: Local, eta: float) -> None:
        """There is no penalty to shrink."""

    def fold(self, point: Point, S: Array, rows: Rows) -> tuple[list[Array], Array]:
        """Coordinates and squared lengths of new samples in every view."""
        return free_rows(agreement(S), self.coordinates(point), rows)
