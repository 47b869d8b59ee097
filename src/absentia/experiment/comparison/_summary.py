"""From records to results: a pure function of the design, the data and what is recorded.

A method that was tried on other folds than the simplest one is shown as the simplest's mean over all its
folds plus the mean difference on the folds that both had, which is its own mean where they had the same.
So scores differ by what the differences say, and a method that was tried on easy folds gains nothing.
"""

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import replace
from functools import cached_property
from typing import Any

import numpy as np

from absentia.core import Array
from absentia.data import name_pattern, statistics
from absentia.experiment.comparison._data import TaskData
from absentia.experiment.comparison._design import Design, count_folds, curve_methods, find_spare_cells
from absentia.experiment.comparison._recommendation import (
    PRIORS,
    Evidence,
    expect_differences,
    recommend,
    write_command,
)
from absentia.experiment.engine import Record
from absentia.experiment.learning_curve import (
    LearningCurve,
    ScoreContext,
    ViewCurve,
    average_folds,
    describe_lead,
    make_sample_curve,
    make_view_curve,
)
from absentia.experiment.pattern_mix import HeldOutSamples, MixScores, PatternMix, count_patterns, weigh_mix
from absentia.experiment.results import (
    ComparisonResults,
    Contrast,
    CurvePoint,
    Difference,
    Expectation,
    MethodRow,
    PatternScores,
    ViewWorth,
)
from absentia.tasks import Interval, Metric, Task

_TOP_PATTERNS = 8
_Folds = dict[tuple[int, int], float]


