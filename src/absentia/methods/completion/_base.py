"""The base classes of completers: completing a kernel is saying where the absent samples lie.

Let K be the observed kernel of a view.  If the features of an absent sample t are a combination of
*axes*, ``sum_j W_tj e_j``, plus a remainder that is orthogonal to all else and has squared length
s_t >= 0, and the axes are combinations of the observed samples, ``e_j = sum_i C_ij phi_i``, then

    K_vh = G W',     K_hh = W E W' + diag(s),     G = K C,     E = C' K C.

Completed in this way a kernel keeps its observed block and is positive semidefinite if that is, whatever
the axes and coordinates are: it is the kernel of actual points.  (E may be more than C' K C: then the
axes are longer than the combinations, by something that is orthogonal to all that was observed.)

A method brings a :class:`Basis` for each view, the axes, and :class:`Coordinates` for the samples that
lack it, the rows of W and s; for new samples by a rule, :meth:`SubspaceCompleter._find_coordinates`.
Training kernels, rows of new samples and their diagonals are then the same few lines for all methods,
and operators throughout: nothing n x n is formed from kernels that are given by factors.
"""

from abc import ABC, abstractmethod
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any, Self

import numpy as np
import scipy.sparse
from sklearn.base import TransformerMixin
from sklearn.utils.validation import check_is_fitted

from absentia.core import (
    Array,
    Completed,
    CompletedSide,
    Estimator,
    Operator,
    clone_without_callbacks,
    limit_threads_if_small,
    serializable,
)
from absentia.core.linalg import symmetrize
from absentia.data import KernelViews, Views, check_square_kernels, input_error, show_id, warn_of_unlinked
from absentia.methods.completion._holdout import Holdout

#: Mean diagonals that completers take: beyond, squares and products of kernel values under- or overflow.
_MIN_DIAGONAL, _MAX_DIAGONAL = 1e-100, 1e100
#: Two matrices that agree to this, relative to the largest value, are one.
_SAME = 1e-6
#: Levels whose weights differ by less are tied; the first wins.
_TIED = 1e-9


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


# ------------------------------------------------------------------------ bases and coordinates


@serializable
@dataclass(frozen=True)
class Basis:
    """Axes of a view, as combinations `C` of the samples that have it (None: these themselves).

    `G` are their kernel values with those samples (m x r), `E` those with one another (r x r).
    """

    C: Array | None
    G: Array
    E: Array

    @classmethod
    def of(cls, K: Operator, C: Array) -> Self:
        """Axes along the combinations `C`, and no longer than these."""
        G = K @ C
        return cls(C, G, symmetrize(C.T @ G))

    def kernel_values(self, rows: Operator) -> Array:
        """Kernel values of samples with the axes, from their rows against the observed samples."""
        return rows.to_dense() if self.C is None else np.asarray(rows @ self.C)

    def squared_norms(self, W: Array) -> Array:
        """``k(t, t)`` of samples with coordinates `W`, without the remainder."""
        return np.einsum("ij,ij->i", W @ self.E, W)


@serializable
@dataclass(frozen=True)
class Coordinates:
    """Coordinates `W` of the absent samples of a view along its axes; squared lengths `s` of remainders.

    `G`, of new samples: kernel values with the axes of those that *have* the view, where these are not what
    their rows say (:meth:`Basis.kernel_values`).
    """

    W: Array
    s: Array
    G: Array | None = None


def add_mean_coordinate(coordinates: Array) -> Array:
    """Rows of W where the first axis is the mean sample: one along it, then `coordinates`."""
    return np.column_stack([np.ones(len(coordinates)), coordinates])


