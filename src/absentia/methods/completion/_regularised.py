"""Base of EM and SVT: a basis about the mean, and a regularisation strength, given or selected.

Shapes: n samples, m of which have a view, and r axes in it.
"""

from abc import abstractmethod
from collections.abc import Sequence
from dataclasses import KW_ONLY
from functools import cached_property
from typing import Any, ClassVar

import numpy as np

from absentia.core import (
    Array,
    Iterative,
    NonNegative,
    Operator,
    PositiveInt,
    RandomState,
    argmin_key,
    estimator,
    thin_operator,
)
from absentia.core.optimize import Callback, StoppingRule
from absentia.data import KernelViews
from absentia.methods.completion._base import Basis, Coordinates, Holdout, SubspaceCompleter


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

        def complete(strength: float) -> KernelViews:
            fitter.fit(strength, max_iter=self.max_iter, stop=stop)
            coordinates = self._locate_absent(fitter.get_coordinates(), part, samples)
            return part.completed(self._complete_square(part, self._bases, coordinates))

        self.heldout_curve_ = holdout.curve(self._path, complete, self._path_patience)
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
