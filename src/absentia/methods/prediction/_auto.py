"""A small, fixed library of different classifiers, and the average of their probabilities.

Probabilities of held-out samples by every candidate, under one split, decide.  Candidates that are clearly
worse than the best are dropped, at the earliest after two folds; of those left the probabilities are
averaged, with equal weights unless learned ones, or the best candidate alone, do clearly better on held-out
samples.  The samples by which somebody will judge the result are never seen.

Weights are learned from few samples, so they are drawn to equal ones: with ``p_m(i)`` the probability that
candidate m gave to the true class of held-out sample i,

    minimise over w in the simplex   - sum_i log sum_m w_m p_m(i)  +  penalty / 2 |log w - mean(log w)|^2 .

A `penalty` of zero is a super learner; a large one takes the plain mean, which on a hundred samples is hard
to beat.  What the weights are worth is itself judged on held-out samples: they are learned from four fifths
of them and scored on the rest.
"""

import warnings
from collections.abc import Mapping
from dataclasses import KW_ONLY
from typing import Annotated, Any, NamedTuple

import numpy as np
from scipy.optimize import minimize
from sklearn.base import clone

from absentia.core import Array, RandomState, Range, estimator, make_callback, serializable, warn
from absentia.core.optimize import Callback, Progress
from absentia.data import MANY_SAMPLES, KernelViews, make_folds, show_id, subsample_classes
from absentia.kernels import ViewKernels
from absentia.methods import catalogue
from absentia.methods.learning import Classifier, subset
from absentia.methods.prediction._composite import CompositeClassifier
from absentia.methods.prediction._kernel_pipeline import decide_approximation, restrict_kernel

#: Names of the catalogue, of different families, that are tried on features and on kernels.
LIBRARY = {
    "features": ("cvkt-svm", "cvkt-linear", "fusion", "forest"),
    "kernels": ("cvkt-svm", "cvkt-mkl", "fusion"),
    "many": ("zero-svm", "fusion"),  # linear in the samples, and quick
}
_MAX_SAMPLES = 4000  # that candidates are tried on, where there are many
FOLDS = 5
_MIN_CLASS_SIZE = 3  # the rest of a split must be split again
_MIN_FOLDS = 2  # after which a candidate may be dropped
_CLEARLY_WORSE, _CLEARLY_BETTER = 3.0, 2.0  # standard errors: than the best candidate, than the plain mean
_PENALTY = 10.0
_MIN_PROBABILITY = 1e-6  # less counts as this: one sample does not decide everything


@estimator
class AutoClassifier(CompositeClassifier):
    """Try several kinds of classifiers on held-out samples, and average their probabilities.

    Takes :class:`Views` or square :class:`KernelViews`.  Meant for whoever does not want to know which
    method is best on their data: no candidate is good everywhere, their average is good almost everywhere.

    Parameters
    ----------
    candidates : "auto", list of names or dict of classifiers, default "auto"
        Names of ``absentia fit --list`` that give probabilities, or classifiers of absentia by name.
        ``"auto"``: completed kernels, curved and linear, one machine per view, and a forest on all
        features; of kernels, those that take kernels.  Of more than 5000 samples: a machine on
        kernels with absent views read as zero, and one per view, tried on 4000 of them and
        averaged: what is best of 4000 need not be of all.
    kernel : str or ViewKernels, default "rbf"
        Of candidates by name; ``"precomputed"`` says that kernels will come.
    balance : float from 0 to 1, default 0.5
        The class with the largest probability over the `balance`-th power of its frequency is predicted.
        0: the most probable class, for most samples right; 1: all classes count alike, however rare.
        Probabilities themselves are not changed.
    class_weight : dict, "balanced" or None
        Factor on the samples' weights by class.
    random_state : int, Generator, RandomState or None
        Of candidates by name.
    callback, verbose : callable or None, bool
        Gets a :class:`absentia.core.Progress` after each fit, True stops after the fold in hand; lines
        on stderr now and then.

    Attributes
    ----------
    candidates_ : dict
        By name: ``loss``, the log-loss of held-out samples, and ``accuracy`` and ``balanced`` (the mean
        over classes) of them, ``weight`` in what is used, ``dropped`` (after how many folds; None: not).
    weights_by_candidate_ : dict
        Of those that are used.
    weighing_ : Weighing
        What equal weights, learned ones and the best candidate are worth on held-out samples, and which
        of them is used.
    sentence_ : str
        The same in words.
    decision_weights_ : ndarray of shape (n_classes,)
        Frequencies of the classes to the power of minus `balance`; of equals the more frequent class counts
        more, by a billionth.
    classes_, names_in_, ids_

    Examples
    --------
    >>> from absentia import AutoClassifier, datasets, missingness
    >>> views, y = datasets.load_digit_views(n_samples=60, return_X_y=True)
    >>> views = views.select(["pixels", "fourier"])
    >>> views = views.hide(missingness.mcar(views, 0.3, random_state=0))
    >>> chooser = AutoClassifier(["cvkt-svm", "fusion"]).fit(views, y < 5)
    >>> sorted(chooser.candidates_)
    ['cvkt-svm', 'fusion']
    """

    candidates: Any = "auto"
    _: KW_ONLY
    kernel: Any = "rbf"
    balance: Annotated[float, Range(least=0, most=1)] = 0.5
    class_weight: Any = None
    random_state: RandomState = None
    callback: Callback | None = None
    verbose: bool = False

    def _learn_ordered(self, X: Any, y: Array, weight: Array) -> None:
        self._check_counts(y)
        callback = make_callback(self) or (lambda progress: False)
        whole = _Selection(self._library(X), X, y, weight, len(self.classes_), callback)
        selection = whole.on_subset()
        selection.run()
        # by the weights that probabilities were learned with
        frequencies = (np.bincount(y, weight) / weight.sum())[self._class_order]
        self.decision_weights_ = frequencies**-self.balance * (1 + 1e-9 * frequencies)
        names, seen = selection.remaining(), selection.seen
        proba = np.array([selection.probabilities[name][seen] for name in names])
        y_seen, weight_seen = selection.y[seen], selection.weight[seen]
        self.weighing_ = weigh(
            _true_class_proba(proba, y_seen), y_seen, weight_seen, free=selection is whole
        )
        used = {n: float(w) for n, w in zip(names, self.weighing_.weights, strict=True) if w > 0}
        self.weights_by_candidate_ = used
        self.candidates_ = selection.table(used)
        self.sentence_ = _describe(self.candidates_, self.weighing_, used, selection.is_subset)
        self.estimators_ = {name: whole.fit(name) for name in used}

    def _check_counts(self, y: Array) -> None:
        """Raise if a class has too few samples to hold some out."""
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
        with warnings.catch_warnings(record=True) as caught:  # candidates warn of the same columns
            warnings.simplefilter("always")
            used = self.weights_by_candidate_.items()
            parts = [weight * self.estimators_[name].predict_proba(X) for name, weight in used]
        for sentence, kind in dict.fromkeys((str(w.message), w.category) for w in caught):
            warn(sentence, kind)
        return np.asarray(sum(parts))


