"""Completion, then a machine per class, as in the papers on mutual kernel matrix completion (section 6).

A share of the samples is hidden in each kernel, kernels are completed and averaged, and one binary support
vector machine per class is trained on 20 % of the samples; a trial gives the area under the ROC curve of
each class over the other samples.

Of data that are features the design's ``kernel`` says which kernels are made, and of one table ``split``
how many of its columns are the first of two views.  With ``complete`` nothing is hidden of the view of that
name; then hidden rows of the other views are held against the truth too (ARE), and :data:`_ONE_VIEW` can
complete them.
"""

from collections.abc import Callable, Mapping
from functools import cache
from typing import Any, NamedTuple

import numpy as np
from sklearn.svm import SVC

from absentia import KernelViews, ViewKernels, Views, metrics, missingness
from absentia.datasets import data_folder, make_multiview, read_bunch
from absentia.methods.base import check_name
from absentia.papers._loaders import load_yeast_kernels
from absentia.papers._one_view import complete_by_em
from absentia.papers.protocols import Protocol, make_method

_TRAIN_SHARE = 0.2
_SIMULATED = {"simulated": 3588, "simulated-small": 120}
_ONE_VIEW = "em, one complete view"


class _Problem(NamedTuple):
    """Complete kernels and, for every class, who belongs to it."""

    kernels: KernelViews
    labels: np.ndarray
    classes: tuple[str, ...]


def _perform(key: Mapping[str, Any]) -> dict[str, Any]:
    """ROC scores of one method under one mask, by class."""
    problem = _load_problem(key["data"], key["samples"], key.get("kernel", ""), key.get("split", 0))
    rng = np.random.default_rng([key["seed"], key["repeat"], round(1000 * key["hidden"])])
    keep = missingness.fixed_per_view(problem.kernels, key["hidden"], random_state=rng)
    train = _draw_training_samples(problem.labels, rng)
    if "complete" in key:
        keep[:, problem.kernels.names.index(key["complete"])] = True
    completed = _complete(key, problem.kernels.hide(keep))
    roc = _roc_by_class(completed.to_dense().mean(axis=0), problem.labels, train)
    scores = {"ROC": dict(zip(problem.classes, roc, strict=True))}
    return {
        "scores": scores | (_are_by_view(problem.kernels, completed, keep) if "complete" in key else {})
    }


def _complete(key: Mapping[str, Any], shown: KernelViews) -> KernelViews:
    if key["method"] == _ONE_VIEW:
        return complete_by_em(shown, key["complete"], **key["parameters"])
    completed: KernelViews = make_method(key["method"], key["parameters"], key["seed"]).fit_transform(shown)
    return completed


def _are_by_view(truth: KernelViews, completed: KernelViews, keep: np.ndarray) -> dict[str, Any]:
    """Error of the hidden rows of each view that has some."""
    hidden = np.flatnonzero(~keep.all(axis=0))
    names = [truth.names[v] for v in hidden]
    expected, got = (kernels.select(names).to_dense() for kernels in (truth, completed))
    errors = np.asarray(metrics.are(expected, got, keep[:, hidden], average=False))
    return {"ARE": dict(zip(names, errors.tolist(), strict=True))}


def _roc_by_class(K: np.ndarray, labels: np.ndarray, train: np.ndarray) -> list[float | None]:
    """By class, of samples that are not in `train`; None of a class that cannot be learned or judged."""
    test = np.setdiff1d(np.arange(len(K)), train)
    known = [members[train].any() and not members[train].all() for members in labels.T]
    scores = np.zeros((len(test), labels.shape[1]))
    for c in np.flatnonzero(known):
        machine = SVC(C=1.0, kernel="precomputed").fit(K[np.ix_(train, train)], labels[train, c])
        scores[:, c] = machine.decision_function(K[np.ix_(test, train)])
    areas = np.asarray(metrics.roc_auc(labels[test].astype(float), scores, average=False))
    return [float(x) if able and np.isfinite(x) else None for able, x in zip(known, areas, strict=True)]


