r"""Addition over three modes: ``X = F + G + H`` with a covariance along each mode of a tensor.

The model of ``_model`` with one more term: entries (i, j, k) of F vary with i as N(0, K1), independently
over j and k, and likewise G with j (K2) and H with k (K3).  With ``K_a = U_a diag(l_a) U_a'`` the
covariance has eigenvalues ``l1_i + l2_j + l3_k`` in the product of the three bases: everything is exact
there, at the cost of three small products.
"""

import math
from collections.abc import Sequence
from dataclasses import KW_ONLY
from typing import Any, Self

import numpy as np
import scipy.linalg
from sklearn.utils.validation import check_array, check_is_fitted

from absentia.core import (
    Array,
    NotPositiveDefiniteError,
    PositiveInt,
    RandomState,
    cholesky,
    cholesky_logdet,
    cholesky_solve,
    estimator,
    inverse,
    serializable,
    symmetrize,
)
from absentia.data import canonical
from absentia.methods.matrix._base import Completing
from absentia.methods.matrix._checks import read_kernel
from absentia.methods.matrix._mean import DEAR, conjugate_gradients, few


@serializable
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
        """`n` tensors, (n, *shape); by a symmetric root, so that signs of eigenvectors do not matter."""
        noise = self._turn(rng.standard_normal((n, *self.shape)), False)
        return self._turn(np.sqrt(self.d) * noise, True)

    def complete(self, X: Array, observed: Array, *, tol: float = 1e-8) -> Array:
        """Missing entries of X (*shape) or (k, *shape) at their expectation given the observed ones.

        Directly where that is cheap, else by conjugate gradients to a relative residual of `tol`.
        """
        many = X.reshape(-1, *self.shape)
        known = np.where(observed, many, 0.0)
        if observed.all():
            return known.reshape(X.shape)
        if self.is_small(observed):
            return self._solved(known, observed).reshape(X.shape)

        def as_columns(Z: Array) -> Array:  # (k, *shape) to (entries, k, 1), what the solver takes
            return Z.reshape(len(many), -1).T[:, :, None]

        def precision(Z: Array) -> Array:
            tensors = Z[:, :, 0].T.reshape(many.shape)
            return as_columns(np.where(observed, 0.0, self.solve(tensors)))

        diagonal = self._diagonal().ravel()[:, None, None]
        B = -as_columns(np.where(observed, 0.0, self.solve(known)))
        found = conjugate_gradients(precision, B, lambda Z: Z / diagonal, np.zeros_like(B), tol=tol)
        return (known + found.state.x[:, :, 0].T.reshape(many.shape)).reshape(X.shape)

    def is_small(self, observed: Array) -> bool:
        """Whether a matrix over the missing entries is formed and factorised."""
        return few(observed) and int((~observed).sum()) ** 2 * self.d.size <= DEAR

    def _solved(self, known: Array, observed: Array) -> Array:
        """``P_mm x_m = -P_mo x_o`` by a Cholesky factor, and one step of iterative refinement."""
        L = cholesky(self.missing_precision(observed), "precision of the missing entries")
        for _ in range(2):
            known[:, ~observed] -= cholesky_solve(L, self.solve(known)[:, ~observed].T).T
        return known

    def __repr__(self) -> str:
        return f"TensorAddition({' x '.join(str(len(U)) for U in self.bases)})"

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


