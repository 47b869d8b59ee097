r"""The Kronecker algebra of matrices with row and column covariances, in two eigenbases.

A. Agovic, A. Banerjee and S. Chatterjee, "Probabilistic matrix addition", ICML 2011.

One family holds the models in use.  With X (n rows, m columns) and vec stacking columns,

.. math:: X = F + G, \qquad \operatorname{cov}(\operatorname{vec} X) = C \otimes K + N \otimes I_n .

===============================  ==========  ==============
model                            C           N
===============================  ==========  ==============
PMA (Kronecker sum, eq. 7)       I           K2
PMA with a label covariance      C           K2
I-LMC (Kronecker product)        K2          noise * I
===============================  ==========  ==============

With ``K = U diag(l) U'`` and the pencil ``V'NV = I, V'CV = diag(c)``, ``W = NV = V^-T``, the covariance is
``(W (x) U)(1 + l_i c_j)(W (x) U)'``.  So a product, a solve, a determinant, a draw and the solution of the
Sylvester equation (16) each cost two thin products.  A row kernel may have fewer eigenvectors than rows
(Nystrom); the directions it leaves out have eigenvalue zero.

Matrices are (n, m), or (n, k, m) for k matrices at once.
"""

from __future__ import annotations

import math
from dataclasses import dataclass
from functools import cached_property

import numpy as np
import scipy.linalg

from absentia.core import (
    PSD_TOL,
    Array,
    NotPositiveDefiniteError,
    leading_eigenpairs,
    serializable,
    symmetrize,
)

#: Beyond this many rows a row kernel is neither estimated nor, unless asked for, formed.
MANY = 4000
#: Up to so many columns a matrix is thin.
THIN = 16
#: A product of so few multiplications is made as it stands, with no copy of its factors into blocks (BLAS).
FEW = 500_000
#: Eigenvalues of a row kernel far below this share of the largest are rounding.  Nothing is cut there: what
#: is counted (:attr:`RowKernel.rank`) or divided by (:func:`nystrom_factor`) fades over a few powers of
#: ten.
ROUNDING = 1e-10


@serializable
@dataclass(frozen=True, repr=False)
class RowKernel:
    """``K = U diag(l) U'`` with orthonormal columns in `U` (n, r) and positive `l` (r,)."""

    U: Array
    l: Array  # noqa: E741

    def __repr__(self) -> str:
        return f"RowKernel({self.n} x {self.n}, rank {len(self.l)})"

    @classmethod
    def dense(cls, K: Array, rank: int | None = None) -> RowKernel:
        """From a positive semidefinite matrix; of its `rank` largest eigenvalues if given."""
        if rank is None or rank >= len(K):
            values, U = scipy.linalg.eigh(symmetrize(K), check_finite=False)
        else:
            values, U = leading_eigenpairs(symmetrize(K), rank)
        if len(values) and values[0] < -PSD_TOL * max(values[-1], 0.0):
            raise NotPositiveDefiniteError(
                f"row kernel: not positive semidefinite, its lowest eigenvalue is {values[0]:.4g} (largest "
                f"{values[-1]:.4g}); clip its eigenvalues first, or check how it was computed"
            )
        return cls(U, np.maximum(values, 0.0))

    @classmethod
    def factor(cls, Phi: Array) -> RowKernel:
        """From a factor, ``K = Phi Phi'``, which is never formed."""
        values, Q = scipy.linalg.eigh(Phi.T @ Phi, check_finite=False)
        keep = values > values[-1] * 10 * np.finfo(Phi.dtype).eps * len(values)
        return cls(Phi @ (Q[:, keep] / np.sqrt(values[keep])), values[keep])

    @classmethod
    def none(cls, n: int) -> RowKernel:
        """The kernel that is zero."""
        return cls(np.zeros((n, 0)), np.zeros(0))

    @property
    def n(self) -> int:
        return self.U.shape[0]

    @property
    def full(self) -> bool:
        return self.U.shape[0] == self.U.shape[1]

    def scaled(self, factor: float) -> RowKernel:
        return RowKernel(self.U, self.l * factor)

    def permuted(self, order: Array) -> RowKernel:
        """The kernel of the rows in another order."""
        return RowKernel(self.U[order], self.l)

    @cached_property
    def over(self) -> Array:
        """``1 / l``, fading to nothing where `l` is rounding."""
        lifted = self.l + ROUNDING * self.l.max(initial=0.0)
        return np.where(lifted > 0, 1 / np.where(lifted > 0, lifted, 1.0), 0.0)

    @property
    def rank(self) -> float:
        """How many eigenvectors say something of the amplitude: no whole number, so without steps."""
        return max(float(self.l @ self.over), 1.0)

    @cached_property
    def squares(self) -> Array:
        """``U**2``, which every preconditioner needs."""
        return np.asarray(self.U**2)

    def to_dense(self) -> Array:
        return np.asarray((self.U * self.l) @ self.U.T)

    def diagonal(self) -> Array:
        return np.asarray(self.squares @ self.l)

    def times(self, X: Array) -> Array:
        """``K X`` for X (n, m) or (n, k, m)."""
        return apply_rows(self.U, across(self.l[:, None], X) * apply_rows(self.U.T, X))


