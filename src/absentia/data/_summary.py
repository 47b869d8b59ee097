"""What a model remembers of its training data to tell what new data are like: a few numbers per feature."""

from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from typing import Any, ClassVar

import numpy as np
import scipy.sparse

from absentia.core import Array, serializable
from absentia.data._chunked_views import Moments
from absentia.data._features import Coding
from absentia.data._presence import Presence
from absentia.data._views import Views

_CHUNK_ENTRIES = 1 << 22  # values that are looked at at a time


@serializable
@dataclass(frozen=True, eq=False)
class FeatureSummary:
    """The F features of a view, a category as one for each level, over `n_samples` that have it.

    Attributes
    ----------
    count : (F,)
        Values that are known; where there are none all else is zero.
    mean, deviation, low, high : (F,)
        Of these; `low` and `high` are the least and the largest.
    cut, above : (F,)
        A number that about half of the values are above, and how many are.
    """

    n_samples: int
    count: Array
    mean: Array
    deviation: Array
    low: Array
    high: Array
    cut: Array
    above: Array

    _shapes: ClassVar = dict.fromkeys(["count", "mean", "deviation", "low", "high", "cut", "above"], "f")

    @classmethod
    def of(cls, block: Any) -> "FeatureSummary":
        """The summary of values (n, F), NaN where missing."""
        parts = [_summarise_columns(values) for _, values in dense_chunks(block)]
        return cls(block.shape[0], *(np.concatenate(part) for part in zip(*parts, strict=True)))


@serializable
@dataclass(frozen=True, eq=False)
class DataSummary:
    """Who had which view, and what the features were.

    Attributes
    ----------
    names : tuple of str
        The V views.
    patterns, counts : (P, V) bool and (P,) int
        Sets of present views, and how many samples have each.
    coding : Coding or None
        Columns and levels; None of kernels.
    features : mapping of str to FeatureSummary
        By view; empty of kernels.
    """

    names: tuple[str, ...]
    patterns: Array
    counts: Array
    coding: Coding | None
    features: Mapping[str, FeatureSummary]

    _shapes: ClassVar = {"patterns": "pv", "counts": "p"}

    @property
    def n_samples(self) -> int:
        return int(self.counts.sum())

    @classmethod
    def of(cls, X: Presence) -> "DataSummary":
        """The summary of views or kernels; of single samples it has least and largest values alone.

        Examples
        --------
        >>> from absentia.data import DataSummary, Views
        >>> summary = DataSummary.of(Views.from_dict({"a": [[1.0], [3.0], [5.0]]}))
        >>> summary.features["a"].low.tolist(), summary.features["a"].high.tolist()
        ([1.0], [5.0])
        """
        patterns, counts = X.patterns()
        if not isinstance(X, Views):
            return cls(X.names, patterns, counts, None, {})
        coding = Coding.learn(X)
        coded = coding(X)
        features = {name: FeatureSummary.of(coded.block(name)) for name in X.names}
        return cls(X.names, patterns, counts, coding, features)


def dense_chunks(block: Any) -> Iterator[tuple[slice, Array]]:
    """Columns of an array or sparse matrix (n, F), some at a time, and where they are; one part or more."""
    n, width = block.shape
    step = max(1, _CHUNK_ENTRIES // max(n, 1))
    block = scipy.sparse.csc_array(block) if scipy.sparse.issparse(block) else block
    for begin in range(0, max(width, 1), step):
        where = slice(begin, min(begin + step, width))
        part = block[:, where]
        yield where, np.asarray(part.toarray() if scipy.sparse.issparse(part) else part, dtype=np.float64)


def _summarise_columns(values: Array) -> list[Array]:
    """Numbers of a :class:`FeatureSummary` of dense values (n, F)."""
    known, moments = ~np.isnan(values), Moments.of(values)
    count = moments.count
    ordered = np.sort(np.where(known, values, np.inf), axis=0)
    median = (
        np.take_along_axis(ordered, (np.maximum(count, 1) // 2)[None], axis=0)[0]
        if len(values)
        else moments.low
    )
    below = np.where(known & (values < median), values, -np.inf).max(axis=0, initial=-np.inf)
    above, from_it = (known & (values > median)).sum(axis=0), (known & (values >= median)).sum(axis=0)
    lower = (np.abs(from_it - count / 2) < np.abs(above - count / 2)) & np.isfinite(below)
    cut = np.where(lower, below, median)
    numbers = [moments.mean, moments.deviations, moments.low, moments.high]
    numbers += [cut, np.where(lower, from_it, above)]
    return [count, *(np.where(count > 0, x, 0).astype(np.float64) for x in numbers)]
