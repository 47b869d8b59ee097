"""The page about numbers: how much is explained, predicted against true, for whom, which views it takes."""

import math
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field

import numpy as np

from absentia.app.report._blocks import (
    BAR,
    Block,
    Column,
    Table,
    bar_cell,
    make_scrollable,
    method_row,
    note,
    sentences,
)
from absentia.app.report._format import DASH, format_count, format_decimal, format_number, shorten
from absentia.app.report._page import Figure, Section, make_reading_section, render_page
from absentia.app.report._prediction import (
    FEW_SAMPLES,
    make_contribution_section,
    make_dropped_section,
    make_patterns_section,
)
from absentia.app.report._presence import make_presence_section
from absentia.core import Array
from absentia.core.svg import Frame, Markup, element, round_ticks, widen
from absentia.experiment import numbers as regression

MAX_DOTS = 1500
_READING = {
    "Out of fold": "The samples were dealt into groups with their share of small and large numbers; each "
    "group was predicted by a model that had not seen it, down to its scales, kernel widths, completion "
    "and penalty. The model in the file has learned from all of them. New samples from elsewhere may "
    "fare worse.",
    "Baselines": "Zero-filled ridge regression is the same on kernels in which absent views count as "
    "zero. The forest reads all features side by side, absent ones as they are. The mean is what one "
    "predicts without looking.",
    "Intervals": "They are by jackknife and hold for these folds and samples. A few samples far from the "
    "others may decide R²; the scatter shows them.",
}
_STYLE = """
.scatter { max-width: 34rem; }
.scatter circle { fill: currentColor; fill-opacity: .55; stroke: none; }
.scatter .part circle { fill: none; stroke: currentColor; stroke-opacity: .8; stroke-width: 1.3; }
"""


@dataclass(frozen=True, eq=False)
class NumbersStory:
    """Everything the page tells, as arrays, numbers and sentences.

    Parameters
    ----------
    title, summary : str
    target : str
        What the numbers are called.
    names : sequence of str
        The V views.
    observed : (n, V) bool
        Who has which view, of the samples learned from.
    truth : (n,)
        The numbers.
    predictions : mapping of str to (n,)
        Out-of-fold predictions of the method, first, and of the baselines.
    without : (n, V)
        What the method says out of fold if a view is hidden from a sample.
    ids : (n,)
        Of the samples.
    n_all, dropped, warnings, facts
        As in :class:`ClassificationStory`.
    """

    title: str
    summary: str
    target: str
    names: Sequence[str]
    observed: Array
    truth: Array
    predictions: Mapping[str, Array]
    without: Array
    ids: Array
    n_all: int = 0
    dropped: Mapping[str, int] = field(default_factory=dict)
    warnings: Sequence[str] = ()
    facts: Mapping[str, str] = field(default_factory=dict)

    @property
    def n_samples(self) -> int:
        return len(self.truth)

    @property
    def n_views(self) -> int:
        return len(self.names)

    @property
    def method(self) -> str:
        return next(iter(self.predictions))


def render_numbers(story: NumbersStory) -> str:
    """The page as HTML."""
    sections = [make(story) for make in SECTIONS.values()]
    return render_page("regression", story, _list_figures(story), sections, style=_STYLE)


def _list_figures(story: NumbersStory) -> list[Figure]:
    scores = regression.errors(story.truth, story.predictions[story.method])
    low, high = format_decimal(scores.r2.low, 2), format_decimal(scores.r2.high, 2)
    spread = format_number(float(story.truth.std()))
    n_all = format_number(max(story.n_all, story.n_samples))
    return [
        Figure(
            format_decimal(scores.r2.value),
            f"R², the share explained in cross-validation by {story.method}",
        ),
        Figure(f"{low} to {high}", "95% interval of it"),
        Figure(
            format_number(scores.rmse), f"root mean squared error; {story.target} has deviation {spread}"
        ),
        Figure(
            format_number(story.n_samples),
            f"samples in {format_count(story.n_views, 'view')}, of {n_all} that came",
        ),
    ]


