"""What all learners share: checking what comes in, samples without a usable view, decisions, new samples.

A classifier says what it learns (``_learn``) and how it scores (``_score``), a regressor and a survival
model what they learn and predict (``_predict``).  If some of their views matter more than others, they say
how much of what was learned a sample's views cover (``_coverage``).  The rest is here.

A sample without any view takes no part in training.  What is said of a sample whose views cover nothing is
the prior: of a class its frequency pi among the training samples (by their weights) as probability and
``2 pi - 1`` as score, the mean target, the mean log-risk; ``unusable`` says which samples those are.  Up to
there answers are continuous: where a sample's views cover less than a hundredth (:data:`_LOW_COVERAGE`),
the answer is that part the method's, the rest the prior's.

A class is decided from probabilities by ``decision_``, weights or costs: the most probable class, unless a
parameter ``decision`` or :meth:`Classifier.set_decision` says otherwise; without probabilities, the class
with the largest score.  With p_k the probability of class k and m_k the mean of what is said of training
samples left out (``loo_proba_``), or, of classifiers that do not tell, its frequency in training,

=====================  =====================================  ==============================================
what counts            predicted class                        kept in ``decision_``
=====================  =====================================  ==============================================
accuracy               argmax_k p_k                           weights (classes,), all 1
balanced accuracy      argmax_k p_k / m_k                     weights (classes,), 1 / m_k
costs of mistakes      argmin_j sum_k p_k cost[k, j]          costs (classes, classes), true x predicted
=====================  =====================================  ==============================================

Of equals the more frequent class is taken, of equal costs the more probable one: that is a billionth in
``decision_``.  No decision hangs on what classes are called.
"""

from abc import ABC, abstractmethod
from math import fsum
from typing import Any, Literal, Self

import numpy as np
from sklearn.base import ClassifierMixin, RegressorMixin
from sklearn.exceptions import NotFittedError
from sklearn.utils.metaestimators import available_if
from sklearn.utils.validation import check_is_fitted

from absentia.core import Array, Estimator, clone_without_callbacks, limit_threads_if_small
from absentia.data import show_id
from absentia.data.survival import Survival, as_survival, concordance_index, evaluate_steps
from absentia.methods.learning._held_out import Calibration, calibrate
from absentia.methods.learning._inputs import (
    INPUTS,
    Features,
    Kernels,
    Labels,
    ViewsOrKernels,
    check_labels,
    check_targets,
    check_y,
    count_columns,
    subset,
    warn_of_empty,
)

_LOW_COVERAGE = 0.01  # share of what was learned below which answers are shrunk to the prior
_TIE = 1e-9
_LEAST_LEVEL = 1e-3  # times a frequency: what is said of a class is on average no less


def shrink_to_prior(coverage: Array, values: Array, prior: Any) -> Array:
    """Values, drawn to the prior where a sample's views cover next to nothing; not read where nothing."""
    part = np.minimum(coverage / _LOW_COVERAGE, 1.0)
    return np.where(part > 0, part * values, 0.0) + (1 - part) * prior


class Learner(Estimator, ABC):
    """Base of what learns from samples with absent views and says something of new ones."""

    names_in_: tuple[str, ...]
    ids_: Array
    n_features_in_: int
    _observed: Array  # who had which view in training
    _widths: tuple[int, ...]  # columns that new samples have to have again

    _takes: Literal["kernels", "views"] = "kernels"

    @property
    def _input(self) -> Kernels | Features | ViewsOrKernels:
        return INPUTS[self._takes]

    def __sklearn_tags__(self) -> Any:
        tags = super().__sklearn_tags__()
        tags.input_tags.pairwise = self._input.pairwise
        return tags

    def _check_training(self, X: Any, groups: Any) -> Any:
        """What can be learned from, in `groups` if these are given."""
        X = self._input.check(X, self)
        return X if groups is None else X.with_groups(groups)

    def unusable(self, X: Any) -> Array:
        """Which samples have no view with a say, so that only the prior can be said of them."""
        return np.asarray(~(self._coverage(self._check_rows(X)) > 0).any(axis=1))

    def _coverage(self, X: Any) -> Array:
        """The share, 0 to 1, of what was learned that each row's views carry; rows x machines, or x 1."""
        return (X.observed & self._observed.any(axis=0)).any(axis=1, keepdims=True).astype(np.float64)

    def _check_rows(self, X: Any) -> Any:
        """New samples that go with those of training."""
        if "names_in_" not in vars(self):  # scikit-learn's check takes as long as a product of one row
            check_is_fitted(self, "names_in_")
        return self._input.check_rows(X, self)

    def _fit_samples(self, X: Any, y: Any, weight: Array) -> None:
        """Learn from checked samples and targets, and remember who was there."""
        with limit_threads_if_small(len(X)):
            X = self._input.encode(X, self)
            self._learn(X, y, weight * X.observed.any(axis=1))
            self.names_in_, self.ids_, self._observed = X.names, X.ids, X.observed
            self._widths = count_columns(X)
            self.n_features_in_ = sum(self._widths)

    @abstractmethod
    def _learn(self, X: Any, y: Any, weight: Array) -> None:
        """Learn from samples with the targets `y`, each as much as its `weight` says.

        Weights are zero for samples without any view.
        """


