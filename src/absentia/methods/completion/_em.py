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
(``_elimination``).  M-step: mu is the mean of the completed rows, Sigma their covariance plus the mean
conditional covariance, with the prior's samples added.  Steps are extrapolated; each strength starts from
where the one before ended, and the last fit from where the choice of the strength did.

From scores to a kernel
-----------------------
Its expected scores place an absent sample along the view's principal axes, which are combinations of
the observed samples; its own value adds the trace of its conditional covariance, and the view's mean
variance outside the axes.  This is the expected kernel, samples being independent.

Departures from the references
------------------------------
* Scores instead of kernel columns (a linear change of variables, then truncated), and the prior.  The
  papers do not say how a covariance of more variables than samples was inverted.
* Conditional covariances enter the M-step, as in Ghahramani & Jordan; Liu et al. describe filling with
  conditional means alone, which does not raise the likelihood in every step.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import KW_ONLY, dataclass
from typing import Any, Literal, NamedTuple, cast

import numpy as np
import scipy.linalg

from absentia.core import (
    CLEAR,
    Accelerated,
    Array,
    Evaluated,
    Point,
    Positive,
    PositiveInt,
    Solution,
    accelerate,
    alike,
    by_pattern,
    centred,
    cholesky,
    cholesky_inverse,
    cholesky_logdet,
    clear_cut,
    estimator,
    leading_eigenpairs,
    serializable,
    symmetrize,
    whitener,
)
from absentia.data import KernelViews
from absentia.methods.completion._regularised import Axes, Fitting, Regularised, coordinates, with_mean
from absentia.methods.completion._subspace import Coordinates

# ------------ Absent blocks of Gaussian samples given what is there, for all patterns of absence together
#
# Every sample lacks some views, that is whole blocks h of the variables.  With P the precision of all
# variables (mean zero) and o the others, what is absent has
#
#     mean  z_h = -P_hh^-1 P_ho x_o,     covariance  C = P_hh^-1.
#
# EM wants the means, and of the covariances only their sum over the samples.  Factorising P_hh for one
# pattern of absence after the other repeats itself: patterns that begin alike share the beginning.  So the
# views are taken in one order, and the patterns are a tree: at each node some samples, which may lack some
# views j, r, lack j or have it.
#
# * Those that have j go on with P_rr.
# * Those that lack j go on with ``M = P_rr - P_rj P_jj^-1 P_jr``: j is eliminated, once for all of them.
#
# On the way back, with T_r the sum of covariances over the samples of the branch, scattered over all of r,
# and ``W = P_jj^-1 P_jr``,
#
#     T_jr = -W T_r,     T_jj = m P_jj^-1 + W T_r W',
#
# m the number of samples that lack j: block inversion is linear in the inverse of M, so that sums of
# inverses do as well as one.  All of it is products of matrices, as wide as a view at one side at least.


class Branch(NamedTuple):
    """Where some samples go on, and which variables of the node before anybody lacks there."""

    node: Node
    columns: Any  # positions, or a slice
    block: Any  # the same twice, of a square matrix

    @classmethod
    def to(cls, node: Node | None, before: Sequence[int], widths: Sequence[int]) -> Branch | None:
        """From a node with the views `before`, the first of which is done with."""
        if node is None:
            return None
        if node.views == tuple(before[1:]):
            rest = slice(widths[before[0]], None)
            return cls(node, rest, (rest, rest))
        columns = np.flatnonzero(np.repeat([v in node.views for v in before], [widths[v] for v in before]))
        return cls(node, columns, np.ix_(columns, columns))


@dataclass(frozen=True)
class Node:
    """Samples that may lack some views: the `n_lacking` that lack the first come first.

    A branch is None where nobody lacks another view.
    """

    views: tuple[int, ...]
    width: int  # of the first view
    n_lacking: int
    lacking: Branch | None
    having: Branch | None

    @classmethod
    def build_tree(cls, lacks: Array, views: Sequence[int], widths: Sequence[int]) -> Node | None:
        """`lacks`: samples x views, in order; None if nobody lacks anything."""
        some = np.flatnonzero(lacks.any(axis=0))
        if not len(some):
            return None
        lacks, views = lacks[:, some], tuple(views[i] for i in some.tolist())
        first = lacks[:, 0]
        below = (cls.build_tree(lacks[who, 1:], views[1:], widths) for who in (first, ~first))
        lacking, having = (Branch.to(node, views, widths) for node in below)
        return cls(views, widths[views[0]], int(first.sum()), lacking, having)


