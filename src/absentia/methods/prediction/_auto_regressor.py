"""The default for numbers: ridge regression of several kinds and a random forest, averaged (``_auto``)."""

from dataclasses import KW_ONLY
from typing import Any, ClassVar

import numpy as np

from absentia.core import Array, RandomState, estimator
from absentia.core.optimize import Callback
from absentia.methods.learning import Regressor, scatter_rows
from absentia.methods.prediction._auto import WeightedMembers

_MIN_ERROR = 1e-4  # share of the variance: who explains more is an equal of all who do


@estimator
class AutoRegressor(WeightedMembers, Regressor):
    """Average the predictions of several kinds of regressors, by how well they tell samples left out.

    Takes :class:`Views` or square :class:`KernelViews`.  Meant for whoever does not want to know which
    method is best on their data.

    Parameters
    ----------
    candidates : "auto", "no-rows", list of names or dict of regressors, default "auto"
        Names of ``absentia fit --list``, or regressors of absentia by name.  ``"auto"``: ridge regression
        on all features side by side, on completed linear and rbf kernels and on each view, and a random
        forest of 100 trees; of kernels, ridge regression on completed ones and on each.  ``"no-rows"``:
        those that :func:`absentia.models.export` can free of training samples.
    kernel : str or ViewKernels, default "rbf"
        Of candidates by name whose kernel is not part of the name; ``"precomputed"`` says that kernels
        will come.
    random_state : int, Generator, RandomState or None
        Of candidates by name.
    callback, verbose : callable or None, bool
        Gets a :class:`absentia.core.optimize.Progress` after each member; lines on stderr.

    Attributes
    ----------
    candidates_ : dict
        By name: ``R2``, the share of the targets' variance that is explained of samples left out, and
        ``weight``, proportional to ``(1 - R2) ** -10``.
    weights_by_candidate_ : dict
    sentence_ : str
        The same in words.
    loo_predictions_ : ndarray of shape (n_samples,)
        Average of what the members say of each training sample once it is left out; NaN for samples
        without a view or weight.
    names_in_, ids_

    Examples
    --------
    >>> from absentia import AutoRegressor, datasets, missingness
    >>> views, y = datasets.load_digit_views(n_samples=80, return_X_y=True)
    >>> views = views.hide(missingness.mcar(views, 0.3, random_state=0))
    >>> auto = AutoRegressor(["ridge", "linear-regression"]).fit(views[:60], y[:60])
    >>> sorted(auto.candidates_)
    ['linear-regression', 'ridge']
    """

    candidates: Any = "auto"
    _: KW_ONLY
    kernel: Any = "rbf"
    random_state: RandomState = None
    callback: Callback | None = None
    verbose: bool = False

    _family = "regressor"
    _left_out_attribute = "loo_predictions_"
    _member_options: ClassVar[dict[str, Any]] = {"n_trees": 100}  # one of several takes a fifth of the time

    def _strata(self, y: Array) -> Array:
        """Fifths of the targets."""
        return np.searchsorted(np.quantile(y, [0.2, 0.4, 0.6, 0.8]), y)

    def _learn(self, X: Any, y: Array, weight: Array) -> None:
        train, samples = self._order_training(X, weight, y)
        y, weight = y[samples], weight[samples]
        left_out = self._fit_members(train, y, weight)
        variance = float(np.average((y - np.average(y, weights=weight)) ** 2, weights=weight))
        errors = np.average((left_out - y) ** 2, axis=1, weights=weight)
        unexplained = errors / variance if variance > 0 else np.ones(len(errors))
        losses = np.log(np.maximum(unexplained, _MIN_ERROR)) / 2
        share = self._set_weights(losses, "R2", 1 - unexplained)
        self.loo_predictions_ = scatter_rows(share @ left_out, samples, len(X))

    def _predict(self, X: Any) -> Array:
        return self._predict_rows(X, (), lambda rows: self._add_up(rows, self.weights_by_candidate_))
