"""Filling with zero, the mean, or the nearest neighbours: what every other completer has to beat."""

from collections.abc import Sequence
from dataclasses import KW_ONLY, dataclass
from functools import cached_property
from typing import Any, Literal
from warnings import catch_warnings

import numpy as np
import scipy.sparse

from absentia.core import (
    TIE_RTOL,
    Array,
    Dense,
    Operator,
    PositiveInt,
    RandomState,
    argmin_key,
    estimator,
    evaluate_path,
    measure_spread,
    serializable,
    thin_operator,
)
from absentia.data import KernelViews
from absentia.methods.completion._base import Basis, Coordinates, Holdout, SubspaceCompleter


@estimator
class ZeroFill(SubspaceCompleter):
    """Absent rows and columns become zero, their diagonal too.

    Assumes nothing.  An absent sample is the zero vector: unlike everything, itself included.  The
    result is positive semidefinite whenever the observed kernel is.

    Examples
    --------
    >>> import numpy as np
    >>> from absentia import KernelViews, ZeroFill
    >>> kv = KernelViews.from_blocks({"a": ([0, 1], np.eye(2)), "b": ([0], [[1.0]])})
    >>> ZeroFill().fit_transform(kv).block("b")
    array([[1., 0.],
           [0., 0.]])
    """

    _requires_psd = False

    def _fit_model(self, X: KernelViews) -> None:
        self._bases = [Basis.of(K, np.zeros((K.shape[0], 0))) for K in map(X.operator, X.names)]
        self._coordinates = self._find_coordinates(X)

    def _find_coordinates(self, X: KernelViews) -> list[Coordinates]:
        return [Coordinates(np.zeros((n, 0)), np.zeros(n)) for n in (~X.observed).sum(axis=0)]


@serializable
@dataclass(frozen=True)
class _ConstantBasis(Basis):
    """One axis that has the same kernel value with every sample; no combination of samples has."""

    value: float

    def kernel_values(self, rows: Operator) -> Array:
        return np.full((rows.shape[0], 1), self.value)


@estimator
class MeanFill(SubspaceCompleter):
    """An absent sample becomes the mean of the observed ones.

    Parameters
    ----------
    of : {"features", "blocks", "entries"}, default "features"
        What is averaged.  ``"features"``: the mean sample in feature space.  Its kernel values are the
        observed kernel's row means, and with itself the mean of all entries: positive semidefinite
        whenever the observed kernel is.  ``"blocks"``: the same, but an absent sample's value with itself
        is the mean of the observed diagonal, so that a constant diagonal stays constant; positive
        semidefinite too, being the mean sample plus something orthogonal for each absent sample.
        ``"entries"``: every missing entry is the mean of all observed entries, as the papers do for
        comparison; that is in general *not* positive semidefinite.

    Examples
    --------
    >>> import numpy as np
    >>> from absentia import KernelViews, MeanFill
    >>> kv = KernelViews.from_blocks({"a": ([0, 1, 2], np.eye(3)), "b": ([0, 1], np.eye(2))})
    >>> MeanFill().fit_transform(kv).block("b")
    array([[1. , 0. , 0.5],
           [0. , 1. , 0.5],
           [0.5, 0.5, 0.5]])
    """

    of: Literal["features", "blocks", "entries"] = "features"

    _requires_psd = False

    def _fit_model(self, X: KernelViews) -> None:
        self._bases = [_mean_basis(X.operator(name), constant=self.of == "entries") for name in X.names]
        self._remainders = [0.0] * X.n_views
        if self.of == "blocks":
            diagonals = [X.diagonal(name) for name in X.names]
            means = [float(d.mean(dtype=np.float64)) if len(d) else 0.0 for d in diagonals]
            pairs = zip(means, self._bases, strict=True)
            self._remainders = [max(mean - float(basis.E[0, 0]), 0.0) for mean, basis in pairs]
        self._coordinates = self._find_coordinates(X)

    def _find_coordinates(self, X: KernelViews) -> list[Coordinates]:
        counts = (~X.observed).sum(axis=0)
        pairs = zip(counts, self._remainders, strict=True)
        return [Coordinates(np.ones((n, 1)), np.full(n, remainder)) for n, remainder in pairs]


def _mean_basis(K: Operator, *, constant: bool) -> Basis:
    """The mean sample as the only axis; `constant`: one that is equally like every sample."""
    m = K.shape[0]
    basis = Basis.of(K, np.full((m, 1), 1.0 / max(m, 1)))
    if not constant:
        return basis
    mean = float(basis.G.mean()) if m else 0.0
    return _ConstantBasis(basis.C, np.full((m, 1), mean), np.full((1, 1), mean), mean)


