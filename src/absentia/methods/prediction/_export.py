"""Models that hold no training sample: what linear models need of these is sums.

A machine on kernels, by view v with features ``phi_v`` and factors ``c_v`` that hang on the row alone, says

    f(x) = b + sum_v c_v(x) sum_i a_vi <phi_v(x), phi_v(x_i)> = b + sum_v c_v(x) <phi_v(x), w_v> ,

``w_v = sum_i a_vi phi_v(x_i)``.  Where ``phi_v`` can be written down, the standardised features themselves
(linear kernels) or random Fourier features, which are drawn without the data (rbf kernels with
``approx="rff"``), the vectors w_v, one for each machine, stand in for all training samples, and the
predictions are the same but for rounding.  Models of features side by side are such weights already.

Kernels completed by CVKT are, for samples that have the same views, an affine map of the kernel values with
these views, so that there are a vector w_v and an offset for each machine and each set of views that a
sample may have (:class:`PatternWeights`), found by completing unit rows.  With more than :data:`MAX_VIEWS`
views that would be too many.  CVKT shortens a prediction that is longer than any training sample, which is
not affine; the exported model does not (:meth:`CVKT.without_shortening`), and differs for such samples.

What is by sample is left out: ids, who has which view, predictions of samples left out, scores that
prediction sets are calibrated by.  Times of events are replaced by means of :data:`MIN_TOGETHER`.

Other completers compare a new sample with training samples, support vector machines rest on few of these,
leaves of trees may hold one: they are refused.
"""

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from functools import singledispatch
from itertools import product
from typing import Any

import numpy as np

from absentia.core import Array, copy_with, serializable
from absentia.data import KernelViews, Presence, Views
from absentia.kernels import CombineKernels, ViewKernels
from absentia.methods.learning import KernelLogistic, SurvivalModel, to_probabilities
from absentia.methods.prediction._absent import AbsentClassifier, AbsentRegressor
from absentia.methods.prediction._auto import MAX_VIEWS, WeightedMembers
from absentia.methods.prediction._composite import KernelPipeline
from absentia.methods.prediction._early_fusion import EarlyFusion, Linear
from absentia.methods.prediction._late_fusion import LateFusion
from absentia.methods.prediction._ridge import FusedRidge, Ridge
from absentia.methods.prediction._survival import AbsentSurvival, Averaged, Cox

MIN_TOGETHER = 5  # samples that have a view, and events that share a time, at least
_SUM = "(weights) "  # how ids of sums begin, which stand where those of samples do
_BY_SAMPLE = ("loo_proba_", "loo_predictions_", "held_out_risks_", "calibration_", "training_summary_")
_NOBODY = np.zeros(0, dtype=int)


def is_sum(ids: Array) -> bool:
    """Whether these are no ids of samples but of sums that stand in for them."""
    return all(isinstance(x, str) and x.startswith(_SUM) for x in ids.tolist())


def _sum_ids(n: int) -> Array:
    return np.array([f"{_SUM}{k}" for k in range(n)])


def export_estimator(model: Any) -> Any:
    """The same fitted estimator without any training sample; predictions are the same but for rounding.

    A ValueError says why that cannot be done of others than those that are linear in their features.
    """
    observed = getattr(model, "_observed", None)
    if observed is not None:
        counts = observed.sum(axis=0)
        few = (counts > 0) & (counts < MIN_TOGETHER)
        if few.any():
            name, count = model.names_in_[int(few.argmax())], int(counts[few.argmax()])
            raise ValueError(
                f"view {name!r}: {count} sample(s) have it, whose values its means and deviations would "
                f"give away; at least {MIN_TOGETHER} are wanted: leave the view out"
            )
    return _export(model)


@singledispatch
def _export(model: Any) -> Any:
    raise ValueError(
        f"{type(model).__name__} predicts from training samples, and cannot do without them; methods that "
        "can: linear, fusion-linear, fusion-rbf, zero-rbf, those of regression and survival that are like "
        "them, and auto with candidates='no-rows' (absentia fit --no-rows)"
    )


