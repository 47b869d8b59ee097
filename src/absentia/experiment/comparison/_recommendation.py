r"""Which method to take, in sentences that the table supports, and how to use the method.

What is shown and what to do are two things.  A method is *shown* to be better than the simplest one by the
corrected resampled t test, after Holm's correction for all that were tried; one that never failed is a
winner.  *Recommended* is the method that is expected to lose least on new samples: of the largest expected
score, which may well not be shown.  Of those within the region of equivalence of
it, that is the default if it is one of them, else the cheapest.

What is to be expected of methods, given all records and what was known of them before.

Of a comparison on a few hundred samples most differences could be chance, and still one method has to be
taken.  The one that is expected to lose least against the best is the one of the largest expected score,
and expected scores are drawn from what was measured towards what methods did on other cohorts.

Model: :math:`d` are the differences of :math:`m` methods from the simplest one in the main metric, on new
samples of the same kind.  What was measured, :math:`\bar d`, is around it as folds scatter,

.. math:: d \sim N(\mu, P), \qquad \bar d \mid d \sim N(d, N), \qquad
          E[d \mid \bar d] = \mu + P (P + N)^{-1} (\bar d - \mu), \qquad
          Cov[d \mid \bar d] = P - P (P + N)^{-1} P

* :math:`N`: each method's variance is that of the corrected resampled t test, which has room for what folds
  share, times :math:`(J - 1) / (J - 3)` of :math:`J` folds, the variance of its Student distribution.
  Variances are averaged with their mean over methods, which counts as :data:`_POOLED` more folds: a few
  differences that happen to be equal are no certainty.  Correlations of the folds that all methods had
  are drawn towards one half, as :math:`m` more folds would draw them.
* :math:`\mu, P`: the table :data:`PRIORS`, for methods that it has; others of the same kind get its mean
  over methods and the spread of all.  Where there is no table (other tasks and metrics) differences are
  around zero, as wide as those that were measured.  Any two are correlated by one half: they share what
  the simplest method does, which is so where all methods vary alike.

A method that was measured on less than two folds with the simplest is as expected before.
"""

import math
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import NamedTuple

import numpy as np
from scipy.stats import norm

from absentia.core import Array, format_seconds, list_some
from absentia.data import statistics
from absentia.experiment.comparison._data import TaskData
from absentia.experiment.results import Difference, Expectation, MethodRow, Recommendation
from absentia.tasks import Metric

_SIGNIFICANCE = 0.05
_SAME_PROBABILITY = 0.95  # from which on two methods are called the same
_ROUNDING = 1e-9  # relative to the region of equivalence
_MAX_NAMED = 5


@dataclass(frozen=True)
class Evidence:
    """What a recommendation rests on: `rows`, the best first, and differences to the `simplest`.

    `expectations` are of the same differences, and `default` is the method that is used if none is named.
    """

    metric: Metric
    equivalence: float
    simplest: str
    rows: Sequence[MethodRow]
    differences: Sequence[Difference]
    expectations: Sequence[Expectation] = ()
    default: str = ""

    def row(self, method: str) -> MethodRow:
        return next(row for row in self.rows if row.method == method)

    def score(self, method: str) -> float:
        """Turned so that more is better."""
        value = self.row(method).scores[self.metric.name].value
        return value if self.metric.higher else -value

    @property
    def measured(self) -> list[str]:
        return [row.method for row in self.rows if self.metric.name in row.scores]

    @property
    def by_method(self) -> Mapping[str, Difference]:
        return {one.method: one for one in self.differences}

    @property
    def expected(self) -> Mapping[str, float]:
        """Expected differences to the simplest of what is measured and never failed; its own is zero."""
        means = {self.simplest: 0.0} | {one.method: one.mean for one in self.expectations}
        sound = [m for m in self.measured if m != self.simplest and not self.row(m).failed]
        first = [self.simplest] if self.simplest in self.measured else []  # so that it has its way in a tie
        return {method: means[method] for method in (*first, *sound) if method in means}

    @property
    def better(self) -> list[str]:
        """Methods that are shown to be better than the simplest."""
        return [one.method for one in self.differences if _is_better(one)]

    @property
    def winners(self) -> list[str]:
        """Those of them that never failed."""
        return [method for method in self.better if not self.row(method).failed]


