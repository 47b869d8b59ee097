"""Tables, targets, labels and kernels are checked once, where they come in; a sentence for each mistake."""

from abc import ABC
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING, Any, TypeAlias

import numpy as np
import scipy.linalg
from sklearn.utils.validation import check_array, validate_data

from absentia.core import Array
from absentia.core.linalg import PSD_TOL, NotPositiveDefiniteError, cholesky, psd_violation, symmetrize

#: Least eigenvalue of a column kernel that is given, in units of the columns' standard deviations; above
#: it, the kernel is used as it is.
_MIN_EIGENVALUE = 1e-10

if TYPE_CHECKING:
    Kernel: TypeAlias = Any
else:

    class Kernel(ABC):  # noqa: B024
        """A parameter that is a covariance: arrays, frames, nested lists; not a word."""

        @classmethod
        def __subclasshook__(cls, other):
            return not issubclass(other, str) and (hasattr(other, "__array__") or hasattr(other, "__len__"))


# --------------------------------------------------------------------------------------------------- tables


def read_numbers(estimator: Any, X: Any, *, fit: bool, gaps: bool = False) -> Array:
    """A copy of X (n, features) as numbers; the columns of the fit are remembered, and wanted again later.

    With `gaps`, NaN is an entry that is missing.
    """
    finite: Any = "allow-nan" if gaps else True
    X = validate_data(estimator, X, reset=fit, dtype=np.float64, ensure_all_finite=finite, copy=True)
    return np.asarray(X)


def read_samples(estimator: Any, X: Any) -> Array:
    """Samples to fit: features or, for ``kernel="precomputed"``, the kernel between samples."""
    table = read_numbers(estimator, X, fit=True)
    if getattr(estimator, "kernel", None) != "precomputed":
        return table
    if table.shape[0] != table.shape[1]:
        raise ValueError(f"kernel='precomputed' wants a square kernel to fit, not {table.shape}")
    _check_kernel_names("the kernel", X)
    return _check_kernel(table, "the kernel")


def read_gaps(estimator: Any, X: Any) -> Array:
    """A matrix to fit (n, m) with NaN where missing, and something observed in every column."""
    table = read_numbers(estimator, X, fit=True, gaps=True)
    _check_columns("X", table, get_names(X, 1))
    return table


def _check_columns(what: str, X: Array, names: Array | None) -> None:
    """No column without an observed entry."""
    unknown = np.isnan(X).all(axis=0)
    if unknown.any():
        j = int(unknown.argmax())
        column = j if names is None else repr(names[j])
        raise ValueError(f"{what}: column {column} is unknown for every sample; drop it")


def get_names(X: Any, axis: int) -> Array | None:
    """Names of rows (axis 0) or columns (axis 1) of a data frame; None for what has none."""
    if not (hasattr(X, "iloc") and hasattr(X, "index")) or (axis == 1 and not hasattr(X, "columns")):
        return None
    return np.asarray(X.index if axis == 0 else X.columns, dtype=object)


def _check_names(one: str, names: Array | None, other: str, others: Array | None, remedy: str) -> None:
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


# --------------------------------------------------------------------------------------- targets and labels


@dataclass(frozen=True)
class PartialTargets:
    """Y (n, m), NaN where unknown; whether it came as a vector; names of its columns if it had any."""

    values: Array
    vector: bool
    names: Array | None

    def select_rows(self, discard: bool) -> Array:
        """Indices of the samples to learn from: all, or those with every label or target known."""
        rows = (
            np.flatnonzero(~np.isnan(self.values).any(axis=1)) if discard else np.arange(len(self.values))
        )
        if not len(rows):
            raise ValueError("discard=True leaves no sample: every one has an unknown label or target")
        return rows


def read_targets(Y: Any, X: Any, n: int, estimator: Any) -> PartialTargets:
    """Real targets of the n samples in X, NaN where unknown; something known in every column."""
    if Y is None:
        raise ValueError(
            f"{type(estimator).__name__} requires y to be passed, but the target y is None; pass (samples, "
            "targets), NaN where unknown"
        )
    names = get_names(Y, 1)
    _check_names("the rows of Y", get_names(Y, 0), "those of X", get_names(X, 0), "Y.loc[X.index]")
    values = check_array(
        Y, dtype=np.float64, ensure_2d=False, ensure_all_finite=False, ensure_min_samples=0, input_name="Y"
    )
    vector = values.ndim == 1
    values = np.array(values[:, None] if vector else values)
    if values.ndim != 2 or len(values) != n:
        raise ValueError(f"Y has shape {values.shape} for {n} samples; pass one row for each sample")
    if np.isinf(values).any():
        i, j = np.argwhere(np.isinf(values))[0]
        raise ValueError(
            f"Input Y contains infinity or a value too large for dtype('float64'): sample {i}, column "
            f"{j if names is None else repr(names[j])}; unknown entries are NaN"
        )
    _check_columns("Y", values, names)
    return PartialTargets(values, vector, names)


