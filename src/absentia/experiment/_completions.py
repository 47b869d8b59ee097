"""How well methods complete what was hidden: all on the same kernels, scored against the truth."""

import time
import warnings
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from sklearn.model_selection import StratifiedKFold, cross_val_score
from sklearn.pipeline import make_pipeline
from sklearn.svm import SVC

from absentia.core import Array, Callback, Iterative, is_ours
from absentia.data import KernelViews, metrics
from absentia.kernels import CombineKernels
from absentia.methods.catalogue import find

Record = dict[str, str | float | int]


@dataclass(frozen=True, eq=False)
class Completions:
    """What each method made of the same incomplete kernels."""

    truth: KernelViews
    incomplete: KernelViews
    labels: Array
    completed: Mapping[str, KernelViews]
    records: Sequence[Record]
    traces: Mapping[str, Array]
    remarks: Sequence[str]
    reference: float  # accuracy with nothing hidden


def complete_all(
    names: Iterable[str],
    truth: KernelViews,
    keep: Array,
    y: Array,
    *,
    announce: Callable[[str], Callback | None] = lambda name: None,
    **options: Any,
) -> Completions:
    """Hide, complete with the methods of these names, and score; `options` go to those that have them.

    ``announce(name)`` is called before each method and may return a callback for its iterations.
    """
    incomplete = truth.hide(keep)
    completed: dict[str, KernelViews] = {}
    records: list[Record] = []
    traces: dict[str, Array] = {}
    remarks: list[str] = []
    for name in names:
        method = find(name, "completer").make()
        has = method.get_params()
        given = options | {"callback": announce(name)}
        method.set_params(**{key: value for key, value in given.items() if key in has})
        start = time.process_time()
        with warnings.catch_warnings(record=True) as caught:
            warnings.simplefilter("always")
            kernels = completed[name] = method.fit_transform(incomplete)
        seconds = time.process_time() - start
        remarks += [f"{name}: {warning.message}" for warning in caught if is_ours(warning.message)]
        records.append({"method": name, **_errors(truth, kernels, keep), "accuracy": accuracy(kernels, y)})
        records[-1]["seconds"] = seconds
        if isinstance(method, Iterative):
            traces[name], records[-1]["iterations"] = method.objective_, method.n_iter_
    return Completions(truth, incomplete, y, completed, records, traces, remarks, accuracy(truth, y))


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
