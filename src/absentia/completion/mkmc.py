"""Mutual kernel matrix completion: fill several incomplete kernels from one another.

References
----------
R. Rivero, R. Lemence, T. Kato. Mutual kernel matrix completion. IEICE Trans. Inf. & Syst. E100-D(8),
1844-1851, 2017 (full covariance).
R. Rivero, T. Kato. Parametric models for mutual kernel matrix completion. IEICE Trans. Inf. & Syst.
E101-D(12), 2976-2983, 2018; arXiv:1804.06095 (PCA and factor analysis).

Model
-----
One model kernel ``M`` over all samples stands behind every view.  With v the samples that view k sees
and h those it does not, the missing parts of kernel Q of view k are what ``M`` says of them given the
visible part, and ``M`` is what brings the completed kernels closest together in LogDet divergence.

Objective
---------
After the optimal imputation the sum of LogDet divergences is, up to a constant, minus the Gaussian
log-likelihood of what was observed.  With the stabiliser, which is the exact M-step for one more,
fully observed pseudo-view ``Q = I`` of weight ``eps`` (`prior`), the algorithm lowers at every step

    L(M) = sum_k 1/2 [logdet M_vv + trace(M_vv^-1 Q_vv)] + eps/2 [logdet M + trace(M^-1)].

This is what ``objective_`` holds.  The divergences' constant ``-1/2 logdet Q_vv - n_k/2`` is left out:
it does not depend on the model and does not exist for singular kernels.

Notation
--------
=========  ===================================  ==================================
paper      here                                 is
=========  ===================================  ==================================
l, K       ``problem.size``, ``len(views)``     number of samples, of views
Q^(k)_vv   ``Visible.Q``                        observed kernel, unit mean diagonal
M          ``State.model``                      model kernel, an operator
W, psi     ``LowRankPlusDiagonal.W``, ``.d``    loadings, noise variances
S          ``S``                                mean of the completed kernels
=========  ===================================  ==================================

Departures from the papers
--------------------------
* Each kernel is divided by its mean diagonal inside, and gets it back at the end: without that a view
  on a larger scale drowns the others.  Kernels of unit mean diagonal are left as they are.
* Samples without any view are left out of the fit (their variance would drift towards the prior for
  ever) and come back uncorrelated, with the view's mean variance.
* Between groups of samples that no view ever sees together the model is set to zero; the data say
  nothing about it.
* A floor under the noise variances (see :data:`absentia.completion.covariance.NOISE_FLOOR`).
* (19) is used for S_zz; (34) of the long version lacks its ``I - B W``.
"""

from __future__ import annotations

import warnings
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any, Literal

import numpy as np

from absentia.base import Completer, IterativeMixin, Recipe, check_positive
from absentia.completion.covariance import PCA, Covariance, FactorAnalysis, Full, count_components
from absentia.kernelviews import KernelViews
from absentia.linalg import Array, NotPositiveDefiniteError, symmetrize
from absentia.operators import Dense, PDOperator
from absentia.presence import AbsenceWarning
from absentia.solve import Callback, Solution, iterate

# ------------------------------------------------------------------------------------------ state


@dataclass(frozen=True)
class Visible:
    """One view's observed kernel, and which samples it sees and hides."""

    Q: Dense
    v: Array
    h: Array


@dataclass(frozen=True)
class Problem:
    """Observed kernels of unit mean diagonal over `size` samples, and the weight of the prior."""

    views: Sequence[Visible]
    size: int
    eps: float
    dtype: np.dtype[Any]


class State:
    """The model that imputes, its visible parts (factorised at most once), and the family member.

    `member` is where the next M-step starts.  It is the model itself but for the very start, when
    the model is the zero-imputed mean kernel, which belongs to no family but the full one.
    """

    def __init__(self, problem: Problem, model: PDOperator, member: PDOperator) -> None:
        self.model, self.member = model, member
        self.visible = [model.principal(view.v) for view in problem.views]


# ------------------------------------------------------------------------------------------ steps


def impute(view: Visible, M: PDOperator, M_vv: PDOperator) -> tuple[Array, Array]:
    """Missing blocks ``Q_vh`` and ``Q_hh`` of one view under the model: eqs. (8) and (9)."""
    M_vh = M.block(view.v, view.h)
    A = M_vv.solve(M_vh)
    Q_vh = view.Q @ A
    Q_hh = M.block(view.h, view.h) - M_vh.T @ A + A.T @ Q_vh
    return Q_vh, symmetrize(Q_hh)


