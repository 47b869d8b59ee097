"""Who has which view: missing patterns, strips of samples, groups of samples that have the same views."""

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from typing import Protocol

import numpy as np

from absentia.app.report._blocks import (
    BAR,
    Block,
    Column,
    Row,
    Table,
    bar_cell,
    heading,
    note,
    pattern_cell,
)
from absentia.app.report._format import format_count, format_number, format_percent, join_words, shorten
from absentia.app.report._page import Section
from absentia.core import Array
from absentia.core.linalg import invert_permutation
from absentia.core.svg import Markup, fill

MAX_PATTERNS = 8  # rows of a table; other patterns are taken together
_NAMES_PER_PATTERN = 5
_NAME_LENGTH = 28
_ROOM = 80  # characters; of longer names fewer are given


_LEGEND = Markup(
    '<p class="legend"><span><i class="key present"></i>observed</span> '
    '<span><i class="key absent"></i>absent</span></p>'
)


class Incomplete(Protocol):
    """A report in which some samples lack some views."""

    @property
    def names(self) -> Sequence[str]: ...

    @property
    def observed(self) -> Array: ...


@dataclass(frozen=True, eq=False)
class Patterns:
    """Distinct rows of `observed`, the fullest and then the most frequent first."""

    masks: Array  # (P, V) bool
    counts: Array  # (P,)
    rank: Array  # (n,) which pattern a sample has

    @property
    def most_frequent(self) -> Array:
        """Positions of the patterns that tables list."""
        return np.argsort(-self.counts, kind="stable")[:MAX_PATTERNS]


def find_patterns(observed: Array) -> Patterns:
    masks, member, counts = np.unique(observed, axis=0, return_inverse=True, return_counts=True)
    ties = tuple(~masks[:, v] for v in reversed(range(masks.shape[1])))
    order = np.lexsort((*ties, -counts, -masks.sum(axis=1)))
    return Patterns(masks[order], counts[order], invert_permutation(order)[member.ravel()])


def _describe_pattern(mask: Array, names: Sequence[str]) -> str:
    """In words: ``every view``, ``only a``, ``without a, b and 3 more``."""
    if mask.all():
        return "every view"
    if not mask.any():
        return "no view at all"
    if mask.sum() == 1:
        return f"only {shorten(names[int(np.argmax(mask))], _NAME_LENGTH)}"
    absent = [shorten(names[v], _NAME_LENGTH) for v in np.flatnonzero(~mask).tolist()]
    limit = _NAMES_PER_PATTERN if sum(map(len, absent[:_NAMES_PER_PATTERN])) <= _ROOM else 2
    return f"without {join_words(absent, limit)}"


def group_by_pattern(observed: Array, names: Sequence[str]) -> Iterator[tuple[str, Array, Array]]:
    """Samples with the same views, of the most frequent patterns: words, mask (V,) and members (n,).

    The last are all others together, who have nothing in common; their mask is empty.
    """
    patterns = find_patterns(observed)
    listed = patterns.most_frequent
    for p in listed:
        yield _describe_pattern(patterns.masks[p], names), patterns.masks[p], patterns.rank == p
    others = ~np.isin(patterns.rank, listed)
    if others.any():
        words = format_count(len(patterns.counts) - len(listed), "other pattern")
        yield f"{words} together", np.zeros(0, bool), others


def describe_dots(names: Sequence[str]) -> str:
    """Which view each dot of a pattern is, for the note below a table."""
    return f"Dots stand for the views in this order: {', '.join(shorten(name, 28) for name in names)}."


# ------------------------------------------------------------------------------------------------- section


