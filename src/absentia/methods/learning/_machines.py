"""What the estimators on several kernels share: whom to learn from, scores of new samples, chances.

A sample without any view takes no part in training.  A view has a say in a machine if neither its weight
nor the norm of its part of the normal vector is below a millionth of the largest
(``_solver.DUST``); others have exactly none, everywhere.

The score of a sample of which no view with a say was observed is the prior, in all of these estimators:
``2 pi - 1`` with pi the class's frequency among the training samples (by their weights), or the mean
target.  So its class is the most frequent one, its chances are the frequencies, and ``unusable`` says which
samples those are.  Up to there scores are continuous: where the observed views carry less than a hundredth
(:data:`FAINT`) of the margin, the score is that part the machine's, the rest the prior's.

Samples and views are learned from in an order of their own (``_order``), so that
the order in which they come changes nothing; beyond :data:`COPIED` bytes of kernels, which that would copy,
it may, within `tol`.  Rounding, which differs between processors and numbers of threads, moves scores by
some 1e-9 as a rule; where it turns a branch of a solver, chances, which take many fits, may move by 1e-5.
"""

from __future__ import annotations

import warnings
from abc import ABC, abstractmethod
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from importlib.util import find_spec
from typing import Any, NamedTuple, Self

import numpy as np
from sklearn.base import ClassifierMixin, clone
from sklearn.exceptions import ConvergenceWarning
from sklearn.isotonic import IsotonicRegression
from sklearn.linear_model import LogisticRegression
from sklearn.utils import column_or_1d
from sklearn.utils.class_weight import compute_class_weight
from sklearn.utils.metaestimators import available_if
from sklearn.utils.multiclass import check_classification_targets
from sklearn.utils.validation import check_is_fitted

from absentia.core import Array, Callback, Iterative, Method, Solution, altered, kept, suited_to, warn
from absentia.data import AbsenceWarning, KernelViews, Presence, check_kernels, shown
from absentia.methods.learning._order import folds, kernel_profiles, sample_order, view_order
from absentia.methods.learning.engine import Box, KernelStack, Problem, Region, State, solve, without_dust

FAINT = 0.01  # share of the margin below which the prior begins to count
COPIED = 2**30  # bytes of kernels that are brought into an order of their own at most


def trust(share: Array) -> Array:
    """How much of a score is the machine's: all of it, unless the observed views carry next to nothing."""
    return np.minimum(share / FAINT, 1.0)


def mixed(share: Array, scores: Array, prior: Any) -> Array:
    """Scores, drawn to the prior where the observed views carry next to nothing."""
    part = trust(share)
    return np.asarray(part * scores + (1 - part) * prior)


@dataclass(frozen=True)
class Training:
    """Kernels of those views that someone has, and how much each sample counts (nothing: left out).

    Samples are in an order of their own, ``order`` their positions in the data that came.
    """

    stack: KernelStack
    observed: Array  # samples x the views of the stack
    bound: Array  # C of every sample
    order: Array

    @property
    def rows(self) -> Array:
        """Who has which view, of the samples that count."""
        return np.asarray(self.observed[self.bound > 0])


class Learned(NamedTuple):
    """One machine: weights of the views, coefficients of the samples, norms of the views' parts."""

    eta: Array
    z: Array
    bias: float
    norms: Array
    gap: float
    solution: Solution[Any]
    tau: Array | None = None  # the share of the margin every sample was learned with, if not 1


def part_norms(eta: Array, q: Array) -> Array:
    """``|w_p| = eta_p sqrt(z' K_p z)`` of every view, exactly zero where it is rounding."""
    return without_dust(eta * np.sqrt(np.maximum(q, 0.0)))


def learned(problem: Problem, solution: Solution[State]) -> list[Learned]:
    """The machines of a solved problem."""
    state, point = solution.state, solution.state.point
    found = []
    for machine, R in zip(point.machines, point.R, strict=True):
        norms = part_norms(point.eta, machine.z @ R)
        found.append(Learned(point.eta, machine.z, machine.bias, norms, state.gap, solution))
    return found


