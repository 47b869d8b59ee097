"""What a kernel may be: a few operators with the same handful of verbs.

Every operator can multiply a thin matrix (``op @ X``), give its ``diagonal()``, a dense
``block(rows, cols)``, a smaller operator ``select(rows, cols)`` and ``to_dense()``.  The positive
definite ones add ``solve``, ``logdet``, ``trace_solve`` and ``principal(index)``; they are also what
a covariance model is made of.  The set is closed: subclassing is not the way to extend it.

==========================  ======================  ===========================
operator                    matrix                  cost of ``op @ (n x q)``
==========================  ======================  ===========================
``Dense(A)``                ``A``                   ``n^2 q``
``Gram(L, R)``              ``L R'``                ``n m q``
``Scaled(op, factor)``      ``factor * op``         as ``op``
``LowRankPlusDiagonal``     ``W W' + diag(d)``      ``n q_W q``
``Completed``               observed block, else    as the observed block
(in ``_completed``)         low rank + diagonal
==========================  ======================  ===========================
"""

from __future__ import annotations

from collections.abc import Iterator
from functools import cached_property
from typing import Any, Protocol, final, runtime_checkable

import numpy as np

from absentia.core._serialization import serializable
from absentia.core.linalg import (
    Array,
    as_readonly,
    cholesky,
    cholesky_inverse,
    cholesky_logdet,
    cholesky_solve,
    thin_gram,
)

_CHUNK = 4096


@runtime_checkable
class Operator(Protocol):
    """A matrix that need not be stored as one; rectangular ones appear between new and old samples."""

    @property
    def shape(self) -> tuple[int, int]: ...
    @property
    def dtype(self) -> np.dtype[np.floating]: ...
    def __matmul__(self, X: Array) -> Array: ...
    def diagonal(self) -> Array: ...
    def block(self, rows: Array, cols: Array) -> Array: ...
    def select(self, rows: Array, cols: Array) -> Operator: ...
    def astype(self, dtype: Any) -> Operator: ...
    def to_dense(self) -> Array: ...


@runtime_checkable
class PDOperator(Operator, Protocol):
    """A square positive definite operator: it can be solved with."""

    def solve(self, X: Array) -> Array: ...
    def logdet(self) -> float: ...
    def trace_solve(self, Q: Operator) -> float: ...
    def principal(self, index: Array) -> PDOperator: ...
    def conditional_diagonal(self, v: Array, h: Array) -> Array: ...
    def decouple(self, groups: Array) -> PDOperator: ...
    def pad(self, index: Array, size: int) -> PDOperator: ...


def describe_operator(operator: Operator, *facts: str) -> str:
    """An operator in a line, never its numbers: shape, facts, precision."""
    rows, columns = operator.shape
    words = [f"{rows} x {columns}", *facts, str(operator.dtype)]
    return f"{type(operator).__name__}({', '.join(words)})"


def row_chunks(n: int) -> Iterator[slice]:
    """Up to `n`, some rows at a time."""
    return (slice(a, min(a + _CHUNK, n)) for a in range(0, n, _CHUNK))


def _restore(self: Any, state: dict[str, Any]) -> None:
    """Unpickled and copied arrays are writeable again; undo that."""
    self.__dict__.update({k: as_readonly(x) if isinstance(x, np.ndarray) else x for k, x in state.items()})


@serializable
@final
class Dense:
    """A matrix held as an array.  Square positive definite ones can be solved with."""

    __setstate__ = _restore

    def __init__(self, A: Array) -> None:
        self.A = as_readonly(np.asarray(A))

    @property
    def shape(self) -> tuple[int, int]:
        return self.A.shape[0], self.A.shape[1]

    @property
    def dtype(self) -> np.dtype[np.floating]:
        return self.A.dtype

    @cached_property
    def _L(self) -> Array:
        return cholesky(self.A)

    def __repr__(self) -> str:
        return describe_operator(self)

    def __matmul__(self, X: Array) -> Array:
        return np.asarray(self.A @ X)

    def project(self, F: Array, v: Array) -> _Projection:
        """As :func:`project`, of a symmetric matrix: BLAS is quicker with the thin one on the left."""
        F_v = F[v]
        return _Projection.direct(F_v, np.asarray((F_v.T @ self.A).T))

    def diagonal(self) -> Array:
        return self.A.diagonal()

    def block(self, rows: Array, cols: Array) -> Array:
        return np.asarray(self.A[np.ix_(rows, cols)])

    def select(self, rows: Array, cols: Array) -> Dense:
        return Dense(self.block(rows, cols))

    def astype(self, dtype: Any) -> Dense:
        return self if self.dtype == dtype else Dense(self.A.astype(dtype))

    def to_dense(self) -> Array:
        return self.A

    def solve(self, X: Array) -> Array:
        return cholesky_solve(self._L, X)

    def logdet(self) -> float:
        return cholesky_logdet(self._L)

    def trace_solve(self, Q: Operator) -> float:
        """``trace(M^-1 Q)``."""
        return float(np.vdot(cholesky_inverse(self._L), Q.to_dense()))

    def principal(self, index: Array) -> Dense:
        return self.select(index, index)

    def conditional_diagonal(self, v: Array, h: Array) -> Array:
        """Diagonal of ``M_hh - M_hv M_vv^-1 M_vh``: variances of h given v."""
        M_vh = self.block(v, h)
        return self.diagonal()[h] - np.einsum("ij,ij->j", M_vh, self.principal(v).solve(M_vh))

    def decouple(self, groups: Array) -> Dense:
        """Entries between different groups set to zero (a pinching: stays positive definite)."""
        return Dense(np.where(groups[:, None] == groups[None, :], self.A, 0.0))

    def pad(self, index: Array, size: int) -> Dense:
        """This operator on the samples `index` of `size`, the identity on the others."""
        padded = np.eye(size, dtype=self.dtype)
        padded[np.ix_(index, index)] = self.A
        return Dense(padded)