class ComparisonSummary:
    """Results of one task out of its records; `wanted` are the trials of each method."""

    def __init__(
        self, data: TaskData, design: Design, records: Sequence[Record], wanted: Mapping[str, int]
    ):
        self.data, self.design, self.wanted = data, design, wanted
        self.records = list(records)
        self.simplest = data.task.simplest
        self.metrics = data.task.order_metrics(design.metric)
        main = "complete" if data.kind == "completion" else "predict"
        own = [
            r
            for r in self.records
            if (r.trial["kind"], r.trial.get("rate", design.hide)) == (main, design.hide)
        ]
        self.main = {m: [r for r in own if r.trial["method"] == m] for m in wanted}

    @property
    def metric(self) -> Metric:
        return self.metrics[0]

    @cached_property
    def share(self) -> float:
        """Samples, or cells, that are judged on, as a share of those that are learned from."""
        if self.data.kind == "completion":
            return self.design.hide / (1 - self.design.hide)
        if self.data.times is not None:
            folds = self.data.split(self.design.cv, self.design.seed, 0)
            return float(np.mean([len(test) / len(train) for train, test in folds]))
        return 1 / (count_folds(self.data, self.design) - 1)

    @cached_property
    def equivalence(self) -> float:
        """In units of the metric; of metrics that are no shares, relative to the simplest's."""
        if self.metric.share:
            return self.design.equivalence
        own = self.folds(self.simplest, self.metric)
        return self.design.equivalence * abs(float(np.mean(list(own.values())))) if own else 0.0

    def of_kind(self, kind: str) -> list[Record]:
        """Trials of a kind that are done."""
        return [record for record in self.records if record.trial["kind"] == kind and record.done]

    def folds(self, method: str, metric: Metric) -> _Folds:
        """Scores of a method by repeat and fold."""
        return _scores_by_fold(self.main.get(method, []), metric.name)

    # ------------------------------------------------------------------------------------ method by method

    @cached_property
    def rows(self) -> list[MethodRow]:
        tried = [self._make_row(method) for method in self.wanted]
        sign = -1 if self.metric.higher else 1
        none = float("inf")

        def place(row: MethodRow) -> float:
            return sign * row.scores[self.metric.name].value if self.metric.name in row.scores else none

        left_out = self.design.left_out.items()
        skipped = [MethodRow(name, *self._describe(name), left_out=why) for name, why in left_out]
        return [*sorted(tried, key=place), *skipped]

    def _describe(self, method: str) -> tuple[str, bool]:
        """A method in words, and whether it is a baseline."""
        entry = self.data.task.find(method)
        return entry.when, entry.baseline

    def _make_row(self, method: str) -> MethodRow:
        own = self.main[method]
        done = [record for record in own if record.done]
        return MethodRow(
            method,
            *self._describe(method),
            {metric.name: score for metric in self.metrics if (score := self._score(method, metric))},
            float(np.median(seconds)) if (seconds := costs_of(done, "cpu")) else None,
            max(costs_of(done, "memory"), default=None),
            len(done),
            len(own) - len(done),
            self.wanted[method],
            tuple(dict.fromkeys(record.error for record in own if not record.done)),
        )

    def _score(self, method: str, metric: Metric) -> Interval | None:
        own, base = self.folds(method, metric), self.folds(self.simplest, metric)
        if not own:
            return None
        both = [key for key in own if key in base]
        shift = 0.0
        if both and len(both) < len(base):
            shift = float(np.mean(list(base.values())) - np.mean([base[key] for key in both]))
        return average_folds([own[key] for key in both or own], metric, self.share, shift)

    @cached_property
    def fold_differences(self) -> dict[str, _Folds]:
        """By method: how much better it is than the simplest, on the folds that both had."""
        base, sign = self.folds(self.simplest, self.metric), 1.0 if self.metric.higher else -1.0
        found = {}
        for row in self.rows:
            own = self.folds(row.method, self.metric)
            both = {key: sign * (own[key] - base[key]) for key in own if key in base}
            if row.method != self.simplest and both:
                found[row.method] = both
        return found

    @cached_property
    def differences(self) -> list[Difference]:
        found = [
            self._test_difference(method, np.array(list(folds.values())))
            for method, folds in self.fold_differences.items()
            if len(folds) > 1
        ]
        adjusted = statistics.holm([one.p for one in found]).tolist() if found else []
        return [replace(one, adjusted=float(p)) for one, p in zip(found, adjusted, strict=True)]

    @cached_property
    def expectations(self) -> list[Expectation]:
        prior = PRIORS.get((self.data.kind, self.metric.name))
        found = expect_differences(self.fold_differences, self.share, self.equivalence, prior)
        return list(found.values())

    def _test_difference(self, method: str, values: Array) -> Difference:
        t = statistics.corrected_resampled_t(values, self.share)
        probabilities = statistics.bayesian_correlated_t(values, self.share, self.equivalence)
        worse, same, better = map(float, probabilities)
        found = Difference(method, t.mean, t.low, t.high, t.p, t.p, worse, same, better)
        if t.error == 0 and t.mean != 0:  # nothing to judge it by
            nan = float("nan")
            found = replace(found, low=nan, high=nan, worse=nan, same=nan, better=nan)
        return found

    @cached_property
    def sample_statistics(self) -> dict[str, Array]:
        """By method that has scores, how well each sample is predicted."""
        task, y = self.data.task, self.data.targets
        done = {r.method: [one for one in self.main[r.method] if one.done] for r in self.rows if r.scores}
        return {method: _average_repeats(task, y, records) for method, records in done.items()}

    # ---------------------------------------------------------------------------------------- the whole

    @cached_property
    def evidence(self) -> Evidence:
        """What a recommendation rests on."""
        return Evidence(
            self.metric,
            self.equivalence,
            self.simplest,
            self.rows,
            self.differences,
            self.expectations,
            self.data.task.default_method,
        )

    def results(self) -> ComparisonResults:
        """All of it."""
        data, recommendation = self.data.data, recommend(self.evidence)
        if self.evidence.measured:
            command = write_command(recommendation.recommended, self.data, self.design.call)
            recommendation = replace(recommendation, command=command)
        worth = list(_measure_views(self))
        return ComparisonResults(
            title=self.design.title or "Which method works best",
            task=self.data.kind,
            metrics=self.metrics,
            equivalence=self.equivalence,
            recommendation=recommendation,
            rows=self.rows,
            differences=self.differences,
            names=data.names,
            observed=data.observed,
            expectations=self.expectations,
            group_metric=self.data.task.pattern_metric,
            patterns=list(_score_patterns(self)),
            views=worth,
            views_with=self.simplest if worth else "",
            curves=list(_make_curves(self)),
            learning_curve=_make_learning_curve(self) if curve_methods(self.data, self.design) else None,
            classes=[str(name) for name in self.data.classes],
            confusion=_count_confusions(self),
            done=len(self.records),
            wanted=sum(self.wanted.values()),
            facts=_make_facts(self),
        )


def costs_of(records: Sequence[Record], what: str) -> list[float]:
    """What fits took, of those of which it is known."""
    return [float(cost) for record in records if (cost := record.cost.get(what)) is not None]


