"""Cross-view kernel transfer: predict a view's kernel from the features of all other views.

Reference
---------
R. Huusari, C. Capponi, P. Villoutreix, H. Kadri. Cross-view kernel transfer. Pattern Recognition 129,
108759, 2022.

Model
-----
Stack the features of the other views side by side, ``Psi`` (zero where a view is absent).  Some linear map
of them, ``Psi U``, is to give the kernel of the view where that is observed; where it is not,
``Psi U U' Psi'`` completes it.  Each view is learned on its own.

Objective
---------
The paper maximises the centred alignment of ``Psi U U' Psi'`` with the observed kernel over matrices U of
r columns and unit norm, by steepest descent.  That has a closed form.  With ``Psi_c = L s Q'`` (centred,
thin SVD) and the r leading eigenpairs (V, w) of ``L' K_c L``, ``U = Q s^-1 V w^(1/2)`` is the optimum over
all U of rank r, by Cauchy-Schwarz.  The alignment does not depend on the norm of U, so the sphere
regularises nothing; what does is stopping early.  With a ridge instead (at full rank s^-1 becomes
s / (s^2 + lambda)) the optimum *is* ridge regression from the other views' features to the view's own,
whose penalty leave-one-out chooses in closed form.  That is the default.

=====================  =========================================================================
`solver`               completed kernel
=====================  =========================================================================
``"ridge"``            ``W K W'``, W the weights of ridge regression with intercept;
                       ``_ridge``
``"closed"``           the same, W those of the aligned optimum of a given rank (and ridge)
``"descent"``          the paper's; ``_descent``
=====================  =========================================================================

Notation
--------
==========  ===============================  ===============================================
paper       here                             is
==========  ===============================  ===============================================
Phi^(v)     ``Phi``, ``features``            features of a view
Psi^(v)     ``Psi``                          features of all other views
I^(v)       ``observed[:, v]``               samples observed in view v
U^(v)       ``Coordinates``, ``slopes``      what takes Psi to the view
==========  ===============================  ===============================================

Departures from the paper
-------------------------
(of ``"ridge"`` and ``"closed"``; ``"descent"``, which overwrites the observed block as the paper does,
departs only in what it chooses landmarks and rank by: hidden samples, where the paper does not say)

* Features of each view are centred on the samples that have it, and scaled to mean square one, so that
  an absent view counts as an average one and no view's scale matters.
* The weights add up to one, so that means are transferred as they are.
* The observed block is kept (`keep_observed`), and the result is positive semidefinite: it is a
  Gram matrix of features.  No rescaling by minimum and maximum.
* What is predicted of a sample is in general shorter than the sample itself.  Its own kernel value is
  therefore raised to the median of those observed.  A prediction longer than any sample that was seen
  is shortened to the longest.  So, if the observed diagonal is constant, the completed one is.
* Absent features may be filled with what was transferred, and everything be learned again (`rounds`).
* Samples that have no other view are not learned from.
"""

from __future__ import annotations

from collections.abc import Mapping
from numbers import Integral, Real
from typing import Any, Literal

import numpy as np

from absentia.core import Array, Operator, RandomState, generator, warn
from absentia.data import AbsenceWarning, KernelViews, ordering, shown
from absentia.methods.base import Completer, Recipe, check_positive
from absentia.methods.completion.cvkt._descent import Descent, Design
from absentia.methods.completion.cvkt._features import draw_landmarks, has_another
from absentia.methods.completion.cvkt._ridge import Regression, Settings


