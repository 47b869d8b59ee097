"""What rounds of cross-view kernel transfer cost: CPU seconds over those of one round, before and now.

*axes*: every round finds the principal axes of the other views' features; *now*: rounds after the first are
one Cholesky factorisation for each view.  The same kernels come out (largest
difference, relative to the largest value).  In turn; medians of three, mfeat once.  Digits need nothing;
mfeat and the digits of Huusari et al. (2022) need their files in the folder named by the environment
variable ABSENTIA_DATA.
"""

from __future__ import annotations

import os
import warnings
from collections.abc import Iterator
from typing import Any

import common
import numpy as np

from absentia import CVKT, KernelViews, ViewKernels, datasets, missingness
from absentia.methods.completion.cvkt import _ridge

ROUNDS: tuple[Any, ...] = (1, 2, 3, 6, 8, "heldout")


def problems(quick: bool) -> Iterator[tuple[str, KernelViews]]:
    views = datasets.load_digit_views(n_samples=100 if quick else 300).views
    yield "digits", ViewKernels("rbf").fit_transform(views)
    if quick:
        return
    if not os.environ.get("ABSENTIA_DATA"):
        print("set ABSENTIA_DATA to the folder with the benchmark files for the rest")
        return
    yield "cvkt digits", datasets.load_benchmark("cvkt_digits200_kernels").kernels
    yield "mfeat", ViewKernels().fit_transform(datasets.load_benchmark("mfeat").views)


def fitted(kernels: KernelViews, rounds: Any, firm: float) -> CVKT:
    """With solves for ridges of at least `firm`, else with axes."""
    before, _ridge._MIN_SOLVE_RIDGE = _ridge._MIN_SOLVE_RIDGE, firm
    try:
        return CVKT(rounds=rounds).fit(kernels)
    finally:
        _ridge._MIN_SOLVE_RIDGE = before


def main() -> None:
    arguments = common.parser(__doc__).parse_args()
    warnings.simplefilter("ignore")
    rows: list[dict[str, Any]] = []
    now = _ridge._MIN_SOLVE_RIDGE
    for name, truth in problems(arguments.quick):
        kernels = truth.hide(missingness.fixed_per_view(truth, 0.3, random_state=0))
        cases = [(rounds, firm) for rounds in ROUNDS for firm in (np.inf, now)]
        done: dict[Any, CVKT] = {}
        calls = [lambda c=c, k=kernels, d=done: d.update({c: fitted(k, *c)}) for c in cases]
        few = arguments.quick or len(truth) > 1000
        seconds = dict(zip(cases, common.interleaved(calls, 1 if few else 3), strict=True))
        for rounds in ROUNDS:
            axes, solved = (done[rounds, firm].transform(kernels).to_dense() for firm in (np.inf, now))
            rows.append(
                {
                    "data": name,
                    "rounds": rounds,
                    "CPU s, axes": seconds[rounds, np.inf],
                    "CPU s, now": seconds[rounds, now],
                    "over one round, axes": seconds[rounds, np.inf] / seconds[1, np.inf],
                    "over one round, now": seconds[rounds, now] / seconds[1, now],
                    "difference": float(np.abs(axes - solved).max() / np.abs(axes).max()),
                }
            )
        print(".", end="", flush=True)
    common.finish("cvkt_rounds", arguments.quick, rows, claims(rows))


def claims(rows: list[dict[str, Any]]) -> list[common.Claim]:
    found = [
        common.Claim(
            f"{row['data']}: rounds={row['rounds']} over one round", row["over one round, now"], at_most=2.0
        )
        for row in rows
        if row["rounds"] in (3, 6, "heldout")
    ]
    worst = max(row["difference"] for row in rows)
    return [*found, common.Claim("relative difference of kernels, largest", worst, at_most=1e-8)]


if __name__ == "__main__":
    main()
