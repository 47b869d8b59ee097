"""Kernels as heat maps: before and after a completion, and as the methods of a comparison complete them."""

import math
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import replace
from typing import TYPE_CHECKING

import numpy as np

from absentia.app.report._blocks import draw_tabs, note
from absentia.app.report._format import format_count, format_number, format_percent
from absentia.app.report._heatmaps import (
    CRISP,
    MAX_SIDE,
    MAX_WHOLE,
    VALUES,
    average_blocks,
    diffuse,
    draw_color_bar,
    draw_heat_map,
    draw_legend,
    draw_view,
    encode_strip,
    find_value_range,
)
from absentia.app.report._page import Section
from absentia.app.report._presence import find_patterns
from absentia.core import Array
from absentia.core.svg import Markup, fill
from absentia.data import KernelViews
from absentia.experiment import findings

if TYPE_CHECKING:
    from absentia.app.report._completion import CompletionStory

_MIN_SIDE = 96
MAX_DRAWN = 2600  # samples of which maps are averages at most: ten for a pixel
MAX_BYTES = 4_000_000  # of all maps of a completion
MAX_BYTES_COMPARED = 725_000  # of all maps of a comparison
BYTES_PER_PIXEL, BYTES_PER_MAP = 1.05, 640  # of noise in 64 levels and base64, and what comes with it

_LEAD = (
    "A kernel holds how similar each sample is to every other, as one view sees it: row and column are "
    "samples, colour is similarity."
)
Rows = Callable[[Array], Array]  # sample indices -> these rows of a matrix


# ----------------------------------------------------------------------------------------- order of samples


def order_samples(story: "CompletionStory") -> tuple[Array, str]:
    """A permutation by the leading structure of the completed kernels or by pattern, and its words."""
    if story.after and story.n_samples > 3:
        method, kernels = next(iter(story.after.items()))
        return order_by_structure(kernels), (
            "Samples are ordered by the leading structure of the average kernel completed by "
            f"{method}, so that similar samples stand side by side."
        )
    rank = find_patterns(story.observed).rank
    return np.argsort(rank, kind="stable"), "Samples are ordered by their missing pattern."


def order_by_structure(kernels: KernelViews) -> Array:
    """Seriation: the angle of each sample in the plane of the two leading eigenvectors.

    The circle of angles is cut at its widest gap.
    """
    plane = _find_leading_plane(_average_kernel(kernels), len(kernels))
    angle = np.arctan2(plane[:, 1], plane[:, 0])
    around = np.argsort(angle, kind="stable")
    gaps = np.diff(angle[around], append=angle[around[0]] + 2 * np.pi)
    return np.roll(around, -(int(np.argmax(gaps)) + 1))


def _average_kernel(kernels: KernelViews) -> Callable[[Array], Array]:
    """The product of thin matrices with the mean over views, each scaled to unit mean diagonal."""
    sizes = {name: float(np.mean(np.abs(kernels.diagonal(name)))) for name in kernels.names}

    def multiply(X: Array) -> Array:
        total = np.zeros_like(X)
        for name, size in sizes.items():
            if np.isfinite(size) and size > 0:
                with np.errstate(all="ignore"):
                    total += kernels.operator(name) @ X / size
        return np.nan_to_num(total, copy=False, nan=0.0, posinf=0.0, neginf=0.0)

    return multiply


def _find_leading_plane(multiply: Callable[[Array], Array], n: int, n_iter: int = 30) -> Array:
    """Two leading eigenvectors of the centred kernel by subspace iteration, scaled by root value.

    Four vectors are carried so that the two wanted ones converge quickly.
    """
    X = np.cos(np.outer(np.arange(n), 1.0 + np.arange(min(4, n))))  # any start in general position
    for _ in range(n_iter):
        Q, _ = np.linalg.qr(X - X.mean(axis=0))
        X = multiply(Q)
        X = X - X.mean(axis=0)
    values, rotation = np.linalg.eigh(Q.T @ X)
    leading = np.argsort(-np.abs(values))[:2]
    return np.asarray(Q @ rotation[:, leading] * np.sqrt(np.abs(values[leading])))


