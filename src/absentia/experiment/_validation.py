"""How well a method does on what it has not seen, beside baselines on the same folds or hidden cells.

Predictions: everything is learned inside a fold's training part: the kernels' scales and widths, C, the
machine, its calibration.  Folds are cut by what the samples are, not by where they stand: the order of the
samples changes none of it.  For classes the page also tells what decisions rest on, and what samples would
gain from one more view; that, too, is said by models that have not seen them.

Completion: observed cells are hidden, completed and compared with the truth.  A cell is a sample in a view:
a row of the view's kernel.  A tenth of each view's observed cells is hidden, never a sample's only one, and
the same ones for every method.  Errors are those of :func:`absentia.tasks.compute_row_errors`.  Of many
samples a random part is measured on, which does not depend on the order that they come in.
"""

from __future__ import annotations

import time
import warnings
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any, Literal, NamedTuple

import numpy as np
from scipy.stats import entropy
from sklearn.base import clone

from absentia.core import Array
from absentia.data import KernelViews, Views
from absentia.kernels import ViewKernels
from absentia.methods import inspection
from absentia.methods.catalogue import list_entries
from absentia.methods.models import Model
from absentia.methods.prediction import HeldOutScores
from absentia.tasks import (
    Plan,
    Predictions,
    Task,
    adjust_samples,
    compute_row_errors,
    make_kernels,
    order_samples,
)

if TYPE_CHECKING:
    from absentia.methods.completion import Completer, Holdout

_MAX_GAIN_SAMPLES = 60  # whose absent views are tried, those of least certainty first
_GAIN_DRAWS = 10  # values tried of each absent view


class Gain(NamedTuple):
    """A sample and a view that it lacks, by position: how probable its class is now, and with the view."""

    sample: int
    view: int
    now: float
    expected: float
    gain: float
    changes: float


@dataclass(frozen=True, eq=False)
class Validation:
    """Out-of-fold results, one row for each of the n samples that were held out.

    Attributes
    ----------
    samples : (n,) int
        Positions of these samples: all, or with times those of later blocks.
    predictions : mapping of str to Predictions
        By method: first the one that is judged, then baselines, last what knows nothing of a sample.
    fold : (n,) int
        Where each sample was held out.
    strengths : mapping of str to tuple
        C, penalty or alpha of a method in every fold, if it has one.
    without : (n, V), optional
        What the first method predicts if a view is hidden from a sample.
    gains : sequence of Gain, optional
        What one more view is worth; None: it cannot be told.
    held_out : mapping of str to HeldOutScores
        Of the first method, where a coverage was asked for: calibrated by "pattern", and by "none".
    """

    samples: Array
    predictions: Mapping[str, Predictions]
    fold: Array
    strengths: Mapping[str, tuple[Any, ...]]
    without: Array | None = None
    gains: Sequence[Gain] | None = None
    held_out: Mapping[str, HeldOutScores] = field(default_factory=dict)

    @property
    def predicted(self) -> dict[str, Array]:
        """Classes, numbers or risks (n,) by method."""
        return {name: one.values for name, one in self.predictions.items()}

    @property
    def probabilities(self) -> Array | None:
        """Of the classes by the first method (n, classes), where it has them."""
        return next(iter(self.predictions.values())).probabilities

    @property
    def n_folds(self) -> int:
        return int(self.fold.max()) + 1


def count_steps(plan: Plan, plans: Mapping[str, Plan], n_folds: int) -> int:
    """How often a fit of `plan` to all samples, and a cross-validation of `plans`, call ``tick``."""
    return plan.n_steps + n_folds * sum(one.n_steps for one in plans.values())


