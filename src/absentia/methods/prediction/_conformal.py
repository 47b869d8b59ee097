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
from collections.abc import Callable, Sequence
from dataclasses import KW_ONLY, dataclass, replace
from itertools import product
from typing import Annotated, Any, ClassVar, Literal, NamedTuple, Self

import numpy as np
from scipy.stats import beta
from sklearn.base import clone, is_classifier, is_regressor
from sklearn.utils.metaestimators import available_if
from sklearn.utils.validation import check_is_fitted

from absentia.core import (
    TIE_RTOL,
    Array,
    Estimator,
    PositiveInt,
    RandomState,
    Range,
    estimator,
    serializable,
)
from absentia.data import KernelViews, Presence, input_error, make_folds, order_for_learning
from absentia.data.statistics import effective_size
from absentia.data.survival import as_survival, estimate_follow_up
from absentia.methods.learning import SurvivalModel, subset

_MAX_PATTERNS = 64  # that are calibrated; all there can be, of up to six views
_MAX_SCORES = 2000  # of a pattern; coverage is known to 0.7 points then
_MAX_ROWS = 1000  # that are predicted at a time
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

    @staticmethod
    def predict(model: Any, X: Any) -> Any:
        """What regions are made of: probabilities (n, classes)."""
        return np.asarray(model.predict_proba(X))

    @staticmethod
    def make_regions(proba: Any, threshold: Array) -> Array:
        """Which classes are in the set, (n, classes); the most probable ones are."""
        likeliest = proba >= (1 - TIE_RTOL) * proba.max(axis=1, keepdims=True)
        return np.asarray((score_classes(proba) <= threshold[:, None]) | likeliest)

    @staticmethod
    def judge(regions: Array, y: Array, classes: Any) -> tuple[Array, Array, Array]:
        """Whose target is outside, how large the region is, and whether it is all there is; (n,) each."""
        inside = regions & (y[:, None] == classes)
        return ~inside.any(axis=1), regions.sum(axis=1), np.asarray(regions.all(axis=1))


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

    @staticmethod
    def predict(model: Any, X: Any) -> Any:
        """Numbers (n,)."""
        return np.asarray(model.predict(X))

    @staticmethod
    def make_regions(predicted: Any, threshold: Array) -> Array:
        """Lower and upper ends, (n, 2)."""
        return np.asarray(predicted[:, None] + threshold[:, None] * np.array([-1.0, 1.0]))

    @staticmethod
    def judge(regions: Array, y: Array, classes: Any) -> tuple[Array, Array, Array]:
        low, high = regions.T
        return (y < low) | (y > high), high - low, np.isinf(high)


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

    @staticmethod
    def predict(model: Any, X: Any) -> Any:
        """Survival (n, times), and the times of events."""
        return model.predict_survival_function(X), model.event_times_

    @staticmethod
    def make_regions(predicted: Any, threshold: Array) -> Array:
        """Lower bounds (n,)."""
        survival, times = predicted
        first = np.minimum((survival > threshold[:, None]).sum(axis=1), len(times) - 1)
        return np.where(threshold >= 1, 0.0, times[first])

    @staticmethod
    def judge(regions: Array, y: Array, classes: Any) -> tuple[Array, Array, Array]:
        return y["time"] < regions, regions, regions == 0


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


def can_calibrate(estimator: Any) -> bool:
    """Whether regions can be made of what an estimator predicts."""
    try:
        return _find_task(estimator) is not None
    except ValueError:
        return False


def find_threshold(scores: Array, weights: Array, coverage: float, n: float | None = None) -> float:
    """The smallest score that at most a share ``1 - coverage`` of n samples and a new one exceed.

    The new one is taken to exceed it.  With weights one it is the ``ceil(coverage (n + 1))``-th smallest
    score; with others those above are counted by their weights, and only scores of positive weight are
    candidates.  Infinite if n is too small; it is the number of scores where it is not given.

    Examples
    --------
    >>> [find_threshold(np.arange(1.0, n + 1), np.ones(n), 0.9) for n in (19, 8)]
    [18.0, inf]
    """
    candidates, place = np.unique(scores[weights > 0], return_inverse=True)
    counts = np.bincount(place, weights[weights > 0], minlength=len(candidates))
    above = counts[::-1].cumsum()[::-1] - counts
    n = len(scores) if n is None else n
    enough = np.flatnonzero(above + 1 <= ((1 - coverage) + TIE_RTOL) * (n + 1))
    return float(candidates[enough[0]]) if len(enough) else np.inf


