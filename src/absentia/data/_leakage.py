"""What makes scores out of cross-validation too good: columns that give the target away, repeated samples.

Leaks: columns that nearly determine a target on their own, and would not be known of new samples.
Each column alone predicts every sample from the others.  Of a column with few different values a sample
gets the class that is most frequent, each class weighing the same, among the other samples with its value;
of any other, the class that is most frequent among the samples next to it in the order of the values
(five on each side).  Numbers are predicted by the mean of those with its value, or of the two
next to it.  Whether a value is missing counts as a column too: a day of relapse is there for those who had
one.

A column leaks if it is wrong about at most 5 % of the samples, and stands apart: wrong at most
half as often as the next best column of its view, by more than two standard errors of such a difference.
The best of many columns of noise and a strong marker among markers do not stand apart.  Several columns may
stand apart together.

Repeats: samples that seem to be of one patient, by their ids or because their values are the same.
Where such samples stand on both sides of a split, a method is judged on whom it has seen.

By id: ids that differ in how they end only, behind ``_`` ``-`` ``.`` or a space, if the ends are words for
repeats (``visit2``, ``rep1``, ``day14``, ``pre``), or numbers up to 20 or single letters of which the
beginnings have a few each, and the same ones (``P01_1``, ``P01_2``, ``P02_1``, ...; not ``sample_1`` to
``sample_99``).

By values: two samples whose distance, in the standardised columns of a view, is at most a tenth of what is
usual, and so small that not one such pair is to be expected by chance; unless they are far apart in
another view.  Of normal samples in ``d`` dimensions
(the participation ratio of the covariance) two are nearer than ``r`` times the usual distance as often as
a chi-square of ``d`` degrees is below ``r^2 d``.  Of categories and counts only equality tells, and only if
it is too rare for chance: ``d`` times the mean logarithm of how often two samples agree in a column.
"""

import re
from collections.abc import Iterator, Mapping, Sequence
from shlex import quote
from typing import Any, NamedTuple

import numpy as np
import scipy.sparse

from absentia.core import Array, make_generator
from absentia.data._chunked_views import Moments
from absentia.data._ids import show_id
from absentia.data._presence import Presence
from absentia.data._views import Views

# ---------------------------------------------------------------------------------------------------- leaks


_MAX_ERROR = 0.05  # share of wrong predictions, as the mean over classes; of numbers, of the variance
_NEIGHBOURS = 5
_MIN_SAMPLES, _MIN_OF_MANY, _MAX_SAMPLES = 20, 100, 1000  # that are looked at
_MAX_LEVELS = 20  # different values of a column of levels
_MAX_READ, _CHUNK = 6_000_000, 1_000_000  # values of a view; at a time


class _Leak(NamedTuple):
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


def find_leaks(views: Views, y: Array, *, numbers: bool = False) -> list[_Leak]:
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
    return [leak for name in views.names for leak in _leaks_of_view(views, name, y, numbers)]