def mean_kernel(problem: Problem, state: State) -> Array:
    """Mean of all kernels, completed under the model: eq. (11)."""
    S = np.zeros((problem.size, problem.size), problem.dtype)
    for view, M_vv in zip(problem.views, state.visible, strict=True):
        Q_vh, Q_hh = impute(view, state.model, M_vv)
        S[np.ix_(view.v, view.v)] += view.Q.A
        S[np.ix_(view.v, view.h)] += Q_vh
        S[np.ix_(view.h, view.v)] += Q_vh.T
        S[np.ix_(view.h, view.h)] += Q_hh
    return S / len(problem.views)


def zero_imputed_mean(problem: Problem) -> Array:
    """Mean of all kernels with zeros for what is missing."""
    S = np.zeros((problem.size, problem.size), problem.dtype)
    for view in problem.views:
        S[np.ix_(view.v, view.v)] += view.Q.A
    return S / len(problem.views)


def stabilised(S: Array, problem: Problem) -> Dense:
    """``(K S + eps I) / (K + eps)``: the pseudo-view ``I`` of weight eps joins the mean."""
    K, eps = len(problem.views), problem.eps
    S = K * symmetrize(S)
    S[np.diag_indices_from(S)] += eps
    return Dense(S / (K + eps))


def em_step(problem: Problem, covariance: Covariance, state: State) -> State:
    """Complete every kernel under the model, then improve the model on their mean."""
    S = stabilised(mean_kernel(problem, state), problem)
    member = covariance.m_step(S, state.member)
    return State(problem, member, member)


def objective(problem: Problem, state: State) -> float:
    """Penalised objective L(M) of the module's docstring."""
    total = sum(
        M_vv.logdet() + M_vv.trace_solve(view.Q)
        for view, M_vv in zip(problem.views, state.visible, strict=True)
    )
    if problem.eps > 0:
        identity = Dense(np.eye(problem.size, dtype=problem.dtype))
        total += problem.eps * (state.model.logdet() + state.model.trace_solve(identity))
    return total / 2


def solve_paper(
    problem: Problem,
    covariance: Covariance,
    *,
    tol: float,
    max_iter: int,
    callback: Callback | None = None,
) -> Solution[State]:
    """The papers' algorithm: zero-imputed start, then imputation and model update in turn."""
    S0 = stabilised(zero_imputed_mean(problem), problem)
    start = State(problem, S0, covariance.start(S0))
    return iterate(
        lambda state: em_step(problem, covariance, state),
        lambda state: objective(problem, state),
        start,
        tol=tol,
        max_iter=max_iter,
        callback=callback,
    )


# -------------------------------------------------------------------------------------- estimator

SOLVERS = {"paper": solve_paper}


