"""Input validation: tables (frames, arrays, sparse matrices, lists of lists) and kernels.

Kernels come as arrays, data frames, blocks over the samples that have a view, or factors.  Checks are
cheap, and errors name the view and the samples.  pandas is imported only where a frame is wanted.
"""

import numbers
from collections.abc import Hashable, Mapping, Sequence
from typing import Any, NamedTuple

import numpy as np
import scipy.sparse

from absentia.core import Array, Dense, Gram, Operator, has_factors
from absentia.core.linalg import largest_asymmetry
from absentia.data._ids import (
    Align,
    align_ids,
    as_ids,
    check_unique_ids,
    find_duplicates,
    find_holders,
    id_list,
    is_missing,
    show_id,
)
from absentia.data._presence import Presence, check_names, check_observed, default_names

#: What a column of sample ids may be called, in any case.
ID_COLUMNS = (
    *("id", "sample", "sample_id", "sampleid", "patient", "patient_id", "patientid"),
    *("subject", "subject_id", "barcode", "case", "case_id"),
)


class ViewTable(NamedTuple):
    """One view as it was given: ids (n,), values (n, p), feature names (p,), levels of categories."""

    ids: Array
    values: Any
    features: Array | None
    levels: Mapping[str, tuple[str, ...]] = {}
    is_copy: bool = False  # of what the caller gave, so that `values` need not be copied again


def _as_table(name: str, table: Any) -> Any:
    """A 2-d float array or csr matrix; float32 stays float32, and what is no number is refused."""
    try:
        with np.errstate(over="ignore"):  # extended precision beyond double becomes infinite; refused later
            array = _to_floats(name, table)
    except (ValueError, TypeError, OverflowError, AttributeError) as error:
        if str(error).startswith(f"view {name!r}"):
            raise
        raise ValueError(f"view {name!r} is no table of numbers ({error})") from None
    if array.ndim != 2 or array.shape[1] == 0:
        raise ValueError(
            f"view {name!r} has shape {array.shape}; wanted two dimensions, "
            "samples x features, with at least one feature"
        )
    return array


def _to_floats(name: str, table: Any) -> Any:
    """Values as float64, or as float32 if they are; texts are refused, never parsed as numbers."""
    sparse = scipy.sparse.issparse(table)
    array = table if sparse or np.ma.isMA(table) else np.asarray(table)
    if array.dtype.kind == "O" and not sparse:
        others = [x for x in np.ma.getdata(array).ravel().tolist() if not _is_number(x)]
        if others:
            raise ValueError(
                f"view {name!r}: values of type object are not numbers, e.g. {str(others[0])[:40]!r}; "
                "encode them"
            )
        array = array.astype(np.float64)
    if array.dtype.kind not in "fiub":
        raise ValueError(f"view {name!r}: values of type {array.dtype} are not numbers; encode them")
    if sparse:
        array = scipy.sparse.csr_array(array)
    elif np.ma.isMA(array):
        array = np.ma.filled(array.astype(float), np.nan)
    return array if array.dtype in (np.float32, np.float64) else array.astype(np.float64)


def _is_number(x: Any) -> bool:
    return x is None or isinstance(x, numbers.Real | np.bool_) or type(x).__name__ == "NAType"


def is_frame(table: Any) -> bool:
    """Whether this is a data frame of pandas, polars or the like."""
    return hasattr(table, "columns") and (hasattr(table, "iloc") or hasattr(table, "get_column"))


def make_view_table(name: str, ids: Any, values: Any, features: Any, levels: Any = None) -> ViewTable:
    """A view whose samples and features have names."""
    sample_ids = _check_ids(ids, len(ids), f"view {name!r}")
    is_chunked = hasattr(values, "profile")  # and is checked when it is read
    table = values if is_chunked else _as_table(name, values)
    names = None if features is None else _check_feature_names(name, features)
    return ViewTable(sample_ids, table, names, levels or {})