class Classifier(ClassifierMixin, Learner):  # type: ignore[misc]
    """Base of everything that learns classes from incomplete views or kernels.

    A classifier says what it takes (``_takes``), what it learns (:meth:`_learn`) and how it scores
    (:meth:`_score`).  Two parameters mean the same for all who declare them: ``class_weight`` and
    ``probability``.
    """

    classes_: Array
    decision_: Array  # weights (classes,), or costs (classes, classes)
    _frequencies: Array  # of the classes (classes,), by the weights that probabilities were learned with
    _levels: Array  # of the classes (classes,): what a probability is divided by for balanced accuracy
    _calibration: Calibration | None  # what turns scores into probabilities
    _native_probabilities = (
        False  # whether :meth:`_predict_proba` gives probabilities by itself, without calibration
    )

    @abstractmethod
    def _learn(self, X: Any, y: Array, weight: Array) -> None:
        """Learn from samples with the classes ``classes_[y]``, each as much as its `weight` says.

        The weights have those of the classes in them, and are zero for samples without any view.
        """

    def _score(self, X: Any) -> Array:
        """Scores, rows x 1 for two classes (positive: the second), rows x classes for more.

        About -1 to 1, as the prior is; rows that cover nothing are not read.  Of a classifier with
        probabilities of its own they are these, weighted as for decisions, from -1 to 1; where costs
        decide, expected costs relative to their mean, turned so that the least has the largest score.
        """
        if not self._native_probabilities:
            name = type(self).__name__
            raise NotImplementedError(f"{name} lacks _score, or _native_probabilities with _predict_proba")
        if self.decision_.ndim == 1:
            weighted = self._predict_proba(X) * self.decision_
            scores = 2 * weighted / np.maximum(weighted.sum(axis=1, keepdims=True), 1e-300) - 1
        else:  # for weights w as costs, w_k of every mistake, this is the same
            costs = np.maximum(self._predict_proba(X) @ self.decision_, 0.0)
            mean = costs.sum(axis=1, keepdims=True) / (len(self.classes_) - 1)
            scores = 1 - 2 * costs / np.maximum(mean, 1e-300)
        return scores[:, 1:] if len(self.classes_) == 2 else scores

    def fit(self, X: Any, y: Any, sample_weight: Any = None, *, groups: Any = None) -> Self:
        """Learn from the training samples (kernels: square) and their labels.

        Samples of one of the `groups` stay together in all that is held out: ``X.with_groups(groups)``.
        """
        self._check_parameters()
        X = self._check_training(X, groups)
        labels = check_labels(X, y, sample_weight)
        warn_of_empty(X)
        weight = labels.class_weighted(getattr(self, "class_weight", None))
        self.classes_, self._prior = labels.classes, labels.prior
        learned = (weight if self._native_probabilities else labels.weight) * X.observed.any(axis=1)
        counts = np.array([learned[labels.codes == k].sum() for k in range(len(labels.classes))])
        self._frequencies = self._levels = counts / counts.sum()
        self.set_decision(getattr(self, "decision", "accuracy"))
        self.__dict__.pop("loo_proba_", None)  # of a fit before
        self._fit_samples(X, labels.codes, weight)
        if hasattr(self, "loo_proba_"):
            self._levels = _mean_proba(self.loo_proba_, learned, self._frequencies)
            self.set_decision(getattr(self, "decision", "accuracy"))
        with limit_threads_if_small(len(X)):
            wanted = self._offers_probabilities() and not self._native_probabilities
            self._calibration = calibrate(self, X, labels) if wanted else None
        return self

    def decision_function(self, X: Any) -> Array:
        """Scores of the rows of `X`: (n,) for two classes, positive for the second, else (n, classes).

        Rows without a usable view get the class frequencies, stretched to -1 to 1, and rows whose views
        carry less than a hundredth of what was learned something between.
        """
        scores = self._score_with_prior(self._check_rows(X))
        return scores[:, 0] if len(self.classes_) == 2 else scores

    def _score_with_prior(self, X: Any) -> Array:
        """Scores, with the prior where views cover next to nothing; rows x 1 for two classes."""
        prior = 2 * (self._prior[1:] if len(self.classes_) == 2 else self._prior) - 1
        return shrink_to_prior(self._coverage(X), self._score(X), prior)

    def predict(self, X: Any) -> Array:
        """The class of each sample, decided from its probabilities (:meth:`decide`).

        That of the largest score, if it was fitted without probabilities.
        """
        check_is_fitted(self, "names_in_")
        if self._offers_probabilities() and (self._native_probabilities or self._calibration is not None):
            return self.decide(X, self.predict_proba(X))
        scores = self.decision_function(X)
        best = (scores > 0).astype(int) if scores.ndim == 1 else scores.argmax(axis=1)
        return self.classes_[best]

    def decide(self, X: Any, proba: Array) -> Array:
        """The class of each sample, whose probabilities (n, classes) are `proba`.

        That of the largest probability times weight, or of the least expected cost.  Where no view is
        usable weights do not count: all that is known is which class is the most frequent.
        """
        if self.decision_.ndim == 2:
            best = (proba @ self.decision_).argmin(axis=1)
        else:
            blind = self.unusable(X)[:, None]
            best = np.where(blind, proba, proba * self.decision_).argmax(axis=1)
        return self.classes_[best]

    def set_decision(self, decision: Any) -> Self:
        """Decide otherwise from now on; probabilities stay what they are.

        Parameters
        ----------
        decision : "balanced", "accuracy", dict of dicts, DataFrame or array
            Largest probability over its mean among samples left out (over the frequency, where that is not
            known), largest probability, or least expected cost: costs of mistakes are
            ``costs[true][predicted]``, a table with true classes as rows, or an array of shape
            (n_classes, n_classes) in the order of ``classes_``.
        """
        levels = getattr(self, "_levels", self._frequencies)  # of models of before there are none
        self.decision_ = _make_decision(decision, self.classes_, levels)
        return self

    def score(self, X: Any, y: Any, sample_weight: Any = None) -> float:
        """The share of samples, by weight, whose class is right; `y` is in the order of the samples."""
        check_y(self._check_rows(X), y)
        return float(super().score(X, y, sample_weight))

    def _offers_probabilities(self) -> bool:
        return self._native_probabilities or bool(getattr(self, "probability", False))

    @available_if(lambda self: self._offers_probabilities())  # type: ignore[untyped-decorator]
    def predict_proba(self, X: Any) -> Array:
        """Probabilities of the classes, (n, classes); their frequencies where no view is usable."""
        X = self._check_rows(X)
        if self._calibration is None and not self._native_probabilities:
            raise NotFittedError(f"{type(self).__name__} was fitted without probability; fit it again")
        coverage = self._coverage(X).max(axis=1, keepdims=True)
        return shrink_to_prior(coverage, self._predict_proba(X), self._prior)

    def _predict_proba(self, X: Any) -> Array:
        """Probabilities of the classes, rows x classes; rows that cover nothing are not read."""
        assert self._calibration is not None
        return self._calibration.predict(self._score_with_prior(X))

    def _refit(self, X: Any, labels: Labels, rows: Array) -> Self:
        """The same method without probabilities, fitted to the samples `rows`."""
        other = clone_without_callbacks(self, **self._refit_parameters())
        weight, options = labels.weight[rows], self._fit_options(rows)
        return other.fit(subset(X, rows, rows), labels.y[rows], sample_weight=weight, **options)

    def _refit_parameters(self) -> dict[str, Any]:
        """Parameters of fits to some of the samples, which probabilities are learned from."""
        return {"probability": False}

    def _fit_options(self, rows: Array) -> dict[str, Any]:
        """What else ``fit`` was given, of the samples `rows`."""
        return {}


