"""The section about learning curves: what more samples, or a view for more of them, would add."""

import math
from collections.abc import Sequence

from absentia.app.report._format import DASH, ScoreFormat, format_count, format_number
from absentia.app.report._intervals import Axis, fit_axis, make_interval_table
from absentia.app.report._page import (
    Cell,
    Column,
    Columns,
    Row,
    Section,
    draw_swatch,
    heading,
    make_scrollable,
    name_cell,
    note,
    sentences,
)
from absentia.core.svg import Frame, Markup, dot, element, fill, line, round_ticks, text
from absentia.experiment.learning_curve import LearningCurve, SampleCurve, SizeScore, ViewCurve
from absentia.experiment.results import ComparisonResults

_SIZE, _MARGINS = (720, 340), (58.0, 16.0, 16.0, 46.0)


def make_learning_curve_section(results: ComparisonResults) -> Section | None:
    """Scores over training samples with what twice as many would reach, and what views would add."""
    learned = results.learning_curve
    if learned is None or not any(curve.points for curve in learned.samples):
        return None
    fmt = ScoreFormat(learned.metric)
    shown = [curve for curve in learned.samples if curve.points]
    keys = [
        fill("<span>{} {}</span>", draw_swatch(f"c{i} d0"), curve.method) for i, curve in enumerate(shown)
    ]
    blocks = [
        sentences(curve.sentence for curve in shown),
        fill('<p class="legend">{}</p>', keys),
        make_scrollable(_draw_samples(fmt, shown, results.n_samples), "Chart over training samples"),
        note(
            "Dots are means over the same held-out folds, lines through them 95% intervals. Curves are "
            "fitted to them, a − b n^−c, dashed beyond what was measured; bands are of 95%."
        ),
    ]
    if any(curve.so_far for curve in learned.views):
        blocks += _draw_views(learned)
    lead = (
        f"Methods learned from parts of the training samples as well, and were measured on the same "
        f"samples: {fmt.metric.name}, {fmt.direction}. The right end is twice the samples that there are."
    )
    return Section("learning-curve", "Learning curve", "What would more samples add?", lead, blocks)


def _draw_samples(fmt: ScoreFormat, curves: Sequence[SampleCurve], n_samples: int) -> Markup:
    """Measured scores and fitted curves with their bands, up to twice the samples."""
    scores = [fmt.clip_interval(p.score) for curve in curves for p in (*curve.points, *curve.fitted)]
    axis = fit_axis(scores, include=[score.value for score in scores], percent=fmt.metric.share)
    largest = 2 * n_samples
    frame = Frame.make(_SIZE, (0.0, 1.04 * largest), (0.0, 100.0), _MARGINS)
    axes = frame.axes(
        {tick: format_number(round(tick)) for tick in round_ticks(0, largest)},
        {axis.place(tick): label for tick, label in axis.ticks.items()},
        "training samples",
        fmt.metric.name,
        13,
    )
    x = frame.x(n_samples)
    there = [
        line(x, frame.y.start, x, frame.y.stop, class_="ideal"),
        text(x + 6, frame.y.stop + 12, f"all {format_count(n_samples, 'sample')}"),
    ]
    drawn = [
        element("g", *_draw_curve(fmt, frame, axis, curve, 3.0 * i), class_=f"line c{i}")
        for i, curve in enumerate(curves)
    ]
    label = f"{fmt.metric.name} by the number of training samples, with what twice the samples would reach"
    return frame.draw(axes, *there, *drawn, label=label, role="group")


def _draw_curve(
    fmt: ScoreFormat, frame: Frame, axis: Axis, curve: SampleCurve, shift: float
) -> list[Markup]:
    """Band, fitted line in full and then dashed, and dots, which are shifted by some pixels."""
    parts = []
    if curve.fitted:
        ends = [fmt.clip_interval(point.score) for point in curve.fitted]
        sizes = [point.n for point in curve.fitted]
        low, high = ([(n, axis.place(end[k])) for n, end in zip(sizes, ends, strict=True)] for k in (1, 2))
        parts.append(element("path", class_="band", d=frame.path([*high, *reversed(low)]) + "Z"))
        values = [(n, axis.place(end.value)) for n, end in zip(sizes, ends, strict=True)]
        measured = [n <= curve.points[-1].n for n in sizes]
        last = max(1, sum(measured))
        parts.append(element("path", class_="d0", d=frame.path(values[:last])))
        parts.append(element("path", class_="d1", d=frame.path(values[last - 1 :])))
    return [*parts, *(_draw_dot(fmt, frame, axis, curve.method, point, shift) for point in curve.points)]


def _draw_dot(
    fmt: ScoreFormat, frame: Frame, axis: Axis, method: str, point: SizeScore, shift: float
) -> Markup:
    score = fmt.clip_interval(point.score)
    value, low, high = (frame.y(axis.place(end if math.isfinite(end) else score.value)) for end in score)
    tip = f"{method}, {point.n:.0f} training samples: {fmt.metric.name} {fmt.format_score(score.value)}"
    tip += f"; 95% interval {fmt.format_interval(score)}"
    x = round(frame.x(point.n) + shift, 1)
    return dot(x, value, tip, 3.4, interval=(low, high), tabindex=0, role="img", aria_label=tip)


def _draw_views(learned: LearningCurve) -> list[Markup]:
    """What each view adds so far, and would add for those who lack it."""
    gains = [curve.gain for curve in learned.views if curve.gain is not None]
    sides = [*gains, *(curve.so_far for curve in learned.views if curve.so_far is not None)]
    fmt = ScoreFormat.of_differences(learned.metric, (x for interval in sides for x in interval))
    axis = fit_axis(gains, include=(0.0,), percent=learned.metric.share, sign=True)
    columns: Columns = [
        "View",
        Column("For everybody", note=fmt.unit, full="Gain if everybody had it"),
        Column("95% interval", css="between", full="Gain if everybody had it, 95% interval"),
        Column("So far", note=fmt.unit, full="Gain so far"),
        Column("Per sample", note=fmt.unit, full="Gain per sample that has it"),
        "Have it",
        "Lack it",
    ]
    rows = [_make_view_row(fmt, axis, curve) for curve in learned.views]
    table = make_interval_table(axis, "What views would add", columns, rows, "gaps", base=0.0)
    words = (
        f"With {learned.samples[0].method}: each view was hidden from half of the samples that have it and "
        "another one, and from all of them, in training and test. The line through these scores is drawn "
        "on to everybody, and towards zero as far as folds disagree. Who lacks a view for a reason "
        "may gain more, or less."
    )
    return [heading("Which view for how many?"), note(words), table]


def _make_view_row(fmt: ScoreFormat, axis: Axis, curve: ViewCurve) -> Row:
    cells: list[str | Cell] = [Cell("", css="tracked"), DASH, DASH]
    if curve.gain is not None:
        value, low, high = curve.gain
        interval = fmt.format_difference_interval(low, high)
        cells = [
            axis.draw_interval(curve.gain, "method", curve.sentence),
            fmt.format_difference(value),
            interval,
        ]
    so_far = DASH if curve.so_far is None else fmt.format_difference(curve.so_far.value)
    factor = 100 if fmt.metric.share else 1
    each = DASH if curve.per_sample is None else f"{factor * curve.per_sample.value:+.2g}".replace("-", "−")
    counts = [format_number(curve.have), format_number(curve.lack)]
    return Row([name_cell(curve.view, 32), *cells, so_far, each, *counts])