def _scores_by_fold(records: Sequence[Record], metric: str) -> dict[tuple[int, int], float]:
    """Scores by repeat and fold, of trials that are done and could be measured."""
    found = {}
    for record in records:
        value = record.result.get("scores", {}).get(metric) if record.done else None
        if value is not None:
            found[int(record.trial["repeat"]), int(record.trial["fold"])] = float(value)
    return dict(sorted(found.items()))


# ------------------------------------------------------------------------------------------ by pattern


def _score_patterns(summary: ComparisonSummary) -> Iterator[PatternScores]:
    if summary.data.task.pattern_metric is None:
        return
    observed = summary.data.data.observed
    masks, member, counts = np.unique(observed, axis=0, return_inverse=True, return_counts=True)
    top = np.argsort(-counts, kind="stable")[:_TOP_PATTERNS]
    for p in top:
        yield _score_pattern(summary, masks[p], np.ravel(member) == p)
    rest = ~np.isin(np.ravel(member), top)
    if rest.any():
        yield _score_pattern(summary, np.zeros(0, bool), rest)


def _score_pattern(summary: ComparisonSummary, mask: Array, rows: Array) -> PatternScores:
    names = summary.data.data.names
    words = name_pattern(mask, names) if len(mask) else "other patterns together"
    scores = {}
    for method, means in summary.sample_statistics.items():
        known = means[rows & ~np.isnan(means).any(axis=1)]
        if (score := summary.data.task.score_pattern(known)) is not None:
            scores[method] = score
    return PatternScores(words, tuple(mask.tolist()), int(rows.sum()), scores)


def _average_repeats(task: Task, y: Array, records: Sequence[Record]) -> Array:
    """Statistics of samples, (n, columns), mean over repeats; NaN of samples never held out."""
    total: Any = 0.0
    counts = np.zeros((len(y), 1))
    for record in records:
        test, values = np.array(record.result["test"], dtype=int), np.array(record.result["predicted"])
        own = task.sample_statistics(y[test], values)
        spread = np.zeros((len(y), own.shape[1]))
        spread[test] = own
        total = total + spread
        counts[test] += 1
    return np.where(counts > 0, total / np.maximum(counts, 1), np.nan)


def weigh_patterns(summary: ComparisonSummary, mix: PatternMix) -> MixScores:
    """Scores of all methods if samples came in another mix of patterns of views."""
    data, task = summary.data, summary.data.task
    statistics = summary.sample_statistics
    n_folds, repeats = count_folds(data, summary.design), summary.design.repeats
    dependence = 1.0 if data.data.n_groups is None else len(data.data) / data.data.n_groups
    overlap = dependence * (1 / repeats + n_folds / (n_folds - 1))
    judged = HeldOutSamples(task, data.targets, data.data.observed, statistics, overlap)
    metric, scores, note = summary.metric, weigh_mix(judged, mix, summary.metric), ""
    if not scores and task.pattern_metric not in (None, metric):
        other = task.pattern_metric
        note = f"{metric.name} wants probabilities, which are not recorded: {other.name} is weighted."
        metric, scores = other, weigh_mix(judged, mix, other)
    held_out = [~np.isnan(means).any(axis=1) for means in statistics.values()]
    known = np.any(held_out, axis=0) if held_out else np.zeros(len(data.data), bool)
    patterns = count_patterns(data.data.observed[known], mix, data.data.names)
    return MixScores(
        metric, scores, patterns, recommend(summary.evidence).recommended, note if scores else ""
    )


# --------------------------------------------------------------------------------------------- by view


def _measure_views(summary: ComparisonSummary) -> Iterator[ViewWorth]:
    own = summary.of_kind("views")
    if not own:
        return
    names = list(summary.data.data.names)
    whole = summary.folds(summary.simplest, summary.metric)
    sign = 1.0 if summary.metric.higher else -1.0
    for name in names:
        without = [r for r in own if r.trial["views"] == [n for n in names if n != name]]
        alone = [r for r in own if r.trial["views"] == [name]]
        lost = _scores_by_fold(without, summary.metric.name)
        alone_scores = _scores_by_fold(alone, summary.metric.name)
        nothing = {
            (r.trial["repeat"], r.trial["fold"]): r.result["nothing"].get(summary.metric.name)
            for r in alone
        }
        left_out = [sign * (whole[key] - lost[key]) for key in lost if key in whole]
        added = [
            sign * (score - nothing[key])
            for key, score in alone_scores.items()
            if nothing.get(key) is not None
        ]
        yield ViewWorth(name, _make_contrast(left_out, summary.share), _make_contrast(added, summary.share))