class Given(NamedTuple):
    """What is absent, given what is there."""

    means: Array  # of all variables, zero where a sample has them
    covariance: Array  # summed over samples
    logdet: float  # of P_hh, summed over samples


class Patterns:
    """Who lacks which views, as a tree; `order` are the samples as the tree has them."""

    def __init__(self, observed: Array, widths: Sequence[int]) -> None:
        # wide views first: what comes late is eliminated in many branches
        views = sorted((v for v, width in enumerate(widths) if width), key=lambda v: -widths[v])
        keys = [observed[:, v] for v in reversed(views)]
        self.order = np.lexsort(keys) if keys else np.arange(len(observed))
        lacks = ~observed[np.ix_(self.order, np.array(views, dtype=np.intp))]
        self.root = Node.build_tree(lacks, views, widths)
        ends, blocks = np.cumsum(widths), () if self.root is None else self.root.views
        coordinates = [np.arange(ends[v] - widths[v], ends[v]) for v in blocks]
        #: the variables that anybody lacks, in the order of the tree
        self.columns = np.concatenate(coordinates) if coordinates else np.zeros(0, dtype=np.intp)

    def given(self, P: Array, right: Array) -> Given:
        """With the precision `P`, and ``right = x_o P_oh`` zero elsewhere, of samples in their order."""
        means, covariance = np.zeros_like(right), np.zeros_like(P)
        if self.root is None:
            return Given(means, covariance, 0.0)
        at = self.columns
        block = np.ix_(at, at)
        z, T, logdet = eliminate(self.root, P[block], right[:, at])
        means[:, at] = -z
        covariance[block] = T
        return Given(means, covariance, logdet)


def eliminate(node: Node, P: Array, right: Array) -> Given:
    """``P_hh^-1 right_h`` of each sample; the sums of P_hh^-1 and of the logarithmic determinants."""
    k, m = node.width, node.n_lacking
    z, T = np.zeros_like(right), np.zeros_like(P)
    R = whitener(P[:k, :k], "precision")
    logdet = -2.0 * m * float(np.log(np.diagonal(R)).sum())
    u = right[:m, :k] @ R.T
    T[:k, :k] = m * (R.T @ R)
    if node.lacking is not None:
        onward, rest, block = node.lacking
        V = R @ P[:k, rest]
        found = eliminate(onward, P[block] - V.T @ V, right[:m, rest] - u @ V)
        VT = V @ found.covariance
        WT = R.T @ VT
        T[:k, :k] += R.T @ (VT @ V.T) @ R
        T[:k, rest], T[rest, :k], T[block] = -WT, -WT.T, found.covariance
        z[:m, rest] = found.means
        u -= found.means @ V.T
        logdet += found.logdet
    z[:m, :k] = u @ R
    if node.having is not None:
        onward, rest, block = node.having
        found = eliminate(onward, P[block], right[m:, rest])
        T[block] += found.covariance
        z[m:, rest] = found.means
        logdet += found.logdet
    return Given(z, T, logdet)


def compute_variances(
    Sigma: Array, P: Array, Y: Array, observed: Array, widths: Sequence[int] | Array
) -> Array:
    """Variances of what each sample lacks, whose means are put into `Y`; zero of what it has.

    One pattern of absence after the other, by the smaller of Sigma_oo and P_hh; ``P = Sigma^-1``.
    """
    variances = np.zeros_like(Y)
    for pattern, rows in by_pattern(observed):
        there = np.repeat(pattern, widths)
        o, h = np.flatnonzero(there), np.flatnonzero(~there)
        X, missing = Y[np.ix_(rows, o)], np.ix_(rows, h)
        if len(h) <= len(o):
            R = whitener(P[np.ix_(h, h)], "precision")
            Y[missing] = -(X @ P[np.ix_(o, h)]) @ R.T @ R
            variances[missing] = np.einsum("ij,ij->j", R, R)
        else:
            R = whitener(Sigma[np.ix_(o, o)], "covariance")
            V = R @ Sigma[np.ix_(o, h)]
            Y[missing] = (X @ R.T) @ V
            variances[missing] = np.diagonal(Sigma)[h] - np.einsum("ij,ij->j", V, V)
    return variances


