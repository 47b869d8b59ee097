"""What all tasks share: checking targets, cutting folds, planning fits, predicting, scoring, baselines.

``fit``, ``predict``, ``compare`` and the pages ask the task and nothing else what is learned.  Targets
`y` are arrays in the order of the samples, and methods are entries of the catalogue of the task's
``family``.
"""

from collections.abc import Mapping, Sequence
from typing import Any, ClassVar, NamedTuple

import numpy as np
from scipy.stats import norm
from scipy.stats import t as student
from sklearn.pipeline import Pipeline

from absentia.core import Array
from absentia.data import KernelViews, Views, choose_n_folds, count_groups, make_folds, make_time_folds
from absentia.methods import catalogue
from absentia.methods.catalogue import Entry, Family
from absentia.methods.models import check_scores
from absentia.tasks._plan import Plan, Tick

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
        entries = catalogue.offered(self.family, variants=True).values()
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

    def judge(
        self, y: Array, said: Mapping[str, Predictions], fold: Array, groups: Array | None = None
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

    def bound_scores(
        self, y: Array, statistics: Array, weights: Array, unknown: float
    ) -> dict[str, tuple[float, float]]:
        """Least and largest score if nothing is known of a share of the samples, where there are bounds."""
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
