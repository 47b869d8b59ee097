"""The defaults: few members of different kinds, and the average of what they predict.

Each member says what it predicts of every training sample once that is left out (logistic and ridge
regression in closed form, forests out of bag, Cox regression and others in folds; of samples in groups the
whole group is left out, and forests are held out in folds too).  With ``loss_m`` the
log-loss of these predictions,

    w_m  proportional to  exp(-s loss_m),      s = 40 for classes, 20 for numbers and survival times :

equals count alike, one that is clearly worse counts next to nothing, nothing is dropped, and there is no
choice that a few samples could turn.  The samples by which somebody will judge the result are never seen.

========  =========================  =====================================================================
task      what is averaged           log-loss of samples left out
========  =========================  =====================================================================
classes   probabilities              mean of ``-log p`` of the true class
numbers   predictions                ``log(1 - R2) / 2``: that of normal errors, but for a constant
survival  log-hazards                negative log partial likelihood, per event
========  =========================  =====================================================================

Probabilities are honest ones; the decision between classes is made by weights or costs (`decision`).

Of survival times a member's risks are made log-hazards before they are averaged: multiplied by the slope of
a Cox model of one coefficient on its risks out of fold.  What it says out of fold beyond chance decides its
slope, and its weight goes by the partial likelihood of these log-hazards.  The average is brought to the
scale of log-hazards once more, in the same way.
"""

import warnings
from collections.abc import Iterable, Mapping
from dataclasses import KW_ONLY
from typing import Any, ClassVar

import numpy as np
from sklearn.base import clone

from absentia.core import Array, RandomState, estimator, make_callback, warn
from absentia.core.optimize import Callback, Progress
from absentia.data import MANY_SAMPLES, KernelViews, count_fewest, count_groups, make_folds, show_id
from absentia.data.survival import Survival
from absentia.kernels import ViewKernels
from absentia.methods import catalogue
from absentia.methods.catalogue import Family
from absentia.methods.learning import Learner, Regressor, SurvivalModel, log_loss, scatter_rows, subset
from absentia.methods.prediction._composite import (
    Composite,
    CompositeClassifier,
    decide_approximation,
    restrict_kernel,
    without_landmarks,
)
from absentia.methods.prediction._cox import PartialLikelihood
from absentia.methods.prediction._survival import concordance, to_log_hazards

_CLASSES = ("linear", "cvkt-linear", "cvkt-rbf", "zero-rbf", "fusion-linear", "fusion-rbf")
_NUMBERS = tuple(f"ridge-{way}-{kernel}" for way in ("cvkt", "fusion") for kernel in ("linear", "rbf"))
_NUMBERS = ("linear-regression", *_NUMBERS)
_RISKS = tuple(f"cox-{way}-{kernel}" for way in ("cvkt", "fusion") for kernel in ("linear", "rbf"))
_RISKS = ("linear-cox", *_RISKS)
#: Names of the catalogue, of different kinds, that are averaged on features and on kernels, by family.
LIBRARY: dict[str, dict[str, tuple[str, ...]]] = {
    "classifier": {
        "features": _CLASSES,
        "kernels": ("completed", "fusion"),
        "many": ("linear", "fusion-linear", "fusion-rbf"),  # linear in the samples
        "no-rows": _CLASSES,
        "chunked": ("factors",),
    },
    "regressor": {
        "features": (*_NUMBERS, "forest-regression"),
        "kernels": ("ridge", "ridge-fusion"),
        "many": ("linear-regression", "boosting-regression"),
        "no-rows": _NUMBERS,
        "chunked": ("factors-ridge",),
    },
    "survival": {
        "features": _RISKS,
        "kernels": ("cox", "cox-fusion"),
        "no-rows": _RISKS,
        "chunked": ("factors-cox",),
    },
}
MAX_VIEWS = 6  # that are completed without training samples: there are 63 sets of them
FOLDS = 5  # in which members are held out that do not tell what they say of samples left out
_MIN_CLASS_SIZE = 3
_MIN_ERROR = 1e-4  # share of the variance: who explains more is an equal of all who do
SHARPNESS = 40.0  # what benchmarks/predict_regret.py settles on, whichever set is left out


