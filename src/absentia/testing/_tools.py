"""What laws of classifiers are made of: the list they are enrolled in, data, words for what is expected.

``LAWS["every"]`` holds for all classifiers; ``"probabilities"`` for those with a parameter ``probability``;
``"iterative"`` for those that say how they ended; ``"machine"`` for kernel machines.
"""

import re
import warnings
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from functools import cache, wraps
from typing import Any

import numpy as np
from sklearn.base import clone
from sklearn.exceptions import ConvergenceWarning
from sklearn.utils import get_tags

from absentia import datasets
from absentia.core import Array, Iterative
from absentia.data import KernelViews, Views, missingness
from absentia.kernels import ViewKernels
from absentia.methods.learning import KernelClassifier

Law = Callable[[Any], None]

N = 60
LAWS: dict[str, list[Law]] = {"every": [], "probabilities": [], "iterative": [], "machine": []}


def by_name(*laws: Law) -> dict[str, Law]:
    """Laws by their names."""
    return {one.__name__: one for one in laws}


def law(kind: str) -> Callable[[Law], Law]:
    """Enrol a law; rounds without a guarantee to converge say so, which is no fault."""

    def enrol(check: Law) -> Law:
        @wraps(check)
        def quietly(classifier: Any) -> None:
            with warnings.catch_warnings():
                warnings.simplefilter("ignore", ConvergenceWarning)
                check(clone(classifier))

        LAWS[kind].append(quietly)
        return quietly

    return enrol


def kinds(classifier: Any) -> list[str]:
    """The kinds of laws that a classifier has to obey."""
    probabilities = "probability" in classifier.get_params() and not hasattr(
        clone(classifier).set_params(probability=False), "predict_proba"
    )  # if it has none of its own
    iterative, machine = isinstance(classifier, Iterative), isinstance(classifier, KernelClassifier)
    has = {"every": True, "probabilities": probabilities, "iterative": iterative, "machine": machine}
    return [kind for kind in LAWS if has[kind]]


def laws_of(classifier: Any) -> dict[str, Law]:
    """The laws that a classifier has to obey, by name."""
    return by_name(*(one for kind in kinds(classifier) for one in LAWS[kind]))


# ------------------------------------------------------------------------------------------------ tools


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
    """What it takes, kernels or features, and labels."""
    return (digit_kernels(n) if takes_kernels(estimator) else digits(n)[0]), digits(n)[1]


def subset(X: Any, rows: Any, columns: Any = None) -> Any:
    """Samples `rows`; of kernels, against the samples `columns`."""
    square = hasattr(X, "column_ids")
    return X[np.ix_(rows, rows if columns is None else columns)] if square else X[rows]


def exact(classifier: Any) -> Any:
    """The same method, solved so far that only rounding is left to differ."""
    has = classifier.get_params()
    wanted = {"tol": 1e-8, "max_iter": 200}
    return clone(classifier).set_params(**{name: value for name, value in wanted.items() if name in has})


def answers(fitted: Any, X: Any) -> Array:
    """Numbers that a fitted estimator gives: probabilities, scores or targets."""
    ways = ("predict_proba", "decision_function", "predict")
    return np.asarray(getattr(fitted, next(way for way in ways if hasattr(fitted, way)))(X))


def assert_close(found: Array, wanted: Array, slack: float) -> None:
    """The same, relative to the largest."""
    np.testing.assert_allclose(found, wanted, atol=slack * np.abs(wanted).max())


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
def said(kind: type[Warning], sentence: str) -> Iterator[None]:
    """A warning of that kind whose words match."""
    with warnings.catch_warnings(record=True) as caught:
        warnings.simplefilter("always")
        yield
    words = [str(one.message) for one in caught if issubclass(one.category, kind)]
    assert any(re.search(sentence, word) for word in words), f"{sentence!r} is not in {words}"


def without_ids(X: Any) -> Any:
    """The same data as if it came for the first time, ids counted from zero."""
    if hasattr(X, "column_ids"):
        return KernelViews.from_dense(np.nan_to_num(X.to_dense()), observed=X.observed, names=X.names)
    tables = zip(X.to_dict().items(), X.observed.T, strict=True)
    return Views.from_dict({name: np.where(seen[:, None], table, np.nan) for (name, table), seen in tables})