def learn(
    training: Training,
    boxes: Sequence[Box],
    region: Region,
    *,
    tol: float,
    shared: bool = False,
    callback: Callback | None = None,
) -> list[Learned]:
    """One machine per box, each with weights of its own or all with the same."""
    groups = [tuple(boxes)] if shared else [(box,) for box in boxes]
    found: list[Learned] = []
    for group in groups:
        problem = Problem(training.stack, group, region)
        found += learned(problem, solve(problem, tol=tol, callback=callback))
    return found


class KernelMachine(Iterative, Method, ABC):
    """Base of what learns weights of kernels and a machine on their sum."""

    names_in_: tuple[str, ...]
    ids_: Array
    weights_: Array
    bias_: Array
    dual_coef_: Array
    support_: Array
    usable_: Array
    gap_: float
    n_features_in_: int

    C: float
    tol: float

    def __sklearn_tags__(self) -> Any:
        tags = super().__sklearn_tags__()
        tags.input_tags.pairwise = True
        return tags

    def _training(self, X: KernelViews, y: Array, weight: Array) -> Training:
        """Leave out samples without a view and views without a sample."""
        if not self.C > 0 or not self.tol > 0:
            raise ValueError(f"C and tol must be positive; got C={self.C!r} and tol={self.tol!r}")
        empty = ~X.observed.any(axis=1)
        if empty.any():
            example = shown(X.ids[np.argmax(empty)])
            warn(
                f"{empty.sum()} sample(s) without any view, e.g. {example}, take no part in training",
                AbsenceWarning,
            )
        if empty.all():
            raise ValueError("no view is observed for any sample; there is nothing to learn from")
        self._views, order = self._order(X, y, weight)
        seen = X.select([X.names[v] for v in self._views])
        straight = np.array_equal(order, np.arange(len(X)))
        stack = KernelStack.of(seen, None if straight else order)
        return Training(stack, seen.observed[order], (self.C * weight * ~empty)[order], order)

    def _order(self, X: KernelViews, *labels: Array) -> tuple[Array, Array]:
        """Positions of views that someone has, and of samples, in an order of their own."""
        counts = X.observed.sum(axis=0)
        if 8 * float((counts.astype(np.float64) ** 2).sum()) > COPIED:
            return np.flatnonzero(counts), np.arange(len(X))
        profiles = kernel_profiles(X)
        views = view_order(profiles)
        return views[counts[views] > 0], sample_order(profiles, X.observed, *labels)

    def _keep(self, X: KernelViews, found: Sequence[Learned], order: Array) -> None:
        """Fitted attributes; coefficients, which are in `order`, back where their samples stand."""
        self.names_in_, self.ids_, self._observed = X.names, X.ids, X.observed
        self.n_features_in_ = len(X)
        weights, norms = np.zeros((2, len(found), X.n_views))
        weights[:, self._views] = [one.eta for one in found]
        norms[:, self._views] = [one.norms for one in found]
        self._weights, self._norms = weights, norms
        self.weights_ = weights[0] if len(found) == 1 else weights
        self.dual_coef_ = np.empty((len(found), len(X)))
        self.dual_coef_[:, order] = [one.z for one in found]
        self.bias_ = np.array([one.bias for one in found])
        self.support_ = np.flatnonzero(self.dual_coef_.any(axis=0))
        self.gap_ = max(one.gap for one in found)
        solutions = [one.solution for one in found]
        self._record(max(solutions, key=lambda s: (not s.converged, s.n_iter)))
        self.usable_ = np.asarray((self._share(X.observed) > 0).any(axis=1))

    def _share(self, observed: Array) -> Array:
        """``tau``: the share of each machine's margin in the observed views; 0 where nothing is usable."""
        total = self._norms.sum(axis=1)
        return np.asarray(observed @ self._norms.T) / np.where(total > 0, total, 1.0)

    def _raw_scores(self, X: KernelViews) -> Array:
        """``sum_p eta_p sum_i z_i K_p(i, t) + b``, rows x machines."""
        scores = np.tile(self.bias_, (len(X), 1))
        for v, name in enumerate(X.names):
            rows, columns = X.observed[:, v], X.column_observed[:, v]
            if not self._weights[:, v].any() or not rows.any():
                continue
            coefficients = self._weights[:, v, None] * self.dual_coef_ * self._observed[:, v]
            scores[rows] += X.operator(name) @ np.ascontiguousarray(coefficients[:, columns].T)
        return scores

    def _check_rows(self, X: Any) -> KernelViews:
        check_is_fitted(self, "weights_")
        if not isinstance(X, KernelViews):
            raise TypeError(
                f"KernelViews are wanted, not {type(X).__name__}: new samples against the training "
                "samples, kernel_views[np.ix_(new, train)], or ViewKernels() before this in a Pipeline"
            )
        X.demand_columns(self.names_in_, self.ids_)
        return X

    def unusable(self, X: KernelViews) -> Array:
        """Which rows have no view with weight, so that only the prior can be said of them."""
        return np.asarray(~self._share(self._check_rows(X).observed).any(axis=1))

    def carried(self) -> Array:
        """What predictions rest on, samples x views: who has a coefficient, in views that have a weight."""
        check_is_fitted(self, "weights_")
        has = self._observed & np.asarray(self.dual_coef_.any(axis=0))[:, None]
        return np.asarray(has & self._weights.any(axis=0))

    def restricted(self, samples: Array) -> Any:
        """The same machine without the training samples that are not among `samples`."""
        coefficients = self.dual_coef_[:, samples]
        return altered(
            self,
            ids_=self.ids_[samples],
            n_features_in_=len(samples),
            dual_coef_=coefficients,
            support_=np.flatnonzero(coefficients.any(axis=0)),
            usable_=self.usable_[samples],
            _observed=self.carried()[samples],
        )

    def weight_table(self) -> Any:
        """The weights by view name: a pandas Series or DataFrame, or without pandas a dict."""
        check_is_fitted(self, "weights_")
        columns = self._machine_names()
        if find_spec("pandas") is not None:
            import pandas as pd

            if columns is None:
                return pd.Series(self.weights_, index=list(self.names_in_), name="weight")
            return pd.DataFrame(self.weights_.T, index=list(self.names_in_), columns=list(columns))
        weights = self.weights_.T
        if columns is None:
            return dict(zip(self.names_in_, weights.tolist(), strict=True))
        rows = [dict(zip(columns, row, strict=True)) for row in weights.tolist()]
        return dict(zip(self.names_in_, rows, strict=True))

    def _machine_names(self) -> Sequence[Any] | None:
        return None


