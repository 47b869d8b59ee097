"""Max-margin classification of data with absent features.

G. Chechik, G. Heitz, G. Elidan, P. Abbeel & D. Koller, "Max-margin classification of data with absent
features", JMLR 9 (2008).  The linear special case of absent multiple kernel learning, a feature for a view.

Model: ``f(x) = sum over the features j that x has of w_j x_j + b``.  The margin of a sample is measured in
its own features: with ``w^(i)`` the part of w that sample i has features for,

    maximise over w, b   min_i  y_i f(x_i) / |w^(i)|.

Algorithm (their section 5): with ``s_i = |w^(i)| / |w|`` given, a support vector machine,

    minimise  1/2 |w|^2 + C sum_i xi_i    subject to  y_i f(x_i) / s_i >= 1 - xi_i,  xi >= 0,

whose dual has the linear term s and boxes ``C / s_i`` (``_svm``); then s anew.

Departures: a bias, as Liu et al. (2020, eq. 1) have it; s is kept from `tau_min` up, because boxes
``C / s`` grow without bound, and rounds end at `max_iter`: the alternation has no guarantee to converge.
Several classes are learned one against the rest.  Features of a view that a sample lacks are absent, and so
is NaN inside an observed row.
"""

from dataclasses import KW_ONLY
from typing import Any, Literal, NamedTuple

import numpy as np

from absentia.core import Array, Fraction, Iterative, Positive, PositiveInt, estimator
from absentia.core.optimize import Callback, Solution
from absentia.data import Views, column_scales, concatenate_features, order_by_profiles, table_profile
from absentia.methods.learning._base import Classifier
from absentia.methods.learning._held_out import SelectsC
from absentia.methods.learning._inputs import one_vs_rest_signs
from absentia.methods.learning._margins import Round, iterate_rounds
from absentia.methods.learning.engine import DUST, Box, Machine, fit_machine


def _margin_share(present: Array, w: Array, tau_min: float) -> Array:
    """``s_i = |w^(i)| / |w|``, at least `tau_min`."""
    total = float(w @ w)
    if total == 0:
        return np.ones(len(present))
    return np.maximum(np.sqrt(present @ w**2 / total), tau_min)


class _LinearMachine(NamedTuple):
    """A machine, its normal vector, and the shares that it was learned with."""

    machine: Machine
    w: Array
    s: Array


def _learn_mmaf(
    X: Array, present: Array, y: Array, bound: Array, tau_min: float, tol: float, **options: Any
) -> tuple[_LinearMachine, Solution[Round[_LinearMachine]]]:
    """Machine for given s, s for given machine, in turn; `X` is zero where `present` is False."""
    K = np.ascontiguousarray(X @ X.T)

    def step(s: Array, last: _LinearMachine | None) -> Round[_LinearMachine]:
        start = None if last is None else last.machine.z
        machine = fit_machine(K, Box.classification(y, bound / s, s), tol=tol / 10, start=start)
        w = X.T @ machine.z
        return Round(_margin_share(present, w, tau_min), machine.primal, _LinearMachine(machine, w, s))

    return iterate_rounds(step, len(y), tol=tol, **options)


@estimator
class MMAFClassifier(SelectsC, Classifier, Iterative):
    """A linear support vector machine with margins measured in the features that each sample has.

    Takes :class:`Views`, no kernels: absent views and NaN inside observed rows are absent features.

    Parameters
    ----------
    C : float or "cv", default 1.0
        Weight of the training errors; ``"cv"`` selects it by the log-loss of held-out samples.
    standardize : bool, default True
        Subtract each feature's mean and divide by its deviation, both over training samples that have it.
    tau_min : float, default 0.2
        Least share of the normal vector that a sample's features are taken to carry.
    tol : float, default 1e-3
        Relative change of the objective from round to round at which to stop.
    max_iter : int, default 20
        Rounds at most.
    class_weight : dict, "balanced" or None
        Factor on C by class.
    probability : bool, default False
        Offer ``predict_proba``, calibrated on scores of five-fold held-out samples (five more fits), by
        which classes are decided then; without, the largest score decides.
    callback, verbose : callable or None, bool
        Gets a :class:`absentia.core.optimize.Progress` each round, True stops; lines on stderr.

    Attributes
    ----------
    coef_ : ndarray of shape (n_machines, n_features)
        Of the standardised features, those of the first view first.
    C_, bias_, classes_, decision_, objective_, n_iter_, converged_, status_, names_in_, ids_

    Examples
    --------
    >>> from absentia import MMAFClassifier, datasets, missingness
    >>> views, y = datasets.load_digit_views(n_samples=60, return_X_y=True)
    >>> views = views.hide(missingness.mcar(views, 0.2, random_state=0))
    >>> MMAFClassifier(C=0.1).fit(views, y < 5).predict(views).shape
    (60,)
    """

    C: Positive | Literal["cv"] = 1.0
    _: KW_ONLY
    standardize: bool = True
    tau_min: Fraction = 0.2
    tol: Positive = 1e-3
    max_iter: PositiveInt = 20
    class_weight: Any = None
    probability: bool = False
    callback: Callback | None = None
    verbose: bool = False

    _takes = "views"

    def _learn(self, X: Views, y: Array, weight: Array) -> None:
        self._set_C(X, y, weight)
        table = concatenate_features(X)
        self._learn_scales(table[weight > 0])
        values, present = self._standardize(table)
        # in an order of their own, so that the order in which samples come changes nothing
        order = order_by_profiles([table_profile(table)], np.ones((len(y), 1), dtype=bool), y, weight)
        values, present, bound = values[order], present[order], (self.C_ * weight)[order]
        options: dict[str, Any] = {
            "tol": self.tol,
            "max_iter": self.max_iter,
            "callback": self._make_callback(),
        }
        signs = one_vs_rest_signs(y[order], len(self.classes_))
        # of two classes the first sample's is the positive one, whatever they are called
        turn = signs[0][0] if len(signs) == 1 else 1.0
        fits = [_learn_mmaf(values, present, turn * y, bound, self.tau_min, **options) for y in signs]
        self.coef_ = turn * np.array([linear.w for linear, _ in fits])
        self.bias_ = turn * np.array([linear.machine.bias for linear, _ in fits])
        self._set_convergence(
            max((solution for _, solution in fits), key=lambda s: (not s.converged, s.n_iter))
        )

    def _learn_scales(self, table: Array) -> None:
        mean, scale = column_scales(table)
        self._mean = mean if self.standardize else np.zeros_like(mean)
        self._scale = scale if self.standardize else np.ones_like(mean)

    def _standardize(self, table: Array) -> tuple[Array, Array]:
        """Standardised values, zero where absent, and which are there."""
        present = ~np.isnan(table)
        return np.where(present, (table - self._mean) / self._scale, 0.0), present

    def _score(self, X: Views) -> Array:
        """In units of each sample's own margin; see :class:`AbsentMKLClassifier`."""
        values, present = self._standardize(concatenate_features(X))
        tau = np.column_stack([_margin_share(present, w, self.tau_min) for w in self.coef_])
        scores = values @ self.coef_.T
        return (scores + self.bias_) / tau if len(self.classes_) == 2 else scores / tau + self.bias_

    def _coverage(self, X: Views) -> Array:
        """Share of each machine's normal vector in the features that are there; 0 where it is rounding."""
        total = np.linalg.norm(self.coef_, axis=1)
        covered = np.sqrt(~np.isnan(concatenate_features(X)) @ self.coef_.T**2) / np.where(
            total > 0, total, 1.0
        )
        return np.where(covered > DUST, covered, 0.0)
