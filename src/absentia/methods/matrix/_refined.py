r"""Missing entries at their expectation for large matrices: steps in single precision, residuals in double.

As in ``_mean``, ``P_mm x_m = -P_mo x_o`` with P the precision of vec X, m the missing and o the observed
entries.  Conjugate gradients run in single precision, where a product takes half the time, and what they
find is added to x in double; the residual of that, ``-(P x)_m`` in double, is the next right-hand side.  One
round gains what single precision can hold, so that a second is the last as a rule, and the answer is that
of double precision to its residual.
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


@dataclass(frozen=True)
class Single:
    """The precision of vec X for a row kernel of full rank, in single precision."""

    U: Array
    V: Array
    over: Array  # 1 / d

    @classmethod
    def of(cls, model: Addition) -> Single:
        U, V = model.rows.U.astype(np.float32), model.V.astype(np.float32)
        return cls(U, V, (1 / model.d).astype(np.float32))

    def solve(self, X: Array) -> Array:
        """The precision times vec X, for X (n, m)."""
        inside = self.U.T @ (X @ self.V)
        inside *= self.over
        return np.asarray((self.U @ inside) @ self.V.T)

    def diagonal(self) -> Array:
        """Of the precision, (n, m)."""
        return np.asarray((self.U**2 @ self.over) @ (self.V**2).T)


def refined(model: Addition, X: Array, observed: Array, *, tol: float = 1e-6) -> tuple[Array, float]:
    """X (n, m) with its missing entries at their expectation, and the relative residual that was reached.

    The row kernel has to be of full rank.  The residual is that of ``P_mm x_m = -P_mo x_o``, columns in
    units of their standard deviations; it is above `tol` only where single precision does not serve.
    """
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
        found = conjugate_gradients(
            step,
            (gap / scale).astype(np.float32),
            lambda Z: over * Z,
            np.zeros(gap.shape, dtype=np.float32),
            tol=max(GAIN, 0.3 * tol / rest),
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
