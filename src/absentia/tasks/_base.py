"""What all tasks share: checking targets, cutting folds, planning fits, predicting, scoring, baselines.

``fit``, ``predict``, ``compare`` and the pages ask the task and nothing else what is learned.  Targets
`y` are arrays in the order of the samples, and methods are entries of the catalogue of the task's
``family``.

How a method learns from data: what it is handed over.

That is what the method's entry ``takes``: kernels, which are made of features before it; features; or
either, which it makes kernels of itself.  C is selected by the method itself, by one rule for all
(``methods.learning``), unless it is given.
"""

from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, replace
from functools import cached_property
from typing import Any, ClassVar, NamedTuple

import numpy as np
from scipy.stats import norm
from scipy.stats import t as student
from sklearn.base import clone
from sklearn.pipeline import Pipeline

from absentia.core import Array
from absentia.core.optimize import Progress
from absentia.data import (
    MANY_SAMPLES,
    KernelViews,
    Views,
    add_views,
    choose_n_folds,
    count_groups,
    feature_profiles,
    kernel_profiles,
    make_folds,
    make_time_folds,
    order_by_profiles,
    subsample_classes,
)
from absentia.kernels import AdjustViews, ViewKernels
from absentia.methods import catalogue
from absentia.methods.catalogue import Entry, Family
from absentia.methods.models import check_scores
from absentia.methods.prediction import LIBRARY

# ------------------------------------------------------------------------------------ how a method learns

_PROGRESS_STEPS = 20  # that a fit of many fits is shown as
Tick = Callable[[], None]


def take_samples(data: Any, rows: Array, columns: Array | None = None) -> Any:
    """Samples `rows`; of kernels against the samples `columns`, which are the same if not given."""
    if isinstance(data, Views):
        return data[rows]
    return data[np.ix_(rows, rows if columns is None else columns)]


def adjust_samples(data: Any, covariates: Views | None, *parts: Array) -> list[Any]:
    """The samples at positions in each of the `parts`, and what adjusts them: nothing without covariates.

    Features of all parts are residuals after regression on `covariates` (one view of all samples), which is
    learned from the first part.  Of kernels, the samples are rows against those of the first part.
    """
    if covariates is None:
        return [*(take_samples(data, rows, parts[0]) for rows in parts), None]
    joined = add_views(data, covariates)
    adjust = AdjustViews(covariates.names[0]).fit(joined[parts[0]])
    return [*(adjust.transform(joined[rows]) for rows in parts), adjust]


def order_samples(data: Views | KernelViews, *keys: Array) -> Array:
    """Positions of the samples in an order that the data and the keys decide, however they came."""
    profiles = feature_profiles(data) if isinstance(data, Views) else kernel_profiles(data)
    keys = keys if data.groups is None else (*keys, data.groups)
    return order_by_profiles(profiles, data.observed, *keys)


