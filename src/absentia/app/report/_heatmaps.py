"""Kernels as heat maps: ordered, averaged down to a few hundred pixels, on one scale per view."""

import math
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field, replace

import numpy as np

from absentia.app.report import _colour as colour
from absentia.app.report._order import SampleOrder, sample_order
from absentia.app.report._story import CompletionStory
from absentia.app.report._text import number, percent, plural
from absentia.core import Array
from absentia.data import KernelViews

WHOLE = 320  # up to so many samples, one pixel each
MAX_SIDE = 260  # beyond, equal blocks of samples on at most so many pixels
MIN_SIDE = 96
DRAWN = 2600  # samples of which maps are averages at most: ten for a pixel
CRISP = 200  # smaller maps are enlarged by the browser, with sharp edges
BYTES_FOR_MAPS = 4_000_000
BYTES_PER_PIXEL = 1.05  # of an incompressible map of 64 levels, in base64
SIDE_BY_SIDE = 3  # methods shown together when there is no truth; more are switched between

Rows = Callable[[Array], Array]  # sample indices -> these rows of a matrix


@dataclass(frozen=True)
class Bar:
    """A colour bar with its numbers."""

    title: str
    gradient: str
    low: str
    middle: str
    high: str


@dataclass(frozen=True)
class Panel:
    """One picture. ``method`` is its tab, or None when it is always shown."""

    caption: str
    note: str
    image: str
    alt: str
    method: int | None = None


@dataclass(frozen=True)
class ViewMaps:
    name: str
    presence: str
    panels: Sequence[Panel]
    bars: Sequence[Bar]
    top: str
    left: str


@dataclass(frozen=True)
class Tick:
    label: str
    start: float  # percent of the axis
    width: float


@dataclass(frozen=True)
class Maps:
    views: Sequence[ViewMaps]
    methods: Sequence[str]
    tabs: bool
    side: int
    crisp: bool
    roomy: bool  # two pictures in a row may be larger than four
    block: str
    order: str
    truth: bool
    ticks: Sequence[Tick] = field(default_factory=tuple)


def heat_maps(story: CompletionStory) -> Maps:
    """Maps of all samples, or, of many, of every so-manieth in the order that they are drawn in."""
    order, everybody = sample_order(story), story.observed
    index, left_out = order.index, ""
    if story.n_samples > DRAWN:
        left_out = _drawn_sentence(story.n_samples)
        chosen = order.index[np.linspace(0, story.n_samples - 1, DRAWN).astype(int)]
        story, index = _only(story, np.sort(chosen)), np.argsort(np.argsort(chosen))
    block = choose_block(story)
    groups = [index[i : i + block] for i in range(0, story.n_samples, block)]
    return Maps(
        views=[_view(story, v, groups, everybody[:, v]) for v in range(story.n_views)],
        methods=list(story.after),
        tabs=_has_tabs(story),
        side=len(groups),
        crisp=len(groups) < CRISP,
        roomy=story.truth is None and (_has_tabs(story) or len(story.after) < 2),
        block=left_out + _block_sentence(block),
        order=order.sentence,
        truth=story.truth is not None,
        ticks=class_ticks(order),
    )


def _only(story: CompletionStory, samples: Array) -> CompletionStory:
    """The kernels of some samples, as far as maps need them."""
    own = np.ix_(samples, samples)
    return replace(
        story,
        before=story.before[own],
        after={name: K[own] for name, K in story.after.items()},
        truth=None if story.truth is None else story.truth[own],
        labels=None if story.labels is None else np.asarray(story.labels)[samples],
        unexplained=None,
        quality=None,
    )


def _drawn_sentence(n: int) -> str:
    return f"Drawn are {number(DRAWN)} of the {number(n)} samples, evenly spaced in this order. "


def choose_block(story: CompletionStory) -> int:
    """Samples per pixel: the fewest with which all maps fit the budget of bytes."""
    n_maps = story.n_views * (2 + len(story.after) * (1 if story.truth is None else 2))
    affordable = max(MIN_SIDE, int((BYTES_FOR_MAPS / BYTES_PER_PIXEL / n_maps) ** 0.5))
    if story.n_samples <= min(affordable, WHOLE):
        return 1
    return math.ceil(story.n_samples / min(affordable, MAX_SIDE))


