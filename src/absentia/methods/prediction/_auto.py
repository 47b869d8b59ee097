"""The default classifier: few members of different kinds, and the average of their probabilities.

Each member says what it predicts of every training sample once that is left out (logistic regression in
closed form, others in folds).  With ``loss_m`` the log-loss of these probabilities,

    w_m  proportional to  exp(-40 loss_m) :

equals count alike, one that is clearly worse counts next to nothing, nothing is dropped, and there is no
choice that a few samples could turn.  The samples by which somebody will judge the result are never seen.
Probabilities are honest ones; the decision between classes is made by weights of its own (`decision`).
"""

import warnings
from collections.abc import Mapping
from dataclasses import KW_ONLY
from typing import Any, Literal

import numpy as np
from sklearn.base import clone

from absentia.core import Array, RandomState, estimator, make_callback, warn
from absentia.core.optimize import Callback, Progress
from absentia.data import MANY_SAMPLES, KernelViews, make_folds, show_id
from absentia.kernels import ViewKernels
from absentia.methods import catalogue
from absentia.methods.learning import Classifier, log_loss, subset
from absentia.methods.prediction._composite import CompositeClassifier
from absentia.methods.prediction._kernel_pipeline import decide_approximation, restrict_kernel

#: Names of the catalogue, of different kinds, that are averaged on features and on kernels.
LIBRARY = {
    "features": ("linear", "cvkt-linear", "cvkt-rbf", "fusion-linear", "fusion-rbf"),
    "kernels": ("completed", "fusion"),
    "many": ("linear", "fusion-linear", "fusion-rbf"),  # linear in the samples
}
FOLDS = 5  # in which members are held out that do not tell what they say of samples left out
_MIN_CLASS_SIZE = 3
SHARPNESS = 40.0  # what benchmarks/predict_regret.py settles on, whichever set is left out


