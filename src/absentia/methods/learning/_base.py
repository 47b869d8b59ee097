"""What all classifiers share: checking what comes in, the prior where nothing is known, probabilities.

A classifier says what it learns (``_learn``) and how it scores (``_score``).  If some of its views matter
more than others, it says how much of it a sample's views reach (``_reach``).  The rest is here.

A sample without any view takes no part in training.  The score of a sample whose views reach nothing is
the prior: ``2 pi - 1`` with pi the class's frequency among the training samples (by their weights).  So its
class is the most frequent one, its probabilities are the frequencies, and ``unusable`` says which samples
those are.  Up to there scores are continuous: where a sample's views reach less than a hundredth
(:data:`FAINT`), the score is that part the classifier's, the rest the prior's.
"""

from abc import ABC, abstractmethod
from typing import Any, Literal, Self

import numpy as np
from sklearn.base import ClassifierMixin
from sklearn.exceptions import NotFittedError
from sklearn.utils.metaestimators import available_if
from sklearn.utils.validation import check_is_fitted

from absentia.core import Array, Estimator, suited_to, unwatched
from absentia.methods.learning._calibration import calibrate
from absentia.methods.learning._inputs import INPUTS, Either, Features, Kernels
from absentia.methods.learning._labels import Labels, as_targets, check_labels, warn_of_empty

FAINT = 0.01  # share of what was learned below which the prior begins to count


def trust(reach: Array) -> Array:
    """How much of a score is the method's: all of it, unless a sample's views reach next to nothing."""
    return np.minimum(reach / FAINT, 1.0)


def mixed(reach: Array, scores: Array, prior: Any) -> Array:
    """Scores, drawn to the prior where a sample's views reach next to nothing; not read where nothing."""
    part = trust(reach)
    return np.asarray(np.where(part > 0, part * scores, 0.0) + (1 - part) * prior)


class Learner(Estimator, ABC):
    """Base of what learns from samples with absent views and says something of new ones."""

    names_in_: tuple[str, ...]
    ids_: Array
    n_features_in_: int
    _observed: Array  # who had which view in training
    _widths: tuple[int, ...]  # columns that new samples have to have again

    _takes: Literal["kernels", "views"] = "kernels"

    @property
    def _input(self) -> Kernels | Features | Either:
        return INPUTS[self._takes]

    def __sklearn_tags__(self) -> Any:
        tags = super().__sklearn_tags__()
        tags.input_tags.pairwise = self._input.pairwise
        return tags

    def unusable(self, X: Any) -> Array:
        """Which samples have no view with a say, so that only the prior can be said of them."""
        return np.asarray(~(self._reach(self._check_rows(X)) > 0).any(axis=1))

    def _reach(self, X: Any) -> Array:
        """The share, 0 to 1, of what was learned that each row's views carry; rows x machines, or x 1."""
        return (X.observed & self._observed.any(axis=0)).any(axis=1, keepdims=True).astype(np.float64)

    def _check_rows(self, X: Any) -> Any:
        """New samples that go with those of training."""
        check_is_fitted(self, "names_in_")
        return self._input.check_rows(X, self)

    def _remember(self, X: Any) -> None:
        """Who was there."""
        self.names_in_, self.ids_, self._observed = X.names, X.ids, X.observed
        self._widths = self._input.widths(X)
        self.n_features_in_ = sum(self._widths)


class Classifier(ClassifierMixin, Learner):  # type: ignore[misc]
    """Base of everything that learns classes from incomplete views or kernels.

    A classifier says what it takes (``_takes``), what it learns (:meth:`_learn`) and how it scores
    (:meth:`_score`).  Two parameters mean the same for all who declare them: ``class_weight`` and
    ``probability``.
    """

    classes_: Array

    @abstractmethod
    def _learn(self, X: Any, y: Array, weight: Array) -> None:
        """Learn from samples with the classes ``classes_[y]``, each as much as its `weight` says.

        The weights have those of the classes in them, and are zero for samples without any view.
        """

    @abstractmethod
    def _score(self, X: Any) -> Array:
        """Scores, rows x 1 for two classes (positive: the second), rows x classes for more.

        About -1 to 1, as the prior is; rows that reach nothing are not read.
        """

    def fit(self, X: Any, y: Any, sample_weight: Any = None) -> Self:
        """Learn from the training samples (kernels: square) and their labels."""
        self._check_parameters()
        X = self._input.check(X, self)
        labels = check_labels(X, y, sample_weight)
        warn_of_empty(X)
        weight = labels.weighted(getattr(self, "class_weight", None)) * X.observed.any(axis=1)
        self.classes_, self._prior = labels.classes, labels.prior
        with suited_to(len(X)):
            coded = self._input.learned(X, self)
            self._learn(coded, labels.codes, weight)
            self._remember(coded)
            self._probabilities = self._calibrated(X, labels) if self._offers_probabilities() else None
        return self

    def decision_function(self, X: Any) -> Array:
        """Scores of the rows of `X`: (n,) for two classes, positive for the second, else (n, classes).

        Rows without a usable view get the class frequencies, stretched to -1 to 1, and rows whose views
        carry less than a hundredth of what was learned something between.
        """
        scores = self._with_prior(self._check_rows(X))
        return scores[:, 0] if len(self.classes_) == 2 else scores

    def _with_prior(self, X: Any) -> Array:
        """Scores, with the prior where views reach next to nothing; rows x 1 for two classes."""
        prior = 2 * (self._prior[1:] if len(self.classes_) == 2 else self._prior) - 1
        return mixed(self._reach(X), self._score(X), prior)

    def predict(self, X: Any) -> Array:
        """The class of each sample; the most frequent one where no view is usable."""
        scores = self.decision_function(X)
        chosen = (scores > 0).astype(int) if scores.ndim == 1 else scores.argmax(axis=1)
        return np.asarray(self.classes_[chosen])

    def score(self, X: Any, y: Any, sample_weight: Any = None) -> float:
        """The share of samples, by weight, whose class is right; `y` is in the order of the samples."""
        as_targets(self._check_rows(X), y)
        return float(super().score(X, y, sample_weight))

    def _calibrated(self, X: Any, labels: Labels) -> Any:
        """What turns scores into probabilities."""
        return calibrate(self, X, labels)

    def _offers_probabilities(self) -> bool:
        return bool(getattr(self, "probability", False))

    @available_if(lambda self: self._offers_probabilities())  # type: ignore[untyped-decorator]
    def predict_proba(self, X: Any) -> Array:
        """Chances of the classes, calibrated on held-out scores; frequencies where no view is usable."""
        X = self._check_rows(X)
        if self._probabilities is None:
            raise NotFittedError(f"{type(self).__name__} was fitted without probability; fit it again")
        reach = self._reach(X).max(axis=1, keepdims=True)
        return mixed(reach, self._probabilities_of(X), self._prior)

    def _probabilities_of(self, X: Any) -> Array:
        """Chances of the classes, rows x classes; rows that reach nothing are not read."""
        probabilities: Any = self._probabilities
        return np.asarray(probabilities.predict(self._with_prior(X)))

    def _fit_again(self, X: Any, labels: Labels, rows: Array) -> Self:
        """The same method without probabilities, fitted to the samples `rows`."""
        other = unwatched(self, probability=False)
        weight, more = labels.weight[rows], self._fit_options(rows)
        return other.fit(self._input.part(X, rows, rows), labels.y[rows], sample_weight=weight, **more)

    def _fit_options(self, rows: Array) -> dict[str, Any]:
        """What else ``fit`` was given, of the samples `rows`."""
        return {}