def _is_better(difference: Difference) -> bool:
    return difference.adjusted < _SIGNIFICANCE and difference.mean > 0


def _is_worse(difference: Difference) -> bool:
    return difference.adjusted < _SIGNIFICANCE and difference.mean < 0


def recommend(evidence: Evidence) -> Recommendation:
    """In words, but for how to use the method."""
    simplest, default = evidence.simplest, evidence.default
    if not evidence.measured:
        return Recommendation(simplest, simplest, None, simplest, _nothing(evidence), default=default)
    best = max(evidence.measured, key=evidence.score)
    winners, expected = evidence.winners, evidence.expected
    recommended = _choose_recommended(evidence) if simplest in expected else best
    beyond = None
    if recommended != default and {default, recommended} <= expected.keys():
        beyond = expected[recommended] - expected[default]
    return Recommendation(
        simplest,
        best,
        max(winners, key=evidence.score) if winners else None,
        recommended,
        _headline(evidence, recommended),
        tuple(_details(evidence, best, recommended)),
        expected=next((one for one in evidence.expectations if one.method == recommended), None),
        shown=recommended in winners,
        default=default,
        beyond_default=beyond,
    )


def _choose_recommended(evidence: Evidence) -> str:
    """The default if it is near what is expected to be best, else the cheapest of what is."""
    expected, room = evidence.expected, (1 + _ROUNDING) * evidence.equivalence
    top = max(expected.values())
    near = [method for method, mean in expected.items() if top - mean <= room]
    if evidence.default in near:
        return evidence.default
    return min(near, key=lambda method: (_cpu(evidence.row(method)), -expected[method]))


def _cpu(row: MethodRow) -> float:
    return float("inf") if row.cpu is None else row.cpu


# -------------------------------------------------------------------------------------------- sentences


def _headline(evidence: Evidence, recommended: str) -> str:
    level, simplest = _level(evidence, recommended), evidence.simplest
    if simplest not in evidence.measured:
        why = "failed" if evidence.row(simplest).failed else "is not measured yet"
        return (
            f"No verdict: {simplest}, the simplest method, {why}, and there is nothing to hold "
            f"the others against; {recommended} had the best mean ({level})."
        )
    if len(evidence.expected) == 1:
        failing = "" if len(evidence.measured) == 1 else " without failing"
        return f"Take {simplest}, the simplest: nothing else is measured{failing} ({level})."
    if recommended == simplest:
        return (
            f"Take {simplest}, the simplest: {level}, and nothing is expected to be better by more than "
            f"{evidence.metric.format_difference(evidence.equivalence)}."
        )
    return f"Take {recommended}: {_advice(evidence, recommended)}."


def _advice(evidence: Evidence, method: str) -> str:
    """What to expect of a method other than the simplest, and whether that is shown."""
    one = next(one for one in evidence.expectations if one.method == method)
    side = "worse" if one.mean < 0 else "better"
    words = (
        f"expected {evidence.metric.format_difference(abs(one.mean))} {side} than {evidence.simplest}, "
        f"{_chance(one.better)} chance of being better"
    )
    difference = evidence.by_method.get(method)
    if difference is None:
        return f"{words}; nothing is shown by a single draw"
    return f"{words}; {'shown' if _is_better(difference) else 'not shown'} at the {_SIGNIFICANCE:.0%} level"


def _numbers(evidence: Evidence, method: str) -> Iterator[str]:
    """Score, risk and test of the recommended method, if it is another than the simplest."""
    one = next((one for one in evidence.expectations if one.method == method), None)
    if one is None or evidence.simplest not in evidence.expected:
        return
    words = f"{method}: {_level(evidence, method)}, {_chance(one.worse)} chance of being worse"
    difference = evidence.by_method.get(method)
    if difference is not None:
        many = "s" if len(evidence.differences) > 1 else ""
        words += f"; {_sure(evidence, difference)} for {len(evidence.differences)} comparison{many}"
    yield f"{words}."


