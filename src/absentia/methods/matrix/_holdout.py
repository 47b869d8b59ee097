"""Choices and calibration by hiding observed entries of a matrix, and how well a completion does.

Three things stand between a model and a table whose columns have any units and whose rows may or may not
be related:

* columns are divided by their standard deviations (:func:`column_scale`);
* what cannot be known beforehand is tried: some observed entries are hidden, completed with each of the
  candidates, and compared with what they were (:func:`_heldout_curve`).  One rule, one word
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
from collections.abc import Callable, Iterable, Iterator, Mapping
from contextlib import contextmanager
from dataclasses import dataclass
from typing import Any, TypeVar

import numpy as np
from scipy.special import ndtri
from sklearn.base import TransformerMixin
from sklearn.exceptions import ConvergenceWarning

from absentia.core import Array, Estimator, argmin_key, clone_without_callbacks, make_generator, warn
from absentia.core.linalg import invert_permutation
from absentia.data import AbsenceWarning, order_tables

#: Fraction of the observed entries that is hidden.
_HIDDEN_FRACTION = 0.1
#: With fewer hidden entries nothing can be said.
_MIN_HIDDEN = 10
#: Least standard deviation of a column, relative to its greatest value.
_MIN_SCALE = 1e-10
#: Standard deviations are widened so that this fraction of hidden entries is covered as under a normal
#: distribution ...
_COVERAGE = 0.95
#: ... with this many hidden entries, or those of so many fits if they are fewer.
_ENOUGH_HIDDEN, _MAX_FITS = 200, 3

_Key = TypeVar("_Key")


def column_scale(X: Array) -> Array:
    """Standard deviations of the columns (m,); next to nothing for a constant one, 1 if that is zero."""
    X = np.sort(X, axis=0)  # sums in one order: the scale is the same, to the bit, in whichever rows came
    scale = np.maximum(np.nanstd(X, axis=0), _MIN_SCALE * np.nanmax(np.abs(X), axis=0))
    return np.where(scale > 0, scale, 1.0)


def _rmse(predicted: Array, truth: Array) -> float:
    """Root mean square error."""
    return float(np.sqrt(((predicted - truth) ** 2).mean()))


def _select_hidden(X: Array, seed: int) -> Array:
    """A mask (n, m) of a tenth of the observed entries at random, of which every column keeps two."""
    grid = np.ix_(*order_tables(X.shape, [(X, (0, 1))]))
    observed = ~np.isnan(X[grid])
    entries = np.random.default_rng(seed).permutation(np.argwhere(observed))
    left = observed.sum(axis=0)
    hidden = np.zeros_like(observed)
    for i, j in entries[: round(_HIDDEN_FRACTION * len(entries))].tolist():
        if left[j] > 2:
            hidden[i, j] = True
            left[j] -= 1
    mask = np.empty_like(hidden)
    mask[grid] = hidden
    return mask


@contextmanager
def _ignore_warnings() -> Iterator[None]:
    """Of fits with entries hidden: what there is to say is said of the fit to the whole matrix."""
    with warnings.catch_warnings():
        for category in (ConvergenceWarning, AbsenceWarning):
            warnings.simplefilter("ignore", category)
        yield


# -------------------------------------------------------------------------------------------------- choices


def _heldout_curve(
    X: Array,
    candidates: Iterable[_Key],
    complete: Callable[[_Key, Array], Array],
    *,
    seed: int,
    unit: Array | float = 1.0,
) -> dict[_Key, float]:
    """Errors of hidden entries by candidate, in units of the columns; empty if too few can be hidden.

    ``complete(candidate, X)`` completes X with the entries hidden.
    """
    hidden = _select_hidden(X / unit, seed)
    if hidden.sum() < _MIN_HIDDEN:
        return {}
    part, truth = np.where(hidden, np.nan, X), (X / unit)[hidden]
    with _ignore_warnings():
        return {key: _rmse((complete(key, part) / unit)[hidden], truth) for key in candidates}


# ---------------------------------------------------------------------------------------------- calibration


def measure_ratios(
    X: Array, predict: Callable[[Array], tuple[Array, Array]], *, seed: int, unit: Array
) -> tuple[Array, Array]:
    """Errors of observed entries that are hidden, in the standard deviations that are said of them.

    ``predict(X)`` completes X (n, m) without them and gives standard deviations.

    Returns
    -------
    rows : int array of shape (n_hidden,)
        The row of each hidden entry, numbered in the canonical order.
    ratios : array of shape (n_hidden,)
        Absolute errors over standard deviations.
    """
    numbers = invert_permutation(order_tables(X.shape, [(X / unit, (0, 1))])[0])
    rows, ratios = np.zeros(0, dtype=int), np.zeros(0)
    for k in range(_MAX_FITS):
        hidden = _select_hidden(X / unit, seed + k)
        if len(ratios) < _ENOUGH_HIDDEN and hidden.any():
            with _ignore_warnings():
                predicted, std = predict(np.where(hidden, np.nan, X))
            i, j = hidden.nonzero()
            errors = np.abs(predicted - X)[hidden] / np.maximum(std[hidden], _MIN_SCALE * unit[j])
            rows, ratios = np.append(rows, numbers[i]), np.append(ratios, errors)
    return rows, ratios


def calibrate_deviations(ratios: Array) -> float:
    """What standard deviations are multiplied by, 1 or more, because kernels were estimated.

    The posterior takes estimated kernels for true, and is too sure.  The factor is the least with which
    95 % of the intervals cover, of one entry more than were hidden (split conformal prediction).
    """
    if len(ratios) < _MIN_HIDDEN:
        warn(
            f"only {len(ratios)} entries could be hidden, too few to tell how much wider standard "
            "deviations have to be because kernels were estimated: they are too small; give kernels, "
            "or more rows",
            AbsenceWarning,
        )
        return 1.0
    rank = min(math.ceil(_COVERAGE * (len(ratios) + 1)), len(ratios))
    return max(float(np.sort(ratios)[rank - 1] / ndtri((1 + _COVERAGE) / 2)), 1.0)


# ----------------------------------------------------------------------------------------- how well it does


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
        return _rmse(self.predicted / self.unit, truth), _rmse(self.baseline / self.unit, truth)


def hold_out(imputer: Any, X: Array, seed: int = 0) -> HeldOut | None:
    """Hide a tenth of the observed entries of X and predict them, all choices of `imputer` made anew.

    None, with a warning, if too few can be hidden.
    """
    unit = column_scale(X)
    hidden = _select_hidden(X / unit, seed)
    if hidden.sum() < _MIN_HIDDEN:
        warn(
            f"only {int(hidden.sum())} entries could be hidden: too few to check how well it works",
            AbsenceWarning,
        )
        return None
    part, columns = np.where(hidden, np.nan, X), np.nonzero(hidden)[1]
    with _ignore_warnings():
        completed, std = clone_without_callbacks(imputer).fit(part).predict(return_std=True)
    means = np.nanmean(part, axis=0)
    return HeldOut(columns, X[hidden], completed[hidden], means[columns], std[hidden], unit[columns])


# ---------------------------------------------------------------------------------- imputers that choose so


class MatrixImputer(TransformerMixin, Estimator):  # type: ignore[misc]
    """Estimators that complete the matrix they are fitted to."""

    completed_: Array
    heldout_curve_: dict[Any, float]
    random_state: Any
    _seed: int

    def __sklearn_tags__(self) -> Any:
        tags = super().__sklearn_tags__()
        tags.input_tags.allow_nan = True
        return tags

    def fit_transform(self, X: Any, y: Any = None, **fit_params: Any) -> Array:
        """Fit X (n, m), NaN where missing, and return it completed."""
        return self.fit(X).completed_.copy()

    def _reset(self) -> None:
        """Check parameters, forget an earlier fit's choices, draw a seed for all that is random in this."""
        self._check_parameters()
        self.__dict__.pop("heldout_curve_", None)
        self._seed = int(make_generator(self.random_state).integers(2**31))

    def _rng(self) -> np.random.Generator:
        return np.random.default_rng(self._seed)

    def _select_by_holdout(
        self, X: Array, candidates: Mapping[_Key, Mapping[str, Any]], unit: Array | float = 1.0
    ) -> _Key:
        """Of several sets of parameters the one that predicts hidden entries best, the first if none can.

        Let the simplest come first: it is taken of those that do equally well.
        """

        def complete(key: _Key, part: Array) -> Array:
            trial = clone_without_callbacks(self, random_state=self._seed, **candidates[key])
            return np.asarray(trial.fit(part).completed_)

        self.heldout_curve_ = _heldout_curve(X, candidates, complete, seed=self._seed, unit=unit)
        return argmin_key(self.heldout_curve_) if self.heldout_curve_ else next(iter(candidates))
