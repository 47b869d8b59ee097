r"""What more samples, or a view for more of them, would add: learning curves out of scores by fold.

Samples: the same folds were predicted by a method that had learned from parts of their training samples.
With :math:`n` training samples the score, turned so that more is better, is taken to be

.. math:: s(n) = a - b \, n^{-c}, \qquad b \ge 0, \quad a \le \text{the best score there is}

which is fitted to the means over folds by least squares over :math:`a, b` for each :math:`c` of a grid.
Five noisy points hardly tell an exponent: squared errors, in units of their variance, are added to the
square of :math:`(\log c - \log c_0) / \tau`, so that :math:`c` is near what it is on other data unless
these speak against it.

Intervals are of a parametric bootstrap: means over folds are drawn with the covariance of scores over folds
times :math:`1 / J + \kappa \, n_{test} / n_{train}` of :math:`J` folds, and fitted anew.  Drawing the
folds themselves (:math:`\kappa = 0`) would take them to be independent, which they are not;
:func:`absentia.statistics.corrected_resampled_t` has :math:`\kappa = 1`.

Views: the same folds were predicted with a view hidden from some of those who have it, in training and
test.  The score is taken to be linear in the number who have it, and extrapolated to everybody.  Slopes
scatter, and are drawn towards zero, as a normal prior does whose deviation is a share of what there is
still to gain.  What is absent for a reason may be worth more, or less.

Constants were settled on some public sets and judged on others: ``benchmarks/learning_curve.py``.
"""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, NamedTuple

import numpy as np

from absentia.core import Array, make_generator
from absentia.data import statistics
from absentia.tasks import Interval, Metric

if TYPE_CHECKING:
    import pandas as pd

#: Scores by repeat and fold.
_Folds = Mapping[tuple[int, int], float]

_EXPONENTS = np.geomspace(0.1, 2.0, 40)
_EXPONENT, _EXPONENT_SPREAD = 0.5, 0.5  # c_0 and tau
_OVERLAP = 0.5  # kappa
_VIEW_SPREAD = 0.5  # what a view adds is that share of the way to the best score there is, give or take
_N_DRAWS = 1000
_N_DRAWN = 25  # sizes at which a fitted curve is evaluated
_MIN_SIZES, _MIN_FOLDS = 4, 4  # below, nothing is fitted


class SizeScore(NamedTuple):
    """A score, and the number of samples (to learn from, or that have a view) that it is reached with."""

    n: float
    score: Interval


class PowerLaw(NamedTuple):
    """``a - b n^-c``, of scores that are turned so that more is better."""

    a: float
    b: float
    c: float


@dataclass(frozen=True)
class SampleCurve:
    """Scores of a method by the number of training samples, and what as many samples again would add.

    `points` are measured; `fitted`, up to twice the samples, and `law` are of the fit, empty and None where
    there is too little to fit.  `expected` is the score with twice the samples and `gain` (positive is
    better) what that is more than with all there are; `identified` says whether the curve rises, or is
    flat, beyond chance: else neither says anything.
    """

    method: str
    points: tuple[SizeScore, ...]
    sentence: str
    identified: bool = False
    fitted: tuple[SizeScore, ...] = ()
    law: PowerLaw | None = None
    expected: Interval | None = None
    gain: Interval | None = None


@dataclass(frozen=True)
class ViewCurve:
    """Scores by the number of samples that have a view, and what the view would add for those who lack it.

    `so_far` is what the view adds for those who have it, `per_sample` the same by one of them, and `gain`
    what it would add for the others (positive is better); None where there are too few folds, where hiding
    it changes no score, or where nobody lacks it.
    """

    view: str
    have: int
    lack: int
    points: tuple[SizeScore, ...]
    sentence: str
    so_far: Interval | None = None
    per_sample: Interval | None = None
    gain: Interval | None = None


