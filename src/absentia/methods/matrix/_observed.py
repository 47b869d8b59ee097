r"""Missing entries at their expectation from the kernels themselves: no eigenvectors are computed.

With S the covariance of vec X, o the observed and m the missing entries, ``x_m = S_mo a`` where
``S_oo a = x_o``.  For a matrix with few columns a product with S is one pass over the row kernel, hundreds
of which cost no more than its eigenvectors; preconditioned conjugate gradients need a few tens.

The preconditioner is exact for a row kernel ``LL' + tI`` instead of K: L (n, r) is what a random block of r
vectors catches of K (Nystrom), t what is left of its diagonal on average.  Over the observed entries that
is a block for every row, ``N + tC``, and a part of low rank, so that Woodbury's identity inverts it.  L
decides how many steps are taken, not what comes out.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
import scipy.linalg

from absentia.core import Array, cholesky, cholesky_inverse
from absentia.methods.matrix._mean import column_units, conjugate_gradients
from absentia.methods.matrix._model import THIN, Addition, GivenRows, RowKernel

#: With fewer rows than this, eigenvectors cost next to nothing.
ROWS = 256
#: How many vectors catch the large part of the row kernel.
CAUGHT = 32
#: Steps that cost about as much as eigenvectors, for each row.
STEPS = 0.25


def spares_eigenvectors(model: Addition) -> bool:
    """Whether the kernels themselves are the shorter way to an expectation."""
    n, m = model.shape
    rows = model.rows
    return m <= THIN and n >= ROWS and isinstance(rows, GivenRows) and not rows.decomposed


def observed_mean(model: Addition, X: Array, observed: Array, *, tol: float = 1e-9) -> Array | None:
    """X (n, m) with its missing entries at their expectation given the observed ones.

    The observed entries are met to a residual of `tol`, relative to their norm, columns in units of
    their standard deviations.  None if that takes more steps than eigenvectors are worth.
    """
    if observed.all():
        return X.copy()
    model.check()
    unit = column_units(model)
    known = np.where(observed, X / unit, 0.0)[:, None, :]
    white, seen = model.stretched(1 / unit), observed[:, None, :]
    # kernels that are singular to rounding send conjugate gradients astray, which is noticed below
    with np.errstate(over="ignore", invalid="ignore"):
        try:
            inverse = Caught.of(white, observed)
        except np.linalg.LinAlgError:
            return None
        found = conjugate_gradients(
            lambda Z: np.where(seen, white.matvec(Z), 0.0),
            known,
            inverse.solve,
            np.zeros_like(known),
            tol=tol,
            max_iter=int(STEPS * len(X)),
        )
    if not found.converged and known.any():
        return None
    # what conjugate gradients believe of their residual is not what it is: rounding adds up
    full = white.matvec(found.state.x)
    if np.linalg.norm((full - known)[seen]) > 10 * tol * np.linalg.norm(known):
        return None
    return np.asarray(np.where(observed, X, full[:, 0] * unit))


# --------------------------------------------------------------------------------- preconditioning


@dataclass(frozen=True)
class Caught:
    """The inverse of ``C (x) (LL' + tI) + N (x) I`` over the observed entries.

    With ``C = RR'`` and B the blocks of the rows, that is ``B - B H (I + H'BH)^-1 H'B`` where H is R times
    L; `middle` is the inverse in there, columns first.
    """

    L: Array
    R: Array
    blocks: Array
    middle: Array

    @classmethod
    def of(cls, model: Addition, observed: Array) -> Caught:
        m = model.shape[1]
        L, rest = caught(model.rows, min(CAUGHT, model.shape[0]))
        c, Q = scipy.linalg.eigh(model.C, check_finite=False)
        R = Q * np.sqrt(np.maximum(c, 0.0))
        blocks = block_inverses(model.N + rest * model.C, observed)
        inner, r = R.T @ blocks @ R, L.shape[1]
        pairs = np.empty((m, r, m, r))
        for a in range(m):
            for b in range(a + 1):
                pairs[a, :, b] = L.T @ (L * inner[:, a, b, None])
                pairs[b, :, a] = pairs[a, :, b].T
        middle = np.eye(m * r) + pairs.reshape(m * r, m * r)
        return cls(L, R, blocks, cholesky_inverse(cholesky(middle)))

    def solve(self, X: Array) -> Array:
        """Of X (n, 1, m), zero where it is missing."""
        within = self._in_rows(X[:, 0])
        along = self.L.T @ (within @ self.R)
        back = (self.middle @ along.T.ravel()).reshape(along.T.shape)
        return (within - self._in_rows(self.L @ (back.T @ self.R.T)))[:, None, :]

    def _in_rows(self, X: Array) -> Array:
        return np.asarray(np.einsum("iab,ib->ia", self.blocks, X))


def caught(rows: RowKernel, r: int) -> tuple[Array, float]:
    """L (n, r) with ``LL'`` below K and near it where K is large, and the mean diagonal of the rest."""
    start = np.random.default_rng(0).standard_normal((rows.n, r))
    Q = scipy.linalg.qr(rows.times(start), mode="economic", check_finite=False)[0]
    KQ = rows.times(Q)
    values, T = scipy.linalg.eigh(Q.T @ KQ, check_finite=False)
    # directions that a kernel of low rank does not have
    real = values > 1e-12 * max(float(values[-1]), 0.0)
    L = KQ @ (T[:, real] / np.sqrt(values[real]))
    left = float(rows.diagonal().sum()) - float((L**2).sum())
    return L, max(left, 0.0) / rows.n


def block_inverses(B: Array, observed: Array) -> Array:
    """The inverse of B (m, m) over the observed columns of each row, zero elsewhere (n, m, m)."""
    code = observed @ (1 << np.arange(len(B)))
    _, first, member = np.unique(code, return_index=True, return_inverse=True)
    patterns = observed[first]
    blocks = np.where(patterns[:, :, None] & patterns[:, None, :], B, 0.0)
    every = np.arange(len(B))
    blocks[:, every, every] += ~patterns
    inverses = np.linalg.inv(blocks)
    inverses[:, every, every] *= patterns
    return np.asarray(inverses[member])
