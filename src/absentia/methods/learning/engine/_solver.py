"""Multiple kernel learning: the weights of kernels and a machine on their sum, with a certificate.

    minimise over eta in Q   V(eta) = max_z  sum_i (t_i z_i - eps |z_i|) - 1/2 sum_p eta_p q_p(z),
    q_p(z) = z' K_p z,   z in a box with sum z = 0  (see ``_svm``).

``K_p`` is zero wherever a sample lacks view p, so only its observed block is ever read.  The region Q is a
polytope ``{eta >= 0, P eta <= 1}`` (a simplex for ordinary multiple kernel learning) or the unit ball of a
p-norm.

V is convex, and where z is unique differentiable: ``dV/deta_p = -q_p / 2``.  In a polytope a step is
Newton's (``_newton``).  Where that makes no progress, machines are made more exact, ``K_FF`` less singular,
and every other step goes where the cutting planes of all machines so far are lowest (``_cuts``): V has
kinks where z is not unique.  In a ball weights are updated in closed form (``_norms``).

The relative duality gap is what stops it: any ``z`` gives the lower bound ``linear(z) - kappa(q(z)) / 2``
with ``kappa(q) = max {c.q : c in Q}``, the machine's primal value at eta an upper one.  On the way the best
bound of all machines counts; what is reported is the gap of what is handed over (``_ending``).
"""

import itertools
from dataclasses import replace

from absentia.core import Array, Callback, Solution, Stop, iterate
from absentia.methods.learning.engine._cuts import cutting_step, pairing_step
from absentia.methods.learning.engine._ending import attempts, handed_over, settled
from absentia.methods.learning.engine._newton import newton_step
from absentia.methods.learning.engine._norms import NormBall, norm_step
from absentia.methods.learning.engine._polytope import Polytope
from absentia.methods.learning.engine._problem import GAP, Problem, Starts
from absentia.methods.learning.engine._state import State, start


def solve(
    problem: Problem,
    *,
    tol: float = 1e-3,
    max_iter: int = 200,
    callback: Callback | None = None,
    eta: Array | None = None,
    z: Starts = None,
) -> Solution[State]:
    """Minimise V over the region to a relative duality gap of `tol`, from `eta` and `z` if given."""

    def step(state: State) -> State:
        if state.tidy:
            return state
        there = state.gap <= tol and state.n_refused == 0  # already at the start
        moving = state if there else onward(problem, replace(state, wait=max(state.wait - 1, 0)), tol)
        return settled(problem, moving, tol) if moving.gap <= tol and not moving.wait else moving

    found = iterate(
        step,
        lambda state: state.objective,
        start(problem, eta, z),
        stop=Stop(tol, GAP, lambda state: state.gap if state.tidy else max(state.gap, 2 * tol)),
        max_iter=max_iter,
        callback=callback,
    )
    end = found.state
    if not end.tidy:
        ends = itertools.islice(attempts(problem, end, tol), 2)
        end = handed_over(end, min(ends, key=lambda one: one.gap))
    return replace(found, state=end)


def onward(problem: Problem, state: State, tol: float) -> State:
    """One step."""
    region = problem.region
    if isinstance(region, NormBall):
        return norm_step(problem, region, state, tol)
    assert isinstance(region, Polytope)
    if state.care < 2 or state.care % 2:
        return newton_step(problem, region, state, tol)
    return (pairing_step if state.care % 4 == 0 else cutting_step)(problem, region, state, tol)
