"""Probabilistic matrix addition (Agovic et al., 2011): matrices, missing labels, labels of new samples.

``pma-matrices`` (Figure 2): a repeat draws kernels and a matrix X = F + G from them; a fifth of the entries
is hidden at a time, so that every entry is hidden once, and each fold gives a mean square error.  No method
but the oracle is told a kernel.  The paper does not say what kernel a Gaussian process has where nothing
but the matrix is known.  Here:

* ``one covariance``: the data points (rows for "rows", columns for "columns") have a covariance that is
  estimated, and what runs across them is independent: the same model without its other part, and the same
  prior of a fixed strength (``shrinkage``), or one of the greatest marginal likelihood;
* ``process``: an RBF kernel between data points by their own entries, unknown ones at their means, and for
  every target a process of its own with amplitude, width and noise of the greatest likelihood.

``pma-labels`` (section 3.3): a share of the entries of a label matrix is hidden at random and completed;
the measure is which of the hidden labels come back wrong, in percent.  Features are standardised; all else
is chosen from the labels that remain.  The masks of one repeat are nested: what is hidden at 10 % is hidden
at 30 % too.  With ``folds`` the matrix is one of so many folds of the samples, each repeat the next.

``pma-rows`` (section 4.1): a repeat is a fold of a five-fold cross-validation; after five, samples are
shuffled anew.  Of the training samples a share is kept, of their labels another share is hidden.  Features
are standardised on the training samples that are kept; nothing is chosen by the test fold.  Measures are in
percent, coverage of the most that it can be.
"""

import warnings
from collections.abc import Mapping
from typing import Any

import numpy as np
from sklearn.exceptions import ConvergenceWarning
from sklearn.gaussian_process import GaussianProcessRegressor
from sklearn.gaussian_process.kernels import RBF, ConstantKernel, WhiteKernel
from sklearn.model_selection import KFold
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import StandardScaler
from sklearn.utils import Bunch

from absentia import metrics
from absentia.datasets import load_benchmark
from absentia.papers._simulated import factor_kernel, make_matrix_addition, plane_kernel
from absentia.papers.protocols import Protocol, make_method

_FOLDS = 5
_COLUMN_KERNELS = {"low rank": factor_kernel, "smooth": plane_kernel}

# ------------------------------------------------------------------------------------------- matrices


def _perform_matrices(key: Mapping[str, Any]) -> dict[str, Any]:
    """Mean square errors of the hidden entries, by fold."""
    drawn = _draw_matrix(key)
    fold_of = _assign_folds(drawn.full.shape, key)
    errors = {}
    for fold in range(_FOLDS):
        hidden = fold_of == fold
        completed = _complete_matrix(key, drawn, np.where(hidden, np.nan, drawn.full))
        errors[f"fold {fold + 1}"] = float(np.mean((completed - drawn.full)[hidden] ** 2))
    return {"scores": {"MSE": errors}}


def _draw_matrix(key: Mapping[str, Any]) -> Bunch:
    """By the kind of kernels: columns of a "low rank" covariance, or "smooth" ones as rows are."""
    n, m = key["n_rows"], key["n_columns"]
    rng = np.random.default_rng(
        [key["seed"], key["repeat"], n, m, list(_COLUMN_KERNELS).index(key["kind"])]
    )
    kernels = {"row_kernel": plane_kernel(rng, n), "col_kernel": _COLUMN_KERNELS[key["kind"]](rng, m)}
    return make_matrix_addition(n, m, **kernels, missing=0.0, random_state=rng)


def _assign_folds(shape: tuple[int, ...], key: Mapping[str, Any]) -> np.ndarray:
    """Of every entry, the fold in which it is hidden."""
    rng = np.random.default_rng([key["seed"], key["repeat"], *shape])
    return rng.permutation(np.arange(int(np.prod(shape))) % _FOLDS).reshape(shape)


def _complete_matrix(key: Mapping[str, Any], drawn: Bunch, gaps: np.ndarray) -> np.ndarray:
    """What a method makes of a matrix with gaps (NaN)."""
    method, parameters, seed = key["method"], dict(key["parameters"]), key["seed"] + key["repeat"]
    if method == "oracle":
        given = {"row_kernel": drawn.row_kernel, "col_kernel": drawn.col_kernel, "center": False}
        return make_method("PMAImputer", given, seed).fit_transform(gaps)
    if method == "column means":
        return np.where(np.isnan(gaps), np.nanmean(gaps, axis=0), gaps)
    if method not in PMA_MATRICES.methods:
        return make_method(method, parameters, seed).fit_transform(gaps)
    points = parameters.pop("points")
    complete = {"one covariance": _complete_by_covariance, "process": _complete_by_processes}[method]
    if points == "columns":
        return complete(gaps, seed, **parameters)
    return complete(gaps.T, seed, **parameters).T


def _complete_by_covariance(gaps: np.ndarray, seed: int, shrinkage: float | str = "auto") -> np.ndarray:
    """Columns have a covariance, rows are independent draws."""
    given = {"row_kernel": "none", "shrinkage": shrinkage}
    return make_method("PMAImputer", given, seed).fit_transform(gaps)


