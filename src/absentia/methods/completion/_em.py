"""Filling by EM: the rows of all views side by side are taken to be Gaussian.

References
----------
Z. Ghahramani, M. I. Jordan. Supervised learning from incomplete data via an EM approach. NIPS 6, 120-127,
1993 (one Gaussian component of theirs); the filling called EM-MKL by X. Liu et al., Absent multiple
kernel learning algorithms, IEEE TPAMI, 2019.

Model
-----
Samples are independent draws of N(mu, Sigma); the variables are the kernels' columns, all views side by
side.  Of a view's columns only the combinations along its leading kernel principal components vary
much, so these scores are the variables: with ``H K H = Q diag(w) Q'`` the centred observed kernel they are
``Q w^1/2`` for the leading w, divided by the square root of the view's mean squared distance from its
mean so that views count alike.  A sample that lacks a view lacks its whole block of scores.

Objective
---------
Variables are about as many as samples, so Sigma needs a prior (inverse Wishart): as if ``ridge * n`` more
samples with covariance Psi had been seen.  Psi is diagonal and holds, for every score, the mean variance
of its view's scores, so that it does not change a view's total variance.  EM lowers at every step

    F(mu, Sigma) = sum_t 1/2 [logdet Sigma_oo + (x_t - mu_o)' Sigma_oo^-1 (x_t - mu_o)]
                   + ridge n / 2 [logdet Sigma + trace(Psi Sigma^-1)],

o the variables that sample t has: minus the penalised log-likelihood, up to a constant.

E-step: missing scores h get their mean given the others, ``mu_h + B' (x_o - mu_o)`` with
``B = Sigma_oo^-1 Sigma_oh``, and covariance ``Sigma_hh - Sigma_ho B``, for all patterns of absence together
(see below).  M-step: mu is the mean of the completed rows, Sigma their covariance plus the mean
conditional covariance, with the prior's samples added.  Steps are extrapolated; each strength starts from
where the one before ended, and the last fit from where the choice of the strength did.

All patterns of absence together
--------------------------------
With P the precision, what is absent has mean ``-P_hh^-1 P_ho x_o`` and covariance ``P_hh^-1``.  EM wants
the means, and of the covariances only their sum over the samples.  Factorising P_hh for one pattern of
absence after the other repeats itself: patterns that begin alike share the beginning.  So the views are
taken in one order, wide ones first (what comes late is eliminated in many branches).  Of some samples that
may lack view j and later ones r, those that have j go on with P_rr, and those that lack it with
``M = P_rr - P_rj P_jj^-1 P_jr``: j is eliminated, once for all of them.  On the way back, with T_r the sum
of covariances over the samples of the branch, scattered over all of r, and ``W = P_jj^-1 P_jr``,

    T_jr = -W T_r,     T_jj = m P_jj^-1 + W T_r W',

m the number of samples that lack j: block inversion is linear in the inverse of M, so that sums of inverses
do as well as one.

From scores to a kernel
-----------------------
Its expected scores are an absent sample's coordinates along the view's principal axes, which are
combinations of the observed samples; its value with itself adds the trace of its conditional covariance,
and the view's mean variance outside the axes.  This is the expected kernel, samples being independent.

Departures from the references
------------------------------
* Scores instead of kernel columns (a linear change of variables, then truncated), and the prior.  The
  papers do not say how a covariance of more variables than samples was inverted.
* Conditional covariances enter the M-step, as in Ghahramani & Jordan; Liu et al. describe filling with
  conditional means alone, which does not raise the likelihood in every step.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import KW_ONLY
from typing import Any, Literal, NamedTuple, cast

import numpy as np
import scipy.linalg

from absentia.core import (
    DISTINCT_RTOL,
    Array,
    Dense,
    Gram,
    Operator,
    Positive,
    PositiveInt,
    center_operator,
    choose_rank,
    estimator,
    measure_spread,
    serializable,
    thin_operator,
)
from absentia.core.linalg import (
    ConditionalGaussian,
    cholesky,
    cholesky_inverse,
    cholesky_logdet,
    group_by_pattern,
    inverse_sqrt,
    leading_eigenpairs,
    symmetrize,
    whitening_matrix,
)
from absentia.core.optimize import AccelerationState, Point, Solution, UpdateEvaluation, accelerate
from absentia.data import KernelViews
from absentia.methods.completion._base import Basis, Coordinates, RegularisedCompleter, add_mean_coordinate

#: An eigenvalue below this share of the kernel's largest value, times the samples, is rounding.
_RANK_TOL = 1e-10


@serializable
class _ViewScores(NamedTuple):
    """Coordinates of a view along its leading principal components, at unit mean squared distance."""

    size: float  # the view's mean squared distance from its mean
    variances: Array  # of the scores
    outside: float  # variance outside the axes, in the kernel's own units


def _find_scores(operator: Operator, n_components: int | str) -> tuple[Basis, _ViewScores]:
    """The mean and the leading principal components of a view, and what is along them."""
    m, K = operator.shape[0], thin_operator(operator)
    centred = center_operator(K)
    total, largest = float(centred.diagonal().sum()), float(K.diagonal().max(initial=0.0))
    if not measure_spread(operator):
        outside = max(total, 0.0) / max(m, 1)
        return Basis.about_mean(K, np.zeros((m, 0))), _ViewScores(1.0, np.zeros(0), outside)
    w, Q = _leading_pairs(centred, n_components)
    size = total / m
    solid = w > _RANK_TOL * largest * m
    if n_components == "gk":
        r = choose_rank(w, int((w > (1 + DISTINCT_RTOL) * size).sum()))
    else:
        r = min(int(n_components), len(w), m - 1)
        r = choose_rank(w, r) if solid[r - 1] else r
    # a direction without variance keeps its place, at zero: their number is not for rounding to say
    root = np.where(solid[:r], np.sqrt(np.where(solid[:r], w[:r], 1.0)), np.inf)
    basis = Basis.about_mean(K, Q[:, :r] * (np.sqrt(size) / root))
    variances = np.where(solid[:r], w[:r], 0.0) / (size * m)
    return basis, _ViewScores(size, variances, max(total - float(w[:r].sum()), 0.0) / m)


def _leading_pairs(A: Gram | Dense, n_components: int | str) -> tuple[Array, Array]:
    """Eigenpairs, largest first: those wanted and what comes next; of factors, all."""
    if isinstance(A, Gram):
        w, U = scipy.linalg.eigh(A.left.T @ A.left, check_finite=False)
        U = A.left @ (U * inverse_sqrt(w))
    elif n_components == "gk":
        size = float(np.trace(A.A)) / len(A.A)  # the mean eigenvalue
        w, U = scipy.linalg.eigh(A.A, check_finite=False, subset_by_value=(0.9 * size, np.inf))
    else:
        w, U = leading_eigenpairs(A.A, int(n_components) + 1)
    return np.maximum(w[::-1], 0.0), U[:, ::-1]


class _AbsentMoments(NamedTuple):
    """What is absent, given what is there."""

    means: Array  # of all variables, zero where a sample has them
    covariance: Array  # summed over samples
    logdet: float  # of P_hh, summed over samples


def _absent_moments(P: Array, right: Array, observed: Array, widths: Sequence[int]) -> _AbsentMoments:
    """Moments with the precision `P`; ``right = x_o P_oh``, `observed` is samples x views."""
    means, covariance, logdet = np.zeros_like(right), np.zeros_like(P), 0.0
    views = [
        v for v in np.argsort(-np.array(widths), kind="stable") if widths[v] and not observed[:, v].all()
    ]
    if views:
        order = np.lexsort([observed[:, v] for v in reversed(views)])
        ends = np.cumsum(widths)
        at = np.concatenate([np.arange(ends[v] - widths[v], ends[v]) for v in views])
        lacks, block = ~observed[np.ix_(order, views)], np.ix_(at, at)
        z, T, logdet = _eliminate(P[block], right[np.ix_(order, at)], lacks, np.array(widths)[views])
        means[np.ix_(order, at)], covariance[block] = -z, T
    return _AbsentMoments(means, covariance, logdet)


def _eliminate(P: Array, right: Array, lacks: Array, widths: Array) -> _AbsentMoments:
    """``P_hh^-1 right_h`` of each sample; the sums of P_hh^-1 and of the logarithmic determinants.

    `lacks` is samples x views: somebody lacks each view, and those that lack the first come first.
    """
    k, m = int(widths[0]), int(lacks[:, 0].sum())
    z, T = np.zeros_like(right), np.zeros_like(P)
    R = whitening_matrix(P[:k, :k], "precision")
    logdet = -2.0 * m * float(np.log(np.diagonal(R)).sum())
    u = right[:m, :k] @ R.T
    T[:k, :k] = m * (R.T @ R)
    later, rest, block = _later_views(lacks[:m, 1:], widths)
    if len(later):
        V = R @ P[:k, rest]
        below = _eliminate(P[block] - V.T @ V, right[:m, rest] - u @ V, lacks[:m, later], widths[later])
        VT = V @ below.covariance
        WT = R.T @ VT
        T[:k, :k] += R.T @ (VT @ V.T) @ R
        T[:k, rest], T[rest, :k], T[block] = -WT, -WT.T, below.covariance
        z[:m, rest] = below.means
        u -= below.means @ V.T
        logdet += below.logdet
    z[:m, :k] = u @ R
    later, rest, block = _later_views(lacks[m:, 1:], widths)
    if len(later):
        below = _eliminate(P[block], right[m:, rest], lacks[m:, later], widths[later])
        T[block] += below.covariance
        z[m:, rest] = below.means
        logdet += below.logdet
    return _AbsentMoments(z, T, logdet)


def _later_views(lacks: Array, widths: Array) -> tuple[Array, Any, Any]:
    """Which views after the first somebody lacks, their variables, and the block of these in a matrix."""
    lacked = np.concatenate([[False], lacks.any(axis=0)])
    if lacked[1:].all():  # nothing has to be copied
        rest = slice(widths[0], None)
        return np.flatnonzero(lacked), rest, (rest, rest)
    variables = np.flatnonzero(np.repeat(lacked, widths))
    return np.flatnonzero(lacked), variables, np.ix_(variables, variables)


class _EMProblem:
    """Rows of scores with whole blocks missing.

    Of what is observed, sums over samples are made once: of products, of scores where another is
    there, of pairs.
    """

    def __init__(self, X: Array, observed: Array, widths: Sequence[int], psi: Array) -> None:
        self.size, self.psi, self.observed, self.widths = len(X), psi, observed, widths
        self.present = np.repeat(observed, widths, axis=1).astype(np.float64)
        self.X = X * self.present
        self.products, self.sums = self.X.T @ self.X, self.X.T @ self.present
        self.pairs = self.present.T @ self.present
        starts = np.cumsum(widths) - widths
        #: of each view its columns and who lacks it, where there are any
        self.absent = [
            (slice(start, start + width), np.flatnonzero(~present))
            for start, width, present in zip(starts, widths, observed.T, strict=True)
            if width and not present.all()
        ]

    def start(self) -> Point:
        """The prior: uncorrelated scores."""
        return np.zeros(len(self.psi)), np.diag(self.psi)

    def with_prior(self, moments: Point, ridge: float) -> Point:
        """What the M-step makes of mean and covariance of the samples alone."""
        mu, S = moments
        return mu, (S + ridge * np.diag(self.psi)) / (1 + ridge)

    def without_prior(self, point: Point, ridge: float) -> Point:
        """Mean and covariance of the samples alone, of which the M-step made `point`."""
        mu, Sigma = point
        return mu, (1 + ridge) * Sigma - ridge * np.diag(self.psi)

    def observed_scatter(self, mu: Array) -> Array:
        """Sum over samples of the products of what they have, less `mu`."""
        across = self.sums * mu
        return self.products - across - across.T + self.pairs * np.outer(mu, mu)

    def evaluate(self, ridge: float, point: Point) -> UpdateEvaluation:
        """Penalised negative log-likelihood at (mu, Sigma), and the EM update."""
        mu, Sigma = point
        n, weight = self.size, ridge * self.size
        L = cholesky(Sigma, "covariance")
        P, logdet = cholesky_inverse(L), cholesky_logdet(L)
        Y = self.X - mu * self.present
        right = np.zeros_like(Y)
        for block, rows in self.absent:
            right[rows, block] = Y[rows] @ P[:, block]
        given = _absent_moments(P, right, self.observed, self.widths)
        shift = (Y.sum(axis=0) + given.means.sum(axis=0)) / n
        half, cross = Y + given.means / 2, np.zeros_like(Sigma)
        for block, rows in self.absent:
            cross[:, block] = half[rows].T @ given.means[rows, block]
        # completed' completed, of which what is observed is known
        scatter = self.observed_scatter(mu) + cross + cross.T
        # x_o' Sigma_oo^-1 x_o = z' P z of the completed z, and logdet Sigma_oo = logdet Sigma + logdet P_hh
        value = n * logdet + given.logdet + float(np.vdot(P, scatter))
        value += weight * (logdet + float(self.psi @ np.diagonal(P)))
        scatter += given.covariance - n * np.outer(shift, shift)
        scatter[np.diag_indices_from(scatter)] += weight * self.psi
        return UpdateEvaluation(point, value / 2, (mu + shift, scatter / (n + weight)))


@estimator
class EMFill(RegularisedCompleter):
    """Fill with conditional expectations under one Gaussian over all views, fitted by EM.

    Assumes that the scores of samples along each view's leading principal components are jointly
    Gaussian, so that an absent view depends linearly on those present, and that views are absent at
    random.  Completed kernels keep their observed block to the last bit and are positive semidefinite.

    It fails where dependence is not linear; where few samples have two views together, since the
    covariance of two views is learned from those; and where a view's variance is spread over many
    components, since only the leading ones are filled and the rest is the mean.  An iteration costs the
    cube of the number of components of all views, and with many views, where there are almost as many
    patterns of absence as samples, some of it for every pattern.  A sample without any view becomes the
    Gaussian's mean.

    Parameters
    ----------
    n_components : int or "gk", default "gk"
        Principal components of each view, fewer where the last would be no different in variance from
        the next.  ``"gk"`` (Guttman-Kaiser): as many as have an eigenvalue above the mean, of the
        view's observed, centred kernel.
    ridge : float or "heldout", default "heldout"
        Weight of the prior, which holds all scores uncorrelated, as a share of the number of samples.
        ``"heldout"`` hides a tenth of each view's observed samples, fits along a path from 10 down to
        0.01 until a value is worse than the one before, and takes the value that completes their kernel
        values best (kept in ``heldout_curve_``).
    tol : float, default 1e-6
        Stop when the objective's relative change falls below; 0 runs all iterations.
    max_iter : int, default 500
        Stop after so many iterations at the latest.
    random_state : int, Generator, RandomState or None
        Of what ``"heldout"`` hides.  None: the fixed seed 0.
    callback, verbose : callable or None, bool
        Gets a :class:`absentia.core.optimize.Progress` each iteration, True stops; lines on stderr.

    Attributes
    ----------
    mean_, covariance_ : ndarray
        Of the scores, all views side by side.
    n_components_ : tuple of int
        Number of scores of each view.
    ridge_ : float
    heldout_curve_ : dict
        Error by ridge, for ``ridge="heldout"``.
    objective_ : ndarray
        Penalised negative log-likelihood after each iteration; never rises beyond rounding.
    n_iter_, converged_, status_, names_in_, ids_

    Notes
    -----
    New samples (``transform``) get their conditional expectation under the fitted Gaussian, as a
    training sample with the same kernel values does; refitting with them would move the Gaussian a
    little.

    Examples
    --------
    >>> from absentia import EMFill, ViewKernels, datasets, missingness
    >>> views = datasets.load_digit_views(n_samples=60).views
    >>> kernels = ViewKernels().fit_transform(views.hide(missingness.mcar(views, 0.3, random_state=0)))
    >>> bool(EMFill(ridge=0.3).fit_transform(kernels).observed.all())
    True
    """

    n_components: PositiveInt | Literal["gk"] = "gk"
    _: KW_ONLY
    ridge: Positive | Literal["heldout"] = "heldout"

    _strength, _path = "ridge", (10.0, 3.0, 1.0, 0.3, 0.1, 0.03, 0.01)
    _patience, _path_patience = 1, 1  # steps get short at the end only, and errors fall and rise once

    def _make_fitter(self, X: KernelViews, earlier: _EMFitter | None = None) -> _EMFitter:
        return _EMFitter(self, X, earlier)

    def _make_problem(self, X: KernelViews) -> tuple[_EMProblem, list[Array]]:
        """Find the axes; the scores of the samples that have some view are the data, zero where absent."""
        found = [_find_scores(X.operator(name), self.n_components) for name in X.names]
        self._bases, self._scores = map(list, zip(*found, strict=True))
        self._combinations: list[Any] = [basis.C for basis in self._bases]
        self.n_components_ = tuple(len(scores.variances) for scores in self._scores)
        with_view, known = X.observed.any(axis=1), self._project_rows(X)
        # a score's variance in the prior is the mean of its view's
        means = [scores.variances.sum() / max(len(scores.variances), 1) for scores in self._scores]
        psi = np.repeat(means, self.n_components_)
        problem = _EMProblem(np.hstack(known)[with_view], X.observed[with_view], self.n_components_, psi)
        return problem, known

    def _make_bases(self, kernels: Sequence[Operator], observed: Array) -> list[Basis]:
        return [Basis.of(K, C) for K, C in zip(kernels, self._combinations, strict=True)]

    def _projections(self) -> list[Array]:
        pairs = zip(self._combinations, self._scores, strict=True)
        return [C[:, 1:] / scores.size for C, scores in pairs]

    def _predict_coordinates(self, known: Sequence[Array], observed: Array) -> list[Coordinates]:
        P = cholesky_inverse(cholesky(self.covariance_, "covariance"))
        X = np.hstack(known) - self.mean_
        variances = np.zeros_like(X)
        for pattern, rows in group_by_pattern(observed):
            there = np.repeat(pattern, self.n_components_)
            o, h = np.flatnonzero(there), np.flatnonzero(~there)
            given = ConditionalGaussian.by_precision(P, o, h)
            X[np.ix_(rows, h)] = X[np.ix_(rows, o)] @ given.B
            variances[np.ix_(rows, h)] = np.diagonal(given.covariance)
        X += self.mean_
        ends = np.cumsum(self.n_components_)[:-1]
        parts = zip(self._scores, np.split(X, ends, axis=1), np.split(variances, ends, axis=1), strict=True)
        return [
            Coordinates(add_mean_coordinate(x), scores.size * s.sum(axis=1) + scores.outside)
            for scores, x, s in parts
        ]


class _EMFitter:
    """Fits from where the fit before ended: its E-step with another prior in the M-step.

    `moments` are the mean and the covariance of the completed samples, without the prior; at first the
    prior, or what an `earlier` fit found, which had some cells hidden.
    """

    def __init__(self, completer: EMFill, X: KernelViews, earlier: _EMFitter | None = None) -> None:
        self.X, self.completer = X, completer
        self.problem, self.known = completer._make_problem(X)
        self.bases = completer._bases
        self.moments = self.problem.start() if earlier is None else earlier.moments_along(self.known)

    def fit(self, strength: float, **options: Any) -> Solution[AccelerationState]:
        first = self.problem.with_prior(self.moments, strength)
        solution = accelerate(lambda point: self.problem.evaluate(strength, point), first, **options)
        self.completer.mean_, self.completer.covariance_ = solution.state.at.point
        self.moments = self.problem.without_prior(solution.state.at.following, strength)
        return solution

    def get_coordinates(self) -> list[Array]:
        return self.known

    def moments_along(self, known: Sequence[Array]) -> Point:
        """The moments along other axes, for which the coordinates of the same samples are given."""
        changes, means = [], []
        for basis, scores, present in zip(self.bases, known, self.X.observed.T, strict=True):
            # an axis is a combination of samples, and so are its coordinates
            changes.append(cast("Array", basis.C)[:, 1:].T @ scores[present])
            means.append(scores[present].mean(axis=0) if present.any() else np.zeros(scores.shape[1]))
        change_of_basis = scipy.linalg.block_diag(*changes)
        mu, S = self.moments
        return np.hstack(means) + mu @ change_of_basis, symmetrize(change_of_basis.T @ S @ change_of_basis)
