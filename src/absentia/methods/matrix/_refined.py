r"""Missing entries at their expectation for large matrices: steps in single precision, residuals in double.

As in ``_mean``, ``P_mm x_m = -P_mo x_o`` with P the precision of vec X, m the missing and o the observed
entries.  Conjugate gradients run in single precision, where a product takes half the time, and what they
find is added to x in double; the residual of that, ``-(P x)_m`` in double, is the next right-hand side.
One round gains what single precision can hold, so that a second is the last as a rule, and the answer is
that of double precision to its residual.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from absentia.core import Array
from absentia.methods.matrix._mean import column_units, conjugate_gradients
from absentia.methods.matrix._model import Addition

#: What one round of single precision may gain.
GAIN = 1e-4
#: Rounds at most, and the least that one has to gain for another to be worth it.
ROUNDS, LEAST = 6, 0.3
#: Steps of a round at most.
STEPS = 200
#: Directions of the row kernel are left out if no more than this share of them stays; see :class:`Single`.
WORTH = 0.7


@dataclass(frozen=True)
class Single:
    """The precision of vec X in single precision, for a row kernel of full rank.

    Of ``K = U diag(l) U'`` the least eigenvalue, times C, goes into N: the same model.  Directions in which
    little is left then, ``l c <= GAIN`` for all columns, are left out: the precision is too large by that
    share at most, in every direction.  `U` has the others and `inner` (of the directions and the columns)
    is ``l c / (1 + l c)``; what is taken off is the precision of the columns alone, `outer`.  Where too few
    can be left out to gain by it, `inner` is ``1 / (1 + l c)`` of all directions and `outer` is None.
    """

    U: Array
    V: Array
    inner: Array
    outer: Array | None

    @classmethod
    def of(cls, model: Addition) -> Single:
        def single(A: Array) -> Array:
            return np.asarray(A, dtype=np.float32)

        low = model.rows.l.min()
        least = 1 + low * model.c
        V, c = single(model.V / np.sqrt(least)), model.c / least
        left = np.multiply.outer(model.rows.l - low, c)
        far = left.max(axis=1) > GAIN
        if far.mean() > WORTH:
            return cls(single(model.rows.U), V, single(1 / (1 + left)), None)
        left = left[far]
        return cls(single(model.rows.U[:, far]), V, single(left / (1 + left)), V @ V.T)

    def solve(self, X: Array) -> Array:
        """The precision times vec X, for X (n, m)."""
        inside = (self.U.T @ X) @ self.V
        inside *= self.inner
        found = np.asarray(self.U @ (inside @ self.V.T))
        return found if self.outer is None else X @ self.outer - found

    def diagonal(self) -> Array:
        """Of the precision, (n, m)."""
        found = np.asarray(self.U**2 @ (self.inner @ (self.V**2).T))
        if self.outer is None:
            return found
        whole = np.diagonal(self.outer)
        return np.maximum(whole - found, np.float32(1e-6) * whole)  # a difference may be all rounding


def refined(model: Addition, X: Array, observed: Array, *, tol: float = 1e-6) -> tuple[Array, float]:
    """X (n, m) with its missing entries at their expectation, and the relative residual that was reached.

    The row kernel has to be of full rank.  The residual is that of ``P_mm x_m = -P_mo x_o``, columns in
    units of their standard deviations; it is above `tol` only where single precision does not serve.
    """
    model.check()
    unit, missing = column_units(model), ~observed
    full = np.where(missing, 0.0, X / unit)
    if not missing.any() or not full.any():
        return full * unit, 0.0
    model = model.stretched(1 / unit)
    single = Single.of(model)
    over = np.where(missing, 1 / single.diagonal(), np.float32(0.0))[:, None, :]

    def step(Z: Array) -> Array:
        return np.where(missing, single.solve(Z[:, 0]), np.float32(0.0))[:, None, :]

    gap = -step(full.astype(np.float32)[:, None, :])
    size = _norm(gap)
    rest = 1.0
    for _ in range(ROUNDS):
        scale = _norm(gap)  # of unit length: single precision has a small range
        with np.errstate(over="ignore", invalid="ignore"):  # kernels that are singular to rounding
            found = conjugate_gradients(
                step,
                (gap / scale).astype(np.float32),
                lambda Z: over * Z,
                np.zeros(gap.shape, dtype=np.float32),
                tol=max(GAIN, 0.3 * tol / rest),
                max_iter=STEPS,
            )
        candidate = full + scale * found.state.x[:, 0].astype(float)
        gap = -np.where(missing, model.solve(candidate), 0.0)[:, None, :]
        before, now = rest, _norm(gap) / size
        if not now < before:
            break
        full, rest = candidate, now
        if rest <= tol or rest > LEAST * before:
            break
    return full * unit, rest


def _norm(X: Array) -> float:
    return float(np.linalg.norm(X))
