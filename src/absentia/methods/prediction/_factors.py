"""Models of very many samples, on factors of their views' kernels: all side by side, and each view alone.

    Views --ViewKernels--> factors Phi_v (samples x landmarks) --sums over blocks of samples--> weights

Two members are averaged, by what they say of samples left out (as in ``_auto``): one on the factors of all
views side by side, absent ones zero and samples with few views as long as others, and the mean of one model
for each view, of the samples that have it.  Both are linear in the factors, so that a model is landmarks
and weights, however many samples it was learned from, and new samples need nothing but their own chunk.
Nothing is n x n; features may stay in chunks (``Views.from_parquet``), in training as in prediction.

Cox regression is that of ``_cox``, ties as Breslow has them.  Its penalty is that of the least partial
likelihood of log-risks that samples get without themselves.  With the cumulative hazard held where it is,
the likelihood is a sum over samples, ``h_i - event_i`` is the slope and ``h_i`` the curvature of sample i
by its log-risk, and leaving it out is what it is in logistic regression (``learning/_logistic``), but for
terms of second order and the share that one sample has in the hazard.
"""

from collections.abc import Callable, Mapping, Sequence
from dataclasses import KW_ONLY, dataclass, replace
from typing import Any, Literal, NamedTuple, Self

import numpy as np
from sklearn.base import clone

from absentia.core import Array, Positive, copy_with, estimator, limit_threads, serializable
from absentia.core.linalg import inverse_sqrt
from absentia.core.optimize import Solution
from absentia.data import ChunkedTable, Coding, KernelViews, Views, number_groups, order_for_learning
from absentia.data.survival import Survival
from absentia.kernels import ViewKernels
from absentia.methods.learning import (
    Axes,
    Classifier,
    DesignMatrix,
    FactorTable,
    Learner,
    NewtonPoint,
    Regressor,
    SurvivalModel,
    fit_logistic,
    fit_ridge,
    leave_out_scores,
    log_loss,
    scatter_rows,
    select_strength,
    to_probabilities,
)
from absentia.methods.prediction._auto import SHARPNESS, MemberWeights
from absentia.methods.prediction._composite import check_per_view, restrict_kernel
from absentia.methods.prediction._cox import PartialLikelihood, fit_coefficients
from absentia.methods.prediction._survival import to_log_hazards

Compute = Callable[[str, ChunkedTable], Array]  # of a view and its scores in chunks: these as an array
_MIN_CLASS_SIZE = 3  # samples of a class that a view must have to learn it
_MIN_SAMPLES = 5  # with a view, to learn numbers from it alone
_MEMBERS = ("side by side", "by view")


@serializable
class LinearModel(NamedTuple):
    """A linear model on the factors of some views."""

    coef: tuple[Array, ...]  # by view, factors x outputs
    bias: Array  # (outputs,)
    known: Array  # classes that it tells apart, as positions among all

    @classmethod
    def split(cls, table: FactorTable, coef: Array, bias: Any, known: Array) -> Any:
        """Weights of factors side by side as those of each view."""
        ends = np.cumsum([Phi.shape[1] for Phi in table.factors])[:-1]
        return cls(tuple(np.split(coef, ends)), np.atleast_1d(bias), known)

    def rescale(self, factor: float) -> Any:
        """The model whose scores are so many times as large."""
        return self._replace(coef=tuple(factor * part for part in self.coef), bias=factor * self.bias)


@dataclass(frozen=True)
class _ViewScores:
    """A step that makes scores of a view's features: factors, times weights."""

    factors: Any
    coef: Array

    def __call__(self, X: Array) -> Array:
        if not X.shape[0]:
            return np.zeros((0, self.coef.shape[1]))
        return np.asarray(self.factors.transform(X) @ self.coef)


class _Identity:
    """Factors that are there already."""

    def transform(self, X: Array) -> Array:
        return X