@serializable
@final
class Gram:
    """``left right'``: a kernel given by its factors and never formed.  ``right=None``: ``left``."""

    __setstate__ = _restore

    def __init__(self, left: Array, right: Array | None = None) -> None:
        self.left = as_readonly(np.asarray(left))
        self.right = self.left if right is None else as_readonly(np.asarray(right))

    @property
    def shape(self) -> tuple[int, int]:
        return len(self.left), len(self.right)

    @property
    def dtype(self) -> np.dtype[np.floating]:
        return self.left.dtype

    def __repr__(self) -> str:
        return describe_operator(self, f"{self.left.shape[1]} factors")

    def __matmul__(self, X: Array) -> Array:
        inner = thin_gram(self.right, X)
        return np.asarray(self.left @ inner.astype(np.result_type(self.left, X), copy=False))

    def diagonal(self) -> Array:
        m = min(self.shape)
        return np.einsum("ij,ij->i", self.left[:m], self.right[:m])

    def block(self, rows: Array, cols: Array) -> Array:
        return np.asarray(self.left[rows] @ self.right[cols].T)

    def select(self, rows: Array, cols: Array) -> Gram:
        if self.right is self.left and np.array_equal(rows, cols):
            return Gram(self.left[rows])
        return Gram(self.left[rows], self.right[cols])

    def astype(self, dtype: Any) -> Gram:
        if self.dtype == dtype:
            return self
        right = None if self.right is self.left else self.right.astype(dtype)
        return Gram(self.left.astype(dtype), right)

    def to_dense(self) -> Array:
        return np.asarray(self.left @ self.right.T)

    def project(self, F: Array, v: Array) -> _Projection:
        """As :func:`project`, in two passes over the factors by chunks of rows and nothing n x q kept."""
        A = np.zeros((self.right.shape[1], F.shape[1]))
        for rows in row_chunks(len(v)):
            A += self.right[rows].T @ F[v[rows]]
        return _Projection(self.left, A, A.T @ A)


@serializable
@final
class Scaled:
    """``factor`` times another operator, which stays as it is."""

    def __init__(self, operator: Operator, factor: float) -> None:
        self.operator, self.factor = operator, float(factor)

    @property
    def shape(self) -> tuple[int, int]:
        return self.operator.shape

    @property
    def dtype(self) -> np.dtype[np.floating]:
        return self.operator.dtype

    def __repr__(self) -> str:
        return f"Scaled({self.factor:g} * {self.operator!r})"

    def __matmul__(self, X: Array) -> Array:
        result = self.operator @ X
        result *= result.dtype.type(self.factor)
        return result

    def project(self, F: Array, v: Array) -> _Projection:
        """As :func:`project`."""
        found = project(self.operator, F, v)
        return _Projection(found.left, found.A, self.factor * found.inner, self.factor * found.factor)

    def diagonal(self) -> Array:
        return self.factor * self.operator.diagonal()

    def block(self, rows: Array, cols: Array) -> Array:
        return self.factor * self.operator.block(rows, cols)

    def select(self, rows: Array, cols: Array) -> Scaled:
        return Scaled(self.operator.select(rows, cols), self.factor)

    def astype(self, dtype: Any) -> Scaled:
        return Scaled(self.operator.astype(dtype), self.factor)

    def to_dense(self) -> Array:
        return self.factor * self.operator.to_dense()


