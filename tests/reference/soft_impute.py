"""Soft-impute on the stacked kernels, slowly: the matrix with its missing entries, and its SVD."""

import numpy as np


def stacked(K, observed):
    """Centred kernels of unit mean square row side by side, NaN where missing; columns' views and sizes."""
    n = len(observed)
    blocks, views, sizes = [], [], []
    for k, o in enumerate(observed.T):
        m = o.sum()
        H = np.eye(m) - 1 / m
        X = H @ K[k][np.ix_(o, o)] @ H
        sizes.append(np.sqrt((X**2).sum() / m))
        block = np.full((n, m), np.nan)
        block[o] = X / sizes[-1]
        blocks.append(block)
        views += [k] * m
    return np.hstack(blocks), np.array(views), sizes


def soft_impute(X, lam, iterations):
    """Mazumder et al.: fill in, take the SVD, shrink the singular values, again."""
    seen = ~np.isnan(X)
    L = np.zeros(X.shape)
    for _ in range(iterations):
        U, s, Vt = np.linalg.svd(np.where(seen, X, L), full_matrices=False)
        L = (U * np.maximum(s - lam, 0)) @ Vt
    return L


def objective(X, L, lam):
    seen = ~np.isnan(X)
    return 0.5 * ((X - L)[seen] ** 2).sum() + lam * np.linalg.svd(L, compute_uv=False).sum()


def best_right(X, A, lam):
    """The right factor B that goes best with A: one column of X at a time."""
    B = np.empty((X.shape[1], A.shape[1]))
    for j in range(X.shape[1]):
        seen = ~np.isnan(X[:, j])
        B[j] = np.linalg.solve(A[seen].T @ A[seen] + lam * np.eye(A.shape[1]), A[seen].T @ X[seen, j])
    return B


def best_left(X, B, lam):
    return best_right(X.T, B, lam)


def factored_objective(X, A, B, lam):
    seen = ~np.isnan(X)
    return 0.5 * ((X - A @ B.T)[seen] ** 2).sum() + 0.5 * lam * ((A**2).sum() + (B**2).sum())


def filled(K, observed, L, views, sizes):
    """Completed kernels from L: rows of absent samples in the range of the observed kernel, own values raised."""
    done = np.empty_like(K)
    for k, o in enumerate(observed.T):
        block, m = K[k][np.ix_(o, o)], o.sum()
        H = np.eye(m) - 1 / m
        A = np.eye(len(observed))[:, o]
        centred_rows = L[~o][:, views == k] * sizes[k]
        A[~o] = 1 / m + centred_rows @ np.linalg.pinv(H @ block @ H, rcond=1e-13) @ H
        done[k] = A @ block @ A.T
        mean = np.diag(block).mean()
        for t in np.flatnonzero(~o):
            done[k, t, t] = max(done[k, t, t], mean)
    return done