def _chance(probability: float) -> str:
    return "< 1%" if 0 < probability < 0.005 else f"{probability:.0%}"


def _details(evidence: Evidence, best: str, recommended: str) -> Iterator[str]:
    yield from _numbers(evidence, recommended)
    yield from _alternatives(evidence, recommended)
    simplest, one = evidence.simplest, evidence.by_method.get(best)
    if one is not None and best != recommended and one.mean > 0 and not _is_better(one):
        gap = evidence.metric.format_difference(one.mean)
        yield (
            f"{best} had the best mean, {gap} better than {simplest}, which could be "
            f"chance ({_sure(evidence, one)})."
        )
    yield from _groups(evidence, recommended)
    yield from _costs(evidence, recommended)
    broken = [row.method for row in evidence.rows if row.failed]
    if broken:
        yield f"Failed at least once: {list_some(broken, _MAX_NAMED)}; the table says why."


def _alternatives(evidence: Evidence, recommended: str) -> Iterator[str]:
    """The recommended method beside the default, and beside one of which more is expected."""
    expected, default = evidence.expected, evidence.default
    if len(expected) < 2 or recommended not in expected:
        return
    region = evidence.metric.format_difference(evidence.equivalence)
    if recommended == default:
        yield f"Nothing is expected to beat {default}, the default, by more than {region}."
        return
    if default in expected:
        gap = evidence.metric.format_difference(expected[recommended] - expected[default])
        yield f"{recommended} is expected {gap} better than {default}, the default."
    elif default:
        own = next((row for row in evidence.rows if row.method == default), None)
        why = "" if own is None else own.left_out or (own.failed and "failed")
        yield f"{default}, the default, is not judged here{f': it {why}' if why else ''}."
    top = max(expected, key=lambda method: (expected[method], method == recommended))
    if top != recommended:
        gap = evidence.metric.format_difference(expected[top] - expected[recommended])
        yield (
            f"{top} is expected {gap} better still, no more than the {region} within which the cheapest is "
            "taken."
        )


def _groups(evidence: Evidence, recommended: str) -> Iterator[str]:
    """Methods that are shown to be better or worse than the simplest, or the same; each once."""
    same = [
        one.method
        for one in evidence.differences
        if one.same > _SAME_PROBABILITY and one.method != recommended
    ]
    worse = [one.method for one in evidence.differences if _is_worse(one)]
    also = "Also shown" if recommended in evidence.winners else "Shown"
    groups = {
        f"{also} to be better than {evidence.simplest}": evidence.winners,
        f"Shown to be better than {evidence.simplest}, but failed at times": [
            method for method in evidence.better if method not in evidence.winners
        ],
        f"Shown to be worse than {evidence.simplest}": worse,
    }
    for words, methods in groups.items():
        others = [method for method in methods if method != recommended and method not in same]
        if others:
            yield f"{words}: {list_some(others, _MAX_NAMED)}."
    if same:
        words = f"Practically the same as {evidence.simplest}, with a probability above"
        yield f"{words} {_SAME_PROBABILITY:.0%}: {list_some(same, _MAX_NAMED)}."


def _costs(evidence: Evidence, recommended: str) -> Iterator[str]:
    row, simple = (
        evidence.row(recommended),
        next((r for r in evidence.rows if r.method == evidence.simplest), None),
    )
    if row.cpu is None:
        return
    memory = "" if row.memory is None else f" and {_size(row.memory)} of memory"
    words = f"A fit of {recommended} took {format_seconds(row.cpu)} of one core{memory}"
    if simple is not None and simple.cpu and recommended != evidence.simplest:
        words += f", {row.cpu / simple.cpu:.3g} times what {evidence.simplest} takes"
    yield f"{words}."


def _nothing(evidence: Evidence) -> str:
    tried = [row for row in evidence.rows if not row.left_out]
    if tried and all(row.failed for row in tried):
        return "No verdict: every method failed; the table says why."
    return "No verdict: no method has been measured yet."


