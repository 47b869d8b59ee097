"""What learns weights of kernels and a machine on their sum: whom to learn from, scores of new samples.

A view has a say in a machine if neither its weight nor the norm of its part of the normal vector is below a
millionth of the largest (``engine.DUST``); others have exactly none, everywhere.  How much of a machine a
sample's views cover is their share of those norms.

Samples and views are learned from in an order of their own (``own_order``), so that the order in which they
come changes nothing; beyond a gigabyte of kernels it may, within `tol`.  Rounding, which differs between
processors and numbers of threads, moves scores by some 1e-9 as a rule; where it turns a branch of a solver,
probabilities, which take many fits, may move by 1e-5.
"""

from abc import abstractmethod
from collections.abc import Callable, Sequence
from concurrent.futures import ThreadPoolExecutor
from copy import deepcopy
from dataclasses import dataclass, replace
from typing import Any, NamedTuple, TypeVar

import numpy as np
from sklearn.utils.validation import check_is_fitted

from absentia.core import Array, Iterative, copy_with, count_threads
from absentia.core.optimize import Callback, Solution
from absentia.data import KernelViews, order_for_learning, prefers_factors
from absentia.methods.learning._base import Classifier, Learner
from absentia.methods.learning._held_out import SelectsC
from absentia.methods.learning._inputs import one_vs_rest_signs
from absentia.methods.learning.engine import (
    NUMBA_ADVICE,
    Box,
    FactorStack,
    KernelStack,
    Problem,
    Region,
    Stack,
    State,
    has_numba,
    solve,
    without_dust,
)

_S = TypeVar("_S")
_T = TypeVar("_T")


@dataclass(frozen=True)
class Training:
    """Kernels of those views that someone has, and how much each sample counts (nothing: left out).

    Samples are in an order of their own, ``order`` their positions in the data that came.
    """

    stack: Stack
    observed: Array  # samples x the views of the stack
    bound: Array  # C of every sample
    order: Array

    @property
    def rows(self) -> Array:
        """Who has which view, of the samples that count."""
        return self.observed[self.bound > 0]

    def in_given_order(self, values: Array) -> Array:
        """Values of the samples (n,) in the order of the data that came."""
        result = np.empty_like(values)
        result[self.order] = values
        return result


class FittedMachine(NamedTuple):
    """A machine that has been solved for n training samples and V views."""

    eta: Array  # (V,) weights of the views
    z: Array  # (n,) dual coefficients, with the sign of the label
    bias: float
    norms: Array  # (V,) norm |w_p| of each view's part
    gap: float  # relative duality gap
    solution: Solution[Any]
    tau: Array | None = None  # the share of the margin every sample was learned with, if not 1

    def times(self, sign: float) -> "FittedMachine":
        """The machine of the labels times `sign`."""
        return self._replace(z=sign * self.z, bias=sign * self.bias)


def view_norms(eta: Array, q: Array) -> Array:
    """``|w_p| = eta_p sqrt(z' K_p z)`` of every view, exactly zero where it is rounding."""
    return without_dust(eta * np.sqrt(np.maximum(q, 0.0)))


def extract_machine(solution: Solution[State]) -> FittedMachine:
    """The machine of a solved problem."""
    point = solution.state.point
    svm, norms = point.machine, view_norms(point.eta, point.machine.z @ point.R)
    return FittedMachine(point.eta, svm.z, svm.bias, norms, solution.state.gap, solution)


def learn_machines(
    training: Training,
    boxes: Sequence[Box],
    region: Region,
    *,
    tol: float,
    callback: Callback | None = None,
) -> list[FittedMachine]:
    """One machine per box, each with weights of its own."""

    def learn(box: Box) -> FittedMachine:
        # a region keeps its last program, which threads cannot share
        own_region = deepcopy(region) if isinstance(training.stack, FactorStack) else region
        return extract_machine(solve(Problem(training.stack, box, own_region), tol=tol, callback=callback))

    return map_in_threads(learn, boxes, training.stack if callback is None else None)


def map_in_threads(make: Callable[[_T], _S], items: Sequence[_T], stack: Stack | None) -> list[_S]:
    """What is made of each item; in threads if kernels are factors, whose loops run beside one another."""
    n_threads = count_threads(len(items)) if isinstance(stack, FactorStack) else 1
    if n_threads == 1:
        return [make(item) for item in items]
    with ThreadPoolExecutor(n_threads) as threads:
        return list(threads.map(make, items))


