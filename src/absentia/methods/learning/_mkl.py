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
own.  Scores of more than two classes, less the bias, are divided by the share of the machine's
norm that is in the views of the sample: else classes with their weight in other views would lose
(``KernelClassifier``).

The baseline, hard to beat, is one machine on the average of the kernels (:class:`AverageKernelSVC`).  A
sample with two views is shorter than one with six; ``normalize="rows"`` divides the average by
``sqrt(e_i e_j)``, with e the number of views that a sample has.

A class against very many others has few samples of its own, and the hinge loss gives it up: nearly all
scores are -1.  ``loss="squared_hinge"`` does not.  With ``C_i loss^2`` the dual is that of a machine
without losses on the kernel plus ``1 / (2 C_i)`` on its diagonal; as the objective at zero, ``sum C``, is
no less than any ``C_i loss_i^2``, no coefficient ``2 C_i loss_i`` is beyond ``2 sqrt(C_i sum C)``.
"""

from collections.abc import Sequence
from dataclasses import KW_ONLY
from typing import Annotated, Any, Literal, NamedTuple, Self

import numpy as np

from absentia.core import Array, NonNegative, Positive, Range, estimator
from absentia.core.linalg import inverse_sqrt
from absentia.core.optimize import Callback, Solution, Status, StoppingRule
from absentia.data import KernelViews
from absentia.methods.learning._base import Regressor
from absentia.methods.learning._machines import (
    FittedMachine,
    KernelClassifier,
    KernelMachine,
    Training,
    learn_machines,
    map_in_threads,
    view_norms,
)
from absentia.methods.learning.engine import (
    GAP,
    Box,
    Machine,
    NormBall,
    Polytope,
    Region,
    Stack,
    Sum,
    relative_gap,
    rounding_error,
)

Norm = Annotated[float, Range(least=1)]
_MANY_CLASSES = 20  # from which on the hinge loss does worse than its square (benchmarks/many_classes.py)

# --------------------------------------------------------------------------------------- equal weights


class _Average(NamedTuple):
    """``sum_p eta_p K^_p`` with equal weights; what each sample's rows and columns were multiplied by."""

    eta: Array
    scale: Array
    stack: Stack  # the K^_p, of the samples as they came
    kernel: Sum
    bound: Array  # of the coefficients

    @classmethod
    def of(cls, training: Training, rows: bool, squared: bool) -> Self:
        """With `rows`, divided by ``sqrt(e_i e_j)``, ``e = S eta``; for `squared` losses, if so."""
        m, stack, C = len(training.stack), training.stack, training.bound
        eta, scale = np.full(m, 1 / m), np.ones(stack.n)
        if rows:
            scale = inverse_sqrt(training.observed @ eta)
            stack = stack.rescale(training.in_given_order(scale))
        if not squared:
            return cls(eta, scale, stack, stack.ordered_sum(eta, training.order), C)
        ridge = np.divide(0.5, C, out=np.zeros(len(C)), where=C > 0)
        kernel = stack.ordered_sum(eta, training.order, ridge)
        return cls(eta, scale, stack, kernel, 2 * np.sqrt(C * C.sum()))


def _fit_average(given: _Average, training: Training, y: Array, tol: float) -> FittedMachine:
    """The machine on the average."""
    eta, scale, stack, kernel, bound = given
    box = Box.classification(y, bound)
    machine = kernel.fit(box, tol=0.9 * tol)
    norms = view_norms(eta, stack.products(training.in_given_order(machine.z))[1])
    hidden = rounding_error(box, machine, kernel.largest)
    gap = relative_gap(machine.primal, machine.dual) + (hidden / machine.primal if machine.primal else 0.0)
    return FittedMachine(eta, machine.z * scale, machine.bias, norms, gap, _solution(machine, gap, tol))


def _solution(machine: Machine, gap: float, tol: float) -> Solution[Machine]:
    """How the machine's solver ended, in the words of the one iteration loop."""
    status = Status.CONVERGED if gap <= tol else Status.MAX_ITER
    return Solution(machine, np.array([machine.primal]), status, StoppingRule(tol, GAP).message(status))