class MemberWeights:
    """Base of averages of members, which count by what they say of samples left out."""

    candidates_: dict[str, dict[str, float]]
    sentence_: str
    event_times_: Array  # of models of survival
    _hazard: Array
    _sharpness: ClassVar[float] = 20.0

    @property
    def _member_names(self) -> Iterable[str]:
        raise NotImplementedError

    def _set_weights(self, losses: Any, measure: str, values: Any) -> Array:
        """Weights of the members by their losses; tables of them have a `measure` that people read."""
        losses = np.asarray(losses)
        share = np.exp(-self._sharpness * (losses - losses.min()))
        share /= share.sum()
        rows = zip(self._member_names, values, share.tolist(), strict=True)
        self.candidates_ = {name: {measure: float(x), "weight": weight} for name, x, weight in rows}
        self.sentence_ = describe_weights({name: row["weight"] for name, row in self.candidates_.items()})
        return np.asarray(share)

    def _average_numbers(self, left_out: Array, y: Array, weight: Array) -> Array:
        """The average of what members say of samples left out (members, n), by what it explains of `y`."""
        variance = float(np.average((y - np.average(y, weights=weight)) ** 2, weights=weight))
        errors = np.average((left_out - y) ** 2, axis=1, weights=weight)
        unexplained = errors / variance if variance > 0 else np.ones(len(errors))
        losses = np.log(np.maximum(unexplained, _MIN_ERROR)) / 2
        return np.asarray(self._set_weights(losses, "R2", 1 - unexplained) @ left_out)

    def _average_risks(self, risks: Array, y: Survival, measure: str) -> tuple[Array, Array]:
        """By member what makes log-hazards of its risks (members, n) of samples left out; their average.

        Sets the hazards of a sample with log-hazard zero, too.
        """
        likelihood = PartialLikelihood.of(y)
        slopes = np.array([to_log_hazards(risk, y)[0] for risk in risks])
        risks = slopes[:, None] * risks
        losses = np.array([likelihood.loss(risk) for risk in risks]) / y.event.sum()
        values = losses if measure == "loss" else [concordance(y, risk) for risk in risks]
        together = self._set_weights(losses, measure, values) @ risks
        slope, self.event_times_, self._hazard = to_log_hazards(together, y)
        return slope * slopes, slope * together


