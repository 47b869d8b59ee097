"""The fillers side by side: how well, and how fast, do simple methods complete kernels?

RBF kernels of scikit-learn's digits in six views (300 of them) and of the UCI multiple features digits (400
of 2000), the same share of samples hidden in each view; and the 200 digits with the kernels and the
published masks of Huusari et al. (2022).  CA and ARE against the kernels before hiding; accuracy of an SVM,
five-fold, as in the demo.  All methods have their
defaults, which never see what was hidden, but for five neighbours and counted components (the defaults of
those are in completion_defaults.py).  The last two
data sets need their files in the folder named by the environment variable ABSENTIA_DATA.
"""

from __future__ import annotations

import os
import warnings
from collections.abc import Callable, Iterator
from typing import Any

import common
import numpy as np

from absentia import (
    MKMC,
    EMFill,
    KernelViews,
    KNNFill,
    MeanFill,
    SVTFill,
    ViewKernels,
    ZeroFill,
    datasets,
    metrics,
    missingness,
)

METHODS: dict[str, Callable[[], Any]] = {
    "zero": ZeroFill,
    "mean": MeanFill,
    "mean, blocks": lambda: MeanFill("blocks"),
    "knn": lambda: KNNFill(5),
    "svt": SVTFill,
    "em": EMFill,
    "mkmc-pca": lambda: MKMC("pca", n_components="gk"),
}

Problem = tuple[str, KernelViews, np.ndarray, list[np.ndarray]]  # name, truth, labels, masks


def problems(quick: bool) -> Iterator[Problem]:
    """Data sets with 30 % and with half of the samples hidden in each view."""
    n, seeds = (100, 1) if quick else (300, 3)
    views, y = datasets.load_digit_views(n_samples=n, return_X_y=True)
    yield from hidden("digits", ViewKernels("rbf").fit_transform(views), y, seeds)
    if not os.environ.get("ABSENTIA_DATA"):
        print("set ABSENTIA_DATA to the folder with mfeat.npz and cvkt_digits200_kernels.npz for the rest")
        return
    data = datasets.load_benchmark("mfeat")
    y = np.asarray(data.target)
    rng, each = np.random.default_rng(0), 10 if quick else 40
    some = np.sort(
        np.concatenate([rng.choice(np.flatnonzero(y == c), each, replace=False) for c in np.unique(y)])
    )
    yield from hidden("mfeat", ViewKernels("rbf").fit_transform(data.views[some]), y[some], seeds)
    data = datasets.load_benchmark("cvkt_digits200_kernels")
    for level, share in ((2, 30), (4, 50)):
        mask = np.asarray(data.extra["masks"][level], dtype=bool)
        yield f"cvkt digits, {share} %", data.kernels, np.asarray(data.target), [mask]


def hidden(name: str, truth: KernelViews, y: np.ndarray, seeds: int) -> Iterator[Problem]:
    for share in (0.3, 0.5):
        masks = [missingness.fixed_per_view(truth, share, random_state=seed) for seed in range(seeds)]
        yield f"{name}, {share:.0%}".replace("%", " %"), truth, y, masks


def main() -> None:
    arguments = common.parser(__doc__).parse_args()
    warnings.simplefilter("ignore")
    rows = []
    for data, truth, y, masks in problems(arguments.quick):
        for name, make in METHODS.items():
            scores = []
            for keep in masks:
                incomplete, method = truth.hide(keep), make()
                seconds, done = common.cpu(lambda m=method, k=incomplete: m.fit_transform(k))
                errors = metrics.ca_error(truth, done), metrics.are(truth, done, keep)
                scores.append((*errors, common.accuracy(done, y), seconds))
            means = map(float, np.mean(scores, axis=0))
            cells = dict(zip(("CA", "ARE", "accuracy", "CPU s"), means, strict=True))
            rows.append({"data, hidden": data, "masks": len(masks), "method": name, **cells})
    common.finish("fillers_quality", arguments.quick, rows)


if __name__ == "__main__":
    main()
