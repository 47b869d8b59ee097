"""The page about times and events: how well risks are ordered, curves by predicted risk, for whom."""

import math
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field

import numpy as np

from absentia import experiment
from absentia.app.report._charts import Tick, round_step
from absentia.app.report._page import Number, page
from absentia.app.report._presence import alike, presence
from absentia.app.report._text import DASH, number, p_value, plural
from absentia.core import Array
from absentia.data.survival import KaplanMeier, Survival, kaplan_meier, log_rank, stepped

FEW = 10  # events; below, a concordance says little
GROUPS = ("low", "middle", "high")
WIDTH, HEIGHT = 720.0, 330.0
LEFT, RIGHT, TOP, BOTTOM = 104.0, 16.0, 14.0, 46.0
ROW = 20.0  # height of a line of numbers at risk
MAX_MARKS = 120


@dataclass(frozen=True, eq=False)
class SurvivalStory:
    """Everything the page tells, as arrays, numbers and sentences.

    Parameters
    ----------
    title, summary : str
    names : sequence of str
        The V views.
    observed : (n, V) bool
        Who has which view, of the samples learned from.
    time, event : (n,)
        When, and whether it happened.
    risks : mapping of str to (n,)
        Out-of-fold risks of the method, first, and of the baselines.
    fold : (n,) int
        Which fold each sample was held out in.
    unit : str
        What times are called.
    views : mapping of str to (str, str)
        Weight and out-of-fold concordance of each view, where the method has them.
    n_all, dropped, warnings, facts
        As in :class:`ClassificationStory`.
    """

    title: str
    summary: str
    names: Sequence[str]
    observed: Array
    time: Array
    event: Array
    risks: Mapping[str, Array]
    fold: Array
    unit: str = "time"
    views: Mapping[str, tuple[str, str]] = field(default_factory=dict)
    n_all: int = 0
    dropped: Mapping[str, int] = field(default_factory=dict)
    warnings: Sequence[str] = ()
    facts: Mapping[str, str] = field(default_factory=dict)

    @property
    def n_samples(self) -> int:
        return int(self.observed.shape[0])

    @property
    def n_views(self) -> int:
        return int(self.observed.shape[1])

    @property
    def method(self) -> str:
        return next(iter(self.risks))

    @property
    def target(self) -> Survival:
        return Survival(self.time, self.event.astype(bool))


def render_survival(story: SurvivalStory) -> str:
    """One self-contained HTML page: no network, no other files, and one script, to sort tables."""
    sections = {
        "concordance": "Concordance",
        "curves": "Curves by risk",
        "by-pattern": "By missing pattern",
        "views": "Views" if story.views else "",
        "presence": "Presence",
        "reading": "How to read this",
    }
    return page(
        "survival.html.j2",
        "survival",
        sections,
        story,
        numbers=_numbers(story),
        methods=[_method(story, name) for name in story.risks],
        verdicts=list(_verdicts(story)),
        curves=curves(story),
        groups=list(_by_pattern(story)),
        few=FEW,
        presence=presence(story),
        dropped=[(number(count), why) for why, count in story.dropped.items() if count],
    )


def _numbers(story: SurvivalStory) -> list[Number]:
    own = experiment.concordance(story.target, story.risks[story.method], story.fold)
    return [
        Number(f"{own.value:.3f}", f"concordance in cross-validation with {story.method}"),
        Number(f"{own.low:.2f} to {own.high:.2f}", "95% interval; 0.5 is chance"),
        Number(number(story.n_samples), f"samples, of {number(max(story.n_all, story.n_samples))}"),
        Number(number(int(story.event.sum())), f"events, seen in {plural(story.n_views, 'view')}"),
    ]


# ------------------------------------------------------------------------------------------- how well


@dataclass(frozen=True)
class Method:
    name: str
    baseline: bool
    value: str
    interval: str
    best: bool
    width: float  # percent of the way from 0 to 1
    low: float
    high: float


def _method(story: SurvivalStory, name: str) -> Method:
    found = {one: experiment.concordance(story.target, f, story.fold) for one, f in story.risks.items()}
    value, low, high = found[name]
    return Method(
        name,
        name != story.method,
        f"{value:.3f}",
        f"{low:.3f} to {high:.3f}" if high > low else DASH,
        value == max(one.value for one in found.values()),
        round(100 * value, 2),
        round(100 * low, 2),
        round(100 * high, 2),
    )


def _verdicts(story: SurvivalStory) -> Iterator[str]:
    """The method against each baseline, pair by pair."""
    own = story.risks[story.method]
    for name, other in story.risks.items():
        if name == story.method:
            continue
        value, low, high = experiment.concordance_gain(story.target, own, other, story.fold)
        end = "a difference that chance could make" if low <= 0 <= high else "more than chance would make"
        word = "above" if value >= 0 else "below"
        yield (
            f"{story.method} is {abs(value):.3f} {word} {name} (95% interval {_signed(low)} to "
            f"{_signed(high)}): {end}."
        )


def _signed(value: float) -> str:
    return f"{value:+.3f}".replace("-", "−")


# -------------------------------------------------------------------------------------------- curves


