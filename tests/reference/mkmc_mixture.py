"""Several model kernels behind groups of views, slowly: everything imputed in every iteration, dense NumPy.

As ``mkmc``, of which the M-step of each group is: its completed kernels, the common model as `pull` more of
them and the identity as `eps` more.
"""

import numpy as np

from reference.mkmc import impute, ppca


def objective(K, observed, models, members, common, pull, eps):
    """F: what views do not like of their models, and models of the common model and of the identity."""
    total = 0.0
    for M in models:
        logdet, inverse = np.linalg.slogdet(M)[1], np.linalg.inv(M)
        total += pull * (logdet + np.trace(inverse @ common)) + eps * (logdet + np.trace(inverse))
    for k, c in enumerate(members):
        total += 2 * unlikeliness(K[k], observed[:, k], models[c])
    return total / 2


def unlikeliness(Q, seen, M):
    vv = np.ix_(seen, seen)
    return (np.linalg.slogdet(M[vv])[1] + np.trace(np.linalg.inv(M[vv]) @ Q[vv])) / 2


def m_step(K, observed, M, mine, common, q, pull, eps):
    """One model: principal components of the mean of all that it stands for."""
    S = pull * common + eps * np.eye(len(M))
    for k in mine:
        S = S + impute(K[k], observed[:, k], M)
    W, sigma2 = ppca(S / (len(mine) + pull + eps), q)
    return W @ W.T + sigma2 * np.eye(len(M))


def mixture(K, observed, members, common, q, pull, eps, iterations):
    """Completed kernels, models, memberships and the objective after each iteration of either step."""
    members = np.array(members)
    models, trace = [common] * (members.max() + 1), []
    for _ in range(10):
        for _ in range(iterations):
            models = [
                m_step(K, observed, M, np.flatnonzero(members == c), common, q, pull, eps)
                for c, M in enumerate(models)
            ]
            trace.append(objective(K, observed, models, members, common, pull, eps))
        values = [[unlikeliness(K[k], observed[:, k], M) for M in models] for k in range(len(K))]
        moved = np.argmin(values, axis=1)
        trace.append(objective(K, observed, models, moved, common, pull, eps))
        if np.array_equal(moved, members):
            break
        members = moved
    completed = [impute(K[k], observed[:, k], models[c]) for k, c in enumerate(members)]
    return np.array(completed), models, members, np.array(trace)
