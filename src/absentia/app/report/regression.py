"""The page about numbers: how much is explained, predicted against true, for whom, which views it takes."""

import math
from collections.abc import Iterator
from dataclasses import dataclass

import numpy as np

from absentia.app.report._page import (
    DASH,
    Cell,
    Column,
    Section,
    bar_cell,
    format_count,
    format_decimal,
    format_number,
    get_paragraphs,
    get_words,
    make_method_table,
    make_scrollable,
    make_section,
    note,
    render_page,
    sentences,
    shorten,
)
from absentia.app.report._sections import (
    FEW_SAMPLES,
    PredictionReport,
    make_absence_section,
    make_contribution_section,
    make_coverage_section,
    make_patterns_section,
    make_presence_section,
    make_reading_section,
)
from absentia.core import Array
from absentia.core.svg import Frame, Markup, element, round_ticks, widen
from absentia.experiment import numbers as regression

_MAX_DOTS = 1500


@dataclass(frozen=True, eq=False, kw_only=True)
class RegressionReport(PredictionReport):
    """What the page about numbers tells, beside what all predictions do.

    Parameters
    ----------
    target : str
        What the numbers are called.
    truth : (n,)
        The numbers.
    without : (n, V)
        What the method says out of fold if a view is hidden from a sample.
    ids : (n,)
        Of the samples.
    """

    target: str
    truth: Array
    without: Array
    ids: Array


def render_numbers(data: RegressionReport) -> str:
    """The page as HTML."""
    sections = [
        _make_explained_section(data),
        _make_scatter_section(data),
        _make_errors_section(data),
        make_coverage_section(data, "Intervals", "Mean width"),
        _make_view_section(data),
        make_presence_section(data),
        make_absence_section(data),
        make_reading_section(get_paragraphs("regression.reading"), data.facts),
    ]
    return render_page("regression", data, _list_figures(data), sections, sheets=["regression.css"])


def _list_figures(data: RegressionReport) -> list[tuple[str, str]]:
    (r2, low, high), rmse, _ = regression.errors(data.truth, data.predicted, data.groups)
    spread = format_number(float(data.truth.std()))
    n_views = format_count(data.n_views, "view")
    n_all = format_number(max(data.n_all, data.n_samples))
    return [
        (format_decimal(r2), f"R², the share explained in cross-validation by {data.method}"),
        (f"{format_decimal(low, 2)} to {format_decimal(high, 2)}", "95% interval of it"),
        (format_number(rmse), f"root mean squared error; {data.target} has deviation {spread}"),
        (format_number(data.n_samples), f"samples in {n_views}, of {n_all} that came"),
    ]


def _make_explained_section(data: RegressionReport) -> Section:
    """R², RMSE and MAE of each method."""
    scores = {name: regression.errors(data.truth, p, data.groups) for name, p in data.predictions.items()}

    def describe(name: str) -> list[str | Cell]:
        (value, low, high), rmse, mae = scores[name]
        return [
            format_decimal(value),
            f"{format_decimal(low)} to {format_decimal(high)}",
            format_number(rmse),
            format_number(mae),
            bar_cell(100 * min(value, 1.0)),
        ]

    table = make_method_table(
        "Explained variance and errors",
        ["R²", "95% interval", "RMSE", "MAE"],
        {name: score.r2.value for name, score in scores.items()},
        describe,
        file="explained",
    )
    target = shorten(data.target, 40)
    words = note(get_words("regression.explained.errors", target=target))
    verdicts = sentences(_compare_with_baselines(data))
    return make_section("regression.explained", [table, words, verdicts], target=target)


def _compare_with_baselines(data: RegressionReport) -> Iterator[str]:
    """The method against each baseline, sample by sample."""
    predicted = data.predicted
    for name, baseline in list(data.predictions.items())[1:]:
        value, low, high = regression.explained_more(data.truth, predicted, baseline, data.groups)
        end = "chance could make that" if low <= 0 <= high else "more than chance would make"
        yield (
            f"{data.method} explains {format_decimal(abs(value))} {'more' if value >= 0 else 'less'} than "
            f"{name} (95% interval {format_decimal(low)} to {format_decimal(high)}): {end}."
        )


