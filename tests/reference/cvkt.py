"""Cross-view kernel transfer by ridge regression in its dual form, slowly, line by line; NumPy only.

S = sum over the other views of their kernels, centred on the samples that have them and divided by their mean
diagonal, zero where absent.  Ridge regression with intercept from S to the view's features gives weights W;
the completed kernel is W K W'.  The penalty is chosen by really leaving out one sample after the other.
"""

import numpy as np

GRID = [10 ** (-4 + k / 2) for k in range(13)]


def centred(K):
    n = len(K)
    C = np.eye(n) - np.ones((n, n)) / n
    return C @ K @ C


def weights(S, train, samples, penalty):
    """Row t: the weights over `train` that predict sample t, from similarities S."""
    i = len(train)
    C = np.eye(i) - np.ones((i, i)) / i
    S_train = S[np.ix_(train, train)]
    alpha = C @ np.linalg.solve(C @ S_train @ C + penalty * np.eye(i), C)
    return 1 / i + (S[np.ix_(samples, train)] - S_train.mean(axis=0)) @ alpha


def leave_one_out_error(S, K, train, penalty):
    """Mean squared distance, in the view's feature space, between each sample and its prediction."""
    errors = []
    for t in train:
        rest = train[train != t]
        w = weights(S, rest, [t], penalty)[0]
        errors.append(K[t, t] - 2 * w @ K[rest, t] + w @ K[np.ix_(rest, rest)] @ w)
    return np.mean(errors)


def cvkt(K, observed, ridge="loo", rounds=1):
    """K: (views, n, n), anything where absent.  Returns completed kernels and relative penalties."""
    n_views, n = len(K), K.shape[1]
    similar = np.zeros((n_views, n, n))
    for u in range(n_views):
        seen = np.flatnonzero(observed[:, u])
        block = centred(K[u][np.ix_(seen, seen)])
        similar[u][np.ix_(seen, seen)] = block / (np.trace(block) / len(seen))
    first, chosen = similar, [ridge] * n_views
    for _ in range(rounds):
        completed, following = np.empty((n_views, n, n)), np.empty((n_views, n, n))
        for v in range(n_views):
            others = [u for u in range(n_views) if u != v]
            S = similar[others].sum(axis=0)
            seen = np.flatnonzero(observed[:, v])
            train = np.flatnonzero(observed[:, v] & observed[:, others].any(axis=1))
            mean_eigenvalue = np.trace(centred(S[np.ix_(train, train)])) / len(train)
            if chosen[v] == "loo":
                errors = [leave_one_out_error(S, K[v], train, g * mean_eigenvalue) for g in GRID]
                chosen[v] = GRID[int(np.argmin(errors))]
            W = np.zeros((n, n))  # over all samples; the columns of absent ones stay zero
            W[:, train] = weights(S, train, np.arange(n), chosen[v] * mean_eigenvalue)
            W[seen] = np.eye(n)[seen]
            W = W[:, seen]
            block = K[v][np.ix_(seen, seen)]
            following[v] = W @ first[v][np.ix_(seen, seen)] @ W.T
            level, unseen = np.median(np.diag(block)), np.setdiff1d(np.arange(n), seen)
            if np.ptp(np.diag(block)) < 1e-9 * level:  # constant: nobody is longer than that
                for t in unseen:
                    W[t] *= min(1, np.sqrt(level / (W[t] @ block @ W[t])))
            completed[v] = W @ block @ W.T
            for t in unseen:
                completed[v][t, t] = max(completed[v][t, t], level)
        similar = following
    return completed, chosen
