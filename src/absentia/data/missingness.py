"""Hide views on purpose: generators of masks, each with a precise definition of its rate.

Every function returns `keep` (n_samples x n_views, True = stays), itself a valid `observed` mask.
`where` is a shape ``(n_samples, n_views)``, a boolean `observed` matrix, or an object that has one
(`Views`, `KernelViews`).  Only observed cells are hidden, rates are shares of what is observed, and
cells already absent come back False.  Every sample that had a view keeps at least one, unless
``allow_empty=True``; a request that cannot honour this raises `ValueError`.

Inside, every cell gets a random number, its *priority*, and cells of the largest priorities are hidden, as
many in each view as was asked for.  Where that leaves a sample empty, its cell of the smallest priority
comes back and the next elsewhere is hidden instead.
"""

import operator
from collections.abc import Iterable, Sequence
from itertools import pairwise
from typing import Any

import numpy as np
from numpy.typing import ArrayLike, NDArray

from absentia.core import RandomState, make_generator
from absentia.data._presence import Presence

__all__ = ["exclusive", "fixed_per_sample", "fixed_per_view", "mar", "mcar", "mnar", "own"]


_Mask = NDArray[np.bool_]
_Floats = NDArray[np.float64]
_Ints = NDArray[np.intp]

_PASSES = 50  # over all samples, after which nothing more is to be had


_Where = tuple[int, int] | _Mask | Presence


def mcar(
    where: _Where, rate: float, *, random_state: RandomState = None, allow_empty: bool = False
) -> _Mask:
    """Hide cells completely at random.

    Exactly ``round(rate * observed cells)`` cells are hidden, a uniform draw among all observed
    cells; a sample left empty gets one of its views back and another cell is hidden instead.

    Parameters
    ----------
    where : shape, boolean matrix, Views or KernelViews
        What is observed now.
    rate : float in [0, 1]
        Share of the observed *cells* to hide.
    random_state : int, Generator, RandomState or None
        Source of randomness.
    allow_empty : bool
        Whether samples may lose their last view.

    Returns
    -------
    keep : boolean array, n_samples x n_views
        What stays, True where a cell is observed and not hidden.

    Examples
    --------
    >>> keep = mcar((100, 5), 0.3, random_state=0)
    >>> int((~keep).sum()), bool(keep.any(axis=1).all())
    (150, True)
    """
    observed = _observed(where)
    priority = np.where(observed, make_generator(random_state).random(observed.shape), np.inf)
    if not allow_empty:
        priority[np.arange(len(priority)), priority.argmin(axis=1)] = (
            np.inf
        )  # one view of each sample stays
    can_go, n_hidden = np.isfinite(priority), round(_share(rate) * observed.sum())
    if n_hidden > can_go.sum():
        raise ValueError(
            f"asked to hide {n_hidden} of {observed.sum()} observed cells, but only {can_go.sum()} "
            f"can go if every sample is to keep a view; lower rate={rate} or pass allow_empty=True"
        )
    keep = observed.copy()
    keep.flat[_argsort_largest(np.where(can_go, priority, -np.inf).ravel(), n_hidden)] = False
    return keep


def fixed_per_sample(
    where: _Where, n_hidden: int, *, random_state: RandomState = None, allow_empty: bool = False
) -> _Mask:
    """Hide the same number of views in every sample.

    Each sample that has any view loses exactly `n_hidden` of them, chosen uniformly.

    Parameters
    ----------
    n_hidden : int
        Number of views that every sample loses.
    where, random_state, allow_empty
        As in :func:`mcar`, and so is what is returned.

    Examples
    --------
    >>> fixed_per_sample((4, 3), 2, random_state=0).sum(axis=1)
    array([1, 1, 1, 1])
    """
    observed, n_hidden = _observed(where), operator.index(n_hidden)
    n_views = observed.sum(axis=1)
    fewest = n_views[n_views > 0].min(initial=observed.shape[1])
    most = fewest if allow_empty else fewest - 1
    if not 0 <= n_hidden <= most:
        raise ValueError(
            f"asked to hide n_hidden={n_hidden} views of every sample, but between 0 and {most} "
            f"can go: some sample has only {fewest}; change n_hidden"
            + ("" if allow_empty else " or pass allow_empty=True")
        )
    priority = np.where(observed, make_generator(random_state).random(observed.shape), -np.inf)
    keep = observed.copy()
    np.put_along_axis(keep, priority.argsort(axis=1)[:, observed.shape[1] - n_hidden :], False, axis=1)
    return keep


