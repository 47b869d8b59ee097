"""The regularisation C, selected by scores of held-out samples: one rule for everything that is ranked.

C comes from :data:`GRID`, in five folds that are cut in an order that the data decide.  Machines are
learned from the other folds.  Of every C the scores of all held-out samples, in units of their machines'
own, become probabilities by one logistic curve, and the C with the least log-loss is taken: smoother than
counting errors, and what probabilities are wanted for.  Of regressors it is the least squared error.  Of
equals, the least C, the simplest machine.  Of many samples some are enough (:func:`selection_samples`).
"""

from collections.abc import Callable
from typing import Any

import numpy as np

from absentia.core import Array, argmin_key, clone_without_callbacks
from absentia.data import KernelViews, count_fewest, make_folds, order_for_learning, subsample_classes
from absentia.methods.learning._calibration import SigmoidCalibration, learn_scale, quiet_refits, score_rows
from absentia.methods.learning._inputs import subset

GRID = (0.1, 0.3, 1.0, 3.0, 10.0, 30.0, 100.0)
FOLDS = 5
_DEFAULT_C = 1.0  # where a class of one sample leaves nothing to select by
_MAX_SAMPLES, _ENOUGH = 2000, 1500  # of more samples than the first, as many as the second are looked at

_Combine = Callable[[KernelViews, Array, Array, Array], KernelViews]


class SelectsC:
    """Mixin of classifiers and regressors whose ``C`` is a number, or ``"cv"`` to select it in ``fit``."""

    C: Any
    C_: float

    def _set_C(self, X: Any, y: Array, weight: Array) -> None:
        """The C that is used, ``C_``; samples of weight zero take no part."""
        if self.C != "cv":
            self.C_ = float(self.C)
            return
        order = order_for_learning(X, y, weight)[1]
        rows = order[weight[order] > 0]
        classes = hasattr(self, "classes_")
        rows = rows[selection_samples(y[rows] if classes else np.zeros(len(rows)))]
        X, y, weight = subset(X, rows, rows), y[rows], weight[rows]
        if classes:
            options: Any = getattr(self, "_fit_options", None)
            self.C_ = select_C(self, X, y, weight, fit_options=lambda part: options(rows[part]))
        else:
            self.C_ = _select_by_error(self, X, y, weight)

    def _refit_parameters(self) -> dict[str, Any]:
        """Fits to some of the samples have the C of the fit to all."""
        return {"probability": False, "C": self.C_}


def selection_samples(y: Array) -> Array:
    """Positions of the samples that C is selected on: all, unless there are far more than enough."""
    return subsample_classes(y, _ENOUGH if len(y) > _MAX_SAMPLES else len(y))


def select_C(
    classifier: Any,
    X: Any,
    y: Array,
    weight: Array,
    combine: _Combine | None = None,
    fit_options: Callable[[Array], dict[str, Any]] = lambda rows: {},
) -> float:
    """The C of :data:`GRID` whose scores of held-out samples tell most about their classes `y`, 0, 1, ...

    Samples are in an order of their own, each with a view.  `combine` makes the kernels of a fold, of all
    samples, from what its training samples show; `fit_options` says what else ``fit`` gets of some samples.
    """
    rows = selection_samples(y)
    X, y, weight = X if len(rows) == len(y) else subset(X, rows, rows), y[rows], weight[rows]
    fewest = count_fewest(y, X.groups)
    if fewest < 2:
        return _DEFAULT_C
    pieces = []
    for a, b in make_folds(np.arange(len(y)), y, min(FOLDS, fewest), groups=X.groups):
        K = X if combine is None else combine(X, y, weight, a)
        pieces.append((subset(K, a, a), subset(K, b, a), a, b, fit_options(rows[a])))
    return argmin_key({C: _held_out_loss(_with_C(classifier, C), pieces, y, weight) for C in GRID})


def _with_C(machine: Any, C: float) -> Any:
    """An unfitted machine for weights that have those of the classes in them."""
    plain = {"C": C, "probability": False, "class_weight": None}
    return clone_without_callbacks(
        machine, **{name: v for name, v in plain.items() if name in machine.get_params()}
    )


def _held_out_loss(machine: Any, pieces: Any, y: Array, weight: Array) -> float:
    n_classes = int(y.max()) + 1
    scores = np.zeros((len(y), 1 if n_classes == 2 else n_classes))
    with quiet_refits():
        for train, test, a, b, options in pieces:
            machine.fit(train, y[a], sample_weight=weight[a], **options)
            scale = learn_scale(machine, train, weight[a])
            if scale is not None:
                scores[b] = scale(score_rows(machine, test))
    prior = np.bincount(y, weight) / weight.sum()
    return log_loss(SigmoidCalibration(scores, y, weight, prior).predict(scores), y, weight)


def _select_by_error(regressor: Any, X: Any, y: Array, weight: Array) -> float:
    """The C of :data:`GRID` with the least squared error of held-out samples."""
    if len(y) < 2:
        return _DEFAULT_C
    alike = np.zeros(len(y), dtype=int)
    parts = make_folds(np.arange(len(y)), alike, min(FOLDS, len(y)), groups=X.groups)

    def error(C: float) -> float:
        machine, total = _with_C(regressor, C), 0.0
        with quiet_refits():
            for a, b in parts:
                machine.fit(subset(X, a, a), y[a], sample_weight=weight[a])
                total += float(weight[b] @ (y[b] - machine.predict(subset(X, b, a))) ** 2)
        return total

    return argmin_key({C: error(C) for C in GRID})


def log_loss(probabilities: Array, y: Array, weight: Array) -> float:
    """Mean of minus the logarithm of what was given to the true class."""
    true = np.maximum(probabilities[np.arange(len(y)), y], 1e-12)
    return float(-np.average(np.log(true), weights=weight))
