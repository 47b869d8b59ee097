"""Complete, then classify or regress: kernels of the views, their completion, one machine on their sum.

The second stage of the papers on completion, and the baseline of learning without it (`completer` None):

    Views --ViewKernels--> kernels --completer--> complete kernels --weights--> one --machine--> answers

All of it is learned on training samples.  Completion sees no labels; C and, of support vector machines, the
probabilities are learned from scores of held-out samples, whose kernels were completed together with the
others.

Numbers are learned by kernel ridge regression, whose penalty leave-one-out selects, or by support vector
regression where the weights of the views are learned together with it.
"""

from dataclasses import KW_ONLY, replace
from typing import Any, Literal

import numpy as np

from absentia.core import Array, NonNegative, Positive, RandomState, estimator
from absentia.data import KernelViews
from absentia.kernels import CombineKernels
from absentia.methods.learning import (
    AverageKernelSVC,
    KernelLogistic,
    MKLClassifier,
    MKLRegressor,
    Norm,
    Regressor,
    scatter_rows,
    select_C,
    selection_samples,
    subset,
)
from absentia.methods.prediction._composite import Composite, CompositeClassifier, KernelPipeline
from absentia.methods.prediction._ridge import FusedRidge, Ridge, skill_weights


def _average_kernels(K: KernelViews) -> KernelViews:
    """The average of kernels as a view of its own, every sample of unit length."""
    combined = CombineKernels().fit(K).transform(K)
    average = KernelViews.from_dense(combined[None], ids=K.ids, names=["average"])
    return replace(average, groups=K.groups)


