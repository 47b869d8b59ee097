"""Absent multiple kernel learning by its paper's protocol: accuracy on five UCI sets.

As in Liu et al. (2020), section 5: 20 Gaussian kernels, centred and scaled to a unit diagonal, each kernel
a view; 60 % of the samples train; round(share * 20) views of every sample are absent, in training *and* in
the test set; C by cross-validation on the training samples.  Accuracy is the mean over the shares absent.
What is absent is taken away before the first kernel is computed, so no mean, scale or kernel has seen it.
Different from the paper: widths in equal ratios (in equal steps nearly all are alike), five shares of nine,
five values of C of nine, three inner folds of five, fewer repetitions.

``--views groups`` asks the same where views are what the word says: up to six groups of features, one
Gaussian kernel each; there MMAF, which is for features, can take part.  ``--printed`` adds C-AMKL as its
paper prints it (eq. 31), reading the absent views of training samples: not possible where they truly are.
Differences are paired, over sets and seeds; +- is the standard error.  Needs the uci_*.npz files in the
folder that ABSENTIA_DATA names.
"""

from __future__ import annotations

import warnings
from concurrent.futures import ProcessPoolExecutor
from multiprocessing import get_context
from typing import Any

import common
import numpy as np
from sklearn.base import clone
from sklearn.model_selection import GridSearchCV, StratifiedKFold, StratifiedShuffleSplit
from sklearn.pipeline import Pipeline

from absentia import (
    MKMC,
    AbsentMKLClassifier,
    AverageKernelSVC,
    EMFill,
    MeanFill,
    MKLClassifier,
    MMAFClassifier,
    SVTFill,
    ViewKernels,
    Views,
    datasets,
    missingness,
    papers,
)

SETS = ("heart", "ionosphere", "sonar", "wdbc", "pima")
COSTS = [2.0**k for k in (-1, 1, 3, 5, 7)]
REFERENCE = "ZF-MKL"

#: Table 1 of the paper: accuracy in per cent.
PAPER = {
    "ZF-MKL": (75.55, 86.49, 68.18, 93.82, 72.47),
    "MF-MKL": (80.59, 88.67, 74.82, 95.82, 74.43),
    "EM-MKL": (79.99, 84.51, 71.74, 90.97, 73.81),
    "SVT-MKL": (76.12, 84.92, 64.16, 89.72, 70.84),
    "I-AMKL": (81.78, 91.76, 76.85, 96.34, 75.93),
    "I-AMKL-lambda": (82.41, 93.70, 82.46, 97.10, 75.57),
    "C-AMKL": (82.45, 93.76, 82.24, 97.06, 76.84),
}


def completed(completer: Any) -> Pipeline:
    """Completion, then multiple kernel learning: new samples are completed before they are predicted."""
    return Pipeline([("fill", completer), ("machine", MKLClassifier())])


METHODS: dict[str, Any] = {
    "ZF-MKL": MKLClassifier(),
    "MF-MKL": completed(MeanFill()),
    "I-AMKL": AbsentMKLClassifier("iterative"),
    "I-AMKL-lambda": AbsentMKLClassifier("penalized"),
    "C-AMKL": AbsentMKLClassifier("convex"),
    "C-AMKL, mean": AbsentMKLClassifier("convex", constraint="mean"),
    "average": AverageKernelSVC(),
    "average, rows": AverageKernelSVC(normalize="rows"),
}
SLOW = {
    "EM-MKL": completed(EMFill()),
    "SVT-MKL": completed(SVTFill()),
    "MKMC-MKL": completed(MKMC(n_components="gk")),
}
FEATURES = {"MMAF": MMAFClassifier()}
PRINTED = {"C-AMKL as printed": AbsentMKLClassifier("convex", paper_form=True)}


def widths(X: np.ndarray) -> tuple[dict[str, np.ndarray], ViewKernels]:
    """The same features 20 times, and a kernel of another width for each."""
    views, kernels = papers.make_width_views(X)
    return dict.fromkeys(views.names, X), kernels