def _strip(model: Any, **changes: Any) -> Any:
    """A copy without what is by sample, with some attributes changed."""
    seen = np.asarray(model._observed.any(axis=0))[None]
    copy = _forget(copy_with(model, ids_=_sum_ids(1), _observed=seen, **changes), *_BY_SAMPLE)
    if hasattr(copy, "_order"):
        copy._order = copy._order._replace(samples=_NOBODY)
    if isinstance(copy, SurvivalModel):
        copy.event_times_, copy._hazard = _thin_steps(copy.event_times_, copy._hazard)
    return copy


def _forget(model: Any, *attributes: str) -> Any:
    """A copy without some attributes, if it has them."""
    copy = copy_with(model)
    for key in attributes:
        copy.__dict__.pop(key, None)
    return copy


def _thin_steps(times: Array, hazard: Array) -> tuple[Array, Array]:
    """Means of :data:`MIN_TOGETHER` times or more, one after another; the hazard after the last of each."""
    if len(times) < MIN_TOGETHER:
        raise ValueError(
            f"events came at {len(times)} time(s); at least {MIN_TOGETHER} are wanted, which are then "
            "averaged"
        )
    parts = np.array_split(np.arange(len(times)), len(times) // MIN_TOGETHER)
    return np.array([times[part].mean() for part in parts]), hazard[[part[-1] for part in parts]]


@_export.register
def _export_early_fusion(model: EarlyFusion) -> Any:
    if not isinstance(model._model, Linear):
        raise ValueError(
            f"{type(model).__name__}: trees split between values of training samples, and leaves may hold "
            "one of them; take a linear model"
        )
    return _strip(model)


@_export.register
def _export_members(model: WeightedMembers) -> Any:
    members = {}
    for name, member in model.estimators_.items():
        try:
            members[name] = _export(member)
        except ValueError as error:
            advice = "fit it with candidates='no-rows' (absentia fit --no-rows)"
            raise ValueError(f"member {name!r}: {error}; {advice}") from error
    return _strip(model, estimators_=members)


@_export.register
def _export_fusion(model: LateFusion) -> Any:
    views = {
        name: view if view is None else view._replace(estimator=_export(view.estimator), rows=_NOBODY)
        for name, view in model._view_classifiers.items()
    }
    return _strip(model, _view_classifiers=views, _columns=dict.fromkeys(model._columns, _NOBODY))


# ----------------------------------------------------------------------------------- completed kernels


@serializable
@dataclass(frozen=True, eq=False)
class PatternWeights:
    """Scores that are affine in features, with weights of their own for each set of views.

    Attributes
    ----------
    view_kernels_ : ViewKernels
        Kernels with vectors of weights, those of the first pattern first, of each as many as scores.
    patterns : ndarray of shape (patterns, views)
    offsets : ndarray of shape (patterns, scores)
    """

    view_kernels_: ViewKernels
    patterns: Array
    offsets: Array
    completer_: None = None
    presence_name_: None = None

    def transform(self, X: Views) -> Array:
        """Scores of samples that have a view, rows x scores."""
        rows = self.view_kernels_.transform(X)
        place = (rows.observed[:, None] == self.patterns).all(axis=2).argmax(axis=1)
        scores = self.offsets[place]
        columns = place[:, None] * scores.shape[1] + np.arange(scores.shape[1])
        for name, has in zip(rows.names, rows.observed.T, strict=True):
            if has.any():
                scores[has] += np.take_along_axis(np.asarray(rows.block(name)), columns[has], axis=1)
        return scores


@serializable
@dataclass(frozen=True)
class GivenScores:
    """A machine that takes scores, rows x scores, as they are."""

    def predict_proba(self, scores: Array) -> Array:
        """Probabilities of the classes out of scores of each against the rest."""
        return to_probabilities(scores)

    def predict(self, scores: Array) -> Array:
        """Numbers."""
        return scores[:, 0]

    def risk(self, scores: Array) -> Array:
        """Log-risks."""
        return scores[:, 0]


def _patterns_of(names: tuple[str, ...]) -> Array:
    if len(names) > MAX_VIEWS:
        raise ValueError(
            f"{len(names)} views are completed, and each set of them that a sample may have would need "
            f"weights of its own; up to {MAX_VIEWS} views can be, or take a method that completes nothing"
        )
    return np.array(list(product([True, False], repeat=len(names))))[:-1]  # not that without any


def _probe(train: Presence, pattern: Array) -> KernelViews:
    """Rows of samples with these views: zeros first, then one at each training sample of each view."""
    counts = train.observed[:, pattern].sum(axis=0).tolist()
    total = 1 + sum(counts)
    rows = Presence(np.arange(total), train.names, np.tile(pattern, (total, 1)))
    sizes = zip(train.names, train.observed.sum(axis=0).tolist(), strict=True)
    blocks = {name: np.zeros((0, size)) for name, size in sizes}
    begin = 1
    for v, count in zip(np.flatnonzero(pattern), counts, strict=True):
        blocks[train.names[v]] = np.eye(total, count, -begin)
        begin += count
    diagonals = {name: np.ones(len(block)) for name, block in blocks.items()}
    return KernelViews.between(rows, train, blocks, diagonals)


def _weigh_patterns(model: Any, score: Callable[[KernelViews], Array]) -> PatternWeights:
    """What `score` (rows x scores) says of completed rows, as weights of features for each set of views."""
    kernels = model._kernels
    _check_features(model)
    completer, train = kernels.completer_, kernels.view_kernels_._train
    from absentia.methods.completion import CVKT

    if not isinstance(completer, CVKT) or completer.solver == "descent" or not completer._keep:
        raise ValueError(
            f"{completer!r} compares new samples with training samples; take CVKT, completer=None or "
            "combine='fusion'"
        )
    completer, patterns = completer.without_shortening(), _patterns_of(train.names)
    offsets, parts = [], {name: list[Array]() for name in train.names}
    for pattern in patterns:
        scores = score(completer.transform(_probe(train, pattern)))
        offsets.append(scores[0])
        ends = np.cumsum(train.observed[:, pattern].sum(axis=0))[:-1]
        slopes = np.split((scores[1:] - scores[0]).T, ends, axis=1)
        own = dict(zip(np.array(train.names)[pattern].tolist(), slopes, strict=True))
        for name, has in zip(train.names, train.observed.T, strict=True):
            parts[name].append(own.get(name, np.zeros((scores.shape[1], int(has.sum())))))
    coefficients = {name: np.vstack(blocks) for name, blocks in parts.items()}
    ids = _sum_ids(len(next(iter(coefficients.values()))))
    summed = kernels.view_kernels_.sum_samples(coefficients, ids)
    return PatternWeights(summed, patterns, np.array(offsets))


def _score_combined(combine: CombineKernels, coefficients: Array, offset: float) -> Any:
    """A score of complete rows of unit length: a combination of their combined kernel values."""

    def score(rows: KernelViews) -> Array:
        combined = sum(
            w * np.asarray(rows.block(n)) for n, w in zip(rows.names, combine.weights_, strict=True)
        )
        total = float(np.sum(combine.weights_))  # a row's own value, the kernels being of unit diagonal
        return (combined @ (coefficients * combine._column_root) / total**0.5 + offset)[:, None]

    return score


# ---------------------------------------------------------------------------------- machines on kernels


def _sum_kernels(model: Any, coefficients: dict[str, Array], ids: Array) -> KernelPipeline:
    """Kernels with the sums of training samples that have these coefficients, sums x samples, by view."""
    _check_features(model)
    view_kernels = model._kernels.view_kernels_.sum_samples(coefficients, ids)
    summed: KernelPipeline = copy_with(model._kernels, view_kernels_=view_kernels)
    return summed


def _sum_views(model: Any, coefficients: Sequence[Array | None]) -> KernelPipeline:
    """The same with one sum for each view, of the samples that have it; None: of nobody."""
    train = model._kernels.view_kernels_._train
    parts = zip(train.names, train.observed.sum(axis=0).tolist(), coefficients, strict=True)
    by_view = {name: np.zeros((1, n)) if part is None else part[None] for name, n, part in parts}
    return _sum_kernels(model, by_view, _sum_ids(1))


def _check_features(model: Any) -> None:
    if model._coding is None:
        raise ValueError("it was learned from kernels, whose columns are training samples; give features")
    if model._kernels.presence_name_ is not None:
        raise ValueError("who has which view counts in it as a kernel of training samples; presence=False")


def _spread(model: Any, coefficients: Array) -> dict[str, Array]:
    """Coefficients of all training samples, sums x samples, for those that have each view."""
    train = model._kernels.view_kernels_._train
    return {name: coefficients[:, has] for name, has in zip(train.names, train.observed.T, strict=True)}


@_export.register
def _export_classifier(model: AbsentClassifier) -> Any:
    machine = model._machine
    if not isinstance(machine, KernelLogistic):
        raise ValueError("a support vector machine rests on few samples; take machine='logistic'")
    n, ids = len(machine.bias_), _sum_ids(len(machine.bias_))
    if model._kernels.completer_ is not None:
        weights = _weigh_patterns(model, machine._raw_scores)
        return _strip(model, _kernels=weights, _machine=GivenScores())
    kernels = _sum_kernels(model, _spread(model, machine.dual_coef_), ids)
    summed = copy_with(
        machine,
        ids_=ids,
        n_features_in_=n,
        _widths=(n,),
        dual_coef_=np.eye(n),
        support_=_NOBODY,
        usable_=np.ones(n, dtype=bool),
        _observed=np.ones((n, len(machine.names_in_)), dtype=bool),
    )
    return _strip(model, _kernels=kernels, _machine=summed)


def _sum_combined(combine: Any) -> Any:
    """The sum of kernels with one sum of training samples, which has no length to be divided by."""
    return copy_with(combine, ids_=_sum_ids(1), _column_root=np.ones(1))


def _sum_ridge(ridge: Ridge) -> tuple[Ridge, Array]:
    """The regression on one sum of its training samples, and their coefficients in it."""
    total = float(ridge.coef.sum())
    offset = total * float(ridge.columns @ ridge.weight) - float(ridge.columns @ ridge.coef)
    nothing = np.zeros(1)
    summed = ridge._replace(
        coef=np.ones(1), mean=ridge.mean + offset, weight=nothing, columns=nothing, loo=np.zeros(0)
    )
    return summed, ridge.coef - total * ridge.weight


@_export.register
def _export_regressor(model: AbsentRegressor) -> Any:
    machine, ids = model._machine, _sum_ids(1)
    if isinstance(machine, Ridge):
        summed, coefficients = _sum_ridge(machine)
        if model._kernels.completer_ is not None:
            score = _score_combined(model._sum, coefficients, summed.mean - model._prior)
            weights = _weigh_patterns(model, score)
            return _strip(_forget(model, "_sum"), _kernels=weights, _machine=GivenScores(), _scale=1.0)
        spread = _spread(model, (coefficients * model._sum._column_root)[None])
        kernels = _sum_kernels(model, spread, ids)
        return _strip(model, _kernels=kernels, _machine=summed, _sum=_sum_combined(model._sum))
    if not isinstance(machine, FusedRidge):
        raise ValueError(
            "a support vector machine rests on few samples; take combine='average' or 'fusion'"
        )
    parts = [ridge and _sum_ridge(ridge) for ridge in machine.ridges]
    fused = machine._replace(ridges=tuple(part and part[0] for part in parts), loo=np.zeros(0))
    return _strip(model, _kernels=_sum_views(model, [part and part[1] for part in parts]), _machine=fused)


def _sum_cox(cox: Cox) -> Cox:
    times, hazard = _thin_steps(cox.times, cox.hazard)
    return cox._replace(coef=np.ones(1), times=times, hazard=hazard)


@_export.register
def _export_survival(model: AbsentSurvival) -> Any:
    machine, ids = model._model, _sum_ids(1)
    if isinstance(machine, Averaged):
        combine = machine.combine
        if model._kernels.completer_ is not None:
            score = _score_combined(combine, machine.cox.coef, -machine.cox.shift)
            return _strip(model, _kernels=_weigh_patterns(model, score), _model=GivenScores())
        kernels = _sum_kernels(model, _spread(model, (machine.cox.coef * combine._column_root)[None]), ids)
        averaged = Averaged(_sum_combined(combine), _sum_cox(machine.cox), np.zeros(0))
        return _strip(model, _kernels=kernels, _model=averaged)
    models = tuple(cox and _sum_cox(cox) for cox in machine.models)
    times, hazard = _thin_steps(machine.times, machine.hazard)
    fused = machine._replace(models=models, times=times, hazard=hazard, held_out=np.zeros(0))
    kernels = _sum_views(model, [cox and cox.coef for cox in machine.models])
    return _strip(model, _kernels=kernels, _model=fused)
