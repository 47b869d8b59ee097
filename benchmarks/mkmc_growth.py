"""How one evaluation's cost grows with samples, views and components; writes docs/mkmc_growth.svg.

20 % of the samples hidden in each view.  Kernels as dense matrices (float64) and as 100 float32 factors;
for comparison one iteration of the papers' dense algorithm.  Exponents are slopes between the last two
sizes.
"""

from __future__ import annotations

import math
from typing import Any

import common
import numpy as np
import paper_dense
import svg

from absentia import KernelViews, missingness
from absentia.methods.completion.mkmc import _low_rank

BLUE, ORANGE, GREY = "#1f5fa8", "#c2570c", "#767676"


def dense_views(n: int, n_views: int) -> KernelViews:
    """Dense kernels that are quick to make: products of random factors plus the identity."""
    rng = np.random.default_rng(0)
    observed = missingness.fixed_per_view((n, n_views), 0.2, random_state=rng)
    blocks = {}
    for k in range(n_views):
        ids = np.flatnonzero(observed[:, k])
        X = rng.standard_normal((len(ids), 40))
        K = X @ X.T / 80
        K[np.diag_indices_from(K)] += 0.5
        blocks[f"view{k}"] = (ids, (K + K.T) / 2)
    return KernelViews.from_blocks(blocks)


def evaluation(kernels: KernelViews, dtype: str, q: int) -> tuple[float, int]:
    """Median CPU seconds of an evaluation, and the number of visibility patterns."""
    problem, noise = common.problem(kernels, dtype), _low_rank.equal_noise
    point = common.low_rank_start(problem, noise, q)
    patterns = len(np.unique(problem.visibility.rare, axis=0)) + len(problem.visibility.rows)
    return common.enough(lambda: _low_rank.evaluate(problem, noise, point)), patterns


def slope(x: list[float], y: list[float]) -> float:
    return math.log(y[-1] / y[-2]) / math.log(x[-1] / x[-2])


def guide(x: list[float], y: float, power: int, label: str) -> svg.Line:
    return svg.Line("", [x[0], x[-1]], [y, y * (x[-1] / x[0]) ** power], GREY, dashed=True, guide=label)


def main() -> None:
    arguments = common.parser(__doc__).parse_args()
    quick = arguments.quick
    sizes = [500, 1000, 2000] if quick else [500, 1000, 2000, 4000, 8000]
    many = [10_000, 30_000, 100_000] if quick else [10_000, 30_000, 100_000, 300_000, 1_000_000]
    counts, ranks = [2, 4, 8] if quick else [2, 4, 8, 16], [5, 10, 20, 40, 80, 160]
    n_dense, n_factors = (1000, 20_000) if quick else (2000, 100_000)
    rows: list[dict[str, Any]] = []

    def measured(what: str, kind: str, values: list[int], make: Any) -> tuple[list[float], list[float]]:
        seconds = []
        for value in values:
            found, patterns = make(value)
            seconds.append(found)
            rows.append(
                {"grows": what, "kernels": kind, "value": value, "CPU s": found, "patterns": patterns}
            )
        x = [float(value) for value in values]
        rows[-1]["exponent"] = slope(x, seconds)
        return x, seconds

    def paper(n: int) -> tuple[float, None]:
        algorithm = paper_dense.PaperDense.of(dense_views(n, 6), "pca", 20)
        model = algorithm.step(algorithm.start())
        return min(common.cpu(lambda: algorithm.step(model))[0] for _ in range(2)), None

    def dense(n: int, n_views: int = 6, q: int = 20) -> tuple[float, int]:
        return evaluation(dense_views(n, n_views), "float64", q)

    def factors(n: int, n_views: int = 6, q: int = 20) -> tuple[float, int]:
        return evaluation(common.factor_views(n, n_views), "float32", q)

    l_paper = measured("samples", "papers, one iteration", [s for s in sizes if s <= 2000], paper)
    l_dense = measured("samples", "dense", sizes, dense)
    l_factors = measured("samples", "factors", many, factors)
    k_dense = measured("views", f"dense, {n_dense} samples", counts, lambda k: dense(n_dense, k))
    k_factors = measured("views", f"factors, {n_factors} samples", counts, lambda k: factors(n_factors, k))
    dense_fixed, factors_fixed = dense_views(n_dense, 6), common.factor_views(n_factors)
    q_dense = measured(
        "components", f"dense, {n_dense} samples", ranks, lambda q: evaluation(dense_fixed, "float64", q)
    )
    q_factors = measured(
        "components",
        f"factors, {n_factors} samples",
        ranks,
        lambda q: evaluation(factors_fixed, "float32", q),
    )

    sized = f"dense l = {n_dense:,}, factors l = {n_factors:,}"
    panels = [
        svg.Panel(
            "Samples",
            "samples l (6 views, 20 components)",
            [
                guide(l_dense[0], l_dense[1][0] / 6, 2, "l²"),
                guide(l_factors[0], l_factors[1][0] / 3, 1, "l"),
                svg.Line("papers", *l_paper, GREY),
                svg.Line("dense", *l_dense, BLUE),
                svg.Line("factors", *l_factors, ORANGE),
            ],
            [1000, 10_000, 100_000] + ([] if quick else [1_000_000]),
        ),
        svg.Panel(
            "Views",
            "views K; " + sized,
            [
                guide(k_dense[0], k_dense[1][0] / 5, 1, "K"),
                svg.Line("dense", *k_dense, BLUE, below=True),
                svg.Line("factors", *k_factors, ORANGE),
            ],
            [float(k) for k in counts],
        ),
        svg.Panel(
            "Components",
            "components q; " + sized,
            [
                guide(q_dense[0], q_dense[1][0] / 15, 1, "q"),
                svg.Line("dense", *q_dense, BLUE, below=True),
                svg.Line("factors", *q_factors, ORANGE),
            ],
            [float(q) for q in ranks],
        ),
    ]
    target = common.DOCS / "mkmc_growth.svg"
    if not quick:
        words = "CPU seconds of one evaluation against samples, views and components, log-log"
        target.write_text(
            svg.chart(panels, "CPU seconds per evaluation, one thread", words), encoding="utf-8"
        )
        print(f"docs/{target.name} written")
    common.finish("mkmc_growth", quick, rows)


if __name__ == "__main__":
    main()