@dataclass(frozen=True)
class LearningCurve:
    """Curves of methods over samples, the first the one that `views` are of, and of views."""

    metric: Metric
    samples: tuple[SampleCurve, ...]
    views: tuple[ViewCurve, ...]

    @property
    def sentence(self) -> str:
        """What as many samples again would add."""
        return self.samples[0].sentence

    @property
    def sentences(self) -> tuple[str, ...]:
        """The same, and what each view would add."""
        return (self.sentence, *(curve.sentence for curve in self.views))

    def table(self) -> "pd.DataFrame":
        """A row for each point: of samples or which view, method, n, score, its interval, if measured."""
        import pandas as pd

        method = self.samples[0].method
        rows = [
            ("samples", curve.method, *point, kind == "points")
            for curve in self.samples
            for kind in ("points", "fitted")
            for point in getattr(curve, kind)
        ]
        rows += [(curve.view, method, *point, True) for curve in self.views for point in curve.points]
        cells = [(of, name, n, *score, measured) for of, name, n, score, measured in rows]
        return pd.DataFrame(cells, columns=["of", "method", "n", "score", "low", "high", "measured"])


class ScoreContext(NamedTuple):
    """What curves are judged by: all samples, test over training samples, what is practically nil."""

    metric: Metric
    n_samples: int
    test_share: float
    equivalence: float

    @property
    def sign(self) -> float:
        return 1.0 if self.metric.higher else -1.0

    @property
    def best(self) -> float:
        """The best score that there can be, turned so that more is better."""
        least, most = self.metric.range
        return most if self.metric.higher else -least


# ---------------------------------------------------------------------------------------------- samples


def make_sample_curve(method: str, sizes: Mapping[float, _Folds], context: ScoreContext) -> SampleCurve:
    """The curve of a method.

    Parameters
    ----------
    method : str
    sizes : mapping of training samples to scores by repeat and fold
    context : ScoreContext
    """
    points, common = _read_sizes(sizes, context)
    if len(sizes) < _MIN_SIZES or len(common) < _MIN_FOLDS:
        few = f"{len(common)} folds at {len(sizes)} sizes"
        return SampleCurve(method, points, f"What more samples would add cannot be told from {few}.")
    n = np.array(sorted(sizes))
    scores = context.sign * np.array([[sizes[size][key] for size in n] for key in common])
    return _extrapolate(method, points, n, scores, context)


def _read_sizes(
    sizes: Mapping[float, _Folds], context: ScoreContext
) -> tuple[tuple[SizeScore, ...], list[tuple[int, int]]]:
    """Scores by size, and the folds that all sizes have."""
    points = [
        SizeScore(n, average_folds(list(folds.values()), context.metric, context.test_share))
        for n, folds in sorted(sizes.items())
    ]
    return tuple(points), sorted(set.intersection(*map(set, sizes.values()))) if sizes else []


def _extrapolate(
    method: str, points: tuple[SizeScore, ...], n: Array, scores: Array, context: ScoreContext
) -> SampleCurve:
    """Fit and bootstrap turned scores (folds, sizes) at `n` training samples (sizes,)."""
    means, draws, error = _draw_means(scores, context.test_share)
    own, two = context.n_samples, 2 * context.n_samples
    grid = np.append(np.geomspace(n[0], two, _N_DRAWN), own)
    law = _fit_power_law(n, means, context.best, error)
    drawn = _evaluate(_fit_power_law(n, draws, context.best, error), grid)
    values, low, high = _evaluate(law, grid), *np.quantile(drawn, [0.025, 0.975], axis=0)
    ends = [_turn(x, context) for x in zip(values, low, high, strict=True)]
    more = drawn[:, -2] - drawn[:, -1]  # at twice the samples, at all of them
    gain = Interval(float(values[-2] - values[-1]), *map(float, np.quantile(more, [0.025, 0.975])))
    rises, flat = gain.low > 1e-3 * context.equivalence, gain.high <= context.equivalence
    return SampleCurve(
        method,
        points,
        _say_samples(method, gain, rises, flat, n, context),
        bool(rises or flat),
        tuple(SizeScore(float(size), end) for size, end in zip(grid[:-1], ends[:-1], strict=True)),
        law=PowerLaw(*map(float, law)),
        expected=ends[-2],
        gain=gain,
    )


