"""Displays of data: who has what, why not, kernels, samples as points, values of absent views."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, Self

import numpy as np

import absentia
from absentia.app.plots._base import (
    ABSENT,
    MARKERS,
    PRESENT,
    Display,
    check_length,
    clear_spines,
    color,
    divide_axes,
    draw_intervals,
    list_rows,
    write_classes,
)
from absentia.core import Array
from absentia.data import name_pattern

if TYPE_CHECKING:
    from absentia.data import KernelViews, Presence, Views
    from absentia.methods.inspection import Absence

_MAX_POINTS = 3000  # of a cloud that can be looked at


def _take_labels(views: Presence, y: Any) -> Array | None:
    if y is None:
        return None
    views.check_order(y)
    return check_length(y, len(views), "y")


@dataclass
class PresenceDisplay(Display):
    """A strip for each view: which samples have it, samples of one pattern side by side.

    Parameters
    ----------
    observed : array of bool, samples x views
    names : sequence of str
        Of the views.
    labels : array of shape (n_samples,), optional
        Classes, as a strip below; within a pattern samples are in their order.

    Examples
    --------
    >>> from absentia import datasets, missingness, plots
    >>> views = datasets.load_digit_views(n_samples=60).views
    >>> views = views.hide(missingness.mcar(views, 0.3, random_state=0))
    >>> display = plots.PresenceDisplay.from_views(views)
    >>> display.save("presence.pdf", width="single").name
    'presence.pdf'
    """

    observed: Array
    names: Sequence[str]
    labels: Array | None = None

    @classmethod
    def from_views(cls, views: Presence, y: Any = None, *, ax: Any = None) -> Self:
        """Of `Views` or `KernelViews`; `y` are classes in the order of the samples."""
        return cls(views.observed, views.names, _take_labels(views, y)).plot(ax)

    def _figure_size(self) -> tuple[float, float]:
        return 7.2, 0.8 + 0.28 * (len(self.names) + (self.labels is not None))

    def _draw(self, ax: Any) -> Any:
        from matplotlib.colors import ListedColormap
        from matplotlib.patches import Patch

        n, n_views = self.observed.shape
        classes, code = ([], np.zeros(n, int)) if self.labels is None else write_classes(self.labels)
        distinct, which, counts = np.unique(self.observed, axis=0, return_inverse=True, return_counts=True)
        rank = np.empty(len(counts), int)
        rank[np.lexsort((np.arange(len(counts)), -distinct.sum(axis=1), -counts))] = np.arange(len(counts))
        order = np.lexsort((code, rank[which.ravel()]))
        strips = [self.observed[order, v].astype(int) for v in range(n_views)]
        colors = [ABSENT, PRESENT, *(color(i) for i in range(len(classes)))]
        if classes:
            strips.append(2 + code[order])
        look = {"cmap": ListedColormap(colors), "vmin": -0.5, "vmax": len(colors) - 0.5}
        ax.imshow(np.array(strips), aspect="auto", interpolation="nearest", **look)
        shares = [
            f"{name} ({has.mean():.0%})" for name, has in zip(self.names, self.observed.T, strict=True)
        ]
        ax.set_yticks(np.arange(len(strips)), [*shares, *(["label"] if classes else [])])
        ax.hlines(np.arange(1, len(strips)) - 0.5, -0.5, n - 0.5, color="white", linewidth=2)
        ax.tick_params(axis="y", length=0)
        ax.set_xlabel(f"{n} samples, by pattern")
        clear_spines(ax, "top", "right", "left", "bottom")
        words = ["absent", "present", *map(str, classes)]
        patches = [Patch(facecolor=c, label=w) for c, w in zip(colors, words, strict=True)]
        ax.legend(handles=patches, loc="upper left", bbox_to_anchor=(1, 1), frameon=False)


@dataclass
class PatternDisplay(Display):
    """An UpSet plot: how many samples have which set of views, the most frequent sets first.

    Parameters
    ----------
    patterns : array of bool, patterns x views
    counts : array of int, patterns x classes
        Samples of each; one column if there are no labels.
    names : sequence of str
        Of the views.
    classes : sequence
        What the columns of `counts` are; empty if there are no labels.
    n_others : int
        Samples of patterns that are not shown.

    Examples
    --------
    >>> from absentia import datasets, missingness, plots
    >>> views, y = datasets.load_digit_views(n_samples=60, return_X_y=True)
    >>> views = views.hide(missingness.mcar(views, 0.3, random_state=0))
    >>> plots.PatternDisplay.from_views(views, y).patterns.shape
    (15, 6)
    """

    patterns: Array
    counts: Array
    names: Sequence[str]
    classes: Sequence[Any] = ()
    n_others: int = 0

    @classmethod
    def from_views(cls, views: Presence, y: Any = None, *, max_patterns: int = 15, ax: Any = None) -> Self:
        """Of `Views` or `KernelViews`; bars are stacked by the classes `y`, if given."""
        labels = _take_labels(views, y)
        classes, code = ([], np.zeros(len(views), int)) if labels is None else write_classes(labels)
        patterns, sizes = views.patterns()
        shown = patterns[:max_patterns]
        same = (views.observed[:, None, :] == shown[None]).all(axis=2)
        counts = np.array([np.bincount(code[rows], minlength=max(1, len(classes))) for rows in same.T])
        return cls(shown, counts, views.names, classes, int(sizes[max_patterns:].sum())).plot(ax)

    def _figure_size(self) -> tuple[float, float]:
        return 2.4 + 0.42 * max(6, len(self.patterns)), 2.2 + 0.26 * len(self.names)

    def _draw(self, ax: Any) -> Any:
        n_patterns, n_views = self.patterns.shape
        heights = {"height_ratios": (2.2, 0.3 * n_views + 0.2), "hspace": 0.06}
        axes = divide_axes(ax, 2, 1, sharex=True, **heights)[:, 0]
        bars, dots = axes
        place, bottom = np.arange(n_patterns), np.zeros(n_patterns)
        for i, part in enumerate(self.counts.T):
            shade, label = (color(i), str(self.classes[i])) if len(self.classes) else (PRESENT, None)
            bars.bar(place, part, 0.7, bottom, color=shade, label=label)
            bottom = bottom + part
        for x, total in zip(place, bottom, strict=True):
            bars.text(x, total, f"{total:.0f}", ha="center", va="bottom", fontsize="small")
        bars.set_ylabel("samples")
        bars.margins(y=0.12)
        clear_spines(bars)
        bars.tick_params(axis="x", length=0)
        if len(self.classes):
            bars.legend(frameon=False)
        for v in range(n_views):
            has = self.patterns[:, v]
            dots.scatter(place[~has], np.full((~has).sum(), v), s=42, color=ABSENT)
            dots.scatter(place[has], np.full(has.sum(), v), s=42, color=PRESENT, zorder=3)
        for x, has in zip(place, self.patterns, strict=True):
            if has.any():
                there = np.flatnonzero(has)
                dots.vlines(x, there[0], there[-1], color=PRESENT, linewidth=1.6)
        list_rows(dots, self.names)
        dots.set_xticks([])
        clear_spines(dots, "bottom")
        if self.n_others:
            dots.set_xlabel(f"{self.n_others} samples of rarer patterns are not shown")
        return axes


@dataclass
class AbsenceDisplay(Display):
    """Why views are absent: how well who lacks a view can be predicted, as areas under ROC curves.

    Parameters
    ----------
    table : DataFrame
        With columns view, from, AUC, low, high and "p corrected".

    Examples
    --------
    >>> from absentia import datasets, inspection, missingness, plots
    >>> views, y = datasets.load_digit_views(n_samples=60, return_X_y=True)
    >>> views = views.hide(missingness.mcar(views, 0.3, random_state=0))
    >>> display = plots.AbsenceDisplay.from_absence(inspection.absence(views))
    """

    table: Any

    @classmethod
    def from_absence(cls, absence: Absence, *, ax: Any = None) -> Self:
        """Of what :func:`absentia.inspection.absence` gives."""
        table = absence.table
        return cls(table[table["AUC"].notna()].reset_index(drop=True)).plot(ax)

    def _figure_size(self) -> tuple[float, float]:
        return 5.6, 0.9 + 0.24 * max(2, len(self.table))

    def _draw(self, ax: Any) -> Any:
        table = self.table
        y = list_rows(ax, (f"{row['view']}, from {row['from']}" for _, row in table.iterrows()))
        unclear = ~(table["p corrected"] < 0.05).to_numpy(bool)
        draw_intervals(ax, y, table["AUC"], table["low"], table["high"], hollow=unclear)
        ax.axvline(0.5, color="0.6", linewidth=1, linestyle=":")
        ax.set_xlim(min(0.3, table["low"].min() - 0.02) if len(table) else 0.3, 1.02)
        ax.set_xlabel("area under the ROC curve, 95 % interval\n(filled: corrected p < 0.05)", loc="right")


@dataclass
class KernelDisplay(Display):
    """Kernels as images, one row of panels for each stage, absent entries grey.

    Parameters
    ----------
    kernels : dict of str to array, views x n x n
        A row of panels for each title ("observed", "completed" ...), NaN where absent.
    names : sequence of str
        Of the views.

    Examples
    --------
    >>> from absentia import CVKT, ViewKernels, datasets, missingness, plots
    >>> views, y = datasets.load_digit_views(n_samples=60, return_X_y=True)
    >>> views = views.hide(missingness.mcar(views, 0.3, random_state=0))
    >>> kernels = ViewKernels().fit_transform(views)
    >>> completed = CVKT(rounds=1).fit_transform(kernels)
    >>> display = plots.KernelDisplay.from_kernels(y, observed=kernels, completed=completed)
    """

    kernels: dict[str, Array]
    names: Sequence[str]

    @classmethod
    def from_kernels(cls, order: Any = None, *, ax: Any = None, **kernels: KernelViews) -> Self:
        """Of kernels by title, ``observed=..., completed=...``.

        Parameters
        ----------
        order : array of shape (n_samples,), optional
            Values (classes, say) to sort samples by; by default they are in their order.
        """
        if not kernels:
            raise ValueError("no kernels came; name some, as in from_kernels(observed=K, completed=done)")
        first = next(iter(kernels.values()))
        for title, K in kernels.items():
            if K.names != first.names or K.ids.tolist() != first.ids.tolist():
                raise ValueError(f"{title!r} has other samples or views than the first kernels")
        rows = np.arange(len(first))
        if order is not None:
            rows = np.argsort(write_classes(_take_labels(first, order))[1], kind="stable")
        dense = {title: K.to_dense()[:, rows][:, :, rows] for title, K in kernels.items()}
        return cls(dense, first.names).plot(ax)

    def _figure_size(self) -> tuple[float, float]:
        return max(2.4, 1.7 * len(self.names)) + 0.8, 1.75 * len(self.kernels) + 0.3

    def _draw(self, ax: Any) -> Any:
        from matplotlib import colormaps

        axes = divide_axes(ax, len(self.kernels), len(self.names))
        shades = colormaps["RdBu_r"].with_extremes(bad=ABSENT)
        for panel, name in zip(axes[0], self.names, strict=True):
            panel.set_title(name, fontsize="medium")
        for row, (title, stack) in zip(axes, self.kernels.items(), strict=True):
            for v, panel in enumerate(row):
                limit = max(float(np.nanmax(np.abs(K[v]), initial=0.0)) for K in self.kernels.values())
                image = panel.imshow(
                    np.ma.masked_invalid(stack[v]),
                    cmap=shades,
                    vmin=-(limit or 1),
                    vmax=limit or 1,
                    interpolation="nearest",
                )
                panel.set_xticks([])
                panel.set_yticks([])
            row[0].set_ylabel(title)
        bar = ax.figure.colorbar(
            image, ax=axes.ravel().tolist(), shrink=0.6, ticks=[image.norm.vmin, 0, image.norm.vmax]
        )
        bar.ax.set_yticklabels(["\N{MINUS SIGN}", "0", "+"])
        bar.set_label("similarity, scaled by view")
        return axes


@dataclass
class EmbeddingDisplay(Display):
    """Samples as points: coloured by label, marked by the views that they have.

    Parameters
    ----------
    points : array, samples x 2
    observed : array of bool, samples x views
    names : sequence of str
        Of the views.
    labels : array of shape (n_samples,), optional
        Classes, or numbers (more than ten different ones), which become a scale of colours.

    Examples
    --------
    >>> from absentia import datasets, missingness, plots
    >>> views, y = datasets.load_digit_views(n_samples=60, return_X_y=True)
    >>> views = views.hide(missingness.mcar(views, 0.3, random_state=0))
    >>> plots.EmbeddingDisplay.from_views(views, y).points.shape
    (60, 2)
    """

    points: Array
    observed: Array
    names: Sequence[str]
    labels: Array | None = None

    @classmethod
    def from_views(cls, views: Any, y: Any = None, *, points: Any = None, ax: Any = None) -> Self:
        """Of `Views`, or complete `KernelViews`, by :func:`absentia.embed` unless `points` are given."""
        labels = _take_labels(views, y)
        points = absentia.embed(views, 2) if points is None else check_length(points, len(views), "points")
        return cls(np.asarray(points)[:, :2], views.observed, views.names, labels).plot(ax)

    def _draw(self, ax: Any) -> Any:
        patterns, which = np.unique(self.observed, axis=0, return_inverse=True)
        which = which.ravel()
        frequent = np.argsort(-np.bincount(which), kind="stable")
        marks = {int(p): min(i, 3) for i, p in enumerate(frequent)}  # rarer ones share the fourth
        mark = np.array([marks[int(p)] for p in which])
        words = [name_pattern(patterns[p], self.names) for p in frequent[:4]]
        if len(frequent) > 4:
            words[3] = "other views"
        shades, legend = self._find_shades()
        for i in range(len(words)):
            rows = mark == i
            full = self.observed[rows].all(axis=1).all()
            face: Any = shades[rows] if full else "none"
            look = {"s": 22, "marker": MARKERS[i], "linewidths": 0.9}
            ax.scatter(*self.points[rows].T, facecolors=face, edgecolors=shades[rows], **look)
            fill = "0.3" if full else "none"
            legend.append(_make_key(words[i], MARKERS[i], markerfacecolor=fill, markeredgecolor="0.3"))
        ax.locator_params(axis="x", nbins=5)  # the legend leaves no width for more
        ax.set_xlabel("first coordinate")
        ax.set_ylabel("second coordinate")
        clear_spines(ax)
        ax.legend(handles=legend, loc="upper left", bbox_to_anchor=(1, 1), frameon=False, fontsize="small")

    def _find_shades(self) -> tuple[Array, list[Any]]:
        """A colour for each sample, and what stands for them in a legend."""
        from matplotlib import colormaps

        if self.labels is None:
            return np.full(len(self.points), PRESENT), []
        values = np.asarray(self.labels)
        if values.dtype.kind in "fiu" and len(np.unique(values)) > 10:
            low, high = np.nanmin(values), np.nanmax(values)
            scale = colormaps["viridis"]
            ends = {0.0: low, 0.5: (low + high) / 2, 1.0: high}
            legend = [_make_key(f"{value:.3g}", "s", color=scale(at)) for at, value in ends.items()]
            return scale((values - low) / ((high - low) or 1)), legend
        classes, code = write_classes(values)
        legend = [_make_key(str(name), "s", color=color(i)) for i, name in enumerate(classes)]
        return np.array([color(i) for i in code]), legend


def _make_key(words: str, marker: str, **look: Any) -> Any:
    """An entry of a legend: a marker and what it stands for."""
    from matplotlib.lines import Line2D

    return Line2D([], [], linestyle="", marker=marker, label=words, **look)


@dataclass
class ValuesDisplay(Display):
    """Values of absent views against the truth, a panel for each view, in deviations of each feature.

    Parameters
    ----------
    values : dict of str to (truth, told)
        Arrays of the same length by view, standardised by the observed values of the feature.

    Examples
    --------
    >>> from absentia import complete_values, datasets, missingness, plots
    >>> truth = datasets.load_digit_views(n_samples=60).views.select(["pixels", "fourier"])
    >>> views = truth.hide(missingness.mcar(truth, 0.3, random_state=0))
    >>> display = plots.ValuesDisplay.from_completed(complete_values(views, keep="all"), truth)
    """

    values: dict[str, tuple[Array, Array]]

    @classmethod
    def from_completed(cls, completed: absentia.CompletedValues, truth: Views, *, ax: Any = None) -> Self:
        """Of what :func:`absentia.complete_values` gives, and views that were never absent.

        Numeric features only; samples that were not filled, or whose truth is not known, do not count.
        """
        values = {}
        for name in truth.names:
            told = completed.views.to_frame(name, absent="keep").select_dtypes("number")
            known = truth.to_frame(name, absent="keep").reindex(index=told.index, columns=told.columns)
            was_filled = completed.filled[name].to_numpy(bool)
            own = told[~was_filled]
            center, scale = own.mean(), own.std(ddof=0).replace(0.0, np.nan)
            pair = [
                ((table - center) / scale)[was_filled].to_numpy(float).ravel() for table in (known, told)
            ]
            there = np.isfinite(pair).all(axis=0)
            if there.any():
                values[name] = (pair[0][there], pair[1][there])
        if not values:
            raise ValueError("no view has values that were filled in and whose truth is known")
        return cls(values).plot(ax)

    def _figure_size(self) -> tuple[float, float]:
        n_rows, n_columns = self._shape()
        return 0.6 + 2.2 * n_columns, 0.4 + 2.6 * n_rows

    def _shape(self) -> tuple[int, int]:
        n_columns = min(len(self.values), 3)
        return -(-len(self.values) // n_columns), n_columns

    def _draw(self, ax: Any) -> Any:
        axes = divide_axes(ax, *self._shape(), sharex=True, sharey=True)
        for panel in axes.ravel()[len(self.values) :]:
            panel.set_axis_off()
        for panel, (name, (truth, told)) in zip(axes.ravel(), self.values.items(), strict=False):
            step = -(-len(truth) // _MAX_POINTS)
            panel.scatter(
                truth[::step], told[::step], s=4, alpha=0.3, color=PRESENT, linewidths=0, rasterized=True
            )
            ends = np.array([-3.0, 3.0])
            panel.plot(ends, ends, color="0.6", linewidth=1, linestyle=":")
            together = (
                np.corrcoef(truth, told)[0, 1] if len(truth) > 1 and told.std() and truth.std() else np.nan
            )
            panel.set_title(f"{name}: r = {together:.2f}", fontsize="medium")
            panel.set(xlim=(-3.5, 3.5), ylim=(-3.5, 3.5), aspect="equal", xlabel="truth")
            clear_spines(panel)
        for panel in axes[:, 0]:
            panel.set_ylabel("filled in")
        return axes
