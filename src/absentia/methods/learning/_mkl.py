"""Multiple kernel learning with absent views read as zero.

Lanckriet, Cristianini, Bartlett, El Ghaoui & Jordan, "Learning the kernel matrix with semidefinite
programming", JMLR 5 (2004); Rakotomamonjy, Bach, Canu & Grandvalet, "SimpleMKL", JMLR 9 (2008); for p-norms
Kloft, Brefeld, Sonnenburg & Zien, "lp-norm multiple kernel learning", JMLR 12 (2011).

Model: ``f(x) = sum_p <w_p, phi_p(x)> + b``, with ``phi_p(x) = 0`` where x lacks view p.  Objective:

    minimise  1/2 sum_p |w_p|^2 / eta_p  +  sum_i C_i loss(y_i, f(x_i))   over w, b, eta >= 0, |eta|_p <= 1,

with the hinge loss or the epsilon-insensitive one.  ``norm=1`` makes weights sparse; larger norms spread
them, and ``norm=inf`` would be the plain sum.  Solved to a duality gap by
``_solver``; weights for ``norm > 1`` are updated in closed form between machines.

Departures: several classes are learned one against the rest over the same kernels, with weights of their
own or shared; then scores take into account how much of a machine a sample's views can reach
(``KernelClassifier``).
"""

from collections.abc import Sequence
from dataclasses import KW_ONLY
from typing import Annotated, Any, Literal

from absentia.core import Array, NonNegative, Positive, Range, estimator
from absentia.core.optimize import Callback
from absentia.data import KernelViews
from absentia.methods.learning._base import Regressor
from absentia.methods.learning._machines import (
    KernelClassifier,
    KernelMachine,
    Learned,
    Training,
    learn_machines,
)
from absentia.methods.learning.engine import Box, NormBall, Polytope, Region

Norm = Annotated[float, Range(least=1)]


def _weight_region(m: int, norm: float) -> Region:
    """``{eta >= 0, |eta|_norm <= 1}``."""
    return Polytope.simplex(m) if norm == 1 else NormBall(m, float(norm))


@estimator
class MKLClassifier(KernelClassifier):
    """A support vector machine on a sum of kernels with learned weights; an absent view counts as zero.

    Fit on square :class:`KernelViews`, predict on rows of new samples against the training samples; or
    after ``ViewKernels()`` in a Pipeline on :class:`Views`.

    Parameters
    ----------
    C : float or "cv", default 1.0
        Weight of the training errors; ``"cv"`` selects it by the log-loss of held-out samples.
    norm : float, default 1
        p of the weights' p-norm; 1 selects few views, 2 and more spread the weight.  For equal weights
        use :class:`AverageKernelSVC`.
    tol : float, default 1e-3
        Relative duality gap at which to stop.
    class_weight : dict, "balanced" or None
        Factor on C by class.
    probability : bool, default False
        Offer ``predict_proba``, calibrated on scores of five-fold held-out samples (five more fits), by
        which classes are decided then; without, the largest score decides.
    shared_weights : bool, default False
        With more than two classes: the same weights for all classes.
    callback, verbose : callable or None, bool
        Gets a :class:`absentia.core.Progress` each step, True stops; lines on stderr now and then.

    Attributes
    ----------
    C_ : float
        The C that was used.
    weights_ : ndarray of shape (n_views,), or (n_classes, n_views) with more than two classes
    classes_ : ndarray
    support_ : ndarray
        Positions of training samples with a coefficient.
    dual_coef_, bias_ : ndarray
    gap_ : float
        Relative duality gap reached (the largest of the classes').
    objective_ : ndarray, or one for each of more than two classes
        Objective after each step.
    n_iter_, converged_, status_
    usable_ : ndarray of bool
        Which training samples have a view with weight.
    decision_weights_ : ndarray of shape (n_classes,)
        What probabilities are multiplied by to decide: ones.

    Examples
    --------
    >>> from absentia import MKLClassifier, ViewKernels, datasets, missingness
    >>> views, y = datasets.load_digit_views(n_samples=60, return_X_y=True)
    >>> kernels = ViewKernels().fit_transform(views.hide(missingness.mcar(views, 0.2, random_state=0)))
    >>> machine = MKLClassifier().fit(kernels, y < 5)
    >>> machine.converged_, machine.gap_ <= 1e-3
    (True, True)
    """

    C: Positive | Literal["cv"] = 1.0
    _: KW_ONLY
    norm: Norm = 1
    tol: Positive = 1e-3
    class_weight: Any = None
    probability: bool = False
    shared_weights: bool = False
    callback: Callback | None = None
    verbose: bool = False

    def _train(self, training: Training, signs: Sequence[Array]) -> list[Learned]:
        boxes = [Box.classification(y, training.bound) for y in signs]
        region = _weight_region(len(training.stack), self.norm)
        shared = self.shared_weights
        return learn_machines(
            training, boxes, region, tol=self.tol, shared=shared, callback=self._make_callback()
        )


@estimator
class MKLRegressor(Regressor, KernelMachine):
    """Support vector regression on a sum of kernels with learned weights; an absent view counts as zero.

    Parameters
    ----------
    C : float or "cv", default 1.0
        Weight of errors beyond `epsilon`, in units of y; ``"cv"`` selects it by the squared error of
        held-out samples.
    epsilon : float, default 0.1
        Errors up to this cost nothing.
    norm, tol, callback, verbose
        As in :class:`MKLClassifier`.

    Attributes
    ----------
    C_, weights_, support_, dual_coef_, bias_, gap_, objective_, n_iter_, converged_, status_, usable_
        As in :class:`MKLClassifier`.

    Examples
    --------
    >>> import numpy as np
    >>> from absentia import KernelViews, MKLRegressor
    >>> x = np.linspace(0, 6, 40)
    >>> K = np.exp(-np.subtract.outer(x, x) ** 2)
    >>> kernels = KernelViews.from_dense([K, np.eye(40)])
    >>> bool(MKLRegressor(C=10, epsilon=0.01).fit(kernels, np.sin(x)).score(kernels, np.sin(x)) > 0.99)
    True
    """

    C: Positive | Literal["cv"] = 1.0
    _: KW_ONLY
    epsilon: NonNegative = 0.1
    norm: Norm = 1
    tol: Positive = 1e-3
    callback: Callback | None = None
    verbose: bool = False

    def _learn(self, X: KernelViews, y: Array, weight: Array) -> None:
        training = self._training(X, y, weight)
        box = Box.regression(y[training.order], training.bound, self.epsilon)
        region = _weight_region(len(training.stack), self.norm)
        machines = learn_machines(training, [box], region, tol=self.tol, callback=self._make_callback())
        self._set_machines(X, machines, training.order)

    def _predict(self, X: KernelViews) -> Array:
        return self._raw_scores(X)[:, 0]
