"""Arithmetic on symmetric positive (semi)definite matrices, Gaussian conditioning, permutations.

Nothing here knows of views, samples or absence.
"""

from collections.abc import Iterator
from dataclasses import dataclass
from typing import Any, Self

import numpy as np
import scipy.linalg
from numpy.typing import NDArray

Array = NDArray[Any]

#: An eigenvalue above ``-PSD_TOL * largest`` counts as rounding, not as indefiniteness.  Kernels
#: stored in single precision dip to about -1e-8 of their largest eigenvalue.
PSD_TOL = 1e-6


def as_readonly(array: Array) -> Array:
    """The same array, read-only (a view: the caller's own flags are left alone)."""
    array = array.view()
    array.flags.writeable = False
    return array


#: What a kernel's values vary by, relative to the largest, without meaning anything: ten thousand times the
#: rounding of sums over thousands of samples; and where they are kept in single precision.
_ROUNDING, _ROUNDING_SINGLE = 1e-9, 1e-5


class NotPositiveDefiniteError(np.linalg.LinAlgError):
    """A matrix that had to be positive definite is not."""


def symmetrize(A: Array) -> Array:
    """Return ``(A + A') / 2``: the same matrix with rounding asymmetry averaged out."""
    return (A + A.T) / 2


def largest_asymmetry(A: Array, tile: int = 256) -> float:
    """``max |A - A'|`` of a square matrix, of which no second one is made; NaN is passed over."""
    gaps = [0.0]
    for a in range(0, len(A), tile):
        for b in range(a, len(A), tile):
            gap = A[a : a + tile, b : b + tile] - A[b : b + tile, a : a + tile].T
            gaps.append(float(np.fmax(gap.max(), -gap.min())))
    return float(np.fmax.reduce(gaps))


def center_kernel(K: Array) -> Array:
    """``H K H``: the kernel of the features less their mean."""
    means = K.mean(axis=0) if len(K) else np.zeros(0)
    return np.asarray(K - means - means[:, None] + (means.mean() if len(K) else 0.0))


def rounding_level(dtype: Any) -> float:
    return _ROUNDING if np.dtype(dtype).itemsize > 4 else _ROUNDING_SINGLE


def squared_distances(A: Array, B: Array) -> Array:
    """Squared Euclidean distances between the rows of `A` and of `B`."""
    D = -2.0 * (A @ B.T)
    D += np.einsum("ij,ij->i", A, A)[:, None]
    D += np.einsum("ij,ij->i", B, B)[None, :]
    return np.maximum(D, 0.0, out=D)


def inverse_sqrt(diagonal: Array) -> Array:
    """``1 / sqrt``, and zero where there is nothing to normalise: a zero vector stays zero."""
    safe = np.where(diagonal > 0, diagonal, 1.0)
    return np.where(diagonal > 0, 1.0 / np.sqrt(safe), 0.0)


def cholesky(A: Array, what: str = "matrix") -> Array:
    """Lower Cholesky factor of `A`; `what` names the matrix in the error."""
    try:
        return np.asarray(scipy.linalg.cholesky(A, lower=True, check_finite=False))
    except np.linalg.LinAlgError as error:
        raise NotPositiveDefiniteError(
            f"{what} ({A.shape[0]}x{A.shape[0]}) is not positive definite"
        ) from error


def cholesky_solve(L: Array, B: Array) -> Array:
    """Solve ``L L' X = B``."""
    return np.asarray(scipy.linalg.cho_solve((L, True), B, check_finite=False))


def cholesky_inverse(L: Array) -> Array:
    """``(L L')^-1``, both triangles."""
    if not L.size:
        return np.zeros_like(L)
    (potri,) = scipy.linalg.get_lapack_funcs(("potri",), (L,))
    inverse, info = potri(L, lower=1)
    if info != 0:
        raise NotPositiveDefiniteError(f"matrix ({len(L)}x{len(L)}) is singular")
    return np.tril(inverse) + np.tril(inverse, -1).T


def cholesky_logdet(L: Array) -> float:
    """Log-determinant of ``L L'``."""
    return 2.0 * float(np.log(np.diagonal(L)).sum())


def whitening_matrix(A: Array, what: str = "matrix") -> Array:
    """Lower triangular R with ``R A R' = I``, so that ``R' R`` is the inverse of A."""
    return np.asarray(
        scipy.linalg.solve_triangular(cholesky(A, what), np.eye(len(A)), lower=True, check_finite=False)
    )


def thin_gram(A: Array, B: Array, chunk: int = 8192) -> Array:
    """``A' B`` of two thin matrices in double precision, whatever theirs.

    Single-precision products are summed in chunks of rows, so that only a chunk's rounding is single.
    """
    if A.dtype == np.float64 and B.dtype == np.float64:
        return np.asarray(A.T @ B)
    total = np.zeros((A.shape[1], B.shape[1]))
    for a in range(0, len(A), chunk):
        total += A[a : a + chunk].T @ B[a : a + chunk]
    return total