def fixed_per_view(
    where: _Where,
    rate: float | Sequence[float],
    *,
    random_state: RandomState = None,
    allow_empty: bool = False,
) -> _Mask:
    """Hide the same share of samples in every view: the papers' rows and columns picked at random.

    In each view exactly ``round(rate * observed samples of the view)`` samples are hidden, views
    drawn independently; a sample left empty gets a view back and another sample loses that view
    instead.

    Parameters
    ----------
    rate : float in [0, 1], or one per view
        Share of each view's observed *samples* to hide.
    where, random_state, allow_empty
        As in :func:`mcar`, and so is what is returned.

    Examples
    --------
    >>> fixed_per_view((10, 3), [0.1, 0.2, 0.5], random_state=0).sum(axis=0)
    array([9, 8, 5])
    """
    observed = _observed(where)
    priority = make_generator(random_state).random(observed.shape)
    return _hide_in_each_view(observed, _counts(observed, rate), priority, allow_empty)


def exclusive(
    where: _Where, rate: float = 1.0, *, random_state: RandomState = None, allow_empty: bool = False
) -> _Mask:
    """Leave one view only to a share of the samples: mutually exclusive views.

    Exactly ``round(rate * samples with two or more views)`` samples, chosen uniformly, keep exactly
    one view; the others are untouched.  How many of them keep each view is as even as what is
    observed permits: if all is observed, the numbers differ by at most one.

    Parameters
    ----------
    rate : float in [0, 1]
        Share of the *samples* with two or more views that are left with one.
    where, random_state
        As in :func:`mcar`, and so is what is returned.
    allow_empty : bool
        Changes nothing here, where no sample is ever left empty.

    Examples
    --------
    >>> keep = exclusive((12, 3), random_state=0)
    >>> keep.sum(axis=0), keep.sum(axis=1).max()
    (array([4, 4, 4]), np.int64(1))
    """
    observed, rng = _observed(where), make_generator(random_state)
    several = np.flatnonzero(observed.sum(axis=1) > 1)
    rows = rng.choice(several, round(_share(rate) * several.size), replace=False)
    views = rng.permutation(observed.shape[1])  # no view is favoured where numbers must differ
    cells = np.ix_(rows, views)
    keep = observed.copy()
    keep[cells] = _keep_one_each(observed[cells], rng.random((rows.size, views.size)))
    return keep


def mar(
    where: _Where,
    rate: float | Sequence[float],
    score: ArrayLike,
    *,
    strength: float = 2.0,
    always: int | Sequence[int] | None = 0,
    random_state: RandomState = None,
    allow_empty: bool = False,
) -> _Mask:
    """Hide at random given a score that is always known (age, a summary of a view always there).

    In each view not in `always` exactly ``round(rate * observed samples of the view)`` samples are
    hidden: drawn one after the other without replacement, each with probability proportional to
    ``exp(strength * z)``, z the standardised score.  Samples left empty are repaired as in
    `fixed_per_view`.

    Parameters
    ----------
    rate : float in [0, 1], or one per view
        Share of each view's observed *samples* to hide.
    score : array of n_samples
        One known number per sample.
    strength : float
        Log-odds per standard deviation of the score; 0 ignores it, below 0 hides low scores.
    always : int, sequence of int, or None
        Views that are never hidden.
    where, random_state, allow_empty
        As in :func:`mcar`, and so is what is returned.

    Examples
    --------
    >>> age = np.arange(100)
    >>> keep = mar((100, 2), 0.3, age, random_state=0)
    >>> keep.sum(axis=0), bool(age[~keep[:, 1]].mean() > age[keep[:, 1]].mean())
    (array([100,  70]), True)
    """
    observed = _observed(where)
    z = _standardise(_numbers("score", score, observed.shape[:1]))
    n_hidden = _counts(observed, rate)
    n_hidden[_view_indices(always, observed.shape[1])] = 0
    priority = _draw_priorities(np.broadcast_to(z[:, None], observed.shape), strength, random_state)
    return _hide_in_each_view(observed, n_hidden, priority, allow_empty)


def mnar(
    where: _Where,
    rate: float | Sequence[float],
    scores: ArrayLike,
    *,
    strength: float = 2.0,
    random_state: RandomState = None,
    allow_empty: bool = False,
) -> _Mask:
    """Hide not at random: what a sample would show in a view decides whether it is seen there.

    In each view exactly ``round(rate * observed samples of the view)`` samples are hidden: drawn
    one after the other without replacement, each with probability proportional to
    ``exp(strength * z)``, z the sample's score in that very view, standardised over the view's
    observed samples.  Samples left empty are repaired as in `fixed_per_view`.

    Parameters
    ----------
    rate : float in [0, 1], or one per view
        Share of each view's observed *samples* to hide.
    scores : array, n_samples x n_views
        One number per cell, for instance the norm of the sample in the view; anything, NaN too,
        where the cell is absent.
    strength : float
        Log-odds per standard deviation of the score; 0 ignores it, below 0 hides low scores.
    where, random_state, allow_empty
        As in :func:`mcar`, and so is what is returned.

    Examples
    --------
    >>> norms = np.random.default_rng(0).random((100, 3))
    >>> keep = mnar(norms.shape, 0.2, norms, random_state=0)
    >>> keep.sum(axis=0), bool(norms[~keep].mean() > norms[keep].mean())
    (array([80, 80, 80]), True)
    """
    observed = _observed(where)
    numbers = _numbers("scores", scores, observed.shape, observed)
    z = np.zeros_like(numbers)
    for v, seen in enumerate(observed.T):
        z[seen, v] = _standardise(numbers[seen, v])
    priority = _draw_priorities(z, strength, random_state)
    return _hide_in_each_view(observed, _counts(observed, rate), priority, allow_empty)


