"""What the estimators of this package share: views or kernels in, samples and classes in a canonical order.

Whom to learn from, in which order, the data decide, so that no answer hangs on how samples and views came.
"""

from abc import abstractmethod
from collections.abc import Callable
from typing import Any, NamedTuple, Self

import numpy as np

from absentia.core import Array, serializable
from absentia.core.linalg import invert_permutation
from absentia.data import KernelViews, Views, order_for_learning
from absentia.methods.learning import Classifier, Either, Learner, put_back, subset
from absentia.methods.prediction._kernel_pipeline import check_per_view


@serializable
class CanonicalOrder(NamedTuple):
    """The views that someone has and the samples that count, by name and position, in their own order."""

    views: tuple[str, ...]
    samples: Array

    @classmethod
    def of(cls, X: Views | KernelViews, weight: Array, *targets: Array) -> Self:
        """Of the samples with a view and a weight; `targets` tell alike samples apart."""
        counted = cls.find_counted(X, weight)
        part = subset(X, counted, counted)
        views, order = order_for_learning(part, *(values[counted] for values in (*targets, weight)))
        return cls(tuple(X.names[v] for v in views), counted[order])

    @staticmethod
    def find_counted(X: Views | KernelViews, weight: Array) -> Array:
        """Positions of the samples with a view and a weight."""
        return np.flatnonzero((weight > 0) & X.observed.any(axis=1))

    def train(self, X: Views | KernelViews) -> Any:
        """The training samples."""
        return subset(X.select(self.views), self.samples, self.samples)

    def rows(self, X: Views | KernelViews, rows: Array) -> Any:
        """The new samples `rows`; of kernels, against the training samples."""
        return subset(X.select(self.views), rows, self.samples)

    def has_view(self, X: Views | KernelViews) -> Array:
        """Which samples have a view that someone had in training."""
        return np.asarray(X.select(self.views).observed.any(axis=1))


class Composite(Learner):
    """Base of what takes features or kernels and is put together out of other estimators.

    A derived class has a parameter ``kernel``; ``"precomputed"`` tells scikit-learn that kernels will come.
    """

    kernel: Any
    _order: CanonicalOrder
    _comes_ordered = False  # samples come in canonical order, from an estimator that this is a part of

    @property
    def _input(self) -> Either:
        return Either(pairwise=isinstance(self.kernel, str) and self.kernel == "precomputed")

    def _canonical(self, X: Any, weight: Array, *targets: Array) -> tuple[Any, Array]:
        """The samples that count in canonical order, and their positions."""
        check_per_view(self.kernel, X.names)
        if self._comes_ordered:
            self._order = CanonicalOrder(X.names, CanonicalOrder.find_counted(X, weight))
        else:
            self._order = CanonicalOrder.of(X, weight, *targets)
        return self._order.train(X), self._order.samples

    def _predict_rows(self, X: Any, shape: tuple[int, ...], predict: Callable[[Any], Array]) -> Array:
        """Values, each of a `shape`, of rows that have a view of training; zeros for the others."""
        known = self._order.has_view(X)
        values = np.zeros((len(X), *shape))
        if known.any():
            values[known] = predict(self._order.rows(X, np.flatnonzero(known)))
        return values

    def _by_view(self, values: Array, names: tuple[str, ...]) -> Array:
        """Values of the views (last axis), brought to the order `names`; zero for views that nobody has."""
        views = self._order.views
        result = np.zeros((*values.shape[:-1], len(names)))
        result[..., [names.index(name) for name in views]] = values[..., : len(views)]
        return result


class CompositeClassifier(Composite, Classifier):
    """Base of composite classifiers, which have probabilities of their own.

    A derived class says what it learns of samples that count, each with a view (:meth:`_learn_ordered`),
    and the probabilities of such samples (:meth:`_predict_proba_rows`).
    """

    _own_probabilities = True
    _class_order: Array  # the place of each class in the order in which it is learned

    @abstractmethod
    def _learn_ordered(self, X: Any, y: Array, weight: Array) -> None:
        """Learn from samples in canonical order, of the classes `y`, in an order of their own too."""

    @abstractmethod
    def _predict_proba_rows(self, X: Any) -> Array:
        """Probabilities of the classes in the order in which they were learned, rows x classes."""

    def _learn(self, X: Any, y: Array, weight: Array) -> None:
        """Classes, too, are learned in an order that the data decide: that in which they first come."""
        train, samples = self._canonical(X, weight, y)
        first = np.unique(y[samples], return_index=True)[1]
        self._class_order = invert_permutation(np.argsort(first))
        self._learn_ordered(train, self._class_order[y[samples]], weight[samples])

    def _predict_proba(self, X: Any) -> Array:
        """In the order of ``classes_``; zeros for rows without a view."""
        proba = self._predict_rows(X, (len(self.classes_),), self._predict_proba_rows)
        return proba[:, self._class_order]

    def _by_sample(self, proba: Array, n: int) -> Array:
        """Probabilities of the samples that were learned from, as all `n` samples and ``classes_`` come."""
        return put_back(proba[:, self._class_order], self._order.samples, n)

    def _view_parts(self, X: Any, parts: Callable[[Any], Array]) -> Array:
        """Parts by view of rows that have one, rows x views x classes, in the order of ``names_in_``."""
        X = self._check_rows(X)
        found = self._predict_rows(X, (len(self._order.views), len(self.classes_)), parts)
        by_view = self._by_view(found.transpose(0, 2, 1), self.names_in_)
        return by_view.transpose(0, 2, 1)[:, :, self._class_order]