# -------------------------------------------------------------------------------------- nearest neighbours


#: Squared distances that differ by less, where their mean over pairs is one, are the same but for rounding.
_SAME = 1e-9
#: Distances that are held at a time; factors' eigenvalues below this part of the largest are rounding.
_MAX_DISTANCES, _SMALLEST = 1 << 18, 1e-12
#: Numbers of neighbours that are tried; the one that is taken where nothing can be tried.
_PATH, _DEFAULT = (1, 2, 3, 5, 8, 12, 20, 30), 5


def _mean_pair_distance(K: Operator) -> float:
    """Mean squared distance over all pairs of different samples: twice the features' sample variance."""
    return 2 * measure_spread(K) / max(K.shape[0] - 1, 1)


def _shared_distances(X: KernelViews, rows: Array, diagonals: list[Array], scales: list[float]) -> Array:
    """Mean over shared views of scaled squared distances, `rows` x columns; infinite where none is shared.

    `diagonals` are the column samples' kernel values with themselves, by view.  Where a view's scale is
    zero all its samples are alike, and their distances zero.
    """
    total, count = np.zeros((2, len(rows), X.shape[1]))
    for k, name in enumerate(X.names):
        has, present = X.observed[:, k], X.column_observed[:, k]
        shared = np.ix_(has[rows], present)
        if scales[k] > 0:
            inside = (np.cumsum(has) - 1)[rows[has[rows]]]
            K = X.operator(name).block(inside, np.arange(len(diagonals[k])))
            distances = X.diagonal(name)[inside, None] + diagonals[k][None, :] - 2 * K.astype(np.float64)
            total[shared] += np.maximum(distances, 0.0) / scales[k]  # rounding dips below zero
        count[shared] += 1
    return np.where(count > 0, total / np.maximum(count, 1), np.inf)


def _neighbour_weights(D: Array, k: int) -> Any:
    """Weights (sparse, rows x candidates) of the `k` nearest; none where all are infinitely far.

    Those as far as the k-th (to :data:`_SAME`) share the places that the nearer ones leave.
    """
    if not D.shape[1]:
        return scipy.sparse.csr_array(D.shape)
    k = min(k, D.shape[1])
    last = np.partition(D, k - 1, axis=1)[:, k - 1 : k]
    finite = np.isfinite(D)
    margin = _SAME * (1 + np.where(np.isfinite(last), last, 0.0))
    nearer = finite & (last - margin > D)
    tied = finite & (last + margin >= D) & ~nearer
    left = np.minimum(k - nearer.sum(axis=1), tied.sum(axis=1))
    A = nearer + tied * (left / np.maximum(tied.sum(axis=1), 1))[:, None]
    return scipy.sparse.csr_array(A / np.maximum(A.sum(axis=1, keepdims=True), 1e-300))


