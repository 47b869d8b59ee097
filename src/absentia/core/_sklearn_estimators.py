"""Estimators of scikit-learn that may be stored in files: a closed list, and what it takes to read them.

They come back without their constructors being called, as attributes.  Their documented arrays have to be
finite numbers of shapes that go together; those that compiled code believes in are checked further.  Trees
of neighbours are left out and built again.
"""

import inspect
from collections.abc import Mapping
from importlib import import_module
from typing import Any

import numpy as np
import sklearn

_LINEAR = {"coef_": "p|kp", "intercept_": "|k"}
_SVM = {"support_": "s", "_n_support": "c", "_dual_coef_": "ms", "_intercept_": "i"}
_NEIGHBORS = {"_fit_X": "nf"}
#: By name: the module that offers it, and shapes of arrays (p: features, k: classes or targets, others as
#: they come).  Nothing else is ever imported for a file.
SKLEARN_CLASSES: dict[str, tuple[str, dict[str, str]]] = {
    "IsotonicRegression": ("sklearn.isotonic", {"X_thresholds_": "t", "y_thresholds_": "t"}),
    "KNeighborsClassifier": ("sklearn.neighbors", _NEIGHBORS),
    "KNeighborsRegressor": ("sklearn.neighbors", _NEIGHBORS),
    "KernelCenterer": ("sklearn.preprocessing", {"K_fit_rows_": "p"}),
    "KernelPCA": ("sklearn.decomposition", {"eigenvalues_": "q", "eigenvectors_": "nq", "X_fit_": "nf"}),
    "KernelRidge": ("sklearn.kernel_ridge", {"dual_coef_": "n|nk", "X_fit_": "nf"}),
    "LabelBinarizer": ("sklearn.preprocessing", {}),
    "LinearRegression": ("sklearn.linear_model", _LINEAR),
    "LinearSVC": ("sklearn.svm", _LINEAR),
    "LogisticRegression": ("sklearn.linear_model", _LINEAR),
    "LogisticRegressionCV": ("sklearn.linear_model", _LINEAR),
    "MinMaxScaler": ("sklearn.preprocessing", {"min_": "p", "scale_": "p"}),
    "PCA": ("sklearn.decomposition", {"components_": "qp", "mean_": "p", "explained_variance_": "q"}),
    "Pipeline": ("sklearn.pipeline", {}),
    "RBFSampler": ("sklearn.kernel_approximation", {"random_weights_": "pq", "random_offset_": "q"}),
    "Ridge": ("sklearn.linear_model", _LINEAR),
    "RidgeCV": ("sklearn.linear_model", _LINEAR),
    "RidgeClassifier": ("sklearn.linear_model", _LINEAR),
    "RidgeClassifierCV": ("sklearn.linear_model", _LINEAR),
    "SVC": ("sklearn.svm", _SVM),
    "SVR": ("sklearn.svm", _SVM),
    "StandardScaler": ("sklearn.preprocessing", {"mean_": "p", "scale_": "p"}),
}
_TREES = {"kd_tree": "KDTree", "ball_tree": "BallTree"}


def is_sklearn(cls: type) -> bool:
    """Whether a class is one of the list, and not one that only has its name."""
    return cls.__module__.split("._")[0] == SKLEARN_CLASSES.get(cls.__name__, ("",))[0]


def sklearn_state(estimator: Any) -> dict[str, Any]:
    """Attributes that are data, without the folder of a cache, and without what can be built again."""
    state = dict(estimator.__getstate__())
    if state.get("_sparse"):  # its compiled code reads wherever a file might lead it
        name = type(estimator).__name__
        raise TypeError(f"{name} of sparse data cannot be stored in a file; fit it on an array")
    state.pop("_sklearn_version", None)  # of the whole file
    state.pop("_tree", None)
    if "memory" in state:
        state["memory"] = None
    return state


def build_sklearn(name: str, state: Mapping[str, Any]) -> Any:
    """The estimator with these attributes; a :class:`ValueError` if it cannot have had them."""
    module, shapes = SKLEARN_CLASSES[name]
    cls = getattr(import_module(module), name)
    for key in state:
        if inspect.getattr_static(cls, key, None) is not None:
            raise ValueError(f"its {name} has {key!r} among its attributes, which is not one")
    if state.get("memory") is not None:
        raise ValueError(f"its {name} names a folder to read from, which no file may")
    try:
        check_shapes(state, shapes, name)
        if name in ("SVC", "SVR"):
            _check_svm(state, regression=name == "SVR")
        if name.startswith("KNeighbors"):
            _check_neighbors(state)
        value = cls.__new__(cls)
        # the version is this one's: whether it is another is said once, of the whole file
        value.__setstate__({**_default_parameters(cls), **state, "_sklearn_version": sklearn.__version__})
        if name.startswith("KNeighbors"):
            value._tree = _build_tree(value)
    except (KeyError, AttributeError, TypeError, IndexError) as error:
        raise ValueError(f"its {name} is not complete ({type(error).__name__}: {error})") from error
    return value


