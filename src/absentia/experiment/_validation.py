"""How well a method does on samples it has not seen, beside baselines on the same folds.

Everything is learned inside a fold's training part: the kernels' scales and widths, C, the machine, its
calibration.  Folds are cut by what the samples are, not by where they stand: the order of the samples
changes none of it.  For classes the page also tells what decisions rest on, and what samples would gain
from one more view; that, too, is said by models that have not seen them.
"""

import warnings
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from functools import cached_property
from typing import Any, Literal, NamedTuple

import numpy as np
from scipy.stats import entropy

from absentia.core import Array
from absentia.data import KernelViews, Views
from absentia.kernels import ViewKernels
from absentia.methods import inspection
from absentia.methods.models import Model
from absentia.methods.prediction import HeldOutScores
from absentia.tasks import Plan, Predictions, Task, adjust_samples, make_kernels, order_samples

MAX_GAIN_SAMPLES = 60  # whose absent views are tried, those of least certainty first
_GAIN_DRAWS = 10  # values tried of each absent view


class Gain(NamedTuple):
    """A sample and a view that it lacks, by position: how sure the model is now, and would be with it."""

    sample: int
    view: int
    entropy: float
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
    said : mapping of str to Predictions
        By method: first the one that is judged, then baselines, last what knows nothing of a sample.
    fold : (n,) int
        Where each sample was held out.
    strengths : mapping of str to tuple
        C, penalty or alpha of a method in every fold, if it has one.
    without : (n, V), optional
        What the first method predicts if a view is hidden from a sample.
    scores : (n, classes), optional
        Of the first method.
    gains : sequence of Gain, optional
        What one more view is worth; None: it cannot be told.
    held_out : mapping of str to HeldOutScores
        Of the first method, where a coverage was asked for: calibrated by "pattern", and by "none".
    """

    samples: Array
    said: Mapping[str, Predictions]
    fold: Array
    strengths: Mapping[str, tuple[Any, ...]]
    without: Array | None = None
    scores: Array | None = None
    gains: Sequence[Gain] | None = None
    held_out: Mapping[str, HeldOutScores] = field(default_factory=dict)

    @property
    def predicted(self) -> dict[str, Array]:
        """Classes, numbers or risks (n,) by method."""
        return {name: one.values for name, one in self.said.items()}

    @property
    def probabilities(self) -> Array | None:
        """Of the classes by the first method (n, classes), where it has them."""
        return next(iter(self.said.values())).probabilities

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
    if times is None:
        cut = task.make_folds(order, y, task.count_folds(y, data.groups), seed, data.groups)
    else:
        cut = task.make_time_folds(y, times, data.groups)
    said: dict[str, list[Predictions]] = {name: [] for name in (*plans, task.prior_name)}
    strengths: dict[str, list[Any]] = {name: [] for name in plans}
    details = _Details(task, data, y, len(cut))
    held_out = {} if coverage is None else _collect_scores(plans[first], data, y, order, coverage)
    for train, test in cut:
        part = _Fold(data, covariates, train, test)
        for name, plan in plans.items():
            with warnings.catch_warnings(action="ignore"):  # those of the fit to all samples are to be read
                kernels, X, rows = part.prepare(plan)
                fitted = plan.fit(X, y[train], tick)
                said[name].append(task.predict(fitted, rows))
                if name == first:
                    details.read(fitted, kernels, rows, said[name][-1], part, test)
                    for scores in held_out.values():
                        scores.read(fitted, rows, train, test)
            if (strength := task.find_strength(fitted)) is not None:
                strengths[name].append(strength)
        said[task.prior_name].append(task.predict_prior(y[train], len(test)))
    tested = np.concatenate([test for _, test in cut])
    place = np.argsort(tested)
    fold = np.repeat(np.arange(len(cut)), [len(test) for _, test in cut])[place]
    used = {name: tuple(values) for name, values in strengths.items()}
    joined = {name: Predictions.join(parts, place) for name, parts in said.items()}
    samples = tested[place]
    return Validation(samples, joined, fold, used, held_out=held_out, **details.fields(samples))


def _collect_scores(plan: Plan, data: Any, y: Array, order: Array, coverage: float) -> dict[str, Any]:
    """What is to collect scores of samples held out, by pattern of views and of all together."""
    by: tuple[Literal["pattern", "none"], ...] = ("pattern", "none")
    return {name: HeldOutScores(plan.estimator, data, y, order, name, judged=coverage) for name in by}


class _Fold:
    """The samples of a fold as methods take them; kernels of features are made once for all methods."""

    def __init__(
        self, data: Views | KernelViews, covariates: Views | None, train: Array, test: Array
    ) -> None:
        self.train, self.test, _ = adjust_samples(data, covariates, train, test)
        self._made: list[tuple[Any, ViewKernels | None, KernelViews, Any]] = []

    def prepare(self, plan: Plan) -> tuple[ViewKernels | None, Any, Any]:
        """Kernels that are made before the method, if any; training samples, and held-out ones."""
        if plan.takes != "kernels":
            return None, plan.transform(self.train)[1], self.test
        for kernel, *made in self._made:
            if kernel is plan.kernel or kernel == plan.kernel:
                return made[0], made[1], made[2]
        makes, kernels = make_kernels(self.train, plan.kernel)
        rows = self.test if makes is None else makes.transform(self.test)
        self._made.append((plan.kernel, makes, kernels, rows))
        return makes, kernels, rows


class _Details:
    """What is read of the method that is judged beside its predictions, fold by fold."""

    def __init__(self, task: Task, data: Views | KernelViews, y: Array, n_folds: int) -> None:
        self.task, self.data, self.y = task, data, y
        self.without = (
            np.empty(data.observed.shape, dtype=y.dtype) if "hidden views" in task.sections else None
        )
        self.scores: Array | None = None
        self.gains: list[Gain] | None = None
        self._share = -(-MAX_GAIN_SAMPLES // n_folds)

    @cached_property
    def _n_classes(self) -> int:
        return len(np.unique(self.y))

    def fields(self, samples: Array) -> dict[str, Any]:
        """Of the samples at these positions, which are all that were read."""
        rows = {name: getattr(self, name) for name in ("without", "scores")}
        gains = self.gains
        if gains is not None:
            gains = [gain._replace(sample=int(np.searchsorted(samples, gain.sample))) for gain in gains]
        return {name: x if x is None else x[samples] for name, x in rows.items()} | {"gains": gains}

    def read(self, fitted: Any, kernels: Any, rows: Any, said: Any, part: _Fold, test: Array) -> None:
        """The samples `test` of a fold, which the fitted estimator takes as `rows`."""
        if self.without is not None:
            self.without[test] = predict_without_each(self.task, fitted, rows, said.values)
        if "gains" not in self.task.sections:
            return
        shape = (len(self.y), self._n_classes)
        if self.scores is None:
            self.scores = np.zeros(shape)
        self.scores[test] = _score_classes(fitted, rows)
        if said.probabilities is None or not isinstance(self.data, Views):
            return
        self.gains = self.gains or []
        doubtful = np.argsort(-entropy(said.probabilities, axis=1), kind="stable")
        lacks = np.asarray((~self.data.observed[test]).any(axis=1))
        chosen = doubtful[lacks[doubtful]][: self._share]
        self._try_views(Model(fitted, kernels), part.train, part.test[chosen])

    def _try_views(self, model: Model, train: Views, test: Views) -> None:
        assert self.gains is not None
        if not len(test):
            return
        found = inspection.value_of_views(model, test, train, n_draws=_GAIN_DRAWS)
        ids = self.data.ids.tolist()
        place = {id: ids.index(id) for id in test.ids.tolist()}
        for sample, view, *numbers in found.itertuples(index=False):
            self.gains.append(Gain(place[sample], self.data.names.index(view), *map(float, numbers)))


def _score_classes(classifier: Any, rows: Any) -> Array:
    """Scores by class; of two classes the one's are the other's with the sign changed."""
    scores = np.asarray(classifier.decision_function(rows))
    return np.column_stack([-scores, scores]) if scores.ndim == 1 else scores


def predict_without_each(task: Task, fitted: Any, rows: Any, predicted: Array) -> Array:
    """What is predicted of each sample (row) with each view (column) hidden from it."""
    without = np.tile(predicted[:, None], rows.observed.shape[1])
    for v, has in enumerate(rows.observed.T):
        if has.any():
            keep = rows.observed.copy()
            keep[:, v] = False
            without[has, v] = task.predict(fitted, rows.hide(keep)).values[has]
    return without
