"""The price C of a training error, chosen by scores of held-out samples.

Kernels are completed once, without any label; machines are learned from the other folds.  Of every C the
scores of all held-out samples, in units of their machines' own, become probabilities by one logistic curve,
and the C with the least log-loss is taken: smoother than counting errors, and what probabilities are wanted
for.  Of equals, the least C.  Of many samples some are enough (:data:`ENOUGH`).
"""

from collections.abc import Callable
from typing import Any

import numpy as np
from sklearn.base import clone

from absentia.core import Array, least
from absentia.data import KernelViews, folds, some_of
from absentia.methods.learning import SigmoidCalibration, learn_scale, score_rows

GRID = (0.1, 0.3, 1.0, 3.0, 10.0, 30.0, 100.0)
FOLDS = 5
ENOUGH, MORE = 1500, 2000  # samples, where there are more than that


def enough(y: Array) -> Array:
    """Positions of the samples that C is chosen on: all, unless there are far more than enough."""
    return some_of(y, ENOUGH if len(y) > MORE else len(y))


def select_C(
    machine: Any,
    K: KernelViews,
    y: Array,
    weight: Array,
    combine: Callable[[KernelViews, Array, Array, Array], KernelViews] = lambda K, y, weight, train: K,
) -> float:
    """The C of :data:`GRID` whose scores of held-out samples tell most about their classes.

    `combine` makes the kernels of a fold, of all samples, from what its training samples show.
    """
    some = enough(y)
    if len(some) < len(y):
        K, y, weight = K[np.ix_(some, some)], y[some], weight[some]
    fewest = int(np.bincount(y).min())
    if fewest < 2:
        return 1.0
    parts = folds(np.arange(len(y)), y, min(FOLDS, fewest))
    kernels = ((combine(K, y, weight, a), a, b) for a, b in parts)
    pieces = [(own[np.ix_(a, a)], own[np.ix_(b, a)], a, b) for own, a, b in kernels]
    return least({C: _loss(clone(machine).set_params(C=C), pieces, y, weight) for C in GRID})


def _loss(machine: Any, pieces: Any, y: Array, weight: Array) -> float:
    n_classes = int(y.max()) + 1
    scores = np.zeros((len(y), 1 if n_classes == 2 else n_classes))
    for train, test, a, b in pieces:
        machine.fit(train, y[a], sample_weight=weight[a])
        scale = learn_scale(machine, train, weight[a])
        if scale is not None:
            scores[b] = scale(score_rows(machine, test))
    prior = np.bincount(y, weight) / weight.sum()
    return log_loss(SigmoidCalibration(scores, y, weight, prior).predict(scores), y, weight)


def log_loss(probabilities: Array, y: Array, weight: Array) -> float:
    """Mean of minus the logarithm of what was given to the true class."""
    own = np.maximum(probabilities[np.arange(len(y)), y], 1e-12)
    return float(-np.average(np.log(own), weights=weight))
