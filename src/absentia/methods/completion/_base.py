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

Selection by hiding what is known, and completing it: one rule, one word (``"heldout"``), one curve.

A tenth of each view's observed samples is hidden.  Which ones depends on the data, not on the order of
samples or views.  Of many samples so many may be drawn first as tell what is best (:data:`MAX_SAMPLES`).
What is completed is compared with what was hidden: relative Frobenius error of the hidden rows, against the
samples that were kept and among themselves, mean over views.

EM and SVT have a base of their own, :class:`RegularisedCompleter`: a basis about the mean, and a
regularisation strength, given or selected so.
"""

import zlib
from abc import ABC, abstractmethod
from collections.abc import Mapping, Sequence
from dataclasses import KW_ONLY, dataclass
from functools import cached_property
from typing import Any, ClassVar, Self, TypeVar

import numpy as np
import scipy.sparse
from sklearn.base import TransformerMixin
from sklearn.utils.validation import check_is_fitted

from absentia.core import (
    Array,
    Completed,
    CompletedSide,
    Estimator,
    Iterative,
    NonNegative,
    Operator,
    PositiveInt,
    RandomState,
    argmin_key,
    clone_without_callbacks,
    copy_with,
    estimator,
    evaluate_path,
    limit_threads_if_small,
    make_generator,
    serializable,
    thin_operator,
)
from absentia.core.linalg import symmetrize
from absentia.core.optimize import Callback, StoppingRule
from absentia.data import (
    KernelViews,
    check_square_kernels,
    input_error,
    number_groups,
    order_kernels,
    warn_of_unlinked,
)
from absentia.data.missingness import fixed_per_view

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
        self.__dict__ = self.__getstate__()  # without what another fit made on demand
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
    """Axes of a view, as combinations `C` of the samples that have it (None: these; no rows: not kept).

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

    @classmethod
    def about_mean(cls, K: Operator, C: Array) -> Self:
        """The mean sample, and axes about it along the combinations `C`."""
        m = max(K.shape[0], 1)
        return cls.of(K, np.column_stack([np.full(len(C), 1.0 / m), C - C.sum(axis=0) / m]))

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
    _train: KernelViews | None = None  # training kernels, if bases are made of them again
    _linear_rows = True  # a row's values with absent samples are combinations of those with observed ones

    @abstractmethod
    def _fit_model(self, X: KernelViews) -> None:
        """Find a basis of each view, and the coordinates of the training samples that lack it."""

    @abstractmethod
    def _find_coordinates(self, X: KernelViews) -> Sequence[Coordinates]:
        """Coordinates of the rows of `X` that lack a view, by view."""

    def with_kernels(self, X: KernelViews | None) -> Any:
        """The same fit with its training kernels, or without for a file that can make them again.

        Parameters
        ----------
        X : KernelViews or None
            The training kernels.

        Returns
        -------
        completer
        """
        return copy_with(self, _train=X)

    def _require_training_kernels(self) -> KernelViews:
        if self._train is None:
            raise ValueError(
                f"this {type(self).__name__} has no training kernels; give them to with_kernels"
            )
        return self._train

    @property
    def _has_bases(self) -> bool:
        """Not so of a solver that brings kernels themselves."""
        return getattr(self, "_bases", None) is not None

    def _keeps_values(self, observed: Array, v: int) -> Array:
        """Which samples keep their kernel values in view `v`: those that have it."""
        return np.asarray(observed[:, v])

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
        G = G if len(inside) == len(G) else G[inside]
        return CompletedSide(np.flatnonzero(known), np.flatnonzero(~known), G, W), inside


def _select_block(K: Operator, rows: Array, columns: Array) -> Operator:
    """These rows and columns, nothing copied if that is all of them."""
    return K if K.shape == (len(rows), len(columns)) else K.select(rows, columns)


# ------------------------------------------------------------------------------------ selection by hiding

#: Share of each view's samples that is hidden.
_HIDDEN_SHARE = 0.1
#: So many samples tell what is best as well as more do.
MAX_SAMPLES = 2500
#: So many kernel values are formed at once to be compared.
_MAX_VALUES = 1 << 24

_Key = TypeVar("_Key")