# ------------------------------------------------------------------------------------------- completions


def make_kernels_section(story: "CompletionStory") -> Section:
    """Maps of all samples, or, of many, of evenly spaced ones in the order that they are drawn in."""
    (index, words), everyone = order_samples(story), story.observed
    if story.n_samples > MAX_DRAWN:
        words += (
            f" Drawn are {format_number(MAX_DRAWN)} of the {format_number(story.n_samples)} samples, "
            "evenly spaced in this order."
        )
        chosen = index[np.linspace(0, story.n_samples - 1, MAX_DRAWN).astype(int)]
        story, index = _select_samples(story, np.sort(chosen)), np.argsort(np.argsort(chosen))
    block = choose_block(story)
    groups = [index[i : i + block] for i in range(0, story.n_samples, block)]
    if block > 1:
        words += (
            f" Each pixel averages {block} × {block} samples; "
            "as many rows and columns are hatched as there are samples absent."
        )
    return Section(
        "kernels",
        "Kernels",
        "Kernels before and after",
        f"{_LEAD} A sample without the view leaves an empty row and column, which a method fills in from "
        "the other views.",
        [
            draw_legend("absent", "samples absent from this view, completed"),
            note(words),
            *(_draw_view(story, v, groups, everyone[:, v]) for v in range(story.n_views)),
        ],
        "maps crisp" if len(groups) < CRISP else "maps",
    )


def _select_samples(story: "CompletionStory", samples: Array) -> "CompletionStory":
    """The kernels of some samples, as far as maps need them."""
    pairs = np.ix_(samples, samples)
    after = {name: K[pairs] for name, K in story.after.items()}
    return replace(story, before=story.before[pairs], after=after, unexplained=None, quality=None)


def choose_block(story: "CompletionStory") -> int:
    """Samples per pixel: the fewest with which all maps fit the budget of bytes."""
    n_maps = story.n_views * (1 + len(story.after))
    affordable = max(_MIN_SIDE, int((MAX_BYTES / BYTES_PER_PIXEL / n_maps) ** 0.5))
    if story.n_samples <= min(affordable, MAX_WHOLE):
        return 1
    return math.ceil(story.n_samples / min(affordable, MAX_SIDE))


def _draw_view(story: "CompletionStory", v: int, groups: Sequence[Array], everyone: Array) -> Markup:
    """Maps of a view; `everyone` says who has it, also of samples that are not drawn."""
    name, seen = story.names[v], story.observed[:, v]
    share = np.array([seen[group].mean() for group in groups])
    drawn = diffuse(share)
    before = average_groups(_get_rows(story.before, v), groups, seen)
    maps = {"As observed": np.where(np.outer(drawn, drawn), before, np.nan)}
    for method, kernels in story.after.items():
        rows = _get_rows(kernels, v)
        maps[f"Completed by {method}"] = average_groups(rows, groups, np.ones_like(seen))
    value_range = find_value_range(maps.values())
    edges = (encode_strip(1 - share), encode_strip(1 - share[:, None]))
    figures = [
        draw_heat_map(f"view {name}", caption, values, VALUES, value_range, edges=edges)
        for caption, values in maps.items()
    ]
    present, n = int(everyone.sum()), len(everyone)
    count = f"{format_number(present)} of {format_count(n, 'sample')} ({format_percent(present, n)})"
    head = fill("<div><h3>{}</h3><p>observed for {}</p></div>", name, count)
    return draw_view(head, draw_color_bar("Value", VALUES, value_range), figures, "roomy")


def _get_rows(kernels: KernelViews, v: int) -> Rows:
    """Rows of a view's kernel over all samples, NaN where one lacks the view; never all of them at once."""
    operator, has = kernels.operator(kernels.names[v]), kernels.observed[:, v]
    inside, everyone = np.cumsum(has) - 1, np.arange(int(has.sum()))

    def rows(index: Array) -> Array:
        block = np.full((len(index), len(has)), np.nan)
        there = has[index]
        block[np.ix_(there, has)] = operator.block(inside[index[there]], everyone)
        return block

    return rows