def describe_lead(
    first: tuple[str, Mapping[float, _Folds]],
    second: tuple[str, Mapping[float, _Folds]],
    context: ScoreContext,
    n: int,
) -> str:
    """Whether the first of two methods, by name and scores by size, is ahead with `n` training samples.

    Curves are drawn together: what makes a fold easy for both says nothing of their difference.
    """
    sizes = sorted(first[1].keys() & second[1].keys())
    every = [set(folds) for _, curve in (first, second) for size, folds in curve.items() if size in sizes]
    common = sorted(set.intersection(*every)) if every else []
    between = f"{first[0]} and {second[0]}: which is better with {n:,} samples cannot be told"
    if len(sizes) < _MIN_SIZES or len(common) < _MIN_FOLDS:
        return f"{between} from {len(common)} folds at {len(sizes)} sizes."
    at, values, draws = np.array(sizes), [], []
    for _, curve in (first, second):
        scores = context.sign * np.array([[curve[size][key] for size in sizes] for key in common])
        means, drawn, error = _draw_means(scores, context.test_share)  # the same draws of the same folds
        values.append(_evaluate(_fit_power_law(at, means, context.best, error), np.array([float(n)])))
        draws.append(_evaluate(_fit_power_law(at, drawn, context.best, error), np.array([float(n)])))
    lead = Interval(
        float((values[0] - values[1])[0]), *map(float, np.quantile(draws[0] - draws[1], [0.025, 0.975]))
    )
    if lead.low <= 0 <= lead.high:
        return (
            f"{between} from {at[0]:,.0f} to {at[-1]:,.0f} training samples: more could change their order."
        )
    now = (
        float(np.mean([first[1][sizes[-1]][key] - second[1][sizes[-1]][key] for key in common]))
        * context.sign
    )
    better, worse = (first[0], second[0]) if lead.value > 0 else (second[0], first[0])
    order = (
        "the order is not expected to change" if now * lead.value > 0 else "the order is expected to change"
    )
    gap = context.metric.format_difference(abs(lead.value))
    return f"{better} is expected to be {gap} better than {worse} with {n:,} samples: {order}."


def _draw_means(scores: Array, test_share: float) -> tuple[Array, Array, float]:
    """Means over folds (sizes,), draws of them (draws, sizes), and the error of one beside the others."""
    means, (n_folds, _) = scores.mean(axis=0), scores.shape
    scatter = (scores - means) * np.sqrt((1 / n_folds + _OVERLAP * test_share) / (n_folds - 1))
    rng = make_generator(0)
    student = np.sqrt((n_folds - 1) / rng.chisquare(n_folds - 1, (_N_DRAWS, 1)))
    draws = means + student * (rng.standard_normal((_N_DRAWS, n_folds)) @ scatter)
    beside = scatter - scatter.mean(axis=1, keepdims=True)
    return means, draws, float(np.sqrt((beside**2).sum(axis=0).mean()))


def _fit_power_law(n: Array, scores: Array, best: float, error: float) -> tuple[Array, Array, Array]:
    """a, b and c, each (...), of ``a - b n^-c`` for scores (..., sizes) at `n` (sizes,); b >= 0, a <= best.

    The smaller the `error` of scores, the less the exponent is drawn towards what is usual.
    """
    x = (n / n.max()) ** -_EXPONENTS[:, None]  # (exponents, sizes)
    s = scores[..., None, :]
    off = x - x.mean(axis=1, keepdims=True)
    b = np.maximum(-(off * s).sum(axis=-1) / (off**2).sum(axis=1), 0.0)
    a = s.mean(axis=-1) + b * x.mean(axis=1)
    beyond = a > best
    if beyond.any():
        a = np.where(beyond, best, a)
        b = np.where(beyond, (x * (best - s)).sum(axis=-1) / (x**2).sum(axis=1), b)
    misfit = ((s - a[..., None] + b[..., None] * x) ** 2).sum(axis=-1) / max(error, 1e-9) ** 2
    unusual = ((np.log(_EXPONENTS) - np.log(_EXPONENT)) / _EXPONENT_SPREAD) ** 2
    k = (misfit + unusual).argmin(axis=-1)
    a, b = (np.take_along_axis(x, k[..., None], -1)[..., 0] for x in (a, b))
    c = _EXPONENTS[k]
    return a, b * n.max() ** c, c


