"""Kernels as they come: arrays, data frames, blocks over the samples that have a view, factors, chunks.

And whether these are kernels: cheap checks, with a sentence that names the view and the samples.
"""

from collections.abc import Mapping, Sequence
from typing import Any

import numpy as np
import scipy.sparse

from absentia.core import (
    Array,
    Chunked,
    ChunkedGram,
    Dense,
    Gram,
    Operator,
    as_dask,
    has_factors,
    is_chunked,
)
from absentia.data._ids import as_ids, show_id
from absentia.data._presence import check_names, default_names
from absentia.data._tables import as_table

#: Kernels of so few samples are used and written whole, even if they are held as factors.
FEW = 2000


def make_part(
    name: str, ids: Any, values: Any, *, factors: bool, copy: bool = True
) -> tuple[Array, Operator]:
    """The ids of a view's own samples, and its kernel, or factors of it, as an operator.

    Chunks stay where they are.
    """
    chunked = is_chunked(values)
    A = as_dask(name, values) if chunked else _to_dense(name, values)
    view_ids = as_ids(ids, _length(ids), f"view {name!r}")
    if factors and len(A) != len(view_ids):
        raise ValueError(
            f"view {name!r}: factors have shape {A.shape} but {len(view_ids)} ids are given; "
            "one row per observed sample is wanted"
        )
    if not factors and A.shape != (len(view_ids), len(view_ids)):
        raise ValueError(
            f"view {name!r}: kernel has shape {A.shape} but {len(view_ids)} ids are given; "
            "pass the kernel over observed samples only, or use KernelViews.from_dense"
        )
    if chunked:
        return view_ids, ChunkedGram(A) if factors else Chunked(A)
    A = np.array(A) if copy else A
    return view_ids, Gram(A) if factors else Dense(A)


def _to_dense(name: str, kernel: Any) -> Array:
    table = as_table(name, kernel)
    return table.toarray() if scipy.sparse.issparse(table) else table


def _length(ids: Any) -> int:
    try:
        return len(ids)
    except TypeError:
        raise TypeError(f"sample ids must be a sequence, not {type(ids).__name__}") from None


def check_stack(K: Any, names: Sequence[str] | None) -> dict[str, Array]:
    """Kernels over all samples by name, all of them of one shape."""
    if isinstance(K, Mapping):
        names = list(K) if names is None else names
        K = list(K.values())
    kernels = list(K)
    if not kernels:
        raise ValueError("no kernel given; at least one is wanted")
    if np.ndim(kernels[0]) != 2:
        raise ValueError(
            f"K has shape {np.shape(K)}; wanted (n_views, n, n), or a list or dict of (n, n) kernels"
        )
    names = default_names(len(kernels)) if names is None else names
    if len(names) != len(kernels):
        raise ValueError(f"{len(names)} names for {len(kernels)} kernels; one per view is wanted")
    dense = {
        name: _to_dense(name, kernel) for name, kernel in zip(check_names(names), kernels, strict=True)
    }
    n = len(next(iter(dense.values())))
    for name, kernel in dense.items():
        if kernel.shape != (n, n):
            raise ValueError(
                f"view {name!r}: kernel has shape {kernel.shape}, wanted ({n}, {n}): "
                "all kernels square and over the same samples; "
                "for kernels over different samples use KernelViews.from_blocks"
            )
    return dense


def find_presence(kernels: Mapping[str, Array], ids: Array) -> Array:
    """Who has which view, by the rows that are not NaN throughout; their columns must be so too."""
    observed = np.column_stack([~np.isnan(kernel).all(axis=1) for kernel in kernels.values()])
    for (name, kernel), seen in zip(kernels.items(), observed.T, strict=True):
        stray = ~np.isnan(kernel[:, ~seen])
        if stray.any():
            i, j = np.argwhere(stray)[0]
            raise ValueError(
                f"view {name!r}: sample {show_id(ids[~seen][j])} is NaN in its whole row but not in its "
                f"column (sample {show_id(ids[i])}); a sample that lacks the view must be NaN in both"
            )
    return observed


def are_frames(K: Any) -> bool:
    """Whether these are data frames, all of them."""
    tables = list(K.values()) if isinstance(K, Mapping) else K
    return isinstance(tables, list | tuple) and bool(tables) and all(hasattr(t, "iloc") for t in tables)


