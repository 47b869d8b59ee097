"""Sums over samples, block by block: what second-order fits to very many of them are made of.

A penalised fit needs of the samples nothing but sums: the moments of their rows for principal axes and for
ridge regression (:class:`RowSums`), and at every point that Newton's method goes to, the loss, its gradient
and its Hessian (:class:`LossSums`).  Both are some numbers per column, whatever the number of samples, and
those of two sets of samples add up: of blocks here, or of sites that may not show each other their rows.

Rows are kept in the precision that they came in; a block at a time is made double precision.

Ridge regression is here whole (:func:`fit_ridge`): its sums are needed once.  Without row i, of leverage
``h_i``, its residual is ``r_i / (1 - h_i)``; without a group of rows ``(I - H_g)^-1 r_g``.
"""

from collections.abc import Iterable, Iterator
from dataclasses import dataclass
from functools import reduce
from operator import add
from typing import Any, NamedTuple

import numpy as np
from scipy.linalg import cho_solve, cholesky, solve_triangular
from scipy.special import expit

from absentia.core import Array, argmin_key
from absentia.core.linalg import solve_left_out
from absentia.data import number_groups, stack_groups

#: Rows that are looked at in one go; a table of fewer is one block.
BLOCK_ROWS = 8192
_CACHE_ROWS = 2048  # of rows in double precision at a time, which are made anew in every pass over many
_ALPHAS = tuple(10.0**k / 2 for k in range(2, -6, -1))  # of ridge regression, the largest first
_MIN_DENOMINATOR = 1e-6  # of residuals of rows left out


@dataclass(frozen=True)
class RowSums:
    """Weight, weighted sum (d,) and weighted sum of products (d, d) of rows."""

    weight: float
    total: Array
    products: Array

    @classmethod
    def of(cls, rows: Array, weight: Array | None = None) -> "RowSums":
        """Of rows (n, d) in double precision, each counted by its weight (n,)."""
        weighted = rows if weight is None else rows * weight[:, None]
        total = float(len(rows)) if weight is None else float(weight.sum())
        return cls(total, weighted.sum(axis=0), weighted.T @ rows)

    def __add__(self, other: "RowSums") -> "RowSums":
        return RowSums(self.weight + other.weight, self.total + other.total, self.products + other.products)


@dataclass(frozen=True)
class LossSums:
    """Loss at some coefficients (d,), its gradient (d,) and its Hessian (d, d), without penalty."""

    loss: float
    gradient: Array
    hessian: Array

    @classmethod
    def of_logistic(cls, A: Array, y: Array, weight: Array, b: Array) -> "LossSums":
        """Of logistic regression: rows A (n, d) of classes y, 0 or 1."""
        eta = A @ b
        p = expit(eta)
        B = A * np.sqrt(weight * p * (1 - p))[:, None]
        return cls(logistic_loss(eta, y, weight), A.T @ (weight * (p - y)), B.T @ B)

    def __add__(self, other: "LossSums") -> "LossSums":
        return LossSums(
            self.loss + other.loss, self.gradient + other.gradient, self.hessian + other.hessian
        )


def logistic_loss(eta: Array, y: Array, weight: Array) -> float:
    """``sum_i s_i (log(1 + exp(eta_i)) - y_i eta_i)``."""
    return float(weight @ (np.logaddexp(0, eta) - y * eta))


def add_up(parts: Iterable[Any]) -> Any:
    """The sum of sums."""
    return reduce(add, parts)


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

    def take(self, rows: Any, out: Array | None = None) -> Array:
        """Some rows, in double precision, written into the first rows of `out` if that is given."""
        Z = self.Z[rows]
        A = np.empty((len(Z), self.shape[1])) if out is None else out[: len(Z)]
        A[:, : self.constant] = 1.0
        A[:, self.constant :] = Z
        return A

    def blocks(self) -> Iterator[tuple[slice, Array]]:
        """All rows, and where they are; each block takes the place of the one before."""
        if self._whole is not None:
            yield slice(0, len(self.Z)), self._whole
            return
        # one buffer, which stays in a processor's cache: new memory for each block took longer than sums
        buffer = np.empty((min(_CACHE_ROWS, len(self.Z)), self.shape[1]))
        yield from ((rows, self.take(rows, buffer)) for rows in cache_blocks(len(self.Z)))

    def times(self, b: Array) -> Array:
        """``A b``, of one column or more."""
        return np.concatenate([A @ b for _, A in self.blocks()])


def row_blocks(n: int, size: int | None = None) -> Iterator[slice]:
    """Where the blocks of `n` rows are, of :data:`BLOCK_ROWS` if no other `size` is given."""
    size = size or BLOCK_ROWS
    return (slice(a, min(a + size, n)) for a in range(0, max(n, 1), size))


def cache_blocks(n: int) -> Iterator[slice]:
    """Where smaller blocks are, for sums that are made of each block at once."""
    return row_blocks(n, min(_CACHE_ROWS, BLOCK_ROWS))


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
    sums: RowSums = add_up(
        RowSums.of(np.column_stack([block, y[rows]]), weight[rows]) for rows, block in A.blocks()
    )
    H, target = sums.products[:-1, :-1], sums.products[:-1, -1]

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
    parts = [np.arange(rows.start, rows.stop) for rows in cache_blocks(len(y))]
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
