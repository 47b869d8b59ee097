"""All labels of new samples, as in the paper on probabilistic matrix addition (Agovic et al., 2011), 4.1.

A repeat is a fold of a five-fold cross-validation; after five, samples are shuffled anew.  Of the training
samples a share is kept, of their labels another share is hidden.  Features are standardised on the training
samples that are kept; nothing is chosen by the test fold.  Measures are in percent, coverage of the most
that it can be.
"""

from collections.abc import Mapping
from typing import Any

import numpy as np
from sklearn.model_selection import KFold
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import StandardScaler

from absentia.core import Array
from absentia.data import metrics
from absentia.datasets import load_benchmark
from absentia.papers._methods import make

FOLDS = 5


def perform(key: Mapping[str, Any]) -> dict[str, Any]:
    """One method, learned from a part of four folds and judged on the fifth."""
    X, Y = labelled(key["data"])
    train, test = split(len(X), key["labelled"], key["seed"], key["repeat"])
    rng = np.random.default_rng(key["seed"] + key["repeat"])
    hidden = rng.random(Y[train].shape) < key["missing"] / 100
    model = make_pipeline(StandardScaler(), make(key["method"], key["parameters"], key["seed"]))
    model.fit(X[train], np.where(hidden, np.nan, Y[train]))
    return {"scores": scores(Y[test], model.decision_function(X[test]))}


def labelled(name: str) -> tuple[Array, Array]:
    """Features of a benchmark, and its labels as -1 and +1."""
    data = load_benchmark(name)
    X = data.views.block(data.views.names[0]).astype(float)
    return X, np.where(np.asarray(data.target) > 0, 1.0, -1.0)


def split(n: int, percent: float, seed: int, repeat: int) -> tuple[Array, Array]:
    """Samples to learn from, of which smaller shares are parts of larger ones, and those of the fold."""
    folds = KFold(FOLDS, shuffle=True, random_state=seed + repeat // FOLDS)
    train, test = list(folds.split(np.zeros(n)))[repeat % FOLDS]
    drawn = np.random.default_rng([seed, repeat]).permutation(train)
    return np.sort(drawn[: round(len(train) * percent / 100)]), test


def scores(truth: Array, S: Array) -> dict[str, dict[str, float]]:
    """The measures of both tables and figures."""
    found = {
        "OneError": metrics.one_error(truth, S),
        "AvePrec": metrics.average_precision(truth, S),
        "Coverage": metrics.coverage(truth, S, normalize=True),
        "RankLoss": metrics.ranking_loss(truth, S),
    }
    return {name: {"": 100 * float(value)} for name, value in found.items()}
