"""Names of features given to views that came without, and features taken away."""

from collections.abc import Mapping, Sequence
from dataclasses import replace

import numpy as np

from absentia.core import frozen
from absentia.data._ids import repeated
from absentia.data._tables import check_codes
from absentia.data._views import Views, _empty_rows, _freeze_block


def named(
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
    found, coded = dict(views._features), dict(views._levels)
    for name in {**features, **levels}:
        block, own = views.block(name), list(features.get(name, ()))
        if len(own) != block.shape[1] or repeated(own):
            raise ValueError(
                f"view {name!r}: {len(set(own))} different names for {block.shape[1]} features; one for "
                "each is wanted"
            )
        found[name] = np.array(own, dtype=str)
        coded[name] = {column: tuple(texts) for column, texts in levels.get(name, {}).items()}
        for column, texts in coded[name].items():
            check_codes(name, column, own, block, texts)
    return replace(views, _features=found, _levels=coded)


def without_features(views: Views, name: str, columns: Sequence[str]) -> Views:
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
    there = ~_empty_rows(block)
    observed = views.observed.copy()
    v = views.names.index(name)
    observed[np.flatnonzero(observed[:, v])[~there], v] = False
    levels = {key: own for key, own in views.levels(name).items() if key not in columns}
    return replace(
        views,
        observed=frozen(observed),
        _blocks={**views._blocks, name: _freeze_block(block[there])},
        _features={**views._features, name: features[keep]},
        _levels={**views._levels, name: levels},
    )
