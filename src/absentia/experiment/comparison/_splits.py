"""Who is held out when, and which cells are hidden: all of it follows from the data and a seed."""

import hashlib
from typing import Literal

import numpy as np

from absentia.core import Array, generator
from absentia.data import folds, missingness, ordering
from absentia.experiment.comparison._problem import Problem

Mechanism = Literal["own", "mcar", "per-view", "exclusive"]
MECHANISMS: tuple[Mechanism, ...] = ("own", "mcar", "per-view", "exclusive")


def split(problem: Problem, cv: int, seed: int, repeat: int) -> list[tuple[Array, Array]]:
    """Positions to learn from and to hold out, fold by fold."""
    y = problem.y
    assert y is not None
    if problem.task == "numbers":
        groups = np.searchsorted(np.quantile(y, [0.2, 0.4, 0.6, 0.8]), y)
    elif problem.task == "labels":
        groups = np.zeros(len(y), dtype=int)
    else:
        groups = y
    return folds(problem.order, groups, cv, [seed, repeat])


def kept_cells(problem: Problem, mechanism: Mechanism, rate: float, seed: int, repeat: int) -> Array:
    """Which cells stay when that share is hidden; draws go with the data, not with their order."""
    order = ordering(problem.kernels)
    drawn = np.ix_(order.samples, order.views)
    observed = problem.data.observed
    keep = np.empty_like(observed)
    rng = generator([seed, repeat, round(1e6 * rate)])
    keep[drawn] = _hide(observed[drawn], mechanism, rate, rng)
    return keep


def _hide(observed: Array, mechanism: Mechanism, rate: float, rng: np.random.Generator) -> Array:
    if mechanism == "own" and not observed.all():
        try:
            return missingness.own(observed, rate, random_state=rng)
        except ValueError:  # patterns that there are cannot hide as much
            return missingness.mcar(observed, rate, random_state=rng)
    if mechanism == "per-view":
        return missingness.fixed_per_view(observed, rate, random_state=rng)
    if mechanism == "exclusive":
        return missingness.exclusive(observed, rate, random_state=rng)
    return missingness.mcar(observed, rate, random_state=rng)


def hashed(*arrays: Array) -> str:
    found = hashlib.sha256()
    for array in arrays:
        found.update(np.ascontiguousarray(array, dtype=np.int64).tobytes())
        found.update(b"|")
    return found.hexdigest()[:16]
