"""What estimator checks are made of: the list they are registered in, data, words for what is expected.

``CHECKS["learner"]`` holds for all classifiers, regressors and survival models; ``"classifier"``,
``"weighted"`` (classifiers and regressors, whose samples may have weights), ``"regressor"`` and
``"survival"`` for those of a task; ``"probabilities"`` for classifiers with a parameter ``probability``;
``"iterative"`` for those that say how they ended; ``"machine"`` for kernel machines.
"""

import re
import warnings
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from functools import cache, wraps
from typing import Any, Literal

import numpy as np
from sklearn.base import clone, is_classifier, is_regressor
from sklearn.exceptions import ConvergenceWarning
from sklearn.utils import get_tags

from absentia import datasets
from absentia.core import Array, Iterative
from absentia.data import KernelViews, Views, missingness
from absentia.kernels import ViewKernels
from absentia.methods.learning import KernelClassifier
from absentia.methods.learning import subset as _subset

Check = Callable[[Any], None]
Task = Literal["classes", "numbers", "survival"]

N = 60
CHECKS: dict[str, list[Check]] = {
    kind: []
    for kind in (
        "learner",
        "weighted",
        "classifier",
        "probabilities",
        "iterative",
        "machine",
        "regressor",
        "survival",
    )
}


def by_name(*checks: Check) -> dict[str, Check]:
    """Checks by their names."""
    return {check.__name__: check for check in checks}


def register(kind: str) -> Callable[[Check], Check]:
    """Register a check; rounds without a guarantee to converge say so, which is no fault."""

    def enrol(check: Check) -> Check:
        @wraps(check)
        def quietly(estimator: Any) -> None:
            with warnings.catch_warnings():
                warnings.simplefilter("ignore", ConvergenceWarning)
                check(clone(estimator))

        CHECKS[kind].append(quietly)
        return quietly

    return enrol


def task_of(estimator: Any) -> Task:
    """What an estimator learns."""
    if is_classifier(estimator):
        return "classes"
    return "numbers" if is_regressor(estimator) else "survival"


def kinds(estimator: Any) -> list[str]:
    """The kinds of checks that an estimator has to pass."""
    task = task_of(estimator)
    calibrated = "probability" in estimator.get_params() and not hasattr(
        clone(estimator).set_params(probability=False), "predict_proba"
    )  # if it has no probabilities of its own
    classes = task == "classes"
    has = {
        "learner": True,
        "weighted": task != "survival",
        "classifier": classes,
        "probabilities": classes and calibrated,
        "iterative": classes and isinstance(estimator, Iterative),
        "machine": isinstance(estimator, KernelClassifier),
        "regressor": task == "numbers",
        "survival": task == "survival",
    }
    return [kind for kind in CHECKS if has[kind]]


def checks_of(estimator: Any) -> dict[str, Check]:
    """The checks that an estimator has to pass, by name."""
    return by_name(*(check for kind in kinds(estimator) for check in CHECKS[kind]))


# ------------------------------------------------------------------------------------------------- data


@cache
def digits(n: int = N) -> tuple[Views, Array]:
    """Views with nobody complete, and the digits."""
    views, y = datasets.load_digit_views(n_samples=n, return_X_y=True)
    return views.hide(missingness.fixed_per_sample(views, 3, random_state=0)), y


@cache
def digit_kernels(n: int = N) -> KernelViews:
    return ViewKernels().fit_transform(digits(n)[0])


def takes_kernels(estimator: Any) -> bool:
    return bool(get_tags(estimator).input_tags.pairwise)


def data(estimator: Any, n: int = N) -> tuple[Any, Array]:
    """What it takes, kernels or features, and digits."""
    return (digit_kernels(n) if takes_kernels(estimator) else digits(n)[0]), digits(n)[1]


def targets(estimator: Any, y: Array) -> Array:
    """Something to learn about the digits `y`: two classes, numbers, or times and events (columns)."""
    task = task_of(estimator)
    if task == "classes":
        return y < 5
    if task == "numbers":
        return y / 2.0
    order = np.arange(len(y))
    return np.column_stack([10.0 - y + order % 7 / 8, order % 4 > 0])


def problem(estimator: Any, n: int = N) -> tuple[Any, Array]:
    """What it takes, and targets of its task."""
    X, y = data(estimator, n)
    return X, targets(estimator, y)


def subset(X: Any, rows: Any, columns: Any = None) -> Any:
    """Samples `rows`; of kernels, against the samples `columns`."""
    return _subset(X, rows, rows if columns is None else columns)


def without_ids(X: Any) -> Any:
    """The same data as if it came for the first time, ids counted from zero."""
    if hasattr(X, "column_ids"):
        return KernelViews.from_dense(np.nan_to_num(X.to_dense()), observed=X.observed, names=X.names)
    tables = zip(X.to_dict().items(), X.observed.T, strict=True)
    return Views.from_dict({name: np.where(seen[:, None], table, np.nan) for (name, table), seen in tables})


# -------------------------------------------------------------------------------- fits and what they say


def exact(estimator: Any) -> Any:
    """The same method, solved so far that only rounding is left to differ."""
    parameters = estimator.get_params()
    wanted = {"tol": 1e-8, "max_iter": 200}
    return clone(estimator).set_params(**{name: v for name, v in wanted.items() if name in parameters})


def answers(fitted: Any, X: Any) -> Array:
    """Numbers that a fitted estimator gives: probabilities, scores, targets or risks."""
    ways = ("predict_proba", "decision_function", "predict")
    return np.asarray(getattr(fitted, next(way for way in ways if hasattr(fitted, way)))(X))


def scores(fitted: Any, X: Any) -> Array:
    """Scores of a classifier, predictions of others."""
    return np.asarray(getattr(fitted, "decision_function", fitted.predict)(X))


def assert_close(actual: Array, desired: Array, tolerance: float) -> None:
    """The same, relative to the largest."""
    np.testing.assert_allclose(actual, desired, atol=tolerance * np.abs(desired).max())


@contextmanager
def refused(kind: type[Exception], sentence: str) -> Iterator[None]:
    """An error of that kind whose words match."""
    words = None
    try:
        yield
    except kind as error:
        words = str(error)
    assert words is not None, f"no {kind.__name__} came that says {sentence!r}"
    assert re.search(sentence, words), f"{sentence!r} is not in {words!r}"


@contextmanager
def warned(kind: type[Warning], sentence: str) -> Iterator[None]:
    """A warning of that kind whose words match."""
    with warnings.catch_warnings(record=True) as caught:
        warnings.simplefilter("always")
        yield
    words = [str(warning.message) for warning in caught if issubclass(warning.category, kind)]
    assert any(re.search(sentence, word) for word in words), f"{sentence!r} is not in {words}"
