"""Matrices drawn from probabilistic matrix addition: one part goes along rows, the other along columns.

Agovic, Banerjee and Chatterjee, "Probabilistic matrix addition", ICML 2011: the artificial data of
section 3.3 are draws from the model, of 50 x 20 and 50 x 50.  The paper does not say which kernels; the
defaults are ours.
"""

import numpy as np
from sklearn.utils import Bunch

from absentia.core import Array, RandomState, generator

FACTORS, NUGGET = 3, 0.1  # of the default covariance of columns


def make_matrix_addition(
    n_rows: int = 50,
    n_columns: int = 20,
    *,
    row_kernel: Array | None = None,
    col_kernel: Array | None = None,
    missing: float = 0.2,
    random_state: RandomState = None,
) -> Bunch:
    r"""A matrix X = F + G: columns of F are draws from N(0, K1), rows of G from N(0, K2).

    So :math:`\operatorname{cov}(x_{ij}, x_{kl}) = K_1(i, k) [j = l] + K_2(j, l) [i = k]`.  Nothing larger
    than the matrix and its two kernels is formed.

    Parameters
    ----------
    n_rows, n_columns : int
        Size of the matrix; a kernel that is given has to be of that size.
    row_kernel : array of shape (n_rows, n_rows), optional
        K1, positive semidefinite.  By default ``exp(-|p_i - p_k|^2 / 2)`` of standard normal points in the
        plane.
    col_kernel : array of shape (n_columns, n_columns), optional
        K2.  By default ``W W' / 3 + I / 10`` with a standard normal W of three columns.
    missing : float, default 0.2
        Share of the entries that are hidden, everywhere alike.
    random_state : int, Generator, RandomState or None
        Source of randomness; None: the fixed seed 0.

    Returns
    -------
    Bunch
        ``X`` (NaN where missing), ``full``, ``F``, ``G``, ``row_kernel``, ``col_kernel``.

    Examples
    --------
    >>> data = make_matrix_addition(50, 20, missing=0.25)
    >>> data.X.shape, int(np.isnan(data.X).sum())
    ((50, 20), 250)
    """
    if min(n_rows, n_columns) < 1 or not 0 <= missing < 1:
        raise ValueError(
            f"{n_rows} x {n_columns} with a share of {missing} missing; a row, a column and a share from 0 "
            "to below 1 are wanted"
        )
    rng = generator(random_state)
    K1 = _plane(rng, n_rows) if row_kernel is None else np.array(row_kernel, dtype=float)
    K2 = _factors(rng, n_columns) if col_kernel is None else np.array(col_kernel, dtype=float)
    F = _root(K1, "row_kernel", n_rows) @ rng.standard_normal((n_rows, n_columns))
    G = rng.standard_normal((n_rows, n_columns)) @ _root(K2, "col_kernel", n_columns)
    full = F + G
    X = full.copy()
    X.flat[rng.permutation(X.size)[: round(missing * X.size)]] = np.nan
    return Bunch(X=X, full=full, F=F, G=G, row_kernel=K1, col_kernel=K2)


def _plane(rng: np.random.Generator, n: int) -> Array:
    points = rng.standard_normal((n, 2))
    return np.exp(-((points[:, None] - points) ** 2).sum(axis=2) / 2)


def _factors(rng: np.random.Generator, m: int) -> Array:
    W = rng.standard_normal((m, FACTORS))
    return W @ W.T / FACTORS + NUGGET * np.eye(m)


def _root(K: Array, name: str, n: int) -> Array:
    """The symmetric root of a covariance, which may be singular."""
    if K.shape != (n, n) or not np.isfinite(K).all() or not np.allclose(K, K.T, rtol=1e-8, atol=0.0):
        raise ValueError(f"{name} has shape {K.shape}; a symmetric ({n}, {n}) of finite numbers is wanted")
    values, vectors = np.linalg.eigh(K)
    if values[0] < -1e-8 * max(values[-1], 0.0) or not values[-1] > 0:
        raise ValueError(
            f"{name} is not positive semidefinite and nonzero (eigenvalues from {values[0]:.4g} to "
            f"{values[-1]:.4g}); a covariance is wanted"
        )
    return (vectors * np.sqrt(np.maximum(values, 0.0))) @ vectors.T