def own(
    where: _Where, rate: float, *, random_state: RandomState = None, allow_empty: bool = False
) -> _Mask:
    """Hide cells as the data's own absence does: samples lose the views that other samples lack.

    Samples in random order are given the pattern of a random other sample and lose what that one lacks,
    until ``round(rate * observed cells)`` cells are hidden, counted in views that some sample lacks.  So
    views that are absent together are hidden together, and a view that everybody has stays.

    Parameters
    ----------
    rate : float in [0, 1]
        Share of the observed *cells*, of views that some sample lacks, to hide.
    where, random_state, allow_empty
        As in :func:`mcar`, and so is what is returned.

    Examples
    --------
    >>> observed = np.ones((100, 3), dtype=bool)
    >>> observed[:40, 1:] = False
    >>> keep = own(observed, 0.25, random_state=0)
    >>> keep.sum(axis=0), bool((keep[:, 1] == keep[:, 2]).all())
    (array([100,  45,  45]), True)
    """
    observed, rng = _observed(where), make_generator(random_state)
    n_hidden = round(_share(rate) * observed[:, ~observed.all(axis=0)].sum())
    keep, left = observed.copy(), n_hidden
    for _ in range(_PASSES):
        if left > 0:
            left -= _lay_over(keep, observed, left, rng, allow_empty)
    if left > 0:
        raise ValueError(
            f"asked to hide {n_hidden} observed cells by patterns of absence that the data have, but only "
            f"{n_hidden - left} can go; lower rate={rate}, or hide with mcar"
        )
    return keep


def _lay_over(keep: _Mask, observed: _Mask, most: int, rng: np.random.Generator, allow_empty: bool) -> int:
    """Hide, in `keep`, what a random other sample lacks; how many cells that are, at most `most`."""
    n = len(observed)
    order, pattern = rng.permutation(n), observed[rng.integers(n, size=n)]
    goes = keep & ~pattern
    goes[~pattern.any(axis=1) | ((keep & pattern).sum(axis=1) == 0) & (not allow_empty)] = False
    counts = goes[order].sum(axis=1)
    before = np.cumsum(counts) - counts
    rows = order[before < most]
    keep[rows] &= ~goes[rows]
    over = int(before[before < most][-1] + counts[before < most][-1] - most) if len(rows) else 0
    if over > 0:  # the last sample keeps some of it
        last = np.flatnonzero(goes[rows[-1]])
        keep[rows[-1], rng.permutation(last)[:over]] = True
    return int(min(counts[before < most].sum(), most))


# ------------------------------------------------------------------ exact counts, and no sample left empty


def _argsort_largest(values: _Floats, k: int) -> _Ints:
    """Indices of the `k` largest values."""
    return np.asarray(np.argsort(-values)[:k])


def _hide_in_each_view(observed: _Mask, n_hidden: _Ints, priority: _Floats, allow_empty: bool) -> _Mask:
    """In view v, hide the ``n_hidden[v]`` cells of largest priority; then refill empty samples."""
    keep = observed.copy()
    for v, seen in enumerate(observed.T):
        keep[_argsort_largest(np.where(seen, priority[:, v], -np.inf), n_hidden[v]), v] = False
    if not allow_empty:
        _refill_empty(keep, observed, priority)
    return keep


def _refill_empty(keep: _Mask, observed: _Mask, priority: _Floats) -> None:
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
        keep[entering[_argsort_largest(-priority[entering, path[0]], n)], path[0]] = True
        _move(keep, movers, path, priority, n)
        keep[leaving[_argsort_largest(priority[leaving, path[-1]], n)], path[-1]] = False


def _too_crowded(keep: _Mask, observed: _Mask, closed: _Mask) -> str:
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


def _keep_one_each(observed: _Mask, priority: _Floats) -> _Mask:
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


