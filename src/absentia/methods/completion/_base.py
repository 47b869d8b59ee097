"""The base class of completers: checks of the input, ``fit``, ``transform`` and ``score``."""

from abc import ABC, abstractmethod
from collections.abc import Mapping
from typing import Any, Self

import numpy as np
from sklearn.base import TransformerMixin
from sklearn.utils.validation import check_is_fitted

from absentia.core import Array, Estimator, Operator, clone_without_callbacks, limit_threads_if_small
from absentia.data import KernelViews, Views, check_square_kernels, input_error, warn_of_unlinked
from absentia.methods.completion._holdout import Holdout

#: Mean diagonals that completers take: beyond, squares and products of kernel values under- or overflow.
_MIN_DIAGONAL, _MAX_DIAGONAL = 1e-100, 1e100


class Completer(TransformerMixin, Estimator, ABC):  # type: ignore[misc]
    """Base of everything that fills the missing rows and columns of kernels.

    A subclass fits its model (:meth:`_fit_model`), completes the training kernels with it (:meth:`_fill`),
    and completes rows of new samples (:meth:`_fill_rows`).  Most are derived from
    :class:`SubspaceCompleter`, which does the last two from the coordinates of absent samples.
    """

    names_in_: tuple[str, ...]
    ids_: Array
    _requires_psd = True  # False for baselines: they take any matrix, and warn of no gaps
    _links: str | None = None  # "direct" or "chained": what links a sample to a view that it lacks

    set_output = Estimator._any_output

    def __sklearn_tags__(self) -> Any:
        tags = super().__sklearn_tags__()
        tags.input_tags.pairwise = True
        return tags

    def fit(self, X: KernelViews, y: Any = None) -> Self:
        """Learn from incomplete kernels of the training samples."""
        self._check_parameters()
        X = check_square_kernels(X, type(self).__name__)
        X.check_order(y)
        _check_scale(X)
        if self._requires_psd:
            _check_psd(X)
            X.warn_of_absence()
            self._warn_of_unlinked(X)
        with limit_threads_if_small(len(X)):
            self._fit_model(X)
        self.names_in_, self.ids_, self._observed = X.names, X.ids, X.observed
        return self

    def fit_transform(self, X: KernelViews, y: Any = None, **fit_params: Any) -> KernelViews:
        """Learn, and return the training kernels with everything observed."""
        self.fit(X, y)
        with limit_threads_if_small(len(X)):
            return X.completed(self._fill(X))

    def transform(self, X: KernelViews) -> KernelViews:
        """Complete kernels of new samples against the training samples (rows against columns).

        The square kernels of the training samples themselves are completed as in :meth:`fit_transform`.
        """
        check_is_fitted(self, "names_in_")
        if not isinstance(X, KernelViews):
            raise input_error("rows", X, type(self).__name__)
        X.check_columns(self.names_in_, self.ids_)
        if X.square:
            if not np.array_equal(X.observed, self._observed):
                raise ValueError(
                    "square kernels are completed as in training, but other samples are absent in these; "
                    "use fit_transform on them, or give the rows of new samples, kv[np.ix_(new, train)]"
                )
            with limit_threads_if_small(len(X)):
                return X.completed(self._fill(X))
        self._warn_of_unlinked(X)
        with limit_threads_if_small(len(self.ids_)):
            blocks, diagonals = self._fill_rows(X)
        return X.completed_rows(blocks, diagonals)

    def score(self, X: KernelViews, y: Any = None, *, truth: KernelViews | None = None) -> float:
        """How well absent cells come back: minus their relative error, so that larger is better.

        With `truth`, of what is absent in `X`.  Without, some observed cells of `X` are hidden and
        completed: by this fit if `X` are rows of new samples, as in cross-validation, and by another fit
        if `X` are square kernels.
        """
        if not isinstance(X, KernelViews):
            raise input_error("kernels", X, type(self).__name__)
        if truth is not None:
            return -Holdout(truth, X).error(self.transform(X))
        if not X.square:
            holdout = Holdout.of_rows(X)
            return -holdout.error(self.transform(holdout.part))
        holdout = Holdout.of(X, getattr(self, "random_state", None))
        if not holdout.n_hidden:
            return 0.0
        return -holdout.error(clone_without_callbacks(self).fit_transform(holdout.part))

    def complete_features(self, views: Views) -> Views:
        """The views whose kernels this was fitted on, with the features of absent samples filled in.

        Only of completers that make absent samples combinations of the observed ones; see
        :class:`SubspaceCompleter`.
        """
        check_is_fitted(self, "names_in_")
        raise ValueError(
            f"{self} completes kernels otherwise than by combinations of the observed samples, and so has "
            "no features for absent ones; use CVKT(), KNNFill(), MeanFill() or MKMC('pca')"
        )

    def _warn_of_unlinked(self, X: KernelViews) -> None:
        if self._links is not None:
            warn_of_unlinked(X, chained=self._links == "chained")

    @abstractmethod
    def _fit_model(self, X: KernelViews) -> None:
        """Learn from checked square kernels."""

    @abstractmethod
    def _fill(self, X: KernelViews) -> Mapping[str, Array | Operator]:
        """The completed training kernels `X`, samples x samples, by view."""

    @abstractmethod
    def _fill_rows(self, X: KernelViews) -> tuple[Mapping[str, Array | Operator], Mapping[str, Array]]:
        """Completed blocks, rows x all training samples, and the rows' values with themselves, by view."""


def _check_scale(X: KernelViews) -> None:
    """Raise if a kernel is so small or so large that its products are not numbers; say which."""
    for name in X.names:
        mean = X.mean_diagonal(name)
        if mean > _MAX_DIAGONAL or 0 < mean < _MIN_DIAGONAL:
            raise ValueError(
                f"view {name!r}: the kernel's mean diagonal is {mean:.3g}; between {_MIN_DIAGONAL:g} "
                f"and {_MAX_DIAGONAL:g} is wanted: divide the kernel by {mean:.3g} first"
            )


def _check_psd(X: KernelViews) -> None:
    """Raise if a kernel has a negative eigenvalue beyond rounding; say which, and how to mend it."""
    for name in X.names:
        extremes = X.indefinite(name)
        if extremes is not None:
            low, high = extremes
            raise ValueError(
                f"view {name!r}: the kernel is not positive semidefinite: its lowest eigenvalue is "
                f"{low:.4g} (largest {high:.4g}); mend it with kernel_views.repair('clip') or "
                ".repair('shift') (command line: --repair clip), or check how it was computed"
            )
