"""Displays of fitted models (what decisions rest on, whether promises hold) and of comparisons."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, Self

import numpy as np

import absentia
from absentia.app.plots._base import (
    COLORS,
    MARKERS,
    PRESENT,
    Display,
    check_length,
    clear_spines,
    color,
    draw_intervals,
    list_rows,
    write_classes,
)
from absentia.core import Array
from absentia.data import name_pattern
from absentia.data.statistics import Nemenyi, nemenyi
from absentia.data.survival import as_survival, kaplan_meier, log_rank

if TYPE_CHECKING:
    from absentia.app.comparison import Comparison
    from absentia.experiment.learning_curve import LearningCurve

_MIN_GROUP = 20  # samples of a pattern that get a calibration curve of their own


@dataclass
class _BarDisplay(Display):
    """Horizontal bars: a row for each index, side by side for each column."""

    table: Any
    label: str = "weight"

    def _figure_size(self) -> tuple[float, float]:
        return 4.72, 0.8 + 0.16 * max(4, self.table.size + len(self.table))

    def _draw(self, ax: Any) -> None:
        n_columns = self.table.shape[1]
        y, height = list_rows(ax, self.table.index), 0.8 / n_columns
        for i, column in enumerate(self.table.columns):
            shift = (i - (n_columns - 1) / 2) * height
            ax.barh(y + shift, self.table[column], height, color=color(i), label=str(column))
        ax.axvline(0, color="0.3", linewidth=0.8)
        if n_columns > 1:
            ax.legend(frameon=False, loc="upper left", bbox_to_anchor=(1, 1))
        ax.set_xlabel(self.label)


def _scatter_by_view(ax: Any, x: Any, y: Any, views: Any, *, count: bool, **look: Any) -> None:
    """Dots with a colour and a marker for each view, which the legend names and may count."""
    names, code = write_classes(views)
    for i, name in enumerate(names):
        own = code == i
        label = f"{name} ({own.sum()})" if count else name
        ax.scatter(x[own], y[own], color=color(i), marker=MARKERS[i % 8], label=label, **look)


@dataclass
class WeightDisplay(_BarDisplay):
    """Weights that a model has learned: of views, by class if each has its own, or of an average's members.

    Parameters
    ----------
    table : DataFrame, views (or members) x classes (or one column)

    Examples
    --------
    >>> from absentia import MKLClassifier, ViewKernels, datasets, plots
    >>> views, y = datasets.load_digit_views(n_samples=60, return_X_y=True)
    >>> model = MKLClassifier().fit(ViewKernels().fit_transform(views), y < 5)
    >>> display = plots.WeightDisplay.from_estimator(model)
    """

    @classmethod
    def from_estimator(cls, estimator: Any, *, ax: Any = None) -> Self:
        """Of multiple kernel learning (``weight_table()``), or of ``Auto...`` (weights of its members)."""
        import pandas as pd

        table = None
        if hasattr(estimator, "weight_table"):
            table = estimator.weight_table()
        elif hasattr(estimator, "candidates_"):
            table = pd.Series({name: row["weight"] for name, row in estimator.candidates_.items()})
        if table is None:
            kind = type(estimator).__name__
            raise ValueError(f"{kind} learns no weights; MKLClassifier, AbsentMKLClassifier and Auto... do")
        return cls(pd.DataFrame(table)).plot(ax)

    def _draw(self, ax: Any) -> None:
        super()._draw(ax)
        ax.set_xlim(left=0)


@dataclass
class ContributionDisplay(_BarDisplay):
    """What views add to decisions, class by class: mean sizes over samples, or of one sample.

    Parameters
    ----------
    table : DataFrame, views x classes
    label : str
        What the numbers are.

    Examples
    --------
    >>> from absentia import AbsentClassifier, datasets, plots
    >>> views, y = datasets.load_digit_views(n_samples=60, return_X_y=True)
    >>> model = AbsentClassifier().fit(views[:40], y[:40] < 5)
    >>> display = plots.ContributionDisplay.from_estimator(model, views[40:])
    """

    label: str = "contribution"

    @classmethod
    def from_estimator(cls, estimator: Any, X: Any, *, sample: Any = None, ax: Any = None) -> Self:
        """Of :func:`absentia.inspection.contributions`.

        Parameters
        ----------
        estimator : fitted classifier
        X : Views or KernelViews
            New samples.
        sample : id, optional
            One of them; by default the mean of absolute contributions over all.
        """
        if sample is not None:
            rows = np.flatnonzero([one == sample for one in X.ids.tolist()])
            if not rows.size:
                raise ValueError(f"no sample {sample!r}; the first ids are {X.ids[:3].tolist()}")
            X = X[rows]
        long = absentia.inspection.contributions(estimator, X)
        how = "share of the score" if "exact" in str(long.attrs.get("how", "")) else "change if left out"
        if sample is None:
            long["contribution"] = long["contribution"].abs()
        mean = long.groupby(["view", "class"], sort=False)["contribution"].mean().unstack("class")
        words = (
            f"mean absolute contribution, {len(X)} samples" if sample is None else f"contribution, {sample}"
        )
        return cls(mean.reindex(list(X.names)).dropna(how="all"), f"{words} ({how})").plot(ax)


@dataclass
class ImportanceDisplay(Display):
    """The features that count most, coloured by view.

    Parameters
    ----------
    table : DataFrame
        With columns view, feature and importance, the largest first.

    Examples
    --------
    >>> from absentia import EarlyFusionClassifier, datasets, plots
    >>> views, y = datasets.load_digit_views(n_samples=60, return_X_y=True)
    >>> model = EarlyFusionClassifier("linear").fit(views, y < 5)
    >>> len(plots.ImportanceDisplay.from_estimator(model, n=10).table)
    10
    """

    table: Any

    @classmethod
    def from_estimator(cls, estimator: Any, *, n: int = 20, ax: Any = None) -> Self:
        """Of :func:`absentia.inspection.feature_importance`."""
        return cls(absentia.inspection.feature_importance(estimator).nlargest(n, "importance")).plot(ax)

    def _figure_size(self) -> tuple[float, float]:
        return 4.72, 0.8 + 0.2 * len(self.table)

    def _draw(self, ax: Any) -> None:
        y, views = list_rows(ax, self.table["feature"]), self.table["view"]
        size = self.table["importance"].to_numpy()
        ax.hlines(y, 0, size, colors=[color(i) for i in write_classes(views)[1]], linewidth=1.4)
        _scatter_by_view(ax, size, y, views, count=False, s=26)
        ax.set_xlim(left=0)
        ax.set_xlabel("importance")
        ax.legend(frameon=False, loc="lower right")


@dataclass
class CalibrationDisplay(Display):
    """Whether probabilities hold: how often a class came that was told with this probability, by pattern.

    Parameters
    ----------
    curves : dict of str to DataFrame
        By group of samples: columns told, came, low and high (95 %, Wilson) and n, a row for each bin.

    Examples
    --------
    >>> from absentia import EarlyFusionClassifier, datasets, missingness, plots
    >>> views, y = datasets.load_digit_views(n_samples=60, return_X_y=True)
    >>> views = views.hide(missingness.mcar(views, 0.3, random_state=0))
    >>> model = EarlyFusionClassifier("linear").fit(views[:30], y[:30] < 5)
    >>> display = plots.CalibrationDisplay.from_estimator(model, views[30:], y[30:] < 5, n_bins=3)
    """

    curves: dict[str, Any]
    _size = (4.0, 3.6)

    @classmethod
    def from_estimator(cls, estimator: Any, X: Any, y: Any, *, n_bins: int = 6, ax: Any = None) -> Self:
        """Of a fitted classifier and samples that it has not seen."""
        X.check_order(y)
        groups = np.array([name_pattern(row, X.names) for row in X.observed])
        proba = estimator.predict_proba(X)
        return cls.from_predictions(y, proba, estimator.classes_, groups=groups, n_bins=n_bins, ax=ax)

    @classmethod
    def from_predictions(
        cls, y: Any, proba: Any, classes: Any, *, groups: Any = None, n_bins: int = 6, ax: Any = None
    ) -> Self:
        """Of probabilities.

        Parameters
        ----------
        y : array of shape (n_samples,)
        proba : array of shape (n_samples, n_classes)
        classes : array of shape (n_classes,)
            What the columns are.  Of two, the second counts; of more, each against the rest.
        groups : array of shape (n_samples,), optional
            Curves of their own for those of at least 20 samples; smaller ones share one.
        n_bins : int
            Of as many samples each.
        """
        proba = np.asarray(proba, dtype=float)
        truth = check_length(y, len(proba), "y")[:, None] == np.asarray(classes)[None]
        if proba.shape[1] == 2:
            proba, truth = proba[:, 1:], truth[:, 1:]
        groups = ["all samples"] * len(proba) if groups is None else groups
        groups = check_length(groups, len(proba), "groups")
        names, counts = np.unique(groups, return_counts=True)
        large = names[counts >= _MIN_GROUP][np.argsort(-counts[counts >= _MIN_GROUP], kind="stable")]
        rows = {str(name): groups == name for name in large[:4]}
        rest = ~np.isin(groups, large[:4])
        if rest.any():
            rows["other views" if rows else "all samples"] = rest
        curves = {
            f"{name} (n = {own.sum()})": _bin_probabilities(proba[own].ravel(), truth[own].ravel(), n_bins)
            for name, own in rows.items()
        }
        return cls(curves).plot(ax)

    def _draw(self, ax: Any) -> None:
        ax.plot([0, 1], [0, 1], color="0.6", linewidth=1, linestyle=":")
        for i, (name, curve) in enumerate(self.curves.items()):
            error = [curve["came"] - curve["low"], curve["high"] - curve["came"]]
            look = {"color": color(i), "marker": MARKERS[i], "ms": 4, "lw": 1.2, "elinewidth": 0.7}
            ax.errorbar(curve["told"], curve["came"], error, label=name, **look)
        ends = (-0.02, 1.02)
        ax.set(xlim=ends, ylim=ends, xlabel="predicted probability", ylabel="how often it was right")
        clear_spines(ax)
        ax.legend(frameon=False, fontsize="small", loc="upper left")


def _bin_probabilities(proba: Array, truth: Array, n_bins: int) -> Any:
    """Bins of as many probabilities each: mean, share of hits, Wilson's interval."""
    import pandas as pd
    from scipy.stats import binomtest

    rows = []
    for own in np.array_split(np.argsort(proba, kind="stable"), min(n_bins, len(proba))):
        hits = int(truth[own].sum())
        ends = binomtest(hits, len(own)).proportion_ci(method="wilson")
        rows.append((proba[own].mean(), hits / len(own), ends.low, ends.high, len(own)))
    return pd.DataFrame(rows, columns=["told", "came", "low", "high", "n"])