def _mean_proba(proba: Array, weight: Array, frequencies: Array) -> Array:
    """Mean of the probabilities (n, classes) of samples that have weight, whatever their order."""
    rows = np.flatnonzero((weight > 0) & np.isfinite(proba).all(axis=1))
    if not len(rows):
        return frequencies
    totals = [fsum(column) for column in (proba[rows] * weight[rows, None]).T]
    return np.maximum(np.array(totals) / fsum(weight[rows]), _LEAST_LEVEL * frequencies)


def _make_decision(decision: Any, classes: Array, levels: Array) -> Array:
    """Weights (classes,) or costs (classes, classes) of a rule: "balanced", "accuracy", or costs."""
    if isinstance(decision, str):
        if decision not in ("balanced", "accuracy"):
            raise ValueError(f"decision must be 'balanced', 'accuracy' or costs, not {decision!r}")
        balanced = (1 + _TIE * levels) / levels
        return balanced if decision == "balanced" else np.ones(len(classes))
    costs = align_costs(decision, classes)
    return costs - _TIE * costs.max() * np.eye(len(classes))


def align_costs(costs: Any, classes: Any) -> Array:
    """Costs of mistakes, (classes, classes), true ones in rows and predicted ones in columns.

    Parameters
    ----------
    costs : dict of dicts, DataFrame, or array of shape (n_classes, n_classes)
        ``costs[true][predicted]``, or a table with true classes as rows, by name in any order; an array is
        in the order of `classes`.  Zero or more; what is not given of the diagonal is zero.  Other classes
        than those asked for are not looked at.
    classes : sequence

    Examples
    --------
    >>> align_costs({"ill": {"healthy": 10}, "healthy": {"ill": 1}}, ["healthy", "ill"])
    array([[ 0.,  1.],
           [10.,  0.]])
    """
    import pandas as pd

    names = [str(name) for name in classes]
    if isinstance(costs, np.ndarray):
        if costs.shape != (len(names), len(names)):
            raise ValueError(f"costs of shape {costs.shape} came; {len(names)} x {len(names)} are wanted")
        costs = pd.DataFrame(costs, index=names, columns=names)
    table = costs if isinstance(costs, pd.DataFrame) else _read_mapping(costs)
    table = table.set_axis([str(x) for x in table.index]).set_axis([str(x) for x in table.columns], axis=1)
    for side, found in (("row", table.index), ("column", table.columns)):
        for name in names:
            if (count := int((found == name).sum())) != 1:
                raise ValueError(
                    f"costs have {count or 'no'} {side} of class {show_id(name)}, but of "
                    f"{', '.join(map(repr, found[:6]))}; one of each class is wanted, true classes in rows "
                    "and predicted ones in columns"
                )
    part = table.loc[names, names]
    values = part.apply(pd.to_numeric, errors="coerce").to_numpy(dtype=np.float64, copy=True)
    empty = part.isna().to_numpy() | (part.astype(str) == "").to_numpy()
    values[empty & np.eye(len(names), dtype=bool)] = 0.0
    bad = ~(np.isfinite(values) & (values >= 0))
    if bad.any():
        k, j = np.argwhere(bad)[0]
        raise ValueError(
            f"the cost of taking class {show_id(names[k])} for {show_id(names[j])} is "
            f"{str(part.iloc[k, j])!r}; a number from 0 on is wanted"
        )
    if not values.any():
        raise ValueError("all costs are zero, so that no mistake matters; give those that do a cost")
    return values


