r"""What score to expect if samples come with other views: held-out scores weighted to other patterns.

A pattern is the set of views that a sample has.  With :math:`q_p` the new shares of the patterns, a sample
of pattern :math:`p` weighs :math:`q_p / n_p`, and scores are those of weighted samples: of accuracy the
mean of the patterns' accuracies, of balanced accuracy hits over samples class by class, so that the
frequencies of the classes go with the mix.  It holds if samples that have the same views are alike, classes
and values, now and then.

Few samples say little about a pattern.  To its own :math:`n_p` samples, others with nested views (more or
fewer of the same) are added that weigh :math:`k` = :data:`PRIOR_SAMPLES` samples in all, each half as much
for every view that is more or less; all others where nothing is nested.  That is the mean of a Dirichlet
process around these.  With :math:`w_i` the weight of sample :math:`i` that comes of it, :math:`a_{pi}` the
weights within a pattern, both in all 1, and :math:`g_i` how much the score rises with :math:`w_i`, the
variance is that of the samples and that of a pattern around those that are lent to it:

.. math:: \phi \sum_i w_i^2 (g_i - \bar g_{p(i)})^2
          + \sum_p q_p^2 \Bigl(\frac{k}{n_p + k}\Bigr)^2 \frac{\operatorname{var}_{a_p}(g)}{k + 1}

where :math:`\phi = 1 / R + K / (K - 1)` of :math:`R` repeats of :math:`K` folds is what the corrected
resampled t test adds for models that share training samples.  Where the score is a share of samples that
are right, the interval also holds that of two more right and two more wrong (Agresti and Coull): all right
may have been luck.

Of patterns that no sample had when methods were judged nothing is known.  Scores are of the others.
"""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, NamedTuple

import numpy as np

from absentia.core import Array, list_some
from absentia.data import Presence, find_duplicates, name_pattern
from absentia.tasks import Interval, Metric, Task, normal_interval

if TYPE_CHECKING:
    import pandas as pd

PRIOR_SAMPLES = 1.0  # k
FEW_SAMPLES = 10  # of a pattern, fewer of which are worth a sentence
_NOTABLE_SHARE = 0.01  # of a mix
_MAX_NAMED = 3  # patterns in a sentence


class PatternMix(NamedTuple):
    """Patterns of present views (P, V), each once, and their shares (P,), in all 1."""

    patterns: Array
    shares: Array

    @classmethod
    def of(cls, observed: Array) -> "PatternMix":
        """The mix of samples (n, V)."""
        patterns, counts = np.unique(observed, axis=0, return_counts=True)
        return cls(patterns, counts / counts.sum())


def make_mix(new: Any, names: Sequence[str]) -> PatternMix:
    """The mix of patterns of new data, or as a table says it.

    Parameters
    ----------
    new : Views, KernelViews, DataFrame, Series or mapping
        Samples; or shares: by pattern, the names of its views joined by ``+``; or a table with the columns
        pattern and share.  Shares sum to 1 or to 100, or are counts.
    names : sequence of str
        The V views.  Others of new samples do not count, and those that these lack are absent.
    """
    if isinstance(new, Presence):
        if not len(new):
            raise ValueError("no new sample came, of which patterns could be counted")
        if not set(new.names) & set(names):
            raise ValueError(f"none of the views {list(new.names)} is one of {list(names)}")
        has = [
            new.observed[:, new.names.index(name)] if name in new.names else np.zeros(len(new), bool)
            for name in names
        ]
        return PatternMix.of(np.column_stack(has))
    if hasattr(new, "columns"):
        lacking = [name for name in ("pattern", "share") if name not in new.columns]
        if lacking:
            came = list(map(str, new.columns))
            raise ValueError(f"a table of shares has a column {lacking[0]!r}; these came: {came}")
        texts, shares = new["pattern"].tolist(), new["share"].tolist()
    elif isinstance(new, Mapping) or hasattr(new, "items"):
        texts, shares = list(new.keys()), [share for _, share in new.items()]
    else:
        raise TypeError(
            f"{type(new).__name__} came; new samples (Views, KernelViews), a table of shares or a mapping "
            "of patterns to shares is wanted"
        )
    return _check_mix([_parse_pattern(str(text), names) for text in texts], shares, names)