class _Selection:
    """Every candidate on the same folds, until it is clearly worse than the best."""

    def __init__(
        self, library: dict[str, Any], X: Any, y: Array, weight: Array, n_classes: int, callback: Any
    ) -> None:
        self.library, self.X, self.y, self.weight, self.callback = library, X, y, weight, callback
        self.probabilities = {name: np.zeros((len(y), n_classes)) for name in library}
        self.seen = np.zeros(len(y), dtype=bool)
        self.dropped: dict[str, int] = {}
        self.is_subset = False  # whether there are more samples, of which the best may be another
        self.parts = make_folds(np.arange(len(y)), y, min(FOLDS, int(np.bincount(y).min())))

    def on_subset(self) -> "_Selection":
        """The same on some of the samples, if these are many."""
        rows = subsample_classes(self.y, _MAX_SAMPLES if len(self.y) > MANY_SAMPLES else len(self.y))
        if len(rows) == len(self.y):
            return self
        n_classes = next(iter(self.probabilities.values())).shape[1]
        part = subset(self.X, rows, rows), self.y[rows], self.weight[rows]
        selection = _Selection(self.library, *part, n_classes, self.callback)
        selection.is_subset, selection.parts = True, make_folds(np.arange(len(rows)), selection.y, 2)
        return selection

    def run(self) -> None:
        steps, total = 0, len(self.library) * len(self.parts)
        for number, (a, b) in enumerate(self.parts, start=1):
            stop = False
            for name in self.remaining():
                with warnings.catch_warnings(action="ignore"):  # fits to all samples say what is to be said
                    self.probabilities[name][b] = self.fit(name, a).predict_proba(subset(self.X, b, a))
                steps += 1
                stop = bool(self.callback(Progress(steps, 0.0, 0.0, total))) or stop
            self.seen[b] = True
            if number >= _MIN_FOLDS and not self.is_subset:
                self.drop(number)
            if stop:
                return

    def fit(self, name: str, rows: Array | None = None) -> Any:
        rows = np.arange(len(self.y)) if rows is None else rows
        candidate, weight = clone(self.library[name]), self.weight[rows]
        return candidate.fit(subset(self.X, rows, rows), self.y[rows], sample_weight=weight)

    def remaining(self) -> list[str]:
        return [name for name in self.library if name not in self.dropped]

    def drop(self, number: int) -> None:
        """Leave out who is worse than the best by some standard errors of the difference, so far."""
        seen, weight = self.seen, self.weight[self.seen]
        names = self.remaining()
        losses = _log_losses(np.array([self.probabilities[n][seen] for n in names]), self.y[seen])
        best = losses[int(np.argmin(losses @ weight))]
        for name, loss in zip(names, losses, strict=True):
            gap = loss - best
            if np.average(gap, weights=weight) > _CLEARLY_WORSE * gap.std() / np.sqrt(len(gap)) > 0:
                self.dropped[name] = number

    def table(self, used: dict[str, float]) -> dict[str, dict[str, Any]]:
        """What each candidate did on the held-out samples that it saw."""
        return {name: self.row(name, used.get(name, 0.0)) for name in self.library}

    def row(self, name: str, share: float) -> dict[str, Any]:
        parts = self.parts[: self.dropped.get(name, len(self.parts))]
        rows = np.concatenate([b for _, b in parts if self.seen[b].all()])
        probabilities, y, weight = self.probabilities[name][rows], self.y[rows], self.weight[rows]
        right = probabilities.argmax(axis=1) == y
        return {
            "loss": float(np.average(_log_losses(probabilities[None], y)[0], weights=weight)),
            "accuracy": float(np.average(right, weights=weight)),
            "balanced": float(np.mean([right[y == k].mean() for k in np.unique(y)])),
            "weight": share,
            "dropped": self.dropped.get(name),
        }


