"""Filling from nearest neighbours, found in the views that samples share.

The kernel form of what is done to tables: O. Troyanskaya et al., Missing value estimation methods for DNA
microarrays, Bioinformatics 17(6), 520-525, 2001.

Model
-----
Samples that are close in the views they share are close in the others.  In a view's feature space the
squared distance of samples i and t is ``k(i, i) + k(t, t) - 2 k(i, t)``; divided by its mean over the pairs
of samples the view sees, it is averaged over the views that both have.  An absent sample's features are
the weighted mean of its nearest neighbours' among the samples that have the view, ``sum_i a_ti phi_i``
with weights that are not negative and sum to one.  With K the observed kernel and the rows a_t in A,

    K_ho = A K,     K_hh = A K A' + diag(s),     s_t = sum_i a_ti k(i, i) - (A K A')_tt >= 0.

s is the neighbours' variance about their mean.  With it the kernel is the expected one when an absent
sample is one of its neighbours, drawn at random by weight.  Without it (``spread=False``) it is the kernel
of the means themselves, which lie closer to the origin than the samples do.
"""

from __future__ import annotations

from numbers import Integral
from typing import Any, Literal

import numpy as np
import scipy.sparse

from absentia.core import Array, symmetrize
from absentia.data import KernelViews
from absentia.methods.base import Completer, Recipe
from absentia.methods.completion._combined import alike, check_fillable, warn_of_strangers

#: Squared distances that differ by less, where their mean over pairs is one, are the same but for rounding.
SAME = 1e-9


def squared_distances(K: Array, rows: Array, columns: Array) -> Array:
    """Squared distances in feature space from kernel values and own values; rounding dips below zero."""
    return np.asarray(np.maximum(rows[:, None] + columns[None, :] - 2 * K, 0.0))


def mean_pair_distance(K: Array) -> float:
    """Mean squared distance over all pairs of different samples: twice the features' sample variance."""
    m = len(K)
    if alike(K):
        return 0.0
    variance = float(np.diagonal(K).mean(dtype=np.float64)) - float(K.mean(dtype=np.float64))
    return 2 * variance * m / (m - 1)


def shared_distances(X: KernelViews, own: list[Array], scales: list[float]) -> Array:
    """Mean over shared views of scaled squared distances, rows x columns; infinite where none is shared.

    `own` holds the column samples' own values in each view.  Where a view's scale is zero all its samples
    are alike, and their distances zero.
    """
    total, count = np.zeros(X.shape), np.zeros(X.shape)
    for k, name in enumerate(X.names):
        shared = np.ix_(X.observed[:, k], X.column_observed[:, k])
        if scales[k] > 0:
            K = np.asarray(X.block(name), dtype=np.float64)
            total[shared] += squared_distances(K, X.diagonal(name), own[k]) / scales[k]
        count[shared] += 1
    return np.where(count > 0, total / np.maximum(count, 1), np.inf)


def neighbour_weights(D: Array, k: int, weights: str) -> Any:
    """Weights (sparse, rows x candidates) of the `k` nearest; of all alike where all are infinitely far.

    Those as far as the k-th (to :data:`SAME`) share the places that the nearer ones leave.
    """
    if not D.shape[1]:
        return scipy.sparse.csr_array(D.shape)
    k = min(k, D.shape[1])
    last = np.partition(D, k - 1, axis=1)[:, k - 1 : k]
    finite = np.isfinite(D)
    margin = SAME * (1 + np.where(np.isfinite(last), last, 0.0))
    nearer = finite & (last - margin > D)
    tied = finite & (last + margin >= D) & ~nearer
    left = np.minimum(k - nearer.sum(axis=1), tied.sum(axis=1))
    A = nearer + tied * (left / np.maximum(tied.sum(axis=1), 1))[:, None]
    if weights == "distance":
        touching = (A > 0) & (D <= SAME)  # these share all the weight
        A = A * np.where(touching.any(axis=1)[:, None], touching, 1 / np.sqrt(np.maximum(D, SAME)))
    A[~finite.any(axis=1)] = 1.0
    return scipy.sparse.csr_array(A / A.sum(axis=1, keepdims=True))