def check_codes(name: str, column: str, features: Sequence[str], block: Any, texts: Sequence[str]) -> None:
    """Raise unless the values of a categorical column are codes 0, 1, ... of its levels, `texts`."""
    if column not in features:
        raise ValueError(f"view {name!r}: levels of {column!r}, which is none of its features")
    values = block[:, [features.index(column)]]
    codes = np.asarray(values.toarray() if scipy.sparse.issparse(values) else values, dtype=float).ravel()
    codes = codes[codes == codes]
    if find_duplicates(texts) or not np.isin(codes, np.arange(len(texts))).all():
        raise ValueError(
            f"view {name!r}, column {column!r}: values do not go with its {len(texts)} levels; 0, 1, ... "
            "in the order of the levels, and each level once, are wanted"
        )


def parse_frame(name: str, frame: Any) -> ViewTable:
    """A view in a data frame: texts and categories become codes of levels, the rest floats."""
    frame = set_id_index(name, frame)
    if all(getattr(dtype, "kind", "O") in "fiub" for dtype in frame.dtypes):
        floats = any(dtype.kind == "f" for dtype in frame.dtypes)  # which may be single precision
        values = frame.to_numpy(dtype=None if floats else np.float64, na_value=np.nan)
        return make_view_table(name, frame.index, values, frame.columns)
    columns = [frame.iloc[:, j] for j in range(frame.shape[1])]
    kinds = [_classify_column(column) for column in columns]
    refused = [(c, k) for c, k in zip(frame.columns, kinds, strict=True) if k not in ("number", "level")]
    if refused:
        examples = ", ".join(f"{c!r} ({k})" for c, k in refused[:8]) + (", ..." if len(refused) > 8 else "")
        raise ValueError(
            f"view {name!r}: {len(refused)} column(s) are neither numbers nor categories: {examples}; "
            "leave them out, or make numbers of them (of dates, days since one that they share)"
        )
    features = _check_feature_names(name, frame.columns)
    levels: dict[str, tuple[str, ...]] = {}
    values = np.empty(frame.shape)
    for j, (column, kind) in enumerate(zip(columns, kinds, strict=True)):
        if kind == "number":
            values[:, j] = column.to_numpy(dtype=np.float64, na_value=np.nan)
        else:
            values[:, j], levels[features[j].item()] = _encode_levels(column)
    return make_view_table(name, frame.index, values, features, levels)._replace(is_copy=True)


def set_id_index(name: str, frame: Any) -> Any:
    """A pandas frame with the ids as its index; frames of other kinds have them in a column."""
    if hasattr(frame, "iloc"):
        return frame
    import narwhals
    import pandas as pd

    table = narwhals.from_native(frame, eager_only=True)
    ids = next((c for c in table.columns if c.lower() in ID_COLUMNS), None)
    if ids is None:
        raise ValueError(
            f"view {name!r}: a {type(frame).__module__.split('.')[0]} frame has no index; call the column "
            f"with the sample ids one of {', '.join(ID_COLUMNS)}"
        )
    index = pd.Index(table[ids].to_list())
    columns = {c: _to_series(table[c]) for c in table.columns if c != ids}
    return pd.DataFrame(columns, columns=None).set_index(index)


def _to_series(column: Any) -> Any:
    """A column of any library as one of pandas: texts with None, numbers with NaN."""
    import narwhals
    import pandas as pd

    if column.dtype.is_numeric():
        return pd.Series(column.cast(narwhals.Float64).fill_null(np.nan).to_numpy())
    if column.dtype.is_temporal():
        return pd.to_datetime(pd.Series(column.cast(narwhals.String).to_list()), errors="coerce")
    return pd.Series(column.to_list(), dtype=object)