class FactorModel(MemberWeights, Learner):
    """What models on factors share: factors of training samples, their members, and scores of new ones.

    A derived class says what it learns of a table of factors (:meth:`_fit_table`).
    """

    kernel: Any
    per_view: bool
    _takes = "views"
    _maps: dict[str, Any]  # by view, what makes factors
    _together: LinearModel
    _alone: dict[str, LinearModel | None]  # by view; None: it could not be learned from

    def _fit_table(
        self, table: FactorTable, y: Array, weight: Array, groups: Array | None, first: bool
    ) -> tuple[LinearModel | None, Any]:
        """A model, None if nothing can be learned, and what it says of samples left out, rows x outputs."""
        raise NotImplementedError

    @property
    def _member_names(self) -> tuple[str, ...]:
        return _MEMBERS[: 1 + self.per_view]

    def _make_factors(self, X: Views) -> KernelViews:
        """Kernels by factors; what makes factors of new samples is kept, without those of training."""
        kernel = restrict_kernel(self.kernel, X.names)
        kernels = clone(kernel) if isinstance(kernel, ViewKernels) else ViewKernels(kernel)
        if kernels.approx in ("auto", None):
            kernels.set_params(approx="nystrom")
        K: KernelViews = kernels.fit_transform(X)
        self._maps = {name: kernels.factor_map(name) for name in X.names}
        return K

    def _fit_members(self, X: Views, y: Array, weight: Array, prior: Array) -> tuple[Array, Array]:
        """Positions of the samples that count, and what the members say of them once they are left out.

        The latter are members x samples x outputs; a sample none of whose views could be learned from has
        the `prior`.
        """
        check_per_view(self.kernel, X.names)
        counted = np.flatnonzero(weight > 0)
        part = X if len(counted) == len(X) else X[counted]
        had = part.observed.any(axis=0)
        K = self._make_factors(part if had.all() else part.select(np.array(X.names)[had].tolist()))
        views, order = order_for_learning(K, y[counted], weight[counted])
        samples = counted[order]
        length = _unit_length(K.observed[order])
        left_out, seen = np.zeros((2, len(order), len(prior))), np.zeros((len(order), 1))
        parts = [(views, np.arange(len(order)))]
        alone = enumerate(views) if self.per_view else ()
        parts += [(views[[k]], np.flatnonzero(K.observed[order, v])) for k, v in alone]
        models = []
        for place, (some, rows) in enumerate(parts):
            table = FactorTable.of(K, some, order[rows], np.ones(len(rows)) if place else length)
            groups = None if K.groups is None else K.groups[order[rows]]
            who = samples[rows]
            with limit_threads(1, len(rows)):  # blocks are too small for two: these take twice the CPU time
                model, values = self._fit_table(table, y[who], weight[who], groups, first=not place)
            models.append(model)
            if model is not None:
                left_out[min(place, 1), rows] += values
                seen[rows] += place > 0
        left_out[1] = np.where(seen > 0, left_out[1] / np.maximum(seen, 1), prior)
        assert models[0] is not None
        self._together = models[0]
        self._alone = dict.fromkeys(K.names[v] for v in views)
        self._alone |= dict(zip(self._alone, models[1:], strict=False))
        return samples, left_out[: 1 + self.per_view]

    def _scores(self, X: Views) -> tuple[Array, dict[str, Array]]:
        """Scores of samples side by side, rows x outputs, and by view, of the rows that have it."""
        width = len(self._together.bias)
        total, alone = np.zeros((len(X), width)), {}
        for name, model in self._alone.items():
            scores = self._view_scores(X, name)
            total[X.observed[:, X.names.index(name)]] += scores[:, :width]
            if model is not None:
                alone[name] = scores[:, width:] + model.bias
        length = _unit_length(X.select(list(self._alone)).observed)
        return total * length[:, None] + self._together.bias, alone

    def _view_scores(
        self, X: Views, name: str, compute: Compute = lambda _, table: table.compute()
    ) -> Array:
        """Scores of both members, side by side, of the rows that have a view."""
        place, model = list(self._alone).index(name), self._alone[name]
        coef = np.hstack([self._together.coef[place], *([] if model is None else model.coef)])
        step, block = _ViewScores(self._maps[name], coef), X.block(name)
        if isinstance(block, ChunkedTable):
            return np.asarray(compute(name, block.apply(step, coef.shape[1], np.float64)))
        return step(block)

    def condense(self, X: Views, compute: Compute = lambda _, table: table.compute()) -> tuple[Self, Views]:
        """A model and views that say the same with scores instead of features, which are read once.

        Parameters
        ----------
        X : Views
            New samples, whose features may be in chunks; those that come back are in memory.
        compute : callable
            Makes an array of a view's name and its scores, which are in chunks as the features are.
        """
        X = self._check_rows(X)
        width, together, alone = len(self._together.bias), [], {}
        counts = dict(zip(X.names, X.observed.sum(axis=0).tolist(), strict=True))
        blocks = {name: np.zeros((count, 1)) for name, count in counts.items()}  # of views without a model
        blocks |= {name: self._view_scores(X, name, compute) for name in self._alone}
        for name, model in self._alone.items():
            size = blocks[name].shape[1]
            together.append(np.eye(size, width))
            alone[name] = model and model._replace(coef=(np.eye(size, size - width, -width),))
        names: dict[str, Any] = dict.fromkeys(blocks)
        scored = replace(X, _blocks=blocks, _features=names, _levels={name: {} for name in blocks})
        condensed = copy_with(
            self,
            _maps=dict.fromkeys(self._maps, _Identity()),
            _together=self._together._replace(coef=tuple(together)),
            _alone=alone,
            _coding=Coding.learn(scored),
            _widths=tuple(block.shape[1] for block in blocks.values()),
        )
        return condensed, scored

    def _average(self, X: Views, together: Array, alone: Mapping[str, Array], prior: Any) -> Array:
        """The members averaged, rows x outputs; `alone` is by view, of the rows that have it."""
        total, seen = np.zeros(together.shape), np.zeros((len(X), 1))
        for name, values in alone.items():
            has = X.observed[:, X.names.index(name)]
            total[has] += values
            seen[has] += 1
        by_view = np.where(seen > 0, total / np.maximum(seen, 1), prior)
        weights = [row["weight"] for row in self.candidates_.values()]
        return np.asarray(weights[0] * together + sum(weights[1:]) * by_view)