class MKMC(IterativeMixin, Completer):
    """Mutual kernel matrix completion: one model kernel behind all views fills what is missing.

    Every completed kernel keeps its observed block to the last bit and is positive definite (if the
    observed block is; otherwise positive semidefinite).

    Parameters
    ----------
    covariance : {"pca", "fa", "full"}, default "pca"
        ``"pca"``: low rank plus equal noise; ``"fa"``: low rank plus each sample's own noise;
        ``"full"``: any kernel, flexible and prone to follow the data too closely.
    n_components : int, "gk" or "kaiser", default "gk"
        Rank of the low-rank part (pca and fa).  ``"gk"`` (Guttman-Kaiser) counts the eigenvalues above
        their mean, ``"kaiser"`` those above one, once, before the first iteration, of the mean of
        the mean-filled kernels of unit mean diagonal.  The papers do not say which matrix they
        count on; zero-filled kernels inflate the count (mfeat, half hidden: 56, mean-filled 35,
        without anything hidden 40).  Kaiser's rule depends on the kernels' scale, Guttman-Kaiser's
        does not.
    prior : float, default 1e-3
        Weight of the identity kernel as one more, fully observed view.  Keeps the model away from
        singular; the papers use 1e-3.
    algorithm : {"paper"}, default "paper"
        The papers' iteration, one full imputation and eigendecomposition at a time.
    tol : float, default 1e-6
        Stop when the objective's relative change falls below; 0 runs all iterations.
    max_iter : int, default 500
    dtype : {"float64", "float32"}, default "float64"
        Precision of the computation; the observed blocks keep theirs.  In float32 the objective is
        only good to 1e-7, so `tol` is raised to at least 1e-6.
    random_state : ignored
        The papers' algorithm is deterministic.
    callback : callable, optional
        Called with a :class:`absentia.solve.Progress` after each iteration; returning True stops.

    Attributes
    ----------
    model_ : operator
        The fitted model kernel over all training samples, in units of each view's mean diagonal;
        ``model_.to_dense()`` gives the array.
    n_components_ : int or None
    view_scales_ : ndarray of shape (n_views,)
        Mean diagonal of each observed kernel.
    groups_ : ndarray of shape (n_samples,)
        Which samples are linked by views seeing both; -1 for samples without any view.
    objective_ : ndarray
        Penalised objective after each iteration; never rises.
    n_iter_, converged_, status_, names_in_, ids_

    Examples
    --------
    >>> from absentia import MKMC, ViewKernels, datasets, missingness
    >>> views, y = datasets.load_digit_views(n_samples=60, return_X_y=True)
    >>> kernels = ViewKernels().fit_transform(views.hide(missingness.mcar(views, 0.3, random_state=0)))
    >>> MKMC("pca", n_components=5).fit_transform(kernels).observed.all()
    np.True_
    """

    recipes = {
        "mkmc-pca": Recipe({"covariance": "pca"}, "several views that share structure; the first to try"),
        "mkmc-fa": Recipe({"covariance": "fa"}, "the same when some samples are much noisier than others"),
        "mkmc-full": Recipe({"covariance": "full"}, "few samples and many views; can follow noise"),
    }

    def __init__(
        self,
        covariance: Literal["pca", "fa", "full"] = "pca",
        *,
        n_components: int | Literal["gk", "kaiser"] = "gk",
        prior: float = 1e-3,
        algorithm: Literal["paper"] = "paper",
        tol: float = 1e-6,
        max_iter: int = 500,
        dtype: Literal["float64", "float32"] = "float64",
        random_state: Any = None,
        callback: Callback | None = None,
    ) -> None:
        self.covariance = covariance
        self.n_components = n_components
        self.prior = prior
        self.algorithm = algorithm
        self.tol = tol
        self.max_iter = max_iter
        self.dtype = dtype
        self.random_state = random_state
        self.callback = callback

    def _learn(self, X: KernelViews) -> None:
        self._check_parameters()
        check_positive(X)
        self.view_scales_ = _view_scales(X)
        self.groups_ = X.components()
        seen = np.flatnonzero(self.groups_ >= 0)
        _warn_of_gaps(X, self.groups_)
        problem = Problem(
            [view for view in self._visible(X, seen) if len(view.v)],
            len(seen),
            float(self.prior),
            np.dtype(self.dtype),
        )
        covariance = self._family(problem)
        self.n_components_ = covariance.n_components
        solution = self._solve(problem, covariance)
        model = solution.state.model
        if self.groups_.max() > 0:
            model = model.decouple(self.groups_[seen])
        self.model_ = model.pad(seen, len(X))
        self._record(solution)

    def _fill(self, X: KernelViews) -> dict[str, Array]:
        kernels = {}
        everyone = self._visible(X, np.arange(len(X)))
        for name, scale, view in zip(X.names, self.view_scales_, everyone, strict=True):
            Q_vh, Q_hh = impute(view, self.model_, self.model_.principal(view.v))
            K = np.empty(X.shape)
            K[np.ix_(view.v, view.v)] = X.block(name)
            K[np.ix_(view.v, view.h)] = scale * Q_vh
            K[np.ix_(view.h, view.v)] = scale * Q_vh.T
            K[np.ix_(view.h, view.h)] = scale * Q_hh
            kernels[name] = K
        return kernels

    def _fill_rows(self, X: KernelViews) -> Any:
        raise NotImplementedError(
            "MKMC cannot complete samples it was not fitted on yet; fit it on old and new samples "
            "together, or use CombineKernels, which takes new incomplete samples as they are"
        )

    def _check_parameters(self) -> None:
        families = ("pca", "fa", "full")
        if self.covariance not in families:
            raise ValueError(f"covariance must be one of {families}, not {self.covariance!r}")
        if self.algorithm not in SOLVERS:
            raise ValueError(f"algorithm must be one of {list(SOLVERS)}, not {self.algorithm!r}")
        if not self.prior >= 0:
            raise ValueError(f"prior must not be negative; got {self.prior!r}")
        if not self.tol >= 0 or self.max_iter < 1:
            raise ValueError(f"tol >= 0 and max_iter >= 1 are wanted; got {self.tol!r}, {self.max_iter!r}")
        if self.dtype not in ("float64", "float32"):
            raise ValueError(f"dtype must be 'float64' or 'float32', not {self.dtype!r}")

    def _visible(self, X: KernelViews, samples: Array) -> list[Visible]:
        """Each view's scaled kernel with its samples' positions among `samples`."""
        views = []
        for v, name in enumerate(X.names):
            Q = np.asarray(X.block(name) / self.view_scales_[v], dtype=self.dtype)
            present = X.observed[samples, v]
            views.append(Visible(Dense(Q), np.flatnonzero(present), np.flatnonzero(~present)))
        return views

    def _family(self, problem: Problem) -> Covariance:
        if self.covariance == "full":
            return Full()
        rank = self._rank(problem)
        return PCA(rank) if self.covariance == "pca" else FactorAnalysis(rank)

    def _rank(self, problem: Problem) -> int:
        q = self.n_components
        if problem.size < 2:
            raise ValueError(f"{problem.size} sample(s) with a view; a low-rank model needs at least 2")
        if isinstance(q, str):
            if q not in ("gk", "kaiser"):
                raise ValueError(f"n_components must be a number, 'gk' or 'kaiser', not {q!r}")
            return count_components(_mean_filled_mean(problem), q)
        if not 1 <= q < problem.size:
            raise ValueError(f"n_components={q} for {problem.size} samples; wanted 1 to {problem.size - 1}")
        return int(q)

    def _solve(self, problem: Problem, covariance: Covariance) -> Solution[State]:
        tol = float(self.tol)
        if self.dtype == "float32" and 0 < tol < 1e-6:
            warnings.warn(
                f"tol={tol:g} is finer than float32 can tell; 1e-6 is used instead",
                UserWarning,
                stacklevel=4,
            )
            tol = 1e-6
        try:
            return SOLVERS[self.algorithm](
                problem, covariance, tol=tol, max_iter=self.max_iter, callback=self.callback
            )
        except NotPositiveDefiniteError as error:
            raise ValueError(
                f"the model became singular with prior={self.prior:g}; raise the prior "
                "(1e-3 is the usual value), or look for kernels that are nearly singular"
            ) from error


