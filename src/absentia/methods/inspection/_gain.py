"""What a sample would gain from one more view: how much surer the model would be, had it been measured.

What an absent view would say is not known, but the samples that are most alike in the views that both have
say what it may be.  Each of the nearest ones that have the view lends its values; the model classifies the
sample with them; the entropy of its probabilities, averaged by how alike the lenders are, is what to
expect. The difference to the entropy now is what measuring the view is worth, in bits, as the model sees
it.
"""

import warnings
from typing import Any

import numpy as np
from scipy.stats import entropy

from absentia.core import Array, RandomState, make_generator
from absentia.data import Views
from absentia.kernels import ViewKernels

_COLUMNS = ["id", "view", "entropy", "expected", "gain", "changes"]


def value_of_views(
    model: Any, X: Views, among: Views | None = None, *, n_draws: int = 20, random_state: RandomState = None
) -> Any:
    """How much surer the model would be of each sample with one more view: a pandas DataFrame.

    One row for every view that a sample lacks: ``id``, ``view``, ``entropy`` of its probabilities now and
    ``expected`` with the view, in bits, ``gain``, the difference (below zero where the view would raise
    doubts), and ``changes``, the probability that another class becomes the most probable one.

    Costs `n_draws` predictions for each absent view of each sample.

    Parameters
    ----------
    model : fitted classifier or Model
        With ``predict_proba``, on features.
    X : Views
        Samples as ``model.predict`` takes them.
    among : Views, optional
        Samples with the same views that lend what is absent, the training samples, say; by default those
        of `X`.  Columns go by name.
    n_draws : int, default 20
        How many of the nearest samples that have the view lend it, each counting as much as it is alike
        in the views that both have (the mean of rbf kernels).
    random_state : int, Generator, RandomState or None
        Who lends, of those that are equally near: of all, to a sample that shares no view with anybody.

    Examples
    --------
    >>> from absentia import LateFusion, datasets, missingness, inspection
    >>> views, y = datasets.load_digit_views(n_samples=60, return_X_y=True)
    >>> views = views.hide(missingness.mcar(views, 0.3, random_state=0))
    >>> model = LateFusion().fit(views[:50], y[:50] < 5)
    >>> gains = inspection.value_of_views(model, views[50:], among=views[:50], n_draws=5)
    >>> len(gains) == int((~views[50:].observed).sum())
    True
    """
    import pandas as pd

    among = X if among is None else among
    _check(model, X, among, n_draws)
    ids, (X, among) = X.ids, _align_columns(X, among)
    parts = _by_view(model, X, among, n_draws, make_generator(random_state))
    if not parts:
        return pd.DataFrame(columns=_COLUMNS)
    columns = (np.concatenate(values) for values in zip(*parts, strict=True))
    row, *values = columns
    values.insert(0, ids[row])
    order = np.argsort(row, kind="stable")
    return pd.DataFrame({name: column[order] for name, column in zip(_COLUMNS, values, strict=True)})


def _by_view(model: Any, X: Views, among: Views, n_draws: int, rng: np.random.Generator) -> list[Any]:
    """Positions of the samples that lack a view that somebody can lend, and their columns of the frame."""
    near = _similarity(X, among)
    probabilities = np.asarray(model.predict_proba(X))
    now, best = _entropy_bits(probabilities), probabilities.argmax(axis=1)
    parts = []
    for v, name in enumerate(X.names):
        rows = np.flatnonzero(~X.observed[:, v])
        lenders = rng.permutation(np.flatnonzero(among.observed[:, among.names.index(name)]))
        if not len(rows) or not len(lenders):
            continue
        chosen, weight = _nearest(near[rows][:, lenders], n_draws)
        after = _proba_with_lent(model, X, among, name, rows, lenders[chosen])
        expected = (weight * _entropy_bits(after)).sum(axis=1)
        changes = (weight * (after.argmax(axis=2) != best[rows, None])).sum(axis=1)
        named = np.full(len(rows), name, dtype=object)
        parts.append((rows, named, now[rows], expected, now[rows] - expected, changes))
    return parts