@estimator
class PMATensorImputer(Completing):
    """Complete a tensor of three modes with a kernel along each.

    Parameters
    ----------
    kernels : sequence of three arrays
        Covariance along each mode (n1, n1), (n2, n2) and (n3, n3); one of them needs a nugget.
    n_samples : int, default 200
        Draws behind the standard deviations where more than 1000 entries are missing.
    center : bool, default True
        Remove the mean of the observed entries.
    random_state : int, Generator, RandomState or None, default None
        Of draws.  None: the fixed seed 0.

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

    kernels: Any
    _: KW_ONLY
    n_samples: PositiveInt = 200
    center: bool = True
    random_state: RandomState = None

    def fit(self, X: Any, y: Any = None) -> Self:
        """Complete X (n1, n2, n3), NaN where missing."""
        self._start_afresh()
        X = _tensor(X)
        shapes = [np.shape(K) for K in self.kernels]
        if shapes != [(n, n) for n in X.shape]:
            raise ValueError(
                f"X has shape {X.shape}, the kernels {shapes}; pass one square kernel per mode"
            )
        kernels = [
            read_kernel(K, f"kernels[{a}]", n)
            for a, (K, n) in enumerate(zip(self.kernels, X.shape, strict=True))
        ]
        if np.isnan(X).all():
            raise ValueError("X has no observed entry")
        self.mean_ = float(X[~np.isnan(X)].mean()) if self.center else 0.0
        self.model_ = TensorAddition(kernels)
        modes = [(K, (a, a)) for a, K in enumerate(kernels)]
        self._order = canonical(X.shape, [(X, (0, 1, 2)), *modes])
        self._model = TensorAddition([K[np.ix_(o, o)] for K, o in zip(kernels, self._order, strict=True)])
        self._X = X
        self.completed_ = self._completed(X)
        return self

    def _centred(self, X: Array) -> tuple[Array, Array]:
        """X in the order of the fit, centred, and who is observed."""
        X = X[np.ix_(*self._order)]
        seen = ~np.isnan(X)
        return np.where(seen, X - self.mean_, 0.0), seen

    def _back(self, Z: Array) -> Array:
        """Z (*shape) or (k, *shape) in the order in which it came."""
        first = [np.arange(len(Z))] if Z.ndim > len(self._order) else []
        return Z[np.ix_(*first, *(inverse(o) for o in self._order))]

    def _completed(self, X: Array) -> Array:
        full = self._back(self._model.complete(*self._centred(X))) + self.mean_
        return np.where(np.isnan(X), full, X)

    def transform(self, X: Any) -> Array:
        """Another tensor over the same modes, completed with the same kernels."""
        check_is_fitted(self, "completed_")
        X = _tensor(X)
        if X.shape != self._X.shape:
            raise ValueError(f"X has shape {X.shape}; {self._X.shape} is wanted")
        return self._completed(X)

    def predict(self, X: Any = None, return_std: bool = False) -> Any:
        """The completed training tensor, or another as in :meth:`transform`.

        With `return_std` also standard deviations (observed: 0).
        """
        check_is_fitted(self, "completed_")
        completed = self.completed_.copy() if X is None else self.transform(X)
        return (completed, self._std(self._X if X is None else _tensor(X))) if return_std else completed

    def _std(self, X: Array) -> Array:
        _, seen = self._centred(X)
        std = np.zeros(seen.shape)
        if few(seen):
            std[~seen] = np.sqrt(np.diagonal(np.linalg.inv(self._model.missing_precision(seen))))
        else:
            std = np.sqrt((self._deviations(seen, self.n_samples) ** 2).mean(axis=0))
        return self._back(std)

    def _deviations(self, seen: Array, n: int) -> Array:
        """Posterior deviations in the order of the fit (Matheron's rule), zero where observed."""
        prior = self._model.draw(self._rng(), n)
        return prior - self._model.complete(prior, seen, tol=1e-6)

    def sample(self, n_samples: int = 1) -> Array:
        """Independent draws of the completed tensor from the posterior (Matheron's rule)."""
        check_is_fitted(self, "completed_")
        self._check_draws(n_samples)
        _, seen = self._centred(self._X)
        return self.completed_ + self._back(self._deviations(seen, n_samples))

    @property
    def log_marginal_likelihood_(self) -> float:
        check_is_fitted(self, "completed_")
        return self._model.log_marginal(*self._centred(self._X))


def _tensor(X: Any) -> Array:
    """X (n1, n2, n3) as numbers of its own, NaN where missing."""
    X = check_array(X, dtype=np.float64, allow_nd=True, ensure_all_finite="allow-nan", copy=True)
    if X.ndim != 3 or 0 in X.shape:
        raise ValueError(f"X has shape {X.shape}; a tensor of three modes is wanted")
    return np.asarray(X)
