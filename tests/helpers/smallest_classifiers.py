"""The smallest classifiers, regressors and survival models: what a method has to bring, and no more."""

from typing import Any

import numpy as np

from absentia.core import estimator
from absentia.methods.learning import Classifier, Regressor, SurvivalModel


@estimator
class NearestMean(Classifier):
    """The class whose mean, in feature space and on average over a sample's views, is nearest.

    Nothing is optimised: no C, no tolerance, no iterations.

    Parameters
    ----------
    class_weight : dict, "balanced" or None
        Factor on the samples' weights by class.
    probability : bool, default False
        Offer ``predict_proba``.
    """

    class_weight: Any = None
    probability: bool = False

    def _learn(self, X, y, weight):
        parts = np.array([weight * (y == k) for k in range(len(self.classes_))])
        self._means, self._squares = [], []
        for name, seen in zip(X.names, X.observed.T, strict=True):
            own = parts * seen
            mean = own / np.maximum(own.sum(axis=1, keepdims=True), 1e-300)  # the origin, if nobody has it
            self._means.append(mean)
            K = X.operator(name) @ np.ascontiguousarray(mean[:, seen].T)
            self._squares.append(np.einsum("ki,ik->k", mean[:, seen], K))

    def _score(self, X):
        near = np.zeros((len(X), len(self.classes_)))
        for v, name in enumerate(X.names):
            rows, columns = X.observed[:, v], X.column_observed[:, v]
            # |x - m|^2 = k(x, x) - 2 k(x, m) + k(m, m), of which the first is the same for all classes
            values = X.operator(name) @ np.ascontiguousarray(self._means[v][:, columns].T)
            near[rows] += 2 * values - self._squares[v]
        near /= np.maximum(X.observed.sum(axis=1, keepdims=True), 1)
        return (
            near[:, 1:] - near[:, :1]
            if len(self.classes_) == 2
            else near - near.mean(axis=1, keepdims=True)
        )


@estimator
class Widest(Classifier):
    """By the share of the first class among samples with as many features: it takes features, and has no parameter."""

    _takes = "views"

    def _learn(self, X, y, weight):
        self._shares = {
            n: np.average(y == 0, weights=weight * (counted == n))
            for counted in [_features(X)]
            for n in np.unique(counted[weight > 0]).tolist()
        }

    def _score(self, X):
        return np.array([[1 - 2 * self._shares.get(n, 0.5)] for n in _features(X).tolist()]).reshape(-1, 1)


def _features(X):
    return X.observed @ np.array([X.block(name).shape[1] for name in X.names])


def _mean_kernel(X, weights):
    """Of each row, the weighted sum of its kernel values, mean over its views; `weights` are (samples, k)."""
    total = np.zeros((len(X), weights.shape[1]))
    for v, name in enumerate(X.names):
        columns = np.ascontiguousarray(weights[X.column_observed[:, v]])
        total[X.observed[:, v]] += X.operator(name) @ columns
    return total / np.maximum(X.observed.sum(axis=1, keepdims=True), 1)


@estimator
class NearestTargets(Regressor):
    """The mean target of the training samples, by kernel values (Nadaraya and Watson)."""

    def _learn(self, X, y, weight):
        self._weights = np.column_stack([weight * y, weight])

    def _predict(self, X):
        total = _mean_kernel(X, self._weights)
        return total[:, 0] / np.maximum(total[:, 1], 1e-12)


@estimator
class NearestTimes(SurvivalModel):
    """Log-risks by the kernel-weighted share of events; the hazard by Nelson and Aalen."""

    def _learn(self, X, y, weight):
        counted = weight > 0
        times, events = y.time[counted], y.event[counted]
        share = weight * y.event / np.maximum(y.time, 1e-12)
        self._weights = np.column_stack([share / share.sum(), weight / weight.sum()])
        self.event_times_, counts = np.unique(times[events], return_counts=True)
        at_risk = (times >= self.event_times_[:, None]).sum(axis=1)
        self._hazard = np.cumsum(counts / at_risk)

    def _predict(self, X):
        events, everyone = _mean_kernel(X, self._weights).T
        return np.log(np.maximum(events, 1e-12) / np.maximum(everyone, 1e-12))
