"""A million samples, kernels given as factors: time of an evaluation, of the whole fit, and memory.

Six views of 100 float32 random Fourier factors, 20 % of the samples hidden in each, 20 components, dtype
float32.  The factors are made in place, so that making them does not set the peak of memory.  A tenth of
the size runs first and shows that cost is linear.
"""

from __future__ import annotations

import json
import sys
import warnings
from typing import Any

import common

from absentia import MKMC, KernelViews
from absentia.methods.completion.mkmc import _low_rank


def evaluate(kernels: KernelViews, covariance: str) -> float:
    """Median CPU seconds of one evaluation."""
    problem = common.problem(kernels, "float32")
    noise = _low_rank.equal_noise if covariance == "pca" else _low_rank.own_noise
    point = common.low_rank_start(problem, noise, 20)
    return common.enough(lambda: _low_rank.evaluate(problem, noise, point), budget=4.0, most=5)


def measure(n: int, covariance: str, max_iter: int) -> dict[str, Any]:
    kernels = common.factor_views(n)
    peak_input = common.peak_rss()
    options: dict[str, Any] = {"n_components": 20, "dtype": "float32", "tol": 1e-5, "max_iter": max_iter}
    try:
        seconds, mkmc = common.cpu(lambda: MKMC(covariance, **options).fit(kernels))
    except ValueError as error:
        print(f"{covariance}, {n} samples: {error}", file=sys.stderr)
        return {"samples": n, "covariance": covariance, "converged": "failed"}
    peak = common.peak_rss()
    evaluation = evaluate(kernels, covariance)
    completing, _ = common.cpu(lambda: mkmc.transform(kernels))
    return {
        "samples": n,
        "covariance": covariance,
        "CPU s / evaluation": evaluation,
        "fit, CPU s": seconds,
        "evaluations": mkmc.n_evaluations_,
        "converged": mkmc.converged_,
        "factors, GB": sum(kernels.operator(name).left.nbytes for name in kernels.names) / 2**30,
        "peak before fit, GB": peak_input / 1024,
        "peak of fit, GB": peak / 1024,
        "completing, CPU s": completing,
        "peak of completing, GB": common.peak_rss() / 1024,
    }


def main() -> None:
    parser = common.parser(__doc__)
    parser.add_argument("--size", type=int)
    parser.add_argument(
        "--max-iter", type=int, default=2000, help="of a fit: memory does not grow with more"
    )
    arguments = parser.parse_args()
    if arguments.part:
        warnings.simplefilter("ignore")
        print(json.dumps(measure(arguments.size, arguments.part, arguments.max_iter)))
        return
    n = 100_000 if arguments.quick else 1_000_000
    stop = ["--max-iter", arguments.max_iter]
    rows = [
        common.child(__file__, "pca", "--size", n // 10, *stop),
        common.child(__file__, "pca", "--size", n, *stop),
        common.child(__file__, "fa", "--size", n, *stop),
    ]
    pca = rows[1]
    claims = [
        common.Claim("CPU s per evaluation, pca", pca["CPU s / evaluation"], at_most=2.0),
        common.Claim("whole pca fit to 1e-5, CPU s", pca["fit, CPU s"], at_most=180.0),
        common.Claim(
            "peak memory of the pca fit, factors included, GB", pca["peak of fit, GB"], at_most=4.0
        ),
    ]
    common.finish("mkmc_million", arguments.quick, rows, claims)


if __name__ == "__main__":
    main()
