"""Filling without learning: what every other completer has to beat."""

from __future__ import annotations

import numpy as np

from absentia.core import Array
from absentia.data import KernelViews
from absentia.methods.base import Completer, Recipe


class ZeroFill(Completer):
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

    recipes = {"zero": Recipe({}, "baseline: absent samples are like nothing; hard to beat before an SVM")}

    def _learn(self, X: KernelViews) -> None:
        pass

    def _fill(self, X: KernelViews) -> dict[str, Array]:
        return {name: _spread(X, v, np.zeros(X.shape)) for v, name in enumerate(X.names)}

    def _fill_rows(self, X: KernelViews) -> tuple[dict[str, Array], dict[str, Array]]:
        diagonals = {}
        for v, name in enumerate(X.names):
            diagonals[name] = np.zeros(len(X))
            diagonals[name][X.observed[:, v]] = X.diagonal(name)
        return self._fill(X), diagonals


class MeanFill(Completer):
    """An absent sample becomes the mean of the observed ones.

    Parameters
    ----------
    of : {"features", "blocks", "entries"}, default "features"
        ``"features"``: the mean sample in feature space.  Its kernel values are the observed kernel's
        row means, and with itself the mean of all entries: positive semidefinite whenever the
        observed kernel is.  ``"blocks"``: the same, but an absent sample's value with itself is the
        mean of the observed diagonal, so that a constant diagonal stays constant; positive
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

    recipes = {"mean": Recipe({}, "baseline: absent samples are the average sample")}

    def __init__(self, of: str = "features") -> None:
        self.of = of

    def _learn(self, X: KernelViews) -> None:
        if self.of not in ("features", "blocks", "entries"):
            raise ValueError(f"of must be 'features', 'blocks' or 'entries', not {self.of!r}")
        self._means: dict[str, Array] = {}
        self._own: dict[str, float] = {}
        for name in X.names:
            n = X.operator(name).shape[0]
            # row means as one thin product, so that kernels given as factors stay factors
            means = X.operator(name) @ np.full((n, 1), 1.0 / n) if n else np.zeros((0, 1))
            self._means[name] = means[:, 0]
            self._own[name] = float(X.diagonal(name).mean(dtype=np.float64)) if n else 0.0

    def _fill(self, X: KernelViews) -> dict[str, Array]:
        return self._fill_rows(X)[0]

    def _fill_rows(self, X: KernelViews) -> tuple[dict[str, Array], dict[str, Array]]:
        blocks, diagonals = {}, {}
        for v, name in enumerate(X.names):
            rows, cols = X.observed[:, v], X.column_observed[:, v]
            means = self._means[name]
            grand = float(means.mean()) if len(means) else 0.0
            filled = np.full(X.shape, grand)
            if self.of != "entries" and len(means):
                filled[np.ix_(~rows, cols)] = means
                row_means = means if X.square else X.block(name).mean(axis=1)
                filled[np.ix_(rows, ~cols)] = row_means[:, None]
            own = self._own[name] if self.of == "blocks" else grand
            if X.square:
                np.fill_diagonal(filled, own)
            blocks[name] = _spread(X, v, filled)
            diagonals[name] = np.full(len(X), own)
            diagonals[name][rows] = X.diagonal(name)
        return blocks, diagonals


def _spread(X: KernelViews, v: int, filled: Array) -> Array:
    """`filled` with the observed block of view `v` written over it."""
    filled[np.ix_(X.observed[:, v], X.column_observed[:, v])] = X.block(X.names[v])
    return filled