def _mean_filled_mean(problem: Problem) -> Array:
    """Mean of all kernels, absent samples being the mean of the present ones in feature space."""
    S = zero_imputed_mean(problem) * len(problem.views)
    for view in problem.views:
        means = view.Q.A.mean(axis=0)
        S[np.ix_(view.v, view.h)] += means[:, None]
        S[np.ix_(view.h, view.v)] += means[None, :]
        S[np.ix_(view.h, view.h)] += means.mean()
    return S / len(problem.views)


def _view_scales(X: KernelViews) -> Array:
    """Mean diagonal of each observed kernel; one for a view nobody has."""
    scales = np.ones(X.n_views)
    for v, name in enumerate(X.names):
        diagonal = X.diagonal(name)
        if len(diagonal):
            scales[v] = diagonal.mean(dtype=np.float64)
            if not scales[v] > 0:
                raise ValueError(f"view {name!r}: the kernel is zero for every sample; leave the view out")
    return scales


def _warn_of_gaps(X: KernelViews, groups: Array) -> None:
    X.warn_of_absence()
    if not (groups >= 0).any():
        raise ValueError("no sample has any view; there is nothing to learn from")
    if groups.max() > 0:
        sizes = np.bincount(groups[groups >= 0])
        shown = ", ".join(str(s) for s in sizes[:5]) + (", ..." if len(sizes) > 5 else "")
        warnings.warn(
            f"the samples fall into {len(sizes)} groups (of {shown}) that no view ever sees together; "
            "nothing is known of kernel values between them, and they are set to zero",
            AbsenceWarning,
            stacklevel=5,
        )
