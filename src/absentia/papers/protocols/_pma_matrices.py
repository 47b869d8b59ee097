"""Matrices drawn from probabilistic matrix addition and completed (Agovic et al., 2011, Figure 2).

A repeat draws kernels and a matrix X = F + G from them; a fifth of the entries is hidden at a time, so that
every entry is hidden once, and each fold gives a mean square error.  No method but the oracle is told a
kernel.

The paper does not say what kernel a Gaussian process has where nothing but the matrix is known.  Here:

* ``one covariance``: the data points (rows for "rows", columns for "columns") have a covariance that is
  estimated, and what runs across them is independent: the same model without its other part, and the same
  prior of a fixed strength (``shrinkage``), or one of the greatest marginal likelihood;
* ``process``: an RBF kernel between data points by their own entries, unknown ones at their means, and for
  every target a process of its own with amplitude, width and noise of the greatest likelihood.
"""

import warnings
from collections.abc import Callable, Mapping
from typing import Any, NamedTuple

import numpy as np
from sklearn.exceptions import ConvergenceWarning
from sklearn.gaussian_process import GaussianProcessRegressor
from sklearn.gaussian_process.kernels import RBF, ConstantKernel, WhiteKernel

from absentia.core import Array
from absentia.papers._methods import make

FOLDS = 5
ALTERNATIONS, RIDGE = 50, 1e-3  # of the paper's own estimate of kernels
FACTORS, NUGGET = 3, 0.1  # of the columns' covariance where it is of low rank
_IMPUTER = ("methods.matrix._imputer",)
MODULES: dict[str, tuple[str, ...]] = {
    "oracle": _IMPUTER,
    "one covariance": _IMPUTER,
    "process": (),
    "plug-in": (),
    "column means": (),
}


class Drawn(NamedTuple):
    """A matrix and the kernels that it was drawn from."""

    X: Array
    row_kernel: Array
    col_kernel: Array


def perform(key: Mapping[str, Any]) -> dict[str, Any]:
    """Mean square errors of the hidden entries, by fold."""
    drawn = draw(key)
    fold_of = folds(drawn.X.shape, key)
    found = {}
    for fold in range(FOLDS):
        hidden = fold_of == fold
        full = completed(key, drawn, np.where(hidden, np.nan, drawn.X))
        found[f"fold {fold + 1}"] = float(np.mean((full - drawn.X)[hidden] ** 2))
    return {"scores": {"MSE": found}}


def draw(key: Mapping[str, Any]) -> Drawn:
    """By the kind of kernels: columns of a "low rank" covariance, or "smooth" ones as rows are."""
    n, m = key["n_rows"], key["n_columns"]
    rng = np.random.default_rng([key["seed"], key["repeat"], n, m, list(COLUMNS).index(key["kind"])])
    K1, K2 = _plane(rng, n), COLUMNS[key["kind"]](rng, m)
    F = _root(K1) @ rng.standard_normal((n, m))
    return Drawn(F + rng.standard_normal((n, m)) @ _root(K2), K1, K2)


def folds(shape: tuple[int, ...], key: Mapping[str, Any]) -> Array:
    """Of every entry, the fold in which it is hidden."""
    rng = np.random.default_rng([key["seed"], key["repeat"], *shape])
    return rng.permutation(np.arange(int(np.prod(shape))) % FOLDS).reshape(shape)


def completed(key: Mapping[str, Any], drawn: Drawn, gaps: Array) -> Array:
    """What a method makes of a matrix with gaps."""
    method, parameters, seed = key["method"], dict(key["parameters"]), key["seed"] + key["repeat"]
    if method == "oracle":
        given = {"row_kernel": drawn.row_kernel, "col_kernel": drawn.col_kernel, "center": False}
        return np.asarray(make("PMAImputer", given, seed).fit_transform(gaps))
    if method == "column means":
        return np.where(np.isnan(gaps), np.nanmean(gaps, axis=0), gaps)
    if method == "plug-in":
        return _plugged_in(gaps)
    if method not in MODULES:
        return np.asarray(make(method, parameters, seed).fit_transform(gaps))
    points = parameters.pop("points")
    way = {"one covariance": _covariance, "process": _processes}[method]
    return way(gaps, seed, **parameters) if points == "columns" else way(gaps.T, seed, **parameters).T


