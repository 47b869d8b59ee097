"""How well a classifier does on samples it has not seen, beside two baselines on the same folds.

Everything is learned inside a fold's training part: the kernels' scales and widths, C, the machine, its
calibration.  The baselines are a support vector machine on the average of the kernels, absent views read as
zero (:class:`absentia.CombineKernels`, its C chosen in the same way), and the most frequent class.

Folds are cut by what the samples are, not by where they stand: the order of the samples changes none of it.
"""

from __future__ import annotations

import warnings
from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

import numpy as np
from sklearn.base import clone
from sklearn.pipeline import make_pipeline
from sklearn.svm import SVC

from absentia.core import Array
from absentia.data import KernelViews, Views
from absentia.kernels import CombineKernels, ViewKernels
from absentia.methods.learning import feature_profiles, folds, kernel_profiles, sample_order
from absentia.methods.models import Model

GRID = (0.1, 1.0, 10.0, 100.0)
FOLDS, INNER_FOLDS = 5, 3
FEWEST = 3  # samples of a class: with less, some fold's training part could not be split again
Tick = Callable[[], None]


@dataclass(frozen=True)
class Plan:
    """What to learn with: an unfitted classifier, the kernel of feature views, C or None to choose it."""

    classifier: Any
    kernel: str = "rbf"
    C: float | None = None

    def steps(self, y: Array, validate: bool) -> int:
        """How often :func:`learn`, and :func:`cross_validate` if wanted, call ``tick``."""
        search = len(GRID) if self.C is None else 0
        folds = min(FOLDS, _fewest(y)) if validate else 0
        return search + 1 + folds * (search + len(GRID) + 1)


@dataclass(frozen=True, eq=False)
class Validation:
    """Out-of-fold results, one row per sample."""

    predicted: Array
    averaged: Array
    majority: Array
    chances: Array | None  # samples x classes
    prices: tuple[float, ...]  # C of every fold
    averaged_prices: tuple[float, ...]


def learn(data: Views | KernelViews, y: Array, plan: Plan, tick: Tick = lambda: None) -> Model:
    """Kernels, C and classifier, all learned from these samples."""
    makes, kernels = training_kernels(data, plan.kernel)
    return Model(fitted(kernels, y, plan, tick), makes)


def training_kernels(data: Views | KernelViews, kernel: str) -> tuple[ViewKernels | None, KernelViews]:
    """Square kernels, and what makes rows of new samples if they came from features."""
    if isinstance(data, KernelViews):
        return None, data
    makes = ViewKernels(kernel)
    return makes, makes.fit_transform(data)


def fitted(kernels: KernelViews, y: Array, plan: Plan, tick: Tick) -> Any:
    """The classifier, with its C chosen first if it is to be."""
    C = plan.C
    if C is None:
        C = best_C(clone(plan.classifier).set_params(probability=False), "C", kernels, y, tick)
    classifier = clone(plan.classifier).set_params(C=C).fit(kernels, y)
    tick()
    return classifier


def best_C(estimator: Any, name: str, kernels: KernelViews, y: Array, tick: Tick) -> float:
    """The C of :data:`GRID` with the most samples right when held out; the least of equals."""
    parts = folds(
        sample_order(kernel_profiles(kernels), kernels.observed, y), y, min(INNER_FOLDS, _fewest(y))
    )
    right = []
    for C in GRID:
        count = 0
        for train, test in parts:
            machine = clone(estimator).set_params(**{name: C})
            with quiet():
                machine.fit(kernels[np.ix_(train, train)], y[train])
                count += int((machine.predict(kernels[np.ix_(test, train)]) == y[test]).sum())
        right.append(count)
        tick()
    return GRID[int(np.argmax(right))]


def cross_validate(
    data: Views | KernelViews, y: Array, plan: Plan, tick: Tick = lambda: None, seed: int = 0
) -> Validation:
    """Out-of-fold predictions of the method and of the baselines, on the same folds."""
    classes = np.unique(y)
    predicted, averaged, majority = (np.empty_like(y) for _ in range(3))
    chances = np.zeros((len(y), len(classes)))
    chosen, averaged_prices = [], []
    profiles = feature_profiles(data) if isinstance(data, Views) else kernel_profiles(data)
    order = sample_order(profiles, data.observed, y)
    for train, test in folds(order, y, min(FOLDS, _fewest(y)), seed):
        part = data[train] if isinstance(data, Views) else data[np.ix_(train, train)]
        with quiet():
            makes, kernels = training_kernels(part, plan.kernel)
            rows = makes.transform(data[test]) if makes else data[np.ix_(test, train)]
            classifier = fitted(kernels, y[train], plan, tick)
            predicted[test] = classifier.predict(rows)
            if plan.classifier.probability:
                chances[test] = classifier.predict_proba(rows)
            average = make_pipeline(CombineKernels(), SVC(kernel="precomputed"))
            C = best_C(average, "svc__C", kernels, y[train], tick)
            averaged[test] = average.set_params(svc__C=C).fit(kernels, y[train]).predict(rows)
        values, sizes = np.unique(y[train], return_counts=True)
        majority[test] = values[sizes.argmax()]
        chosen.append(float(classifier.C))
        averaged_prices.append(C)
    return Validation(
        predicted,
        averaged,
        majority,
        chances if plan.classifier.probability else None,
        tuple(chosen),
        tuple(averaged_prices),
    )


def _fewest(y: Array) -> int:
    """Samples of the rarest class."""
    return int(np.unique(y, return_counts=True)[1].min())


def quiet() -> Any:
    """Inside, no warnings: those of the fit on all samples are the ones to read."""
    return warnings.catch_warnings(action="ignore")