@dataclass(frozen=True)
class Holdout:
    """Kernels of which some observed cells are hidden, to see how well these come back.

    `whole` are these samples, all of them or those that were drawn, with nothing hidden; `part` the same
    with some cells hidden.
    """

    whole: KernelViews
    part: KernelViews

    @classmethod
    def of(
        cls,
        X: KernelViews,
        random_state: RandomState = None,
        share: float = _HIDDEN_SHARE,
        max_samples: int | None = None,
    ) -> Self:
        """Hide a `share` of each view of at most `max_samples` samples of `X`, drawn at random.

        A sample all of whose views would be hidden keeps them: nothing could be said of it.
        """
        rng = make_generator(random_state)
        X = X if max_samples is None else subsample_kernels(X, max_samples, rng)
        order = order_kernels(X)
        in_order = np.ix_(order.samples, order.views)
        keep = np.empty_like(X.observed)
        keep[in_order] = fixed_per_view(X.observed[in_order], share, random_state=rng, allow_empty=True)
        if (groups := number_groups(X.groups)) is not None:  # hidden as their first members are
            first = order.samples[np.unique(groups[order.samples], return_index=True)[1]]
            keep = keep[first[groups]]
        keep[X.observed.any(axis=1) & ~(X.observed & keep).any(axis=1)] = True
        return cls(X, X.hide(keep))

    @classmethod
    def of_rows(cls, X: KernelViews) -> Self:
        """Hide one view of each new sample that has several; which one, its id decides."""
        keep = np.ones_like(X.observed)
        for t, (sample, present) in enumerate(zip(X.ids.tolist(), X.observed, strict=True)):
            views = np.flatnonzero(present)
            if len(views) > 1:
                keep[t, views[zlib.crc32(repr(sample).encode()) % len(views)]] = False
        return cls(X, X.hide(keep))

    @property
    def hidden(self) -> Array:
        """Which cells are hidden, samples x views."""
        return self.whole.observed & ~self.part.observed

    @property
    def n_hidden(self) -> int:
        """How many cells are hidden in views that somebody is left in."""
        return int(self.hidden.sum(axis=0)[self.part.observed.any(axis=0)].sum())

    def error(self, completed: KernelViews) -> float:
        """Relative error of the hidden cells in the `completed` part, mean over views."""
        errors = self.errors(completed)
        return float(np.mean(list(errors.values()))) if errors else 0.0

    def errors(self, completed: KernelViews) -> dict[str, float]:
        """Relative error of the hidden cells by view; views without any are left out."""
        truth, errors = self.whole, {}
        for v, (name, present) in enumerate(zip(truth.names, truth.observed.T, strict=True)):
            hidden = np.flatnonzero(self.hidden[:, v])
            kept = present & self.part.observed[:, v] if truth.square else truth.column_observed[:, v]
            if len(hidden) and kept.any():
                squares = self._sum_squares(completed, v, hidden, np.flatnonzero(kept))
                if truth.square:
                    squares = 2 * squares + self._sum_squares(completed, v, hidden, hidden)
                errors[name] = float(np.sqrt(squares[0] / max(squares[1], 1e-300)))
        return errors

    def _sum_squares(self, completed: KernelViews, v: int, rows: Array, columns: Array) -> Array:
        """Sums of squares of the differences, and of the true values, in a block of view `v`."""
        name = self.whole.names[v]
        K, K_hat = self.whole.operator(name), completed.operator(name)
        inside_rows = np.cumsum(self.whole.observed[:, v]) - 1
        inside_columns = np.cumsum(self.whole.column_observed[:, v]) - 1
        sums, step = np.zeros(2), max(_MAX_VALUES // len(columns), 1)
        for chunk in (rows[start : start + step] for start in range(0, len(rows), step)):
            true = K.block(inside_rows[chunk], inside_columns[columns])
            difference = K_hat.block(chunk, columns) - true
            sums += float(np.vdot(difference, difference)), float(np.vdot(true, true))
        return sums


def subsample_kernels(X: KernelViews, max_samples: int, rng: np.random.Generator) -> KernelViews:
    """At most so many samples, the same ones in whatever order they come; they stay in that order."""
    if len(X) <= max_samples:
        return X
    drawn = np.sort(np.argsort(order_kernels(X).lottery(rng), kind="stable")[:max_samples])
    return X[np.ix_(drawn, drawn)]


@estimator
class RegularisedCompleter(Iterative, SubspaceCompleter):
    """A completer that finds axes in each view, regularised by a parameter of the derived class.

    The derived class names this parameter in `_strength`; if its value is ``"heldout"``, that of `_path`
    is selected which best completes hidden cells.
    """

    _: KW_ONLY
    tol: NonNegative = 1e-6
    max_iter: PositiveInt = 500
    random_state: RandomState = None
    callback: Callback | None = None
    verbose: bool = False

    _links = "chained"  # a view also tells of samples linked to it through other views
    _strength: ClassVar[str]  # name of the parameter, "ridge" say
    _path: ClassVar[Sequence[float]]  # values that are tried, in this order
    # a fit ends after so many steps in a row that change the objective by less than tol: accelerated steps
    # are uneven, and a single short one may be followed by long ones
    _patience: ClassVar[int] = 3
    _path_patience: ClassVar[int] = 2  # the path ends after so many values in a row with a larger error

    @abstractmethod
    def _make_fitter(self, X: KernelViews, earlier: Any = None) -> Any:
        """Make what fits `X` with one strength after another; what fits have in common is computed once.

        ``fit(strength, **options)`` sets bases and fitted attributes and returns the solution; the options
        are those of ``iterate``.  ``get_coordinates()`` gives :meth:`_project_rows` of the samples of `X`.
        `earlier`, a fitter of `X` with some cells hidden, may say where to start.
        """

    @abstractmethod
    def _make_bases(self, kernels: Sequence[Operator], observed: Array) -> list[Basis]:
        """Make each view's basis of its kernel (m, m) and what was learned; `observed` is (n, V)."""

    @abstractmethod
    def _projections(self) -> list[Array]:
        """By view, what a row of kernel values about the mean is multiplied by for coordinates (m, r)."""

    @abstractmethod
    def _predict_coordinates(self, known: Sequence[Array], observed: Array) -> list[Coordinates]:
        """Predict coordinates of all n samples in each of V views from those in the views that they have.

        Parameters
        ----------
        known : list of V arrays of shape (n, r)
            Coordinates by view, zero where a sample lacks it.
        observed : bool array of shape (n, V)
            Which sample has which view.
        """

    def _fit_model(self, X: KernelViews) -> None:
        strength, earlier = getattr(self, self._strength), None
        if strength == "heldout":
            strength, earlier = self._select_by_holdout(X)
        setattr(self, f"{self._strength}_", float(strength))
        stop = StoppingRule(self.tol, patience=self._patience)
        fitter = self._make_fitter(X, earlier)
        self._set_convergence(
            fitter.fit(float(strength), stop=stop, max_iter=self.max_iter, callback=self._make_callback())
        )
        self._train = X
        self._coordinates = self._locate_absent(fitter.get_coordinates(), X)

    @cached_property
    def _bases(self) -> list[Basis]:  # type: ignore[override]
        """Made again when first used: in a file, kernels and what was learned stand for them."""
        X = self._require_training_kernels()
        return self._make_bases([thin_operator(X.operator(name)) for name in X.names], X.observed)

    @cached_property
    def _coordinates(self) -> list[Coordinates]:  # type: ignore[override]
        """As bases are: those of the training samples, found as for new ones."""
        return self._find_coordinates(self._require_training_kernels())

    def _select_by_holdout(self, X: KernelViews) -> tuple[float, Any]:
        """Return the strength on the path that best completes hidden cells, and the fitter of the path."""
        holdout, self.heldout_curve_ = Holdout.of(X, self.random_state), {}
        if not holdout.n_hidden:
            return self._path[len(self._path) // 2], None  # too few samples to hide any
        part, samples = holdout.part, np.asarray(holdout.hidden.any(axis=1))
        fitter = self._make_fitter(part)
        stop = StoppingRule(max(self.tol, 1e-5), patience=self._patience)

        def error(strength: float) -> float:
            fitter.fit(strength, max_iter=self.max_iter, stop=stop)
            coordinates = self._locate_absent(fitter.get_coordinates(), part, samples)
            kernels = self._complete_square(part, self._bases, coordinates)
            return holdout.error(part.completed(kernels))

        self.heldout_curve_ = evaluate_path(self._path, error, self._path_patience)
        return argmin_key(self.heldout_curve_), fitter

    def _find_coordinates(self, X: KernelViews) -> list[Coordinates]:
        return self._locate_absent(self._project_rows(X), X)

    def _project_rows(self, X: KernelViews) -> list[Array]:
        """By view, coordinates (n, r) of the rows of `X` along its axes; zero where a sample lacks it."""
        coordinates = []
        parts = zip(X.names, self._bases, self._projections(), X.observed.T, strict=True)
        for name, basis, projection, present in parts:
            rows = np.zeros((len(X), projection.shape[1]))
            rows[present] = X.operator(name) @ projection - basis.G[:, 0] @ projection
            coordinates.append(rows)
        return coordinates

    def _locate_absent(
        self, known: Sequence[Array], X: KernelViews, samples: Array | None = None
    ) -> list[Coordinates]:
        """By view, coordinates of the samples that lack it, from those in the views that they have.

        Parameters
        ----------
        known : list of arrays of shape (n, r)
            Coordinates by view, zero where a sample lacks it.
        X : KernelViews
            The n samples.
        samples : bool array of shape (n,), optional
            Samples to predict; the others are left at zero.
        """
        samples = np.ones(len(X), dtype=bool) if samples is None else samples
        predicted = self._predict_coordinates([rows[samples] for rows in known], X.observed[samples])
        coordinates = []
        for view, absent in zip(predicted, ~X.observed.T, strict=True):
            W, s = np.zeros((len(X), view.W.shape[1])), np.zeros(len(X))
            W[samples], s[samples] = view.W, view.s
            coordinates.append(Coordinates(W[absent], s[absent]))
        return coordinates