class WeightedMembers(MemberWeights, Composite):
    """Base of the defaults: members by name, and their weights by what they say of samples left out."""

    candidates: Any
    random_state: Any
    estimators_: dict[str, Any]
    weights_by_candidate_: dict[str, float]
    _family: ClassVar[Family]
    _left_out_attribute: ClassVar[
        str
    ]  # the attribute in which members tell what they say of samples left out
    _member_options: ClassVar[dict[str, Any]] = {}  # parameters of members by name that have them

    @property
    def _member_names(self) -> Iterable[str]:
        return self.estimators_

    def _set_weights(self, losses: Any, measure: str, values: Any) -> Array:
        share = super()._set_weights(losses, measure, values)
        self.weights_by_candidate_ = dict(zip(self.estimators_, share.tolist(), strict=True))
        return share

    def _fit_member(self, member: Any, X: Any, y: Array, weight: Array) -> Any:
        return member.fit(X, y, sample_weight=weight)

    def _predict_member(self, fitted: Any, X: Any) -> Array:
        """What a fitted member says of samples, to be averaged."""
        return np.asarray(fitted.predict(X))

    def _strata(self, y: Array) -> Array:
        """A whole number for each sample; folds have the same share of each."""
        return y

    def _fit_members(self, X: Any, y: Array, weight: Array) -> Array:
        """Fit them all; what each says of training samples left out, members x samples (x classes)."""
        library = self._library(X)
        report = make_callback(self) or (lambda progress: False)
        self.estimators_, left_out = {}, []
        for number, (name, member) in enumerate(library.items(), start=1):
            fitted = clone(member)
            if isinstance(fitted, Composite):  # it would come to the same order
                fitted._comes_ordered = True
            self.estimators_[name] = self._fit_member(fitted, X, y, weight)
            loo = getattr(fitted, self._left_out_attribute, None)
            has_loo = loo is not None and np.isfinite(loo).all()
            left_out.append(loo if has_loo else self._hold_out(member, X, y, weight))
            report(Progress(number, 0.0, 0.0, len(library)))
        return np.array(left_out)

    def _hold_out(self, member: Any, X: Any, y: Array, weight: Array) -> Array:
        """What a member says of the training samples if it has not seen them, in folds."""
        strata = self._strata(y)
        n_folds = max(2, min(FOLDS, count_fewest(strata, X.groups)))
        values: list[Any] = [None] * len(y)
        with warnings.catch_warnings(action="ignore"):  # the fit to all samples says what is to be said
            for a, b in make_folds(np.arange(len(y)), strata, n_folds, groups=X.groups):
                part = self._fit_member(clone(member), subset(X, a, a), y[a], weight[a])
                for place, value in zip(b, self._predict_member(part, subset(X, b, a)), strict=True):
                    values[place] = value
        return np.array(values)

    def _add_up(self, X: Any, factors: Mapping[str, float]) -> Array:
        """What the members say of new samples, each times its factor, added up."""
        with warnings.catch_warnings(record=True) as caught:  # members warn of the same columns
            warnings.simplefilter("always")
            parts = [
                factor * self._predict_member(self.estimators_[name], X) for name, factor in factors.items()
            ]
        for sentence, kind in dict.fromkeys((str(w.message), w.category) for w in caught):
            warn(sentence, kind)
        return np.asarray(sum(parts))

    def _library(self, X: Any) -> dict[str, Any]:
        given = self.candidates
        if isinstance(given, str) and given == "auto":
            library = LIBRARY[self._family]
            many = "many" if len(X) > MANY_SAMPLES and "many" in library else "features"
            many = "chunked" if getattr(X, "chunked", False) and "chunked" in library else many
            given = library["kernels" if isinstance(X, KernelViews) else many]
        if isinstance(given, str) and given == "no-rows":
            return self._library_without_rows(X)
        if isinstance(given, Mapping):
            return {str(name): clone(candidate) for name, candidate in given.items()}
        if isinstance(given, str) or not all(isinstance(name, str) for name in given) or not len(given):
            raise ValueError(
                f"{type(self).__name__}: candidates must be 'auto', 'no-rows', names or a dict, "
                f"not {given!r}"
            )
        kernel = decide_approximation(restrict_kernel(self.kernel, X.names), X)
        return {name: self._make_candidate(name, kernel) for name in given}

    def _library_without_rows(self, X: Any) -> dict[str, Any]:
        """Members that need sums of training samples alone (``_export``)."""
        if isinstance(X, KernelViews):
            raise ValueError(
                f"{type(self).__name__}: kernels came, whose columns are training samples; without these "
                "(candidates='no-rows') features are wanted"
            )
        kernel = restrict_kernel(self.kernel, X.names)
        kernel = kernel if isinstance(kernel, ViewKernels) else ViewKernels(kernel)
        names = LIBRARY[self._family]["no-rows"]
        left_out = ["cvkt"] if X.n_views > MAX_VIEWS else []
        left_out += ["cvkt", "fusion-linear"] if len(X) > MANY_SAMPLES else []  # of which kernels are whole
        names = tuple(name for name in names if not any(part in name for part in left_out))
        members = {name: self._make_candidate(name, kernel) for name in names}
        for member in members.values():
            if "kernel" in member.get_params():
                member.set_params(kernel=without_landmarks(member.kernel))
        return members

    def _make_candidate(self, name: str, kernel: Any) -> Learner:
        entry = catalogue.find(name, self._family)
        candidate: Learner = entry.make()
        free = set(candidate.get_params()) - set(entry.fixed)
        options = {"kernel": kernel, "random_state": self.random_state, **self._member_options}
        candidate.set_params(**{key: value for key, value in options.items() if key in free})
        if "kernel" in entry.fixed and isinstance(kernel, ViewKernels):  # logarithms and the like stay
            fourier = kernel.approx == "rff" and entry.fixed["kernel"] != "rbf"  # these are of rbf
            approx = "nystrom" if fourier else kernel.approx
            fixed = {"kernel": entry.fixed["kernel"], "approx": approx}
            candidate.set_params(kernel=clone(kernel).set_params(**fixed))
        return candidate


