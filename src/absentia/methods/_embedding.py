"""A few coordinates per sample: the leading components of the sum of completed kernels (kernel PCA).

Each completed kernel is divided by its total variance, so that all views count alike, and the leading
principal components of the sum are found in feature space (B. Scholkopf, A. Smola, K.-R. Muller, Neural
Computation 10, 1998).  Kernels stay operators: none that is given by factors is formed.

Let ``K = sum_v w_v K_v`` and ``H = I - 11'/n``.  The components are the eigenvectors U of ``H K H`` and the
samples' coordinates ``U sqrt(lambda)``.  As the columns of U add up to zero, a new sample with kernel row k
has the coordinates ``(k U - m' U) / sqrt(lambda)``, m the row means of K: again one thin product.

Lanczos' method finds them from products ``K x`` alone.  It is given ``H K H + c I`` with c the trace: its
tolerance is relative to the eigenvalue, and that of a kernel of low rank may be zero.
"""

import inspect
from collections.abc import Callable, Sequence
from dataclasses import KW_ONLY, dataclass
from typing import Any, Self

import numpy as np
import scipy.linalg
from sklearn.base import ClassNamePrefixFeaturesOutMixin, TransformerMixin, clone
from sklearn.utils.validation import check_is_fitted

from absentia.core import (
    Array,
    Estimator,
    Operator,
    PositiveInt,
    estimator,
    make_generator,
    measure_spread,
    serializable,
)
from absentia.core.linalg import inverse_sqrt, symmetrize
from absentia.data import KernelViews, Presence, Views, check_square_kernels, order_kernels
from absentia.kernels import ViewKernels
from absentia.methods.catalogue import find

#: Up to so many samples eigenvectors are found of the whole matrix, which is quicker there.
_SMALL = 300
#: Eigenvalues below this share of the largest are rounding: the kernel has no such direction.
_NEGLIGIBLE = 1e-10
#: Entries within this of the largest are as large: which decides the sign does not hang on rounding.
_SAME = 1e-6


@serializable
@dataclass(frozen=True)
class _Components:
    """Directions of a centred kernel: orthonormal `vectors` (n x k) and their eigenvalues.

    Where the kernel has fewer than k directions the last columns and `values` are zero.  `total` is the sum
    of all eigenvalues, `offset` what is subtracted from ``rows @ vectors`` to centre new samples.
    """

    vectors: Array
    values: Array
    total: float
    offset: Array

    @property
    def scores(self) -> Array:
        """Coordinates of the samples themselves."""
        return np.asarray(self.vectors * np.sqrt(self.values))

    @property
    def shares(self) -> Array:
        """Part of all variance along each component."""
        return self.values / self.total if self.total > 0 else np.zeros(len(self.values))

    def project(self, along: Array) -> Array:
        """Coordinates of new samples, from their kernel rows times :attr:`vectors`."""
        return np.asarray((along - self.offset) * inverse_sqrt(self.values))


# --------------------------------------------------------------------------------------------- components


def _fused_components(kernels: KernelViews, n_components: int) -> tuple[_Components, Array]:
    """The components of the weighted sum of all kernels, and the weights.

    A view's weight is one over its total variance and the number of views, so that no view counts more for
    being on another scale; where all samples are one, it has none.
    """
    operators: list[Operator] = [kernels.operator(name) for name in kernels.names]
    variances = np.array([measure_spread(K) for K in operators])
    varies = variances > 0
    weights = np.where(varies, len(kernels) / np.where(varies, variances, 1.0), 0.0) / max(varies.sum(), 1)
    return _find_components(
        operators, weights.tolist(), n_components, order_kernels(kernels).samples
    ), weights


def _find_components(
    kernels: Sequence[Operator], weights: Sequence[float], k: int, order: Array
) -> _Components:
    """The `k` leading components of a weighted sum of kernels over the same samples.

    `order` are the samples' positions in canonical order: where Lanczos starts, and which of two equally
    large entries is made positive, goes with it.
    """
    n = len(order)

    def times(X: Array) -> Array:
        product = np.zeros(X.shape)
        for weight, K in zip(weights, kernels, strict=True):
            product += weight * (K @ X)
        return product

    total = sum(w * measure_spread(K) for w, K in zip(weights, kernels, strict=True))
    vectors, values = np.zeros((n, k)), np.zeros(k)
    count = min(k, max(n - 1, 0))
    if total > 0 and count:
        values[:count], vectors[:, :count] = _leading_eigenpairs(times, count, total, order)
    real = values > _NEGLIGIBLE * values.max(initial=0.0)
    values, vectors = np.where(real, values, 0.0), np.where(real, vectors, 0.0)
    vectors = vectors * _signs(vectors[order])
    means = times(np.full((n, 1), 1 / max(n, 1)))
    return _Components(vectors, values, total, (means.T @ vectors).ravel())