class CVKT(Completer):
    """Cross-view kernel transfer: each view's kernel is predicted from the other views' features.

    With ``"ridge"`` and ``"closed"`` every completed kernel keeps its observed block to the last bit and
    is positive semidefinite.  Nothing is iterated, and new samples are completed by the same formula.

    Parameters
    ----------
    solver : {"ridge", "closed", "descent"}, default "ridge"
        ``"ridge"``: ridge regression.  ``"closed"``: the best aligned kernel of a given `rank`, which at
        full rank is ridge regression again.  ``"descent"``: the paper's procedure, for comparison: it
        overwrites observed values too, and its kernels are in general not positive semidefinite.
    ridge : float or "loo", default "loo"
        Penalty in units of the mean eigenvalue of the other views' features; ``"loo"`` chooses it for each
        view by leaving one sample out, in closed form.  Not used by ``"descent"``.
    rounds : int, default 1
        How often to learn; from the second time on, absent features are those transferred before.  More
        rounds help where many views are absent; 3 to 6 are enough.  1 with ``"descent"``.
    rank : int, float or None
        Rank of what is transferred: a number, or a share (at most 1.0) of what is possible, which is one
        for each sample, landmark or factor.  ``"ridge"`` transfers the view's leading principal
        components only, ``"closed"`` the best aligned ones, in both cases fewer where the last would be
        no different from the next; None is full rank.  ``"descent"``: columns of U; None chooses by hiding.
    n_landmarks : int, float or None
        Number (or share) of the samples of each view that its features are made from.  None takes all,
        which is exact but cubic in the number of samples unless kernels are given as thin factors;
        with landmarks, everything is linear in it and nothing n x n is formed from factors.
        ``"descent"``: None chooses by hiding.
    keep_observed : bool or None, default None
        Keep the observed block.  False overwrites it by the transferred kernel, as the paper does,
        which smooths it; samples that have no other view keep their values.  None: True for
        ``"ridge"`` and ``"closed"``, False for ``"descent"``.
    n_iter : int, default 200
        Steps of ``"descent"``.
    random_state : int, Generator, RandomState or None
        Of the choice of landmarks and of what ``"descent"`` hides and starts from, which go with the
        data and not with their order (``_order``).  None: the fixed seed 0.

    Attributes
    ----------
    ridge_ : ndarray of shape (n_views,)
        The penalty of each view; NaN where there was nothing to learn from.  Not of ``"descent"``.
    objective_ : dict of ndarray
        Of ``"descent"``: the alignment after each step, by view.
    names_in_, ids_

    Examples
    --------
    >>> from absentia import CVKT, ViewKernels, datasets, missingness
    >>> views, y = datasets.load_digit_views(n_samples=60, return_X_y=True)
    >>> kernels = ViewKernels().fit_transform(views.hide(missingness.mcar(views, 0.3, random_state=0)))
    >>> bool(CVKT(rounds=3).fit_transform(kernels).observed.all())
    True
    """

    recipes = {
        "cvkt": Recipe({}, "each view predicted from the others by ridge regression; quick"),
        "cvkt-rounds": Recipe({"rounds": 4}, "the same four times over; when many views are absent"),
        "cvkt-descent": Recipe({"solver": "descent"}, "the paper's own procedure, for comparison; slow"),
    }

    def __init__(
        self,
        *,
        solver: Literal["ridge", "closed", "descent"] = "ridge",
        ridge: float | Literal["loo"] = "loo",
        rounds: int = 1,
        rank: float | None = None,
        n_landmarks: float | None = None,
        keep_observed: bool | None = None,
        n_iter: int = 200,
        random_state: RandomState = None,
    ) -> None:
        self.solver = solver
        self.ridge = ridge
        self.rounds = rounds
        self.rank = rank
        self.n_landmarks = n_landmarks
        self.keep_observed = keep_observed
        self.n_iter = n_iter
        self.random_state = random_state

    def _learn(self, X: KernelViews) -> None:
        self._check_parameters()
        check_positive(X)
        _warn_of_gaps(X)
        rng, order = generator(self.random_state), ordering(X)
        keep = self.solver != "descent" if self.keep_observed is None else bool(self.keep_observed)
        self._fitted: Regression | Descent
        if self.solver == "descent":
            design = Design(self.n_landmarks, self.rank, self.n_iter)
            self._fitted = Descent.learn(X, order, design, rng, keep=keep)
            self.objective_ = dict(zip(X.names, self._fitted.traces, strict=True))
        else:
            landmarks = draw_landmarks(order.lottery(rng), X.observed, self.n_landmarks)
            settings = Settings(self.solver, self.ridge, self.rank)
            self._fitted = Regression.learn(X, landmarks, settings, rounds=self.rounds, keep=keep)
            self.ridge_ = self._fitted.ridges

    def _fill(self, X: KernelViews) -> Mapping[str, Array | Operator]:
        return self._fitted.fill(X)

    def _fill_rows(self, X: KernelViews) -> tuple[Mapping[str, Array | Operator], Mapping[str, Array]]:
        _warn_of_empty(X)
        return self._fitted.fill_rows(X)

    def _check_parameters(self) -> None:
        solvers = ("ridge", "closed", "descent")
        if self.solver not in solvers:
            raise ValueError(f"solver must be one of {solvers}, not {self.solver!r}")
        if self.ridge != "loo" and not (_is_number(self.ridge) and 0 <= self.ridge < np.inf):
            raise ValueError(f"ridge must be 'loo' or a finite number, not negative; got {self.ridge!r}")
        for name in ("rank", "n_landmarks"):
            _check_amount(name, getattr(self, name))
        for name in ("rounds", "n_iter"):
            value = getattr(self, name)
            if not isinstance(value, Integral) or value < 1:
                raise ValueError(f"{name} >= 1 is wanted, a whole number; got {value!r}")
        if self.solver == "descent" and self.rounds != 1:
            raise ValueError(
                f"rounds={self.rounds} with solver='descent': the paper's procedure has one round; "
                "use solver='ridge' or 'closed' for more"
            )


# ------------------------------------------------------------------------------------- small pieces


def _is_number(value: Any) -> bool:
    return isinstance(value, Real) and not isinstance(value, bool)


def _check_amount(name: str, value: Any) -> None:
    """None, a whole number from one on, or a share."""
    if value is None:
        return
    whole = isinstance(value, Integral) and not isinstance(value, bool) and int(value) >= 1
    share = _is_number(value) and not isinstance(value, Integral) and 0 < value <= 1
    if not (whole or share):
        raise ValueError(
            f"{name} must be a whole number from 1 on, a share up to 1.0, or None; got {value!r}"
        )


def _warn_of_gaps(X: KernelViews) -> None:
    """Views nobody has, samples without any view, and views never seen together with another."""
    X.warn_of_absence()
    for v, name in enumerate(X.names):
        present = X.observed[:, v]
        if present.any() and not present.all() and not (present & has_another(X.observed, v)).any():
            warn(
                f"view {name!r}: no sample has it together with another view, so nothing can be "
                "transferred to it; its absent samples become its mean",
                AbsenceWarning,
            )


def _warn_of_empty(X: KernelViews) -> None:
    """New samples without any view."""
    empty = np.flatnonzero(~X.observed.any(axis=1))
    if len(empty):
        warn(
            f"{len(empty)} new sample(s) have no view at all, e.g. {shown(X.ids[empty[0]])}; "
            "they become the mean of each view",
            AbsenceWarning,
        )
