"""One support vector machine on an average of incomplete kernels: baselines of multiple kernel learning.

Weights of the views are fixed, or found without a machine in the loop:

===============  =====================================================================================
``weights``      how
===============  =====================================================================================
``"uniform"``    all equal: the average kernel, hard to beat
``"alignment"``  ``min_{v >= 0} | sum_p v_p H K_p H - y y' |``, H centring: Cortes, Mohri & Rostamizadeh,
                 "Algorithms for learning kernels based on centered alignment", JMLR 13 (2012)
``"margin"``     ``eta_p ~ gamma' Y K_p Y gamma`` at the nearest points of the two classes' hulls in the
                 sum of kernels: Aiolli & Donini, "EasyMKL", Neurocomputing 169 (2015)
===============  =====================================================================================

Absent views count as zero, ``K^_p = s_p s_p' o K_p``, in all of it.  Then a sample with two views is
shorter than one with six; ``normalize="rows"`` divides the average by ``sqrt(e_i e_j)``, with e the weight
of the views that a sample has (for uniform weights, the number of them up to a constant).

Notation: eta weights of the views; z signed coefficients of the samples; M, a the kernels' inner
products with one another and with the labels.

Departures: so that C means much the same for all, weights sum to one, and those by alignment spread the
samples as the uniform ones do; EasyMKL's own machine is replaced by the usual one with a hinge loss.  Its
hulls' nearest points, ``min (1 - lam) |sum gamma_i y_i phi(x_i)|^2 + lam |gamma|^2`` with gamma summing to
one in each class, are the hard-margin machine on ``(1 - lam) K + lam I`` up to scale, so the solver at hand
finds them.
"""

from collections.abc import Sequence
from dataclasses import KW_ONLY
from typing import Any, Literal

import numpy as np
from scipy.optimize import nnls

from absentia.core import Array, Fraction, Positive, estimator
from absentia.core.linalg import inverse_sqrt
from absentia.core.optimize import Solution, Status, StoppingRule
from absentia.data import KernelViews
from absentia.methods.learning._machines import (
    FittedMachine,
    KernelClassifier,
    Training,
    map_in_threads,
    part_norms,
)
from absentia.methods.learning.engine import (
    GAP,
    Box,
    Machine,
    Stack,
    relative_gap,
    rounding_error,
    without_dust,
)

# --------------------------------------------------------------------------------- weights of views


def _uniform_weights(m: int) -> Array:
    return np.full(m, 1 / m)


def _alignment_weights(stack: Stack, y: Array, counted: Array) -> Array:
    """``min_{v >= 0} v' M v - 2 a' v`` by non-negative least squares; uniform if nothing aligns.

    Scaled so that the samples are spread as in the average kernel: ``tr H K H`` is the same.  Nearly
    constant kernels have the largest weights for what they say; scaled to sum one they would leave no room
    for a margin at any ordinary C.
    """
    M, a, spread = stack.centred_products(y, counted)
    # v'Mv - 2a'v with M = U diag(d) U' is |diag(d)^1/2 U'v - diag(d)^-1/2 U'a|^2 up to a constant;
    # kernels are brought to the same length first, which changes no minimiser
    root = inverse_sqrt(np.diagonal(M))
    d, U = np.linalg.eigh(M * root[:, None] * root)
    keep = d > 1e-10 * max(d[-1], 0.0)
    if not keep.any():
        return _uniform_weights(len(stack))
    B = np.sqrt(d[keep])[:, None] * U[:, keep].T
    v = without_dust(nnls(B, (U[:, keep].T @ (a * root)) / np.sqrt(d[keep]))[0] * root)
    return v * spread.mean() / float(v @ spread) if v.any() else _uniform_weights(len(stack))


def _margin_weights(stack: Stack, y: Array, counted: Array, lam: float, tol: float) -> Array:
    """EasyMKL: how far apart each kernel holds the nearest points of the two hulls."""
    sizes = [float((y[counted] == sign).sum()) for sign in (1, -1)]
    # distance^2 of the hulls is at least lam (1/n+ + 1/n-), so alpha = 2 gamma / distance^2 is at most
    # half of this: the box never binds
    bound = np.zeros(stack.n)
    bound[counted] = 4 / (lam * sum(1 / size for size in sizes))
    kernel = stack.weighted_sum(np.full(len(stack), 1 - lam), ridge=lam)
    z = kernel.fit(Box.classification(y, bound), tol=tol).z
    q = without_dust(np.maximum(stack.products(z)[1], 0.0))
    return q / q.sum() if q.sum() > 0 else _uniform_weights(len(stack))


