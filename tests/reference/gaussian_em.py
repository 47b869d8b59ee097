"""EM for one Gaussian with missing entries, slowly: one sample at a time, everything explicit."""

import numpy as np


def scores(K, observed, n_components):
    """Leading kernel principal components of each view, NaN where absent, unit mean squared distance."""
    tables = []
    for k, o in enumerate(observed.T):
        m = o.sum()
        H = np.eye(m) - 1 / m
        w, Q = np.linalg.eigh(H @ K[k][np.ix_(o, o)] @ H)
        w, Q = w[::-1], Q[:, ::-1]
        table = np.full((len(observed), n_components), np.nan)
        table[o] = Q[:, :n_components] * np.sqrt(w[:n_components]) / np.sqrt(w.sum() / m)
        tables.append(table)
    return np.hstack(tables)


def objective(X, mu, Sigma, ridge, psi):
    value = 0.0
    for x in X:
        o = ~np.isnan(x)
        S, y = Sigma[np.ix_(o, o)], x[o] - mu[o]
        value += 0.5 * (np.linalg.slogdet(S)[1] + y @ np.linalg.inv(S) @ y)
    prior = np.linalg.slogdet(Sigma)[1] + np.trace(np.diag(psi) @ np.linalg.inv(Sigma))
    return value + 0.5 * ridge * len(X) * prior


def expected(x, mu, Sigma):
    """Conditional mean and covariance of a row, given its entries that are not NaN."""
    o = ~np.isnan(x)
    h = ~o
    B = Sigma[np.ix_(h, o)] @ np.linalg.inv(Sigma[np.ix_(o, o)])
    full, covariance = x.copy(), np.zeros_like(Sigma)
    full[h] = mu[h] + B @ (x[o] - mu[o])
    covariance[np.ix_(h, h)] = Sigma[np.ix_(h, h)] - B @ Sigma[np.ix_(o, h)]
    return full, covariance


def step(X, mu, Sigma, ridge, psi):
    rows = [expected(x, mu, Sigma) for x in X]
    new_mu = np.mean([x for x, _ in rows], axis=0)
    S = sum(np.outer(x - new_mu, x - new_mu) + C for x, C in rows)
    n = len(X)
    return new_mu, (S + ridge * n * np.diag(psi)) / (n + ridge * n)


def filled(K, observed, n_components, mu, Sigma):
    """Expected kernels: absent samples at their expected scores, own values with what is uncertain."""
    X = scores(K, observed, n_components)
    done = np.empty_like(K)
    for k, o in enumerate(observed.T):
        block, m = K[k][np.ix_(o, o)], o.sum()
        H = np.eye(m) - 1 / m
        w, Q = np.linalg.eigh(H @ block @ H)
        w, Q = w[::-1], Q[:, ::-1]
        size, mine = w.sum() / m, slice(k * n_components, (k + 1) * n_components)
        axes = Q[:, :n_components] / np.sqrt(w[:n_components])
        A = np.eye(len(observed))[:, o]
        spread = np.zeros(len(observed))
        for t in np.flatnonzero(~o):
            x, C = expected(X[t], mu, Sigma)
            A[t] = 1 / m + np.sqrt(size) * axes @ x[mine]
            spread[t] = size * np.trace(C[mine, mine]) + w[n_components:].sum() / m
        done[k] = A @ block @ A.T + np.diag(spread)
    return done
