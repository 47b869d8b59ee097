"""Evaluations needed by plain, squared-extrapolated and EM-preconditioned quasi-Newton descent.

1000 samples in six RBF views, 20 % hidden, 20 components, both kinds of data, from the same start.  Each
method's evaluations are counted until its objective is within a share of the lowest that *it* reaches;
the objective has several minima, so where each ends is shown beside.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import common
import numpy as np
import px_em

from absentia.core.optimize import AccelerationState, DescentState, _squarem, make_quasi_newton_step
from absentia.methods.completion.mkmc import _low_rank

NOISE = {"pca": _low_rank.equal_noise, "fa": _low_rank.own_noise}
GAPS = (1e-3, 1e-4, 1e-5, 1e-6)


def run(step: Callable[[Any], Any], state: Any, most: int) -> tuple[np.ndarray, np.ndarray]:
    """Objective and evaluations so far, after each step."""
    values, costs = [state.value], [1]
    while costs[-1] < most:
        state = step(state)
        values.append(state.value)
        costs.append(state.n_evaluations)
    return np.array(values), np.array(costs)


def plain(evaluate: Callable[[Any], Any]) -> Callable[[AccelerationState], AccelerationState]:
    return lambda state: AccelerationState(
        evaluate(state.at.following), n_evaluations=state.n_evaluations + 1
    )


def main() -> None:
    arguments = common.parser(__doc__).parse_args()
    n, most = (300, 150) if arguments.quick else (1000, 400)
    rows, fewer = [], []
    for data, views in common.DATA.items():
        problem = common.problem(views(n))
        for covariance, noise in NOISE.items():
            first = common.low_rank_start(problem, noise, 20)

            def em(point: Any, p: Any = problem, o: Any = noise) -> Any:
                return px_em.evaluate(p, o, point)

            def sloped(point: Any, p: Any = problem, o: Any = noise) -> Any:
                return _low_rank.evaluate(p, o, point)

            runs = {
                "PX-EM": run(plain(em), AccelerationState(em(first)), most),
                "PX-EM, SQUAREM": run(_squarem(em), AccelerationState(em(first)), most),
                "quasi-Newton": run(make_quasi_newton_step(sloped), DescentState(sloped(first)), most),
            }
            needed = {}
            for method, (values, costs) in runs.items():
                gaps = (values - values[-1]) / abs(values[-1])
                needed[method] = [int(costs[np.argmax(gaps <= gap)]) for gap in GAPS]
                rows.append(
                    {"data": data, "covariance": covariance, "method": method}
                    | {f"to {gap:g}": cost for gap, cost in zip(GAPS, needed[method], strict=True)}
                    | {"ends at": float(values[-1])}
                )
            fewer.append(needed["PX-EM, SQUAREM"][-1] / needed["quasi-Newton"][-1])
    claims = [
        common.Claim(
            "SQUAREM's evaluations over quasi-Newton's to 1e-6, geometric mean",
            float(np.exp(np.mean(np.log(fewer)))),
            1.0,
        )
    ]
    common.finish("mkmc_acceleration", arguments.quick, rows, claims)


if __name__ == "__main__":
    main()
