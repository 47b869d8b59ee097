"""Complete, then regress: kernels of the views, their completion, ridge regression on their sum.

As for classes (``_absent``), with kernel ridge regression whose penalty leave-one-out chooses, or with
support vector regression where the weights of the views are learned together with it.
"""

from dataclasses import KW_ONLY
from typing import Any, Literal, Self

import numpy as np
from sklearn.base import RegressorMixin

from absentia.core import Array, NonNegative, Positive, RandomState, estimator, suited_to
from absentia.kernels import CombineKernels
from absentia.methods.learning import (
    Either,
    Learner,
    MKLRegressor,
    Norm,
    as_targets,
    check_targets,
    mixed,
    warn_of_empty,
)
from absentia.methods.prediction._arranging import Arrangement
from absentia.methods.prediction._assembled import either, of_rows
from absentia.methods.prediction._prepared import Prepared, check_per_view
from absentia.methods.prediction._ridge import Ridge, as_shares, explained

EPSILON = 0.1  # of the machine, in standard deviations of the targets


@estimator
class AbsentRegressor(RegressorMixin, Learner):  # type: ignore[misc]
    """Complete the kernels of incomplete views, and learn numbers from their sum.

    Takes :class:`Views` or square :class:`KernelViews`.

    Parameters
    ----------
    completer : str, completer or None, default "cvkt"
        As in :class:`AbsentClassifier`.
    kernel : str or ViewKernels, default "rbf"
        As there.
    combine : {"average", "skill", "mkl"}, default "average"
        Kernel ridge regression on the average of the kernels; with weights of the views by the share of
        the targets' variance that each alone explains of samples left out; or support vector regression
        with learned weights.
    norm : float, default 2
        With ``"mkl"``: p of the weights' p-norm.
    C : float, default 1.0
        With ``"mkl"``: price of an error beyond a tenth of the targets' deviation, these having unit
        deviation.
    penalty : float or "loo", default "loo"
        Of the ridge, in units of the kernel's mean eigenvalue; chosen by leaving one sample out.
    presence : bool, default False
        Let who has which view count, as in :class:`AbsentClassifier`.
    random_state : int, Generator, RandomState or None
        Of the completer, if it is given by name.

    Attributes
    ----------
    penalty_ : float
        NaN with ``"mkl"``.
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
    combine: Literal["average", "skill", "mkl"] = "average"
    norm: Norm = 2
    C: Positive = 1.0
    penalty: NonNegative | Literal["loo"] = "loo"
    presence: bool = False
    random_state: RandomState = None

    @property
    def _input(self) -> Either:
        return either(self.kernel)

    def fit(self, X: Any, y: Any, sample_weight: Any = None) -> Self:
        """Learn from the training samples (kernels: square) and their targets."""
        self._check_parameters()
        X = self._input.check(X, self)
        y, weight = check_targets(X, y, sample_weight)
        warn_of_empty(X)
        self._prior = float(np.average(y, weights=weight))
        with suited_to(len(X)):
            X = self._input.learned(X, self)
            check_per_view(self.kernel, X.names)
            self._arrangement = Arrangement.of(X, weight, y)
            order = self._arrangement.samples
            weights = self._assemble(self._arrangement.train(X), y[order], weight[order])
        self.weights_ = np.zeros(X.n_views)
        views = self._arrangement.views
        self.weights_[[X.names.index(name) for name in views]] = weights[: len(views)]
        self._remember(X)
        return self

    def _assemble(self, X: Any, y: Array, weight: Array) -> Array:
        self._prepared = Prepared(self.kernel, self.completer, self.random_state, self.presence)
        K = self._prepared.fit(X)
        self._machine: Ridge | MKLRegressor
        self.completer_ = self._prepared.completes
        if self.combine == "mkl":
            self._scale = max(float(np.sqrt(np.average((y - self._prior) ** 2, weights=weight))), 1e-300)
            self._machine = MKLRegressor(self.C, epsilon=EPSILON, norm=self.norm)
            self._machine.fit(K, (y - self._prior) / self._scale, sample_weight=weight)
            self.penalty_ = float("nan")
            return np.asarray(self._machine.weights_)
        penalty = None if self.penalty == "loo" else float(self.penalty)
        skills = explained(K, y[:, None], weight) if self.combine == "skill" else np.ones(K.n_views)
        shares = as_shares(skills)
        self._sum = CombineKernels(shares).fit(K)
        self._kernel = np.asarray(self._sum.transform(K))
        self._machine = Ridge.fit(self._kernel, y, weight, penalty)
        self.penalty_ = self._machine.penalty
        return shares

    def predict(self, X: Any) -> Array:
        """Targets of the rows; the mean training target where no view is usable."""
        X = self._check_rows(X)
        return mixed(self._reach(X), of_rows(self._arrangement, X, 1, self._rows), self._prior)[:, 0]

    def _rows(self, X: Any) -> Array:
        rows = self._prepared.rows(X)
        if isinstance(self._machine, Ridge):
            found = self._machine.predict(np.asarray(self._sum.transform(rows)), self._kernel)
        else:
            found = self._prior + self._scale * self._machine.predict(rows)
        return np.asarray(found)[:, None]

    def score(self, X: Any, y: Any, sample_weight: Any = None) -> float:
        """R^2, the share of the targets' variance that is explained; `y` is in the order of the rows."""
        as_targets(self._check_rows(X), y, "target")
        return float(super().score(X, y, sample_weight))