def _make_contrast(values: Sequence[float], share: float) -> Contrast | None:
    if len(values) < 2:
        return None
    t = statistics.corrected_resampled_t(np.array(values), share)
    return Contrast(t.mean, t.low, t.high, t.p)


# ---------------------------------------------------------------------------------------------- curves


def _make_curves(summary: ComparisonSummary) -> Iterator[CurvePoint]:
    kind = "complete" if summary.data.kind == "completion" else "rates"
    own = summary.of_kind(kind)
    rates = sorted({record.trial["rate"] for record in own})
    if not summary.design.rates or not rates:
        return
    for row in summary.rows:
        mine = [record for record in own if record.trial["method"] == row.method]
        if kind == "rates" and summary.metric.name in row.scores:
            yield CurvePoint(row.method, 0.0, row.scores[summary.metric.name])
        for rate in rates:
            values = _scores_by_fold([r for r in mine if r.trial["rate"] == rate], summary.metric.name)
            if values:
                share = rate / (1 - rate) if kind == "complete" else summary.share
                score = average_folds(list(values.values()), summary.metric, share)
                yield CurvePoint(row.method, float(rate), score)


def _make_learning_curve(summary: ComparisonSummary) -> LearningCurve:
    """Scores by how many samples are learned from, and by how many have a view; all are there already."""
    data, design = summary.data, summary.design
    n = len(data.data)
    context = ScoreContext(summary.metric, n, summary.share, summary.equivalence)
    methods = curve_methods(data, design)
    samples = [make_sample_curve(method, _scores_by_size(summary, method), context) for method in methods]
    views: list[ViewCurve] = []
    for v, view in enumerate(data.data.names if design.learning_curve else ()):
        have, spare = int(data.data.observed[:, v].sum()), len(find_spare_cells(data.data, view))
        counts = {
            have - spare + float(round(some[0].trial["share"] * spare)): _scores_by_fold(
                some, summary.metric.name
            )
            for some in _group_by_share([r for r in summary.of_kind("presence") if r.trial["view"] == view])
        }
        counts[float(have)] = summary.folds(methods[0], summary.metric)
        views.append(make_view_curve(view, _drop_empty(counts), n - have, context))
    return LearningCurve(summary.metric, tuple(samples), tuple(views))


def _scores_by_size(summary: ComparisonSummary, method: str) -> dict[float, _Folds]:
    """Scores by repeat and fold, by how many samples were learned from."""
    parts = [r for r in summary.of_kind("train") if r.trial["method"] == method]
    sizes = {
        float(np.mean([r.result["n_train"] for r in some])): _scores_by_fold(some, summary.metric.name)
        for some in _group_by_share(parts)
    }
    n, n_folds = len(summary.data.data), count_folds(summary.data, summary.design)
    return _drop_empty({**sizes, n * (1 - 1 / n_folds): summary.folds(method, summary.metric)})


def describe_order(summary: ComparisonSummary) -> list[str]:
    """Whether the first of the finalists would stay ahead of the others with all samples that there are."""
    first, *others = summary.design.finalists or ("",)
    context = ScoreContext(summary.metric, len(summary.data.data), summary.share, summary.equivalence)
    curve = _scores_by_size(summary, first)
    return [
        describe_lead(
            (first, curve), (other, _scores_by_size(summary, other)), context, summary.design.n_samples
        )
        for other in others
    ]


def _group_by_share(records: Sequence[Record]) -> list[list[Record]]:
    shares = sorted({record.trial["share"] for record in records})
    return [[record for record in records if record.trial["share"] == share] for share in shares]


def _drop_empty(scores: dict[float, _Folds]) -> dict[float, _Folds]:
    return {n: folds for n, folds in scores.items() if folds}


# --------------------------------------------------------------------------------------------- classes


def _count_confusions(summary: ComparisonSummary) -> dict[str, Array]:
    """Of the first repeat, where all folds are done."""
    if summary.data.kind != "classes":
        return {}
    y, size = summary.data.targets, len(summary.data.classes)
    tables, n_folds = {}, count_folds(summary.data, summary.design)
    for method, records in summary.main.items():
        first = [record for record in records if record.done and record.trial["repeat"] == 0]
        table = np.zeros((size, size), dtype=int)
        for record in first:
            np.add.at(table, (y[record.result["test"]], np.array(record.result["predicted"], dtype=int)), 1)
        if len(first) == n_folds:
            tables[method] = table
    return tables