def sample_weights(weight: Any, n: int) -> Array:
    """One non-negative number per sample, by default one."""
    if weight is None:
        return np.ones(n)
    weight = np.asarray(weight, dtype=np.float64)
    if weight.shape != (n,) or not np.isfinite(weight).all() or (weight < 0).any() or not weight.any():
        raise ValueError(f"sample_weight must be {n} non-negative numbers, not all zero")
    return weight


class LabelMixin(ClassifierMixin):  # type: ignore[misc]
    """Labels in, labels out: what classifiers share, whatever they take."""

    classes_: Array
    class_weight: Any
    decision_function: Callable[[Any], Array]

    def _labels(self, X: Presence, y: Any, sample_weight: Any) -> tuple[Array, Array]:
        """Labels, and how much each sample counts; classes and their frequencies are remembered."""
        if np.iscomplexobj(y):
            raise ValueError("labels are complex numbers; text, whole numbers or booleans are wanted")
        y = column_or_1d(y)
        if len(y) != len(X):
            raise ValueError(f"{len(y)} labels came for {len(X)} samples; one for each is wanted")
        absent = np.array([label != label for label in y.tolist()], dtype=bool)  # NaN is not itself
        if absent.any():
            example = shown(X.ids[np.argmax(absent)])
            raise ValueError(f"{absent.sum()} label(s) are NaN, e.g. of {example}; leave these samples out")
        check_classification_targets(y)
        weight = sample_weights(sample_weight, len(y))
        counts = weight > 0
        self.classes_ = np.unique(y[counts])
        usable = np.unique(y[counts & X.observed.any(axis=1)])
        if len(usable) < 2 or len(usable) < len(self.classes_):
            raise ValueError(
                f"samples with at least one view have the class(es) {usable.tolist()} of "
                f"{self.classes_.tolist()}; two classes or more, each with a view somewhere, are wanted"
            )
        self._prior = np.array([weight[y == label].sum() for label in self.classes_]) / weight.sum()
        own = compute_class_weight(self.class_weight, classes=self.classes_, y=y[counts])
        place = np.minimum(np.searchsorted(self.classes_, y), len(self.classes_) - 1)
        return y, weight * own[place]

    def predict(self, X: Any) -> Array:
        """The class of each sample; the most frequent one where no view is usable."""
        scores = self.decision_function(X)
        chosen = (scores > 0).astype(int) if scores.ndim == 1 else scores.argmax(axis=1)
        return np.asarray(self.classes_[chosen])