@dataclass
class CoverageDisplay(Display):
    """What prediction sets promise and reach, by pattern.

    Parameters
    ----------
    table : DataFrame
        As ``ConformalSets.coverage_by_pattern`` gives it.

    Examples
    --------
    >>> from absentia import ConformalSets, EarlyFusionClassifier, datasets, missingness, plots
    >>> views, y = datasets.load_digit_views(n_samples=60, return_X_y=True)
    >>> views = views.hide(missingness.mcar(views, 0.3, random_state=0))
    >>> sets = ConformalSets(EarlyFusionClassifier("linear")).fit(views[:40], y[:40] < 5)
    >>> display = plots.CoverageDisplay.from_estimator(sets, views[40:], y[40:] < 5)
    """

    table: Any

    @classmethod
    def from_estimator(
        cls, sets: Any, X: Any, y: Any, *, coverage: float | None = None, ax: Any = None
    ) -> Self:
        """Of fitted :class:`absentia.ConformalSets` and samples that they have not seen."""
        return cls(sets.coverage_by_pattern(X, y, coverage)).plot(ax)

    def _figure_size(self) -> tuple[float, float]:
        return 5.6, 1.1 + 0.26 * max(2, len(self.table))

    def _draw(self, ax: Any) -> None:
        table = self.table
        y = list_rows(ax, (f"{row['pattern']} (n = {row['n']})" for _, row in table.iterrows()))
        draw_intervals(ax, y, table["reached"], table["low"], table["high"])
        ax.axvline(table["promised"].iloc[0], color=color(1), linewidth=1, linestyle="--", label="promised")
        ax.set_xlim(-0.02, 1.02)
        ax.set_xlabel("coverage reached, 95 % interval")
        ax.legend(frameon=False, loc="lower right", bbox_to_anchor=(1, 1))