@estimator
class AutoClassifier(WeightedMembers, CompositeClassifier):
    """Average the probabilities of several kinds of classifiers, by how well they tell samples left out.

    Takes :class:`Views` or square :class:`KernelViews`.  Meant for whoever does not want to know which
    method is best on their data: no member is good everywhere, their average is good almost everywhere.

    Parameters
    ----------
    candidates : "auto", "no-rows", list of names or dict of classifiers, default "auto"
        Names of ``absentia fit --list`` that give probabilities, or classifiers of absentia by name.
        ``"auto"``: logistic regression on all features side by side, on completed linear and rbf kernels,
        on rbf kernels with absent views as zeros, and on each view; of kernels, on completed ones and on
        each; of more than 5000 samples, side by side and on each view, whose kernels are given by factors;
        of features in chunks, :class:`FactorLogistic`.
        ``"no-rows"``: those that :func:`absentia.models.export` can free of training samples.
    kernel : str or ViewKernels, default "rbf"
        Of candidates by name whose kernel is not part of the name; ``"precomputed"`` says that kernels
        will come.
    decision : {"balanced", "accuracy"}, dict of dicts or DataFrame, default "balanced"
        The class of largest probability divided by its mean among samples left out, so that rare classes
        count as much as others; the most probable class; or that of least expected cost, of costs of
        mistakes ``decision[true][predicted]``.  Probabilities themselves are not changed.
    class_weight : dict, "balanced" or None
        Factor on the samples' weights by class.
    random_state : int, Generator, RandomState or None
        Of candidates by name.
    callback, verbose : callable or None, bool
        Gets a :class:`absentia.core.optimize.Progress` after each member; lines on stderr.

    Attributes
    ----------
    candidates_ : dict
        By name: ``loss``, the log-loss of samples left out, and ``weight``.
    weights_by_candidate_ : dict
    sentence_ : str
        The same in words.
    loo_proba_ : ndarray of shape (n_samples, n_classes)
        Average of what the members say of each training sample once it is left out; NaN for samples
        without a view or weight.
    decision_ : ndarray of shape (n_classes,) or (n_classes, n_classes)
        Weights of the classes, or costs of mistakes.
    classes_, names_in_, ids_

    Examples
    --------
    >>> from absentia import AutoClassifier, datasets, missingness
    >>> views, y = datasets.load_digit_views(n_samples=60, return_X_y=True)
    >>> views = views.select(["pixels", "fourier"])
    >>> views = views.hide(missingness.mcar(views, 0.3, random_state=0))
    >>> auto = AutoClassifier(["cvkt-rbf", "fusion"]).fit(views, y < 5)
    >>> sorted(auto.candidates_)
    ['cvkt-rbf', 'fusion']
    """

    candidates: Any = "auto"
    _: KW_ONLY
    kernel: Any = "rbf"
    decision: Any = "balanced"
    class_weight: Any = None
    random_state: RandomState = None
    callback: Callback | None = None
    verbose: bool = False

    _family = "classifier"
    _sharpness = SHARPNESS
    _left_out_attribute = "loo_proba_"
    _member_options: ClassVar[dict[str, Any]] = {"probability": True}

    def _learn_ordered(self, X: Any, y: Array, weight: Array) -> Array:
        self._check_counts(y, X.groups)
        left_out = self._fit_members(X, y, weight)
        losses = np.array([log_loss(np.maximum(proba, 1e-4), y, weight) for proba in left_out])
        return np.tensordot(self._set_weights(losses, "loss", losses), left_out, 1)

    def _check_counts(self, y: Array, groups: Array | None) -> None:
        """Raise if a class has too few samples, or groups, to leave some out."""
        for label, code in zip(self.classes_, self._class_order, strict=True):
            if count_groups(groups, np.flatnonzero(y == code)) == 1:
                raise ValueError(
                    f"AutoClassifier: class {show_id(label)} has samples of one group only; two groups or "
                    "more of every class are wanted, to hold one out"
                )
        counts = np.bincount(y, minlength=len(self.classes_))[self._class_order]
        if counts.min() < _MIN_CLASS_SIZE:
            raise ValueError(
                f"AutoClassifier: class {show_id(self.classes_[counts.argmin()])} has {counts.min()} "
                f"sample(s) with a view to learn from; at least {_MIN_CLASS_SIZE} of every class are "
                "wanted, to hold some out"
            )

    def _predict_member(self, fitted: Any, X: Any) -> Array:
        return np.asarray(fitted.predict_proba(X))

    def _predict_proba_rows(self, X: Any) -> Array:
        return self._add_up(X, self.weights_by_candidate_)


