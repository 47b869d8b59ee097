"""What all completers share: checking what comes in, remembering who was there, saying how well it went."""

from abc import ABC, abstractmethod
from collections.abc import Mapping
from typing import Any, Self

import numpy as np
from sklearn.base import TransformerMixin
from sklearn.utils.validation import check_is_fitted

from absentia.core import Array, Estimator, Operator, suited_to, unwatched
from absentia.data import KernelViews, Views, check_kernels, refusal, shown, warn_of_strangers
from absentia.methods.completion._holdout import Holdout, hidden_rows, relative_error

#: Mean diagonals that completers take: beyond, squares and products of kernel values under- or overflow.
SMALLEST, LARGEST = 1e-100, 1e100


class Completer(TransformerMixin, Estimator, ABC):  # type: ignore[misc]
    """Base of everything that fills the missing rows and columns of kernels.

    A completer says what it learns (:meth:`_fit_model`), what the completed training kernels then are
    (:meth:`_fill`), and how rows of new samples are completed (:meth:`_fill_rows`).  Most are derived from
    :class:`SubspaceCompleter`, which does the last two for whoever says where the absent samples lie.
    """

    names_in_: tuple[str, ...]
    ids_: Array
    _learns = True  # False: any matrix will do, and nothing has to be said of gaps
    _links: str | None = None  # "direct" or "chained": what links a sample to a view that it lacks

    set_output = Estimator._any_output

    def __sklearn_tags__(self) -> Any:
        tags = super().__sklearn_tags__()
        tags.input_tags.pairwise = True
        return tags

    def fit(self, X: KernelViews, y: Any = None) -> Self:
        """Learn from incomplete kernels of the training samples."""
        self._check_parameters()
        X = check_kernels(X, type(self).__name__)
        X.demand_order(y)
        check_scale(X)
        if self._learns:
            check_positive(X)
            X.warn_of_absence()
            self._warn_of_strangers(X)
        with suited_to(len(X)):
            self._fit_model(X)
        self.names_in_, self.ids_, self._observed = X.names, X.ids, X.observed
        return self

    def fit_transform(self, X: KernelViews, y: Any = None, **fit_params: Any) -> KernelViews:
        """Learn, and return the training kernels with everything observed."""
        self.fit(X, y)
        with suited_to(len(X)):
            return X.completed(self._fill(X))

    def transform(self, X: KernelViews) -> KernelViews:
        """Complete kernels of new samples against the training samples (rows against columns).

        The square kernels of the training samples themselves are completed as in :meth:`fit_transform`.
        """
        check_is_fitted(self, "names_in_")
        if not isinstance(X, KernelViews):
            raise refusal("rows", X, type(self).__name__)
        X.demand_columns(self.names_in_, self.ids_)
        if X.square:
            if not np.array_equal(X.observed, self._observed):
                raise ValueError(
                    "square kernels are completed as in training, but other samples are absent in these; "
                    "use fit_transform on them, or give the rows of new samples, kv[np.ix_(new, train)]"
                )
            with suited_to(len(X)):
                return X.completed(self._fill(X))
        self._warn_of_strangers(X)
        with suited_to(len(self.ids_)):
            blocks, diagonals = self._fill_rows(X)
        return X.completed_rows(blocks, diagonals)

    def score(self, X: KernelViews, y: Any = None, *, truth: KernelViews | None = None) -> float:
        """How well absent cells come back: minus their relative error, so that larger is better.

        With `truth`, of what is absent in `X`.  Without, some observed cells of `X` are hidden and
        completed: by this fit if `X` are rows of new samples, as in cross-validation, and by a fit
        of its own if `X` are square kernels.
        """
        if not isinstance(X, KernelViews):
            raise refusal("kernels", X, type(self).__name__)
        if truth is not None:
            return -relative_error(truth, self.transform(X), X.observed)
        if not X.square:
            keep = hidden_rows(X)
            return -relative_error(X, self.transform(X.hide(keep)), keep)
        trial = Holdout.of(X, getattr(self, "random_state", None))
        return -trial.error(unwatched(self).fit_transform(trial.part)) if trial.n_hidden else 0.0

    def complete_features(self, views: Views) -> Views:
        """The views whose kernels this was fitted on, with the features of absent samples filled in.

        Only of completers that place absent samples among the observed ones; see
        :class:`SubspaceCompleter`.
        """
        check_is_fitted(self, "names_in_")
        raise ValueError(
            f"{self} completes kernels otherwise than by placing absent samples among the observed ones, "
            "and so has no features for them; use CVKT(), KNNFill(), MeanFill() or MKMC('pca')"
        )

    def _warn_of_strangers(self, X: KernelViews) -> None:
        if self._links is not None:
            warn_of_strangers(X, chained=self._links == "chained")

    @abstractmethod
    def _fit_model(self, X: KernelViews) -> None: ...

    @abstractmethod
    def _fill(self, X: KernelViews) -> Mapping[str, Array | Operator]: ...

    @abstractmethod
    def _fill_rows(self, X: KernelViews) -> tuple[Mapping[str, Array | Operator], Mapping[str, Array]]:
        """Completed (rows x all training samples) blocks and the rows' own kernel values, by view."""


def check_same_samples(views: Any, names: tuple[str, ...], ids: Array, observed: Array) -> None:
    """Raise unless `views` are features of these very samples, present where their kernels were."""
    if not isinstance(views, Views):
        raise TypeError(f"Views (features) are wanted, not {type(views).__name__}; see Views.from_dict")
    if set(views.names) != set(names):
        raise ValueError(f"views {list(views.names)} came, {list(names)} were there in training")
    if not np.array_equal(views.ids, ids):
        raise ValueError(
            f"features of the {len(ids)} training samples, in their order, are wanted; these are of "
            f"{len(views)} samples that differ from them or come in another order"
        )
    for name, had in zip(names, observed.T, strict=True):
        differs = views.observed[:, views.names.index(name)] != had
        if differs.any():
            raise ValueError(
                f"view {name!r}: {int(differs.sum())} sample(s), e.g. {shown(ids[differs.argmax()])}, have "
                "it in these features and not in the kernels of training, or the other way round; give the "
                "views that the kernels were made from"
            )


def check_scale(X: KernelViews) -> None:
    """Raise if a kernel is so small or so large that its products are not numbers; say which."""
    for name in X.names:
        mean = X.mean_diagonal(name)
        if mean > LARGEST or 0 < mean < SMALLEST:
            raise ValueError(
                f"view {name!r}: the kernel's mean diagonal is {mean:.3g}; between {SMALLEST:g} and "
                f"{LARGEST:g} is wanted: divide the kernel by {mean:.3g} first"
            )


def check_positive(X: KernelViews) -> None:
    """Raise if a kernel has a negative eigenvalue beyond rounding; say which, and how to mend it."""
    for name in X.names:
        found = X.indefinite(name)
        if found is not None:
            low, high = found
            raise ValueError(
                f"view {name!r}: the kernel is not positive semidefinite: its lowest eigenvalue is "
                f"{low:.4g} (largest {high:.4g}); mend it with kernel_views.repair('clip') or "
                ".repair('shift') (command line: --repair clip), or check how it was computed"
            )
