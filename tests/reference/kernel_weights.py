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


def easy(K, y, lam):
    """Aiolli & Donini (2015), eqs. 7 to 10: nearest points of the classes, then each kernel's distance."""
    Y = np.diag(y)
    Q = (1 - lam) * Y @ K.sum(axis=0) @ Y + lam * np.eye(len(y))
    positive, negative = (y > 0).astype(float), (y < 0).astype(float)
    constraints = [
        {"type": "eq", "fun": lambda g, c=c: c @ g - 1, "jac": lambda g, c=c: c}
        for c in (positive, negative)
    ]
    found = minimize(
        lambda g: g @ Q @ g,
        positive / positive.sum() + negative / negative.sum(),
        jac=lambda g: 2 * Q @ g,
        bounds=[(0, 1)] * len(y),
        constraints=constraints,
        method="SLSQP",
        options={"ftol": 1e-15, "maxiter": 1000},
    )
    gamma = found.x
    d = np.array([gamma @ Y @ k @ Y @ gamma for k in K])
    return d / d.sum()


def margins_of_own_features(X, present, y, w, b):
    """Chechik et al. (2008), eq. 3: y f / |w^(i)|, sample by sample."""
    return np.array(
        [
            label * (row[seen] @ w[seen] + b) / np.linalg.norm(w[seen])
            for row, seen, label in zip(X, present, y, strict=True)
        ]
    )
