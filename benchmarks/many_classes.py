"""Many classes, one against the rest: the hinge loss beside its square.

    python benchmarks/many_classes.py             # a few CPU minutes
    python benchmarks/many_classes.py --settle    # the data by which the threshold was settled

Made-up classes, normal around centres of their own in three views of ten features, eight samples of each to
learn from and eight to judge, 30 % of the views absent.  C is 1 and, apart, the best of three by accuracy
on samples that neither learn nor judge, for each loss its own.  The threshold of ``AverageKernelSVC`` was
settled on seeds from 0 on; what is reported has seeds from 100 on.
"""

from __future__ import annotations

import argparse
import time
import warnings
from typing import Any

import common  # before NumPy: one BLAS thread
import numpy as np

from absentia import AverageKernelSVC, KernelViews, MKLClassifier, ViewKernels, Views, missingness

EACH = 8  # samples of a class, of each part
LOSSES = ("hinge", "squared_hinge")


def make_parts(n_classes: int, seed: int) -> tuple[list[KernelViews], np.ndarray]:
    """Kernels to learn from, to choose C by and to judge by, and the classes, the same in each."""
    rng = np.random.default_rng([seed, n_classes])
    y = np.tile(np.repeat(np.arange(n_classes), EACH), 3)
    centres = rng.standard_normal((3, n_classes, 10))
    features = [centre[y] + 1.2 * rng.standard_normal((len(y), 10)) for centre in centres]
    views = Views.from_list(features)
    views = views.hide(missingness.mcar(views, 0.3, random_state=seed))
    parts = np.split(np.arange(len(y)), 3)
    kernels = ViewKernels().fit(views[parts[0]])
    rows = [kernels.transform(views[part]) for part in parts[1:]]
    return [kernels.fit_transform(views[parts[0]]), *rows], y[parts[0]]


def judge(machine: Any, parts: list[KernelViews], y: np.ndarray) -> tuple[float, float, float]:
    """Accuracy on the last part, on the middle one, and CPU seconds of the fit."""
    start = time.process_time()
    machine.fit(parts[0], y)
    seconds = time.process_time() - start
    chosen, judged = (float((machine.predict(rows) == y).mean()) for rows in parts[1:])
    return judged, chosen, seconds


def compare(n_classes: int, seeds: range) -> dict[str, Any]:
    """Means over seeds, by loss: accuracy with C = 1, with C chosen, CPU seconds of a fit with C = 1."""
    found: dict[str, list[Any]] = {loss: [] for loss in LOSSES}
    for seed in seeds:
        parts, y = make_parts(n_classes, seed)
        for loss in LOSSES:
            tried = [judge(AverageKernelSVC(loss=loss, C=C), parts, y) for C in (1.0, 0.1, 10.0)]
            found[loss].append((tried[0][0], max(tried, key=lambda t: t[1])[0], tried[0][2]))
    row: dict[str, Any] = {"classes": n_classes}
    for loss in LOSSES:
        names = (f"{loss}", f"{loss}, C chosen", f"{loss}, CPU s")
        row |= dict(zip(names, np.mean(found[loss], axis=0).tolist(), strict=True))
    difference = np.subtract(*(np.array(found[loss])[:, 0] for loss in reversed(LOSSES)))
    row["gain"] = float(difference.mean())
    row["error of gain"] = float(difference.std(ddof=1) / len(seeds) ** 0.5) if len(seeds) > 1 else 0.0
    return row


def main() -> None:
    parser = common.parser(__doc__)
    parser.add_argument("--settle", action="store_true", help="the seeds that settled the threshold")
    arguments: argparse.Namespace = parser.parse_args()
    warnings.simplefilter("ignore")
    n_seeds = 2 if arguments.quick else 4
    seeds = range(0, n_seeds) if arguments.settle else range(100, 100 + n_seeds)
    numbers = (5, 20) if arguments.quick else (5, 10, 20, 50, 100)
    rows = [compare(number, seeds) for number in numbers]
    parts, y = make_parts(20, seeds[0])
    rows.append({"classes": 20, "hinge, weights learned": judge(MKLClassifier(), parts, y)[0]})
    claims = [
        common.Claim(f"gain of the squared hinge with {row['classes']} classes", row["gain"], at_least=0.0)
        for row in rows
        if row["classes"] >= 20 and "gain" in row
    ]
    common.finish("many_classes", arguments.quick, rows, claims)


if __name__ == "__main__":
    main()
