"""Complete, then classify: kernels of the views, their completion, one machine on their sum, probabilities.

The second stage of the papers on completion, and the baseline of learning without it (`completer` None):

    Views --ViewKernels--> kernels --completer--> complete kernels --weights--> one --machine--> scores

All of it is learned on training samples.  Completion sees no labels; C and the probabilities are learned
from scores of held-out samples, whose kernels were completed together with the others.  The class with the
largest probability is predicted, not the one with the largest score: machines one against the rest with a
small C all favour frequent classes, and probabilities, which are learned from the scores of all, do not.
"""

from dataclasses import KW_ONLY
from typing import Any, Literal

import numpy as np

from absentia.core import Array, Positive, RandomState, estimator
from absentia.data import KernelViews
from absentia.kernels import CombineKernels
from absentia.methods.learning import (
    AverageKernelSVC,
    MKLClassifier,
    Norm,
    Training,
    select_C,
    selection_samples,
    subset,
)
from absentia.methods.prediction._composite import CompositeClassifier
from absentia.methods.prediction._kernel_pipeline import KernelPipeline
from absentia.methods.prediction._ridge import skill_weights


@estimator
class SkillKernelSVC(AverageKernelSVC):
    """A machine on an average of the views, weighted by how well each alone tells left-out samples."""

    def _learn(self, X: KernelViews, y: Array, weight: Array) -> None:
        self._skill = _class_skill(X, y, weight)
        super()._learn(X, y, weight)

    def _weigh(self, training: Training, y: Array) -> Array:
        eta = self._skill[self._views]
        return np.asarray(eta / eta.sum())


def _class_skill(K: KernelViews, y: Array, weight: Array) -> Array:
    """Weights of the views that sum to one, by how well each alone tells classes of left-out samples."""
    return skill_weights(K, np.eye(int(y.max()) + 1)[y], weight)


def _average_kernels(K: KernelViews, weights: Array) -> KernelViews:
    """The average of kernels, by weight, as a view of its own, every sample of unit length."""
    combined = CombineKernels(weights).fit(K).transform(K)
    return KernelViews.from_dense(combined[None], ids=K.ids, names=["average"])


def _average_by_skill(K: KernelViews, y: Array, weight: Array, train: Array) -> KernelViews:
    """The average of all samples' kernels, views weighted by what the samples `train` show of them."""
    return _average_kernels(K, _class_skill(subset(K, train, train), y[train], weight[train]))


@estimator
class AbsentClassifier(CompositeClassifier):
    """Complete the kernels of incomplete views, and learn a support vector machine on their sum.

    Takes :class:`Views` or square :class:`KernelViews`.

    Parameters
    ----------
    completer : str, completer or None, default "cvkt"
        Name of a completer (``absentia complete --list``) or a completer; None: nothing is completed, and
        absent views count as zero.
    kernel : str or ViewKernels, default "rbf"
        Of the features of every view.  ``"precomputed"`` says that kernels will come, which scikit-learn
        has to know to split them.
    combine : {"average", "alignment", "skill", "mkl"}, default "average"
        Weights of the views: equal; those that bring the sum nearest to the labels; by how well each view
        alone tells held-out samples' classes; or learned together with the machine.
    norm : float, default 2
        With ``"mkl"``: p of the weights' p-norm; 1 selects few views.
    C : float or "cv", default "cv"
        Weight of the training errors; ``"cv"`` selects it by the log-loss of held-out samples.
    class_weight : dict, "balanced" or None
        Factor on C by class.
    tol : float, default 1e-3
        Relative duality gap at which the machine stops.
    presence : bool, default False
        Let who has which view count, as one more kernel; for absence that tells about the class, where
        samples to come are absent by the same rules.
    random_state : int, Generator, RandomState or None
        Of the completer, if it is given by name.

    Attributes
    ----------
    C_ : float
    weights_ : ndarray of shape (n_views,), or (n_classes, n_views) with more than two classes
        Without that of who has which view.
    completer_ : the fitted completer, or None
    classes_, decision_weights_, names_in_, ids_

    Examples
    --------
    >>> from absentia import AbsentClassifier, datasets, missingness
    >>> views, y = datasets.load_digit_views(n_samples=60, return_X_y=True)
    >>> views = views.hide(missingness.mcar(views, 0.3, random_state=0))
    >>> AbsentClassifier().fit(views[:40], y[:40] < 5).predict(views[40:]).shape
    (20,)
    """

    completer: None | str | Any = "cvkt"  # noqa: RUF036 - a text is read as the first that it can be
    _: KW_ONLY
    kernel: Any = "rbf"
    combine: Literal["average", "alignment", "skill", "mkl"] = "average"
    norm: Norm = 2
    C: Positive | Literal["cv"] = "cv"
    class_weight: Any = None
    tol: Positive = 1e-3
    presence: bool = False
    random_state: RandomState = None

    def _learn(self, X: Any, y: Array, weight: Array) -> None:
        super()._learn(X, y, weight)
        self.weights_ = self._by_view(self._machine.weights_, X.names)

    def _learn_ordered(self, X: Any, y: Array, weight: Array) -> None:
        self._kernels = KernelPipeline(self.kernel, self.completer, self.random_state, self.presence)
        K = self._kernels.fit_transform(X)
        self.completer_ = self._kernels.completer_
        machine = self._make_machine()
        self.C_ = self._select_C(machine, K, y, weight) if self.C == "cv" else float(self.C)
        machine.set_params(C=self.C_, probability=True)
        self._machine = machine.fit(K, y, sample_weight=weight)

    def _make_machine(self) -> Any:
        """A machine on complete kernels, or on incomplete ones with absent views read as zero."""
        if self.combine == "mkl":
            return MKLClassifier(norm=self.norm, tol=self.tol)
        if self.combine == "alignment":
            return AverageKernelSVC("alignment", normalize="rows", tol=self.tol)
        kind = SkillKernelSVC if self.combine == "skill" else AverageKernelSVC
        return kind(normalize="rows", tol=self.tol)

    def _select_C(self, machine: Any, K: KernelViews, y: Array, weight: Array) -> float:
        if self.combine == "average":  # one kernel, whatever C is
            rows = selection_samples(y)
            K = K if len(rows) == len(y) else subset(K, rows, rows)
            average = _average_kernels(K, np.ones(K.n_views))
            return select_C(AverageKernelSVC(tol=self.tol), average, y[rows], weight[rows])
        if self.combine == "skill":  # one for each fold: weights may not know whom they are tried on
            return select_C(AverageKernelSVC(tol=self.tol), K, y, weight, _average_by_skill)
        return select_C(machine, K, y, weight)

    def _predict_proba_rows(self, X: Any) -> Array:
        return np.asarray(self._machine.predict_proba(self._kernels.transform(X)))

    def contributions(self, X: Any) -> Array:
        """What each view adds to each sample's scores, rows x views x classes (two classes: of both).

        Parts of the machines' scores before probabilities are made of them; with their offsets they sum to
        the scores; so does who has which view, if that counts, which has no column here.  Views that were
        completed contribute too: what the others lead one to expect of them.
        """
        return self._view_parts(X, self._parts_of_rows)

    def _parts_of_rows(self, X: Any) -> Array:
        parts = self._machine.contributions(self._kernels.transform(X))[:, : len(self._order.views)]
        return np.concatenate([-parts, parts], axis=2) if parts.shape[2] == 1 else parts
