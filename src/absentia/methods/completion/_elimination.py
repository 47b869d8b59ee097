"""Absent blocks of Gaussian samples given what is there, for all patterns of absence together.

Every sample lacks some views, that is whole blocks h of the variables.  With P the precision of all
variables (mean zero) and o the others, what is absent has

    mean  z_h = -P_hh^-1 P_ho x_o,     covariance  C = P_hh^-1.

EM wants the means, and of the covariances only their sum over the samples.  Factorising P_hh for one
pattern of absence after the other repeats itself: patterns that begin alike share the beginning.  So the
views are taken in one order, and the patterns are a tree: at each node some samples, which may lack some
views j, r, lack j or have it.

* Those that have j go on with P_rr.
* Those that lack j go on with ``M = P_rr - P_rj P_jj^-1 P_jr``: j is eliminated, once for all of them.

On the way back, with T_r the sum of covariances over the samples of the branch, scattered over all of r,
and ``W = P_jj^-1 P_jr``,

    T_jr = -W T_r,     T_jj = m P_jj^-1 + W T_r W',

m the number of samples that lack j: block inversion is linear in the inverse of M, so that sums of
inverses do as well as one.  All of it is products of matrices, as wide as a view at one side at least.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any, NamedTuple

import numpy as np

from absentia.core import Array
from absentia.core.linalg import group_by_pattern, whitening_matrix


class _Branch(NamedTuple):
    """The next node of some samples, and which variables of the node before anybody lacks there."""

    node: _Node
    columns: Any  # positions, or a slice
    block: Any  # the same twice, of a square matrix

    @classmethod
    def to(cls, node: _Node | None, before: Sequence[int], widths: Sequence[int]) -> _Branch | None:
        """From a node with the views `before`, the first of which is done with."""
        if node is None:
            return None
        if node.views == tuple(before[1:]):
            rest = slice(widths[before[0]], None)
            return cls(node, rest, (rest, rest))
        columns = np.flatnonzero(np.repeat([v in node.views for v in before], [widths[v] for v in before]))
        return cls(node, columns, np.ix_(columns, columns))


@dataclass(frozen=True)
class _Node:
    """Samples that may lack some views: the `n_lacking` that lack the first come first.

    A branch is None where nobody lacks another view.
    """

    views: tuple[int, ...]
    width: int  # of the first view
    n_lacking: int
    lacking: _Branch | None
    having: _Branch | None

    @classmethod
    def build_tree(cls, lacks: Array, views: Sequence[int], widths: Sequence[int]) -> _Node | None:
        """`lacks`: samples x views, in order; None if nobody lacks anything."""
        lacked = np.flatnonzero(lacks.any(axis=0))
        if not len(lacked):
            return None
        lacks, views = lacks[:, lacked], tuple(views[i] for i in lacked.tolist())
        first = lacks[:, 0]
        children = (cls.build_tree(lacks[rows, 1:], views[1:], widths) for rows in (first, ~first))
        lacking, having = (_Branch.to(node, views, widths) for node in children)
        return cls(views, widths[views[0]], int(first.sum()), lacking, having)


class AbsentMoments(NamedTuple):
    """What is absent, given what is there."""

    means: Array  # of all variables, zero where a sample has them
    covariance: Array  # summed over samples
    logdet: float  # of P_hh, summed over samples


class AbsenceTree:
    """Which samples lack which views, as a tree; `order` are the samples as the tree has them."""

    def __init__(self, observed: Array, widths: Sequence[int]) -> None:
        # wide views first: what comes late is eliminated in many branches
        views = sorted((v for v, width in enumerate(widths) if width), key=lambda v: -widths[v])
        keys = [observed[:, v] for v in reversed(views)]
        self.order = np.lexsort(keys) if keys else np.arange(len(observed))
        lacks = ~observed[np.ix_(self.order, np.array(views, dtype=np.intp))]
        self.root = _Node.build_tree(lacks, views, widths)
        ends, blocks = np.cumsum(widths), () if self.root is None else self.root.views
        coordinates = [np.arange(ends[v] - widths[v], ends[v]) for v in blocks]
        #: the variables that anybody lacks, in the order of the tree
        self.columns = np.concatenate(coordinates) if coordinates else np.zeros(0, dtype=np.intp)

    def condition(self, P: Array, right: Array) -> AbsentMoments:
        """Moments with the precision `P`; ``right = x_o P_oh``, zero elsewhere, samples in `order`."""
        means, covariance = np.zeros_like(right), np.zeros_like(P)
        if self.root is None:
            return AbsentMoments(means, covariance, 0.0)
        at = self.columns
        block = np.ix_(at, at)
        z, T, logdet = _eliminate(self.root, P[block], right[:, at])
        means[:, at] = -z
        covariance[block] = T
        return AbsentMoments(means, covariance, logdet)


def _eliminate(node: _Node, P: Array, right: Array) -> AbsentMoments:
    """``P_hh^-1 right_h`` of each sample; the sums of P_hh^-1 and of the logarithmic determinants."""
    k, m = node.width, node.n_lacking
    z, T = np.zeros_like(right), np.zeros_like(P)
    R = whitening_matrix(P[:k, :k], "precision")
    logdet = -2.0 * m * float(np.log(np.diagonal(R)).sum())
    u = right[:m, :k] @ R.T
    T[:k, :k] = m * (R.T @ R)
    if node.lacking is not None:
        onward, rest, block = node.lacking
        V = R @ P[:k, rest]
        below = _eliminate(onward, P[block] - V.T @ V, right[:m, rest] - u @ V)
        VT = V @ below.covariance
        WT = R.T @ VT
        T[:k, :k] += R.T @ (VT @ V.T) @ R
        T[:k, rest], T[rest, :k], T[block] = -WT, -WT.T, below.covariance
        z[:m, rest] = below.means
        u -= below.means @ V.T
        logdet += below.logdet
    z[:m, :k] = u @ R
    if node.having is not None:
        onward, rest, block = node.having
        below = _eliminate(onward, P[block], right[m:, rest])
        T[block] += below.covariance
        z[m:, rest] = below.means
        logdet += below.logdet
    return AbsentMoments(z, T, logdet)


def fill_with_means(
    Sigma: Array, P: Array, Y: Array, observed: Array, widths: Sequence[int] | Array
) -> Array:
    """Put the means of what each sample lacks into `Y`; return its variances, zero of what it has.

    One pattern of absence after the other, by the smaller of Sigma_oo and P_hh; ``P = Sigma^-1``.
    """
    variances = np.zeros_like(Y)
    for pattern, rows in group_by_pattern(observed):
        there = np.repeat(pattern, widths)
        o, h = np.flatnonzero(there), np.flatnonzero(~there)
        X, missing = Y[np.ix_(rows, o)], np.ix_(rows, h)
        if len(h) <= len(o):
            R = whitening_matrix(P[np.ix_(h, h)], "precision")
            Y[missing] = -(X @ P[np.ix_(o, h)]) @ R.T @ R
            variances[missing] = np.einsum("ij,ij->j", R, R)
        else:
            R = whitening_matrix(Sigma[np.ix_(o, o)], "covariance")
            V = R @ Sigma[np.ix_(o, h)]
            Y[missing] = (X @ R.T) @ V
            variances[missing] = np.diagonal(Sigma)[h] - np.einsum("ij,ij->j", V, V)
    return variances
