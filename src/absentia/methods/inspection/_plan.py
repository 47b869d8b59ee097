"""Which views to measure for whom: the most gain for the cost, until a budget is spent.

A view is measured in batches, of one sample unless said otherwise; the batch with the most expected gain
for its cost comes first, then the next, as long as the budget lasts.  What a view is worth to a sample
(:func:`value_of_views`) is estimated for one view at a time.  Of a sample that gets several, each is taken
to remove the same share of what is left to gain, 1 less the expected probability of the right class, as it
would alone: a second view counts less than if it were the only one.
"""

from collections.abc import Mapping
from typing import Any, NamedTuple

import numpy as np

from absentia.core import Array, RandomState
from absentia.data import Views
from absentia.methods.inspection._gain import value_of_views

_COLUMNS = ["id", "view", "batch", "cost", "gain", "gain per cost", "cumulative cost", "cumulative gain"]
_DIGITS = 12  # that count where gains are compared: rounding decides nothing
_SLACK = 1e-9  # of the budget, for sums of costs


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
        return pd.DataFrame(columns=_COLUMNS)
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
