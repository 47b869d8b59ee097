"""Gaussian conditioning: some variables given the others, from a covariance or from its inverse."""

from dataclasses import dataclass
from typing import Self

import numpy as np

from absentia.core._linalg import Array, cholesky, cholesky_inverse, cholesky_solve, symmetrize


@dataclass(frozen=True)
class Conditional:
    """Variables h given o, all of mean zero: h has mean ``x_o B`` and covariance `covariance`.

    ``L`` is the Cholesky factor of what was inverted: ``Sigma_oo``, or ``P_hh``.
    """

    B: Array
    covariance: Array
    L: Array

    @classmethod
    def by_covariance(cls, Sigma: Array, o: Array, h: Array) -> Self:
        """``B = Sigma_oo^-1 Sigma_oh``; the covariance is ``Sigma_hh - Sigma_ho B``."""
        L = cholesky(Sigma[np.ix_(o, o)], "covariance")
        B = cholesky_solve(L, Sigma[np.ix_(o, h)]) if len(o) else np.zeros((0, len(h)))
        return cls(B, symmetrize(Sigma[np.ix_(h, h)] - Sigma[np.ix_(h, o)] @ B), L)

    @classmethod
    def by_precision(cls, P: Array, o: Array, h: Array) -> Self:
        """With ``P = Sigma^-1``: ``B = -P_oh P_hh^-1``; the covariance is ``P_hh^-1``."""
        L = cholesky(P[np.ix_(h, h)], "precision")
        return cls(-cholesky_solve(L, P[np.ix_(o, h)].T).T, cholesky_inverse(L), L)