def _parse_pattern(text: str, names: Sequence[str]) -> list[bool]:
    """Which views are in a text as ``mrna+mirna``; an empty one is no view."""
    parts = [part.strip() for part in text.split("+") if part.strip()]
    strange = [part for part in parts if part not in names]
    if strange:
        raise ValueError(
            f"pattern {text!r}: no view {strange[0]!r}; the views are {list(names)}, joined by +"
        )
    return [name in parts for name in names]


def _check_mix(patterns: Sequence[Sequence[bool]], shares: Any, names: Sequence[str]) -> PatternMix:
    try:
        numbers = np.array([float(share) for share in shares])
    except (TypeError, ValueError):
        raise ValueError(f"shares of patterns are numbers, not {list(shares)[:3]}") from None
    if not len(numbers) or not (np.isfinite(numbers) & (numbers >= 0)).all() or numbers.sum() == 0:
        raise ValueError(f"shares of patterns are numbers from 0 on, not {numbers.tolist()[:5]}")
    total, counts = numbers.sum(), (numbers == np.round(numbers)).all()
    if not counts and not any(abs(total - whole) <= 0.011 * whole for whole in (1, 100)):
        raise ValueError(
            f"shares of patterns sum to {total:g}; give all patterns, with shares that sum to 1 or 100, or "
            "counts of samples"
        )
    if twice := find_duplicates([tuple(pattern) for pattern in patterns]):
        raise ValueError(f"the pattern {name_pattern(next(iter(twice)), names)!r} has two shares")
    return PatternMix(np.array(patterns, dtype=bool), numbers / total)


# --------------------------------------------------------------------------------------------- results


class PatternShare(NamedTuple):
    """A pattern in words, its share here and in the new mix, and how many samples of it were judged."""

    words: str
    here: float
    new: float
    judged: int


@dataclass(frozen=True)
class MixScore:
    """What to expect of a method, in one metric.

    `here` is the score with the patterns as they are, `expected` that with the new mix, of the patterns
    that are known; `change` how much better (positive) that is.
    """

    method: str
    here: float
    expected: Interval
    change: Interval


@dataclass(frozen=True)
class MixScores:
    """Scores of methods under another mix of patterns, best first.

    `metric` is what they are in; where the main one cannot be weighted, `note` says which it is and why.
    `unknown` is the share of patterns that no judged sample has.
    """

    metric: Metric
    scores: tuple[MixScore, ...]
    patterns: tuple[PatternShare, ...]
    recommended: str = ""
    note: str = ""

    @property
    def unknown(self) -> float:
        return float(sum(pattern.new for pattern in self.patterns if not pattern.judged))

    @property
    def sentences(self) -> tuple[str, ...]:
        """What to expect of the recommended method, and what that rests on."""
        row = next((row for row in self.scores if row.method == self.recommended), None)
        row = row or next(iter(self.scores), None)
        lines = [self.note] if self.note else []
        lines += [_say_score(row, self.metric)] if row else []
        few = [p for p in self.patterns if 0 < p.judged < FEW_SAMPLES and p.new >= _NOTABLE_SHARE]
        if few:
            share = sum(pattern.new for pattern in few)
            words = f"Of {share:.0%} of the new mix fewer than {FEW_SAMPLES} samples by pattern were judged"
            lines.append(f"{words}: {_list_patterns(few)}.")
        if self.unknown:
            unknown = [pattern for pattern in self.patterns if not pattern.judged and pattern.new]
            words = f"Of {self.unknown:.0%} of the new mix nothing is known, as no judged sample has"
            end = "." if row else ". No score can be told."
            lines.append(f"{words} the pattern {_list_patterns(unknown)}{end}")
        return tuple(lines)

    def table(self) -> "pd.DataFrame":
        """A row for each method: here, expected, low, high, change and its interval."""
        import pandas as pd

        columns = ["here", "expected", "low", "high", "change", "change low", "change high"]
        cells = [[row.here, *row.expected, *row.change] for row in self.scores]
        index = pd.Index([row.method for row in self.scores], name="method")
        return pd.DataFrame(cells, index, columns, dtype=float)

    def pattern_table(self) -> "pd.DataFrame":
        """A row for each pattern: its share here and in the new mix, and how many of it were judged."""
        import pandas as pd

        return pd.DataFrame(self.patterns, columns=["pattern", "here", "new", "judged"])


