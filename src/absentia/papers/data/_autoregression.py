"""Vector autoregression whose parameters change now and then: the simulation of the CVKT paper.

Huusari, Capponi, Villoutreix and Kadri, "Cross-view kernel transfer", Pattern Recognition 129 (2022),
section 4.3.1: 100 samples of an autoregression of memory 1 whose parameters are changed periodically, seven
views that are overlapping groups of columns of the matrix of all samples, an RBF kernel of each.  The paper
gives no parameters; these are ours.
"""

import numpy as np
from scipy.stats import ortho_group
from sklearn.utils import Bunch

from absentia.core import Array, RandomState, generator
from absentia.data import Views
from absentia.kernels import ViewKernels


def make_var_views(
    n_samples: int = 100,
    n_views: int = 7,
    *,
    n_features: int = 32,
    width: int = 8,
    period: int = 20,
    n_regimes: int = 3,
    memory: float = 0.8,
    noise: float = 0.3,
    random_state: RandomState = None,
) -> Bunch:
    r"""Overlapping views of one time series whose law changes periodically, and their RBF kernels.

    Sample t is :math:`x_t = c_r + A_r x_{t-1} + \sigma e_t` with standard normal e and the regime
    :math:`r = \lfloor t / period \rfloor \bmod n\_regimes`.  Each :math:`A_r` is `memory` times a random
    orthogonal matrix, so no sequence of regimes grows without bounds, and at any time the deviation from
    the mean has covariance :math:`\sigma^2 / (1 - memory^2)\, I`; each :math:`c_r` is standard normal.
    A view is `width` neighbouring columns, from the first for the first view to the last for the last.

    Parameters
    ----------
    n_samples, n_views, n_features : int
        How many samples, views, and columns of the whole series.
    width : int
        Columns of each view; neighbours have to share some.
    period : int
        Samples from one change of parameters to the next.
    n_regimes : int
        Sets of parameters, which take turns.
    memory : float
        From 0 to below 1: how much of a sample is the one before.
    noise : float
        Standard deviation of what is new in each sample.
    random_state : int, Generator, RandomState or None
        Source of randomness; None: the fixed seed 0.

    Returns
    -------
    Bunch
        ``views`` and ``kernels`` (complete), ``series`` (n, n_features), ``columns`` (list of ndarray),
        ``regime`` (n,), ``transitions`` (n_regimes, n_features, n_features), ``intercepts`` (n_regimes,
        n_features).

    Examples
    --------
    >>> data = make_var_views(random_state=0)
    >>> data.kernels.shape, data.views.n_views
    ((100, 100), 7)
    >>> [int(columns[0]) for columns in data.columns]
    [0, 4, 8, 12, 16, 20, 24]
    """
    if not 0 <= memory < 1:
        raise ValueError(
            f"memory={memory}; from 0 to below 1 is wanted, or the series grows without bounds"
        )
    if min(n_samples, n_views, n_regimes, period) < 1 or n_features < 2 or noise < 0:
        raise ValueError("a sample, a view, a regime, a period of 1 and two columns at least are wanted")
    columns, rng = _groups(n_features, n_views, width), generator(random_state)
    A = memory * np.reshape(
        ortho_group.rvs(n_features, n_regimes, random_state=rng), (n_regimes, n_features, -1)
    )
    c = rng.standard_normal((n_regimes, n_features))
    regime = np.arange(n_samples) // period % n_regimes
    series = _series(rng, A, c, regime, noise)
    views = Views.from_dict({f"view{v}": series[:, own] for v, own in enumerate(columns)})
    kernels = ViewKernels("rbf").fit_transform(views)
    truth = {"series": series, "columns": columns, "regime": regime, "transitions": A, "intercepts": c}
    return Bunch(views=views, kernels=kernels, **truth)


def _groups(n_features: int, n_views: int, width: int) -> list[Array]:
    """Columns of each view, evenly spread, neighbours sharing some."""
    if not 1 <= width <= n_features:
        raise ValueError(f"width={width} of {n_features} columns; from 1 to {n_features} is wanted")
    starts = np.linspace(0, n_features - width, n_views).round().astype(int)
    if (np.diff(starts) >= width).any():
        raise ValueError(
            f"{n_views} views of {width} columns do not overlap among {n_features}; give wider or more"
        )
    return [np.arange(start, start + width) for start in starts]


def _series(rng: np.random.Generator, A: Array, c: Array, regime: Array, noise: float) -> Array:
    """All samples, the first drawn from what its regime would lead to if it lasted."""
    n, d = len(regime), A.shape[1]
    fresh = noise * rng.standard_normal((n, d))
    shrink = np.linalg.norm(A[0], 2)
    X = np.empty((n, d))
    X[0] = np.linalg.solve(np.eye(d) - A[0], c[0]) + fresh[0] / np.sqrt(1 - shrink**2)
    for t in range(1, n):
        X[t] = c[regime[t]] + A[regime[t]] @ X[t - 1] + fresh[t]
    return X