def average_groups(rows: Rows, groups: Sequence[Array], present: Array) -> Array:
    """Mean of a matrix over groups of samples, skipping what is absent or not finite.

    Only one group of rows is held at a time. A mean is NaN when nothing of it is there.
    """
    sizes = np.array([len(group) for group in groups])
    starts = np.concatenate([[0], np.cumsum(sizes)[:-1]])
    order = np.concatenate(list(groups))
    means = np.full((len(groups), len(groups)), np.nan)
    for i, (total, count) in enumerate(_sum_columns(rows, groups, present)):
        sums = np.add.reduceat(total[order], starts)
        counts = np.add.reduceat(count[order], starts)
        np.divide(sums, counts, out=means[i], where=counts > 0)
    return means


def _sum_columns(rows: Rows, groups: Sequence[Array], present: Array) -> Iterator[tuple[Array, Array]]:
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


# ------------------------------------------------------------------------------------------- comparisons


def make_compared_kernels_section(results: findings.ComparisonResults) -> Section | None:
    """True, with cells hidden, and as each method completes them; None if there are no maps."""
    maps = results.kernels
    if maps is None or not maps.truth:
        return None
    lead = f"{_LEAD} Cells were hidden, and a method filled them in from the other views. {maps.order}"
    blocks = draw_compared_kernels(results, "kernels-of")
    return Section(
        "kernels", "Kernels", "Kernels: true, hidden, completed", lead, blocks, "maps crisp choose"
    )


def _list_completed_methods(results: findings.ComparisonResults) -> list[str]:
    """Methods that have maps, in the order of the table."""
    completed = {} if results.kernels is None else results.kernels.completed
    return list(dict.fromkeys([*(r.method for r in results.rows if r.method in completed), *completed]))


def draw_compared_kernels(results: findings.ComparisonResults, name: str) -> list[Markup]:
    """Small maps of all views, with buttons called `name` to choose a method."""
    maps, methods = results.kernels, _list_completed_methods(results)
    if maps is None or not maps.truth:
        return []
    chosen = results.verdict.recommended
    tabs = draw_tabs(name, "Completed by", methods, methods.index(chosen) if chosen in methods else 0)
    starts = np.arange(0, maps.side, _choose_compared_block(maps))

    def shrink(kernels: Mapping[str, Array], view: str) -> Array:
        return average_blocks(np.asarray(kernels[view], dtype=float), starts, starts)

    views = []
    for view in maps.truth:
        shown = {"True": shrink(maps.truth, view)}
        if view in maps.hidden:
            shown["With cells hidden"] = shrink(maps.hidden, view)
        done = {m: shrink(maps.completed[m], view) for m in methods if view in maps.completed[m]}
        value_range = find_value_range([shown["True"], *done.values()])
        drawn = [draw_heat_map(f"view {view}", *item, VALUES, value_range) for item in shown.items()]
        for method, values in done.items():
            css = f"by by-{methods.index(method)}" + (" only" if len(methods) == 1 else "")
            caption = f"Completed by {method}"
            drawn.append(draw_heat_map(f"view {view}", caption, values, VALUES, value_range, css=css))
        bar = draw_color_bar("Value", VALUES, value_range)
        views.append(draw_view(fill("<h3>{}</h3>", view), bar, drawn, "triple"))
    album = fill('<div class="album">{}</div>', views)
    return [draw_legend("nothing there"), *([tabs] if len(methods) > 1 else []), album]


def _choose_compared_block(maps: findings.KernelMaps) -> int:
    """More than one pixel in one, where there are so many maps that a page would grow large."""
    n_maps = sum(map(len, (maps.truth, maps.hidden, *maps.completed.values())))
    affordable = max(MAX_BYTES_COMPARED / max(n_maps, 1) - BYTES_PER_MAP, 64.0) / BYTES_PER_PIXEL
    return max(1, math.ceil(maps.side / math.sqrt(affordable)))
