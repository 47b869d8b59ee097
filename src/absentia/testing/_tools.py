"""What estimator checks are made of: their registry, small problems, words for what is expected.

``CHECKS["learner"]`` holds for all classifiers, regressors and survival models; ``"classifier"``,
``"weighted"`` (classifiers and regressors, whose samples may have weights), ``"regressor"`` and
``"survival"`` for those of a task; ``"probabilities"`` for classifiers with a parameter ``probability``;
``"iterative"`` for those that say how they ended.  ``"completer"``, ``"imputer"`` and ``"operator"`` are
for those.
"""

import re
import warnings
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from functools import cache
from typing import Any, Literal

import numpy as np
from sklearn.base import clone, is_classifier, is_regressor
from sklearn.exceptions import ConvergenceWarning
from sklearn.utils import get_tags

from absentia import datasets
from absentia.core import Array, Iterative
from absentia.data import KernelViews, Views, missingness
from absentia.kernels import ViewKernels
from absentia.methods.learning import subset

#: How far the same problem in another order, or with other rounding, may end from itself, relative: sums in
#: another order round differently, by some 1e-15, and a hundred steps of a descent multiply that.
REORDERED = 1e-6
N = 60  # digits that learners are tried on

Check = Callable[[Any], None]
CHECKS: dict[str, dict[str, Check]] = {}  # by kind, then by name


def register(*kinds: str) -> Callable[[Check], Check]:
    """Make the function ``_some_words`` the check "some_words" of these kinds.

    Of an estimator it gets a clone.  Rounds without a guarantee to converge say so, which is no fault.
    """

    def enrol(function: Check) -> Check:
        def check(subject: Any) -> None:
            with warnings.catch_warnings():
                warnings.simplefilter("ignore", ConvergenceWarning)
                function(clone(subject) if hasattr(subject, "get_params") else subject)

        check.__name__ = function.__name__.removeprefix("_")
        for kind in kinds:
            CHECKS.setdefault(kind, {})[check.__name__] = check
        return check

    return enrol


def task_of(estimator: Any) -> Literal["classes", "numbers", "survival"]:
    """What an estimator learns."""
    if is_classifier(estimator):
        return "classes"
    return "numbers" if is_regressor(estimator) else "survival"


def kinds(estimator: Any) -> list[str]:
    """The kinds of checks that a classifier, regressor or survival model has to pass."""
    task = task_of(estimator)
    if task != "classes":
        return ["learner", "weighted", "regressor"] if task == "numbers" else ["learner", "survival"]
    calibrated = "probability" in estimator.get_params() and not hasattr(
        clone(estimator).set_params(probability=False), "predict_proba"
    )  # if it has no probabilities of its own
    some = {"probabilities": calibrated, "iterative": isinstance(estimator, Iterative)}
    return ["learner", "weighted", "classifier", *(kind for kind, has in some.items() if has)]


def checks_of(estimator: Any) -> dict[str, Check]:
    """The checks that a classifier, regressor or survival model has to pass, by name."""
    return {name: check for kind in kinds(estimator) for name, check in CHECKS[kind].items()}


# ------------------------------------------------------------------------------------- incomplete kernels


def random_kernels(n: int = 40, n_views: int = 4, seed: int = 0) -> Array:
    """Positive definite kernels that share structure, (n_views, n, n), unit diagonal."""
    return np.asarray(datasets.make_multiview(n, n_views, noise=0.3, random_state=seed).kernels.to_dense())


def random_problem(n: int = 40, n_views: int = 4, absent: float = 0.3, seed: int = 0) -> KernelViews:
    """Such kernels with that share of the cells, a sample in a view each, absent."""
    keep = missingness.mcar((n, n_views), absent, random_state=seed)
    return KernelViews.from_dense(random_kernels(n, n_views, seed), observed=keep)


def add_noise(K: Array, size: float, rng: np.random.Generator) -> Array:
    """Kernels (n_views, n, n) with symmetric relative noise."""
    noise = size * rng.standard_normal(K.shape)
    return K * (1 + (noise + noise.transpose(0, 2, 1)) / 2)


# ------------------------------------------------------------------------------------- incomplete digits


@cache
def digits(n: int = N) -> tuple[Views, Array]:
    """Views with nobody complete, and the digits."""
    views, y = datasets.load_digit_views(n_samples=n, return_X_y=True)
    return views.hide(missingness.fixed_per_sample(views, 3, random_state=0)), y


@cache
def digit_kernels(n: int = N) -> KernelViews:
    """Kernels of these views."""
    return ViewKernels().fit_transform(digits(n)[0])


def takes_kernels(estimator: Any) -> bool:
    """Whether an estimator is fitted to kernels rather than to features."""
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


def select_samples(X: Any, rows: Any, columns: Any = None) -> Any:
    """Samples `rows`; of kernels, against the samples `columns`, which are the same if not given."""
    return subset(X, rows, rows if columns is None else columns)


def hide_all(X: Any) -> Any:
    """The same samples without any view."""
    return X.hide(np.zeros(X.observed.shape, bool))


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
    """The same numbers, relative to the largest."""
    np.testing.assert_allclose(actual, desired, atol=tolerance * np.abs(desired).max())


@contextmanager
def refused(kind: type[Exception], *patterns: str) -> Iterator[None]:
    """Inside, something must be refused by an error of this kind whose words match these patterns."""
    try:
        yield
    except kind as error:
        lacking = [pattern for pattern in patterns if not re.search(pattern, str(error))]
        if lacking:
            raise AssertionError(f"the error does not say {lacking}: {error}") from error
    else:
        raise AssertionError(f"nothing was refused; a {kind.__name__} is wanted that says {list(patterns)}")


@contextmanager
def warned(kind: type[Warning], sentence: str) -> Iterator[None]:
    """A warning of that kind whose words match."""
    with warnings.catch_warnings(record=True) as caught:
        warnings.simplefilter("always")
        yield
    words = [str(warning.message) for warning in caught if issubclass(warning.category, kind)]
    assert any(re.search(sentence, word) for word in words), f"{sentence!r} is not in {words}"
