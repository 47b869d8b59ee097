"""Complete, then regress: kernels of the views, their completion, ridge regression on their sum.

As for classes (``_absent``), with kernel ridge regression whose penalty leave-one-out chooses, or with
support vector regression where the weights of the views are learned together with it.
"""

from dataclasses import KW_ONLY
from typing import Any, Literal

import numpy as np

from absentia.core import Array, NonNegative, Positive, RandomState, estimator
from absentia.kernels import CombineKernels
from absentia.methods.learning import MKLRegressor, Norm, Regressor, scatter_rows
from absentia.methods.prediction._composite import Composite
from absentia.methods.prediction._kernel_pipeline import KernelPipeline
from absentia.methods.prediction._ridge import FusedRidge, Ridge, skill_weights

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
        weights = skill_weights(K, y[:, None], weight) if self.combine == "skill" else equal
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