@dataclass(frozen=True)
class Curve:
    """The curve of one group: its path, the marks of those last seen without event, who was at risk."""

    name: str
    colour: int
    line: str
    band: str
    marks: Sequence[tuple[float, float]]
    at_risk: Sequence[str]
    samples: str
    events: str
    y: float  # of its line of numbers at risk


@dataclass(frozen=True)
class Curves:
    curves: Sequence[Curve]
    verdict: str
    x_ticks: Sequence[Tick]
    y_ticks: Sequence[Tick]
    width: float = WIDTH
    height: float = HEIGHT + ROW * (len(GROUPS) + 1)
    left: float = LEFT
    right: float = WIDTH - RIGHT
    top: float = TOP
    bottom: float = HEIGHT - BOTTOM
    title_y: float = HEIGHT - 8


def risk_groups(risk: Array, fold: Array) -> Array:
    """Which third each sample is in (0 low to 2 high), by its rank within its fold; equals together."""
    group = np.zeros(len(risk), dtype=int)
    for k in np.unique(fold):
        own = np.flatnonzero(fold == k)
        _, place, counts = np.unique(risk[own], return_inverse=True, return_counts=True)
        middle = (np.cumsum(counts) - counts / 2)[place] / len(own)
        group[own] = np.minimum(np.floor(len(GROUPS) * middle), len(GROUPS) - 1)
    return group


def curves(story: SurvivalStory) -> Curves:
    y, group = story.target, risk_groups(story.risks[story.method], story.fold)
    most = float(y.time.max()) or 1.0
    ticks = round_ticks(most)
    there = [k for k in range(len(GROUPS)) if (group == k).any()]
    verdict = "All samples are in one group: their risks are equal."
    if len(there) > 1:
        p = p_value(log_rank(y.time, y.event, group).pvalue)
        verdict = f"That they are the same curve is judged by a log-rank test: {p}."
    return Curves(
        curves=[_curve(k, line, y, group == k, most, ticks) for line, k in enumerate(reversed(there))],
        verdict=verdict,
        x_ticks=[Tick(_x(t, most), f"{t:g}") for t in ticks],
        y_ticks=[Tick(_y(share), f"{100 * share:.0f}%") for share in (0, 0.25, 0.5, 0.75, 1)],
    )


def _curve(k: int, line: int, y: Survival, own: Array, most: float, ticks: Sequence[float]) -> Curve:
    time, event = y.time[own], y.event[own]
    found = kaplan_meier(time, event)
    censored = np.unique(time[~event])
    censored = censored[:: math.ceil(len(censored) / MAX_MARKS) or 1]
    heights = stepped(found.times, found.survival, censored, 1.0)
    at = [int((time >= t).sum()) for t in ticks]
    return Curve(
        name=f"{GROUPS[k]} risk",
        colour=(0, 2, 1)[k],
        line="M" + _steps(found.times, found.survival, most),
        band=_band(found, most),
        marks=[(_x(t, most), _y(s)) for t, s in zip(censored.tolist(), heights.tolist(), strict=True)],
        at_risk=[number(count) for count in at],
        samples=number(int(own.sum())),
        events=number(int(event.sum())),
        y=HEIGHT + ROW * (line + 1),
    )


def _steps(times: Array, values: Array, most: float) -> str:
    """From one at time zero along the steps, up to the last time."""
    parts = [f"{_x(0.0, most):g} {_y(1.0):g}"]
    for t, value in zip(times.tolist(), values.tolist(), strict=True):
        parts.append(f"H{_x(t, most):g}V{_y(value):g}")
    return "".join(parts)


def _band(found: KaplanMeier, most: float) -> str:
    """Upper edge forth, lower edge back."""
    lower, last = [], 1.0
    for t, value in zip(found.times.tolist(), found.low.tolist(), strict=True):
        lower += [(_x(t, most), _y(last)), (_x(t, most), _y(value))]
        last = value
    back = "".join(f"L{x:g} {y:g}" for x, y in reversed(lower))
    return "M" + _steps(found.times, found.high, most) + back + "Z"


def _x(time: float, most: float) -> float:
    return round(LEFT + time / most * (WIDTH - LEFT - RIGHT), 1)


def _y(share: float) -> float:
    return round(HEIGHT - BOTTOM - share * (HEIGHT - TOP - BOTTOM), 1)


def round_ticks(most: float, about: int = 6) -> list[float]:
    """Zero and round numbers up to `most`."""
    step = round_step(most, about)
    return [k * step for k in range(int(most / step + 1e-9) + 1)]


# ------------------------------------------------------------------------------------------- for whom


@dataclass(frozen=True)
class Group:
    """Samples with the same views."""

    words: str
    present: Sequence[bool]
    count: str
    events: str
    concordances: Sequence[str]
    few: bool


def _group(story: SurvivalStory, words: str, mask: Array, members: Array) -> Group:
    y = Survival(story.time[members], story.target.event[members])
    values = []
    for risk in story.risks.values():
        try:
            values.append(f"{experiment.concordance(y, risk[members], story.fold[members]).value:.2f}")
        except ValueError:  # nobody to compare
            values.append(DASH)
    events = int(y.event.sum())
    return Group(words, mask.tolist(), number(len(y.time)), number(events), values, events < FEW)


def _by_pattern(story: SurvivalStory) -> Iterator[Group]:
    for words, mask, members in alike(story.observed, story.names):
        yield _group(story, words, mask, members)
