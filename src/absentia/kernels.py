"""From views to kernels, and from kernels to one kernel.

:class:`ViewKernels` computes one kernel per view over the samples that have it; everything it learns
(means and scales of features, widths, centring, normalisation) comes from training samples and is
applied to new ones.  :class:`CombineKernels` adds the kernels up into one matrix for any estimator
that takes ``kernel="precomputed"``; an absent view counts as zero.
"""

from __future__ import annotations

import warnings
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, fields, replace
from typing import Any, Self

import numpy as np
import scipy.sparse
from scipy.spatial.distance import pdist
from sklearn.base import BaseEstimator, TransformerMixin
from sklearn.metrics import pairwise
from sklearn.utils.validation import check_is_fitted

from absentia.kernelviews import KernelViews, check_kernel
from absentia.linalg import Array, symmetrize
from absentia.operators import Dense
from absentia.presence import AbsenceWarning, Presence, shown
from absentia.views import Views

# --------------------------------------------------------------------------------- kernel functions


def tanimoto(X: Any, Y: Any) -> Array:
    """``<x, y> / (|x|^2 + |y|^2 - <x, y>)``; two zero vectors are alike (1)."""
    inner = pairwise.linear_kernel(X, Y)
    union = squared_norms(X)[:, None] + squared_norms(Y)[None, :] - inner
    return np.divide(inner, union, out=np.ones_like(inner), where=union > 0)


def jaccard(X: Any, Y: Any) -> Array:
    """Shared over present features, a feature being present where it is not zero."""
    return tanimoto((X != 0).astype(np.float64), (Y != 0).astype(np.float64))


def squared_norms(X: Any) -> Array:
    """``|x|^2`` of every row, dense or sparse."""
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


KERNELS: dict[str, _Kernel] = {
    "rbf": _Kernel(pairwise.rbf_kernel, metric="sqeuclidean", standardize=True),
    "laplacian": _Kernel(pairwise.laplacian_kernel, metric="cityblock", standardize=True, dense=True),
    "linear": _Kernel(pairwise.linear_kernel, squared_norms, standardize=True),
    "polynomial": _Kernel(
        pairwise.polynomial_kernel, _polynomial_diagonal, standardize=True, parameters=("degree", "coef0")
    ),
    "chi2": _Kernel(pairwise.chi2_kernel, metric="chi2", nonnegative=True, dense=True),
    "cosine": _Kernel(pairwise.cosine_similarity, _nonzero),
    "tanimoto": _Kernel(tanimoto),
    "jaccard": _Kernel(jaccard),
}


def median_distance(X: Any, metric: str, limit: int = 1000) -> float:
    """Median pairwise distance over at most `limit` evenly spaced rows of `X`."""
    if X.shape[0] > limit:
        X = X[np.linspace(0, X.shape[0] - 1, limit).astype(int)]
    X = X.toarray() if scipy.sparse.issparse(X) else X
    if metric == "chi2":
        distances = -pairwise.additive_chi2_kernel(X)[np.triu_indices(X.shape[0], k=1)] if len(X) else X
    else:
        distances = pdist(X, metric)
    return float(np.median(distances)) if distances.size else 0.0


# ----------------------------------------------------------------------- one view, fitted: features


@dataclass(frozen=True)
class _Options:
    """What one view is to be turned into a kernel with; see :class:`ViewKernels`."""

    kernel: str | Callable[[Any, Any], Array]
    gamma: float | str
    standardize: bool
    normalize: str | None
    center: bool
    missing_values: str
    degree: float
    coef0: float


