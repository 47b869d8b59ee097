"""Features of views: all side by side as one table, what its columns look like, their names and coding.

A coding (:class:`Coding`) makes features of a view's columns: found by name, a category as one feature for
each of its levels.  It is learned on training samples: which columns there are, and which levels they have.
Of new samples, columns are found by name whatever their order; one that is not there is missing values
(zeros in a sparse view), one that training did not have is left out, and a level that training did not have
is none of the known ones.

What a model remembers of its training data to tell what new data are like: a few numbers per feature.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Any, ClassVar, NamedTuple

import numpy as np
import scipy.sparse

from absentia.core import Array, serializable, warn
from absentia.core.linalg import as_readonly
from absentia.data._chunked_views import ChunkedTable, Moments, scan, take_columns
from absentia.data._ids import AbsenceWarning, find_duplicates, show_id
from absentia.data._inputs import check_codes
from absentia.data._presence import Presence, check_names, freeze
from absentia.data._views import Views, empty_rows

_ROUNDING = 1e-12  # deviations below this share of the mean are rounding of a constant
_MIN_COUNT_COLUMNS = 5  # of a table of counts
_MIN_ZEROS = 0.2  # share of a table of counts that is zero at least
_TRUTHS = {"true": "1", "false": "0"}  # which texts may be, and numbers


def concatenate_features(X: Views) -> Array:
    """All features side by side, those of the first view first; NaN where absent."""
    return np.hstack([X.padded(name, np.arange(len(X))) for name in X.names], dtype=np.float64)


#: Standardised features are clipped there: what is rarer would count by its own deviation alone.
MAX_DEVIATION = 3.0


def column_scales(table: Array) -> tuple[Array, Array]:
    """Mean and deviation of every column over the rows that have it; a constant's deviation is 1."""
    moments = Moments.of(table)
    mean, deviation = moments.mean, moments.deviations
    return mean, np.where(deviation > _ROUNDING * np.abs(mean), deviation, 1.0)


def looks_like_counts(views: Views, name: str) -> bool:
    """Whether a view, its categories apart, has whole numbers of 0 or more, some above 1, many zero."""
    block, levels, features = views.block(name), views.levels(name), views.features(name)
    if levels and features is not None:
        block = block[:, [k for k, column in enumerate(features.tolist()) if column not in levels]]
    stored: Array = block.data if scipy.sparse.issparse(block) else np.asarray(block)
    known = stored[~np.isnan(stored)]
    cells = float(np.prod(block.shape))
    if block.shape[1] < _MIN_COUNT_COLUMNS or not known.size:
        return False
    if known.min() < 0 or known.max() <= 1 or (known != np.round(known)).any():
        return False
    zeros = cells - stored.size + float((known == 0).sum())
    return bool(zeros >= _MIN_ZEROS * cells)


def name_features(
    views: Views, features: Mapping[str, Sequence[str]], levels: Mapping[str, Mapping[str, Sequence[str]]]
) -> Views:
    """The same views with names of features, and levels of those that are categories.

    Parameters
    ----------
    views : Views
        What is to be named.
    features : mapping of str to sequence of str
        By view the names of all its features; views that are not there stay as they are.
    levels : mapping of str to mapping of str to sequence of str
        By view and feature the levels that its numbers 0, 1, ... stand for.
    """
    names, all_levels = dict(views._features), dict(views._levels)
    for name in {**features, **levels}:
        block, given = views.block(name), list(features.get(name, ()))
        if len(given) != block.shape[1] or find_duplicates(given):
            raise ValueError(
                f"view {name!r}: {len(set(given))} different names for {block.shape[1]} features; one for "
                "each is wanted"
            )
        names[name] = np.array(given, dtype=str)
        all_levels[name] = {column: tuple(texts) for column, texts in levels.get(name, {}).items()}
        for column, texts in all_levels[name].items():
            check_codes(name, column, given, block, texts)
    return replace(views, _features=names, _levels=all_levels)


