"""Weights of kernels without a machine, line by line from the equations; dense, small, slow."""

import numpy as np
from scipy.optimize import minimize


def alignment(K, y):
    """Cortes et al. (2012), proposition 9: min over v >= 0 of v'Mv - 2 v'a, as a bounded descent."""
    m, n, _ = K.shape
    H = np.eye(n) - np.ones((n, n)) / n
    centred = [H @ k @ H for k in K]
    M = np.array([[np.sum(A * B) for B in centred] for A in centred])
    a = np.array([np.sum(A * np.outer(y, y)) for A in centred])
    scale = np.abs(M).max()
    found = minimize(
        lambda v: (v @ M @ v - 2 * v @ a) / scale,
        np.ones(m),
        jac=lambda v: 2 * (M @ v - a) / scale,
        bounds=[(0, None)] * m,
        options={"ftol": 1e-16, "gtol": 1e-14, "maxiter": 10_000},
    )
    return found.x / found.x.sum()


def margins_of_own_features(X, present, y, w, b):
    """Chechik et al. (2008), eq. 3: y f / |w^(i)|, sample by sample."""
    return np.array(
        [
            label * (row[seen] @ w[seen] + b) / np.linalg.norm(w[seen])
            for row, seen, label in zip(X, present, y, strict=True)
        ]
    )
