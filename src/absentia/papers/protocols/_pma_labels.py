"""Missing labels recovered, as in the paper on probabilistic matrix addition (Agovic et al., 2011), 3.3.

A trial hides a share of the entries of a label matrix at random, completes it, and counts which of the
hidden labels come back wrong, in percent.  Features are standardised; all else is chosen from the labels
that remain.  The masks of one repeat are nested: what is hidden at 10 % is hidden at 30 % too.
"""

from collections.abc import Mapping
from typing import Any

import numpy as np
from sklearn.preprocessing import StandardScaler

from absentia.core import Array
from absentia.datasets import load_benchmark
from absentia.papers._methods import make

#: The most frequent known label of every column.
FREQUENT = "frequent"
MODULES: dict[str, tuple[str, ...]] = {FREQUENT: ()}


def perform(key: Mapping[str, Any]) -> dict[str, Any]:
    """Percent of the hidden labels that come back wrong."""
    X, Y = labelled(key["data"])
    seed = key["seed"] + key["repeat"]
    hidden = hide(Y.shape, key["share"], seed)
    scores = completed(key, X, np.where(hidden, np.nan, Y), seed)
    wrong = (scores > 0)[hidden] != (Y > 0)[hidden]
    return {"scores": {"error": {"": 100 * float(wrong.mean())}}}


def labelled(name: str) -> tuple[Array, Array]:
    """Standardised features of a benchmark, and its labels as -1 and +1."""
    data = load_benchmark(name)
    X = data.views.block(data.views.names[0]).astype(float)
    return StandardScaler().fit_transform(X), np.where(np.asarray(data.target) > 0, 1.0, -1.0)


def hide(shape: tuple[int, ...], percent: float, seed: int) -> Array:
    """Which entries are hidden."""
    return np.random.default_rng(seed).random(shape) < percent / 100


def completed(key: Mapping[str, Any], X: Array, gaps: Array, seed: int) -> Array:
    """Labels, or their expectations, without gaps: the sign decides."""
    if key["method"] == FREQUENT:
        return np.where(np.isnan(gaps), np.sign(np.nansum(gaps, axis=0)), gaps)
    model = make(key["method"], key["parameters"], seed)
    if key["method"] == "PMF":
        return np.asarray(model.fit_transform(gaps))
    return np.asarray(model.fit(X, gaps).scores_)