def _level(evidence: Evidence, method: str) -> str:
    value = evidence.row(method).scores[evidence.metric.name].value
    return f"{evidence.metric.name} {evidence.metric.format(value)}"


def _sure(evidence: Evidence, one: Difference) -> str:
    """How sure a difference is: its interval, if there is one, and p."""
    span = f"95% interval {evidence.metric.format_ends(one.low, one.high)}, "
    return f"{span if math.isfinite(one.low) else ''}{_format_p(one.adjusted)} after correction"


def _format_p(p: float) -> str:
    return "p < 0.001" if p < 0.001 else f"p = {p:.2g}" if p < 0.995 else "p = 1"


def _size(megabytes: float) -> str:
    if megabytes < 1:
        return "less than 1 MB"
    return f"{megabytes:.0f} MB" if megabytes < 1000 else f"{megabytes / 1024:.1f} GB"


# ------------------------------------------------------------------------------- how to use a method


def write_command(name: str, data: TaskData, call: str = "") -> str:
    """One line that uses a method; nothing where the command line does not do it.

    `call` names the data and the labels.
    """
    if data.kind == "labels":
        return ""
    if data.kind == "completion":
        return f"absentia complete {call or 'DATA'} --method {name} -o completed.npz"
    columns = "TIME,EVENT" if data.kind == "survival" else "COLUMN"
    call = call or f"DATA --labels LABELS.csv:{columns}"
    return f"absentia fit {call} --method {name} -o model.absentia"


def write_script(recommended: str, data: TaskData, folder: Path | None) -> str:
    """Lines of Python that use the recommended method; without a folder `comparison` is that at hand."""
    opened = "comparison" if folder is None else f"absentia.open_comparison({str(folder)!r})"
    lines = [] if folder is None else ["import absentia", ""]
    if data.kind == "completion":
        lines += [f"comparison = {opened}"] if folder is not None else []
        completed = "comparison.best_estimator().transform(comparison.study.data.kernels)"
        return "\n".join([*lines, f"completed = {completed}  # with {recommended}"])
    beside = ", with a view called covariates" if data.covariates is not None else ""
    lines += [f"model = {opened}.best_estimator()  # {recommended}, fitted to all samples"]
    return "\n".join([*lines, f'model.predict(absentia.read("NEW"))  # new samples{beside}'])


# ----------------------------------------------------------------------------------------- what to expect

_SHARED = 0.5  # correlation of two methods' differences from a third, where all vary alike
_POOLED = 5  # folds that the mean variance over methods counts for
_MIN_FOLDS = 4  # below, a Student distribution has no variance

#: Differences from the simplest method by repeat and fold.
_Folds = Mapping[tuple[int, int], float]
#: Mean and standard deviation of methods' differences from the simplest one.
_Prior = Mapping[str, tuple[float, float]]


class _Measurement(NamedTuple):
    """Mean differences of m methods from the simplest, (m,), and the covariance of their errors, (m, m)."""

    methods: tuple[str, ...]
    means: Array
    covariance: Array


def expect_differences(
    folds: Mapping[str, _Folds], share: float, equivalence: float, prior: _Prior | None = None
) -> dict[str, Expectation]:
    """What to expect of each method, as a difference from the simplest one; positive is better.

    Parameters
    ----------
    folds : mapping of method to mapping of (repeat, fold) to float
        Differences from the simplest on the folds that both had.
    share : float
        Samples that a fold tests on over those that it trains on.
    equivalence : float
        Differences up to this are practically nil.
    prior : mapping of method to (mean, standard deviation), optional
        What was known before.
    """
    methods = tuple(folds)
    if not methods:
        return {}
    measured = _measure({method: own for method, own in folds.items() if len(own) > 1}, share)
    means, P = _make_prior(methods, measured, equivalence, prior)
    seen = [methods.index(method) for method in measured.methods]
    if seen:
        gain = np.linalg.solve(P[np.ix_(seen, seen)] + measured.covariance, P[seen]).T
        means, P = means + gain @ (measured.means - means[seen]), P - gain @ P[seen]
    deviations = np.sqrt(np.maximum(np.diag(P), 0.0))
    return {
        method: _describe(method, float(mean), float(deviation), equivalence)
        for method, mean, deviation in zip(methods, means, deviations, strict=True)
    }


