"""The three covariance models of mutual kernel matrix completion.

What differs between them is small: where to start from a mean kernel ``S``, and the M-step that
improves a model ``M`` towards ``S`` by lowering ``logdet M + trace(M^-1 S)``.

=========================  ==========================  ===========================================
model                      form                        M-step
=========================  ==========================  ===========================================
:class:`Full`              any positive definite       ``M = S``
:class:`PCA`               ``W W' + sigma^2 I``        closed form (Tipping & Bishop 1999)
:class:`FactorAnalysis`    ``W W' + diag(psi)``        one EM step on the latent factors
=========================  ==========================  ===========================================
"""

from typing import Protocol

import numpy as np
import scipy.linalg

from absentia.core import Dense, LowRankPlusDiagonal, Operator, PDOperator, leading_eigenpairs

#: Lowest noise variance, for kernels of unit mean diagonal.  Heywood case: psi -> 0 makes the likelihood
#: unbounded and ``W' D^-1 W`` overflow.  The objective is a difference of terms of size ``1 / psi``, known
#: to ``|W|^2 / psi`` roundings: at 1e-5 to some 1e-6, at 1e-8 not at all.
NOISE_FLOOR = 1e-5
#: The same in single precision, and the longest row of loadings: beyond either, what is left of the
#: objective after cancellation is rounding.
NOISE_FLOOR_SINGLE, LOADING_CEILING_SINGLE = 1e-3, 100.0


class Covariance(Protocol):
    """A family of models: its member nearest to a mean kernel, and one step towards a better one."""

    @property
    def n_components(self) -> int | None: ...

    def start(self, S: Operator) -> PDOperator: ...
    def m_step(self, S: Operator, M: PDOperator) -> PDOperator: ...


class Full:
    """No restriction: FC-MKMC of Rivero, Lemence & Kato (2017)."""

    n_components = None

    def start(self, S: Operator) -> Dense:
        return Dense(S.to_dense())

    def m_step(self, S: Operator, M: PDOperator) -> Dense:
        return Dense(S.to_dense())


class PCA:
    """Probabilistic principal components: PCA-MKMC of Rivero & Kato (2018), eqs. (12) and (13)."""

    def __init__(self, n_components: int) -> None:
        self.n_components = n_components

    def start(self, S: Operator) -> LowRankPlusDiagonal:
        return ppca(S, self.n_components)

    def m_step(self, S: Operator, M: PDOperator) -> LowRankPlusDiagonal:
        return ppca(S, self.n_components)


class FactorAnalysis:
    """Factor analysis: FA-MKMC of Rivero & Kato (2018), eqs. (18) and (19).

    The paper does not say where W and psi start; here at the probabilistic principal components of
    the first mean kernel.
    """

    def __init__(self, n_components: int) -> None:
        self.n_components = n_components

    def start(self, S: Operator) -> LowRankPlusDiagonal:
        return ppca(S, self.n_components)

    def m_step(self, S: Operator, M: PDOperator) -> LowRankPlusDiagonal:
        assert isinstance(M, LowRankPlusDiagonal)
        Bt = M.solve(M.W)  # B' = M^-1 W
        S_xz = S @ Bt
        S_zz = np.eye(self.n_components, dtype=Bt.dtype) - Bt.T @ M.W + Bt.T @ S_xz
        W = scipy.linalg.solve(S_zz, S_xz.T, assume_a="sym").T
        psi = S.diagonal() - np.einsum("ij,ij->i", W, S_xz)
        # given W, the M-step's criterion in psi_i has one minimum: clipping keeps the step monotone
        return LowRankPlusDiagonal(W, np.maximum(psi, NOISE_FLOOR))


def ppca(S: Operator, q: int) -> LowRankPlusDiagonal:
    """``W W' + sigma^2 I`` nearest to `S` in LogDet divergence: top eigenpairs, mean of the rest."""
    dense = S.to_dense()
    n = len(dense)
    eigenvalues, U = leading_eigenpairs(dense, q)
    sigma2 = max((float(np.trace(dense)) - float(eigenvalues.sum())) / (n - q), NOISE_FLOOR)
    W = U * np.sqrt(np.maximum(eigenvalues - sigma2, 0.0))
    return LowRankPlusDiagonal(W, np.full(n, sigma2, dtype=dense.dtype))
