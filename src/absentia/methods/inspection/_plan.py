"""What a sample would gain from one more view, and which views to measure for whom.

What an absent view would say is not known, but the samples that are most alike in the views that both have
say what it may be.  Each of the nearest ones that have the view lends its values, and the model classifies
the sample with them.  With p(c) the sample's probabilities now, q_j(c) those of lender j and p_j(c) those
of the sample with the view of j, the class is c with probability p(c), and then the view is one of samples
of that class:

    gain = sum_c p(c) sum_j w_j(c) p_j(c)  -  sum_c p(c)^2,        w_j(c) = q_j(c) / sum_i q_i(c).

That is the expected rise of the probability of the right class, if the model's probabilities are right.
Where lenders count by likeness alone, and the drop of entropy is the gain, samples are ranked nearly as
well, but much less of what is promised comes true (``benchmarks/plan_replay.py --settle``).

A plan spends a budget on the most gain for the cost.  A view is measured in batches, of one sample unless
said otherwise; the batch with the most expected gain for its cost comes first, then the next, as long as
the budget lasts.  Of a sample that gets several views, each is taken to remove the same share of what is
left to gain, 1 less the expected probability of the right class, as it would alone: a second view counts
less than if it were the only one.
"""

import warnings
from collections.abc import Mapping
from typing import Any, NamedTuple

import numpy as np

from absentia.core import Array, RandomState, make_generator
from absentia.data import Views
from absentia.kernels import ViewKernels

_COLUMNS = ["id", "view", "now", "expected", "gain", "changes"]
_FLOOR = 1e-3  # of a lender's probabilities: lenders of a class that none of them may be of count alike
_BLOCK_ROWS = 4096  # samples with lent views that are predicted at a time
_PLAN_COLUMNS = [
    "id",
    "view",
    "batch",
    "cost",
    "gain",
    "gain per cost",
    "cumulative cost",
    "cumulative gain",
]
_DIGITS = 12  # that count where gains are compared: rounding decides nothing
_SLACK = 1e-9  # of the budget, for sums of costs


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


# ------------------------------------------------------------------------------ a plan within a budget


class _Price(NamedTuple):
    """What measuring a view costs: of each sample, and of each batch of up to `size` samples."""

    sample: float
    size: int
    batch: float

    def of(self, n: int) -> float:
        return self.batch + n * self.sample


def plan(
    model: Any,
    X: Views,
    among: Views | None = None,
    *,
    costs: Mapping[str, float] | None = None,
    budget: float | None = None,
    batch: int | Mapping[str, int] = 1,
    batch_costs: Mapping[str, float] | None = None,
    n_draws: int = 40,
    random_state: RandomState = None,
) -> Any:
    """Which views to measure for which samples, in order: a pandas DataFrame.

    Greedy: always the batch with the most expected gain for its cost that the budget still allows.  A row
    for each sample and view: ``id``, ``view``, ``batch`` (1, 2, ... in the order in which they are
    measured), ``cost`` with its share of the batch's, ``gain`` (the expected rise of the probability of the
    right class), ``gain per cost``, ``cumulative cost`` and ``cumulative gain``.  Views that are expected
    to raise doubts are left out.  Gains are told one view at a time: measure, and plan again.

    Parameters
    ----------
    model : fitted classifier or Model
        With ``predict_proba``, on features.
    X : Views
        Samples as ``model.predict`` takes them, one or many.
    among : Views, optional
        Samples that lend what is absent, as :func:`value_of_views` takes them; by default those of `X`.
    costs : mapping of str to float, optional
        What measuring a view of one sample costs, by view; views that it does not name are not measured.
        By default each costs 1.
    budget : float, optional
        What may be spent; by default all that is expected to help is planned.
    batch : int or mapping of str to int, default 1
        How many samples a view is measured of at a time, the same for all views or by view (1 where it
        names none).  A batch is smaller only where no more samples would gain from the view.
    batch_costs : mapping of str to float, optional
        What each batch of a view costs beside its samples; 0 where it names none.
    n_draws : int, default 40
        How many samples lend a view, as in :func:`value_of_views`.
    random_state : int, Generator, RandomState or None
        Who lends, of those that are equally near.

    Examples
    --------
    >>> from absentia import LateFusion, datasets, missingness, inspection
    >>> views, y = datasets.load_digit_views(n_samples=60, return_X_y=True)
    >>> views = views.hide(missingness.mcar(views, 0.3, random_state=0))
    >>> model = LateFusion().fit(views[:50], y[:50] < 5)
    >>> prices = dict(zip(views.names, [1, 2, 5]))
    >>> table = inspection.plan(model, views[50:], views[:50], costs=prices, budget=6, n_draws=5)
    >>> bool(table["cost"].sum() <= 6)
    True
    """
    prices = _check_prices(X.names, costs, budget, batch, batch_costs)
    gains = value_of_views(model, X, among, n_draws=n_draws, random_state=random_state)
    gains = gains[gains["view"].isin(list(prices)) & (gains["gain"] > 0)]
    gains = gains.sort_values(["id", "view"], key=lambda column: column.astype(str))  # ties go by name
    limit = np.inf if budget is None else budget * (1 + _SLACK)
    _check_affordable(gains, prices, limit)
    return _make_table(gains, prices, _choose(gains, prices, limit))