def drop_features(views: Views, name: str, columns: Sequence[str]) -> Views:
    """The same without some features; who has no other value of the view lacks it then.

    Parameters
    ----------
    views : Views
        The data.
    name : str
        The view.
    columns : sequence of str
        Its features that go.
    """
    features = views.features(name)
    for column in columns:
        if features is None or column not in features:
            raise ValueError(f"view {name!r} has no feature {column!r}")
    if features is None:
        return views
    keep = np.flatnonzero(~np.isin(features, columns))
    if not len(keep):
        return views.select([other for other in views.names if other != name])
    block = views.block(name)[:, keep]
    block = scan(block) if isinstance(block, ChunkedTable) else block
    present = ~empty_rows(block)
    observed = views.observed.copy()
    v = views.names.index(name)
    observed[np.flatnonzero(observed[:, v])[~present], v] = False
    levels = {key: texts for key, texts in views.levels(name).items() if key not in columns}
    return replace(
        views,
        observed=as_readonly(observed),
        _blocks={**views._blocks, name: freeze(block[present])},
        _features={**views._features, name: features[keep]},
        _levels={**views._levels, name: levels},
    )


def replace_features(
    views: Views, name: str, block: Array, columns: Array | None, levels: Mapping[str, tuple[str, ...]]
) -> Views:
    """The same with other features of a view, of the samples that have it: values, names and levels."""
    return replace(
        views,
        _blocks={**views._blocks, name: freeze(block)},
        _features={**views._features, name: columns},
        _levels={**views._levels, name: dict(levels)},
    )


def add_views(views: Views, others: Views) -> Views:
    """The same samples with the views of `others`, too, which are of these samples in their order."""
    return replace(
        views,
        names=check_names([*views.names, *others.names]),
        observed=as_readonly(np.hstack([views.observed, others.observed])),
        _blocks={**views._blocks, **others._blocks},
        _features={**views._features, **others._features},
        _levels={**views._levels, **others._levels},
    )


# --------------------------------------------------------------------------------------------------- coding


class _Match(NamedTuple):
    """Where the columns of training are among those that came (-1: nowhere), and what else came."""

    places: Array
    missing: list[str]
    unknown: list[str]

    @property
    def as_it_was(self) -> bool:
        """Whether the columns that came are those of training in their order."""
        return not self.unknown and bool((self.places == np.arange(len(self.places))).all())