#: An eigenvalue below this share of the kernel's largest value, times the samples, is rounding.
SOLID = 1e-10


@serializable
@dataclass(frozen=True)
class Scores:
    """Leading principal components of a view, as :class:`Axes`, scaled to unit mean squared distance."""

    axes: Axes
    size: float  # the view's mean squared distance from its mean
    variances: Array  # of the scores
    outside: float  # variance outside the axes, in the kernel's own units

    @classmethod
    def of(cls, K: Array, n_components: int | str) -> Scores:
        if alike(K):
            K = np.asarray(K, dtype=np.float64)
            outside = max(float(np.diagonal(K).mean() - K.mean()), 0.0) if len(K) else 0.0
            nothing = np.zeros((len(K), 0))
            return cls(Axes.through_mean(K, nothing, nothing), 1.0, np.zeros(0), outside)
        K = np.asarray(K, dtype=np.float64)
        centre = centred(K)
        total = float(np.trace(centre))
        size = total / len(K)
        w, Q = _leading(centre, n_components)
        solid = w > SOLID * np.abs(K).max() * len(K)
        if n_components == "gk":
            r = clear_cut(w, int((w > (1 + CLEAR) * size).sum()))
        else:
            r = min(int(n_components), len(K) - 1)
            r = clear_cut(w, r) if solid[r - 1] else r
        # a direction without variance keeps its place, at zero: their number is not for rounding to say
        root = np.sqrt(size) * np.where(solid[:r], np.sqrt(np.where(solid[:r], w[:r], 1.0)), np.inf)
        axes = Axes.through_mean(K, Q[:, :r] * (size / root), Q[:, :r] / root)
        variances = np.where(solid[:r], w[:r], 0.0) / (size * len(K))
        return cls(axes, size, variances, max(total - float(w[:r].sum()), 0.0) / len(K))


def _leading(A: Array, n_components: int | str) -> tuple[Array, Array]:
    """Eigenpairs of a positive semidefinite matrix, largest first: those wanted, and what comes next."""
    if n_components == "gk":
        size = float(np.trace(A)) / len(A)  # the mean eigenvalue
        w, Q = scipy.linalg.eigh(A, check_finite=False, subset_by_value=(0.9 * size, np.inf))
    else:
        w, Q = leading_eigenpairs(A, int(n_components) + 1)
    return np.maximum(w[::-1], 0.0), Q[:, ::-1]