@estimator
class AutoClassifier(CompositeClassifier):
    """Average the probabilities of several kinds of classifiers, by how well they tell samples left out.

    Takes :class:`Views` or square :class:`KernelViews`.  Meant for whoever does not want to know which
    method is best on their data: no member is good everywhere, their average is good almost everywhere.

    Parameters
    ----------
    candidates : "auto", list of names or dict of classifiers, default "auto"
        Names of ``absentia fit --list`` that give probabilities, or classifiers of absentia by name.
        ``"auto"``: logistic regression on all features side by side, on completed linear and rbf kernels,
        and on each view; of kernels, on completed ones and on each; of more than 5000 samples, side by
        side and on each view, whose kernels are given by factors then.
    kernel : str or ViewKernels, default "rbf"
        Of candidates by name whose kernel is not part of the name; ``"precomputed"`` says that kernels
        will come.
    decision : {"balanced", "accuracy"}, default "balanced"
        The class of largest probability divided by its frequency, so that rare classes count as much as
        others, or the most probable class.  Probabilities themselves are not changed.
    class_weight : dict, "balanced" or None
        Factor on the samples' weights by class.
    random_state : int, Generator, RandomState or None
        Of candidates by name.
    callback, verbose : callable or None, bool
        Gets a :class:`absentia.core.Progress` after each member; lines on stderr now and then.

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
    decision_weights_ : ndarray of shape (n_classes,)
        One over the frequencies of the classes, of equals the more frequent counting more by a billionth;
        or ones.
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
    decision: Literal["balanced", "accuracy"] = "balanced"
    class_weight: Any = None
    random_state: RandomState = None
    callback: Callback | None = None
    verbose: bool = False

    def _learn(self, X: Any, y: Array, weight: Array) -> None:
        super()._learn(X, y, weight)
        self.loo_proba_ = self._by_sample(self._left_out, len(X))
        del self._left_out

    def _learn_ordered(self, X: Any, y: Array, weight: Array) -> None:
        self._check_counts(y)
        library = self._library(X)
        report = make_callback(self) or (lambda progress: False)
        self.estimators_, left_out = {}, []
        for number, (name, member) in enumerate(library.items(), start=1):
            self.estimators_[name] = clone(member).fit(X, y, sample_weight=weight)
            left_out.append(_held_out_proba(self.estimators_[name], member, X, y, weight))
            report(Progress(number, 0.0, 0.0, len(library)))
        losses = np.array([log_loss(np.maximum(proba, 1e-4), y, weight) for proba in left_out])
        share = np.exp(-SHARPNESS * (losses - losses.min()))
        share /= share.sum()
        self._left_out = np.tensordot(share, np.array(left_out), 1)
        self.weights_by_candidate_ = dict(zip(library, share.tolist(), strict=True))
        self.candidates_ = {
            name: {"loss": float(loss), "weight": self.weights_by_candidate_[name]}
            for name, loss in zip(library, losses, strict=True)
        }
        self.sentence_ = _describe(self.weights_by_candidate_)
        if self.decision == "balanced":  # by the weights that probabilities were learned with
            frequencies = (np.bincount(y, weight) / weight.sum())[self._class_order]
            self.decision_weights_ = (1 + 1e-9 * frequencies) / frequencies

    def _check_counts(self, y: Array) -> None:
        """Raise if a class has too few samples to leave some out."""
        counts = np.bincount(y, minlength=len(self.classes_))[self._class_order]
        if counts.min() < _MIN_CLASS_SIZE:
            raise ValueError(
                f"AutoClassifier: class {show_id(self.classes_[counts.argmin()])} has {counts.min()} "
                f"sample(s) with a view to learn from; at least {_MIN_CLASS_SIZE} of every class are "
                "wanted, to hold some out"
            )

    def _library(self, X: Any) -> dict[str, Any]:
        given = self.candidates
        if isinstance(given, str) and given == "auto":
            usual = "kernels" if isinstance(X, KernelViews) else "features"
            given = LIBRARY["many" if len(X) > MANY_SAMPLES and usual == "features" else usual]
        if isinstance(given, Mapping):
            return {str(name): clone(candidate) for name, candidate in given.items()}
        if isinstance(given, str) or not all(isinstance(name, str) for name in given) or not len(given):
            raise ValueError(
                f"AutoClassifier: candidates must be 'auto', names or a dict, not {self.candidates!r}"
            )
        kernel = decide_approximation(restrict_kernel(self.kernel, X.names), X)
        return {name: self._make_candidate(name, kernel) for name in given}

    def _make_candidate(self, name: str, kernel: Any) -> Classifier:
        entry = catalogue.find(name, "classifier")
        candidate: Classifier = entry.make()
        free = set(candidate.get_params()) - set(entry.fixed)
        options = {"kernel": kernel, "random_state": self.random_state, "probability": True}
        candidate.set_params(**{key: value for key, value in options.items() if key in free})
        if "kernel" in entry.fixed and isinstance(kernel, ViewKernels):  # logarithms and the like stay
            approx = "nystrom" if kernel.approx == "rff" else kernel.approx  # Fourier features are of rbf
            fixed = {"kernel": entry.fixed["kernel"], "approx": approx}
            candidate.set_params(kernel=clone(kernel).set_params(**fixed))
        return candidate

    def _predict_proba_rows(self, X: Any) -> Array:
        with warnings.catch_warnings(record=True) as caught:  # members warn of the same columns
            warnings.simplefilter("always")
            used = self.weights_by_candidate_.items()
            parts = [weight * self.estimators_[name].predict_proba(X) for name, weight in used]
        for sentence, kind in dict.fromkeys((str(w.message), w.category) for w in caught):
            warn(sentence, kind)
        return np.asarray(sum(parts))


def _held_out_proba(fitted: Any, member: Any, X: Any, y: Array, weight: Array) -> Array:
    """Probabilities of the training samples by a member that has not seen them."""
    proba = getattr(fitted, "loo_proba_", None)
    if proba is not None and np.isfinite(proba).all():
        return np.asarray(proba)
    proba = np.zeros((len(y), int(y.max()) + 1))
    with warnings.catch_warnings(action="ignore"):  # the fit to all samples says what is to be said
        for a, b in make_folds(np.arange(len(y)), y, min(FOLDS, int(np.bincount(y).min()))):
            part = clone(member).fit(subset(X, a, a), y[a], sample_weight=weight[a])
            proba[b] = part.predict_proba(subset(X, b, a))
    return proba


def _describe(weights: Mapping[str, float]) -> str:
    if len(weights) == 1:
        return f"{next(iter(weights))} alone"
    parts = sorted(weights.items(), key=lambda item: -item[1])
    return "the average of " + ", ".join(f"{name} ({100 * weight:.0f} %)" for name, weight in parts)
