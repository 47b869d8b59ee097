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

from __future__ import annotations

from dataclasses import dataclass
from typing import Any, Self

import numpy as np
import scipy.sparse
from sklearn.utils.validation import check_is_fitted

from absentia.core import Array, Callback, Iterative, Method, Solution, Stop, iterate, warn
from absentia.data import AbsenceWarning, Views, shown
from absentia.methods.learning._machines import LabelMixin, mixed, sample_weights
from absentia.methods.learning._order import sample_order, table_profile
from absentia.methods.learning.engine import DUST, Box, Machine, fit_machine


def share(present: Array, w: Array, tau_min: float) -> Array:
    """``s_i = |w^(i)| / |w|``, at least `tau_min`."""
    total = float(w @ w)
    if total == 0:
        return np.ones(len(present))
    return np.maximum(np.sqrt(present @ w**2 / total), tau_min)


@dataclass(frozen=True)
class Round:
    """After a round: the s it was solved with, the one it leads to, the machine and its normal vector."""

    s: Array
    following: Array
    machine: Machine | None = None
    w: Array | None = None

    @property
    def objective(self) -> float:
        assert self.machine is not None
        return self.machine.primal


def mmaf(
    X: Array,
    present: Array,
    y: Array,
    bound: Array,
    tau_min: float,
    *,
    tol: float,
    max_iter: int,
    callback: Callback | None = None,
) -> Solution[Round]:
    """Machine for given s, s for given machine, in turn; `X` is zero where `present` is False."""
    K = np.ascontiguousarray(X @ X.T)

    def step(last: Round) -> Round:
        s = last.following
        start = None if last.machine is None else last.machine.z
        machine = fit_machine(K, Box.classification(y, bound / s, s), tol=tol / 10, start=start)
        w = X.T @ machine.z
        return Round(s, share(present, w, tau_min), machine, w)

    ones = np.ones(len(y))
    first = Round(ones, ones)
    return iterate(step, lambda r: r.objective, first, stop=Stop(tol), max_iter=max_iter, callback=callback)


