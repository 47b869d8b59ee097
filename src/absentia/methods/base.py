"""What the methods share: checking what comes in, remembering who was there, reporting how it went."""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Mapping
from typing import Any, ClassVar, NamedTuple, Self

import numpy as np
from sklearn.base import BaseEstimator, TransformerMixin
from sklearn.exceptions import ConvergenceWarning
from sklearn.utils.validation import check_is_fitted

from absentia.core import Array, Chunked, ChunkedGram, Gram, Operator, Solution, Status, suited_to, warn
from absentia.core import indefinite as _indefinite
from absentia.data import KernelViews


def check_kernels(X: Any) -> KernelViews:
    """A square KernelViews, or an error that says what to pass."""
    if not isinstance(X, KernelViews):
        raise TypeError(
            f"KernelViews are wanted, not {type(X).__name__}; make them from features with "
            "ViewKernels().fit_transform(views), or from arrays with KernelViews.from_dense(K)"
        )
    X.demand_square()
    if len(X) == 0:
        raise ValueError("there is no sample to learn from")
    return X


#: Mean diagonals that completers take: beyond, squares and products of kernel values under- or overflow.
SMALLEST, LARGEST = 1e-100, 1e100


def check_scale(X: KernelViews) -> None:
    """Raise if a kernel is so small or so large that its products are not numbers; say which."""
    for name in X.names:
        diagonal = X.diagonal(name)
        largest = float(np.max(diagonal, initial=0.0))
        mean = largest * float(np.mean(diagonal / largest, dtype=np.float64)) if largest > 0 else 0.0
        if mean > LARGEST or 0 < mean < SMALLEST:
            raise ValueError(
                f"view {name!r}: the kernel's mean diagonal is {mean:.3g}; between {SMALLEST:g} and "
                f"{LARGEST:g} is wanted: divide the kernel by {mean:.3g} first"
            )


def check_positive(X: KernelViews) -> None:
    """Raise if a kernel has a negative eigenvalue beyond rounding; say which, and how to mend it.

    A product of factors has none, and a block in chunks, perhaps larger than memory, is taken on trust.
    """
    for name in X.names:
        if isinstance(X.operator(name), Gram | ChunkedGram | Chunked):
            continue
        found = _indefinite(X.block(name))
        if found is not None:
            low, high = found
            raise ValueError(
                f"view {name!r}: the kernel is not positive semidefinite: its lowest eigenvalue is "
                f"{low:.4g} (largest {high:.4g}); mend it with kernel_views.repair('clip') or "
                ".repair('shift') (command line: --repair clip), or check how it was computed"
            )


class Recipe(NamedTuple):
    """A method with some parameters set, as offered by name on the command line."""

    parameters: Mapping[str, Any]
    when: str  # one line: when to use it
    without: tuple[str, ...] = ()  # parameters of the class that mean nothing here


class Completer(TransformerMixin, BaseEstimator, ABC):  # type: ignore[misc]
    """Base of everything that fills the missing rows and columns of kernels.

    A completer says what it learns (:meth:`_learn`), what the completed training kernels then are
    (:meth:`_fill`), and how rows of new samples are completed (:meth:`_fill_rows`).
    """

    recipes: ClassVar[Mapping[str, Recipe]] = {}

    names_in_: tuple[str, ...]
    ids_: Array

    def __sklearn_tags__(self) -> Any:
        tags = super().__sklearn_tags__()
        tags.input_tags.pairwise = True
        return tags

    def fit(self, X: KernelViews, y: Any = None) -> Self:
        """Learn from incomplete kernels of the training samples."""
        X = check_kernels(X)
        check_scale(X)
        with suited_to(len(X)):
            self._learn(X)
        self.names_in_, self.ids_, self._observed = X.names, X.ids, X.observed
        return self

    def fit_transform(self, X: KernelViews, y: Any = None, **fit_params: Any) -> KernelViews:
        """Learn, and return the training kernels with everything observed."""
        self.fit(X)
        with suited_to(len(X)):
            return X.completed(self._fill(X))

    def transform(self, X: KernelViews) -> KernelViews:
        """Complete kernels of new samples against the training samples (rows against columns).

        The square kernels of the training samples themselves are completed as in
        :meth:`fit_transform`.
        """
        check_is_fitted(self, "names_in_")
        if not isinstance(X, KernelViews):
            raise TypeError(f"KernelViews are wanted, not {type(X).__name__}")
        X.demand_columns(self.names_in_, self.ids_)
        if X.square:
            if not np.array_equal(X.observed, self._observed):
                raise ValueError(
                    "square kernels are completed as in training, but other samples are absent in these; "
                    "use fit_transform on them, or give the rows of new samples, kv[np.ix_(new, train)]"
                )
            with suited_to(len(X)):
                return X.completed(self._fill(X))
        with suited_to(len(self.ids_)):
            blocks, diagonals = self._fill_rows(X)
        return X.completed_rows(blocks, diagonals)

    @abstractmethod
    def _learn(self, X: KernelViews) -> None: ...

    @abstractmethod
    def _fill(self, X: KernelViews) -> Mapping[str, Array | Operator]: ...

    @abstractmethod
    def _fill_rows(self, X: KernelViews) -> tuple[Mapping[str, Array | Operator], Mapping[str, Array]]:
        """Completed (rows x all training samples) blocks and the rows' own kernel values, by view."""


class IterativeMixin:
    """Fitted attributes of whatever runs through ``_loop.iterate``."""

    n_iter_: int
    objective_: Array
    converged_: bool
    status_: str
    _remedy: str = ""  # what to do where the objective is not finite

    def _record(self, solution: Solution[Any]) -> None:
        if solution.status is Status.NOT_FINITE and not solution.n_iter:
            raise ValueError(f"{type(self).__name__}: {solution.sentence}; there is none{self._remedy}")
        self.n_iter_ = solution.n_iter
        self.objective_ = solution.trace
        self.converged_ = solution.converged
        self.status_ = solution.sentence
        if solution.status is Status.NOT_FINITE:
            self.status_ += self._remedy
        if solution.status in (Status.MAX_ITER, Status.NOT_FINITE):
            warn(f"{type(self).__name__} {self.status_} ({self.n_iter_} iterations)", ConvergenceWarning)
