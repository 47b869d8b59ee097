"""What a kernel does to a thin matrix, without more of the product than is needed."""

from __future__ import annotations

from collections.abc import Iterator
from typing import TYPE_CHECKING, Protocol

import numpy as np

from absentia.core._linalg import Array, thin_gram

if TYPE_CHECKING:  # operators make projections
    from absentia.core._operators import Operator

CHUNK = 4096


def chunks(n: int) -> Iterator[slice]:
    """Up to `n`, some rows at a time."""
    return (slice(a, min(a + CHUNK, n)) for a in range(0, n, CHUNK))


class Projection(Protocol):
    """What a kernel does to a thin matrix: ``inner = F' Q F``, and ``Q F`` to be added up somewhere."""

    @property
    def inner(self) -> Array: ...
    def add(self, total: Array, v: Array, T: Array) -> None: ...


class DirectProjection:
    """``Q F`` as an array."""

    def __init__(self, F_v: Array, Y: Array) -> None:
        self.inner, self.Y = thin_gram(F_v, Y), Y

    def add(self, total: Array, v: Array, T: Array) -> None:
        """``total[v] += (Q F) T``."""
        total[v] += self.Y @ T.astype(self.Y.dtype, copy=False)


class FactoredProjection:
    """``Q F = left A`` with `A` small."""

    def __init__(self, left: Array, A: Array) -> None:
        self.left, self.A = left, A

    @property
    def inner(self) -> Array:
        return np.asarray(self.A.T @ self.A)

    def add(self, total: Array, v: Array, T: Array) -> None:
        """``total[v] += (Q F) T``."""
        H = (self.A @ T).astype(self.left.dtype, copy=False)
        for rows in chunks(len(v)):
            total[v[rows]] += self.left[rows] @ H


class ScaledProjection:
    """A projection of a scaled kernel."""

    def __init__(self, projection: Projection, factor: float) -> None:
        self.projection, self.factor = projection, factor

    @property
    def inner(self) -> Array:
        return self.factor * self.projection.inner

    def add(self, total: Array, v: Array, T: Array) -> None:
        """``total[v] += (Q F) T``."""
        self.projection.add(total, v, self.factor * T)


def project(Q: Operator, F: Array, v: Array) -> Projection:
    """The projection of square `Q`, whose samples are the rows `v` of `F`, on the columns of `F`."""
    own = getattr(Q, "project", None)
    if own is not None:
        return own(F, v)
    F_v = F[v]
    return DirectProjection(F_v, Q @ F_v)
