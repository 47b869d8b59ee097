"""What the estimators of this package share: views or kernels in, samples in an order of their own."""

from abc import abstractmethod
from collections.abc import Callable
from typing import Any

import numpy as np

from absentia.core import Array
from absentia.methods.learning import Classifier, Either, mixed
from absentia.methods.prediction._arranging import Arrangement


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
    view (:meth:`_assemble`), and how it scores such samples (:meth:`_score_rows`).
    """

    kernel: Any
    _arrangement: Arrangement

    @property
    def _input(self) -> Either:
        return either(self.kernel)

    @abstractmethod
    def _assemble(self, X: Any, y: Array, weight: Array) -> None:
        """Learn from samples of the classes ``classes_[y]``, in an order of their own."""

    @abstractmethod
    def _score_rows(self, X: Any) -> Array:
        """Scores of samples that each have a view, as :meth:`Classifier._score` has them."""

    def _learn(self, X: Any, y: Array, weight: Array) -> None:
        self._arrangement = Arrangement.of(X, weight, y)
        order = self._arrangement.samples
        self._assemble(self._arrangement.train(X), y[order], weight[order])

    def _score(self, X: Any) -> Array:
        width = 1 if len(self.classes_) == 2 else len(self.classes_)
        return of_rows(self._arrangement, X, width, self._score_rows)

    def _in_views(self, X: Any, parts: Callable[[Any], Array]) -> Array:
        """Parts by view of rows that have one, rows x views x classes, in the order of ``names_in_``."""
        views, k = self._arrangement.views, len(self.classes_)
        flat = of_rows(
            self._arrangement, X, len(views) * k, lambda rows: parts(rows).reshape(len(rows), -1)
        )
        found = np.zeros((len(X), len(self.names_in_), k))
        found[:, [self.names_in_.index(name) for name in views]] = flat.reshape(len(X), len(views), k)
        return found


class Chancy(Assembled):
    """Base of those among them that learn chances themselves and decide by them.

    A derived class says the chances of samples that each have a view (:meth:`_chance_rows`).
    """

    @abstractmethod
    def _chance_rows(self, X: Any) -> Array:
        """Chances of the classes, rows x classes."""

    def _decided(self, chances: Array) -> Array:
        """Chances as decisions are made by them."""
        return chances

    def _score_rows(self, X: Any) -> Array:
        scores = 2 * self._decided(self._chance_rows(X)) - 1
        return scores[:, 1:] if len(self.classes_) == 2 else scores

    def predict_proba(self, X: Any) -> Array:
        """Chances of the classes; their frequencies where no view is usable."""
        X = self._check_rows(X)
        chances = of_rows(self._arrangement, X, len(self.classes_), self._chance_rows)
        return mixed(self._reach(X), chances, self._prior)
