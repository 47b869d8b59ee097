"""The page about numbers: how much is explained, predicted against true, for whom, which views it takes."""

import math
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field

import numpy as np

from absentia.app.report._charts import Tick, round_step
from absentia.app.report._page import Number, page
from absentia.app.report._presence import alike, presence
from absentia.app.report._text import DASH, number, plural, shortened
from absentia.core import Array
from absentia.experiment import numbers as regression

FEW = 20  # samples; below, an error may be luck
SIDE, LEFT, RIGHT, TOP, BOTTOM = 520.0, 76.0, 16.0, 14.0, 54.0
ROOM = 0.04  # around the dots, as a share of their range
MOST_DOTS = 1500


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
    """One self-contained HTML page: no network, no other files, and one script, to sort tables."""
    sections = {
        "explained": "How well",
        "scatter": "Predicted and true",
        "by-pattern": "By missing pattern",
        "contribution": "Views",
        "presence": "Presence",
        "reading": "How to read this",
    }
    return page(
        "numbers.html.j2",
        "regression",
        sections,
        story,
        numbers=_numbers(story),
        methods=_methods(story),
        verdicts=list(_verdicts(story)),
        scatter=scatter(story),
        groups=list(_by_pattern(story)),
        worth=list(worth(story)),
        few=FEW,
        presence=presence(story),
        dropped=[(number(count), why) for why, count in story.dropped.items() if count],
    )


def _numbers(story: NumbersStory) -> list[Number]:
    own = regression.errors(story.truth, story.predictions[story.method])
    return [
        Number(_digits(own.r2.value), f"R², the share explained in cross-validation by {story.method}"),
        Number(f"{_digits(own.r2.low, 2)} to {_digits(own.r2.high, 2)}", "95% interval of it"),
        Number(
            number(own.rmse),
            f"root mean squared error; {story.target} has deviation {number(float(story.truth.std()))}",
        ),
        Number(
            number(story.n_samples),
            f"samples in {plural(story.n_views, 'view')}, of "
            f"{number(max(story.n_all, story.n_samples))} that came",
        ),
    ]


def _digits(value: float, digits: int = 3) -> str:
    return f"{value:.{digits}f}".replace("-", "−")


# ------------------------------------------------------------------------------------------- how well


@dataclass(frozen=True)
class Method:
    name: str
    baseline: bool
    value: str
    interval: str
    rmse: str
    mae: str
    best: bool
    width: float  # percent of the way from 0 to 1
    low: float
    high: float
    cut: bool  # whether the interval goes on below 0


def _methods(story: NumbersStory) -> list[Method]:
    found = {name: regression.errors(story.truth, said) for name, said in story.predictions.items()}
    most = max(one.r2.value for one in found.values())
    rows = []
    for name, ((value, low, high), rmse, mae) in found.items():
        at, left, right = (round(100 * float(np.clip(x, 0, 1)), 2) for x in (value, low, high))
        interval = f"{_digits(low)} to {_digits(high)}"
        own = name != story.method
        told = (_digits(value), interval, number(rmse), number(mae))
        rows.append(Method(name, own, *told, value == most, at, left, right, bool(low < 0)))
    return rows


def _verdicts(story: NumbersStory) -> Iterator[str]:
    """The method against each baseline, sample by sample."""
    own = story.predictions[story.method]
    for name, other in story.predictions.items():
        if name != story.method:
            value, low, high = regression.explained_more(story.truth, own, other)
            end = "chance could make that" if low <= 0 <= high else "more than chance would make"
            yield (
                f"{story.method} explains {_digits(abs(value))} {'more' if value >= 0 else 'less'} than "
                f"{name} (95% interval {_digits(low)} to {_digits(high)}): {end}."
            )


# -------------------------------------------------------------------------------------------- scatter


@dataclass(frozen=True)
class Dot:
    x: float
    y: float
    title: str


