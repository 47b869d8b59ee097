"""Completing a table as it comes: units of its columns, choices made by hiding entries, how well it does.

Three things stand between a model and a table whose columns have any units and whose rows may or may not
be related:

* columns are divided by their standard deviations (:func:`column_scale`);
* what cannot be told beforehand is tried: some observed entries are hidden, completed with each of the
  candidates, and compared with what they were (:func:`heldout_curve`).  One rule, one word
  (``"heldout"``), one curve;
* the whole of it is judged in the same way, all choices made anew, beside the columns' means
  (:func:`hold_out`).

Which entries are hidden depends on the content of the table, in units of its columns, and not on the order
of rows and columns.

The covariance of n rows has some n^2 / 2 numbers, estimated from m columns: with many more rows than
columns it can follow noise, and completions are then worse than with rows unrelated.  So whether it is
estimated is a choice of that kind.
"""

import math
import warnings
from collections.abc import Callable, Iterable, Mapping
from dataclasses import dataclass
from typing import Any, TypeVar

import numpy as np
from scipy.special import ndtri
from sklearn.exceptions import ConvergenceWarning

from absentia.core import Array, least, unwatched, warn
from absentia.data import AbsenceWarning, canonical

#: So much of what is observed is hidden.
HIDDEN = 0.1
#: With fewer hidden entries nothing can be told.
FEWEST = 10
#: Least standard deviation of a column, relative to its greatest value.
LEAST_SCALE = 1e-10

#: Deviations are widened by what hidden entries tell: so many of them, hidden at most so many times, of
#: which such a share is to lie within what a normal distribution has it within.
ENOUGH, TIMES, COVERED = 200, 3, 0.95

Key = TypeVar("Key")


def column_scale(X: Array) -> Array:
    """Standard deviations of the columns; next to nothing for a constant one, and 1 if that is zero."""
    X = np.sort(X, axis=0)  # sums in one order: the scale is the same, to the bit, in whichever rows came
    scale = np.maximum(np.nanstd(X, axis=0), LEAST_SCALE * np.nanmax(np.abs(X), axis=0))
    return np.where(scale > 0, scale, 1.0)


# --------------------------------------------------------------------------------------------- choices


def hidden_entries(X: Array, seed: int) -> Array:
    """A tenth of the observed entries at random, of which every column keeps two."""
    grid = np.ix_(*canonical(X.shape, [(X, (0, 1))]))
    observed = ~np.isnan(X[grid])
    entries = np.random.default_rng(seed).permutation(np.argwhere(observed))
    left = observed.sum(axis=0)
    hidden = np.zeros_like(observed)
    for i, j in entries[: round(HIDDEN * len(entries))].tolist():
        if left[j] > 2:
            hidden[i, j] = True
            left[j] -= 1
    back = np.empty_like(hidden)
    back[grid] = hidden
    return back


def rmse(found: Array, truth: Array) -> float:
    return float(np.sqrt(((found - truth) ** 2).mean()))


def heldout_curve(
    X: Array,
    candidates: Iterable[Key],
    complete: Callable[[Key, Array], Array],
    *,
    seed: int,
    unit: Array | float = 1.0,
) -> dict[Key, float]:
    """Errors of hidden entries by candidate, in units of the columns; empty if too few can be hidden.

    ``complete(candidate, X)`` completes X with the entries hidden.
    """
    hidden = hidden_entries(X / unit, seed)
    if hidden.sum() < FEWEST:
        return {}
    part, truth = np.where(hidden, np.nan, X), (X / unit)[hidden]
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", ConvergenceWarning)  # what is chosen is fitted again
        return {key: rmse((complete(key, part) / unit)[hidden], truth) for key in candidates}


