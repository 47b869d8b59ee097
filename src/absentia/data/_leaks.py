"""Columns that nearly determine a target on their own: what would not be known of new samples.

Each column alone predicts every sample from the others.  Of a column with few different values a sample
gets the class that is most frequent, each class weighing the same, among the other samples with its value;
of any other, the class that is most frequent among the samples next to it in the order of the values
(:data:`NEIGHBOURS` on each side).  Numbers are predicted by the mean of those with its value, or of the two
next to it.  Whether a value is missing counts as a column too: a day of relapse is there for those who had
one.

A column leaks if it is wrong about at most :data:`ERROR` of the samples, and stands apart: wrong at most
half as often as the next best column of its view, by more than two standard errors of such a difference.
The best of many columns of noise and a strong marker among markers do not stand apart.  Several columns may
stand apart together.
"""

from collections.abc import Iterator
from shlex import quote
from typing import NamedTuple

import numpy as np
import scipy.sparse

from absentia.core import Array, generator
from absentia.data._views import Views

ERROR = 0.05  # share of wrong predictions, as the mean over classes; of numbers, of the variance
NEIGHBOURS = 5
FEWEST, FEWEST_OF_MANY, MOST_SAMPLES = 20, 100, 1000  # that are looked at
MOST_VALUES = 20  # different ones, that are levels
MOST_VALUES_READ, AT_ONCE = 6_000_000, 1_000_000  # of a view; at a time


class Leak(NamedTuple):
    """A column that nearly determines the target: how often it is right, and the best that is left."""

    view: str
    column: str
    score: float
    next_best: float
    numbers: bool

    def sentence(self, target: str) -> str:
        """What was found, by name, and what to do."""
        share, rest = f"{100 * self.score:.0f}%", f"{100 * max(self.next_best, 0):.0f}%"
        right = (
            f"explains {share} of its variance" if self.numbers else f"is right for {share}, class by class"
        )
        return (
            f"column {self.column!r} of view {self.view!r} nearly determines {target}: alone, and on "
            f"samples that it was not fitted to, it {right} (the next best of the view: {rest}); unless it "
            f"is known of new samples before {target} is, leave it out: --ignore "
            + quote(f"{self.view}:{self.column}")
        )


def find_leaks(views: Views, y: Array, *, numbers: bool = False) -> list[Leak]:
    """Columns of views that nearly determine `y`, judged on samples that they were not fitted to.

    Parameters
    ----------
    views : Views
        The features.
    y : ndarray of shape (n_samples,)
        Classes, or, with `numbers`, floats.
    numbers : bool
        Whether `y` are numbers, not classes.
    """
    return [leak for name in views.names for leak in _of_view(views, name, y, numbers)]