def _make_explained_section(story: NumbersStory) -> Section:
    """R², RMSE and MAE of each method."""
    scores = {name: regression.errors(story.truth, p) for name, p in story.predictions.items()}
    highest = max(score.r2.value for score in scores.values())
    rows = []
    for name, ((value, low, high), rmse, mae) in scores.items():
        width, left, right = (100 * float(np.clip(x, 0, 1)) for x in (value, low, high))
        baseline = name != story.method
        interval = f"{format_decimal(low)} to {format_decimal(high)}"
        bar = bar_cell(width, (left, right), dim=baseline, cut=bool(low < 0))
        cells = [interval, format_number(rmse), format_number(mae)]
        best = value == highest
        rows.append(method_row(name, format_decimal(value), [*cells, bar], baseline=baseline, best=best))
    target = shorten(story.target, 40)
    words = (
        "RMSE is the root of the mean squared error, MAE the mean of the errors without their signs, "
        f"both in units of {target}."
    )
    if any(score.r2.low < 0 for score in scores.values()):
        words += " Bars begin at 0; an arrow at their left: the interval goes on below 0."
    columns: list[str | Column] = ["Method", "R²", "95% interval", "RMSE", "MAE", BAR]
    return Section(
        "explained",
        "How well",
        "How much is explained",
        f"R² is the share of the variance of {target} that is explained: 1 is perfect, 0 is no better "
        "than the mean, and less than 0 is worse. Every number was predicted by a model that had not "
        "seen the sample; the baselines had the same folds.",
        [
            Table("Explained variance and errors", columns, rows, "accuracy", file="explained"),
            note(words),
            sentences(list(_compare_with_baselines(story))),
        ],
    )


def _compare_with_baselines(story: NumbersStory) -> Iterator[str]:
    """The method against each baseline, sample by sample."""
    predicted = story.predictions[story.method]
    for name, baseline in story.predictions.items():
        if name != story.method:
            value, low, high = regression.explained_more(story.truth, predicted, baseline)
            end = "chance could make that" if low <= 0 <= high else "more than chance would make"
            yield (
                f"{story.method} explains {format_decimal(abs(value))} "
                f"{'more' if value >= 0 else 'less'} than {name} (95% interval {format_decimal(low)} to "
                f"{format_decimal(high)}): {end}."
            )


def _make_scatter_section(story: NumbersStory) -> Section:
    """Predicted against true numbers, samples with every view apart from those that lack some."""
    complete = story.observed.all(axis=1)
    every = math.ceil(story.n_samples / MAX_DOTS)
    shown = np.arange(story.n_samples) % every == 0
    label = f"Predicted against true {shorten(story.target, 40)} of {story.n_samples} samples"
    blocks: list[Block] = [
        _draw_scatter_key(int((shown & complete).sum()), int((shown & ~complete).sum())),
        make_scrollable(_draw_scatter(story, shown, label), "Predicted against true"),
    ]
    if every > 1:
        left_out = story.n_samples - int(shown.sum())
        words = f"{left_out} of {story.n_samples} samples are not drawn: one of every {every} is."
        blocks.append(note(words))
    lead = (
        f"Each dot is a sample, predicted by {story.method} out of fold. On the dashed line the two are "
        "the same. Where little can be predicted, predictions stay near the mean: the cloud is flatter "
        "than the line."
    )
    return Section("scatter", "Predicted and true", "Predicted and true", lead, blocks)