class _FeatureKernel:
    """A kernel computed from features, which are filled and standardised as in training."""

    gamma: float | None = None

    def __init__(self, name: str, X: Any, features: Array | None, options: _Options) -> None:
        self.name, self.options, self.n_features, self.names = name, options, X.shape[1], features
        self.kernel = _lookup(name, options.kernel)
        self._check(X)
        self._learn_features(X)
        self.X = self._prepared(X)
        if self.kernel.metric is not None:
            self.gamma = self._width(self.kernel.metric)

    def train(self) -> tuple[Array, Array]:
        K = self._values(self.X, self.X)
        return K, np.array(K.diagonal())

    def new(self, X: Any, features: Array | None, ids: Array) -> tuple[Array, Array]:
        X = X[:, _order(self.name, self.names, features)]
        if X.shape[1] != self.n_features:
            raise ValueError(
                f"view {self.name!r} has {X.shape[1]} features but had {self.n_features} in training; "
                "give the same features in the same order"
            )
        self._check(X)
        X = self._prepared(X)
        return self._values(X, self.X), self._diagonal(X)

    def _check(self, X: Any) -> None:
        sparse = scipy.sparse.issparse(X)
        data = X.data if sparse else X
        missing = int(np.isnan(data).sum())
        if missing and (sparse or self.options.missing_values == "error"):
            raise ValueError(
                f"view {self.name!r}: {missing} value(s) are missing inside observed samples; "
                "fill them first, or use missing_values='mean' (dense views only)"
            )
        if self.kernel.nonnegative and data.size and np.nanmin(data) < 0:
            raise ValueError(
                f"view {self.name!r}: the {self.options.kernel} kernel is for counts and frequencies, "
                f"but the lowest value is {np.nanmin(data):.4g}; use another kernel for this view"
            )

    def _learn_features(self, X: Any) -> None:
        """Mean and deviation of every feature over the observed training rows."""
        standardize = self.options.standardize and self.kernel.standardize
        if scipy.sparse.issparse(X):
            mean, std = np.zeros(X.shape[1]), _sparse_std(X)
        else:
            with warnings.catch_warnings():
                warnings.simplefilter("ignore", RuntimeWarning)  # mean of nothing is NaN, seen to below
                mean, std = np.nanmean(X, axis=0, dtype=float), np.nanstd(X, axis=0, dtype=float)
        empty = np.isnan(mean)
        if empty.any() and X.shape[0]:
            warnings.warn(
                f"view {self.name!r}: {int(empty.sum())} feature(s) have no value in any training sample "
                "and are ignored",
                AbsenceWarning,
                stacklevel=5,
            )
        self.fill = np.where(empty, 0.0, mean)
        self.center = standardize
        # a constant feature's deviation is rounding, not zero
        varies = std > 1e-14 * _largest(X)
        self.scale = np.where(varies, std, 1.0) if standardize else np.ones(X.shape[1])

    def _prepared(self, X: Any) -> Any:
        if scipy.sparse.issparse(X):
            X = scipy.sparse.csr_array(X.multiply(1.0 / self.scale))
            return X.toarray() if self.kernel.dense else X
        X = np.where(np.isnan(X), self.fill, X)
        return (X - self.fill) / self.scale if self.center else X

    def _width(self, metric: str) -> float:
        gamma = self.options.gamma
        if gamma == "median":
            median = median_distance(self.X, metric)
            return 1.0 / median if median > 0 else 1.0
        if isinstance(gamma, str) or not gamma > 0:
            raise ValueError(f"gamma must be 'median' or a positive number, not {gamma!r}")
        return float(gamma)

    @property
    def _keywords(self) -> dict[str, Any]:
        return {name: getattr(self.options, name) for name in self.kernel.parameters}

    def _values(self, A: Any, B: Any) -> Array:
        if not A.shape[0] or not B.shape[0]:  # scikit-learn's kernels refuse empty matrices
            return np.zeros((A.shape[0], B.shape[0]))
        width = {} if self.gamma is None else {"gamma": self.gamma}
        return np.asarray(self.kernel.function(A, B, **self._keywords, **width), dtype=np.float64)

    def _diagonal(self, X: Any) -> Array:
        return np.asarray(self.kernel.diagonal(X, **self._keywords), dtype=np.float64)


@dataclass(frozen=True)
class _OneByOne:
    """The diagonal of a kernel that is only known as a function of two matrices."""

    kernel: Callable[[Any, Any], Array]

    def __call__(self, X: Any) -> Array:
        return np.array([self.kernel(X[[i]], X[[i]])[0, 0] for i in range(X.shape[0])])