def make_presence_section(story: Incomplete) -> Section:
    """A strip for each view over the samples sorted by pattern, and the most frequent patterns."""
    patterns = find_patterns(story.observed)
    observed = story.observed[np.argsort(patterns.rank, kind="stable")]
    complete = bool(observed.all())
    lead = (
        "Every sample has every view: nothing was absent, so nothing had to be completed."
        if complete
        else "Each strip is a view, each position along it a sample. Samples with the same views stand "
        "together, those with the most views on the left."
    )
    template = (
        '<div class="strips">{}<div class="name axis">views present</div><ol class="segments">{}</ol>'
        '<div class="tally axis"><span>{}</span></div></div>'
    )
    strips = [_draw_strip(name, seen) for name, seen in zip(story.names, observed.T, strict=True)]
    segments = list(_draw_segments(observed))
    blocks: list[Block] = [_LEGEND, fill(template, strips, segments, format_count(len(observed), "sample"))]
    if not complete:
        words = f"{_describe_rest(patterns)}Dots stand for the views in the order of the strips above."
        table = _make_pattern_table(patterns, story.names)
        blocks += [heading("Most frequent patterns"), table, note(words)]
    return Section("presence", "Presence", "What is present", lead, blocks)


def _draw_strip(name: str, seen: Array) -> Markup:
    count, n = int(seen.sum()), len(seen)
    total = f"{format_number(count)} of {format_number(n)}"
    label = f"{name}: observed for {total} samples"
    template = (
        '<div class="name" title="{}">{}</div>'
        '<svg class="strip" role="img" aria-label="{}" viewBox="0 0 {} 1" '
        'preserveAspectRatio="none"><path d="{}"/></svg><div class="tally"><b>{}</b> <span>{}</span></div>'
    )
    share, path = format_percent(count, n), draw_runs(seen)
    return fill(template, name, shorten(name, 20), label, str(n), path, share, total)


def draw_runs(seen: Array) -> str:
    """Path of unit height over each stretch of True."""
    padded = np.concatenate([[False], seen, [False]]).astype(np.int8)
    change = np.diff(padded)
    starts, stops = np.flatnonzero(change == 1), np.flatnonzero(change == -1)
    return "".join(
        f"M{a} 0h{b - a}v1h-{b - a}z" for a, b in zip(starts.tolist(), stops.tolist(), strict=True)
    )


def _draw_segments(observed: Array) -> Iterator[Markup]:
    """Stretches of samples with as many views, most views first."""
    n, n_views = observed.shape
    sizes = np.bincount(observed.sum(axis=1), minlength=n_views + 1)
    for k in range(n_views, -1, -1):
        if sizes[k]:
            views = f"all {n_views}" if k == n_views else f"{k} of {n_views}"
            count, width = int(sizes[k]), 100 * sizes[k] / n
            title = f"{views} views: {format_count(count, 'sample')} ({format_percent(count, n)})"
            label = views if width > 1.6 * len(views) else ""
            template = '<li style="width:{}%" title="{}"><span>{}</span><span class="unseen">{}</span></li>'
            yield fill(template, f"{width:.3f}", title, label, title)


def _make_pattern_table(patterns: Patterns, names: Sequence[str]) -> Table:
    n, most = int(patterns.counts.sum()), int(patterns.counts.max())
    rows = []
    for p in patterns.most_frequent:
        count, mask = int(patterns.counts[p]), patterns.masks[p]
        share, bar = format_percent(count, n), bar_cell(100 * count / most)
        words = _describe_pattern(mask, names)
        rows.append(Row([pattern_cell(mask.tolist()), words, format_number(count), share, bar]))
    columns: list[str | Column] = ["Views", "Pattern", "Samples", "Share", BAR]
    return Table("Missing patterns", columns, rows, "patterns", head=1)


def _describe_rest(patterns: Patterns) -> str:
    more = len(patterns.counts) - MAX_PATTERNS
    if more <= 0:
        return ""
    samples = int(patterns.counts.sum() - patterns.counts[patterns.most_frequent].sum())
    between = " between them" if more > 1 else ""
    return f"… and {format_count(more, 'more pattern')}, with {format_count(samples, 'sample')}{between}. "
