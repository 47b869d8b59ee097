"""Is this a kernel?  Cheap checks, with a sentence that names the view and the samples."""

from typing import Any

import numpy as np

from absentia.core import Array, Chunked, ChunkedGram, Gram, Operator, has_factors
from absentia.data._gaps import shown

#: Kernels of so few samples are used and written whole, even if they are held as factors.
FEW = 2000


def by_factors(X: Any) -> bool:
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
            f"view {name!r}, sample {shown(ids[int(np.argmin(finite))])}: factor is NaN or infinite"
        )


def _check_values(name: str, A: Array, ids: Array, rows: Array) -> None:
    """Rows of a kernel are finite."""
    if not np.isfinite(A).all():
        i, j = np.argwhere(~np.isfinite(A))[0]
        raise ValueError(
            f"view {name!r}: kernel value of samples {shown(ids[rows[i]])} and {shown(ids[j])} is "
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
        one, other = shown(ids[a]), shown(ids[b])
        raise ValueError(
            f"view {name!r}: kernel is not symmetric: k({one}, {other}) = {there:.6g} "
            f"but k({other}, {one}) = {back:.6g}; "
            "pass (K + K.T) / 2 if the difference means nothing"
        )


def _check_diagonal(name: str, diagonal: Array, ids: Array, scale: float) -> None:
    if (diagonal < -_tolerance(diagonal.dtype, scale)).any():
        i = int(diagonal.argmin())
        raise ValueError(
            f"view {name!r}: kernel value of sample {shown(ids[i])} with itself is {diagonal[i]:.6g}; "
            "a kernel's diagonal cannot be negative (was a distance passed for a similarity?)"
        )
