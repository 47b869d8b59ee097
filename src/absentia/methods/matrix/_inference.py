"""Inference for ``_model.Addition`` with entries missing, by its three names: "exact", "map" and "gibbs".

Means are in ``_mean``, posterior deviations in ``_spread``, the likelihood in ``_likelihood``, the paper's
alternation in ``_mode``, sampling in ``_gibbs``.

Departures from the paper: its "exact" inference flattens the matrix and factorises a dense covariance;
here nothing of that size is formed.
"""

from dataclasses import replace
from typing import Literal

import numpy as np
from sklearn.exceptions import ConvergenceWarning

from absentia.core import Array, warn
from absentia.methods.matrix._gibbs import Chains, effective_sample_size, gibbs, r_hat
from absentia.methods.matrix._mean import complete, posterior_mean, residual
from absentia.methods.matrix._mode import mode
from absentia.methods.matrix._model import Addition, RowKernel
from absentia.methods.matrix._observed import observed_mean, spares_eigenvectors
from absentia.methods.matrix._refined import refined

#: The ways there are.
Inference = Literal["exact", "map", "gibbs"]
#: Beyond this many entries they are completed to a relative residual of 1e-4.
LARGE = 1_000_000


def infer(
    model: Addition, X: Array, observed: Array, how: Inference, n_samples: int, rng: np.random.Generator
) -> tuple[Array, dict[str, float]]:
    """X completed by "exact", "map" or "gibbs" inference, and what there is to say of it."""
    if how == "exact" and spares_eigenvectors(model):
        found = observed_mean(model, X, observed)
        if found is not None:
            return found, {}
    if how == "exact" and X.size > LARGE and model.rows.full:
        full, rest = refined(model, X, observed)
        if rest > 1e-4:
            full = complete(model, X, observed, start=full, tol=1e-4)
            _warn_of_residual(residual(model, X, full, observed), 1e-3)
        return full, {}
    if how == "exact" and X.size > LARGE:
        single = replace(model, rows=RowKernel(model.rows.U.astype(np.float32), model.rows.l))
        full = complete(single, X, observed, tol=1e-4)
        _warn_of_residual(residual(single, X, full, observed), 1e-3)
        return full, {}
    if how == "exact":
        full = posterior_mean(model, X, observed)
        _warn_of_residual(residual(model, X, full, observed), 1e-6)
        return full, {}
    if how == "map":
        solution = mode(model, X, observed)
        if not solution.converged:
            _warn_of_residual(residual(model, X, solution.state[:, 0], observed), 0.0)
        return np.asarray(solution.state[:, 0]), {"n_iter": float(solution.n_iter)}
    chains = gibbs(model, X, observed, rng, n_samples=n_samples)
    return chains.mean(X), _diagnosed(chains)


def _diagnosed(chains: Chains) -> dict[str, float]:
    """The worst entry's R-hat and effective sample size."""
    n_chains, n_samples, n_missing = chains.values.shape
    if not n_missing:
        return {"r_hat": 1.0, "effective_sample_size": float(n_chains * n_samples)}
    ess = effective_sample_size(chains.values)
    return {"r_hat": float(r_hat(chains.values).max()), "effective_sample_size": float(ess.min())}


def _warn_of_residual(residual: float, most: float) -> None:
    if residual > most:
        warn(
            f"missing entries were completed to a relative residual of {residual:.1g} only; the kernels "
            "are nearly singular: add a nugget to the diagonal of the column kernel",
            ConvergenceWarning,
        )
