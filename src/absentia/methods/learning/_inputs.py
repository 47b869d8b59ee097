"""What is learned from, kernels of the samples or their features, and what differs between the two."""

from typing import Any

import numpy as np

from absentia.core import Array, warn
from absentia.data import AbsenceWarning, Coding, KernelViews, Views, check_kernels, refusal


class Kernels:
    """Square :class:`KernelViews` to learn from; then rows of new samples against the training samples."""

    pairwise = True

    def check(self, X: Any, learner: Any) -> Any:
        """What `learner` can learn from."""
        return check_kernels(X, type(learner).__name__)

    def learned(self, X: Any, learner: Any) -> Any:
        """What `learner` learns from: the kernels as they are."""
        return X

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

    def learned(self, X: Any, learner: Any) -> Any:
        """What `learner` learns from: features, of which it remembers the columns."""
        learner._coding = Coding.learn(X)
        return learner._coding(X)

    def check_rows(self, X: Any, learner: Any) -> Any:
        """New samples that have the views and features that `learner` has learned from, found by name."""
        X = self._views(X, learner)
        if sorted(X.names) != sorted(learner.names_in_):
            raise ValueError(
                f"views {list(X.names)} came, {list(learner.names_in_)} were there in training; give a "
                "view that nobody has as rows of NaN"
            )
        return learner._coding.of_new(X.select(learner.names_in_))

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


class Either:
    """Features or square kernels: new samples come as those that were learned from did."""

    def __init__(self, pairwise: bool) -> None:
        self.pairwise = pairwise  # what scikit-learn is told

    def check(self, X: Any, learner: Any) -> Any:
        """What `learner` can learn from."""
        return _side(X).check(X, learner)

    def learned(self, X: Any, learner: Any) -> Any:
        """What `learner` learns from, as it is: what it is made of codes features and finds columns."""
        learner._coding = Coding.learn(X) if isinstance(X, Views) else None
        return X

    def check_rows(self, X: Any, learner: Any) -> Any:
        """New samples that go with those that `learner` has learned from.

        Features as they are: views that nobody has may be left out, and others are ignored.
        """
        if learner._coding is None:
            return INPUTS["kernels"].check_rows(X, learner)
        if not isinstance(X, Views):
            raise refusal("views", X, type(learner).__name__)
        unknown = [name for name in X.names if name not in learner.names_in_]
        if len(unknown) == X.n_views:
            raise ValueError(f"views {unknown} came, {list(learner.names_in_)} were there in training")
        if unknown:
            warn(f"view(s) {unknown} were not there in training and are ignored", AbsenceWarning)
        return learner._coding.in_views(X)

    def widths(self, X: Any) -> tuple[int, ...]:
        """Columns that have to be there again."""
        return _side(X).widths(X)

    def part(self, X: Any, rows: Array, columns: Array) -> Any:
        """The samples `rows`, of kernels against the samples `columns`."""
        return _side(X).part(X, rows, columns)


def _side(X: Any) -> Kernels | Features:
    return INPUTS["kernels" if isinstance(X, KernelViews) else "views"]


INPUTS: dict[str, Kernels | Features] = {"kernels": Kernels(), "views": Features()}
