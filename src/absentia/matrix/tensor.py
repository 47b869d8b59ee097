r"""Addition over three modes: ``X = F + G + H`` with a covariance along each mode of a tensor.

The model of :mod:`absentia.matrix.model` with one more term: entries (i, j, k) of F vary with i as N(0,
K1), independently over j and k, and likewise G with j (K2) and H with k (K3). With ``K_a = U_a diag(l_a)
U_a'`` the covariance has eigenvalues ``l1_i + l2_j + l3_k`` in the product of the three bases: everything
is exact there, at the cost of three small products.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from typing import Any, Self

import numpy as np
import scipy.linalg
from sklearn.base import BaseEstimator, TransformerMixin
from sklearn.utils import check_random_state
from sklearn.utils.validation import check_is_fitted

from absentia.linalg import Array, NotPositiveDefiniteError, cholesky, cholesky_logdet, symmetrize
from absentia.matrix.inference import SMALL, conjugate_gradients


class TensorAddition:
    """The Gaussian on tensors whose covariance is the Kronecker sum of one kernel per mode.

    Examples
    --------
    >>> model = TensorAddition([np.eye(2), np.eye(3), np.eye(4)])
    >>> float(model.solve(np.ones((2, 3, 4)))[0, 0, 0].round(12))
    0.333333333333
    """

    def __init__(self, kernels: Sequence[Array]) -> None:
        pairs = [scipy.linalg.eigh(symmetrize(np.asarray(K, dtype=float))) for K in kernels]
        self.bases = [U for _, U in pairs]
        self.d = np.zeros(tuple(len(values) for values, _ in pairs))
        for mode, (values, _) in enumerate(pairs):
            self.d = self.d + values.reshape([-1 if a == mode else 1 for a in range(len(pairs))])
        if self.d.min() <= 0:
            raise NotPositiveDefiniteError(
                "the sum of the kernels is not positive definite; add a nugget to one"
            )
        self.shape = self.d.shape

    def _turn(self, X: Array, back: bool) -> Array:
        """X in the eigenbases, or back; leading axes beyond the modes are kept."""
        first = X.ndim - len(self.bases)
        for mode, U in enumerate(self.bases):
            X = np.moveaxis(np.moveaxis(X, first + mode, -1) @ (U.T if back else U), -1, first + mode)
        return X

    def matvec(self, X: Array) -> Array:
        return self._turn(self.d * self._turn(X, False), True)

    def solve(self, X: Array) -> Array:
        return self._turn(self._turn(X, False) / self.d, True)

    def logdet(self) -> float:
        return float(np.log(self.d).sum())

    def loglik(self, X: Array) -> float:
        """Log-density of a full X."""
        return -0.5 * (float((X * self.solve(X)).sum()) + self.logdet() + X.size * math.log(2 * math.pi))

    def draw(self, rng: np.random.Generator, n: int) -> Array:
        """`n` tensors, (n, *shape)."""
        return self._turn(np.sqrt(self.d) * rng.standard_normal((n, *self.shape)), True)

    def complete(self, X: Array, observed: Array, *, tol: float = 1e-8) -> Array:
        """Missing entries of X (*shape) or (k, *shape) at their expectation given the observed ones."""
        many = X.reshape(-1, *self.shape)
        known = np.where(observed, many, 0.0)

        def as_columns(Z: Array) -> Array:  # (k, *shape) to (entries, k, 1), what the solver takes
            return Z.reshape(len(many), -1).T[:, :, None]

        def precision(Z: Array) -> Array:
            tensors = Z[:, :, 0].T.reshape(many.shape)
            return as_columns(np.where(observed, 0.0, self.solve(tensors)))

        diagonal = self._diagonal().ravel()[:, None, None]
        B = -as_columns(np.where(observed, 0.0, self.solve(known)))
        found = conjugate_gradients(precision, B, lambda Z: Z / diagonal, np.zeros_like(B), tol=tol)
        return (known + found.state.x[:, :, 0].T.reshape(many.shape)).reshape(X.shape)

    def _diagonal(self) -> Array:
        """Diagonal of the precision."""
        out = 1 / self.d
        for mode, U in enumerate(self.bases):
            out = np.moveaxis(np.moveaxis(out, mode, -1) @ (U**2).T, -1, mode)
        return out

    def missing_precision(self, observed: Array) -> Array:
        """``P_mm``, dense, in the order of ``np.argwhere(~observed)``."""
        gone = np.argwhere(~observed)
        left = self.bases[0][gone[:, 0]]
        for mode in range(1, len(self.bases)):
            left = (left[:, :, None] * self.bases[mode][gone[:, mode]][:, None, :]).reshape(len(gone), -1)
        return np.asarray((left / self.d.ravel()) @ left.T)

    def log_marginal(self, X: Array, observed: Array) -> float:
        """Log-density of the observed entries."""
        full = self.complete(X, observed, tol=1e-10)
        n = int((~observed).sum())
        inside = cholesky_logdet(cholesky(self.missing_precision(observed))) if n else 0.0
        return self.loglik(full) - 0.5 * inside + 0.5 * n * math.log(2 * math.pi)


class PMATensorImputer(TransformerMixin, BaseEstimator):  # type: ignore[misc]
    """Complete a tensor of three modes with a kernel along each.

    Parameters
    ----------
    kernels : sequence of three arrays
        Covariance along each mode; one of them needs a nugget.
    n_samples : int, default 200
        Draws behind the standard deviations where more than 1000 entries are missing.
    center : bool, default True
        Remove the mean of the observed entries.

    Examples
    --------
    >>> near = np.exp(-np.subtract.outer(np.arange(4.0), np.arange(4.0)) ** 2 / 16)
    >>> X = np.add.outer(np.add.outer(np.arange(4.0), np.arange(4.0)), np.arange(4.0))
    >>> gaps = X.copy()
    >>> gaps[0, 1, 2] = np.nan
    >>> imputer = PMATensorImputer([9 * near, 9 * near, 9 * near + 0.01 * np.eye(4)])
    >>> round(float(imputer.fit_transform(gaps)[0, 1, 2]), 1)
    3.0
    """

    def __init__(
        self, kernels: Any, *, n_samples: int = 200, center: bool = True, random_state: Any = None
    ) -> None:
        self.kernels = kernels
        self.n_samples = n_samples
        self.center = center
        self.random_state = random_state

    def fit(self, X: Any, y: Any = None) -> Self:
        """Complete X (n1, n2, n3), NaN where missing."""
        X = np.asarray(X, dtype=float)
        shapes = [np.shape(K) for K in self.kernels]
        if shapes != [(n, n) for n in X.shape]:
            raise ValueError(
                f"X has shape {X.shape}, the kernels {shapes}; pass one square kernel per mode"
            )
        self._X, self._seen = X, ~np.isnan(X)
        if not self._seen.any():
            raise ValueError("X has no observed entry")
        self.mean_ = float(X[self._seen].mean()) if self.center else 0.0
        self.model_ = TensorAddition(self.kernels)
        self._centred = np.where(self._seen, X - self.mean_, 0.0)
        self._seed = check_random_state(self.random_state).randint(2**31)
        full = self.model_.complete(self._centred, self._seen) + self.mean_
        self.completed_ = np.where(self._seen, X, full)
        return self

    def fit_transform(self, X: Any, y: Any = None, **fit_params: Any) -> Array:
        """The completed tensor."""
        return self.fit(X).completed_.copy()

    def transform(self, X: Any) -> Array:
        """Another tensor over the same modes, completed with the same kernels."""
        check_is_fitted(self, "completed_")
        X = np.asarray(X, dtype=float)
        if X.shape != self._X.shape:
            raise ValueError(f"X has shape {X.shape}; {self._X.shape} is wanted")
        seen = ~np.isnan(X)
        full = self.model_.complete(np.where(seen, X - self.mean_, 0.0), seen) + self.mean_
        return np.where(seen, X, full)

    def predict(self, X: Any = None, return_std: bool = False) -> Any:
        """The completed tensor; with `return_std` also standard deviations (observed: 0)."""
        check_is_fitted(self, "completed_")
        if not return_std:
            return self.completed_.copy()
        std = np.zeros(self._seen.shape)
        if (~self._seen).sum() <= SMALL:
            std[~self._seen] = np.sqrt(
                np.diagonal(np.linalg.inv(self.model_.missing_precision(self._seen)))
            )
        else:
            std = np.sqrt(((self.sample(self.n_samples) - self.completed_) ** 2).mean(axis=0))
        return self.completed_.copy(), std

    def sample(self, n_samples: int = 1) -> Array:
        """Independent draws of the completed tensor from the posterior (Matheron's rule)."""
        check_is_fitted(self, "completed_")
        prior = self.model_.draw(np.random.default_rng(self._seed), n_samples)
        return self.completed_ + prior - self.model_.complete(prior, self._seen, tol=1e-6)

    @property
    def log_marginal_likelihood_(self) -> float:
        check_is_fitted(self, "completed_")
        return self.model_.log_marginal(self._centred, self._seen)
