"""Parameter-expanded EM on visible data, what squared extrapolation accelerates; to compare with.

The factors' covariance is freed and folded back into W (Liu, Rubin & Wu 1998), by the symmetric square
root, so that successive iterates are not rotated against each other.
"""

from __future__ import annotations

import numpy as np

from absentia.core._descent import Evaluated, Point
from absentia.core._linalg import thin_gram
from absentia.core._operators import project
from absentia.methods.completion.mkmc._fast import Noise, Problem, moments


def evaluate(problem: Problem, noise: Noise, point: Point) -> Evaluated:
    """Penalised objective at (W, log d), and the parameter-expanded EM update."""
    W, log_d = point
    d = np.broadcast_to(np.exp(log_d), problem.size)
    F, I = W / d[:, None], np.eye(W.shape[1])  # noqa: E741
    parts = np.stack([thin_gram(W[rows], F[rows]) for rows in problem.rows])
    prior = moments(I + parts.sum(axis=0), thin_gram(F, F))
    num = problem.eps * F @ prior.C_inverse
    A = np.broadcast_to(problem.eps * prior.E, parts.shape).copy()
    E_total, value = problem.eps * prior.E, problem.eps * prior.value
    for k, view in enumerate(problem.views):
        sees = problem.patterns[:, k]
        seen = project(view.Q, F, view.v)
        found = moments(I + parts[sees].sum(axis=0), seen.inner, view.weight)
        seen.add(num, view.v, found.C_inverse)
        A[sees] += found.E
        E_total, value = E_total + found.E, value + found.value
    value += float((problem.weight * log_d).sum() + (problem.total_diagonal / d).sum())
    values, vectors = np.linalg.eigh(E_total / (problem.n_views + problem.eps))
    root = (vectors * np.sqrt(values)) @ vectors.T
    residual = problem.total_diagonal.copy()
    for rows, A_pattern in zip(problem.rows, A, strict=True):
        W_rows = np.linalg.solve(A_pattern, num[rows].T).T
        residual[rows] -= np.einsum("ij,ij->i", W_rows, num[rows])
        num[rows] = W_rows @ root
    d = noise.gather(residual) / noise.gather(problem.weight)
    return Evaluated(point, value / 2, (num, np.log(np.maximum(d, problem.floor))))