def _describe(method: str, mean: float, deviation: float, equivalence: float) -> Expectation:
    scale = max(deviation, 1e-300)
    worse, better = (float(norm.sf((equivalence + side * mean) / scale)) for side in (1, -1))
    return Expectation(method, mean, deviation, worse, better)


def _measure(folds: Mapping[str, _Folds], share: float) -> _Measurement:
    """What folds say, and how far that may be off."""
    tests = [statistics.corrected_resampled_t(list(own.values()), share) for own in folds.values()]
    variances, counts = np.array([t.error**2 for t in tests]), np.array([t.n for t in tests])
    if len(tests):
        variances = (counts * variances + _POOLED * variances.mean()) / (counts + _POOLED)
    errors = np.sqrt(variances * (counts - 1) / (np.maximum(counts, _MIN_FOLDS) - 3))
    covariance = errors[:, None] * _correlate(list(folds.values())) * errors
    return _Measurement(tuple(folds), np.array([t.mean for t in tests]), covariance)


def _correlate(folds: list[_Folds]) -> Array:
    """Correlations (m, m) of what folds say of m methods, drawn towards one half."""
    m = len(folds)
    towards = np.full((m, m), _SHARED) + (1 - _SHARED) * np.eye(m)
    common = sorted(set.intersection(*(set(own) for own in folds))) if folds else []
    table = np.array([[own[key] for key in common] for own in folds]).reshape(m, len(common))
    spread = table.std(axis=1) if common else np.zeros(m)
    if len(common) < 3 or not (spread > 0).all():
        return towards
    weight = (len(common) - 1) / (len(common) - 1 + m)
    return weight * np.corrcoef(table).reshape(m, m) + (1 - weight) * towards


def _make_prior(
    methods: tuple[str, ...], measured: _Measurement, equivalence: float, prior: _Prior | None
) -> tuple[Array, Array]:
    """Means (m,) and covariance (m, m) before anything is measured."""
    if prior:
        known = np.array(list(prior.values()))
        others = known[:, 0].mean(), np.sqrt((known[:, 1] ** 2).mean() + known[:, 0].var())
        means, deviations = np.array([prior.get(method, others) for method in methods]).T
    else:
        size = float(np.sqrt((measured.means**2).mean())) if len(measured.means) else 0.0
        means, deviations = np.zeros(len(methods)), np.full(len(methods), max(size, equivalence, 1e-12))
    correlations = np.full((len(methods), len(methods)), _SHARED) + (1 - _SHARED) * np.eye(len(methods))
    return means, deviations[:, None] * correlations * deviations


# ----------------------------------------------------------------------------------- what was known before


# Mean and standard deviation, in shares, of balanced accuracy less that of ``average``, on 72 tasks of 40
# to 320 samples made of 23 public sets, every set counting the same; what chance adds to the spread is
# taken off.  All methods decide as the library does for balanced accuracy.  Made by
#
#     python benchmarks/predict_regret.py --keep regret
#     python benchmarks/method_prior.py --keep regret

_BALANCED_ACCURACY = {
    "linear": (-0.0173, 0.0193),
    "cvkt-linear": (-0.0002, 0.0478),
    "cvkt-rbf": (0.0122, 0.0561),
    "zero-rbf": (-0.0049, 0.01),
    "fusion-linear": (-0.0024, 0.0313),
    "fusion-rbf": (0.0086, 0.01),
    "forest": (-0.0317, 0.0383),
    "cvkt-svm": (0.0163, 0.0465),
    "complete-cases": (-0.045, 0.0276),
    "auto": (0.03, 0.0253),
    "fusion": (0.0086, 0.01),
}
#: By task and metric.
PRIORS = {("classes", "balanced accuracy"): _BALANCED_ACCURACY}
