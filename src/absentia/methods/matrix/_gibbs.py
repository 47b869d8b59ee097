r"""Gibbs sampling for ``_model.Addition``, blocked, with diagnostics.

The paper samples entry by entry (eq. 12 to 15).  Here two blocks alternate:

* F given the full X: one exact draw in the eigenbasis.  Between whitened columns and eigenvectors,
  ``F~ = s X~ + sqrt(s) eps`` with ``s = lc / (1 + lc)``;
* the missing entries given F: exact within each row, for all rows that miss the same columns at once.

Smooth row kernels make neighbouring entries of F nearly equal, and a single-site sampler then crawls;
blocks do not.  Several chains run together, as one product.
"""

from dataclasses import dataclass

import numpy as np

from absentia.core import Array
from absentia.methods.matrix._mean import complete
from absentia.methods.matrix._mode import conditionals, missing_given_rows
from absentia.methods.matrix._model import Addition, across, apply_rows
from absentia.methods.matrix._spread import deviations


@dataclass(frozen=True)
class Chains:
    """What the chains visited at the missing entries, (n_chains, n_samples, n_missing)."""

    values: Array
    observed: Array

    def mean(self, X: Array) -> Array:
        """X with its missing entries at their posterior mean."""
        return self._placed(self.values.mean(axis=(0, 1)), X)

    def variance(self) -> Array:
        """Posterior variance of every entry, zero where observed."""
        return self._placed(self.values.var(axis=(0, 1), ddof=1), np.zeros(self.observed.shape))

    def _placed(self, values: Array, X: Array) -> Array:
        out = np.array(X, dtype=float)
        out[~self.observed] = values
        return out


def draw_rows(model: Addition, X: Array, rng: np.random.Generator) -> Array:
    """F given the full X."""
    s, U = across(model.shrink, X), model.rows.U
    Z = apply_rows(U.T, X @ model.V)
    # noise is drawn by entries and turned into the eigenbases, so that it does not hang on the signs and
    # the order of eigenvectors: N^(1/2) V is orthogonal
    noise = apply_rows(U.T, rng.standard_normal(X.shape) @ (model.root @ model.V))
    return apply_rows(U, s * Z + np.sqrt(s) * noise) @ model.W.T


def gibbs(
    model: Addition,
    X: Array,
    observed: Array,
    rng: np.random.Generator,
    *,
    n_samples: int = 500,
    n_chains: int = 4,
    burn_in: int | None = None,
) -> Chains:
    """Run `n_chains` chains of `n_samples` each, after `burn_in` (half as many by default).

    Chains start twice as far from the mean as a posterior draw, so that R-hat can see whether they
    forget where they began.
    """
    given, hole = conditionals(model, observed), ~observed
    start = complete(model, X, observed, tol=1e-4)[:, None, :]
    Z = start + 2 * deviations(model, observed, model.draw(rng, n_chains), tol=1e-4)
    kept = np.empty((n_chains, n_samples, int(hole.sum())))
    for t in range(-(n_samples // 2 if burn_in is None else burn_in), n_samples):
        Z = missing_given_rows(Z, draw_rows(model, Z, rng), given, rng)
        if t >= 0:
            kept[:, t] = Z.transpose(1, 0, 2)[:, hole]
    return Chains(kept, observed)


# ------------------------------------------------------------------------------------- diagnostics


def r_hat(values: Array) -> Array:
    """Split R-hat of (n_chains, n_samples, ...): near 1 when the halves of all chains agree."""
    half = values.shape[1] // 2
    halves = np.concatenate([values[:, :half], values[:, -half:]])
    within = halves.var(axis=1, ddof=1).mean(axis=0)
    between = halves.mean(axis=1).var(axis=0, ddof=1)
    return np.asarray(np.sqrt((half - 1) / half + between / np.maximum(within, 1e-300)))


def effective_sample_size(values: Array) -> Array:
    """Effective number of independent draws in (n_chains, n_samples, ...), by Geyer's positive sequence."""
    n_chains, n = values.shape[:2]
    centred = values - values.mean(axis=1, keepdims=True)
    spectrum = np.fft.rfft(centred, n=2 * n, axis=1)
    covariance = np.fft.irfft(np.abs(spectrum) ** 2, n=2 * n, axis=1)[:, :n].mean(axis=0) / n
    within = covariance[0] * n / (n - 1)
    total = covariance[0] + (values.mean(axis=1).var(axis=0, ddof=1) if n_chains > 1 else 0.0)
    rho = 1 - (within - covariance) / np.maximum(total, 1e-300)
    rho[0] = 1.0
    pairs = rho[0 : n - n % 2 : 2] + rho[1 : n - n % 2 : 2]
    positive = np.logical_and.accumulate(pairs > 0, axis=0)
    pairs = np.minimum.accumulate(np.where(positive, pairs, 0.0), axis=0)  # monotone, then zero
    time = np.maximum(2 * pairs.sum(axis=0) - 1, 1 / np.log10(max(n_chains * n, 10)))
    return np.asarray(n_chains * n / time)