class KNNFill(Completer):
    """An absent sample becomes the average, in feature space, of its nearest neighbours that have the view.

    Neighbours are found by kernel distances averaged over the views that two samples share.  Completed
    kernels keep their observed block to the last bit and are positive semidefinite.

    Assumes that samples close in some views are close in the others, and that there are enough samples
    for neighbours to be close.  It fails where the shared views do not tell what matters in the absent
    one, where two samples share few views (a mean over one view is trusted like a mean over five), and
    for outliers, which become like everybody else.  Averaging blurs: what neighbours differ in is lost.
    A sample that shares no view with anyone who has the absent one becomes the mean, with a warning.

    Parameters
    ----------
    n_neighbors : int, default 5
        How many; fewer where fewer have the view and share another.  Samples equally far share
        the places that are left.  The default is that of scikit-learn's ``KNNImputer``.
    weights : {"uniform", "distance"}, default "uniform"
        All neighbours alike, or by the inverse of their distance.
    spread : bool, default True
        Whether an absent sample's own value is the mean of its neighbours', so that kernels of constant
        diagonal keep it, or the smaller one of the neighbours' average.

    Notes
    -----
    New samples (``transform``) find their neighbours among the training samples.  Memory and time grow
    with the square of the number of samples.

    Examples
    --------
    >>> import numpy as np
    >>> from absentia import KNNFill, KernelViews
    >>> x = np.array([0.0, 0.1, 5.0, 5.1])
    >>> K = np.exp(-((x[:, None] - x) ** 2))
    >>> kv = KernelViews.from_blocks({"a": ([0, 1, 2, 3], K), "b": ([0, 1, 2], K[:3, :3])})
    >>> KNNFill(1).fit_transform(kv).block("b")[3].round(2)     # the last sample becomes the one before it
    array([0., 0., 1., 1.])
    """

    recipes = {"knn": Recipe({}, "many samples, close ones alike in every view; quick, no model")}

    def __init__(
        self,
        n_neighbors: int = 5,
        *,
        weights: Literal["uniform", "distance"] = "uniform",
        spread: bool = True,
    ) -> None:
        self.n_neighbors = n_neighbors
        self.weights = weights
        self.spread = spread

    def _learn(self, X: KernelViews) -> None:
        self._check_parameters()
        check_fillable(X, chained=False)
        self._train = X
        self._scales = [mean_pair_distance(X.block(name)) for name in X.names]
        self._A = self._weights(X)

    def _weights(self, X: KernelViews) -> list[Any]:
        """For each view, absent rows as combinations of the training samples that have it."""
        D = shared_distances(X, [self._train.diagonal(name) for name in X.names], self._scales)
        return [
            neighbour_weights(D[np.ix_(~there, has)], int(self.n_neighbors), self.weights)
            for there, has in zip(X.observed.T, X.column_observed.T, strict=True)
        ]

    def _fill(self, X: KernelViews) -> dict[str, Array]:
        kernels = {}
        for name, A, there in zip(X.names, self._A, X.observed.T, strict=True):
            K, block = np.zeros(X.shape), X.block(name)
            AK = A @ np.asarray(block, dtype=np.float64)
            K[np.ix_(there, there)] = block
            K[np.ix_(~there, there)] = AK
            K[np.ix_(there, ~there)] = AK.T
            within = symmetrize(AK @ A.T)
            within[np.diag_indices_from(within)] += self._spread(A, within.diagonal(), X.diagonal(name))
            K[np.ix_(~there, ~there)] = within
            kernels[name] = K
        return kernels

    def _spread(self, A: Any, of_mean: Array, own: Array) -> Array:
        """How much the neighbours vary about their mean."""
        return np.maximum(A @ own - of_mean, 0.0) if self.spread else np.zeros(A.shape[0])

    def _fill_rows(self, X: KernelViews) -> tuple[dict[str, Array], dict[str, Array]]:
        warn_of_strangers(X, chained=False)
        blocks, diagonals = {}, {}
        new = self._weights(X)
        for k, name in enumerate(X.names):
            there, has = X.observed[:, k], X.column_observed[:, k]
            K = np.asarray(self._train.block(name), dtype=np.float64)
            full, own = np.zeros(X.shape), np.zeros(len(X))
            AK = new[k] @ K
            full[np.ix_(there, has)] = X.block(name)
            full[np.ix_(there, ~has)] = X.block(name) @ self._A[k].T
            full[np.ix_(~there, has)] = AK
            full[np.ix_(~there, ~has)] = AK @ self._A[k].T
            of_mean = (new[k] * AK).sum(axis=1)
            own[there] = X.diagonal(name)
            own[~there] = of_mean + self._spread(new[k], of_mean, self._train.diagonal(name))
            blocks[name], diagonals[name] = full, own
        return blocks, diagonals

    def _check_parameters(self) -> None:
        if not isinstance(self.n_neighbors, Integral) or self.n_neighbors < 1:
            raise ValueError(f"n_neighbors >= 1 is wanted, a whole number; got {self.n_neighbors!r}")
        if self.weights not in ("uniform", "distance"):
            raise ValueError(f"weights must be 'uniform' or 'distance', not {self.weights!r}")