@serializable
@final
class LowRankPlusDiagonal:
    """``W W' + diag(d)`` with ``d > 0``; solved through the ``q x q`` matrix ``C = I + W' D^-1 W``."""

    __setstate__ = _restore

    def __init__(self, W: Array, d: Array) -> None:
        self.W, self.d = as_readonly(np.asarray(W)), as_readonly(np.asarray(d))

    @property
    def shape(self) -> tuple[int, int]:
        return len(self.d), len(self.d)

    @property
    def dtype(self) -> np.dtype[np.floating]:
        return self.W.dtype

    @cached_property
    def _F(self) -> Array:
        return np.asarray(self.W / self.d[:, None])

    @cached_property
    def _L(self) -> Array:
        C = np.eye(self.W.shape[1], dtype=self.dtype) + self.W.T @ self._F
        return cholesky(C, "inner matrix I + W' D^-1 W")

    def __repr__(self) -> str:
        return describe_operator(self, f"rank {self.W.shape[1]} plus diagonal")

    def __matmul__(self, X: Array) -> Array:
        return np.asarray(self.W @ (self.W.T @ X) + (self.d * X.T).T)

    def diagonal(self) -> Array:
        return np.einsum("ij,ij->i", self.W, self.W) + self.d

    def block(self, rows: Array, cols: Array) -> Array:
        same = np.equal.outer(rows, cols)
        return np.asarray(self.W[rows] @ self.W[cols].T + same * self.d[rows][:, None])

    def select(self, rows: Array, cols: Array) -> Dense:
        return Dense(self.block(rows, cols))

    def astype(self, dtype: Any) -> LowRankPlusDiagonal:
        return LowRankPlusDiagonal(self.W.astype(dtype), self.d.astype(dtype))

    def to_dense(self) -> Array:
        dense = self.W @ self.W.T
        dense[np.diag_indices_from(dense)] += self.d
        return dense

    def solve(self, X: Array) -> Array:
        # Woodbury: M^-1 = D^-1 - F C^-1 F'
        return np.asarray((X.T / self.d).T - self._F @ cholesky_solve(self._L, self._F.T @ X))

    def logdet(self) -> float:
        return cholesky_logdet(self._L) + float(np.log(self.d).sum())

    def trace_solve(self, Q: Operator) -> float:
        """``trace(M^-1 Q)`` without forming ``M^-1``: one thin product with `Q`."""
        inner = cholesky_solve(self._L, self._F.T @ (Q @ self._F))
        return float((Q.diagonal() / self.d).sum() - np.trace(inner))

    def principal(self, index: Array) -> LowRankPlusDiagonal:
        return LowRankPlusDiagonal(self.W[index], self.d[index])

    def conditional_diagonal(self, v: Array, h: Array) -> Array:
        """Diagonal of ``M_hh - M_hv M_vv^-1 M_vh = D_h + W_h C_v^-1 W_h'``: variances of h given v."""
        W = self.W[h]
        return self.d[h] + np.einsum("ij,ji->i", W, cholesky_solve(self.principal(v)._L, W.T))

    def decouple(self, groups: Array) -> LowRankPlusDiagonal:
        """Entries between different groups set to zero: each group gets columns of its own."""
        parts = [np.where((groups == g)[:, None], self.W, 0.0) for g in np.unique(groups)]
        return LowRankPlusDiagonal(np.hstack(parts), self.d)

    def pad(self, index: Array, size: int) -> LowRankPlusDiagonal:
        """This operator on the samples `index` of `size`, the identity on the others."""
        W, d = np.zeros((size, self.W.shape[1]), self.dtype), np.ones(size, self.dtype)
        W[index], d[index] = self.W, self.d
        return LowRankPlusDiagonal(W, d)


# ---------------------------------------------------------------------------------------------- projections


class _Projection:
    """What a kernel does to a thin matrix F: ``Q F = factor left A``, and ``inner = F' Q F``."""

    def __init__(self, left: Array, A: Array, inner: Array, factor: float = 1.0) -> None:
        self.left, self.A, self.inner, self.factor = left, A, inner, factor

    @classmethod
    def direct(cls, F_v: Array, Y: Array) -> _Projection:
        """Of the product ``Y = Q F``."""
        return cls(Y, np.eye(Y.shape[1]), thin_gram(F_v, Y))

    def add(self, total: Array, v: Array, T: Array) -> None:
        """``total[v] += (Q F) T``, some rows at a time."""
        H = (self.A @ (self.factor * T)).astype(self.left.dtype, copy=False)
        for rows in row_chunks(len(v)):
            total[v[rows]] += self.left[rows] @ H


def project(Q: Operator, F: Array, v: Array) -> _Projection:
    """The projection of square `Q`, whose samples are the rows `v` of `F`, on the columns of `F`."""
    own = getattr(Q, "project", None)
    if own is not None:
        return own(F, v)
    F_v = F[v]
    return _Projection.direct(F_v, Q @ F_v)
