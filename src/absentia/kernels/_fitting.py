"""How one view becomes a kernel: kernel functions, features filled and standardised, centring, factors.

The pieces of :class:`absentia.ViewKernels`; each is learned on the training samples of one view.  A kernel
of many samples is given as ``Phi Phi'`` with thin factors Phi, and never formed.
"""

from collections.abc import Callable, Iterator
from dataclasses import dataclass
from functools import cached_property, lru_cache, partial
from typing import Any

import numpy as np
import scipy.sparse
from scipy.spatial.distance import pdist
from sklearn.metrics import pairwise
from sklearn.utils.extmath import safe_sparse_dot

from absentia.core import (
    Array,
    available_memory,
    check_memory,
    copy_with,
    format_bytes,
    make_generator,
    serializable,
    warn,
)
from absentia.core.linalg import inverse_sqrt, squared_distances, symmetrize
from absentia.data import MANY_SAMPLES, AbsenceWarning, ChunkedTable, Moments, round_sizes

#: Up to so many samples kernels are made whole, if there is memory for them.
_MAX_WHOLE = MANY_SAMPLES
_COPIES = 3  # of the kernels: as they come, normalised, and what is made of them
_MEMORY_DIVISOR = 2  # whole kernels may take this part of the memory that is free
_BLOCK_NUMBERS = 2**19  # features of so many samples at a time as are these numbers, in double precision
_MIN_BLOCK, _MAX_BLOCK = 256, 4096  # such samples at least, and at most
_TILE = 256  # rows and columns of a kernel at a time
#: Rounding of single precision is divided by the root of a landmarks' eigenvalue: from here on, little.
_MIN_SINGLE = 1e-2

# ------------------------------------------------------------------------- features, a block at a time