def _default_parameters(cls: type) -> dict[str, Any]:
    """Parameters that the version which wrote a file may not have known."""
    parameters = inspect.signature(cls).parameters.values()
    return {p.name: p.default for p in parameters if p.default is not p.empty}


def _build_tree(neighbors: Any) -> Any:
    """What finds neighbours quickly, from the samples among which they are."""
    if neighbors._fit_method not in _TREES:
        return None
    kind = getattr(import_module("sklearn.neighbors"), _TREES[neighbors._fit_method])
    options = neighbors.effective_metric_params_
    return kind(neighbors._fit_X, neighbors.leaf_size, metric=str(neighbors.effective_metric_), **options)


# ---------------------------------------------------------------------------------------------- shapes


def check_shapes(state: Mapping[str, Any], shapes: Mapping[str, str], of: str) -> None:
    """Refuse arrays that are not finite numbers of the declared shapes.

    Parameters
    ----------
    state : mapping
        Attributes by name; what is None or not there is not looked at.
    shapes : mapping of str to str
        A letter for each axis, the same for the same size; ``|`` separates alternatives.  ``p`` is the
        number of features where the state has it as ``n_features_in_``.
    of : str
        Whose attributes these are.
    """
    sizes = {"p": state["n_features_in_"]} if type(state.get("n_features_in_")) is int else {}
    for name, shape in shapes.items():
        value = state.get(name)
        if value is None:
            continue
        array = np.asarray(value)
        axes = next((axes for axes in shape.split("|") if len(axes) == array.ndim), None)
        if axes is None or array.dtype.kind not in "biuf" or not np.isfinite(array).all():
            raise ValueError(
                f"its {of} has parts that do not go together: {name} is {array.dtype} of shape "
                f"{array.shape}; finite numbers of shape {shape} are wanted"
            )
        for axis, size in zip(axes, array.shape, strict=True):
            if sizes.setdefault(axis, size) != size:
                raise ValueError(
                    f"its {of} has parts that do not go together: {name} is of shape {array.shape}"
                )


def _check_svm(state: Mapping[str, Any], regression: bool) -> None:
    """Support vectors, coefficients and offsets of as many samples and classes as one another."""
    counts, support, vectors = state["_n_support"], state["support_"], state["support_vectors_"]
    n, k = len(support), len(counts)
    pairs = k * (k - 1) // 2
    # of a given kernel, the support vectors are places in it; others have as many features as are asked for
    given = state["kernel"] == "precomputed"
    fits = (
        k > 1
        # regression has two "classes", the second of which nobody counts
        and (counts[0] == n and k == 2 if regression else counts.min() >= 0 and counts.sum() == n)
        and state["_sparse"] is False
        and isinstance(vectors, np.ndarray)
        and state["_dual_coef_"].shape == (k - 1, n)
        and state["_intercept_"].shape == (pairs,)
        and {state[name].shape for name in ("_probA", "_probB")} in ({(0,)}, {(pairs,)})
        and (given or vectors.shape == (n, int(state["n_features_in_"])))
        and (not given or (not vectors.size and _are_below(support, int(state["shape_fit_"][0]))))
    )
    if not fits:
        raise ValueError("its machine has parts of sizes that do not go together")


def _check_neighbors(state: Mapping[str, Any]) -> None:
    """Samples with as many features as they say, each with a target."""
    X, y, n = state["_fit_X"], state["_y"], int(state["n_samples_fit_"])
    width = n if state["effective_metric_"] == "precomputed" else int(state["n_features_in_"])
    fits = X.shape == (n, width) and X.dtype.kind == "f" and len(y) == n
    if "classes_" in state and isinstance(state["classes_"], np.ndarray):
        fits = fits and y.dtype.kind == "i" and _are_below(y, len(state["classes_"]))
    if not fits:
        raise ValueError("its neighbours have parts of sizes that do not go together")


def _are_below(index: Any, size: int) -> bool:
    return bool(((index >= 0) & (index < size)).all())