def describe_weights(weights: Mapping[str, float]) -> str:
    """How much each member of an average counts, in words."""
    if len(weights) == 1:
        return f"{next(iter(weights))} alone"
    parts = sorted(weights.items(), key=lambda item: -item[1])
    return "the average of " + ", ".join(f"{name} ({100 * weight:.0f} %)" for name, weight in parts)


@estimator
class AutoRegressor(WeightedMembers, Regressor):
    """Average the predictions of several kinds of regressors, by how well they tell samples left out.

    Takes :class:`Views` or square :class:`KernelViews`.  Meant for whoever does not want to know which
    method is best on their data.

    Parameters
    ----------
    candidates : "auto", "no-rows", list of names or dict of regressors, default "auto"
        Names of ``absentia fit --list``, or regressors of absentia by name.  ``"auto"``: ridge regression
        on all features side by side, on completed linear and rbf kernels and on each view, and a random
        forest of 100 trees; of kernels, ridge regression on completed ones and on each.  ``"no-rows"``:
        those that :func:`absentia.models.export` can free of training samples.
    kernel : str or ViewKernels, default "rbf"
        Of candidates by name whose kernel is not part of the name; ``"precomputed"`` says that kernels
        will come.
    random_state : int, Generator, RandomState or None
        Of candidates by name.
    callback, verbose : callable or None, bool
        Gets a :class:`absentia.core.optimize.Progress` after each member; lines on stderr.

    Attributes
    ----------
    candidates_ : dict
        By name: ``R2``, the share of the targets' variance that is explained of samples left out, and
        ``weight``, proportional to ``(1 - R2) ** -10``.
    weights_by_candidate_ : dict
    sentence_ : str
        The same in words.
    loo_predictions_ : ndarray of shape (n_samples,)
        Average of what the members say of each training sample once it is left out; NaN for samples
        without a view or weight.
    names_in_, ids_

    Examples
    --------
    >>> from absentia import AutoRegressor, datasets, missingness
    >>> views, y = datasets.load_digit_views(n_samples=80, return_X_y=True)
    >>> views = views.hide(missingness.mcar(views, 0.3, random_state=0))
    >>> auto = AutoRegressor(["ridge", "linear-regression"]).fit(views[:60], y[:60])
    >>> sorted(auto.candidates_)
    ['linear-regression', 'ridge']
    """

    candidates: Any = "auto"
    _: KW_ONLY
    kernel: Any = "rbf"
    random_state: RandomState = None
    callback: Callback | None = None
    verbose: bool = False

    _family = "regressor"
    _left_out_attribute = "loo_predictions_"
    _member_options: ClassVar[dict[str, Any]] = {"n_trees": 100}  # one of several takes a fifth of the time

    def _strata(self, y: Array) -> Array:
        """Fifths of the targets."""
        return np.searchsorted(np.quantile(y, [0.2, 0.4, 0.6, 0.8]), y)

    def _learn(self, X: Any, y: Array, weight: Array) -> None:
        train, samples = self._order_training(X, weight, y)
        y, weight = y[samples], weight[samples]
        together = self._average_numbers(self._fit_members(train, y, weight), y, weight)
        self.loo_predictions_ = scatter_rows(together, samples, len(X))

    def _predict(self, X: Any) -> Array:
        return self._predict_rows(X, (), lambda rows: self._add_up(rows, self.weights_by_candidate_))


