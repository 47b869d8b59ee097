"""New samples in a fitted multi-view kernel completion, everything learned held fixed.

The objective is that of the fit with one more row, of which only what depends on the new row counts.  The
new sample's kernel value with itself, one entry among hundreds, is left out of ht and app and held fixed
in sdp; so every problem here is convex, and each new sample is on its own.
"""

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np

from absentia.core import Array, Stop, by_pattern, cholesky, cholesky_solve, iterate
from absentia.methods.completion.mkc._problem import Problem

#: Rounds of :func:`free_rows`; a fixed number, so that a sample does not depend on its companions.
ROUNDS = 30


@dataclass(frozen=True)
class Rows:
    """New samples: which views they have, and there their kernel rows and coordinates (zero elsewhere)."""

    observed: Array  # new samples x views
    about: Sequence[Array]  # kernel values with the samples of each view, about its origin, unit scale
    C: Sequence[Array]  # coordinates
    square: Array  # new samples x views: squared lengths

    def __len__(self) -> int:
        return len(self.observed)


# ----------------------------------------------------------------------------------------- ht and app


def coefficient_curvature(problem: Problem, M: Array) -> Array:
    """Second derivatives of ht's between-view loss in a sample's coefficients, all views in a row."""
    ends = np.cumsum([0, *(len(seen) for seen in problem.seen)])
    H = np.zeros((ends[-1], ends[-1]))
    for v, one in enumerate(problem.seen):
        for u, other in enumerate(problem.seen):
            _, i, j = np.intersect1d(one, other, return_indices=True)
            H[ends[v] + i, ends[u] + j] = 2 * problem.c2 / (problem.n_views * problem.size) * M[v, u]
    return H


def kernel_curvature(problem: Problem, M: Array, T: Sequence[Array]) -> Array:
    """The same for app: a sample's kernel row is ``b T'``, and every entry counts on both sides."""
    share = 4 * problem.c2 / (problem.n_views * problem.size**2)
    return np.block(
        [[share * M[v, u] * one.T @ other for u, other in enumerate(T)] for v, one in enumerate(T)]
    )


def combine_rows(problem: Problem, T: Sequence[Array], between: Array, W: Array, rows: Rows) -> list[Array]:
    """Coefficients of new samples, by view, where the quadratic objective in them is least.

    With a_t the kernel row about the origin and ``T = F_seen C'``, so that coefficients b give the row
    ``b T'``, the within-view loss of a new row is ``2 c1 / (V n^2) |a_t - b T'|^2`` in each view the sample
    has (a row counts as a column too).  `between` is the curvature of the between-view loss and `W` that of
    the bound of the penalty.  One linear system for all samples that have the same views.
    """
    ends = np.cumsum([0, *(len(seen) for seen in problem.seen)])
    H = between.copy()
    H[np.diag_indices_from(H)] += np.concatenate([w[seen] for w, seen in zip(W, problem.seen, strict=True)])
    H[np.diag_indices_from(H)] += 1e-9 * between.diagonal().mean()  # for c3 = 0
    within = [4 * share * t.T @ t for share, t in zip(problem.shares, T, strict=True)]
    right = np.hstack(
        [4 * share * a @ t for share, a, t in zip(problem.shares, rows.about, T, strict=True)]
    )
    b = np.zeros_like(right)
    for pattern, mine in by_pattern(rows.observed):
        total = H.copy()
        for v in np.flatnonzero(pattern):
            total[ends[v] : ends[v + 1], ends[v] : ends[v + 1]] += within[v]
        b[mine] = cholesky_solve(cholesky(total, "curvature of new rows"), right[mine].T).T
    return np.split(b, ends[1:-1], axis=1)


# ----------------------------------------------------------------------------------------------- sdp


def free_rows(M: Array, F: Sequence[Array], rows: Rows) -> tuple[list[Array], Array]:
    """Coordinates and squared lengths of new samples in all views, when kernels are free.

    A new sample's own values agree with one another first.  Then, view by view and round after round, its
    kernel row ``F_v f`` in each view it lacks is brought where the between-view loss is least, f being no
    longer than the own value allows: every round lowers a convex function, and what comes out is positive
    semidefinite.
    """
    square = agreed_squares(M, rows)
    f = [np.pad(C, ((0, 0), (0, one.shape[1] - C.shape[1]))) for C, one in zip(rows.C, F, strict=True)]
    spectra = [np.linalg.eigh(one.T @ one) for one in F]

    def sweep(f: list[Array]) -> list[Array]:
        f = list(f)
        for v, present in enumerate(rows.observed.T):
            lacking = np.flatnonzero(~present)
            others = [u for u in range(len(F)) if u != v and M[v, u] != 0]
            target = -sum((M[v, u] / M[v, v]) * (f[u][lacking] @ F[u].T) for u in others)
            if len(lacking):
                new = f[v].copy()
                new[lacking] = within_ball(spectra[v], target @ F[v], square[lacking, v])
                f[v] = new
        return f

    def loss(f: list[Array]) -> float:
        k = np.stack([row @ one.T for row, one in zip(f, F, strict=True)])
        return float(np.vdot(k, np.tensordot(M, k, 1)))

    return iterate(sweep, loss, f, stop=Stop(0), max_iter=ROUNDS).state, square


def agreed_squares(M: Array, rows: Rows) -> Array:
    """Squared lengths in all views: known ones as they are, the others where they agree best.

    Departures from the mean, one, are what is to agree; where nothing ties them down they are nought.
    """
    square = np.where(rows.observed, rows.square, 1.0)
    for t, present in enumerate(rows.observed):
        lacking = np.flatnonzero(~present)
        H = M[np.ix_(lacking, lacking)] + 1e-6 * np.eye(len(lacking))
        square[t, lacking] -= np.linalg.solve(H, M[np.ix_(lacking, present)] @ (square[t, present] - 1.0))
    return np.maximum(square, 0.0)


def within_ball(spectrum: tuple[Array, Array], g: Array, most: Array) -> Array:
    """Rows f that make ``f F'F f' - 2 f g'`` least with ``|f|^2 <= most``; `spectrum` is that of F'F.

    ``f = g (F'F + rho)^-1`` with the least rho >= 0 that makes it short enough, found by bisection.
    """
    values, Q = np.maximum(spectrum[0], 0.0), spectrum[1]
    g = g @ Q
    low = np.full(len(g), 1e-12 * max(float(values[-1]), 1e-300))
    length = np.linalg.norm(g, axis=1)
    high = np.maximum(length / np.sqrt(np.maximum(most, 1e-300)), low)  # long enough: |f| <= |g| / rho
    for _ in range(60):
        rho = np.sqrt(low * high)
        short = np.sum((g / (values + rho[:, None])) ** 2, axis=1) <= most
        low, high = np.where(short, low, rho), np.where(short, rho, high)
    return np.asarray((g / (values + high[:, None])) @ Q.T)