def _unit_length(observed: Array) -> Array:
    """What factors side by side are multiplied by: samples with few views are as long as others."""
    return np.asarray(inverse_sqrt(observed.sum(axis=1).astype(np.float64)))


@estimator
class FactorLogistic(FactorModel, Classifier):
    """Logistic regression on factors of the views' kernels, from sums over blocks of samples.

    Takes :class:`Views`, whose features may stay in chunks.  Two members are averaged by what they say of
    samples left out: all views side by side, and the mean of one model per view.  What is kept is landmarks
    and weights, however many samples there were.

    Parameters
    ----------
    kernel : str or ViewKernels, default "rbf"
        Of every view; given by factors in any case (``approx="nystrom"`` unless it says ``"rff"``).
    C : float or "cv", default "cv"
        Weight of the training errors; ``"cv"`` selects it by the log-loss of samples that are left out one
        at a time, in closed form.
    decision : {"balanced", "accuracy"}, dict of dicts or DataFrame, default "balanced"
        As in :class:`AutoClassifier`.
    class_weight : dict, "balanced" or None
        Factor on the samples' weights by class.
    per_view : bool, default True
        Whether there is the second member, one model per view.

    Attributes
    ----------
    C_ : float
        Of the model side by side.
    candidates_ : dict
        By member: ``loss``, the log-loss of samples left out, and ``weight``.
    loo_proba_ : ndarray of shape (n_samples, n_classes)
        Probabilities of each training sample once it is left out; NaN for samples without a view or weight.
    sentence_, classes_, decision_, names_in_, ids_

    Examples
    --------
    >>> from absentia import FactorLogistic, datasets, missingness
    >>> views, y = datasets.load_digit_views(n_samples=60, return_X_y=True)
    >>> views = views.hide(missingness.mcar(views, 0.3, random_state=0))
    >>> FactorLogistic().fit(views[:40], y[:40] < 5).predict_proba(views[40:]).shape
    (20, 2)
    """

    kernel: Any = "rbf"
    _: KW_ONLY
    C: Positive | Literal["cv"] = "cv"
    decision: Any = "balanced"
    class_weight: Any = None
    per_view: bool = True

    _native_probabilities = True
    _sharpness = SHARPNESS

    def _learn(self, X: Views, y: Array, weight: Array) -> None:
        samples, left_out = self._fit_members(X, y, weight, self._frequencies)
        losses = [log_loss(np.maximum(proba, 1e-4), y[samples], weight[samples]) for proba in left_out]
        share = self._set_weights(losses, "loss", losses)
        self.loo_proba_ = scatter_rows(np.tensordot(share, left_out, 1), samples, len(X))

    def _fit_table(
        self, table: FactorTable, y: Array, weight: Array, groups: Array | None, first: bool
    ) -> tuple[LinearModel | None, Array | None]:
        counts = np.bincount(y, minlength=len(self.classes_))
        known = np.flatnonzero(counts >= (1 if first else _MIN_CLASS_SIZE))
        if len(known) < 2:
            return None, None
        rows = np.flatnonzero(np.isin(y, known))
        part = table.select(rows)
        axes = Axes.of_rows(part.read, len(rows), part.dtype)
        C = None if isinstance(self.C, str) else float(self.C)
        codes, groups = np.searchsorted(known, y[rows]), None if groups is None else groups[rows]
        fit = fit_logistic(axes, codes, weight[rows], len(known), C, groups)
        if first:
            self.C_ = fit.C
        proba = np.tile(self._frequencies, (len(y), 1))
        proba[rows] = self._of_all_classes(known, fit.loo_proba)
        return LinearModel.split(table, fit.coef, fit.intercept, known), proba

    def _of_all_classes(self, known: Array, proba: Array) -> Array:
        """Probabilities of all classes out of those that a view knows; others keep their frequency."""
        full = np.tile(self._frequencies, (len(proba), 1))
        full[:, known] = proba * self._frequencies[known].sum()
        return full

    def _predict_proba(self, X: Views) -> Array:
        scores, alone = self._scores(X)
        by_view = {
            name: self._of_all_classes(self._alone[name].known, to_probabilities(values))  # type: ignore[union-attr]
            for name, values in alone.items()
        }
        return self._average(X, to_probabilities(scores), by_view, self._frequencies)


