"""Cross-view transfer of 20,000 samples: time, and memory beside what kernels would take.

Six views of 100 float32 random Fourier factors, 20 % of the samples hidden in each, 100 landmarks per
view, or none: factors are features then, and what is learned is sums over blocks.  Completed kernels stay
operators; the error is measured on 500 hidden rows of each view against 2000 samples, with the mean (of
feature space) beside it.
"""

from __future__ import annotations

import json
import warnings
from typing import Any

import common
import numpy as np

from absentia import CVKT, KernelViews, missingness


def error(truth: KernelViews, completed: KernelViews, keep: np.ndarray) -> tuple[float, float]:
    """Relative error of some hidden rows, own kernel value left out: completed, and mean."""
    rng = np.random.default_rng(0)
    columns = np.sort(rng.choice(len(truth), min(len(truth), 2000), replace=False))
    found, mean = [], []
    for v, name in enumerate(truth.names):
        hidden = np.flatnonzero(~keep[:, v])
        rows = np.sort(rng.choice(hidden, min(len(hidden), 500), replace=False))
        K, K_hat = (x.operator(name).block(rows, columns) for x in (truth, completed))
        other = rows[:, None] != columns
        seen = np.flatnonzero(keep[:, v])
        centre = truth.operator(name).select(columns, seen) @ np.full((len(seen), 1), 1 / len(seen))
        size = np.linalg.norm(K * other, axis=1)
        found.append(np.mean(np.linalg.norm((K_hat - K) * other, axis=1) / size))
        mean.append(np.mean(np.linalg.norm((centre.T - K) * other, axis=1) / size))
    return float(np.mean(found)), float(np.mean(mean))


def measure(n: int, rounds: int, n_landmarks: int | None) -> dict[str, Any]:
    truth = common.factor_views(n, hidden=0.0)
    keep = missingness.fixed_per_view(truth, 0.2, random_state=0)
    kernels = truth.hide(keep)
    before = common.peak_rss()
    cvkt = CVKT(rounds=rounds, n_landmarks=n_landmarks)
    fitting, _ = common.cpu(lambda: cvkt.fit(kernels))
    fitted = common.peak_rss()
    completing, completed = common.cpu(lambda: cvkt.transform(kernels))
    product, _ = common.cpu(lambda: completed.operator("view0") @ np.ones((n, 1)))
    peak = common.peak_rss()
    new = np.arange(min(n, 200))
    folding, _ = common.cpu(lambda: cvkt.transform(kernels[np.ix_(new, np.arange(n))]))
    ours, mean = error(truth, completed, keep)
    return {
        "samples": n,
        "rounds": rounds,
        "landmarks": n_landmarks or "none",
        "fit, CPU s": fitting,
        "completing, CPU s": completing,
        "product, CPU s": product,
        "200 new, CPU s": folding,
        "peak before, GB": before / 1024,
        "peak of fit, GB": fitted / 1024,
        "peak of completing, GB": peak / 1024,
        "six kernels as arrays, GB": 6 * 8 * n * n / 2**30,
        "ARE": ours,
        "ARE of mean": mean,
    }


def main() -> None:
    parser = common.parser(__doc__)
    parser.add_argument("--size", type=int)
    parser.add_argument("--landmarks", type=int)
    arguments = parser.parse_args()
    if arguments.part:
        warnings.simplefilter("ignore")
        print(json.dumps(measure(arguments.size, int(arguments.part), arguments.landmarks)))
        return
    n, m = (4000, 50) if arguments.quick else (20_000, 100)
    rows = [
        common.child(__file__, rounds, "--size", size, "--landmarks", m)
        for size, rounds in ((n // 10, "1"), (n, "1"), (n, "3"))
    ]
    rows += [common.child(__file__, rounds, "--size", n) for rounds in ("1", "3")]
    claims = [
        common.Claim("peak of fitting and completing, GB", rows[1]["peak of completing, GB"], at_most=2.0),
        common.Claim("the same, three rounds, GB", rows[2]["peak of completing, GB"], at_most=2.0),
        common.Claim("without landmarks, GB", rows[4]["peak of completing, GB"], at_most=2.0),
        common.Claim("ARE, ours / mean", rows[1]["ARE"] / rows[1]["ARE of mean"], at_most=1.0),
    ]
    common.finish("cvkt_large", arguments.quick, rows, claims)


if __name__ == "__main__":
    main()