@estimator
class AverageKernelSVC(KernelClassifier):
    """A support vector machine on the average of kernels; an absent view counts as zero.

    The baseline for :class:`MKLClassifier` and :class:`AbsentMKLClassifier`, with the same interface and
    the same treatment of samples without views: one machine, no weights learned by it.

    Parameters
    ----------
    C : float or "cv", default 1.0
        Weight of the training errors; ``"cv"`` selects it by the log-loss of held-out samples.
    normalize : {"rows", None}, default None
        ``"rows"``: divide by the root of the number of views that each of two samples has, so that samples
        with few views are as long as others.
    loss : {"auto", "hinge", "squared_hinge"}, default "auto"
        Of training errors; ``"auto"``: squared from twenty classes on, whose machines, one against the
        rest, have few samples on one side (``benchmarks/many_classes.py``).
    tol : float, default 1e-3
        Relative duality gap at which to stop.
    class_weight : dict, "balanced" or None
        Factor on C by class.
    probability : bool, default False
        Offer ``predict_proba``, calibrated on scores of five-fold held-out samples (five more fits), by
        which classes are decided then; without, the largest score decides.

    Attributes
    ----------
    C_, weights_, classes_, support_, dual_coef_, bias_, gap_, objective_, n_iter_, converged_, status_,
    usable_, decision_
        As in :class:`MKLClassifier`; the objective is the machine's.

    Examples
    --------
    >>> from absentia import AverageKernelSVC, ViewKernels, datasets, missingness
    >>> views, y = datasets.load_digit_views(n_samples=60, return_X_y=True)
    >>> kernels = ViewKernels().fit_transform(views.hide(missingness.mcar(views, 0.2, random_state=0)))
    >>> machine = AverageKernelSVC(normalize="rows").fit(kernels, y < 5)
    >>> machine.weights_.shape, machine.converged_
    ((6,), True)
    """

    _: KW_ONLY
    C: Positive | Literal["cv"] = 1.0
    normalize: Literal["rows"] | None = None
    loss: Literal["auto", "hinge", "squared_hinge"] = "auto"
    tol: Positive = 1e-3
    class_weight: Any = None
    probability: bool = False

    _orders_sums = True

    @property
    def tau_min(self) -> float:  # type: ignore[override]
        """Least share of the margin to divide scores of several classes by: 1, where rows are scaled."""
        return 1.0 if self.normalize == "rows" else 0.2

    def _train(self, training: Training, signs: Sequence[Array]) -> list[FittedMachine]:
        many = len(self.classes_) >= _MANY_CLASSES
        squared = self.loss == "squared_hinge" or (many and self.loss == "auto")
        given = _Average.of(training, self.normalize == "rows", squared)  # for all machines
        return map_in_threads(lambda y: _fit_average(given, training, y, self.tol), signs, training.stack)

    def _rescale(self, X: KernelViews, scores: Array) -> Array:
        return scores if self.normalize is None else scores * inverse_sqrt(X.observed @ self._weights.T)


# -------------------------------------------------------------------------------------- learned weights


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
    callback : callable or None, default None
        Gets a :class:`absentia.core.optimize.Progress` after each step; the fit stops if it returns True.
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
    objective_ : ndarray, a value for each iteration, or a list of one for each of more than two classes
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
    callback: Callback | None = None
    verbose: bool = False

    def _train(self, training: Training, signs: Sequence[Array]) -> list[FittedMachine]:
        boxes = [Box.classification(y, training.bound) for y in signs]
        region = _make_weight_region(len(training.stack), self.norm)
        return learn_machines(training, boxes, region, tol=self.tol, callback=self._make_callback())


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
        Gets a :class:`absentia.core.optimize.Progress` after each step; the fit stops if it returns True.
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
    objective_ : ndarray, a value for each iteration
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
