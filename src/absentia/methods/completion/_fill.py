"""Filling without learning: what every other completer has to beat."""

from dataclasses import dataclass
from typing import Literal

import numpy as np

from absentia.core import Array, Operator, estimator, serializable
from absentia.data import KernelViews
from absentia.methods.completion._subspace import Basis, Coordinates, SubspaceCompleter


@estimator
class ZeroFill(SubspaceCompleter):
    """Absent rows and columns become zero, their diagonal too.

    Assumes nothing.  An absent sample is the zero vector: unlike everything, itself included.  The
    result is positive semidefinite whenever the observed kernel is.

    Examples
    --------
    >>> import numpy as np
    >>> from absentia import KernelViews, ZeroFill
    >>> kv = KernelViews.from_blocks({"a": ([0, 1], np.eye(2)), "b": ([0], [[1.0]])})
    >>> ZeroFill().fit_transform(kv).block("b")
    array([[1., 0.],
           [0., 0.]])
    """

    _learns = False

    def _learn(self, X: KernelViews) -> None:
        self._bases = [Basis.of(K, np.zeros((K.shape[0], 0))) for K in map(X.operator, X.names)]
        self._coordinates = self._find_coordinates(X)

    def _find_coordinates(self, X: KernelViews) -> list[Coordinates]:
        return [Coordinates(np.zeros((n, 0)), np.zeros(n)) for n in (~X.observed).sum(axis=0)]


@serializable
@dataclass(frozen=True)
class Constant(Basis):
    """One axis that has the same kernel value with every sample; no combination of samples has."""

    level: float

    def along(self, rows: Operator) -> Array:
        return np.full((rows.shape[0], 1), self.level)


@estimator
class MeanFill(SubspaceCompleter):
    """An absent sample becomes the mean of the observed ones.

    Parameters
    ----------
    of : {"features", "blocks", "entries"}, default "features"
        What is averaged.  ``"features"``: the mean sample in feature space.  Its kernel values are the
        observed kernel's row means, and with itself the mean of all entries: positive semidefinite
        whenever the observed kernel is.  ``"blocks"``: the same, but an absent sample's value with itself
        is the mean of the observed diagonal, so that a constant diagonal stays constant; positive
        semidefinite too, being the mean sample plus a part of each absent sample's own.
        ``"entries"``: every missing entry is the mean of all observed entries, as the papers do for
        comparison; that is in general *not* positive semidefinite.

    Examples
    --------
    >>> import numpy as np
    >>> from absentia import KernelViews, MeanFill
    >>> kv = KernelViews.from_blocks({"a": ([0, 1, 2], np.eye(3)), "b": ([0, 1], np.eye(2))})
    >>> MeanFill().fit_transform(kv).block("b")
    array([[1. , 0. , 0.5],
           [0. , 1. , 0.5],
           [0.5, 0.5, 0.5]])
    """

    of: Literal["features", "blocks", "entries"] = "features"

    _learns = False

    def _learn(self, X: KernelViews) -> None:
        self._bases = [mean_basis(X.operator(name), flat=self.of == "entries") for name in X.names]
        means = [float(X.diagonal(name).mean(dtype=np.float64)) if len(X.diagonal(name)) else 0.0
                 for name in X.names]  # fmt: skip
        grand = [float(basis.E[0, 0]) for basis in self._bases]
        pairs = zip(means, grand, strict=True)
        self._spread = [max(own - mean, 0.0) if self.of == "blocks" else 0.0 for own, mean in pairs]
        self._coordinates = self._find_coordinates(X)

    def _find_coordinates(self, X: KernelViews) -> list[Coordinates]:
        counts = (~X.observed).sum(axis=0)
        return [
            Coordinates(np.ones((n, 1)), np.full(n, s)) for n, s in zip(counts, self._spread, strict=True)
        ]


def mean_basis(K: Operator, *, flat: bool) -> Basis:
    """The mean sample as the only axis; `flat`: one that is equally like every sample."""
    m = K.shape[0]
    basis = Basis.of(K, np.full((m, 1), 1.0 / max(m, 1)))
    if not flat:
        return basis
    grand = float(basis.G.mean()) if m else 0.0
    return Constant(basis.C, np.full((m, 1), grand), np.full((1, 1), grand), grand)
