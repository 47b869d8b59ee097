"""The page about times and events: how well risks are ordered, curves by predicted risk, for whom."""

import math
from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field

import numpy as np

from absentia import experiment
from absentia.app.report._page import (
    DASH,
    Cell,
    Row,
    Section,
    bar_cell,
    format_count,
    format_decimal,
    format_number,
    format_p,
    get_paragraphs,
    make_method_table,
    make_scrollable,
    make_section,
    make_table,
    render_page,
    sentences,
    shorten,
    swatch_cell,
)
from absentia.app.report._sections import (
    PredictionReport,
    make_absence_section,
    make_coverage_section,
    make_patterns_section,
    make_presence_section,
    make_reading_section,
)
from absentia.core import Array
from absentia.core.svg import Frame, Markup, element, round_ticks, text
from absentia.data.survival import Survival, evaluate_steps, kaplan_meier, log_rank

_FEW_EVENTS = 10  # below, a concordance says little
_GROUPS = ("low risk", "middle risk", "high risk")
_COLOURS = (0, 2, 1)
_HEIGHT, _LINE = 330.0, 20.0  # of the chart, and of a line of numbers at risk below it
_MAX_MARKS = 120


@dataclass(frozen=True, eq=False, kw_only=True)
class SurvivalReport(PredictionReport):
    """What the page about times and events tells, beside what all predictions do.

    Parameters
    ----------
    time, event : (n,)
        When, and whether it happened.
    fold : (n,) int
        Which fold each sample was held out in.
    unit : str
        What times are called.
    views : mapping of str to (str, str)
        Weight and out-of-fold concordance of each view, where the method has them.
    """

    time: Array
    event: Array
    fold: Array
    unit: str = "time"
    views: Mapping[str, tuple[str, str]] = field(default_factory=dict)

    @property
    def target(self) -> Survival:
        return Survival(self.time, self.event.astype(bool))


def render_survival(data: SurvivalReport) -> str:
    """The page as HTML."""
    sections = [
        _make_concordance_section(data),
        _make_curves_section(data),
        _make_events_section(data),
        make_coverage_section(data, "Times before which no event is expected", "Mean time"),
        _make_weights_section(data),
        make_presence_section(data),
        make_absence_section(data),
        make_reading_section(get_paragraphs("survival.reading"), data.facts),
    ]
    return render_page("survival", data, _list_figures(data), sections, sheets=["survival.css"])


def _list_figures(data: SurvivalReport) -> list[tuple[str, str]]:
    risk = data.predicted
    value, low, high = experiment.concordance(data.target, risk, data.fold, data.groups)
    n_all = format_number(max(data.n_all, data.n_samples))
    n_views = format_count(data.n_views, "view")
    return [
        (f"{value:.3f}", f"concordance in cross-validation with {data.method}"),
        (f"{low:.2f} to {high:.2f}", "95% interval; 0.5 is chance"),
        (format_number(data.n_samples), f"samples, of {n_all}"),
        (format_number(int(data.event.sum())), f"events, seen in {n_views}"),
    ]


def _make_concordance_section(data: SurvivalReport) -> Section:
    """The concordance index of each method."""
    scores = {
        name: experiment.concordance(data.target, risk, data.fold, data.groups)
        for name, risk in data.predictions.items()
    }

    def describe(name: str) -> list[str | Cell]:
        value, low, high = scores[name]
        interval = f"{low:.3f} to {high:.3f}" if high > low else DASH
        return [f"{value:.3f}", interval, bar_cell(100 * value)]

    values = {name: score.value for name, score in scores.items()}
    table = make_method_table("Concordance", ["Concordance", "95% interval"], values, describe)
    verdicts = sentences(_compare_with_baselines(data))
    return make_section("survival.concordance", [table, verdicts])


def _compare_with_baselines(data: SurvivalReport) -> Iterator[str]:
    """The method against each baseline, pair by pair."""
    risk = data.predicted
    for name, baseline in list(data.predictions.items())[1:]:
        given = (data.target, risk, baseline, data.fold, data.groups)
        value, low, high = experiment.concordance_gain(*given)
        end = "a difference that chance could make" if low <= 0 <= high else "more than chance would make"
        yield (
            f"{data.method} is {abs(value):.3f} {'above' if value >= 0 else 'below'} {name} (95% interval "
            f"{format_decimal(low, sign='+')} to {format_decimal(high, sign='+')}): {end}."
        )


# -------------------------------------------------------------------------------------------- curves


def _find_risk_groups(risk: Array, fold: Array) -> Array:
    """Which third each sample is in (0 low to 2 high), by its rank within its fold; equals together."""
    group = np.zeros(len(risk), dtype=int)
    for k in np.unique(fold):
        held_out = np.flatnonzero(fold == k)
        _, place, counts = np.unique(risk[held_out], return_inverse=True, return_counts=True)
        middle = (np.cumsum(counts) - counts / 2)[place] / len(held_out)
        group[held_out] = np.minimum(np.floor(len(_GROUPS) * middle), len(_GROUPS) - 1)
    return group