def _classify_column(column: Any) -> str:
    """``"number"`` (also nullable, sparse, boolean or objects), ``"level"``, or a name of another type."""
    dtype = column.dtype
    if type(dtype).__name__ == "CategoricalDtype":
        return "level" if all(isinstance(x, str | numbers.Real) for x in dtype.categories) else "categories"
    kind = getattr(dtype, "kind", "O")
    if kind in "fiub":
        return "number"
    if kind != "O":
        return "dates" if kind in "mM" else str(dtype)
    values = [x for x in column.tolist() if not _is_empty(x)]
    if all(isinstance(x, numbers.Real | np.bool_) for x in values):
        return "number"
    if all(isinstance(x, str) for x in values):
        return "level"
    others = {type(x).__name__: x for x in values if not isinstance(x, str)}
    has_dates = any(hasattr(x, "isoformat") or hasattr(x, "freq") for x in others.values())
    text = ["text"] if any(isinstance(x, str) for x in values) else []
    return "dates" if has_dates else " and ".join([*text, *others])


def _encode_levels(column: Any) -> tuple[Array, tuple[str, ...]]:
    """Codes of the levels (n,), NaN where missing, and the levels: categories as given, or texts sorted."""
    categories = getattr(column.dtype, "categories", None)
    texts = [None if _is_empty(x) else str(x) for x in column.tolist()]
    names = sorted({x for x in texts if x is not None}) if categories is None else map(str, categories)
    levels = tuple(dict.fromkeys(names))
    code = {level: float(k) for k, level in enumerate(levels)}
    return np.array([np.nan if x is None else code[x] for x in texts]), levels


def _is_empty(x: Any) -> bool:
    """A cell that holds nothing: missing, or an empty text."""
    return x == "" if isinstance(x, str) else is_missing(x)


def _check_feature_names(name: str, columns: Any) -> Array:
    """Names of features as texts, without duplicates."""
    features = [str(c) for c in columns]
    if twice := find_duplicates(features):
        raise ValueError(
            f"view {name!r}: {len(twice)} column name(s) appear more than once, e.g. {twice[0]!r}; "
            "give every column a name of its own"
        )
    return np.asarray(features, dtype=str)


def _check_ids(ids: Any, n: int, what: str) -> Array:
    """Sample ids (n,): hashable, none missing; raise otherwise."""
    if isinstance(ids, str | bytes | set | frozenset | Mapping) or np.ndim(ids) > 1:
        raise ValueError(
            f"{what}: the ids are a {type(ids).__name__}"
            + (f" of shape {np.shape(ids)}" if np.ndim(ids) > 1 else "")
            + "; a list in the order of the samples is wanted"
        )
    array = as_ids(ids, n, what)
    if array.dtype.kind in "biuU":
        return array
    for position, x in enumerate(id_list(array)):
        if not isinstance(x, Hashable):
            raise ValueError(f"{what}: {show_id(x)} cannot be an id; give texts or whole numbers")
        if any(map(is_missing, x)) if isinstance(x, tuple) else is_missing(x):
            raise ValueError(
                f"{what}: the id of sample {position} is missing ({x}); give every sample an id"
            )
    return array


def parse_arrays(names: tuple[str, ...], tables: Sequence[Any], ids: Any) -> list[ViewTable]:
    """Views given as arrays, each with one row per sample."""
    arrays = [_as_table(name, table) for name, table in zip(names, tables, strict=True)]
    n = arrays[0].shape[0]
    for name, array in zip(names, arrays, strict=True):
        if array.shape[0] != n:
            raise ValueError(
                f"view {name!r} has {array.shape[0]} rows but view {names[0]!r} has {n}; "
                "give every view one row per sample (NaN where absent), "
                "or data frames, which are aligned by index"
            )
    sample_ids = as_ids(None, n) if ids is None else _check_ids(ids, n, "ids")
    return [ViewTable(sample_ids, array, None) for array in arrays]


# -------------------------------------------------------------------------------------- back to data frames


def make_index(ids: Array) -> Any:
    """Ids as an index of a data frame: plain texts rather than NumPy's fixed-width ones."""
    return list(ids.tolist()) if ids.dtype.kind in "UO" else np.array(ids)


# ------------------------------------------------------------------------------------------------- kernels

