"""How well numbers are told of samples that were not seen: the share explained, with intervals, and errors.

Everything is learned inside a fold's training part.  Folds are cut by what the samples are, with their
share of small and large targets.  Intervals are by jackknife: the share that is not explained is a ratio
of two sums over samples, and leaving out a sample takes its part from both.
"""

from collections.abc import Callable, Mapping
from dataclasses import dataclass
from typing import Any, NamedTuple

import numpy as np
from sklearn.base import clone

from absentia.core import Array
from absentia.data import KernelViews, Views, folds, sample_order
from absentia.experiment._survival import Interval, _interval
from absentia.experiment._validation import FOLDS, _part, _profiles, _without_each, quiet

FEWEST_NUMBERS = 10
MEAN = "mean of the targets"
Tick = Callable[[], None]


@dataclass(frozen=True, eq=False)
class Forecast:
    """Out-of-fold predictions by method, the mean of the training targets as the last.

    `without` (samples x views) is what the first method says if a view is hidden from a sample, `settings`
    are its penalties (NaN where it has none), `fold` is where each sample was held out.
    """

    predicted: Mapping[str, Array]
    fold: Array
    without: Array
    settings: tuple[float, ...]

    @property
    def n_folds(self) -> int:
        return int(self.fold.max()) + 1


def check_numbers(y: Any) -> None:
    """Raise unless there are enough different numbers to learn from."""
    y = np.asarray(y, dtype=np.float64)
    if not np.isfinite(y).all():
        raise ValueError(f"{int((~np.isfinite(y)).sum())} number(s) are infinite; correct or empty them")
    if len(y) < FEWEST_NUMBERS:
        raise ValueError(
            f"{len(y)} sample(s) with a number and a view; at least {FEWEST_NUMBERS} are wanted"
        )
    if (y == y[0]).all():
        raise ValueError(f"all {len(y)} numbers are {y[0]:g}; there is nothing to learn")


def cross_validate_numbers(
    data: Views | KernelViews, y: Any, methods: Mapping[str, Any], tick: Tick = lambda: None, seed: int = 0
) -> Forecast:
    """What each of the `methods` says of samples it has not seen, on the same folds."""
    data.demand_order(y)
    y = np.asarray(y, dtype=np.float64)
    order = sample_order(_profiles(data), data.observed, y)
    fifths = np.searchsorted(np.quantile(y, [0.2, 0.4, 0.6, 0.8]), y)
    predicted = {name: np.zeros(len(y)) for name in (*methods, MEAN)}
    fold, without, settings = np.zeros(len(y), dtype=int), np.zeros(data.observed.shape), []
    for k, (train, test) in enumerate(folds(order, fifths, FOLDS, seed)):
        fold[test] = k
        rows = _part(data, test, train)
        for j, (name, method) in enumerate(methods.items()):
            with quiet():
                fitted = clone(method).fit(_part(data, train, train), y[train])
                said = predicted[name][test] = fitted.predict(rows)
                if j == 0:
                    without[test] = _without_each(fitted, rows, said)
                    settings.append(penalty(fitted))
            tick()
        predicted[MEAN][test] = y[train].mean()
    return Forecast(predicted, fold, without, tuple(settings))


def penalty(fitted: Any) -> float:
    """The penalty that a regressor has chosen, or was given; NaN if it has none."""
    found = getattr(fitted, "penalty_", getattr(fitted, "alpha_", None))
    return float("nan") if found is None else float(found)


class Errors(NamedTuple):
    """How far off predictions are."""

    r2: Interval
    rmse: float
    mae: float


def errors(y: Array, predicted: Array, level: float = 0.95) -> Errors:
    """R2, the share of the targets' variance that is explained, and errors in units of the targets."""
    off = y - predicted
    value, error = _share(y, off**2)
    r2 = _interval(1 - value, error, level, -np.inf, 1.0)
    return Errors(r2, float(np.sqrt(np.mean(off**2))), float(np.abs(off).mean()))


def explained_more(y: Array, predicted: Array, other: Array, level: float = 0.95) -> Interval:
    """How much larger R2 is with `predicted` than with `other`."""
    value, error = _share(y, (y - other) ** 2 - (y - predicted) ** 2)
    return _interval(value, error, level, -np.inf, np.inf)


def _share(y: Array, parts: Array) -> tuple[float, float]:
    """The sum of `parts` as a share of the targets' squared deviations, and its standard error."""
    n, deviations = len(y), (y - y.mean()) ** 2
    whole = deviations.sum()
    left = whole - n / (n - 1) * deviations  # around the mean of those that are left
    without = (parts.sum() - parts) / np.maximum(left, 1e-300)
    error = np.sqrt((n - 1) / n * ((without - without.mean()) ** 2).sum())
    return float(parts.sum() / whole), float(error)
