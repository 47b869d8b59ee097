"""Completers whose one strength of regularisation is given, or chosen by hiding: what EM and SVT share."""

from abc import ABC, abstractmethod
from collections.abc import Sequence
from dataclasses import KW_ONLY, dataclass
from typing import Any, ClassVar, Self, cast

import numpy as np

from absentia.core import (
    Accelerated,
    Array,
    Callback,
    Iterative,
    NonNegative,
    Operator,
    PositiveInt,
    RandomState,
    Solution,
    Stop,
    estimator,
    least,
    serializable,
)
from absentia.data import KernelViews
from absentia.methods.completion._holdout import Holdout
from absentia.methods.completion._subspace import Basis, Coordinates, SubspaceCompleter

#: Accelerated steps are uneven: so many in a row must change the objective by less than tol.
PATIENCE = 3


@serializable
@dataclass(frozen=True)
class Axes(Basis):
    """A frame whose first axis is the mean of the observed samples, and how rows are read along the others.

    Coordinates are ``row @ probe - offset``, zero for the mean.
    """

    probe: Array
    offset: Array

    @classmethod
    def through_mean(cls, K: Array, C: Array, probe: Array) -> Self:
        """Axes through the mean along the combinations `C`, rows read with `probe` (both m x r)."""
        m = len(K)
        if not m:
            nothing = np.zeros((0, 1 + C.shape[1]))
            return cls(nothing, nothing, np.zeros((nothing.shape[1],) * 2), probe, np.zeros(C.shape[1]))
        C = np.column_stack([np.full(m, 1.0 / m), C - C.mean(axis=0)])
        probe = probe - probe.mean(axis=0)
        G = K @ C
        return cls(C, G, C.T @ G, probe, G[:, 0] @ probe)

    def read(self, rows: Operator) -> Array:
        """Coordinates of samples from their kernel rows against the observed samples."""
        return np.asarray(rows @ self.probe - self.offset)


def coordinates(axes: Sequence[Axes], X: KernelViews) -> list[Array]:
    """Coordinates of the rows of `X` along the axes of each view, zero where a sample lacks it."""
    found = []
    for k, (name, own) in enumerate(zip(X.names, axes, strict=True)):
        P = np.zeros((len(X), own.probe.shape[1]))
        if len(own.G):
            P[X.observed[:, k]] = own.read(X.operator(name))
        found.append(P)
    return found


def with_mean(coordinates: Array) -> Array:
    """Rows of W: the mean in full, and the coordinates along the other axes."""
    return np.column_stack([np.ones(len(coordinates)), coordinates])


class Fitting(ABC):
    """Fits kernels with one strength after another, and leaves what it learned in its completer."""

    X: KernelViews

    @abstractmethod
    def __call__(self, strength: float, **options: Any) -> Solution[Accelerated]:
        """`options` are those of :func:`absentia.core.iterate`."""

    @abstractmethod
    def seen(self) -> list[Array]:
        """Coordinates of the samples along the axes of the last fit, zero where a view is absent."""


@estimator
class Regularised(Iterative, SubspaceCompleter):
    """A completer that finds axes in each view, with a strength that hiding may choose."""

    _: KW_ONLY
    tol: NonNegative = 1e-6
    max_iter: PositiveInt = 500
    random_state: RandomState = None
    callback: Callback | None = None
    verbose: bool = False

    _links = "chained"
    _strength: ClassVar[str]  # the name of the parameter
    _path: ClassVar[Sequence[float]]  # its values that are tried
    _settled: ClassVar[int] = PATIENCE  # so many short steps in a row end a fit
    _worse: ClassVar[int] = 2  # so many worse values in a row end the path

    @abstractmethod
    def _prepare(self, X: KernelViews, earlier: Fitting | None = None) -> Fitting:
        """What fits `X`; `earlier` did so with some of its cells hidden."""

    @abstractmethod
    def _places_of(self, seen: Sequence[Array], observed: Array) -> list[Coordinates]:
        """Places of all samples in every view, from their coordinates in those they have (else zero)."""

    def _learn(self, X: KernelViews) -> None:
        strength, earlier = getattr(self, self._strength), None
        if strength == "heldout":
            strength, earlier = self._by_hiding(X)
        setattr(self, f"{self._strength}_", float(strength))
        stop = Stop(self.tol, patience=self._settled)
        fit = self._prepare(X, earlier)
        self._record(fit(float(strength), stop=stop, max_iter=self.max_iter, callback=self._watch()))
        self._coordinates = self._locate_absent(fit.seen(), X)

    def _by_hiding(self, X: KernelViews) -> tuple[float, Fitting | None]:
        """The strength on the path that best completes what is hidden, and what found it."""
        trial, self.heldout_curve_ = Holdout.of(X, self.random_state), {}
        if not trial.n_hidden:
            return self._path[len(self._path) // 2], None  # too few samples to hide any
        fit, part = self._prepare(trial.part), trial.part
        stop = Stop(max(self.tol, 1e-5), patience=self._settled)

        hidden = np.asarray((X.observed & ~part.observed).any(axis=1))

        def complete(strength: float) -> KernelViews:
            fit(strength, max_iter=self.max_iter, stop=stop)
            coordinates = self._locate_absent(fit.seen(), part, hidden)
            return part.completed(self._complete_square(part, self._bases, coordinates))

        self.heldout_curve_ = trial.curve(self._path, complete, self._worse)
        return least(self.heldout_curve_), fit

    def _find_coordinates(self, X: KernelViews) -> list[Coordinates]:
        return self._locate_absent(coordinates(cast("Sequence[Axes]", self._bases), X), X)

    def _locate_absent(
        self, seen: Sequence[Array], X: KernelViews, wanted: Array | None = None
    ) -> list[Coordinates]:
        """Places of the samples of `X` that lack a view, by view, from their coordinates in the others.

        Those that are not `wanted` are left at zero.
        """
        some = np.ones(len(X), dtype=bool) if wanted is None else wanted
        found = self._places_of([P[some] for P in seen], X.observed[some])
        coordinates = []
        for position, absent in zip(found, ~X.observed.T, strict=True):
            W, s = np.zeros((len(X), position.W.shape[1])), np.zeros(len(X))
            W[some], s[some] = position.W, position.s
            coordinates.append(Coordinates(W[absent], s[absent]))
        return coordinates