def _draw_scatter(story: NumbersStory, shown: Array, label: str) -> Markup:
    """One scale for both axes; samples that lack views are hollow."""
    predicted = story.predictions[story.method]
    ends = widen([*story.truth.tolist(), *predicted.tolist()], 0.04)
    frame = Frame.make((520, 520), ends, ends, (76.0, 16.0, 14.0, 54.0))
    ticks = {tick: f"{tick:g}".replace("-", "−") for tick in round_ticks(*ends)}
    axes = frame.axes(ticks, ticks, f"true {shorten(story.target, 40)}", "predicted", 16)
    complete = story.observed.all(axis=1)
    groups = []
    for members, css, colour, radius in ((complete, None, "c0", 3.4), (~complete, "part", "c1", 3.2)):
        dots = []
        for i in np.flatnonzero(shown & members).tolist():
            true, value = float(story.truth[i]), float(predicted[i])
            words = (
                f"{shorten(str(story.ids[i]), 40)}: {format_number(true)}, predicted {format_number(value)}"
            )
            dots.append(
                element("circle", element("title", words), cx=frame.x(true), cy=frame.y(value), r=radius)
            )
        groups.append(element("g", *dots, class_=css, style=f"color:var(--{colour})"))
    return frame.draw(axes, frame.diagonal(), *groups, label=label, class_="chart scatter")


def _draw_scatter_key(n_complete: int, n_incomplete: int) -> Markup:
    full = {"fill": "var(--c0)", "fill_opacity": ".55"}
    hollow = {"fill": "none", "stroke": "var(--c1)", "stroke_width": "1.3"}
    size = {"width": 12, "height": 12, "viewBox": "0 0 12 12"}
    keys = []
    for words, look in ((f"has every view ({n_complete})", full), (f"lacks some ({n_incomplete})", hollow)):
        circle = element("circle", cx=6, cy=6, r=4.5, **look)
        keys.append(element("span", element("svg", circle, aria_hidden="true", **size), words))
    return element("p", *keys, class_="legend")


def _make_errors_section(story: NumbersStory) -> Section:
    """RMSE by missing pattern."""

    def describe(members: Array) -> tuple[list[str], bool]:
        errors = [_rmse(story.truth[members], p[members]) for p in story.predictions.values()]
        return [format_number(error) for error in errors], members.sum() < FEW_SAMPLES

    return make_patterns_section(
        story,
        "Root mean squared error among samples that have the same views; less is better.",
        [*story.predictions],
        describe,
        "",
        f"Rows marked few have fewer than {FEW_SAMPLES} samples; read no ranking into them.",
    )


def _rmse(truth: Array, predicted: Array) -> float:
    return float(np.sqrt(np.mean((truth - predicted) ** 2)))


def _make_view_section(story: NumbersStory) -> Section:
    """How much larger the error becomes where each view is hidden."""

    def compare(v: int, has: Array) -> tuple[list[str], float]:
        before = _rmse(story.truth[has], story.predictions[story.method][has])
        after = _rmse(story.truth[has], story.without[has, v])
        rise = format_decimal(100 * (after / before - 1), 1, "+") + "%" if before > 0 else DASH
        return [format_number(before), format_number(after), rise], after - before

    columns: list[str | Column] = ["RMSE with it", Column("without it", full="RMSE without it"), "Change"]
    return make_contribution_section(
        story,
        "Each view in turn was hidden from the samples that have it, and the models of the folds, not "
        "fitted again, predicted them from the views left. The larger the error becomes, the more "
        f"{story.method} leans on the view.",
        columns,
        compare,
        "Bars: the rise of the error, where there is one. A sample whose only view is hidden gets the "
        "mean. Views that hold the same information stand in for one another: each alone may seem to "
        "contribute little.",
    )


#: The sections of the page, in its order, each a function of the report's data.
SECTIONS: dict[str, Callable[[NumbersStory], Section | None]] = {
    "scores": _make_explained_section,
    "scatter": _make_scatter_section,
    "patterns": _make_errors_section,
    "contributions": _make_view_section,
    "presence": make_presence_section,
    "dropped": lambda story: make_dropped_section(
        story, "Nobody: every sample that came has a number and at least one view."
    ),
    "reading": lambda story: make_reading_section(_READING, story.facts),
}
