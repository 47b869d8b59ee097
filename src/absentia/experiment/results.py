"""What a comparison found, as plain data: the table, sentences and pages are made from it alone.

All differences are turned so that positive is better, whatever the metric.  Intervals are of 95 % and
allow for the overlap of the folds (:func:`absentia.statistics.corrected_resampled_t`).
"""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from typing import NamedTuple

from absentia.core import Array
from absentia.experiment.learning_curve import LearningCurve
from absentia.experiment.pattern_mix import MixScores
from absentia.tasks import Interval, Metric


@dataclass(frozen=True)
class MethodRow:
    """A method in the table, with what could be measured of it.

    `scores` are by metric and empty if every fit failed.  `cpu` is the median of the seconds that
    its fits took, `memory` the most megabytes that one took beyond what the process had before; None if
    there is none or it cannot be told here.
    `errors` are the sentences of fits that failed, each once.  `left_out` says why a method was not tried
    at all.
    """

    method: str
    words: str
    baseline: bool
    scores: Mapping[str, Interval] = field(default_factory=dict)
    cpu: float | None = None
    memory: float | None = None
    done: int = 0
    failed: int = 0
    wanted: int = 0
    errors: tuple[str, ...] = ()
    left_out: str = ""


@dataclass(frozen=True)
class Difference:
    """A method against the simplest one, fold by fold, in the main metric.

    `p` is of the corrected resampled t test and `adjusted` the same after Holm; `worse`, `same` and
    `better` are probabilities that it is so by more than the region of equivalence.
    """

    method: str
    mean: float
    low: float
    high: float
    p: float
    adjusted: float
    worse: float
    same: float
    better: float


@dataclass(frozen=True)
class Expectation:
    """What to expect of a method on new samples, as a difference from the simplest one in the main metric.

    Unlike :class:`Difference`, which is what the folds show, it rests on what was known before too: `mean`
    and `deviation` are of the posterior, `worse` and `better` probabilities that it is so by more than the
    region of equivalence.
    """

    method: str
    mean: float
    deviation: float
    worse: float
    better: float


@dataclass(frozen=True)
class PatternScores:
    """Samples that have the same views: how well each method does for them, out of fold.

    `present` is empty where several patterns stand together.
    """

    words: str
    present: tuple[bool, ...]
    count: int
    scores: Mapping[str, float]


class Contrast(NamedTuple):
    """A paired difference with its interval; positive is better."""

    mean: float
    low: float
    high: float
    p: float


@dataclass(frozen=True)
class ViewWorth:
    """What a view is worth: all views against all but this one, and this one alone against none.

    None where that could not be measured.
    """

    view: str
    left_out: Contrast | None
    alone: Contrast | None


@dataclass(frozen=True)
class CurvePoint:
    """A method's score in the main metric when that share of the observed cells is hidden."""

    method: str
    rate: float
    score: Interval


@dataclass(frozen=True)
class Recommendation:
    """What is shown, and what to do.

    Evidence: `winner` is a method that is shown to be better than the simplest, None if there is none;
    `best` the one with the best mean.  Advice: `recommended` is the method to take, `expected` what to
    expect of it, None of the simplest itself or where nothing can be said; `shown` says whether it is shown
    to be better than the simplest.  `beyond_default` is how much better it is expected to be than the
    `default`, the method that is used if none is named; None where that is not compared, or is the one.
    `headline` is one sentence, `details` more of them.  `python` and `command` are lines that use the
    recommended method.
    """

    simplest: str
    best: str
    winner: str | None
    recommended: str
    headline: str
    details: tuple[str, ...] = ()
    python: str = ""
    command: str = ""
    expected: Expectation | None = None
    shown: bool = False
    default: str = ""
    beyond_default: float | None = None


@dataclass(frozen=True, eq=False)
class ComparisonResults:
    """All that a comparison tells.

    Parameters
    ----------
    title : str
    task : "classes", "numbers", "survival", "labels" or "completion"
        What was predicted; labels are several per sample.
    metrics : sequence of Metric
        The first is the main one.
    equivalence : float
        Differences of the main metric up to this size are practically nil.
    recommendation : Recommendation
        Which method to take, and why.
    rows : sequence of MethodRow
        Best first by the main metric, those without scores last.
    differences : sequence of Difference
        Of every other method with scores to the simplest, in the order of the rows.
    expectations : sequence of Expectation
        Of the same methods, and of those that share but one fold with the simplest.
    names, observed : the V views, and (n, V) who has which
    group_metric : Metric
        What `patterns` are measured in.
    patterns : sequence of PatternScores
    views : sequence of ViewWorth
    views_with : str
        The method that `views` are of.
    curves : sequence of CurvePoint
    learning_curve : LearningCurve, optional
    classes : sequence of str
    confusion : mapping of method to (classes, classes) int
        True classes in rows, out-of-fold predictions of the first repeat in columns.
    weighted : MixScores, optional
        Scores under another mix of patterns.
    done, wanted : int
        Trials.
    at_size : sequence of str
        Of a comparison on some of very many samples: which, and how the leading methods do with more.
    warnings : sequence of str
    facts : mapping of str to str
        How it was done: data, hash, folds, seeds, versions, command.
    """

    title: str
    task: str
    metrics: Sequence[Metric]
    equivalence: float
    recommendation: Recommendation
    rows: Sequence[MethodRow]
    differences: Sequence[Difference]
    names: Sequence[str]
    observed: Array
    expectations: Sequence[Expectation] = ()
    group_metric: Metric | None = None
    patterns: Sequence[PatternScores] = ()
    views: Sequence[ViewWorth] = ()
    views_with: str = ""
    curves: Sequence[CurvePoint] = ()
    learning_curve: LearningCurve | None = None
    classes: Sequence[str] = ()
    confusion: Mapping[str, Array] = field(default_factory=dict)
    weighted: MixScores | None = None
    done: int = 0
    wanted: int = 0
    at_size: Sequence[str] = ()
    warnings: Sequence[str] = ()
    facts: Mapping[str, str] = field(default_factory=dict)

    @property
    def n_samples(self) -> int:
        return int(self.observed.shape[0])

    @property
    def n_views(self) -> int:
        return int(self.observed.shape[1])

    @property
    def metric(self) -> Metric:
        return self.metrics[0]
