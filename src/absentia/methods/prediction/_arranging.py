"""Whom to learn from, in an order that the data decide, so that no answer hangs on how samples came."""

from typing import Any, NamedTuple, Self

import numpy as np

from absentia.core import Array, serializable
from absentia.data import KernelViews, Views, own_order


@serializable
class Arrangement(NamedTuple):
    """The views that someone has and the samples that count, by name and position, in their own order."""

    views: tuple[str, ...]
    samples: Array

    @classmethod
    def of(cls, X: Views | KernelViews, weight: Array, *more: Array) -> Self:
        """Of the samples with a view and a weight; `more` (labels) tells alike samples apart."""
        counts = (weight > 0) & X.observed.any(axis=1)
        part = X[np.flatnonzero(counts)] if isinstance(X, Views) else _among(X, np.flatnonzero(counts))
        views, order = own_order(part, *(one[counts] for one in (*more, weight)))
        return cls(tuple(X.names[v] for v in views), np.flatnonzero(counts)[order])

    def train(self, X: Views | KernelViews) -> Any:
        """The training samples."""
        X = X.select(self.views)
        return X[self.samples] if isinstance(X, Views) else _among(X, self.samples)

    def rows(self, X: Views | KernelViews, which: Array) -> Any:
        """The new samples `which`; of kernels, against the training samples."""
        X = X.select(self.views)
        return X[which] if isinstance(X, Views) else X[np.ix_(which, self.samples)]


def _among(X: KernelViews, index: Array) -> KernelViews:
    return X[np.ix_(index, index)]
