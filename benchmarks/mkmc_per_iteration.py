"""One fast evaluation against one iteration of the papers' dense algorithm; the whole fit, time and memory.

3588 samples (the papers' proteins) in six RBF views, 20 % of the samples hidden in each.  Every part runs
in a process of its own.  The memory of the fit is its peak beyond the kernels, which are read from a file
so that making them does not set the peak.  How many evaluations a fit takes depends on the data, so there
are two kinds: views whose own factors are as strong as the shared ones, and `datasets.make_multiview`,
where they are weaker.
"""

from __future__ import annotations

import json
import tempfile
from pathlib import Path
from typing import Any

import common
import numpy as np
import paper_dense

from absentia import MKMC, KernelViews
from absentia.data._presence import Presence
from absentia.methods.completion.mkmc import _low_rank


def save(kernels: KernelViews, folder: Path) -> None:
    folder.mkdir()
    np.save(folder / "observed.npy", kernels.observed)
    for name in kernels.names:
        np.save(folder / f"{name}.npy", kernels.block(name))


def load(folder: Path) -> KernelViews:
    """The kernels, each read straight into its array."""
    observed = np.load(folder / "observed.npy")
    names = tuple(f"view{k}" for k in range(observed.shape[1]))
    samples = Presence(np.arange(len(observed)), names, observed)
    return KernelViews.within(samples, {name: np.load(folder / f"{name}.npy") for name in names})


def part_make(folder: Path, n: int) -> dict[str, Any]:
    for data, views in common.DATA.items():
        save(views(n), folder / data)
    return {}


def part_time(folder: Path, _: int) -> dict[str, Any]:
    """CPU seconds of a dense iteration and of fast evaluations at two ranks and precisions."""
    kernels, noise = load(folder / "strong"), _low_rank.equal_noise
    calls, labels = [], []
    for dtype in ("float64", "float32"):
        problem = common.problem(kernels, dtype)
        for q in (20, 100):
            point = common.low_rank_start(problem, noise, q)
            calls.append(lambda p=problem, x=point: _low_rank.evaluate(p, noise, x))
            labels.append(f"{dtype} {q}")
    dense = {}
    for q in (20, 100):
        algorithm = paper_dense.PaperDense.of(kernels, "pca", q)
        model = algorithm.step(algorithm.start())
        before = common.interleaved(calls, 3)
        dense[q] = common.cpu(lambda a=algorithm, m=model: a.step(m))[0]
        after = common.interleaved(calls, 3)
        if q == 20:
            fast = [(a + b) / 2 for a, b in zip(before, after, strict=True)]
    return {"dense": dense, "fast": dict(zip(labels, fast, strict=True))}


def fit(folder: Path) -> dict[str, Any]:
    """The whole fit at 20 components, and how far memory rose above the kernels."""
    kernels = load(folder)
    before, peak_before = common.rss(), common.peak_rss()
    seconds, mkmc = common.cpu(lambda: MKMC("pca", n_components=20).fit(kernels))
    peak = common.peak_rss()
    again = common.cpu(lambda: MKMC("pca", n_components=20).fit(kernels))[0]
    return {
        "CPU s": min(seconds, again),
        "evaluations": mkmc.n_evaluations_,
        "iterations": mkmc.n_iter_,
        "input MB": sum(kernels.block(name).nbytes for name in kernels.names) / common.MB,
        "peak MB": peak,
        "beyond MB": max(peak, peak_before) - before,
    }


def part_dense(folder: Path, _: int) -> dict[str, Any]:
    """Memory of one dense iteration."""
    kernels = load(folder / "strong")
    before = common.rss()
    algorithm = paper_dense.PaperDense.of(kernels, "pca", 20)
    algorithm.step(algorithm.start())
    return {"beyond MB": common.peak_rss() - before}


PARTS = {
    "make": part_make,
    "time": part_time,
    "strong": lambda folder, _: fit(folder / "strong"),
    "weak": lambda folder, _: fit(folder / "weak"),
    "dense": part_dense,
}


def main() -> None:
    parser = common.parser(__doc__)
    parser.add_argument("--folder", type=Path, help="of the kernels, between the parts")
    arguments = parser.parse_args()
    n = 1200 if arguments.quick else 3588
    if arguments.part:
        print(json.dumps(PARTS[arguments.part](arguments.folder, n)))
        return
    quick = ["--quick"] if arguments.quick else []
    with tempfile.TemporaryDirectory() as folder:
        found = {part: common.child(__file__, part, "--folder", folder, *quick) for part in PARTS}
    rows, claims = [], []
    for q, wanted in ((20, 100.0), (100, 30.0)):
        dense = found["time"]["dense"][str(q)]
        rows.append({"one step": f"papers, dense, q={q}", "CPU s": dense, "times faster": 1.0})
        for dtype in ("float64", "float32"):
            fast = found["time"]["fast"][f"{dtype} {q}"]
            rows.append({"one step": f"fast, {dtype}, q={q}", "CPU s": fast, "times faster": dense / fast})
        fast = found["time"]["fast"][f"float64 {q}"]
        claims.append(
            common.Claim(f"one evaluation against one dense iteration, q={q}", dense / fast, wanted)
        )
    rows[0]["MB beyond input"] = found["dense"]["beyond MB"]
    for data in common.DATA:
        whole = found[data]
        label = f"whole fit, q=20, {data} own factors, {whole['evaluations']} evaluations"
        rows.append({"one step": label, "CPU s": whole["CPU s"], "MB beyond input": whole["beyond MB"]})
        what = f"whole pca fit, q=20, {data} own factors"
        claims.append(common.Claim(f"{what}: CPU s", whole["CPU s"], at_most=5.0))
        claims.append(common.Claim(f"{what}: MB beyond the input", whole["beyond MB"], at_most=1000.0))
    print(f"input: {found['strong']['input MB']:.0f} MB")
    print(f"{n} samples, 6 views")
    common.finish("mkmc_per_iteration", arguments.quick, rows, claims)


if __name__ == "__main__":
    main()
