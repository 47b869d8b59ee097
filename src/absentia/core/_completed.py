"""Kernels of which a part was observed and the rest is low rank plus diagonal, and factors of kernels.

:class:`Completed` is what completers make.  :func:`get_factors` writes it, and every other kernel that has
factors, as ``Phi Phi' + diag(own)``.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any, NamedTuple, final

import numpy as np
import scipy.sparse

from absentia.core._operators import (
    Dense,
    Gram,
    LowRankPlusDiagonal,
    Operator,
    Scaled,
    describe_operator,
    row_chunks,
)
from absentia.core._serialization import serializable
from absentia.core.linalg import Array, center_kernel, rounding_level, symmetrize, thin_gram

#: Eigenvalues below this part of the largest are rounding.
_NEGLIGIBLE = 1e-10


@serializable
@dataclass(frozen=True, repr=False)
class CompletedSide:
    """Rows (or columns) of a :class:`Completed` kernel: which were observed, and their thin factors.

    ``known`` and ``filled`` are positions; ``G`` belongs to the first, ``W`` to the second.
    """

    known: Array
    filled: Array
    G: Array
    W: Array

    def __repr__(self) -> str:
        return f"Side({len(self.known)} known, {len(self.filled)} filled, rank {self.W.shape[1]})"

    @property
    def size(self) -> int:
        return len(self.known) + len(self.filled)

    def take(self, index: Array) -> tuple[CompletedSide, Array]:
        """The side of the samples `index`, and which of the known samples it has, in their order."""
        place = np.empty(self.size, dtype=int)
        place[self.known], place[self.filled] = np.arange(len(self.known)), -1 - np.arange(len(self.filled))
        place = place[index]
        kept, filled = place[place >= 0], -1 - place[place < 0]
        side = CompletedSide(
            np.flatnonzero(place >= 0), np.flatnonzero(place < 0), self.G[kept], self.W[filled]
        )
        return side, kept


@serializable
@final
class Completed:
    """A kernel whose observed block is kept as it is and whose rest is low rank plus diagonal.

    With v the observed and h the filled samples: ``Q`` on (v, v), ``G W'`` on (v, h), its transpose on
    (h, v), ``W E W' + diag(d)`` on (h, h).  Rows and columns may be different samples; ``own`` is the
    sparse matrix of the diagonal's entries, where a row and a column are the same filled sample.
    """

    def __init__(
        self, Q: Operator, rows: CompletedSide, columns: CompletedSide, E: Array, own: Any
    ) -> None:
        self.Q, self.rows, self.columns, self.E, self.own = Q, rows, columns, E, own

    @classmethod
    def square(cls, Q: Operator, v: Array, h: Array, G: Array, W: Array, E: Array, d: Array) -> Completed:
        side = CompletedSide(v, h, G, W)
        diagonal = np.zeros(side.size)
        diagonal[h] = d
        return cls(Q, side, side, E, scipy.sparse.dia_array((diagonal[None], [0]), shape=(side.size,) * 2))

    @property
    def shape(self) -> tuple[int, int]:
        return self.rows.size, self.columns.size

    @property
    def dtype(self) -> np.dtype[np.floating]:
        return self.Q.dtype

    def __repr__(self) -> str:
        return describe_operator(
            self,
            f"{len(self.rows.known)} x {len(self.columns.known)} observed",
            f"rank {len(self.E)} elsewhere",
        )

    def __matmul__(self, X: Array) -> Array:
        r, c = self.rows, self.columns
        X_known, inner = X[c.known], c.W.T @ X[c.filled]
        result = np.asarray(self.own @ X)
        result[r.known] += self.Q @ X_known + r.G @ inner
        result[r.filled] += r.W @ (c.G.T @ X_known + self.E @ inner)
        return result

    def diagonal(self) -> Array:
        if self.rows is not self.columns:
            along = (np.arange(part.start, part.stop) for part in row_chunks(min(self.shape)))
            return np.concatenate([np.zeros(0), *(np.diagonal(self.block(i, i)) for i in along)])
        diagonal = np.array(self.own.diagonal())
        diagonal[self.rows.known] = self.Q.diagonal()
        diagonal[self.rows.filled] += np.einsum("ij,ij->i", self.rows.W @ self.E, self.rows.W)
        return diagonal

    def block(self, rows: Array, cols: Array) -> Array:
        return self.select(rows, cols).to_dense()

    def select(self, rows: Array, cols: Array) -> Completed:
        r, kept_rows = self.rows.take(rows)
        same = self.rows is self.columns and np.array_equal(rows, cols)
        c, kept_columns = (r, kept_rows) if same else self.columns.take(cols)
        own = scipy.sparse.csr_array(self.own)[rows][:, cols]
        return Completed(self.Q.select(kept_rows, kept_columns), r, c, self.E, own)

    def astype(self, dtype: Any) -> Completed:
        if self.dtype == dtype:
            return self
        return Completed(self.Q.astype(dtype), self.rows, self.columns, self.E, self.own)

    def to_dense(self) -> Array:
        r, c = self.rows, self.columns
        dense = np.asarray(self.own.toarray(), dtype=np.float64)
        dense[np.ix_(r.known, c.filled)] = r.G @ c.W.T
        if r is c:  # the transpose to the bit
            dense[np.ix_(r.filled, c.known)] = dense[np.ix_(r.known, c.filled)].T
            dense[np.ix_(r.filled, c.filled)] += symmetrize(r.W @ self.E @ c.W.T)
        else:
            dense[np.ix_(r.filled, c.known)] = r.W @ c.G.T
            dense[np.ix_(r.filled, c.filled)] += r.W @ self.E @ c.W.T
        dense[np.ix_(r.known, c.known)] = self.Q.to_dense()
        return dense


# -------------------------------------------------------------------------------------------------- factors


class _Factors(NamedTuple):
    """A square kernel is ``Phi Phi' + diag(own)``; None: nothing is added to the diagonal."""

    Phi: Any
    own: Array | None = None


