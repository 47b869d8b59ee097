"""Random survival forests: Ishwaran et al., Annals of Applied Statistics 2 (2008).

scikit-survival grows the trees.  It is no dependency: the method is offered where it is installed.  Trees
are kept as arrays, and a model that was saved predicts without it.
"""

from dataclasses import KW_ONLY
from typing import Any

import numpy as np

from absentia.core import Array, PositiveInt, RandomState, estimator, make_generator
from absentia.data import Views, column_scales, concatenate_features
from absentia.data.survival import Survival
from absentia.methods.learning import SurvivalModel, shrink_to_prior
from absentia.methods.prediction._composite import CanonicalOrder
from absentia.methods.prediction._early_fusion import SideBySide
from absentia.methods.prediction._trees import Trees, as_float32

_MIN_MORTALITY = 1e-3  # of the mean


@estimator
class SurvivalForest(SideBySide, SurvivalModel):
    """A random survival forest on the features of all views side by side, absent ones the mean.

    Takes :class:`Views`, no kernels.  Trees are split by the log-rank test; the cumulative hazard of a
    sample is the mean over its leaves (Nelson and Aalen's), its log-risk the logarithm of that summed over
    the times with events.  Wants scikit-survival to learn, but not to predict.

    Parameters
    ----------
    n_trees : int, default 200
        How many.
    random_state : int, Generator, RandomState or None
        Of the trees.

    Attributes
    ----------
    event_times_ : ndarray
        Times at which something happened in training.
    names_in_, ids_, n_features_in_

    Examples
    --------
    >>> from absentia import SurvivalForest, datasets
    >>> views, y = datasets.load_digit_views(n_samples=60, return_X_y=True)
    >>> target = np.c_[1.0 + y, np.ones(60)]  # times and events
    >>> forest = SurvivalForest(n_trees=20).fit(views, target)
    >>> forest.predict(views[:3]).shape
    (3,)
    """

    _: KW_ONLY
    n_trees: PositiveInt = 200
    random_state: RandomState = None

    _takes = "views"

    def _learn(self, X: Views, y: Survival, weight: Array) -> None:
        order = CanonicalOrder.of(X, weight, y.time, y.event)
        y = Survival(y.time[order.samples], y.event[order.samples])
        self._views, table = order.views, concatenate_features(order.select_training(X))
        seed = int(make_generator(self.random_state).integers(2**31 - 1))
        means = as_float32(column_scales(table)[0])
        filled = np.where(np.isnan(table), means, as_float32(table))
        forest = _import_forest()(self.n_trees, random_state=seed).fit(filled, y.to_array())
        self.event_times_ = np.unique(y.time[y.event])
        there = np.isin(forest.unique_times_, self.event_times_)
        self._model = Trees.of_forest(forest, means, lambda tree: tree.value[:, there, 0])
        hazards = self._model.predict(table)
        self._hazard = hazards.mean(axis=0)
        self._shift = 0.0
        self._shift = float(self._log_mortality(hazards).mean())

    def _log_mortality(self, hazards: Array) -> Array:
        """Logarithm of the cumulative hazards, rows x times, summed over the times with events."""
        least = _MIN_MORTALITY * self._hazard.sum()
        return np.asarray(np.log(np.maximum(hazards.sum(axis=1), least)) - self._shift)

    def _predict(self, X: Views) -> Array:
        return self._log_mortality(self._outputs(X))  # cumulative hazards, rows x times with events

    def _cumulative_hazard(self, X: Any, times: Array) -> Array:
        """Of every sample by its own leaves: hazards need not be proportional."""
        X = self._check_rows(X)
        hazards = shrink_to_prior(self._coverage(X), self._outputs(X), self._hazard)
        place = np.searchsorted(self.event_times_, times, side="right")
        return np.hstack([np.zeros((len(X), 1)), hazards])[:, place]


def _import_forest() -> Any:
    try:
        from sksurv.ensemble import RandomSurvivalForest
    except ImportError:
        raise ImportError("survival-forest wants scikit-survival: pip install scikit-survival") from None
    return RandomSurvivalForest
