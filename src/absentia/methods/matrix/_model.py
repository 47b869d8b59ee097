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

from absentia.core import Array, serializable
from absentia.core.linalg import PSD_TOL, NotPositiveDefiniteError, symmetrize

#: Beyond this many rows a row kernel is neither estimated nor, unless asked for, formed.
MAX_DENSE_ROWS = 4000
#: A matrix of at most this many columns is thin: BLAS is quicker with it on the left, or in blocks.
_MAX_THIN_COLUMNS = 16
#: Eigenvalues of a row kernel far below this fraction of the largest are rounding.  Nothing is cut there:
#: what is counted (:attr:`RowKernel.effective_rank`) or divided by fades over a few powers of ten.
EIGENVALUE_RTOL = 1e-10


@serializable
@dataclass(frozen=True, repr=False)
class RowKernel:
    """``K = U diag(l) U'`` with orthonormal columns in `U` (n, r) and positive `l` (r,)."""

    U: Array
    l: Array  # noqa: E741

    def __repr__(self) -> str:
        return f"RowKernel({self.n} x {self.n}, rank {len(self.l)})"

    @classmethod
    def from_dense(cls, K: Array) -> RowKernel:
        """From a positive semidefinite matrix (n, n)."""
        values, U = scipy.linalg.eigh(symmetrize(K), check_finite=False)
        if len(values) and values[0] < -PSD_TOL * max(values[-1], 0.0):
            raise NotPositiveDefiniteError(
                f"row kernel: not positive semidefinite, its lowest eigenvalue is {values[0]:.4g} (largest "
                f"{values[-1]:.4g}); clip its eigenvalues first, or check how it was computed"
            )
        return cls(U, np.maximum(values, 0.0))

    @classmethod
    def from_factor(cls, Phi: Array) -> RowKernel:
        """``K = Phi Phi'`` from Phi (n, r); K is not formed."""
        values, Q = scipy.linalg.eigh(Phi.T @ Phi, check_finite=False)
        keep = values > values[-1] * 10 * np.finfo(Phi.dtype).eps * len(values)
        return cls(Phi @ (Q[:, keep] / np.sqrt(values[keep])), values[keep])

    @classmethod
    def zero(cls, n: int) -> RowKernel:
        """The kernel of n unrelated rows: all zeros, of rank 0."""
        return cls(np.zeros((n, 0)), np.zeros(0))

    @property
    def n(self) -> int:
        return self.U.shape[0]

    @property
    def full(self) -> bool:
        """Whether there are as many eigenvectors as rows."""
        return self.U.shape[0] == self.U.shape[1]

    def permute(self, order: Array) -> RowKernel:
        """The kernel of the rows in another order."""
        return RowKernel(self.U[order], self.l)

    @cached_property
    def inverse_eigenvalues(self) -> Array:
        """``1 / l``, fading to nothing where `l` is rounding."""
        lifted = self.l + EIGENVALUE_RTOL * self.l.max(initial=0.0)
        return np.where(lifted > 0, 1 / np.where(lifted > 0, lifted, 1.0), 0.0)

    @property
    def effective_rank(self) -> float:
        """Number of eigenvalues above rounding: a sum of fractions, so that it moves without steps."""
        return max(float(self.l @ self.inverse_eigenvalues), 1.0)

    @cached_property
    def squared_U(self) -> Array:
        """``U**2``, which every preconditioner needs."""
        return np.asarray(self.U**2)

    def to_dense(self) -> Array:
        return np.asarray((self.U * self.l) @ self.U.T)

    def diagonal(self) -> Array:
        return np.asarray(self.squared_U @ self.l)

    def matvec(self, X: Array) -> Array:
        """``K X`` for X (n, m) or (n, k, m)."""
        return apply_rows(self.U, expand_stack(self.l[:, None], X) * apply_rows(self.U.T, X))


def apply_rows(A: Array, X: Array) -> Array:
    """``A X`` for every matrix in X (n, m) or (n, k, m), in one product, of the precision of A."""
    flat = X.reshape(X.shape[0], math.prod(X.shape[1:])).astype(A.dtype, copy=False)
    # a thin matrix on the left is a third quicker than on the right
    product = (flat.T @ A.T).T if flat.shape[1] <= _MAX_THIN_COLUMNS else A @ flat
    return np.asarray(product.astype(X.dtype, order="C", copy=False)).reshape(A.shape[0], *X.shape[1:])


