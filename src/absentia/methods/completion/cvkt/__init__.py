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
whose penalty leave-one-out selects in closed form.  That is the default.

=====================  =========================================================================
`solver`               completed kernel
=====================  =========================================================================
``"ridge"``            ``W K W'``, W the weights of ridge regression with intercept; ``_ridge``
``"closed"``           the same, W those of the aligned optimum of a given rank (and ridge)
``"descent"``          the paper's; ``_descent``
=====================  =========================================================================

Of many samples that are given by thin factors ``"ridge"`` learns from sums over blocks (``_sums``).

Notation
--------
==========  ===============================  ===============================================
paper       here                             is
==========  ===============================  ===============================================
Phi^(v)     ``Phi``, ``features``            features of a view
Psi^(v)     ``Psi``                          features of all other views
I^(v)       ``observed[:, v]``               samples observed in view v
U^(v)       ``axes``, ``weights``            what takes Psi to the view
==========  ===============================  ===============================================

Departures from the paper
-------------------------
(of ``"ridge"`` and ``"closed"``; ``"descent"``, which overwrites the observed block as the paper does,
departs only in what it chooses landmarks and rank by, hidden samples, where the paper does not say, and
in its start, a normal draw, where the authors' code has a uniform one: ``init="uniform"``)

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

from collections.abc import Mapping
from dataclasses import KW_ONLY
from functools import cached_property
from typing import Any, Literal

import numpy as np

from absentia.core import (
    Array,
    Fraction,
    NonNegative,
    Operator,
    PositiveInt,
    RandomState,
    argmin_key,
    copy_with,
    estimator,
    evaluate_path,
    make_generator,
)
from absentia.core.linalg import invert_permutation
from absentia.data import KernelViews, order_kernels
from absentia.methods.completion._base import MAX_SAMPLES, Coordinates, Holdout, SubspaceCompleter
from absentia.methods.completion.cvkt._descent import DescentOptions, DescentTransfer, fit_descent
from absentia.methods.completion.cvkt._features import (
    TOTAL_LANDMARKS,
    default_landmarks,
    draw_landmarks,
    keeps_values,
)
from absentia.methods.completion.cvkt._ridge import (
    CrossViewRegression,
    RidgeOptions,
    TransferData,
    TransferRound,
)
from absentia.methods.completion.cvkt._sums import FactorRegression, suits_sums

#: Numbers of rounds that are tried, each with these shares of the first round's ridge in later ones.
_PATH, _EASINGS = (1, 2, 3, 4, 6, 8), (1.0, 0.5)


@estimator
class CVKT(SubspaceCompleter):
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
    rounds : int or "heldout", default "heldout"
        How often to learn; from the second time on, absent features are those transferred before.  More
        rounds help where many views are absent; 3 to 6 are enough.  ``"heldout"`` hides a tenth of each
        view's observed samples, learns round by round, and takes the number that completes them best
        (errors are kept in ``heldout_curve_``); with ``ridge="loo"`` also whether later rounds have
        half the first one's ridge (``easing_``).  ``"descent"`` has one round.
    rank : int, float or None
        Rank of what is transferred: a number, or a share (at most 1.0) of what is possible, which is one
        for each sample, landmark or factor.  ``"closed"``: the best aligned components, fewer where the
        last would be no different from the next; None is full rank.  ``"descent"``: columns of U; None
        chooses by hiding.  ``"ridge"`` has full rank.
    n_landmarks : int, float, "auto" or None, default "auto"
        Number (or share) of the samples of each view that its features are made from.  None takes all,
        which is exact but cubic in the number of samples unless kernels are given as thin factors;
        with landmarks, everything is linear in it and nothing n x n is formed from factors.
        ``"auto"``: all while the views together have at most 2000 features (samples that have the
        view, or factors), else 600 landmarks shared out among the views.
        ``"descent"``: None and ``"auto"`` choose by hiding.
    keep_observed : bool or None, default None
        Keep the observed block.  False overwrites it by the transferred kernel, as the paper does,
        which smooths it; samples that have no other view keep their values.  None: True for
        ``"ridge"`` and ``"closed"``, False for ``"descent"``.
    n_iter : int, default 200
        Steps of ``"descent"``.
    init : {"normal", "uniform"}, default "normal"
        What ``"descent"`` draws the entries of U from before its first step: the standard normal
        distribution; or the uniform one on [0, 1), as the authors' code does.
    random_state : int, Generator, RandomState or None
        Of the choice of landmarks and of what ``"descent"`` hides and starts from, which go with the
        data and not with their order.  None: the fixed seed 0.

    Attributes
    ----------
    ridge_ : ndarray of shape (n_views,)
        The penalty of each view; NaN where there was nothing to learn from.  Not of ``"descent"``.
    rounds_ : int
        How often it learned.  Not of ``"descent"``.
    easing_ : float
        Ridge of later rounds as a share of that of the first; 1 unless ``rounds="heldout"`` chose.
    heldout_curve_ : dict
        Error by number of rounds with that easing, for ``rounds="heldout"``.
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

    _: KW_ONLY
    solver: Literal["ridge", "closed", "descent"] = "ridge"
    ridge: NonNegative | Literal["loo"] = "loo"
    rounds: PositiveInt | Literal["heldout"] = "heldout"
    rank: PositiveInt | Fraction | None = None
    n_landmarks: PositiveInt | Fraction | Literal["auto"] | None = "auto"
    keep_observed: bool | None = None
    n_iter: PositiveInt = 200
    init: Literal["normal", "uniform"] = "normal"
    random_state: RandomState = None

    _links = "direct"

    def _check(self) -> None:
        if self.solver == "ridge" and self.rank is not None:
            raise ValueError(f"rank={self.rank!r} with solver='ridge', which has full rank; use 'closed'")
        if self.solver == "descent" and self.rounds not in (1, "heldout"):
            raise ValueError(
                f"rounds={self.rounds!r} with solver='descent': the paper's procedure has one round; "
                "use solver='ridge' or 'closed' for more"
            )

    @property
    def _keep(self) -> bool:
        """Whether the observed block is kept."""
        return self.solver != "descent" if self.keep_observed is None else bool(self.keep_observed)

    def _fit_model(self, X: KernelViews) -> None:
        if self.solver == "descent":
            wanted = None if self.n_landmarks == "auto" else self.n_landmarks
            options = DescentOptions(wanted, self.rank, self.n_iter, self.init)
            self._train, self._order = X, order_kernels(X)
            self._transfers = fit_descent(X, self._order, options, make_generator(self.random_state))
            traces = [self._transfers[v].trace for v in invert_permutation(self._order.views)]
            self.objective_ = dict(zip(X.names, traces, strict=True))
            return
        by_holdout = self.rounds == "heldout"
        self.rounds_, self.easing_ = self._select_rounds(X) if by_holdout else (int(self.rounds), 1.0)
        self._train, self._landmarks = X, self._draw_landmarks(X)
        *self._learned, self.ridge_ = self._learn(X)

    def _learn(
        self, X: KernelViews, ridges: Array | None = None
    ) -> tuple[CrossViewRegression | FactorRegression, list[Coordinates], Array]:
        """The model, the samples' coordinates, and the ridges of the first round; NaN: nothing to learn."""
        options = self._options(self.easing_)
        if self._has_sums:
            return FactorRegression.fit(X, self.ridge, self.rounds_, self.easing_, ridges)
        rounds = TransferData.of(X, self._landmarks).rounds(options, selected=ridges)
        last, refills = next(rounds), list[Any]()
        ridges = np.array([t.ridge if t.axes.shape[1] else np.nan for t in last.transfers])
        for _ in range(self.rounds_ - 1):
            refills.append(last.refills)
            last = next(rounds)
        return *CrossViewRegression.of_round(last, refills, keep=self._keep), ridges

    @property
    def _has_sums(self) -> bool:
        """Whether it learns from sums over blocks: of many samples, all of whose factors are features."""
        plain = self.solver == "ridge" and self._keep and all(P is None for P in self._landmarks)
        return plain and suits_sums(self._require_training_kernels())

    @property
    def _linear_rows(self) -> bool:  # type: ignore[override]
        return self.solver == "descent" or not self._has_sums

    @cached_property
    def _learned(self) -> Any:
        """The model and the training samples' coordinates, as what was drawn and selected makes them."""
        return self._learn(self._require_training_kernels(), self.ridge_)[:2]

    @cached_property
    def _descent(self) -> DescentTransfer:
        """What the paper's procedure learned, with the training kernels."""
        return DescentTransfer(self._transfers, self._keep, self._order, self._require_training_kernels())

    @property
    def _bases(self) -> Any:  # type: ignore[override]
        return None if self.solver == "descent" else self._learned[0].bases

    @property
    def _coordinates(self) -> Any:  # type: ignore[override]
        return self._learned[1]

    def without_shortening(self) -> Any:
        """The same fit, predictions that are longer than any sample that was seen left as they are.

        Rows of new samples with the same views are then completed by one affine map of their kernel values.
        """
        model, coordinates = self._learned
        return copy_with(self, _learned=(model.without_shortening(), coordinates))

    def _options(self, easing: float = 1.0) -> RidgeOptions:
        assert self.solver != "descent"
        return RidgeOptions(self.solver, self.ridge, self.rank, easing)

    def _draw_landmarks(self, X: KernelViews, total: int = TOTAL_LANDMARKS) -> list[Array | None]:
        wanted = default_landmarks(X, total) if self.n_landmarks == "auto" else self.n_landmarks
        return draw_landmarks(
            order_kernels(X).lottery(make_generator(self.random_state)), X.observed, wanted
        )

    def _select_rounds(self, X: KernelViews) -> tuple[int, float]:
        """Rounds and easing that best complete what is hidden; a path is learned once, round by round."""
        holdout, self.heldout_curve_ = Holdout.of(X, self.random_state, max_samples=MAX_SAMPLES), {}
        if not holdout.n_hidden:
            return 1, 1.0
        # half as many landmarks, where there are some, tell as well how many rounds are good
        landmarks = self._draw_landmarks(holdout.part, TOTAL_LANDMARKS // 2)
        data, curves = TransferData.of(holdout.part, landmarks), {}
        first = next(data.rounds(self._options())).transfers
        for easing in _EASINGS if self.ridge == "loo" else _EASINGS[:1]:
            rounds = enumerate(data.rounds(self._options(easing), first), start=1)

            def error(n_rounds: int, rounds: Any = rounds) -> float:
                last = next(this for number, this in rounds if number == n_rounds)
                return holdout.error(self._complete_round(holdout.part, last))

            curves[easing] = evaluate_path(_PATH, error)
        easing = argmin_key({key: min(curve.values()) for key, curve in curves.items()})
        self.heldout_curve_ = curves[easing]
        return int(argmin_key(self.heldout_curve_)), easing

    def _complete_round(self, part: KernelViews, last: TransferRound) -> KernelViews:
        """Kernels `part` as a round completes them."""
        model, coordinates = CrossViewRegression.of_round(last, keep=self._keep)
        return part.completed(self._complete_square(part, model.bases, coordinates))

    def _keeps_values(self, observed: Array, v: int) -> Array:
        return keeps_values(observed, v, self._keep)

    def _find_coordinates(self, X: KernelViews) -> list[Coordinates]:
        return self._learned[0].coordinates(X)

    def _fill(self, X: KernelViews) -> Mapping[str, Array | Operator]:
        return self._descent.fill(X) if self.solver == "descent" else super()._fill(X)

    def _fill_rows(self, X: KernelViews) -> tuple[Mapping[str, Array | Operator], Mapping[str, Array]]:
        return self._descent.fill_rows(X) if self.solver == "descent" else super()._fill_rows(X)
