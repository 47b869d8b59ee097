"""Who has which view: strips of samples, and the most frequent patterns."""

from collections.abc import Iterator, Sequence
from dataclasses import dataclass

import numpy as np

from absentia.app.report._order import Patterns, patterns
from absentia.app.report._story import Incomplete
from absentia.app.report._text import listing, number, percent, plural, shortened
from absentia.core import Array

TOP_PATTERNS = 8
NAMES_PER_PATTERN = 5
NAME_LENGTH = 28
ROOM = 80  # characters; longer names are fewer


@dataclass(frozen=True)
class Strip:
    """One view: an SVG path over the sorted samples, one unit per sample."""

    name: str
    path: str
    count: str
    share: str


@dataclass(frozen=True)
class Segment:
    """Samples with the same number of views, neighbours in the strips."""

    label: str
    title: str
    width: float  # percent


@dataclass(frozen=True)
class PatternRow:
    present: Sequence[bool]
    words: str
    count: str
    share: str
    width: float  # percent of the most frequent


@dataclass(frozen=True)
class Presence:
    n: int
    strips: Sequence[Strip]
    segments: Sequence[Segment]
    patterns: Sequence[PatternRow]
    n_patterns: int
    rest: str
    complete: bool


def presence(story: Incomplete) -> Presence:
    found = patterns(story.observed)
    ordered = story.observed[found.order]
    n = story.n_samples
    return Presence(
        n=n,
        strips=[_strip(story.names[v], ordered[:, v]) for v in range(story.n_views)],
        segments=list(_segments(ordered)),
        patterns=_frequent(found, story.names, n),
        n_patterns=len(found.counts),
        rest=_rest(found, n),
        complete=bool(story.observed.all()),
    )


def _strip(name: str, seen: Array) -> Strip:
    count, n = int(seen.sum()), len(seen)
    return Strip(name, runs(seen), f"{number(count)} of {number(n)}", percent(count, n))


def runs(seen: Array) -> str:
    """Path of unit height over each stretch of True."""
    padded = np.concatenate([[False], seen, [False]]).astype(np.int8)
    change = np.diff(padded)
    starts, stops = np.flatnonzero(change == 1), np.flatnonzero(change == -1)
    return "".join(
        f"M{a} 0h{b - a}v1h-{b - a}z" for a, b in zip(starts.tolist(), stops.tolist(), strict=True)
    )


def _segments(ordered: Array) -> Iterator[Segment]:
    """Stretches of samples with k views, most views first."""
    n, n_views = ordered.shape
    sizes = np.bincount(ordered.sum(axis=1), minlength=n_views + 1)
    for k in range(n_views, -1, -1):
        if sizes[k]:
            views = f"all {n_views}" if k == n_views else f"{k} of {n_views}"
            samples = plural(int(sizes[k]), "sample")
            width = 100 * sizes[k] / n
            yield Segment(
                label=views if width > 1.6 * len(views) else "",
                title=f"{views} views: {samples} ({percent(int(sizes[k]), n)})",
                width=round(float(width), 3),
            )


def _top(found: Patterns) -> Array:
    return np.argsort(-found.counts, kind="stable")[:TOP_PATTERNS]


def _frequent(found: Patterns, names: Sequence[str], n: int) -> list[PatternRow]:
    top = _top(found)
    most = int(found.counts[top[0]])
    return [
        PatternRow(
            found.masks[p].tolist(),
            pattern_words(found.masks[p], names),
            number(int(found.counts[p])),
            percent(int(found.counts[p]), n),
            round(100 * int(found.counts[p]) / most, 2),
        )
        for p in top
    ]


def pattern_words(mask: Array, names: Sequence[str]) -> str:
    if mask.all():
        return "every view"
    if not mask.any():
        return "no view at all"
    if mask.sum() == 1:
        return f"only {shortened(names[int(np.argmax(mask))], NAME_LENGTH)}"
    absent = [shortened(names[v], NAME_LENGTH) for v in np.flatnonzero(~mask).tolist()]
    room = NAMES_PER_PATTERN if sum(map(len, absent[:NAMES_PER_PATTERN])) <= ROOM else 2
    return f"without {listing(absent, room)}"


def alike(observed: Array, names: Sequence[str]) -> Iterator[tuple[str, Array, Array]]:
    """Samples with the same views, of the most frequent patterns: words, who has what, and who they are.

    The last are all others together, who have nothing in common.
    """
    found = patterns(observed)
    top = _top(found)
    for p in top:
        yield pattern_words(found.masks[p], names), found.masks[p], found.rank == p
    left = ~np.isin(found.rank, top)
    if left.any():
        rest = plural(len(found.counts) - len(top), "other pattern")
        yield f"{rest} together", np.zeros(0, bool), left


def _rest(found: Patterns, n: int) -> str:
    more = len(found.counts) - TOP_PATTERNS
    if more <= 0:
        return ""
    samples = n - int(found.counts[_top(found)].sum())
    return (
        f"and {plural(more, 'more pattern')}, with {plural(samples, 'sample')} between them"
        if more > 1
        else f"and 1 more pattern, with {plural(samples, 'sample')}"
    )
