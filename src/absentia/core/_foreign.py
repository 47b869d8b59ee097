"""Estimators of scikit-learn that may be kept in files: a closed list, and what it takes to read them.

They come back without their constructors being called, as attributes.  Some hand their arrays to compiled
code that believes in shapes: those are checked.  Trees of neighbours are left out and built again.
"""

import inspect
from collections.abc import Callable, Mapping
from functools import partial
from importlib import import_module
from typing import Any

import numpy as np
import sklearn

#: By name, with the module that offers them.  Nothing else is ever imported for a file.
FOREIGN = {
    "IsotonicRegression": "sklearn.isotonic",
    "KNeighborsClassifier": "sklearn.neighbors",
    "KNeighborsRegressor": "sklearn.neighbors",
    "KernelCenterer": "sklearn.preprocessing",
    "KernelPCA": "sklearn.decomposition",
    "KernelRidge": "sklearn.kernel_ridge",
    "LabelBinarizer": "sklearn.preprocessing",
    "LinearRegression": "sklearn.linear_model",
    "LinearSVC": "sklearn.svm",
    "LogisticRegression": "sklearn.linear_model",
    "LogisticRegressionCV": "sklearn.linear_model",
    "MinMaxScaler": "sklearn.preprocessing",
    "PCA": "sklearn.decomposition",
    "Pipeline": "sklearn.pipeline",
    "RBFSampler": "sklearn.kernel_approximation",
    "Ridge": "sklearn.linear_model",
    "RidgeCV": "sklearn.linear_model",
    "RidgeClassifier": "sklearn.linear_model",
    "RidgeClassifierCV": "sklearn.linear_model",
    "SVC": "sklearn.svm",
    "SVR": "sklearn.svm",
    "StandardScaler": "sklearn.preprocessing",
}
_TREES = {"kd_tree": "KDTree", "ball_tree": "BallTree"}


def is_foreign(cls: type) -> bool:
    """Whether a class is one of the list, and not one that only has its name."""
    return cls.__module__.split("._")[0] == FOREIGN.get(cls.__name__)


def foreign_state(estimator: Any) -> dict[str, Any]:
    """Attributes that are data, without the folder of a cache, and without what can be built again."""
    state = dict(estimator.__getstate__())
    if state.get("_sparse"):  # its compiled code reads wherever a file might lead it
        name = type(estimator).__name__
        raise TypeError(f"{name} of sparse data cannot be kept in a file; fit it on an array")
    state.pop("_sklearn_version", None)  # of the whole file
    state.pop("_tree", None)
    if "memory" in state:
        state["memory"] = None
    return state


def foreign_object(name: str, state: Mapping[str, Any]) -> Any:
    """The estimator with these attributes; a :class:`ValueError` if it cannot have had them."""
    cls = getattr(import_module(FOREIGN[name]), name)
    for key in state:
        if inspect.getattr_static(cls, key, None) is not None:
            raise ValueError(f"its {name} has {key!r} among its attributes, which is not one")
    if state.get("memory") is not None:
        raise ValueError(f"its {name} names a folder to read from, which no file may")
    try:
        _CHECKS.get(name, _any)(state)
        value = cls.__new__(cls)
        # the version is this one's: whether it is another is said once, of the whole file
        value.__setstate__({**_defaults(cls), **state, "_sklearn_version": sklearn.__version__})
        if name.startswith("KNeighbors"):
            value._tree = _tree(value)
    except (KeyError, AttributeError, TypeError, IndexError) as error:
        raise ValueError(f"its {name} is not complete ({type(error).__name__}: {error})") from error
    return value


def _defaults(cls: type) -> dict[str, Any]:
    """Parameters that the version which wrote a file may not have known."""
    parameters = inspect.signature(cls).parameters.values()
    return {p.name: p.default for p in parameters if p.default is not p.empty}


def _tree(neighbours: Any) -> Any:
    """What finds neighbours quickly, from the samples among which they are."""
    if neighbours._fit_method not in _TREES:
        return None
    kind = getattr(import_module("sklearn.neighbors"), _TREES[neighbours._fit_method])
    options = neighbours.effective_metric_params_
    return kind(
        neighbours._fit_X, neighbours.leaf_size, metric=str(neighbours.effective_metric_), **options
    )


# ---------------------------------------------------------------------------------------------- shapes


def _any(state: Mapping[str, Any]) -> None:
    """What computes in NumPy finds out for itself."""


def _check_machine(state: Mapping[str, Any], regression: bool = False) -> None:
    """Support vectors, coefficients and offsets of as many samples and classes as one another."""
    counts, support = state["_n_support"], state["support_"]
    coefficients, probabilities = state["_dual_coef_"], (state["_probA"], state["_probB"])
    n, k = len(support), len(counts)
    pairs = k * (k - 1) // 2
    fits = (
        support.ndim == counts.ndim == 1
        and k > 1
        # regression has two "classes", the second of which nobody counts
        and (counts[0] == n and k == 2 if regression else counts.min() >= 0 and counts.sum() == n)
        and state["_sparse"] is False
        and isinstance(coefficients, np.ndarray)
        and isinstance(state["support_vectors_"], np.ndarray)
        and coefficients.shape == (k - 1, n)
        and state["_intercept_"].shape == (pairs,)
        and {one.shape for one in probabilities} in ({(0,)}, {(pairs,)})
        and _vectors_fit(state, n)
    )
    if not fits:
        raise ValueError("its machine has parts of sizes that do not go together")


def _vectors_fit(state: Mapping[str, Any], n: int) -> bool:
    """Support vectors of as many features as are asked for; of a given kernel, their places in it."""
    vectors = state["support_vectors_"]
    if state["kernel"] != "precomputed":
        return bool(vectors.shape == (n, int(state["n_features_in_"])))
    return not vectors.size and _below(state["support_"], int(state["shape_fit_"][0]))


def _check_neighbours(state: Mapping[str, Any]) -> None:
    """Samples with as many features as they say, each with a target."""
    X, y, n = state["_fit_X"], state["_y"], int(state["n_samples_fit_"])
    width = n if state["effective_metric_"] == "precomputed" else int(state["n_features_in_"])
    fits = X.shape == (n, width) and X.dtype.kind == "f" and len(y) == n
    if "classes_" in state and isinstance(state["classes_"], np.ndarray):
        fits = fits and y.dtype.kind == "i" and _below(y, len(state["classes_"]))
    if not fits:
        raise ValueError("its neighbours have parts of sizes that do not go together")


def _below(index: Any, size: int) -> bool:
    return bool(((index >= 0) & (index < size)).all())


_CHECKS: dict[str, Callable[[Mapping[str, Any]], None]] = {
    "SVC": _check_machine,
    "SVR": partial(_check_machine, regression=True),
    "KNeighborsClassifier": _check_neighbours,
    "KNeighborsRegressor": _check_neighbours,
}