class KernelClassifier(LabelMixin, KernelMachine):
    """Classes over kernel machines: one machine for two classes, one against the rest for more."""

    probability: bool | str
    tau_min: float = 0.2
    _own_margins = False  # whether a sample's margin is measured in its own views

    @abstractmethod
    def _learn(self, training: Training, signs: Sequence[Array]) -> list[Learned]:
        """One machine for each vector of labels in {-1, 1}."""

    def fit(self, X: KernelViews, y: Any, sample_weight: Any = None) -> Self:
        """Learn from square kernels of the training samples and their labels."""
        X = check_kernels(X)
        y, weight = self._labels(X, y, sample_weight)
        with suited_to(len(X)):
            self._fit(X, y, weight)
            self._calibrate(X, y, sample_weight)
        return self

    def _fit(self, X: KernelViews, y: Array, weight: Array) -> None:
        training = self._training(X, y, weight)
        targets = self.classes_[1:] if len(self.classes_) == 2 else self.classes_
        own = y[training.order]
        found = self._learn(training, [np.where(own == label, 1.0, -1.0) for label in targets])
        self._keep(X, found, training.order)
        if len(found) > 1:
            self.objective_ = [one.solution.trace for one in found]  # type: ignore[assignment]

    def decision_function(self, X: KernelViews) -> Array:
        """Scores of the rows of `X`: (n,) for two classes, positive for the second, else (n, classes).

        With tau the share of the margin that a row's observed views carry (at least `tau_min`): for two
        classes :class:`AbsentMKLClassifier` divides the score by tau, which is what its margins are and
        leaves the sign alone.  For more classes, whose machines put their weights on different views,
        what the views say is divided by tau and the bias is not: as if the absent views agreed with the
        observed.  Rows without a usable view get the class frequencies, stretched to -1 to 1, and rows
        whose views carry less than a hundredth of the margin something between.
        """
        X = self._check_rows(X)
        share = self._share(X.observed)
        tau = np.maximum(share, self.tau_min)
        scores, two = self._raw_scores(X), len(self.classes_) == 2
        if not two:
            scores = (scores - self.bias_) / tau + self.bias_
        elif self._own_margins:
            scores = scores / tau
        prior = 2 * (self._prior[1:] if two else self._prior) - 1
        scores = mixed(share, scores, prior)
        return scores[:, 0] if two else scores

    def _machine_names(self) -> Sequence[Any] | None:
        return None if len(self.classes_) == 2 else self.classes_.tolist()

    # ------------------------------------------------------------------------------------- chances

    def _calibrate(self, X: KernelViews, y: Array, sample_weight: Any) -> None:
        if not self.probability:
            return
        if self.probability not in (True, "sigmoid", "isotonic"):
            raise ValueError(
                f"probability must be False, True, 'sigmoid' or 'isotonic', not {self.probability!r}"
            )
        weight = sample_weights(sample_weight, len(y))
        order = self._order(X, y, weight)[1]
        rows = order[(X.observed.any(axis=1) & (weight > 0))[order]]
        scores, fair = self._held_out_scores(X, y, weight, rows)
        chances = IsotonicChances if self.probability == "isotonic" else SigmoidChances
        self._chances = chances(scores[fair], y[rows][fair], weight[rows][fair], self.classes_)

    def _held_out_scores(self, X: KernelViews, y: Array, weight: Array, rows: Array) -> tuple[Array, Array]:
        """Scores of samples by machines that have not seen them, and which of those are usable."""
        fewest = int(np.unique(y[rows], return_counts=True)[1].min())
        if fewest < 2:
            raise ValueError("probability=True wants at least two samples with a view of every class")
        width = 1 if len(self.classes_) == 2 else len(self.classes_)
        scores, fair = np.zeros((len(rows), width)), np.zeros(len(rows), dtype=bool)
        for a, b in folds(np.arange(len(rows)), y[rows], min(5, fewest)):
            machine = clone(self).set_params(probability=False)
            with warnings.catch_warnings():  # of what the whole fit has said already
                warnings.simplefilter("ignore", AbsenceWarning)
                warnings.simplefilter("ignore", ConvergenceWarning)
                machine = self._refit(machine, X, y, weight, rows[a])
            held_out = X[np.ix_(rows[b], rows[a])]
            scores[b] = machine.decision_function(held_out).reshape(len(b), -1)
            fair[b] = ~machine.unusable(held_out)
        return scores, fair

    def _refit(self, machine: Any, X: KernelViews, y: Array, weight: Array, rows: Array) -> Any:
        """`machine` fitted to the samples `rows`."""
        return machine.fit(X[np.ix_(rows, rows)], y[rows], sample_weight=weight[rows])

    @available_if(lambda self: bool(self.probability))  # type: ignore[untyped-decorator]
    def predict_proba(self, X: KernelViews) -> Array:
        """Chances of the classes, calibrated on held-out scores; frequencies where no view is usable."""
        scores = self.decision_function(X).reshape(len(X), -1)
        share = self._share(X.observed).max(axis=1, keepdims=True)
        return mixed(share, self._chances.predict(scores), self._prior)


