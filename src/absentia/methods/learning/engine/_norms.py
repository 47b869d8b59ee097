"""Weights in the unit ball of a p-norm, updated in closed form (Kloft et al., JMLR 12, 2011)."""

import numpy as np

from absentia.core import Array
from absentia.methods.learning.engine._problem import Problem, evaluate
from absentia.methods.learning.engine._state import State, moved


class NormBall:
    """``{eta >= 0, |eta|_p <= 1}`` for p > 1."""

    def __init__(self, m: int, p: float) -> None:
        self.m, self.p = m, p

    def middle(self) -> Array:
        return np.full(self.m, self.m ** (-1 / self.p))

    def boundary(self, c: Array) -> Array:
        """`c` as large as it can be made by a factor."""
        length = float(np.linalg.norm(c, self.p))
        return np.asarray(c / length) if length > 0 else c

    def highest(self, q: Array) -> tuple[float, Array, Array]:
        """The dual norm of q, where it is attained, and no prices."""
        q = np.maximum(q, 0.0)
        scale = float(q.max())
        if scale == 0:
            return 0.0, self.middle(), q
        c = (q / scale) ** (1 / (self.p - 1))
        c /= np.linalg.norm(c, self.p)
        return float(c @ q), c, q

    def update(self, eta: Array, q: Array) -> Array:
        """The best weights for given ``|w_p| = eta_p sqrt(q_p)``, as ``|w_p|^(2 / (p + 1))``."""
        q = np.maximum(q, 0.0)
        best = (eta**2 * (q / max(float(q.max()), 1e-300))) ** (1 / (self.p + 1))
        return np.asarray(best / np.linalg.norm(best, self.p)) if best.any() else eta


def norm_step(problem: Problem, region: NormBall, state: State, tol: float) -> State:
    """Weights in closed form from the machine, then the machine again."""
    point = state.point
    exact = max(0.02 * state.gap, 0.2 * tol)
    trial = evaluate(problem, region.update(point.eta, point.q), exact, point.coefficients)
    return moved(state, [trial], 0.0)
