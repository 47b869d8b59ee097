"""How a method learns from data: what it is handed over.

That is what the method's entry ``takes``: kernels, which are made of features before it; features; or
either, which it makes kernels of itself.  C is selected by the method itself, by one rule for all
(``methods.learning``), unless it is given.
"""

from collections.abc import Callable, Iterator, Mapping
from contextlib import contextmanager
from dataclasses import dataclass, replace
from functools import cached_property
from typing import Any

import numpy as np
from sklearn.base import clone
from sklearn.pipeline import Pipeline

from absentia.core import Array
from absentia.core.optimize import Progress
from absentia.data import (
    MANY_SAMPLES,
    KernelViews,
    Views,
    add_views,
    feature_profiles,
    kernel_profiles,
    order_by_profiles,
    subsample_classes,
)
from absentia.kernels import AdjustViews, ViewKernels
from absentia.methods import catalogue
from absentia.methods.catalogue import Entry
from absentia.methods.prediction import LIBRARY

_PROGRESS_STEPS = 20  # that a fit of many fits is shown as
Tick = Callable[[], None]


def take_samples(data: Any, rows: Array, columns: Array | None = None) -> Any:
    """Samples `rows`; of kernels against the samples `columns`, which are the same if not given."""
    if isinstance(data, Views):
        return data[rows]
    return data[np.ix_(rows, rows if columns is None else columns)]


def adjust_samples(data: Any, covariates: Views | None, *parts: Array) -> list[Any]:
    """The samples at positions in each of the `parts`, and what adjusts them: nothing without covariates.

    Features of all parts are residuals after regression on `covariates` (one view of all samples), which is
    learned from the first part.  Of kernels, the samples are rows against those of the first part.
    """
    if covariates is None:
        return [*(take_samples(data, rows, parts[0]) for rows in parts), None]
    joined = add_views(data, covariates)
    adjust = AdjustViews(covariates.names[0]).fit(joined[parts[0]])
    return [*(adjust.transform(joined[rows]) for rows in parts), adjust]


def order_samples(data: Views | KernelViews, *keys: Array) -> Array:
    """Positions of the samples in an order that the data and the keys decide, however they came."""
    profiles = feature_profiles(data) if isinstance(data, Views) else kernel_profiles(data)
    keys = keys if data.groups is None else (*keys, data.groups)
    return order_by_profiles(profiles, data.observed, *keys)


