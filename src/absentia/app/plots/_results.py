"""Displays of comparisons: scores with intervals, ranks over data sets, what more samples would add."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, Self

import numpy as np

from absentia.app.plots._base import COLORS, Display, clear_spines, color, draw_intervals, list_rows
from absentia.core import Array
from absentia.data.statistics import Nemenyi, nemenyi

if TYPE_CHECKING:
    from absentia.app.comparison import Comparison
    from absentia.experiment.learning_curve import LearningCurve


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
