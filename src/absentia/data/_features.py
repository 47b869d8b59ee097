"""Features of views: all side by side as one table, what its columns look like, their names."""

from collections.abc import Mapping, Sequence
from dataclasses import replace
from typing import Any

import numpy as np
import scipy.sparse

from absentia.core import Array
from absentia.core.linalg import as_readonly
from absentia.data._ids import find_duplicates
from absentia.data._tables import check_codes
from absentia.data._views import Views, _empty_rows, _freeze_block

_ROUNDING = 1e-12  # deviations below this share of the mean are rounding of a constant
_MIN_COUNT_COLUMNS = 5  # of a table of counts
_MIN_ZEROS = 0.2  # share of a table of counts that is zero at least


def concatenate_features(X: Views) -> Array:
    """All features side by side, those of the first view first; NaN where absent."""
    return np.hstack([X.padded(name, np.arange(len(X))) for name in X.names], dtype=np.float64)


def column_scales(table: Array) -> tuple[Array, Array]:
    """Mean and deviation of every column over the rows that have it; a constant's deviation is 1."""
    seen = ~np.isnan(table)
    count = np.maximum(seen.sum(axis=0), 1)
    mean = np.where(seen, table, 0.0).sum(axis=0) / count
    deviation = np.sqrt((np.where(seen, table - mean, 0.0) ** 2).sum(axis=0) / count)
    return mean, np.where(deviation > _ROUNDING * np.abs(mean), deviation, 1.0)


def looks_like_counts(block: Any) -> bool:
    """Whether a table holds whole numbers, none negative, some above one and many of them zero."""
    stored: Array = block.data if scipy.sparse.issparse(block) else np.asarray(block)
    known = stored[~np.isnan(stored)]
    cells = float(np.prod(block.shape))
    if block.shape[1] < _MIN_COUNT_COLUMNS or not known.size:
        return False
    if known.min() < 0 or known.max() <= 1 or (known != np.round(known)).any():
        return False
    zeros = cells - stored.size + float((known == 0).sum())
    return bool(zeros >= _MIN_ZEROS * cells)


def numeric_columns(views: Views, name: str) -> Any:
    """The columns of a view that are no categories."""
    levels, features = views.levels(name), views.features(name)
    if not levels or features is None:
        return views.block(name)
    return views.block(name)[:, [k for k, column in enumerate(features.tolist()) if column not in levels]]


def describe_columns(views: Views, name: str) -> str:
    """How many columns of a view are numbers and which are categories."""
    levels = list(views.levels(name))
    numbers = views.block(name).shape[1] - len(levels)
    parts = [f"{numbers} numeric"] if numbers or not levels else []
    if levels:
        examples = ", ".join(levels[:5]) + (", ..." if len(levels) > 5 else "")
        parts.append(f"{len(levels)} categorical ({examples}) -> one-hot")
    return ", ".join(parts)


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
    present = ~_empty_rows(block)
    observed = views.observed.copy()
    v = views.names.index(name)
    observed[np.flatnonzero(observed[:, v])[~present], v] = False
    levels = {key: texts for key, texts in views.levels(name).items() if key not in columns}
    return replace(
        views,
        observed=as_readonly(observed),
        _blocks={**views._blocks, name: _freeze_block(block[present])},
        _features={**views._features, name: features[keep]},
        _levels={**views._levels, name: levels},
    )
