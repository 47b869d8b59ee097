"""What laws of classifiers are made of: the list they are enrolled in, data, and ways to say what is expected.

``LAWS["every"]`` holds for all classifiers; ``"chances"`` for those with a parameter ``probability``;
``"iterative"`` for those that say how they ended; ``"machine"`` for kernel machines.
"""

import re
import warnings
from contextlib import contextmanager
from functools import cache, wraps

import numpy as np
from sklearn.base import clone
from sklearn.exceptions import ConvergenceWarning
from sklearn.utils import get_tags

from absentia import KernelViews, ViewKernels, Views, datasets, missingness
from absentia.methods.base import Iterative
from absentia.methods.learning import KernelClassifier

N = 60
LAWS = {"every": [], "chances": [], "iterative": [], "machine": []}


def law(kind):
    """Enrol a law; rounds without a guarantee to converge say so, which is no fault."""

    def enrol(check):
        @wraps(check)
        def quietly(classifier):
            with warnings.catch_warnings():
                warnings.simplefilter("ignore", ConvergenceWarning)
                check(clone(classifier))

        LAWS[kind].append(quietly)
        return quietly

    return enrol


def kinds(classifier):
    """The kinds of laws that a classifier has to obey."""
    chances = "probability" in classifier.get_params()
    iterative, machine = isinstance(classifier, Iterative), isinstance(classifier, KernelClassifier)
    has = {"every": True, "chances": chances, "iterative": iterative, "machine": machine}
    return [kind for kind in LAWS if has[kind]]


def cases(classifiers, *wanted):
    """Every pair of a classifier's name and a law of the wanted kinds that it has to obey, by a name of its own."""
    import laws_classifiers  # noqa: F401  (they enrol)
    import laws_of_kinds  # noqa: F401

    return {
        f"{name}-{law.__name__.removeprefix('law_')}": (name, law)
        for name, classifier in classifiers.items()
        for kind in kinds(classifier)
        if kind in wanted
        for law in LAWS[kind]
    }


# ------------------------------------------------------------------------------------------------ tools


@cache
def digits(n=N):
    """Views with nobody complete, and the digits."""
    views, y = datasets.load_digit_views(n_samples=n, return_X_y=True)
    return views.hide(missingness.fixed_per_sample(views, 3, random_state=0)), y


@cache
def digit_kernels(n=N):
    return ViewKernels().fit_transform(digits(n)[0])


def takes_kernels(estimator):
    return get_tags(estimator).input_tags.pairwise


def data(estimator, n=N):
    """What it takes, kernels or features, and labels."""
    return (digit_kernels(n) if takes_kernels(estimator) else digits(n)[0]), digits(n)[1]


def subset(X, rows, columns=None):
    """Samples `rows`; of kernels, against the samples `columns`."""
    square = hasattr(X, "column_ids")
    return X[np.ix_(rows, rows if columns is None else columns)] if square else X[rows]


def exact(classifier):
    """The same method, solved so far that only rounding is left to differ."""
    has = classifier.get_params()
    wanted = {"tol": 1e-8, "max_iter": 200}
    return clone(classifier).set_params(**{name: value for name, value in wanted.items() if name in has})


def answers(fitted, X):
    """Numbers that a fitted estimator gives: chances, scores or targets."""
    ways = ("predict_proba", "decision_function", "predict")
    return getattr(fitted, next(way for way in ways if hasattr(fitted, way)))(X)


def assert_close(found, wanted, slack):
    """The same, relative to the largest."""
    np.testing.assert_allclose(found, wanted, atol=slack * np.abs(wanted).max())


@contextmanager
def refused(kind, sentence):
    """An error of that kind whose words match."""
    words = None
    try:
        yield
    except kind as error:
        words = str(error)
    assert words is not None, f"no {kind.__name__} came that says {sentence!r}"
    assert re.search(sentence, words), f"{sentence!r} is not in {words!r}"


@contextmanager
def said(kind, sentence):
    """A warning of that kind whose words match."""
    with warnings.catch_warnings(record=True) as caught:
        warnings.simplefilter("always")
        yield
    words = [str(one.message) for one in caught if issubclass(one.category, kind)]
    assert any(re.search(sentence, word) for word in words), f"{sentence!r} is not in {words}"


def without_ids(X):
    """The same data as if it came for the first time, ids counted from zero."""
    if hasattr(X, "column_ids"):
        return KernelViews.from_dense(np.nan_to_num(X.to_dense()), observed=X.observed, names=X.names)
    tables = zip(X.to_dict().items(), X.observed.T, strict=True)
    return Views.from_dict({name: np.where(seen[:, None], table, np.nan) for (name, table), seen in tables})
