"""The em algorithm with one complete kernel, slowly: dense matrices, every step as its definition says."""

import numpy as np


def model(V, b):
    return V @ np.diag(b) @ V.T


def nearest_data(K, seen, M):
    """The positive definite matrix with the block K that has the least divergence from M."""
    o, h = np.flatnonzero(seen), np.flatnonzero(~seen)
    inverse = np.linalg.inv(M[np.ix_(o, o)])
    D = np.empty_like(M)
    D[np.ix_(o, o)] = K
    D[np.ix_(h, o)] = M[np.ix_(h, o)] @ inverse @ K
    D[np.ix_(o, h)] = D[np.ix_(h, o)].T
    rest = M[np.ix_(h, h)] - M[np.ix_(h, o)] @ inverse @ M[np.ix_(o, h)]
    D[np.ix_(h, h)] = rest + M[np.ix_(h, o)] @ inverse @ K @ inverse @ M[np.ix_(o, h)]
    return D


def nearest_model(D, V, prior):
    """Its eigenvalues: each minimises log b + (v' D v) / b + prior (log b + 1 / b)."""
    return np.array([(v @ D @ v + prior) / (1 + prior) for v in V.T])


def divergence(D, M):
    """Of Gaussians with these covariances."""
    n = len(D)
    return (np.trace(np.linalg.inv(M) @ D) + np.linalg.slogdet(M)[1] - np.linalg.slogdet(D)[1] - n) / 2


def objective(D, M, prior):
    return divergence(D, M) + prior * divergence(np.eye(len(M)), M)


def complete(K, seen, auxiliary, prior, iterations):
    """A kernel of unit mean diagonal after so many rounds."""
    values, V = np.linalg.eigh(auxiliary)
    b = (values / values.mean() + prior) / (1 + prior)
    for _ in range(iterations):
        b = nearest_model(nearest_data(K, seen, model(V, b)), V, prior)
    return nearest_data(K, seen, model(V, b)), b
