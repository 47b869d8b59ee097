"""Prediction sets, intervals and lower bounds that hold for samples with the same views.

The estimator is fitted to all samples, and again to all but each of K folds.  A score ``s(x, y)`` says how
strange the target y is for what a model says of x; scores of training samples come from the model that has
not seen them.  A region has every y whose score, by the estimator, is at most

    q  =  the ceil(coverage (n + 1))-th smallest of n calibration scores  (infinite if there are too few).

========  ================================================  ==============================================
task      score                                             region
========  ================================================  ==============================================
classes   ``1 - p(y | x)``                                  classes of probability ``1 - q`` or more
numbers   ``|y - prediction|``                              prediction - q  to  prediction + q
survival  ``S(time | x)``, the predicted probability to     from the first time at which S is ``q`` or less
          have no event up to the time of the event
========  ================================================  ==============================================

**By pattern.**  For a sample with the views P, calibration samples are (Zaffran et al., 2023)

1. those with exactly the views P, if there are `min_samples` of them;
2. else all that have the views P, *hidden down to P* for the model that predicts them;
3. else those of a part Q of P (the largest, then the one that most samples have), and the new sample is
   hidden down to Q as well: what it has beyond Q says nothing then.

The empty set is such a part, of which everybody is a calibration sample: the prior is said of all.

**What is promised.**  New and training samples have to be exchangeable: of one population, drawn alike.
Then with 1. coverage holds given the pattern, whatever decides who has which view; with 2. and 3. if
whether a sample has *more* views tells nothing about its target and the views P (or Q).  It holds on
average over training sets, not for each value of x nor class by class.  It would be exact for a model that
has seen neither side (split conformal); scores of fold models stand in for those of the estimator here,
which has seen more samples and errs less.  That is near enough where leaving out a fold changes predictions
little (Barber et al., 2021), and not proven (docs/coverage.md has it measured).  With `groups`, samples of
a group are never on both sides, but coverage is promised for samples of groups as large.

**Survival.**  Some times are known to lie beyond the end of follow-up only.  Calibration samples with an
event count ``1 / G``, G the share that is followed up to just before (Kaplan-Meier among the calibration
samples), the others zero; a weighted quantile takes the place of q.  The end of follow-up must tell nothing
about the time of the event, nor about the views.  Without censoring it is the plain quantile.

References: Vovk, Annals of Mathematics and Artificial Intelligence 74 (2015), cross-conformal prediction;
Barber, Candes, Ramdas & Tibshirani, Annals of Statistics 49 (2021), jackknife+ and CV+; Sadinle, Lei &
Wasserman, JASA 114 (2019), least ambiguous sets; Zaffran, Dieuleveut, Josse & Romano, ICML (2023), missing
values; Candes, Lei & Ren, JRSS B 85 (2023), survival.
"""

import warnings
from dataclasses import KW_ONLY, replace
from itertools import product
from typing import Annotated, Any, Literal, Self

import numpy as np
from scipy.stats import beta
from sklearn.base import clone, is_classifier, is_regressor
from sklearn.utils.metaestimators import available_if
from sklearn.utils.validation import check_is_fitted

from absentia.core import TIE_RTOL, Array, Estimator, PositiveInt, RandomState, Range, estimator
from absentia.data import KernelViews, Presence, input_error, make_folds, order_for_learning
from absentia.data.survival import as_survival, estimate_follow_up
from absentia.methods.learning import SurvivalModel, subset

_MAX_PATTERNS = 64  # that are calibrated; all there can be, of up to six views
_LEVEL = 0.95  # of the intervals around the coverage that was reached


# ------------------------------------------------------------------------------------------ three tasks


class _Classes:
    """Sets of classes."""

    @staticmethod
    def read_targets(y: Any, X: Presence) -> Array:
        return np.ravel(np.asarray(y))

    @staticmethod
    def find_strata(y: Array) -> Array:
        """What folds have the same share of: the classes."""
        return y

    @staticmethod
    def score(model: Any, X: Any, y: Array) -> Array:
        """One minus the probability of the class, (n,); 1 for a class that the model does not know."""
        scores, classes = score_classes(np.asarray(model.predict_proba(X))), np.asarray(model.classes_)
        place = np.minimum(np.searchsorted(classes, y), len(classes) - 1)
        return np.where(classes[place] == y, scores[np.arange(len(y)), place], 1.0)

    @staticmethod
    def weigh(y: Array) -> Array:
        return np.ones(len(y))