@dataclass
class SurvivalDisplay(Display):
    """Kaplan-Meier curves with 95 % bands.

    Parameters
    ----------
    curves : dict of str to KaplanMeier
        By group.
    p : float, optional
        Of the log-rank test between the groups.

    Examples
    --------
    >>> from absentia.plots import SurvivalDisplay
    >>> y = [[1, 1], [2, 0], [3, 1], [4, 1], [5, 0], [6, 1]]  # times and events
    >>> list(SurvivalDisplay.from_times(y, groups=["a", "a", "a", "b", "b", "b"]).curves)
    ['a (n = 3)', 'b (n = 3)']
    """

    curves: dict[str, Any]
    p: float | None = None

    @classmethod
    def from_estimator(cls, estimator: Any, X: Any, y: Any, *, n_groups: int = 3, ax: Any = None) -> Self:
        """Samples in groups of as many each by predicted risk; they must be new to the estimator."""
        risk = np.asarray(estimator.predict(X), dtype=float)
        rank = np.empty(len(risk), int)
        rank[np.argsort(risk, kind="stable")] = np.arange(len(risk))
        words = {2: ["low", "high"], 3: ["low", "middle", "high"]}.get(n_groups)
        words = words or [str(i + 1) for i in range(n_groups)]
        groups = np.array([f"{words[i]} risk" for i in rank * n_groups // len(risk)])
        return cls.from_times(y, groups, order=[f"{word} risk" for word in words], ax=ax)

    @classmethod
    def from_times(
        cls, y: Any, groups: Any = None, *, order: Sequence[str] | None = None, ax: Any = None
    ) -> Self:
        """Of times and events, by groups.

        Parameters
        ----------
        y : times and events, as :class:`absentia.AbsentSurvival` takes them
        groups : array of shape (n_samples,), optional
        order : sequence of str, optional
            Of the groups; by default sorted.
        """
        time, event = as_survival(y)
        groups = ["all"] * len(time) if groups is None else groups
        groups = check_length(groups, len(time), "groups").astype(str)
        names = list(order or np.unique(groups))
        curves = {
            f"{name} (n = {own.sum()})": kaplan_meier(time[own], event[own])
            for name, own in ((name, groups == name) for name in names)
            if own.any()
        }
        p = log_rank(time, event, groups).pvalue if len(curves) > 1 else None
        return cls(curves, p).plot(ax)

    def _draw(self, ax: Any) -> None:
        for i, (name, curve) in enumerate(self.curves.items()):
            times = np.r_[0.0, curve.times]
            lines = [np.r_[1.0, values] for values in (curve.survival, curve.low, curve.high)]
            style = ("-", "--", ":", "-.")[i % 4]
            ax.step(times, lines[0], where="post", color=color(i), linestyle=style, label=name)
            ax.fill_between(times, lines[1], lines[2], step="post", color=color(i), alpha=0.15, linewidth=0)
        ax.set(xlim=(0, None), ylim=(0, 1.02), xlabel="time", ylabel="share without event")
        clear_spines(ax)
        title = (
            None if self.p is None else f"log-rank p {'< 0.001' if self.p < 0.001 else f'= {self.p:.2g}'}"
        )
        ax.legend(frameon=False, title=title, fontsize="small")


@dataclass
class PlanDisplay(Display):
    """What to measure next: expected gain against what it costs, the best first.

    Parameters
    ----------
    table : DataFrame
        As :func:`absentia.inspection.plan` gives it.

    Examples
    --------
    >>> from absentia import AbsentClassifier, datasets, inspection, missingness, plots
    >>> views, y = datasets.load_digit_views(n_samples=60, return_X_y=True)
    >>> views = views.hide(missingness.mcar(views, 0.3, random_state=0))
    >>> model = AbsentClassifier().fit(views[:40], y[:40] < 5)
    >>> plan = inspection.plan(model, views[40:], among=views[:40], n_draws=3)
    >>> display = plots.PlanDisplay.from_plan(plan)
    """

    table: Any

    @classmethod
    def from_plan(cls, table: Any, *, ax: Any = None) -> Self:
        """Of the table of :func:`absentia.inspection.plan`, or the one ``absentia plan`` writes."""
        missing = [name for name in ("view", "cumulative cost", "cumulative gain") if name not in table]
        if missing:
            raise ValueError(
                f"the table has no column {missing[0]!r}; one that absentia plan writes is wanted"
            )
        if not len(table):
            raise ValueError("the plan is empty: no absent view is expected to help")
        return cls(table).plot(ax)

    def _draw(self, ax: Any) -> None:
        cost, gain = (self.table[f"cumulative {what}"].to_numpy(float) for what in ("cost", "gain"))
        ax.plot(np.r_[0, cost], np.r_[0, gain], color=PRESENT, linewidth=1)
        _scatter_by_view(ax, cost, gain, self.table["view"], count=True, s=18, zorder=3)
        ax.set(xlim=(0, None), ylim=(0, None), xlabel="cost")
        ax.set_ylabel("expected rise of the probability\nof the right class, summed")
        clear_spines(ax)
        ax.legend(frameon=False, title="measure")


@dataclass
class ComparisonDisplay(Display):
    """Methods by score, with 95 % intervals that allow for the overlap of folds; baselines are hollow.

    Parameters
    ----------
    table : DataFrame
        As ``Comparison.table`` gives it.
    metric : str
        The column that counts.
    recommended : str
        The method that is printed in bold.

    Examples
    --------
    >>> from absentia import compare, datasets, plots
    >>> views, y = datasets.load_digit_views(n_samples=60, return_X_y=True)
    >>> views = views.select(["pixels", "fourier"])
    >>> found = compare(views, y < 5, methods=["average", "linear"], repeats=1, cv=3, n_jobs=1)
    >>> display = plots.ComparisonDisplay.from_comparison(found)
    """

    table: Any
    metric: str
    recommended: str = ""

    @classmethod
    def from_comparison(cls, comparison: Comparison, *, ax: Any = None) -> Self:
        """Of what :func:`absentia.compare` gives; methods that gave no score are left out."""
        metric, table = comparison.results.metric, comparison.table()
        table = table[table[metric.name].notna()]
        return cls(table, metric.name, comparison.best).plot(ax)

    def _figure_size(self) -> tuple[float, float]:
        return 4.72, 0.8 + 0.24 * len(self.table)

    def _draw(self, ax: Any) -> None:
        table = self.table
        y = list_rows(ax, table.index)
        ends = [table[f"{self.metric} {end}"].fillna(table[self.metric]) for end in ("low", "high")]
        draw_intervals(ax, y, table[self.metric], *ends, hollow=table["baseline"].to_numpy(bool))
        for label in ax.get_yticklabels():
            label.set_fontweight("bold" if label.get_text() == self.recommended else "normal")
        ax.set_xlabel(f"{self.metric}, 95 % interval\n(hollow: baselines; bold: recommended)")
        ax.grid(axis="x", color="0.92")
        ax.set_axisbelow(True)


@dataclass
class CriticalDifferenceDisplay(Display):
    """Mean ranks of methods over data sets; bars join those that Nemenyi's test does not tell apart.

    Parameters
    ----------
    result : Nemenyi
        Of :func:`absentia.statistics.nemenyi`.
    names : sequence of str
        Of the methods.

    Examples
    --------
    >>> import numpy as np
    >>> from absentia.plots import CriticalDifferenceDisplay
    >>> scores = np.random.default_rng(0).random((10, 3))  # data sets x methods
    >>> display = CriticalDifferenceDisplay.from_scores(scores, ["average", "linear", "auto"])
    """

    result: Nemenyi
    names: Sequence[str]

    @classmethod
    def from_scores(
        cls, scores: Any, names: Sequence[str] | None = None, *, level: float = 0.95, ax: Any = None
    ) -> Self:
        """Of scores, larger being better.

        Parameters
        ----------
        scores : array or DataFrame, data sets x methods
        names : sequence of str, optional
            Of the methods; by default the columns of the frame.
        """
        if names is None:
            names = list(getattr(scores, "columns", list(range(np.shape(scores)[1]))))
        return cls(
            nemenyi(np.asarray(scores, dtype=float), level=level), [str(name) for name in names]
        ).plot(ax)

    def _figure_size(self) -> tuple[float, float]:
        return 6.0, 0.9 + 0.13 * len(self.names) + 0.12 * len(self.result.groups)

    def _draw(self, ax: Any) -> None:
        ranks, k = np.asarray(self.result.ranks), len(self.names)
        order = np.argsort(ranks, kind="stable")
        half = (k + 1) // 2
        first_bar, step = 0.5, 0.45
        depth = first_bar + step * len(self.result.groups)
        for place, method in enumerate(order):
            left = place < half
            row = depth + (place if left else k - 1 - place) + 0.4
            x_end = 1 - 0.15 if left else k + 0.15
            ax.plot([ranks[method], ranks[method], x_end], [0, row, row], color="0.25", linewidth=0.9)
            side = "right" if left else "left"
            ax.text(x_end, row, f" {self.names[method]} ({ranks[method]:.2f}) ", ha=side, va="center")
        for i, group in enumerate(self.result.groups):
            ends = ranks[list(group)]
            row = first_bar + step * i
            ax.plot([ends.min() - 0.03, ends.max() + 0.03], [row, row], color=COLORS[0], linewidth=3.5)
        width = self.result.critical_difference
        ax.plot([1, 1 + width], [-1.5, -1.5], color=COLORS[1], linewidth=2)
        words = f"critical difference {width:.2f}"
        ax.text(1 + width / 2, -1.65, words, ha="center", va="bottom", color=COLORS[1])
        ax.set(xlim=(0.9, k + 0.1), ylim=(depth + half + 0.2, -2.4), xticks=range(1, k + 1), yticks=[])
        ax.spines["top"].set_position(("data", 0))
        ax.xaxis.set_ticks_position("top")
        clear_spines(ax, "left", "right", "bottom")
        ax.set_title("mean rank (1 is best)", fontsize="medium")


@dataclass
class LearningCurveDisplay(Display):
    """Scores by number of training samples, measured and extrapolated to twice as many.

    Parameters
    ----------
    curve : LearningCurve
        Of :meth:`absentia.compare`'s result.

    Examples
    --------
    >>> from absentia import compare, datasets, plots
    >>> views, y = datasets.load_digit_views(n_samples=90, return_X_y=True)
    >>> how = {"methods": ["average", "linear"], "repeats": 1, "cv": 3, "n_jobs": 1}
    >>> found = compare(views.select(["pixels"]), y < 5, learning_curve=True, **how)
    >>> display = plots.LearningCurveDisplay.from_comparison(found)
    """

    curve: LearningCurve

    @classmethod
    def from_comparison(cls, comparison: Comparison, *, ax: Any = None) -> Self:
        """Of a comparison with ``learning_curve=True``."""
        return cls(comparison.learning_curve()).plot(ax)

    def _draw(self, ax: Any) -> None:
        last = 0.0
        for i, own in enumerate(self.curve.samples):
            n, value, low, high = _split_points(own.points)
            error = [value - low, high - value]
            ax.errorbar(n, value, error, fmt="os"[i % 2], ms=4, color=color(i), lw=1, label=own.method)
            last = max(last, n.max())
            if own.fitted:
                n, value, low, high = _split_points(own.fitted)
                ax.plot(n, value, color=color(i), linestyle=("-", "--")[i % 2], linewidth=1.2)
                ax.fill_between(n, low, high, color=color(i), alpha=0.12, linewidth=0)
        ax.axvline(last, color="0.6", linewidth=1, linestyle=":")
        ax.set(xlabel="training samples (dotted: all there are)", ylabel=self.curve.metric.name)
        clear_spines(ax)
        ax.legend(frameon=False)


def _split_points(points: Any) -> tuple[Array, ...]:
    """Numbers of samples, scores and ends of their intervals."""
    rows = [(point.n, point.score.value, point.score.low, point.score.high) for point in points]
    return tuple(np.array(rows, dtype=float).T)