def _say_score(row: MixScore, metric: Metric) -> str:
    value, low, high = map(metric.format, row.expected)
    change, ends = row.change.value, metric.format_ends(row.change.low, row.change.high)
    how = f"{metric.format_difference(abs(change))} {'better' if change > 0 else 'worse'} than"
    how = f"{how if change else 'as'} with the patterns here (95%: {ends})"
    return f"With {row.method}, {metric.name} {value} is to be expected (95%: {low} to {high}), {how}."


def _list_patterns(patterns: Sequence[PatternShare]) -> str:
    """The most frequent patterns with their shares, and how many more there are."""
    ordered = sorted(patterns, key=lambda pattern: -pattern.new)
    words = [f"{pattern.words} ({pattern.new:.1%})" for pattern in ordered]
    return list_some(words, _MAX_NAMED)


# ------------------------------------------------------------------------------------------- estimation


class HeldOutSamples(NamedTuple):
    """What is known of samples that were held out.

    `y` and `observed` (n, V) are of all samples, `statistics` by method those of the task (n, columns), NaN
    of samples that were never held out; `overlap` is what models that share training samples multiply
    variances by.
    """

    task: Task
    y: Array
    observed: Array
    statistics: Mapping[str, Array]
    overlap: float


def weigh_mix(
    judged: HeldOutSamples, mix: PatternMix, metric: Metric, *, prior: float = PRIOR_SAMPLES
) -> tuple[MixScore, ...]:
    """A :class:`MixScore` by method, best first; none where no pattern of the mix is known."""
    rows = []
    for method, statistics in judged.statistics.items():
        known = ~np.isnan(statistics).any(axis=1)
        observed = judged.observed[known]
        here = PatternMix.of(observed)
        new = (here.patterns[:, None] == mix.patterns).all(axis=2) @ mix.shares
        if new.sum() > 0:
            weighting = _Weighting.make(observed, here.patterns, prior, judged.overlap)
            given = judged.task, judged.y[known], statistics[known]
            row = _weigh_method(*given, weighting, (here.shares, new), metric)
            rows += [] if row is None else [MixScore(method, *row)]
    sign = -1 if metric.higher else 1
    return tuple(sorted(rows, key=lambda row: sign * row.expected.value))


def count_patterns(observed: Array, mix: PatternMix, names: Sequence[str]) -> tuple[PatternShare, ...]:
    """Patterns of judged samples (n, V) and of the mix, those with the largest new shares first."""
    patterns = np.unique(np.vstack([observed, mix.patterns]), axis=0)
    judged = (patterns[:, None] == observed).all(axis=2).sum(axis=1)
    new = (patterns[:, None] == mix.patterns).all(axis=2) @ mix.shares
    rows = [
        PatternShare(name_pattern(pattern, names), count / max(len(observed), 1), share, count)
        for pattern, count, share in zip(patterns, judged.tolist(), new.tolist(), strict=True)
    ]
    return tuple(sorted(rows, key=lambda row: (-row.new, -row.here, row.words)))


