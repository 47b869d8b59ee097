"""MKC on the digits kernels of Huusari et al. (2022): its variants, here and by the paper's definitions.

200 digits, six kernels, the authors' own masks (one per level), 10, 30 and 50 % of the samples missing in
each view.  CA and ARE against the kernels before hiding, averaged over views; accuracy of an SVM on the
completed kernels, five-fold, as in the demo; CPU seconds of one fit.  Nothing is tuned: weights are the
defaults, or c1 and c2 as the authors' code suggests (c1=1000, c2=1 or 10).  Needs the file
cvkt_digits200_kernels.npz in the folder named by the environment variable ABSENTIA_DATA.
"""

from __future__ import annotations

import os
import warnings
from typing import Any

import common
import numpy as np

from absentia import MKC, MKMC, MeanFill, ZeroFill, datasets, demo, metrics

PAPER: dict[str, Any] = {"center": False, "between": "observed"}
METHODS: dict[str, Any] = {
    "zero fill": ZeroFill(),
    "mean fill": MeanFill(),
    "mkmc-pca": MKMC("pca"),
    "ht": MKC("ht"),
    "app": MKC("app"),
    "sdp": MKC("sdp"),
    "ht, c1=1000 c2=1": MKC("ht", c1=1000.0),
    "ht, c1=1000 c2=10": MKC("ht", c1=1000.0, c2=10.0),
    "app, c1=1000 c2=1": MKC("app", c1=1000.0),
    "app, c1=1000 c2=10": MKC("app", c1=1000.0, c2=10.0),
    "ht, paper's": MKC("ht", **PAPER),
    "app, paper's": MKC("app", **PAPER),
    "sdp, paper's": MKC("sdp", **PAPER),
    "ht, paper's, c1=1000 c2=1": MKC("ht", c1=1000.0, **PAPER),
    "ht, paper's, c1=1000 c2=10": MKC("ht", c1=1000.0, c2=10.0, **PAPER),
}


def main() -> None:
    arguments = common.parser(__doc__).parse_args()
    if not os.environ.get("ABSENTIA_DATA"):
        print(
            "mkc_digits needs cvkt_digits200_kernels.npz: set ABSENTIA_DATA to the folder that holds it; "
            "nothing was run"
        )
        return
    warnings.simplefilter("ignore")
    data = datasets.load_benchmark("cvkt_digits200_kernels")
    truth, y = data.kernels, np.asarray(data.target).ravel()
    rows, claims = [], []
    for percent in (10,) if arguments.quick else (10, 30, 50):
        level = list(data.extra["mask_missing_percent"]).index(percent)
        keep = data.extra["masks"][level].astype(bool)
        incomplete = truth.hide(keep)
        errors: dict[str, float] = {}
        for name, method in METHODS.items():
            if arguments.quick and isinstance(method, MKC):
                method = method.set_params(tol=1e-2)
            seconds, completed = common.cpu(lambda m=method, k=incomplete: m.fit_transform(k))
            trace = getattr(method, "objective_", None)
            errors[name] = metrics.are(truth, completed, keep)
            rows.append(
                {
                    "method": f"{percent} %  {name}",
                    "CA": metrics.ca_error(truth, completed),
                    "ARE": errors[name],
                    "accuracy": demo.accuracy(completed, y),
                    "CPU s": seconds,
                    "iterations": None if trace is None else len(trace),
                    "converged": getattr(method, "converged_", None),
                    "objective": None if trace is None else float(trace[-1]),
                }
            )
        for variant in ("ht", "app", "sdp"):
            share = errors[variant] / errors["mean fill"]
            claims.append(common.Claim(f"{percent} %: ARE of {variant} / mean fill", share, at_most=1.0))
    common.finish("mkc_digits", arguments.quick, rows, claims)


if __name__ == "__main__":
    main()
