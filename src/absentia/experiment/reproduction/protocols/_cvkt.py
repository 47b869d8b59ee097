"""Completion as in the paper on cross-view kernel transfer (Huusari et al., 2022), section 4.

A trial hides samples of views, completes, and scores the views that had something hidden, one number each:
CA (eq. 7), ARE (eq. 8), Fro (eq. 9) and structural similarity.  Repeat 0 of the data that come with the
authors' masks uses them; later repeats draw masks of the same kind.
"""

from collections.abc import Mapping
from typing import Any

import numpy as np

from absentia.core import Array
from absentia.data import KernelViews, metrics, missingness
from absentia.datasets import load_benchmark
from absentia.experiment.reproduction._methods import make

MEASURES = {"CA": metrics.ca_error, "Fro": metrics.frobenius_error, "S.sim": metrics.structural_similarity}


def perform(key: Mapping[str, Any]) -> dict[str, Any]:
    """Scores of one method under one mask, by view."""
    truth, keep = problem(key)
    completed = make(key["method"], key["parameters"], key["seed"]).fit_transform(truth.hide(keep))
    return {"scores": scores(truth, completed, keep)}


def problem(key: Mapping[str, Any]) -> tuple[KernelViews, Array]:
    """Kernels without gaps, and which samples of which view are shown."""
    return SETS[key["data"]](key)


def scores(truth: KernelViews, completed: KernelViews, keep: Array) -> dict[str, dict[str, float]]:
    """By measure and view, of the views that had something hidden."""
    hidden = [name for name, shown in zip(truth.names, keep.T, strict=True) if not shown.all()]
    there, done = (kernels.select(hidden).to_dense() for kernels in (truth, completed))
    shown = keep[:, [truth.names.index(name) for name in hidden]]
    found = {name: measure(there, done, average=False) for name, measure in MEASURES.items()}
    found["ARE"] = metrics.are(there, done, shown, average=False)
    return {name: dict(zip(hidden, np.asarray(x).tolist(), strict=True)) for name, x in found.items()}


def _simulated(key: Mapping[str, Any]) -> tuple[KernelViews, Array]:
    """Every sample lacks so many of seven views."""
    data = load_benchmark("cvkt_simulated_kernels")
    if key["repeat"] == 0:
        return data.kernels, np.asarray(data.extra["masks"][key["missing"] - 1], dtype=bool)
    seed = np.random.SeedSequence([key["seed"], key["repeat"]]).generate_state(1)[0]
    return data.kernels, missingness.fixed_per_sample(
        data.kernels.observed.shape, key["missing"], random_state=int(seed)
    )


SETS = {"cvkt_simulated_kernels": _simulated}
