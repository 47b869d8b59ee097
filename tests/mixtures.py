"""Made-up kernels of views that come in groups, for tests of several model kernels."""

import numpy as np

from absentia import KernelViews, missingness


def grouped_kernels(n, n_views, *, hidden, n_groups=2, seed=0):
    """Linear kernels of 40 features: views in turn of one group and another, four factors for each."""
    rng = np.random.default_rng(seed)
    factors = rng.standard_normal((n_groups, n, 4))
    K = []
    for k in range(n_views):
        X = factors[k % n_groups] @ rng.standard_normal((4, 40)) + 0.7 * rng.standard_normal((n, 40))
        K.append(X @ X.T / 160)
    keep = missingness.fixed_per_view((n, n_views), hidden, random_state=seed) if hidden else None
    return KernelViews.from_dense(np.array(K), observed=keep)
