"""Absent multiple kernel learning: margins measured in each sample's own observed views.

X. Liu, L. Wang, X. Zhu, M. Li, E. Zhu, T. Liu, L. Liu, Y. Dou & J. Yin, "Absent Multiple Kernel Learning
Algorithms", IEEE TPAMI 42 (2020).  Numbers of equations are the paper's.

Model: ``f(x) = sum_p s_p <w_p, phi_p(x)> + b`` over the views that x has.  The margin of sample i is
divided by ``sum_p s_ip |w_p|``, the part of the normal vector in its own views, instead of by all of it:

    maximise over w, b   min_i  y_i f(x_i) / sum_p s_ip |w_p|.                                          (7)

====================  ==================================================================================
``formulation``       how
====================  ==================================================================================
``"convex"``          C-AMKL, eq. 28: ``min u + sum C xi``, ``1/2 sum_p s_ip |w_p|^2 / g_p <= u`` for all i
``"iterative"``       I-AMKL, eq. 11: ``tau_i = sum_p s_ip |w_p| / sum_p |w_p|`` and w learned in turn
``"penalized"``       I-AMKL-lambda, eq. 18: ``tau`` free, its distance to the above penalised by lambda
====================  ==================================================================================

All three are ``min_eta V(eta)`` of ``_solver``:

* (11) with fixed tau has the linear term tau, the boxes ``C_i / tau_i``, and a simplex of weights
  (``beta = alpha / tau`` in eq. 14).
* (28) has the weights ``Q = {eta >= 0, sum_p s_ip eta_p <= 1 for every i}``: minimising over g and
  maximising over the multipliers theta of the rows gives ``max 1'beta - 1/2 sum theta`` subject to
  ``z' K_p z <= (S' theta)_p``, whose dual that is.
* (18) with given tau is (11) with ``C / Lambda``, ``Lambda = 1 + (lambda / n) sum_i |t_i|^2``,
  ``t_ip = tau_i - s_ip``.

Departures from the paper, and why:

* Theorem 1, one alpha for all kernels, holds only up to a scale for each kernel and a mask; eqs. 21 and 31,
  which rest on it, cost objective, cannot select kernels, and read ``K_p(:, x_i)`` unmasked: the absent
  views of the training samples.  They are offered as ``paper_form=True``, on complete kernels, for
  reproduction.
* Eqs. 25 and 26 do not have equal optima; (28) is what its equation says, no more.
* In I-AMKL-lambda ``tau = o``, the observed share of views, is a fixed point of the two steps (eq. 23), at
  which lambda only rescales C.  It is taken at once.  If every row has equally many views, this is
  :class:`MKLClassifier` with another C.  The paper starts from ``tau = 1`` and takes the two steps in turn
  (``two_step=True``: on the observed views, without the shared alpha).  That may end elsewhere: by eq. 23 a
  sample that is misclassified keeps its tau, and there lambda does not only rescale C.
* One training sample with all views makes (28) identical to :class:`MKLClassifier`;
  ``constraint="mean"``, one row ``mean_i s_i' eta <= 1``, does not degenerate so.
* I-AMKL has no guarantee to converge; tau is kept from `tau_min` up, because boxes ``C / tau`` grow without
  bound; the rounds end at `max_iter`, and ``converged_`` says how.  Algorithm 1 stops when no weight
  changes by more than eta_0; here rounds stop when the objective's relative change falls below `tol`,
  because weights of views that are alike can change long after the machine has settled.
* Scores are divided by the share of the margin that a sample's views carry (``decision_function``); eqs. 16
  and 32 do not, which for two classes changes no prediction.  For several, learned one against the rest,
  it does: machines with weights on different views would not be comparable otherwise.
* ``weights_`` of C-AMKL are not the gamma of eq. 28 but eta with ``w_p = eta_p sum_i z_i s_ip phi_p(x_i)``,
  which scores are made of.  At the optimum ``gamma_p`` is proportional to ``|w_p|^2 / eta_p`` and ``u = 1/2
  sum_p |w_p|^2 / eta_p``: then ``1/2 sum_p s_ip |w_p|^2 / gamma_p = u sum_p s_ip eta_p <= u``.  It is
  ``gamma_``.
"""

from collections.abc import Sequence
from dataclasses import KW_ONLY
from typing import Any, Literal, Self

import numpy as np
from sklearn.utils.validation import check_is_fitted

from absentia.core import Array, Fraction, NonNegative, Positive, PositiveInt, estimator, warn
from absentia.core.optimize import Callback
from absentia.data import AbsenceWarning, KernelViews, check_observed, check_square_kernels
from absentia.methods.learning._machines import FittedMachine, KernelClassifier, Training, learn_machines
from absentia.methods.learning._margins import (
    CompleteProblem,
    learn_iterative,
    learn_paper_convex,
    learn_paper_penalized,
    learn_two_steps,
    observed_share,
    penalized_box,
)
from absentia.methods.learning.engine import Box, KernelStack, Polytope


