"""Cells hidden with exact counts per view, and no sample left empty.

Every cell has a *priority*, and those of the largest priorities are hidden.  Where that leaves a sample
empty, its cell of the smallest priority comes back and the next elsewhere is hidden instead.
"""

from collections.abc import Iterable
from itertools import pairwise

import numpy as np
from numpy.typing import NDArray

Mask = NDArray[np.bool_]
Floats = NDArray[np.float64]
Ints = NDArray[np.intp]


def argsort_largest(values: Floats, k: int) -> Ints:
    """Indices of the `k` largest values."""
    return np.asarray(np.argsort(-values)[:k])


def hide_in_each_view(observed: Mask, n_hidden: Ints, priority: Floats, allow_empty: bool) -> Mask:
    """In view v, hide the ``n_hidden[v]`` cells of largest priority; then refill empty samples."""
    keep = observed.copy()
    for v, seen in enumerate(observed.T):
        keep[argsort_largest(np.where(seen, priority[:, v], -np.inf), n_hidden[v]), v] = False
    if not allow_empty:
        _refill_empty(keep, observed, priority)
    return keep


def _refill_empty(keep: Mask, observed: Mask, priority: Floats) -> None:
    """Swap within views, in place, until no sample is empty.

    An empty sample enters a view and someone leaves it for good, who must keep another view.  If
    no one there does, a sample can leave it for a second view, where someone leaves for good, and
    so on: an augmenting path of bipartite flow, taken by as many samples at once as it carries.
    """
    while (empty := np.flatnonzero(observed.any(axis=1) & ~keep.any(axis=1))).size:
        spare = keep & (keep.sum(axis=1) > 1)[:, None]
        routes = _routes(_passages(keep, observed), np.flatnonzero(spare.any(axis=0)))
        closed = np.isin(np.arange(keep.shape[1]), list(routes), invert=True)
        cost = np.where(observed[empty] & ~closed, priority[empty], np.inf)
        if np.isinf(cost).all(axis=1).any():
            raise ValueError(_too_crowded(keep, observed, closed))
        choice = cost.argmin(axis=1)
        path = routes[int(np.bincount(choice).argmax())]
        entering = empty[choice == path[0]]
        leaving = np.flatnonzero(spare[:, path[-1]])
        movers = _movers(keep, observed, path)
        n = min(map(len, [entering, *movers, leaving]))
        keep[entering[argsort_largest(-priority[entering, path[0]], n)], path[0]] = True
        _move(keep, movers, path, priority, n)
        keep[leaving[argsort_largest(priority[leaving, path[-1]], n)], path[-1]] = False


def _too_crowded(keep: Mask, observed: Mask, closed: Mask) -> str:
    """Hall's condition, violated: samples that have the `closed` views only outnumber the room."""
    views = np.flatnonzero(closed).tolist()
    cells, room = observed[:, closed].sum(), keep[:, closed].sum()
    needy = (observed.any(axis=1) & ~observed[:, ~closed].any(axis=1)).sum()
    return (
        f"asked to hide {cells - room} of the {cells} observed cells in views {views}, but at most "
        f"{cells - needy} can go if every sample is to keep a view: {needy} samples have no other "
        "views; lower the rate or pass allow_empty=True"
    )


# samples that keep one view and change it for another, along a path of views


def keep_one_each(observed: Mask, priority: Floats) -> Mask:
    """Keep one view of each sample, every view as often as any other where possible.

    From a random choice, samples move along paths from fuller to emptier views until no path joins
    views that differ by more than one: an optimal semi-matching (Harvey et al., 2006).
    """
    keep = np.zeros_like(observed)
    keep[np.arange(len(keep)), np.where(observed, priority, np.inf).argmin(axis=1)] = True
    while path := _levelling_path(keep, observed):
        n_kept, movers = keep.sum(axis=0), _movers(keep, observed, path)
        gap = n_kept[path[0]] - n_kept[path[-1]]
        _move(keep, movers, path, priority, min(gap // 2, *map(len, movers)))
    return keep


def _levelling_path(keep: Mask, observed: Mask) -> list[int]:
    """A path from a view to one kept by at least two samples fewer, or an empty list."""
    n_kept, passages = keep.sum(axis=0), _passages(keep, observed)
    for low in n_kept.argsort():
        routes = _routes(passages, [low])
        high = max(routes, key=n_kept.__getitem__)
        if n_kept[high] - n_kept[low] > 1:
            return routes[high]
    return []


def _passages(keep: Mask, observed: Mask) -> Mask:
    """``[v, w]``: some sample keeps view v but has view w too."""
    return np.asarray(keep.T.astype(np.float32) @ observed.astype(np.float32) > 0)


def _routes(passages: Mask, goals: Iterable[int]) -> dict[int, list[int]]:
    """From each view that can reach a goal, the shortest path of views to one."""
    routes = {int(w): [int(w)] for w in goals}
    queue = list(routes)
    for w in queue:
        for v in np.flatnonzero(passages[:, w]).tolist():
            if v not in routes:
                routes[v] = [v, *routes[w]]
                queue.append(v)
    return routes


def _movers(keep: Mask, observed: Mask, path: list[int]) -> list[Ints]:
    """For each step v to w of the path, the samples that keep v but have w too.

    A shortest path leads through views whose samples keep nothing else, so none of them keeps w.
    """
    return [np.flatnonzero(keep[:, v] & observed[:, w]) for v, w in pairwise(path)]


def _move(keep: Mask, movers: list[Ints], path: list[int], priority: Floats, n: int) -> None:
    """At each step of the path, the `n` movers of largest priority take it."""
    for rows, (v, w) in zip(movers, pairwise(path), strict=True):
        moved = rows[argsort_largest(priority[rows, v], n)]
        keep[moved, v], keep[moved, w] = False, True
