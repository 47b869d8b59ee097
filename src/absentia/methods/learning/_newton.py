"""Newton's method for convex objectives: full steps near the optimum, shortened ones away from it."""

from collections.abc import Callable
from typing import NamedTuple

import numpy as np
from scipy.linalg import cho_factor, cho_solve

from absentia.core import Array
from absentia.core.optimize import Solution, StoppingRule, iterate

_SHORTEST_STEP = 2.0**-40


class NewtonPoint(NamedTuple):
    """Coefficients, the objective there, half of the decrement before, the Hessian's factor then."""

    w: Array
    value: float
    gain: float
    factor: Array  # lower triangular


def minimise_convex(
    value: Callable[[Array], float],
    slopes: Callable[[Array], tuple[Array, Array]],
    start: Array,
    *,
    tol: float,
    max_iter: int,
) -> Solution[NewtonPoint]:
    """Minimise `value` to a decrement of `tol`; `slopes` gives gradient and positive definite Hessian."""

    def step(now: NewtonPoint) -> NewtonPoint:
        slope, H = slopes(now.w)
        factor = cho_factor(H, lower=True, check_finite=False)
        move = -cho_solve(factor, slope, check_finite=False)
        fall, length = -float(slope @ move), 1.0
        if fall / 2 <= tol:  # rounding decides whether the objective still falls
            return NewtonPoint(now.w + move, now.value - fall / 2, fall / 2, factor[0])
        while length > _SHORTEST_STEP:
            reached = value(now.w + length * move)
            if reached <= now.value - 1e-4 * length * fall:
                return NewtonPoint(now.w + length * move, reached, fall / 2, factor[0])
            length /= 2
        return NewtonPoint(now.w, now.value, 0.0, factor[0])

    begin = NewtonPoint(start, value(start), np.inf, np.zeros((0, 0)))
    # a step's gain is known once it is made: what it leaves over is smaller still
    stop = StoppingRule(tol, "what a step gains", measure=lambda now: now.gain)
    return iterate(step, lambda now: now.value, begin, stop=stop, max_iter=max_iter)