class EMProblem:
    """Rows of scores with whole blocks missing, in the order of the tree of patterns.

    Of what is observed, sums over samples are made once: of products, of scores where another is
    there, of pairs.
    """

    def __init__(self, X: Array, observed: Array, widths: Sequence[int], psi: Array) -> None:
        self.size, self.psi = len(X), psi
        self.patterns = Patterns(observed, widths)
        observed = observed[self.patterns.order]
        self.there = np.repeat(observed, widths, axis=1).astype(np.float64)
        self.X = X[self.patterns.order] * self.there
        self.products, self.sums = self.X.T @ self.X, self.X.T @ self.there
        self.pairs = self.there.T @ self.there
        starts = np.cumsum(widths) - widths
        #: of each view its columns and who lacks it, where there are any
        self.absent = [
            (slice(start, start + width), np.flatnonzero(~seen))
            for start, width, seen in zip(starts, widths, observed.T, strict=True)
            if width and not seen.all()
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
        return np.asarray(self.products - across - across.T + self.pairs * np.outer(mu, mu))


def evaluate(problem: EMProblem, ridge: float, point: Point) -> Evaluated:
    """Penalised negative log-likelihood at (mu, Sigma), and the EM update."""
    mu, Sigma = point
    n, weight = problem.size, ridge * problem.size
    L = cholesky(Sigma, "covariance")
    P, logdet = cholesky_inverse(L), cholesky_logdet(L)
    Y = problem.X - mu * problem.there
    right = np.zeros_like(Y)
    for block, rows in problem.absent:
        right[rows, block] = Y[rows] @ P[:, block]
    given = problem.patterns.given(P, right)
    shift = (Y.sum(axis=0) + given.means.sum(axis=0)) / n
    half, cross = Y + given.means / 2, np.zeros_like(Sigma)
    for block, rows in problem.absent:
        cross[:, block] = half[rows].T @ given.means[rows, block]
    # completed' completed, of which what is observed is known
    scatter = problem.observed_scatter(mu) + cross + cross.T
    # x_o' Sigma_oo^-1 x_o = z' P z of the completed z, and logdet Sigma_oo = logdet Sigma + logdet P_hh
    value = n * logdet + given.logdet + float(np.vdot(P, scatter))
    value += weight * (logdet + float(problem.psi @ np.diagonal(P)))
    scatter += given.covariance - n * np.outer(shift, shift)
    scatter[np.diag_indices_from(scatter)] += weight * problem.psi
    return Evaluated(point, value / 2, (mu + shift, scatter / (n + weight)))


@estimator
class EMFill(Regularised):
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
        Gets a :class:`absentia.core.Progress` each iteration, True stops; lines on stderr now and then.

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
    _settled, _worse = 1, 1  # steps get short at the end only, and errors fall and rise once

    def _prepare(self, X: KernelViews, earlier: Fitting | None = None) -> Fitting:
        return Expecting(self, X, cast("Expecting | None", earlier))

    def _problem(self, X: KernelViews) -> tuple[EMProblem, list[Array]]:
        """Find the axes; the scores of the samples that have some view are the data, zero where absent."""
        self._scores = [Scores.of(X.block(name), self.n_components) for name in X.names]
        self._bases = axes = [scores.axes for scores in self._scores]
        self.n_components_ = tuple(len(scores.variances) for scores in self._scores)
        some, seen = X.observed.any(axis=1), coordinates(axes, X)
        # a score's variance in the prior is the mean of its view's
        means = [scores.variances.sum() / max(len(scores.variances), 1) for scores in self._scores]
        psi = np.repeat(means, self.n_components_)
        return EMProblem(np.hstack(seen)[some], X.observed[some], self.n_components_, psi), seen

    def _places_of(self, seen: Sequence[Array], observed: Array) -> list[Coordinates]:
        width = np.array(self.n_components_)
        P = cholesky_inverse(cholesky(self.covariance_, "covariance"))
        X = np.hstack(seen) - self.mean_
        spread = compute_variances(self.covariance_, P, X, observed, width)
        X += self.mean_
        ends = np.cumsum(width)[:-1]
        parts = zip(self._scores, np.split(X, ends, axis=1), np.split(spread, ends, axis=1), strict=True)
        return [
            Coordinates(with_mean(x), scores.size * s.sum(axis=1) + scores.outside)
            for scores, x, s in parts
        ]


class Expecting(Fitting):
    """Fits from where the fit before ended: its E-step with another prior in the M-step.

    `moments` are the mean and the covariance of the completed samples, without the prior; at first the
    prior, or what an `earlier` fit found, which had some cells hidden.
    """

    def __init__(self, fill: EMFill, X: KernelViews, earlier: Expecting | None = None) -> None:
        self.X, self.fill = X, fill
        self.problem, self._seen = fill._problem(X)
        self.axes = cast("Sequence[Axes]", fill._bases)
        self.moments = self.problem.start() if earlier is None else earlier.moments_along(self._seen)

    def __call__(self, strength: float, **options: Any) -> Solution[Accelerated]:
        first = self.problem.with_prior(self.moments, strength)
        solution = accelerate(lambda point: evaluate(self.problem, strength, point), first, **options)
        self.fill.mean_, self.fill.covariance_ = solution.state.at.point
        self.moments = self.problem.without_prior(solution.state.at.following, strength)
        return solution

    def seen(self) -> list[Array]:
        return self._seen

    def moments_along(self, seen: Sequence[Array]) -> Point:
        """The moments along other axes, for which the coordinates of the same samples are given."""
        turns, means = [], []
        for own, scores, present in zip(self.axes, seen, self.X.observed.T, strict=True):
            # an axis is a combination of samples, and so are its coordinates
            turns.append(cast("Array", own.C)[:, 1:].T @ scores[present])
            means.append(scores[present].mean(axis=0) if present.any() else np.zeros(scores.shape[1]))
        turn = scipy.linalg.block_diag(*turns)
        mu, S = self.moments
        return np.hstack(means) + mu @ turn, symmetrize(turn.T @ S @ turn)