# --------------------------------------------------------------------------------------- the machine


def _fixed_machine(training: Training, y: Array, eta: Array, rows: bool, tol: float) -> FittedMachine:
    """The machine on ``sum_p eta_p K^_p``, with `rows` divided by ``sqrt(e_i e_j)``, ``e = S eta``."""
    scale = inverse_sqrt(training.observed @ eta) if rows else np.ones(training.stack.n)
    stack = training.stack.rescale(scale) if rows else training.stack
    kernel, box = stack.weighted_sum(eta), Box.classification(y, training.bound)
    machine = kernel.fit(box, tol=0.9 * tol)
    norms = part_norms(eta, stack.products(machine.z)[1])
    hidden = rounding_error(box, machine, kernel.largest)
    gap = relative_gap(machine.primal, machine.dual) + (hidden / machine.primal if machine.primal else 0.0)
    return FittedMachine(eta, machine.z * scale, machine.bias, norms, gap, _solution(machine, gap, tol))


def _solution(machine: Machine, gap: float, tol: float) -> Solution[Machine]:
    """How the machine's solver ended, in the words of the one iteration loop."""
    status = Status.CONVERGED if gap <= tol else Status.MAX_ITER
    return Solution(machine, np.array([machine.primal]), status, StoppingRule(tol, GAP).message(status))


@estimator
class AverageKernelSVC(KernelClassifier):
    """A support vector machine on a weighted average of kernels; an absent view counts as zero.

    The baselines for :class:`MKLClassifier` and :class:`AbsentMKLClassifier`, with the same interface and
    the same treatment of samples without views: one machine, no weights learned by it.

    Parameters
    ----------
    weights : {"uniform", "alignment", "margin"}, default "uniform"
        All equal; those that bring the sum nearest to the labels (centred alignment); or those by how
        far apart each kernel holds the classes (EasyMKL).  With views absent the classes come nearest at
        samples that lack a good view, and ``"margin"`` may well prefer the others; try a larger `lam`.
    C : float or "cv", default 1.0
        Weight of the training errors; ``"cv"`` selects it by the log-loss of held-out samples.
    normalize : {"rows", None}, default None
        ``"rows"``: divide by the root of the weight of the views that each of two samples has, so that
        samples with few views are as long as others.
    tol : float, default 1e-3
        Relative duality gap at which to stop.
    lam : float, default 0.1
        Only ``"margin"``: from 0 (nearest points of the classes) to 1 (their means).
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
    >>> machine = AverageKernelSVC("alignment", normalize="rows").fit(kernels, y < 5)
    >>> machine.weights_.shape, machine.converged_
    ((6,), True)
    """

    weights: Literal["uniform", "alignment", "margin"] = "uniform"
    _: KW_ONLY
    C: Positive | Literal["cv"] = 1.0
    normalize: Literal["rows"] | None = None
    lam: Fraction = 0.1
    tol: Positive = 1e-3
    class_weight: Any = None
    probability: bool = False

    @property
    def tau_min(self) -> float:  # type: ignore[override]
        """Least share of the margin to divide scores of several classes by: 1, where rows are scaled."""
        return 1.0 if self.normalize == "rows" else 0.2

    def _train(self, training: Training, signs: Sequence[Array]) -> list[FittedMachine]:
        def learn(y: Array) -> FittedMachine:
            return _fixed_machine(training, y, self._weigh(training, y), self.normalize == "rows", self.tol)

        return map_in_threads(learn, signs, training.stack)

    def _weigh(self, training: Training, y: Array) -> Array:
        stack, counted = training.stack, np.flatnonzero(training.bound > 0)
        if self.weights == "alignment":
            return _alignment_weights(stack, y, counted)
        if self.weights == "margin":
            return _margin_weights(stack, y, counted, self.lam, self.tol)
        return _uniform_weights(len(stack))

    def _rescale(self, X: KernelViews, scores: Array) -> Array:
        return scores if self.normalize is None else scores * inverse_sqrt(X.observed @ self._weights.T)