def widening(X: Array, predict: Callable[[Array], tuple[Array, Array]], *, seed: int, unit: Array) -> float:
    """What standard deviations are multiplied by, 1 or more, because kernels were estimated.

    The posterior takes estimated kernels for true, and is too sure.  So entries are hidden, and
    ``predict(X)`` completes X without them and says how sure it is; the factor is the least with which 95 %
    of the intervals cover, of one entry more than were hidden (split conformal prediction).
    """
    ratios = np.zeros(0)
    for k in range(TIMES):
        hidden = hidden_entries(X / unit, seed + k)
        if len(ratios) < ENOUGH and hidden.any():
            with warnings.catch_warnings():
                for known in (ConvergenceWarning, AbsenceWarning):  # said of the whole matrix
                    warnings.simplefilter("ignore", known)
                found, std = predict(np.where(hidden, np.nan, X))
            missed = np.abs(found - X)[hidden] / np.maximum(
                std[hidden], LEAST_SCALE * unit[hidden.nonzero()[1]]
            )
            ratios = np.append(ratios, missed)
    if len(ratios) < FEWEST:
        warn(
            f"only {len(ratios)} entries could be hidden, too few to tell how much wider standard "
            "deviations have to be because kernels were estimated: they are too small; give kernels, "
            "or more rows",
            AbsenceWarning,
        )
        return 1.0
    place = min(math.ceil(COVERED * (len(ratios) + 1)), len(ratios))
    return max(float(np.sort(ratios)[place - 1] / ndtri((1 + COVERED) / 2)), 1.0)


def chosen_rows(n: int, curve: Mapping[str, float]) -> tuple[str, str]:
    """What does better, "none", "estimate" or "drawn", and why, in a sentence.

    "drawn": no row kernel, and a column kernel estimated and drawn towards the one that is given.
    """
    if not curve:
        return "none", "none, as there are too few entries to tell: rows are taken as unrelated"
    own, without = curve["estimate"], curve["none"]
    if least(curve) == "estimate":
        return "estimate", (
            f"estimated ({n} × {n}); on hidden entries RMSE {own:.3g}, and {without:.3g} without one"
        )
    drawn = least(curve) == "drawn"
    without = curve["drawn"] if drawn else without
    rows = "rows taken as unrelated" + (", columns drawn towards the given kernel," if drawn else "")
    return "drawn" if drawn else "none", (
        f"none: on hidden entries, {rows} have RMSE {without:.3g}, and {own:.3g} with an estimated one"
    )


# ---------------------------------------------------------------------------------------- how well it does


@dataclass(frozen=True, eq=False)
class HeldOut:
    """Observed entries that were hidden and predicted: one element each, in the units of the matrix.

    `baseline` are the columns' means, `unit` the columns' standard deviations.
    """

    column: Array
    truth: Array
    predicted: Array
    baseline: Array
    std: Array
    unit: Array

    def errors(self) -> tuple[float, float]:
        """RMSE of what was predicted and of the columns' means, in standard deviations of the columns."""
        truth = self.truth / self.unit
        return rmse(self.predicted / self.unit, truth), rmse(self.baseline / self.unit, truth)


def hold_out(imputer: Any, X: Array, seed: int = 0) -> HeldOut | None:
    """Hide a tenth of the observed entries of X and predict them, all choices of `imputer` made anew.

    None, with a warning, if too few can be hidden.
    """
    unit = column_scale(X)
    hidden = hidden_entries(X / unit, seed)
    if hidden.sum() < FEWEST:
        warn(
            f"only {int(hidden.sum())} entries could be hidden: too few to check how well it works",
            AbsenceWarning,
        )
        return None
    part, columns = np.where(hidden, np.nan, X), np.nonzero(hidden)[1]
    with warnings.catch_warnings():
        for known in (ConvergenceWarning, AbsenceWarning):  # said of the whole matrix
            warnings.simplefilter("ignore", known)
        completed, std = unwatched(imputer).fit(part).predict(return_std=True)
    means = np.nanmean(part, axis=0)
    return HeldOut(columns, X[hidden], completed[hidden], means[columns], std[hidden], unit[columns])