@estimator
class KNNFill(SubspaceCompleter):
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
    n_neighbors : int or "heldout", default "heldout"
        How many; fewer where fewer have the view and share another.  Samples equally far share the
        places that are left.  ``"heldout"`` hides a tenth of each view's observed samples and takes the
        number that completes them best (errors are kept in ``heldout_curve_``); views whose hidden
        samples the mean completes no worse are filled with the mean (``mean_views_``).  Where nothing
        can be hidden, 5, which is the default of scikit-learn's ``KNNImputer``.

    random_state : int, Generator, RandomState or None
        Of what ``"heldout"`` hides.  None: the fixed seed 0.

    Attributes
    ----------
    n_neighbors_ : int
    mean_views_ : tuple of str
        Views in which neighbours say no more than the mean: absent samples are the mean there.
    heldout_curve_ : dict
        Error by number of neighbours, for ``n_neighbors="heldout"``.
    names_in_, ids_

    Notes
    -----
    New samples (``transform``) find their neighbours among the training samples.  Time grows with the
    square of the number of samples; memory, of kernels given by factors, does not.

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

    n_neighbors: PositiveInt | Literal["heldout"] = "heldout"
    _: KW_ONLY
    random_state: RandomState = None

    _links = "direct"

    def _fit_model(self, X: KernelViews) -> None:
        self._train = X
        self._scales = [_mean_pair_distance(X.operator(name)) for name in X.names]
        if self.n_neighbors == "heldout":
            self.n_neighbors_, self.mean_views_ = self._select_by_holdout(X)
        else:
            self.n_neighbors_, self.mean_views_ = int(self.n_neighbors), ()
        self._coordinates = self._find_coordinates(X)

    @cached_property
    def _bases(self) -> list[Basis]:  # type: ignore[override]
        """Made again when first used: in a file, kernels stand for them."""
        X = self._require_training_kernels()
        return [_sample_basis(X.operator(name)) for name in X.names]

    def _select_by_holdout(self, X: KernelViews) -> tuple[int, tuple[str, ...]]:
        """The number of neighbours that best completes what is hidden; views where the mean does better."""
        holdout, self.heldout_curve_ = Holdout.of(X, self.random_state), {}
        if not holdout.n_hidden:
            return _DEFAULT, ()
        part, by_number = holdout.part, dict[int, dict[str, float]]()
        inner = KNNFill(_DEFAULT)
        with catch_warnings(action="ignore"):  # of gaps, once more
            inner.fit(part)
        weights = inner._find_neighbours(part, _PATH)

        def view_errors(k: int | None) -> dict[str, float]:
            coordinates = inner._locate_absent(part, weights, [k] * part.n_views)
            return holdout.errors(part.completed(inner._complete_square(part, inner._bases, coordinates)))

        def error(k: int) -> float:
            by_number[k] = view_errors(k)
            return float(np.mean(list(by_number[k].values())))

        self.heldout_curve_ = evaluate_path(_PATH, error)
        k = int(argmin_key(self.heldout_curve_))
        errors, of_mean = by_number[k], view_errors(None)
        return k, tuple(
            name for name in X.names if name in errors and of_mean[name] <= (1 + TIE_RTOL) * errors[name]
        )

    def _find_coordinates(self, X: KernelViews) -> list[Coordinates]:
        """Absent rows as combinations of the training samples that have the view."""
        numbers = [None if name in self.mean_views_ else self.n_neighbors_ for name in X.names]
        return self._locate_absent(X, self._find_neighbours(X, (self.n_neighbors_,)), numbers)

    def _find_neighbours(self, X: KernelViews, numbers: Sequence[int]) -> dict[int, list[Any]]:
        """By number of neighbours, for each view, weights of training samples in those that lack it.

        Distances are found for some rows at a time.
        """
        diagonals = [self._require_training_kernels().diagonal(name) for name in X.names]
        parts: dict[int, list[list[Any]]] = {k: [[] for _ in X.names] for k in numbers}
        incomplete = np.flatnonzero(~X.observed.all(axis=1))
        n_blocks = -(-len(incomplete) * X.shape[1] // _MAX_DISTANCES) or 1
        for rows in np.array_split(incomplete, n_blocks):
            D = _shared_distances(X, rows, diagonals, self._scales)
            for v, trained in enumerate(X.column_observed.T):
                distances = D[np.ix_(~X.observed[rows, v], trained)]
                for k in numbers:
                    parts[k][v].append(_neighbour_weights(distances, k))
        return {k: [scipy.sparse.vstack(p, format="csr") for p in views] for k, views in parts.items()}

    def _locate_absent(
        self, X: KernelViews, weights: dict[int, list[Any]], numbers: Sequence[int | None]
    ) -> list[Coordinates]:
        """Coordinates by `weights` of training samples, and numbers of neighbours (None: all)."""
        coordinates = []
        for v, (name, basis, k) in enumerate(zip(X.names, self._bases, numbers, strict=True)):
            n_absent, own = int((~X.observed[:, v]).sum()), self._require_training_kernels().diagonal(name)
            mean = np.full(len(own), 1 / max(len(own), 1))
            W = np.tile(mean if basis.C is None else mean @ basis.G, (n_absent, 1))
            squares = np.full(n_absent, mean @ own)
            if k is not None:
                A = weights[k][v]
                near = np.flatnonzero(np.diff(A.indptr))
                W[near] = A[near].toarray() if basis.C is None else A[near] @ basis.G
                squares[near] = A[near] @ own
            variance = squares - basis.squared_norms(W)  # of the neighbours
            coordinates.append(Coordinates(W, np.maximum(variance, 0.0)))
        return coordinates


def _sample_basis(K: Operator) -> Basis:
    """Every sample is an axis; of a kernel that is given by fewer factors, these are, of unit length."""
    K = thin_operator(K)
    if isinstance(K, Dense):
        return Basis(None, K.A, K.A)
    values, U = np.linalg.eigh(K.left.T @ K.left)
    solid = values > _SMALLEST * values[-1:].max(initial=0.0)
    G = K.left @ U[:, solid]
    return Basis(G / values[solid], G, np.eye(G.shape[1]))