def has_factors(operator: Operator) -> bool:
    """Whether a square kernel can be written as thin factors plus a diagonal.

    Examples
    --------
    >>> has_factors(Scaled(Gram(np.ones((3, 1))), 2.0))
    True
    """
    if isinstance(operator, Scaled):
        return operator.factor >= 0 and has_factors(operator.operator)
    if isinstance(operator, Completed):
        return operator.rows is operator.columns and _is_square_gram(operator.Q)
    return isinstance(operator, LowRankPlusDiagonal) or _is_square_gram(operator)


def get_factors(operator: Operator) -> _Factors:
    """The factors of a kernel that has them (:func:`has_factors`); arrays are not copied if they exist."""
    if isinstance(operator, Scaled):
        Phi, own = get_factors(operator.operator)
        root = Phi.dtype.type(np.sqrt(operator.factor))
        return _Factors(Phi * root, None if own is None else own * operator.factor)
    if isinstance(operator, LowRankPlusDiagonal):
        return _Factors(operator.W, operator.d)
    if isinstance(operator, Completed):
        Phi, own = get_factor_rows(operator)
        return _Factors(Phi[np.arange(operator.shape[0])] if own is not None else Phi, own)
    assert isinstance(operator, Gram)
    return _Factors(operator.left)


def _is_square_gram(operator: Operator) -> bool:
    return isinstance(operator, Gram) and operator.left is operator.right


@dataclass(frozen=True)
class _CompletedRows:
    """Factors of a completed kernel, rows of which are made when they are asked for."""

    side: CompletedSide
    Phi: Array  # of the known samples
    axes: Array  # what takes W of the filled ones to factors

    @property
    def shape(self) -> tuple[int, int]:
        return self.side.size, self.axes.shape[1]

    @property
    def dtype(self) -> np.dtype[np.floating]:
        return self.Phi.dtype

    def __getitem__(self, rows: Array) -> Array:
        side, known = self.side.take(rows)
        factors = np.zeros((len(rows), self.axes.shape[1]), self.dtype)
        factors[side.known, : self.Phi.shape[1]] = self.Phi[known]
        factors[side.filled] = side.W @ self.axes
        return factors


def get_factor_rows(operator: Operator) -> _Factors:
    """The factors of a kernel that has them; of a completed one, ``Phi[rows]`` are made when asked for.

    Filled samples lie along axes ``Phi' C``, which ``G = Phi Phi' C`` tells, and beyond them: what `E` has
    more than these axes is of the filled samples alone.  Good to some 1e-8 of the largest value where
    factors are nearly dependent.
    """
    if not isinstance(operator, Completed):
        return get_factors(operator)
    K = operator
    assert isinstance(K.Q, Gram)
    side, Phi = K.rows, K.Q.left
    if not len(side.filled):
        return _Factors(Phi)
    values, vectors = np.linalg.eigh(thin_gram(Phi, Phi))
    directions = values > _NEGLIGIBLE * values[-1:].max(initial=0.0)
    inverse = (vectors[:, directions] / values[directions]) @ vectors[:, directions].T
    axes = inverse @ thin_gram(Phi, side.G)
    beyond, more = np.linalg.eigh(K.E - axes.T @ axes)
    extra = beyond > 1e-8 * max(float(np.trace(K.E)), 1e-300)
    axes = np.hstack([axes.T, more[:, extra] * np.sqrt(beyond[extra])])
    return _Factors(_CompletedRows(side, Phi, axes), np.maximum(np.asarray(K.own.diagonal()), 0.0))


# ------------------------------------------------------------------------------- kernels about their mean


def thin_operator(K: Operator) -> Gram | Dense:
    """A kernel in double precision: by factors if it has fewer than samples, else as an array."""
    if has_factors(K):
        Phi, own = get_factors(K)
        if own is None and Phi.shape[1] < Phi.shape[0]:
            return Gram(np.asarray(Phi, dtype=np.float64))
    return Dense(np.asarray(K.to_dense(), dtype=np.float64))


def center_operator(K: Operator) -> Gram | Dense:
    """``H K H``, the kernel of the features less their mean; of factors by factors, in their precision."""
    if isinstance(K, Gram):
        return Gram(K.left - K.left.mean(axis=0, dtype=np.float64).astype(K.dtype))
    centered = center_kernel(np.asarray(K.to_dense(), dtype=np.float64))
    return Dense(symmetrize(centered).astype(K.dtype))


def measure_spread(K: Operator) -> float:
    """Sum of the samples' squared distances from their mean, the trace of ``H K H``.

    Zero where all samples are one but for rounding, so that the kernel tells nothing of them.
    """
    n = K.shape[0]
    if not n:
        return 0.0
    ones, diagonal = np.ones((n, 1)), K.diagonal()
    spread = float(diagonal.sum(dtype=np.float64)) - float((ones.T @ (K @ ones)).item()) / n
    return spread if spread > rounding_level(K.dtype) * n * float(diagonal.max()) else 0.0