@estimator
class FactorRidge(FactorModel, Regressor):
    """Ridge regression on factors of the views' kernels, from sums over blocks of samples.

    Takes :class:`Views`, whose features may stay in chunks; members as in :class:`FactorLogistic`.

    Parameters
    ----------
    kernel : str or ViewKernels, default "rbf"
        As in :class:`FactorLogistic`.
    alpha : float or "cv", default "cv"
        Penalty, factors having rows of unit mean square; "cv" selects it by leaving out each sample.
    per_view : bool, default True
        As in :class:`FactorLogistic`.

    Attributes
    ----------
    alpha_ : float
        Of the model side by side.
    candidates_ : dict
        By member: ``R2`` of samples left out, and ``weight``.
    loo_predictions_ : ndarray of shape (n_samples,)
        What is predicted of each training sample once it is left out; NaN for samples without a view.
    sentence_, names_in_, ids_

    Examples
    --------
    >>> from absentia import FactorRidge, datasets
    >>> views, y = datasets.load_digit_views(n_samples=60, return_X_y=True)
    >>> FactorRidge().fit(views, y).predict(views).shape
    (60,)
    """

    kernel: Any = "rbf"
    _: KW_ONLY
    alpha: Positive | Literal["cv"] = "cv"
    per_view: bool = True

    def _learn(self, X: Views, y: Array, weight: Array) -> None:
        mean = np.average(y, weights=weight)
        samples, left_out = self._fit_members(X, y, weight, np.array([mean]))
        together = self._average_numbers(left_out[:, :, 0], y[samples], weight[samples])
        self.loo_predictions_ = scatter_rows(together, samples, len(X))

    def _fit_table(
        self, table: FactorTable, y: Array, weight: Array, groups: Array | None, first: bool
    ) -> tuple[LinearModel | None, Array | None]:
        if len(y) < _MIN_SAMPLES and not first:
            return None, None
        axes = Axes.of_rows(table.read, len(y), table.dtype)
        fit = fit_ridge(axes, y, weight, None if isinstance(self.alpha, str) else self.alpha, groups)
        if first:
            self.alpha_ = fit.alpha
        model = LinearModel.split(table, fit.coef[:, None], fit.bias, np.zeros(0, dtype=int))
        return model, fit.loo[:, None]

    def _predict(self, X: Views) -> Array:
        return self._average(X, *self._scores(X), self._prior)[:, 0]


_MIN_EVENTS = 2  # of samples with a view, to learn from it alone


class CoxFit(NamedTuple):
    """Weights along the axes (d,), the penalty, and log-risks of rows left out (n,)."""

    coef: Array
    alpha: float
    loo: Array


class _Rows(NamedTuple):
    """What is learned from: rows along their axes, times and events, and groups that are left out whole."""

    Z: Array
    likelihood: PartialLikelihood
    groups: Array | None

    def solve(self, C: float, start: Sequence[Array]) -> list[Solution[NewtonPoint]]:
        """The weights of penalty 1 / C."""
        return [fit_coefficients(self.Z, self.likelihood, 1 / C, start[0])]

    def leave_one_out(self, solutions: Sequence[Solution[NewtonPoint]]) -> tuple[Array, float]:
        """Log-risks of every row without it, or its group, and their negative likelihood per event."""
        found, A = solutions[0].state, DesignMatrix(self.Z, constant=False)
        f = A.times(found.w)
        g, h = self.likelihood.derivatives(f)
        risk = leave_out_scores(A, f, g, h, found.factor, self.groups)
        return risk, self.likelihood.loss(risk) / self.likelihood.counts.sum()