def _of_view(views: Views, name: str, y: Array, numbers: bool) -> Iterator[Leak]:
    block, having = views.block(name), np.flatnonzero(views.observed[:, views.names.index(name)])
    most = min(max(MOST_VALUES_READ // max(block.shape[1], 1), FEWEST_OF_MANY), MOST_SAMPLES)
    some = generator(0).permutation(len(having))[:most]  # in an order by chance: ties do not tell
    target = y[having[some]]
    classes, codes = np.unique(target, return_inverse=True)
    if len(some) < FEWEST or len(classes) < 2 or (not numbers and np.bincount(codes).min() < 2):
        return
    Y = ((target - target.mean()) / target.std())[None] if numbers else np.eye(len(classes))[:, codes]
    worst, step = 1.0 if numbers else 1 - 1 / len(classes), max(1, AT_ONCE // Y.size)
    errors = []
    for start in range(0, block.shape[1], step):
        part = block[some, start : start + step]
        part = part.toarray() if scipy.sparse.issparse(part) else part
        errors.append(column_errors(np.ascontiguousarray(part.T, dtype=float), Y, numbers))
    error = np.minimum(np.concatenate(errors), worst)
    order = np.argsort(error, kind="stable")
    rising = np.append(error[order], worst)
    many = _standing_apart(rising, len(some))
    features = views.features(name)
    for place in order[:many].tolist():
        column = f"{name}_{place}" if features is None else str(features[place])
        yield Leak(name, column, float(1 - error[place]), float(1 - rising[many]), numbers)


def _standing_apart(errors: Array, n: int) -> int:
    """How many of these errors, which rise, are small and stand apart from the next."""
    small, following = errors[:-1], errors[1:]
    apart = (small <= ERROR) & (small <= following / 2)
    apart &= n * (following - small) >= 2 * np.sqrt(n * (small + following))
    return int(np.flatnonzero(apart)[-1]) + 1 if apart.any() else 0


def column_errors(X: Array, Y: Array, numbers: bool) -> Array:
    """How wrong each column alone is about the samples, each predicted from the others.

    Parameters
    ----------
    X : ndarray of shape (n_columns, n_samples)
        A line for each column; NaN is missing.
    Y : ndarray of shape (n_targets, n_samples)
        Classes as indicators, or, with `numbers`, one line of numbers.
    numbers : bool
        Which of the two.
    """
    missing = np.isnan(X)
    order = np.argsort(X, axis=1)  # NaN comes last
    rank = np.zeros(X.shape, dtype=np.int32)
    np.cumsum(np.diff(np.take_along_axis(X, order, axis=1), axis=1) > 0, axis=1, out=rank[:, 1:])
    few, found = rank[:, -1] < MOST_VALUES, np.ones(len(X))
    codes = np.empty_like(rank[few])
    np.put_along_axis(codes, order[few], rank[few], axis=1)
    codes[missing[few]] = -1
    by_level, by_order = (
        (_number_errors, _number_errors_in_order) if numbers else (_errors, _errors_in_order)
    )
    found[few] = by_level(codes, Y)
    found[~few] = by_order(order[~few], ~missing[~few], Y)
    found[missing.mean(axis=1) > 0.5] = 1.0
    some = missing.any(axis=1)
    found[some] = np.minimum(found[some], by_level(missing[some].astype(np.int32), Y))
    return found


def _errors(codes: Array, Y: Array) -> Array:
    """Wrong classes, of columns whose values are the levels 0, 1, ... (-1 is missing)."""
    counts = Y @ (codes >= 0).T  # classes x columns
    right = np.zeros(counts.shape)
    for level in range(int(codes.max(initial=-1)) + 1):
        here = Y @ (codes == level).T
        for k in range(len(Y)):
            right[k] += here[k] * _share_of_votes(k, here - np.eye(len(Y))[:, [k]], counts)
    return _mean_error(right, counts)


def _errors_in_order(order: Array, there: Array, Y: Array) -> Array:
    """Wrong classes, of columns by the order of their values; who has a value is `there`."""
    counts = Y @ there.T
    seen = np.take_along_axis(there, order, axis=1)
    own = [y[order] * seen for y in Y]
    votes = np.stack([_near(y, NEIGHBOURS) - y for y in own])
    right = [(y * _share_of_votes(k, votes, counts[:, :, None])).sum(axis=1) for k, y in enumerate(own)]
    return _mean_error(np.array(right), counts)


def _near(own: Array, reach: int) -> Array:
    """Sums over so many samples on each side in order, and the sample itself."""
    total = np.zeros((len(own), own.shape[1] + 1))
    np.cumsum(own, axis=1, out=total[:, 1:])
    places = np.arange(own.shape[1])
    low, high = np.maximum(places - reach, 0), np.minimum(places + reach + 1, own.shape[1])
    return np.asarray(total[:, high] - total[:, low])


def _share_of_votes(k: int, votes: Array, counts: Array) -> Array:
    """1 where class `k` has the most votes, each class weighing the same; of equals each has a part."""
    shares = votes / np.maximum(counts, 1)
    best = shares >= shares.max(axis=0) - 1e-12
    return np.asarray(best[k] / best.sum(axis=0))


def _mean_error(right: Array, counts: Array) -> Array:
    """The mean over the classes that are there; 1 where there is one only."""
    seen = (counts > 0).sum(axis=0)
    each = (right / np.maximum(counts, 1)).sum(axis=0) / np.maximum(seen, 1)
    return np.asarray(np.where(seen > 1, 1 - each, 1.0))


def _number_errors(codes: Array, Y: Array) -> Array:
    """The share of the variance of numbers that the means of levels leave."""
    y, left = Y[0], np.zeros(len(codes))
    for level in range(int(codes.max(initial=-1)) + 1):
        here = codes == level
        m, total, squares = here.sum(axis=1), here @ y, here @ y**2
        others = m * (m * squares - total**2) / np.maximum(m - 1, 1) ** 2  # each from the mean of the rest
        left += np.where(m > 1, others, squares)
    return _share_left(left, codes >= 0, y)


def _number_errors_in_order(order: Array, there: Array, Y: Array) -> Array:
    """The share of the variance of numbers that the means of those next in order leave."""
    seen = np.take_along_axis(there, order, axis=1)
    own = Y[0][order] * seen
    said = (_near(own, 1) - own) / np.maximum(_near(seen, 1) - seen, 1)
    return _share_left((seen * (own - said) ** 2).sum(axis=1), there, Y[0])


def _share_left(left: Array, there: Array, y: Array) -> Array:
    spread = there @ y**2 - (there @ y) ** 2 / np.maximum(there.sum(axis=1), 1)
    return np.asarray(np.where(spread > 0, left / np.where(spread > 0, spread, 1.0), 1.0))
