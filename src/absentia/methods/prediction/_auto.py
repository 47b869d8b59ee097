"""A small, fixed library of different classifiers, and what they say together.

Chances of held-out samples of every candidate, under one split, decide.  Candidates that are clearly worse
than the best are dropped, at the earliest after two folds; of those left the probabilities are averaged,
with equal weights unless learned ones, or the best candidate alone, do clearly better on held-out samples
(``_weighing``).  The samples by which somebody will judge the result are never seen.
"""

import warnings
from collections.abc import Mapping
from dataclasses import KW_ONLY
from typing import Annotated, Any

import numpy as np
from sklearn.base import clone

from absentia.core import Array, Callback, Progress, RandomState, Range, estimator, warn, watch
from absentia.data import MANY, KernelViews, folds, shown, some_of
from absentia.kernels import ViewKernels
from absentia.methods import catalogue
from absentia.methods.learning import Classifier
from absentia.methods.prediction._assembled import Assembled
from absentia.methods.prediction._prepared import for_views, settled
from absentia.methods.prediction._weighing import Weighing, log_losses, own_probabilities, weigh

#: Names of the catalogue, of different families, that are tried on features and on kernels.
LIBRARY = {
    "features": ("cvkt-svm", "cvkt-linear", "fusion", "forest"),
    "kernels": ("cvkt-svm", "cvkt-mkl", "fusion"),
    "many": ("zero-svm", "fusion"),  # linear in the samples, and quick
}
TRIED = 4000  # samples that candidates are tried on, where there are many
FOLDS = 5
FEWEST = 3  # samples of a class: the rest of a split must be split again
EARLY = 2  # folds after which a candidate may be dropped
CLEARLY = 3.0  # standard errors by which it must be worse


