"""Mutual kernel matrix completion, slowly: Rivero & Kato (2018) line by line, dense NumPy only.

Numbers in comments are the paper's equations.  ``K`` holds the kernels, ``observed`` (samples x views)
who was seen; entries of unseen samples are never read.
"""

import numpy as np


def ppca(S, q):
    """(12) and (13)."""
    lam, U = np.linalg.eigh(S)
    lam, U = lam[::-1], U[:, ::-1]
    sigma2 = lam[q:].sum() / (len(S) - q)
    W = U[:, :q] @ np.diag(np.sqrt(lam[:q] - sigma2))
    return W, sigma2


def stabilise(S, K, eps):
    """Section 6.1."""
    return (K * S + eps * np.eye(len(S))) / (K + eps)


def impute(Q, seen, M):
    """(8) and (9), the observed block left as it is."""
    v, h = np.flatnonzero(seen), np.flatnonzero(~seen)
    Q_vv = Q[np.ix_(v, v)]
    M_vv, M_vh, M_hh = M[np.ix_(v, v)], M[np.ix_(v, h)], M[np.ix_(h, h)]
    inverse = np.linalg.inv(M_vv)
    full = np.empty_like(M)
    full[np.ix_(v, v)] = Q_vv
    full[np.ix_(v, h)] = Q_vv @ inverse @ M_vh
    full[np.ix_(h, v)] = full[np.ix_(v, h)].T
    full[np.ix_(h, h)] = M_hh - M_vh.T @ inverse @ M_vh + M_vh.T @ inverse @ Q_vv @ inverse @ M_vh
    return full


def fa_step(S, W, psi):
    """(18) and (19)."""
    F = W.T @ np.diag(1 / psi)
    C = np.eye(W.shape[1]) + F @ W
    M_inverse = np.diag(1 / psi) - F.T @ np.linalg.inv(C) @ F
    B = W.T @ M_inverse
    S_xz = S @ B.T
    S_zz = np.eye(W.shape[1]) - B @ W + B @ S_xz
    W_new = S_xz @ np.linalg.inv(S_zz)
    psi_new = np.diag(S - S_xz @ np.linalg.inv(S_zz) @ S_xz.T)
    return W_new, psi_new


def penalised_objective(K, observed, M, eps):
    """Sum of LogDet divergences after imputation plus eps LogDet(I, M), constants left out."""
    total = eps * (np.linalg.slogdet(M)[1] + np.trace(np.linalg.inv(M)))
    for k in range(len(K)):
        seen = np.ix_(observed[:, k], observed[:, k])
        total += np.linalg.slogdet(M[seen])[1] + np.trace(np.linalg.inv(M[seen]) @ K[k][seen])
    return total / 2


def mkmc(K, observed, covariance, q=None, eps=1e-3, iterations=50):
    """Completed kernels, model and objective trace after a number of iterations."""
    n_views, n = len(K), len(K[0])
    zero = [np.where(np.outer(o, o), k, 0.0) for k, o in zip(K, observed.T, strict=True)]
    M = S0 = stabilise(sum(zero) / n_views, n_views, eps)
    if covariance == "fa":
        W, sigma2 = ppca(S0, q)
        psi = np.full(n, sigma2)
    trace = []
    for _ in range(iterations):
        completed = [impute(k, o, M) for k, o in zip(zero, observed.T, strict=True)]
        S = stabilise(sum(completed) / n_views, n_views, eps)
        if covariance == "full":
            M = S
        elif covariance == "pca":
            W, sigma2 = ppca(S, q)
            M = W @ W.T + sigma2 * np.eye(n)
        else:
            W, psi = fa_step(S, W, psi)
            M = W @ W.T + np.diag(psi)
        trace.append(penalised_objective(zero, observed, M, eps))
    return np.array([impute(k, o, M) for k, o in zip(zero, observed.T, strict=True)]), M, np.array(trace)
