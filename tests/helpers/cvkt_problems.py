"""Problems of cross-view kernel transfer with published answers, for its tests."""

import numpy as np

from absentia import KernelViews, datasets, missingness


def factor_problem(n=60, n_views=4, width=7, seed=0):
    """The same incomplete linear kernels twice: as factors and as arrays."""
    rng = np.random.default_rng(seed)
    shared = rng.normal(size=(n, 3))
    keep = missingness.mcar((n, n_views), 0.3, random_state=seed)
    factors, arrays = {}, {}
    for v in range(n_views):
        Phi = shared @ rng.normal(size=(3, width)) + 0.3 * rng.normal(size=(n, width)) + 0.5
        ids = np.flatnonzero(keep[:, v])
        factors[f"view{v}"] = ids, Phi[ids]
        arrays[f"view{v}"] = ids, Phi[ids] @ Phi[ids].T
    return KernelViews.from_factors(factors), KernelViews.from_blocks(arrays)


def published(data_folder, name, level):
    data = datasets.load_benchmark(name, data_folder)
    keep = data.extra["masks"][level]
    return data.kernels, keep, data.kernels.hide(keep)


DIGITS = "cvkt_digits200_kernels"
