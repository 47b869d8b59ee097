"""Multiple imputation: kernels drawn from what a model says of the absent samples."""

import numpy as np

from absentia.core import Array, PDOperator, cholesky, symmetrize


def draw(
    model: PDOperator,
    Q: Array,
    present: Array,
    scale: float,
    n_features: int | None,
    rng: np.random.Generator,
    *,
    about_mean: bool = False,
) -> Array:
    """One completed kernel: absent samples' features drawn given the visible ones, or those' mean too."""
    v, h = np.flatnonzero(present), np.flatnonzero(~present)
    m = max(n_features or 0, len(v), 1)
    values, vectors = np.linalg.eigh(symmetrize(np.asarray(Q, dtype=np.float64)))
    features = np.zeros((len(v), m))
    features[:, : len(v)] = vectors * np.sqrt(np.maximum(values, 0.0))
    mean = features.mean(axis=0) if about_mean and len(v) else np.zeros(m)
    M_vh = model.block(v, h)
    A = model.principal(v).solve(M_vh)
    spread = symmetrize(model.block(h, h) - M_vh.T @ A)
    L = cholesky(spread, "conditional covariance") if len(h) else spread
    filled = mean + A.T @ (features - mean) + L @ rng.standard_normal((len(h), m)) * np.sqrt(scale / m)
    K = np.empty((len(present), len(present)))
    K[np.ix_(v, v)] = Q
    K[np.ix_(v, h)] = features @ filled.T
    K[np.ix_(h, v)] = K[np.ix_(v, h)].T
    K[np.ix_(h, h)] = symmetrize(filled @ filled.T)
    return K
