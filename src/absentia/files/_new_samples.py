"""Kernels of new samples against training samples: out of a file, and in the training samples' order."""

from collections.abc import Mapping
from pathlib import Path
from typing import Any

import numpy as np

from absentia.core import Array
from absentia.data import (
    KernelViews,
    Presence,
    Views,
    as_ids,
    check_names,
    check_observed,
    check_unique_ids,
    default_names,
    show_id,
)
from absentia.files._archive import read_arrays
from absentia.files._base import Options, PathLike, file_errors
from absentia.files._npz import check_id_array, from_arrays, is_data, read_sidecar
from absentia.files._reading import drop_ignored, open_with_options


def align_kernel_rows(data: KernelViews, training: Presence) -> KernelViews:
    """`data` with the training samples as columns, found by id, and their views."""
    unknown = [name for name in data.names if name not in training.names]
    if unknown:
        raise ValueError(f"view {unknown[0]!r} was not there in training: {list(training.names)}")
    where = {str(x): position for position, x in enumerate(data.column_ids.tolist())}
    missing = [x for x in training.ids if str(x) not in where]
    if missing:
        raise ValueError(
            f"{len(missing)} of the {len(training)} training samples that the model needs, e.g. "
            f"{show_id(missing[0])}, are not among the columns of the new kernels; "
            "give kernels of the new samples against all training samples, with the ids of both"
        )
    part = data[np.ix_(np.arange(len(data)), np.array([where[str(x)] for x in training.ids], dtype=int))]
    rows = np.zeros((len(data), training.n_views), bool)
    columns = np.zeros((len(training), training.n_views), bool)
    blocks, diagonals = {}, {}
    for v, name in enumerate(training.names):
        if name not in part.names:
            blocks[name], diagonals[name] = np.zeros((0, 0)), np.zeros(0)
            continue
        own = part.names.index(name)
        rows[:, v], columns[:, v] = part.observed[:, own], part.column_observed[:, own]
        lacking = training.observed[:, v] & ~columns[:, v]
        if lacking.any() and rows[:, v].any():
            raise ValueError(
                f"view {name!r}: the new kernels have no values against training sample "
                f"{show_id(training.ids[np.argmax(lacking)])}, which had the view in training"
            )
        blocks[name], diagonals[name] = part.block(name), part.diagonal(name)
    known = Presence(training.ids, training.names, columns)
    return KernelViews.between(Presence(data.ids, training.names, rows), known, blocks, diagonals)


def read_new(path: PathLike, **options: Any) -> Views | KernelViews:
    """New samples: whatever :func:`read` takes, or rows of kernels in an .npz file.

    What is to be ignored, and the table of labels, need not be there.

    Rows have the keys ``K`` (views x new samples x training samples, NaN where absent), ``column_ids`` (the
    training samples), and optionally ``ids``, ``mask`` and ``names`` of the new samples and views.

    Parameters
    ----------
    path : path-like
        What to read.
    **options : optional
        As in :class:`Options`.
    """
    path, given = Path(path), Options(**options)
    with file_errors(path):
        if path.suffix.lower() != ".npz":
            return open_with_options(path, given).data
        given.refuse("id", "views", "layer", "use_rep", why="an .npz file")
        arrays = read_arrays(path, lambda key: is_data(key) or key == "column_ids")
        K = arrays.get("K")
        if "column_ids" in arrays:
            return _read_kernel_rows(arrays)
        if K is not None and K.ndim == 3 and K.shape[1] != K.shape[2]:
            raise ValueError(
                f"'K' has {K.shape[1]} rows and {K.shape[2]} columns; say with 'column_ids' which training "
                "samples the columns are"
            )
        return drop_ignored(from_arrays(arrays), given)


def _read_kernel_rows(arrays: Mapping[str, Array]) -> KernelViews:
    K = arrays.get("K", np.zeros(0))
    if K.ndim != 3 or K.dtype.kind not in "fiub":
        raise ValueError(f"'K' is {K.dtype} of shape {K.shape}; wanted views x new x training samples")
    K = K.astype(np.float64)
    V, n, m = K.shape
    own, mask, given = read_sidecar(arrays, V, n)
    ids = as_ids(own, n)
    column_ids = as_ids(check_id_array(arrays["column_ids"], "column_ids"), m, "column_ids")
    check_unique_ids(ids, "ids")
    check_unique_ids(column_ids, "column_ids")
    names = check_names(default_names(V) if given is None else given)
    rows = check_observed(~np.isnan(K).all(axis=2).T if mask is None else mask, n, V)
    columns = np.zeros((m, V), bool)
    blocks, diagonals = {}, {}
    for v, name in enumerate(names):
        part = K[v][rows[:, v]]
        columns[:, v] = ~np.isnan(part).all(axis=0) if len(part) else False
        blocks[name] = part[:, columns[:, v]]
        if not np.isfinite(blocks[name]).all():
            i = int(np.argmax(~np.isfinite(blocks[name]).all(axis=1)))
            raise ValueError(
                f"view {name!r}, sample {show_id(ids[rows[:, v]][i])}: the kernel is NaN or infinite "
                "against some training samples that have the view; a sample that lacks it must be NaN "
                "throughout"
            )
        diagonals[name] = np.full(len(part), np.nan)  # k(t, t) is not in the file, nor needed
    return KernelViews.between(
        Presence(ids, names, rows), Presence(column_ids, names, columns), blocks, diagonals
    )