def _has_tabs(story: CompletionStory) -> bool:
    few = 1 if story.truth is not None else SIDE_BY_SIDE
    return len(story.after) > few


def _block_sentence(block: int) -> str:
    if block == 1:
        return ""
    return (
        f"Each pixel averages {block} × {block} samples; "
        "as many rows and columns are hatched as there are samples absent."
    )


def class_ticks(order: SampleOrder) -> list[Tick]:
    """Where each class lies along an axis; unnamed where a name would not fit."""
    total = sum(count for _, count in order.classes)
    starts = np.cumsum([0, *(count for _, count in order.classes)])
    return [
        Tick(
            label if 100 * count / total > 3.2 * len(label) else "",
            round(100 * float(start) / total, 2),
            round(100 * count / total, 2),
        )
        for (label, count), start in zip(order.classes, starts, strict=False)
    ]


# ---------------------------------------------------------------------------- averaging


def block_means(rows: Rows, groups: Sequence[Array], present: Array) -> Array:
    """Mean of a matrix over blocks of samples, skipping what is absent or not finite.

    Only one group of rows is held at a time. A block is NaN when nothing of it is there.
    """
    sizes = np.array([len(group) for group in groups])
    starts = np.concatenate([[0], np.cumsum(sizes)[:-1]])
    order = np.concatenate(list(groups))
    means = np.full((len(groups), len(groups)), np.nan)
    for i, (total, count) in enumerate(_column_sums(rows, groups, present)):
        sums = np.add.reduceat(total[order], starts)
        counts = np.add.reduceat(count[order], starts)
        np.divide(sums, counts, out=means[i], where=counts > 0)
    return means


def rows_of(kernels: KernelViews, v: int) -> Rows:
    """Rows of a view's kernel over all samples, NaN where one lacks the view; never all of them at once."""
    operator, has = kernels.operator(kernels.names[v]), kernels.observed[:, v]
    inside, everyone = np.cumsum(has) - 1, np.arange(int(has.sum()))

    def rows(index: Array) -> Array:
        found = np.full((len(index), len(has)), np.nan)
        there = has[index]
        found[np.ix_(there, has)] = operator.block(inside[index[there]], everyone)
        return found

    return rows


def diffuse(share: Array) -> Array:
    """Which pixels of an axis to draw as present, so that on the whole as many are as samples are.

    What is left of a share is carried on to the next pixel; shares of 0 and 1 are always obeyed.
    """
    drawn, carried = np.zeros(len(share), dtype=bool), 0.0
    for i, part in enumerate(share.tolist()):
        carried += part
        drawn[i] = part > 0 and carried >= 0.5
        carried -= drawn[i]
    return drawn


def _column_sums(rows: Rows, groups: Sequence[Array], present: Array) -> Iterator[tuple[Array, Array]]:
    for group in groups:
        block = rows(group[present[group]])
        with np.errstate(invalid="ignore"):  # inf - inf; found out on the next line
            total = np.where(present, block.sum(axis=0, dtype=float), 0.0)
        count = np.where(present, len(block), 0)
        if not np.isfinite(total).all():
            finite = np.isfinite(block) & present
            total = block.sum(axis=0, dtype=float, where=finite)
            count = finite.sum(axis=0)
        yield total, count


def _mean(means: Array, groups: Sequence[Array]) -> float:
    sizes = np.array([len(group) for group in groups], dtype=float)
    weight = np.where(np.isfinite(means), np.outer(sizes, sizes), 0.0)
    total = weight.sum()
    return float((np.nan_to_num(means) * weight).sum() / total) if total else float("nan")


# ---------------------------------------------------------------------------- one view