@dataclass(frozen=True)
class Scatter:
    """Dots of samples with every view and of those that lack some, on one scale for both axes."""

    complete: Sequence[Dot]
    incomplete: Sequence[Dot]
    x_ticks: Sequence[Tick]
    y_ticks: Sequence[Tick]
    left_out: int
    size: float = SIDE
    left: float = LEFT
    right: float = SIDE - RIGHT
    top: float = TOP
    bottom: float = SIDE - BOTTOM


def scatter(story: NumbersStory) -> Scatter:
    said = story.predictions[story.method]
    low = float(min(story.truth.min(), said.min()))
    high = float(max(story.truth.max(), said.max()))
    low, high = low - ROOM * (high - low), high + ROOM * (high - low)
    step = round_step(high - low)
    ticks = [k * step for k in range(math.ceil(low / step), math.floor(high / step) + 1)]

    def across(value: float) -> float:
        return round(LEFT + (value - low) / (high - low) * (SIDE - LEFT - RIGHT), 1)

    def up(value: float) -> float:
        return round(SIDE - BOTTOM - (value - low) / (high - low) * (SIDE - TOP - BOTTOM), 1)

    every = math.ceil(story.n_samples / MOST_DOTS)
    dots: dict[bool, list[Dot]] = {True: [], False: []}
    for i in range(0, story.n_samples, every):
        true, predicted = float(story.truth[i]), float(said[i])
        words = f"{shortened(str(story.ids[i]), 40)}: {number(true)}, predicted {number(predicted)}"
        dots[bool(story.observed[i].all())].append(Dot(across(true), up(predicted), words))
    shown = sum(map(len, dots.values()))
    labels = [f"{tick:g}".replace("-", "−") for tick in ticks]
    return Scatter(
        complete=dots[True],
        incomplete=dots[False],
        x_ticks=[Tick(across(tick), label) for tick, label in zip(ticks, labels, strict=True)],
        y_ticks=[Tick(up(tick), label) for tick, label in zip(ticks, labels, strict=True)],
        left_out=story.n_samples - shown,
    )


# ---------------------------------------------------------------------------------- for whom, and why


@dataclass(frozen=True)
class Group:
    """Samples with the same views."""

    words: str
    present: Sequence[bool]
    count: str
    errors: Sequence[str]
    few: bool


def _by_pattern(story: NumbersStory) -> Iterator[Group]:
    for words, mask, members in alike(story.observed, story.names):
        count = int(members.sum())
        found = [number(_rmse(story.truth[members], p[members])) for p in story.predictions.values()]
        yield Group(words, mask.tolist(), number(count), found, count < FEW)


def _rmse(truth: Array, predicted: Array) -> float:
    return float(np.sqrt(np.mean((truth - predicted) ** 2)))


@dataclass(frozen=True)
class Worth:
    """Samples that have a view, predicted with and without it."""

    name: str
    count: str
    alone: str  # samples for which it is the only view
    with_it: str
    without_it: str
    rise: str  # percent of the error
    width: float  # percent of the largest rise
    few: bool


def worth(story: NumbersStory) -> Iterator[Worth]:
    """How much larger the error becomes where each view is hidden, of every view that somebody has."""
    said, single = story.predictions[story.method], story.observed.sum(axis=1) == 1
    pairs = [
        (_rmse(story.truth[has], said[has]), _rmse(story.truth[has], story.without[has, v]))
        if has.any()
        else (0.0, 0.0)
        for v, has in enumerate(story.observed.T)
    ]
    most = max(max(after - before for before, after in pairs), 1e-300)
    for v, ((before, after), has) in enumerate(zip(pairs, story.observed.T, strict=True)):
        if has.any():
            rise = f"{100 * (after / before - 1):+.1f}%".replace("-", "−") if before > 0 else DASH
            yield Worth(
                story.names[v],
                number(int(has.sum())),
                number(int((has & single).sum())),
                number(before),
                number(after),
                rise,
                round(float(np.clip(100 * (after - before) / most, 0, 100)), 1),
                int(has.sum()) < FEW,
            )
