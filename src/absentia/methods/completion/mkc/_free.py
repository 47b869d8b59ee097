"""The variant sdp: the completed kernels are free, but for being positive semidefinite.

With C the coordinates of the observed samples of a view, every positive semidefinite kernel that keeps the
observed block is the Gram matrix of ``[[C, 0], [Y, Z]]`` for some Y and Z.  So the rows ``[Y, Z]`` of
missing samples are the unknowns, and nothing constrains them.
"""

from collections.abc import Callable

import numpy as np

from absentia.core import Array, Point, kept
from absentia.methods.completion.mkc._combine import between_kernels
from absentia.methods.completion.mkc._problem import Local, Problem, agreement, lazily
from absentia.methods.completion.mkc._rows import Rows, free_rows


@kept
class Free:
    """sdp: views agree in their kernels, and nothing else is asked of those."""

    def __init__(self, problem: Problem) -> None:
        self.problem = problem

    def start(self) -> Point:
        """Missing samples are the mean sample, each with a direction of its own up to unit length."""
        rows = []
        for C, hidden in zip(self.problem.C, self.problem.hidden, strict=True):
            middle = C.mean(axis=0)
            apart = np.sqrt(max(1.0 - float(middle @ middle), 0.1))
            rows.append(np.hstack([np.tile(middle, (len(hidden), 1)), apart * np.eye(len(hidden))]))
        return tuple(rows)

    def coordinates(self, point: Point) -> list[Array]:
        """Coordinates of all samples in every view."""
        result = []
        for rows, C, seen, hidden in zip(
            point, self.problem.C, self.problem.seen, self.problem.hidden, strict=True
        ):
            F = np.zeros((self.problem.size, rows.shape[1]))
            F[seen, : C.shape[1]], F[hidden] = C, rows
            result.append(F)
        return result

    def basis(self, point: Point) -> Array:
        """Which samples (columns) are used in each view (rows): all that have it."""
        return np.asarray(self.problem.observed.T)

    def evaluate(self, point: Point) -> Local:
        F = self.coordinates(point)
        S, value, slopes = between_kernels(self.problem, np.stack([f @ f.T for f in F]))
        gradient = tuple(
            2 * slope[hidden] @ f for slope, hidden, f in zip(slopes, self.problem.hidden, F, strict=True)
        )
        return Local(point, value, gradient, lazily(lambda: self.divider(F)), S, F)

    def divider(self, coordinates: list[Array]) -> Callable[[Point], Point]:
        """Divide each axis by its curvature, about the summed squares of all samples along it.

        Along axes of observed samples those of missing ones are averaged: where axes are alike their
        directions are arbitrary, and must not matter.  Means are over samples, as many as there can be
        axes: how many axes there are is for rounding to say.
        """
        shares = 6 * self.problem.between_shares  # M_vv is between 1 and 2
        curvatures = []
        for share, F, C, hidden in zip(
            shares, coordinates, self.problem.C, self.problem.hidden, strict=True
        ):
            along, rank = np.einsum("ij,ij->j", F, F), C.shape[1]
            mean = max(float(along.sum()) / len(F), 1e-12)
            along[:rank] = np.sum(C * C, axis=0) + np.sum(F[hidden, :rank] ** 2) / len(C)
            curvatures.append(share * (along + mean))

        def divide(direction: Point) -> Point:
            return tuple(d / c for d, c in zip(direction, curvatures, strict=True))

        return divide

    def shrunk(self, at: Local, eta: float) -> None:
        """There is no penalty to shrink."""

    def fold(self, point: Point, S: Array, rows: Rows) -> tuple[list[Array], Array]:
        """Coordinates and squared lengths of new samples in every view."""
        return free_rows(agreement(S), self.coordinates(point), rows)
