"""Several model kernels or one: MixtureMKMC beside MKMC, on made-up groups of views and on real data.

Made-up views: linear kernels of features of 150 samples, eight views in two groups of four with factors of
their own (where several models must help), or all of one group (where they must do no harm).  Real data:
400 digits of mfeat in six RBF kernels, the twelve protein kernels, the two of BBC sport, and 200 digits.
20 and 50 % of each view's samples are hidden.  Frobenius: relative error of the hidden rows, mean over
views; ARE: mean relative error of a hidden row; accuracy of an SVM on the mean kernel, five-fold.
``MKMC, prior chosen`` is MixtureMKMC(1): what the choice of the prior alone brings.  Differences are
paired, by mask, with their standard errors; negative errors and positive accuracies are better.  CPU
seconds of a fit, one BLAS thread.  ``--data digits mfeat`` runs some of the data only.  Real data need the
files in the folder named by ABSENTIA_DATA.
"""

from __future__ import annotations

import os
import warnings
from collections.abc import Callable, Iterator
from typing import Any

import common
import numpy as np
from completion_defaults import are

from absentia import (
    CVKT,
    MKMC,
    KernelViews,
    MeanFill,
    MixtureMKMC,
    ViewKernels,
    datasets,
    experiment,
    missingness,
)
from absentia.methods.completion._holdout import relative_error

METHODS: dict[str, Callable[[], Any]] = {
    "mean": MeanFill,
    "CVKT": CVKT,
    "MKMC": MKMC,
    "MKMC, prior chosen": lambda: MixtureMKMC(1),
    "MixtureMKMC": MixtureMKMC,
}
PAIRS = (("MixtureMKMC", "MKMC"), ("MixtureMKMC", "MKMC, prior chosen"), ("MixtureMKMC", "CVKT"))
MEASURES = ("Frobenius", "ARE", "accuracy", "CPU s", "models")

Problem = tuple[str, Callable[[int], KernelViews], np.ndarray | None]


def made_up(seed: int, n_groups: int, n: int = 150, n_views: int = 8) -> KernelViews:
    """Linear kernels of 60 features: eight factors shared within a group, and noise."""
    rng = np.random.default_rng(seed)
    factors = rng.standard_normal((n_groups, n, 8))
    blocks = {}
    for k in range(n_views):
        X = factors[k % n_groups] @ rng.standard_normal((8, 60)) + 1.4 * rng.standard_normal((n, 60))
        blocks[f"view{k}"] = (np.arange(n), X @ X.T / 60)
    return KernelViews.from_blocks(blocks)


def problems(quick: bool) -> Iterator[Problem]:
    """Name, kernels by seed, classes."""
    yield "made up, two groups", lambda seed: made_up(seed, 2), None
    yield "made up, one group", lambda seed: made_up(seed, 1), None
    if quick or not os.environ.get("ABSENTIA_DATA"):
        return
    data = datasets.load_benchmark("cvkt_digits200_kernels")
    yield "digits", lambda _, kernels=data.kernels: kernels, np.asarray(data.target)
    data = datasets.load_benchmark("mfeat")
    y, rng = np.asarray(data.target), np.random.default_rng(0)
    some = [rng.choice(np.flatnonzero(y == c), 40, replace=False) for c in np.unique(y)]
    chosen = np.sort(np.concatenate(some))
    kernels = ViewKernels("rbf").fit_transform(data.views[chosen])
    yield "mfeat", lambda _, kernels=kernels: kernels, y[chosen]
    for name in ("proteinfold_embed27", "bbcsport_2view544"):
        data = datasets.load_benchmark(name)
        kernels = ViewKernels().fit_transform(data.views)
        yield name.split("_")[0], lambda _, kernels=kernels: kernels, np.asarray(data.target)


def measured(make: Callable[[], Any], truth: KernelViews, keep: np.ndarray, y: Any) -> list[float]:
    method = make()
    seconds, done = common.cpu(lambda: method.fit_transform(truth.hide(keep)))
    accuracy = np.nan if y is None else experiment.accuracy(done, y)
    errors = relative_error(truth, done, keep), are(truth, done, keep)
    return [*errors, accuracy, seconds, getattr(method, "n_models_", np.nan)]


def difference(a: np.ndarray, b: np.ndarray) -> str | None:
    """Mean of paired differences and its standard error."""
    if np.isnan(a).all():
        return None
    apart = a - b
    error = apart.std(ddof=1) / np.sqrt(len(apart)) if len(apart) > 1 else np.nan
    return f"{apart.mean():+.4f} ({error:.4f})"


def main() -> None:
    parser = common.parser(__doc__)
    parser.add_argument("--data", nargs="*", default=[""], help="names, or how they begin")
    parser.add_argument("--seeds", type=int, default=3, help="number of masks")
    arguments = parser.parse_args()
    warnings.simplefilter("ignore")
    seeds = 2 if arguments.quick else arguments.seeds
    rows: list[dict[str, Any]] = []
    pairs: list[dict[str, Any]] = []
    for name, kernels, y in problems(arguments.quick):
        if not name.startswith(tuple(arguments.data)):
            continue
        for share in (0.2, 0.5):
            data = f"{name}, {share:.0%}".replace("%", " %")
            found: dict[str, list[list[float]]] = {method: [] for method in METHODS}
            for seed in range(seeds):
                truth = kernels(seed)
                keep = missingness.fixed_per_view(truth, share, random_state=seed)
                for method, make in METHODS.items():
                    found[method].append(measured(make, truth, keep, y))
            values = {method: np.array(of) for method, of in found.items()}
            for method, of in values.items():
                means = {m: float(x) for m, x in zip(MEASURES, of.mean(axis=0), strict=True)}
                shown = {m: None if np.isnan(x) else x for m, x in means.items()}
                rows.append({"data": data, "method": method, **shown})
            for one, other in PAIRS:
                cells = {m: difference(values[one][:, i], values[other][:, i])
                         for i, m in enumerate(MEASURES[:3])}  # fmt: skip
                pairs.append({"data": data, f"paired, {seeds} masks": f"{one} - {other}", **cells})
            common.table(rows[-len(METHODS) :])
            common.table(pairs[-len(PAIRS) :])
    common.table(pairs)
    errors = {(row["data"], row["method"]): row["Frobenius"] for row in rows}

    def ratio(data: str, other: str) -> float:
        return errors[data, "MixtureMKMC"] / errors[data, other]

    names = list(dict.fromkeys(row["data"] for row in rows))
    claims = [
        common.Claim(f"{data}: error over MKMC's", ratio(data, "MKMC"), at_most=1.0)
        for data in names
        if "two groups" in data
    ]
    worst = max(ratio(data, "MKMC") for data in names)
    claims.append(common.Claim("error over MKMC's, worst", worst, at_most=1.02))
    common.finish("mkmc_mixture", arguments.quick, rows, claims)


if __name__ == "__main__":
    main()