@dataclass(frozen=True, eq=False)
class Plan:
    """How a method learns.

    Parameters
    ----------
    estimator : unfitted estimator
    kernel : str or ViewKernels
        Of feature views, for methods that take kernels or make them.
    C : float, optional
        None: as the estimator has it.
    entry : Entry, optional
        Of the catalogue, which says what the method takes; without it the estimator does.
    decision : "balanced", "accuracy" or costs, optional
        What a classifier decides by once it is fitted; None: as it does by itself.
    """

    estimator: Any
    kernel: str | ViewKernels = "rbf"
    C: float | None = None
    entry: Entry | None = None
    decision: Any = None

    @property
    def takes(self) -> str:
        """What is handed over: "kernels", "features" or "views or kernels"."""
        if self.entry is not None:
            return self.entry.takes
        if "kernel" in self.estimator.get_params(deep=False):
            return "views or kernels"
        return "kernels" if self.estimator.__sklearn_tags__().input_tags.pairwise else "features"

    @property
    def name(self) -> str:
        return type(self.estimator).__name__ if self.entry is None else self.entry.name

    @cached_property
    def parameters(self) -> dict[str, str]:
        """What the estimator is set to, as texts."""
        given = self.estimator.get_params(deep=True)
        skipped = ("callback", "verbose", "memory", "steps")
        return {name: repr(given[name]) for name in sorted(given) if name not in skipped}

    @property
    def classes(self) -> tuple[type, ...]:
        """Classes that the answers come from; others of the catalogue that are used by name, too."""
        steps = self.estimator.steps if isinstance(self.estimator, Pipeline) else [("", self.estimator)]
        entries = [] if self.entry is None else [self.entry, *_entries_inside(self.entry)]
        used = [entry.load() for entry in entries]
        return tuple(dict.fromkeys([*(type(step) for _, step in steps), *used]))

    @property
    def max_samples(self) -> int | None:
        """How many samples the method takes: its own number, or that of the completer in it."""
        entries = [] if self.entry is None else [self.entry, *_completers_inside(self.entry)]
        return min((e.max_samples for e in entries if e.max_samples is not None), default=None)

    def suit(self, data: Views | KernelViews) -> "Plan":
        """The same for these data: methods that make kernels themselves make those of the plan."""
        own = self.estimator.get_params(deep=False).get("kernel")
        if own is None or self.takes == "kernels":
            return self
        if isinstance(data, KernelViews):
            own = "precomputed"
        elif isinstance(own, str) and own == "rbf":
            own = self.kernel
        elif isinstance(own, str) and isinstance(self.kernel, ViewKernels):  # logarithms and the like stay
            own = clone(self.kernel).set_params(kernel=own)
        return replace(self, estimator=clone(self.estimator).set_params(kernel=own))

    def decide_by_size(self, n: int, chunked: bool = False) -> "Plan":
        """The same for fits to few of `n` samples, done as with all: members of a default, and factors."""
        if n <= MANY_SAMPLES and not chunked:
            return self
        kernel = self.kernel if isinstance(self.kernel, ViewKernels) else ViewKernels(self.kernel)
        if kernel.approx == "auto":
            kernel = clone(kernel).set_params(approx="nystrom")
        estimator = clone(self.estimator)
        members = LIBRARY[self.entry.family] if self.entry is not None and self.entry.default else {}
        name = "chunked" if chunked else "many"
        if name in members and estimator.candidates == "auto":
            estimator.set_params(candidates=members[name])
        return replace(self, estimator=estimator, kernel=kernel)

    def transform(self, data: Views | KernelViews) -> tuple[ViewKernels | None, Any]:
        """What the method takes of training samples, and the fitted kernels if these come before it."""
        if self.takes == "features" and not isinstance(data, Views):
            raise ValueError(
                f"method {self.name!r} takes features, but kernels came; give the features, or another "
                "method"
            )
        return make_kernels(data, self.kernel) if self.takes == "kernels" else (None, data)

    # -------------------------------------------------------------------------------------------- fitting

    @property
    def n_steps(self) -> int:
        """How often :meth:`fit` calls ``tick``: at the end, or on the way where a fit is many fits."""
        return _PROGRESS_STEPS if "candidates" in self.estimator.get_params() else 1

    def fit(self, X: Any, y: Array, tick: Tick = lambda: None) -> Any:
        """The estimator, fitted to what it takes."""
        estimator = clone(self.estimator)
        if self.C is not None:
            estimator.set_params(C=self.C)
        with _show_steps(estimator, tick, self.n_steps):
            fitted = estimator.fit(X, y)
        return fitted if self.decision is None else fitted.set_decision(self.decision)


def make_kernels(data: Views | KernelViews, kernel: Any) -> tuple[ViewKernels | None, KernelViews]:
    """Square kernels, and what makes rows of new samples if they came from features."""
    if isinstance(data, KernelViews):
        return None, data
    view_kernels = clone(kernel) if isinstance(kernel, ViewKernels) else ViewKernels(kernel)
    return view_kernels, view_kernels.fit_transform(data)