def _read_mapping(costs: Any) -> Any:
    """A dict of dicts as a DataFrame."""
    import pandas as pd

    try:
        return pd.DataFrame.from_dict({true: dict(row) for true, row in costs.items()}, orient="index")
    except (AttributeError, TypeError, ValueError):
        raise ValueError(
            f"costs must be a dict of dicts, costs[true][predicted], or a DataFrame, not {costs!r:.60}"
        ) from None


class Regressor(RegressorMixin, Learner):  # type: ignore[misc]
    """Base of everything that learns numbers from incomplete views or kernels.

    A regressor says what it takes (``_takes``), what it learns (:meth:`_learn`) and what it predicts
    (:meth:`_predict`).
    """

    _prior: float

    @abstractmethod
    def _learn(self, X: Any, y: Array, weight: Array) -> None:
        """Learn from samples with the targets `y`, each as much as its `weight` says.

        Weights are zero for samples without any view; ``_prior`` is the weighted mean target.
        """

    @abstractmethod
    def _predict(self, X: Any) -> Array:
        """Targets of the rows, (rows,); rows that cover nothing are not read."""

    def fit(self, X: Any, y: Any, sample_weight: Any = None, *, groups: Any = None) -> Self:
        """Learn from the training samples (kernels: square) and their targets.

        Samples of one of the `groups` stay together in all that is held out: ``X.with_groups(groups)``.
        """
        self._check_parameters()
        X = self._check_training(X, groups)
        y, weight = check_targets(X, y, sample_weight)
        warn_of_empty(X)
        self._prior = float(np.average(y, weights=weight))
        self._fit_samples(X, y, weight)
        return self

    def predict(self, X: Any) -> Array:
        """Targets of the rows; the mean training target where no view is usable."""
        X = self._check_rows(X)
        return shrink_to_prior(self._coverage(X)[:, 0], self._predict(X), self._prior)

    def score(self, X: Any, y: Any, sample_weight: Any = None) -> float:
        """R^2, the share of the targets' variance that is explained; `y` is in the order of the rows."""
        check_y(self._check_rows(X), y, "target")
        return float(super().score(X, y, sample_weight))


