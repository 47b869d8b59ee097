"""Parameter-expanded EM on visible data, what squared extrapolation accelerates; to compare with.

The factors' covariance is freed and folded back into W (Liu, Rubin & Wu 1998), by the symmetric square
root, so that successive iterates are not rotated against each other.
"""

from __future__ import annotations

import numpy as np

from absentia.core._operators import project
from absentia.core.linalg import thin_gram
from absentia.core.optimize import Point, UpdateEvaluation
from absentia.methods.completion.mkmc._low_rank import Noise, VisibleProblem, factor_moments


def evaluate(problem: VisibleProblem, noise: Noise, point: Point) -> UpdateEvaluation:
    """Penalised objective at (W, log d), and the parameter-expanded EM update."""
    W, log_d = point
    d = np.broadcast_to(np.exp(log_d), problem.size)
    F, I = W / d[:, None], np.eye(W.shape[1])  # noqa: E741
    grams, total = problem.visibility.grams(W, F)
    prior = factor_moments(I + total, thin_gram(F, F))
    num, E, value = problem.eps * F @ prior.C_inverse, np.empty_like(grams), problem.eps * prior.value
    for k, view in enumerate(problem.views):
        seen = project(view.Q, F, view.v)
        found = factor_moments(I + grams[k], seen.inner, view.weight)
        seen.add(num, view.v, found.C_inverse)
        E[k], value = found.E, value + found.value
    value += float((problem.weight * log_d).sum() + (problem.total_diagonal / d).sum())
    values, vectors = np.linalg.eigh(
        (E.sum(axis=0) + problem.eps * prior.E) / (problem.n_views + problem.eps)
    )
    root = (vectors * np.sqrt(values)) @ vectors.T
    W = problem.visibility.solver(E, problem.eps * prior.E)(num)
    residual = problem.total_diagonal - np.einsum("ij,ij->i", W, num)
    d = noise(residual) / noise(problem.weight)
    return UpdateEvaluation(point, value / 2, (W @ root, np.log(np.maximum(d, problem.floor))))