def _choose(gains: Any, prices: Mapping[str, _Price], budget: float) -> list[tuple[Array, Array]]:
    """Batches in the order in which they are measured: rows of `gains`, and the gain of each."""
    samples = gains["id"].factorize()[0]
    doubt = 1 - gains["now"].to_numpy(dtype=float)  # what is left to gain, of the sample of each row
    share = gains["gain"].to_numpy(dtype=float) / doubt
    left = {name: np.flatnonzero(gains["view"] == name) for name in prices}
    batches: list[tuple[Array, Array]] = []
    while True:
        best: tuple[float, str, Array] | None = None
        for name, rows in left.items():
            order = np.argsort(-np.round(share[rows] * doubt[rows], _DIGITS), kind="stable")
            chosen = rows[order[: prices[name].size]]
            cost = prices[name].of(len(chosen))
            if not len(chosen) or cost > budget:
                continue
            gain = float((share[chosen] * doubt[chosen]).sum())
            worth = round(gain / cost, _DIGITS) if cost > 0 else np.inf
            if best is None or (-worth, name) < (-best[0], best[1]):
                best = worth, name, chosen
        if best is None:
            return batches
        _, name, chosen = best
        batches.append((chosen, share[chosen] * doubt[chosen]))
        budget -= prices[name].of(len(chosen))
        left[name] = np.setdiff1d(left[name], chosen)
        for row in chosen:
            doubt[samples == samples[row]] *= 1 - share[row]


def _make_table(gains: Any, prices: Mapping[str, _Price], batches: list[tuple[Array, Array]]) -> Any:
    """The frame of :func:`plan`."""
    import pandas as pd

    if not batches:
        return pd.DataFrame(columns=_PLAN_COLUMNS)
    rows, gain = (np.concatenate(part) for part in zip(*batches, strict=True))
    sizes = np.array([len(chosen) for chosen, _ in batches])
    table = gains.iloc[rows][["id", "view"]].reset_index(drop=True)
    table["batch"] = np.repeat(np.arange(len(sizes)) + 1, sizes)
    sizes = np.repeat(sizes, sizes)
    table["cost"] = [prices[name].of(n) / n for name, n in zip(table["view"], sizes, strict=True)]
    table["gain"] = gain
    with np.errstate(divide="ignore"):  # what costs nothing
        table["gain per cost"] = gain / table["cost"].to_numpy()
    table["cumulative cost"], table["cumulative gain"] = table["cost"].cumsum(), table["gain"].cumsum()
    return table


# -------------------------------------------------------------------------------------------------- checks


def _check_prices(
    names: tuple[str, ...],
    costs: Mapping[str, float] | None,
    budget: float | None,
    batch: int | Mapping[str, int],
    batch_costs: Mapping[str, float] | None,
) -> dict[str, _Price]:
    """Prices of the views that can be measured, by name."""
    if budget is not None and not budget > 0:
        raise ValueError(f"the budget is a number above 0, not {budget}")
    costs = dict.fromkeys(names, 1.0) if costs is None else costs
    sizes = batch if isinstance(batch, Mapping) else dict.fromkeys(costs, batch)
    fixed = {} if batch_costs is None else batch_costs
    for what, given in {"costs": costs, "batch": sizes, "batch_costs": fixed}.items():
        for name, value in given.items():
            if name not in names:
                raise ValueError(f"{what}: no view {name!r}; the views are {', '.join(map(repr, names))}")
            whole = what == "batch"
            if not (np.isfinite(value) and value >= whole and (not whole or value == int(value))):
                wanted = "a whole number of 1 or more" if whole else "a number of 0 or more"
                raise ValueError(f"{what}: view {name!r} has {value}; {wanted} is wanted")
    return {
        name: _Price(float(cost), int(sizes.get(name, 1)), float(fixed.get(name, 0)))
        for name, cost in costs.items()
    }


def _check_affordable(gains: Any, prices: Mapping[str, _Price], budget: float) -> None:
    """Refuse a budget that does not pay for the smallest batch that would help."""
    counts = gains["view"].value_counts()
    least = {name: prices[name].of(min(n, prices[name].size)) for name, n in counts.items()}
    if least and min(least.values()) > budget:
        name = min(least, key=lambda key: (least[key], key))
        raise ValueError(
            f"the budget of {budget:g} pays for nothing: the least is {least[name]:g}, a batch of view "
            f"{name!r}; raise it, or plan smaller batches"
        )