def _row_blocks(n: int, width: int) -> Iterator[slice]:
    """Up to `n`, so many rows of `width` numbers at a time as stay in a processor's cache."""
    size = min(max(_BLOCK_NUMBERS // max(width, 1), _MIN_BLOCK), _MAX_BLOCK)
    return (slice(a, min(a + size, n)) for a in range(0, n, size))


class _PreparedRows:
    """Features in memory of which rows are prepared for a kernel when they are taken, and not before."""

    def __init__(self, X: Array, prepare: Callable[[Array], Array]) -> None:
        self.X, self.prepare, self.shape = X, prepare, X.shape

    def __getitem__(self, rows: Any) -> Array:
        return self.prepare(self.X[rows])

    @cached_property
    def lengths(self) -> Array:
        """``|x|^2`` of every prepared row."""
        blocks = _row_blocks(*self.shape)
        return np.concatenate([np.zeros(0), *(squared_norms(self[rows]) for rows in blocks)])


# --------------------------------------------------------------------------------- kernel functions


def _rbf(X: Any, Y: Any, gamma: float) -> Array:
    """``exp(-gamma |x - y|^2)``; of the same samples symmetric to the bit, and computed once for a pair."""
    if scipy.sparse.issparse(X) or scipy.sparse.issparse(Y):
        return np.asarray(pairwise.rbf_kernel(X, Y, gamma=gamma))
    K, gamma = X @ Y.T, X.dtype.type(gamma)
    rows, columns = gamma * squared_norms(X), gamma * squared_norms(Y)
    for a in range(0, len(K), _TILE):
        for b in range(a if X is Y else 0, K.shape[1], _TILE):
            part = K[a : a + _TILE, b : b + _TILE]
            part *= 2 * gamma
            part -= rows[a : a + _TILE, None] + columns[b : b + _TILE]
            np.minimum(part, 0, out=part)
            np.exp(part, out=part)
            if X is Y and b > a:
                K[b : b + _TILE, a : a + _TILE] = part.T
    if X is Y:
        np.fill_diagonal(K, 1.0)
    return np.asarray(K)


def _tanimoto(X: Any, Y: Any) -> Array:
    """``<x, y> / (|x|^2 + |y|^2 - <x, y>)``; two zero vectors are alike (1)."""
    inner = pairwise.linear_kernel(X, Y)
    union = squared_norms(X)[:, None] + squared_norms(Y)[None, :] - inner
    return np.divide(inner, union, out=np.ones_like(inner), where=union > 0)


def _jaccard(X: Any, Y: Any) -> Array:
    """Shared over present features, a feature being present where it is not zero."""
    return _tanimoto((X != 0).astype(np.float64), (Y != 0).astype(np.float64))


def squared_norms(X: Any) -> Array:
    """``|x|^2`` of every row, dense, sparse or in chunks."""
    if isinstance(X, _PreparedRows):
        return X.lengths
    if isinstance(X, ChunkedTable):
        lengths = np.zeros(X.shape[0])
        for places, values in X.map(squared_norms):
            lengths[places] = values
        return lengths
    if scipy.sparse.issparse(X):
        return np.asarray(X.multiply(X).sum(axis=1)).ravel()
    return np.einsum("ij,ij->i", X, X)


def _ones(X: Any, **_: Any) -> Array:
    return np.ones(X.shape[0])


def _nonzero(X: Any) -> Array:
    return (squared_norms(X) > 0).astype(np.float64)


def _polynomial_diagonal(X: Any, degree: float, coef0: float) -> Array:
    return (squared_norms(X) / X.shape[1] + coef0) ** degree


@dataclass(frozen=True)
class _Kernel:
    """A kernel function, its diagonal, and what it wants of its features."""

    function: Callable[..., Array]
    diagonal: Callable[..., Array] = _ones
    metric: str | None = None  # distance whose median sets the width; None: the kernel has no width
    standardize: bool = False  # whether standardised features make sense for it
    nonnegative: bool = False
    dense: bool = False  # does not take sparse matrices
    parameters: tuple[str, ...] = ()


def _linear(A: Any, B: Any) -> Array:
    return np.asarray(safe_sparse_dot(A, B.T, dense_output=True))


KERNELS: dict[str, _Kernel] = {
    "rbf": _Kernel(_rbf, metric="sqeuclidean", standardize=True),
    "laplacian": _Kernel(pairwise.laplacian_kernel, metric="cityblock", standardize=True, dense=True),
    "linear": _Kernel(_linear, squared_norms, standardize=True),
    "polynomial": _Kernel(
        pairwise.polynomial_kernel, _polynomial_diagonal, standardize=True, parameters=("degree", "coef0")
    ),
    "chi2": _Kernel(pairwise.chi2_kernel, metric="chi2", nonnegative=True, dense=True),
    "cosine": _Kernel(pairwise.cosine_similarity, _nonzero),
    "tanimoto": _Kernel(_tanimoto),
    "jaccard": _Kernel(_jaccard),
}


def _median_distance(X: Any, metric: str, limit: int = 1000) -> float:
    """Median pairwise distance over at most `limit` rows of `X`.

    Of more they are evenly spaced among all from the shortest to the longest: the order of rows does not
    matter, unless those at the places taken are equally long.
    """
    many = X.shape[0] > limit
    X = X[_order_by_length(X)[np.linspace(0, X.shape[0] - 1, limit).astype(int)] if many else slice(None)]
    X = X.toarray() if scipy.sparse.issparse(X) else np.asarray(X)
    if len(X) < 2:
        return 0.0
    if metric == "sqeuclidean":
        centred = X - X.mean(axis=0, dtype=np.float64)
        median = _median_above_diagonal(squared_distances(centred, centred))
        # nearer than that to their mean's distance, differences of products would have lost digits
        if median > 1e-3 * float(squared_norms(centred).mean()):
            return median
    if metric == "chi2":
        return _median_above_diagonal(-pairwise.additive_chi2_kernel(X))
    return float(np.median(pdist(X, metric)))


def _median_above_diagonal(D: Array) -> float:
    return float(np.median(D[np.triu(np.ones(D.shape, dtype=bool), k=1)]))


def _order_by_length(X: Any) -> Array:
    """Positions of rows from the shortest to the longest: an order that the data decide."""
    return np.argsort(round_sizes(squared_norms(X)), kind="stable")


# ----------------------------------------------------------------------- one view, fitted: features


@serializable
@dataclass(frozen=True)
class KernelOptions:
    """How one view becomes a kernel; see :class:`ViewKernels`."""

    kernel: str | Callable[[Any, Any], Array]
    gamma: float | str
    standardize: bool
    clip: float | None
    log: bool
    normalize: str | None
    center: bool
    missing_values: str
    degree: float
    coef0: float
    approx: str | None
    n_landmarks: int


@serializable
class FeatureKernel:
    """A kernel computed from features, which are filled and standardised as in training."""

    gamma: float | None = None

    def __init__(self, name: str, X: Any, options: KernelOptions, groups: Array | None = None) -> None:
        self.name, self.options = name, options
        self._learn_features(X, groups)
        self.X = self.prepare_new(X, checked=True)
        if self.kernel.metric is not None:
            self.gamma = self._find_gamma(self.kernel.metric)

    @cached_property
    def kernel(self) -> _Kernel:
        return _find_kernel(self.name, self.options.kernel)

    def select_samples(self, rows: Array) -> Any:
        """The same, against fewer training samples."""
        return copy_with(self, X=self.X[rows]) if self.X.shape[0] else self

    def without_samples(self) -> Any:
        """The same without the features of training samples, which factors do without."""
        return copy_with(self, X=np.zeros((0, len(self.fill))))

    def sum_samples(self, coefficients: Array) -> Any:
        """The same, against weighted sums of training samples; `coefficients` are sums x samples."""
        if self.options.kernel != "linear":
            raise ValueError(
                f"view {self.name!r}: sums stand in for training samples with linear kernels, and with rbf "
                f"ones given by random Fourier features (approx='rff'), not with {self.options.kernel!r}"
            )
        return copy_with(self, X=np.asarray(self.X.T @ coefficients.T).T)

    def new_rows(self, X: Any) -> tuple[Array, Array]:
        """Kernel of new samples with those of training, and its values with themselves."""
        X = self.prepare_new(X)
        return self.values(X, self.X), np.asarray(
            self.kernel.diagonal(X, **self._keywords), dtype=np.float64
        )

    def prepare_new(self, X: Any, checked: bool = False) -> Any:
        """Features of new samples, checked, filled and standardised as in training.

        Of kernels given by factors that is done when rows are taken, some at a time.
        """
        if isinstance(X, ChunkedTable):
            return X.apply(self.without_samples().prepare_chunk, X.shape[1], np.float64)
        if not checked:
            self._check_features(X)
        if self.options.approx and not scipy.sparse.issparse(X):
            return _PreparedRows(X, self._prepare_rows)
        return self._prepare_rows(X)

    def prepare_chunk(self, X: Any) -> Any:
        """Some samples' features, checked, filled and standardised as in training."""
        return self._standardize(self._check_chunk(X))

    def _check_chunk(self, X: Any) -> Any:
        """Features, or their logarithms, if the kernel can do with them."""
        self._check_features(X)
        return self._take_logarithms(X)

    def _prepare_rows(self, X: Any) -> Any:
        """Features that have been checked, filled and standardised as in training."""
        return self._standardize(self._take_logarithms(X))

    def _check_features(self, X: Any) -> None:
        """Raise if the kernel cannot do with these features."""
        sparse = scipy.sparse.issparse(X)
        if not sparse and not self._looks_at_values:
            return
        data = X.data[:, None] if sparse else X
        parts = [data[rows] for rows in _row_blocks(*data.shape)]
        missing = sum(int(np.isnan(part).sum()) for part in parts)
        if missing and (sparse or self.options.missing_values == "error"):
            raise ValueError(
                f"view {self.name!r}: {missing} value(s) are missing inside observed samples; "
                "fill them first, or use missing_values='mean' (dense views only)"
            )
        lowest = min((float(np.fmin.reduce(part, axis=None)) for part in parts), default=0.0)
        if (self.kernel.nonnegative or self.options.log) and lowest < 0:
            what = f"the {self.options.kernel} kernel is" if self.kernel.nonnegative else "logarithms are"
            raise ValueError(
                f"view {self.name!r}: {what} for counts and frequencies, but the lowest value is "
                f"{lowest:.4g}; do without for this view"
            )

    def _take_logarithms(self, X: Any) -> Any:
        return np.log1p(X) if self.options.log else X

    @property
    def _looks_at_values(self) -> bool:
        """Whether :meth:`_check_features` may refuse or change some."""
        return self.options.log or self.kernel.nonnegative or self.options.missing_values == "error"

    def _learn_features(self, X: Any, groups: Array | None) -> None:
        """Mean and deviation of every feature over the observed training rows.

        `groups` says which features are levels of one category: together they vary as much as a number.
        """
        standardize = self.options.standardize and self.kernel.standardize
        if scipy.sparse.issparse(X):
            X = self._check_chunk(X)
            mean, std, largest = np.zeros(X.shape[1]), _sparse_std(X), _largest(X)
        else:
            moments = self._find_moments(X)
            mean, std, largest = moments.means, moments.deviations, moments.largest
        empty = np.isnan(mean)
        if empty.any() and X.shape[0]:
            warn(
                f"view {self.name!r}: {int(empty.sum())} feature(s) have no value in any training sample "
                "and are ignored",
                AbsenceWarning,
            )
        self.fill = np.where(empty, 0.0, mean)
        self.center = standardize
        # a constant feature's deviation is rounding, not zero
        varies = std > 1e-14 * largest
        if groups is not None:
            total = np.sqrt(np.bincount(groups, np.where(varies, std, 0.0) ** 2))[groups]
            std, varies = total, total > 0
        self.scale = np.where(varies, std, 1.0) if standardize else np.ones(X.shape[1])

    def _find_moments(self, X: Any) -> Moments:
        """Of every feature, or of its logarithms, some samples at a time."""
        if isinstance(X, ChunkedTable):
            return X.moments(self._check_chunk if self._looks_at_values else None)
        self._check_features(X)
        moments = Moments.of(np.zeros((0, X.shape[1])))
        for rows in _row_blocks(*X.shape):
            moments = moments + Moments.of(self._take_logarithms(X[rows]))
        return moments

    def _standardize(self, X: Any) -> Any:
        limit = (self.options.clip if self.center else None) or np.inf
        if scipy.sparse.issparse(X):
            X = scipy.sparse.csr_array(X.multiply(1.0 / self.scale))
            X.data = np.clip(X.data, -limit, limit)
            return X.toarray() if self.kernel.dense else X
        missing = np.isnan(X)
        X = np.where(missing, self.fill, X) if missing.any() else X
        if not self.center:
            return np.array(X, dtype=np.float64)  # that some kernels want to be writeable
        X = X - self.fill
        X /= self.scale
        np.minimum(X, limit, out=X)
        return np.maximum(X, -limit, out=X)

    def _find_gamma(self, metric: str) -> float:
        gamma = self.options.gamma
        if gamma == "median":
            median = _median_distance(self.X, metric)
            return 1.0 / median if median > 0 else 1.0
        return float(gamma)

    @property
    def _keywords(self) -> dict[str, Any]:
        return {name: getattr(self.options, name) for name in self.kernel.parameters}

    def values(self, A: Any, B: Any) -> Array:
        if not A.shape[0] or not B.shape[0]:  # scikit-learn's kernels refuse empty matrices
            return np.zeros((A.shape[0], B.shape[0]))
        width = {} if self.gamma is None else {"gamma": self.gamma}
        K = np.asarray(self.kernel.function(A, B, **self._keywords, **width))
        return K if K.dtype == A.dtype == np.float32 else K.astype(np.float64, copy=False)


def _diagonal_one_by_one(kernel: Callable[[Any, Any], Array], X: Any) -> Array:
    """The diagonal of a kernel that is only known as a function of two matrices."""
    return np.array([kernel(X[[i]], X[[i]])[0, 0] for i in range(X.shape[0])])


def _find_kernel(name: str, kernel: str | Callable[[Any, Any], Array]) -> _Kernel:
    if callable(kernel):
        return _Kernel(kernel, partial(_diagonal_one_by_one, kernel), standardize=True)
    if kernel not in KERNELS:
        raise ValueError(
            f"view {name!r}: no kernel {kernel!r} of features; choose one of {list(KERNELS)}, or pass a "
            "function of two matrices"
        )
    return KERNELS[kernel]


def _sparse_std(X: Any) -> Array:
    """Deviation of every column, in two passes: of the stored values, and of the zeros."""
    n = max(X.shape[0], 1)
    mean = np.asarray(X.sum(axis=0)).ravel() / n
    columns = scipy.sparse.csc_array(X)
    stored = np.diff(columns.indptr)
    spread = (columns.data - np.repeat(mean, stored)) ** 2
    total = np.bincount(np.repeat(np.arange(X.shape[1]), stored), spread, minlength=X.shape[1])
    return np.sqrt((total + (n - stored) * mean**2) / n)


def _largest(X: Any) -> Array:
    """Largest absolute value of every column of a sparse matrix."""
    return np.asarray(abs(X).max(axis=0).toarray()).ravel() if X.shape[0] else np.zeros(X.shape[1])


# ------------------------------------------------------------ one view, fitted: centring, normalising


@serializable
class KernelNormalizer:
    """Centring and normalising, learned on a training kernel and applied to any rows against it."""

    def __init__(self, name: str, K: Array, diagonal: Array, options: KernelOptions) -> None:
        self.normalize, self.center = options.normalize, options.center
        self.column_means = K.mean(axis=0) if len(K) and self.center else np.zeros(len(K))
        self.grand_mean = float(self.column_means.mean()) if len(K) else 0.0
        self.column_diagonal = diagonal
        _, self.column_diagonal = self._center(K, diagonal)
        self.mean_diagonal = float(self.column_diagonal.mean()) if len(K) else 1.0
        if self.mean_diagonal <= 0:
            self.mean_diagonal = 1.0
            warn(
                f"view {name!r}: the kernel is zero for every training sample (its features may all be "
                "constant, or one sample alone was centred); the view contributes nothing",
                AbsenceWarning,
            )
        # zeros where they are not used, which take no room in a file
        self.column_means = self.column_means * self.center
        self.column_diagonal = self.column_diagonal * (self.normalize == "diagonal")

    def select_samples(self, rows: Array) -> Any:
        """The same, against fewer training samples; not where rows are centred, which takes all of them."""
        return copy_with(
            self, column_means=self.column_means[rows], column_diagonal=self.column_diagonal[rows]
        )

    def sum_samples(self, coefficients: Array) -> tuple[Any, Array]:
        """The same for weighted sums of samples, and these sums' coefficients of the raw kernel."""
        if self.center:
            raise ValueError(
                "kernels that are centred compare with every training sample; use center=False"
            )
        if self.normalize == "diagonal":
            coefficients = coefficients * inverse_sqrt(self.column_diagonal)
        n = len(coefficients)
        return copy_with(self, column_means=np.zeros(n), column_diagonal=np.ones(n)), coefficients

    def __call__(self, K: Array, diagonal: Array) -> tuple[Array, Array]:
        K, diagonal = self._center(K, diagonal)
        if self.normalize == "trace":
            return K / self.mean_diagonal, diagonal / self.mean_diagonal
        if self.normalize == "diagonal":
            rows, columns = inverse_sqrt(diagonal), inverse_sqrt(self.column_diagonal)
            if (rows == 1).all() and (columns == 1).all():  # nothing to do, and nothing is copied
                return K, diagonal
            K = K * rows[:, None]
            K *= columns
            return K, diagonal * rows**2
        return K, diagonal

    def raw_coefficients(self, coefficients: Array) -> Array:
        """Coefficients of the normalised kernel as those of the raw one, for a row of mean length."""
        if self.normalize == "trace":
            coefficients = coefficients / self.mean_diagonal
        elif self.normalize == "diagonal":
            coefficients = coefficients * inverse_sqrt(self.column_diagonal) / np.sqrt(self.mean_diagonal)
        return coefficients - coefficients.mean(axis=1, keepdims=True) if self.center else coefficients

    def _center(self, K: Array, diagonal: Array) -> tuple[Array, Array]:
        if not self.center or not K.shape[1]:
            return K, diagonal
        row_means = K.mean(axis=1)
        centred = K - row_means[:, None] - self.column_means[None, :] + self.grand_mean
        return centred, diagonal - 2 * row_means + self.grand_mean


# -------------------------------------------------------------------------------- one view, fitted: factors


def decide_approx(
    approx: str | None, observed: Array, n_landmarks: int, chunked: bool = False
) -> str | None:
    """``"nystrom"``, ``"rff"`` or None (whole kernels) for samples x views that are `observed`.

    ``"auto"`` takes whole kernels of up to :data:`_MAX_WHOLE` samples if they fit into half of the free
    memory, and warns if it does not.  What would not fit at all is refused.
    """
    counts = observed.sum(axis=0).astype(np.float64)
    n, whole, free = len(observed), _COPIES * 8 * float((counts**2).sum()), available_memory()
    if approx == "auto":
        fits = whole <= free / _MEMORY_DIVISOR
        if n <= _MAX_WHOLE and fits:
            return None
        cost = format_bytes(whole) + (" and long" if fits else "")
        warn(
            f"{n} samples: whole kernels of {len(counts)} view(s) would take about {cost}, so each is "
            f"given by {n_landmarks} Nystrom factors, and all that follows is linear in the samples; "
            "more factors come nearer to the kernel (n_landmarks, --factors), and approx=None "
            "(--approx none) makes it whole"
        )
        approx = "nystrom"
    described = f"of {n} samples in {len(counts)} view(s)"
    if approx is None:
        advice = "use approx='auto' or 'nystrom' (--approx), which gives them by factors, or fewer samples"
        check_memory(whole, f"kernels {described}", advice)
        return None
    if chunked:  # whose factors are in single precision, and go to a file if they are many
        return str(approx)
    thin = _COPIES * 8 * float(counts.sum()) * n_landmarks
    advice = "use fewer (n_landmarks, --factors), or fewer samples"
    check_memory(thin, f"{n_landmarks} factors {described}", advice)
    return str(approx)


@serializable
class FactorMap:
    """Features whose products approximate a kernel: centred and normalised as the kernel would be.

    ``"nystrom"`` maps x to ``k(x, L) k(L, L)^-1/2`` with random landmarks L; ``"rff"`` to random Fourier
    features, for rbf.
    """

    def __init__(self, kernel: FeatureKernel, dtype: Any, seed: int) -> None:
        X, self.kernel, self.dtype = kernel.X, kernel.without_samples(), dtype
        options, n_landmarks = kernel.options, min(kernel.options.n_landmarks, X.shape[0])
        if options.approx == "rff":
            if options.kernel != "rbf":
                raise ValueError(f"view {kernel.name!r}: random Fourier features are for rbf kernels only")
            self._map: Any = _FourierFeatures(float(kernel.gamma or 0.0), options.n_landmarks, seed)
        else:
            drawn = make_generator(seed).choice(X.shape[0], n_landmarks, replace=False)
            landmarks = X[_order_by_length(X)[np.sort(drawn)]]
            if isinstance(landmarks, ChunkedTable):
                landmarks = np.asarray(landmarks)
            self._map = _Nystrom(self.kernel, landmarks, self.dtype)
        raw = self._raw(X)
        center = options.center and len(raw) > 0
        self.mean = raw.mean(axis=0, dtype=np.float64) if center else np.zeros(raw.shape[1])
        self.scale = 1.0
        if options.normalize == "trace" and len(raw):
            blocks = _row_blocks(*raw.shape)
            norms = np.concatenate([squared_norms(raw[rows] - self.mean) for rows in blocks])
            self.scale = np.sqrt(norms.mean()) if norms.mean() > 0 else 1.0
        self.Phi = self._normalize(raw)

    def select_samples(self, rows: Array) -> Any:
        """The same, against fewer training samples."""
        return copy_with(self, Phi=self.Phi[rows])

    def sum_samples(self, coefficients: Array) -> Any:
        """The same, against weighted sums of training samples; `coefficients` are sums x samples."""
        if isinstance(self._map, _Nystrom):
            raise ValueError(
                f"view {self.kernel.name!r}: Nystrom landmarks are training samples; take random Fourier "
                "features (approx='rff') or a linear kernel"
            )
        return copy_with(self, Phi=coefficients @ self.Phi)

    def transform(self, X: Any) -> Array:
        """Factors of new samples."""
        return self._normalize(self._raw(self.kernel.prepare_new(X)))

    def _raw(self, X: Any) -> Array:
        if isinstance(X, ChunkedTable):
            return X.apply(self._map.transform, self._map.n_components, self.dtype).compute()
        result = np.empty((X.shape[0], self._map.n_components), self.dtype)
        for rows in _row_blocks(*X.shape):
            result[rows] = self._map.transform(X[rows])
        return result

    def _normalize(self, raw: Array) -> Array:
        """Centred and normalised, in place."""
        for rows in _row_blocks(*raw.shape):
            Phi = raw[rows] - self.mean  # in double precision
            Phi /= self.scale
            if self.kernel.options.normalize == "diagonal":
                Phi *= inverse_sqrt(squared_norms(Phi))[:, None]
            raw[rows] = Phi
        return raw


@serializable
class _Nystrom:
    """``k(x, L) k(L, L)^-1/2``, directions without weight left out.

    Factors of single precision are computed in it (rbf) where no direction has so little weight that
    rounding would show.
    """

    def __init__(self, kernel: FeatureKernel, landmarks: Any, dtype: Any) -> None:
        values, vectors = np.linalg.eigh(symmetrize(kernel.values(landmarks, landmarks)))
        positive = values > 1e-10 * values[-1:].max(initial=0.0)
        self.root = vectors[:, positive] / np.sqrt(values[positive])
        single = dtype == np.float32 and kernel.kernel.function is _rbf
        if (
            single
            and not scipy.sparse.issparse(landmarks)
            and values[positive].min(initial=1.0) > _MIN_SINGLE
        ):
            landmarks, self.root = landmarks.astype(np.float32), self.root.astype(np.float32)
        self.kernel, self.landmarks = kernel, landmarks

    @property
    def n_components(self) -> int:
        return self.root.shape[1]

    def transform(self, X: Any) -> Array:
        X = X.astype(self.landmarks.dtype, copy=False)
        return np.asarray(self.kernel.values(X, self.landmarks) @ self.root)


@serializable
@dataclass(frozen=True)
class _FourierFeatures:
    """``sqrt(2 / D) cos(X A + b)``: random features of rbf (Rahimi and Recht, 2007), those of RBFSampler.

    A and b, drawn by the seed and whatever the data are, take much room and are in no file.
    """

    gamma: float
    n_components: int  # D
    seed: int

    def transform(self, X: Any) -> Array:
        A, b = _draw_waves(self.seed, X.shape[1], self.n_components)
        return (2 / self.n_components) ** 0.5 * np.cos(np.asarray(X @ ((2 * self.gamma) ** 0.5 * A)) + b)


@lru_cache(maxsize=1)
def _draw_waves(seed: int, width: int, n_components: int) -> tuple[Array, Array]:
    """Directions and phases of random Fourier features; the same for many blocks of samples."""
    rng = np.random.RandomState(seed)  # of which NumPy promises the same numbers for ever
    return rng.normal(size=(width, n_components)), rng.uniform(0, 2 * np.pi, size=n_components)