def cross_validate(
    task: Task,
    data: Views | KernelViews,
    y: Any,
    plans: Mapping[str, Plan],
    tick: Callable[[], None] = lambda: None,
    seed: int = 0,
    coverage: float | None = None,
    times: Array | None = None,
    covariates: Views | None = None,
) -> Validation:
    """Out-of-fold predictions of each of the `plans`, of which the first is judged, on the same folds.

    With a `coverage`, the first is calibrated too, and prediction sets of that coverage are judged.  With
    `times` (n,), numbers, blocks in time are predicted from what came before.  With `covariates`, one view
    of the samples, features are adjusted for them, as the training part of a fold says.
    """
    y = task.align_targets(data, y)
    plans = {name: plan.suit(data) for name, plan in plans.items()}
    first = next(iter(plans))
    order = order_samples(data, *task.order_keys(y))
    cut = _cut_folds(task, y, order, data.groups, seed, times)
    predictions: dict[str, list[Predictions]] = {name: [] for name in (*plans, task.prior_name)}
    strengths: dict[str, list[Any]] = {name: [] for name in plans}
    without = np.empty(data.observed.shape, dtype=y.dtype) if "hidden views" in task.sections else None
    gains: list[Gain] | None = [] if "gains" in task.sections and isinstance(data, Views) else None
    held_out = {} if coverage is None else _collect_scores(plans[first], data, y, order, coverage)
    for train, test in cut:
        part = _Fold(data, covariates, train, test)
        for name, plan in plans.items():
            with warnings.catch_warnings(action="ignore"):  # those of the fit to all samples are to be read
                kernels, X, rows = part.prepare(plan)
                fitted = plan.fit(X, y[train], tick)
                predicted = task.predict(fitted, rows)
                predictions[name].append(predicted)
                if name == first:
                    if without is not None:
                        without[test] = _predict_without_each(task, fitted, rows, predicted.values)
                    if predicted.probabilities is None:
                        gains = None
                    elif gains is not None:
                        gains += _try_views(Model(fitted, kernels), part, test, predicted, len(cut))
                    for scores in held_out.values():
                        scores.read(fitted, rows, train, test)
            if (strength := task.find_strength(fitted)) is not None:
                strengths[name].append(strength)
        predictions[task.prior_name].append(task.predict_prior(y[train], len(test)))
    samples, place = np.unique(np.concatenate([test for _, test in cut]), return_index=True)
    fold = np.repeat(np.arange(len(cut)), [len(test) for _, test in cut])[place]
    used = {name: tuple(values) for name, values in strengths.items()}
    joined = {name: Predictions.join(parts, place) for name, parts in predictions.items()}
    without = None if without is None else without[samples]
    if gains is not None:  # positions among the samples that were held out
        gains = [gain._replace(sample=int(np.searchsorted(samples, gain.sample))) for gain in gains]
    return Validation(samples, joined, fold, used, without, gains, held_out)


def _cut_folds(
    task: Task, y: Array, order: Array, groups: Array | None, seed: int, times: Array | None
) -> Any:
    """Positions to learn from and to be judged on, by fold: of samples as they are, or blocks in time."""
    if times is not None:
        return task.make_time_folds(y, times, groups)
    return task.make_folds(order, y, task.count_folds(y, groups), seed, groups)


def _collect_scores(plan: Plan, data: Any, y: Array, order: Array, coverage: float) -> dict[str, Any]:
    """What is to collect scores of samples held out, by pattern of views and of all together."""
    by: tuple[Literal["pattern", "none"], ...] = ("pattern", "none")
    return {name: HeldOutScores(plan.estimator, data, y, order, name, judged=coverage) for name in by}


class _Fold:
    """The samples of a fold as methods take them; kernels of features are made once for all methods."""

    def __init__(
        self, data: Views | KernelViews, covariates: Views | None, train: Array, test: Array
    ) -> None:
        with warnings.catch_warnings(action="ignore"):  # of levels that few have
            self.train, self.test, _ = adjust_samples(data, covariates, train, test)
        self._made: list[tuple[Any, tuple[ViewKernels | None, KernelViews, Any]]] = []

    def prepare(self, plan: Plan) -> tuple[ViewKernels | None, Any, Any]:
        """Kernels that are made before the method, if any; training samples, and held-out ones."""
        if plan.takes != "kernels":
            return None, plan.transform(self.train)[1], self.test
        for kernel, made in self._made:
            if kernel is plan.kernel or kernel == plan.kernel:
                return made
        view_kernels, kernels = make_kernels(self.train, plan.kernel)
        rows = self.test if view_kernels is None else view_kernels.transform(self.test)
        self._made.append((plan.kernel, (view_kernels, kernels, rows)))
        return view_kernels, kernels, rows