class MMAFClassifier(LabelMixin, Iterative, Method):
    """A linear support vector machine with margins measured in the features that each sample has.

    Takes :class:`Views`, no kernels: absent views and NaN inside observed rows are absent features.

    Parameters
    ----------
    C : float, default 1.0
        Price of a training error.
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
    callback : callable, optional
        Called with an :class:`absentia.core.Progress` after each round; returning True stops.

    Attributes
    ----------
    coef_ : ndarray of shape (n_machines, n_features)
        Of the standardised features, those of the first view first.
    bias_, classes_, objective_, n_iter_, converged_, status_, names_in_, ids_

    Examples
    --------
    >>> from absentia import MMAFClassifier, datasets, missingness
    >>> views, y = datasets.load_digit_views(n_samples=60, return_X_y=True)
    >>> views = views.hide(missingness.mcar(views, 0.2, random_state=0))
    >>> MMAFClassifier(C=0.1).fit(views, y < 5).predict(views).shape
    (60,)
    """

    names_in_: tuple[str, ...]

    def __init__(
        self,
        C: float = 1.0,
        *,
        standardize: bool = True,
        tau_min: float = 0.2,
        tol: float = 1e-3,
        max_iter: int = 20,
        class_weight: Any = None,
        callback: Callback | None = None,
    ) -> None:
        self.C = C
        self.standardize = standardize
        self.tau_min = tau_min
        self.tol = tol
        self.max_iter = max_iter
        self.class_weight = class_weight
        self.callback = callback

    def fit(self, X: Views, y: Any, sample_weight: Any = None) -> Self:
        """Learn from the features of the training samples and their labels."""
        self._check_parameters()
        X = _check_views(X)
        y, weight = self._labels(X, y, sample_weight)
        self.names_in_, self.ids_ = X.names, X.ids
        self._widths = [X.block(name).shape[1] for name in X.names]
        table = _joined(X)
        self._learn_scales(table[sample_weights(sample_weight, len(X)) > 0])
        values, present = self._scaled(table)
        usable = present.any(axis=1)
        if not usable.all():
            warn(
                f"{(~usable).sum()} sample(s) without any feature, e.g. {shown(X.ids[np.argmin(usable)])}, "
                "take no part in training",
                AbsenceWarning,
            )
        targets = self.classes_[1:] if len(self.classes_) == 2 else self.classes_
        options: dict[str, Any] = {"tol": self.tol, "max_iter": self.max_iter, "callback": self.callback}
        # in an order of their own, so that the order in which samples come changes nothing
        order = sample_order([table_profile(table)], np.ones((len(y), 1), dtype=bool), y, weight)
        values, present, y, bound = (
            values[order],
            present[order],
            y[order],
            (self.C * weight * usable)[order],
        )
        found = [
            mmaf(values, present, np.where(y == t, 1.0, -1.0), bound, self.tau_min, **options)
            for t in targets
        ]
        self.n_features_in_ = values.shape[1]
        self._keep(found)
        return self

    def _check_parameters(self) -> None:
        if not self.C > 0 or not self.tol > 0 or not 0 < self.tau_min <= 1 or self.max_iter < 1:
            raise ValueError(
                "C and tol must be positive, 0 < tau_min <= 1 and max_iter >= 1; got "
                f"C={self.C!r}, tol={self.tol!r}, tau_min={self.tau_min!r}, max_iter={self.max_iter!r}"
            )

    def _learn_scales(self, table: Array) -> None:
        seen = ~np.isnan(table)
        count = np.maximum(seen.sum(axis=0), 1)
        filled = np.where(seen, table, 0.0)
        mean = filled.sum(axis=0) / count
        deviation = np.sqrt((np.where(seen, table - mean, 0.0) ** 2).sum(axis=0) / count)
        self._mean = mean if self.standardize else np.zeros_like(mean)
        self._scale = np.where(deviation > 0, deviation, 1.0) if self.standardize else np.ones_like(mean)

    def _scaled(self, table: Array) -> tuple[Array, Array]:
        """Standardised values, zero where absent, and which are there."""
        present = ~np.isnan(table)
        return np.where(present, (table - self._mean) / self._scale, 0.0), present

    def _keep(self, found: list[Solution[Round]]) -> None:
        rounds = [one.state for one in found]
        self.coef_ = np.array([r.w for r in rounds])
        self.bias_ = np.array([r.machine.bias for r in rounds if r.machine is not None])
        self._record(max(found, key=lambda s: (not s.converged, s.n_iter)))

    def decision_function(self, X: Views) -> Array:
        """Scores of `X` in units of each sample's own margin; see :class:`AbsentMKLClassifier`."""
        values, present = self._scaled(self._table(X))
        scores, two = values @ self.coef_.T, len(self.classes_) == 2
        tau = np.column_stack([share(present, w, self.tau_min) for w in self.coef_])
        scores = (scores + self.bias_) / tau if two else scores / tau + self.bias_
        prior = 2 * (self._prior[1:] if two else self._prior) - 1
        scores = mixed(self._reached(present), scores, prior)
        return scores[:, 0] if two else scores

    def unusable(self, X: Views) -> Array:
        """Which samples have no feature with a coefficient, so that only the prior can be said of them."""
        return np.asarray(~(self._reached(~np.isnan(self._table(X))) > 0).any(axis=1))

    def _reached(self, present: Array) -> Array:
        """Share of each machine's normal vector in the features that are there; 0 where it is rounding."""
        total = np.linalg.norm(self.coef_, axis=1)
        share = np.sqrt(present @ self.coef_.T**2) / np.where(total > 0, total, 1.0)
        return np.where(share > DUST, share, 0.0)

    def _table(self, X: Any) -> Array:
        check_is_fitted(self, "coef_")
        X = _check_views(X)
        widths = [X.block(name).shape[1] for name in X.names]
        if X.names != self.names_in_ or widths != self._widths:
            came, wanted = (
                dict(zip(n, w, strict=True)) for n, w in ((X.names, widths), (self.names_in_, self._widths))
            )
            raise ValueError(f"views and numbers of features {came} came, {wanted} were there in training")
        return _joined(X)


def _check_views(X: Any) -> Views:
    if not isinstance(X, Views):
        raise TypeError(
            f"Views are wanted, not {type(X).__name__}: features, Views.from_dict({{'name': table, ...}}), "
            "with NaN where absent; for kernels use AbsentMKLClassifier"
        )
    return X


def _joined(X: Views) -> Array:
    """All features side by side, NaN where absent."""
    parts = []
    for v, name in enumerate(X.names):
        block = X.block(name)
        part = np.full((len(X), block.shape[1]), np.nan)
        part[X.observed[:, v]] = block.toarray() if scipy.sparse.issparse(block) else block
        parts.append(part)
    return np.hstack(parts)
