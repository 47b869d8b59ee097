r"""Missing entries at their expectation given the observed ones, for ``_model.Addition``.

With P the precision of vec X, m the missing and o the observed entries, ``P_mm x_m = -P_mo x_o``: by a
Cholesky factor of P_mm when small (:func:`posterior_mean`), by conjugate gradients in missing space when
large (:func:`complete`).  The preconditioner inverts, row by row, the block of P that belongs to the row's
missing entries.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass

import numpy as np

from absentia.core import Array, Solution, Stop, cholesky, cholesky_solve, iterate
from absentia.methods.matrix._model import Addition, across

#: Up to this many missing entries, a matrix over them is formed and factorised.
SMALL = 1000
#: ... unless that takes more multiplications than this (about a second).
DEAR = 5e9
#: Up to this many numbers, the preconditioner keeps a block for every row.
BLOCKS = 50_000_000


# --------------------------------------------------------------------------------- preconditioning


@dataclass(frozen=True)
class RowBlocks:
    """Inverse Cholesky factors ``L^-1`` of the missing blocks of P, one for each row (n, m, m).

    Where there are too many columns for that, only the diagonal of P (n, m).
    """

    root: Array

    @classmethod
    def of(cls, model: Addition, missing: Array) -> RowBlocks:
        n, m = missing.shape
        share, V = model.row_share(), model.V
        if n * m * m > BLOCKS or m > 64:
            return cls(np.where(missing, 1 / np.sqrt(np.maximum(share @ (V**2).T, 1e-300)), 0.0))
        blocks = np.einsum("aj,ij,bj->iab", V, share, V, optimize=True)
        blocks *= missing[:, :, None] & missing[:, None, :]
        blocks[:, np.arange(m), np.arange(m)] += ~missing
        root = np.linalg.inv(np.linalg.cholesky(blocks))
        root[:, np.arange(m), np.arange(m)] *= missing  # observed entries stay zero
        return cls(root)

    def half(self, X: Array) -> Array:
        """``L^-1 x`` for X (n, k, m)."""
        return across(self.root, X) * X if self.root.ndim == 2 else X @ self.root.transpose(0, 2, 1)

    def half_transposed(self, X: Array) -> Array:
        """``L^-T x`` for X (n, k, m)."""
        return across(self.root, X) * X if self.root.ndim == 2 else X @ self.root

    def solve(self, X: Array) -> Array:
        return self.half_transposed(self.half(X))

    def logdet(self) -> float:
        """Log-determinant of the blocks."""
        diagonal = self.root if self.root.ndim == 2 else np.einsum("iaa->ia", self.root)
        return -2.0 * float(np.log(diagonal[diagonal > 0]).sum())


# --------------------------------------------------------------------------------- conjugate gradients


@dataclass(frozen=True)
class _Descent:
    """Where conjugate gradients stand, for each of k systems."""

    x: Array
    residual: Array
    direction: Array
    power: Array  # r' M^-1 r


def conjugate_gradients(
    A: Callable[[Array], Array],
    B: Array,
    precondition: Callable[[Array], Array],
    start: Array,
    *,
    tol: float = 1e-8,
    max_iter: int = 500,
) -> Solution[_Descent]:
    """Solve ``A x = b`` for each of the k matrices in B (n, k, m), to residuals below ``tol |b|``.

    In the precision of B; sums are in double precision.
    """

    def inner(X: Array, Y: Array) -> Array:
        if X.dtype == np.float64:
            return np.asarray(np.einsum("ikj,ikj->k", X, Y))
        return np.asarray(np.einsum("ikj,ikj->ik", X, Y).sum(axis=0, dtype=float))

    scale = np.sqrt(inner(B, B))
    scale[scale == 0] = 1.0

    def step(state: _Descent) -> _Descent:
        Ad = A(state.direction)
        curvature = inner(state.direction, Ad)
        length = np.where(curvature > 0, state.power / np.where(curvature > 0, curvature, 1), 0.0)
        length = length.astype(B.dtype)
        x = state.x + length[:, None] * state.direction
        residual = state.residual - length[:, None] * Ad
        Mr = precondition(residual)
        power = inner(residual, Mr)
        ratio = (power / np.where(state.power > 0, state.power, 1.0)).astype(B.dtype)
        return _Descent(x, residual, Mr + ratio[:, None] * state.direction, power)

    def worst(state: _Descent) -> float:
        return float((np.sqrt(inner(state.residual, state.residual)) / scale).max(initial=0.0))

    residual = B - A(start) if start.any() else B
    direction = precondition(residual)
    first = _Descent(start, residual, direction, inner(residual, direction))
    stop, there = Stop(tol, "the relative residual", worst), worst(first) <= tol
    return iterate(step, None, first, stop=stop, max_iter=0 if there else max_iter)


def complete(
    model: Addition,
    X: Array,
    observed: Array,
    *,
    start: Array | None = None,
    tol: float = 1e-8,
    max_iter: int = 500,
) -> Array:
    """X with its missing entries replaced by their expectation given the observed ones.

    X is (n, m) or (n, k, m), centred; what stands at missing entries does not matter.  A `start` of the
    same shape says where to begin.
    """
    missing = ~observed
    many = X[:, None, :] if X.ndim == 2 else X
    if not missing.any():
        return X.copy()
    hole = missing[:, None, :]
    known = np.where(hole, 0.0, many)
    begin = np.zeros_like(known) if start is None else np.where(hole, start.reshape(many.shape), 0.0)
    found = conjugate_gradients(
        lambda Z: np.where(hole, model.solve(Z), 0.0),
        -np.where(hole, model.solve(known), 0.0),
        RowBlocks.of(model, missing).solve,
        begin,
        tol=tol,
        max_iter=max_iter,
    )
    return (known + found.state.x).reshape(X.shape)


def column_units(model: Addition) -> Array:
    """Standard deviations of the columns, of an average row (m,)."""
    return np.sqrt(float(model.rows.diagonal().mean()) * np.diagonal(model.C) + np.diagonal(model.N))


def few(observed: Array) -> bool:
    """Whether so few entries are missing that a matrix over them may be formed."""
    return int((~observed).sum()) <= SMALL


def is_small(model: Addition, observed: Array) -> bool:
    """Whether a matrix over the missing entries is formed and factorised."""
    products = model.shape[1] * int((~observed).any(axis=1).sum()) ** 2 * len(model.rows.l)
    return few(observed) and products <= DEAR


def posterior_mean(model: Addition, X: Array, observed: Array, *, tol: float = 1e-9) -> Array:
    """As :func:`complete`: solved directly where that is cheap, else to a residual of `tol`."""
    if observed.all() or not is_small(model, observed):
        return complete(model, X, observed, tol=tol)
    return solved(model, X, observed, missing_factor(model, observed))


def residual(model: Addition, X: Array, full: Array, observed: Array) -> float:
    """How far `full` (n, m) is from solving ``P_mm x_m = -P_mo x_o``, relative to the right-hand side."""
    right = model.solve(np.where(observed, X, 0.0))[~observed]
    left = model.solve(full)[~observed]
    size = float(np.linalg.norm(right))
    return float(np.linalg.norm(left)) / size if size else 0.0


def solved(model: Addition, X: Array, observed: Array, L: Array) -> Array:
    """:func:`complete` with the Cholesky factor of P_mm, and one step of iterative refinement."""
    many = X[:, None, :] if X.ndim == 2 else X
    i, j = np.nonzero(~observed)
    full = np.where(observed[:, None, :], many, 0.0)
    for _ in range(2):
        full[i, :, j] -= cholesky_solve(L, model.solve(full)[i, :, j])
    return full.reshape(X.shape)


def missing_precision(model: Addition, observed: Array) -> Array:
    """``P_mm``, dense, in the order of ``np.argwhere(~observed)``."""
    i, j = np.nonzero(~observed)
    some, i = np.unique(i, return_inverse=True)
    i = i.ravel()
    U, V, pairs = model.rows.U[some], model.V[j], np.ix_(i, i)
    if model.rows.full:
        P = np.zeros((len(i), len(i)))
        for k in range(V.shape[1]):
            P += np.multiply.outer(V[:, k], V[:, k]) * ((U / model.d[:, k]) @ U.T)[pairs]
        return P
    P = (i[:, None] == i[None, :]) * (V @ V.T)
    for k in range(V.shape[1]):
        P -= np.multiply.outer(V[:, k], V[:, k]) * ((U * model.shrink[:, k]) @ U.T)[pairs]
    return P


def missing_factor(model: Addition, observed: Array) -> Array:
    """The Cholesky factor of ``P_mm``."""
    return cholesky(missing_precision(model, observed), "precision of the missing entries")
