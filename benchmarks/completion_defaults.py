"""What completers do at their defaults: error and time beside mean fill, on kernels of ten data sets.

ARE (lower is better) of the rows that were hidden: for each view the mean over its hidden samples of the
relative error of a row, then the mean over the views that have any; of data that were incomplete to begin
with, over the samples whose truth is known.  Kernels of features are those of ``ViewKernels()``; of
proteinfold, which is factors, linear kernels too.  Masks: the published ones of the digits (30 and 50 %),
of the simulated kernels (two and four views missing) and of the embryos (view by view, 30 %); elsewhere 30
and 50 % of each view's samples, drawn once.  CPU seconds of one fit, one BLAS thread.  Needs the benchmark
files in the folder named by the environment variable ABSENTIA_DATA.
"""

from __future__ import annotations

import warnings
from collections.abc import Callable, Iterator
from typing import Any

import common
import numpy as np

from absentia import (
    CVKT,
    MKMC,
    AutoCompleter,
    KernelViews,
    KNNFill,
    MeanFill,
    ViewKernels,
    datasets,
    missingness,
)

METHODS: dict[str, Callable[[], Any]] = {
    "mean": MeanFill,
    "CVKT()": CVKT,
    "AutoCompleter()": AutoCompleter,
    "MKMC()": MKMC,
    "MKMC('gk')": lambda: MKMC(n_components="gk"),
    "KNNFill()": KNNFill,
    "KNNFill(5)": lambda: KNNFill(5),
}
FEATURES = (
    "mfeat",
    "bbcsport_2view544",
    "uwave_train",
    "proteinfold_embed27",
    "3sources_full416",
    "tcga_breast_mixomics",
    "cll_mofaCLL",
)
#: Beyond so many samples times views the mutual model, at minutes a fit, is left out.
MUTUAL = 4000

Problem = tuple[str, KernelViews, np.ndarray]  # name, truth, what stays


def problems(quick: bool) -> Iterator[Problem]:
    """Data sets, and what is hidden of them."""
    data = datasets.load_benchmark("cvkt_digits200_kernels")
    for level, share in ((2, 30), (4, 50)):
        yield f"digits, {share} %", data.kernels, np.asarray(data.extra["masks"][level], dtype=bool)
    data = datasets.load_benchmark("cvkt_simulated_kernels")
    for level in (1, 3):
        yield f"simulated, a={level + 1}", data.kernels, np.asarray(data.extra["masks"][level], dtype=bool)
    yield from hidden("drm25", datasets.load_benchmark("mkc_drm25_kernels").kernels)
    if quick:
        return
    data = datasets.load_benchmark("embryo_kernels")
    for view in range(1, 6):
        keep = data.kernels.observed.copy()
        keep[np.asarray(data.extra[f"holdout_view{view}_30"]), view] = False
        yield f"embryo, view{view}", data.kernels, keep
    for name in FEATURES:
        views = datasets.load_benchmark(name).views
        yield from hidden(name.split("_")[0], ViewKernels().fit_transform(views))
        if name.startswith("proteinfold"):
            yield from hidden("proteinfold, linear", ViewKernels("linear").fit_transform(views))


def hidden(name: str, truth: KernelViews) -> Iterator[Problem]:
    for share in (0.3, 0.5):
        keep = truth.observed & missingness.fixed_per_view(truth, share, random_state=0)
        yield f"{name}, {share:.0%}".replace("%", " %"), truth, keep


def are(truth: KernelViews, done: KernelViews, keep: np.ndarray) -> float:
    """As :func:`absentia.metrics.are`, over the samples whose truth is known."""
    errors = []
    for v, name in enumerate(truth.names):
        known = np.flatnonzero(truth.observed[:, v])
        true, found = truth.block(name), done.operator(name).block(known, known)
        size = np.linalg.norm(true, axis=1)
        out = ~keep[known, v] & (size > 0)
        if out.any():
            errors.append(float((np.linalg.norm(found - true, axis=1)[out] / size[out]).mean()))
    return float(np.mean(errors))


def main() -> None:
    arguments = common.parser(__doc__).parse_args()
    common.files_folder()
    warnings.simplefilter("ignore")
    rows: list[dict[str, Any]] = []
    seconds: list[dict[str, Any]] = []
    for data, truth, keep in problems(arguments.quick):
        incomplete = truth.hide(keep)
        rows.append({"ARE": data, "samples": len(truth), "views": truth.n_views})
        seconds.append({"CPU s": data})
        for name, make in METHODS.items():
            if truth.observed.size > MUTUAL and name.startswith("MKMC"):
                continue
            cpu, done = common.cpu(lambda m=make, k=incomplete: m().fit_transform(k))
            rows[-1][name], seconds[-1][name] = are(truth, done, keep), cpu
        print(".", end="", flush=True)
    print()
    common.table(seconds)
    common.finish("completion_defaults", arguments.quick, rows, claims(rows, seconds))


def claims(rows: list[dict[str, Any]], seconds: list[dict[str, Any]]) -> list[common.Claim]:
    by_name, time = {row["ARE"]: row for row in rows}, {row["CPU s"]: row for row in seconds}
    limits = {"digits, 30 %": 0.10, "digits, 50 %": 0.13, "mfeat, 30 %": 0.27}
    found = [
        common.Claim(f"{data}: ARE of CVKT()", by_name[data]["CVKT()"], at_most=limit)
        for data, limit in limits.items()
        if data in by_name
    ]
    if "mfeat, 30 %" in time:
        found.append(
            common.Claim("mfeat, 30 %: CPU s of CVKT()", time["mfeat, 30 %"]["CVKT()"], at_most=15)
        )
    for method in ("CVKT()", "AutoCompleter()"):
        worst = max(row[method] / row["mean"] for row in rows if method in row)
        found.append(common.Claim(f"ARE of {method} over that of the mean, worst", worst, at_most=1.0))
    return found


if __name__ == "__main__":
    main()
