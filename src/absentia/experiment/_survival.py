"""How well risks are told of samples that were not seen: concordance out of fold, with intervals.

Everything is learned inside a fold's training part.  Risks of different folds come from different models,
so that only samples of the same fold are compared with one another.  Intervals are by jackknife: the
index is a ratio of sums over pairs, and leaving out a sample takes its pairs from both.
"""

from collections.abc import Callable, Mapping
from dataclasses import dataclass
from typing import Any, NamedTuple

import numpy as np
from scipy.stats import norm
from sklearn.base import clone

from absentia.core import Array
from absentia.data import KernelViews, Views, folds, sample_order
from absentia.data.survival import Survival, as_survival, concordant_pairs
from absentia.experiment._validation import FOLDS, _part, _profiles, quiet

FEWEST_EVENTS = 5
Tick = Callable[[], None]


@dataclass(frozen=True, eq=False)
class Outlook:
    """Out-of-fold risks by method, which fold each sample was held out in, and penalties of the first."""

    risks: Mapping[str, Array]
    fold: Array
    alphas: tuple[Any, ...]

    @property
    def n_folds(self) -> int:
        return int(self.fold.max()) + 1


def check_events(y: Any) -> None:
    """Raise unless enough happened to judge a model by."""
    events = int(np.asarray(y)[:, 1].sum()) if len(y) else 0
    if events < FEWEST_EVENTS:
        raise ValueError(
            f"{events} event(s) among {len(y)} samples with a view; at least {FEWEST_EVENTS} are wanted: "
            "follow them longer, or check which column is the event"
        )


def cross_validate_survival(
    data: Views | KernelViews, y: Any, methods: Mapping[str, Any], tick: Tick = lambda: None, seed: int = 0
) -> Outlook:
    """Risks that each of the `methods` tells of samples it has not seen, on the same folds."""
    time, event = as_survival(y, data)
    order = sample_order(_profiles(data), data.observed, time, event)
    risks = {name: np.zeros(len(time)) for name in methods}
    fold, alphas = np.zeros(len(time), dtype=int), []
    targets = Survival(time, event).to_array()
    for k, (train, test) in enumerate(folds(order, event, min(FOLDS, int(event.sum())), seed)):
        fold[test] = k
        for j, (name, method) in enumerate(methods.items()):
            with quiet():
                fitted = clone(method).fit(_part(data, train, train), targets[train])
                risks[name][test] = fitted.predict(_part(data, test, train))
            alphas += [fitted.alpha_] if j == 0 else []
            tick()
    return Outlook(risks, fold, tuple(alphas))


class Interval(NamedTuple):
    """A number and where it may lie."""

    value: float
    low: float
    high: float


def concordance(y: Survival, risk: Array, fold: Array, level: float = 0.95) -> Interval:
    """The concordance index of samples of the same fold; one half is chance."""
    value, error = _jackknife(*_counts(y, risk, fold))
    return _interval(value, error, level, 0.0, 1.0)


def gained(y: Survival, risk: Array, other: Array, fold: Array, level: float = 0.95) -> Interval:
    """How much larger the concordance of `risk` is than that of `other`."""
    right, pairs = _counts(y, risk, fold)
    value, error = _jackknife(right - _counts(y, other, fold)[0], pairs)
    return _interval(value, error, level, -1.0, 1.0)


def _interval(value: float, error: float, level: float, least: float, most: float) -> Interval:
    half = float(norm.ppf((1 + level) / 2)) * error
    return Interval(value, max(value - half, least), min(value + half, most))


def _counts(y: Survival, risk: Array, fold: Array) -> tuple[Array, Array]:
    """Pairs of each sample that are in order, and all of them, within its fold."""
    right, pairs = np.zeros(len(risk)), np.zeros(len(risk))
    for k in np.unique(fold):
        own = fold == k
        if y.event[own].any():
            right[own], pairs[own] = concordant_pairs(y.time[own], y.event[own], risk[own])
    if not pairs.any():
        raise ValueError("no two samples can be compared: nobody had the event before another's time")
    return right, pairs


def _jackknife(right: Array, pairs: Array) -> tuple[float, float]:
    """A share of pairs and its standard error; each pair stands with both of its samples."""
    all_right, all_pairs, n = right.sum() / 2, pairs.sum() / 2, len(pairs)
    left = all_pairs - pairs
    without = np.where(left > 0, (all_right - right) / np.where(left > 0, left, 1.0), all_right / all_pairs)
    error = np.sqrt((n - 1) / n * ((without - without.mean()) ** 2).sum())
    return float(all_right / all_pairs), float(error)