def _plugged_in(gaps: Array) -> Array:
    """MAP inference (eq. 16, and eq. 17 put right) in turn with kernels plugged in: FF'/m and G'G/n."""
    (n, m), known = gaps.shape, ~np.isnan(gaps)
    mean = np.nanmean(gaps, axis=0)
    X = np.where(known, gaps - mean, 0.0)
    level = float((X[known] ** 2).mean())
    K1, K2 = level / 2 * np.eye(n), level / 2 * np.eye(m)
    for _ in range(ALTERNATIONS):
        (lam, U), (mu, V) = np.linalg.eigh(K1), np.linalg.eigh(K2)
        F = U @ (U.T @ X @ V * (lam[:, None] / (lam[:, None] + mu))) @ V.T
        for i, seen in enumerate(known):
            weights = np.linalg.solve(K2[np.ix_(seen, seen)], (X - F)[i, seen])
            X[i, ~seen] = F[i, ~seen] + K2[np.ix_(~seen, seen)] @ weights
        K1 = F @ F.T / m + RIDGE * level * np.eye(n)
        K2 = (X - F).T @ (X - F) / n + RIDGE * level * np.eye(m)
    return np.asarray(X + mean)


def _covariance(gaps: Array, seed: int, shrinkage: float | str = "auto") -> Array:
    """Columns have a covariance, rows are independent draws."""
    given = {"row_kernel": "none", "shrinkage": shrinkage}
    return np.asarray(make("PMAImputer", given, seed).fit_transform(gaps))


def _processes(gaps: Array, seed: int) -> Array:
    """Columns are data points, each row is a function of them: of their entries in the other rows."""
    points = _filled(gaps).T
    full = gaps.copy()
    for i, row in enumerate(gaps):
        known, inputs = ~np.isnan(row), np.delete(points, i, axis=1)
        full[i, ~known] = _regression(inputs[known], row[known], inputs[~known], seed)
    return full


def _filled(gaps: Array) -> Array:
    """Unknown entries at the mean of row and column together."""
    level = np.nanmean(gaps)
    means = np.nanmean(gaps, axis=1, keepdims=True) + np.nanmean(gaps, axis=0) - level
    return np.where(np.isnan(gaps), means, gaps)


def _regression(inputs: Array, y: Array, new: Array, seed: int) -> Array:
    width = float(np.sqrt(inputs.shape[1]))
    kernel = ConstantKernel(0.5, (1e-3, 1e3)) * RBF(width, (width / 30, width * 30))
    noisy = kernel + WhiteKernel(0.5, (1e-3, 1e1))
    model = GaussianProcessRegressor(noisy, normalize_y=True, random_state=seed)
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", ConvergenceWarning)  # a parameter at its bound: no relation is seen
        return np.asarray(model.fit(inputs, y).predict(new)) if len(new) else np.empty(0)


def _plane(rng: np.random.Generator, n: int) -> Array:
    """An RBF kernel of width 1 between standard normal points."""
    points = rng.standard_normal((n, 2))
    return np.asarray(np.exp(-((points[:, None] - points) ** 2).sum(axis=2) / 2))


def _factors(rng: np.random.Generator, m: int) -> Array:
    W = rng.standard_normal((m, FACTORS))
    return np.asarray(W @ W.T / FACTORS + NUGGET * np.eye(m))


def _root(K: Array) -> Array:
    values, vectors = np.linalg.eigh(K)
    return np.asarray((vectors * np.sqrt(np.maximum(values, 0.0))) @ vectors.T)


COLUMNS: dict[str, Callable[[np.random.Generator, int], Array]] = {"low rank": _factors, "smooth": _plane}