def _describe(
    table: dict[str, dict[str, Any]], weighing: "Weighing", used: dict[str, float], is_subset: bool
) -> str:
    whole = [name for name, row in table.items() if row["dropped"] is None]  # tried on the same folds
    best = min(whole, key=lambda name: table[name]["loss"])
    if weighing.way == "best" or len(used) == 1:
        return f"{next(iter(used))} alone, which did better on held-out samples than an average of several"
    if is_subset:
        return f"the average of {', '.join(used)}; of {_MAX_SAMPLES} samples, {best} was the best alone"
    how = "with equal weights" if weighing.way == "mean" else "with learned weights"
    more = "; learned weights were no better" if weighing.way == "mean" else ""
    return f"the average of {', '.join(used)}, {how}{more}; the best alone was {best}"


# ------------------------------------------------------------------------------ weights of candidates


def _true_class_proba(probabilities: Array, y: Array) -> Array:
    """What each candidate gave to the true class of each sample, candidates x samples."""
    return np.maximum(probabilities[:, np.arange(len(y)), y], _MIN_PROBABILITY)


def _log_losses(probabilities: Array, y: Array) -> Array:
    """Log-losses of the samples by each candidate, candidates x samples."""
    return np.asarray(-np.log(_true_class_proba(probabilities, y)))


def _shrunken_weights(proba: Array, weight: Array, penalty: float = _PENALTY) -> Array:
    """Weights of the candidates that sum to one, drawn to equal ones."""
    m = len(proba)
    if m == 1:
        return np.ones(1)

    def objective(t: Array) -> tuple[float, Array]:
        w = np.exp(t - t.max())
        w /= w.sum()
        mixture = w @ proba
        responsibilities = w[:, None] * proba / mixture
        slope = -(responsibilities @ weight) + w * weight.sum()
        off = t - t.mean()
        return float(-np.log(mixture) @ weight + penalty / 2 * off @ off), slope + penalty * off

    options = {"gtol": 1e-10, "ftol": 0}
    t = minimize(objective, np.zeros(m), jac=True, method="L-BFGS-B", options=options).x
    w = np.exp(t - t.max())
    return np.asarray(w / w.sum())


@serializable
class Weighing(NamedTuple):
    """Weights by the way that its own held-out estimate prefers, and what each way is worth."""

    weights: Array
    way: str  # "mean", "weights" or "best"
    losses: dict[str, float]  # log-loss by way, on held-out samples
    as_good: bool  # whether nothing was clearly better than the plain mean


def weigh(proba: Array, y: Array, weight: Array, penalty: float = _PENALTY, free: bool = True) -> Weighing:
    """The plain mean unless learned weights, or the best candidate alone, are clearly better.

    `proba` is what candidates gave to the true classes.  It is the plain mean in any case if the choice is
    not `free`.
    """
    held_out = {way: np.zeros(proba.shape[1]) for way in ("mean", "weights", "best")}
    for a, b in make_folds(np.arange(len(y)), y, FOLDS):
        for way, w in _candidate_weights(proba[:, a], weight[a], penalty).items():
            held_out[way][b] = -np.log(w @ proba[:, b])
    losses = {way: float(np.average(loss, weights=weight)) for way, loss in held_out.items()}
    best, as_good = "mean", True
    for way in ("weights", "best") if free else ():
        gain = held_out["mean"] - held_out[way]
        error = float(np.std(gain)) / np.sqrt(len(gain))
        if losses[way] < losses[best] and np.average(gain, weights=weight) > _CLEARLY_BETTER * error:
            best, as_good = way, False
    return Weighing(_candidate_weights(proba, weight, penalty)[best], best, losses, as_good)


def _candidate_weights(proba: Array, weight: Array, penalty: float) -> dict[str, Array]:
    m = len(proba)
    best = np.zeros(m)
    best[int(np.argmin(-np.log(proba) @ weight))] = 1.0
    return {"mean": np.full(m, 1 / m), "weights": _shrunken_weights(proba, weight, penalty), "best": best}
