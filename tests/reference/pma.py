"""Probabilistic matrix addition, line by line: dense algebra, and the paper's single-site sampler."""

import numpy as np
from scipy.optimize import minimize
from scipy.special import multigammaln
from scipy.stats import multivariate_t


def covariance(K1, C, N):
    """cov of X.ravel() (rows first): entry (i, j), (k, l) is K1[i, k] C[j, l] + 1[i = k] N[j, l]."""
    return np.kron(K1, C) + np.kron(np.eye(len(K1)), N)


def condition(S, X, observed):
    """Posterior mean (as a completed matrix) and covariance of the missing entries."""
    o, m = np.flatnonzero(observed.ravel()), np.flatnonzero(~observed.ravel())
    gain = np.linalg.solve(S[np.ix_(o, o)], S[np.ix_(o, m)]).T
    mean = np.where(observed, X, 0.0).ravel()
    mean[m] = gain @ mean[o]
    return mean.reshape(X.shape), S[np.ix_(m, m)] - gain @ S[np.ix_(o, m)]


def expectation(K1, C, N, X, observed):
    """The paper's "exact" inference: X completed by a Cholesky factor of the observed entries' covariance."""
    i, j = np.nonzero(observed)
    S = np.empty((len(i), len(i)))
    for a in range(len(i)):
        S[a] = K1[i[a], i] * C[j[a], j] + (i == i[a]) * N[j[a], j]
    L = np.linalg.cholesky(S)
    weights = np.linalg.solve(L.T, np.linalg.solve(L, X[observed]))
    full = X.copy()
    for a, b in np.argwhere(~observed):
        full[a, b] = (K1[a, i] * C[b, j] + (i == a) * N[b, j]) @ weights
    return full


def log_marginal(S, X, observed):
    o = observed.ravel()
    x, S = X.ravel()[o], S[np.ix_(o, o)]
    return -0.5 * (x @ np.linalg.solve(S, x) + np.linalg.slogdet(S)[1] + o.sum() * np.log(2 * np.pi))


def log_marginal_gradient(S, dS, X, observed):
    """Derivative of log_marginal when S moves along dS."""
    o = observed.ravel()
    x, S, dS = X.ravel()[o], S[np.ix_(o, o)], dS[np.ix_(o, o)]
    a = np.linalg.solve(S, x)
    return 0.5 * (a @ dS @ a - np.trace(np.linalg.solve(S, dS)))


def conditionals(K):
    """For each i, weights (zero at i) and variance of f_i given the others under N(0, K) (eq. 9)."""
    found = []
    for i in range(len(K)):
        rest = np.delete(np.arange(len(K)), i)
        w = np.zeros(len(K))
        w[rest] = np.linalg.solve(K[np.ix_(rest, rest)], K[rest, i])
        found.append((w, K[i, i] - w @ K[:, i]))
    return found


def single_site_gibbs(K1, K2, X, observed, n_samples, rng):
    """Section 3.1: each g_ij (eq. 12, 13 with the missing x put back), then each missing x_ij (eq. 15)."""
    n, m = X.shape
    X = np.where(observed, X, 0.0)
    G = np.zeros((n, m))
    kept = np.empty((n_samples, n, m))
    along, across = conditionals(K1), conditionals(K2)
    for t in range(n_samples):
        for i in range(n):
            for j in range(m):
                (w_g, s_g), (w_f, s_f) = across[j], along[i]
                m_g, m_f = w_g @ G[i], w_f @ (X[:, j] - G[:, j])
                mean = (m_g * s_f + (X[i, j] - m_f) * s_g) / (s_f + s_g)
                G[i, j] = mean + np.sqrt(s_f * s_g / (s_f + s_g)) * rng.standard_normal()
        F = X - G
        for i, j in np.argwhere(~observed):
            w, variance = across[j]
            X[i, j] = F[i, j] + w @ (X[i] - F[i]) + np.sqrt(variance) * rng.standard_normal()
        G = X - F
        kept[t] = X
    return kept