def _make_scatter_section(data: RegressionReport) -> Section:
    """Predicted against true numbers, samples with every view apart from those that lack some."""
    complete = data.observed.all(axis=1)
    every = math.ceil(data.n_samples / _MAX_DOTS)
    shown = np.arange(data.n_samples) % every == 0
    blocks = [make_scrollable(_draw_scatter(data, shown), "Predicted against true")]
    if every > 1:
        left_out = data.n_samples - int(shown.sum())
        words = f"{left_out} of {data.n_samples} samples are not drawn: one of every {every} is."
        blocks.append(note(words))
    counts = {"n_complete": (shown & complete).sum(), "n_incomplete": (shown & ~complete).sum()}
    return make_section("regression.scatter", blocks, method=data.method, **counts)


def _draw_scatter(data: RegressionReport, shown: Array) -> Markup:
    """One scale for both axes; samples that lack views are hollow."""
    complete = np.asarray(data.observed.all(axis=1))
    predicted, target = data.predicted, shorten(data.target, 40)
    ends = widen([*data.truth.tolist(), *predicted.tolist()], 0.04)
    frame = Frame.make((520, 520), ends, ends, (76.0, 16.0, 14.0, 54.0))
    ticks = {tick: f"{tick:g}".replace("-", "−") for tick in round_ticks(*ends)}
    axes = frame.axes(ticks, ticks, f"true {target}", "predicted", 16)
    groups = []
    for members, css, colour, radius in ((complete, None, "c0", 3.4), (~complete, "part", "c1", 3.2)):
        dots = []
        for i in np.flatnonzero(shown & members).tolist():
            true, value = float(data.truth[i]), float(predicted[i])
            numbers = f"{format_number(true)}, predicted {format_number(value)}"
            title = element("title", f"{shorten(str(data.ids[i]), 40)}: {numbers}")
            dots.append(element("circle", title, cx=frame.x(true), cy=frame.y(value), r=radius))
        groups.append(element("g", *dots, class_=css, style=f"color:var(--{colour})"))
    label = f"Predicted against true {target} of {data.n_samples} samples"
    return frame.draw(axes, frame.diagonal(), *groups, label=label, class_="chart scatter")


def _rmse(truth: Array, predicted: Array) -> float:
    return float(np.sqrt(np.mean((truth - predicted) ** 2)))


def _make_errors_section(data: RegressionReport) -> Section:
    """RMSE by missing pattern."""

    def describe(members: Array) -> tuple[list[str], bool]:
        errors = [_rmse(data.truth[members], p[members]) for p in data.predictions.values()]
        return [format_number(error) for error in errors], members.sum() < FEW_SAMPLES

    return make_patterns_section(
        data,
        "Root mean squared error among samples that have the same views; less is better.",
        [*data.predictions],
        describe,
        f"Rows marked few have fewer than {FEW_SAMPLES} samples; read no ranking into them.",
    )


def _make_view_section(data: RegressionReport) -> Section:
    """How much larger the error becomes where each view is hidden."""

    def compare(v: int, has: Array) -> tuple[list[str], float]:
        before = _rmse(data.truth[has], data.predicted[has])
        after = _rmse(data.truth[has], data.without[has, v])
        rise = format_decimal(100 * (after / before - 1), 1, "+") + "%" if before > 0 else DASH
        return [format_number(before), format_number(after), rise], after - before

    return make_contribution_section(
        data,
        ["RMSE with it", Column("without it", full="RMSE without it"), "Change"],
        compare,
        did="predicted",
        effect="larger the error becomes",
        loss="rise of the error",
        default="mean",
    )
