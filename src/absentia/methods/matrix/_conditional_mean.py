r"""Missing entries at their expectation given the observed ones, for ``_model.KroneckerGaussian``.

With o the observed and m the missing entries and P the precision of vec X, ``P_mm x_m = -P_mo x_o``: solved
by a Cholesky factor of P_mm where that is small (:func:`complete_by_cholesky`), by conjugate gradients over
the missing entries where it is not (:func:`complete_by_gradients`).  The preconditioner inverts, row by
row, the block of P that belongs to the row's missing entries.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass

import numpy as np

from absentia.core import Array
from absentia.core.linalg import cholesky, cholesky_solve
from absentia.core.optimize import Solution, StoppingRule, iterate
from absentia.methods.matrix._model import KroneckerGaussian, expand_stack

#: Up to this many missing entries, a matrix over them is formed and factorised ...
_MAX_FACTORIZED = 1000
#: ... unless that takes more multiplications than this (about a second).
_MAX_PRODUCTS = 5e9
#: Up to this many numbers, and columns, the preconditioner keeps a block for every row.
_MAX_BLOCK_NUMBERS, _MAX_BLOCK_COLUMNS = 50_000_000, 64


def has_few_missing(observed: Array) -> bool:
    """Whether so few entries are missing that a matrix over them may be formed."""
    return int((~observed).sum()) <= _MAX_FACTORIZED


def is_factorizable(model: KroneckerGaussian, observed: Array) -> bool:
    """Whether a matrix over the missing entries is cheap enough to be formed and factorised."""
    products = model.shape[1] * int((~observed).any(axis=1).sum()) ** 2 * len(model.rows.l)
    return has_few_missing(observed) and products <= _MAX_PRODUCTS


def conditional_mean(model: KroneckerGaussian, X: Array, observed: Array, *, tol: float = 1e-9) -> Array:
    """X (n, m), centred, with its missing entries at their expectation; what stands there does not matter.

    Solved directly where that is cheap, else to a relative residual of `tol`.
    """
    if observed.all() or not is_factorizable(model, observed):
        return complete_by_gradients(model, X, observed, tol=tol)
    return complete_by_cholesky(model, X, observed, factorize_missing(model, observed))


def relative_residual(model: KroneckerGaussian, X: Array, full: Array, observed: Array) -> float:
    """How far `full` (n, m) is from solving ``P_mm x_m = -P_mo x_o``, relative to the right-hand side."""
    right = model.solve(np.where(observed, X, 0.0))[~observed]
    left = model.solve(full)[~observed]
    size = float(np.linalg.norm(right))
    return float(np.linalg.norm(left)) / size if size else 0.0


# ------------------------------------------------------------------------------------- by a Cholesky factor


def complete_by_cholesky(model: KroneckerGaussian, X: Array, observed: Array, L: Array) -> Array:
    """:func:`conditional_mean` by the Cholesky factor `L` of P_mm, with one step of refinement."""
    stack = X[:, None, :] if X.ndim == 2 else X
    i, j = np.nonzero(~observed)
    full = np.where(observed[:, None, :], stack, 0.0)
    for _ in range(2):
        full[i, :, j] -= cholesky_solve(L, model.solve(full)[i, :, j])
    return full.reshape(X.shape)


def factorize_missing(model: KroneckerGaussian, observed: Array) -> Array:
    """The Cholesky factor of ``P_mm``, in the order of ``np.argwhere(~observed)``."""
    i, j = np.nonzero(~observed)
    rows, i = np.unique(i, return_inverse=True)
    i = i.ravel()
    U, V, pairs = model.rows.U[rows], model.V[j], np.ix_(i, i)
    full = model.rows.full
    P = np.zeros((len(i), len(i))) if full else (i[:, None] == i[None, :]) * (V @ V.T)
    for k in range(V.shape[1]):
        scaled = U / model.d[:, k] if full else -U * model.gain[:, k]
        P += np.multiply.outer(V[:, k], V[:, k]) * (scaled @ U.T)[pairs]
    return cholesky(P, "precision of the missing entries")


# ----------------------------------------------------------------------------------- by conjugate gradients


@dataclass(frozen=True)
class RowBlocks:
    """Inverse Cholesky factors ``L^-1`` of the missing blocks of P, one for each row (n, m, m).

    Where there are too many columns for that, only the diagonal of P (n, m).
    """

    root: Array

    @classmethod
    def from_model(cls, model: KroneckerGaussian, missing: Array) -> RowBlocks:
        n, m = missing.shape
        diagonal, V = model.whitened_precision_diagonal(), model.V
        if n * m * m > _MAX_BLOCK_NUMBERS or m > _MAX_BLOCK_COLUMNS:
            return cls(np.where(missing, 1 / np.sqrt(np.maximum(diagonal @ (V**2).T, 1e-300)), 0.0))
        blocks = np.einsum("aj,ij,bj->iab", V, diagonal, V, optimize=True)
        blocks *= missing[:, :, None] & missing[:, None, :]
        blocks[:, np.arange(m), np.arange(m)] += ~missing
        root = np.linalg.inv(np.linalg.cholesky(blocks))
        root[:, np.arange(m), np.arange(m)] *= missing  # observed entries stay zero
        return cls(root)

    def apply_root(self, X: Array) -> Array:
        """``L^-1 x`` for X (n, k, m)."""
        return expand_stack(self.root, X) * X if self.root.ndim == 2 else X @ self.root.transpose(0, 2, 1)

    def apply_root_transposed(self, X: Array) -> Array:
        """``L^-T x`` for X (n, k, m)."""
        return expand_stack(self.root, X) * X if self.root.ndim == 2 else X @ self.root

    def solve(self, X: Array) -> Array:
        return self.apply_root_transposed(self.apply_root(X))

    def logdet(self) -> float:
        """Log-determinant of the blocks."""
        diagonal = self.root if self.root.ndim == 2 else np.einsum("iaa->ia", self.root)
        return -2.0 * float(np.log(diagonal[diagonal > 0]).sum())


@dataclass(frozen=True)
class _GradientState:
    """Where conjugate gradients stand, for each of k systems."""

    x: Array
    residual: Array
    direction: Array
    power: Array  # r' M^-1 r


def _conjugate_gradients(
    A: Callable[[Array], Array],
    B: Array,
    precondition: Callable[[Array], Array],
    start: Array,
    *,
    tol: float,
    max_iter: int,
) -> Solution[_GradientState]:
    """Solve ``A x = b`` for each of the k matrices in B (n, k, m), to residuals below ``tol |b|``."""

    def inner(X: Array, Y: Array) -> Array:
        return np.asarray(np.einsum("ikj,ikj->k", X, Y))

    scale = np.sqrt(inner(B, B))
    scale[scale == 0] = 1.0

    def step(state: _GradientState) -> _GradientState:
        Ad = A(state.direction)
        curvature = inner(state.direction, Ad)
        length = np.where(curvature > 0, state.power / np.where(curvature > 0, curvature, 1), 0.0)
        x = state.x + length[:, None] * state.direction
        residual = state.residual - length[:, None] * Ad
        Mr = precondition(residual)
        power = inner(residual, Mr)
        ratio = power / np.where(state.power > 0, state.power, 1.0)
        return _GradientState(x, residual, Mr + ratio[:, None] * state.direction, power)

    def worst(state: _GradientState) -> float:
        return float((np.sqrt(inner(state.residual, state.residual)) / scale).max(initial=0.0))

    residual = B - A(start) if start.any() else B
    direction = precondition(residual)
    first = _GradientState(start, residual, direction, inner(residual, direction))
    stop, there = StoppingRule(tol, "the relative residual", worst), worst(first) <= tol
    return iterate(step, None, first, stop=stop, max_iter=0 if there else max_iter)


def complete_by_gradients(
    model: KroneckerGaussian,
    X: Array,
    observed: Array,
    *,
    start: Array | None = None,
    tol: float = 1e-8,
    max_iter: int = 500,
) -> Array:
    """:func:`conditional_mean` by conjugate gradients, for X (n, m) or (n, k, m).

    A `start` of the same shape says where to begin.
    """
    missing = ~observed
    stack = X[:, None, :] if X.ndim == 2 else X
    if not missing.any():
        return X.copy()
    hole = missing[:, None, :]
    known = np.where(hole, 0.0, stack)
    begin = np.zeros_like(known) if start is None else np.where(hole, start.reshape(stack.shape), 0.0)
    solution = _conjugate_gradients(
        lambda Z: np.where(hole, model.solve(Z), 0.0),
        -np.where(hole, model.solve(known), 0.0),
        RowBlocks.from_model(model, missing).solve,
        begin,
        tol=tol,
        max_iter=max_iter,
    )
    return (known + solution.state.x).reshape(X.shape)