def _try_views(
    model: Model, part: _Fold, positions: Array, predicted: Predictions, n_folds: int
) -> list[Gain]:
    """What one more view is worth to the least certain samples of a fold that lack one.

    `positions` are those of the fold's samples in all, `predicted` their classes and probabilities.
    """
    uncertain = np.argsort(-entropy(predicted.probabilities, axis=1), kind="stable")
    lacks = (~part.test.observed).any(axis=1)
    chosen = uncertain[lacks[uncertain]][: -(-_MAX_GAIN_SAMPLES // n_folds)]
    if not len(chosen):
        return []
    samples = part.test[chosen]
    table = inspection.value_of_views(model, samples, part.train, n_draws=_GAIN_DRAWS)
    place = dict(zip(samples.ids.tolist(), positions[chosen].tolist(), strict=True))
    return [
        Gain(place[sample], samples.names.index(view), *map(float, numbers))
        for sample, view, *numbers in table.itertuples(index=False)
    ]


def _predict_without_each(task: Task, fitted: Any, rows: Any, predicted: Array) -> Array:
    """What is predicted of each sample (row) with each view (column) hidden from it."""
    without = np.tile(predicted[:, None], rows.observed.shape[1])
    for v, has in enumerate(rows.observed.T):
        if has.any():
            keep = rows.observed.copy()
            keep[:, v] = False
            without[has, v] = task.predict(fitted, rows.hide(keep)).values[has]
    return without


# ------------------------------------------------------------------------------ completion of hidden cells


_MAX_MEASURED_SAMPLES = 3000  # of more, so many are drawn at random


@dataclass(frozen=True, eq=False)
class Quality:
    """Errors of several methods on the same hidden cells.

    Attributes
    ----------
    names : tuple of str
        Names of the V views.
    cells : int array of shape (h, 2)
        Sample and view of each of the h hidden cells.
    row_errors : dict of str to array of shape (h,)
        By method, the relative error of each hidden cell's row; NaN where the true row is zero.
    ca_errors : dict of str to array of shape (V,)
        By method, completion accuracy error over the hidden rows of each view; NaN where none is hidden.
    seconds : dict of str to float
        By method, CPU time.
    left_out : dict of str to str
        By method that has no errors, the reason.
    subsample : (int, int) or None
        Number of samples drawn and number of all, if not all were used.
    """

    names: tuple[str, ...]
    cells: Array
    row_errors: dict[str, Array]
    ca_errors: dict[str, Array]
    seconds: dict[str, float]
    left_out: dict[str, str]
    subsample: tuple[int, int] | None = None

    @property
    def subsample_note(self) -> str:
        """A sentence on how many samples were drawn; empty if all were used."""
        if self.subsample is None:
            return ""
        n_drawn, n_samples = self.subsample
        return (
            f"Methods were judged on {n_drawn} of the {n_samples} samples, drawn at random; with "
            "all of them to learn from, errors may be smaller."
        )

    def view_errors(self, method: str) -> Array:
        """Average relative error (ARE) of each view's hidden rows, shape (V,); NaN where there is none."""
        views = self.cells[:, 1]
        return np.array([_nan_mean(self.row_errors[method][views == v]) for v in range(len(self.names))])

    def mean_errors(self, method: str) -> tuple[float, float]:
        """ARE and CA error, each averaged over the views."""
        return _nan_mean(self.view_errors(method)), _nan_mean(self.ca_errors[method])


def measure_hidden_errors(
    kernels: KernelViews,
    completers: Mapping[str, Completer],
    share: float = 0.1,
    tick: Callable[[], None] = lambda: None,
    max_samples: int | None = None,
) -> Quality:
    """Hide observed cells, complete them with every method, and measure the errors.

    Parameters
    ----------
    kernels : KernelViews
        Square.
    completers : mapping of str to completer
        Unfitted methods by name, which are cloned.
    share : float
        Share of each view's observed cells that is hidden, in (0, 1).
    tick : callable, optional
        Called after each method.
    max_samples : int, optional
        Number of samples to draw if there are more; cells are hidden and counted among these.
    """
    from absentia.methods.completion import Holdout

    holdout = Holdout.of(kernels, 0, share, max_samples)
    whole, part = holdout.whole, holdout.part
    subsample = None if len(whole) == len(kernels) else (len(whole), len(kernels))
    cells = np.argwhere(holdout.hidden & part.observed.any(axis=0))  # in views that somebody is left in
    quality = Quality(kernels.names, cells, {}, {}, {}, {}, subsample)
    for name, completer in completers.items() if len(cells) else ():
        _measure_method(quality, holdout, name, completer)
        tick()
    return quality


def _measure_method(quality: Quality, holdout: Holdout, name: str, completer: Completer) -> None:
    """Add one method's errors to `quality`, or the reason why it has none."""
    method = clone(completer)
    if "callback" in method.get_params():
        method.set_params(callback=None)
    start = time.process_time()
    try:
        with warnings.catch_warnings(action="ignore"):  # the completion itself has shown them
            completed = method.fit_transform(holdout.part)
    except (ValueError, ArithmeticError, np.linalg.LinAlgError, MemoryError) as error:
        quality.left_out[name] = f"could not: {str(error) or type(error).__name__}"
        return
    seconds = time.process_time() - start
    by_cell, by_view = compute_row_errors(holdout.whole, completed, quality.cells)
    if np.isinf(by_cell).any():
        quality.left_out[name] = "gave values that are not finite"
        return
    quality.row_errors[name], quality.ca_errors[name], quality.seconds[name] = by_cell, by_view, seconds


def _nan_mean(values: Array) -> float:
    """The mean of the values that are not NaN; NaN, without a warning, if there are none."""
    known = values[~np.isnan(values)]
    return float(known.mean()) if len(known) else float("nan")


def compare_with_baselines(
    name: str, completer: Completer, kernels: KernelViews, tick: Callable[[], None] = lambda: None
) -> Quality:
    """Measure a method beside mean fill and zero fill, on at most 3000 samples.

    Parameters
    ----------
    name : str
        Name of the method; takes the place of the baseline of that name, if it is one.
    completer : completer
        The method, unfitted, with the parameters that it is used with.
    kernels : KernelViews
        Square.
    tick : callable
        Called once for each of them.
    """
    completers = {
        entry.name: entry.make() for entry in list_entries("completer").values() if entry.baseline
    }
    completers[name] = completer
    return measure_hidden_errors(kernels, completers, tick=tick, max_samples=_MAX_MEASURED_SAMPLES)