def _view(story: CompletionStory, v: int, groups: Sequence[Array], everybody: Array) -> ViewMaps:
    """Maps of a view; `everybody` says who has it, also of samples that are not drawn."""
    seen = story.observed[:, v]
    everyone = np.ones_like(seen)

    def averaged(kernels: KernelViews, present: Array) -> Array:
        return block_means(rows_of(kernels, v), groups, present)

    def distance(kernels: KernelViews, truth: KernelViews) -> Array:
        one, other = rows_of(kernels, v), rows_of(truth, v)
        return block_means(lambda i: np.abs(one(i) - other(i)), groups, everyone)

    share = np.array([seen[group].mean() for group in groups])
    drawn = diffuse(share)
    before = np.where(np.outer(drawn, drawn), averaged(story.before, seen), np.nan)
    after = {name: averaged(K, everyone) for name, K in story.after.items()}
    truth, errors = None, {}
    if story.truth is not None:
        truth = averaged(story.truth, everyone)
        errors = {name: distance(K, story.truth) for name, K in story.after.items()}

    scale = value_range([before, *after.values(), *([] if truth is None else [truth])])
    error_scale = value_range(list(errors.values()), from_zero=True)
    present, n = int(everybody.sum()), len(everybody)
    tabs = _has_tabs(story)
    return ViewMaps(
        name=story.names[v],
        presence=f"observed for {number(present)} of {plural(n, 'sample')} ({percent(present, n)})",
        panels=[
            heat_panel("As observed", "", f"view {story.names[v]}", before, colour.VALUES, scale),
            *_completed(story.names[v], after, scale, tabs),
            *([] if truth is None else [_truth(story.names[v], truth, scale)]),
            *_errors(story.names[v], errors, error_scale, groups, tabs),
        ],
        bars=[*colour_bar("Value", colour.VALUES, scale), *colour_bar("Error", colour.ERRORS, error_scale)],
        top=colour.strip_png(1 - share),
        left=colour.strip_png(1 - share[:, None]),
    )


Scale = tuple[float, float, bool, bool]  # low, high, and whether values lie beyond them


def value_range(maps: Sequence[Array], *, from_zero: bool = False) -> Scale | None:
    """A range that a few extreme cells (a large diagonal, say) do not stretch."""
    finite = [m[np.isfinite(m)] for m in maps]
    values = np.concatenate(finite) if finite else np.empty(0)
    if not values.size:
        return None
    low, high = (float(q) for q in np.quantile(values, [0.005, 0.995]))
    least, most = float(values.min()), float(values.max())
    # keep the true ends unless they would waste a third of the colours
    spread = high - low
    low = least if low - least <= spread / 3 else low
    high = most if most - high <= spread / 3 else high
    if from_zero:
        low = 0.0
    return low, high, least < low, most > high


def colour_bar(title: str, lut: Array, scale: Scale | None) -> list[Bar]:
    """The bar of a scale; none if there is no value."""
    if scale is None:
        return []
    low, high, below, above = scale
    halfway = 0.5 ** (1 / colour.gamma(lut))
    middle = number(low + halfway * (high - low)) if high > low else ""
    return [
        Bar(
            title,
            colour.css_gradient(lut),
            ("≤ " if below else "") + number(low),
            middle,
            ("≥ " if above else "") + number(high),
        )
    ]


def heat_panel(
    caption: str,
    note: str,
    what: str,
    means: Array,
    lut: Array,
    scale: Scale | None,
    method: int | None = None,
) -> Panel:
    """A map of `what` with its caption."""
    low, high = (0.0, 1.0) if scale is None else scale[:2]
    alt = f"Heat map of {what}: {caption[:1].lower()}{caption[1:]}"
    return Panel(caption, note, colour.heat_png(means, lut, low, high), alt, method)


def _completed(view: str, after: Mapping[str, Array], scale: Scale | None, tabs: bool) -> Iterator[Panel]:
    for i, (name, means) in enumerate(after.items()):
        caption = f"Completed by {name}"
        yield heat_panel(caption, "", f"view {view}", means, colour.VALUES, scale, i if tabs else None)


def _truth(view: str, truth: Array, scale: Scale | None) -> Panel:
    return heat_panel("Truth", "", f"view {view}", truth, colour.VALUES, scale)


def _errors(
    view: str, errors: Mapping[str, Array], scale: Scale | None, groups: Sequence[Array], tabs: bool
) -> Iterator[Panel]:
    for i, (name, means) in enumerate(errors.items()):
        caption, note = f"Error of {name}", f"mean {number(_mean(means, groups))}"
        yield heat_panel(caption, note, f"view {view}", means, colour.ERRORS, scale, i if tabs else None)