def _weigh_samples(observed: Array, patterns: Array, prior: float) -> Array:
    """Weights (P, n) of other samples in each pattern: nested ones, else all, in all `prior`."""
    has, wants = observed.astype(int), patterns.astype(int)
    common = wants @ has.T
    more, fewer = has.sum(axis=1) - common, wants.sum(axis=1)[:, None] - common
    others = more + fewer > 0
    nested = ((more == 0) | (fewer == 0)) & others
    lent = np.where(nested.any(axis=1, keepdims=True), nested, others) * 0.5 ** (more + fewer)
    total = lent.sum(axis=1, keepdims=True)
    return np.asarray(prior * lent / np.where(total > 0, total, 1.0))


class _Weighting(NamedTuple):
    """Patterns of samples (n,), weights `within` patterns (P, n), and what variances are made of.

    `lent` (P,) is the share of each pattern's weight that samples of others have, squared, over k + 1.
    """

    member: Array
    within: Array
    lent: Array
    overlap: float

    @classmethod
    def make(cls, observed: Array, patterns: Array, prior: float, overlap: float) -> "_Weighting":
        own = (patterns[:, None] == observed).all(axis=2)
        alpha = _weigh_samples(observed, patterns, prior)
        size, borrowed = own.sum(axis=1) + alpha.sum(axis=1), alpha.sum(axis=1)
        lent = (borrowed / size) ** 2 / (prior + 1)
        return cls(own.argmax(axis=0), (own + alpha) / size[:, None], lent, overlap)

    def find_error(self, *parts: tuple[Array, Array]) -> float:
        """Standard error of a sum of scores, of which each has shares (P,) and an influence (n,)."""
        moved = sum(shares[:, None] * influence for shares, influence in parts)
        means = (self.within * moved).sum(axis=1)
        between = (self.within * (moved - means[:, None]) ** 2).sum(axis=1)
        each = sum(
            (shares @ self.within) * (influence - (self.within @ influence)[self.member])
            for shares, influence in parts
        )
        return float(np.sqrt(self.overlap * (each**2).sum() + self.lent @ between))

    def add_luck(self, value: float, shares: Array, metric: Metric) -> tuple[float, float]:
        """A share of samples, two more of which are right and two wrong, and its standard error.

        Other scores stay as they are, without an error.

        Of the change between two mixes `shares` (P,) are the difference of theirs.
        """
        spread = self.overlap * ((shares @ self.within) ** 2).sum() + self.lent @ shares**2
        if not metric.share or metric.range[0] < 0 or spread == 0:
            return value, 0.0
        n = 1 / spread
        share = (n * value + 2) / (n + 4)
        return share, float(np.sqrt(share * (1 - share) / (n + 4)))


def _weigh_method(
    task: Task,
    y: Array,
    statistics: Array,
    weighting: _Weighting,
    mixes: tuple[Array, Array],
    metric: Metric,
) -> tuple[float, Interval, Interval] | None:
    """Score here, expected one and change; `mixes` are shares (P,) here and then."""
    here, shares = mixes[0], mixes[1] / mixes[1].sum()
    weights = shares @ weighting.within
    now = task.weigh_scores(y, statistics, here @ weighting.within).get(metric.name)
    then = task.weigh_scores(y, statistics, weights).get(metric.name)
    if now is None or then is None:
        return None
    error = weighting.find_error((shares, then.influence))
    luck = normal_interval(*weighting.add_luck(then.value, shares, metric), *metric.range)
    _, low, high = normal_interval(then.value, error, *metric.range)
    expected = Interval(then.value, min(low, luck.low), max(high, luck.high))
    sign = 1.0 if metric.higher else -1.0
    moved = weighting.find_error((shares, then.influence), (here, -now.influence))
    moved = max(moved, weighting.add_luck(then.value, shares - here, metric)[1])
    change = normal_interval(sign * (then.value - now.value), moved, -np.inf, np.inf)
    return now.value, expected, change