def read_partial_labels(Y: Any, X: Any, n: int, estimator: Any) -> tuple[PartialTargets, Array]:
    """Labels of two values (0 and 1, or -1 and +1) as -1, +1 and NaN where unknown, and the two values."""
    targets = read_targets(Y, X, n, estimator)
    values = targets.values
    classes = np.unique(values[~np.isnan(values)])
    if len(classes) > 2:
        raise ValueError(
            f"Y has values {classes[:5]}; pass 0 and 1 (or -1 and 1), a column per label, NaN where unknown"
        )
    if len(classes) == 1:
        classes = np.array([0.0, 1.0]) if classes[0] in (0.0, 1.0) else np.array([-1.0, 1.0])
    signs = np.where(np.isnan(values), np.nan, np.where(values == classes[1], 1.0, -1.0))
    return replace(targets, values=signs), classes


def read_truth(Y: Any, X: Any, names: Array | None, shape: tuple[int, ...]) -> Array:
    """Targets to compare predictions of X with, of the columns of the fit."""
    _check_names("the rows of Y", get_names(Y, 0), "those of X", get_names(X, 0), "Y.loc[X.index]")
    _check_names("the columns of Y", get_names(Y, 1), "those of the fit", names, "them in that order")
    Y = np.asarray(Y, dtype=float)
    if Y.shape != shape:
        raise ValueError(f"Y has shape {Y.shape}, the predictions {shape}; pass one row for each sample")
    if np.isnan(Y).all():
        raise ValueError("Y has no known entry to compare predictions with")
    return Y


# -------------------------------------------------------------------------------------------------- kernels


def read_kernel(K: Any, name: str, n: int, names: Array | None, alternative: str) -> Array:
    """A covariance (n, n): symmetric, positive semidefinite, of these row or column names if it has any."""
    _check_kernel_names(name, K)
    _check_names(
        f"the columns of {name}", get_names(K, 1), "what it is the kernel of", names, "K.loc[names, names]"
    )
    K = np.asarray(check_array(K, dtype=np.float64, input_name=name, copy=True))
    if K.shape != (n, n):
        raise ValueError(f"{name} has shape {K.shape}; {(n, n)} is wanted, or {alternative!r}")
    return _check_kernel(K, name)


def read_column_kernel(K: Any, m: int, names: Array | None = None) -> Array | None:
    """A column kernel (m, m) as given, its least eigenvalues lifted to 1e-10, whatever the units.

    None if it is a word: then it is estimated.
    """
    if isinstance(K, str):
        return None
    K = read_kernel(K, "col_kernel", m, names, "estimate")
    variances = np.diagonal(K)
    if not variances.any():
        return K  # it has no units, and is refused where it is used
    unit = np.sqrt(np.where(variances > 0, variances, variances.mean()))
    units = np.multiply.outer(unit, unit)
    try:
        cholesky(K / units - _MIN_EIGENVALUE * np.eye(m))
        return K
    except NotPositiveDefiniteError:
        values, V = scipy.linalg.eigh(K / units)
    return symmetrize((V * np.maximum(values, _MIN_EIGENVALUE)) @ V.T) * units


def _check_kernel_names(name: str, K: Any) -> None:
    """A kernel's rows have the names of its columns."""
    _check_names(f"the rows of {name}", get_names(K, 0), "its columns", get_names(K, 1), "K.loc[K.columns]")


def _check_kernel(K: Array, name: str) -> Array:
    """K (square, finite) made exactly symmetric; refused if it is no kernel, to more than rounding."""
    if not np.array_equal(K, K.T):
        _check_symmetry(K, name)
        K = symmetrize(K)
    extremes = psd_violation(K)
    if extremes is not None:
        raise NotPositiveDefiniteError(
            f"{name}: not positive semidefinite, its lowest eigenvalue is {extremes[0]:.4g} (largest "
            f"{extremes[1]:.4g}); clip its eigenvalues first, or check how it was computed"
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