class SubspaceCompleter(Completer):
    """A completer that finds coordinates of the absent samples of each view."""

    _bases: Sequence[Basis]
    _coordinates: Sequence[Coordinates]
    _linear_rows = True  # a row's values with absent samples are combinations of those with observed ones

    @abstractmethod
    def _fit_model(self, X: KernelViews) -> None:
        """Find a basis of each view, and the coordinates of the training samples that lack it."""

    @abstractmethod
    def _find_coordinates(self, X: KernelViews) -> Sequence[Coordinates]:
        """Coordinates of the rows of `X` that lack a view, by view."""

    @property
    def _has_bases(self) -> bool:
        """Not so of a solver that brings kernels themselves."""
        return getattr(self, "_bases", None) is not None

    def _keeps_values(self, observed: Array, v: int) -> Array:
        """Which samples keep their kernel values in view `v`: those that have it."""
        return np.asarray(observed[:, v])

    def complete_features(self, views: Views) -> Views:
        """The views whose kernels this was fitted on, with the features of absent samples filled in.

        An absent sample is a combination of the observed ones; its features are the same combination of
        theirs.  That is exact for linear kernels, also of standardised features, and an estimate for others
        and for normalised ones.  Features that were observed stay as they are; categories get the level of
        largest weight.

        Parameters
        ----------
        views : Views
            The same samples in the same order, with the same cells absent.
        """
        check_is_fitted(self, "names_in_")
        if not self._has_bases:
            raise ValueError(
                f"{self} completes kernels otherwise than by combinations of the observed samples, and so "
                "has no features for absent ones; use CVKT(), KNNFill(), MeanFill() or MKMC('pca')"
            )
        _check_same_samples(views, self.names_in_, self.ids_, self._observed)
        return views.completed({name: self._features_of(views, name) for name in views.names})

    def onto_observed(self, name: str, coefficients: Array) -> Array | None:
        """Combinations of all training samples as combinations of those that have the view.

        Parameters
        ----------
        name : str
            The view.
        coefficients : ndarray of shape (combinations, n_samples)
            Of the training samples.

        Returns
        -------
        ndarray of shape (combinations, n_samples), or None
            Zero for samples that lack the view.  None where these are no combinations of the others.
        """
        check_is_fitted(self, "names_in_")
        if not self._has_bases or not self._linear_rows:
            return None
        v = self.names_in_.index(name)
        present, keeps = self._observed[:, v], self._keeps_values(self._observed, v)
        along = coefficients[:, ~keeps] @ self._coordinates[v].W
        C = self._bases[v].C
        projected = coefficients * keeps
        projected[:, present] += along if C is None else along @ C.T
        return projected

    def _features_of(self, views: Views, name: str) -> Array:
        """Features of the samples that lack a view."""
        v, block = self.names_in_.index(name), views.block(name)
        basis, present = self._bases[v], self._observed[:, v]
        replaced = ~self._keeps_values(self._observed, v)
        if present.all():
            return np.zeros((0, block.shape[1]))
        if not present.any() or not basis.G.shape[1]:
            why = "nobody has it" if not present.any() else "its absent samples are zero, like no sample"
            raise ValueError(
                f"view {name!r}: {why}; leave it out with views.select([...]), or use MeanFill()"
            )
        levels = views.levels(name)
        columns = views.features(name)
        named = [] if columns is None else columns.tolist()
        sizes = {named.index(column): len(names) for column, names in levels.items()}
        return _features_at(block, sizes, basis, self._coordinates[v].W[~present[replaced]])

    def _fill(self, X: KernelViews) -> Mapping[str, Array | Operator]:
        return self._complete_square(X, self._bases, self._coordinates)

    def _complete_square(
        self, X: KernelViews, bases: Sequence[Basis], coordinates: Sequence[Coordinates]
    ) -> dict[str, Operator]:
        """Square kernels `X` completed."""
        kernels: dict[str, Operator] = {}
        for v, (name, basis, absent) in enumerate(zip(X.names, bases, coordinates, strict=True)):
            side, inside = self._make_side(X.observed, v, basis.G, absent.W)
            K = _select_block(X.operator(name), inside, inside)
            kernels[name] = Completed.square(K, side.known, side.filled, side.G, side.W, basis.E, absent.s)
        return kernels

    def _fill_rows(self, X: KernelViews) -> tuple[Mapping[str, Array | Operator], Mapping[str, Array]]:
        blocks: dict[str, Array | Operator] = {}
        diagonals: dict[str, Array] = {}
        no_diagonal = scipy.sparse.csr_array(X.shape)
        for v, (name, absent) in enumerate(zip(X.names, self._find_coordinates(X), strict=True)):
            K, basis = X.operator(name), self._bases[v]
            G = basis.kernel_values(K) if absent.G is None else absent.G
            columns, old = self._make_side(self._observed, v, basis.G, self._coordinates[v].W)
            rows, new = self._make_side(X.observed, v, G, absent.W)
            blocks[name] = Completed(_select_block(K, new, old), rows, columns, basis.E, no_diagonal)
            diagonals[name] = np.empty(len(X))
            diagonals[name][rows.known] = X.diagonal(name)[new]
            diagonals[name][rows.filled] = basis.squared_norms(absent.W) + absent.s
        return blocks, diagonals

    def _make_side(self, observed: Array, v: int, G: Array, W: Array) -> tuple[CompletedSide, Array]:
        """Samples as a side of a completed kernel; which of those that have the view keep their values."""
        known = self._keeps_values(observed, v)
        inside = np.flatnonzero(known[observed[:, v]])
        return CompletedSide(np.flatnonzero(known), np.flatnonzero(~known), G[inside], W), inside


