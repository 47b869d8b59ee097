"""Samples that seem to be of one patient: by their ids, or because their values are the same.

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
from collections.abc import Mapping, Sequence
from typing import NamedTuple

import numpy as np
import scipy.sparse
from scipy.sparse.csgraph import connected_components
from scipy.spatial import cKDTree
from scipy.special import gammaincinv

from absentia.core import Array, generator
from absentia.data._gaps import shown
from absentia.data._presence import Presence
from absentia.data._views import Views

WORDS = (
    "visit|vis|v|timepoint|time|tp|t|day|week|wk|month|mo|year|yr|baseline|bl|follow-?up|fu|pre|post|before|after|"
    "replicate|repeat|rep|run|aliquot|biopsy|relapse|diagnosis|remission|tumou?r|normal|left|right"
)
_WORD = re.compile(
    rf"(.*[^\s_.-])[\s_.-]+(?:(?:{WORDS})[\s_.-]*\d{{0,4}}[a-z]?)", re.IGNORECASE | re.DOTALL
)
_PLAIN = re.compile(r"(.*[^\s_.-])[\s_.-]+([A-Za-z]?(?:0?\d|1\d|20)[A-Za-z]?|[A-Za-z])", re.DOTALL)
MOST_OF_ONE = 20  # samples of one patient; more are a cluster or a batch
SHOWN = 3
SAME, NEAR, FAR = 1e-9, 0.1, 0.5  # distances, as shares of the usual one
BY_CHANCE = 0.001  # pairs that are to be expected at most
MANY = 5000  # samples, of which only equal ones are looked for
SKETCH, SAMPLED = 12, 300  # dimensions in which pairs are looked for; samples that say what is usual
WIDER = 2.0  # how much wider: a sketch of as many dimensions more than doubles one distance in 1e5
AT_ONCE = 4_000_000  # values


class Repeats(NamedTuple):
    """Groups of ids that seem to be of one patient each, and why they seem so."""

    groups: list[list[str]]
    why: str

    @property
    def sentence(self) -> str:
        """What was found, by name, and what to do."""
        some = "; ".join(" and ".join(shown(x) for x in group[:SHOWN]) for group in self.groups[:SHOWN])
        more = "; ..." if len(self.groups) > SHOWN else ""
        count = sum(map(len, self.groups))
        return (
            f"{count} samples seem to be repeats of {len(self.groups)} ({self.why}): {some}{more}; if they "
            "are of the same patients, scores out of cross-validation are too good, as a patient stands on "
            "both sides of a split: keep one sample of each"
        )


def find_repeats(data: Presence) -> list[Repeats]:
    """Samples that seem to be of one patient, by id and by value.

    Parameters
    ----------
    data : Presence
        Views or kernels; of kernels only the ids are looked at.
    """
    ids = [str(x) for x in data.ids.tolist()]
    found = []
    if groups := _by_id(ids):
        found.append(Repeats(groups, "their ids differ in the end only"))
    if not isinstance(data, Views):
        return found
    views = {name: _Rows(data, name) for name in data.names if data.block(name).shape[0] > 2}
    near = {name: pairs for name in views if len(pairs := _near_pairs(views, name))}
    if near and (places := _linked(np.concatenate(list(near.values())))):
        which = f"view{'' if len(near) == 1 else 's'} {', '.join(map(repr, near))}"
        groups = [[ids[k] for k in group] for group in places]
        found.append(Repeats(groups, f"their values in {which} are the same, or nearly"))
    return found


# ------------------------------------------------------------------------------------------------- ids


def _by_id(ids: Sequence[str]) -> list[list[str]]:
    worded = _grouped(ids, _WORD)
    if worded:
        return worded
    plain = _grouped(ids, _PLAIN)
    count = sum(map(len, plain))
    ends = {found[2] for group in plain for one in group if (found := _PLAIN.fullmatch(one))}
    few = count <= 5 * len(plain) and 2 * len(ends) <= count  # of each, and the same ends again and again
    return plain if len(plain) > 2 and few else []


def _grouped(ids: Sequence[str], pattern: re.Pattern[str]) -> list[list[str]]:
    """Ids by what stands before the end that the pattern describes, those that are not alone.

    The beginning itself, without an end, belongs to the group too.
    """
    groups: dict[str, list[str]] = {}
    for one in ids:
        found = pattern.fullmatch(one)
        groups.setdefault(found[1] if found else one, []).append(one)
    repeated = [group for group in groups.values() if len(group) > 1]
    return [] if any(len(group) > MOST_OF_ONE for group in repeated) else repeated


# ---------------------------------------------------------------------------------------------- values


def _near_pairs(views: Mapping[str, "_Rows"], name: str) -> Array:
    """Pairs of samples whose values in a view are the same, or nearly and not far apart in others."""
    own = views[name]
    pairs, apart = own.near_pairs()
    keep = np.ones(len(pairs), bool)
    for other in views.values() if len(pairs) else ():
        both = np.isin(pairs, other.having).all(axis=1) & (apart > SAME)
        keep[both] &= other.distances(pairs[both]) <= FAR
    return np.asarray(pairs[keep])


def _linked(pairs: Array) -> list[list[int]]:
    """Groups of samples that pairs link; none if one is so large that it is no patient."""
    links = scipy.sparse.coo_array((np.ones(len(pairs)), pairs.T), shape=(pairs.max() + 1,) * 2)
    _, label = connected_components(links, directed=False)
    members = [np.flatnonzero(label == one).tolist() for one in np.unique(label[pairs[:, 0]])]
    return [] if max(map(len, members)) > MOST_OF_ONE else members


class _Rows:
    """Samples of a view as points: standardised columns, what is missing at the mean."""

    def __init__(self, data: Views, name: str) -> None:
        self.block, self.having = data.block(name), np.flatnonzero(data.observed[:, data.names.index(name)])
        self.n = len(self.having)
        sample = self._dense(generator(0).permutation(self.n)[:SAMPLED])
        self.mean = np.nan_to_num(_nan_mean(sample))
        spread = np.sqrt(np.nan_to_num(_nan_mean((sample - self.mean) ** 2)))
        self.scale = np.where(spread > 0, 1 / np.where(spread > 0, spread, 1.0), 0.0)
        varied = np.flatnonzero(spread > 0)
        self.agree = _agreement(sample[:, varied[:: len(varied) // SAMPLED + 1]])
        points = self._scaled(sample)
        gram = points @ points.T
        self.usual = float(np.sqrt(2 * np.trace(gram) / max(len(gram), 1)))
        self.dimensions = float(np.trace(gram) ** 2 / max((gram**2).sum(), 1e-300))

    def _dense(self, rows: Array) -> Array:
        part = self.block[rows]
        return np.asarray(part.toarray() if scipy.sparse.issparse(part) else part, dtype=float)

    def _scaled(self, values: Array) -> Array:
        return np.asarray(np.nan_to_num((values - self.mean) * self.scale))

    def radius(self) -> float:
        """How near is too near for chance; 0: only what is equal; negative: not even that."""
        if not len(self.agree) or self.usual == 0:
            return -1.0
        pairs = self.n**2 / 2
        if pairs * np.exp(self.dimensions * np.log(self.agree).mean()) > BY_CHANCE:
            return -1.0
        if np.median(self.agree) > 2 / min(self.n, SAMPLED) or self.n > MANY:
            return 0.0  # of categories and counts only equality tells
        return float(
            min(NEAR, np.sqrt(2 * gammaincinv(self.dimensions / 2, BY_CHANCE / pairs) / self.dimensions))
        )

    def near_pairs(self) -> tuple[Array, Array]:
        """Pairs of samples that are nearer than chance would have it, and how near."""
        radius = max(self.radius(), SAME)
        if self.radius() < 0:
            return np.zeros((0, 2), dtype=int), np.zeros(0)
        width = min(SKETCH, self.block.shape[1])
        along = generator(1).normal(size=(self.block.shape[1], width)) / np.sqrt(width)
        parts = np.array_split(np.arange(self.n), max(1, self.n // SAMPLED))
        sketch = np.concatenate([self._scaled(self._dense(rows)) @ along for rows in parts])
        wide = WIDER * radius * self.usual
        found = cKDTree(sketch).query_pairs(wide, output_type="ndarray")[: MOST_OF_ONE * self.n]
        pairs = self.having[found.reshape(-1, 2)]
        apart = self.distances(pairs)
        return pairs[apart <= radius], apart[apart <= radius]

    def distances(self, pairs: Array) -> Array:
        """How far pairs of samples that have the view are apart, as shares of the usual distance."""
        places = np.searchsorted(self.having, pairs)
        parts = np.array_split(places, len(pairs) * self.block.shape[1] // AT_ONCE + 1)
        apart = [self._scaled(self._dense(p[:, 0])) - self._scaled(self._dense(p[:, 1])) for p in parts]
        return np.concatenate([np.linalg.norm(one, axis=1) for one in apart]) / max(self.usual, 1e-300)


def _nan_mean(values: Array) -> Array:
    there = ~np.isnan(values)
    return np.asarray(np.where(there, values, 0).sum(axis=0) / np.maximum(there.sum(axis=0), 1))


def _agreement(sample: Array) -> Array:
    """How often two samples have the same value in each column; at least as if it were once more."""
    ordered = np.sort(np.nan_to_num(sample, nan=np.inf), axis=0)
    n = len(ordered)
    starts = np.concatenate([np.ones((1, sample.shape[1]), bool), ordered[1:] > ordered[:-1]])
    place = np.where(starts, np.arange(n)[:, None], 0)
    first = np.maximum.accumulate(place, axis=0)
    # pairs within runs of equal values: each value has as many before it as it is behind the run's first
    within = (np.arange(n)[:, None] - first).sum(axis=0)
    return np.asarray(np.maximum(within, 1) / max(n * (n - 1) / 2, 1))