def _convex_region(rows: Array, constraint: str) -> Polytope:
    """Where C-AMKL's weights may be: bounded for the views in every row, or in the average row."""
    return Polytope.of_rows(rows) if constraint == "rows" else Polytope(rows.mean(axis=0)[None])


@estimator
class AbsentMKLClassifier(KernelClassifier):
    """Multiple kernel learning with margins measured in the views that each sample has.

    Fit on square :class:`KernelViews`, predict on rows of new samples against the training samples; or
    after ``ViewKernels()`` in a Pipeline on :class:`Views`.  Nothing is filled in.

    Parameters
    ----------
    formulation : {"convex", "iterative", "penalized"}, default "convex"
        C-AMKL, I-AMKL, I-AMKL-lambda; see the module's description.
    C : float or "cv", default 1.0
        Weight of the training errors; ``"cv"`` selects it by the log-loss of held-out samples.
    lam : float, default 1.0
        Only ``"penalized"``: weight of the penalty; without `two_step` and `paper_form` it only
        rescales C.
    two_step : bool, default False
        Only ``"penalized"``: the paper's two steps in turn, from ``tau = 1`` (eqs. 18 and 23), on what is
        observed.  Samples that stay misclassified keep their tau, so that this may end elsewhere than at
        the observed share of views, which is taken at once otherwise.
    constraint : {"rows", "mean"}, default "rows"
        Only ``"convex"``: bound the weights of every sample's views, or of the average sample's.
    tau_min : float, default 0.2
        Least share of the margin that a sample's views are taken to carry.
    tol : float, default 1e-3
        Relative duality gap at which to stop; where there are rounds, also the relative change of the
        objective from round to round.  (Algorithm 1 watches the largest change of a weight instead.)
    max_iter : int, default 10
        Rounds of ``"iterative"``, and of ``"penalized"`` with `two_step` or in the paper's form.
    class_weight : dict, "balanced" or None
        Factor on C by class.
    probability : bool, default False
        Offer ``predict_proba``, calibrated on scores of five-fold held-out samples (five more fits), by
        which classes are decided then; without, the largest score decides.
    paper_form : bool, default False
        Eqs. 31 and 21 as printed, for reproduction.  They read absent views of training samples, so
        ``fit(complete_kernels, y, observed=mask)`` wants complete kernels and a mask.
    callback : callable, optional
        Gets a :class:`absentia.core.optimize.Progress` after each step (where there are rounds, after each
        round); returning True stops.
    verbose : bool, default False
        Write a line to stderr every other second, and one at the end.

    Attributes
    ----------
    C_, weights_, classes_, support_, dual_coef_, bias_, gap_, objective_, n_iter_, converged_, status_,
    usable_, decision_
        As in :class:`MKLClassifier`.  Where there are rounds, objective and iterations are theirs, and the
        gap is the last round's, at `tau_`.
    gamma_ : ndarray, of the shape of `weights_`
        The paper's weights, which sum to one: of eq. 28 with ``"convex"``, where they are not `weights_`;
        else `weights_`.
    tau_ : ndarray of shape (n_samples,), or (n_classes, n_samples) with more than two classes
        The share of the margin that each training sample was learned with; ones with ``"convex"``.

    Notes
    -----
    Scores are in units of each sample's own margin.  With tau the share of the margin that its observed
    views carry (at least `tau_min`), the score is divided by tau for two classes, which leaves its sign
    alone.  For more, whose machines put their weights on different views, what the views say is divided by
    tau and the bias is not: as if the absent views agreed with the observed.

    Examples
    --------
    >>> from absentia import AbsentMKLClassifier, ViewKernels, datasets, missingness
    >>> views, y = datasets.load_digit_views(n_samples=60, return_X_y=True)
    >>> keep = missingness.fixed_per_sample(views, 2, random_state=0)
    >>> kernels = ViewKernels().fit_transform(views.hide(keep))
    >>> machine = AbsentMKLClassifier("convex").fit(kernels, y < 5)
    >>> machine.predict(kernels[:3]).shape
    (3,)
    """

    formulation: Literal["convex", "iterative", "penalized"] = "convex"
    _: KW_ONLY
    C: Positive | Literal["cv"] = 1.0
    lam: NonNegative = 1.0
    constraint: Literal["rows", "mean"] = "rows"
    tau_min: Fraction = 0.2
    tol: Positive = 1e-3
    max_iter: PositiveInt = 10
    class_weight: Any = None
    probability: bool = False
    two_step: bool = False
    paper_form: bool = False
    callback: Callback | None = None
    verbose: bool = False

    _own_margins = True

    @property
    def _dense(self) -> bool:  # type: ignore[override]
        return self.paper_form

    def fit(
        self, X: KernelViews, y: Any, sample_weight: Any = None, observed: Any = None, *, groups: Any = None
    ) -> Self:
        """Learn from square kernels of the training samples and their labels.

        Samples of one of the `groups` stay together in all that is held out: ``X.with_groups(groups)``.
        `observed` (samples x views, True = present) goes with ``paper_form=True`` alone: the mask under
        which complete kernels `X` are to be learned from.
        """
        self._check_parameters()
        X = check_square_kernels(X, type(self).__name__)
        self._mask = self._paper_mask(X, observed)
        return super().fit(X, y, sample_weight, groups=groups)

    def _check(self) -> None:
        if self.formulation == "iterative" and self.paper_form:
            raise ValueError("paper_form does not go with formulation='iterative'")
        if self.two_step and (self.paper_form or self.formulation != "penalized"):
            raise ValueError("two_step=True goes with formulation='penalized' without paper_form")

    def _paper_mask(self, X: KernelViews, observed: Any) -> Array | None:
        if not self.paper_form:
            if observed is not None:
                raise ValueError("observed goes with paper_form=True; use kernels.hide(observed) instead")
            return None
        if observed is None or not X.observed.all():
            raise ValueError(
                "paper_form=True wants complete kernels and, apart from them, who is taken to have which "
                "view: fit(complete_kernels, y, observed=mask); truly absent views cannot be read"
            )
        warn(
            "the paper's equations 21 and 31 read the absent views of training samples; "
            "their scores say nothing about data whose views are truly absent",
            AbsenceWarning,
        )
        return check_observed(observed, len(X), X.n_views)

    def _train(self, training: Training, signs: Sequence[Array]) -> list[FittedMachine]:
        if self.paper_form:
            return [self._learn_paper(training, y) for y in signs]
        options: dict[str, Any] = {
            "tol": self.tol,
            "max_iter": self.max_iter,
            "callback": self._make_callback(),
        }
        if self.two_step:
            return [learn_two_steps(training, y, self.lam, **options) for y in signs]
        if self.formulation == "iterative":
            return [learn_iterative(training, y, self.tau_min, **options) for y in signs]
        if self.formulation == "convex":
            self._warn_of_complete_rows(training.rows)
            tau = np.ones(len(training.bound))
            boxes = [Box.classification(y, training.bound) for y in signs]
            region = _convex_region(training.rows, self.constraint)
        else:
            tau = np.maximum(observed_share(training), self.tau_min)
            boxes = [penalized_box(training, y, self.lam, tau) for y in signs]
            region = Polytope.simplex(len(training.stack))
        machines = learn_machines(training, boxes, region, tol=self.tol, callback=self._make_callback())
        return [machine._replace(tau=tau) for machine in machines]

    def _set_machines(self, X: KernelViews, machines: Sequence[FittedMachine], order: Array) -> None:
        super()._set_machines(X, machines, order)
        tau = np.ones((len(machines), len(X)))
        tau[:, order] = [np.ones(len(X)) if machine.tau is None else machine.tau for machine in machines]
        self.tau_ = tau[0] if len(machines) == 1 else tau

    @property
    def gamma_(self) -> Array:
        """The paper's weights; see the module's description."""
        check_is_fitted(self, "weights_")
        if self.formulation != "convex":
            return self.weights_.copy()
        used = (self._weights > 0) & (self._norms > 0)
        energy = np.where(used, self._norms**2 / np.where(used, self._weights, 1.0), 0.0)
        total = energy.sum(axis=1, keepdims=True)
        gamma = energy / np.where(total > 0, total, 1.0)
        return gamma[0] if self.weights_.ndim == 1 else gamma

    def _warn_of_complete_rows(self, rows: Array) -> None:
        complete = rows.all(axis=1)
        if self.constraint == "rows" and complete.any() and not complete.all():
            warn(
                f"{complete.sum()} training sample(s) have every view, which makes this identical to "
                "MKLClassifier, absent views read as zero; constraint='mean' does not degenerate so",
                AbsenceWarning,
            )

    # ------------------------------------------------------------------------------- as the paper has it

    def _learn_paper(self, training: Training, y: Array) -> FittedMachine:
        assert self._mask is not None
        mask = self._mask[np.ix_(training.order, self._views)]
        assert isinstance(training.stack, KernelStack)
        complete = CompleteProblem(training.stack, mask, y, training.bound)
        if self.formulation == "convex":
            region = _convex_region(mask[training.bound > 0], self.constraint)
            return learn_paper_convex(complete, region, tol=self.tol)
        return learn_paper_penalized(complete, self.lam, tol=self.tol, max_iter=self.max_iter)

    def _raw_scores(self, X: KernelViews) -> Array:
        if not self.paper_form:
            return super()._raw_scores(X)
        if not X.column_observed.all():
            raise ValueError("paper_form=True wants the columns, the training samples, complete")
        scores = np.tile(self.bias_, (len(X), 1))
        for v, name in enumerate(X.names):  # eq. 32
            scores[X.observed[:, v]] += X.operator(name) @ np.ascontiguousarray(self.dual_coef_.T)
        return scores

    def _fit_options(self, rows: Array) -> dict[str, Any]:
        return {} if self._mask is None else {"observed": self._mask[rows]}