def groups(X: np.ndarray) -> tuple[dict[str, np.ndarray], ViewKernels]:
    """Consecutive features as views, with one kernel each."""
    parts = np.array_split(np.arange(X.shape[1]), min(6, X.shape[1] // 2))
    return {f"group{g}": X[:, part] for g, part in enumerate(parts)}, ViewKernels("rbf", center=True)


VIEWS = {"widths": widths, "groups": groups}


def trial(name: str, kind: str, share: float, seed: int, methods: dict[str, Any]) -> dict[str, Any]:
    """Accuracy of every method on one split and mask, C chosen on the training half."""
    warnings.simplefilter("ignore")
    data = datasets.load_benchmark(f"uci_{name}")
    X, y = np.asarray(data.views.block("x"), dtype=float), np.asarray(data.target)
    halves = StratifiedShuffleSplit(1, train_size=0.6, random_state=seed)
    train, test = next(halves.split(X, y))
    # widths are relative to the mean distance of training samples, whose features are in every view alike
    _, kernels = VIEWS[kind](X[train])
    tables, _ = VIEWS[kind](X)
    m = len(tables)
    keep = missingness.fixed_per_sample((len(X), m), round(share * m), random_state=seed)
    views = Views.from_dict(tables).hide(keep)
    K = kernels.fit_transform(views[train])
    rows = kernels.transform(views[test])
    inner = StratifiedKFold(3, shuffle=True, random_state=seed)
    result: dict[str, Any] = {"data": name, "absent": share, "seed": seed}
    for label, method in methods.items():
        where = "machine__C" if isinstance(method, Pipeline) else "C"
        search = GridSearchCV(method, {where: COSTS}, cv=inner, error_score="raise")
        known, new, more = K, rows, {}
        if label in FEATURES:
            known, new = views[train], views[test]
        elif label in PRINTED:  # complete training samples, and a mask beside them
            complete = clone(kernels)
            known = complete.fit_transform(Views.from_dict(tables)[train])
            new, more = complete.transform(views[test]), {"observed": keep[train]}
        result[label] = 100 * search.fit(known, y[train], **more).score(new, y[test])
    return result


def run(jobs: list[tuple[Any, ...]], n_jobs: int) -> list[dict[str, Any]]:
    if n_jobs == 1:
        return [trial(*job) for job in jobs]
    with ProcessPoolExecutor(n_jobs, mp_context=get_context("fork")) as pool:
        return list(pool.map(trial, *zip(*jobs, strict=True)))


def by_set(trials: list[dict[str, Any]], method: str, name: str) -> np.ndarray:
    """Accuracy of one method on one set by seed, averaged over the shares absent."""
    seeds = sorted({t["seed"] for t in trials})
    mine = [t for t in trials if t["data"] == name]
    return np.array([np.mean([t[method] for t in mine if t["seed"] == seed]) for seed in seeds])


def difference(trials: list[dict[str, Any]], a: str, b: str, sets: list[str]) -> tuple[float, float]:
    """Mean and standard error of `a` minus `b`, paired over sets and seeds."""
    d = np.concatenate([by_set(trials, a, s) - by_set(trials, b, s) for s in sets])
    return float(d.mean()), float(d.std(ddof=1) / np.sqrt(len(d))) if len(d) > 1 else 0.0


def accuracies(
    trials: list[dict[str, Any]], methods: list[str], sets: list[str], kind: str
) -> list[dict[str, Any]]:
    rows = []
    for method in methods:
        row: dict[str, Any] = {"method": method}
        for name in sets:
            figure = f"{by_set(trials, method, name).mean():.1f}"
            if method in PAPER and kind == "widths":
                figure += f" ({PAPER[method][SETS.index(name)]})"
            row[name] = figure
        means = [by_set(trials, method, name).mean() for name in sets]
        row["mean"] = f"{np.mean(means):.2f}"
        d, error = difference(trials, method, REFERENCE, sets)
        row[f"minus {REFERENCE}"] = "" if method == REFERENCE else f"{d:+.2f} +- {error:.2f}"
        d, error = difference(trials, method, "average", sets)
        row["minus average"] = "" if method == "average" else f"{d:+.2f} +- {error:.2f}"
        rows.append(row)
    return rows


def by_share(trials: list[dict[str, Any]], methods: list[str]) -> list[dict[str, Any]]:
    """Mean accuracy over sets and seeds against the share absent."""
    shares = sorted({t["absent"] for t in trials})
    return [
        {
            "method": m,
            **{f"{s:g}": f"{np.mean([t[m] for t in trials if t['absent'] == s]):.1f}" for s in shares},
        }
        for m in methods
    ]


def main() -> None:
    parser = common.parser(__doc__)
    parser.add_argument("--views", choices=list(VIEWS), default="widths")
    parser.add_argument("--seeds", type=int, default=3)
    parser.add_argument("--jobs", type=int, default=2, help="processes")
    parser.add_argument("--sets", nargs="+", choices=SETS, default=list(SETS))
    parser.add_argument("--shares", nargs="+", type=float, default=[0.1, 0.3, 0.5, 0.7, 0.9])
    parser.add_argument("--slow", action="store_true", help="also completion by EM, SVT and MKMC")
    parser.add_argument(
        "--methods", nargs="+", choices=list(METHODS), help="only these (and the reference)"
    )
    parser.add_argument("--printed", action="store_true", help="also C-AMKL as printed, for comparison")
    arguments = parser.parse_args()
    common.files_folder()
    seeds, shares, sets = arguments.seeds, arguments.shares, arguments.sets
    if arguments.quick:
        seeds, shares, sets = 1, [0.5], ["heart", "sonar"]
    chosen = {REFERENCE, "C-AMKL", "average", *(arguments.methods or METHODS)}
    methods = {name: METHODS[name] for name in METHODS if name in chosen}
    methods |= (SLOW if arguments.slow else {}) | (PRINTED if arguments.printed else {})
    if arguments.views == "groups":
        methods |= FEATURES
        shares = sorted({min(share, 0.7) for share in shares})  # of four groups one must stay
    jobs = [
        (name, arguments.views, share, seed, methods)
        for seed in range(seeds)
        for share in shares
        for name in sets
    ]
    trials = run(jobs, arguments.jobs)
    print(f"views: {arguments.views}; {len(trials)} splits; accuracy in per cent, the paper's in brackets")
    common.table(by_share(trials, list(methods)))
    claims = [
        common.Claim(
            f"C-AMKL minus {REFERENCE}, points", difference(trials, "C-AMKL", REFERENCE, sets)[0], 0.0
        )
    ]
    rows = accuracies(trials, list(methods), sets, arguments.views)
    common.finish("amkl_protocol", arguments.quick, rows, claims)


if __name__ == "__main__":
    main()
