"""Quality on the UCI multiple features digits: is fast as good as the papers' algorithm run to convergence?

400 of the 2000 digits, six RBF kernels, half of the samples hidden in each view, number of components by
Guttman-Kaiser.  CA and ARE against the kernels before hiding; accuracy of an SVM, five-fold, as in the
demo.  Needs mfeat.npz in the folder named by the environment variable ABSENTIA_DATA.
"""

from __future__ import annotations

import warnings
from collections.abc import Callable
from typing import Any

import common
import numpy as np

from absentia import MKMC, MeanFill, ViewKernels, ZeroFill, datasets, metrics, missingness

METHODS: dict[str, Callable[[], Any]] = {
    "zero fill": ZeroFill,
    "mean fill": MeanFill,
    "pca, fast": lambda: MKMC("pca", n_components="gk"),
    "fa, fast": lambda: MKMC("fa", n_components="gk"),
    "pca, algorithm='paper'": lambda: MKMC(
        "pca", n_components="gk", algorithm="paper", tol=1e-8, max_iter=1500
    ),
}


def main() -> None:
    arguments = common.parser(__doc__).parse_args()
    common.files_folder()
    warnings.simplefilter("ignore")
    data = datasets.load_benchmark("mfeat")
    y = np.asarray(data.target)
    rng = np.random.default_rng(0)
    some = np.sort(
        np.concatenate([rng.choice(np.flatnonzero(y == c), 40, replace=False) for c in np.unique(y)])
    )
    truth, y = ViewKernels("rbf").fit_transform(data.views[some]), y[some]
    masks = 1 if arguments.quick else 3
    scores: dict[str, list[tuple[float, ...]]] = {name: [] for name in METHODS}
    for seed in range(masks):
        keep = missingness.fixed_per_view(truth, 0.5, random_state=seed)
        incomplete = truth.hide(keep)
        for name, make in METHODS.items():
            method = make()
            seconds, completed = common.cpu(lambda m=method, k=incomplete: m.fit_transform(k))
            found = (metrics.ca_error(truth, completed), metrics.are(truth, completed, keep))
            rest = (common.accuracy(completed, y), seconds, getattr(method, "n_iter_", np.nan))
            scores[name].append((*found, *rest, getattr(method, "n_components_", np.nan)))
    columns = ("CA", "ARE", "accuracy", "CPU s", "iterations", "components")
    rows = []
    for name, values in scores.items():
        means = np.mean(values, axis=0)
        cells = {c: None if np.isnan(m) else float(m) for c, m in zip(columns, means, strict=True)}
        rows.append({f"mean of {masks} mask(s)": name, **cells})
    rows.append({f"mean of {masks} mask(s)": "nothing hidden", "accuracy": common.accuracy(truth, y)})
    fast, paper = rows[2], rows[4]
    claims = [
        common.Claim("CA of fast pca", fast["CA"], at_most=0.026),
        common.Claim("accuracy: papers minus fast", paper["accuracy"] - fast["accuracy"], at_most=0.01),
        common.Claim("CPU: papers to convergence / fast", paper["CPU s"] / fast["CPU s"], at_least=1.0),
    ]
    common.finish("mkmc_quality", arguments.quick, rows, claims)


if __name__ == "__main__":
    main()