@serializable
@dataclass(frozen=True, eq=False)
class ViewCoding:
    """What the columns of one view were in training: their names, and the levels of the categories."""

    name: str
    width: int
    columns: Array | None
    levels: Mapping[str, tuple[str, ...]]

    @classmethod
    def learn(cls, X: Views, name: str) -> ViewCoding:
        """From the samples that have the view; levels that none of them has are none."""
        block, columns = X.block(name), X.features(name)
        where = {} if columns is None else {c: j for j, c in enumerate(columns.tolist())}
        levels = {}
        for column, texts in X.levels(name).items():
            codes = block[:, where[column]]
            levels[column] = tuple(
                texts[k] for k in np.unique(codes[~np.isnan(codes)]).astype(int).tolist()
            )
        return cls(name, block.shape[1], columns, levels)

    def match(self, came: Array | None, width: int) -> _Match:
        """Find the columns of training among `width` columns, by name if both have names."""
        if self.columns is None or came is None:
            if width != self.width:
                raise ValueError(
                    f"view {self.name!r} has {width} features but had {self.width} in training; give the "
                    "same features in the same order, or tables with column names both times"
                )
            return _Match(np.arange(width), [], [])
        where = {column: place for place, column in enumerate(came.tolist())}
        places = np.array([where.get(column, -1) for column in self.columns.tolist()], dtype=int)
        if self.width and (places < 0).all():
            raise ValueError(
                f"view {self.name!r}: none of its {self.width} features in training, e.g. "
                f"{show_id(self.columns[0])}, is among the {width} that came, e.g. {show_id(came[0])}; "
                "give columns the names that they had in training"
            )
        known = set(self.columns.tolist())
        missing = self.columns[places < 0].tolist()
        return _Match(places, missing, [column for column in came.tolist() if column not in known])

    def __call__(self, X: Views) -> tuple[Any, Array | None]:
        """The view's features, those of training in their order, and their names."""
        block, came = X.block(self.name), X.features(self.name)
        match = self.match(came, block.shape[1])
        block = block if match.as_it_was else _take_columns(block, match.places)
        levels = X.levels(self.name)
        if not self.levels and not levels:
            return block, came if self.columns is None else self.columns
        assert self.columns is not None
        parts = [self._part(c, block[:, j], levels.get(c)) for j, c in enumerate(self.columns.tolist())]
        return np.hstack(parts) if parts else block, np.array(self.names(), dtype=str)

    def _part(self, column: str, values: Array, came: tuple[str, ...] | None) -> Array:
        """A column as one feature, or as one for each level of training."""
        if column not in self.levels:
            return values[:, None] if came is None else self._numbers(column, values, came)[:, None]
        texts = _texts(values, came, self.levels[column])
        missing = texts == ""
        part = (texts[:, None] == np.array(self.levels[column], dtype=str)).astype(values.dtype)
        part[missing] = np.nan
        return part

    def _numbers(self, column: str, codes: Array, levels: tuple[str, ...]) -> Array:
        """A column that was numbers in training and is texts now."""
        levels = tuple(_TRUTHS.get(level.lower(), level) for level in levels)
        texts = [level for level in levels if not _is_float(level)]
        if texts:
            raise ValueError(
                f"view {self.name!r}, column {column!r}: numbers in training, and now {texts[0]!r}; mend "
                "the values, or leave them empty"
            )
        known, values = ~np.isnan(codes), np.array([float(level) for level in levels])
        numbers = np.full(codes.shape, np.nan)
        numbers[known] = values[codes[known].astype(int)]
        return numbers

    def names(self) -> list[str]:
        """Names of the features; ``stage=II`` for a level."""
        columns = [] if self.columns is None else self.columns.tolist()
        return [
            name
            for c in columns
            for name in ([f"{c}={level}" for level in self.levels[c]] if c in self.levels else [c])
        ]

    def groups(self) -> Array | None:
        """For each feature the column that it comes from; None where each is one of its own."""
        if not self.levels or self.columns is None:
            return None
        counts = [len(self.levels.get(c, (c,))) for c in self.columns.tolist()]
        return np.repeat(np.arange(self.width), counts)

    def differences(self, X: Views) -> list[str]:
        """What differs from training, in words."""
        match = self.match(X.features(self.name), X.block(self.name).shape[1])
        sentences = []
        if match.missing:
            how = "zero" if scipy.sparse.issparse(X.block(self.name)) else "the training mean"
            sentences.append(
                f"{len(match.missing)} missing (filled with {how}: {_first_names(match.missing)})"
            )
        if match.unknown:
            sentences.append(f"{len(match.unknown)} unknown (ignored: {_first_names(match.unknown)})")
        features = X.features(self.name)
        came = [] if features is None else features.tolist()
        for column, known in self.levels.items():
            if column in came:
                values = X.block(self.name)[:, came.index(column)]
                texts = _texts(values, X.levels(self.name).get(column), known)
                new = [text for text in np.unique(texts).tolist() if text and text not in known]
                if new:
                    sentences.append(
                        f"{column!r} has levels that training did not have ({_first_names(new)})"
                    )
        return sentences

    def sentence(self, X: Views) -> str:
        """How the columns that came go with those of training; nothing where neither have names."""
        came = X.features(self.name)
        match = self.match(came, X.block(self.name).shape[1])
        if self.columns is None or came is None:
            if self.columns is None and came is None:
                return ""
            nameless = "training" if self.columns is None else "these"
            return f"{self.width} features of {self.name!r} taken in order ({nameless} had no names)"
        there = match.places[match.places >= 0]
        order = " (order differed)" if (np.diff(there) < 0).any() else ""
        count = f"{len(there)} of {self.width}" if match.missing else f"{self.width}"
        parts = [f"{count} features of {self.name!r} matched by name{order}", *self.differences(X)]
        return ", ".join(parts)


