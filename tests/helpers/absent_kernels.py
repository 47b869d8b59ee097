"""Kernels with views absent and labels, small enough for hundreds of machines; whatever scale is wanted."""

import numpy as np

from absentia import KernelViews


def features(seed, n=40, absent=0.25, scale=1.0):
    rng = np.random.default_rng(seed)
    y = rng.random(n) > 0.5
    views = {
        f"v{p}": scale * (rng.standard_normal((n, 4 + 3 * p)) + (p < 2) * y[:, None]) for p in range(4)
    }
    observed = rng.random((n, 4)) > absent
    observed[~observed.any(axis=1), 0] = True
    observed[observed.all(axis=1), 3] = False  # nobody has all
    return views, observed, y


def problem(seed, scale, absent=0.25):
    """Kernels whose values are about `scale`, with views absent, and labels."""
    views, observed, y = features(seed, absent=absent)
    K = [
        scale * v @ v.T if p % 2 else scale * np.exp(-distances(v) / v.shape[1])
        for p, v in enumerate(views.values())
    ]
    return KernelViews.from_dense(K, observed=observed), y


def distances(v):
    return ((v[:, None] - v[None]) ** 2).sum(-1)


def halves(kernels, n=120):
    """Every other sample to learn from, the others against these, and where they stand."""
    a, b = np.arange(0, n, 2), np.arange(1, n, 2)
    return kernels[np.ix_(a, a)], kernels[np.ix_(b, a)], a, b