def _complete_by_processes(gaps: np.ndarray, seed: int) -> np.ndarray:
    """Columns are data points, each row is a function of them: of their entries in the other rows."""
    level = np.nanmean(gaps)
    means = np.nanmean(gaps, axis=1, keepdims=True) + np.nanmean(gaps, axis=0) - level
    points = np.where(np.isnan(gaps), means, gaps).T
    full = gaps.copy()
    for i, row in enumerate(gaps):
        known, inputs = ~np.isnan(row), np.delete(points, i, axis=1)
        full[i, ~known] = _predict_by_process(inputs[known], row[known], inputs[~known], seed)
    return full


def _predict_by_process(inputs: np.ndarray, y: np.ndarray, new: np.ndarray, seed: int) -> np.ndarray:
    width = float(np.sqrt(inputs.shape[1]))
    kernel = ConstantKernel(0.5, (1e-3, 1e3)) * RBF(width, (width / 30, width * 30))
    noisy = kernel + WhiteKernel(0.5, (1e-3, 1e1))
    model = GaussianProcessRegressor(noisy, normalize_y=True, random_state=seed)
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", ConvergenceWarning)  # a parameter at its bound: no relation is seen
        return model.fit(inputs, y).predict(new) if len(new) else np.empty(0)


# --------------------------------------------------------------------------------------------- labels


def _load_labels(name: str) -> tuple[np.ndarray, np.ndarray]:
    """Features of a benchmark, and its labels as -1 and +1."""
    data = load_benchmark(name)
    X = data.views.block(data.views.names[0]).astype(float)
    return X, np.where(np.asarray(data.target) > 0, 1.0, -1.0)


def _perform_missing_labels(key: Mapping[str, Any]) -> dict[str, Any]:
    """Percent of the hidden labels that come back wrong."""
    X, Y = _load_labels(key["data"])
    seed = key["seed"] + key["repeat"]
    if "folds" in key:
        _, rows = _split_folds(len(X), key["folds"], key["seed"], key["repeat"])
        X, Y = X[rows], Y[rows]
    hidden = _hide_entries(Y.shape, key["share"], seed)
    scores = _score_labels(key, StandardScaler().fit_transform(X), np.where(hidden, np.nan, Y), seed)
    wrong = (scores > 0)[hidden] != (Y > 0)[hidden]
    return {"scores": {"error": {"": 100 * float(wrong.mean())}}}


def _hide_entries(shape: tuple[int, ...], percent: float, seed: int) -> np.ndarray:
    """Which entries are hidden."""
    return np.random.default_rng(seed).random(shape) < percent / 100


def _score_labels(key: Mapping[str, Any], X: np.ndarray, gaps: np.ndarray, seed: int) -> np.ndarray:
    """Labels, or their expectations, without gaps: the sign decides."""
    if key["method"] == "frequent":  # the most frequent known label of every column
        return np.where(np.isnan(gaps), np.sign(np.nansum(gaps, axis=0)), gaps)
    model = make_method(key["method"], key["parameters"], seed)
    if key["method"] == "PMF":
        return model.fit_transform(gaps)
    return model.fit(X, gaps).scores_


def _perform_new_samples(key: Mapping[str, Any]) -> dict[str, Any]:
    """One method, learned from a part of four folds and judged on the fifth."""
    X, Y = _load_labels(key["data"])
    train, test = _split_samples(len(X), key["labelled"], key["seed"], key["repeat"])
    hidden = _hide_entries(Y[train].shape, key["missing"], key["seed"] + key["repeat"])
    model = make_pipeline(StandardScaler(), make_method(key["method"], key["parameters"], key["seed"]))
    model.fit(X[train], np.where(hidden, np.nan, Y[train]))
    return {"scores": _measure_ranking(Y[test], model.decision_function(X[test]))}


def _split_samples(n: int, percent: float, seed: int, repeat: int) -> tuple[np.ndarray, np.ndarray]:
    """Samples to learn from, of which smaller shares are parts of larger ones, and those of the fold."""
    train, test = _split_folds(n, _FOLDS, seed, repeat)
    shuffled = np.random.default_rng([seed, repeat]).permutation(train)
    return np.sort(shuffled[: round(len(train) * percent / 100)]), test


def _split_folds(n: int, folds: int, seed: int, repeat: int) -> tuple[np.ndarray, np.ndarray]:
    """Samples without those of a fold, and these; after all folds, samples are shuffled anew."""
    split = KFold(folds, shuffle=True, random_state=seed + repeat // folds).split(np.zeros(n))
    train, test = list(split)[repeat % folds]
    return train, test


def _measure_ranking(truth: np.ndarray, scores: np.ndarray) -> dict[str, dict[str, float]]:
    """The measures of both tables and figures, in percent."""
    measures = {
        "OneError": metrics.one_error(truth, scores),
        "AvePrec": metrics.average_precision(truth, scores),
        "Coverage": metrics.coverage(truth, scores, normalize=True),
        "RankLoss": metrics.ranking_loss(truth, scores),
    }
    return {name: {"": 100 * float(value)} for name, value in measures.items()}


PMA_MATRICES = Protocol(
    _perform_matrices,
    methods={
        "oracle": ("PMAImputer",),
        "one covariance": ("PMAImputer",),
        "process": (),
        "column means": (),
    },
)
PMA_LABELS = Protocol(_perform_missing_labels, methods={"frequent": ()})
PMA_ROWS = Protocol(_perform_new_samples)
