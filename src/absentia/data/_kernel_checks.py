"""Kernels as they come: arrays, data frames, blocks over the samples that have a view, factors.

And whether these are kernels: cheap checks, with a sentence that names the view and the samples.
"""

from collections.abc import Mapping, Sequence
from typing import Any

import numpy as np
import scipy.sparse

from absentia.core import Array, Dense, Gram, Operator, has_factors
from absentia.data._ids import Align, align_ids, as_ids, check_unique_ids, find_holders, show_id
from absentia.data._presence import Presence, check_names, check_observed, default_names
from absentia.data._tables import as_table

#: Kernels of so few samples are used and written whole, even if they are held as factors.
_FEW = 2000

_Operators = dict[str, Operator]

# --------------------------------------------------------------------------------------- over all samples


def parse_dense(
    K: Any, observed: Any, ids: Any, names: Sequence[str] | None
) -> tuple[Presence, _Operators]:
    """Who has which view, and the kernels over those who have it, of kernels over all samples.

    Parameters
    ----------
    K : array of shape (n_views, n, n), or dict or list of (n, n) arrays or data frames
        NaN in rows and columns of samples that lack a view.
    observed : array of bool, shape (n, n_views), or None
        Who has which view, if it is said.
    ids, names : sequence or None
        Of samples and views.
    """
    if _are_frames(K):
        if observed is not None or ids is not None:
            raise ValueError("ids and observed go with arrays; data frames carry their own index")
        return parse_parts(_frame_blocks(K, names), "union", factors=False)
    kernels = _check_stack(K, names)
    n = len(next(iter(kernels.values())))
    sample_ids = as_ids(ids, n)
    mask = _find_observed(kernels, sample_ids) if observed is None else observed
    mask = check_observed(mask, n, len(kernels))
    check_unique_ids(sample_ids, "ids")
    seen = zip(kernels.items(), mask.T, strict=True)
    blocks: _Operators = {name: Dense(kernel[np.ix_(has, has)]) for (name, kernel), has in seen}
    return Presence(sample_ids, tuple(kernels), mask), blocks


def _check_stack(K: Any, names: Sequence[str] | None) -> dict[str, Array]:
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


def _to_dense(name: str, kernel: Any) -> Array:
    table = as_table(name, kernel)
    return table.toarray() if scipy.sparse.issparse(table) else table


def _find_observed(kernels: Mapping[str, Array], ids: Array) -> Array:
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


def _are_frames(K: Any) -> bool:
    """Whether these are data frames, all of them."""
    tables = list(K.values()) if isinstance(K, Mapping) else K
    return isinstance(tables, list | tuple) and bool(tables) and all(hasattr(t, "iloc") for t in tables)


def _frame_blocks(K: Any, names: Sequence[str] | None) -> dict[str, tuple[Any, Any]]:
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


# ------------------------------------------------------------------------------- over those who have a view


def parse_parts(
    parts: Mapping[str, tuple[Any, Any]], align: Align, *, factors: bool, copy: bool = True
) -> tuple[Presence, _Operators]:
    """Who has which view, and the kernels over those who have it, of each view's own ids and values.

    Parameters
    ----------
    parts : mapping of str to (ids, array)
        By view the ids of its samples, and their kernel or, with `factors`, a row of factors for each.
    align, factors, copy
        As in ``KernelViews.from_blocks`` and ``from_factors``.
    """
    names = check_names(list(parts))
    own: list[tuple[Array, Operator]] = []
    for name, (ids, values) in zip(names, parts.values(), strict=True):
        own.append(_make_operator(name, ids, values, factors, copy))
    ids, rows = align_ids(names, [view_ids for view_ids, _ in own], align)
    operators: _Operators = {}
    for name, (view_ids, operator), row in zip(names, own, rows, strict=True):
        _, order = find_holders(row, len(view_ids))
        operators[name] = operator if order is None else operator.select(order, order)
    return Presence(ids, names, np.column_stack([row >= 0 for row in rows])), operators


def _make_operator(
    name: str, ids: Any, values: Any, factors: bool, copy: bool
) -> tuple[Array, Dense | Gram]:
    """The ids of a view's own samples, and its kernel, or factors of it, as an operator."""
    A = _to_dense(name, values)
    try:
        n = len(ids)
    except TypeError:
        raise TypeError(f"sample ids must be a sequence, not {type(ids).__name__}") from None
    view_ids = as_ids(ids, n, f"view {name!r}")
    if factors and len(A) != n:
        raise ValueError(
            f"view {name!r}: factors have shape {A.shape} but {n} ids are given; "
            "one row per observed sample is wanted"
        )
    if not factors and A.shape != (n, n):
        raise ValueError(
            f"view {name!r}: kernel has shape {A.shape} but {n} ids are given; "
            "pass the kernel over observed samples only, or use KernelViews.from_dense"
        )
    A = np.array(A) if copy else A
    return view_ids, Gram(A) if factors else Dense(A)


# ---------------------------------------------------------------------------------------- is this a kernel?


def prefers_factors(X: Any) -> bool:
    """Whether square kernels are best left as factors: all have some, and samples are more than a few."""
    return len(X) > _FEW and all(has_factors(X.operator(name)) for name in X.names)


def check_kernel(name: str, operator: Operator, ids: Array) -> None:
    """Finite, symmetric, with a diagonal that can be squared norms; cheap checks only."""
    if isinstance(operator, Gram):
        finite = np.isfinite(operator.left).all(axis=1)
        if not finite.all():
            raise ValueError(
                f"view {name!r}, sample {show_id(ids[int(np.argmin(finite))])}: factor is NaN or infinite"
            )
        return
    A = operator.to_dense()
    tolerance = (1e-5 if A.dtype == np.float32 else 1e-6) * float(np.abs(A).max(initial=0.0))
    if not np.isfinite(A).all():
        i, j = np.argwhere(~np.isfinite(A))[0]
        raise ValueError(
            f"view {name!r}: kernel value of samples {show_id(ids[i])} and {show_id(ids[j])} is "
            f"{A[i, j]} although both are observed; "
            "a sample that lacks the view must be NaN in its whole row and column"
        )
    gap = np.abs(A - A.T)
    if gap.max(initial=0.0) > tolerance:
        i, j = np.unravel_index(int(gap.argmax()), A.shape)
        first, second = show_id(ids[i]), show_id(ids[j])
        raise ValueError(
            f"view {name!r}: kernel is not symmetric: k({first}, {second}) = {A[i, j]:.6g} "
            f"but k({second}, {first}) = {A[j, i]:.6g}; "
            "pass (K + K.T) / 2 if the difference means nothing"
        )
    diagonal = A.diagonal()
    if (diagonal < -tolerance).any():
        i = int(diagonal.argmin())
        raise ValueError(
            f"view {name!r}: kernel value of sample {show_id(ids[i])} with itself is {diagonal[i]:.6g}; "
            "a kernel's diagonal cannot be negative (was a distance passed for a similarity?)"
        )