class SurvivalModel(Learner):
    """Base of everything that learns times to an event from incomplete views or kernels.

    A survival model says what it takes (``_takes``), what it learns (:meth:`_learn`) and the log-risks that
    it predicts (:meth:`_predict`); hazards are proportional.

    Attributes
    ----------
    event_times_ : ndarray
        Times at which something happened in training.
    """

    event_times_: Array
    _hazard: Array  # cumulative, of a sample with log-risk 0, at these times

    @abstractmethod
    def _learn(self, X: Any, y: Survival, weight: Array) -> None:
        """Learn from samples with these times and events; sets ``event_times_`` and ``_hazard``.

        Weights are one, and zero for samples without any view.
        """

    @abstractmethod
    def _predict(self, X: Any) -> Array:
        """Log-risks of the rows, (rows,), about zero on average; rows that cover nothing are not read."""

    def fit(self, X: Any, y: Any, *, groups: Any = None) -> Self:
        """Learn from the training samples (kernels: square) and their times and events.

        `y` has any form that :func:`absentia.survival.as_survival` knows.  Samples of one of the `groups`
        stay together in all that is held out: ``X.with_groups(groups)``.
        """
        self._check_parameters()
        X = self._check_training(X, groups)
        y = as_survival(y, X)
        warn_of_empty(X)
        if not y.event[X.observed.any(axis=1)].any():
            raise ValueError("no sample with a view has an event; at least one is wanted")
        self._fit_samples(X, y, np.ones(len(X)))
        return self

    def predict(self, X: Any) -> Array:
        """Log-risks, higher for those with earlier events; 0 is the mean, and where no view is usable."""
        X = self._check_rows(X)
        return shrink_to_prior(self._coverage(X)[:, 0], self._predict(X), 0.0)

    def predict_survival_function(self, X: Any, times: Any = None) -> Array:
        """Probabilities to have no event up to each of `times`, rows x times.

        Parameters
        ----------
        X : Views or KernelViews
            New samples.
        times : sequence of numbers, optional
            By default the times of training at which something happened, ``event_times_``.
        """
        check_is_fitted(self, "names_in_")
        at = self.event_times_ if times is None else np.atleast_1d(np.asarray(times, dtype=np.float64))
        if at.ndim != 1 or not np.isfinite(at).all():
            raise ValueError("times must be a list of finite numbers")
        with np.errstate(over="ignore"):
            return np.exp(-self._cumulative_hazard(X, at))

    def _cumulative_hazard(self, X: Any, times: Array) -> Array:
        """Of samples up to each of the times, rows x times: all are proportional."""
        hazard = evaluate_steps(self.event_times_, self._hazard, times, 0.0)
        return np.exp(self.predict(X))[:, None] * hazard

    def score(self, X: Any, y: Any) -> float:
        """The concordance index; `y` is in the order of the samples."""
        time, event = as_survival(y, self._check_rows(X))
        return concordance_index(time, event, self.predict(X))
