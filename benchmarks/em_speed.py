"""EM filling before and after patterns of absence shared their work: CPU seconds and errors, in turn.

*former*: one factorisation of the covariance for each pattern of absence and evaluation, strengths tried
until two in a row were worse, every fit until three steps in a row were short, the last one from the prior
(``tests/reference/em_by_pattern.py``).  *present*: ``EMFill()``.  Both at their defaults, on the same
kernels with the same cells hidden.  ARE (lower is better) of the rows that were hidden, over the samples
whose truth is known.  *football-like*: 248 samples of counts in nine views, 20 clubs and 30 interests that
views share, cosine kernels; *wide*: the same with shorter counts, whose kernels have more components.  The
others need the benchmark files in the folder named by the environment variable ABSENTIA_DATA.
"""

from __future__ import annotations

import os
import sys
import warnings
from collections.abc import Iterator
from typing import Any

import common
import numpy as np

sys.path.insert(0, str(common.HERE.parent / "tests"))

from completion_defaults import are

from absentia import EMFill, KernelViews, ViewKernels, datasets, missingness
from absentia.methods.completion import Holdout
from reference import em_by_pattern

Problem = tuple[str, KernelViews, np.ndarray]  # name, truth, what stays

FEATURES = ("3sources_full416", "cll_mofaCLL", "tcga_breast_mixomics")


def football(n: int = 248, length: float = 8.0, seed: int = 0) -> KernelViews:
    """Counts of words or contacts of members of 20 clubs; `length`: mean logarithm of their number."""
    rng = np.random.default_rng(seed)
    club, interests = rng.permutation(np.arange(n) % 20), rng.gamma(0.5, size=(n, 30))
    kernels = []
    for m in (3000, 1000, 1000, 1000, 1000, 4000, 1000, 1000, 3500):
        topics, shared = rng.gamma(0.05, size=(20, m)), rng.gamma(0.05, size=(30, m))
        own = rng.gamma(0.3, size=(n, 10)) @ rng.gamma(0.05, size=(10, m))
        rate = topics[club] + interests @ shared + own / 2 + 0.01
        rate *= rng.lognormal(length, 0.7, size=n)[:, None] / rate.sum(axis=1, keepdims=True)
        counts = rng.poisson(rate).astype(float)
        counts /= np.maximum(np.linalg.norm(counts, axis=1, keepdims=True), 1e-300)
        kernels.append(counts @ counts.T)
    return KernelViews.from_dense(np.stack(kernels))


def problems(quick: bool) -> Iterator[Problem]:
    yield from hidden("football-like", football(80 if quick else 248))
    views = datasets.load_digit_views(n_samples=100 if quick else 300).views
    yield from hidden("digits", ViewKernels("rbf").fit_transform(views), seeds=1 if quick else 3)
    if quick:
        return
    yield from hidden("football-like, wide", football(length=6.0))
    if not os.environ.get("ABSENTIA_DATA"):
        print("set ABSENTIA_DATA to the folder with the benchmark files for the rest")
        return
    yield from hidden("mfeat", ViewKernels().fit_transform(datasets.load_benchmark("mfeat").views))
    for name in FEATURES:
        truth = ViewKernels().fit_transform(datasets.load_benchmark(name).views)
        for share in (0.3, 0.5):
            yield from hidden(name.split("_")[0], truth, share, seeds=3)
    data = datasets.load_benchmark("cvkt_digits200_kernels")
    yield "cvkt digits, 30 %", data.kernels, np.asarray(data.extra["masks"][2], dtype=bool)
    data = datasets.load_benchmark("embryo_kernels")
    keep = data.kernels.observed.copy()
    keep[np.asarray(data.extra["holdout_view1_30"]), 1] = False
    yield "embryo, view1", data.kernels, keep


def hidden(name: str, truth: KernelViews, share: float = 0.3, seeds: int = 1) -> Iterator[Problem]:
    for seed in range(seeds):
        keep = truth.observed & missingness.fixed_per_view(truth, share, random_state=seed)
        yield (
            f"{name}, {share:.0%}".replace("%", " %") + (f", mask {seed}" if seeds > 1 else ""),
            truth,
            keep,
        )


def former(kernels: KernelViews) -> tuple[KernelViews, float]:
    """Completed kernels and the strength."""
    trial = Holdout.of(kernels)
    K, observed = np.nan_to_num(kernels.to_dense()), kernels.observed
    if trial.n_hidden:
        done, ridge, _ = em_by_pattern.fill(K, observed, trial.part.observed)
    else:
        model, ridge = em_by_pattern.Model(K, observed), 0.3
        model.fit(ridge, 1e-6)
        done = model.filled()
    return kernels.completed(dict(zip(kernels.names, done, strict=True))), ridge


def present(kernels: KernelViews) -> tuple[KernelViews, float]:
    fill = EMFill()
    return fill.fit_transform(kernels), fill.ridge_


def main() -> None:
    arguments = common.parser(__doc__).parse_args()
    warnings.simplefilter("ignore")
    rows: list[dict[str, Any]] = []
    for name, truth, keep in problems(arguments.quick):
        incomplete = truth.hide(keep)
        row: dict[str, Any] = {"data, hidden": name, "samples": len(truth), "views": truth.n_views}
        for label, method in (("former", former), ("present", present)):
            seconds, (done, ridge) = common.cpu(lambda m=method, k=incomplete: m(k))
            row |= {
                f"CPU s, {label}": seconds,
                f"ridge, {label}": ridge,
                f"ARE, {label}": are(truth, done, keep),
            }
        row["times faster"] = row["CPU s, former"] / row["CPU s, present"]
        row["ARE ratio"] = row["ARE, present"] / row["ARE, former"]
        rows.append(row)
        print(".", end="", flush=True)
    common.finish("em_speed", arguments.quick, rows, claims(rows))


def claims(rows: list[dict[str, Any]]) -> list[common.Claim]:
    by_name = {row["data, hidden"]: row for row in rows}
    found = [
        common.Claim(f"{name}: CPU s of EMFill()", by_name[name]["CPU s, present"], at_most=limit)
        for name, limit in (
            ("football-like, 30 %", 10),
            ("football-like, wide, 30 %", 10),
            ("mfeat, 30 %", 60),
        )
        if name in by_name
    ]
    football = [row["times faster"] for name, row in by_name.items() if name.startswith("football")]
    found.append(common.Claim("football-like: times faster, least", min(football), at_least=20))
    worst = max(row["ARE ratio"] for row in rows)
    return [*found, common.Claim("ARE over the former's, worst", worst, at_most=1.02)]


if __name__ == "__main__":
    main()
