"""The main job, end to end, on data that need no download: hide views, complete, score, tell."""

from __future__ import annotations

import time
import warnings
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
from sklearn.model_selection import StratifiedKFold, cross_val_score
from sklearn.pipeline import make_pipeline
from sklearn.svm import SVC

import absentia
from absentia import datasets
from absentia.app.report import CompletionStory
from absentia.core import Array, Callback, Iterative
from absentia.data import KernelViews, metrics, missingness
from absentia.kernels import CombineKernels, ViewKernels
from absentia.methods.completion import Completer, EMFill, KNNFill, MeanFill, ZeroFill
from absentia.methods.completion.cvkt import CVKT
from absentia.methods.completion.mkmc import MKMC

Record = dict[str, str | float | int]

#: What each column of the table means.
COLUMNS = {
    "CA": "lower is better: 1 - cosine between completed and true kernel, over all entries",
    "ARE": "lower is better: relative error of the rows that had been hidden (1 = as bad as zeros)",
    "Frobenius": "lower is better: norm of the error relative to the norm of the true kernel",
    "structural similarity": "higher is better: how alike the two kernels look as pictures",
    "accuracy": "higher is better: 5-fold cross-validated accuracy of an SVM on the sum of the kernels",
    "seconds": "CPU time of the completion",
    "iterations": "until the objective settled",
}

BASELINES = ("mean fill", "zero fill")
TRUTH = "nothing hidden"
FEWEST, MOST = 50, 1797  # digits: five of each, and all there are


@dataclass(frozen=True)
class Demo:
    """Flat records, one per method, and the story of the report."""

    records: Sequence[Record]
    story: CompletionStory


def methods(max_iter: int, callback: Callback | None) -> dict[str, Completer]:
    """The completers the demo compares, baselines among them."""
    options: dict[str, Any] = {"tol": 1e-5, "max_iter": max_iter, "callback": callback}
    return {
        "MKMC, PCA": MKMC("pca", **options),
        "MKMC, factor analysis": MKMC("fa", **options),
        "MKMC, full covariance": MKMC("full", **options),
        "CVKT": CVKT(),
        "CVKT, four rounds": CVKT(rounds=4),
        "EM fill": EMFill(**options),
        "nearest neighbours": KNNFill(),
        "mean fill": MeanFill(),
        "zero fill": ZeroFill(),
    }


def run(
    n_samples: int = 300,
    absent: float = 0.3,
    seed: int = 0,
    *,
    max_iter: int = 300,
    announce: Callable[[str], Callback | None] = lambda name: None,
) -> Demo:
    """Hide a share of the cells of the digit views, complete with every method, score against truth.

    ``announce(name)`` is called before each method and may return a callback for its iterations.
    """
    if n_samples < FEWEST:
        raise ValueError(f"n_samples={n_samples}; at least {FEWEST} are wanted, five of each digit")
    if seed < 0:
        raise ValueError(f"seed={seed}; a seed is not negative")
    views, y = datasets.load_digit_views(n_samples=n_samples, return_X_y=True)
    truth = ViewKernels("rbf").fit_transform(views)
    keep = missingness.mcar(views, absent, random_state=seed)
    incomplete = truth.hide(keep)
    records: list[Record] = []
    completed: dict[str, Array] = {}
    traces: dict[str, Array] = {}
    remarks: list[str] = []
    for name in methods(max_iter, None):
        method = methods(max_iter, announce(name))[name]
        start = time.process_time()
        with warnings.catch_warnings(record=True) as caught:
            warnings.simplefilter("always")
            kernels = method.fit_transform(incomplete)
        seconds = time.process_time() - start
        remarks += [f"{name}: {warning.message}" for warning in caught]
        completed[name] = kernels.to_dense()
        record: Record = {"method": name, **_errors(truth, kernels, keep), "accuracy": accuracy(kernels, y)}
        record["seconds"] = seconds
        if isinstance(method, Iterative):
            traces[name] = method.objective_
            record["iterations"] = method.n_iter_
        records.append(record)
    records.append({"method": TRUTH, "accuracy": accuracy(truth, y)})
    return Demo(records, _story(incomplete, truth, y, completed, traces, records, remarks, absent, seed))


def _errors(truth: KernelViews, completed: KernelViews, keep: Array) -> Record:
    return {
        "CA": float(metrics.ca_error(truth, completed)),
        "ARE": float(metrics.are(truth, completed, keep)),
        "Frobenius": float(metrics.frobenius_error(truth, completed)),
        "structural similarity": float(metrics.structural_similarity(truth, completed)),
    }


def accuracy(kernels: KernelViews, y: Array) -> float:
    """Cross-validated accuracy of an SVM on the cosine-normalised sum of the kernels.

    The completion saw the test samples' kernels, never their labels.
    """
    folds = StratifiedKFold(5, shuffle=True, random_state=0)
    svm = make_pipeline(CombineKernels(), SVC(kernel="precomputed"))
    return float(cross_val_score(svm, kernels, y, cv=folds).mean())


def _story(
    incomplete: KernelViews,
    truth: KernelViews,
    y: Array,
    completed: dict[str, Array],
    traces: dict[str, Array],
    records: Sequence[Record],
    remarks: Sequence[str],
    absent: float,
    seed: int,
) -> CompletionStory:
    return CompletionStory(
        title="Six views of handwritten digits, some of them hidden",
        summary=(
            f"We computed one RBF kernel per view, hid {absent:.0%} of all sample-view pairs at random, "
            "filled the missing rows and columns with each method, and compared with what we had hidden. "
            "Zero and mean fill are the baselines to beat."
        ),
        names=incomplete.names,
        observed=incomplete.observed,
        before=incomplete.to_dense(),
        after=completed,
        truth=truth.to_dense(),
        traces=traces,
        scores=records,
        labels=y,
        warnings=remarks,
        facts={
            "data": f"scikit-learn's bundled digits, {len(y)} of 1797 images, six views computed here",
            "hidden": f"{(~incomplete.observed).sum()} of {incomplete.observed.size} cells, "
            f"missingness.mcar, random_state={seed}",
            "kernels": "rbf, width by the median heuristic, standardised features",
            "accuracy": "SVC on the cosine-normalised sum of the kernels, 5 stratified folds; "
            "completion saw all kernels but no label",
            "made with": f"absentia {absentia.__version__}, NumPy {np.__version__}",
        },
        explain=COLUMNS,
        baselines=BASELINES,
        references=(TRUTH,),
    )