def plug_in(K1, K2, X, observed, ridge, steps, rng=None, rows=True):
    """Sections 3.1 and 3.2 with K2, and K1 if `rows`, estimated: X, F and the kernels after each step.

    A mode of F (eq. 16) and of each row's missing entries (eq. 17, put right) or, with `rng`, a draw of each.
    """
    n, m = X.shape
    S = covariance(K1, np.eye(m), K2)
    X = condition(S, X, observed)[0] if rng is None else np.where(observed, X, rng.standard_normal(X.shape))
    visited = []
    for _ in range(steps):
        prior, total = np.kron(K1, np.eye(m)), covariance(K1, np.eye(m), K2)
        gain = np.linalg.solve(total, prior).T
        F = (gain @ X.ravel()).reshape(n, m)
        if rng is not None:
            F = rng.multivariate_normal(F.ravel(), prior - gain @ prior).reshape(n, m)
        X = X.copy()
        for i in range(n):
            o, h = np.flatnonzero(observed[i]), np.flatnonzero(~observed[i])
            B = np.linalg.solve(K2[np.ix_(o, o)], K2[np.ix_(o, h)]).T
            X[i, h] = F[i, h] + B @ (X[i, o] - F[i, o])
            if rng is not None and len(h):
                X[i, h] += rng.multivariate_normal(
                    np.zeros(len(h)), K2[np.ix_(h, h)] - B @ K2[np.ix_(o, h)]
                )
        G = X - F
        K1, K2 = F @ F.T / m + ridge * np.eye(n) if rows else K1, G.T @ G / n + ridge * np.eye(m)
        visited.append((X, F, K1, K2))
    return visited


def regression(K, C, N, Y, K_new, self_new, mean=0.0):
    """Targets of new rows given the known entries of Y (n, m): mean and variance, by dense algebra.

    `K` between training rows, `K_new` (new, n) of new rows against them, `self_new` a new row's own kernel value.
    """
    seen = ~np.isnan(Y)
    i, j = np.nonzero(seen)
    S = K[np.ix_(i, i)] * C[np.ix_(j, j)] + (i[:, None] == i) * N[np.ix_(j, j)]
    x = (Y - mean)[seen]
    found, variance = np.empty((len(K_new), len(N))), np.empty((len(K_new), len(N)))
    for a in range(len(K_new)):
        for b in range(len(N)):
            k = K_new[a, i] * C[b, j]
            w = np.linalg.solve(S, k)
            found[a, b] = w @ x
            variance[a, b] = self_new * C[b, b] + N[b, b] - w @ k
    return found + mean, variance


def column_evidence(G, T, strength, size):
    """Log-density of the rows of G, N ~ IW(size T, strength) integrated out: each given those before it."""
    m = G.shape[1]
    scale, total = size * T, 0.0
    for g in G:
        dof = strength - m + 1
        total += multivariate_t.logpdf(g, np.zeros(m), scale / dof, df=dof)
        scale, strength = scale + np.outer(g, g), strength + 1
    return total


def kernel_alone(X, observed, T, steps, floor):
    """Rows drawn with N ~ IW(tau T, nu), by EM: each row given its own entries, nu and tau by search, N anew.

    Begins at T.  Without one, T are the columns' variances, and it begins at half of them.
    """
    n, m = X.shape
    N = T
    if T is None:
        T = np.diag((np.where(observed, X, 0.0) ** 2).sum(axis=0) / observed.sum(axis=0))
        N = T / 2
    for _step in range(steps):
        S = np.zeros((m, m))
        for i in range(n):
            o, h = np.flatnonzero(observed[i]), np.flatnonzero(~observed[i])
            x = np.where(observed[i], X[i], 0.0)
            gain = np.linalg.solve(N[np.ix_(o, o)], N[np.ix_(o, h)]).T
            x[h] = gain @ x[o]
            S += np.outer(x, x)
            S[np.ix_(h, h)] += N[np.ix_(h, h)] - gain @ N[np.ix_(o, h)]

        def less(p, S=S):
            nu = m - 1 + np.exp(max(p[0], -3))
            tau = nu * np.exp(p[1])
            gammas = multigammaln((nu + n) / 2, m) - multigammaln(nu / 2, m)
            prior, after = np.linalg.slogdet(tau * T)[1], np.linalg.slogdet(tau * T + S)[1]
            return -(gammas + nu / 2 * prior - (nu + n) / 2 * after)

        p = np.array([0.0, -1.0])
        for _ in range(4):  # a simplex can get stuck
            p = minimize(less, p, method="Nelder-Mead", options={"xatol": 1e-8, "fatol": 1e-11}).x
        nu = m - 1 + np.exp(max(p[0], -3))  # at least a little more than there has to be
        N = (S + nu * np.exp(p[1]) * T) / (n + nu)
        values, V = np.linalg.eigh(N)
        N = (V * np.maximum(values, floor)) @ V.T
    return N
