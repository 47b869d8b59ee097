"""Exact C-AMKL against a general conic solver (cvxpy with Clarabel): time and objective.

20 RBF kernels, 40 % of the cells absent, nobody with all views.  The conic program is the dual,
``max 1'beta - 1/2 sum theta`` with ``|L_p' z|^2 <= (S' theta)_p``, given factors of the kernels' observed
blocks and only those rows of S that no other row contains; cvxpy's translation and the solver's own time
count, factorising the kernels does not.  Both have one thread.

Clarabel runs without its equilibration.  The smallest directions of wide kernels are a millionth of the
largest; scaled up to the others they make its steps inexact, so that it takes nearly twice as many and may
give up (as at n = 100 here).  Should it fail all the same, the row says so and nothing is claimed of it.
"""

from __future__ import annotations

import warnings
from importlib.util import find_spec
from typing import Any

import amkl_data
import common
import numpy as np

from absentia import KernelViews
from absentia.methods.learning.engine._problem import Problem
from absentia.methods.learning.engine._regions import Polytope, _maximal_rows
from absentia.methods.learning.engine._solver import solve
from absentia.methods.learning.engine._stacks import KernelStack
from absentia.methods.learning.engine._svm import Box

GAP = 1e-5


def ours(kernels: KernelViews, y: np.ndarray, C: float) -> Any:
    region = Polytope.of_rows(kernels.observed)
    box = Box.classification(y, np.full(len(y), C))
    return solve(Problem(KernelStack.of(kernels), box, region), tol=GAP)


def factors(kernels: KernelViews) -> list[np.ndarray]:
    """``L`` with ``L L' = K_p``, rows of absent samples left out."""
    found = []
    for name in kernels.names:
        values, vectors = np.linalg.eigh(kernels.block(name))
        keep = values > 1e-12 * values[-1]
        found.append(vectors[:, keep] * np.sqrt(values[keep]))
    return found


def conic(kernels: KernelViews, y: np.ndarray, C: float, L: list[np.ndarray]) -> tuple[float, str]:
    """The optimum and how the solver ended; NaN where it gave up."""
    import cvxpy as cp

    S = _maximal_rows(kernels.observed)
    beta, theta = cp.Variable(len(y), nonneg=True), cp.Variable(len(S), nonneg=True)
    constraints = [beta <= C, y @ beta == 0]
    for p, factor in enumerate(L):
        seen = np.flatnonzero(kernels.observed[:, p])
        part = (factor * y[seen][:, None]).T @ beta[seen]
        constraints.append(cp.sum_squares(part) <= S[:, p] @ theta)
    problem = cp.Problem(cp.Maximize(cp.sum(beta) - cp.sum(theta) / 2), constraints)
    try:
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")  # of an inexact solution, which the status says too
            problem.solve(solver=cp.CLARABEL, max_threads=1, equilibrate_enable=False)
    except cp.SolverError:
        return float("nan"), "failed"
    return float(problem.value), str(problem.status)


def main() -> None:
    arguments = common.parser(__doc__).parse_args()
    if find_spec("cvxpy") is None:
        print("cvxpy and clarabel are not installed; there is nothing to compare with")
        return
    sizes = {60: 0.0, 100: 0.0} if arguments.quick else {200: 100.0, 400: 200.0, 600: 300.0}
    rows, claims = [], []
    for n, wanted in sizes.items():
        X, y = amkl_data.made_up(n)
        kernels = amkl_data.rbf_kernels(X, amkl_data.masked(n, 20, 0.4, seed=n))
        L = factors(kernels)
        ours(kernels, y, 1.0)  # compile
        fast = common.enough(lambda k=kernels, t=y: ours(k, t, 1.0))
        slow, (value, status) = common.cpu(lambda k=kernels, t=y, f=L: conic(k, t, 1.0, f))
        fast = (fast + common.enough(lambda k=kernels, t=y: ours(k, t, 1.0))) / 2
        found = ours(kernels, y, 1.0)
        difference = abs(found.state.objective - value) / abs(value)
        rows.append(
            {
                "n": n,
                "CPU s": fast,
                "cvxpy CPU s": slow,
                "times faster": None if status == "failed" else slow / fast,
                "gap": found.state.gap,
                "machines": found.state.n_machines,
                "objective": found.state.objective,
                "relative difference": None if status == "failed" else difference,
                "cvxpy": status,
            }
        )
        if status == "failed":
            continue
        claims.append(common.Claim(f"against cvxpy + Clarabel, n={n}", slow / fast, wanted))
        claims.append(common.Claim(f"objective differs by, n={n}", difference, at_most=1e-5))
    common.finish("amkl_vs_cvxpy", arguments.quick, rows, claims)


if __name__ == "__main__":
    main()