def _make_curves_section(data: SurvivalReport) -> Section:
    """Kaplan-Meier curves of thirds of the samples by predicted risk, the highest first."""
    y, group = data.target, _find_risk_groups(data.predicted, data.fold)
    present = [k for k in reversed(range(len(_GROUPS))) if (group == k).any()]
    verdict = "All samples are in one group: their risks are equal."
    if len(present) > 1:
        p = format_p(log_rank(y.time, y.event, group).pvalue)
        verdict = f"That they are the same curve is judged by a log-rank test: {p}."
    rows = []
    for k in present:
        members, name = group == k, swatch_cell(f"c{_COLOURS[k]}", _GROUPS[k])
        counts = [format_number(int(x)) for x in (members.sum(), y.event[members].sum())]
        rows.append(Row([name, *counts]))
    label = f"Share without event over time by predicted risk. {verdict}"
    curves = {k: Survival(y.time[group == k], y.event[group == k]) for k in present}
    blocks = [
        make_scrollable(_draw_curves(curves, data.unit, label), "Kaplan-Meier curves"),
        make_table(
            "Groups by predicted risk", ["Group", "Samples", "Events"], rows, "traces", file="risk groups"
        ),
    ]
    return make_section("survival.curves", blocks, verdict=verdict)


def _draw_curves(groups: Mapping[int, Survival], unit: str, label: str) -> Markup:
    """Curves of groups, and below them how many are at risk at each tick."""
    last = max(float(y.time.max()) for y in groups.values()) or 1.0
    height = _HEIGHT + _LINE * (len(_GROUPS) + 1)
    frame = Frame.make((720, height), (0.0, last), (0.0, 1.0), (104.0, 16.0, 14.0, height - _HEIGHT + 46))
    ticks = round_ticks(0.0, last)
    shares = {share: f"{100 * share:.0f}%" for share in (0, 0.25, 0.5, 0.75, 1)}
    axes = frame.axes({t: f"{t:g}" for t in ticks}, shares, shorten(unit, 40), "without event", 40)
    parts = [axes, text(4, _HEIGHT - 6, "at risk")]
    for row, (k, y) in enumerate(groups.items()):
        below = _HEIGHT + _LINE * (row + 1)
        at_risk = [
            text(frame.x(t), below, format_number(int((y.time >= t).sum())), "middle") for t in ticks
        ]
        name = text(4, below, _GROUPS[k], class_="who")
        parts.append(element("g", *_draw_curve(frame, y), name, *at_risk, class_=f"line c{_COLOURS[k]}"))
    return frame.draw(*parts, label=label)


def _draw_curve(frame: Frame, y: Survival) -> list[Markup]:
    """The band of a curve, the curve, and strokes where samples were last seen without event."""
    curve = kaplan_meier(y.time, y.event)
    times = curve.times.tolist()
    upper, middle, lower = (
        [(0.0, 1.0), *zip(times, values.tolist(), strict=True)]
        for values in (curve.high, curve.survival, curve.low)
    )
    back, height = [], 1.0
    for t, value in lower[1:]:  # the lower edge, to be gone back along
        back += [(t, height), (t, value)]
        height = value
    outline = (
        frame.steps(upper) + "".join(f"L{frame.x(t):g} {frame.y(s):g}" for t, s in reversed(back)) + "Z"
    )
    censored = np.unique(y.time[~y.event])
    censored = censored[:: math.ceil(len(censored) / _MAX_MARKS) or 1]
    heights = evaluate_steps(curve.times, curve.survival, censored, 1.0)
    strokes = "".join(
        f"M{frame.x(t):g} {frame.y(s) - 4:g}v8"
        for t, s in zip(censored.tolist(), heights.tolist(), strict=True)
    )
    return [
        element("path", class_="band", style="stroke:none;fill:currentColor", d=outline),
        element("path", d=frame.steps(middle)),
        *([element("path", class_="mark", d=strokes)] if strokes else []),
    ]


# ------------------------------------------------------------------------------------------- for whom


def _make_events_section(data: SurvivalReport) -> Section:
    """Concordance by missing pattern."""

    def describe(members: Array) -> tuple[list[str], bool]:
        y = Survival(data.time[members], data.target.event[members])
        n_events = int(y.event.sum())
        cells = [format_number(n_events)]
        for risk in data.predictions.values():
            try:
                score = experiment.concordance(y, risk[members], data.fold[members]).value
                cells.append(f"{score:.2f}")
            except ValueError:  # nobody to compare
                cells.append(DASH)
        return cells, n_events < _FEW_EVENTS

    return make_patterns_section(
        data,
        "Concordance among samples that have the same views.",
        ["Events", *data.predictions],
        describe,
        f"Rows marked few have fewer than {_FEW_EVENTS} events; read no ranking into them.",
    )


def _make_weights_section(data: SurvivalReport) -> Section | None:
    """Weight and concordance of each view's own model, where the method has them."""
    if not data.views:
        return None
    rows = [Row([shorten(name, 40), *cells]) for name, cells in data.views.items()]
    table = make_table(
        "Weights of views", ["View", "Weight", "Concordance alone"], rows, "traces", file="views"
    )
    return make_section("survival.views", [table])
