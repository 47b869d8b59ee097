"""Sums over the views that see a sample, slowly: one sample, one view at a time."""

import numpy as np


def grams(sees, W, F):
    """``W' F`` over the samples that each view sees, and over all."""
    n, q = W.shape
    by_views, total = np.zeros((sees.shape[1], q, q)), np.zeros((q, q))
    for i in range(n):
        one = np.outer(W[i], F[i])
        total += one
        for k in range(sees.shape[1]):
            if sees[i, k]:
                by_views[k] += one
    return by_views, total


def own_matrix(seen, E, extra):
    """``A_i`` of a sample."""
    A = extra.copy()
    for k in range(len(E)):
        if seen[k]:
            A = A + E[k]
    return A


def products(sees, E, extra, W):
    """``W_i A_i`` of every sample."""
    return np.array([w @ own_matrix(seen, E, extra) for seen, w in zip(sees, W, strict=True)])


def solutions(sees, E, extra, V):
    """``V_i A_i^-1`` of every sample."""
    return np.array(
        [v @ np.linalg.inv(own_matrix(seen, E, extra)) for seen, v in zip(sees, V, strict=True)]
    )