def _leading_eigenpairs(
    times: Callable[[Array], Array], k: int, total: float, order: Array
) -> tuple[Array, Array]:
    """Largest eigenvalues, and their vectors, of ``H K H``."""
    n = len(order)

    def times_centred(X: Array) -> Array:
        X = times(X - X.mean(axis=0))
        return np.asarray(X - X.mean(axis=0))

    if n <= max(_SMALL, 2 * k + 2):
        values, vectors = scipy.linalg.eigh(symmetrize(times_centred(np.eye(n))), check_finite=False)
        return values[::-1][:k], vectors[:, ::-1][:, :k]
    from scipy.sparse.linalg import LinearOperator, eigsh

    rng = make_generator(0)
    start = np.empty(n)
    start[order] = rng.standard_normal(n)
    shifted = LinearOperator(
        (n, n), lambda x: (times_centred(x.reshape(n, 1)) + total * x.reshape(n, 1)).ravel()
    )
    # SciPy 1.17 draws where Lanczos breaks down, and would draw anew each time
    seeded = {"rng": rng} if "rng" in inspect.signature(eigsh).parameters else {}
    values, vectors = eigsh(shifted, k, which="LA", v0=start, ncv=min(n, max(2 * k + 1, 20)), **seeded)
    down = np.argsort(-values, kind="stable")
    return values[down] - total, vectors[:, down]


def _signs(vectors: Array) -> Array:
    """Signs that make the largest entry of each column positive, of equally large ones the first."""
    if not len(vectors):
        return np.ones(vectors.shape[1])
    size = np.abs(vectors)
    first = np.argmax(size >= (1 - _SAME) * size.max(axis=0), axis=0)
    return np.where(vectors[first, np.arange(vectors.shape[1])] < 0, -1.0, 1.0)


# ----------------------------------------------------------------------------------------------- estimator

#: With more samples than this, transfer between views goes through so many landmarks of each.
_MAX_EXACT, _N_LANDMARKS = 2000, 500