def score_classes(proba: Array) -> Array:
    """How strange each class is, (n, classes): one minus its probability.

    Sums of the larger probabilities (adaptive sets: Romano, Sesia & Candes, 2020) keep to a promise of 90 %
    by random draws only; without, they cover 98 %, in sets no smaller than these that cover as much
    (``benchmarks/coverage_by_pattern.py --settle``).
    """
    return 1 - proba


class _Numbers(_Classes):
    """Intervals."""

    @staticmethod
    def find_strata(y: Array) -> Array:
        """Fifths of the targets."""
        return np.searchsorted(np.quantile(y, [0.2, 0.4, 0.6, 0.8]), y)

    @staticmethod
    def score(model: Any, X: Any, y: Array) -> Array:
        """The absolute error, (n,)."""
        return np.abs(y - model.predict(X))


class _Times(_Classes):
    """Lower bounds of times; targets are structured arrays of event and time."""

    @staticmethod
    def read_targets(y: Any, X: Presence) -> Array:
        return as_survival(y, X).to_array()

    @staticmethod
    def find_strata(y: Array) -> Array:
        """Who had an event."""
        return np.asarray(y["event"])

    @staticmethod
    def score(model: Any, X: Any, y: Array) -> Array:
        """The predicted probability to have no event up to the time, (n,)."""
        times, place = np.unique(y["time"], return_inverse=True)
        return np.asarray(model.predict_survival_function(X, times)[np.arange(len(y)), place])

    @staticmethod
    def weigh(y: Array) -> Array:
        """One over the share that is followed for as long; zero for samples without an event."""
        return np.asarray(y["event"] / estimate_follow_up(y["time"], y["event"], y["time"], before=True))


def _find_task(estimator: Any) -> type[_Classes]:
    """What an estimator predicts; raise if it is nothing that regions can be made of."""
    if isinstance(estimator, SurvivalModel):
        return _Times
    if not isinstance(estimator, type) and hasattr(estimator, "fit"):
        if is_regressor(estimator):
            return _Numbers
        if is_classifier(estimator) and hasattr(estimator, "predict_proba"):
            return _Classes
    raise ValueError(
        f"ConformalSets: estimator must be a classifier with predict_proba (set probability=True if it has "
        f"that), a regressor or a survival model of absentia, not {estimator!r}"
    )


def find_threshold(scores: Array, weights: Array, coverage: float) -> float:
    """The smallest score that at most a share ``1 - coverage`` of n samples and a new one exceed.

    The new one is taken to exceed it.  With weights one it is the ``ceil(coverage (n + 1))``-th smallest
    score; with others those above are counted by their weights, and only scores of positive weight are
    candidates.  Infinite if n is too small.

    Examples
    --------
    >>> [find_threshold(np.arange(1.0, n + 1), np.ones(n), 0.9) for n in (19, 8)]
    [18.0, inf]
    """
    candidates, place = np.unique(scores[weights > 0], return_inverse=True)
    counts = np.bincount(place, weights[weights > 0], minlength=len(candidates))
    above = counts[::-1].cumsum()[::-1] - counts
    enough = np.flatnonzero(above + 1 <= ((1 - coverage) + TIE_RTOL) * (len(scores) + 1))
    return float(candidates[enough[0]]) if len(enough) else np.inf


def _cut_folds(X: Any, y: Array, strata: Array, groups: Array, k: int, seed: RandomState) -> list[Any]:
    """Pairs of positions, to learn from and to hold out; all of a group are on the same side."""
    order = order_for_learning(X, y)[1]
    _, first, members = np.unique(groups[order], return_index=True, return_inverse=True)
    along = np.argsort(first)  # groups as they come along the order: their names decide nothing
    place = np.empty(len(order), dtype=int)
    place[order] = np.argsort(along)[members]
    folds = make_folds(np.arange(len(first)), strata[order][first[along]], min(k, len(first)), seed)
    return [(np.flatnonzero(np.isin(place, a)), np.flatnonzero(np.isin(place, b))) for a, b in folds]


def _list_patterns(observed: Array) -> Array:
    """Patterns to calibrate, patterns x views, the empty one first.

    All that can be, of few views; else single views and the most frequent patterns, of equals the first by
    the order of the views.
    """
    n_views = observed.shape[1]
    if 2**n_views <= _MAX_PATTERNS:
        return np.array(list(product([False, True], repeat=n_views)))
    met, counts = np.unique(observed, axis=0, return_counts=True)
    frequent = met[np.argsort(-counts, kind="stable")][:_MAX_PATTERNS]
    return np.unique(
        np.vstack([np.zeros((1, n_views), bool), np.eye(n_views, dtype=bool), frequent]), axis=0
    )


