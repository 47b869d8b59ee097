"""Sums over samples, block by block: what second-order fits to very many of them are made of.

A penalised fit needs of the samples nothing but sums: the moments of their rows for principal axes and for
ridge regression, and at every point that Newton's method goes to, the loss, its gradient and its Hessian.
All are some numbers per column, whatever the number of samples.

Rows are kept in the precision that they came in; a block at a time is made double precision.

Ridge regression is here whole (:func:`fit_ridge`): its sums are needed once.  Without row i, of leverage
``h_i``, its residual is ``r_i / (1 - h_i)``; without a group of rows ``(I - H_g)^-1 r_g``.
"""

from collections.abc import Callable, Iterator
from typing import Any, NamedTuple

import numpy as np
from scipy.linalg import cho_solve, cholesky, solve_triangular

from absentia.core import Array, argmin_key
from absentia.core.linalg import solve_left_out
from absentia.data import number_groups, stack_groups

#: Rows that are looked at in one go; a table of fewer is one block.
BLOCK_ROWS = 8192
_ALPHAS = tuple(10.0**k / 2 for k in range(2, -6, -1))  # of ridge regression, the largest first
_MIN_DENOMINATOR = 1e-6  # of residuals of rows left out


def logistic_loss(eta: Array, y: Array, weight: Array) -> float:
    """``sum_i s_i (log(1 + exp(eta_i)) - y_i eta_i)``."""
    return float(weight @ (np.logaddexp(0, eta) - y * eta))


class DesignMatrix:
    """Rows (n, d), with a constant before them or without, a block at a time.

    Parameters
    ----------
    Z : ndarray of shape (n, d)
        In single or double precision, perhaps mapped from a file.
    constant : bool, default True
    """

    def __init__(self, Z: Array, constant: bool = True) -> None:
        self.Z, self.constant, self.shape = Z, constant, (len(Z), Z.shape[1] + constant)
        self._whole = self.take(slice(None)) if len(Z) <= BLOCK_ROWS else None

    def take(self, rows: Any) -> Array:
        """Some rows, in double precision."""
        Z = self.Z[rows].astype(np.float64)
        return np.hstack([np.ones((len(Z), 1)), Z]) if self.constant else Z

    def blocks(self) -> Iterator[tuple[slice, Array]]:
        """All rows, and where they are."""
        if self._whole is not None:
            yield slice(0, len(self.Z)), self._whole
            return
        yield from ((rows, self.take(rows)) for rows in row_blocks(len(self.Z)))

    def times(self, b: Array) -> Array:
        """``A b``."""
        return np.concatenate([A @ b for _, A in self.blocks()])


def row_blocks(n: int) -> Iterator[slice]:
    """Where the blocks of `n` rows are."""
    return (slice(a, min(a + BLOCK_ROWS, n)) for a in range(0, max(n, 1), BLOCK_ROWS))


def map_blocks(function: Callable[[slice], Array], n: int) -> Array:
    """What a function gives of the rows of each block, one after the other."""
    return np.concatenate([function(rows) for rows in row_blocks(n)])


# ----------------------------------------------------------------------------------------- ridge regression


class _RidgeFit(NamedTuple):
    """Weights of the columns (d,), the constant, the penalty, and predictions of rows left out (n,)."""

    coef: Array
    bias: float
    alpha: float
    loo: Array


def fit_ridge(
    axes: Any, y: Array, weight: Array, alpha: float | None = None, groups: Array | None = None
) -> _RidgeFit:
    """Ridge regression on rows along their axes, their mean squared length one.

    Without `alpha`, the penalty of least squared error of rows, or `groups` of them, that are left out.
    """
    A, groups = DesignMatrix(axes.Z), number_groups(groups)
    tables = (np.column_stack([block, y[rows], weight[rows]]) for rows, block in A.blocks())
    products = sum((T[:, :-1] * T[:, -1:]).T @ T[:, :-1] for T in tables)
    H, target = products[:-1, :-1], products[:-1, -1]

    def solve(alpha: float) -> tuple[Array, Array]:
        penalty = np.full(len(H), alpha)
        penalty[0] = 0.0  # the constant is free
        factor = cholesky(H + np.diag(penalty), lower=True, check_finite=False)
        return cho_solve((factor, True), target, check_finite=False), factor

    if alpha is None:
        errors = {a: weight @ _left_out_residuals(A, y, weight, groups, *solve(a)) ** 2 for a in _ALPHAS}
        alpha = argmin_key({a: float(error) for a, error in errors.items()})
    b, factor = solve(alpha)
    coef = axes.back @ b[1:]
    loo = y - _left_out_residuals(A, y, weight, groups, b, factor)
    return _RidgeFit(coef, float(b[0] - axes.center @ coef), alpha, loo)


def _left_out_residuals(
    A: DesignMatrix, y: Array, weight: Array, groups: Array | None, b: Array, factor: Array
) -> Array:
    """Of every row (n,) by the regression without it, or without its group."""
    root = np.sqrt(weight)
    residual = root * (y - A.times(b))
    parts = [np.arange(rows.start, rows.stop) for rows in row_blocks(len(y))]
    for members in parts if groups is None else stack_groups(groups):
        n_parts = max(-(-members.size // BLOCK_ROWS), 1)
        for some in np.array_split(members, n_parts):  # rows, or groups x members
            rows = root[some.ravel(), None] * A.take(some.ravel())
            F = solve_triangular(factor, rows.T, lower=True, check_finite=False).T
            residual[some] = leave_out(F.reshape(*some.shape, -1), residual[some])
    return residual / root


def leave_out(F: Array, residual: Array) -> Array:
    """Residuals of ``y - F F' y`` by the regression without the row, or without its group.

    `F` is rows x coefficients, or groups x members x coefficients.
    """
    if F.ndim == 2:
        return np.asarray(residual / np.maximum(1 - (F**2).sum(axis=1), _MIN_DENOMINATOR))
    return np.asarray(solve_left_out(F, residual, _MIN_DENOMINATOR))