def _lookup(name: str, kernel: str | Callable[[Any, Any], Array]) -> _Kernel:
    if callable(kernel):
        return _Kernel(kernel, _OneByOne(kernel), standardize=True)
    if kernel not in KERNELS:
        raise ValueError(
            f"view {name!r}: no kernel {kernel!r}; choose one of {[*KERNELS, 'precomputed']}, "
            "or pass a function of two matrices"
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
    """Largest absolute value of every column."""
    if not X.shape[0]:
        return np.zeros(X.shape[1])
    if scipy.sparse.issparse(X):
        return np.asarray(abs(X).max(axis=0).toarray()).ravel()
    return np.where(np.isnan(X), 0.0, np.abs(X)).max(axis=0)


def _order(name: str, trained: Array | None, came: Array | None) -> Any:
    """Where the training features are among those that came, by name if both have names."""
    if trained is None or came is None or np.array_equal(trained, came):
        return slice(None)
    where = {feature: position for position, feature in enumerate(came.tolist())}
    missing = [feature for feature in trained.tolist() if feature not in where]
    if missing:
        raise ValueError(
            f"view {name!r}: feature {missing[0]!r} of the training samples is not among the new samples' "
            "features; give the same features (their order does not matter)"
        )
    return [where[feature] for feature in trained.tolist()]


class _ColumnKernel:
    """A precomputed kernel given as a feature view whose columns are the sample ids."""

    gamma = None

    def __init__(self, name: str, X: Any, ids: Array, columns: Array | None) -> None:
        self.name, self.ids = name, ids
        self.K = np.asarray(X[:, self._positions(ids, columns, X.shape[1])], dtype=np.float64)

    def _positions(self, ids: Array, columns: Array | None, width: int) -> Array:
        labels = range(width) if columns is None else columns
        where = {str(label): position for position, label in enumerate(labels)}
        missing = [x for x in ids.tolist() if str(x) not in where]
        if missing:
            raise ValueError(
                f"view {self.name!r}: the precomputed kernel has no column for sample {missing[0]!r}; "
                "give a data frame whose columns are the ids of all samples, old and new"
            )
        return np.array([where[str(x)] for x in ids.tolist()], dtype=int)

    def train(self) -> tuple[Array, Array]:
        return self.K, np.array(self.K.diagonal())

    def new(self, X: Any, features: Array | None, ids: Array) -> tuple[Array, Array]:
        own = self._positions(ids, features, X.shape[1])
        old = self._positions(self.ids, features, X.shape[1])
        return np.asarray(X[:, old], dtype=np.float64), np.array(X[np.arange(len(ids)), own])


# ------------------------------------------------------------- one view, fitted: centre, normalise


class _Finish:
    """Centring and normalising, learned on a training kernel and applied to any rows against it."""

    def __init__(self, name: str, K: Array, diagonal: Array, options: _Options) -> None:
        self.normalize, self.center = options.normalize, options.center
        self.column_means = K.mean(axis=0) if len(K) else np.zeros(0)
        self.grand_mean = float(self.column_means.mean()) if len(K) else 0.0
        self.column_diagonal = diagonal
        _, self.column_diagonal = self._centred(K, diagonal)
        self.mean_diagonal = float(self.column_diagonal.mean()) if len(K) else 1.0
        if self.mean_diagonal <= 0:
            self.mean_diagonal = 1.0
            warnings.warn(
                f"view {name!r}: the kernel is zero for every training sample (its features may all be "
                "constant, or one sample alone was centred); the view contributes nothing",
                AbsenceWarning,
                stacklevel=5,
            )

    def __call__(self, K: Array, diagonal: Array) -> tuple[Array, Array]:
        K, diagonal = self._centred(K, diagonal)
        if self.normalize == "trace":
            return K / self.mean_diagonal, diagonal / self.mean_diagonal
        if self.normalize == "diagonal":
            rows, columns = inverse_root(diagonal), inverse_root(self.column_diagonal)
            return K * np.outer(rows, columns), diagonal * rows**2
        return K, diagonal

    def _centred(self, K: Array, diagonal: Array) -> tuple[Array, Array]:
        if not self.center or not K.shape[1]:
            return K, diagonal
        row_means = K.mean(axis=1)
        centred = K - row_means[:, None] - self.column_means[None, :] + self.grand_mean
        return centred, diagonal - 2 * row_means + self.grand_mean


def inverse_root(diagonal: Array) -> Array:
    """``1 / sqrt``, and zero where there is nothing to normalise: a zero vector stays zero."""
    safe = np.where(diagonal > 0, diagonal, 1.0)
    return np.where(diagonal > 0, 1.0 / np.sqrt(safe), 0.0)


# --------------------------------------------------------------------------------------- estimators


class ViewKernels(TransformerMixin, BaseEstimator):  # type: ignore[misc]
    """One kernel per view, over the samples that have it.

    Parameters
    ----------
    kernel : str or callable, default "rbf"
        ``"rbf"``, ``"laplacian"``, ``"linear"``, ``"polynomial"``, ``"chi2"``, ``"cosine"``,
        ``"jaccard"``, ``"tanimoto"``, a function of two matrices, or ``"precomputed"`` for
        :class:`KernelViews` input, which is then only centred and normalised.
    gamma : float or "median", default "median"
        Width of rbf, laplacian and chi2: ``exp(-gamma * distance)``, the distance being squared for
        rbf.  ``"median"`` takes one over the median distance between observed training samples.
    standardize : bool, default True
        Subtract each feature's mean and divide by its deviation, both over observed training rows.
        Kernels of counts, sets and directions (chi2, cosine, jaccard, tanimoto) never do; sparse
        views are divided but not shifted.
    per_view : dict, optional
        Exceptions by view: ``{"text": "cosine", "assay": {"kernel": "rbf", "gamma": 0.1}}``.
        ``"precomputed"`` here takes a view whose columns are the sample ids.
    normalize : {"diagonal", "trace", None}, default "diagonal"
        ``"diagonal"``: every sample gets unit norm, ``k(i, j) / sqrt(k(i, i) k(j, j))``;
        ``"trace"``: divide by the training samples' mean diagonal.
    center : bool, default False
        Subtract the mean training sample in feature space (before normalising).
    missing_values : {"mean", "error"}, default "mean"
        NaN inside an observed row: the feature's mean over observed training rows, or an error.
    degree, coef0 : float
        Of the polynomial kernel ``(<x, y> / n_features + coef0) ** degree``.

    Attributes
    ----------
    names_in_ : tuple of str
    ids_ : ndarray
    gamma_ : dict
        Width used, by view (None where the kernel has none).

    Examples
    --------
    >>> from absentia import ViewKernels, datasets
    >>> views, y = datasets.load_digit_views(n_samples=100, return_X_y=True)
    >>> ViewKernels("rbf").fit_transform(views).shape
    (100, 100)
    """

    def __init__(
        self,
        kernel: str | Callable[[Any, Any], Array] = "rbf",
        *,
        gamma: float | str = "median",
        standardize: bool = True,
        per_view: Mapping[str, Any] | None = None,
        normalize: str | None = "diagonal",
        center: bool = False,
        missing_values: str = "mean",
        degree: float = 3,
        coef0: float = 1.0,
    ) -> None:
        self.kernel = kernel
        self.gamma = gamma
        self.standardize = standardize
        self.per_view = per_view
        self.normalize = normalize
        self.center = center
        self.missing_values = missing_values
        self.degree = degree
        self.coef0 = coef0

    def __sklearn_tags__(self) -> Any:
        tags = super().__sklearn_tags__()
        tags.input_tags.pairwise = self.kernel == "precomputed"
        return tags

    def fit(self, X: Views | KernelViews, y: Any = None) -> Self:
        """Learn scales, widths, centring and normalisation from the observed training rows."""
        self._fit(X)
        return self

    def fit_transform(self, X: Views | KernelViews, y: Any = None, **fit_params: Any) -> KernelViews:
        """Fit, and return the square kernels of the training samples."""
        raw = self._fit(X)
        kernels = {name: symmetrize(self._finish[name](*raw[name])[0]) for name in X.names}
        return KernelViews.within(self._train, kernels)

    def transform(self, X: Views | KernelViews) -> KernelViews:
        """Kernels of new samples against the training samples; what is absent stays absent.

        Views that the new samples lack altogether may be left out of `X`.
        """
        check_is_fitted(self, "names_in_")
        _check_input(X, self.kernel)
        unknown = [name for name in X.names if name not in self.names_in_]
        if unknown:
            raise ValueError(f"view {unknown[0]!r} was not there in training: {list(self.names_in_)}")
        rows = Presence(X.ids, self.names_in_, _columns(X, self.names_in_))
        blocks, diagonals = {}, {}
        for v, name in enumerate(self.names_in_):
            if name in X.names:
                raw = self._new(X, name, rows.ids[rows.observed[:, v]])
                blocks[name], diagonals[name] = self._finish[name](*raw)
            else:
                width = int(self._train.observed[:, v].sum())
                blocks[name], diagonals[name] = np.zeros((0, width)), np.zeros(0)
        return KernelViews.between(rows, self._train, blocks, diagonals)

    def _fit(self, X: Views | KernelViews) -> dict[str, tuple[Array, Array]]:
        """Learn everything; the raw training kernels and their diagonals are handed back, not kept."""
        _check_input(X, self.kernel)
        options = self._options_by_view(X.names)
        X.warn_of_absence()
        self._raw: dict[str, _FeatureKernel | _ColumnKernel] = {}
        raw = {}
        if isinstance(X, KernelViews):
            X._demand_square()
            raw = {name: (X.block(name), X.diagonal(name)) for name in X.names}
        else:
            for v, name in enumerate(X.names):
                self._raw[name] = _fitted(X, name, X.ids[X.observed[:, v]], options[name])
                raw[name] = self._raw[name].train()
                check_kernel(name, Dense(raw[name][0]), X.ids[X.observed[:, v]])
        self._finish = {name: _Finish(name, *raw[name], options[name]) for name in X.names}
        self._train = Presence(X.ids, X.names, X.observed)
        self.names_in_, self.ids_ = X.names, X.ids
        self.gamma_ = {name: view.gamma for name, view in self._raw.items()}
        return raw

    def _new(self, X: Views | KernelViews, name: str, ids: Array) -> tuple[Array, Array]:
        if isinstance(X, KernelViews):
            if not np.array_equal(X.column_ids, self.ids_):
                raise ValueError("the columns of the new kernels are not the training samples")
            return X.block(name), X.diagonal(name)
        K, diagonal = self._raw[name].new(X.block(name), X.features(name), ids)
        if not np.isfinite(K).all():
            row = int(np.argmax(~np.isfinite(K).all(axis=1)))
            raise ValueError(f"view {name!r}, sample {shown(ids[row])}: the kernel is NaN or infinite")
        return K, diagonal

    def _options_by_view(self, names: Sequence[str]) -> dict[str, _Options]:
        common = _Options(**{f.name: getattr(self, f.name) for f in fields(_Options)})
        given = {name: _as_options(spec) for name, spec in (self.per_view or {}).items()}
        unknown = [name for name in given if name not in names]
        if unknown:
            raise ValueError(f"per_view names {unknown[0]!r}, but the views are {list(names)}")
        options = {name: replace(common, **given.get(name, {})) for name in names}
        for name, option in options.items():
            if option.normalize not in ("diagonal", "trace", None):
                raise ValueError(f"view {name!r}: normalize must be 'diagonal', 'trace' or None")
            if option.missing_values not in ("mean", "error"):
                raise ValueError(f"view {name!r}: missing_values must be 'mean' or 'error'")
        return options


def _as_options(spec: Any) -> dict[str, Any]:
    if not isinstance(spec, Mapping):
        return {"kernel": spec}
    allowed = {f.name for f in fields(_Options)}
    unknown = set(spec) - allowed
    if unknown:
        raise ValueError(
            f"per_view has no option {sorted(unknown)[0]!r}; the options are {sorted(allowed)}"
        )
    return dict(spec)


def _fitted(X: Views, name: str, ids: Array, options: _Options) -> _FeatureKernel | _ColumnKernel:
    if options.kernel == "precomputed":
        return _ColumnKernel(name, X.block(name), ids, X.features(name))
    return _FeatureKernel(name, X.block(name), X.features(name), options)


def _check_input(X: Any, kernel: Any) -> None:
    if isinstance(X, KernelViews) and kernel != "precomputed":
        raise ValueError(
            f"KernelViews hold kernels already: use ViewKernels('precomputed') on them, not {kernel!r}"
        )
    if not isinstance(X, Views | KernelViews):
        raise TypeError(
            f"Views are wanted, not {type(X).__name__}; build them with "
            "Views.from_dict({'name': table, ...}) or Views.from_list([...])"
        )


def _columns(X: Presence, names: Sequence[str]) -> Array:
    """`observed` of `X` with one column for each of `names`, False where `X` has no such view."""
    absent = np.zeros(len(X), dtype=bool)
    return np.column_stack(
        [X.observed[:, X.names.index(name)] if name in X.names else absent for name in names]
    )


class CombineKernels(TransformerMixin, BaseEstimator):  # type: ignore[misc]
    """Weighted sum of the kernels as one matrix; an absent view counts as zero.

    With ``normalize="cosine"`` the sum is divided by ``sqrt(k(i, i) k(j, j))``, so that a sample with
    two views is as long as one with six.  Followed by ``SVC(kernel="precomputed")`` this is the
    baseline that is hard to beat.

    Parameters
    ----------
    weights : "uniform", dict or array of shape (n_views,), default "uniform"
        Non-negative weight of each view; a view that a dict does not name gets none.
    normalize : {"cosine", None}, default "cosine"

    Attributes
    ----------
    weights_ : ndarray of shape (n_views,)
    names_in_ : tuple of str
    ids_ : ndarray
        The training samples, which are the columns of every result.
    """

    def __init__(self, weights: Any = "uniform", *, normalize: str | None = "cosine") -> None:
        self.weights = weights
        self.normalize = normalize

    def __sklearn_tags__(self) -> Any:
        tags = super().__sklearn_tags__()
        tags.input_tags.pairwise = True
        return tags

    def fit(self, X: KernelViews, y: Any = None) -> Self:
        """Learn the training samples' own combined kernel values."""
        if not isinstance(X, KernelViews):
            raise TypeError(f"KernelViews are wanted, not {type(X).__name__}; put ViewKernels() before")
        X._demand_square()
        if self.normalize not in ("cosine", None):
            raise ValueError(f"normalize must be 'cosine' or None, not {self.normalize!r}")
        self.names_in_, self.ids_ = X.names, X.ids
        self.weights_ = self._weights(X.names)
        self._column_root = inverse_root(self._diagonal(X))
        return self

    def transform(self, X: KernelViews) -> Array:
        """The combined kernel, rows of `X` against the training samples."""
        check_is_fitted(self, "names_in_")
        if not isinstance(X, KernelViews):
            raise TypeError(f"KernelViews are wanted, not {type(X).__name__}; put ViewKernels() before")
        if X.names != self.names_in_:
            raise ValueError(f"views {list(X.names)} came, {list(self.names_in_)} were there in training")
        if not np.array_equal(X.column_ids, self.ids_):
            raise ValueError(
                f"the columns must be the {len(self.ids_)} training samples, in their order; "
                f"this has {X.shape[1]} columns: take kv[np.ix_(new, train)]"
            )
        combined = np.zeros(X.shape)
        for v, name in enumerate(X.names):
            seen = np.ix_(X.observed[:, v], X.column_observed[:, v])
            combined[seen] += self.weights_[v] * X.block(name)
        if self.normalize is None:
            return combined
        return combined * inverse_root(self._diagonal(X))[:, None] * self._column_root[None, :]

    def _diagonal(self, X: KernelViews) -> Array:
        diagonal = np.zeros(len(X))
        for v, name in enumerate(X.names):
            diagonal[X.observed[:, v]] += self.weights_[v] * X.diagonal(name)
        return diagonal

    def _weights(self, names: Sequence[str]) -> Array:
        if isinstance(self.weights, str):
            weights = np.ones(len(names)) if self.weights == "uniform" else np.zeros(0)
        elif isinstance(self.weights, Mapping):
            unknown = [name for name in self.weights if name not in names]
            if unknown:
                raise ValueError(f"weights name {unknown[0]!r}, but the views are {list(names)}")
            weights = np.array([self.weights.get(name, 0.0) for name in names], dtype=float)
        else:
            weights = np.asarray(self.weights, dtype=float)
        if weights.shape != (len(names),) or not (weights >= 0).all() or not weights.any():
            raise ValueError(
                f"weights must be 'uniform' or one non-negative number for each of {list(names)}, "
                f"not all zero; got {self.weights!r}"
            )
        return weights
