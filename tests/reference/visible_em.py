"""Parameter-expanded EM on visible data, slowly: one view, one sample at a time, dense and explicit.

The latent factors z_k of view k are the only missing data; x_k on the visible samples has second moment
Q_k.  A pseudo-view Q = I of weight eps sees everyone.
"""

import numpy as np


def moments(Q, W, d):
    """E[x z'] and E[z z'] of the visible samples of a view under x = W z + noise."""
    M_inverse = np.linalg.inv(W @ W.T + np.diag(d))
    B = W.T @ M_inverse
    return Q @ B.T, np.eye(W.shape[1]) - B @ W + B @ Q @ B.T


def step(K, observed, W, d, eps, equal_noise):
    """One EM step of (W, d), with the factors' covariance freed and folded back."""
    n, q = W.shape
    views = [(K[k][np.ix_(o, o)], np.flatnonzero(o), 1.0) for k, o in enumerate(observed.T)]
    views.append((np.eye(n), np.arange(n), eps))
    found = [(*moments(Q, W[v], d[v]), Q, v, weight) for Q, v, weight in views]
    W_new, residual, weights = np.zeros_like(W), np.zeros(n), np.zeros(n)
    for i in range(n):
        cross, inner = np.zeros(q), np.zeros((q, q))
        for G, E, Q, v, weight in found:
            if i in v:
                place = np.flatnonzero(v == i)[0]
                cross += weight * G[place]
                inner += weight * E
                residual[i] += weight * Q[place, place]
                weights[i] += weight
        W_new[i] = np.linalg.solve(inner, cross)
        residual[i] -= W_new[i] @ cross
    total = sum(weight for *_, weight in found)
    R = sum(weight * E for _, E, _, _, weight in found) / total
    values, vectors = np.linalg.eigh(R)
    d_new = np.full(n, residual.sum() / weights.sum()) if equal_noise else residual / weights
    return W_new @ (vectors * np.sqrt(values)) @ vectors.T, d_new
