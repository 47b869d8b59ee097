"""What EM and SVT share: a basis about the mean, and a strength that is given or selected by hiding."""

from abc import ABC, abstractmethod
from collections.abc import Sequence
from dataclasses import KW_ONLY, dataclass
from typing import Any, ClassVar, Self, cast

import numpy as np

from absentia.core import (
    Array,
    Iterative,
    NonNegative,
    PositiveInt,
    RandomState,
    argmin_key,
    estimator,
    serializable,
)
from absentia.core.optimize import AccelerationState, Callback, Solution, StoppingRule
from absentia.data import KernelViews
from absentia.methods.completion._base import Basis, Coordinates, SubspaceCompleter
from absentia.methods.completion._holdout import Holdout

#: Accelerated steps are uneven: so many in a row must change the objective by less than tol.
_PATIENCE = 3


@serializable
@dataclass(frozen=True)
class MeanBasis(Basis):
    """A basis whose first axis is the mean of the observed samples.

    Coordinates of a sample along the others are ``row @ probe - offset``, `row` its kernel values with the
    observed samples; zero for the mean.
    """

    probe: Array
    offset: Array

    @classmethod
    def of_axes(cls, K: Array, C: Array, probe: Array) -> Self:
        """The mean and axes along the combinations `C`, rows read with `probe` (both m x r)."""
        m, r = C.shape
        if not m:
            no_samples = np.zeros((0, 1 + r))
            return cls(no_samples, no_samples, np.zeros((1 + r, 1 + r)), probe, np.zeros(r))
        C = np.column_stack([np.full(m, 1.0 / m), C - C.mean(axis=0)])
        probe = probe - probe.mean(axis=0)
        G = K @ C
        return cls(C, G, C.T @ G, probe, G[:, 0] @ probe)


class StrengthFitter(ABC):
    """Fits kernels with one strength after another, and leaves what it learned in its completer."""

    X: KernelViews

    @abstractmethod
    def __call__(self, strength: float, **options: Any) -> Solution[AccelerationState]:
        """`options` are those of :func:`absentia.core.iterate`."""

    @abstractmethod
    def known_coordinates(self) -> list[Array]:
        """Coordinates of the samples along the axes of the last fit, zero where a view is absent."""


@estimator
class RegularisedCompleter(Iterative, SubspaceCompleter):
    """A completer that finds axes in each view, with a strength that hiding may select."""

    _: KW_ONLY
    tol: NonNegative = 1e-6
    max_iter: PositiveInt = 500
    random_state: RandomState = None
    callback: Callback | None = None
    verbose: bool = False

    _links = "chained"
    _strength: ClassVar[str]  # the name of the parameter
    _path: ClassVar[Sequence[float]]  # its values that are tried
    _patience: ClassVar[int] = _PATIENCE  # so many short steps in a row end a fit
    _path_patience: ClassVar[int] = 2  # so many worse values in a row end the path

    @abstractmethod
    def _make_fitter(self, X: KernelViews, earlier: StrengthFitter | None = None) -> StrengthFitter:
        """A fitter of `X`; `earlier` fitted it with some of its cells hidden."""

    @abstractmethod
    def _predict_coordinates(self, known: Sequence[Array], observed: Array) -> list[Coordinates]:
        """Coordinates of all samples in every view, from those in the views they have (else zero)."""

    def _fit_model(self, X: KernelViews) -> None:
        strength, earlier = getattr(self, self._strength), None
        if strength == "heldout":
            strength, earlier = self._select_by_holdout(X)
        setattr(self, f"{self._strength}_", float(strength))
        stop = StoppingRule(self.tol, patience=self._patience)
        fitter = self._make_fitter(X, earlier)
        self._set_convergence(
            fitter(float(strength), stop=stop, max_iter=self.max_iter, callback=self._make_callback())
        )
        self._coordinates = self._locate_absent(fitter.known_coordinates(), X)

    def _select_by_holdout(self, X: KernelViews) -> tuple[float, StrengthFitter | None]:
        """The strength on the path that best completes what is hidden, and the fitter that found it."""
        holdout, self.heldout_curve_ = Holdout.of(X, self.random_state), {}
        if not holdout.n_hidden:
            return self._path[len(self._path) // 2], None  # too few samples to hide any
        part, hidden = holdout.part, np.asarray(holdout.hidden.any(axis=1))
        fitter = self._make_fitter(part)
        stop = StoppingRule(max(self.tol, 1e-5), patience=self._patience)

        def complete(strength: float) -> KernelViews:
            fitter(strength, max_iter=self.max_iter, stop=stop)
            coordinates = self._locate_absent(fitter.known_coordinates(), part, hidden)
            return part.completed(self._complete_square(part, self._bases, coordinates))

        self.heldout_curve_ = holdout.curve(self._path, complete, self._path_patience)
        return argmin_key(self.heldout_curve_), fitter

    def _find_coordinates(self, X: KernelViews) -> list[Coordinates]:
        return self._locate_absent(self._row_coordinates(X), X)

    def _row_coordinates(self, X: KernelViews) -> list[Array]:
        """Coordinates of the rows of `X` along the axes of each view, zero where a sample lacks it."""
        coordinates = []
        bases = cast("Sequence[MeanBasis]", self._bases)
        for name, basis, present in zip(X.names, bases, X.observed.T, strict=True):
            rows = np.zeros((len(X), basis.probe.shape[1]))
            if len(basis.G):
                rows[present] = X.operator(name) @ basis.probe - basis.offset
            coordinates.append(rows)
        return coordinates

    def _locate_absent(
        self, known: Sequence[Array], X: KernelViews, wanted: Array | None = None
    ) -> list[Coordinates]:
        """Coordinates of the samples of `X` that lack a view, by view, from those in the views they have.

        Samples that are not `wanted` (a mask) are left at zero.
        """
        wanted = np.ones(len(X), dtype=bool) if wanted is None else wanted
        predicted = self._predict_coordinates([rows[wanted] for rows in known], X.observed[wanted])
        coordinates = []
        for view, absent in zip(predicted, ~X.observed.T, strict=True):
            W, s = np.zeros((len(X), view.W.shape[1])), np.zeros(len(X))
            W[wanted], s[wanted] = view.W, view.s
            coordinates.append(Coordinates(W[absent], s[absent]))
        return coordinates