@estimator
class AutoClassifier(Assembled):
    """Try several kinds of classifiers on held-out samples, and use what they say together.

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
        The class with the largest chance over the `balance`-th power of its frequency is predicted.  0: the
        most probable class, for most samples right; 1: all classes count alike, however rare.  Chances
        themselves are not changed.
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

    def _assemble(self, X: Any, y: Array, weight: Array) -> None:
        self._check_counts(y)
        whole = _Trial(self._library(X), X, y, weight, len(self.classes_), self._step())
        trial = whole.on_some()
        trial.run()
        # by the weights that probabilities were learned with
        self._frequent = (np.bincount(y, weight) / weight.sum())[self._turned]
        kept, seen = trial.kept(), trial.seen
        own = own_probabilities(np.array([trial.probabilities[name][seen] for name in kept]), trial.y[seen])
        self.weighing_ = weigh(own, trial.y[seen], trial.weight[seen], free=trial is whole)
        used = {n: float(w) for n, w in zip(kept, self.weighing_.weights, strict=True) if w > 0}
        self.weights_by_candidate_ = used
        self.candidates_ = trial.table(used)
        self.sentence_ = _sentence(self.candidates_, self.weighing_, used, trial.some)
        self.estimators_ = {name: whole.fit(name) for name in used}

    def _check_counts(self, y: Array) -> None:
        """Raise if a class has too few samples to hold some out."""
        counts = np.bincount(y, minlength=len(self.classes_))[self._turned]
        if counts.min() < FEWEST:
            raise ValueError(
                f"AutoClassifier: class {shown(self.classes_[counts.argmin()])} has {counts.min()} "
                f"sample(s) with a view to learn from; at least {FEWEST} of every class are wanted, "
                "to hold some out"
            )

    def _step(self) -> Any:
        return watch(self) or (lambda progress: False)

    def _library(self, X: Any) -> dict[str, Any]:
        given = self.candidates
        if isinstance(given, str) and given == "auto":
            usual = "kernels" if isinstance(X, KernelViews) else "features"
            given = LIBRARY["many" if len(X) > MANY and usual == "features" else usual]
        if isinstance(given, Mapping):
            return {str(name): clone(one) for name, one in given.items()}
        if isinstance(given, str) or not all(isinstance(name, str) for name in given) or not len(given):
            raise ValueError(
                f"AutoClassifier: candidates must be 'auto', names or a dict, not {self.candidates!r}"
            )
        kernel = settled(for_views(self.kernel, X.names), X)
        return {name: self._made(name, kernel) for name in given}

    def _made(self, name: str, kernel: Any) -> Classifier:
        entry = catalogue.find(name, "classifier")
        made = entry.make()
        has = set(made.get_params()) - set(entry.fixed)
        own = {"kernel": kernel, "random_state": self.random_state}
        made.set_params(**{key: value for key, value in own.items() if key in has})
        if "kernel" in entry.fixed and isinstance(kernel, ViewKernels):  # logarithms and the like stay
            approx = "nystrom" if kernel.approx == "rff" else kernel.approx  # Fourier features are of rbf
            fixed = {"kernel": entry.fixed["kernel"], "approx": approx}
            made.set_params(kernel=clone(kernel).set_params(**fixed))
        if "probability" in has:
            made.set_params(probability=True)
        return made

    def _decided(self, probabilities: Array) -> Array:
        raised = probabilities / self._frequent**self.balance
        return np.asarray(raised / np.maximum(raised.sum(axis=1, keepdims=True), 1e-300))

    def _chance_rows(self, X: Any) -> Array:
        with warnings.catch_warnings(record=True) as caught:  # candidates say the same of the columns
            warnings.simplefilter("always")
            used = self.weights_by_candidate_.items()
            parts = [weight * self.estimators_[name].predict_proba(X) for name, weight in used]
        for sentence, kind in dict.fromkeys((str(one.message), one.category) for one in caught):
            warn(sentence, kind)
        return np.asarray(sum(parts))


class _Trial:
    """Every candidate on the same folds, until it is clearly worse than the best."""

    def __init__(self, library: dict[str, Any], X: Any, y: Array, weight: Array, n_classes: int, step: Any):
        self.library, self.X, self.y, self.weight, self.step = library, X, y, weight, step
        self.probabilities = {name: np.zeros((len(y), n_classes)) for name in library}
        self.seen = np.zeros(len(y), dtype=bool)
        self.dropped: dict[str, int] = {}
        self.some = False  # whether these are some of more samples, of which the best may be another
        self.parts = folds(np.arange(len(y)), y, min(FOLDS, int(np.bincount(y).min())))

    def on_some(self) -> "_Trial":
        """The same on some of the samples, if these are many."""
        some = some_of(self.y, TRIED if len(self.y) > MANY else len(self.y))
        if len(some) == len(self.y):
            return self
        n_classes = next(iter(self.probabilities.values())).shape[1]
        part = self.part(some, some), self.y[some], self.weight[some]
        trial = _Trial(self.library, *part, n_classes, self.step)
        trial.some, trial.parts = True, folds(np.arange(len(some)), trial.y, 2)
        return trial

    def run(self) -> None:
        steps, total = 0, len(self.library) * len(self.parts)
        for number, (a, b) in enumerate(self.parts, start=1):
            stop = False
            for name in self.kept():
                with warnings.catch_warnings(action="ignore"):  # fits to all samples say what is to be said
                    self.probabilities[name][b] = self.fit(name, a).predict_proba(self.part(b, a))
                steps += 1
                stop = bool(self.step(Progress(steps, 0.0, 0.0, total))) or stop
            self.seen[b] = True
            if number >= EARLY and not self.some:
                self.drop(number)
            if stop:
                return

    def fit(self, name: str, rows: Array | None = None) -> Any:
        rows = np.arange(len(self.y)) if rows is None else rows
        made = clone(self.library[name])
        return made.fit(self.part(rows, rows), self.y[rows], sample_weight=self.weight[rows])

    def part(self, rows: Array, columns: Array) -> Any:
        X = self.X
        return X[np.ix_(rows, columns)] if isinstance(X, KernelViews) else X[rows]

    def kept(self) -> list[str]:
        return [name for name in self.library if name not in self.dropped]

    def drop(self, number: int) -> None:
        """Leave out who is worse than the best by some standard errors of the difference, so far."""
        seen, weight = self.seen, self.weight[self.seen]
        names = self.kept()
        losses = log_losses(np.array([self.probabilities[n][seen] for n in names]), self.y[seen])
        best = losses[int(np.argmin(losses @ weight))]
        for name, one in zip(names, losses, strict=True):
            gap = one - best
            if np.average(gap, weights=weight) > CLEARLY * gap.std() / np.sqrt(len(gap)) > 0:
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
            "loss": float(np.average(log_losses(probabilities[None], y)[0], weights=weight)),
            "accuracy": float(np.average(right, weights=weight)),
            "balanced": float(np.mean([right[y == k].mean() for k in np.unique(y)])),
            "weight": share,
            "dropped": self.dropped.get(name),
        }


def _sentence(
    table: dict[str, dict[str, Any]], weighing: Weighing, used: dict[str, float], some: bool
) -> str:
    whole = [name for name, row in table.items() if row["dropped"] is None]  # tried on the same folds
    best = min(whole, key=lambda name: table[name]["loss"])
    many = len(used) > 1
    if weighing.way == "best" or not many:
        return f"{next(iter(used))} alone, which did better on held-out samples than an average of several"
    if some:
        return f"the average of {', '.join(used)}; of {TRIED} samples, {best} was the best alone"
    how = "with equal weights" if weighing.way == "mean" else "with learned weights"
    more = "; learned weights were no better" if weighing.way == "mean" else ""
    return f"the average of {', '.join(used)}, {how}{more}; the best alone was {best}"