@estimator
class AutoSurvival(WeightedMembers, SurvivalModel):
    """Average the risks of several kinds of Cox models, by how well they tell samples held out.

    Takes :class:`Views` or square :class:`KernelViews`, and times with events in any form that
    :func:`absentia.survival.as_survival` knows.  Meant for whoever does not want to know which method is
    best on their data.

    Parameters
    ----------
    candidates : "auto", "no-rows", list of names or dict of survival models, default "auto"
        Names of ``absentia fit --list``, or survival models of absentia by name.  ``"auto"``: ridge Cox
        regression on all features side by side, on completed linear and rbf kernels, and on each view; of
        kernels, on completed ones and on each.  ``"no-rows"``: those that :func:`absentia.models.export`
        can free of training samples.
    kernel : str or ViewKernels, default "rbf"
        Of candidates by name whose kernel is not part of the name; ``"precomputed"`` says that kernels
        will come.
    random_state : int, Generator, RandomState or None
        Of candidates by name.
    callback, verbose : callable or None, bool
        Gets a :class:`absentia.core.optimize.Progress` after each member; lines on stderr.

    Attributes
    ----------
    candidates_ : dict
        By name: ``concordance`` out of fold, and ``weight``.
    weights_by_candidate_ : dict
    sentence_ : str
        The same in words.
    held_out_risks_ : ndarray of shape (n_samples,)
        Log-risks of the training samples out of fold; NaN for samples without a view.
    event_times_ : ndarray
        Times at which something happened in training.
    names_in_, ids_

    Examples
    --------
    >>> import numpy as np
    >>> from absentia import AutoSurvival, Views
    >>> rng = np.random.default_rng(0)
    >>> x = rng.normal(size=(60, 3))
    >>> views = Views.from_list([x, x**2], observed=np.arange(60)[:, None] < [60, 40])
    >>> y = np.column_stack([rng.exponential(np.exp(-2 * x[:, 0])), rng.random(60) < 0.7])
    >>> auto = AutoSurvival(["cox", "cox-fusion"]).fit(views, y)
    >>> sorted(auto.candidates_), auto.predict(views[:2]).shape
    (['cox', 'cox-fusion'], (2,))
    """

    candidates: Any = "auto"
    _: KW_ONLY
    kernel: Any = "rbf"
    random_state: RandomState = None
    callback: Callback | None = None
    verbose: bool = False

    _family = "survival"
    _left_out_attribute = "held_out_risks_"

    def _fit_member(self, member: Any, X: Any, y: Array, weight: Array) -> Any:
        return member.fit(X, y)

    def _strata(self, y: Array) -> Array:
        return y["event"].astype(int)

    def _learn(self, X: Any, y: Survival, weight: Array) -> None:
        train, samples = self._order_training(X, weight, y.time, y.event)
        y = Survival(y.time[samples], y.event[samples])
        held_out = self._fit_members(train, y.to_array(), weight[samples])
        slopes, together = self._average_risks(held_out, y, "concordance")
        pairs = zip(self.weights_by_candidate_.items(), slopes.tolist(), strict=True)
        self._factors = {name: share * slope for (name, share), slope in pairs}
        self.held_out_risks_ = scatter_rows(together, samples, len(X))

    def _predict(self, X: Any) -> Array:
        return self._predict_rows(X, (), lambda rows: self._add_up(rows, self._factors))
