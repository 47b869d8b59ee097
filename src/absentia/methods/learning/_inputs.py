"""What is learned from, kernels of the samples or their features, and what differs between the two."""

from typing import Any

import numpy as np

from absentia.core import Array
from absentia.data import KernelViews, Views, check_kernels, refusal


class Kernels:
    """Square :class:`KernelViews` to learn from; then rows of new samples against the training samples."""

    pairwise = True

    def check(self, X: Any, learner: Any) -> Any:
        """What `learner` can learn from."""
        return check_kernels(X, type(learner).__name__)

    def check_rows(self, X: Any, learner: Any) -> Any:
        """New samples that go with those that `learner` has learned from."""
        if not isinstance(X, KernelViews):
            raise refusal("rows", X, type(learner).__name__)
        X.demand_columns(learner.names_in_, learner.ids_)
        return X

    def widths(self, X: Any) -> tuple[int, ...]:
        """Columns that have to be there again: the training samples."""
        return (len(X),)

    def part(self, X: Any, rows: Array, columns: Array) -> Any:
        """The samples `rows` against the samples `columns`."""
        return X[np.ix_(rows, columns)]


class Features:
    """:class:`Views`, the same for training and new samples."""

    pairwise = False

    def check(self, X: Any, learner: Any) -> Any:
        """What `learner` can learn from."""
        if not len(self._views(X, learner)):
            raise ValueError("there is no sample to learn from")
        return X

    def check_rows(self, X: Any, learner: Any) -> Any:
        """New samples that have the views and as many features as those that `learner` has learned from."""
        X = self._views(X, learner)
        if (X.names, self.widths(X)) != (learner.names_in_, learner._widths):
            came = dict(zip(X.names, self.widths(X), strict=True))
            wanted = dict(zip(learner.names_in_, learner._widths, strict=True))
            raise ValueError(f"views and numbers of features {came} came, {wanted} were there in training")
        return X

    def widths(self, X: Any) -> tuple[int, ...]:
        """Numbers of features, which have to be the same again."""
        return tuple(X.block(name).shape[1] for name in X.names)

    def part(self, X: Any, rows: Array, columns: Array) -> Any:
        """The samples `rows`."""
        return X[rows]

    def _views(self, X: Any, learner: Any) -> Views:
        if not isinstance(X, Views):
            raise refusal("views", X, type(learner).__name__)
        return X


INPUTS: dict[str, Kernels | Features] = {"kernels": Kernels(), "views": Features()}
