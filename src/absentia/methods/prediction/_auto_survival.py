"""The default for survival times: ridge Cox regression of several kinds, averaged (``_auto``).

A member's risks are made log-hazards before they are averaged: multiplied by the slope of a Cox model of
one coefficient on its risks out of fold.  What it says out of fold beyond chance decides its slope, and its
weight goes by the partial likelihood of these log-hazards.  The average is brought to the scale of
log-hazards once more, in the same way.
"""

from dataclasses import KW_ONLY
from typing import Any

import numpy as np

from absentia.core import Array, RandomState, estimator
from absentia.core.optimize import Callback
from absentia.data.survival import Survival
from absentia.methods.learning import SurvivalModel, scatter_rows
from absentia.methods.prediction._auto import WeightedMembers
from absentia.methods.prediction._cox import PartialLikelihood
from absentia.methods.prediction._survival import concordance, to_log_hazards


@estimator
class AutoSurvival(WeightedMembers, SurvivalModel):
    """Average the risks of several kinds of Cox models, by how well they tell samples held out.

    Takes :class:`Views` or square :class:`KernelViews`, and times with events in any form that
    :func:`absentia.survival.as_survival` knows.  Meant for whoever does not want to know which method is
    best on their data.

    Parameters
    ----------
    candidates : "auto", "no-rows", list of names or dict of survival models, default "auto"
        Names of ``absentia fit --list``, or survival models of absentia by name.  ``"auto"``: ridge Cox
        regression on all features side by side, on completed linear and rbf kernels, and on each view; of
        kernels, on completed ones and on each.  ``"no-rows"``: those that :func:`absentia.models.export`
        can free of training samples.
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
        By name: ``concordance`` out of fold, and ``weight``.
    weights_by_candidate_ : dict
    sentence_ : str
        The same in words.
    held_out_risks_ : ndarray of shape (n_samples,)
        Log-risks of the training samples out of fold; NaN for samples without a view.
    event_times_ : ndarray
        Times at which something happened in training.
    names_in_, ids_

    Examples
    --------
    >>> import numpy as np
    >>> from absentia import AutoSurvival, Views
    >>> rng = np.random.default_rng(0)
    >>> x = rng.normal(size=(60, 3))
    >>> views = Views.from_list([x, x**2], observed=np.arange(60)[:, None] < [60, 40])
    >>> y = np.column_stack([rng.exponential(np.exp(-2 * x[:, 0])), rng.random(60) < 0.7])
    >>> auto = AutoSurvival(["cox", "cox-fusion"]).fit(views, y)
    >>> sorted(auto.candidates_), auto.predict(views[:2]).shape
    (['cox', 'cox-fusion'], (2,))
    """

    candidates: Any = "auto"
    _: KW_ONLY
    kernel: Any = "rbf"
    random_state: RandomState = None
    callback: Callback | None = None
    verbose: bool = False

    _family = "survival"
    _left_out_attribute = "held_out_risks_"

    def _fit_member(self, member: Any, X: Any, y: Array, weight: Array) -> Any:
        return member.fit(X, y)

    def _strata(self, y: Array) -> Array:
        return y["event"].astype(int)

    def _learn(self, X: Any, y: Survival, weight: Array) -> None:
        train, samples = self._order_training(X, weight, y.time, y.event)
        y = Survival(y.time[samples], y.event[samples])
        held_out = self._fit_members(train, y.to_array(), weight[samples])
        slopes = np.array([to_log_hazards(risk, y)[0] for risk in held_out])
        held_out *= slopes[:, None]
        likelihood = PartialLikelihood.of(y)
        losses = np.array([likelihood.loss(risk) for risk in held_out]) / y.event.sum()
        share = self._set_weights(losses, "concordance", np.array([concordance(y, r) for r in held_out]))
        together = share @ held_out
        slope, self.event_times_, self._hazard = to_log_hazards(together, y)
        self._factors = dict(zip(self.estimators_, (slope * share * slopes).tolist(), strict=True))
        self.held_out_risks_ = scatter_rows(slope * together, samples, len(X))

    def _predict(self, X: Any) -> Array:
        return self._predict_rows(X, (), lambda rows: self._add_up(rows, self._factors))
