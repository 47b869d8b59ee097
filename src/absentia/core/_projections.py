"""What a kernel does to a thin matrix, without more of the product than is needed."""

from __future__ import annotations

from collections.abc import Iterator
from typing import TYPE_CHECKING, Protocol

import numpy as np

from absentia.core._threads import has_one_thread, has_small_kernels
from absentia.core.linalg import Array, thin_gram

if TYPE_CHECKING:  # operators make projections
    from absentia.core._operators import Operator

_CHUNK = 4096
#: Products of at most so many multiplications are small to BLAS.
_SMALL = 1_000_000


def row_chunks(n: int) -> Iterator[slice]:
    """Up to `n`, some rows at a time."""
    return (slice(a, min(a + _CHUNK, n)) for a in range(0, n, _CHUNK))


class _Projection(Protocol):
    """What a kernel does to a thin matrix: ``inner = F' Q F``, and ``Q F`` to be added up somewhere."""

    @property
    def inner(self) -> Array: ...
    def add(self, total: Array, v: Array, T: Array) -> None: ...


def symmetric_product(A: Array, F: Array) -> Array:
    """``A F`` of symmetric `A` and thin `F`.

    BLAS copies the large matrix into an order of its own, and for few columns that takes longer than
    multiplying.  Some multiply small matrices as they are: they get a few rows of `A` at a time (half the
    time at 3000 x 3000 and 20 columns).  Others are faster at ``(F' A)'``, which is the same.
    """
    rows = next((b for b in (32, 16, 8) if b * F.size <= _SMALL), 0)
    n = len(A) - len(A) % rows if rows else 0
    if (
        not n
        or not A.flags.c_contiguous
        or A.dtype != F.dtype
        or not (has_small_kernels() and has_one_thread())
    ):
        return np.asarray((F.T @ A).T)
    result = np.empty_like(F, order="C")
    groups = n // rows, rows
    np.matmul(A[:n].reshape(*groups, A.shape[1]), F, out=result[:n].reshape(*groups, F.shape[1]))
    np.matmul(A[n:], F, out=result[n:])
    return result


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
        for rows in row_chunks(len(v)):
            total[v[rows]] += self.left[rows] @ H


class ScaledProjection:
    """A projection of a scaled kernel."""

    def __init__(self, projection: _Projection, factor: float) -> None:
        self.projection, self.factor = projection, factor

    @property
    def inner(self) -> Array:
        return self.factor * self.projection.inner

    def add(self, total: Array, v: Array, T: Array) -> None:
        """``total[v] += (Q F) T``."""
        self.projection.add(total, v, self.factor * T)


def project(Q: Operator, F: Array, v: Array) -> _Projection:
    """The projection of square `Q`, whose samples are the rows `v` of `F`, on the columns of `F`."""
    own = getattr(Q, "project", None)
    if own is not None:
        return own(F, v)
    F_v = F[v]
    return DirectProjection(F_v, Q @ F_v)