# -------------------------------------------------------------------------------------------- estimator


def _predicts(task: type[_Classes]) -> Any:
    """Offers a method to estimators of one task."""
    return available_if(lambda self: _find_task(self.estimator) is task)


@estimator
class ConformalSets(Estimator):
    """Sets of classes, intervals or lower bounds of times that hold for samples with the same views.

    Takes what the estimator takes, :class:`Views` or square :class:`KernelViews`.  See the module's
    docstring for what is promised, and what is not.

    Parameters
    ----------
    estimator : classifier, regressor or survival model
        Of absentia; classifiers with ``predict_proba``.
    coverage : float, default 0.9
        The share of new samples, among those with the same views, whose target is to lie in the region.
    cv : int, default 5
        Folds, whose models predict the calibration samples; the estimator itself is fitted to all.
    by : {"pattern", "none"}, default "pattern"
        Calibrate for each pattern of views, or for all samples together.
    min_samples : int, default 20
        Calibration samples that a pattern must have to be calibrated by itself; as many more as the
        coverage takes (99 for 0.99).
    random_state : int, Generator, RandomState or None
        Of the folds.

    Attributes
    ----------
    estimator_ : the estimator, fitted to all samples
    patterns_ : ndarray of bool, shape (n_patterns, n_views)
        Patterns that are calibrated; views in the order of ``names_in_``.
    thresholds_ : ndarray of shape (n_patterns,)
        What scores may be at most.
    n_calibration_ : ndarray of shape (n_patterns,)
        How many samples that rests on.
    classes_ : ndarray of shape (n_classes,)
        Columns of :meth:`predict_set`, of a classifier.
    names_in_ : tuple of str

    Examples
    --------
    >>> from absentia import ConformalSets, EarlyFusionClassifier, datasets, missingness
    >>> views, y = datasets.load_digit_views(n_samples=200, return_X_y=True)
    >>> views = views.hide(missingness.mcar(views, 0.3, random_state=0))
    >>> model = ConformalSets(EarlyFusionClassifier("logistic", C=0.1)).fit(views[:150], y[:150])
    >>> model.predict_set(views[150:]).shape
    (50, 10)
    """

    estimator: Any
    coverage: Annotated[float, Range(above=0, below=1)] = 0.9
    _: KW_ONLY
    cv: Annotated[int, Range(least=2)] = 5
    by: Literal["pattern", "none"] = "pattern"
    min_samples: PositiveInt = 20
    random_state: RandomState = None

    def fit(self, X: Any, y: Any, groups: Any = None) -> Self:
        """Fit the estimator to all samples, and calibrate regions on samples held out.

        Parameters
        ----------
        X : Views or KernelViews
            Training samples.
        y : array of shape (n_samples,), or times and events
            Targets, as the estimator takes them.
        groups : array of shape (n_samples,), optional
            Samples of one group (a patient, a batch) are never on both sides of a fold.
        """
        self._check_parameters()
        task = _find_task(self.estimator)
        self.estimator_ = clone(self.estimator).fit(X, y)
        y = task.read_targets(y, X)
        groups = _check_groups(X, groups)
        if task is _Classes:
            self.classes_ = self.estimator_.classes_
        self.names_in_ = tuple(X.names)
        folds = _cut_folds(X, y, task.find_strata(y), groups, self.cv, self.random_state)
        chosen = self._choose_calibration(X.observed)
        scores = self._score_held_out(task, X, y, folds, chosen)
        self.n_calibration_ = chosen.sum(axis=1)
        self.thresholds_ = np.array(
            [
                find_threshold(s[rows], task.weigh(y[rows]), self.coverage)
                for s, rows in zip(scores, chosen, strict=True)
            ]
        )
        return self

    def _choose_calibration(self, observed: Array) -> Array:
        """Set ``patterns_``; which samples calibrate each of them, patterns x samples."""
        if self.by == "none":
            self.patterns_ = np.zeros((1, observed.shape[1]), bool)
            return np.ones((1, len(observed)), bool)
        by_name = np.argsort(self.names_in_)
        patterns = _list_patterns(observed[:, by_name])[:, np.argsort(by_name)]
        exact = (patterns[:, None] == observed).all(axis=2)
        having = (patterns[:, None] <= observed).all(axis=2)
        finite = np.ceil(self.coverage / (1 - self.coverage) - TIE_RTOL)  # with fewer, regions are infinite
        needed = max(self.min_samples, finite)
        chosen = np.where(exact.sum(axis=1, keepdims=True) >= needed, exact, having)
        enough = (chosen.sum(axis=1) >= needed) | ~patterns.any(axis=1)
        self.patterns_ = patterns[enough]
        return np.asarray(chosen[enough])

    def _score_held_out(self, task: Any, X: Any, y: Array, folds: Any, chosen: Array) -> Array:
        """Scores by models that have not seen the samples, patterns x samples; NaN where not chosen."""
        scores = np.full(chosen.shape, np.nan)
        keep = self.patterns_ if self.by == "pattern" else np.ones_like(self.patterns_)
        for a, b in folds:
            with warnings.catch_warnings(action="ignore"):  # the fit to all samples says what is to be said
                model = self._fit_fold(subset(X, a, a), y[a], len(X))
                for m in np.flatnonzero(keep.any(axis=1)):
                    rows = b[chosen[m, b]]
                    if len(rows):
                        part = subset(X, rows, a).hide(np.tile(keep[m], (len(rows), 1)))
                        scores[m, rows] = task.score(model, part, y[rows])
        if (
            not keep.all()
        ):  # without a view the prior is said, which would differ a little from fold to fold
            anybody = subset(X, np.zeros(len(X), dtype=int), np.arange(len(X)))
            prior = task.score(self.estimator_, anybody.hide(np.zeros(X.observed.shape, bool)), y)
            scores[~keep.any(axis=1)] = prior
        return scores

    def _fit_fold(self, X: Any, y: Array, n: int) -> Any:
        """The estimator fitted to all but a fold; an error says that it is of a fold."""
        try:
            return clone(self.estimator).fit(X, y)
        except ValueError as error:
            raise ValueError(
                f"ConformalSets: fitted to {len(X)} of {n} samples, the others held out: {error}"
            ) from error

    # ------------------------------------------------------------------------------------- new samples

    def _align_observed(self, X: Presence) -> Array:
        """Who has which of the views of training, samples x views."""
        check_is_fitted(self, "thresholds_")
        if not isinstance(X, Presence):
            raise input_error("views", X, type(self).__name__)
        observed = np.zeros((len(X), len(self.names_in_)), bool)
        for v, name in enumerate(self.names_in_):
            if name in X.names:
                observed[:, v] = X.observed[:, X.names.index(name)]
        return observed

    def _find_patterns(self, observed: Array) -> Array:
        """For each sample the calibrated pattern, as position, that is the largest part of its own.

        Of equals the one with more calibration samples, then that of the views first by name.
        """
        by_name = self.patterns_[:, np.argsort(self.names_in_)]
        best_first = np.lexsort((*~by_name.T[::-1], -self.n_calibration_, -self.patterns_.sum(axis=1)))
        fits = (self.patterns_[best_first][:, None] <= observed).all(axis=2)
        return np.asarray(best_first[fits.argmax(axis=0)])

    def _place(self, X: Any) -> tuple[Any, Array]:
        """New samples, hidden down to the pattern that each is calibrated by, and their thresholds."""
        place = self._find_patterns(self._align_observed(X))
        if self.by == "pattern":
            columns = [self.names_in_.index(name) if name in self.names_in_ else -1 for name in X.names]
            known = np.column_stack([self.patterns_, np.zeros(len(self.patterns_), bool)])
            if isinstance(X, KernelViews) and X.square:  # training samples: their columns stay
                X = replace(X, square=False)
            X = X.hide(known[place][:, columns])
        return X, self.thresholds_[place] * (1 + TIE_RTOL)  # equal scores are in, whatever the rounding

    @_predicts(_Classes)  # type: ignore[untyped-decorator]
    def predict_set(self, X: Any) -> Array:
        """Which classes may be a sample's, bool of shape (n_samples, n_classes), as in ``classes_``.

        No set is empty: where no class is probable enough, the set is the most probable class (all that
        tie), which can only raise the coverage.  A set of all classes says that nothing is known.
        """
        X, threshold = self._place(X)
        proba = np.asarray(self.estimator_.predict_proba(X))
        likeliest = proba >= (1 - TIE_RTOL) * proba.max(axis=1, keepdims=True)
        return np.asarray((score_classes(proba) <= threshold[:, None]) | likeliest)

    @_predicts(_Numbers)  # type: ignore[untyped-decorator]
    def predict_interval(self, X: Any) -> Array:
        """Lower and upper ends, (n_samples, 2); infinite where calibration samples are too few."""
        X, threshold = self._place(X)
        return np.asarray(self.estimator_.predict(X))[:, None] + threshold[:, None] * np.array([-1.0, 1.0])

    @_predicts(_Times)  # type: ignore[untyped-decorator]
    def predict_lower(self, X: Any) -> Array:
        """Times (n_samples,) before which a share of at most ``1 - coverage`` has the event.

        Zero where nothing can be said, and never beyond the last event of training.
        """
        X, threshold = self._place(X)
        survival, times = self.estimator_.predict_survival_function(X), self.estimator_.event_times_
        first = np.minimum((survival > threshold[:, None]).sum(axis=1), len(times) - 1)
        return np.where(threshold >= 1, 0.0, times[first])

    def coverage_by_pattern(self, X: Any, y: Any) -> Any:
        """What was promised and what was reached on samples with known targets: a pandas DataFrame.

        Parameters
        ----------
        X : Views or KernelViews
            New samples: of training samples more is covered than will be of others.
        y : array of shape (n_samples,), or times and events
            Their targets.

        Returns
        -------
        DataFrame
            A row for each pattern, the most frequent first: ``pattern``, ``n`` samples, coverage
            ``promised`` and ``reached`` with the ends ``low`` and ``high`` of a 95 % interval (binomial),
            mean ``size`` (classes in the set, width of the interval, or the lower bound itself),
            ``vacuous`` (the share of which nothing is said: all classes, everything, from zero on),
            ``calibrated`` (the views that count) and ``n_calibration``.  Times of which only the beginning
            was seen are weighed as in calibration.
        """
        import pandas as pd

        task = _find_task(self.estimator)
        y = task.read_targets(y, X)
        missed, size, vacuous = self._judge(task, X, y)
        observed = self._align_observed(X)
        place = self._find_patterns(observed)
        patterns, counts = Presence(X.ids, self.names_in_, observed).patterns()
        table = []
        for pattern, n in zip(patterns, counts.tolist(), strict=True):
            rows = (observed == pattern).all(axis=1)
            hits = min(max(n - float((missed[rows] * task.weigh(y[rows])).sum()), 0.0), float(n))
            m = place[rows.argmax()]
            table.append(
                {
                    "pattern": self._name_views(pattern),
                    "n": n,
                    "promised": self.coverage,
                    "reached": hits / n,
                    "low": float(beta.ppf((1 - _LEVEL) / 2, hits, n - hits + 1)) if hits else 0.0,
                    "high": float(beta.ppf((1 + _LEVEL) / 2, hits + 1, n - hits)) if hits < n else 1.0,
                    "size": float(size[rows].mean()),
                    "vacuous": float(vacuous[rows].mean()),
                    "calibrated": "all" if self.by == "none" else self._name_views(self.patterns_[m]),
                    "n_calibration": int(self.n_calibration_[m]),
                }
            )
        return pd.DataFrame(table)

    def _judge(self, task: Any, X: Any, y: Array) -> tuple[Array, Array, Array]:
        """Whose target is outside, how large the region is, and whether it is all there is; (n,) each."""
        if task is _Times:
            lower = self.predict_lower(X)
            return y["time"] < lower, lower, lower == 0
        if task is _Numbers:
            low, high = self.predict_interval(X).T
            return (y < low) | (y > high), high - low, np.isinf(high)
        sets = self.predict_set(X)
        inside = sets & (y[:, None] == self.classes_)
        return ~inside.any(axis=1), sets.sum(axis=1), sets.all(axis=1)

    def _name_views(self, pattern: Array) -> str:
        return " + ".join(np.array(self.names_in_)[pattern]) or "no view"


def _check_groups(X: Presence, groups: Any) -> Array:
    """A group for each sample, by default its own."""
    if groups is None:
        return np.arange(len(X))
    X.check_order(groups, "groups")
    groups = np.asarray(groups)
    if groups.shape != (len(X),):
        raise ValueError(f"groups has shape {groups.shape} for {len(X)} samples; one for each is wanted")
    X.check_known(groups, "group")
    if len(np.unique(groups)) < 2:
        raise ValueError("all samples are of one group; two or more are wanted, to hold some out")
    return groups