#: Kernels of no more samples are used and written as dense matrices, even if given by factors.
_MAX_DENSE_SAMPLES = 2000

_Operators = dict[str, Operator]

# --------------------------------------------------------------------------------------- over all samples


def parse_dense(
    K: Any, observed: Any, ids: Any, names: Sequence[str] | None
) -> tuple[Presence, _Operators]:
    """Presence of views, and kernels over observed samples, from kernels over all samples.

    Parameters
    ----------
    K : array of shape (n_views, n, n), or dict or list of (n, n) arrays or data frames
        NaN in rows and columns of samples that lack a view.
    observed : array of bool, shape (n, n_views), or None
        Which samples have which view; None: those whose rows are not NaN.
    ids, names : sequence or None
        Of samples and views.
    """
    if _are_frames(K):
        if observed is not None or ids is not None:
            raise ValueError("ids and observed go with arrays; data frames carry their own index")
        return parse_blocks(_frame_blocks(K, names), "union", factors=False)
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
    table = _as_table(name, kernel)
    return table.toarray() if scipy.sparse.issparse(table) else table


def _find_observed(kernels: Mapping[str, Array], ids: Array) -> Array:
    """Which samples have which view, (n, n_views): rows that are not all NaN, as their columns must be."""
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
        observed = ~frame.isna().all(axis=1)
        block = frame.loc[observed, observed.to_numpy()]
        blocks[name] = (block.index, block.to_numpy())
    return blocks


# ------------------------------------------------------------------------------- over those who have a view


def parse_blocks(
    parts: Mapping[str, tuple[Any, Any]], align: Align, *, factors: bool, copy: bool = True
) -> tuple[Presence, _Operators]:
    """Presence of views, and kernels over observed samples, from blocks of each view.

    Parameters
    ----------
    parts : mapping of str to (ids, array)
        By view the ids of its samples, and their kernel or, with `factors`, a row of factors for each.
    align, factors, copy
        As in ``KernelViews.from_blocks`` and ``from_factors``.
    """
    names = check_names(list(parts))
    members: list[tuple[Array, Operator]] = []
    for name, (ids, values) in zip(names, parts.values(), strict=True):
        members.append(_make_operator(name, ids, values, factors, copy))
    ids, rows = align_ids(names, [view_ids for view_ids, _ in members], align)
    operators: _Operators = {}
    for name, (view_ids, operator), row in zip(names, members, rows, strict=True):
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
    """Whether to use kernels as factors: all are given so, and the samples are many."""
    return len(X) > _MAX_DENSE_SAMPLES and all(has_factors(X.operator(name)) for name in X.names)


def check_kernel(name: str, operator: Operator, ids: Array) -> float:
    """Raise unless a kernel is finite and symmetric with a diagonal that is not negative.

    That it is positive semidefinite is not checked.

    Returns the largest asymmetry, ``max |k_ij - k_ji|``.
    """
    if isinstance(operator, Gram):
        finite = np.isfinite(operator.left).all(axis=1)
        if not finite.all():
            raise ValueError(
                f"view {name!r}, sample {show_id(ids[int(np.argmin(finite))])}: factor is NaN or infinite"
            )
        return 0.0
    A = operator.to_dense()
    largest = max(float(A.max(initial=0.0)), -float(A.min(initial=0.0)))  # NaN if there is any
    tolerance = (1e-5 if A.dtype == np.float32 else 1e-6) * largest
    if not np.isfinite(largest):
        i, j = np.argwhere(~np.isfinite(A))[0]
        raise ValueError(
            f"view {name!r}: kernel value of samples {show_id(ids[i])} and {show_id(ids[j])} is "
            f"{A[i, j]} although both are observed; "
            "a sample that lacks the view must be NaN in its whole row and column"
        )
    if (asymmetry := largest_asymmetry(A)) > tolerance:
        i, j = np.unravel_index(int(np.abs(A - A.T).argmax()), A.shape)
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
    return asymmetry
