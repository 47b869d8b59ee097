"""Kernels in chunks: dask arrays, or zarr arrays on disk, that need not fit into memory or one machine.

Two operators beside those of ``_operators``, with the same verbs:

=========================  ============  ================================================
operator                   matrix        ``op @ X``
=========================  ============  ================================================
``Chunked(A)``             ``A``         one pass over the chunks
``ChunkedGram(L, R)``      ``L R'``      two passes, ``R' X`` and then ``L (R' X)``: between
                                         them no chunk has to be kept
=========================  ============  ================================================

Thin matrices go in and come out as NumPy arrays.  What is distributed is a chunk times a thin matrix;
everything else stays in the calling process.  Each pass is one ``compute`` on the scheduler in force:
threads by default, a cluster once a ``distributed.Client`` exists (its workers need absentia too, and
to see the files).  Nothing is persisted, so a chunk lost with its worker is made again from its source.

A chunk is held whole by the task that multiplies it: memory is bounded by the size of a chunk times
the number of tasks at once.  Chunks of some 32 MB, by rows, are a good size.
"""

from __future__ import annotations

import sys
from dataclasses import dataclass
from math import prod
from typing import Any, final

import numpy as np

from absentia.core._operators import Dense, Operator
from absentia.core.linalg import Array, as_readonly, thin_gram

#: Zarr arrays of smaller chunks are read several chunks at a time, up to this many bytes.
_CHUNK_BYTES = 32 * 2**20


def is_chunked(values: Any) -> bool:
    """Whether this is a dask or a zarr array, found out without importing either."""
    module = type(values).__module__
    return module.startswith("dask.array.") or module.startswith("zarr.")


def as_dask(name: str, values: Any) -> Any:
    """A dask or zarr array as a two-dimensional dask array of floats; float32 stays float32."""
    da = _dask_array()
    A = values if isinstance(values, da.Array) else da.from_array(values, chunks=_zarr_chunks(values))
    if A.dtype.kind not in "fiub":
        raise ValueError(f"view {name!r}: values of type {A.dtype} are not numbers")
    if A.ndim != 2 or A.shape[1] == 0:
        raise ValueError(
            f"view {name!r} has shape {A.shape}; wanted two dimensions, "
            "samples x features, with at least one feature"
        )
    if any(np.isnan(size) for size in A.shape):
        raise ValueError(
            f"view {name!r}: the dask array does not know its shape, {A.shape}; "
            "call its compute_chunk_sizes() first"
        )
    return A if A.dtype in (np.float32, np.float64) else A.astype(np.float64)


def _dask_array() -> Any:
    try:
        import dask.array
    except ImportError as error:
        raise ImportError('arrays in chunks need dask: pip install "absentia[dask]"') from error
    return dask.array


