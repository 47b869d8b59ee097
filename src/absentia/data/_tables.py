"""Tables of numbers as they come: data frames, arrays, sparse matrices, masked arrays, lists of lists."""

import numbers
from collections.abc import Hashable, Mapping, Sequence
from typing import Any, NamedTuple

import numpy as np
import scipy.sparse

from absentia.core import Array
from absentia.data._gaps import shown
from absentia.data._ids import as_ids, id_list, repeated


class Part(NamedTuple):
    """One view as it came: its own sample ids, its rows, its feature names if any."""

    ids: Array
    values: Any
    features: Array | None


def as_table(name: str, table: Any) -> Any:
    """A 2-d float array or csr matrix; float32 stays float32, and what is no number is refused."""
    try:
        with np.errstate(over="ignore"):  # extended precision beyond double: infinite, which is said later
            array = _numbers(name, table)
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


def _numbers(name: str, table: Any) -> Any:
    """Floats, in single precision where they came so; texts are not read as numbers by guessing."""
    sparse = scipy.sparse.issparse(table)
    array = table if sparse or np.ma.isMA(table) else np.asarray(table)
    if array.dtype.kind == "O" and not sparse:
        strange = [x for x in np.ma.getdata(array).ravel().tolist() if not _is_number(x)]
        if strange:
            raise ValueError(
                f"view {name!r}: values of type object are not numbers, e.g. {str(strange[0])[:40]!r}; "
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
    return hasattr(table, "iloc") and hasattr(table, "columns")


def named_part(name: str, ids: Any, values: Any, features: Any) -> Part:
    """A view whose samples and features have names."""
    what = f"view {name!r}"
    return Part(_own_ids(ids, len(ids), what), as_table(name, values), _feature_names(name, features))


def frame_part(name: str, frame: Any) -> Part:
    """A view in a data frame."""
    for place, (column, dtype) in enumerate(zip(frame.columns, frame.dtypes, strict=True)):
        if not _is_numeric(frame.iloc[:, place], dtype):
            raise ValueError(
                f"view {name!r}: column {column!r} is not numeric but {dtype}; encode it or drop it"
            )
    values = frame.to_numpy(dtype=None, na_value=np.nan)
    return named_part(name, frame.index, values, frame.columns)


def _is_numeric(column: Any, dtype: Any) -> bool:
    """Numbers, also nullable, sparse or as objects; not categories (which may look so), dates or texts."""
    if type(dtype).__name__ == "CategoricalDtype":
        return False
    kind = getattr(dtype, "kind", "O")
    return kind in "fiub" or (kind == "O" and all(_is_number(x) for x in column.tolist()))


def _feature_names(name: str, columns: Any) -> Array:
    """Names of features as texts; two that are the same could not be told apart later."""
    features = [str(c) for c in columns]
    if twice := repeated(features):
        raise ValueError(
            f"view {name!r}: {len(twice)} column name(s) appear more than once, e.g. {twice[0]!r}; "
            "give every column a name of its own"
        )
    return np.asarray(features, dtype=str)


def _own_ids(ids: Any, n: int, what: str) -> Array:
    """Sample ids: one for each, in order, none missing, of a kind that can be compared."""
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
        if not isinstance(x, Hashable) or isinstance(x, np.ndarray):
            raise ValueError(f"{what}: {shown(x)} cannot be an id; give texts or whole numbers")
        if _is_missing(x):
            raise ValueError(
                f"{what}: the id of sample {position} is missing ({x}); give every sample an id"
            )
    return array


def _is_missing(x: Any) -> bool:
    """None, NaN, NaT, NA, alone or inside a tuple."""
    if isinstance(x, tuple):
        return any(_is_missing(part) for part in x)
    return x is None or type(x).__name__ in ("NAType", "NaTType") or bool(x != x)


def array_parts(names: tuple[str, ...], tables: Sequence[Any], ids: Any) -> list[Part]:
    """Views in arrays, of one row for each sample."""
    arrays = [as_table(name, table) for name, table in zip(names, tables, strict=True)]
    n = arrays[0].shape[0]
    for name, array in zip(names, arrays, strict=True):
        if array.shape[0] != n:
            raise ValueError(
                f"view {name!r} has {array.shape[0]} rows but view {names[0]!r} has {n}; "
                "give every view one row per sample (NaN where absent), "
                "or data frames, which are aligned by index"
            )
    sample_ids = as_ids(None, n) if ids is None else _own_ids(ids, n, "ids")
    return [Part(sample_ids, array, None) for array in arrays]