# --------------------------------------------------------------------------- how it was done, in words

_HIDDEN_WORDS = {
    "own": "in views that some sample lacks, by the patterns of the data's own absence (at random in all "
    "views where nothing is absent, or the patterns cannot hide as much)",
    "mcar": "at random",
    "per-view": "the same share of every view, at random",
    "exclusive": "that share of the samples left with one view only",
}


_DECISION_WORDS = {
    "balanced": "the class with the largest probability over what it is on average, or over its frequency",
    "accuracy": "the most probable class",
    "costs": "the class of least expected cost",
}


def _make_facts(summary: ComparisonSummary) -> dict[str, str]:
    """By name, in words."""
    design, data, kind = summary.design, summary.data.data, summary.data.kind
    form = "features" if summary.data.has_features else "kernels"
    facts = {
        "data": f"{len(data)} samples, {data.n_views} views of {form}, content {summary.data.hash}",
        "seed": str(design.seed),
    }
    if summary.data.has_features:
        facts["kernels"] = repr(summary.data.kernel)
    if kind == "completion":
        made = "kernels are made of all samples before; " if summary.data.has_features else ""
        facts["hidden"] = (
            f"{design.hide:.0%} of the observed cells, {_HIDDEN_WORDS[design.mechanism]}, "
            f"{design.repeats} times{_hidden_share(summary)}; {made}scores are of hidden cells only"
        )
    else:
        facts["folds"] = f"{_describe_folds(summary)}; {_INSIDE}"
        if data.n_groups is not None:
            facts["groups"] = f"{data.n_groups} of samples, none on both sides of a split"
    if summary.data.covariates is not None:
        (view,) = summary.data.covariates.names
        names = ", ".join(summary.data.covariates[view].columns)
        facts["adjusted"] = f"numeric features are residuals after regression on {names} in training"
    if kind == "classes":
        rule = summary.data.decision if isinstance(summary.data.decision, str) else "costs"
        facts["decision"] = f"{_DECISION_WORDS[rule]}, by every method that gives probabilities"
    if design.repeats_of:
        fewer = ", ".join(f"{name} ({count})" for name, count in design.repeats_of.items())
        facts["fewer repeats"] = f"{fewer}: slow on data of this size"
    facts["statistics"] = (
        "corrected resampled t test against the simplest, Holm's correction; Bayesian correlated t test "
        f"with {summary.equivalence:.3g} as practically nil"
    )
    if summary.data.times is not None:
        facts["time"] = (
            "statistics take blocks as if they had been drawn at random, of the mean ratio of test to "
            f"training samples, {summary.share:.2f}: a trend in time is in no interval"
        )
    known = (kind, summary.metric.name) in PRIORS
    towards = "what methods did on other small cohorts" if known else "zero"
    facts["expected"] = f"differences of the folds, drawn towards {towards}"
    cpu = sum(record.cost.get("cpu") or 0.0 for record in summary.records)
    facts["CPU time"] = f"{cpu:.0f} s in {len(summary.records)} trials"
    facts |= _describe_versions(summary)
    if design.command:
        facts["command"] = design.command
    return facts


_INSIDE = "kernels, completion and all that is chosen come from the training part of a fold"


def _describe_folds(summary: ComparisonSummary) -> str:
    data, design = summary.data, summary.design
    if data.times is None:
        return f"{count_folds(data, design)} folds, {design.repeats} repeats, the same for every method"
    folds = data.split(design.cv, design.seed, 0)
    sizes = ", ".join(f"{len(test)} after {len(train)}" for train, test in folds)
    dropped = ", without those of groups that are in it" if data.data.groups is not None else ""
    return (
        f"{len(folds)} blocks in time, each predicted from all that came before it{dropped} ({sizes} "
        "samples), the same for every method"
    )


def _hidden_share(summary: ComparisonSummary) -> str:
    """How much was hidden of all cells, where that is another number."""
    own = [records[0].result["hidden"] for records in summary.main.values() if records and records[0].done]
    if not own:
        return ""
    return f" ({own[0] / summary.data.data.observed.sum():.1%} of all observed cells)"


def _describe_versions(summary: ComparisonSummary) -> dict[str, str]:
    made = {tuple(sorted(record.made.items())) for record in summary.records if record.made}
    words = sorted(", ".join(f"{name} {number}" for name, number in one) for one in made)
    return {"made with": "; ".join(words)} if words else {}