@estimator
class AbsentClassifier(CompositeClassifier):
    """Complete the kernels of incomplete views, and learn one machine on their average.

    Takes :class:`Views` or square :class:`KernelViews`.

    Parameters
    ----------
    completer : str, completer or None, default "cvkt"
        Name of a completer (``absentia complete --list``) or a completer; None: nothing is completed, and
        absent views count as zero.
    kernel : str or ViewKernels, default "rbf"
        Of the features of every view.  ``"precomputed"`` says that kernels will come, which scikit-learn
        has to know to split them.
    combine : {"average", "mkl"}, default "average"
        Weights of the views: equal, or learned together with a support vector machine.
    machine : {"logistic", "svm"}, default "logistic"
        On the average kernel: logistic regression, whose probabilities need no calibration, or a support
        vector machine.
    norm : float, default 2
        With ``"mkl"``: p of the weights' p-norm; 1 selects few views.
    C : float or "cv", default "cv"
        Weight of the training errors; ``"cv"`` selects it by the log-loss of held-out samples, of
        logistic regression by leaving out each in turn.
    class_weight : dict, "balanced" or None
        Factor on C by class.
    tol : float, default 1e-3
        Relative duality gap at which a support vector machine stops.
    presence : bool, default False
        Let who has which view count, as one more kernel; for absence that tells about the class, where
        samples to come are absent by the same rules.
    random_state : int, Generator, RandomState or None
        Of the completer, if it is given by name.

    Attributes
    ----------
    C_ : float
    loo_proba_ : ndarray of shape (n_samples, n_classes)
        Of logistic regression: probabilities of each training sample by the machine without it; NaN for
        samples without a view or weight.
    weights_ : ndarray of shape (n_views,), or (n_classes, n_views) with more than two classes
        Without that of who has which view.
    completer_ : the fitted completer, or None
    classes_, decision_, names_in_, ids_

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
    combine: Literal["average", "mkl"] = "average"
    machine: Literal["logistic", "svm"] = "logistic"
    norm: Norm = 2
    C: Positive | Literal["cv"] = "cv"
    class_weight: Any = None
    tol: Positive = 1e-3
    presence: bool = False
    random_state: RandomState = None

    def _learn(self, X: Any, y: Array, weight: Array) -> None:
        super()._learn(X, y, weight)
        self.weights_ = self._reorder_views(self._machine.weights_, X.names)

    @property
    def completer_(self) -> Any:
        """The fitted completer, or None."""
        return self._kernels.completer_

    def _learn_ordered(self, X: Any, y: Array, weight: Array) -> Array | None:
        self._kernels = KernelPipeline(self.kernel, self.completer, self.random_state, self.presence)
        K = self._kernels.fit_transform(X)
        if self.combine == "average" and self.machine == "logistic":
            self._machine: Any = KernelLogistic("loo" if self.C == "cv" else self.C)
            self.C_ = self._machine.fit(K, y, sample_weight=weight).C_
            return self._machine.__dict__.pop("loo_proba_")  # in the order of learning
        self.C_ = self._select_C(K, y, weight) if self.C == "cv" else float(self.C)
        machine = self._make_svm().set_params(C=self.C_, probability=True)
        self._machine = machine.fit(K, y, sample_weight=weight)
        return None

    def _make_svm(self) -> Any:
        """A machine on complete kernels, or on incomplete ones with absent views read as zero."""
        if self.combine == "mkl":
            return MKLClassifier(norm=self.norm, tol=self.tol)
        return AverageKernelSVC(normalize="rows", tol=self.tol)

    def _select_C(self, K: KernelViews, y: Array, weight: Array) -> float:
        if self.combine == "mkl":
            return select_C(self._make_svm(), K, y, weight)
        rows = selection_samples(y)  # one kernel, whatever C is
        average = _average_kernels(K if len(rows) == len(y) else subset(K, rows, rows))
        return select_C(AverageKernelSVC(tol=self.tol), average, y[rows], weight[rows])

    def _predict_proba_rows(self, X: Any) -> Array:
        return np.asarray(self._machine.predict_proba(self._kernels.transform(X)))

    def contributions(self, X: Any) -> Array:
        """What each view adds to each sample's scores, rows x views x classes (two classes: of both).

        Parts of the machines' scores before probabilities are made of them; with their offsets they sum to
        the scores; so does who has which view, if that counts, which has no column here.  Views that were
        completed contribute too: what the others lead one to expect of them.
        """
        return self._predict_view_parts(X, self._decompose_rows)

    def _decompose_rows(self, X: Any) -> Array:
        parts = self._machine.contributions(self._kernels.transform(X))[:, : len(self._order.views)]
        return np.concatenate([-parts, parts], axis=2) if parts.shape[2] == 1 else parts


_EPSILON = 0.1  # of the machine, in standard deviations of the targets


@estimator
class AbsentRegressor(Composite, Regressor):
    """Complete the kernels of incomplete views, and learn numbers from their sum.

    Takes :class:`Views` or square :class:`KernelViews`.

    Parameters
    ----------
    completer : str, completer or None, default "cvkt"
        What completes the kernels, as in :class:`AbsentClassifier`; None: absent views count as zero.
    kernel : str or ViewKernels, default "rbf"
        Of the features of every view; ``"precomputed"`` says that kernels will come.
    combine : {"average", "skill", "fusion", "mkl"}, default "average"
        Kernel ridge regression on the average of the kernels; with weights of the views by the share of
        the targets' variance that each alone explains of samples left out; one regression for each view on
        the samples that have it, nothing completed, predictions averaged with these weights; or support
        vector regression with learned weights.
    norm : float, default 2
        With ``"mkl"``: p of the weights' p-norm.
    C : float or "cv", default 1.0
        With ``"mkl"``: weight of errors beyond a tenth of the targets' deviation, these having unit
        deviation; ``"cv"`` selects it by the squared error of held-out samples.
    penalty : float or "loo", default "loo"
        Of the ridge, in units of the kernel's mean eigenvalue; selected by leaving one sample out.
    presence : bool, default False
        Let who has which view count, as in :class:`AbsentClassifier`.
    random_state : int, Generator, RandomState or None
        Of the completer, if it is given by name.

    Attributes
    ----------
    penalty_ : float
        NaN with ``"mkl"`` and, of several regressions, with ``"fusion"``.
    loo_predictions_ : ndarray of shape (n_samples,)
        What is predicted of each training sample once it is left out; NaN for samples without a view or
        weight.  Not with ``"mkl"``.
    weights_ : ndarray of shape (n_views,)
        Without that of who has which view.
    completer_ : the fitted completer, or None
    names_in_, ids_

    Examples
    --------
    >>> from absentia import AbsentRegressor, datasets, missingness
    >>> views, y = datasets.load_digit_views(n_samples=80, return_X_y=True)
    >>> views = views.hide(missingness.mcar(views, 0.3, random_state=0))
    >>> bool(AbsentRegressor().fit(views[:60], y[:60]).score(views[60:], y[60:]) > 0.3)
    True
    """

    completer: None | str | Any = "cvkt"  # noqa: RUF036 - a text is read as the first that it can be
    _: KW_ONLY
    kernel: Any = "rbf"
    combine: Literal["average", "skill", "fusion", "mkl"] = "average"
    norm: Norm = 2
    C: Positive | Literal["cv"] = 1.0
    penalty: NonNegative | Literal["loo"] = "loo"
    presence: bool = False
    random_state: RandomState = None

    def _learn(self, X: Any, y: Array, weight: Array) -> None:
        train, samples = self._order_training(X, weight, y)
        y, weight = y[samples], weight[samples]
        completer = None if self.combine == "fusion" else self.completer
        self._kernels = KernelPipeline(self.kernel, completer, self.random_state, self.presence)
        K = self._kernels.fit_transform(train)
        learn = self._learn_machine if self.combine == "mkl" else self._learn_ridge
        self.weights_ = self._reorder_views(learn(K, y, weight), X.names)
        if not isinstance(self._machine, MKLRegressor):
            self.loo_predictions_ = scatter_rows(self._machine.loo, samples, len(X))

    @property
    def completer_(self) -> Any:
        """The fitted completer, or None."""
        return self._kernels.completer_

    def _learn_machine(self, K: Any, y: Array, weight: Array) -> Array:
        """A machine on standardised targets; the weights of the views."""
        self._scale = max(float(np.sqrt(np.average((y - self._prior) ** 2, weights=weight))), 1e-300)
        self._machine: Ridge | FusedRidge | MKLRegressor = MKLRegressor(
            self.C, epsilon=_EPSILON, norm=self.norm
        )
        self._machine.fit(K, (y - self._prior) / self._scale, sample_weight=weight)
        self.penalty_ = float("nan")
        return np.asarray(self._machine.weights_)

    def _learn_ridge(self, K: Any, y: Array, weight: Array) -> Array:
        """Ridge regression on the sum of the kernels or on each; the weights of the views."""
        penalty = None if self.penalty == "loo" else float(self.penalty)
        if self.combine == "fusion":
            self._machine, self.penalty_ = FusedRidge.fit(K, y, weight, penalty), float("nan")
            return self._machine.weights
        equal = np.full(K.n_views, 1 / K.n_views)
        weights = skill_weights(K, y, weight) if self.combine == "skill" else equal
        self._sum = CombineKernels(weights).fit(K)
        kernel = np.asarray(self._sum.transform(K))
        ridge = self._machine = Ridge.fit(kernel, y, weight, penalty, K.groups)
        self.penalty_ = ridge.penalty
        return weights

    def _predict(self, X: Any) -> Array:
        return self._predict_rows(X, (), self._predict_targets)

    def _predict_targets(self, X: Any) -> Array:
        """Targets of rows that have a view."""
        rows = self._kernels.transform(X)
        if isinstance(self._machine, Ridge):
            return self._machine.predict(np.asarray(self._sum.transform(rows)))
        if isinstance(self._machine, FusedRidge):
            return self._machine.predict(rows)
        return np.asarray(self._prior + self._scale * self._machine.predict(rows))
