"""What a sample would gain from one more view: how much more probable its right class would be held.

What an absent view would say is not known, but the samples that are most alike in the views that both have
say what it may be.  Each of the nearest ones that have the view lends its values, and the model classifies
the sample with them.  With p(c) the sample's probabilities now, q_j(c) those of lender j and p_j(c) those
of the sample with the view of j, the class is c with probability p(c), and then the view is one of samples
of that class:

    gain = sum_c p(c) sum_j w_j(c) p_j(c)  -  sum_c p(c)^2,        w_j(c) = q_j(c) / sum_i q_i(c).

That is the expected rise of the probability of the right class, if the model's probabilities are right.
Where lenders count by likeness alone, and the drop of entropy is the gain, samples are ranked nearly as
well, but much less of what is promised comes true (``benchmarks/plan_replay.py --settle``).
"""

import warnings
from typing import Any

import numpy as np

from absentia.core import Array, RandomState, make_generator
from absentia.data import Views
from absentia.kernels import ViewKernels

_COLUMNS = ["id", "view", "now", "expected", "gain", "changes"]
_FLOOR = 1e-3  # of a lender's probabilities: lenders of a class that none of them may be of count alike
_BLOCK_ROWS = 4096  # samples with lent views that are predicted at a time


def value_of_views(
    model: Any, X: Views, among: Views | None = None, *, n_draws: int = 40, random_state: RandomState = None
) -> Any:
    """How much more probable the right class of each sample would be with one more view: a DataFrame.

    One row for every view that a sample lacks and somebody can lend: ``id``, ``view``, the probability of
    the right class that the model expects of itself ``now`` (of probabilities p the sum of p^2) and
    ``expected`` with the view, ``gain``, the difference (below zero where the view would raise doubts), and
    ``changes``, the probability that another class becomes the most probable one.

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
    n_draws : int, default 40
        How many of the samples that have the view lend it, the nearest in the views that both have (the
        mean of rbf kernels).
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
    if X.observed.all():
        return []
    near = _similarity(X, among)
    proba, lender_proba = (np.asarray(model.predict_proba(samples)) for samples in (X, among))
    parts = []
    for v, name in enumerate(X.names):
        rows = np.flatnonzero(~X.observed[:, v])
        lenders = rng.permutation(np.flatnonzero(among.observed[:, among.names.index(name)]))
        if not len(rows) or not len(lenders):
            continue
        chosen = lenders[np.argsort(-near[np.ix_(rows, lenders)], axis=1, kind="stable")[:, :n_draws]]
        after = _proba_with_lent(model, X, among, name, rows, chosen)
        before = proba[rows]
        weight = lender_proba[chosen] + _FLOOR  # rows x lenders x classes
        weight *= before[:, None] / weight.sum(axis=1, keepdims=True)
        now, expected = (before**2).sum(axis=1), (weight * after).sum(axis=(1, 2))
        other = after.argmax(axis=2) != before.argmax(axis=1)[:, None]
        changes = (weight.sum(axis=2) * other).sum(axis=1)
        named = np.full(len(rows), name, dtype=object)
        parts.append((rows, named, now, expected, expected - now, changes))
    return parts


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


def _proba_with_lent(model: Any, X: Views, among: Views, name: str, rows: Array, lenders: Array) -> Array:
    """Probabilities of the samples `rows` with the view of each lender, rows x lenders x classes."""
    values, parts = among.select([name]), []
    size = max(1, _BLOCK_ROWS // lenders.shape[1])
    for start in range(0, len(rows), size):
        block = lenders[start : start + size]
        repeated = X[np.repeat(rows[start : start + size], block.shape[1])]
        lent = values[block.ravel()].block(name)
        parts.append(np.asarray(model.predict_proba(repeated.given(name, lent))))
    return np.concatenate(parts).reshape(*lenders.shape, -1)


def _check(model: Any, X: Any, among: Any, n_draws: int) -> None:
    for samples in (X, among):
        if not isinstance(samples, Views):
            raise TypeError(
                f"features are wanted, Views, not {type(samples).__name__}: what an absent view may say is "
                "taken from other samples' features, which kernels do not hold"
            )
    if not hasattr(getattr(model, "classifier", model), "predict_proba"):
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