def fit_factor_cox(
    Z: Array, y: Survival, alpha: float | None = None, groups: Array | None = None
) -> CoxFit:
    """Cox regression on rows (n, d) of mean zero; without `alpha`, the best for rows left out."""
    rows = _Rows(Z, PartialLikelihood.of(y), number_groups(groups))
    start: Sequence[Array] = [np.zeros(Z.shape[1])]
    C = None if alpha is None else 1 / alpha
    if C is None:
        C, start, _ = select_strength(rows, start)
    solutions = rows.solve(C, start)
    return CoxFit(solutions[0].state.w, 1 / C, rows.leave_one_out(solutions)[0])


@estimator
class FactorCox(FactorModel, SurvivalModel):
    """Ridge Cox regression on factors of the views' kernels, from sums over blocks of samples.

    Takes :class:`Views`, whose features may stay in chunks; members as in :class:`FactorLogistic`, risks of
    each made log-hazards by a Cox model of one coefficient on what it says of samples left out.

    Parameters
    ----------
    kernel : str or ViewKernels, default "rbf"
        As in :class:`FactorLogistic`.
    alpha : float or "cv", default "cv"
        Penalty, factors having rows of unit mean square; "cv" selects it by the partial likelihood of
        samples that are left out one at a time, in closed form.
    per_view : bool, default True
        As in :class:`FactorLogistic`.

    Attributes
    ----------
    alpha_ : float
        Of the model side by side.
    candidates_ : dict
        By member: ``loss``, the negative partial likelihood per event of samples left out, and ``weight``.
    held_out_risks_ : ndarray of shape (n_samples,)
        Log-risks of the training samples, each left out; NaN for samples without a view.
    event_times_ : ndarray
        Times at which something happened in training.
    sentence_, names_in_, ids_

    Examples
    --------
    >>> import numpy as np
    >>> from absentia import FactorCox, Views
    >>> rng = np.random.default_rng(0)
    >>> x = rng.normal(size=(60, 3))
    >>> views = Views.from_list([x, x**2], observed=np.arange(60)[:, None] < [60, 40])
    >>> y = np.column_stack([rng.exponential(np.exp(-2 * x[:, 0])), rng.random(60) < 0.7])
    >>> FactorCox().fit(views, y).predict(views[:2]).shape
    (2,)
    """

    kernel: Any = "rbf"
    _: KW_ONLY
    alpha: Positive | Literal["cv"] = "cv"
    per_view: bool = True

    def _learn(self, X: Views, y: Survival, weight: Array) -> None:
        samples, left_out = self._fit_members(X, y.to_array(), weight, np.zeros(1))
        y = Survival(y.time[samples], y.event[samples])
        slopes, together = self._average_risks(left_out[:, :, 0], y, "loss")
        self._together = self._together.rescale(slopes[0])
        self._alone = {name: model and model.rescale(slopes[-1]) for name, model in self._alone.items()}
        self.held_out_risks_ = scatter_rows(together, samples, len(X))

    def _fit_table(
        self, table: FactorTable, y: Array, weight: Array, groups: Array | None, first: bool
    ) -> tuple[LinearModel | None, Array | None]:
        if y["event"].sum() < _MIN_EVENTS and not first:
            return None, None
        axes = Axes.of_rows(table.read, len(y), table.dtype)
        alpha = None if isinstance(self.alpha, str) else float(self.alpha)
        target = Survival(y["time"], y["event"])
        fit = fit_factor_cox(axes.Z, target, alpha, groups)
        if first:
            self.alpha_ = fit.alpha
        coef = axes.back @ fit.coef
        model = LinearModel.split(table, coef[:, None], -axes.center @ coef, np.zeros(0, dtype=int))
        slope = 1.0 if first else to_log_hazards(fit.loo, target)[0]  # views are averaged as log-hazards
        return model.rescale(slope), slope * fit.loo[:, None]

    def _predict(self, X: Views) -> Array:
        return self._average(X, *self._scores(X), 0.0)[:, 0]