@serializable
class GivenRows(RowKernel):
    """A row kernel as the matrix that was given: eigenvectors only once somebody asks for them.

    Examples
    --------
    >>> rows = GivenRows(np.diag([1.0, 2.0]))
    >>> rows.times(np.ones((2, 1))).ravel(), rows.decomposed
    (array([1., 2.]), False)
    >>> rows.l, rows.decomposed
    (array([1., 2.]), True)
    """

    K: Array

    def __init__(self, K: Array) -> None:
        object.__setattr__(self, "K", K)

    @cached_property
    def _pairs(self) -> RowKernel:
        return RowKernel.dense(self.K)

    @property
    def decomposed(self) -> bool:
        """Whether the eigenvectors are there already."""
        return "_pairs" in self.__dict__

    @property
    def U(self) -> Array:
        return self._pairs.U

    @property
    def l(self) -> Array:  # noqa: E743
        return self._pairs.l

    @property
    def n(self) -> int:
        return len(self.K)

    @property
    def full(self) -> bool:
        return True

    def __repr__(self) -> str:
        return f"GivenRows({self.n} x {self.n})"

    def permuted(self, order: Array) -> RowKernel:
        if self.decomposed:
            return super().permuted(order)
        return GivenRows(self.K.take(order, axis=0).take(order, axis=1))

    def to_dense(self) -> Array:
        return self.K.copy()

    def diagonal(self) -> Array:
        return np.diagonal(self.K).copy()

    def times(self, X: Array) -> Array:
        flat = X.reshape(self.n, -1)
        if flat.shape[1] > THIN:
            return apply_rows(self.K, X)
        out, some = np.empty_like(flat), max(1, FEW // max(flat.size, 1))
        for first in range(0, self.n, some):
            part = slice(first, first + some)
            np.matmul(self.K[part], flat, out=out[part])
        return out.reshape(X.shape)


def nystrom_factor(K_nm: Array, K_mm: Array) -> Array:
    """``Phi`` with ``Phi Phi' = K_nm K_mm^+ K_mn``, the Nystrom approximation on landmarks."""
    values, Q = scipy.linalg.eigh(symmetrize(K_mm).astype(float), check_finite=False)
    # a nugget on the landmarks: directions of smaller eigenvalue are rounding, which division would blow up
    nugget = values[-1] * max(ROUNDING, 10 * np.finfo(K_mm.dtype).eps)
    if not nugget > 0:  # a kernel of zeros
        return np.zeros_like(K_nm)
    return np.asarray(K_nm @ (Q / np.sqrt(np.maximum(values, 0.0) + nugget)).astype(K_nm.dtype))


def apply_rows(A: Array, X: Array) -> Array:
    """``A X`` for every matrix in X (n, m) or (n, k, m), in one product, of the precision of A."""
    flat = X.reshape(X.shape[0], math.prod(X.shape[1:])).astype(A.dtype, copy=False)
    # a thin matrix on the left is a third quicker than on the right
    product = (flat.T @ A.T).T if flat.shape[1] <= THIN else A @ flat
    return np.asarray(product.astype(X.dtype, order="C", copy=False)).reshape(A.shape[0], *X.shape[1:])


def apply_columns(X: Array, B: Array) -> Array:
    """``X B`` for every matrix in X, in one product instead of one for each row."""
    return np.asarray(X.reshape(-1, X.shape[-1]) @ B).reshape(*X.shape[:-1], B.shape[1])


def across(S: Array, X: Array) -> Array:
    """`S` (rows, m) in the shape that multiplies X (rows, m) or (rows, k, m)."""
    return S if X.ndim == 2 else S[:, None, :]


@serializable
@dataclass(frozen=True, repr=False)
class Addition:
    """The Gaussian on matrices with covariance ``C (x) K + N (x) I``; see the module.

    Examples
    --------
    >>> model = Addition.pma(np.eye(3), np.diag([1.0, 2.0]))
    >>> model.matvec(np.ones((3, 2)))[0]
    array([2., 3.])
    >>> model.solve(model.matvec(np.ones((3, 2)))).round(12)[0]
    array([1., 1.])
    """

    rows: RowKernel
    C: Array
    N: Array

    def __repr__(self) -> str:
        n, m = self.rows.n, len(self.N)
        return f"Addition({n} x {m}, rows {self.rows!r}, columns {m} x {m})"

    @classmethod
    def pma(cls, K1: Array | RowKernel, K2: Array, C: Array | None = None) -> Addition:
        """Kronecker sum of row kernel `K1` and column kernel `K2`; `C` correlates the columns of F."""
        K2 = np.asarray(K2, dtype=float)
        return cls(_rows(K1), np.eye(len(K2)) if C is None else np.asarray(C, dtype=float), K2)

    @classmethod
    def lmc(cls, K1: Array | RowKernel, K2: Array, noise: float) -> Addition:
        """Kronecker product of `K1` and `K2`, plus noise: the intrinsic model of coregionalization."""
        K2 = np.asarray(K2, dtype=float)
        return cls(_rows(K1), K2, noise * np.eye(len(K2)))

    @property
    def shape(self) -> tuple[int, int]:
        return self.rows.n, len(self.N)

    @cached_property
    def _pencil(self) -> tuple[Array, Array]:
        try:
            c, V = scipy.linalg.eigh(self.C, self.N, check_finite=False)
        except np.linalg.LinAlgError as error:
            raise self._singular() from error
        return np.maximum(c, 0.0), V

    def check(self) -> None:
        """Refuse a column kernel N that is not positive definite."""
        try:
            scipy.linalg.cholesky(self.N, check_finite=False)
        except np.linalg.LinAlgError as error:
            raise self._singular() from error

    def _singular(self) -> NotPositiveDefiniteError:
        size = f"{len(self.N)}x{len(self.N)}"
        return NotPositiveDefiniteError(f"column kernel ({size}) is not positive definite; add a nugget")

    @property
    def c(self) -> Array:
        return self._pencil[0]

    @property
    def V(self) -> Array:
        return self._pencil[1]

    @cached_property
    def W(self) -> Array:
        """``V^-T``, so that ``N = WW'`` and ``C = W diag(c) W'``."""
        return np.asarray(self.N @ self.V)

    @cached_property
    def root(self) -> Array:
        """The symmetric root of N."""
        return _symmetric_root(self.N)

    @cached_property
    def d(self) -> Array:
        """Eigenvalues ``1 + l_i c_j`` of the covariance between whitened columns, (r, m)."""
        return 1.0 + np.multiply.outer(self.rows.l, self.c)

    @cached_property
    def shrink(self) -> Array:
        """``l c / (1 + l c)``: the share of F in each direction, (r, m)."""
        return np.multiply.outer(self.rows.l, self.c) / self.d

    def permuted(self, rows: Array, columns: Array) -> Addition:
        """The same model with rows and columns in another order."""
        grid = np.ix_(columns, columns)
        return Addition(self.rows.permuted(rows), self.C[grid], self.N[grid])

    def stretched(self, scale: Array) -> Addition:
        """The model of X times `scale` (m,) by columns: the same in other units."""
        both = np.multiply.outer(scale, scale)
        return Addition(self.rows, self.C * both, self.N * both)

    def matvec(self, X: Array) -> Array:
        """``K X C + X N``: the covariance times vec X."""
        return self.rows.times(apply_columns(X, self.C)) + apply_columns(X, self.N)

    def solve(self, X: Array) -> Array:
        """``P`` with ``K P C + P N = X``: the precision times vec X."""
        U, Z = self.rows.U, apply_columns(X, self.V)
        if self.rows.full:  # no difference of large numbers
            return apply_columns(apply_rows(U, apply_rows(U.T, Z) / across(self.d, X)), self.V.T)
        return apply_columns(Z - apply_rows(U, across(self.shrink, X) * apply_rows(U.T, Z)), self.V.T)

    def row_part(self, X: Array) -> Array:
        """E[F | X] of a full X: the solution of the Sylvester equation ``F C^-1 N + K F = K X`` (16)."""
        Z = apply_rows(self.rows.U.T, X @ self.V)
        return apply_rows(self.rows.U, across(self.shrink, X) * Z) @ self.W.T

    def logdet(self) -> float:
        """Log-determinant of the covariance of vec X."""
        of_N = -2.0 * float(np.linalg.slogdet(self.V)[1])
        return self.shape[0] * of_N + float(np.log(self.d).sum())

    def loglik(self, X: Array) -> float:
        """Log-density of a full X."""
        quadratic = float((X * self.solve(X)).sum())
        return -0.5 * (quadratic + self.logdet() + X.size * math.log(2 * math.pi))

    def draw(self, rng: np.random.Generator, k: int) -> Array:
        """`k` independent X, (n, k, m).

        By symmetric roots, so that for one state of `rng` the draws are smooth in the kernels: neither the
        signs nor the order of eigenvectors matter.
        """
        n, m = self.shape
        U, root = self.rows.U, np.sqrt(self.rows.l)[:, None, None]
        F = apply_rows(U, root * apply_rows(U.T, rng.standard_normal((n, k, m))))
        return F @ _symmetric_root(self.C) + rng.standard_normal((n, k, m)) @ self.root

    def row_share(self) -> Array:
        """Diagonal of the precision between whitened columns, (n, m): ``1 - sum_r U_ir^2 shrink_rj``."""
        U2 = self.rows.squares
        return np.asarray(U2 @ (1 / self.d) if self.rows.full else 1.0 - U2 @ self.shrink)

    def precision(self) -> Array:
        """The precision of vec X, rows first (entry (i, j) at ``i m + j``), dense: small problems only."""
        n, m = self.shape
        U, V = self.rows.U, self.V
        P = np.zeros((n, m, n, m))
        for j in range(m):
            A = (U / self.d[:, j]) @ U.T if self.rows.full else np.eye(n) - (U * self.shrink[:, j]) @ U.T
            P += A[:, None, :, None] * np.multiply.outer(V[:, j], V[:, j])[None, :, None, :]
        return P.reshape(n * m, n * m)


def _symmetric_root(A: Array) -> Array:
    values, Q = scipy.linalg.eigh(A, check_finite=False)
    return np.asarray((Q * np.sqrt(np.maximum(values, 0.0))) @ Q.T)


def _rows(K: Array | RowKernel) -> RowKernel:
    return K if isinstance(K, RowKernel) else RowKernel.dense(np.asarray(K, dtype=float))