def frame_blocks(K: Any, names: Sequence[str] | None) -> dict[str, tuple[Any, Any]]:
    """Kernels in data frames over the samples that are not NaN, columns in the order of the index."""
    tables = K if isinstance(K, Mapping) else dict(zip(names or default_names(len(K)), K, strict=True))
    blocks = {}
    for name, frame in tables.items():
        if set(frame.columns) != set(frame.index) or len(frame.columns) != len(frame.index):
            raise ValueError(f"view {name!r}: rows and columns of the data frame are not the same samples")
        frame = frame.loc[:, list(frame.index)]
        there = ~frame.isna().all(axis=1)
        kept = frame.loc[there, there.to_numpy()]
        blocks[name] = (kept.index, kept.to_numpy())
    return blocks


# ---------------------------------------------------------------------------------------- is this a kernel?


def prefers_factors(X: Any) -> bool:
    """Whether square kernels are best left as factors: all have some, and samples are more than a few."""
    return len(X) > FEW and all(has_factors(X.operator(name)) for name in X.names)


def check_kernel(name: str, operator: Operator, ids: Array) -> None:
    """Finite, symmetric, with a diagonal that can be squared norms; cheap checks only."""
    if isinstance(operator, Gram):
        _check_factors(name, np.asarray(np.isfinite(operator.left).all(axis=1)), ids)
    elif isinstance(operator, ChunkedGram):
        _check_factors(name, np.asarray(np.isfinite(operator.diagonal())), ids)
    elif isinstance(operator, Chunked):
        _check_chunks(name, operator, ids)
    else:
        everyone = np.arange(len(ids))
        A = operator.to_dense()
        scale = float(np.abs(A).max()) if A.size else 0.0
        _check_values(name, A, ids, everyone)
        _check_symmetry(name, A, A.T, ids, everyone, scale)
        _check_diagonal(name, A.diagonal(), ids, scale)


def _check_chunks(name: str, operator: Chunked, ids: Array) -> None:
    """The same for a kernel in chunks: a random vector tells which row to look at."""
    z = np.random.default_rng(0).choice([-1.0, 1.0], size=(len(ids), 1)).astype(operator.dtype)
    forth, back = operator.probe(z)
    scale = float(np.abs(operator.diagonal()).max())
    with np.errstate(invalid="ignore"):
        gap = np.nan_to_num(np.abs(forth - back))
    doubt = np.where(np.isfinite(forth), gap, np.inf)
    suspect, everyone = np.array([doubt.argmax()]), np.arange(len(ids))
    if doubt.max() == np.inf or doubt.max() > _tolerance(operator.dtype, scale):
        row = operator.block(suspect, everyone)
        _check_values(name, row, ids, suspect)
        _check_symmetry(name, row, operator.block(everyone, suspect).T, ids, suspect, scale)
    _check_diagonal(name, operator.diagonal(), ids, scale)


def _tolerance(dtype: Any, scale: float) -> float:
    return (1e-5 if dtype == np.float32 else 1e-6) * scale


def _check_factors(name: str, finite: Array, ids: Array) -> None:
    if not finite.all():
        raise ValueError(
            f"view {name!r}, sample {show_id(ids[int(np.argmin(finite))])}: factor is NaN or infinite"
        )


def _check_values(name: str, A: Array, ids: Array, rows: Array) -> None:
    """Rows of a kernel are finite."""
    if not np.isfinite(A).all():
        i, j = np.argwhere(~np.isfinite(A))[0]
        raise ValueError(
            f"view {name!r}: kernel value of samples {show_id(ids[rows[i]])} and {show_id(ids[j])} is "
            f"{A[i, j]} although both are observed; "
            "a sample that lacks the view must be NaN in its whole row and column"
        )


def _check_symmetry(name: str, A: Array, B: Array, ids: Array, rows: Array, scale: float) -> None:
    """Rows `A` of a kernel are the transpose `B` of its columns."""
    gap = np.abs(A - B)
    if A.size and gap.max() > _tolerance(A.dtype, scale):
        i, j = np.unravel_index(int(gap.argmax()), A.shape)
        pair = [(rows[i], j, A[i, j]), (j, rows[i], B[i, j])]
        (a, b, there), (_, _, back) = sorted(pair)  # the same words whichever of the two rows was looked at
        first, second = show_id(ids[a]), show_id(ids[b])
        raise ValueError(
            f"view {name!r}: kernel is not symmetric: k({first}, {second}) = {there:.6g} "
            f"but k({second}, {first}) = {back:.6g}; "
            "pass (K + K.T) / 2 if the difference means nothing"
        )


def _check_diagonal(name: str, diagonal: Array, ids: Array, scale: float) -> None:
    if (diagonal < -_tolerance(diagonal.dtype, scale)).any():
        i = int(diagonal.argmin())
        raise ValueError(
            f"view {name!r}: kernel value of sample {show_id(ids[i])} with itself is {diagonal[i]:.6g}; "
            "a kernel's diagonal cannot be negative (was a distance passed for a similarity?)"
        )