def _levelling_path(keep: _Mask, observed: _Mask) -> list[int]:
    """A path from a view to one kept by at least two samples fewer, or an empty list."""
    n_kept, passages = keep.sum(axis=0), _passages(keep, observed)
    for low in n_kept.argsort():
        routes = _routes(passages, [low])
        high = max(routes, key=n_kept.__getitem__)
        if n_kept[high] - n_kept[low] > 1:
            return routes[high]
    return []


def _passages(keep: _Mask, observed: _Mask) -> _Mask:
    """``[v, w]``: some sample keeps view v but has view w too."""
    return np.asarray(keep.T.astype(np.float32) @ observed.astype(np.float32) > 0)


def _routes(passages: _Mask, goals: Iterable[int]) -> dict[int, list[int]]:
    """From each view that can reach a goal, the shortest path of views to one."""
    routes = {int(w): [int(w)] for w in goals}
    queue = list(routes)
    for w in queue:
        for v in np.flatnonzero(passages[:, w]).tolist():
            if v not in routes:
                routes[v] = [v, *routes[w]]
                queue.append(v)
    return routes


def _movers(keep: _Mask, observed: _Mask, path: list[int]) -> list[_Ints]:
    """For each step v to w of the path, the samples that keep v but have w too.

    A shortest path leads through views whose samples keep nothing else, so none of them keeps w.
    """
    return [np.flatnonzero(keep[:, v] & observed[:, w]) for v, w in pairwise(path)]


def _move(keep: _Mask, movers: list[_Ints], path: list[int], priority: _Floats, n: int) -> None:
    """At each step of the path, the `n` movers of largest priority take it."""
    for rows, (v, w) in zip(movers, pairwise(path), strict=True):
        moved = rows[_argsort_largest(priority[rows, v], n)]
        keep[moved, v], keep[moved, w] = False, True


# --------------------------------------------------------------------------------------------- what came in


def _observed(where: Any) -> _Mask:
    if isinstance(where, tuple):
        if len(where) != 2 or not all(isinstance(n, int | np.integer) and n > 0 for n in where):
            raise ValueError(f"where={where} is no shape; pass two positive integers, samples and views")
        return np.ones(where, dtype=np.bool_)
    mask = np.asarray(getattr(where, "observed", where))
    if mask.ndim != 2 or mask.dtype != np.bool_ or not mask.size:
        raise ValueError(
            f"where has shape {mask.shape} and type {mask.dtype}; pass (n_samples, n_views), a "
            "boolean matrix of that shape (True = observed), or an object with such an .observed"
        )
    return mask


def _share(rate: float) -> float:
    if np.ndim(rate) != 0 or not 0 <= rate <= 1:
        raise ValueError(f"rate={rate}; pass one number between 0 and 1, the share to hide")
    return float(rate)


def _counts(observed: _Mask, rate: float | Sequence[float]) -> _Ints:
    """How many samples to hide in each view."""
    n_views = observed.shape[1]
    rates = np.repeat(rate, n_views) if np.ndim(rate) == 0 else np.asarray(rate)
    if len(rates) != n_views:
        raise ValueError(f"{len(rates)} rates for {n_views} views; pass one number, or one per view")
    return np.rint([_share(r) for r in rates] * observed.sum(axis=0)).astype(np.intp)


def _numbers(name: str, given: ArrayLike, shape: tuple[int, ...], needed: Any = True) -> _Floats:
    """A fresh array of floats, finite wherever `needed`."""
    numbers = np.array(given, dtype=np.float64)
    if numbers.shape != shape:
        raise ValueError(f"{name} has shape {numbers.shape} where {shape} is wanted")
    unknown = int((~np.isfinite(numbers) & needed).sum())
    if unknown:
        raise ValueError(f"{name} is NaN or infinite in {unknown} places; fill these in first")
    return numbers


def _view_indices(views: int | Sequence[int] | None, n_views: int) -> _Ints:
    indices = np.atleast_1d(np.asarray([] if views is None else views, dtype=np.intp))
    if ((indices < -n_views) | (indices >= n_views)).any():
        raise ValueError(f"always={views}, but views are numbered 0 to {n_views - 1}")
    return indices


def _standardise(score: _Floats) -> _Floats:
    """Mean 0, variance 1; all zero if constant."""
    if not score.size or np.ptp(score) == 0:
        return np.zeros_like(score)
    return np.asarray((score - score.mean()) / score.std())


def _draw_priorities(z: _Floats, strength: float, random_state: RandomState) -> _Floats:
    """Wishes whose k largest are k weighted draws without replacement (the Gumbel trick)."""
    if not np.isfinite(strength):
        raise ValueError(f"strength={strength}; pass a finite number, 0 to ignore the score")
    return strength * z + make_generator(random_state).gumbel(size=z.shape)