class KernelMachine(SelectsC, Iterative, Learner):
    """Base of what learns weights of kernels and a machine on their sum."""

    _dense = False  # whether kernels are wanted as arrays
    _orders_sums = False  # whether kernels stay in the order of the data, and their sums are put in order

    def _training(self, X: KernelViews, y: Array, weight: Array) -> Training:
        """Everything in an order of its own, without views that nobody has; C is selected first."""
        self._set_C(X, y, weight)
        self._views, order = order_for_learning(X, y, weight)
        seen = X.select([X.names[v] for v in self._views])
        straight = self._orders_sums or np.array_equal(order, np.arange(len(X)))
        kind = FactorStack if self._uses_factors(seen) else KernelStack
        stack = kind.of(seen, None if straight else order)
        return Training(stack, seen.observed[order], (self.C_ * weight)[order], order)

    def _uses_factors(self, X: KernelViews) -> bool:
        """Whether the machines are learned from factors, and not from whole kernels."""
        return prefers_factors(X) and not self._dense

    def _set_machines(self, X: KernelViews, machines: Sequence[FittedMachine], order: Array) -> None:
        """Fitted attributes; coefficients, which are in `order`, back where their samples stand."""
        weights, norms = np.zeros((2, len(machines), X.n_views))
        weights[:, self._views] = [machine.eta for machine in machines]
        norms[:, self._views] = [machine.norms for machine in machines]
        self._weights, self._norms = weights, norms
        self.weights_ = weights[0] if len(machines) == 1 else weights
        self.dual_coef_ = np.empty((len(machines), len(X)))
        self.dual_coef_[:, order] = [machine.z for machine in machines]
        self.bias_ = np.array([machine.bias for machine in machines])
        self.support_ = np.flatnonzero(self.dual_coef_.any(axis=0))
        self.gap_ = max(machine.gap for machine in machines)
        solutions = [machine.solution for machine in machines]
        solution = max(solutions, key=lambda s: (not s.converged, s.n_iter))
        if self._uses_factors(X.select([X.names[v] for v in self._views])) and not has_numba():
            solution = replace(solution, message=f"{solution.message}; {NUMBA_ADVICE}")
        self._set_convergence(solution)
        self.usable_ = np.asarray((self._coverage(X) > 0).any(axis=1))

    def _coverage(self, X: KernelViews) -> Array:
        """``tau``: the share of each machine's margin in the observed views; 0 where nothing is usable."""
        total = self._norms.sum(axis=1)
        return X.observed @ self._norms.T / np.where(total > 0, total, 1.0)

    def _raw_scores(self, X: KernelViews) -> Array:
        """``sum_p eta_p sum_i z_i K_p(i, t) + b``, rows x machines."""
        scores = np.zeros((len(X), len(self.bias_)))
        for v in range(X.n_views):
            self._add_scores(X, v, scores)
        return self.bias_ + self._rescale(X, scores)

    def _view_scores(self, X: KernelViews) -> Array:
        """``eta_p sum_i z_i K_p(i, t)`` view by view, rows x views x machines; zero where absent."""
        scores = np.zeros((len(X), X.n_views, len(self.bias_)))
        for v in range(X.n_views):
            self._add_scores(X, v, scores[:, v])
            scores[:, v] = self._rescale(X, scores[:, v])
        return scores

    def _add_scores(self, X: KernelViews, v: int, scores: Array) -> None:
        """What one view says of the rows, added to their scores, rows x machines."""
        rows, columns = X.observed[:, v], X.column_observed[:, v]
        if self._weights[:, v].any() and rows.any():
            coefficients = self._weights[:, v, None] * self.dual_coef_ * self._observed[:, v]
            scores[rows] += X.operator(X.names[v]) @ np.ascontiguousarray(coefficients[:, columns].T)

    def _rescale(self, X: KernelViews, scores: Array) -> Array:
        """Scores of rows that were brought to another length in training, rows x machines."""
        return scores

    def measure_support(self) -> Array:
        """What predictions rest on, samples x views: who has a coefficient, in views that have a weight."""
        check_is_fitted(self, "weights_")
        has = self._observed & np.asarray(self.dual_coef_.any(axis=0))[:, None]
        return has & self._weights.any(axis=0)

    def restrict(self, samples: Array) -> Any:
        """The same machine without the training samples that are not among `samples`."""
        coefficients = self.dual_coef_[:, samples]
        return copy_with(
            self,
            ids_=self.ids_[samples],
            n_features_in_=len(samples),
            _widths=(len(samples),),
            dual_coef_=coefficients,
            support_=np.flatnonzero(coefficients.any(axis=0)),
            usable_=self.usable_[samples],
            _observed=self.measure_support()[samples],
        )

    def weight_table(self) -> Any:
        """The weights by view name: a Series, or with more than two classes a DataFrame."""
        import pandas as pd

        check_is_fitted(self, "weights_")
        views = list(self.names_in_)
        if self.weights_.ndim == 1:
            return pd.Series(self.weights_, index=views, name="weight")
        return pd.DataFrame(self.weights_.T, index=views, columns=self.classes_.tolist())


class KernelClassifier(KernelMachine, Classifier):
    """Base of classifiers made of kernel machines: one for two classes, one against the rest for more."""

    tau_min: float = 0.2
    _own_margins = False  # whether a sample's margin is measured in its own views

    @abstractmethod
    def _train(self, training: Training, signs: Sequence[Array]) -> list[FittedMachine]:
        """One machine for each vector of labels in {-1, 1}."""

    def _learn(self, X: KernelViews, y: Array, weight: Array) -> None:
        training = self._training(X, y, weight)
        signs = one_vs_rest_signs(y[training.order], len(self.classes_))
        if len(signs) > 1:
            machines = self._train(training, signs)
        else:  # the first sample's class is the positive one, whatever the classes are called
            sign = signs[0][0]
            machines = [machine.times(sign) for machine in self._train(training, [sign * signs[0]])]
        self._set_machines(X, machines, training.order)
        if len(machines) > 1:
            self.objective_ = [machine.solution.trace for machine in machines]  # type: ignore[assignment]

    def _score(self, X: KernelViews) -> Array:
        """Machines that put their weights on different views are made comparable; so are own margins.

        See :class:`AbsentMKLClassifier` for how, and why.
        """
        scores, tau = self._raw_scores(X), np.maximum(self._coverage(X), self.tau_min)
        if len(self.classes_) > 2:
            return (scores - self.bias_) / tau + self.bias_
        return scores / tau if self._own_margins else scores

    def contributions(self, X: KernelViews) -> Array:
        """What each view adds to each row's score, rows x views x machines; the bias is left to none."""
        X = self._check_rows(X)
        divided = len(self.classes_) > 2 or self._own_margins
        tau = np.maximum(self._coverage(X), self.tau_min) if divided else np.ones((len(X), 1))
        return self._view_scores(X) / tau[:, None, :]