@contextmanager
def _show_steps(estimator: Any, tick: Tick, steps: int) -> Iterator[None]:
    """Ticks for a fit inside: one at the end, or `steps` on the way if it tells of its own."""
    done = 0

    def show(progress: Progress) -> None:
        nonlocal done
        while done < progress.iteration * steps // progress.max_iter and done < steps - 1:
            done += 1
            tick()

    if steps > 1:
        estimator.set_params(callback=show)
    yield
    if steps > 1:
        estimator.set_params(callback=None)
    for _ in range(steps - done):
        tick()


# ------------------------------------------------------------------------------------------ samples


def space_samples(X: Views | KernelViews, y: Array, max_samples: int) -> Array:
    """Positions of at most about `max_samples` samples, evenly spaced in an order that the data decide."""
    order = order_samples(X, y)
    return np.sort(order[subsample_classes(y[order], max_samples)])


# ------------------------------------------------------------------------------- entries inside entries


def _completers_inside(entry: Entry) -> list[Entry]:
    name = entry.fixed.get("completer")
    return [catalogue.find(name, "completer")] if isinstance(name, str) else []


def _entries_inside(entry: Entry) -> list[Entry]:
    """Other entries that a method uses by name: its completer, and what it chooses from."""
    candidates: Mapping[str, None] = {}
    if entry.name == "auto" and entry.family in LIBRARY:
        candidates = dict.fromkeys(name for names in LIBRARY[entry.family].values() for name in names)
    found = [catalogue.find(name, entry.family) for name in candidates]
    return [*_completers_inside(entry), *(part for one in found for part in (one, *_entries_inside(one)))]


DEFAULT_FOLDS = 5


class Metric(NamedTuple):
    """What is measured: its name, whether more is better, if it is a share, and what it means."""

    name: str
    higher: bool
    share: bool  # between 0 and 1, "a point" is a hundredth of it
    words: str

    @property
    def range(self) -> tuple[float, float]:
        """The least and the largest value that there can be."""
        least = {"R2": -np.inf, "similarity": -1.0}.get(self.name, 0.0)
        return least, 1.0 if self.share and self.higher else np.inf

    def format(self, value: float) -> str:
        """A score as it is read: shares in percent."""
        return f"{100 * value:.1f}%" if self.share else f"{value:.4g}"

    def format_ends(self, low: float, high: float) -> str:
        """The ends of an interval of differences: of shares in points."""
        factor, form = (100, ".1f") if self.share else (1, ".3g")
        return f"{factor * low:{form}} to {factor * high:{form}}"

    def format_difference(self, difference: float) -> str:
        """A difference of scores in words: of shares in points."""
        if not self.share:
            return f"{difference:.3g}"
        points = f"{100 * difference:.1f}".removesuffix(".0")
        if points in ("0", "-0") and difference:
            return "less than 0.1 points"
        return f"{points} point" if points in ("1", "-1") else f"{points} points"


class Interval(NamedTuple):
    """A number and where it may lie."""

    value: float
    low: float
    high: float


class Predictions(NamedTuple):
    """What a model predicts of samples, and probabilities where it has them.

    `probabilities` are of the classes (n, classes), or of no event up to each of the `times` (n, times).
    """

    values: Array
    probabilities: Array | None = None
    times: Array | None = None

    @classmethod
    def join(cls, parts: "Sequence[Predictions]", order: Any = slice(None)) -> "Predictions":
        """Of one part after the other, in that order; probabilities where all have them, none of times."""
        values = np.concatenate([part.values for part in parts])[order]
        proba = [one.probabilities for one in parts if one.probabilities is not None and one.times is None]
        return cls(values, np.concatenate(proba)[order] if len(proba) == len(parts) else None)


class WeightedScore(NamedTuple):
    """A score of samples that weigh differently, and how much it rises with the weight of each (n,)."""

    value: float
    influence: Array


class PreparedTargets(NamedTuple):
    """Positions of the samples that can be learned from, their targets, and names of classes or labels."""

    kept: Array
    y: Array
    names: tuple[Any, ...] = ()


