"""Data made up as the papers say.

:func:`make_matrix_addition`
    Agovic, Banerjee and Chatterjee, "Probabilistic matrix addition", ICML 2011: the artificial data of
    section 3.3 are draws from the model, of 50 x 20 and 50 x 50.  The paper does not say which kernels; the
    defaults are ours.
:func:`make_width_views`
    Liu et al., "Absent multiple kernel learning algorithms", TPAMI 42 (2020), section 5.1: 20 kernels whose
    widths lie between 2^-7 and 2^7 times the mean distance between two samples, centred and scaled to a
    unit diagonal; each is a channel that samples may lack.
"""

from typing import Literal

import numpy as np
from sklearn.metrics import pairwise_distances_chunked
from sklearn.utils import Bunch

from absentia import ViewKernels, Views
from absentia.methods.base import RandomState, make_generator

_FACTORS, _NUGGET = 3, 0.1  # of the default covariance of columns


def make_matrix_addition(
    n_rows: int = 50,
    n_columns: int = 20,
    *,
    row_kernel: np.ndarray | None = None,
    col_kernel: np.ndarray | None = None,
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
    random_state : int, Generator or None
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
    rng = make_generator(random_state)
    K1 = plane_kernel(rng, n_rows) if row_kernel is None else np.array(row_kernel, dtype=float)
    K2 = factor_kernel(rng, n_columns) if col_kernel is None else np.array(col_kernel, dtype=float)
    F = _covariance_root(K1, "row_kernel", n_rows) @ rng.standard_normal((n_rows, n_columns))
    G = rng.standard_normal((n_rows, n_columns)) @ _covariance_root(K2, "col_kernel", n_columns)
    full = F + G
    X = full.copy()
    X.flat[rng.permutation(X.size)[: round(missing * X.size)]] = np.nan
    return Bunch(X=X, full=full, F=F, G=G, row_kernel=K1, col_kernel=K2)


def plane_kernel(rng: np.random.Generator, n: int) -> np.ndarray:
    """An RBF kernel of width 1 between `n` standard normal points of the plane."""
    points = rng.standard_normal((n, 2))
    return np.exp(-((points[:, None] - points) ** 2).sum(axis=2) / 2)


def factor_kernel(rng: np.random.Generator, m: int) -> np.ndarray:
    """A covariance of `m` columns by three factors and a nugget."""
    W = rng.standard_normal((m, _FACTORS))
    return W @ W.T / _FACTORS + _NUGGET * np.eye(m)


def _covariance_root(K: np.ndarray, name: str, n: int) -> np.ndarray:
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


def make_width_views(
    X: np.ndarray,
    n_widths: int = 20,
    *,
    span: float = 7.0,
    spacing: Literal["log", "linear"] = "log",
    train: np.ndarray | None = None,
) -> tuple[Views, ViewKernels]:
    r"""A table as many views, all alike, and the Gaussian kernel of another width that goes with each.

    View p has the kernel :math:`\exp(-\|x - y\|^2 / 2 \sigma_p^2)` of standardised features, centred and
    with a unit diagonal; widths lie between :math:`2^{-span}` and :math:`2^{span}` times the mean distance
    between two training samples.  Hide views first and fit afterwards: no mean, scale or kernel then has
    seen what is absent.

    Parameters
    ----------
    X : array of shape (n_samples, n_features)
        The table, complete.
    n_widths : int, default 20
        How many views.
    span : float, default 7
        How far widths reach, in powers of two.
    spacing : {"log", "linear"}
        Widths in equal ratios; or in equal steps, as the paper prints, when nearly all are so wide that
        their kernels are alike.
    train : array of int or bool, optional
        The training samples, whose distances set the widths; by default all.

    Returns
    -------
    views : Views
        ``width00``, ``width01``, ..., from narrow to wide.
    kernels : ViewKernels
        Not fitted yet: ``fit_transform`` training samples, ``transform`` others.

    Examples
    --------
    >>> from absentia import missingness
    >>> X, train, test = np.random.default_rng(0).normal(size=(50, 4)), np.arange(30), np.arange(30, 50)
    >>> views, kernels = make_width_views(X, train=train)
    >>> views = views.hide(missingness.fixed_per_sample(views, 6, random_state=0))
    >>> kernels.fit_transform(views[train]).shape, kernels.transform(views[test]).shape
    ((30, 30), (20, 30))
    """
    X = np.asarray(X, dtype=float)
    if X.ndim != 2 or not np.isfinite(X).all():
        raise ValueError(f"X has shape {X.shape}; a complete table, (samples, features), is wanted")
    if n_widths < 1 or not span >= 0 or spacing not in ("log", "linear"):
        raise ValueError(
            f"n_widths={n_widths}, span={span}, spacing={spacing!r}; a view at least, a span from 0 on and "
            "'log' or 'linear' are wanted"
        )
    ratios = np.ones(1)
    if n_widths > 1 and spacing == "log":
        ratios = np.geomspace(2.0**-span, 2.0**span, n_widths)
    elif n_widths > 1:
        ratios = np.linspace(2.0**-span, 2.0**span, n_widths)
    sigma = _mean_distance(X if train is None else X[np.asarray(train)]) * ratios
    gammas = {f"width{p:02d}": {"gamma": float(1 / (2 * s**2))} for p, s in enumerate(sigma)}
    return Views.from_dict(dict.fromkeys(gammas, X)), ViewKernels(
        "rbf", clip=None, per_view=gammas, center=True
    )


def _mean_distance(X: np.ndarray) -> float:
    """Between two different samples, features standardised."""
    n, scale = len(X), X.std(axis=0)
    Z = (X - X.mean(axis=0)) / np.where(scale > 0, scale, 1.0)
    parts = pairwise_distances_chunked(Z, reduce_func=lambda D, start: D.sum(axis=1)) if n > 1 else ()
    mean = sum(float(part.sum()) for part in parts) / max(n * (n - 1), 1)
    if not mean > 0:
        raise ValueError(f"the {n} training sample(s) are all alike; their distances set no width")
    return mean