def _select_block(K: Operator, rows: Array, columns: Array) -> Operator:
    """These rows and columns, nothing copied if that is all of them."""
    return K if K.shape == (len(rows), len(columns)) else K.select(rows, columns)


# ------------------------------------------------------------------------- features of absent samples
#
# A completed kernel says that an absent sample t is the combination ``sum_i a_ti phi_i`` of the observed
# samples, with ``a = W C'``, in the space that the kernel has made of the features.  The same combination
# of the features themselves is
#
# * exact if the kernel is ``B B'``, B the features: then ``phi_i`` *are* the features.  That is seen from
#   the basis, as ``G = K C`` is then ``B (B' C)``;
# * otherwise an estimate, taken about the mean: ``mean + sum_i a_ti (b_i - mean)``.  So it is exact, too,
#   for linear kernels of standardised features, and weights that do not add up to one shrink no sample to
#   zero.
#
# Codes of categories are not averaged: each level is a feature of zeros and ones, and the largest wins.
# Values that are missing in observed rows count as their feature's mean, as in ViewKernels.


def _features_at(block: Any, sizes: Mapping[int, int], basis: Basis, W: Array) -> Array:
    """Features of samples with coordinates `W` along a basis; `block` are those of its samples.

    `sizes` are the numbers of levels of those columns that hold codes.
    """
    B = _fill_with_means(_encode_categories(block, sizes) if sizes else block)
    C = basis.C
    mean = np.zeros(B.shape[1]) if _is_linear(basis, B) else np.asarray(B.mean(axis=0)).ravel()
    along = B if C is None else _product(C.T, B)
    ones = np.ones(B.shape[0]) if C is None else C.sum(axis=0)
    # W C' (B - 1 mean') + 1 mean', nothing of the size of B formed
    rows = _product(W, along) + np.outer(1.0 - W @ ones, mean)
    return _decode_categories(rows, sizes, block.shape[1]) if sizes else rows


def _is_linear(basis: Basis, B: Any) -> bool:
    """Whether the kernel is that of the features as they are."""
    values = _product(B, B.T if basis.C is None else _product(B.T, basis.C))
    largest = float(np.abs(basis.G).max(initial=0.0))
    return largest > 0 and bool(np.abs(values - basis.G).max() <= _SAME * largest)


def _product(A: Any, B: Any) -> Array:
    product = A @ B
    return np.asarray(product.toarray() if scipy.sparse.issparse(product) else product)


def _fill_with_means(B: Any) -> Any:
    if scipy.sparse.issparse(B):
        return B  # kernels of sparse views have no missing values
    B = np.asarray(B, dtype=np.float64)
    missing = np.isnan(B)
    if not missing.any():
        return B
    known = np.maximum((~missing).sum(axis=0), 1)
    return np.where(missing, np.where(missing, 0.0, B).sum(axis=0) / known, B)


def _encode_categories(block: Array, sizes: Mapping[int, int]) -> Array:
    """The columns of numbers, then for each column of codes one of zeros and ones for every level."""
    numbers = [j for j in range(block.shape[1]) if j not in sizes]
    parts = [np.asarray(block[:, numbers], dtype=np.float64)]
    for j, size in sizes.items():
        codes = block[:, j]
        parts.append(np.where(np.isnan(codes)[:, None], np.nan, codes[:, None] == np.arange(size)))
    return np.column_stack(parts)


def _decode_categories(rows: Array, sizes: Mapping[int, int], width: int) -> Array:
    """Columns as they came, codes being the levels of largest weight."""
    numbers = [j for j in range(width) if j not in sizes]
    decoded = np.empty((len(rows), width))
    decoded[:, numbers] = rows[:, : len(numbers)]
    ends = np.cumsum([len(numbers), *sizes.values()])
    for j, begin, end in zip(sizes, ends[:-1], ends[1:], strict=True):
        weights = rows[:, begin:end]
        decoded[:, j] = np.argmax(weights >= weights.max(axis=1, keepdims=True) - _TIED, axis=1)
    return decoded


def _check_same_samples(views: Any, names: tuple[str, ...], ids: Array, observed: Array) -> None:
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
                f"view {name!r}: {int(differs.sum())} sample(s), e.g. {show_id(ids[differs.argmax()])}, "
                "have it in these features and not in the kernels of training, or the other way round; "
                "give the views that the kernels were made from"
            )