@kept
class SigmoidChances:
    """Chances from scores by logistic regression (Platt scaling)."""

    def __init__(self, scores: Array, y: Array, weight: Array, classes: Array) -> None:
        self.spread = np.maximum(scores.std(axis=0), 1e-12)
        # to the optimum: what is left open by a looser end, rounding decides
        model = LogisticRegression(solver="newton-cholesky", tol=1e-12, max_iter=1000)
        self.model = model.fit(scores / self.spread, y, sample_weight=weight)

    def predict(self, scores: Array) -> Array:
        return np.asarray(self.model.predict_proba(scores / self.spread))


@kept
class IsotonicChances:
    """Chances from scores by a rising step function for each class."""

    def __init__(self, scores: Array, y: Array, weight: Array, classes: Array) -> None:
        targets = classes[1:] if scores.shape[1] == 1 else classes
        self.models = [
            IsotonicRegression(y_min=0, y_max=1, out_of_bounds="clip").fit(s, y == label, weight)
            for s, label in zip(scores.T, targets, strict=True)
        ]

    def predict(self, scores: Array) -> Array:
        chances = np.column_stack([m.predict(s) for m, s in zip(self.models, scores.T, strict=True)])
        if len(self.models) == 1:
            return np.hstack([1 - chances, chances])
        total = chances.sum(axis=1, keepdims=True)
        return np.where(total > 0, chances / np.where(total > 0, total, 1), 1 / len(self.models))
