"""Duality gap against time: second-order steps on the weights beside weights in closed form.

20 RBF kernels, 40 % of the cells absent.  Both solve the same machines with the same compiled solver, warm
started, and both are judged by the same certificate; only the step between machines differs.  The closed
form, ``eta_p = |w_p| / sum |w|``, the limit of lp-norm learning at p = 1, is for the zero-filled problem
only, so that is the fair pair; exact C-AMKL is shown beside it.  Writes docs/amkl_gap.svg unless quick.
"""

from __future__ import annotations

import time
from typing import Any

import amkl_data
import common
import numpy as np
import svg

from absentia.methods.learning.engine._problem import Problem, evaluate, initial_state
from absentia.methods.learning.engine._regions import Polytope
from absentia.methods.learning.engine._solver import solve
from absentia.methods.learning.engine._stacks import KernelStack
from absentia.methods.learning.engine._svm import Box

BLUE, ORANGE, GREY = "#1f5fa8", "#c65d00", "#767676"
Curve = tuple[list[float], list[float]]  # CPU seconds, gaps


def second_order(problem: Problem, tol: float) -> Curve:
    """The package's solver."""
    begun = time.process_time()
    seconds: list[float] = []
    gaps: list[float] = []

    def note(progress: Any) -> None:
        seconds.append(time.process_time() - begun)
        gaps.append(max(progress.change, 1e-12))

    solve(problem, tol=tol, callback=note)
    return seconds, gaps


def closed_form(problem: Problem, tol: float, most: int) -> Curve:
    """``eta_p = |w_p| / sum |w|`` with ``|w_p| = eta_p sqrt(q_p)``, and a machine, in turn."""
    begun = time.process_time()
    point = initial_state(problem).point
    seconds: list[float] = []
    gaps: list[float] = []
    upper, lower = np.inf, -np.inf
    for _ in range(most):
        norms = point.eta * np.sqrt(np.maximum(point.q, 0.0))
        gap = gaps[-1] if gaps else 1.0
        # machines no sharper than the weights deserve, as in the package's solver
        point = evaluate(problem, norms / norms.sum(), min(1e-2, max(gap, tol) / 10), point.machine.z)
        upper, lower = min(upper, point.primal), max(lower, point.lower)
        seconds.append(time.process_time() - begun)
        gaps.append(max((upper - lower) / upper, 1e-12))
        if gaps[-1] <= tol:
            break
    return seconds, gaps


def thinned(curve: Curve, most: int = 40) -> Curve:
    """At most so many points, evenly spaced in the logarithm of their number."""
    keep = np.unique(np.geomspace(1, len(curve[0]), most).astype(int)) - 1
    return [curve[0][k] for k in keep], [curve[1][k] for k in keep]


def main() -> None:
    arguments = common.parser(__doc__).parse_args()
    sizes = [100] if arguments.quick else [500, 2000]
    tol, most = 1e-6, 30 if arguments.quick else 200
    rows: list[dict[str, Any]] = []
    panels = []
    for n in sizes:
        X, y = amkl_data.made_up(n)
        kernels = amkl_data.rbf_kernels(X, amkl_data.masked(n, 20, 0.4, seed=n))
        stack, box = KernelStack.of(kernels), Box.classification(y, np.ones(n))
        filled = Problem(stack, box, Polytope.simplex(20))
        exact = Problem(stack, box, Polytope.of_rows(kernels.observed))
        second_order(filled, 1e-2)  # compile
        curves = {
            "closed form": closed_form(filled, tol, most),
            "second order": second_order(filled, tol),
            "C-AMKL, second order": second_order(exact, tol),
        }
        for name, (seconds, gaps) in curves.items():
            within = [s for s, g in zip(seconds, gaps, strict=True) if g <= 1e-4]
            row = {"n": n, "steps on weights": name, "steps": len(gaps), "last gap": gaps[-1]}
            rows.append(row | {"CPU s to 1e-4": within[0] if within else None, "CPU s": seconds[-1]})
        lines = [
            svg.Line("closed form", *thinned(curves["closed form"]), GREY),
            svg.Line("second order", *curves["second order"], BLUE),
            svg.Line("C-AMKL", *curves["C-AMKL, second order"], ORANGE),
        ]
        ticks = [0.001, 0.01, 0.1, 1.0, 10.0, 100.0]
        span = [s for line in lines for s in line.x]
        inside = [t for t in ticks if min(span) / 2 <= t <= max(span) * 2]
        panels.append(svg.Panel(f"{n:,} samples", "CPU seconds, one thread", lines, inside))
    if not arguments.quick:
        words = "Relative duality gap against CPU seconds, log-log, for 500 and 2000 samples"
        (common.DOCS / "amkl_gap.svg").write_text(
            svg.chart(panels, "relative duality gap", words), encoding="utf-8"
        )
        print("docs/amkl_gap.svg written")
    common.finish("amkl_gap", arguments.quick, rows)


if __name__ == "__main__":
    main()
