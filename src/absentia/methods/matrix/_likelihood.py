r"""The marginal likelihood of the observed entries under ``_model.Addition``, and its gradient.

* The likelihood is ``log p(X completed) - 1/2 log|P_mm| + (n_missing / 2) log 2 pi``; the determinant by
  Cholesky when small, by preconditioned stochastic Lanczos quadrature when large.
* Its gradient is ``1/2 [a'(dS)a - tr(P dS) + tr(P_mm^-1 (P dS P)_mm)]`` with ``a = P vec(X completed)``;
  the last trace is ``E[(P D)' dS (P D)]`` over posterior deviations D, of which a :func:`~._spread.spread`
  holds either all (exact) or a sample (unbiased).
"""

import math
from dataclasses import dataclass

import numpy as np
import scipy.linalg

from absentia.core import Array, cholesky_logdet
from absentia.methods.matrix._mean import RowBlocks, complete, missing_factor
from absentia.methods.matrix._model import Addition
from absentia.methods.matrix._spread import spread


def missing_logdet(model: Addition, observed: Array, rng: np.random.Generator | None = None) -> float:
    """``log|P_mm|``; exact without `rng`, by stochastic Lanczos quadrature with it."""
    if observed.all():
        return 0.0
    if rng is None:
        return cholesky_logdet(missing_factor(model, observed))
    return _lanczos_logdet(model, ~observed, rng)


def _lanczos_logdet(
    model: Addition, missing: Array, rng: np.random.Generator, n_probes: int = 10, depth: int = 25
) -> float:
    """``log|P_mm|`` as that of the row blocks plus ``E[z' log(L^-1 P_mm L^-T) z]`` over random signs z."""
    blocks, hole = RowBlocks.of(model, missing), missing[:, None, :]
    z = np.where(hole, rng.choice([-1.0, 1.0], size=(missing.shape[0], n_probes, missing.shape[1])), 0.0)
    size = int(missing.sum())
    q, before = z / math.sqrt(size), np.zeros_like(z)
    alphas: list[Array] = []
    betas: list[Array] = []
    for _ in range(min(depth, size)):
        w = blocks.half(np.where(hole, model.solve(blocks.half_transposed(q)), 0.0))
        alpha = np.einsum("ikj,ikj->k", w, q)
        w = w - alpha[:, None] * q - (betas[-1][:, None] * before if betas else 0.0)
        beta = np.sqrt(np.einsum("ikj,ikj->k", w, w))
        alphas.append(alpha)
        betas.append(beta)
        before, q = q, w / np.maximum(beta, 1e-300)[:, None]
    total = 0.0
    for k in range(n_probes):
        off = [b[k] for b in betas[:-1]]
        values, vectors = scipy.linalg.eigh_tridiagonal([a[k] for a in alphas], off)
        total += size * float(vectors[0] ** 2 @ np.log(np.maximum(values, 1e-12)))
    return blocks.logdet() + total / n_probes


def log_marginal(
    model: Addition,
    X: Array,
    observed: Array,
    rng: np.random.Generator | None = None,
    *,
    completed: Array | None = None,
    tol: float = 1e-10,
) -> float:
    """Log-density of the observed entries.  With `rng` the determinant is estimated, for large problems."""
    full = complete(model, X, observed, tol=tol) if completed is None else completed
    n_missing = int((~observed).sum())
    return (
        model.loglik(full)
        - 0.5 * missing_logdet(model, observed, rng)
        + 0.5 * n_missing * math.log(2 * math.pi)
    )


@dataclass(frozen=True)
class Gradient:
    """Derivatives of the log marginal likelihood in C, in N and, along a direction, in K."""

    C: Array
    N: Array
    A: Array  # precision times (completed X and deviations), (n, 1 + k, m)
    model: Addition

    def along(self, dK: Array) -> float:
        """Derivative when the row kernel moves by `dK` (n, n)."""
        U, c, d = self.model.rows.U, self.model.c, self.model.d
        AC = self.A @ self.model.C
        quadratic = float(np.einsum("ikj,ikj->", AC, np.einsum("ab,bkj->akj", dK, self.A)))
        inside = float((np.einsum("ir,ir->r", U, dK @ U) * ((c / d).sum(axis=1))).sum())
        outside = (
            0.0 if self.model.rows.full else c.sum() * (np.trace(dK) - np.einsum("ir,ir->", U, dK @ U))
        )
        return 0.5 * (quadratic - inside - float(outside))


def gradient(
    model: Addition,
    X: Array,
    observed: Array,
    rng: np.random.Generator | None = None,
    n_draws: int = 20,
    *,
    tol: float = 1e-10,
) -> Gradient:
    """Gradient of :func:`log_marginal`: exact without `rng`, unbiased with it."""
    full = complete(model, X, observed, tol=tol)[:, None, :]
    D = spread(model, observed, rng, n_draws)
    A = model.solve(np.concatenate([full, D], axis=1))
    V, (n, _) = model.V, model.shape
    KA = np.einsum("ir,r,rkj->ikj", model.rows.U, model.rows.l, np.einsum("ir,ikj->rkj", model.rows.U, A))
    in_N = np.einsum("ika,ikb->ab", A, A) - (V * (n - model.shrink.sum(axis=0))) @ V.T
    in_C = np.einsum("ika,ikb->ab", A, KA) - (V * (model.rows.l[:, None] / model.d).sum(axis=0)) @ V.T
    return Gradient(0.5 * in_C, 0.5 * in_N, A, model)