def _cut_folds(order: Array, strata: Array, groups: Array, k: int, seed: RandomState) -> list[Any]:
    """Pairs of positions, to learn from and to hold out; all of a group are on the same side."""
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


# ------------------------------------------------------------------------------------------ calibration


@serializable
@dataclass(frozen=True, eq=False)
class Calibration:
    """Scores of samples by models that have not seen them, of which regions of any coverage are made.

    Attributes
    ----------
    names : tuple of str
        The V views.
    patterns : (m, V) bool
        The empty one first.
    groups : (N,) int
        Whose a score is: 2 p, of a sample with exactly the views of pattern p; 2 p + 1, of one that has
        them, hidden down to them.
    scores, weights : (N,)
        Sorted within groups.
    min_samples : int
        Scores that a pattern must have.
    hides : bool
        Whether samples are hidden down; else one pattern stands for all.
    """

    names: tuple[str, ...]
    patterns: Array
    groups: Array
    scores: Array
    weights: Array
    min_samples: int
    hides: bool

    _shapes: ClassVar = {"patterns": "mv", "groups": "n", "scores": "n", "weights": "n"}

    def select_groups(self, coverage: float) -> tuple[Array, Array]:
        """Groups with scores enough for a coverage, one of each pattern, and how many scores these have."""
        if coverage not in Range(above=0, below=1):
            raise ValueError(f"coverage must be a number above 0 and below 1, not {coverage!r}")
        counts = np.bincount(self.groups, minlength=2 * len(self.patterns)).reshape(-1, 2)
        finite = np.ceil(coverage / (1 - coverage) - TIE_RTOL)  # with fewer, regions are infinite
        needed = max(self.min_samples, finite)
        hidden_down = (counts[:, 0] < needed).astype(int)
        n_scores = counts[np.arange(len(counts)), hidden_down]
        enough = np.flatnonzero((n_scores >= needed) | ~self.patterns.any(axis=1))
        return (2 * enough + hidden_down[enough]), n_scores[enough]

    def find_thresholds(self, groups: Array, coverage: float) -> Array:
        """What scores may be at most, of samples that are calibrated by these groups, (n,)."""
        distinct, place = np.unique(groups, return_inverse=True)
        members = [self.groups == group for group in distinct]
        found = [find_threshold(self.scores[rows], self.weights[rows], coverage) for rows in members]
        return np.array(found)[place]

    def align_observed(self, X: Presence) -> Array:
        """Who has which of the views of training, samples x views."""
        observed = np.zeros((len(X), len(self.names)), bool)
        for v, name in enumerate(self.names):
            if name in X.names:
                observed[:, v] = X.observed[:, X.names.index(name)]
        return observed

    def find_groups(self, X: Presence, coverage: float) -> Array:
        """For each sample the group of the pattern that is the largest part of its own, (n,).

        Of equals the one with more scores, then that of the views first by name.
        """
        groups, n_scores = self.select_groups(coverage)
        patterns = self.patterns[groups // 2]
        by_name = patterns[:, np.argsort(self.names)]
        best_first = np.lexsort((*~by_name.T[::-1], -n_scores, -patterns.sum(axis=1)))
        fits = (patterns[best_first][:, None] <= self.align_observed(X)).all(axis=2)
        return np.asarray(groups[best_first[fits.argmax(axis=0)]])

    def hide_down(self, X: Any, groups: Array) -> Any:
        """Samples, each hidden down to the pattern of its group."""
        return _hide(X, self.names, self.patterns[groups // 2]) if self.hides else X

    def predict_regions(self, model: Any, X: Any, coverage: float) -> Array:
        """Sets (n, classes), intervals (n, 2) or lower bounds (n,) by the model that was calibrated."""
        task, groups = _find_task(model), self.find_groups(X, coverage)
        threshold = self.find_thresholds(groups, coverage) * (1 + TIE_RTOL)  # equal scores are in
        return task.make_regions(task.predict(model, self.hide_down(X, groups)), threshold)

    def measure_coverage(self, model: Any, X: Any, y: Any, coverage: float) -> Any:
        """The table of :meth:`ConformalSets.coverage_by_pattern`, of the model that was calibrated."""
        import pandas as pd

        task = _find_task(model)
        y = task.read_targets(y, X)
        regions = self.predict_regions(model, X, coverage)
        judged = Regions(y, *task.judge(regions, y, getattr(model, "classes_", None)), coverage, task.weigh)
        observed, groups = self.align_observed(X), self.find_groups(X, coverage)
        counts = dict(zip(*self.select_groups(coverage), strict=True))
        table = []
        for pattern in Presence(X.ids, self.names, observed).patterns()[0]:
            rows = (observed == pattern).all(axis=1)
            reached, low, high = judged.measure_coverage(rows)
            group = groups[rows.argmax()]
            table.append(
                {
                    "pattern": self._name_views(pattern),
                    "n": int(rows.sum()),
                    "promised": coverage,
                    "reached": reached,
                    "low": low,
                    "high": high,
                    "size": float(judged.size[rows].mean()),
                    "vacuous": float(judged.vacuous[rows].mean()),
                    "calibrated": self._name_views(self.patterns[group // 2]) if self.hides else "all",
                    "n_calibration": int(counts[group]),
                }
            )
        return pd.DataFrame(table)

    def _name_views(self, pattern: Array) -> str:
        return " + ".join(np.array(self.names)[pattern]) or "no view"


def _hide(X: Any, names: Sequence[str], keep: Array) -> Any:
    """Samples with the views that `keep` (n, V) has of those called `names`."""
    columns = [names.index(name) if name in names else -1 for name in X.names]
    keep = np.column_stack([keep, np.zeros(len(keep), bool)])
    if isinstance(X, KernelViews) and X.square:  # training samples: their columns stay
        X = replace(X, square=False)
    return X.hide(keep[:, columns])


class Regions(NamedTuple):
    """Regions of samples with known targets (n,): who is outside, how large they are, which say nothing."""

    y: Array
    missed: Array
    size: Array
    vacuous: Array
    promised: float
    weigh: Callable[[Array], Array]
    groups: Array | None = None

    def measure_coverage(self, rows: Array) -> tuple[float, float, float]:
        """The share of samples (a mask) that is inside, and its interval; what is censored is weighed.

        Where samples are in groups, they count as so many independent ones as tell as much.
        """
        n = float(rows.sum())
        hits = min(max(n - float((self.missed[rows] * self.weigh(self.y[rows])).sum()), 0.0), n)
        share = hits / n
        if self.groups is not None:
            n = effective_size(~self.missed[rows], self.groups[rows])
            hits = share * n
        low = float(beta.ppf((1 - _LEVEL) / 2, hits, n - hits + 1)) if hits else 0.0
        high = float(beta.ppf((1 + _LEVEL) / 2, hits + 1, n - hits)) if hits < n else 1.0
        return share, low, high


class HeldOutScores:
    """Collects scores of samples held out, fold by fold.

    Parameters
    ----------
    estimator : classifier, regressor or survival model
        Of which there will be a fitted one in each fold.
    X : Views or KernelViews
    y : (n,), or times and events
    order : (n,) int
        Positions of the samples in an order that the data decide.
    by, min_samples
        As of :class:`ConformalSets`.
    judged : float, optional
        Coverage that is to be judged by :meth:`judge`.
    """

    def __init__(
        self,
        estimator: Any,
        X: Any,
        y: Any,
        order: Array,
        by: Literal["pattern", "none"] = "pattern",
        min_samples: int = 20,
        judged: float | None = None,
    ) -> None:
        self.task, self.names, self.judged = _find_task(estimator), tuple(X.names), judged
        self.groups = X.groups
        self.y, self.by, self.min_samples = self.task.read_targets(y, X), by, min_samples
        self.patterns, self.members = _choose_members(X, order, by)
        self.scores = np.full((len(self.patterns), len(X)), np.nan)
        self.folds: list[Any] = []

    def read(self, model: Any, rows: Any, train: Array, test: Array) -> None:
        """Scores of the samples `test`, given as `rows`, by a model of the samples `train`."""
        keep = self.patterns if self.by == "pattern" else np.ones_like(self.patterns)
        usable = keep.any(axis=1, keepdims=True)
        pairs = np.argwhere((self.members[0::2, test] | self.members[1::2, test]) & usable)
        for start in range(0, len(pairs), _MAX_ROWS):
            pattern, local = pairs[start : start + _MAX_ROWS].T
            part = _hide(rows[local], self.names, keep[pattern])
            self.scores[pattern, test[local]] = self.task.score(model, part, self.y[test[local]])
        if self.judged is not None:
            rest = self._calibrate(train, np.zeros(len(train)))  # how many scores there will be is enough
            groups = rest.find_groups(rows, self.judged)
            predicted = self.task.predict(model, rest.hide_down(rows, groups))
            prior = self._score_prior(model, rows, train)
            self.folds.append((train, test, groups, predicted, prior, getattr(model, "classes_", None)))

    def calibrate(self, model: Any, rows: Any) -> Calibration:
        """What regions of the model of all samples are made of; `rows` has any sample as it takes them."""
        everyone = np.arange(len(self.y))
        return self._calibrate(everyone, self._score_prior(model, rows, everyone))

    def judge(self) -> Regions:
        """Regions of all samples, each calibrated by the other folds alone."""
        assert self.judged is not None
        parts = np.empty((3, len(self.y)))
        for train, test, groups, predicted, prior, classes in self.folds:
            threshold = self._calibrate(train, prior).find_thresholds(groups, self.judged) * (1 + TIE_RTOL)
            regions = self.task.make_regions(predicted, threshold)
            parts[:, test] = self.task.judge(regions, self.y[test], classes)
        missed, size, vacuous = parts
        return Regions(self.y, missed == 1, size, vacuous == 1, self.judged, self.task.weigh, self.groups)

    def _score_prior(self, model: Any, rows: Any, among: Array) -> Array:
        """Scores of the targets of samples `among` by what the model says without any view."""
        if self.by == "none":
            return np.zeros(len(among))
        nobody = rows[:1].hide(np.zeros((1, len(rows.names)), bool))
        return self.task.score(model, nobody[np.zeros(len(among), dtype=int)], self.y[among])

    def _calibrate(self, among: Array, prior: Array) -> Calibration:
        """By the scores of samples `among`, those without any view by the `prior` of one model.

        Priors of several would differ a little, and whole classes be in or out by that.
        """
        scores = self.scores[:, among]
        if self.by == "pattern":
            scores[~self.patterns.any(axis=1)] = prior
        parts = []
        for group in np.flatnonzero(self.members[:, among].any(axis=1)):
            rows = np.flatnonzero(self.members[group, among])
            own, weights = scores[group // 2, rows], self.task.weigh(self.y[among[rows]])
            order = np.lexsort((weights, own))
            parts.append((np.full(len(rows), group), own[order], weights[order]))
        groups, values, weights = (np.concatenate(column) for column in zip(*parts, strict=True))
        hides = self.by == "pattern"
        return Calibration(self.names, self.patterns, groups, values, weights, self.min_samples, hides)


def _choose_members(X: Presence, order: Array, by: str) -> tuple[Array, Array]:
    """Patterns to calibrate, and which samples each group of :class:`Calibration` has, groups x samples."""
    by_name = np.argsort(X.names)
    patterns = _list_patterns(X.observed[:, by_name])[:, np.argsort(by_name)]
    if by == "none":
        patterns = np.zeros((1, X.observed.shape[1]), bool)
    exact = (patterns[:, None] == X.observed).all(axis=2) & (by == "pattern")
    having = (patterns[:, None] <= X.observed).all(axis=2)
    members = np.stack([exact, having], axis=1).reshape(-1, len(X))
    for member in members:
        rows = order[member[order]]
        if len(rows) > _MAX_SCORES:
            member[:] = False
            member[rows[np.linspace(0, len(rows) - 1, _MAX_SCORES).astype(int)]] = True
    return patterns, members


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
    calibration_ : the scores, by which regions of any coverage are made
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
        order = order_for_learning(X, y)[1]
        folds = _cut_folds(order, task.find_strata(y), groups, self.cv, self.random_state)
        held_out = HeldOutScores(self.estimator, X, y, order, self.by, self.min_samples)
        for a, b in folds:
            with warnings.catch_warnings(action="ignore"):  # the fit to all samples says what is to be said
                held_out.read(self._fit_fold(subset(X, a, a), y[a], len(X)), subset(X, b, a), a, b)
        everyone = np.arange(len(X))
        self.calibration_ = held_out.calibrate(self.estimator_, subset(X, everyone[:1], everyone))
        selected, self.n_calibration_ = self.calibration_.select_groups(self.coverage)
        self.patterns_ = self.calibration_.patterns[selected // 2]
        self.thresholds_ = self.calibration_.find_thresholds(selected, self.coverage)
        return self

    def _fit_fold(self, X: Any, y: Array, n: int) -> Any:
        """The estimator fitted to all but a fold; an error says that it is of a fold."""
        try:
            return clone(self.estimator).fit(X, y)
        except ValueError as error:
            raise ValueError(
                f"ConformalSets: fitted to {len(X)} of {n} samples, the others held out: {error}"
            ) from error

    # ------------------------------------------------------------------------------------- new samples

    def _predict_regions(self, X: Any, coverage: float | None) -> Array:
        self._check_fitted_to(X)
        return self.calibration_.predict_regions(self.estimator_, X, self._find_coverage(coverage))

    def _check_fitted_to(self, X: Any) -> None:
        check_is_fitted(self, "calibration_")
        if not isinstance(X, Presence):
            raise input_error("views", X, type(self).__name__)

    def _find_coverage(self, coverage: float | None) -> float:
        return self.coverage if coverage is None else coverage

    @_predicts(_Classes)  # type: ignore[untyped-decorator]
    def predict_set(self, X: Any, coverage: float | None = None) -> Array:
        """Which classes may be a sample's, bool of shape (n_samples, n_classes), as in ``classes_``.

        No set is empty: where no class is probable enough, the set is the most probable class (all that
        tie), which can only raise the coverage.  A set of all classes says that nothing is known.
        `coverage` may be another than that of the fit, here and below.
        """
        return self._predict_regions(X, coverage)

    @_predicts(_Numbers)  # type: ignore[untyped-decorator]
    def predict_interval(self, X: Any, coverage: float | None = None) -> Array:
        """Lower and upper ends, (n_samples, 2); infinite where calibration samples are too few."""
        return self._predict_regions(X, coverage)

    @_predicts(_Times)  # type: ignore[untyped-decorator]
    def predict_lower(self, X: Any, coverage: float | None = None) -> Array:
        """Times (n_samples,) before which a share of at most ``1 - coverage`` has the event.

        Zero where nothing can be said, and never beyond the last event of training.
        """
        return self._predict_regions(X, coverage)

    def coverage_by_pattern(self, X: Any, y: Any, coverage: float | None = None) -> Any:
        """What was promised and what was reached on samples with known targets: a pandas DataFrame.

        Parameters
        ----------
        X : Views or KernelViews
            New samples: of training samples more is covered than will be of others.
        y : array of shape (n_samples,), or times and events
            Their targets.
        coverage : float, optional
            By default that of the fit.

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
        self._check_fitted_to(X)
        return self.calibration_.measure_coverage(self.estimator_, X, y, self._find_coverage(coverage))


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
