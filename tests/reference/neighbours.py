"""Nearest-neighbour filling, slowly: one pair, one sample, one neighbour at a time."""

import numpy as np


def distance(K, observed, i, t):
    """Mean over shared views of squared distances, each divided by its mean over the view's pairs."""
    found = []
    for k, o in enumerate(observed.T):
        if o[i] and o[t]:
            own = [(a, b) for a in np.flatnonzero(o) for b in np.flatnonzero(o) if a < b]
            pairs = [K[k][a, a] + K[k][b, b] - 2 * K[k][a, b] for a, b in own]
            found.append((K[k][i, i] + K[k][t, t] - 2 * K[k][i, t]) / np.mean(pairs))
    return np.mean(found) if found else np.inf


def fill(K, observed, n_neighbors):
    """Completed kernels (V, n, n) from kernels with anything where absent."""
    V, n = len(K), len(observed)
    D = np.array([[distance(K, observed, i, t) for t in range(n)] for i in range(n)])
    done = np.empty_like(K)
    for k in range(V):
        has = np.flatnonzero(observed[:, k])
        A = np.zeros((n, n))
        for t in range(n):
            if observed[t, k]:
                A[t, t] = 1
                continue
            reachable = [i for i in has if np.isfinite(D[t, i])]
            nearest = sorted(reachable, key=lambda i, t=t: D[t, i])[:n_neighbors]
            for i in nearest:
                A[t, i] = 1
            A[t] /= A[t].sum()
        A = A[:, has]
        done[k] = A @ K[k][np.ix_(has, has)] @ A.T
        for t in np.flatnonzero(~observed[:, k]):
            done[k, t, t] = A[t] @ K[k][has, has]
    return done
