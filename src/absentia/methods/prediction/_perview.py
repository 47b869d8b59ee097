"""What fusion and stacking share: a classifier for every view, and what each says of a sample."""

from typing import Any

import numpy as np

from absentia.core import Array
from absentia.data import KernelViews
from absentia.methods.prediction._absent import AbsentClassifier
from absentia.methods.prediction._assembled import Assembled
from absentia.methods.prediction._prepared import check_per_view, narrowed, settled
from absentia.methods.prediction._views import OneView, check_base, held_out, of_view


def softmax(scores: Array) -> Array:
    """Chances proportional to the exponentials of scores, row by row."""
    found = np.exp(scores - scores.max(axis=1, keepdims=True))
    return np.asarray(found / found.sum(axis=1, keepdims=True))


class PerView(Assembled):
    """Base of classifiers made of one classifier per view, each learned from the samples that have it."""

    estimator: Any
    _parts: dict[str, Any]  # by view; None where a view tells no classes apart
    _frequent: Array  # frequencies of the classes, by weight

    def _base(self, X: Any, name: str) -> Any:
        """The unfitted classifier of a view."""
        base = AbsentClassifier(None, kernel=self._kernel) if self.estimator is None else self.estimator
        check_base(base, X)
        return narrowed(base, [name])

    def _learn(self, X: Any, y: Array, weight: Array) -> None:
        check_per_view(getattr(self.estimator, "kernel", None), X.names)
        self._kernel = settled(self.kernel, X) if self.estimator is None else self.kernel
        super()._learn(X, y, weight)

    def _learn_views(self, X: Any, y: Array, weight: Array) -> None:
        self._frequent = np.bincount(y, weight, minlength=len(self.classes_)) / weight.sum()
        self._parts, self._columns = {}, {}
        for v, name in enumerate(X.names):
            rows = np.flatnonzero(X.observed[:, v])
            own = of_view(X, name, rows)
            base = self._base(X, name)
            self._parts[name] = OneView.fit(base, own, y[rows], weight[rows], self._frequent)
            self._columns[name] = rows

    def _held_out(self, X: Any, y: Array, weight: Array) -> Array:
        """Chances by view of training samples, by classifiers that have not seen them."""
        found = np.tile(self._frequent, (X.n_views, len(X), 1))
        for v, name in enumerate(X.names):
            rows = np.flatnonzero(X.observed[:, v])
            own = of_view(X, name, rows)
            base = self._base(X, name)
            found[v, rows] = held_out(base, own, y[rows], weight[rows], self._frequent)
        return found

    def _said(self, X: Any) -> Array:
        """Chances by view of new samples, views x rows x classes; the frequencies where it is absent."""
        found = np.tile(self._frequent, (X.n_views, len(X), 1))
        for v, name in enumerate(X.names):
            one, rows = self._parts[name], np.flatnonzero(X.observed[:, v])
            if one is not None and len(rows):
                own = X.select([name])
                kernels = isinstance(X, KernelViews)
                own = own[np.ix_(rows, self._columns[name])] if kernels else own[rows]
                found[v, rows] = one.probabilities(own)
        return found

    def _speaks(self, X: Any) -> Array:
        """Which views have something to say of which rows; views x rows."""
        taught = np.array([self._parts[name] is not None for name in X.names])
        return np.asarray(X.observed.T & taught[:, None])

    def _log_odds(self, probabilities: Array) -> Array:
        """Against the frequencies of the classes; zero where nothing is said."""
        return np.asarray(np.log(probabilities / self._frequent))