def leading_eigenpairs(A: Array, count: int) -> tuple[Array, Array]:
    """The `count` largest eigenvalues of a symmetric matrix, ascending, and their vectors.

    Where many eigenvalues are alike to rounding, LAPACK may find fewer of those asked for: then all are.
    """
    n = len(A)
    count = min(count, n)
    values, vectors = scipy.linalg.eigh(A, subset_by_index=(n - count, n - 1), check_finite=False)
    if len(values) < count:
        values, vectors = scipy.linalg.eigh(A, check_finite=False)
        values, vectors = values[n - count :], vectors[:, n - count :]
    return values, vectors


def _extreme_eigenvalues(A: Array) -> tuple[float, float]:
    """Lowest and largest eigenvalue of a symmetric matrix."""
    eigenvalues = scipy.linalg.eigvalsh(A, check_finite=False)
    return float(eigenvalues[0]), float(eigenvalues[-1])


def psd_violation(A: Array, tol: float = PSD_TOL) -> tuple[float, float] | None:
    """``None`` if symmetric `A` is positive semidefinite, else its (lowest, largest) eigenvalue.

    Eigenvalues down to ``-tol`` times the largest are rounding.  One Cholesky factorisation, in single
    precision where that can tell, answers for a good matrix; eigenvalues are computed only for a
    doubtful one.
    """
    if A.shape[0] == 0:
        return None
    # at unit scale, where nothing under- or overflows; a constant whose diagonal is zero is left as it is
    unit = float(np.abs(np.diagonal(A)).max())
    if unit > 0 and unit != 1.0:
        A = A / A.dtype.type(unit)
    lift = tol * _large_eigenvalue(A)
    single = lift > 100 * np.finfo(np.float32).eps * float(np.abs(np.diagonal(A)).max())
    for dtype in (np.float32, np.float64) if single else (np.float64,):
        lifted: Array = A.astype(dtype)
        lifted[np.diag_indices_from(lifted)] += lift
        # column by column a symmetric matrix is its own transpose: no copy, half the time
        (potrf,) = scipy.linalg.get_lapack_funcs(("potrf",), (lifted,))
        if potrf(lifted.T, lower=0, clean=0, overwrite_a=1)[1] == 0:
            return None
    low, high = (x * (unit or 1.0) for x in _extreme_eigenvalues(np.asarray(A, dtype=np.float64)))
    return (low, high) if low < -tol * max(high, 0.0) else None


def _large_eigenvalue(A: Array) -> float:
    """A lower bound of the largest eigenvalue, near it: a Rayleigh quotient after a few powers."""
    x = np.ones(len(A), dtype=A.dtype)
    value = 0.0
    for _ in range(3):
        x = x / max(float(np.linalg.norm(x)), 1e-300)
        y = A @ x
        value, x = max(value, float(x @ y)), y
    return max(value, float(np.max(np.diagonal(A))), 0.0)


def clip_eigenvalues(A: Array) -> Array:
    """Nearest positive semidefinite matrix in the Frobenius norm."""
    eigenvalues, vectors = scipy.linalg.eigh(symmetrize(A), check_finite=False)
    return symmetrize((vectors * np.maximum(eigenvalues, 0.0)) @ vectors.T)


def shift_eigenvalues(A: Array) -> Array:
    """Add to the diagonal what lifts the lowest eigenvalue to zero; nothing if it is not negative."""
    low, _ = _extreme_eigenvalues(A)
    return np.asarray(A + max(-low, 0.0) * np.eye(len(A), dtype=A.dtype))


# --------------------------------------------------------------------------------------------- conditioning


@dataclass(frozen=True)
class ConditionalGaussian:
    """Variables h given o, all of mean zero: h has mean ``x_o B`` and covariance `covariance`.

    ``L`` is the Cholesky factor of what was inverted, the precision ``P_hh``.
    """

    B: Array
    covariance: Array
    L: Array

    @classmethod
    def by_precision(cls, P: Array, o: Array, h: Array) -> Self:
        """With ``P = Sigma^-1``: ``B = -P_oh P_hh^-1``; the covariance is ``P_hh^-1``."""
        L = cholesky(P[np.ix_(h, h)], "precision")
        return cls(-cholesky_solve(L, P[np.ix_(o, h)].T).T, cholesky_inverse(L), L)


# ------------------------------------------------------------------------------------------------ positions


def invert_permutation(order: Array) -> Array:
    """The permutation that undoes `order`."""
    places = np.empty(len(order), dtype=np.intp)
    places[order] = np.arange(len(order))
    return places


def group_by_pattern(mask: Array) -> Iterator[tuple[Array, Array]]:
    """Each distinct row of a boolean matrix, and the positions of the rows that are like it."""
    if not len(mask):
        return
    patterns, member = np.unique(mask, axis=0, return_inverse=True)
    member = member.ravel()  # NumPy 2.0.0 gives it two dimensions
    order = np.argsort(member, kind="stable")
    ends = np.cumsum(np.bincount(member, minlength=len(patterns)))
    yield from zip(patterns, np.split(order, ends[:-1]), strict=True)


def solve_left_out(F: Array, x: Array, least: float) -> Array:
    """``(I - F F')^-1 x``, F (..., p, q) and x (..., p), no eigenvalue of ``I - F F'`` below `least`."""
    U, singular, _ = np.linalg.svd(F, full_matrices=False)
    more = 1 / np.maximum(1 - singular**2, least) - 1
    return np.asarray(x + np.einsum("...pk,...k,...qk,...q->...p", U, more, U, x, optimize=True))