def _leaks_of_view(views: Views, name: str, y: Array, numbers: bool) -> Iterator[_Leak]:
    block, holders = views.block(name), np.flatnonzero(views.observed[:, views.names.index(name)])
    max_samples = min(max(_MAX_READ // max(block.shape[1], 1), _MIN_OF_MANY), _MAX_SAMPLES)
    rows = make_generator(0).permutation(len(holders))[
        :max_samples
    ]  # in an order by chance: ties do not tell
    target = y[holders[rows]]
    classes, codes = np.unique(target, return_inverse=True)
    if len(rows) < _MIN_SAMPLES or len(classes) < 2 or (not numbers and np.bincount(codes).min() < 2):
        return
    Y = ((target - target.mean()) / target.std())[None] if numbers else np.eye(len(classes))[:, codes]
    worst, step = 1.0 if numbers else 1 - 1 / len(classes), max(1, _CHUNK // Y.size)
    errors = []
    for start in range(0, block.shape[1], step):
        part = block[rows, start : start + step]
        part = part.toarray() if scipy.sparse.issparse(part) else part
        errors.append(_column_errors(np.ascontiguousarray(part.T, dtype=float), Y, numbers))
    error = np.minimum(np.concatenate(errors), worst)
    order = np.argsort(error, kind="stable")
    rising = np.append(error[order], worst)
    count = _standing_apart(rising, len(rows))
    features = views.features(name)
    for place in order[:count].tolist():
        column = f"{name}_{place}" if features is None else str(features[place])
        yield _Leak(name, column, float(1 - error[place]), float(1 - rising[count]), numbers)


def _standing_apart(errors: Array, n: int) -> int:
    """How many of these errors, which rise, are small and stand apart from the next."""
    small, following = errors[:-1], errors[1:]
    apart = (small <= _MAX_ERROR) & (small <= following / 2)
    apart &= n * (following - small) >= 2 * np.sqrt(n * (small + following))
    return int(np.flatnonzero(apart)[-1]) + 1 if apart.any() else 0


def _column_errors(X: Array, Y: Array, numbers: bool) -> Array:
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
    few, errors = rank[:, -1] < _MAX_LEVELS, np.ones(len(X))
    codes = np.empty_like(rank[few])
    np.put_along_axis(codes, order[few], rank[few], axis=1)
    codes[missing[few]] = -1
    by_level, by_order = (
        (_level_residuals, _neighbour_residuals) if numbers else (_level_errors, _neighbour_errors)
    )
    errors[few] = by_level(codes, Y)
    errors[~few] = by_order(order[~few], ~missing[~few], Y)
    errors[missing.mean(axis=1) > 0.5] = 1.0
    gappy = missing.any(axis=1)
    errors[gappy] = np.minimum(errors[gappy], by_level(missing[gappy].astype(np.int32), Y))
    return errors


def _level_errors(codes: Array, Y: Array) -> Array:
    """Wrong classes, of columns whose values are the levels 0, 1, ... (-1 is missing)."""
    counts = Y @ (codes >= 0).T  # classes x columns
    right = np.zeros(counts.shape)
    for level in range(int(codes.max(initial=-1)) + 1):
        here = Y @ (codes == level).T
        for k in range(len(Y)):
            right[k] += here[k] * _share_of_votes(k, here - np.eye(len(Y))[:, [k]], counts)
    return _mean_error(right, counts)


def _neighbour_errors(order: Array, there: Array, Y: Array) -> Array:
    """Wrong classes, of columns by the order of their values; who has a value is `there`."""
    counts = Y @ there.T
    seen = np.take_along_axis(there, order, axis=1)
    classes = [y[order] * seen for y in Y]
    votes = np.stack([_window_sums(y, _NEIGHBOURS) - y for y in classes])
    right = [(y * _share_of_votes(k, votes, counts[:, :, None])).sum(axis=1) for k, y in enumerate(classes)]
    return _mean_error(np.array(right), counts)


def _window_sums(values: Array, width: int) -> Array:
    """Sums over so many samples on each side in order, and the sample itself."""
    total = np.zeros((len(values), values.shape[1] + 1))
    np.cumsum(values, axis=1, out=total[:, 1:])
    places = np.arange(values.shape[1])
    low, high = np.maximum(places - width, 0), np.minimum(places + width + 1, values.shape[1])
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


def _level_residuals(codes: Array, Y: Array) -> Array:
    """The share of the variance of numbers that the means of levels leave."""
    y, left = Y[0], np.zeros(len(codes))
    for level in range(int(codes.max(initial=-1)) + 1):
        here = codes == level
        m, total, squares = here.sum(axis=1), here @ y, here @ y**2
        others = m * (m * squares - total**2) / np.maximum(m - 1, 1) ** 2  # each from the mean of the rest
        left += np.where(m > 1, others, squares)
    return _share_left(left, codes >= 0, y)


def _neighbour_residuals(order: Array, there: Array, Y: Array) -> Array:
    """The share of the variance of numbers that the means of those next in order leave."""
    seen = np.take_along_axis(there, order, axis=1)
    values = Y[0][order] * seen
    predicted = (_window_sums(values, 1) - values) / np.maximum(_window_sums(seen, 1) - seen, 1)
    return _share_left((seen * (values - predicted) ** 2).sum(axis=1), there, Y[0])


def _share_left(left: Array, there: Array, y: Array) -> Array:
    spread = there @ y**2 - (there @ y) ** 2 / np.maximum(there.sum(axis=1), 1)
    return np.asarray(np.where(spread > 0, left / np.where(spread > 0, spread, 1.0), 1.0))


# -------------------------------------------------------------------------------------------------- repeats


_WORDS = (
    "visit|vis|v|timepoint|time|tp|t|day|week|wk|month|mo|year|yr|baseline|bl|follow-?up|fu|pre|post|before|after|"
    "replicate|repeat|rep|run|aliquot|biopsy|relapse|diagnosis|remission|tumou?r|normal|left|right"
)
_WORD = re.compile(
    rf"(.*[^\s_.-])[\s_.-]+(?:(?:{_WORDS})[\s_.-]*\d{{0,4}}[a-z]?)", re.IGNORECASE | re.DOTALL
)
_PLAIN = re.compile(r"(.*[^\s_.-])[\s_.-]+([A-Za-z]?(?:0?\d|1\d|20)[A-Za-z]?|[A-Za-z])", re.DOTALL)
_MAX_GROUP = 20  # samples of one patient; more are a cluster or a batch
_SHOWN = 3
_SAME, _NEAR, _FAR = 1e-9, 0.1, 0.5  # distances, as shares of the usual one
_CHANCE = 0.001  # pairs that are to be expected at most
_MANY = 5000  # samples, of which only equal ones are looked for
_SKETCH, _SAMPLED = 12, 300  # dimensions in which pairs are looked for; samples that say what is usual
_WIDER = 2.0  # how much wider: a sketch of as many dimensions more than doubles one distance in 1e5
_PAIR_CHUNK = 4_000_000  # values


class _Repeats(NamedTuple):
    """Groups of ids that seem to be of one patient each, and why they seem so."""

    groups: list[list[str]]
    why: str
    column: str  # that tells who belongs together

    @property
    def sentence(self) -> str:
        """What was found, by name, and what to do."""
        examples = "; ".join(
            " and ".join(show_id(x) for x in group[:_SHOWN]) for group in self.groups[:_SHOWN]
        )
        more = "; ..." if len(self.groups) > _SHOWN else ""
        count = sum(map(len, self.groups))
        return (
            f"{count} samples seem to be repeats of {len(self.groups)} ({self.why}): {examples}{more}; if "
            "they are of the same patients, scores out of cross-validation are too good, as a patient "
            f"stands on both sides of a split: say who belongs together with --groups {self.column} (in "
            f"Python views.with_groups({self.python}))"
        )

    @property
    def python(self) -> str:
        return "'id'" if self.column == "id" else "patients"


def find_repeats(data: Presence) -> list[_Repeats]:
    """Samples that seem to be of one patient, by id and by value.

    Parameters
    ----------
    data : Presence
        Views or kernels; of kernels only the ids are looked at.  Samples that are in one of the groups of
        `data` are no news.
    """
    ids = [str(x) for x in data.ids.tolist()]
    together = dict(zip(ids, range(len(ids)) if data.groups is None else data.groups.tolist(), strict=True))

    def select_news(groups: list[list[str]]) -> list[list[str]]:
        return [group for group in groups if len({together[name] for name in group}) > 1]

    repeats = []
    if groups := select_news(_repeats_by_id(ids)):
        repeats.append(_Repeats(groups, "their ids differ in the end only", "id"))
    if not isinstance(data, Views):
        return repeats
    views = {name: _Rows(data, name) for name in data.names if data.block(name).shape[0] > 2}
    near = {name: pairs for name in views if len(pairs := _near_pairs(views, name))}
    if near and (places := _link_pairs(np.concatenate(list(near.values())))):
        which = f"view{'' if len(near) == 1 else 's'} {', '.join(map(repr, near))}"
        if groups := select_news([[ids[k] for k in group] for group in places]):
            repeats.append(_Repeats(groups, f"their values in {which} are the same, or nearly", "COLUMN"))
    return repeats


def group_by_id(ids: Sequence[Any]) -> list[str]:
    """For each id the first of those that differ from it in the end only, by the rule of the warning."""
    names = [str(x) for x in ids]
    repeats = _repeats_by_id(names)
    if not repeats:
        raise ValueError(
            f"ids such as {', '.join(names[:3])} do not tell which samples belong together (as P01_v1 and "
            "P01_v2 do); name a column that does"
        )
    first = {name: group[0] for group in repeats for name in group}
    return [first.get(name, name) for name in names]


# ------------------------------------------------------------------------------------------------- ids


def _repeats_by_id(ids: Sequence[str]) -> list[list[str]]:
    by_word = _group_ids(ids, _WORD)
    if by_word:
        return by_word
    plain = _group_ids(ids, _PLAIN)
    count = sum(map(len, plain))
    ends = {match[2] for group in plain for name in group if (match := _PLAIN.fullmatch(name))}
    few = count <= 5 * len(plain) and 2 * len(ends) <= count  # of each, and the same ends again and again
    return plain if len(plain) > 2 and few else []


def _group_ids(ids: Sequence[str], pattern: re.Pattern[str]) -> list[list[str]]:
    """Ids by what stands before the end that the pattern describes, those that are not alone.

    The beginning itself, without an end, belongs to the group too.
    """
    groups: dict[str, list[str]] = {}
    for name in ids:
        match = pattern.fullmatch(name)
        groups.setdefault(match[1] if match else name, []).append(name)
    several = [group for group in groups.values() if len(group) > 1]
    return [] if any(len(group) > _MAX_GROUP for group in several) else several


# ---------------------------------------------------------------------------------------------- values


def _near_pairs(views: Mapping[str, "_Rows"], name: str) -> Array:
    """Pairs of samples whose values in a view are the same, or nearly and not far apart in others."""
    view = views[name]
    pairs, apart = view.near_pairs()
    keep = np.ones(len(pairs), bool)
    for other in views.values() if len(pairs) else ():
        both = np.isin(pairs, other.having).all(axis=1) & (apart > _SAME)
        keep[both] &= other.distances(pairs[both]) <= _FAR
    return np.asarray(pairs[keep])


def _link_pairs(pairs: Array) -> list[list[int]]:
    """Groups of samples that pairs link; none if one is so large that it is no patient."""
    from scipy.sparse.csgraph import connected_components

    links = scipy.sparse.coo_array((np.ones(len(pairs)), pairs.T), shape=(pairs.max() + 1,) * 2)
    _, label = connected_components(links, directed=False)
    members = [np.flatnonzero(label == group).tolist() for group in np.unique(label[pairs[:, 0]])]
    return [] if max(map(len, members)) > _MAX_GROUP else members


class _Rows:
    """Samples of a view as points: standardised columns, what is missing at the mean."""

    def __init__(self, data: Views, name: str) -> None:
        self.block, self.having = data.block(name), np.flatnonzero(data.observed[:, data.names.index(name)])
        self.n = len(self.having)
        sample = self._rows(make_generator(0).permutation(self.n)[:_SAMPLED])
        moments = Moments.of(sample)
        self.mean, spread = moments.mean, np.nan_to_num(moments.deviations)
        self.scale = np.where(spread > 0, 1 / np.where(spread > 0, spread, 1.0), 0.0)
        varied = np.flatnonzero(spread > 0)
        self.agree = _agreement(sample[:, varied[:: len(varied) // _SAMPLED + 1]])
        points = self._standardize(sample)
        gram = points @ points.T
        self.usual = float(np.sqrt(2 * np.trace(gram) / max(len(gram), 1)))
        self.dimensions = float(np.trace(gram) ** 2 / max((gram**2).sum(), 1e-300))

    def _rows(self, rows: Array) -> Array:
        part = self.block[rows]
        return np.asarray(part.toarray() if scipy.sparse.issparse(part) else part, dtype=float)

    def _standardize(self, values: Array) -> Array:
        return np.asarray(np.nan_to_num((values - self.mean) * self.scale))

    def radius(self) -> float:
        """How near is too near for chance; 0: only what is equal; negative: not even that."""
        from scipy.special import gammaincinv

        if not len(self.agree) or self.usual == 0:
            return -1.0
        pairs = self.n**2 / 2
        if pairs * np.exp(self.dimensions * np.log(self.agree).mean()) > _CHANCE:
            return -1.0
        if np.median(self.agree) > 2 / min(self.n, _SAMPLED) or self.n > _MANY:
            return 0.0  # of categories and counts only equality tells
        return float(
            min(_NEAR, np.sqrt(2 * gammaincinv(self.dimensions / 2, _CHANCE / pairs) / self.dimensions))
        )

    def near_pairs(self) -> tuple[Array, Array]:
        """Pairs of samples that are nearer than chance would have it, and how near."""
        from scipy.spatial import cKDTree

        radius = max(self.radius(), _SAME)
        if self.radius() < 0:
            return np.zeros((0, 2), dtype=int), np.zeros(0)
        width = min(_SKETCH, self.block.shape[1])
        along = make_generator(1).normal(size=(self.block.shape[1], width)) / np.sqrt(width)
        parts = np.array_split(np.arange(self.n), max(1, self.n // _SAMPLED))
        sketch = np.concatenate([self._standardize(self._rows(rows)) @ along for rows in parts])
        wide = _WIDER * radius * self.usual
        found = cKDTree(sketch).query_pairs(wide, output_type="ndarray")[: _MAX_GROUP * self.n]
        pairs = self.having[found.reshape(-1, 2)]
        apart = self.distances(pairs)
        return pairs[apart <= radius], apart[apart <= radius]

    def distances(self, pairs: Array) -> Array:
        """How far pairs of samples that have the view are apart, as shares of the usual distance."""
        places = np.searchsorted(self.having, pairs)
        parts = np.array_split(places, len(pairs) * self.block.shape[1] // _PAIR_CHUNK + 1)
        apart = [
            self._standardize(self._rows(p[:, 0])) - self._standardize(self._rows(p[:, 1])) for p in parts
        ]
        return np.concatenate([np.linalg.norm(part, axis=1) for part in apart]) / max(self.usual, 1e-300)


def _agreement(sample: Array) -> Array:
    """How often two samples have the same value in each column; at least as if it were once more."""
    columns = np.nan_to_num(sample, nan=np.inf).T
    counts = [np.unique(column, return_counts=True)[1] for column in columns]
    same = np.array([(c * (c - 1)).sum() / 2 for c in counts])  # pairs
    return np.asarray(np.maximum(same, 1) / max(len(sample) * (len(sample) - 1) / 2, 1))