def _evaluate(law: tuple[Array, Array, Array], n: Array) -> Array:
    """Turned scores (..., sizes) at `n` (sizes,)."""
    a, b, c = (np.asarray(part)[..., None] for part in law)
    return a - b * n**-c


def _turn(ends: Sequence[float], context: ScoreContext) -> Interval:
    """A turned score with its ends as the metric has them."""
    value, low, high = (float(context.sign * x) for x in ends)
    return Interval(value, min(low, high), max(low, high))


def average_folds(scores: Sequence[float], metric: Metric, share: float, shift: float = 0.0) -> Interval:
    """Mean and interval of scores of overlapping folds, as far as scores go; no interval of one."""
    t = statistics.corrected_resampled_t(scores, share) if len(scores) > 1 else None
    numbers = (t.mean, t.low, t.high) if t else (scores[0], np.nan, np.nan)
    return Interval(*(float(x) for x in np.clip(np.array(numbers) + shift, *metric.range)))


def _say_samples(
    method: str, gain: Interval, rises: bool, flat: bool, n: Array, context: ScoreContext
) -> str:
    more = f"With {method}, {context.n_samples} more samples"
    if flat:
        nil = context.metric.format_difference(context.equivalence)
        return f"{more} are not expected to {_say_improve(context)} more than {nil}."
    if not rises:
        span = f"from {n[0]:.0f} to {n[-1]:.0f} training samples"
        return f"{more}: what they would add cannot be told, as the rise {span} could be chance."
    return f"{more} would be expected to {_say_gain(gain, context)}."


# ------------------------------------------------------------------------------------------------ views


def make_view_curve(
    view: str, counts: Mapping[float, _Folds], lack: int, context: ScoreContext
) -> ViewCurve:
    """The curve of a view.

    Parameters
    ----------
    view : str
    counts : mapping of samples that have the view to scores by repeat and fold
        The largest is as many as there are.
    lack : int
        Samples that do not have it.
    context : ScoreContext
    """
    points, common = _read_sizes(counts, context)
    have = int(max(counts, default=0))
    if len(counts) < 2 or len(common) < _MIN_FOLDS:
        words = f"What {view} would add cannot be told from {len(common)} folds."
        return ViewCurve(view, have, lack, points, words)
    m = np.array(sorted(counts))
    scores = context.sign * np.array([[counts[n][key] for n in m] for key in common])
    if not np.ptp(scores, axis=1).any():
        words = f"With {view} and without it every fold scores the same: what it would add cannot be told."
        return ViewCurve(view, have, lack, points, words)
    off = m - m.mean()
    room = max(context.best - float(scores[:, -1].mean()), 0.0)
    t = statistics.corrected_resampled_t(scores @ off / (off**2).sum(), context.test_share)
    slope = _shrink(t, _VIEW_SPREAD * room / context.n_samples)
    so_far, gain = (Interval(*(n * x for x in slope)) for n in (have, lack))
    if not lack:
        words = f"Everybody has {view}; it is estimated to {_say_gain(so_far, context)}."
        return ViewCurve(view, have, lack, points, words, so_far, slope)
    words = f"Measuring {view} in the {lack} who lack it would be expected to {_say_gain(gain, context)}."
    return ViewCurve(view, have, lack, points, words, so_far, slope, gain)


def _shrink(t: statistics.Paired, spread: float) -> Interval:
    """What to expect of a mean, if such are around zero with the deviation `spread`."""
    weight = 1.0 if t.error == 0 or np.isinf(spread) else spread**2 / (spread**2 + t.error**2)
    half = np.sqrt(weight) * (t.high - t.mean)
    return Interval(*(float(weight * t.mean + side * half) for side in (0, -1, 1)))


# -------------------------------------------------------------------------------------------- sentences


def _say_improve(context: ScoreContext) -> str:
    """What more of a good thing does to a score; "points" speak for themselves."""
    return "add" if context.metric.higher and context.metric.share else f"improve {context.metric.name} by"


def _say_gain(gain: Interval, context: ScoreContext) -> str:
    ends = context.metric.format_ends(gain.low, gain.high)
    return f"{_say_improve(context)} {context.metric.format_difference(gain.value)} (95%: {ends})"