def _zarr_chunks(Z: Any) -> Any:
    """Chunks as they are on disk, or whole rows of them together where they are small."""
    rows, columns = Z.chunks[0], Z.chunks[1:]
    if prod(Z.chunks) * Z.dtype.itemsize >= _CHUNK_BYTES // 2:
        return Z.chunks
    across = prod(-(-size // chunk) * chunk for size, chunk in zip(Z.shape[1:], columns, strict=True))
    together = _CHUNK_BYTES // max(rows * across * Z.dtype.itemsize, 1)
    return (rows * max(together, 1), *Z.shape[1:])


# ------------------------------------------------------------------------------------ one pass


def _fetch(*lazy: Any, thin: Array) -> tuple[Any, ...]:
    """Compute in one go; a thin matrix travels with the tasks, and dask need not warn of its size."""
    from dask import base, config, utils

    compute: Any = base.compute
    if "distributed" not in sys.modules:  # then no cluster is in use, nor are its settings loaded
        return tuple(compute(*lazy))
    key = "distributed.admin.large-graph-warning-threshold"
    threshold = utils.parse_bytes(config.get(key))
    with config.set({key: threshold + 2 * thin.nbytes}):
        return tuple(compute(*lazy))


def _times_block(a: Array, x: Array) -> Array:
    with np.errstate(invalid="ignore"):  # infinite values are reported with the sample's name, not here
        return np.asarray(a @ x)[:, None]


def _crossed_block(a: Array, x: Array) -> Array:
    with np.errstate(invalid="ignore"):
        return thin_gram(a, x)[None]


def _times(A: Any, X: Array) -> Any:
    """``A X``, lazily: a product per chunk, summed over the chunks of a row where there are several."""
    return _products(A, X, _times_block, 1, np.result_type(A.dtype, X.dtype))


def _crossed(A: Any, X: Array) -> Any:
    """``A' X`` in double precision, lazily."""
    return _products(A, X, _crossed_block, 0, np.dtype(np.float64))


def _products(A: Any, X: Array, product: Any, axis: int, dtype: np.dtype[Any]) -> Any:
    """A product of every chunk with the rows of `X` that belong to it, summed along an axis of `A`."""
    da, along, meta = _dask_array(), "ij"[axis], np.empty((0, 0, 0), dtype)
    # in chunks of rows that match, each of them in the graph once
    thin = da.from_array(np.ascontiguousarray(X), chunks=(A.chunks[axis], -1), name=False)
    parts = da.blockwise(product, "ijq", A, "ij", thin, f"{along}q", adjust_chunks={along: 1}, meta=meta)
    return parts if A.numblocks[axis] == 1 else parts.sum(axis=axis, keepdims=True, dtype=dtype)


@dataclass(frozen=True)
class _PickedArray:
    """Rows and columns of a dask array, by position (None: all), in any order, none of them moved.

    Reordering a chunked array would send every chunk everywhere.  Reordering thin matrices is free.
    """

    A: Any
    rows: Array | None = None
    cols: Array | None = None

    @property
    def shape(self) -> tuple[int, int]:
        n, m = self.A.shape
        return n if self.rows is None else len(self.rows), m if self.cols is None else len(self.cols)

    def astype(self, dtype: Any) -> _PickedArray:
        return _PickedArray(self.A.astype(dtype), self.rows, self.cols)

    def pick(self, rows: Array | None, cols: Array | None) -> _PickedArray:
        """Fewer rows and columns, None keeping all; chunks without any of them are left out."""
        A, kept_rows = _narrow(self.A, 0, _compose_index(self.rows, rows))
        A, kept_cols = _narrow(A, 1, _compose_index(self.cols, cols))
        return _PickedArray(A, kept_rows, kept_cols)

    def times(self, X: Array) -> Array:
        """``A X``: one pass."""
        X = _scatter_rows(X, self.cols, self.A.shape[1])
        (product,) = _fetch(_times(self.A, X), thin=X)
        return _take_rows(product[:, 0], self.rows)

    def crossed(self, X: Array) -> Array:
        """``A' X`` in double precision: one pass."""
        X = _scatter_rows(X, self.rows, self.A.shape[0])
        (product,) = _fetch(_crossed(self.A, X), thin=X)
        return _take_rows(product[0], self.cols)

    def entries(self, rows: Array, cols: Array) -> Any:
        """The values at pairs of positions, lazily."""
        return self.A.vindex[_compose_index(self.rows, rows), _compose_index(self.cols, cols)]

    def dense(self) -> Array:
        """All of it in memory."""
        rows, back = _sort_index(self.rows)
        cols, across = _sort_index(self.cols)
        return np.asarray(np.asarray(self.A[rows][:, cols].compute())[back][:, across])


def _compose_index(outer: Array | None, index: Array | None) -> Array | None:
    if index is None or outer is None:
        return outer if index is None else np.asarray(index)
    return np.asarray(outer[index])


def _sort_index(index: Array | None) -> tuple[Any, Any]:
    return (slice(None), slice(None)) if index is None else np.unique(index, return_inverse=True)


def _scatter_rows(X: Array, index: Array | None, size: int) -> Array:
    """Rows of `X` put where they belong among `size`, zero elsewhere; what meets is added."""
    if index is None:
        return X
    full = np.zeros((size, X.shape[1]), X.dtype)
    np.add.at(full, index, X)
    return full


def _take_rows(X: Array, index: Array | None) -> Array:
    return np.require(X, requirements="W") if index is None else X[index]


def _narrow(A: Any, axis: int, index: Array | None) -> tuple[Any, Array | None]:
    """The chunks that hold `index` along an axis, and its positions in them."""
    if index is None:
        return A, None
    bounds = np.cumsum((0, *A.chunks[axis]))
    home = np.searchsorted(bounds, index, side="right") - 1
    kept = np.unique(home)
    if len(kept) == A.numblocks[axis]:
        return A, index
    before = np.cumsum((0, *np.diff(bounds)[kept]))
    place = index - bounds[home] + before[np.searchsorted(kept, home)]
    return A.blocks[kept.tolist()] if axis == 0 else A.blocks[:, kept.tolist()], place


def _as_thin(X: Array, shape: tuple[int, int]) -> Array:
    X = np.asarray(X)
    if len(X) != shape[1]:
        raise ValueError(
            f"a matrix of {len(X)} rows came, {shape[1]} are wanted: the kernel's shape is {shape}"
        )
    return X[:, None] if X.ndim == 1 else X


# ----------------------------------------------------------------------------------- operators


class _ChunkedOperator:
    """What both operators do alike; the diagonal is found when first asked for."""

    _diagonal: Array | None

    def _find_diagonal(self) -> Array:
        raise NotImplementedError

    def select(self, rows: Array, cols: Array) -> Operator:
        raise NotImplementedError

    def diagonal(self) -> Array:
        if self._diagonal is None:
            self._diagonal = as_readonly(self._find_diagonal())
        return self._diagonal

    def block(self, rows: Array, cols: Array) -> Array:
        return self.select(rows, cols).to_dense()


@final
class Chunked(_ChunkedOperator):
    """A matrix held as a dask array.

    Parameters
    ----------
    A : dask array, two-dimensional, or Picked
    diagonal : array, optional
        Its diagonal, where that is known already; otherwise one pass finds it when first asked for.
    """

    def __init__(self, A: Any, diagonal: Array | None = None) -> None:
        self.part = A if isinstance(A, _PickedArray) else _PickedArray(A)
        self._diagonal = None if diagonal is None else as_readonly(diagonal)

    @property
    def shape(self) -> tuple[int, int]:
        return self.part.shape

    @property
    def dtype(self) -> np.dtype[np.floating]:
        return np.dtype(self.part.A.dtype)

    def __repr__(self) -> str:
        rows, columns = self.shape
        return f"Chunked({rows} x {columns}, {self.dtype}, {self.part.A.npartitions} chunks)"

    def __matmul__(self, X: Array) -> Array:
        result = self.part.times(_as_thin(X, self.shape))
        return result[:, 0] if np.ndim(X) == 1 else result

    def probe(self, X: Array) -> tuple[Array, Array]:
        """``A X`` and ``A' X`` of a square matrix, and its diagonal for later, all in one pass."""
        part, (n, m) = self.part, self.part.A.shape
        right, left = _scatter_rows(X, part.cols, m), _scatter_rows(X, part.rows, n)
        lazy = _times(part.A, right), _crossed(part.A, left), self._lazy_diagonal()
        forth, back, diagonal = _fetch(*lazy, thin=np.vstack([left, right]))
        self._diagonal = as_readonly(np.asarray(diagonal))
        return _take_rows(forth[:, 0], part.rows), _take_rows(back[0], part.cols)

    def _lazy_diagonal(self) -> Any:
        along = np.arange(min(self.shape))
        return self.part.entries(along, along)

    def _find_diagonal(self) -> Array:
        return np.asarray(self._lazy_diagonal().compute())

    def select(self, rows: Array, cols: Array) -> Operator:
        if not len(rows) or not len(cols):
            return Dense(np.zeros((len(rows), len(cols)), self.dtype))
        known = self._diagonal is not None and np.array_equal(rows, cols)
        return Chunked(self.part.pick(rows, cols), self.diagonal()[rows] if known else None)

    def astype(self, dtype: Any) -> Chunked:
        if self.dtype == dtype:
            return self
        diagonal = None if self._diagonal is None else self._diagonal.astype(dtype)
        return Chunked(self.part.astype(dtype), diagonal)

    def to_dense(self) -> Array:
        return self.part.dense()


@final
class ChunkedGram(_ChunkedOperator):
    """``left right'`` with factors held as dask arrays; never formed.  ``right=None``: ``left``.

    Parameters
    ----------
    left, right : dask array, two-dimensional, or Picked
    diagonal : array, optional
        The diagonal of the product, where that is known already.
    """

    def __init__(self, left: Any, right: Any = None, diagonal: Array | None = None) -> None:
        self.left = left if isinstance(left, _PickedArray) else _PickedArray(left)
        other = self.left if right is None else right
        self.right = other if isinstance(other, _PickedArray) else _PickedArray(other)
        self._diagonal = None if diagonal is None else as_readonly(diagonal)

    @property
    def shape(self) -> tuple[int, int]:
        return self.left.shape[0], self.right.shape[0]

    @property
    def dtype(self) -> np.dtype[np.floating]:
        return np.dtype(self.left.A.dtype)

    def __repr__(self) -> str:
        (rows, columns), factors = self.shape, self.left.shape[1]
        chunks = self.left.A.npartitions
        return f"ChunkedGram({rows} x {columns}, {factors} factors, {self.dtype}, {chunks} chunks)"

    def __matmul__(self, X: Array) -> Array:
        thin = _as_thin(X, self.shape)
        inner = self.right.crossed(thin)
        result = self.left.times(inner.astype(np.result_type(self.dtype, thin), copy=False))
        return result[:, 0] if np.ndim(X) == 1 else result

    def _find_diagonal(self) -> Array:
        if self.right is self.left:
            norms = (self.left.A * self.left.A).sum(axis=1, dtype=self.dtype).compute()
            return _take_rows(np.asarray(norms), self.left.rows)
        along = np.arange(min(self.shape))
        left, right = self.left.pick(along, None).dense(), self.right.pick(along, None).dense()
        return np.einsum("ij,ij->i", left, right)

    def select(self, rows: Array, cols: Array) -> Operator:
        if not len(rows) or not len(cols):
            return Dense(np.zeros((len(rows), len(cols)), self.dtype))
        left = self.left.pick(rows, None)
        if self.right is not self.left or not np.array_equal(rows, cols):
            return ChunkedGram(left, self.right.pick(cols, None))
        return ChunkedGram(left, None, None if self._diagonal is None else self._diagonal[rows])

    def astype(self, dtype: Any) -> ChunkedGram:
        if self.dtype == dtype:
            return self
        left = self.left.astype(dtype)
        right = None if self.right is self.left else self.right.astype(dtype)
        return ChunkedGram(left, right, None if self._diagonal is None else self._diagonal.astype(dtype))

    def to_dense(self) -> Array:
        left = self.left.dense()
        right = left if self.right is self.left else self.right.dense()
        return np.asarray(left @ right.T)