@serializable
@dataclass(frozen=True, eq=False)
class Coding:
    """The columns of several views as they were in training."""

    views: Mapping[str, ViewCoding]

    @classmethod
    def learn(cls, X: Views, names: Iterable[str] | None = None) -> Coding:
        """From training samples; of the views `names`, by default of all."""
        return cls({name: ViewCoding.learn(X, name) for name in (X.names if names is None else names)})

    def __call__(self, X: Views) -> Views:
        """`X` with the features of training, all of them numbers; other views stay as they are."""
        blocks, features, levels = dict(X._blocks), dict(X._features), dict(X._levels)
        for name in X.names:
            if name in self.views:
                block, names = self.views[name](X)
                blocks[name], features[name], levels[name] = freeze(block), names, {}
        return replace(X, _blocks=blocks, _features=features, _levels=levels)

    def of_new(self, X: Views) -> Views:
        """The same for new samples, with a warning of what differs from training."""
        for sentence in self.differences(X):
            warn(sentence, AbsenceWarning)
        return self(X)

    def in_views(self, X: Views) -> Views:
        """`X` in the views of training: those that it has not are absent, others are left out."""
        if X.names == tuple(self.views):
            return X
        lacked = {name: one for name, one in self.views.items() if name not in X.names}
        nobody = np.zeros(len(X), dtype=bool)
        has = [nobody if n in lacked else X.observed[:, X.names.index(n)] for n in self.views]
        blocks = {**X._blocks, **{n: np.zeros((0, one.width)) for n, one in lacked.items()}}
        features = {**X._features, **{n: one.columns for n, one in lacked.items()}}
        return replace(
            X,
            names=tuple(self.views),
            observed=as_readonly(np.column_stack(has)),
            _blocks={name: blocks[name] for name in self.views},
            _features={name: features[name] for name in self.views},
            _levels={name: {} if name in lacked else X._levels[name] for name in self.views},
        )

    def differences(self, X: Views) -> list[str]:
        """What differs from training, a sentence for each view where something does."""
        pairs = [(name, self.views[name].differences(X)) for name in X.names if name in self.views]
        return [f"view {name!r}: " + ", ".join(differences) for name, differences in pairs if differences]

    def sentences(self, X: Views) -> list[str]:
        """How the columns of each view go with those of training."""
        sentences = [self.views[name].sentence(X) for name in X.names if name in self.views]
        return [sentence for sentence in sentences if sentence]


def _take_columns(block: Any, places: Array) -> Any:
    """Columns by place; where there is none NaN, in a sparse matrix zero."""
    if isinstance(block, ChunkedTable):
        return block.take_columns(places)
    if scipy.sparse.issparse(block):
        columns = np.flatnonzero(places >= 0)
        pick = scipy.sparse.csr_array(
            (np.ones(len(columns), block.dtype), (places[columns], columns)), (block.shape[1], len(places))
        )
        return scipy.sparse.csr_array(block @ pick)
    return take_columns(places, block)


def _texts(values: Array, levels: tuple[str, ...] | None, wanted: Sequence[str]) -> Array:
    """A column's values as texts, empty where missing; numbers as people write them, or as was `wanted`."""
    known = ~np.isnan(values)
    if levels is None:  # 2.0 where training had the text 2, and 1.0 where it had the text True
        named = {_TRUTHS[level.lower()]: level for level in wanted if level.lower() in _TRUTHS}
        written = [f"{x:.15g}" if ok else "" for x, ok in zip(values.tolist(), known, strict=True)]
        return np.array([named.get(text, text) for text in written])
    texts = np.zeros(values.shape, dtype=f"<U{max([1, *map(len, levels)])}")
    texts[known] = np.array(levels, dtype=str)[values[known].astype(int)]
    return texts


def _is_float(text: str) -> bool:
    try:
        float(text)
    except ValueError:
        return False
    return True


def _first_names(names: Sequence[str], most: int = 3) -> str:
    return ", ".join(show_id(x[:40]) for x in names[:most]) + (", ..." if len(names) > most else "")


# ---------------------------------------------------------------------------------------------- summaries

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
    def of(cls, block: Any) -> FeatureSummary:
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
    def of(cls, X: Presence) -> DataSummary:
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
