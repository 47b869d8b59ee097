"""Multi-incomplete-view clustering (Shao, He, Yu 2015), entry by entry."""

import numpy as np


def objective(X, w, U, V, star, alpha, beta):
    total = 0.0
    for v in range(len(X)):
        for i in range(len(X[v])):
            for k in range(X[v].shape[1]):
                total += (w[v][i] * (X[v][i, k] - U[v][i] @ V[v][k])) ** 2
            for j in range(star.shape[1]):
                total += alpha[v] * (w[v][i] * (U[v][i, j] - star[i, j])) ** 2
            total += beta[v] * np.sqrt((U[v][i] ** 2).sum())
    return total


def step_u(X, w, U, V, star, alpha, beta):
    new = np.zeros_like(U)
    for i in range(U.shape[0]):
        for j in range(U.shape[1]):
            up = w[i] ** 2 * (X[i] @ V[:, j] + alpha * star[i, j])
            down = w[i] ** 2 * (U[i] @ V.T @ V[:, j] + alpha * U[i, j])
            down += beta / 2 * U[i, j] / np.linalg.norm(U[i])
            new[i, j] = U[i, j] * up / down
    return new


def step_v(X, w, U, V):
    """The bound's minimum on the simplex, the multiplier of each column by bisection."""
    new = np.zeros_like(V)
    for j in range(V.shape[1]):
        N = np.array([sum(w[i] ** 2 * X[i, k] * U[i, j] for i in range(len(X))) for k in range(len(V))])
        M = np.array(
            [sum(w[i] ** 2 * (U[i] @ V[k]) * U[i, j] for i in range(len(X))) for k in range(len(V))]
        )
        low, high = -N.max(), M.max() / V[:, j].max() + N.max()
        for _ in range(200):
            middle = (low + high) / 2
            column = V[:, j] / M * np.maximum(N + middle, 0)
            low, high = (middle, high) if column.sum() < 1 else (low, middle)
        new[:, j] = column
    return new


def folded_v(X, w, U, V):
    """The paper's way: a free update, columns divided by their sums, U multiplied by them."""
    W2 = (w**2)[:, None]
    V = V * np.sqrt((X.T @ (W2 * U)) / (V @ (U.T @ (W2 * U))))
    return U * V.sum(axis=0), V / V.sum(axis=0)


def common(w, U, alpha):
    star = np.zeros_like(U[0])
    for i in range(len(star)):
        weights = [a * x[i] ** 2 for a, x in zip(alpha, w, strict=True)]
        star[i] = sum(g * u[i] for g, u in zip(weights, U, strict=True)) / sum(weights)
    return star
