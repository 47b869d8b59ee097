"""Problems for the solver of multiple kernel learning: kernels, who has which, labels."""

import numpy as np

from absentia.methods.learning.engine import Box, KernelStack, Polytope, Problem


def rbf(X, observed, spread=2):
    D = ((X[:, None] - X[None]) ** 2).sum(-1)
    return np.array([np.exp(-D / (4 * w)) for w in 2.0 ** np.linspace(-spread, spread, observed.shape[1])])


def data(n=40, m=4, absent=0.4, seed=0, spread=2):
    rng = np.random.default_rng(seed)
    X = rng.standard_normal((n, 3))
    observed = rng.random((n, m)) > absent
    observed[~observed.any(axis=1), 0] = True
    K = rbf(X, observed, spread)
    y = np.where(X[:, 0] + X[:, 1] ** 2 - 1 + 0.3 * rng.standard_normal(n) > 0, 1.0, -1.0)
    return K, observed, y


def stack_of(K, observed):
    index = [np.flatnonzero(s) for s in observed.T]
    return KernelStack([k[np.ix_(i, i)] for k, i in zip(K, index, strict=True)], index, len(observed))


def regions(observed):
    m = observed.shape[1]
    return {
        "simplex": Polytope.simplex(m),
        "rows": Polytope.of_rows(observed),
        "mean": Polytope(observed.mean(axis=0)[None]),
    }


HARD = [(80, 10, 0, 8.0, "simplex"), (80, 10, 13, 8.0, "simplex"), (80, 10, 36, 64.0, "mean")]


def hard(n, m, seed, C, region):
    """Views with four fifths absent, some of which get next to no weight but hold samples that have no other."""
    K, observed, y = data(n, m, absent=0.8, seed=seed, spread=10)
    tau = np.maximum(observed.mean(axis=1), 1 / m) if region == "simplex" else np.ones(n)
    box = Box.classification(y, C / tau, tau)
    return K, observed, Problem(stack_of(K, observed), box, regions(observed)[region])


def factors(n=60, m=4, d=6, absent=0.4, seed=0, dtype=np.float64):
    """Factors of each view's own samples, who has which view, and labels that the first views tell."""
    rng = np.random.default_rng(seed)
    observed = rng.random((n, m)) > absent
    observed[~observed.any(axis=1), 0] = True
    scores, parts = np.zeros(n), []
    for p, seen in enumerate(observed.T):
        Phi = rng.standard_normal((int(seen.sum()), d)) / np.sqrt(np.arange(1, d + 1))
        Phi /= np.linalg.norm(Phi, axis=1, keepdims=True)
        scores[seen] += Phi @ rng.standard_normal(d) / (p + 1)
        parts.append(Phi.astype(dtype))
    return parts, observed, np.where(scores + 0.3 * rng.standard_normal(n) > 0.1, 1.0, -1.0)