def _draw_training_samples(labels: np.ndarray, rng: np.random.Generator) -> np.ndarray:
    """Samples to learn from: a fifth; where classes exclude one another, a fifth of each, one at least."""
    n = len(labels)
    if not (labels.sum(axis=1) == 1).all():
        return np.sort(rng.choice(n, round(_TRAIN_SHARE * n), replace=False))
    by_class = [rng.permutation(np.flatnonzero(members)) for members in labels.T]
    return np.sort(np.concatenate([rows[: max(1, round(_TRAIN_SHARE * len(rows)))] for rows in by_class]))


# ------------------------------------------------------------------------------------------------- data


@cache
def _load_problem(name: str, samples: int, kernel: str = "", split: int = 0) -> _Problem:
    """A set of kernels by name; `samples` of it, classes taken in turn, or all if that is 0."""
    if name == "yeast":
        return _load_yeast()
    return _simulate(name) if name in _SIMULATED else _load_file(name, samples, kernel, split)


def _load_file(name: str, samples: int, kernel: str, split: int) -> _Problem:
    data = read_bunch(data_folder() / f"{name}.npz", name)
    target = np.asarray(data.target)
    rows = _take_classes_in_turn(target, samples) if samples else np.arange(len(target))
    if "views" in data:
        check_name("kernel", kernel, _KERNELS)
        views = _split_columns(data.views, split) if split else data.views
        kernels = _KERNELS[kernel]().fit_transform(views[rows])
    else:
        kernels = data.kernels[np.ix_(rows, rows)]
    if target.ndim == 2:  # classes that overlap
        return _Problem(kernels, target[rows] > 0, tuple(str(k) for k in range(1, target.shape[1] + 1)))
    classes = np.unique(target)
    labels = target[rows][:, None] == classes
    return _Problem(kernels, labels, tuple(str(label) for label in classes))


def _split_columns(views: Views, split: int) -> Views:
    """The one view there is as two."""
    X = np.asarray(views.block(views.names[0]))
    return Views.from_dict({"first": X[:, :split], "second": X[:, split:]})


def _take_classes_in_turn(target: np.ndarray, samples: int) -> np.ndarray:
    """The first samples of each class, as many of each as go; every so many of classes that overlap."""
    if target.ndim == 2:
        return np.linspace(0, len(target) - 1, min(samples, len(target))).round().astype(int)
    turn = np.zeros(len(target), dtype=int)
    for label in np.unique(target):
        members = np.flatnonzero(target == label)
        turn[members] = np.arange(len(members))
    return np.sort(np.lexsort((target, turn))[:samples])


def _simulate(name: str) -> _Problem:
    """Six views of shared factors; 13 classes that overlap, each a noisy half space of the factors."""
    made = make_multiview(_SIMULATED[name], 6, n_shared=12, noise=0.3, random_state=0)
    rng = np.random.default_rng(1)
    scores = made.shared @ rng.standard_normal((12, 13)) / np.sqrt(12)
    scores += rng.standard_normal(scores.shape)
    labels = scores > np.quantile(scores, np.linspace(0.6, 0.95, 13), axis=0).diagonal()
    return _Problem(made.kernels, labels, tuple(str(k) for k in range(1, 14)))


def _load_yeast() -> _Problem:
    data = load_yeast_kernels(data_folder() / "yeast")
    target = np.asarray(data.target)
    if np.isnan(target).any() or not data.kernels.observed.all():
        raise ValueError("yeast: the protocol wants every protein in every kernel and every label known")
    return _Problem(data.kernels, target > 0, tuple(str(k) for k in range(1, target.shape[1] + 1)))


_KERNELS: dict[str, Callable[[], ViewKernels]] = {
    "rbf": lambda: ViewKernels("rbf", clip=None),
    "linear": lambda: ViewKernels("linear", standardize=False),
    "cosine": lambda: ViewKernels("cosine"),
}
MKMC_PROTOCOL = Protocol(_perform, methods={_ONE_VIEW: ()})
