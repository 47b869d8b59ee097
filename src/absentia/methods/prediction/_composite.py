"""Base classes of estimators that take views or kernels and train other estimators in a canonical order.

Samples, views and classes are sorted by the data before training, so that no result depends on the order in
which they were given.
"""

from abc import abstractmethod
from collections.abc import Callable
from typing import Any, NamedTuple, Self

import numpy as np

from absentia.core import Array, serializable
from absentia.core.linalg import invert_permutation
from absentia.data import KernelViews, Views, order_for_learning
from absentia.methods.learning import Classifier, Learner, ViewsOrKernels, scatter_rows, subset
from absentia.methods.prediction._kernel_pipeline import check_per_view


@serializable
class CanonicalOrder(NamedTuple):
    """Order of training: names of the views that are observed, positions of the samples that are usable."""

    views: tuple[str, ...]
    samples: Array

    @classmethod
    def of(cls, X: Views | KernelViews, weight: Array, *targets: Array) -> Self:
        """The order for `X`; `targets` (n,) break ties between samples with the same data."""
        usable = cls.find_usable(X, weight)
        part = subset(X, usable, usable)
        views, order = order_for_learning(part, *(values[usable] for values in (*targets, weight)))
        return cls(tuple(X.names[v] for v in views), usable[order])

    @staticmethod
    def find_usable(X: Views | KernelViews, weight: Array) -> Array:
        """Positions of the samples with at least one view and a positive `weight` (n,)."""
        return np.flatnonzero((weight > 0) & X.observed.any(axis=1))

    def select_training(self, X: Views | KernelViews) -> Any:
        """The usable samples of the training data `X`, in order."""
        return subset(X.select(self.views), self.samples, self.samples)

    def select_rows(self, X: Views | KernelViews, rows: Array) -> Any:
        """Samples `rows` of new data `X`; kernels have the training samples as columns."""
        return subset(X.select(self.views), rows, self.samples)

    def has_known_view(self, X: Views | KernelViews) -> Array:
        """Which samples of `X` have a view that was observed in training, bool (n,)."""
        return np.asarray(X.select(self.views).observed.any(axis=1))


class Composite(Learner):
    """Base of estimators that take features or kernels and are composed of other estimators.

    A derived class has a parameter ``kernel``; ``"precomputed"`` sets scikit-learn's tag
    ``pairwise``: `X` will be kernels.
    """

    kernel: Any
    _order: CanonicalOrder
    _comes_ordered = False  # True inside another composite, which has ordered the samples

    @property
    def _input(self) -> ViewsOrKernels:
        return ViewsOrKernels(pairwise=isinstance(self.kernel, str) and self.kernel == "precomputed")

    def _order_training(self, X: Any, weight: Array, *targets: Array) -> tuple[Any, Array]:
        """Usable training samples in canonical order, and their positions in `X`."""
        check_per_view(self.kernel, X.names)
        if self._comes_ordered:
            self._order = CanonicalOrder(X.names, CanonicalOrder.find_usable(X, weight))
        else:
            self._order = CanonicalOrder.of(X, weight, *targets)
        return self._order.select_training(X), self._order.samples

    def _predict_rows(self, X: Any, shape: tuple[int, ...], predict: Callable[[Any], Array]) -> Array:
        """`predict` on the rows with a known view, shape (n, *shape); zeros for the others."""
        known = self._order.has_known_view(X)
        values = np.zeros((len(X), *shape))
        if known.any():
            values[known] = predict(self._order.select_rows(X, np.flatnonzero(known)))
        return values

    def _reorder_views(self, values: Array, names: tuple[str, ...]) -> Array:
        """`values` by view (last axis) in the order of `names`; zero for views that were never observed."""
        views = self._order.views
        result = np.zeros((*values.shape[:-1], len(names)))
        result[..., [names.index(name) for name in views]] = values[..., : len(views)]
        return result


class CompositeClassifier(Composite, Classifier):
    """Base of composite classifiers, whose probabilities need no calibration.

    A derived class defines :meth:`_learn_ordered` and :meth:`_predict_proba_rows`; both see only samples
    that have a view.
    """

    _native_probabilities = True
    _class_order: Array  # by class of `classes_`, its column in training order

    @abstractmethod
    def _learn_ordered(self, X: Any, y: Array, weight: Array) -> None:
        """Learn from samples in canonical order; `y` (n,) are classes by their column in training order."""

    @abstractmethod
    def _predict_proba_rows(self, X: Any) -> Array:
        """Probabilities, rows x classes, the classes in training order."""

    def _learn(self, X: Any, y: Array, weight: Array) -> None:
        """Order samples and classes, these by first occurrence among the ordered samples, and learn."""
        train, samples = self._order_training(X, weight, y)
        first = np.unique(y[samples], return_index=True)[1]
        self._class_order = invert_permutation(np.argsort(first))
        self._learn_ordered(train, self._class_order[y[samples]], weight[samples])

    def _predict_proba(self, X: Any) -> Array:
        """Probabilities, rows x ``classes_``; zeros for rows without a known view."""
        proba = self._predict_rows(X, (len(self.classes_),), self._predict_proba_rows)
        return proba[:, self._class_order]

    def _scatter_proba(self, proba: Array, n: int) -> Array:
        """Probabilities of the training samples as n x ``classes_``; NaN for the other samples."""
        return scatter_rows(proba[:, self._class_order], self._order.samples, n)

    def _predict_view_parts(self, X: Any, parts: Callable[[Any], Array]) -> Array:
        """`parts` of the predictions, rows x ``names_in_`` x ``classes_``; zeros for absent views."""
        X = self._check_rows(X)
        parts_of_rows = self._predict_rows(X, (len(self._order.views), len(self.classes_)), parts)
        by_view = self._reorder_views(parts_of_rows.transpose(0, 2, 1), self.names_in_)
        return by_view.transpose(0, 2, 1)[:, :, self._class_order]
