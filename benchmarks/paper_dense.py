"""The papers' algorithm as written, with dense matrices: what the fast algorithm is measured against.

Rivero & Kato (2018): solve with the visible part of the model for every view, eqs. (8) and (9), average,
then a full eigendecomposition (pca, eqs. (12), (13)) or one step of factor analysis with the model
inverted (fa, eqs. (18), (19)).  Dense, but no slower than it has to be: Cholesky solves, in-place LAPACK,
products instead of inverses.  Kernels are of unit mean diagonal.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
import scipy.linalg


@dataclass
class View:
    """An observed kernel, the samples it sees and those it does not."""

    Q: np.ndarray
    v: np.ndarray
    h: np.ndarray


@dataclass
class Model:
    """``M`` over all samples; ``W`` and ``psi`` once it is low rank plus diagonal."""

    M: np.ndarray
    W: np.ndarray
    psi: np.ndarray


class PaperDense:
    """Zero-imputed start, then imputation and model update in turn."""

    def __init__(self, views: list[View], size: int, covariance: str, q: int, eps: float = 1e-3) -> None:
        self.views, self.size, self.covariance, self.q, self.eps = views, size, covariance, q, eps

    @classmethod
    def of(cls, kernels, covariance: str, q: int, eps: float = 1e-3) -> PaperDense:
        views = []
        for k, name in enumerate(kernels.names):
            Q = np.asarray(kernels.block(name), dtype=np.float64)
            seen = kernels.observed[:, k]
            views.append(View(Q / Q.diagonal().mean(), np.flatnonzero(seen), np.flatnonzero(~seen)))
        return cls(views, len(kernels), covariance, q, eps)

    def start(self) -> Model:
        S = np.zeros((self.size, self.size))
        for view in self.views:
            S[np.ix_(view.v, view.v)] += view.Q
        S = self._stabilised(S)
        W, psi = self._ppca(S) if self.covariance == "fa" else (np.zeros((0, 0)), np.zeros(0))
        return Model(S, W, psi)

    def step(self, model: Model) -> Model:
        """Complete every kernel under the model, then improve the model on their mean."""
        S = np.zeros((self.size, self.size))
        for view in self.views:
            self._add_completed(S, view, model.M)
        S = self._stabilised(S)
        W, psi = self._ppca(S) if self.covariance == "pca" else self._factor_analysis(S, model)
        M = W @ W.T
        M[np.diag_indices_from(M)] += psi
        return Model(M, W, psi)

    def _add_completed(self, S: np.ndarray, view: View, M: np.ndarray) -> None:
        v, h = view.v, view.h
        M_vh = M[np.ix_(v, h)]
        factor = scipy.linalg.cho_factor(M[np.ix_(v, v)], lower=True, overwrite_a=True, check_finite=False)
        A = scipy.linalg.cho_solve(factor, M_vh, check_finite=False)
        Q_vh = view.Q @ A
        S[np.ix_(v, v)] += view.Q
        S[np.ix_(v, h)] += Q_vh
        S[np.ix_(h, v)] += Q_vh.T
        S[np.ix_(h, h)] += M[np.ix_(h, h)] + A.T @ (Q_vh - M_vh)

    def _stabilised(self, S: np.ndarray) -> np.ndarray:
        """Sum of the completed kernels to their mean with the prior's identity kernel."""
        S[np.diag_indices_from(S)] += self.eps
        S /= len(self.views) + self.eps
        return S

    def _ppca(self, S: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
        values, U = np.linalg.eigh(S)
        sigma2 = values[: -self.q].mean()
        return U[:, -self.q :] * np.sqrt(values[-self.q :] - sigma2), np.full(self.size, sigma2)

    def _factor_analysis(self, S: np.ndarray, model: Model) -> tuple[np.ndarray, np.ndarray]:
        W = model.W
        F = W / model.psi[:, None]
        C = np.eye(self.q) + W.T @ F
        Bt = np.linalg.solve(C, F.T).T  # B' = M^-1 W
        S_xz = S @ Bt
        S_zz = np.eye(self.q) - Bt.T @ W + Bt.T @ S_xz
        W_new = np.linalg.solve(S_zz, S_xz.T).T
        return W_new, S.diagonal() - np.einsum("ij,ij->i", W_new, S_xz)

    def objective(self, model: Model) -> float:
        """Penalised objective; by Woodbury, because it is not part of what is timed."""
        W, psi = model.W, model.psi
        everyone = np.arange(self.size)
        total = self.eps * self._half_divergence(W, psi, everyone, None)
        for view in self.views:
            total += self._half_divergence(W, psi, view.v, view.Q)
        return float(total) / 2

    def _half_divergence(self, W, psi, v, Q) -> float:
        """``logdet M_vv + trace(M_vv^-1 Q)``, Q the identity if None."""
        W, psi = W[v], psi[v]
        F = W / psi[:, None]
        L = np.linalg.cholesky(np.eye(self.q) + W.T @ F)
        QF, diagonal = (F, np.ones(len(v))) if Q is None else (Q @ F, Q.diagonal())
        half = scipy.linalg.cho_solve((L, True), F.T @ QF)
        logdet = 2 * np.log(np.diagonal(L)).sum() + np.log(psi).sum()
        return logdet + (diagonal / psi).sum() - np.trace(half)
