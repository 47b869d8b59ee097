"""Filling without learning: what every other completer has to beat."""

from dataclasses import dataclass
from typing import Literal

import numpy as np

from absentia.core import Array, Operator, estimator, serializable
from absentia.data import KernelViews
from absentia.methods.completion._base import Basis, Coordinates, SubspaceCompleter


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

    _requires_psd = False

    def _fit_model(self, X: KernelViews) -> None:
        self._bases = [Basis.of(K, np.zeros((K.shape[0], 0))) for K in map(X.operator, X.names)]
        self._coordinates = self._find_coordinates(X)

    def _find_coordinates(self, X: KernelViews) -> list[Coordinates]:
        return [Coordinates(np.zeros((n, 0)), np.zeros(n)) for n in (~X.observed).sum(axis=0)]


@serializable
@dataclass(frozen=True)
class _ConstantBasis(Basis):
    """One axis that has the same kernel value with every sample; no combination of samples has."""

    value: float

    def kernel_values(self, rows: Operator) -> Array:
        return np.full((rows.shape[0], 1), self.value)


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
        semidefinite too, being the mean sample plus something orthogonal for each absent sample.
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

    _requires_psd = False

    def _fit_model(self, X: KernelViews) -> None:
        self._bases = [_mean_basis(X.operator(name), constant=self.of == "entries") for name in X.names]
        self._remainders = [0.0] * X.n_views
        if self.of == "blocks":
            diagonals = [X.diagonal(name) for name in X.names]
            means = [float(d.mean(dtype=np.float64)) if len(d) else 0.0 for d in diagonals]
            pairs = zip(means, self._bases, strict=True)
            self._remainders = [max(mean - float(basis.E[0, 0]), 0.0) for mean, basis in pairs]
        self._coordinates = self._find_coordinates(X)

    def _find_coordinates(self, X: KernelViews) -> list[Coordinates]:
        counts = (~X.observed).sum(axis=0)
        pairs = zip(counts, self._remainders, strict=True)
        return [Coordinates(np.ones((n, 1)), np.full(n, remainder)) for n, remainder in pairs]


def _mean_basis(K: Operator, *, constant: bool) -> Basis:
    """The mean sample as the only axis; `constant`: one that is equally like every sample."""
    m = K.shape[0]
    basis = Basis.of(K, np.full((m, 1), 1.0 / max(m, 1)))
    if not constant:
        return basis
    mean = float(basis.G.mean()) if m else 0.0
    return _ConstantBasis(basis.C, np.full((m, 1), mean), np.full((1, 1), mean), mean)
