r"""How sure the missing entries of ``_model.Addition`` are: posterior deviations, draws, variances.

A draw from the prior minus its own completion has the posterior covariance (Matheron), so added to the
mean it is an independent draw from the posterior.  Where few entries are missing, a root of ``P_mm^-1``
holds that covariance exactly.
"""

import math

import numpy as np
import scipy.linalg

from absentia.core import Array
from absentia.methods.matrix._mean import complete, missing_factor, posterior_mean, solved
from absentia.methods.matrix._model import Addition


def posterior(model: Addition, X: Array, observed: Array) -> tuple[Array, Array]:
    """:func:`posterior_mean` and the exact :func:`spread`, by one factorisation."""
    i, j = np.nonzero(~observed)
    L = missing_factor(model, observed)
    D = np.zeros((observed.shape[0], len(i), observed.shape[1]))
    D[i, :, j] = scipy.linalg.solve_triangular(L, np.eye(len(i)), lower=True).T
    return solved(model, X, observed, L), D


def spread(
    model: Addition,
    observed: Array,
    rng: np.random.Generator | None = None,
    n_draws: int = 1,
    *,
    tol: float = 1e-6,
) -> Array:
    """D (n, k, m), zero where observed, with ``sum_k vec(D_k) vec(D_k)'`` the posterior covariance.

    Without `rng` exactly (a root of ``P_mm^-1``, k = number of missing entries); with it on average
    (Matheron draws divided by the root of k).
    """
    if rng is None:
        return posterior(model, np.zeros(observed.shape), observed)[1]
    return deviations(model, observed, model.draw(rng, n_draws), tol=tol) / math.sqrt(n_draws)


def deviations(model: Addition, observed: Array, prior: Array, *, tol: float = 1e-6) -> Array:
    """Posterior deviations from prior draws (Matheron's rule): draw minus its own completion."""
    return prior - complete(model, prior, observed, tol=tol)


def draws(
    model: Addition, X: Array, observed: Array, rng: np.random.Generator, n: int, *, tol: float = 1e-6
) -> Array:
    """`n` independent posterior draws of the completed X, (n_draws, rows, columns)."""
    mean = posterior_mean(model, X, observed, tol=tol)
    D = deviations(model, observed, model.draw(rng, n), tol=tol)
    return (mean[:, None, :] + D).transpose(1, 0, 2)


def variance(
    model: Addition, observed: Array, rng: np.random.Generator | None = None, n_draws: int = 500
) -> Array:
    """Posterior variance of every entry, zero where observed; exact without `rng`."""
    if rng is None:
        return np.asarray((spread(model, observed) ** 2).sum(axis=1))
    total, chunk = np.zeros(observed.shape), max(1, 5_000_000 // observed.size)
    for first in range(0, n_draws, chunk):
        k = min(chunk, n_draws - first)
        total += (deviations(model, observed, model.draw(rng, k)) ** 2).sum(axis=1)
    return total / n_draws
