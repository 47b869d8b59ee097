"""What comes in is checked once, at the door: tables, kernels, parameters; a sentence for each mistake."""

from __future__ import annotations

import math
import numbers
from collections.abc import Sequence
from typing import Any

import numpy as np
from sklearn.utils.validation import check_array, validate_data

from absentia.core import PSD_TOL, Array, NotPositiveDefiniteError, indefinite, symmetrize

# ------------------------------------------------------------------------------------------ parameters


def check_whole(name: str, value: Any, least: int = 1) -> None:
    """A whole number from `least` on."""
    if isinstance(value, bool) or not isinstance(value, numbers.Integral) or value < least:
        raise ValueError(f"{name} must be a whole number from {least} on, not {value!r}")


def check_number(name: str, value: Any, *, above: float = -math.inf, least: float = -math.inf) -> None:
    """A finite number, greater than `above` and no less than `least`."""
    if isinstance(value, numbers.Real) and not isinstance(value, bool):
        number = float(value)
        if math.isfinite(number) and number > above and number >= least:
            return
    bound = f" greater than {above:g}" if above > -math.inf else f" from {least:g} on" * (least > -math.inf)
    raise ValueError(f"{name} must be a finite number{bound}, not {value!r}")


def check_word(name: str, value: Any, words: Sequence[str]) -> None:
    """One of `words`."""
    if not isinstance(value, str) or value not in words:
        *first, last = (repr(word) for word in words)
        raise ValueError(f"{name} must be {', '.join(first)}{' or ' if first else ''}{last}, not {value!r}")


def check_flags(**flags: Any) -> None:
    """True or False."""
    for name, value in flags.items():
        if not isinstance(value, (bool, np.bool_)):
            raise ValueError(f"{name} must be True or False, not {value!r}")


def check_stopping(estimator: Any) -> None:
    """`tol` and `max_iter` of an estimator that iterates."""
    check_number("tol", estimator.tol, least=0.0)
    check_whole("max_iter", estimator.max_iter)


# ---------------------------------------------------------------------------------------------- tables


def read_table(estimator: Any, X: Any, *, fit: bool, gaps: bool = False) -> Array:
    """X (n, features) as numbers of its own; the columns of the fit are remembered, and wanted again later.

    With `gaps`, NaN is an entry that is missing.
    """
    finite: Any = "allow-nan" if gaps else True
    X = validate_data(estimator, X, reset=fit, dtype=np.float64, ensure_all_finite=finite, copy=True)
    return np.asarray(X)


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
    check_names(f"the rows of {name}", names_of(K, 0), "its columns", names_of(K, 1), "K.loc[K.columns]")
    check_names(
        f"the columns of {name}", names_of(K, 1), "what it is the kernel of", names, "K.loc[names, names]"
    )
    K = np.asarray(check_array(K, dtype=np.float64, input_name=name, copy=True))
    if K.shape != (n, n):
        raise ValueError(f"{name} has shape {K.shape}; {(n, n)} is wanted{instead}")
    return check_kernel(K, name)


def check_kernel(K: Array, name: str) -> Array:
    """K (square, finite) made exactly symmetric; refused if it is no kernel, to more than rounding."""
    gap, size = np.abs(K - K.T), float(np.abs(K).max())
    if gap.max() > PSD_TOL * size:
        i, j = np.unravel_index(int(gap.argmax()), K.shape)
        raise ValueError(
            f"{name} is not symmetric: entry ({i}, {j}) is {K[i, j]:.6g}, "
            f"entry ({j}, {i}) is {K[j, i]:.6g}; "
            "a covariance has K[i, j] == K[j, i]"
        )
    K = symmetrize(K)
    found = indefinite(K)
    if found is not None:
        raise NotPositiveDefiniteError(
            f"{name}: not positive semidefinite, its lowest eigenvalue is {found[0]:.4g} (largest "
            f"{found[1]:.4g}); clip its eigenvalues first, or check how it was computed"
        )
    return K
