"""EM on visible data, slowly: one view, one sample at a time, dense and explicit.

The latent factors z_k of view k are the only missing data; x_k on the visible samples has second moment
Q_k.  A pseudo-view Q = I of weight eps sees everyone.
"""

import numpy as np


def moments(Q, W, d):
    """E[x z'] and E[z z'] of the visible samples of a view under x = W z + noise."""
    M_inverse = np.linalg.inv(W @ W.T + np.diag(d))
    B = W.T @ M_inverse
    return Q @ B.T, np.eye(W.shape[1]) - B @ W + B @ Q @ B.T


def loadings(K, observed, W, d, eps):
    """The M-step of W: each sample regressed on the factors of the views that see it."""
    n, q = W.shape
    views = [(K[k][np.ix_(o, o)], np.flatnonzero(o), 1.0) for k, o in enumerate(observed.T)]
    views.append((np.eye(n), np.arange(n), eps))
    found = [(*moments(Q, W[v], d[v]), v, weight) for Q, v, weight in views]
    W_new = np.zeros_like(W)
    for i in range(n):
        cross, inner = np.zeros(q), np.zeros((q, q))
        for G, E, v, weight in found:
            if i in v:
                cross += weight * G[np.flatnonzero(v == i)[0]]
                inner += weight * E
        W_new[i] = np.linalg.solve(inner, cross)
    return W_new