@estimator
class ViewEmbedding(ClassNamePrefixFeaturesOutMixin, TransformerMixin, Estimator):  # type: ignore[misc]
    """A few coordinates per sample out of incomplete views: for plots, clusterings, and any other method.

    Views become kernels, absent rows are completed, and samples get their coordinates along the leading
    principal components of the sum of all kernels, each view with the same total variance.

    Parameters
    ----------
    n_components : int, default 20
        Number of columns; the last are zero where the kernels have fewer directions.
    completer : "auto", str or a completer, default "auto"
        ``"auto"``: ``CVKT(rounds=3)``, with 500 landmarks if there are more than 2000 samples;
        ``MeanFill()`` if no sample has two views, so that nothing can be learned of one from another.  A
        text is a name of the catalogue, such as ``"mkmc-pca"``.
    kernel : str, callable or ViewKernels, default "rbf"
        How :class:`absentia.Views` become kernels.  :class:`absentia.KernelViews` are taken as they are;
        ``"precomputed"`` makes scikit-learn split them by rows and columns.

    Attributes
    ----------
    embedding_ : ndarray of shape (n_samples, n_components)
        Coordinates of the training samples, in the order of ``ids_``.
    explained_variance_, explained_variance_ratio_ : ndarray of shape (n_components,)
        Variance along each component, and its share of all variance of the completed kernels.
    weights_ : ndarray of shape (n_views,)
        By which each kernel is multiplied.
    completer_ : a fitted completer
    kernels_ : ViewKernels or None
    names_in_, ids_

    Examples
    --------
    >>> from absentia import ViewEmbedding, datasets, missingness
    >>> views = datasets.load_digit_views(n_samples=60).views
    >>> views = views.hide(missingness.mcar(views, 0.3, random_state=0))
    >>> embedding = ViewEmbedding(2).fit(views[:50])
    >>> embedding.transform(views[50:]).shape
    (10, 2)
    """

    n_components: PositiveInt = 20
    _: KW_ONLY
    completer: Any = "auto"
    kernel: str | Callable[[Any, Any], Any] | ViewKernels = "rbf"

    @property
    def _pairwise(self) -> bool:  # type: ignore[override]
        return bool(isinstance(self.kernel, str) and self.kernel == "precomputed")

    @property
    def _n_features_out(self) -> int:
        return int(self.n_components)

    def fit(self, X: Views | KernelViews, y: Any = None) -> Self:
        """Learn kernels, completion and components from incomplete training samples."""
        self._check_parameters()
        self.kernels_ = self._make_kernels() if isinstance(X, Views) else None
        kernels = check_square_kernels(X if self.kernels_ is None else self.kernels_.fit_transform(X))
        self.completer_ = make_completer(self.completer, kernels)
        self._components, self.weights_ = _fused_components(
            self.completer_.fit_transform(kernels), int(self.n_components)
        )
        self.embedding_ = self._components.scores
        self.explained_variance_ = self._components.values / len(kernels)
        self.explained_variance_ratio_ = self._components.shares
        self.names_in_, self.ids_ = kernels.names, kernels.ids
        return self

    def fit_transform(self, X: Views | KernelViews, y: Any = None, **fit_params: Any) -> Any:
        """Learn, and return the coordinates of the training samples."""
        return self._with_ids(self.fit(X).embedding_, self.ids_)

    def transform(self, X: Views | KernelViews) -> Any:
        """Coordinates of new samples: their completed kernel rows, projected on the components.

        Training samples that come again as new ones are completed as new ones: only those that lack no view
        get the coordinates of training to the last digits.
        """
        check_is_fitted(self, "embedding_")
        rows = self.completer_.transform(self._kernel_rows(X))
        along = np.zeros((len(rows), int(self.n_components)))
        for weight, name in zip(self.weights_.tolist(), rows.names, strict=True):
            along += weight * (rows.operator(name) @ self._components.vectors)
        return self._with_ids(self._components.project(along), rows.ids)

    def _kernel_rows(self, X: Views | KernelViews) -> KernelViews:
        """Kernels of the samples of `X` with those of training."""
        if isinstance(X, KernelViews) and self.kernels_ is None:
            return X
        if isinstance(X, Views) and self.kernels_ is not None:
            return self.kernels_.transform(X)
        wanted = "KernelViews" if self.kernels_ is None else "Views"
        raise TypeError(f"{wanted} are wanted, as in training, not {type(X).__name__}")

    def _make_kernels(self) -> ViewKernels:
        if isinstance(self.kernel, ViewKernels):
            return clone(self.kernel)
        if self._pairwise:
            raise TypeError("KernelViews are wanted with kernel='precomputed', not Views")
        return ViewKernels(self.kernel)


def make_completer(completer: Any, kernels: Presence) -> Any:
    """An unfitted completer: "auto", a name of the catalogue, or one that is copied."""
    if not isinstance(completer, str):
        return clone(completer)
    if completer != "auto":
        return find(completer, "completer").make()
    if (kernels.observed.sum(axis=1) < 2).all():
        return find("mean", "completer").make()
    return find("cvkt", "completer").make(
        rounds=3, n_landmarks=_N_LANDMARKS if len(kernels) > _MAX_EXACT else None
    )


def embed(
    data: Views | KernelViews, n_components: int = 20, *, completer: Any = "auto", kernel: Any = "rbf"
) -> Array:
    """A few coordinates for each sample of incomplete views or kernels, in the order of ``data.ids``.

    Parameters
    ----------
    data : Views or KernelViews
        Samples, some of whose views are absent.
    n_components, completer, kernel : optional
        As in :class:`ViewEmbedding`, which also takes new samples.

    Returns
    -------
    ndarray of shape (n_samples, n_components)

    Examples
    --------
    >>> import absentia
    >>> from absentia import datasets, missingness
    >>> views = datasets.load_digit_views(n_samples=60).views
    >>> absentia.embed(views.hide(missingness.mcar(views, 0.3, random_state=0)), 2).shape
    (60, 2)
    """
    if not isinstance(data, Views | KernelViews):
        raise TypeError(
            f"Views or KernelViews are wanted, not {type(data).__name__}; "
            "build them with Views.from_dict({'name': table, ...})"
        )
    if isinstance(completer, str) and completer == "auto" and data.observed.all():
        completer = "zero"  # nothing is to be completed
    return ViewEmbedding(n_components, completer=completer, kernel=kernel).fit(data).embedding_
