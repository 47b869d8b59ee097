"""What the estimators of this package share: views or kernels in, samples in an order of their own."""

from abc import abstractmethod
from collections.abc import Callable
from typing import Any

import numpy as np

from absentia.core import Array, inverse
from absentia.methods.learning import Classifier, Either, mixed
from absentia.methods.prediction._arranging import Arrangement
from absentia.methods.prediction._prepared import check_per_view


def either(kernel: Any) -> Either:
    """Views or kernels; scikit-learn is told that kernels will come by ``kernel="precomputed"``."""
    return Either(pairwise=isinstance(kernel, str) and kernel == "precomputed")


def of_rows(arrangement: Arrangement, X: Any, width: int, answer: Callable[[Any], Array]) -> Array:
    """Answers of the rows that have a view that someone had in training; zeros for the others."""
    known = X.select(arrangement.views).observed.any(axis=1)
    found = np.zeros((len(X), width))
    if known.any():
        found[known] = answer(arrangement.rows(X, np.flatnonzero(known)))
    return found


class Assembled(Classifier):
    """Base of classifiers that take features or kernels and are put together out of others.

    A derived class has a parameter ``kernel`` and says what it learns of samples that count, each with a
    view (:meth:`_assemble`), and the probabilities of such samples (:meth:`_chance_rows`).  Decisions are
    made by the probabilities.
    """

    kernel: Any
    _arrangement: Arrangement
    _turned: Array  # the place of each class in the order in which it is learned

    @property
    def _input(self) -> Either:
        return either(self.kernel)

    @abstractmethod
    def _assemble(self, X: Any, y: Array, weight: Array) -> None:
        """Learn from samples in an order of their own, of the classes `y`, in an order of their own too."""

    @abstractmethod
    def _chance_rows(self, X: Any) -> Array:
        """Chances of the classes in the order in which they were learned, rows x classes."""

    def _learn(self, X: Any, y: Array, weight: Array) -> None:
        """Classes, too, are learned in an order that the data decide: that in which they first come."""
        check_per_view(self.kernel, X.names)
        self._arrangement = Arrangement.of(X, weight, y)
        order = self._arrangement.samples
        first = np.unique(y[order], return_index=True)[1]
        self._turned = inverse(np.argsort(first))
        self._assemble(self._arrangement.train(X), self._turned[y[order]], weight[order])

    def _in_views(self, X: Any, parts: Callable[[Any], Array]) -> Array:
        """Parts by view of rows that have one, rows x views x classes, in the order of ``names_in_``."""
        views, k = self._arrangement.views, len(self.classes_)
        flat = of_rows(
            self._arrangement, X, len(views) * k, lambda rows: parts(rows).reshape(len(rows), -1)
        )
        found = np.zeros((len(X), len(self.names_in_), k))
        found[:, [self.names_in_.index(name) for name in views]] = flat.reshape(len(X), len(views), k)
        return found[:, :, self._turned]

    def _decided(self, probabilities: Array) -> Array:
        """Chances as decisions are made by them."""
        return probabilities

    def _probabilities_in_order(self, X: Any) -> Array:
        """Chances of the classes in the order of ``classes_``; zeros for rows without a view."""
        width = len(self.classes_)
        return of_rows(self._arrangement, X, width, lambda rows: self._chance_rows(rows)[:, self._turned])

    def _score(self, X: Any) -> Array:
        scores = 2 * self._decided(self._probabilities_in_order(X)) - 1
        return scores[:, 1:] if len(self.classes_) == 2 else scores

    def predict_proba(self, X: Any) -> Array:
        """Chances of the classes; their frequencies where no view is usable."""
        X = self._check_rows(X)
        return mixed(self._reach(X), self._probabilities_in_order(X), self._prior)