def normal_interval(
    value: float, error: float, least: float, most: float, groups: Array | None = None
) -> Interval:
    """The 95 % interval of a number with a standard error, within the range that it has.

    An error that comes of `groups` (n,), of which there are few, is uncertain itself: Student's t.
    """
    quantile = norm.ppf(0.975) if groups is None else student.ppf(0.975, len(np.unique(groups)) - 1)
    half = float(quantile) * error
    return Interval(value, max(value - half, least), min(value + half, most))


def jackknife_error(left_out: Array) -> float:
    """Standard error of a statistic, from its values with each sample, or group, left out."""
    n = len(left_out)
    return float(np.sqrt((n - 1) / n * ((left_out - left_out.mean()) ** 2).sum()))


def view_weights(fitted: Any) -> dict[str, float] | None:
    """Weights of the views in a fitted estimator, of several classes their mean; None: it has none."""
    weights = getattr(fitted, "weights_", None)
    if weights is None or isinstance(weights, Mapping):
        return None if weights is None else dict(weights)
    means = np.atleast_2d(weights).mean(axis=0).tolist()
    return dict(zip(fitted.names_in_, means, strict=True))


class Task:
    """What is learned of samples."""

    name: ClassVar[str]
    family: ClassVar[Family]  # of the methods in the catalogue
    simplest: ClassVar[str]  # the method that ``compare`` holds all others against
    metrics: tuple[Metric, ...]  # the first is what methods are ranked by
    pattern_metric: ClassVar[Metric | None] = None  # of samples that have the same views
    prior_name: str = ""  # what a prediction that knows nothing of a sample is called
    sections: ClassVar[frozenset[str]] = frozenset()  # of a fit's page: "hidden views", "gains"
    max_validated: ClassVar[int | None] = None  # samples that a fit is cross-validated on at most
    wanted: ClassVar[str] = ""  # labels that methods of this task learn from, in words
    lacking: ClassVar[tuple[str, str]] = ("a label", "a label")  # what samples that are not used lack
    no_view: ClassVar[str] = "no usable view: mean returned"  # flag of such a prediction
    strength: ClassVar[str] = "penalty"  # what :meth:`find_strength` finds
    selection: ClassVar[str] = "chosen by cross-validation"  # how it is selected
    fold_words: ClassVar[str] = ""  # how folds are cut
    predicted_words: ClassVar[str] = ""  # what samples are once they are predicted

    @property
    def main_score(self) -> str:
        """What a fit is said to reach: the metric that ``compare`` ranks by."""
        return self.metrics[0].name

    # ------------------------------------------------------------------------------------------ targets

    def check_targets(self, y: Array) -> None:
        """Raise unless there is enough to learn from and to judge by."""

    def prepare_targets(self, values: Array, ids: Array, names: Sequence[str] = ()) -> PreparedTargets:
        """Targets out of the labels of samples that all have a view and a label, checked."""
        y = self._encode(values)
        self.check_targets(y)
        return PreparedTargets(np.arange(len(y)), y)

    def _encode(self, values: Array) -> Array:
        return np.asarray(values, dtype=np.float64)

    def align_targets(self, data: Views | KernelViews, y: Any) -> Array:
        """Targets as an array; refuse those that carry ids in another order than the samples."""
        data.check_order(y)
        return np.asarray(y)

    # -------------------------------------------------------------------------------------------- folds

    def order_keys(self, y: Array) -> tuple[Array, ...]:
        """What orders samples beside their views."""
        return (y,)

    def strata(self, y: Array) -> Array:
        """A number for each sample; folds have the same share of each number."""
        return np.zeros(len(y), dtype=int)

    def max_folds(self, y: Array, groups: Array | None = None) -> int:
        """How many folds can have something of everything, with whole groups in each."""
        return count_groups(groups, np.arange(len(y)))

    def count_folds(self, y: Array, groups: Array | None = None) -> int:
        """Folds that a fit is cross-validated in."""
        return min(DEFAULT_FOLDS, self.max_folds(y, groups))

    def make_folds(
        self, order: Array, y: Array, n_folds: int, seed: Any = 0, groups: Array | None = None
    ) -> list[tuple[Array, Array]]:
        """Positions to learn from and to hold out, fold by fold; `order` is of :func:`order_samples`."""
        return make_folds(order, self.strata(y), n_folds, seed, groups)

    def make_time_folds(
        self, y: Array, times: Array, groups: Array | None = None, n_folds: int | None = None
    ) -> list[tuple[Array, Array]]:
        """Positions of all that came before, and of a block in time; `times` are numbers (n,).

        Blocks before which there is too little to learn from are not held out.
        """
        folds = make_time_folds(times, n_folds or choose_n_folds(len(y), DEFAULT_FOLDS), groups)
        usable = [fold for fold in folds if self._suffices(y, fold[0], groups)]
        if len(usable) < 2:
            others = "" if groups is None else " of other groups"
            raise ValueError(
                f"{len(usable)} of {len(folds)} later blocks in time have enough samples{others} before "
                "them to learn from, and two are wanted: give finer times, or more early samples of all "
                "kinds"
            )
        return usable

    def _suffices(self, y: Array, train: Array, groups: Array | None) -> bool:
        """Whether the samples at positions `train` are enough to learn from."""
        try:
            self.check_targets(y[train])
        except ValueError:
            return False
        return len(train) > 0

    # -------------------------------------------------------------------------------- methods and fits

    @property
    def default_method(self) -> str:
        """The method of the task if none is named."""
        entries = catalogue.list_entries(self.family, variants=True).values()
        return next(entry.name for entry in entries if entry.default)

    def compared_methods(self, baselines: bool = False) -> tuple[str, ...]:
        """What ``compare`` tries if nobody says what, in the order in which it is run; or its baselines."""
        entries = [entry for entry in self._entries() if self.name in entry.compared]
        return tuple(entry.name for entry in entries if entry.baseline or not baselines)

    def _entries(self) -> Sequence[Entry]:
        return [entry for entry in catalogue.CATALOGUE if entry.family == self.family]

    def find(self, name: str) -> Entry:
        """The entry of a method by its name or alias."""
        entries = {name.lower(): one for one in self._entries() for name in (one.name, *one.aliases)}
        return catalogue.find(name, self.family, more=entries)

    def plan(
        self,
        method: str | Entry,
        data: Views | KernelViews,
        kernel: Any = "rbf",
        *,
        seed: int | None = None,
        C: float | None = None,
        options: Mapping[str, Any] | None = None,
    ) -> Plan:
        """How a method learns from these data; `options` are parameters of it."""
        entry = self.find(method) if isinstance(method, str) else method
        estimator = entry.make(**(options or {}))
        if seed is not None and "random_state" in estimator.get_params():
            estimator.set_params(random_state=seed)
        return Plan(estimator, kernel, C, entry).suit(data)

    def learn(self, data: Views | KernelViews, y: Any, plan: Plan, tick: Tick = lambda: None) -> Any:
        """A model that takes what the data are; everything, kernels and C too, is learned from them."""
        y, plan = self.align_targets(data, y), plan.suit(data)
        kernels, X = plan.transform(data)
        return self._join(kernels, plan.fit(X, y, tick))

    def _join(self, kernels: Any, fitted: Any) -> Any:
        """A fitted estimator with the kernels that it takes made before it."""
        return fitted if kernels is None else Pipeline([("kernels", kernels), ("model", fitted)])

    def baseline_plans(self, plan: Plan, data: Views | KernelViews) -> dict[str, Plan]:
        """What a fit is judged beside."""
        return {}

    # ------------------------------------------------------------------------------ predictions, scores

    def predict(self, fitted: Any, rows: Any) -> Predictions:
        """What a fitted estimator says of samples, as it takes them; refuse what is no number."""
        values = np.asarray(fitted.predict(rows))
        check_scores(rows, values)
        return Predictions(values)

    def output_columns(self, fitted: Any) -> list[str]:
        """Names of what :meth:`output_rows` gives of each sample."""
        return ["predicted"]

    def output_rows(self, fitted: Any, rows: Any) -> tuple[list[list[str]], list[str]]:
        """Predictions of samples as they are written, and a remark on each, empty if there is none."""
        values = self.predict(fitted, rows).values
        return [[f"{value:.6g}"] for value in values], self._remarks(fitted, rows)

    region_columns: ClassVar[tuple[str, ...]] = ("low", "high")  # of :meth:`region_rows`

    def region_rows(self, fitted: Any, rows: Any, coverage: float) -> tuple[list[list[str]], int]:
        """What samples may be, with a coverage, as it is written; and of how many it says nothing.

        That is an empty cell where there is no bound, and never an empty one where there is.
        """
        regions = fitted.calibration_.predict_regions(fitted, rows, coverage).reshape(len(rows), -1)
        cells = [[f"{end:.6g}" if np.isfinite(end) else "" for end in row] for row in regions]
        return cells, sum(not any(row) for row in cells)

    def _remarks(self, fitted: Any, rows: Any) -> list[str]:
        return [self.no_view if blind else "" for blind in fitted.unusable(rows)]

    def predict_prior(self, train: Array, n: int) -> Predictions:
        """What is predicted of `n` samples if nothing is known but the training targets."""
        raise NotImplementedError

    def describe(self, fitted: Any, y: Array) -> dict[str, Any]:
        """What programs are told of a fitted estimator and the targets that it learned from."""
        return {
            self.strength: self.find_strength(fitted),
            "weights": view_weights(fitted),
            "candidates": getattr(fitted, "candidates_", None),
        }

    def count_words(self, y: Array) -> list[str]:
        """How many of what there are among the targets."""
        return []

    def evaluate(
        self, y: Array, predictions: Mapping[str, Predictions], fold: Array, groups: Array | None = None
    ) -> dict[str, dict[str, Any]]:
        """How well methods predict samples that they have not seen: a number or an interval by measure.

        Samples of one of the `groups` (n,) are not independent, and intervals are by group.
        """
        raise NotImplementedError

    def find_strength(self, fitted: Any) -> Any:
        """The C, penalty or alpha that an estimator has or has selected; None: it has none."""
        return None

    def scores(self, y: Array, predicted: Predictions) -> dict[str, float | None]:
        """Every metric; None where it cannot be told of these samples."""
        raise NotImplementedError

    def prior_scores(self, y: Array, train: Array) -> dict[str, float | None]:
        """Scores of predictions that know nothing but the training targets."""
        return self.scores(y, self.predict_prior(train, len(y)))

    def sample_statistics(self, y: Array, values: Array) -> Array:
        """How well each sample is predicted, (n, columns), to be averaged over repeats."""
        raise NotImplementedError

    def score_pattern(self, statistics: Array) -> float | None:
        """The pattern's metric out of :meth:`sample_statistics`; None: it cannot be told."""
        return float(statistics[:, 0].mean()) if len(statistics) else None

    def weigh_scores(self, y: Array, statistics: Array, weights: Array) -> dict[str, WeightedScore]:
        """By metric the score if samples weigh that much (n,), in all 1; those that can be told of it."""
        return {}

    def check_predictions(self, predicted: Array, n_names: int) -> bool:
        """Whether numbers can be predictions; `n_names` classes or labels there are."""
        return True

    def order_metrics(self, main: str | None = None) -> tuple[Metric, ...]:
        """The metrics, `main` first: by its name in any case, with hyphens for spaces."""
        if main is None:
            return self.metrics
        first = [metric for metric in self.metrics if _spell(metric.name) == _spell(main)]
        if not first:
            names = ", ".join(metric.name.replace(" ", "-") for metric in self.metrics)
            more = "; cost wants --costs, costs of mistakes" if _spell(main) == "cost" else ""
            raise ValueError(f"score {main!r} is none of {names}, which there are for {self.name}{more}")
        return (*first, *(metric for metric in self.metrics if metric not in first))


def _spell(name: str) -> str:
    return name.lower().replace("-", " ").replace("_", " ")
