"""A few coordinates per sample: the components of the sum of completed kernels.

Each completed kernel is divided by its total variance, so that all views count alike, and the leading
principal components of the sum are found in feature space (kernel PCA; B. Scholkopf, A. Smola, K.-R.
Muller, Neural Computation 10, 1998).  Kernels stay operators: none that is given by factors is formed.
"""

from collections.abc import Callable
from dataclasses import KW_ONLY
from typing import Any, Self

import numpy as np
from sklearn.base import ClassNamePrefixFeaturesOutMixin, TransformerMixin, clone
from sklearn.utils.validation import check_is_fitted

from absentia.core import Array, Estimator, PositiveInt, estimator
from absentia.data import Components, KernelViews, Presence, Views, check_square_kernels, fused_components
from absentia.kernels import ViewKernels
from absentia.methods.catalogue import find

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
        self._components: Components
        self._components, self.weights_ = fused_components(
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
    return ViewEmbedding(n_components, completer=completer, kernel=kernel).fit(data).embedding_