@dataclass(frozen=True, eq=False)
class Plan:
    """How a method learns.

    Parameters
    ----------
    estimator : unfitted estimator
    kernel : str or ViewKernels
        Of feature views, for methods that take kernels or make them.
    C : float, optional
        None: as the estimator has it.
    entry : Entry, optional
        Of the catalogue, which says what the method takes; without it the estimator does.
    decision : "balanced", "accuracy" or costs, optional
        What a classifier decides by once it is fitted; None: as it does by itself.
    """

    estimator: Any
    kernel: str | ViewKernels = "rbf"
    C: float | None = None
    entry: Entry | None = None
    decision: Any = None

    @property
    def takes(self) -> str:
        """What is handed over: "kernels", "features" or "views or kernels"."""
        if self.entry is not None:
            return self.entry.takes
        if "kernel" in self.estimator.get_params(deep=False):
            return "views or kernels"
        return "kernels" if self.estimator.__sklearn_tags__().input_tags.pairwise else "features"

    @property
    def name(self) -> str:
        return type(self.estimator).__name__ if self.entry is None else self.entry.name

    @cached_property
    def parameters(self) -> dict[str, str]:
        """What the estimator is set to, as texts."""
        given = self.estimator.get_params(deep=True)
        skipped = ("callback", "verbose", "memory", "steps")
        return {name: repr(given[name]) for name in sorted(given) if name not in skipped}

    @property
    def classes(self) -> tuple[type, ...]:
        """Classes that the answers come from; others of the catalogue that are used by name, too."""
        steps = self.estimator.steps if isinstance(self.estimator, Pipeline) else [("", self.estimator)]
        entries = [] if self.entry is None else [self.entry, *_entries_inside(self.entry)]
        used = [entry.load() for entry in entries]
        return tuple(dict.fromkeys([*(type(step) for _, step in steps), *used]))

    @property
    def max_samples(self) -> int | None:
        """How many samples the method takes: its own number, or that of the completer in it."""
        entries = [] if self.entry is None else [self.entry, *_completers_inside(self.entry)]
        return min((e.max_samples for e in entries if e.max_samples is not None), default=None)

    def suit(self, data: Views | KernelViews) -> "Plan":
        """The same for these data: methods that make kernels themselves make those of the plan."""
        own = self.estimator.get_params(deep=False).get("kernel")
        if own is None or self.takes == "kernels":
            return self
        if isinstance(data, KernelViews):
            own = "precomputed"
        elif isinstance(own, str) and own == "rbf":
            own = self.kernel
        elif isinstance(own, str) and isinstance(self.kernel, ViewKernels):  # logarithms and the like stay
            own = clone(self.kernel).set_params(kernel=own)
        return replace(self, estimator=clone(self.estimator).set_params(kernel=own))

    def decide_by_size(self, n: int, chunked: bool = False) -> "Plan":
        """The same for fits to few of `n` samples, done as with all: members of a default, and factors."""
        if n <= MANY_SAMPLES and not chunked:
            return self
        kernel = self.kernel if isinstance(self.kernel, ViewKernels) else ViewKernels(self.kernel)
        if kernel.approx == "auto":
            kernel = clone(kernel).set_params(approx="nystrom")
        estimator = clone(self.estimator)
        members = LIBRARY[self.entry.family] if self.entry is not None and self.entry.default else {}
        name = "chunked" if chunked else "many"
        if name in members and estimator.candidates == "auto":
            estimator.set_params(candidates=members[name])
        return replace(self, estimator=estimator, kernel=kernel)

    def transform(self, data: Views | KernelViews) -> tuple[ViewKernels | None, Any]:
        """What the method takes of training samples, and the fitted kernels if these come before it."""
        if self.takes == "features" and not isinstance(data, Views):
            raise ValueError(
                f"method {self.name!r} takes features, but kernels came; give the features, or another "
                "method"
            )
        return make_kernels(data, self.kernel) if self.takes == "kernels" else (None, data)

    # -------------------------------------------------------------------------------------------- fitting

    @property
    def n_steps(self) -> int:
        """How often :meth:`fit` calls ``tick``."""
        return _PROGRESS_STEPS if self._tells_steps else 1

    @property
    def _tells_steps(self) -> bool:
        """Whether a fit is many fits, and tells of them."""
        return "candidates" in self.estimator.get_params()

    def fit(self, X: Any, y: Array, tick: Tick = lambda: None) -> Any:
        """The estimator, fitted to what it takes."""
        estimator = clone(self.estimator)
        if self.C is not None:
            estimator.set_params(C=self.C)
        with _show_steps(estimator, tick, self.n_steps):
            fitted = estimator.fit(X, y)
        return fitted if self.decision is None else fitted.set_decision(self.decision)


def make_kernels(data: Views | KernelViews, kernel: Any) -> tuple[ViewKernels | None, KernelViews]:
    """Square kernels, and what makes rows of new samples if they came from features."""
    if isinstance(data, KernelViews):
        return None, data
    makes = clone(kernel) if isinstance(kernel, ViewKernels) else ViewKernels(kernel)
    return makes, makes.fit_transform(data)


@contextmanager
def _show_steps(estimator: Any, tick: Tick, steps: int) -> Iterator[None]:
    """Ticks for a fit inside: one at the end, or `steps` on the way if it tells of its own."""
    done = 0

    def show(progress: Progress) -> None:
        nonlocal done
        while done < progress.iteration * steps // progress.max_iter and done < steps - 1:
            done += 1
            tick()

    if steps > 1:
        estimator.set_params(callback=show)
    yield
    if steps > 1:
        estimator.set_params(callback=None)
    for _ in range(steps - done):
        tick()


# ------------------------------------------------------------------------------------------ samples


def space_samples(X: Views | KernelViews, y: Array, most: int) -> Array:
    """Positions of at most about `most` samples, evenly spaced in an order that the data decide."""
    order = order_samples(X, y)
    return np.sort(order[subsample_classes(y[order], most)])


# ------------------------------------------------------------------------------- entries inside entries


def _completers_inside(entry: Entry) -> list[Entry]:
    name = entry.fixed.get("completer")
    return [catalogue.find(name, "completer")] if isinstance(name, str) else []


def _entries_inside(entry: Entry) -> list[Entry]:
    """Other entries that a method uses by name: its completer, and what it chooses from."""
    candidates: Mapping[str, None] = {}
    if entry.name == "auto" and entry.family in LIBRARY:
        candidates = dict.fromkeys(name for names in LIBRARY[entry.family].values() for name in names)
    found = [catalogue.find(name, entry.family) for name in candidates]
    return [*_completers_inside(entry), *(part for one in found for part in (one, *_entries_inside(one)))]