def _apply_columns(X: Array, B: Array) -> Array:
    """``X B`` for every matrix in X, in one product instead of one for each row."""
    return np.asarray(X.reshape(-1, X.shape[-1]) @ B).reshape(*X.shape[:-1], B.shape[1])


def expand_stack(S: Array, X: Array) -> Array:
    """`S` (n, m) in the shape that multiplies X (n, m) or (n, k, m)."""
    return S if X.ndim == 2 else S[:, None, :]


@serializable
@dataclass(frozen=True, repr=False)
class KroneckerGaussian:
    """The Gaussian on matrices with covariance ``C (x) K + N (x) I``; see the module.

    Examples
    --------
    >>> rows = RowKernel.from_dense(np.eye(3))
    >>> model = KroneckerGaussian(rows, C=np.eye(2), N=np.diag([1.0, 2.0]))
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
        return f"KroneckerGaussian({n} x {m}, rows {self.rows!r}, columns {m} x {m})"

    @property
    def shape(self) -> tuple[int, int]:
        return self.rows.n, len(self.N)

    @cached_property
    def _pencil(self) -> tuple[Array, Array]:
        try:
            c, V = scipy.linalg.eigh(self.C, self.N, check_finite=False)
        except np.linalg.LinAlgError as error:
            size = f"{len(self.N)}x{len(self.N)}"
            raise NotPositiveDefiniteError(
                f"column kernel ({size}) is not positive definite; add a nugget"
            ) from error
        return np.maximum(c, 0.0), V

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
    def gain(self) -> Array:
        """``l c / (1 + l c)``: the fraction of the variance in each direction that is F's, (r, m)."""
        return np.multiply.outer(self.rows.l, self.c) / self.d

    def permute(self, rows: Array, columns: Array) -> KroneckerGaussian:
        """The same model with rows and columns in another order."""
        grid = np.ix_(columns, columns)
        return KroneckerGaussian(self.rows.permute(rows), self.C[grid], self.N[grid])

    def rescale_columns(self, scale: Array) -> KroneckerGaussian:
        """The model of X times `scale` (m,) by columns: the same in other units."""
        units = np.multiply.outer(scale, scale)
        return KroneckerGaussian(self.rows, self.C * units, self.N * units)

    def matvec(self, X: Array) -> Array:
        """``K X C + X N``: the covariance times vec X."""
        return self.rows.matvec(_apply_columns(X, self.C)) + _apply_columns(X, self.N)

    def solve(self, X: Array) -> Array:
        """``P`` with ``K P C + P N = X``: the precision times vec X."""
        U, Z = self.rows.U, _apply_columns(X, self.V)
        if self.rows.full:  # no difference of large numbers
            return _apply_columns(apply_rows(U, apply_rows(U.T, Z) / expand_stack(self.d, X)), self.V.T)
        return _apply_columns(Z - apply_rows(U, expand_stack(self.gain, X) * apply_rows(U.T, Z)), self.V.T)

    def expect_F(self, X: Array) -> Array:
        """E[F | X] of a full X: the solution of the Sylvester equation ``F C^-1 N + K F = K X`` (16)."""
        Z = apply_rows(self.rows.U.T, X @ self.V)
        return apply_rows(self.rows.U, expand_stack(self.gain, X) * Z) @ self.W.T

    def logdet(self) -> float:
        """Log-determinant of the covariance of vec X."""
        logdet_N = -2.0 * float(np.linalg.slogdet(self.V)[1])
        return self.shape[0] * logdet_N + float(np.log(self.d).sum())

    def log_density(self, X: Array) -> float:
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

    def whitened_precision_diagonal(self) -> Array:
        """Diagonal of the precision between whitened columns, (n, m): ``1 - sum_r U_ir^2 gain_rj``."""
        U2 = self.rows.squared_U
        return np.asarray(U2 @ (1 / self.d) if self.rows.full else 1.0 - U2 @ self.gain)


def _symmetric_root(A: Array) -> Array:
    values, Q = scipy.linalg.eigh(A, check_finite=False)
    return np.asarray((Q * np.sqrt(np.maximum(values, 0.0))) @ Q.T)
