"""How the cost of a fit grows with the number of views; writes docs/mkmc_views.svg.

Kernels as 100 float32 factors, 30 % of the samples hidden in each view, 20 components, a fixed number of
iterations, so that what grows is the work and not the number of steps.  From some 16 views on nearly every
sample has a pattern of visibility of its own.  For comparison, one product and one inverse for each
pattern, however few samples have it.  Every number of views runs in a process of its own.
"""

from __future__ import annotations

import json
import math
import statistics
import time
import warnings
from typing import Any

import common
import numpy as np
import svg

from absentia import MKMC
from absentia.methods.completion.mkmc import _low_rank

BLUE, ORANGE, GREY = "#1f5fa8", "#c2570c", "#767676"
ITERATIONS = 8


def measure(size: int, n_views: int) -> dict[str, Any]:
    """CPU seconds of a fit of some iterations and of one of these; and of one with a step a pattern."""
    kernels = common.factor_views(size, n_views, hidden=0.3)
    rare, moments = _low_rank._MIN_COMMON, list[float]()
    before = common.peak_rss()

    def fit(common_from: int) -> tuple[float, float]:
        _low_rank._MIN_COMMON = common_from
        moments.clear()
        mkmc = MKMC("pca", n_components=20, dtype="float32", tol=0, max_iter=ITERATIONS)
        mkmc.callback = lambda _: moments.append(time.process_time())
        seconds, _ = common.cpu(lambda: mkmc.fit(kernels))
        return seconds, statistics.median(np.diff(moments).tolist())

    found: dict[str, Any] = {"views": n_views, "patterns": len(np.unique(kernels.observed, axis=0))}
    found["fit, CPU s"], found["iteration, CPU s"] = fit(rare)
    found["MB beyond factors"] = common.peak_rss() - before
    _, found["a step a pattern, CPU s"] = fit(1)
    return found


def exponent(rows: list[dict[str, Any]], what: str) -> float:
    """Slope between the first and the last number of views."""
    first, last = rows[0], rows[-1]
    return math.log(last[what] / first[what]) / math.log(last["views"] / first["views"])


def chart(rows: list[dict[str, Any]], size: int) -> str:
    x = [float(row["views"]) for row in rows]
    fits, steps = ([row[what] for row in rows] for what in ("fit, CPU s", "iteration, CPU s"))
    lines = [
        svg.Line("", [x[0], x[-1]], [steps[0] / 3, steps[0] / 3 * x[-1] / x[0]], GREY, True, guide="V"),
        svg.Line(f"fit, {ITERATIONS} iterations", x, fits, BLUE),
        svg.Line("iteration", x, steps, ORANGE),
        svg.Line("a step a pattern", x, [row["a step a pattern, CPU s"] for row in rows], GREY),
    ]
    panel = svg.Panel("Views", f"views V; l = {size:,}, 30 % absent", lines, x)
    return svg.chart([panel], "CPU seconds, one thread", "CPU seconds against the number of views, log-log")


def main() -> None:
    parser = common.parser(__doc__)
    parser.add_argument("--size", type=int)
    arguments = parser.parse_args()
    if arguments.part:
        warnings.simplefilter("ignore")
        print(json.dumps(measure(arguments.size, int(arguments.part))))
        return
    size = 5000 if arguments.quick else 100_000
    counts = [4, 16] if arguments.quick else [4, 8, 16, 32, 64]
    rows = [common.child(__file__, str(count), "--size", size) for count in counts]
    claims = [
        common.Claim(
            f"exponent of a fit, {counts[0]} to {counts[-1]} views",
            exponent(rows, "fit, CPU s"),
            at_most=1.3,
        ),
        common.Claim("exponent of an iteration", exponent(rows, "iteration, CPU s"), at_most=1.3),
    ]
    if not arguments.quick:
        target = common.DOCS / "mkmc_views.svg"
        target.write_text(chart(rows, size), encoding="utf-8")
        print(f"docs/{target.name} written")
    common.finish("mkmc_views", arguments.quick, rows, claims)


if __name__ == "__main__":
    main()
