"""The variants ht, app and sdp: their objectives, and where they put new samples.

In ht and app a sample is a combination of the samples that have the view.

``B`` (views x samples x samples) holds the coefficients; columns of samples that lack the view are zero.
Coordinates are ``F_v = B_v C_v`` and the kernel ``F_v F_v'``.  Where a column b_0 of B_v is not zero, the
penalty ``lam |b|`` has gradient ``w b_0`` there with ``w = lam / |b_0|``, and is at most ``w/2 |b|^2`` plus
a constant, with equality at b_0.  The closed form, the preconditioner and new samples use that bound.
"""

from collections.abc import Callable, Sequence

import numpy as np

from absentia.core import Array
from absentia.core.linalg import cholesky, cholesky_solve, group_by_pattern
from absentia.core.optimize import Point, StoppingRule, iterate
from absentia.methods.completion.mkc._problem import (
    Local,
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
    share = 2 * problem.c2 / (problem.n_views * problem.size)
    M, W = share * disagreement_matrix(S), _penalty_weights(problem, _column_norms(B))
    B = B.copy()
    for pattern, t in group_by_pattern(problem.observed):
        lacking, having = np.flatnonzero(~pattern), np.flatnonzero(pattern)
        if not len(lacking):
            continue
        present = problem.observed[:, lacking]
        H = M[np.ix_(lacking, lacking)] * (present[:, :, None] & present[:, None, :])
        i = np.arange(len(lacking))
        H[:, i, i] = np.where(present, H[:, i, i] + W[lacking].T, 1.0)
        right = -np.einsum("vu,utc->cvt", M[np.ix_(lacking, having)], B[np.ix_(having, t)])
        B[np.ix_(lacking, t)] = np.linalg.solve(H, right * present[:, :, None]).transpose(1, 2, 0)
    return B


class _Combination:
    """What ht and app share: samples are combinations of those that have the view."""

    def __init__(self, problem: MKCProblem) -> None:
        self.problem = problem

    def start(self) -> Point:
        """Ridge regression of each sample on all that have the view; the others' rows agreed upon."""
        problem = self.problem
        B = np.zeros((problem.n_views, problem.size, problem.size))
        for v, (C, visible) in enumerate(zip(problem.C, problem.visible, strict=True)):
            B[v][np.ix_(visible, visible)] = (C / (np.sum(C * C, axis=0) + _START_RIDGE)) @ C.T
        return (_fit_missing_rows(problem, B, problem.uniform()),)

    def coordinates(self, point: Point) -> list[Array]:
        """Coordinates of all samples in every view."""
        parts = zip(point[0], self.problem.C, self.problem.visible, strict=True)
        return [B[:, visible] @ C for B, C, visible in parts]

    def used_samples(self, point: Point) -> Array:
        """Which samples (columns) are used in each view (rows)."""
        return _column_norms(point[0]) > 0

    def proximal_step(self, at: Local, eta: float) -> Point:
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
        T = [f[visible] @ C.T for f, visible, C in zip(F, problem.visible, problem.C, strict=True)]
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
        """Solve in `rows` of each view with ``curvature (F C')' (F C')``, the penalty's and `diagonal`.

        Other rows are divided by the latter two; columns that vanished stay where they are.
        """
        problem, norms = self.problem, _column_norms(B)
        W = _penalty_weights(problem, norms) + diagonal
        factors = [
            _factorise_curvature(curvature[v], F @ C.T, W[v, visible])
            for v, (F, C, visible) in enumerate(zip(features, problem.C, problem.visible, strict=True))
        ]

        def precondition(direction: Point) -> Point:
            (D,) = direction
            result = D / np.maximum(W, _TINY)[:, None, :]
            for v, (L, visible) in enumerate(zip(factors, problem.visible, strict=True)):
                block = np.ix_(rows[v], visible)
                result[v][block] = cholesky_solve(L, D[v][block].T).T
            return (result * (norms > 0)[:, None, :],)

        return precondition

    def _with_penalty(self, B: Array, value: float, G: Array) -> tuple[float, Array]:
        norms = _column_norms(B)
        weights = np.where(norms > 0, _penalty_weights(self.problem, norms), 0.0)
        penalty = self.problem.c3 / self.problem.n_views * float(norms.sum())
        return value + penalty, G + weights[:, None, :] * B


class Heterogeneous(_Combination):
    """ht: views agree in the *coefficients* of a sample."""

    def evaluate(self, point: Point) -> Local:
        problem, (B,) = self.problem, point
        share = problem.c2 / (problem.n_views * problem.size)
        S = fit_view_weights(B)
        R = B - np.tensordot(S, B, 1)
        value = share * float(np.vdot(R, R))
        G = 2 * share * (R - np.tensordot(S.T, R, 1)) * problem.observed.T[:, None, :]
        features = []
        for v, (C, K, visible) in enumerate(zip(problem.C, problem.K, problem.visible, strict=True)):
            block = np.ix_(visible, visible)
            F = B[v][block] @ C
            E = F @ F.T - K
            value += problem.shares[v] * float(np.vdot(E, E))
            G[v][block] += 4 * problem.shares[v] * (E @ F) @ C.T
            features.append(F)
        value, G = self._with_penalty(B, value, G)
        return Local(point, value, (G,), make_lazy(lambda: self.preconditioner(B, features)), S, features)

    def preconditioner(self, B: Array, features: list[Array]) -> Callable[[Point], Point]:
        """Divide by the curvature: of the within-view loss in the observed rows, the rest diagonal."""
        problem = self.problem
        between = 3 * problem.c2 / (problem.n_views * problem.size)  # M_vv is between 1 and 2
        return self._divide_by_curvature(B, features, 4 * problem.shares, problem.visible, between)

    def _between_curvature(self, M: Array, F: list[Array]) -> Array:
        return _coefficient_curvature(self.problem, M)


class Approximate(_Combination):
    """app: views agree in the *kernels* that the coefficients give."""

    def evaluate(self, point: Point) -> Local:
        problem, (B,) = self.problem, point
        F = self.coordinates(point)
        kernels = np.stack([f @ f.T for f in F])
        S, value, slopes = _between_loss(problem, kernels)
        G = np.zeros_like(B)
        for v, (C, K, visible) in enumerate(zip(problem.C, problem.K, problem.visible, strict=True)):
            block = np.ix_(visible, visible)
            E = kernels[v][block] - K
            value += problem.shares[v] * float(np.vdot(E, E))
            slopes[v][block] += 2 * problem.shares[v] * E
            G[v][:, visible] = 2 * (slopes[v] @ F[v]) @ C.T
        value, G = self._with_penalty(B, value, G)
        return Local(point, value, (G,), make_lazy(lambda: self.preconditioner(B, F)), S, F)

    def preconditioner(self, B: Array, features: list[Array]) -> Callable[[Point], Point]:
        """Divide by the curvature of both losses, taken as if each kernel entry had one factor to move."""
        problem = self.problem
        curvature = 8 * (problem.shares + 1.5 * problem.between_shares)  # M_vv is between 1 and 2
        everyone = [np.arange(problem.size)] * problem.n_views
        return self._divide_by_curvature(B, features, curvature, everyone)

    def _between_curvature(self, M: Array, F: list[Array]) -> Array:
        return _kernel_curvature(self.problem, M, [f @ C.T for f, C in zip(F, self.problem.C, strict=True)])


def _between_loss(problem: MKCProblem, kernels: Array) -> tuple[Array, float, Array]:
    """Best view weights, the between-view loss of `kernels`, and its gradient in them."""
    S = fit_view_weights(kernels, None if problem.on_all_samples else problem.shared_samples)
    R = kernels - np.tensordot(S, kernels, 1)
    if not problem.on_all_samples:
        R *= np.einsum("iv,jv->vij", problem.observed, problem.observed)
    R *= np.sqrt(problem.between_shares)[:, None, None]
    value = float(np.vdot(R, R))
    R *= np.sqrt(problem.between_shares)[:, None, None]
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


class Free:
    """sdp: views agree in their kernels, and nothing else is asked of those."""

    def __init__(self, problem: MKCProblem) -> None:
        self.problem = problem

    def start(self) -> Point:
        """Missing samples are the mean sample, each with an orthogonal direction up to unit length."""
        rows = []
        for C, hidden in zip(self.problem.C, self.problem.hidden, strict=True):
            mean = C.mean(axis=0)
            remainder = np.sqrt(max(1.0 - float(mean @ mean), 0.1))
            rows.append(np.hstack([np.tile(mean, (len(hidden), 1)), remainder * np.eye(len(hidden))]))
        return tuple(rows)

    def coordinates(self, point: Point) -> list[Array]:
        """Coordinates of all samples in every view."""
        result = []
        for rows, C, visible, hidden in zip(
            point, self.problem.C, self.problem.visible, self.problem.hidden, strict=True
        ):
            F = np.zeros((self.problem.size, rows.shape[1]))
            F[visible, : C.shape[1]], F[hidden] = C, rows
            result.append(F)
        return result

    def used_samples(self, point: Point) -> Array:
        """Which samples (columns) are used in each view (rows): all that have it."""
        return self.problem.observed.T

    def evaluate(self, point: Point) -> Local:
        F = self.coordinates(point)
        S, value, slopes = _between_loss(self.problem, np.stack([f @ f.T for f in F]))
        gradient = tuple(
            2 * slope[hidden] @ f for slope, hidden, f in zip(slopes, self.problem.hidden, F, strict=True)
        )
        return Local(point, value, gradient, make_lazy(lambda: self.preconditioner(F)), S, F)

    def preconditioner(self, coordinates: list[Array]) -> Callable[[Point], Point]:
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

        def precondition(direction: Point) -> Point:
            return tuple(d / c for d, c in zip(direction, curvatures, strict=True))

        return precondition

    def proximal_step(self, at: Local, eta: float) -> None:
        """There is no penalty to shrink."""

    def locate_new(self, point: Point, S: Array, rows: NewRows) -> tuple[list[Array], Array]:
        """Coordinates and squared lengths of new samples in every view."""
        return _solve_free_rows(disagreement_matrix(S), self.coordinates(point), rows)


# --------------------------------------------------------- new samples, everything learned held fixed
#
# The objective is that of the fit with one more row, of which only what depends on the new row counts.  The
# new sample's kernel value with itself, one entry among hundreds, is left out of ht and app and held fixed
# in sdp; so every problem here is convex, and each new sample is on its own.


#: Rounds of :func:`_solve_free_rows`; a fixed number, so that a sample does not depend on its companions.
_FREE_ROUNDS = 30


def _coefficient_curvature(problem: MKCProblem, M: Array) -> Array:
    """Second derivatives of ht's between-view loss in a sample's coefficients, all views in a row."""
    ends = np.cumsum([0, *(len(visible) for visible in problem.visible)])
    H = np.zeros((ends[-1], ends[-1]))
    for v, samples in enumerate(problem.visible):
        for u, others in enumerate(problem.visible):
            _, i, j = np.intersect1d(samples, others, return_indices=True)
            H[ends[v] + i, ends[u] + j] = 2 * problem.c2 / (problem.n_views * problem.size) * M[v, u]
    return H


def _kernel_curvature(problem: MKCProblem, M: Array, T: Sequence[Array]) -> Array:
    """The same for app: a sample's kernel row is ``b T'``, and every entry counts on both sides."""
    share = 4 * problem.c2 / (problem.n_views * problem.size**2)
    return np.block([[share * M[v, u] * T_v.T @ T_u for u, T_u in enumerate(T)] for v, T_v in enumerate(T)])


def _solve_rows(
    problem: MKCProblem, T: Sequence[Array], between: Array, W: Array, rows: NewRows
) -> list[Array]:
    """Coefficients of new samples, by view, where the quadratic objective in them is least.

    With a_t the kernel row about the origin and ``T = F_seen C'``, so that coefficients b give the row
    ``b T'``, the within-view loss of a new row is ``2 c1 / (V n^2) |a_t - b T'|^2`` in each view the sample
    has (a row counts as a column too).  `between` is the curvature of the between-view loss and `W` that of
    the bound of the penalty.  One linear system for all samples that have the same views.
    """
    ends = np.cumsum([0, *(len(visible) for visible in problem.visible)])
    H = between.copy()
    H[np.diag_indices_from(H)] += np.concatenate(
        [w[visible] for w, visible in zip(W, problem.visible, strict=True)]
    )
    H[np.diag_indices_from(H)] += 1e-9 * between.diagonal().mean()  # for c3 = 0
    within = [4 * share * t.T @ t for share, t in zip(problem.shares, T, strict=True)]
    right = np.hstack(
        [4 * share * a @ t for share, a, t in zip(problem.shares, rows.centered, T, strict=True)]
    )
    b = np.zeros_like(right)
    for pattern, samples in group_by_pattern(rows.observed):
        total = H.copy()
        for v in np.flatnonzero(pattern):
            total[ends[v] : ends[v + 1], ends[v] : ends[v + 1]] += within[v]
        b[samples] = cholesky_solve(cholesky(total, "curvature of new rows"), right[samples].T).T
    return np.split(b, ends[1:-1], axis=1)


def _solve_free_rows(M: Array, F: Sequence[Array], rows: NewRows) -> tuple[list[Array], Array]:
    """Coordinates and squared lengths of new samples in all views, when kernels are free.

    First a new sample's squared lengths are made to agree.  Then, view by view and round after round, its
    kernel row ``F_v f`` in each view it lacks is brought where the between-view loss is least, f being no
    longer than that allows: every round lowers a convex function, and what comes out is positive
    semidefinite.
    """
    square = _agree_squared_norms(M, rows)
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
                new[lacking] = _minimize_in_ball(spectra[v], target @ F[v], square[lacking, v])
                f[v] = new
        return f

    def loss(f: list[Array]) -> float:
        k = np.stack([f_v @ F_v.T for f_v, F_v in zip(f, F, strict=True)])
        return float(np.vdot(k, np.tensordot(M, k, 1)))

    return iterate(sweep, loss, f, stop=StoppingRule(0), max_iter=_FREE_ROUNDS).state, square


def _agree_squared_norms(M: Array, rows: NewRows) -> Array:
    """Squared lengths in all views: known ones as they are, the others where they agree best.

    Departures from the mean, one, are what is to agree; where nothing ties them down they are zero.
    """
    square = np.where(rows.observed, rows.square, 1.0)
    for t, present in enumerate(rows.observed):
        lacking = np.flatnonzero(~present)
        H = M[np.ix_(lacking, lacking)] + 1e-6 * np.eye(len(lacking))
        square[t, lacking] -= np.linalg.solve(H, M[np.ix_(lacking, present)] @ (square[t, present] - 1.0))
    return np.maximum(square, 0.0)


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
