"""Multiple kernel learning (MKL) in which an absent view counts as zero.

Lanckriet, Cristianini, Bartlett, El Ghaoui & Jordan, "Learning the kernel matrix with semidefinite
programming", JMLR 5 (2004); Rakotomamonjy, Bach, Canu & Grandvalet, "SimpleMKL", JMLR 9 (2008); for p-norms
Kloft, Brefeld, Sonnenburg & Zien, "lp-norm multiple kernel learning", JMLR 12 (2011).

Model: ``f(x) = sum_v <w_v, phi_v(x)> + b``, with ``phi_v(x) = 0`` where x lacks view v.  Objective:

    minimise  1/2 sum_v |w_v|^2 / eta_v  +  sum_i C_i loss(y_i, f(x_i))   over w, b, eta >= 0, |eta|_p <= 1,

with the hinge loss (classes) or the epsilon-insensitive one (numbers); p is the parameter `norm`.  With
``norm=1`` weights eta are sparse; larger norms spread them, and ``norm=inf`` would be the plain sum.
Solved to a duality gap by ``engine``; for ``norm > 1``, weights are updated in closed form in between.

Departures: several classes are learned one against the rest over the same kernels, with weights of their
own or shared.  Scores of more than two classes, less the bias, are divided by the share of the machine's
norm that is in the views of the sample: else classes with their weight in other views would lose
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
    FittedMachine,
    KernelClassifier,
    KernelMachine,
    Training,
    learn_machines,
)
from absentia.methods.learning.engine import Box, NormBall, Polytope, Region

Norm = Annotated[float, Range(least=1)]


def _make_weight_region(n_views: int, norm: float) -> Region:
    """The weights that are allowed: ``{eta in R^n_views : eta >= 0, |eta|_norm <= 1}``."""
    return Polytope.simplex(n_views) if norm == 1 else NormBall(n_views, float(norm))


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
        Offer ``predict_proba``, calibrated on scores of samples held out in five folds (five more fits).
        ``predict`` then takes the class of the largest probability, otherwise that of the largest score.
    shared_weights : bool, default False
        With more than two classes: learn one set of weights for all of them.
    callback : callable or None, default None
        Called with a :class:`absentia.core.Progress` after each step; the fit stops if it returns True.
    verbose : bool, default False
        Write a line on stderr every few seconds.

    Attributes
    ----------
    C_ : float
        The C that was used.
    weights_ : ndarray of shape (n_views,), or (n_classes, n_views) with more than two classes
        Weight eta of each view.
    classes_ : ndarray of shape (n_classes,)
    support_ : ndarray of shape (n_support,)
        Positions of the training samples that have a coefficient other than zero.
    dual_coef_ : ndarray of shape (n_machines, n_samples)
        Coefficients of the training samples; one machine for two classes, else one for each class.
    bias_ : ndarray of shape (n_machines,)
    gap_ : float
        Relative duality gap reached (the largest of the machines').
    objective_ : ndarray of shape (n_iter_,), or a list of one for each of more than two classes
        Objective after each step.
    n_iter_ : int
        Number of steps.
    converged_ : bool
        Whether the gap reached `tol`.
    status_ : str
        How the fit ended, in words.
    usable_ : ndarray of bool of shape (n_samples,)
        Which training samples have a view with weight.
    decision_ : ndarray of shape (n_classes,) or (n_classes, n_classes)
        What probabilities are multiplied by to decide, or costs of mistakes.

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

    def _train(self, training: Training, signs: Sequence[Array]) -> list[FittedMachine]:
        boxes = [Box.classification(y, training.bound) for y in signs]
        region = _make_weight_region(len(training.stack), self.norm)
        return learn_machines(
            training,
            boxes,
            region,
            tol=self.tol,
            shared=self.shared_weights,
            callback=self._make_callback(),
        )


@estimator
class MKLRegressor(Regressor, KernelMachine):
    """Support vector regression on a sum of kernels with learned weights; an absent view counts as zero.

    Fit on square :class:`KernelViews`, predict on rows of new samples against the training samples; or
    after ``ViewKernels()`` in a Pipeline on :class:`Views`.

    Parameters
    ----------
    C : float or "cv", default 1.0
        Weight of errors beyond `epsilon`, in units of y; ``"cv"`` selects it by the squared error of
        held-out samples.
    epsilon : float, default 0.1
        Errors up to this cost nothing.
    norm : float, default 1
        p of the weights' p-norm; 1 selects few views, 2 and more spread the weight.
    tol : float, default 1e-3
        Relative duality gap at which to stop.
    callback : callable or None, default None
        Called with a :class:`absentia.core.Progress` after each step; the fit stops if it returns True.
    verbose : bool, default False
        Write a line on stderr every few seconds.

    Attributes
    ----------
    C_ : float
        The C that was used.
    weights_ : ndarray of shape (n_views,)
        Weight eta of each view.
    support_ : ndarray of shape (n_support,)
        Positions of the training samples that have a coefficient other than zero.
    dual_coef_ : ndarray of shape (1, n_samples)
        Coefficients of the training samples.
    bias_ : ndarray of shape (1,)
    gap_ : float
        Relative duality gap reached.
    objective_ : ndarray of shape (n_iter_,)
        Objective after each step.
    n_iter_ : int
        Number of steps.
    converged_ : bool
        Whether the gap reached `tol`.
    status_ : str
        How the fit ended, in words.
    usable_ : ndarray of bool of shape (n_samples,)
        Which training samples have a view with weight.

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
        region = _make_weight_region(len(training.stack), self.norm)
        machines = learn_machines(training, [box], region, tol=self.tol, callback=self._make_callback())
        self._set_machines(X, machines, training.order)

    def _predict(self, X: KernelViews) -> Array:
        return self._raw_scores(X)[:, 0]
