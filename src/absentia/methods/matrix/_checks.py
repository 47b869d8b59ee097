"""What comes in is checked once, at the door: tables and kernels; a sentence for each mistake."""

from abc import ABC
from typing import TYPE_CHECKING, Any, TypeAlias

import numpy as np
from sklearn.utils.validation import check_array, validate_data

from absentia.core import PSD_TOL, Array, NotPositiveDefiniteError, indefinite, symmetrize

if TYPE_CHECKING:
    Kernel: TypeAlias = Any
else:

    class Kernel(ABC):  # noqa: B024
        """A parameter that is a covariance: arrays, frames, nested lists; not a word."""

        @classmethod
        def __subclasshook__(cls, other):
            return not issubclass(other, str) and (hasattr(other, "__array__") or hasattr(other, "__len__"))


# ---------------------------------------------------------------------------------------------- tables


def read_table(estimator: Any, X: Any, *, fit: bool, gaps: bool = False) -> Array:
    """X (n, features) as numbers of its own; the columns of the fit are remembered, and wanted again later.

    With `gaps`, NaN is an entry that is missing.
    """
    finite: Any = "allow-nan" if gaps else True
    X = validate_data(estimator, X, reset=fit, dtype=np.float64, ensure_all_finite=finite, copy=True)
    return np.asarray(X)


def read_samples(estimator: Any, X: Any) -> Array:
    """Samples to fit: features or, for ``kernel="precomputed"``, the kernel between samples."""
    table = read_table(estimator, X, fit=True)
    if estimator.kernel != "precomputed":
        return table
    if table.shape[0] != table.shape[1]:
        raise ValueError(f"kernel='precomputed' wants a square kernel to fit, not {table.shape}")
    _check_alike("the kernel", X)
    return check_kernel(table, "the kernel")


def read_gaps(estimator: Any, X: Any) -> Array:
    """A matrix to fit (n, m) with NaN where missing, and something observed in every column."""
    table = read_table(estimator, X, fit=True, gaps=True)
    check_columns("X", table, names_of(X, 1))
    return table


def check_columns(what: str, X: Array, names: Array | None) -> None:
    """No column without an observed entry."""
    unknown = np.isnan(X).all(axis=0)
    if unknown.any():
        j = int(unknown.argmax())
        column = j if names is None else repr(names[j])
        raise ValueError(f"{what}: column {column} is unknown for every sample; drop it")


def is_frame(X: Any) -> bool:
    """A table with names for its rows and columns, as pandas has them."""
    return hasattr(X, "iloc") and hasattr(X, "index")


def names_of(X: Any, axis: int) -> Array | None:
    """Names of rows (axis 0) or columns (axis 1) of a frame; None for what has none."""
    if not is_frame(X) or (axis == 1 and not hasattr(X, "columns")):
        return None
    return np.asarray(X.index if axis == 0 else X.columns, dtype=object)


def check_names(one: str, names: Array | None, other: str, others: Array | None, remedy: str) -> None:
    """Two lists of names are the same in the same order, where there are both."""
    if names is None or others is None or len(names) != len(others):
        return
    differ = np.array([a != b for a, b in zip(names, others, strict=True)])
    if differ.any():
        i = int(differ.argmax())
        raise ValueError(
            f"{one} and {other} have different names or another order: {names[i]!r} and {others[i]!r} at "
            f"position {i}; pass {remedy}, or arrays if they correspond as they are"
        )


# --------------------------------------------------------------------------------------------- kernels


def read_kernel(K: Any, name: str, n: int, names: Array | None = None, instead: str = "") -> Array:
    """A covariance between n things: symmetric, positive semidefinite, of their names if it has any."""
    _check_alike(name, K)
    check_names(
        f"the columns of {name}", names_of(K, 1), "what it is the kernel of", names, "K.loc[names, names]"
    )
    K = np.asarray(check_array(K, dtype=np.float64, input_name=name, copy=True))
    if K.shape != (n, n):
        raise ValueError(f"{name} has shape {K.shape}; {(n, n)} is wanted{instead}")
    return check_kernel(K, name)


def _check_alike(name: str, K: Any) -> None:
    """A kernel's rows have the names of its columns."""
    check_names(f"the rows of {name}", names_of(K, 0), "its columns", names_of(K, 1), "K.loc[K.columns]")


def check_kernel(K: Array, name: str) -> Array:
    """K (square, finite) made exactly symmetric; refused if it is no kernel, to more than rounding."""
    if not np.array_equal(K, K.T):
        _check_symmetry(K, name)
        K = symmetrize(K)
    found = indefinite(K)
    if found is not None:
        raise NotPositiveDefiniteError(
            f"{name}: not positive semidefinite, its lowest eigenvalue is {found[0]:.4g} (largest "
            f"{found[1]:.4g}); clip its eigenvalues first, or check how it was computed"
        )
    return K


def _check_symmetry(K: Array, name: str) -> None:
    gap, size = np.abs(K - K.T), float(np.abs(K).max())
    if gap.max() > PSD_TOL * size:
        i, j = np.unravel_index(int(gap.argmax()), K.shape)
        raise ValueError(
            f"{name} is not symmetric: entry ({i}, {j}) is {K[i, j]:.6g}, "
            f"entry ({j}, {i}) is {K[j, i]:.6g}; "
            "a covariance has K[i, j] == K[j, i]"
        )