def _entropy_bits(probabilities: Array) -> Array:
    """The entropy of probabilities, over the last axis."""
    return np.asarray(entropy(probabilities, base=2, axis=-1))


def _similarity(X: Views, among: Views) -> Array:
    """Mean kernel value over the views that both have, rows of `X` x samples of `among`; 0 for none."""
    with warnings.catch_warnings(action="ignore"):  # of views that nobody has, features without values
        kernels = ViewKernels().fit(among).transform(X)
    total, count = np.zeros((2, len(X), len(among)))
    for v, name in enumerate(kernels.names):
        seen = np.ix_(kernels.observed[:, v], kernels.column_observed[:, v])
        total[seen] += kernels.block(name)
        count[seen] += 1
    return np.asarray(total / np.maximum(count, 1))


def _nearest(near: Array, n_draws: int) -> tuple[Array, Array]:
    """The most alike columns of every row, and how much each counts."""
    chosen = np.argsort(-near, axis=1, kind="stable")[:, :n_draws]
    weight = np.take_along_axis(near, chosen, axis=1)
    weight = np.where(weight.sum(axis=1, keepdims=True) > 0, weight, 1.0)
    return chosen, weight / weight.sum(axis=1, keepdims=True)


def _proba_with_lent(model: Any, X: Views, among: Views, name: str, rows: Array, lenders: Array) -> Array:
    """Probabilities of the samples `rows` with the view of each lender, rows x lenders x classes."""
    repeated = X[np.repeat(rows, lenders.shape[1])]
    lent = among.select([name])[lenders.ravel()].block(name)
    probabilities = np.asarray(model.predict_proba(repeated.given(name, lent)))
    return probabilities.reshape(*lenders.shape, -1)


def _check(model: Any, X: Any, among: Any, n_draws: int) -> None:
    for samples in (X, among):
        if not isinstance(samples, Views):
            raise TypeError(
                f"features are wanted, Views, not {type(samples).__name__}: what an absent view may say is "
                "taken from other samples' features, which kernels do not hold"
            )
    if not hasattr(model, "predict_proba"):
        raise ValueError("the model gives no probabilities; fit it with probability=True")
    if n_draws < 1:
        raise ValueError(f"n_draws must be 1 or more, not {n_draws}")
    if sorted(X.names) != sorted(among.names):
        raise ValueError(f"X has the views {list(X.names)}, among {list(among.names)}; give the same views")


def _align_columns(X: Views, among: Views) -> tuple[Views, Views]:
    """Both with the same columns, found by name, and the same numbers of categories' levels."""
    if all(_columns(X, name) == _columns(among, name) for name in X.names):
        return X, among
    import pandas as pd

    tables = {name: pd.concat(_frames(X, among, name), ignore_index=True) for name in X.names}
    with warnings.catch_warnings(action="ignore"):  # said when either was built
        both = Views.from_dict(tables)
    return both[: len(X)], both[len(X) :]


def _frames(X: Views, among: Views, name: str) -> list[Any]:
    """A view of both as frames; columns go by position where either has no names for them."""
    frames = [views.to_frame(name, absent="keep") for views in (X, among)]
    named = [views.features(name) is not None for views in (X, among)]
    if not all(named):
        widths = [frame.shape[1] for frame in frames]
        if widths[0] != widths[1]:
            raise ValueError(
                f"view {name!r} has {widths[0]} features in X and {widths[1]} in among, and no names to "
                "find them by; give the same features in the same order, or tables with names"
            )
        frames[named.index(False)].columns = frames[1 - named.index(False)].columns
    return frames


def _columns(X: Views, name: str) -> tuple[Any, ...]:
    features = X.features(name)
    columns = X.block(name).shape[1] if features is None else features.tolist()
    return columns, dict(X.levels(name))
